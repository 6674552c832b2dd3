"""Rows for ragged tensors."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

import numpy as np

from tests.ops.samples import Many, Sample, checked, normal, op, sweep

SAMPLES: list[Sample | list[Sample]] = []


def _long(values: object) -> np.ndarray:
    return np.array(values, np.int64)


def _ranges() -> None:
    name = "RaggedRange"
    starts, limits, deltas = [0, 5, 8, 5], [3, 2, 8, 9], [1, -2, 1, 3]
    SAMPLES.append(sweep("int32 int64 float double", name, starts, limits, deltas))
    SAMPLES.append(op(name, starts, limits, deltas, Tsplits="int32"))
    SAMPLES.append(op(name, 0, [3, 0, 4], 1))
    SAMPLES.append(op(name, 0, 5, 2))
    SAMPLES.append(op(name, [0.0, 0.5], [1.0, 0.0], [0.1, -0.2]))
    SAMPLES.append(op(name, np.zeros(0, np.int32), np.zeros(0, np.int32), 1))
    SAMPLES.append(op(name, [0, 1], [3, 4, 5], 1, error="equal|same shape"))
    SAMPLES.append(op(name, 0, 5, 0, error="delta != 0"))
    SAMPLES.append(op(name, [[0]], 5, 1, error="rank 1|scalar or vector"))


def _gathers() -> None:
    name = "RaggedGather"
    outer, inner = _long([0, 2, 2, 5, 6]), _long([0, 1, 3, 3, 4, 8, 9])
    values = normal(9)
    for indices, rank in (([3, 0, 2, 2], 2), ([[1, 0], [2, 3]], 3), (2, 1)):
        row = op(name, Many([outer, inner]), values, indices, OUTPUT_RAGGED_RANK=rank)
        SAMPLES.append(row)
    for indices, rank in (([3, 0, 2, 2], 1), (_long([[1, 0], [2, 3]]), 2), (2, 0)):
        row = op(name, Many([outer]), normal(6, 2), indices, OUTPUT_RAGGED_RANK=rank)
        SAMPLES.append(row)
    short = outer.astype(np.int32)
    SAMPLES.append(op(name, Many([short]), list("abcdef"), [3, 0], OUTPUT_RAGGED_RANK=1))
    empty = np.zeros(0, np.int32)
    SAMPLES.append(op(name, Many([outer]), normal(6), empty, OUTPUT_RAGGED_RANK=1))
    # Some values are in no row; inner splits of any rank are read in flat order.
    row = op(name, Many([_long([1, 2, 4])]), normal(6), [1, 0], OUTPUT_RAGGED_RANK=1)
    SAMPLES.append(row)
    splits = Many([_long([0, 1, 2]), _long([0, 1])])
    SAMPLES.append(checked(op(name, splits, normal(4), [0], OUTPUT_RAGGED_RANK=2), shapes=False))
    for inner in (_long(0), _long([[0, 1], [2, 2]])):
        splits = Many([_long([0, int(inner.size > 1), 1]), inner])
        row = op(name, splits, normal(4), [0, 0], OUTPUT_RAGGED_RANK=2)
        SAMPLES.append(checked(row, shapes=False))
    bad = {"OUTPUT_RAGGED_RANK": 1, "error": "past|sorted"}
    for splits in ([0, 5], [-1, 2], [0, 3, 1], []):
        SAMPLES.append(op(name, Many([_long(splits)]), normal(4), empty, **bad))
    bad["error"] = "is not in"
    SAMPLES.append(op(name, Many([outer]), normal(6), [0, 4], **bad))
    SAMPLES.append(op(name, Many([outer]), normal(6), [-1, 2], **bad))


def _to_sparse() -> None:
    name = "RaggedTensorToSparse"
    outer, inner = _long([0, 2, 2, 5]), _long([0, 1, 3, 3, 4, 8])
    SAMPLES.append(op(name, Many([outer]), normal(5)))
    SAMPLES.append(op(name, Many([outer.astype(np.int32)]), list("abcde")))
    SAMPLES.append(op(name, Many([outer, inner]), normal(8)))
    SAMPLES.append(op(name, Many([outer]), normal(5, 2, 3)))
    SAMPLES.append(op(name, Many([_long([0])]), normal(0)))
    SAMPLES.append(op(name, Many([outer]), normal(4), error="match|splits"))
    SAMPLES.append(op(name, Many([outer + 1]), normal(6), error="0"))
    SAMPLES.append(op(name, Many([_long([0, 3, 2, 5])]), normal(5), error="sorted|ascending"))


def _to_dense() -> None:
    name = "RaggedTensorToTensor"
    splits, rows = _long([0, 2, 2, 5]), _long([0, 0, 2, 2, 2])
    values = normal(5)
    types = {"row_partition_types": ["ROW_SPLITS"]}
    whole = _long(-1)  # as a scalar it must be known while building
    for shape in (whole, _long([-1, -1]), _long([2, -1]), _long([4, 2]), _long([-1, 5])):
        SAMPLES.append(op(name, shape, values, 9.0, Many([splits]), **types))
    wide = normal(5, 2)
    SAMPLES.append(op(name, whole, wide, [8.0, 9.0], Many([splits]), **types))
    SAMPLES.append(op(name, _long([-1, 2, 2]), wide, 7.0, Many([splits]), **types))
    short = splits.astype(np.int32)
    row = op(name, np.int32(-1), list("abcde"), "none", Many([short]), **types)
    SAMPLES.append(row)
    two = {"row_partition_types": ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]}
    for shape in (whole, _long([2, 2])):
        SAMPLES.append(op(name, shape, values, 0.0, Many([_long(4), rows]), **two))
    outer, inner = _long([0, 2, 2, 5]), _long([0, 1, 3, 3, 4, 8])
    both = {"row_partition_types": ["ROW_SPLITS", "ROW_SPLITS"]}
    for shape in (whole, _long([-1, 2, -1]), _long([4, 4, 5])):
        SAMPLES.append(op(name, shape, normal(8), -1.0, Many([outer, inner]), **both))
    three = {"row_partition_types": ["FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"]}
    parts = Many([_long(3), _long([0, 0, 2, 2, 2]), _long([0, 1, 1, 3, 4, 4, 4, 4])])
    SAMPLES.append(op(name, whole, normal(8), -1.0, parts, **three))
    none = Many([_long(0), _long([]), _long([])])
    SAMPLES.append(op(name, _long([-1, -1, 2, 0]), normal(0, 0), normal(0), none, **three))
    SAMPLES.append(op(name, whole, normal(0), 1.0, Many([_long([0])]), **types))
    SAMPLES.append(op(name, whole, normal(0), 1.0, Many([_long([0, 0])]), **types))
    bad = {"error": "incompatible|rank|shape scalar", **types}
    SAMPLES.append(op(name, _long([2, 3, 4]), values, 0.0, Many([splits]), **bad))
    SAMPLES.append(op(name, whole, values, [0.0, 1.0], Many([splits]), **bad))
    SAMPLES.append(op(name, _long([3, 3, 5]), wide, 0.0, Many([splits]), **bad))
    bad["error"] = "shape scalar|scalar shape"
    SAMPLES.append(op(name, _long(3), values, 0.0, Many([splits]), **bad))


def _empty_rows() -> None:
    name = "RaggedFillEmptyRows"
    rows = _long([1, 1, 4, 5, 5])
    SAMPLES.append(op(name, rows, normal(5), _long(7), -1.0))
    SAMPLES.append(op(name, rows, list("abcde"), _long(6), "none"))
    SAMPLES.append(op(name, _long([0, 1]), normal(2), _long(2), -1.0))
    empty = np.zeros(0, np.int64)
    SAMPLES.append(op(name, empty, normal(0), _long(3), -1.0))
    SAMPLES.append(op(name, rows, normal(5), _long(4), -1.0, error="invalid"))
    SAMPLES.append(op(name, rows, normal(4), _long(7), -1.0, error="equal|match"))
    name = "RaggedFillEmptyRowsGrad"
    SAMPLES.append(checked(op(name, _long([1, 2, 5]), normal(7)), rtol=1e-5))
    SAMPLES.append(op(name, _long([1, 9]), normal(7), error="must be in"))


_ranges()
_gathers()
_to_sparse()
_to_dense()
_empty_rows()
