"""Cross entropies: of softmax with dense or sparse labels, of sigmoid, of Poisson counts.

Corresponds to TensorFlow's ``xent_op.cc`` and ``sparse_xent_op.cc``. float16 and bfloat16 are
computed in float32 and rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, broadcast_shapes, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import is_large, shard_rows, sum_over
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.math.comparison_ops import greater_equal, less_equal, logical_and
from tfnb.ops.math.cwise_binary_ops import add_v2, sub
from tfnb.ops.math.cwise_unary_ops import abs_op, exp_op, log, log1p
from tfnb.ops.math.matmul_ops import matmul
from tfnb.ops.math.sequence_ops import range_
from tfnb.ops.nn import compiled_softmax
from tfnb.ops.nn.activation_ops import relu
from tfnb.ops.nn.softmax_ops import (
    log_softmax_op,
    shifted_logits,
    softmax_op,
    widened,
)

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "nn": [
        "log_poisson_loss", "sigmoid_cross_entropy_with_logits",
        "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2",
        "weighted_cross_entropy_with_logits",
    ],
}  # fmt: skip

_FLOAT = "T: {half, bfloat16, float, double}"


def _xent_shape(c: InferenceContext) -> list[TensorShape]:
    logits, labels = c.inputs[0], c.inputs[1]
    known = logits.dim_values, labels.dim_values
    if known[0] is not None and known[1] is not None and (len(known[0]) == 2 or len(known[1]) == 2):
        shape = broadcast_shapes(logits, labels)
    else:
        for one in known:
            if one is not None and len(one) != 2:
                raise ValueError(f"Shape must be broadcasted with rank 2, but is rank {len(one)}")
        shape = broadcast_shapes(c.with_rank(0, 2), c.with_rank(1, 2))
    dims = shape.dim_values
    if dims is not None and len(dims) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(dims)}")
    if dims is None:
        dims = (None, None)
    return [TensorShape(dims[:1]), TensorShape(dims)]


@register_op(
    "SoftmaxCrossEntropyWithLogits",
    "features: T, labels: T -> loss: T, backprop: T",
    _FLOAT,
    shape=_xent_shape,
)
def softmax_cross_entropy(xp: Xp, features: Array, labels: Array) -> Outputs:
    """Return -sum(labels * log_softmax(features)) per row, and softmax(features) - labels."""
    dtype = features.dtype
    if features.shape != labels.shape:
        try:
            shape = xp.broadcast_shapes(features.shape, labels.shape)
        except ValueError:
            raise errors.invalid_argument(
                "logits and labels must be broadcastable: logits_size="
                f"{shape_text(features.shape)} labels_size={shape_text(labels.shape)}"
            ) from None
        features, labels = xp.broadcast_to(features, shape), xp.broadcast_to(labels, shape)
    if features.ndim != 2:
        raise errors.invalid_argument(
            "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional"
        )
    found = compiled_softmax.cross_entropy(features, labels) if xp is np else None
    if found is not None:
        return found
    labels, wide = widened(labels), widened(features)
    if is_large(xp, wide):
        loss, backprop = _large_cross_entropy(wide, labels, dtype)
        return loss.astype(dtype, copy=False), backprop.astype(dtype, copy=False)
    shifted = shifted_logits(xp, wide)
    grown = xp.exp(shifted)
    total = grown.sum(axis=-1, keepdims=True).astype(dtype).astype(wide.dtype)
    loss = (labels * (xp.log(total) - shifted)).sum(axis=-1)
    grown /= total
    grown -= labels
    return loss.astype(dtype, copy=False), grown.astype(dtype, copy=False)


def _large_cross_entropy(features: Array, labels: Array, dtype: Attr) -> tuple[Array, Array]:
    loss = np.empty(len(features), features.dtype)
    backprop = np.empty(features.shape, features.dtype)

    def work(first: int, last: int) -> None:
        x, wanted, grown = features[first:last], labels[first:last], backprop[first:last]
        np.subtract(x, x.max(axis=1, keepdims=True), out=grown)
        # The sum of labels * (log(total) - shifted), as two terms.
        seen = np.vecdot(wanted, grown)
        np.exp(grown, out=grown)
        total = sum_over(np, grown, (1,), True).astype(dtype).astype(grown.dtype)
        loss[first:last] = sum_over(np, wanted, (1,)) * np.log(total[:, 0]) - seen
        np.divide(grown, total, out=grown)
        np.subtract(grown, wanted, out=grown)

    shard_rows(features.shape[0], features.shape[1], work)
    return loss, backprop


def _scale_rows(vector: TensorLike, matrix: TensorLike) -> TensorResult:
    return array_ops.expand_dims(vector, -1) * matrix


def _is_zero(grad: TensorLike) -> bool:
    """Return whether a gradient is known to be zero because the output is unused."""
    if grad is None or grad.op.type in ("ZerosLike", "Zeros"):
        return True
    value = constant_value(grad)
    return value is not None and not np.asarray(value).any()


def _second_order(grad: TensorLike, grad_grad: TensorLike, logits: TensorLike) -> TensorResult:
    if _is_zero(grad_grad):
        return grad
    softmax_value = softmax_op(logits)
    inner = matmul(array_ops.expand_dims(grad_grad, 1), array_ops.expand_dims(softmax_value, 2))
    return grad + (grad_grad - array_ops.squeeze(inner, axis=[1])) * softmax_value


@softmax_cross_entropy.gradient
def _(op: Operation, grad_loss: Tensor, grad_grad: Tensor) -> Gradients:
    logits = op.inputs[0]
    grad = _second_order(_scale_rows(grad_loss, op.outputs[1]), grad_grad, logits)
    return grad, _scale_rows(grad_loss, -log_softmax_op(logits))


def _sparse_xent_shape(c: InferenceContext) -> list[TensorShape]:
    features, labels = c.with_rank(0, 2).dim_values, c.with_rank(1, 1).dim_values
    assert features is not None
    assert labels is not None
    batch = merge_dims(features[0], labels[0])
    return [TensorShape([batch]), TensorShape([batch, features[1]])]


@register_op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features: T, labels: Tlabels -> loss: T, backprop: T",
    _FLOAT,
    "Tlabels: {int32, int64} = DT_INT64",
    shape=_sparse_xent_shape,
)
def sparse_softmax_cross_entropy(xp: Xp, features: Array, labels: Array) -> Outputs:
    """Return -log_softmax(features)[label] per row, and its gradient."""
    dtype = features.dtype
    if features.ndim != 2:
        raise errors.invalid_argument(
            f"logits must be 2-D, but got shape {shape_text(features.shape)}"
        )
    if labels.ndim != 1:
        raise errors.invalid_argument(
            f"labels must be 1-D, but got shape {shape_text(labels.shape)}"
        )
    rows, classes = features.shape
    if rows != labels.shape[0]:
        raise errors.invalid_argument(
            "logits and labels must have the same first dimension, got logits shape "
            f"{shape_text(features.shape)} and labels shape {shape_text(labels.shape)}"
        )
    if not classes:
        raise errors.invalid_argument(
            f"Must have at least one class, but got logits shape {shape_text(features.shape)}"
        )
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        listed = " ".join(str(label) for label in labels.tolist())
        raise errors.invalid_argument(
            f"Received a label value of {labels[wrong][0]} which is outside the valid range of "
            f"[0, {classes}).  Label values: {listed}"
        )
    found = compiled_softmax.sparse_cross_entropy(features, labels) if xp is np else None
    if found is not None:
        return found
    here = (xp.arange(rows), labels)
    grown = shifted_logits(xp, widened(features))
    grown = xp.array(grown) if grown is features else grown
    seen = grown[here]
    xp.exp(grown, out=grown)
    total = sum_over(xp, grown, (1,), True)
    loss = xp.log(total[:, 0]) - seen
    grown /= total
    grown[here] -= 1
    return loss.astype(dtype, copy=False), grown.astype(dtype, copy=False)


@sparse_softmax_cross_entropy.gradient
def _(op: Operation, grad_loss: Tensor, grad_grad: Tensor) -> Gradients:
    grad = _scale_rows(grad_loss, op.outputs[1])
    return _second_order(grad, grad_grad, op.inputs[0]), None


# --------------------------------------------------------------------------------- Python functions


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Any:
    """Return the cross entropy of labels and softmax(logits) along an axis; both get gradients."""
    axis = renamed("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        as_float32 = logits.dtype in (dtypes.float16, dtypes.bfloat16)
        precise = cast(logits, dtypes.float32) if as_float32 else logits
        # Labels and logits have the same dtype from here on.
        labels = cast(labels, precise.dtype)
        rank = array_ops.rank(precise)
        shape = logits.shape
        if axis != -1:
            position = axis + rank if axis < 0 else axis
            precise = _move_to_end(precise, position, rank)
            labels = _move_to_end(labels, position, rank)
        input_shape = array_ops.shape(precise)
        cost, _ = softmax_cross_entropy(_flatten_outer(precise), _flatten_outer(labels), name=scope)
        output_shape = array_ops.slice(input_shape, [0], [sub(rank, 1)])
        cost = array_ops.reshape(cost, output_shape)
        if shape.ndims is not None:
            left = list(shape.dim_values)
            del left[axis]
            cost.set_shape(left)
        return cast(cost, logits.dtype) if as_float32 else cost


def _move_to_end(x: TensorLike, axis: TensorLike, rank: TensorLike) -> TensorResult:
    order = array_ops.concat([range_(axis), range_(axis + 1, rank), [axis]], 0)
    return array_ops.transpose(x, order)


def _flatten_outer(logits: TensorLike) -> TensorResult:
    """Return all axes but the last flattened into one."""
    rank = array_ops.rank(logits)
    last_dim = array_ops.slice(array_ops.shape(logits), [sub(rank, 1)], [1])
    output = array_ops.reshape(logits, array_ops.concat([[-1], last_dim], 0))
    dims = logits.shape.dim_values
    if dims is not None:
        product: int | None = 1
        for size in dims[:-1]:
            product = None if product is None or size is None else product * size
        output.set_shape([product, dims[-1]])
    return output


def softmax_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Any:
    """Return the cross entropy of labels and softmax(logits); the labels get no gradient."""
    axis = dim if axis is None else axis
    _check_both(labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = array_ops.stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=axis, name=scope)


def _check_both(labels: TensorLike, logits: TensorLike) -> None:
    if labels is None or logits is None:
        raise ValueError(
            "Both `labels` and `logits` must be provided for softmax_cross_entropy_with_logits"
            f"Received: labels={labels} and logits={logits}"
        )


def _of_one_shape(logits: TensorLike, labels: TensorLike) -> tuple[TensorResult, TensorResult]:
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, name="labels")
    try:
        labels.shape.assert_is_compatible_with(logits.shape)
    except ValueError:
        raise ValueError(
            f"`logits` and `labels` must have the same shape, received ({logits.shape} vs "
            f"{labels.shape})."
        ) from None
    return logits, labels


def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> TensorResult:
    """Return max(x, 0) - x * z + log(1 + exp(-|x|)) for logits x and labels z.

    Raises:
      ValueError: an argument is missing, or the shapes differ.
    """
    _check_both(labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = _of_one_shape(logits, labels)
        zeros = array_ops.zeros_like(logits, dtype=logits.dtype)
        positive = greater_equal(logits, zeros)
        relu_logits = array_ops.where(positive, logits, zeros)
        minus_modulus = array_ops.where(positive, -logits, logits)
        return add_v2(relu_logits - logits * labels, log1p(exp_op(minus_modulus)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: TensorLike = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> TensorResult:
    """Return the sigmoid cross entropy in which positive labels count `pos_weight` times.

    Raises:
      ValueError: the shapes differ.
    """
    labels = renamed("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = _of_one_shape(logits, labels)
        weight = 1 + (pos_weight - 1) * labels
        return add_v2(
            (1 - labels) * logits,
            weight * (log1p(exp_op(-abs_op(logits))) + relu(-logits)),
            name=scope,
        )


def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return exp(c) - z * c for the logarithm c of the rate and targets z.

    Raises:
      ValueError: the shapes differ.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, name="targets")
        try:
            targets.shape.assert_is_compatible_with(log_input.shape)
        except ValueError:
            raise ValueError(
                "`log_input` and `targets` must have the same shape, received "
                f"({log_input.shape} vs {targets.shape})."
            ) from None
        result = exp_op(log_input) - log_input * targets
        if compute_full_loss:
            # Stirling's approximation of log(z!).
            half = convert_to_tensor(0.5, dtype=targets.dtype)
            two_pi = convert_to_tensor(2 * math.pi, dtype=targets.dtype)
            stirling = targets * log(targets) - targets + half * log(two_pi * targets)
            zeros = array_ops.zeros_like(targets, dtype=targets.dtype)
            ones = array_ops.ones_like(targets, dtype=targets.dtype)
            between = logical_and(greater_equal(targets, zeros), less_equal(targets, ones))
            result += array_ops.where(between, zeros, stirling)
        return result
