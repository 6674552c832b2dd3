"""Copies of arrays with their last two dimensions swapped.

The elements of a column lie as far apart as a row is long.  If that is a multiple of some hundred
bytes, they fall into few sets of a cache and displace each other: a copy of 512x512 floats takes
five times as long as one of 500x500.  Rows that are copied apart first, with a gap between them, do
not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Attr, Xp

# Rows of a multiple of this number of elements get a gap, of a cache's line.
_UNIT, GAP = 128, 16
# The fewest elements for which a gap pays.
_LEAST = 1 << 14


def swapped(xp: Xp, x: Array) -> Array:
    """Return a contiguous copy with the last two dimensions swapped: [..., rows, columns].

    Args:
      xp: numpy or cupy.
      x: an array of two dimensions or more.
    """
    if xp is np and needs_gap(x.shape):
        apart = with_gap(x.shape, x.dtype)
        apart[...] = x
        x = apart
    return xp.ascontiguousarray(x.swapaxes(-1, -2))


def needs_gap(shape: Sequence[int]) -> bool:
    """Return whether rows of such an array should have a gap between them, for a swapped copy."""
    return shape[-1] > 0 and shape[-1] % _UNIT == 0 and math.prod(shape) >= _LEAST


def with_gap(shape: Sequence[int], dtype: Attr) -> Array:
    """Return a new array, of undefined contents, with a gap behind each row."""
    return np.empty((*shape[:-1], shape[-1] + GAP), dtype)[..., : shape[-1]]
