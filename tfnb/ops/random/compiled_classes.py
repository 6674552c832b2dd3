"""Drawing classes by a compiled routine.

Exponentials are rounded as ``llvm_functions.py`` says, in double precision: a class differs from
that of the plain way only where the number that draws it is within that rounding of the border
between two classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.llvm_functions import literal
from tfnb.core.compiled.routines import Routine
from tfnb.core.process.work_sharder import shard

if TYPE_CHECKING:
    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array


def _is_finite(loops: Loops, value: str) -> str:
    """Return whether a number is neither infinite nor NaN."""
    size = loops.call("llvm.fabs", "float", value)
    return loops.do("fcmp olt float", size, literal(float("inf"), "float"))


def _write(loops: Loops) -> None:
    """Write the routine.

    Its arrays are classes, logits, numbers in [0, 1), and the sums of a row's exponentials with a
    place behind them.  Its sizes are the first and the end of the rows, their width, the samples of
    each, and the steps of a search in a row.
    """
    begin, end, width, samples, steps = (loops.size(i) for i in range(5))
    lowest = literal(float("-inf"), "float")
    with loops.loop(begin, end) as row:
        start = loops.do("mul i64", row, width)
        most = loops.variable("float", lowest)
        with loops.loop("0", width) as i:
            value = loops.load("float", 1, loops.do("add nuw nsw i64", start, i))
            now = most.get()
            is_more = loops.do("fcmp ogt float", value, now)
            is_more = loops.do("and i1", is_more, _is_finite(loops, value))
            most.set(loops.choose("float", is_more, value, now))
        highest = loops.convert("fpext float", most.get(), "double")
        with loops.loop("0", width) as i:
            value = loops.load("float", 1, loops.do("add nuw nsw i64", start, i))
            wide = loops.convert("fpext float", value, "double")
            grown = loops.call("exp", "double", loops.do("fsub double", wide, highest))
            part = loops.choose("double", _is_finite(loops, value), grown, "0.0")
            loops.store("double", part, 3, i)
        total = loops.variable("double", "0.0")
        with loops.loop("0", width) as i:
            total.set(loops.do("fadd double", total.get(), loops.load("double", 3, i)))
            loops.store("double", total.get(), 3, i)
        loops.store("double", literal(float("inf"), "double"), 3, width)
        first = loops.do("mul i64", row, samples)
        with loops.loop("0", samples) as sample:
            at = loops.do("add i64", first, sample)
            wanted = loops.do("fmul double", loops.load("double", 2, at), total.get())
            low, length = loops.variable("i64", "0"), loops.variable("i64", width)
            with loops.loop("0", steps):
                half = loops.do("lshr i64", length.get(), "1")
                middle = loops.do("add i64", low.get(), half)
                is_below = loops.do("fcmp ole double", loops.load("double", 3, middle), wanted)
                # Whatever the numbers are, the search ends behind the row.
                is_left = loops.do("icmp sgt i64", length.get(), "0")
                is_below = loops.do("and i1", is_below, is_left)
                after = loops.do("add i64", middle, "1")
                left = loops.do("sub i64", loops.do("sub i64", length.get(), half), "1")
                low.set(loops.choose("i64", is_below, after, low.get()))
                length.set(loops.choose("i64", is_below, left, half))
            loops.store("i64", low.get(), 0, at)


_ROUTINE = Routine(4, _write)
# Estimates of the plain way, and of an element here.
_SECONDS_OF_CALL, _SECONDS_OF_ELEMENT = 12e-6, 15e-9
_NS_OF_ELEMENT, _NS_OF_SAMPLE = 3.0, 20.0
_LARGE_NS = 50_000


def classes(logits: Array, numbers: Array, samples: int) -> Array | None:
    """Return classes drawn from each row; None where the routine does not fit, or is not ready.

    Args:
      logits: a matrix with columns.
      numbers: numbers in [0, 1) in double precision, as many as samples for each row.
      samples: at least 1.
    """
    rows, width = logits.shape
    if logits.dtype != np.float32 or not logits.size or not logits.flags.c_contiguous:
        return None
    ns = width * _NS_OF_ELEMENT + samples * _NS_OF_SAMPLE
    function = _ROUTINE.find(rows * (_SECONDS_OF_CALL + width * _SECONDS_OF_ELEMENT))
    if function is None:
        return None
    found = np.empty((rows, samples), np.int64)
    sizes = np.array([0, 0, rows, width, samples, width.bit_length()], np.int64)

    def work(first: int, last: int) -> None:
        part = sizes.copy()
        part[:3] = rows * ns > _LARGE_NS, first, last
        function(found, logits, numbers, np.empty(width + 1, np.float64), part)

    shard(rows, int(_LARGE_NS / ns) + 1, work)
    return found
