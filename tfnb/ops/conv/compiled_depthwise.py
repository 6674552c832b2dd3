"""Depthwise convolutions by compiled routines (``core/compiled/routines.py``).

A vector holds neighbouring channels.  The routine of the convolution computes a few positions at
once, which share the loads of the filter, that of the filter's gradient a few cells of the filter,
which share the loads of the output's gradient.  Offsets and sums are those of ``compiled_conv.py``.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from tfnb.core.compiled.routines import Routine
from tfnb.ops.base.compiled_products import LANES
from tfnb.ops.conv.compiled_conv import (
    SUMMED,
    cell_offsets,
    least_of,
    plus,
    times,
    write_after,
)
from tfnb.ops.conv.conv_plans import keep_ready, lies_close, plan_of, ready_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array
    from tfnb.ops.conv.compiled_conv import After
    from tfnb.ops.conv.conv_plans import Places, Ready, type_of_call
    from tfnb.ops.conv.windows import Window

# Positions of a tile, and cells of the filter in a tile of its gradient.
_POSITIONS, _CELLS = 4, 9


def _write(loops: Loops, form: str) -> None:
    """Write the routine of the convolution.

    Its arrays are result, padded input, filter, and offsets of positions in the input, of positions
    in the result, and of cells in the input.  Its sizes are the first tile, the end of the tiles,
    the number of positions, of cells, and of channels.  With a form it has two more arrays: see
    ``After``.
    """
    loops.flush_denormals()
    begin, end, total, channels = (loops.size(i) for i in (0, 1, 2, 4))
    last_start = loops.do("sub i64", total, str(_POSITIONS))
    vectors = loops.do("sdiv i64", plus(loops, channels, LANES - 1), str(LANES))
    whole = loops.do("sdiv i64", channels, str(LANES))
    with loops.loop(begin, end) as tile:
        start = loops.do("mul nuw nsw i64", tile, str(_POSITIONS))
        is_beyond = loops.do("icmp sgt i64", start, last_start)
        start = loops.choose("i64", is_beyond, last_start, start)
        numbers = [plus(loops, start, p) for p in range(_POSITIONS)]
        places = [loops.load("i64", 3, number) for number in numbers]
        targets = [loops.load("i64", 4, number) for number in numbers]
        with loops.loop("0", whole) as vector:
            _write_tile(loops, form, times(loops, vector, LANES), places, targets, "")
        # Stores with a mask take far longer.
        with loops.loop(whole, vectors) as vector:
            first = times(loops, vector, LANES)
            mask = loops.first_lanes(loops.do("sub i64", channels, first), LANES)
            _write_tile(loops, form, first, places, targets, mask)


def _write_tile(
    loops: Loops, form: str, first: str, places: Sequence[str], targets: Sequence[str], mask: str
) -> None:
    """Write a vector of channels of some positions.

    Args:
      loops: the function under construction.
      form: see ``After``.
      first: the first channel.
      places: the offsets of the positions in the input.
      targets: the offsets of the positions in the result.
      mask: the lanes that are channels; "" where all are.
    """
    cells, channels = loops.size(3), loops.size(4)
    kind = f"<{LANES} x float>"
    starts = [plus(loops, place, first) for place in places]
    sums = [loops.variable(kind, "zeroinitializer") for _ in places]
    with loops.loop("0", cells) as cell:
        offset = loops.load("i64", 5, cell)
        at = plus(loops, times(loops, cell, channels), first)
        weight = loops.vector_load(loops.place("float", "%a2", at), LANES, mask)
        for one, total_of in zip(starts, sums, strict=True):
            place = loops.place("float", "%a1", plus(loops, one, offset))
            seen = loops.vector_load(place, LANES, mask)
            product = loops.do(f"fmul contract {kind}", seen, weight)
            total_of.set(loops.do(f"fadd contract {kind}", total_of.get(), product))

    def load(row: int) -> str:
        at = plus(loops, first, times(loops, channels, row))
        return loops.vector_load(loops.place("float", "%a6", at), LANES, mask)

    for target, total_of in zip(targets, sums, strict=True):
        found = total_of.get()
        if form:
            found = write_after(loops, form, found, load, 7)
        place = loops.place("float", "%a0", plus(loops, target, first))
        loops.vector_store(found, place, LANES, mask)


def _write_filter(loops: Loops) -> None:
    """Write the routine of the filter's gradient.

    Its arrays are result, padded input, gradient of the output, and offsets of cells in the input,
    of positions in the input, and of positions in the gradient.  Its sizes are the first vector of
    channels, the end of the vectors, the number of positions, of tiles of cells, and of channels.
    """
    loops.flush_denormals()
    begin, end, total, tiles, channels = (loops.size(i) for i in range(5))
    parts = loops.do("sdiv i64", loops.do("add i64", total, str(SUMMED - 1)), str(SUMMED))
    # Loads with a mask take longer.
    whole = least_of(loops, loops.do("sdiv i64", channels, str(LANES)), end)
    rest = loops.choose("i64", loops.do("icmp sgt i64", begin, whole), begin, whole)
    with loops.loop("0", parts) as part:
        here = loops.do("mul nuw nsw i64", part, str(SUMMED))
        there = least_of(loops, loops.do("add i64", here, str(SUMMED)), total)
        with loops.loop(begin, whole) as vector, loops.loop("0", tiles) as tile:
            _write_sums(loops, times(loops, vector, LANES), tile, (here, there), "")
        with loops.loop(rest, end) as vector, loops.loop("0", tiles) as tile:
            first = times(loops, vector, LANES)
            mask = loops.first_lanes(loops.do("sub i64", channels, first), LANES)
            _write_sums(loops, first, tile, (here, there), mask)


def _write_sums(loops: Loops, first: str, tile: str, positions: tuple[str, str], mask: str) -> None:
    """Add the sums over some positions to a tile of the filter's gradient.

    Args:
      loops: the function under construction.
      first: the first channel.
      tile: the number of the tile.
      positions: the first position and the end of the positions.
      mask: the lanes that are channels; "" where all are.
    """
    channels, kind = loops.size(4), f"<{LANES} x float>"
    start = loops.do("mul nuw nsw i64", tile, str(_CELLS))
    numbers = [loops.do("add i64", start, str(c)) for c in range(_CELLS)]
    cells = [loops.do("add i64", loops.load("i64", 3, number), first) for number in numbers]
    sums = [loops.variable(kind, "zeroinitializer") for _ in numbers]
    with loops.loop(*positions) as i:
        seen = loops.load("i64", 4, i)
        at = loops.do("add i64", loops.load("i64", 5, i), first)
        came = loops.vector_load(loops.place("float", "%a2", at), LANES, mask)
        for cell, total_of in zip(cells, sums, strict=True):
            place = loops.place("float", "%a1", loops.do("add i64", cell, seen))
            product = loops.do(f"fmul contract {kind}", loops.vector_load(place, LANES, mask), came)
            total_of.set(loops.do(f"fadd contract {kind}", total_of.get(), product))
    for number, total_of in zip(numbers, sums, strict=True):
        at = loops.do("add i64", loops.do("mul i64", number, channels), first)
        place = loops.place("float", "%a0", at)
        before = loops.vector_load(place, LANES, mask)
        loops.vector_store(loops.do(f"fadd {kind}", before, total_of.get()), place, LANES, mask)


_ROUTINES = {
    form: Routine(8 if form else 6, partial(_write, form=form)) for form in ("", "biased", "normed")
}
_FILTER_ROUTINE = Routine(6, _write_filter)
# Estimates of the plain way, and of a multiplication here.
_SECONDS_OF_CALL, _SECONDS_OF_PRODUCT = 40e-6, 2e-10
_NS_OF_PRODUCT = 0.04


def suits(x: Array, kernel_shape: Sequence[int], dtype: object) -> bool:
    """Return whether the routines compute a convolution."""
    return (
        x.dtype == dtype == np.float32
        and x.shape[-1] == kernel_shape[-2]
        and 0 not in x.shape
        and 0 not in kernel_shape
    )


def convolve(
    x: Array,
    taps: Array,
    windows: Sequence[Window],
    out: Array,
    after: After | None = None,
    kernel: Array | None = None,
) -> bool:
    """Compute a convolution with one filter per channel; return whether the routine is ready.

    Args:
      x: the images, [batch, sizes..., channels].
      taps: the filters, [sizes..., channels].
      windows: the windows of the spatial dimensions.
      out: receives the result; only its channels have to lie close to each other.
      after: what follows, if anything does.
      kernel: the filters, [sizes..., channels, 1], if `ready` finds the next convolution.
    """
    form = after.form if after else ""
    channels = taps.shape[-1]
    positions = len(x) * math.prod(w.output for w in windows)
    seconds = _SECONDS_OF_CALL + positions * taps.size * _SECONDS_OF_PRODUCT
    function = _ROUTINES[form].find(seconds)
    if function is None:
        return False
    plan = plan_of("depthwise", x, windows, out, partial(_forward_calls, taps.size, channels))
    arrays = out, plan.padded(x), np.ascontiguousarray(taps)
    plan.run([function], *arrays, after=after[1:] if after else ())
    if kernel is not None:
        keep_ready(_READY + form, x, kernel, plan, [function], out)
    return True


# The kind of these convolutions in `ready_for` is this word and the form of what follows.
_READY: Final = "depthwise "


def ready(form: str, x: Array, kernel: Array, windows: Sequence[Window]) -> Ready | None:
    """Return what computed convolutions of this form before, given a filter for each channel.

    Args:
      form: of what follows.
      x: the images.
      kernel: the filters, [sizes..., channels, 1].
      windows: the windows of the spatial dimensions.
    """
    return ready_for(_READY + form, x, kernel, windows)


def _forward_calls(
    num_taps: int, channels: int, places: Places
) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the call of a convolution."""
    tiles = -(-len(places.seen) // _POSITIONS)
    sizes = (len(places.seen), len(places.cells), channels)
    ns = _POSITIONS * num_taps * _NS_OF_PRODUCT
    return [places.seen, places.targets, places.cells], [(tiles, ns, sizes)]


def filter_gradient(x: Array, out_backprop: Array, windows: Sequence[Window]) -> Array | None:
    """Return the filters' gradient, [sizes..., channels]; None if the routine is not ready."""
    channels = x.shape[-1]
    sizes = tuple(w.filter for w in windows)
    num_cells = math.prod(sizes)
    products = out_backprop.size * num_cells
    function = _FILTER_ROUTINE.find(_SECONDS_OF_CALL + products * _SECONDS_OF_PRODUCT)
    if function is None:
        return None
    came = lies_close(out_backprop)
    tiles, count = -(-num_cells // _CELLS), came.size // channels
    tables = partial(_filter_calls, tiles, count, channels)
    plan = plan_of(("depthwise filter", came.shape), x, windows, came, tables)
    # The last rows belong to no cell: they complete the last tile.
    grad = np.zeros((tiles * _CELLS, channels), np.float32)
    plan.run([function], grad, plan.padded(x), came)
    return grad[:num_cells].reshape(*sizes, channels)


def _filter_calls(
    tiles: int, count: int, channels: int, places: Places
) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the call of the filters' gradient."""
    cells = cell_offsets(places.cells, 1, tiles * _CELLS)
    ns = tiles * _CELLS * LANES * count * _NS_OF_PRODUCT
    call = (-(-channels // LANES), ns, (count, tiles, channels))
    return [cells, places.seen, places.targets], [call]
