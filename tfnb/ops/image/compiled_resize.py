"""Resizing by compiled routines: bilinear and its gradient, nearest neighbour.

Sums and products are rounded one by one and in the plain way's order, so that resized images have
its bits.  The gradient adds up row after row, where the plain way multiplies by matrices.

A table has an entry for each column of the result, or, for images with few channels, for each
number of its rows: a loop over the channels of one pixel would be too short.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.routines import Routine, run_rows
from tfnb.core.process.work_sharder import shard

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array

_FEW_CHANNELS = 8


def _sum(loops: Loops, *numbers: str) -> str:
    """Return the sum of two or three integers."""
    total = numbers[0]
    for number in numbers[1:]:
        total = loops.do("add nsw i64", total, number)
    return total


class _Row:
    """The loops over one row of a result.

    Args:
      loops: the function under construction.
      width: the number of entries of a table.
      channels: the channels of an entry.
      is_flat: whether entries are single numbers.
    """

    def __init__(self, loops: Loops, width: str, channels: str, *, is_flat: bool) -> None:
        self._loops, self._width, self._channels = loops, width, channels
        self._is_flat = is_flat
        self.length = width if is_flat else loops.do("mul i64", width, channels)

    def write(self, start: str, load: Callable[[str], Any], use: Callable[..., None]) -> None:
        """Write the loops.

        Args:
          start: the first number of the row.
          load: writes what an entry of the tables says.
          use: writes what happens at a number, given its place, its channel and the former.
        """
        loops = self._loops
        with loops.loop("0", self._width) as x:
            entry = load(x)
            if self._is_flat:
                use(_sum(loops, start, x), "0", entry)
                return
            first = _sum(loops, start, loops.do("mul i64", x, self._channels))
            with loops.loop("0", self._channels) as c:
                use(_sum(loops, first, c), c, entry)


def _write_bilinear(loops: Loops, *, is_flat: bool) -> None:
    """Write the routine.

    Its arrays are result, images, the columns' tables (left, right, fraction), the rows' tables
    (top, bottom, fraction), and a buffer of two rows.  Its sizes are the first row and the end of
    the rows of the result, its rows in an image, entries of the columns' tables, channels, the rows
    of an image, and the numbers in such a row.
    """
    begin, end, height, width, channels, whole, row_size = (loops.size(i) for i in range(7))
    row = _Row(loops, width, channels, is_flat=is_flat)
    # The rows of images in the buffer: the upper and the lower one are neighbours, or the same, so
    # that an even and an odd row suffice.
    even, odd = loops.variable("i64", "-1"), loops.variable("i64", "-1")

    def interpolated(source: str) -> str:
        """Write the interpolation between the columns of a row; return its start."""
        is_odd = loops.convert("trunc i64", source, "i1")
        found = loops.choose("i64", is_odd, odd.get(), even.get())
        start = loops.choose("i64", is_odd, row.length, "0")
        pixels = loops.do("mul i64", source, row_size)

        def load(x: str) -> tuple[str, str, str]:
            left, right = (_sum(loops, pixels, loops.load("i64", i, x)) for i in (2, 3))
            return left, right, loops.load("float", 4, x)

        def use(at: str, c: str, entry: tuple[str, str, str]) -> None:
            left, right = (loops.load("float", 1, _sum(loops, one, c)) for one in entry[:2])
            step = loops.do("fmul float", loops.do("fsub float", right, left), entry[2])
            loops.store("float", loops.do("fadd float", left, step), 8, at)

        is_new = loops.convert("zext i1", loops.do("icmp ne i64", found, source), "i64")
        with loops.loop("0", is_new):
            row.write(start, load, use)
        odd.set(loops.choose("i64", is_odd, source, odd.get()))
        even.set(loops.choose("i64", is_odd, even.get(), source))
        return start

    with loops.loop(begin, end) as number:
        image = loops.do("sdiv i64", number, height)
        y = loops.do("srem i64", number, height)
        first = loops.do("mul i64", image, whole)
        top, bottom = (interpolated(_sum(loops, first, loops.load("i64", i, y))) for i in (5, 6))
        fraction = loops.load("float", 7, y)
        target = loops.do("mul i64", number, row.length)
        with loops.loop("0", row.length) as j:
            above, below = (loops.load("float", 8, _sum(loops, one, j)) for one in (top, bottom))
            step = loops.do("fmul float", loops.do("fsub float", below, above), fraction)
            loops.store("float", loops.do("fadd float", above, step), 0, _sum(loops, target, j))


def _write_bilinear_gradient(loops: Loops, *, is_flat: bool) -> None:
    """Write the routine.

    Its arrays are result (zeros), gradients, the tables of :func:`_write_bilinear`, and a buffer of
    a row of the result.  Its sizes are the first and the end of the images, rows of gradients in an
    image, entries of the columns' tables, channels, rows of a result, numbers in such a row.
    """
    begin, end, height, width, channels, whole, row_size = (loops.size(i) for i in range(7))
    row = _Row(loops, width, channels, is_flat=is_flat)

    def add(array: int, at: str, number: str) -> None:
        loops.store("float", loops.do("fadd float", loops.load("float", array, at), number),
                    array, at)  # fmt: skip

    def load(x: str) -> tuple[str, str, str, str]:
        right = loops.load("float", 4, x)
        left = loops.do("fsub float", "1.0", right)
        return loops.load("i64", 2, x), loops.load("i64", 3, x), left, right

    def use(at: str, c: str, entry: tuple[str, str, str, str]) -> None:
        gradient = loops.load("float", 1, at)
        for place, share in zip(entry[:2], entry[2:], strict=True):
            add(8, _sum(loops, place, c), loops.do("fmul float", gradient, share))

    with loops.loop(begin, end) as image:
        first = loops.do("mul i64", image, whole)
        with loops.loop("0", height) as y:
            with loops.loop("0", row_size) as j:
                loops.store("float", "0.0", 8, j)
            number = _sum(loops, loops.do("mul i64", image, height), y)
            row.write(loops.do("mul i64", number, row.length), load, use)
            below = loops.load("float", 7, y)
            for table, share in ((5, loops.do("fsub float", "1.0", below)), (6, below)):
                target = _sum(loops, first, loops.load("i64", table, y))
                start = loops.do("mul i64", target, row_size)
                with loops.loop("0", row_size) as j:
                    part = loops.do("fmul float", loops.load("float", 8, j), share)
                    add(0, _sum(loops, start, j), part)


def _write_nearest(loops: Loops, *, is_flat: bool) -> None:
    """Write the routine.

    Its arrays are result, images, and the tables of columns and rows.  Its sizes are those of
    :func:`_write_bilinear`.
    """
    begin, end, height, width, channels, whole, row_size = (loops.size(i) for i in range(7))
    row = _Row(loops, width, channels, is_flat=is_flat)
    with loops.loop(begin, end) as number:
        first = loops.do("mul i64", loops.do("sdiv i64", number, height), whole)
        y = loops.do("srem i64", number, height)
        source = loops.do("mul i64", _sum(loops, first, loops.load("i64", 3, y)), row_size)

        def use(at: str, c: str, entry: str) -> None:
            loops.store("i32", loops.load("i32", 1, _sum(loops, entry, c)), 0, at)

        row.write(
            loops.do("mul i64", number, row.length),
            lambda x: _sum(loops, source, loops.load("i64", 2, x)),
            use,
        )


def _both(arrays: int, write: Callable[..., None]) -> tuple[Routine, Routine]:
    """Return the routines for tables of columns and for tables of numbers."""
    one, other = (Routine(arrays, partial(write, is_flat=is_flat)) for is_flat in (False, True))
    return one, other


_BILINEAR = _both(9, _write_bilinear)
_BILINEAR_GRADIENT = _both(9, _write_bilinear_gradient)
_NEAREST = _both(4, _write_nearest)
# Estimates of the plain way, and of a number here.
_SECONDS_OF_CALL, _SECONDS_OF_NUMBER = 40e-6, 5e-9
_NS_OF_NUMBER = 0.7
_LARGE_NS = 50_000
# Gradients of one pixel, above which a product of matrices is faster than additions that wait for
# each other.
_MOST_SHARES = 64


def column_places(places: Array, channels: int) -> Array:
    """Return the entries of a table for columns: numbers of a row of the image."""
    starts = places.astype(np.int64) * channels
    if channels >= _FEW_CHANNELS:
        return starts
    return (starts[:, None] + np.arange(channels)).reshape(-1)


def column_fractions(fractions: Array, channels: int) -> Array:
    """Return the fractions of :func:`column_places`."""
    return fractions if channels >= _FEW_CHANNELS else np.repeat(fractions, channels)


def bilinear(
    images: Array, height: int, width: int, tables: Callable[[], tuple[Array, ...]]
) -> Array | None:
    """Return resized images; None where the routine does not fit, or is not ready.

    Args:
      images: [batch, height, width, channels].
      height: the rows of a result.
      width: its columns.
      tables: returns the columns' left and right places and fractions, then those of rows.
    """
    batch, old_height, old_width, channels = images.shape
    if images.dtype != np.float32 or not images.size or not images.flags.c_contiguous:
        return None
    numbers = batch * height * width * channels
    routine = _BILINEAR[channels < _FEW_CHANNELS]
    function = routine.find(_SECONDS_OF_CALL + numbers * _SECONDS_OF_NUMBER)
    if function is None:
        return None
    entries = tables()
    out = np.empty((batch, height, width, channels), np.float32)
    sizes = np.array(
        [0, 0, batch * height, height, len(entries[0]), channels, old_height, old_width * channels],
        np.int64,
    )
    row_size = width * channels

    def work(first: int, last: int) -> None:
        buffer = np.empty(2 * row_size, np.float32)
        part = sizes.copy()
        part[:3] = numbers * _NS_OF_NUMBER > _LARGE_NS, first, last
        function(out, images, *entries, buffer, part)

    shard(batch * height, int(_LARGE_NS / (row_size * _NS_OF_NUMBER)) + 1, work)
    return out


def bilinear_gradient(
    grads: Array, height: int, width: int, tables: Callable[[], tuple[Array, ...]]
) -> Array | None:
    """Return the gradients of images of `height` rows and `width` columns; None as `bilinear`."""
    batch, tall, wide, channels = grads.shape
    if tall * wide > _MOST_SHARES * height * width:
        return None
    if grads.dtype != np.float32 or not grads.size or not grads.flags.c_contiguous:
        return None
    routine = _BILINEAR_GRADIENT[channels < _FEW_CHANNELS]
    function = routine.find(_SECONDS_OF_CALL + grads.size * _SECONDS_OF_NUMBER)
    if function is None:
        return None
    entries = tables()
    row_size = width * channels
    out = np.zeros((batch, height, width, channels), np.float32)
    sizes = np.array([0, 0, batch, tall, len(entries[0]), channels, height, row_size], np.int64)
    ns = 3 * _NS_OF_NUMBER * max(1, grads.size // batch)

    def work(first: int, last: int) -> None:
        part = sizes.copy()
        part[:3] = batch * ns > _LARGE_NS, first, last
        function(out, grads, *entries, np.empty(row_size, np.float32), part)

    shard(batch, int(_LARGE_NS / ns) + 1, work)
    return out


def nearest(
    images: Array, height: int, width: int, tables: Callable[[], tuple[Array, Array]]
) -> Array | None:
    """Return images whose pixels are copies; None as `bilinear`.

    Args:
      images: [batch, height, width, channels], of a type with 32 bits.
      height: the rows of a result.
      width: its columns.
      tables: returns the columns' places, then those of rows.
    """
    batch, old_height, old_width, channels = images.shape
    if images.dtype.kind not in "iuf" or images.itemsize != 4:
        return None
    if not images.size or not images.flags.c_contiguous:
        return None
    numbers = batch * height * width * channels
    routine = _NEAREST[channels < _FEW_CHANNELS]
    function = routine.find(_SECONDS_OF_CALL + numbers * _SECONDS_OF_NUMBER)
    if function is None:
        return None
    columns, rows = tables()
    out = np.empty((batch, height, width, channels), images.dtype)
    sizes = height, len(columns), channels, old_height, old_width * channels
    ns = width * channels * _NS_OF_NUMBER
    run_rows(function, [out, images, columns, rows], batch * height, ns, *sizes)
    return out
