"""tf.image: sizes, crops, flips and rotations, the public functions.

Images are [height, width, channels] or [batch, height, width, channels]. The ops are in the
``image_*_ops.py`` files, brightness and other adjustments in ``image_adjustments.py``, measures in
``image_measures.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value, constant_value_as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.case import case
from tfnb.library.control_flow.cond import cond
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.library.image.image_checks import at_least_3d, require, sizes_of, unknown_at_least_3d
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.image.image_crop_ops import crop_and_resize_op
from tfnb.ops.image.image_patch_ops import extract_image_patches_op
from tfnb.ops.image.image_resize_ops import (
    resize_area_op,
    resize_bicubic_op,
    resize_bilinear_op,
    resize_nearest_neighbor_op,
)
from tfnb.ops.math import math_ops
from tfnb.ops.random.random_ops import random_uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import IntsLike, Nested, TensorLike, TensorResult

EXPORTS = {
    "image": [
        "ResizeMethod", "central_crop", "crop_and_resize", "crop_to_bounding_box",
        "extract_image_patches", "extract_patches", "flip_left_right", "flip_up_down",
        "pad_to_bounding_box", "random_flip_left_right", "random_flip_up_down",
        "resize:resize_images", "resize_image_with_crop_or_pad", "resize_image_with_pad",
        "resize_images", "resize_with_crop_or_pad:resize_image_with_crop_or_pad", "rot90",
        "transpose", "transpose_image:transpose",
    ],
    "tf": ["extract_image_patches"],
}  # fmt: skip


class ResizeMethod:
    """The methods of `tf.image.resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS: dict[int, Callable[..., Any]] = {
    ResizeMethod.BILINEAR: resize_bilinear_op,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor_op,
    ResizeMethod.BICUBIC: resize_bicubic_op,
    ResizeMethod.AREA: resize_area_op,
}


def _as_batch(image: TensorLike) -> tuple[Nested, bool]:
    """Return the image with a batch dimension, and whether it lacked one (or its rank is unknown).

    Raises:
      ValueError: the rank is known and is not 3 or 4.
    """
    rank = image.shape.ndims
    if rank == 4:
        return image, False
    if rank not in (3, None):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    image = array_ops.expand_dims(image, 0)
    image.set_shape([None] * 4)
    return image, True


# --------------------------------------------------------------------------------------------- size


def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Resize images.

    Args:
      images: one image, or a batch of them.
      size: int32 height and width.
      method: a `ResizeMethod`. All but the nearest neighbour give float32, unless the size stays.
      align_corners: whether corner pixels stay corner pixels.
      preserve_aspect_ratio: whether images get the largest size within `size` that keeps their
        proportions.
      name: a name for the operation.

    Raises:
      ValueError: the rank is not 3 or 4, ``size`` is no vector of two, or the method is unknown.
    """
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims is None:
            raise ValueError("'images' contains no shape.")
        is_single = images.shape.ndims == 3
        if is_single:
            images = array_ops.expand_dims(images, 0)
        elif images.shape.ndims != 4:
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        height, width = images.shape.dim_values[1:3]
        size = convert_to_tensor(size, dtypes.int32, name="size")
        if not size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            size = _proportional(images, size)
        known = constant_value_as_shape(size).dim_values or (None, None)
        if None not in known and known == (height, width):
            return array_ops.squeeze(images, axis=[0]) if is_single else images
        if method in _METHODS:
            result = _METHODS[method](images, size, align_corners=align_corners)
        else:
            raise ValueError(f"Resize method is not implemented: {method}")
        result.set_shape([None, *known, None])
        return array_ops.squeeze(result, axis=[0]) if is_single else result


def _proportional(images: TensorLike, size: TensorLike) -> TensorResult:
    """Return the largest size within `size` that keeps the proportions."""
    float32 = dtypes.float32
    current = sizes_of(images)[1:3]
    tall, wide = [
        math_ops.divide(cast(size[i], float32), cast(now, float32)) for i, now in enumerate(current)
    ]
    scale = math_ops.minimum(tall, wide)
    scaled = [cast(math_ops.round(scale * cast(now, float32)), dtypes.int32) for now in current]
    return convert_to_tensor(scaled, dtypes.int32, name="size")


def resize_image_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> TensorResult:
    """Resize with the proportions kept, and add a border of zeros.

    Raises:
      ValueError: the rank is not 3 or 4, or a target size is not positive.
    """
    with name_scope(None, "resize_image_with_pad", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_single = _as_batch(image)
        image = _with_target(image, target_height, target_width)[0]
        height, width = sizes_of(image)[1:3]
        tall, wide, full_tall, full_wide = [
            cast(one, dtypes.float32) for one in (height, width, target_height, target_width)
        ]
        ratio = math_ops.maximum(wide / full_wide, tall / full_tall)
        tall, wide = tall / ratio, wide / ratio
        sizes = [cast(math_ops.floor(one), dtypes.int32) for one in (tall, wide)]
        spare = [(full_tall - tall) / 2, (full_wide - wide) / 2]
        spare = [math_ops.floor(one) for one in spare]
        before = [math_ops.maximum(0, cast(one, dtypes.int32)) for one in spare]
        resized = resize_images(image, sizes, method, align_corners)
        padded = pad_to_bounding_box(resized, before[0], before[1], target_height, target_width)
        sizes_of(padded)
        return array_ops.squeeze(padded, axis=[0]) if is_single else padded


def _with_target(
    image: TensorLike, height: TensorLike, width: TensorLike
) -> tuple[Nested, list[Nested]]:
    """Return the image behind checks of it and of the target size, and these checks."""
    checks = unknown_at_least_3d(image)
    checks += require(width > 0, ValueError, "target_width must be > 0.")
    checks += require(height > 0, ValueError, "target_height must be > 0.")
    return with_dependencies(checks, image), checks


def resize_image_with_crop_or_pad(
    image: TensorLike, target_height: TensorLike, target_width: TensorLike
) -> TensorResult:
    """Crop or pad with zeros on both sides, until the image has the target size.

    Raises:
      ValueError: the rank is not 3 or 4, or a target size is not positive.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_single = _as_batch(image)
        image, checks = _with_target(image, target_height, target_width)
        if isinstance(target_height, Tensor):
            target_height = with_dependencies(checks, target_height)
        if isinstance(target_width, Tensor):
            target_width = with_dependencies(checks, target_width)
        height, width = sizes_of(image)[1:3]
        cut_x, add_x = _halves(width, target_width)
        cut_y, add_y = _halves(height, target_height)
        tall, wide = _least(target_height, height), _least(target_width, width)
        cropped = crop_to_bounding_box(image, cut_y, cut_x, tall, wide)
        resized = pad_to_bounding_box(cropped, add_y, add_x, target_height, target_width)
        height, width = sizes_of(resized)[1:3]
        is_right = _alike(height, target_height)
        checks = require(is_right, ValueError, "resized height is not correct.")
        is_right = _alike(width, target_width)
        checks += require(is_right, ValueError, "resized width is not correct.")
        resized = with_dependencies(checks, resized)
        return array_ops.squeeze(resized, axis=[0]) if is_single else resized


def _any_tensor(*values: Any) -> bool:
    return any(isinstance(value, Tensor) for value in values)


def _least(a: TensorLike, b: TensorLike) -> TensorResult:
    return math_ops.minimum(a, b) if _any_tensor(a, b) else min(a, b)


def _most(a: TensorLike, b: TensorLike) -> TensorResult:
    return math_ops.maximum(a, b) if _any_tensor(a, b) else max(a, b)


def _alike(a: TensorLike, b: TensorLike) -> TensorResult:
    return math_ops.equal(a, b) if _any_tensor(a, b) else a == b


def _halves(size: TensorLike, target: Any) -> tuple[Nested, Nested]:
    """Return the numbers of rows or columns to cut off and to add at the beginning."""
    difference = target - size
    return _most(-difference // 2, 0), _most(difference // 2, 0)


def crop_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
) -> TensorResult:
    """Return the part of images with its upper left corner at an offset.

    Raises:
      ValueError: the rank is not 3 or 4, or the part is not inside the images.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_single = _as_batch(image)
        checks = unknown_at_least_3d(image)
        sizes = sizes_of(image)
        height, width = sizes[1:3]
        conditions: list[tuple[Callable[[], Any], str]] = [
            (lambda: offset_width >= 0, "offset_width must be >= 0."),
            (lambda: offset_height >= 0, "offset_height must be >= 0."),
            (lambda: target_width > 0, "target_width must be > 0."),
            (lambda: target_height > 0, "target_height must be > 0."),
            (lambda: width >= (target_width + offset_width), "width must be >= target + offset."),
            (
                lambda: height >= (target_height + offset_height),
                "height must be >= target + offset.",
            ),
        ]
        for condition, message in conditions:
            checks += require(condition(), ValueError, message)
        image = with_dependencies(checks, image)
        begin = array_ops.stack([0, offset_height, offset_width, 0])
        batch, channels = array_ops.shape(image)[0], array_ops.shape(image)[3]
        size = array_ops.stack([batch, target_height, target_width, channels])
        cropped = array_ops.slice(image, begin, size)
        cropped.set_shape(_known_shape(sizes[0], target_height, target_width, sizes[3]))
        return array_ops.squeeze(cropped, axis=[0]) if is_single else cropped


def _known_shape(*sizes: Any) -> list[int | None]:
    return [None if isinstance(one, Tensor) else one for one in sizes]


def pad_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
) -> TensorResult:
    """Return images of the target size with the given ones at an offset, and zeros around.

    Raises:
      ValueError: the rank is not 3 or 4, or the images do not fit.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_single = _as_batch(image)
        sizes = sizes_of(image)
        height, width = sizes[1:3]
        after_width = target_width - offset_width - width
        after_height = target_height - offset_height - height
        checks = unknown_at_least_3d(image)
        conditions: list[tuple[Callable[[], Any], str]] = [
            (lambda: offset_height >= 0, "offset_height must be >= 0"),
            (lambda: offset_width >= 0, "offset_width must be >= 0"),
            (lambda: after_width >= 0, "width must be <= target - offset"),
            (lambda: after_height >= 0, "height must be <= target - offset"),
        ]
        for condition, message in conditions:
            checks += require(condition(), ValueError, message)
        image = with_dependencies(checks, image)
        sides = [0, 0, offset_height, after_height, offset_width, after_width, 0, 0]
        paddings = array_ops.reshape(array_ops.stack(sides), [4, 2])
        padded = array_ops.pad(image, paddings)
        padded.set_shape(_known_shape(sizes[0], target_height, target_width, sizes[3]))
        return array_ops.squeeze(padded, axis=[0]) if is_single else padded


def central_crop(image: TensorLike, central_fraction: TensorLike) -> TensorResult:
    """Return the middle of images.

    Args:
      image: one image, or a batch of them.
      central_fraction: the fraction of height and width to keep, in (0, 1]; or a tensor of it.

    Raises:
      ValueError: the fraction is out of range, or the rank is not 3 or 4.
    """
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        fraction = central_fraction
        if isinstance(fraction, Tensor):
            fraction = constant_value(fraction)
        if fraction is None:
            inside = math_ops.logical_or(central_fraction > 0.0, central_fraction <= 1.0)
            message = "central_fraction must be within (0, 1]"
            image = with_dependencies(require(inside, ValueError, message), image)
        elif fraction <= 0.0 or fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        elif fraction == 1.0:
            return image
        at_least_3d(image)
        rank = image.shape.ndims
        if rank not in (3, 4):
            raise ValueError(
                f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {rank}."
            )
        first = rank - 3
        known = image.shape.dim_values
        sizes: list[TensorLike] = [
            array_ops.shape(image)[axis] if known[axis] is None else known[axis]
            for axis in (first, first + 1)
        ]
        starts, extents, sides = [], [], []
        for size in sizes:
            if isinstance(size, Tensor) or fraction is None:
                wide = cast(size, dtypes.float64)
                part = (wide - wide * cast(central_fraction, dtypes.float64)) / 2
                starts.append(cast(part, dtypes.int32))
            else:
                starts.append(int((float(size) - float(size) * fraction) / 2))
        for size, start in zip(sizes, starts, strict=True):
            extents.append(size - start * 2)
            sides.append(None if isinstance(start, Tensor) else extents[-1])
        begin = array_ops.stack([0] * first + [*starts, 0])
        extent = array_ops.stack([-1] * first + [*extents, -1])
        result = array_ops.slice(image, begin, extent)
        result.set_shape([*known[:first], *sides, known[-1]])
        return result


# ------------------------------------------------------------------------------ flips and rotations


def _of_either_rank(image: TensorLike, rank3: Callable[[], Any], rank4: Callable[[], Any]) -> Any:
    """Return the result for one image or for a batch; a cond chooses if the rank is unknown.

    Raises:
      ValueError: the rank is known and is not 3 or 4.
    """
    rank = image.shape.ndims
    if rank is None:
        return cond(math_ops.equal(array_ops.rank(image), 3), rank3, rank4)
    if rank not in (3, 4):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return rank3() if rank == 3 else rank4()


def _shaped_as(image: TensorLike, result: TensorLike) -> TensorResult:
    """Return a result with the image's static shape; with rank 3 if that is unknown."""
    result.set_shape([None] * 3 if image.shape.ndims is None else image.shape)
    return result


def _flipped(image: TensorLike, axis: int, scope_name: str) -> TensorResult:
    with name_scope(None, scope_name, [image]):
        image = at_least_3d(convert_to_tensor(image, name="image"))
        return _of_either_rank(
            image,
            lambda: _shaped_as(image, array_ops.reverse(image, [axis])),
            lambda: array_ops.reverse(image, [axis + 1]),
        )


def flip_left_right(image: TensorLike) -> TensorResult:
    """Flip images left to right."""
    return _flipped(image, 1, "flip_left_right")


def flip_up_down(image: TensorLike) -> TensorResult:
    """Flip images upside down."""
    return _flipped(image, 0, "flip_up_down")


def _perhaps_flipped(
    image: TensorLike, axis: int, seed: int | None, scope_name: str
) -> TensorResult:
    with name_scope(None, scope_name, [image]) as scope:
        image = at_least_3d(convert_to_tensor(image, name="image"))

        def one() -> TensorResult:
            chosen = math_ops.less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            result = cond(
                chosen, lambda: array_ops.reverse(image, [axis]), lambda: image, name=scope
            )
            return _shaped_as(image, result)

        def batch() -> TensorResult:  # each image separately
            count = array_ops.shape(image)[0]
            numbers = random_uniform([count], 0, 1.0, seed=seed)
            flips = math_ops.round(array_ops.reshape(numbers, [count, 1, 1, 1]))
            flips = cast(flips, image.dtype)
            flipped = array_ops.reverse(image, [axis + 1])
            return flips * flipped + (1 - flips) * image

        return _of_either_rank(image, one, batch)


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> TensorResult:
    """Flip each image left to right with probability 1/2."""
    return _perhaps_flipped(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> TensorResult:
    """Flip each image upside down with probability 1/2."""
    return _perhaps_flipped(image, 0, seed, "random_flip_up_down")


def transpose(image: TensorLike, name: str | None = None) -> TensorResult:
    """Exchange rows and columns of images."""
    with name_scope(name, "transpose", [image]):
        image = at_least_3d(convert_to_tensor(image, name="image"))
        return _of_either_rank(
            image,
            lambda: array_ops.transpose(image, [1, 0, 2], name=name),
            lambda: array_ops.transpose(image, [0, 2, 1, 3], name=name),
        )


def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> TensorResult:
    """Rotate images counter-clockwise by `k` quarters."""
    with name_scope(name, "rot90", [image, k]) as scope:
        image = at_least_3d(convert_to_tensor(image, name="image"))
        k = convert_to_tensor(k, dtypes.int32, name="k")
        k.shape.assert_has_rank(0)
        k = k % 4

        def turned(rows: int) -> TensorResult:
            columns = rows + 1
            order = [columns, rows, 2] if rows == 0 else [0, columns, rows, 3]

            def quarter() -> TensorResult:
                return array_ops.transpose(array_ops.reverse(image, [columns]), order)

            def half() -> TensorResult:
                return array_ops.reverse(image, [rows, columns])

            def three_quarters() -> TensorResult:
                return array_ops.reverse(array_ops.transpose(image, order), [columns])

            cases = [
                (math_ops.equal(k, 1), quarter),
                (math_ops.equal(k, 2), half),
                (math_ops.equal(k, 3), three_quarters),
            ]
            result = case(cases, default=lambda: image, exclusive=True, name=scope)
            dims = (image if rows == 0 else result).shape.dim_values
            last = None if dims is None else dims[-1]
            batch = [None if dims is None else dims[0]] * rows
            result.set_shape([*batch, None, None, last])
            return result

        return _of_either_rank(image, lambda: turned(0), lambda: turned(1))


# -------------------------------------------------------------------------------- crops and patches


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike | None = None,
    crop_size: TensorLike | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: TensorLike | None = None,
) -> TensorResult:
    """Return the parts of images in boxes (y1, x1, y2, x2 as fractions), resized to one size."""
    box_ind = renamed("box_indices", box_indices, "box_ind", box_ind)
    return crop_and_resize_op(
        image,
        boxes,
        box_ind,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )


def extract_image_patches(
    images: TensorLike,
    ksizes: TensorLike | None = None,
    strides: IntsLike | None = None,
    rates: IntsLike | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: TensorLike | None = None,
) -> TensorResult:
    """Return every window of the images, laid out along the channels."""
    ksizes = renamed("sizes", sizes, "ksizes", ksizes)
    return extract_image_patches_op(images, ksizes, strides, rates, padding, name=name)


def extract_patches(
    images: TensorLike,
    sizes: TensorLike,
    strides: IntsLike,
    rates: IntsLike,
    padding: str,
    name: str | None = None,
) -> TensorResult:
    """Return every window of the images, laid out along the channels."""
    return extract_image_patches_op(images, sizes, strides, rates, padding, name=name)
