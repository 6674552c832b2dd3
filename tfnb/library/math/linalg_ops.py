"""Functions of ``tf.linalg`` built from others: norms, identity matrices, least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow.cond import cond
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.linalg.matrix_decomposition_ops import cholesky as cholesky
from tfnb.ops.linalg.matrix_decomposition_ops import lu as lu
from tfnb.ops.linalg.matrix_decomposition_ops import qr as qr
from tfnb.ops.linalg.matrix_decomposition_ops import self_adjoint_eig_v2, svd_op
from tfnb.ops.linalg.matrix_functions import adjoint as adjoint
from tfnb.ops.linalg.matrix_functions import cholesky_solve as cholesky_solve
from tfnb.ops.linalg.matrix_functions import eye as eye
from tfnb.ops.linalg.matrix_functions import matrix_triangular_solve as matrix_triangular_solve
from tfnb.ops.linalg.matrix_functions import regularized_gramian_cholesky
from tfnb.ops.linalg.matrix_solve_ops import banded_triangular_solve as banded_triangular_solve
from tfnb.ops.linalg.matrix_solve_ops import matrix_determinant as matrix_determinant
from tfnb.ops.linalg.matrix_solve_ops import matrix_inverse as matrix_inverse
from tfnb.ops.linalg.matrix_solve_ops import matrix_solve as matrix_solve
from tfnb.ops.linalg.matrix_solve_ops import matrix_solve_ls_op
from tfnb.ops.linalg.tridiagonal_ops import tridiagonal_mat_mul
from tfnb.ops.linalg.tridiagonal_ops import tridiagonal_solve as tridiagonal_solve_op
from tfnb.ops.math import math_ops
from tfnb.ops.math.cwise_unary_ops import is_finite
from tfnb.ops.math.matmul_ops import matvec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "matrix_solve_ls",
        "norm",
        "self_adjoint_eig",
        "self_adjoint_eigvals",
        "svd",
    ],
    "linalg.experimental": ["conjugate_gradient"],
    "linalg": [
        "eigh_tridiagonal",
        "eigh:self_adjoint_eig",
        "eigvalsh:self_adjoint_eigvals",
        "expm:matrix_exponential",
        "logdet",
        "lstsq:matrix_solve_ls",
        "lu_matrix_inverse",
        "lu_reconstruct",
        "lu_solve",
        "matrix_rank",
        "norm",
        "normalize",
        "pinv",
        "svd",
        "tridiagonal_matmul",
        "tridiagonal_solve",
    ],
}

# ----------------------------------------------------------------------------- simple constructions


@dispatchable
def logdet(matrix: TensorLike, name: str | None = None) -> TensorResult:
    """Return the logarithms of the determinants of positive definite matrices."""
    with name_scope(name, "logdet", [matrix]):
        diagonal = math_ops.real(array_ops.matrix_diag_part(cholesky(matrix)))
        return 2.0 * math_ops.reduce_sum(math_ops.log(diagonal), axis=[-1])


# -------------------------------------------------------------------------------------------- norms


def norm(
    tensor: TensorLike,
    ord: TensorLike = "euclidean",
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> TensorResult:
    """Return norms of vectors, of matrices, or of the whole tensor.

    Args:
      tensor: the tensor.
      ord: "fro" (matrices), "euclidean", or a positive number, np.inf included.
      axis: the axis of the vectors, the two of the matrices, or None for all elements.
      keepdims: whether the axes are kept, with length 1.
      name: the name of the scope.
      keep_dims: the old name of keepdims.

    Raises:
      ValueError: the norm is unknown.
    """
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    is_matrix = isinstance(axis, tuple | list) and len(axis) == 2
    axes = _checked_axes(ord, axis, is_matrix)
    with name_scope(name, "norm", [tensor]):
        tensor = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean", 2, 2.0):
            if is_matrix and ord in (2, 2.0):
                result = _largest_singular_value(tensor, axes)
            else:
                squares = tensor * math_ops.conj(tensor)
                result = math_ops.sqrt(math_ops.reduce_sum(squares, axes, keepdims=True))
        else:
            result = _p_norm(math_ops.abs(tensor), ord, axes, is_matrix)
        return result if keepdims else array_ops.squeeze(result, axes)


def _checked_axes(ord: Any, axis: TensorLike, is_matrix: bool) -> Any:
    if is_matrix:
        axis = tuple(axis)
        if not all(isinstance(i, int) for i in axis) or axis[0] == axis[1]:
            raise ValueError(
                f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
            )
        supported: list[Any] = ["euclidean", "fro", 1, 2, np.inf]
        if ord not in supported:
            raise ValueError(f"'ord' must be a supported matrix norm in {supported}, got {ord}")
        return axis
    if not (axis is None or isinstance(axis, int)):
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    if (not np.isreal(ord) or ord <= 0) and ord not in ("euclidean", 1, 2, np.inf):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    return None if axis is None else (axis,)


def _largest_singular_value(tensor: TensorLike, axes: tuple[int, int]) -> TensorResult:
    from tfnb.library.control_flow.map_fn import map_fn
    from tfnb.ops.array.unique_ops import list_diff

    rank = array_ops.rank(tensor)
    positive = map_fn(lambda i: cond(i >= 0, lambda: i, lambda: i + rank), convert_to_tensor(axes))
    every = math_ops.range(rank)
    others = list_diff(every, positive, dtypes.int32)[0]
    before = array_ops.concat([others, positive], axis=0)
    after = map_fn(
        lambda i: math_ops.cast(
            array_ops.squeeze(array_ops.where_v2(math_ops.equal(before, i))), dtype=dtypes.int32
        ),
        every,
    )
    values = math_ops.abs(svd_op(array_ops.transpose(tensor, perm=before), compute_uv=False)[0])
    largest = math_ops.reduce_max(values, axis=-1, keepdims=True)
    return array_ops.transpose(array_ops.expand_dims(largest, axis=-1), perm=after)


def _p_norm(values: TensorLike, ord: TensorLike, axes: TensorLike, is_matrix: bool) -> TensorResult:
    first = None if axes is None else axes[0]
    if ord == 1:
        result = math_ops.reduce_sum(values, first, keepdims=True)
        return math_ops.reduce_max(result, axes[-1], keepdims=True) if is_matrix else result
    if ord == np.inf:
        if is_matrix:
            values = math_ops.reduce_sum(values, axes[1], keepdims=True)
        return math_ops.reduce_max(values, first, keepdims=True)
    total = math_ops.reduce_sum(math_ops.pow(values, ord), axes, keepdims=True)
    return math_ops.pow(total, 1.0 / ord)


def normalize(
    tensor: TensorLike,
    ord: TensorLike = "euclidean",
    axis: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Nested, Nested]:
    """Return the tensor divided by its norms, and the norms."""
    with name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        norms = math_ops.cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / norms, norms


# ---------------------------------------------------------------------------------------- equations


def matrix_solve_ls(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: TensorLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> TensorResult:
    """Return the x for which `matrix x` is nearest to rhs; of several, the smallest.

    Args:
      matrix: the matrices.
      rhs: the right-hand sides.
      l2_regularizer: the weight of the squared norm of x beside the squared error.
      fast: whether normal equations are solved; if not, a complete decomposition is used.
      name: the name of the scope.

    Raises:
      NotImplementedError: the matrices are complex128 and there is a regularizer.
    """
    matrix = convert_to_tensor(matrix, name="matrix")
    if matrix.dtype == dtypes.complex128 and l2_regularizer != 0:
        raise NotImplementedError(
            "matrix_solve_ls is currently disabled for complex128 and l2_regularizer != 0 due to "
            "poor accuracy."
        )
    if not _composes(matrix, fast):
        return matrix_solve_ls_op(matrix, rhs, l2_regularizer, fast=fast, name=name)

    def tall() -> TensorResult:
        chol = regularized_gramian_cholesky(matrix, l2_regularizer, first_kind=True)
        return cholesky_solve(chol, math_ops.matmul(matrix, rhs, adjoint_a=True))

    def wide() -> TensorResult:
        chol = regularized_gramian_cholesky(matrix, l2_regularizer, first_kind=False)
        return math_ops.matmul(matrix, cholesky_solve(chol, rhs), adjoint_a=True)

    with name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
        dims = matrix.get_shape().dim_values
        if dims is not None and None not in dims[-2:]:
            return tall() if dims[-2] >= dims[-1] else wide()
        shape = array_ops.shape(matrix)[-2:]
        return cond(shape[-2] >= shape[-1], tall, wide)


def _composes(matrix: TensorLike, fast: bool) -> bool:
    """Return whether several ops solve the equations; not if many small matrices are too large."""
    dims = matrix.get_shape().dim_values
    if not fast:
        return False
    if dims is None or None in dims:
        return True
    is_large = np.prod(dims) * matrix.dtype.size > 256000
    return not (is_large and np.prod(dims[:-2]) > min(dims[-2:]))


def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> TensorResult:
    """Return the solutions of equations with tridiagonal matrices.

    Args:
      diagonals: the diagonals as rows, from above ("compact"), as three tensors ("sequence"), or
        the matrices ("matrix").
      rhs: the right-hand sides, vectors or matrices.
      diagonals_format: see diagonals.
      transpose_rhs: whether rhs is transposed first.
      conjugate_rhs: whether rhs is conjugated first.
      name: the name of the op.
      partial_pivoting: whether rows are exchanged, which is more accurate.
      perturb_singular: whether pivots of 0 are replaced by a small number.

    Raises:
      ValueError: the shapes do not fit, or the format is unknown.
    """
    if perturb_singular and not partial_pivoting:
        raise ValueError("partial_pivoting must be True if perturb_singular is.")
    if diagonals_format == "sequence":
        diagonals = _stacked_diagonals(diagonals)
    elif diagonals_format == "matrix":
        _require_equal_sizes(diagonals)
        diagonals = array_ops.matrix_diag_part(
            diagonals, k=(-1, 1), padding_value=0.0, align="LEFT_RIGHT"
        )
    elif diagonals_format != "compact":
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    _check_tridiagonal(diagonals, rhs)
    rank = diagonals.shape.rank
    is_vector = bool(rank) and rhs.shape.rank == rank - 1
    if is_vector:
        if conjugate_rhs:
            rhs = math_ops.conj(rhs)
        rhs = array_ops.expand_dims(rhs, -1)
    elif transpose_rhs:
        rhs = array_ops.matrix_transpose(rhs, conjugate=conjugate_rhs)
    elif conjugate_rhs:
        rhs = math_ops.conj(rhs)
    sizes = diagonals.shape[-1].value, rhs.shape[-2].value
    if sizes[0] and sizes[1] and sizes[0] != sizes[1]:
        raise ValueError(
            "Expected number of left-hand sided and right-hand sides to be equal, "
            f"got {sizes[0]} and {sizes[1]}"
        )
    result = tridiagonal_solve_op(
        diagonals,
        rhs,
        partial_pivoting=partial_pivoting,
        perturb_singular=perturb_singular,
        name=name,
    )
    return array_ops.squeeze(result, -1) if is_vector else result


def _check_tridiagonal(diagonals: TensorLike, rhs: TensorLike) -> None:
    rank, other = diagonals.shape.rank, rhs.shape.rank
    if rank:
        if rank < 2:
            raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
        if other and other not in (rank, rank - 1):
            raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {other}")
        batches = diagonals.shape[:-2], rhs.shape[: rank - 2]
        if other and not batches[0].is_compatible_with(batches[1]):
            raise ValueError(f"Batch shapes {batches[0]} and {batches[1]} are incompatible")
    rows = diagonals.shape[-2].value
    if rows and rows != 3:
        raise ValueError(f"Expected 3 diagonals got {rows}")


def _require_equal_sizes(matrices: TensorLike) -> None:
    columns, rows = matrices.shape[-1].value, matrices.shape[-2].value
    if columns and rows and columns != rows:
        raise ValueError(
            f"Expected last two dimensions of diagonals to be same, got {columns} and {rows}"
        )


def _stacked_diagonals(diagonals: Any) -> TensorResult:
    if not isinstance(diagonals, tuple | list) or len(diagonals) != 3:
        raise ValueError("Expected diagonals to be a sequence of length 3.")
    above, main, below = diagonals
    batch = main.shape[:-1]
    if not (
        below.shape[:-1].is_compatible_with(batch) and above.shape[:-1].is_compatible_with(batch)
    ):
        raise ValueError(
            "Tensors representing the three diagonals must have the same shape,except for the last "
            f"dimension, got {below.shape}, {main.shape}, {above.shape}"
        )
    below = _padded(below, main, "subdiagonal", [1, 0])
    above = _padded(above, main, "superdiagonal", [0, 1])
    return array_ops.stack((above, main, below), axis=-2)


def _padded(diagonal: TensorLike, main: TensorLike, what: str, padding: list[int]) -> TensorResult:
    size, wanted = diagonal.shape[-1].value, main.shape[-1].value
    if not size or size == wanted:
        return diagonal
    if size == wanted - 1:
        return array_ops.pad(diagonal, [[0, 0]] * (diagonal.shape.rank - 1) + [padding])
    raise ValueError(f"Expected {what} to be have length {wanted} or {wanted - 1}, got {size}.")


def tridiagonal_matmul(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    name: str | None = None,
) -> TensorResult:
    """Return the products of tridiagonal matrices, given as to tridiagonal_solve, and rhs."""
    if diagonals_format == "sequence":
        parts: Sequence[TensorLike] = diagonals
    elif diagonals_format in ("compact", "matrix"):
        if diagonals_format == "matrix":
            _require_equal_sizes(diagonals)
            diagonals = array_ops.matrix_diag_part(
                diagonals, k=(-1, 1), padding_value=0.0, align="LEFT_RIGHT"
            )
        parts = [diagonals[..., i, :] for i in range(3)]
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    above, main, below = (array_ops.expand_dims(part, -2) for part in parts)
    return tridiagonal_mat_mul(above, main, below, rhs, name=name)


# --------------------------------------------------------------------- eigenvalues, singular values


def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Nested, Nested]:
    """Return eigenvalues and eigenvectors of the matrices whose lower triangles are given."""
    e, v = self_adjoint_eig_v2(tensor, compute_v=True, name=name)
    return e, v


def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> TensorResult:
    """Return eigenvalues of the matrices whose lower triangles are given."""
    return self_adjoint_eig_v2(tensor, compute_v=False, name=name)[0]


def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: TensorLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return the sorted eigenvalues, and perhaps the vectors, of a Hermitian tridiagonal matrix.

    Args:
      alpha: the main diagonal, real, a vector.
      beta: the diagonal above it, a vector with one element less.
      eigvals_only: whether only eigenvalues are returned.
      select: "a" for all, "v" for those in the interval ``(min, max]`` of ``select_range``, "i"
        for those with numbers from ``min`` to ``max`` of it.
      select_range: the interval.
      tol: accepted: all eigenvalues have the full precision of the type.
      name: the name of the ops.

    Raises:
      ValueError: ``select`` is unknown, ``select_range`` does not fit, or types differ.
    """
    with name_scope(name or "eigh_tridiagonal"):
        alpha, beta = convert_to_tensor(alpha, name="alpha"), convert_to_tensor(beta, name="beta")
        if alpha.dtype != beta.dtype:
            raise ValueError(
                f"'alpha' and 'beta' must have the same type. Got {alpha.dtype} and {beta.dtype}."
            )
        if select not in ("a", "i", "v"):
            raise ValueError(f"'select must have a value in {{'a', 'i', 'v'}}. Got {select!r}.")
        if select != "a" and select_range is None:
            raise ValueError(f"'select_range' must be given for select = {select!r}.")
        if select != "a" and select_range[0] > select_range[1]:
            raise ValueError(f"Got empty index range in select_range. Got {select_range}")
        below = math_ops.conj(beta)
        dense = array_ops.matrix_diag(alpha) + array_ops.matrix_diag(beta, k=1)
        dense += array_ops.matrix_diag(below, k=-1)
        values, vectors = self_adjoint_eig_v2(dense, compute_v=not eigvals_only)
        if values.dtype.is_complex:
            values = math_ops.real(values)
        if select == "i":
            chosen = slice(int(select_range[0]), int(select_range[1]) + 1)
            values = values[chosen]
            vectors = vectors[:, chosen] if not eigvals_only else vectors
        elif select == "v":
            low, high = (cast(bound, values.dtype) for bound in select_range)
            inside = math_ops.logical_and(values > low, values <= high)
            values = array_ops.boolean_mask(values, inside)
            vectors = vectors if eigvals_only else array_ops.boolean_mask(vectors, inside, axis=1)
        return values if eigvals_only else (values, vectors)


class CGState(NamedTuple):
    """The state of the conjugate gradient method.

    Attributes:
      i: the number of steps.
      x: the solution.
      r: the residual.
      p: the direction of the next step.
      gamma: the product of ``r`` and the preconditioned ``r``.
    """

    i: TensorLike
    x: TensorLike
    r: Any
    p: Any
    gamma: TensorLike


def conjugate_gradient(
    operator: TensorLike,
    rhs: TensorLike,
    preconditioner: Any = None,
    x: TensorLike | None = None,
    tol: TensorLike = 1e-5,
    max_iter: Any = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Solve ``operator x = rhs`` iteratively, for a self-adjoint positive definite operator.

    Args:
      operator: a ``tf.linalg.LinearOperator``.
      rhs: a vector, or a batch of them.
      preconditioner: an operator close to the inverse of ``operator``.
      x: the initial solution; zeros if None.
      tol: the norm of the residual at which to stop, relative to that of ``rhs``.
      max_iter: the maximum number of steps.
      name: the name of the ops.

    Raises:
      ValueError: the operator is not known to be self-adjoint and positive definite.
    """
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")
    from tfnb.library.control_flow.while_loop import while_loop

    def product(one: TensorLike, other: TensorLike) -> TensorResult:
        return array_ops.squeeze(matvec(one[..., None], other, adjoint_a=True), axis=-1)

    def improved(rest: TensorLike) -> TensorResult:
        return rest if preconditioner is None else preconditioner.matvec(rest)

    def step(_: Any, state: CGState) -> tuple[Nested, CGState]:
        image = operator.matvec(state.p)
        length = (state.gamma / product(state.p, image))[..., None]
        rest = state.r - length * image
        better = improved(rest)
        gamma = product(rest, better)
        direction = better + (gamma / state.gamma)[..., None] * state.p
        number = state.i + 1
        return number, CGState(number, state.x + length * state.p, rest, direction, gamma)

    with name_scope(name):
        rhs = convert_to_tensor(rhs, dtype=operator.dtype)
        outer = array_ops.broadcast_dynamic_shape(
            array_ops.shape(rhs)[:-1], operator.batch_shape_tensor()
        )
        if preconditioner is not None:
            outer = array_ops.broadcast_dynamic_shape(outer, preconditioner.batch_shape_tensor())
        form = array_ops.concat([outer, array_ops.shape(rhs)[-1:]], 0)
        rest = array_ops.broadcast_to(rhs, form)
        limit = cast(tol, rhs.dtype.real_dtype) * norm(rest, axis=-1)
        if x is None:
            x = array_ops.zeros(form, rhs.dtype)
        else:
            x = convert_to_tensor(x, dtype=rhs.dtype)
            rest = rhs - operator.matvec(x)
        first = improved(rest)
        zero = array_ops.constant(0, dtypes.int32)
        _, state = while_loop(
            lambda i, state: math_ops.logical_and(
                i < max_iter, math_ops.reduce_any(norm(state.r, axis=-1) > limit)
            ),
            step,
            [zero, CGState(zero, x, rest, first, product(rest, first))],
        )
        found: CGState = state
        return found


def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> TensorResult:
    """Return singular values s, and u and v if requested, with `u diag(s) v^H = tensor`."""
    s, u, v = svd_op(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    s = math_ops.real(s)
    return (s, u, v) if compute_uv else s


def _checked_matrix(a: TensorLike, validate_args: bool) -> TensorResult:
    from tfnb.library.control_flow import check_ops

    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    rank = a.shape.rank
    if rank is not None:
        if rank < 2:
            raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {rank}).")
    elif validate_args:
        check = check_ops.assert_rank_at_least(
            a, rank=2, message="Input `a` must have at least 2 dimensions."
        )
        with control_dependencies([check]):
            return array_ops.identity(a)
    return a


def matrix_rank(
    a: TensorLike,
    tol: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Any:
    """Return the number of singular values of each matrix that are above a tolerance."""
    with name_scope(name, "matrix_rank"):
        a = _checked_matrix(
            convert_to_tensor(a, dtype_hint=dtypes.float32, name="a"), validate_args
        )
        s = svd(a, compute_uv=False)
        if tol is None:
            sizes = a.shape[-2:]
            if sizes.is_fully_defined():
                largest: Any = np.max(sizes.as_list())
            else:
                largest = math_ops.reduce_max(array_ops.shape(a)[-2:])
            precision = np.finfo(a.dtype.as_numpy_dtype).eps
            scale = precision * math_ops.cast(largest, a.dtype)
            tol = scale * math_ops.reduce_max(s, axis=-1, keepdims=True)
        return math_ops.reduce_sum(math_ops.cast(s > tol, dtypes.int32), axis=-1)


def pinv(
    a: TensorLike,
    rcond: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return pseudo-inverses; singular values below rcond times the largest count as 0."""
    with name_scope(name, "pinv"):
        a = _checked_matrix(convert_to_tensor(a, name="a"), validate_args)
        dtype = a.dtype.as_numpy_dtype
        if rcond is None:
            sizes = [_size(a, -2), _size(a, -1)]
            if all(isinstance(size, int) for size in sizes):
                largest: Any = float(max(sizes))
            else:
                largest = math_ops.cast(math_ops.maximum(*sizes), dtype)
            rcond = 10.0 * largest * np.finfo(dtype).eps
        rcond = convert_to_tensor(rcond, dtype=dtype, name="rcond")
        s, u, v = svd(a, full_matrices=False, compute_uv=True)
        cutoff = array_ops.expand_dims(rcond * math_ops.reduce_max(s, axis=-1), -1)
        s = array_ops.where_v2(s > cutoff, s, np.array(np.inf, dtype))
        result = math_ops.matmul(v / array_ops.expand_dims(s, -2), u, adjoint_b=True)
        if a.shape.rank is not None:
            result.set_shape(a.shape[:-2].concatenate([a.shape[-1], a.shape[-2]]))
        return result


def _size(a: TensorLike, axis: int) -> Any:
    size = a.shape[axis].value
    return array_ops.shape(a)[axis] if size is None else size


# ----------------------------------------------------------------------------------------------- LU


def _checked_lu(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool
) -> list[TensorResult]:
    from tfnb.library.control_flow import check_ops

    checks = []
    rank, other = lower_upper.shape.rank, perm.shape.rank
    message = "Input `lower_upper` must have at least 2 dimensions."
    if rank is not None and rank < 2:
        raise ValueError(message)
    if validate_args:
        checks.append(check_ops.assert_rank_at_least(lower_upper, rank=2, message=message))
    message = "`rank(lower_upper)` must equal `rank(perm) + 1`"
    if rank is not None and other is not None:
        if rank != other + 1:
            raise ValueError(message)
    elif validate_args:
        above = array_ops.rank(perm) + 1
        checks.append(check_ops.assert_rank(lower_upper, rank=above, message=message))
    message = "`lower_upper` must be square."
    if lower_upper.shape[:-2].is_fully_defined():
        rows, columns = lower_upper.shape[-2].value, lower_upper.shape[-1].value
        if rows != columns:
            raise ValueError(message)
    elif validate_args:
        sizes: TensorLike = array_ops.split(array_ops.shape(lower_upper)[-2:], num_or_size_splits=2)
        checks.append(check_ops.assert_equal(sizes[0], sizes[1], message=message))
    return checks


def _checked_rhs(
    lower_upper: TensorLike, rhs: TensorLike, validate_args: bool
) -> list[TensorResult]:
    from tfnb.library.control_flow import check_ops

    checks = []
    rank = rhs.shape.rank
    message = "Input `rhs` must have at least 2 dimensions."
    if rank is not None and rank < 2:
        raise ValueError(message)
    if rank is None and validate_args:
        checks.append(check_ops.assert_rank_at_least(rhs, rank=2, message=message))
    message = "`lower_upper.shape[-1]` must equal `rhs.shape[-1]`."
    sizes = lower_upper.shape[-1].value, rhs.shape[-2].value
    if None not in sizes:
        if sizes[0] != sizes[1]:
            raise ValueError(message)
    elif validate_args:
        checks.append(
            check_ops.assert_equal(
                array_ops.shape(lower_upper)[-1], array_ops.shape(rhs)[-2], message=message
            )
        )
    return checks


def _after(checks: list[TensorLike], *values: Any) -> tuple[TensorResult, ...]:
    if not checks:
        return values
    with control_dependencies(checks):
        return tuple(array_ops.identity(value) for value in values)


def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return the solutions of `A x = rhs`, for A given by its decomposition by tf.linalg.lu."""
    with name_scope(name, "lu_solve"):
        lower_upper = convert_to_tensor(lower_upper, dtype_hint=dtypes.float32, name="lower_upper")
        perm = convert_to_tensor(perm, dtype_hint=dtypes.int32, name="perm")
        rhs = convert_to_tensor(rhs, dtype_hint=lower_upper.dtype, name="rhs")
        checks = _checked_lu(lower_upper, perm, validate_args)
        checks += _checked_rhs(lower_upper, rhs, validate_args)
        lower_upper, perm, rhs = _after(checks, lower_upper, perm, rhs)
        if rhs.shape.rank == 2 and perm.shape.rank == 1:
            permuted = array_ops.gather(rhs, perm, axis=-2)
        else:
            permuted = _permuted_rows(rhs, perm)
        lower = array_ops.matrix_set_diag(
            array_ops.matrix_band_part(lower_upper, num_lower=-1, num_upper=0),
            array_ops.ones(array_ops.shape(lower_upper)[:-1], dtype=lower_upper.dtype),
        )
        forward = matrix_triangular_solve(lower, permuted)
        return matrix_triangular_solve(lower_upper, forward, lower=False)


def _permuted_rows(rhs: TensorLike, perm: TensorLike) -> TensorResult:
    shape = array_ops.shape(rhs)
    batch = array_ops.broadcast_dynamic_shape(shape[:-2], array_ops.shape(perm)[:-1])
    rows, columns = shape[-2], shape[-1]
    whole = array_ops.concat([batch, [rows, columns]], axis=0)
    values = array_ops.reshape(array_ops.broadcast_to(rhs, whole), [-1, rows, columns])
    order = array_ops.reshape(array_ops.broadcast_to(perm, whole[:-1]), [-1, rows])
    count = math_ops.reduce_prod(batch)
    each = array_ops.broadcast_to(math_ops.range(count)[:, None], [count, rows])
    permuted = array_ops.gather_nd(values, array_ops.stack([each, order], axis=-1))
    return array_ops.reshape(permuted, whole)


def _lu_tensors(lower_upper: TensorLike, perm: TensorLike, validate_args: bool) -> TensorResult:
    lower_upper = convert_to_tensor(lower_upper, dtype_hint=dtypes.float32, name="lower_upper")
    perm = convert_to_tensor(perm, dtype_hint=dtypes.int32, name="perm")
    return _after(_checked_lu(lower_upper, perm, validate_args), lower_upper, perm)


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> TensorResult:
    """Return the inverses of matrices given by their decompositions by tf.linalg.lu."""
    with name_scope(name, "lu_matrix_inverse"):
        lower_upper, perm = _lu_tensors(lower_upper, perm, validate_args)
        shape = array_ops.shape(lower_upper)
        unit = eye(shape[-1], batch_shape=shape[:-2], dtype=lower_upper.dtype)
        return lu_solve(lower_upper, perm, rhs=unit, validate_args=False)


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> TensorResult:
    """Return the matrices whose decompositions by tf.linalg.lu are given."""
    from tfnb.library.control_flow.map_fn import map_fn

    with name_scope(name, "lu_reconstruct"):
        lower_upper, perm = _lu_tensors(lower_upper, perm, validate_args)
        shape = array_ops.shape(lower_upper)
        lower = array_ops.matrix_set_diag(
            array_ops.matrix_band_part(lower_upper, num_lower=-1, num_upper=0),
            array_ops.ones(shape[:-1], dtype=lower_upper.dtype),
        )
        upper = array_ops.matrix_band_part(lower_upper, num_lower=0, num_upper=-1)
        product = math_ops.matmul(lower, upper)
        if lower_upper.shape.rank == 2:
            product = array_ops.gather(product, array_ops.invert_permutation(perm))
        else:
            count, size = math_ops.reduce_prod(shape[:-2]), shape[-1]
            product = array_ops.reshape(product, [count, size, size])
            perm = array_ops.reshape(perm, [count, size])
            perm = map_fn(array_ops.invert_permutation, perm)
            each = array_ops.broadcast_to(math_ops.range(count)[:, None], [count, size])
            product = array_ops.gather_nd(product, array_ops.stack([each, perm], axis=-1))
            product = array_ops.reshape(product, shape)
        product.set_shape(lower_upper.shape)
        return product


# ------------------------------------------------------------------------------------- exponentials

# Coefficients of Padé's approximations of the exponential, without that of the highest power, 1.
_PADE = {
    3: (120.0, 60.0, 12.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0),
    9: (
        *(17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0),
        *(2162160.0, 110880.0, 3960.0, 90.0),
    ),
    13: (
        *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0),
        *(129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0),
        *(40840800.0, 960960.0, 16380.0, 182.0),
    ),
}


def _pade(order: int, matrix: TensorLike) -> tuple[Nested, Nested]:
    """Return the odd and the even part of the approximation's numerator."""
    b = [array_ops.constant(x, matrix.dtype) for x in _PADE[order]]
    unit = eye(
        array_ops.shape(matrix)[-2],
        batch_shape=array_ops.shape(matrix)[:-2],
        dtype=matrix.dtype,
    )
    second = math_ops.matmul(matrix, matrix)
    powers = [second]  # the matrix to the powers 2, 4, 6, ...
    while len(powers) < min((order - 1) // 2, 3 if order == 13 else 4):
        powers.append(math_ops.matmul(powers[-1], second))
    if order == 13:
        odd = math_ops.matmul(powers[2], _polynomial(powers, (b[9], b[11], None)))
        for power, factor in zip((*powers[::-1], unit), (b[7], b[5], b[3], b[1]), strict=True):
            odd = odd + factor * power
        odd = math_ops.matmul(matrix, odd)
        even = math_ops.matmul(powers[2], _polynomial(powers, (b[8], b[10], b[12])))
        for power, factor in zip((*powers[::-1], unit), (b[6], b[4], b[2], b[0]), strict=True):
            even = even + factor * power
        return odd, even
    factors = [*b[3::2], None]
    odd = math_ops.matmul(matrix, _polynomial(powers, factors) + b[1] * unit)
    return odd, _polynomial(powers, b[2::2]) + b[0] * unit


def _polynomial(powers: Sequence[TensorLike], factors: Sequence[Any]) -> TensorResult:
    """Return the sum of the powers times their factors, the highest first; None stands for 1."""
    total = None
    for power, factor in zip(powers[::-1], factors[::-1], strict=True):
        term = power if factor is None else factor * power
        total = term if total is None else total + term
    return total


def matrix_exponential(input: TensorLike, name: str | None = None) -> TensorResult:
    """Return the exponentials of matrices, by Padé's approximation, scaling and squaring.

    Raises:
      ValueError: the elements are not floating-point or complex numbers.
    """
    from tfnb.library.control_flow.while_loop import while_loop

    with name_scope(name, "matrix_exponential", [input]):
        matrix = convert_to_tensor(input, name="input")
        if matrix.shape[-2:] == [0, 0]:
            return matrix
        batch: Any = matrix.shape[:-2]
        if not batch.is_fully_defined():
            batch = array_ops.shape(matrix)[:-2]
        flat = array_ops.concat(([-1], array_ops.shape(matrix)[-2:]), axis=0)
        matrix = array_ops.reshape(matrix, flat)
        columns = math_ops.reduce_sum(
            math_ops.abs(matrix), axis=array_ops.size(array_ops.shape(matrix)) - 2
        )
        norms = math_ops.reduce_max(columns, axis=-1)[..., None, None]
        u, v, squarings = _scaled_pade(matrix, norms)
        finite = is_finite(math_ops.reduce_max(norms))
        nan = array_ops.constant(np.nan, matrix.dtype)
        result = cond(
            finite,
            lambda: matrix_solve(-u + v, u + v),
            lambda: array_ops.fill(array_ops.shape(matrix), nan),
        )
        most = math_ops.reduce_max(squarings)
        start = array_ops.constant(0.0, norms.dtype)

        def goes_on(i: TensorLike, _: Any) -> TensorResult:
            return cond(finite, lambda: math_ops.less(i, most), lambda: array_ops.constant(False))

        def square(i: TensorLike, r: TensorLike) -> tuple[Nested, Nested]:
            return i + 1, array_ops.where_v2(math_ops.less(i, squarings), math_ops.matmul(r, r), r)

        _, result = while_loop(goes_on, square, [start, result])
        if not matrix.shape.is_fully_defined():
            whole = array_ops.concat((batch, array_ops.shape(result)[-2:]), axis=0)
            return array_ops.reshape(result, whole)
        return array_ops.reshape(result, batch.concatenate(result.shape[-2:]))


def _scaled_pade(matrix: TensorLike, norms: TensorLike) -> tuple[Nested, Nested, Nested]:
    limits: tuple[float, ...]
    if matrix.dtype in (dtypes.float16, dtypes.float32, dtypes.complex64):
        largest, orders = 3.925724783138660, [3, 5, 7]
        limits = (4.258730016922831e-001, 1.880152677804762e000)
    elif matrix.dtype in (dtypes.float64, dtypes.complex128):
        largest, orders = 5.371920351148152, [3, 5, 7, 9, 13]
        limits = (
            *(1.495585217958292e-002, 2.539398330063230e-001),
            *(9.504178996162932e-001, 2.097847961257068e000),
        )
    else:
        raise ValueError(f"tf.linalg.expm does not support matrices of type {matrix.dtype}")

    def constant(value: float) -> TensorResult:
        return array_ops.constant(value, norms.dtype)

    maxnorm = constant(largest)
    ratio = math_ops.log(norms / maxnorm) / math_ops.log(constant(2.0))
    squarings = math_ops.maximum(math_ops.floor(ratio), 0)
    parts = [_pade(order, matrix) for order in orders[:-1]]
    scale = math_ops.cast(math_ops.pow(constant(2.0), squarings), matrix.dtype)
    parts.append(_pade(orders[-1], matrix / scale))

    def choose(limits: Sequence[float], cases: Sequence[Any]) -> TensorResult:
        """Return the first case whose norm is below its limit, or the last."""
        if not limits:
            return cases[0]
        is_small = math_ops.less(norms, constant(limits[0]))
        return array_ops.where_v2(is_small, cases[0], choose(limits[1:], cases[1:]))

    u = choose(limits, [odd for odd, _ in parts])
    return u, choose(limits, [even for _, even in parts]), squarings
