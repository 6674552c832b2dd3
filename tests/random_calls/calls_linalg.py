"""Random calls of decompositions of matrices and of solvers; vectors up to their signs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Sample, op
from tests.random_calls.draws import Draw, calls

_WORDS = "float32 float32 float64 complex64 complex128"


def _loose(row: Sample, word: str, **more: Any) -> Sample:
    wide = word in ("float64", "complex128")
    return replace(row, rtol=1e-7 if wide else 2e-3, atol=1e-7 if wide else 2e-3, **more)


def _matrices(d: Draw, word: str, rows: int, columns: int, head: tuple[int, ...] = ()) -> Any:
    target = np.dtype(NUMPY_TYPES[word])
    x = d.random.uniform(-2, 2, (*head, rows, columns))
    if target.kind == "c":
        x = x + 1j * d.random.uniform(-2, 2, x.shape)
    return x.astype(target)


def _well(d: Draw, word: str, size: int, head: tuple[int, ...] = ()) -> Any:
    """Square matrices far from singular ones."""
    return (_matrices(d, word, size, size, head) + 5 * np.eye(size)).astype(NUMPY_TYPES[word])


@calls("Svd")
def _svd(d: Draw, name: str) -> Sample:
    word = d.one(_WORDS)
    x = _matrices(d, word, d.number(0 if d.chance(0.1) else 1, 4), d.number(1, 4), d.shape(0, 2, 2))
    row = op(name, x, compute_uv=d.chance(0.5), full_matrices=d.chance(0.5))
    # The vectors' signs are arbitrary, and so is the gradient for an incoming gradient of the
    # vectors.
    return _loose(row, word, undefined=(1, 2), gradient=not row.attrs["compute_uv"])


@calls("Qr")
def _qr(d: Draw, name: str) -> Sample:
    word = d.one(_WORDS)
    x = _matrices(d, word, d.number(0 if d.chance(0.1) else 1, 4), d.number(1, 4), d.shape(0, 2, 2))
    # The gradient of a matrix that is wider than high is refused.
    return _loose(op(name, x, full_matrices=d.chance(0.5)), word, gradient="complex" not in word)


@calls("Lu")
def _lu(d: Draw, name: str) -> Sample:
    word = d.one(_WORDS)
    x = _matrices(d, word, *([d.number(1, 4)] * 2), d.shape(0, 2, 2))
    return _loose(op(name, x, output_idx_type=d.one("int32 int64")), word)


@calls("MatrixSquareRoot MatrixLogarithm")
def _functions(d: Draw, name: str) -> Sample:
    word = d.one("complex64 complex128" if name == "MatrixLogarithm" else _WORDS)
    size = d.number(0 if d.chance(0.1) else 1, 4)
    x = _well(d, word, size, d.shape(0, 1, 2))
    return _loose(op(name, x.astype(NUMPY_TYPES[word])), word)


@calls("BandedTriangularSolve")
def _banded(d: Draw, name: str) -> Sample:
    word, size, bands = d.one(_WORDS), d.number(1, 5), d.number(1, 3)
    bands = min(bands, size)
    head = d.shape(0, 1, 2)
    matrix = _matrices(d, word, bands, size, head)
    lower, adjoint = d.chance(0.5), d.chance(0.5)
    matrix[..., 0 if lower else -1, :] += 4
    right = _matrices(d, word, size, d.number(1, 3), head)
    return _loose(op(name, matrix, right, lower=lower, adjoint=adjoint), word)


@calls("TridiagonalSolve TridiagonalMatMul")
def _tridiagonal(d: Draw, name: str) -> Sample:
    word, size = d.one(_WORDS), d.number(1, 5)
    head = d.shape(0, 1, 2)
    diagonals = _matrices(d, word, 3, size, head)
    diagonals[..., 1, :] += 6
    right = _matrices(d, word, size, d.number(1, 3), head)
    if name == "TridiagonalSolve":
        attrs = {"partial_pivoting": d.chance(0.7)}
        return _loose(op(name, diagonals, right, **attrs), word)
    parts = [diagonals[..., k : k + 1, :] for k in range(3)]
    return _loose(op(name, *parts, right), word)


@calls("Eig")
def _eig(d: Draw, name: str) -> Sample:
    word = d.one("float32 float64 complex64 complex128")
    # Triangular matrices, whose eigenvalues have an order that small errors do not change.
    size = d.number(1, 4)
    x = np.triu(_matrices(d, word, size, size), 1)
    x = x + np.diag(np.arange(1, size + 1)).astype(x.dtype)
    wide = "complex128" if word in ("float64", "complex128") else "complex64"
    row = op(name, x, Tout=wide, compute_v=d.chance(0.5))
    return _loose(row, word, undefined=(1,), gradient=False)
