"""Functions of neural networks built from other ops: moments, batch normalization, dropout.

The other functions of the ``nn`` namespace are in ``activation_ops``, ``convolution``, ``pooling``,
``softmax_ops``, ``cross_entropy_ops``, ``normalization_ops`` and ``top_k_ops``; the functions most
used elsewhere are gathered here.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework import random_seed
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.nn.convolution import conv2d as conv2d
from tfnb.library.nn.cross_entropy import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from tfnb.library.nn.pooling import avg_pool as avg_pool
from tfnb.library.nn.pooling import max_pool as max_pool
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.math.comparison_ops import not_equal
from tfnb.ops.math.complex_ops import complex_, imag, real
from tfnb.ops.math.cwise_binary_ops import maximum, mul, real_div, squared_difference, sub
from tfnb.ops.math.cwise_unary_ops import reciprocal, rsqrt_op, square
from tfnb.ops.math.math_ops import add, div_no_nan
from tfnb.ops.math.matmul_ops import matmul
from tfnb.ops.math.reduction_ops import reduce_mean, reduce_prod, reduce_sum
from tfnb.ops.nn.activation_ops import leaky_relu as leaky_relu
from tfnb.ops.nn.activation_ops import relu as relu
from tfnb.ops.nn.activation_ops import relu6 as relu6
from tfnb.ops.nn.activation_ops import softplus as softplus
from tfnb.ops.nn.bias_ops import bias_add as bias_add
from tfnb.ops.nn.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
)
from tfnb.ops.nn.cross_entropy_ops import (
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
)
from tfnb.ops.nn.cross_entropy_ops import (
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
)
from tfnb.ops.nn.normalization_ops import fused_batch_norm_v3
from tfnb.ops.nn.normalization_ops import l2_loss as l2_loss
from tfnb.ops.nn.softmax_ops import log_softmax as log_softmax
from tfnb.ops.nn.softmax_ops import softmax as softmax
from tfnb.ops.nn.top_k_ops import in_top_k as in_top_k
from tfnb.ops.nn.top_k_ops import top_k as top_k

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import IntsLike, Nested, TensorLike, TensorResult

EXPORTS = {
    "nn": [
        "batch_norm_with_global_normalization", "batch_normalization", "dropout",
        "fused_batch_norm", "l2_normalize", "moments", "normalize_moments", "relu_layer",
        "sufficient_statistics", "weighted_moments", "xw_plus_b", "zero_fraction",
    ],
    "math": ["l2_normalize", "zero_fraction"],
    "linalg": ["l2_normalize"],
    "nn.experimental": ["general_dropout", "stateless_dropout"],
}  # fmt: skip

# ------------------------------------------------------------------------------------------ moments


def moments(
    x: TensorLike,
    axes: TensorLike,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Nested, Nested]:
    """Return the mean and the variance over some axes."""
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "moments", [x, axes]):
        # Sums of squares of float16 overflow easily.
        is_half = x.dtype == dtypes.float16
        y = cast(x, dtypes.float32) if is_half else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        distances = squared_difference(y, array_ops.stop_gradient(mean))
        variance = reduce_mean(distances, axes, keepdims=True, name="variance")
        if not keepdims:
            mean = array_ops.squeeze(mean, axes)
            variance = array_ops.squeeze(variance, axes)
        if is_half:
            return cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


def sufficient_statistics(
    x: TensorLike,
    axes: TensorLike,
    shift: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Nested, Nested, Nested, Nested]:
    """Return (count, sum, sum of squares, shift) over some axes, from which moments follow."""
    axes = list(set(axes))
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        dims = x.shape.dim_values
        if dims is not None and all(dims[axis] is not None for axis in axes):
            number = 1
            for axis in axes:
                number *= dims[axis]
            counts = convert_to_tensor(number, dtype=x.dtype)
        else:
            rank = array_ops.rank(x)
            positive = [axis + rank if axis < 0 else axis for axis in axes]
            sizes = array_ops.gather(cast(array_ops.shape(x), x.dtype), positive)
            counts = reduce_prod(sizes, name="count")
        if shift is None:
            shifted, squares = x, square(x)
        else:
            shift = convert_to_tensor(shift, name="shift")
            shifted, squares = sub(x, shift), squared_difference(x, shift)
        mean_ss = reduce_sum(shifted, axes, keepdims=keepdims, name="mean_ss")
        var_ss = reduce_sum(squares, axes, keepdims=keepdims, name="var_ss")
        return counts, mean_ss, var_ss, shift


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike,
    name: str | None = None,
) -> tuple[Nested, Nested]:
    """Return the mean and the variance from sufficient statistics."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = reciprocal(counts, name="divisor")
        if shift is None:
            mean = shifted = mul(mean_ss, divisor, name="mean")
        else:
            shifted = mul(mean_ss, divisor, name="shifted_mean")
            mean = add(shifted, shift, name="mean")
        variance = sub(mul(variance_ss, divisor), square(shifted), name="variance")
        return mean, variance


def weighted_moments(
    x: TensorLike,
    axes: TensorLike,
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Nested, Nested]:
    """Return the weighted mean and variance over some axes."""
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        is_half = x.dtype == dtypes.float16
        if is_half:
            x = cast(x, dtypes.float32)
        if weights.dtype != x.dtype:
            weights = cast(weights, x.dtype)
        total = reduce_sum(weights * x, axes, name="weighted_input_sum", keepdims=True)
        spread_weights = weights + array_ops.zeros_like(x)
        weight = reduce_sum(spread_weights, axes, name="sum_of_weights", keepdims=True)
        mean = div_no_nan(total, weight)
        distances = weights * squared_difference(x, mean)
        total_distance = reduce_sum(distances, axes, name="weighted_distsq", keepdims=True)
        variance = div_no_nan(total_distance, weight)
        if not keepdims:
            mean = array_ops.squeeze(mean, axis=axes)
            variance = array_ops.squeeze(variance, axis=axes)
        if is_half:
            return cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


# ---------------------------------------------------------------------------------- normalization


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike,
    scale: TensorLike,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> TensorResult:
    """Return (x - mean) / sqrt(variance + epsilon) * scale + offset."""
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        inverse = rsqrt_op(variance + variance_epsilon)
        if scale is not None:
            inverse *= scale
        scaled = x * cast(inverse, x.dtype)
        constant_part = offset - mean * inverse if offset is not None else -mean * inverse
        return scaled + cast(constant_part, x.dtype)


def batch_norm_with_global_normalization(
    t: TensorLike | None = None,
    m: TensorLike | None = None,
    v: TensorLike | None = None,
    beta: TensorLike | None = None,
    gamma: TensorLike | None = None,
    variance_epsilon: TensorLike | None = None,
    scale_after_normalization: Any = None,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> TensorResult:
    """Return batch normalization with an optional scale."""
    t = renamed("input", input, "t", t)
    m = renamed("mean", mean, "m", m)
    v = renamed("variance", variance, "v", v)
    scale = gamma if scale_after_normalization else None
    return batch_normalization(t, m, v, beta, scale, variance_epsilon, name)


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Nested, Nested, Nested]:
    """Return batch normalization in one op: (normalized, mean, variance).

    Raises:
      ValueError: statistics are needed and missing.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0. Received: `mean` {mean!r} and `variance` "
            f"{variance!r}"
        )
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    if mean is None:
        mean = convert_to_tensor([], dtype=dtypes.float32)
    if variance is None:
        variance = convert_to_tensor([], dtype=dtypes.float32)
    outputs = fused_batch_norm_v3(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=epsilon,
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return outputs[0], outputs[1], outputs[2]


def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> TensorResult:
    """Divide x by the square root of its sum of squares along an axis."""
    axis = renamed("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            squares = square(real(x)) + square(imag(x))
            total = real(reduce_sum(squares, axis, keepdims=True))
            inverse = rsqrt_op(maximum(total, epsilon))
            return complex_(mul(real(x), inverse), mul(imag(x), inverse), name=scope)
        total = reduce_sum(square(x), axis, keepdims=True)
        return mul(x, rsqrt_op(maximum(total, epsilon)), name=scope)


# ------------------------------------------------------------------------------------------- layers


def xw_plus_b(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> TensorResult:
    """Return matmul(x, weights) + biases."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> TensorResult:
    """Return relu(matmul(x, weights) + biases)."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return relu(bias_add(matmul(x, weights), biases), name=scope)


@dispatchable
def dropout(
    x: TensorLike,
    keep_prob: TensorLike | None = None,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: IntsLike | None = None,
) -> TensorResult:
    """Set elements to 0 with probability `rate` and scale the others up so that the sum is kept.

    Raises:
      ValueError: the rate is missing or outside of [0, 1), or x has no floating-point dtype.
    """
    from tfnb.ops.random import random_ops

    if keep_prob is not None:
        try:
            from_keep_prob = 1.0 - keep_prob
        except TypeError:
            raise ValueError(
                f"`keep_prob` must be a floating point number or Tensor. Received: "
                f"keep_prob={keep_prob}"
            ) from None
        rate = renamed("rate", rate, "keep_prob", from_keep_prob)
    if rate is None:
        raise ValueError(f"`rate` must be provided. Received: rate={rate}")

    def sampler(shape: TensorLike, dtype: DTypeLike) -> TensorResult:
        return random_ops.random_uniform(shape, seed=seed, dtype=dtype)

    # Later ops must draw the same seeds, whether elements are dropped here or not.
    return _dropout(
        x, rate, noise_shape, sampler, lambda: random_seed.get_seed(seed), name, "dropout"
    )


def stateless_dropout(
    x: TensorLike,
    rate: IntsLike,
    seed: TensorLike,
    rng_alg: Any = None,
    noise_shape: TensorLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Apply :func:`dropout` to the same elements for the same seed.

    Args:
      x: the tensor whose elements are dropped.
      rate: the probability.
      seed: two integers.
      rng_alg: "philox", or "auto_select" (the default), which is the same.
      noise_shape: the shape of the random choices.
      name: the name of the ops.
    """
    from tfnb.ops.random.stateless_random_ops import stateless_uniform

    def sampler(shape: TensorLike, dtype: DTypeLike) -> TensorResult:
        more = {} if rng_alg is None else {"alg": rng_alg}
        return stateless_uniform(shape, seed=seed, dtype=dtype, **more)

    return _dropout(x, rate, noise_shape, sampler, lambda: None, name, "stateless_dropout")


def general_dropout(
    x: TensorLike,
    rate: IntsLike,
    uniform_sampler: Any,
    noise_shape: TensorLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Apply :func:`dropout` with random numbers from the caller's function.

    Args:
      x: the tensor whose elements are dropped.
      rate: the probability.
      uniform_sampler: takes ``shape`` and ``dtype``; returns numbers in [0, 1).
      noise_shape: the shape of the random choices.
      name: the name of the ops.
    """

    def step() -> None:
        # The sampler is called once, whether elements are dropped or not.
        uniform_sampler(shape=_noise_shape(x, noise_shape), dtype=x.dtype)

    return _dropout(x, rate, noise_shape, uniform_sampler, step, name, "general_dropout")


def _dropout(
    x: TensorLike,
    rate: IntsLike,
    noise_shape: TensorLike,
    sampler: Callable[..., Any],
    skip: Callable[[], Any],
    name: str | None,
    default_name: str,
) -> TensorResult:
    """Drop elements by numbers of ``sampler``; ``skip`` is called where none are needed."""
    with name_scope(name, default_name, [x]):
        is_number = isinstance(rate, numbers.Real)
        if is_number and (rate < 0 or rate >= 1):
            raise ValueError(
                "`rate` must be a scalar tensor or a float in the range [0, 1). Received: "
                f"rate={rate}"
            )
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: "
                f"x_dtype={x.dtype}"
            )
        if is_number and rate == 0:
            skip()
            return x
        if isinstance(rate, Tensor):
            rate.shape.assert_has_rank(0)
            if rate.dtype != x.dtype:
                if not rate.dtype.is_compatible_with(x.dtype):
                    raise ValueError(
                        "`x.dtype` must be compatible with `rate.dtype`. Received: "
                        f"x.dtype={x.dtype} and rate.dtype={rate.dtype}"
                    )
                rate = cast(rate, x.dtype, name="rate")
            scaled = real_div(x, sub(convert_to_tensor(1, dtype=x.dtype), rate))
        elif is_number:
            scaled = mul(x, convert_to_tensor(1 / (1 - rate), dtype=x.dtype))
        else:
            raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")
        drawn = sampler(shape=_noise_shape(x, noise_shape), dtype=x.dtype)
        keeps = drawn >= rate
        zero = convert_to_tensor(0, dtype=x.dtype)
        kept = array_ops.where_v2(keeps, scaled, zero)
        kept.set_shape(x.shape)
        return kept


def _noise_shape(x: TensorLike, noise_shape: ShapeLike) -> Any:
    """Return the shape of the random choices; unknown dimensions are those of x."""
    if noise_shape is None:
        return array_ops.shape(x)
    try:
        given = TensorShape(noise_shape).dim_values
    except (TypeError, ValueError):
        return noise_shape
    dims = x.shape.dim_values
    if dims is not None and given is not None and len(dims) == len(given):
        return TensorShape([d if g is None else g for d, g in zip(dims, given, strict=True)])
    return noise_shape


def zero_fraction(value: TensorLike, name: str | None = None) -> TensorResult:
    """Return the fraction of elements that are zero."""
    from tfnb.library.control_flow.cond import cond

    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        size = array_ops.size(value, out_type=dtypes.int64)
        nonzero = cond(
            size <= dtypes.int32.max,
            true_fn=lambda: cast(_count_nonzero(value, dtypes.int32), dtypes.int64),
            false_fn=lambda: _count_nonzero(value, dtypes.int64),
        )
        with name_scope("counts_to_fraction"):
            fraction = cast(size - nonzero, dtypes.float32) / cast(size, dtypes.float32)
        return array_ops.identity(fraction, name="fraction")


def _count_nonzero(value: TensorLike, dtype: DTypeLike) -> TensorResult:
    with name_scope("count_nonzero", values=[value]):
        zero = array_ops.zeros([], dtype=value.dtype)
        return reduce_sum(cast(not_equal(value, zero), dtype), name="nonzero_count")
