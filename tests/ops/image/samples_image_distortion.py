"""Rows for random crops, glimpses and nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, sweep, uniform

SAMPLES: list[Sample | list[Sample]] = []

_BOXES = [[[0.1, 0.2, 0.6, 0.7], [0.5, 0.5, 0.9, 1.0]]]


def _crops() -> None:
    for size in ([50, 70, 3], [300, 200, 1], [7, 5, 3], [1, 1, 1]):
        for seeds in ({"seed": 3, "seed2": 4}, {"seed": 1, "seed2": 2}, {"seed": 9}):
            SAMPLES.append(op("SampleDistortedBoundingBox", size, _BOXES, **seeds))
            SAMPLES.append(op("SampleDistortedBoundingBoxV2", size, _BOXES, 0.5, **seeds))
        for seed in ([1, 2], [5, 0]):
            name = "StatelessSampleDistortedBoundingBox"
            SAMPLES.append(op(name, size, _BOXES, 0.3, seed))
            SAMPLES.append(
                op(
                    name,
                    size,
                    _BOXES,
                    0.9,
                    seed,
                    aspect_ratio_range=[0.5, 3.0],
                    area_range=[0.2, 0.6],
                    max_attempts=7,
                )
            )
    name = "SampleDistortedBoundingBox"
    SAMPLES.append(
        sweep("uint8 int8 int16 int32 int64", name, [50, 70, 3], _BOXES, fixed=(1,), seed=3)
    )
    none = np.zeros((1, 0, 4), np.float32)
    SAMPLES.append(op(name, [50, 70, 3], none, error="No bounding boxes"))
    SAMPLES.append(op(name, [50, 70, 3], none, seed=3, use_image_if_no_bounding_boxes=True))
    wrong: list[dict[str, Any]] = [
        {"aspect_ratio_range": [0.0, 1.0]},
        {"area_range": [0.5, 1.5]},
        {"area_range": [0.5]},
        {"max_attempts": 0},
    ]
    SAMPLES.extend(op(name, [50, 70, 3], _BOXES, error="range|attempts", **bad) for bad in wrong)
    SAMPLES.append(op(name, [50, 70], _BOXES, error="3"))
    SAMPLES.append(op(name, [50, 70, 3], _BOXES[0], error="rank|3-dim"))
    SAMPLES.append(op(name, [50, 70, 3], [[[0.1, 0.2, 1.5, 0.7]]], error="coordinates"))
    SAMPLES.append(op(name + "V2", [50, 70, 3], _BOXES, -0.5, error="non-negative"))
    SAMPLES.append(op(name + "V2", [50, 70, 3], _BOXES, [0.5], error="rank|0-D"))


def _glimpses() -> None:
    x = normal(3, 9, 11, 2)
    offsets = [[0.0, 0.0], [0.3, -0.2], [-0.9, 0.8]]
    pixels = [[4.0, 5.0], [1.0, 9.0], [-3.0, 2.0]]
    for name in ("ExtractGlimpse", "ExtractGlimpseV2"):
        for size in ([3, 4], [5, 5], [14, 3]):
            for centered in (False, True):
                for normalized in (False, True):
                    row = op(
                        name,
                        x,
                        size,
                        offsets if normalized else pixels,
                        centered=centered,
                        normalized=normalized,
                        uniform_noise=False,
                        noise="zero",
                    )
                    SAMPLES.append(checked(row, gradient=False))
        for attrs in ({}, {"uniform_noise": False, "noise": "gaussian"}):
            row = op(name, x, [5, 5], offsets, **attrs)
            SAMPLES.append(checked(row, values=False, gradient=False))
        SAMPLES.append(op(name, x, [5, 5], offsets, noise="zero", error="same time|uniform"))
        SAMPLES.append(
            op(name, x, [5, 5], offsets, noise="blue", uniform_noise=False, error="noise")
        )
        SAMPLES.append(op(name, x[0], [5, 5], offsets, error="rank|4-dim"))
        SAMPLES.append(op(name, x, [5, 5, 5], offsets, error="2"))
        SAMPLES.append(op(name, x, [5, 5], offsets[:2], error="equal|row"))


def _neighbours() -> None:
    points, centers = normal(6, 3), normal(4, 3, seed=1)
    for k in (1, 2, 4, 9):
        row = op("NearestNeighbors", points, centers, np.int64(k))
        SAMPLES.append(checked(row, rtol=1e-5, atol=1e-5, gradient=False))
    SAMPLES.append(op("NearestNeighbors", points[0], centers, np.int64(1), error="matrix"))
    SAMPLES.append(op("NearestNeighbors", points, uniform(4), np.int64(1), error="matrix"))


_crops()
_glimpses()
_neighbours()
