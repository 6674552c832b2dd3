"""Writes the lines of an emitted function by which it is left where a debugger wants to look.

The function keeps no journal and counts nothing: when it is left, its variables tell which way it
went (``leave.py``).  So what decides a question keeps its register, and so does what is handed on
without a line.  The loops ask :class:`~tfnb.core.step_events.Near` for their iterations when they
begin, the nodes whose values are looked at have a line behind their own::

    for turn1 in turns(1):                    # frame 'while/while_context'
        if run_state.stop is not None: run_state.heed_stop()
        ...
        v9 = k9(v6, v1)                       # 'while/MatMul' (MatMul)
        if near9(v9): leave()
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Protocol

from tfnb.common_runtime.executor.immutable_executor_state import NOTHING
from tfnb.common_runtime.lowering.recognise.conditions import PRESENCE
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Clear,
    Compute,
    ExitLoop,
    If,
    Program,
    Read,
    writes_of,
)
from tfnb.common_runtime.lowering.recognise.registers import SWITCHES
from tfnb.common_runtime.lowering.rewrite.ranks import instructions_in
from tfnb.common_runtime.lowering.support.journal import leave
from tfnb.common_runtime.lowering.write.block_plan import BlockPlan, NodeLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.common_runtime.executor.immutable_executor_state import ImmutableExecutorState
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.common_runtime.lowering.recognise.program import Block, type_of_instruction
    from tfnb.common_runtime.lowering.support.counts import CountPlan
    from tfnb.common_runtime.lowering.support.journal import LeavePoints
    from tfnb.common_runtime.lowering.write.source import Source


def registers_to_keep(program: Program) -> set[str]:
    """The registers that must hold what they hold until the function is left."""
    registers = program.registers
    assert registers is not None
    found = set[str]()
    for item in registers.immutable.items:
        if item.op in SWITCHES:
            found.add(registers.predicate(item))
        hands_on = item.is_merge or item.action == NOTHING or registers.hands_on(item) is not None
        if hands_on and item.num_inputs:
            found.update(registers.args(item))
    for one in instructions_in(program.root):
        if isinstance(one, If):
            found.add(one.predicate)
        elif isinstance(one, Read):
            found.add(one.source)  # the node comes in a line below
    return found


def turns_of(run_state: RunState) -> Callable[[int], Iterator[int]]:
    """What the loops of a step count by: near an iteration it asks the function to be left."""
    iterations = run_state.near.iterations
    if not iterations:
        return _endless

    def turns(frame: int) -> Iterator[int]:
        first = iterations.get(frame)
        if first is None:
            return itertools.count()
        return itertools.chain(range(first), _near(run_state, first))

    return turns


def _endless(frame: int) -> Iterator[int]:
    return itertools.count()


def _near(run_state: RunState, first: int) -> Iterator[int]:
    run_state.leave_function()
    yield from itertools.count(first)


class WrittenFunction(Protocol):
    """A function that was written already: the same without points in front of nodes."""

    @property
    def count_plan(self) -> CountPlan:
        """The line of each node."""

    @property
    def root_lines(self) -> list[int]:
        """The last line of each instruction that stands in no other."""


class LeaveWriter:
    """Writes where a function may be left.

    Attributes:
      sites: the nodes whose values a line looks at, by line.
      start: the last line in front of which nothing has run.
      root_lines: the last line of each instruction that stands in no other.
    """

    def __init__(
        self,
        points: LeavePoints,
        source: Source,
        immutable: ImmutableExecutorState,
        program: Program,
        draft: WrittenFunction | None,
    ) -> None:
        """Begins.

        Args:
          points: where.
          source: what is written.
          immutable: the partition.
          program: what it became.
          draft: the same function without the points in front of nodes, if there are such.
        """
        self._points = points
        self._source = source
        self._immutable = immutable
        self._program = program
        self.sites: dict[int, tuple[int, ...]] = {}
        self.root_lines: list[int] = []
        self._own: set[int] = set()
        self._looked_at: dict[str, list[int]] = {}  # nodes by register
        registers = program.registers
        assert registers is not None
        self._of_dead = set(points.of_dead)
        written = {one.item.id for one in instructions_in(program.root) if isinstance(one, Compute)}
        self._rests: dict[int, list[int]] = {}  # what is dead where a loop is left
        for number in points.after:
            if number in self._of_dead:
                continue
            item = immutable.items[number]
            for output in range(item.num_outputs):
                nodes = self._looked_at.setdefault(registers.register(item, output), [])
                if number not in nodes:
                    nodes.append(number)
        self.start = 0
        self._first = len(program.root) + 1
        self._is_near_at_once = not written >= self._of_dead
        if draft is not None:
            line = min(draft.count_plan.places[number][0] for number in points.before)
            self._first = bisect_left(draft.root_lines, line)
            self._is_near_at_once |= not line

    def begin(self) -> None:
        """The function begins."""
        source = self._source
        source.names |= {"leave": leave, "turns_of": turns_of}
        source.line("turns = turns_of(run_state)")
        if self._points.after:
            source.line("checks = run_state.near.checks")
            for number in self._points.after:
                source.line(f"near{number} = checks[{number}]")
        self._look([one for one in self._looked_at if one in self._program.constants])
        if self._is_near_at_once:
            source.line("leave()")
        self.start = source.last

    def turns(self, frame_name: str) -> str:
        """What a loop counts by."""
        return f"turns({self._immutable.frames[frame_name].index})"

    def iteration(self, body: Block) -> None:
        """An iteration begins; what the variables hold is looked at here, not where they got it."""
        found = []
        if self._looked_at:
            (last,) = [one for one in body if isinstance(one, Assign)][-1:]
            found = [*last.targets, *last.index_targets]
            found = [one for one in found if one in self._looked_at]
        self._look(found)

    def before(self, block: Block) -> None:
        """An instruction is to be written in a block."""
        if block is self._program.root and len(self.root_lines) == self._first:
            self._source.line("leave()")

    def after(self, instruction: type_of_instruction, block: Block) -> None:
        """An instruction was written."""
        if isinstance(instruction, Compute | Read):
            self._own.add(instruction.item.id)
        if isinstance(instruction, Compute) and instruction.item.id in self._of_dead:
            self._ask([(instruction.item.id, ", ".join(instruction.results))])
        if self._looked_at and not isinstance(instruction, Assign | Clear):
            self._look([one for one in writes_of(instruction) if one in self._looked_at])
        if block is self._program.root:
            self.root_lines.append(self._source.last)

    def _look(self, registers: list[str]) -> None:
        """Looks at values."""
        self._ask([(number, one) for one in registers for number in self._looked_at[one]])

    def dead_in(self, block: Block) -> list[int]:
        """Of which nodes it is asked where a block is not entered."""
        if not self._of_dead:
            return []
        found = (one.item.id for one in instructions_in(block) if isinstance(one, Compute))
        return [number for number in found if number in self._of_dead]

    def not_entered(self, nodes: list[int]) -> None:
        """Asks of nodes that are dead here."""
        self._ask([(number, "") for number in nodes])

    def loop(self, body: Block) -> None:
        """A loop is to be written."""
        for place, one in enumerate(body):
            if isinstance(one, ExitLoop):
                self._rests[id(one)] = self.dead_in(body[place + 1 :])

    def rest(self, instruction: ExitLoop) -> list[int]:
        """Of which nodes it is asked where a loop is left."""
        return self._rests[id(instruction)]

    def _ask(self, pairs: list[tuple[int, str]]) -> None:
        """Writes a line that asks of nodes."""
        if pairs:
            asked = " or ".join(f"near{number}({one})" for number, one in pairs)
            self._source.line(f"if {asked}: leave()")
            self.sites[self._source.last] = tuple(dict.fromkeys(number for number, _ in pairs))

    def plan(self, places: CountPlan) -> LeavePlan:
        """What its lines do, once the function is written."""
        return LeavePlan(self, places, self._program, self._own)


class LeavePlan(BlockPlan):
    """What the lines of a function do that may be left.

    Attributes:
      sites, start: as those of the writer.
      answers: the register that decides whether a block is entered, whether it is asked if that
        holds anything, and the answer that is wanted; by the block's number.
    """

    def __init__(
        self, writer: LeaveWriter, counted: CountPlan, program: Program, own: set[int]
    ) -> None:
        """Sorts everything by blocks and lines."""
        registers = program.registers
        assert registers is not None
        predicates = {
            item.id: registers.predicate(item)
            for item in registers.immutable.items
            if item.op in SWITCHES
        }
        super().__init__(
            counted, program, NodeLines({}, (), own, {}), predicates, has_registers=True
        )
        self.sites = writer.sites
        self.start = writer.start
        self.answers: dict[int, tuple[str, bool, bool]] = {}
        for number, block in enumerate(self.blocks):
            if block.literal is not None:
                name, side = block.literal
                is_presence = name.startswith(PRESENCE)
                self.answers[number] = name.removeprefix(PRESENCE), is_presence, side

    def is_entered(self, number: int, values: Any) -> bool:
        """Whether a block was entered when its question was asked last."""
        name, is_presence, side = self.answers[number]
        value = values.get(name)
        return (value is not None if is_presence else bool(value)) is side
