"""Batch normalization by compiled routines (``core/compiled/routines.py``), in few sweeps.

Arrays have the channels last.  Neighbouring positions are joined into one row, and the vectors of
the channels are repeated, as in ``channel_rows.py``.  Sums go over blocks of rows, one after the
other, and then over the blocks, so that they do not depend on the threads.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.routines import Routine, run_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array

# Rows of a block of a sum.
_BLOCK = 64


def _write_normalized(loops: Loops) -> None:
    """Write ``(x - mean) * factor + offset``; the arrays are result, x, and three vectors."""
    begin, end, width = (loops.size(i) for i in range(3))
    with loops.loop(begin, end) as row:
        start = loops.do("mul i64", row, width)
        with loops.loop("0", width) as i:
            at = loops.do("add nuw nsw i64", start, i)
            mean, factor, offset = (loops.load("float", array, i) for array in (2, 3, 4))
            found = loops.do("fsub float", loops.load("float", 1, at), mean)
            found = loops.do("fadd float", loops.do("fmul float", found, factor), offset)
            loops.store("float", found, 0, at)


def _write_sums(loops: Loops, terms: Callable[[Loops, str, str], list[str]], sums: int) -> None:
    """Write the sums of some terms over the rows of each block.

    The first arrays are the sums, [blocks, width], then those that the terms read.  The sizes are
    the first block, the end of the blocks, the width, and the number of rows.
    """
    begin, end, width, rows = (loops.size(i) for i in range(4))
    with loops.loop(begin, end) as block:
        target = loops.do("mul i64", block, width)
        first = loops.do("mul i64", block, str(_BLOCK))
        last = loops.do("add i64", first, str(_BLOCK))
        last = loops.choose("i64", loops.do("icmp slt i64", last, rows), last, rows)
        with loops.loop(first, last) as row:
            start = loops.do("mul i64", row, width)
            with loops.loop("0", width) as i:
                at = loops.do("add nuw nsw i64", start, i)
                to = loops.do("add nuw nsw i64", target, i)
                found = terms(loops, at, i)
                assert len(found) == sums
                for number, term in enumerate(found):
                    total = loops.do("fadd float", loops.load("float", number, to), term)
                    loops.store("float", total, number, to)


def _value(loops: Loops, at: str, i: str) -> list[str]:
    return [loops.load("float", 1, at)]


def _squared_distance(loops: Loops, at: str, i: str) -> list[str]:
    centered = loops.do("fsub float", loops.load("float", 1, at), loops.load("float", 2, i))
    return [loops.do("fmul float", centered, centered)]


def _gradients(loops: Loops, at: str, i: str) -> list[str]:
    grad = loops.load("float", 2, at)
    centered = loops.do("fsub float", loops.load("float", 3, at), loops.load("float", 4, i))
    return [grad, loops.do("fmul float", grad, centered)]


def _write_input_gradient(loops: Loops) -> None:
    """Write ``((grad - mean of grad) - (x - mean) * slope) * factor``.

    The arrays are result, grad, x, and the vectors mean of grad, mean, slope and factor.
    """
    begin, end, width = (loops.size(i) for i in range(3))
    with loops.loop(begin, end) as row:
        start = loops.do("mul i64", row, width)
        with loops.loop("0", width) as i:
            at = loops.do("add nuw nsw i64", start, i)
            mean_grad, mean, slope, factor = (loops.load("float", one, i) for one in range(3, 7))
            found = loops.do("fsub float", loops.load("float", 1, at), mean_grad)
            centered = loops.do("fsub float", loops.load("float", 2, at), mean)
            found = loops.do("fsub float", found, loops.do("fmul float", centered, slope))
            loops.store("float", loops.do("fmul float", found, factor), 0, at)


def _channels(loops: Loops, width: str, step: Callable[[str], None]) -> None:
    with loops.loop("0", width) as i:
        step(i)


def _write_block_sums(
    loops: Loops,
    rows: str,
    width: str,
    totals: Sequence[tuple[int, int]],
    terms: Callable[[str, str], list[str]],
) -> None:
    """Write sums over all rows, block by block.

    Args:
      loops: the routine.
      rows: the number of rows.
      width: their length.
      totals: for each sum the arrays of the total and of a block's sum.
      terms: returns what is added, for an element and its channel.
    """

    def clear(arrays: Sequence[int], i: str) -> None:
        for array in arrays:
            loops.store("float", "0.0", array, i)

    _channels(loops, width, lambda i: clear([total for total, _ in totals], i))
    count = loops.do("add i64", rows, str(_BLOCK - 1))
    with loops.loop("0", loops.do("sdiv i64", count, str(_BLOCK))) as block:
        _channels(loops, width, lambda i: clear([part for _, part in totals], i))
        first = loops.do("mul i64", block, str(_BLOCK))
        last = loops.do("add i64", first, str(_BLOCK))
        last = loops.choose("i64", loops.do("icmp slt i64", last, rows), last, rows)
        with loops.loop(first, last) as row:
            start = loops.do("mul i64", row, width)
            with loops.loop("0", width) as i:
                found = terms(loops.do("add nuw nsw i64", start, i), i)
                for (_, part), term in zip(totals, found, strict=True):
                    grown = loops.do("fadd float", loops.load("float", part, i), term)
                    loops.store("float", grown, part, i)
        with loops.loop("0", width) as i:
            for whole, part in totals:
                sums = [loops.load("float", array, i) for array in (whole, part)]
                loops.store("float", loops.do("fadd float", *sums), whole, i)


def _write_training(loops: Loops) -> None:
    """Write the whole normalization of a small array in training.

    Its arrays are result, mean, variance, a vector for its use, x, scale, offset, and epsilon.  Its
    sizes are two that are not used, the width, and the number of rows.
    """
    width, rows = loops.size(2), loops.size(3)
    count = loops.convert("sitofp i64", rows, "float")

    def divide(array: int) -> None:
        with loops.loop("0", width) as i:
            mean = loops.do("fdiv float", loops.load("float", array, i), count)
            loops.store("float", mean, array, i)

    def squared(at: str, i: str) -> list[str]:
        centered = loops.do("fsub float", loops.load("float", 4, at), loops.load("float", 1, i))
        return [loops.do("fmul float", centered, centered)]

    _write_block_sums(loops, rows, width, [(1, 3)], lambda at, i: [loops.load("float", 4, at)])
    divide(1)
    _write_block_sums(loops, rows, width, [(2, 3)], squared)
    divide(2)
    epsilon = loops.load("float", 7, "0")
    with loops.loop("0", width) as i:
        root = loops.do("fadd float", loops.load("float", 2, i), epsilon)
        root = loops.call("llvm.sqrt", "float", root)
        loops.store("float", loops.do("fdiv float", loops.load("float", 5, i), root), 3, i)
    with loops.loop("0", rows) as row:
        start = loops.do("mul i64", row, width)
        with loops.loop("0", width) as i:
            at = loops.do("add nuw nsw i64", start, i)
            mean, factor, offset = (loops.load("float", array, i) for array in (1, 3, 6))
            found = loops.do("fsub float", loops.load("float", 4, at), mean)
            found = loops.do("fadd float", loops.do("fmul float", found, factor), offset)
            loops.store("float", found, 0, at)


def _write_training_gradient(loops: Loops) -> None:
    """Write the whole gradient of the normalization of a small array in training.

    Its arrays are the gradients of x, scale and offset, three vectors for its use, grad, x, scale,
    mean, variance, and epsilon.  Its sizes are those of the normalization.
    """
    width, rows = loops.size(2), loops.size(3)
    count = loops.convert("sitofp i64", rows, "float")
    epsilon = loops.load("float", 11, "0")

    def terms(at: str, i: str) -> list[str]:
        grad = loops.load("float", 6, at)
        centered = loops.do("fsub float", loops.load("float", 7, at), loops.load("float", 9, i))
        return [grad, loops.do("fmul float", grad, centered)]

    _write_block_sums(loops, rows, width, [(2, 3), (1, 4)], terms)
    with loops.loop("0", width) as i:
        root = loops.do("fadd float", loops.load("float", 10, i), epsilon)
        inverse = loops.do("fdiv float", "1.0", loops.call("llvm.sqrt", "float", root))
        grad_scale = loops.do("fmul float", loops.load("float", 1, i), inverse)
        loops.store("float", grad_scale, 1, i)
        loops.store("float", loops.do("fdiv float", loops.load("float", 2, i), count), 3, i)
        slope = loops.do("fdiv float", loops.do("fmul float", grad_scale, inverse), count)
        loops.store("float", slope, 4, i)
        loops.store("float", loops.do("fmul float", loops.load("float", 8, i), inverse), 5, i)
    with loops.loop("0", rows) as row:
        start = loops.do("mul i64", row, width)
        with loops.loop("0", width) as i:
            at = loops.do("add nuw nsw i64", start, i)
            mean_grad, slope, factor, mean = (loops.load("float", one, i) for one in (3, 4, 5, 9))
            found = loops.do("fsub float", loops.load("float", 6, at), mean_grad)
            centered = loops.do("fsub float", loops.load("float", 7, at), mean)
            found = loops.do("fsub float", found, loops.do("fmul float", centered, slope))
            loops.store("float", loops.do("fmul float", found, factor), 0, at)


_TRAINING = Routine(8, _write_training)
_TRAINING_GRADIENT = Routine(12, _write_training_gradient)
_NORMALIZED = Routine(5, _write_normalized)
_SUM = Routine(2, partial(_write_sums, terms=_value, sums=1))
_SQUARES = Routine(3, partial(_write_sums, terms=_squared_distance, sums=1))
_GRADIENTS = Routine(5, partial(_write_sums, terms=_gradients, sums=2))
_INPUT_GRADIENT = Routine(7, _write_input_gradient)

# Estimates of the plain way, and of an element here.
_SECONDS_OF_CALL, _SECONDS_OF_ELEMENT = 8e-6, 8e-10
_NS_OF_ELEMENT = 0.3


# The most elements of a row that is joined: its vectors stay in the first cache.
_ROW = 256


@lru_cache(maxsize=256)
def _joined(positions: int, channels: int) -> int:
    """Return the number of positions of a row, a divisor of ``positions``."""
    most = min(positions, max(1, _ROW // channels))
    return next(number for number in range(most, 0, -1) if positions % number == 0)


class ChannelsLast:
    """An image, or several of one shape, as rows.

    Attributes:
      shape: number and length of the rows.
      channels: the number of channels.
    """

    __slots__ = ("_repeats", "channels", "shape")

    def __init__(self, x: Array) -> None:
        self.channels = x.shape[-1]
        positions = x.size // self.channels
        self._repeats = _joined(positions, self.channels)
        self.shape = positions // self._repeats, self._repeats * self.channels

    def spread(self, vector: Array) -> Array:
        """Return a vector of the channels as long as a row."""
        vector = np.asarray(vector, np.float32)
        if self._repeats == 1:
            return np.ascontiguousarray(vector)
        row = np.empty((self._repeats, self.channels), np.float32)
        row[...] = vector
        return row

    def folded(self, sums: Array) -> Array:
        """Return the sums of the channels, from those of blocks."""
        total = np.add.reduce(sums, axis=0)
        if self._repeats == 1:
            return total
        return np.add.reduce(total.reshape(self._repeats, self.channels), axis=0)

    def sums(self, function: Callable[..., None], count: int, *given: Array) -> list[Array]:
        """Return some sums of a routine per channel."""
        rows, width = self.shape
        blocks = -(-rows // _BLOCK)
        found = [np.zeros((blocks, width), np.float32) for _ in range(count)]
        ns = min(rows, _BLOCK) * width * _NS_OF_ELEMENT
        run_rows(function, [*found, *given], blocks, ns, width, rows)
        return [self.folded(one) for one in found]

    def swept(self, function: Callable[..., None], x: Array, *given: Array) -> Array:
        """Return the result of a routine, of the shape of `x`."""
        rows, width = self.shape
        out = np.empty(x.shape, np.float32)
        run_rows(function, [out, *given], rows, width * _NS_OF_ELEMENT, width)
        return out


def _functions(x: Array, *routines: Routine) -> list[Callable[..., None]] | None:
    """Return the functions of routines; None if one is not ready, or the array does not fit."""
    if x.dtype != np.float32 or not x.size or not x.flags.c_contiguous:
        return None
    seconds = _SECONDS_OF_CALL + x.size * _SECONDS_OF_ELEMENT
    found = [one.find(seconds) for one in routines]
    return None if None in found else found  # type: ignore[return-value]


def normalized(x: Array, mean: Array, factors: Array, offset: Array) -> Array | None:
    """Return ``(x - mean) * factors + offset``; None where the routine does not fit."""
    functions = _functions(x, _NORMALIZED)
    if functions is None:
        return None
    rows = ChannelsLast(x)
    vectors = [rows.spread(one) for one in (mean, factors, offset)]
    return rows.swept(functions[0], x, x, *vectors)


# Arrays of up to this number of elements are normalized in one call, by one thread.
_SMALL = 1 << 15
_LEAST_CHANNELS = 8


def trained(x: Array, scale: Array, offset: Array, epsilon: float) -> list[Array] | None:
    """Return the normalized array, mean and variance; None where the routine does not fit."""
    channels = x.shape[-1]
    if x.size > _SMALL or channels < _LEAST_CHANNELS:
        return None
    functions = _functions(x, _TRAINING)
    if functions is None or scale.dtype != np.float32 or offset.dtype != np.float32:
        return None
    if not (scale.flags.c_contiguous and offset.flags.c_contiguous):
        return None
    mean, variance, spare = (np.empty(channels, np.float32) for _ in range(3))
    found = [np.empty(x.shape, np.float32), mean, variance]
    number = np.array([epsilon], np.float32)
    sizes = np.array([0, 0, 0, channels, x.size // channels], np.int64)
    functions[0](*found, spare, x, scale, offset, number, sizes)
    return found


def trained_gradient(
    grad: Array, x: Array, scale: Array, mean: Array, variance: Array, epsilon: float
) -> list[Array] | None:
    """Return the gradients of x, scale and offset; None where the routine does not fit."""
    channels = x.shape[-1]
    if x.size > _SMALL or channels < _LEAST_CHANNELS:
        return None
    functions = _functions(x, _TRAINING_GRADIENT)
    if functions is None:
        return None
    given = (grad, scale, mean, variance)
    if not all(one.dtype == np.float32 and one.flags.c_contiguous for one in given):
        return None
    vectors = [np.empty(channels, np.float32) for _ in range(5)]
    found = [np.empty(x.shape, np.float32), *vectors[:2]]
    number = np.array([epsilon], np.float32)
    sizes = np.array([0, 0, 0, channels, x.size // channels], np.int64)
    functions[0](*found, *vectors[2:], grad, x, scale, mean, variance, number, sizes)
    return found


def statistics(x: Array) -> list[Array] | None:
    """Return mean and variance per channel; None where the routines do not fit."""
    functions = _functions(x, _SUM, _SQUARES)
    if functions is None:
        return None
    rows = ChannelsLast(x)
    count = np.float32(x.size // rows.channels)
    mean = rows.sums(functions[0], 1, x)[0] / count
    return [mean, rows.sums(functions[1], 1, x, rows.spread(mean))[0] / count]


def sums_of_gradient(grad: Array, x: Array, mean: Array) -> tuple[Array, Array] | None:
    """Return the sums of ``grad`` and of ``grad * (x - mean)``; None where it does not fit."""
    functions = _functions(x, _GRADIENTS)
    if functions is None or grad.dtype != np.float32 or not grad.flags.c_contiguous:
        return None
    rows = ChannelsLast(x)
    first, second = rows.sums(functions[0], 2, grad, x, rows.spread(mean))
    return first, second


def input_gradient(
    grad: Array, x: Array, mean_grad: Array, mean: Array, slope: Array, factors: Array
) -> Array | None:
    """Return ``((grad - mean_grad) - (x - mean) * slope) * factors``; None as the others."""
    functions = _functions(x, _INPUT_GRADIENT)
    if functions is None or grad.dtype != np.float32 or not grad.flags.c_contiguous:
        return None
    rows = ChannelsLast(x)
    vectors = [rows.spread(one) for one in (mean_grad, mean, slope, factors)]
    return rows.swept(functions[0], x, grad, x, *vectors)
