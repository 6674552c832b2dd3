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
    coordinates = _coordinates(node)
    if node.op == "ResizeBicubic" and coordinates == "align_corners":
        known = node.constant(1) is not None
        if known and None not in node.dims(0)[1:3]:  # TensorFlow rounds the weights to a table
            return _by_weights(node)
    value = node.inputs[0]
    if dtype != dtypes.float32:
        value = node.cast(value, dtypes.float32)
    value = node.transposed(value, [0, 3, 1, 2])
    begin = node.add("Slice", node.add("Shape", value), node.ints(0), node.ints(2))
    sizes = node.add("Concat", begin, node.int64(1), axis=0)
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


@converts("ResizeArea")
def resize_area(node: NodeToConvert) -> str:
    """Convert ResizeArea between known sizes, as products with the weights of rows and columns."""
    return _by_weights(node)


def _by_weights(node: NodeToConvert) -> str:
    """Return a resize between known sizes.

    The op itself, of a picture whose rows are marks, gives the weights of each row.
    """
    sizes = [int(size) for size in node.needed(1, "its size")]
    value = node.as_type(0, dtypes.float32)
    compute = node.item.compute
    assert compute is not None
    for axis, (size, equation) in enumerate(zip(sizes, ("nowc,ho->nhwc", "nhoc,wo->nhwc"))):
        length = node.size(0, axis + 1)
        marks = np.eye(length, dtype=node.dtype(0).numpy_dtype).reshape(1, length, length, 1)
        found = compute(marks, np.asarray([size, length], np.int32))
        matrix = np.asarray(found)[0, :, :, 0].astype(np.float32)
        value = node.add("Einsum", value, node.value(matrix), equation=equation)
    return value


@converts("CropAndResize")
def crop_and_resize(node: NodeToConvert) -> str:
    """Convert CropAndResize, as weights for rows and columns."""
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
    if node.attr("method", "bilinear") == "nearest":
        # Halves are rounded away from zero; places inside are not negative. A half is not added
        # before the floor, which would round a number just below a half up.
        whole = node.add("Floor", places)
        rest = node.add("Sub", places, whole)
        up = node.cast(node.add("GreaterOrEqual", rest, node.value(0.5, np.float32)), kind)
        whole = node.add("Add", whole, up)
        same = node.add("Equal", node.add("Unsqueeze", whole, node.ints(2)), pixels)
        return node.cast(same, kind), inside
    near = node.add("Sub", node.value(1, np.float32), apart)
    return node.add("Max", near, node.value(0, np.float32)), inside


@converts("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3")
def non_max_suppression(node: NodeToConvert) -> str:
    """Convert the choice of boxes that overlap little."""
    return _chosen_boxes(node)


@converts("NonMaxSuppressionV4", "NonMaxSuppressionV5")
def padded_non_max_suppression(node: NodeToConvert) -> list[str]:
    """Convert the choice with its number, padded to the largest number if wanted; V5 has scores."""
    found = _chosen_boxes(node)
    number = node.cast(node.add("Squeeze", node.add("Shape", found)), dtypes.int32)
    scores = []
    if node.op == "NonMaxSuppressionV5":
        sigma = node.needed(5, "its deviation")
        if sigma:
            raise Refused("scores that fall with overlaps (soft_nms_sigma)")
        scores.append(node.add("Gather", node.inputs[1], found))
    if node.attr("pad_to_max_output_size", False):
        missing = node.add("Sub", node.vector(2), node.add("Shape", found))
        pads = node.add("Concat", node.ints(0), missing, axis=0)
        found = node.add("Pad", found, pads, node.value(0, np.int32))
        scores = [node.add("Pad", one, pads, node.scalar(0)) for one in scores]
    return [found, *scores, number]


def _chosen_boxes(node: NodeToConvert) -> str:
    boxes = node.add("Unsqueeze", node.as_type(0, dtypes.float32), node.ints(0))
    scores = node.add("Unsqueeze", node.as_type(1, dtypes.float32), node.ints(0, 1))
    most = node.vector(2)
    if node.op == "NonMaxSuppression":
        overlap = node.value([float(node.attr("iou_threshold", 0.5))], np.float32)
    else:
        overlap = node.add("Reshape", node.as_type(3, dtypes.float32), node.ints(1))
    lowest = []
    if len(node.inputs) > 4:
        lowest.append(node.add("Reshape", node.as_type(4, dtypes.float32), node.ints(1)))
    found = node.add("NonMaxSuppression", boxes, scores, most, overlap, *lowest)
    column = node.add("Gather", found, node.value(2, np.int64), axis=1)
    return node.cast(column, dtypes.int32)


@converts("CombinedNonMaxSuppression")
def combined_non_max_suppression(node: NodeToConvert) -> list[str]:
    """Convert the choice of the best boxes of all classes."""
    is_shared, classes_of_scores = node.size(0, 2) == 1, node.size(1, 2)
    most = int(node.needed(3, "the number of its boxes"))
    each = int(node.needed(2, "the number of boxes of a class"))
    if node.attr("pad_per_class", False):
        most = min(most, each * classes_of_scores)
    by_class = node.transposed(node.inputs[0], [0, 2, 1, 3])
    flat_boxes = node.add("Reshape", by_class, node.ints(0, -1, 4))
    boxes, scores = flat_boxes, node.transposed(node.inputs[1], [0, 2, 1])
    if not is_shared:  # each class of a picture is a picture
        number = node.add("Slice", node.add("Shape", scores), node.ints(2), node.ints(3))
        whole = node.add("Concat", node.ints(-1), number, node.ints(4), axis=0)
        boxes = node.add("Reshape", by_class, whole)
        rows = node.add("Concat", node.ints(-1, 1), number, axis=0)
        scores = node.add("Reshape", scores, rows)
    limits = [node.add("Reshape", node.inputs[index], node.ints(1)) for index in (4, 5)]
    chosen = node.add("NonMaxSuppression", boxes, scores, node.ints(each), *limits)
    lowest = node.value(np.finfo(np.float32).min)
    shape = node.add("Shape", scores)
    nothing = node.add("Expand", lowest, shape)
    kept = node.add("ScatterND", nothing, chosen, node.add("GatherND", scores, chosen))
    number = node.add("Gather", shape, node.value(2, np.int64))
    pictures = node.add("Slice", node.add("Shape", node.inputs[1]), node.ints(0), node.ints(1))
    flat = node.add("Reshape", kept, node.add("Concat", pictures, node.ints(-1), axis=0))
    pads = node.ints(0, 0, 0, most)
    flat = node.add("Pad", flat, pads, lowest)
    best, places = node.add_many("TopK", 2, flat, node.ints(most), axis=1, sorted=1)
    is_some = node.add("Greater", best, lowest)
    places = node.add("Where", is_some, places, node.value(0, np.int64))
    classes = node.cast(node.add("Div", places, number), dtypes.float32)
    own = node.add("Mod", places, number) if is_shared else places
    box = node.add("Unsqueeze", own, node.ints(2))
    found = node.add("GatherND", flat_boxes, box, batch_dims=1)
    zero = node.value(0, np.float32)
    if node.attr("clip_boxes", True):
        found = node.add("Min", node.add("Max", found, zero), node.value(1, np.float32))
    found = node.add("Where", node.add("Unsqueeze", is_some, node.ints(2)), found, zero)
    count = node.reduce("ReduceSum", node.cast(is_some, dtypes.int32), [1], dtypes.int32, False)
    best, classes = (node.add("Where", is_some, one, zero) for one in (best, classes))
    return [found, best, classes, count]


@converts("RGBToHSV")
def to_hsv(node: NodeToConvert) -> str:
    """Convert RGBToHSV."""
    return _joined(node, _hsv(node, node.inputs[0]))


@converts("HSVToRGB")
def to_rgb(node: NodeToConvert) -> str:
    """Convert HSVToRGB."""
    return _rgb(node, _channels(node, node.inputs[0]))


@converts("AdjustHue", "AdjustSaturation")
def adjust(node: NodeToConvert) -> str:
    """Convert a change of hue or saturation, by way of HSV."""
    dtype = node.dtype(0)
    hue, saturation, value = _hsv(node, node.inputs[0])
    change = node.inputs[1] if dtype == dtypes.float32 else node.cast(node.inputs[1], dtype)
    if node.op == "AdjustHue":
        moved = node.numeric("Add", [hue, change], dtype)
        hue = node.numeric("Sub", [moved, node.numeric("Floor", [moved], dtype)], dtype)
    else:
        scaled = node.numeric("Mul", [saturation, change], dtype)
        scaled = node.numeric("Max", [scaled, node.scalar(0)], dtype)
        saturation = node.numeric("Min", [scaled, node.scalar(1)], dtype)
    return _rgb(node, [hue, saturation, value])


def _channels(node: NodeToConvert, value: str) -> list[str]:
    return node.add_many("Split", 3, value, node.ints(1, 1, 1), axis=-1)


def _joined(node: NodeToConvert, channels: list[str]) -> str:
    return node.add("Concat", *channels, axis=-1)


def _hsv(node: NodeToConvert, value: str) -> list[str]:
    """Return hue, saturation and value of pictures."""
    dtype = node.dtype(0)

    def binary(op: str, one: str, other: str) -> str:
        return node.numeric(op, [one, other], dtype)

    red, green, blue = _channels(node, value)
    high = binary("Max", binary("Max", red, green), blue)
    low = binary("Min", binary("Min", red, green), blue)
    spread, zero = binary("Sub", high, low), node.scalar(0)
    lit = node.compare("Greater", high, zero, dtype)
    saturation = node.numeric_where(lit, binary("Div", spread, high), zero, dtype)
    sixth = binary("Mul", spread, node.scalar(6))
    sides = ((green, blue, 0.0), (blue, red, 2 / 6), (red, green, 4 / 6))
    parts = [
        binary("Add", binary("Div", binary("Sub", one, other), sixth), node.scalar(turn))
        for one, other, turn in sides
    ]
    is_green, is_red = (node.compare("Equal", one, high, dtype) for one in (green, red))
    hue = node.numeric_where(is_green, parts[1], parts[2], dtype)
    hue = node.numeric_where(is_red, parts[0], hue, dtype)
    hue = node.numeric_where(node.compare("Greater", spread, zero, dtype), hue, zero, dtype)
    below = node.compare("Less", hue, zero, dtype)
    hue = node.numeric_where(below, binary("Add", hue, node.scalar(1)), hue, dtype)
    return [hue, saturation, high]


def _rgb(node: NodeToConvert, channels: list[str]) -> str:
    """Return pictures of hue, saturation and value."""
    dtype = node.dtype(0)

    def binary(op: str, one: str, other: str) -> str:
        return node.numeric(op, [one, other], dtype)

    hue, saturation, value = channels
    turned = binary("Mul", hue, node.scalar(6))
    found = []
    for middle, sign, level in ((3, 1, -1), (2, -1, 2), (4, -1, 2)):
        apart = node.numeric("Abs", [binary("Sub", turned, node.scalar(middle))], dtype)
        share = binary("Add", binary("Mul", apart, node.scalar(sign)), node.scalar(level))
        share = binary("Min", binary("Max", share, node.scalar(0)), node.scalar(1))
        paler = binary("Mul", saturation, binary("Sub", share, node.scalar(1)))
        found.append(binary("Mul", value, binary("Add", paler, node.scalar(1))))
    return _joined(node, found)


@converts("AdjustContrastv2")
def adjust_contrast(node: NodeToConvert) -> str:
    """Convert AdjustContrastv2: distances from the mean of each channel are scaled."""
    dtype = node.dtype(0)
    mean = node.reduce("ReduceMean", node.inputs[0], [-3, -2], dtype, True)
    apart = node.numeric("Sub", [node.inputs[0], mean], dtype)
    factor = node.inputs[1] if dtype == dtypes.float32 else node.cast(node.inputs[1], dtype)
    return node.numeric("Add", [node.numeric("Mul", [apart, factor], dtype), mean], dtype)
