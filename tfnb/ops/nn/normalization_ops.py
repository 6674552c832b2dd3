"""Batch normalization, L2 loss.

Corresponds to TensorFlow's ``fused_batch_norm_op.cc``, ``batch_norm_op.cc`` and ``l2loss_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.process.work_sharder import num_threads
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_dims,
    merge_shapes,
    require_rank,
    scalar_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import is_large, shard_rows, sum_of_squares
from tfnb.ops.nn import compiled_norm
from tfnb.ops.nn.channel_rows import ChannelRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorResult

EXPORTS = {"nn": ["l2_loss"]}

# ------------------------------------------------------------------------------------------ L2 loss


@register_op(
    "L2Loss", "t: T -> output: T", "T: {half, bfloat16, float, double}", shape=scalar_shape
)
def l2_loss(xp: Xp, t: Array) -> Array:
    """Return sum(t**2) / 2."""
    wide = t.astype(np.float32) if t.dtype.itemsize == 2 else t
    total = sum_of_squares(xp, wide)
    return (total * wide.dtype.type(0.5)).astype(t.dtype)


l2_loss.float_ops(float_ops.per_input(3, -1))


@l2_loss.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return op.inputs[0] * grad


# ----------------------------------------------------------------------------- fused batch norm


def _channel_axis(data_format: str, rank: int) -> int:
    return 1 if data_format in ("NCHW", "NCDHW") else rank - 1


def _norm_rank(c: InferenceContext) -> int:
    return 5 if c.attr("data_format") in ("NDHWC", "NCDHW") else 4


def _fused_norm_shape(c: InferenceContext, num_extra: int) -> list[TensorShape]:
    rank = _norm_rank(c)
    x = require_rank(c.inputs[0], rank)
    dims = list(x.dim_values or ())
    axis = _channel_axis(c.attr("data_format"), rank)
    # The input statistics count only if they are applied, or averaged with the new ones.
    count = 3 if c.attr("is_training") and c.attr("exponential_avg_factor") == 1 else 5
    channels = dims[axis]
    for index in range(1, count):
        vector = c.with_rank(index, 1).dim_values
        assert vector is not None
        channels = merge_dims(channels, vector[0])
    dims[axis] = channels
    vector_shape = TensorShape([channels])
    shapes = [TensorShape(dims), *[vector_shape] * 4]
    if num_extra:
        shapes.append(UNKNOWN_SHAPE)
    return shapes


def _fused_norm_grad_shape(c: InferenceContext) -> list[TensorShape]:
    rank = _norm_rank(c)
    y_backprop = require_rank(c.inputs[0], rank)
    x = require_rank(c.inputs[1], rank)
    axis = _channel_axis(c.attr("data_format"), rank)
    channels = merge_dims((y_backprop.dim_values or ())[axis], (x.dim_values or ())[axis])
    for index in (2, 3, 4):
        vector = c.with_rank(index, 1).dim_values
        assert vector is not None
        channels = merge_dims(channels, vector[0])
    dims = list(y_backprop.dim_values or ())
    dims[axis] = channels
    vector_shape = TensorShape([channels])
    # The last two outputs are only for cuDNN.
    empty = TensorShape([0])
    return [TensorShape(dims), vector_shape, vector_shape, empty, empty]


def _check_norm_inputs(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    factor: float,
    data_format: str,
    is_training: bool,
) -> int:
    rank = 5 if data_format in ("NDHWC", "NCDHW") else 4
    if x.ndim not in (4, 5):
        raise errors.invalid_argument(f"input must be 4 or 5-dimensional{shape_text(x.shape)}")
    axis = _channel_axis(data_format, rank)
    channels = x.shape[axis]
    for name, vector in (("scale", scale), ("offset", offset)):
        if vector.ndim != 1:
            raise errors.invalid_argument(f"{name} must be 1-dimensional{shape_text(vector.shape)}")
        if vector.shape[0] != channels:
            raise errors.invalid_argument(
                f"{name} must have the same number of elements as the channels of x, got "
                f"{vector.shape[0]} and {channels}"
            )
    for name, vector in (("mean", mean), ("variance", variance)):
        if vector.ndim != 1:
            raise errors.invalid_argument(
                f"estimated_{name} must be 1-dimensional{shape_text(vector.shape)}"
            )
        if (factor != 1 or not is_training) and vector.shape[0] != channels:
            when = "exponential_avg_factor != 1" if is_training else "is_training is false"
            raise errors.invalid_argument(
                f"When {when}, {name} must have the same number of elements as the channels of x, "
                f"got {vector.shape[0]} and {channels}"
            )
    return axis


def _batch_norm(
    xp: Xp,
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, Array, Array, Array, Array]:
    axis = _check_norm_inputs(x, scale, offset, mean, variance, factor, data_format, is_training)
    dtype, stat_dtype = x.dtype, scale.dtype
    if x.size == 0:
        nan = xp.full(scale.shape, np.nan, stat_dtype)
        return xp.zeros(x.shape, dtype), nan, nan, nan, nan
    if not is_training:
        vectors = (_single(scale), _single(offset), _single(mean), _single(variance))
        whole = _normalized(xp, x, axis, *vectors, epsilon)
        mean, variance = (s.astype(stat_dtype, copy=False) for s in (mean, variance))
        return whole.astype(dtype, copy=False), mean, variance, mean, variance
    scale, offset = _single(scale), _single(offset)
    channels = ChannelRows(xp, x.shape, axis)
    count = channels.count
    found: list[Array] | None = None
    y: Array = None
    if xp is np and axis == x.ndim - 1:
        trained = compiled_norm.trained(x, scale, offset, epsilon)
        if trained is not None:
            y, *found = trained
        else:
            found = compiled_norm.statistics(x)
    if found is not None:
        saved_mean, saved_variance = found
    else:
        rows = channels.rows(_single(x))
        saved_mean = channels.sum(rows) / np.float32(count)
        centered, parts = _centered(xp, channels, rows, saved_mean)
        saved_variance = channels.total(parts) / np.float32(count)
    unbiased = saved_variance * np.float32(count / max(count - 1, 1))
    if factor == 1.0:
        new_mean, new_variance = saved_mean, unbiased
    else:
        # The running averages of the old and the new statistics.
        keep, take = np.float32(1.0 - factor), np.float32(factor)
        new_mean = keep * mean.astype(np.float32) + take * saved_mean
        new_variance = keep * variance.astype(np.float32) + take * unbiased
    if y is None:
        factors = scale / xp.sqrt(saved_variance + np.float32(epsilon))
        if found is not None:
            y = compiled_norm.normalized(x, saved_mean, factors, offset)
    if y is None:
        if found is not None:
            rows = channels.rows(_single(x))
            centered = rows - channels.spread(saved_mean)
        factor_row, offset_row = channels.spread(factors), channels.spread(offset)

        def finish(block: slice) -> None:
            part = centered[block]
            part *= factor_row
            part += offset_row

        channels.by_blocks(centered, finish)
        y = channels.whole(centered)
    stats = (new_mean, new_variance, saved_mean, saved_variance)
    as_stats = tuple(s.astype(stat_dtype, copy=False) for s in stats)
    return y.astype(dtype, copy=False), as_stats[0], as_stats[1], as_stats[2], as_stats[3]


def _centered(xp: Xp, channels: ChannelRows, rows: Array, mean: Array) -> tuple[Array, list[Array]]:
    """Return rows minus the mean of each channel, and the sums of squares of its blocks."""
    mean_row = channels.spread(mean)
    centered = xp.empty_like(rows)

    def work(block: slice) -> Array:
        part = centered[block]
        xp.subtract(rows[block], mean_row, out=part)
        return channels.partial_products(part, part)

    return centered, channels.by_blocks(rows, work)


def _single(x: Array) -> Array:
    return x if x.dtype == np.float32 else x.astype(np.float32)


def _normalized(
    xp: Xp,
    x: Array,
    axis: int,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
) -> Array:
    """Return channels normalized by given statistics, in float32; `x` may be narrower."""
    factors = scale / xp.sqrt(variance + np.float32(epsilon))
    if xp is np and axis == x.ndim - 1:
        found = compiled_norm.normalized(x, mean, factors, offset)
        if found is not None:
            return found
    x = _single(x)
    is_short = not is_large(xp, x)
    if axis == x.ndim - 1 and is_short:
        y = x - mean
        y *= factors
        y += offset
        return y
    channels = ChannelRows(xp, x.shape, axis)
    rows = channels.rows(x)
    if is_short or rows.ndim != 2 or num_threads() == 1:
        y = rows - channels.spread(mean)
        y *= channels.spread(factors)
        y += channels.spread(offset)
        return channels.whole(y)
    mean, factors, offset = (channels.spread(vector) for vector in (mean, factors, offset))
    y = np.empty(rows.shape, rows.dtype)

    def work(first: int, last: int) -> None:
        part = y[first:last]
        np.subtract(rows[first:last], mean, out=part)
        np.multiply(part, factors, out=part)
        np.add(part, offset, out=part)

    shard_rows(len(rows), rows.shape[1], work)
    return channels.whole(y)


def _channel_norm(
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, Array, Array] | None:
    """Return what `_normalized` subtracts, multiplies by and adds; None for other forms."""
    if is_training or data_format != "NHWC" or scale.ndim != 1:
        return None
    if not (scale.shape == offset.shape == mean.shape == variance.shape):
        return None
    if not (scale.dtype == offset.dtype == mean.dtype == variance.dtype == np.float32):
        return None
    return mean, scale / np.sqrt(variance + np.float32(epsilon)), offset


_NORM_ATTRS = (
    "epsilon: float = 9.99999975e-05",
    "exponential_avg_factor: float = 1",
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
    "is_training: bool = true",
)
_NORM_OUTPUTS = (
    "y: {0}, batch_mean: {1}, batch_variance: {1}, reserve_space_1: {1}, reserve_space_2: {1}"
)


@register_op(
    "FusedBatchNorm",
    "x: T, scale: T, offset: T, mean: T, variance: T -> " + _NORM_OUTPUTS.format("T", "T"),
    "T: {float}",
    *_NORM_ATTRS,
    shape=lambda c: _fused_norm_shape(c, 0),
)
def fused_batch_norm_op(
    xp: Xp,
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> Outputs:
    """Return normalized channels, and the statistics.

    Each channel is (x - mean) / sqrt(variance + epsilon) * scale + offset.
    """
    return _batch_norm(
        xp,
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon,
        exponential_avg_factor,
        data_format,
        is_training,
    )


fused_batch_norm_op.normalizes(_channel_norm)


@fused_batch_norm_op.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return _fused_norm_gradient(op, fused_batch_norm_grad, grads[0], has_third=False)


@register_op(
    "FusedBatchNormV2",
    "x: T, scale: U, offset: U, mean: U, variance: U -> " + _NORM_OUTPUTS.format("T", "U"),
    "T: {half, bfloat16, float}",
    "U: {float}",
    *_NORM_ATTRS,
    shape=lambda c: _fused_norm_shape(c, 0),
)
def fused_batch_norm_v2(
    xp: Xp,
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> Outputs:
    """Compute FusedBatchNorm; the statistics have a separate type."""
    return _batch_norm(
        xp,
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon,
        exponential_avg_factor,
        data_format,
        is_training,
    )


fused_batch_norm_v2.normalizes(_channel_norm)


@fused_batch_norm_v2.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return _fused_norm_gradient(op, fused_batch_norm_grad_v2, grads[0], has_third=False)


@register_op(
    "FusedBatchNormV3",
    "x: T, scale: U, offset: U, mean: U, variance: U -> "
    + _NORM_OUTPUTS.format("T", "U")
    + ", reserve_space_3: U",
    "T: {half, bfloat16, float}",
    "U: {bfloat16, float}",
    *_NORM_ATTRS[:2],
    "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'",
    _NORM_ATTRS[3],
    shape=lambda c: _fused_norm_shape(c, 1),
)
def fused_batch_norm_v3(
    xp: Xp,
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> Outputs:
    """Compute FusedBatchNorm with one more output, which only cuDNN fills."""
    results = _batch_norm(
        xp,
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon,
        exponential_avg_factor,
        data_format,
        is_training,
    )
    return (*results, xp.zeros((), scale.dtype))


fused_batch_norm_v3.normalizes(_channel_norm)


@fused_batch_norm_v3.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return _fused_norm_gradient(op, fused_batch_norm_grad_v3, grads[0], has_third=True)


_NCHW_TO_NHWC = {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}
_NHWC_TO_NCHW = {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]}


def _fused_norm_gradient(
    op: Operation, grad_op: Callable[..., TensorResult], grad_y: Tensor, *, has_third: bool
) -> Any:
    x, scale = op.inputs[:2]
    is_training = op.get_attr("is_training")
    data_format = op.get_attr("data_format")
    data_format = data_format.decode() if isinstance(data_format, bytes) else data_format
    reserved = list(op.outputs[3:5]) if is_training else list(op.inputs[3:5])
    rank = 5 if "D" in data_format else 4
    turned = not is_training and data_format.startswith("NC")
    target_format = data_format
    if turned:
        x = array_ops.transpose(x, _NCHW_TO_NHWC[rank])
        grad_y = array_ops.transpose(grad_y, _NCHW_TO_NHWC[rank])
        target_format = "NHWC" if rank == 4 else "NDHWC"
    if has_third:
        reserved.append(op.outputs[5])
    dx, dscale, doffset, _, _ = grad_op(
        grad_y,
        x,
        scale,
        *reserved,
        epsilon=op.get_attr("epsilon"),
        data_format=target_format,
        is_training=is_training,
    )
    if turned:
        dx = array_ops.transpose(dx, _NHWC_TO_NCHW[rank])
    return dx, dscale, doffset, None, None


def _batch_norm_grad(
    xp: Xp,
    y_backprop: Array,
    x: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, Array, Array, Array, Array]:
    rank = 5 if data_format in ("NDHWC", "NCDHW") else 4
    for array in (y_backprop, x):
        if array.ndim not in (4, 5):
            raise errors.invalid_argument(
                f"input must be 4 or 5-dimensional{shape_text(array.shape)}"
            )
    vectors = (
        ("scale", "scale"),
        ("saved mean", "reserve_space_1"),
        ("saved variance", "reserve_space_2"),
    )
    for (name, _), vector in zip(vectors, (scale, mean, variance)):
        if vector.ndim != 1:
            raise errors.invalid_argument(f"{name} must be 1-dimensional{shape_text(vector.shape)}")
    if y_backprop.shape != x.shape:
        raise errors.invalid_argument(
            "x and y_backprop must have same shape, but x has shape "
            f"{shape_text(x.shape)} and y_backprop has shape {shape_text(y_backprop.shape)}"
        )
    axis = _channel_axis(data_format, rank)
    for (_, name), vector in zip(vectors, (scale, mean, variance)):
        if len(vector) != x.shape[axis]:
            raise errors.invalid_argument(
                f"{name} must have the same number of elements as the channels of x, got "
                f"{len(vector)} and {x.shape[axis]}"
            )
    dtype, stat_dtype = x.dtype, mean.dtype
    if not x.size:
        zeros, empty = xp.zeros(scale.shape, stat_dtype), xp.zeros(0, stat_dtype)
        return xp.zeros(x.shape, dtype), zeros, zeros, empty, empty
    empty = xp.zeros(0, stat_dtype)
    if is_training and xp is np and axis == rank - 1:
        found = compiled_norm.trained_gradient(y_backprop, x, scale, mean, variance, epsilon)
        if found is not None:
            return found[0], found[1], found[2], empty, empty
    channels = ChannelRows(xp, x.shape, axis)
    count = np.float32(max(channels.count, 1))
    x, y_backprop = _single(x), _single(y_backprop)
    if axis == rank - 1:
        x, y_backprop = xp.ascontiguousarray(x), xp.ascontiguousarray(y_backprop)
    inverse = np.float32(1) / xp.sqrt(variance.astype(np.float32) + np.float32(epsilon))
    if is_training and xp is np and axis == rank - 1:
        parts = _compiled_norm_grad(y_backprop, x, scale, mean, inverse, count)
        if parts is not None:
            dx, *vectors_of_grad = parts
            wanted = [one.astype(stat_dtype, copy=False) for one in vectors_of_grad]
            return dx.astype(dtype, copy=False), wanted[0], wanted[1], empty, empty
    rows, dy = channels.rows(x), channels.rows(y_backprop)
    mean_row = channels.spread(mean.astype(np.float32))
    inner = xp.empty_like(dy)

    def sums(block: slice) -> tuple[Array, Array]:
        part, came = inner[block], dy[block]
        xp.subtract(rows[block], mean_row, out=part)
        return channels.partial_sum(came), channels.partial_products(came, part)

    offsets, products = zip(*channels.by_blocks(dy, sums), strict=True)
    grad_offset = channels.total(offsets)
    grad_scale = channels.total(products) * inverse
    factors = channels.spread(scale.astype(np.float32) * inverse)
    slopes = channels.spread(grad_scale * inverse / count)
    means = channels.spread(grad_offset / count)

    def finish(block: slice) -> None:
        part, came = inner[block], dy[block]
        if is_training:
            # The mean and the variance depend on x, too.
            came = came - means
            part *= slopes
            came -= part
        xp.multiply(came, factors, out=part)

    channels.by_blocks(dy, finish)
    return (
        channels.whole(inner).astype(dtype, copy=False),
        grad_scale.astype(stat_dtype, copy=False),
        grad_offset.astype(stat_dtype, copy=False),
        empty,
        empty,
    )


def _compiled_norm_grad(
    y_backprop: Array, x: Array, scale: Array, mean: Array, inverse: Array, count: Array
) -> tuple[Array, Array, Array] | None:
    """Return the gradients of x, scale and offset in training; None where routines do not fit."""
    sums = compiled_norm.sums_of_gradient(y_backprop, x, mean)
    if sums is None:
        return None
    grad_offset, grad_scale = sums[0], sums[1] * inverse
    mean_grad, slope = grad_offset / count, grad_scale * inverse / count
    factors = scale.astype(np.float32) * inverse
    dx = compiled_norm.input_gradient(y_backprop, x, mean_grad, mean, slope, factors)
    return None if dx is None else (dx, grad_scale, grad_offset)


_NORM_GRAD_OUTPUTS = (
    "x_backprop: T, scale_backprop: {0}, offset_backprop: {0}, reserve_space_{1}: {0}, "
    "reserve_space_{2}: {0}"
)


@register_op(
    "FusedBatchNormGrad",
    "y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T -> "
    + _NORM_GRAD_OUTPUTS.format("T", 3, 4),
    "T: {float}",
    _NORM_ATTRS[0],
    *_NORM_ATTRS[2:],
    shape=_fused_norm_grad_shape,
)
def fused_batch_norm_grad(
    xp: Xp,
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> Outputs:
    """Return gradients of FusedBatchNorm with respect to x, scale and offset."""
    return _batch_norm_grad(
        xp,
        y_backprop,
        x,
        scale,
        reserve_space_1,
        reserve_space_2,
        epsilon,
        data_format,
        is_training,
    )


@register_op(
    "FusedBatchNormGradV2",
    "y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U -> "
    + _NORM_GRAD_OUTPUTS.format("U", 3, 4),
    "T: {half, bfloat16, float}",
    "U: {float}",
    _NORM_ATTRS[0],
    *_NORM_ATTRS[2:],
    shape=_fused_norm_grad_shape,
)
def fused_batch_norm_grad_v2(
    xp: Xp,
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> Outputs:
    """Return gradients of FusedBatchNormV2 with respect to x, scale and offset."""
    return _batch_norm_grad(
        xp,
        y_backprop,
        x,
        scale,
        reserve_space_1,
        reserve_space_2,
        epsilon,
        data_format,
        is_training,
    )


@register_op(
    "FusedBatchNormGradV3",
    "y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, "
    "reserve_space_3: U -> " + _NORM_GRAD_OUTPUTS.format("U", 4, 5),
    "T: {half, bfloat16, float}",
    "U: {float}",
    _NORM_ATTRS[0],
    "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'",
    _NORM_ATTRS[3],
    shape=_fused_norm_grad_shape,
)
def fused_batch_norm_grad_v3(
    xp: Xp,
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    reserve_space_3: Array,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> Outputs:
    """Return gradients of FusedBatchNormV3 with respect to x, scale and offset."""
    return _batch_norm_grad(
        xp,
        y_backprop,
        x,
        scale,
        reserve_space_1,
        reserve_space_2,
        epsilon,
        data_format,
        is_training,
    )


def _second_gradient(op: Operation, *grads: Tensor) -> Gradients:
    from tfnb.ops.nn.second_batch_norm import second_gradients

    return second_gradients(op, grads)


for _op in (fused_batch_norm_grad, fused_batch_norm_grad_v2, fused_batch_norm_grad_v3):
    _op.gradient(_second_gradient)


# --------------------------------------------------------------------- the batch norm of old graphs


def _global_norm_shape(c: InferenceContext) -> TensorShape:
    dims = list(c.with_rank(0, 4).dim_values or ())
    for index in range(1, 5):
        vector = c.with_rank(index, 1).dim_values
        assert vector is not None
        dims[3] = merge_dims(dims[3], vector[0])
    return TensorShape(dims)


_GLOBAL_NORM_ATTRS = (
    "T: numbertype",
    "variance_epsilon: float",
    "scale_after_normalization: bool",
)
_GLOBAL_NORM_DEPRECATED = (9, "Use tf.nn.batch_normalization()")


@register_op(
    "BatchNormWithGlobalNormalization",
    "t: T, m: T, v: T, beta: T, gamma: T -> result: T",
    *_GLOBAL_NORM_ATTRS,
    shape=_global_norm_shape,
    deprecated=_GLOBAL_NORM_DEPRECATED,
)
def batch_norm_with_global_normalization(
    xp: Xp,
    t: Array,
    m: Array,
    v: Array,
    beta: Array,
    gamma: Array,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> Array:
    """Return (t - m) / sqrt(v + epsilon) * gamma + beta over the last dimension."""
    if t.ndim != 4:
        raise errors.invalid_argument(f"input must be 4-dimensional{shape_text(t.shape)}")
    factor = t.dtype.type(1) / xp.sqrt(v + t.dtype.type(variance_epsilon))
    if scale_after_normalization:
        factor = factor * gamma
    return (t - m) * factor + beta


@batch_norm_with_global_normalization.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    t, m, v, _, gamma = op.inputs
    dx, dm, dv, db, dg = batch_norm_with_global_normalization_grad(
        t,
        m,
        v,
        gamma,
        grad,
        variance_epsilon=op.get_attr("variance_epsilon"),
        scale_after_normalization=op.get_attr("scale_after_normalization"),
    )
    return dx, dm, dv, db, dg


def _global_norm_grad_shape(c: InferenceContext) -> list[TensorShape]:
    dims = list(merge_shapes(c.with_rank(0, 4), c.with_rank(4, 4)).dim_values or ())
    for index in range(1, 4):
        vector = c.with_rank(index, 1).dim_values
        assert vector is not None
        dims[3] = merge_dims(dims[3], vector[0])
    return [TensorShape(dims), *[TensorShape([dims[3]])] * 4]


@register_op(
    "BatchNormWithGlobalNormalizationGrad",
    "t: T, m: T, v: T, gamma: T, backprop: T -> dx: T, dm: T, dv: T, db: T, dg: T",
    *_GLOBAL_NORM_ATTRS,
    shape=_global_norm_grad_shape,
    deprecated=_GLOBAL_NORM_DEPRECATED,
)
def batch_norm_with_global_normalization_grad(
    xp: Xp,
    t: Array,
    m: Array,
    v: Array,
    gamma: Array,
    backprop: Array,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> Outputs:
    """Return gradients of BatchNormWithGlobalNormalization."""
    scalar = t.dtype.type
    axes = (0, 1, 2)
    inverse = scalar(1) / xp.sqrt(v + scalar(variance_epsilon))
    centered_sum = (backprop * (t - m)).sum(axis=axes, dtype=t.dtype)
    db = backprop.sum(axis=axes, dtype=t.dtype)
    factor = inverse * gamma if scale_after_normalization else inverse
    dg = centered_sum * inverse if scale_after_normalization else xp.zeros_like(m)
    outer = gamma if scale_after_normalization else scalar(1)
    dv = centered_sum * scalar(-0.5) * inverse * inverse * inverse * outer
    return backprop * factor, -db * factor, dv, db, dg
