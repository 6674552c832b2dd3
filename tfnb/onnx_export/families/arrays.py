"""The form of tensors: make, join, cut, index, reorder."""

from __future__ import annotations

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.families.counts import by_places
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused

_END = np.iinfo(np.int64).max


@converts("Shape")
def shape(node: NodeToConvert) -> str:
    """Convert Shape."""
    return node.as_output(node.shape_of(0))


@converts("ShapeN")
def shape_n(node: NodeToConvert) -> list[str]:
    """Convert ShapeN."""
    return [node.as_output(node.shape_of(number)) for number in range(len(node.inputs))]


@converts("Size")
def size(node: NodeToConvert) -> str:
    """Convert Size."""
    return node.as_output(node.add("Size", node.inputs[0]))


@converts("Rank")
def rank(node: NodeToConvert) -> str:
    """Convert Rank."""
    return node.as_output(node.add("Size", node.add("Shape", node.inputs[0])))


@converts("Reshape")
def reshape(node: NodeToConvert) -> str:
    """Convert Reshape; a size of 0 is 0, not the size of the input."""
    return node.add("Reshape", node.inputs[0], node.int64(1), allowzero=_allows_zero(node))


def _allows_zero(node: NodeToConvert) -> int:
    """Return 1 unless the shape has a -1, which ONNX does not allow together with it."""
    known = node.constant(1)
    if known is not None:
        return int(-1 not in known)
    dims = node.output_shapes[0].dim_values
    return int(dims is not None and 0 in dims)


@converts("ExpandDims")
def expand_dims(node: NodeToConvert) -> str:
    """Convert ExpandDims."""
    return node.add("Unsqueeze", node.inputs[0], node.vector(1))


@converts("Squeeze")
def squeeze(node: NodeToConvert) -> str:
    """Convert Squeeze."""
    axes = node.attr("squeeze_dims", None) or node.attr("axis", None)
    if axes:
        return node.add("Squeeze", node.inputs[0], node.ints(*axes))
    return node.add("Squeeze", node.inputs[0])


@converts("Transpose", "ConjugateTranspose")
def transpose(node: NodeToConvert) -> str:
    """Convert Transpose with a constant order of axes."""
    order = [int(axis) for axis in node.needed(1, "its order of axes")]
    return node.transposed(node.inputs[0], [axis % len(order) for axis in order])


@converts("Fill")
def fill(node: NodeToConvert) -> str:
    """Convert Fill."""
    known = node.constant(1)
    if known is not None and node.dtype(1) != dtypes.string:
        return node.add("ConstantOfShape", node.int64(0), value=np.reshape(known, 1))
    return node.add("Expand", node.inputs[1], node.int64(0))


@converts("BroadcastTo")
def broadcast_to(node: NodeToConvert) -> str:
    """Convert BroadcastTo."""
    return node.add("Expand", node.inputs[0], node.int64(1))


@converts("Tile")
def tile(node: NodeToConvert) -> str:
    """Convert Tile."""
    return node.add("Tile", node.inputs[0], node.int64(1))


@converts("Range")
def range_of(node: NodeToConvert) -> str:
    """Convert Range."""
    return node.numeric("Range", node.inputs, node.dtype(0))


@converts("LinSpace")
def lin_space(node: NodeToConvert) -> str:
    """Convert LinSpace."""
    dtype = node.dtype(0)
    start, stop, _ = node.inputs
    number = node.int64(2)
    steps = node.add("Range", node.value(0, np.int64), number, node.value(1, np.int64))
    fewer = node.add(
        "Max", node.add("Sub", number, node.value(1, np.int64)), node.value(1, np.int64)
    )
    step = node.numeric(
        "Div", [node.numeric("Sub", [stop, start], dtype), node.cast(fewer, dtype)], dtype
    )
    moved = node.numeric("Mul", [node.cast(steps, dtype), step], dtype)
    return node.numeric("Add", [start, moved], dtype)


@converts("ConcatV2", "Concat")
def concat(node: NodeToConvert) -> str:
    """Convert Concat."""
    number = len(node.inputs) - 1
    place = 0 if node.op == "Concat" else number
    parts = [one for index, one in enumerate(node.inputs) if index != place]
    axis = int(node.needed(place, "its axis"))
    if axis < 0:
        axis += node.rank(0 if place else 1)
    return parts[0] if number == 1 else node.add("Concat", *parts, axis=axis)


@converts("ConcatOffset")
def concat_offset(node: NodeToConvert) -> list[str]:
    """Convert ConcatOffset: where each part begins."""
    axis = int(node.needed(0, "its axis"))
    first = node.int64(1)
    number = node.size(1, 0)
    mask = np.zeros(number, np.int64)
    mask[axis] = 1
    so_far = node.add("Mul", first, node.value(np.zeros(number), np.int64))
    found = []
    for index in range(1, len(node.inputs)):
        found.append(node.as_output(so_far))
        size = node.add("Mul", node.int64(index), node.value(mask))
        so_far = node.add("Add", so_far, size)
    return found


@converts("Pack")
def pack(node: NodeToConvert) -> str:
    """Convert Pack."""
    axis = int(node.attr("axis", 0))
    parts = [node.add("Unsqueeze", one, node.ints(axis)) for one in node.inputs]
    if axis < 0 and len(parts) > 1:
        axis += node.rank(0) + 1
    return parts[0] if len(parts) == 1 else node.add("Concat", *parts, axis=axis)


@converts("Unpack")
def unpack(node: NodeToConvert) -> list[str]:
    """Convert Unpack."""
    axis, number = int(node.attr("axis", 0)), len(node.item.output_types)
    if not number:
        return []
    parts = node.add_many("Split", number, node.inputs[0], node.ints(*[1] * number), axis=axis)
    return [node.add("Squeeze", part, node.ints(axis)) for part in parts]


@converts("Split")
def split(node: NodeToConvert) -> list[str]:
    """Convert Split into equal parts."""
    axis, number = int(node.needed(0, "its axis")), len(node.item.output_types)
    value = node.inputs[1]
    if number == 1:
        return [value]
    dims = node.shapes[1].dim_values
    if dims is not None and dims[axis] is not None:
        sizes = node.ints(*[node.size(1, axis) // number] * number)
        return node.add_many("Split", number, value, sizes, axis=axis)
    if node.opset >= 18:
        return list(
            node.writer.add("Split", [value], {"axis": axis, "num_outputs": number}, number)
        )
    return node.add_many("Split", number, value, axis=axis)


@converts("SplitV")
def split_v(node: NodeToConvert) -> list[str]:
    """Convert SplitV."""
    axis, number = int(node.needed(2, "its axis")), len(node.item.output_types)
    known = node.constant(1)
    if known is None:
        return node.add_many("Split", number, node.inputs[0], node.int64(1), axis=axis)
    sizes = [int(size) for size in known]
    if -1 in sizes:
        left = node.size(0, axis) - sum(size for size in sizes if size >= 0)
        sizes = [left if size < 0 else size for size in sizes]
    return node.add_many("Split", number, node.inputs[0], node.ints(*sizes), axis=axis)


@converts("Gather", "GatherV2", "ResourceGather")
def gather(node: NodeToConvert) -> str:
    """Convert Gather."""
    axis = int(node.needed(2, "its axis")) if len(node.inputs) > 2 else 0
    batch = int(node.attr("batch_dims", 0) or 0)
    if batch:
        rank = node.rank(0)
        axis %= rank
        if batch < 0:
            batch += node.rank(1)
        indices = node.add("Unsqueeze", node.int64(1), node.ints(-1))
        if axis == batch:
            return node.add("GatherND", node.inputs[0], indices, batch_dims=batch)
        # The axis moves to the batch, and what lay between moves behind the indices.
        between = list(range(batch, axis))
        order = [*range(batch), axis, *between, *range(axis + 1, rank)]
        turned = node.transposed(node.inputs[0], order)
        found = node.add("GatherND", turned, indices, batch_dims=batch)
        last = node.rank(1)
        back = [*range(batch), *(last + one - batch for one in between), *range(batch, last)]
        return node.transposed(found, [*back, *range(last + len(between), rank + last - batch - 1)])
    return node.add("Gather", node.inputs[0], node.inputs[1], axis=axis)


@converts("GatherNd")
def gather_nd(node: NodeToConvert) -> str:
    """Convert GatherNd."""
    _needs_indices_inside(node)
    return node.add("GatherND", node.inputs[0], node.int64(1))


@converts("ScatterNd")
def scatter_nd(node: NodeToConvert) -> str:
    """Convert ScatterNd: a sum into zeros."""
    _needs_indices_inside(node)
    dtype = node.dtype(1)
    zeros = node.add("ConstantOfShape", node.int64(2), value=np.zeros(1, dtype.numpy_dtype))
    return node.scattered("ScatterND", zeros, node.int64(0), node.inputs[1], dtype, "add")


def _needs_indices_inside(node: NodeToConvert) -> None:
    if node.attr("bad_indices_policy") == "IGNORE":
        raise Refused("it ignores indices that are outside")


@converts("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin")
@converts("TensorScatterSub", "ScatterNdNonAliasingAdd")
def tensor_scatter(node: NodeToConvert) -> str:
    """Convert a scatter into a tensor."""
    _needs_indices_inside(node)
    target, updates, dtype = node.inputs[0], node.inputs[2], node.dtype(0)
    if node.op == "TensorScatterUpdate":
        return node.add("ScatterND", target, node.int64(1), updates)
    if node.op == "TensorScatterSub":
        updates = node.numeric("Mul", [updates, node.scalar(-1)], dtype)
    reduction = {"Max": "max", "Min": "min"}.get(node.op[13:], "add")
    return node.scattered("ScatterND", target, node.int64(1), updates, dtype, reduction)


@converts("OneHot")
def one_hot(node: NodeToConvert) -> str:
    """Convert OneHot; an index outside of the range gives a row without a mark."""
    dtype = node.dtype(2)
    axis = int(node.attr("axis", -1))
    indices = node.int64(0)
    depth = node.int64(1)
    steps = node.add(
        "Range",
        node.value(0, np.int64),
        node.add("Reshape", depth, node.value(np.zeros(0), np.int64)),
        node.value(1, np.int64),
    )
    rank = node.rank(0)
    place = axis % (rank + 1)
    behind = rank - place
    shape = node.ints(-1, *[1] * behind)
    steps = node.add("Reshape", steps, shape)
    chosen = node.add("Equal", node.add("Unsqueeze", indices, node.ints(place)), steps)
    return node.numeric_where(chosen, node.inputs[2], node.inputs[3], dtype)


@converts("Pad", "PadV2")
def pad(node: NodeToConvert) -> str:
    """Convert Pad."""
    pads = _pads(node)
    value = node.inputs[2] if node.op == "PadV2" else node.scalar(0)
    return node.add("Pad", node.inputs[0], pads, value, mode="constant")


@converts("MirrorPad")
def mirror_pad(node: NodeToConvert) -> str:
    """Convert MirrorPad; SYMMETRIC repeats the edge, which is joined of slices."""
    if node.attr("mode") == "REFLECT":
        return node.add("Pad", node.inputs[0], _pads(node), mode="reflect")
    found = node.inputs[0]
    for axis, (before, after) in enumerate(node.needed(1, "its padding").tolist()):
        parts = [found]
        if before:
            parts.insert(0, _turned(node, found, axis, before - 1, -_END))
        if after:
            parts.append(_turned(node, found, axis, -1, -1 - after))
        if len(parts) > 1:
            found = node.add("Concat", *parts, axis=axis)
    return found if found != node.inputs[0] else node.add("Identity", found)


def _turned(node: NodeToConvert, value: str, axis: int, begin: int, end: int) -> str:
    return node.add(
        "Slice", value, node.ints(begin), node.ints(end), node.ints(axis), node.ints(-1)
    )


def _pads(node: NodeToConvert) -> str:
    known = node.constant(1)
    if known is not None:
        return node.value(np.reshape(np.transpose(known), -1), np.int64)
    turned = node.transposed(node.int64(1), [1, 0])
    return node.add("Reshape", turned, node.ints(-1))


@converts("ReverseV2")
def reverse(node: NodeToConvert) -> str:
    """Convert ReverseV2: a slice with steps back."""
    axes = [int(axis) for axis in node.needed(1, "its axes")]
    if not axes:
        return node.add("Identity", node.inputs[0])
    number = len(axes)
    return node.add(
        "Slice",
        node.inputs[0],
        node.ints(*[-1] * number),
        node.ints(*[-_END] * number),
        node.ints(*axes),
        node.ints(*[-1] * number),
    )


@converts("ReverseSequence")
def reverse_sequence(node: NodeToConvert) -> str:
    """Convert ReverseSequence; ONNX has the axes 0 and 1 only."""
    time, batch = int(node.attr("seq_dim")), int(node.attr("batch_dim", 0))
    rank = node.rank(0)
    order = [time, batch, *(axis for axis in range(rank) if axis not in (time, batch))]
    if {time, batch} == {0, 1}:
        return node.add(
            "ReverseSequence", node.inputs[0], node.int64(1), time_axis=time, batch_axis=batch
        )
    turned = node.transposed(node.inputs[0], order)
    found = node.add("ReverseSequence", turned, node.int64(1), time_axis=0, batch_axis=1)
    return node.transposed(found, [int(axis) for axis in np.argsort(order)])


@converts("Where")
def where(node: NodeToConvert) -> str:
    """Convert Where: the indices of what is not zero."""
    dtype, value = node.dtype(0), node.inputs[0]
    if dtype not in (dtypes.bool, dtypes.float32, dtypes.int32, dtypes.int64, dtypes.uint8):
        value = node.cast(value, dtypes.bool)
    return node.transposed(node.add("NonZero", value), [1, 0])


@converts("InvertPermutation")
def invert_permutation(node: NodeToConvert) -> str:
    """Convert InvertPermutation: a scatter of the positions."""
    order = node.int64(0)
    number = node.add("Squeeze", node.add("Shape", order))
    steps = node.add("Range", node.value(0, np.int64), number, node.value(1, np.int64))
    found = node.add("ScatterElements", steps, order, steps)
    return node.as_output(found)


@converts("MatrixBandPart")
def matrix_band_part(node: NodeToConvert) -> str:
    """Convert MatrixBandPart with the upper and the lower triangle."""
    low, high = (int(node.needed(number, "its band")) for number in (1, 2))
    dtype = node.dtype(0)
    wide = dtype if dtype in _TRIANGLES else dtypes.int64 if dtype.is_integer else dtypes.float32
    found = node.as_type(0, wide)
    if low >= 0:
        found = node.add("Trilu", found, node.value(-low, np.int64), upper=1)
    if high >= 0:
        found = node.add("Trilu", found, node.value(high, np.int64), upper=0)
    if wide != dtype:
        return node.cast(found, dtype)
    return found if found != node.inputs[0] else node.add("Identity", found)


_TRIANGLES = (dtypes.float32, dtypes.float64, dtypes.int64, dtypes.bool)


@converts("MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "Diag")
def matrix_diag(node: NodeToConvert) -> str:
    """Convert the making of a matrix with diagonals; other than the main one need known sizes."""
    if len(node.inputs) > 1:
        wanted = [node.needed(number, "its form") for number in range(1, len(node.inputs) - 1)]
        band, rows, columns = (int(np.reshape(one, -1)[0]) for one in wanted)
        padding = node.constant(len(node.inputs) - 1)
        is_main = (band, rows, columns) == (0, -1, -1) and np.size(wanted[0]) == 1
        if not is_main or padding is None or np.any(padding):
            axes = 2 if np.unique(wanted[0]).size > 1 else 1
            return by_places(node, axes, (0,), "its form")
    elif node.op == "Diag" and node.rank(0) != 1:
        raise Refused("the diagonal of a tensor of higher rank")
    dtype = node.dtype(0)
    column = node.add("Unsqueeze", node.inputs[0], node.ints(-1))
    size = node.add("Gather", node.shape_of(0), node.ints(-1))
    square = node.add("Concat", size, size, axis=0)
    ones = node.add("ConstantOfShape", square, value=np.ones(1, np.float32))
    eye = node.cast(node.add("EyeLike", ones), dtypes.bool)
    return node.numeric_where(eye, column, node.scalar(0), dtype)


@converts("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "DiagPart")
def matrix_diag_part(node: NodeToConvert) -> str:
    """Convert the reading of diagonals of a matrix."""
    if len(node.inputs) > 1 and np.any(node.needed(1, "its band")):
        return by_places(node, 2, (0,), "its form")
    rows, columns = node.size(0, -2), node.size(0, -1)
    number = min(rows, columns)
    flat_shape = node.ints(*[0] * (node.rank(0) - 2), rows * columns)
    flat = node.add("Reshape", node.inputs[0], flat_shape)
    return node.add("Gather", flat, node.value(np.arange(number) * (columns + 1)), axis=-1)


@converts("Unique", "UniqueWithCounts", "UniqueV2", "UniqueWithCountsV2")
def unique(node: NodeToConvert) -> list[str]:
    """Convert Unique: the values in the order of their first place."""
    attrs = {"sorted": 0}
    if node.op.endswith("V2"):
        axes = np.reshape(node.needed(1, "its axis"), -1)
        if axes.size:
            attrs["axis"] = int(axes[0])
    dtype = node.dtype(0)
    value = node.inputs[0]
    if dtype not in _UNIQUE:
        value = node.cast(node.inputs[0], dtypes.int64 if dtype.is_integer else dtypes.float32)
    outputs = node.add_many("Unique", 4, value, **attrs)
    found = outputs[0] if dtype in _UNIQUE else node.cast(outputs[0], dtype)
    numbers = [node.cast(one, node.output_dtype(1)) for one in (outputs[2], outputs[3])]
    return [found, *numbers][: len(node.item.output_types)]


_UNIQUE = (dtypes.float32, dtypes.float64, dtypes.int64, dtypes.int8, dtypes.string)


@converts("Roll")
def roll(node: NodeToConvert) -> str:
    """Convert Roll: two slices in the other order, for each axis."""
    found = node.inputs[0]
    shifts = np.reshape(node.needed(1, "its shift"), -1).tolist()
    axes = np.reshape(node.needed(2, "its axis"), -1).tolist()
    for shift, axis in zip(shifts, axes):
        size = node.size(0, axis)
        moved = shift % size if size else 0
        if moved:
            first = node.add("Slice", found, node.ints(-moved), node.ints(_END), node.ints(axis))
            rest = node.add("Slice", found, node.ints(0), node.ints(-moved), node.ints(axis))
            found = node.add("Concat", first, rest, axis=axis % node.rank(0))
    return found if found != node.inputs[0] else node.add("Identity", found)


@converts("BroadcastArgs")
def broadcast_args(node: NodeToConvert) -> str:
    """Convert BroadcastArgs: the shape of a broadcast of two tensors of these shapes."""
    one, other = (
        node.add("ConstantOfShape", node.int64(number), value=np.zeros(1, np.int8))
        for number in (0, 1)
    )
    wide = [node.cast(value, dtypes.int32) for value in (one, other)]
    return node.as_output(node.add("Shape", node.add("Add", *wide)))


@converts("DepthToSpace", "SpaceToDepth")
def space_and_depth(node: NodeToConvert) -> str:
    """Convert DepthToSpace and SpaceToDepth, whose blocks come first in the depth."""
    size = int(node.attr("block_size"))
    layout = node.attr("data_format", "NHWC")
    if layout not in ("NHWC", "NCHW"):
        raise Refused(f"the layout {layout}")
    value = node.inputs[0]
    if layout == "NHWC":
        value = node.transposed(value, [0, 3, 1, 2])
    attrs = {"mode": "DCR"} if node.op == "DepthToSpace" else {}
    dtype = node.dtype(0)
    wide = dtype if dtype in (dtypes.float32, dtypes.float64) else dtypes.float64
    if wide != dtype:
        value = node.cast(value, wide)
    found = node.add(node.op, value, blocksize=size, **attrs)
    if wide != dtype:
        found = node.cast(found, dtype)
    return node.transposed(found, [0, 2, 3, 1]) if layout == "NHWC" else found


@converts("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(node: NodeToConvert) -> str:
    """Convert DynamicStitch: later rows replace earlier ones."""
    number = len(node.inputs) // 2
    indices, rows = [], []
    for place in range(number):
        flat = node.add("Reshape", node.int64(place), node.ints(-1))
        indices.append(flat)
        rank = node.rank(place)
        rest = node.add("Slice", node.shape_of(number + place), node.ints(rank), node.ints(_END))
        shape = node.add("Concat", node.add("Shape", flat), rest, axis=0)
        rows.append(node.add("Reshape", node.inputs[number + place], shape, allowzero=1))
    last = indices[0] if number == 1 else node.add("Concat", *indices, axis=0)
    top = node.reduce("ReduceMax", last, [0], dtypes.int64, True)
    size = node.add("Add", top, node.ints(1))
    rest = node.add("Slice", node.add("Shape", rows[0]), node.ints(1), node.ints(_END))
    shape = node.add("Concat", size, rest, axis=0)
    dtype = node.dtype(number)
    found = node.add("ConstantOfShape", shape, value=np.zeros(1, dtype.numpy_dtype))
    for flat, row in zip(indices, rows):
        places = node.add("Unsqueeze", flat, node.ints(-1))
        found = node.add("ScatterND", found, places, row)
    return found


@converts("DynamicPartition")
def dynamic_partition(node: NodeToConvert) -> list[str]:
    """Convert DynamicPartition into a compress for each part."""
    if node.rank(1) != 1:
        raise Refused("partitions that are no vector")
    found = []
    for number in range(len(node.item.output_types)):
        chosen = node.add("Equal", node.inputs[1], node.value(number, np.int32))
        found.append(node.add("Compress", node.inputs[0], chosen, axis=0))
    return found


@converts("BroadcastGradientArgs")
def broadcast_gradient_args(node: NodeToConvert) -> list[str]:
    """Convert BroadcastGradientArgs: the axes over which the gradients are summed."""
    numbers = [node.size(0, 0), node.size(1, 0)]
    rank = max(numbers)
    shapes = []
    for index, number in enumerate(numbers):
        value = node.int64(index)
        if number < rank:
            value = node.add("Concat", node.ints(*[1] * (rank - number)), value, axis=0)
        shapes.append(value)
    found = []
    differ = ""
    if numbers[0] == numbers[1] and rank:  # equal shapes need no sums
        same = node.cast(node.add("Equal", *shapes), dtypes.int32)
        all_same = node.reduce("ReduceMin", same, [0], dtypes.int32, True)
        differ = node.add("Not", node.cast(all_same, dtypes.bool))
    for shape_of_one in shapes:
        if not rank:
            found.append(node.value(np.zeros(0), node.output_dtype().numpy_dtype))
            continue
        chosen = node.add("Equal", shape_of_one, node.value(1, np.int64))
        if differ:
            chosen = node.add("And", chosen, differ)
        axes = node.add("Compress", node.value(np.arange(rank), np.int64), chosen)
        found.append(node.as_output(axes))
    return found
