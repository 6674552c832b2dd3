"""Finds the registers of a program that hold scalars for all feeds.

Ops with an expression are elementwise, so they compute scalars from scalars; a loop variable is a
scalar if its first value and the next ones are.  A register of unknown rank does not count as a
scalar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import ARG
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Block,
    Clear,
    Cluster,
    Compute,
    Copy,
    Program,
    insides_of,
    writes_of,
)
from tfnb.core.kernel_expressions import expressions_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tfnb.common_runtime.lowering.recognise.program import type_of_instruction


def scalar_registers(program: Program, scalar_args: Collection[int]) -> set[str]:
    """Return the registers that hold scalars if the arguments with these numbers do."""
    scalars: set[str] = set()
    readers: dict[str, list[str]] = {}
    lost: list[str] = []
    for name, value in program.constants.items():
        # Constants in GPU memory are excluded: Python does not compute with them.
        is_scalar = isinstance(value, np.ndarray | np.generic) and value.ndim == 0
        scalars.add(name) if is_scalar else lost.append(name)
    for instruction in instructions_in(program.root):
        sources = _sources(instruction, scalar_args)
        for target in writes_of(instruction):
            if sources is None:
                lost.append(target)
            scalars.add(target)
        for target, source in sources or ():
            readers.setdefault(source, []).append(target)
    # Every register is assumed to hold a scalar until a value of another rank reaches it.
    while lost:
        name = lost.pop()
        scalars.discard(name)
        lost += [reader for reader in readers.get(name, ()) if reader in scalars]
    return scalars


def _sources(
    instruction: type_of_instruction, scalar_args: Collection[int]
) -> list[tuple[str, str]] | None:
    """Return (register, register that decides its rank) pairs; None: a result of unknown rank."""
    if isinstance(instruction, Compute):
        item = instruction.item
        if item.action == ARG:
            return [] if item.argument_index in scalar_args else None
        if item.kernel is None:
            return None
        expressions = expressions_of(item.kernel)
        if not expressions or not expressions[0].is_elementwise:
            return None
        return [(result, arg) for result in instruction.results for arg in instruction.args]
    if isinstance(instruction, Assign):
        return list(zip(instruction.targets, instruction.sources, strict=True))
    if isinstance(instruction, Copy):
        return [(instruction.target, instruction.source)]
    return [] if isinstance(instruction, Clear | Cluster) else None


def instructions_in(block: Block) -> Iterator[type_of_instruction]:
    """Yield the instructions of a block and of all blocks inside it."""
    for instruction in block:
        yield instruction
        for inside in insides_of(instruction):
            yield from instructions_in(inside)
