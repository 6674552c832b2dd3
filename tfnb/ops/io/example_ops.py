"""ParseExample, ParseExampleV2 and ParseSingleExample: Example messages as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.io import example_parsing as parsing
from tfnb.ops.io.example_parsing import Dense, FeatureSource, Ragged, Sparse, text_of_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext

# ------------------------------------------------------------------------------------------ shapes


def _check_dense_shapes(shapes: Sequence[TensorShape]) -> None:
    for shape in shapes:
        dims = shape.dim_values
        if dims is None:
            raise ValueError("dense_shapes must have known rank")
        if None in dims[1:]:
            raise ValueError(
                f"dense_shapes[0] has unknown rank or unknown inner dimensions: {shape}"
            )


def _batch_shapes(c: InferenceContext, batch: tuple[int | None, ...] | None) -> list[TensorShape]:
    """Return the shapes of sparse and dense outputs for the shape of the serialized input."""
    names = {attr.name for attr in c.op_def.attrs}
    num_sparse = c.attr("Nsparse") if "Nsparse" in names else c.attr("num_sparse")
    shapes = c.attr("dense_shapes")
    _check_dense_shapes(shapes)
    rank = None if batch is None else len(batch) + 1
    sparse = [
        *[TensorShape([None, rank])] * num_sparse,
        *[TensorShape([None])] * num_sparse,
        *[TensorShape([rank])] * num_sparse,
    ]
    if batch is None:
        return [*sparse, *[TensorShape(None)] * len(shapes)]
    return [*sparse, *[TensorShape([*batch, *shape.dim_values]) for shape in shapes]]


def _parse_example_shape(c: InferenceContext) -> list[TensorShape]:
    batch = c.with_rank(0, 1).dim_values
    c.with_rank(1, 1)
    return _batch_shapes(c, batch)


def _parse_example_v2_shape(c: InferenceContext) -> list[TensorShape]:
    batch = c.with_rank_at_most(0, 1).dim_values
    splits = c.attr("ragged_split_types")
    rows = batch[0] + 1 if batch and batch[0] is not None else None
    return [
        *_batch_shapes(c, batch),
        *[TensorShape([None])] * len(splits),
        *[TensorShape([rows])] * len(splits),
    ]


def _parse_single_example_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    return _batch_shapes(c, ())


# ----------------------------------------------------------------------------------------- kernels


def _parse(
    examples: Sequence[bytes],
    names: Sequence[bytes],
    sparse: Sequence[Sparse],
    dense: Sequence[Dense],
    ragged: Sequence[Ragged],
) -> tuple[list[list[Array]], list[list[Array]], list[list[Array]]]:
    """Return the values of every example for each sparse, dense and ragged column."""
    free: list[Sparse | Ragged] = [*sparse, *ragged]
    free_rows: list[list[Array]] = [[] for _ in free]
    dense_rows: list[list[Array]] = [[] for _ in dense]
    for index, data in enumerate(examples):
        name = names[index].decode("utf-8", "replace") if len(names) else "<unknown>"
        source = FeatureSource(index, name)
        features = parsing.parse_features(data)
        for column, rows in zip(dense, dense_rows, strict=True):
            feature = features.get(column.key)
            rows.append(parsing.read_dense(feature, column, source))
        for one, rows in zip(free, free_rows, strict=True):
            rows.append(parsing.read_free(features.get(one.key), one, source))
    return free_rows[: len(sparse)], dense_rows, free_rows[len(sparse) :]


def _columns(parts: Sequence[tuple[Array, ...]], count: int) -> list[Array]:
    """Return tuples per column as one list: all first members, then all second members."""
    return [part[position] for position in range(count) for part in parts]


def _batches(
    sparse_rows: Sequence[list[Array]],
    sparse: Sequence[Sparse],
    dense_rows: Sequence[list[Array]],
    dense: Sequence[Dense],
) -> tuple[list[Array], list[Array]]:
    """Return the outputs of a batch: its sparse columns, then its dense columns."""
    parts = [
        parsing.sparse_batch(rows, column.dtype)
        for rows, column in zip(sparse_rows, sparse, strict=True)
    ]
    return parts, [
        parsing.dense_batch(rows, column) for rows, column in zip(dense_rows, dense, strict=True)
    ]


def _check_names(serialized: Array, names: Array) -> None:
    if names.size and names.shape != serialized.shape:
        raise errors.invalid_argument(
            "Expected names have the same shape as serialized: name.shape="
            f"{shape_text(names.shape)}, serialized.shape={shape_text(serialized.shape)}"
        )


@register_op(
    "ParseExample",
    "serialized: string, names: string, sparse_keys: Nsparse * string, "
    "dense_keys: Ndense * string, dense_defaults: Tdense "
    "-> sparse_indices: Nsparse * int64, sparse_values: sparse_types, "
    "sparse_shapes: Nsparse * int64, dense_values: Tdense",
    "Nsparse: int >= 0",
    "Ndense: int >= 0",
    "sparse_types: list({float, int64, string}) >= 0",
    "Tdense: list({float, int64, string}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_parse_example_shape,
    devices=("CPU",),
)
def parse_example_op(
    xp: Xp,
    serialized: Array,
    names: Array,
    sparse_keys: list[Array],
    dense_keys: list[Array],
    dense_defaults: list[Array],
    *,
    sparse_types: list[DType],
    Tdense: list[DType],
    dense_shapes: list[TensorShape],
) -> Outputs:
    """Return a batch of Examples as columns."""
    if serialized.ndim != 1:
        raise errors.invalid_argument(
            f"Expected serialized to be a vector, got shape: {shape_text(serialized.shape)}"
        )
    _check_names(serialized, names)
    dense = parsing.make_dense(dense_keys, Tdense, dense_shapes, dense_defaults)
    sparse = [Sparse(text_of_key(k), t) for k, t in zip(sparse_keys, sparse_types, strict=True)]
    sparse_rows, dense_rows, _ = _parse(serialized, names, sparse, dense, ())
    parts, values = _batches(sparse_rows, sparse, dense_rows, dense)
    return (*_columns(parts, 3), *values)


@register_op(
    "ParseExampleV2",
    "serialized: string, names: string, sparse_keys: string, dense_keys: string, "
    "ragged_keys: string, dense_defaults: Tdense "
    "-> sparse_indices: num_sparse * int64, sparse_values: sparse_types, "
    "sparse_shapes: num_sparse * int64, dense_values: Tdense, "
    "ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types",
    "Tdense: list({float, int64, string}) >= 0",
    "num_sparse: int >= 0",
    "sparse_types: list({float, int64, string}) >= 0",
    "ragged_value_types: list({float, int64, string}) >= 0",
    "ragged_split_types: list({int32, int64}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_parse_example_v2_shape,
    devices=("CPU",),
)
def parse_example_v2_op(
    xp: Xp,
    serialized: Array,
    names: Array,
    sparse_keys: Array,
    dense_keys: Array,
    ragged_keys: Array,
    dense_defaults: list[Array],
    *,
    Tdense: list[DType],
    sparse_types: list[DType],
    ragged_value_types: list[DType],
    ragged_split_types: list[DType],
    dense_shapes: list[TensorShape],
) -> Outputs:
    """Return a batch of Examples, or a single one, as columns."""
    if serialized.ndim > 1:
        raise errors.invalid_argument(
            "Expected serialized to be a scalar or vector, got shape: "
            + shape_text(serialized.shape)
        )
    _check_names(serialized, names)
    for name, keys, types in (
        ("sparse_keys", sparse_keys, sparse_types),
        ("dense_keys", dense_keys, Tdense),
        ("ragged_keys", ragged_keys, ragged_value_types),
    ):
        if keys.size != len(types):
            raise errors.invalid_argument(f"Expected len({name}) == {len(types)}, got: {keys.size}")
    sparse_keys, dense_keys, ragged_keys = (
        keys.reshape(-1) for keys in (sparse_keys, dense_keys, ragged_keys)
    )
    dense = parsing.make_dense(dense_keys, Tdense, dense_shapes, dense_defaults)
    sparse = [Sparse(text_of_key(k), t) for k, t in zip(sparse_keys, sparse_types, strict=True)]
    ragged = [
        Ragged(text_of_key(k), t, s)
        for k, t, s in zip(ragged_keys, ragged_value_types, ragged_split_types, strict=True)
    ]
    is_scalar = serialized.ndim == 0
    sparse_rows, dense_rows, ragged_rows = _parse(
        serialized.reshape(-1), names.reshape(-1), sparse, dense, ragged
    )
    parts, values = _batches(sparse_rows, sparse, dense_rows, dense)
    flat = [
        parsing.joined(rows, column.dtype) for rows, column in zip(ragged_rows, ragged, strict=True)
    ]
    splits = [
        np.empty(0, column.split_dtype.as_numpy_dtype)
        if is_scalar
        else parsing.splits_of([len(row) for row in rows], column.split_dtype)
        for rows, column in zip(ragged_rows, ragged, strict=True)
    ]
    if is_scalar:
        parts = [(indices[:, 1:], flat_, shape[1:]) for indices, flat_, shape in parts]
        values = [value[0] if value.ndim > 1 else _element(value) for value in values]
    return (*_columns(parts, 3), *values, *flat, *splits)


def _element(vector: Array) -> Array:
    """Return the only element of a vector, as a tensor without dimensions."""
    return vector.reshape(())


@register_op(
    "ParseSingleExample",
    "serialized: string, dense_defaults: Tdense "
    "-> sparse_indices: num_sparse * int64, sparse_values: sparse_types, "
    "sparse_shapes: num_sparse * int64, dense_values: Tdense",
    "num_sparse: int >= 0",
    "sparse_keys: list(string) >= 0",
    "dense_keys: list(string) >= 0",
    "sparse_types: list({float, int64, string}) >= 0",
    "Tdense: list({float, int64, string}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_parse_single_example_shape,
    devices=("CPU",),
)
def parse_single_example_op(
    xp: Xp,
    serialized: Array,
    dense_defaults: list[Array],
    *,
    sparse_keys: list[str],
    dense_keys: list[str],
    sparse_types: list[DType],
    Tdense: list[DType],
    dense_shapes: list[TensorShape],
) -> Outputs:
    """Return one Example as columns."""
    if serialized.ndim:
        raise errors.invalid_argument(
            f"Expected serialized to be a scalar, got shape: {shape_text(serialized.shape)}"
        )
    dense = parsing.make_dense(dense_keys, Tdense, dense_shapes, dense_defaults)
    features = parsing.parse_features(serialized.item())
    source = FeatureSource(0, None)
    parts = []
    for key, dtype in zip(sparse_keys, sparse_types, strict=True):
        sparse = Sparse(text_of_key(key), dtype)
        row = parsing.read_free(features.get(sparse.key), sparse, source)
        indices, values, shape = parsing.sparse_batch([row], dtype)
        parts.append((indices[:, 1:], values, shape[1:]))
    dense_values = []
    for column in dense:
        row = parsing.read_dense(features.get(column.key), column, source)
        batch = parsing.dense_batch([row], column)
        dense_values.append(batch[0] if batch.ndim > 1 else _element(batch))
    return (*_columns(parts, 3), *dense_values)
