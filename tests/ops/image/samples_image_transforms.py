"""Rows for projective transforms of images, and boxes chosen by a matrix of overlaps."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, sweep, uniform

SAMPLES: list[Sample | list[Sample]] = []

_TURN = [0.866, -0.5, 1.2, 0.5, 0.866, -0.7, 0.0, 0.0]
_SHIFT = [1.0, 0.0, -2.0, 0.0, 1.0, 1.0, 0.0, 0.0]
_VIEW = [1.1, 0.2, -0.3, -0.1, 0.9, 0.4, 0.02, -0.03]
_FAR = [3.0, 0.5, -9.0, -0.4, 2.5, -7.0, 0.0, 0.0]
_MODES = ("CONSTANT", "NEAREST", "REFLECT", "WRAP")


def _transforms() -> None:
    images = normal(2, 4, 5, 3)
    size = np.array([4, 5], np.int32)
    for kind in ("NEAREST", "BILINEAR"):
        for mode in _MODES:
            attrs = {"interpolation": kind, "fill_mode": mode}
            name = "ImageProjectiveTransformV2"
            for one in (_TURN, _SHIFT, _VIEW, _FAR):
                row = op(name, images, [one], size, **attrs)
                SAMPLES.append(checked(row, rtol=1e-5, atol=1e-5))
            row = op(name, images, [_TURN, _VIEW], [6, 3], **attrs)
            SAMPLES.append(checked(row, rtol=1e-5, atol=1e-5))
            name = "ImageProjectiveTransformV3"
            row = op(name, images, [_TURN], size, 7.5, **attrs)
            SAMPLES.append(checked(row, rtol=1e-5, atol=1e-5))
        types = "uint8 int32 int64 half double"
        bytes_ = uniform(1, 4, 5, 1) * 200
        name = "ImageProjectiveTransformV2"
        rows = sweep(types, name, bytes_, [_SHIFT], size, fixed=(1, 2), interpolation=kind)
        SAMPLES.append(rows)
    one = {"interpolation": "NEAREST"}
    name = "ImageProjectiveTransformV2"
    SAMPLES.append(op(name, images, [_TURN] * 3, size, error="num_images x 8", **one))
    SAMPLES.append(op(name, images, [_TURN[:7]], size, error="num_images x 8", **one))
    SAMPLES.append(op(name, images[0], [_TURN], size, error="rank 4", **one))
    SAMPLES.append(op(name, images, [_TURN], [0, 3], error="positive", **one))


def _boxes() -> None:
    name = "NonMaxSuppressionWithOverlaps"
    overlaps = np.abs(normal(6, 6))
    overlaps = (overlaps + overlaps.T) / 4
    scores = uniform(6)
    for limit in (0, 2, 6):
        for threshold in (0.2, 0.5):
            SAMPLES.append(op(name, overlaps, scores, limit, threshold, 0.1))
    SAMPLES.append(op(name, overlaps, scores, 6, 0.9, 0.5))
    SAMPLES.append(op(name, overlaps[:5], scores, 6, 0.9, 0.5, error="square|equal"))
    SAMPLES.append(op(name, overlaps, scores[:5], 6, 0.9, 0.5, error="shape|equal"))
    SAMPLES.append(op(name, overlaps, scores, [6], 0.9, 0.5, error="0-D|rank"))


_transforms()
_boxes()
