"""Arguments and results of a graph that runs: _Arg and _Retval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, no_outputs
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array
    from tfnb.core.op_kernel import OpKernelContext


def _arg_shape(c: InferenceContext) -> TensorShape:
    shapes = c.attrs.get("_output_shapes")
    return shapes[0] if shapes else TensorShape(None)


@register_op(
    "_Arg",
    "-> output: T",
    "T: type",
    "index: int >= 0",
    stateful=True,
    shape=_arg_shape,
    traits="from_before unchecked_shape not_constant",
)
def _arg(ctx: OpKernelContext, *, index: int) -> Array:
    """Return the argument of a function, or the feed of a step, at a position."""
    frame = ctx.step.call_frame
    if frame is None:
        raise errors.internal("_Arg runs only inside a function or a step with feeds.")
    return frame.args[index]


@register_op(
    "_Retval", "input: T ->", "T: type", "index: int >= 0", stateful=True, shape=no_outputs
)
def _retval(ctx: OpKernelContext, input: Array, *, index: int) -> None:
    """Store a value as the result of a function, or the fetch of a step, at a position."""
    frame = ctx.step.call_frame
    if frame is None:
        raise errors.internal("_Retval runs only inside a function or a step with fetches.")
    frame.retvals[index] = input


@register_op(
    "_DeviceArg",
    "-> output: T",
    "T: type",
    "index: int >= 0",
    stateful=True,
    shape=_arg_shape,
    traits="from_before unchecked_shape",
)
def _device_arg(ctx: OpKernelContext, *, index: int) -> Array:
    """Return the argument at a position, in the device's own memory."""
    frame = ctx.step.call_frame
    if frame is None:
        raise errors.internal("_DeviceArg runs only inside a function or a step with feeds.")
    return frame.args[index]


@register_op(
    "_DeviceRetval", "input: T ->", "T: type", "index: int >= 0", stateful=True, shape=no_outputs
)
def _device_retval(ctx: OpKernelContext, input: Array, *, index: int) -> None:
    """Store a value as the result at a position, in the device's own memory."""
    frame = ctx.step.call_frame
    if frame is None:
        raise errors.internal("_DeviceRetval runs only inside a function or a step with fetches.")
    frame.retvals[index] = input
