"""Run counts of each node of an emitted function, from a few counters and the current line.

Nodes of one block run equally often.  Therefore a watched function counts only the branches of its
conds and the iterations of its loops, in local variables.  The other counts follow: a block was
entered as often as its predicate was evaluated, minus the entries of the other branch; in the block
that is running, the nodes below the current line have run once less.  Observers read line and
variables from outside (``running_nodes.py``), and the function stores its counters when it ends;
there is no callback per node.

A node is *dead* as often as the reference would run it without a value: in each iteration that
takes another branch, in the last iteration of its loop, and once for each loop not entered.
"""

from __future__ import annotations

import enum
from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.common_runtime.lowering.recognise.conditions import ALWAYS
from tfnb.common_runtime.lowering.recognise.program import (
    Compute,
    Deferred,
    PartialSum,
    Program,
    Read,
    Sent,
)
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.common_runtime.lowering.recognise.conditions import type_of_condition, type_of_literal
    from tfnb.common_runtime.lowering.recognise.program import Unit, type_of_instruction

_END = 1 << 60


class Kind(enum.Enum):
    """How the number of entries of a block is determined."""

    ROOT = enum.auto()  # once
    COUNTED = enum.auto()  # a branch of a cond with a counter
    REST = enum.auto()  # the other branch
    BODY = enum.auto()  # a loop, up to its exit test
    GOING_ON = enum.auto()  # the rest of its body, after the exit test
    LEAVING = enum.auto()  # the nodes that run when the loop is left
    NEVER = enum.auto()


@record(slots=True)
class CountedBlock:
    """Lines that run equally often, except for those of the blocks inside.

    Attributes:
      parent: the number of the block around it.
      statement: the line in the parent that decides whether it is entered.
      first, last: the range of its lines.
      value: the index of its counter; of a BODY the index of its loop; of a REST, GOING_ON or
        LEAVING the number of the block from which its count follows.
      frame: the number of the loop that contains it; 0: none.
      condition: the condition under which it runs, within that loop.
      literal: the value of the predicate that enters it; None: there is no predicate.
    """

    kind: Kind
    parent: int = 0
    statement: int = 0
    first: int = 1
    last: int = _END
    value: int = 0
    frame: int = 0
    condition: type_of_condition = ALWAYS
    literal: type_of_literal | None = None


@record(slots=True)
class CountedLoop:
    """A loop: its frame, the parent frame, its block and number, and its counters.

    A loop without counters is never entered.
    """

    frame_name: str
    parent: str
    block: int
    number: int = 0
    names: tuple[str, ...] = ()


class Counting:
    """The records that the writer of a function makes while it writes, to make a plan.

    Attributes:
      is_silent: the function has no counters; only the lines of its nodes are known.
    """

    def __init__(self, *, is_silent: bool = False) -> None:
        self.is_silent = is_silent
        self.blocks = [CountedBlock(Kind.ROOT)]
        self.loops: list[CountedLoop] = []
        self.counters: list[str] = []
        self.has_sent = False
        self._stack = [0]
        self._around: list[int] = []  # the enclosing loops, as indices in self.loops
        self._lines: dict[int, tuple[int, int]] = {}  # item id -> line, block
        self._line_of: dict[int, int] = {}  # by the id of an instruction

    def note(self, instruction: type_of_instruction, line: int) -> None:
        """Record an instruction that has been written; ``line`` is its last line."""
        is_end = isinstance(instruction, Deferred) and instruction.part == "total"
        if isinstance(instruction, Compute | PartialSum | Deferred | Read) and not is_end:
            self._lines[instruction.item.id] = line, self._stack[-1]
        self._line_of[id(instruction)] = line
        self.has_sent |= isinstance(instruction, Sent)

    def open(
        self, kind: Kind, statement: int, first: int, literal: type_of_literal, value: int = 0
    ) -> int:
        """Open the block of a branch; return its number."""
        around = self.blocks[self._stack[-1]]
        block = CountedBlock(
            kind,
            self._stack[-1],
            statement,
            first,
            _END,
            value,
            around.frame,
            around.condition | {literal},
            literal,
        )
        return self._push(block)

    def counter(self) -> str:
        """Add the counter variable of the next counted branch."""
        self.counters.append(f"ran{len(self.counters)}")
        return self.counters[-1]

    def open_loop(self, number: int, frame_name: str, line: int) -> None:
        """Open a loop that begins after a line."""
        parent = self.loops[self._around[-1]].frame_name if self._around else ""
        names = (f"turn{number}", *((f"turns{number}", f"last{number}") if self._around else ()))
        place = len(self.loops)
        block = CountedBlock(Kind.BODY, self._stack[-1], line, line + 1, _END, place, number)
        self.loops.append(CountedLoop(frame_name, parent, len(self.blocks), number, names))
        self._around.append(place)
        self._push(block)

    def close(self, last: int) -> None:
        """Close the innermost block."""
        self.blocks[self._stack.pop()].last = last

    def close_loop(self, last: int) -> None:
        """Close the innermost loop, and with it the part after its exit test."""
        while self.blocks[self._stack[-1]].kind is not Kind.BODY:
            self.close(last)
        self.close(last)
        self._around.pop()

    @property
    def innermost(self) -> int:
        """The number of the block that is being written."""
        return self._stack[-1]

    def body(self) -> int:
        """Return the number of the innermost block, which is a loop's body."""
        return self._stack[-1]

    def variables(self) -> tuple[str, ...]:
        """Return the names of all counters."""
        if self.is_silent:
            return ()
        names = (name for loop in self.loops for name in loop.names)
        return (*self.counters, *names, *(("sent",) if self.has_sent else ()))

    def _push(self, block: CountedBlock) -> int:
        self.blocks.append(block)
        self._stack.append(len(self.blocks) - 1)
        return self._stack[-1]

    def plan(self, immutable: ImmutableExecutorState, program: Program) -> CountPlan:
        """Make the plan, once the function is written."""
        blocks_of: dict[tuple[int, type_of_condition], list[int]] = {}
        for number, block in enumerate(self.blocks):
            blocks_of.setdefault((block.frame, block.condition), []).append(number)
        places: dict[int, tuple[int, int]] = {}
        ends = {loop.frame_name: self.blocks[loop.block].last for loop in self.loops}
        for frame, units in program.frames:
            lines: dict[int, int] = {}
            for unit in units:
                line = self._line_of_unit(unit)
                for before in unit.before:
                    line = max(line, lines.get(id(before), 0), self._line_of_unit(before))
                if unit.item is None:
                    line = max(line, ends.get(unit.frame, 0))
                lines[id(unit)] = line
                if unit.item is None or unit.condition is None:
                    continue
                known = None if unit.item.is_merge else self._lines.get(unit.item.id)
                if known is None:
                    found = blocks_of[frame, unit.condition]
                    behind = (one for one in found if self.blocks[one].last >= line)
                    known = line, next(behind, found[-1])
                places[unit.item.id] = known
        parents = {item.frame_name: item.frame.name for item in immutable.items if item.is_enter}
        numbers = {loop.frame_name: loop.number for loop in self.loops} | {"": 0}
        never: dict[str, int] = {}
        for name in immutable.frames:
            outer = name
            while outer not in numbers:
                outer = parents[outer]
            around = blocks_of[numbers[outer], ALWAYS][0]
            never[name] = len(self.blocks)
            self.blocks.append(CountedBlock(Kind.NEVER, around, 0, 0, -1))
            if name != outer:
                self.loops.append(CountedLoop(name, parents[name], never[name]))
        for item in immutable.items:
            places.setdefault(item.id, (0, never[item.frame.name]))
        return CountPlan(self, immutable, program, places)

    def _line_of_unit(self, unit: Unit) -> int:
        return max((self._line_of.get(id(one), 0) for one in unit.instructions), default=0)


def plan_of_schedule(schedule: Sequence[NodeItem], lines: Sequence[NodeItem | None]) -> CountPlan:
    """Return the plan of a function without control flow, which needs no counters.

    Args:
      schedule: its nodes.
      lines: the node of each line of the function.
    """
    own = {item.id: line for line, item in enumerate(lines) if item is not None}
    places: dict[int, tuple[int, int]] = {}
    ready = dict.fromkeys(own, 0)
    for item in schedule:
        line = own.get(item.id) or ready.get(item.id, 0)
        places[item.id] = line, 0
        for dst in (*(dst for _, dst, _ in item.data_edges), *item.control_edges):
            ready[dst.id] = max(ready.get(dst.id, 0), line)
    return CountPlan(Counting(), None, Program(), places)


class CountPlan:
    """The meaning of a function's counters.

    Attributes:
      variables: the names of the counters.
      places: line and block of each node, by its id.
    """

    def __init__(
        self,
        counting: Counting,
        immutable: ImmutableExecutorState | None,
        program: Program,
        places: Mapping[int, tuple[int, int]],
    ) -> None:
        self.variables = counting.variables()
        self._blocks = counting.blocks
        self._loops = counting.loops
        self.places = places
        self._place_of = {name: place for place, name in enumerate(self.variables)}
        order = sorted(places)
        self._lines = np.array([places[number][0] for number in order], np.int64)
        self._block_of = np.array([places[number][1] for number in order], np.intp)
        self._sizes = np.bincount(self._block_of, minlength=len(self._blocks)).tolist()
        self._triggers: list[int] = []
        self._alone: list[tuple[int, list[int], int]] = []
        if immutable is None:
            return
        self._triggers = sorted(program.triggered)
        bodies = {loop.frame_name: loop.block for loop in self._loops}
        for number, enters in reversed(program.alive_alone.items()):
            body = bodies[immutable.items[number].frame.name]
            self._alone.append((number, sorted(enters), body))

    @property
    def blocks_and_loops(self) -> tuple[Sequence[CountedBlock], Sequence[CountedLoop]]:
        """All counted blocks and loops."""
        return self._blocks, self._loops

    def blocks(self, values: Sequence[int], line: int) -> tuple[list[int], list[int]]:
        """Return the number of entries of each block, and how often its nodes are dead."""
        entered, dead = [1], [0]
        inside = [block.first <= line <= block.last for block in self._blocks]
        for number, block in enumerate(self._blocks[1:], 1):
            parent = block.parent
            decided = entered[parent] - (inside[parent] and block.statement >= line)
            kind = block.kind
            if kind is Kind.BODY:
                entered.append(decided + self._turns(block.value, values))
                dead.append(dead[parent])
                continue
            if kind is Kind.COUNTED:
                count = values[block.value]
            elif kind is Kind.REST:
                count = decided - entered[block.value]
            elif kind is Kind.NEVER:
                count = 0
            else:
                turns = self._turns(self._blocks[block.value].value, values)
                if kind is Kind.GOING_ON:
                    count = turns + inside[number]
                else:
                    is_going_on = inside[block.value] and not inside[number]
                    count = entered[block.value] - turns - is_going_on
            entered.append(count)
            dead.append(dead[parent] + decided - count)
        return entered, dead

    def _turns(self, loop: int, values: Sequence[int]) -> int:
        """Return the number of times a loop started another iteration, in all frames."""
        places, names = self._place_of, self._loops[loop].names
        return sum(values[places[name]] for name in names[:2])

    @cached_property
    def _weights(self) -> list[int]:
        """The node runs without counters, then those that each counter stands for."""
        count = len(self.variables)
        found = [self._sum([0] * count)]
        for place in range(count):
            values = [0] * count
            values[place] = 1
            found.append(self._sum(values) - found[0])
        return found

    def _sum(self, values: Sequence[int]) -> int:
        rows = zip(*self.blocks(values, 0), self._sizes, strict=True)
        return sum((live + dead) * size for live, dead, size in rows)

    def total(self, values: Sequence[int]) -> int:
        """Return the number of node runs in a step that has ended."""
        base, *weights = self._weights
        return int(base + sum(map(mul, weights, values)))

    def nodes(self, values: Sequence[int], line: int) -> tuple[Any, Any]:
        """Return the number of runs and of dead runs of each node, by node id."""
        entered, dead = self.blocks(values, line)
        live = np.array(entered, np.int64)[self._block_of]
        inside = np.array([block.first <= line <= block.last for block in self._blocks])
        live -= inside[self._block_of] & (self._lines >= line)
        without = np.array(dead, np.int64)[self._block_of]
        for number in self._triggers:
            live[number], without[number] = live[number] + without[number], 0
        for number, enters, body in self._alone:
            # The number of times that the node was alive although its frame was not entered.
            block = self._blocks[body]
            frames = (
                0 if block.kind is Kind.NEVER else entered[body] - self._turns(block.value, values)
            )
            more = max(0, min(int(live[enter]) for enter in enters) - frames)
            live[number] += more
            without[number] -= more
        return live, without

    def iterations(self, values: Sequence[int], line: int) -> list[tuple[int, int]]:
        """Return for each loop how often it began and its total number of iterations."""
        entered, dead = self.blocks(values, line)
        found = []
        for place, loop in enumerate(self._loops):
            iterations = entered[loop.block] + dead[loop.block]
            found.append((iterations - self._turns(place, values), iterations))
        return found

    def loops(self, values: Sequence[int], line: int) -> list[LoopCounts]:
        """Return the loops that began, outer ones first."""
        entered, dead = self.blocks(values, line)
        found = []
        for place, loop in enumerate(self._loops):
            block = self._blocks[loop.block]
            alive = entered[loop.block] - self._turns(place, values)
            runs = alive + dead[loop.block]
            if runs:
                counted = [values[self._place_of[name]] for name in loop.names] or [0]
                iteration = counted[0] or counted[-1]
                is_active = block.first <= line <= block.last
                row = LoopCounts(loop.frame_name, loop.parent, runs, alive, iteration, is_active)
                found.append(row)
        return found


class LoopCounts(NamedTuple):
    """The counts of all frames with one name.

    Attributes:
      name: the name of the frames.
      parent: the frame name of the loop around it; "": none.
      runs: the number of frames.
      entered: the number of frames that were entered alive.
      iteration: the iteration that the latest frame is in, or ended with.
      is_active: whether a frame is running.
    """

    name: str
    parent: str
    runs: int
    entered: int
    iteration: int
    is_active: bool


class StepCounts:
    """The counts of one step until now; computed when read.

    Attributes:
      running: the id of the node that runs; -1 if unknown.
    """

    def __init__(
        self, emitted: Any, values: Sequence[int] = (), line: int = 0, running: int = -1
    ) -> None:
        """Store the state of the function.

        Args:
          emitted: the function.
          values: its counters.
          line: its current line; 0: it has ended.
          running: the id of the node that runs; -1 if unknown.
        """
        self._emitted = emitted
        self._values = values
        self._line = line
        self.running = running

    @property
    def running_ids(self) -> tuple[int, ...]:
        """The ids of the nodes that run: one, or none if unknown."""
        return () if self.running < 0 else (self.running,)

    @cached_property
    def total(self) -> int:
        """The number of node runs, dead ones included."""
        if self._line:
            return int(sum(self.nodes()).sum())
        plan: CountPlan = self._emitted.count_plan
        return plan.total(self._values)

    @property
    def sent_bytes(self) -> int:
        """The number of bytes sent between devices."""
        plan: CountPlan = self._emitted.count_plan
        return self._values[-1] if plan.variables[-1:] == ("sent",) else 0

    @property
    def num_events(self) -> int:
        """The number of events of nodes, iterations and frames in the reference for this step."""
        plan: CountPlan = self._emitted.count_plan
        turns = plan.iterations(self._values, self._line)
        return 2 * self.total + sum(2 * runs + 2 * iterations for runs, iterations in turns)

    def nodes(self) -> tuple[Any, Any]:
        """Return the number of runs and of dead runs of each node, by node id.

        If several partitions run as one function, the nodes of the first come first.
        """
        plan: CountPlan = self._emitted.count_plan
        return plan.nodes(self._values, self._line)

    def iterations_of(self, frame_name: str) -> int:
        """Return the number of iterations of all frames of a name, dead ones included.

        It is 1 for the root frame.
        """
        if not frame_name:
            return 1
        plan: CountPlan = self._emitted.count_plan
        names = [loop.frame_name for loop in plan.blocks_and_loops[1]]
        return plan.iterations(self._values, self._line)[names.index(frame_name)][1]

    def loops(self) -> list[LoopCounts]:
        """Return the loops that began, outer ones first."""
        plan: CountPlan = self._emitted.count_plan
        return plan.loops(self._values, self._line)
