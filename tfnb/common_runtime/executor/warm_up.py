"""What the steps of a partition leave for later steps: emitted functions, checks, counts of runs.

A partition's tables (``immutable_executor_state.py``) never change; its :class:`WarmUp` beside them
does. Threads share it without a lock: if two threads write the same function, one of the two
results is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tfnb.core.process.records import field, record

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tfnb.core.errors import OpError
    from tfnb.core.op_kernel import StepContext
    from tfnb.core.step_events import Near

    # (position, name) of a result without a value -> the error that says why it has none.
    type_of_absence = Callable[[int, str], OpError]


class LoweredFunction(Protocol):
    """A partition as an emitted function."""

    has_conditional_fetch: bool
    has_loops: bool
    waits: bool

    @property
    def only(self) -> Any:
        """Its function, if one function serves all arguments."""

    @property
    def source(self) -> str:
        """The source of the function."""

    def functions(self) -> Sequence[Any]:
        """Return the functions written until now."""

    def variant_for(self, args: Sequence[Any]) -> Any:
        """Return the function for these arguments."""

    def run(self, run_state: Any, step: StepContext) -> type_of_absence | None:
        """Run it in a step; returns what explains results without a value, None if all have one."""

    def counts_of(self, run_state: Any) -> Any:
        """Return how often its nodes ran in a step, or None."""

    def failure(self, emitted: Any, run_state: Any, error: BaseException) -> BaseException:
        """Return the error that ends a step."""


@record(slots=True, eq=False)
class WarmUp:
    """The state that steps of one partition leave for later steps.

    Attributes:
      is_checked: whether a step has run in which every kernel returned the types its op declares.
      num_runs: the number of unwatched runs before the partition was lowered.
      lowered: the emitted function of the partition, once it is worth writing.
      cannot_be_lowered: whether lowering failed, so that the reference executor runs it.
      counted: the emitted function that counts executions, once counts were requested.
      cannot_be_counted: whether writing that function failed.
      num_recorded: the number of runs that requested a journal before a function recorded one.
      recorded: the emitted functions that write a journal, by journal kind; None: lowering failed.
      until_near: the stop points nearest to the start in the latest debugged step, and the function
        that runs up to them.
      ids: the id of each node by name, once one was looked up.
    """

    is_checked: bool = False
    num_runs: int = 0
    lowered: LoweredFunction | None = None
    cannot_be_lowered: bool = False
    counted: LoweredFunction | None = None
    cannot_be_counted: bool = False
    num_recorded: int = 0
    recorded: dict[Hashable, LoweredFunction | None] = field(default_factory=dict)
    until_near: tuple[Near, LoweredFunction] | None = None
    ids: dict[str, int] | None = None
