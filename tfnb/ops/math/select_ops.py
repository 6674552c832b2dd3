"""Ops that choose between the elements of two tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import InferenceContext, broadcast_shapes, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import choose

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients
    from tfnb.ops.math import unbroadcast
else:
    unbroadcast = later("tfnb.ops.math.unbroadcast")


def _select_shape(c: InferenceContext) -> TensorShape:
    shape = merge_shapes(c.inputs[1], c.inputs[2])
    condition, values = c.inputs[0].dim_values, shape.dim_values
    if condition is None or values is None or not condition:
        return shape
    if len(condition) == 1 and values:
        merge_shapes(TensorShape(condition), TensorShape(values[:1]))
        return shape
    return merge_shapes(shape, c.inputs[0])


# From this number of elements of a row on, copying rows is faster than choosing elements.
_LEAST_ROW = 16


@register_op(
    "Select",
    "condition: bool, t: T, e: T -> output: T",
    "T: type",
    shape=_select_shape,
    traits="rearranges",
)
def select(xp: Xp, condition: Array, t: Array, e: Array) -> Array:
    """Return t where the condition holds, else e; a vector as condition selects whole rows."""
    if t.shape != e.shape:
        raise errors.invalid_argument(
            "'then' and 'else' must have the same size. but received: "
            f"{shape_text(t.shape)} vs. {shape_text(e.shape)}"
        )
    if condition.ndim == 0:
        return t if condition else e
    if condition.shape == t.shape:
        return choose(xp, condition, t, e)
    if condition.ndim != 1:
        raise errors.invalid_argument(
            f"'cond' must be a vector, but saw shape: {shape_text(condition.shape)}"
        )
    if t.ndim == 0 or condition.shape[0] != t.shape[0]:
        raise errors.invalid_argument(
            "Number of batches of 'then' must match size of 'cond', but saw: "
            f"{t.shape[0] if t.ndim else 0} vs. {condition.shape[0]}"
        )
    if xp is np:
        # Rows of sequences of different lengths: in most steps of a loop all are chosen alike.
        chosen = np.count_nonzero(condition)
        if chosen == 0:
            return e
        if chosen == len(condition):
            return t
        if e.size >= len(e) * _LEAST_ROW and e.dtype.kind in "fiu":
            result = e.copy()
            np.copyto(result, t, where=condition.reshape((-1,) + (1,) * (t.ndim - 1)))
            return result
    return xp.where(condition.reshape((-1,) + (1,) * (t.ndim - 1)), t, e)


@select.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    condition, zeros = op.inputs[0], array_ops.zeros_like(op.inputs[1])
    return None, select(condition, grad, zeros), select(condition, zeros, grad)


def _select_v2_shape(c: InferenceContext) -> TensorShape:
    return broadcast_shapes(c.inputs[0], broadcast_shapes(c.inputs[1], c.inputs[2]))


@register_op(
    "SelectV2",
    "condition: bool, t: T, e: T -> output: T",
    "T: type",
    shape=_select_v2_shape,
    traits="rearranges",
)
def select_v2(xp: Xp, condition: Array, t: Array, e: Array) -> Array:
    """Return t where the condition holds, else e; all three broadcast."""
    try:
        return choose(xp, condition, t, e)
    except ValueError:
        shapes = (condition.shape, t.shape, e.shape)
        raise errors.invalid_argument(
            "condition {}, then {}, and else {} must be broadcastable".format(
                *map(shape_text, shapes)
            )
        ) from None


@select_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    condition, x, y = op.inputs
    zeros = array_ops.zeros([], grad.dtype.base_dtype)
    output = op.outputs[0]
    of_x, of_y = select_v2(condition, grad, zeros), select_v2(condition, zeros, grad)
    return (
        None,
        unbroadcast.unbroadcast(x, output, of_x, None)[0],
        unbroadcast.unbroadcast(y, output, of_y, None)[0],
    )
