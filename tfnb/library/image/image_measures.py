"""tf.image: measures of images: total variation, PSNR, SSIM, edges, gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow.cond import cond
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.library.image.image_adjustments import convert_image_dtype
from tfnb.library.nn.depthwise_convolution import depthwise_conv2d
from tfnb.library.nn.nn_ops import relu
from tfnb.library.nn.pooling import avg_pool
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.constant_ops import constant
from tfnb.ops.math import math_ops
from tfnb.ops.math.reduction_ops import reduce_mean, reduce_prod, reduce_sum
from tfnb.ops.nn.softmax_ops import softmax

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "image": [
        "image_gradients",
        "psnr",
        "sobel_edges",
        "ssim",
        "ssim_multiscale",
        "total_variation",
    ]
}


def total_variation(images: TensorLike, name: str | None = None) -> TensorResult:
    """Return the sum of absolute differences of neighbouring pixels, for each image.

    Raises:
      ValueError: the rank is not 3 or 4.
    """
    with name_scope(name, "total_variation"):
        rank = images.shape.ndims
        if rank == 3:
            down = images[1:, :, :] - images[:-1, :, :]
            right = images[:, 1:, :] - images[:, :-1, :]
            axes = None
        elif rank == 4:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            right = images[:, :, 1:, :] - images[:, :, :-1, :]
            axes = [1, 2, 3]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        return reduce_sum(math_ops.abs(down), axis=axes) + reduce_sum(
            math_ops.abs(right), axis=axes
        )


def _checked_pair(a: TensorLike, b: TensorLike) -> tuple[list[Nested], list[Nested]]:
    """Return the images' shapes, and checks that both have the same."""
    a.shape.with_rank_at_least(3)
    b.shape.with_rank_at_least(3)
    a.shape[-3:].assert_is_compatible_with(b.shape[-3:])
    shape_a, shape_b = array_ops.shape_n([a, b])
    is_image = math_ops.greater_equal(array_ops.size(shape_a), 3)
    checks = [assert_(is_image, [shape_a, shape_b], summarize=10)]
    same = reduce_all_equal(shape_a[-3:], shape_b[-3:])
    checks.append(assert_(same, [shape_a, shape_b], summarize=10))
    return [shape_a, shape_b], checks


def reduce_all_equal(a: TensorLike, b: TensorLike) -> TensorResult:
    """Return whether two vectors have the same entries."""
    return math_ops.reduce_all(math_ops.equal(a, b))


def psnr(
    a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None
) -> TensorResult:
    """Return the ratio of the largest value to the mean square error of images, in decibels."""
    with name_scope(name, "PSNR", [a, b]):
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        largest = convert_image_dtype(cast(max_val, a.dtype), dtypes.float32)
        a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
        error = reduce_mean(math_ops.squared_difference(a, b), [-3, -2, -1])
        value = math_ops.subtract(
            20 * math_ops.log(largest) / math_ops.log(10.0),
            np.float32(10 / np.log(10)) * math_ops.log(error),
            name="psnr",
        )
        _, checks = _checked_pair(a, b)
        with control_dependencies(checks):
            return array_ops.identity(value)


def _gaussian(size: TensorLike, sigma: TensorLike) -> TensorResult:
    """Return a window of Gaussian weights, whose sum is one."""
    places = cast(math_ops.range_(size), sigma.dtype)
    places -= cast(size - 1, sigma.dtype) / 2.0
    exponents = math_ops.square(places)
    exponents *= -0.5 / math_ops.square(sigma)
    both = array_ops.reshape(exponents, [1, -1]) + array_ops.reshape(exponents, [-1, 1])
    return array_ops.reshape(softmax(array_ops.reshape(both, [1, -1])), [size, size, 1, 1])


def _ssim_per_channel(
    a: TensorLike,
    b: TensorLike,
    max_val: Any,
    filter_size: int,
    sigma: float,
    k1: float,
    k2: float,
    return_index_map: bool = False,
) -> tuple[Nested, Nested]:
    """Return the similarity of each channel, and its part from contrast and structure.

    With ``return_index_map``, the similarity has a value for each position of the window.
    """
    size, width = constant(filter_size, dtypes.int32), constant(sigma, a.dtype)
    shapes = array_ops.shape_n([a, b])
    checks = [
        assert_(
            math_ops.reduce_all(math_ops.greater_equal(shape[-3:-1], size)),
            [shape, size],
            summarize=8,
        )
        for shape in shapes
    ]
    with control_dependencies(checks):
        a = array_ops.identity(a)
    window = array_ops.tile(_gaussian(size, width), [1, 1, shapes[0][-1], 1])

    def smoothed(x: TensorLike) -> TensorResult:
        shape = array_ops.shape(x)
        flat = array_ops.reshape(x, array_ops.concat([[-1], shape[-3:]], 0))
        y = depthwise_conv2d(flat, window, strides=[1, 1, 1, 1], padding="VALID")
        return array_ops.reshape(y, array_ops.concat([shape[:-3], array_ops.shape(y)[1:]], 0))

    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    mean_a, mean_b = smoothed(a), smoothed(b)
    product = mean_a * mean_b * 2.0
    squares = math_ops.square(mean_a) + math_ops.square(mean_b)
    luminance = (product + c1) / (squares + c1)
    mixed = smoothed(a * b) * 2.0
    powers = smoothed(math_ops.square(a) + math_ops.square(b))
    c2 = c2 * 1.0  # TensorFlow's factor for windows without bias
    contrast = (mixed - product + c2) / (powers - squares + c2)
    if return_index_map:
        return luminance * contrast, contrast
    axes = constant([-3, -2], dtypes.int32)
    return reduce_mean(luminance * contrast, axes), reduce_mean(contrast, axes)


def _prepared(
    a: TensorLike, b: TensorLike, max_val: TensorLike
) -> tuple[list[Nested], Nested, list[Nested]]:
    """Return the images and the largest value as float32, and the images' shapes."""
    a = convert_to_tensor(a, name="img1")
    b = convert_to_tensor(b, name="img2")
    shapes, checks = _checked_pair(a, b)
    with control_dependencies(checks):
        a = array_ops.identity(a)
    largest = convert_image_dtype(cast(max_val, a.dtype), dtypes.float32)
    return [convert_image_dtype(one, dtypes.float32) for one in (a, b)], largest, shapes


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> TensorResult:
    """Return the structural similarity of images (Wang et al., 2004), 1 for equal ones.

    Args:
      img1: images, [..., height, width, channels].
      img2: the images to compare with.
      max_val: the largest value that a pixel can have.
      filter_size: of the Gaussian window.
      filter_sigma: of the Gaussian window.
      k1: how much the means are smoothed.
      k2: how much the deviations are smoothed.
      return_index_map: whether to return the similarity of every window, not their mean.
    """
    with name_scope(None, "SSIM", [img1, img2]):
        images, largest, _ = _prepared(img1, img2, max_val)
        a, b = images
        per_channel, _ = _ssim_per_channel(
            *(a, b, largest, filter_size, filter_sigma, k1, k2), return_index_map
        )
        return reduce_mean(per_channel, [-1])


_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: TensorLike = _SCALES,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> TensorResult:
    """Return the structural similarity at several sizes, each half of the one before."""
    with name_scope(None, "MS-SSIM", [img1, img2]):
        images, largest, shapes = _prepared(img1, img2, max_val)
        heads, tails = [one[:-3] for one in shapes], [one[-3:] for one in shapes]
        two = constant([2, 2, 1], dtypes.int32)
        found = []
        likeness = None
        for scale in range(len(power_factors)):
            with name_scope(None, f"Scale{scale}", images):
                if scale:
                    halves = _halved(images, tails, two)
                    tails = [one[1:] for one in array_ops.shape_n(halves)]
                    images = [
                        array_ops.reshape(one, array_ops.concat([head, tail], 0))
                        for one, head, tail in zip(halves, heads, tails, strict=True)
                    ]
                a, b = images
                likeness, contrast = _ssim_per_channel(
                    a, b, largest, filter_size, filter_sigma, k1, k2
                )
                found.append(relu(contrast))
        assert likeness is not None
        found[-1] = relu(likeness)
        stacked = array_ops.stack(found, axis=-1)
        return reduce_mean(reduce_prod(math_ops.pow(stacked, power_factors), [-1]), [-1])


def _halved(images: list[TensorLike], sizes: list[TensorLike], two: TensorLike) -> list[Nested]:
    """Return means of two by two pixels; an odd last row or column is repeated first."""
    flat = [
        array_ops.reshape(one, array_ops.concat([[-1], size], 0))
        for one, size in zip(images, sizes, strict=True)
    ]
    odd = sizes[0] % two

    def padded() -> list[Nested]:
        paddings = array_ops.pad(array_ops.expand_dims(odd, -1), [[1, 0], [1, 0]])
        return [array_ops.pad(one, paddings, mode="SYMMETRIC") for one in flat]

    even = cond(math_ops.reduce_any(math_ops.not_equal(odd, 0)), padded, lambda: flat)
    window = [1, 2, 2, 1]
    return [avg_pool(one, ksize=window, strides=window, padding="VALID") for one in even]


def image_gradients(image: TensorLike) -> tuple[Nested, Nested]:
    """Return differences to the next row and column; zero in the last row and column.

    Raises:
      ValueError: the rank is not 4.
    """
    if image.shape.ndims != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}."
        )
    shape = array_ops.shape(image)
    batch, height, width, depth = array_ops.unstack(shape)
    dy = image[:, 1:, :, :] - image[:, :-1, :, :]
    dx = image[:, :, 1:, :] - image[:, :, :-1, :]
    last_row = array_ops.zeros(array_ops.stack([batch, 1, width, depth]), image.dtype)
    dy = array_ops.reshape(array_ops.concat([dy, last_row], 1), shape)
    last_column = array_ops.zeros(array_ops.stack([batch, height, 1, depth]), image.dtype)
    dx = array_ops.reshape(array_ops.concat([dx, last_column], 2), shape)
    return dy, dx


_SOBEL = [
    [[-1, -2, -1], [0, 0, 0], [1, 2, 1]],
    [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
]


def sobel_edges(image: TensorLike) -> TensorResult:
    """Return the Sobel filters for both directions: [batch, height, width, channels, 2]."""
    static = image.shape
    shape = array_ops.shape(image)
    kernels = np.expand_dims(np.transpose(np.asarray(_SOBEL), (1, 2, 0)), -2)
    filters = array_ops.constant(kernels, dtype=image.dtype)
    filters = array_ops.tile(filters, [1, 1, shape[-1], 1], name="sobel_filters")
    padded = array_ops.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    output = depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
    output = array_ops.reshape(output, array_ops.concat([shape, [2]], 0))
    output.set_shape(static.concatenate([2]))
    return output
