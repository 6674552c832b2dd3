"""Matrices with three diagonals: products, and solutions of equations.

Corresponds to TensorFlow's ``tridiagonal_matmul_op.cc`` and ``tridiagonal_solve_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_dims, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.linalg.matrices import require_matrices
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS: dict[str, list[str]] = {}


def _tridiagonal_solve_shape(c: InferenceContext) -> TensorShape:
    left, right = c.with_rank_at_least(0, 2).dim_values, c.with_rank_at_least(1, 2).dim_values
    if left is None or right is None:
        return c.inputs[1]
    batch = merge_shapes(TensorShape(left[:-2]), TensorShape(right[:-2])).dim_values
    assert batch is not None
    merge_dims(left[-2], 3)
    return TensorShape([*batch, merge_dims(left[-1], right[-2]), right[-1]])


def _pivoted(xp: Xp, diagonals: Array, rhs: Array, perturbs: bool) -> Array:
    """Solve by Gaussian elimination with exchanges of neighbouring rows."""
    above, main, below = (diagonals[..., i, :] for i in range(3))
    size = main.shape[-1]
    x = rhs.copy()
    upper = xp.zeros((3, *main.shape), main.dtype)  # the diagonal and the two above it
    upper[0, ..., 0] = main[..., 0]
    if size > 1:
        upper[1, ..., 0] = above[..., 0]
    singular = xp.zeros(main.shape[:-1], bool)
    tiny = np.finfo(main.dtype).tiny

    def pivot(i: int) -> Array:
        value = upper[0, ..., i]
        if perturbs:
            value = xp.where(abs(value) <= tiny, value.dtype.type(tiny), value)
            upper[0, ..., i] = value
        return value

    for i in range(size - 1):
        under = below[..., i + 1]
        stays = abs(upper[0, ..., i]) >= abs(under)
        first = xp.where(stays, pivot(i), under)
        singular |= first == 0
        factor = xp.where(stays, under, upper[0, ..., i]) / first
        second, third = upper[1, ..., i].copy(), above[..., i + 1]
        diagonal = main[..., i + 1]
        upper[0, ..., i] = first
        upper[0, ..., i + 1] = xp.where(
            stays, diagonal - factor * second, second - factor * diagonal
        )
        upper[1, ..., i] = xp.where(stays, second, diagonal)
        if i != size - 2:
            upper[1, ..., i + 1] = xp.where(stays, third, -factor * third)
            upper[2, ..., i] = xp.where(stays, 0, third)
        row, following = x[..., i, :].copy(), rhs[..., i + 1, :]
        kept, scale = stays[..., None], factor[..., None]
        x[..., i, :] = xp.where(kept, row, following)
        x[..., i + 1, :] = xp.where(kept, following - scale * row, row - scale * following)
    singular |= pivot(size - 1) == 0
    for i in range(size - 1, -1, -1):
        row = x[..., i, :]
        for further in (1, 2):
            if i + further < size:
                row = row - upper[further, ..., i, None] * x[..., i + further, :]
        x[..., i, :] = row / upper[0, ..., i, None]
    x[singular] = np.nan
    return x


def _unpivoted(xp: Xp, diagonals: Array, rhs: Array) -> Array:
    """Solve by Thomas's algorithm."""
    above, main, below = (diagonals[..., i, :] for i in range(3))
    size = main.shape[-1]
    x = rhs.copy()
    ratios = xp.zeros_like(main)
    singular = main[..., 0] == 0
    x[..., 0, :] /= main[..., 0, None]
    for i in range(1, size):
        ratios[..., i - 1] = above[..., i - 1] / _first_pivot(main, below, ratios, i - 1)
        divisor = main[..., i] - below[..., i] * ratios[..., i - 1]
        singular = singular | (divisor == 0)
        x[..., i, :] = (x[..., i, :] - below[..., i, None] * x[..., i - 1, :]) / divisor[..., None]
    for i in range(size - 2, -1, -1):
        x[..., i, :] -= ratios[..., i, None] * x[..., i + 1, :]
    x[singular] = np.nan
    return x


def _first_pivot(main: Array, below: Array, ratios: Array, i: int) -> Array:
    return main[..., i] - below[..., i] * ratios[..., i - 1] if i else main[..., 0]


@register_op(
    "TridiagonalSolve",
    "diagonals: T, rhs: T -> output: T",
    "partial_pivoting: bool = true",
    "perturb_singular: bool = false",
    "T: {double, float, complex64, complex128}",
    shape=_tridiagonal_solve_shape,
)
def tridiagonal_solve(
    xp: Xp, diagonals: Array, rhs: Array, *, partial_pivoting: bool, perturb_singular: bool
) -> Array:
    """Return the solutions of equations with tridiagonal matrices; NaN for singular ones.

    The rows of `diagonals` are the superdiagonal, whose last element is not read, the diagonal,
    and the subdiagonal, whose first element is not read.
    """
    if diagonals.ndim != rhs.ndim:
        raise errors.invalid_argument(
            "Expected diagonals and right-hand side to have the same rank, "
            f"got {diagonals.ndim} and {rhs.ndim}."
        )
    require_matrices(diagonals)
    if diagonals.shape[-2] != 3:
        raise errors.invalid_argument(
            "Expected diagonals to be provided as a matrix with 3 rows, "
            f"got {diagonals.shape[-2]} rows."
        )
    if diagonals.shape[-1] != rhs.shape[-2]:
        raise errors.invalid_argument(
            "Expected the same number of left-hand sides and right-hand sides, "
            f"got {diagonals.shape[-1]} and {rhs.shape[-2]}."
        )
    if diagonals.shape[:-2] != rhs.shape[:-2]:
        raise errors.invalid_argument("All input tensors must have the same outer dimensions.")
    if not rhs.size:
        return rhs
    if partial_pivoting:
        return _pivoted(xp, diagonals, rhs, perturb_singular)
    return _unpivoted(xp, diagonals, rhs)


def _batch_paddings(x: TensorLike, last: list[list[int]]) -> TensorResult:
    """Return paddings for the last axes, and none for the axes before them."""
    nothing = array_ops.zeros((array_ops.rank(x) - 2, 2), dtype=dtypes.int32)
    return array_ops.concat([nothing, array_ops.constant(last)], axis=0)


def _is_known(x: TensorLike) -> bool:
    dims = x.shape.dim_values
    return dims is not None and None not in dims


def _transposed(diagonals: TensorLike) -> TensorResult:
    """Return the diagonals of the transposed matrices."""
    main = diagonals[..., 1, :]
    if _is_known(diagonals):
        edge = array_ops.zeros([*diagonals.shape[:-2].as_list(), 1], dtype=diagonals.dtype)
        above = array_ops.concat((diagonals[..., 2, 1:], edge), axis=-1)
        below = array_ops.concat((edge, diagonals[..., 0, :-1]), axis=-1)
    else:
        nothing = array_ops.zeros((array_ops.rank(diagonals) - 2, 2), dtype=dtypes.int32)
        behind = array_ops.concat((nothing, array_ops.constant([[0, 1]])), axis=0)
        above = array_ops.pad(diagonals[..., 2, 1:], behind)
        before = array_ops.concat((nothing, array_ops.constant([[1, 0]])), axis=0)
        below = array_ops.pad(diagonals[..., 0, :-1], before)
    return array_ops.stack([above, main, below], axis=-2)


def _diagonals_of_product(x: TensorLike, y: TensorLike) -> TensorResult:
    """Return the three diagonals of x times y transposed."""
    main = math_ops.reduce_sum(x * y, axis=-1)
    if _is_known(y):
        *batch, _, columns = x.shape.as_list()
        edge = array_ops.zeros([*batch, 1, columns], dtype=x.dtype)
        lifted = array_ops.concat((y[..., 1:, :], edge), axis=-2)
        above = math_ops.reduce_sum(x * lifted, axis=-1)
        lowered = array_ops.concat((edge, y[..., :-1, :]), axis=-2)
        below = math_ops.reduce_sum(x * lowered, axis=-1)
    else:
        nothing = array_ops.zeros((array_ops.rank(y) - 2, 2), dtype=dtypes.int32)
        behind = array_ops.concat((nothing, array_ops.constant([[0, 1], [0, 0]])), axis=0)
        above = math_ops.reduce_sum(x * array_ops.pad(y[..., 1:, :], behind), axis=-1)
        before = array_ops.concat((nothing, array_ops.constant([[1, 0], [0, 0]])), axis=0)
        below = math_ops.reduce_sum(x * array_ops.pad(y[..., :-1, :], before), axis=-1)
    return array_ops.stack([above, main, below], axis=-2)


def _lifted(x: TensorLike) -> TensorResult:
    """Return the rows moved up by one place; the last row is zero."""
    paddings = _batch_paddings(x, [[0, 1], [0, 0]])
    return array_ops.pad(x[..., 1:, :], paddings)


def _lowered(x: TensorLike) -> TensorResult:
    """Return the rows moved down by one place; the first row is zero."""
    paddings = _batch_paddings(x, [[1, 0], [0, 0]])
    return array_ops.pad(x[..., :-1, :], paddings)


@tridiagonal_solve.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = {name: op.get_attr(name) for name in ("partial_pivoting", "perturb_singular")}
    grad_rhs = tridiagonal_solve(_transposed(op.inputs[0]), grad, **attrs)
    return -_diagonals_of_product(grad_rhs, op.outputs[0]), grad_rhs


def _tridiagonal_product_shape(c: InferenceContext) -> TensorShape:
    rhs = c.with_rank_at_least(3, 2).dim_values
    if rhs is None:
        return c.inputs[3]
    for index in range(3):
        dims = c.with_rank_at_least(index, 2).dim_values
        if dims is None:
            continue
        batch = merge_shapes(TensorShape(dims[:-2]), TensorShape(rhs[:-2])).dim_values
        assert batch is not None
        merge_dims(dims[-2], 1)
        rhs = (*batch, merge_dims(dims[-1], rhs[-2]), rhs[-1])
    return TensorShape(rhs)


@register_op(
    "TridiagonalMatMul",
    "superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T",
    "T: {double, float, complex64, complex128}",
    shape=_tridiagonal_product_shape,
)
def tridiagonal_mat_mul(
    xp: Xp, superdiag: Array, maindiag: Array, subdiag: Array, rhs: Array
) -> Array:
    """Return the products of tridiagonal matrices, given by three rows, and other matrices."""
    require_matrices(rhs, 3)
    wanted = (*rhs.shape[:-2], 1, rhs.shape[-2])
    for name, diagonal in (
        ("superdiagonal", superdiag),
        ("main diagonal", maindiag),
        ("subdiagonal", subdiag),
    ):
        if diagonal.shape != wanted:
            raise errors.invalid_argument(f"Invalid {name} shape.")
    result = maindiag.swapaxes(-1, -2) * rhs
    result[..., :-1, :] += superdiag.swapaxes(-1, -2)[..., :-1, :] * rhs[..., 1:, :]
    result[..., 1:, :] += subdiag.swapaxes(-1, -2)[..., 1:, :] * rhs[..., :-1, :]
    return result


@tridiagonal_mat_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    above, main, below = (
        array_ops.matrix_transpose(diagonal, conjugate=True) for diagonal in op.inputs[:3]
    )
    rhs = math_ops.conj(op.inputs[3])
    of_diagonals = [
        math_ops.reduce_sum(_lifted(rhs) * grad, axis=-1),
        math_ops.reduce_sum(rhs * grad, axis=-1),
        math_ops.reduce_sum(_lowered(rhs) * grad, axis=-1),
    ]
    of_rhs = _lowered(above * grad) + main * grad + _lifted(below * grad)
    return (*(array_ops.expand_dims(one, -2) for one in of_diagonals), of_rhs)
