"""Rows for Sobol sequences."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, op

SAMPLES: list[Sample | list[Sample]] = []

_CASES = ((1, 1, 0), (2, 9, 0), (5, 64, 3), (40, 20, 100), (1111, 5, 2**20), (21200, 1, 2**30 - 9))


def _rows() -> None:
    name = "SobolSample"
    for case in _CASES:
        inputs = [np.int32(one) for one in case]
        SAMPLES.append(checked(op(name, *inputs), exact=True))
        if case[0] < 1000:
            SAMPLES.append(checked(op(name, *inputs, dtype="double"), exact=True))
    for case, words in (
        ((0, 2, 0), "dim must be at least one"),
        ((21201, 2, 0), "dim must be at most"),
        ((2, 0, 0), "num_results must be at least one"),
        ((2, 2, -1), "skip must be non-negative"),
        ((2, 2, 2**31 - 3), "must be less than"),
    ):
        SAMPLES.append(op(name, *[np.int32(one) for one in case], error=words))
    SAMPLES.append(op(name, np.int32([2]), np.int32(2), np.int32(0), error="scalar|rank 0"))


_rows()
