"""Crops of images at boxes, resized to one size, and their gradients for images and boxes.

A box is y1, x1, y2, x2 in parts of the image's height and width; 1 is the last pixel. Corresponds
to TensorFlow's ``crop_and_resize_op.cc``.

Crops are made in blocks that stay in cache, on several threads. The pixels of a block are taken
from the images as one list of pixels, and a row of a crop is one row of width * channels numbers,
because NumPy is slow at arrays whose last dimension is as short as three channels.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.records import record
from tfnb.core.process.work_sharder import shard
from tfnb.core.shape_inference import InferenceContext, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.image import compiled_crops
from tfnb.ops.image.image_resize_ops import add_pixels, checked_pair, rounded

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike

_IMAGES = "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}"
_METHOD = "method: {'bilinear', 'nearest'} = 'bilinear'"


def _boxes_dim(c: InferenceContext, boxes: int, index: int) -> int | None:
    dims, indices = c.with_rank(boxes, 2).dim_values, c.with_rank(index, 1).dim_values
    if dims is not None and dims[1] is not None and dims[1] != 4:
        raise ValueError(f"Dimension must be 4 but is {dims[1]}")
    return merge_dims(None if dims is None else dims[0], None if indices is None else indices[0])


def _crop_shape(c: InferenceContext) -> TensorShape:
    image = c.with_rank(0, 4).dim_values
    count = _boxes_dim(c, 1, 2)
    length = c.with_rank(3, 1).dim_values
    if length and length[0] is not None and length[0] != 2:
        raise ValueError(f"Dimension must be 2 but is {length[0]}")
    size = c.constant_value(3)
    sides = [None, None] if size is None else [int(side) for side in size]
    return TensorShape([count, *sides, None if image is None else image[3]])


def _grad_image_shape(c: InferenceContext) -> TensorShape:
    shape = c.constant_value_as_shape(3)
    return shape.with_rank(4)


@record(slots=True)
class _Places:
    """The positions of the pixels of all crops along one axis: arrays of (boxes, crop size)."""

    lower: TensorLike
    upper: TensorLike
    fraction: Any
    nearest: Any
    is_inside: Any


def _places(first: Array, last: Array, crop: int, length: int) -> _Places:
    step = np.arange(crop, dtype=np.float32)
    far = np.float32(length - 1)
    if crop > 1:
        scale = (last - first) * far / np.float32(crop - 1)
        place = first[:, None] * far + step * scale[:, None]
    else:
        place = np.float32(0.5) * (first + last)[:, None] * far
    is_inside = (place >= 0) & (place <= far)
    safe = np.where(is_inside, place, np.float32(0))
    floor = np.floor(safe)
    # As a float, the number of the last pixel may be rounded up.
    lower, upper, nearest = (
        np.minimum(one.astype(np.intp), length - 1) for one in (floor, np.ceil(safe), rounded(safe))
    )
    return _Places(lower, upper, safe - floor, nearest, is_inside)


def _check(boxes: Array, box_ind: Array) -> None:
    if not boxes.size and not box_ind.size:
        return
    if boxes.ndim != 2:
        raise errors.invalid_argument("boxes must be 2-D")
    if boxes.shape[1] != 4:
        raise errors.invalid_argument("boxes must have 4 columns")
    if box_ind.ndim != 1:
        raise errors.invalid_argument("box_index must be 1-D")
    if box_ind.shape[0] != boxes.shape[0]:
        raise errors.invalid_argument("box_index has incompatible shape")


def _check_range(box_ind: Array, batch: int) -> None:
    if box_ind.size and not ((box_ind >= 0) & (box_ind < batch)).all():
        raise errors.out_of_range("box_index has values outside [0, batch_size)")


def _check_grads(grads: Array, boxes: Array, depth: int) -> None:
    if not all(grads.shape[1:3]):
        raise errors.invalid_argument("grads dimensions must be positive")
    if len(grads) != (len(boxes) if boxes.size else 0):
        raise errors.invalid_argument("boxes and grads have incompatible shape")
    if grads.shape[3] != depth:
        raise errors.invalid_argument("image and grads have different depths")


def _both(boxes: Array, crop: tuple[int, int], height: int, width: int) -> tuple[_Places, _Places]:
    rows = _places(boxes[:, 0], boxes[:, 2], crop[0], height)
    return rows, _places(boxes[:, 1], boxes[:, 3], crop[1], width)


def _inside(y: _Places, x: _Places) -> Array:
    return (y.is_inside[:, :, None] & x.is_inside[:, None, :])[..., None]


def _corners(
    image: Array, box_ind: Array, y: _Places, x: _Places
) -> tuple[Array, Array, Array, Array]:
    """Return the four pixels around each place, as float32."""
    which = box_ind[:, None, None]

    def pick(rows: Array, columns: Array) -> Array:
        return image[which, rows[:, :, None], columns[:, None, :]].astype(np.float32)

    return (
        pick(y.lower, x.lower),
        pick(y.lower, x.upper),
        pick(y.upper, x.lower),
        pick(y.upper, x.upper),
    )


# Approximate number of elements of the crops, or of the rows of a crop, that are made at once.
_BLOCK = 1 << 15


def _blocks(count: int, rows: int, row_size: int) -> list[tuple[slice, slice]]:
    """Return the boxes and the rows of each block: several whole crops, or rows of one crop."""
    at_once = _BLOCK // max(1, rows * row_size)
    if at_once:
        starts = range(0, count, at_once)
        return [(slice(n, min(n + at_once, count)), slice(0, rows)) for n in starts]
    height = max(1, _BLOCK // max(1, row_size))
    return [
        (slice(box, box + 1), slice(top, min(top + height, rows)))
        for box, top in product(range(count), range(0, rows, height))
    ]


class _Crops:
    """The crops of one call.

    Args:
      image: [batch, height, width, channels].
      box_ind: the image of each box.
      y: the places of the crops' rows.
      x: the places of the crops' columns.
    """

    def __init__(self, image: Array, box_ind: Array, y: _Places, x: _Places) -> None:
        _, self._height, self._width, self._channels = image.shape
        self._pixels = image.reshape(-1, self._channels)
        self._first_rows = box_ind.astype(np.intp) * self._height
        self._y, self._x = y, x
        self.out = np.empty((*y.is_inside.shape, x.is_inside.shape[1] * self._channels), np.float32)

    def make(self, *, is_nearest: bool, outside: float) -> Array:
        """Return the crops; places outside of the image get a number."""
        count, rows, row_size = self.out.shape
        blocks = _blocks(count, rows, row_size)
        work = self._take_nearest if is_nearest else self._interpolate

        def make(begin: int, end: int) -> None:
            for boxes, some in blocks[begin:end]:
                work(boxes, some)

        shard(len(blocks), 2, make)
        found = self.out.reshape(count, rows, -1, self._channels)
        if not (self._y.is_inside.all() and self._x.is_inside.all()):
            found[~_inside(self._y, self._x)[..., 0]] = np.float32(outside)
        return found

    def _pick(self, boxes: slice, rows: Array, columns: Array) -> Array:
        """Return pixels at rows of each box and columns of each box, as rows of float32."""
        starts = (self._first_rows[boxes, None] + rows) * self._width
        places = starts[:, :, None] + columns[:, None, :]
        # Every place is valid: clipping only omits a check, and a copy that it takes.
        found = self._pixels.take(places, axis=0, mode="clip")
        return found.reshape(*rows.shape, -1).astype(np.float32, copy=False)

    def _take_nearest(self, boxes: slice, some: slice) -> None:
        rows, columns = self._y.nearest[boxes, some], self._x.nearest[boxes]
        self.out[boxes, some] = self._pick(boxes, rows, columns)

    def _interpolate(self, boxes: slice, some: slice) -> None:
        x, y = self._x, self._y
        right = np.repeat(x.fraction[boxes], self._channels, axis=1)[:, None]
        top = self._between(boxes, y.lower[boxes, some], right)
        bottom = self._between(boxes, y.upper[boxes, some], right)
        bottom -= top
        bottom *= y.fraction[boxes, some, None]
        np.add(top, bottom, out=self.out[boxes, some])

    def _between(self, boxes: slice, rows: Array, right: Array) -> Array:
        """Return rows of pixels, interpolated between their columns."""
        left = self._pick(boxes, rows, self._x.lower[boxes])
        found = self._pick(boxes, rows, self._x.upper[boxes])
        found -= left
        found *= right
        found += left
        return found


@register_op(
    "CropAndResize",
    "image: T, boxes: float, box_ind: int32, crop_size: int32 -> crops: float",
    _IMAGES,
    _METHOD,
    "extrapolation_value: float = 0",
    shape=_crop_shape,
    devices=("CPU",),
)
def crop_and_resize_op(
    xp: Xp,
    image: Array,
    boxes: Array,
    box_ind: Array,
    crop_size: Array,
    *,
    method: str,
    extrapolation_value: float,
) -> Array:
    """Return the parts of images in boxes, all resized to `crop_size`."""
    if image.ndim != 4:
        raise errors.invalid_argument(f"input image must be 4-D{shape_text(image.shape)}")
    batch, height, width, channels = image.shape
    if height <= 0 or width <= 0:
        raise errors.invalid_argument("image dimensions must be positive")
    _check(boxes, box_ind)
    crop = checked_pair(crop_size, "crop_size")
    if min(crop) <= 0:
        raise errors.invalid_argument("crop dimensions must be positive")
    if not boxes.size:
        return np.zeros((0, *crop, channels), np.float32)
    _check_range(box_ind, batch)
    if not np.isfinite(boxes).all():
        raise errors.invalid_argument("Boxes contains at least one element that is not finite")
    shape = (len(boxes), *crop, channels)
    check_fits(np, shape, np.dtype(np.float32))
    is_nearest = method == "nearest"
    made = compiled_crops.crops(
        image, boxes, box_ind, crop, is_nearest=is_nearest, outside=extrapolation_value
    )
    if made is not None:
        return made
    y, x = _both(boxes, crop, height, width)
    if not image.size:
        return np.zeros(shape, np.float32)
    crops = _Crops(image, box_ind, y, x)
    return crops.make(is_nearest=is_nearest, outside=extrapolation_value)


@register_op(
    "CropAndResizeGradImage",
    "grads: float, boxes: float, box_ind: int32, image_size: int32 -> output: T",
    "T: {float, half, double}",
    _METHOD,
    shape=_grad_image_shape,
    devices=("CPU",),
)
def crop_and_resize_grad_image(
    xp: Xp, grads: Array, boxes: Array, box_ind: Array, image_size: Array, *, T: DType, method: str
) -> Array:
    """Return the gradients of images from those of their crops."""
    if grads.ndim != 4:
        raise errors.invalid_argument("grads image must be 4-D")
    if image_size.ndim != 1 or image_size.shape[0] != 4:
        raise errors.invalid_argument("image_size must be 1-D with 4 elements")
    sizes = tuple(image_size.tolist())
    _check(boxes, box_ind)
    _check_grads(grads, boxes, sizes[3])
    check_fits(np, sizes, T.numpy_dtype)
    if sizes[1] <= 0 or sizes[2] <= 0:
        raise errors.invalid_argument("image dimensions must be positive")
    total = np.zeros(sizes, np.float32 if T.size == 2 else T.as_numpy_dtype)
    if not boxes.size:
        return total.astype(T.as_numpy_dtype, copy=False)
    _check_range(box_ind, sizes[0])
    y, x = _both(boxes, grads.shape[1:3], sizes[1], sizes[2])
    which = box_ind[:, None, None]
    weighted = np.where(_inside(y, x), grads, np.float32(0))

    def spread(rows: Array, columns: Array, values: Array) -> None:
        add_pixels(total, which, rows[:, :, None], columns[:, None, :], values)

    if method == "nearest":
        spread(y.nearest, x.nearest, weighted)
    else:
        right, bottom = x.fraction[:, None, :, None], y.fraction[:, :, None, None]
        upper, lower = weighted * (1 - bottom), weighted * bottom
        spread(y.lower, x.lower, upper * (1 - right))
        spread(y.lower, x.upper, upper * right)
        spread(y.upper, x.lower, lower * (1 - right))
        spread(y.upper, x.upper, lower * right)
    return total.astype(T.as_numpy_dtype, copy=False)


@register_op(
    "CropAndResizeGradBoxes",
    "grads: float, image: T, boxes: float, box_ind: int32 -> output: float",
    _IMAGES,
    "method: {'bilinear'} = 'bilinear'",
    shape=lambda c: c.inputs[2],
    devices=("CPU",),
)
def crop_and_resize_grad_boxes(
    xp: Xp, grads: Array, image: Array, boxes: Array, box_ind: Array
) -> Array:
    """Return the gradients of the boxes' corners from those of the crops."""
    if grads.ndim != 4:
        raise errors.invalid_argument("grads image must be 4-D")
    if image.ndim != 4:
        raise errors.invalid_argument(f"input image must be 4-D{shape_text(image.shape)}")
    _check(boxes, box_ind)
    _check_grads(grads, boxes, image.shape[3])
    height, width = image.shape[1:3]
    if height <= 0 or width <= 0:
        raise errors.invalid_argument("image dimensions must be positive")
    if not boxes.size:
        return np.zeros((0, 4), np.float32)
    _check_range(box_ind, len(image))
    y, x = _both(boxes, grads.shape[1:3], height, width)
    top_left, top_right, bottom_left, bottom_right = _corners(image, box_ind, y, x)
    right, bottom = x.fraction[:, None, :, None], y.fraction[:, :, None, None]
    slope_y = (1 - right) * (bottom_left - top_left) + right * (bottom_right - top_right)
    slope_x = (1 - bottom) * (top_right - top_left) + bottom * (bottom_right - bottom_left)
    inside = _inside(y, x)
    per_row = np.where(inside, slope_y * grads, np.float32(0)).sum(axis=(2, 3))
    per_column = np.where(inside, slope_x * grads, np.float32(0)).sum(axis=(1, 3))
    y_first, y_last = _shares(grads.shape[1], height)
    x_first, x_last = _shares(grads.shape[2], width)
    return np.stack(
        [per_row @ y_first, per_column @ x_first, per_row @ y_last, per_column @ x_last], axis=1
    ).astype(np.float32)


def _shares(crop: int, length: int) -> tuple[Array, Array]:
    """Return the share of a box's first and last edge in each position along an axis."""
    far = np.float32(length - 1)
    if crop <= 1:
        return np.full(crop, 0.5 * far, np.float32), np.full(crop, 0.5 * far, np.float32)
    last = np.arange(crop, dtype=np.float32) * (far / np.float32(crop - 1))
    return far - last, last


@crop_and_resize_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    image, boxes, box_ind, _ = op.inputs
    grad_image = None
    if image.dtype.is_floating:
        known = image.shape
        size = known.as_list() if known.is_fully_defined() else array_ops.shape(image)
        grad_image = crop_and_resize_grad_image(
            grad, boxes, box_ind, size, T=image.dtype, method=op.get_attr("method")
        )
    return grad_image, crop_and_resize_grad_boxes(grad, image, boxes, box_ind), None, None
