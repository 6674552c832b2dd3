"""From bytes to tensors: examples, raw numbers, CSV lines, serialized tensors."""

from __future__ import annotations

import csv
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core import dtypes, errors, tensor_util
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.ops import array_ops
from tfnb.ops.example_parsing import dense_column, ragged_column, read_examples, sparse_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_API = [
    "parse_example",
    "parse_single_example",
    "decode_raw:decode_raw_v1",
    "decode_csv:decode_csv_v1",
    "parse_tensor",
    "serialize_tensor",
    "FixedLenFeature",
    "VarLenFeature",
]
EXPORTS = {"tf": _API, "io": _API}

# -- raw bytes


def _raw_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    return UNKNOWN_SHAPE if dims is None else TensorShape([*dims, None])


@register_op(
    "DecodeRaw",
    "bytes: string -> output: out_type",
    "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, "
    "complex128, bool, bfloat16}",
    "little_endian: bool = true",
    shape=_raw_shape,
    devices=("CPU",),
)
def decode_raw(xp: Any, bytes: Any, *, out_type: Any, little_endian: bool) -> Any:
    """The bytes of each string read as numbers; all strings must be of one length."""
    strings = np.asarray(bytes, dtype=object)
    lengths = {len(text) for text in strings.reshape(-1).tolist()}
    if len(lengths) > 1:
        raise errors.invalid_argument(
            f"DecodeRaw requires input strings to all be the same size, but elements have sizes "
            f"{sorted(lengths)}"
        )
    dtype = out_type.numpy_dtype
    length = lengths.pop() if lengths else 0
    if length % dtype.itemsize:
        raise errors.invalid_argument(
            f"Input to DecodeRaw has length {length} that is not a multiple of "
            f"{dtype.itemsize}, the size of {out_type.name}"
        )
    data = b"".join(strings.reshape(-1).tolist())
    numbers = np.frombuffer(data, dtype)
    if not little_endian and dtype.itemsize > 1:
        numbers = numbers.byteswap()
    return numbers.reshape((*strings.shape, length // dtype.itemsize)).copy()


decode_raw.not_differentiable()

# -- examples


def _example_shapes(c: InferenceContext) -> list[TensorShape]:
    batch = c.inputs[0].dim_values
    lead = TensorShape(batch)
    shapes = [UNKNOWN_SHAPE] * c.num_outputs
    ranges = c.op_def.output_ranges(c.attrs)
    rank = None if batch is None else len(batch) + 1
    for index in ranges["sparse_indices"]:
        shapes[index] = TensorShape([None, rank])
    for index in ranges["sparse_values"]:
        shapes[index] = TensorShape([None])
    for index in ranges["sparse_shapes"]:
        shapes[index] = TensorShape([rank])
    for index, shape in zip(ranges["dense_values"], c.attrs["dense_shapes"]):
        shapes[index] = lead.concatenate(shape)
    return shapes


def _single_shapes(c: InferenceContext) -> list[TensorShape]:
    shapes = [UNKNOWN_SHAPE] * c.num_outputs
    ranges = c.op_def.output_ranges(c.attrs)
    for index in ranges["sparse_indices"]:
        shapes[index] = TensorShape([None, 1])
    for index in ranges["sparse_values"]:
        shapes[index] = TensorShape([None])
    for index in ranges["sparse_shapes"]:
        shapes[index] = TensorShape([1])
    for index, shape in zip(ranges["dense_values"], c.attrs["dense_shapes"]):
        shapes[index] = shape
    return shapes


def _scalar_text(value: Any) -> str:
    return bytes(np.asarray(value, dtype=object)[()]).decode("utf-8", "surrogateescape")


def _keys(values: Any) -> list[str]:
    return [text.decode("utf-8", "surrogateescape") for text in np.asarray(values).tolist()]


def _batch(serialized: Any, names: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """The examples of a vector of strings, and their names for messages."""
    strings = np.asarray(serialized, dtype=object).reshape(-1).tolist()
    given = [text.decode("utf-8", "replace") for text in np.asarray(names).reshape(-1).tolist()]
    if given and len(given) != len(strings):
        raise errors.invalid_argument(
            f"Expected len(names) == len(serialized), but got: {len(given)} vs. {len(strings)}"
        )
    called = given or [""] * len(strings)
    return read_examples(strings, called), called


def _columns(
    examples: list[dict[str, Any]],
    names: list[str],
    sparse_keys: list[str],
    sparse_types: Sequence[Any],
    dense_keys: list[str],
    dense_types: Sequence[Any],
    dense_shapes: Sequence[TensorShape],
    dense_defaults: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    sparse = [sparse_column(examples, names, k, t) for k, t in zip(sparse_keys, sparse_types)]
    dense = [
        dense_column(examples, names, key, dtype, shape, default)
        for key, dtype, shape, default in zip(dense_keys, dense_types, dense_shapes, dense_defaults)
    ]
    return sparse, dense


def _in_order(sparse: list[Any]) -> list[Any]:
    """All indices, then all values, then all shapes."""
    return [column[part] for part in range(3) for column in sparse]


@register_op(
    "ParseExample",
    "serialized: string, names: string, *sparse_keys: Nsparse * string, "
    "*dense_keys: Ndense * string, *dense_defaults: Tdense -> "
    "*sparse_indices: Nsparse * int64, *sparse_values: sparse_types, "
    "*sparse_shapes: Nsparse * int64, *dense_values: Tdense",
    "Nsparse: int >= 0",
    "Ndense: int >= 0",
    "sparse_types: list({float, int64, string}) >= 0",
    "Tdense: list({float, int64, string}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_example_shapes,
    devices=("CPU",),
)
def parse_example_op(
    xp: Any,
    serialized: Any,
    names: Any,
    sparse_keys: list[Any],
    dense_keys: list[Any],
    dense_defaults: list[Any],
    *,
    sparse_types: list[Any],
    Tdense: list[Any],
    dense_shapes: list[Any],
) -> tuple[Any, ...]:
    """A vector of serialized Examples as columns."""
    if np.ndim(serialized) != 1:
        raise errors.invalid_argument(
            f"Expected serialized to be a vector, got shape: {list(np.shape(serialized))}"
        )
    examples, called = _batch(serialized, names)
    sparse, dense = _columns(
        examples,
        called,
        [_scalar_text(key) for key in sparse_keys],
        sparse_types,
        [_scalar_text(key) for key in dense_keys],
        Tdense,
        dense_shapes,
        dense_defaults,
    )
    return (*_in_order(sparse), *dense)


@register_op(
    "ParseExampleV2",
    "serialized: string, names: string, sparse_keys: string, dense_keys: string, "
    "ragged_keys: string, *dense_defaults: Tdense -> "
    "*sparse_indices: num_sparse * int64, *sparse_values: sparse_types, "
    "*sparse_shapes: num_sparse * int64, *dense_values: Tdense, "
    "*ragged_values: ragged_value_types, *ragged_row_splits: ragged_split_types",
    "Tdense: list({float, int64, string}) >= 0",
    "num_sparse: int >= 0",
    "sparse_types: list({float, int64, string}) >= 0",
    "ragged_value_types: list({float, int64, string}) >= 0",
    "ragged_split_types: list({int32, int64}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_example_shapes,
    devices=("CPU",),
)
def parse_example_v2(
    xp: Any,
    serialized: Any,
    names: Any,
    sparse_keys: Any,
    dense_keys: Any,
    ragged_keys: Any,
    dense_defaults: list[Any],
    *,
    Tdense: list[Any],
    sparse_types: list[Any],
    ragged_value_types: list[Any],
    ragged_split_types: list[Any],
    dense_shapes: list[Any],
) -> tuple[Any, ...]:
    """A vector of serialized Examples, or one, as columns."""
    is_single = np.ndim(serialized) == 0
    examples, called = _batch(serialized, names)
    sparse, dense = _columns(
        examples,
        called,
        _keys(sparse_keys),
        sparse_types,
        _keys(dense_keys),
        Tdense,
        dense_shapes,
        dense_defaults,
    )
    ragged = [
        ragged_column(examples, called, key, dtype, split)
        for key, dtype, split in zip(_keys(ragged_keys), ragged_value_types, ragged_split_types)
    ]
    if is_single:
        sparse, dense = _without_batch(sparse, dense)
        ragged = [(values, splits[:0]) for values, splits in ragged]
    return (
        *_in_order(sparse),
        *dense,
        *[values for values, _ in ragged],
        *[splits for _, splits in ragged],
    )


def _without_batch(sparse: list[Any], dense: list[Any]) -> tuple[list[Any], list[Any]]:
    return (
        [(indices[:, 1:], values, shape[1:]) for indices, values, shape in sparse],
        [column[0] for column in dense],
    )


@register_op(
    "ParseSingleExample",
    "serialized: string, *dense_defaults: Tdense -> "
    "*sparse_indices: num_sparse * int64, *sparse_values: sparse_types, "
    "*sparse_shapes: num_sparse * int64, *dense_values: Tdense",
    "num_sparse: int >= 0",
    "sparse_keys: list(string) >= 0",
    "dense_keys: list(string) >= 0",
    "sparse_types: list({float, int64, string}) >= 0",
    "Tdense: list({float, int64, string}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_single_shapes,
    devices=("CPU",),
)
def parse_single_example_op(
    xp: Any,
    serialized: Any,
    dense_defaults: list[Any],
    *,
    sparse_keys: list[Any],
    dense_keys: list[Any],
    sparse_types: list[Any],
    Tdense: list[Any],
    dense_shapes: list[Any],
) -> tuple[Any, ...]:
    """One serialized Example as columns of one row."""
    if np.ndim(serialized):
        raise errors.invalid_argument(
            f"Expected serialized to be a scalar, got shape: {list(np.shape(serialized))}"
        )
    examples, called = _batch(serialized, [])
    sparse, dense = _columns(
        examples,
        called,
        list(sparse_keys),
        sparse_types,
        list(dense_keys),
        Tdense,
        dense_shapes,
        dense_defaults,
    )
    sparse, dense = _without_batch(sparse, dense)
    return (*_in_order(sparse), *dense)


for _op in (parse_example_op, parse_example_v2, parse_single_example_op):
    _op.not_differentiable()

# -- CSV


def _csv_shapes(c: InferenceContext) -> list[TensorShape]:
    return [c.inputs[0]] * c.num_outputs


@register_op(
    "DecodeCSV",
    "records: string, *record_defaults: OUT_TYPE -> *output: OUT_TYPE",
    "OUT_TYPE: list({float, double, int32, int64, string}) >= 1",
    "field_delim: string = ','",
    "use_quote_delim: bool = true",
    "na_value: string = ''",
    "select_cols: list(int) = []",
    shape=_csv_shapes,
    devices=("CPU",),
)
def decode_csv(
    xp: Any,
    records: Any,
    record_defaults: list[Any],
    *,
    OUT_TYPE: list[Any],
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: list[int],
) -> tuple[Any, ...]:
    """The fields of CSV records as columns; an empty field takes its column's default."""
    if len(field_delim) != 1:
        raise errors.invalid_argument("field_delim should be only 1 char")
    lines = np.asarray(records, dtype=object)
    wanted = list(select_cols) or list(range(len(OUT_TYPE)))
    columns: list[list[Any]] = [[] for _ in OUT_TYPE]
    for number, line in enumerate(lines.reshape(-1).tolist()):
        fields = _fields(line, field_delim, use_quote_delim, number)
        if not select_cols and len(fields) != len(OUT_TYPE):
            raise errors.invalid_argument(
                f"Expect {len(OUT_TYPE)} fields but have {len(fields)} in record {number}"
            )
        if select_cols and max(wanted) >= len(fields):
            raise errors.invalid_argument(
                f"Expect {len(OUT_TYPE)} fields but have {len(fields)} in record {number}"
            )
        for position, column in enumerate(wanted):
            text = fields[column]
            if text in ("", na_value):
                default = np.asarray(record_defaults[position]).reshape(-1)
                if not default.size:
                    raise errors.invalid_argument(
                        f"Field {column} is required but missing in record {number}!"
                    )
                columns[position].append(default[0])
            else:
                columns[position].append(_number(text, OUT_TYPE[position], column, number))
    return tuple(_column(values, dtype, lines.shape) for values, dtype in zip(columns, OUT_TYPE))


def _fields(line: bytes, delimiter: str, quotes: bool, number: int) -> list[str]:
    text = line.decode("utf-8", "surrogateescape")
    if not text:
        return [""]
    try:
        if quotes:
            rows = list(csv.reader([text], delimiter=delimiter, strict=True))
        else:
            rows = list(csv.reader([text], delimiter=delimiter, quoting=csv.QUOTE_NONE))
    except csv.Error as error:
        raise errors.invalid_argument(f"Record {number} is no CSV: {error}") from None
    return rows[0] if rows else [""]


def _number(text: str, dtype: Any, field: int, record: int) -> Any:
    if dtype.name == "string":
        return text.encode("utf-8", "surrogateescape")
    try:
        value = int(text) if dtype.is_integer else float(text)
        return dtype.as_numpy_dtype(value)
    except (ValueError, OverflowError):
        word = {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
        raise errors.invalid_argument(
            f"Field {field} in record {record} is not a valid {word}: {text}"
        ) from None


def _column(values: list[Any], dtype: Any, shape: tuple[int, ...]) -> Any:
    array = np.empty(len(values), dtype.numpy_dtype)
    for position, value in enumerate(values):
        array[position] = value
    return array.reshape(shape)


decode_csv.not_differentiable()

# -- tensors


@register_op(
    "ParseTensor",
    "serialized: string -> output: out_type",
    "out_type: type",
    shape=lambda c: UNKNOWN_SHAPE,
    devices=("CPU",),
)
def parse_tensor_op(xp: Any, serialized: Any, *, out_type: Any) -> Any:
    """A serialized TensorProto as a tensor."""
    from google.protobuf.message import DecodeError

    from tfnb.proto import tensor_pb2

    proto = tensor_pb2.TensorProto()
    data = bytes(np.asarray(serialized, dtype=object)[()])
    try:
        proto.ParseFromString(data)
    except DecodeError:
        shown = data[:64].decode("utf-8", "backslashreplace")
        raise errors.invalid_argument(
            f"Could not parse `serialized` as TensorProto: '{shown}'"
        ) from None
    found = dtypes.as_dtype(proto.dtype)
    if found is not out_type:
        raise errors.invalid_argument(
            f"Type mismatch between parsed tensor ({found.name}) and dtype ({out_type.name})"
        )
    return tensor_util.decode_tensor(proto)


@register_op(
    "SerializeTensor",
    "tensor: T -> serialized: string",
    "T: type",
    shape=lambda c: SCALAR_SHAPE,
    devices=("CPU",),
)
def serialize_tensor_op(xp: Any, tensor: Any, *, T: Any) -> Any:
    """A tensor as a serialized TensorProto."""
    proto = tensor_util.make_tensor_proto(tensor, T)
    return np.array(proto.SerializeToString(), dtype=object)


parse_tensor_op.not_differentiable()
serialize_tensor_op.not_differentiable()

# -- the public functions


class FixedLenFeature(NamedTuple):
    """A dense feature: its shape, dtype, and the value of an example that lacks it."""

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A sparse feature: its dtype."""

    dtype: Any


def parse_example(
    serialized: Any,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Any]:
    """Parses a vector of serialized ``Example`` messages.

    Args:
      serialized: a vector of strings.
      features: key -> ``FixedLenFeature`` or ``VarLenFeature``.
      name: of the op.
      example_names: a vector of names for messages.

    Returns:
      key -> tensor ``[batch, *shape]``, or ``SparseTensor`` for a ``VarLenFeature``.

    Raises:
      ValueError: there are no features, or one is of another kind.
    """
    sparse, dense = _split_features(features)
    with name_scope(name, "ParseExample", [serialized]) as scope:
        names = [] if example_names is None else example_names
        serialized = convert_to_tensor(serialized, dtype=dtypes.string, name="serialized")
        found = parse_example_op(
            serialized,
            convert_to_tensor(names, dtype=dtypes.string, name="names"),
            list(sparse),
            list(dense),
            _defaults(dense),
            sparse_types=[dtypes.as_dtype(feature.dtype) for feature in sparse.values()],
            dense_shapes=[TensorShape(feature.shape) for feature in dense.values()],
            name=scope,
        )
    return _by_key(found, sparse, dense)


def parse_single_example(
    serialized: Any,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Any]:
    """Parses one serialized ``Example``; like :func:`parse_example` without the batch."""
    sparse, dense = _split_features(features)
    with name_scope(name, "ParseSingleExample", [serialized, example_names]) as scope:
        found = parse_single_example_op(
            convert_to_tensor(serialized, dtype=dtypes.string, name="serialized"),
            _defaults(dense),
            num_sparse=len(sparse),
            sparse_keys=list(sparse),
            dense_keys=list(dense),
            sparse_types=[dtypes.as_dtype(feature.dtype) for feature in sparse.values()],
            dense_shapes=[TensorShape(feature.shape) for feature in dense.values()],
            name=scope,
        )
    return _by_key(found, sparse, dense)


def _split_features(features: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if not features:
        raise ValueError("Argument `features` cannot be None or empty.")
    sparse, dense = {}, {}
    for key, feature in sorted(features.items()):
        if isinstance(feature, VarLenFeature):
            sparse[key] = feature
        elif isinstance(feature, FixedLenFeature):
            dense[key] = feature
        else:
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'.")
    return sparse, dense


def _defaults(dense: Mapping[str, Any]) -> list[Any]:
    made = []
    for key, feature in dense.items():
        dtype = dtypes.as_dtype(feature.dtype)
        shape = TensorShape(feature.shape)
        if feature.default_value is None:
            made.append(array_ops.constant([], dtype=dtype))
            continue
        value = convert_to_tensor(feature.default_value, dtype=dtype, name=f"key_{key}")
        if shape.is_fully_defined():
            value = array_ops.reshape(value, shape.as_list())
        made.append(value)
    return made


def _by_key(found: Any, sparse: Mapping[str, Any], dense: Mapping[str, Any]) -> dict[str, Any]:
    flat: list[Any] = []
    for part in found if isinstance(found, list | tuple) else [found]:
        flat += list(part) if isinstance(part, list | tuple) else [part]
    count = len(sparse)
    answer: dict[str, Any] = {
        key: SparseTensor(flat[i], flat[count + i], flat[2 * count + i])
        for i, key in enumerate(sparse)
    }
    answer.update(zip(dense, flat[3 * count :]))
    return answer


def decode_raw_v1(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Any:
    """The bytes of each string read as numbers of ``out_type``, along a new last dimension."""
    given = input_bytes if input_bytes is not None else bytes
    return decode_raw(
        convert_to_tensor(given, dtype=dtypes.string),
        out_type=dtypes.as_dtype(out_type),
        little_endian=little_endian,
        name=name,
    )


def decode_csv_v1(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Any]:
    """The fields of CSV records as one tensor a column.

    Raises:
      ValueError: ``select_cols`` is not increasing, or not as long as ``record_defaults``.
    """
    if select_cols is not None:
        if any(a >= b for a, b in itertools.pairwise(select_cols)):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols and select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    found = decode_csv(
        convert_to_tensor(records, dtype=dtypes.string),
        [convert_to_tensor(default) for default in record_defaults],
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=list(select_cols or []),
        name=name,
    )
    return list(found) if isinstance(found, list | tuple) else [found]


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """A serialized TensorProto as a tensor of ``out_type``."""
    return parse_tensor_op(serialized, out_type=dtypes.as_dtype(out_type), name=name)


def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """A tensor as a serialized TensorProto."""
    return serialize_tensor_op(tensor, name=name)
