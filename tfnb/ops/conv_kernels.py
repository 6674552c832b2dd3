"""How convolutions are computed: patches of the image as rows of a matrix.

Times the filter as a matrix.

All functions take channels last and any number of spatial dimensions. Patches are a strided view
that is copied into one buffer reused from image to image, so that the matrix product finds its
operand in cache; a filter of one element with stride 1 needs no copy. Groups split the channels;
float16 and bfloat16 are computed in float32.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.ops.windows import Window, pad_spatial, unpad_spatial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The patches of as many images as fit into this many bytes are multiplied at once.
_BUFFER_BYTES = 1 << 21


def _widened(x: Any) -> Any:
    """What sums are kept in: float32 for the two-byte floats."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _patches_view(xp: Any, padded: Any, windows: Sequence[Window]) -> Any:
    """[batch, outputs..., filter..., channels]: what every window position sees, without a copy."""
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
    return xp.lib.stride_tricks.as_strided(padded, shape, view_strides)


def _is_pointwise(windows: Sequence[Window]) -> bool:
    return all(
        w.filter == 1 and w.stride == 1 and not w.pad_before and not w.pad_after for w in windows
    )


def _patch_matrices(xp: Any, x: Any, windows: Sequence[Window]) -> Iterator[tuple[int, int, Any]]:
    """(first image, image after the last, their patches as rows of a matrix), buffer reused."""
    batch, channels = x.shape[0], x.shape[-1]
    positions = math.prod(w.output for w in windows)
    depth = math.prod(w.filter for w in windows) * channels
    if _is_pointwise(windows):
        yield 0, batch, x.reshape(batch * positions, channels)
        return
    view = _patches_view(xp, pad_spatial(xp, x, windows, 1, 0), windows)
    at_once = max(1, min(batch, _BUFFER_BYTES // max(1, positions * depth * x.itemsize)))
    buffer = xp.empty((at_once, *view.shape[1:]), x.dtype)
    for first in range(0, batch, at_once):
        last = min(first + at_once, batch)
        part = buffer[: last - first]
        part[...] = view[first:last]
        yield first, last, part.reshape((last - first) * positions, depth)


def _group_slices(channels: int, groups: int) -> list[slice]:
    size = channels // groups
    return [slice(g * size, (g + 1) * size) for g in range(groups)]


def forward(xp: Any, x: Any, kernel: Any, windows: Sequence[Window]) -> Any:
    """The convolution: [batch, outputs..., out channels]."""
    dtype = x.dtype
    x, kernel = _widened(x), _widened(kernel)
    out_channels = kernel.shape[-1]
    groups = x.shape[-1] // kernel.shape[-2] if kernel.shape[-2] else 1
    outputs = tuple(w.output for w in windows)
    out = xp.empty((x.shape[0], *outputs, out_channels), x.dtype)
    if out.size == 0:
        return out.astype(dtype, copy=False)
    if kernel.size == 0:
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


def _forward_into(xp: Any, x: Any, kernel: Any, windows: Sequence[Window], out: Any) -> None:
    matrix = xp.ascontiguousarray(kernel.reshape(-1, kernel.shape[-1]))
    rows = out.reshape(-1, out.shape[-1])
    positions = math.prod(w.output for w in windows)
    for first, last, patches in _patch_matrices(xp, x, windows):
        xp.matmul(patches, matrix, out=rows[first * positions : last * positions])


def backprop_filter(
    xp: Any, x: Any, out_backprop: Any, filter_shape: Sequence[int], windows: Sequence[Window]
) -> Any:
    """The gradient of a convolution with respect to its filter."""
    dtype = x.dtype
    x, out_backprop = _widened(x), _widened(out_backprop)
    grad = xp.zeros(tuple(filter_shape), x.dtype)
    if x.size == 0 or out_backprop.size == 0 or grad.size == 0:
        return grad.astype(dtype, copy=False)
    groups = x.shape[-1] // filter_shape[-2]
    inners, outers = (
        _group_slices(x.shape[-1], groups),
        _group_slices(out_backprop.shape[-1], groups),
    )
    positions = math.prod(w.output for w in windows)
    for inner, outer in zip(inners, outers, strict=True):
        rows = out_backprop[..., outer].reshape(-1, outer.stop - outer.start)
        total: Any = None
        for first, last, patches in _patch_matrices(xp, x[..., inner], windows):
            part = patches.T @ rows[first * positions : last * positions]
            total = part if total is None else total + part
        grad[..., outer] = total.reshape(*filter_shape[:-1], -1)
    return grad.astype(dtype, copy=False)


def backprop_input(
    xp: Any, input_shape: Sequence[int], kernel: Any, out_backprop: Any, windows: Sequence[Window]
) -> Any:
    """The gradient of a convolution with respect to its input.

    Every window position spreads its gradient times the filter over the cells it saw; that product
    is made for all positions at once, then added up one filter element after the other.
    """
    dtype = kernel.dtype
    kernel, out_backprop = _widened(kernel), _widened(out_backprop)
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


def _spread(xp: Any, out_backprop: Any, kernel: Any, windows: Sequence[Window], total: Any) -> None:
    matrix = xp.ascontiguousarray(kernel.reshape(-1, kernel.shape[-1]).T)
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
        columns = xp.matmul(rows, matrix, out=buffer[: (last - first) * positions])
        columns = columns.reshape(last - first, *outputs, *filters, kernel.shape[-2])
        for element in product(*(range(size) for size in filters)):
            cells = tuple(w.slice_at(i) for w, i in zip(windows, element, strict=True))
            source = (slice(None),) * (1 + len(outputs))
            total[(slice(first, last), *cells)] += columns[source + element]


# ---------------------------------------------------------------------------------- depthwise ones


def depthwise_forward(xp: Any, x: Any, kernel: Any, windows: Sequence[Window]) -> Any:
    """The convolution of each channel with its own filters: [batch, outputs.

    Channels * multiplier].
    """
    dtype = x.dtype
    x, kernel = _widened(x), _widened(kernel)
    channels, multiplier = kernel.shape[-2:]
    outputs = tuple(w.output for w in windows)
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


def depthwise_backprop_filter(
    xp: Any, x: Any, out_backprop: Any, filter_shape: Sequence[int], windows: Sequence[Window]
) -> Any:
    """The gradient of a depthwise convolution with respect to its filter."""
    dtype = x.dtype
    x, out_backprop = _widened(x), _widened(out_backprop)
    channels, multiplier = filter_shape[-2:]
    padded = pad_spatial(xp, x, windows, 1, 0)
    split = out_backprop.reshape(*out_backprop.shape[:-1], channels, multiplier)
    grad = xp.zeros(tuple(filter_shape), x.dtype)
    letters = "xyz"[: len(windows)]
    for element in product(*(range(w.filter) for w in windows)):
        cells = tuple(w.slice_at(i) for w, i in zip(windows, element, strict=True))
        seen = padded[(slice(None), *cells)]
        grad[element] = xp.einsum(f"n{letters}c,n{letters}cm->cm", seen, split)
    return grad.astype(dtype, copy=False)


def depthwise_backprop_input(
    xp: Any, input_shape: Sequence[int], kernel: Any, out_backprop: Any, windows: Sequence[Window]
) -> Any:
    """The gradient of a depthwise convolution with respect to its input."""
    dtype = kernel.dtype
    kernel, out_backprop = _widened(kernel), _widened(out_backprop)
    channels, multiplier = kernel.shape[-2:]
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
