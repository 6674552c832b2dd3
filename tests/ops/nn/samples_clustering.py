"""Rows for the ops of k-means."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, uniform

_NO_GRADIENT = {"gradient": False}
SAMPLES: list[Sample | list[Sample]] = [
    *(
        checked(op("NearestNeighbors", points, centers, np.int64(k)), **_NO_GRADIENT)
        for points, centers, k in (
            (normal(7, 3), normal(4, 3, seed=1), 1),
            (normal(7, 3), normal(4, 3, seed=1), 3),
            (normal(2, 3), normal(4, 3, seed=1), 9),
            (normal(4, 3), normal(2, 3), 0),
            (normal(4, 3), normal(0, 3), 1),
            (normal(5, 1), np.zeros((6, 1), np.float32), 4),
        )
    ),
    op("NearestNeighbors", normal(4), normal(2, 3), np.int64(1), error="matrix"),
    op("NearestNeighbors", normal(4, 3), normal(2, 2), np.int64(1), error="columns"),
    op("NearestNeighbors", normal(0, 3), normal(4, 3), np.int64(2), error="one point"),
    *(
        checked(
            op(
                "KmeansPlusPlusInitialization",
                normal(30, 2, seed=seed),
                np.int64(count),
                np.int64(seed),
                np.int64(retries),
            ),
            **_NO_GRADIENT,
        )
        for seed in (0, 5)
        for count, retries in ((1, 0), (4, 0), (6, 3), (30, 1))
    ),
    op(
        "KmeansPlusPlusInitialization",
        normal(3, 2),
        np.int64(4),
        np.int64(0),
        np.int64(0),
        error="points only",
    ),
    *(
        checked(op("KMC2ChainInitialization", uniform(20), np.int64(seed)), **_NO_GRADIENT)
        for seed in (0, 1, 7)
    ),
]
