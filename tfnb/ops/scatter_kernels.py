"""Writing rows into an array where several rows may go to one place.

Repeated places are served in the order they are given, as a loop over the rows would do, so sums of
floats come out the same.  Rows are ranked by how often their place came up before; each rank has
every place once and is one NumPy operation.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

_MAX_RANKS: Final = 48

_COMBINE: Final = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "min": "minimum",
    "max": "maximum",
    "xor": "logical_xor",
}


def divide(xp: Any, a: Any, b: Any) -> Any:
    """Division that stays in the type: integers are cut towards zero, a zero divisor gives zero."""
    if a.dtype.kind in "iu":
        safe = xp.where(b == 0, 1, b).astype(a.dtype)
        quotient = a // safe
        # Towards zero, where // rounds down.
        quotient += ((a % safe != 0) & ((a < 0) != (safe < 0))).astype(a.dtype)
        return xp.where(b == 0, 0, quotient).astype(a.dtype)
    return xp.true_divide(a, b).astype(a.dtype)


def scatter_rows(xp: Any, target: Any, places: Any, rows: Any, operation: str) -> None:
    """Combines ``rows[i]`` into ``target[places[i]]``.

    Args:
      xp: numpy or cupy.
      target: an array that may be written to.
      places: one index of the first dimension of ``target`` per row, all valid.
      rows: one row per place, or a scalar that stands for every row.
      operation: assign, add, sub, mul, div, min or max.
    """
    count = len(places)
    if count == 0:
        return
    if getattr(rows, "ndim", 0) == 0:
        rows = xp.broadcast_to(xp.asarray(rows), (count, *target.shape[1:]))
    if operation == "assign":
        if xp is not np:
            places, rows = _last_of_each(xp, places, rows)
        target[places] = rows
        return
    if operation == "sub" and target.dtype.kind == "b":
        # Truth values have no minus; as numbers, what differs leaves something.
        operation = "xor"
    combine: Any = partial(divide, xp) if operation == "div" else getattr(xp, _COMBINE[operation])
    if count == 1:
        place = int(places[0])
        target[place : place + 1] = combine(target[place : place + 1], rows)
        return
    order = xp.argsort(places, kind="stable") if xp is np else xp.argsort(places)
    ordered = places[order]
    first = xp.empty(count, bool)
    first[0] = True
    first[1:] = ordered[1:] != ordered[:-1]
    if bool(first.all()):
        target[places] = combine(target[places], rows)
        return
    positions = xp.arange(count)
    starts = (
        xp.maximum.accumulate(xp.where(first, positions, 0))
        if xp is np
        else _starts(xp, first, positions)
    )
    ranks = positions - starts
    highest = int(ranks.max())
    if highest > _MAX_RANKS and xp is np and operation != "div":
        combine.at(target, places, rows)
        return
    for rank in range(highest + 1):
        chosen = order[ranks == rank]
        target[places[chosen]] = combine(target[places[chosen]], rows[chosen])


def _starts(xp: Any, first: Any, positions: Any) -> Any:
    begins = positions[first]
    return begins[xp.cumsum(first) - 1]


def _last_of_each(xp: Any, places: Any, rows: Any) -> tuple[Any, Any]:
    """Only the last row of every place: on a GPU, who writes last is not decided."""
    _, index = xp.unique(places[::-1], return_index=True)
    chosen = len(places) - 1 - index
    return places[chosen], rows[chosen]
