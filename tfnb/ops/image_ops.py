"""tf.image: sizes, crops, flips and turns, as functions of users.

Images are [height, width, channels] or [batch, height, width, channels]. The ops are in the
``image_*_ops.py`` files, brightness and its kin in ``image_adjustments.py``, measures in
``image_measures.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.ops import array_ops, math_ops
from tfnb.ops.cast_ops import cast
from tfnb.ops.cond import case, cond
from tfnb.ops.image_checks import at_least_3d, require, with_checks
from tfnb.ops.image_crop_ops import crop_and_resize_op
from tfnb.ops.image_patch_ops import extract_image_patches_op
from tfnb.ops.image_resize_ops import (
    resize_area_op,
    resize_bicubic_op,
    resize_bilinear_op,
    resize_nearest_neighbor_op,
)
from tfnb.ops.random_ops import random_uniform
from tfnb.ops.reduction_ops import reduce_min
from tfnb.ops.renamed_arguments import renamed

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """The ways of `tf.image.resize_images`."""

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


def _as_batch(image: Any) -> tuple[Any, bool]:
    """The image with a batch dimension, and whether it had none.

    Raises:
      ValueError: it has neither three nor four dimensions.
    """
    rank = image.shape.ndims
    if rank is None:
        image.set_shape([None] * 4)
    elif rank == 3:
        return array_ops.expand_dims(image, 0), True
    elif rank != 4:
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return image, False


# --------------------------------------------------------------------------------------------- size


def resize_images(
    images: Any,
    size: Any,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Images of another size.

    Args:
      images: one image, or a batch of them.
      size: int32 height and width.
      method: a `ResizeMethod`. All but the nearest neighbour give float32, unless the size stays.
      align_corners: corner pixels stay corner pixels.
      preserve_aspect_ratio: the largest size within `size` of the images' own proportions.
      name: A name for the operation.

    Raises:
      ValueError: images without rank, another rank than 3 or 4, no vector of two, no such method.
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
        known = constant_value(size)
        new_height, new_width = (None, None) if known is None else (int(known[0]), int(known[1]))
        if None not in (new_height, new_width) and (height, width) == (new_height, new_width):
            result = images
        elif method in _METHODS:
            result = _METHODS[method](images, size, align_corners=align_corners)
        else:
            raise ValueError(f"Resize method is not implemented: {method}")
        result.set_shape([None, new_height, new_width, None])
        return array_ops.squeeze(result, axis=[0]) if is_single else result


def _proportional(images: Any, size: Any) -> Any:
    """The largest size within `size` that keeps the proportions."""
    current = cast(array_ops.shape(images)[1:3], dtypes.float32)
    scale = reduce_min(cast(size, dtypes.float32) / current)
    return cast(math_ops.round(current * scale), dtypes.int32)


def resize_image_with_pad(
    image: Any,
    target_height: int,
    target_width: int,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Any:
    """Resizes with the proportions kept and adds a border of zeros around.

    Raises:
      ValueError: another rank than 3 or 4, or a target that is not positive.
    """
    with name_scope(None, "resize_image_with_pad", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_single = _as_batch(image)
        if target_height <= 0 or target_width <= 0:
            raise ValueError("target_height and target_width must be > 0.")
        sizes = cast(array_ops.shape(image)[1:3], dtypes.float32)
        target = array_ops.constant([float(target_height), float(target_width)])
        ratio = math_ops.reduce_max(sizes / target)
        resized_sizes = cast(math_ops.floor(sizes / ratio), dtypes.int32)
        before = cast(math_ops.floor((target - sizes / ratio) / 2), dtypes.int32)
        before = math_ops.maximum(before, 0)
        resized = resize_images(image, resized_sizes, method, align_corners)
        padded = pad_to_bounding_box(resized, before[0], before[1], target_height, target_width)
        return array_ops.squeeze(padded, axis=[0]) if is_single else padded


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Cuts off borders or adds zeros on both sides, until the image has the target size.

    Raises:
      ValueError: another rank than 3 or 4, or a target that is not positive.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_single = _as_batch(image)
        image = at_least_3d(image)
        checks = require(target_width > 0, ValueError, "target_width must be > 0.")
        checks += require(target_height > 0, ValueError, "target_height must be > 0.")
        if checks:
            image = with_checks(checks, image)
        height, width = _sizes(image)
        cut_x, add_x = _halves(width, target_width)
        cut_y, add_y = _halves(height, target_height)
        cropped = crop_to_bounding_box(
            image, cut_y, cut_x, _least(target_height, height), _least(target_width, width)
        )
        resized = pad_to_bounding_box(cropped, add_y, add_x, target_height, target_width)
        resized = array_ops.identity(resized, name="control_dependency")
        return array_ops.squeeze(resized, axis=[0]) if is_single else resized


def _sizes(image: Any) -> tuple[Any, Any]:
    """Height and width of a batch of images: numbers where known, else tensors."""
    known = image.shape.dim_values
    if known is not None and None not in known[1:3]:
        return known[1], known[2]
    dynamic = array_ops.shape(image)
    sizes = [dynamic[i] if known is None or known[i] is None else known[i] for i in (1, 2)]
    return sizes[0], sizes[1]


def _is_number(*values: Any) -> bool:
    return all(isinstance(value, (int, np.integer)) for value in values)


def _least(a: Any, b: Any) -> Any:
    return min(a, b) if _is_number(a, b) else math_ops.minimum(a, b)


def _most(a: Any, b: Any) -> Any:
    return max(a, b) if _is_number(a, b) else math_ops.maximum(a, b)


def _halves(size: Any, target: Any) -> tuple[Any, Any]:
    """How much to cut off before, and how much to add."""
    difference = target - size
    return _most(-difference // 2, 0), _most(difference // 2, 0)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """The part of images with its upper left corner at an offset.

    Raises:
      ValueError: another rank than 3 or 4, or a part that is not inside.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_single = _as_batch(image)
        image_in = image
        height, width = _sizes(image)
        checks = []
        for condition, message in (
            (offset_width >= 0, "offset_width must be >= 0."),
            (offset_height >= 0, "offset_height must be >= 0."),
            (target_width > 0, "target_width must be > 0."),
            (target_height > 0, "target_height must be > 0."),
            (width >= (target_width + offset_width), "width must be >= target + offset."),
            (height >= (target_height + offset_height), "height must be >= target + offset."),
        ):
            checks += require(condition, ValueError, message)
        image = with_checks(checks, image_in)
        begin = array_ops.stack([0, offset_height, offset_width, 0])
        batch, channels = array_ops.shape(image)[0], array_ops.shape(image)[3]
        size = array_ops.stack([batch, target_height, target_width, channels])
        cropped = array_ops.slice(image, begin, size)
        cropped.set_shape(_known_shape(image_in, target_height, target_width))
        return array_ops.squeeze(cropped, axis=[0]) if is_single else cropped


def _known_shape(image: Any, height: Any, width: Any) -> list[int | None]:
    dims = image.shape.dim_values or (None,) * 4
    sides = [int(one) if _is_number(one) else None for one in (height, width)]
    return [dims[0], *sides, dims[3]]


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Images of the target size that have the given ones at an offset, and zeros around.

    Raises:
      ValueError: another rank than 3 or 4, or images that do not fit.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_single = _as_batch(image)
        image_in = image
        height, width = _sizes(image)
        after_width = target_width - offset_width - width
        after_height = target_height - offset_height - height
        checks = []
        for condition, message in (
            (offset_height >= 0, "offset_height must be >= 0"),
            (offset_width >= 0, "offset_width must be >= 0"),
            (after_width >= 0, "width must be <= target - offset"),
            (after_height >= 0, "height must be <= target - offset"),
        ):
            checks += require(condition, ValueError, message)
        image = with_checks(checks, image_in)
        paddings = array_ops.reshape(
            array_ops.stack([0, 0, offset_height, after_height, offset_width, after_width, 0, 0]),
            [4, 2],
        )
        padded = array_ops.pad(image, paddings)
        padded.set_shape(_known_shape(image_in, target_height, target_width))
        return array_ops.squeeze(padded, axis=[0]) if is_single else padded


def central_crop(image: Any, central_fraction: float) -> Any:
    """The middle of images.

    Args:
      image: one image, or a batch of them.
      central_fraction: the part of height and width to keep, in (0, 1].

    Raises:
      ValueError: another fraction, or another rank than 3 or 4.
    """
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        rank = image.shape.ndims
        if rank not in (3, 4):
            raise ValueError(
                f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {rank}."
            )
        array_ops.identity(image, name="control_dependency")
        first = rank - 3
        known = image.shape.dim_values
        dynamic = None if None not in known[first : first + 2] else array_ops.shape(image)
        starts, sizes = [], []
        for axis in (first, first + 1):
            size: Any = known[axis]
            if size is not None:
                start: Any = int((size - size * central_fraction) / 2)
            else:
                assert dynamic is not None
                size = dynamic[axis]
                wide = cast(size, dtypes.float64)
                start = cast((wide - wide * central_fraction) / 2, dtypes.int32)
            starts.append(start)
            sizes.append(size - start * 2)
        begin = array_ops.stack([0] * first + [*starts, 0])
        extent = array_ops.stack([-1] * first + [*sizes, -1])
        result = array_ops.slice(image, begin, extent)
        sides = [one if _is_number(one) else None for one in sizes]
        result.set_shape([*known[:first], *sides, known[-1]])
        return result


# ---------------------------------------------------------------------------------- flips and turns


def _flipped(image: Any, axis: int, scope_name: str) -> Any:
    with name_scope(None, scope_name, [image]):
        image = at_least_3d(convert_to_tensor(image, name="image"))
        rank = image.shape.ndims
        if rank not in (3, 4):
            raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
        result = array_ops.reverse(image, [axis + rank - 3])
        result.set_shape(image.shape)
        return result


def flip_left_right(image: Any) -> Any:
    """Images with their columns in the other order."""
    return _flipped(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Any:
    """Images with their rows in the other order."""
    return _flipped(image, 0, "flip_up_down")


def _perhaps_flipped(image: Any, axis: int, seed: int | None, scope_name: str) -> Any:
    with name_scope(None, scope_name, [image]) as scope:
        image = at_least_3d(convert_to_tensor(image, name="image"))
        rank = image.shape.ndims
        if rank == 3:
            chosen = math_ops.less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            result = cond(
                chosen, lambda: array_ops.reverse(image, [axis]), lambda: image, name=scope
            )
            result.set_shape(image.shape)
            return result
        if rank != 4:
            raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
        # Each image of the batch by itself.
        count = array_ops.shape(image)[0]
        numbers = random_uniform([count], 0, 1.0, seed=seed)
        flips = math_ops.round(array_ops.reshape(numbers, [count, 1, 1, 1]))
        flips = cast(flips, image.dtype)
        flipped = array_ops.reverse(image, [axis + 1])
        return flips * flipped + (1 - flips) * image


def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """Flips each image left to right with probability 1/2."""
    return _perhaps_flipped(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """Flips each image upside down with probability 1/2."""
    return _perhaps_flipped(image, 0, seed, "random_flip_up_down")


def transpose(image: Any, name: str | None = None) -> Any:
    """Images with rows and columns exchanged."""
    with name_scope(name, "transpose", [image]):
        image = at_least_3d(convert_to_tensor(image, name="image"))
        rank = image.shape.ndims
        if rank not in (3, 4):
            raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
        order = [1, 0, 2] if rank == 3 else [0, 2, 1, 3]
        return array_ops.transpose(image, order, name="transpose")


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """Images turned counter-clockwise by `k` quarters."""
    with name_scope(name, "rot90", [image, k]) as scope:
        image = at_least_3d(convert_to_tensor(image, name="image"))
        k = convert_to_tensor(k, dtypes.int32, name="k")
        k.shape.assert_has_rank(0)
        k = k % 4
        rank = image.shape.ndims
        if rank not in (3, 4):
            raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
        rows, columns = rank - 3, rank - 2
        order = [1, 0, 2] if rank == 3 else [0, 2, 1, 3]

        def quarter() -> Any:
            return array_ops.transpose(array_ops.reverse(image, [columns]), order)

        def half() -> Any:
            return array_ops.reverse(image, [rows, columns])

        def three_quarters() -> Any:
            return array_ops.reverse(array_ops.transpose(image, order), [columns])

        cases = [
            (math_ops.equal(k, 1), quarter),
            (math_ops.equal(k, 2), half),
            (math_ops.equal(k, 3), three_quarters),
        ]
        result = case(cases, default=lambda: image, exclusive=True, name=scope)
        dims = image.shape.dim_values
        result.set_shape([dims[0], None, None, dims[3]] if rank == 4 else [None, None, dims[2]])
        return result


# -------------------------------------------------------------------------------- crops and patches


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Any:
    """The parts of images in boxes (y1, x1, y2, x2 in parts of the size), resized to one size."""
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
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Any = None,
) -> Any:
    """Every window of the images, laid out along the channels."""
    ksizes = renamed("sizes", sizes, "ksizes", ksizes)
    return extract_image_patches_op(images, ksizes, strides, rates, padding, name=name)


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Any:
    """Every window of the images, laid out along the channels."""
    return extract_image_patches_op(images, sizes, strides, rates, padding, name=name)
