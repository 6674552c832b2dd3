"""Conversion of the user's graph to GraphDef messages.

An operation keeps the NodeDef that was made from it until the operation changes, so that the cost
of extending a session depends on the new operations only; a graph keeps the bytes of its nodes.
:mod:`tfnb.framework.importing.importer` is the other direction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.attr_value import TensorAttr, encode_attr
from tfnb.core.dtypes import DType
from tfnb.core.process.later import later
from tfnb.core.tensor_util import shape_to_proto
from tfnb.proto import attr_value_pb2, graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.core.versions import VersionDef
    from tfnb.framework import function_library
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
else:
    function_library = later("tfnb.framework.function_library", in_step=True)

MAX_GRAPH_DEF_BYTES = 2**31

# Larger graphs hold constants, of which two copies exist already.
MAX_KEPT_BYTES = 2**24

# Messages of values that many nodes share; read only.
_encoded: dict[tuple[str | None, type, Any], attr_value_pb2.AttrValue] = {}


def graph_def_of(
    graph: Graph, from_version: int = 0, add_shapes: bool = False
) -> graph_pb2.GraphDef:
    """Return the message of a graph, without the operations older than ``from_version``.

    The caller holds the graph's lock.

    Args:
      graph: the graph.
      from_version: the number of the first operation to put into the message.
      add_shapes: whether each node gets its outputs' static shapes as ``_output_shapes``.

    Raises:
      ValueError: the message would be larger than 2 GB; the error names the largest constants.
    """
    operations = graph.operation_list[from_version:] if from_version else graph.operation_list
    # The sum comes first, because the size of a message is known only after writing it.
    num_bytes = _num_tensor_bytes(operations)
    if num_bytes >= MAX_GRAPH_DEF_BYTES:
        raise ValueError(_too_large_text(operations))
    if from_version or num_bytes > MAX_KEPT_BYTES:
        graph_def = graph_pb2.GraphDef()
        graph_def.node.extend([node_def_of(op) for op in operations])
    else:
        graph_def = _all_nodes(graph)
    graph_def.versions.CopyFrom(versions_to_proto(graph.def_versions))
    if graph._functions:
        function_library.library_to_proto(graph, graph_def.library)
    if graph_def.ByteSize() >= MAX_GRAPH_DEF_BYTES:
        raise ValueError(_too_large_text(operations))
    if add_shapes:
        for node, op in zip(graph_def.node, operations):
            if op.outputs:
                shapes = [shape_to_proto(tensor._shape) for tensor in op.outputs]
                node.attr["_output_shapes"].list.shape.extend(shapes)
    return graph_def


def _all_nodes(graph: Graph) -> graph_pb2.GraphDef:
    """Return the nodes of a graph; nodes that were exported before are read from their bytes.

    Reading the bytes takes a third of the time of copying the messages one by one.
    """
    num_known, data = graph.exported_nodes or (0, b"")
    graph_def = graph_pb2.GraphDef.FromString(data)
    if num_known < len(graph.operation_list):
        graph_def.node.extend([node_def_of(op) for op in graph.operation_list[num_known:]])
        is_small = graph_def.ByteSize() <= MAX_KEPT_BYTES
        data = graph_def.SerializeToString() if is_small else b""
        graph.exported_nodes = (len(graph.operation_list), data) if is_small else None
    return graph_def


def _num_tensor_bytes(operations: Iterable[Operation]) -> int:
    """Return the minimum number of bytes of the tensors in attributes."""
    return sum(
        value.num_content_bytes
        for op in operations
        for value in op.attrs.values()
        if value.__class__ is TensorAttr
    )


def _too_large_text(operations: list[Operation]) -> str:
    sizes = sorted(((_num_bytes(op), op.name) for op in operations), reverse=True)
    heaviest = ", ".join(f"'{name}' ({size:,} bytes)" for size, name in sizes[:5])
    return f"GraphDef cannot be larger than 2GB. The heaviest nodes are {heaviest}."


def _num_bytes(op: Operation) -> int:
    """Return the size of an operation's message; for a large tensor, that of the tensor alone."""
    num_bytes = _num_tensor_bytes([op])
    return num_bytes if num_bytes > MAX_KEPT_BYTES else node_def_of(op).ByteSize()


def versions_to_proto(versions: VersionDef) -> graph_pb2.VersionDef:
    """Return the message of a graph's versions."""
    return graph_pb2.VersionDef(
        producer=versions.producer,
        min_consumer=versions.min_consumer,
        bad_consumers=versions.bad_consumers,
    )


def node_def_of(op: Operation) -> graph_pb2.NodeDef:
    """Return the message of an operation, which owns it: it must not be changed."""
    node = op.kept_node_def
    if node is not None:
        return node
    node = graph_pb2.NodeDef(
        name=op.name, op=op.type, input=node_inputs(op), device=op.requested_device
    )
    declared = op.op_definition.op_def.attr_by_name
    attrs = node.attr
    for name, value in op.attrs.items():
        if isinstance(value, attr_value_pb2.AttrValue):
            attrs[name].CopyFrom(value)
        elif value is not None:
            attr_def = declared.get(name)
            attrs[name].CopyFrom(_encode(value, None if attr_def is None else attr_def.type))
    if op.type != "Const" or _num_tensor_bytes([op]) <= MAX_KEPT_BYTES:
        op.kept_node_def = node
    return node


def node_inputs(op: Operation) -> list[str]:
    """Return the inputs in the form of a NodeDef: tensors in order, then control inputs by name."""
    inputs = [tensor._as_node_def_input() for tensor in op.inputs]
    if op.control_ops:
        inputs += sorted([f"^{other.name}" for other in op.control_ops])
    return inputs


def _encode(value: Any, kind: str | None) -> attr_value_pb2.AttrValue:
    if not isinstance(value, (DType, bool, int, bytes)):
        return encode_attr(value, kind)
    key = (kind, type(value), value)
    found = _encoded.get(key)
    if found is None:
        found = encode_attr(value, kind)
        if len(_encoded) < 10_000:
            _encoded[key] = found
    return found
