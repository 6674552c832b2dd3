"""Kernels of pooling, for any number of spatial dimensions, channels last.

A window is reduced one dimension after the other, each with a few whole-array operations on strided
slices; large images on a CPU are reduced in small blocks that stay in cache, on several threads,
and without a padded copy. With `tfnb[fast]`, routines reduce windows (``compiled_pooling.py``). A
window as large as the image is one reduction. Where the position of
the maximum matters (gradients, argmax) elements are compared in row-major order and the first of
equal ones wins. Padding does not affect results: it holds the lowest number for maxima, and is left
out of the count for means.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.process.work_sharder import num_threads, shard
from tfnb.ops.base.large_arrays import choose, is_large, sum_over, takes_plain_ways
from tfnb.ops.conv import compiled_pooling
from tfnb.ops.conv.windows import Window, pad_spatial, unpad_spatial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.core.kernel_types import Array, Attr, Xp


def lowest(dtype: Attr) -> Array:
    """Return the lowest number of a dtype, minus infinity where it exists."""
    return np.iinfo(dtype).min if np.dtype(dtype).kind in "iu" else -np.inf


def _cells(windows: Sequence[Window]) -> Iterator[tuple[slice, ...]]:
    """Yield, per window element in row-major order, the padded cells it meets, batch first."""
    for element in product(*(range(w.filter) for w in windows)):
        cells = (w.slice_at(i) for w, i in zip(windows, element, strict=True))
        yield (slice(None), *cells)


def _along(x: Array, axis: int, w: Window, index: int) -> Array:
    return x[(slice(None),) * axis + (w.slice_at(index),)]


@cache
def _least(dtype: np.dtype[Any]) -> Array:
    return dtype.type(dtypes.as_dtype(dtype).min)


def max_pool(xp: Xp, x: Array, windows: Sequence[Window]) -> Array:
    """Return the maximum of every window; for images at least the lowest finite number."""
    least = _least(x.dtype)
    if (axes := _whole_axes(xp, x, windows)) is not None:
        return _whole_maximum(x, windows, axes, least)
    found = compiled_pooling.maximum(x, windows) if xp is np else None
    if found is not None:
        return found
    if _suits(xp, x, windows):
        return _reduced(np.maximum, x, windows, least)
    x = pad_spatial(xp, x, windows, 1, least)
    for axis, w in enumerate(windows, 1):
        out = _along(x, axis, w, 0)
        if w.filter > 1:
            out = xp.maximum(out, _along(x, axis, w, 1))
            for index in range(2, w.filter):
                xp.maximum(out, _along(x, axis, w, index), out=out)
        x = out
    if len(windows) == 2 and x.dtype.kind not in "iu":
        x = xp.maximum(x, least)
    return xp.ascontiguousarray(x)


def _whole_axes(xp: Xp, x: Array, windows: Sequence[Window]) -> tuple[int, ...] | None:
    """Return the axes that windows cover as a whole; None if a window covers a part of one.

    Windows of one cell, at every cell, leave an axis as it is.
    """
    if xp is not np or not x.size or not x.flags.c_contiguous or takes_plain_ways():
        return None
    axes = []
    for axis, w in enumerate(windows, 1):
        if w.pad_before or w.pad_after or w.filter < 1:
            return None
        if w.filter == w.size and (w.dilation == 1 or w.filter == 1):
            if w.filter > 1:
                axes.append(axis)
        elif w.filter > 1 or w.output != w.size:
            return None
    return tuple(axes) or None


# Rows shorter than this are not worth joining the covered axes into one.
_LONG_ROW = 128


def _whole_maximum(
    x: Array, windows: Sequence[Window], axes: tuple[int, ...], least: Array
) -> Array:
    """Return the maximum over whole axes."""
    found = x
    if x.shape[-1] >= _LONG_ROW and axes == tuple(range(1, x.ndim - 1)):
        found, axes = x.reshape(len(x), -1, x.shape[-1]), (1,)
    for axis in axes:
        found = _maximum_along(found, axis)
    found = found.reshape(len(x), *(w.output for w in windows), x.shape[-1])
    if len(windows) == 2 and x.dtype.kind not in "iu" and not found.min() >= least:
        np.maximum(found, least, out=found)
    return found


def _maximum_along(x: Array, axis: int) -> Array:
    """Return the maximum along an axis, which keeps a length of 1."""
    before, after = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    rows = x.reshape(before, x.shape[axis], after)
    out = np.empty((before, after), x.dtype)

    def work(first: int, last: int) -> None:
        rows[first:last].max(axis=1, out=out[first:last])

    shard(before, (1 << 17) // (x.shape[axis] * after) + 1, work)
    return out.reshape(*x.shape[:axis], 1, *x.shape[axis + 1 :])


# Approximate size of a block of images that is processed at once.
_BLOCK_BYTES = 1 << 20


def _suits(xp: Xp, x: Array, windows: Sequence[Window]) -> bool:
    """Return whether reducing images in blocks, without their padding, is faster."""
    return (
        is_large(xp, x)
        and len(windows) == 2
        and x.flags.c_contiguous
        and all(w.output and w.dilation == 1 for w in windows)
        and any(w.filter > 1 for w in windows)
    )


def _blocks(x: Array) -> list[tuple[int, int]]:
    """Return the (first, last) images of each block; one block for few images and one thread."""
    if x.nbytes <= 4 * _BLOCK_BYTES and num_threads() == 1:
        return [(0, len(x))]
    count = max(1, _BLOCK_BYTES // max(1, x[0].nbytes))
    return [(first, min(first + count, len(x))) for first in range(0, len(x), count)]


def _reduced(combine: Array, x: Array, windows: Sequence[Window], empty: float) -> Array:
    """Combine every window's cells: first along rows, which are contiguous, then columns."""
    down, across = windows
    width, channels = x.shape[2:]
    blocks = _blocks(x)
    out = np.empty((len(x), down.output, across.output, channels), x.dtype)
    most = max(last - first for first, last in blocks)
    reduce_rows = _reducer(combine, 1, down, empty)
    reduce_columns = _reducer(combine, 2, across, empty)

    def work(begin: int, end: int) -> None:
        buffer = np.empty((most, down.output, width, channels), x.dtype)
        for first, last in blocks[begin:end]:
            rows = buffer[: last - first]
            reduced = out[first:last]
            reduce_rows(x[first:last], rows)
            reduce_columns(rows, reduced)
            if combine is np.maximum and not reduced.min() >= empty:  # NaN hides minus infinity
                np.maximum(reduced, empty, out=reduced)

    shard(len(blocks), 1, work)
    return out


def _reducer(
    combine: Callable[..., Array], axis: int, w: Window, empty: float
) -> Callable[[Array, Array], None]:
    """Return a function that combines cells along one axis into ``out``, without padding."""
    before = (slice(None),) * axis
    pairs = [w.cells_at(index) for index in range(w.filter)]
    everywhere = slice(0, w.output)
    whole = [(*before, cells) for outputs, cells in pairs if outputs == everywhere]
    rest = [
        ((*before, outputs), (*before, cells))
        for outputs, cells in pairs
        if outputs != everywhere and outputs.stop > outputs.start
    ]

    def reduce(x: Array, out: Array) -> None:
        if len(whole) > 1:
            combine(x[whole[0]], x[whole[1]], out=out)
        elif whole:
            out[...] = x[whole[0]]
        else:
            out[...] = empty
        for cells in whole[2:]:
            combine(out, x[cells], out=out)
        for outputs, cells in rest:
            part = out[outputs]
            combine(part, x[cells], out=part)

    return reduce


def max_pool_depth(x: Array, size: int) -> Array:
    """Return the maximum of every group of `size` channels."""
    return x.reshape(*x.shape[:-1], x.shape[-1] // size, size).max(axis=-1)


def winners(xp: Xp, x: Array, windows: Sequence[Window]) -> Array:
    """Return, per output, the number of the window's largest element.

    The first of equal ones wins.
    """
    padded = pad_spatial(xp, x, windows, 1, lowest(x.dtype))
    best: Array = None
    place: Array = None
    real: Array = None
    if padded is not x and (x == lowest(x.dtype)).any():
        # Padding has the same value as these cells, but must not win over them.
        real = pad_spatial(xp, xp.ones((1, *x.shape[1:-1], 1), bool), windows, 1, 0)
    won: Array = None
    by_bits = is_large(xp, x) and real is None and _number_of_cells(windows) < 128
    for number, cells in enumerate(_cells(windows)):
        candidate = padded[cells]
        if best is None:
            best = candidate.copy()
            place = xp.zeros(best.shape, np.int8 if by_bits else np.int32)
            won = None if real is None else xp.broadcast_to(real[cells], best.shape)
            continue
        if by_bits:
            candidate = np.ascontiguousarray(candidate)
            better = candidate > best
            choose(np, better, candidate, best, out=best)
            # The numbers increase from candidate to candidate, so a later winner replaces an
            # earlier one.
            np.maximum(place, better.view(np.int8) * np.int8(number), out=place)
            continue
        better = candidate > best
        if won is not None:
            better |= ~won & real[cells]
            won = won | real[cells]
        xp.copyto(best, candidate, where=better)
        xp.copyto(place, np.int32(number), where=better)
    return place


def _number_of_cells(windows: Sequence[Window]) -> int:
    return math.prod(w.filter for w in windows)


def max_pool_grad(xp: Xp, x: Array, grad: Array, windows: Sequence[Window]) -> Array:
    """Add the gradient of every output to the first of its window's maxima."""
    if (axes := _whole_axes(xp, x, windows)) is not None:
        found = _spread_to_whole_winners(x, grad, axes)
        if found is not None:
            return found
    found = compiled_pooling.maximum_gradient(x, grad, windows) if xp is np else None
    if found is not None:
        return found
    if not _suits(xp, x, windows):
        return spread_to_winners(xp, grad, winners(xp, x, windows), windows, x.shape)
    blocks, total = _blocks(x), np.empty(x.shape, grad.dtype)

    def work(begin: int, end: int) -> None:
        for first, last in blocks[begin:end]:
            some = x[first:last]
            place = winners(np, some, windows)
            total[first:last] = spread_to_winners(np, grad[first:last], place, windows, some.shape)

    shard(len(blocks), 1, work)
    return total


def _spread_to_whole_winners(x: Array, grad: Array, axes: tuple[int, ...]) -> Array | None:
    """Return the gradient of maxima over whole neighbouring axes; None where one may be NaN."""
    if axes != tuple(range(axes[0], axes[0] + len(axes))):
        return None
    before, after = math.prod(x.shape[: axes[0]]), math.prod(x.shape[axes[-1] + 1 :])
    # NumPy's search is fast along the last axis only.
    rows = np.ascontiguousarray(x.reshape(before, -1, after).swapaxes(1, 2))
    place = rows.argmax(axis=-1)
    won = np.take_along_axis(rows, place[..., None], -1)
    if won.dtype.kind not in "iu" and np.isnan(won).any():
        return None
    total = np.zeros((before, rows.shape[-1], after), grad.dtype)
    np.put_along_axis(total, place[:, None], grad.reshape(before, 1, after), 1)
    return total.reshape(x.shape)


def spread_to_winners(
    xp: Xp, grad: Array, place: Array, windows: Sequence[Window], input_shape: Sequence[int]
) -> Array:
    """Add the gradient of every output to the input cell that won."""
    total = xp.zeros((input_shape[0], *(w.padded for w in windows), input_shape[-1]), grad.dtype)
    for number, cells in enumerate(_cells(windows)):
        total[cells] += choose(xp, place == number, grad, grad.dtype.type(0))
    return unpad_spatial(total, windows, 1)


def spread_to_equals(
    xp: Xp, x: Array, output: Array, grad: Array, windows: Sequence[Window]
) -> Array:
    """Add the gradient of every output to all cells of its window that are nearly equal to it."""
    near = x.dtype.type(1e-5)
    if xp is np:
        found = compiled_pooling.spread_to_equals(x, output, grad, windows, near)
        if found is not None:
            return found
    padded = pad_spatial(xp, x, windows, 1, lowest(x.dtype))
    total = xp.zeros(padded.shape, grad.dtype)
    for cells in _cells(windows):
        total[cells] += xp.where(xp.abs(padded[cells] - output) < near, grad, grad.dtype.type(0))
    return unpad_spatial(total, windows, 1)


def take_from_equals(
    xp: Xp, x: Array, output: Array, values: Array, windows: Sequence[Window]
) -> Array:
    """Return, per output, the value at its window's first cell that equals the output, or zero."""
    padded, found = pad_spatial(xp, x, windows, 1, 0), pad_spatial(xp, values, windows, 1, 0)
    real = pad_spatial(xp, xp.ones((1, *x.shape[1:-1], 1), bool), windows, 1, 0)
    out = xp.zeros(output.shape, values.dtype)
    for cells in reversed(list(_cells(windows))):
        xp.copyto(out, found[cells], where=(padded[cells] == output) & real[cells])
    return out


def take_from_winners(xp: Xp, values: Array, place: Array, windows: Sequence[Window]) -> Array:
    """Return, per output, the value at the input cell that won."""
    padded = pad_spatial(xp, values, windows, 1, 0)
    out = xp.zeros(place.shape, values.dtype)
    for number, cells in enumerate(_cells(windows)):
        xp.copyto(out, padded[cells], where=place == number)
    return out


def flat_places(
    xp: Xp, place: Array, windows: Sequence[Window], input_shape: Sequence[int], with_batch: bool
) -> Array:
    """Return winners' positions in the flattened image, or in the flattened batch of images."""
    rank = len(windows)
    coordinates = xp.unravel_index(place, tuple(w.filter for w in windows))
    position = xp.zeros(place.shape, np.int64)
    for axis, (w, inner) in enumerate(zip(windows, coordinates, strict=True)):
        origin = xp.arange(w.output) * w.stride - w.pad_before
        lifted = origin.reshape((1,) * (axis + 1) + (-1,) + (1,) * (rank - axis))
        position = position * w.size + (lifted + inner * w.dilation)
    position = position * input_shape[-1] + xp.arange(input_shape[-1])
    if with_batch:
        image = int(np.prod(input_shape[1:]))
        position += (xp.arange(input_shape[0]) * image).reshape((-1,) + (1,) * (rank + 1))
    return position


def counts(xp: Xp, windows: Sequence[Window], dtype: Attr) -> Array:
    """Return the number of cells without padding in each window: [outputs..., 1]."""
    if xp is np:
        return _known_counts(tuple(windows), np.dtype(dtype))
    return _counts(xp, windows, dtype)


@lru_cache(maxsize=256)
def _known_counts(windows: tuple[Window, ...], dtype: Attr) -> Array:
    number = _counts(np, windows, dtype)
    number.flags.writeable = False
    return number


def _counts(xp: Xp, windows: Sequence[Window], dtype: Attr) -> Array:
    total = xp.ones((1,) * (len(windows) + 1), dtype)
    for axis, w in enumerate(windows):
        first = xp.arange(w.output) * w.stride - w.pad_before
        number = xp.minimum(first + w.filter, w.size) - xp.maximum(first, 0)
        shape = [1] * (len(windows) + 1)
        shape[axis] = -1
        total = total * number.astype(dtype).reshape(shape)
    return total


def avg_pool(xp: Xp, x: Array, windows: Sequence[Window]) -> Array:
    """Return the mean of every window."""
    dtype = x.dtype
    wide = x.astype(np.float32) if dtype.itemsize == 2 else x
    if (axes := _whole_axes(xp, wide, windows)) is not None:
        total = _whole_sum(wide, axes).reshape(len(x), *(w.output for w in windows), x.shape[-1])
        total /= wide.dtype.type(_number_of_cells(windows))
        return total.astype(dtype, copy=False)
    total = compiled_pooling.total(wide, windows) if xp is np else None
    if total is not None or _suits(xp, wide, windows):
        if total is None:
            total = _reduced(np.add, wide, windows, 0)
        number = _row_of(tuple(windows), wide.dtype, wide.shape[-1])
        rows = total.reshape(len(total), -1) if number.ndim else total
        np.divide(rows, number, out=rows)
        return total.astype(dtype, copy=False)
    total = pad_spatial(xp, wide, windows, 1, 0)
    for axis, w in enumerate(windows, 1):
        out = _along(total, axis, w, 0)
        if w.filter > 1:
            out = out + _along(total, axis, w, 1)
            for index in range(2, w.filter):
                out += _along(total, axis, w, index)
        total = out
    return (total / counts(xp, windows, wide.dtype)).astype(dtype, copy=False)


def _whole_sum(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum over whole axes."""
    if axes == tuple(range(1, x.ndim - 1)):
        return sum_over(np, x.reshape(len(x), -1, x.shape[-1]), (1,))
    return sum_over(np, x, axes)


# Rows of more elements are made anew each time.
_MOST_KEPT = 1 << 18


def _row_of(windows: tuple[Window, ...], dtype: Attr, channels: int) -> Array:
    """Return the count of each element of an image as one row; a number if all are equal."""
    is_kept = math.prod(w.output for w in windows) * channels <= _MOST_KEPT
    return (_known_row if is_kept else _known_row.__wrapped__)(windows, np.dtype(dtype), channels)


@lru_cache(maxsize=32)
def _known_row(windows: tuple[Window, ...], dtype: Attr, channels: int) -> Array:
    number = _known_counts(windows, dtype)
    if (number == number.flat[0]).all():
        return np.asarray(number.flat[0])
    row = np.repeat(number.reshape(-1), channels)
    row.flags.writeable = False
    return row


def _spread_axis(x: Array, axis: int, w: Window) -> Array:
    """Add every element to the cells of its window along one axis, without the padding."""
    before = (slice(None),) * axis
    shape = (*x.shape[:axis], w.size, *x.shape[axis + 1 :])
    is_covered = w.filter == w.stride and w.padded == w.output * w.stride
    total = np.empty(shape, x.dtype) if is_covered else np.zeros(shape, x.dtype)
    for index in range(w.filter):
        outputs, cells = w.cells_at(index)
        if is_covered:
            total[(*before, cells)] = x[(*before, outputs)]
        else:
            total[(*before, cells)] += x[(*before, outputs)]
    return total


def avg_pool_grad(
    xp: Xp, grad: Array, windows: Sequence[Window], input_shape: Sequence[int]
) -> Array:
    """Distribute every output's gradient equally over the cells of its window."""
    dtype = grad.dtype
    wide = grad.astype(np.float32) if dtype.itemsize == 2 else grad
    share = wide / counts(xp, windows, wide.dtype)
    if is_large(xp, share) and all(w.output for w in windows):
        for axis, w in reversed(list(enumerate(windows, 1))):
            share = _spread_axis(share, axis, w)
        return share.astype(dtype, copy=False)
    total = xp.zeros((input_shape[0], *(w.padded for w in windows), input_shape[-1]), wide.dtype)
    for cells in _cells(windows):
        total[cells] += share
    return unpad_spatial(total, windows, 1).astype(dtype, copy=False)
