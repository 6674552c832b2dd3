"""Additional records about the units of a frame whose nodes are counted (``counts.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.lowering.recognise.conditions import (
    ALWAYS,
    type_of_condition,
    type_of_literal,
)
from tfnb.common_runtime.lowering.recognise.program import Mark, Unit
from tfnb.common_runtime.lowering.recognise.registers import RECEIVES, Registers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


def alive_alone(
    registers: Registers, units: Iterable[Unit], weak_enters: Collection[int]
) -> dict[int, set[int]]:
    """Return the nodes that are alive even if their frame as a whole is not.

    Args:
      registers: the registers of the partition, with the inputs of each node.
      units: the units of the frame, in a topological order.
      weak_enters: the Enters that are alive there.

    Returns:
      By the node's id, the Enters that make it alive.
    """
    found: dict[int, set[int]] = {}
    for unit in units:
        item = unit.item
        if item is None or unit.is_part:
            continue
        enters = {src.id for src, _ in registers.sources[item.id]}
        enters = (enters | {src.id for src in registers.controls[item.id]}) & {*weak_enters}
        for before in unit.before:
            enters |= found.get(-1 if before.item is None else before.item.id, set())
        if enters:
            found[item.id] = enters
    return found


def triggered(registers: Registers, units: Iterable[Unit]) -> set[int]:
    """Return the ControlTriggers, which are never dead, and the nodes that wait only for them."""
    found: set[int] = set()
    for unit in units:
        item = unit.item
        if item is None or item.is_merge:
            continue
        before = [src.id for src, _ in registers.sources[item.id]]
        if item.op not in RECEIVES:  # they depend on their Send
            before += [src.id for src in registers.controls[item.id]]
        if item.is_control_trigger or (before and found.issuperset(before)):
            found.add(item.id)
    return found


def marks(
    units: Sequence[Unit], more: Iterable[Unit], goes_on: type_of_literal | None
) -> list[Unit]:
    """Return units that make a block for each condition of a node that has no block yet.

    Args:
      units: the units of the frame.
      more: other units that run in it.
      goes_on: the literal under which a loop continues; None for the root frame.
    """
    made = {unit.condition for unit in (*units, *more) if unit.instructions}
    made.add(ALWAYS)
    if goes_on is not None:
        made.update(frozenset([(goes_on[0], side)]) for side in (True, False))
    found: dict[type_of_condition, Unit] = {}
    for unit in units:
        condition = unit.condition
        if condition is None or condition in made or unit.item is None:
            continue
        if condition not in found:
            found[condition] = Unit(condition=condition, instructions=[Mark()])
        found[condition].wait_for(unit)
    return [*found.values()]
