"""Decompositions with arbitrary signs or orders: their parts reconstruct the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf

_NUMBERS = np.random.default_rng(3)


def _random(*shape: int, dtype: str = "float64") -> Any:
    values = _NUMBERS.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * _NUMBERS.standard_normal(shape)
    return values.astype(dtype)


def _run(build: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


def _adjoint(a: Any) -> Any:
    return np.conj(a.swapaxes(-1, -2))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5), (5, 3)])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values_and_vectors_make_the_matrix(
    shape: tuple[int, ...], full: bool, dtype: str
) -> None:
    """U s V^H is the matrix, and the vectors are orthonormal."""
    a = _random(*shape, dtype=dtype)
    s, u, v = _run(lambda: tf.linalg.svd(a, full_matrices=full))
    least = min(shape[-2:])
    assert s.dtype == np.float64
    assert u.shape[-1] == (shape[-2] if full else least)
    assert v.shape[-1] == (shape[-1] if full else least)
    made = (u[..., :least] * s[..., None, :]) @ _adjoint(v[..., :least])
    np.testing.assert_allclose(made, a, atol=1e-12)
    np.testing.assert_allclose(
        _adjoint(v) @ v, np.eye(v.shape[-1]) + 0 * (_adjoint(v) @ v), atol=1e-12
    )
    assert (np.diff(s, axis=-1) <= 0).all()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvalues_and_vectors_of_symmetric_matrices_make_them(dtype: str) -> None:
    """Only lower triangles are read."""
    a = _random(2, 4, 4, dtype=dtype)
    symmetric = a + _adjoint(a)
    e, v = _run(lambda: tf.linalg.eigh(np.tril(symmetric)))
    np.testing.assert_allclose((v * e[..., None, :]) @ _adjoint(v), symmetric, atol=1e-12)
    only = _run(lambda: tf.self_adjoint_eigvals(symmetric))
    np.testing.assert_allclose(only, e, atol=1e-12)


def _gradient_agrees(build: Any, a: Any) -> None:
    """Compare the gradient with differences of values."""
    direction = _random(*a.shape)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, a.shape)
        y = build(x)
        (gradient,) = tf.gradients(y, x)
        slope = (session.run(gradient, {x: a}) * direction).sum()
        step = 1e-6
        values = [session.run(y, {x: a + sign * step * direction}) for sign in (1, -1)]
    np.testing.assert_allclose(slope, (values[0] - values[1]) / (2 * step), rtol=1e-6)


_W = _random(5, 5)


@pytest.mark.parametrize(
    ("shape", "full"), [((4, 4), False), ((3, 5), False), ((5, 3), False), ((4, 4), True)]
)
def test_gradients_of_singular_values_and_vectors(shape: tuple[int, int], full: bool) -> None:
    """Functions that do not depend on the vectors' signs are differentiated."""

    def build(x: Any) -> Any:
        s, u, v = tf.linalg.svd(x, full_matrices=full)
        least = min(shape)
        first, second = u[:, :least] * u[:, :least], v[:, :least] * v[:, :least]
        return (
            tf.reduce_sum(first * _W[: shape[0], :least])
            + tf.reduce_sum(second * _W[: shape[1], :least])
            + tf.reduce_sum(s**3)
        )

    _gradient_agrees(build, _random(*shape))
    _gradient_agrees(
        lambda x: tf.reduce_sum(tf.linalg.svd(x, compute_uv=False) ** 3), _random(*shape)
    )


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
def test_full_singular_vectors_of_a_long_matrix_have_no_gradient(shape: tuple[int, int]) -> None:
    """As in TensorFlow, where sides differ by more than one."""
    x = tf.placeholder(tf.float64, shape)
    _, u, v = tf.linalg.svd(x, full_matrices=True)
    with pytest.raises(NotImplementedError, match="full_matrices"):
        tf.gradients([u, v], x)


def test_gradients_of_eigenvalues_and_vectors() -> None:
    """Functions that do not depend on the vectors' signs are differentiated."""

    def build(x: Any) -> Any:
        e, v = tf.linalg.eigh(x + tf.linalg.adjoint(x))
        return tf.reduce_sum(e**3) + tf.reduce_sum(v * v * _W[:4, :4])

    _gradient_agrees(build, _random(4, 4))
    _gradient_agrees(
        lambda x: tf.reduce_sum(tf.linalg.eigvalsh(x + tf.linalg.adjoint(x)) ** 3), _random(4, 4)
    )


def test_triangles_make_the_matrix_and_solve_equations() -> None:
    """The parts of an LU decomposition give back the matrix, its inverse, and solutions."""
    a, b = _random(2, 4, 4), _random(2, 4, 3)

    def build() -> Any:
        lu, p = tf.linalg.lu(a)
        lu_0, p_0 = tf.linalg.lu(a[0])
        return (
            tf.linalg.lu_reconstruct(lu, p),
            tf.linalg.lu_matrix_inverse(lu, p),
            tf.linalg.lu_solve(lu, p, b),
            tf.linalg.lu_reconstruct(lu_0, p_0),
            tf.linalg.lu_solve(lu_0, p_0, b[0]),
        )

    made, inverse, solution, first, solved = _run(build)
    np.testing.assert_allclose(made, a, atol=1e-12)
    np.testing.assert_allclose(inverse @ a, np.broadcast_to(np.eye(4), a.shape), atol=1e-12)
    np.testing.assert_allclose(a @ solution, b, atol=1e-12)
    np.testing.assert_allclose(first, a[0], atol=1e-12)
    np.testing.assert_allclose(a[0] @ solved, b[0], atol=1e-12)


@pytest.mark.parametrize("scale", [0.001, 0.1, 0.7, 2.0, 30.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponentials(scale: float, dtype: str) -> None:
    """The exponential of a diagonalizable matrix is that of its eigenvalues."""
    a = _random(3, 3)
    symmetric = scale * (a + a.T) / np.linalg.norm(a + a.T)
    e, v = np.linalg.eigh(symmetric)
    wanted = (v * np.exp(e)) @ v.T
    found = _run(lambda: tf.linalg.expm(symmetric.astype(dtype)))
    rtol = 2e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * abs(wanted).max())


def test_pseudo_inverses_and_ranks() -> None:
    """A matrix of rank 2 is recognized."""
    a = _random(4, 2) @ _random(2, 3)
    inverse, rank = _run(lambda: (tf.linalg.pinv(a), tf.linalg.matrix_rank(a)))
    np.testing.assert_allclose(inverse, np.linalg.pinv(a), atol=1e-10)
    assert rank == 2


@pytest.mark.parametrize(
    ("order", "axis"),
    [
        *[(p, axis) for p in ("euclidean", 1, 2, np.inf, 3) for axis in (None, 0, -1)],
        *[(p, (0, 2)) for p in ("euclidean", "fro", 1, 2, np.inf)],
    ],
)
@pytest.mark.parametrize("keeps", [False, True])
def test_norms(order: Any, axis: Any, keeps: bool) -> None:
    """Norms over any axes equal NumPy's."""
    a = _random(3, 4, 5)
    found = _run(lambda: tf.norm(a, order, axis, keepdims=keeps))
    wanted: Any
    name: Any = 2 if order == "euclidean" else order
    if axis is None:
        wanted = np.linalg.norm(a.reshape(-1), name)
        wanted = wanted.reshape(1, 1, 1) if keeps else wanted
    else:
        name = "fro" if order == "euclidean" and axis == (0, 2) else name
        wanted = np.linalg.norm(a, name, axis, keeps)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert found.shape == np.shape(wanted)


def test_tridiagonal_equations_in_each_format() -> None:
    """The three formats of diagonals are equivalent."""
    matrix = np.diag(_random(5) + 5) + np.diag(_random(4), 1) + np.diag(_random(4), -1)
    rhs = _random(5, 2)
    wanted = np.linalg.solve(matrix, rhs)
    above, main, below = np.diag(matrix, 1), np.diag(matrix), np.diag(matrix, -1)
    compact = np.stack([np.append(above, 9), main, np.append(9, below)])

    def build() -> Any:
        sequence = [tf.constant(part) for part in (above, main, below)]
        return (
            tf.linalg.tridiagonal_solve(tf.constant(compact), tf.constant(rhs)),
            tf.linalg.tridiagonal_solve(sequence, tf.constant(rhs), "sequence"),
            tf.linalg.tridiagonal_solve(tf.constant(matrix), tf.constant(rhs), "matrix"),
            tf.linalg.tridiagonal_solve(
                tf.constant(compact), tf.constant(rhs.T), transpose_rhs=True
            ),
            tf.linalg.tridiagonal_matmul(tf.constant(compact), tf.constant(wanted)),
            tf.linalg.tridiagonal_matmul(tf.constant(matrix), tf.constant(wanted), "matrix"),
        )

    *solutions, product, other = _run(build)
    for solution in solutions:
        np.testing.assert_allclose(solution, wanted, rtol=1e-10)
    np.testing.assert_allclose(product, rhs, atol=1e-12)
    np.testing.assert_allclose(other, rhs, atol=1e-12)
