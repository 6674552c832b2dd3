"""Rows for images: sizes, crops, colours, boxes."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, sweep, uniform

SAMPLES: list[Sample | list[Sample]] = []
_IMAGES = "int8 uint8 int16 uint16 int32 int64 half float double bfloat16"


def _resizes() -> None:
    image = uniform(2, 5, 7, 3) * 90
    flags = ({}, {"align_corners": True}, {"half_pixel_centers": True})
    loose = {"rtol": 2e-5, "atol": 2e-4}
    for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
        known = flags[:2] if name == "ResizeArea" else flags
        for attrs in known:
            for size in ([5, 7], [10, 14], [3, 2], [1, 1], [8, 5], [4, 21]):
                SAMPLES.append(checked(op(name, image, size, **attrs), **loose))
        SAMPLES.append(
            checked(sweep(_IMAGES, name, image, [7, 4], fixed=(1,)), rtol=1e-2, atol=0.3)
        )
        SAMPLES.append(op(name, image[0], [3, 3], error="rank|4-dim"))
        SAMPLES.append(op(name, image, [3, 3, 3], error="must be 2|two elements"))
        SAMPLES.append(op(name, image, [0, 3], error="positive"))
        SAMPLES.append(op(name, image[:, :0], [2, 3], error="non-zero"))
    for attrs in flags:
        for size in ((3, 2), (9, 7)):
            grads = normal(2, *size, 3)
            for name in ("ResizeBilinearGrad", "ResizeBicubicGrad"):
                SAMPLES.append(checked(op(name, grads, image, **attrs), **loose))
            SAMPLES.append(
                checked(op("ResizeNearestNeighborGrad", grads, [5, 7], **attrs), **loose)
            )
    both = {"align_corners": True, "half_pixel_centers": True}
    SAMPLES.append(op("ResizeBilinear", image, [2, 2], error="align_corners must be False", **both))


def _crops() -> None:
    image = uniform(2, 6, 5, 3) * 10
    boxes = np.array(
        [[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.6], [0.5, 1.2, -0.3, 0.1], [0.3, 0.3, 0.3, 0.3]],
        np.float32,
    )
    which = np.array([0, 1, 1, 0], np.int32)
    loose = {"rtol": 1e-4, "atol": 1e-4}
    for size in ([3, 4], [1, 1], [6, 5], [8, 2]):
        for attrs in ({}, {"method": "nearest"}, {"extrapolation_value": 2.5}):
            row = op("CropAndResize", image, boxes, which, size, **attrs)
            SAMPLES.append(checked(row, **loose, gradient="method" not in attrs))
        grads = normal(4, *size, 3)
        for method in ("bilinear", "nearest"):
            SAMPLES.append(
                checked(
                    op(
                        "CropAndResizeGradImage",
                        grads,
                        boxes,
                        which,
                        [2, 6, 5, 3],
                        T="float32",
                        method=method,
                    ),
                    **loose,
                )
            )
        SAMPLES.append(checked(op("CropAndResizeGradBoxes", grads, image, boxes, which), **loose))
    types = "uint8 uint16 int8 int16 int32 int64 half float double"
    SAMPLES.append(
        checked(
            sweep(types, "CropAndResize", image, boxes, which, [3, 3], fixed=(1, 2, 3)),
            rtol=1e-3,
            atol=1e-2,
        )
    )
    SAMPLES.append(op("CropAndResize", image, boxes, which + 1, [3, 3], error="outside"))
    SAMPLES.append(
        op("CropAndResize", image, boxes[:, :3], which, [3, 3], error="must be 4|4 columns")
    )
    SAMPLES.append(
        op("CropAndResize", image, boxes, which[:2], [3, 3], error="incompatible|must be equal")
    )
    SAMPLES.append(op("CropAndResize", image, boxes, which, [0, 3], error="positive"))
    SAMPLES.append(op("CropAndResize", image, boxes[:0], which[:0], [2, 3]))


def _colors() -> None:
    pixels = uniform(2, 4, 5, 3)
    pixels[0, 0] = [[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.2], [0.3, 0.6, 0.6], [0.7, 0.1, 0.7]]
    for name in ("RGBToHSV", "HSVToRGB"):
        SAMPLES.append(
            checked(
                sweep("half bfloat16 float double", name, pixels),
                gradient=False,
                rtol=1e-2,
                atol=8e-3,
            )
        )
        SAMPLES.append(checked(op(name, pixels), rtol=1e-5, atol=1e-5))
        pure = [[0, 1, 0], [0, 0.5, 1], [1, 0, 0], [0, -0.5, -1], [-0.5, 1, 0.5], [0, 0, 0]]
        SAMPLES.append(checked(op(name, np.array(pure)), rtol=1e-5, atol=1e-5))
        SAMPLES.append(op(name, normal(2, 4), error="must be 3|3 channels|must be equal"))
    for name, amounts in (
        ("AdjustContrastv2", (0.5, 3.0)),
        ("AdjustHue", (0.3, -0.9, 0.0)),
        ("AdjustSaturation", (0.2, 2.5)),
    ):
        for amount in amounts:
            row = checked(op(name, pixels, amount), rtol=1e-5, atol=1e-5)
            SAMPLES.append(row)
        SAMPLES.append(
            checked(sweep("half", name, pixels, amounts[0], fixed=(1,)), rtol=4e-3, atol=4e-3)
        )
        SAMPLES.append(op(name, pixels[0, 0], 0.5, error="rank|3-D"))
        SAMPLES.append(op(name, pixels, [0.5], error="rank|scalar"))
    SAMPLES.append(op("AdjustHue", normal(2, 3, 4), 0.5, error="3 channels"))
    SAMPLES.append(checked(op("AdjustHue", normal(3, 4, 3) * 2, 0.4), rtol=1e-4, atol=1e-4))


def _patches() -> None:
    image = normal(2, 6, 7, 3)
    cases = (
        {"ksizes": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1]},
        {"ksizes": [1, 2, 2, 1], "strides": [1, 3, 3, 1], "rates": [1, 2, 3, 1]},
    )
    for attrs in cases:
        for padding in ("SAME", "VALID"):
            SAMPLES.append(op("ExtractImagePatches", image, padding=padding, **attrs))
    SAMPLES.append(
        sweep(
            "half bfloat16 double int8 int32 int64 uint8 complex64 bool",
            "ExtractImagePatches",
            image * 5,
            padding="SAME",
            **cases[0],
        )
    )
    wrong = {**cases[0], "ksizes": [2, 1, 1, 1]}
    SAMPLES.append(op("ExtractImagePatches", image, padding="SAME", error="Only support", **wrong))
    volume = normal(2, 4, 5, 6, 2)
    for padding in ("SAME", "VALID"):
        attrs = {"ksizes": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 3, 1], "padding": padding}
        # For an input of unknown shape TensorFlow's shape function gives four dimensions instead of
        # five.
        SAMPLES.append(checked(op("ExtractVolumePatches", volume, **attrs), shapes=False))
    kernel = normal(3, 2, 3)
    for padding in ("SAME", "VALID"):
        for strides, rates in (([1, 1, 1, 1], [1, 1, 1, 1]), ([1, 2, 3, 1], [1, 2, 2, 1])):
            attrs = {"strides": strides, "rates": rates, "padding": padding}
            SAMPLES.append(op("Dilation2D", image, kernel, **attrs))
            SAMPLES.append(
                sweep(
                    "int32 uint8 double half",
                    "Dilation2D",
                    np.abs(image) * 9,
                    np.abs(kernel) * 9,
                    **attrs,
                )
            )
    SAMPLES.append(op("Dilation2D", image, kernel[..., :2], error="depth|must be equal", **attrs))


def _boxes() -> None:
    corners = uniform(12, 4)
    corners[3] = corners[2] + 0.01
    corners[5] = corners[2] - 0.02
    corners[7, 2:] = corners[7, :2]
    scores = uniform(12, seed=3)
    scores[4] = scores[6]
    for limit in (0, 3, 12):
        SAMPLES.append(op("NonMaxSuppression", corners, scores, limit, iou_threshold=0.2))
        SAMPLES.append(op("NonMaxSuppressionV2", corners, scores, limit, 0.3))
        SAMPLES.append(op("NonMaxSuppressionV3", corners, scores, limit, 0.3, 0.4))
        for pads in (True, False):
            SAMPLES.append(
                op(
                    "NonMaxSuppressionV4",
                    corners,
                    scores,
                    limit,
                    0.1,
                    0.2,
                    pad_to_max_output_size=pads,
                )
            )
            for sigma in (0.0, 0.5):
                row = op(
                    "NonMaxSuppressionV5",
                    corners,
                    scores,
                    limit,
                    0.4,
                    0.2,
                    sigma,
                    pad_to_max_output_size=pads,
                )
                SAMPLES.append(checked(row, gradient=False, rtol=1e-5))
    SAMPLES.append(
        op(
            "NonMaxSuppressionV3",
            corners,
            scores[:3],
            3,
            0.3,
            0.4,
            error="incompatible|must be equal",
        )
    )
    SAMPLES.append(
        op("NonMaxSuppressionV3", corners, scores, 3, 1.3, 0.4, error="iou_threshold must be in")
    )
    SAMPLES.append(
        op("NonMaxSuppressionV3", corners[:, :3], scores, 3, 0.3, 0.4, error="4 columns|must be 4")
    )
    many, all_scores = uniform(2, 9, 3, 4, low=-0.2, high=1.2), uniform(2, 9, 3)
    for pad_per_class in (True, False):
        for boxes in (many, many[:, :, :1]):
            for clip in (True, False):
                row = op(
                    "CombinedNonMaxSuppression",
                    boxes,
                    all_scores,
                    2,
                    8,
                    0.3,
                    0.3,
                    pad_per_class=pad_per_class,
                    clip_boxes=clip,
                )
                SAMPLES.append(checked(row, gradient=False))
    image = uniform(2, 8, 9, 3)
    drawn = np.array(
        [
            [[0.1, 0.2, 0.8, 0.9], [-0.2, 0.5, 0.5, 1.4]],
            [[0.5, 0.5, 0.2, 0.9], [0.3, 0.3, 0.3, 0.3]],
        ],
        np.float32,
    )
    for channels in (1, 3):
        SAMPLES.append(op("DrawBoundingBoxes", image[..., :channels], drawn))
    colors = uniform(2, 3)
    SAMPLES.append(checked(op("DrawBoundingBoxesV2", image, drawn, colors), gradient=False))
    SAMPLES.append(checked(op("DrawBoundingBoxesV2", image, drawn, colors[:0]), gradient=False))
    SAMPLES.append(op("DrawBoundingBoxes", image[..., :2], drawn, error="Channel depth"))


_resizes()
_crops()
_patches()
_boxes()
_colors()
