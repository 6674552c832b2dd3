"""SequenceExample messages as tensors: a context, and lists of features over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.process.records import field, record
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.io import example_parsing as parsing
from tfnb.ops.io.example_parsing import Dense, Ragged, Sparse, text_of_key
from tfnb.proto import example_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext

# ------------------------------------------------------------------------------------------ shapes


def _shapes(
    c: InferenceContext, batch: tuple[int | None, ...] | None, *, lengths: bool, ragged: bool
) -> list[TensorShape]:
    """Return the shapes of all outputs for the shape of the serialized input."""
    rank = None if batch is None else len(batch)

    def sparse(count: int, extra: int) -> list[TensorShape]:
        width = None if rank is None else rank + extra
        return [
            *[TensorShape([None, width])] * count,
            *[TensorShape([None])] * count,
            *[TensorShape([width])] * count,
        ]

    def dense(shapes: Iterable[TensorShape], *between: None) -> list[TensorShape]:
        if batch is None:
            return [TensorShape(None) for _ in shapes]
        return [TensorShape([*batch, *between, *(shape.dim_values or ())]) for shape in shapes]

    def splits(count: int) -> list[TensorShape]:
        size = batch[0] if batch else None
        return [TensorShape([None if size is None else size + 1])] * count

    shapes = c.attr("feature_list_dense_shapes")
    found = [*sparse(c.attr("Ncontext_sparse"), 1), *dense(c.attr("context_dense_shapes"))]
    if ragged:
        count = len(c.attr("context_ragged_value_types"))
        found += [*[TensorShape([None])] * count, *splits(count)]
    found += [*sparse(c.attr("Nfeature_list_sparse"), 2), *dense(shapes, None)]
    if lengths:
        found += [TensorShape(batch)] * len(shapes)
    if ragged:
        count = len(c.attr("feature_list_ragged_value_types"))
        vectors = [TensorShape([None])] * count
        found += [*vectors, *splits(count), *vectors]
    return found


def _parse_shape(c: InferenceContext) -> list[TensorShape]:
    return _shapes(c, c.with_rank(0, 1).dim_values, lengths=True, ragged=False)


def _parse_v2_shape(c: InferenceContext) -> list[TensorShape]:
    return _shapes(c, c.with_rank_at_most(0, 1).dim_values, lengths=True, ragged=True)


def _parse_single_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    c.with_rank(1, 1)
    return _shapes(c, (), lengths=False, ragged=False)


# ----------------------------------------------------------------------------------------- reading


@record(slots=True)
class _Columns:
    """The requested columns of the context or the feature lists.

    Attributes:
      may_miss: the dense feature lists that may be missing and then count as empty.
    """

    context_sparse: list[Sparse] = field(default_factory=list)
    context_dense: list[Dense] = field(default_factory=list)
    context_ragged: list[Ragged] = field(default_factory=list)
    list_sparse: list[Sparse] = field(default_factory=list)
    list_dense: list[Dense] = field(default_factory=list)
    list_ragged: list[Ragged] = field(default_factory=list)
    may_miss: frozenset[str] = frozenset()


@record(slots=True)
class _Rows:
    """The values of each column per example; for feature lists, a list of steps per example."""

    context_free: list[list[Any]]
    context_dense: list[list[Any]]
    list_free: list[list[list[Any]]]
    list_dense: list[list[list[Any]]]


def _sparse_columns(keys: Iterable[Array], types: Sequence[DType]) -> list[Sparse]:
    names = [text_of_key(key) for key in keys]
    return [Sparse(key, dtype) for key, dtype in zip(names, types, strict=True)]


def _list_columns(
    keys: Iterable[Array], types: Sequence[DType], shapes: Sequence[TensorShape]
) -> list[Dense]:
    names = [text_of_key(key) for key in keys]
    return [
        Dense(key, dtype, shape.dim_values or (), np.empty(0, dtype.as_numpy_dtype))
        for key, dtype, shape in zip(names, types, shapes, strict=True)
    ]


def _read(examples: Sequence[bytes], names: Sequence[str], columns: _Columns) -> _Rows:
    """Read all examples.

    Raises:
      InvalidArgumentError: a message cannot be read, or a feature is missing or does not fit.
    """
    context_free: list[Sparse | Ragged] = [*columns.context_sparse, *columns.context_ragged]
    list_free: list[Sparse | Ragged] = [*columns.list_sparse, *columns.list_ragged]
    rows = _Rows(
        [[] for _ in context_free],
        [[] for _ in columns.context_dense],
        [[] for _ in list_free],
        [[] for _ in columns.list_dense],
    )
    if not len(examples):
        _check_empty_batch(columns)
    for index, data in enumerate(examples):
        name = names[index] if names else "<unknown>"
        message = example_pb2.SequenceExample()
        try:
            message.ParseFromString(data)
        except Exception:
            raise errors.invalid_argument(
                f"Invalid protocol message input, example id: {name}"
            ) from None
        context, lists = message.context.feature, message.feature_lists.feature_list
        for dense, found in zip(columns.context_dense, rows.context_dense, strict=True):
            found.append(_context_dense(context.get(dense.key), dense, name))
        for free, found in zip(context_free, rows.context_free, strict=True):
            values = _typed(context.get(free.key), free.dtype, f"Context feature: {free.key}", name)
            found.append(parsing.array_of(values, free.dtype))
        for dense, steps in zip(columns.list_dense, rows.list_dense, strict=True):
            steps.append(_list_steps(lists.get(dense.key), dense, name, columns.may_miss))
        for free, steps in zip(list_free, rows.list_free, strict=True):
            steps.append(_free_steps(lists.get(free.key), free, name))
    return rows


def _check_empty_batch(columns: _Columns) -> None:
    """Raise an error for required features even if there is no example."""
    for column in columns.context_dense:
        if not column.default.size and column.stride:
            raise errors.invalid_argument(
                f"Inconsistent max number of elements for feature {column.key}: expected "
                f"{column.stride}, but found 0"
            )


def _typed(feature: Array, dtype: DType, what: str, name: str) -> Array:
    """Return the values of a feature; no values if it has no kind."""
    found, values = parsing.values_of(feature)
    if found is not None and found is not dtype:
        raise errors.invalid_argument(
            f"Name: {name}, {what}.  Data types don't match. Expected type: {type_word(dtype)}"
        )
    return values


def _context_dense(feature: Array, column: Dense, name: str) -> Array:
    if parsing.values_of(feature)[0] is None:
        if column.default.size or not column.stride:
            return column.default.reshape(-1)
        raise errors.invalid_argument(
            f"Name: {name}, Context feature '{column.key}' is required but could not be found."
        )
    values = _typed(feature, column.dtype, f"Context feature: {column.key}", name)
    if len(values) != column.stride:
        raise errors.invalid_argument(
            f"Name: {name}, Key: {column.key}, Inconsistent max number of elements for feature "
            f"{column.key}: expected {column.stride}, but found {len(values)}"
        )
    return parsing.array_of(values, column.dtype)


def _list_steps(feature_list: Array, column: Dense, name: str, may_miss: frozenset[str]) -> Outputs:
    if feature_list is None:
        if column.key in may_miss:
            return []
        raise errors.invalid_argument(
            f"Name: {name}, Feature list '{column.key}' is required but could not be found.  Did "
            "you mean to include it in feature_list_dense_missing_assumed_empty or "
            "feature_list_dense_defaults?"
        )
    steps = []
    for index, feature in enumerate(feature_list.feature):
        what = f"Feature list: {column.key}, Index: {index}"
        values = _typed(feature, column.dtype, what, name)
        if len(values) != column.stride:
            shown = shape_text(column.dims)
            raise errors.invalid_argument(
                f"Name: {name}, Key: {column.key}, Index: {index}.  Number of "
                f"{type_word(column.dtype)} values != expected.  values size: {len(values)} but "
                f"output shape: {shown}; the feature list has an unexpected number of values"
            )
        steps.append(parsing.array_of(values, column.dtype))
    return steps


def _free_steps(feature_list: Array, column: Sparse | Ragged, name: str) -> list[Array]:
    if feature_list is None:
        return []
    return [
        parsing.array_of(
            _typed(feature, column.dtype, f"Feature list: {column.key}, Index: {index}", name),
            column.dtype,
        )
        for index, feature in enumerate(feature_list.feature)
    ]


# ----------------------------------------------------------------------------------------- results


def _dense_lists(examples: list[list[Array]], column: Dense) -> tuple[Array, Array]:
    """Return a dense feature list of a batch, padded to the longest, and the lengths."""
    lengths = np.array([len(steps) for steps in examples], np.int64)
    longest = int(lengths.max(initial=0))
    filler: Array = b"" if column.default.dtype == object else 0
    shape = (len(examples), longest, column.stride)
    batch = np.full(shape, filler, column.default.dtype)
    for index, steps in enumerate(examples):
        for step, values in enumerate(steps):
            batch[index, step] = values
    return batch.reshape(len(examples), longest, *[size or 0 for size in column.dims]), lengths


def _sparse_lists(examples: list[list[Array]], dtype: DType) -> tuple[Array, Array, Array]:
    """Return a sparse feature list of a batch.

    It consists of indices of example and step, values, and a shape.
    """
    steps = [values for example in examples for values in example]
    lengths = [len(values) for values in steps]
    owners = np.repeat(np.arange(len(examples)), [len(example) for example in examples])
    numbers = parsing.positions([len(example) for example in examples])
    indices = np.empty((sum(lengths), 3), np.int64)
    indices[:, 0] = np.repeat(owners, lengths)
    indices[:, 1] = np.repeat(numbers, lengths)
    indices[:, 2] = parsing.positions(lengths)
    shape = [
        len(examples),
        max((len(example) for example in examples), default=0),
        max(lengths, default=0),
    ]
    return indices, parsing.joined(steps, dtype), np.array(shape, np.int64)


def _alone(part: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Return a sparse column of a single example, without the index of the batch."""
    indices, values, shape = part
    return indices[:, 1:], values, shape[1:]


def _transposed(parts: Sequence[tuple[Array, ...]], count: int) -> list[Array]:
    return [part[position] for position in range(count) for part in parts]


def _results(
    rows: _Rows, columns: _Columns, *, is_scalar: bool, lengths: bool, ragged: bool
) -> tuple[Array, ...]:
    """Return all outputs in the op's order."""
    num_context, num_list = len(columns.context_sparse), len(columns.list_sparse)
    context = [
        parsing.sparse_batch(found, column.dtype)
        for found, column in zip(rows.context_free, columns.context_sparse, strict=False)
    ]
    context_dense = [
        parsing.dense_batch(found, column)
        for found, column in zip(rows.context_dense, columns.context_dense, strict=True)
    ]
    lists = [
        _sparse_lists(found, column.dtype)
        for found, column in zip(rows.list_free, columns.list_sparse, strict=False)
    ]
    dense = [
        _dense_lists(found, column)
        for found, column in zip(rows.list_dense, columns.list_dense, strict=True)
    ]
    if is_scalar:
        context, lists = [_alone(part) for part in context], [_alone(part) for part in lists]
        context_dense = [value[0, ...] for value in context_dense]
        dense = [(values[0, ...], count[0, ...]) for values, count in dense]
    found: list[Array] = [*_transposed(context, 3), *context_dense]
    if ragged:
        found += _context_ragged(rows.context_free[num_context:], columns, is_scalar)
    found += [*_transposed(lists, 3), *[values for values, _ in dense]]
    if lengths:
        found += [count for _, count in dense]
    if ragged:
        found += _list_ragged(rows.list_free[num_list:], columns, is_scalar)
    return tuple(found)


def _splits(lengths: list[int], column: Ragged, is_scalar: bool) -> Array:
    """Return row splits of a batch; for a single example, which has none, a zero."""
    if is_scalar:
        return np.zeros((), column.split_dtype.as_numpy_dtype)
    return parsing.splits_of(lengths, column.split_dtype)


def _context_ragged(found: list[list[Array]], columns: _Columns, is_scalar: bool) -> list[Array]:
    parts = [
        (
            parsing.joined(rows, column.dtype),
            _splits([len(row) for row in rows], column, is_scalar),
        )
        for rows, column in zip(found, columns.context_ragged, strict=True)
    ]
    return _transposed(parts, 2)


def _list_ragged(found: list[list[list[Array]]], columns: _Columns, is_scalar: bool) -> list[Array]:
    parts = []
    for examples, column in zip(found, columns.list_ragged, strict=True):
        steps = [values for example in examples for values in example]
        outer = _splits([len(example) for example in examples], column, is_scalar)
        inner = parsing.splits_of([len(values) for values in steps], column.split_dtype)
        parts.append((parsing.joined(steps, column.dtype), outer, inner))
    return _transposed(parts, 3)


def _names(debug_name: Array, serialized: Array) -> list[str]:
    if debug_name.size not in (0, serialized.size):
        raise errors.invalid_argument(
            "example_names must be empty or have the correct number of elements, got shapes "
            f"{shape_text(debug_name.shape)} and {shape_text(serialized.shape)}"
        )
    return [name.decode("utf-8", "replace") for name in debug_name.reshape(-1)]


def _check_rank(serialized: Array) -> None:
    if serialized.ndim > 1:
        raise errors.invalid_argument(
            "Expected serialized to be a scalar or vector, got shape: "
            + shape_text(serialized.shape)
        )


# --------------------------------------------------------------------------------------------- ops


@register_op(
    "ParseSequenceExample",
    "serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense "
    "-> context_sparse_indices: Ncontext_sparse * int64, "
    "context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense, "
    "feature_list_sparse_indices: Nfeature_list_sparse * int64, "
    "feature_list_sparse_values: feature_list_sparse_types, "
    "feature_list_sparse_shapes: Nfeature_list_sparse * int64, "
    "feature_list_dense_values: feature_list_dense_types, "
    "feature_list_dense_lengths: Nfeature_list_dense * int64",
    "feature_list_dense_missing_assumed_empty: list(string) >= 0",
    "context_sparse_keys: list(string) >= 0",
    "context_dense_keys: list(string) >= 0",
    "feature_list_sparse_keys: list(string) >= 0",
    "feature_list_dense_keys: list(string) >= 0",
    "Ncontext_sparse: int >= 0 = 0",
    "Ncontext_dense: int >= 0 = 0",
    "Nfeature_list_sparse: int >= 0 = 0",
    "Nfeature_list_dense: int >= 0 = 0",
    "context_sparse_types: list({float, int64, string}) >= 0 = []",
    "Tcontext_dense: list({float, int64, string}) >= 0 = []",
    "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
    "context_dense_shapes: list(shape) >= 0 = []",
    "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
    "feature_list_dense_shapes: list(shape) >= 0 = []",
    shape=_parse_shape,
    devices=("CPU",),
)
def parse_sequence_example_op(
    xp: Xp,
    serialized: Array,
    debug_name: Array,
    context_dense_defaults: list[Array],
    *,
    feature_list_dense_missing_assumed_empty: list[str],
    context_sparse_keys: list[str],
    context_dense_keys: list[str],
    feature_list_sparse_keys: list[str],
    feature_list_dense_keys: list[str],
    context_sparse_types: list[DType],
    Tcontext_dense: list[DType],
    feature_list_dense_types: list[DType],
    context_dense_shapes: list[TensorShape],
    feature_list_sparse_types: list[DType],
    feature_list_dense_shapes: list[TensorShape],
) -> Outputs:
    """Return a batch of SequenceExamples, or one, as columns."""
    _check_rank(serialized)
    columns = _Columns(
        context_sparse=_sparse_columns(context_sparse_keys, context_sparse_types),
        context_dense=parsing.make_dense(
            context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults
        ),
        list_sparse=_sparse_columns(feature_list_sparse_keys, feature_list_sparse_types),
        list_dense=_list_columns(
            feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes
        ),
        may_miss=frozenset(text_of_key(key) for key in feature_list_dense_missing_assumed_empty),
    )
    rows = _read(serialized.reshape(-1), _names(debug_name, serialized), columns)
    is_scalar = serialized.ndim == 0
    return _results(rows, columns, is_scalar=is_scalar, lengths=True, ragged=False)


@register_op(
    "ParseSequenceExampleV2",
    "serialized: string, debug_name: string, context_sparse_keys: string, "
    "context_dense_keys: string, context_ragged_keys: string, feature_list_sparse_keys: string, "
    "feature_list_dense_keys: string, feature_list_ragged_keys: string, "
    "feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: Tcontext_dense "
    "-> context_sparse_indices: Ncontext_sparse * int64, "
    "context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense, "
    "context_ragged_values: context_ragged_value_types, "
    "context_ragged_row_splits: context_ragged_split_types, "
    "feature_list_sparse_indices: Nfeature_list_sparse * int64, "
    "feature_list_sparse_values: feature_list_sparse_types, "
    "feature_list_sparse_shapes: Nfeature_list_sparse * int64, "
    "feature_list_dense_values: feature_list_dense_types, "
    "feature_list_dense_lengths: Nfeature_list_dense * int64, "
    "feature_list_ragged_values: feature_list_ragged_value_types, "
    "feature_list_ragged_outer_splits: feature_list_ragged_split_types, "
    "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
    "Ncontext_sparse: int >= 0 = 0",
    "Tcontext_dense: list({float, int64, string}) >= 0 = []",
    "context_sparse_types: list({float, int64, string}) >= 0 = []",
    "context_ragged_value_types: list({float, int64, string}) >= 0 = []",
    "context_ragged_split_types: list({int32, int64}) >= 0 = []",
    "context_dense_shapes: list(shape) >= 0 = []",
    "Nfeature_list_sparse: int >= 0 = 0",
    "Nfeature_list_dense: int >= 0 = 0",
    "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
    "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
    "feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []",
    "feature_list_ragged_split_types: list({int32, int64}) >= 0 = []",
    "feature_list_dense_shapes: list(shape) >= 0 = []",
    shape=_parse_v2_shape,
    devices=("CPU",),
)
def parse_sequence_example_v2_op(
    xp: Xp,
    serialized: Array,
    debug_name: Array,
    context_sparse_keys: Array,
    context_dense_keys: Array,
    context_ragged_keys: Array,
    feature_list_sparse_keys: Array,
    feature_list_dense_keys: Array,
    feature_list_ragged_keys: Array,
    feature_list_dense_missing_assumed_empty: Array,
    context_dense_defaults: list[Array],
    *,
    Tcontext_dense: list[DType],
    context_sparse_types: list[DType],
    context_ragged_value_types: list[DType],
    context_ragged_split_types: list[DType],
    context_dense_shapes: list[TensorShape],
    feature_list_dense_types: list[DType],
    feature_list_sparse_types: list[DType],
    feature_list_ragged_value_types: list[DType],
    feature_list_ragged_split_types: list[DType],
    feature_list_dense_shapes: list[TensorShape],
) -> Outputs:
    """Return a batch of SequenceExamples, or one, as dense, sparse and ragged columns."""
    _check_rank(serialized)
    context_sparse_keys, context_dense_keys, context_ragged_keys = (
        _keys("context", "sparse", context_sparse_keys, context_sparse_types),
        _keys("context", "dense", context_dense_keys, Tcontext_dense),
        _keys("context", "ragged", context_ragged_keys, context_ragged_value_types),
    )
    feature_list_sparse_keys, feature_list_dense_keys, feature_list_ragged_keys = (
        _keys("feature_list", "sparse", feature_list_sparse_keys, feature_list_sparse_types),
        _keys("feature_list", "dense", feature_list_dense_keys, feature_list_dense_types),
        _keys("feature_list", "ragged", feature_list_ragged_keys, feature_list_ragged_value_types),
    )
    list_dense = _list_columns(
        feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes
    )
    may_miss = feature_list_dense_missing_assumed_empty.reshape(-1).tolist()
    if len(may_miss) != len(list_dense):
        raise errors.invalid_argument(
            "Expected len(feature_list_dense_missing_assumed_empty) == "
            f"len(feature_list_dense_keys), got: {len(may_miss)} vs. {len(list_dense)}"
        )
    columns = _Columns(
        context_sparse=_sparse_columns(context_sparse_keys, context_sparse_types),
        context_dense=parsing.make_dense(
            context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults
        ),
        context_ragged=_ragged_columns(
            context_ragged_keys, context_ragged_value_types, context_ragged_split_types
        ),
        list_sparse=_sparse_columns(feature_list_sparse_keys, feature_list_sparse_types),
        list_dense=list_dense,
        list_ragged=_ragged_columns(
            feature_list_ragged_keys,
            feature_list_ragged_value_types,
            feature_list_ragged_split_types,
        ),
        may_miss=frozenset(
            column.key for column, allowed in zip(list_dense, may_miss, strict=True) if allowed
        ),
    )
    rows = _read(serialized.reshape(-1), _names(debug_name, serialized), columns)
    is_scalar = serialized.ndim == 0
    return _results(rows, columns, is_scalar=is_scalar, lengths=True, ragged=True)


def _keys(part: str, kind: str, keys: Array, types: Sequence[DType]) -> Array:
    """Return the names of features as a vector with as many elements as there are types."""
    if keys.size != len(types):
        raise errors.invalid_argument(
            f"Expected len({part}_{kind}_keys) to match the {len(types)} types, got: {keys.size}"
        )
    return keys.reshape(-1)


def _ragged_columns(
    keys: Array, types: Sequence[DType], split_types: Sequence[DType]
) -> list[Ragged]:
    names = [text_of_key(key) for key in keys]
    return [Ragged(*column) for column in zip(names, types, split_types, strict=True)]


@register_op(
    "ParseSingleSequenceExample",
    "serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse * string, "
    "context_dense_keys: Ncontext_dense * string, "
    "feature_list_sparse_keys: Nfeature_list_sparse * string, "
    "feature_list_dense_keys: Nfeature_list_dense * string, "
    "context_dense_defaults: Tcontext_dense, debug_name: string "
    "-> context_sparse_indices: Ncontext_sparse * int64, "
    "context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense, "
    "feature_list_sparse_indices: Nfeature_list_sparse * int64, "
    "feature_list_sparse_values: feature_list_sparse_types, "
    "feature_list_sparse_shapes: Nfeature_list_sparse * int64, "
    "feature_list_dense_values: feature_list_dense_types",
    "Ncontext_sparse: int >= 0 = 0",
    "Ncontext_dense: int >= 0 = 0",
    "Nfeature_list_sparse: int >= 0 = 0",
    "Nfeature_list_dense: int >= 0 = 0",
    "context_sparse_types: list({float, int64, string}) >= 0 = []",
    "Tcontext_dense: list({float, int64, string}) >= 0 = []",
    "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
    "context_dense_shapes: list(shape) >= 0 = []",
    "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
    "feature_list_dense_shapes: list(shape) >= 0 = []",
    shape=_parse_single_shape,
    devices=("CPU",),
)
def parse_single_sequence_example_op(
    xp: Xp,
    serialized: Array,
    feature_list_dense_missing_assumed_empty: Array,
    context_sparse_keys: list[Array],
    context_dense_keys: list[Array],
    feature_list_sparse_keys: list[Array],
    feature_list_dense_keys: list[Array],
    context_dense_defaults: list[Array],
    debug_name: Array,
    *,
    context_sparse_types: list[DType],
    Tcontext_dense: list[DType],
    feature_list_dense_types: list[DType],
    context_dense_shapes: list[TensorShape],
    feature_list_sparse_types: list[DType],
    feature_list_dense_shapes: list[TensorShape],
) -> Outputs:
    """Return one SequenceExample as columns."""
    if serialized.ndim:
        raise errors.invalid_argument(
            f"Expected serialized to be a scalar, got shape: {shape_text(serialized.shape)}"
        )
    if feature_list_dense_missing_assumed_empty.ndim != 1:
        raise errors.invalid_argument(
            "Expected feature_list_dense_missing_assumed_empty to be a vector, got shape: "
            + shape_text(feature_list_dense_missing_assumed_empty.shape)
        )
    for name, keys in (
        ("context_sparse_keys", context_sparse_keys),
        ("context_dense_keys", context_dense_keys),
        ("feature_list_sparse_keys", feature_list_sparse_keys),
        ("feature_list_dense_keys", feature_list_dense_keys),
    ):
        for index, key in enumerate(keys):
            if key.ndim:
                raise errors.invalid_argument(
                    f"Expected {name}[{index}] to be a scalar, got shape: {shape_text(key.shape)}"
                )
    columns = _Columns(
        context_sparse=_sparse_columns(context_sparse_keys, context_sparse_types),
        context_dense=parsing.make_dense(
            context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults
        ),
        list_sparse=_sparse_columns(feature_list_sparse_keys, feature_list_sparse_types),
        list_dense=_list_columns(
            feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes
        ),
        may_miss=frozenset(
            text_of_key(key) for key in feature_list_dense_missing_assumed_empty.reshape(-1)
        ),
    )
    rows = _read(serialized.reshape(-1), _names(debug_name, debug_name), columns)
    return _results(rows, columns, is_scalar=True, lengths=False, ragged=False)
