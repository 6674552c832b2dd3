"""Compressed sparse rows: the value that SparseMatrix ops pass on, and functions of its parts.

A matrix, or a batch of them, is one variant. Each matrix of the batch has pointers (the start of
each row among its elements, and the end of the last one), and each element has a column and a
value. Elements of a row keep the order of the input. Matrices are immutable; ops return new ones.

Corresponds to TensorFlow's ``kernels/sparse/sparse_matrix.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.node_text import type_word
from tfnb.core.process.records import record, replace
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle
    from tfnb.core.tensor_shape import TensorShape

_INT32_MAX = 2**31 - 1


@record(frozen=True, slots=True, eq=False)
class CSRSparseMatrix:
    """One matrix, or a batch of them.

    Attributes:
      shape: [rows, columns], or [batch, rows, columns].
      batch_starts: the start of each matrix's elements, and the end of the last one's.
      row_starts: for each matrix of the batch the starts of its rows, counted from its first
        element.
      columns: the column of each element.
      values: the value of each element.
    """

    shape: tuple[int, ...]
    batch_starts: Array
    row_starts: Array
    columns: Array
    values: Array

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return dtypes.as_dtype(self.values.dtype)

    @property
    def num_matrices(self) -> int:
        """The number of matrices; 1 without a batch."""
        return len(self.batch_starts) - 1

    def parts(self, index: int) -> tuple[Array, Array, Array]:
        """Return (row starts, columns, values) of one matrix."""
        first, end = self.batch_starts[index : index + 2].tolist()
        return self.row_starts[index], self.columns[first:end], self.values[first:end]

    def matrices(self) -> Iterator[tuple[Array, Array, Array]]:
        """Return the parts of every matrix."""
        return map(self.parts, range(self.num_matrices))

    def rows(self) -> Array:
        """Return the row of each element."""
        return np.concatenate([rows_of(starts) for starts in self.row_starts])

    def matrix_numbers(self) -> Array:
        """Return the position in the batch of each element's matrix."""
        return rows_of(self.batch_starts)

    def with_values(self, values: Array) -> Self:
        """Return a matrix with other values at the same positions."""
        return replace(self, values=values)

    def zeros_like(self) -> CSRSparseMatrix:
        """Return a matrix of the same shape without elements."""
        return empty_matrix(self.shape, self.values.dtype)

    def conjugate(self) -> Self:
        """Return the complex conjugates at the same positions; NumPy's `conjugate` calls it."""
        return self.with_values(np.conj(self.values))

    def __add__(self, other: CSRSparseMatrix) -> CSRSparseMatrix:
        """Return the sum; it has the elements of both."""
        return weighted_sum(self, other, 1, 1)


def rows_of(starts: Array) -> Array:
    """Return the row of each element, given the starts of the rows.

    >>> rows_of(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def empty_matrix(shape: tuple[int, ...], dtype: np.dtype[Any]) -> CSRSparseMatrix:
    """Return a matrix without elements.

    Raises:
      InvalidArgumentError: a size is negative, or there are too many rows.
    """
    count, num_rows = _counts(shape)
    return CSRSparseMatrix(
        shape,
        np.zeros(count + 1, np.int32),
        np.zeros((count, num_rows + 1), np.int32),
        np.zeros(0, np.int32),
        np.zeros(0, dtype),
    )


def _counts(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return (number of matrices, rows of each), after a check that their pointers fit."""
    if len(shape) not in (2, 3):
        raise errors.invalid_argument(f"A sparse matrix has rank 2 or 3, not {len(shape)}")
    if min(shape) < 0:
        raise errors.invalid_argument(
            f"Expected shape dimensions to be non-negative, got {min(shape)}"
        )
    count = shape[0] if len(shape) == 3 else 1
    starts = count * (shape[-2] + 1)
    if starts > _INT32_MAX:
        raise errors.invalid_argument(
            "The csr row index size, computed based on the dense_shape, must be <= Int32Max, but "
            f"is too large. Current value is {starts}"
        )
    if shape[-1] > _INT32_MAX:
        raise errors.invalid_argument(f"The columns must be <= Int32Max, but are {shape[-1]}")
    check_fits(np, (count, shape[-2] + 1), np.dtype(np.int32))
    return count, shape[-2]


def matrix_of_indices(indices: Array, values: Array, shape: tuple[int, ...]) -> CSRSparseMatrix:
    """Return the matrix with these elements, sorted by batch and row.

    Args:
      indices: an array of int64, one row for each element.
      values: the values.
      shape: the sizes; every index must be inside.

    Raises:
      InvalidArgumentError: the shape is not that of a matrix, or the elements are not sorted by
        matrix.
    """
    count, num_rows = _counts(shape)
    numbers = indices[:, 0] if len(shape) == 3 else np.zeros(len(indices), np.int64)
    if (np.diff(numbers) < 0).any():
        raise errors.invalid_argument(
            "The indices of a batch of matrices must be in order: use tf.sparse.reorder"
        )
    per_row = np.bincount(numbers * num_rows + indices[:, -2], minlength=count * num_rows)
    starts = np.zeros((count, num_rows + 1), np.int32)
    np.cumsum(per_row.reshape(count, num_rows), axis=1, out=starts[:, 1:])
    batch_starts = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(numbers, minlength=count), out=batch_starts[1:])
    return CSRSparseMatrix(shape, batch_starts, starts, indices[:, -1].astype(np.int32), values)


def indices_of(matrix: CSRSparseMatrix) -> Array:
    """Return the indices of all elements: an int64 array with a row for each element."""
    parts = [matrix.rows(), matrix.columns]
    if len(matrix.shape) == 3:
        parts.insert(0, matrix.matrix_numbers())
    return np.stack(parts, axis=1).astype(np.int64)


def joined(shape: tuple[int, ...], parts: Iterable[tuple[Array, Array, Array]]) -> CSRSparseMatrix:
    """Return the batch of matrices with the given (row starts, columns, values)."""
    starts, columns, values = zip(*parts, strict=True)
    batch_starts = np.zeros(len(starts) + 1, np.int32)
    np.cumsum([len(one) for one in columns], out=batch_starts[1:])
    return CSRSparseMatrix(
        shape,
        batch_starts,
        np.stack(starts).astype(np.int32, copy=False),
        np.concatenate(columns).astype(np.int32, copy=False),
        np.concatenate(values),
    )


def transposed(matrix: CSRSparseMatrix, *, conjugate: bool = False) -> CSRSparseMatrix:
    """Return the matrix with rows and columns exchanged."""
    shape = (*matrix.shape[:-2], matrix.shape[-1], matrix.shape[-2])
    if not matrix.num_matrices:
        return empty_matrix(shape, matrix.values.dtype)
    num_rows = _counts(shape)[1]
    parts = []
    for starts, columns, values in matrix.matrices():
        order = np.argsort(columns, kind="stable")
        new_starts = np.zeros(num_rows + 1, np.int32)
        np.cumsum(np.bincount(columns, minlength=num_rows), out=new_starts[1:])
        moved = values[order]
        parts.append((new_starts, rows_of(starts)[order], np.conj(moved) if conjugate else moved))
    return joined(shape, parts)


def summed(
    rows: Array, columns: Array, values: Array, num_rows: int, num_columns: int
) -> tuple[Array, Array, Array]:
    """Return (row starts, columns, values) of unsorted elements, adding those at one position."""
    keys = rows.astype(np.int64) * num_columns + columns
    distinct, places = np.unique(keys, return_inverse=True)
    total = np.zeros(len(distinct), values.dtype)
    np.add.at(total, places, values)
    starts = np.zeros(num_rows + 1, np.int32)
    if len(distinct):
        np.cumsum(np.bincount(distinct // num_columns, minlength=num_rows), out=starts[1:])
        return starts, distinct % num_columns, total
    return starts, distinct, total


def weighted_sum(
    a: CSRSparseMatrix, b: CSRSparseMatrix, alpha: Array, beta: Array
) -> CSRSparseMatrix:
    """Return alpha a + beta b; it has the elements of both."""
    if a.shape != b.shape:
        raise errors.invalid_argument(
            f"Shapes of a and b must be the same: {shape_text(a.shape)} vs. {shape_text(b.shape)}"
        )
    if a.values.dtype != b.values.dtype:
        raise errors.invalid_argument(
            f"dtypes of a and b must be the same: {type_word(a.dtype)} vs. {type_word(b.dtype)}"
        )
    if not a.num_matrices:
        return a
    kind = a.values.dtype.type
    weights = kind(alpha), kind(beta)
    parts = []
    for one, other in zip(a.matrices(), b.matrices(), strict=True):
        rows = np.concatenate([rows_of(one[0]), rows_of(other[0])])
        columns = np.concatenate([one[1], other[1]])
        values = np.concatenate([weights[0] * one[2], weights[1] * other[2]])
        parts.append(summed(rows, columns, values, *a.shape[-2:]))
    return joined(a.shape, parts)


# ------------------------------------------------------------------------------- inputs and shapes


def matrix_input(handle: Handle) -> CSRSparseMatrix:
    """Return the matrix in an input.

    Raises:
      InvalidArgumentError: the input holds another value.
    """
    if isinstance(handle, CSRSparseMatrix):
        return handle
    found = shape_text(handle.shape) if hasattr(handle, "ndim") else type(handle).__name__
    raise errors.invalid_argument(
        f"Input is not a scalar that holds a CSRSparseMatrix. Saw: {found}"
    )


def check_type(matrix: CSRSparseMatrix, wanted: DType, name: str = "input") -> None:
    """Refuse a matrix of another type than the node declares."""
    if matrix.dtype is not wanted:
        raise errors.invalid_argument(
            f"dtype of {name} is not equal to 'type': {type_word(matrix.dtype)} vs. "
            f"{type_word(wanted)}"
        )


def static_matrix(c: InferenceContext, index: int) -> TensorShape:
    """Return the static shape of the matrix in an input.

    Raises:
      ValueError: nothing is known, or its rank is neither 2 nor 3.
    """
    c.with_rank(index, 0)
    data = c.input_handle_data(index)
    if not data or len(data) != 1:
        raise ValueError(f"Unable to access shape and type info from variant input {index}")
    shape = data[0][1]
    if shape.ndims is None or not 2 <= shape.ndims <= 3:
        rank = -1 if shape.ndims is None else shape.ndims
        raise ValueError(f"Shape must be at least rank 2 and at most rank 3 but is rank {rank}")
    return shape


def static_dims(c: InferenceContext, index: int) -> tuple[int | None, ...]:
    """Return the static sizes of the matrix in an input."""
    dims = static_matrix(c, index).dim_values
    assert dims is not None
    return dims


def holds_matrix(c: InferenceContext, dtype: DType, shape: TensorShape) -> TensorShape:
    """Set the handle data of the output: a matrix of this type and shape."""
    c.set_output_handle_data(0, [(dtype, shape)])
    return SCALAR_SHAPE


def check_known_rank(rank: int | None, what: str = "rank") -> None:
    """Refuse a matrix of unknown rank, which may or may not have a batch."""
    if rank not in (2, 3):
        raise ValueError(
            f"Invalid {what}: {-1 if rank is None else rank}.  "
            "Expected a known rank of either 2 or 3."
        )
