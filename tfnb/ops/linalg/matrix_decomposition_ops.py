"""Decompositions and functions of matrices: Cholesky, QR, LU, eigenvalues, singular values, roots.

Every op takes matrices in the last two dimensions; the leading ones are batches.
float16 is computed in float32. The signs of eigenvectors and singular vectors may differ from
TensorFlow's, which uses another library. Corresponds to ``cholesky_op.cc``,
``qr_op_impl.h``, ``lu_op.cc``, ``svd_op_impl.h``, ``*eig_op_impl.h`` and ``matrix_*_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.array_module import to_host
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import control_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.linalg.matrices import (
    adjoint,
    identity,
    in_float32,
    require_matrices,
    require_square,
    square_dims,
    square_shape,
)
from tfnb.ops.linalg.matrix_solve_ops import matrix_solve
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "tf": ["cholesky", "matrix_square_root", "qr"],
    "linalg": ["cholesky", "logm:matrix_logarithm", "lu", "qr", "sqrtm:matrix_square_root"],
}

_TYPES = "T: {double, float, half, complex64, complex128}"


def _adjoint_of(x: TensorLike) -> TensorResult:
    from tfnb.ops.linalg.matrix_functions import adjoint

    return adjoint(x)


def _triangular_solve(matrix: TensorLike, rhs: TensorLike, *, lower: bool = True) -> TensorResult:
    from tfnb.ops.linalg.matrix_functions import matrix_triangular_solve

    return matrix_triangular_solve(matrix, rhs, lower=lower)


# ---------------------------------------------------------------------------------- Cholesky and QR


def _cholesky(xp: Xp, a: Array) -> Array:
    if not a.size:
        return a
    try:
        return xp.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        pass
    flat = a.reshape(-1, *a.shape[-2:])
    result = xp.tril(xp.full_like(flat, np.nan))
    for i, matrix in enumerate(flat):
        try:
            result[i] = xp.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            continue
    return result.reshape(a.shape)


@register_op("Cholesky", "input: T -> output: T", _TYPES, shape=square_shape)
def cholesky(xp: Xp, input: Array) -> Array:
    """Return lower triangles L with `L L^H = input`, from lower triangles; NaN if none exists."""
    require_square(input)
    return in_float32(lambda a: _cholesky(xp, a), input)


@cholesky.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.linalg.matrix_functions import eye

    lower = op.outputs[0]
    rows, batch = array_ops.shape(lower)[-1], array_ops.shape(lower)[:-2]
    inverse = _triangular_solve(lower, eye(rows, batch_shape=batch, dtype=lower.dtype))
    middle = math_ops.matmul(lower, grad, adjoint_a=True)
    middle = array_ops.matrix_set_diag(middle, 0.5 * array_ops.matrix_diag_part(middle))
    middle = array_ops.matrix_band_part(middle, -1, 0)
    grad_a = math_ops.matmul(math_ops.matmul(inverse, middle, adjoint_a=True), inverse)
    grad_a += _adjoint_of(grad_a)
    return grad_a * 0.5


def _qr_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.with_rank_at_least(0, 2).dim_values
    if dims is None:
        return [UNKNOWN_SHAPE] * 2
    rows, columns = dims[-2:]
    inner = rows if c.attr("full_matrices") else _smaller(rows, columns)
    return [TensorShape([*dims[:-2], rows, inner]), TensorShape([*dims[:-2], inner, columns])]


def _smaller(a: int | None, b: int | None) -> int | None:
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else min(a, b)


@register_op("Qr", "input: T -> q: T, r: T", "full_matrices: bool = false", _TYPES, shape=_qr_shape)
def qr(xp: Xp, input: Array, *, full_matrices: bool) -> tuple[Array, Array]:
    """Return unitary q and upper triangular r with `q r = input`."""
    require_matrices(input)
    mode = "complete" if full_matrices else "reduced"
    if not input.size:
        rows, columns = input.shape[-2:]
        inner = rows if full_matrices else min(rows, columns)
        q = identity(xp, input, rows)[..., :inner]
        return q, xp.zeros((*input.shape[:-2], inner, columns), input.dtype)

    def decompose(a: Array) -> tuple[Array, Array]:
        return tuple(xp.linalg.qr(a, mode=mode))

    result: tuple[Array, Array] = in_float32(decompose, input)
    return result


def _divide_by_triangle(x: TensorLike, r: TensorLike) -> TensorResult:
    """Return X r^-H for an upper triangle r."""
    return _adjoint_of(_triangular_solve(r, _adjoint_of(x), lower=False))


def _deep_qr_gradient(q: TensorLike, r: TensorLike, dq: TensorLike, dr: TensorLike) -> TensorResult:
    qdq = math_ops.matmul(q, dq, adjoint_a=True)
    of_q = qdq - _adjoint_of(qdq)
    rdr = math_ops.matmul(r, dr, adjoint_b=True)
    of_r = rdr - _adjoint_of(rdr)
    lower = array_ops.matrix_band_part(of_q + of_r, -1, 0)
    grad_a = math_ops.matmul(q, dr + _divide_by_triangle(lower, r))
    grad = grad_a + _divide_by_triangle(dq - math_ops.matmul(q, qdq), r)
    if q.dtype.is_complex:
        m = rdr - _adjoint_of(qdq)
        diagonal = array_ops.matrix_set_diag(array_ops.zeros_like(m), array_ops.matrix_diag_part(m))
        correction = diagonal - math_ops.cast(math_ops.real(diagonal), q.dtype)
        grad += _divide_by_triangle(math_ops.matmul(q, _adjoint_of(correction)), r)
    return grad


@qr.gradient
def _(op: Operation, grad_q: Tensor, grad_r: Tensor) -> Gradients:
    q, r = op.outputs
    dims = r.shape.dim_values
    r_rows, columns = (None, None) if dims is None else dims[-2:]
    if r_rows is None or columns is None:
        raise NotImplementedError(
            f"QrGrad not implemented with dynamic shapes. Received r.shape: {r.shape}"
        )
    rows = q.shape[-2].value
    if r_rows > columns and rows == q.shape[-1].value:
        raise NotImplementedError(
            "QrGrad not implemented when nrows > ncols and full_matrices is true. "
            f"Received r.shape={r.shape} with nrows={r_rows}and ncols={columns}."
        )
    assert rows is not None  # because r's shape follows from the same matrix
    if rows >= columns:
        return _deep_qr_gradient(q, r, grad_q, grad_r)
    # A wide matrix is a square one and the remaining columns, on which only r depends.
    rest = op.inputs[0][..., :, rows:]
    square, of_rest, of_square = r[..., :, :rows], grad_r[..., :, rows:], grad_r[..., :, :rows]
    last = math_ops.matmul(q, of_rest)
    through = grad_q + math_ops.matmul(rest, of_rest, adjoint_b=True)
    return array_ops.concat([_deep_qr_gradient(q, square, through, of_square), last], axis=-1)


def _lu_shape(c: InferenceContext) -> list[TensorShape]:
    found = square_dims(c)
    if found is None:
        return [UNKNOWN_SHAPE] * 2
    return [TensorShape([*found[0], found[1], found[1]]), TensorShape([*found[0], found[1]])]


def _lu(xp: Xp, a: Array) -> tuple[Array, Array]:
    size = a.shape[-1]
    work = a.reshape(-1, size, size).copy()
    order = xp.tile(xp.arange(size), (work.shape[0], 1))
    each = xp.arange(work.shape[0])
    for i in range(size):
        pivot = i + xp.argmax(abs(work[:, i:, i]), axis=1)
        for array in (work, order):
            upper = array[each, i].copy()
            array[each, i] = array[each, pivot]
            array[each, pivot] = upper
        if not (abs(work[:, i, i]) > 0).all():
            raise errors.invalid_argument("Input is not invertible.")
        work[:, i + 1 :, i] /= work[:, i, i, None]
        work[:, i + 1 :, i + 1 :] -= work[:, i + 1 :, i, None] * work[:, i, None, i + 1 :]
    return work.reshape(a.shape), order.reshape(a.shape[:-1])


@register_op(
    "Lu",
    "input: T -> lu: T, p: output_idx_type",
    _TYPES,
    "output_idx_type: {int32, int64} = DT_INT32",
    shape=_lu_shape,
)
def lu(xp: Xp, input: Array, *, output_idx_type: DType) -> tuple[Array, Array]:
    """Return both triangles of `P^-1 L U = input` in one matrix, and the permutation.

    Raises:
      InvalidArgumentError: a matrix is not invertible.
    """
    if input.ndim < 2:
        raise errors.invalid_argument(f"Input tensor must have rank >= 2, got {input.ndim}")
    require_square(input)
    if not input.size:
        return input, xp.zeros(input.shape[:-1], output_idx_type.as_numpy_dtype)
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    triangles, order = _lu(xp, wide)
    return triangles.astype(input.dtype), order.astype(output_idx_type.as_numpy_dtype)


# --------------------------------------------------------------------- eigenvalues, singular values


def _eigenvalue_shape(c: InferenceContext) -> list[TensorShape]:
    found = square_dims(c)
    none = TensorShape([0])
    wants_vectors = c.attr("compute_v")
    if found is None:
        return [UNKNOWN_SHAPE, UNKNOWN_SHAPE if wants_vectors else none]
    values = TensorShape([*found[0], found[1]])
    return [values, TensorShape([*found[0], found[1], found[1]]) if wants_vectors else none]


def _symmetric_eigenvalues(xp: Xp, a: Array, wants_vectors: bool) -> tuple[Array, Array]:
    try:
        if wants_vectors:
            values, vectors = xp.linalg.eigh(a)
        else:
            values, vectors = xp.linalg.eigvalsh(a), xp.zeros(0, a.dtype)
        failed = xp.isnan(values).any() or xp.isnan(a).any()
    except np.linalg.LinAlgError:
        failed = True
    if failed:
        raise errors.invalid_argument(
            "Self-adjoint eigen decomposition was not successful. The input might not be valid."
        )
    return values.astype(a.dtype), vectors


@register_op(
    "SelfAdjointEigV2",
    "input: T -> e: T, v: T",
    "compute_v: bool = true",
    _TYPES,
    shape=_eigenvalue_shape,
)
def self_adjoint_eig_v2(xp: Xp, input: Array, *, compute_v: bool) -> tuple[Array, Array]:
    """Return rising eigenvalues, and eigenvectors as columns, of self-adjoint matrices.

    Only the lower triangles are read.
    """
    require_square(input)
    if not input.size:
        return xp.zeros(input.shape[:-1], input.dtype), xp.zeros(
            input.shape if compute_v else 0, input.dtype
        )
    result: tuple[Array, Array] = in_float32(
        lambda a: _symmetric_eigenvalues(xp, a, compute_v), input
    )
    return result


def _safe_reciprocal(x: TensorLike) -> TensorResult:
    return x * math_ops.reciprocal(x * x + 1e-20)


def _differences_reciprocal(values: TensorLike) -> TensorResult:
    """Return 1 / (value j - value i) off the diagonal and 0 on it."""
    differences = array_ops.expand_dims(values, -2) - array_ops.expand_dims(values, -1)
    return array_ops.matrix_set_diag(_safe_reciprocal(differences), array_ops.zeros_like(values))


@self_adjoint_eig_v2.gradient
def _(op: Operation, grad_e: Tensor, grad_v: Tensor) -> Gradients:
    with control_dependencies([grad_e, grad_v]):
        if op.get_attr("compute_v"):
            e, v = op.outputs
            inner = _differences_reciprocal(e) * math_ops.matmul(v, grad_v, adjoint_a=True)
            middle = array_ops.matrix_diag(grad_e) + inner
        else:
            _, v = self_adjoint_eig_v2(op.inputs[0])
            middle = array_ops.matrix_diag(grad_e)
        grad = math_ops.matmul(v, math_ops.matmul(middle, v, adjoint_b=True))
        # Only the lower triangle is read, so the gradient of the upper one is added to it.
        grad = array_ops.matrix_band_part(grad + _adjoint_of(grad), -1, 0)
        return array_ops.matrix_set_diag(grad, 0.5 * array_ops.matrix_diag_part(grad))


@register_op(
    "Eig",
    "input: T -> e: Tout, v: Tout",
    "compute_v: bool = true",
    "T: {float, double, complex64, complex128}",
    "Tout: {complex64, complex128}",
    shape=_eigenvalue_shape,
    devices=("CPU",),
)
def eig(xp: Xp, input: Array, *, compute_v: bool, Tout: DType) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors, as columns, of square matrices."""
    require_square(input)
    dtype = Tout.as_numpy_dtype
    fitting = dtypes.as_dtype(np.result_type(input.dtype, np.complex64))
    if fitting is not Tout:
        raise errors.invalid_argument(
            f"Invalid output dtype {Tout.as_datatype_enum} vs {fitting.as_datatype_enum}"
        )
    if not input.size:
        vectors = input.shape if compute_v else 0
        return xp.zeros(input.shape[:-1], dtype), xp.zeros(vectors, dtype)
    try:
        if compute_v:
            values, vectors = xp.linalg.eig(input)
            return values.astype(dtype), vectors.astype(dtype)
        return xp.linalg.eigvals(input).astype(dtype), xp.zeros(0, dtype)
    except np.linalg.LinAlgError:
        raise errors.invalid_argument(
            "Eigen decomposition was not successful. The input might not be valid."
        ) from None


@eig.gradient
def _(op: Operation, grad_e: Tensor, grad_v: Tensor) -> Gradients:
    with control_dependencies([grad_e, grad_v]):
        if op.get_attr("compute_v"):
            e, v = op.outputs
            flipped = _adjoint_of(v)
            f = math_ops.conj(_differences_reciprocal(e))
            product = math_ops.matmul(flipped, grad_v)
            middle = array_ops.matrix_diag(grad_e)
            diagonal = array_ops.matrix_diag(
                array_ops.matrix_diag_part(math_ops.cast(math_ops.real(product), product.dtype))
            )
            gram = math_ops.matmul(flipped, v)
            middle += f * (product - math_ops.matmul(gram, diagonal))
        else:
            _, v = eig(op.inputs[0], Tout=op.outputs[0].dtype)
            flipped = _adjoint_of(v)
            middle = array_ops.matrix_diag(grad_e)
        grad = matrix_solve(flipped, math_ops.matmul(middle, flipped))
        return math_ops.cast(grad, op.inputs[0].dtype)


def _svd_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.with_rank_at_least(0, 2).dim_values
    wants_vectors = c.attr("compute_uv")
    vectors = UNKNOWN_SHAPE if wants_vectors else TensorShape([0])
    if dims is None:
        return [UNKNOWN_SHAPE, vectors, vectors]
    batch, (rows, columns) = dims[:-2], dims[-2:]
    least = _smaller(rows, columns)
    values = TensorShape([*batch, least])
    if not wants_vectors:
        return [values, vectors, vectors]
    full = c.attr("full_matrices")
    u = TensorShape([*batch, rows, rows if full else least])
    return [values, u, TensorShape([*batch, columns, columns if full else least])]


def _svd(xp: Xp, a: Array, wants_vectors: bool, full: bool) -> tuple[Array, Array, Array]:
    # With infinities, LAPACK may never return.
    invalid = ~xp.isfinite(a).all(axis=(-2, -1)) if xp is np else None
    if invalid is not None and invalid.any():
        valid = xp.where(invalid[..., None, None], 0, a).astype(a.dtype)
        results = _svd(xp, valid, wants_vectors, full)
        for result in results if wants_vectors else results[:1]:
            result[invalid] = np.nan
        return results
    if not wants_vectors:
        return xp.linalg.svd(a, compute_uv=False).astype(a.dtype), *_no_vectors(xp, a.dtype)
    u, s, v = xp.linalg.svd(a, full_matrices=full)
    return s.astype(a.dtype), u, adjoint(xp, v)


def _no_vectors(xp: Xp, dtype: Attr) -> tuple[Array, Array]:
    """Return the placeholders for vectors that were not requested.

    They are scalars, though the static shape is [0].
    """
    return xp.zeros((), dtype), xp.zeros((), dtype)


@register_op(
    "Svd",
    "input: T -> s: T, u: T, v: T",
    "compute_uv: bool = true",
    "full_matrices: bool = false",
    _TYPES,
    shape=_svd_shape,
)
def svd_op(
    xp: Xp, input: Array, *, compute_uv: bool, full_matrices: bool
) -> tuple[Array, Array, Array]:
    """Return falling singular values and the singular vectors of both sides, as columns."""
    require_matrices(input)
    if not input.size:
        rows, columns = input.shape[-2:]
        s = xp.zeros((*input.shape[:-2], min(rows, columns)), input.dtype)
        if not compute_uv:
            return s, *_no_vectors(xp, input.dtype)
        u, v = identity(xp, input, rows), identity(xp, input, columns)
        return (s, u, v) if full_matrices else (s, u[..., : s.shape[-1]], v[..., : s.shape[-1]])
    result: tuple[Array, Array, Array] = in_float32(
        lambda a: _svd(xp, a, compute_uv, full_matrices), input
    )
    return result


@svd_op.gradient
def _(op: Operation, grad_s: Tensor, grad_u: Tensor, grad_v: Tensor) -> Gradients:
    a = op.inputs[0]
    a_shape = a.get_shape().with_rank_at_least(2)
    grad_s = math_ops.cast(grad_s, a.dtype)
    of_values = array_ops.matrix_diag(grad_s)
    if not op.get_attr("compute_uv"):
        _, u, v = svd_op(a, compute_uv=True)
        grad = math_ops.matmul(u, math_ops.matmul(of_values, v, adjoint_b=True))
        grad.set_shape(a_shape)
        return grad
    full = op.get_attr("full_matrices")
    dims = a_shape.dim_values
    rows, columns = (None, None) if dims is None else dims[-2:]
    if rows is None or columns is None:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    s, u, v = op.outputs
    s = math_ops.cast(s, a.dtype)
    is_tall = rows > columns
    if is_tall:
        # The gradient of a tall matrix is the adjoint of the gradient of its adjoint.
        rows, columns = columns, rows
        u, v, grad_u, grad_v = v, u, grad_v, grad_u
    with control_dependencies([grad_s, grad_u, grad_v]):
        if full and columns - rows > 1:
            raise NotImplementedError(
                "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True. "
                f"Received: m={rows} and n={columns} from op input={a} with shape={a_shape}."
            )
        grad = _wide_svd_gradient((s, u, v), of_values, grad_u, grad_v, rows, columns, full)
        if is_tall:
            grad = array_ops.matrix_transpose(grad, conjugate=True)
        grad.set_shape(a_shape)
        return grad


def _wide_svd_gradient(
    parts: tuple[TensorLike, TensorLike, TensorLike],
    of_values: Any,
    grad_u: TensorLike,
    grad_v: Any,
    rows: int,
    columns: int,
    full: bool,
) -> Any:
    s, u, v = parts
    values = array_ops.matrix_diag(s)
    squares = math_ops.square(s)
    # TensorFlow adds this node here, and uses it only for complex matrices.
    shape = array_ops.shape(s)
    f = _differences_reciprocal(squares)
    inverse = array_ops.matrix_diag(_safe_reciprocal(s))
    v1, grad_v1 = v[..., :, :rows], grad_v[..., :, :rows]
    of_u = math_ops.matmul(u, grad_u, adjoint_a=True)
    of_v = math_ops.matmul(v1, grad_v1, adjoint_a=True)
    f_u, f_v = f * of_u, f * of_v
    inner = of_values + math_ops.matmul(f_u + _adjoint_of(f_u), values)
    inner += math_ops.matmul(values, f_v + _adjoint_of(f_v))
    grad = math_ops.matmul(u, math_ops.matmul(inner, v1, adjoint_b=True))
    if rows != columns:
        flipped = array_ops.matrix_transpose(grad_v1, conjugate=True)
        rest = flipped - math_ops.matmul(math_ops.matmul(flipped, v1), v1, adjoint_b=True)
        if full:
            v2, grad_v2 = v[..., :, rows:columns], grad_v[..., :, rows:columns]
            product = math_ops.matmul(v1, grad_v2, adjoint_a=True)
            rest -= math_ops.matmul(product, v2, adjoint_b=True)
        grad += math_ops.matmul(math_ops.matmul(u, inverse), rest)
    if u.dtype.is_complex:
        from tfnb.ops.linalg.matrix_functions import eye

        diagonal = eye(shape[-1], batch_shape=shape[:-1], dtype=u.dtype) * of_v
        phases = math_ops.matmul(inverse, _adjoint_of(diagonal) - diagonal)
        grad += 0.5 * math_ops.matmul(u, math_ops.matmul(phases, v1, adjoint_b=True))
    return grad


# ----------------------------------------------------------------------------- roots and logarithms


def _square_root(xp: Xp, a: Array) -> Array:
    """Return the principal square roots, by the scaled iteration of Denman and Beavers.

    Where it does not converge, Schur's form gives the roots.
    """
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    work = a.astype(wide)
    size = a.shape[-1]
    unit = identity(xp, work, size)
    root, product = work, work
    for _ in range(100):
        try:
            inverse = xp.linalg.inv(product)
        except np.linalg.LinAlgError:
            if a.ndim == 2:
                return xp.asarray(_schur_root(to_host(work))).astype(a.dtype)
            return xp.stack([_square_root(xp, one) for one in a])
        _, magnitude = xp.linalg.slogdet(product)
        scale = xp.exp(-magnitude / (2 * size))[..., None, None]
        scale = xp.where(abs(scale - 1) < 1e-2, 1.0, scale)
        previous = root
        root = 0.5 * scale * xp.matmul(root, unit + inverse / scale**2)
        product = 0.5 * (unit + 0.5 * (scale**2 * product + inverse / scale**2))
        change = abs(root - previous).max(axis=(-2, -1))
        # A matrix with NaN is finished; the others of its batch continue.
        goes_on = change > 1e-14 * abs(root).max(axis=(-2, -1))
        if not goes_on.any():
            break
    failed = goes_on | ~xp.isfinite(root).all(axis=(-2, -1))
    for place in np.ndindex(a.shape[:-2]) if failed.any() else ():
        if failed[place]:
            root[place] = xp.asarray(_schur_root(to_host(work[place])))
    return root.astype(a.dtype)


def _schur_root(a: Array) -> Array:
    """Return the root of one matrix, which may be singular or have negative eigenvalues."""
    size = len(a)
    try:
        values = np.linalg.eigvals(a)
        if a.dtype.kind == "f" and (values[values.imag == 0].real < 0).any():
            return np.full_like(a, np.nan)  # the root is complex
        # Schur's form, computed one eigenvector at a time, next to the remaining matrix.
        form, basis = a.astype(np.complex128), np.eye(size, dtype=np.complex128)
        for i in range(size - 1):
            vectors = np.linalg.eig(form[i:, i:])[1]
            turn = np.linalg.qr(vectors[:, :1], "complete")[0]
            form[:, i:] = form[:, i:] @ turn
            form[i:] = adjoint(np, turn) @ form[i:]
            basis[:, i:] = basis[:, i:] @ turn
        # Adding 0 avoids an imaginary part of -0, which would select the other root.
        root = np.diag(np.sqrt(np.diag(form) + 0))
        for i in range(1, size):
            factor = root[:i, :i] + root[i, i] * np.eye(i)
            root[:i, i] = np.linalg.solve(factor, form[:i, i])
    except np.linalg.LinAlgError:
        return np.full_like(a, np.nan)
    root = basis @ root @ adjoint(np, basis)
    return root if a.dtype.kind == "c" else root.real


@register_op("MatrixSquareRoot", "input: T -> output: T", _TYPES, shape=square_shape)
def matrix_square_root(xp: Xp, input: Array) -> Array:
    """Return the principal square roots of matrices; NaN for those without one."""
    require_square(input)
    if not input.size:
        return input
    return _square_root(xp, input)


def _kronecker(a: TensorLike, b: TensorLike) -> TensorResult:
    """Return the Kronecker products of matrices."""
    shape_a, shape_b = array_ops.shape(a), array_ops.shape(b)
    order_a, order_b = shape_a[-1], shape_b[-1]
    batch = array_ops.slice(shape_a, [0], [math_ops.subtract(array_ops.size(shape_a), 2)])
    left_shape = array_ops.concat([batch, [order_a], [1], [order_a], [1]], 0)
    right_shape = array_ops.concat([batch, [1], [order_b], [1], [order_b]], 0)
    left, right = array_ops.reshape(a, left_shape), array_ops.reshape(b, right_shape)
    order = order_a * order_b
    whole = array_ops.concat([batch, [order], [order]], 0)
    return array_ops.reshape(left * right, whole)


@matrix_square_root.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.linalg.matrix_functions import eye

    # Sylvester's equation, grad_a root^T + root^T grad_a = grad, as an equation of vectors.
    root = op.outputs[0]
    shape = array_ops.shape(root)
    order = shape[-1]
    count = math_ops.reduce_prod(shape[0:-2])
    unit = array_ops.reshape(eye(order, dtype=root.dtype), [-1])
    unit = array_ops.reshape(array_ops.tile(unit, [count]), shape)
    flipped = array_ops.matrix_transpose(root)
    first = _kronecker(unit, flipped)
    system = math_ops.add(first, _kronecker(root, unit))
    batch = array_ops.slice(shape, [0], [math_ops.subtract(array_ops.size(shape), 2)])
    vector_shape = array_ops.concat([batch, [order * order], [1]], 0)
    vector = array_ops.reshape(array_ops.matrix_transpose(grad), vector_shape)
    solved = array_ops.reshape(matrix_solve(system, vector), shape)
    return array_ops.matrix_transpose(solved)


def _logarithm(xp: Xp, a: Array) -> Array:
    """Return logarithms: take square roots until a quadrature of log(1 + x) is exact."""
    work = a.astype(np.complex128)
    unit = identity(xp, work, a.shape[-1])
    roots, lost = 0, xp.zeros((*a.shape[:-2], 1, 1), bool)

    def without_nan(work: Array) -> Array:
        nonlocal lost
        lost = lost | ~xp.isfinite(work).all(axis=(-2, -1), keepdims=True)
        return xp.where(lost, unit, work)

    work = without_nan(work)
    while roots < 60 and abs(work - unit).sum(axis=-2).max() > 0.25:
        work = without_nan(_square_root(xp, work))
        roots += 1
    lost |= abs(work - unit).sum(axis=-2, keepdims=True).max(axis=-1, keepdims=True) > 0.25
    rest = xp.where(lost, 0, work - unit)
    total = xp.zeros_like(work)
    points, weights = np.polynomial.legendre.leggauss(10)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        total += weight * xp.linalg.solve(unit + point * rest, rest)
    return xp.where(lost, np.nan, total * 2.0**roots).astype(a.dtype)


@register_op(
    "MatrixLogarithm", "input: T -> output: T", "T: {complex64, complex128}", shape=square_shape
)
def matrix_logarithm(xp: Xp, input: Array) -> Array:
    """Return the principal logarithms of matrices."""
    require_square(input)
    return _logarithm(xp, input) if input.size else input
