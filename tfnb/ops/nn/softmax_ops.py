"""Softmax and log-softmax, along the last axis or another.

Corresponds to TensorFlow's ``softmax_op.cc``.  On a CPU float16 and bfloat16 are rounded after each
step, as in TensorFlow; on a GPU once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.tensor import Tensor
from tfnb.ops.array import array_ops, where_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import is_large, shard_rows, sum_over
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.nn import compiled_softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.math import cwise_binary_ops, cwise_unary_ops, reduction_ops, sequence_ops
else:
    cwise_binary_ops = later("tfnb.ops.math.cwise_binary_ops")
    cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")
    reduction_ops = later("tfnb.ops.math.reduction_ops")
    sequence_ops = later("tfnb.ops.math.sequence_ops")

EXPORTS = {"nn": ["log_softmax", "softmax"], "math": ["log_softmax", "softmax"]}

_FLOAT = "T: {half, bfloat16, float, double}"


def _rank_one_or_more(c: InferenceContext) -> TensorShape:
    return c.with_rank_at_least(0, 1)


def widened(x: Array) -> Array:
    """Return `x` in the dtype of the computation: float32 for the two-byte floats."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _check_rank(logits: Array) -> None:
    if logits.ndim < 1:
        raise errors.invalid_argument(
            f"logits must have >= 1 dimension, got {shape_text(logits.shape)}"
        )


def shifted_logits(xp: Xp, logits: Array) -> Array:
    """Return logits minus their largest, so that no exponential overflows."""
    if logits.size == 0:
        return logits
    # The ufunc has less overhead than the method, which calls it.
    return logits - xp.maximum.reduce(logits, -1, None, None, True)


def _stepwise_sum(terms: Array) -> Array:
    """Return the sum along the last axis of two-byte floats.

    It is rounded at each step if the axis is short.
    """
    count = terms.shape[-1]
    if not 0 < count < 8:
        total = terms.astype(np.float32).sum(axis=-1, keepdims=True)
        return total.astype(terms.dtype)
    total = terms[..., :1]
    for index in range(1, count):
        total = total + terms[..., index : index + 1]
    return total


@register_op("Softmax", "logits: T -> softmax: T", _FLOAT, shape=_rank_one_or_more)
def softmax_op(xp: Xp, logits: Array) -> Array:
    """Return exp(logits) / sum(exp(logits)) along the last axis."""
    _check_rank(logits)
    if logits.dtype.itemsize == 2 and xp is np:
        grown = np.exp(shifted_logits(np, logits))
        return grown * (logits.dtype.type(1) / _stepwise_sum(grown))
    found = compiled_softmax.softmax(logits) if xp is np else None
    if found is not None:
        return found
    wide = widened(logits)
    if is_large(xp, wide):
        return _large(_softmax_rows, wide)
    grown = xp.exp(shifted_logits(xp, wide))
    grown *= wide.dtype.type(1) / xp.add.reduce(grown, -1, None, None, True)
    return grown.astype(logits.dtype, copy=False)


softmax_op.float_ops(float_ops.per_input(5))


def _large(function: Callable[..., Array], x: Array) -> Array:
    """Compute ``function(rows, out)`` for the rows of `x`, on several threads."""
    out = np.empty(x.shape, x.dtype)
    rows, target = x.reshape(-1, x.shape[-1]), out.reshape(-1, x.shape[-1])
    shard_rows(
        len(rows), rows.shape[1], lambda first, last: function(rows[first:last], target[first:last])
    )
    return out


# Sums of exponentials in this range are exact: no term overflowed, and terms that underflowed are
# negligible.
_LEAST_SUM, _LARGEST_SUM = 0.5, 1e30


def _softmax_rows(x: Array, out: Array) -> None:
    np.exp(x, out=out)
    total = sum_over(np, out, (1,), True)
    if not (total.min() >= _LEAST_SUM and total.max() <= _LARGEST_SUM):
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        total = sum_over(np, out, (1,), True)
    np.multiply(out, x.dtype.type(1) / total, out=out)


def _log_softmax_rows(x: Array, out: Array) -> None:
    np.subtract(x, x.max(axis=1, keepdims=True), out=out)
    np.subtract(out, np.log(sum_over(np, np.exp(out), (1,), True)), out=out)


@softmax_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    softmax_value = op.outputs[0]
    total = reduction_ops.reduce_sum(grad * softmax_value, -1, keepdims=True)
    return (grad - total) * softmax_value


@register_op("LogSoftmax", "logits: T -> logsoftmax: T", _FLOAT, shape=_rank_one_or_more)
def log_softmax_op(xp: Xp, logits: Array) -> Array:
    """Compute logits - log(sum(exp(logits))) along the last axis."""
    _check_rank(logits)
    if logits.dtype.itemsize == 2 and xp is np:
        shifted = shifted_logits(np, logits)
        return shifted - np.log(_stepwise_sum(np.exp(shifted)))
    found = compiled_softmax.log_softmax(logits) if xp is np else None
    if found is not None:
        return found
    wide = widened(logits)
    if is_large(xp, wide):
        return _large(_log_softmax_rows, wide)
    shifted = shifted_logits(xp, wide)
    total = xp.exp(shifted).sum(axis=-1, keepdims=True)
    return (shifted - xp.log(total)).astype(logits.dtype, copy=False)


@log_softmax_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    softmax_value = cwise_unary_ops.exp_op(op.outputs[0])
    return grad - reduction_ops.reduce_sum(grad, -1, keepdims=True) * softmax_value


# ----------------------------------------------------------------------- functions of Python's side


def _along(
    op: Callable[..., TensorResult], logits: TensorLike, axis: TensorLike, name: str | None
) -> Any:
    """Apply an op of the last axis along another one, which may be a tensor."""
    logits = convert_to_tensor(logits)
    rank = logits.shape.ndims
    if isinstance(axis, Tensor):
        known = constant_value(axis)
        axis = axis if known is None else int(known)
    if isinstance(axis, int) and axis == -1:
        return op(logits, name=name)
    if rank is None:
        raise TypeError(
            "unsupported operand type(s) for -: 'NoneType' and 'int': the number of dimensions of "
            f"{logits!r} is unknown. Set it with set_shape, or use the last axis, -1."
        )
    if isinstance(axis, int) and axis == rank - 1:
        return op(logits, name=name)
    if isinstance(axis, int) and not -rank <= axis < rank:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of "
            f"dimensions in the input. Received: dim={axis}",
        )
    shape = logits.shape
    position: TensorResult = array_ops.rank(logits)
    if isinstance(axis, Tensor):
        position = where_ops.where(axis < 0, axis + position, axis)
    else:
        position = axis + position if axis < 0 else axis
    dynamic_rank = array_ops.rank(logits)
    position = position % rank
    swapped = swap_axes(logits, position, cwise_binary_ops.sub(dynamic_rank, 1))
    output = op(swapped)
    output = swap_axes(output, position, cwise_binary_ops.sub(dynamic_rank, 1), name=name)
    output.set_shape(shape)
    return output


def swap_axes(
    x: TensorLike, axis: TensorLike, last: TensorLike, name: str | None = None
) -> TensorResult:
    """Return `x` with an axis and the last one exchanged."""
    order = array_ops.concat(
        [sequence_ops.range_(axis), [last], sequence_ops.range_(axis + 1, last), [axis]], 0
    )
    return array_ops.transpose(x, order, name=name)


def softmax(
    logits: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Any:
    """Return exp(logits) / sum(exp(logits)) along an axis (the last by default)."""
    axis = renamed("axis", axis, "dim", dim)
    return _along(softmax_op, logits, -1 if axis is None else axis, name)


def log_softmax(
    logits: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Any:
    """Compute logits - log(sum(exp(logits))) along an axis (the last by default)."""
    axis = renamed("axis", axis, "dim", dim)
    return _along(log_softmax_op, logits, -1 if axis is None else axis, name)
