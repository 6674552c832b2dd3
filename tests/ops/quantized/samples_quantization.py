"""Rows for fake quantization."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op

SAMPLES: list[Sample | list[Sample]] = []


def _fake() -> None:
    x, grads = normal(3, 4) * 4, normal(3, 4, seed=2)
    ranges = ((-6.0, 6.0), (-1.3, 2.7), (0.5, 3.0), (-4.0, -0.2))
    for low, high in ranges:
        for attrs in ({}, {"num_bits": 4}, {"num_bits": 6, "narrow_range": True}):
            limits = {"min": low, "max": high, **attrs}
            SAMPLES.append(checked(op("FakeQuantWithMinMaxArgs", x, **limits), rtol=1e-5))
            SAMPLES.append(op("FakeQuantWithMinMaxArgsGradient", grads, x, **limits))
            row = op("FakeQuantWithMinMaxVars", x, low, high, **attrs)
            SAMPLES.append(checked(row, rtol=1e-5))
            row = op("FakeQuantWithMinMaxVarsGradient", grads, x, low, high, **attrs)
            SAMPLES.append(checked(row, rtol=1e-5))
    lows, highs = np.transpose(np.array(ranges, np.float32))
    lows[2] = highs[2] = 0
    for attrs in ({}, {"num_bits": 4, "narrow_range": True}):
        row = op("FakeQuantWithMinMaxVarsPerChannel", x, lows, highs, **attrs)
        SAMPLES.append(checked(row, rtol=1e-5))
        row = op("FakeQuantWithMinMaxVarsPerChannelGradient", grads, x, lows, highs, **attrs)
        SAMPLES.append(checked(row, rtol=1e-5))
    SAMPLES.append(op("FakeQuantWithMinMaxVars", x, 0.0, 0.0))
    SAMPLES.append(op("FakeQuantWithMinMaxVarsGradient", grads, x, 0.0, 0.0))
    SAMPLES.append(op("FakeQuantWithMinMaxArgs", x, min=2.0, max=1.0, error="smaller than max"))
    SAMPLES.append(op("FakeQuantWithMinMaxVars", x, [1.0], 2.0, error="rank"))
    name = "FakeQuantWithMinMaxVarsPerChannel"
    SAMPLES.append(op(name, x, lows[:2], highs[:2], error="must be equal|incorrect size"))


_fake()
