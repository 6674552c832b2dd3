"""TensorArray ops: tensors written and read one by one, mostly in loops.

A TensorArray lives in the step's container.  Its ``flow`` is a scalar that every write passes on,
so that reads wait for earlier writes.
"""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.process.records import field, record
from tfnb.core.resource_mgr import RefCell, ResourceHandle
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
    no_outputs,
    shape_of_rank,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.named_resources import strings_of
from tfnb.ops.containers.tensor_array_kernels import TensorArrayResource

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Handle
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult

_TYPE = "TensorArray"
_CONTAINER = "_tensor_arrays"
_FLOW = np.float32(0)
_numbers = itertools.count()


@record(slots=True, frozen=True)
class TensorArrayHandle(ResourceHandle):
    """A handle that refers to its array, so that the step that created it needs no lookup."""

    step: TensorLike = field(default=None, compare=False, repr=False)
    array: Any = field(default=None, compare=False, repr=False)  # a weak reference


def _handle(ctx: OpKernelContext, name: str, array: TensorArrayResource) -> TensorArrayHandle:
    home = ctx.step_container.device_name
    return TensorArrayHandle(
        home, _CONTAINER, name, _TYPE, array.dtype, None, ctx.step, weakref.ref(array)
    )


def find_tensor_array(ctx: OpKernelContext, handle: Handle) -> TensorArrayResource:
    """Return the array of a handle; V1 and V2 handles hold the container and the name.

    Raises:
      NotFoundError: the step has no such array.
    """
    if handle.__class__ is TensorArrayResource:
        return handle  # held by an emitted function
    if handle.__class__ is TensorArrayHandle and handle.step is ctx.step:
        known: TensorArrayResource | None = handle.array()
        if known is not None:
            return known
    elif not isinstance(handle, ResourceHandle):
        container, name = strings_of(_pair(handle))
        handle = ResourceHandle("", container, name, _TYPE)
    found: TensorArrayResource = ctx.step_container.lookup(handle, TensorArrayResource)
    return found


def _pair(handle: Handle) -> list[bytes]:
    value = handle.read() if isinstance(handle, RefCell) else np.asarray(handle, dtype=object)
    found: list[bytes] = value.reshape(-1).tolist()
    if len(found) != 2:
        raise errors.invalid_argument("Tensor array handle must be 2-element vector")
    return found


def _register(ctx: OpKernelContext, name: str, array: TensorArrayResource) -> Array:
    if ctx.holds_resource:
        return array
    ctx.step_container.create(_CONTAINER, _TYPE, name, array)
    return _handle(ctx, name, array)


# --------------------------------------------------------------------------------- shape functions


def _handle_and_flow(c: InferenceContext) -> list[TensorShape]:
    element: TensorShape = c.attrs["element_shape"]
    if c.attr("identical_element_shapes") or element.is_fully_defined():
        c.set_output_handle_data(0, [(c.attrs["dtype"], element)])
    return [TensorShape([2]), SCALAR_SHAPE]


def _gradient_shape(c: InferenceContext) -> list[TensorShape]:
    data = c.input_handle_data(0)
    if data:
        c.set_output_handle_data(0, data)
    return [TensorShape([2]), SCALAR_SHAPE]


def _prepended_gradient_shape(c: InferenceContext) -> list[TensorShape]:
    data, more = c.input_handle_data(0), c.inputs[2].num_elements()
    if data and more is not None:
        before = shape_of_rank(more)
        c.set_output_handle_data(0, [(dtype, before.concatenate(shape)) for dtype, shape in data])
    return [TensorShape([2]), SCALAR_SHAPE]


def _flow_shape(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


def _write_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 0)
    data = c.input_handle_data(0)
    if data:
        merge_shapes(data[0][1], c.inputs[2])
    return SCALAR_SHAPE


def _read_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    return data[0][1] if data else UNKNOWN_SHAPE


def _gather_shape(c: InferenceContext) -> TensorShape:
    data, indices = c.input_handle_data(0), c.with_rank(1, 1)
    return indices.concatenate(data[0][1]) if data else UNKNOWN_SHAPE


def _concat_shape(c: InferenceContext) -> list[TensorShape]:
    rest: TensorShape = c.attrs["element_shape_except0"]
    return [TensorShape([None]).concatenate(rest), TensorShape([None])]


# -- kernels ---------------------------------------------------------------------------------------


@register_op(
    "TensorArrayV3",
    "size: int32 -> handle: resource, flow: float",
    "dtype: type",
    "element_shape: shape = { unknown_rank: true }",
    "dynamic_size: bool = false",
    "clear_after_read: bool = true",
    "identical_element_shapes: bool = false",
    "tensor_array_name: string = ''",
    stateful=True,
    shape=_handle_and_flow,
    host_memory=("size", "handle"),
)
def tensor_array_v3(
    ctx: OpKernelContext,
    size: Array,
    *,
    dtype: DType,
    element_shape: TensorShape,
    dynamic_size: bool,
    clear_after_read: bool,
    identical_element_shapes: bool,
    tensor_array_name: str,
) -> tuple[Array, Array]:
    """Return a new array with ``size`` empty elements."""
    if getattr(size, "ndim", 0):
        raise errors.invalid_argument(
            f"TensorArray size must be scalar, but had shape: {shape_text(size.shape)}"
        )
    count = int(size)
    if count < 0:
        raise errors.invalid_argument(f"Size should be >= 0, but was {count}.")
    name = f"{tensor_array_name or ctx.node_name}_{next(_numbers)}"
    array = TensorArrayResource(
        name,
        dtype,
        count,
        element_shape,
        dynamic_size=dynamic_size,
        clear_after_read=clear_after_read,
        identical_element_shapes=identical_element_shapes,
    )
    return _register(ctx, name, array), _FLOW


def _make_gradient(
    ctx: OpKernelContext, handle: Handle, source: str, prepended: tuple[int, ...]
) -> Array:
    forward = find_tensor_array(ctx, handle)
    if handle is forward:
        return forward.gradient_for(source, prepended)
    name = f"{forward.name}@{source}"
    array = ctx.step_container.lookup_or_create(
        _CONTAINER, _TYPE, name, lambda: forward.gradient_for(source, prepended)
    )
    return _handle(ctx, name, array)


@register_op(
    "TensorArrayGradV3",
    "handle: resource, flow_in: float -> grad_handle: resource, flow_out: float",
    "source: string",
    stateful=True,
    shape=_gradient_shape,
    host_memory=("handle", "grad_handle"),
)
def tensor_array_grad_v3(
    ctx: OpKernelContext, handle: Handle, flow_in: Array, *, source: str
) -> tuple[Array, Array]:
    """Return the gradient array of ``handle``; the same one for the same ``source``."""
    return _make_gradient(ctx, handle, source, ()), flow_in


@register_op(
    "TensorArrayGradWithShape",
    "handle: resource, flow_in: float, shape_to_prepend: int32 -> "
    "grad_handle: resource, flow_out: float",
    "source: string",
    stateful=True,
    shape=_prepended_gradient_shape,
    host_memory=("handle", "shape_to_prepend", "grad_handle"),
)
def tensor_array_grad_with_shape(
    ctx: OpKernelContext, handle: Handle, flow_in: Array, shape_to_prepend: Array, *, source: str
) -> tuple[Array, Array]:
    """Return the array of TensorArrayGradV3, with dimensions prepended to the elements' shapes."""
    prepended = tuple(int(size) for size in shape_to_prepend)
    return _make_gradient(ctx, handle, source, prepended), flow_in


@register_op(
    "TensorArrayWriteV3",
    "handle: resource, index: int32, value: T, flow_in: float -> flow_out: float",
    "T: type",
    stateful=True,
    shape=_write_shape,
    host_memory=("handle", "index"),
)
def tensor_array_write_v3(
    ctx: OpKernelContext, handle: Array, index: Array, value: Array, flow_in: Array
) -> Array:
    """Write an element."""
    find_tensor_array(ctx, handle).write(index, value)
    return flow_in


@register_op(
    "TensorArrayReadV3",
    "handle: resource, index: int32, flow_in: float -> value: dtype",
    "dtype: type",
    stateful=True,
    shape=_read_shape,
    host_memory=("handle", "index"),
)
def tensor_array_read_v3(
    ctx: OpKernelContext, handle: Array, index: Array, flow_in: Array, *, dtype: DType
) -> Array:
    """Return an element."""
    array = find_tensor_array(ctx, handle)
    if array.dtype is not dtype:
        _check_dtype(array, dtype)
    return array.read(ctx.device.xp, index)


def _check_dtype(array: TensorArrayResource, dtype: Attr) -> None:
    if array.dtype is not dtype:
        raise errors.invalid_argument(
            f"TensorArray dtype is {type_word(array.dtype)} but Op requested dtype "
            f"{type_word(dtype)}."
        )


@register_op(
    "TensorArrayGatherV3",
    "handle: resource, indices: int32, flow_in: float -> value: dtype",
    "dtype: type",
    "element_shape: shape = { unknown_rank: true }",
    stateful=True,
    shape=_gather_shape,
    host_memory=("handle", "indices"),
)
def tensor_array_gather_v3(
    ctx: OpKernelContext,
    handle: Array,
    indices: Array,
    flow_in: Array,
    *,
    dtype: DType,
    element_shape: TensorShape,
) -> Array:
    """Stack the elements at ``indices`` along a new first dimension."""
    array = find_tensor_array(ctx, handle)
    _check_dtype(array, dtype)
    if getattr(indices, "ndim", 0) != 1:
        raise errors.invalid_argument(
            f"Expected indices to be a vector, but received shape: {shape_text(indices.shape)}"
        )
    shape = array.element_shape = _merged(array, element_shape)
    if not len(indices):
        if not element_shape.is_fully_defined():
            raise errors.unimplemented(
                f"TensorArray has size zero, but element shape {element_shape} is not fully "
                "defined. Currently only static shapes are supported when packing zero-size "
                "TensorArrays."
            )
        empty = array.dtype.numpy_dtype
        return ctx.xp.zeros((0, *shape.as_list()), empty)
    elements = array.read_all(ctx.xp, indices.tolist())
    first = np.shape(elements[0])
    shapes = () if array.is_uniform else map(np.shape, elements)
    for position, shape_of_one in enumerate(shapes):
        if shape_of_one != first:
            raise errors.invalid_argument(
                f"TensorArray has inconsistent shapes.  Index 0 has shape: {shape_text(first)} but "
                f"index {position} has shape: {shape_text(shape_of_one)}"
            )
    # This is faster than `stack`, which makes a view of each element.
    if first and elements[0].size:
        return ctx.xp.concatenate(elements).reshape(-1, *first)
    if not first and ctx.xp is np and not dtype.numpy_dtype.hasobject:
        return np.array(elements, dtype.numpy_dtype)
    return ctx.xp.stack(elements)


def _merged(array: TensorArrayResource, shape: TensorShape) -> TensorShape:
    if not array.element_shape.is_compatible_with(shape):
        raise errors.invalid_argument(
            f"TensorArray {array.name}: the requested element shape {shape} is not compatible "
            f"with the array's {array.element_shape}."
        )
    return merge_shapes(array.element_shape, shape)


@register_op(
    "TensorArrayScatterV3",
    "handle: resource, indices: int32, value: T, flow_in: float -> flow_out: float",
    "T: type",
    stateful=True,
    shape=_flow_shape,
    host_memory=("handle", "indices"),
)
def tensor_array_scatter_v3(
    ctx: OpKernelContext, handle: Array, indices: Array, value: Array, flow_in: Array
) -> Array:
    """Write row i of ``value`` to index ``indices[i]``."""
    array = find_tensor_array(ctx, handle)
    if getattr(indices, "ndim", 0) != 1:
        raise errors.invalid_argument(
            f"Expected indices to be a vector, but received shape: {shape_text(indices.shape)}"
        )
    if not getattr(value, "ndim", 0) or len(indices) != value.shape[0]:
        found = value.shape[0] if getattr(value, "ndim", 0) else "a scalar"
        raise errors.invalid_argument(
            f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {found}"
        )
    largest = int(indices.max()) if len(indices) else -1
    if largest >= array.size() and not array.dynamic_size:
        raise errors.invalid_argument(
            f"Max scatter index must be < array size ({largest} vs. {array.size()})"
        )
    rows = value
    if value.dtype == object and value.ndim == 1:  # each string becomes a 0-d array
        rows = [np.array(row, dtype=object) if isinstance(row, bytes) else row for row in value]
    array.write_rows(indices.tolist(), rows)
    return flow_in


@register_op(
    "TensorArrayConcatV3",
    "handle: resource, flow_in: float -> value: dtype, lengths: int64",
    "dtype: type",
    "element_shape_except0: shape = { unknown_rank: true }",
    stateful=True,
    shape=_concat_shape,
    host_memory=("handle", "lengths"),
)
def tensor_array_concat_v3(
    ctx: OpKernelContext,
    handle: Array,
    flow_in: Array,
    *,
    dtype: DType,
    element_shape_except0: TensorShape,
) -> tuple[Array, Array]:
    """Return all elements concatenated along their first dimension, and their lengths."""
    array = find_tensor_array(ctx, handle)
    _check_dtype(array, dtype)
    # The gradient of a split has as many elements as the split, even if more were written later.
    split_size = array.split_size if array.adds_up else None
    size = array.size() if split_size is None else split_size
    if not size:
        if not element_shape_except0.is_fully_defined():
            raise errors.unimplemented(
                "TensorArray has size zero, but element_shape_except0 "
                f"{element_shape_except0} is not fully defined. Currently only static shapes are "
                "supported when concatenating zero-size TensorArrays."
            )
        shape = (0, *element_shape_except0.as_list())
        return ctx.xp.zeros(shape, dtype.numpy_dtype), np.zeros(0, np.int64)
    elements = array.read_all(ctx.xp, range(size))
    for position, element in enumerate(elements):
        if not np.ndim(element):
            raise errors.invalid_argument(
                f"Concat saw a scalar shape at index {position} but requires at least vectors.  "
                "Did you mean to call pack?"
            )
        if element.shape[1:] != elements[0].shape[1:]:
            raise errors.invalid_argument(
                "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
                f"{shape_text(elements[0].shape[1:])} but index {position} has (excepting "
                f"dimension 0) shape: {shape_text(element.shape[1:])}"
            )
    lengths = np.array([element.shape[0] for element in elements], np.int64)
    return ctx.xp.concatenate(elements), lengths


@register_op(
    "TensorArraySplitV3",
    "handle: resource, value: T, lengths: int64, flow_in: float -> flow_out: float",
    "T: type",
    stateful=True,
    shape=_flow_shape,
    host_memory=("handle", "lengths"),
)
def tensor_array_split_v3(
    ctx: OpKernelContext, handle: Array, value: Array, lengths: Array, flow_in: Array
) -> Array:
    """Split ``value`` into parts of these lengths, written to indices 0, 1, ...."""
    array = find_tensor_array(ctx, handle)
    if not getattr(value, "ndim", 0):
        raise errors.invalid_argument(
            "Expected value to be at least a vector, but received shape: []"
        )
    if int(lengths.sum()) != value.shape[0] or (lengths < 0).any():
        raise errors.invalid_argument(
            "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{int(lengths.sum())} and value's shape is: {shape_text(value.shape)}"
        )
    if len(lengths) != array.size() and not array.dynamic_size:
        raise errors.invalid_argument(
            "TensorArray's size is not equal to the size of lengths "
            f"({array.size()} vs. {len(lengths)}), and the TensorArray is not marked as "
            "dynamically resizeable"
        )
    if not array.adds_up:
        array.split_size = len(lengths)
    start = 0
    for index, length in enumerate(lengths.tolist()):
        array.write(index, value[start : start + length])
        start += length
    return flow_in


@register_op(
    "TensorArraySizeV3",
    "handle: resource, flow_in: float -> size: int32",
    stateful=True,
    shape=_flow_shape,
    host_memory=("handle", "size"),
)
def tensor_array_size_v3(ctx: OpKernelContext, handle: Array, flow_in: Array) -> Array:
    """Return the number of elements."""
    return np.int32(find_tensor_array(ctx, handle).size())


@register_op(
    "TensorArrayCloseV3",
    "handle: resource ->",
    stateful=True,
    shape=no_outputs,
    host_memory=("handle",),
)
def tensor_array_close_v3(ctx: OpKernelContext, handle: Array) -> None:
    """Drop the array's elements before the step ends."""
    find_tensor_array(ctx, handle).close()


# Ops that can use a TensorArray held in a register of an emitted function.
for _op in (
    tensor_array_v3, tensor_array_grad_with_shape, tensor_array_gather_v3,
    tensor_array_scatter_v3, tensor_array_concat_v3, tensor_array_split_v3, tensor_array_size_v3,
    tensor_array_close_v3,
):  # fmt: skip
    _op.held(_TYPE)
tensor_array_grad_v3.held(_TYPE, "{handle}.gradient_for({source})", gives="flow_in")
tensor_array_write_v3.held(_TYPE, "{handle}.write({index}, {value})", gives="flow_in")
tensor_array_read_v3.held(_TYPE, "{handle}.read({xp}, {index})", xp=np)

for _op in (tensor_array_size_v3, tensor_array_close_v3, tensor_array_grad_v3, tensor_array_v3):
    _op.not_differentiable()
tensor_array_grad_with_shape.not_differentiable()


# -- gradients -------------------------------------------------------------------------------------


def gradient_source(name: str) -> str:
    """Return the name scope of the tf.gradients call that a gradient's op belongs to.

    The innermost name scope of each call keeps the TensorArrays of two calls apart.
    """
    parts = name.split("/")
    scopes = [position for position, part in enumerate(parts) if part.startswith("gradients")]
    if not scopes:
        raise ValueError(
            "Expected Tensor/TensorArray name to start with 'gradients' (excluding scope), got: "
            f"{name}"
        )
    return "/".join(parts[: scopes[-1] + 1])


def _gradient_array(op: Operation, flow_in: Tensor | None, dtype: DTypeLike, grad_name: str) -> Any:
    array = provided.tensor_array(
        dtype=dtype,
        handle=op.inputs[0],
        flow=op.inputs[-1] if flow_in is None else flow_in,
        colocate_with_first_write_call=False,
    )
    return array.grad(source=gradient_source(grad_name), flow=array.flow)


@tensor_array_read_v3.gradient
def _(op: Operation, grad: Tensor) -> list[TensorResult]:
    array = _gradient_array(op, None, op.get_attr("dtype"), grad.name)
    return [None, None, array.write(op.inputs[1], grad).flow]


def after_last_write(op: Operation, flow: TensorLike) -> Any:
    """Return the gradient's flow with a control dependency on the write by ``op``.

    Making the gradient array requires the final size of the forward array.
    """
    from tfnb.ops.array.identity_ops import identity

    flow_out = identity(op.outputs[0], name="flow_out")
    with op.graph.control_dependencies([flow_out]):
        return identity(flow, name="write_barrier")


@tensor_array_write_v3.gradient
def _(op: Operation, flow: Tensor) -> list[TensorResult]:
    flow = after_last_write(op, flow)
    array = _gradient_array(op, flow, op.get_attr("T"), flow.name)
    return [None, None, array.read(op.inputs[1]), flow]


@tensor_array_gather_v3.gradient
def _(op: Operation, grad: Tensor) -> list[TensorResult]:
    array = _gradient_array(op, None, op.get_attr("dtype"), grad.name)
    return [None, None, array.scatter(op.inputs[1], grad).flow]


@tensor_array_scatter_v3.gradient
def _(op: Operation, flow: Tensor) -> list[TensorResult]:
    flow = after_last_write(op, flow)
    array = _gradient_array(op, flow, op.get_attr("T"), flow.name)
    return [None, None, array.gather(op.inputs[1]), flow]


@tensor_array_concat_v3.gradient
def _(op: Operation, grad: Tensor, unused_lengths_grad: Tensor) -> list[TensorResult]:
    array = _gradient_array(op, None, op.get_attr("dtype"), grad.name)
    return [None, array.split(grad, lengths=op.outputs[1]).flow]


@tensor_array_split_v3.gradient
def _(op: Operation, flow: Tensor) -> list[TensorResult]:
    flow = after_last_write(op, flow)
    array = _gradient_array(op, flow, op.get_attr("T"), flow.name)
    return [None, array.concat(), None, flow]
