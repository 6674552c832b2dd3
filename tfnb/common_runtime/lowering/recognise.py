"""Finds loops and conds in a partition and makes a :class:`Program` of it.

Every frame is looked at by itself: one iteration of it is a graph without cycles once the edges
into the next iteration are cut, and a frame inside it is one unit.  Each unit gets its *condition*,
the set of literals (predicate, side) that must hold for it to be alive: that of its inputs, and a
side of a Switch adds a literal.  A Merge of exclusive inputs whose sides make up a whole has the
condition they share; where they do not, whether the Merge has a value is a literal of its own.
Units with the same condition go into the same ``if``; control edges and data edges order them.

What is written here is taken as it is, or not at all: :class:`Unrecognised` leaves a partition to
the reference executor.  Not recognised are loops whose variables do not go on and leave together,
Merges whose inputs nobody knows to be exclusive, and whatever no front end makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.immutable_executor_state import (
    ASYNC,
    INTO_NEXT,
    INTO_PARENT,
    NOTHING,
    PASS,
    POOL,
    RETVAL,
    NodeItem,
)
from tfnb.common_runtime.late_reads import HANDING_ON
from tfnb.common_runtime.lowering.conditions import (
    ALWAYS,
    PRESENCE,
    both,
    type_of_condition,
    type_of_literal,
    union,
)
from tfnb.common_runtime.lowering.order import Order, Unit, Unrecognised
from tfnb.common_runtime.lowering.program import (
    Assign,
    Block,
    CheckPredicate,
    Choose,
    Clear,
    Compute,
    Copy,
    Loop,
    Mark,
    Program,
    Read,
    Sent,
    insides_of,
    type_of_instruction,
)
from tfnb.core.op_kernel import kernel_attr

if TYPE_CHECKING:
    from collections.abc import Collection

    from tfnb.common_runtime.immutable_executor_state import ImmutableExecutorState

RECEIVES = ("_Recv", "_HostRecv")
_SWITCHES = ("Switch", "RefSwitch", "_SwitchN")
# They give the same in every step of a session.
_FIXED = ("Const", "HostConst", "VarHandleOp")
# Python's own limits are 20 loops and 100 levels.
_MOST_LOOPS, _MOST_LEVELS = 18, 80
# Of more nodes that may wait nobody asks in which order they stand.
_MOST_WAITS = 32
# Kernels that ask which frame they are in to name something; the reference numbers frames.
_NEEDS_FRAME = ("TemporaryVariable", "DestroyTemporaryVariable")


def recognise(immutable: ImmutableExecutorState, *, counts: bool = False) -> Program:
    """The partition as a program.

    Args:
      immutable: the partition.
      counts: whether all its nodes are to be counted (``counts.py``).

    Raises:
      Unrecognised: it is none.
    """
    program = _Recogniser(immutable, counts).program()
    _check_depth(program.root, 0, 0)
    return program


class _Recogniser:
    """One partition."""

    def __init__(self, immutable: ImmutableExecutorState, counts: bool) -> None:
        self.immutable = immutable
        self.counts = counts
        self.made = Program()
        items = immutable.items
        self.sources: list[list[tuple[NodeItem, int]]] = [[] for _ in items]
        self.controls: list[list[NodeItem]] = [[] for _ in items]
        self._wanted: set[tuple[int, int]] = set()  # outputs that somebody uses
        self.enters: dict[str, list[NodeItem]] = {}
        self.parents: dict[str, str] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._has_writers = any(map(_may_write, immutable.items))

    def program(self) -> Program:
        """Recognises the whole partition."""
        self._look_around()
        if self.immutable.schedule is not None:
            self.made.root = self._in_order(self.immutable.schedule)
            return self.made
        frame = _Frame(self, "")
        frame.order()
        if self.counts:
            frame.mark(0)
        self.made.root = frame.block()
        if self.made.has_conditional_fetch:
            self.made.switches = frame.switches()
            self.made.predicates = list(dict.fromkeys(self.made.switches.values()))
        return self.made

    def _in_order(self, schedule: list[NodeItem]) -> Block:
        """A partition without control flow, in the reference's order."""
        block: Block = []
        for item in schedule:
            block += self.instructions(item)
        return block

    def instructions(self, item: NodeItem) -> list[type_of_instruction]:
        """What a node does when it runs; nothing where it only orders or names others."""
        if item.action == NOTHING:
            return []
        if item.op in _SWITCHES or item.action == PASS:
            # The predicate is read where it is checked.
            return [
                Read(item, number, self.register(*self.sources[item.id][0]), self.register(item, 0))
                for number, (position, *_) in enumerate(item.dereference)
                if position == 0
            ]
        args = self.args(item)
        results = [self.register(item, output) for output in range(item.num_outputs)]
        if len(results) == 1 and results[0] in self.made.constants:
            return []
        made: list[type_of_instruction] = []
        for number, (position, *_) in enumerate(item.dereference):
            # A reference is read where it is used.
            target = f"r{item.id}_{position}"
            made.append(Read(item, number, args[position], target))
            args[position] = target
        return [*made, Compute(item, args, results)]

    def predicate(self, item: NodeItem) -> str:
        """The register of what a Switch decides by."""
        source = self.register(*self.sources[item.id][1])
        if all(position != 1 for position, *_ in item.dereference):
            return source
        # Each Switch reads the variable for itself, which matters if somebody writes to one.
        return f"q{item.id}" if self._has_writers else f"q{source}"

    # -- edges and values

    def _look_around(self) -> None:
        for item in self.immutable.items:
            if item.action == POOL or item.is_transfer:
                raise Unrecognised(f"'{item.name}' ({item.op})")
            if item.frame.name and (item.op in _NEEDS_FRAME or item.action == ASYNC):
                raise Unrecognised(f"'{item.name}' ({item.op}) in a loop")
            self.sources[item.id] = [(item, -1)] * item.num_inputs
            if item.is_enter:
                self.enters.setdefault(item.frame_name, []).append(item)
                self.parents[item.frame_name] = item.frame.name
        for item in self.immutable.items:
            for output, dst, slot in item.data_edges:
                self.sources[dst.id][slot - dst.input_start] = (item, output)
                self._wanted.add((item.id, output))
            for dst in item.control_edges:
                self.controls[dst.id].append(item)
        for item in self.immutable.items:
            if any(output < 0 for _, output in self.sources[item.id]):
                raise Unrecognised(f"'{item.name}' lacks an input")

    def register(self, item: NodeItem, output: int) -> str:
        """The register that holds a node's output; many nodes share that of their input."""
        path = []
        while True:
            key = (item.id, output)
            name = self._names.get(key)
            if name is not None:
                break
            path.append(key)
            through = self._hands_on(item)
            if through is None:
                if item.op in _SWITCHES:
                    output = 0  # the variable it read is the same on all sides
                name = f"v{item.id}_{output}" if output else f"v{item.id}"
                if item.op in _FIXED and item.num_inputs == 0:
                    name = self._constant(item) or name
                self.made.item_of[name] = (item, output)
                break
            item, output = through
        for key in path:
            self._names[key] = name
        return name

    def _hands_on(self, item: NodeItem) -> tuple[NodeItem, int] | None:
        """The tensor that a node's output is; None where the node makes a value of its own."""
        if item.is_merge and item.dereference:
            raise Unrecognised(f"'{item.name}' reads a variable")
        if item.is_merge or any(position == 0 for position, *_ in item.dereference):
            return None
        if item.action == PASS or item.op in _SWITCHES:
            return self.sources[item.id][0]
        return None

    def _constant(self, item: NodeItem) -> str | None:
        kernel = item.kernel
        if kernel is None:
            return None
        try:
            if kernel.kind in ("pure", "node"):
                value = kernel.compute()
            elif "value" in kernel.state:
                value = kernel.state["value"]
            else:
                # On a GPU, where no step may wait for it.
                device: Any = kernel.device
                value = kernel.state["value"] = device.take(kernel_attr(kernel.attrs["value"]))
        except Exception:
            return None  # the step itself says what is wrong
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
            value = value[()]  # a scalar costs a third of an array without dimensions
        name = f"c{item.id}"
        self.made.constants[name] = value
        return name

    def args(self, item: NodeItem) -> list[str]:
        """The registers of a node's inputs."""
        return [self.register(*source) for source in self.sources[item.id]]

    def is_wanted(self, item: NodeItem, output: int) -> bool:
        """Whether somebody uses an output."""
        return (item.id, output) in self._wanted


class _Frame:
    """One frame: its units, their conditions, their order."""

    def __init__(
        self,
        recogniser: _Recogniser,
        name: str,
        weak_enters: Collection[int] = (),
        implied: type_of_condition = ALWAYS,
    ) -> None:
        self._owner = recogniser
        self._name = name
        self._weak_enters = weak_enters
        self._implied = implied  # what holds wherever the frame runs
        self._units: list[Unit] = []
        self._unit_of: dict[int, Unit] = {}
        self._loops: dict[str, Unit] = {}
        self._more: list[Unit] = []
        self._checked: dict[str, list[tuple[type_of_condition, Unit]]] = {}
        self._numbers: dict[str, int] = {}  # predicates by the place of the unit they come from
        self._merges: list[NodeItem] = []  # of the loop's variables
        self._merge_ids: set[int] = set()
        self._nexts: list[NodeItem] = []
        self._exits: list[NodeItem] = []
        self.goes_on: type_of_literal | None = None

    def switches(self) -> dict[int, str]:
        """What the Switches of the frame decide by, by the Switch's id."""
        owner = self._owner
        return {
            unit.item.id: owner.predicate(unit.item)
            for unit in self._units
            if unit.item is not None and unit.item.op in _SWITCHES
        }

    # -- units and their edges

    def order(self) -> None:
        """Makes the units, finds their conditions, and how the loop ends."""
        owner = self._owner
        info = owner.immutable.frames[self._name]
        for item in info.nodes:
            waits = item.action == ASYNC
            unit = Unit(item, waits_for_others=item.waits_for_others or waits, waits=waits)
            self._units.append(unit)
            self._unit_of[item.id] = unit
        for child, parent in owner.parents.items():
            if parent == self._name:
                unit = self._loops[child] = Unit(frame=child)
                self._units.append(unit)
        for unit in list(self._units):
            if unit.item is not None:
                self._connect(unit, unit.item)
        for child, unit in self._loops.items():
            for enter in owner.enters[child]:
                self._depend(unit, self._unit_of[enter.id])
        self._find_conditions()
        if self._name:
            self._find_end()
        else:
            self._check_waits()

    def _check_waits(self) -> None:
        """Refuses nodes that could wait at the same time: one may have what the other waits for."""
        waits = [unit for unit in self._units if unit.waits and unit.condition is not None]
        if len(waits) > _MOST_WAITS:
            raise Unrecognised("many nodes that may wait")
        for number, one in enumerate(waits[1:], 1):
            before = {id(unit) for unit in one.all_before()}
            for other in waits[:number]:
                if id(other) not in before and both(one.condition, other.condition) is not None:
                    assert one.item is not None
                    raise Unrecognised(f"'{one.item.name}' may wait while another node waits")

    def _connect(self, unit: Unit, item: NodeItem) -> None:
        owner = self._owner
        if item.destination == INTO_NEXT:
            self._nexts.append(item)
            if item.control_edges or any(not dst.is_merge for _, dst, _ in item.data_edges):
                raise Unrecognised(f"'{item.name}' leads elsewhere")
        elif item.destination == INTO_PARENT:
            self._exits.append(item)
        sources = owner.sources[item.id]
        if item.is_merge and any(src.destination == INTO_NEXT for src, _ in sources):
            self._add_variable(unit, item)
            return
        for src, _ in sources:
            before = self._unit_before(src, item)
            if before is not None:
                self._depend(unit, before)
            elif src.id not in self._weak_enters:
                unit.is_part = True
        for src in owner.controls[item.id]:
            before = self._unit_before(src, item)
            if before is not None:
                self._depend(unit, before)
            elif src.id not in self._weak_enters:
                unit.is_part = True

    def _unit_before(self, src: NodeItem, item: NodeItem) -> Unit | None:
        """The unit an edge comes from; None where it is there when the iteration begins."""
        if src.is_enter:
            if src.frame_name == self._name and src.is_constant_enter:
                return None
        elif src.destination == INTO_PARENT:
            found = self._loops.get(src.frame.name)
            if found is not None:
                return found
        elif src.destination != INTO_NEXT:
            found = self._unit_of.get(src.id)
            if found is not None:
                return found
        raise Unrecognised(f"the edge from '{src.name}' to '{item.name}'")

    @staticmethod
    def _depend(unit: Unit, before: Unit) -> None:
        unit.before.append(before)
        before.after.append(unit)

    def _add_variable(self, unit: Unit, item: NodeItem) -> None:
        """A Merge of an Enter and a NextIteration."""
        owner = self._owner
        sources = owner.sources[item.id]
        if len(sources) != 2 or owner.controls[item.id]:
            raise Unrecognised(f"'{item.name}' ({item.op})")
        first, following = sources
        is_swapped = first[0].destination == INTO_NEXT
        if is_swapped:
            first, following = following, first
        if (
            is_swapped
            or not first[0].is_enter
            or first[0].is_constant_enter
            or first[0].frame_name != self._name
            or following[0].destination != INTO_NEXT
            or self._unit_of.get(following[0].id) is None
        ):
            raise Unrecognised(f"'{item.name}' ({item.op})")
        if first[0].control_edges:
            # What else an Enter leads to would run in the first iteration only.
            raise Unrecognised(f"'{first[0].name}' leads elsewhere")
        self._merges.append(item)
        self._merge_ids.add(item.id)
        unit.is_part = first[0].id not in self._weak_enters

    # -- conditions

    def _find_conditions(self) -> None:
        """Visits the units in a topological order; the conditions follow from those before."""
        waits = {id(unit): len(unit.before) for unit in self._units}
        # Last in, first out, as the reference's schedule: a value is used soon after it was made.
        roots = [unit for unit in self._units if not unit.before]
        roots.sort(key=lambda unit: unit.item is not None and unit.item.op.startswith("Placehold"))
        stack = roots[::-1]
        ordered: list[Unit] = []
        while stack:
            unit = stack.pop()
            unit.number = len(ordered)
            unit.is_part |= any(before.is_part for before in unit.before)
            ordered.append(unit)
            if unit.item is None:
                self._visit_loop(unit)
            else:
                self._visit(unit, unit.item)
            ready = []
            for after in unit.after:
                waits[id(after)] -= 1
                if waits[id(after)] == 0:
                    ready.append(after)
            stack += reversed(ready)
        if len(ordered) != len(self._units):
            raise Unrecognised("a cycle")
        self._units = ordered

    def _visit(self, unit: Unit, item: NodeItem) -> None:
        owner = self._owner
        if item.id in self._merge_ids or item.is_control_trigger:
            unit.condition = ALWAYS
        elif item.is_merge:
            self._visit_merge(unit, item)
        else:
            condition: type_of_condition | None = ALWAYS
            for source in owner.sources[item.id]:
                condition = both(condition, self._condition_of(*source))
            for src in owner.controls[item.id]:
                condition = both(condition, self._condition_of(src, -1))
            unit.condition = condition
            if item.action == RETVAL and (condition != ALWAYS or self._name):
                owner.made.has_conditional_fetch = True
            if condition is not None:
                if item.op in _SWITCHES:
                    self._check_predicate(unit, item)
                unit.instructions += owner.instructions(item)
                if owner.counts and item.op in RECEIVES:
                    unit.instructions.append(Sent(owner.register(item, 0)))
        for output in range(item.num_outputs):
            self._numbers.setdefault(owner.register(item, output), unit.number)

    def _condition_of(self, src: NodeItem, output: int) -> type_of_condition | None:
        """When an edge carries a live value; ``output`` -1 is a control edge."""
        if src.is_enter:
            return ALWAYS
        if src.destination == INTO_PARENT:
            return self._loops[src.frame.name].condition
        condition = self._unit_of[src.id].condition
        if output >= 0 and src.op in _SWITCHES:
            for name, side in _side(src, self._owner.predicate(src), output):
                if (name, not side) in self._implied:
                    return None
                if (name, side) not in self._implied:
                    condition = both(condition, frozenset([(name, side)]))
        return condition

    def _check_predicate(self, unit: Unit, item: NodeItem) -> None:
        """The first Switch behind a predicate reads it, and refuses one that is no scalar."""
        owner = self._owner
        predicate, source = owner.predicate(item), owner.register(*owner.sources[item.id][1])
        assert unit.condition is not None
        known = self._checked.setdefault(predicate, [])
        for condition, check in known:
            if condition <= unit.condition:
                self._take(unit, check)
                return
        check = Unit(condition=unit.condition)
        known.append((unit.condition, check))
        check.number = unit.number
        for number, (position, *_) in enumerate(item.dereference):
            if position == 1:
                check.instructions.append(Read(item, number, source, predicate))
        self._numbers.setdefault(predicate, unit.number)
        if item.op == "_SwitchN":
            data = owner.register(*owner.sources[item.id][0])
            names = [_is_chosen(predicate, output) for output in range(item.num_outputs - 1)]
            if names:
                check.instructions.append(Choose(item, data, predicate, names))
            for name in names:
                self._numbers.setdefault(name, unit.number)
        else:
            check.instructions.append(CheckPredicate(item, predicate))
        # In front of the Switch, and of all that comes behind it.
        for before in unit.before:
            self._depend(check, before)
        self._depend(unit, check)
        self._more.append(check)

    def _take(self, unit: Unit, check: Unit) -> None:
        """A further Switch takes what the check in front of the first one has set."""
        if all(isinstance(one, CheckPredicate) for one in check.instructions):
            return
        if any(before.waits for before in check.all_before()):
            # Perhaps for what comes behind this very Switch.
            raise Unrecognised("a predicate of two Switches, one of which waits")
        self._depend(unit, check)

    def _visit_merge(self, unit: Unit, item: NodeItem) -> None:
        owner = self._owner
        live = []
        for position, source in enumerate(owner.sources[item.id]):
            condition = self._condition_of(*source)
            if condition is not None:
                live.append((position, source, condition))
        if not live:
            unit.condition = None
            return
        conditions = [condition for _, _, condition in live]
        for number, one in enumerate(conditions):
            if any(both(one, other) is not None for other in conditions[:number]):
                raise Unrecognised(f"the inputs of '{item.name}' may both be alive")
        target = owner.register(item, 0)
        index = owner.register(item, 1) if owner.is_wanted(item, 1) else ""
        whole = union(conditions)
        clear: Unit | None = None
        if whole is None:
            whole = frozenset.intersection(*conditions) | {(PRESENCE + target, True)}
            clear = Unit(instructions=[Clear(item, target)], number=unit.number)
            self._more.append(clear)
        unit.condition = whole
        self._numbers[PRESENCE + target] = unit.number
        for position, source, condition in live:
            copy = Copy(item, owner.register(*source), target, position, index)
            made = Unit(condition=condition, instructions=[copy], number=unit.number)
            before = self._unit_before(source[0], item)
            if before is not None:
                self._depend(made, before)
            if clear is not None:
                self._depend(made, clear)
            self._depend(unit, made)
            self._more.append(made)

    def _visit_loop(self, unit: Unit) -> None:
        """A frame runs where what enters it is alive."""
        owner = self._owner
        enters = owner.enters[unit.frame]
        conditions = {enter.id: self._unit_of[enter.id].condition for enter in enters}
        whole = _strongest(set(conditions.values()), unit.frame)
        # An Enter may be alive where the loop as a whole is not: the counter that a gradient adds.
        weak = {number for number, condition in conditions.items() if condition != whole}
        frame = _Frame(owner, unit.frame, weak, self._implied | (whole or ALWAYS))
        frame.order()
        unit.condition = whole
        unit.waits_for_others = any(one.waits_for_others for one in frame._units)
        if owner.counts:
            owner.made.alive_alone.update(frame.alive_alone())
            owner.made.triggered |= frame.triggered()
        if whole is None:
            return
        owner.made.num_loops += 1
        loop = Loop(unit.frame, owner.made.num_loops)
        if owner.counts:
            frame.mark(loop.number)
        loop.body = frame.body()
        unit.instructions = [frame.assignment(0), loop]

    def assignment(self, position: int) -> Assign:
        """The variables' first values (0), or those of the next iteration (1)."""
        owner, merges = self._owner, self._merges
        return Assign(
            merges,
            [owner.register(item, 0) for item in merges],
            [owner.register(*owner.sources[item.id][position]) for item in merges],
            position,
            [owner.register(item, 1) for item in merges if owner.is_wanted(item, 1)],
        )

    def _find_end(self) -> None:
        """The predicate that all variables go on with, and all Exits leave without."""
        if not self._nexts or not self._merges:
            raise Unrecognised(f"frame '{self._name}' has no iterations")
        ways = {self._unit_of[item.id].condition for item in self._nexts}
        if len(ways) != 1:
            raise Unrecognised(f"the variables of frame '{self._name}' go on apart")
        way = next(iter(ways))
        if way is None or len(way) != 1:
            raise Unrecognised(f"frame '{self._name}' goes on in a way of its own")
        predicate, side = next(iter(way))
        if predicate.startswith(PRESENCE):
            raise Unrecognised(f"frame '{self._name}' goes on in a way of its own")
        out = frozenset([(predicate, not side)])
        if any(self._unit_of[item.id].condition != out for item in self._exits):
            raise Unrecognised(f"frame '{self._name}' is left in a way of its own")
        self.goes_on = (predicate, side)
        ends = {item.id for item in (*self._nexts, *self._exits)}
        for unit in self._units:
            matters = bool(unit.instructions) or (unit.item is not None and unit.item.id in ends)
            if matters and not unit.is_part and self._weak_enters:
                raise Unrecognised(f"frame '{self._name}' is entered in parts")

    # -- what is counted

    def alive_alone(self) -> dict[int, set[int]]:
        """The nodes that are alive even where the frame as a whole is not, by these Enters."""
        found: dict[int, set[int]] = {}
        for unit in self._units if self._weak_enters else ():
            item = unit.item
            if item is None or unit.is_part:
                continue
            owner = self._owner
            enters = {src.id for src, _ in owner.sources[item.id]}
            enters = (enters | {src.id for src in owner.controls[item.id]}) & {*self._weak_enters}
            for before in unit.before:
                enters |= found.get(-1 if before.item is None else before.item.id, set())
            if enters:
                found[item.id] = enters
        return found

    def triggered(self) -> set[int]:
        """The ControlTriggers, which are never dead, and what waits for nothing else."""
        found: set[int] = set()
        for unit in self._units:
            item = unit.item
            if item is None or item.is_merge:
                continue
            owner = self._owner
            before = [src.id for src, _ in owner.sources[item.id]]
            if item.op not in RECEIVES:  # they are told what was sent
                before += [src.id for src in owner.controls[item.id]]
            if item.is_control_trigger or (before and found.issuperset(before)):
                found.add(item.id)
        return found

    def mark(self, number: int) -> None:
        """Notes the units down, and has a block made for each condition that one of them has."""
        self._owner.made.frames.append((number, self._units))
        made = {unit.condition for unit in (*self._units, *self._more) if unit.instructions}
        made.add(ALWAYS)
        if self.goes_on is not None:
            made.update(frozenset([(self.goes_on[0], side)]) for side in (True, False))
        marks: dict[type_of_condition, Unit] = {}
        for unit in self._units:
            condition = unit.condition
            if condition is None or condition in made or unit.item is None:
                continue
            if condition not in marks:
                marks[condition] = Unit(condition=condition, instructions=[Mark()])
            self._depend(marks[condition], unit)
        self._more += marks.values()

    # -- order

    def body(self) -> Block:
        """The units of a loop as a block."""
        block = self.block()
        block.append(self.assignment(1))
        return block

    def block(self) -> Block:
        """The units as a block."""
        return Order([*self._units, *self._more], self._numbers, self.goes_on).block()


def _may_write(item: NodeItem) -> bool:
    """Whether a node may write to a variable that it is given a reference to."""
    hands_on = item.op.removeprefix("Ref") in HANDING_ON or item.op in ("RefSelect", "_SwitchN")
    return not hands_on and any(dtype.is_ref_dtype for dtype in item.input_types)


def _is_chosen(index: str, output: int) -> str:
    """The register that says whether an output of a _SwitchN is the chosen one."""
    return f"{index}is{output:03}"


def _side(item: NodeItem, predicate: str, output: int) -> list[type_of_literal]:
    """What holds where an output of a Switch is alive."""
    if item.op != "_SwitchN":
        return [(predicate, output == 1)]
    # One after the other, so that two outputs exclude each other and all make up a whole.
    found = [(_is_chosen(predicate, number), False) for number in range(output)]
    if output < item.num_outputs - 1:
        found.append((_is_chosen(predicate, output), True))
    return found


def _strongest(
    conditions: set[type_of_condition | None], frame_name: str
) -> type_of_condition | None:
    """The condition that implies all others."""
    if None in conditions:
        return None
    found = max((one for one in conditions if one is not None), key=len)
    if any(one is not None and not one <= found for one in conditions):
        raise Unrecognised(f"frame '{frame_name}' is entered in parts")
    return found


def _check_depth(block: Block, levels: int, loops: int) -> None:
    if levels > _MOST_LEVELS or loops > _MOST_LOOPS:
        raise Unrecognised("too many loops and conds in each other")
    for instruction in block:
        for inside in insides_of(instruction):
            _check_depth(inside, levels + 1, loops + isinstance(instruction, Loop))
