"""Rows of Assert, Print and the summaries' ops."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Many, checked, normal, op, sweep, uniform

_MATRIX = [[1, 2, 3], [4, 5, 6]]

SAMPLES = [
    op("Assert", True, Many(["never seen", 1])),
    op("Assert", False, Many(["x is", 1.5]), error=r"assertion failed: \[x is\] \[1.5\]"),
    op("Assert", False, Many([_MATRIX]), summarize=4, error=r"\[\[1 2 3\]\[4\.\.\.\]\.\.\.\]"),
    op("Assert", False, Many([[True], "x"]), summarize=0, error=r"failed: \[\] \[\.\.\.\]"),
    op(
        "Assert", False, Many([np.ones((2, 3), np.complex64)]), summarize=4,
        error=r"failed: \[\? \? \? \?\.\.\.\]",
    ),
    op("Assert", [False], Many([1]), error=r"In\[0\] should be a scalar: \[1\]"),
    op("Print", normal(2, 3), Many(["here", _MATRIX]), message="values: "),
    op("PrintV2", "printed"),
    op("PrintV2", ["a"], error="rank 0|scalar"),
    *sweep(
        "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64",
        "ScalarSummary", "tag", 1.5, fixed=(0,),
    ),
    op("ScalarSummary", ["a", "b"], [1.0, 2.0]),
    op("ScalarSummary", ["a"], 2.0, error="not the same shape"),
    op("ScalarSummary", ["a", "b"], [1.0], error="not the same shape"),
    op("HistogramSummary", "tag", normal(100)),
    op("HistogramSummary", "tag", [0.0, 0.0, -1e30, 1e30, 5.0]),
    op("HistogramSummary", "tag", np.float32([])),
    op("HistogramSummary", "tag", [1, 1, 2, 70]),
    op("HistogramSummary", "tag", [1.0, np.nan], error="Nan in summary histogram"),
    op("HistogramSummary", "tag", [1.0, np.inf], error="Infinity in summary histogram"),
    checked(op("ImageSummary", "tag", uniform(2, 4, 5, 3)), values=False),
    op("ImageSummary", "tag", uniform(2, 4, 5, 2), error="4-D with last dim 1, 3, or 4|must be"),
    op("AudioSummaryV2", "tag", uniform(2, 10, 2, low=-1.2, high=1.2), 8000.0),
    op("AudioSummaryV2", "tag", uniform(4, 10, low=-1.2, high=1.2), 8000.0, max_outputs=1),
    op("TensorSummaryV2", "tag", [1.0, 2.0], b""),
    op("TensorSummary", [1.0, 2.0]),
    op("TensorSummary", ["a", "b"]),
    op(
        "MergeSummary",
        Many([b"\n\x08\n\x01a\x15\x00\x00\x80?", b"\n\x08\n\x01b\x15\x00\x00\x80?"]),
    ),
    op(
        "MergeSummary",
        Many([b"\n\x08\n\x01a\x15\x00\x00\x80?", b"\n\x08\n\x01a\x15\x00\x00\x80?"]),
        error="Duplicate tag a",
    ),
    checked(op("Timestamp"), values=False),
]  # fmt: skip
