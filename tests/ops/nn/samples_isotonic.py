"""Rows for isotonic regression: the nearest rows that never rise."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, sweep

NAN, INF = float("nan"), float("inf")

SAMPLES: list[Sample | list[Sample]] = []


def _isotonic_regression() -> None:
    name, rows = "IsotonicRegression", [[3, 1, 2, 1], [1, 2, 2, 5], [4, 4, 3, 6]]
    ties = [[2, 2, 2, 1], [4, 4, 4, 4], [3, 1, 2, 1.5]]
    SAMPLES.append(op(name, normal(3, 9)))
    SAMPLES.append(sweep("int8 int16 float", name, rows))
    SAMPLES.append(sweep("int32 int64 double", name, rows, output_dtype="double"))
    SAMPLES.append(sweep("half", name, rows, output_dtype="half"))
    # TensorFlow's gradient needs a matrix with rows; where means are equal, it is not unique.
    not_compared = [
        normal(2, 2, 5), normal(7), 3.5, np.zeros((0, 3), np.float32),
        np.zeros((2, 0), np.float32), ties,
        [[NAN, 1, 2], [1, NAN, 2], [INF, 1, INF], [1, -INF, INF]],
    ]  # fmt: skip
    SAMPLES.extend(checked(op(name, x), gradient=False) for x in not_compared)


_isotonic_regression()
