"""Conversion of bytes to tensors: raw numbers, compressed data, CSV lines, serialized tensors."""

from __future__ import annotations

import base64
import json
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors, host_memory, tensor_util
from tfnb.core.files.leveldb_table import put_varint
from tfnb.core.files.tf_record import WINDOW_BITS, inflated_stream
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.string_arrays import as_bytes, mapped, strings
from tfnb.ops.strings.string_number_ops import parse_float, parse_float32, parse_integer
from tfnb.proto import example_pb2, tensor_pb2

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": ["decode_compressed", "decode_csv", "decode_json_example", "decode_raw",
           "parse_tensor", "serialize_tensor"],
    "io": ["decode_compressed", "decode_csv", "decode_json_example", "decode_raw",
           "parse_tensor", "serialize_tensor"],
}  # fmt: skip

# ----------------------------------------------------------------------------------- raw numbers


def _raw_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    return UNKNOWN_SHAPE if dims is None else TensorShape([*dims, None])


def _swapped(data: Array, dtype: DType, little_endian: bool) -> Array:
    """Return numbers, read in this machine's byte order, in the byte order of the data."""
    if little_endian or dtype.size == 1:
        return data
    if dtype.is_complex:
        # Real and imaginary part are swapped separately.
        parts = data.view(np.float32 if dtype.size == 8 else np.float64)
        return parts.byteswap().view(data.dtype)
    if data.dtype.kind == "V":  # bfloat16 and similar types
        return data.view(f"u{dtype.size}").byteswap().view(data.dtype)
    return data.byteswap()


@register_op(
    "DecodeRaw",
    "bytes: string -> output: out_type",
    "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, "
    "complex128, bool, bfloat16}",
    "little_endian: bool = true",
    shape=_raw_shape,
    devices=("CPU",),
)
def decode_raw_op(xp: Xp, bytes: Array, *, out_type: DType, little_endian: bool) -> Array:
    """Return the numbers in the bytes of each string; all strings have the same length."""
    values = bytes.reshape(-1).tolist()
    target = np.dtype(out_type.as_numpy_dtype)
    if not values:
        return np.empty((*bytes.shape, 0), target)
    size = len(values[0])
    for index, value in enumerate(values):
        if len(value) != size:
            raise errors.invalid_argument(
                "DecodeRaw requires input strings to all be the same size, but element "
                f"{index} has size {size} != {len(value)}"
            )
    if size % target.itemsize:
        raise errors.invalid_argument(
            f"Input to DecodeRaw has length {size} that is not a multiple of {target.itemsize}, "
            f"the size of {type_word(out_type)}"
        )
    data = np.frombuffer(b"".join(values), target)
    return _swapped(data, out_type, little_endian).reshape(*bytes.shape, size // target.itemsize)


decode_raw_op.not_differentiable()


def _padded_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    length = c.constant_value(1)
    width = c.attr("out_type").size
    if length is not None:
        if np.ndim(length):
            raise ValueError(f"Input must be scalar but has rank {np.ndim(length)}")
        if length < 0:
            raise ValueError(
                f"Dimension size, given by scalar input 1, must be non-negative but is {length}"
            )
        if length % width:
            raise ValueError(
                f"Dimension size must be evenly divisible by {width} but is {int(length)}"
            )
    if dims is None:
        return UNKNOWN_SHAPE
    return TensorShape([*dims, None if length is None else int(length) // width])


@register_op(
    "DecodePaddedRaw",
    "input_bytes: string, fixed_length: int32 -> output: out_type",
    "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}",
    "little_endian: bool = true",
    shape=_padded_shape,
    devices=("CPU",),
)
def decode_padded_raw(
    xp: Xp, input_bytes: Array, fixed_length: Array, *, out_type: DType, little_endian: bool
) -> Array:
    """Return the numbers in the first bytes of each string, followed by zeros if it is short."""
    if fixed_length.ndim:
        raise errors.invalid_argument(
            f"k must be scalar, got shape {shape_text(fixed_length.shape)}"
        )
    length = int(fixed_length)
    if length <= 0:
        raise errors.invalid_argument(f"fixed_length ({length}) must be greater than zero.")
    target = np.dtype(out_type.as_numpy_dtype)
    if length % target.itemsize:
        raise errors.invalid_argument(
            f"fixed_length ({length}) must be a multiple of the size of out_type "
            f"({target.itemsize})"
        )
    texts = input_bytes.reshape(-1)
    width = min(length, max(map(len, texts.tolist()), default=0))
    out = np.zeros((*input_bytes.shape, length // target.itemsize), target)
    if width:
        # Strings are padded to the longest one; bytes after it are already zero.
        rows = out.reshape(texts.size, -1).view(np.uint8)
        rows[:, :width] = texts.astype(f"S{width}").view(np.uint8).reshape(-1, width)
    return _swapped(out, out_type, little_endian)


decode_padded_raw.not_differentiable()


def decode_raw(
    input_bytes: Any = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> TensorResult:
    """Return the numbers in the bytes of each string.

    Raises:
      ValueError: the type is missing, or the strings were given under both names.
    """
    if input_bytes is not None and bytes is not None:
        raise ValueError("Cannot specify both 'input_bytes' and 'bytes'")
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    data = bytes if input_bytes is None else input_bytes
    return decode_raw_op(data, out_type, little_endian=little_endian, name=name)


@register_op(
    "DecodeCompressed",
    "bytes: string -> output: string",
    "compression_type: string = ''",
    shape=unchanged_shape,
    devices=("CPU",),
)
def decode_compressed(xp: Xp, bytes: Array, *, compression_type: str) -> Array:
    """Return the contents of compressed strings."""
    if compression_type in ("", "NONE"):
        return bytes
    window = WINDOW_BITS.get(compression_type)
    if window is None:
        raise errors.invalid_argument(
            "Only ZLIB, GZIP or NONE are supported compressions"
            if compression_type != "ZSTD"
            else "ZSTD is not supported; only ZLIB, GZIP or NONE are"
        )

    left = host_memory.limit()

    def inflate(value: Array) -> Array:
        nonlocal left
        try:
            # As in TensorFlow, a truncated stream is no error.
            if value:
                value, left = inflated_stream(zlib.decompressobj(window), value, left)
            return value
        except zlib.error as error:
            raise errors.data_loss(f"inflate() failed with error: {error}") from None

    return mapped(inflate, bytes)


decode_compressed.not_differentiable()

# ------------------------------------------------------------------------------------------- CSV


def _csv_shape(c: InferenceContext) -> list[TensorShape]:
    for shape in c.inputs[1:]:
        dims = shape.dim_values
        if dims is not None and (len(dims) > 1 or (dims and dims[0] is not None and dims[0] > 1)):
            raise ValueError(
                "Shape of a default must be a length-0 or length-1 vector, or a scalar."
            )
    return [c.inputs[0]] * c.num_outputs


class CsvReader:
    """The parser of lines into fields, as RFC 4180 defines them."""

    def __init__(self, delimiter: str, use_quotes: bool, columns: list[int]) -> None:
        self._delimiter = as_bytes(delimiter)[0]
        self._use_quotes = use_quotes
        self._columns = columns

    def fields(self, line: bytes) -> list[bytes]:
        """Return the requested fields of a line.

        Raises:
          InvalidArgumentError: quotes or line ends are in a wrong place.
        """
        found: list[bytes] = []
        position = column = 0
        while position < len(line):
            if line[position] in b"\r\n":
                position += 1
                continue
            if self._use_quotes and line[position] == ord('"'):
                field, position = self._quoted(line, position + 1)
            else:
                field, position = self._plain(line, position)
            if not self._columns or self._columns[len(found)] == column:
                found.append(field)
                if self._columns and len(found) == len(self._columns):
                    return found
            column += 1
        wanted = not self._columns or self._columns[len(found)] == column
        if line and wanted and line[-1] == self._delimiter:
            found.append(b"")
        return found

    def _plain(self, line: bytes, start: int) -> tuple[bytes, int]:
        end = line.find(self._delimiter, start)
        end = len(line) if end < 0 else end
        field = line[start:end]
        if b"\n" in field or b"\r" in field or (self._use_quotes and b'"' in field):
            raise errors.invalid_argument("Unquoted fields cannot have quotes/CRLFs inside")
        return field, end + 1

    def _quoted(self, line: bytes, position: int) -> tuple[bytes, int]:
        quote, last = ord('"'), len(line) - 1
        field = bytearray()
        while position < last and not (
            line[position] == quote and line[position + 1] == self._delimiter
        ):
            if line[position] != quote:
                field.append(line[position])
                position += 1
            elif line[position + 1] == quote:
                field.append(quote)
                position += 2
            else:
                raise errors.invalid_argument(
                    "Quote inside a string has to be escaped by another quote"
                )
        if position > last or line[position] != quote:
            raise errors.invalid_argument(
                "Quoted field has to end with quote followed by delim or end"
            )
        return bytes(field), position + 2


def csv_value(field: bytes, dtype: DType, column: int, record: int | None = None) -> Array:
    """Return a field as a value of a dtype.

    Args:
      field: its text.
      dtype: of the value.
      column: the position of the field, for errors.
      record: the number of the record for errors, if it is known.

    Raises:
      InvalidArgumentError: the text is no number of this dtype.
    """
    value: Array
    if dtype is dtypes.string:
        return field
    if dtype is dtypes.float32:
        value = parse_float32(field)
    elif dtype is dtypes.float64:
        value = parse_float(field)
    else:
        value = parse_integer(field, dtype)
    if value is None:
        shown = field.decode("utf-8", "replace")
        number = "" if record is None else f" {record}"
        raise errors.invalid_argument(
            f"Field {column} in record{number} is not a valid {type_word(dtype)}: {shown}"
        )
    return value


@register_op(
    "DecodeCSV",
    "records: string, record_defaults: OUT_TYPE -> output: OUT_TYPE",
    "OUT_TYPE: list({float, double, int32, int64, string}) >= 1",
    "field_delim: string = ','",
    "use_quote_delim: bool = true",
    "na_value: string = ''",
    "select_cols: list(int) = []",
    shape=_csv_shape,
    devices=("CPU",),
)
def decode_csv_op(
    xp: Xp,
    records: Array,
    record_defaults: list[Array],
    *,
    OUT_TYPE: list[DType],
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: list[int],
) -> Outputs:
    """Return the fields of lines by column; an empty field has its column's default."""
    if len(as_bytes(field_delim)) != 1:
        raise errors.invalid_argument("field_delim should be only 1 char")
    for index, default in enumerate(record_defaults):
        if default.ndim > 1:
            raise errors.invalid_argument("Each record default should be at most rank 1")
        if default.size > 1:
            raise errors.invalid_argument(
                f"There should only be 1 default per field but field {index} has {default.size}"
            )
    reader = CsvReader(field_delim, use_quote_delim, select_cols)
    missing = {b"", as_bytes(na_value)}
    columns: list[list[Array]] = [[] for _ in OUT_TYPE]
    for record, line in enumerate(records.reshape(-1).tolist()):
        fields = reader.fields(line)
        if len(fields) != len(OUT_TYPE):
            raise errors.invalid_argument(
                f"Expect {len(OUT_TYPE)} fields but have {len(fields)} in record {record}"
            )
        for column, (field, dtype) in enumerate(zip(fields, OUT_TYPE, strict=True)):
            if field not in missing:
                columns[column].append(csv_value(field, dtype, column, record))
                continue
            default = record_defaults[column]
            if default.size != 1:
                raise errors.invalid_argument(
                    f"Field {column} is required but missing in record {record}!"
                )
            columns[column].append(default.reshape(-1)[0])
    return tuple(
        strings(values, records.shape)
        if dtype is dtypes.string
        else np.array(values, dtype.as_numpy_dtype).reshape(records.shape)
        for values, dtype in zip(columns, OUT_TYPE, strict=True)
    )


def decode_csv(
    records: TensorLike,
    record_defaults: TensorLike,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: list[int] | None = None,
) -> TensorResult:
    """Return the fields of lines, as one tensor per column.

    Raises:
      ValueError: the selected columns are negative, not increasing, or not as many as the defaults.
    """
    if select_cols is not None:
        if any(a >= b for a, b in pairwise(select_cols)):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    return decode_csv_op(
        records,
        record_defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=select_cols,
        name=name,
    )


# ------------------------------------------------------------------------------ tensors as strings


@register_op(
    "SerializeTensor",
    "tensor: T -> serialized: string",
    "T: type",
    shape=lambda c: SCALAR_SHAPE,
    devices=("CPU",),
)
def serialize_tensor(xp: Xp, tensor: Array, *, T: DType) -> Array:
    """Return a tensor as a serialized TensorProto."""
    proto = tensor_util.encode_tensor_content(np.asarray(tensor), T)
    return strings([proto.SerializeToString()], ())


serialize_tensor.not_differentiable()


@register_op(
    "ParseTensor",
    "serialized: string -> output: out_type",
    "out_type: type",
    shape=lambda c: UNKNOWN_SHAPE,
    devices=("CPU",),
)
def parse_tensor(xp: Xp, serialized: Array, *, out_type: DType) -> Array:
    """Return the tensor in a serialized TensorProto."""
    if serialized.ndim:
        raise errors.invalid_argument(
            f"Expected `serialized` to be a scalar, got shape: {shape_text(serialized.shape)}"
        )
    data = serialized.item()
    proto = tensor_pb2.TensorProto()
    try:
        proto.ParseFromString(data)
    except Exception:
        shown = base64.b64encode(data).decode()
        raise errors.invalid_argument(
            f"Could not parse `serialized` as TensorProto, base64: {shown}"
        ) from None
    if not proto.dtype:
        raise errors.invalid_argument(f"Cannot parse tensor from proto: {proto}")
    dtype = dtypes.as_dtype(proto.dtype)
    if dtype is not out_type:
        raise errors.invalid_argument(
            f"Type mismatch between parsed tensor ({type_word(dtype)}) and dtype "
            f"({type_word(out_type)})"
        )
    return tensor_util.decode_tensor(proto)


parse_tensor.not_differentiable()


def _chunk(field: int, data: bytes) -> bytes:
    return bytes([field << 3 | 2]) + put_varint(len(data)) + data


def _unpacked(feature: Array) -> bytes:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return b""
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        return _chunk(1, b"".join(_chunk(1, value) for value in values))
    if kind == "float_list":
        return _chunk(2, b"".join(b"\x0d" + np.array(v, "<f4").tobytes() for v in values))
    return _chunk(3, b"".join(b"\x08" + put_varint(v & (1 << 64) - 1) for v in values))


@register_op(
    "DecodeJSONExample",
    "json_examples: string -> binary_examples: string",
    shape=unchanged_shape,
    devices=("CPU",),
)
def decode_json_example(xp: Xp, json_examples: Array) -> Array:
    """Return Examples written as JSON as serialized messages."""
    from google.protobuf import json_format

    def decode(text: bytes) -> bytes:
        example = example_pb2.Example()
        try:
            json_format.Parse(text, example)
        except (json_format.ParseError, UnicodeDecodeError) as error:
            raise errors.invalid_argument(f"Error while parsing JSON: {error}") from None
        # As in TensorFlow, features are in the order of the text, and each number has its own tag.
        given = json.loads(text).get("features")
        if given is None:
            return b""
        entries = b""
        for key in given.get("feature") or ():
            inner = _unpacked(example.features.feature[key])
            entries += _chunk(1, _chunk(1, key.encode()) + _chunk(2, inner))
        return _chunk(1, entries)

    return mapped(decode, json_examples)


decode_json_example.not_differentiable()
