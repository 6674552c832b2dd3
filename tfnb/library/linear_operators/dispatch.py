"""Functions of ``tf.linalg`` that accept linear operators in place of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.op_registry import OpDefinition, python_name
from tfnb.library.linear_operators.operator import LinearOperator
from tfnb.library.math import linalg_ops
from tfnb.ops.array import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import TensorLike, TensorResult


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a function that has an operator among its arguments.

    Raises:
      TypeError: the function accepts no operators.
    """
    name = function.__name__
    if isinstance(function, OpDefinition):
        name = python_name(function.name)
    answer = _ANSWERS.get(name)
    if answer is None:
        raise TypeError(f"tf.{name} takes no LinearOperator: use its to_dense(), or its methods")
    return answer(*args, **kwargs)


def _named(name: str | None) -> dict[str, Any]:
    """Return the argument ``name`` of a method, which has a name of its own by default."""
    return {} if name is None else {"name": name}


def _adjoint(matrix: LinearOperator, name: str | None = None) -> LinearOperator:
    return matrix.adjoint(**_named(name))


def _cholesky(input: LinearOperator, name: str | None = None) -> LinearOperator:
    return input.cholesky(**_named(name))


def _diag_part(
    input: LinearOperator,
    name: str | None = None,
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> TensorResult:
    if isinstance(k, int) and k == 0:
        return input.diag_part(**_named(name))
    dense = input.to_dense()
    return array_ops.matrix_diag_part(dense, name, k=k, padding_value=padding_value, align=align)


def _determinant(input: LinearOperator, name: str | None = None) -> TensorResult:
    return input.determinant(**_named(name))


def _inverse(
    input: LinearOperator, adjoint: bool = False, name: str | None = None
) -> LinearOperator:
    inverse = input.inverse(**_named(name))
    return inverse.adjoint() if adjoint else inverse


def _logdet(matrix: LinearOperator, name: str | None = None) -> TensorResult:
    if not (matrix.is_positive_definite and matrix.is_self_adjoint):
        raise ValueError(
            "Expected matrix to be self-adjoint positive definite: make the operator with "
            "is_self_adjoint=True and is_positive_definite=True, or use log_abs_determinant()."
        )
    return matrix.log_abs_determinant(**_named(name))


def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Any:
    del output_type, grad_a, grad_b  # as in TensorFlow
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time: use adjoint_a and adjoint_b.")
    if a_is_sparse or b_is_sparse:
        raise ValueError("Sparse methods not supported at this time.")
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, **_named(name))
    # A B is the adjoint of B^H A^H.
    product = b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, **_named(name))
    return linalg_ops.adjoint(product)


def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    if not isinstance(matrix, LinearOperator):
        raise ValueError(
            "Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported: make "
            "the matrix a LinearOperatorFullMatrix."
        )
    return matrix.solve(rhs, adjoint=adjoint, **_named(name))


def _trace(x: LinearOperator, name: str | None = None) -> TensorResult:
    return x.trace(**_named(name))


# Name of a function of ``tf``, of an op that of its function -> what it does with operators.
_ANSWERS: dict[str, Callable[..., Any]] = {
    "adjoint": _adjoint,
    "cholesky": _cholesky,
    "logdet": _logdet,
    "matmul": _matmul,
    "matrix_determinant": _determinant,
    "matrix_diag_part": _diag_part,
    "matrix_inverse": _inverse,
    "matrix_solve": _solve,
    "trace": _trace,
}
