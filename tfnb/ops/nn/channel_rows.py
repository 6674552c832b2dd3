"""Arithmetic of arrays with a vector of one number per channel, computed in long rows.

NumPy adds a vector of 32 channels to images in loops of 32 numbers, and each loop costs as much as
another hundred numbers.  Neighbouring positions are therefore joined into one row, and the vector
is repeated to the row's length.  A small array has a row for each position, because NumPy takes
less time for two dimensions than for four.  Channels may be any axis; unless it is the last one in
memory (``channel_order.py``), a row has one channel.

NumPy copies a vector into a buffer, once for each row that the buffer has room for, before it
computes with these rows.  The copies take as long as the arithmetic; at some addresses, those of
4 KiB and more take ten times as long.  Rows of large arrays are therefore longer than half a
buffer: then nothing is copied.  Rows of other arrays are too short for slow copies.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tfnb.core.channel_order import (
    channels_to_second,
    contiguous_channels_last,
    lies_channels_last,
)
from tfnb.core.process.work_sharder import shard
from tfnb.ops.base.large_arrays import LARGE, is_large, sum_over

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.kernel_types import Array, Xp

_Part = TypeVar("_Part")

# Elements of NumPy's buffer.
_BUFFER = 8192
# The most elements of a long row, and of a row of an array with fewer than as many long rows.
_LONGEST, _SHORT, _FEW = 2 * _BUFFER, 512, 8
# Longest run of products that are added one after another.
_ROWS_OF_A_SUM = 1024
# The fewest elements of a block of rows, which one thread computes, and the most blocks.
_BLOCK, _MOST_BLOCKS = 1 << 18, 16


@lru_cache(maxsize=256)
def _repeats(positions: int, channels: int) -> int:
    """Return the number of positions of a row, a divisor of ``positions``."""
    channels = max(channels, 1)
    if positions * channels >= _FEW * _BUFFER:
        most = min(positions, _LONGEST // channels)
        for number in range(_BUFFER // 2 // channels + 1, most + 1):
            if positions % number == 0:
                return number
    most = min(positions, max(1, _SHORT // channels))
    return next(number for number in range(most, 0, -1) if positions % number == 0)


def _repeated(vector: Array, times: int) -> Array:
    """Return `np.tile(vector, times)`, in a fraction of its time."""
    repeated = np.empty((times, len(vector)), vector.dtype)
    repeated[...] = vector
    return repeated.reshape(-1)


class ChannelRows:
    """A converter of arrays of one shape to rows, and of vectors of channels to match them."""

    def __init__(self, xp: Xp, shape: Sequence[int], axis: int) -> None:
        self._xp = xp
        self._shape = tuple(shape)
        self._axis = axis
        self._repeats = 0  # positions of a row; 0: arrays stay unchanged
        self._is_turned: bool | None = None  # whether rows hold the second dimension last
        self._others = tuple(i for i in range(len(shape)) if i != axis)
        self._lifted = tuple(-1 if i == axis else 1 for i in range(len(shape)))

    def rows(self, x: Array) -> Array:
        """Return an array of the shape as rows; the first one decides their form."""
        if self._axis == 1 < len(self._shape) - 1:
            if self._is_turned is None:
                self._is_turned = self._xp is np and lies_channels_last(x)
            if self._is_turned:
                x = contiguous_channels_last(self._xp, x)
            elif self._xp is np:
                x = np.ascontiguousarray(x)
        is_last = self._is_turned or self._axis == len(self._shape) - 1
        is_last = is_last and x.flags.c_contiguous
        if is_last and self._xp is np and 0 < x.size < LARGE:
            self._repeats = 1
            return x.reshape(-1, self._shape[self._axis])
        if is_last and is_large(self._xp, x):
            channels = self._shape[self._axis]
            self._repeats = _repeats(x.size // channels, channels)
            return x.reshape(-1, self._repeats * channels)
        return channels_to_second(x) if self._is_turned else x

    def spread(self, vector: Array) -> Array:
        """Return a vector of the channels in a form that broadcasts with rows."""
        if self._repeats:
            return _repeated(vector, self._repeats) if self._repeats > 1 else vector
        return vector.reshape(self._lifted)

    def by_blocks(self, rows: Array, work: Callable[[slice], _Part]) -> list[_Part]:
        """Return ``work(block)`` for all rows, block by block, on several threads.

        Blocks depend on the shape only.  Rows of a small array, or of one channel, are one block.
        """
        count = min(rows.size // _BLOCK, _MOST_BLOCKS, len(rows)) if self._repeats else 1
        if count < 2:
            return [work(slice(None))]
        found: dict[int, _Part] = {}

        def some(first: int, last: int) -> None:
            for number in range(first, last):
                cuts = (len(rows) * one // count for one in (number, number + 1))
                found[number] = work(slice(*cuts))

        shard(count, 1, some)
        return [found[number] for number in range(count)]

    def partial_sum(self, rows: Array) -> Array:
        """Return the sums of a block, of which `total` makes the sum per channel."""
        if not self._repeats:
            return sum_over(self._xp, rows, self._others)
        if self._repeats == 1 and rows.size < LARGE:
            return np.add.reduce(rows, axis=0)
        return sum_over(np, rows, (0,))

    def partial_products(self, rows: Array, others: Array) -> Array:
        """Return the sums of the products of two blocks, of which `total` makes those of channels.

        Each block has the rows of the other one.
        """
        if not self._repeats or rows.size < LARGE:
            return self.partial_sum(rows * others)
        total: Array = None
        for first in range(0, len(rows), _ROWS_OF_A_SUM):
            some = slice(first, first + _ROWS_OF_A_SUM)
            part = np.einsum("rc,rc->c", rows[some], others[some])
            total = part if total is None else np.add(total, part, out=total)
        return total

    def total(self, parts: Sequence[Array]) -> Array:
        """Return the sum per channel, given the sums of all blocks in order."""
        whole = parts[0]
        for part in parts[1:]:
            whole = np.add(whole, part, out=whole)
        if self._repeats < 2:
            return whole
        return whole.reshape(self._repeats, -1).sum(axis=0)

    def sum(self, rows: Array) -> Array:
        """Return the sum per channel."""
        return self.total(self.by_blocks(rows, lambda block: self.partial_sum(rows[block])))

    def sum_of_products(self, rows: Array, others: Array) -> Array:
        """Return the sum per channel of the products of two arrays of rows."""
        return self.total(
            self.by_blocks(rows, lambda block: self.partial_products(rows[block], others[block]))
        )

    def whole(self, rows: Array) -> Array:
        """Return rows as an array of the shape."""
        if self._is_turned and self._repeats:
            shape = (self._shape[0], *self._shape[2:], self._shape[1])
            return channels_to_second(rows.reshape(shape))
        return rows.reshape(self._shape)

    @property
    def count(self) -> int:
        """The number of positions of each channel."""
        return math.prod(self._shape[i] for i in self._others)
