"""Rows for the ops of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests import exact_numbers
from tests.ops.samples import Sample, checked, normal, op, sweep

NAN = float("nan")
ALL = "half float double complex64 complex128"

SAMPLES: list[Sample | list[Sample]] = []


def _well(*shape: int, seed: int = 0) -> Any:
    """Square matrices far from singular."""
    return normal(*shape, seed=seed) + 3 * np.eye(shape[-1], dtype=np.float32)


def _positive(*shape: int, seed: int = 0) -> Any:
    a = normal(*shape, seed=seed)
    return exact_numbers.matmul(a, a.swapaxes(-1, -2)) + np.eye(shape[-1], dtype=np.float32)


_COMPLEX = (_well(3, 3) + 1j * normal(3, 3, seed=4)).astype(np.complex128)


def _square_ops() -> None:
    for name in ("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant"):
        SAMPLES.append(checked(sweep("float complex64", name, _well(3, 3)), rtol=1e-4))
        SAMPLES.append(checked(sweep("double complex128", name, _well(2, 2, 4, 4)), rtol=1e-9))
        SAMPLES.append(checked(op(name, _well(3, 3).astype(np.float16)), rtol=2e-2, gradient=False))
        SAMPLES.append(checked(op(name, _COMPLEX), rtol=1e-9))
        SAMPLES.append(op(name, normal(2, 3), error="must be square|must be equal"))
        SAMPLES.append(op(name, normal(3), error="rank"))
        SAMPLES.append(op(name, np.zeros((0, 0), np.float32)))
        SAMPLES.append(op(name, np.zeros((0, 2, 2), np.float32)))
        SAMPLES.append(checked(op(name, np.zeros((2, 0, 0), np.float32)), gradient=False))
    SAMPLES.append(checked(op("MatrixInverse", _COMPLEX, adjoint=True), rtol=1e-9))
    SAMPLES.append(checked(op("MatrixInverse", _well(3, 3), adjoint=True), rtol=1e-4))
    SAMPLES.append(op("MatrixInverse", [[1.0, 2.0], [2.0, 4.0]], error="not invertible"))
    SAMPLES.append(op("MatrixInverse", [[NAN, 2.0], [2.0, 4.0]], error="not invertible"))
    for name in ("MatrixDeterminant", "LogMatrixDeterminant"):
        SAMPLES.append(checked(op(name, [[1.0, 2.0], [2.0, 4.0]]), gradient=False))
        SAMPLES.append(checked(op(name, [[NAN, 2.0], [2.0, 4.0]]), gradient=False))
    roots = _positive(3, 3).astype(np.float64)
    SAMPLES.append(checked(op("MatrixSquareRoot", roots), rtol=1e-8))
    SAMPLES.append(checked(op("MatrixSquareRoot", np.stack([roots, 2 * roots])), rtol=1e-8))
    SAMPLES.append(checked(op("MatrixSquareRoot", _positive(3, 3)), rtol=1e-3))
    SAMPLES.append(checked(op("MatrixSquareRoot", _COMPLEX), rtol=1e-8))
    SAMPLES.append(checked(op("MatrixSquareRoot", [[4.0, 1.0], [0.0, 4.0]]), rtol=1e-4))
    singular = [[0.0, 2.0, 1.0], [0.0, 4.0, 3.0], [0.0, 0.0, 9.0]]
    SAMPLES.append(checked(op("MatrixSquareRoot", singular), rtol=1e-5, gradient=False))
    # The first matrix of the batch has no real root, the second one has.
    swapped = [[[1.0, 3.0], [4.0, -2.0]], [[5.0, 1.0], [1.0, 2.0]]]
    SAMPLES.append(checked(op("MatrixSquareRoot", swapped), rtol=1e-5, gradient=False))
    negative = np.array([[-4.0, 1.0, 2.0], [0.0, -4.0, 0.0], [0.0, 1.0, 1.0]], np.complex128)
    SAMPLES.append(checked(op("MatrixSquareRoot", negative), rtol=1e-7, atol=1e-9))
    SAMPLES.append(checked(op("MatrixLogarithm", negative), rtol=1e-7, atol=1e-9))
    SAMPLES.append(checked(op("MatrixLogarithm", np.diag([0, 1, 1j])), gradient=False))
    SAMPLES.append(checked(op("MatrixLogarithm", _COMPLEX), rtol=1e-8, atol=1e-9))
    SAMPLES.append(checked(op("MatrixLogarithm", _COMPLEX.astype(np.complex64)), rtol=1e-4))
    SAMPLES.append(op("MatrixLogarithm", normal(2, 3).astype(np.complex64), error="square|equal"))


def _solutions() -> None:
    flags: dict[str, Any]
    for dtype, rtol in (("float", 1e-3), ("double", 1e-9), ("complex128", 1e-9)):
        for adjoint in (False, True):
            SAMPLES.append(
                checked(
                    sweep(dtype, "MatrixSolve", _well(4, 4), normal(4, 2), adjoint=adjoint),
                    rtol=rtol,
                )
            )
            for lower in (False, True):
                flags = {"adjoint": adjoint, "lower": lower}
                name = "MatrixTriangularSolve"
                a, b = _well(4, 4), normal(4, 3, seed=2)
                SAMPLES.append(checked(sweep(dtype, name, a, b, **flags), rtol=rtol))
                bands = normal(3, 5) + (np.arange(3) == (0 if lower else 2))[:, None] * 4
                rhs = normal(5, 2, seed=1)
                name = "BandedTriangularSolve"
                SAMPLES.append(checked(sweep(dtype, name, bands, rhs, **flags), rtol=rtol))
    SAMPLES.append(checked(op("MatrixSolve", _COMPLEX, _COMPLEX[:, :2], adjoint=True), rtol=1e-9))
    SAMPLES.append(checked(op("MatrixSolve", _well(2, 3, 3), normal(2, 3, 1)), rtol=1e-3))
    SAMPLES.append(op("MatrixSolve", np.ones((2, 2)), normal(2, 1).astype(float), error="invert"))
    SAMPLES.append(op("MatrixSolve", normal(2, 3), normal(2, 1), error="square|equal"))
    SAMPLES.append(op("MatrixSolve", normal(2, 2), normal(3, 1), error="incompatible|equal"))
    SAMPLES.append(op("MatrixSolve", normal(2, 2, 2), normal(2, 2), error="rank"))
    SAMPLES.append(op("MatrixSolve", np.zeros((0, 0), np.float32), np.zeros((0, 3), np.float32)))
    name = "MatrixTriangularSolve"
    options: list[dict[str, Any]] = [{"lower": True}, {"lower": False}, {"adjoint": True}]
    for flags in options:
        a = np.eye(40) * 9 + normal(40, 40)
        SAMPLES.append(checked(op(name, a, normal(40, 3).astype(float), **flags), rtol=1e-9))
        SAMPLES.append(checked(op(name, _COMPLEX, _COMPLEX[:, :2], **flags), rtol=1e-9))
    SAMPLES.append(checked(op(name, _well(2, 1, 3, 3), normal(4, 3, 2)), rtol=1e-3))
    SAMPLES.append(checked(op(name, _well(3, 3), normal(4, 3, 2)), rtol=1e-3))
    SAMPLES.append(checked(op(name, np.zeros((2, 2), np.float32), normal(2, 1)), gradient=False))
    SAMPLES.append(op(name, normal(2, 3), normal(2, 1), error="square|equal"))
    SAMPLES.append(op(name, normal(2, 2), normal(3, 1), error="mismatch|equal"))
    SAMPLES.append(op(name, normal(2, 2, 2), normal(3, 2, 1), error="compatible|equal"))
    SAMPLES.append(op(name, normal(2, 2), normal(2), error="ndims|rank"))
    name = "BandedTriangularSolve"
    SAMPLES.append(op(name, [[0.0, 2, 2], [1, 1, 1]], normal(3, 1), error="invertible"))
    SAMPLES.append(op(name, [[1.0, 2, 2], [1, 1, 1]], normal(2, 1), error="mismatch|equal"))
    SAMPLES.append(checked(op(name, _well(2, 3, 3) + 2, normal(1, 3, 2)), rtol=1e-3))


def _least_squares() -> None:
    name = "MatrixSolveLs"
    for shape in ((5, 3), (3, 5), (4, 4)):
        a, b = normal(*shape).astype(float), normal(shape[0], 2, seed=3).astype(float)
        SAMPLES.append(checked(op(name, a, b, np.float64(0.5)), rtol=1e-8))
        SAMPLES.append(checked(op(name, a, b, np.float64(0.0)), rtol=1e-7))
        SAMPLES.append(
            checked(op(name, a, b, np.float64(0.0), fast=False), rtol=1e-8, gradient=False)
        )
        SAMPLES.append(
            checked(op(name, a.astype("f4"), b.astype("f4"), np.float64(0.5)), rtol=1e-3)
        )
    ones = np.ones((2, 2))
    SAMPLES.append(checked(op(name, ones, ones, np.float64(0), fast=False), gradient=False))
    SAMPLES.append(op(name, np.zeros((2, 2)), ones, np.float64(0), error="rank deficient"))
    SAMPLES.append(op(name, ones, ones, np.float64(-1), error="must be >= 0"))
    SAMPLES.append(op(name, ones, np.ones((3, 2)), np.float64(0), error="incompatible|equal"))


def _tridiagonal() -> None:
    flags: dict[str, Any]
    name = "TridiagonalSolve"
    diagonals = normal(2, 3, 6).astype(float)
    rhs = normal(2, 6, 2, seed=5).astype(float)
    options: list[dict[str, Any]] = [{}, {"partial_pivoting": False}]
    for flags in options:
        SAMPLES.append(checked(op(name, diagonals, rhs, **flags), rtol=1e-7))
        SAMPLES.append(checked(op(name, diagonals[0], rhs[0], **flags), rtol=1e-7))
        c = diagonals + 1j * normal(2, 3, 6, seed=8)
        SAMPLES.append(checked(op(name, c, rhs + 0j, **flags), rtol=1e-7))
        SAMPLES.append(
            checked(op(name, np.zeros((3, 3)), np.ones((3, 2)), **flags), gradient=False)
        )
        SAMPLES.append(op(name, diagonals[0, :, :1], rhs[0, :1], **flags))
        SAMPLES.append(op(name, diagonals[0, :, :2], rhs[0, :2], **flags))
    SAMPLES.append(
        checked(op(name, np.zeros((3, 3)), np.ones((3, 2)), perturb_singular=True), gradient=False)
    )
    SAMPLES.append(op(name, normal(2, 3), normal(3, 2), error="3 rows|equal"))
    SAMPLES.append(op(name, normal(3, 2), normal(3, 2), error="same number|equal"))
    name = "TridiagonalMatMul"
    for dtype in (np.float32, np.float64, np.complex64):
        d = [normal(2, 1, 4, seed=i).astype(dtype) for i in range(3)]
        SAMPLES.append(checked(op(name, *d, normal(2, 4, 3).astype(dtype)), rtol=1e-5))
    SAMPLES.append(
        op(name, normal(1, 2), normal(1, 3), normal(1, 3), normal(3, 1), error="Invalid|equal")
    )


def _decompositions() -> None:
    for dtype, rtol in (("half", 5e-2), ("float", 1e-3), ("double", 1e-9), ("complex128", 1e-9)):
        gradient = dtype != "half"
        SAMPLES.append(
            checked(sweep(dtype, "Cholesky", _positive(4, 4)), rtol=rtol, gradient=gradient)
        )
        for shape in ((4, 4), (4, 2), (2, 4), (2, 3, 2)):
            SAMPLES.extend(
                checked(
                    sweep(dtype, "Qr", normal(*shape), full_matrices=full),
                    rtol=rtol,
                    atol=rtol,
                    gradient=gradient and not (full and shape[-2] > shape[-1]),
                )
                for full in (False, True)
            )
            # The signs of vectors are arbitrary.
            only: dict[str, Any] = {"compute_uv": False}
            SAMPLES.append(
                checked(sweep(dtype, "Svd", normal(*shape), **only), rtol=rtol, undefined=(1, 2))
            )
        SAMPLES.append(
            checked(sweep(dtype, "Lu", _well(2, 4, 4)), rtol=rtol, atol=rtol, gradient=False)
        )
    positive = _positive(3, 3) + 1j * (normal(3, 3) - normal(3, 3).T) * 0.1
    for dtype, rtol in (("half", 5e-2), ("float", 1e-3), ("double", 1e-9)):
        lower = exact_numbers.cholesky(_positive(2, 3, 3))
        SAMPLES.append(checked(sweep(dtype, "CholeskyGrad", lower, normal(2, 3, 3)), rtol=rtol))
    SAMPLES.append(op("CholeskyGrad", np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32)))
    SAMPLES.append(op("CholeskyGrad", normal(2, 3), normal(2, 3), error="square|equal"))
    SAMPLES.append(checked(op("Cholesky", positive.astype(np.complex128)), rtol=1e-9))
    SAMPLES.append(checked(op("Cholesky", _positive(2, 3, 3)), rtol=1e-3))
    SAMPLES.append(checked(op("Qr", _COMPLEX), rtol=1e-9, atol=1e-9))
    SAMPLES.append(checked(op("Qr", np.zeros((2, 2), np.float32)), gradient=False))
    for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 0)):
        for full in (False, True):
            a = np.zeros(shape, np.float32)
            SAMPLES.append(checked(op("Qr", a, full_matrices=full), gradient=False))
            SAMPLES.append(checked(op("Svd", a, full_matrices=full), gradient=False))
    square = ("Cholesky", "Lu", "SelfAdjointEigV2")
    SAMPLES.extend(op(name, normal(3), error="rank") for name in ("Qr", "Svd", *square))
    SAMPLES.extend(op(name, normal(2, 3), error="square|equal") for name in square)
    SAMPLES.append(op("Lu", [[1.0, 2.0], [2.0, 4.0]], error="not invertible"))
    SAMPLES.append(op("Lu", _well(3, 3), output_idx_type="int64"))
    SAMPLES.append(op("SelfAdjointEigV2", [[NAN, 1.0], [1.0, 1.0]], error="not successful"))


_square_ops()
_solutions()
_least_squares()
_tridiagonal()
_decompositions()
