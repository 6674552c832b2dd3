"""Resized crops by compiled routines, with the bits of the plain way.

The places of a crop's columns are computed once for each box, in the order of operations of
``image_crop_ops.py``; for images with few channels they are those of numbers, as in
``compiled_resize.py``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.llvm_functions import literal
from tfnb.core.compiled.routines import Routine
from tfnb.core.process.work_sharder import shard

if TYPE_CHECKING:
    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array

_FEW_CHANNELS = 8
# The longest side of an image of which floats number all pixels.
_MOST_PIXELS = 1 << 24
_HALF = literal(0.5, "float")


class _Axis:
    """The positions of a crop along one axis of its image.

    Args:
      loops: the function under construction.
      first: the box's first edge.
      last: its last edge.
      length: the number of pixels of the image.
      crop: the number of pixels of the crop.
    """

    def __init__(self, loops: Loops, first: str, last: str, length: str, crop: str) -> None:
        self._loops = loops
        less = loops.do("sub i64", length, "1")
        self._far = loops.convert("sitofp i64", less, "float")
        gaps = loops.convert("sitofp i64", loops.do("sub i64", crop, "1"), "float")
        self._is_one = loops.do("icmp sle i64", crop, "1")
        reach = loops.do("fmul float", loops.do("fsub float", last, first), self._far)
        self._scale = loops.do("fdiv float", reach, gaps)
        self._start = loops.do("fmul float", first, self._far)
        middle = loops.do("fmul float", loops.do("fadd float", first, last), _HALF)
        self._middle = loops.do("fmul float", middle, self._far)

    def position(self, number: str) -> tuple[str, str]:
        """Write a position, 0 if it is outside of the image; return it and whether it is inside."""
        loops = self._loops
        step = loops.convert("sitofp i64", number, "float")
        moved = loops.do("fadd float", self._start, loops.do("fmul float", step, self._scale))
        place = loops.choose("float", self._is_one, self._middle, moved)
        low, high = (
            loops.do(f"fcmp {test} float", place, edge)
            for test, edge in (("oge", "0.0"), ("ole", self._far))
        )
        is_inside = loops.do("and i1", low, high)
        return loops.choose("float", is_inside, place, "0.0"), is_inside


def _whole(loops: Loops, number: str) -> str:
    return loops.convert("fptosi float", number, "i64")


def _neighbours(loops: Loops, place: str, *, is_nearest: bool) -> tuple[str, str, str]:
    """Return the pixels around a position, and its distance from the first one."""
    floor = loops.call("llvm.floor", "float", place)
    distance = loops.do("fsub float", place, floor)
    if is_nearest:
        is_far = loops.do("fcmp oge float", distance, _HALF)
        one = loops.convert("uitofp i1", is_far, "float")
        near = _whole(loops, loops.do("fadd float", floor, one))
        return near, near, "0.0"
    return _whole(loops, floor), _whole(loops, loops.call("llvm.ceil", "float", place)), distance


def _write(loops: Loops, *, is_flat: bool, is_nearest: bool) -> None:
    """Write the routine.

    Its arrays are result, images, boxes, the image of each box, the number outside of images, and
    tables of a crop's columns: left and right places, fractions, and which are inside.  Its sizes
    are the first and the end of the boxes, a crop's rows and columns, the images' rows, columns and
    channels, and the number of images.
    """
    begin, end, rows, columns, height, width, channels, batch = (loops.size(i) for i in range(8))
    row_size = loops.do("mul i64", width, channels)
    length = loops.do("mul i64", columns, channels)
    outside = loops.load("float", 4, "0")

    def table(at: str, offset: str, place: tuple[str, str, str], is_inside: str) -> None:
        for array, pixel in zip((5, 6), place[:2], strict=True):
            start = loops.do("mul i64", pixel, channels)
            loops.store("i64", loops.do("add i64", start, offset), array, at)
        loops.store("float", place[2], 7, at)
        loops.store("i32", loops.convert("zext i1", is_inside, "i32"), 8, at)

    def pixel(at: str, c: str, x: str, starts: list[str], down: str) -> None:
        """Write one number of the crop."""
        places = [loops.do("add i64", loops.load("i64", i, x), c) for i in (5, 6)]
        across = loops.load("float", 7, x)
        made = []
        for start in starts[:1] if is_nearest else starts:
            left, right = (loops.load("float", 1, loops.do("add i64", start, p)) for p in places)
            step = loops.do("fmul float", loops.do("fsub float", right, left), across)
            made.append(left if is_nearest else loops.do("fadd float", left, step))
        found = made[0]
        if not is_nearest:
            step = loops.do("fmul float", loops.do("fsub float", made[1], found), down)
            found = loops.do("fadd float", found, step)
        is_inside = loops.do("icmp ne i32", loops.load("i32", 8, x), "0")
        loops.store("float", loops.choose("float", is_inside, found, outside), 0, at)

    with loops.loop(begin, end) as box:
        corner = loops.do("mul i64", box, "4")
        edges = [loops.load("float", 2, loops.do("add i64", corner, str(i))) for i in range(4)]
        down = _Axis(loops, edges[0], edges[2], height, rows)
        across = _Axis(loops, edges[1], edges[3], width, columns)
        with loops.loop("0", columns) as x:
            place, is_inside = across.position(x)
            found = _neighbours(loops, place, is_nearest=is_nearest)
            if is_flat:
                at = loops.do("mul i64", x, channels)
                with loops.loop("0", channels) as c:
                    table(loops.do("add i64", at, c), c, found, is_inside)
            else:
                table(x, "0", found, is_inside)
        image = loops.convert("sext i32", loops.load("i32", 3, box), "i64")
        # The numbers may be the value of a variable, which another op changes after their check.
        is_image = loops.do("icmp ult i64", image, batch)
        first_row = loops.do("mul i64", image, height)
        with loops.loop("0", rows) as y:
            number = loops.do("add i64", loops.do("mul i64", box, rows), y)
            target = loops.do("mul i64", number, length)
            place, is_inside = down.position(y)
            is_inside = loops.do("and i1", is_inside, is_image)
            upper, lower, fraction = _neighbours(loops, place, is_nearest=is_nearest)
            starts = [
                loops.do("mul i64", loops.do("add i64", first_row, one), row_size)
                for one in (upper, lower)
            ]
            with loops.loop("0", loops.choose("i64", is_inside, "0", length)) as j:
                loops.store("float", outside, 0, loops.do("add i64", target, j))
            entries = length if is_flat else columns
            with loops.loop("0", loops.choose("i64", is_inside, entries, "0")) as x:
                if is_flat:
                    pixel(loops.do("add i64", target, x), "0", x, starts, fraction)
                else:
                    at = loops.do("add i64", target, loops.do("mul i64", x, channels))
                    with loops.loop("0", channels) as c:
                        pixel(loops.do("add i64", at, c), c, x, starts, fraction)


_ROUTINES = {
    (is_flat, is_nearest): Routine(9, partial(_write, is_flat=is_flat, is_nearest=is_nearest))
    for is_flat in (False, True)
    for is_nearest in (False, True)
}
# Estimates of the plain way, and of a number here.
_SECONDS_OF_CALL, _SECONDS_OF_NUMBER = 150e-6, 10e-9
_NS_OF_NUMBER = 1.5
_LARGE_NS = 50_000


def crops(
    image: Array,
    boxes: Array,
    box_ind: Array,
    size: tuple[int, int],
    *,
    is_nearest: bool,
    outside: float,
) -> Array | None:
    """Return resized crops; None where the routine does not fit, or is not ready.

    Args:
      image: [batch, height, width, channels].
      boxes: finite corners as parts of an image.
      box_ind: the image of each box, valid numbers.
      size: the rows and columns of a crop.
      is_nearest: whether pixels are copies of the nearest ones.
      outside: the number outside of an image.
    """
    batch, height, width, channels = image.shape
    if image.dtype != np.float32 or not image.size or not image.flags.c_contiguous:
        return None
    if not boxes.size or max(height, width) > _MOST_PIXELS:
        return None
    rows, columns = size
    numbers = len(boxes) * rows * columns * channels
    routine = _ROUTINES[channels < _FEW_CHANNELS, is_nearest]
    function = routine.find(_SECONDS_OF_CALL + numbers * _SECONDS_OF_NUMBER)
    if function is None:
        return None
    out = np.empty((len(boxes), rows, columns, channels), np.float32)
    given = [np.ascontiguousarray(boxes, np.float32), np.ascontiguousarray(box_ind, np.int32)]
    given.append(np.array([outside], np.float32))
    entries = columns * channels if channels < _FEW_CHANNELS else columns
    ns = numbers * _NS_OF_NUMBER
    sizes = np.array([0, 0, 0, rows, columns, height, width, channels, batch], np.int64)

    def work(first: int, last: int) -> None:
        tables = [np.empty(entries, kind) for kind in (np.int64, np.int64, np.float32, np.int32)]
        part = sizes.copy()
        part[:3] = ns > _LARGE_NS, first, last
        function(out, image, *given, *tables, part)

    shard(len(boxes), int(_LARGE_NS * len(boxes) / ns) + 1, work)
    return out
