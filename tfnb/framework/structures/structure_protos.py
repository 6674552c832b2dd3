"""Nested structures of specs as messages: TensorFlow's ``nested_structure_coder``.

A TypeSpec defines its own message: ``proto_class`` is the name of its ``TypeSpecClass``, or the
name by which TensorFlow registers it; ``proto_state()`` is its state as a structure.  A TensorSpec
has a message of its own kind.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.dtypes import DType
from tfnb.core.tensor_proto import decode_tensor, shape_from_proto, shape_to_proto
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.structures import nest
from tfnb.framework.type_spec import TypeSpec
from tfnb.proto import struct_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

TENSOR = "tensor"
"""The ``proto_class`` of specs of tensors; it is not a ``TypeSpecClass``."""
_DEEPEST = 100


def encode_structure(structure: Any) -> struct_pb2.StructuredValue:
    """Return a structure of specs, shapes, dtypes, numbers and text as a message.

    Raises:
      NotImplementedError: it holds a value of another kind.
    """
    proto = struct_pb2.StructuredValue()
    _encode(structure, proto)
    return proto


def _encode(value: Any, proto: struct_pb2.StructuredValue) -> None:
    if value is None:
        proto.none_value.SetInParent()
    elif isinstance(value, bool):
        proto.bool_value = value
    elif isinstance(value, int):
        proto.int64_value = value
    elif isinstance(value, float):
        proto.float64_value = value
    elif isinstance(value, str):
        proto.string_value = value
    elif isinstance(value, TensorShape):
        proto.tensor_shape_value.CopyFrom(shape_to_proto(value))
    elif isinstance(value, DType):
        proto.tensor_dtype_value = value.as_datatype_enum  # type: ignore[assignment]
    elif isinstance(value, TypeSpec):
        field = proto.tensor_spec_value if _is_tensor(value) else proto.type_spec_value
        field.CopyFrom(value.experimental_as_proto())
    elif isinstance(value, Mapping):
        proto.dict_value.SetInParent()
        for key in value:
            _encode(value[key], proto.dict_value.fields[key])
    elif nest.is_namedtuple(value):
        proto.named_tuple_value.name = type(value).__name__
        for key, part in zip(value._fields, value, strict=True):
            _encode(part, proto.named_tuple_value.values.add(key=key).value)
    elif isinstance(value, list | tuple):
        found = proto.list_value if isinstance(value, list) else proto.tuple_value
        found.SetInParent()
        for part in value:
            _encode(part, found.values.add())
    else:
        raise NotImplementedError(f"No encoder for object {value!r} of type {type(value)}.")


def decode_structure(proto: struct_pb2.StructuredValue, depth: int = 0) -> Any:
    """Return the structure in a message.

    Raises:
      ValueError: the message holds an unknown value, or is nested more than 100 levels deep.
    """
    kind = proto.WhichOneof("kind")
    if depth > _DEEPEST:
        raise ValueError(f"The structure is nested more than {_DEEPEST} deep.")
    deeper = depth + 1
    if kind == "none_value":
        return None
    if kind in ("float64_value", "int64_value", "string_value", "bool_value"):
        return getattr(proto, kind)
    if kind == "tensor_shape_value":
        return shape_from_proto(proto.tensor_shape_value)
    if kind == "tensor_dtype_value":
        return dtypes.as_dtype(proto.tensor_dtype_value)
    if kind == "tensor_spec_value":
        return _spec_classes()[TENSOR].experimental_from_proto(proto.tensor_spec_value)
    if kind == "type_spec_value":
        return decode_type_spec(proto.type_spec_value, deeper)
    if kind == "list_value":
        return [decode_structure(one, deeper) for one in proto.list_value.values]
    if kind == "tuple_value":
        return tuple(decode_structure(one, deeper) for one in proto.tuple_value.values)
    if kind == "dict_value":
        fields = proto.dict_value.fields
        return {key: decode_structure(fields[key], deeper) for key in fields}
    if kind == "named_tuple_value":
        pairs = proto.named_tuple_value.values
        make: Any = collections.namedtuple  # noqa: PYI024
        made = make(proto.named_tuple_value.name, [one.key for one in pairs])
        return made(*(decode_structure(one.value, deeper) for one in pairs))
    if kind in ("tensor_value", "numpy_value"):
        return np.array(decode_tensor(getattr(proto, kind)))
    raise ValueError(f"No decoder for a structure of kind {kind}.")


def encode_type_spec(spec: TypeSpec) -> struct_pb2.TypeSpecProto:
    """Return a spec as a message.

    Raises:
      NotImplementedError: its class has no message.
    """
    if not spec.proto_class:
        raise NotImplementedError(f"No encoder for object {spec!r} of type {type(spec)}.")
    is_registered = spec.proto_class.startswith("tf.")
    kind = "REGISTERED_TYPE_SPEC" if is_registered else spec.proto_class
    return struct_pb2.TypeSpecProto(
        type_spec_class=struct_pb2.TypeSpecProto.TypeSpecClass.Value(kind),
        type_state=encode_structure(spec.proto_state()),
        type_spec_class_name=spec.proto_class if is_registered else type(spec).__name__,
        num_flat_components=len(spec.flatten()),
    )


def decode_type_spec(proto: struct_pb2.TypeSpecProto, depth: int = 0) -> Any:
    """Return the spec in a message.

    Raises:
      ValueError: its class is unknown.
    """
    kind = struct_pb2.TypeSpecProto.TypeSpecClass.Name(proto.type_spec_class)
    wanted = kind if kind != "REGISTERED_TYPE_SPEC" else proto.type_spec_class_name
    found = _spec_classes().get(wanted) if wanted else None
    if found is None:
        raise ValueError(f"There is no spec of class {proto.type_spec_class_name} ({kind}).")
    return found.from_proto_state(decode_structure(proto.type_state, depth))


def _is_tensor(spec: TypeSpec) -> bool:
    return spec.proto_class == TENSOR


def _spec_classes() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in _subclasses(TypeSpec):
        found.setdefault(one.proto_class, one)
    return found


def _subclasses(cls: Any) -> Iterator[Any]:
    for one in cls.__subclasses__():
        yield one
        yield from _subclasses(one)
