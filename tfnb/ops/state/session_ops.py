"""Values that stay in the session between runs: their handles, reading and deleting.

The handle of a value is its name in the session's store, ``node;number;device``. The output of
``GetSessionHandle`` also contains the value: the client puts it into the store when the handle is
fetched, so that values that are not fetched, or whose step failed, are not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import ResourceHandle
from tfnb.core.shape_inference import no_outputs, scalar_shape, unknown_shapes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.ops.array.constant_ops import placeholder

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.kernel_types import Array, Handle
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {"tf": ["get_session_handle", "get_session_tensor", "delete_session_tensor"]}


class KeptName(bytes):
    """The name of a kept value, and the value."""

    tensor: TensorLike


class KeptHandle(ResourceHandle):
    """A :class:`KeptName` as a resource handle."""

    __slots__ = ("tensor",)

    tensor: TensorLike


@register_op(
    "GetSessionHandle",
    "value: T -> handle: string",
    "T: type",
    shape=scalar_shape,
    stateful=True,
    host_memory=("handle",),
)
def get_session_handle_op(ctx: OpKernelContext, value: Array) -> Array:
    """Return a handle to the value."""
    name = KeptName(_new_name(ctx).encode())
    name.tensor = value
    handle = np.empty((), dtype=object)
    handle[()] = name
    return handle


@register_op(
    "GetSessionHandleV2",
    "value: T -> handle: resource",
    "T: type",
    shape=scalar_shape,
    stateful=True,
    host_memory=("handle",),
)
def get_session_handle_v2_op(ctx: OpKernelContext, value: Array) -> Handle:
    """Return a handle to the value, as a resource."""
    handle = KeptHandle(ctx.device.name, "", _new_name(ctx), "TensorHandle")
    object.__setattr__(handle, "tensor", value)
    return handle


def _new_name(ctx: OpKernelContext) -> str:
    return f"{ctx.node_name};{ctx.session_state.new_id()};{ctx.device.name}"


@register_op(
    "GetSessionTensor",
    "handle: string -> value: dtype",
    "dtype: type",
    shape=unknown_shapes,
    stateful=True,
    host_memory=("handle",),
    traits="lends",
)
def get_session_tensor_op(ctx: OpKernelContext, handle: Array) -> Array:
    """Return the value of a handle."""
    return ctx.session_state.get(_name(handle))


@register_op(
    "DeleteSessionTensor",
    "handle: string ->",
    shape=no_outputs,
    stateful=True,
    host_memory=("handle",),
)
def delete_session_tensor_op(ctx: OpKernelContext, handle: Array) -> None:
    """Delete the value of a handle."""
    ctx.session_state.delete(_name(handle))


def _name(handle: Handle) -> str:
    name = handle[()] if isinstance(handle, np.ndarray) else handle
    return bytes(name).decode()


for _definition in (
    get_session_handle_op,
    get_session_handle_v2_op,
    get_session_tensor_op,
    delete_session_tensor_op,
):
    _definition.not_differentiable()


def get_session_handle(data: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor; fetching it keeps ``data`` in the session and returns a ``TensorHandle``.

    Raises:
      TypeError: ``data`` is not a tensor.
    """
    data = convert_to_tensor(data)
    with get_default_graph().colocate_with(data.op):
        handle: Tensor = get_session_handle_op(data, name=name)
    return handle


def get_session_tensor(
    handle: TensorLike, dtype: DTypeLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return a placeholder for a handle, and the tensor that the handle refers to.

    Args:
      handle: a handle like the one to be fed; the tensor is read on its device.
      dtype: the dtype of the tensor.
      name: the name of the tensor.
    """
    with get_default_graph().device(_device_of(handle)):
        holder = placeholder(dtypes.string)
        tensor: Tensor = get_session_tensor_op(holder, dtype=dtypes.as_dtype(dtype), name=name)
    return holder, tensor


def delete_session_tensor(handle: TensorLike, name: str | None = None) -> tuple[Tensor, Operation]:
    """Return a placeholder for a handle, and the operation that deletes its value."""
    with get_default_graph().device(_device_of(handle)):
        holder = placeholder(dtypes.string)
        deleter: Operation = delete_session_tensor_op(holder, name=name)
    return holder, deleter


def handle_reader(handle: str, dtype: DTypeLike) -> tuple[Tensor, Tensor]:
    """Return :func:`get_session_tensor`, built once per device and dtype of the default graph."""
    readers = get_default_graph()._handle_readers
    key = _device_of(handle), dtypes.as_dtype(dtype)
    if key not in readers:
        readers[key] = get_session_tensor(handle, dtype)
    pair: tuple[Tensor, Tensor] = readers[key]
    return pair


def handle_deleter(handle: str) -> tuple[Tensor, Operation]:
    """Return :func:`delete_session_tensor`, built once per device of the default graph."""
    deleters = get_default_graph()._handle_deleters
    key = _device_of(handle)
    if key not in deleters:
        deleters[key] = delete_session_tensor(handle)
    pair: tuple[Tensor, Operation] = deleters[key]
    return pair


def _device_of(handle: TensorLike) -> str:
    text = handle.decode() if isinstance(handle, bytes) else str(handle)
    return text.rpartition(";")[2]
