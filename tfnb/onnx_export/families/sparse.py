"""Sparse tensors, as indices, values and shapes; sums over chosen rows."""

from __future__ import annotations

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused


def _entry(node: NodeToConvert, vector: str, place: int) -> str:
    """Return one number of a vector as a scalar."""
    return node.add("Gather", vector, node.value(place, np.int64))


def _strides(node: NodeToConvert, shape: str, rank: int) -> str:
    """Return how far entries of each axis lie apart in a dense tensor."""
    found = [node.ints(1)]
    for axis in range(rank - 1, 0, -1):
        size = node.add("Slice", shape, node.ints(axis), node.ints(axis + 1))
        found.insert(0, node.add("Mul", found[0], size))
    return found[0] if rank == 1 else node.add("Concat", *found[:rank], axis=0)


def _flat_places(node: NodeToConvert, indices: str, shape: str, rank: int) -> str:
    """Return the places of indices in the flat dense tensor."""
    strides = _strides(node, shape, rank)
    return node.reduce("ReduceSum", node.add("Mul", indices, strides), [1], dtypes.int64, False)


def _indices_of(node: NodeToConvert, places: str, shape: str, rank: int) -> str:
    """Return the indices of places in the flat dense tensor."""
    strides = _strides(node, shape, rank)
    column = node.add("Unsqueeze", places, node.ints(1))
    return node.add("Mod", node.add("Div", column, strides), shape)


def _order(node: NodeToConvert, places: str) -> str:
    """Return the order in which different numbers ascend."""
    return node.add_many("TopK", 2, places, node.add("Shape", places), largest=0, sorted=1)[1]


def _zeros(node: NodeToConvert, shape: str, dtype: dtypes.DType) -> str:
    return node.add("ConstantOfShape", shape, value=np.zeros(1, dtype.numpy_dtype))


def _chosen(node: NodeToConvert, mask: str) -> str:
    """Return the places at which a vector is true."""
    return node.add("Squeeze", node.add("NonZero", mask), node.ints(0))


@converts("SparseToDense")
def sparse_to_dense(node: NodeToConvert) -> str:
    """Convert SparseToDense: values, scattered into a default."""
    rank = node.rank(0)
    if rank == 2 and not node.size(0, 1):
        raise Refused("a scalar has no sparse form")
    shape = node.int64(1)
    filled = node.add("Expand", node.inputs[3], shape)
    indices = node.int64(0)
    if rank < 2:
        indices = node.add("Reshape", indices, node.ints(-1, 1))
    values = node.inputs[2]
    if node.rank(2) == 0:
        count = node.add("Slice", node.add("Shape", indices), node.ints(0), node.ints(1))
        values = node.add("Expand", values, count)
    return node.add("ScatterND", filled, indices, values)


@converts("SparseTensorDenseMatMul")
def sparse_matmul(node: NodeToConvert) -> str:
    """Convert a product: each value adds its multiple of a row of the dense matrix."""
    dtype = node.dtype(1)
    row, column = (1, 0) if node.attr("adjoint_a", False) else (0, 1)
    indices, dense = node.int64(0), node.inputs[3]
    if node.attr("adjoint_b", False):
        dense = node.transposed(dense, [1, 0])
    rows, columns = (
        node.add("Gather", indices, node.value(place, np.int64), axis=1) for place in (row, column)
    )
    parts = node.add("Gather", dense, columns)
    scaled = node.numeric(
        "Mul", [parts, node.add("Unsqueeze", node.inputs[1], node.ints(1))], dtype
    )
    height = node.add("Slice", node.int64(2), node.ints(row), node.ints(row + 1))
    width = node.add("Slice", node.add("Shape", dense), node.ints(1), node.ints(2))
    zeros = _zeros(node, node.add("Concat", height, width, axis=0), dtype)
    places = node.add("Unsqueeze", rows, node.ints(1))
    return node.scattered("ScatterND", zeros, places, scaled, dtype, "add")


@converts("SparseReorder")
def reorder(node: NodeToConvert) -> list[str]:
    """Convert the ordering of a sparse tensor by rows."""
    indices, rank = node.int64(0), node.size(0, 1)
    order = _order(node, _flat_places(node, indices, node.int64(2), rank))
    return [node.add("Gather", one, order) for one in (indices, node.inputs[1])]


@converts("SparseReshape")
def reshape(node: NodeToConvert) -> list[str]:
    """Convert another shape of a sparse tensor, of which one size may be -1."""
    old, new = node.int64(1), node.int64(2)
    total = node.add("ReduceProd", old, keepdims=1)
    is_open = node.add("Less", new, node.value(0, np.int64))
    known = node.add("Where", is_open, node.value(1, np.int64), new)
    rest = node.add("Div", total, node.add("ReduceProd", known, keepdims=1))
    shape = node.add("Where", is_open, rest, new)
    places = _flat_places(node, node.int64(0), old, node.size(0, 1))
    return [_indices_of(node, places, shape, node.size(2, 0)), shape]


@converts("SparseSlice")
def slice_of(node: NodeToConvert) -> list[str]:
    """Convert a slice of a sparse tensor."""
    indices, shape, begin, size = (node.int64(index) for index in (0, 2, 3, 4))
    zero = node.value(0, np.int64)
    left = node.add("Max", node.add("Sub", shape, begin), zero)
    size = node.add("Max", node.add("Min", size, left), zero)
    moved = node.add("Sub", indices, begin)
    inside = node.add("And", node.add("GreaterOrEqual", moved, zero), node.add("Less", moved, size))
    all_inside = node.reduce("ReduceMin", node.cast(inside, dtypes.int32), [1], dtypes.int32, False)
    kept = _chosen(node, node.cast(all_inside, dtypes.bool))
    return [
        node.add("Gather", moved, kept),
        node.add("Gather", node.inputs[1], kept),
        size,
    ]


@converts("SparseConcat")
def concat(node: NodeToConvert) -> list[str]:
    """Convert the joining of sparse tensors along an axis."""
    number = len(node.inputs) // 3
    rank = node.size(0, 1)
    axis = int(node.attr("concat_dim")) % rank
    mark = node.value(np.arange(rank) == axis, np.int64)
    shapes = [node.int64(2 * number + place) for place in range(number)]
    before, moved = node.value(np.zeros(rank), np.int64), []
    for place, shape in enumerate(shapes):
        moved.append(node.add("Add", node.int64(place), before))
        before = node.add("Add", before, node.add("Mul", shape, mark))
    others = node.value(np.arange(rank) != axis, np.int64)
    whole = node.add("Add", node.add("Mul", shapes[0], others), before)
    indices = node.add("Concat", *moved, axis=0)
    values = node.add("Concat", *node.inputs[number : 2 * number], axis=0)
    order = _order(node, _flat_places(node, indices, whole, rank))
    return [*(node.add("Gather", one, order) for one in (indices, values)), whole]


@converts("SparseAdd", "SparseSparseMaximum", "SparseSparseMinimum")
def union(node: NodeToConvert) -> list[str]:
    """Convert what joins two sparse tensors value by value; a missing value is 0."""
    dtype, rank = node.dtype(1), node.size(0, 1)
    shape = node.int64(2)
    parts = [_flat_places(node, node.int64(index), shape, rank) for index in (0, 3)]
    both = node.add("Concat", *parts, axis=0)
    places, _, numbers, _ = node.add_many("Unique", 4, both, sorted=1)
    zeros = _zeros(node, node.add("Shape", places), dtype)
    first = node.add("Shape", parts[0])
    last = node.ints(np.iinfo(np.int64).max)
    sides = []
    for values, (begin, end) in ((1, (node.ints(0), first)), (4, (first, last))):
        own = node.add("Slice", numbers, begin, end)
        column = node.add("Unsqueeze", own, node.ints(1))
        sides.append(node.scattered("ScatterND", zeros, column, node.inputs[values], dtype, "add"))
    op = {"SparseAdd": "Add", "SparseSparseMaximum": "Max"}.get(node.op, "Min")
    found = node.numeric(op, sides, dtype)
    if node.op == "SparseAdd":
        size = node.numeric("Abs", [found], dtype)
        limit = node.dtype(6)
        sizes = size if limit == dtype else node.cast(size, limit)
        kept = _chosen(node, node.compare("GreaterOrEqual", sizes, node.inputs[6], limit))
        places, found = (node.add("Gather", one, kept) for one in (places, found))
        return [_indices_of(node, places, shape, rank), found, node.add("Identity", shape)]
    return [_indices_of(node, places, shape, rank), found]


@converts("SparseFillEmptyRows")
def fill_empty_rows(node: NodeToConvert) -> list[str]:
    """Convert the filling of empty rows with a default."""
    indices, shape = node.int64(0), node.int64(2)
    rank = node.size(0, 1)
    number = _entry(node, shape, 0)
    rows = node.add("Gather", indices, node.value(0, np.int64), axis=1)
    count = node.add("Shape", rows)
    ones = node.add("ConstantOfShape", count, value=np.ones(1, np.int64))
    zeros = _zeros(node, node.add("Reshape", number, node.ints(1)), dtypes.int64)
    column = node.add("Unsqueeze", rows, node.ints(1))
    counts = node.add("ScatterND", zeros, column, ones, reduction="add")
    is_empty = node.add("Equal", counts, node.value(0, np.int64))
    empty = _chosen(node, is_empty)
    begin = node.add("Unsqueeze", empty, node.ints(1))
    if rank > 1:
        begin = node.add("Pad", begin, node.ints(0, 0, 0, rank - 1), node.value(0, np.int64))
    all_indices = node.add("Concat", indices, begin, axis=0)
    default = node.add("Expand", node.inputs[3], node.add("Shape", empty))
    all_values = node.add("Concat", node.inputs[1], default, axis=0)
    all_rows = node.add("Concat", rows, empty, axis=0)
    total = node.add("Squeeze", node.add("Shape", all_rows))
    steps = node.steps(total)
    order = _order(node, node.add("Add", node.add("Mul", all_rows, total), steps))
    back = node.add("ScatterElements", steps, order, steps)
    return [
        node.add("Gather", all_indices, order),
        node.add("Gather", all_values, order),
        is_empty,
        node.add("Slice", back, node.ints(0), count),
    ]


@converts("SparseReduceSum")
def reduce_sum(node: NodeToConvert) -> str:
    """Convert a sum over axes, by way of the dense tensor."""
    dtype, rank = node.dtype(1), node.size(0, 1)
    axes = [int(axis) for axis in np.reshape(node.needed(3, "its axes"), -1)]
    axes = sorted({axis % rank for axis in axes}) or list(range(rank))
    zeros = _zeros(node, node.int64(2), dtype)
    dense = node.scattered("ScatterND", zeros, node.int64(0), node.inputs[1], dtype, "add")
    return node.reduce("ReduceSum", dense, axes, dtype, bool(node.attr("keep_dims", False)))


@converts("SparseSoftmax")
def softmax(node: NodeToConvert) -> str:
    """Convert a softmax over the values of each row."""
    dtype, rank = node.dtype(1), node.size(0, 1)
    shape = node.int64(2)
    last = node.add("Slice", shape, node.ints(rank - 1), node.ints(rank))
    places = _flat_places(node, node.int64(0), shape, rank)
    rows = node.add("Unsqueeze", node.add("Div", places, last), node.ints(1))
    number = node.add("Div", node.add("ReduceProd", shape, keepdims=1), last)
    values = node.inputs[1]
    lowest = np.asarray([np.finfo(dtype.numpy_dtype).min], dtype.numpy_dtype)
    filled = node.add("ConstantOfShape", number, value=lowest)
    best = node.scattered("ScatterND", filled, rows, values, dtype, "max")
    apart = node.numeric("Sub", [values, node.add("GatherND", best, rows)], dtype)
    shares = node.numeric("Exp", [apart], dtype)
    zeros = _zeros(node, number, dtype)
    total = node.scattered("ScatterND", zeros, rows, shares, dtype, "add")
    return node.numeric("Div", [shares, node.add("GatherND", total, rows)], dtype)


@converts("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv")
def with_dense(node: NodeToConvert) -> str:
    """Convert an operation of each value with that of a dense tensor at its place."""
    dense = node.add("Expand", node.inputs[3], node.int64(2))
    given = [node.inputs[1], node.add("GatherND", dense, node.int64(0))]
    return node.numeric(node.op.removeprefix("SparseDenseCwise"), given, node.dtype(1))


@converts("SparseTensorDenseAdd")
def add_dense(node: NodeToConvert) -> str:
    """Convert the sum of a sparse and a dense tensor."""
    return node.scattered(
        "ScatterND", node.inputs[3], node.int64(0), node.inputs[1], node.dtype(1), "add"
    )


# -- sums over chosen rows, which lookups in embeddings are made of


@converts("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN")
@converts("SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments")
@converts("SparseSegmentSqrtNWithNumSegments")
def sparse_segments(node: NodeToConvert) -> str:
    """Convert a sum, a mean or a scaled sum of chosen rows by segment."""
    dtype = node.dtype(0)
    ids = node.int64(2)
    rows = node.add("Gather", node.inputs[0], node.int64(1))
    if len(node.inputs) > 3:
        number = node.vector(3)
    else:
        last = node.add("Slice", ids, node.ints(-1), node.ints(np.iinfo(np.int64).max))
        number = node.add("Add", last, node.ints(1))
    rest = node.add("Slice", node.add("Shape", rows), node.ints(1), node.ints(1 << 31))
    zeros = _zeros(node, node.add("Concat", number, rest, axis=0), dtype)
    column = node.add("Unsqueeze", ids, node.ints(1))
    found = node.scattered("ScatterND", zeros, column, rows, dtype, "add")
    if "Sum" in node.op:
        return found
    counts = node.cast(_counts(node, column, number), dtype)
    counts = node.add("Reshape", counts, node.ints(-1, *[1] * (node.rank(0) - 1)))
    if "SqrtN" in node.op:
        counts = node.numeric("Sqrt", [counts], dtype)
    return node.numeric("Div", [found, counts], dtype)


def _counts(node: NodeToConvert, column: str, number: str) -> str:
    """Return how many rows each segment has, at least 1."""
    ones = node.add("Add", node.add("Mul", column, node.ints(0)), node.ints(1))
    flat = node.add("Squeeze", ones, node.ints(1))
    zeros = _zeros(node, number, dtypes.int64)
    found = node.add("ScatterND", zeros, column, flat, reduction="add")
    return node.add("Max", found, node.value(1, np.int64))


@converts("SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad")
@converts("SparseSegmentSumGradV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2")
def sparse_segments_gradient(node: NodeToConvert) -> str | list[str]:
    """Convert the gradient of the rows; version 2 gives those that were chosen only."""
    dtype = node.dtype(0)
    indices, ids = node.int64(1), node.int64(2)
    rows = node.add("Gather", node.inputs[0], ids)
    if "Sum" not in node.op:
        number = node.add("Slice", node.add("Shape", node.inputs[0]), node.ints(0), node.ints(1))
        counts = _counts(node, node.add("Unsqueeze", ids, node.ints(1)), number)
        own = node.cast(node.add("Gather", counts, ids), dtype)
        if "SqrtN" in node.op:
            own = node.numeric("Sqrt", [own], dtype)
        own = node.add("Reshape", own, node.ints(-1, *[1] * (node.rank(0) - 1)))
        rows = node.numeric("Div", [rows, own], dtype)
    number, places, unique = node.vector(3), indices, ""
    if node.op.endswith("V2"):
        unique, _, places, _ = node.add_many("Unique", 4, indices, sorted=1)
        number = node.add("Shape", unique)
    rest = node.add("Slice", node.add("Shape", rows), node.ints(1), node.ints(1 << 31))
    zeros = _zeros(node, node.add("Concat", number, rest, axis=0), dtype)
    column = node.add("Unsqueeze", places, node.ints(1))
    found = node.scattered("ScatterND", zeros, column, rows, dtype, "add")
    return [found, node.as_output(unique, 1)] if unique else found


@converts("CTCGreedyDecoder")
def ctc_greedy(node: NodeToConvert) -> list[str]:
    """Convert the reading of the likeliest labels of each row, as a sparse tensor."""
    dtype = node.dtype(0)
    labels = node.size(0, 2)
    blank = int(node.attr("blank_index", -1))
    blank = blank + labels if blank < 0 else blank
    best = node.transposed(node.add("ArgMax", node.as_type(0, dtype), axis=2, keepdims=0), [1, 0])
    score = node.transposed(node.reduce("ReduceMax", node.inputs[0], [2], dtype, False), [1, 0])
    time = node.add("Gather", node.add("Shape", best), node.value(1, np.int64))
    lengths = node.add("Unsqueeze", node.int64(1), node.ints(1))
    within = node.add("Less", node.steps(time), lengths)
    kept = node.add("Not", node.add("Equal", best, node.value(blank, np.int64)))
    kept = node.add("And", kept, within)
    if node.attr("merge_repeated", False):
        padded = node.add("Pad", best, node.ints(0, 1, 0, 0), node.value(-1, np.int64))
        before = node.add("Slice", padded, node.ints(0), node.ints(-1), node.ints(1))
        kept = node.add("And", kept, node.add("Not", node.add("Equal", best, before)))
    numbers = node.cast(kept, dtypes.int64)
    order = node.add("CumSum", numbers, node.value(1, np.int64), exclusive=1)
    places = node.transposed(node.add("NonZero", kept), [1, 0])
    column = node.add("Unsqueeze", node.add("GatherND", order, places), node.ints(1))
    rows = node.add("Slice", places, node.ints(0), node.ints(1), node.ints(1))
    counts = node.reduce("ReduceSum", numbers, [1], dtypes.int64, False)
    longest = node.reduce("ReduceMax", counts, [0], dtypes.int64, True)
    size = node.add("Slice", node.add("Shape", best), node.ints(0), node.ints(1))
    total = node.numeric_where(within, score, node.scalar(0), dtype)
    total = node.reduce("ReduceSum", total, [1], dtype, True)
    return [
        node.add("Concat", rows, column, axis=1),
        node.add("GatherND", best, places),
        node.add("Concat", size, longest, axis=0),
        node.numeric("Neg", [total], dtype),
    ]


@converts("NearestNeighbors")
def nearest_neighbors(node: NodeToConvert) -> list[str]:
    """Convert the finding of the nearest centers by the squares of distances."""
    dtype = node.dtype(0)
    if node.dtype(0) != dtypes.float32:
        raise Refused("distances of another type")
    points, centers = node.inputs[:2]
    inner = node.numeric("MatMul", [points, node.transposed(centers, [1, 0])], dtype)
    squares = [
        node.reduce("ReduceSum", node.numeric("Mul", [one, one], dtype), [1], dtype, keep)
        for one, keep in ((points, True), (centers, False))
    ]
    cross = node.numeric("Mul", [inner, node.scalar(-2)], dtype)
    apart = node.numeric(
        "Add", [node.numeric("Add", [cross, squares[0]], dtype), squares[1]], dtype
    )
    number = node.add("Slice", node.add("Shape", centers), node.ints(0), node.ints(1))
    wanted = node.add("Min", node.vector(2), number)
    best, places = node.add_many("TopK", 2, apart, wanted, axis=1, largest=0, sorted=1)
    return [places, node.numeric("Max", [best, node.scalar(0)], dtype)]
