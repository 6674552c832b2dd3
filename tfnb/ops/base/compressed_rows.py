"""Products of matrices of compressed sparse rows with dense ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.array_module import HAS_NARROW_INDICES, as_places
from tfnb.ops.base.large_arrays import is_large

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array

# Products that are held at once, in elements: they stay in a core's cache.
_PIECE = 1 << 16
# From this number of columns of the dense matrix on, rows of one length are multiplied together, as
# a stack of products: `np.add.reduceat` along an axis adds one product after another without vector
# instructions.
_WIDE = 8
# The fewest elements for each length that rows have, on average.
_LEAST_OF_A_LENGTH = 64
# A matrix with this part of its elements set is multiplied as a dense one: BLAS multiplies about
# thirty elements in the time in which NumPy takes one from its place.
_DENSE_FROM = 1 / 16
# Elements of a matrix that is made dense for a product, 64 MB of float32.
_DENSE_UP_TO = 1 << 24


def add_product(starts: Array, columns: Array, values: Array, dense: Array, out: Array) -> None:
    """Add the product of a sparse and a dense matrix to ``out``, which holds zeros.

    Args:
      starts: the place of each row's first element, and the number of elements: shape (rows + 1,).
      columns: the column of each element.
      values: the value of each element, of the dtype of ``dense``.
      dense: the right matrix.
      out: the result, of shape (rows, columns of ``dense``).
    """
    if HAS_NARROW_INDICES:
        starts, columns = as_places(starts), as_places(columns)
    width, inner = dense.shape[1], dense.shape[0]
    size = len(out) * inner
    # A product with zeros is NaN where the dense matrix is infinite.
    if (
        len(values) >= size * _DENSE_FROM
        and size <= _DENSE_UP_TO
        and is_large(np, dense)
        and bool(np.isfinite(dense).all())
    ):
        whole = np.zeros(size, dense.dtype)
        rows = np.repeat(np.arange(len(out)) * inner, np.diff(starts))
        rows += columns
        if bool((np.diff(np.sort(rows)) == 0).any()):  # elements of one place are added
            np.add.at(whole, rows, values)
        else:
            whole[rows] = values
        np.matmul(whole.reshape(len(out), inner), dense, out=out)
        return
    lengths = np.diff(starts)
    if width >= _WIDE and is_large(np, dense):
        order = np.argsort(lengths, kind="stable")
        lengths = lengths[order]
        ends = np.flatnonzero(np.diff(lengths, append=-1)) + 1  # where the length changes
        if len(values) >= len(ends) * _LEAST_OF_A_LENGTH:
            _add_by_lengths(starts, columns, values, dense, out, order, lengths, ends.tolist())
            return
    rows = np.flatnonzero(lengths)
    firsts = starts[rows]
    first = 0
    while first < len(rows) and width:
        # As many whole rows as fit in a piece, but at least one.
        limit = int(firsts[first]) + max(1, _PIECE // width)
        end = max(first + 1, int(np.searchsorted(starts[rows + 1], limit, side="right")))
        low, high = int(firsts[first]), int(starts[rows[end - 1] + 1])
        chosen = dense.take(columns[low:high], axis=0)
        chosen *= values[low:high, None]
        out[rows[first:end]] = np.add.reduceat(chosen, firsts[first:end] - low, axis=0)
        first = end


def _add_by_lengths(
    starts: Array,
    columns: Array,
    values: Array,
    dense: Array,
    out: Array,
    order: Array,
    lengths: Array,
    ends: list[int],
) -> None:
    """Compute `add_product` for the rows of each length at once.

    Args:
      starts: as in `add_product`.
      columns: as in `add_product`.
      values: as in `add_product`.
      dense: as in `add_product`.
      out: as in `add_product`.
      order: the rows from the shortest to the longest.
      lengths: the number of elements of each row, in this order.
      ends: the place in ``order`` after the last row of each length.
    """
    width = dense.shape[1]
    firsts = np.cumsum(lengths) - lengths
    # The elements of the rows in the order of their lengths.
    elements = np.repeat(starts[order] - firsts, lengths)
    elements += np.arange(len(elements))
    columns, values = columns[elements], values[elements]
    sums = np.empty(out.shape, out.dtype)
    begin = 0
    for end in ends:
        length = int(lengths[begin])
        at_once = max(1, _PIECE // (max(length, 1) * width))
        for row in range(begin, end, at_once):
            last = min(row + at_once, end)
            if not length:
                sums[row:last] = 0
                continue
            some = slice(int(firsts[row]), int(firsts[row]) + (last - row) * length)
            chosen = dense.take(columns[some], axis=0).reshape(last - row, length, width)
            factors = values[some].reshape(last - row, length)
            np.matmul(factors[:, None], chosen, out=sums[row:last, None])
        begin = end
    out[order] = sums
