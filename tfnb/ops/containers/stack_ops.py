"""Stacks that live for one step; gradients of loops keep the forward values in them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import ResourceHandle
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    no_outputs,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.named_resources import reference_to, strings_of

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr, Handle
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.resource_mgr import RefCell

_TYPE = "Stack"
_CONTAINER = "_stacks"
_numbers = itertools.count()


class StackResource:
    """One stack of one step.

    Attributes:
      dtype: the dtype of the values.
      push: puts a value on top; raises InvalidArgumentError where the stack is full or closed.
    """

    shape = ()  # a handle's shape: a register may hold the stack instead

    def __init__(self, dtype: Attr, max_size: int) -> None:
        self.dtype = dtype
        self._max_size = max_size
        self._values: list[Array] = []
        self._is_closed = False
        self.push = self._values.append if max_size < 0 else self._push_limited

    def _push_limited(self, value: Array) -> None:
        if len(self._values) >= self._max_size:
            raise errors.invalid_argument(f"Stack[] overflowed its max_size ({self._max_size})")
        self._values.append(value)

    def pop(self) -> Array:
        """Remove the value on top and return it.

        Raises:
          InvalidArgumentError: the stack is empty or closed.
        """
        try:
            return self._values.pop()
        except IndexError:
            self._check_open()
            raise errors.invalid_argument(
                f"Stack[] is empty when calling Pop(). It may hold {self.dtype.name} values."
            ) from None

    def _check_open(self) -> None:
        if self._is_closed:
            raise errors.invalid_argument("Stack[] has already been closed.")

    def close(self) -> None:
        """Drop the values."""
        self._is_closed = True
        self.push = lambda value: self._check_open()
        self._values.clear()


def _new(ctx: OpKernelContext, dtype: Attr, max_size: int, stack_name: str) -> Array:
    stack = StackResource(dtype, max_size)
    if ctx.holds_resource:
        return stack
    name = f"{stack_name or ctx.node_name}_{next(_numbers)}"
    ctx.step_container.create(_CONTAINER, _TYPE, name, stack)
    return ctx.step_container.make_handle(name, _TYPE, container=_CONTAINER, dtype=dtype)


def _find(ctx: OpKernelContext, handle: Handle) -> StackResource:
    if handle.__class__ is StackResource:
        return handle  # held by an emitted function
    found: StackResource = ctx.step_container.lookup(handle, StackResource)
    return found


def _push(ctx: OpKernelContext, handle: ResourceHandle, elem: Array, dtype: Attr) -> Array:
    stack = _find(ctx, handle)
    if stack.dtype is not dtype:
        raise errors.invalid_argument(
            f"Must have type {stack.dtype.name} but got {dtype.name} for a push."
        )
    stack.push(elem)
    return elem


def _handle_shape(c: InferenceContext) -> TensorShape:
    return TensorShape([2])


def _second_shape(c: InferenceContext) -> TensorShape:
    return c.inputs[1]


def _unknown(c: InferenceContext) -> TensorShape:
    return UNKNOWN_SHAPE


@register_op(
    "StackV2",
    "max_size: int32 -> handle: resource",
    "elem_type: type",
    "stack_name: string = ''",
    stateful=True,
    shape=_handle_shape,
    host_memory=("max_size", "handle"),
)
def stack_v2(ctx: OpKernelContext, max_size: Array, *, elem_type: DType, stack_name: str) -> Handle:
    """Return a new stack; a negative ``max_size`` means no limit."""
    if getattr(max_size, "ndim", 0):
        raise errors.invalid_argument(
            f"Stack size must be a scalar, but had shape: {shape_text(max_size.shape)}"
        )
    return _new(ctx, elem_type, int(max_size), stack_name)


@register_op(
    "StackPushV2",
    "handle: resource, elem: T -> output: T",
    "T: type",
    "swap_memory: bool = false",
    stateful=True,
    shape=_second_shape,
    host_memory=("handle",),
)
def stack_push_v2(ctx: OpKernelContext, handle: Handle, elem: Array, *, T: DType) -> Array:
    """Put ``elem`` on the stack and pass it on."""
    return _push(ctx, handle, elem, T)


@register_op(
    "StackPopV2",
    "handle: resource -> elem: elem_type",
    "elem_type: type",
    stateful=True,
    shape=_unknown,
    host_memory=("handle",),
)
def stack_pop_v2(ctx: OpKernelContext, handle: Handle) -> Array:
    """Remove the value on top and return it."""
    return _find(ctx, handle).pop()


@register_op(
    "StackCloseV2",
    "handle: resource ->",
    stateful=True,
    shape=no_outputs,
    host_memory=("handle",),
)
def stack_close_v2(ctx: OpKernelContext, handle: Handle) -> None:
    """Drop the stack's values before the step ends."""
    _find(ctx, handle).close()


# The first version refers to its stack by two strings, container and name.


def _handle_of(ref: Handle) -> ResourceHandle:
    container, name = strings_of(ref.read())
    return ResourceHandle("", container, name, _TYPE)


@register_op(
    "Stack",
    "-> handle: Ref(string)",
    "elem_type: type",
    "stack_name: string = ''",
    stateful=True,
    shape=_handle_shape,
)
def stack_op(ctx: OpKernelContext, *, elem_type: DType, stack_name: str) -> Array:
    """Return a new stack without a limit."""
    return reference_to(_new(ctx, elem_type, -1, stack_name))


@register_op(
    "StackPush",
    "handle: Ref(string), elem: T -> output: T",
    "T: type",
    "swap_memory: bool = false",
    shape=_second_shape,
)
def stack_push(ctx: OpKernelContext, handle: RefCell, elem: Array, *, T: DType) -> Array:
    """Put ``elem`` on the stack and pass it on."""
    return _push(ctx, _handle_of(handle), elem, T)


@register_op(
    "StackPop", "handle: Ref(string) -> elem: elem_type", "elem_type: type", shape=_unknown
)
def stack_pop(ctx: OpKernelContext, handle: RefCell) -> Array:
    """Remove the value on top and return it."""
    return _find(ctx, _handle_of(handle)).pop()


@register_op("StackClose", "handle: Ref(string) ->", shape=no_outputs)
def stack_close(ctx: OpKernelContext, handle: RefCell) -> None:
    """Drop the stack's values before the step ends."""
    _find(ctx, _handle_of(handle)).close()


# Calls in an emitted function, where a register holds the stack.
stack_v2.held(_TYPE)
stack_close_v2.held(_TYPE)
stack_push_v2.held(_TYPE, "{handle}.push({elem})", gives="elem")
stack_pop_v2.held(_TYPE, "{handle}.pop()")

for _op in (stack_v2, stack_push_v2, stack_pop_v2, stack_close_v2):
    _op.not_differentiable()
for _op in (stack_op, stack_push, stack_pop, stack_close):
    _op.not_differentiable()
