"""Ops on matrices that only old graphs contain: the Batch ops, with their successors' kernels.

Corresponds to the ends of TensorFlow's ``linalg_ops.cc``, ``array_ops.cc`` and ``spectral_ops.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import matrix_diag_ops as diagonals
from tfnb.ops.linalg import matrix_decomposition_ops as decompositions
from tfnb.ops.linalg import matrix_solve_ops as solvers
from tfnb.ops.linalg.matrices import (
    adjoint,
    identity,
    in_float32,
    require_square,
    square_dims,
    square_shape,
)

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp

_REAL = "T: {double, float}"
_UNARY = "input: T -> output: T"


def _batch(
    of: OpDefinition, signature: str, *specs: str, version: int = 13, instead: str = ""
) -> OpDefinition:
    """Return the Batch op, which was replaced by ``of`` in GraphDefs of this version."""
    advice = f"Use {instead or of.name}{' instead.' if version < 14 else ''}"
    register = register_op(
        f"Batch{of.name}",
        signature,
        *specs,
        shape=of.shape_function,
        devices=("CPU",),
        deprecated=(version, advice),
    )
    return register(of.kernels["CPU"])


_batch(decompositions.cholesky, _UNARY, _REAL)
_batch(
    solvers.matrix_determinant,
    _UNARY,
    "T: {float, double, complex64, complex128}",
)
_batch(solvers.matrix_inverse, _UNARY, "adjoint: bool = false", _REAL)
_batch(solvers.matrix_solve, "matrix: T, rhs: T -> output: T", "adjoint: bool = false", _REAL)
_batch(
    solvers.matrix_solve_ls_op,
    "matrix: T, rhs: T, l2_regularizer: double -> output: T",
    _REAL,
    "fast: bool = true",
)
_batch(
    solvers.matrix_triangular_solve,
    "matrix: T, rhs: T -> output: T",
    "lower: bool = true",
    "adjoint: bool = false",
    _REAL,
)
_batch(
    decompositions.self_adjoint_eig_v2,
    "input: T -> e: T, v: T",
    "compute_v: bool = true",
    _REAL,
)
_batch(
    decompositions.svd_op,
    "input: T -> s: T, u: T, v: T",
    "compute_uv: bool = true",
    "full_matrices: bool = false",
    "T: {double, float, complex64, complex128}",
)
_batch(
    diagonals.matrix_band_part,
    "input: T, num_lower: int64, num_upper: int64 -> band: T",
    "T: type",
    version=14,
)
_batch(diagonals.matrix_diag_op, "diagonal: T -> output: T", "T: type", version=14)
_batch(diagonals.matrix_diag_part_op, "input: T -> diagonal: T", "T: type", version=14)
_batch(diagonals.matrix_set_diag_op, "input: T, diagonal: T -> output: T", "T: type", version=14)

# These ops have only a signature, so that graphs can be read; TensorFlow has no kernels either.
for _rank in ("", "2D", "3D"):
    for _name in (f"FFT{_rank}", f"IFFT{_rank}"):
        register_op(
            f"Batch{_name}",
            "input: complex64 -> output: complex64",
            deprecated=(15, f"Use {_name}"),
        )(None)


# ------------------------------------------------------------------------------------- eigenvalues


def _stacked_shape(c: InferenceContext) -> TensorShape:
    found = square_dims(c)
    if found is None:
        return UNKNOWN_SHAPE
    batch, size = found
    return TensorShape([*batch, None if size is None else size + 1, size])


def _eigen(name: str, types: str) -> OpDefinition:
    register = register_op(
        name,
        _UNARY,
        types,
        shape=_stacked_shape,
        devices=("CPU",),
        deprecated=(11, "Use SelfAdjointEigV2 instead."),
    )
    return register(_eigenvalues_and_vectors)


def _eigenvalues_and_vectors(xp: Xp, input: Array) -> Array:
    """Return eigenvalues as a first row, above the eigenvectors, which are columns."""
    values, vectors = decompositions.self_adjoint_eig_v2.kernels["CPU"](xp, input, compute_v=True)
    return xp.concatenate([values[..., None, :], vectors], axis=-2)


self_adjoint_eig = _eigen("SelfAdjointEig", "T: {double, float, half}")
batch_self_adjoint_eig = _eigen("BatchSelfAdjointEig", _REAL)


# --------------------------------------------------------------------------- gradient, exponential


def _cholesky_slope(xp: Xp, lower: Array, grad: Array) -> Array:
    middle = xp.tril(adjoint(xp, lower) @ xp.tril(grad))
    middle *= 1 - identity(xp, middle, middle.shape[-1]) / 2
    try:
        inverse = xp.linalg.inv(lower)
    except np.linalg.LinAlgError:
        return xp.full_like(lower, np.nan)
    slope = adjoint(xp, inverse) @ middle @ inverse
    return ((slope + adjoint(xp, slope)) / 2).astype(lower.dtype)


@register_op(
    "CholeskyGrad",
    "l: T, grad: T -> output: T",
    "T: {half, float, double}",
    shape=square_shape,
    devices=("CPU",),
)
def cholesky_grad(xp: Xp, l: Array, grad: Array) -> Array:  # noqa: E741
    """Return the gradient of Cholesky by its input, given its result."""
    require_square(l)
    if l.shape[:-2] != grad.shape[:-2]:
        raise errors.invalid_argument("All input tensors must have the same outer dimensions.")
    return in_float32(lambda *a: _cholesky_slope(xp, *a), l, grad) if l.size else l


register_op(
    "BatchCholeskyGrad",
    "l: T, grad: T -> output: T",
    "T: {float, double}",
    shape=square_shape,
    devices=("CPU",),
    deprecated=(13, "Use CholeskyGrad instead."),
)(cholesky_grad.kernels["CPU"])


def _exponential(xp: Xp, a: Array) -> Array:
    """Return exp of matrices: Taylor's series of the matrix times 2**-k, squared k times."""
    work = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    if not xp.isfinite(work).all():
        return xp.full_like(a, np.nan)
    norm = abs(work).sum(axis=-2).max()
    squarings = max(0, int(np.ceil(np.log2(norm))) + 2) if norm else 0
    work = work / 2.0**squarings
    total = term = identity(xp, work, work.shape[-1])
    for power in range(1, 19):
        term = term @ work / power
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return total.astype(a.dtype)


@register_op(
    "MatrixExponential",
    _UNARY,
    "T: {double, float, half, complex64, complex128}",
    shape=square_shape,
    devices=("CPU",),
    deprecated=(27, "Use Python implementation tf.linalg.matrix_exponential instead."),
)
def matrix_exponential_op(xp: Xp, input: Array) -> Array:
    """Return the exponentials of square matrices."""
    require_square(input)
    return _exponential(xp, input) if input.size else input
