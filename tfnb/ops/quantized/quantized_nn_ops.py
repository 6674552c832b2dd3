"""Layers on quantized numbers, as in graphs that were quantized after training.

Each op returns its numbers and their range. Corresponds to TensorFlow's
``quantized_conv_ops.cc``, ``quantized_bias_add_op.cc``, ``quantized_activation_ops.cc``,
``quantized_pooling_ops.cc``, ``quantized_batch_norm_op.cc``, ``quantized_instance_norm.cc`` and
``quantized_resize_bilinear_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.process.records import replace
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_dims,
    require_rank,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.quantized_values import (
    dequantized,
    floats_of,
    number_of,
    numbers_of,
    quantized,
    quantized_number,
    range_of_products,
    scalar_ranges,
    single,
    with_scalar_range,
)
from tfnb.ops.conv import conv_kernels, pooling_kernels
from tfnb.ops.conv.windows import check_depth_window, output_dim, window
from tfnb.ops.image.image_resize_ops import checked_size, neighbours
from tfnb.ops.quantized.quantized_fused_ops import SIGNED
from tfnb.ops.quantized.quantized_math_ops import less_zeros, quotient, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.ops.conv.windows import Window

EXPORTS = {
    "nn": [
        "quantized_avg_pool",
        "quantized_conv2d:quantized_conv2_d",
        "quantized_max_pool",
        "quantized_relu_x",
    ],
}

_CPU: dict[str, Any] = {"devices": ("CPU",)}


# -------------------------------------------------------------------------------------- convolution

CONV_INPUTS = (
    "input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, "
    "max_filter: float"
)
CONV_OUTPUTS = " -> output: out_type, min_output: float, max_output: float"
CONV_ATTRS = (
    "Tinput: quantizedtype",
    "Tfilter: quantizedtype",
    "out_type: quantizedtype = DT_QINT32",
    "strides: list(int)",
    "padding: {'SAME', 'VALID'}",
    "dilations: list(int) = [1, 1, 1, 1]",
)


def conv_shape(c: InferenceContext) -> TensorShape:
    """Return the shape of a convolution of images, channels last.

    Raises:
      ValueError: image and filter, or a window, do not fit.
    """
    x, kernel = c.with_rank(0, 4).dim_values, c.with_rank(1, 4).dim_values
    assert x is not None
    assert kernel is not None
    strides, dilations = c.attr("strides"), c.attr("dilations")
    if len(strides) != 4 or len(dilations) != 4:
        raise ValueError("Conv2D requires the stride and dilation attributes to contain 4 values")
    if merge_dims(x[3], kernel[2]) == 0:
        raise ValueError("Depth of filter must not be 0")
    spatial = [
        output_dim(x[axis], kernel[axis - 1], strides[axis], dilations[axis], c.attr("padding"))
        for axis in (1, 2)
    ]
    return TensorShape([x[0], *spatial, kernel[3]])


def conv_windows(
    x: Array, kernel: Array, strides: Sequence[int], dilations: Sequence[int], padding: str
) -> list[Window]:
    """Return the windows of a convolution of images.

    Raises:
      InvalidArgumentError: TensorFlow's kernel does not accept the image, the filter or the
        strides.
    """
    if len(strides) != 4:
        raise errors.invalid_argument("Sliding window strides field must specify 4 dimensions")
    if strides[1] != strides[2]:
        raise errors.invalid_argument(
            "Current implementation only supports equal length strides in the row and column "
            "dimensions."
        )
    if strides[0] != 1 or strides[3] != 1:
        raise errors.invalid_argument(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    for name, value in (("input", x), ("filter", kernel)):
        if value.ndim != 4:
            raise errors.invalid_argument(
                f"{name} must be rank 4 but is rank {value.ndim}: {shape_text(value.shape)}"
            )
    return [
        window(x.shape[axis], kernel.shape[axis - 1], strides[axis], dilations[axis], padding)
        for axis in (1, 2)
    ]


@register_op(
    "QuantizedConv2D",
    CONV_INPUTS + CONV_OUTPUTS,
    *CONV_ATTRS,
    shape=lambda c: with_scalar_range(c, conv_shape(c), 2),
    **_CPU,
)
def quantized_conv2_d(
    ctx: OpKernelContext,
    x: Array,
    kernel: Array,
    min_input: Array,
    max_input: Array,
    min_filter: Array,
    max_filter: Array,
    *,
    out_type: dtypes.DType,
    strides: list[int],
    padding: str,
    dilations: list[int],
) -> Outputs:
    """Return the convolution of quantized numbers, as sums of products of integers.

    With a filter of signed numbers, the sums stand for other floats; see quantized_fused_ops.py.
    """
    if kernel.dtype == np.int8:
        return SIGNED.compute(ctx, x, kernel, min_input, max_input, min_filter, max_filter)
    range_x = number_of(min_input, "min_input"), number_of(max_input, "max_input")
    range_kernel = number_of(min_filter, "min_filter"), number_of(max_filter, "max_filter")
    if any(d != 1 for d in dilations):
        raise errors.invalid_argument(
            "Current implementation only supports dilated rate as 1 for row and column dimensions."
        )
    windows = conv_windows(x, kernel, strides, dilations, padding)
    if x.shape[3] != kernel.shape[2]:
        raise errors.invalid_argument(
            f"input and filter must have the same depth: {x.shape[3]} vs {kernel.shape[2]}"
        )
    if not x.size or 0 in kernel.shape[2:]:
        raise errors.invalid_argument(
            f"Invalid input: Shapes dimension cannot be 0: {x.shape}, {kernel.shape}"
        )
    image, weights, zero = less_zeros(x, range_x, kernel, range_kernel)
    if zero > 255 and any(w.pad_before or w.pad_after for w in windows):
        # The padding is the lowest byte of the number for zero.
        sides = [(0, 0), *((w.pad_before, w.pad_after) for w in windows), (0, 0)]
        image = np.pad(image, sides, constant_values=(zero & 255) - zero)
        windows = [replace(w, size=w.padded, pad_before=0, pad_after=0) for w in windows]
    product = conv_kernels.forward(np, image, weights, windows)
    dtype = out_type.as_numpy_dtype
    ends = range_of_products(range_x, x.dtype, range_kernel, kernel.dtype, dtype)
    return wrapped(product, dtype), *ends


# --------------------------------------------------------------------------------- bias, activation


def _bias_shape(c: InferenceContext) -> list[TensorShape]:
    dims, bias = c.with_rank_at_least(0, 1).dim_values, c.with_rank(1, 1).dim_values
    assert bias is not None
    scalar_ranges(c, 2)
    if dims is None:
        return [UNKNOWN_SHAPE, SCALAR_SHAPE, SCALAR_SHAPE]
    depth = merge_dims(dims[-1], bias[0])
    return [TensorShape([*dims[:-1], depth]), SCALAR_SHAPE, SCALAR_SHAPE]


@register_op(
    "QuantizedBiasAdd",
    "input: T1, bias: T2, min_input: float, max_input: float, min_bias: float, max_bias: float -> "
    "output: out_type, min_out: float, max_out: float",
    "T1: quantizedtype",
    "T2: quantizedtype",
    "out_type: quantizedtype",
    shape=_bias_shape,
    **_CPU,
)
def quantized_bias_add(
    xp: Xp,
    x: Array,
    bias: Array,
    min_input: Array,
    max_input: Array,
    min_bias: Array,
    max_bias: Array,
    *,
    out_type: dtypes.DType,
) -> Outputs:
    """Return the sum with a vector along the last dimension.

    Its range leaves room for many sums.
    """
    range_x = number_of(min_input, "min_input"), number_of(max_input, "max_input")
    range_bias = number_of(min_bias, "min_bias"), number_of(max_bias, "max_bias")
    if x.ndim < 1:
        raise errors.invalid_argument(f"Input tensor must be at least 1D: {shape_text(x.shape)}")
    if bias.ndim != 1:
        raise errors.invalid_argument(f"Biases must be 1D: {shape_text(bias.shape)}")
    if not bias.size:
        raise errors.invalid_argument("Must provide at least 1 bias.")
    if x.shape[-1] != bias.shape[0]:
        raise errors.invalid_argument(
            "Must provide as many biases as the last dimension of the input tensor: "
            f"{shape_text(bias.shape)} vs. {shape_text(x.shape)}"
        )
    # The order is TensorFlow's; it determines when NaN is the largest.
    high = max(range_x[1], max(-range_x[0], max(range_bias[1], -range_bias[0])))
    high = np.float32(high * np.float32(1 << 17))
    dtype = out_type.as_numpy_dtype
    zero = quantized_number(0.0, -high, high, dtype)
    sums = quantized(dequantized(x, *range_x), -high, high, dtype).astype(np.int64)
    sums = sums + quantized(dequantized(bias, *range_bias), -high, high, dtype) + zero
    return wrapped(sums, dtype), -high, high


_FEATURES = "features: Tinput, min_features: float, max_features: float"
_ACTIVATIONS = " -> activations: out_type, min_activations: float, max_activations: float"
_ACTIVATION_TYPES = ("Tinput: quantizedtype", "out_type: quantizedtype = DT_QUINT8")


@register_op(
    "QuantizedRelu",
    _FEATURES + _ACTIVATIONS,
    *_ACTIVATION_TYPES,
    shape=lambda c: with_scalar_range(c, c.inputs[0], 1),
    **_CPU,
)
def quantized_relu(xp: Xp, features: Array, min_features: Array, max_features: Array) -> Outputs:
    """Return max(features, 0) of quantized numbers, in the same range."""
    low, high = number_of(min_features, "min_features"), number_of(max_features, "max_features")
    zero = quantized_number(0.0, low, high, features.dtype)
    return np.maximum(features, features.dtype.type(zero)), low, high


@register_op(
    "QuantizedRelu6",
    _FEATURES + _ACTIVATIONS,
    *_ACTIVATION_TYPES,
    shape=lambda c: with_scalar_range(c, c.inputs[0], 1),
    **_CPU,
)
def quantized_relu6(xp: Xp, features: Array, min_features: Array, max_features: Array) -> Outputs:
    """Return min(max(features, 0), 6) of quantized numbers, in the same range."""
    low, high = number_of(min_features, "min_features"), number_of(max_features, "max_features")
    zero, six = (quantized_number(end, low, high, features.dtype) for end in (0.0, 6.0))
    kind = features.dtype.type
    return np.minimum(np.maximum(features, kind(zero)), kind(six)), low, high


# This op has no kernel in TensorFlow, either.
quantized_relu_x: OpDefinition = register_op(
    "QuantizedReluX",
    "features: Tinput, max_value: float, min_features: float, max_features: float" + _ACTIVATIONS,
    *_ACTIVATION_TYPES,
    shape=lambda c: with_scalar_range(c, c.inputs[0], 2),
)(None)


# ------------------------------------------------------------------------------------------ pooling

_POOL = (
    "input: T, min_input: float, max_input: float -> output: T, min_output: float, "
    "max_output: float"
)
_POOL_ATTRS = (
    "T: quantizedtype",
    "ksize: list(int)",
    "strides: list(int)",
    "padding: {'SAME', 'VALID'}",
)


def _pool_shape(c: InferenceContext, pools_depth: bool) -> list[TensorShape]:
    dims = c.with_rank(0, 4).dim_values
    assert dims is not None
    ksize, strides = c.attr("ksize"), c.attr("strides")
    if len(ksize) != 4 or len(strides) != 4:
        raise ValueError("Pooling requires the ksize and stride attributes to contain 4 values")
    out = [
        output_dim(dims[axis], ksize[axis], strides[axis], 1, c.attr("padding"))
        for axis in ((1, 2, 3) if pools_depth else (1, 2))
    ]
    return with_scalar_range(c, TensorShape([dims[0], *out, dims[3]][:4]), 1)


def _pool_windows(
    x: Array, ksize: Sequence[int], strides: Sequence[int], padding: str
) -> list[Window]:
    for name, values in (("ksize", ksize), ("stride", strides)):
        if len(values) != 4:
            raise errors.invalid_argument(f"Sliding window {name} field must specify 4 dimensions")
    if ksize[0] != 1 or strides[0] != 1:
        raise errors.unimplemented("Pooling is not yet supported on the batch dimension.")
    if x.ndim != 4:
        raise errors.invalid_argument("tensor_in must be 4-dimensional")
    check_depth_window(x.shape, ksize, strides)
    return [window(x.shape[axis], ksize[axis], strides[axis], 1, padding) for axis in (1, 2)]


@register_op(
    "QuantizedMaxPool",
    _POOL,
    *_POOL_ATTRS,
    shape=lambda c: _pool_shape(c, pools_depth=True),
    **_CPU,
)
def quantized_max_pool(
    xp: Xp,
    x: Array,
    min_input: Array,
    max_input: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Outputs:
    """Return the largest number of every window, in the same range."""
    low, high = number_of(min_input, "min_input"), number_of(max_input, "max_input")
    windows = _pool_windows(x, ksize, strides, padding)
    if ksize[3] > 1:
        return pooling_kernels.max_pool_depth(x, ksize[3]), low, high
    return pooling_kernels.max_pool(np, x, windows), low, high


@register_op(
    "QuantizedAvgPool",
    _POOL,
    *_POOL_ATTRS,
    shape=lambda c: _pool_shape(c, pools_depth=False),
    **_CPU,
)
def quantized_avg_pool(
    xp: Xp,
    x: Array,
    min_input: Array,
    max_input: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Outputs:
    """Return the mean of every window, rounded towards zero, in the same range."""
    low, high = number_of(min_input, "min_input"), number_of(max_input, "max_input")
    windows = _pool_windows(x, ksize, strides, padding)
    if ksize[3] != 1:
        raise errors.unimplemented("Non-spatial pooling is not yet supported. Volunteers? :)")
    means = pooling_kernels.avg_pool(np, x.astype(np.float64), windows)
    return np.trunc(means).astype(x.dtype), low, high


# ---------------------------------------------------------------------------------------- norms


def _batch_norm_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.with_rank(0, 4).dim_values
    assert dims is not None
    depth = dims[3]
    for first in (3, 6, 9, 12):
        vector = c.with_rank(first, 1).dim_values
        assert vector is not None
        depth = merge_dims(depth, vector[0])
    return [TensorShape([*dims[:3], depth]), SCALAR_SHAPE, SCALAR_SHAPE]


@register_op(
    "QuantizedBatchNormWithGlobalNormalization",
    "t: Tinput, t_min: float, t_max: float, m: Tinput, m_min: float, m_max: float, "
    "v: Tinput, v_min: float, v_max: float, beta: Tinput, beta_min: float, beta_max: float, "
    "gamma: Tinput, gamma_min: float, gamma_max: float -> "
    "result: out_type, result_min: float, result_max: float",
    "Tinput: quantizedtype",
    "out_type: quantizedtype",
    "variance_epsilon: float",
    "scale_after_normalization: bool",
    shape=_batch_norm_shape,
    **_CPU,
)
def quantized_batch_norm_with_global_normalization(
    xp: Xp,
    t: Array,
    t_min: Array,
    t_max: Array,
    m: Array,
    m_min: Array,
    m_max: Array,
    v: Array,
    v_min: Array,
    v_max: Array,
    beta: Array,
    beta_min: Array,
    beta_max: Array,
    gamma: Array,
    gamma_min: Array,
    gamma_max: Array,
    *,
    out_type: dtypes.DType,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> Outputs:
    """Return (t - m) / sqrt(v + epsilon) * gamma + beta, as integers of a new range."""
    if t.ndim != 4:
        raise errors.invalid_argument(f"input must be 4-dimensional{shape_text(t.shape)}")
    vectors = []
    for name, value, low, high in (
        ("mean", m, m_min, m_max),
        ("var", v, v_min, v_max),
        ("beta", beta, beta_min, beta_max),
        ("gamma", gamma, gamma_min, gamma_max),
    ):
        if value.ndim != 1:
            raise errors.invalid_argument(f"{name} must be 1-dimensional{shape_text(value.shape)}")
        if value.size <= 1:
            raise errors.invalid_argument(
                f"Must have at least a {name} value{shape_text(value.shape)}"
            )
        if value.shape[0] != t.shape[3]:
            raise errors.invalid_argument(
                f"{name} must have as many elements as the input has channels: {value.shape[0]} "
                f"vs. {t.shape[3]}"
            )
        vectors.append(floats_of(value, single(low, f"{name}_min"), single(high, f"{name}_max")))
    mean, variance, offset, factor = vectors
    scale = np.float32(1) / np.sqrt(variance + np.float32(variance_epsilon))
    if scale_after_normalization:
        scale = scale * factor
    dtype = out_type.as_numpy_dtype
    high = np.float32(1 << 20)
    scales = numbers_of(scale, -high, high, dtype)
    offsets = numbers_of(-mean * scale + offset, -high, high, dtype)
    one = quantized_number(1.0, -high, high, dtype)
    x = numbers_of(floats_of(t, single(t_min, "t_min"), single(t_max, "t_max")), -high, high, dtype)
    products = wrapped(x.astype(np.int64) * scales, dtype).astype(np.int64)
    return wrapped(quotient(products, one) + offsets, dtype), -high, high


@register_op(
    "QuantizedInstanceNorm",
    "x: T, x_min: float, x_max: float -> y: T, y_min: float, y_max: float",
    "T: quantizedtype",
    "output_range_given: bool = false",
    "given_y_min: float = 0",
    "given_y_max: float = 0",
    "variance_epsilon: float = 9.99999975e-06",
    "min_separation: float = 0.00100000005",
    shape=lambda c: with_scalar_range(c, c.inputs[0], 1),
    **_CPU,
)
def quantized_instance_norm(
    xp: Xp,
    x: Array,
    x_min: Array,
    x_max: Array,
    *,
    output_range_given: bool,
    given_y_min: float,
    given_y_max: float,
    variance_epsilon: float,
    min_separation: float,
) -> Outputs:
    """Return every image's channels scaled to mean 0 and variance 1, quantized again."""
    low, high = number_of(x_min, "x_min"), number_of(x_max, "x_max")
    if not low < high:
        raise errors.invalid_argument(f"input_min must be less than input_max : {low} >= {high}")
    if x.ndim != 4:
        raise errors.invalid_argument(f"input must be 4-dimensional{shape_text(x.shape)}")
    values = dequantized(x, low, high)
    axes = (1, 2)
    count = np.float32(x.shape[1] * x.shape[2])  # for empty images it is 0, and the mean NaN
    centred = values - values.sum(axis=axes, keepdims=True, dtype=np.float32) / count
    variance = np.square(centred).sum(axis=axes, keepdims=True, dtype=np.float32) / count
    normed = centred / np.sqrt(variance + np.float32(variance_epsilon))
    if output_range_given:
        new_low, new_high = np.float32(given_y_min), np.float32(given_y_max)
    else:
        new_low, new_high = normed.min(initial=np.inf), normed.max(initial=-np.inf)
        least = np.float32(min_separation)
        if new_high - new_low < least or not normed.size:
            new_high = new_low + least
    return quantized(normed, new_low, new_high, x.dtype), new_low, new_high


# ------------------------------------------------------------------------------------------- resize


def _resize_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.with_rank(0, 4).dim_values
    c.with_rank(1, 1)
    assert dims is not None
    size = require_rank(c.constant_value_as_shape(1), 2).dim_values
    assert size is not None
    return with_scalar_range(c, TensorShape([dims[0], *size, dims[3]]), 2)


@register_op(
    "QuantizedResizeBilinear",
    "images: T, size: int32, min: float, max: float -> resized_images: T, out_min: float, "
    "out_max: float",
    "T: {quint8, qint32, float}",
    "align_corners: bool = false",
    "half_pixel_centers: bool = false",
    shape=_resize_shape,
    **_CPU,
)
def quantized_resize_bilinear(
    xp: Xp,
    images: Array,
    size: Array,
    low: Array,
    high: Array,
    *,
    align_corners: bool,
    half_pixel_centers: bool,
) -> Outputs:
    """Return resized images; each pixel is interpolated from the four around its position."""
    low, high = number_of(low, "min"), number_of(high, "max")
    height, width = checked_size(images, size)
    if images.shape[1:3] == (height, width):
        return images, low, high
    top, bottom, y = neighbours(images.shape[1], height, align_corners, half_pixel_centers)
    left, right, x = neighbours(images.shape[2], width, align_corners, half_pixel_centers)
    corners = [
        images[:, rows][:, :, columns] for rows in (top, bottom) for columns in (left, right)
    ]
    x, y = x[None, None, :, None], y[None, :, None, None]
    if images.dtype == np.float32:
        upper = corners[0] + (corners[1] - corners[0]) * x
        lower = corners[2] + (corners[3] - corners[2]) * x
        return upper + (lower - upper) * y, low, high
    return _between(corners, x, y, images.dtype), low, high


def _between(corners: Sequence[Array], x: Array, y: Array, dtype: Attr) -> Array:
    """Return the numbers between four others.

    They are computed in integers with 7 binary places, or 30 for qint32.
    """
    one = 1 << (7 if dtype == np.uint8 else 30)
    along, down = (np.trunc(part * np.float32(one)).astype(np.int64) for part in (x, y))
    # TensorFlow converts qint32 to int64 through float.
    a, b, c, d = (corner.astype(np.float32).astype(np.int64) for corner in corners)
    upper, lower = a * one + (b - a) * along, c * one + (d - c) * along
    found = upper + quotient(lower - upper, one) * down
    return wrapped(quotient(found + one // 2, one), dtype)
