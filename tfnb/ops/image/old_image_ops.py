"""Ops on images and volumes that only old graphs contain.

Corresponds to the first versions in TensorFlow's ``adjust_contrast_op.cc``, ``random_crop_op.cc``
and ``conv_grad_ops_3d.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.conv.conv_ops import conv3d_backprop_filter_v2, conv3d_backprop_input_v2
from tfnb.ops.random.philox import generator_of

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.core.op_kernel import OpKernelContext

_T = "T: {uint8, int8, int16, int32, int64, float, double}"


def _contrast_shape(c: InferenceContext) -> TensorShape:
    for index in (1, 2, 3):
        c.with_rank(index, 0)
    return c.with_rank_at_least(0, 3)


@register_op(
    "AdjustContrast",
    "images: T, contrast_factor: float, min_value: float, max_value: float -> output: float",
    _T,
    shape=_contrast_shape,
    devices=("CPU",),
    deprecated=(2, "Use AdjustContrastv2 instead"),
)
def adjust_contrast(
    xp: Xp, images: Array, contrast_factor: Array, min_value: Array, max_value: Array
) -> Array:
    """Return (x - mean) * factor + mean within bounds.

    The mean is that of each channel of each image.
    """
    if images.ndim < 3:
        raise errors.invalid_argument(
            f"input must be at least 3-D, got shape{shape_text(images.shape)}"
        )
    wide = images.astype(np.float32)
    if not images.size:
        return wide
    mean = wide.mean(axis=(-3, -2), keepdims=True)
    return xp.clip((wide - mean) * contrast_factor + mean, min_value, max_value)


def _crop_shape(c: InferenceContext) -> TensorShape:
    image = c.with_rank(0, 3).dim_values
    size = c.constant_value(1)
    sides = [None, None] if size is None else [int(side) for side in size]
    return TensorShape([*sides, None if image is None else image[2]])


@register_op(
    "RandomCrop",
    "image: T, size: int64 -> output: T",
    _T,
    "seed: int = 0",
    "seed2: int = 0",
    stateful=True,
    shape=_crop_shape,
    devices=("CPU",),
    deprecated=(8, "Random crop is now pure Python"),
    traits="unseen_state",
)
def random_crop_op(
    ctx: OpKernelContext, image: Array, size: Array, *, seed: int, seed2: int
) -> Array:
    """Return a random part of an image: [height, width, channels] to [*size, channels]."""
    if image.ndim != 3:
        raise errors.invalid_argument(f"image must be 3-dimensional{shape_text(image.shape)}")
    if size.shape != (2,):
        raise errors.invalid_argument(f"size must be a 2-D vector, got {shape_text(size.shape)}")
    height, width = size.tolist()
    if image.shape[:2] == (height, width):
        return image
    spare = image.shape[0] - height, image.shape[1] - width
    if min(spare) < 0 or min(height, width) < 0:
        raise errors.failed_precondition(
            f"width and height must not exceed the image's: size = {size.tolist()}, image = "
            f"{shape_text(image.shape)}"
        )
    words = iter(generator_of(ctx, seed, seed2).reserve_blocks(1).block())
    # The width is drawn first.
    left, top = (int(next(words)) % (room + 1) if room else 0 for room in spare[::-1])
    return image[top : top + height, left : left + width]


_VOLUMES = (
    "input: T, filter: T, out_backprop: T -> output: T",
    "T: {half, float, double}",
    "strides: list(int) >= 5",
    "padding: {'SAME', 'VALID'}",
    "dilations: list(int) = [1, 1, 1, 1, 1]",
)


def _volume(index: int) -> dict[str, Any]:
    """Return the registration options of both ops; the result has the shape of input ``index``."""

    def shape(c: InferenceContext) -> TensorShape:
        return merge_shapes(c.with_rank(index, 5), TensorShape([None] * 5))

    word = "Filter" if index else "Input"
    advice = (10, f"Use Conv3DBackprop{word}V2")
    return {"shape": shape, "devices": ("CPU",), "deprecated": advice}


def _backprop(of: Array, *inputs: Array, **attrs: Any) -> Array:
    return of.kernels["CPU"](*inputs, **attrs)


@register_op("Conv3DBackpropInput", *_VOLUMES, **_volume(0))
def conv3d_backprop_input(
    xp: Xp,
    x: Array,
    kernel: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    dilations: list[int],
) -> Array:
    """Return the gradient of Conv3D by its input; only the shape of that input is used."""
    sizes = np.array(x.shape, np.int32)
    attrs: dict[str, Attr] = {"strides": strides, "padding": padding, "dilations": dilations}
    return _backprop(conv3d_backprop_input_v2, xp, sizes, kernel, out_backprop, **attrs)


@register_op("Conv3DBackpropFilter", *_VOLUMES, **_volume(1))
def conv3d_backprop_filter(
    xp: Xp,
    x: Array,
    kernel: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    dilations: list[int],
) -> Array:
    """Return the gradient of Conv3D by its filter; only the shape of that filter is used."""
    sizes = np.array(kernel.shape, np.int32)
    attrs: dict[str, Attr] = {"strides": strides, "padding": padding, "dilations": dilations}
    return _backprop(conv3d_backprop_filter_v2, xp, x, sizes, out_backprop, **attrs)
