"""Tensors whose channels come second (NCHW), in memory whose channels come last.

Kernels compute with the channels last.  An op of NCHW moves the channels to the end, computes, and
returns a view of the result with the channels moved back: the memory keeps its order.  NumPy and
CuPy keep it, too, when they compute elementwise, so that the next op of NCHW finds memory in the
order that it needs.  A chain of these ops copies one tensor, its first.

Where the channels come last, arithmetic with a vector of one number per channel joins positions to
rows (``positions_of_row``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp

# By rank; other tensors have no order of channels.
_TO_LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
_TO_SECOND = {3: (0, 2, 1), 4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}


def channels_to_last(x: Array) -> Array:
    """Return a view with the second dimension last; `x` must have 3 to 5 dimensions."""
    return x.transpose(_TO_LAST[x.ndim])


def channels_to_second(x: Array) -> Array:
    """Return a view with the last dimension second; `x` must have 3 to 5 dimensions."""
    return x.transpose(_TO_SECOND[x.ndim])


def lies_channels_last(x: Array) -> bool:
    """Return whether memory has the order of `x` with its second dimension last.

    False for memory in the order of `x` itself.
    """
    if x.flags.c_contiguous or x.ndim not in _TO_LAST:
        return False
    is_last: bool = x.transpose(_TO_LAST[x.ndim]).flags.c_contiguous
    return is_last


def contiguous_channels_last(xp: Xp, x: Array) -> Array:
    """Return `x` with its second dimension last, in this order in memory; a view if it is already.

    Args:
      xp: numpy or cupy.
      x: a tensor of 3 to 5 dimensions.
    """
    return xp.ascontiguousarray(x.transpose(_TO_LAST[x.ndim]))


def channel_vectors_refused(op_name: str) -> errors.UnimplementedError:
    """Return the error of a node that would compute vectors of four int8 channels."""
    return errors.unimplemented(
        f"{op_name} does not compute the data format NCHW_VECT_C, whose last dimension is a vector "
        "of four int8 channels for cuDNN. Use NCHW or NHWC."
    )


# ------------------------------------------------------------------------------- rows of positions

# Elements of NumPy's buffer.
_BUFFER = 8192
# The most elements of a long row, and of a row of an array with fewer than as many buffers.
_LONGEST, _SHORT, _FEW = 2 * _BUFFER, 512, 8


@lru_cache(maxsize=256)
def positions_of_row(positions: int, channels: int) -> int:
    """Return how many positions to join into one row, beside vectors of that length.

    NumPy copies a vector into a buffer, once for each row that the buffer has room for, before it
    computes with these rows.  The copies take as long as the arithmetic; at some addresses, those
    of 4 KiB and more take ten times as long.  Rows of large arrays are therefore longer than half a
    buffer where a divisor permits: then nothing is copied.  Rows of other arrays are too short for
    slow copies.

    >>> positions_of_row(8 * 32 * 32, 16)
    512

    Args:
      positions: the number of positions.
      channels: the number of channels, at least 1.

    Returns:
      A divisor of the number of positions.
    """
    longest = _SHORT
    if positions * channels >= _FEW * _BUFFER:
        longest = _BUFFER // 2
        most = min(positions, _LONGEST // channels)
        for number in range(_BUFFER // 2 // channels + 1, most + 1):
            if positions % number == 0:
                return number
    most = min(positions, max(1, longest // channels))
    return next(number for number in range(most, 0, -1) if positions % number == 0)


def repeated(vector: Array, times: int) -> Array:
    """Return `np.tile(vector, times)` of a vector, in a fraction of its time."""
    copies = np.empty((times, len(vector)), vector.dtype)
    copies[...] = vector
    return copies.reshape(-1)
