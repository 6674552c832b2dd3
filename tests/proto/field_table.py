"""Tables of fields of a message or values of an enum, from TensorFlow's descriptors or ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELD = descriptor_pb2.FieldDescriptorProto


def message_table(message: Any) -> list[list[Any]]:
    """One row per field, in order of number.

    A row holds name, number, type, label, JSON name, named type, oneof, and deprecation.
    """
    proto = descriptor_pb2.DescriptorProto()
    message.CopyToProto(proto)
    rows = []
    for field in sorted(proto.field, key=lambda field: field.number):
        oneof = proto.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
        rows.append(
            [
                field.name,
                field.number,
                _FIELD.Type.Name(field.type).removeprefix("TYPE_").lower(),
                _FIELD.Label.Name(field.label).removeprefix("LABEL_").lower(),
                message.fields_by_name[field.name].json_name,
                field.type_name.removeprefix("."),
                oneof,
                field.options.deprecated,
            ]
        )
    return rows


def enum_table(enum: Any) -> list[list[Any]]:
    """One row per value: name and number."""
    return sorted(([value.name, value.number] for value in enum.values), key=lambda row: row[::-1])


def tables_of_file(file: Any) -> Iterator[tuple[str, list[list[Any]]]]:
    """The table of every message and enum in a file, nested ones included, by full name."""
    for enum in file.enum_types_by_name.values():
        yield enum.full_name, enum_table(enum)
    for message in file.message_types_by_name.values():
        yield from tables_of_message(message)


def tables_of_message(message: Any) -> Iterator[tuple[str, list[list[Any]]]]:
    """The table of a message and of everything declared inside it."""
    yield message.full_name, message_table(message)
    for enum in message.enum_types:
        yield enum.full_name, enum_table(enum)
    for nested in message.nested_types:
        yield from tables_of_message(nested)
