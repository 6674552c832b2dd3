"""Arrays as TensorProtos, with the values in the field of their type.

Clients of TensorFlow Serving read fields like ``float_val``, which the server of TensorFlow fills,
too. A field of floats has the bytes of the array on the wire, so that no value is converted.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tfnb.core import dtypes, errors
from tfnb.core.tensor_util import make_ndarray
from tfnb.proto.predict_pb2 import PredictResponse
from tfnb.proto.tensor_pb2 import TensorProto

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType

# Type -> number of the packed field that has the bytes of the array.
_RAW = {
    dtypes.float32: TensorProto.FLOAT_VAL_FIELD_NUMBER,
    dtypes.float64: TensorProto.DOUBLE_VAL_FIELD_NUMBER,
    dtypes.complex64: TensorProto.SCOMPLEX_VAL_FIELD_NUMBER,
    dtypes.complex128: TensorProto.DCOMPLEX_VAL_FIELD_NUMBER,
    dtypes.bool: TensorProto.BOOL_VAL_FIELD_NUMBER,
}
_INTEGERS = {
    dtypes.int64: "int64_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
}
_LENGTH_DELIMITED = 2
# Fields of an entry of a map.
_MAP_KEY, _MAP_VALUE = 1, 2
_MAX_RANK = 32
# Number of a type -> its NumPy type, and the field that lists its values without conversion.
_PLAIN = {
    dtype.as_datatype_enum: (np.dtype(dtype.as_numpy_dtype), field)
    for dtype, field in (
        (dtypes.float32, "float_val"),
        (dtypes.float64, "double_val"),
        (dtypes.int32, "int_val"),
        (dtypes.int64, "int64_val"),
    )
}


def predict_output(key: str, value: Any, dtype: DType) -> list[Any]:
    """Return an output as bytes of a PredictResponse, in pieces.

    The message need not be made: the values of most arrays are copied once, into the answer.

    Raises:
        UnimplementedError: Values of its type are not sent.
    """
    array = np.asarray(value)
    proto = TensorProto()
    values: Any = b""
    if array.size and dtype in _RAW:
        _set_form(proto, array, dtype)
        # Little endian is the order of the wire, and of every machine that NumPy's wheels are for.
        values = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        form = proto.SerializeToString() + _head(_RAW[dtype], len(values))
    else:
        fill_tensor_proto(proto, array, dtype)
        form = proto.SerializeToString()
    name = key.encode()
    entry = _head(_MAP_KEY, len(name)) + name + _head(_MAP_VALUE, len(form) + len(values))
    size = len(entry) + len(form) + len(values)
    return [_head(PredictResponse.OUTPUTS_FIELD_NUMBER, size) + entry + form, values]


def fill_tensor_proto(found: TensorProto, value: Any, dtype: DType) -> None:
    """Write an array of the runtime into an empty message.

    Raises:
        UnimplementedError: Values of its type are not sent.
    """
    array = np.asarray(value)
    _set_form(found, array, dtype)
    if array.size == 0:
        found.tensor_shape.SetInParent()
    elif dtype in _RAW:
        data = np.ascontiguousarray(array).tobytes()
        found.MergeFromString(_head(_RAW[dtype], len(data)) + data)
    elif dtype == dtypes.string:
        found.string_val.extend(bytes(item) for item in array.flat)
    elif dtype in (dtypes.float16, dtypes.bfloat16):
        found.half_val.extend(np.ascontiguousarray(array).view(np.uint16).ravel().tolist())
    elif array.dtype.kind in "iu":
        getattr(found, _INTEGERS.get(dtype, "int_val")).extend(array.ravel().tolist())
    else:
        raise errors.unimplemented(f"An output has the type {dtype.name}, which is not sent.")


def _set_form(found: TensorProto, array: Any, dtype: DType) -> None:
    found.dtype = dtype.as_datatype_enum  # type: ignore[assignment]
    for size in array.shape:
        found.tensor_shape.dim.add(size=size)


def array_of(key: str, proto: TensorProto, max_bytes: int) -> Any:
    """Return the array of a message.

    Args:
        key: The input, for errors.
        proto: The message.
        max_bytes: The maximum size of the array: a message of few bytes may repeat its last value.

    Raises:
        InvalidArgumentError: The message contradicts itself.
        ResourceExhaustedError: The array is too large.
    """
    sizes = [dim.size for dim in proto.tensor_shape.dim]
    found = _plain_array(proto, sizes, max_bytes)
    if found is not None:
        return found
    if proto.tensor_shape.unknown_rank or any(size < 0 for size in sizes):
        raise errors.invalid_argument(f"The shape of the input {key!r} is not known.")
    if math.prod(sizes) * _item_size(proto.dtype) > max_bytes:
        raise errors.resource_exhausted(
            f"The input {key!r} has shape {tuple(sizes)}; the server takes {max_bytes:,} bytes."
        )
    try:
        return np.asarray(make_ndarray(proto))
    except (TypeError, ValueError, KeyError, OverflowError, MemoryError) as error:
        raise errors.invalid_argument(f"The tensor of the input {key!r}: {error}") from None


def _plain_array(proto: TensorProto, sizes: list[int], max_bytes: int) -> Any:
    """Return the array of a message with as many numbers as its shape has; None for others.

    Most requests have one, and the checks of ``make_ndarray`` cost more than the array.
    """
    kind, field = _PLAIN.get(proto.dtype, (None, ""))
    if kind is None or proto.tensor_shape.unknown_rank or min(sizes, default=1) < 1:
        return None
    count = math.prod(sizes)
    num_bytes = count * kind.itemsize
    if num_bytes > max_bytes or len(sizes) > _MAX_RANK:
        return None
    content = proto.tensor_content
    if content:
        if len(content) != num_bytes:
            return None
        return np.frombuffer(content, kind).reshape(sizes)  # not writable, as feeds need not be
    values = getattr(proto, field)
    return np.array(values, kind).reshape(sizes) if len(values) == count else None


@cache
def _item_size(enum: int) -> int:
    try:
        dtype = dtypes.as_dtype(enum)
        return np.dtype(dtype.as_numpy_dtype).itemsize
    except TypeError:
        return 1  # a type without arrays, which is refused later


def parsed(kind: type[Any], data: bytes) -> Any:
    """Return a message from its bytes.

    Raises:
        InvalidArgumentError: They are no such message.
    """
    try:
        return kind.FromString(data)
    except (DecodeError, RecursionError, UnicodeDecodeError):
        raise errors.invalid_argument(
            f"The request of {len(data):,} bytes is no {kind.DESCRIPTOR.name}."
        ) from None


def _head(field: int, size: int) -> bytes:
    """Return what stands before a field of bytes."""
    return _varint(field << 3 | _LENGTH_DELIMITED) + _varint(size)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
