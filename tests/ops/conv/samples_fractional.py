"""Rows for pooling over cells of random sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import Sample, checked, integers, normal, op, sweep

SAMPLES: list[Sample | list[Sample]] = []


def _pools() -> None:
    x = normal(2, 8, 11, 3)
    for name in ("FractionalMaxPool", "FractionalAvgPool"):
        for seeds in ({"seed": 7, "seed2": 3}, {"seed": 1, "seed2": 0}):
            for pseudo_random in (False, True):
                for overlapping in (False, True):
                    attrs: dict[str, Any] = {
                        "pooling_ratio": [1.0, 1.44, 1.73, 1.0],
                        "pseudo_random": pseudo_random,
                        "overlapping": overlapping,
                        "deterministic": True,
                        **seeds,
                    }
                    SAMPLES.append(checked(op(name, x, **attrs), shapes=False))
                    attrs["pooling_ratio"] = [1.0, 2.3, 1.0, 1.0]
                    SAMPLES.append(checked(op(name, x, **attrs), shapes=False))
        ratio: dict[str, Any] = {"pooling_ratio": [1.0, 1.5, 2.5, 1.0], "seed": 5, "seed2": 6}
        row = op(name, x, error="deterministic", **ratio)
        SAMPLES.append(checked(row, shapes=False))
        ratio["deterministic"] = True
        values = integers(1, 6, 7, 2) * 10 - 30
        row = sweep("float double int32 int64", name, values, **ratio)
        SAMPLES.append(checked(row, shapes=False))
        for bad in ([1.0, 0.5, 1.0, 1.0], [2.0, 1.5, 1.5, 1.0], [1.0, 9.0, 1.5, 1.0], [1.0] * 5):
            row = op(name, x, pooling_ratio=bad, error="pooling_ratio|supported|not positive")
            SAMPLES.append(checked(row, shapes=False))
        SAMPLES.append(op(name, x[0], pooling_ratio=[1.0, 1.5, 1.5, 1.0], error="rank|dimension"))


def _gradients() -> None:
    rows, columns = np.array([0, 2, 3, 5, 6], np.int64), np.array([0, 1, 3, 5], np.int64)
    grad = normal(2, 4, 3, 3, seed=1)
    shape = np.array([2, 6, 5, 3], np.int64)
    for overlapping in (False, True):
        row = op("FractionalAvgPoolGrad", shape, grad, rows, columns, overlapping=overlapping)
        SAMPLES.append(checked(row, gradient=False))
    SAMPLES.append(op("FractionalAvgPoolGrad", shape[:3], grad, rows, columns, error="4 elements"))


_pools()
_gradients()
