"""Random calls of operations on sets, of serialized sparse tensors, and of sparse gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Many, Sample, op
from tests.random_calls.draws import Draw, calls


def _sparse(d: Draw, word: str, shape: tuple[int, ...]) -> list[Any]:
    cells = [place for place in np.ndindex(*shape) if d.chance(0.5)]
    places = np.array(cells, np.int64).reshape(len(cells), len(shape))
    return [places, d.values(word, (len(cells),), 0), np.array(shape, np.int64)]


@calls("SparseToSparseSetOperation")
def _sets(d: Draw, name: str) -> Sample:
    word, head = d.types(name), (d.number(1, 3),)
    parts = [_sparse(d, word, (*head, d.number(1, 4))) for _ in range(2)]
    return op(name, *parts[0], *parts[1], set_operation=d.one("a-b b-a intersection union"))


@calls("DenseToSparseSetOperation")
def _dense_set(d: Draw, name: str) -> Sample:
    word, head = d.types(name), (d.number(1, 3),)
    first = d.values(word, (*head, d.number(0, 4)), 0)
    second = _sparse(d, word, (*head, d.number(1, 4)))
    return op(name, first, *second, set_operation=d.one("a-b b-a intersection union"))


@calls("SerializeSparse SerializeManySparse")
def _serialize(d: Draw, name: str) -> Sample:
    word = d.types("Identity")
    least = 1 if name == "SerializeSparse" else 2
    shape = tuple(d.number(1, 3) for _ in range(d.number(least, 3)))
    return op(name, *_sparse(d, word, shape))


@calls("SparseFillEmptyRowsGrad")
def _filled(d: Draw, name: str) -> Sample:
    word = d.types("SparseAddGrad")
    count = d.number(0, 4)
    total = count + d.number(0, 3)
    order = np.sort(d.random.permutation(total)[:count]).astype(np.int64)
    return op(name, order, d.values(word, (total,), 0))


@calls("SparseAddGrad")
def _added(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), (d.number(1, 3), d.number(1, 3))
    a, b = (_sparse(d, "float32", shape)[0] for _ in range(2))
    cells = sorted({tuple(row) for row in a.tolist()} | {tuple(row) for row in b.tolist()})
    places = np.array(cells, np.int64).reshape(len(cells), 2)
    return op(name, d.values(word, (len(cells),), 0), a, b, places)


@calls("SparseSliceGrad")
def _sliced(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), (d.number(1, 4), d.number(1, 4))
    given = _sparse(d, "float32", shape)[0]
    start = np.array([d.number(0, size - 1) for size in shape], np.int64)
    kept = given[(given >= start).all(1)] - start
    return op(name, d.values(word, (len(kept),), 0), given, start, kept)


@calls("SparseSegmentSumGradV2 SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2")
def _segments(d: Draw, name: str) -> Sample:
    count, segments = d.number(1, 5), d.number(1, 3)
    ids = np.sort(d.random.randint(0, segments, count)).astype(np.int32)
    indices = d.random.randint(0, 4, count).astype(NUMPY_TYPES[d.one("int32 int64")])
    grads = d.values("float32", (segments, *d.shape(0, 2, 3)), 0)
    return op(name, grads, indices, ids, np.array(4, np.int32))


@calls("ParallelConcat")
def _parallel(d: Draw, name: str) -> Sample:
    word, tail = d.types("Identity"), d.shape(0, 2, 3)
    arrays = [d.values(word, (1, *tail), 0) for _ in range(d.number(1, 3))]
    return op(name, Many(arrays), shape=[len(arrays), *tail])


@calls("PlaceholderWithDefault GuaranteeConst")
def _through(d: Draw, name: str) -> Sample:
    x = d.values(d.types("Identity"), d.shape(0, 3, 3))
    return op(name, x, shape=list(x.shape)) if name[0] == "P" else op(name, x)


@calls("ToBool")
def _truth(d: Draw, name: str) -> Sample:
    return op(name, d.values(d.types("Identity"), d.shape(0, 2, 2)))


@calls("ComputeAccidentalHits")
def _hits(d: Draw, name: str) -> Sample:
    rows, classes = d.number(1, 3), d.number(1, 3)
    true = d.random.randint(0, 5, (rows, classes)).astype(np.int64)
    sampled = d.random.randint(0, 5, d.number(1, 5)).astype(np.int64)
    return op(name, true, sampled, num_true=classes)
