"""Adding rows into an array, row after row, by compiled routines (``core/compiled/routines.py``).

Rows are added in the order they are given, so that sums have the bits of the plain way.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.routines import Routine

if TYPE_CHECKING:
    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array


def _write(loops: Loops, operation: str) -> None:
    """Write the routine; its arrays are target, places and rows, its sizes count and width."""
    count, width = loops.size(0), loops.size(1)
    with loops.loop("0", count) as i:
        target = loops.do("mul i64", loops.load("i64", 1, i), width)
        source = loops.do("mul i64", i, width)
        with loops.loop("0", width) as j:
            to, at = (loops.do("add nuw nsw i64", one, j) for one in (target, source))
            found = loops.do(operation, loops.load("float", 0, to), loops.load("float", 2, at))
            loops.store("float", found, 0, to)


def _write_products(loops: Loops) -> None:
    """Write the routine that adds products of rows and numbers.

    Its arrays are target, places, numbers of rows, factors and rows, its sizes count and width.
    """
    count, width = loops.size(0), loops.size(1)
    with loops.loop("0", count) as i:
        target = loops.do("mul i64", loops.load("i64", 1, i), width)
        source = loops.do("mul i64", loops.load("i64", 2, i), width)
        factor = loops.load("float", 3, i)
        with loops.loop("0", width) as j:
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
    sizes = np.array([rows.size > _LARGE, count, rows.size // count], np.int64)
    function(target, np.ascontiguousarray(places, np.int64), rows, sizes)
    return True


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
    sizes = np.array([count * width > _LARGE, count, width], np.int64)
    function(target, *given, sizes)
    return True
