"""Random calls of samplers of classes, of random numbers with a state, and of k-means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Resource, Sample, op
from tests.random_calls.draws import Draw, calls

_LOOSE = {"rtol": 1e-5, "atol": 1e-6}


@calls("""LogUniformCandidateSampler UniformCandidateSampler LearnedUnigramCandidateSampler
ThreadUnsafeUnigramCandidateSampler FixedUnigramCandidateSampler AllCandidateSampler""")
def _candidates(d: Draw, name: str) -> Sample:
    limit, columns = (
        d.one([1, 2, 7, 20, 1000] if "Unigram" not in name else [2, 7, 20]),
        d.number(1, 3),
    )
    rows = d.number(0 if d.chance(0.1) else 1, 4)
    classes = d.random.randint(0, limit, (rows, columns)).astype(np.int64)
    if d.chance(0.04):
        classes = classes[:, :0]
    attrs: dict[str, Any] = {
        "num_true": columns, "num_sampled": d.number(1, 9), "unique": d.chance(0.5),
        "seed": d.number(1, 99), "seed2": d.number(0, 99),
    }  # fmt: skip
    if name == "AllCandidateSampler":
        attrs["num_sampled"] = d.one([limit, limit + 2]) if limit < 100 else limit
        return replace(op(name, classes, **attrs), **_LOOSE)
    attrs["range_max"] = limit
    if name == "FixedUnigramCandidateSampler":
        reserved = d.one([0, 0, 1])
        attrs["num_reserved_ids"] = reserved
        attrs["distortion"] = d.one([1.0, 0.5, 0.0])
        count = max(limit - reserved, 1) if d.chance(0.95) else limit + 2
        attrs["unigrams"] = [float(d.number(1, 9)) for _ in range(count)]
        if attrs["unique"]:
            attrs["num_sampled"] = min(attrs["num_sampled"], max(count // 2, 1))
    return replace(op(name, classes, **attrs), **_LOOSE)


def _state(d: Draw) -> Resource:
    words = [d.number(-9, 2**40), d.number(0, 99), d.number(-(2**40), 2**40)]
    if d.chance(0.04):
        words = words[:2]
    return Resource(np.array(words, np.int64), "int64")


def _shape(d: Draw) -> Any:
    return np.array(d.shape(0, 3), NUMPY_TYPES[d.one("int32 int64")])


@calls("StatefulUniform StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniformFullInt")
def _stateful(d: Draw, name: str) -> Sample:
    words = "float32 float64 float16 bfloat16"
    word = d.one("int32 int64 uint32 uint64" if name.endswith("FullInt") else words)
    algorithm = np.int64(1 if d.chance(0.95) else 7)
    row = op(name, _state(d), algorithm, _shape(d), dtype=word)
    return replace(row, **(_LOOSE if word in ("float32", "float64") else {}))


@calls("StatefulUniformInt")
def _stateful_integers(d: Draw, name: str) -> Sample:
    word = d.one("int32 int64 uint32 uint64")
    low = d.number(0, 90) if word.startswith("u") else d.number(-90, 90)
    limits = [np.array(v, NUMPY_TYPES[word]) for v in (low, low + d.one([0, 1, 5, 100]))]
    if d.chance(0.1):
        info = np.iinfo(NUMPY_TYPES[word])
        limits = [np.array(v, NUMPY_TYPES[word]) for v in (info.min, info.max)]
    return op(name, _state(d), np.int64(1), _shape(d), *limits)


@calls("RngSkip RngReadAndSkip")
def _skip(d: Draw, name: str) -> Sample:
    delta = d.one([0, 1, 5, 2**40])
    if name == "RngSkip":
        return op(name, _state(d), np.int64(1), np.int64(delta if d.chance(0.8) else -delta))
    return op(name, _state(d), np.int32(1), np.uint64(delta))


def _key(d: Draw) -> tuple[Any, Any, Any]:
    key = np.array([d.number(0, 2**40)], np.uint64)
    counter = np.array([d.number(0, 2**40), d.number(0, 99)], np.uint64)
    return key, counter, np.array(d.number(1, 2), np.int32)


@calls("StatelessRandomUniformIntV2")
def _integers(d: Draw, name: str) -> Sample:
    word = d.types(name, "dtype")
    low = d.number(0, 90) if word.startswith("u") else d.number(-90, 90)
    limits = [np.array(v, NUMPY_TYPES[word]) for v in (low, low + d.one([0, 1, 5, 100]))]
    return op(name, _shape(d), *_key(d), *limits)


@calls("StatelessShuffle")
def _shuffle(d: Draw, name: str) -> Sample:
    return op(name, d.values(d.types(name), d.shape(0, 3)), *_key(d))


@calls("StatelessRandomGammaV3")
def _gamma(d: Draw, name: str) -> Sample:
    word = d.one("float32 float64 float16")
    alpha = d.positive(word, d.shape(0, 2, 3))
    lead = d.shape(0, 1, 3)
    size = np.array([*lead, *alpha.shape], NUMPY_TYPES[d.one("int32 int64")])
    return replace(op(name, size, *_key(d), alpha), rtol=1e-4, gradient=False)


def _seed(d: Draw) -> Any:
    return np.array([d.number(-99, 99), d.number(0, 2**30)], NUMPY_TYPES[d.one("int32 int64")])


@calls("StatelessParameterizedTruncatedNormal")
def _truncated(d: Draw, name: str) -> Sample:
    word, shape = d.one("float32 float64"), d.shape(0, 2, 3)

    def part(options: list[float]) -> Any:
        drawn = d.random.choice(options, () if d.chance(0.5) else shape)
        return np.asarray(drawn, NUMPY_TYPES[word])

    size = np.array(shape, NUMPY_TYPES[d.one("int32 int64")])
    parts = [part([0.0, 1.0, -2.0]), part([0.5, 2.0]), part([-3.0, -1.0]), part([0.5, 4.0])]
    return replace(op(name, size, _seed(d), *parts), rtol=1e-4, atol=1e-5, gradient=False)


@calls("StatelessRandomBinomial")
def _binomial(d: Draw, name: str) -> Sample:
    word, shape = d.one("float32 float64"), d.shape(0, 2, 3)
    counts = np.array(d.random.choice([0, 1, 5, 40], shape), NUMPY_TYPES[word])
    chances = np.array(d.random.choice([0.0, 0.2, 0.5, 0.9, 1.0], shape), NUMPY_TYPES[word])
    size = np.array([*d.shape(0, 1, 3), *shape], np.int32)
    return op(name, size, _seed(d), counts, chances, dtype=d.one("int32 int64 float32 float64"))


@calls("NearestNeighbors")
def _neighbours(d: Draw, name: str) -> Sample:
    size = d.number(1, 3)
    points = d.values("float32", (d.number(0, 5), size), 0)
    centers = d.values("float32", (d.number(0, 5), size + d.chance(0.04)), 0)
    row = op(name, points, centers, np.array(d.number(0, 4), np.int64))
    return replace(row, rtol=1e-4, atol=1e-4, gradient=False)


@calls("KmeansPlusPlusInitialization")
def _centers(d: Draw, name: str) -> Sample:
    points = d.values("float32", (d.number(1, 12), d.number(1, 3)), 0)
    count = d.number(1, len(points) + d.chance(0.1))
    numbers = [np.array(v, np.int64) for v in (count, d.number(0, 99), d.number(0, 3))]
    return replace(op(name, points, *numbers), gradient=False)


@calls("KMC2ChainInitialization")
def _chain(d: Draw, name: str) -> Sample:
    distances = d.random.uniform(0, 2, d.number(1, 20)).astype(np.float32)
    return replace(op(name, distances, np.array(d.number(0, 99), np.int64)), gradient=False)


@calls("SobolSample")
def _sobol(d: Draw, name: str) -> Sample:
    numbers = [np.array(v, np.int32) for v in (d.number(1, 40), d.number(0, 20), d.number(0, 99))]
    return op(name, *numbers, dtype=d.one("float32 float64"))
