"""Linear operators: what their hints and arguments may be, and of which kind results are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TWO = np.array([[2.0, 1.0], [1.0, 3.0]])
_THREE = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]])


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    """A graph of its own."""
    with tf.Graph().as_default() as made:
        yield made


def _full(matrix: Any = _TWO, **hints: Any) -> Any:
    return tf.linalg.LinearOperatorFullMatrix(matrix, **hints)


_REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tf.linalg.LinearOperatorIdentity([2]), ValueError, "num_rows must be a 0-D Tensor"),
    (lambda: tf.linalg.LinearOperatorIdentity(-2), ValueError, "num_rows must be non-negative"),
    (lambda: tf.linalg.LinearOperatorIdentity(2.0), TypeError, "num_rows must be integer type"),
    (lambda: tf.linalg.LinearOperatorIdentity(2, batch_shape=2), ValueError, "must be a 1-D"),
    (lambda: tf.linalg.LinearOperatorIdentity(2, batch_shape=[-2]), ValueError, "non-negative"),
    (lambda: tf.linalg.LinearOperatorScaledIdentity([2], 1.0), ValueError, "must be a 0-D Tensor"),
    (lambda: tf.linalg.LinearOperatorZeros(2.0), TypeError, "num_rows must be integer type"),
    (lambda: tf.linalg.LinearOperatorZeros(2, -3), ValueError, "num_columns must be non-negative"),
    (lambda: tf.linalg.LinearOperatorZeros(2, 3), ValueError, "is_square=True, but got num_rows"),
    (lambda: tf.linalg.LinearOperatorHouseholder(1.0), ValueError, "at least 1 dimension"),
    (lambda: tf.linalg.LinearOperatorToeplitz(1.0, [1.0]), ValueError, "col must have at least 1"),
    (lambda: tf.linalg.LinearOperatorKronecker([]), ValueError, "a list of >=1 operators"),
    (
        lambda: tf.linalg.LinearOperatorBlockDiag(
            [_full(is_non_singular=True)], is_non_singular=False
        ),
        ValueError,
        "The direct sum of non-singular operators is always non-singular",
    ),
    (
        lambda: tf.linalg.LinearOperatorComposition(
            [_full(is_non_singular=True)], is_non_singular=False
        ),
        ValueError,
        "The composition of non-singular operators is always non-singular",
    ),
    (
        lambda: tf.linalg.LinearOperatorAdjoint(
            _full(is_positive_definite=True), is_positive_definite=False
        ),
        ValueError,
        "if and only if its adjoint is positive-definite",
    ),
    (
        lambda: tf.linalg.LinearOperatorInversion(
            _full(is_self_adjoint=True), is_self_adjoint=False
        ),
        ValueError,
        "if and only if its inverse is self-adjoint",
    ),
    (
        lambda: tf.linalg.LinearOperatorInversion(_full(is_non_singular=False)),
        ValueError,
        "Found `operator.is_non_singular`: False",
    ),
    (
        lambda: tf.linalg.LinearOperatorZeros(2).assert_non_singular(),
        tf.errors.InvalidArgumentError,
        "always non-invertible",
    ),
    (
        lambda: tf.linalg.LinearOperatorZeros(2).assert_positive_definite(),
        tf.errors.InvalidArgumentError,
        "always non-positive definite",
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), _REFUSED, ids=[text for _, _, text in _REFUSED])
def test_what_cannot_be_is_refused(
    make: Callable[[], Any], error: type[Exception], text: str
) -> None:
    """The errors are TensorFlow's, where an operator is made."""
    with pytest.raises(error, match=text):
        make()


def test_unknown_sizes_are_taken() -> None:
    """They are known when a step runs."""
    rows = tf.placeholder_with_default(3, [])
    operator = tf.linalg.LinearOperatorIdentity(rows, batch_shape=[])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(operator.to_dense()), np.eye(3))


@pytest.mark.parametrize("kind", ["LinearOperatorBlockDiag", "LinearOperatorKronecker"])
def test_parts_are_inverted_and_factored_singly(kind: str) -> None:
    """Inverse, adjoint and Cholesky factor are operators of the same kind."""
    make = getattr(tf.linalg, kind)
    known = make(
        [_full(one, is_self_adjoint=True, is_positive_definite=True) for one in (_TWO, _THREE)]
    )
    other = make([_full(one) for one in (_TWO + np.triu(np.ones((2, 2)), 1), _THREE)])
    found = [known.inverse(), known.cholesky(), other.adjoint(), known.adjoint()]
    assert {type(one) for one in found} == {make}
    with tf.Session() as session:
        dense, changed = session.run([known.to_dense(), other.to_dense()])
        inverse, lower, adjoint, same = session.run([one.to_dense() for one in found])
    np.testing.assert_allclose(inverse @ dense, np.eye(len(dense)), atol=1e-12)
    np.testing.assert_allclose(lower @ lower.T, dense)
    np.testing.assert_array_equal(adjoint, changed.T)
    np.testing.assert_array_equal(same, dense)
