"""Random calls of ops on images: sizes, crops, colours, boxes, patches, dilation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Sample, op
from tests.random_calls.draws import Draw, calls

_LOOSE = {"rtol": 2e-4, "atol": 2e-4}


def _image(d: Draw, word: str, channels: int | None = None, least: int = 1) -> Any:
    shape = (d.number(1, 2), d.number(least, 6), d.number(least, 6), channels or d.number(1, 4))
    if np.dtype(NUMPY_TYPES[word]).kind in "iu":
        high = min(120, np.iinfo(NUMPY_TYPES[word]).max)
        return d.random.randint(0, high, shape).astype(NUMPY_TYPES[word])
    return d.random.uniform(0, 2, shape).astype(NUMPY_TYPES[word])


def _sampling(d: Draw, name: str) -> dict[str, bool]:
    if d.chance(0.4):
        return {}
    word = "align_corners" if "Area" in name or d.chance(0.5) else "half_pixel_centers"
    found = {word: True}
    if "Area" not in name and d.chance(0.05):
        found = {"align_corners": True, "half_pixel_centers": True}
    return found


@calls("ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea")
def _resize(d: Draw, name: str) -> Sample:
    word = d.types(name)
    size = np.array([d.number(1, 9), d.number(1, 9)], np.int32)
    if d.chance(0.05):
        size[d.number(0, 1)] = d.number(-1, 0)
    row = op(name, _image(d, word), size, **_sampling(d, name))
    if word in ("float16", "bfloat16"):
        return replace(row, rtol=1e-2, atol=2e-2)
    return replace(row, rtol=2e-5, atol=5e-4 if word != "float32" else 5e-5)


@calls("ResizeBilinearGrad ResizeBicubicGrad ResizeNearestNeighborGrad")
def _resize_gradient(d: Draw, name: str) -> Sample:
    word = d.one("float32 float32 float64") if "Nearest" not in name else d.types(name)
    image = _image(d, word)
    grads_word = "float32" if "Nearest" not in name else word
    shape = (image.shape[0], d.number(1, 7), d.number(1, 7), image.shape[3])
    grads = d.values(grads_word, shape, 0)
    if "Nearest" in name:
        size = np.array(image.shape[1:3], np.int32)
        row = op(name, grads, size, **_sampling(d, name))
    else:
        row = op(name, grads, image, **_sampling(d, name))
    loose = word in ("float16", "bfloat16")
    return replace(row, rtol=2e-2 if loose else 2e-4, atol=5e-2 if loose else 2e-4)


def _boxes(d: Draw, count: int) -> Any:
    corners = d.random.uniform(-0.3, 1.3, (count, 4)).astype(np.float32)
    if d.chance(0.7):
        corners = np.sort(corners.reshape(count, 2, 2), 1).reshape(count, 4)
    return corners


@calls("CropAndResize")
def _crop(d: Draw, name: str) -> Sample:
    word = d.types(name)
    image, count = _image(d, word), d.number(0, 4)
    which = d.indices((count,), image.shape[0], "int32")
    method = d.one("bilinear nearest")
    attrs = {"method": method, "extrapolation_value": d.one([0.0, 2.5])}
    size = np.array([d.number(1, 5), d.number(1, 5)], np.int32)
    row = op(name, image, _boxes(d, count), which, size, **attrs)
    # A coordinate halfway between two pixels may be rounded to either.
    coarse = word in ("float16", "bfloat16")
    return replace(row, rtol=1e-3, atol=1e-2 if coarse else 1e-3, gradient=method == "bilinear")


@calls("CropAndResizeGradImage CropAndResizeGradBoxes")
def _crop_gradient(d: Draw, name: str) -> Sample:
    word = d.one("float32 float32 float64") if name.endswith("Image") else "float32"
    image, count = _image(d, word), d.number(0, 4)
    which = d.indices((count,), image.shape[0], "int32")
    grads = d.values("float32", (count, d.number(1, 4), d.number(1, 4), image.shape[3]), 0)
    if name.endswith("Boxes"):
        return replace(op(name, grads, image, _boxes(d, count), which), rtol=1e-3, atol=1e-3)
    size = np.array(image.shape, np.int32)
    row = op(name, grads, _boxes(d, count), which, size, T=word, method=d.one("bilinear nearest"))
    return replace(row, rtol=1e-3, atol=1e-3)


@calls("RGBToHSV HSVToRGB")
def _colors(d: Draw, name: str) -> Sample:
    word = d.types(name)
    pixels = d.random.uniform(0, 1, (*d.shape(0, 3, 4), 3)).astype(NUMPY_TYPES[word])
    if d.chance(0.3):
        pixels = np.round(pixels)
    row = op(name, pixels)
    coarse = word in ("float16", "bfloat16")
    return replace(row, rtol=2e-2 if coarse else 1e-5, atol=2e-2 if coarse else 1e-5)


@calls("AdjustContrastv2 AdjustHue AdjustSaturation")
def _adjust(d: Draw, name: str) -> Sample:
    word = d.types(name)
    channels = 3 if name != "AdjustContrastv2" else d.number(1, 4)
    shape = (*d.shape(2, 3, 4), channels)
    image = d.random.uniform(0, 1, shape).astype(NUMPY_TYPES[word])
    amount = np.float32(d.random.uniform(-1, 1) if name == "AdjustHue" else d.random.uniform(0, 3))
    row = op(name, image, amount)
    coarse = word == "float16"
    return replace(row, rtol=1e-2 if coarse else 1e-4, atol=1e-2 if coarse else 1e-5)


@calls("DrawBoundingBoxes DrawBoundingBoxesV2")
def _draw(d: Draw, name: str) -> Sample:
    word = d.types(name)
    image = _image(d, word, d.one([1, 3, 4]), 2)
    boxes = np.stack([_boxes(d, 2) for _ in range(image.shape[0])])
    if name == "DrawBoundingBoxes":
        return op(name, image, boxes)
    colors = d.random.uniform(0, 1, (d.number(1, 3), 4)).astype(np.float32)
    return op(name, image, boxes, colors)


def _scored(d: Draw, word: str) -> tuple[Any, Any]:
    count = d.number(0, 8)
    corners = d.random.randint(0, 8, (count, 4)).astype(NUMPY_TYPES[word])
    # The scores differ, so that results do not depend on the sort.
    scores = (d.random.permutation(count) / 8.0).astype(NUMPY_TYPES[word])
    return corners, scores


@calls("NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4")
def _suppress(d: Draw, name: str) -> Sample:
    word = "float32" if name in ("NonMaxSuppression", "NonMaxSuppressionV2") else d.types(name)
    most = np.array(d.number(0, 6), np.int32)
    target = NUMPY_TYPES[word]
    overlap = np.array(d.one([0.1, 0.5, 0.75, 1.0] + [1.5] * d.chance(0.1)), target)
    boxes, scores = _scored(d, word)
    if name == "NonMaxSuppression":
        return op(name, boxes, scores, most, iou_threshold=float(overlap))
    if name == "NonMaxSuppressionV2":
        return op(name, boxes, scores, most, overlap)
    least = np.array(d.one([0.0, 0.3, -1.0]), target)
    attrs = {"pad_to_max_output_size": d.chance(0.5)} if name.endswith("V4") else {}
    return op(name, boxes, scores, most, overlap, least, **attrs)


@calls("NonMaxSuppressionV5")
def _suppress_softly(d: Draw, name: str) -> Sample:
    boxes, scores = _scored(d, "float32")
    inputs = [np.array(d.number(0, 6), np.int32)]
    inputs += [np.float32(d.one([0.1, 0.5])), np.float32(d.one([0.0, 0.3]))]
    inputs.append(np.float32(d.one([0.0, 0.5])))
    row = op(name, boxes, scores, *inputs, pad_to_max_output_size=d.chance(0.5))
    return replace(row, rtol=1e-5, atol=1e-6)


@calls("NonMaxSuppressionWithOverlaps")
def _suppress_with_overlaps(d: Draw, name: str) -> Sample:
    count = d.number(0, 6)
    overlaps = d.random.uniform(0, 1, (count, count)).astype(np.float32)
    scores = (d.random.permutation(count) / 8.0).astype(np.float32)
    most = np.array(d.number(0, 6), np.int32)
    return op(
        name, overlaps, scores, most, np.float32(d.one([0.1, 0.5])), np.float32(d.one([0.0, 0.3]))
    )


@calls("CombinedNonMaxSuppression")
def _suppress_by_class(d: Draw, name: str) -> Sample:
    batch, count, classes = d.number(1, 2), d.number(1, 6), d.number(1, 3)
    shared = 1 if d.chance(0.5) else classes
    corners = np.sort(d.random.uniform(0, 1.2, (batch, count, shared, 2, 2)), 3)
    boxes = corners.reshape(batch, count, shared, 4).astype(np.float32)
    order = d.random.permutation(batch * count * classes) / (batch * count * classes)
    scores = order.reshape(batch, count, classes).astype(np.float32)
    sizes = [np.array(d.number(1, 3), np.int32), np.array(d.number(1, 5), np.int32)]
    bounds = [np.float32(d.one([0.3, 0.6])), np.float32(d.one([0.0, 0.4]))]
    return op(
        name, boxes, scores, *sizes, *bounds, pad_per_class=d.chance(0.5), clip_boxes=d.chance(0.5)
    )


@calls("ExtractImagePatches")
def _patches(d: Draw, name: str) -> Sample:
    word = d.types(name, without="bool complex64 complex128")
    image = _image(d, word, None, 2)
    return op(
        name, image, ksizes=[1, d.number(1, 3), d.number(1, 3), 1],
        strides=[1, d.number(1, 3), d.number(1, 3), 1],
        rates=[1, d.number(1, 2), d.number(1, 2), 1], padding=d.one("SAME VALID"),
    )  # fmt: skip


@calls("ExtractVolumePatches")
def _volume_patches(d: Draw, name: str) -> Sample:
    word = d.types(name)
    shape = (d.number(1, 2), *(d.number(2, 4) for _ in range(3)), d.number(1, 2))
    volume = d.values(word, shape, 0)
    return op(
        name, volume, ksizes=[1, *(d.number(1, 2) for _ in range(3)), 1],
        strides=[1, *(d.number(1, 2) for _ in range(3)), 1], padding=d.one("SAME VALID"),
    )  # fmt: skip


@calls("Dilation2D Dilation2DBackpropInput Dilation2DBackpropFilter")
def _dilation(d: Draw, name: str) -> Sample:
    word = (
        d.types(name, without="bfloat16 float16")
        if name == "Dilation2D"
        else d.one("float32 float64")
    )
    image = _image(d, word, None, 3)
    window = [d.number(1, 3), d.number(1, 3)]
    kernel = d.values(word, (*window, image.shape[3]), 0, 0.5)
    strides, rates = [d.number(1, 2), d.number(1, 2)], [1, 1]
    padding = d.one("SAME VALID")
    attrs = {"strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding}
    if name == "Dilation2D":
        return op(name, image, kernel, **attrs)
    out = [
        -(-s // t) if padding == "SAME" else (s - w) // t + 1
        for s, w, t in zip(image.shape[1:3], window, strides, strict=True)
    ]
    grads = d.values(word, (image.shape[0], *out, image.shape[3]), 0)
    return op(name, image, kernel, grads, **attrs)


@calls("DataFormatDimMap DataFormatVecPermute")
def _formats(d: Draw, name: str) -> Sample:
    word = d.types(name)
    formats = d.one([("NHWC", "NCHW"), ("NCHW", "NHWC"), ("HWNC", "NHWC"), ("NDHWC", "NCDHW")])
    rank = len(formats[0])
    attrs = {"src_format": formats[0], "dst_format": formats[1]}
    if name == "DataFormatDimMap":
        places = d.random.randint(-rank, rank, d.shape(0, 2, 3)).astype(NUMPY_TYPES[word])
        return op(name, places, **attrs)
    size = d.one([rank, rank - 2])
    shape = (size,) if d.chance(0.5) else (size, 2)
    return op(name, d.values(word, shape, 0), **attrs)
