"""Pictures: sizes, crops, boxes, colours."""

from __future__ import annotations

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused


def _coordinates(node: NodeToConvert) -> str:
    if node.attr("half_pixel_centers", False):
        return "half_pixel"
    return "align_corners" if node.attr("align_corners", False) else "asymmetric"


@converts("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
def resize(node: NodeToConvert) -> str:
    """Convert a resize of pictures."""
    dtype, target = node.dtype(0), node.output_dtype()
    value = node.inputs[0]
    if dtype != dtypes.float32:
        value = node.cast(value, dtypes.float32)
    value = node.transposed(value, [0, 3, 1, 2])
    begin = node.add("Slice", node.add("Shape", value), node.ints(0), node.ints(2))
    sizes = node.add("Concat", begin, node.int64(1), axis=0)
    coordinates = _coordinates(node)
    attrs: dict[str, object] = {"coordinate_transformation_mode": coordinates}
    if node.op == "ResizeNearestNeighbor":
        attrs["mode"] = "nearest"
        rounding = {"half_pixel": "floor", "align_corners": "round_prefer_ceil"}
        attrs["nearest_mode"] = rounding.get(coordinates, "floor")
        if coordinates == "half_pixel":
            # TensorFlow takes the pixel below (i + 0.5) * scale, without half a pixel back.
            attrs["coordinate_transformation_mode"] = "half_pixel"
            attrs["nearest_mode"] = "round_prefer_ceil"
    elif node.op == "ResizeBilinear":
        attrs["mode"] = "linear"
    else:
        attrs["mode"] = "cubic"
        attrs["cubic_coeff_a"] = -0.5 if coordinates == "half_pixel" else -0.75
        attrs["exclude_outside"] = int(coordinates == "half_pixel")
    found = node.add("Resize", value, "", "", sizes, **attrs)
    found = node.transposed(found, [0, 2, 3, 1])
    return found if target == dtypes.float32 else node.cast(found, target)


@converts("CropAndResize")
def crop_and_resize(node: NodeToConvert) -> str:
    """Convert CropAndResize with bilinear sampling, as weights for rows and columns."""
    if node.attr("method", "bilinear") != "bilinear":
        raise Refused("crops of nearest pixels")
    picture = node.inputs[0]
    if node.dtype(0) != dtypes.float32:
        picture = node.cast(picture, dtypes.float32)
    outside = float(node.attr("extrapolation_value", 0.0))
    shape = node.shape_of(0)
    chosen = node.add("Gather", picture, node.int64(2))
    weights, inside = [], []
    for axis in (0, 1):
        made = _sampling(node, shape, axis)
        weights.append(made[0])
        inside.append(made[1])
    rows, columns = weights
    # rows (n, out, height) x chosen (n, height, width * depth), then the same for columns.
    found = node.add("Einsum", rows, chosen, equation="noh,nhwc->nowc")
    found = node.add("Einsum", columns, found, equation="npw,nowc->nopc")
    both = node.add(
        "And",
        node.add("Unsqueeze", inside[0], node.ints(2, 3)),
        node.add("Unsqueeze", inside[1], node.ints(1, 3)),
    )
    return node.add("Where", both, found, node.value(outside, np.float32))


def _sampling(node: NodeToConvert, shape: str, axis: int) -> tuple[str, str]:
    """Return for one axis the weights (boxes, places, pixels), and which places are inside."""
    kind = dtypes.float32
    length = node.add("Gather", shape, node.value(axis + 1, np.int64))
    last = node.cast(node.add("Sub", length, node.value(1, np.int64)), kind)
    begin = node.add("Gather", node.inputs[1], node.ints(axis), axis=1)
    end = node.add("Gather", node.inputs[1], node.ints(axis + 2), axis=1)
    wanted = node.constant(3)
    if wanted is None:
        raise Refused("the size of its crops is not constant")
    number = int(wanted[axis])
    first = node.add("Mul", begin, last)
    if number > 1:
        step = node.add(
            "Div",
            node.add("Mul", node.add("Sub", end, begin), last),
            node.value(number - 1, np.float32),
        )
        steps = node.value(np.arange(number), np.float32)
        places = node.add("Add", first, node.add("Mul", step, steps))
    else:
        half = node.value(0.5, np.float32)
        middle = node.add("Mul", node.add("Add", begin, end), half)
        places = node.add("Mul", middle, last)
    above = node.add("GreaterOrEqual", places, node.value(0, np.float32))
    inside = node.add("And", above, node.add("LessOrEqual", places, last))
    pixels = node.cast(
        node.add("Range", node.value(0, np.int64), length, node.value(1, np.int64)), kind
    )
    apart = node.add("Abs", node.add("Sub", node.add("Unsqueeze", places, node.ints(2)), pixels))
    near = node.add("Sub", node.value(1, np.float32), apart)
    return node.add("Max", near, node.value(0, np.float32)), inside


@converts("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3")
def non_max_suppression(node: NodeToConvert) -> str:
    """Convert the choice of boxes that overlap little."""
    boxes = node.add("Unsqueeze", node.inputs[0], node.ints(0))
    scores = node.add("Unsqueeze", node.inputs[1], node.ints(0, 1))
    most = node.vector(2)
    if node.op == "NonMaxSuppression":
        overlap = node.value([float(node.attr("iou_threshold", 0.5))], np.float32)
    else:
        overlap = node.add("Reshape", node.inputs[3], node.ints(1))
    lowest = [node.add("Reshape", node.inputs[4], node.ints(1))] if len(node.inputs) > 4 else []
    found = node.add("NonMaxSuppression", boxes, scores, most, overlap, *lowest)
    column = node.add("Gather", found, node.value(2, np.int64), axis=1)
    return node.cast(column, dtypes.int32)


@converts("AdjustContrastv2")
def adjust_contrast(node: NodeToConvert) -> str:
    """Convert AdjustContrastv2: distances from the mean of each channel are scaled."""
    dtype = node.dtype(0)
    mean = node.reduce("ReduceMean", node.inputs[0], [-3, -2], dtype, True)
    apart = node.numeric("Sub", [node.inputs[0], mean], dtype)
    factor = node.inputs[1] if dtype == dtypes.float32 else node.cast(node.inputs[1], dtype)
    return node.numeric("Add", [node.numeric("Mul", [apart, factor], dtype), mean], dtype)
