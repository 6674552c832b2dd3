"""Kernels of depthwise convolutions: each channel has its own filters, channels last.

The general method multiplies each element of the filter by all cells that it meets, and adds the
products.  On large
images of a CPU, ``np.einsum`` multiplies and adds whole rows of width * channels in one pass over a
strided view of the patches; for strides above 1, the cells that one element of the filter meets are
first copied side by side.  A channel multiplier repeats the channels.  float16 and bfloat16 are
computed in float32.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.process.later import later
from tfnb.core.process.work_sharder import shard
from tfnb.ops.base.large_arrays import LARGE, is_large
from tfnb.ops.conv import compiled_depthwise
from tfnb.ops.conv.compiled_conv import after_of
from tfnb.ops.conv.conv_kernels import (
    Phase,
    gradient_phases,
    is_pointwise,
    keeps_zeros,
    widened,
)
from tfnb.ops.conv.windows import Window, pad_spatial, steps_of, strided_view, unpad_spatial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_registry import Following
    from tfnb.ops.conv import folded_conv
else:
    folded_conv = later("tfnb.ops.conv.folded_conv", in_step=True)


# From this number of elements on, one pass over whole rows costs less than a pass for each element
# in the filter.
_LEAST_ELEMENTS = 256


def _taps(kernel: Array) -> Array:
    """Return a kernel with its last two dimensions as one; it may be empty."""
    *window, channels, multiplier = kernel.shape
    return kernel.reshape(*window, channels * multiplier)


def _suits(xp: Xp, x: Array, windows: Sequence[Window], least: int = LARGE) -> bool:
    """Return whether computing whole rows at once is faster."""
    return len(windows) == 2 and is_large(xp, x, least) and windows[1].output > 0


def forward(xp: Xp, x: Array, kernel: Array, windows: Sequence[Window]) -> Array:
    """Return the convolution: [batch, outputs..., channels * multiplier].

    Args:
      xp: numpy or cupy.
      x: [batch, sizes..., channels].
      kernel: [filter..., channels, multiplier].
      windows: the geometry of each spatial dimension.
    """
    ready = compiled_depthwise.ready("", x, kernel, windows) if xp is np else None
    if ready is not None:
        return ready.convolve(x, kernel)
    dtype = x.dtype
    x, kernel = widened(x), widened(kernel)
    channels, multiplier = kernel.shape[-2:]
    outputs = tuple(w.output for w in windows)
    if xp is np and compiled_depthwise.suits(x, kernel.shape, kernel.dtype):
        wide = np.repeat(x, multiplier, axis=-1) if multiplier > 1 else x
        result = np.empty((len(x), *outputs, channels * multiplier), x.dtype)
        taps, kept = _taps(kernel), kernel if multiplier == 1 else None
        if not result.size or compiled_depthwise.convolve(wide, taps, windows, result, kernel=kept):
            return result.astype(dtype, copy=False)
    if _suits(xp, x, windows, _LEAST_ELEMENTS) and kernel.size:
        if multiplier > 1:
            x = np.repeat(x, multiplier, axis=-1)
        if is_pointwise(windows):
            return (x * kernel.reshape(-1)).astype(dtype, copy=False)
        taps = _taps(kernel)
        return _forward_rows(x, taps, windows).astype(dtype, copy=False)
    padded = pad_spatial(xp, x, windows, 1, 0)
    out = xp.zeros((x.shape[0], *outputs, channels * multiplier), x.dtype)
    if multiplier == 1:
        for element in product(*(range(w.filter) for w in windows)):
            cells = tuple(w.slice_at(i) for w, i in zip(windows, element, strict=True))
            out += padded[(slice(None), *cells)] * kernel[element].reshape(-1)
        return out.astype(dtype, copy=False)
    split = out.reshape(*out.shape[:-1], channels, multiplier)
    for element in product(*(range(w.filter) for w in windows)):
        cells = tuple(w.slice_at(i) for w, i in zip(windows, element, strict=True))
        split += padded[(slice(None), *cells)][..., None] * kernel[element]
    return out.astype(dtype, copy=False)


def forward_biased(
    x: Array, kernel: Array, following: Following, windows: Sequence[Window]
) -> Array | None:
    """Return a convolution and what follows it; see ``conv_kernels.forward_biased``."""
    channels, multiplier = kernel.shape[-2:]
    outputs = [w.output for w in windows]
    if following.is_plain:
        if following.is_nothing:
            return None
        size = len(x) * math.prod(outputs) * channels * multiplier
        return folded_conv.convolve(
            lambda taps: forward(np, x, taps, windows),
            kernel, following, [channels, multiplier], size,
        )  # fmt: skip
    after = after_of(following, channels * multiplier)
    if after is None:
        return None
    ready = compiled_depthwise.ready(after.form, x, kernel, windows)
    if ready is not None:
        return ready.convolve(x, kernel, after[1:])
    if not compiled_depthwise.suits(x, kernel.shape, kernel.dtype):
        return None
    result = np.empty((len(x), *outputs, channels * multiplier), np.float32)
    wide = np.repeat(x, multiplier, axis=-1) if multiplier > 1 else x
    kept = kernel if multiplier == 1 else None
    if result.size and compiled_depthwise.convolve(
        wide, _taps(kernel), windows, result, after, kept
    ):
        return result
    return None


class _Rows:
    """The cells that each element of a filter meets, whole rows of width * channels at a time.

    Attributes:
      views: [batch, rows, filter height, filter columns, width * channels], one or several.
      columns: per view, the columns of the filter that it contains.
      width: width of the outputs.
    """

    def __init__(self, x: Array, windows: Sequence[Window]) -> None:
        down, across = windows
        padded = np.ascontiguousarray(pad_spatial(np, x, windows, 1, 0))
        channels = x.shape[-1]
        self.width = across.output
        self.columns = [slice(None)]
        sources = [padded]
        if across.stride > 1:
            # The cells that one column of the filter meets, side by side.
            self.columns = [slice(i, i + 1) for i in range(across.filter)]
            cells = (across.slice_at(i) for i in range(across.filter))
            sources = [np.ascontiguousarray(padded[:, :, some]) for some in cells]
        self.views = []
        for source, columns in zip(sources, self.columns, strict=True):
            n, row, column, item = steps_of(source)
            count = across.filter if columns == slice(None) else 1
            shape = (len(x), down.output, down.filter, count, across.output * channels)
            strides = (n, row * down.stride, row * down.dilation, column * across.dilation, item)
            self.views.append(strided_view(np, source, shape, strides))


# Minimum number of multiplications per thread.
_LEAST_PRODUCTS = 1 << 19


def _forward_rows(x: Array, taps: Array, windows: Sequence[Window]) -> Array:
    """Compute `forward` for a multiplier of 1: taps is [filter height, filter width, channels]."""
    height, channels = windows[0].output, x.shape[-1]
    products = taps.shape[0] * taps.shape[1] * windows[1].output * channels
    least = _LEAST_PRODUCTS // products + 1
    if windows[1].stride > 1 and channels >= _LONG_VECTOR:
        return _forward_in_steps(x, taps, windows, least)
    rows = _Rows(x, windows)
    out = np.empty((len(x), height, rows.width * channels), x.dtype)
    weights = [_repeated(taps[:, columns], rows.width) for columns in rows.columns]

    def work(first: int, last: int) -> None:
        for some in _blocks(first, last, height, math.prod(out.shape[1:])):
            target = out[some]
            for number, (view, weight) in enumerate(zip(rows.views, weights, strict=True)):
                if number:
                    target += np.einsum("nrijx,ijx->nrx", view[some], weight)
                else:
                    np.einsum("nrijx,ijx->nrx", view[some], weight, out=target)

    shard(len(x) * height, least, work)
    return out.reshape(len(x), height, rows.width, channels)


# Elements of small images that are computed at once.
_AT_ONCE = 1 << 15


def _blocks(first: int, last: int, height: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Yield (images, their rows) for a range of rows of all images.

    Args:
      first: the first row.
      last: the row after the last.
      height: the rows of an image.
      size: the elements of an image.
    """
    most = max(1, _AT_ONCE // max(1, size))
    while first < last:
        image, top = divmod(first, height)
        count = 1 if top else max(1, min(most, (last - first) // height))
        end = height if count > 1 else min(height, top + last - first)
        yield slice(image, image + count), slice(top, end)
        first += (end - top) * count


def _repeated(taps: Array, width: int) -> Array:
    """Return the filter with each row's channels repeated for `width` outputs."""
    height, columns, channels = taps.shape
    repeated = np.empty((height, columns, width, channels), taps.dtype)
    repeated[...] = taps[:, :, None]
    return repeated.reshape(height, columns, width * channels)


# From this number of channels on, strides above 1 do not need the copy side by side.
_LONG_VECTOR = 64


def _forward_in_steps(x: Array, taps: Array, windows: Sequence[Window], least: int) -> Array:
    """Compute `forward` for strides above 1, position by position, all channels at once."""
    down, across = windows
    padded = np.ascontiguousarray(pad_spatial(np, x, windows, 1, 0))
    n, row, column, item = steps_of(padded)
    shape = (len(x), down.output, across.output, down.filter, across.filter, x.shape[-1])
    strides = (
        n,
        row * down.stride,
        column * across.stride,
        row * down.dilation,
        column * across.dilation,
        item,
    )
    seen = strided_view(np, padded, shape, strides)
    out = np.empty((*shape[:3], shape[-1]), x.dtype)

    def work(first: int, last: int) -> None:
        for some in _blocks(first, last, down.output, math.prod(out.shape[1:])):
            np.einsum("nrwijc,ijc->nrwc", seen[some], taps, out=out[some])

    shard(len(x) * down.output, least, work)
    return out


def backprop_filter(
    xp: Xp, x: Array, out_backprop: Array, filter_shape: Sequence[int], windows: Sequence[Window]
) -> Array:
    """Return the gradient of a depthwise convolution with respect to its filter."""
    dtype = x.dtype
    x, out_backprop = widened(x), widened(out_backprop)
    channels, multiplier = filter_shape[-2:]
    is_suited = compiled_depthwise.suits(x, filter_shape, out_backprop.dtype)
    if xp is np and out_backprop.size and is_suited:
        wide = np.repeat(x, multiplier, axis=-1) if multiplier > 1 else x
        compiled = compiled_depthwise.filter_gradient(wide, out_backprop, windows)
        if compiled is not None:
            return compiled.reshape(tuple(filter_shape)).astype(dtype, copy=False)
    is_long = windows[-1].stride == 1 and windows[-1].output * channels * multiplier >= _LONG_ROW
    if _suits(xp, x, windows) and is_long and out_backprop.size:
        if multiplier > 1:
            x = np.repeat(x, multiplier, axis=-1)
        found = _backprop_filter_rows(x, out_backprop, windows)
        return found.reshape(tuple(filter_shape)).astype(dtype, copy=False)
    padded = pad_spatial(xp, x, windows, 1, 0)
    split = out_backprop.reshape(*out_backprop.shape[:-1], channels, multiplier)
    grad = xp.zeros(tuple(filter_shape), x.dtype)
    letters = "xyz"[: len(windows)]
    for element in product(*(range(w.filter) for w in windows)):
        cells = tuple(w.slice_at(i) for w, i in zip(windows, element, strict=True))
        seen = padded[(slice(None), *cells)]
        grad[element] = xp.einsum(f"n{letters}c,n{letters}cm->cm", seen, split)
    return grad.astype(dtype, copy=False)


# From this row length on, summing over whole rows is faster.
_LONG_ROW = 300
# Upper bound on partial sums over images, independent of the number of threads.
_PARTS = 8


def _backprop_filter_rows(x: Array, out_backprop: Array, windows: Sequence[Window]) -> Array:
    """Return the gradient [filter height, filter width, channels], for a multiplier of 1."""
    rows = _Rows(x, windows)
    down, across = windows
    channels = x.shape[-1]
    came = out_backprop.reshape(len(x), down.output, rows.width * channels)
    count = min(len(x), _PARTS)
    shape = (down.filter, across.filter, rows.width * channels)
    parts = np.empty((count, *shape), x.dtype)

    def work(begin: int, end: int) -> None:
        for number in range(begin, end):
            some = slice(len(x) * number // count, len(x) * (number + 1) // count)
            for view, columns in zip(rows.views, rows.columns, strict=True):
                parts[number, :, columns] = np.einsum("nrijx,nrx->ijx", view[some], came[some])

    shard(count, 1, work)
    return parts.sum(axis=0).reshape(*shape[:2], rows.width, channels).sum(axis=2)


def backprop_input(
    xp: Xp,
    input_shape: Sequence[int],
    kernel: Array,
    out_backprop: Array,
    windows: Sequence[Window],
) -> Array:
    """Return the gradient of a depthwise convolution with respect to its input."""
    dtype = kernel.dtype
    kernel, out_backprop = widened(kernel), widened(out_backprop)
    channels, multiplier = kernel.shape[-2:]
    if xp is np and out_backprop.size and keeps_zeros(kernel, windows):
        found = _compiled_gather(input_shape, kernel, out_backprop, windows)
        if found is not None:
            return found.astype(dtype, copy=False)
        phases = gradient_phases(windows) if _suits(xp, out_backprop, windows) else None
        if phases is not None and kernel.size:
            return _gather(kernel, out_backprop, windows, phases).astype(dtype, copy=False)
    split = out_backprop.reshape(*out_backprop.shape[:-1], channels, multiplier)
    total = xp.zeros((input_shape[0], *(w.padded for w in windows), channels), kernel.dtype)
    for element in product(*(range(w.filter) for w in windows)):
        cells = tuple(w.slice_at(i) for w, i in zip(windows, element, strict=True))
        if multiplier == 1:
            part = split[..., 0] * kernel[element].reshape(-1)
        else:
            part = (split * kernel[element]).sum(axis=-1)
        total[(slice(None), *cells)] += part
    return unpad_spatial(total, windows, 1).astype(dtype, copy=False)


def _compiled_gather(
    input_shape: Sequence[int], kernel: Array, out_backprop: Array, windows: Sequence[Window]
) -> Array | None:
    """Return the gradient by compiled convolutions, each of which writes the cells of its phase."""
    channels, multiplier = kernel.shape[-2:]
    phases = gradient_phases(windows)
    taps = _taps(kernel)
    shape = (*taps.shape, 1)
    if phases is None or not compiled_depthwise.suits(out_backprop, shape, kernel.dtype):
        return None
    is_whole = phases[0].is_whole
    sizes = tuple(input_shape[1:-1]) if is_whole else tuple(w.padded for w in windows)
    total = np.empty((len(out_backprop), *sizes, channels * multiplier), kernel.dtype)
    for phase in phases:
        cells = total if is_whole else total[(slice(None), *phase.cells)]
        if cells.size and not compiled_depthwise.convolve(
            out_backprop, taps[phase.taps], phase.windows, cells
        ):
            return None
    if not is_whole:
        total = unpad_spatial(total, windows, 1)
    if multiplier > 1:
        total = total.reshape(*total.shape[:-1], channels, multiplier).sum(axis=-1)
    return total


def _gather(
    kernel: Array,
    out_backprop: Array,
    windows: Sequence[Window],
    phases: Sequence[Phase],
) -> Array:
    """Return the gradient as convolutions of ``out_backprop`` with the reversed filter."""
    channels, multiplier = kernel.shape[-2:]
    taps = _taps(kernel)
    if phases[0].is_whole:
        turned = np.ascontiguousarray(taps[phases[0].taps])
        total = _forward_rows(out_backprop, turned, phases[0].windows)
    else:
        shape = (len(out_backprop), *(w.padded for w in windows), channels * multiplier)
        padded = np.empty(shape, out_backprop.dtype)
        for phase in phases:
            turned = np.ascontiguousarray(taps[phase.taps])
            part = _forward_rows(out_backprop, turned, phase.windows)
            padded[(slice(None), *phase.cells)] = part
        total = np.ascontiguousarray(unpad_spatial(padded, windows, 1))
    if multiplier > 1:
        total = total.reshape(*total.shape[:-1], channels, multiplier).sum(axis=-1)
    return total
