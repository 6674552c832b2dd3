"""Random calls of ops on sparse tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import Many, Sample, op
from tests.random_calls.draws import Draw, calls


def _sparse(d: Draw, word: str, shape: tuple[int, ...], edges: float = 0.0) -> tuple[Any, Any, Any]:
    size = int(np.prod(shape))
    flat = np.sort(d.random.permutation(size)[: d.number(0, min(size, 6))])
    places = np.stack(np.unravel_index(flat, shape), -1).astype(np.int64).reshape(-1, len(shape))
    return places, d.values(word, (len(places),), edges), np.array(shape, np.int64)


def _shape(d: Draw, least: int = 1, most: int = 3) -> tuple[int, ...]:
    return tuple(d.number(1, 4) for _ in range(d.number(least, most)))


@calls("SparseReorder SparseSoftmax")
def _one(d: Draw, name: str) -> Sample:
    shape = _shape(d, 2 if name == "SparseSoftmax" else 1)
    word = d.types(name)
    places, values, dims = _sparse(d, word, shape)
    if name == "SparseReorder" and len(places):
        order = d.random.permutation(len(places))
        places, values = places[order], values[order]
    return op(name, places, values, dims)


@calls("SparseAdd SparseSparseMaximum SparseSparseMinimum")
def _two(d: Draw, name: str) -> Sample:
    shape = _shape(d)
    word = d.types(name)
    a, b = _sparse(d, word, shape), _sparse(d, word, shape)
    if name == "SparseAdd":
        real = {"complex64": "float32", "complex128": "float64"}.get(word, word)
        return op(
            name,
            *a,
            *b,
            d.values(real, (), 0) if d.chance(0.3) else np.zeros((), d.values(real, ()).dtype),
        )
    return op(name, *a, *b)


@calls("SparseConcat")
def _concat(d: Draw, name: str) -> Sample:
    shape, word = _shape(d), d.types(name)
    parts = [_sparse(d, word, shape) for _ in range(d.number(2, 3))]
    columns = [Many(list(c)) for c in zip(*parts, strict=True)]
    return op(name, *columns, concat_dim=d.axis(len(shape)))


@calls("SparseReshape")
def _reshape(d: Draw, name: str) -> Sample:
    shape = _shape(d)
    places, _, dims = _sparse(d, "float32", shape)
    target = d.one([(-1,), (1, -1), shape[::-1], (2, -1)])
    return op(name, places, dims, np.array(target, np.int64))


@calls("SparseSlice")
def _slice(d: Draw, name: str) -> Sample:
    shape = _shape(d)
    start = [d.number(0, s) for s in shape]
    size = [d.number(0, s + 1) for s in shape]
    return op(
        name, *_sparse(d, d.types(name), shape), np.array(start, np.int64), np.array(size, np.int64)
    )


@calls("SparseReduceSum SparseReduceMax SparseReduceSumSparse SparseReduceMaxSparse")
def _reduce(d: Draw, name: str) -> Sample:
    shape = _shape(d)
    parts = _sparse(d, d.types(name), shape)
    return op(name, *parts, d.axes(len(shape)).astype(np.int32), keep_dims=d.chance(0.5))


@calls("SparseDenseCwiseMul SparseDenseCwiseAdd SparseDenseCwiseDiv SparseTensorDenseAdd")
def _with_dense(d: Draw, name: str) -> Sample:
    shape, word = _shape(d), d.types(name)
    other = shape
    if name != "SparseTensorDenseAdd" and d.chance(0.4):
        other = tuple(1 if d.chance(0.5) else s for s in shape)
    dense = d.values(word, other, 0)
    if name.endswith("Div"):
        # Integers by zero end TensorFlow's process.
        dense = np.where(dense == 0, 1, dense).astype(dense.dtype)
    return op(name, *_sparse(d, word, shape), dense)


@calls("SparseTensorDenseMatMul")
def _mat_mul(d: Draw, name: str) -> Sample:
    rows, inner, columns = (d.number(1, 4) for _ in range(3))
    word = d.types(name, without="float16 bfloat16")
    left, right = d.chance(0.3), d.chance(0.3)
    a = _sparse(d, word, (inner, rows) if left else (rows, inner))
    b = d.values(word, (columns, inner) if right else (inner, columns), 0)
    row = op(name, *a, b, adjoint_a=left, adjoint_b=right)
    return replace(row, atol=1e-5 if word in ("float32", "complex64") else None)


@calls("SparseFillEmptyRows")
def _fill(d: Draw, name: str) -> Sample:
    word = d.types(name)
    return op(name, *_sparse(d, word, _shape(d, 2, 2)), d.values(word, ()))


@calls("SparseSplit")
def _split(d: Draw, name: str) -> Sample:
    shape = _shape(d)
    axis = d.number(0, len(shape) - 1)
    return op(
        name,
        np.array(axis, np.int64),
        *_sparse(d, d.types(name), shape),
        num_split=d.number(1, shape[axis]),
    )


@calls("SetSize")
def _set_size(d: Draw, name: str) -> Sample:
    return op(name, *_sparse(d, d.types(name), _shape(d, 2, 3)))


@calls("DenseToDenseSetOperation")
def _set_operation(d: Draw, name: str) -> Sample:
    word, head = d.types(name), _shape(d, 1, 2)
    sets = [d.values(word, (*head, d.number(0, 4)), 0) for _ in range(2)]
    return op(name, *sets, set_operation=d.one(["a-b", "b-a", "intersection", "union"]))
