"""Counts, sorted places, sets, diagonals: what is made of comparisons and scatters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused


@converts("Bincount", "DenseBincount")
def bincount(node: NodeToConvert) -> str:
    """Convert the counting of numbers below a size; larger ones are dropped."""
    rank = node.rank(0)
    if rank > 1 and node.op == "DenseBincount":
        return _bincount_of_rows(node)
    numbers = node.add("Reshape", node.int64(0), node.ints(-1))
    size = node.vector(1)
    dtype = node.output_dtype()
    weights = _weights(node, node.add("Shape", numbers), dtype)
    return _counted(node, numbers, size, weights, dtype)


def _weights(node: NodeToConvert, shape: str, dtype: Any) -> str:
    """Return the weight of each number; without weights, or as marks, 1."""
    dims = node.shapes[2].dim_values
    if dims is None:
        raise Refused("it is not known whether there are weights")
    if 0 in dims or node.attr("binary_output", False):
        return node.add("ConstantOfShape", shape, value=np.ones(1, dtype.numpy_dtype))
    return node.add("Reshape", node.inputs[2], node.ints(-1))


def _counted(node: NodeToConvert, numbers: str, size: str, weights: str, dtype: Any) -> str:
    """Return sums of weights by number; a further place takes what is dropped."""
    longer = node.add("Add", size, node.ints(1))
    zeros = node.add("ConstantOfShape", longer, value=np.zeros(1, dtype.numpy_dtype))
    places = node.add("Min", numbers, size)
    indices = node.add("Unsqueeze", places, node.ints(-1))
    found = node.scattered("ScatterND", zeros, indices, weights, dtype, "add")
    found = node.add("Slice", found, node.ints(0), size, node.ints(0))
    if not node.attr("binary_output", False):
        return found
    zero, one = (node.value(number, dtype.numpy_dtype) for number in (0, 1))
    return node.numeric_where(node.compare("Greater", found, zero, dtype), one, zero, dtype)


def _bincount_of_rows(node: NodeToConvert) -> str:
    """Return the counts of each row: those of all rows in ranges of their own."""
    dtype, size = node.output_dtype(), node.vector(1)
    longer = node.add("Add", size, node.ints(1))
    numbers = node.add("Min", node.int64(0), size)
    rows = node.add("Gather", node.add("Shape", numbers), node.value(0, np.int64))
    begins = node.add("Mul", node.steps(rows), longer)
    moved = node.add("Add", numbers, node.add("Unsqueeze", begins, node.ints(1)))
    flat = node.add("Reshape", moved, node.ints(-1))
    total = node.add("Mul", longer, rows)
    weights = _weights(node, node.add("Shape", flat), dtype)
    found = _counted(node, flat, total, weights, dtype)
    shape = node.add("Concat", node.add("Reshape", rows, node.ints(1)), longer, axis=0)
    found = node.add("Reshape", found, shape)
    return node.add("Slice", found, node.ints(0), size, node.ints(1))


@converts("HistogramFixedWidth")
def histogram(node: NodeToConvert) -> str:
    """Convert the counting of values in bins of equal width."""
    dtype = node.dtype(0)
    low, high = (
        node.add("Gather", node.inputs[1], node.value(place, np.int64)) for place in (0, 1)
    )
    bins = node.vector(2)
    number = node.cast(node.add("Squeeze", bins), dtypes.float64)
    values = node.add("Reshape", node.inputs[0], node.ints(-1))
    if not dtype.is_floating:
        dtype = dtypes.float64
        low, high, values = (node.cast(one, dtype) for one in (low, high, values))
    width = node.numeric("Sub", [high, low], dtype)
    share = node.numeric("Div", [node.numeric("Sub", [values, low], dtype), width], dtype)
    place = node.add("Floor", node.add("Mul", node.cast(share, dtypes.float64), number))
    last = node.add("Sub", number, node.value(1.0))
    place = node.add("Max", node.add("Min", place, last), node.value(0.0))
    target = node.output_dtype()
    places = node.cast(place, dtypes.int64)
    ones = node.add("ConstantOfShape", node.add("Shape", places), value=np.ones(1, np.int64))
    found = _counted(node, places, bins, ones, dtypes.int64)
    return found if target == dtypes.int64 else node.cast(found, target)


@converts("Bucketize")
def bucketize(node: NodeToConvert) -> str:
    """Convert the finding of buckets: how many boundaries are at most the value."""
    value = node.cast(node.add("Unsqueeze", node.inputs[0], node.ints(-1)), dtypes.float32)
    boundaries = node.value(node.attr("boundaries"), np.float32)
    below = node.cast(node.add("GreaterOrEqual", value, boundaries), dtypes.int32)
    return node.reduce("ReduceSum", below, [-1], dtypes.int32, False)


@converts("LowerBound", "UpperBound")
def bound(node: NodeToConvert) -> str:
    """Convert the finding of places in sorted rows: how many numbers stand before."""
    dtype, op = node.dtype(0), "Less" if node.op == "LowerBound" else "LessOrEqual"
    row = node.add("Unsqueeze", node.inputs[0], node.ints(1))
    values = node.add("Unsqueeze", node.inputs[1], node.ints(2))
    before = node.cast(node.compare(op, row, values, dtype), dtypes.int64)
    return node.as_output(node.reduce("ReduceSum", before, [2], dtypes.int64, False))


@converts("ListDiff")
def list_diff(node: NodeToConvert) -> list[str]:
    """Convert the values of a list that another one lacks, with their places."""
    dtype = node.dtype(0)
    column = node.add("Unsqueeze", node.inputs[0], node.ints(1))
    same = node.compare("Equal", column, node.inputs[1], dtype)
    count = node.reduce("ReduceSum", node.cast(same, dtypes.int64), [1], dtypes.int64, False)
    left = node.add("Equal", count, node.value(0, np.int64))
    places = node.add("Squeeze", node.add("NonZero", left), node.ints(0))
    return [node.add("Gather", node.inputs[0], places), node.as_output(places, 1)]


@converts("UnravelIndex")
def unravel_index(node: NodeToConvert) -> str:
    """Convert the places of flat indices in a tensor of a shape."""
    rank = node.size(1, 0)
    shape, rest = node.int64(1), node.int64(0)
    parts: list[str] = []
    for axis in reversed(range(rank)):
        size = node.add("Gather", shape, node.value(axis, np.int64))
        parts.insert(0, node.add("Mod", rest, size) if axis else rest)
        rest = node.add("Div", rest, size)
    found = node.add("Concat", *(node.add("Unsqueeze", p, node.ints(0)) for p in parts), axis=0)
    return node.as_output(found)


@converts("NthElement")
def nth_element(node: NodeToConvert) -> str:
    """Convert the nth smallest number of each row."""
    place = node.vector(1)
    number = node.add("Add", place, node.ints(1))
    dtype = node.dtype(0)
    wide = dtype if dtype in (dtypes.float32, dtypes.float64, dtypes.int64) else dtypes.float64
    largest = int(bool(node.attr("reverse", False)))
    best = node.add_many("TopK", 2, node.as_type(0, wide), number, largest=largest, sorted=1)[0]
    found = node.add("Squeeze", node.add("Gather", best, place, axis=-1), node.ints(-1))
    return found if wide == dtype else node.cast(found, dtype)


@converts("Reverse")
def reverse(node: NodeToConvert) -> str:
    """Convert the reversal of marked axes."""
    axes = np.flatnonzero(node.needed(1, "its axes")).tolist()
    if not axes:
        return node.add("Identity", node.inputs[0])
    back, end = [-1] * len(axes), [np.iinfo(np.int64).min + 1] * len(axes)
    return node.add(
        "Slice",
        node.inputs[0],
        node.ints(*back),
        node.ints(*end),
        node.ints(*axes),
        node.ints(*back),
    )


@converts("DataFormatVecPermute", "DataFormatDimMap")
def data_format(node: NodeToConvert) -> str:
    """Convert a vector of sizes, or axes, from one layout to another."""
    source, target = (str(node.attr(name)) for name in ("src_format", "dst_format"))
    if node.op == "DataFormatDimMap":
        places = node.value([target.index(axis) for axis in source], np.int64)
        return node.as_output(node.add("Gather", places, node.int64(0)), dtype=dtypes.int64)
    if node.size(0, 0) == len(source) - 2:
        source, target = (text.replace("N", "").replace("C", "") for text in (source, target))
    order = node.value([source.index(axis) for axis in target], np.int64)
    return node.add("Gather", node.inputs[0], order)


@converts("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag(node: NodeToConvert) -> str:
    """Convert matrices with other diagonals."""
    return by_places(node, 2, (0, 1), "k" if len(node.inputs) > 2 else "")


def by_places(node: NodeToConvert, axes: int, parts: tuple[int, ...], what: str) -> str:
    """Return what an op makes by moving elements: the op itself, of numbered places, says how.

    Args:
      node: the node.
      axes: how many of the last axes of the first input the op moves.
      parts: the inputs that it moves, whose last axes are known.
      what: what the other inputs are; "" if there are none.
    """
    compute = node.item.compute
    assert compute is not None
    given: list[Any] = []
    flats = []
    begin = 1
    rank = node.rank(0)
    lead = rank - axes
    number_type = np.int64
    for index in range(len(node.inputs)):
        if index not in parts:
            is_padding = node.op.startswith("MatrixDiag") and index == len(node.inputs) - 1
            given.append(np.zeros((), number_type) if is_padding else node.needed(index, what))
            continue
        dims = node.dims(index)[lead:]
        if None in dims:
            raise Refused(f"the last sizes of its input {index} are not known")
        sizes = [int(size) for size in dims if size is not None]
        count = int(np.prod(sizes))
        given.append(np.arange(begin, begin + count, dtype=number_type).reshape(sizes))
        begin += count
        flats.append(node.add("Reshape", node.inputs[index], node.ints(*[0] * lead, count)))
    # What is not moved, the padding, has place 0.
    places = np.asarray(compute(*given))
    dtype = node.dtype(0)
    padding = node.inputs[-1] if len(node.inputs) > len(parts) else node.scalar(0)
    flat = flats[0] if len(flats) == 1 else node.add("Concat", *flats, axis=lead)
    if (places > 0).all():
        return node.add("Gather", flat, node.value(places - 1), axis=lead)
    found = node.add("Gather", flat, node.value(np.maximum(places - 1, 0)), axis=lead)
    padding = node.add("Reshape", padding, node.value(np.zeros(0), np.int64))
    return node.numeric_where(node.value(places > 0), found, padding, dtype)
