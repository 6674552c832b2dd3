"""Kernels of convolutions: patches of the image, as rows of a matrix, times the filter.

All functions take channels last and any number of spatial dimensions. Patches are a strided view
that is copied into one buffer reused from image to image, so that the matrix product finds its
operand in cache; a filter of one element with stride 1 needs no copy. Groups split the channels;
float16 and bfloat16 are computed in float32.

With `tfnb[fast]`, routines without any patches compute convolutions of float32
(``compiled_conv.py``), or transform them (``compiled_winograd.py``).  Three other methods are
faster: ``winograd.py``; gradients with respect to the input as convolutions of the output's
gradient with the rotated filter (``_turned``, with strides ``_by_blocks``); and dimensions that one
window covers, such as the width of a sentence's embeddings, count as channels.
Images are divided among threads.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tfnb.core.host_memory import check_fits
from tfnb.core.process.later import later
from tfnb.core.process.records import replace
from tfnb.core.process.work_sharder import shard
from tfnb.ops.base.large_arrays import is_large
from tfnb.ops.base.piecewise_products import multiply_of
from tfnb.ops.base.swapped import GAP, needs_gap, swapped
from tfnb.ops.conv import compiled_conv, winograd
from tfnb.ops.conv.conv_plans import padding_of, ready_for
from tfnb.ops.conv.windows import (
    Window,
    kept_window,
    pad_spatial,
    strided_view,
    unpad_spatial,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_registry import Following
    from tfnb.ops.conv import compiled_filter_gradient, compiled_winograd, folded_conv
else:
    compiled_filter_gradient = later("tfnb.ops.conv.compiled_filter_gradient", in_step=True)
    compiled_winograd = later("tfnb.ops.conv.compiled_winograd", in_step=True)
    folded_conv = later("tfnb.ops.conv.folded_conv", in_step=True)

# The patches of as many images as fit into this many bytes are multiplied at once.
_BUFFER_BYTES = 1 << 21
# Few images are cut into up to this many blocks, so that threads share them. Blocks depend on the
# shapes only, so that the result is the same for any number of threads.
_MOST_SHARED = 4
# The fewest multiplications, and rows of patches, of these blocks: less work is not worth a thread,
# and products of fewer rows are slow.
_LEAST_SHARED = 1 << 23
_LEAST_ROWS = 128


def widened(x: Array) -> Array:
    """Return an array in the dtype of sums: float32 for the two-byte floats."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _patches_view(xp: Xp, padded: Array, windows: Sequence[Window]) -> Array:
    """Return a view of the patch at every window position.

    Its axes are [batch, outputs..., filter..., channels].
    """
    strides = padded.strides
    spatial = strides[1:-1]
    shape = (
        padded.shape[0],
        *(w.output for w in windows),
        *(w.filter for w in windows),
        padded.shape[-1],
    )
    view_strides = (
        strides[0],
        *(s * w.stride for s, w in zip(spatial, windows, strict=True)),
        *(s * w.dilation for s, w in zip(spatial, windows, strict=True)),
        strides[-1],
    )
    return strided_view(xp, padded, shape, view_strides)


def is_pointwise(windows: Sequence[Window]) -> bool:
    """Return whether every position sees one cell: its own."""
    return all(
        w.filter == 1 and w.stride == 1 and not w.pad_before and not w.pad_after for w in windows
    )


class _Patches:
    """The patches of images as rows of matrices, for a few images, or rows of images, at a time.

    Attributes:
      blocks: (the part of the images, first row, row after the last) of each matrix.
    """

    def __init__(self, xp: Xp, x: Array, windows: Sequence[Window], out_channels: int) -> None:
        self._xp = xp
        channels = x.shape[-1]
        self._depth = math.prod(w.filter for w in windows) * channels
        self._is_pointwise = is_pointwise(windows)
        # Very short rows are copied as columns.
        self._by_columns = (
            is_large(xp, x) and len(windows) == 2 and windows[-1].filter * channels <= _SHORT_ROW
        )
        if self._is_pointwise:
            self._view = x
        else:
            self._view = _patches_view(xp, pad_spatial(xp, x, windows, 1, 0), windows)
        outputs = [w.output for w in windows]
        self.blocks = self._cut(len(x), outputs, x.itemsize, _shares(x, windows, out_channels))

    def _cut(
        self, batch: int, outputs: list[int], itemsize: int, shares: int
    ) -> list[tuple[Array, int, int]]:
        positions = math.prod(outputs)
        row_bytes = self._depth * itemsize
        image_bytes = positions * row_bytes
        # A product takes the whole filter into its caches, however few the rows are.
        room = max(_BUFFER_BYTES, _LEAST_ROWS * row_bytes)
        is_whole = image_bytes <= room and batch >= shares
        if is_whole or len(outputs) < 2 or self._xp is not np:
            count = max(1, min(room // max(1, image_bytes), -(-batch // shares)))
            starts = [(n, min(n + count, batch)) for n in range(0, batch, count)]
            return [(slice(m, n), m * positions, n * positions) for m, n in starts]
        per_row = positions // outputs[0]
        count = max(1, room // (per_row * row_bytes))
        count = min(count, -(-outputs[0] // -(-shares // batch)))
        blocks = []
        for image, first in product(range(batch), range(0, outputs[0], count)):
            last = min(first + count, outputs[0])
            begin = image * positions
            index = (image, slice(first, last))
            blocks.append((index, begin + first * per_row, begin + last * per_row))
        return blocks

    def matrices(self, begin: int, end: int) -> Iterator[tuple[slice, Array]]:
        """Return (the rows' range among all rows, matrix) of some blocks; the buffer is reused."""
        blocks = self.blocks[begin:end]
        most = max((last - first for _, first, last in blocks), default=0)
        buffer = None
        if not self._is_pointwise:
            buffer = self._xp.empty(most * self._depth, self._view.dtype)
        for index, first, last in blocks:
            part, count = self._view[index], last - first
            if buffer is None:
                yield slice(first, last), part.reshape(count, self._depth)
                continue
            target = buffer[: count * self._depth]
            if self._by_columns:
                turned = part.transpose(*range(part.ndim - 3, part.ndim), *range(part.ndim - 3))
                target.reshape(turned.shape)[...] = turned
                yield slice(first, last), target.reshape(self._depth, count).T
            else:
                target.reshape(part.shape)[...] = part
                yield slice(first, last), target.reshape(count, self._depth)


def _few_patches(x: Array, windows: Sequence[Window], out_channels: int) -> Array | None:
    """Return the patches of all images as rows of one matrix, at once.

    None if they are divided into blocks or shared by threads, or if `_Patches` is faster.
    """
    if len(windows) != 2 or is_pointwise(windows):
        return None
    down, across = windows
    batch, channels = x.shape[0], x.shape[-1]
    height, width, high, wide = down.output, across.output, down.filter, across.filter
    rows, depth = batch * height * width, high * wide * channels
    if rows * depth * x.itemsize > _BUFFER_BYTES or wide * channels <= _SHORT_ROW:
        return None
    if min(rows * depth * out_channels // _LEAST_SHARED, rows // _LEAST_ROWS) > 1:
        return None
    padded = pad_spatial(np, x, windows, 1, 0)
    image, row, column, item = padded.strides
    shape = (batch, height, width, high, wide, channels)
    strides = (
        image,
        row * down.stride,
        column * across.stride,
        row * down.dilation,
        column * across.dilation,
        item,
    )
    patches = np.empty(shape, x.dtype)
    patches[...] = strided_view(np, padded, shape, strides)
    return patches.reshape(rows, depth)


def _shares(x: Array, windows: Sequence[Window], out_channels: int) -> int:
    """Return the number of blocks of a convolution that are worth a thread each, at least 1."""
    rows = len(x) * math.prod(w.output for w in windows)
    depth = math.prod(w.filter for w in windows) * x.shape[-1]
    most: int = min(rows * depth * out_channels // _LEAST_SHARED, rows // _LEAST_ROWS)
    return max(1, min(most, _MOST_SHARED))


# Maximum elements of a short filter row.
_SHORT_ROW = 8


def _in_pieces(xp: Xp, patches: _Patches, work: Callable[[int, int], object]) -> None:
    """Call ``work(begin, end)`` for ranges of blocks, on several threads on a CPU."""
    if xp is np:
        shard(len(patches.blocks), 1, work)
    else:
        work(0, len(patches.blocks))


# The window of a dimension whose cells count as channels.
_ONE_CELL = Window(1, 1, 1, 1, 1, 0, 0)


def _num_covered(windows: Sequence[Window], channels: int, filter_shape: Sequence[int]) -> int:
    """Return how many of the last spatial dimensions are covered by one window position.

    0 if there is nothing to gain, or the channels are in groups.
    """
    count, cells = 0, 1
    for w in reversed(windows):
        if not w.size == w.filter == w.padded or w.dilation != 1:
            break
        count, cells = count + 1, cells * w.size
    return count if cells > 1 and filter_shape[-2] == channels else 0


def _merged(shape: Sequence[int], count: int, others: int) -> tuple[int, ...]:
    """Return a shape with `count` spatial dimensions as part of the channels, 1 in their place.

    Args:
      shape: of images or of a filter.
      count: the number of dimensions.
      others: the number of dimensions behind the channels.
    """
    end = len(shape) - others
    first = end - 1 - count
    ones = (1,) * count
    return (*shape[:first], *ones, math.prod(shape[first:end]), *shape[end:])


def _other_windows(windows: Sequence[Window], count: int) -> list[Window]:
    return [*windows[: len(windows) - count], *[_ONE_CELL] * count]


def _group_slices(channels: int, groups: int) -> list[slice]:
    size = channels // groups
    return [slice(g * size, (g + 1) * size) for g in range(groups)]


def forward(xp: Xp, x: Array, kernel: Array, windows: Sequence[Window]) -> Array:
    """Return the convolution: [batch, outputs..., out channels]."""
    ready = ready_for("", x, kernel, windows) if xp is np else None
    if ready is not None:
        return ready.convolve(x, kernel)
    covered = _num_covered(windows, x.shape[-1], kernel.shape)
    if covered:
        x, kernel = (
            one.reshape(_merged(one.shape, covered, others))
            for one, others in ((x, 0), (kernel, 1))
        )
        return forward(xp, x, kernel, _other_windows(windows, covered))
    dtype = x.dtype
    x, kernel = widened(x), widened(kernel)
    out_channels = kernel.shape[-1]
    groups = x.shape[-1] // kernel.shape[-2] if kernel.shape[-2] else 1
    outputs = tuple(w.output for w in windows)
    out = xp.empty((x.shape[0], *outputs, out_channels), x.dtype)
    if out.size == 0:
        return out.astype(dtype, copy=False)
    if x.size == 0 or kernel.size == 0:
        out[...] = 0
        return out.astype(dtype, copy=False)
    if groups == 1:
        _forward_into(xp, x, kernel, windows, out)
    else:
        for inner, outer in zip(
            _group_slices(x.shape[-1], groups), _group_slices(out_channels, groups), strict=True
        ):
            part = xp.empty((*out.shape[:-1], outer.stop - outer.start), x.dtype)
            _forward_into(xp, x[..., inner], kernel[..., outer], windows, part)
            out[..., outer] = part
    return out.astype(dtype, copy=False)


def forward_biased(
    x: Array, kernel: Array, following: Following, windows: Sequence[Window]
) -> Array | None:
    """Return a convolution and what follows it, in one pass by compiled routines.

    None where they do not fit, or are not ready, and the nodes are as fast as a convolution alone.
    Results have the bits of a convolution by the same routines and of separate steps behind it.

    Args:
      x: the images, see :func:`forward`.
      kernel: the filter.
      following: what follows; without routines, see ``folded_conv.py``.
      windows: the windows of the spatial dimensions.
    """
    channels = kernel.shape[-1]
    if following.is_plain and not following.is_nothing:
        size = len(x) * math.prod([w.output for w in windows]) * channels
        return folded_conv.convolve(
            lambda taps: forward(np, x, taps, windows), kernel, following, [channels], size
        )
    after = compiled_conv.after_of(following, channels)
    if after is None:
        return None
    ready = ready_for(after.form, x, kernel, windows)
    if ready is not None:
        return ready.convolve(x, kernel, after[1:])
    if not compiled_conv.suits(x, kernel.shape, kernel.dtype):
        return None
    if _num_covered(windows, x.shape[-1], kernel.shape):
        return None
    out = np.empty((len(x), *(w.output for w in windows), channels), np.float32)
    if not out.size:
        return None
    if _forward_compiled(x, kernel, windows, out, after):
        return out
    if not following.is_nothing:
        return None
    if winograd.suits(np, x, kernel.shape, [replace(w, dilation=1) for w in windows]):
        return None  # Winograd's transformation of the blocks is faster
    return forward(np, x, kernel, windows)


def _forward_compiled(
    x: Array,
    kernel: Array,
    windows: Sequence[Window],
    out: Array,
    after: compiled_conv.After | None = None,
) -> bool:
    """Write a convolution, and what follows, into `out`; return whether routines are ready."""
    if compiled_winograd.suits(kernel.shape, windows, out):
        is_finite = compiled_winograd.forward(x, kernel, windows, out, after)
        if is_finite is None or is_finite:
            return is_finite is not None
        return compiled_conv.convolve(x, kernel, windows, out, after)
    return compiled_conv.convolve(x, kernel, windows, out, after, is_kept=True)


# Matrices with this number of elements are multiplied where they lie, in the order of columns:
# a copy in the order of their rows takes longer than it saves.
_LEAST_VIEWED = 1 << 15


def _matrix_of(xp: Xp, kernel: Array) -> Array:
    """Return a filter as a matrix of one column for each output channel."""
    matrix = kernel.reshape(-1, kernel.shape[-1])
    if xp is np and matrix.flags.f_contiguous and matrix.size >= _LEAST_VIEWED:
        return matrix
    return xp.ascontiguousarray(matrix)


# Over at most this number of positions BLAS multiplies a filter of at least this many elements, in
# the order of its columns, faster than routines that copy it.
_MOST_POSITIONS_OF_VIEWED, _LEAST_OF_FEW_POSITIONS = 256, 1 << 18
# BLAS computes as many columns at once.
_COLUMN_UNIT = 16


def _is_for_blas(
    xp: Xp, kernel: Array, out_backprop: Array, channels: int, windows: Sequence[Window]
) -> bool:
    """Return whether the input's gradient is a product of few positions and a large filter."""
    return (
        is_large(xp, kernel, _LEAST_OF_FEW_POSITIONS)
        and out_backprop.size <= _MOST_POSITIONS_OF_VIEWED * kernel.shape[-1]
        and kernel.shape[-2] == channels
        and out_backprop.size > 0
        and is_pointwise(windows)
    )


def _multiply_shared(rows: Array, matrix: Array, out: Array) -> None:
    """Write the product of some rows and a matrix, whose order is that of its rows or columns.

    The columns are cut, so that threads share them: the rows may be few.
    """
    inner, columns = matrix.shape
    parts = max(1, min(_MOST_SHARED, len(rows) * inner * columns // _LEAST_SHARED))
    each = -(-columns // (parts * _COLUMN_UNIT)) * _COLUMN_UNIT
    multiply = multiply_of(np)

    def work(begin: int, end: int) -> None:
        for first in range(begin * each, min(end * each, columns), each):
            some = slice(first, first + each)
            multiply(rows, matrix[:, some], out=out[:, some])

    shard(-(-columns // each), 1, work)


def _forward_into(xp: Xp, x: Array, kernel: Array, windows: Sequence[Window], out: Array) -> None:
    is_suited = xp is np and compiled_conv.suits(x, kernel.shape, kernel.dtype)
    if is_suited and _forward_compiled(x, kernel, windows, out):
        return
    is_small = winograd.suits(xp, x, kernel.shape, windows)
    if is_small and winograd.forward(x, kernel, windows, out):
        return
    matrix = _matrix_of(xp, kernel)
    rows = out.reshape(-1, out.shape[-1])
    is_one = is_pointwise(windows) and x.nbytes <= _BUFFER_BYTES
    if is_one and _shares(x, windows, out.shape[-1]) == 1:
        if xp is np:
            _multiply_shared(x.reshape(-1, x.shape[-1]), matrix, rows)
        else:
            xp.matmul(x.reshape(-1, x.shape[-1]), matrix, out=rows)
        return
    few = _few_patches(x, windows, out.shape[-1]) if xp is np else None
    if few is not None:
        _multiply_shared(few, matrix, rows)
        return
    patches = _Patches(xp, x, windows, out.shape[-1])
    multiply = multiply_of(xp)

    def work(begin: int, end: int) -> None:
        for where, seen in patches.matrices(begin, end):
            multiply(seen, matrix, out=rows[where])

    _in_pieces(xp, patches, work)


def _compiled_filter_gradient(
    x: Array, out_backprop: Array, filter_shape: Sequence[int], windows: Sequence[Window]
) -> Array | None:
    """Return the gradient of a filter by compiled routines; None if they are not ready."""
    if compiled_winograd.suits(filter_shape, windows, out_backprop):
        found = compiled_winograd.filter_gradient(x, out_backprop, filter_shape, windows)
        if found is None or np.isfinite(found).all():
            return found
    if is_pointwise(windows) and not compiled_filter_gradient.suits_one_cell(*filter_shape[-2:]):
        return None
    return compiled_filter_gradient.filter_gradient(x, out_backprop, filter_shape, windows)


def backprop_filter(
    xp: Xp, x: Array, out_backprop: Array, filter_shape: Sequence[int], windows: Sequence[Window]
) -> Array:
    """Return the gradient of a convolution with respect to its filter."""
    covered = _num_covered(windows, x.shape[-1], filter_shape)
    if covered:
        check_fits(xp, filter_shape, x.dtype, is_given=True)
        x, others = x.reshape(_merged(x.shape, covered, 0)), _other_windows(windows, covered)
        merged = _merged(filter_shape, covered, 1)
        return backprop_filter(xp, x, out_backprop, merged, others).reshape(tuple(filter_shape))
    dtype = x.dtype
    x, out_backprop = widened(x), widened(out_backprop)
    check_fits(xp, filter_shape, x.dtype, is_given=True)
    grad = xp.zeros(tuple(filter_shape), x.dtype)
    if x.size == 0 or out_backprop.size == 0 or grad.size == 0:
        return grad.astype(dtype, copy=False)
    is_suited = xp is np and compiled_conv.suits(x, filter_shape, out_backprop.dtype)
    # A single output channel would leave the other lanes of vectors empty.
    if is_suited and filter_shape[-1] > 1:
        found = _compiled_filter_gradient(x, out_backprop, filter_shape, windows)
        if found is not None:
            return found.astype(dtype, copy=False)
    if winograd.suits(xp, x, filter_shape, windows):
        found = winograd.backprop_filter(x, out_backprop, windows)
        if found is not None:
            return found.astype(dtype, copy=False)
    groups = x.shape[-1] // filter_shape[-2]
    inners, outers = (
        _group_slices(x.shape[-1], groups),
        _group_slices(out_backprop.shape[-1], groups),
    )
    for inner, outer in zip(inners, outers, strict=True):
        rows = out_backprop[..., outer].reshape(-1, outer.stop - outer.start)
        seen = x if groups == 1 else x[..., inner]
        few = _few_patches(seen, windows, rows.shape[-1]) if xp is np else None
        if few is not None:
            total = multiply_of(xp)(few.T, rows)
        else:
            patches = _Patches(xp, seen, windows, rows.shape[-1])
            total = _products_with_patches(xp, patches, rows)
        grad[..., outer] = total.reshape(*filter_shape[:-1], -1)
    return grad.astype(dtype, copy=False)


# Maximum parts of the sum over all patches, independent of the number of threads.
_PARTS = 8


def _products_with_patches(xp: Xp, patches: _Patches, rows: Array) -> Array:
    """Return the sum of the products of transposed patches and rows."""
    blocks = len(patches.blocks)
    count = min(blocks, _PARTS if xp is np else 1)
    parts: list[Array] = [None] * count
    multiply = multiply_of(xp)

    def work(begin: int, end: int) -> None:
        for number in range(begin, end):
            total: Array = None
            cuts = blocks * number // count, blocks * (number + 1) // count
            for where, seen in patches.matrices(*cuts):
                part = multiply(seen.T, rows[where])
                total = part if total is None else xp.add(total, part, out=total)
            parts[number] = total

    if xp is np:
        shard(count, 1, work)
    else:
        work(0, count)
    for part in parts[1:]:
        xp.add(parts[0], part, out=parts[0])
    return parts[0]


def backprop_input(
    xp: Xp,
    input_shape: Sequence[int],
    kernel: Array,
    out_backprop: Array,
    windows: Sequence[Window],
) -> Array:
    """Return the gradient of a convolution with respect to its input.

    Every window position distributes its gradient times the filter over the cells it covers; that
    product is computed for all positions at once, then added one filter element after the other.
    """
    covered = _num_covered(windows, input_shape[-1], kernel.shape)
    if covered:
        kernel, others = (
            kernel.reshape(_merged(kernel.shape, covered, 1)),
            _other_windows(windows, covered),
        )
        merged = _merged(input_shape, covered, 0)
        return backprop_input(xp, merged, kernel, out_backprop, others).reshape(tuple(input_shape))
    dtype = kernel.dtype
    kernel, out_backprop = widened(kernel), widened(out_backprop)
    if _is_for_blas(xp, kernel, out_backprop, input_shape[-1], windows):
        total = np.empty(tuple(input_shape), kernel.dtype)
        rows = out_backprop.reshape(-1, kernel.shape[-1])
        matrix = kernel.reshape(kernel.shape[-2:]).T
        _multiply_shared(rows, matrix, total.reshape(-1, input_shape[-1]))
        return total.astype(dtype, copy=False)
    if xp is np and keeps_zeros(kernel, windows):
        found = _by_convolution(input_shape, kernel, out_backprop, windows)
        if found is not None:
            return found.astype(dtype, copy=False)
    batch, channels = input_shape[0], input_shape[-1]
    padded_shape = (batch, *(w.padded for w in windows), channels)
    total = xp.zeros(padded_shape, kernel.dtype)
    if total.size and out_backprop.size and kernel.size:
        groups = channels // kernel.shape[-2]
        for inner, outer in zip(
            _group_slices(channels, groups),
            _group_slices(out_backprop.shape[-1], groups),
            strict=True,
        ):
            _spread(xp, out_backprop[..., outer], kernel[..., outer], windows, total[..., inner])
    return unpad_spatial(total, windows, 1).astype(dtype, copy=False)


def backprop_input_biased(
    input_shape: Sequence[int],
    kernel: Array,
    out_backprop: Array,
    following: Following,
    windows: Sequence[Window],
) -> Array | None:
    """Return the input's gradient and what follows it in one pass, as `forward_biased` does.

    The forward pass of a transposed convolution is such a gradient.
    """
    channels = input_shape[-1]
    if kernel.shape[-2] != channels or 0 in input_shape:
        return None
    if following.is_plain:
        return folded_conv.convolve(
            lambda taps: backprop_input(np, input_shape, taps, out_backprop, windows),
            kernel, following, [channels, 1], math.prod(input_shape),
        )  # fmt: skip
    after = compiled_conv.after_of(following, channels)
    if after is None or _num_covered(windows, channels, kernel.shape):
        return None
    if _is_for_blas(np, kernel, out_backprop, channels, windows):
        return None
    if _inner_phases(tuple(windows)) is None or not keeps_zeros(kernel, windows):
        return None
    return _by_phases(input_shape, kernel, out_backprop, windows, after)


def keeps_zeros(kernel: Array, windows: Sequence[Window]) -> bool:
    """Return whether a filter times the zeros around an output's gradient is zero.

    An infinity or NaN would reach the cells near the border, which it does not meet in TensorFlow.
    """
    return all(w.filter == 1 for w in windows) or _is_finite(kernel)


def _is_finite(x: Array) -> bool:
    """Return whether all numbers are finite; False also where the sum of squares is not."""
    total = np.vdot(x, x) if x.flags.c_contiguous else np.add.reduce(x, None)
    return math.isfinite(total)


def _by_convolution(
    input_shape: Sequence[int], kernel: Array, out_backprop: Array, windows: Sequence[Window]
) -> Array | None:
    """Return the input's gradient as convolutions of the output's; None where that is slower."""
    if kernel.shape[-2] == input_shape[-1]:
        found = _by_phases(input_shape, kernel, out_backprop, windows)
        if found is not None:
            return found
    turned = _turned(np, kernel, out_backprop, windows, input_shape[-1])
    if turned is not None:
        return forward(np, out_backprop, *turned)
    if not _suits_blocks(np, kernel, out_backprop, windows, input_shape[-1]):
        return None
    # Blocks have elements of zero where strides do not divide the filter.
    if any(w.filter % w.stride for w in windows) and not _is_finite(out_backprop):
        return None
    return _by_blocks(input_shape, kernel, out_backprop, windows)


# From this number of elements of the output's gradient on, one convolution costs less than adding
# the products of each element of the filter.
_LEAST_GRADIENTS = 256
# With fewer channels of the input, the products of the rotated filter are too narrow.
_LEAST_TURNED = 8


def _turned(
    xp: Xp, kernel: Array, out_backprop: Array, windows: Sequence[Window], channels: int
) -> tuple[Array, list[Window]] | None:
    """Return the filter, and its windows, for the input's gradient as one convolution.

    None where strides are above 1, and where distributing the products is faster.
    """
    if not is_large(xp, out_backprop, _LEAST_GRADIENTS) or not kernel.size:
        return None
    if kernel.shape[-2] != channels or any(w.stride > 1 for w in windows):
        return None
    phases = gradient_phases(windows) if channels >= _LEAST_TURNED else None
    if phases is None or not phases[0].is_whole:
        return None
    taps = kernel[phases[0].taps]
    if is_pointwise(phases[0].windows) and taps.size >= _LEAST_VIEWED:
        return taps.swapaxes(-1, -2), phases[0].windows
    return swapped(np, taps), phases[0].windows


# What the two ways to compute a gradient with strides cost in nanoseconds: multiplications per
# nanosecond, the addition or copy of an element, and what a call costs.
_RATE_OF_PRODUCTS, _RATE_OF_BLOCKS = 45, 35
_ADDED, _ADDED_IN_SHORT_ROWS, _COPIED = 2.0, 6.0, 0.6
_CALL_FOR_ELEMENT, _CALLS_FOR_BLOCKS = 1500, 30_000


def _suits_blocks(
    xp: Xp, kernel: Array, out_backprop: Array, windows: Sequence[Window], channels: int
) -> bool:
    """Return whether `_by_blocks` can compute the input's gradient, and is faster than `_spread`.

    It multiplies with zeros where strides do not divide the filter, but adds nothing into cells,
    which costs most with few channels.
    """
    if not is_large(xp, out_backprop, _LEAST_GRADIENTS) or not kernel.size:
        return False
    if kernel.shape[-2] != channels or any(w.dilation > 1 or w.stride > w.filter for w in windows):
        return False
    out_channels = kernel.shape[-1]
    positions = out_backprop.size // out_channels
    elements = math.prod(w.filter for w in windows)
    taps = math.prod(-(-w.filter // w.stride) for w in windows)
    block = math.prod(w.stride for w in windows) * channels
    added = _ADDED_IN_SHORT_ROWS if 1 < channels < _LEAST_TURNED else _ADDED
    spread = elements * channels * (out_channels / _RATE_OF_PRODUCTS + added)
    blocks = taps * out_channels * (block / _RATE_OF_BLOCKS + _COPIED)
    saved: float = positions * (spread - blocks) + _CALL_FOR_ELEMENT * elements
    return saved > _CALLS_FOR_BLOCKS


def _by_blocks(
    input_shape: Sequence[int], kernel: Array, out_backprop: Array, windows: Sequence[Window]
) -> Array:
    """Return the input's gradient, with strides, by one convolution with stride 1.

    The input is cut into blocks of as many cells as the strides. All cells of a block meet the same
    window positions, with different elements of the filter: they are the channels of a convolution
    of the output's gradient, and become cells afterwards. Where a cell meets fewer positions than
    others, the elements are zeros.
    """
    strides = tuple(w.stride for w in windows)
    channels, out_channels = kernel.shape[-2:]
    seen, cells, numbers = [], [], []
    for w in windows:
        number = -(-w.filter // w.stride)  # of positions that a block meets
        first = min(w.pad_before // w.stride, number - 1)
        last = max(-(-(w.pad_before + w.size) // w.stride), w.output)
        start = w.pad_before - first * w.stride
        cells.append(slice(start, start + w.size))
        numbers.append(number)
        before, after = number - 1 - first, last - w.output
        seen.append(kept_window(Window(w.output, number, 1, 1, last - first, before, after)))
    rank = len(windows)
    sides = (n * s for n, s in zip(numbers, strides, strict=True))
    shape = (*sides, channels, out_channels)
    gap = GAP if needs_gap(shape) else 0
    whole = np.zeros((*shape[:-1], out_channels + gap), kernel.dtype)
    whole[..., :out_channels][tuple(slice(size) for size in kernel.shape[:rank])] = kernel
    # [number, stride] of each dimension, the last position first.
    whole = whole.reshape(
        *(size for pair in zip(numbers, strides, strict=True) for size in pair),
        channels,
        out_channels + gap,
    )[..., :out_channels]
    whole = whole[(slice(None, None, -1), slice(None)) * rank]
    taps, offsets = range(0, 2 * rank, 2), range(1, 2 * rank, 2)
    matrix = whole.transpose(*taps, 2 * rank + 1, *offsets, 2 * rank)
    matrix = matrix.reshape(*numbers, out_channels, math.prod(strides) * channels)
    found = forward(np, out_backprop, matrix, seen)
    blocks = found.shape[1:-1]
    found = found.reshape(len(found), *blocks, *strides, channels)
    pairs = (axis for one in range(1, rank + 1) for axis in (one, one + rank))
    found = found.transpose(0, *pairs, 2 * rank + 1)
    inside = (slice(None), *cells)
    return found.reshape(
        len(found), *(n * s for n, s in zip(blocks, strides, strict=True)), channels
    )[inside]


class _Phases(NamedTuple):
    """The phases of an input's gradient, and the padding of the output's gradient for them all.

    Attributes:
      windows: the padding: windows of one cell that meet every cell.
      parts: the cells of the input, the elements of the filter, the part of the padded gradient
        and its windows of each phase.  Windows have padding if there is one phase, else not.
    """

    windows: tuple[Window, ...]
    parts: list[tuple[tuple[slice, ...], tuple[slice, ...], tuple[slice, ...], list[Window]]]


def _by_phases(
    input_shape: Sequence[int],
    kernel: Array,
    out_backprop: Array,
    windows: Sequence[Window],
    after: compiled_conv.After | None = None,
) -> Array | None:
    """Return the input's gradient by compiled convolutions; None where they do not fit.

    Each writes the cells of its phase, and what follows.
    """
    swapped = kernel.swapaxes(-1, -2)
    if not compiled_conv.suits(out_backprop, swapped.shape, kernel.dtype):
        return None
    phases = _inner_phases(tuple(windows))
    if phases is None:
        return None
    if swapped.shape[-1] == 1 and not all(
        compiled_conv.suits_few(swapped[taps].shape, where) for _, taps, _, where in phases.parts
    ):
        return None
    total = np.empty(tuple(input_shape), kernel.dtype)
    padded = None
    for cells, taps, part, where in phases.parts:
        target = total[cells]
        if not target.size:
            continue
        if padded is None:
            padded = padding_of(out_backprop.shape, phases.windows).of(out_backprop)
        if not _forward_compiled(padded[part], swapped[taps], where, target, after):
            return None
    return total


@lru_cache(maxsize=256)
def _inner_phases(windows: tuple[Window, ...]) -> _Phases | None:
    """Return the phases of an input's gradient.

    None where the gradient has no phases, or where no window covers some cells.
    """
    phases = gradient_phases(windows)
    if phases is None:
        return None
    found: list[tuple[tuple[slice, ...], Phase, list[Window]]] = []
    for phase in phases:
        if phase.is_whole:
            found.append(((slice(None),), phase, phase.windows))
            continue
        inside = phase.inside(windows)
        if inside is None:
            return None
        found.append(((slice(None), *inside[0]), phase, inside[1]))
    if len(found) == 1:
        ((cells, phase, where),) = found
        bare = tuple(Window(w.output, 1, 1, 1, w.output, 0, 0) for w in windows)
        return _Phases(bare, [(cells, phase.taps, (), where)])
    most_before = [max(where[i].pad_before for _, _, where in found) for i in range(len(windows))]
    most_after = [max(where[i].pad_after for _, _, where in found) for i in range(len(windows))]
    parts = []
    for cells, phase, where in found:
        starts = [most - w.pad_before for most, w in zip(most_before, where, strict=True)]
        part = (slice(first, first + w.padded) for first, w in zip(starts, where, strict=True))
        inner = [replace(w, size=w.padded, pad_before=0, pad_after=0) for w in where]
        parts.append((cells, phase.taps, (slice(None), *part), inner))
    padding = tuple(
        Window(w.output, 1, 1, 1, w.output + before + after, before, after)
        for w, before, after in zip(windows, most_before, most_after, strict=True)
    )
    return _Phases(padding, parts)


class Phase(NamedTuple):
    """The cells of the input at one distance from the window positions, in every dimension.

    These cells meet every n-th element of the filter, n being the stride. Their gradient is the
    convolution, with stride 1, of the output's gradient with those elements in reverse order.
    """

    cells: tuple[slice, ...]  # of the padded input
    taps: tuple[slice, ...]
    windows: list[Window]
    is_whole: bool  # it is the only phase, without the padding

    def inside(self, windows: Sequence[Window]) -> tuple[list[slice], list[Window]] | None:
        """Return its cells of the input without the padding, and their windows.

        None where no window covers some of them.
        """
        found, mirrored = [], []
        for cells, own, w in zip(self.cells, self.windows, windows, strict=True):
            first = max(0, -(-(w.pad_before - cells.start) // w.stride))
            output = max(0, -(-(w.pad_before + w.size - cells.start) // w.stride) - first)
            before = own.pad_before - first
            after = output + own.reach - 1 - own.size - before
            if before < 0 or after < 0:
                return None
            found.append(slice(cells.start + first * w.stride - w.pad_before, None, w.stride))
            mirrored.append(replace(own, output=output, pad_before=before, pad_after=after))
        return found, mirrored


def gradient_phases(windows: Sequence[Window]) -> Sequence[Phase] | None:
    """Return the phases of all cells; None if windows skip cells or have stride and dilation."""
    return _known_phases(tuple(windows))


@lru_cache(maxsize=256)
def _known_phases(windows: tuple[Window, ...]) -> tuple[Phase, ...] | None:
    if any((w.stride > 1 and w.dilation > 1) or w.stride > w.filter for w in windows):
        return None
    return tuple(
        _phase(windows, offsets) for offsets in product(*(range(w.stride) for w in windows))
    )


def _phase(windows: tuple[Window, ...], offsets: tuple[int, ...]) -> Phase:
    # With stride 1 the gradient of the padding need not be computed.
    is_whole = all(
        w.stride == 1 and w.pad_before < w.reach and w.pad_after < w.reach for w in windows
    )
    cells, taps, mirrored = [], [], []
    for w, offset in zip(windows, offsets, strict=True):
        number = -(-(w.filter - offset) // w.stride)
        before = (number - 1) * w.dilation
        output = -(-(w.padded - offset) // w.stride)
        after = output - w.output
        if is_whole:
            output, before, after = w.size, before - w.pad_before, w.reach - 1 - w.pad_after
        cells.append(slice(offset, None, w.stride))
        # In reverse order: from the last of these elements to the first.
        taps.append(slice(offset + (number - 1) * w.stride, None, -w.stride))
        mirrored.append(Window(w.output, number, 1, w.dilation, output, before, after))
    return Phase(tuple(cells), tuple(taps), mirrored, is_whole)


def _spread(
    xp: Xp, out_backprop: Array, kernel: Array, windows: Sequence[Window], total: Array
) -> None:
    matrix = kernel.reshape(-1, kernel.shape[-1])
    is_viewed = xp is np and matrix.size >= _LEAST_VIEWED
    matrix = matrix.T if is_viewed else swapped(xp, matrix)
    batch = total.shape[0]
    outputs = tuple(w.output for w in windows)
    filters = tuple(w.filter for w in windows)
    positions = math.prod(outputs)
    per_image = positions * matrix.shape[1] * total.itemsize
    at_once = max(1, min(batch, _BUFFER_BYTES // max(1, per_image)))
    buffer = xp.empty((at_once * positions, matrix.shape[1]), total.dtype)
    for first in range(0, batch, at_once):
        last = min(first + at_once, batch)
        rows = out_backprop[first:last].reshape(-1, out_backprop.shape[-1])
        columns = multiply_of(xp)(rows, matrix, out=buffer[: (last - first) * positions])
        columns = columns.reshape(last - first, *outputs, *filters, kernel.shape[-2])
        for element in product(*(range(size) for size in filters)):
            cells = tuple(w.slice_at(i) for w, i in zip(windows, element, strict=True))
            source = (slice(None),) * (1 + len(outputs))
            total[(slice(first, last), *cells)] += columns[source + element]
