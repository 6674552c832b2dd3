"""Products of matrices by compiled routines (``core/compiled/routines.py``).

A routine computes a tile of a few rows times up to four vectors of columns, which stays in
registers while it goes through the inner dimension: at each step it loads vectors of a row of the
second matrix, and multiplies them by one number of each row of the first.  The first matrix may be
transposed; a transposed second one is copied.  A long inner dimension is cut into parts, so that
the rows of the second matrix stay in cache, and a long sum becomes a sum of short ones.  Cuts
depend on the shapes alone, so that the result does not depend on threads.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.processor import num_lanes
from tfnb.core.compiled.routines import Routine, run_rows
from tfnb.ops.base.large_arrays import LARGE

if TYPE_CHECKING:
    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array

LANES = num_lanes()
"""The number of floats in a vector."""
ROWS = {16: (12, 12, 8, 6), 8: (8, 6)}[LANES]
"""Rows of a tile by the number of its vectors: 16 or 32 registers hold it."""
# With vectors of eight floats BLAS is faster for all sizes: by 10 % for small products, twice as
# fast where the second matrix does not fit into the second cache.
_ARE_FASTER = LANES == 16


@lru_cache(maxsize=256)
def column_blocks(columns: int) -> tuple[tuple[int, int, int, int], ...]:
    """Return the calls that compute all columns.

    Each is (number of the routine, first column, number of blocks, columns of the last vector).
    """
    most = len(ROWS)
    whole, left = divmod(columns, most * LANES)
    found = [(most - 1, 0, whole, LANES)] if whole else []
    if left:
        vectors = -(-left // LANES)
        found.append((vectors - 1, columns - left, 1, left - (vectors - 1) * LANES))
    return tuple(found)


def _write(loops: Loops, vectors: int, rows: int) -> None:
    """Write the routine for a number of vectors.

    Its arrays are result, first and second matrix.  Its sizes are the first tile, the end of the
    tiles, the rows, the first inner number, the end of the inner numbers, the columns, the first
    one here, the blocks of columns, how many columns there are in the last vector, and the steps
    from row to row and from column to column of the first matrix.
    """
    numbers = [loops.size(i) for i in range(11)]
    begin, end, height, here, there, columns, first_of_all, blocks, rest, down, across = numbers
    kind = f"<{LANES} x float>"
    mask = loops.first_lanes(rest, LANES)
    adds = loops.do("icmp ne i64", here, "0")
    last_row = loops.do("sub i64", height, "1")
    with loops.loop("0", blocks) as block, loops.loop(begin, end) as tile:
        first = loops.do("mul nuw nsw i64", block, str(vectors * LANES))
        first = loops.do("add i64", first, first_of_all)
        start = loops.do("mul nuw nsw i64", tile, str(rows))
        bases, targets = [], []
        for number in range(rows):
            # A tile that has fewer rows computes the last one repeatedly.
            row = loops.do("add i64", start, str(number))
            row = loops.choose("i64", loops.do("icmp slt i64", row, height), row, last_row)
            bases.append(loops.place("float", "%a1", loops.do("mul i64", row, down)))
            targets.append(loops.do("add i64", loops.do("mul i64", row, columns), first))
        sums = [
            [loops.variable(kind, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)
        ]
        with loops.loop(here, there) as i:
            at = loops.do("add i64", loops.do("mul i64", i, columns), first)
            loaded = [
                loops.vector_load(
                    loops.place("float", "%a2", loops.do("add i64", at, str(v * LANES))),
                    LANES,
                    mask if v == vectors - 1 else "",
                )
                for v in range(vectors)
            ]
            step = loops.do("mul i64", i, across)
            for base, of_row in zip(bases, sums, strict=True):
                value = loops.do("load float,", f"ptr {loops.place('float', base, step)}")
                spread = loops.splat("float", value, LANES)
                for vector, total in zip(loaded, of_row, strict=True):
                    product = loops.do(f"fmul contract {kind}", spread, vector)
                    total.set(loops.do(f"fadd contract {kind}", total.get(), product))
        found = []
        for target, of_row in zip(targets, sums, strict=True):
            for v, total in enumerate(of_row):
                place = loops.place("float", "%a0", loops.do("add i64", target, str(v * LANES)))
                some = mask if v == vectors - 1 else ""
                # Memory of a new array may hold anything, NaN included: it is chosen, not added.
                before = loops.vector_load(place, LANES, some)
                grown = loops.do(f"fadd {kind}", before, total.get())
                chosen = loops.do(
                    "select", f"i1 {adds}", f"{kind} {grown}", f"{kind} {total.get()}"
                )
                found.append((chosen, place, some))
        # After all loads: rows may be there twice.
        for chosen, place, some in found:
            loops.vector_store(chosen, place, LANES, some)


def _heights(most: int) -> range:
    """Return the rows of tiles: where they divide the rows of a matrix better, they are fewer."""
    return range(max(1, most - 2), most + 1)


# By the number of vectors, then by the rows of a tile.
_ROUTINES = [
    {rows: Routine(3, partial(_write, vectors=number + 1, rows=rows)) for rows in _heights(most)}
    for number, most in enumerate(ROWS)
]


def _height(rows: int, number: int) -> int:
    """Return the rows of a tile of as few tiles as possible, with few rows beyond the last one."""
    heights, most = _ROUTINES[number], ROWS[number]
    least = -(-rows // -(-rows // most))
    return least if least in heights else most


def _write_transposed(loops: Loops) -> None:
    """Write a copy of a transposed matrix, in bands whose lines stay in cache.

    Its arrays are result and matrix; its sizes are the first band, the end of the bands, rows and
    columns of the matrix, and the step from row to row.
    """
    begin, end, rows, columns, step = (loops.size(i) for i in range(5))
    with loops.loop(begin, end) as band:
        first = loops.do("mul i64", band, str(_BAND))
        last = loops.do("add i64", first, str(_BAND))
        last = loops.choose("i64", loops.do("icmp slt i64", last, rows), last, rows)
        with loops.loop("0", columns) as column:
            to = loops.do("mul i64", column, rows)
            with loops.loop(first, last) as row:
                at = loops.do("add i64", loops.do("mul i64", row, step), column)
                loops.store("float", loops.load("float", 1, at), 0, loops.do("add i64", to, row))


# Rows of the matrix whose columns are copied one after the other.
_BAND = 16
_TRANSPOSED = Routine(2, _write_transposed)

# Fewer multiplications take less time than the calls; for more, BLAS rearranges both matrices.
_LEAST_PRODUCTS, _MOST_PRODUCTS = 1 << 20, 1 << 28
MOST_TURNED = 96
"""Up to this number of rows, the copy of a large transposed matrix takes longer than it saves."""
# Inner numbers of a part.
_PART = 512
# Estimates of the plain way, and of a multiplication here.
_SECONDS_OF_PRODUCT, _NS_OF_PRODUCT = 1e-11, 0.01


def matmul(a: Array, b: Array) -> Array | None:
    """Return the product of two matrices; None where the routines are not faster, or not ready."""
    (rows, inner), columns = a.shape, b.shape[1]
    products = rows * inner * columns
    if not _ARE_FASTER:
        return None
    if not _LEAST_PRODUCTS <= products <= _MOST_PRODUCTS or columns < LANES or rows < ROWS[-1]:
        return None
    if a.dtype != np.float32 or b.dtype != np.float32 or not (a.flags.forc and b.flags.forc):
        return None
    if rows <= MOST_TURNED and b.size >= LARGE and not b.flags.c_contiguous:
        return None
    seconds = products * _SECONDS_OF_PRODUCT
    blocks = column_blocks(columns)
    heights = [_height(rows, number) for number, *_ in blocks]
    functions = [
        _ROUTINES[number][height].find(seconds)
        for (number, *_), height in zip(blocks, heights, strict=True)
    ]
    second = None if None in functions else _in_order(b, seconds)
    if second is None:
        return None
    down, across = a.strides[0] // a.itemsize, a.strides[1] // a.itemsize
    out = np.empty((rows, columns), np.float32)
    for begin in range(0, inner, _PART):
        end = min(begin + _PART, inner)
        for call, height, function in zip(blocks, heights, functions, strict=True):
            assert function is not None
            number, first, num_blocks, rest = call
            per_tile = height * (number + 1) * LANES * (end - begin) * num_blocks
            sizes = (rows, begin, end, columns, first, num_blocks, rest, down, across)
            run_rows(
                function, [out, a, second], -(-rows // height), per_tile * _NS_OF_PRODUCT, *sizes
            )
    return out


def _in_order(b: Array, seconds: float) -> Array | None:
    """Return a matrix in C order; None where the copy is not compiled yet."""
    if b.flags.c_contiguous:
        return b
    out = np.empty(b.shape, np.float32)
    return out if copy_turned(b, out, seconds) else None


def copy_turned(b: Array, out: Array, seconds: float) -> bool:
    """Copy a matrix of float32 in Fortran's order; return whether the routine is ready.

    Args:
      b: the matrix.
      out: a matrix of its shape in C order.
      seconds: the time of the plain way, estimated.
    """
    function = _TRANSPOSED.find(seconds)
    if function is None:
        return False
    columns, rows = b.shape
    run_rows(function, [out, b], -(-rows // _BAND), _BAND * columns, rows, columns, columns)
    return True
