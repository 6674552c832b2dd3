"""BiasAdd and its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors, float_ops
from tfnb.core.channel_order import lies_channels_last
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import LARGE, is_large, sum_over
from tfnb.ops.nn.channel_rows import ChannelRows

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.math import reduction_ops, sequence_ops
else:
    reduction_ops = later("tfnb.ops.math.reduction_ops")
    sequence_ops = later("tfnb.ops.math.sequence_ops")

EXPORTS = {"nn": ["bias_add"]}

_FORMAT = "data_format: {'NHWC', 'NCHW'} = 'NHWC'"


def _channel_axis(c: InferenceContext) -> int:
    return 1 if "data_format" in c.attrs and c.attr("data_format") == "NCHW" else -1


def _bias_add_shape(c: InferenceContext) -> TensorShape:
    axis = _channel_axis(c)
    value = c.with_rank_at_least(0, 3 if axis == 1 else 2).dim_values
    bias = c.with_rank(1, 1).dim_values
    assert bias is not None
    if value is None:
        return UNKNOWN_SHAPE
    dims = list(value)
    dims[axis] = merge_dims(dims[axis], bias[0])
    return TensorShape(dims)


def _add_bias(xp: Xp, value: Array, bias: Array, axis: int) -> Array:
    if value.ndim < 2:
        raise errors.invalid_argument(
            f"Input tensor must be at least 2D: {shape_text(value.shape)}"
        )
    if bias.ndim != 1:
        raise errors.invalid_argument(f"Biases must be 1D: {shape_text(bias.shape)}")
    if bias.shape[0] != value.shape[axis]:
        where = "channel dimension" if axis == 1 else "last dimension"
        raise errors.invalid_argument(
            f"Must provide as many biases as the {where} of the input tensor: "
            f"{shape_text(bias.shape)} vs. {shape_text(value.shape)}"
        )
    least = LARGE if bias.size < _SHORT else _LEAST_LONG
    is_joined = is_large(xp, value, least) and bias.size <= _LONG
    if is_joined and (axis == -1 or lies_channels_last(value)):
        channels = ChannelRows(xp, value.shape, axis % value.ndim)
        rows = channels.rows(value)
        biases, added = channels.spread(bias), xp.empty_like(rows)
        channels.by_blocks(rows, lambda block: xp.add(rows[block], biases, out=added[block]))
        return channels.whole(added)
    return value + (bias if axis == -1 else bias.reshape((-1,) + (1,) * (value.ndim - 2)))


# Rows of fewer than _SHORT elements are joined into longer ones; rows of up to _LONG elements are
# joined in arrays of at least _LEAST_LONG elements.
_SHORT, _LONG, _LEAST_LONG = 256, 4096, 32 * LARGE


@register_op(
    "BiasAdd", "value: T, bias: T -> output: T", "T: numbertype", _FORMAT, shape=_bias_add_shape
)
def bias_add_op(xp: Xp, value: Array, bias: Array, *, data_format: str) -> Array:
    """Compute value + bias, one bias for each channel."""
    return _add_bias(xp, value, bias, 1 if data_format == "NCHW" else -1)


bias_add_op.float_ops(float_ops.per_input())


bias_add_op.tile(
    "{add}({value}, {bias}, out={out})", vector="bias", attrs={"data_format": "NHWC"}, add=np.add
)
bias_add_op.expression(
    "{value} + {bias} if {bias}.ndim == 1 < {value}.ndim and {value}.shape[-1] == {bias}.size"
    " and {value}.size < {least} else {kernel}",
    attrs={"data_format": "NHWC"},
    is_elementwise=False,
    least=LARGE,
)


@bias_add_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad, bias_add_grad(grad, data_format=op.get_attr("data_format"))


@register_op("BiasAddV1", "value: T, bias: T -> output: T", "T: numbertype", shape=_bias_add_shape)
def bias_add_v1(xp: Xp, value: Array, bias: Array) -> Array:
    """Compute value + bias, one bias for each entry of the last dimension."""
    return _add_bias(xp, value, bias, -1)


@bias_add_v1.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    axes = sequence_ops.range_(array_ops.rank(grad) - 1)
    return grad, reduction_ops.reduce_sum(grad, axes)


def _bias_grad_shape(c: InferenceContext) -> TensorShape:
    axis = _channel_axis(c)
    dims = c.with_rank_at_least(0, 3 if axis == 1 else 2).dim_values
    return TensorShape([None if dims is None else dims[axis]])


@register_op(
    "BiasAddGrad",
    "out_backprop: T -> output: T",
    "T: numbertype",
    _FORMAT,
    shape=_bias_grad_shape,
    traits="input_gradient launches",
)
def bias_add_grad(xp: Xp, out_backprop: Array, *, data_format: str) -> Array:
    """Return the sum over all dimensions except the channels."""
    if out_backprop.ndim < 2:
        raise errors.invalid_argument(
            f"Input tensor must be at least 2D: {shape_text(out_backprop.shape)}"
        )
    channel = 1 if data_format == "NCHW" else out_backprop.ndim - 1
    axes = tuple(i for i in range(out_backprop.ndim) if i != channel)
    dtype = out_backprop.dtype
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        return sum_over(xp, out_backprop.astype(np.float32), axes).astype(dtype)
    return sum_over(xp, out_backprop, axes)


bias_add_grad.float_ops(float_ops.reduction)


@bias_add_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    shape, bias_shape = array_ops.shape(op.inputs[0]), array_ops.shape(grad)
    if op.get_attr("data_format") in (b"NCHW", "NCHW"):
        head, tail = array_ops.ones_like(shape[:1]), array_ops.ones_like(shape[2:])
        expanded = array_ops.concat([head, bias_shape, tail], 0)
        times = array_ops.concat([shape[:1], [1], shape[2:]], 0)
    else:
        expanded = array_ops.concat([array_ops.ones_like(shape[:-1]), bias_shape], 0)
        times = array_ops.concat([shape[:-1], [1]], 0)
    return array_ops.tile(array_ops.reshape(grad, expanded), times)


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> TensorResult:
    """Compute value + bias, one bias for each channel.

    Raises:
      ValueError: the data format is unknown.
    """
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError(
                    "`data_format` must be of the form `N...C` or `NC...`. "
                    f"Received: data_format={data_format}"
                )
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return bias_add_op(value, bias, data_format=data_format or "NHWC", name=scope)
