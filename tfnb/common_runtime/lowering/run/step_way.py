"""The ways in which the nodes of a step run, and the one place that chooses.

:func:`choose_way` is called once in each step of a signature and each immediate call of a function.
``docs/architecture.md`` has its decisions as a table.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from tfnb.common_runtime.executor.debugged_executor import make_executors
from tfnb.common_runtime.executor.executor import drive, run_schedule
from tfnb.common_runtime.executor.fetched_values import has_absent
from tfnb.common_runtime.executor.waiting import absent_value
from tfnb.common_runtime.lowering.run.lowered_step import (
    lowered_for,
    lowered_together,
    over_large_input,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor.executors_and_keys import Executors
    from tfnb.common_runtime.executor.fetched_values import type_of_absence
    from tfnb.common_runtime.executor.immutable_executor_state import ImmutableExecutorState
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.common_runtime.lowering.support.counts import StepCounts
    from tfnb.core.op_kernel import StepContext


class StepWay(Protocol):
    """A way to run the nodes of one step or call: an emitted function or a class of this module."""

    def run(self, run_state: RunState, step: StepContext) -> type_of_absence | None:
        """Run the nodes, which put their results into the call frame.

        Returns:
          A function that explains results without a value; None if all have one.

        Raises:
          OpError: a kernel failed, or the step was cancelled.
        """

    def counts_of(self, run_state: RunState) -> StepCounts | None:
        """Return how often the nodes of a step that has ended ran; None if that is not known."""


class ScheduleWay:
    """Runs the nodes of one partition in a fixed order: no control flow, nothing waits."""

    __slots__ = ("_immutable",)

    def __init__(self, immutable: ImmutableExecutorState) -> None:
        self._immutable = immutable

    def run(self, run_state: RunState, step: StepContext) -> None:
        """Run the nodes; every result has a value then."""
        run_schedule(self._immutable, run_state, step, 0, over_large_input)

    def counts_of(self, run_state: RunState) -> None:
        """Return None: the observers got an event for each node."""


class ReferenceWay:
    """Runs the reference executor, or that of a debugger that wants the step."""

    __slots__ = ("_function_name", "_states")

    def __init__(self, states: Sequence[ImmutableExecutorState], function_name: str = "") -> None:
        self._states = states
        self._function_name = function_name

    def run(self, run_state: RunState, step: StepContext) -> type_of_absence | None:
        """Run the partitions until no node is ready and no kernel is pending."""
        executors = make_executors(self._states, run_state, step, self._function_name)
        drive(run_state, executors)
        frame = run_state.call_frame
        is_whole = frame is None or not has_absent(frame.retvals)
        return None if is_whole else partial(absent_value, executors)

    def counts_of(self, run_state: RunState) -> None:
        """Return None: the observers got an event for each node."""


def choose_way(
    states: Sequence[ImmutableExecutorState],
    run_state: RunState,
    signature: Executors | None = None,
    function_name: str = "",
) -> StepWay:
    """Choose how the nodes of a step or call run.

    Args:
      states: the partitions, or their variants for a pool.
      run_state: the step or call; its observers, recorder, debugger and pool decide.
      signature: the signature that the partitions belong to; None for a function's body.
      function_name: the name of that function.
    """
    if len(states) == 1:
        immutable = states[0]
        lowered = lowered_for(immutable, run_state)
        if lowered is not None:
            return lowered
        if immutable.schedule is not None and run_state.hooks.debugger is None:
            return ScheduleWay(immutable)
    elif signature is not None and states is signature.states:
        lowered = lowered_together(signature, run_state)
        if lowered is not None:
            return lowered
    return ReferenceWay(states, function_name)
