"""Rows for checks of numbers, coordinates, fingerprints and in-place changes of rows."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, integers, normal, op, sweep

I64 = np.int64
EMPTY = np.zeros((0, 3), np.float32)
BAD = np.array([1, np.nan, np.inf], np.float32)
SAMPLES: list[Sample | list[Sample]] = [
    # Checks
    sweep("bfloat16 half float double", "CheckNumerics", normal(2, 3), message="here"),
    sweep("bfloat16 half float double", "CheckNumericsV2", normal(2, 3), message="here"),
    op("CheckNumerics", EMPTY, message="here"),
    op("CheckNumerics", BAD[:2], message="here", error="here : Tensor had NaN values"),
    op("CheckNumerics", BAD[::2], message="here", error="here : Tensor had Inf values"),
    op("CheckNumerics", BAD, message="here", error="here : Tensor had Inf and NaN values"),
    op("CheckNumerics", -BAD, message="", error=" : Tensor had Inf and NaN values"),
    op("CheckNumericsV2", BAD, message="here", error=r"here : Tensor had \+Inf and NaN values"),
    op("CheckNumericsV2", -BAD[2], message="here", error="here : Tensor had -Inf values"),
    op(
        "CheckNumericsV2",
        np.concatenate([BAD, -BAD]),
        message="here",
        error=r"here : Tensor had -Inf, \+Inf, and NaN values",
    ),
    # UnravelIndex
    op("UnravelIndex", [2, 5, 7], [3, 3]),
    op("UnravelIndex", 7, [3, 3]),
    op("UnravelIndex", np.array([1, 22], I64), np.array([2, 3, 4], I64)),
    op("UnravelIndex", np.array([], np.int32), [3, 3], error="received empty tensor indices"),
    op("UnravelIndex", [2], [3]),
    op("UnravelIndex", [9], [3, 3], error="index is out of bound as with dims"),
    op("UnravelIndex", [0], [3, 0], error="dims contains zero at index 1"),
    op("UnravelIndex", [[0]], [3, 3], error="can only be scalar or vector"),
    op("UnravelIndex", [0], 3, error="can only be 1-D|must be rank 1"),
    # Fingerprint
    op("Fingerprint", integers(3, 4), "farmhash64"),
    op("Fingerprint", integers(3, 4, 20), "farmhash64"),
    op("Fingerprint", normal(2, 1), "farmhash64"),
    op("Fingerprint", EMPTY, "farmhash64"),
    op("Fingerprint", ["abc", "", "a much longer text than those"], "farmhash64"),
    op("Fingerprint", [["ab", "c"], ["a", "bc"]], "farmhash64"),
    op("Fingerprint", [[["ab", "c"], ["a", "bc"]]], "farmhash64"),
    op("Fingerprint", 3, "farmhash64", error="at least one dimension|at least rank 1"),
    op("Fingerprint", [3], "md5", error="Unsupported .*method: md5"),
    # In-place changes
    op("InplaceUpdate", normal(4, 2), [2, 0], normal(2, 2)),
    op("InplaceUpdate", normal(4, 2), [2, 2], normal(2, 2)),
    op("InplaceUpdate", normal(4, 2), [-1], normal(1, 2)),
    op("InplaceUpdate", normal(4, 2), 1, normal(2), error="i must be a vector"),
    op("InplaceUpdate", normal(4, 2), [1], normal(2), error="ranks differ"),
    op("InplaceUpdate", normal(4, 2), np.array([], np.int32), normal(0, 2)),
    op("InplaceUpdate", ["a", "b"], [1], ["c"]),
    op("InplaceUpdate", normal(4, 2), [2, 0], normal(2, 3), error="doesn't match"),
    op("InplaceUpdate", normal(4, 2), [2, 0], normal(3, 2), error="doesn't match"),
    op("InplaceAdd", normal(4, 2), [2, 0], normal(2, 2)),
    op("InplaceAdd", normal(4, 2), [2, 2], normal(2, 2)),
    op("InplaceAdd", integers(4), [1], [5]),
    op("InplaceSub", normal(4, 2), [2, 0], normal(2, 2)),
    op("InplaceSub", integers(4), [1, 6], [5, 7]),
]
