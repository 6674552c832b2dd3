"""Rows for reductions over segments."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import FLOATS, NUMBERS, REAL, Sample, checked, integers, normal, op, sweep

SAMPLES: list[Sample | list[Sample]] = []

IDS = np.array([0, 0, 1, 3, 3, 3], np.int32)
MIXED = np.array([2, 0, -1, 2, 2, 0], np.int32)


def _sorted() -> None:
    x = normal(6, 2)
    with_zeros = np.where(integers(6, 2, low=0, high=3) == 0, 0, x).astype(np.float32)
    for name in ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMin", "SegmentMax"):
        types = REAL if name in ("SegmentMin", "SegmentMax") else NUMBERS
        SAMPLES.append(checked(sweep(types, name, integers(6, 2), IDS, fixed=(1,)), gradient=False))
        # Segment 2 has no rows: its mean's gradient divides by zero.
        SAMPLES.append(op(name, x, np.array([0, 0, 1, 2, 2, 2])))
        SAMPLES.append(op(name, with_zeros, np.array([0, 0, 1, 2, 2, 2])))
        SAMPLES.append(op(name, normal(4), np.array([0, 1, 1, 2], np.int32)))
        SAMPLES.append(op(name, normal(4, 2, 3), np.array([0, 1, 1, 1], np.int32)))
        SAMPLES.append(op(name, x, [0, 1, 0, 1, 2, 3], error="not increasing"))
        SAMPLES.append(op(name, x, [-1, 0, 1, 1, 2, 3], error="Segment id -1 out of range"))
        SAMPLES.append(op(name, x, [0, 1], error="same size as dimension 0|should be"))
        SAMPLES.append(op(name, x, [[0]], error="should be a vector|rank 1"))
        SAMPLES.append(
            checked(op(name, np.zeros((0, 2), np.float32), np.zeros(0, np.int32)), gradient=False)
        )


def _unsorted() -> None:
    x = normal(6, 2)
    with_zeros = np.where(integers(6, 2, low=0, high=3) == 0, 0, x).astype(np.float32)
    for name in ("Sum", "Prod", "Min", "Max"):
        name = f"UnsortedSegment{name}"
        types = NUMBERS if name.endswith(("Sum", "Prod")) else REAL
        SAMPLES.append(
            checked(sweep(types, name, integers(6, 2), MIXED, 4, fixed=(1, 2)), gradient=False)
        )
        SAMPLES.append(op(name, x, MIXED, 3))
        if name != "UnsortedSegmentProd":
            SAMPLES.append(op(name, with_zeros, MIXED, 3))
        SAMPLES.append(op(name, normal(2, 3, 4), [[0, 1, 0], [2, -1, 2]], np.int64(3)))
        SAMPLES.append(op(name, normal(6), MIXED.astype(np.int64), 5))
        SAMPLES.append(
            checked(
                op(name, np.zeros((0, 2), np.float32), np.zeros(0, np.int32), 2), gradient=False
            )
        )
        SAMPLES.append(op(name, x, [0, 1, 2, 7, 0, 1], 3, error="out of range"))
        SAMPLES.append(op(name, x, [0, 1, 2], 3, error="does not start with|must be equal"))
        SAMPLES.append(op(name, x, MIXED, -1, error="negative"))
    SAMPLES.append(op("UnsortedSegmentSum", normal(200, 3), integers(200, low=-1, high=5), 5))


def _sparse() -> None:
    x = normal(5, 3)
    picked, ids = [4, 0, 0, 2], np.array([0, 0, 2, 2], np.int32)
    for name in ("Sum", "Mean", "SqrtN"):
        types = f"{FLOATS} int32 uint8" if name == "Sum" else FLOATS
        SAMPLES.append(
            checked(
                sweep(types, f"SparseSegment{name}", x * 5, picked, ids, fixed=(1, 2)),
                rtol=1e-2,
                gradient=False,
            )
        )
        SAMPLES.append(op(f"SparseSegment{name}", x, picked, ids))
        SAMPLES.append(op(f"SparseSegment{name}", x, np.array(picked), np.array(ids, np.int64)))
        SAMPLES.append(op(f"SparseSegment{name}WithNumSegments", x, picked, ids, 5))
        SAMPLES.append(
            op(f"SparseSegment{name}WithNumSegments", x, picked, ids, 2, error="num_segments")
        )
        SAMPLES.append(op(f"SparseSegment{name}", x, [4, 9, 0, 2], ids, error="out of range"))
        SAMPLES.append(op(f"SparseSegment{name}", x, picked, [0, 2, 1, 3], error="not increasing"))
        SAMPLES.append(
            op(f"SparseSegment{name}", x, picked, [0, 1], error="same size|must be equal")
        )
        SAMPLES.append(op(f"SparseSegment{name}Grad", normal(3, 3), picked, ids, 5))
        SAMPLES.append(
            op(f"SparseSegment{name}Grad", normal(3, 3), picked, ids, 3, error="out of range")
        )
        SAMPLES.append(op(f"SparseSegment{name}GradV2", normal(3, 3), picked, ids, 5))
        SAMPLES.append(
            checked(
                op(f"SparseSegment{name}", x, np.zeros(0, np.int32), np.zeros(0, np.int32)),
                gradient=False,
            )
        )


_sorted()
_unsorted()
_sparse()
