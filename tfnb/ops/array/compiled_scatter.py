"""Adding rows into an array, row after row, by compiled routines (``core/compiled/routines.py``).

Rows are added in the order they are given, so that sums have the bits of the plain way.  The
routines omit rows whose places are outside of the target: callers check places, but another op may
write to them meanwhile, if they are the value of a variable.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.routines import Routine

if TYPE_CHECKING:
    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array


def _length(loops: Loops, width: str, *places: tuple[str, str]) -> str:
    """Return the width of a row, or 0 if one of its places is not below its limit, or negative."""
    for place, limit in places:
        is_valid = loops.do("icmp ult i64", place, limit)
        width = loops.choose("i64", is_valid, width, "0")
    return width


def _write(loops: Loops, operation: str) -> None:
    """Write the routine.

    Its arrays are target, places and rows, its sizes count, width, and the rows of the target.
    """
    count, width, limit = (loops.size(i) for i in range(3))
    with loops.loop("0", count) as i:
        place = loops.load("i64", 1, i)
        target = loops.do("mul i64", place, width)
        source = loops.do("mul i64", i, width)
        with loops.loop("0", _length(loops, width, (place, limit))) as j:
            to, at = (loops.do("add nuw nsw i64", one, j) for one in (target, source))
            found = loops.do(operation, loops.load("float", 0, to), loops.load("float", 2, at))
            loops.store("float", found, 0, to)


def _write_products(loops: Loops) -> None:
    """Write the routine that adds products of rows and numbers.

    Its arrays are target, places, numbers of rows, factors and rows, its sizes count, width, and
    the rows of the target and of the matrix.
    """
    count, width, limit, rows = (loops.size(i) for i in range(4))
    with loops.loop("0", count) as i:
        place, number = (loops.load("i64", array, i) for array in (1, 2))
        target, source = (loops.do("mul i64", one, width) for one in (place, number))
        factor = loops.load("float", 3, i)
        with loops.loop("0", _length(loops, width, (place, limit), (number, rows))) as j:
            to, at = (loops.do("add nuw nsw i64", one, j) for one in (target, source))
            product = loops.do("fmul float", loops.load("float", 4, at), factor)
            found = loops.do("fadd float", loops.load("float", 0, to), product)
            loops.store("float", found, 0, to)


_PRODUCTS = Routine(5, _write_products)
_ROUTINES = {
    "add": Routine(3, partial(_write, operation="fadd float")),
    "sub": Routine(3, partial(_write, operation="fsub float")),
}
# Estimates of the plain way, and the work from which on other threads may run meanwhile.
_SECONDS_OF_CALL, _SECONDS_OF_ELEMENT = 60e-6, 2e-9
_LARGE = 1 << 18


def combine(target: Array, places: Array, rows: Array, operation: str) -> bool:
    """Combine rows into an array; return whether the routine did.

    Args:
      target: an array that may be written to.
      places: one index of the first dimension of ``target`` per row, all valid.
      rows: one row per place.
      operation: add or sub; others are not compiled.
    """
    routine = _ROUTINES.get(operation)
    if routine is None or target.dtype != np.float32 or rows.dtype != np.float32:
        return False
    if not (target.flags.c_contiguous and rows.flags.c_contiguous):
        return False
    if rows.shape != (len(places), *target.shape[1:]) or np.may_share_memory(target, rows):
        return False
    function = routine.find(_SECONDS_OF_CALL + rows.size * _SECONDS_OF_ELEMENT)
    if function is None:
        return False
    count = len(places)
    sizes = np.array([rows.size > _LARGE, count, rows.size // count, len(target)], np.int64)
    function(target, np.ascontiguousarray(places, np.int64), rows, sizes)
    return True


def may_add_products(count: int, width: int) -> bool:
    """Return whether the routine of `add_products` is ready for some rows of a width."""
    return _PRODUCTS.find(_SECONDS_OF_CALL + count * width * _SECONDS_OF_ELEMENT) is not None


def add_products(target: Array, places: Array, numbers: Array, factors: Array, rows: Array) -> bool:
    """Add ``factors[i] * rows[numbers[i]]`` to ``target[places[i]]``; return whether it did so.

    Args:
      target: a new array.
      places: indices of the first dimension of ``target``, all valid.
      numbers: indices of the first dimension of ``rows``, all valid.
      factors: a number for each.
      rows: a matrix.
    """
    if any(one.dtype != np.float32 for one in (target, factors, rows)):
        return False
    count, width = len(places), rows.shape[1]
    function = _PRODUCTS.find(_SECONDS_OF_CALL + count * width * _SECONDS_OF_ELEMENT)
    if function is None:
        return False
    given = [np.ascontiguousarray(one, np.int64) for one in (places, numbers)]
    given += [np.ascontiguousarray(one) for one in (factors, rows)]
    sizes = np.array([count * width > _LARGE, count, width, len(target), len(rows)], np.int64)
    function(target, *given, sizes)
    return True
