"""Crosses of features: for each row, all combinations of one feature of every column.

A column is a sparse or a dense matrix. A cross of strings is their joined text; a hashed cross is a
number derived from the features' fingerprints. Corresponds to TensorFlow's ``sparse_cross_op.cc``.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import merge_shapes
from tfnb.core.string_hashes import fingerprint64, strong_hash
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.sparse.ragged_ops import check_splits, splits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {"sparse": ["cross", "cross_hashed"]}

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_COLUMNS = "indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types"
_TYPES = (
    "sparse_types: list({int64, string}) >= 0",
    "dense_types: list({int64, string}) >= 0",
)
_DEFAULT_HASH_KEY = 0xDECAFCAFFE
_MASK = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995


def _mixed(value: int) -> int:
    return value ^ (value >> 47)


def fingerprint_cat64(first: int, second: int) -> int:
    """Return the fingerprint of two concatenated fingerprints."""
    found = first ^ _MULTIPLIER
    found ^= (_mixed((second * _MULTIPLIER) & _MASK) * _MULTIPLIER) & _MASK
    found = (found * _MULTIPLIER) & _MASK
    found = (_mixed(found) * _MULTIPLIER) & _MASK
    return _mixed(found)


# ------------------------------------------------------------------------------------------ columns


def _check_batch(shape: Array, batch: int, place: int) -> None:
    if shape.shape == (2,) and int(shape[0]) != batch:
        raise errors.invalid_argument(
            f"Expected batch size {batch} got {int(shape[0])} at position {place}"
        )


def _sparse_rows(
    indices: TensorLike, values: TensorLike, shape: TensorLike, batch: int, place: int
) -> list[list[Any]]:
    if indices.ndim != 2 or indices.shape[1] != 2:
        raise errors.invalid_argument(
            f"Expected indices to be a matrix with two columns, got {shape_text(indices.shape)} "
            f"at position {place}"
        )
    if values.ndim != 1:
        raise errors.invalid_argument(
            f"Input values should be a std::vector but received shape {shape_text(values.shape)} "
            f"at position {place}"
        )
    if indices.shape[0] != values.shape[0]:
        raise errors.invalid_argument(
            f"Expected size of values to be {indices.shape[0]} got {values.shape[0]} at position "
            f"{place}"
        )
    if shape.shape != (2,):
        raise errors.invalid_argument(
            f"Input shapes should imply a 2D tensor, but received shape {shape_text(shape.shape)} "
            f"at position {place}"
        )
    rows: list[list[TensorLike]] = [[] for _ in range(batch)]
    before = 0
    for row, value in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        if not before <= row < batch:
            break  # TensorFlow, which reads row by row, stops here
        before = row
        rows[row].append(value)
    return rows


def _ragged_sparse_rows(
    indices: TensorLike, values: TensorLike, shape: TensorLike, batch: int, place: int
) -> list[list[Any]]:
    """Return rows as RaggedCross reads them: they never go back, and rows outside do not count."""
    if indices.ndim != 2 or values.ndim != 1 or shape.shape != (2,):
        return _sparse_rows(indices, values, shape, batch, place)
    rows: list[list[TensorLike]] = [[] for _ in range(batch)]
    places = np.maximum.accumulate(indices[:, 0]).tolist() if indices.shape[1] else ()
    for row, value in zip(places, values.tolist()):
        if row < batch:
            rows[max(row, 0)].append(value)
    return rows


def _columns(
    indices: Sequence[Array],
    values: Sequence[Array],
    shapes: Sequence[Array],
    dense: Sequence[Array],
    rows_of: Callable[..., list[list[Array]]] = _sparse_rows,
) -> tuple[list[list[list[Array]]], int]:
    """Return the features of each row for every column, and the number of rows."""
    for place, matrix in enumerate(dense):
        if matrix.ndim != 2:
            raise errors.invalid_argument(
                f"Dense inputs should be a matrix but received shape {shape_text(matrix.shape)} at "
                f"position {place}"
            )
    if len(shapes) != len(values):
        raise errors.invalid_argument("Must have a shape for each sparse input")
    if shapes:
        batch = int(shapes[0].reshape(-1)[0]) if shapes[0].size else 0
    elif dense:
        batch = dense[0].shape[0]
    else:
        batch = 0
    for place, matrix in enumerate(dense):
        if matrix.shape[0] != batch:
            raise errors.invalid_argument(
                f"Expected batch size {batch} got {matrix.shape[0]} at dense tensor {place}"
            )
    for place, shape in enumerate(shapes):
        _check_batch(shape, batch, place)
    check_fits(np, (batch,), np.dtype(np.int64))
    found = [
        rows_of(*parts, batch, place)
        for place, parts in enumerate(zip(indices, values, shapes, strict=True))
    ]
    found += [matrix.tolist() for matrix in dense]
    return found, batch


def _crossed(
    columns: list[list[list[Array]]],
    batch: int,
    join: Callable[[tuple[Array, ...]], Array],
    dtype: Attr,
) -> tuple[Array, Array, Array]:
    """Return all crosses as a sparse matrix."""
    places: list[tuple[int, int]] = []
    crosses: list[Array] = []
    widest = 0
    for row in range(batch):
        made = [join(picked) for picked in product(*(column[row] for column in columns))]
        if not columns:
            made = []
        places += [(row, place) for place in range(len(made))]
        crosses += made
        widest = max(widest, len(made))
    found = np.empty(len(crosses), dtype)
    found[:] = crosses
    return (
        np.array(places, np.int64).reshape(-1, 2),
        found,
        np.array([batch, widest], np.int64),
    )


def _text(feature: Array) -> bytes:
    return feature if isinstance(feature, bytes) else b"%d" % feature


def _number(feature: Array) -> int:
    return (fingerprint64(feature) if isinstance(feature, bytes) else feature) & _MASK


def _of_four_bytes(values: Array) -> Array:
    found = np.empty(values.shape, object)
    flat = found.reshape(-1)
    for place, number in enumerate(values.reshape(-1).tolist()):
        flat[place] = fingerprint64((number & 0xFFFFFFFF).to_bytes(4, "little"))
    return found


def _bucket(found: int, num_buckets: int) -> int:
    return found % (num_buckets if num_buckets > 0 else (1 << 63) - 1)


# ---------------------------------------------------------------------------------------------- ops


def _cross_shape(c: InferenceContext) -> list[TensorShape]:
    return [TensorShape([None, 2]), TensorShape([None]), TensorShape([2])]


@register_op(
    "SparseCross",
    _COLUMNS + " -> output_indices: int64, output_values: out_type, output_shape: int64",
    "N: int >= 0",
    "hashed_output: bool",
    "num_buckets: int >= 0",
    "hash_key: int",
    *_TYPES,
    "out_type: {int64, string}",
    "internal_type: {int64, string}",
    shape=_cross_shape,
    **_CPU,
)
def sparse_cross(
    xp: Xp,
    indices: Array,
    values: Array,
    shapes: Array,
    dense_inputs: Array,
    *,
    hashed_output: bool,
    num_buckets: int,
    hash_key: int,
    internal_type: dtypes.DType,
) -> Outputs:
    """Return crosses as text with ``_X_`` between, or hashed."""
    columns, batch = _columns(indices, values, shapes, dense_inputs)
    if internal_type is dtypes.string:
        for column in (*values, *dense_inputs):
            if column.dtype != object:
                raise errors.invalid_argument(
                    f"Input values should be of internal type string but received {column.dtype}"
                )
    if not hashed_output:
        return _crossed(columns, batch, lambda p: b"_X_".join(map(_text, p)), object)

    def hashed(picked: tuple[Array, ...]) -> int:
        start = hash_key & _MASK
        return _bucket(reduce(fingerprint_cat64, map(_number, picked), start), num_buckets)

    return _crossed(columns, batch, hashed, np.int64)


@register_op(
    "SparseCrossV2",
    _COLUMNS + ", sep: string -> output_indices: int64, output_values: string, output_shape: int64",
    "N: int >= 0",
    *_TYPES,
    shape=_cross_shape,
    **_CPU,
)
def sparse_cross_v2(
    xp: Xp, indices: Array, values: Array, shapes: Array, dense_inputs: Array, sep: Array
) -> Outputs:
    """Return crosses as text with any separator."""
    if sep.ndim:
        raise errors.invalid_argument(
            f"Input separator should be a scalar. Received: {shape_text(sep.shape)}"
        )
    columns, batch = _columns(indices, values, shapes, dense_inputs)
    between = bytes(sep[()])
    return _crossed(columns, batch, lambda p: between.join(map(_text, p)), object)


@register_op(
    "SparseCrossHashed",
    _COLUMNS + ", num_buckets: int64, strong_hash: bool, salt: int64 -> output_indices: int64, "
    "output_values: int64, output_shape: int64",
    "N: int >= 0",
    *_TYPES,
    shape=_cross_shape,
    **_CPU,
)
def sparse_cross_hashed(
    xp: Xp,
    indices: Array,
    values: Array,
    shapes: Array,
    dense_inputs: Array,
    num_buckets: Array,
    strong: Array,
    salt: Array,
) -> Outputs:
    """Return crosses hashed with a salt; strong hashing hides which strings collide."""
    for name, value in (("num_buckets", num_buckets), ("strong_hash", strong)):
        if value.size != 1:
            raise errors.invalid_argument(
                f"Input {name} should be a scalar. Received: {shape_text(value.shape)}"
            )
    if salt.shape != (2,):
        raise errors.invalid_argument(
            f"Input salt should be a vector of 2 elements. Received: {shape_text(salt.shape)}"
        )
    # For a number in a sparse column, TensorFlow hashes its first four bytes.
    values = [_of_four_bytes(v) if v.dtype != object else v for v in values]
    columns, batch = _columns(indices, values, shapes, dense_inputs)
    keys = [number & _MASK for number in salt.tolist()]
    buckets, is_strong = int(num_buckets.reshape(())), bool(strong)

    def number(feature: Array) -> int:
        if not isinstance(feature, bytes):
            return int(feature) & _MASK
        return strong_hash((keys[0], keys[1]), feature) if is_strong else fingerprint64(feature)

    def hashed(picked: tuple[Array, ...]) -> int:
        return _bucket(reduce(fingerprint_cat64, map(number, picked)), buckets)

    return _crossed(columns, batch, hashed, np.int64)


def _ragged_rows(values: Array, splits: Array, place: int) -> list[list[Array]]:
    if values.ndim != 1 or splits.ndim != 1 or not splits.size:
        raise errors.invalid_argument(
            f"tf.ragged.cross only supports inputs with rank=2, and at least one row split, at "
            f"position {place}"
        )
    check_splits(splits, values.shape[0])
    found = values.tolist()
    return [found[a:b] for a, b in zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True)]


@register_op(
    "RaggedCross",
    "ragged_values: ragged_values_types, ragged_row_splits: ragged_splits_types, "
    "sparse_indices: Nsparse * int64, sparse_values: sparse_values_types, "
    "sparse_shape: Nsparse * int64, dense_inputs: dense_types -> "
    "output_values: out_values_type, output_row_splits: out_row_splits_type",
    "Nsparse: int >= 0",
    "input_order: string",
    "hashed_output: bool",
    "num_buckets: int >= 0",
    "hash_key: int",
    "ragged_values_types: list({int64, string}) >= 0",
    "ragged_splits_types: list({int32, int64}) >= 0",
    "sparse_values_types: list({int64, string}) >= 0",
    "dense_types: list({int64, string}) >= 0",
    "out_values_type: {int64, string}",
    "out_row_splits_type: {int32, int64}",
    **_CPU,
)
def ragged_cross(
    xp: Xp,
    ragged_values: Sequence[Array],
    ragged_row_splits: Sequence[Array],
    sparse_indices: Sequence[Array],
    sparse_values: Sequence[Array],
    sparse_shape: Sequence[Array],
    dense_inputs: Sequence[Array],
    *,
    input_order: str,
    hashed_output: bool,
    num_buckets: int,
    hash_key: int,
    out_row_splits_type: dtypes.DType,
) -> Outputs:
    """Return crosses of ragged, sparse and dense columns as a ragged matrix."""
    ragged = [
        _ragged_rows(values, splits, place)
        for place, (values, splits) in enumerate(zip(ragged_values, ragged_row_splits, strict=True))
    ]
    others, batch = _columns(
        sparse_indices, sparse_values, sparse_shape, dense_inputs, _ragged_sparse_rows
    )
    if ragged:
        batch = len(ragged[0])
    columns = {
        "R": iter(ragged), "S": iter(others[: len(sparse_shape)]),
        "D": iter(others[len(sparse_shape) :]),
    }  # fmt: skip
    counts = {"R": len(ragged), "S": len(sparse_shape), "D": len(dense_inputs)}
    if any(input_order.count(kind) != count for kind, count in counts.items()) or len(
        input_order
    ) != sum(counts.values()):
        raise errors.invalid_argument(
            f"input_order must have one letter of R, S and D for each input, not {input_order!r}"
        )
    ordered = [next(columns[kind]) for kind in input_order]
    for column in ordered:
        if len(column) != batch:
            raise errors.invalid_argument(
                f"inputs must all have the same batch dimension size: {len(column)} vs. {batch}"
            )

    def hashed(picked: tuple[Array, ...]) -> int:
        start = hash_key & _MASK
        return _bucket(reduce(fingerprint_cat64, map(_number, picked), start), num_buckets)

    def text(picked: tuple[Array, ...]) -> bytes:
        return b"_X_".join(map(_text, picked))

    join, dtype = (hashed, np.int64) if hashed_output else (text, object)
    rows = [
        [join(picked) for picked in product(*(c[row] for c in ordered))] for row in range(batch)
    ]
    crosses = np.empty(sum(map(len, rows)), dtype)
    crosses[:] = [made for row in rows for made in row]
    lengths = np.array([len(row) for row in rows], np.int64)
    return crosses, splits_of(lengths, out_row_splits_type.as_numpy_dtype)


@ragged_cross.shape
def _(c: InferenceContext) -> list[TensorShape]:
    ragged, dense = c.input_range("ragged_row_splits"), c.input_range("dense_inputs")
    rows = TensorShape([None])
    # The splits have one number more than there are rows.
    counts = list(c.inputs[ragged])
    for index in range(dense.start, dense.stop):
        dims = c.inputs[index].dim_values
        if dims is not None and len(dims) != 2:
            raise ValueError("tf.ragged.cross only supports inputs with rank=2")
        counts += [TensorShape([dims[0] + 1])] if dims and dims[0] is not None else []
    for count in counts:
        try:
            rows = merge_shapes(rows, count)
        except ValueError:
            raise ValueError("inputs must all have the same batch dimension size.") from None
    return [TensorShape([None]), rows]


for _op in (sparse_cross, sparse_cross_v2, sparse_cross_hashed, ragged_cross):
    _op.not_differentiable()


# ------------------------------------------------------------------------------ functions of users


def _parts(inputs: TensorLike) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return indices, values, shapes and dense matrices; numbers become int64."""
    if not isinstance(inputs, (tuple, list)):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(i, (SparseTensor, Tensor)) for i in inputs):
        raise TypeError("All inputs must be Tensor or SparseTensor.")
    sparse = [i for i in inputs if isinstance(i, SparseTensor)]
    values = [i.values for i in sparse]
    dense = [i for i in inputs if not isinstance(i, SparseTensor)]
    for found in (values, dense):
        for place, tensor in enumerate(found):
            if tensor.dtype is not dtypes.string:
                found[place] = cast(tensor, dtypes.int64)
    return [i.indices for i in sparse], values, [i.dense_shape for i in sparse], dense


def cross(inputs: TensorLike, name: str | None = None, separator: TensorLike | None = None) -> Any:
    """Return, for each row, all combinations of one feature of every column, as text.

    Args:
      inputs: a list of matrices, Tensors or SparseTensors, of strings or integers.
      name: the name of the op.
      separator: the text between the features; ``_X_`` if None.

    Returns:
      A SparseTensor of strings.

    Raises:
      TypeError: the inputs are not a list of these.
    """
    separator = convert_to_tensor("_X_" if separator is None else separator, dtypes.string)
    indices, values, shapes, dense = _parts(inputs)
    found = sparse_cross_v2(
        indices=indices,
        values=values,
        shapes=shapes,
        dense_inputs=dense,
        sep=separator,
        name=name,
    )
    return SparseTensor(*found)


def cross_hashed(
    inputs: TensorLike, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> Any:
    """Return, for each row, all combinations of one feature of every column, as hashes.

    Args:
      inputs: a list of matrices, Tensors or SparseTensors, of strings or integers.
      num_buckets: the hashes are below this number, unless it is 0.
      hash_key: the key of the hash function.
      name: the name of the op.

    Returns:
      A SparseTensor of int64.

    Raises:
      TypeError: the inputs are not a list of these.
    """
    indices, values, shapes, dense = _parts(inputs)
    has_numbers = any(t.dtype is not dtypes.string for t in (*values, *dense))
    found = sparse_cross(
        indices=indices,
        values=values,
        shapes=shapes,
        dense_inputs=dense,
        hashed_output=True,
        num_buckets=num_buckets,
        hash_key=hash_key or _DEFAULT_HASH_KEY,
        out_type=dtypes.int64,
        internal_type=dtypes.int64 if has_numbers else dtypes.string,
        name=name,
    )
    return SparseTensor(*found)
