"""Products of matrices, cut into pieces that BLAS multiplies where they are.

OpenBLAS rearranges both matrices of a product into panels before it multiplies them.  If one side
of the result is short, this takes as long as the product.  On processors with AVX-512 it has
kernels for small products, which rearrange nothing; a larger product is faster as several of them:

* rows of a long first matrix, such as the patches of a convolution with few channels;
* columns of the second matrix, if the first one has few rows, as in a step of an RNN;
* parts of the inner dimension, if the result is small, as a gradient of a convolution's filter.

Pieces depend on the shapes only.  Sums are rounded as in any other order of BLAS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tfnb.core.process.blas import has_small_kernels
from tfnb.ops.base.large_arrays import takes_plain_ways
from tfnb.ops.base.products import HAS_BLAS, matmul

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp

    type_of_plan = tuple[Literal["rows", "columns", "inner"], int]

MOST_MULTIPLICATIONS: Final = 1_000_000
"""Products of more multiplications are rearranged by OpenBLAS."""

# The fewest rows of a piece of a transposed matrix, or of a product with at most `_NARROW` columns;
# and the fewest rows of a piece of a product with more columns.
_LEAST_ROWS, _NARROW, _LEAST_WIDE_ROWS = 24, 32, 96
# The most rows of a matrix that is not cut at its rows.
_MOST_SHORT = 48
# Pieces begin at multiples of these numbers, of which BLAS computes as many at once.
_ROW_UNIT, _COLUMN_UNIT = 8, 16
# The longest inner dimension for which rows of a transposed float32 matrix are pieces, unless the
# second matrix is narrow.
_MOST_INNER, _WIDE = 16, 64
# The same for stacks of matrices, of which a call multiplies all.
_LEAST_ROWS_OF_STACKS = 64
# The most elements of a result that is summed in parts.
_MOST_SUMMED = 1 << 13


def plan_of(a: Array, b: Array) -> type_of_plan | None:
    """Return what is cut of a product of two matrices, and the length of a piece.

    None if the product is faster, or as fast, in one piece.
    """
    if not _is_cut(a, b):
        return None
    (rows, inner), columns = a.shape, b.shape[1]
    at_once = MOST_MULTIPLICATIONS // (inner * columns) // _ROW_UNIT * _ROW_UNIT
    is_in_order = a.strides[1] == a.itemsize
    if not is_in_order and (a.strides[0] != a.itemsize or b.itemsize != 4):
        return None
    if is_in_order and at_once >= (_LEAST_ROWS if columns <= _NARROW else _LEAST_WIDE_ROWS):
        return "rows", _piece(rows, at_once, _ROW_UNIT)
    if rows * columns <= _MOST_SUMMED and inner > max(rows, columns):
        return "inner", _part_of_sum(inner, rows * columns)
    if at_once >= _LEAST_ROWS:
        suits = inner <= _MOST_INNER or (inner <= _WIDE and columns > _MOST_INNER)
        is_cut = suits and not is_in_order
        return ("rows", _piece(rows, at_once, _ROW_UNIT)) if is_cut else None
    wide = MOST_MULTIPLICATIONS // (rows * inner) // _COLUMN_UNIT * _COLUMN_UNIT
    if is_in_order and rows <= _MOST_SHORT and wide:
        return "columns", _piece(columns, wide, _COLUMN_UNIT)
    return None


def _is_cut(a: Array, b: Array) -> bool:
    """Return whether matrices, or stacks of them, may be multiplied in pieces."""
    (rows, inner), columns = a.shape[-2:], b.shape[-1]
    return (
        rows * inner * columns > MOST_MULTIPLICATIONS
        and rows > 1
        and inner > 1
        and columns > 1
        and a.dtype.char in "fd"
        and a.dtype == b.dtype
        and b.strides[-1] == b.itemsize
        and not takes_plain_ways()
        and HAS_BLAS
        and has_small_kernels()
    )


def _piece(length: int, most: int, unit: int) -> int:
    """Return the length of equal pieces, a multiple of a number, as the most is."""
    parts = -(-length // most)
    return -(-length // (parts * unit)) * unit


def _part_of_sum(inner: int, size: int) -> int:
    """Return the length of parts of the inner dimension for a result of a size."""
    # Not above the limit, below which the parts of a result that is divided among threads are, too:
    # kernels round otherwise on its other side.
    return _piece(inner, MOST_MULTIPLICATIONS // size // _ROW_UNIT * _ROW_UNIT, _ROW_UNIT)


def multiply(a: Array, b: Array, out: Array | None = None) -> Array:
    """Return ``a @ b`` of two matrices, in `out` if that is given."""
    plan = plan_of(a, b)
    if plan is None:
        if out is None:
            # `dot` has less overhead than `matmul`.
            return a.dot(b) if HAS_BLAS else matmul(a, b)
        return matmul(a, b, out=out)
    if out is None:
        out = np.empty((len(a), b.shape[1]), a.dtype)
    multiply_by(plan, a, b, out)
    return out


def multiply_of(xp: Xp) -> Callable[..., Array]:
    """Return the product of two matrices of an array module: :func:`multiply` for NumPy."""
    return multiply if xp is np else xp.matmul


def multiply_by(plan: type_of_plan, a: Array, b: Array, out: Array) -> None:
    """Write ``a @ b`` into `out` in the pieces of a plan."""
    cut, size = plan
    if cut == "rows":
        # One call multiplies all pieces, and returns to the interpreter once.
        pieces = len(a) // size
        whole = pieces * size
        stack, made = (x[:whole].reshape(pieces, size, -1) for x in (a, out))
        np.matmul(stack, b, out=made)
        if whole < len(a):
            np.matmul(a[whole:], b, out=out[whole:])
    elif cut == "columns":
        for first in range(0, b.shape[1], size):
            some = slice(first, first + size)
            np.matmul(a, b[:, some], out=out[:, some])
    else:
        np.matmul(a[:, :size], b[:size], out=out)
        part = np.empty(out.shape, out.dtype)
        for first in range(size, len(b), size):
            some = slice(first, first + size)
            np.matmul(a[:, some], b[some], out=part)
            out += part


def multiply_stacks(a: Array, b: Array, out: Array | None = None) -> Array:
    """Return ``a @ b`` of stacks of matrices with equal leading dimensions."""
    if not _is_cut(a, b):
        return matmul(a, b, out=out)
    (rows, inner), columns = a.shape[-2:], b.shape[-1]
    is_in_order = a.strides[-1] == a.itemsize
    at_once = MOST_MULTIPLICATIONS // (inner * columns) // _ROW_UNIT * _ROW_UNIT
    if out is None:
        out = np.empty((*a.shape[:-1], columns), a.dtype)
    if is_in_order and at_once >= _LEAST_ROWS_OF_STACKS:
        size = _piece(rows, at_once, _ROW_UNIT)
        for first in range(0, rows, size):
            some = slice(first, first + size)
            np.matmul(a[..., some, :], b, out=out[..., some, :])
    elif rows * columns <= _MOST_SUMMED and inner > max(rows, columns):
        size = _part_of_sum(inner, rows * columns)
        np.matmul(a[..., :size], b[..., :size, :], out=out)
        for first in range(size, inner, size):
            some = slice(first, first + size)
            out += np.matmul(a[..., some], b[..., some, :])
    else:
        np.matmul(a, b, out=out)
    return out
