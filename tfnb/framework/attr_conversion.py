"""Conversion of attributes between the forms that users give, are stored, and ``get_attr`` returns.

Operations store the plain values of :mod:`tfnb.core.attr_value`; only an attribute that an op does
not declare may be stored as a message, if the message holds no value.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.attr_value import NameAttrList, TensorAttr, decode_attr, encode_attr, kind_of_list
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.core.tensor_util import shape_to_proto
from tfnb.core.text_bytes import shown_text, text_bytes
from tfnb.proto import attr_value_pb2, tensor_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import AttrDef

_AttrValue = attr_value_pb2.AttrValue


def make_attr(value: Any, attr_def: AttrDef, op_name: str, *, check: bool = True) -> Any:
    """Convert a value that a user passed for an attribute, and check that the op allows it.

    Args:
      value: the value.
      attr_def: the attribute.
      op_name: the op, for messages.
      check: whether to compare with allowed values and minima.

    Raises:
      TypeError: the value is of another kind, or a dtype that the op does not accept.
      ValueError: it is too small, too short, or not one of the allowed strings.
    """
    kind, name = attr_def.type, attr_def.name
    if kind.startswith("list("):
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"Expected list for attr {name}, obtained {type(value).__name__} instead."
            )
        make = _MAKERS[kind[5:-1]]
        made: Any = [make(one, name) for one in value]
    else:
        made = _MAKERS[kind](value, name)
    if check:
        check_attr(made, attr_def, op_name)
    return made


def check_attr(value: Any, attr_def: AttrDef, op_name: str) -> None:
    """Compare a stored value with the op's allowed values and minima.

    Raises:
      TypeError: the value is a dtype that the op does not accept.
      ValueError: the value is too small, too short, or a string that is not allowed.
    """
    kind, name = attr_def.type, attr_def.name
    is_list = kind.startswith("list(")
    minimum = attr_def.minimum
    if minimum is not None:
        if is_list and len(value) < minimum:
            raise ValueError(
                f"Attr '{name}' of '{op_name}' Op passed list of length {len(value)} less than "
                f"minimum {minimum}."
            )
        if kind == "int" and value < minimum:
            raise ValueError(
                f"Attr '{name}' of '{op_name}' Op passed {value} less than minimum {minimum}."
            )
    if not attr_def.allowed:
        return
    for one in value if is_list else (value,):
        if one in attr_def.allowed:
            continue
        if isinstance(one, bytes):
            allowed = '", "'.join(text.decode() for text in attr_def.allowed)
            raise ValueError(
                f"Attr '{name}' of '{op_name}' Op passed string '{shown_text(one)}' not in: "
                f'"{allowed}".'
            )
        raise not_allowed_type(one, attr_def.allowed, name)


def not_allowed_type(dtype: DType, allowed: tuple[DType, ...], name: str) -> TypeError:
    """Return the exception for a dtype that an op does not accept."""
    listed = ", ".join(one.name for one in allowed)
    return TypeError(
        f"Value passed to parameter '{name}' has DataType {dtype.name} not in list of allowed "
        f"values: {listed}"
    )


def stored_attr(value: Any, attr_def: AttrDef | None) -> Any:
    """Return the stored form of an attribute that is given as a message or as a plain value.

    Raises:
      TypeError: the value is of another kind than the op declares.
    """
    if attr_def is None:
        if not isinstance(value, _AttrValue):
            value = encode_attr(value)
        return undeclared_attr(value)
    if isinstance(value, _AttrValue):
        return decoded_attr(value, attr_def)
    return make_attr(value, attr_def, "", check=False)


def decoded_attr(message: _AttrValue, attr_def: AttrDef) -> Any:
    """Return the plain value of a declared attribute's message; an empty message is an empty list.

    Raises:
      TypeError: the message holds another kind of value.
    """
    kind = message.WhichOneof("value")
    if kind is None and attr_def.type.startswith("list("):
        return []
    if kind != field_of(attr_def.type):
        raise TypeError(
            f"AttrValue had value with type '{_FIELD_WORDS.get(kind, kind)}' when "
            f"'{attr_def.type}' expected for attr '{attr_def.name}'"
        )
    found = kind_of_list(message.list) if kind == "list" else None
    if found is not None and found != attr_def.type:
        raise TypeError(
            f"AttrValue had value with type '{found}' when '{attr_def.type}' expected for attr "
            f"'{attr_def.name}'"
        )
    return decode_attr(message)


def undeclared_attr(message: _AttrValue) -> Any:
    """Return the plain value of an undeclared attribute, or the message if it has none."""
    try:
        return decode_attr(message)
    except errors.InvalidArgumentError:
        copy = _AttrValue()
        copy.CopyFrom(message)
        return copy


def public_attr(value: Any) -> Any:
    """Return a stored attribute in the form that ``Operation.get_attr`` returns."""
    kind = type(value)
    if kind is list:
        return [public_attr(one) for one in value]
    if kind is TensorShape:
        return shape_to_proto(value)
    if kind is TensorAttr:
        copy = tensor_pb2.TensorProto()
        copy.CopyFrom(value.proto)
        return copy
    if kind is NameAttrList:
        return encode_attr(value, "func").func
    if kind is _AttrValue:
        return value.placeholder or []  # TensorFlow takes an empty message for an empty list
    return value


def field_of(attr_type: str) -> str:
    """Return the field of AttrValue that holds a value of this kind."""
    return "list" if attr_type.startswith("list(") else _FIELDS[attr_type]


_FIELDS = {
    "string": "s",
    "int": "i",
    "float": "f",
    "bool": "b",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}
_FIELD_WORDS: dict[str | None, str] = {field: kind for kind, field in _FIELDS.items()}


# --------------------------------------------------------------------------- one kind after another


def _make_float(value: Any, name: str) -> float:
    if not isinstance(value, (numbers.Real, np.integer, np.floating)):
        raise TypeError(f"Expected float for argument '{name}' not {value!r}.")
    return float(value)


def _make_int(value: Any, name: str) -> int:
    if type(value) is not int:
        if isinstance(value, str):
            raise _no_int(value, name)
        try:
            value = int(value)
        except (ValueError, TypeError):
            raise _no_int(value, name) from None
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"Value out of range: {value}")
    return cast("int", value)


def _no_int(value: Any, name: str) -> TypeError:
    return TypeError(f"Expected int for argument '{name}' not {value!r}.")


def _make_bytes(value: Any, name: str) -> bytes:
    if isinstance(value, str):
        return text_bytes(value)
    if isinstance(value, bytes):
        return bytes(value)
    raise TypeError(f"Expected string for argument '{name}' not {value!r}.")


def _make_bool(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"Expected bool for argument '{name}' not {value!r}.")
    return value


def _make_type(value: Any, name: str) -> DType:
    try:
        return dtypes.as_dtype(value).base_dtype
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{name}' not {value!r}.") from None


def _make_shape(value: Any, name: str) -> TensorShape:
    try:
        return as_shape(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Error converting {value!r} (arg name = {name}) to a TensorShape: {error}"
        ) from None


def _make_tensor(value: Any, name: str) -> TensorAttr:
    if isinstance(value, TensorAttr):
        return value
    if isinstance(value, tensor_pb2.TensorProto):
        return TensorAttr(value)
    raise TypeError(f"Don't know how to convert {value!r} to a TensorProto for argument '{name}'")


def _make_func(value: Any, name: str) -> NameAttrList:
    if isinstance(value, NameAttrList):
        return value
    if isinstance(value, attr_value_pb2.NameAttrList):
        func: NameAttrList = decode_attr(_AttrValue(func=value))
        return func
    if isinstance(value, (str, bytes)):
        return NameAttrList(value.decode() if isinstance(value, bytes) else value)
    add_to_graph = getattr(value, "add_to_graph", None)
    if add_to_graph is None:
        raise TypeError(f"Don't know how to convert {value!r} to a func for argument {name}")
    from tfnb.framework.default_graph import get_default_graph

    add_to_graph(get_default_graph())
    return NameAttrList(value.name)


_MAKERS: dict[str, Callable[[Any, str], Any]] = {
    "string": _make_bytes,
    "int": _make_int,
    "float": _make_float,
    "bool": _make_bool,
    "type": _make_type,
    "shape": _make_shape,
    "tensor": _make_tensor,
    "func": _make_func,
}
