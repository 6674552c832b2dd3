"""Conversion of attribute values between AttrValue messages and plain Python values.

| kind   | Python value                                                    |
|--------|-----------------------------------------------------------------|
| int    | int                                                             |
| float  | float                                                           |
| bool   | bool                                                            |
| string | bytes                                                           |
| type   | DType                                                           |
| shape  | TensorShape                                                     |
| tensor | TensorAttr: the TensorProto, decoded on first use               |
| func   | NameAttrList: a function's name and its attributes              |
| list(k)| list of these                                                   |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors, tensor_util
from tfnb.core.dtypes import DType
from tfnb.core.process.records import field, record
from tfnb.core.tensor_shape import TensorShape
from tfnb.core.tensor_util import shape_from_proto, shape_to_proto
from tfnb.proto import attr_value_pb2, tensor_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


# The message of a larger tensor is not kept, but made again at each use.
_MAX_KEPT_BYTES = 2**24


class TensorAttr:
    """A tensor in an attribute: a TensorProto, an array, or both once converted.

    >>> attr = TensorAttr.from_value(np.float32([1, 2]))
    >>> attr.dtype, attr.shape, attr.proto.tensor_shape.dim[0].size
    (tf.float32, TensorShape([Dimension(2)]), 2)

    Attributes:
        dtype: The tensor's type, known without decoding.
    """

    # Each field is set at most once, to a value that depends only on the other field. Two threads
    # that convert at the same time only do the same work twice.
    __slots__ = ("_proto", "_value", "dtype")

    dtype: DType
    _proto: tensor_pb2.TensorProto | None
    _value: NDArray[Any] | None

    def __init__(self, proto: tensor_pb2.TensorProto) -> None:
        """Keep the message; only the type is decoded and checked."""
        self.dtype = _dtype_of_enum(proto.dtype)
        self._proto = proto
        self._value = None

    @property
    def decoded(self) -> NDArray[Any] | None:
        """The array if it is at hand, or None; internal to tfnb."""
        return self._value

    @classmethod
    def from_value(cls, value: NDArray[Any], dtype: DType | None = None) -> TensorAttr:
        """Return the attribute for an array, which must not be written to afterwards.

        Args:
            value: The tensor.
            dtype: Needed for the quantized types, which cannot be told from their arrays.
        """
        attr = cls.__new__(cls)
        attr._proto = None
        if value.flags.writeable:
            value = value.view()
            value.flags.writeable = False
        attr._value = value
        attr.dtype = dtypes.as_dtype(value.dtype) if dtype is None else dtype.base_dtype
        return attr

    def value(self) -> NDArray[Any]:
        """Return the tensor as a read-only array; InvalidArgumentError if the proto is bad."""
        value = self._value
        if value is None:
            assert self._proto is not None
            value = tensor_util.decode_tensor(self._proto)
            value.flags.writeable = False
            self._value = value
        return value

    @property
    def proto(self) -> tensor_pb2.TensorProto:
        """The tensor as a message, which must not be changed."""
        proto = self._proto
        if proto is None:
            assert self._value is not None
            proto = tensor_util.encode_tensor(self._value, self.dtype)
            if self.num_content_bytes <= _MAX_KEPT_BYTES:
                self._proto = proto
        return proto

    @property
    def shape(self) -> TensorShape:
        """The tensor's shape, known without decoding."""
        if self._value is not None:
            return TensorShape.from_tuple(self._value.shape)
        assert self._proto is not None
        return TensorShape.from_tuple(tensor_util.shape_of_tensor_proto(self._proto))

    @property
    def num_content_bytes(self) -> int:
        """Size in bytes of the message's ``tensor_content``; 0 if its items are listed."""
        if self._proto is not None:
            return len(self._proto.tensor_content)
        value = self._value
        assert value is not None
        return value.nbytes if value.size > 1 and value.dtype != object else 0

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same tensor, however it is encoded (NaN equals NaN)."""
        if self is other:
            return True
        if not isinstance(other, TensorAttr):
            return NotImplemented
        if self._proto is not None and self._proto == other._proto:
            return True
        if self.dtype is not other.dtype or self.shape != other.shape:
            return False
        mine, theirs = self.value(), other.value()
        if self.dtype is dtypes.string:
            return bool((mine == theirs).all())
        return mine.tobytes() == theirs.tobytes()

    def __hash__(self) -> int:
        """Return a hash of the type and the shape."""
        return hash((self.dtype, self.shape))

    def __repr__(self) -> str:
        """Return type and shape, and the value if it is small."""
        size = self.shape.num_elements()
        value = f" {self.value().tolist()!r}" if size is not None and size <= 8 else ""
        return f"<TensorAttr {self.dtype.name} {self.shape}{value}>"


@record(slots=True)
class NameAttrList:
    """A function by name, with the values of its attributes."""

    name: str
    attrs: dict[str, Any] = field(default_factory=dict)


def decode_attr(attr: attr_value_pb2.AttrValue) -> Any:
    """Return the Python value of a message.

    >>> decode_attr(attr_value_pb2.AttrValue(i=3))
    3

    Raises:
        InvalidArgumentError: The message has no value, a placeholder, or an unknown type.
    """
    kind = attr.WhichOneof("value")
    decoder = _DECODERS.get(kind)
    if decoder is not None:
        return decoder(getattr(attr, kind))  # type: ignore[arg-type]  # a kind with decoder is a name
    if kind in _PLAIN:
        return getattr(attr, kind)
    if kind == "placeholder":
        raise errors.invalid_argument(
            f"An attribute still holds the placeholder '${attr.placeholder}' of a function body; "
            "it gets its value when the function is instantiated."
        )
    raise errors.invalid_argument("AttrValue must have a value, found an empty one.")


_PLAIN = frozenset(["s", "i", "f", "b"])


def _dtype_of_enum(enum: int) -> DType:
    try:
        return dtypes.as_dtype(enum)
    except TypeError:
        raise errors.invalid_argument(f"{enum} is not the number of a data type.") from None


def _decode_func(func: attr_value_pb2.NameAttrList) -> NameAttrList:
    return NameAttrList(func.name, decode_attrs(func.attr))


def _decode_list(values: attr_value_pb2.AttrValue.ListValue) -> list[Any]:
    fields = values.ListFields()
    if not fields:
        return []
    if len(fields) > 1:
        names = ", ".join(descriptor.name for descriptor, _ in fields)
        raise errors.invalid_argument(f"A list attribute mixes values of several kinds: {names}.")
    descriptor, items = fields[0]
    decoder = _DECODERS.get(descriptor.name)
    return list(items) if decoder is None else [decoder(item) for item in items]


def kind_of_list(values: attr_value_pb2.AttrValue.ListValue) -> str | None:
    """Return the kind of attribute of a list's values, as in an OpDef; None for an empty list.

    >>> kind_of_list(attr_value_pb2.AttrValue.ListValue(i=[3]))
    'list(int)'
    """
    fields = values.ListFields()
    if not fields:
        return None
    name = fields[0][0].name
    return f"list({_WORDS_OF_FIELDS.get(name, name)})"


_WORDS_OF_FIELDS = {"s": "string", "i": "int", "f": "float", "b": "bool"}

_DECODERS: dict[str | None, Callable[[Any], Any]] = {
    "type": _dtype_of_enum,
    "shape": shape_from_proto,
    "tensor": TensorAttr,
    "func": _decode_func,
    "list": _decode_list,
}


def decode_attrs(attrs: Mapping[str, attr_value_pb2.AttrValue]) -> dict[str, Any]:
    """Return the Python values of a node's attribute map.

    Attributes whose names begin with "_" are private to their writer: empty ones are left out, as
    in TensorFlow's validation.

    Raises:
        InvalidArgumentError: A value is bad; the message names the attribute.
    """
    decoded = {}
    for name, attr in attrs.items():
        if name.startswith("_") and attr.WhichOneof("value") is None:
            continue
        try:
            decoded[name] = decode_attr(attr)
        except errors.InvalidArgumentError as error:
            error.message = f"Attribute '{name}': {error.message}"
            raise
    return decoded


def encode_attr(value: Any, attr_type: str | None = None) -> attr_value_pb2.AttrValue:
    """Return the message for a Python value.

    >>> encode_attr("SAME", "string").s, encode_attr([1, 2], "list(int)").list.i[1]
    (b'SAME', 2)

    Args:
        value: A value as in the table above, or one that converts to it without ambiguity.
        attr_type: The kind, as in an OpDef. None: the kind is inferred from the value.

    Raises:
        TypeError: The value is not of this kind.
    """
    message = attr_value_pb2.AttrValue()
    if attr_type is None:
        attr_type = kind_of(value)
    try:
        if attr_type.startswith("list("):
            _encode_list(message, value, attr_type[5:-1])
        else:
            _SETTERS[attr_type](message, value)
    except (TypeError, ValueError, AttributeError) as error:
        raise TypeError(
            f"Expected a value of kind {attr_type} for an attribute, got {value!r} "
            f"of type '{type(value).__name__}'."
        ) from error
    return message


def kind_of(value: Any) -> str:
    """Return the attribute kind that is inferred from a Python value.

    >>> kind_of(3), kind_of([dtypes.int32]), kind_of([])
    ('int', 'list(type)', 'list(int)')

    Raises:
        TypeError: The value has no attribute kind.
    """
    if isinstance(value, (list, tuple)):
        return f"list({kind_of(value[0])})" if value else "list(int)"
    for python_type, kind in _KINDS:
        if isinstance(value, python_type):
            return kind
    raise TypeError(f"{value!r} of type '{type(value).__name__}' cannot be an attribute.")


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "bool"),
    ((int, np.integer), "int"),
    ((float, np.floating), "float"),
    ((bytes, str), "string"),
    (DType, "type"),
    (TensorShape, "shape"),
    ((TensorAttr, np.ndarray, tensor_pb2.TensorProto), "tensor"),
    ((NameAttrList, attr_value_pb2.NameAttrList), "func"),
)


def _to_int(value: Any) -> int:
    if isinstance(value, (float, np.floating, str, bytes)):
        raise TypeError("not an integer")
    return int(value)


def _to_float(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError("not a number")
    return float(value)


def _to_bool(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError("not a boolean")
    return bool(value)


def _to_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _to_enum(value: Any) -> Any:
    return dtypes.as_dtype(value).as_datatype_enum


def _to_shape_proto(value: Any) -> tensor_pb2.TensorShapeProto:
    return shape_to_proto(value if isinstance(value, TensorShape) else TensorShape(value))


def _to_tensor_proto(value: Any) -> tensor_pb2.TensorProto:
    if isinstance(value, TensorAttr):
        return value.proto
    return tensor_util.make_tensor_proto(value)


def _to_func(value: Any) -> attr_value_pb2.NameAttrList:
    if isinstance(value, attr_value_pb2.NameAttrList):
        return value
    if isinstance(value, str):
        return attr_value_pb2.NameAttrList(name=value)
    attrs = getattr(value, "attrs", None) or {}
    func = attr_value_pb2.NameAttrList(name=value.name)
    for name, attr in attrs.items():
        func.attr[name].CopyFrom(encode_attr(attr))
    return func


# kind -> (field of AttrValue and of its ListValue, conversion, whether the field is a message)
_FIELDS: dict[str, tuple[str, Callable[[Any], Any], bool]] = {
    "int": ("i", _to_int, False),
    "float": ("f", _to_float, False),
    "bool": ("b", _to_bool, False),
    "string": ("s", _to_bytes, False),
    "type": ("type", _to_enum, False),
    "shape": ("shape", _to_shape_proto, True),
    "tensor": ("tensor", _to_tensor_proto, True),
    "func": ("func", _to_func, True),
}


def _setter(kind: str) -> Callable[[attr_value_pb2.AttrValue, Any], None]:
    name, convert, is_message = _FIELDS[kind]

    def set_scalar(message: attr_value_pb2.AttrValue, value: Any) -> None:
        setattr(message, name, convert(value))

    def set_message(message: attr_value_pb2.AttrValue, value: Any) -> None:
        getattr(message, name).CopyFrom(convert(value))

    return set_message if is_message else set_scalar


_SETTERS = {kind: _setter(kind) for kind in _FIELDS}


def _encode_list(message: attr_value_pb2.AttrValue, values: Any, kind: str) -> None:
    name, convert, _ = _FIELDS[kind]
    if isinstance(values, (str, bytes)):
        raise TypeError("a list of values is required, not one string")
    message.list.SetInParent()  # an empty list is a value too
    getattr(message.list, name).extend([convert(value) for value in values])
