"""Rows for Bessel functions and functions defined by integrals."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, op, sweep

NAN, INF = float("nan"), float("inf")

SAMPLES: list[Sample | list[Sample]] = []

_WHOLE = "BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 Dawsn FresnelCos FresnelSin"
_HALF = "BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Expint Spence"


def _functions() -> None:
    positive = np.array(
        [1e-4, 0.02, 0.3, 0.499, 0.7, 1.3, 1.9, 2.1, 3.7, 7.5, 12.0, 24.0, 26.0, 41.0]
    )
    whole = np.concatenate([positive, -positive])
    edges = np.array([0.0, -0.0, 1.0, INF, -INF, NAN])
    for names, x in ((_WHOLE, whole), (_HALF, positive)):
        for name in names.split():
            # Near a zero of the oscillating functions only the absolute error is small.
            SAMPLES.append(checked(sweep("double", name, x), rtol=1e-12, atol=1e-13))
            SAMPLES.append(checked(sweep("float", name, x), rtol=2e-5, atol=1e-6))
            SAMPLES.append(checked(sweep("half bfloat16", name, x[:10]), gradient=False))
            SAMPLES.append(checked(sweep("double", name, edges), gradient=False, rtol=1e-13))
    SAMPLES.extend(
        checked(sweep("double", name, -positive), gradient=False) for name in _HALF.split()
    )
    SAMPLES.append(op("BesselI0", np.zeros((0, 3), np.float32)))
    SAMPLES.append(checked(op("Spence", np.float64(1.0))))
    SAMPLES.extend(
        checked(sweep("double", name, [1e3, 36973.0, 36975.0, -1e9]), gradient=False, rtol=1e-9)
        for name in ("FresnelCos", "FresnelSin")
    )


_functions()
