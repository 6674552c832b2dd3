"""Between Python values, arrays and TensorProto messages.

Three steps, each of use by itself: ``convert_to_ndarray`` (a Python value becomes an array of the
right type), ``encode_tensor`` (an array becomes a message) and ``decode_tensor`` (a message becomes
an array). ``make_tensor_proto`` and ``make_ndarray`` are the public functions made of them.

A message may hold its elements as raw bytes (``tensor_content``) or as a typed list; a list that is
too short is continued with its last element, an empty one means zeros. A message claims its size in
a few bytes, so ``decode_tensor`` compares the claim with what is there, and with the memory of this
machine, before it allocates anything.
"""

from __future__ import annotations

import contextlib
import functools
import math
import numbers
import os
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.tensor_shape import UNKNOWN, Dimension, ShapeLike, TensorShape
from tfnb.proto import tensor_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tfnb.core.dtypes import DType

MAX_RANK = 254
MAX_ELEMENTS = 2**63 - 1
MAX_CONTENT_BYTES = 2**31

# ----------------------------------------------------------------------------------------- shapes


def shape_to_proto(shape: TensorShape) -> tensor_pb2.TensorShapeProto:
    """Return the message for a shape; an unknown size is written as -1.

    >>> [dim.size for dim in shape_to_proto(TensorShape([2, None])).dim]
    [2, -1]
    """
    proto = tensor_pb2.TensorShapeProto()
    if shape.dim_values is None:
        proto.unknown_rank = True
        return proto
    for size in shape.dim_values:
        proto.dim.add(size=-1 if size is None else size)
    return proto


def shape_from_proto(proto: tensor_pb2.TensorShapeProto) -> TensorShape:
    """Return the shape in a message, where -1 means an unknown size.

    Raises:
        InvalidArgumentError: A size below -1, too many dimensions or elements, or dimensions
            in a shape of unknown rank.
    """
    sizes = [dim.size for dim in proto.dim]
    if proto.unknown_rank:
        if sizes:
            raise errors.invalid_argument(
                f"An unknown shape must not have any dimensions set, found {_proto_text(sizes)}."
            )
        return UNKNOWN
    if sizes and min(sizes) < -1:
        raise errors.invalid_argument(
            f"Shape {_proto_text(sizes)} has dimensions with values below -1 (where -1 means "
            "unknown)."
        )
    if len(sizes) > MAX_RANK:
        raise errors.invalid_argument(f"Shape {_proto_text(sizes)} has too many dimensions.")
    if -1 not in sizes:
        _check_elements(sizes)
        return TensorShape._from_tuple(tuple(sizes))
    return TensorShape._from_tuple(tuple([None if size == -1 else size for size in sizes]))


def shape_of_tensor_proto(proto: tensor_pb2.TensorProto) -> tuple[int, ...]:
    """Return the sizes a TensorProto claims, checked but for the data behind them.

    Raises:
        InvalidArgumentError: A negative size, more than 254 dimensions, or 2**63 elements.
    """
    sizes = tuple([dim.size for dim in proto.tensor_shape.dim])
    if sizes and min(sizes) < 0:
        raise errors.invalid_argument(f"Shape {_proto_text(sizes)} is not fully defined")
    if len(sizes) > MAX_RANK:
        raise errors.invalid_argument(f"Shape {_proto_text(sizes)} has too many dimensions")
    _check_elements(sizes)
    return sizes


def _check_elements(sizes: Sequence[int]) -> None:
    if math.prod(sizes) > MAX_ELEMENTS:
        raise errors.invalid_argument(
            f"Shape {_proto_text(sizes)} is too large (more than 2**63 - 1 entries)"
        )


def _proto_text(sizes: Sequence[int]) -> str:
    return f"[{','.join('?' if size == -1 else str(size) for size in sizes)}]"


# --------------------------------------------------------------------- Python values into arrays


def convert_to_ndarray(values: Any, dtype: DType | None = None) -> NDArray[Any]:
    """Return a value as an array of a TensorFlow type.

    Without ``dtype``, Python floats become float32 and Python ints int32 (int64 or uint64 if they
    do not fit); arrays keep their type. With it, an array is cast silently and a Python value only
    if its kind fits: no float becomes an integer, no number a bool or a string.

    >>> convert_to_ndarray([1, 2.5]).dtype, convert_to_ndarray([1, 2]).dtype
    (dtype('float32'), dtype('int32'))
    >>> convert_to_ndarray(["a", b"b"])
    array([b'a', b'b'], dtype=object)

    Raises:
        TypeError: An element is of the wrong kind, or of none.
        ValueError: Rows of different lengths, or None.
    """
    if dtype is not None:
        dtype = dtype.base_dtype
    python_type = type(values)
    if python_type is float or python_type is int:  # by far the most frequent constants
        wanted = dtype or (dtypes.float32 if python_type is float else dtypes.int32)
        if python_type is int or wanted.is_floating:
            limit = _SAFE_LIMITS.get(wanted)
            if limit is not None and -limit < values < limit:
                return np.array(values, wanted.numpy_dtype)
    if python_type is np.ndarray or isinstance(values, (np.ndarray, np.generic)):
        return _convert_array(np.asarray(values), dtype)
    if values is None:
        raise ValueError("None values not supported.")
    if python_type not in _LEAF_KINDS and python_type is not list and python_type is not tuple:
        if callable(getattr(values, "__array__", None)):
            return _convert_array(np.asarray(values), dtype)
        if isinstance(values, (bytearray, memoryview)):
            return _convert_array(np.array(memoryview(values)), dtype)
    kinds = _kinds_of(values)
    if dtype is None:
        return _convert_inferred(values, kinds)
    return _convert_checked(values, kinds, dtype)


# A Python number nearer to 0 than this converts without overflow.
_SAFE_LIMITS = {
    dtypes.float32: 3e38,
    dtypes.float64: math.inf,
    dtypes.int32: 2**31,
    dtypes.int64: 2**63,
}

# The kind of a leaf by its type: b bool, i integer, f real, c complex, s text, d Dimension,
# x anything else. A capital letter: not the Python type itself, but a NumPy scalar, for example.
_LEAF_KINDS: dict[type, str] = {
    bool: "b",
    int: "i",
    float: "f",
    complex: "c",
    str: "s",
    bytes: "s",
    Dimension: "d",
    type(None): "x",
}


def _kind_of_type(leaf_type: type) -> str:
    kind = _LEAF_KINDS.get(leaf_type)
    if kind is None:
        kind = _LEAF_KINDS[leaf_type] = _new_kind(leaf_type)
    return kind


def _new_kind(leaf_type: type) -> str:
    for kind, base in (
        ("s", (str, bytes)),
        ("B", (np.bool_,)),
        ("I", (numbers.Integral, np.integer)),
        ("F", (numbers.Real, np.floating)),
        ("C", (numbers.Complex, np.complexfloating)),
    ):
        if issubclass(leaf_type, base):
            return kind
    if not issubclass(leaf_type, np.generic):
        return "x"
    try:
        extended = dtypes.as_dtype(leaf_type)
    except TypeError:
        return "x"
    return "I" if extended.is_integer else "F"


def _kinds_of(values: Any) -> set[str]:
    """Return the kinds of all leaves of nested lists and tuples."""
    types: set[type] = set()
    level = [values]
    while level:
        here = set(map(type, level))
        nested = {found for found in here if issubclass(found, (list, tuple))}
        types |= here - nested
        if np.ndarray in here:
            types.remove(np.ndarray)
            types |= {leaf.dtype.type for leaf in level if type(leaf) is np.ndarray}
        if not nested:
            break
        rows = level if nested == here else [row for row in level if isinstance(row, (list, tuple))]
        level = list(chain.from_iterable(rows))
    return set(map(_kind_of_type, types))


def _kind_of_leaf(value: Any) -> str:
    return _kind_of_type(value.dtype.type if isinstance(value, np.ndarray) else type(value))


def _convert_array(array: NDArray[Any], dtype: DType | None) -> NDArray[Any]:
    own = dtypes.as_dtype(array.dtype)
    if own is dtypes.string and (dtype is None or dtype is dtypes.string):
        return _bytes_array(array)
    if array.dtype.names is not None:  # a quantized type in TensorFlow's structured form
        array = array.view(own.numpy_dtype)
    if dtype is None:
        return array if array.dtype.isnative else array.astype(own.numpy_dtype)
    if dtype is dtypes.string:
        if not array.size:
            return np.empty(array.shape, dtype=object)
        raise TypeError(f"Expected binary or unicode string, got {array.ravel()[:1].tolist()[0]}")
    if not dtype.is_numpy_compatible:
        raise _not_convertible(array, dtype, own)
    if array.dtype == dtype.numpy_dtype:
        return array
    with np.errstate(all="ignore"):
        return array.astype(dtype.numpy_dtype)


def _not_convertible(values: Any, dtype: DType, own: DType) -> TypeError:
    return TypeError(f"`dtype` {dtype} is not compatible with {values} of dtype {own.name}.")


def _bytes_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return any array of text as an object array of bytes."""
    if array.dtype == object:
        flat = array.ravel().tolist()
        if all(type(item) is bytes for item in flat):
            return array
    else:
        flat = array.ravel().tolist()
    return _object_array([_as_bytes(item) for item in flat], array.shape)


def _as_bytes(item: Any) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, bytes):
        return bytes(item)
    raise TypeError(f"Expected binary or unicode string, got {item!r}")


def _object_array(items: Iterable[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.empty(math.prod(shape), dtype=object)
    array[:] = list(items)
    return array.reshape(shape)


def _convert_inferred(values: Any, kinds: set[str]) -> NDArray[Any]:
    if kinds == {"s"}:
        return _convert_text(values)
    if not kinds.issubset("bifcBIFC"):
        raise _no_type_for(values)
    array = None
    with np.errstate(all="ignore"):
        if "f" in kinds and kinds.issubset("bif"):
            array = np.array(values, np.float32)
        elif "i" in kinds and kinds.issubset("bi"):
            with contextlib.suppress(OverflowError):
                array = np.array(values, np.int32)
        if array is None:
            array = np.array(values)
            if array.dtype == np.float64:
                array = array.astype(np.float32)
    if array.dtype == object:
        raise _no_type_for(values)
    _check_dense(values, array)
    if array.dtype == np.int64 and (
        not array.size or (array.max() <= _INT32_MAX and array.min() >= _INT32_MIN)
    ):
        return array.astype(np.int32)
    return array


_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1


def _no_type_for(values: Any) -> TypeError:
    return TypeError(
        f"Failed to convert elements of {values} to Tensor. Consider casting elements to a "
        "supported type: numbers, booleans, strings, or lists of one of these."
    )


def _allowed_kinds(dtype: DType) -> str:
    if dtype.is_floating:
        return "bifBIF"
    if dtype.is_integer:
        return "biBId"
    if dtype.is_complex:
        return "bifcBIFC"
    return "bB" if dtype.is_bool else "s"


def _convert_checked(values: Any, kinds: set[str], dtype: DType) -> NDArray[Any]:
    if dtype.is_quantized:
        values = _strip_quantized(values, dtype)
    elif not dtype.is_numpy_compatible:
        own = dtypes.as_dtype(np.array(values).dtype)
        raise _not_convertible(values, dtype, own)
    else:
        allowed = _allowed_kinds(dtype)
        if not kinds.issubset(allowed):
            raise _unexpected(_first_of_other_kind(values, allowed), dtype)
    if dtype is dtypes.string:
        return _convert_text(values)
    with np.errstate(all="ignore"):
        try:
            array = np.array(values, dtype=dtype.numpy_dtype)
        except OverflowError:  # an integer out of range wraps, as a cast of an array would
            array = np.array(values)
            if array.dtype == object:
                raise
            array = array.astype(dtype.numpy_dtype)
    _check_dense(values, array)
    return array


def _unexpected(value: Any, dtype: DType) -> TypeError:
    return TypeError(f"Expected {dtype.name}, but got {value} of type '{type(value).__name__}'.")


def _first_of_other_kind(values: Any, allowed: str) -> Any:
    """Return the first leaf whose kind is not allowed."""
    if not isinstance(values, (list, tuple)):
        return values
    for value in values:
        if not _kinds_of(value).issubset(allowed):
            return _first_of_other_kind(value, allowed)
    raise AssertionError("every leaf is of an allowed kind")


def _strip_quantized(values: Any, dtype: DType) -> Any:
    """Return quantized values without the tuple around each of them."""
    if isinstance(values, tuple) and len(values) == 1 and not isinstance(values[0], (list, tuple)):
        if _kind_of_leaf(values[0]) not in "biBI":
            raise _unexpected(values[0], dtype)
        return values[0]
    if isinstance(values, (list, tuple)):
        return [_strip_quantized(value, dtype) for value in values]
    raise _unexpected(values, dtype)


def _dense_dims(values: Any) -> list[int]:
    """Return the shape of nested lists, judged by the first element of each level."""
    dims = []
    while isinstance(values, (list, tuple)):
        dims.append(len(values))
        if not values:
            break
        values = values[0]
    return dims


def _check_dense(values: Any, array: NDArray[Any]) -> None:
    dims = _dense_dims(values)
    if len(dims) != array.ndim or list(array.shape) != dims:
        raise ValueError(
            f"Expected values {values} to be a dense tensor with shape {dims}, "
            f"but got shape {list(array.shape)}."
        )


def _convert_text(values: Any) -> NDArray[Any]:
    """Return nested lists of text as an object array of bytes."""
    if type(values) is str:
        values = values.encode()
    if type(values) is bytes:
        scalar = np.empty((), dtype=object)
        scalar[()] = values
        return scalar
    dims = _dense_dims(values)
    flat: list[Any] = [values]
    for size in dims:
        for row in flat:
            if not isinstance(row, (list, tuple)) or len(row) != size:
                raise ValueError(
                    f"Expected values {values} to be a dense tensor with shape {dims}, but its "
                    "rows have different lengths: the array has an inhomogeneous shape."
                )
        flat = list(chain.from_iterable(flat))
    items = [
        item if type(item) is bytes else _as_bytes(item.item() if _is_array(item) else item)
        for item in flat
    ]
    return _object_array(items, tuple(dims))


def _is_array(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.ndim == 0


# --------------------------------------------------------------------------- arrays into messages

# Types whose arrays of more than one element travel as raw bytes; the others as typed lists.
_CONTENT_TYPES = frozenset(
    dtype
    for dtype in dtypes._INTERN_TABLE.values()
    if (dtype.is_floating or dtype.is_integer or dtype.is_quantized)
    and dtype not in (dtypes.uint16, dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2)
)

_LIST_FIELDS: dict[DType, str] = {
    dtypes.float32: "float_val",
    dtypes.float64: "double_val",
    dtypes.float16: "half_val",
    dtypes.bfloat16: "half_val",
    dtypes.int64: "int64_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
    dtypes.string: "string_val",
    dtypes.bool: "bool_val",
    dtypes.complex64: "scomplex_val",
    dtypes.complex128: "dcomplex_val",
} | dict.fromkeys(
    (
        *(dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint16, dtypes.uint8),
        *(dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2),
        *(dtypes.qint32, dtypes.qint16, dtypes.qint8, dtypes.quint16, dtypes.quint8),
    ),
    "int_val",
)


def encode_tensor(
    array: NDArray[Any],
    dtype: DType | None = None,
    shape: Sequence[int] | None = None,
) -> tensor_pb2.TensorProto:
    """Return the message for an array that has its final type.

    Args:
        array: The values; an array of strings holds bytes.
        dtype: The tensor's type, if the array does not show it (quantized types).
        shape: A shape of more elements than the array has: its last element is repeated.

    Raises:
        ValueError: The content is larger than a message can be.
        TypeError: A tensor of this type cannot be written.
    """
    if dtype is None:
        dtype = dtypes.as_dtype(array.dtype)
    sizes = array.shape if shape is None else tuple(shape)
    count = math.prod(sizes)
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)  # type: ignore[arg-type]
    proto.tensor_shape.SetInParent()  # a scalar's shape is there and empty
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    if count == array.size and count > 1 and dtype in _CONTENT_TYPES:
        if array.nbytes >= MAX_CONTENT_BYTES:
            raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")
        proto.tensor_content = array.tobytes()
    elif dtype.size == 1 and dtype.is_floating:
        proto.float8_val = array.tobytes()
    else:
        field = _LIST_FIELDS.get(dtype)
        if field is None:
            raise TypeError(f"Element type not supported in TensorProto: {dtype.name}.")
        getattr(proto, field).extend(_list_items(array, dtype))
    return proto


def _list_items(array: NDArray[Any], dtype: DType) -> list[Any]:
    flat = array.ravel()
    if dtype is dtypes.float16 or dtype is dtypes.bfloat16:
        flat = flat.view(np.uint16)
    elif dtype is dtypes.complex64:
        flat = flat.view(np.float32)
    elif dtype is dtypes.complex128:
        flat = flat.view(np.float64)
    elif dtype.size == 1 and dtype.is_integer:
        flat = flat.astype(np.int32)  # the types below a byte list their values as objects
    return flat.tolist()


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> tensor_pb2.TensorProto:
    """Return the TensorProto of a value.

    >>> make_tensor_proto(7.0, shape=[2, 3]).float_val
    [7.0]

    Args:
        values: A number, string, bool, array, or nested lists of these. A TensorProto is returned
            as it is.
        dtype: The type, or anything ``as_dtype`` takes. None: see ``convert_to_ndarray``.
        shape: The shape, if not that of the value. It may have more elements than the value;
            the last one is then repeated.
        verify_shape: Whether a value of another shape is refused.
        allow_broadcast: Whether a scalar, or an array of length 1, is taken for any shape; any
            other value must then have as many elements as the shape.

    Raises:
        TypeError: The value does not have this type or, where that is asked for, this shape.
        ValueError: None, rows of different lengths, or more elements than the shape has.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if isinstance(values, tensor_pb2.TensorProto):
        return values
    dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if shape is None:
        array = convert_to_ndarray(values, dtype)
        return encode_tensor(array, dtype or _dtype_of(values, array))
    sizes = _sizes_of(shape)
    count = math.prod(sizes)
    if count == 0 and not isinstance(values, (np.ndarray, np.generic)):
        array = np.empty(sizes, np.float32 if dtype is None else dtype.numpy_dtype)
    else:
        array = convert_to_ndarray(values, dtype)
    if allow_broadcast and array.shape not in ((), (1,)) and array.size != count:
        raise _wrong_shape(sizes, array)
    if verify_shape and array.shape != sizes:
        raise _wrong_shape(sizes, array)
    if not allow_broadcast and array.size > count:
        raise ValueError(
            f"Too many elements provided. Takes at most {count:d}, but got {array.size:d}."
        )
    return encode_tensor(array, dtype or _dtype_of(values, array), sizes)


def _dtype_of(values: Any, array: NDArray[Any]) -> DType:
    """Return the type of a value that nobody gave a type, quantized types included."""
    return dtypes.as_dtype(values.dtype if isinstance(values, np.ndarray) else array.dtype)


def _sizes_of(shape: ShapeLike) -> tuple[int, ...]:
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return tuple([int(size) for size in shape])  # type: ignore[arg-type, union-attr]


def _wrong_shape(sizes: tuple[int, ...], array: NDArray[Any]) -> TypeError:
    return TypeError(f"Expected Tensor's shape: {sizes}, but got {array.shape}.")


# --------------------------------------------------------------------------- messages into arrays


def decode_tensor(proto: tensor_pb2.TensorProto) -> NDArray[Any]:
    """Return the tensor in a message, as the runtime reads it; the array may be read-only.

    >>> decode_tensor(make_tensor_proto(7.0, shape=[3]))
    array([7., 7., 7.], dtype=float32)

    Raises:
        InvalidArgumentError: Type, shape and content do not agree, or the tensor is larger than
            this machine's memory. Nothing was allocated then.
    """
    dtype = _decodable_dtype(proto)
    sizes = shape_of_tensor_proto(proto)
    if len(sizes) > _MAX_ARRAY_RANK:
        raise _cannot_parse(
            proto, f"an array here has at most {_MAX_ARRAY_RANK} dimensions, not {len(sizes)}"
        )
    count = math.prod(sizes)
    content = proto.tensor_content
    if content:
        flat = _decode_content(proto, dtype, content, count)
    else:
        _check_memory(proto, count * dtype.numpy_dtype.itemsize)
        flat = _decode_list(proto, dtype, count)
    try:
        return flat.reshape(sizes)
    except ValueError as error:  # a size 0 beside sizes that NumPy cannot multiply
        raise _cannot_parse(proto, str(error)) from None


_MAX_ARRAY_RANK = 64


def _decodable_dtype(proto: tensor_pb2.TensorProto) -> DType:
    try:
        dtype = dtypes.as_dtype(proto.dtype)
    except TypeError:
        raise _cannot_parse(proto, f"{proto.dtype} is not the number of a data type") from None
    if dtype.is_ref_dtype or not dtype.is_numpy_compatible:
        raise _cannot_parse(proto, f"a tensor of type {dtype.name} cannot be a constant")
    return dtype


def _cannot_parse(proto: tensor_pb2.TensorProto, why: str) -> errors.InvalidArgumentError:
    sizes = [dim.size for dim in proto.tensor_shape.dim[:8]]
    more = "..." if len(proto.tensor_shape.dim) > 8 else ""
    return errors.invalid_argument(
        f"Cannot parse tensor from proto: {why} (dtype: {proto.dtype}, tensor_shape: "
        f"{_proto_text(sizes)}{more}, tensor_content: {len(proto.tensor_content)} bytes)."
    )


def _check_memory(proto: tensor_pb2.TensorProto, num_bytes: int) -> None:
    if num_bytes > 2**28 and num_bytes > _memory_bytes():
        raise _cannot_parse(
            proto, f"it asks for {num_bytes} bytes, this machine has {_memory_bytes()}"
        )


@functools.cache
def _memory_bytes() -> int:
    """Return how much memory this process can have at most: the machine's or its container's."""
    limits = [_UNKNOWN_MEMORY]
    with contextlib.suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            limits.append(int(file.read()))
    return min(limits)


_UNKNOWN_MEMORY = 2**40  # where the system does not tell


def _decode_content(
    proto: tensor_pb2.TensorProto, dtype: DType, content: bytes, count: int
) -> NDArray[Any]:
    if count == 0:
        return np.zeros(0, dtype.numpy_dtype)
    if dtype is dtypes.string:
        return _decode_string_content(proto, content, count)
    expected = count * dtype.numpy_dtype.itemsize
    if len(content) != expected:
        raise _cannot_parse(proto, f"its shape and type need {expected} bytes")
    if dtype.is_bool and content.strip(b"\0\1"):
        raise _cannot_parse(proto, "a byte of a bool tensor is neither 0 nor 1")
    return np.frombuffer(content, dtype.numpy_dtype)


def _decode_string_content(
    proto: tensor_pb2.TensorProto, content: bytes, count: int
) -> NDArray[Any]:
    """Return strings written as all their lengths (varints), then all their bytes."""
    if count > len(content):
        raise _cannot_parse(proto, f"{count} strings need at least as many bytes")
    lengths, position = [], 0
    for _ in range(count):
        length = shift = 0
        while True:
            if position == len(content) or shift > 63:
                raise _cannot_parse(proto, "the lengths of its strings are cut off")
            byte = content[position]
            position += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        lengths.append(length)
    if position + sum(lengths) != len(content):
        raise _cannot_parse(proto, "its strings do not have the lengths it states")
    items = []
    for length in lengths:
        items.append(content[position : position + length])
        position += length
    return _object_array(items, (count,))


def _decode_list(proto: tensor_pb2.TensorProto, dtype: DType, count: int) -> NDArray[Any]:
    if dtype.size == 1 and dtype.is_floating:
        given = np.frombuffer(proto.float8_val[:count], dtype.numpy_dtype)
    else:
        given = _LIST_DECODERS[_LIST_FIELDS[dtype]](proto, dtype)[:count]
    if given.size == count:
        return given
    if given.size == 0:
        if dtype is dtypes.string:
            return np.full(count, b"", dtype=object)
        return np.zeros(count, dtype.numpy_dtype)
    if given.size == 1:
        return np.full(count, given[0], dtype.numpy_dtype)
    array = np.empty(count, dtype.numpy_dtype)
    array[: given.size] = given
    array[given.size :] = given[-1]
    return array


def _from_list(field: str, wire_type: type[Any]) -> Callable[[Any, DType], NDArray[Any]]:
    def decode(proto: Any, dtype: DType) -> NDArray[Any]:
        items = getattr(proto, field)
        array = np.fromiter(items, wire_type, len(items))
        with np.errstate(all="ignore"):
            return array.astype(dtype.numpy_dtype, copy=False)

    return decode


def _decode_half(proto: Any, dtype: DType) -> NDArray[Any]:
    bits = np.fromiter(proto.half_val, np.int32, len(proto.half_val))
    return bits.astype(np.uint16).view(dtype.numpy_dtype)


def _decode_string(proto: Any, _: DType) -> NDArray[Any]:
    return _object_array(proto.string_val, (len(proto.string_val),))


def _decode_complex(proto: Any, dtype: DType) -> NDArray[Any]:
    parts = proto.scomplex_val if dtype is dtypes.complex64 else proto.dcomplex_val
    pairs = len(parts) // 2
    floats = np.fromiter(parts, dtype.real_dtype.numpy_dtype, len(parts))
    return floats[: 2 * pairs].view(dtype.numpy_dtype)


_LIST_DECODERS: dict[str, Callable[[Any, DType], NDArray[Any]]] = {
    "float_val": _from_list("float_val", np.float32),
    "double_val": _from_list("double_val", np.float64),
    "int_val": _from_list("int_val", np.int32),
    "int64_val": _from_list("int64_val", np.int64),
    "uint32_val": _from_list("uint32_val", np.uint32),
    "uint64_val": _from_list("uint64_val", np.uint64),
    "bool_val": _from_list("bool_val", np.bool_),
    "half_val": _decode_half,
    "string_val": _decode_string,
    "scomplex_val": _decode_complex,
    "dcomplex_val": _decode_complex,
}


def make_ndarray(tensor: tensor_pb2.TensorProto) -> NDArray[Any]:
    """Return the tensor in a message as a fresh array that may be written to.

    >>> make_ndarray(make_tensor_proto([[1, 2], [3, 4]]))
    array([[1, 2],
           [3, 4]], dtype=int32)

    Raises:
        TypeError: The message has a type that no array can hold.
        ValueError: Its content does not fit its shape.
    """
    dtype = dtypes.as_dtype(tensor.dtype)
    if dtype.is_ref_dtype or not dtype.is_numpy_compatible:
        raise TypeError(f"Unsupported tensor type: {dtype.as_datatype_enum} ({dtype.name}).")
    try:
        array = decode_tensor(tensor)
    except errors.InvalidArgumentError as error:
        raise ValueError(error.message) from None
    given = 0 if tensor.tensor_content else _num_listed(tensor, dtype)
    if given > array.size:
        raise ValueError(
            f"Cannot make an array of shape {array.shape} from the {given} values of the proto."
        )
    if not array.flags.writeable or array.base is not None:
        array = array.copy()
    return array


def _num_listed(proto: tensor_pb2.TensorProto, dtype: DType) -> int:
    if dtype.size == 1 and dtype.is_floating:
        return len(proto.float8_val)
    listed = len(getattr(proto, _LIST_FIELDS[dtype]))
    return listed // 2 if dtype.is_complex else listed
