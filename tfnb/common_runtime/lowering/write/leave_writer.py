"""Writes the lines at which an emitted function is left for a debugger.

The function keeps no journal and counts nothing: when it is left, its path is derived from its
variables (``leave.py``).  Therefore predicates keep their registers, and so do values that nodes
without a line forward.  A loop gets its iterations from :class:`~tfnb.core.step_events.Near` when
it begins; a node whose value is checked has a line behind its own::

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
    """Return the registers that must keep their values until the function is left."""
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
            found.add(one.source)  # a line below runs the node
    return found


def turns_of(run_state: RunState) -> Callable[[int], Iterator[int]]:
    """Return the function that counts a loop's iterations; near one, it requests to leave."""
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
    """A function that was written already, without points in front of nodes."""

    @property
    def count_plan(self) -> CountPlan:
        """The line of each node."""

    @property
    def root_lines(self) -> list[int]:
        """The last line of each outermost instruction."""


class LeaveWriter:
    """Writes the points where a function may be left.

    Attributes:
      sites: the nodes whose values a line checks, by line.
      start: the last line before which no node has run.
      root_lines: the last line of each outermost instruction.
    """

    def __init__(
        self,
        points: LeavePoints,
        source: Source,
        immutable: ImmutableExecutorState,
        program: Program,
        draft: WrittenFunction | None,
    ) -> None:
        """Initialize the writer.

        Args:
          points: the points where the function may be left.
          source: receives the lines.
          immutable: the partition.
          program: the partition's program.
          draft: this function without points in front of nodes, if there are any.
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
        self._rests: dict[int, list[int]] = {}  # the nodes that are dead if a loop is left
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
        """Write the beginning of the function."""
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
        """Return the expression over which a loop counts its iterations."""
        return f"turns({self._immutable.frames[frame_name].index})"

    def iteration(self, body: Block) -> None:
        """Write the checks of loop variables, at the beginning of an iteration."""
        found = []
        if self._looked_at:
            (last,) = [one for one in body if isinstance(one, Assign)][-1:]
            found = [*last.targets, *last.index_targets]
            found = [one for one in found if one in self._looked_at]
        self._look(found)

    def before(self, block: Block) -> None:
        """Write the point in front of an instruction, if there is one."""
        if block is self._program.root and len(self.root_lines) == self._first:
            self._source.line("leave()")

    def after(self, instruction: type_of_instruction, block: Block) -> None:
        """Write the checks of an instruction's results."""
        if isinstance(instruction, Compute | Read):
            self._own.add(instruction.item.id)
        if isinstance(instruction, Compute) and instruction.item.id in self._of_dead:
            self._ask([(instruction.item.id, ", ".join(instruction.results))])
        if self._looked_at and not isinstance(instruction, Assign | Clear):
            self._look([one for one in writes_of(instruction) if one in self._looked_at])
        if block is self._program.root:
            self.root_lines.append(self._source.last)

    def _look(self, registers: list[str]) -> None:
        """Write the checks of registers."""
        self._ask([(number, one) for one in registers for number in self._looked_at[one]])

    def dead_in(self, block: Block) -> list[int]:
        """Return the nodes to check if a block is not entered."""
        if not self._of_dead:
            return []
        found = (one.item.id for one in instructions_in(block) if isinstance(one, Compute))
        return [number for number in found if number in self._of_dead]

    def not_entered(self, nodes: list[int]) -> None:
        """Write the checks of nodes that are dead here."""
        self._ask([(number, "") for number in nodes])

    def loop(self, body: Block) -> None:
        """Prepare a loop, before it is written."""
        for place, one in enumerate(body):
            if isinstance(one, ExitLoop):
                self._rests[id(one)] = self.dead_in(body[place + 1 :])

    def rest(self, instruction: ExitLoop) -> list[int]:
        """Return the nodes to check if a loop is left."""
        return self._rests[id(instruction)]

    def _ask(self, pairs: list[tuple[int, str]]) -> None:
        """Write a line that checks nodes."""
        if pairs:
            asked = " or ".join(f"near{number}({one})" for number, one in pairs)
            self._source.line(f"if {asked}: leave()")
            self.sites[self._source.last] = tuple(dict.fromkeys(number for number, _ in pairs))

    def plan(self, places: CountPlan) -> LeavePlan:
        """Return the meaning of the function's lines, once it is written."""
        return LeavePlan(self, places, self._program, self._own)


class LeavePlan(BlockPlan):
    """The meaning of the lines of a function that may be left.

    Attributes:
      sites, start: those of the writer.
      answers: by the block's number: the register that decides whether the block is entered,
        whether the test is for the presence of a value, and the result with which it is entered.
    """

    def __init__(
        self, writer: LeaveWriter, counted: CountPlan, program: Program, own: set[int]
    ) -> None:
        """Sort the meanings of lines by blocks and lines."""
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
        """Return whether a block was entered when its predicate was last tested."""
        name, is_presence, side = self.answers[number]
        value = values.get(name)
        return (value is not None if is_presence else bool(value)) is side
