"""Products of matrices by compiled routines (``core/compiled/routines.py``).

A routine computes a tile of a few rows times up to four vectors of columns, which stays in
registers while it goes through the inner dimension: at each step it loads vectors of a row of the
second matrix, and multiplies them by one number of each row of the first.  The first matrix may be
transposed; a transposed second one is copied.  A long inner dimension is cut into parts, so that
the rows of the second matrix stay in cache, and a long sum becomes a sum of short ones.  Cuts
depend on the shapes alone, so that the result does not depend on threads.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.processor import num_lanes
from tfnb.core.compiled.routines import Routine, run_rows
from tfnb.ops.base.large_arrays import LARGE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    Its arrays are results, first and second matrices.  Its sizes are the first tile, the end of the
    tiles, the rows, the first inner number, the end of the inner numbers, the columns, the first
    one here, the blocks of columns, how many columns there are in the last vector, the steps from
    row to row and from column to column of a first matrix, the tiles of a matrix, and the steps
    from matrix to matrix of results, first and second matrices.  Tiles are counted over all
    matrices.
    """
    loops.flush_denormals()
    numbers = [loops.size(i) for i in range(15)]
    begin, end, height, here, there, columns, first_of_all, blocks = numbers[:8]
    rest, down, across, of_matrix, *matrix_steps = numbers[8:]
    mask = loops.first_lanes(rest, LANES)
    adds = loops.do("icmp ne i64", here, "0")
    last_row = loops.do("sub i64", height, "1")
    last_matrix = loops.do("sdiv i64", loops.do("sub i64", end, "1"), of_matrix)
    with loops.loop(
        loops.do("sdiv i64", begin, of_matrix), loops.do("add i64", last_matrix, "1")
    ) as matrix:
        before = loops.do("mul i64", matrix, of_matrix)
        first_tile = loops.do("sub i64", begin, before)
        is_less = loops.do("icmp slt i64", first_tile, "0")
        first_tile = loops.choose("i64", is_less, "0", first_tile)
        last_tile = loops.do("sub i64", end, before)
        is_more = loops.do("icmp sgt i64", last_tile, of_matrix)
        last_tile = loops.choose("i64", is_more, of_matrix, last_tile)
        places = [
            loops.place("float", f"%a{number}", loops.do("mul i64", matrix, step))
            for number, step in enumerate(matrix_steps)
        ]
        with loops.loop("0", blocks) as block, loops.loop(first_tile, last_tile) as tile:
            first = loops.do("mul nuw nsw i64", block, str(vectors * LANES))
            first = loops.do("add i64", first, first_of_all)
            start = loops.do("mul nuw nsw i64", tile, str(rows))
            bases, targets = [], []
            for number in range(rows):
                # A tile that has fewer rows computes the last one repeatedly.
                row = loops.do("add i64", start, str(number))
                row = loops.choose("i64", loops.do("icmp slt i64", row, height), row, last_row)
                bases.append(loops.place("float", places[1], loops.do("mul i64", row, down)))
                targets.append(loops.do("add i64", loops.do("mul i64", row, columns), first))
            _write_tile(
                loops,
                (vectors, rows),
                (here, there, columns, first, across),
                (places[2], bases),
                (places[0], targets),
                mask,
                adds,
            )


def _write_tile(
    loops: Loops,
    size: tuple[int, int],
    steps: tuple[str, str, str, str, str],
    given: tuple[str, Sequence[str]],
    made: tuple[str, Sequence[str]],
    mask: str,
    adds: str,
) -> None:
    """Write the products of a tile.

    Args:
      loops: the function under construction.
      size: the numbers of vectors and of rows.
      steps: the first inner number, the end of the inner numbers, the columns, the first one here,
        and the step from column to column of the first matrix.
      given: the second matrix, and the rows of the first one.
      made: the result, and the offsets of its rows.
      mask: the lanes of the last vector.
      adds: whether the products are added to what is there.
    """
    vectors, rows = size
    here, there, columns, first, across = steps
    (second, bases), (result, targets) = given, made
    kind = f"<{LANES} x float>"
    sums = [[loops.variable(kind, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
    with loops.loop(here, there) as i:
        at = loops.do("add i64", loops.do("mul i64", i, columns), first)
        loaded = [
            loops.vector_load(
                loops.place("float", second, loops.do("add i64", at, str(v * LANES))),
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
            place = loops.place("float", result, loops.do("add i64", target, str(v * LANES)))
            some = mask if v == vectors - 1 else ""
            # Memory of a new array may hold anything, NaN included: it is chosen, not added.
            before = loops.vector_load(place, LANES, some)
            grown = loops.do(f"fadd {kind}", before, total.get())
            chosen = loops.do("select", f"i1 {adds}", f"{kind} {grown}", f"{kind} {total.get()}")
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
# The same for stacks of matrices.
_LEAST_STACKED = 1 << 21
# Inner numbers of a part.
_PART = 512
# Estimates of the plain way, and of a multiplication here.
_SECONDS_OF_PRODUCT, _NS_OF_PRODUCT = 1e-11, 0.014


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
    functions = _functions(rows, columns, seconds)
    second = None if functions is None else _in_order(b, seconds)
    if functions is None or second is None:
        return None
    out = np.empty((rows, columns), np.float32)
    _run(functions, a[np.newaxis], second[np.newaxis], out[np.newaxis])
    return out


def can_multiply(rows: int, inner: int, columns: int) -> bool:
    """Return whether `multiply_stack` is faster for such matrices, and ready."""
    seconds = rows * inner * columns * _SECONDS_OF_PRODUCT
    return _ARE_FASTER and _functions(rows, columns, seconds) is not None


def matmul_stack(a: Array, b: Array) -> Array | None:
    """Return the products of two stacks of matrices; None where the routines do not fit.

    Args:
      a: [stacks..., rows, inner numbers].
      b: [stacks..., inner numbers, columns].
    """
    columns = b.shape[-1]
    products = a.size * columns
    if not _ARE_FASTER or products < _LEAST_STACKED or columns < LANES or a.shape[-2] < ROWS[-1]:
        return None
    if a.dtype != np.float32 or b.dtype != np.float32 or not b.flags.c_contiguous:
        return None
    stack = math.prod(a.shape[:-2])
    first = a.reshape(stack, *a.shape[-2:])
    if any(one < 0 or one % a.itemsize for one in first.strides):
        return None
    out = np.empty((*a.shape[:-1], columns), np.float32)
    second, target = (one.reshape(stack, *one.shape[-2:]) for one in (b, out))
    return out if multiply_stack(first, second, target) else None


def multiply_stack(a: Array, b: Array, out: Array) -> bool:
    """Compute the products of two stacks of matrices; return whether the routines are ready.

    Args:
      a: [matrices, rows, inner numbers] of float32, with any strides that are not negative.
      b: [matrices, inner numbers, columns] of float32, in C order, with at least a vector of
        columns.
      out: [matrices, rows, columns], in C order; receives the products.
    """
    if not _ARE_FASTER:
        return False
    functions = _functions(a.shape[1], b.shape[2], a.size * b.shape[2] * _SECONDS_OF_PRODUCT)
    if functions is None:
        return False
    _run(functions, a, b, out)
    return True


def _functions(rows: int, columns: int, seconds: float) -> list[Callable[..., None]] | None:
    """Return the routine of each block of columns; None if one is not ready."""
    # All are asked, so that they are compiled one right after the other.
    asked = [
        _ROUTINES[number][_height(rows, number)].find(seconds)
        for number, *_ in column_blocks(columns)
    ]
    found = [one for one in asked if one is not None]
    return found if len(found) == len(asked) else None


def _run(functions: Sequence[Callable[..., None]], a: Array, b: Array, out: Array) -> None:
    """Call the routines for stacks of matrices; see `multiply_stack`."""
    matrices, rows, inner = a.shape
    columns = b.shape[2]
    step, down, across = (one // a.itemsize for one in a.strides)
    steps = (rows * columns, step, inner * columns)
    for begin in range(0, inner, _PART):
        end = min(begin + _PART, inner)
        for function, call in zip(functions, column_blocks(columns), strict=True):
            number, first, num_blocks, rest = call
            height = _height(rows, number)
            tiles = -(-rows // height)
            ns = height * (number + 1) * LANES * (end - begin) * _NS_OF_PRODUCT
            if matrices == 1 and num_blocks > 1 and columns > rows:
                # Blocks count as matrices, so that threads share the columns.
                width = (number + 1) * LANES
                sizes = (rows, begin, end, columns, first, 1, rest, down, across, tiles)
                of_blocks = num_blocks * tiles, ns, *sizes, width, 0, width
                run_rows(function, [out, a, b], *of_blocks)
                continue
            sizes = (rows, begin, end, columns, first, num_blocks, rest, down, across, tiles)
            run_rows(function, [out, a, b], matrices * tiles, ns * num_blocks, *sizes, *steps)


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
