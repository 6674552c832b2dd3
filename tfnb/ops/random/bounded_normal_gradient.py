"""The gradient of bounded normal numbers with respect to their parameters.

It differentiates the distribution function, whose inverse a sample is (Figurnov et al.,
"Implicit Reparameterization Gradients", 2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.framework.scopes import control_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.array.constant_ops import constant
from tfnb.ops.math import cwise_unary_ops, math_ops, special_math_ops
from tfnb.ops.math.clip_value_ops import clip_by_value

if TYPE_CHECKING:
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult


def _normal_cdf(x: TensorLike) -> TensorResult:
    half_sqrt_2 = constant(0.5 * np.sqrt(2.0), dtype=x.dtype, name="half_sqrt_2")
    w = x * half_sqrt_2
    z = math_ops.abs(w)
    near = z < half_sqrt_2
    middle = 1.0 + special_math_ops.erf(w)
    above = w > 0.0
    upper = 2.0 - special_math_ops.erfc(z)
    tails = array_ops.where(above, upper, special_math_ops.erfc(z))
    return 0.5 * array_ops.where(near, middle, tails)


def bounded_normal_gradient(op: Operation, grad: Tensor) -> list[TensorResult]:
    """Return gradients of a StatelessParameterizedTruncatedNormal op's inputs."""
    shape = op.inputs[0]
    mean, stddev, low, high = op.inputs[2:]
    sample = op.outputs[0]
    with control_dependencies([grad]):
        lowest = (low - mean) / stddev
        highest = (high - mean) / stddev
        scaled = (sample - mean) / stddev
        cdf = (_normal_cdf(scaled) - _normal_cdf(lowest)) / (
            _normal_cdf(highest) - _normal_cdf(lowest)
        )
        limits = np.finfo(mean.dtype.as_numpy_dtype)
        cdf = clip_by_value(cdf, limits.tiny, 1 - limits.eps)
        by_high = math_ops.exp(0.5 * (scaled**2 - highest**2) + math_ops.log(cdf))
        by_low = math_ops.exp(0.5 * (scaled**2 - lowest**2) + cwise_unary_ops.log1p(-cdf))
        by_mean = array_ops.ones_like(scaled)

        shapes = [array_ops.shape(one) for one in (mean, stddev, low, high)]
        broadcast = array_ops.broadcast_dynamic_shape(shapes[0], shapes[1])
        broadcast = array_ops.broadcast_dynamic_shape(shapes[2], broadcast)
        broadcast = array_ops.broadcast_dynamic_shape(shapes[3], broadcast)
        extra = math_ops.range(array_ops.size(shape) - array_ops.size(broadcast))
        sums = [
            math_ops.reduce_sum(grad * one, axis=extra)
            for one in (by_mean, scaled, by_low, by_high)
        ]
        axes = [array_ops.broadcast_gradient_args(broadcast, one)[1] for one in shapes]
        found = [
            array_ops.reshape(math_ops.reduce_sum(total, axis=axis, keepdims=True), one)
            for total, axis, one in zip(sums, axes, shapes, strict=True)
        ]
    return [None, None, *found]
