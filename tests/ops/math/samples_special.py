"""Rows for special functions, histograms and counting."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import FLOATS, Sample, checked, integers, normal, op, sweep, uniform

NAN, INF = float("nan"), float("inf")

SAMPLES: list[Sample | list[Sample]] = []


def _functions() -> None:
    x = np.linspace(-3, 3, 13)
    for name in ("Erf", "Erfc"):
        SAMPLES.append(checked(sweep("double", name, x), rtol=1e-12))
        SAMPLES.append(checked(sweep("half bfloat16 float", name, x), gradient=False, rtol=None))
        SAMPLES.append(checked(op(name, x.astype(np.float32)), rtol=4e-6))
        SAMPLES.append(checked(op(name, [INF, -INF, NAN, 0.0, 10.0]), gradient=False))
    inside = np.linspace(-0.95, 0.95, 11)
    SAMPLES.append(checked(sweep("float double", "Erfinv", inside), rtol=5e-6))
    SAMPLES.append(
        checked(op("Erfinv", [1.0, -1.0, 0.0, NAN, 2.0, 0.99]), gradient=False, rtol=1e-4)
    )
    SAMPLES.append(checked(sweep("float double", "Ndtri", (inside + 1) / 2), rtol=5e-6))
    SAMPLES.append(checked(op("Ndtri", [1.0, 0.0, 0.5, NAN]), gradient=False, atol=1e-6))
    positive = np.linspace(0.1, 8, 12)
    SAMPLES.append(checked(sweep("double", "Lgamma", positive), rtol=1e-11))
    SAMPLES.append(
        checked(sweep("half bfloat16 float", "Lgamma", positive), gradient=False, atol=1e-6)
    )
    SAMPLES.append(
        checked(op("Lgamma", [-1.5, 0.0, -1.0, INF, 1.0, 2.0, 100.0]), gradient=False, atol=1e-6)
    )
    SAMPLES.append(checked(sweep("double", "Digamma", positive), rtol=1e-11))
    SAMPLES.append(checked(sweep("float", "Digamma", positive), rtol=5e-6))
    SAMPLES.append(checked(op("Digamma", [-1.5, 3.3, -0.3]), gradient=False, rtol=1e-5))
    a, b = uniform(12, low=0.5, high=6), uniform(12, low=0.2, high=9, seed=2)
    for name in ("Igamma", "Igammac"):
        SAMPLES.append(checked(sweep("double", name, a, b), rtol=1e-9))
        SAMPLES.append(checked(op(name, a, b), rtol=2e-5))
        SAMPLES.append(checked(op(name, a[:, None], b[:3]), rtol=2e-5))
        SAMPLES.append(
            checked(
                op(name, [0.5, 1.0, 2.0, -1.0, NAN], [0.0, INF, 1.0, 1.0, 1.0]),
                gradient=False,
                rtol=1e-5,
            )
        )
    SAMPLES.append(checked(sweep("double", "IgammaGradA", a, b), rtol=1e-7, gradient=False))
    SAMPLES.append(checked(op("IgammaGradA", a, b), rtol=1e-4, gradient=False))
    SAMPLES.append(checked(op("RandomGammaGrad", a, b), rtol=1e-4, gradient=False))
    SAMPLES.append(checked(sweep("double", "Zeta", a + 1, b), rtol=1e-10))
    SAMPLES.append(checked(op("Zeta", a + 1, b), rtol=1e-5))
    SAMPLES.append(checked(op("Zeta", [1.0, 0.5, 2.0], [1.0, 1.0, 3.0]), gradient=False, rtol=1e-5))
    SAMPLES.append(checked(sweep("double", "Polygamma", np.arange(12) % 4, b), rtol=1e-9))
    SAMPLES.append(checked(op("Polygamma", (np.arange(12) % 4).astype(np.float32), b), rtol=2e-5))
    c = uniform(12, low=0.02, high=0.98, seed=5)
    SAMPLES.append(checked(sweep("double", "Betainc", a, b, c), rtol=1e-9))
    SAMPLES.append(checked(op("Betainc", a, b, c), rtol=2e-5))
    SAMPLES.append(checked(op("Betainc", 2.0, b, 0.3), rtol=2e-5, gradient=False))
    SAMPLES.append(checked(op("Betainc", 2.0, 3.0, c), rtol=2e-5))
    SAMPLES.append(op("Betainc", a, b[:3], c, error="inconsistent|must be equal"))
    SAMPLES.append(op("Igamma", a, b[:3], error="Incompatible shapes|must be equal"))


def _counting() -> None:
    SAMPLES.extend(
        [
            sweep(
                "int32 int64 float double",
                "HistogramFixedWidth",
                [-1, 0, 1, 2, 5, 15],
                [0, 5],
                5,
                fixed=(2,),
            ),
            op(
                "HistogramFixedWidth",
                [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0],
                [0.0, 5.0],
                5,
                dtype="int64",
            ),
            op("HistogramFixedWidth", normal(40), [-1.0, 1.0], 7),
            op("HistogramFixedWidth", normal(3, 2), [1.0, -1.0], 7, error="value_range"),
            op("HistogramFixedWidth", normal(4), [0.0, 1.0], 0, error="nbins"),
            op("HistogramFixedWidth", np.zeros(0, np.float32), [0.0, 1.0], 3),
            op("Bincount", [1, 1, 5, 3, 2, 4, 4, 5, 4], 6, np.zeros(0, np.int32)),
            op("Bincount", [1, 1, 5, 3, 9], 6, [0.5, 1.0, 2.0, 1.0, 1.0]),
            op("Bincount", [1, -1, 5], 6, np.zeros(0, np.int32), error="non-negative"),
            op("Bincount", [[1, 2], [2, 0]], 4, np.zeros(0, np.int64)),
            sweep(
                "int32 int64",
                "DenseBincount",
                [1, 1, 5, 3, 2, 4, 4, 5, 4],
                6,
                np.zeros(0, np.int32),
                fixed=(2,),
            ),
            op("DenseBincount", [[1, 2, 2], [0, 0, 7]], 4, np.zeros(0, np.float32)),
            op(
                "DenseBincount",
                [[1, 2, 2], [0, 0, 3]],
                4,
                np.zeros(0, np.int32),
                binary_output=True,
            ),
            op("DenseBincount", [1, 2, 2], 4, [0.5, 1.0, 2.0]),
            op("DenseBincount", [[1, 2], [2, 0]], 3, [[0.5, 1.0], [2.0, 3.0]]),
            op("DenseBincount", [1, -2], 4, np.zeros(0, np.int32), error="non-negative"),
            op("DenseBincount", [1, 2, 2], 4, [0.5, 1.0], error="same shape"),
            sweep(
                "int32 int64 float double",
                "Bucketize",
                [[-5, 10000], [150, 10], [5, 100]],
                boundaries=[0.0, 10.0, 100.0],
            ),
            op("Bucketize", integers(3), boundaries=[]),
            op("Bucketize", [1.0], boundaries=[3.0, 1.0], error="sorted"),
        ]
    )
    SAMPLES.append(sweep(FLOATS, "L2Loss", [1.0, 2.0, 3.0]))


_functions()
_counting()
