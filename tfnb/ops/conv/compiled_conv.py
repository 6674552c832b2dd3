"""Convolutions by compiled routines (``core/compiled/routines.py``), without copies of patches.

A routine computes a tile of a few positions times up to four vectors of output channels, which
stay in registers while it goes through the cells of a window: at each cell and channel it loads the
filter's vectors, and multiplies them by one number of each position.  Where positions lie, and what
is a window, is in tables of offsets, so that any strides, dilations and number of dimensions fit.
A sum has one order, so that the result depends neither on tiles nor on threads.

The filter's gradient has tiles of cells of the filter instead, and its sum goes over positions,
some hundred at a time: they stay in cache, and a long sum becomes a sum of short ones.  The input's
gradient is one convolution for each phase (``conv_kernels.py``), which writes its cells.
"""

from __future__ import annotations

import math
import sys
import threading
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.compiled.routines import Routine, run_sizes
from tfnb.core.process import forking
from tfnb.core.process.work_sharder import shard
from tfnb.ops.base.compiled_products import LANES, ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array
    from tfnb.ops.conv.windows import Window

    # Rows, estimated nanoseconds of a row, and further sizes.
    type_of_call = tuple[int, float, tuple[int, ...]]
    type_of_tables = Callable[[Any], tuple[list[Array], list[type_of_call]]]


def write_after(loops: Loops, total: str, bias: str, limits: int) -> str:
    """Write what follows a convolution: the addition of a vector, and limits, which NaN passes.

    Args:
      loops: the function under construction.
      total: a vector of sums.
      bias: a vector of the bias.
      limits: the number of the array with the smallest and the largest result.
    """
    kind = f"<{LANES} x float>"
    found = loops.do(f"fadd {kind}", total, bias)
    for place, test in (("0", "olt"), ("1", "ogt")):
        limit = loops.splat("float", loops.load("float", limits, place), LANES)
        is_out = loops.do(f"fcmp {test} {kind}", found, limit)
        found = loops.do("select", f"<{LANES} x i1> {is_out}", f"{kind} {limit}", f"{kind} {found}")
    return found


def _write(loops: Loops, vectors: int, positions: int, *, is_biased: bool = False) -> None:
    """Write the routine for a number of vectors.

    Its arrays are result, padded input, filter, and offsets of positions in the input, of positions
    in the result, and of the runs of a window.  Its sizes are the first tile, the end of the tiles,
    the number of positions, of runs, and of numbers in a run, the number of output channels, the
    first one here, and how many there are in the last vector.  A biased one has two more arrays
    behind the offsets: see :func:`write_after`.
    """
    begin, end, total, runs, length, channels, first, rest = (loops.size(i) for i in range(8))
    kind = f"<{LANES} x float>"
    mask = loops.first_lanes(rest, LANES)
    last_start = loops.do("sub i64", total, str(positions))
    with loops.loop(begin, end) as tile:
        # The last tile begins earlier: it computes some positions once more.
        start = loops.do("mul nuw nsw i64", tile, str(positions))
        is_beyond = loops.do("icmp sgt i64", start, last_start)
        start = loops.choose("i64", is_beyond, last_start, start)
        numbers = [loops.do("add i64", start, str(p)) for p in range(positions)]
        places = [loops.load("i64", 3, number) for number in numbers]
        sums = [
            [loops.variable(kind, "zeroinitializer") for _ in range(vectors)]
            for _ in range(positions)
        ]
        with loops.loop("0", runs) as run:
            offset = loops.load("i64", 5, run)
            row = loops.do("mul i64", run, length)
            bases = [
                loops.place("float", "%a1", loops.do("add i64", place, offset)) for place in places
            ]
            with loops.loop("0", length) as i:
                at = loops.do("mul i64", loops.do("add i64", row, i), channels)
                at = loops.do("add i64", at, first)
                weights = [
                    loops.vector_load(
                        loops.place("float", "%a2", loops.do("add i64", at, str(v * LANES))),
                        LANES,
                        mask if v == vectors - 1 else "",
                    )
                    for v in range(vectors)
                ]
                for base, of_position in zip(bases, sums, strict=True):
                    number = loops.do("load float,", f"ptr {loops.place('float', base, i)}")
                    spread = loops.splat("float", number, LANES)
                    for weight, total_of in zip(weights, of_position, strict=True):
                        product = loops.do(f"fmul contract {kind}", spread, weight)
                        total_of.set(loops.do(f"fadd contract {kind}", total_of.get(), product))
        for number, of_position in zip(numbers, sums, strict=True):
            target = loops.do("add i64", loops.load("i64", 4, number), first)
            for v, total_of in enumerate(of_position):
                place = loops.place("float", "%a0", loops.do("add i64", target, str(v * LANES)))
                some = mask if v == vectors - 1 else ""
                found = total_of.get()
                if is_biased:
                    at = loops.place("float", "%a6", loops.do("add i64", first, str(v * LANES)))
                    found = write_after(loops, found, loops.vector_load(at, LANES, some), 7)
                loops.vector_store(found, place, LANES, some)


_ROUTINES = [
    Routine(6, partial(_write, vectors=number + 1, positions=positions))
    for number, positions in enumerate(ROWS)
]
_BIASED_ROUTINES = [
    Routine(8, partial(_write, vectors=number + 1, positions=positions, is_biased=True))
    for number, positions in enumerate(ROWS)
]
# Estimates of the plain way, and of a multiplication here.
_SECONDS_OF_CALL, _SECONDS_OF_PRODUCT = 30e-6, 1.5e-11
_NS_OF_PRODUCT = 0.01


@lru_cache(maxsize=256)
def _blocks(channels: int) -> tuple[tuple[int, int, int], ...]:
    """Return (number of the routine, first channel, channels of its last vector) of each call."""
    left, first, found = -(-channels // LANES), 0, []
    calls = -(-left // len(_ROUTINES))
    for call in range(calls, 0, -1):
        count = -(-left // call)
        rest = min(LANES, channels - first - (count - 1) * LANES)
        found.append((count - 1, first, rest))
        left, first = left - count, first + count * LANES
    return tuple(found)


_MOST_POSITIONS = max(ROWS)


def offsets(counts: tuple[int, ...], strides: tuple[int, ...], least: int = 1) -> NDArray[np.int64]:
    """Return the offset of each cell of a grid, the last one repeated up to a least number."""
    found = np.zeros(1, np.int64)
    for count, stride in zip(counts, strides, strict=True):
        found = (found[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    if len(found) < least:
        found = np.concatenate([found, np.repeat(found[-1:], least - len(found))])
    return found


class Places:
    """Where positions and windows lie in padded images.

    Attributes:
      seen: the offset of each position in the images, the last one repeated up to a full tile.
      targets: the offset of each position in the result, or in the gradient of the output.
      cells: the offset of each cell of a window.
      runs: the offset of each run of a window; the numbers of a run lie close to each other.
      length: the numbers of a run.
      nbytes: the memory of these tables.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        windows: Sequence[Window],
        target_strides: tuple[int, ...],
    ) -> None:
        """Compute the tables; strides are in bytes."""
        within = [one // _ITEM for one in strides]
        counts = (shape[0], *(w.output for w in windows))
        steps = [s * w.stride for s, w in zip(within[1:-1], windows, strict=True)]
        self.seen = offsets(counts, (within[0], *steps), _MOST_POSITIONS)
        to = tuple(one // _ITEM for one in target_strides[:-1])
        self.targets = offsets(counts, to, _MOST_POSITIONS)
        # Cells of the last dimension are a run, unless windows skip some.
        sizes = tuple(w.filter for w in windows)
        across = tuple(s * w.dilation for s, w in zip(within[1:-1], windows, strict=True))
        self.cells = offsets(sizes, across)
        is_joined = windows[-1].dilation == 1 and within[-2] == shape[-1]
        self.runs = offsets(sizes[:-1], across[:-1]) if is_joined else self.cells
        self.length = shape[-1] * (sizes[-1] if is_joined else 1)
        tables = (self.seen, self.targets, self.cells, self.runs)
        self.nbytes = sum(one.nbytes for one in tables)


_ITEM = 4
# The tables of the latest convolutions and poolings, and the limit in bytes of each dictionary.
_kept: dict[Any, Places] = {}
_MOST_BYTES = 1 << 24
_lock = threading.Lock()
forking.guard(sys.modules[__name__], "_lock")


def places_of(padded: Array, windows: Sequence[Window], target: Array) -> Places:
    """Return where positions lie in padded images and in a result."""
    key = (padded.shape, padded.strides, tuple(windows), target.strides)
    found = _kept.get(key)
    if found is None:
        found = Places(*key)
        with _lock:
            _kept[key] = found
            while sum(one.nbytes for one in _kept.values()) > _MOST_BYTES:
                del _kept[next(iter(_kept))]
    return found


SUMMED = 256
"""Positions that a sum adds before it is added to the result."""


def _write_filter(loops: Loops, vectors: int, positions: int) -> None:
    """Write the routine of the filter's gradient for a number of vectors.

    Its arrays are result, padded input, gradient of the output, and offsets of the filter's cells
    in the input, of positions in the input, and of positions in the gradient.  Its sizes are the
    first tile, the end of the tiles, the number of positions, of output channels, the first one
    here, and how many there are in the last vector.
    """
    begin, end, total, channels, first, rest = (loops.size(i) for i in range(6))
    kind = f"<{LANES} x float>"
    mask = loops.first_lanes(rest, LANES)
    parts = loops.do("sdiv i64", loops.do("add i64", total, str(SUMMED - 1)), str(SUMMED))
    with loops.loop("0", parts) as part, loops.loop(begin, end) as tile:
        here = loops.do("mul nuw nsw i64", part, str(SUMMED))
        there = loops.do("add i64", here, str(SUMMED))
        there = loops.choose("i64", loops.do("icmp slt i64", there, total), there, total)
        start = loops.do("mul nuw nsw i64", tile, str(positions))
        numbers = [loops.do("add i64", start, str(p)) for p in range(positions)]
        bases = [loops.place("float", "%a1", loops.load("i64", 3, one)) for one in numbers]
        sums = [
            [loops.variable(kind, "zeroinitializer") for _ in range(vectors)]
            for _ in range(positions)
        ]
        with loops.loop(here, there) as i:
            seen = loops.load("i64", 4, i)
            at = loops.do("add i64", loops.load("i64", 5, i), first)
            rows = [
                loops.vector_load(
                    loops.place("float", "%a2", loops.do("add i64", at, str(v * LANES))),
                    LANES,
                    mask if v == vectors - 1 else "",
                )
                for v in range(vectors)
            ]
            for base, of_cell in zip(bases, sums, strict=True):
                number = loops.do("load float,", f"ptr {loops.place('float', base, seen)}")
                spread = loops.splat("float", number, LANES)
                for row, total_of in zip(rows, of_cell, strict=True):
                    product = loops.do(f"fmul contract {kind}", spread, row)
                    total_of.set(loops.do(f"fadd contract {kind}", total_of.get(), product))
        for number, of_cell in zip(numbers, sums, strict=True):
            target = loops.do("add i64", loops.do("mul i64", number, channels), first)
            for v, total_of in enumerate(of_cell):
                place = loops.place("float", "%a0", loops.do("add i64", target, str(v * LANES)))
                some = mask if v == vectors - 1 else ""
                grown = loops.do(
                    f"fadd {kind}", loops.vector_load(place, LANES, some), total_of.get()
                )
                loops.vector_store(grown, place, LANES, some)


# Each cell of a tile has a pointer of its own: with more of them, they do not stay in registers.
_FILTER_ROWS = tuple(rows if number == 0 else min(rows, 8) for number, rows in enumerate(ROWS))
_FILTER_ROUTINES = [
    Routine(6, partial(_write_filter, vectors=number + 1, positions=positions))
    for number, positions in enumerate(_FILTER_ROWS)
]


def cell_offsets(runs: NDArray[np.int64], length: int, least: int) -> NDArray[np.int64]:
    """Return the offset of each number of some runs, the last one repeated as in `offsets`."""
    found = (runs[:, None] + np.arange(length, dtype=np.int64)).reshape(-1)
    return np.concatenate([found, np.repeat(found[-1:], max(0, least - len(found)))])


def suits(x: Array, kernel_shape: Sequence[int], dtype: Any) -> bool:
    """Return whether the routines compute a convolution: float32, all channels in one group.

    A single output channel would leave the other lanes of vectors empty.
    """
    return (
        x.dtype == dtype == np.float32
        and kernel_shape[-1] > 1
        and x.shape[-1] == kernel_shape[-2]
        and 0 not in x.shape
        and 0 not in kernel_shape
    )


def lies_close(x: Array) -> Array:
    """Return images of which the channels lie close to each other."""
    is_close = x.strides[-1] == _ITEM and not any(one % _ITEM for one in x.strides)
    return x if is_close else np.ascontiguousarray(x)


def _functions(
    routines: Sequence[Routine], channels: int, seconds: float
) -> list[Callable[..., None]] | None:
    """Return the functions that compute all channels; None if one of them is not ready."""
    # All are asked, so that they are compiled one right after the other.
    found = [routines[block[0]].find(seconds) for block in _blocks(channels)]
    return None if None in found else found  # type: ignore[return-value]


# Elements from which on filling the borders is faster than filling everything.
_LEAST_BORDERS = 1 << 14
# Elements that are worth a thread when images are copied.
_LEAST_COPIED = 1 << 18


def _borders(windows: Sequence[Window]) -> Iterator[tuple[slice, ...]]:
    """Yield the cells of padded images that are padding; those of later dimensions without it."""
    before: tuple[slice, ...] = (slice(None),)
    for w in windows:
        if w.pad_before:
            yield (*before, slice(0, w.pad_before))
        if w.pad_after:
            yield (*before, slice(w.pad_before + w.size, None))
        before = (*before, slice(w.pad_before, w.pad_before + w.size))


class Plan:
    """What the convolutions of one form have in common: tables, and the calls of routines.

    Attributes:
      windows: kept, because forms are known by their identity.
      nbytes: the memory of its tables.
    """

    __slots__ = (
        "_borders",
        "_calls",
        "_inner",
        "_is_close",
        "_shape",
        "_tables",
        "nbytes",
        "windows",
    )

    def __init__(
        self, x: Array, windows: Sequence[Window], target: Array, tables: type_of_tables
    ) -> None:
        self.windows = tuple(windows)
        self._inner: tuple[slice, ...] = ()
        self._borders: list[tuple[slice, ...]] = []  # zeros around a large image
        self._shape = x.shape
        if any(w.pad_before or w.pad_after for w in windows):
            self._shape = (len(x), *(w.padded for w in windows), x.shape[-1])
            cells = (slice(w.pad_before, w.pad_before + w.size) for w in windows)
            self._inner = (slice(None), *cells)
            if math.prod(self._shape) >= _LEAST_BORDERS:
                self._borders = list(_borders(windows))
        self._is_close = x.strides[-1] == _ITEM and not any(one % _ITEM for one in x.strides)
        places = places_of(self.padded(x), windows, target)
        self._tables, calls = tables(places)
        self._calls = [
            (rows, ns, np.array([0, 0, rows, *sizes], np.int64)) for rows, ns, sizes in calls
        ]
        self.nbytes = places.nbytes + sum(one.nbytes for one in self._tables)

    def padded(self, x: Array) -> Array:
        """Return images with their padding, of which the channels lie close to each other."""
        if not self._inner:
            return x if self._is_close else np.ascontiguousarray(x)
        if not self._borders:
            padded = np.zeros(self._shape, np.float32)
            padded[self._inner] = x
            return padded
        padded = np.empty(self._shape, np.float32)

        def work(first: int, last: int) -> None:
            part = padded[first:last]
            for border in self._borders:
                part[border] = 0
            part[self._inner] = x[first:last]

        shard(len(x), _LEAST_COPIED * len(x) // padded.size + 1, work)
        return padded

    def run(
        self,
        functions: Sequence[Callable[..., None]],
        *arrays: Array,
        after: Sequence[Array] = (),
    ) -> None:
        """Call the functions with arrays, the tables, and the arrays that follow these."""
        given = [*arrays, *self._tables, *after]
        for function, (rows, ns, sizes) in zip(functions, self._calls, strict=True):
            run_sizes(function, given, rows, ns, sizes)


# Plans by what they depend on: shapes, strides, and windows by identity.
_plans: dict[Any, Plan] = {}
_MOST_PLANS = 1024


def plan_of(
    kind: Any, x: Array, windows: Sequence[Window], target: Array, tables: type_of_tables
) -> Plan:
    """Return the plan of a form, which is made at its first use.

    Args:
      kind: what the form depends on beside the other arguments.
      x: the images.
      windows: the windows of the spatial dimensions.
      target: an array whose positions are those of the windows.
      tables: returns the tables and the calls.
    """
    key = (kind, x.shape, x.strides, target.strides, *map(id, windows))
    found = _plans.get(key)
    if found is not None:
        return found
    made = Plan(x, windows, target, tables)
    with _lock:
        _plans[key] = made
        # The oldest ones are forgotten if they are many, or need too much memory.
        while len(_plans) > _MOST_PLANS or sum(one.nbytes for one in _plans.values()) > _MOST_BYTES:
            del _plans[next(iter(_plans))]
    return made


def convolve(
    x: Array,
    kernel: Array,
    windows: Sequence[Window],
    out: Array,
    after: tuple[Array, Array] | None = None,
) -> bool:
    """Compute a convolution; return whether the routines are ready.

    Args:
      x: the images, [batch, sizes..., channels].
      kernel: the filter, [sizes..., channels, output channels].
      windows: the windows of the spatial dimensions.
      out: receives the result; only its channels have to lie close to each other.
      after: a vector that is added to the result, and its limits then.
    """
    shape = kernel.shape
    products = len(x) * math.prod([w.output for w in windows]) * kernel.size
    routines = _ROUTINES if after is None else _BIASED_ROUTINES
    functions = _functions(routines, shape[-1], _SECONDS_OF_CALL + products * _SECONDS_OF_PRODUCT)
    if functions is None:
        return False
    plan = plan_of(("forward", shape), x, windows, out, partial(_forward_calls, shape[-1]))
    plan.run(functions, out, plan.padded(x), np.ascontiguousarray(kernel), after=after or ())
    return True


def _forward_calls(channels: int, places: Places) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the calls of a convolution."""
    num_runs, length = len(places.runs), places.length
    calls: list[type_of_call] = []
    for number, first, rest in _blocks(channels):
        positions = ROWS[number]
        products = positions * (number + 1) * LANES * num_runs * length
        sizes = (len(places.seen), num_runs, length, channels, first, rest)
        tiles = -(-len(places.seen) // positions)
        calls.append((tiles, products * _NS_OF_PRODUCT, sizes))
    return [places.seen, places.targets, places.runs], calls


def filter_gradient(
    x: Array, out_backprop: Array, filter_shape: Sequence[int], windows: Sequence[Window]
) -> Array | None:
    """Return the gradient of a convolution's filter; None if the routines are not ready."""
    channels, cells = filter_shape[-1], math.prod(filter_shape[:-1])
    seconds = _SECONDS_OF_CALL + out_backprop.size * cells * _SECONDS_OF_PRODUCT
    functions = _functions(_FILTER_ROUTINES, channels, seconds)
    if functions is None:
        return None
    came = lies_close(out_backprop)
    tables = partial(_filter_calls, cells, channels, came.size)
    plan = plan_of(("filter", came.shape), x, windows, came, tables)
    # The last rows belong to no cell: they complete the last tile.
    grad = np.zeros((cells + _MOST_POSITIONS, channels), np.float32)
    plan.run(functions, grad, plan.padded(x), came)
    return grad[:cells].reshape(tuple(filter_shape))


def _filter_calls(
    cells: int, channels: int, size: int, places: Places
) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the calls of a filter's gradient."""
    count = size // channels
    calls: list[type_of_call] = []
    for number, first, rest in _blocks(channels):
        positions = _FILTER_ROWS[number]
        ns = positions * (number + 1) * LANES * count * _NS_OF_PRODUCT
        sizes = (count, channels, first, rest)
        calls.append((-(-cells // positions), ns, sizes))
    of_cells = cell_offsets(places.runs, places.length, cells + _MOST_POSITIONS)
    return [of_cells, places.seen, places.targets], calls
