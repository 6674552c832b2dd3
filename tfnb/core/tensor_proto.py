"""Conversion between arrays or shapes and messages.

A TensorProto may hold its elements as raw bytes (``tensor_content``) or as a typed list; a list
that is too short is continued with its last element, an empty one means zeros. A message claims its
size in a few bytes, so ``decode_tensor`` compares the claim with the content, and with the memory
of this machine, before it allocates anything.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors, host_memory
from tfnb.core.process.later import later
from tfnb.core.tensor_shape import UNKNOWN, TensorShape
from tfnb.proto import tensor_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tfnb.core import python_values
    from tfnb.core.dtypes import DType
else:
    python_values = later("tfnb.core.python_values", in_step=True)

MAX_RANK = 254
MAX_ELEMENTS = 2**63 - 1
MAX_CONTENT_BYTES = 2**31


def shape_to_proto(shape: TensorShape) -> tensor_pb2.TensorShapeProto:
    """Return the message for a shape; an unknown size is written as -1.

    >>> [dim.size for dim in shape_to_proto(TensorShape([2, None])).dim]
    [2, -1]
    """
    proto: tensor_pb2.TensorShapeProto = shape.as_proto()
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
        return TensorShape.from_tuple(tuple(sizes))
    return TensorShape.from_tuple(tuple([None if size == -1 else size for size in sizes]))


def shape_of_tensor_proto(proto: tensor_pb2.TensorProto) -> tuple[int, ...]:
    """Return the sizes a TensorProto claims; all checks but those of the content are made.

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
    proto.tensor_shape.SetInParent()  # the shape of a scalar is set, and empty
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    if count == array.size and count > 1 and dtype in _CONTENT_TYPES:
        check_content_size(array.nbytes)
        proto.tensor_content = array.tobytes()
    else:
        add_listed(proto, array, dtype)
    return proto


def check_content_size(num_bytes: int) -> None:
    """Refuse a content that no message can hold.

    Raises:
        ValueError: The content has 2 GB or more.
    """
    if num_bytes >= MAX_CONTENT_BYTES:
        raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")


def encode_tensor_content(array: NDArray[Any], dtype: DType) -> tensor_pb2.TensorProto:
    """Return the message for an array as plain bytes, however small; strings are listed."""
    if dtype == dtypes.string:
        return encode_tensor(array, dtype)
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)  # type: ignore[arg-type]
    proto.tensor_shape.CopyFrom(shape_to_proto(TensorShape(array.shape)))
    proto.tensor_content = array.tobytes()
    return proto


def add_listed(proto: tensor_pb2.TensorProto, array: NDArray[Any], dtype: DType) -> None:
    """Add every element to the typed list of a message.

    Raises:
        TypeError: A tensor of this type cannot be written.
    """
    if dtype.size == 1 and dtype.is_floating:
        proto.float8_val += array.tobytes()
        return
    field = _LIST_FIELDS.get(dtype)
    if field is None:
        raise TypeError(f"Element type not supported in TensorProto: {dtype.name}.")
    getattr(proto, field).extend(_list_items(array, dtype))


def _list_items(array: NDArray[Any], dtype: DType) -> list[Any]:
    flat = array.ravel()
    if dtype is dtypes.float16 or dtype is dtypes.bfloat16:
        flat = flat.view(np.uint16)
    elif dtype is dtypes.complex64:
        flat = flat.view(np.float32)
    elif dtype is dtypes.complex128:
        flat = flat.view(np.float64)
    elif dtype.size == 1 and dtype.is_integer:
        flat = flat.astype(np.int32)  # arrays of types smaller than a byte hold objects
    return flat.tolist()


# --------------------------------------------------------------------------- messages into arrays


def decode_tensor(proto: tensor_pb2.TensorProto) -> NDArray[Any]:
    """Return the tensor in a message by the runtime's rules; the array may be read-only.

    >>> decode_tensor(encode_tensor(np.float32([7.0]), shape=[3]))
    array([7., 7., 7.], dtype=float32)

    Raises:
        InvalidArgumentError: Type, shape and content do not agree, or the tensor is larger than
            this machine's memory. Nothing was allocated then.
        ResourceExhaustedError: The tensor is larger than this thread's limit.
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
    if host_memory.limit_of_thread() is not None:
        host_memory.check_size(num_bytes)
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


_UNKNOWN_MEMORY = 2**40  # if the system does not report it


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
    return python_values.object_array(items, (count,))


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
    return python_values.object_array(proto.string_val, (len(proto.string_val),))


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


def num_listed(proto: tensor_pb2.TensorProto, dtype: DType) -> int:
    """Return how many elements the typed list of a message has."""
    if dtype.size == 1 and dtype.is_floating:
        return len(proto.float8_val)
    listed = len(getattr(proto, _LIST_FIELDS[dtype]))
    return listed // 2 if dtype.is_complex else listed
