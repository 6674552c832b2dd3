"""A hash of functions: equal for two functions whose messages describe the same computation.

A function without a name of its own is named after its Python function and this hash, so that
graphs that two processes build in the same way use the same names for the same functions.  The hash
ignores order without meaning (attributes, control inputs, nodes) and attributes that begin with
``_``.  Corresponds to ``FunctionDefHash`` in TensorFlow's function.cc.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from tfnb.core import tensor_util
from tfnb.core.errors import OpError
from tfnb.core.string_hashes import hash64
from tfnb.core.tensor_shape import TensorShape
from tfnb.proto import op_def_pb2, tensor_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from tfnb.proto import attr_value_pb2, graph_pb2

_MASK = 2**64 - 1
_SEED = 0xDECAFCAFFE


def function_name_suffix(definition: graph_pb2.FunctionDef) -> str:
    """Return the end of a function's name: its hash, in letters and digits."""
    raw = function_def_hash(definition).to_bytes(8, "little")
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode().replace("-", "a").replace("_", "A")


def function_def_hash(definition: graph_pb2.FunctionDef) -> int:
    """Return the hash of a function; equal for the messages of one function in two graphs."""
    found = _op_def_hash(definition.signature)
    found = _hash_of_attrs(definition.attr, found)
    nodes = {node.name: node for node in definition.node_def}
    of_nodes = _SEED
    for name in sorted(nodes):
        of_nodes = _combined(_node_def_hash(nodes[name]), hash64(name.encode(), of_nodes))
    found = _combined(of_nodes, found)
    for results in (definition.ret, definition.control_ret):
        for name in sorted(results):
            found = hash64(results[name].encode(), hash64(name.encode(), found))
    return found


def _combined(one: int, other: int) -> int:
    return one ^ ((other + 0x9E3779B97F4A7800 + (one << 10) + (one >> 4)) & _MASK)


def _op_def_hash(signature: op_def_pb2.OpDef) -> int:
    found = _SEED
    attr_defs = {attr_def.name: attr_def for attr_def in signature.attr}
    for name in sorted(attr_defs):
        found = hash64(name.encode(), found)
        found = _combined(_attr_def_hash(attr_defs[name]), found)
    for control_output in sorted(set(signature.control_output)):
        found = _combined(found, hash64(control_output.encode()))
    rest = op_def_pb2.OpDef()
    rest.CopyFrom(signature)
    rest.ClearField("attr")
    rest.ClearField("control_output")
    return hash64(rest.SerializeToString(deterministic=True), found)


def _attr_def_hash(attr_def: op_def_pb2.OpDef.AttrDef) -> int:
    rest = op_def_pb2.OpDef.AttrDef()
    rest.CopyFrom(attr_def)
    rest.ClearField("default_value")
    rest.ClearField("allowed_values")
    found = hash64(rest.SerializeToString(deterministic=True))
    for field in ("default_value", "allowed_values"):
        if attr_def.HasField(field):
            found = _combined(attr_value_hash(getattr(attr_def, field)), found)
    return found


def _node_def_hash(node: graph_pb2.NodeDef) -> int:
    found = hash64(node.name.encode())
    for text in (node.op, node.device, *(one for one in node.input if one[:1] != "^")):
        found = hash64(text.encode(), found)
    for text in sorted({one for one in node.input if one[:1] == "^"}):
        found = hash64(text.encode(), found)
    public = {name: value for name, value in node.attr.items() if name[:1] != "_"}
    return _hash_of_attrs(public, found)


def _hash_of_attrs(attrs: Mapping[str, attr_value_pb2.AttrValue], found: int) -> int:
    for name in sorted(_names_set(attrs)):
        found = _combined(attr_value_hash(attrs[name]), hash64(name.encode(), found))
    return found


def _names_set(attrs: Mapping[str, attr_value_pb2.AttrValue]) -> Iterable[str]:
    return [name for name, value in attrs.items() if value.WhichOneof("value") is not None]


def attr_value_hash(value: attr_value_pb2.AttrValue) -> int:
    """Return the hash of an attribute's value; for a tensor, of its elements in any encoding."""
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return _tensor_hash(value.tensor)
    if kind == "func":
        found = hash64(value.func.name.encode())
        for name in sorted(value.func.attr):
            found = hash64(name.encode(), found)
            found = _combined(attr_value_hash(value.func.attr[name]), found)
        return found
    return hash64(value.SerializeToString(deterministic=True))


def _tensor_hash(proto: tensor_pb2.TensorProto) -> int:
    try:
        array = tensor_util.decode_tensor(proto)
    except OpError:
        return hash64(proto.SerializeToString(deterministic=True))
    content = tensor_pb2.TensorProto(
        dtype=proto.dtype, tensor_shape=tensor_util.shape_to_proto(TensorShape(array.shape))
    )
    content.tensor_content = _content(array)
    return hash64(content.SerializeToString(deterministic=True))


def _content(array: NDArray[Any]) -> bytes:
    """Return the elements as bytes; for strings, all lengths come first."""
    if array.dtype != object:
        return array.tobytes()
    texts = [bytes(text) for text in array.ravel()]
    return b"".join([_varint(len(text)) for text in texts] + texts)


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])
