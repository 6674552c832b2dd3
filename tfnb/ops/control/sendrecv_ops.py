"""Send and Recv: the transfer of tensors between partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import no_outputs

if TYPE_CHECKING:
    from tfnb.core import rendezvous
    from tfnb.core.kernel_types import Array
    from tfnb.core.op_kernel import OpKernelContext, type_of_done
else:
    rendezvous = later("tfnb.core.rendezvous", in_step=True)

_SEND_ATTRS = (
    "T: type",
    "tensor_name: string",
    "send_device: string",
    "send_device_incarnation: int",
    "recv_device: string",
    "client_terminated: bool = false",
)
_RECV_ATTRS = ("tensor_type: type", *_SEND_ATTRS[1:])


def _key(ctx: OpKernelContext) -> str:
    prefix = ctx.kernel_state.get("prefix")
    if prefix is None:
        key = rendezvous.key_of_transfer(ctx.attrs)
        prefix = ctx.kernel_state["prefix"] = key.removesuffix("0:0")
    return f"{prefix}{ctx.frame_id}:{ctx.iteration}"


def _send_tensor(ctx: OpKernelContext, tensor: Array) -> None:
    lent = tensor if ctx.input_is_dead else ctx.device.lend(tensor)
    ctx.rendezvous.send(_key(ctx), lent, ctx.input_is_dead)


def _recv_tensor(ctx: OpKernelContext, done: type_of_done, *, to_device: bool) -> None:
    device = ctx.device
    receive = device.receive if to_device else device.receive_on_host

    def arrived(error: BaseException | None, value: Array, is_dead: bool) -> None:
        if error is not None:
            done(error)
        elif is_dead:
            done((None,))
        else:
            receive(value, done)

    ctx.rendezvous.recv_async(_key(ctx), arrived, ctx.cancellation_manager)


@register_op("_Send", "tensor: T ->", *_SEND_ATTRS, stateful=True, shape=no_outputs)
def _send(ctx: OpKernelContext, tensor: Array) -> None:
    """Send a tensor, or the information that it is dead, to the Recv of the same key."""
    _send_tensor(ctx, tensor)


@register_op(
    "_Recv",
    "-> tensor: tensor_type",
    *_RECV_ATTRS,
    stateful=True,
    traits="unchecked_shape not_constant",
)
def _recv(ctx: OpKernelContext, done: type_of_done) -> None:
    """Receive the tensor that the Send of the same key stores; wait without holding a thread."""
    _recv_tensor(ctx, done, to_device=True)


@register_op(
    "_HostSend", "tensor: T ->", *_SEND_ATTRS, stateful=True, shape=no_outputs,
    host_memory=("tensor",),
)  # fmt: skip
def _host_send(ctx: OpKernelContext, tensor: Array) -> None:
    """Send a tensor that is in host memory."""
    _send_tensor(ctx, tensor)


@register_op(
    "_HostRecv",
    "-> tensor: tensor_type",
    *_RECV_ATTRS,
    stateful=True,
    host_memory=("tensor",),
    traits="unchecked_shape not_constant",
)
def _host_recv(ctx: OpKernelContext, done: type_of_done) -> None:
    """Receive a tensor that stays in host memory."""
    _recv_tensor(ctx, done, to_device=False)
