"""The primitives of control flow: Switch, Merge, Enter, Exit, NextIteration, LoopCond and others.

The executor implements their meaning (frames, iterations, dead tensors); the kernels here only move
a value. ``DEAD`` stands for an output that carries no value: a Switch returns it for the side not
taken.
``cond`` and ``while_loop`` are built from these in ``control_flow.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    no_outputs,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.resource_mgr import RefCell
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

EXPORTS = {"tf": ["no_op"]}

DEAD = None
"""An output without a value."""


def _pass_handle(c: InferenceContext, *outputs: int) -> None:
    data = c.input_handle_data(0)
    if data:
        for output in outputs:
            c.set_output_handle_data(output, data)


def _switch_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(1, 0)
    _pass_handle(c, 0, 1)
    return [c.inputs[0], c.inputs[0]]


def _merge_shape(c: InferenceContext) -> list[TensorShape]:
    first = c.inputs[0].dim_values
    for other in c.inputs[1:]:
        dims = other.dim_values
        if first is None or dims is None or len(first) != len(dims):
            first = None
            break
        first = tuple(a if a == b else None for a, b in zip(first, dims, strict=True))
    _pass_handle(c, 0)
    return [UNKNOWN_SHAPE if first is None else TensorShape(first), SCALAR_SHAPE]


def _enter_shape(c: InferenceContext) -> TensorShape:
    # A loop variable's shape may change from one iteration to the next; only the builder
    # (control_flow.py) knows its invariant. A constant keeps its shape.
    _pass_handle(c, 0)
    return c.inputs[0] if c.attr("is_constant") else UNKNOWN_SHAPE


def _identity_shape(c: InferenceContext) -> TensorShape:
    _pass_handle(c, 0)
    return c.inputs[0]


def _loop_cond_shape(c: InferenceContext) -> TensorShape:
    return c.with_rank(0, 0)


def _take_side(data: Array, pred: Array) -> tuple[Array, Array]:
    if getattr(pred, "ndim", 0) != 0:
        raise errors.invalid_argument(
            f"The second input must be a scalar, but it has shape {shape_text(pred.shape)}"
        )
    return (DEAD, data) if pred else (data, DEAD)


@register_op(
    "Switch",
    "data: T, pred: bool -> output_false: T, output_true: T",
    "T: type",
    shape=_switch_shape,
    host_memory=("pred",),
    traits="lends not_constant",
)
def switch(xp: Xp, data: Array, pred: Array) -> tuple[Array, Array]:
    """Send ``data`` to the output that ``pred`` selects; the other output is dead."""
    return _take_side(data, pred)


@register_op(
    "RefSwitch",
    "data: Ref(T), pred: bool -> output_false: Ref(T), output_true: Ref(T)",
    "T: type",
    shape=_switch_shape,
    allows_uninitialized_input=True,
    host_memory=("pred",),
    traits="lends not_constant keeps_reference",
)
def ref_switch(xp: Xp, data: RefCell, pred: Array) -> tuple[Array, Array]:
    """Send a reference to the output that ``pred`` selects; the other output is dead."""
    return _take_side(data, pred)


def _switch_n_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(1, 0)
    return [c.inputs[0]] * c.attr("num_outs")


@register_op(
    "_SwitchN",
    "data: T, output_index: int32 -> *outputs: num_outs * T",
    "num_outs: int >= 1",
    "T: type",
    shape=_switch_n_shape,
    host_memory=("output_index",),
    traits="lends",
)
def _switch_n(xp: Xp, data: Array, output_index: Array, *, num_outs: int) -> tuple[Array, ...]:
    """Send ``data`` to output ``output_index``; an index out of range means the last output."""
    chosen = int(output_index)
    if not 0 <= chosen < num_outs:
        chosen = num_outs - 1
    return tuple(data if index == chosen else DEAD for index in range(num_outs))


@register_op(
    "Merge",
    "*inputs: N * T -> output: T, value_index: int32",
    "T: type",
    "N: int >= 1",
    shape=_merge_shape,
    host_memory=("value_index",),
    traits="not_constant",
)
def merge(xp: Xp, inputs: list[Array]) -> tuple[Array, Array]:
    """Pass on the first live input and its position; the executor sets only that input."""
    return _first_live(inputs)


@register_op(
    "RefMerge",
    "inputs: Ref(N * T) -> output: Ref(T), value_index: int32",
    "T: type",
    "N: int >= 1",
    shape=_merge_shape,
    host_memory=("value_index",),
    traits="not_constant keeps_reference",
)
def ref_merge(xp: Xp, inputs: list[RefCell]) -> tuple[Array, Array]:
    """Pass on the first live reference and its position."""
    return _first_live(inputs)


def _first_live(inputs: list[Array]) -> tuple[Array, Array]:
    import numpy as np

    for index, value in enumerate(inputs):
        if value is not DEAD:
            return value, np.int32(index)
    return DEAD, DEAD


@register_op(
    "Enter",
    "data: T -> output: T",
    "T: type",
    "frame_name: string",
    "is_constant: bool = false",
    "parallel_iterations: int = 10",
    shape=_enter_shape,
    traits="not_constant",
)
def enter(xp: Xp, data: Array) -> Array:
    """Pass a value to iteration 0 of a child frame; a constant, to every iteration."""
    return data


@register_op(
    "RefEnter",
    "data: Ref(T) -> output: Ref(T)",
    "T: type",
    "frame_name: string",
    "is_constant: bool = false",
    "parallel_iterations: int = 10",
    shape=unchanged_shape,
    traits="not_constant keeps_reference",
)
def ref_enter(xp: Xp, data: RefCell) -> Array:
    """Pass a reference to a child frame."""
    return data


@register_op(
    "Exit", "data: T -> output: T", "T: type", shape=_identity_shape, traits="not_constant"
)
def exit(xp: Xp, data: Array) -> Array:
    """Pass a value to the parent frame."""
    return data


@register_op(
    "RefExit",
    "data: Ref(T) -> output: Ref(T)",
    "T: type",
    shape=unchanged_shape,
    traits="not_constant keeps_reference",
)
def ref_exit(xp: Xp, data: RefCell) -> Array:
    """Pass a reference to the parent frame."""
    return data


@register_op(
    "NextIteration", "data: T -> output: T", "T: type", shape=_identity_shape, traits="not_constant"
)
def next_iteration(xp: Xp, data: Array) -> Array:
    """Pass a value to the next iteration of its frame."""
    return data


@register_op(
    "RefNextIteration",
    "data: Ref(T) -> output: Ref(T)",
    "T: type",
    shape=unchanged_shape,
    traits="not_constant keeps_reference",
)
def ref_next_iteration(xp: Xp, data: RefCell) -> Array:
    """Pass a reference to the next iteration of its frame."""
    return data


@register_op(
    "RefIdentity",
    "input: Ref(T) -> output: Ref(T)",
    "T: type",
    shape=unchanged_shape,
    allows_uninitialized_input=True,
    traits="not_constant keeps_reference rearranges",
)
def ref_identity(xp: Xp, input: RefCell) -> Array:
    """Return the input reference."""
    return input


def _ref_select_shape(c: InferenceContext) -> TensorShape:
    first, *others = c.inputs[1:]
    same = first.is_fully_defined() and all(first == other for other in others)
    return first if same else UNKNOWN_SHAPE


@register_op(
    "RefSelect",
    "index: int32, inputs: Ref(N * T) -> output: Ref(T)",
    "T: type",
    "N: int >= 1",
    shape=_ref_select_shape,
    host_memory=("index",),
    traits="keeps_reference",
)
def ref_select(xp: Xp, index: Array, inputs: list[RefCell]) -> Array:
    """Return the reference at a position."""
    position = int(index)
    if not 0 <= position < len(inputs):
        raise errors.invalid_argument(
            f"Index must be in the range [0, {len(inputs)}) but got {position}"
        )
    return inputs[position]


@register_op(
    "LoopCond",
    "input: bool -> output: bool",
    shape=_loop_cond_shape,
    host_memory=("input", "output"),
    traits="not_constant",
)
def loop_cond(xp: Xp, input: Array) -> Array:
    """Pass on the loop's condition; this node is the pivot of its frame."""
    return input


loop_cond.not_differentiable()


@register_op("ControlTrigger", "->", shape=no_outputs, traits="not_constant")
def control_trigger(xp: Xp) -> None:
    """Do nothing; this node is never dead."""


@register_op("NoOp", "->", shape=no_outputs)
def no_op(xp: Xp) -> None:
    """Do nothing; the node is an endpoint for control edges."""


@register_op(
    "Abort", "->", "error_msg: string = ''", "exit_without_error: bool = false", shape=no_outputs
)
def abort(xp: Xp, *, error_msg: str, exit_without_error: bool) -> None:
    """End the step with AbortedError.

    TensorFlow ends the whole process here; a graph from a file must not end a notebook's kernel.
    """
    if not exit_without_error:
        raise errors.aborted(f"Abort: {error_msg}" if error_msg else "Abort was called.")


# ---------------------------------------------------------------------------------------- gradients


def _unchanged_gradient(op: Operation, grad: Tensor) -> Gradients:
    return grad


for _op, _gradient in (
    (switch, provided.switch_gradient),
    (ref_switch, provided.switch_gradient),
    (merge, provided.merge_gradient),
    (ref_merge, provided.merge_gradient),
    (exit, provided.exit_gradient),
    (ref_exit, provided.exit_gradient),
    (enter, provided.enter_gradient),
    (ref_enter, provided.enter_gradient),
    # The gradient of Switch makes its own NextIteration, together with its Merge.
    (next_iteration, _unchanged_gradient),
    (ref_next_iteration, _unchanged_gradient),
    (ref_identity, _unchanged_gradient),
):
    _op.gradient(_gradient)
