"""The gradients of the control-flow primitives: each becomes its inverse.

A Switch becomes a Merge and a Merge a Switch, an Exit an Enter and an Enter an Exit, or an
accumulator where all iterations share the value. A Switch of a loop variable is visited twice:
first from its Exit, when the Merge is made, and then from the body, when the Merge gets its second
input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.structures.composite_tensor import components
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow import control_flow_queries as queries
from tfnb.library.control_flow.control_flow_values import (
    enter_of,
    exit_of,
    merge,
    switch,
    switch_ref_or_tensor,
)
from tfnb.library.control_flow.while_context import add_back_edge
from tfnb.library.gradients.backprop_loops import add_accumulator, add_indexed_slices_accumulator

if TYPE_CHECKING:
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Nested, TensorLike


def switch_gradient(op: Operation, *grads: Any) -> Nested:
    """Return the gradients of a Switch: in a loop a Merge, else those of the taken side."""
    context = queries.context_of(op)
    if context is not None and context.is_while_context:
        return _loop_switch_gradient(op, grads[0], grads[1])
    if context is not None and context.is_cond_context:
        return _cond_switch_gradient(op, grads)
    pred = op.inputs[1]
    return merge([switch(grads[0], pred)[0], switch(grads[1], pred)[1]])[0], None


def _loop_switch_gradient(op: Operation, from_exit: Any, from_body: TensorLike) -> Nested:
    merges = _current_loop().grad_state.switch_merges
    merged = merges.get(op)
    if merged is not None:
        if from_body is not None:
            add_back_edge(merged, from_body, enforce_shape_invariant=False)
        return None, None
    if from_exit is None:
        return None, None  # its Exit has no gradient
    # The second visit replaces the second input.
    merged = merges[op] = merge([from_exit, from_exit], name="b_switch")[0]
    return merged, None


def _cond_switch_gradient(op: Operation, grads: tuple[Tensor, ...]) -> Any:
    branch = op._control_flow_context.branch
    # Zeros for the side that was not taken were made behind a Switch of their own, except for types
    # without zeros.
    if grads[1 - branch] is not None:
        return merge(grads, name="cond_grad")[0], None
    if op.inputs[0].dtype is dtypes.resource:
        return merge([grads[branch]] * 2, name="cond_resource_grad")[0], None
    return None, None


def merge_gradient(op: Operation, grad: Tensor, _: Any) -> Any:
    """Return the gradients of a Merge: a Switch."""
    context = queries.output_context(op.inputs[0].op)
    if context is not None and context.is_while_context:
        return switch_ref_or_tensor(grad, _current_loop().pivot)
    if context is not None and context.is_cond_context:
        return switch_ref_or_tensor(grad, _real_pred(context.pred), name="cond_grad")  # type: ignore[attr-defined]
    from tfnb.ops.math.math_ops import equal

    chosen = [equal(op.outputs[1], index) for index in range(len(op.inputs))]
    return [switch_ref_or_tensor(grad, one)[1] for one in chosen]


def _real_pred(pred: Tensor) -> Tensor:
    """Return a cond's predicate for its gradient; inside a loop, its saved values."""
    loop = get_default_graph()._get_control_flow_context()
    state = None if loop is None else loop.grad_state
    if state is None:
        return pred
    real: Tensor | None = state.history.get(pred)
    if real is None:
        state.grad_context.exit()
        history = state.add_forward_accumulator(pred)
        state.grad_context.enter()
        real = state.add_backprop_accumulated_value(history, pred)
        state.history[pred] = real
    return real


def exit_gradient(op: Operation, grad: Tensor | IndexedSlices) -> Any:
    """Return the gradient of an Exit: an Enter."""
    loop = _current_loop()
    if not loop.back_prop:
        return None
    if op._control_flow_context.grad_state is not None:
        raise TypeError("Second-order gradient for while loops not supported.")
    if isinstance(grad, Tensor):
        parts = [grad]
    elif isinstance(grad, (IndexedSlices, SparseTensor)):
        parts = components(grad)
    else:
        raise TypeError(
            f"Type {type(grad)} not supported, must be either `IndexedSlices` or `SparseTensor`."
        )
    for part in parts:
        loop.add_known(part)
    loop.enter()
    entered = enter_of(grad, loop.name, parallel_iterations=loop.parallel_iterations, name="b_exit")
    loop.loop_enters.extend([entered] if isinstance(entered, Tensor) else components(entered))
    loop.exit()
    return entered


def enter_gradient(op: Operation, grad: Tensor | IndexedSlices) -> Any:
    """Return the gradient of an Enter: an Exit, or a sum over iterations for a constant."""
    loop = get_default_graph()._get_control_flow_context()
    if loop is None or not loop.back_prop or loop.grad_state is None:
        return grad
    if op.attr("is_constant"):
        if isinstance(grad, Tensor):
            return add_accumulator(loop, op, grad)
        if isinstance(grad, IndexedSlices):
            return add_indexed_slices_accumulator(loop, op, grad)
        raise TypeError(f"Type {type(grad)} not supported, must be Tensor or IndexedSlices")
    result = exit_of(grad)
    parts = [result] if isinstance(result, Tensor) else components(result)
    loop.loop_exits.extend(parts)
    loop.exit_result(parts)
    return result


def _current_loop() -> Any:
    return get_default_graph()._get_control_flow_context()
