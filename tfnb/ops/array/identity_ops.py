"""Ops that pass a value on: Identity, Snapshot, StopGradient, Bitcast and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, unchanged_shape
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.dispatch import dispatchable
from tfnb.ops.array.constant_ops import unchanged_shape_and_handle

if TYPE_CHECKING:
    from tfnb.core import node_text
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike
else:
    node_text = later("tfnb.core.node_text", in_step=True)

EXPORTS = {
    "tf": ["identity", "identity_n", "stop_gradient", "bitcast"],
    "raw_ops": [],
}


@register_op(
    "Identity",
    "input: T -> output: T",
    "T: type",
    shape=unchanged_shape_and_handle,
    traits="forwards cannot_fail rearranges",
)
def identity_op(xp: Xp, input: Array) -> Array:
    """Return the input."""
    return input


@identity_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad


@dispatchable
def identity(input: TensorLike, name: str | None = None) -> Any:
    """Return a tensor with the same value, as an op of its own.

    A composite value (SparseTensor, IndexedSlices) becomes one with every component passed through.
    """
    from tfnb.framework.indexed_slices import IndexedSlices
    from tfnb.framework.sparse_tensor import SparseTensor

    if isinstance(input, SparseTensor):
        return SparseTensor(
            identity_op(input.indices, name=name),
            identity_op(input.values, name=name),
            identity_op(input.dense_shape, name=name),
        )
    if isinstance(input, IndexedSlices):
        parts: list[TensorLike] = [
            None if x is None else identity_op(x, name=name)
            for x in (input.values, input.indices, input.dense_shape)
        ]
        return IndexedSlices(*parts)
    return identity_op(input, name=name)


def _identity_n_shape(c: InferenceContext) -> list[TensorShape]:
    for index in range(len(c.inputs)):
        data = c.input_handle_data(index)
        if data:
            c.set_output_handle_data(index, data)
    return list(c.inputs)


@register_op(
    "IdentityN",
    "input: T -> output: T",
    "T: list(type) >= 1",
    shape=_identity_n_shape,
    traits="rearranges",
)
def identity_n(xp: Xp, input: Array) -> Outputs:
    """Return the inputs once all of them are ready."""
    return tuple(input)


@identity_n.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return list(grads)


@register_op(
    "Snapshot",
    "input: T -> output: T",
    "T: type",
    shape=unchanged_shape,
    traits="forwards cannot_fail rearranges",
)
def snapshot(xp: Xp, input: Array) -> Array:
    """Return a copy of the input."""
    return input


@register_op(
    "DeepCopy", "x: T -> y: T", "T: type", shape=unchanged_shape, stateful=True, traits="rearranges"
)
def deep_copy(xp: Xp, x: Array) -> Array:
    """Return a copy of the input."""
    return x


@register_op(
    "StopGradient",
    "input: T -> output: T",
    "T: type",
    shape=unchanged_shape,
    traits="forwards cannot_fail rearranges",
)
def stop_gradient(xp: Xp, input: Array) -> Array:
    """Return the input, through which no gradient passes."""
    return input


stop_gradient.not_differentiable()


@register_op(
    "PreventGradient",
    "input: T -> output: T",
    "T: type",
    "message: string = ''",
    shape=unchanged_shape,
    traits="forwards rearranges",
)
def prevent_gradient(xp: Xp, input: Array) -> Array:
    """Return the input; computing a gradient through it raises an error."""
    return input


@prevent_gradient.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.get_attr('message').decode()!r}.")


# ------------------------------------------------------------------------------------------ Bitcast


def _bitcast_shape(c: InferenceContext) -> TensorShape:
    source: DType = c.attr("T")
    target: DType = c.attr("type")
    if not source.size or not target.size:
        raise ValueError(
            f"Cannot bitcast types {node_text.type_word(source)} to "
            f"{node_text.type_word(target)} because one of the type sizes is zero."
        )
    dims = c.inputs[0].dim_values
    if dims is None:
        return UNKNOWN_SHAPE
    if source.size > target.size:
        return TensorShape([*dims, source.size // target.size])
    if source.size == target.size:
        return c.inputs[0]
    c.with_rank_at_least(0, 1)
    factor = target.size // source.size
    if dims[-1] is not None and dims[-1] != factor:
        types = f"{source.as_datatype_enum} to {target.as_datatype_enum}"
        raise ValueError(
            f"Cannot bitcast from {types} due to shape. {dims[-1]} does not match {factor}"
        )
    return TensorShape(dims[:-1])


@register_op(
    "Bitcast",
    "input: T -> output: type",
    "T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, "
    "complex64, complex128, qint8, quint8, qint16, quint16, qint32}",
    "type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, "
    "int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}",
    shape=_bitcast_shape,
    traits="rearranges",
)
def bitcast(xp: Xp, input: Array, *, type: DType) -> Array:
    """Return the bytes of the input, read as another type."""
    target = type.numpy_dtype
    value = xp.ascontiguousarray(input).reshape(input.shape)
    before, after = value.dtype.itemsize, target.itemsize
    if before == after:
        return value.view(target)
    if before > after:
        return value.reshape(*value.shape, 1).view(target)
    if not value.ndim or value.shape[-1] * before != after:
        last = value.shape[-1] if value.ndim else 0
        raise errors.invalid_argument(
            f"Cannot bitcast from {node_text.type_word(dtypes.as_dtype(value.dtype))} to "
            f"{node_text.type_word(type)}: the last dimension is {last} and must be "
            f"{after // before}"
        )
    if value.size == 0:
        return xp.empty(value.shape[:-1], target)
    return value.view(target).reshape(value.shape[:-1])
