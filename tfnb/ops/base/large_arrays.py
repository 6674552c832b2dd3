"""Faster replacements of NumPy operations for large arrays on a CPU.

NumPy runs one operation after the other, each over the whole array, and some of its loops are not
vectorized.  This module does better:

* formulas run tile by tile, on several threads, and intermediate results stay in cache (``tiled``);
* sums are matrix products with ones, which BLAS computes at the speed of memory (``sum_over``);
* choices between two arrays are made with bits (``choose``): ``np.where`` is slow where its
  condition changes often;
* limits are set with ``clip``, which is vectorized where ``np.maximum`` with a scalar is not.

Each function decides by size whether it pays off; below that size, on a GPU, and for dtypes without
a gain, it calls NumPy or CuPy directly.  ``plain_ways`` forces the direct call: tests compare the
two, and ``benchmarks/kernels.py`` measures them.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.channel_order import (
    channels_to_last,
    channels_to_second,
    contiguous_channels_last,
    lies_channels_last,
)
from tfnb.core.compiled.routines import without_routines
from tfnb.core.process.work_sharder import num_threads, shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.core.kernel_types import Array, Xp

# Elements of a tile: a few tiles of floats fit into the last-level cache, and NumPy's fixed cost
# of an operation is negligible.
TILE = 1 << 18
# An array with at least this many elements is large.
LARGE = 1 << 13
# Threads share the work of an expensive function from this number of elements on.
LEAST_MAPPED = 2 * TILE
# Longest run of numbers that is summed one after another in float32.
_BLOCK = 1024
# Rows up to this length are summed by one matrix product, whose rounding error is that of a sum of
# a few dozen parts.
_LONGEST_ROW = 1 << 16
# The most rows, and their most elements, that are added one by one; a product is faster else.
_MOST_ADDED, _MOST_SHORT = 3, 256

_takes_plain_ways = False


@contextmanager
def plain_ways() -> Iterator[None]:
    """Disable the replacements in all threads until the end of the block."""
    global _takes_plain_ways
    before, _takes_plain_ways = _takes_plain_ways, True
    try:
        with without_routines():
            yield
    finally:
        _takes_plain_ways = before


def takes_plain_ways() -> bool:
    """Return whether the replacements are disabled."""
    return _takes_plain_ways


def is_large(xp: Xp, x: Array, least: int = LARGE) -> bool:
    """Return whether `x` is a float32 or float64 array on a CPU with at least `least` elements."""
    return xp is np and x.size >= least and x.dtype.char in "fd" and not _takes_plain_ways


def own(x: Array) -> Array:
    """Return the `out=` argument for overwriting the intermediate result `x`; None for a scalar."""
    return x if x.ndim else None


def _channels_last_of(*arrays: Array) -> list[Array] | None:
    """Return arrays of one shape with the channels last, if memory has this order for each.

    None if it does not; then contiguous arrays are so in the order of their dimensions.
    """
    if not all(lies_channels_last(x) for x in arrays):
        return None
    return [channels_to_last(x) for x in arrays]


def tiled(xp: Xp, formula: Callable[..., Array], *arrays: Array) -> Array:
    """Compute an elementwise ``formula(xp, *arrays)``, tile by tile where that is faster.

    Args:
      xp: numpy or cupy.
      formula: returns an array of the shape and the dtype of its first argument.  Its keyword
        ``out`` is None or the array for the result, which it may also use for intermediate values.
      *arrays: tiled only if they have one shape and dtype.
    """
    first = arrays[0]
    # A single thread gains only if the arrays exceed the last-level cache.
    least = TILE * (2 if num_threads() > 1 else 8)
    if not is_large(xp, first) or any(x.shape != first.shape for x in arrays):
        return formula(xp, *arrays)
    if any(lies_channels_last(x) for x in arrays):
        # Arrays in two orders of memory are slow; those of NCHW stay as convolutions need them.
        turned = [contiguous_channels_last(xp, x) for x in arrays]
        return channels_to_second(tiled(xp, formula, *turned))
    if first.size < least or not all(x.flags.c_contiguous for x in arrays):
        return formula(xp, *arrays)
    result = np.empty_like(first)
    flat, target = [x.reshape(-1) for x in arrays], result.reshape(-1)

    def work(begin: int, end: int) -> None:
        for start in range(begin * TILE, min(end * TILE, target.size), TILE):
            piece = slice(start, start + TILE)
            formula(np, *(x[piece] for x in flat), out=target[piece])

    shard(-(-target.size // TILE), 1, work)
    return result


def shard_rows(rows: int, row_size: int, work: Callable[[int, int], object]) -> None:
    """Call ``work(first, last)`` for ranges of rows of `row_size` elements, on several threads.

    The ranges have one size, so that sums over rows do not depend on the threads.
    """
    at_once = (1 << 16) // max(row_size, 1) + 1

    def work_on(begin: int, end: int) -> None:
        for first in range(begin * at_once, min(end * at_once, rows), at_once):
            work(first, min(first + at_once, rows))

    shard(-(-rows // at_once), 1, work_on)


# Elements of a tile of rows: some arrays of this size fit into a core's cache.
_ROW_TILE = 1 << 15


def tiled_rows(xp: Xp, formula: Callable[..., Array], *arrays: Array) -> Array:
    """Compute ``formula(xp, *arrays)``, of rows alone, in tiles of rows where that is faster.

    Tiles have one size, so that the result does not depend on the threads.

    Args:
      xp: numpy or cupy.
      formula: takes arrays of one shape, and returns an array of that shape and of the dtype of the
        first one; its last dimension are the rows.
      *arrays: tiled only if they are contiguous.
    """
    first = arrays[0]
    if not is_large(xp, first, 4 * _ROW_TILE) or not all(x.flags.c_contiguous for x in arrays):
        return formula(xp, *arrays)
    width = first.shape[-1]
    at_once = max(1, _ROW_TILE // width)
    result = np.empty_like(first)
    rows, target = [x.reshape(-1, width) for x in arrays], result.reshape(-1, width)

    def work(begin: int, end: int) -> None:
        for start in range(begin * at_once, min(end * at_once, len(target)), at_once):
            piece = slice(start, start + at_once)
            target[piece] = formula(np, *(x[piece] for x in rows))

    shard(-(-len(target) // at_once), 2, work)
    return result


def mapped(xp: Xp, function: Callable[..., Array], x: Array) -> Array:
    """Return ``function(x)`` for an expensive ufunc; a large array is divided among threads."""
    if not is_large(xp, x, LEAST_MAPPED) or num_threads() == 1:
        return function(x)
    if lies_channels_last(x):
        return channels_to_second(mapped(xp, function, channels_to_last(x)))
    if not x.flags.c_contiguous:
        return function(x)
    out = np.empty_like(x)
    flat, target = x.reshape(-1), out.reshape(-1)
    shard(target.size, TILE, lambda first, last: function(flat[first:last], out=target[first:last]))
    return out


def at_least(xp: Xp, x: Array, lowest: Array) -> Array:
    """Return the larger of each element and a number; NaN elements stay NaN."""
    if is_large(xp, x):
        return x.clip(lowest, np.inf)
    return xp.maximum(x, lowest)


def at_most(xp: Xp, x: Array, highest: Array) -> Array:
    """Return the smaller of each element and a number; NaN elements stay NaN."""
    if is_large(xp, x):
        return x.clip(-np.inf, highest)
    return xp.minimum(x, highest)


def choose(xp: Xp, condition: Array, x: Array, y: Array, out: Array | None = None) -> Array:
    """Return elements of `x` where the condition holds and of `y` elsewhere; all three broadcast.

    Args:
      xp: numpy or cupy.
      condition: an array of bools.
      x: an array of any dtype.
      y: an array of the dtype of `x`; the scalar 0, as dropout writes it, takes fewer passes.
      out: the array for the result, if any; may be `x` or `y`.
    """
    dtype = x.dtype
    if out is None and xp is np and condition.size >= LARGE and not _takes_plain_ways:
        if _is_zero(y):
            zeroed = _masked(x, condition.view(np.int8), is_kept=True)
        elif _is_zero(x):
            zeroed = _masked(y, condition.view(np.int8), is_kept=False)
        else:
            zeroed = None
        if zeroed is not None:
            return zeroed
    may_use_bits = (
        xp is np
        and condition.size >= LARGE
        and not _takes_plain_ways
        and condition.shape == x.shape == y.shape
        and y.dtype == dtype
        and dtype.itemsize <= 8
        and dtype.kind in "fiu"
    )
    turned = _channels_last_of(condition, x, y) if may_use_bits else None
    if turned is not None:
        into = None if out is None else channels_to_last(out)
        where, first, second = turned
        into = first if out is x else second if out is y else into
        return channels_to_second(choose(xp, where, first, second, into))
    if not may_use_bits or not (
        condition.flags.c_contiguous and x.flags.c_contiguous and y.flags.c_contiguous
    ):
        chosen = xp.where(condition, x, y)
        if out is None:
            return chosen
        out[...] = chosen
        return out
    bits = f"i{dtype.itemsize}"
    # Masks with all bits of an element set, or none.
    if out is y:
        mask, x, y = condition.view(np.int8) - np.int8(1), y, x
    else:
        mask = np.negative(condition.view(np.int8))
    mask = mask.astype(bits, copy=False)
    other = y.view(bits)
    result = np.bitwise_xor(x.view(bits), other, out=None if out is None else out.view(bits))
    np.bitwise_and(result, mask, out=result)
    np.bitwise_xor(result, other, out=result)
    return result.view(dtype)


def _is_zero(y: Array) -> bool:
    """Return whether `y` is a scalar number of which no bit is set."""
    return y.ndim == 0 and y.dtype.kind in "fiu" and not any(y.tobytes())


def _masked(x: Array, marks: Array, *, is_kept: bool) -> Array | None:
    """Return `x` where a mark is set, or is not set, and zeros elsewhere.

    None if the marks, an array of int8, or `x` are of other forms.
    """
    turned = _channels_last_of(marks, x)
    if turned is not None:
        zeroed = _masked(*turned, is_kept=is_kept)
        return None if zeroed is None else channels_to_second(zeroed)
    if (
        marks.shape != x.shape
        or x.dtype.kind not in "fiu"
        or x.itemsize > 8
        or not (marks.flags.c_contiguous and x.flags.c_contiguous)
    ):
        return None
    bits = f"i{x.itemsize}"
    mask = (np.negative(marks) if is_kept else marks - np.int8(1)).astype(bits, copy=False)
    np.bitwise_and(x.view(bits), mask, out=mask)
    return mask.view(x.dtype)


def zero_where(xp: Xp, condition: Array, x: Array, out: Array | None = None) -> Array:
    """Return `x` with zeros where the condition, an array of the same shape, holds.

    Args:
      xp: numpy or cupy.
      condition: an array of bools.
      x: an array of floats; may be overwritten.
      out: None or `x`, if the result must be written there.
    """
    turned = _channels_last_of(condition, x) if is_large(xp, x) else None
    if turned is not None:
        where, values = turned
        return channels_to_second(zero_where(xp, where, values, None if out is None else values))
    if not is_large(xp, x) or not (condition.flags.c_contiguous and x.flags.c_contiguous):
        if out is None:
            return xp.where(condition, x.dtype.type(0), x)
        out[condition] = 0
        return out
    bits = f"i{x.itemsize}"
    mask = (condition.view(np.int8) - np.int8(1)).astype(bits)
    np.bitwise_and(x.view(bits), mask, out=x.view(bits))
    return x


# -------------------------------------------------------------------------------------------- sums


@lru_cache(maxsize=256)
def _ones(count: int, dtype: str) -> Array:
    ones = np.ones(count, dtype)
    ones.flags.writeable = False
    return ones


def sum_over(xp: Xp, x: Array, axes: tuple[int, ...], keep_dims: bool = False) -> Array:
    """Return the sum over axes, given as non-negative numbers, in the dtype of `x`."""
    large = x.size >= LARGE and is_large(xp, x)
    if large and lies_channels_last(x):
        return _sum_of_channels_last(x, axes, keep_dims)
    if not large or not x.flags.c_contiguous:
        # The ufunc has less overhead than the method, which calls it.
        total: Array = xp.add.reduce(x, axes, x.dtype, None, keep_dims)
        return total
    values = x
    after = 1  # number of kept elements after the group
    for is_summed, size in reversed(_groups(x.shape, axes)):
        if not is_summed:
            after *= size
        elif after == 1:
            values = _sum_rows(values.reshape(-1, size))
        else:
            values = _sum_columns(values.reshape(-1, size, after))
    kept = [1 if i in axes else d for i, d in enumerate(x.shape) if keep_dims or i not in axes]
    # The sum over all axes is a scalar, as in NumPy.
    return values.reshape(kept) if kept else values.reshape(())[()]


def _sum_of_channels_last(x: Array, axes: tuple[int, ...], keep_dims: bool) -> Array:
    """Compute `sum_over` for memory whose channels, the second dimension of `x`, come last."""
    place = [0, x.ndim - 1, *range(1, x.ndim - 1)]  # of each dimension; channels last
    total = sum_over(np, channels_to_last(x), tuple(place[axis] for axis in axes), True)
    total = channels_to_second(total)
    if keep_dims:
        return total
    kept = [size for axis, size in enumerate(total.shape) if axis not in axes]
    return total.reshape(kept) if kept else total.reshape(())[()]


def _groups(shape: tuple[int, ...], axes: tuple[int, ...]) -> list[tuple[bool, int]]:
    """Merge neighbouring axes that are all summed or all kept."""
    groups: list[tuple[bool, int]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        is_summed = axis in axes
        if groups and groups[-1][0] == is_summed:
            size *= groups.pop()[1]
        groups.append((is_summed, size))
    return groups


def _sum_rows(x: Array) -> Array:
    length = x.shape[1]
    if length <= _LONGEST_ROW:
        return x.dot(_ones(length, x.dtype.char))
    return np.array([_total(row) for row in x], x.dtype)


def _total(x: Array) -> Array:
    whole = x.size - x.size % _BLOCK
    total = x[:whole].reshape(-1, _BLOCK).dot(_ones(_BLOCK, x.dtype.char)).sum()
    return total + x[whole:].sum()


def _sum_columns(x: Array) -> Array:
    """Return the sum over the middle one of three axes."""
    outer, length, after = x.shape
    char = x.dtype.char
    if length <= _MOST_ADDED and after <= _MOST_SHORT:
        total = x[:, 0] + x[:, 1]
        for i in range(2, length):
            total += x[:, i]
        return total
    if length > 2 * _BLOCK:
        blocks = length // _BLOCK
        whole = blocks * _BLOCK
        head = x[:, :whole].reshape(-1, _BLOCK, after)
        total = np.matmul(_ones(_BLOCK, char), head).reshape(outer, blocks, after).sum(axis=1)
        if whole != length:
            total += np.matmul(_ones(length - whole, char), x[:, whole:])
        return total
    return np.matmul(_ones(length, char), x)


def sum_of_squares(xp: Xp, x: Array) -> Array:
    """Return the sum of the squares of all elements."""
    flat = x.reshape(-1)
    if not is_large(xp, x):
        return (flat * flat).sum(dtype=x.dtype)
    whole = flat.size - flat.size % _BLOCK
    head, tail = flat[:whole].reshape(-1, _BLOCK), flat[whole:]
    return np.vecdot(head, head).sum() + (tail * tail).sum()
