"""Rows for ops over the parts of sparse tensors."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op

SAMPLES: list[Sample | list[Sample]] = []

INDICES = np.array([[0, 1], [1, 0], [1, 3], [2, 2]])
SHAPE = np.array([3, 4])


def _to_dense() -> None:
    x = normal(4)
    zero = np.float32(0)
    SAMPLES.append(op("SparseToDense", INDICES, SHAPE, x, zero))
    SAMPLES.append(op("SparseToDense", INDICES.astype(np.int32), SHAPE.astype(np.int32), x, zero))
    SAMPLES.append(op("SparseToDense", INDICES, SHAPE, np.float32(2), np.float32(-1)))
    SAMPLES.append(op("SparseToDense", [0, 2], [4], ["a", "b"], "c"))
    SAMPLES.append(op("SparseToDense", [[0], [3], [7]], [9], normal(3), zero))
    SAMPLES.append(op("SparseToDense", [[0], [9]], [9], normal(2), zero, error="out of bounds"))
    SAMPLES.append(op("SparseToDense", [[3], [0]], [9], normal(2), zero, error="out of order"))
    SAMPLES.append(op("SparseToDense", [[3], [3]], [9], normal(2), zero, error="is repeated"))
    SAMPLES.append(op("SparseToDense", [[0, 0]], [9], normal(1), zero, error="output_shape|rank"))
    for count in range(3):
        places, scalar = np.zeros((count, 0), np.int64), np.zeros(0, np.int64)
        call = ("SparseToDense", places, scalar, normal(count), zero)
        SAMPLES.append(op(*call, validate_indices=False))
    SAMPLES.append(op(*call, error="is repeated"))


def _parts() -> None:
    mixed = INDICES[[2, 0, 3, 1]]
    SAMPLES.append(op("SparseReorder", mixed, normal(4), SHAPE))
    SAMPLES.append(op("SparseReorder", INDICES, ["a", "b", "c", "d"], SHAPE))
    for start, size in (([0, 0], [3, 4]), ([1, 0], [1, 4]), ([1, 1], [9, 9]), ([0, 2], [1, 1])):
        SAMPLES.append(
            op("SparseSlice", INDICES, normal(4), SHAPE, np.array(start), np.array(size))
        )
    grad = op("SparseSliceGrad", normal(2), INDICES, np.array([1, 0]), np.array([[0, 0], [0, 3]]))
    SAMPLES.append(checked(grad, gradient=False))


def _products() -> None:
    for a, b, size in ((False, False, (4, 2)), (True, False, (3, 2)), (False, True, (2, 4))):
        SAMPLES.append(
            op(
                "SparseTensorDenseMatMul",
                INDICES,
                normal(4),
                SHAPE,
                normal(*size),
                adjoint_a=a,
                adjoint_b=b,
            )
        )
    SAMPLES.append(
        op(
            "SparseTensorDenseMatMul",
            INDICES,
            normal(4),
            SHAPE,
            normal(2, 3),
            adjoint_a=True,
            adjoint_b=True,
        )
    )
    SAMPLES.append(
        op(
            "SparseTensorDenseMatMul",
            INDICES,
            normal(4),
            SHAPE,
            normal(3, 2),
            error="inner dimension|Dimensions must be equal",
        )
    )


def _elementwise() -> None:
    SAMPLES.extend(
        op("SparseDenseCwiseMul", INDICES, normal(4), SHAPE, normal(*sizes))
        for sizes in ((3, 4), (1, 4), (3, 1), (4,), ())
    )
    SAMPLES.append(
        op("SparseDenseCwiseMul", INDICES, normal(4), SHAPE, normal(2, 4), error="incompatible")
    )
    SAMPLES.append(op("SparseTensorDenseAdd", INDICES, normal(4), SHAPE, normal(3, 4)))
    SAMPLES.append(
        op("SparseTensorDenseAdd", INDICES, normal(4), SHAPE, normal(4, 3), error="do not match")
    )


def _rows() -> None:
    six = np.array([6, 4])
    SAMPLES.append(op("SparseFillEmptyRows", INDICES, normal(4), six, np.float32(9)))
    SAMPLES.append(op("SparseFillEmptyRows", INDICES[[2, 0, 3, 1]], normal(4), six, np.float32(9)))
    SAMPLES.append(op("SparseFillEmptyRows", INDICES, ["a", "b", "c", "d"], six, "x"))
    SAMPLES.append(
        op("SparseFillEmptyRows", INDICES, normal(4), [2, 4], np.float32(9), error="is invalid")
    )
    grad = op("SparseFillEmptyRowsGrad", np.array([2, 1, 3]), normal(5))
    SAMPLES.append(checked(grad, gradient=False))


_to_dense()
_elementwise()
_rows()
_parts()
_products()
