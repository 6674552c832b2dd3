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


def _positive(matrix: Any = _TWO) -> Any:
    return _full(matrix, is_self_adjoint=True, is_positive_definite=True)


_SKEW = np.array([[1.0, 2.0 - 1.0j], [0.5j, 3.0]])
# A function with an operator -> its value with NumPy.
_ANSWERED: dict[str, tuple[Callable[[], Any], Any]] = {
    "matmul": (lambda: tf.matmul(_full(), _TWO + 1), _TWO @ (_TWO + 1)),
    "linalg.matmul of a tensor and an operator": (
        lambda: tf.linalg.matmul(_TWO + 1, _full(_SKEW.real)),
        (_TWO + 1) @ _SKEW.real,
    ),
    "a tensor @ an operator": (lambda: tf.constant(_TWO) @ _full(_SKEW.real), _TWO @ _SKEW.real),
    "matmul with adjoints": (
        lambda: tf.matmul(_full(_SKEW), _SKEW + 1, adjoint_a=True, adjoint_b=True),
        _SKEW.conj().T @ (_SKEW + 1).conj().T,
    ),
    "matmul of a tensor with adjoints": (
        lambda: tf.matmul(_SKEW + 1, _full(_SKEW), adjoint_a=True, adjoint_b=True),
        (_SKEW + 1).conj().T @ _SKEW.conj().T,
    ),
    "matmul by keywords": (lambda: tf.matmul(a=_full(), b=_TWO, name="m"), _TWO @ _TWO),
    "solve": (lambda: tf.linalg.solve(_full(), _TWO + 1), np.linalg.solve(_TWO, _TWO + 1)),
    "matrix_solve with the adjoint": (
        lambda: tf.matrix_solve(_full(_SKEW), _SKEW + 1, adjoint=True, name="s"),
        np.linalg.solve(_SKEW.conj().T, _SKEW + 1),
    ),
    "det": (lambda: tf.linalg.det(_full(_THREE)), np.linalg.det(_THREE)),
    "matrix_determinant": (lambda: tf.matrix_determinant(_full(), name="d"), 5.0),
    "logdet": (lambda: tf.linalg.logdet(_positive(_THREE)), np.log(np.linalg.det(_THREE))),
    "trace": (lambda: tf.linalg.trace(_full(_THREE)), 15.0),
    "diag_part": (lambda: tf.linalg.diag_part(_full(_THREE)), [4.0, 5.0, 6.0]),
    "another diagonal": (lambda: tf.linalg.diag_part(_full(_THREE), k=1), [1.0, 2.0]),
}
# A function that gives an operator -> its matrix with NumPy.
_OPERATORS: dict[str, tuple[Callable[[], Any], Any]] = {
    "adjoint": (lambda: tf.linalg.adjoint(_full(_SKEW)), _SKEW.conj().T),
    "cholesky": (lambda: tf.cholesky(_positive()), np.linalg.cholesky(_TWO)),
    "inv": (lambda: tf.linalg.inv(_full(_THREE)), np.linalg.inv(_THREE)),
    "matrix_inverse with the adjoint": (
        lambda: tf.matrix_inverse(_full(_SKEW), adjoint=True, name="i"),
        np.linalg.inv(_SKEW).conj().T,
    ),
    "matmul of operators": (lambda: tf.matmul(_full(), _full(_SKEW.real)), _TWO @ _SKEW.real),
    "solve of operators": (
        lambda: tf.linalg.solve(_full(), _full(_SKEW.real)),
        np.linalg.solve(_TWO, _SKEW.real),
    ),
}


@pytest.mark.parametrize("row", _ANSWERED)
def test_functions_accept_an_operator_for_a_tensor(row: str) -> None:
    """The values are those of the matrix."""
    make, expected = _ANSWERED[row]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(make()), expected, rtol=1e-12)


@pytest.mark.parametrize("row", _OPERATORS)
def test_functions_of_operators_give_operators(row: str) -> None:
    """Where a method gives one."""
    make, expected = _OPERATORS[row]
    found = make()
    assert isinstance(found, tf.linalg.LinearOperator)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(found.to_dense()), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tf.exp(_full()), TypeError, "tf.exp takes no LinearOperator: use its to_dense"),
        (lambda: tf.add(_full(), 1.0), TypeError, "tf.add takes no LinearOperator"),
        (lambda: tf.concat([_full(), _TWO], 0), TypeError, "tf.concat takes no LinearOperator"),
        (lambda: tf.linalg.logdet(_full()), ValueError, "self-adjoint positive definite: make"),
        (lambda: tf.linalg.solve(_TWO, _full()), ValueError, "`rhs` as a LinearOperator is not"),
        (lambda: tf.matmul(_full(), _TWO, transpose_a=True), ValueError, "use adjoint_a"),
        (lambda: tf.matmul(_full(), _TWO, a_is_sparse=True), ValueError, "Sparse methods not"),
    ],
)
def test_functions_refuse_what_operators_cannot_do(
    make: Callable[[], Any], error: type[Exception], text: str
) -> None:
    """With what to do instead."""
    with pytest.raises(error, match=text):
        make()
