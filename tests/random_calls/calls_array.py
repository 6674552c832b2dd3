"""Random calls of ops that move elements: shapes, slices, gathers, scatters, segments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Many, Resource, Sample, op
from tests.random_calls.draws import Draw, calls

_INTEGERS = ("int32", "int64")


def _index(d: Draw, value: Any, words: tuple[str, ...] | str = _INTEGERS) -> Any:
    return np.asarray(value, NUMPY_TYPES[d.one(words)])


@calls("Identity Shape Size Rank StopGradient PreventGradient Snapshot DeepCopy")
def _one(d: Draw, name: str) -> Sample:
    word = d.types(name)
    attrs = {"out_type": d.one(_INTEGERS)} if name in ("Shape", "Size") else {}
    return op(name, d.values(word, d.shape()), **attrs)


@calls("ShapeN IdentityN")
def _many(d: Draw, name: str) -> Sample:
    word = d.types("ShapeN")
    terms = [d.values(word, d.shape()) for _ in range(d.number(1, 3))]
    attrs = {"out_type": d.one(_INTEGERS)} if name == "ShapeN" else {}
    return op(name, Many(terms), **attrs)


@calls("Reshape")
def _reshape(d: Draw, name: str) -> Sample:
    shape = d.shape()
    size = int(np.prod(shape))
    target = list(
        d.one(
            [shape[::-1], (size,), (-1,), (1, -1), (-1, 1), (*shape, 1), (2, -1), (0, -1), (-1, -1)]
        )
    )
    if d.chance(0.05):
        target.append(-2)
    return op(name, d.values(d.types(name), shape), _index(d, target))


@calls("ExpandDims Squeeze")
def _dims(d: Draw, name: str) -> Sample:
    shape = d.shape(0, 4, 2)
    x = d.values(d.types(name), shape)
    if name == "ExpandDims":
        axis = _index(d, d.number(-len(shape) - 1, len(shape)))
        return op(name, x, axis.reshape(1) if d.chance(0.1) else axis)
    axes = (
        []
        if d.chance(0.4)
        else [
            a - (len(shape) if d.chance(0.3) else 0)
            for a, s in enumerate(shape)
            if s == 1 or d.chance(0.03)
        ]
    )
    return op(name, x, squeeze_dims=axes)


@calls("Transpose ConjugateTranspose InvertPermutation")
def _transpose(d: Draw, name: str) -> Sample:
    shape = d.shape()
    order = d.random.permutation(len(shape))
    if d.chance(0.2) and len(order):
        order = order - np.where(d.random.random_sample(len(order)) < 0.3, len(order), 0)
    if d.chance(0.04) and len(order):
        order[0] = order[-1] + d.number(0, 2)
    if name == "InvertPermutation":
        return op(name, _index(d, order))
    return op(name, d.values(d.types(name), shape), _index(d, order))


@calls("Tile")
def _tile(d: Draw, name: str) -> Sample:
    shape = d.shape(0, 4, 3)
    times = [d.number(-1 if d.chance(0.03) else 0, 3) for _ in shape]
    return op(name, d.values(d.types(name, without="uint16"), shape), _index(d, times))


@calls("BroadcastTo")
def _broadcast_to(d: Draw, name: str) -> Sample:
    shape = d.shape()
    return op(name, d.values(d.types(name), d.broadcastable(shape)), _index(d, shape))


@calls("BroadcastArgs BroadcastGradientArgs")
def _broadcast_args(d: Draw, name: str) -> Sample:
    shape = d.shape()
    target = NUMPY_TYPES[d.one(_INTEGERS)]
    return op(name, np.array(shape, target), np.array(d.broadcastable(shape), target))


@calls("Fill Empty")
def _fill(d: Draw, name: str) -> Sample:
    shape = [d.number(-1 if d.chance(0.03) else 0, 4) for _ in range(d.number(0, 4))]
    if name == "Empty":
        return op(name, np.array(shape, np.int32), dtype=d.types(name, "dtype"), init=True)
    return op(name, _index(d, shape), d.values(d.types(name), ()))


@calls("Pack")
def _pack(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape()
    terms = [d.values(word, shape) for _ in range(d.number(1, 4))]
    return op(name, Many(terms), axis=d.number(-len(shape) - 1, len(shape)))


@calls("Unpack")
def _unpack(d: Draw, name: str) -> Sample:
    shape = d.shape(1)
    axis = d.number(-len(shape), len(shape) - 1)
    return op(name, d.values(d.types(name), shape), num=shape[axis] + (d.chance(0.05)), axis=axis)


@calls("ConcatV2 Concat ConcatOffset")
def _concat(d: Draw, name: str) -> Sample:
    word, shape = d.types("ConcatV2"), d.shape(1)
    axis = d.number(0, len(shape) - 1)
    shapes = []
    for _ in range(d.number(2, 4)):
        one = list(shape)
        one[axis] = d.number(0, 3)
        if d.chance(0.02):
            one[0] += 1
        shapes.append(one)
    where = axis - (len(shape) if d.chance(0.3) and name != "Concat" else 0)
    if name == "ConcatOffset":
        return op(name, np.array(where, np.int32), Many([np.array(s, np.int32) for s in shapes]))
    terms = Many([d.values(word, tuple(s)) for s in shapes])
    if name == "Concat":
        return op(name, np.array(where, np.int32), terms)
    return op(name, terms, _index(d, where))


@calls("Split SplitV")
def _split(d: Draw, name: str) -> Sample:
    shape = list(d.shape(1))
    axis = d.number(0, len(shape) - 1)
    where = np.array(axis - (len(shape) if d.chance(0.3) else 0), np.int32)
    count = d.number(1, 4)
    word = d.types(name)
    if name == "Split":
        shape[axis] = count * d.number(0, 2) + d.chance(0.03)
        return op(name, where, d.values(word, tuple(shape)), num_split=count)
    sizes = [d.number(0, 3) for _ in range(count)]
    shape[axis] = sum(sizes)
    if d.chance(0.3) and count > 1:
        # TensorFlow's kernel refuses it for one part, but its optimizer removes these nodes.
        sizes[d.number(0, count - 1)] = -1
    return op(name, d.values(word, tuple(shape)), _index(d, sizes), where, num_split=count)


@calls("Slice")
def _slice(d: Draw, name: str) -> Sample:
    shape = d.shape()
    begin = [d.number(0, s) for s in shape]
    size = [-1 if d.chance(0.3) else d.number(0, s - b) for s, b in zip(shape, begin, strict=True)]
    if d.chance(0.05) and size:
        size[0] = shape[0] + 1
    target = NUMPY_TYPES[d.one(_INTEGERS)]
    return op(name, d.values(d.types(name), shape), np.array(begin, target), np.array(size, target))


def _strides(d: Draw, shape: tuple[int, ...]) -> tuple[list[list[int]], dict[str, int]]:
    rank = d.number(0, len(shape) + d.chance(0.3))
    begin = [d.number(-s - 1, s + 1) for s in (*shape, 2)[:rank]]
    end = [d.number(-s - 1, s + 1) for s in (*shape, 2)[:rank]]
    strides = [d.one([1, 1, 1, 2, -1, -2, 3]) if d.chance(0.99) else 0 for _ in range(rank)]
    bits = {key: d.number(0, 2**rank - 1) if d.chance(0.4) else 0 for key in
            ("begin_mask", "end_mask", "shrink_axis_mask", "new_axis_mask")}  # fmt: skip
    if d.chance(0.4) and rank:
        bits["ellipsis_mask"] = 1 << d.number(0, rank - 1)
    return [begin, end, strides], bits


@calls("StridedSlice")
def _strided_slice(d: Draw, name: str) -> Sample:
    shape = d.shape()
    parts, masks = _strides(d, shape)
    target = NUMPY_TYPES[d.one(_INTEGERS)]
    return op(name, d.values(d.types(name), shape), *(np.array(p, target) for p in parts), **masks)


@calls("StridedSliceGrad StridedSliceAssign ResourceStridedSliceAssign TensorStridedSliceUpdate")
def _strided_slice_write(d: Draw, name: str) -> Sample:
    shape = d.shape(1, 3)
    parts = [[], [], []]
    out = []
    for s in shape:
        begin, end = sorted((d.number(0, s), d.number(0, s)))
        step = d.number(1, 2)
        if d.chance(0.3) and begin > 0:
            parts[0].append(end - 1), parts[1].append(begin - 1), parts[2].append(-step)
        else:
            parts[0].append(begin), parts[1].append(end), parts[2].append(step)
        out.append(max(0, -(-(end - begin) // step)))
    target = NUMPY_TYPES[d.one(_INTEGERS)]
    word = d.types(name)
    arrays = [np.array(p, target) for p in parts]
    if name == "StridedSliceGrad":
        return op(name, np.array(shape, target), *arrays, d.values(word, tuple(out)))
    update = d.values(word, tuple(out) if d.chance(0.9) else ())
    x: Any = d.values(word, shape)
    if name.startswith("Resource"):
        x = Resource(x, word)
    return op(name, x, *arrays, update)


@calls("Gather GatherV2 ResourceGather")
def _gather(d: Draw, name: str) -> Sample:
    word, shape = d.types(name, "Tparams" if name != "ResourceGather" else "dtype"), d.shape(1)
    if name == "GatherV2":
        batch = d.number(0, 1) if len(shape) > 1 and d.chance(0.3) else 0
        axis = d.number(batch, len(shape) - 1)
        indices = d.indices((*shape[:batch], *d.shape(0, 2)), shape[axis])
        where = axis - (len(shape) if d.chance(0.3) else 0)
        return op(name, d.values(word, shape), indices, _index(d, where), batch_dims=batch)
    indices = d.indices(d.shape(0, 2), shape[0])
    x = d.values(word, shape)
    if name == "ResourceGather":
        return op(name, Resource(x, word), indices, dtype=word)
    return op(name, x, indices)


def _nd(d: Draw, limits: tuple[int, ...], outer: tuple[int, ...], depth: int) -> Any:
    columns = [d.random.randint(0, max(s, 1), outer) for s in limits[:depth]]
    found = np.stack(columns, -1) if columns else np.zeros((*outer, 0))
    found = found.astype(NUMPY_TYPES[d.one(_INTEGERS)])
    if d.chance(0.04) and found.size:
        found.reshape(-1)[0] = d.one([-1, max(limits)])
    return found


@calls("GatherNd ResourceGatherNd")
def _gather_nd(d: Draw, name: str) -> Sample:
    shape = d.shape(1)
    word = d.types(name, "Tparams" if name == "GatherNd" else "dtype")
    indices = _nd(d, shape, d.shape(0, 2), d.number(0, len(shape)))
    x = d.values(word, shape)
    if name == "GatherNd":
        return op(name, x, indices)
    return op(name, Resource(x, word), indices, dtype=word)


@calls("""ScatterNd TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax
TensorScatterMin ScatterNdUpdate ScatterNdAdd ScatterNdSub ScatterNdMax ScatterNdMin
ScatterNdNonAliasingAdd ResourceScatterNdUpdate ResourceScatterNdAdd ResourceScatterNdSub
ResourceScatterNdMax ResourceScatterNdMin""")
def _scatter_nd(d: Draw, name: str) -> Sample:
    shape = d.shape(1)
    word = d.types(name)
    depth = d.number(1, len(shape))
    outer = d.shape(0, 2)
    indices = _nd(d, shape, outer, depth)
    updates = d.values(word, (*outer, *shape[depth:]), 0 if name[-3:] in ("Max", "Min") else 0.1)
    if d.chance(0.03):
        updates = d.values(word, (2, *outer))
    if name == "ScatterNd":
        return op(name, indices, updates, np.array(shape, indices.dtype))
    x: Any = d.values(word, shape, 0 if name[-3:] in ("Max", "Min") else 0.1)
    if name.startswith("Resource"):
        x = Resource(x, word)
    return op(name, x, indices, updates)


@calls("""ScatterUpdate ScatterAdd ScatterSub ScatterMul ScatterDiv ScatterMax ScatterMin
ResourceScatterUpdate ResourceScatterAdd ResourceScatterSub ResourceScatterMul ResourceScatterDiv
ResourceScatterMax ResourceScatterMin""")
def _scatter(d: Draw, name: str) -> Sample:
    shape = d.shape(1, 3)
    word = d.types(name, "dtype" if name.startswith("Resource") else "T")
    indices = d.indices(d.shape(0, 2), shape[0])
    updates = d.values(word, () if d.chance(0.15) else (*indices.shape, *shape[1:]), 0.1)
    if d.chance(0.03):
        updates = d.values(word, (2, *shape))
    if name[-3:] in ("Max", "Min") and updates.dtype.kind not in "iubc":
        # Which of two numbers is the larger depends on vectorization if one is NaN.
        updates = np.nan_to_num(updates.astype(np.float64), posinf=9, neginf=-9).astype(
            updates.dtype
        )
    if name == "ScatterDiv" and updates.dtype.kind in "iu":
        # A zero ends TensorFlow's process.
        updates = np.where(updates == 0, 2, updates).astype(updates.dtype)
    if "Div" in name and updates.dtype.kind == "i":
        updates = np.where(updates == -1, 1, updates).astype(updates.dtype)
    x: Any = d.values(word, shape, 0.1 if name[-3:] not in ("Max", "Min") else 0)
    if name.startswith("Resource"):
        x = Resource(x, word)
    return op(name, x, indices, updates)


@calls("SegmentSum SegmentMean SegmentProd SegmentMax SegmentMin")
def _segment(d: Draw, name: str) -> Sample:
    shape = d.shape(1)
    ids = np.sort(d.random.randint(0, 5, shape[0]))
    if d.chance(0.04) and len(ids) > 1:
        ids = ids[::-1]
    if d.chance(0.04):
        ids = ids[1:]
    # The larger of two numbers depends on vectorization if one is NaN.
    edges = 0 if name[-3:] in ("Max", "Min") else 0.3
    return op(name, d.values(d.types(name), shape, edges), _index(d, ids))


@calls("UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin")
def _unsorted_segment(d: Draw, name: str) -> Sample:
    shape = d.shape(1)
    depth = d.number(0, len(shape)) if d.chance(0.5) else 1
    ids = d.random.randint(-1, 4, shape[:depth])
    count = d.number(4, 6) if d.chance(0.95) else d.number(-1, 2)
    edges = 0 if name[-3:] in ("Max", "Min") else 0.3
    return op(name, d.values(d.types(name), shape, edges), _index(d, ids), _index(d, count))


@calls("""SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN SparseSegmentSumWithNumSegments
SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments""")
def _sparse_segment(d: Draw, name: str) -> Sample:
    shape = d.shape(1, 3)
    # Without indices TensorFlow's gradient is uninitialized memory.
    count = d.number(1, 6)
    ids = np.sort(d.random.randint(0, 4, count))
    if d.chance(0.04) and count > 1:
        ids = ids[::-1]
    rest = [_index(d, d.number(4, 6) if d.chance(0.95) else 1)] if name.endswith("Segments") else []
    return op(
        name, d.values(d.types(name), shape), d.indices((count,), shape[0]), _index(d, ids), *rest
    )


@calls("SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad")
def _sparse_segment_gradient(d: Draw, name: str) -> Sample:
    shape = (4, *d.shape(0, 2))
    count, rows = d.number(1, 6), d.number(1, 5)
    ids = np.sort(d.random.randint(0, 4, count))
    return op(name, d.values(d.types(name), shape), d.indices((count,), rows), _index(d, ids),
              np.array(rows, np.int32))  # fmt: skip


@calls("DynamicPartition")
def _partition(d: Draw, name: str) -> Sample:
    shape = d.shape()
    count = d.number(1, 4)
    indices = d.indices(shape[: d.number(0, len(shape))], count, "int32")
    return op(name, d.values(d.types(name), shape), indices, num_partitions=count)


@calls("DynamicStitch ParallelDynamicStitch")
def _stitch(d: Draw, name: str) -> Sample:
    tail, word = d.shape(0, 2), d.types(name)
    order = d.random.permutation(d.number(0, 8)).astype(np.int32)
    cut = d.number(0, len(order))
    parts = [order[:cut], order[cut:]]
    if d.chance(0.3) and len(parts[0]) == 1:
        parts[0] = parts[0][0]
    return op(
        name,
        Many([np.asarray(p) for p in parts]),
        Many([d.values(word, (*np.shape(p), *tail)) for p in parts]),
    )


@calls("Pad PadV2 MirrorPad MirrorPadGrad")
def _pad(d: Draw, name: str) -> Sample:
    # TensorFlow pads at most six dimensions and mirrors at most five; tfnb has no limit here.
    shape = d.shape(0, 4, 4)[: 5 if name.startswith("Mirror") else 6]
    word = d.types(name)
    if name.startswith("Mirror"):
        mode = d.one("REFLECT SYMMETRIC")
        room = [max(s - (mode == "REFLECT"), 0) for s in shape]
        pads = [[d.number(0, r + d.chance(0.02)), d.number(0, r)] for r in room]
        if name == "MirrorPadGrad":
            shape = tuple(s + a + b for s, (a, b) in zip(shape, pads, strict=True))
        return op(name, d.values(word, shape), _index(d, np.array(pads).reshape(-1, 2)), mode=mode)
    pads = [[d.number(-1 if d.chance(0.01) else 0, 3), d.number(0, 3)] for _ in shape]
    rest = [d.values(word, ())] if name == "PadV2" else []
    return op(name, d.values(word, shape), _index(d, np.array(pads).reshape(-1, 2)), *rest)


@calls("ReverseV2 Reverse")
def _reverse(d: Draw, name: str) -> Sample:
    shape = d.shape()
    x = d.values(d.types(name), shape)
    if name == "Reverse":
        return op(name, x, d.values("bool", (len(shape),)))
    return op(name, x, d.axes(len(shape)))


@calls("ReverseSequence")
def _reverse_sequence(d: Draw, name: str) -> Sample:
    # TensorFlow takes at most five dimensions; tfnb has no limit here.
    shape = d.shape(2)[:5]
    batch, seq = (int(a) for a in d.random.permutation(len(shape))[:2])
    lengths = d.random.randint(0, shape[seq] + 1, shape[batch])
    return op(
        name, d.values(d.types(name), shape), _index(d, lengths), seq_dim=seq, batch_dim=batch
    )


@calls("Roll")
def _roll(d: Draw, name: str) -> Sample:
    shape = d.shape(1)
    count = d.number(1, 3)
    axes = [d.axis(len(shape)) for _ in range(count)]
    shift = [d.number(-7, 7) for _ in range(count)]
    x = d.values(d.types(name), shape)
    if d.chance(0.3):
        return op(name, x, _index(d, shift[0]), _index(d, axes[0]))
    return op(name, x, _index(d, shift), _index(d, axes))


@calls("OneHot")
def _one_hot(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape(0, 3)
    indices = d.random.randint(-1, 5, shape)
    indices = np.asarray(
        np.maximum(indices, 0) if d.chance(0.5) else indices,
        d.one([np.int32, np.int64, np.uint8, np.int8]),
    )
    depth = np.array(d.number(0, 5), np.int32)
    on, off = d.values(word, ()), d.values(word, ())
    return op(name, indices, depth, on, off, axis=d.number(-1, len(shape)))


@calls("Where")
def _where(d: Draw, name: str) -> Sample:
    # TensorFlow declares float16 and has no kernel for it.
    return op(name, d.values(d.types(name, without="float16"), d.shape(1)))


@calls("Unique UniqueWithCounts UniqueV2 UniqueWithCountsV2")
def _unique(d: Draw, name: str) -> Sample:
    word = d.types(name)
    out = d.one(_INTEGERS)
    if not name.endswith("V2"):
        return op(name, d.values(word, (d.number(0, 9),)), out_idx=out)
    shape = d.shape(1, 3, 3)
    x = d.values(word, shape)
    axis = d.axis(len(shape))
    axes = [axis] if len(shape) > 1 or d.chance(0.5) else []
    return op(name, x, _index(d, axes), out_idx=out)


@calls("ListDiff")
def _list_diff(d: Draw, name: str) -> Sample:
    word = d.types(name)
    return op(
        name,
        d.values(word, (d.number(0, 9),)),
        d.values(word, (d.number(0, 9),)),
        out_idx=d.one(_INTEGERS),
    )


@calls("TopKV2")
def _top_k(d: Draw, name: str) -> Sample:
    shape = d.shape(1)
    x = d.values(d.types(name, without="complex64 complex128"), shape)
    if x.dtype.kind not in "iub":
        x = np.where(np.isnan(x), 0, x).astype(x.dtype)
    k = d.number(0, shape[-1] + d.chance(0.05))
    return op(name, x, np.array(k, np.int32), sorted=True)


@calls("NthElement")
def _nth(d: Draw, name: str) -> Sample:
    shape = d.shape(1)
    return op(
        name,
        d.values(d.types(name), shape, 0),
        np.array(d.number(0, shape[-1]), np.int32),
        reverse=d.chance(0.5),
    )


@calls("LowerBound UpperBound")
def _bound(d: Draw, name: str) -> Sample:
    word = d.types(name, without="bool complex64 complex128 string")
    rows = d.number(0, 3)
    return op(
        name,
        np.sort(d.values(word, (rows, d.number(0, 6)), 0), -1),
        d.values(word, (rows, d.number(0, 6)), 0),
        out_type=d.one(_INTEGERS),
    )


@calls("Bitcast")
def _bitcast(d: Draw, name: str) -> Sample:
    words = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64"
    source, target = d.one(words), d.one(words)
    ratio = np.dtype(NUMPY_TYPES[target]).itemsize // np.dtype(NUMPY_TYPES[source]).itemsize
    shape = d.shape()
    if ratio > 1:
        shape = (*shape, ratio + d.chance(0.05))
    return op(name, d.values(source, shape), type=target)


@calls("""MatrixDiag MatrixDiagPart MatrixSetDiag Diag DiagPart""")
def _diag(d: Draw, name: str) -> Sample:
    word = d.types(name)
    if name == "Diag":
        return op(name, d.values(word, d.shape(0, 3, 3)))
    if name == "DiagPart":
        half = d.shape(0, 2, 3)
        return op(name, d.values(word, half + half))
    if name == "MatrixDiag":
        return op(name, d.values(word, d.shape(1, 3)))
    shape = d.shape(2)
    x = d.values(word, shape)
    if name == "MatrixDiagPart":
        return op(name, x)
    return op(name, x, d.values(word, (*shape[:-2], min(shape[-2:]))))


@calls(
    "MatrixDiagPartV2 MatrixDiagPartV3 MatrixSetDiagV2 MatrixSetDiagV3 MatrixDiagV2 MatrixDiagV3"
)
def _diag_band(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape(2, 4)
    rows, columns = shape[-2:]
    low = d.number(-max(rows, 1) + 1, max(columns, 1) - 1)
    high = d.number(low, max(columns, 1) - 1)
    if d.chance(0.4):
        high = low
    k = np.array(low if low == high and d.chance(0.5) else [low, high], np.int32)
    longest = min(rows + min(high, 0), columns + min(-low, 0))
    band = (high - low + 1, longest) if low != high else (longest,)
    # TensorFlow's gradient of the second versions uses the alignment of the third ones, and takes
    # other elements.
    attrs: Any = (
        {"align": d.one("LEFT_RIGHT RIGHT_LEFT LEFT_LEFT RIGHT_RIGHT")}
        if name.endswith("V3")
        else {}
    )
    attrs["gradient"] = name.endswith("V3")
    return _banded(d, name, word, shape, k, band, attrs)


def _banded(
    d: Draw, name: str, word: str, shape: tuple[int, ...], k: Any, band: Any, attrs: Any
) -> Sample:
    gradient = attrs.pop("gradient")
    rows, columns = shape[-2:]
    if "Part" in name:
        row = op(name, d.values(word, shape), k, d.values(word, ()), **attrs)
        return replace(row, gradient=gradient)
    diagonals = d.values(word, (*shape[:-2], *(max(b, 0) for b in band)))
    if "Set" in name:
        row = op(name, d.values(word, shape), diagonals, k, **attrs)
        return replace(row, gradient=gradient)
    sizes = [np.array(v, np.int32) for v in ((rows, columns) if d.chance(0.6) else (-1, -1))]
    row = op(name, diagonals, k, *sizes, d.values(word, ()), **attrs)
    return replace(row, gradient=gradient)


@calls("MatrixBandPart")
def _band(d: Draw, name: str) -> Sample:
    shape = d.shape(2)
    target = d.one([np.int32, np.int64])
    bounds = [np.array(d.number(-1, max(s, 0)), target) for s in shape[-2:]]
    return op(name, d.values(d.types(name), shape), *bounds)


@calls("SpaceToDepth DepthToSpace")
def _depth(d: Draw, name: str) -> Sample:
    block = d.number(2, 3)
    n, h, w, c = d.number(0, 2), d.number(1, 3), d.number(1, 3), d.number(1, 3)
    shape = (n, h * block, w * block, c) if name == "SpaceToDepth" else (n, h, w, c * block * block)
    if d.chance(0.03):
        shape = (n, h + 1, w, c + 1)
    return op(name, d.values(d.types(name), shape), block_size=block)


@calls("SpaceToBatchND BatchToSpaceND SpaceToBatch BatchToSpace")
def _batch(d: Draw, name: str) -> Sample:
    space = 2 if not name.endswith("ND") else d.number(1, 3)
    block = [d.number(1, 3) for _ in range(space)] if name.endswith("ND") else [d.number(2, 3)] * 2
    tail = d.shape(1 if not name.endswith("ND") else 0, 1 if not name.endswith("ND") else 2, 3)[:2]
    word, target = d.types(name), d.one([np.int32, np.int64])
    extra = [[d.number(0, 2), d.number(0, 2)] for _ in range(space)]
    if name.startswith("Space"):
        dims = [
            b * d.number(1, 3) - (sum(p) % b if b else 0) for b, p in zip(block, extra, strict=True)
        ]
        shape = (d.number(0, 2), *(max(x, 0) for x in dims), *tail)
    else:
        shape = (d.number(0, 2) * int(np.prod(block)), *(d.number(1, 4) for _ in block), *tail)
    pads = np.array(extra, target).reshape(space, 2)
    x = d.values(word, shape)
    if name.endswith("ND"):
        return op(name, x, np.array(block, target), pads)
    return op(name, x, pads, block_size=block[0])


@calls("EnsureShape")
def _ensure(d: Draw, name: str) -> Sample:
    shape = d.shape()
    wanted: Any = [None if d.chance(0.3) else s + d.chance(0.05) for s in shape]
    return op(name, d.values(d.types(name), shape), shape=wanted)


@calls("UnravelIndex")
def _unravel(d: Draw, name: str) -> Sample:
    dims = [d.number(1, 4) for _ in range(d.number(1, 3))]
    word = d.one(_INTEGERS)
    return op(
        name, d.indices(d.shape(0, 1), int(np.prod(dims)), word), np.array(dims, NUMPY_TYPES[word])
    )


@calls("SparseToDense")
def _sparse_to_dense(d: Draw, name: str) -> Sample:
    shape = tuple(d.number(1, 4) for _ in range(d.number(1, 3)))
    flat = np.sort(d.random.permutation(int(np.prod(shape)))[: d.number(0, 5)])
    target = d.one([np.int32, np.int64])
    places = np.stack(np.unravel_index(flat, shape), -1).astype(target).reshape(-1, len(shape))
    if d.chance(0.05):
        places = places[::-1]
    word = d.types(name, "T")
    values = d.values(word, () if d.chance(0.2) else (len(places),))
    return op(
        name,
        places,
        np.array(shape, target),
        values,
        d.values(word, ()),
        validate_indices=d.chance(0.7),
    )


@calls("InplaceUpdate InplaceAdd InplaceSub")
def _inplace(d: Draw, name: str) -> Sample:
    shape = (d.number(1, 4), *d.shape(0, 2))
    rows = d.random.permutation(shape[0])[: d.number(0, shape[0])].astype(np.int32)
    word = d.types(name)
    return op(name, d.values(word, shape), rows, d.values(word, (len(rows), *shape[1:])))
