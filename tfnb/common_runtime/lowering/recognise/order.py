"""Puts the units of one frame in order: into blocks by condition, behind what they wait for.

Everything that is ready under a condition runs before a question is asked that leads further
inside; so most conds become one ``if``.  One that becomes ready later gets another ``if`` of the
same predicate.
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
        """Prepares.

        Args:
          units: all of them.
          numbers: predicates by the place of the unit they come from.
          goes_on: what a loop goes on with; None for the root frame.
        """
        self._units = sorted(units, key=lambda unit: unit.number)
        self._numbers = numbers
        self._goes_on = goes_on
        self._ready: dict[type_of_condition, list[Unit]] = {}
        self._later: list[Unit] = []
        self._num_left = len(units)
        self._has_left = False

    def block(self) -> Block:
        """The units as a block; that of a loop has its ExitLoop.

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
        """Whether a unit that runs in every iteration comes behind one that does not."""
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
        """Runs what is ready under a condition, and everything further inside."""
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
        """Makes one of those ready that had to wait, if it stands in front of the end."""
        for unit in sorted(self._later, key=lambda unit: unit.waits):
            condition = unit.condition or ALWAYS
            if here <= condition and all(name != end for name, _ in condition):
                self._later.remove(unit)
                self._ready.setdefault(condition, []).append(unit)
                return True
        return False

    def _later_literal(self, here: type_of_condition, end: str) -> type_of_literal | None:
        """The end of an iteration, where one that had to wait stands behind it."""
        for unit in self._later:
            for literal in unit.condition or ALWAYS:
                if literal[0] == end:
                    return literal
        return None

    def _leave(self, block: Block, here: type_of_condition) -> None:
        """What happens at the end of a loop, and what in a further iteration."""
        assert self._goes_on is not None
        name, side = self._goes_on
        leave = ExitLoop(name, side)
        self._has_left = True
        block.append(leave)
        self._fill(leave.exits, here | {(name, not side)}, False, takes_later=True)
        self._fill(block, here | {(name, side)}, False, takes_later=True)

    def _next_literal(self, here: type_of_condition, end: str) -> type_of_literal | None:
        """The next question to ask: the oldest, but whether the loop goes on comes last.

        That question is asked outside of all others, which therefore wait for it where a unit
        depends on both.
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
        """Lets those run that waited for a unit; what has nothing to do is done at once."""
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
