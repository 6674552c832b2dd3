"""tf.image: brightness, contrast, colours and number types of images, and random versions.

Floating images have values in [0, 1]; integer ones use their type's whole range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.image.image_checks import at_least_3d
from tfnb.library.math import clip_ops
from tfnb.ops.array import array_ops, shape_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.image.image_box_ops import (
    combined_non_max_suppression_op,
    draw_bounding_boxes_op,
    draw_bounding_boxes_v2,
    non_max_suppression_v4,
    non_max_suppression_v5,
    non_max_suppression_with_overlaps,
)
from tfnb.ops.image.image_box_ops import non_max_suppression_v3 as _non_max_suppression_v3
from tfnb.ops.image.image_codec_ops import decode_jpeg_op, encode_jpeg_variable_quality
from tfnb.ops.image.image_color_ops import adjust_contrast_v2, adjust_hue_op, adjust_saturation_op
from tfnb.ops.math import math_ops
from tfnb.ops.math.math_ops import tensordot
from tfnb.ops.math.reduction_ops import reduce_mean, reduce_prod, reduce_std
from tfnb.ops.random.random_ops import random_uniform

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "image": [
        "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
        "adjust_jpeg_quality", "adjust_saturation", "combined_non_max_suppression",
        "convert_image_dtype", "draw_bounding_boxes", "grayscale_to_rgb", "non_max_suppression",
        "non_max_suppression_overlaps", "non_max_suppression_padded",
        "non_max_suppression_with_scores",
        "per_image_standardization", "random_brightness", "random_contrast", "random_hue",
        "random_jpeg_quality", "random_saturation", "rgb_to_grayscale", "rgb_to_yiq",
        "rgb_to_yuv", "yiq_to_rgb", "yuv_to_rgb",
    ],
}  # fmt: skip


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Any:
    """Return the image in another type, its values scaled to that type's range.

    Args:
      image: any image.
      dtype: a floating or integer type.
      saturate: whether values that the type cannot represent are clipped first.
      name: a name for the operation.

    Raises:
      AttributeError: the type is neither.
    """
    image = convert_to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating and not dtype.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if dtype is image.dtype:
        return array_ops.identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as scope:
        source = image.dtype
        if source.is_integer and dtype.is_integer:
            ratio = (int(source.max) + 1) // (int(dtype.max) + 1)
            if int(source.max) > int(dtype.max):
                scaled = image // ratio
                change = clip_ops.saturate_cast if saturate else cast
                return change(scaled, dtype, name=scope)
            ratio = (int(dtype.max) + 1) // (int(source.max) + 1)
            if saturate:
                return math_ops.multiply(clip_ops.saturate_cast(image, dtype), ratio, name=scope)
            return math_ops.multiply(cast(image, dtype), ratio, name=scope)
        if source.is_floating and dtype.is_floating:
            return cast(image, dtype, name=scope)
        if source.is_integer:
            return math_ops.multiply(cast(image, dtype), 1.0 / source.max, name=scope)
        scaled = math_ops.multiply(image, dtype.max + 0.5)
        change = clip_ops.saturate_cast if saturate else cast
        return change(scaled, dtype, name=scope)


def _kept(image: TensorLike) -> tuple[Nested, Nested]:
    """Return the image as floats, and the type of the result."""
    original = image.dtype
    if original in (dtypes.float16, dtypes.float32):
        return image, original
    return convert_image_dtype(image, dtypes.float32), original


def adjust_brightness(image: TensorLike, delta: TensorLike) -> TensorResult:
    """Add `delta`, a fraction of the whole range, to every value."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        wide, original = _kept(image)
        changed = math_ops.add(wide, cast(delta, wide.dtype), name=scope)
        return convert_image_dtype(changed, original, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> TensorResult:
    """Move every value away from its channel's mean by a factor."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        wide, original = _kept(images)
        changed = adjust_contrast_v2(wide, contrast_factor, name=scope)
        return convert_image_dtype(changed, original, saturate=True)


def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: Any = 1) -> TensorResult:
    """Return gain * value ** gamma.

    Raises:
      ValueError: gamma is negative.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        wide, original = _kept(image)
        if isinstance(gamma, (int, float)) and gamma < 0:
            raise ValueError("Gamma should be a non-negative real number.")
        changed = gain * wide**gamma
        return convert_image_dtype(changed, original, saturate=True)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> TensorResult:
    """Rotate the hue of RGB images by `delta` of the circle, which is in [-1, 1]."""
    with name_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        wide, original = _kept(image)
        return convert_image_dtype(adjust_hue_op(wide, delta), original)


def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> TensorResult:
    """Multiply the saturation of RGB images."""
    with name_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        wide, original = _kept(image)
        return convert_image_dtype(adjust_saturation_op(wide, saturation_factor), original)


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> TensorResult:
    """Return the image after JPEG compression of the given quality."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        original = image.dtype
        image = convert_image_dtype(image, dtypes.uint8, saturate=True)
        quality = convert_to_tensor(jpeg_quality, dtypes.int32)
        channels = image.shape.dim_values[-1] if image.shape.ndims is not None else 0
        image = encode_jpeg_variable_quality(image, quality)
        image = decode_jpeg_op(image, channels=channels or 0, dct_method=dct_method)
        return convert_image_dtype(image, original, saturate=True)


def _check_range(lower: float, upper: float, name: str) -> None:
    if upper <= lower:
        raise ValueError(f"upper must be > lower, got {name} in [{lower}, {upper}]")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> TensorResult:
    """Add one random number in [-max_delta, max_delta) to all values."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> TensorResult:
    """Change the contrast by a random factor in [lower, upper)."""
    _check_range(lower, upper, "contrast")
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> TensorResult:
    """Rotate the hue by a random part of the circle in [-max_delta, max_delta)."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> TensorResult:
    """Change the saturation by a random factor in [lower, upper)."""
    _check_range(lower, upper, "saturation")
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> TensorResult:
    """Return the image after JPEG compression of a random quality."""
    if not 0 <= min_jpeg_quality < max_jpeg_quality <= 100:
        raise ValueError("jpeg qualities must be between 0 and 100, the first below the second.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)


def per_image_standardization(image: TensorLike) -> TensorResult:
    """Scale each image to mean 0 and variance 1; the deviation is at least 1 / sqrt(pixels)."""
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = at_least_3d(convert_to_tensor(image, name="image"))
        image = cast(image, dtypes.float32)
        count = reduce_prod(array_ops.shape(image)[-3:])
        mean = reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        deviation = reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        least = math_ops.rsqrt(cast(count, dtypes.float32))
        adjusted = math_ops.maximum(deviation, least)
        image = image - mean
        return math_ops.divide(image, adjusted, name=scope)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> TensorResult:
    """Return 0.2989 red + 0.5870 green + 0.1140 blue, as one channel."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        original = images.dtype
        floats = convert_image_dtype(images, dtypes.float32)
        gray = tensordot(floats, [0.2989, 0.5870, 0.1140], [-1, -1])
        gray = array_ops.expand_dims(gray, -1)
        return convert_image_dtype(gray, original, name=scope)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> TensorResult:
    """Return the one channel repeated three times."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = at_least_3d(convert_to_tensor(images, name="images"))
        if images.shape.ndims is not None and images.shape.dim_values[-1] not in (1, None):
            raise ValueError("Last dimension of a grayscale image should be size 1.")
        others = array_ops.expand_dims(array_ops.rank(images) - 1, 0)
        multiples = [array_ops.ones(others, dtypes.int32), array_ops.expand_dims(3, 0)]
        result = array_ops.tile(images, array_ops.concat(multiples, 0), name=scope)
        if images.shape.ndims is not None:
            result.set_shape([*images.shape.dim_values[:-1], 3])
        return result


_RGB_TO_YIQ: list[list[float]] = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YIQ_TO_RGB: list[list[float]] = [
    [1, 1, 1],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_RGB_TO_YUV: list[list[float]] = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_YUV_TO_RGB: list[list[float]] = [
    [1, 1, 1],
    [0, -0.394642334, 2.03206185],
    [1.13988303, -0.58062185, 0],
]


def _colors_changed(images: TensorLike, matrix: list[list[float]]) -> TensorResult:
    images = convert_to_tensor(images, name="images")
    kernel = convert_to_tensor(np.array(matrix), images.dtype, name="kernel")
    rank = images.shape.ndims
    if rank is None:
        raise ValueError("The images must have a known rank")
    return tensordot(images, kernel, [[rank - 1], [0]])


def rgb_to_yiq(images: TensorLike) -> TensorResult:
    """Return RGB images as luminance and two chrominances of NTSC."""
    return _colors_changed(images, _RGB_TO_YIQ)


def yiq_to_rgb(images: TensorLike) -> TensorResult:
    """Return the inverse of `rgb_to_yiq`."""
    return _colors_changed(images, _YIQ_TO_RGB)


def rgb_to_yuv(images: TensorLike) -> TensorResult:
    """Return RGB images as luminance and two chrominances of PAL."""
    return _colors_changed(images, _RGB_TO_YUV)


def yuv_to_rgb(images: TensorLike) -> TensorResult:
    """Return the inverse of `rgb_to_yuv`."""
    return _colors_changed(images, _YUV_TO_RGB)


# -------------------------------------------------------------------------------------------- boxes


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> TensorResult:
    """Return the images with the edges of boxes (y1, x1, y2, x2 as fractions of the size)."""
    if colors is None:
        return draw_bounding_boxes_op(images, boxes, name=name)
    return draw_bounding_boxes_v2(images, boxes, colors, name=name)


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> TensorResult:
    """Return the indices of boxes by falling score, without those that overlap a better one."""
    with name_scope(name, "non_max_suppression"):
        iou_threshold = convert_to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = convert_to_tensor(score_threshold, name="score_threshold")
        return _non_max_suppression_v3(
            boxes, scores, max_output_size, iou_threshold, score_threshold
        )


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> TensorResult:
    """Return indices as :func:`non_max_suppression` does, given a matrix of overlaps."""
    with name_scope(name, "non_max_suppression_overlaps"):
        overlap_threshold = convert_to_tensor(overlap_threshold, name="overlap_threshold")
        return non_max_suppression_with_overlaps(
            overlaps, scores, max_output_size, overlap_threshold, score_threshold
        )


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> Nested:
    """Return indices and scores; with a sigma, scores fall with the overlap."""
    with name_scope(name, "non_max_suppression_with_scores"):
        iou_threshold = convert_to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = convert_to_tensor(score_threshold, name="score_threshold")
        sigma = convert_to_tensor(soft_nms_sigma, name="soft_nms_sigma")
        indices, kept, _ = non_max_suppression_v5(
            boxes,
            scores,
            max_output_size,
            iou_threshold,
            score_threshold,
            sigma,
            pad_to_max_output_size=False,
        )
        return indices, kept


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> TensorResult:
    """Return indices, padded with zeros if requested, and the number of valid ones.

    Args:
      boxes: ``[..., number of boxes, 4]``; with more than two dimensions for each image.
      scores: ``[..., number of boxes]``.
      max_output_size: the maximum number of boxes to keep.
      iou_threshold: the maximum overlap of two boxes.
      score_threshold: boxes of a lower score are left out.
      pad_to_max_output_size: whether indices are padded with zeros; several images need it.
      name: the name of the ops.
      sorted_input: whether the scores fall; ignored, the order is always computed.
      canonicalized_coordinates: whether boxes begin with their smaller corner; ignored, too.
      tile_size: how many boxes TensorFlow compares at a time; the result is the same.

    Raises:
      ValueError: several images without ``pad_to_max_output_size``.
    """
    with name_scope(name, "non_max_suppression_padded"):
        boxes = convert_to_tensor(boxes, name="boxes")
        if boxes.shape.ndims is not None and boxes.shape.ndims > 2:
            if not pad_to_max_output_size:
                raise ValueError(
                    f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for "
                    "batched input"
                )
            return _non_max_suppression_of_batch(
                boxes, scores, max_output_size, iou_threshold, score_threshold
            )
        iou_threshold = convert_to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = convert_to_tensor(score_threshold, name="score_threshold")
        return tuple(
            non_max_suppression_v4(
                boxes,
                scores,
                max_output_size,
                iou_threshold,
                score_threshold,
                pad_to_max_output_size=pad_to_max_output_size,
            )
        )


def _non_max_suppression_of_batch(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike,
    score_threshold: TensorLike,
) -> Nested:
    from tfnb.library.control_flow.map_fn import map_fn

    scores = convert_to_tensor(scores, name="scores")
    iou_threshold = convert_to_tensor(iou_threshold, name="iou_threshold")
    score_threshold = convert_to_tensor(score_threshold, name="score_threshold")
    outer = shape_ops.shape(boxes)[:-2]
    number = shape_ops.shape(boxes)[-2]
    indices, valid = map_fn(
        lambda image: tuple(
            non_max_suppression_v4(
                image[0],
                image[1],
                max_output_size,
                iou_threshold,
                score_threshold,
                pad_to_max_output_size=True,
            )
        ),
        (
            shape_ops.reshape(boxes, [-1, number, 4]),
            shape_ops.reshape(scores, [-1, number]),
        ),
        dtype=(dtypes.int32, dtypes.int32),
    )
    padded = concat([outer, [max_output_size]], 0)
    return shape_ops.reshape(indices, padded), shape_ops.reshape(valid, outer)


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> TensorResult:
    """Return the best boxes of all classes per image: boxes, scores, classes, valid counts."""
    with name_scope(name, "combined_non_max_suppression"):
        iou_threshold = convert_to_tensor(iou_threshold, dtypes.float32, name="iou_threshold")
        score_threshold = convert_to_tensor(score_threshold, dtypes.float32, name="score_threshold")
        max_total_size = convert_to_tensor(max_total_size)
        return combined_non_max_suppression_op(
            boxes,
            scores,
            max_output_size_per_class,
            max_total_size,
            iou_threshold,
            score_threshold,
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )
