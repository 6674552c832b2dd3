"""Conversion of the user's graph to plain nodes, for a session in the same process.

A plain node has the same content as its NodeDef: numbers are as exact as in a message, and a tensor
in an attribute cannot be written to. Corresponds to :mod:`tfnb.framework.exporter`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.attr_value import TensorAttr, decode_attr, decode_attrs, encode_attr
from tfnb.core.dtypes import DType
from tfnb.core.plain_graph_def import PlainGraphDef, PlainNodeDef
from tfnb.core.process.later import later
from tfnb.core.tensor_shape import TensorShape
from tfnb.proto import attr_value_pb2, graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework import function_library
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
else:
    function_library = later("tfnb.framework.function_library", in_step=True)

_CONTROL = -1

# Kind of an attribute -> the class of values that a message keeps unchanged.
_SAME: dict[str | None, type] = {"bool": bool, "string": bytes, "type": DType, "shape": TensorShape}


def plain_graph_def_of(
    graph: Graph, operations: Sequence[Operation], functions: Iterable[str] | None = None
) -> PlainGraphDef:
    """Return some operations of a graph as plain nodes.

    The caller holds the graph's lock.

    Args:
      graph: the graph.
      operations: some of its operations, in the order in which they were added.
      functions: the names of the functions to include; None for all.

    Raises:
      InvalidArgumentError: an attribute has no value, or only a placeholder.
      TypeError: an attribute has a value that no message can hold.
    """
    library = None
    if graph._functions:
        library = graph_pb2.FunctionDefLibrary()
        function_library.library_to_proto(graph, library, functions)
    # Operations that were made in the same way share their attributes, which live as long as the
    # operations. The op is in the key because it declares the kind of an attribute's value in a
    # message.
    known: dict[tuple[str, int], Mapping[str, Any]] = {}
    nodes = []
    for op in operations:
        key = (op.type, id(op.attrs))
        attrs = known.get(key)
        if attrs is None:
            attrs = known[key] = _plain_attrs(op.attrs, op.op_definition)
        tensors = op.inputs
        if len(tensors) == 1:  # most nodes
            (tensor,) = tensors
            inputs = [(tensor.op.name, tensor.value_index)]
        else:
            inputs = [(tensor.op.name, tensor.value_index) for tensor in tensors]
        if op.control_ops:
            inputs += sorted([(other.name, _CONTROL) for other in op.control_ops])
        nodes.append(PlainNodeDef(op.name, op.type, op.requested_device, inputs, attrs))
    return PlainGraphDef(nodes, graph.def_versions, library)


def _plain_attrs(attrs: Mapping[str, Any], definition: OpDefinition) -> Mapping[str, Any]:
    """Return attributes as read back from a message; the same mapping if nothing differs."""
    declared = definition.op_def.attr_by_name
    changed: dict[str, Any] = {}
    for name, value in attrs.items():
        attr_def = declared.get(name)
        kind = None if attr_def is None else attr_def.type
        if value.__class__ is _SAME.get(kind):
            continue
        if isinstance(value, attr_value_pb2.AttrValue):  # the op does not declare this attribute
            changed[name] = decode_attrs({name: value}).get(name)
        elif value is None:
            changed[name] = None
        else:
            plain = _plain_value(value, kind)
            if plain is not value:
                changed[name] = plain
    if not changed:
        return attrs
    return {name: value for name, value in {**attrs, **changed}.items() if value is not None}


def _plain_value(value: Any, kind: str | None) -> Any:
    """Return a value as read back from a message."""
    if kind == "int":
        if value.__class__ is int and -(2**63) <= value < 2**63:
            return value
    elif kind == "tensor":
        if value.__class__ is TensorAttr:
            return _shared_tensor(value)
    elif kind is None:
        # No op declares this attribute. The usual one is "_class", a list of names.
        if value.__class__ is list and value and all(one.__class__ is bytes for one in value):
            return value
    elif kind.startswith("list("):
        same = _SAME.get(kind[5:-1])
        if same is not None and all(one.__class__ is same for one in value):
            return value if value.__class__ is list else list(value)
    return decode_attr(encode_attr(value, kind))


def _shared_tensor(attr: TensorAttr) -> TensorAttr:
    """Return a tensor that a session may use directly, else the tensor read from its message."""
    value = attr.decoded
    if value is None:
        return attr
    if isinstance(value, np.ndarray):
        flags, kind = value.flags, value.dtype
        if not flags.writeable and flags.c_contiguous and not kind.hasobject:
            wanted = attr.dtype.numpy_dtype
            if kind is wanted or kind == wanted:
                return attr
    return TensorAttr(attr.proto)
