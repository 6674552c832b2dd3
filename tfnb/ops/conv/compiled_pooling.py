"""Maxima and sums of windows by compiled routines (``core/compiled/routines.py``).

A vector holds neighbouring channels, and a few positions are computed at once.  Offsets are those
of ``compiled_conv.py``.  The gradient of maxima goes through the positions of an image in their
order, because windows may share cells; threads share the images.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.llvm_functions import literal
from tfnb.core.compiled.routines import Routine, run_rows
from tfnb.ops.base.compiled_products import LANES
from tfnb.ops.conv.conv_plans import Plan, places_of, plan_of
from tfnb.ops.conv.windows import pad_spatial, unpad_spatial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array
    from tfnb.ops.conv.conv_plans import Places, type_of_call
    from tfnb.ops.conv.windows import Window

# Positions of a tile.
_POSITIONS = 4
_LOWEST = float(np.finfo(np.float32).min)


def _larger(loops: Loops, kind: str, found: str, value: str) -> str:
    """Return the larger one of two vectors, NaN where one of them is."""
    is_more = loops.do(f"fcmp ugt {kind}", value, found)
    is_number = loops.do(f"fcmp ord {kind}", found, found)
    mask = loops.do(f"and <{LANES} x i1>", is_more, is_number)
    return loops.do("select", f"<{LANES} x i1> {mask}", f"{kind} {value}", f"{kind} {found}")


def _vectors(loops: Loops, channels: str) -> Iterator[tuple[str, str]]:
    """Yield the first channel and the mask of vectors, in a loop over full ones, then for the rest.

    Loads and above all stores with a mask, which is "" for full ones, take longer with AVX2.
    """
    whole = loops.do("sdiv i64", channels, str(LANES))
    vectors = loops.do("sdiv i64", loops.do("add i64", channels, str(LANES - 1)), str(LANES))
    with loops.loop("0", whole) as vector:
        yield loops.do("mul i64", vector, str(LANES)), ""
    with loops.loop(whole, vectors) as vector:
        first = loops.do("mul i64", vector, str(LANES))
        yield first, loops.first_lanes(loops.do("sub i64", channels, first), LANES)


def _add_where(loops: Loops, some: str, came: str, target: str, mask: str) -> None:
    """Add a vector to memory in the lanes of one mask, which are among those of another one."""
    kind = f"<{LANES} x float>"
    if mask:
        some = loops.do(f"and <{LANES} x i1>", some, mask)
        total = loops.do(f"fadd {kind}", loops.vector_load(target, LANES, some), came)
        loops.vector_store(total, target, LANES, some)
        return
    before = loops.vector_load(target, LANES)
    total = loops.do(f"fadd {kind}", before, came)
    chosen = loops.do("select", f"<{LANES} x i1> {some}", f"{kind} {total}", f"{kind} {before}")
    loops.vector_store(chosen, target, LANES)


def _write(loops: Loops, *, is_maximum: bool, start_value: float) -> None:
    """Write the routine, which begins with a value at each position.

    Its arrays are result, padded input, and offsets of positions in the input, of positions in the
    result, and of cells in the input.  Its sizes are the first tile, the end of the tiles, the
    number of positions, of cells, and of channels.
    """
    begin, end, total, cells, channels = (loops.size(i) for i in range(5))
    kind = f"<{LANES} x float>"
    last_start = loops.do("sub i64", total, str(_POSITIONS))
    empty = loops.splat("float", literal(start_value, "float"), LANES)

    def write_vector(first: str, places: list[str], targets: list[str], mask: str) -> None:
        starts = [loops.do("add i64", place, first) for place in places]
        made = [loops.variable(kind, empty) for _ in places]
        with loops.loop("0", cells) as cell:
            offset = loops.load("i64", 4, cell)
            for one, found in zip(starts, made, strict=True):
                place = loops.place("float", "%a1", loops.do("add i64", one, offset))
                value = loops.vector_load(place, LANES, mask)
                if is_maximum:
                    found.set(_larger(loops, kind, found.get(), value))
                else:
                    found.set(loops.do(f"fadd {kind}", found.get(), value))
        for target, found in zip(targets, made, strict=True):
            place = loops.place("float", "%a0", loops.do("add i64", target, first))
            loops.vector_store(found.get(), place, LANES, mask)

    with loops.loop(begin, end) as tile:
        start = loops.do("mul nuw nsw i64", tile, str(_POSITIONS))
        is_beyond = loops.do("icmp sgt i64", start, last_start)
        start = loops.choose("i64", is_beyond, last_start, start)
        numbers = [loops.do("add i64", start, str(p)) for p in range(_POSITIONS)]
        places = [loops.load("i64", 2, number) for number in numbers]
        targets = [loops.load("i64", 3, number) for number in numbers]
        for first, mask in _vectors(loops, channels):
            write_vector(first, places, targets, mask)


def _write_gradient(loops: Loops) -> None:
    """Write the routine that adds the gradient of each position to the first of its maxima.

    Its arrays are result, padded input, gradient of the output, and offsets of positions in the
    input, of positions in the gradient, and of cells in the input; result and input have one form.
    Its sizes are the first image, the end of the images, the number of positions of an image, of
    cells, and of channels.
    """
    begin, end, positions, cells, channels = (loops.size(i) for i in range(5))
    kind, places_kind, bits = f"<{LANES} x float>", f"<{LANES} x i32>", f"<{LANES} x i1>"
    first_position = loops.do("mul i64", begin, positions)
    last_position = loops.do("mul i64", end, positions)

    def spread(cell: str) -> str:
        return loops.splat("i32", loops.convert("trunc i64", cell, "i32"), LANES)

    with loops.loop(first_position, last_position) as position:
        seen, given = (loops.load("i64", array, position) for array in (3, 4))
        for first, mask in _vectors(loops, channels):
            start = loops.do("add i64", seen, first)
            at = loops.do("add i64", start, loops.load("i64", 5, "0"))
            best = loops.variable(
                kind, loops.vector_load(loops.place("float", "%a1", at), LANES, mask)
            )
            winner = loops.variable(places_kind, "zeroinitializer")
            with loops.loop("1", cells) as cell:
                at = loops.do("add i64", start, loops.load("i64", 5, cell))
                value = loops.vector_load(loops.place("float", "%a1", at), LANES, mask)
                found, place = best.get(), winner.get()
                is_more = f"{bits} {loops.do(f'fcmp ogt {kind}', value, found)}"
                best.set(loops.do("select", is_more, f"{kind} {value}", f"{kind} {found}"))
                numbers = f"{places_kind} {spread(cell)}", f"{places_kind} {place}"
                winner.set(loops.do("select", is_more, *numbers))
            at = loops.do("add i64", given, first)
            came = loops.vector_load(loops.place("float", "%a2", at), LANES, mask)
            with loops.loop("0", cells) as cell:
                has_won = loops.do(f"icmp eq {places_kind}", winner.get(), spread(cell))
                at = loops.do("add i64", start, loops.load("i64", 5, cell))
                _add_where(loops, has_won, came, loops.place("float", "%a0", at), mask)


def _write_equals(loops: Loops) -> None:
    """Write the routine that adds the gradient of each position to all cells near its maximum.

    Its arrays are those of `_write_gradient` with the output behind its gradient, and the largest
    distance, which is exclusive.  Its sizes are the same.
    """
    begin, end, positions, cells, channels = (loops.size(i) for i in range(5))
    kind, bits = f"<{LANES} x float>", f"<{LANES} x i1>"
    near = loops.splat("float", loops.load("float", 7, "0"), LANES)
    first_position = loops.do("mul i64", begin, positions)
    last_position = loops.do("mul i64", end, positions)
    with loops.loop(first_position, last_position) as position:
        seen, given = (loops.load("i64", array, position) for array in (4, 5))
        for first, mask in _vectors(loops, channels):
            start, at = (loops.do("add i64", one, first) for one in (seen, given))
            came, most = (
                loops.vector_load(loops.place("float", array, at), LANES, mask)
                for array in ("%a2", "%a3")
            )
            with loops.loop("0", cells) as cell:
                at = loops.do("add i64", start, loops.load("i64", 6, cell))
                value = loops.vector_load(loops.place("float", "%a1", at), LANES, mask)
                below = loops.do(f"fcmp olt {kind}", loops.do(f"fsub {kind}", value, most), near)
                above = loops.do(f"fcmp olt {kind}", loops.do(f"fsub {kind}", most, value), near)
                some = loops.do(f"and {bits}", below, above)
                _add_where(loops, some, came, loops.place("float", "%a0", at), mask)


_GRADIENT = Routine(6, _write_gradient)
_EQUALS = Routine(8, _write_equals)
_MAXIMUM = Routine(5, partial(_write, is_maximum=True, start_value=_LOWEST))
_MAXIMUM_OF_VOLUMES = Routine(5, partial(_write, is_maximum=True, start_value=-math.inf))
_SUM = Routine(5, partial(_write, is_maximum=False, start_value=0.0))
# Estimates of the plain way, and of a cell here.
_SECONDS_OF_CALL, _SECONDS_OF_CELL = 15e-6, 2e-10
_NS_OF_CELL = 0.05
_SECONDS_OF_GRADIENT, _NS_OF_GRADIENT = 1e-9, 0.15


def _reduced(routine: Routine, x: Array, windows: Sequence[Window], empty: float) -> Array | None:
    outputs = tuple(w.output for w in windows)
    if x.dtype != np.float32 or 0 in x.shape or 0 in outputs:
        return None
    out = np.empty((len(x), *outputs, x.shape[-1]), np.float32)
    cells = math.prod(w.filter for w in windows)
    function = routine.find(_SECONDS_OF_CALL + out.size * cells * _SECONDS_OF_CELL)
    if function is None:
        return None
    calls = partial(_calls, cells, x.shape[-1])
    # Plans are known by the identity of windows, which volumes make anew for each call.
    if len(windows) == 2:
        plan = plan_of(("pool", empty), x, windows, out, calls, empty)
    else:
        plan = Plan(x, windows, out, calls, empty)
    plan.run([function], out, plan.padded(x))
    return out


def _calls(cells: int, channels: int, places: Places) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the call of a pooling."""
    positions = len(places.seen)
    ns = _POSITIONS * cells * channels * _NS_OF_CELL
    call = -(-positions // _POSITIONS), ns, (positions, cells, channels)
    return [places.seen, places.targets, places.cells], [call]


def maximum(x: Array, windows: Sequence[Window]) -> Array | None:
    """Return the maximum of every window of images; None where the routine is not ready.

    With two spatial dimensions it is at least the lowest finite number, which is also the padding.
    """
    routine = _MAXIMUM if len(windows) == 2 else _MAXIMUM_OF_VOLUMES
    return _reduced(routine, x, windows, _LOWEST)


def total(x: Array, windows: Sequence[Window]) -> Array | None:
    """Return the sum of every window of images; None where the routine is not ready."""
    return _reduced(_SUM, x, windows, 0.0)


def maximum_gradient(x: Array, grad: Array, windows: Sequence[Window]) -> Array | None:
    """Return the gradient of maxima; None where the routine does not fit, or is not ready."""
    if x.dtype != np.float32 or grad.dtype != np.float32:
        return None
    if not grad.size or not grad.flags.c_contiguous:
        return None
    cells = math.prod(w.filter for w in windows)
    function = _GRADIENT.find(_SECONDS_OF_CALL + grad.size * cells * _SECONDS_OF_GRADIENT)
    if function is None:
        return None
    padded = np.ascontiguousarray(pad_spatial(np, x, windows, 1, -np.inf))
    if padded.shape != x.shape and (x == -np.inf).any():
        return None  # padding must not win over these cells
    places = places_of(padded, windows, grad)
    total = np.zeros(padded.shape, np.float32)
    positions = math.prod(w.output for w in windows)
    run_rows(
        function,
        [total, padded, grad, places.seen, places.targets, places.cells],
        len(x),
        positions * cells * x.shape[-1] * _NS_OF_GRADIENT,
        positions,
        cells,
        x.shape[-1],
    )
    return unpad_spatial(total, windows, 1)


def spread_to_equals(
    x: Array, output: Array, grad: Array, windows: Sequence[Window], near: Array
) -> Array | None:
    """Add the gradient of every output to all cells of its window nearer to it than a distance.

    None where the routine does not fit, or is not ready.  Where windows share cells, sums may be
    rounded otherwise than on the plain way.
    """
    if any(one.dtype != np.float32 for one in (x, output, grad)) or not grad.size:
        return None
    if not (grad.flags.c_contiguous and output.flags.c_contiguous):
        return None
    cells = math.prod(w.filter for w in windows)
    function = _EQUALS.find(_SECONDS_OF_CALL + grad.size * cells * _SECONDS_OF_GRADIENT)
    if function is None:
        return None
    padded = np.ascontiguousarray(pad_spatial(np, x, windows, 1, -np.inf))
    places = places_of(padded, windows, grad)
    total = np.zeros(padded.shape, np.float32)
    positions = math.prod(w.output for w in windows)
    distance: Array = np.array([near], np.float32)
    tables = [places.seen, places.targets, places.cells, distance]
    run_rows(
        function,
        [total, padded, grad, output, *tables],
        len(x),
        positions * cells * x.shape[-1] * _NS_OF_GRADIENT,
        positions,
        cells,
        x.shape[-1],
    )
    return unpad_spatial(total, windows, 1)
