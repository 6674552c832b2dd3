"""Projective transforms of images: rotating, shifting, shearing, perspective.

A transform is eight numbers a0 to b2, c0, c1: the pixel (x, y) of the result is taken from
((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) in the image, where k = c0 x + c1 y + 1.
Corresponds to TensorFlow's ``image_ops.cc`` and ``image_ops.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import require_rank
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.quantized_values import rounded_away
from tfnb.ops.linalg.matrix_solve_ops import matrix_inverse

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

_ATTRS = (
    "dtype: {uint8, int32, int64, half, bfloat16, float, double}",
    "interpolation: string",
    "fill_mode: string = 'CONSTANT'",
)
_CPU: dict[str, Any] = {"devices": ("CPU",)}


def _transformed_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank(0, 4).dim_values
    assert dims is not None
    size = require_rank(c.constant_value_as_shape(2), 2).dim_values
    assert size is not None
    return TensorShape([dims[0], *size, dims[3]])


# -- where a coordinate outside of the image reads


def _constant(place: Any, size: int) -> Any:
    return place


def _nearest(place: Any, size: int) -> Any:
    return np.clip(place, np.float32(0), np.float32(size - 1))


def _reflect(place: Any, size: int) -> Any:
    if size <= 1:
        return np.zeros_like(place)
    whole, length = np.float32(2 * size), np.float32(size)
    below = np.where(place < whole, whole * np.trunc(-place / whole) + place, place)
    below = np.where(below < -length, below + whole, -below - np.float32(1))
    above = place - whole * np.trunc(place / whole)
    above = np.where(above >= length, whole - above - np.float32(1), above)
    found = np.where(place < 0, below, np.where(place > size - 1, above, place))
    return _nearest(found, size)


def _wrap(place: Any, size: int) -> Any:
    if size <= 1:
        return np.zeros_like(place)
    whole, length = np.float32(size - 1), np.float32(size)
    below = place + length * (np.trunc(-place / whole) + np.float32(1))
    above = place - length * np.trunc(place / whole)
    found = np.where(place < 0, below, np.where(place > size - 1, above, place))
    return _nearest(found, size)


_FILL_MODES: dict[str, Callable[[Any, int], Any]] = {
    "CONSTANT": _constant,
    "NEAREST": _nearest,
    "REFLECT": _reflect,
    "WRAP": _wrap,
}


def _transformed(
    images: Array,
    transforms: Array,
    output_shape: Array,
    fill_value: float,
    interpolation: str,
    fill_mode: str,
) -> Array:
    if images.ndim != 4:
        raise errors.invalid_argument("Input images must have rank 4")
    if not (
        transforms.ndim == 2
        and transforms.shape[0] in (1, images.shape[0])
        and transforms.shape[1] == 8
    ):
        raise errors.invalid_argument(
            f"Input transform should be num_images x 8 or 1 x 8, not {shape_text(transforms.shape)}"
        )
    if output_shape.ndim != 1:
        raise errors.invalid_argument("output shape must be 1-dimensional")
    if output_shape.size != 2:
        raise errors.invalid_argument("output shape must have two elements")
    height, width = (int(size) for size in output_shape)
    if height <= 0 or width <= 0:
        raise errors.invalid_argument("output dimensions must be positive")
    shape = (images.shape[0], height, width, images.shape[3])
    check_fits(np, shape, images.dtype)
    if 0 in shape:
        return np.empty(shape, images.dtype)
    check_fits(np, (height, width), np.dtype(np.float32))
    rows, columns = np.meshgrid(
        np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32), indexing="ij"
    )
    out = np.empty(shape, images.dtype)
    fill = np.asarray(fill_value).astype(images.dtype)
    for index, image in enumerate(images):
        t = transforms[index if transforms.shape[0] > 1 else 0]
        projection = t[6] * columns + t[7] * rows + np.float32(1)
        with np.errstate(all="ignore"):
            x = (t[0] * columns + t[1] * rows + t[2]) / projection
            y = (t[3] * columns + t[4] * rows + t[5]) / projection
            x = _FILL_MODES[fill_mode](x, image.shape[1])
            y = _FILL_MODES[fill_mode](y, image.shape[0])
        if interpolation == "NEAREST":
            found = _read(image, rounded_away(np, y), rounded_away(np, x), fill)
        else:
            found = _between(image, y, x, fill)
        out[index] = np.where((projection == 0)[..., None], fill, found)
    return out


def _read(image: Array, y: Array, x: Array, fill: Array) -> Array:
    """Return the pixels at integer positions; outside the image, the fill value."""
    inside = (y >= 0) & (y < image.shape[0]) & (x >= 0) & (x < image.shape[1])
    if not image.size:
        return np.broadcast_to(fill, (*y.shape, image.shape[-1]))
    row, column = (np.where(inside, place, 0).astype(np.int64) for place in (y, x))
    return np.where(inside[..., None], image[row, column], fill)


def _between(image: Array, y: Array, x: Array, fill: Array) -> Array:
    """Return each pixel interpolated from the four around its position, in single precision."""
    top, left = np.floor(y), np.floor(x)
    bottom, right = top + np.float32(1), left + np.float32(1)

    def along(row: Array) -> Array:
        first = _read(image, row, left, fill).astype(np.float32)
        second = _read(image, row, right, fill).astype(np.float32)
        return (right - x)[..., None] * first + (x - left)[..., None] * second

    found = (bottom - y)[..., None] * along(top) + (y - top)[..., None] * along(bottom)
    return found.astype(image.dtype)


def _checked(interpolation: str, fill_mode: str) -> tuple[str, str]:
    if interpolation not in ("NEAREST", "BILINEAR"):
        raise errors.invalid_argument(
            f"Invalid interpolation {interpolation}. Supported types: NEAREST, BILINEAR"
        )
    if fill_mode not in _FILL_MODES:
        raise errors.invalid_argument(
            f"Invalid mode {fill_mode}. Supported types: REFLECT, WRAP, CONSTANT, NEAREST"
        )
    return interpolation, fill_mode


@register_op(
    "ImageProjectiveTransformV2",
    "images: dtype, transforms: float, output_shape: int32 -> transformed_images: dtype",
    *_ATTRS,
    shape=_transformed_shape,
    **_CPU,
)
def image_projective_transform_v2(
    xp: Xp,
    images: Array,
    transforms: Array,
    output_shape: Array,
    *,
    interpolation: str,
    fill_mode: str,
) -> Array:
    """Return transformed images; pixels outside are 0, or follow the fill mode."""
    modes = _checked(interpolation, fill_mode)
    return _transformed(images, transforms, output_shape, 0.0, *modes)


@register_op(
    "ImageProjectiveTransformV3",
    "images: dtype, transforms: float, output_shape: int32, fill_value: float -> "
    "transformed_images: dtype",
    *_ATTRS,
    shape=_transformed_shape,
    **_CPU,
)
def image_projective_transform_v3(
    xp: Xp,
    images: Array,
    transforms: Array,
    output_shape: Array,
    fill_value: Array,
    *,
    interpolation: str,
    fill_mode: str,
) -> Array:
    """Return transformed images; the value of pixels outside is an input."""
    modes = _checked(interpolation, fill_mode)
    if fill_value.ndim:
        raise errors.invalid_argument(
            f"fill_value must be a scalar, not of shape {shape_text(fill_value.shape)}"
        )
    return _transformed(images, transforms, output_shape, float(fill_value), *modes)


def _inverted(op: Operation) -> dict[str, Any]:
    """Return the arguments of the inverse transform."""
    images, transforms = op.inputs[0], op.inputs[1]
    flat = array_ops.reshape(transforms, [-1, 8])
    ones = array_ops.ones([array_ops.shape(flat)[0], 1])
    matrices = array_ops.reshape(array_ops.concat([flat, ones], axis=1), [-1, 3, 3])
    inverse = array_ops.reshape(matrix_inverse(matrices), [-1, 9])
    return {
        "transforms": (inverse / inverse[:, 8:9])[:, :8],
        "output_shape": array_ops.shape(images)[1:3],
        "interpolation": op.get_attr("interpolation"),
        "fill_mode": op.get_attr("fill_mode"),
    }


@image_projective_transform_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return image_projective_transform_v2(images=grad, **_inverted(op)), None, None


@image_projective_transform_v3.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    back = image_projective_transform_v3(images=grad, fill_value=0.0, **_inverted(op))
    return back, None, None, None
