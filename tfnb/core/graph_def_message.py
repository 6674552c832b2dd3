"""The message of a plain GraphDef, for sessions of other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import op_registry
from tfnb.core.attr_value import encode_attr
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.core.plain_graph_def import PlainGraphDef, type_of_graph_def


def graph_def_message(graph_def: type_of_graph_def) -> graph_pb2.GraphDef:
    """Return a GraphDef as a message.

    Args:
      graph_def: a message, which is returned as it is, or its plain form.
    """
    if isinstance(graph_def, graph_pb2.GraphDef):
        return graph_def
    return _message_of(graph_def)


def _message_of(plain: PlainGraphDef) -> graph_pb2.GraphDef:
    message = graph_pb2.GraphDef()
    versions = plain.versions
    message.versions.producer = versions.producer
    message.versions.min_consumer = versions.min_consumer
    message.versions.bad_consumers.extend(versions.bad_consumers)
    if plain.library is not None:
        message.library.CopyFrom(plain.library)
    for node in plain.node:
        node_def = message.node.add(name=node.name, op=node.op, device=node.device)
        node_def.input.extend([_input_text(source, output) for source, output in node.inputs])
        _add_attrs(node_def, node.op, node.attrs)
    return message


def _input_text(source: str, output: int) -> str:
    if output < 0:
        return f"^{source}"
    return f"{source}:{output}" if output else source


def _add_attrs(node_def: graph_pb2.NodeDef, op: str, attrs: Mapping[str, Any]) -> None:
    definition = op_registry.find(op)
    declared = {} if definition is None else definition.op_def.attr_by_name
    for name, value in attrs.items():
        if value is not None:
            kind = declared[name].type if name in declared else None
            node_def.attr[name].CopyFrom(encode_attr(value, kind))
