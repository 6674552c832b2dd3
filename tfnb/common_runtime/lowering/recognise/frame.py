"""One frame of a partition: its units, their conditions, and the block made of them.

Without the edges into the next iteration, one iteration of a frame is an acyclic graph; an inner
frame is one unit of it.  Each unit gets a *condition*, the set of literals (predicate, side) that
must hold for it to be alive: the union of its inputs' conditions; an output of a Switch adds a
literal.  A Merge of exclusive inputs that cover all sides has their common condition; for other
Merges, presence of a value is a literal of its own.  Units with the same condition go into the
same ``if``; control edges and data edges order them (``order.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.executor.immutable_executor_state import (
    ASYNC,
    INTO_NEXT,
    INTO_PARENT,
    RETVAL,
    NodeItem,
)
from tfnb.common_runtime.lowering.recognise.conditions import (
    ALWAYS,
    PRESENCE,
    both,
    type_of_condition,
    type_of_literal,
    union,
)
from tfnb.common_runtime.lowering.recognise.counted_units import alive_alone, marks, triggered
from tfnb.common_runtime.lowering.recognise.order import Order
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Block,
    CheckPredicate,
    Choose,
    Clear,
    Copy,
    Loop,
    Read,
    Sent,
    Unit,
    Unrecognised,
)
from tfnb.common_runtime.lowering.recognise.registers import RECEIVES, SWITCHES
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait

if TYPE_CHECKING:
    from collections.abc import Collection

    from tfnb.common_runtime.lowering.recognise.registers import Registers

_PLACEHOLDERS = ops_with(Trait.PLACEHOLDER)
# Above this number, give up lowering: proving that blocking nodes are ordered is quadratic.
_MOST_WAITS = 32


class Frame:
    """One frame.

    Attributes:
      goes_on: the literal under which the loop continues; None for the root frame.
    """

    def __init__(
        self,
        registers: Registers,
        name: str,
        weak_enters: Collection[int] = (),
        implied: type_of_condition = ALWAYS,
    ) -> None:
        """Create an empty frame.

        Args:
          registers: the tensors of the partition.
          name: the name of the frame; "" for the root.
          weak_enters: the Enters that may be alive if the frame as a whole is not.
          implied: the condition that holds wherever the frame runs.
        """
        self._owner = registers
        self._name = name
        self._weak_enters = weak_enters
        self._implied = implied
        self._units: list[Unit] = []
        self._unit_of: dict[int, Unit] = {}
        self._loops: dict[str, Unit] = {}
        self._more: list[Unit] = []
        # By predicate and number of flags that the check sets.
        self._checked: dict[tuple[str, int], list[tuple[type_of_condition, Unit]]] = {}
        self._numbers: dict[str, int] = {}  # the position of each predicate's unit
        self._merges: list[NodeItem] = []  # of the loop's variables
        self._merge_ids: set[int] = set()
        self._nexts: list[NodeItem] = []
        self._exits: list[NodeItem] = []
        self.goes_on: type_of_literal | None = None

    def switches(self) -> dict[int, str]:
        """Return the predicates of the frame's Switches, by the Switch's id."""
        owner = self._owner
        return {
            unit.item.id: owner.predicate(unit.item)
            for unit in self._units
            if unit.item is not None and unit.item.op in SWITCHES
        }

    # -- units and their edges

    def order(self) -> None:
        """Make the units, and find their conditions and the end of the loop."""
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
                unit.wait_for(self._unit_of[enter.id])
        self._find_conditions()
        if self._name:
            self._find_end()
        else:
            self._check_waits()

    def _check_waits(self) -> None:
        """Reject nodes that could block at the same time: one might be what unblocks the other."""
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
        for src in (*(src for src, _ in sources), *owner.controls[item.id]):
            before = self._unit_before(src, item)
            if before is not None:
                unit.wait_for(before)
            elif src.id not in self._weak_enters:
                unit.is_part = True

    def _unit_before(self, src: NodeItem, item: NodeItem) -> Unit | None:
        """Return the unit an edge comes from; None if its value exists before the iteration."""
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

    def _add_variable(self, unit: Unit, item: NodeItem) -> None:
        """Add a loop variable: a Merge of an Enter and a NextIteration."""
        owner = self._owner
        sources = owner.sources[item.id]
        if len(sources) != 2 or owner.controls[item.id]:
            raise Unrecognised(f"'{item.name}' ({item.op})")
        first, following = sources
        if (
            not first[0].is_enter
            or first[0].is_constant_enter
            or first[0].frame_name != self._name
            or following[0].destination != INTO_NEXT
            or self._unit_of.get(following[0].id) is None
        ):
            raise Unrecognised(f"'{item.name}' ({item.op})")
        if first[0].control_edges:
            # Its other consumers would run in the first iteration only.
            raise Unrecognised(f"'{first[0].name}' leads elsewhere")
        self._merges.append(item)
        self._merge_ids.add(item.id)
        unit.is_part = first[0].id not in self._weak_enters

    # -- conditions

    def _find_conditions(self) -> None:
        """Visit the units in topological order and derive their conditions from their inputs'."""
        waits = {id(unit): len(unit.before) for unit in self._units}
        # Last in, first out, as in the reference executor: a value is used soon after it was made.
        roots = [unit for unit in self._units if not unit.before]
        roots.sort(key=lambda unit: unit.item is not None and unit.item.op in _PLACEHOLDERS)
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
                if item.op in SWITCHES:
                    self._check_predicate(unit, item)
                unit.instructions += owner.instructions(item)
                if owner.counts and item.op in RECEIVES:
                    unit.instructions.append(Sent(owner.register(item, 0)))
        for output in range(item.num_outputs):
            self._numbers.setdefault(owner.register(item, output), unit.number)

    def _condition_of(self, src: NodeItem, output: int) -> type_of_condition | None:
        """Return the condition under which an edge is alive; ``output`` -1 is a control edge."""
        if src.is_enter:
            return ALWAYS
        if src.destination == INTO_PARENT:
            return self._loops[src.frame.name].condition
        condition = self._unit_of[src.id].condition
        if output >= 0 and src.op in SWITCHES:
            for name, side in _side(src, self._owner.predicate(src), output):
                if (name, not side) in self._implied:
                    return None
                if (name, side) not in self._implied:
                    condition = both(condition, frozenset([(name, side)]))
        return condition

    def _check_predicate(self, unit: Unit, item: NodeItem) -> None:
        """Read and check the predicate at its first Switch; it must be a scalar."""
        owner = self._owner
        predicate, source = owner.predicate(item), owner.register(*owner.sources[item.id][1])
        assert unit.condition is not None
        num_flags = item.num_outputs - 1 if item.op == "_SwitchN" else 0
        known = self._checked.setdefault((predicate, num_flags), [])
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
            names = [_is_chosen(predicate, output, num_flags) for output in range(num_flags)]
            if names:
                check.instructions.append(Choose(item, data, predicate, names))
            for name in names:
                self._numbers.setdefault(name, unit.number)
        else:
            check.instructions.append(CheckPredicate(item, predicate))
        # The check runs before the Switch, and before all units that depend on it.
        for before in unit.before:
            check.wait_for(before)
        unit.wait_for(check)
        self._more.append(check)

    def _take(self, unit: Unit, check: Unit) -> None:
        """Make a further Switch use the register set by the check before the first Switch."""
        if all(isinstance(one, CheckPredicate) for one in check.instructions):
            return
        if any(before.waits for before in check.all_before()):
            # The check may wait for a unit that depends on this Switch.
            raise Unrecognised("a predicate of two Switches, one of which waits")
        unit.wait_for(check)

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
                made.wait_for(before)
            if clear is not None:
                made.wait_for(clear)
            unit.wait_for(made)
            self._more.append(made)

    def _visit_loop(self, unit: Unit) -> None:
        """Derive the condition of an inner frame from that of its Enters."""
        owner = self._owner
        enters = owner.enters[unit.frame]
        conditions = {enter.id: self._unit_of[enter.id].condition for enter in enters}
        whole = _strongest(set(conditions.values()), unit.frame)
        # An Enter may be alive if the whole loop is not, e.g. a counter added by a gradient.
        weak = {number for number, condition in conditions.items() if condition != whole}
        frame = Frame(owner, unit.frame, weak, self._implied | (whole or ALWAYS))
        frame.order()
        unit.condition = whole
        unit.waits_for_others = any(one.waits_for_others for one in frame._units)
        if owner.counts:
            if weak:
                owner.made.alive_alone.update(alive_alone(owner, frame._units, weak))
            owner.made.triggered |= triggered(owner, frame._units)
        if whole is None:
            return
        owner.made.num_loops += 1
        loop = Loop(unit.frame, owner.made.num_loops)
        if owner.counts:
            frame.mark(loop.number)
        loop.body = frame.body()
        unit.instructions = [frame.assignment(0), loop]

    def assignment(self, position: int) -> Assign:
        """Return the Assign of the variables' first values (0) or next values (1)."""
        owner, merges = self._owner, self._merges
        return Assign(
            merges,
            [owner.register(item, 0) for item in merges],
            [owner.register(*owner.sources[item.id][position]) for item in merges],
            position,
            [owner.register(item, 1) for item in merges if owner.is_wanted(item, 1)],
        )

    def _find_end(self) -> None:
        """Find the predicate by which all NextIterations continue and all Exits leave."""
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

    # -- order

    def mark(self, number: int) -> None:
        """Add counters for the nodes, under the number of the frame's loop."""
        self._owner.made.frames.append((number, self._units))
        self._more += marks(self._units, self._more, self.goes_on)

    def body(self) -> Block:
        """Return the units of a loop as a block."""
        block = self.block()
        block.append(self.assignment(1))
        return block

    def block(self) -> Block:
        """Return the units as a block."""
        return Order([*self._units, *self._more], self._numbers, self.goes_on).block()


def _is_chosen(index: str, output: int, num_flags: int) -> str:
    """Return the register that is true if this output of a _SwitchN is the chosen one.

    Two of these nodes may share an index and differ in their number of outputs: each number has
    flags of its own.
    """
    return f"{index}is{output:03}of{num_flags:03}"


def _side(item: NodeItem, predicate: str, output: int) -> list[type_of_literal]:
    """Return the literals that hold if an output of a Switch is alive."""
    if item.op != "_SwitchN":
        return [(predicate, output == 1)]
    # As a chain of else-if: any two outputs exclude each other, and all together cover every case.
    num_flags = item.num_outputs - 1
    found = [(_is_chosen(predicate, number, num_flags), False) for number in range(output)]
    if output < num_flags:
        found.append((_is_chosen(predicate, output, num_flags), True))
    return found


def _strongest(
    conditions: set[type_of_condition | None], frame_name: str
) -> type_of_condition | None:
    """Return the condition that implies all others."""
    if None in conditions:
        return None
    found = max((one for one in conditions if one is not None), key=len)
    if any(one is not None and not one <= found for one in conditions):
        raise Unrecognised(f"frame '{frame_name}' is entered in parts")
    return found
