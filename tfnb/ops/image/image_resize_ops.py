"""Resizing images: bilinear, bicubic, nearest neighbour, area; and resized crops.

All methods except nearest neighbour are a weighted sum along rows and one along columns. The
position in the image of each result pixel is computed in float32, as TensorFlow does
(``image_resizer_state.h``, ``resize_*_op.cc``).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.work_sharder import shard
from tfnb.core.shape_inference import merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops, compiled_scatter
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.image import compiled_resize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "image": [
        "resize_area:resize_area_op",
        "resize_bicubic",
        "resize_bilinear",
        "resize_nearest_neighbor",
    ]
}

_IMAGES = "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}"
_ALIGN = "align_corners: bool = false"
_HALF = "half_pixel_centers: bool = false"
_CPU: dict[str, Any] = {"devices": ("CPU",)}


def size_input(c: InferenceContext) -> tuple[int | None, int | None]:
    """Return height and width from the second input, where they are known.

    Raises:
      ValueError: the input is not a vector of two, or a size is negative.
    """
    merge_dims((c.with_rank(1, 1).dim_values or (None,))[0], 2)
    size = c.constant_value(1)
    if size is None:
        return None, None
    height, width = (int(one) for one in size)
    for side in (height, width):
        if side < 0:
            raise ValueError(f"Dimension size must be non-negative, but is {side}")
    return height, width


def _sized_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank(0, 4).dim_values
    length = c.with_rank(1, 1).dim_values
    if length and length[0] is not None and length[0] != 2:
        raise ValueError(f"Dimension must be 2 but is {length[0]}")
    size = c.constant_value(1)
    sides: list[int | None] = [None, None]
    for position, side in enumerate([] if size is None else size.tolist()):
        if side < -1:
            raise ValueError(f"Dimension {side} must be >= 0")
        sides[position] = None if side == -1 else side
    batch, channels = (None, None) if dims is None else (dims[0], dims[3])
    return TensorShape([batch, *sides, channels])


def _like_original(c: InferenceContext) -> TensorShape:
    return c.inputs[1]


def checked_size(images: Array, size: Array) -> tuple[int, int]:
    """Return the requested height and width.

    Raises:
      InvalidArgumentError: there are no images, or the size is invalid.
    """
    if images.ndim != 4:
        raise errors.invalid_argument(f"input must be 4-dimensional{shape_text(images.shape)}")
    height, width = checked_pair(size, "shape_t")
    if height <= 0 or width <= 0:
        raise errors.invalid_argument("output dimensions must be positive")
    if images.shape[1] <= 0 or images.shape[2] <= 0:
        raise errors.invalid_argument("input image must be of non-zero size")
    if images.shape[3] <= 0:
        raise errors.invalid_argument("image must have at least one channel")
    check_fits(np, (images.shape[0], height, width, images.shape[3]), np.dtype(np.float32))
    return height, width


def checked_pair(size: Array, name: str) -> tuple[int, int]:
    """Return height and width from a vector.

    Raises:
      InvalidArgumentError: the input is not a vector of two.
    """
    if size.ndim != 1:
        raise errors.invalid_argument(f"{name} must be 1-dimensional{shape_text(size.shape)}")
    if size.shape[0] != 2:
        raise errors.invalid_argument(f"{name} must have two elements{shape_text(size.shape)}")
    return int(size[0]), int(size[1])


def _scale(source: int, target: int, align_corners: bool) -> np.float32:
    if align_corners and target > 1:
        return np.float32(np.float32(source - 1) / np.float32(target - 1))
    return np.float32(np.float32(source) / np.float32(target))


def _places(source: int, target: int, align: bool, half: bool) -> NDArray[np.float32]:
    """Return the position of each result pixel in the image."""
    scale = _scale(source, target, align)
    index = np.arange(target, dtype=np.float32)
    if half:
        return (index + np.float32(0.5)) * scale - np.float32(0.5)
    return index * scale


# ----------------------------------------------------------------------------------------- bilinear


def neighbours(source: int, target: int, align: bool, half: bool) -> tuple[Array, Array, Array]:
    """Return the two pixels around each position, and its distance from the first."""
    place = _places(source, target, align, half)
    floor = np.floor(place)
    # Limited as integers: as a float, the number of the last pixel may be rounded up.
    lower, upper = (one.astype(np.intp).clip(0, source - 1) for one in (floor, np.ceil(place)))
    return lower, upper, place - floor


@lru_cache(maxsize=32)
def bilinear_tables(
    source: tuple[int, int], target: tuple[int, int], channels: int, align: bool, half: bool
) -> tuple[Array, ...]:
    """Return the tables of ``compiled_resize.bilinear`` for heights and widths."""
    top, bottom, y = neighbours(source[0], target[0], align, half)
    left, right, x = neighbours(source[1], target[1], align, half)
    places = (compiled_resize.column_places(one, channels) for one in (left, right))
    rows = top.astype(np.int64), bottom.astype(np.int64), y
    return (*places, compiled_resize.column_fractions(x, channels), *rows)


@lru_cache(maxsize=32)
def _bilinear_weights(source: int, target: int, align: bool, half: bool) -> Weights:
    lower, upper, fraction = neighbours(source, target, align, half)
    return _from_taps(source, [(lower, 1 - fraction), (upper, fraction)])


class Weights:
    """The weights of image pixels in each result pixel, along one axis.

    Args:
      targets: result pixels.
      sources: for each of them, an image pixel that contributes to it.
      parts: the weights; zeros matter, since they turn infinities into NaN.
      size: number of pixels of the result and of the image.
    """

    def __init__(self, targets: Array, sources: Array, parts: Array, size: tuple[int, int]) -> None:
        self.targets, self.sources = targets, sources
        self.parts = parts.astype(np.float32, copy=False)
        self.matrix = np.zeros(size, np.float32)
        np.add.at(self.matrix, (targets, sources), self.parts)

    def sums(self, images: Array, turned: bool = False) -> Array:
        """Return weighted sums along the last axis but one; `turned` transposes the weights."""
        matrix = self.matrix.T if turned else self.matrix
        if np.isfinite(images).all():
            return np.matmul(matrix, images)
        to, of = (self.sources, self.targets) if turned else (self.targets, self.sources)
        found = np.zeros((*images.shape[:-2], len(matrix), images.shape[-1]), images.dtype)
        place: Array = (..., to, slice(None))
        np.add.at(found, place, images[..., of, :] * self.parts[:, None])
        return found


def _from_taps(source: int, taps: list[tuple[Array, Array]]) -> Weights:
    """Return weights of (sources, parts) pairs, each with one entry per result pixel."""
    target = len(taps[0][0])
    sources, parts = (np.concatenate(both) for both in zip(*taps, strict=True))
    return Weights(np.tile(np.arange(target), len(taps)), sources, parts, (target, source))


def weighted(rows: Weights, columns: Weights, images: Array, turned: bool = False) -> Array:
    """Return weighted sums along rows and columns of (batch, height, width, channels) images."""
    batch, height, width, channels = images.shape
    tall = rows.sums(images.reshape(batch, height, width * channels), turned)
    high = tall.shape[1]
    wide = columns.sums(tall.reshape(batch * high, width, channels), turned)
    return wide.reshape(batch, high, wide.shape[1], channels)


@register_op(
    "ResizeBilinear",
    "images: T, size: int32 -> resized_images: float",
    "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}",
    _ALIGN,
    _HALF,
    shape=_sized_shape,
    **_CPU,
)
def resize_bilinear_op(
    xp: Xp, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    """Return resized images; each pixel is interpolated from the four around its position."""
    _refuse_both(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    values = images.astype(np.float32, copy=False)
    if images.shape[1:3] == (height, width):
        return values
    tables = partial(
        bilinear_tables, images.shape[1:3], (height, width), images.shape[3],
        align_corners, half_pixel_centers,
    )  # fmt: skip
    resized = compiled_resize.bilinear(values, height, width, tables)
    if resized is not None:
        return resized
    top, bottom, y = neighbours(images.shape[1], height, align_corners, half_pixel_centers)
    left, right, x = neighbours(images.shape[2], width, align_corners, half_pixel_centers)
    channels = images.shape[3]
    out = np.empty((len(images), height, width * channels), np.float32)
    across, down = np.repeat(x, channels), y[:, None]

    def work(begin: int, end: int) -> None:
        # First interpolate between the columns of the existing rows, then between rows.
        for image, target in zip(values[begin:end], out[begin:end], strict=True):
            rows = _between(image.take(left, 1), image.take(right, 1), across)
            np.add(*_step(rows.take(top, 0), rows.take(bottom, 0), down), out=target)

    if out.size:
        shard(len(images), _LEAST_PIXELS // (out.size // len(images)) + 1, work)
    return out.reshape(len(images), height, width, channels)


# Minimum number of result elements per thread.
_LEAST_PIXELS = 1 << 16


def _between(first: Array, second: Array, fraction: Array) -> Array:
    """Return ``first + (second - first) * fraction`` along rows of width * channels."""
    flat = (len(first), fraction.size)
    one, step = _step(first.reshape(flat), second.reshape(flat), fraction)
    return np.add(one, step, out=step)


def _step(first: Array, second: Array, fraction: Array) -> tuple[Array, Array]:
    """Return ``first`` and ``(second - first) * fraction``; overwrite ``second``."""
    second -= first
    second *= fraction
    return first, second


def _refuse_both(align_corners: bool, half_pixel_centers: bool) -> None:
    if align_corners and half_pixel_centers:
        raise errors.invalid_argument("If half_pixel_centers is True, align_corners must be False.")


def _check_grads(grads: Array, original: Array) -> None:
    for name, value in (("input", grads), ("original_image", original)):
        if value.ndim != 4:
            raise errors.invalid_argument(f"{name} must be 4-dimensional{shape_text(value.shape)}")
        if 0 in value.shape[1:3]:
            raise errors.invalid_argument(f"dimensions of {name} must be positive")


@register_op(
    "ResizeBilinearGrad",
    "grads: float, original_image: T -> output: T",
    "T: {float, bfloat16, half, double}",
    _ALIGN,
    _HALF,
    shape=_like_original,
    **_CPU,
)
def resize_bilinear_grad(
    xp: Xp, grads: Array, original_image: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    """Return the gradient of the original images from those of the resized ones."""
    _refuse_both(align_corners, half_pixel_centers)
    _check_grads(grads, original_image)
    height, width = original_image.shape[1:3]
    tables = partial(
        bilinear_tables, (height, width), grads.shape[1:3], grads.shape[3],
        align_corners, half_pixel_centers,
    )  # fmt: skip
    found = compiled_resize.bilinear_gradient(grads, height, width, tables)
    if found is not None:
        return found.astype(original_image.dtype, copy=False)
    rows, columns = (
        _bilinear_weights(
            original_image.shape[a], grads.shape[a], align_corners, half_pixel_centers
        )
        for a in (1, 2)
    )
    return weighted(rows, columns, grads, turned=True).astype(original_image.dtype, copy=False)


resize_bilinear_grad.not_differentiable()


@resize_bilinear_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return resize_bilinear_grad(grad, op.inputs[0], **_flags(op)), None


def _flags(op: Operation) -> dict[str, bool]:
    return {name: op.get_attr(name) for name in ("align_corners", "half_pixel_centers")}


# ------------------------------------------------------------------------------------------ bicubic

_TABLE_SIZE = 1024


@lru_cache(maxsize=2)
def _cubic_table(a: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the weights of the near and the far pixel, by distance in 1/1024 pixels."""
    x = (np.arange(_TABLE_SIZE + 1) / _TABLE_SIZE).astype(np.float32)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + np.float32(1)
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return near.astype(np.float32), far.astype(np.float32)


@lru_cache(maxsize=32)
def _cubic_weights(source: int, target: int, align: bool, half: bool) -> Weights:
    place = _places(source, target, align, half)
    floor = np.floor(place)
    offset = np.rint((place - floor) * np.float32(_TABLE_SIZE)).astype(np.intp)
    near, far = _cubic_table(-0.5 if half else -0.75)
    back = _TABLE_SIZE - offset
    weights = [far[offset], near[offset], near[back], far[back]]
    indices = [floor.astype(np.intp) + step for step in (-1, 0, 1, 2)]
    bounded = [np.clip(index, 0, source - 1) for index in indices]
    if half:
        # Pixels outside the image get weight 0; the other weights are scaled to a sum of one.
        weights = [
            np.where(inside == index, weight, np.float32(0))
            for inside, index, weight in zip(bounded, indices, weights, strict=True)
        ]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [weight / total for weight in weights]
    return _from_taps(source, list(zip(bounded, weights, strict=True)))


@register_op(
    "ResizeBicubic",
    "images: T, size: int32 -> resized_images: float",
    _IMAGES,
    _ALIGN,
    _HALF,
    shape=_sized_shape,
    **_CPU,
)
def resize_bicubic_op(
    xp: Xp, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    """Return resized images; each pixel is interpolated from the sixteen around its position."""
    _refuse_both(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    rows = _cubic_weights(images.shape[1], height, align_corners, half_pixel_centers)
    columns = _cubic_weights(images.shape[2], width, align_corners, half_pixel_centers)
    return weighted(rows, columns, images.astype(np.float32, copy=False))


@register_op(
    "ResizeBicubicGrad",
    "grads: float, original_image: T -> output: T",
    "T: {float, double}",
    _ALIGN,
    _HALF,
    shape=_like_original,
    **_CPU,
)
def resize_bicubic_grad(
    xp: Xp, grads: Array, original_image: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    """Return the gradient of the original images from those of the resized ones."""
    _refuse_both(align_corners, half_pixel_centers)
    _check_grads(grads, original_image)
    rows, columns = (
        _cubic_weights(original_image.shape[a], grads.shape[a], align_corners, half_pixel_centers)
        for a in (1, 2)
    )
    return weighted(rows, columns, grads, turned=True).astype(original_image.dtype, copy=False)


@resize_bicubic_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    if op.inputs[0].dtype.name not in ("float32", "float64"):
        return None, None
    return resize_bicubic_grad(grad, op.inputs[0], **_flags(op)), None


# -------------------------------------------------------------------------------- nearest neighbour


def _nearest(source: int, target: int, align: bool, half: bool) -> NDArray[np.intp]:
    scale = _scale(source, target, align)
    step = np.arange(target, dtype=np.float32)
    place = (step + np.float32(0.5)) * scale if half else step * scale
    index = rounded(place) if align else np.floor(place).astype(np.intp)
    return np.clip(index, 0, source - 1)


@lru_cache(maxsize=32)
def nearest_tables(
    source: tuple[int, int], target: tuple[int, int], channels: int, align: bool, half: bool
) -> tuple[Array, Array]:
    """Return the tables of ``compiled_resize.nearest`` for heights and widths."""
    rows, columns = (_nearest(*sides, align, half) for sides in zip(source, target, strict=True))
    return compiled_resize.column_places(columns, channels), rows.astype(np.int64)


def rounded(place: Array) -> NDArray[np.intp]:
    """Return the nearest integers; halves are rounded up."""
    floor = np.floor(place)
    result: NDArray[np.intp] = (floor + (place - floor >= 0.5)).astype(np.intp)
    return result


@register_op(
    "ResizeNearestNeighbor",
    "images: T, size: int32 -> resized_images: T",
    _IMAGES,
    _ALIGN,
    _HALF,
    shape=_sized_shape,
    **_CPU,
)
def resize_nearest_neighbor_op(
    xp: Xp, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    """Return resized images; each pixel is the one nearest to its position."""
    _refuse_both(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    tables = partial(
        nearest_tables, images.shape[1:3], (height, width), images.shape[3],
        align_corners, half_pixel_centers,
    )  # fmt: skip
    resized = compiled_resize.nearest(images, height, width, tables)
    if resized is not None:
        return resized
    rows = _nearest(images.shape[1], height, align_corners, half_pixel_centers)
    columns = _nearest(images.shape[2], width, align_corners, half_pixel_centers)
    return images[:, rows[:, None], columns[None, :]]


@register_op(
    "ResizeNearestNeighborGrad",
    "grads: T, size: int32 -> output: T",
    "T: {uint8, int8, int32, half, float, double, bfloat16}",
    _ALIGN,
    _HALF,
    shape=_sized_shape,
    **_CPU,
)
def resize_nearest_neighbor_grad(
    xp: Xp, grads: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    """Return the sum of the gradients of all copies of a pixel."""
    if grads.ndim != 4:
        raise errors.invalid_argument(f"input must be 4-dimensional{shape_text(grads.shape)}")
    height, width = checked_pair(size, "shape_t")
    if height <= 0 or width <= 0:
        raise errors.invalid_argument("size must be positive")
    check_fits(np, (grads.shape[0], height, width, grads.shape[3]), grads.dtype)
    rows = _nearest(height, grads.shape[1], align_corners, half_pixel_centers)
    columns = _nearest(width, grads.shape[2], align_corners, half_pixel_centers)
    batch, _, _, channels = grads.shape
    total = np.zeros((batch, height, width, channels), grads.dtype)
    add_pixels(total, np.arange(batch)[:, None, None], rows[:, None], columns[None, :], grads)
    return total


def add_pixels(total: Array, which: Array, rows: Array, columns: Array, values: Array) -> None:
    """Add pixels into images, one after the other.

    Args:
      total: [batch, height, width, channels], in C order.
      which: the image of each pixel; `rows` and `columns` are its place.  They broadcast.
      rows: see `which`.
      columns: see `which`.
      values: the pixels, an array of the places' shape and the channels.
    """
    if not values.size:
        return
    _, height, width, channels = total.shape
    places = ((which.astype(np.int64) * height + rows) * width + columns).reshape(-1)
    pixels, flat = values.reshape(-1, channels), total.reshape(-1, channels)
    if not compiled_scatter.combine(flat, places, pixels, "add"):
        np.add.at(total, (which, rows, columns), values)


@resize_nearest_neighbor_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    image = op.inputs[0]
    known = image.shape[1:3]
    size = known.as_list() if known.is_fully_defined() else array_ops.shape(image)[1:3]
    return resize_nearest_neighbor_grad(grad, size, **_flags(op)), None


# --------------------------------------------------------------------------------------------- area


@lru_cache(maxsize=32)
def _area_parts(source: int, target: int, align: bool) -> tuple[np.float32, Array, Array, Array]:
    """Return the scale; and three arrays: result pixel, image pixel, covered part."""
    scale = _scale(source, target, align)
    found: list[tuple[int, int, Array]] = []
    if scale == 0:  # one pixel, stretched between its corners
        found, scale = [(row, 0, 1) for row in range(target)], np.float32(1)
    for row in range(0 if found else target):
        start = np.float32(row) * scale
        end = np.float32(row + 1) * scale
        for index in range(int(np.floor(start)), int(np.ceil(end))):
            if index < start:
                part = scale if index + 1 > end else np.float32(index + 1) - start
            else:
                part = end - np.float32(index) if index + 1 > end else np.float32(1)
            found.append((row, min(max(index, 0), source - 1), part))
    rows, indices, parts = (np.array(column) for column in zip(*found, strict=True))
    return scale, rows, indices, parts.astype(np.float32)


def _area_sums(images: Array, axis: int, rows: Array, indices: Array, parts: Array) -> Array:
    """Return the sums of parts along an axis, in TensorFlow's order."""
    values = np.ascontiguousarray(np.moveaxis(images, axis, 0))
    out = np.zeros((rows[-1] + 1, *values.shape[1:]), np.float32)
    numbers = np.arange(len(rows)) - np.searchsorted(rows, rows)
    for number in range(numbers.max() + 1):
        at = numbers == number
        found = values[indices[at]] * parts[at].reshape(-1, 1, 1, 1)
        if len(found) == len(out):
            out += found
        else:
            out[rows[at]] += found
    return np.moveaxis(out, 0, axis)


@register_op(
    "ResizeArea",
    "images: T, size: int32 -> resized_images: float",
    _IMAGES,
    _ALIGN,
    shape=_sized_shape,
    **_CPU,
)
def resize_area_op(xp: Xp, images: Array, size: Array, *, align_corners: bool) -> Array:
    """Return resized images; each pixel is the mean of the area that it covers."""
    height, width = checked_size(images, size)
    tall, *rows = _area_parts(images.shape[1], height, align_corners)
    wide, *columns = _area_parts(images.shape[2], width, align_corners)
    values = _area_sums(images.astype(np.float32, copy=False), 2, *columns)
    return _area_sums(values, 1, *rows) * (np.float32(1) / (tall * wide))


# --------------------------------------------------------------------------------- public functions


def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> TensorResult:
    """Return resized images; each pixel is interpolated from four."""
    return resize_bilinear_op(images, size, align_corners, half_pixel_centers, name=name)


def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> TensorResult:
    """Return resized images; each pixel is interpolated from sixteen."""
    return resize_bicubic_op(images, size, align_corners, half_pixel_centers, name=name)


def resize_nearest_neighbor(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> TensorResult:
    """Return resized images; each pixel is the one nearest to its position."""
    return resize_nearest_neighbor_op(images, size, align_corners, half_pixel_centers, name=name)
