"""Rows for sparse arithmetic, other forms of sparse tensors, sets and distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import Many, Sample, checked, op, sweep

I64 = np.int64
SAMPLES: list[Sample | list[Sample]] = []


def _i(value: Any) -> Any:
    return np.array(value, I64)


def _sparse(indices: Any, values: Any, shape: Any) -> tuple[Any, Any, Any]:
    rank = len(shape)
    return _i(indices).reshape(-1, rank), np.array(values, np.float32), _i(shape)


A = _sparse([[0, 1], [1, 2]], [1, 2], [2, 3])
B = _sparse([[0, 0], [1, 2]], [4, -2], [2, 3])
C = _sparse([[0, 0, 1], [0, 2, 1], [1, 1, 0], [1, 1, 1]], [1, -2, 3, 4], [2, 3, 2])
NONE = _sparse([], [], [2, 3])
WIDE = _sparse([[0, 0]], [1], [2, 4])


def _arithmetic() -> None:
    SAMPLES.extend(
        [
            op("SparseAdd", *A, *B, np.float32(0)),
            op("SparseAdd", *A, *B, np.float32(1.5)),
            op("SparseAdd", *A, *NONE, np.float32(0)),
            op("SparseAdd", *NONE, *NONE, np.float32(0)),
            op("SparseAdd", *C, *C, np.float32(0)),
            op("SparseAdd", *A, *WIDE, np.float32(0), error="shapes do not match: got 3 and 4"),
            op("SparseAdd", *A, *C, np.float32(0), error="same ranks"),
            op("SparseAddGrad", np.float32([7, 8, 9]), A[0], B[0], _i([[0, 0], [0, 1], [1, 2]])),
            op("SparseSoftmax", *_sparse([[0, 0], [0, 2], [1, 1]], [1, 2, 3], [2, 3])),
            op("SparseSoftmax", *C),
            op("SparseSoftmax", *NONE),
            op("SparseSoftmax", *_sparse([[0]], [1], [2]), error="rank >= 2"),
            op("SparseSparseMaximum", *A, *B),
            op("SparseSparseMinimum", *A, *B),
            op("SparseSparseMaximum", *A, *NONE),
            op("SparseSparseMaximum", *A, *WIDE, error="shapes do not match"),
        ]
    )
    for name in ("SparseReduceSum", "SparseReduceMax"):
        for axes in ([1], [0], [0, 1], [-1], [], 0):
            SAMPLES.append(op(name, *A, np.array(axes, np.int32)))
            SAMPLES.append(op(name, *C, np.array(axes, np.int32), keep_dims=True))
            SAMPLES.append(op(f"{name}Sparse", *C, np.array(axes, np.int32)))
            SAMPLES.append(op(f"{name}Sparse", *C, np.array(axes, np.int32), keep_dims=True))
        SAMPLES.append(op(name, *NONE, [0]))
        SAMPLES.append(op(name, *A, [5], error="Invalid reduction dimension 5"))
    for name in ("SparseDenseCwiseAdd", "SparseDenseCwiseDiv"):
        for dense in (np.float32([1, 2, 4]), np.float32([[2], [4]]), np.float32(5)):
            SAMPLES.append(op(name, *A, dense))
        SAMPLES.append(op(name, *A, np.ones((2, 3), np.float32)))
        SAMPLES.append(
            op(name, *A, np.ones((2, 2), np.float32), error="broadcasts dense to sparse")
        )
        SAMPLES.append(op(name, *A, np.ones((2, 2, 3), np.float32), error="dense to sparse"))
        nothing = np.zeros((0, 1), np.int64), np.zeros(0, np.float32), np.zeros(1, np.int64)
        SAMPLES.append(op(name, *nothing, np.float32([2]), error="dense to sparse"))


def _forms() -> None:
    one, two = _sparse([[0, 0]], [1], [2, 2]), _sparse([[1, 1]], [2], [2, 3])

    def concat(*parts: Any, dim: int, error: str | None = None) -> Sample:
        columns = [Many(list(column)) for column in zip(*parts)]
        return op("SparseConcat", *columns, concat_dim=dim, error=error)

    SAMPLES.extend(
        [
            concat(one, two, dim=1),
            concat(two, one, dim=-1),
            concat(A, B, dim=0),
            concat(A, B, NONE, dim=1),
            concat(one, _sparse([[1, 1]], [2], [3, 3]), dim=1, error="shapes must match"),
            concat(one, C, dim=1, error="expected 2 but got 3|Ranks|must be equal"),
            concat(one, two, dim=2, error="range \\[-2, 2\\), got 2"),
            op("SparseReshape", A[0], A[2], _i([3, 2])),
            op("SparseReshape", A[0], A[2], _i([-1, 2])),
            op("SparseReshape", A[0], A[2], _i([6])),
            op("SparseReshape", C[0], C[2], _i([3, 1, -1])),
            op("SparseReshape", NONE[0], NONE[2], _i([3, 2])),
            op("SparseReshape", A[0], A[2], _i([4]), error="requested shape has 4"),
            op("SparseReshape", A[0], A[2], _i([-1, 4]), error="requires a multiple of 4"),
            op("SparseReshape", A[0], A[2], _i([-1, -1]), error="not both 0 and 1"),
            op("SparseReshape", A[0], A[2], _i([-2, 3]), error="non-negative, not -2|-2"),
            op("SparseSplit", _i(1), *A, num_split=2),
            op("SparseSplit", _i(-1), *A, num_split=3),
            op("SparseSplit", _i(0), *C, num_split=2),
            op("SparseSplit", _i(5), *A, num_split=2, error="range \\[-2, 2\\), got 5"),
            op("SparseSplit", _i(0), *A, num_split=3, error="between 1 and the splitting"),
            op("SerializeSparse", *A),
            op("SerializeManySparse", *A),
            op("SerializeSparse", A[0], np.array([b"a", b"bcd"], object), A[2]),
            op("SerializeManySparse", *C),
            op("SerializeManySparse", *_sparse([[5, 0]], [1], [2, 3]), error="out of bounds"),
            op("DeserializeSparse", np.array([b"a", b"b", b"c"], object), dtype="float32",
               error="Could not parse"),
            op("DeserializeManySparse", np.array([[b"a", b"b", b"c"]], object), dtype="float32",
               error="Could not parse"),
        ]
    )  # fmt: skip


def _sets() -> None:
    a, b = np.array([[1, 2, 2], [3, 4, 5]]), np.array([[2, 9], [5, 5]])
    x = _i([[0, 0], [0, 1], [1, 0]]), _i([3, 4, 1]), _i([2, 2])
    y = _i([[0, 0], [1, 1]]), _i([4, 8]), _i([2, 2])
    for operation in ("a-b", "b-a", "intersection", "union"):
        named = {"set_operation": operation}
        SAMPLES.append(sweep("int8 int64 uint16 string", "DenseToDenseSetOperation", a, b, **named))
        SAMPLES.append(op("DenseToSparseSetOperation", _i(a), *y, **named))
        SAMPLES.append(op("SparseToSparseSetOperation", *x, *y, **named))
    union = {"set_operation": "union"}
    unsorted = _i([[1, 0], [0, 1]]), _i([2, 7]), _i([2, 2])
    SAMPLES.extend(
        [
            op(
                "DenseToDenseSetOperation", a, b, set_operation="x", error="Invalid set_operation x"
            ),
            op(
                "DenseToDenseSetOperation",
                a,
                b[:1],
                **union,
                error="Mismatched shapes|must be equal",
            ),
            op("DenseToDenseSetOperation", a[0], b[0], **union, error="rank"),
            op("SparseToSparseSetOperation", *unsorted, *y, **union, error="out of order"),
            op("SetSize", _i([[0, 0], [0, 1], [1, 0]]), _i([3, 3, 4]), _i([3, 2])),
            op("SetSize", np.zeros((0, 2), I64), np.zeros(0, I64), _i([3, 2])),
        ]
    )
    guess = _i([[0, 0], [0, 1], [1, 0]]), _i([1, 2, 3]), _i([2, 2])
    truth = _i([[0, 0], [0, 1], [0, 2]]), _i([1, 3, 2]), _i([2, 3])
    late = _i([[0, 0], [1, 1]]), _i([1, 3]), _i([2, 3])
    for normalize in (True, False):
        for other in (truth, late):
            SAMPLES.append(op("EditDistance", *guess, *other, normalize=normalize))
    flat = _i([[0]]), _i([1]), _i([2])
    SAMPLES.append(op("EditDistance", *guess, *flat, error="rank|match"))


_arithmetic()
_forms()
_sets()
SAMPLES = [row for entry in SAMPLES for row in checked(entry)]  # type: ignore[arg-type]
