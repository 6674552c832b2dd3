"""Orders the units of one frame: into blocks by condition, behind the units that they wait for.

All units that are ready under a condition run before a test for a narrower condition; therefore
most conds become one ``if``.  A unit that becomes ready later gets another ``if`` of the same
predicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.lowering.recognise.conditions import (
    ALWAYS,
    PRESENCE,
    type_of_condition,
    type_of_literal,
)
from tfnb.common_runtime.lowering.recognise.program import Block, ExitLoop, If, Unit, Unrecognised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Order:
    """The units of one iteration of one frame."""

    def __init__(
        self,
        units: Sequence[Unit],
        numbers: Mapping[str, int],
        goes_on: type_of_literal | None = None,
    ) -> None:
        """Initialize the order.

        Args:
          units: all units of the frame.
          numbers: for each predicate, the position of the unit that computes it.
          goes_on: the literal under which a loop continues; None for the root frame.
        """
        self._units = sorted(units, key=lambda unit: unit.number)
        self._numbers = numbers
        self._goes_on = goes_on
        self._ready: dict[type_of_condition, list[Unit]] = {}
        self._later: list[Unit] = []
        self._num_left = len(units)
        self._has_left = False

    def block(self) -> Block:
        """Return the units as a block; the block of a loop contains its ExitLoop.

        Raises:
          Unrecognised: some units wait for each other.
        """
        for unit in self._units:
            unit.num_waits = len(unit.before)
        first = [unit for unit in self._units if unit.num_waits == 0]
        for unit in reversed(first):
            if unit.instructions:
                self._make_ready(unit)
        for unit in first:
            if not unit.instructions:
                self._release(unit)
        block: Block = []
        leaves_inside = self._goes_on is not None and not self._waits_for_both_sides()
        self._fill(block, ALWAYS, leaves_inside, takes_later=True)
        if self._num_left:
            raise Unrecognised("units that never become ready")
        if self._goes_on is not None and not self._has_left:
            block.append(ExitLoop(*self._goes_on))
        return block

    def _waits_for_both_sides(self) -> bool:
        """Return whether a unit that runs in every iteration is behind a unit that does not."""
        assert self._goes_on is not None
        predicate = self._goes_on[0]
        behind: set[int] = set()
        for unit in self._units:
            is_sided = any(name == predicate for name, _ in unit.condition or ALWAYS)
            is_behind = id(unit) in behind
            if is_behind and not is_sided and unit.instructions:
                return True
            if is_sided or is_behind:
                behind.update(id(after) for after in unit.after)
        return False

    def _make_ready(self, unit: Unit) -> None:
        if unit.waits_for_others:
            self._later.append(unit)
        else:
            self._ready.setdefault(unit.condition or ALWAYS, []).append(unit)

    def _fill(
        self, block: Block, here: type_of_condition, leaves_inside: bool, *, takes_later: bool
    ) -> None:
        """Run all units that are ready under a condition, and those under narrower conditions."""
        ready = self._ready.setdefault(here, [])
        end = self._goes_on[0] if leaves_inside and self._goes_on is not None else ""
        while True:
            while ready:
                # Last in, first out: a value is used soon after it was made.
                unit = ready.pop()
                block += unit.instructions
                self._release(unit)
            literal = self._next_literal(here, end)
            if literal is None or literal[0] == end:
                if takes_later and self._take_later(here, end):
                    continue
                if literal is None:
                    literal = self._later_literal(here, end) if takes_later else None
                    if literal is None:
                        return
                self._leave(block, here)
                return
            name = literal[0]
            made = If(name.removeprefix(PRESENCE), name.startswith(PRESENCE))
            block.append(made)
            for side, inside in ((True, made.then), (False, made.otherwise)):
                self._fill(inside, here | {(name, side)}, leaves_inside, takes_later=False)

    def _take_later(self, here: type_of_condition, end: str) -> bool:
        """Make one deferred unit ready, if it comes before the end of the iteration."""
        for unit in sorted(self._later, key=lambda unit: unit.waits):
            condition = unit.condition or ALWAYS
            if here <= condition and all(name != end for name, _ in condition):
                self._later.remove(unit)
                self._ready.setdefault(condition, []).append(unit)
                return True
        return False

    def _later_literal(self, here: type_of_condition, end: str) -> type_of_literal | None:
        """Return the literal of the end of an iteration, if a deferred unit comes behind it."""
        for unit in self._later:
            for literal in unit.condition or ALWAYS:
                if literal[0] == end:
                    return literal
        return None

    def _leave(self, block: Block, here: type_of_condition) -> None:
        """Add the end of a loop, its exits, and the units of a further iteration."""
        assert self._goes_on is not None
        name, side = self._goes_on
        leave = ExitLoop(name, side)
        self._has_left = True
        block.append(leave)
        self._fill(leave.exits, here | {(name, not side)}, False, takes_later=True)
        self._fill(block, here | {(name, side)}, False, takes_later=True)

    def _next_literal(self, here: type_of_condition, end: str) -> type_of_literal | None:
        """Return the next literal to test: the oldest one, but the end of the loop comes last.

        The end is tested outside of all other tests; therefore units that depend on both wait for
        it.
        """
        best: tuple[bool, int, type_of_literal] | None = None
        for condition, units in self._ready.items():
            if not units or not here < condition:
                continue
            literals = condition - here
            if end:
                ends = {literal for literal in literals if literal[0] == end}
                if ends and here:
                    continue
                literals = frozenset(ends) or literals
            for literal in literals:
                name = literal[0]
                key = (name == end, self._numbers.get(name, -1), literal)
                if best is None or key < best:
                    best = key
        return None if best is None else best[2]

    def _release(self, unit: Unit) -> None:
        """Make ready the units that waited for this one; those without instructions are done."""
        done = [unit]
        while done:
            unit = done.pop()
            self._num_left -= 1
            ready: list[Unit] = []
            for after in unit.after:
                after.num_waits -= 1
                if after.num_waits == 0:
                    (ready if after.instructions else done).append(after)
            for after in reversed(ready):
                self._make_ready(after)
