"""Rows for array ops: shapes, joining, slicing, gathering, padding, distinct elements."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import (
    INTEGERS,
    NUMBERS,
    REAL,
    Many,
    Sample,
    checked,
    integers,
    normal,
    op,
    sweep,
)

ANY = f"{NUMBERS} bool string"
EMPTY = np.zeros((0, 3), np.float32)
I64 = np.int64

SAMPLES: list[Sample | list[Sample]] = []


def _add(*rows: Sample | list[Sample]) -> None:
    SAMPLES.extend(rows)


def _constants() -> None:
    _add(
        sweep(ANY, "Fill", np.array([2, 3], np.int32), np.array(1), fixed=(0,)),
        op("Fill", np.array([], np.int32), 3.0),
        op("Fill", [0, 2], 3.0),
        op("Fill", np.array([2], I64), 3.0),
        op("Fill", [2, -1], 3.0, error="Dimension -1 must be >= 0"),
        sweep(ANY, "ZerosLike", [[1, 2], [3, 4]]),
        sweep(f"{NUMBERS} bool", "OnesLike", [[1, 2], [3, 4]]),
        op("ZerosLike", EMPTY),
        op("OnesLike", 3.0),
        checked(op("Empty", [2, 2], dtype="float32"), values=False),
        op("Placeholder", dtype="float32", shape=[2, None], error="You must feed a value"),
        op("PlaceholderWithDefault", normal(2, 3), shape=[2, None]),
        op("PlaceholderWithDefault", normal(2, 3), shape=[3, None], error="must be equal"),
    )


def _identity() -> None:
    for name in ("Identity", "StopGradient", "PreventGradient", "Snapshot"):
        _add(sweep("float int64 bool", name, [1, 2]))
    _add(
        op("IdentityN", Many([normal(2), integers(3), ["a"]])),
        sweep("string", "Identity", [1, 2]),
        op("GuaranteeConst", normal(2)),
        op("Bitcast", normal(2, 3), type="int32"),
        op("Bitcast", normal(2, 2), type="float64"),
        op("Bitcast", normal(2, 3), type="uint8"),
        op("Bitcast", np.float32(1), type="uint8"),
        op("Bitcast", np.arange(4, dtype=np.uint8), type="float32"),
        op("Bitcast", np.zeros((0, 2), np.float32), type="float64"),
        op("Bitcast", normal(2, 3), type="float64", error="Cannot bitcast"),
        op("Bitcast", np.arange(4, dtype=np.int16), type="half"),
        op("Bitcast", np.arange(4, dtype=np.int64), type="complex64"),
    )


def _shapes() -> None:
    for x in (normal(2, 3), EMPTY, np.float32(1)):
        _add(op("Shape", x), op("Size", x), op("Rank", x), op("Shape", x, out_type="int64"))
    _add(
        op("Shape", ["a", "b"]),
        op("Size", normal(2), out_type="int64"),
        op("ShapeN", Many([normal(2, 3), normal(4)])),
        op("ShapeN", Many([normal(2, 3), normal()]), out_type="int64"),
        sweep(ANY, "Reshape", np.arange(6), np.array([2, 3], np.int32), fixed=(1,)),
    )
    reshapes = [
        (normal(4), [2, 2]), (normal(4), [-1]), (normal(4), [2, -1]), (normal(4), [2, 1, -1]),
        (normal(1), []), (np.float32(3), [1, 1]), (EMPTY, [0, -1]), (EMPTY, [-1]), (EMPTY, [2, 0]),
        (EMPTY, [-1, 3]), (normal(2, 6), [3, 4]), (normal(4), np.array([4], I64)),
    ]  # fmt: skip
    _add(*[op("Reshape", x, np.array(s, getattr(s, "dtype", np.int32))) for x, s in reshapes])
    _add(
        op("Reshape", normal(4), [3], error="[Rr]eshape"),
        op("Reshape", normal(4), [-1, 3], error="multiple of 3|divisible by 3"),
        op("Reshape", normal(4), [-1, -1], error="Only one input size may be -1, not both 0 and 1"),
        op("Reshape", normal(4), [2, -2], error="Size 1 must be non-negative, not -2|Cannot|-2"),
        op("Reshape", normal(4), [[2, 2]], error="1-D|rank 1|vector"),
        op("Reshape", normal(4), [0, -1], error="[Rr]eshape"),
    )
    for axis in (0, 1, 2, -1, -2, -3):
        _add(op("ExpandDims", normal(2, 3), axis))
    _add(
        op("ExpandDims", np.float32(2), 0),
        op("ExpandDims", np.float32(2), np.array(-1, I64)),
        op("ExpandDims", normal(2), [1]),
        op("ExpandDims", normal(2), 3, error="3"),
        op("ExpandDims", normal(2), [1, 2], error="single value"),
        op("ExpandDims", ["a", "b"], 1),
        op("Squeeze", normal(1, 2, 1)),
        op("Squeeze", normal(1, 2, 1), squeeze_dims=[0]),
        op("Squeeze", normal(1, 2, 1), squeeze_dims=[-1, 0]),
        op("Squeeze", normal(1, 1)),
        op("Squeeze", normal(2, 3)),
        op("Squeeze", normal(1, 2), squeeze_dims=[1], error="Can not squeeze dim\\[1\\]"),
        op("Squeeze", normal(1, 2), squeeze_dims=[2], error="2"),
        op("Squeeze", [["a"]]),
        op("EnsureShape", normal(2, 3), shape=[2, None]),
        op("EnsureShape", normal(2, 3), shape=[3, None], error="not compatible|must be equal"),
    )


def _broadcasting() -> None:
    pairs = [
        ([1, 3], [1, 3]), ([1, 3], [1, 1]), ([1, 3], [3]), ([2, 1, 3], [3]), ([2, 1, 3], [1, 1]),
        ([], [1]), ([], []), ([2, 3], []), ([1], [1, 1, 1]), ([0, 1], [1, 1]), ([2, 0], [1]),
        ([5, 1, 1, 3], [1, 1, 3]), ([2, 3], [2, 1]),
    ]  # fmt: skip
    for kind in (np.int32, I64):
        for a, b in pairs[: 13 if kind is np.int32 else 4]:
            _add(
                op("BroadcastGradientArgs", np.array(a, kind), np.array(b, kind)),
                op("BroadcastArgs", np.array(a, kind), np.array(b, kind)),
            )
    _add(
        op("BroadcastArgs", [2, 3], [2], error="Incompatible shapes: \\[2,3\\] vs. \\[2\\]"),
        op("BroadcastGradientArgs", [2, 3], [2], error="Incompatible shapes"),
        op("BroadcastArgs", [[2]], [2], error="vector|rank 1"),
        sweep(ANY, "BroadcastTo", [[1], [2]], np.array([2, 3], np.int32), fixed=(1,)),
        op("BroadcastTo", normal(3), [2, 3]),
        op("BroadcastTo", np.float32(3), [2, 2]),
        op("BroadcastTo", np.float32(3), np.array([], np.int32)),
        op("BroadcastTo", normal(1, 3), [0, 3]),
        op("BroadcastTo", normal(2, 3), np.array([2, 3], I64)),
        op("BroadcastTo", normal(4), [3], error="[Ii]ncompatible shapes|must be equal"),
        op("BroadcastTo", normal(2, 2), [2], error="rank"),
    )


def _transposing() -> None:
    x = normal(2, 3, 4)
    _add(
        sweep(ANY, "Transpose", [[1, 2, 3], [4, 5, 6]], np.array([1, 0], np.int32), fixed=(1,)),
        op("Transpose", x, [2, 0, 1]),
        op("Transpose", x, np.array([0, 2, 1], I64)),
        op("Transpose", x, [0, 1, 2]),
        op("Transpose", x, [-1, 0, 1]),
        op("Transpose", np.float32(3), np.array([], np.int32)),
        op("Transpose", normal(3), [0]),
        op("Transpose", EMPTY, [1, 0]),
        op("Transpose", normal(1, 2), [0, 0], error="1 is missing from {0,0}"),
        op("Transpose", normal(1, 2), [0, 2], error="2"),
        op("Transpose", normal(1, 2), [0], error="[12]"),
        op(
            "ConjugateTranspose",
            (normal(2, 3) + 1j * normal(2, 3, seed=1)).astype(np.complex64),
            [1, 0],
        ),
        op("ConjugateTranspose", normal(2, 3), [1, 0]),
        op("InvertPermutation", [2, 0, 1]),
        op("InvertPermutation", np.array([1, 0], I64)),
        op("InvertPermutation", np.array([], np.int32)),
        op("InvertPermutation", [0, 0], error="0 is duplicated in the input"),
        op("InvertPermutation", [0, 5], error="5 is not between 0 and 2"),
        op("InvertPermutation", [[0]], error="1D|rank 1"),
        sweep(ANY, "ReverseV2", [[1, 2, 3], [4, 5, 6]], np.array([1], np.int32), fixed=(1,)),
        op("ReverseV2", x, [0, 2]),
        op("ReverseV2", x, [-1]),
        op("ReverseV2", x, np.array([], np.int32)),
        op("ReverseV2", x, np.array([1], I64)),
        op("ReverseV2", EMPTY, [0]),
        op("ReverseV2", x, [3], error="out of valid range"),
        op("ReverseV2", x, [1, -2], error="specified more than once"),
        op("Reverse", x, [True, False, True]),
        op("Reverse", x, [True], error="rank|same number"),
        op("ReverseSequence", normal(2, 4, 3), np.array([2, 3], I64), seq_dim=1),
        op("ReverseSequence", normal(4, 2, 3), [2, 4], seq_dim=0, batch_dim=1),
        op("ReverseSequence", normal(2, 4), [0, 4], seq_dim=1),
        op(
            "ReverseSequence",
            normal(2, 4),
            [0, 5],
            seq_dim=1,
            error="seq_lens\\(1\\) > input.dims\\(1\\)",
        ),
        op("ReverseSequence", normal(2, 4), [0, -1], seq_dim=1, error="seq_lens\\(1\\) < 0"),
        op("ReverseSequence", normal(2, 4), [0, 1, 2], seq_dim=1, error="seq_lens|must be equal"),
        op(
            "ReverseSequence", normal(2, 4), [0, 1], seq_dim=2, error="seq_dim must be < input rank"
        ),
        sweep("float int32 string", "Roll", [1, 2, 3, 4], np.array(1), np.array(0), fixed=(1, 2)),
        op("Roll", normal(2, 3), [1, -1], [0, 1]),
        op("Roll", normal(2, 3), [1, 1], [0, 0]),
        op("Roll", normal(2, 3), 5, -1),
        op("Roll", normal(2, 3), 5, 2, error="out of range"),
        op("Roll", normal(2, 3), [5], [0, 1], error="same size|must be equal"),
    )


def _joining() -> None:
    a, b = normal(2, 3), normal(2, 3, seed=1)
    _add(
        sweep(ANY, "Pack", Many([[1, 2], [3, 4]])),
        *[op("Pack", Many([a, b]), axis=axis) for axis in (0, 1, 2, -1, -3)],
        op("Pack", Many([1.0, 2.0, 3.0])),
        op("Pack", Many(["a", "b"])),
        op("Pack", Many([EMPTY, EMPTY])),
        op("Pack", Many([a])),
        op("Pack", Many([a, normal(3)]), error="[Ss]hapes"),
        op("Pack", Many([a, b]), axis=3, error="axis"),
        sweep(ANY, "Unpack", [[1, 2], [3, 4]], num=2),
        *[op("Unpack", normal(2, 3, 2), num=n, axis=x) for n, x in ((2, 0), (3, 1), (2, -1))],
        op("Unpack", normal(3), num=3),
        op("Unpack", ["a", "b"], num=2),
        op("Unpack", np.zeros((0, 2), np.float32), num=0),
        op("Unpack", normal(2), num=3, error="3"),
        op("Unpack", normal(2), num=3, axis=2, error="axis"),
        op("Unpack", np.float32(2), num=3, error="axis|rank"),
        sweep(ANY, "ConcatV2", Many([[1, 2], [3]]), np.array(0), fixed=(1,)),
        *[op("ConcatV2", Many([normal(2, 3), normal(2, 3, seed=1)]), x) for x in (0, 1, -1, -2)],
        op("ConcatV2", Many([normal(2, 1), normal(2, 3), normal(2, 2)]), np.array(1, I64)),
        op("ConcatV2", Many([EMPTY, normal(2, 3)]), 0),
        op("ConcatV2", Many([normal(2, 3)] * 18), 1),
        op("ConcatV2", Many([normal(1), normal(1, 1)]), 0, error="[Rr]ank"),
        op("ConcatV2", Many([normal(1, 2), normal(1, 1)]), 0, error="[Dd]imension"),
        op("ConcatV2", Many([normal(1), normal(1)]), 4, error="range \\[-1, 1\\), but got 4|rank"),
        op("ConcatV2", Many([1.0, 2.0]), 0, error="scalars|rank"),
        op("Concat", 0, Many([normal(2, 3), normal(1, 3)])),
        op("Concat", -1, Many([normal(2, 3), normal(2, 1)])),
        op("Concat", 0, Many([["a"], ["b"]])),
        op("Concat", 0, Many([normal(2, 3), normal(1, 2)]), error="[Dd]imension"),
        op("ParallelConcat", Many([normal(1, 3), normal(1, 3, seed=1)]), shape=[2, 3]),
        op("ConcatOffset", 1, Many([[2, 3], [2, 4], [2, 1]])),
        op("ConcatOffset", -1, Many([[2, 3], [2, 4], [2, 1]])),
        op("ConcatOffset", 0, Many([np.array([2, 3], I64), np.array([1, 3], I64)])),
        op("ConcatOffset", 0, Many([[1, 2], [1, 3]]), error="All dimensions except 0 must match"),
        op("ConcatOffset", 5, Many([[1, 2], [1, 2]]), error="Concat dim is out of range: 5 vs. 2"),
        op("ConcatOffset", 0, Many([[1, 2], [1]]), error="should contain 2 elements"),
        sweep(ANY, "Split", 0, [1, 2, 3, 4], fixed=(0,), num_split=2),
        *[op("Split", x, normal(2, 4, 6), num_split=2) for x in (0, 1, 2, -1, -3)],
        op("Split", 0, EMPTY, num_split=2),
        op("Split", 0, normal(4), num_split=1),
        op("Split", 0, normal(4), num_split=3, error="3"),
        op("Split", 1, normal(4), num_split=2, error="1"),
        op("SplitV", normal(6, 2), [1, 2, 3], 0, num_split=3),
        op("SplitV", normal(6, 2), [1, -1, 3], 0, num_split=3),
        op("SplitV", normal(2, 6), np.array([2, 4], I64), -1, num_split=2),
        op("SplitV", normal(2, 6), np.array([6], I64), 1, num_split=1),
        op("SplitV", normal(6), np.array([0, 6], I64), 0, num_split=2),
        op("SplitV", ["a", "b", "c"], [1, 2], 0, num_split=2),
        op("SplitV", normal(4), [1, 2], 0, num_split=2, error="split"),
        op("SplitV", normal(4), [1, -1, -1], 0, num_split=3, error="only (be|have) one -1"),
        op("SplitV", normal(4), [5, -1], 0, num_split=2, error="split"),
        op(
            "SplitV",
            normal(4),
            [4],
            0,
            num_split=2,
            error="[Ss]ame elements|must be equal|should be equal",
        ),
        op("SplitV", normal(4), [1, 3], 2, num_split=2, error="2|rank"),
        sweep(ANY.replace("uint16 ", ""), "Tile", [1, 2], np.array([3], np.int32), fixed=(1,)),
        op("Tile", normal(2, 3), [2, 1]),
        op("Tile", normal(2, 3), [1, 1]),
        op("Tile", normal(2, 3), np.array([2, 2], I64)),
        op("Tile", normal(2, 3), [0, 2]),
        op("Tile", np.float32(2), np.array([], np.int32)),
        op("Tile", normal(2), [1, 2], error="length 1|rank"),
        op("Tile", normal(2), [-1], error="multiples\\[0\\] >= 0|-1|must be >= 0"),
    )


def _slicing() -> None:
    x = normal(4, 5, 6)
    _add(
        sweep(ANY, "Slice", [1, 2, 3, 4], np.int32([1]), np.int32([2]), fixed=(1, 2)),
        op("Slice", x, [1, 0, 2], [2, -1, 3]),
        op("Slice", x, np.array([0, 0, 0], I64), np.array([-1, -1, -1], I64)),
        op("Slice", x, [4, 0, 0], [0, 1, 1]),
        op("Slice", np.float32(1), np.array([], np.int32), np.array([], np.int32)),
        op("Slice", EMPTY, [0, 1], [0, 2]),
        op("Slice", x, [0], [1], error="size 3|rank"),
        op("Slice", x, [0, 6, 0], [1, 1, 1], error="begin\\[1\\] in \\[0, 5\\], but got 6"),
        op("Slice", x, [0, 1, 0], [1, 5, 1], error="size\\[1\\] in \\[0, 4\\], but got 5"),
        op("Slice", x, [0, -1, 0], [1, 1, 1], error="begin\\[1\\] in \\[0, 5\\], but got -1"),
        op("Slice", EMPTY, [1, 1], [0, 1], error="Expected begin\\[0\\] == 0"),
        sweep(
            ANY, "StridedSlice", [1, 2, 3, 4], np.array([1], np.int32), np.array([4], np.int32),
            np.array([2], np.int32), fixed=(1, 2, 3),
        ),
    )  # fmt: skip
    good: list[tuple[list[int], list[int], list[int], dict[str, int]]] = [
        ([0], [2], [1], {}),
        ([1, 2], [3, 4], [1, 1], {}),
        ([-1], [-5], [-1], {}),
        ([3, 4, 5], [0, 0, 0], [-1, -2, -3], {}),
        ([0, 0], [0, 0], [1, 1], {"begin_mask": 3, "end_mask": 3}),
        ([0, 0], [0, 0], [-1, 2], {"begin_mask": 3, "end_mask": 3}),
        ([1], [2], [1], {"shrink_axis_mask": 1}),
        ([-1], [0], [1], {"shrink_axis_mask": 1}),
        ([1, 2, 3], [2, 3, 4], [1, 1, 1], {"shrink_axis_mask": 7}),
        ([0, 1], [0, 2], [1, 1], {"ellipsis_mask": 1, "shrink_axis_mask": 2}),
        ([1, 0, 2], [3, 0, 4], [1, 1, 1], {"ellipsis_mask": 2}),
        ([0, 0, 1], [0, 0, 2], [1, 1, 1], {"new_axis_mask": 1, "ellipsis_mask": 2}),
        (
            [0, 0, 0, 0],
            [0, 0, 0, 0],
            [1, 1, 1, 1],
            {"new_axis_mask": 8, "begin_mask": 7, "end_mask": 7},
        ),
        ([0, 0, 0], [0, 0, 3], [1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 2}),
        ([10], [20], [1], {}),
        ([3], [1], [1], {}),
        ([-10], [20], [3], {}),
        ([0, 1, 2, 0], [0, 3, 5, 0], [1, 1, 2, 1], {"new_axis_mask": 9, "shrink_axis_mask": 2}),
        ([], [], [], {}),
    ]
    for begin, end, strides, masks in good:
        spec = [np.array(v, np.int32) for v in (begin, end, strides)]
        _add(op("StridedSlice", x, *spec, **masks))
        shape = np.array(x.shape, np.int32)
        part = _part(x, begin, end, strides, **masks)
        if part is not None:
            _add(op("StridedSliceGrad", shape, *spec, part, **masks))
    bad: list[tuple[list[int], list[int], list[int], dict[str, int], str]] = [
        ([5], [6], [1], {"shrink_axis_mask": 1}, "slice index 5 of dimension 0 out of bounds"),
        ([-5], [6], [1], {"shrink_axis_mask": 1}, "slice index -1 of dimension 0 out of bounds"),
        ([0], [2], [0], {}, "strides\\[0\\] must be non-zero"),
        ([0], [2], [-1], {"shrink_axis_mask": 1}, "only stride 1 allowed"),
        ([0] * 4, [1] * 4, [1] * 4, {}, "input has only 3 dims"),
        ([0, 0], [1, 1], [1, 1], {"ellipsis_mask": 3}, "Multiple ellipses"),
    ]
    for begin, end, strides, masks, message in bad:
        _add(op("StridedSlice", x, begin, end, strides, error=message, **masks))
    _add(
        op("StridedSlice", np.float32(1), [0], [1], [1], error="scalar input"),
        op("StridedSlice", x, [0], [1, 2], [1], error="equal|1D"),
        op("StridedSlice", x, [0], [], [1], shrink_axis_mask=1, error="equal|1D"),
        op("StridedSlice", x, [0], 1, [1], shrink_axis_mask=1, error="rank 1|1D"),
        op("StridedSlice", x, np.array([1], I64), np.array([2], I64), np.array([1], I64)),
        op(
            "StridedSliceGrad",
            [3],
            [0],
            [2],
            [1],
            normal(1),
            error="shape of dy was \\[1\\] instead of \\[2\\]",
        ),
        op("StridedSliceAssign", normal(3, 2), [0], [2], [1], normal(2, 2, seed=1)),
        op(
            "StridedSliceAssign", normal(3, 2), [1], [2], [1], normal(2, seed=1), shrink_axis_mask=1
        ),
        op("TensorStridedSliceUpdate", normal(3, 2), [0], [3], [2], normal(2, 2, seed=1)),
    )


def _part(
    x,
    begin,
    end,
    strides,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
):  # type: ignore[no-untyped-def]
    """Return what NumPy takes with the same index."""
    index: list[object] = []
    for i in range(len(begin)):
        if ellipsis_mask >> i & 1:
            index.append(Ellipsis)
        elif new_axis_mask >> i & 1:
            index.append(None)
        elif shrink_axis_mask >> i & 1:
            index.append(begin[i])
        else:
            index.append(
                slice(
                    None if begin_mask >> i & 1 else begin[i],
                    None if end_mask >> i & 1 else end[i],
                    strides[i],
                )
            )
    return np.array(x[tuple(index)])


def _gathering() -> None:
    x = normal(3, 4, 2)
    _add(
        sweep(
            ANY,
            "GatherV2",
            [[1, 2], [3, 4]],
            np.array([1, 0, 1], np.int32),
            np.array(0),
            fixed=(1, 2),
        ),
        sweep(
            "float string", "Gather", [[1, 2], [3, 4]], np.array([1, 0, 1], np.int32), fixed=(1,)
        ),
        op("Gather", x, [[0, 1], [2, 0]]),
        op("Gather", x, 1),
        op("Gather", x, [0, 7], error="indices\\[1\\] = 7 is not in \\[0, 3\\)"),
        op("Gather", x, [[0], [-1]], error="indices\\[1,0\\] = -1 is not in \\[0, 3\\)"),
        *[op("GatherV2", x, [[1, 0], [1, 1]], axis) for axis in (0, 1, 2, -1)],
        op("GatherV2", x, 1, 1),
        op("GatherV2", ["a", "b"], 1, 0),
        op("GatherV2", x, np.array([0, 2], I64), np.array(0, I64)),
        op("GatherV2", x, np.zeros((0,), np.int32), 0),
        op("GatherV2", EMPTY, np.zeros((0,), np.int32), 0),
        op("GatherV2", x, [[0], [1], [3]], 1, batch_dims=1),
        op("GatherV2", x, [[0, 1], [1, 1], [1, 0]], 2, batch_dims=1),
        op("GatherV2", x, np.zeros((3, 4, 1), np.int32), 2, batch_dims=2),
        op("GatherV2", x, [0, 4], 1, error="indices\\[1\\] = 4 is not in \\[0, 4\\)"),
        op("GatherV2", x, 7, 0, error="indices = 7 is not in \\[0, 3\\)"),
        op("GatherV2", x, [0], 3, error="rank 4"),
        op("GatherV2", np.float32(1), [0], 0, error="at least (rank )?1"),
        op("GatherV2", x, [[0], [1], [7]], 1, batch_dims=1, error="indices\\[2,0\\] = 7 is not in"),
        op("GatherV2", x, [[0], [1]], 1, batch_dims=1, error="equal"),
        op("GatherV2", x, [[0], [1], [1]], 0, batch_dims=1, error="less than or equal to axis"),
        sweep(ANY, "GatherNd", [[1, 2], [3, 4]], np.array([[1, 0], [0, 1]], np.int32), fixed=(1,)),
        op("GatherNd", x, [[0], [2]]),
        op("GatherNd", x, [0, 1, 1]),
        op("GatherNd", x, [[[0, 1], [2, 3]]]),
        op("GatherNd", x, np.array([[2, 3, 1]], I64)),
        op("GatherNd", x, np.zeros((2, 0), np.int32)),
        op("GatherNd", x, np.zeros((0, 2), np.int32)),
        op(
            "GatherNd",
            x,
            [[0, 5]],
            error="indices\\[0\\] = \\[0, 5\\] does not index into param shape \\[3,4,2\\]",
        ),
        op("GatherNd", x, [[0, 5], [1, 1]], bad_indices_policy="IGNORE"),
        op("GatherNd", x, [[0, 0, 0, 0]], error="params"),
        op("GatherNd", x, 0, error="at least"),
        op("GatherNd", EMPTY, [[0]], error="params is empty"),
        sweep(
            NUMBERS,
            "ScatterNd",
            np.array([[1], [3], [1]], np.int32),
            [1, 2, 3],
            np.array([5], np.int32),
            fixed=(0, 2),
        ),
        op("ScatterNd", [[0], [2]], normal(2, 3), [4, 3]),
        op("ScatterNd", [[0, 1], [2, 2]], normal(2), [4, 3]),
        op("ScatterNd", np.array([[0, 1]], I64), normal(1), np.array([4, 3], I64)),
        op(
            "ScatterNd",
            [[0], [7]],
            normal(2),
            [5],
            error="indices\\[1\\] = \\[7\\] does not index into shape \\[5\\]",
        ),
        op("ScatterNd", [[0], [7]], normal(2), [5], bad_indices_policy="IGNORE"),
        op("ScatterNd", [[0], [1]], normal(3), [5], error="must match dimensions|Dimensions"),
        op("ScatterNd", [[0], [1]], normal(2, 1), [5], error="must match dimensions|Dimensions"),
        op("ScatterNd", [[0], [1]], normal(2), [0], error="empty (output|input)|does not index"),
        op("ScatterNd", np.zeros((0, 1), np.int32), np.zeros((0,), np.float32), [3]),
        op("ScatterNdNonAliasingAdd", normal(4), [[0], [2], [0]], normal(3)),
    )
    for name in ("Update", "Add", "Sub", "Min", "Max"):
        _add(
            sweep(
                "float int32",
                f"TensorScatter{name}",
                [1, 5, 3, 2],
                np.array([[3], [1]], np.int32),
                [4, 2],
                fixed=(1,),
            ),
            op(f"TensorScatter{name}", normal(4, 2), [[3], [0]], normal(2, 2)),
            op(f"TensorScatter{name}", normal(4, 2), [[3, 1], [0, 0]], normal(2)),
        )
    _add(
        op("TensorScatterAdd", normal(4), [[1], [1], [1], [0]], normal(4, seed=1)),
        op("TensorScatterUpdate", ["a", "b"], [[1]], ["c"]),
        op(
            "TensorScatterUpdate",
            normal(3),
            [[0], [7]],
            normal(2),
            error="\\[7\\] does not index into shape \\[3\\]",
        ),
        op(
            "TensorScatterUpdate",
            normal(3),
            [[0], [1]],
            normal(3),
            error="Outer dimensions|Dimensions",
        ),
        sweep(
            f"{NUMBERS} bool string",
            "OneHot",
            np.array([0, 2, -1, 5], np.int32),
            np.array(3),
            np.array(1),
            np.array(0),
            fixed=(0, 1),
        ),
        *[op("OneHot", [[0, 2], [1, 1]], 3, 5.0, -1.0, axis=axis) for axis in (-1, 0, 1, 2)],
        *[op("OneHot", np.array([0, 1], kind), 3, 1.0, 0.0) for kind in (np.uint8, np.int8, I64)],
        op("OneHot", 1, 3, 1.0, 0.0),
        op("OneHot", [0], 0, 1.0, 0.0),
        op("OneHot", [0], -3, 1.0, 0.0, error="depth must be non-negative"),
        op("OneHot", [0], 3, 1.0, 0.0, axis=2, error="axis|rank"),
        sweep(f"{INTEGERS} float double bool", "Where", [[0, 1], [2, 0]]),
        op("Where", np.zeros((2, 3), bool)),
        op("Where", np.array(True), error="Unhandled input dimensions: 0"),
        op("Where", np.zeros((0, 2), bool)),
        op("Where", [float("nan"), 0.0, -0.0]),
        op("LowerBound", [[1.0, 2.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]], [[2.0, 0.0], [5.0, 1.5]]),
        op(
            "UpperBound",
            [[1.0, 2.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]],
            [[2.0, 0.0], [5.0, 1.5]],
            out_type="int64",
        ),
    )


def _padding() -> None:
    x = normal(2, 3)
    _add(
        sweep(
            f"{NUMBERS} bool",
            "Pad",
            [[1, 2], [3, 4]],
            np.array([[1, 0], [0, 2]], np.int32),
            fixed=(1,),
        ),
        op("Pad", ["a"], [[1, 1]]),
        op("Pad", x, np.array([[1, 1], [2, 0]], I64)),
        op("Pad", x, [[0, 0], [0, 0]]),
        op("Pad", EMPTY, [[1, 0], [0, 0]]),
        op("Pad", np.float32(2), np.zeros((0, 2), np.int32)),
        op("Pad", x, [[1, 1]], error="rank of inputs|rank"),
        op("Pad", x, [[1, -1], [0, 0]], error="non-negative"),
        sweep(
            "float int32 string",
            "PadV2",
            [1, 2],
            np.array([[1, 1]], np.int32),
            np.array(9),
            fixed=(1,),
        ),
        *[op("MirrorPad", x, [[1, 1], [2, 1]], mode=mode) for mode in ("REFLECT", "SYMMETRIC")],
        op("MirrorPad", x, [[2, 0], [0, 3]], mode="SYMMETRIC"),
        op("MirrorPad", ["a", "b"], [[1, 1]], mode="REFLECT"),
        op(
            "MirrorPad",
            x,
            [[2, 0], [0, 0]],
            mode="REFLECT",
            error="less than the dimension size: 2, 0",
        ),
        op(
            "MirrorPad",
            x,
            [[3, 0], [0, 0]],
            mode="SYMMETRIC",
            error="no greater than the dimension",
        ),
        op("MirrorPadGrad", normal(4, 6), [[1, 1], [2, 1]], mode="REFLECT"),
        op("MirrorPadGrad", normal(4, 6), [[1, 1], [2, 1]], mode="SYMMETRIC"),
    )


def _spaces() -> None:
    _add(
        sweep(
            "float int32 uint8 half",
            "DepthToSpace",
            np.arange(16).reshape(1, 2, 2, 4),
            block_size=2,
        ),
        op("DepthToSpace", normal(2, 1, 2, 18), block_size=3),
        op("DepthToSpace", normal(1, 1, 2, 6), block_size=2, error="divisible by:? 4"),
        op("DepthToSpace", normal(2, 3), block_size=2, error="rank"),
        sweep(
            "float int32 uint8 half",
            "SpaceToDepth",
            np.arange(16).reshape(1, 4, 4, 1),
            block_size=2,
        ),
        op("SpaceToDepth", normal(2, 3, 6, 2), block_size=3),
        op("SpaceToDepth", normal(1, 1, 2, 6), block_size=2, error="divisible"),
        op("SpaceToBatchND", normal(1, 4, 6, 2), [2, 3], [[0, 0], [0, 0]]),
        op("SpaceToBatchND", normal(2, 3, 2), [2], [[1, 0]]),
        op("SpaceToBatchND", normal(2, 3, 2), [2], [[0, 0]], error="divisible"),
        op("BatchToSpaceND", normal(6, 2, 3, 1), [2, 3], [[0, 0], [0, 0]]),
        op("BatchToSpaceND", normal(4, 2, 3), np.array([2], I64), np.array([[1, 0]], I64)),
        op("BatchToSpaceND", normal(3, 2, 3), [2], [[1, 0]], error="divisible"),
        op("SpaceToBatch", normal(1, 3, 4, 2), [[1, 0], [0, 0]], block_size=2),
        op("BatchToSpace", normal(4, 2, 2, 2), [[1, 0], [0, 1]], block_size=2),
    )


def _distinct() -> None:
    _add(
        sweep(f"{REAL} string bool", "Unique", [3, 1, 3, 2, 1]),
        op("Unique", [float("nan"), float("nan"), 0.0, -0.0]),
        op("Unique", integers(50, low=0, high=9), out_idx="int64"),
        op("Unique", np.zeros(0, np.float32)),
        op("Unique", normal(2, 2), error="1D|rank 1"),
        op("UniqueV2", integers(20, low=0, high=5), np.zeros(0, np.int64)),
        op("UniqueV2", [[1, 2], [3, 4], [1, 2]], [0]),
        op("UniqueV2", [[1, 2, 1], [3, 4, 3]], [1]),
        op("UniqueV2", [[1, 2, 1], [3, 4, 3]], [-1]),
        op("UniqueV2", [[1, 2]], [5], error="\\[0, 2\\)"),
        op("UniqueWithCounts", [3, 1, 3, 2, 1]),
        op("UniqueWithCounts", ["a", "b", "a"], out_idx="int64"),
        op("UniqueWithCountsV2", [[1, 2], [3, 4], [1, 2]], [0]),
        sweep(f"{INTEGERS} float string", "ListDiff", [1, 2, 3, 1], [2], out_idx="int64"),
        op("ListDiff", normal(2, 2), normal(2), error="1D|rank 1"),
    )


def _diagonals() -> None:
    m, batch = normal(3, 4), normal(2, 3, 4)
    wide = f"{NUMBERS} bool"
    few = "float double half bfloat16 int32 int64 complex64 complex128"
    _add(
        sweep(few, "Diag", [1, 2]),
        op("Diag", normal(2, 3)),
        op("Diag", np.float32(1), error="at least rank 1"),
        sweep(few, "DiagPart", [[1, 2], [3, 4]]),
        op("DiagPart", normal(2, 3, 2, 3)),
        op("DiagPart", m, error="do not match|must be equal"),
        sweep(wide, "MatrixDiag", [1, 2]),
        op("MatrixDiag", batch),
        sweep(wide, "MatrixDiagPart", [[1, 2], [3, 4]]),
        op("MatrixDiagPart", batch),
        op("MatrixDiagPart", normal(3), error="at least (2-dim|rank 2)"),
        sweep(wide, "MatrixSetDiag", [[1, 2], [3, 4]], [0, 1]),
        op("MatrixSetDiag", batch, normal(2, 3)),
        op("MatrixSetDiag", m, normal(2), error="diagonal|must be equal"),
        op("MatrixDiagPartV2", m, [-1, 1], 9.0),
        # TensorFlow's gradient of this older op takes the diagonals from the wrong side.
        checked(op("MatrixDiagV2", normal(2, 3), [0, 1], -1, -1, 9.0), gradient=False),
        op("MatrixSetDiagV2", m, normal(2, 3), [0, 1]),
        op("MatrixDiagPartV3", m, 5, 9.0, error="out of bound"),
        op("MatrixDiagPartV3", m, [1, 0], 9.0, error="larger than|greater than"),
        op("MatrixDiagV3", normal(1, 3), 0, 2, 3, 0.0, error="The number of rows is too small"),
        op("MatrixDiagV3", normal(1, 3), 0, 5, 5, 0.0, error="not consistent"),
        op("MatrixDiagV3", normal(3, 2), [0, 1], -1, -1, 0.0, error="diagonals"),
    )
    for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
        _add(
            op("MatrixDiagPartV3", batch, [-2, 1], 9.0, align=align),
            op("MatrixDiagV3", normal(2, 3, 4), [-1, 1], -1, -1, 9.0, align=align),
            op("MatrixDiagV3", normal(2, 3), [-2, -1], 5, -1, 9.0, align=align),
            op("MatrixSetDiagV3", batch, normal(2, 3, 3), [-1, 1], align=align),
        )
    _add(
        *[op("MatrixDiagPartV3", batch, k, 0.0) for k in (0, 1, -2, 3)],
        *[op("MatrixDiagV3", normal(2, 3), k, -1, -1, 0.0) for k in (0, 1, -2)],
        op("MatrixDiagV3", normal(1, 3), 0, 5, 3, 7.0),
        op("MatrixSetDiagV3", m, normal(3), 0),
        op("MatrixSetDiagV3", m, normal(2), -1),
        sweep(
            wide,
            "MatrixBandPart",
            [[1, 2], [3, 4]],
            np.array(0, I64),
            np.array(-1, I64),
            fixed=(1, 2),
        ),
        *[
            op("MatrixBandPart", batch, low, high)
            for low, high in ((1, 0), (-1, 1), (0, 0), (3, 4))
        ],
        op("MatrixBandPart", m, 5, 0, error="num_lower must be negative or less or equal"),
        op("MatrixBandPart", m, [1], 0, error="num_lower must be scalar|rank"),
    )


_constants()
_diagonals()
_identity()
_shapes()
_broadcasting()
_transposing()
_joining()
_slicing()
_gathering()
_padding()
_spaces()
_distinct()
