"""``tf.while_loop``: repetition of a part of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.control_flow_toggle import builds_functions
from tfnb.library.control_flow.control_flow_values import read_variables
from tfnb.library.control_flow.while_context import WhileContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {"tf": ["while_loop"]}


def while_loop(
    cond: Callable[..., Nested],
    body: Callable[..., Nested],
    loop_vars: Nested,
    shape_invariants: Nested | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
) -> Nested:
    """Repeat ``body`` while ``cond`` is true.

    Both functions are called once, while the graph is built, with tensors that represent the loop
    variables of any iteration.

    Args:
      cond: takes the loop variables; returns a boolean scalar tensor.
      body: takes the loop variables; returns their next values in the same structure.
      loop_vars: the initial values: a list, tuple or dict of tensors, TensorArrays or structures of
        them.
      shape_invariants: for each variable its shape in all iterations; by default, its initial
        shape.
      parallel_iterations: upper bound on iterations that run at the same time.
      back_prop: whether gradients are supported.
      swap_memory: whether values kept for the gradient may leave the device.
      name: a name scope for all nodes of the loop.
      maximum_iterations: a scalar upper bound on the number of iterations.
      return_same_structure: whether a single variable is returned in its list.

    Returns:
      The values after the last iteration, in the structure of ``loop_vars``; a single one without
      its list.

    Raises:
      TypeError: a function is not callable, or the body returns another structure or dtype.
      ValueError: there are no loop variables, or a shape changes.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if builds_functions(get_default_graph()):
        from tfnb.library.control_flow import while_v2

        return while_v2.while_loop(
            cond,
            body,
            loop_vars,
            shape_invariants,
            parallel_iterations,
            maximum_iterations,
            name,
            return_same_structure,
            back_prop,
        )
    if isinstance(loop_vars, (list, tuple, dict)):
        loop_vars = read_variables(loop_vars)
    with name_scope(name, "while", loop_vars or ()):
        if not loop_vars:
            raise ValueError("'loop_vars' must be provided.")
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, name="maximum_iterations")
            is_single = len(loop_vars) == 1 and not return_same_structure
            cond, body, loop_vars = _counted(cond, body, loop_vars, maximum_iterations, is_single)
            if shape_invariants is not None:
                if is_single:
                    shape_invariants = shape_invariants[0]
                shape_invariants = (TensorShape([]), shape_invariants)
        context = WhileContext(maximum_iterations, parallel_iterations, back_prop, swap_memory)
        if context.outer_context is None:  # inner contexts are reached through the outermost
            get_default_graph().add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        result = context.build_loop(cond, body, loop_vars, shape_invariants, return_same_structure)
        return result if maximum_iterations is None else result[1]


def _counted(
    cond: Callable[..., Nested],
    body: Callable[..., Nested],
    loop_vars: Nested,
    limit: TensorLike,
    is_single: bool,
) -> tuple[Callable[..., Nested], Callable[..., Nested], Nested]:
    """Return the loop with a counter as its first variable."""
    from tfnb.ops.array.constant_ops import constant
    from tfnb.ops.math.comparison_ops import logical_and

    if limit.shape.ndims != 0:
        raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {limit.shape}")
    counter = constant(0, dtype=limit.dtype, name="iteration_counter")
    if is_single:
        return (
            lambda count, value: logical_and(count < limit, cond(value)),
            lambda count, value: (count + 1, body(value)),
            (counter, loop_vars[0]),
        )
    return (
        lambda count, values: logical_and(count < limit, cond(*values)),
        lambda count, values: (count + 1, body(*values)),
        (counter, loop_vars),
    )
