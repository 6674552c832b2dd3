"""Construction of one operation, with the shapes, control flow and scopes that apply to it.

The order is TensorFlow's: the operation becomes part of the graph, the control-flow context adopts
it (and may change its inputs), the blocks of control dependencies record it, then the attributes,
device and colocation of scopes are set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.text_bytes import shown_text
from tfnb.framework import traceback_of_user
from tfnb.framework.graph_scopes import (
    VALID_OP_NAME,
    ScopeState,
    control_dependencies_for_inputs,
    merged_device,
)
from tfnb.framework.operation import Operation
from tfnb.framework.shape_refiner import infer_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor import Tensor

# Set by the control-flow builders: refuses an input from inside a loop or branch.
_check_input_context: Callable[[Operation, Operation], None] | None = None


def set_input_context_check(check: Callable[[Operation, Operation], None] | None) -> None:
    """Install ``check(op, input_op)``, which refuses inputs from another control-flow context.

    It is called if the input has a context and the operation is not in the same one.
    """
    global _check_input_context
    _check_input_context = check


def create_operation(
    graph: Graph,
    definition: OpDefinition,
    inputs: Sequence[Tensor],
    attrs: dict[str, Any],
    name: str,
    output_types: Iterable[DType],
    colocate_with: tuple[Operation, ...] = (),
    compute_device: bool = True,
) -> Operation:
    """Add an operation whose attributes are complete and fit its inputs.

    Args:
      graph: the graph.
      definition: the op.
      inputs: its inputs.
      attrs: all of its attributes; kept, not copied, and never changed.
      name: a name to make unique, or a scope (ending with ``/``) whose name it gets.
      output_types: the dtypes of its outputs.
      colocate_with: operations that it must share a device with, as inside ``colocate_with`` of
        each.
      compute_device: whether device scopes apply.

    Raises:
      ValueError: the inputs' shapes do not fit, or the name is taken or not valid.
      RuntimeError: the graph is finalized.
    """
    site = traceback_of_user.capture()
    with graph._lock:
        graph._check_not_finalized()
        if graph._building_function:
            made = graph.operation_elsewhere(definition, inputs, attrs, name, output_types)
            if made is not None:
                return made
            inputs = graph.capture_inputs(inputs)
        state = graph.scopes()
        name = _node_name(graph, name)
        stack = state.control_stack
        control_inputs = tuple(control_dependencies_for_inputs(stack, inputs)) if stack else ()
        context = state.control_flow_context
        op = Operation(
            graph, definition, name, inputs, control_inputs, attrs, output_types, context, site
        )
        infer_shapes(op)
        graph._add_op(op)
        join_control_flow(op)
        for scope in stack:
            scope.add_op(op)
        apply_scopes(op, state, colocate_with, compute_device)
        return op if graph.replacement is None else graph.replacement.settle(op)


def _node_name(graph: Graph, name: str | bytes) -> str:
    """Return the name of a new node: unique, or that of a scope."""
    if isinstance(name, bytes):
        name = shown_text(name)
    elif not isinstance(name, str):
        raise TypeError(f"The name of an operation is a str, not {name!r}.")
    name = name[:-1] if name[-1:] == "/" else graph.unique_name(name)
    if VALID_OP_NAME.match(name) is None:
        raise ValueError(
            f"'{name}' is not a valid node name. Accepted names conform to Regex "
            f"{VALID_OP_NAME.pattern}"
        )
    if graph.replacement is not None:
        graph.replacement.release(name)
    if name in graph._nodes_by_name:
        raise ValueError(f"Duplicate node name in graph: '{name}'")
    return name


def join_control_flow(op: Operation) -> None:
    """Let the control-flow context adopt a new operation, which may change its inputs."""
    context = op._control_flow_context
    if _check_input_context is not None:
        for tensor in op.inputs:
            if tensor.op._control_flow_context not in (None, context):
                _check_input_context(op, tensor.op)
    if context is not None:
        context.add_op(op)


def apply_scopes(
    op: Operation, state: ScopeState, colocate_with: tuple[Operation, ...], compute_device: bool
) -> None:
    """Set the attributes and the device of a new operation that the current scopes require."""
    graph = op.graph
    if graph._attr_scope_map:
        _apply_attr_scope(op)
    if graph._op_to_kernel_label_map and op.type in graph._op_to_kernel_label_map:
        op._set_attr("_kernel", graph._op_to_kernel_label_map[op.type].encode())
    if graph._gradient_function_map:
        op._gradient_function = graph._gradient_function_map.get(op.type)
    if graph._gradient_override_map and op.type in graph._gradient_override_map:
        op._set_attr("_gradient_op_type", graph._gradient_override_map[op.type].encode())
    if graph._default_original_op is not None:
        op._original_op = graph._default_original_op
    if compute_device and state.device != "" and not colocate_with:
        op.requested_device = state.device or ""
        if state.device is None:
            op.requested_device = merged_device(state.device_stack, op) or ""
    colocated = state.colocation_stack
    if colocate_with:
        colocated = (*colocated, *colocate_with)
    if colocated:
        _colocate(op, colocated)
    if graph._container and op.op_definition.is_stateful and op.attrs.get("container") == b"":
        op._set_attr("container", graph._container.encode())


def _apply_attr_scope(op: Operation) -> None:
    for name, value in op.graph._attr_scope_map.items():
        if name in op.attrs:
            continue
        if callable(value):
            value = value(op.node_def)
        if value is not None:
            op._set_attr(name, value)


def _colocate(op: Operation, colocated: tuple[Any, ...]) -> None:
    groups: set[bytes] = set()
    device = ""
    for other in reversed(colocated):
        if isinstance(other, Operation):
            groups.update(other.colocation_groups())
        device = device or other.device or ""
    if device:
        op._set_device(device)
    op._set_attr("_class", sorted(groups))
