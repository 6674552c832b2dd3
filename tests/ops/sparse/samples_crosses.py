"""Rows for crosses of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import Many, Sample, op

SAMPLES: list[Sample | list[Sample]] = []

_FIRST = (
    np.array([[0, 0], [1, 0], [1, 1]], np.int64),
    np.array([b"a", b"b", b"c"], object),
    np.array([2, 2], np.int64),
)
_SECOND = (
    np.array([[0, 0], [0, 1], [1, 0]], np.int64),
    np.array([7, -8, 9], np.int64),
    np.array([2, 2], np.int64),
)
_TEXT = np.array([[b"f"], [b"g"]], object)
_NUMBERS = np.array([[1, 2], [3, 4]], np.int64)


def _columns(sparse: list[Any], dense: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    parts = tuple(Many([column[i] for column in sparse]) for i in range(3))
    types = {
        "N": len(sparse),
        "sparse_types": [_type(column[1]) for column in sparse],
        "dense_types": [_type(matrix) for matrix in dense],
    }
    return (*parts, Many(dense)), types


def _type(values: Any) -> str:
    return "string" if values.dtype == object else "int64"


def _rows() -> None:
    empty = (np.zeros((0, 2), np.int64), np.zeros(0, object), np.array([2, 0], np.int64))
    for sparse, dense in (
        ([_FIRST, _FIRST], [_TEXT]),
        ([_FIRST], [_TEXT, _TEXT]),
        ([_FIRST, _SECOND], [_TEXT, _NUMBERS]),
        ([_SECOND], [_NUMBERS]),
        ([], [_TEXT, _TEXT]),
        ([_FIRST], []),
        ([_FIRST, empty], [_TEXT]),
    ):
        inputs, types = _columns(sparse, dense)
        kinds = {*types["sparse_types"], *types["dense_types"]}
        internal = "int64" if "int64" in kinds else "string"
        text = {"hashed_output": False, "num_buckets": 0, "hash_key": 5, "out_type": "string"}
        SAMPLES.append(op("SparseCross", *inputs, internal_type=internal, **text, **types))
        for buckets in (0, 100):
            attrs = {"hashed_output": True, "num_buckets": buckets, "out_type": "int64"}
            more = {"hash_key": 956888297470, "internal_type": internal, **types}
            SAMPLES.append(op("SparseCross", *inputs, **attrs, **more))
        SAMPLES.append(op("SparseCrossV2", *inputs, "_Y_", **types))
        if any(column is _SECOND for column in sparse):
            continue  # TensorFlow takes the numbers of a sparse column for strings
        for buckets in (0, 100):
            for strong in (False, True):
                more = (np.int64(buckets), np.bool_(strong), np.array([137, -9], np.int64))
                SAMPLES.append(op("SparseCrossHashed", *inputs, *more, **types))
    wrong = (_FIRST[0], _FIRST[1], np.array([3, 2], np.int64))
    inputs, types = _columns([wrong, _FIRST], [])
    SAMPLES.append(op("SparseCrossV2", *inputs, "_Y_", error="batch size", **types))
    inputs, types = _columns([(_FIRST[0], _FIRST[1][:2], _FIRST[2])], [])
    SAMPLES.append(op("SparseCrossV2", *inputs, "_Y_", error="size of values", **types))
    inputs, types = _columns([_FIRST], [_TEXT[:1]])
    SAMPLES.append(op("SparseCrossV2", *inputs, "_Y_", error="batch size", **types))
    inputs, types = _columns([_FIRST], [_TEXT[0]])
    SAMPLES.append(op("SparseCrossV2", *inputs, "_Y_", error="matrix|rank", **types))


def _ragged() -> None:
    words = (np.array([b"a", b"b", b"c"], object), np.array([0, 1, 3], np.int64))
    numbers = (np.array([7, -8, 9], np.int64), np.array([0, 2, 3], np.int64))
    for ragged, sparse, dense, order in (
        ([words, numbers], [], [], "RR"),
        ([words], [_FIRST], [_TEXT], "RSD"),
        ([words, words], [_FIRST], [_NUMBERS], "DRSR"),
        ([numbers], [], [_NUMBERS, _TEXT], "DRD"),
    ):
        inputs = (
            Many([values for values, _ in ragged]),
            Many([splits for _, splits in ragged]),
            *(Many([column[i] for column in sparse]) for i in range(3)),
            Many(dense),
        )
        attrs = {
            "Nsparse": len(sparse),
            "input_order": order,
            "ragged_values_types": [_type(values) for values, _ in ragged],
            "ragged_splits_types": [splits.dtype.name for _, splits in ragged],
            "sparse_values_types": [_type(column[1]) for column in sparse],
            "dense_types": [_type(matrix) for matrix in dense],
            "out_row_splits_type": "int64",
        }
        text = {"hashed_output": False, "num_buckets": 0, "hash_key": 5}
        SAMPLES.append(op("RaggedCross", *inputs, out_values_type="string", **text, **attrs))
        for buckets in (0, 50):
            text = {"hashed_output": True, "num_buckets": buckets, "hash_key": 956888297470}
            SAMPLES.append(op("RaggedCross", *inputs, out_values_type="int64", **text, **attrs))


_rows()
_ragged()
