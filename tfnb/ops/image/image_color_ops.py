"""Colours of images: RGB and HSV, hue, saturation, contrast.

Corresponds to TensorFlow's ``colorspace_op.h`` and ``adjust_*_op.cc``. The computation is in
float32 or a wider type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math.math_ops import div_no_nan, tensordot
from tfnb.ops.math.reduction_ops import argmax, argmin, reduce_sum

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {"image": ["hsv_to_rgb", "rgb_to_hsv"]}

_PIXELS = "T: {half, bfloat16, float, double} = DT_FLOAT"
_ADJUSTED = "T: {half, float} = DT_FLOAT"


def _color_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank_at_least(0, 1).dim_values
    if dims is None:
        return TensorShape(None)
    return TensorShape([*dims[:-1], merge_dims(dims[-1], 3)])


def _adjusted_shape(c: InferenceContext) -> TensorShape:
    return c.with_rank_at_least(0, 3)


def _contrast_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 0)
    return _adjusted_shape(c)


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _to_hsv(xp: Xp, rgb: Array) -> tuple[Array, Array, Array]:
    """Return hue in [0, 1), saturation and value."""
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    value = rgb.max(axis=-1)
    spread = value - rgb.min(axis=-1)
    saturation = xp.where(value > 0, spread / value, 0).astype(rgb.dtype)
    norm = 1 / (6 * spread)
    hue = xp.where(
        red == value,
        norm * (green - blue),
        xp.where(green == value, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    ).astype(rgb.dtype)
    hue = xp.where(spread > 0, hue, 0).astype(rgb.dtype)
    return xp.where(hue < 0, hue + 1, hue).astype(rgb.dtype), saturation, value


def _hue_parts(xp: Xp, sixths: Array) -> Array:
    """Return the parts of red, green and blue in a pure hue, given in sixths of the circle."""
    red = xp.abs(sixths - 3) - 1
    green = 2 - xp.abs(sixths - 2)
    blue = 2 - xp.abs(sixths - 4)
    return xp.clip(xp.stack([red, green, blue], axis=-1), 0, 1)


def _check_channels(name: str, images: Array, *, is_color: bool = False) -> None:
    if images.ndim < 1:
        raise errors.invalid_argument(f"{name} must be at least 1D{shape_text(images.shape)}")
    if images.shape[-1] != 3:
        text = f"{name} must have 3 channels but instead has {images.shape[-1]} channels."
        raise errors.failed_precondition(text) if is_color else errors.invalid_argument(text)


@register_op("RGBToHSV", "images: T -> output: T", _PIXELS, shape=_color_shape)
def rgb_to_hsv(xp: Xp, images: Array) -> Array:
    """Return hue, saturation and value of pixels given as red, green and blue in [0, 1]."""
    _check_channels("input", images, is_color=True)
    return xp.stack(_to_hsv(xp, _wide(images)), axis=-1).astype(images.dtype, copy=False)


@register_op("HSVToRGB", "images: T -> output: T", _PIXELS, shape=_color_shape)
def hsv_to_rgb(xp: Xp, images: Array) -> Array:
    """Return red, green and blue of pixels given as hue, saturation and value in [0, 1]."""
    _check_channels("input", images, is_color=True)
    wide = _wide(images)
    saturation, value = wide[..., 1:2], wide[..., 2:3]
    parts = _hue_parts(xp, wide[..., 0] * 6)
    result = ((1 - saturation) + saturation * parts) * value
    return result.astype(images.dtype, copy=False)


# Hue is a difference of two channels; the largest channel determines which two.
_DIFFERENCES = [[0, 1, -1], [-1, 0, 1], [1, -1, 0]]


@rgb_to_hsv.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    # If channels are equal, the first counts as the largest, the last as the smallest.
    rgb, dtype = op.inputs[0], op.inputs[0].dtype
    largest = array_ops.one_hot(argmax(rgb, -1), 3, dtype=dtype)
    smallest = array_ops.one_hot(2 - argmin_last(rgb), 3, dtype=dtype)
    high = reduce_sum(largest * rgb, -1, keepdims=True)
    low = reduce_sum(smallest * rgb, -1, keepdims=True)
    signs = tensordot(largest, array_ops.constant(_DIFFERENCES, dtype), 1)
    difference = reduce_sum(signs * rgb, -1, keepdims=True)
    spread = 6 * (high - low)
    hue = div_no_nan(signs, spread)
    hue -= div_no_nan(6 * difference, spread * spread) * (largest - smallest)
    saturation = div_no_nan(largest * low, high * high) - div_no_nan(smallest, high)
    # As in TensorFlow, values that are not positive get no gradient.
    hue *= cast(high > 0, dtype)
    saturation *= cast(rgb > 0, dtype)
    return hue * grad[..., 0:1] + saturation * grad[..., 1:2] + largest * grad[..., 2:3]


def argmin_last(x: TensorLike) -> TensorResult:
    """Return the distance of the last smallest entry of the last axis from its end."""
    return argmin(array_ops.reverse(x, [-1]), -1)


hsv_to_rgb.not_differentiable()


def _check_adjusted(images: Array, factor: Array, name: str) -> None:
    if images.ndim < 3:
        raise errors.invalid_argument(
            f"input must be at least 3-D, got shape{shape_text(images.shape)}"
        )
    if factor.ndim:
        raise errors.invalid_argument(f"{name} must be scalar: {shape_text(factor.shape)}")


@register_op(
    "AdjustContrastv2",
    "images: T, contrast_factor: float -> output: T",
    _ADJUSTED,
    shape=_contrast_shape,
    host_memory=("contrast_factor",),
)
def adjust_contrast_v2(xp: Xp, images: Array, contrast_factor: Array) -> Array:
    """Return (x - mean) * factor + mean, with the mean of each channel of each image."""
    _check_adjusted(images, contrast_factor, "contrast_factor")
    if images.size == 0:
        return images
    wide = _wide(images)
    mean = wide.mean(axis=(-3, -2), keepdims=True)
    return ((wide - mean) * np.float32(contrast_factor) + mean).astype(images.dtype, copy=False)


@register_op(
    "AdjustHue",
    "images: T, delta: float -> output: T",
    _ADJUSTED,
    shape=_adjusted_shape,
    host_memory=("delta",),
)
def adjust_hue_op(xp: Xp, images: Array, delta: Array) -> Array:
    """Turn the hue by `delta` of the circle."""
    _check_adjusted(images, delta, "delta")
    _check_channels("input", images)
    wide = _wide(images)
    hue, _, value = _to_hsv(xp, wide)
    lowest = wide.min(axis=-1)
    sixths = (hue * 6 + np.float32(delta) * 6) % 6
    spread = (value - lowest)[..., None]
    result = lowest[..., None] + spread * _hue_parts(xp, sixths)
    return result.astype(images.dtype, copy=False)


@register_op(
    "AdjustSaturation",
    "images: T, scale: float -> output: T",
    _ADJUSTED,
    shape=_adjusted_shape,
    host_memory=("scale",),
)
def adjust_saturation_op(xp: Xp, images: Array, scale: Array) -> Array:
    """Multiply the saturation by a factor; the result stays in [0, 1]."""
    _check_adjusted(images, scale, "scale")
    _check_channels("input", images)
    hue, saturation, value = _to_hsv(xp, _wide(images))
    saturation = xp.clip(saturation * np.float32(scale), 0, 1)[..., None]
    parts = _hue_parts(xp, hue * 6)
    result = ((1 - saturation) + saturation * parts) * value[..., None]
    return result.astype(images.dtype, copy=False)
