"""The few largest numbers of rows by a compiled routine.

A row's numbers are compared, a vector at once, with the smallest of the largest so far; a larger
one is inserted.  A row of which too many are inserted, as of rising numbers, goes the plain way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.processor import num_lanes
from tfnb.core.compiled.routines import Routine
from tfnb.core.process.work_sharder import shard

if TYPE_CHECKING:
    from tfnb.core.compiled.loops import Loops, Variable
    from tfnb.core.kernel_types import Array

_LANES = num_lanes()
_KIND, _MASK = f"<{_LANES} x float>", f"<{_LANES} x i1>"


def _write_insertion(loops: Loops, start: str, last: str, value: str, index: str) -> None:
    """Write the insertion of a number before smaller ones.

    Args:
      loops: the function under construction.
      start: the place of the row's largest number.
      last: the number of larger ones that are kept if all are.
      value: the number.
      index: its index in its row.
    """
    place, ends = loops.variable("i64", last), loops.variable("i1", "false")
    with loops.loop("0", last, ends) as back:
        one = loops.do("sub i64", loops.do("sub i64", last, "1"), back)
        at = loops.do("add i64", start, one)
        after = loops.do("add i64", at, "1")
        found = loops.load("float", 0, at)
        is_less = loops.do("fcmp olt float", found, value)
        with loops.loop("0", loops.convert("zext i1", is_less, "i64")):
            loops.store("float", found, 0, after)
            loops.store("i32", loops.load("i32", 1, at), 1, after)
            place.set(one)
        ends.set(loops.do("xor i1", is_less, "true"))
    at = loops.do("add i64", start, place.get())
    loops.store("float", value, 0, at)
    loops.store("i32", loops.convert("trunc i64", index, "i32"), 1, at)


def _write_one(
    loops: Loops, row: str, kept: str, last: str, i: str, inserted: Variable, is_hard: Variable
) -> None:
    """Write the comparison of one number, and its insertion."""
    value = loops.load("float", 2, loops.do("add i64", row, i))
    least = loops.load("float", 0, loops.do("add i64", kept, last))
    is_nan = loops.do("fcmp uno float", value, value)
    is_hard.set(loops.do("or i1", is_hard.get(), is_nan))
    is_more = loops.convert("zext i1", loops.do("fcmp ogt float", value, least), "i64")
    with loops.loop("0", is_more):
        _write_insertion(loops, kept, last, value, i)
        inserted.set(loops.do("add i64", inserted.get(), "1"))


def _write(loops: Loops) -> None:
    """Write the routine.

    Its arrays are values, indices, rows, and whether rows go the plain way.  Its sizes are the
    first and the end of the rows, their width, the number of values of each, and the insertions
    after which a row goes the plain way.
    """
    begin, end, width, count, most = (loops.size(i) for i in range(5))
    last = loops.do("sub i64", count, "1")
    with loops.loop(begin, end) as number:
        row, kept = (loops.do("mul i64", number, one) for one in (width, count))
        is_hard, inserted = loops.variable("i1", "false"), loops.variable("i64", "0")
        with loops.loop("0", count) as i:
            value = loops.load("float", 2, loops.do("add i64", row, i))
            is_nan = loops.do("fcmp uno float", value, value)
            is_hard.set(loops.do("or i1", is_hard.get(), is_nan))
            _write_insertion(loops, kept, i, value, i)
        rest = loops.do("sub i64", width, count)
        vectors = loops.do("sdiv i64", rest, str(_LANES))
        with loops.loop("0", vectors, is_hard) as vector:
            first = loops.do("add i64", count, loops.do("mul i64", vector, str(_LANES)))
            at = loops.place("float", "%a2", loops.do("add i64", row, first))
            least = loops.load("float", 0, loops.do("add i64", kept, last))
            found = loops.vector_load(at, _LANES)
            # NaN is unordered, so that it ends up in the comparison one by one.
            is_more = loops.do(f"fcmp ugt {_KIND}", found, loops.splat("float", least, _LANES))
            some = loops.choose("i64", loops.any_of(is_more, _LANES), str(_LANES), "0")
            with loops.loop("0", some) as lane:
                i = loops.do("add i64", first, lane)
                _write_one(loops, row, kept, last, i, inserted, is_hard)
            is_long = loops.do("icmp sgt i64", inserted.get(), most)
            is_hard.set(loops.do("or i1", is_hard.get(), is_long))
        done = loops.do("mul i64", vectors, str(_LANES))
        with loops.loop(loops.do("add i64", count, done), width) as i:
            _write_one(loops, row, kept, last, i, inserted, is_hard)
        hard = loops.convert("zext i1", is_hard.get(), "i32")
        loops.store("i32", hard, 3, number)


_ROUTINE = Routine(4, _write)
_MOST_VALUES = 64
_MOST_WIDE = 2**31 - 1  # indices are int32
# Estimates of the plain way, and of an element here.
_SECONDS_OF_CALL, _SECONDS_OF_ELEMENT = 15e-6, 20e-9
_NS_OF_ELEMENT, _NS_OF_VALUE = 0.5, 60.0
_LARGE_NS = 50_000


def largest(x: Array, count: int) -> tuple[Array, Array] | None:
    """Return the largest numbers of each row, the largest first, and their indices as int32.

    Equal numbers are in the order of their indices.  None where the routine does not fit, as
    for NaN, or is not ready.

    Args:
      x: an array whose last dimension has at least `count` elements.
      count: at least 1.
    """
    if x.dtype != np.float32 or not x.size or not x.flags.c_contiguous or count > _MOST_VALUES:
        return None
    width = x.shape[-1]
    if width > _MOST_WIDE:
        return None
    function = _ROUTINE.find(_SECONDS_OF_CALL + x.size * _SECONDS_OF_ELEMENT)
    if function is None:
        return None
    rows = x.size // width
    shape = (*x.shape[:-1], count)
    values, indices = np.empty(shape, np.float32), np.empty(shape, np.int32)
    is_hard = np.empty(rows, np.int32)
    # Numbers in random order are inserted count * log(width / count) times.
    most = count * (4 + 2 * (width // count).bit_length())
    ns = width * _NS_OF_ELEMENT + count * _NS_OF_VALUE
    sizes = np.array([rows * ns > _LARGE_NS, 0, rows, width, count, most], np.int64)
    if rows * ns < 2 * _LARGE_NS:
        function(values, indices, x, is_hard, sizes)
        return None if is_hard.any() else (values, indices)

    def work(first: int, last: int) -> None:
        part = sizes.copy()
        part[1:3] = first, last
        function(values, indices, x, is_hard, part)

    shard(rows, int(_LARGE_NS / ns) + 1, work)
    return None if is_hard.any() else (values, indices)
