"""The first two versions of the TensorArray ops, which old graph files contain.

Their handles are a reference to two strings, or two strings; the second string identifies the
array. The kernels are those of the third version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.resource_mgr import RefCell
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE, InferenceContext, no_outputs
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import control_dependencies
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.containers.tensor_array_ops import (
    after_last_write,
    find_tensor_array,
    gradient_source,
    tensor_array_close_v3,
    tensor_array_concat_v3,
    tensor_array_gather_v3,
    tensor_array_grad_v3,
    tensor_array_read_v3,
    tensor_array_scatter_v3,
    tensor_array_size_v3,
    tensor_array_split_v3,
    tensor_array_v3,
    tensor_array_write_v3,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.resource_mgr import ResourceHandle
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult

# -- shape functions


def _pair_shape(c: InferenceContext) -> TensorShape:
    return TensorShape([2])


def _flow_shape(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


def _write_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 0)
    return SCALAR_SHAPE


def _read_shape(c: InferenceContext) -> TensorShape:
    return UNKNOWN_SHAPE


def _gather_shape(c: InferenceContext) -> TensorShape:
    element: TensorShape = c.attrs["element_shape"]
    return TensorShape([None]).concatenate(element)


def _concat_shape(c: InferenceContext) -> list[TensorShape]:
    rest: TensorShape = c.attrs["element_shape_except0"]
    return [TensorShape([None]).concatenate(rest), TensorShape([None])]


# -- making


def _strings(handle: ResourceHandle) -> Array:
    return np.array([handle.container.encode(), handle.name.encode()], dtype=object)


def _reference(handle: ResourceHandle) -> RefCell:
    # Each execution creates an array of its own, and with it a cell of its own.
    cell = RefCell(handle.name, dtypes.string, TensorShape([2]))
    cell.assign(_strings(handle))
    return cell


def _kernel(definition: Array) -> Callable[..., Array]:
    found: Callable[..., Array] = definition.kernels["CPU"]
    return found


def _new(ctx: OpKernelContext, size: Array) -> ResourceHandle:
    attrs = ctx.attrs
    handle: ResourceHandle = _kernel(tensor_array_v3)(
        ctx,
        size,
        dtype=attrs["dtype"],
        element_shape=attrs["element_shape"],
        dynamic_size=attrs["dynamic_size"],
        clear_after_read=attrs["clear_after_read"],
        identical_element_shapes=False,
        tensor_array_name=attrs["tensor_array_name"].decode(),
    )[0]
    return handle


@register_op(
    "TensorArray", "size: int32 -> handle: Ref(string)", "dtype: type",
    "dynamic_size: bool = false", "clear_after_read: bool = true",
    "tensor_array_name: string = ''", "element_shape: shape = { unknown_rank: true }",
    stateful=True, shape=_pair_shape, devices=("CPU",), deprecated=(16, "Use TensorArrayV3"),
)  # fmt: skip
def tensor_array_v1(ctx: OpKernelContext, size: Array) -> Array:
    """Return a new array of ``size`` empty places, as a reference."""
    return _reference(_new(ctx, size))


@register_op(
    "TensorArrayV2", "size: int32 -> handle: string", "dtype: type",
    "element_shape: shape = { unknown_rank: true }", "dynamic_size: bool = false",
    "clear_after_read: bool = true", "tensor_array_name: string = ''",
    stateful=True, shape=_pair_shape, devices=("CPU",), deprecated=(26, "Use TensorArrayV3"),
    traits="keeps_state",
)  # fmt: skip
def tensor_array_v2(ctx: OpKernelContext, size: Array) -> Array:
    """Return a new array of ``size`` empty places, as two strings."""
    return _strings(_new(ctx, size))


@register_op(
    "TensorArrayGrad", "handle: string, flow_in: float -> grad_handle: Ref(string)",
    "source: string", stateful=True, shape=_pair_shape, devices=("CPU",),
    deprecated=(16, "Use TensorArrayGradV3"),
)  # fmt: skip
def tensor_array_grad_v1(
    ctx: OpKernelContext, handle: Array, flow_in: Array, *, source: str
) -> Array:
    """Return the array for gradients of an array's elements, as a reference."""
    return _reference(_kernel(tensor_array_grad_v3)(ctx, handle, flow_in, source=source)[0])


@register_op(
    "TensorArrayGradV2", "handle: string, flow_in: float -> grad_handle: string",
    "source: string", stateful=True, shape=_pair_shape, devices=("CPU",),
    deprecated=(26, "Use TensorArrayGradV3"),
    traits="keeps_state",
)  # fmt: skip
def tensor_array_grad_v2(
    ctx: OpKernelContext, handle: Array, flow_in: Array, *, source: str
) -> Array:
    """Return the array for gradients of an array's elements, as two strings."""
    return _strings(_kernel(tensor_array_grad_v3)(ctx, handle, flow_in, source=source)[0])


@register_op(
    "TensorArrayPack", "handle: Ref(string), flow_in: float -> value: dtype", "dtype: type",
    "element_shape: shape = { unknown_rank: true }", shape=_gather_shape, devices=("CPU",),
    deprecated=(16, "Use TensorArrayGatherV3 with RangeOp"),
)  # fmt: skip
def tensor_array_pack(
    ctx: OpKernelContext,
    handle: RefCell,
    flow_in: Array,
    *,
    dtype: DType,
    element_shape: TensorShape,
) -> Array:
    """Stack all elements along a new first dimension."""
    indices = np.arange(find_tensor_array(ctx, handle).size(), dtype=np.int32)
    return _kernel(tensor_array_gather_v3)(
        ctx, handle, indices, flow_in, dtype=dtype, element_shape=element_shape
    )


@register_op(
    "TensorArrayUnpack", "handle: Ref(string), value: T, flow_in: float -> flow_out: float",
    "T: type", shape=_flow_shape, devices=("CPU",),
    deprecated=(20, "Use TensorArrayScatterV3 with RangeOp"),
)  # fmt: skip
def tensor_array_unpack(
    ctx: OpKernelContext, handle: RefCell, value: Array, flow_in: Array
) -> Array:
    """Write the rows of a tensor to places 0, 1, ..."""
    indices = np.arange(len(value) if np.ndim(value) else 0, dtype=np.int32)
    return _kernel(tensor_array_scatter_v3)(ctx, handle, indices, value, flow_in)


tensor_array_close = register_op(
    "TensorArrayClose",
    "handle: Ref(string) ->",
    shape=no_outputs,
    devices=("CPU",),
    deprecated=(16, "Use TensorArrayCloseV3"),
)(_kernel(tensor_array_close_v3))
tensor_array_close_v2 = register_op(
    "TensorArrayCloseV2",
    "handle: string ->",
    shape=no_outputs,
    devices=("CPU",),
    deprecated=(26, "Use TensorArrayCloseV3"),
    traits="keeps_state",
)(_kernel(tensor_array_close_v3))
tensor_array_concat = register_op(
    "TensorArrayConcat",
    "handle: Ref(string), flow_in: float -> value: dtype, lengths: int64",
    "dtype: type",
    "element_shape_except0: shape = { unknown_rank: true }",
    shape=_concat_shape,
    devices=("CPU",),
    deprecated=(16, "Use TensorArrayConcatV3"),
)(_kernel(tensor_array_concat_v3))
tensor_array_concat_v2 = register_op(
    "TensorArrayConcatV2",
    "handle: string, flow_in: float -> value: dtype, lengths: int64",
    "dtype: type",
    "element_shape_except0: shape = { unknown_rank: true }",
    shape=_concat_shape,
    devices=("CPU",),
    traits="keeps_state",
)(_kernel(tensor_array_concat_v3))
tensor_array_gather = register_op(
    "TensorArrayGather",
    "handle: Ref(string), indices: int32, flow_in: float -> value: dtype",
    "dtype: type",
    "element_shape: shape = { unknown_rank: true }",
    shape=_gather_shape,
    devices=("CPU",),
    deprecated=(16, "Use TensorArrayGatherV3"),
)(_kernel(tensor_array_gather_v3))
tensor_array_gather_v2 = register_op(
    "TensorArrayGatherV2",
    "handle: string, indices: int32, flow_in: float -> value: dtype",
    "dtype: type",
    "element_shape: shape = { unknown_rank: true }",
    shape=_gather_shape,
    devices=("CPU",),
    deprecated=(26, "Use TensorArrayGatherV3"),
    traits="keeps_state",
)(_kernel(tensor_array_gather_v3))
tensor_array_read = register_op(
    "TensorArrayRead",
    "handle: Ref(string), index: int32, flow_in: float -> value: dtype",
    "dtype: type",
    shape=_read_shape,
    devices=("CPU",),
    deprecated=(16, "Use TensorArrayReadV3"),
)(_kernel(tensor_array_read_v3))
tensor_array_read_v2 = register_op(
    "TensorArrayReadV2",
    "handle: string, index: int32, flow_in: float -> value: dtype",
    "dtype: type",
    shape=_read_shape,
    devices=("CPU",),
    deprecated=(26, "Use TensorArrayReadV3"),
    traits="keeps_state",
)(_kernel(tensor_array_read_v3))
tensor_array_scatter = register_op(
    "TensorArrayScatter",
    "handle: Ref(string), indices: int32, value: T, flow_in: float -> flow_out: float",
    "T: type",
    shape=_flow_shape,
    devices=("CPU",),
    deprecated=(19, "Use TensorArrayScatterV3"),
)(_kernel(tensor_array_scatter_v3))
tensor_array_scatter_v2 = register_op(
    "TensorArrayScatterV2",
    "handle: string, indices: int32, value: T, flow_in: float -> flow_out: float",
    "T: type",
    shape=_flow_shape,
    devices=("CPU",),
    deprecated=(26, "Use TensorArrayScatterV3"),
    traits="keeps_state",
)(_kernel(tensor_array_scatter_v3))
tensor_array_size = register_op(
    "TensorArraySize",
    "handle: Ref(string), flow_in: float -> size: int32",
    shape=_flow_shape,
    devices=("CPU",),
    deprecated=(16, "Use TensorArraySizeV3"),
)(_kernel(tensor_array_size_v3))
tensor_array_size_v2 = register_op(
    "TensorArraySizeV2",
    "handle: string, flow_in: float -> size: int32",
    shape=_flow_shape,
    devices=("CPU",),
    deprecated=(26, "Use TensorArraySizeV3"),
    traits="keeps_state",
)(_kernel(tensor_array_size_v3))
tensor_array_split = register_op(
    "TensorArraySplit",
    "handle: Ref(string), value: T, lengths: int64, flow_in: float -> flow_out: float",
    "T: type",
    shape=_flow_shape,
    devices=("CPU",),
    deprecated=(16, "Use TensorArraySplitV3"),
)(_kernel(tensor_array_split_v3))
tensor_array_split_v2 = register_op(
    "TensorArraySplitV2",
    "handle: string, value: T, lengths: int64, flow_in: float -> flow_out: float",
    "T: type",
    shape=_flow_shape,
    devices=("CPU",),
    deprecated=(26, "Use TensorArraySplitV3"),
    traits="keeps_state",
)(_kernel(tensor_array_split_v3))
tensor_array_write = register_op(
    "TensorArrayWrite",
    "handle: Ref(string), index: int32, value: T, flow_in: float -> flow_out: float",
    "T: type",
    shape=_write_shape,
    devices=("CPU",),
    deprecated=(16, "Use TensorArrayWriteV3"),
)(_kernel(tensor_array_write_v3))
tensor_array_write_v2 = register_op(
    "TensorArrayWriteV2",
    "handle: string, index: int32, value: T, flow_in: float -> flow_out: float",
    "T: type",
    shape=_write_shape,
    devices=("CPU",),
    deprecated=(26, "Use TensorArrayWriteV3"),
    traits="keeps_state",
)(_kernel(tensor_array_write_v3))


# ---------------------------------------------------------------------------------------- gradients


def _link_gradients(
    make: OpDefinition,
    read: OpDefinition,
    write: OpDefinition,
    gather: OpDefinition,
    scatter: OpDefinition,
    concat: OpDefinition,
    split: OpDefinition,
) -> None:
    """Register the gradients of the ops: reading is the gradient of writing, and vice versa.

    Gradients go to an array beside the forward array, which ``make`` creates.
    """

    def array(op: Operation, flow: TensorLike, name: str) -> tuple[TensorResult, TensorResult]:
        handle = make(op.inputs[0], flow, source=gradient_source(name))
        with control_dependencies([handle]):
            return handle, identity(flow, name="gradient_flow")

    def link_reader(reader: OpDefinition, writer: OpDefinition) -> None:
        @reader.gradient
        def _(op: Operation, grad: Tensor) -> list[TensorResult]:
            handle, flow = array(op, op.inputs[2], grad.name)
            return [None, None, writer(handle, op.inputs[1], grad, flow)]

    def link_writer(writer: OpDefinition, reader: OpDefinition) -> None:
        @writer.gradient
        def _(op: Operation, flow: Tensor) -> list[TensorResult]:
            handle, after = array(op, after_last_write(op, flow), flow.name)
            dtype = op.get_attr("T")
            return [None, None, reader(handle, op.inputs[1], after, dtype=dtype), flow]

    link_reader(read, write)
    link_reader(gather, scatter)
    link_writer(write, read)
    link_writer(scatter, gather)

    @concat.gradient
    def _(op: Operation, grad: Tensor, unused_lengths_grad: Tensor) -> list[TensorResult]:
        handle, flow = array(op, op.inputs[1], grad.name)
        return [None, split(handle, grad, op.outputs[1], flow)]

    @split.gradient
    def _(op: Operation, flow: Tensor) -> list[TensorResult]:
        handle, after = array(op, after_last_write(op, flow), flow.name)
        values, _ = concat(handle, after, dtype=op.get_attr("T"))
        return [None, values, None, flow]


_link_gradients(
    tensor_array_grad_v1, tensor_array_read, tensor_array_write, tensor_array_gather,
    tensor_array_scatter, tensor_array_concat, tensor_array_split,
)  # fmt: skip
_link_gradients(
    tensor_array_grad_v2, tensor_array_read_v2, tensor_array_write_v2, tensor_array_gather_v2,
    tensor_array_scatter_v2, tensor_array_concat_v2, tensor_array_split_v2,
)  # fmt: skip

_op: OpDefinition
for _op in (
    tensor_array_v1, tensor_array_v2, tensor_array_grad_v1, tensor_array_grad_v2,
    tensor_array_size, tensor_array_size_v2, tensor_array_close, tensor_array_close_v2,
):  # fmt: skip
    _op.not_differentiable()

# Ops that share an array run in the thread that drives the step; here this is declared, because the
# handles are strings and do not show that they are handles.
for _op in (
    tensor_array_v2, tensor_array_grad_v2, tensor_array_close_v2, tensor_array_concat_v2,
    tensor_array_gather_v2, tensor_array_read_v2, tensor_array_scatter_v2, tensor_array_size_v2,
    tensor_array_split_v2, tensor_array_write_v2,
):  # fmt: skip
    _op.is_expensive = False
