"""Convolutions fused with the resizing and mirror padding before them, as graph tools write them.

TensorFlow's graph transforms write these ops into frozen graphs. Corresponds to
``conv_ops_using_gemm.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_dims, require_rank
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array.pad_ops import mirror_pad
from tfnb.ops.conv.conv_ops import conv2d_op
from tfnb.ops.conv.windows import output_dim
from tfnb.ops.image.image_resize_ops import resize_bilinear_op

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp

_CONV = (
    "mode: {'REFLECT', 'SYMMETRIC'}",
    "strides: list(int)",
    "padding: {'SAME', 'VALID'}",
)


def _padded_conv_shape(c: InferenceContext, *, resized: bool) -> TensorShape:
    x = c.with_rank(0, 4).dim_values
    paddings_at, filter_at = (2, 3) if resized else (1, 2)
    rows, columns = c.with_rank(paddings_at, 2).dim_values or (None, None)
    merge_dims(rows, 4)
    merge_dims(columns, 2)
    kernel = require_rank(c.inputs[filter_at], 4).dim_values
    assert x is not None
    assert kernel is not None
    dims = list(x)
    if resized:
        size = c.constant_value(1)
        dims[1:3] = [None, None] if size is None else [int(one) for one in size]
    paddings = c.constant_value(paddings_at)
    if paddings is None:
        dims = [None] * 4
    else:
        for axis, (before, after) in enumerate(paddings.tolist()):
            if before < 0 or after < 0:
                raise ValueError("Paddings must be non-negative")
            known = dims[axis]
            dims[axis] = None if known is None else known + before + after
    strides = c.attr("strides")
    if len(strides) != 4:
        raise ValueError(
            f"Operation requires the stride attribute to contain 4 values, but got: {len(strides)}"
        )
    depth = merge_dims(dims[3], kernel[2])
    assert depth is None or depth >= 0
    height, width = (
        output_dim(dims[axis], kernel[axis - 1], strides[axis], 1, c.attr("padding"))
        for axis in (1, 2)
    )
    return TensorShape([dims[0], height, width, kernel[3]])


def _convolved(
    xp: Xp, x: Array, paddings: Array, kernel: Array, mode: str, strides: list[int], padding: str
) -> Array:
    padded = mirror_pad.function(xp, x, paddings, mode=mode)  # type: ignore[misc]
    return conv2d_op.function(  # type: ignore[misc]
        xp,
        padded,
        kernel,
        strides=strides,
        padding=padding,
        explicit_paddings=[],
        dilations=[1, 1, 1, 1],
    )


@register_op(
    "FusedPadConv2D",
    "input: T, paddings: int32, filter: T -> output: T",
    "T: {half, bfloat16, float, double}",
    *_CONV,
    shape=lambda c: _padded_conv_shape(c, resized=False),
    host_memory=("paddings",),
)
def fused_pad_conv2d(
    xp: Xp,
    input: Array,
    paddings: Array,
    filter: Array,
    *,
    mode: str,
    strides: list[int],
    padding: str,
) -> Array:
    """Return the convolution of the input, padded with its mirror image."""
    return _convolved(xp, input, paddings, filter, mode, strides, padding)


@register_op(
    "FusedResizeAndPadConv2D",
    "input: T, size: int32, paddings: int32, filter: T -> output: T",
    "T: {half, float, double}",
    "resize_align_corners: bool = false",
    *_CONV,
    shape=lambda c: _padded_conv_shape(c, resized=True),
    host_memory=("size", "paddings"),
)
def fused_resize_and_pad_conv2d(
    xp: Xp,
    input: Array,
    size: Array,
    paddings: Array,
    filter: Array,
    *,
    resize_align_corners: bool,
    mode: str,
    strides: list[int],
    padding: str,
) -> Array:
    """Return the convolution of the resized input, padded with its mirror image."""
    resized = resize_bilinear_op.function(  # type: ignore[misc]
        xp, input, size, align_corners=resize_align_corners, half_pixel_centers=False
    )
    resized = resized.astype(input.dtype, copy=False)
    return _convolved(xp, resized, paddings, filter, mode, strides, padding)
