"""Arithmetic of arrays with a vector of one number per channel, computed in long rows.

NumPy adds a vector of 32 channels to images in loops of 32 numbers, and each loop costs as much as
another hundred numbers.  Neighbouring positions are therefore joined into one row, and the vector
is repeated to the row's length (``core/channel_order.py``).  A small array has a row for each
position, because NumPy takes less time for two dimensions than for four.  Channels may be any axis;
unless it is the last one in memory, a row has one channel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tfnb.core.channel_order import (
    channels_to_second,
    contiguous_channels_last,
    lies_channels_last,
    positions_of_row,
    repeated,
)
from tfnb.core.process.work_sharder import shard
from tfnb.ops.base.large_arrays import LARGE, is_large, sum_over

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.kernel_types import Array, Xp

_Part = TypeVar("_Part")

# Longest run of products that are added one after another.
_ROWS_OF_A_SUM = 1024
# The fewest elements of a block of rows, which one thread computes, and the most blocks.
_BLOCK, _MOST_BLOCKS = 1 << 18, 16


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
            self._repeats = positions_of_row(x.size // channels, channels)
            return x.reshape(-1, self._repeats * channels)
        return channels_to_second(x) if self._is_turned else x

    def spread(self, vector: Array) -> Array:
        """Return a vector of the channels in a form that broadcasts with rows."""
        if self._repeats:
            return repeated(vector, self._repeats) if self._repeats > 1 else vector
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
        """Return the sums of a block, of which `total` makes the sum per channel: a new array."""
        if self._repeats == 1 and rows.size < LARGE:
            return np.add.reduce(rows, axis=0)
        found = sum_over(self._xp, rows, (0,) if self._repeats else self._others)
        # The sum of one row may be a view of it.
        return found.copy() if found.size == rows.size else found

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
        """Return the sum per channel, given the sums of all blocks in order.

        The first one is overwritten.
        """
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
