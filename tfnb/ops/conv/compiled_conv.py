"""Convolutions by compiled routines (``core/compiled/routines.py``), without copies of patches.

A routine computes a tile of a few positions times up to four vectors of output channels, which
stay in registers while it goes through the cells of a window: at each cell and channel it loads the
filter's vectors, and multiplies them by one number of each position.  It copies a part of the
filter for these channels first, so that some dozen tiles find it in the nearest cache; a longer sum
continues in the result's memory.  Where positions lie, and what is a window, is in tables of
offsets, so that any strides, dilations and number of dimensions fit.  A sum has one order, so that
the result depends neither on tiles and parts nor on threads.

With few output channels, most lanes of such vectors would be empty: another routine multiplies
vectors along the runs of a window, and adds their lanes at the end (`_write_few`).

The filter's gradient is in ``compiled_filter_gradient.py``; the input's gradient is one convolution
for each phase (``conv_kernels.py``), which writes its cells.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tfnb.core.compiled.routines import Routine
from tfnb.ops.base.compiled_products import LANES, ROWS, column_blocks, copy_turned
from tfnb.ops.conv.conv_plans import ITEM, keep_ready, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tfnb.core.compiled.loops import Loops, Variable
    from tfnb.core.kernel_types import Array
    from tfnb.core.op_registry import Following
    from tfnb.ops.conv.conv_plans import Places, type_of_call
    from tfnb.ops.conv.windows import Window


class After(NamedTuple):
    """The steps that follow a convolution in the same pass.

    Attributes:
      form: "biased" or "normed".
      rows: numbers of each output channel: what is added; for the latter also what is subtracted
        then, the factor, and what is added to the product.
      limits: the smallest and the largest result, which NaN passes, and the factor of what is
        smaller, or 0.
    """

    form: str
    rows: Array
    limits: Array


def after_of(following: Following, channels: int) -> After | None:
    """Return the form of what follows a convolution; None if it is not for all channels in float32.

    Args:
      following: the steps.
      channels: the number of output channels.
    """
    kept = following.kept
    if kept is None:
        return _after(following, channels)
    if "after" not in kept:
        kept["after"] = _after(following, channels)
    known: After | None = kept["after"]
    return known


def _after(following: Following, channels: int) -> After | None:
    bias, norm = following.bias, following.norm
    if bias is not None and (bias.shape != (channels,) or bias.dtype != np.float32):
        return None
    bounds = _bounds(following.limits)
    if norm is None:
        added = _nothing(channels) if bias is None else np.ascontiguousarray(bias)
        return After("biased", added, bounds)
    subtracted, factor, added = norm
    if not (subtracted.shape == factor.shape == added.shape == (channels,)):
        return None
    if not (subtracted.dtype == factor.dtype == added.dtype == np.float32):
        return None
    rows = np.empty((4, channels), np.float32)
    rows[0] = -0.0 if bias is None else bias  # which changes no number
    rows[1], rows[2], rows[3] = norm
    return After("normed", rows, bounds)


@lru_cache(maxsize=64)
def _nothing(channels: int) -> Array:
    """Return a bias that changes no number."""
    return np.full(channels, -0.0, np.float32)


@lru_cache(maxsize=64)
def _bounds(limits: tuple[float, float, float]) -> Array:
    """Return limits as an array, which is kept."""
    return np.array(limits, np.float32)


def write_after(
    loops: Loops, form: str, total: str, load: Callable[[int], str], limits: int
) -> str:
    """Write what follows a convolution; see :class:`After`.

    Args:
      loops: the function under construction.
      form: see `After`.
      total: a vector of sums.
      load: writes the load of a vector of a row of `After.rows`.
      limits: the number of the array `After.limits`.
    """
    kind = f"<{LANES} x float>"
    found = loops.do(f"fadd {kind}", total, load(0))
    if form == "normed":
        for row, operation in enumerate(("fsub", "fmul", "fadd"), 1):
            found = loops.do(f"{operation} {kind}", found, load(row))
    lowest, highest, factor = (
        loops.splat("float", loops.load("float", limits, str(place)), LANES) for place in range(3)
    )
    has_factor = loops.do("fcmp une float", loops.load("float", limits, "2"), "0.0")
    scaled = loops.do(f"fmul {kind}", found, factor)
    below = loops.choose(kind, has_factor, scaled, lowest)
    for test, limit, value in (("olt", lowest, below), ("ogt", highest, highest)):
        is_out = loops.do(f"fcmp {test} {kind}", found, limit)
        found = loops.do("select", f"<{LANES} x i1> {is_out}", f"{kind} {value}", f"{kind} {found}")
    return found


def plus(loops: Loops, index: str, number: int | str) -> str:
    """Return the sum of two integers."""
    return index if number == 0 else loops.do("add i64", index, str(number))


def times(loops: Loops, index: str, number: int | str) -> str:
    """Return the product of two integers."""
    return loops.do("mul i64", index, str(number))


def least_of(loops: Loops, one: str, other: str) -> str:
    """Return the smaller one of two integers."""
    return loops.choose("i64", loops.do("icmp slt i64", one, other), one, other)


def _write(loops: Loops, vectors: int, positions: int, *, is_whole: bool, form: str = "") -> None:
    """Write the routine for a number of vectors, of which the last may have fewer channels.

    Its arrays are result, padded input, filter, and offsets of positions in the input, of positions
    in the result, and of the runs of a window, and the parts of the sum: see `_parts_of_sum`.  Its
    sizes are the first unit, the end of the units, the number of positions, of tiles in a chunk, of
    parts, of numbers in a run, the number of output channels, the first one here, the blocks of
    them, those of a group, and how many channels there are in the last vector.  With a form
    it has two more arrays behind the parts: see :class:`After`.  A unit is a chunk of tiles for a
    group of blocks.
    """
    loops.flush_denormals()
    begin, end, total, tiles, parts, length, channels, first_of_all, blocks, at_once, rest = (
        loops.size(i) for i in range(11)
    )
    width = vectors * LANES
    masks = ["" if is_whole else loops.first_lanes(rest, LANES)]
    masks = [""] * (vectors - 1) + masks
    last_part = loops.do("sub i64", parts, "1")
    groups = plus(loops, blocks, loops.do("sub i64", at_once, "1"))
    groups = loops.do("sdiv i64", groups, at_once)
    packed = loops.room("float", _MOST_BLOCKS * _MOST_PACKED * width)
    with loops.loop(begin, end) as unit:
        chunk, group = (loops.do(f"{one} i64", unit, groups) for one in ("sdiv", "srem"))
        first_block = times(loops, group, at_once)
        some = least_of(loops, loops.do("sub i64", blocks, first_block), at_once)
        first = plus(loops, first_of_all, times(loops, first_block, width))
        start = times(loops, chunk, times(loops, tiles, positions))
        left = plus(loops, loops.do("sub i64", total, start), positions - 1)
        left = least_of(loops, loops.do("sdiv i64", left, str(positions)), tiles)
        with loops.loop("0", parts) as number:
            of_part = [plus(loops, times(loops, number, 4), i) for i in range(4)]
            part = _Part(*(loops.load("i64", 6, place) for place in of_part))
            is_first = loops.do("icmp eq i64", number, "0")
            is_last = loops.do("icmp eq i64", number, last_part)
            _write_copies(loops, part, (length, channels), first, some, packed, masks)
            with loops.loop("0", some) as block, loops.loop("0", left) as tile:
                here = plus(loops, first, times(loops, block, width))
                own = loops.place("float", packed, times(loops, block, _MOST_PACKED * width))
                sums = _Sums(loops, masks, is_first)
                sums.begin(plus(loops, start, times(loops, tile, positions)), positions, here)
                sums.add(part, own)
                sums.store(here, is_last, form)


class _Part(NamedTuple):
    """A part of a sum over a window: runs, and which of their numbers it adds."""

    begin: str
    end: str
    skipped: str
    taken: str

    def row(self, loops: Loops, run: str) -> str:
        """Return the number of the first number of a run among those of the part."""
        return times(loops, loops.do("sub i64", run, self.begin), self.taken)


def _write_copies(
    loops: Loops,
    part: _Part,
    sizes: tuple[str, str],
    first: str,
    blocks: str,
    packed: str,
    masks: Sequence[str],
) -> None:
    """Copy a part of the filter for some blocks of channels, each in one piece.

    Args:
      loops: the function under construction.
      part: the part.
      sizes: the numbers of a run, and the output channels.
      first: the first channel.
      blocks: the number of blocks.
      packed: receives the copies.
      masks: the lanes of each vector of a block.
    """
    length, channels = sizes
    width = len(masks) * LANES
    with loops.loop(part.begin, part.end) as run:
        row = plus(loops, times(loops, run, length), part.skipped)
        made = part.row(loops, run)
        with loops.loop("0", part.taken) as i:
            at = plus(loops, times(loops, plus(loops, row, i), channels), first)
            to = times(loops, plus(loops, made, i), width)
            with loops.loop("0", blocks) as block:
                source = plus(loops, at, times(loops, block, width))
                target = plus(loops, to, times(loops, block, _MOST_PACKED * width))
                # Rows of a filter with many channels lie on pages of their own.
                ahead = plus(loops, source, times(loops, channels, ROWS_AHEAD))
                loops.prefetch("float", "%a2", ahead)
                for v, mask in enumerate(masks):
                    place = loops.place("float", "%a2", plus(loops, source, v * LANES))
                    weight = loops.vector_load(place, LANES, mask)
                    place = loops.place("float", packed, plus(loops, target, v * LANES))
                    loops.vector_store(weight, place, LANES)


class _Sums:
    """The sums of a tile, a row of vectors for each position.

    Args:
      loops: the function under construction.
      masks: the lanes of each vector.
      is_first: whether the sums begin with zeros, and not with those of earlier parts.
    """

    def __init__(self, loops: Loops, masks: Sequence[str], is_first: str) -> None:
        self._loops, self._masks, self._is_first = loops, masks, is_first
        self._kind = f"<{LANES} x float>"
        self._seen: list[str] = []
        self._targets: list[list[str]] = []
        self._sums: list[list[Variable]] = []

    def begin(self, start: str, positions: int, channel: str) -> None:
        """Find the places of some positions, and of their sums from a channel on."""
        loops = self._loops
        total = loops.size(2)
        last = loops.do("sub i64", total, "1")
        for p in range(positions):
            # A tile that has fewer positions computes the last one repeatedly.
            number = least_of(loops, plus(loops, start, p), last)
            self._seen.append(loops.load("i64", 3, number))
            target = plus(loops, loops.load("i64", 4, number), channel)
            places = [
                loops.place("float", "%a0", plus(loops, target, v * LANES))
                for v in range(len(self._masks))
            ]
            self._targets.append(places)
        for places in self._targets:
            of_position = []
            for place, mask in zip(places, self._masks, strict=True):
                # Memory of a new array may hold anything: it is chosen, not multiplied.
                before = loops.vector_load(place, LANES, mask)
                before = loops.choose(self._kind, self._is_first, "zeroinitializer", before)
                of_position.append(loops.variable(self._kind, before))
            self._sums.append(of_position)

    def add(self, part: _Part, packed: str) -> None:
        """Add the products of a part of the window with its copy of the filter."""
        loops, kind, vectors = self._loops, self._kind, len(self._masks)
        with loops.loop(part.begin, part.end) as run:
            offset = plus(loops, loops.load("i64", 5, run), part.skipped)
            made = part.row(loops, run)
            bases = [
                loops.place("float", "%a1", plus(loops, place, offset)) for place in self._seen
            ]
            with loops.loop("0", part.taken) as i:
                at = times(loops, plus(loops, made, i), vectors * LANES)
                places = [
                    loops.place("float", packed, plus(loops, at, v * LANES)) for v in range(vectors)
                ]
                weights = [loops.vector_load(place, LANES) for place in places]
                for base, of_position in zip(bases, self._sums, strict=True):
                    number = loops.do("load float,", f"ptr {loops.place('float', base, i)}")
                    spread = loops.splat("float", number, LANES)
                    for weight, total_of in zip(weights, of_position, strict=True):
                        product = loops.do(f"fmul contract {kind}", spread, weight)
                        total_of.set(loops.do(f"fadd contract {kind}", total_of.get(), product))

    def store(self, channel: str, is_last: str, form: str) -> None:
        """Store the sums from a channel on; see `After` for what follows the last part."""
        loops = self._loops
        channels = loops.size(6)
        # After all loads: positions may be there twice.
        for of_position, places in zip(self._sums, self._targets, strict=True):
            for v, (place, mask) in enumerate(zip(places, self._masks, strict=True)):
                found = of_position[v].get()
                if form:

                    def load(row: int, first: int = v * LANES, some: str = mask) -> str:
                        at = plus(loops, plus(loops, channel, first), times(loops, channels, row))
                        return loops.vector_load(loops.place("float", "%a7", at), LANES, some)

                    whole = write_after(loops, form, found, load, 8)
                    found = loops.choose(self._kind, is_last, whole, found)
                loops.vector_store(found, place, LANES, mask)


# Positions of a tile where there are few output channels, by how many of them it has.
_FEW_POSITIONS = {16: {1: 8, 2: 8, 3: 8, 4: 6}, 8: {1: 8, 2: 4, 3: 4, 4: 3}}[LANES]
# The fewest numbers of a run, and of a window, for which that routine is faster with one channel,
# and the most channels for which it may be.
_LEAST_RUN, _LEAST_WINDOW, _MOST_FEW = 8, 32, LANES - 1


def _write_few(loops: Loops, outputs: int, form: str) -> None:
    """Write the routine for few output channels: vectors lie along the runs of a window.

    Its arrays are result, padded input, filter, and offsets of positions in the input, of positions
    in the result, and of the runs of a window.  The filter has all numbers of an output channel
    side by side.  Its sizes are the first tile, the end of the tiles, the numbers of positions, of
    runs, of numbers in a run, and of output channels, the first of these here, and how many groups
    of them follow.  With a form it has two more arrays: see :class:`After`.

    Args:
      loops: the function under construction.
      outputs: the output channels of a group.
      form: see `After`.
    """
    loops.flush_denormals()
    begin, end, total, runs, length, channels, first_of_all, groups = (
        loops.size(i) for i in range(8)
    )
    kind, positions = f"<{LANES} x float>", _FEW_POSITIONS[outputs]
    last = loops.do("sub i64", total, "1")
    window = loops.do("mul i64", runs, length)
    whole = loops.do("sdiv i64", loops.do("sub i64", length, "1"), str(LANES))
    done = times(loops, whole, LANES)
    mask = loops.first_lanes(loops.do("sub i64", length, done), LANES)
    with loops.loop(begin, end) as tile:
        start = times(loops, tile, positions)
        seen, targets = [], []
        for p in range(positions):
            # A tile that has fewer positions computes the last one repeatedly.
            number = least_of(loops, plus(loops, start, p), last)
            seen.append(loops.load("i64", 3, number))
            targets.append(loops.load("i64", 4, number))
        with loops.loop("0", groups) as group:
            first = plus(loops, first_of_all, times(loops, group, outputs))
            sums = [[loops.variable(kind, "zeroinitializer") for _ in seen] for _ in range(outputs)]
            with loops.loop("0", runs) as run:
                offset, begun = loops.load("i64", 5, run), times(loops, run, length)
                weights = [
                    loops.place(
                        "float",
                        "%a2",
                        plus(loops, begun, times(loops, plus(loops, first, o), window)),
                    )
                    for o in range(outputs)
                ]
                bases = [loops.place("float", "%a1", plus(loops, one, offset)) for one in seen]
                with loops.loop("0", whole) as i:
                    _add_run(loops, weights, bases, sums, (times(loops, i, LANES), ""))
                _add_run(loops, weights, bases, sums, (done, mask))
            for o, of_output in enumerate(sums):
                channel = plus(loops, first, o)
                found = _sums_of(loops, [total_of.get() for total_of in of_output])
                if form:

                    def load(row: int, channel: str = channel) -> str:
                        at = plus(loops, channel, times(loops, channels, row))
                        return loops.splat("float", loops.load("float", 6, at), LANES)

                    found = write_after(loops, form, found, load, 7)
                for p, target in enumerate(targets):
                    one = loops.do(f"extractelement {kind}", found, f"i32 {p}")
                    loops.store("float", one, 0, plus(loops, target, channel))


def _add_run(
    loops: Loops,
    weights: Sequence[str],
    bases: Sequence[str],
    sums: Sequence[Sequence[Variable]],
    where: tuple[str, str],
) -> None:
    """Add the products of a vector of a run.

    Args:
      loops: the function under construction.
      weights: the run of the filter of each output channel.
      bases: the run of the image of each position.
      sums: of each output channel and position.
      where: the first number of the vector, and its lanes.
    """
    at, mask = where
    kind = f"<{LANES} x float>"
    loaded = [loops.vector_load(loops.place("float", one, at), LANES, mask) for one in weights]
    for p, base in enumerate(bases):
        numbers = loops.vector_load(loops.place("float", base, at), LANES, mask)
        for weight, of_output in zip(loaded, sums, strict=True):
            product = loops.do(f"fmul contract {kind}", weight, numbers)
            total_of = of_output[p]
            total_of.set(loops.do(f"fadd contract {kind}", total_of.get(), product))


def _sums_of(loops: Loops, vectors: Sequence[str]) -> str:
    """Return a vector of the sums of some vectors, at most as many as it has lanes.

    Two vectors become one that holds the half sums of both, until one is left: a sum alone takes as
    many steps as four of them.
    """
    kind = f"<{LANES} x float>"
    size, found = LANES, list(vectors)
    while size > 1:
        if len(found) > 1 and len(found) % 2:
            found.append("zeroinitializer")
        pairs = [(found[i], found[min(i + 1, len(found) - 1)]) for i in range(0, len(found), 2)]
        half = size // 2
        lower = [lane + i for lane in range(0, LANES, size) for i in range(half)]
        lower += [LANES + lane for lane in lower]
        upper = [lane + half for lane in lower]
        found = [
            loops.do(
                f"fadd {kind}",
                loops.shuffle(one, other, LANES, lower),
                loops.shuffle(one, other, LANES, upper),
            )
            for one, other in pairs
        ]
        size = half
    return found[0]


# By what follows, then by the output channels of a group.
_FEW = {
    form: {
        outputs: Routine(8 if form else 6, partial(_write_few, outputs=outputs, form=form))
        for outputs in _FEW_POSITIONS
    }
    for form in ("", "biased", "normed")
}

# The most numbers of a window in a part of a sum: the filter's copy for a block of channels, 16 or
# 32 KB, stays in the nearest cache.
_MOST_PACKED = {16: 128, 8: 256}[LANES]
# The most tiles for which they are copied once: their part of the images stays in the next cache.
_MOST_TILES = 32
# The fewest tiles of a chunk, where chunks are smaller so that threads can share them: with these,
# the copies take a tenth of the time or less.
_LEAST_TILES = 8
# The most blocks of channels whose numbers of the filter are copied at once: they lie side by side.
_MOST_BLOCKS = 4
ROWS_AHEAD: Final = 12
"""The rows between the one that is copied and one that is requested from memory."""
# The fewest units of a convolution, where it has as many blocks.
_LEAST_UNITS = 8


def _parts_of_sum(runs: int, length: int) -> NDArray[np.int64]:
    """Return the parts of a sum over a window.

    Each is the first run, the end of the runs, the numbers skipped of each run, and those taken.
    """
    if length <= _MOST_PACKED:
        at_once = _MOST_PACKED // length
        found = [(run, min(run + at_once, runs), 0, length) for run in range(0, runs, at_once)]
    else:
        count = -(-length // _MOST_PACKED)
        cuts = [length * i // count for i in range(count + 1)]
        found = [
            (run, run + 1, first, last - first)
            for run in range(runs)
            for first, last in pairwise(cuts)
        ]
    return np.array(found, np.int64).reshape(-1)


def _routine(number: int, *, is_whole: bool, form: str) -> Routine:
    write = partial(_write, vectors=number + 1, positions=ROWS[number], is_whole=is_whole)
    return Routine(9 if form else 7, partial(write, form=form))


# By what follows, and whether all vectors are full; then by the number of vectors.
_ROUTINES = {
    (form, is_whole): [
        _routine(number, form=form, is_whole=is_whole) for number in range(len(ROWS))
    ]
    for form in ("", "biased", "normed")
    for is_whole in (False, True)
}
SECONDS_OF_CALL: Final = 30e-6
SECONDS_OF_PRODUCT: Final = 1.5e-11
"""Estimates of the plain way: of a call, and of a multiplication."""
NS_OF_PRODUCT: Final = 0.01
"""An estimate of a multiplication here, in the most vectors."""
# The same for fewer vectors.
_NS_OF_FEW = (0.03, 0.015, 0.012, NS_OF_PRODUCT)
# The same for few output channels: of a multiplication on the plain way with one and with more
# channels; here of the product of two vectors, and of a sum; and of a number of the window in the
# other routine.
_SECONDS_OF_FEW = (3e-10, 5e-11)
_NS_OF_PAIR, _NS_OF_SUM, _NS_OF_LANES = 0.6, 2.0, 0.55


SUMMED = 256
"""Positions that the sum of a filter's gradient adds before it is added to the result."""


def cell_offsets(runs: NDArray[np.int64], length: int, least: int) -> NDArray[np.int64]:
    """Return the offset of each number of some runs, the last one repeated as in `offsets`."""
    found = (runs[:, None] + np.arange(length, dtype=np.int64)).reshape(-1)
    return np.concatenate([found, np.repeat(found[-1:], max(0, least - len(found)))])


def suits(x: Array, kernel_shape: Sequence[int], dtype: Any) -> bool:
    """Return whether the routines compute a convolution: float32, all channels in one group."""
    return (
        x.dtype == dtype == np.float32
        and x.shape[-1] == kernel_shape[-2]
        and 0 not in x.shape
        and 0 not in kernel_shape
    )


# The fewest elements of a matrix of a filter for which turning it pays.
_LEAST_TURNED = 1 << 16
_SECONDS_OF_TURNED = 3e-9


def filter_in_order(kernel: Array) -> Array:
    """Return a filter in C order; its channels may be swapped, as in gradients."""
    height, width = kernel.shape[-2:]
    is_turned = kernel.strides[-2:] == (ITEM, height * ITEM)
    if not is_turned or height * width < _LEAST_TURNED or kernel.dtype != np.float32:
        return np.ascontiguousarray(kernel)
    out, seconds = np.empty(kernel.shape, np.float32), height * width * _SECONDS_OF_TURNED
    for cell in np.ndindex(kernel.shape[:-2]):
        if not copy_turned(kernel[cell], out[cell], seconds):
            return np.ascontiguousarray(kernel)
    return out


def suits_few(kernel_shape: Sequence[int], windows: Sequence[Window]) -> bool:
    """Return whether a convolution with few output channels is faster with vectors along windows.

    The other routine uses as many lanes as there are output channels.
    """
    *sizes, channels, outputs = kernel_shape
    numbers = math.prod(sizes) * channels
    run = channels * (sizes[-1] if windows[-1].dilation == 1 else 1)
    if outputs == 1:
        return run >= _LEAST_RUN and numbers >= _LEAST_WINDOW and numbers > channels
    if outputs > _MOST_FEW:
        return False
    pairs = numbers // run * -(-run // LANES)
    return outputs * (pairs * _NS_OF_PAIR + _NS_OF_SUM) < numbers * _NS_OF_LANES


def convolve(
    x: Array,
    kernel: Array,
    windows: Sequence[Window],
    out: Array,
    after: After | None = None,
    *,
    is_kept: bool = False,
) -> bool:
    """Compute a convolution; return whether the routines are ready.

    Args:
      x: the images, [batch, sizes..., channels].
      kernel: the filter, [sizes..., channels, output channels].
      windows: the windows of the spatial dimensions.
      out: receives the result; only its channels have to lie close to each other.
      after: what follows, if anything does.
      is_kept: whether the next convolution of this form finds its routines by ``ready_for``.
    """
    shape = kernel.shape
    products = len(x) * math.prod([w.output for w in windows]) * kernel.size
    form = after.form if after else ""
    if suits_few(shape, windows):
        return _convolve_few(x, kernel, windows, out, after, products, is_kept=is_kept)
    if shape[-1] == 1:
        return False
    seconds = SECONDS_OF_CALL + products * SECONDS_OF_PRODUCT
    # All are asked, so that they are compiled one right after the other.
    functions = [
        _ROUTINES[form, last == LANES][number].find(seconds)
        for number, _, _, last in column_blocks(shape[-1])
    ]
    if None in functions:
        return False
    plan = plan_of(("forward", shape), x, windows, out, partial(_forward_calls, shape[-1]))
    taps = filter_in_order(kernel)
    plan.run(functions, out, plan.padded(x), taps, after=after[1:] if after else ())  # type: ignore[arg-type]
    if is_kept:
        keep_ready(form, x, kernel, plan, functions, out)  # type: ignore[arg-type]
    return True


def _convolve_few(
    x: Array,
    kernel: Array,
    windows: Sequence[Window],
    out: Array,
    after: After | None,
    products: int,
    *,
    is_kept: bool,
) -> bool:
    """Compute a convolution with few output channels, see `convolve`, if `suits_few`."""
    form = after.form if after else ""
    seconds = SECONDS_OF_CALL + products * _SECONDS_OF_FEW[kernel.shape[-1] > 1]
    functions = [_FEW[form][outputs].find(seconds) for outputs, _, _ in _groups(kernel.shape[-1])]
    if None in functions:
        return False
    tables = partial(_few_calls, kernel.shape[-1])
    plan = plan_of(("few", kernel.shape), x, windows, out, tables)
    taps = _by_outputs(kernel)
    plan.run(functions, out, plan.padded(x), taps, after=after[1:] if after else ())  # type: ignore[arg-type]
    if is_kept:
        keep_ready(form, x, kernel, plan, functions, out, _by_outputs)  # type: ignore[arg-type]
    return True


def _by_outputs(kernel: Array) -> Array:
    """Return a filter with all numbers of an output channel side by side."""
    return np.ascontiguousarray(kernel.reshape(-1, kernel.shape[-1]).T)


def _groups(channels: int) -> tuple[tuple[int, int, int], ...]:
    """Return (output channels of a group, the first one, the number of groups) of each call."""
    most = 3 if channels % 3 == 0 and channels % 4 else min(channels, max(_FEW_POSITIONS))
    whole, left = divmod(channels, most)
    found = [(most, 0, whole)] if whole else []
    return tuple(found + ([(left, whole * most, 1)] if left else []))


def _few_calls(channels: int, places: Places) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the calls of a convolution with few output channels."""
    runs, length = len(places.runs), places.length
    calls: list[type_of_call] = []
    for outputs, first, groups in _groups(channels):
        positions = _FEW_POSITIONS[outputs]
        ns = positions * outputs * groups * (runs * -(-length // LANES) * _NS_OF_PAIR + _NS_OF_SUM)
        sizes = places.count, runs, length, channels, first, groups
        calls.append((-(-places.count // positions), ns, sizes))
    return [places.seen, places.targets, places.runs], calls


def _forward_calls(channels: int, places: Places) -> tuple[list[Array], list[type_of_call]]:
    """Return the tables and the calls of a convolution."""
    parts = _parts_of_sum(len(places.runs), places.length)
    calls: list[type_of_call] = []
    for number, first, blocks, last in column_blocks(channels):
        tiles = -(-places.count // ROWS[number])
        chunks = min(tiles // _LEAST_TILES, -(-_LEAST_UNITS // blocks))
        chunks = max(-(-tiles // _MOST_TILES), chunks)
        of_chunk = -(-tiles // chunks)
        products = of_chunk * ROWS[number] * (number + 1) * LANES * places.runs.size * places.length
        numbers = (places.count, of_chunk, len(parts) // 4, places.length)
        at_once = max(1, min(_MOST_BLOCKS, chunks * blocks // _LEAST_UNITS))
        sizes = (*numbers, channels, first, blocks, at_once, last)
        units = chunks * -(-blocks // at_once)
        calls.append((units, at_once * products * _NS_OF_FEW[number], sizes))
    return [places.seen, places.targets, places.runs, parts], calls
