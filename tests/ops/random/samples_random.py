"""Rows of the random ops: the same seeds give the same numbers."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import checked, normal, op, sweep, uniform

_ALPHA = np.float32([0.3, 1.0, 2.5, 40.0])
_RATE = np.float32([0.3, 9.0, 10.0, 40.0, 1000.0])
_LOGITS = np.float32(
    [[-2.302585125, -1.6094379, -0.35667494], [-0.69314718, -1.3862944, -1.3862944]]
)
_KEY, _COUNTER = np.uint64([2**63 + 5]), np.uint64([2**64 - 3, 2**64 - 1])
_BOUNDS = [
    (0.0, 1.0, -2.0, 2.0),
    (0.0, 1.0, 2.0, 3.0),
    (0.0, 1.0, 3.0, 100.0),
    (1.0, 2.0, -np.inf, 0.0),
]

SAMPLES = [
    *[
        op(name, [5, 7], seed=87654321, seed2=5, dtype=dtype)
        for name in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
        for dtype in ("half", "bfloat16", "float", "double")
    ],
    op("RandomUniform", np.int64([0, 3]), seed=1, dtype="float"),
    op("RandomUniform", np.int64([]), seed=1, dtype="float"),
    op("RandomStandardNormal", [1001], seed=-3, seed2=2**40, dtype="float"),
    op("TruncatedNormal", [1001], seed=-3, seed2=2**40, dtype="double"),
    op("RandomUniform", [-1], dtype="float", error="Dimension -1 must be >= 0"),
    op("RandomUniform", 5, dtype="float", error="must be a vector|must be rank 1"),
    op("RandomUniformInt", [3, 3], -5, 9, seed=-3, seed2=77),
    op("RandomUniformInt", [9], np.int64(-(2**63)), np.int64(2**63 - 1), seed=-3, seed2=77),
    op("RandomUniformInt", [2], 3, 3, error="Need minval < maxval, got 3 >= 3"),
    op("RandomUniformInt", [0], 3, 3),
    op("RandomUniformInt", [2], [3], 5, error="minval must be"),
    op("RandomShuffle", np.arange(50), seed=3, seed2=4),
    op("RandomShuffle", np.arange(50).reshape(25, 2), seed=3, seed2=4),
    op("RandomShuffle", ["a", "b", "c"], seed=3, seed2=4),
    op("RandomShuffle", 3.0, seed=3),
    *sweep("half float double", "Multinomial", _LOGITS, np.int32(13), fixed=(1,), seed=3, seed2=4),
    op("Multinomial", [[0.0, -np.inf, np.nan]], 5, seed=3, output_dtype="int32"),
    op("Multinomial", [0.5], 5, error="should be a matrix|must be rank 2"),
    op("Multinomial", [[0.5]], -1, error="should be non-negative|must be >= 0|>= 0"),
    *checked(
        sweep(
            "half float double", "RandomGamma", np.int32([3, 5]), _ALPHA, fixed=(0,), seed=3,
            seed2=4,
        ),
        gradient=False,
    ),
    *[
        op("RandomPoissonV2", [3, 5], _RATE.astype(rate), seed=3, seed2=4, dtype=dtype)
        for rate in (np.float32, np.float16, np.int64)
        for dtype in ("float", "int64")
    ],
    *[
        op("ParameterizedTruncatedNormal", [3, 70], *np.float32(bounds), seed=3, seed2=4)
        for bounds in _BOUNDS
    ],
    op("ParameterizedTruncatedNormal", [3, 9], [0.0, 1.0, 2.0], 1.0, -1.0, [3.0, 4.0, 9.0], seed=3),
    op("ParameterizedTruncatedNormal", [3], 0.0, -1.0, -1.0, 3.0, error="Invalid parameters"),
    op("RandomGamma", np.int64([2**62]), _ALPHA, error="overflow when multiplying"),
    op("ParameterizedTruncatedNormal", [3], [0.0, 1.0], 1.0, -1.0, 3.0, error="length 1 or shape"),
    op("RandomGammaGrad", uniform(3, 1, low=0.2, high=9.0), uniform(4, low=0.1, high=20.0)),
    checked(
        op("RandomGammaGrad", np.float64([0.3, 2.0, 50.0]), np.float64([3.0, 1.9, 61.0])),
        rtol=1e-12,
    ),
    *[
        op(name, [5, 7], np.int64([12, -5]), dtype=dtype)
        for name in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal")
        for dtype in ("half", "bfloat16", "float", "double")
    ],
    op("StatelessRandomUniform", [2], [1], error=r"seed must have shape|must be 2"),
    *[
        op("StatelessRandomUniformFullInt", [9], [12, -5], dtype=dtype)
        for dtype in ("int32", "int64", "uint32", "uint64")
    ],
    op("StatelessRandomUniformInt", [9], [12, -5], np.int64(3), np.int64(77)),
    op("StatelessRandomUniformInt", [9], [12, -5], 3, 3, error="Need minval < maxval"),
    op("StatelessRandomGetKeyCounter", [12, -5]),
    op("StatelessRandomGetKeyCounterAlg", [12, -5]),
    op("StatelessRandomGetAlg"),
    *[
        op(name, [11], _KEY, _COUNTER, 1)
        for name in (
            "StatelessRandomUniformV2",
            "StatelessRandomNormalV2",
            "StatelessTruncatedNormalV2",
            "StatelessRandomUniformFullIntV2",
        )
    ],
    op("StatelessRandomUniformIntV2", [11], _KEY, _COUNTER, 3, 3, 10),
    op("StatelessRandomUniformV2", [2], _KEY, _COUNTER, 2, error="Unsupported algorithm id: 2"),
    op(
        "StatelessRandomUniformV2", [2], _KEY[:0], _COUNTER, 1,
        error="key must have shape|must be 1",
    ),
    checked(op("StatelessRandomGammaV2", [3, 4], [12, -5], _ALPHA), gradient=False),
    checked(op("StatelessRandomGammaV3", [3, 4], _KEY, _COUNTER, 1, _ALPHA), gradient=False),
    op("StatelessRandomGammaV2", [3], [12, -5], _ALPHA, error="must end with broadcasted shape"),
    op("StatelessRandomPoisson", [3, 5], [12, -5], _RATE, dtype="int64"),
    *[
        op("StatelessRandomBinomial", [20, 3], [12, -5], np.float32([5, 40, 1000]), chance)
        for chance in (0.1, 0.6, 0.95, 0.0, 1.0)
    ],
    op(
        "StatelessRandomBinomial", [2], [1, 2], [1.0, 2.0, 3.0], [0.5, 0.5],
        error="compatible batch",
    ),
    op("StatelessMultinomial", _LOGITS, 13, [12, -5]),
    *[
        # Its gradient, by implicit reparameterization, is not implemented.
        checked(
            op("StatelessParameterizedTruncatedNormal", [70, 3], [12, -5], *np.float32(bounds)),
            gradient=False,
        )
        for bounds in _BOUNDS
    ],
    checked(
        op(
            "StatelessParameterizedTruncatedNormal",
            [4, 2, 3], [12, -5], [0.0, 1.0, 2.0], 1.0, [[-1.0], [0.0]], [3.0, 4.0, 9.0],
        ),
        rtol=2e-5,
    ),
    op("StatelessShuffle", np.arange(20), _KEY, _COUNTER, 1),
    op("StatelessShuffle", normal(5, 2), _KEY, _COUNTER, 1),
]  # fmt: skip
