"""Construction of one operation from a NodeDef: ``tf.Operation.from_node_def``.

The message determines everything except the inputs: the name is used unchanged, and the name
scopes, devices, control dependencies and attribute scopes around the call add nothing, as in
TensorFlow. Only the control-flow context of the graph adopts the operation. A message may come from
anywhere, so the operation counts as loaded from a file (:mod:`tfnb.framework.loaded_nodes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework import traceback_of_user
from tfnb.framework.graph import Graph
from tfnb.framework.graph_scopes import VALID_OP_NAME
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.op_plan import plan_of
from tfnb.framework.operation import Operation
from tfnb.framework.operation_factory import join_control_flow
from tfnb.framework.same_graph import stranger_text
from tfnb.framework.shape_refiner import infer_shapes
from tfnb.framework.tensor import Tensor
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DType

_MAX_BYTES = 1 << 31


def operation_of_node_def(
    node_def: Any,
    graph: Any,
    inputs: Any,
    control_inputs: Any,
    input_types: Sequence[DType] | None,
    original_op: Operation | None,
) -> Operation:
    """Add the operation; for the arguments see `tf.Operation.from_node_def`."""
    if not isinstance(graph, Graph):
        raise TypeError(
            f"Argument g must be a Graph. Received an instance of type {type(graph)}: pass "
            "tf.get_default_graph()"
        )
    _check_node_def(node_def)
    name = node_def.name
    tensors = _checked_inputs(inputs)
    if input_types is not None and not all(
        wanted.is_compatible_with(tensor.dtype) for tensor, wanted in zip(tensors, input_types)
    ):
        raise TypeError(
            f"In op '{name}', input types ({[tensor.dtype for tensor in tensors]}) are not "
            f"compatible with expected types ({list(input_types)})"
        )
    controls = [_control_operation(one) for one in control_inputs or ()]
    with graph._lock:
        graph._check_not_finalized()
        plan = plan_of(graph.op_definition(node_def.op))
        tensors = list(graph.capture_inputs(tensors))
        parts: list[Tensor | Operation] = [*tensors, *controls]
        for one in parts:
            if one.graph is not graph:
                raise ValueError(
                    f"{one.name!r} must be from graph {graph}, which the operation is made for.\n"
                    f"{stranger_text(one, graph)}"
                )
        attrs = plan.attrs_of_create_op(name, tensors, dict(node_def.attr))
        plan.check_inputs(name, tensors, attrs)
        if name in graph._nodes_by_name:
            raise ValueError(f"Duplicate node name in graph: '{name}'")
        op = Operation(
            graph,
            plan.definition,
            name,
            tensors,
            tuple(dict.fromkeys(controls)),
            attrs,
            plan.op_def.output_types(attrs),
            graph.scopes().control_flow_context,
            traceback_of_user.capture(),
        )
        op.requested_device = node_def.device
        op._original_op = original_op
        infer_shapes(op)
        graph.unique_name(name)
        graph._add_op(op)
        _note_loaded(graph, op)
        join_control_flow(op)
        return op


def _check_node_def(node_def: Any) -> None:
    if not isinstance(node_def, graph_pb2.NodeDef):
        raise TypeError(
            f"Argument node_def must be a NodeDef. Received an instance of type: {type(node_def)}."
        )
    if node_def.ByteSize() >= _MAX_BYTES:
        raise ValueError(
            "Cannot create a tensor proto whose content is larger than 2GB. Size of tensor is "
            f"{node_def.ByteSize()} bytes."
        )
    if VALID_OP_NAME.match(node_def.name) is None:
        raise ValueError(
            f"`{node_def.name}` is not a valid node name. Accepted names conform to Regex "
            f"/{VALID_OP_NAME}/"
        )


def _checked_inputs(inputs: Any) -> list[Tensor]:
    if inputs is None:
        return []
    if not isinstance(inputs, list):
        raise TypeError(
            "Argument inputs shall be a list of Tensors. Received an instance of type "
            f"{type(inputs)}"
        )
    for one in inputs:
        if not isinstance(one, Tensor):
            raise TypeError(
                "Items of argument inputs shall be Tensor. Received an instance of type "
                f"{type(one)}."
            )
    return inputs


def _control_operation(one: Any) -> Operation:
    if isinstance(one, Operation):
        return one
    if isinstance(one, (Tensor, IndexedSlices)):
        return one.op
    raise TypeError(
        "Control input must be an Operation, a Tensor, or IndexedSlices. Received an instance of "
        f"type {type(one)}."
    )


def _note_loaded(graph: Graph, op: Operation) -> None:
    """Add the operation to the loaded ones; neighbours share a range."""
    ranges = graph.loaded_ranges
    first = op._id
    if ranges and ranges[-1][1] == first:
        first = ranges.pop()[0]
    ranges.append((first, op._id + 1))
