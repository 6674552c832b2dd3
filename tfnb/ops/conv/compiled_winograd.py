"""Winograd's transformations as compiled routines; see ``winograd.py`` for the algorithm.

A routine transforms one tile after the other, a vector of channels at once, along both sides while
the tile is in registers.  The points are zero, infinity, and two pairs of opposite points; sums of
even and of odd terms serve both points of a pair.  Between the transformations there are
matrix products: by compiled routines, whose rows the team shares, or by BLAS.
"""

from __future__ import annotations

import math
import sys
import threading
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.llvm_functions import literal
from tfnb.core.compiled.routines import Routine, run_rows
from tfnb.core.process import forking
from tfnb.core.process.work_sharder import shard
from tfnb.ops.base import compiled_products
from tfnb.ops.base.compiled_products import LANES
from tfnb.ops.base.products import matmul
from tfnb.ops.conv.compiled_conv import filter_in_order, times, write_after

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array
    from tfnb.ops.conv.compiled_conv import After
    from tfnb.ops.conv.windows import Window

_KIND = f"<{LANES} x float>"
REACH = 6
"""Inputs of a tile along one side."""
NUM_POINTS = REACH * REACH
PAIRS = (0.625, 1.5)
"""The points are 0, these and their opposites, and infinity, in the order 0, +, -, +, -."""


class _Vectors:
    """Sums of vectors and their products with constants."""

    def __init__(self, loops: Loops) -> None:
        self._loops = loops

    def constant(self, value: float) -> str:
        """Return a vector of equal numbers."""
        number = literal(value, "float")
        return f"<{', '.join([f'float {number}'] * LANES)}>"

    def add(self, x: str, y: str) -> str:
        """Return the sum."""
        return self._loops.do(f"fadd contract {_KIND}", x, y)

    def subtract(self, x: str, y: str) -> str:
        """Return the difference."""
        return self._loops.do(f"fsub contract {_KIND}", x, y)

    def times(self, x: str, value: float) -> str:
        """Return the product with a constant."""
        if value == 1:
            return x
        return self._loops.do(f"fmul contract {_KIND}", x, self.constant(value))

    def sum(self, terms: Sequence[tuple[float, str]]) -> str:
        """Return the sum of products with constants."""
        total = ""
        for value, x in terms:
            if value:
                product = self.times(x, value)
                total = self.add(total, product) if total else product
        return total

    def both(self, even: str, odd: str) -> tuple[str, str]:
        """Return the values at a point and at the opposite one."""
        return self.add(even, odd), self.subtract(even, odd)

    def of_inputs(self, d: Sequence[str]) -> list[str]:
        """Return the transformed inputs of one side: six from six."""
        a, b = (one * one for one in PAIRS)
        found = [self.sum([(a * b, d[0]), (-a - b, d[2]), (1, d[4])])]
        for point, other in ((PAIRS[0], b), (PAIRS[1], a)):
            even = self.sum([(-other, d[2]), (1, d[4])])
            odd = self.times(self.sum([(-other, d[1]), (1, d[3])]), point)
            found += self.both(even, odd)
        return [*found, self.sum([(a * b, d[1]), (-a - b, d[3]), (1, d[5])])]

    def of_filter(self, g: Sequence[str]) -> list[str]:
        """Return the transformed filter of one side: six from its elements."""
        a, b = (one * one for one in PAIRS)
        found = [self.times(g[0], 1 / (a * b))]
        for point, square, other in ((PAIRS[0], a, b), (PAIRS[1], b, a)):
            # The product of the differences from other points is the same for both of a pair.
            share = 1 / (2 * square * (square - other))
            even = self.sum([(share * point**k, g[k]) for k in range(0, len(g), 2)])
            odd = self.sum([(share * point**k, g[k]) for k in range(1, len(g), 2)])
            found += self.both(even, odd)
        return [*found, g[-1]]

    def of_gradients(self, y: Sequence[str]) -> list[str]:
        """Return what :meth:`of_products` reversed makes of gradients: six from those of a tile."""
        found = [y[0]]
        for point in PAIRS:
            even = self.sum([(point**k, y[k]) for k in range(0, len(y), 2)])
            odd = self.sum([(point**k, y[k]) for k in range(1, len(y), 2)])
            found += self.both(even, odd)
        return [*found, y[-1]]

    def of_sums(self, w: Sequence[str], count: int) -> list[str]:
        """Return what :meth:`of_filter` reversed makes of sums: the elements of the filter."""
        a, b = (one * one for one in PAIRS)
        shares = [1 / (2 * x * (x - y)) for x, y in ((a, b), (b, a))]
        pairs = [(self.add(w[i], w[i + 1]), self.subtract(w[i], w[i + 1])) for i in (1, 3)]
        found = []
        for power in range(count):
            terms = [
                (share * point**power, pair[power % 2])
                for share, point, pair in zip(shares, PAIRS, pairs, strict=True)
            ]
            if power == 0:
                terms.insert(0, (1 / (a * b), w[0]))
            if power == count - 1:
                terms.append((1.0, w[5]))
            found.append(self.sum(terms))
        return found

    def of_products(self, m: Sequence[str], count: int) -> list[str]:
        """Return the outputs of one side: 7 less the filter's elements, from six products."""
        pairs = [(self.add(m[i], m[i + 1]), self.subtract(m[i], m[i + 1])) for i in (1, 3)]
        found = []
        for power in range(count):
            terms = [
                (point**power, pair[power % 2]) for point, pair in zip(PAIRS, pairs, strict=True)
            ]
            if power == 0:
                terms.insert(0, (1.0, m[0]))
            if power == count - 1:
                terms.append((1.0, m[5]))
            found.append(self.sum(terms))
        return found


def _vector_starts(loops: Loops, channels: str) -> tuple[str, str]:
    """Return the number of vectors, and the first channel of the last one, which may overlap."""
    count = loops.do("sdiv i64", loops.do("add i64", channels, str(LANES - 1)), str(LANES))
    return count, loops.do("sub i64", channels, str(LANES))


def _start(loops: Loops, vector: str, last: str) -> str:
    start = loops.do("mul i64", vector, str(LANES))
    return loops.choose("i64", loops.do("icmp sgt i64", start, last), last, start)


def _place_of_tile(loops: Loops, tile: str, down: str, across: str) -> tuple[str, str, str]:
    """Return the image of a tile, and its row and column."""
    row = loops.do("sdiv i64", tile, across)
    image = loops.do("sdiv i64", row, down)
    return image, loops.do("srem i64", row, down), loops.do("srem i64", tile, across)


def _sum(loops: Loops, first: str, *others: str) -> str:
    for other in others:
        first = loops.do("add nsw i64", first, other)
    return first


def _write_tiles(
    loops: Loops, rows: int, columns: int, transform: Callable[[_Vectors, Sequence[str]], list[str]]
) -> None:
    """Write the transformation of tiles of images.

    Its arrays are result [36, tiles of the block, channels] and images.  Its sizes are the first
    tile and the end, counted in the block, the block's first tile and its tiles, the tiles of an
    image down and across, outputs of a tile down and across, height, width and channels of images,
    and the padding before rows and columns.
    """
    loops.flush_denormals()
    begin, end, block, count, down, across, tall, wide, height, width, channels, top, left = (
        loops.size(i) for i in range(13)
    )
    vectors, last = _vector_starts(loops, channels)
    plane = loops.do("mul i64", count, channels)
    line = loops.do("mul i64", width, channels)
    room = loops.room("float", rows * columns * LANES)
    with loops.loop(begin, end) as number:
        tile = _sum(loops, block, number)
        image, row, column = _place_of_tile(loops, tile, down, across)
        y = loops.do("sub i64", loops.do("mul i64", row, tall), top)
        x = loops.do("sub i64", loops.do("mul i64", column, wide), left)
        first = loops.do("mul i64", image, loops.do("mul i64", height, line))
        # A tile that reaches out of its image is copied, one vector of channels at a time, and gets
        # zeros for what lies outside.
        tests = [loops.do("icmp slt i64", one, "0") for one in (y, x)]
        tests += [
            loops.do("icmp sgt i64", loops.do("add i64", one, str(reach)), size)
            for one, size, reach in ((y, height, rows), (x, width, columns))
        ]
        is_edge = tests[0]
        for test in tests[1:]:
            is_edge = loops.do("or i1", is_edge, test)
        corner = _sum(loops, first, loops.do("mul i64", y, line), loops.do("mul i64", x, channels))
        step = loops.choose("i64", is_edge, str(columns * LANES), line)
        across_step = loops.choose("i64", is_edge, str(LANES), channels)
        made = loops.do("mul i64", number, channels)
        with loops.loop("0", vectors) as vector:
            start = _start(loops, vector, last)
            with loops.loop("0", loops.choose("i64", is_edge, str(rows), "0")) as i:
                here = _sum(loops, y, i)
                is_row = loops.do("icmp ult i64", here, height)
                with loops.loop("0", str(columns)) as j:
                    there = _sum(loops, x, j)
                    is_in = loops.do("and i1", is_row, loops.do("icmp ult i64", there, width))
                    at = loops.do("add i64", loops.do("mul i64", here, width), there)
                    at = loops.choose("i64", is_in, loops.do("mul i64", at, channels), "0")
                    source = loops.place("float", "%a1", _sum(loops, first, at, start))
                    value = loops.vector_load(source, LANES)
                    value = loops.choose(_KIND, is_in, value, "zeroinitializer")
                    target = loops.do("add i64", loops.do("mul i64", i, str(columns)), j)
                    target = loops.do("mul i64", target, str(LANES))
                    loops.vector_store(value, loops.place("float", room, target), LANES)
            inside = loops.place("float", "%a1", _sum(loops, corner, start))
            base = loops.choose("ptr", is_edge, room, inside)
            tools = _Vectors(loops)
            halves = []
            for b in range(columns):
                shift = loops.do("mul i64", across_step, str(b))
                places = [
                    _sum(loops, shift, loops.do("mul i64", step, str(a))) for a in range(rows)
                ]
                given = [
                    loops.vector_load(loops.place("float", base, place), LANES) for place in places
                ]
                halves.append(transform(tools, given))
            to = _sum(loops, made, start)
            for a in range(REACH):
                values = transform(tools, [one[a] for one in halves])
                for b, value in enumerate(values):
                    at = _sum(loops, to, loops.do("mul i64", plane, str(a * REACH + b)))
                    loops.vector_store(value, loops.place("float", "%a0", at), LANES)


def _write_filter(loops: Loops, rows: int, columns: int) -> None:
    """Write the transformation of filters.

    Its arrays are result [36, size] and filter [rows, columns, size], its sizes the first vector,
    the end of the vectors, and the size.
    """
    loops.flush_denormals()
    begin, end, size = (loops.size(i) for i in range(3))
    last = loops.do("sub i64", size, str(LANES))
    tools = _Vectors(loops)
    with loops.loop(begin, end) as vector:
        start = _start(loops, vector, last)
        made = []
        for j in range(columns):
            taps = []
            for i in range(rows):
                at = _sum(loops, start, loops.do("mul i64", size, str(i * columns + j)))
                taps.append(loops.vector_load(loops.place("float", "%a1", at), LANES))
            made.append(tools.of_filter(taps))
        for i in range(REACH):
            for j, value in enumerate(tools.of_filter([column[i] for column in made])):
                at = _sum(loops, start, loops.do("mul i64", size, str(i * REACH + j)))
                loops.vector_store(value, loops.place("float", "%a0", at), LANES)


def _write_taps(loops: Loops, rows: int, columns: int) -> None:
    """Write the transformation of sums over tiles into the gradient of a filter.

    Its arrays are result [rows, columns, size] and sums [36, size], its sizes those of
    :func:`_write_filter`.
    """
    loops.flush_denormals()
    begin, end, size = (loops.size(i) for i in range(3))
    last = loops.do("sub i64", size, str(LANES))
    tools = _Vectors(loops)
    with loops.loop(begin, end) as vector:
        start = _start(loops, vector, last)
        made = []
        for j in range(REACH):
            given = []
            for i in range(REACH):
                at = _sum(loops, start, loops.do("mul i64", size, str(i * REACH + j)))
                given.append(loops.vector_load(loops.place("float", "%a1", at), LANES))
            made.append(tools.of_sums(given, rows))
        for i in range(rows):
            for j, value in enumerate(tools.of_sums([one[i] for one in made], columns)):
                at = _sum(loops, start, loops.do("mul i64", size, str(i * columns + j)))
                loops.vector_store(value, loops.place("float", "%a0", at), LANES)


def _write_outputs(loops: Loops, tall: int, wide: int, form: str) -> None:
    """Write the transformation of products.

    Its arrays are result, products [36, tiles of the block, channels], and a vector for each tile;
    that of the first one becomes NaN if a number is not finite.  With a form it has two more: see
    ``After``.  Its sizes are the first tile and the end, counted in the block, the block's first
    tile and its tiles, the tiles of an image down and across, and height, width and channels of
    the result.
    """
    loops.flush_denormals()
    begin, end, block, count, down, across, height, width, channels = (
        loops.size(i) for i in range(9)
    )
    vectors, last = _vector_starts(loops, channels)
    plane = loops.do("mul i64", count, channels)
    tools = _Vectors(loops)
    seen = loops.variable(_KIND, "zeroinitializer")
    with loops.loop(begin, end) as number_of_tile:
        tile = _sum(loops, block, number_of_tile)
        image, row, column = _place_of_tile(loops, tile, down, across)
        y, x = loops.do("mul i64", row, str(tall)), loops.do("mul i64", column, str(wide))
        is_row = [
            loops.do("icmp slt i64", loops.do("add i64", y, str(i)), height) for i in range(tall)
        ]
        is_column = [
            loops.do("icmp slt i64", loops.do("add i64", x, str(j)), width) for j in range(wide)
        ]
        line = _sum(loops, loops.do("mul i64", image, height), y)
        corner = _sum(loops, loops.do("mul i64", line, width), x)
        corner = loops.do("mul i64", corner, channels)
        source = loops.do("mul i64", number_of_tile, channels)
        with loops.loop("0", vectors) as vector:
            start = _start(loops, vector, last)
            of = _sum(loops, source, start)
            columns = []
            for j in range(REACH):
                given = []
                for i in range(REACH):
                    at = _sum(loops, of, loops.do("mul i64", plane, str(i * REACH + j)))
                    given.append(loops.vector_load(loops.place("float", "%a1", at), LANES))
                columns.append(tools.of_products(given, tall))
            target = _sum(loops, corner, start)
            rows = [
                _sum(loops, start, times(loops, channels, row)) for row in range(_ROWS_OF[form])
            ]
            places = [loops.place("float", "%a3", row) for row in rows]
            given = [loops.vector_load(place, LANES) for place in places]
            for i in range(tall):
                values = tools.of_products([one[i] for one in columns], wide)
                for j, value in enumerate(values):
                    number = loops.do("add i64", loops.do("mul i64", width, str(i)), str(j))
                    at = _sum(loops, target, loops.do("mul i64", number, channels))
                    nothing = loops.do(f"fmul {_KIND}", value, tools.constant(0.0))
                    seen.set(loops.do(f"fadd {_KIND}", seen.get(), nothing))
                    if form:
                        value = write_after(loops, form, value, given.__getitem__, 4)
                    is_in = loops.do("and i1", is_row[i], is_column[j])
                    with loops.loop("0", loops.convert("zext i1", is_in, "i64")):
                        loops.vector_store(value, loops.place("float", "%a0", at), LANES)
    own = loops.place("float", "%a2", loops.do("mul i64", begin, str(LANES)))
    loops.vector_store(seen.get(), own, LANES)


# The rows of numbers for each output channel, by what follows.
_ROWS_OF = {"": 0, "biased": 1, "normed": 4}
_INPUTS = Routine(2, partial(_write_tiles, rows=REACH, columns=REACH, transform=_Vectors.of_inputs))


@lru_cache(maxsize=16)
def _others(rows: int, columns: int) -> tuple[Routine, dict[str, Routine]]:
    """Return the transformations of filters of a size, and of products with them.

    The latter by what follows.
    """
    write = partial(_write_outputs, tall=7 - rows, wide=7 - columns)
    return (
        Routine(2, partial(_write_filter, rows=rows, columns=columns)),
        {form: Routine(5 if form else 3, partial(write, form=form)) for form in _ROWS_OF},
    )


@lru_cache(maxsize=16)
def _of_gradients(rows: int, columns: int) -> tuple[Routine, Routine]:
    """Return the transformations for the gradient of filters of a size."""
    tall, wide = 7 - rows, 7 - columns
    return (
        Routine(2, partial(_write_tiles, rows=tall, columns=wide, transform=_Vectors.of_gradients)),
        Routine(2, partial(_write_taps, rows=rows, columns=columns)),
    )


# Estimated nanoseconds of a product without transformations, of an element of transformed inputs
# and outputs, and of filters; of a product here, and with filters that do not stay in the cache; of
# a call.
_NS_OF_DIRECT, _NS_OF_ELEMENT, _NS_OF_FILTER = {
    16: (0.015, 0.5, 0.9), 8: (0.019, 0.35, 0.4)
}[LANES]  # fmt: skip
_NS_OF_PRODUCT, _NS_OF_FAR_PRODUCT = 0.019, 0.035
_NS_OF_CALL = 8000
_NEAR_BYTES = 1 << 22
# The least part of the time that has to be saved: the estimates are not exact.
_LEAST_SAVED = 0.1
# Estimated time of an element of the transformed arrays on the plain way, and of a vector here.
_SECONDS_OF_ELEMENT, _NS_OF_VECTOR = 1e-9, 200.0
_NS_OF_TRANSFORMED = 0.2
# Bytes of transformed inputs and products of a block, and its fewest tiles.
_BLOCK_BYTES = 3 << 18
_LEAST_TILES = 64
# The fewest blocks for a thread. A block takes about 100 us, and up to twice as long beside one of
# another thread.
_LEAST_BLOCKS = 2


# The blocks that are one where the team shares each of them.
_SHARED_BLOCKS = 2


# Memory of earlier calls, since the system takes longer to make new pages than a block to compute;
# guarded by _lock.
_spare: list[Array] = []
_MOST_SPARE_BYTES = 1 << 24
# Larger pieces would keep the memory around them from the system, and take longer to compute.
_MOST_BYTES_OF_ONE = 1 << 22
_lock = threading.Lock()
forking.guard(sys.modules[__name__], "_lock")


def _taken(size: int) -> Array:
    """Return memory for some numbers, not more than twice as large."""
    with _lock:
        for place, one in enumerate(_spare):
            if size <= one.size <= 2 * size:
                return _spare.pop(place)
    return np.empty(size, np.float32)


def _returned(*memory: Array) -> None:
    """Keep memory for later calls."""
    with _lock:
        _spare.extend(one for one in memory if one.nbytes <= _MOST_BYTES_OF_ONE)
        while sum(one.nbytes for one in _spare) > _MOST_SPARE_BYTES:
            del _spare[0]


def suits(kernel_shape: Sequence[int], windows: Sequence[Window], out: Array) -> bool:
    """Return whether a convolution of all channels is faster with transformations.

    Args:
      kernel_shape: the shape of the filter.
      windows: its windows.
      out: the result, whose numbers lie as in C order.
    """
    if len(windows) != 2 or not out.flags.c_contiguous:
        return False
    for w in windows:
        if w.stride != 1 or w.dilation != 1 or not 2 <= w.filter <= 5:
            return False
    return _is_faster(tuple(kernel_shape), out.shape)


@lru_cache(maxsize=512)
def _is_faster(kernel_shape: tuple[int, ...], out_shape: tuple[int, ...]) -> bool:
    """Return whether transformations are faster, for windows that have them."""
    rows, columns, channels, out_channels = kernel_shape
    if min(channels, out_channels) < LANES:
        return False
    batch, height, width, _ = out_shape
    tiles, taps = batch * -(-height // (7 - rows)) * -(-width // (7 - columns)), rows * columns
    products = channels * out_channels
    is_near = 4 * NUM_POINTS * products <= _NEAR_BYTES
    of_tile = products * (_NS_OF_PRODUCT if is_near else _NS_OF_FAR_PRODUCT)
    of_tile += (channels + out_channels) * _NS_OF_ELEMENT
    time = NUM_POINTS * (tiles * of_tile + products * _NS_OF_FILTER) + _NS_OF_CALL
    direct = math.prod(out_shape) * channels * taps * _NS_OF_DIRECT
    return time < (1 - _LEAST_SAVED) * direct


def forward(
    x: Array,
    kernel: Array,
    windows: Sequence[Window],
    out: Array,
    after: After | None = None,
) -> bool | None:
    """Write the convolution into `out`; return whether all numbers of the result are finite.

    Where they are not, all numbers of a tile may be wrong. None if the routines are not ready.

    Args:
      x: images with at least as many channels as a vector.
      kernel: a filter of 2 to 5 elements along each side, with as many outputs.
      windows: its windows, with stride 1.
      out: the result, in C order.
      after: what follows, if anything does.
    """
    rows, columns, channels, out_channels = kernel.shape
    tall, wide = 7 - rows, 7 - columns
    batch, height, width = out.shape[:3]
    down, across = -(-height // tall), -(-width // wide)
    tiles = batch * down * across
    seconds = tiles * NUM_POINTS * (channels + out_channels) * _SECONDS_OF_ELEMENT
    filter_routine, others = _others(rows, columns)
    routines = _INPUTS, filter_routine, others[after.form if after else ""]
    # All are asked, so that they are compiled one right after the other.
    of_inputs, of_filter, of_outputs = (one.find(seconds) for one in routines)
    if of_inputs is None or of_filter is None or of_outputs is None:
        return None
    x = np.ascontiguousarray(x)
    size = channels * out_channels
    memory = _taken(NUM_POINTS * size)
    filters = memory[: NUM_POINTS * size].reshape(NUM_POINTS, channels, out_channels)
    taps = filter_in_order(kernel)
    run_rows(of_filter, [filters, taps], -(-size // LANES), _NS_OF_VECTOR, size)
    blocks = _Blocks(tiles, channels, out_channels, _BLOCK_BYTES, _LEAST_TILES)
    first, second = windows
    of_image = tall, wide, x.shape[1], x.shape[2], channels, first.pad_before, second.pad_before
    of_result = height, width, out_channels
    is_finite = np.ones(blocks.count, np.bool_)

    def work(begin: int, end: int) -> None:
        seen = np.zeros((blocks.most, LANES), np.float32)
        given, made = blocks.memory()
        for number in range(begin, end):
            inputs, products = blocks.parts(number, given, made)
            grid = *blocks.of(number), down, across
            blocks.transform(of_inputs, [inputs, x], channels, *grid, *of_image)
            blocks.multiply(inputs, filters, products)
            arrays = [out, products, seen, *(after[1:] if after else ())]
            blocks.transform(of_outputs, arrays, out_channels, *grid, *of_result)
            is_finite[number] = not np.isnan(seen).any()
        _returned(given, made)

    blocks.shard(blocks.count, _LEAST_BLOCKS, work)
    _returned(memory)
    return bool(is_finite.all())


class _Blocks:
    """Blocks of tiles of about equal size, which depend on the shapes alone.

    The team shares each step of a block where compiled products are faster than those of BLAS, else
    threads share the blocks.

    Args:
      tiles: the number of tiles.
      channels: the channels of the images.
      out_channels: the channels of the result.
      size: the bytes of the transformed arrays of a block.
      least: the fewest tiles of a block.

    Attributes:
      count: the number of blocks.
      most: the most tiles of one.
    """

    def __init__(self, tiles: int, channels: int, out_channels: int, size: int, least: int) -> None:
        self._channels, self._out_channels = channels, out_channels
        rows = min(tiles, max(size // (NUM_POINTS * 4 * (channels + out_channels)), least))
        self._is_shared = compiled_products.can_multiply(rows, channels, out_channels)
        if self._is_shared:
            rows *= _SHARED_BLOCKS
        self.count = -(-tiles // rows)
        self._cuts = [tiles * part // self.count for part in range(self.count + 1)]
        self.most = max(b - a for a, b in pairwise(self._cuts))

    def of(self, number: int) -> tuple[int, int]:
        """Return the first tile of a block, and the number of its tiles."""
        return self._cuts[number], self._cuts[number + 1] - self._cuts[number]

    def memory(self) -> tuple[Array, Array]:
        """Return memory for the transformed arrays of a block."""
        given, made = (
            _taken(NUM_POINTS * self.most * one) for one in (self._channels, self._out_channels)
        )
        return given, made

    def parts(self, number: int, given: Array, made: Array) -> tuple[Array, Array]:
        """Return the transformed arrays of a block, [36, tiles, channels], in memory for them."""
        _, tiles = self.of(number)
        inputs, products = (
            memory[: NUM_POINTS * tiles * one].reshape(NUM_POINTS, tiles, one)
            for memory, one in ((given, self._channels), (made, self._out_channels))
        )
        return inputs, products

    def transform(
        self,
        function: Callable[..., None],
        arrays: Sequence[Array],
        channels: int,
        start: int,
        tiles: int,
        *sizes: int,
    ) -> None:
        """Transform the tiles of a block; sizes are those of the routine."""
        if self._is_shared:
            ns = NUM_POINTS * channels * _NS_OF_TRANSFORMED
            run_rows(function, arrays, tiles, ns, start, tiles, *sizes)
        else:
            function(*arrays, np.array([1, 0, tiles, start, tiles, *sizes], np.int64))

    def multiply(self, a: Array, b: Array, out: Array) -> None:
        """Compute the products of two stacks of matrices."""
        if not (self._is_shared and compiled_products.multiply_stack(a, b, out)):
            matmul(a, b, out=out)

    def shard(self, total: int, least: int, work: Callable[[int, int], None]) -> None:
        """Call ``work(first, last)`` as ``work_sharder.shard`` does, where threads share blocks."""
        if self._is_shared:
            work(0, total)
        else:
            shard(total, least, work)


# Bytes of transformed inputs and gradients of a block, and the most bytes of the parts of a sum.
_SUMMED_BYTES, _MOST_BYTES_OF_PARTS = 1 << 21, 1 << 24
_MOST_PARTS = 8


def filter_gradient(
    x: Array, out_backprop: Array, filter_shape: Sequence[int], windows: Sequence[Window]
) -> Array | None:
    """Return the gradient of a filter; None if the routines are not ready.

    Where a number of it is not finite, others may be wrong.

    Args:
      x: images, see :func:`forward`.
      out_backprop: the gradient of the result.
      filter_shape: the shape of the filter.
      windows: its windows.
    """
    rows, columns, channels, out_channels = filter_shape
    tall, wide = 7 - rows, 7 - columns
    batch, height, width = out_backprop.shape[:3]
    down, across = -(-height // tall), -(-width // wide)
    tiles = batch * down * across
    seconds = tiles * NUM_POINTS * (channels + out_channels) * _SECONDS_OF_ELEMENT
    routines = (_INPUTS, *_of_gradients(rows, columns))
    of_inputs, of_gradients, of_sums = (one.find(seconds) for one in routines)
    if of_inputs is None or of_gradients is None or of_sums is None:
        return None
    x, out_backprop = np.ascontiguousarray(x), np.ascontiguousarray(out_backprop)
    size = channels * out_channels
    blocks = _Blocks(tiles, channels, out_channels, _SUMMED_BYTES, 2 * _LEAST_TILES)
    count = blocks.count
    # Parts that threads share; they depend on the shapes alone, so that the sum does.
    parts = max(2, min(_MOST_PARTS, _MOST_BYTES_OF_PARTS // (NUM_POINTS * 4 * size)))
    parts = min(parts, count)
    first, second = windows
    of_image = tall, wide, x.shape[1], x.shape[2], channels, first.pad_before, second.pad_before
    of_result = tall, wide, height, width, out_channels, 0, 0
    memory = [_taken(NUM_POINTS * size) for _ in range(parts)]
    totals = [one[: NUM_POINTS * size].reshape(NUM_POINTS, channels, out_channels)
              for one in memory]  # fmt: skip

    def work(begin: int, end: int) -> None:
        given, came = blocks.memory()
        product = _taken(NUM_POINTS * size)
        added = product[: NUM_POINTS * size].reshape(NUM_POINTS, channels, out_channels)
        for part in range(begin, end):
            total = totals[part]
            numbers = range(count * part // parts, count * (part + 1) // parts)
            for number in numbers:
                inputs, grads = blocks.parts(number, given, came)
                grid = *blocks.of(number), down, across
                blocks.transform(of_inputs, [inputs, x], channels, *grid, *of_image)
                arrays = [grads, out_backprop]
                blocks.transform(of_gradients, arrays, out_channels, *grid, *of_result)
                target = total if number == numbers[0] else added
                blocks.multiply(inputs.swapaxes(1, 2), grads, target)
                if target is added:
                    np.add(total, added, out=total)
        _returned(given, came, product)

    blocks.shard(parts, -(-_LEAST_BLOCKS * parts // count), work)
    for total in totals[1:]:
        np.add(totals[0], total, out=totals[0])
    grad = np.empty((rows, columns, channels, out_channels), np.float32)
    run_rows(of_sums, [grad, totals[0]], -(-size // LANES), _NS_OF_VECTOR, size)
    _returned(*memory)
    return grad
