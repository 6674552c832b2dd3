"""Tensors in requests and responses, written and read without copies that can be spared.

A message that holds a large tensor would be copied several times by protobuf: into the TensorProto,
into the request, into the bytes.  Here only the head of a tensor (type and shape) is a message; its
content is joined into the request as it stands in memory, and read out of the response in place.

The wire format is protobuf's: a field is a tag (number * 8 + kind), then for kind 2 a length and
that many bytes, for kind 0 a varint.  Corresponds to TensorFlow's ``rpc/grpc_tensor_coding.cc``.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.process import large_bytes
from tfnb.core.tensor_proto import decode_tensor, encode_tensor, shape_of_tensor_proto
from tfnb.core.variant_op_registry import EncodableVariant, VariantTensorData, decode_variant
from tfnb.proto import config_pb2, tensor_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tfnb.core.dtypes import DType

Buffer: TypeAlias = "bytes | memoryview"


class LocalMessage(NamedTuple):
    """A request or a response that stays in this process, with large tensors as they are.

    Corresponds to TensorFlow's ``message_wrappers.h``.

    Attributes:
      rest: the message without those tensors.
      tensors: arrays, by the names that they have in the message; a receiver does not write to what
        is fed, and owns what is fetched.
    """

    rest: bytes
    tensors: Mapping[str, NDArray[Any]]


Message: TypeAlias = "bytes | LocalMessage"

MAX_MESSAGE_BYTES = 2**31 - 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TYPE_TAG, _SHAPE_TAG, _CONTENT_TAG = 1 << 3 | _VARINT, 2 << 3 | _BYTES, 4 << 3 | _BYTES
_SHAPE_FIELD, _CONTENT_FIELD, _VARIANT_FIELD = 2, 4, 15
_CONTENT_HEAD = bytes([_CONTENT_TAG])
_ONE_BYTE = tuple(bytes([value]) for value in range(0x80))
_VARIANT_TAG = _VARIANT_FIELD << 3 | _BYTES
_VARIANT_HEAD = bytes([_TYPE_TAG, dtypes.variant.as_datatype_enum])
# Tags and numbers of type, shape and content.
_LEAST_BYTES = 6
# Shorter tensors are copied into a LocalMessage: a copy is cheaper than what surrounds it.
_LEAST_LOCAL_BYTES = 1 << 16
# Shorter tensors are read as messages: that is faster than looking at their fields one by one.
_SMALL_BYTES = 2048
_TYPES_WITHOUT_CONTENT = frozenset(
    (
        *(dtypes.string, dtypes.resource, dtypes.variant),
        *(dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2),
    )
)


def varint(value: int) -> bytes:
    r"""Return a number of up to 64 bits as a varint; negative numbers take ten bytes.

    >>> varint(300)
    b'\xac\x02'
    """
    if 0 <= value <= 0x7F:
        return _ONE_BYTE[value]
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def bytes_field(number: int, content: Buffer) -> bytes:
    r"""Return a field that holds bytes, a string or a message.

    >>> bytes_field(3, b"x:0")
    b'\x1a\x03x:0'
    """
    return b"".join((varint(number << 3 | _BYTES), varint(len(content)), content))


def string_fields(number: int, texts: Sequence[str]) -> bytes:
    """Return a repeated field of strings."""
    return b"".join([bytes_field(number, text.encode()) for text in texts])


def varint_field(number: int, value: int) -> bytes:
    """Return a field that holds a number, a truth value or an enum."""
    return varint(number << 3 | _VARINT) + varint(value)


# -- writing ---------------------------------------------------------------------------------------


class EncodedTensor(NamedTuple):
    """A TensorProto in parts that follow each other; ``size`` is their number of bytes."""

    parts: tuple[Buffer, ...]
    size: int


def encode(value: Any, dtype: DType) -> EncodedTensor:
    """Return a value as a TensorProto.

    Args:
      value: an array or scalar whose NumPy type is that of ``dtype``.
      dtype: the tensor's type.

    Raises:
      InvalidArgumentError: no message can hold the value.
    """
    if dtype is dtypes.variant and isinstance(value, EncodableVariant):
        return _encode_variant(value.encode())
    head = _head(dtype, np.shape(value))
    if head is None:
        try:
            proto = encode_tensor(np.asarray(value), dtype).SerializeToString()
        except (TypeError, ValueError) as error:
            raise errors.invalid_argument(
                f"A value cannot be sent to the server: {error}"
            ) from None
        return EncodedTensor((proto,), len(proto))
    array = np.ascontiguousarray(value)
    if sys.byteorder != "little":  # pragma: no cover
        array = array.byteswap()
    size = array.nbytes
    if size < _SMALL_BYTES:
        message = b"".join((head, varint(size), array.tobytes())) if size else head
        return EncodedTensor((message,), len(message))
    head += varint(size)
    content = array.reshape(-1).view(np.uint8).data
    return EncodedTensor((head, content), len(head) + size)


def _encode_variant(data: VariantTensorData) -> EncodedTensor:
    """Return a scalar that holds a variant, whose tensors stand in it as they are in memory."""
    parts: list[Buffer] = [
        bytes_field(1, data.type_name.encode()) + bytes_field(2, data.metadata),
    ]
    size = len(parts[0])
    for value, dtype in data.tensors:
        field = tensor_field(3, encode(value, dtype))
        parts += field
        size += sum(len(part) for part in field)
    head = _head_of_type_and_shape(dtypes.variant, ()).removesuffix(_CONTENT_HEAD) + varint(
        _VARIANT_TAG
    )
    head += varint(size)
    return EncodedTensor((head, *parts), len(head) + size)


@lru_cache(1024)
def _head(dtype: DType, shape: tuple[int, ...]) -> bytes | None:
    """Return type and shape, and the tag of the content that follows, if there is any.

    Returns:
      None if values of the type do not travel as the bytes of an array.
    """
    if dtype in _TYPES_WITHOUT_CONTENT:
        return None
    return _head_of_type_and_shape(dtype, shape)


def _head_of_type_and_shape(dtype: DType, shape: tuple[int, ...]) -> bytes:
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)  # type: ignore[arg-type]
    proto.tensor_shape.SetInParent()
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto.SerializeToString() + (_CONTENT_HEAD if math.prod(shape) else b"")


def named_tensor_field(number: int, name: str, tensor: EncodedTensor) -> tuple[Buffer, ...]:
    """Return the parts of a field that holds a NamedTensorProto."""
    head = _head_of_named(name) + varint(tensor.size)
    total = len(head) + tensor.size
    return (varint(number << 3 | _BYTES) + varint(total) + head, *tensor.parts)


@lru_cache(4096)
def _head_of_named(name: str) -> bytes:
    """Return the name, and the tag of the tensor that follows."""
    return bytes_field(1, name.encode()) + varint(2 << 3 | _BYTES)


def tensor_field(number: int, tensor: EncodedTensor) -> tuple[Buffer, ...]:
    """Return the parts of a field that holds a TensorProto."""
    return (varint(number << 3 | _BYTES) + varint(tensor.size), *tensor.parts)


def may_stay(value: Any, dtype: DType | None) -> bool:
    """Return whether a value of a LocalMessage stays as it is.

    Args:
      value: of the tensor.
      dtype: the type that the receiver expects; None: not known.
    """
    return (
        isinstance(value, np.ndarray)
        and value.nbytes >= _LEAST_LOCAL_BYTES
        and dtype is not None
        and dtype not in _TYPES_WITHOUT_CONTENT
        and value.dtype == dtype.numpy_dtype
    )


def join_message(parts: Sequence[Buffer], what: str) -> bytes:
    """Join the parts of a message.

    Args:
      parts: in their order.
      what: a name of the message, for the error.

    Raises:
      InvalidArgumentError: the message would be larger than protobuf allows.
    """
    size = sum(len(part) for part in parts)
    if size > MAX_MESSAGE_BYTES:
        raise errors.invalid_argument(
            f"{what} has {size} bytes; a message has at most {MAX_MESSAGE_BYTES} (2 GB). Send it "
            "in parts, such as slices that are assigned to a variable one by one."
        )
    return large_bytes.join(parts, size)


# -- reading ---------------------------------------------------------------------------------------


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview, int]]:
    """Yield a message's fields: number, value, and where the field ends.

    Raises:
      DataLossError: the message is cut off or malformed.
    """
    at, end = 0, len(message)
    while at < end:
        # Nearly all tags and lengths have one byte: no call reads them.
        if (tag := message[at]) < 0x80:
            at += 1
        else:
            tag, at = _read_varint(message, at)
        number, kind = tag >> 3, tag & 7
        value: int | memoryview
        if kind == _BYTES:
            if at < end and (length := message[at]) < 0x80:
                at += 1
            else:
                length, at = _read_varint(message, at)
            if length > end - at:
                raise _malformed()
            value = message[at : at + length]
            at += length
        elif kind == _VARINT:
            value, at = _read_varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            if size > end - at:
                raise _malformed()
            value = int.from_bytes(message[at : at + size], "little")
            at += size
        else:
            raise _malformed()
        yield number, value, at


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    size = len(message)
    if at < size and (value := message[at]) < 0x80:
        return value, at + 1
    value = shift = 0
    while True:
        if at >= size or shift > 63:
            raise _malformed()
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _malformed() -> errors.DataLossError:
    return errors.data_loss(
        "A message is malformed. Is there a TensorFlow server at the target, or something else?"
    )


def content_of(value: int | memoryview) -> memoryview:
    """Return a field's bytes.

    Raises:
      DataLossError: the field holds a number.
    """
    if isinstance(value, int):
        raise _malformed()
    return value


def text_of(value: int | memoryview) -> str:
    """Return a field's text; what is no UTF-8 is replaced.

    Raises:
      DataLossError: the field holds a number.
    """
    return str(content_of(value), "utf-8", "replace")


def decode(message: memoryview) -> Any:
    """Return the tensor of a TensorProto: an array of its own, which may be written, or a variant.

    Raises:
      InvalidArgumentError: type, shape and content do not agree; nothing was allocated then.
      DataLossError: the message is malformed.
    """
    array = _decode_plain(message)
    if array is not None:
        return array
    if message[: len(_VARIANT_HEAD)] == _VARIANT_HEAD:
        return _decode_variant(message)
    if len(message) > _SMALL_BYTES:
        array = _decode_in_place(message)
        if array is not None:
            return array
    return np.array(decode_tensor(_parsed(message)))


def _decode_plain(message: memoryview) -> NDArray[Any] | None:
    """Return the tensor of a message in the order of :func:`encode`; None: another form."""
    # Type and shape take one byte each for tag and number, up to 127.
    if len(message) < _LEAST_BYTES or message[0] != _TYPE_TAG or message[2] != _SHAPE_TAG:
        return None
    at = 4 + message[3]
    if at >= len(message) or message[1] > 127 or message[3] > 127 or message[at] != _CONTENT_TAG:
        return None
    size, begin = _read_varint(message, at + 1)
    if begin + size != len(message):
        return None
    form = _form_of_head(bytes(message[:at]))
    if form is None or form.size != size:
        return None
    array = np.empty(form.shape, form.dtype)
    array.reshape(-1).view(np.uint8)[:] = message[begin:]
    return array


class _Form(NamedTuple):
    """NumPy's type, shape and number of bytes of a tensor."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    size: int


@lru_cache(1024)
def _form_of_head(head: bytes) -> _Form | None:
    """Return what type and shape of a tensor say; None where its content is not plain bytes."""
    proto = _parsed(head)
    try:
        dtype = dtypes.as_dtype(proto.dtype)
    except TypeError:
        return None
    if dtype in _TYPES_WITHOUT_CONTENT or dtype.is_bool or not dtype.is_numpy_compatible:
        return None
    sizes = shape_of_tensor_proto(proto)
    return _Form(dtype.numpy_dtype, sizes, math.prod(sizes) * dtype.numpy_dtype.itemsize)


def _decode_variant(message: memoryview) -> Any:
    """Return the variant of a scalar.

    Raises:
      InvalidArgumentError: the tensor is no scalar, or no class fits the variant.
    """
    found: Any = None
    shape: tuple[int, ...] = ()
    for number, value, _ in fields(message):
        if number == _VARIANT_FIELD and found is None:
            found = decode_variant(_variant_data(content_of(value)))
        elif number == _SHAPE_FIELD:
            head = bytes_field(_SHAPE_FIELD, bytes(content_of(value)))
            shape = shape_of_tensor_proto(_parsed(head))
    if found is None or shape:
        raise errors.invalid_argument("A tensor of variants is sent only if it is a scalar.")
    return found


def _variant_data(message: memoryview) -> VariantTensorData:
    name, metadata = "", b""
    tensors: list[tuple[Any, DType]] = []
    for number, value, _ in fields(message):
        content = content_of(value)
        if number == 1:
            name = text_of(content)
        elif number == 2:
            metadata = bytes(content)
        elif number == 3:
            if len(content) < 2 or content[0] != _TYPE_TAG:
                raise _malformed()
            tensors.append((as_fed(decode(content)), dtypes.as_dtype(content[1])))
    return VariantTensorData(name, metadata, tuple(tensors))


def _parsed(message: memoryview | bytes) -> tensor_pb2.TensorProto:
    try:
        return tensor_pb2.TensorProto.FromString(bytes(message))
    except Exception as error:  # protobuf's DecodeError, whose module this room does not know
        raise _malformed() from error


def _decode_in_place(message: memoryview) -> NDArray[Any] | None:
    """Return the tensor if its content is plain bytes; None where a message must be made of it."""
    content: memoryview | None = None
    head: list[memoryview] = []
    begin = 0
    for number, value, end in fields(message):
        if number == _CONTENT_FIELD and isinstance(value, memoryview):
            content = value
        elif end - begin > _SMALL_BYTES:
            return None
        else:
            head.append(message[begin:end])
        begin = end
    if content is None:
        return None
    proto = _parsed(b"".join(head))
    try:
        dtype = dtypes.as_dtype(proto.dtype)
    except TypeError:
        return None
    if dtype in _TYPES_WITHOUT_CONTENT or dtype.is_bool or not dtype.is_numpy_compatible:
        return None
    sizes = shape_of_tensor_proto(proto)
    if len(content) != math.prod(sizes) * dtype.numpy_dtype.itemsize:
        return None
    array = np.empty(sizes, dtype.numpy_dtype)
    array.reshape(-1).view(np.uint8)[:] = np.frombuffer(content, np.uint8)
    return array


class StepResponse(NamedTuple):
    """A RunStepResponse or RunGraphResponse.

    Attributes:
      tensors: values by the names they were asked for.
      metadata: what was recorded; None for nothing.
      code: 0, or the error's.
      message: the error's.
    """

    tensors: dict[str, Any]
    metadata: config_pb2.RunMetadata | None
    code: int
    message: str


def decode_step_response(response: Message) -> StepResponse:
    """Return the parts of a RunStepResponse.

    Raises:
      DataLossError, InvalidArgumentError: it is malformed.
    """
    tensors: dict[str, Any] = {}
    if isinstance(response, LocalMessage):
        tensors.update(response.tensors)
        response = response.rest
    metadata: config_pb2.RunMetadata | None = None
    code, text = 0, ""
    for number, value, _ in fields(memoryview(response)):
        if number == 1:
            name, tensor = decode_named(content_of(value))
            tensors[name] = as_fetched(tensor)
        elif number == 2:
            metadata = config_pb2.RunMetadata.FromString(bytes(content_of(value)))
        elif number == 3 and isinstance(value, int):
            code = value
        elif number == 4:
            text = text_of(value)
    return StepResponse(tensors, metadata, code, text)


class UnreadTensor(NamedTuple):
    """A tensor that one task sent and another will read: a TensorProto."""

    message: memoryview

    def encoded(self) -> EncodedTensor:
        """Return it for another message."""
        return EncodedTensor((self.message,), len(self.message))

    def read(self) -> Any:
        """Return the value, as the runtime takes it."""
        return as_fed(decode(self.message))


def decode_named(message: memoryview) -> tuple[str, Any]:
    """Return name and array of a NamedTensorProto."""
    name, tensor = named(message)
    return name, decode(tensor.message)


def named(message: memoryview) -> tuple[str, UnreadTensor]:
    """Return name and tensor of a NamedTensorProto."""
    name, tensor = "", None
    for number, value, _ in fields(message):
        if number == 1:
            name = text_of(value)
        elif number == 2:
            tensor = UnreadTensor(content_of(value))
    if tensor is None:
        raise _malformed()
    return name, tensor


def as_fed(array: Any) -> Any:
    """Return a value as the runtime takes it: a scalar for a number without dimensions."""
    if not isinstance(array, np.ndarray):
        return array
    return array if array.ndim or array.dtype.hasobject else array[()]


def as_fetched(array: Any) -> Any:
    """Return a value as a fetch gives it: a scalar for an array without dimensions."""
    if not isinstance(array, np.ndarray):
        return array
    return array[()] if array.ndim == 0 else array
