"""Random crops that keep objects in view, glimpses, and nearest neighbours.

Corresponds to TensorFlow's ``sample_distorted_bounding_box_op.cc``, ``attention_ops.cc`` and
``clustering_ops.cc``; the same seeds give the same crops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import InferenceContext, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import name_scope
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.image.image_resize_ops import size_input
from tfnb.ops.random.philox import generator_of, generator_of_seed
from tfnb.ops.random.simple_philox import SimplePhilox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.tensor_types import TensorLike, TensorResult
    from tfnb.ops.random.philox import Philox

EXPORTS = {"image": ["extract_glimpse", "sample_distorted_bounding_box"]}

# ---------------------------------------------------------------------------------- distorted boxes

# (left, top, right, bottom) in pixels
Rectangle = tuple[int, int, int, int]

_INT32_MAX = 2**31 - 1
_BOX_ATTRS = (
    "aspect_ratio_range: list(float) = [0.75, 1.33000004]",
    "area_range: list(float) = [0.0500000007, 1]",
    "max_attempts: int = 100",
    "use_image_if_no_bounding_boxes: bool = false",
)
_BOX_TYPES = "T: {uint8, int8, int16, int32, int64}"
_BOX_OUTPUTS = "begin: T, size: T, bboxes: float"


def _distorted_shape(c: InferenceContext) -> list[TensorShape]:
    sizes = c.with_rank(0, 1).dim_values
    merge_dims((sizes or (None,))[0], 3)
    boxes = c.with_rank(1, 3).dim_values
    merge_dims((boxes or (None,))[-1], 4)
    if len(c.inputs) > 2:
        c.with_rank(2, 0)
    if len(c.inputs) > 3:
        merge_dims((c.with_rank(3, 1).dim_values or (None,))[0], 2)
    return [TensorShape([3]), TensorShape([3]), TensorShape([1, 1, 4])]


def _rounded(value: Array) -> int:
    """Round a single-precision number to the nearest integer, ties to even."""
    return int(np.rint(np.float32(value)))


def _area(box: Rectangle) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _common_area(a: Rectangle, b: Rectangle) -> int:
    left, top = max(a[0], b[0]), max(a[1], b[1])
    right, bottom = min(a[2], b[2]), min(a[3], b[3])
    return 0 if left > right or top > bottom else (right - left) * (bottom - top)


def _covers_an_object(crop: Rectangle, least: float, objects: list[Rectangle]) -> bool:
    if _area(crop) < 1:
        return False
    return any(
        np.float32(_common_area(crop, box)) / np.float32(_area(box)) >= np.float32(least)
        for box in objects
        if _area(box) >= 1
    )


def _random_crop(
    width: int, height: int, area_range: Sequence[float], aspect: np.float32, draw: SimplePhilox
) -> Rectangle | None:
    """Draw a crop with this aspect ratio; None if the area bounds cannot be met."""
    least, most = (np.float32(bound) for bound in area_range)
    if most <= 0 or aspect <= 0 or width <= 0 or height <= 0 or least > most:
        return None
    least, most = (
        np.float32(np.float32(bound * np.float32(width)) * np.float32(height))
        for bound in (least, most)
    )
    rows = _rounded(np.sqrt(np.float32(least / aspect)))
    most_rows = _rounded(np.sqrt(np.float32(most / aspect)))
    if _rounded(np.float32(most_rows) * aspect) > width:
        most_rows = int((width + 0.5 - float(np.float32(0.0000001))) / float(aspect))
        if _rounded(np.float32(most_rows) * aspect) > width:
            most_rows -= 1
    most_rows = min(most_rows, height)
    rows = min(rows, most_rows)
    if rows < most_rows:
        rows += draw.below(most_rows - rows + 1)
    columns = _rounded(np.float32(rows) * aspect)
    # Adjust the size so that rounding alone does not violate the area bounds.
    if columns * rows < least:
        rows += 1
        columns = _rounded(np.float32(rows) * aspect)
    if columns * rows > most:
        rows -= 1
        columns = _rounded(np.float32(rows) * aspect)
    area = columns * rows
    if area < least or area > most or columns > width or rows > height or min(columns, rows) <= 0:
        return None
    top = draw.below(height - rows) if rows < height else 0
    left = draw.below(width - columns) if columns < width else 0
    return left, top, left + columns, top + rows


def _check_box_attrs(
    aspect_ratio_range: Sequence[float], area_range: Sequence[float], max_attempts: int
) -> None:
    for name, bounds in (("Aspect ratio range", aspect_ratio_range), ("Area range", area_range)):
        if len(bounds) != 2:
            raise errors.invalid_argument(f"{name} field must specify 2 dimensions")
        if min(bounds) <= 0:
            raise errors.invalid_argument(f"{name} must be non-negative: {list(bounds)}")
    if max(area_range) > 1:
        raise errors.invalid_argument(
            f"Area range must be less then or equal to 1.0: {list(area_range)}"
        )
    if max_attempts <= 0:
        raise errors.invalid_argument(f"Max attempts must be non-negative: {max_attempts}")


def _distorted(
    generator: Philox,
    image_size: Array,
    bounding_boxes: Array,
    min_object_covered: Array,
    aspect_ratio_range: Sequence[float],
    area_range: Sequence[float],
    max_attempts: int,
    use_image: bool,
) -> tuple[Array, Array, Array]:
    if image_size.shape != (3,):
        raise errors.invalid_argument(
            f"image_size must contain 3 elements{shape_text(image_size.shape)}"
        )
    height, width = int(image_size[0]), int(image_size[1])
    for name, size in (("height", height), ("width", width)):
        if not 0 <= size < _INT32_MAX:
            raise errors.invalid_argument(f"image {name} cannot be >= int32 max")
    if bounding_boxes.ndim != 3:
        raise errors.invalid_argument(
            "input boxes must be 3-dimensional [batch, num_boxes, coords]: "
            f"{shape_text(bounding_boxes.shape)}"
        )
    if bounding_boxes.shape[-1] != 4:
        raise errors.invalid_argument(
            f"bounding boxes must have shape [4] or [*, 4], got {shape_text(bounding_boxes.shape)}"
        )
    if np.ndim(min_object_covered):
        raise errors.invalid_argument(
            f"min_object_covered must be 0-D, got shape {shape_text(np.shape(min_object_covered))}"
        )
    if not float(min_object_covered) >= 0:
        raise errors.invalid_argument(
            f"Min object covered must be non-negative: {float(min_object_covered):g}"
        )
    objects: list[Rectangle] = []
    scale = np.array([height, width, height, width], np.float32)
    for box in bounding_boxes.reshape(-1, 4):
        if not ((box >= 0) & (box <= 1)).all():
            raise errors.invalid_argument(
                f"All bounding box coordinates must be in [0.0, 1.0]: {box.tolist()}"
            )
        top, left, bottom, right = (box * scale).astype(np.int32).tolist()
        objects.append((left, top, right, bottom))
    whole: Rectangle = (0, 0, width, height)
    if not objects:
        if not use_image:
            raise errors.invalid_argument(
                "No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
            )
        objects.append(whole)
    draw = SimplePhilox(generator)
    lowest, highest = (np.float32(bound) for bound in aspect_ratio_range)
    crop = whole
    for _ in range(max_attempts):
        aspect = np.float32(draw.unit_float() * (highest - lowest) + lowest)
        found = _random_crop(width, height, area_range, aspect, draw)
        if found is not None and _covers_an_object(found, float(min_object_covered), objects):
            crop = found
            break
    left, top, right, bottom = crop
    dtype = image_size.dtype
    begin = np.array([top, left, 0]).astype(dtype)
    extent = np.array([bottom - top, right - left, -1]).astype(dtype)
    with np.errstate(all="ignore"):
        shares = np.array([top, left, bottom, right], np.float32) / scale
    return begin, extent, shares.reshape(1, 1, 4)


@register_op(
    "SampleDistortedBoundingBox",
    f"image_size: T, bounding_boxes: float -> {_BOX_OUTPUTS}",
    _BOX_TYPES,
    "seed: int = 0",
    "seed2: int = 0",
    "min_object_covered: float = 0.100000001",
    *_BOX_ATTRS,
    stateful=True,
    shape=_distorted_shape,
    devices=("CPU",),
)
def sample_distorted_bounding_box_op(
    ctx: OpKernelContext,
    image_size: Array,
    bounding_boxes: Array,
    *,
    seed: int,
    seed2: int,
    min_object_covered: float,
    aspect_ratio_range: list[float],
    area_range: list[float],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> Outputs:
    """Draw a random crop that shows enough of an object; return its begin, size and box."""
    _check_box_attrs(aspect_ratio_range, area_range, max_attempts)
    return _distorted(
        generator_of(ctx, seed, seed2).reserve_blocks(max_attempts),
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


@register_op(
    "SampleDistortedBoundingBoxV2",
    f"image_size: T, bounding_boxes: float, min_object_covered: float -> {_BOX_OUTPUTS}",
    _BOX_TYPES,
    "seed: int = 0",
    "seed2: int = 0",
    *_BOX_ATTRS,
    stateful=True,
    shape=_distorted_shape,
    devices=("CPU",),
)
def sample_distorted_bounding_box_v2(
    ctx: OpKernelContext,
    image_size: Array,
    bounding_boxes: Array,
    min_object_covered: Array,
    *,
    seed: int,
    seed2: int,
    aspect_ratio_range: list[float],
    area_range: list[float],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> Outputs:
    """Return a crop as SampleDistortedBoundingBox; ``min_object_covered`` is a tensor."""
    _check_box_attrs(aspect_ratio_range, area_range, max_attempts)
    return _distorted(
        generator_of(ctx, seed, seed2).reserve_blocks(max_attempts),
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


@register_op(
    "StatelessSampleDistortedBoundingBox",
    "image_size: T, bounding_boxes: float, min_object_covered: float, seed: Tseed "
    f"-> {_BOX_OUTPUTS}",
    _BOX_TYPES,
    "Tseed: {int32, int64}",
    *_BOX_ATTRS,
    shape=_distorted_shape,
    devices=("CPU",),
)
def stateless_sample_distorted_bounding_box(
    xp: Xp,
    image_size: Array,
    bounding_boxes: Array,
    min_object_covered: Array,
    seed: Array,
    *,
    aspect_ratio_range: list[float],
    area_range: list[float],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> Outputs:
    """Return a crop as SampleDistortedBoundingBox, as a function of the seed."""
    _check_box_attrs(aspect_ratio_range, area_range, max_attempts)
    if seed.shape != (2,):
        raise errors.invalid_argument(f"seed must have shape [2], not {shape_text(seed.shape)}")
    return _distorted(
        generator_of_seed(seed),
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


sample_distorted_bounding_box_op.not_differentiable()
sample_distorted_bounding_box_v2.not_differentiable()


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: TensorLike | None = None,
    area_range: TensorLike | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return a random crop that shows enough of one of the objects in an image.

    Args:
      image_size: (height, width, channels).
      bounding_boxes: boxes of objects, (1, number, 4): top, left, bottom, right between 0 and 1.
      seed: the first seed; if both are 0, the crops are different each time.
      seed2: the second seed.
      min_object_covered: the minimum fraction of an object inside the crop.
      aspect_ratio_range: the ratio of width to height; 0.75 to 1.33 by default.
      area_range: the crop's fraction of the image area; 0.05 to 1 by default.
      max_attempts: number of attempts before the whole image is used; 100 by default.
      use_image_if_no_bounding_boxes: whether to use the whole image, instead of an error, if there
        are no boxes.
      name: the name of the op.

    Returns:
      (begin, size, bboxes): arguments for tf.slice, and the crop as a box.
    """
    with name_scope(name, "sample_distorted_bounding_box"):
        return sample_distorted_bounding_box_v2(
            image_size,
            bounding_boxes,
            seed=seed,
            seed2=seed2,
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes,
            name=name,
        )


# ----------------------------------------------------------------------------------------- glimpses


def _glimpse_shape(c: InferenceContext) -> TensorShape:
    if c.attr("uniform_noise") and c.attr("noise") not in ("", "uniform"):
        raise ValueError("The uniform_noise should not be True when noise is not uniform")
    images, offsets = c.with_rank(0, 4).dim_values, c.with_rank(2, 2).dim_values
    merge_dims((offsets or (None, None))[1], 2)
    batch = merge_dims((images or (None,))[0], (offsets or (None,))[0])
    height, width = size_input(c)
    return TensorShape([batch, height, width, images[3] if images is not None else None])


def _corner(
    offset: Array, image: int, window: int, centered: bool, normalized: bool, version: int
) -> int:
    """Return the start of a window along an axis, in pixels, truncated towards zero."""
    place = np.float32(offset)
    half_image, half_window = np.float32(image / 2), np.float32(window / 2)
    if normalized:
        place *= np.float32(image)
    if version == 1:
        if centered:
            place = place / np.float32(2) + half_image
        place -= half_window
    elif centered:
        # Version 2 shifts by half the window only if offsets are normalized.
        place = (
            place / np.float32(2) + half_image - half_window if normalized else place + half_image
        )
    if not np.isfinite(place):
        raise errors.invalid_argument(f"offsets must be finite, but one is {offset}")
    return int(place)


def _noise(kind: str, image: Array, shape: tuple[int, ...]) -> Array:
    """Return the fill values of a window outside of the image."""
    if kind == "zero":
        return np.zeros(shape, np.float32)
    random = np.random.default_rng()
    lowest, highest = image.min(), image.max()
    if kind == "uniform":
        return lowest + random.random(shape, np.float32) * (highest - lowest)
    mean, deviation = image.mean(axis=(0, 1)), image.std(axis=(0, 1))
    values = random.standard_normal(shape, np.float32) * deviation + mean
    return values.clip(image.min(axis=(0, 1)), image.max(axis=(0, 1))).astype(np.float32)


def _overlap(start: int, window: int, image: int) -> tuple[slice, slice]:
    """Return the overlap as (slice of the window, slice of the image)."""
    first, last = max(start, 0), min(start + window, image)
    last = max(first, last)
    return slice(first - start, last - start), slice(first, last)


def _glimpses(
    images: Array,
    size: Array,
    offsets: Array,
    centered: bool,
    normalized: bool,
    uniform_noise: bool,
    noise: str,
    version: int,
) -> Array:
    if uniform_noise and noise not in ("", "uniform"):
        raise errors.invalid_argument(
            "The uniform_noise and noise could not be specified at the same time"
        )
    kind = noise or ("uniform" if uniform_noise else "gaussian")
    if kind not in ("uniform", "gaussian", "zero"):
        raise errors.invalid_argument(
            f"The noise could only be uniform, gaussian, or zero, got{noise}"
        )
    if images.ndim != 4:
        raise errors.invalid_argument(
            "input must be 4-dimensional (batch_size, height, width, depth)"
            f"{shape_text(images.shape)}"
        )
    if size.shape != (2,):
        raise errors.invalid_argument(
            f"input must be a vector of size 2 (height, width){shape_text(size.shape)}"
        )
    batch, height, width, channels = images.shape
    if offsets.shape != (batch, 2):
        raise errors.invalid_argument(
            "offsets must be a matrix with a row (y, x) for each image, but has shape "
            f"{shape_text(offsets.shape)}"
        )
    rows, columns = (int(one) for one in size)
    if min(rows, columns) < 0:
        raise errors.invalid_argument(f"Expected a non-negative size, got {min(rows, columns)}")
    check_fits(np, (batch, rows, columns, channels), np.dtype(np.float32))
    out = np.empty((batch, rows, columns, channels), np.float32)
    if not out.size:
        return out
    for i, (y, x) in enumerate(offsets):
        top = _corner(y, height, rows, centered, normalized, version)
        left = _corner(x, width, columns, centered, normalized, version)
        of_rows, image_rows = _overlap(top, rows, height)
        of_columns, image_columns = _overlap(left, columns, width)
        whole = (image_rows.stop - image_rows.start, image_columns.stop - image_columns.start)
        if whole != (rows, columns):
            out[i] = _noise(kind, images[i], out[i].shape)
        if min(whole) > 0:
            out[i, of_rows, of_columns] = images[i, image_rows, image_columns]
    return out


def _glimpse_op(name: str, version: int) -> OpDefinition:
    def kernel(
        xp: Xp,
        images: Array,
        size: Array,
        offsets: Array,
        *,
        centered: bool,
        normalized: bool,
        uniform_noise: bool,
        noise: str,
    ) -> Array:
        return _glimpses(images, size, offsets, centered, normalized, uniform_noise, noise, version)

    kernel.__doc__ = "A window of each image, with noise where it reaches over the border."
    definition: OpDefinition = register_op(
        name,
        "input: float, size: int32, offsets: float -> glimpse: float",
        "centered: bool = true",
        "normalized: bool = true",
        "uniform_noise: bool = true",
        "noise: string = 'uniform'",
        shape=_glimpse_shape,
        devices=("CPU",),
    )(kernel)
    return definition


extract_glimpse_op = _glimpse_op("ExtractGlimpse", 1)
extract_glimpse_v2 = _glimpse_op("ExtractGlimpseV2", 2)
extract_glimpse_op.not_differentiable()


def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> TensorResult:
    """Extract a window of each image.

    Args:
      input: float32 images, NHWC.
      size: the windows' (height, width).
      offsets: the centers of the windows, one (y, x) for each image.
      centered: whether (0, 0) is the center of the image, not its upper left corner.
      normalized: whether 1 is the image's size (half of it where `centered`), not a pixel.
      uniform_noise: whether pixels outside of the image get uniform instead of normal noise.
      name: the name of the op.
    """
    return extract_glimpse_op(
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )
