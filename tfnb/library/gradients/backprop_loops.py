"""The parts of a gradient that are loops themselves: counters and accumulators.

All of them are loop variables that are added to a :class:`WhileContext` after it was built::

    forward loop        n = 0;      while (pivot) { n += 1 }        the number of iterations
    gradient's loop     n = count;  while (n >= 1) { n -= 1 }       as many iterations
    gradient's loop     acc = 0;    while (pivot) { acc += grad }   for a value that is shared
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.library.control_flow.control_flow_values import exit_of, merge, next_iteration_of, switch
from tfnb.ops.array.constant_ops import constant, zeros, zeros_like
from tfnb.ops.array.shape_ops import shape_internal
from tfnb.ops.control import control_flow_ops as primitives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.dtypes import DType
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike
    from tfnb.library.control_flow.control_flow_context import ControlFlowContext
    from tfnb.library.control_flow.while_context import WhileContext


class LoopState(Protocol):
    """The part of a loop's gradient state that counters and accumulators use.

    Attributes:
      forward_context: the loop.
      forward_index: in the loop, the number of the next iteration.
    """

    forward_context: WhileContext
    forward_index: Tensor

    @property
    def outer_grad_state(self) -> LoopState | None:
        """The state of the enclosing loop, if gradients are built for that one as well."""

    @property
    def grad_sync(self) -> Operation:
        """The operation that the next iteration of the gradient's loop waits for."""

    def add_forward_accumulator(self, value: Tensor) -> Tensor:
        """Add a stack of the values that a tensor has in the iterations of the loop."""

    def add_backprop_accumulated_value(self, history: Tensor, value: Tensor) -> Tensor:
        """Add the op that pops the values in the gradient's loop."""


@contextlib.contextmanager
def inside(context: ControlFlowContext | None) -> Iterator[None]:
    """Open a block whose operations belong to a context; None changes nothing."""
    if context is None:
        yield
        return
    context.enter()
    try:
        yield
    finally:
        context.exit()


def add_forward_counter(
    loop: WhileContext, outer_grad_state: LoopState | None
) -> tuple[Tensor, Tensor]:
    """Add a count of its iterations to a loop.

    Called in the context around the loop.

    Returns:
      The number of iterations that ran, and in the loop the number of the next one.
    """
    from tfnb.ops.math.math_ops import add

    count = constant(0, name="f_count")
    if outer_grad_state is not None:
        # All pushes of one run of this inner loop come before those of its next run.
        count.op._add_control_input(outer_grad_state.forward_index.op.inputs[0].op)
    with inside(loop):
        loop.add_known(count)
        entered = loop.enter_variable(count, name="f_count")
        loop.loop_enters.append(entered)
        merged = merge([entered, entered])[0]
        left, taken = switch(merged, loop.pivot)
        following: Tensor = next_iteration_of(add(taken, 1))
        merged.op._update_input(1, following)
        total: Tensor = exit_of(left, name="f_count")
        loop.loop_exits.append(total)
        loop.exit_result([total])
    return total, following


def add_backprop_counter(
    loop: WhileContext, count: Tensor, outer_grad_state: LoopState | None
) -> Tensor:
    """Make a gradient's loop run ``count`` times.

    Called in the context around the loop.

    Returns:
      In the loop, the number of iterations that are left after this one.
    """
    from tfnb.ops.math.comparison_ops import greater_equal
    from tfnb.ops.math.math_ops import subtract

    one = constant(1, name="b_count")
    with inside(loop):
        loop.add_known(count)
        entered = loop.enter_variable(count, name="b_count")
        loop.loop_enters.append(entered)
        merged = merge([entered, entered])[0]
        loop.pivot_for_pred = merged
        loop.pivot = primitives.loop_cond(greater_equal(merged, one), name="b_count")
        left, taken = switch(merged, loop.pivot)
        index = subtract(taken, one)
        loop.pivot_for_body = index
        following: Tensor = next_iteration_of(index)
        merged.op._update_input(1, following)
        final_zero: Tensor = exit_of(left, name="b_count")
        loop.loop_exits.append(final_zero)
        if outer_grad_state is not None:
            # All pops of one run of this inner loop come before those of its next run.
            outer_grad_state.grad_sync._add_control_input(final_zero.op)
        loop.exit_result([final_zero])
    return following


def add_accumulator(loop: WhileContext, enter: Operation, grad: Tensor) -> Tensor:
    """Sum over a gradient loop's iterations the gradients of a value that all iterations share.

    Called in the loop.

    Args:
      loop: the gradient's loop.
      enter: the constant Enter of the value in the forward loop.
      grad: the gradient in one iteration.

    Returns:
      The sum, outside of the loop.
    """
    from tfnb.ops.math.math_ops import add

    loop.exit()
    start = _zeros_for(loop, enter.inputs[0], grad)
    loop.enter()
    loop.add_known(start)
    entered = loop.enter_variable(start, name="b_acc")
    loop.loop_enters.append(entered)
    merged = merge([entered, entered], name="b_acc")[0]
    left, taken = switch(merged, loop.pivot)
    merged.op._update_input(1, next_iteration_of(add(taken, grad)))
    total: Tensor = exit_of(left, name="b_acc")
    loop.loop_exits.append(total)
    loop.exit_result([total])
    return total


def _zeros_for(loop: WhileContext, value: Tensor, grad: Tensor) -> Tensor:
    """Return zeros in the shape of ``value``, made around a gradient's loop.

    The shape is used only if the loop runs no iteration.
    """
    outer = loop.outer_context
    if grad.get_shape().is_fully_defined():
        with inside(outer):
            return constant(0, grad.dtype, shape=grad.get_shape(), name="b_acc")
    if outer is None or not outer.is_while_context or outer.grad_state is None:
        with inside(outer):
            return zeros(shape_internal(value, optimize=False), grad.dtype)
    # The enclosing loop computes a gradient, too: its forward loop saves the shape.
    state: LoopState = loop.grad_state
    with inside(state.forward_context.outer_context):
        shape = shape_internal(value, optimize=False)
    outer_state = state.outer_grad_state
    assert outer_state is not None
    history = outer_state.add_forward_accumulator(shape)
    with inside(outer):
        return zeros(outer_state.add_backprop_accumulated_value(history, shape), grad.dtype)


def add_indexed_slices_accumulator(
    loop: WhileContext, enter: Operation, grad: IndexedSlices
) -> IndexedSlices:
    """Return :func:`add_accumulator` for IndexedSlices: all iterations' slices, concatenated.

    The first slice is one of zeros, so that the result has a slice if the loop runs no iteration.
    """
    from tfnb.ops.array.concat_ops import concat
    from tfnb.ops.math.cwise_binary_ops import maximum

    values, indices, dense_shape = grad.values, grad.indices, grad.dense_shape
    loop.exit()
    start = _first_slices(loop.outer_context, enter.inputs[0], grad)
    loop.enter()
    for one in start:
        loop.add_known(one)
    # Their first dimension grows.
    entered = [loop.enter_variable(one, use_input_shape=False, name="b_acc") for one in start]
    entered[0].set_shape([None])
    if start[1].shape.dims is not None:
        entered[1].set_shape([None, *start[1].shape.as_list()[1:]])
    loop.loop_enters.extend(entered)
    merged = [merge([one, one], name="b_acc")[0] for one in entered]
    switched = [switch(one, loop.pivot) for one in merged]
    grown = [
        concat([taken, new], 0)
        for (_, taken), new in zip(switched, (indices, values))  # the shape is not accumulated
    ]
    if dense_shape is not None:
        grown.append(maximum(dense_shape, switched[2][1]))
    following = [next_iteration_of(one) for one in grown]
    for one, next_value in zip(merged, following, strict=True):
        one.op._update_input(1, next_value)
    exits: list[Tensor] = [exit_of(left, name="b_acc") for left, _ in switched]
    loop.loop_exits.extend(exits)
    loop.exit_result(exits)
    return IndexedSlices(exits[1], exits[0], exits[2] if dense_shape is not None else None)


def _first_slices(
    outer: ControlFlowContext | None, value: Tensor, grad: IndexedSlices
) -> list[Tensor]:
    """Return index 0, a slice of zeros for it, and the shape of the whole if it is known."""
    from tfnb.ops.array.concat_ops import concat

    values, dense_shape = grad.values, grad.dense_shape
    with inside(outer):
        if values.get_shape().is_fully_defined():
            slice_shape = TensorShape([1, *values.get_shape().as_list()[1:]])
            with inside(outer):
                first = constant(0, values.dtype, shape=slice_shape, name="b_acc")
        else:
            dims: TensorLike = _shape_behind(value)
            first = zeros(concat([[1], dims[1:]], 0), dtype=values.dtype)
        start = [constant([0], grad.indices.dtype), first]
        if dense_shape is not None:
            if dense_shape.get_shape().is_fully_defined():
                with inside(outer):
                    zero = constant(0, dense_shape.dtype, shape=dense_shape.get_shape())
            else:
                zero = _zero_shape(value, dense_shape.dtype)
            start.append(zero)
    return [start[0], start[1], *start[2:]]


def _zero_shape(value: Tensor, dtype: DType) -> Tensor:
    """Return one zero per dimension of a tensor, or of the variable that a handle refers to."""
    if value.dtype is dtypes.resource:
        return constant(0, dtype, shape=[_shape_behind(value).rank])
    shape = shape_internal(value, optimize=False, out_type=dtype)
    return zeros_like(shape, optimize=False)


def _shape_behind(value: Tensor) -> Any:
    """Return the shape of a tensor, or of the variable that a handle refers to."""
    if value.dtype is not dtypes.resource:
        return shape_internal(value, optimize=False)
    while value.op.inputs:
        value = value.op.inputs[0]
    return TensorShape(value.op.attr("shape"))
