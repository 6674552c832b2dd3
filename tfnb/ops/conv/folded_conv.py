"""Convolutions and what follows them, without compiled routines.

The factor of a norm becomes part of the filter, and its other numbers become one vector, which is
added to the result where it lies: one pass over the result, and one for the limits, take the place
of four.  Results are those of the separate nodes up to rounding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tfnb.core.channel_order import positions_of_row, repeated
from tfnb.ops.base.large_arrays import shard_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.kernel_types import Array
    from tfnb.core.op_registry import Following


class Folded(NamedTuple):
    """A filter with the factor of a norm, and what is added to the result, or None."""

    taps: Array
    shift: Array | None


def convolve(
    compute: Callable[[Array], Array],
    kernel: Array,
    following: Following,
    lifted: Sequence[int],
    size: int,
) -> Array | None:
    """Return a convolution and what follows; None where the nodes are as fast, or more exact.

    Args:
      compute: returns the convolution, given its filter: a new array.
      kernel: the filter.
      following: what follows.
      lifted: the shape of a vector of the result's channels that is multiplied with the filter.
      size: the number of results.
    """
    if not size or not kernel.size:
        return None
    if following.kept is None and following.norm is not None and size < 2 * kernel.size:
        return None
    folded = _folded(kernel, following, lifted)
    if folded is None:
        return None
    out = np.ascontiguousarray(compute(folded.taps))
    channels = out.shape[-1]
    positions = out.size // channels
    times = positions_of_row(positions, channels)
    rows = out.reshape(-1, times * channels)
    shift = None if folded.shift is None else repeated(folded.shift, times)
    if out.size < _LEAST_SHARED:
        _finish(rows, shift, following.limits)
        return out

    def work(first: int, last: int) -> None:
        _finish(rows[first:last], shift, following.limits)

    shard_rows(len(rows), rows.shape[1], work)
    return out


# Fewer results are not divided.
_LEAST_SHARED = 1 << 16


def _finish(rows: Array, shift: Array | None, limits: tuple[float, float, float]) -> None:
    """Add a row to all rows, and limit the sums."""
    lowest, highest, factor = limits
    if shift is not None:
        rows += shift
    if factor:  # at most 1, with no highest number
        np.maximum(rows, rows * np.float32(factor), out=rows)
    elif lowest > -np.inf or highest < np.inf:
        rows.clip(np.float32(lowest), np.float32(highest), out=rows)


def _folded(kernel: Array, following: Following, lifted: Sequence[int]) -> Folded | None:
    """Return the filter and what is added; None if a number is not finite, or of another form."""
    kept = following.kept
    if kept is not None and "folded" in kept:
        known: Folded | None = kept["folded"]
        return known
    found = _fold(kernel, following, lifted)
    if kept is not None:
        kept["folded"] = found
    return found


def _fold(kernel: Array, following: Following, lifted: Sequence[int]) -> Folded | None:
    channels = math.prod(lifted)
    bias, norm = following.bias, following.norm
    for one in (bias, *(norm or ())):
        if one is not None and (one.shape != (channels,) or one.dtype != np.float32):
            return None
    if norm is None:
        return Folded(kernel, bias)
    subtracted, factor, added = norm
    shift = added + ((0 if bias is None else bias) - subtracted) * factor
    taps = kernel * factor.reshape(lifted)
    if not (np.isfinite(shift).all() and np.isfinite(np.vdot(taps, taps))):
        return None
    return Folded(taps, shift)
