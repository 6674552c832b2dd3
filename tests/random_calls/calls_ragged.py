"""Random calls of ops on ragged tensors, of counting in them, and of crosses of features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Many, Sample, op
from tests.random_calls.draws import Draw, calls


def splits(d: Draw, rows: int, most: int = 3, word: str | None = None) -> Any:
    """Row splits that begin with 0; seldom wrong ones."""
    ends = np.cumsum([0, *(d.number(0, most) for _ in range(rows))])
    if d.chance(0.03):
        ends = ends + 1
    if d.chance(0.03) and rows:
        ends[d.number(0, rows)] = d.number(0, 4)
    return ends.astype(NUMPY_TYPES[word or d.one("int64 int64 int32")])


@calls("RaggedRange")
def _range(d: Draw, name: str) -> Sample:
    word, rows = d.types(name), d.number(0, 4)

    def numbers(high: int) -> Any:
        shape = (rows,) if d.chance(0.7) else d.one([(), (), (1,), (rows + 1,), (2, 2)])
        whole = d.random.randint(-high, high + 1, shape)
        if np.dtype(NUMPY_TYPES[word]).kind == "f" and d.chance(0.4):
            whole = whole + d.one([0.5, 0.25])
        return whole.astype(NUMPY_TYPES[word])

    deltas = numbers(2)
    if d.chance(0.9):
        deltas = np.where(deltas == 0, np.array(1, deltas.dtype), deltas)
    return op(name, numbers(6), numbers(6), deltas, Tsplits=d.one("int32 int64"))


@calls("RaggedGather")
def _gather(d: Draw, name: str) -> Sample:
    depth, rows = d.number(1, 2), d.number(0, 4)
    word = d.one("int64 int32")
    nested, count = [], rows
    for _ in range(depth):
        nested.append(splits(d, count, 3, word))
        count = int(nested[-1][-1])
    values = d.values(d.one("float32 int32 string"), (max(count, 0), *d.shape(0, 1, 2)))
    indices = d.indices(d.shape(0, 2, 3), rows, d.one("int32 int64"))
    rank = indices.ndim + depth - 1
    return op(name, Many(nested), values, indices, OUTPUT_RAGGED_RANK=rank)


@calls("RaggedTensorToSparse")
def _to_sparse(d: Draw, name: str) -> Sample:
    word, nested, count = d.one("int64 int32"), [], d.number(0, 4)
    for _ in range(d.number(1, 3)):
        nested.append(splits(d, count, 3, word))
        count = max(int(nested[-1][-1]), 0)
    count += d.chance(0.05)
    return op(
        name, Many(nested), d.values(d.one("float32 int64 string"), (count, *d.shape(0, 1, 2)))
    )


@calls("RaggedTensorToTensor")
def _to_dense(d: Draw, name: str) -> Sample:
    word = d.one("int64 int32")
    target = NUMPY_TYPES[word]
    rows, depth = d.number(0, 3), d.number(1, 2)
    is_split = d.chance(0.6)
    kinds, parts, count = [], [], rows
    if not is_split:
        kinds, parts = ["FIRST_DIM_SIZE"], [np.array(rows, target)]
    for _ in range(depth):
        ends = splits(d, count, 3, word)
        if is_split:
            kinds.append("ROW_SPLITS")
            parts.append(ends)
        else:
            lengths = np.maximum(np.diff(ends), 0)
            kinds.append("VALUE_ROWIDS")
            parts.append(np.repeat(np.arange(count), lengths).astype(target))
        count = max(int(parts[-1][-1]) if is_split else len(parts[-1]), 0)
    inner = d.shape(0, 1, 2)
    rank = 1 + depth + len(inner)
    shape = np.array(-1, target)
    if d.chance(0.6):
        sizes = [d.one([-1, -1, 1, 2, 4]) for _ in range(1 + depth)]
        shape = np.array([*sizes, *(n if d.chance(0.8) else -1 for n in inner)], target)
        assert len(shape) == rank
    value_word = d.one("float32 int32 string")
    default = d.values(value_word, () if d.chance(0.7) else inner)
    values = d.values(value_word, (count, *inner))
    return op(name, shape, values, default, Many(parts), row_partition_types=kinds)


@calls("RaggedFillEmptyRows RaggedFillEmptyRowsGrad")
def _empty_rows(d: Draw, name: str) -> Sample:
    rows = d.number(0, 5)
    ids = np.sort(d.random.randint(0, max(rows, 1), d.number(0, 5) if rows else 0)).astype(np.int64)
    if name.endswith("Grad"):
        return op(name, ids, d.values(d.one("float32 float64 int32"), (max(rows, 1),), 0.1))
    if d.chance(0.1):
        rows = max(rows - 1, 0)
    if d.chance(0.05):
        ids = ids[::-1].copy()
    word = d.one("float32 string int64")
    values = d.values(word, (len(ids) + d.chance(0.03),))
    return op(name, ids, values, np.array(rows, np.int64), d.values(word, ()))


def _weights(d: Draw, word: str, count: int) -> Any:
    kept = count if d.chance(0.5) else 0
    if d.chance(0.04):
        kept = count + 1
    return d.values(word, (kept,), 0.1)


def _sparse(d: Draw, word: str, rank: int) -> tuple[Any, Any, Any]:
    shape = np.array([d.number(1, 4) for _ in range(rank)], np.int64)
    cells = np.flatnonzero(d.random.random_sample(int(shape.prod())) < 0.4)
    indices = np.stack(np.unravel_index(cells, shape), 1).astype(np.int64).reshape(-1, rank)
    values = d.random.randint(0, 7, len(cells)).astype(NUMPY_TYPES[word])
    if d.chance(0.04):
        values = values[:-1]
    if d.chance(0.04):
        shape = shape - 1
    return indices, values, shape


@calls("RaggedBincount SparseBincount")
def _bincount(d: Draw, name: str) -> Sample:
    index, word = d.types(name, "Tidx"), d.types(name, "T")
    size = np.array(d.number(-1 if d.chance(0.1) else 0, 7), NUMPY_TYPES[index])
    attrs = {"binary_output": d.chance(0.4)}
    if name == "SparseBincount":
        indices, values, shape = _sparse(d, index, d.number(1, 2))
        weights = _weights(d, word, len(values))
        return op(name, indices, values, shape, size, weights, **attrs)
    ends = splits(d, d.number(0, 4), 3, "int64")
    values = d.random.randint(-1 if d.chance(0.1) else 0, 7, max(int(ends[-1]), 0))
    values = values.astype(NUMPY_TYPES[index])
    return op(name, ends, values, size, _weights(d, word, len(values)), **attrs)


@calls("RaggedCountSparseOutput SparseCountSparseOutput DenseCountSparseOutput")
def _count(d: Draw, name: str) -> Sample:
    index, word = d.types(name), d.types(name, "output_type")
    attrs = {"binary_output": d.chance(0.4), "output_type": word}
    if d.chance(0.5):
        attrs["minlength"] = d.number(0, 8)
    if d.chance(0.5):
        attrs["maxlength"] = d.number(0, 8)
    if name.startswith("Dense"):
        shape = d.shape(1, 2, 4) if d.chance(0.95) else d.one([(), (1, 2, 2)])
        x = d.random.randint(-1 if d.chance(0.05) else 0, 7, shape).astype(NUMPY_TYPES[index])
        weights = d.values(word, shape if d.chance(0.5) else (0,), 0.1)
        return op(name, x, weights, **attrs)
    if name.startswith("Sparse"):
        indices, values, shape = _sparse(d, index, d.number(1, 2))
        return op(name, indices, values, shape, _weights(d, word, len(values)), **attrs)
    ends = splits(d, d.number(0, 4), 3, "int64")
    values = d.random.randint(0, 7, max(int(ends[-1]), 0)).astype(NUMPY_TYPES[index])
    return op(name, ends, values, _weights(d, word, len(values)), **attrs)


def _features(d: Draw, count: int, word: str) -> Any:
    if word == "int64":
        return d.random.randint(-3, 9, count).astype(np.int64)
    found = np.empty(count, object)
    found[:] = [d.one([b"a", b"bc", b"", b"\xff"]) for _ in range(count)]
    return found


def _crossed(d: Draw, rows: int, words: str) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return sparse columns (indices, values, shapes) and dense ones with n rows."""
    indices, values, shapes, dense = [], [], [], []
    for _ in range(d.number(0, 2)):
        cells = [(r, c) for r in range(rows) for c in range(3) if d.chance(0.5)]
        indices.append(np.array(cells, np.int64).reshape(-1, 2))
        values.append(_features(d, len(cells), d.one(words)))
        shapes.append(np.array([rows + d.chance(0.02), 3], np.int64))
    for _ in range(d.number(0 if indices else 1, 2)):
        width = d.number(0 if d.chance(0.1) else 1, 2)
        dense.append(_features(d, rows * width, d.one(words)).reshape(rows, width))
    return indices, values, shapes, dense


@calls("SparseCross SparseCrossV2 SparseCrossHashed")
def _cross(d: Draw, name: str) -> Sample:
    columns = [Many(one) for one in _crossed(d, d.number(1, 3), "int64 string")]
    if name == "SparseCrossV2":
        # Numbers are converted to text first.
        columns = [Many(one) for one in _crossed(d, d.number(1, 3), "string")]
        separator = np.array(d.one([b"_X_", b"", b"&"]), object)
        return op(name, *columns, separator)
    if name == "SparseCrossHashed":
        strong = d.chance(0.5)
        if strong:  # TensorFlow reads numbers as if they were strings, and ends
            columns = [Many(one) for one in _crossed(d, d.number(1, 3), "string")]
        salt = np.array([d.number(0, 9), d.number(-5, 9)], np.int64)
        buckets = np.array(d.one([0, 1, 100]), np.int64)
        return op(name, *columns, buckets, np.array(strong), salt)
    hashed = d.chance(0.6)
    word = "int64" if hashed else "string"
    return op(
        name, *columns, hashed_output=hashed, num_buckets=d.one([0, 1, 100]),
        hash_key=d.one([956888297470, 1]), out_type=word, internal_type=d.one([word, "string"]),
    )  # fmt: skip


@calls("RaggedCross")
def _ragged_cross(d: Draw, name: str) -> Sample:
    rows = d.number(1, 3)
    values, ends = [], []
    word = d.one("int64 int32")
    for _ in range(d.number(0, 2)):
        ends.append(
            np.cumsum([0, *(d.number(0, 2) for _ in range(rows))]).astype(NUMPY_TYPES[word])
        )
        values.append(_features(d, int(ends[-1][-1]), d.one("int64 string")))
    sparse = _crossed(d, rows, "int64 string")
    letters = list("R" * len(values) + "S" * len(sparse[0]) + "D" * len(sparse[3]))
    order = "".join(letters[i] for i in d.random.permutation(len(letters)))
    hashed = d.chance(0.6)
    return op(
        name, Many(values), Many(ends), *(Many(one) for one in sparse), input_order=order,
        hashed_output=hashed, num_buckets=d.one([0, 1, 100]), hash_key=956888297470,
        out_values_type="int64" if hashed else "string", out_row_splits_type=word,
    )  # fmt: skip


@calls("DeserializeSparse DeserializeManySparse")
def _deserialize(d: Draw, name: str) -> Sample:
    # Tensors as their protocol messages, written by hand: a field of each kind.
    from tfnb.core.tensor_util import make_tensor_proto

    word, rank = d.one("float32 int32 string"), d.number(1, 2)

    def row() -> list[bytes]:
        indices, _, shape = _sparse(d, "int32", rank)
        values = d.values(word, (len(indices),), 0)
        parts = [make_tensor_proto(part).SerializeToString() for part in (indices, values, shape)]
        return [b"?" if d.chance(0.02) else part for part in parts]

    if name == "DeserializeSparse" and d.chance(0.3):
        found = np.empty(3, object)
        found[:] = row()
    else:
        found = np.array([row() for _ in range(d.number(0 if d.chance(0.1) else 1, 3))], object)
        found = found.reshape(-1, 3)
    dtype = word if d.chance(0.95) else "float64"
    return replace(op(name, found, dtype=dtype), gradient=False)
