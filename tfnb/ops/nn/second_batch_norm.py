"""Gradients of batch normalization's gradient, as for penalties on gradients.

The gradient is expressed in elementary ops, and these are differentiated. Corresponds to
TensorFlow's ``nn_fused_batch_norm_grad.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.ops.array import array_ops
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult


def _written_out(
    grad_y: TensorLike,
    x: TensorLike,
    scale: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    attrs: dict[str, Any],
) -> tuple[TensorResult, TensorResult, TensorResult]:
    """Return gradients with respect to x, scale and offset, in elementary ops."""
    layout, epsilon = attrs["data_format"], attrs["epsilon"]
    kind = x.dtype.base_dtype
    if kind in (dtypes.float16, dtypes.bfloat16):
        x, grad_y = math_ops.cast(x, dtypes.float32), math_ops.cast(grad_y, dtypes.float32)
    channels_first = layout.startswith("NC")
    rank = len(layout)
    axes = [0, *range(2, rank)] if channels_first else list(range(rank - 1))
    if attrs["is_training"]:
        if channels_first:
            scale = array_ops.reshape(scale, [1, array_ops.size(scale), *[1] * (rank - 2)])
        mean_grad = math_ops.reduce_mean(grad_y, axes, keepdims=channels_first)
        mean = math_ops.reduce_mean(x, axes, keepdims=channels_first)
        squares = math_ops.squared_difference(x, array_ops.stop_gradient(mean))
        variance = math_ops.reduce_mean(squares, axes, keepdims=channels_first)
        grad_offset = grad_y - mean_grad
        offset = x - mean
        common = math_ops.reduce_mean(grad_y * offset, axis=axes, keepdims=channels_first)
        grad_x = (
            scale
            * math_ops.rsqrt(variance + epsilon)
            * (grad_offset - math_ops.reciprocal(variance + epsilon) * common * offset)
        )
        grad_scale = math_ops.rsqrt(variance + epsilon) * math_ops.reduce_sum(
            grad_y * offset, axis=axes, keepdims=channels_first
        )
        if channels_first:
            grad_scale = array_ops.squeeze(grad_scale)
        return math_ops.cast(grad_x, kind), grad_scale, math_ops.reduce_sum(grad_y, axis=axes)
    if channels_first:
        form = [1, array_ops.size(mean), *[1] * (rank - 2)]
        mean, variance, scale = (array_ops.reshape(one, form) for one in (mean, variance, scale))
    grad_offset = math_ops.reduce_sum(grad_y, axis=axes)
    root = math_ops.rsqrt(variance + epsilon)
    grad_scale = math_ops.reduce_sum(grad_y * (x - mean) * root, axis=axes)
    return math_ops.cast(grad_y * scale * root, kind), grad_scale, grad_offset


def second_gradients(op: Operation, grads: Sequence[Tensor]) -> list[TensorResult]:
    """Return gradients with respect to the inputs of a FusedBatchNormGrad op."""
    attrs = {name: op.get_attr(name) for name in ("epsilon", "data_format", "is_training")}
    attrs["data_format"] = attrs["data_format"].decode()
    inputs = list(op.inputs)
    grad_y, x, scale, mean, variance = inputs[:5]
    results = _written_out(grad_y, x, scale, mean, variance, attrs)
    wanted = inputs[:3]
    found = provided.gradients(
        list(results), wanted, grad_ys=list(grads[:3]), stop_gradients=wanted
    )
    return [*found, *[None] * (len(inputs) - 3)]
