"""Cholesky factors of compressed sparse rows, and orders of rows that keep the factors sparse.

Corresponds to TensorFlow's ``kernels/sparse/sparse_cholesky_op.cc`` and
``sparse_ordering_amd_op.cc``. Only the lower triangle of the input is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.sparse_matrix.minimum_degree import minimum_degree_order
from tfnb.ops.sparse_matrix.sparse_matrix import (
    CSRSparseMatrix,
    empty_matrix,
    holds_matrix,
    joined,
    matrix_input,
    rows_of,
    static_dims,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Variant, Xp

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_NONE = -1


def _check_square(matrix: CSRSparseMatrix) -> int:
    rows, columns = matrix.shape[-2:]
    if rows != columns:
        raise errors.invalid_argument(f"sparse matrix must be square; got: {rows} != {columns}")
    return rows


def _lower_triangle(part: Array) -> tuple[Array, Array, Array]:
    """Return (rows, columns, values) of the elements on and below the diagonal."""
    starts, columns, values = part
    rows = rows_of(starts)
    kept = columns <= rows
    return rows[kept], columns[kept], values[kept]


# ------------------------------------------------------------------------------------------- order


def _order_shape(c: InferenceContext) -> TensorShape:
    *batch, rows, columns = static_dims(c, 0)
    return TensorShape([*batch, merge_dims(rows, columns)])


@register_op(
    "SparseMatrixOrderingAMD", "input: variant -> output: int32", shape=_order_shape, **_CPU
)
def sparse_matrix_ordering_amd(xp: Xp, input: Variant) -> Array:
    """Return the approximate minimum degree order of the rows of each matrix."""
    matrix = matrix_input(input)
    size = _check_square(matrix)
    check_fits(np, (matrix.num_matrices, size, 8), np.dtype(np.int64))
    orders = [minimum_degree_order(_neighbours(part, size)) for part in matrix.matrices()]
    return np.array(orders, np.int32).reshape(matrix.shape[:-1])


sparse_matrix_ordering_amd.not_differentiable()


def _neighbours(part: Array, size: int) -> list[list[int]]:
    """Return the neighbours of each node, in rising order."""
    rows, columns, _ = _lower_triangle(part)
    below = rows != columns
    ends = np.concatenate([rows, columns[below]]), np.concatenate([columns, rows[below]])
    order = np.lexsort(ends[::-1])
    counts = np.bincount(ends[0], minlength=size)
    return (
        [one.tolist() for one in np.split(ends[1][order], np.cumsum(counts)[:-1])] if size else []
    )


# ---------------------------------------------------------------------------------------- Cholesky


def _cholesky_shape(c: InferenceContext) -> TensorShape:
    *batch, rows, columns = static_dims(c, 0)
    merge_dims(rows, columns)
    order = c.with_rank_at_least(1, 1)
    order = c.with_rank_at_most(1, 2)
    if order.dim_values is not None and len(order.dim_values) == len(batch) + 1:
        for size, given in zip((*batch, merge_dims(rows, columns)), order.dim_values, strict=True):
            merge_dims(size, given)
    return holds_matrix(c, c.attr("type"), TensorShape([*batch, rows, columns]))


@register_op(
    "SparseMatrixSparseCholesky",
    "input: variant, permutation: int32 -> output: variant",
    "type: {float, double, complex64, complex128}",
    shape=_cholesky_shape,
    **_CPU,
)
def sparse_matrix_sparse_cholesky(
    xp: Xp, input: Variant, permutation: Array, *, type: DType
) -> Variant:
    """Return the lower Cholesky factor of each matrix.

    Its rows and columns are first reordered by the permutation.
    """
    matrix = matrix_input(input)
    if matrix.dtype is not type:
        raise errors.invalid_argument(
            f"Asked for a CSRSparseMatrix of type {type_word(type)} but saw dtype: "
            f"{type_word(matrix.dtype)}"
        )
    size = _check_square(matrix)
    rank = len(matrix.shape)
    if rank != permutation.ndim + 1:
        raise errors.invalid_argument(
            "sparse matrix must have the same rank as permutation; got: "
            f"{rank} != {permutation.ndim} + 1."
        )
    if permutation.shape[-1] != size:
        raise errors.invalid_argument(
            "permutation must have the same number of elements in each batch as the number of "
            f"rows in sparse matrix; got: {permutation.shape[-1]} != {size}"
        )
    orders = permutation.reshape(-1, size)
    if rank == 3 and len(permutation) != matrix.num_matrices:
        raise errors.invalid_argument(
            "permutation must have the same batch size as sparse matrix; got: "
            f"{len(permutation)} != {matrix.num_matrices}"
        )
    if not matrix.num_matrices:
        return empty_matrix(matrix.shape, matrix.values.dtype)
    parts = []
    for index, part in enumerate(matrix.matrices()):
        order = orders[index]
        if not np.array_equal(np.sort(order), np.arange(size)):
            raise errors.invalid_argument(
                f"permutation of batch index {index} must have each of the numbers 0 to "
                f"{size - 1} once"
            )
        factor = _factor(*_permuted(part, order, size), size)
        if factor is None:
            raise errors.invalid_argument(
                f"Sparse Cholesky factorization failed for batch index {index}. The input might "
                "not be valid."
            )
        parts.append(factor)
    return joined(matrix.shape, parts)


def _permuted(part: Array, order: Array, size: int) -> tuple[Array, Array, Array]:
    """Return (row starts, columns, values) of the lower triangle after reordering."""
    rows, columns, values = _lower_triangle(part)
    place = np.empty(size, np.int64)
    place[order] = np.arange(size)
    rows, columns = place[rows], place[columns]
    above = columns > rows
    values = np.where(above, np.conj(values), values)
    rows, columns = np.maximum(rows, columns), np.minimum(rows, columns)
    sorting = np.lexsort((columns, rows))
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=starts[1:])
    return starts, columns[sorting], values[sorting]


def _pattern_of_factor(starts: Array, columns: Array, size: int) -> list[list[int]]:
    """Return the columns of each row of the factor left of the diagonal.

    A row has an element at every node of the elimination tree to which a path leads from one of its
    elements.
    """
    parent, mark = [_NONE] * size, [_NONE] * size
    pattern = []
    ends, wanted = starts.tolist(), columns.tolist()
    for row in range(size):
        mark[row] = row
        found = []
        for column in wanted[ends[row] : ends[row + 1]]:
            while mark[column] != row:
                if parent[column] == _NONE:
                    parent[column] = row
                mark[column] = row
                found.append(column)
                column = parent[column]
        pattern.append(sorted(found))
    return pattern


def _factor(
    starts: Array, columns: Array, values: Array, size: int
) -> tuple[Array, Array, Array] | None:
    """Return (row starts, columns, values) of the factor, computed row by row.

    None if the matrix is not positive definite.
    """
    pattern = _pattern_of_factor(starts, columns, size)
    lengths = np.array([len(one) + 1 for one in pattern], np.int64)
    out_starts = np.zeros(size + 1, np.int64)
    np.cumsum(lengths, out=out_starts[1:])
    total = int(out_starts[-1])
    check_fits(np, (total, 4), np.dtype(np.complex128))
    out_columns, out_values = np.empty(total, np.int32), np.empty(total, values.dtype)
    # Stored by columns, for subtraction: below the diagonal, filled as rows are computed.
    in_column = np.bincount([one for row in pattern for one in row], minlength=size).astype(int)
    column_starts = np.concatenate([[0], np.cumsum(in_column)])
    column_rows = np.empty(int(column_starts[-1]), np.int64)
    column_values = np.empty(int(column_starts[-1]), values.dtype)
    filled = column_starts[:-1].tolist()
    begins = column_starts.tolist()
    diagonal = np.empty(size, values.dtype)
    work = np.zeros(size, values.dtype)
    for row in range(size):
        own = slice(int(starts[row]), int(starts[row + 1]))
        np.add.at(work, columns[own], values[own])
        rest = work[row].real
        work[row] = 0
        first = int(out_starts[row])
        for place, column in enumerate(pattern[row], first):
            found = work[column] / diagonal[column]
            work[column] = 0
            above = slice(begins[column], filled[column])
            work[column_rows[above]] -= found * np.conj(column_values[above])
            rest -= (found * np.conj(found)).real
            column_rows[filled[column]] = row
            column_values[filled[column]] = found
            filled[column] += 1
            out_columns[place], out_values[place] = column, found
        if rest <= 0:
            return None
        diagonal[row] = np.sqrt(rest)
        last = int(out_starts[row + 1]) - 1
        out_columns[last], out_values[last] = row, diagonal[row]
    return out_starts, out_columns, out_values
