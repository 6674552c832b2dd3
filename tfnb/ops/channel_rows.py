"""Arithmetic of arrays with a vector that has a number per channel, in long rows.

NumPy adds a vector of 32 channels to images in loops of 32 numbers, each of which costs as much as
another hundred.  So neighbouring positions are made one row, and the vector is repeated to its
length.  Channels may be any axis; where they are not the last one, a row has one channel.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.ops.large_arrays import is_large, sum_over

if TYPE_CHECKING:
    from collections.abc import Sequence

# A row has about so many elements: its vector stays in a core's first cache.
_ROW = 2048


@lru_cache(maxsize=256)
def _repeats(positions: int, channels: int) -> int:
    """How many positions make a row: a divisor of all."""
    most = min(positions, max(1, _ROW // max(channels, 1)))
    return next(number for number in range(most, 0, -1) if positions % number == 0)


class ChannelRows:
    """How arrays of one shape look as rows, and vectors of channels beside them."""

    def __init__(self, xp: Any, shape: Sequence[int], axis: int) -> None:
        self._xp = xp
        self._shape = tuple(shape)
        self._axis = axis
        self._repeats = 0  # positions of a row; 0: the arrays are taken as they are
        self._others = tuple(i for i in range(len(shape)) if i != axis)
        self._lifted = tuple(-1 if i == axis else 1 for i in range(len(shape)))

    def rows(self, x: Any) -> Any:
        """An array of the shape, as rows; must be called first."""
        if not is_large(self._xp, x) or not x.flags.c_contiguous:
            return x
        if self._axis == len(self._shape) - 1:
            channels = self._shape[-1]
            self._repeats = _repeats(x.size // channels, channels)
            return x.reshape(-1, self._repeats * channels)
        return x

    def spread(self, vector: Any) -> Any:
        """A vector of the channels, to be combined with rows."""
        if self._repeats:
            return np.tile(vector, self._repeats) if self._repeats > 1 else vector
        return vector.reshape(self._lifted)

    def sum(self, rows: Any) -> Any:
        """The sum per channel."""
        if not self._repeats:
            return sum_over(self._xp, rows, self._others)
        folded = sum_over(np, rows, (0,))
        return folded.reshape(self._repeats, -1).sum(axis=0)

    def whole(self, rows: Any) -> Any:
        """Rows as an array of the shape."""
        return rows.reshape(self._shape)

    @property
    def count(self) -> int:
        """The positions that each channel has."""
        return math.prod(self._shape[i] for i in self._others)
