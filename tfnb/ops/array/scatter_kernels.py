"""Writing rows into an array where several rows may have the same place, and checks of places.

Repeated places are served in the order they are given, as in a loop over the rows, so that sums of
floats are equal to TensorFlow's.  Rows are ranked by how often their place came up before; each
rank has
every place once and is one NumPy operation.

On a CPU places are sorted first, so that the rows of one place are a run, and the runs are sorted
by length: then the rows of one rank go to a prefix of the accumulators, which are read from the
array once and written back once.  Few elements are combined one after the other.  With
`tfnb[fast]`, a routine adds one row after the other (``compiled_scatter.py``).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from tfnb.core import errors
from tfnb.core.array_module import as_places
from tfnb.ops.array import compiled_scatter

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp

_MAX_RANKS: Final = 48

_COMBINE: Final = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "min": "minimum",
    "max": "maximum",
    "xor": "logical_xor",
}


def check_indices(indices: Array, limit: int, name: str = "indices") -> None:
    """Refuse indices outside ``[0, limit)``; the error names the first one.

    Raises:
      InvalidArgumentError: an index is out of range.
    """
    if indices.size <= 1:
        if not indices.size or 0 <= indices.item() < limit:
            return
    elif indices.min() >= 0 and indices.max() < limit:
        return
    flat = np.asarray(indices).reshape(-1)
    position = int(np.flatnonzero((flat < 0) | (flat >= limit))[0])
    where_ = np.unravel_index(position, indices.shape)
    place = f"[{','.join(str(int(i)) for i in where_)}]" if indices.ndim else ""
    raise errors.invalid_argument(f"{name}{place} = {int(flat[position])} is not in [0, {limit})")


def divide(xp: Xp, a: Array, b: Array) -> Array:
    """Divide within the type: integers are cut towards zero, and a zero divisor gives zero."""
    if a.dtype.kind in "iu":
        safe = xp.where(b == 0, 1, b).astype(a.dtype)
        quotient = a // safe
        # Round towards zero; ``//`` rounds down.
        quotient += ((a % safe != 0) & ((a < 0) != (safe < 0))).astype(a.dtype)
        return xp.where(b == 0, 0, quotient).astype(a.dtype)
    return xp.true_divide(a, b).astype(a.dtype)


def scatter_rows(xp: Xp, target: Array, places: Array, rows: Array, operation: str) -> None:
    """Combine ``rows[i]`` into ``target[places[i]]``.

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
        # Bools have no subtraction; as numbers, True remains where the two differ.
        operation = "xor"
    combine: Array = partial(divide, xp) if operation == "div" else getattr(xp, _COMBINE[operation])
    if count == 1:
        place = int(places[0])
        target[place : place + 1] = combine(target[place : place + 1], rows)
        return
    if xp is np and operation != "div":
        if target.ndim == 1:
            combine.at(target, places, rows)
            return
        if compiled_scatter.combine(target, places, rows, operation):
            return
        if rows.size <= _FEW_ELEMENTS and _are_plain(target, rows):
            width = rows.size // count
            flat = (places.astype(np.int64)[:, None] * width + np.arange(width)).reshape(-1)
            combine.at(target.reshape(-1), flat, rows.reshape(-1))
            return
        _scatter_runs(target, places, rows, combine)
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
    if xp is np:
        ranks = positions - np.maximum.accumulate(np.where(first, positions, 0))
    else:
        ranks = positions - _starts(xp, first, positions)
    for rank in range(int(ranks.max()) + 1):
        chosen = order[ranks == rank]
        target[places[chosen]] = combine(target[places[chosen]], rows[chosen])


# NumPy combines up to so many single elements faster than runs of rows.
_FEW_ELEMENTS = 1 << 15


def _are_plain(target: Array, rows: Array) -> bool:
    """Return whether NumPy goes through both arrays without buffers."""
    if target.dtype != rows.dtype or target.dtype.kind not in "iuf":
        return False
    if not target.flags.c_contiguous or rows.shape[1:] != target.shape[1:]:
        return False
    return not np.may_share_memory(target, rows)


def _scatter_runs(target: Array, places: Array, rows: Array, combine: np.ufunc) -> None:
    count = len(places)
    # Sort by place, then by position: sorting distinct numbers is faster than a stable sort.
    bits = count.bit_length()
    keys = (places.astype(np.int64) << bits) | np.arange(count)
    keys.sort()
    order, ordered = as_places(keys & ((1 << bits) - 1)), as_places(keys >> bits)
    begins = np.concatenate([[0], np.nonzero(ordered[1:] != ordered[:-1])[0] + 1])
    chosen = ordered[begins]
    found = target.take(chosen, axis=0)
    combine_runs(found, rows, begins, np.diff(begins, append=count), combine, order)
    target[chosen] = found


def combine_runs(
    found: Array,
    rows: Array,
    begins: Array,
    lengths: Array,
    combine: np.ufunc,
    order: Array | None = None,
) -> None:
    """Combine each run of rows, one row after the other, into one row of ``found``.

    Args:
      found: one row per run, into which the rows of the run are combined.
      rows: the rows; an array of at least two dimensions.
      begins: where each run begins.
      lengths: the number of rows of each run.
      combine: an operation of two rows.
      order: the row at each position of the runs; None if position and row are equal.
    """
    by_length = np.argsort(-lengths, kind="stable")
    begins, lengths = begins[by_length], lengths[by_length]
    num_long = int(np.searchsorted(-lengths, -_MAX_RANKS))
    for place, begin, length in zip(
        by_length[:num_long].tolist(), begins.tolist(), lengths.tolist(), strict=False
    ):
        inside = slice(begin, begin + length)
        some = rows[inside] if order is None else rows.take(order[inside], axis=0)
        whole = np.concatenate([found[place : place + 1], some])
        found[place] = combine.reduce(whole, axis=0, dtype=found.dtype)
    rest, begins, lengths = by_length[num_long:], begins[num_long:], lengths[num_long:]
    if not len(rest):
        return
    totals = found.take(rest, axis=0)
    # The runs that have a row of a certain rank are a prefix of all runs.
    numbers = np.searchsorted(-lengths, -np.arange(int(lengths[0])))
    for rank, number in enumerate(numbers.tolist()):
        chosen = begins[:number] + rank
        if order is not None:
            chosen = order[chosen]
        combine(totals[:number], rows.take(chosen, axis=0), out=totals[:number])
    found[rest] = totals


def _starts(xp: Xp, first: Array, positions: Array) -> Array:
    begins = positions[first]
    return begins[xp.cumsum(first) - 1]


def _last_of_each(xp: Xp, places: Array, rows: Array) -> tuple[Array, Array]:
    """Return only the last row of every place; on a GPU the order of writes is undefined."""
    _, index = xp.unique(places[::-1], return_index=True)
    chosen = len(places) - 1 - index
    return places[chosen], rows[chosen]
