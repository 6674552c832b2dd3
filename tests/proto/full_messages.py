"""A message with every field set, to compare what two sets of classes write to the wire."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

_MAX_DEPTH = 3  # of messages inside messages; some types contain themselves

_SCALARS: dict[int, Any] = {
    FieldDescriptor.CPPTYPE_INT32: -7,
    FieldDescriptor.CPPTYPE_INT64: -(2**40),
    FieldDescriptor.CPPTYPE_UINT32: 2**31,
    FieldDescriptor.CPPTYPE_UINT64: 2**63,
    FieldDescriptor.CPPTYPE_DOUBLE: 0.1,
    FieldDescriptor.CPPTYPE_FLOAT: -1.5,
    FieldDescriptor.CPPTYPE_BOOL: True,
}


def fill(message: Any, depth: int = 0) -> None:
    """Set every field; of a oneof, the last member stays."""
    for field in message.DESCRIPTOR.fields:
        repeated = not isinstance(getattr(message, field.name), (int, float, str, bytes)) and (
            hasattr(getattr(message, field.name), "__len__")
        )
        if field.message_type is None:
            value = _scalar(field)
            if repeated:
                getattr(message, field.name).extend([value, value])
            else:
                setattr(message, field.name, value)
        elif depth < _MAX_DEPTH:
            _fill_submessage(getattr(message, field.name), field, repeated, depth)


def _scalar(field: Any) -> Any:
    if field.enum_type is not None:
        return max(field.enum_type.values_by_number)
    if field.type == FieldDescriptor.TYPE_STRING:
        return f"{field.name} é"
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b"\x00\xff" + field.name.encode()
    return _SCALARS[field.cpp_type]


def _fill_submessage(value: Any, field: Any, repeated: bool, depth: int) -> None:
    if not field.message_type.GetOptions().map_entry:
        target = value.add() if repeated else value
        target.SetInParent()
        fill(target, depth + 1)
        return
    key = _scalar(field.message_type.fields_by_name["key"])
    value_field = field.message_type.fields_by_name["value"]
    if value_field.message_type is None:
        value[key] = _scalar(value_field)
    else:
        fill(value[key], depth + 1)
