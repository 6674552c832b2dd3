"""Random calls of ops for random numbers: with seeds the numbers are TensorFlow's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Sample, op
from tests.random_calls.draws import Draw, calls


def _seeds(d: Draw) -> dict[str, int]:
    one, two = d.number(-3, 99), d.number(-(2**40), 2**40) if d.chance(0.2) else d.number(1, 99)
    return {"seed": one, "seed2": two if one or two else 7}


def _size(d: Draw) -> Any:
    shape = d.shape() if d.chance(0.8) else (d.number(200, 900),)
    return np.array(shape, d.one([np.int32, np.int64]))


@calls("RandomUniform RandomStandardNormal TruncatedNormal")
def _floats(d: Draw, name: str) -> Sample:
    return op(name, _size(d), dtype=d.types(name, "dtype"), **_seeds(d))


@calls("RandomUniformInt")
def _integers(d: Draw, name: str) -> Sample:
    word = d.one("int32 int64")
    low, high = sorted((d.number(-90, 90), d.number(-90, 90)))
    if d.chance(0.1):
        low, high = np.iinfo(NUMPY_TYPES[word]).min, np.iinfo(NUMPY_TYPES[word]).max
    return op(
        name,
        _size(d),
        np.array(low, NUMPY_TYPES[word]),
        np.array(high, NUMPY_TYPES[word]),
        **_seeds(d),
    )


@calls("RandomShuffle")
def _shuffle(d: Draw, name: str) -> Sample:
    return op(name, d.values(d.types(name, "T"), d.shape(0, 3)), **_seeds(d))


@calls("Multinomial")
def _multinomial(d: Draw, name: str) -> Sample:
    rows, classes = d.number(0, 4), d.number(1, 6)
    return op(name, d.values(d.types(name), (rows, classes), 0), np.array(d.number(0, 9), np.int32),
              output_dtype=d.one("int32 int64"), **_seeds(d))  # fmt: skip


@calls("RandomGamma RandomPoissonV2")
def _gamma(d: Draw, name: str) -> Sample:
    word = d.one("float32 float64 float16")
    attr: dict[str, Any] = {}
    if name == "RandomPoissonV2":
        attr = {"dtype": d.one("float32 float64 int32 int64 float16")}
    rate = d.positive(word, d.shape(0, 2))
    if d.chance(0.3):
        rate = (rate * 9).astype(rate.dtype)
    return replace(op(name, _size(d)[:2], rate, **attr, **_seeds(d)), gradient=False)


@calls("ParameterizedTruncatedNormal")
def _parameterized(d: Draw, name: str) -> Sample:
    word = d.one("float32 float64")
    target = NUMPY_TYPES[word]
    mean = d.random.normal()
    low, high = mean - d.one([0.1, 1, 5]), mean + d.one([0.1, 1, 5])
    parts = [np.array(v, target) for v in (mean, d.one([0.5, 2.0]), low, high)]
    return op(name, np.array([d.number(1, 9)], np.int32), *parts, **_seeds(d))


def _seed_pair(d: Draw) -> Any:
    return np.array([d.number(-99, 99), d.number(-(2**30), 2**30)], d.one([np.int32, np.int64]))


@calls("StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal")
def _stateless(d: Draw, name: str) -> Sample:
    return op(name, _size(d), _seed_pair(d), dtype=d.types(name, "dtype"))


@calls("StatelessRandomUniformInt")
def _stateless_integers(d: Draw, name: str) -> Sample:
    word = d.one("int32 int64")
    low, high = sorted((d.number(-90, 90), d.number(-90, 90)))
    return op(
        name,
        _size(d),
        _seed_pair(d),
        np.array(low, NUMPY_TYPES[word]),
        np.array(high, NUMPY_TYPES[word]),
    )


@calls("StatelessRandomUniformFullInt")
def _stateless_full(d: Draw, name: str) -> Sample:
    return op(name, _size(d), _seed_pair(d), dtype=d.types(name, "dtype"))


@calls("StatelessMultinomial")
def _stateless_multinomial(d: Draw, name: str) -> Sample:
    rows, classes = d.number(0, 4), d.number(1, 6)
    logits = d.values(d.types(name), (rows, classes), 0)
    count = np.array(d.number(0, 9), np.int32)
    return op(name, logits, count, _seed_pair(d), output_dtype=d.one("int32 int64"))


@calls("StatelessRandomGetKeyCounter")
def _key(d: Draw, name: str) -> Sample:
    return op(name, _seed_pair(d))


@calls("""StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2
StatelessRandomUniformFullIntV2""")
def _stateless_v2(d: Draw, name: str) -> Sample:
    key = np.array([d.number(0, 2**40)], np.uint64)
    counter = np.array([d.number(0, 2**40), d.number(0, 99)], np.uint64)
    return op(
        name,
        _size(d),
        key,
        counter,
        np.array(d.number(1, 2), np.int32),
        dtype=d.types(name, "dtype"),
    )


@calls("StatelessRandomPoisson")
def _stateless_poisson(d: Draw, name: str) -> Sample:
    size = _size(d)[:2]
    rate = d.positive(d.one("float32 float64"), ())
    return op(name, size, _seed_pair(d), rate, dtype=d.one("float32 int32 int64"))


@calls("StatelessRandomGammaV2")
def _stateless_gamma(d: Draw, name: str) -> Sample:
    rate = d.positive(d.one("float32 float64"), ())
    return replace(op(name, _size(d)[:2], _seed_pair(d), rate), gradient=False)
