"""Gradients of convolutions' filters by compiled routines, without copies of patches.

A tile consists of a few cells of the filter times up to four vectors of output channels; see
``compiled_conv.py``.  Its sum goes over positions, some hundred at a time: they stay in cache, and
a long sum becomes a sum of short ones.

With many output channels, a routine copies the cells and the gradients of these positions first:
their rows lie far from each other in memory, often at distances for which a cache has few places,
and all tiles of a chunk of cells and a group of channels read them.  With few output channels, the
copies would take as long as the sums.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.routines import Routine
from tfnb.ops.base.compiled_products import LANES, ROWS, column_blocks
from tfnb.ops.conv.compiled_conv import (
    NS_OF_PRODUCT,
    ROWS_AHEAD,
    SECONDS_OF_CALL,
    SECONDS_OF_PRODUCT,
    SUMMED,
    cell_offsets,
    least_of,
    plus,
    times,
)
from tfnb.ops.conv.conv_plans import MOST_POSITIONS, lies_close, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array
    from tfnb.ops.conv.conv_plans import Places, type_of_call
    from tfnb.ops.conv.windows import Window

_KIND = f"<{LANES} x float>"


def _write_few(loops: Loops, vectors: int, cells: int) -> None:
    """Write the routine without copies for a number of vectors.

    Its arrays are result, padded input, gradient of the output, and offsets of the filter's cells
    in the input, of positions in the input, and of positions in the gradient.  Its sizes are the
    first tile, the end of the tiles, the number of positions, of output channels, the first one
    here, and how many there are in the last vector.
    """
    loops.flush_denormals()
    begin, end, total, channels, first, rest = (loops.size(i) for i in range(6))
    masks = [""] * (vectors - 1) + [loops.first_lanes(rest, LANES)]
    parts = loops.do("sdiv i64", plus(loops, total, SUMMED - 1), str(SUMMED))
    with loops.loop("0", parts) as part, loops.loop(begin, end) as tile:
        here = times(loops, part, SUMMED)
        there = least_of(loops, plus(loops, here, SUMMED), total)
        numbers = [plus(loops, times(loops, tile, cells), cell) for cell in range(cells)]
        bases = [loops.place("float", "%a1", loops.load("i64", 3, one)) for one in numbers]
        sums = _Sums(loops, vectors, cells)
        with loops.loop(here, there) as i:
            seen = loops.load("i64", 4, i)
            at = plus(loops, loops.load("i64", 5, i), first)
            places = [
                loops.place("float", "%a2", plus(loops, at, v * LANES)) for v in range(vectors)
            ]
            sums.add([loops.place("float", base, seen) for base in bases], places, masks)
        sums.store(times(loops, tile, cells), channels, first, masks)


class _Sums:
    """The sums of a tile, which begin with zeros: a row of vectors for each cell."""

    def __init__(self, loops: Loops, vectors: int, cells: int) -> None:
        self._loops = loops
        self._rows = [
            [loops.variable(_KIND, "zeroinitializer") for _ in range(vectors)] for _ in range(cells)
        ]

    def add(self, numbers: Sequence[str], places: Sequence[str], masks: Sequence[str]) -> None:
        """Add the products of a number for each cell, and of vectors; all are addresses."""
        loops = self._loops
        vectors = [
            loops.vector_load(place, LANES, mask) for place, mask in zip(places, masks, strict=True)
        ]
        for place, of_cell in zip(numbers, self._rows, strict=True):
            spread = loops.splat("float", loops.do("load float,", f"ptr {place}"), LANES)
            for vector, total in zip(vectors, of_cell, strict=True):
                product = loops.do(f"fmul contract {_KIND}", spread, vector)
                total.set(loops.do(f"fadd contract {_KIND}", total.get(), product))

    def store(self, cell: str, channels: str, first: str, masks: Sequence[str]) -> None:
        """Add the sums to rows of the result, from a cell and a channel on."""
        loops = self._loops
        for number, of_cell in enumerate(self._rows):
            target = plus(loops, times(loops, plus(loops, cell, number), channels), first)
            for v, (total, mask) in enumerate(zip(of_cell, masks, strict=True)):
                place = loops.place("float", "%a0", plus(loops, target, v * LANES))
                before = loops.vector_load(place, LANES, mask)
                loops.vector_store(
                    loops.do(f"fadd {_KIND}", before, total.get()), place, LANES, mask
                )


def _write_many(loops: Loops, vectors: int, cells: int, *, is_whole: bool) -> None:
    """Write the routine with copies for a number of vectors.

    Its arrays are those of :func:`_write_few`, and how many cells from each one on lie next to each
    other.  Its sizes are the first unit, the end of the units, the number of positions, of tiles,
    of tiles in a chunk, of output channels, the first one here, the blocks of them, those of a
    group, and how many channels there are in the last vector.  A unit is a chunk of tiles for a
    group of blocks.
    """
    loops.flush_denormals()
    begin, end, total, tiles, of_chunk, channels, first_of_all, blocks, at_once, rest = (
        loops.size(i) for i in range(10)
    )
    width = vectors * LANES
    masks = [""] * (vectors - 1) + ["" if is_whole else loops.first_lanes(rest, LANES)]
    cells_copied = loops.room("float", _most_tiles(cells) * SUMMED * cells)
    grads_copied = loops.room("float", SUMMED * width)
    groups = loops.do("sdiv i64", plus(loops, blocks, plus(loops, at_once, -1)), at_once)
    parts = loops.do("sdiv i64", plus(loops, total, SUMMED - 1), str(SUMMED))
    with loops.loop(begin, end) as unit, loops.loop("0", parts) as part:
        chunk, group = (loops.do(f"{one} i64", unit, groups) for one in ("sdiv", "srem"))
        start = times(loops, chunk, of_chunk)
        some_tiles = least_of(loops, loops.do("sub i64", tiles, start), of_chunk)
        first_block = times(loops, group, at_once)
        some_blocks = least_of(loops, loops.do("sub i64", blocks, first_block), at_once)
        here = times(loops, part, SUMMED)
        count = least_of(loops, loops.do("sub i64", total, here), str(SUMMED))
        with loops.loop("0", count) as i, loops.loop("0", some_tiles) as tile:
            seen = loops.load("i64", 4, plus(loops, here, i))
            cell = times(loops, plus(loops, start, tile), cells)
            to = plus(loops, times(loops, tile, SUMMED * cells), times(loops, i, cells))
            _write_cells(loops, cell, seen, loops.place("float", cells_copied, to), cells)
        with loops.loop("0", some_blocks) as block:
            first = times(loops, plus(loops, first_block, block), width)
            first = plus(loops, first_of_all, first)
            with loops.loop("0", count) as i:
                at = plus(loops, loops.load("i64", 5, plus(loops, here, i)), first)
                to = times(loops, i, width)
                ahead = least_of(loops, plus(loops, i, ROWS_AHEAD), plus(loops, count, -1))
                ahead = loops.load("i64", 5, plus(loops, here, ahead))
                loops.prefetch("float", "%a2", plus(loops, ahead, first))
                for v, mask in enumerate(masks):
                    place = loops.place("float", "%a2", plus(loops, at, v * LANES))
                    grads = loops.vector_load(place, LANES, mask)
                    place = loops.place("float", grads_copied, plus(loops, to, v * LANES))
                    loops.vector_store(grads, place, LANES)
            with loops.loop("0", some_tiles) as tile:
                own = loops.place("float", cells_copied, times(loops, tile, SUMMED * cells))
                sums = _Sums(loops, vectors, cells)
                with loops.loop("0", count) as i:
                    row, at = times(loops, i, cells), times(loops, i, width)
                    sums.add(
                        [loops.place("float", own, plus(loops, row, c)) for c in range(cells)],
                        [
                            loops.place("float", grads_copied, plus(loops, at, v * LANES))
                            for v in range(vectors)
                        ],
                        [""] * vectors,
                    )
                sums.store(times(loops, plus(loops, start, tile), cells), channels, first, masks)


def _write_cells(loops: Loops, cell: str, seen: str, target: str, cells: int) -> None:
    """Copy the numbers of some cells at one position.

    Args:
      loops: the function under construction.
      cell: the first cell.
      seen: the offset of the position in the images.
      target: the address of the copy.
      cells: the number of cells.
    """
    is_close = loops.do("icmp sge i64", loops.load("i64", 6, cell), str(cells))
    with loops.loop("0", loops.convert("zext i1", is_close, "i64")):
        place = loops.place("float", "%a1", plus(loops, loops.load("i64", 3, cell), seen))
        loops.vector_store(loops.vector_load(place, cells), target, cells)
    is_apart = loops.do("xor i1", is_close, "true")
    with loops.loop("0", loops.convert("zext i1", is_apart, "i64")):
        for number in range(cells):
            offset = loops.load("i64", 3, plus(loops, cell, number))
            value = loops.load("float", 1, plus(loops, offset, seen))
            place = loops.place("float", target, str(number))
            loops.write(f"store float {value}, ptr {place}")


def _most_tiles(cells: int) -> int:
    """Return the most tiles of a chunk, whose copies stay in the second cache."""
    return max(1, _COPIED_BYTES // (4 * SUMMED * cells))


_COPIED_BYTES = 3 << 15
# The most blocks of channels of a group, and the fewest units, where there is as much work.
_MOST_BLOCKS, _LEAST_UNITS = 8, 4
# Limits for filters of one cell: with fewer cells, tiles share too few copies of gradients; with as
# many, positions lie at distances for which the nearest cache has few places.
_LEAST_CELLS, _FAR_CELLS = 256, 512
# The fewest output channels for which copies are worth their time.
_LEAST_CHANNELS = 3 * len(ROWS) * LANES

# Each cell of a tile has a pointer of its own: with more of them, they do not stay in registers.
_FEW_ROWS = tuple(rows if number == 0 else min(rows, 8) for number, rows in enumerate(ROWS))
_FEW = [
    Routine(6, partial(_write_few, vectors=number + 1, cells=rows))
    for number, rows in enumerate(_FEW_ROWS)
]
# By whether all vectors are full, then by the number of vectors.
_MANY = {
    is_whole: [
        Routine(7, partial(_write_many, vectors=number + 1, cells=rows, is_whole=is_whole))
        for number, rows in enumerate(ROWS)
    ]
    for is_whole in (False, True)
}


def suits_one_cell(channels: int, out_channels: int) -> bool:
    """Return whether the routines are faster than one product where a filter has one cell."""
    if out_channels >= _LEAST_CHANNELS:
        return channels >= _LEAST_CELLS
    return channels < _FAR_CELLS


def filter_gradient(
    x: Array, out_backprop: Array, filter_shape: Sequence[int], windows: Sequence[Window]
) -> Array | None:
    """Return the gradient of a convolution's filter; None if the routines are not ready."""
    channels, cells = filter_shape[-1], math.prod(filter_shape[:-1])
    is_many = channels >= _LEAST_CHANNELS
    seconds = SECONDS_OF_CALL + out_backprop.size * cells * SECONDS_OF_PRODUCT
    # All are asked, so that they are compiled one right after the other.
    functions: list[Callable[..., None] | None]
    if is_many:
        calls = column_blocks(channels)
        functions = [_MANY[last == LANES][number].find(seconds) for number, _, _, last in calls]
    else:
        functions = [_FEW[number].find(seconds) for number, _, _ in _blocks(channels)]
    ready = [one for one in functions if one is not None]
    if len(ready) < len(functions):
        return None
    came = lies_close(out_backprop)
    tables = partial(_calls_of_many if is_many else _calls_of_few, cells, channels, came.size)
    plan = plan_of(("filter", came.shape), x, windows, came, tables)
    # The last rows belong to no cell: they complete the last tile.
    grad = np.zeros((cells + MOST_POSITIONS, channels), np.float32)
    plan.run(ready, grad, plan.padded(x), came)
    return grad[:cells].reshape(tuple(filter_shape))


@lru_cache(maxsize=256)
def _blocks(channels: int) -> tuple[tuple[int, int, int], ...]:
    """Return (number of the routine, first channel, channels of its last vector) of each call."""
    left, first, found = -(-channels // LANES), 0, []
    calls = -(-left // len(ROWS))
    for call in range(calls, 0, -1):
        count = -(-left // call)
        rest = min(LANES, channels - first - (count - 1) * LANES)
        found.append((count - 1, first, rest))
        left, first = left - count, first + count * LANES
    return tuple(found)


def _calls_of_few(
    cells: int, channels: int, size: int, places: Places
) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the calls of routines without copies."""
    count = size // channels
    calls: list[type_of_call] = []
    for number, first, rest in _blocks(channels):
        rows = _FEW_ROWS[number]
        ns = rows * (number + 1) * LANES * count * NS_OF_PRODUCT
        calls.append((-(-cells // rows), ns, (count, channels, first, rest)))
    return _tables(cells, places), calls


def _calls_of_many(
    cells: int, channels: int, size: int, places: Places
) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the calls of routines with copies."""
    count = size // channels
    calls: list[type_of_call] = []
    for number, first, blocks, last in column_blocks(channels):
        rows = ROWS[number]
        tiles = -(-cells // rows)
        chunks = max(-(-tiles // _most_tiles(rows)), min(tiles, -(-_LEAST_UNITS // blocks)))
        of_chunk = -(-tiles // chunks)
        chunks = -(-tiles // of_chunk)
        at_once = max(1, min(_MOST_BLOCKS, chunks * blocks // _LEAST_UNITS))
        ns = at_once * of_chunk * rows * (number + 1) * LANES * count * NS_OF_PRODUCT
        sizes = (count, tiles, of_chunk, channels, first, blocks, at_once, last)
        calls.append((chunks * -(-blocks // at_once), ns, sizes))
    tables = _tables(cells, places)
    return [*tables, _lengths_of_rows(tables[0])], calls


def _tables(cells: int, places: Places) -> list[Array]:
    of_cells = cell_offsets(places.runs, places.length, cells + MOST_POSITIONS)
    return [of_cells, places.seen, places.targets]


def _lengths_of_rows(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many numbers, from each offset on, lie next to each other in memory.

    Offsets rise by more than one between rows of an image, fall in reversed images, and are
    repeated at the end.
    """
    numbers = np.arange(len(offsets), dtype=np.int64)
    ends = np.append(np.flatnonzero(np.diff(offsets) != 1), len(offsets) - 1)
    return ends[np.searchsorted(ends, numbers)] - numbers + 1
