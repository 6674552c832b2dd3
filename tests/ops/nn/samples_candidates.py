"""Rows for candidate samplers: the classes of given seeds are TensorFlow's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.ops.samples import Sample, checked, integers, op

SAMPLES: list[Sample | list[Sample]] = []
_TRUE = integers(4, 2, low=0, high=20).astype(np.int64)
_LIMITS = {"seed": 3, "seed2": 14}


def _samplers() -> None:
    for name in (
        "LogUniformCandidateSampler",
        "UniformCandidateSampler",
        "LearnedUnigramCandidateSampler",
        "ThreadUnsafeUnigramCandidateSampler",
    ):
        for unique, count, limit in (
            (True, 10, 20),
            (False, 30, 20),
            (True, 16, 16),
            (False, 40, 1000003),
        ):
            if "Unigram" in name and limit > 100:
                continue
            row = op(
                name,
                _TRUE,
                num_true=2,
                num_sampled=count,
                unique=unique,
                range_max=limit,
                **_LIMITS,
            )
            if limit == 16:
                row = replace(row, error="out of range")
            # The expected counts depend on another library's float32 logarithm.
            SAMPLES.append(checked(row, rtol=1e-5))
        SAMPLES.append(
            op(
                name,
                _TRUE,
                num_true=2,
                num_sampled=10,
                unique=True,
                range_max=5,
                error="range is too small",
                **_LIMITS,
            )
        )
        SAMPLES.append(
            op(
                name,
                _TRUE,
                num_true=3,
                num_sampled=3,
                unique=True,
                range_max=5,
                error="num_true columns",
                **_LIMITS,
            )
        )
        SAMPLES.append(
            op(
                name,
                _TRUE[0],
                num_true=2,
                num_sampled=3,
                unique=True,
                range_max=5,
                error="matrix|rank",
                **_LIMITS,
            )
        )
    weights = [float(n) for n in (1, 5, 0, 2, 7, 3, 3, 9, 4, 1)]
    true_classes = _TRUE % 10
    for unique in (True, False):
        for extra in (
            {"range_max": 10, "unigrams": weights},
            {"range_max": 10, "unigrams": weights, "distortion": 0.5},
            {"range_max": 13, "unigrams": weights, "num_reserved_ids": 3},
            {"range_max": 5, "unigrams": weights, "num_shards": 2, "shard": 1},
        ):
            row = op(
                "FixedUnigramCandidateSampler",
                true_classes,
                num_true=2,
                num_sampled=4,
                unique=unique,
                **extra,
                **_LIMITS,
            )
            if extra["range_max"] == 5:
                row = replace(row, error="out of range")
                few = {"num_true": 2, "num_sampled": 3, "unique": unique, **extra, **_LIMITS}
                answered = op("FixedUnigramCandidateSampler", true_classes % 5, **few)
                SAMPLES.append(checked(answered, rtol=1e-5))
            SAMPLES.append(checked(row, rtol=1e-5))
    everything = {"num_true": 2, "num_sampled": 6, "unique": True, **_LIMITS}
    SAMPLES.append(op("AllCandidateSampler", true_classes % 6, **everything))
    SAMPLES.append(op("AllCandidateSampler", true_classes, error="out of range", **everything))


def _hits() -> None:
    sampled = np.array([4, 8, 15, 3, 15, 1], np.int64)
    true_classes = np.array([[4, 15], [1, 2], [3, 3], [9, 9]], np.int64)
    SAMPLES.append(op("ComputeAccidentalHits", true_classes, sampled, num_true=2))
    SAMPLES.append(op("ComputeAccidentalHits", true_classes, sampled[:0], num_true=2))
    SAMPLES.append(
        op("ComputeAccidentalHits", true_classes, sampled, num_true=3, error="Dimension|num_true")
    )
    SAMPLES.append(
        op("ComputeAccidentalHits", true_classes, true_classes, num_true=2, error="rank|vector")
    )


_samplers()
_hits()
