"""Rows for counting in sparse and ragged tensors."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op

SAMPLES: list[Sample | list[Sample]] = []

_INDICES = np.array([[0, 0], [0, 2], [2, 1], [2, 2], [2, 3]], np.int64)
_VALUES = np.array([3, 0, 3, 3, 5], np.int32)
_SHAPE = np.array([3, 4], np.int64)
_SPLITS = np.array([0, 2, 2, 5], np.int64)
_NONE = np.zeros(0, np.float32)


def _bincounts() -> None:
    for weights in (_NONE, np.zeros(0, np.int32), normal(5)):
        for binary in (False, True):
            for size in (4, 7):
                attrs = {"binary_output": binary}
                inputs = (_INDICES, _VALUES, _SHAPE, size, weights)
                SAMPLES.append(op("SparseBincount", *inputs, **attrs))
                SAMPLES.append(op("RaggedBincount", _SPLITS, _VALUES, size, weights, **attrs))
    vector = (_INDICES[:, 1:].copy()[2:], _VALUES[2:], _SHAPE[1:], 6, _NONE)
    SAMPLES.append(op("SparseBincount", *vector))
    SAMPLES.append(op("SparseBincount", *vector[:4], normal(4), error="same size"))
    SAMPLES.append(op("SparseBincount", *vector[:4], normal(4), binary_output=True))
    inputs = (_INDICES, _VALUES, _SHAPE, -1, _NONE)
    SAMPLES.append(op("SparseBincount", *inputs, error="non-negative"))
    inputs = (_INDICES, _VALUES, _SHAPE - 1, 6, _NONE)
    SAMPLES.append(op("SparseBincount", *inputs, error="bound"))
    inputs = (_INDICES, _VALUES[1:], _SHAPE, 6, _NONE)
    SAMPLES.append(op("SparseBincount", *inputs, error="Number of"))
    row = op("RaggedBincount", _SPLITS, _VALUES - 4, 6, _NONE, error="negative")
    SAMPLES.append(row)
    SAMPLES.append(op("RaggedBincount", _SPLITS + 1, _VALUES, 6, _NONE, error="start with 0"))
    SAMPLES.append(op("RaggedBincount", _SPLITS, _VALUES[1:], 6, _NONE, error="end with"))


def _counts() -> None:
    for weights in (_NONE, np.zeros(0, np.int64), normal(5)):
        for attrs in (
            {"binary_output": False},
            {"binary_output": True},
            {"binary_output": False, "minlength": 9},
            {"binary_output": False, "maxlength": 4},
            {"binary_output": False, "minlength": 8, "maxlength": 4},
        ):
            more = {"output_type": weights.dtype.name, **attrs}
            inputs = (_INDICES, _VALUES, _SHAPE, weights)
            SAMPLES.append(op("SparseCountSparseOutput", *inputs, **more))
            SAMPLES.append(op("RaggedCountSparseOutput", _SPLITS, _VALUES, weights, **more))
            SAMPLES.append(op("DenseCountSparseOutput", _VALUES, weights, **more))
            matrix = np.array([[1, 1, 4], [0, 4, 4]], np.int64)
            wide = normal(2, 3) if weights.size else weights
            SAMPLES.append(op("DenseCountSparseOutput", matrix, wide, **more))
    more = {"output_type": "float", "binary_output": False}
    name = "DenseCountSparseOutput"
    SAMPLES.append(op(name, _VALUES - 4, _NONE, error="negative", **more))
    SAMPLES.append(op(name, _VALUES, normal(4), error="same shape|equal", **more))
    SAMPLES.append(op(name, _VALUES[0], _NONE, error="dimensional", **more))
    SAMPLES.append(op(name, np.zeros((2, 0), np.int32), _NONE, **more))
    name = "SparseCountSparseOutput"
    SAMPLES.append(op(name, _INDICES, _VALUES, _SHAPE - 1, _NONE, error="bound", **more))
    SAMPLES.append(op(name, _INDICES, _VALUES[1:], _SHAPE, _NONE, error="Number", **more))
    none = np.zeros((0, 2), np.int64), _VALUES[:0], np.array([0, 2], np.int64)
    SAMPLES.append(op(name, *none, _NONE, error="0 batches", **more))
    name = "RaggedCountSparseOutput"
    SAMPLES.append(op(name, _SPLITS + 1, _VALUES, _NONE, error="start with 0", **more))
    SAMPLES.append(op(name, _SPLITS[:1], _VALUES[:0], _NONE, error="at least 2", **more))
    # Splits and values of any rank are read in flat order.
    one = [np.array([0, 0, 1], np.int64), _VALUES[0], _NONE]
    pair = [np.array([[0, 1, 4]], np.int64), _VALUES[:4].reshape(2, 2), _NONE]
    SAMPLES.extend(checked(op(name, *inputs, **more), shapes=False) for inputs in (one, pair))


_bincounts()
_counts()
