"""How often each node of an emitted function ran, from a few counters and the line it is at.

Nodes of one block run equally often.  So a function that is watched counts the sides of its conds
and the iterations of its loops, in local variables; everything else follows: a block was entered as
often as the question in front of it was asked, or as the other side was not; of the block that is
being run the nodes below the current line have run once less.  Whoever wants to know reads line
and variables from outside (``running_nodes.py``), and at the end the function leaves its counters
behind; nobody is told of a node.

A node is *dead* as often as the reference would run it without a value: in each iteration that goes
another way, in the last iteration of its loop, and once for each loop that is not entered.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.common_runtime.lowering.conditions import ALWAYS
from tfnb.common_runtime.lowering.program import Compute, PartialSum, Program, Read, Sent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.immutable_executor_state import ImmutableExecutorState, NodeItem
    from tfnb.common_runtime.lowering.conditions import type_of_condition, type_of_literal
    from tfnb.common_runtime.lowering.order import Unit
    from tfnb.common_runtime.lowering.program import type_of_instruction

_END = 1 << 60


class Kind(enum.Enum):
    """How it is known how often a block was entered."""

    ROOT = enum.auto()  # once
    COUNTED = enum.auto()  # a side of a cond with a counter
    REST = enum.auto()  # the other side
    BODY = enum.auto()  # a loop, up to where it may be left
    GOING_ON = enum.auto()  # the rest of its body
    LEAVING = enum.auto()  # what runs when it is left
    NEVER = enum.auto()


@dataclass(slots=True)
class CountedBlock:
    """Lines that run equally often, but for those of the blocks inside.

    Attributes:
      parent: the block around it, by number.
      statement: the line in it that decides.
      first, last: the lines.
      value: the place of its counter; of a BODY its loop's place among the loops; of a REST,
        GOING_ON or LEAVING the number of the block that it follows from.
      frame: the number of the loop that it is of; 0: none.
      condition: when it runs, within that loop.
    """

    kind: Kind
    parent: int = 0
    statement: int = 0
    first: int = 1
    last: int = _END
    value: int = 0
    frame: int = 0
    condition: type_of_condition = ALWAYS


@dataclass(slots=True)
class CountedLoop:
    """A loop: its frame, that around it, its block and number, and its variables.

    Without variables it is one that is never entered.
    """

    frame_name: str
    parent: str
    block: int
    number: int = 0
    names: tuple[str, ...] = ()


class Counting:
    """What a writer of a function notes down while it writes, to make a plan of it."""

    def __init__(self) -> None:
        self.blocks = [CountedBlock(Kind.ROOT)]
        self.loops: list[CountedLoop] = []
        self.counters: list[str] = []
        self.has_sent = False
        self._stack = [0]
        self._around: list[int] = []  # the loops around, as places in self.loops
        self._lines: dict[int, tuple[int, int]] = {}  # item id -> line, block
        self._line_of: dict[int, int] = {}  # by the id of an instruction

    def note(self, instruction: type_of_instruction, line: int) -> None:
        """An instruction has been written; ``line`` is its last."""
        if isinstance(instruction, Compute | PartialSum | Read):
            self._lines[instruction.item.id] = line, self._stack[-1]
        self._line_of[id(instruction)] = line
        self.has_sent |= isinstance(instruction, Sent)

    def open(
        self, kind: Kind, statement: int, first: int, literal: type_of_literal, value: int = 0
    ) -> int:
        """A side of a question begins; gives its number."""
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
        )
        return self._push(block)

    def counter(self) -> str:
        """The variable of the next side that is counted."""
        self.counters.append(f"ran{len(self.counters)}")
        return self.counters[-1]

    def open_loop(self, number: int, frame_name: str, line: int) -> None:
        """A loop begins behind that line."""
        parent = self.loops[self._around[-1]].frame_name if self._around else ""
        names = (f"turn{number}", *((f"turns{number}", f"last{number}") if self._around else ()))
        place = len(self.loops)
        block = CountedBlock(Kind.BODY, self._stack[-1], line, line + 1, _END, place, number)
        self.loops.append(CountedLoop(frame_name, parent, len(self.blocks), number, names))
        self._around.append(place)
        self._push(block)

    def close(self, last: int) -> None:
        """The innermost block ends."""
        self.blocks[self._stack.pop()].last = last

    def close_loop(self, last: int) -> None:
        """The innermost loop ends, and with it the part behind its question."""
        while self.blocks[self._stack[-1]].kind is not Kind.BODY:
            self.close(last)
        self.close(last)
        self._around.pop()

    def body(self) -> int:
        """The number of the innermost block, which is a loop's body."""
        return self._stack[-1]

    def variables(self) -> tuple[str, ...]:
        """Everything that is counted."""
        names = (name for loop in self.loops for name in loop.names)
        return (*self.counters, *names, *(("sent",) if self.has_sent else ()))

    def _push(self, block: CountedBlock) -> int:
        self.blocks.append(block)
        self._stack.append(len(self.blocks) - 1)
        return self._stack[-1]

    def plan(self, immutable: ImmutableExecutorState, program: Program) -> CountPlan:
        """How the nodes are counted, once the function is written."""
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
    """That of a function without control flow, in which nothing has to be counted.

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
    """What a function's counters mean.

    Attributes:
      variables: the names of the counters.
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
        self._place_of = {name: place for place, name in enumerate(self.variables)}
        order = sorted(places)
        self._lines = np.array([places[number][0] for number in order], np.int64)
        self._block_of = np.array([places[number][1] for number in order], np.int64)
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

    def blocks(self, values: Sequence[int], line: int) -> tuple[list[int], list[int]]:
        """How often each block was entered, and how often its nodes are dead."""
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
        """How often a loop went on, in all frames."""
        places, names = self._place_of, self._loops[loop].names
        return sum(values[places[name]] for name in names[:2])

    @cached_property
    def _weights(self) -> list[int]:
        """How many runs of nodes each counter stands for, and how many there are without."""
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
        """How often nodes of a step that has ended ran altogether."""
        base, *weights = self._weights
        return int(base + sum(map(mul, weights, values)))

    def nodes(self, values: Sequence[int], line: int) -> tuple[Any, Any]:
        """How often each node ran and how often it was dead, by its id."""
        entered, dead = self.blocks(values, line)
        live = np.array(entered, np.int64)[self._block_of]
        inside = np.array([block.first <= line <= block.last for block in self._blocks])
        live -= inside[self._block_of] & (self._lines >= line)
        without = np.array(dead, np.int64)[self._block_of]
        for number in self._triggers:
            live[number], without[number] = live[number] + without[number], 0
        for number, enters, body in self._alone:
            # Of the frames that were not entered, those in which it was alive.
            block = self._blocks[body]
            frames = (
                0 if block.kind is Kind.NEVER else entered[body] - self._turns(block.value, values)
            )
            more = max(0, min(int(live[enter]) for enter in enters) - frames)
            live[number] += more
            without[number] -= more
        return live, without

    def loops(self, values: Sequence[int], line: int) -> list[LoopCounts]:
        """The loops that were begun, the outer ones first."""
        entered, dead = self.blocks(values, line)
        found = []
        for place, loop in enumerate(self._loops):
            block = self._blocks[loop.block]
            runs = entered[loop.block] + dead[loop.block] - self._turns(place, values)
            if runs:
                counted = [values[self._place_of[name]] for name in loop.names] or [0]
                iteration = counted[0] or counted[-1]
                is_active = block.first <= line <= block.last
                row = LoopCounts(loop.frame_name, loop.parent, runs, iteration, is_active)
                found.append(row)
        return found


class LoopCounts(NamedTuple):
    """All frames of one name.

    Attributes:
      name: theirs.
      parent: that of the loop around it; "": none.
      runs: how many frames there were.
      iteration: which the latest is in, or has come to.
      is_active: whether one runs.
    """

    name: str
    parent: str
    runs: int
    iteration: int
    is_active: bool


class StepCounts:
    """What ran of one step until now; found out when somebody asks.

    Attributes:
      running: the id of the node that runs; -1 where that is not known.
    """

    def __init__(
        self, emitted: Any, values: Sequence[int] = (), line: int = 0, running: int = -1
    ) -> None:
        """Notes down.

        Args:
          emitted: the function.
          values: its counters.
          line: where it is; 0: it has ended.
          running: see above.
        """
        self._emitted = emitted
        self._values = values
        self._line = line
        self.running = running

    @cached_property
    def total(self) -> int:
        """How often nodes ran altogether, dead ones too."""
        if self._line:
            return int(sum(self.nodes()).sum())
        plan: CountPlan = self._emitted.count_plan
        return plan.total(self._values)

    @property
    def sent_bytes(self) -> int:
        """How much went from device to device."""
        plan: CountPlan = self._emitted.count_plan
        return self._values[-1] if plan.variables[-1:] == ("sent",) else 0

    def nodes(self) -> tuple[Any, Any]:
        """How often each node ran and how often it was dead, by its id.

        Of several partitions that run as one function, those of the first come first.
        """
        plan: CountPlan = self._emitted.count_plan
        return plan.nodes(self._values, self._line)

    def loops(self) -> list[LoopCounts]:
        """The loops that were begun, the outer ones first."""
        plan: CountPlan = self._emitted.count_plan
        return plan.loops(self._values, self._line)
