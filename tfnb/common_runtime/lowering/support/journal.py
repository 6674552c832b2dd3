"""The journal that a recorded emitted function writes: its format and its writers.

A journal is one flat list.  The function appends timestamps between kernels, the number of a cond's
branch when it takes it, and the end of a loop; observers may append notes of tensors in between.
Everything else follows from the function's source and is reconstructed when the journal is read
(``replay.py``).  Therefore a line that adds two numbers costs nothing, an iteration some hundred
nanoseconds, a kernel two readings of the clock.

An entry that is an ``int`` is a timestamp or the number of a block, a ``list`` holds the value of a
watched tensor, a :class:`Gap` stands for dropped entries; all other entries are notes of
observers::

    mark(now())                               # an iteration begins
    v8 = v5 < v0                              # 'while/Less' (Less)
    if not v8:
        mark(7); mark(now())                  # block 7 is entered: the loop ends
        break
    v9 = k9(v6, v1)                           # 'while/MatMul' (MatMul)
    mark(now()); gave(9, v9)
"""

from __future__ import annotations

import itertools
from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfnb.common_runtime.executor.run_state import Leave
from tfnb.core.process.records import field, record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_ENTRIES = 200_000
"""Maximum number of journal entries; beyond it, later or earlier ones are dropped."""
_ENDLESS = 1 << 62


class LeavePoints(NamedTuple):
    """Points where a function is left, besides iterations, which it checks while it runs.

    Attributes:
      before: the ids of nodes before which it is left; for a node in a loop or cond, it is left
        before the whole loop or cond.
      after: the ids of nodes whose values decide whether it is left.
      of_dead: those of ``after`` that decide it also if they are dead.
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    of_dead: tuple[int, ...] = ()


class JournalKind(NamedTuple):
    """The data that a function records.

    Attributes:
      times: record when kernels ran.
      each: record when each line ran, scalar ones too; else lines between two timestamps share
        the time.
      tells: pass tensors to ``RunState.record_outputs``.
      keeps: names of tensors whose values are all kept, in a separate journal without times.
      leaves: record nothing, but allow leaving the function (``leave.py``) at these points and at
        each check of ``RunState.stop``; None: it is never left.
    """

    times: bool = False
    each: bool = False
    tells: bool = False
    keeps: tuple[str, ...] = ()
    leaves: LeavePoints | None = None

    def parts(self) -> list[JournalKind]:
        """Return the kinds of the separate journals."""
        if not (self.times and self.keeps):
            return [self]
        return [self._replace(keeps=()), JournalKind(keeps=self.keeps)]


def leave() -> None:
    """Leave the emitted function, which calls this."""
    raise Leave


class Gap(NamedTuple):
    """Earlier iterations were dropped; the next one has this number."""

    iteration: int


DEAD: Final = "dead"
"""Marks an output that has no value."""


class Number:
    """Represents a scalar made by a node, or a constant, in the registers' values.

    Attributes:
      node: the node.
      memo: data of the reader.
    """

    __slots__ = ("memo", "node")

    def __init__(self, node: int) -> None:
        self.node = node
        self.memo: Any = None


class _Full:
    """The mark at the end of a full journal."""


FULL: Final = _Full()
IGNORE: Final = deque[Any](maxlen=0).append


@record(slots=True, eq=False)
class Journal:
    """The record of one step, or one call, of an emitted function.

    Attributes:
      emitted: the function.
      is_of_values: whether it holds values, without times.
      entries: see the module; observers may append objects that are neither int nor list.
      line: the line where the function failed or was left; 0 if it ended.
      ended_ns: the time of its end.
      turns: the iterations of its loops at that time, by loop number.
      most: maximum number of entries before some are dropped.
      counts: how often its nodes ran (``StepCounts``), where it has counters.
      length: number of entries of the step itself: notes may be appended after its end.
      before_kernel: called before each kernel with the node's id, if set.
      tell_of_one: the only observer of outputs may set this to its hook ``tensors_made`` and a
        function of a node's id and its only output, which is called instead of the hook.
    """

    emitted: Any
    is_of_values: bool = False
    entries: list[Any] = field(default_factory=list)
    line: int = 0
    ended_ns: int = 0
    turns: dict[int, int] = field(default_factory=dict)
    most: int = MAX_ENTRIES
    counts: Any = None
    length: int = _ENDLESS
    before_kernel: Callable[[int], None] | None = None
    tell_of_one: tuple[Any, Callable[[int, Any], None]] | None = None
    _rolled: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    @property
    def plan(self) -> Any:
        """The ``JournalPlan``, which defines the meaning of the entries."""
        return self.emitted.journal_plans[self.is_of_values]

    def stopped(self, line: int, values: Mapping[str, Any]) -> None:
        """Record the line and variables with which the function was left or failed."""
        self.line = line
        numbers = [loop.number for loop in self.emitted.count_plan.blocks_and_loops[1]]
        self.turns = {one: values[f"turn{one}"] for one in numbers if f"turn{one}" in values}

    def fill(self) -> tuple[Any, Any, Any, int]:
        """Close the full journal; return no-op replacements for the function's writers."""
        self.entries.append(FULL)
        return IGNORE, ignore_outputs, ignore_output, _ENDLESS

    def teller(self, told: Any) -> Callable[[int, Any], None]:
        """Return the callback for a node's id and its only output.

        Args:
          told: ``RunState.record_outputs``, called unless ``tell_of_one`` replaces it.
        """
        if self.tell_of_one is not None and getattr(told, "only_hook", None) is self.tell_of_one[0]:
            return self.tell_of_one[1]
        nodes = self.emitted.nodes
        return lambda number, value: told(0, nodes[number], (value,))

    def roll(self, loop: int, start: int, iteration: int) -> int:
        """Drop the entries of a loop that precede the previous call of this method.

        Args:
          loop: the number of the loop.
          start: number of entries when the loop began.
          iteration: the iteration that begins.

        Returns:
          The number of entries at which the function must call this again.
        """
        entries = self.entries
        begun, place, earlier = self._rolled.get(loop, (-1, 0, 0))
        if begun == start:
            entries[start:place] = [Gap(earlier)]
        self._rolled[loop] = start, len(entries), iteration
        return len(entries) + self.most


def ignore_outputs(partition: int, item: Any, outputs: Any) -> None:
    """Ignore the outputs of a node."""


def ignore_output(number: int, value: Any) -> None:
    """Ignore the only output of a node."""


def cost_of_moment() -> int:
    """Measure the nanoseconds that one timestamp costs."""
    log: list[int] = []
    mark, now = log.append, perf_counter_ns
    for _ in range(64):
        mark(now())
    return min(later - earlier for earlier, later in itertools.pairwise(log))
