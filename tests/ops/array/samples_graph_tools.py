"""Rows for ops that tools for rewriting graphs insert."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, op, sweep

SAMPLES: list[Sample | list[Sample]] = []


def _formats() -> None:
    SAMPLES.append(sweep("int32 int64", "DataFormatDimMap", [0, 1, 2, 3, -1, -4]))
    SAMPLES.append(op("DataFormatDimMap", [[1, 3]], src_format="NHWC", dst_format="HWNC"))
    SAMPLES.append(op("DataFormatDimMap", 2, src_format="NDHWC", dst_format="NCDHW"))
    SAMPLES.append(op("DataFormatDimMap", np.zeros(0, np.int32)))
    for name in ("DataFormatDimMap", "DataFormatVecPermute"):
        x = [1, 2, 3, 0]
        SAMPLES.append(op(name, x, src_format="NH", dst_format="HN", error="length 4 or 5"))
        SAMPLES.append(op(name, x, src_format="NHWC", dst_format="NHWX", error="permutation"))
        SAMPLES.append(op(name, x, src_format="NHWW", dst_format="NHWW", error="permutation"))
    for values in ([7, 4, 9, 3], [9, 3], [[7, 4], [4, 9], [5, 1], [2, 3]], [[4, 9], [5, 1]]):
        SAMPLES.append(sweep("int32 int64", "DataFormatVecPermute", values))
        for src, dst in (("NCHW", "NHWC"), ("NHWC", "HWNC"), ("HWNC", "NHWC")):
            SAMPLES.append(op("DataFormatVecPermute", values, src_format=src, dst_format=dst))
    for values in ([1, 2, 3, 4, 5], [1, 2, 3]):
        attrs = {"src_format": "NDHWC", "dst_format": "NCDHW"}
        SAMPLES.append(op("DataFormatVecPermute", values, **attrs))
    SAMPLES.extend(
        op("DataFormatVecPermute", bad, error="rank|rows|dimension|2D")
        for bad in (3, [1, 2, 3], [[1, 2, 3], [1, 2, 3]], [[[1, 2], [3, 4]]])
    )


_formats()
