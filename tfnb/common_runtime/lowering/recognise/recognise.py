"""Finds loops and conds in a partition and makes a :class:`Program` of it.

Every frame is analysed by itself (``frame.py``), with the registers of the tensors that it shares
with others (``registers.py``).

A partition is recognised as a whole or not at all: after :class:`Unrecognised` it stays with the
reference executor.  These are not recognised: loops whose variables do not all continue and exit by
one predicate, Merges whose inputs are not known to be exclusive, and patterns that no front end
makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.lowering.recognise.frame import Frame
from tfnb.common_runtime.lowering.recognise.program import (
    Block,
    Loop,
    Program,
    Unrecognised,
    insides_of,
)
from tfnb.common_runtime.lowering.recognise.registers import Registers

if TYPE_CHECKING:
    from collections.abc import Collection

    from tfnb.common_runtime.executor.immutable_executor_state import ImmutableExecutorState

# Python's own limits are 20 loops and 100 levels.
_MOST_LOOPS, _MOST_LEVELS = 18, 80


def recognise(
    immutable: ImmutableExecutorState, *, counts: bool = False, wanted: Collection[int] = ()
) -> Program:
    """Return the partition as a program.

    Args:
      immutable: the partition.
      counts: whether all its nodes are to be counted (``counts.py``).
      wanted: ids of the nodes that need registers for all outputs.

    Raises:
      Unrecognised: the partition cannot be expressed as a program.
    """
    if immutable.loop_may_wait_for_write:
        raise Unrecognised("a loop may wait for a write beside it")
    registers = Registers(immutable, counts=counts, wanted=wanted)
    program = registers.made
    program.registers = registers
    if immutable.schedule is not None:
        # Without control flow, the nodes run in the order of the reference executor.
        for item in immutable.schedule:
            program.root += registers.instructions(item)
    else:
        frame = Frame(registers, "")
        frame.order()
        if counts:
            frame.mark(0)
        program.root = frame.block()
        if program.has_conditional_fetch:
            program.switches = frame.switches()
            program.predicates = list(dict.fromkeys(program.switches.values()))
    _check_depth(program.root, 0, 0)
    return program


def _check_depth(block: Block, levels: int, loops: int) -> None:
    if levels > _MOST_LEVELS or loops > _MOST_LOOPS:
        raise Unrecognised("too many loops and conds in each other")
    for instruction in block:
        for inside in insides_of(instruction):
            _check_depth(inside, levels + 1, loops + isinstance(instruction, Loop))
