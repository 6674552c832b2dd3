"""Sums of many tensors of one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_shapes
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients


def _add_n_shape(c: InferenceContext) -> TensorShape:
    shape = c.inputs[-1]
    for index in range(len(c.inputs) - 2, -1, -1):
        try:
            shape = merge_shapes(c.inputs[index], shape)
        except ValueError as error:
            raise ValueError(f"{error} From merging shape {index} with other shapes.") from None
    for index in range(len(c.inputs)):
        data = c.input_handle_data(index)
        if data:
            c.set_output_handle_data(0, data)
            break
    return shape


@register_op(
    "AddN",
    "inputs: N * T -> sum: T",
    "N: int >= 1",
    "T: {numbertype, variant}",
    shape=_add_n_shape,
    commutative=True,
    aggregate=True,
)
def add_n_op(xp: Xp, inputs: list[Array]) -> Array:
    """Return the sum of all inputs."""
    return _sum_of(inputs, "AddN")


add_n_op.float_ops(float_ops.sum_of_all)


@add_n_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return [grad] * len(op.inputs)


@register_op(
    "AccumulateNV2",
    "inputs: N * T -> sum: T",
    "N: int >= 1",
    "T: numbertype",
    "shape: shape",
    shape=lambda c: c.attr("shape"),
    commutative=True,
    aggregate=True,
    traits="unchecked_shape",
)
def accumulate_nv2(xp: Xp, inputs: list[Array]) -> Array:
    """Return the sum of all inputs."""
    return _sum_of(inputs, "AccumulateNV2")


@accumulate_nv2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return [grad] * len(op.inputs)


def _sum_of(inputs: list[Array], op_type: str) -> Array:
    total = inputs[0]
    shape = getattr(total, "shape", None)
    for index, item in enumerate(inputs[1:], 1):
        if getattr(item, "shape", None) != shape:
            raise errors.invalid_argument(
                f"Inputs to operation {op_type} must have the same size and shape.  "
                f"Input 0: {shape_text(total.shape)} != input {index}: {shape_text(item.shape)}"
            )
    if len(inputs) == 1:
        return total
    total = total + inputs[1]
    for item in inputs[2:]:
        # The first sum is a new array, so the other tensors can be added in place.
        total += item
    return total
