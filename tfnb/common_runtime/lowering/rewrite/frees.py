"""Frees registers after their last use, on every path through the code.

A register holds its array until it is deleted; freed registers let a step keep no tensor longer
than its last use.  A :class:`Free` is placed only where the register certainly holds a value:
behind the instruction that read or set it last, or at the beginning of the branch that does not
read what the other reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.lowering.recognise.program import (
    Block,
    Cluster,
    ExitLoop,
    Free,
    If,
    Loop,
    Program,
    Segment,
    reads_of,
    writes_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def place_frees(program: Program, kept: Collection[str]) -> None:
    """Add a :class:`Free` wherever a register ends.

    Args:
      program: the program; it is changed.
      kept: registers that are never freed.
    """
    never = {*kept, *program.constants, *program.predicates}
    _FreePlacer(never).place(program.root, set(), set(), set())


class _FreePlacer:
    """Walks backwards through blocks.

    In all methods ``live`` are the registers that are read behind a block, and ``left`` those
    that are read behind the loop whose body the block is.
    """

    def __init__(self, never: set[str]) -> None:
        self._never = never

    def place(self, block: Block, live: set[str], left: set[str], visible: set[str]) -> set[str]:
        """Free the registers whose last use is in a block.

        Args:
          block: the block; it is changed.
          live: the registers that are read behind the block.
          left: the registers that are read behind the loop around it.
          visible: the registers that certainly hold a value when the block begins.

        Returns:
          The registers that are read in it or behind it.
        """
        seen, before = set(visible), []
        for instruction in block:
            # Only nested blocks need a copy; copies for thousands of nodes would be slow.
            has_inside = isinstance(instruction, If | ExitLoop | Loop | Cluster | Segment)
            before.append(set(seen) if has_inside else seen)
            seen |= _surely_set(instruction)
        live = set(live)
        made: Block = []
        for instruction, there in zip(reversed(block), reversed(before), strict=True):
            if isinstance(instruction, If):
                then = self.place(instruction.then, live, left, there)
                otherwise = self.place(instruction.otherwise, live, left, there)
                instruction.then[:0] = self._free((otherwise - then) & there)
                instruction.otherwise[:0] = self._free((then - otherwise) & there)
                live = then | otherwise | {instruction.predicate}
            elif isinstance(instruction, ExitLoop):
                exits = self.place(instruction.exits, left, set(), there)
                instruction.exits[:0] = self._free((live - exits) & there)
                made += self._free((exits - live) & there)
                live = live | exits | {instruction.predicate}
            elif isinstance(instruction, Loop):
                # One pass suffices: an iteration reads the values of the previous one at its start.
                head = _read_in(instruction.body, set(), live)
                self.place(instruction.body, head, live, there)
                live = head
            else:
                reads, writes = set(reads_of(instruction)), set(writes_of(instruction))
                if isinstance(instruction, Cluster | Segment):
                    self.place(instruction.plain, live | reads | writes, left, there)
                made += self._free((reads | writes) - live)
                live = (live - writes) | reads
            made.append(instruction)
        made.reverse()
        block[:] = made
        return live

    def _free(self, registers: Iterable[str]) -> Block:
        freed = sorted(set(registers) - self._never)
        return [Free(freed)] if freed else []


def _read_in(block: Block, live: set[str], left: set[str]) -> set[str]:
    """Return the registers that are read in a block or behind it."""
    live = set(live)
    for instruction in reversed(block):
        if isinstance(instruction, If):
            then = _read_in(instruction.then, live, left)
            live = then | _read_in(instruction.otherwise, live, left) | {instruction.predicate}
        elif isinstance(instruction, ExitLoop):
            live = live | _read_in(instruction.exits, left, set()) | {instruction.predicate}
        elif isinstance(instruction, Loop):
            live = _read_in(instruction.body, set(), live)
        else:
            live = (live - set(writes_of(instruction))) | set(reads_of(instruction))
    return live


def _surely_set(instruction: object) -> set[str]:
    """Return the registers that hold a value behind an instruction, on every path through it."""
    if isinstance(instruction, If):
        return _set_in(instruction.then) & _set_in(instruction.otherwise)
    if isinstance(instruction, Loop):
        found: set[str] = set()
        for inside in instruction.body:
            found |= _surely_set(inside)
            if isinstance(inside, ExitLoop):
                return found | _set_in(inside.exits)
        return found
    if isinstance(instruction, ExitLoop):
        return set()
    return set(writes_of(instruction))  # type: ignore[arg-type]


def _set_in(block: Block) -> set[str]:
    found: set[str] = set()
    for instruction in block:
        found |= _surely_set(instruction)
    return found
