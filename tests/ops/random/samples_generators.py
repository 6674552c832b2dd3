"""Rows for random numbers of a generator whose state is a variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import Resource, Sample, checked, op

SAMPLES: list[Sample | list[Sample]] = []

_PHILOX = np.int64(1)
_LOOSE = {"rtol": 1e-5, "atol": 1e-6}


def _state(*words: int) -> Any:
    return Resource(np.array(words, np.int64), "int64")


def _rows() -> None:
    state = _state(1, 2, 3)
    for words in ((0, 0, 5), (-1, 7, 5)):
        for delta in (1, 1 << 40):
            more = (np.int32(1), np.uint64(delta))
            SAMPLES.append(op("RngReadAndSkip", _state(*words), *more))
            more = (_PHILOX, np.int64(delta))
            SAMPLES.append(op("RngSkip", _state(*words), *more))
    SAMPLES.append(op("RngSkip", _state(1000, 2, 3), _PHILOX, np.int64(-3)))
    row = op("RngReadAndSkip", state, np.int32(2), np.uint64(1), error="ThreeFry")
    SAMPLES.append(row)
    names = ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal")
    for name in names:
        for dtype in ("float", "double", "half", "bfloat16"):
            row = op(name, state, _PHILOX, np.array([2, 3], np.int64), dtype=dtype)
            SAMPLES.append(checked(row, **_LOOSE) if dtype in ("float", "double") else row)
        SAMPLES.append(checked(op(name, state, _PHILOX, [300]), **_LOOSE))
        SAMPLES.append(op(name, state, _PHILOX, [0]))
        SAMPLES.append(op(name, state, np.int64(7), [2], error="algorithm id"))
        SAMPLES.append(op(name, _state(1, 2), _PHILOX, [2], error="at least 3; got 2"))
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        limits = (dtype(3), dtype(100))
        SAMPLES.append(op("StatefulUniformInt", state, _PHILOX, [9], *limits))
        kind = np.dtype(dtype).name
        SAMPLES.append(op("StatefulUniformFullInt", state, _PHILOX, [9], dtype=kind))
    limits = (np.int64(5), np.int64(5))
    row = op("StatefulUniformInt", state, _PHILOX, [9], *limits, error="minval < maxval")
    SAMPLES.append(row)
    inputs = (np.array([4], np.int32), np.array([5.0]), np.array([0.3]))
    row = op("StatefulRandomBinomial", state, _PHILOX, *inputs, error="must end with")
    SAMPLES.append(row)
    for dtype in ("int32", "int64", "uint32", "uint64"):
        row = op("NonDeterministicInts", np.array([2, 3], np.int64), dtype=dtype)
        SAMPLES.append(checked(row, values=False))


_rows()
