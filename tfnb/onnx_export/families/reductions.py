"""Reductions, arguments of extremes, sums along an axis, segments."""

from __future__ import annotations

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused

_REDUCTIONS = {
    "Sum": "ReduceSum",
    "Mean": "ReduceMean",
    "Max": "ReduceMax",
    "Min": "ReduceMin",
    "Prod": "ReduceProd",
}


def _axes(node: NodeToConvert) -> list[int] | None:
    """Return the axes, not negative where the rank is known; None if they are not constant."""
    known = node.constant(1)
    if known is None:
        return None
    rank = node.shapes[0].dim_values
    found = [int(axis) for axis in np.reshape(known, -1)]
    return found if rank is None else sorted({axis % len(rank) for axis in found if rank})


@converts(*_REDUCTIONS)
def reduction(node: NodeToConvert) -> str:
    """Convert a reduction."""
    keep, axes = bool(node.attr("keep_dims", False)), _axes(node)
    dtype = node.dtype(0)
    given = node.vector(1) if axes is None else node.ints(*axes)
    if dtype == dtypes.string:
        raise Refused("it works on text")
    return node.reduce_over(_REDUCTIONS[node.op], node.inputs[0], given, dtype, keep, axes)


@converts("All", "Any")
def logical_reduction(node: NodeToConvert) -> str:
    """Convert All and Any by way of the smallest and largest number."""
    keep, axes = bool(node.attr("keep_dims", False)), _axes(node)
    given = node.vector(1) if axes is None else node.ints(*axes)
    numbers = node.cast(node.inputs[0], dtypes.int32)
    op = "ReduceMin" if node.op == "All" else "ReduceMax"
    found = node.reduce_over(op, numbers, given, dtypes.int32, keep, axes)
    # Of no values, the smallest is the largest number, and the largest is the smallest one.
    return node.add("Greater", found, node.value(0, np.int32))


@converts("EuclideanNorm")
def euclidean_norm(node: NodeToConvert) -> str:
    """Convert EuclideanNorm."""
    keep, axes = bool(node.attr("keep_dims", False)), _axes(node)
    dtype = node.dtype(0)
    given = node.vector(1) if axes is None else node.ints(*axes)
    squares = node.numeric("Mul", [node.inputs[0]] * 2, dtype)
    found = node.reduce_over("ReduceSum", squares, given, dtype, keep, axes)
    return node.numeric("Sqrt", [found], dtype)


@converts("L2Loss")
def l2_loss(node: NodeToConvert) -> str:
    """Convert L2Loss: half the sum of squares."""
    dtype = node.dtype(0)
    squares = node.numeric("Mul", [node.inputs[0]] * 2, dtype)
    found = node.add("ReduceSum", squares, keepdims=0)
    return node.numeric("Mul", [found, node.scalar(0.5)], dtype)


@converts("ArgMax", "ArgMin")
def arg_extreme(node: NodeToConvert) -> str:
    """Convert ArgMax and ArgMin."""
    axis = int(np.reshape(node.needed(1, "its axis"), -1)[0])
    value = node.inputs[0]
    if not node.dtype(0).is_floating and node.dtype(0) != dtypes.int32:
        value = node.cast(value, dtypes.float64)
    found = node.add(node.op, value, axis=axis, keepdims=0)
    target = node.output_dtype()
    return found if target == dtypes.int64 else node.cast(found, target)


@converts("Cumsum")
def cumsum(node: NodeToConvert) -> str:
    """Convert Cumsum."""
    axis = node.add("Reshape", node.int64(1), node.value(np.zeros(0), np.int64))
    return node.numeric_first(
        "CumSum",
        [node.inputs[0], axis],
        node.dtype(0),
        exclusive=int(node.attr("exclusive", False)),
        reverse=int(node.attr("reverse", False)),
    )


@converts("Cumprod")
def cumprod(node: NodeToConvert) -> str:
    """Convert Cumprod of positive numbers: the exponential of a sum of logarithms is not exact."""
    dims = node.dims(0)
    axis = int(node.needed(1, "its axis")) % len(dims)
    size = node.size(0, axis)
    if size > 64:
        raise Refused(f"a product of {size} numbers along an axis; ONNX has no running product")
    dtype = node.dtype(0)
    if not size:
        return node.inputs[0]
    parts = node.add_many("Split", size, node.inputs[0], node.ints(*[1] * size), axis=axis)
    order = list(range(size))[:: -1 if node.attr("reverse", False) else 1]
    made: dict[int, str] = {}
    so_far = ""
    for number in order:
        part = parts[number]
        if node.attr("exclusive", False):
            made[number] = so_far or node.numeric(
                "Add",
                [node.numeric("Mul", [part, node.scalar(0)], dtype), node.scalar(1)],
                dtype,
            )
            so_far = node.numeric("Mul", [so_far, part], dtype) if so_far else part
        else:
            so_far = node.numeric("Mul", [so_far, part], dtype) if so_far else part
            made[number] = so_far
    return node.add("Concat", *(made[number] for number in range(size)), axis=axis)


@converts("UnsortedSegmentSum", "SegmentSum", "UnsortedSegmentMax", "SegmentMax")
@converts("UnsortedSegmentMin", "SegmentMin", "UnsortedSegmentProd", "SegmentProd")
def segments(node: NodeToConvert) -> str:
    """Convert a reduction of rows by segment to a scatter."""
    kind = node.op.rpartition("Segment")[2]
    dtype = node.dtype(0)
    ids = node.int64(1)
    ids_rank = node.rank(1)
    if node.op.startswith("Unsorted"):
        number = node.vector(2)
    else:
        last = node.add("Gather", ids, node.value(-1, np.int64))
        number = node.add("Reshape", node.add("Add", last, node.value(1, np.int64)), node.ints(1))
    if kind in ("Max", "Min"):
        node.needs_opset(18)
    rest = node.add("Slice", node.shape_of(0), node.ints(ids_rank), node.ints(1 << 31))
    shape = node.add("Concat", number, rest, axis=0)
    limits = np.finfo(dtype.numpy_dtype) if dtype.is_floating else np.iinfo(dtype.numpy_dtype)
    lowest = limits.max if kind == "Min" else limits.min
    unsorted = node.op.startswith("Unsorted")
    first = {"Sum": 0, "Prod": 1}.get(kind, lowest)
    filled = node.add("ConstantOfShape", shape, value=np.asarray([first], dtype.numpy_dtype))
    data = node.inputs[0]
    indices = node.add("Unsqueeze", ids, node.ints(-1))
    reduction = {"Sum": "add", "Prod": "mul", "Max": "max", "Min": "min"}[kind]
    if unsorted:  # TensorFlow drops rows with a negative id; a further row takes them
        pads = node.add("Add", number, node.ints(1))
        shape = node.add("Concat", pads, rest, axis=0)
        filled = node.add("ConstantOfShape", shape, value=np.asarray([first], dtype.numpy_dtype))
        below = node.add("Less", indices, node.value(0, np.int64))
        indices = node.add("Where", below, number, indices)
    found = node.scattered("ScatterND", filled, indices, data, dtype, reduction)
    if unsorted:
        return node.add("Slice", found, node.ints(0), number, node.ints(0))
    if kind in ("Max", "Min"):  # segments without rows are 0
        rows = node.add("ConstantOfShape", number, value=np.zeros(1, np.int64))
        ones = node.add("ConstantOfShape", node.add("Shape", ids), value=np.ones(1, np.int64))
        counts = node.add("ScatterND", rows, indices, ones, reduction="add")
        column = [-1, *[1] * (node.rank(0) - 1)]
        counts = node.add("Reshape", counts, node.ints(*column))
        some = node.add("Greater", counts, node.value(0, np.int64))
        found = node.numeric_where(some, found, node.scalar(0), dtype)
    return found


@converts("SegmentMean")
def segment_mean(node: NodeToConvert) -> str:
    """Convert SegmentMean: sums divided by counts."""
    dtype = node.dtype(0)
    ids = node.int64(1)
    last = node.add("Gather", ids, node.value(-1, np.int64))
    number = node.add("Reshape", node.add("Add", last, node.value(1, np.int64)), node.ints(1))
    rest = node.add("Slice", node.shape_of(0), node.ints(1), node.ints(1 << 31))
    zeros = node.add(
        "ConstantOfShape",
        node.add("Concat", number, rest, axis=0),
        value=np.asarray([0], dtype.numpy_dtype),
    )
    indices = node.add("Unsqueeze", ids, node.ints(-1))
    total = node.scattered("ScatterND", zeros, indices, node.inputs[0], dtype, "add")
    ones = node.add("ConstantOfShape", node.shape_of(0), value=np.asarray([1], dtype.numpy_dtype))
    count = node.scattered("ScatterND", zeros, indices, ones, dtype, "add")
    return node.numeric("Div", [total, node.numeric("Max", [count, node.scalar(1)], dtype)], dtype)
