"""Images scaled and translated: each pixel is a weighted mean of those around its position.

The weights are a kernel function of the distance; it becomes wider if the image is reduced and
`antialias` is set. Corresponds to TensorFlow's ``scale_and_translate_op.cc`` and
``sampling_kernels.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.image.image_resize_ops import size_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

    Floats = NDArray[np.float32]
    _Table = tuple[Floats, NDArray[np.int64], int]

_ATTRS = ("kernel_type: string = 'lanczos3'", "antialias: bool = true")

# ------------------------------------------------------------------------------------------ kernels


def _lanczos(radius: float) -> tuple[float, Callable[[Floats], Any]]:
    def weight(x: Floats) -> Any:
        safe = np.where(x <= 1e-3, np.float32(1), x)
        pi = np.float32(np.pi)
        waves = np.sin(pi * safe) * np.sin(pi * safe / np.float32(radius))
        value = np.float32(radius) * waves / (pi * pi * safe * safe)
        return np.where(x > radius, 0, np.where(x <= 1e-3, 1, value))

    return radius, weight


def _gaussian(x: Floats) -> Any:
    return np.where(x >= 1.5, 0, np.exp(-x * x / (2.0 * 0.5 * 0.5)))


def _box(x: Floats) -> Any:
    return np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))


def _triangle(x: Floats) -> Any:
    return np.maximum(1.0 - x, 0.0)


def _keys_cubic(x: Floats) -> Any:
    outer = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x >= 2, 0, np.where(x >= 1, outer, ((1.5 * x - 2.5) * x) * x + 1.0))


def _mitchell_cubic(x: Floats) -> Any:
    outer = (((-7.0 / 18.0) * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0
    inner = (((7.0 / 6.0) * x - 2.0) * x) * x + 8.0 / 9.0
    return np.where(x >= 2, 0, np.where(x >= 1, outer, inner))


# name -> (radius, weight by distance)
_KERNELS: dict[str, tuple[float, Callable[[Floats], Any]]] = {
    "lanczos1": _lanczos(1.0),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": (1.5, _gaussian),
    "box": (1.0, _box),
    "triangle": (1.0, _triangle),
    "keyscubic": (2.0, _keys_cubic),
    "mitchellcubic": (2.0, _mitchell_cubic),
}


def _weights(
    kernel_type: str, out_size: int, in_size: int, scale: Array, translate: Array, antialias: bool
) -> _Table:
    """Return the weights of the source pixels (columns) in the pixels of the result (rows).

    The start of each row's span and the length of all spans are returned, too.
    """
    radius, weight = _KERNELS[kernel_type]
    inverse = np.float32(1.0 / np.float64(scale))
    moved = np.float32(-inverse * np.float32(translate))
    widened = max(inverse, np.float32(1)) if antialias else np.float32(1)
    reach = np.float32(radius) * widened
    span = min(2 * int(np.ceil(reach)) + 1, in_size)
    table = np.zeros((out_size, in_size), np.float32)
    starts = np.zeros(out_size, np.int64)
    for x in range(out_size):
        place = np.float32(np.float32(x + 0.5) * inverse + moved)
        # Pixels outside the source image stay black.
        if not 0 <= place <= in_size:
            continue
        first = int(np.ceil(place - reach - np.float32(0.5)))
        last = int(np.floor(place + reach - np.float32(0.5)))
        first, last = (min(max(bound, 0), in_size - 1) for bound in (first, last))
        sources = np.arange(first, last + 1, dtype=np.float32)
        distances = abs((sources + np.float32(0.5) - place) * (np.float32(1) / widened))
        found = np.asarray(weight(distances), np.float32)
        total = found.sum(dtype=np.float32)
        if abs(total) >= 1000 * np.finfo(np.float32).tiny:
            table[x, first : last + 1] = found * (np.float32(1) / total)
        starts[x] = first
    return table, starts, span


def _of_gradients(table: Floats) -> _Table:
    """Return the weights of the result's gradients in the source's pixels."""
    used = table.T != 0
    first = used.argmax(axis=1)
    last = used.shape[1] - 1 - used[:, ::-1].argmax(axis=1)
    return table.T, first, int(np.where(used.any(axis=1), last - first + 1, 0).max(initial=0))


def _summed(xp: Xp, how: str, table: _Table, images: Array, axis: int) -> Array:
    """Return the weighted sums of images along an axis."""
    weights, starts, span = table
    if xp is not np or np.isfinite(images).all():
        return xp.einsum(how, xp.asarray(weights), images)
    # Within a span, zero weights turn infinities into NaN; outside it they do not.
    moved = np.moveaxis(images, axis, -1)
    found = np.zeros((*moved.shape[:-1], len(weights)), np.float32)
    for x, start in enumerate(starts.tolist()):
        part = slice(start, start + span)
        found[..., x] = (moved[..., part] * weights[x, part]).sum(axis=-1)
    return np.moveaxis(found, -1, axis)


def _check(images: Array, scale: Array, translation: Array, kernel_type: str) -> None:
    if kernel_type not in _KERNELS:
        raise errors.invalid_argument(
            f"Unrecognized kernel type: {kernel_type}; supported types: {', '.join(_KERNELS)}"
        )
    if images.ndim != 4:
        raise errors.invalid_argument(f"input must be 4-dimensional{shape_text(images.shape)}")
    for name, value in (("scale", scale), ("translation", translation)):
        if value.shape != (2,):
            raise errors.invalid_argument(
                f"{name} must be 1-dimensional with two elements, not {shape_text(value.shape)}"
            )
    if not (np.asarray(scale) > 0).all():
        raise errors.invalid_argument("Scale must be greater than zero.")


def _check_images(images: Array) -> None:
    if 0 in images.shape[1:3]:
        raise errors.invalid_argument("input image must be of non-zero size")
    if images.shape[3] == 0:
        raise errors.invalid_argument("image must have at least one channel")


def _tables(
    sizes: tuple[int, int],
    images: Array,
    scale: Array,
    translation: Array,
    kernel_type: str,
    antialias: bool,
) -> Iterator[_Table]:
    return (
        _weights(
            kernel_type,
            sizes[axis],
            images.shape[axis + 1],
            scale[axis],
            translation[axis],
            antialias,
        )
        for axis in (0, 1)
    )


# ------------------------------------------------------------------------------------------ the ops


def _scaled_shape(c: InferenceContext) -> TensorShape:
    images = c.with_rank(0, 4).dim_values
    height, width = size_input(c)
    batch, channels = (None, None) if images is None else (images[0], images[3])
    return TensorShape([batch, height, width, channels])


@register_op(
    "ScaleAndTranslate",
    "images: T, size: int32, scale: float, translation: float -> resized_images: float",
    "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}",
    *_ATTRS,
    shape=_scaled_shape,
    host_memory=("size", "scale", "translation"),
)
def scale_and_translate(
    xp: Xp,
    images: Array,
    size: Array,
    scale: Array,
    translation: Array,
    *,
    kernel_type: str,
    antialias: bool,
) -> Array:
    """Return images of `size` that show the originals scaled and then translated."""
    _check(images, scale, translation, kernel_type)
    if size.shape != (2,):
        raise errors.invalid_argument(
            f"output_shape_t must have two elements, not {shape_text(size.shape)}"
        )
    rows, columns = (int(one) for one in size)
    if min(rows, columns) <= 0:
        raise errors.invalid_argument("output dimensions must be positive")
    _check_images(images)
    check_fits(xp, (len(images), rows, columns, images.shape[3]), np.dtype(np.float32))
    by_row, by_column = _tables((rows, columns), images, scale, translation, kernel_type, antialias)
    wide = images.astype(np.float32, copy=False)
    partial = _summed(xp, "yh,bhwc->bywc", by_row, wide, 1)
    return _summed(xp, "xw,bywc->byxc", by_column, partial, 2)


@scale_and_translate.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    of_images = scale_and_translate_grad(
        grad,
        op.inputs[0],
        op.inputs[2],
        op.inputs[3],
        kernel_type=op.get_attr("kernel_type"),
        antialias=op.get_attr("antialias"),
    )
    return [of_images, None, None, None]


@register_op(
    "ScaleAndTranslateGrad",
    "grads: T, original_image: T, scale: float, translation: float -> output: T",
    "T: {float}",
    *_ATTRS,
    shape=lambda c: c.inputs[1],
    host_memory=("scale", "translation"),
)
def scale_and_translate_grad(
    xp: Xp,
    grads: Array,
    original_image: Array,
    scale: Array,
    translation: Array,
    *,
    kernel_type: str,
    antialias: bool,
) -> Array:
    """Return the gradient of ScaleAndTranslate by the images."""
    _check(original_image, scale, translation, kernel_type)
    if grads.ndim != 4:
        raise errors.invalid_argument(f"input must be 4-dimensional{shape_text(grads.shape)}")
    sizes = (grads.shape[1], grads.shape[2])
    shape = (len(grads), *original_image.shape[1:3], grads.shape[3])
    if not grads.size or 0 in shape:
        return xp.zeros(shape, grads.dtype)
    by_row, by_column = (
        _of_gradients(table)
        for table, _, _ in _tables(
            sizes, original_image, scale, translation, kernel_type, antialias
        )
    )
    partial = _summed(xp, "wx,byxc->bywc", by_column, grads, 2)
    return _summed(xp, "hy,bywc->bhwc", by_row, partial, 1)
