"""Suppression of overlapping boxes by a compiled routine.

A candidate is compared with a vector of kept boxes at once, the latest first, and no further after
one that drops it.  Overlaps have the bits of ``image_box_ops.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.llvm_functions import literal
from tfnb.core.compiled.processor import num_lanes
from tfnb.core.compiled.routines import Routine

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array

_LANES = num_lanes()
_KIND, _MASK = f"<{_LANES} x float>", f"<{_LANES} x i1>"
# The numbers kept for a box: its lower corner, its higher corner and its area.
_FIELDS = 5


def _extreme(loops: Loops, kind: str, x: str, y: str, *, is_largest: bool) -> str:
    """Return the larger or the smaller one of two numbers, or of numbers of vectors."""
    test = loops.do(f"fcmp {'olt' if is_largest else 'ogt'} {kind}", x, y)
    bits = _MASK if kind == _KIND else "i1"
    return loops.do("select", f"{bits} {test}", f"{kind} {y}", f"{kind} {x}")


def _overlap(loops: Loops, one: list[str], others: list[str]) -> str:
    """Return intersections over unions of a box, as vectors, with those of a vector."""
    zero = "zeroinitializer"
    sides = []
    for axis in (0, 1):
        low = _extreme(loops, _KIND, one[axis], others[axis], is_largest=True)
        high = _extreme(loops, _KIND, one[axis + 2], others[axis + 2], is_largest=False)
        side = loops.do(f"fsub {_KIND}", high, low)
        sides.append(_extreme(loops, _KIND, side, zero, is_largest=True))
    common = loops.do(f"fmul {_KIND}", *sides)
    together = loops.do(f"fadd {_KIND}", one[4], others[4])
    together = loops.do(f"fsub {_KIND}", together, common)
    found = loops.do(f"fdiv {_KIND}", common, together)
    empty = [loops.do(f"fcmp ole {_KIND}", box[4], zero) for box in (one, others)]
    is_empty = loops.do(f"or {_MASK}", *empty)
    return loops.do("select", f"{_MASK} {is_empty}", f"{_KIND} {zero}", f"{_KIND} {found}")


def _write(loops: Loops) -> None:
    """Write the routine.

    Its arrays are numbers of kept boxes, boxes, candidates, the largest overlap of kept boxes, what
    is known of kept boxes (one row for each of five numbers, zeros), and results: the number of
    kept boxes, and whether an overlap was NaN.  Its sizes are the number of candidates, the most
    boxes to keep, and the length of a row.
    """
    count, limit, length = (loops.size(i) for i in range(3))
    most = loops.splat("float", loops.load("float", 3, "0"), _LANES)
    lowest = loops.splat("float", literal(float("-inf"), "float"), _LANES)
    kept = loops.variable("i64", "0")
    ends = loops.variable("i1", loops.do("icmp sle i64", limit, "0"))
    is_unknown = loops.variable("i1", "false")
    with loops.loop("0", count, ends) as place:
        number = loops.load("i64", 2, place)
        corner = loops.do("mul i64", number, "4")
        first = [loops.load("float", 1, loops.do("add i64", corner, str(i))) for i in range(4)]
        box = [
            _extreme(loops, "float", first[axis], first[axis + 2], is_largest=is_largest)
            for is_largest in (False, True)
            for axis in (0, 1)
        ]
        sides = [loops.do("fsub float", box[axis + 2], box[axis]) for axis in (0, 1)]
        box.append(loops.do("fmul float", *sides))
        one = [loops.splat("float", field, _LANES) for field in box]
        is_dropped = loops.variable("i1", "false")
        last = loops.do("add i64", kept.get(), str(_LANES - 1))
        vectors = loops.do("sdiv i64", last, str(_LANES))
        with loops.loop("0", vectors, is_dropped) as vector:
            back = loops.do("sub i64", loops.do("sub i64", vectors, "1"), vector)
            start = loops.do("mul i64", back, str(_LANES))
            others = []
            for field in range(_FIELDS):
                row = loops.do("mul i64", length, str(field))
                at = loops.place("float", "%a4", loops.do("add i64", row, start))
                others.append(loops.vector_load(at, _LANES))
            overlap = _overlap(loops, one, others)
            drops = loops.any_of(loops.do(f"fcmp ogt {_KIND}", overlap, most), _LANES)
            # Neither a number nor NaN: the comparison does not hold for NaN.
            unknown = loops.any_of(loops.do(f"fcmp ule {_KIND}", overlap, lowest), _LANES)
            is_dropped.set(drops)
            is_unknown.set(loops.do("or i1", is_unknown.get(), unknown))
        is_new = loops.convert("zext i1", loops.do("xor i1", is_dropped.get(), "true"), "i64")
        with loops.loop("0", is_new):
            now = kept.get()
            loops.store("i64", number, 0, now)
            for field, value in enumerate(box):
                row = loops.do("mul i64", length, str(field))
                loops.store("float", value, 4, loops.do("add i64", row, now))
            kept.set(loops.do("add i64", now, "1"))
        is_full = loops.do("icmp sge i64", kept.get(), limit)
        ends.set(loops.do("or i1", is_full, is_unknown.get()))
    loops.store("i64", kept.get(), 5, "0")
    loops.store("i64", loops.convert("zext i1", is_unknown.get(), "i64"), 5, "1")


_ROUTINE = Routine(6, _write)
# Estimates of the plain way: a call, and a candidate's overlaps with others.
_SECONDS_OF_CALL, _SECONDS_OF_CANDIDATE = 60e-6, 1.5e-6
# Candidates from which on other threads may run meanwhile.
_MANY = 500


def kept_boxes(
    corners: Array, order: Callable[[], Array], limit: int, most: np.float32
) -> Array | None:
    """Return the numbers of the boxes that no better one drops.

    None where the routine does not fit or is not ready, or an overlap is NaN.

    Args:
      corners: boxes, two corners each, in any order.
      order: returns their numbers, the best first, without those of too low scores.
      limit: the most boxes to keep.
      most: the overlap above which a box drops another one.
    """
    if corners.dtype != np.float32 or not np.isfinite(corners).all():
        return None
    function = _ROUTINE.find(_SECONDS_OF_CALL + len(corners) * _SECONDS_OF_CANDIDATE)
    if function is None:
        return None
    candidates = order()
    room = min(limit, len(candidates))
    length = -(-room // _LANES) * _LANES
    kept, results = np.empty(room, np.int64), np.empty(2, np.int64)
    given = [np.ascontiguousarray(corners), candidates.astype(np.int64, copy=False)]
    given += [np.array([most], np.float32), np.zeros((_FIELDS, length), np.float32)]
    sizes = np.array([len(candidates) > _MANY, len(candidates), room, length], np.int64)
    function(kept, *given, results, sizes)
    count, is_unknown = results.tolist()
    return None if is_unknown else kept[:count]
