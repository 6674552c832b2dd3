"""Splits an AddN of many tensors into partial sums next to the producers.

The gradient of a variable used at every step of an unrolled loop is an AddN with one tensor per
step.  If each tensor is added as soon as it exists, only one is alive beside the sum, and it stays
in the cache.  The order is that of the kernel, so the sum is equal to the last bit; an error about
unequal shapes is raised where the node would run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import PURE_ONE
from tfnb.common_runtime.lowering.recognise.program import (
    Block,
    Compute,
    ExitLoop,
    PartialSum,
    Program,
    insides_of,
    reads_of,
    writes_of,
)
from tfnb.core import dtypes, errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.common_runtime.lowering.recognise.program import type_of_instruction

_SUMS = frozenset(["AddN", "AccumulateNV2"])
# Minimum number of tensors: smaller sums would not become faster.
_FEWEST = 3


def spread_sums(program: Program) -> None:
    """Replace AddN nodes by partial sums at the producers of their tensors."""
    _spread(program.root)


def _spread(block: Block) -> None:
    for instruction in block:
        for inside in insides_of(instruction):
            _spread(inside)
    places = [
        place for place, one in enumerate(block) if is_sum(one) and len(reads_of(one)) >= _FEWEST
    ]
    if not places:
        return
    written: dict[str, int] = {}
    for place, instruction in enumerate(block):
        for name in _all_writes(instruction):
            written[name] = place
    leaves = [place for place, one in enumerate(block) if isinstance(one, ExitLoop)]
    behind: dict[int, list[PartialSum]] = {}
    for place in places:
        compute = block[place]
        assert isinstance(compute, Compute)
        ready, come = [], max((leave for leave in leaves if leave < place), default=0)
        for arg in compute.args[:-1]:
            come = max(come, written.get(arg, 0))
            ready.append(come)
        if any(written.get(arg, -1) >= place for arg in compute.args) or ready[-1] == ready[1]:
            continue
        target = compute.results[0]
        parts = [PartialSum(compute.item, compute.args[:2], target, 1)]
        parts += [
            PartialSum(compute.item, [target, arg], target, number)
            for number, arg in enumerate(compute.args[2:], 2)
        ]
        parts[-1].is_last = True
        for part, at in zip(parts, [*ready[1:], place], strict=True):
            behind.setdefault(at, []).append(part)
        block[place] = parts[-1]
        behind[place].remove(parts[-1])
    block[:] = [one for place, kept in enumerate(block) for one in (kept, *behind.get(place, ()))]


def _all_writes(instruction: type_of_instruction) -> Iterator[str]:
    """Yield the registers that are set after the instruction, also those set in cond branches."""
    yield from writes_of(instruction)
    for block in insides_of(instruction):
        for inside in block:
            yield from _all_writes(inside)


def is_sum(instruction: type_of_instruction) -> bool:
    """Return whether an instruction adds the tensors of an AddN in NumPy."""
    if not isinstance(instruction, Compute) or instruction.item.op not in _SUMS:
        return False
    item = instruction.item
    return (
        item.action == PURE_ONE
        and item.kernel is not None
        and item.compute is item.kernel.compute
        and item.kernel.device.xp is np
        and item.output_types[0] is not dtypes.variant
    )


# -- running the sums in a step
# ---------------------------------------------------------------------


class UnequalSum:
    """Replaces the sum after a tensor with a different shape."""

    __slots__ = ("number", "shapes")

    def __init__(self, shapes: tuple[Any, Any], number: int) -> None:
        self.shapes = shapes
        self.number = number


def first_sum(first: Any, second: Any) -> Any:
    """Return the sum of the first two tensors."""
    if first.shape != second.shape:
        return UnequalSum((first.shape, second.shape), 1)
    return first + second


def next_sum(total: Any, value: Any, number: int) -> Any:
    """Add a further tensor in place to the sum so far, which has no other user."""
    if total.__class__ is UnequalSum:
        return total
    if total.shape != value.shape:
        return UnequalSum((total.shape, value.shape), number)
    total += value
    return total


def last_sum(total: Any, value: Any, number: int, op: str) -> Any:
    """Add the last tensor and return the sum.

    Raises:
      InvalidArgumentError: the tensors differ in shape.
    """
    return finished_sum(next_sum(total, value, number), op)


def finished_sum(total: Any, op: str) -> Any:
    """Return a sum whose tensors have all been added.

    Raises:
      InvalidArgumentError: the tensors differ in shape.
    """
    if total.__class__ is UnequalSum:
        first, other = (f"[{','.join(map(str, shape))}]" for shape in total.shapes)
        raise errors.invalid_argument(
            f"Inputs to operation {op} must have the same size and shape.  "
            f"Input 0: {first} != input {total.number}: {other}"
        )
    return total
