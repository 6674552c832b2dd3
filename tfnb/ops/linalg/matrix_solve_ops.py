"""Inverses, determinants and solutions of systems of linear equations.

Every op takes matrices in the last two dimensions; the leading ones are batches.
float16 and bfloat16 are computed in float32. Corresponds to TensorFlow's ``matrix_*_op.cc``,
``determinant_op.cc`` and ``tridiagonal_*_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    broadcast_shapes,
    merge_dims,
    merge_shapes,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.linalg.matrices import (
    adjoint,
    identity,
    in_float32,
    require_matrices,
    require_square,
    square_dims,
    square_shape,
)
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "tf": ["matrix_determinant", "matrix_inverse", "matrix_solve"],
    "linalg": [
        "det:matrix_determinant",
        "inv:matrix_inverse",
        "slogdet:log_matrix_determinant",
        "solve:matrix_solve",
    ],
}

_TYPES = "T: {double, float, half, complex64, complex128}"

# -------------------------------------------------------------------------- inverse and determinant


def _inverse(xp: Xp, a: Array) -> Array:
    try:
        result = xp.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise errors.invalid_argument("Input is not invertible.") from None
    if xp is np and np.isnan(a).any():
        raise errors.invalid_argument("Input is not invertible.")
    return result


@register_op(
    "MatrixInverse", "input: T -> output: T", "adjoint: bool = false", _TYPES, shape=square_shape
)
def matrix_inverse(xp: Xp, input: Array, *, adjoint: bool) -> Array:
    """Return the inverses of square matrices, or of their adjoints.

    Raises:
      InvalidArgumentError: a matrix is not invertible.
    """
    require_square(input)
    return in_float32(lambda a: _inverse(xp, a), _adjoint(xp, input) if adjoint else input)


_adjoint = adjoint  # the attr's name hides it


@matrix_inverse.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    inverse, flips = op.outputs[0], op.get_attr("adjoint")
    inner = math_ops.matmul(grad, inverse, adjoint_a=flips, adjoint_b=not flips)
    return -math_ops.matmul(inverse, inner, adjoint_a=not flips)


def _log_determinant(xp: Xp, a: Array) -> tuple[Array, Array]:
    sign, magnitude = xp.linalg.slogdet(a)
    invalid = xp.isnan(a).any(axis=(-2, -1))  # LAPACK may not detect them
    sign, magnitude = xp.where(invalid, np.nan, sign), xp.where(invalid, np.nan, magnitude)
    return sign.astype(a.dtype), magnitude.astype(a.dtype)


def _determinant_shape(c: InferenceContext) -> TensorShape:
    found = square_dims(c)
    return UNKNOWN_SHAPE if found is None else TensorShape(found[0])


@register_op(
    "MatrixDeterminant",
    "input: T -> output: T",
    "T: {half, float, double, complex64, complex128}",
    shape=_determinant_shape,
)
def matrix_determinant(xp: Xp, input: Array) -> Array:
    """Return the determinants of square matrices."""
    require_square(input)

    def determinant(a: Array) -> Array:
        sign, magnitude = _log_determinant(xp, a)
        return sign * xp.exp(magnitude)

    return in_float32(determinant, input)


def _times_inverse(
    op: Operation, grad: Tensor, batch: TensorLike, factor: TensorLike | None = None
) -> TensorResult:
    inverse = matrix_inverse(op.inputs[0], adjoint=True)
    factors = grad if factor is None else grad * factor
    shape = array_ops.concat([array_ops.shape(batch), [1, 1]], 0)
    return array_ops.reshape(factors, shape) * inverse


@matrix_determinant.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _times_inverse(op, grad, op.outputs[0], op.outputs[0])


def _log_determinant_shape(c: InferenceContext) -> list[TensorShape]:
    return [_determinant_shape(c)] * 2


@register_op(
    "LogMatrixDeterminant",
    "input: T -> sign: T, log_abs_determinant: T",
    "T: {half, float, double, complex64, complex128}",
    shape=_log_determinant_shape,
)
def log_matrix_determinant(xp: Xp, input: Array) -> tuple[Array, Array]:
    """Return the signs of determinants and the logarithms of their absolute values."""
    require_square(input)
    result: tuple[Array, Array] = in_float32(lambda a: _log_determinant(xp, a), input)
    return result


@log_matrix_determinant.gradient
def _(op: Operation, grad_sign: Tensor, grad_magnitude: Tensor) -> Gradients:
    return _times_inverse(op, grad_magnitude, op.outputs[1])


# ---------------------------------------------------------------------------------------- equations


def _solution_shape(c: InferenceContext, *, is_square: bool) -> TensorShape:
    left, right = c.with_rank_at_least(0, 2).dim_values, c.with_rank_at_least(1, 2).dim_values
    if left is None and right is None:
        return UNKNOWN_SHAPE
    unknown = (None,) * len(left or right or ())
    left, right = left or unknown, right or unknown
    batch = merge_shapes(TensorShape(left[:-2]), TensorShape(right[:-2])).dim_values
    assert batch is not None
    rows = merge_dims(left[-2], right[-2])
    columns = merge_dims(rows, left[-1]) if is_square else left[-1]
    return TensorShape([*batch, columns, right[-1]])


def _square_solution_shape(c: InferenceContext) -> TensorShape:
    return _solution_shape(c, is_square=True)


def _require_equations(matrix: Array, rhs: Array) -> None:
    if matrix.ndim != rhs.ndim:
        raise errors.invalid_argument("All input tensors must have the same rank.")
    require_matrices(matrix)
    if matrix.shape[:-2] != rhs.shape[:-2]:
        raise errors.invalid_argument("All input tensors must have the same outer dimensions.")
    if matrix.shape[-2] != rhs.shape[-2]:
        raise errors.invalid_argument("Input matrix and rhs are incompatible.")


@register_op(
    "MatrixSolve",
    "matrix: T, rhs: T -> output: T",
    "adjoint: bool = false",
    _TYPES,
    shape=_square_solution_shape,
)
def matrix_solve(xp: Xp, matrix: Array, rhs: Array, *, adjoint: bool) -> Array:
    """Return the solutions x of `matrix x = rhs`.

    Raises:
      InvalidArgumentError: a matrix is not invertible.
    """
    if matrix.ndim == rhs.ndim and matrix.ndim >= 2 and matrix.shape[-1] != matrix.shape[-2]:
        raise errors.invalid_argument("First input (lhs) must be a square matrix.")
    _require_equations(matrix, rhs)

    def solve(a: Array, b: Array) -> Array:
        try:
            return xp.linalg.solve(a, b)
        except np.linalg.LinAlgError:
            raise errors.invalid_argument("Input matrix is not invertible.") from None

    return in_float32(solve, _adjoint(xp, matrix) if adjoint else matrix, rhs)


@matrix_solve.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    flips, solution = op.get_attr("adjoint"), op.outputs[0]
    grad_rhs = matrix_solve(op.inputs[0], grad, adjoint=not flips)
    return _matrix_gradient(grad_rhs, solution, flips), grad_rhs


def _matrix_gradient(grad_rhs: TensorLike, solution: TensorLike, flips: bool) -> Any:
    if flips:
        return -math_ops.matmul(solution, grad_rhs, adjoint_b=True)
    return -math_ops.matmul(grad_rhs, solution, adjoint_b=True)


def _forward(xp: Xp, lower: Array, x: Array) -> None:
    """Replace x by the solution of `lower y = x`."""
    size = lower.shape[-1]
    if size > 16:
        half = size // 2
        _forward(xp, lower[..., :half, :half], x[..., :half, :])
        x[..., half:, :] -= xp.matmul(lower[..., half:, :half], x[..., :half, :])
        _forward(xp, lower[..., half:, half:], x[..., half:, :])
        return
    for i in range(size):
        row = x[..., i, :]
        if i:
            above = xp.matmul(lower[..., i : i + 1, :i], x[..., :i, :])
            row -= above[..., 0, :]
        row /= lower[..., i, i, None]


def _triangular_solution(xp: Xp, matrix: Array, rhs: Array, lower: bool, flips: bool) -> Array:
    if flips:
        matrix, lower = adjoint(xp, matrix), not lower
    batch = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    x = xp.empty((*batch, *rhs.shape[-2:]), rhs.dtype)
    if lower:
        x[...] = rhs
        _forward(xp, matrix, x)
        return x
    # Read backwards, an upper triangle is a lower one.
    x[...] = rhs[..., ::-1, :]
    _forward(xp, matrix[..., ::-1, ::-1], x)
    return x[..., ::-1, :]


def _require_triangular(matrix: Array, rhs: Array, size: int) -> None:
    for index, array in enumerate((matrix, rhs)):
        if array.ndim < 2:
            raise errors.invalid_argument(f"In[{index}] ndims must be >= 2: {array.ndim}")
    if size != rhs.shape[-2]:
        raise errors.invalid_argument(
            f"In[0] mismatch In[1] shape: {size} vs. {rhs.shape[-2]}: "
            f"{shape_text(matrix.shape)} {shape_text(rhs.shape)}"
        )
    try:
        np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    except ValueError:
        raise errors.invalid_argument(
            "In[0] and In[1] must have compatible batch dimensions: "
            f"{shape_text(matrix.shape)} vs. {shape_text(rhs.shape)}"
        ) from None


def _solved_shape(left: Any, right: Any, size: int | None) -> TensorShape:
    batch = broadcast_shapes(TensorShape(left[:-2]), TensorShape(right[:-2])).dim_values
    return UNKNOWN_SHAPE if batch is None else TensorShape([*batch, size, right[-1]])


def _triangular_shape(c: InferenceContext) -> TensorShape:
    left, right = c.with_rank_at_least(0, 2).dim_values, c.with_rank_at_least(1, 2).dim_values
    if left is None or right is None:
        return UNKNOWN_SHAPE
    size = merge_dims(merge_dims(left[-2], left[-1]), right[-2])
    return _solved_shape(left, right, size)


@register_op(
    "MatrixTriangularSolve",
    "matrix: T, rhs: T -> output: T",
    "lower: bool = true",
    "adjoint: bool = false",
    "T: {bfloat16, double, float, half, complex64, complex128}",
    shape=_triangular_shape,
)
def matrix_triangular_solve(
    xp: Xp, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool
) -> Array:
    """Return the solutions of equations whose matrices are triangular.

    The other triangle is not read.
    """
    if matrix.ndim >= 2 and matrix.shape[-1] != matrix.shape[-2]:
        raise errors.invalid_argument(
            "In[0] matrices in the last dimensions must be square "
            f"({matrix.shape[-1]} =/= {matrix.shape[-2]})"
        )
    _require_triangular(matrix, rhs, matrix.shape[-1] if matrix.ndim else 0)
    return in_float32(lambda a, b: _triangular_solution(xp, a, b, lower, adjoint), matrix, rhs)


def _sum_batches(
    op: Operation, grad_matrix: Tensor, grad_rhs: Tensor
) -> tuple[TensorResult, TensorResult]:
    """Return gradients summed over the leading dimensions along which an input was repeated."""
    matrix, rhs = op.inputs
    dims, other = matrix.shape.dim_values, rhs.shape.dim_values
    if (
        dims is not None
        and other is not None
        and None not in dims + other
        and dims[:-2] == other[:-2]
    ):
        return grad_matrix, grad_rhs
    shapes = array_ops.shape(matrix), array_ops.shape(rhs)
    axes = array_ops.broadcast_gradient_args(shapes[0][:-2], shapes[1][:-2])
    return (
        array_ops.reshape(math_ops.reduce_sum(grad_matrix, axes[0]), shapes[0]),
        array_ops.reshape(math_ops.reduce_sum(grad_rhs, axes[1]), shapes[1]),
    )


@matrix_triangular_solve.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.linalg import matrix_functions

    flips, lower = op.get_attr("adjoint"), op.get_attr("lower")
    solve = matrix_functions.matrix_triangular_solve
    grad_rhs = solve(op.inputs[0], grad, lower=lower, adjoint=not flips)
    full = _matrix_gradient(grad_rhs, op.outputs[0], flips)
    grad_matrix = array_ops.matrix_band_part(full, *((-1, 0) if lower else (0, -1)))
    return _sum_batches(op, grad_matrix, grad_rhs)


def _banded_shape(c: InferenceContext) -> TensorShape:
    left, right = c.with_rank_at_least(0, 2).dim_values, c.with_rank_at_least(1, 2).dim_values
    if left is None or right is None:
        return UNKNOWN_SHAPE
    bands, size = left[-2], merge_dims(left[-1], right[-2])
    if bands == 0:
        raise ValueError("Number of bands must be positive, but is 0")
    if bands is not None and size is not None and bands > size:
        raise ValueError(f"Number of bands {bands} cannot exceed the size of the matrix {size}")
    return _solved_shape(left, right, size)


@register_op(
    "BandedTriangularSolve",
    "matrix: T, rhs: T -> output: T",
    "lower: bool = true",
    "adjoint: bool = false",
    _TYPES,
    shape=_banded_shape,
)
def banded_triangular_solve(
    xp: Xp, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool
) -> Array:
    """Return the solutions of equations with banded triangular matrices.

    The rows of `matrix` are the diagonals: the main one first for lower triangles, last for upper.
    """
    _require_triangular(matrix, rhs, matrix.shape[-1] if matrix.ndim else 0)
    for position, value in enumerate((matrix, rhs)):
        if not value.size:
            raise errors.invalid_argument(
                f"In[{position}] must not be an empty tensor: {shape_text(value.shape)}"
            )
    bands, size = matrix.shape[-2:]
    main = matrix[..., 0 if lower else bands - 1, :]
    if not (abs(main) > 0).all():
        raise errors.invalid_argument("Input matrix is not invertible.")
    dense = xp.zeros((*matrix.shape[:-2], size, size), matrix.dtype)
    for offset in range(min(bands, size)):
        rows = xp.arange(size - offset)
        if lower:
            dense[..., rows + offset, rows] = matrix[..., offset, offset:]
        else:
            dense[..., rows, rows + offset] = matrix[..., bands - 1 - offset, : size - offset]
    return in_float32(lambda a, b: _triangular_solution(xp, a, b, lower, adjoint), dense, rhs)


@banded_triangular_solve.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    flips, lower = op.get_attr("adjoint"), op.get_attr("lower")
    bands = array_ops.shape(op.inputs[0])[-2]
    grad_rhs = banded_triangular_solve(op.inputs[0], grad, lower=lower, adjoint=not flips)
    full = _matrix_gradient(grad_rhs, op.outputs[0], flips)
    k = (-(bands - 1), 0) if lower else (0, bands - 1)
    grad_matrix = array_ops.matrix_diag_part(full, k=k, align="LEFT_RIGHT")
    return _sum_batches(op, grad_matrix, grad_rhs)


# ------------------------------------------------------------------------------------ least squares


def _least_squares_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(2, 0)
    return _solution_shape(c, is_square=False)


def _normal_equations(xp: Xp, a: Array, b: Array, regularizer: float) -> Array:
    flipped = adjoint(xp, a)
    is_tall = a.shape[-2] >= a.shape[-1]
    gramian = xp.matmul(flipped, a) if is_tall else xp.matmul(a, flipped)
    if regularizer:
        gramian = gramian + a.dtype.type(regularizer) * identity(xp, a, gramian.shape[-1])
    if not xp.isfinite(gramian).all():
        return xp.full((*b.shape[:-2], a.shape[-1], b.shape[-1]), np.nan, b.dtype)
    try:
        xp.linalg.cholesky(gramian)
        if is_tall:
            return xp.linalg.solve(gramian, xp.matmul(flipped, b))
        return xp.matmul(flipped, xp.linalg.solve(gramian, b))
    except np.linalg.LinAlgError:
        raise errors.invalid_argument(
            "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide "
            "a larger l2_regularizer > 0."
        ) from None


@register_op(
    "MatrixSolveLs",
    "matrix: T, rhs: T, l2_regularizer: double -> output: T",
    _TYPES,
    "fast: bool = true",
    shape=_least_squares_shape,
)
def matrix_solve_ls_op(
    xp: Xp, matrix: Array, rhs: Array, l2_regularizer: Array, *, fast: bool
) -> Array:
    """Return the solutions of `matrix x = rhs` with the smallest sum of squared errors.

    If several exist, the result is the one of least norm.
    """
    _require_equations(matrix, rhs)
    if l2_regularizer.ndim:
        raise errors.invalid_argument(
            f"l2_regularizer must be scalar, got shape {shape_text(l2_regularizer.shape)}"
        )
    regularizer = float(l2_regularizer)
    if not regularizer >= 0:
        raise errors.invalid_argument("l2_regularizer must be >= 0.")
    if 0 in matrix.shape or 0 in rhs.shape:
        return xp.zeros((*rhs.shape[:-2], matrix.shape[-1], rhs.shape[-1]), rhs.dtype)
    if fast:
        return in_float32(lambda a, b: _normal_equations(xp, a, b, regularizer), matrix, rhs)
    return in_float32(lambda a, b: _complete_orthogonal(xp, a, b).astype(a.dtype), matrix, rhs)


def _complete_orthogonal(xp: Xp, a: Array, b: Array) -> Array:
    # With infinities or NaN the rank is 0, and LAPACK may never return.
    valid = xp.isfinite(a).all(axis=(-2, -1), keepdims=True)
    found = xp.matmul(xp.linalg.pinv(xp.where(valid, a, 0)), b)
    return xp.where(valid, found, 0)


@matrix_solve_ls_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    if not op.get_attr("fast"):
        raise ValueError("Gradient not defined for fast=False")
    dims = op.inputs[0].shape.dim_values
    rows, columns = (None, None) if dims is None else dims[-2:]
    if rows is not None and columns is not None:
        return _tall_gradient(op, grad) if rows >= columns else _wide_gradient(op, grad)
    rows_columns = array_ops.shape(op.inputs[0])[-2:]
    return provided.cond(
        rows_columns[-2] >= rows_columns[-1],
        lambda: _tall_gradient(op, grad),
        lambda: _wide_gradient(op, grad),
    )


def _tall_gradient(op: Operation, grad: Tensor) -> tuple[Any, Any, None]:
    from tfnb.ops.linalg import matrix_functions

    a, b, x = op.inputs[0], op.inputs[1], op.outputs[0]
    regularizer = math_ops.cast(op.inputs[2], a.dtype.base_dtype)
    chol = matrix_functions.regularized_gramian_cholesky(a, regularizer, first_kind=True)
    z = matrix_functions.cholesky_solve(chol, grad)
    product = math_ops.matmul(x, z, adjoint_b=True)
    symmetric = product + array_ops.matrix_transpose(product)
    grad_a = -math_ops.matmul(a, symmetric) + math_ops.matmul(b, z, adjoint_b=True)
    return grad_a, math_ops.matmul(a, z), None


def _wide_gradient(op: Operation, grad: Tensor) -> tuple[Any, Any, None]:
    from tfnb.ops.linalg import matrix_functions

    a, b = op.inputs[0], op.inputs[1]
    regularizer = math_ops.cast(op.inputs[2], a.dtype.base_dtype)
    chol = matrix_functions.regularized_gramian_cholesky(a, regularizer, first_kind=False)
    grad_b = matrix_functions.cholesky_solve(chol, math_ops.matmul(a, grad))
    solved = matrix_functions.cholesky_solve(chol, b)
    first = -math_ops.matmul(grad_b, math_ops.matmul(solved, a, adjoint_a=True))
    rest = grad - math_ops.matmul(a, grad_b, adjoint_a=True)
    return first + math_ops.matmul(solved, rest, adjoint_b=True), grad_b, None
