"""Describes a GraphDef for a picture without importing it, so unregistered ops are shown, too.

It is the only file of this package that reads protobuf messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.notebook.scenes.attr_text import bytes_text, cut, list_text, shape_text
from tfnb.notebook.scenes.scene import CONTROL, SceneNode
from tfnb.proto import types_pb2

if TYPE_CHECKING:
    from tfnb.proto.attr_value_pb2 import AttrValue
    from tfnb.proto.graph_pb2 import GraphDef, NodeDef
    from tfnb.proto.tensor_pb2 import TensorProto, TensorShapeProto

_HIDDEN_ATTRS = frozenset({"_output_shapes"})


def describe_graph_def(graph_def: GraphDef) -> list[SceneNode]:
    """Describe each node; inputs that name no node are left out."""
    index = {node.name: place for place, node in enumerate(graph_def.node)}
    return [
        SceneNode(
            name=node.name,
            op=node.op,
            inputs=_inputs(node, index),
            requested_device=node.device,
            attrs=attr_texts(node),
            outputs=_outputs(node),
        )
        for node in graph_def.node
    ]


def attr_texts(node: NodeDef) -> tuple[tuple[str, str], ...]:
    """Return a node's attrs as (name, text), sorted by name, with large values shortened."""
    return tuple(
        (name, attr_value_text(node.attr[name]))
        for name in sorted(node.attr)
        if name not in _HIDDEN_ATTRS
    )


def _inputs(node: NodeDef, index: dict[str, int]) -> tuple[tuple[int, int], ...]:
    found = []
    for text in node.input:
        name, slot = _parse_input(text)
        if name in index:
            found.append((index[name], slot))
    return tuple(found)


def _parse_input(text: str) -> tuple[str, int]:
    if text.startswith("^"):
        return text[1:], CONTROL
    name, colon, slot = text.rpartition(":")
    if colon and slot.isdecimal():
        return name, int(slot)
    return text, 0


def _outputs(node: NodeDef) -> tuple[tuple[str, str], ...]:
    """Return the dtypes and shapes that a node's own attrs contain."""
    shapes = (
        [shape_proto_text(shape) for shape in node.attr["_output_shapes"].list.shape]
        if ("_output_shapes" in node.attr)
        else []
    )
    dtype = next((node.attr[n].type for n in ("dtype", "T", "DstT") if n in node.attr), None)
    if dtype is None:
        return ()
    if node.op == "Const" and "value" in node.attr:
        shapes = [shape_proto_text(node.attr["value"].tensor.tensor_shape)]
    return tuple((dtype_text(dtype), shape) for shape in shapes or ["<unknown>"])


def dtype_text(number: int) -> str:
    """Return the lower-case name of a DataType: ``float32``, ``string``, ``int32_ref``."""
    known = types_pb2.DataType.DESCRIPTOR.values_by_number.get(number)
    name = "" if known is None else known.name
    short = name.removeprefix("DT_").lower()
    base, ref, _ = short.partition("_ref")
    common = {"float": "float32", "double": "float64", "half": "float16"}
    return (common.get(base, base) + ref) or f"dtype {number}"


def shape_proto_text(shape: TensorShapeProto) -> str:
    """Convert a shape message to text."""
    if shape.unknown_rank:
        return shape_text(None)
    return shape_text([dim.size for dim in shape.dim])


def attr_value_text(value: AttrValue) -> str:
    """Convert an attr's value to at most one line of text."""
    kind = value.WhichOneof("value")
    if kind == "s":
        return bytes_text(value.s)
    if kind == "type":
        return dtype_text(value.type)
    if kind == "shape":
        return shape_proto_text(value.shape)
    if kind == "tensor":
        return _tensor_text(value.tensor)
    if kind == "func":
        return cut(f"function {value.func.name}")
    if kind == "list":
        return cut(_list_text(value.list))
    if kind is None:
        return "<unset>"
    return cut(str(getattr(value, kind)))


def _list_text(values: AttrValue.ListValue) -> str:
    if values.s:
        return list_text(map(bytes_text, values.s))
    if values.type:
        return list_text(map(dtype_text, values.type))
    if values.shape:
        return list_text(map(shape_proto_text, values.shape))
    if values.func:
        return list_text(function.name for function in values.func)
    if values.tensor:
        return list_text(map(_tensor_text, values.tensor))
    return list_text(str(v) for v in [*values.i, *values.f, *values.b])


def _tensor_text(tensor: TensorProto) -> str:
    return f"{dtype_text(tensor.dtype)} {shape_proto_text(tensor.tensor_shape)}"
