"""Functions of matrices from which gradients of linear algebra are built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.array import array_ops
from tfnb.ops.linalg.matrix_decomposition_ops import cholesky
from tfnb.ops.linalg.matrix_solve_ops import matrix_triangular_solve as triangular_solve_op
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": ["cholesky_solve", "eye", "matrix_triangular_solve"],
    "linalg": [
        "adjoint",
        "cholesky_solve",
        "eye",
        "triangular_solve:matrix_triangular_solve",
    ],
}


@dispatchable
def adjoint(matrix: TensorLike, name: str | None = None) -> TensorResult:
    """Return the conjugate transposes of matrices."""
    with name_scope(name, "adjoint", [matrix]):
        matrix = convert_to_tensor(matrix, name="matrix")
        return array_ops.matrix_transpose(matrix, conjugate=True)


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> TensorResult:
    """Return unit matrices.

    Args:
      num_rows: the number of rows.
      num_columns: the number of columns; by default that of rows.
      batch_shape: the leading dimensions.
      dtype: the dtype.
      name: the name of the scope.
    """
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        is_square = num_columns is None
        batch: Any = [] if batch_shape is None else batch_shape
        columns = num_rows if is_square else num_columns
        size: TensorLike
        diagonal: TensorLike
        whole: Any
        if isinstance(num_rows, Tensor) or isinstance(columns, Tensor):
            size = math_ops.minimum(num_rows, columns)
        else:
            if not (isinstance(num_rows, _INTEGER) and isinstance(columns, _INTEGER)):
                raise TypeError(
                    "Arguments `num_rows` and `num_columns` must be positive integer values. "
                    f"Received: num_rows={num_rows}, num_columns={columns}"
                )
            is_square = num_rows == columns
            size = np.minimum(num_rows, columns)
        if isinstance(batch, Tensor) or isinstance(size, Tensor):
            batch = convert_to_tensor(batch, name="shape", dtype=dtypes.int32)
            diagonal = array_ops.concat((batch, [size]), axis=0)
            whole = None if is_square else array_ops.concat((batch, [num_rows, columns]), axis=0)
        else:
            batch = list(batch)
            diagonal, whole = [*batch, size], [*batch, num_rows, columns]
        ones = array_ops.ones(diagonal, dtype=dtype)
        if is_square:
            return array_ops.matrix_diag(ones)
        zeros = array_ops.zeros(whole, dtype=dtype)
        return array_ops.matrix_set_diag(zeros, ones)


_INTEGER = int | np.integer


def matrix_triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return the solutions of `matrix x = rhs` for triangular matrices."""
    with name_scope(name, "triangular_solve", [matrix, rhs]):
        return triangular_solve_op(matrix, rhs, lower=lower, adjoint=adjoint)


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> TensorResult:
    """Return the solutions of `A x = rhs`, given the Cholesky decomposition of A."""
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        y = triangular_solve_op(chol, rhs, adjoint=False, lower=True)
        return triangular_solve_op(chol, y, adjoint=True, lower=True)


def regularized_gramian_cholesky(
    matrix: TensorLike, l2_regularizer: TensorLike, *, first_kind: bool
) -> TensorResult:
    """Return the Cholesky decomposition of a regularized Gramian matrix.

    It is `A^H A + l2 I`, or `A A^H + l2 I` for the second kind.
    """
    gramian = math_ops.matmul(matrix, matrix, adjoint_a=first_kind, adjoint_b=not first_kind)
    if isinstance(l2_regularizer, Tensor) or l2_regularizer != 0:
        shape = array_ops.shape(matrix)
        which = -1 if first_kind else -2
        batch = shape[:-2]
        unit = eye(shape[which], batch_shape=batch, dtype=matrix.dtype)
        size = matrix.shape[which]
        unit.set_shape(matrix.shape[:-2].concatenate([size, size]))
        gramian += l2_regularizer * unit
    return cholesky(gramian)
