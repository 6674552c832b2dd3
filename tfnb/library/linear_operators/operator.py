"""``tf.linalg.LinearOperator``: operations on matrices of any representation.

A subclass implements its shape and either :meth:`LinearOperator._to_dense` or products, and
overrides each method that it can compute faster than with the dense matrices. Corresponds to
``linear_operator.py``.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import Dispatching
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.library.control_flow import check_ops
from tfnb.library.math import linalg_ops
from tfnb.library.variables.variables import Variable
from tfnb.ops.array import array_ops
from tfnb.ops.linalg.matrix_solve_ops import (
    log_matrix_determinant,
    matrix_determinant,
    matrix_solve,
)
from tfnb.ops.math import math_ops, reduction_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.tensor_shape import Dimension
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Config, Nested, TensorLike, TensorResult, VariableLike

EXPORTS = {"linalg": ["LinearOperator"]}


class LinearOperator(Dispatching):
    """A batch of matrices.

    Functions of ``tf.linalg`` (``matmul``, ``solve``, ``det``, ...) accept it in place of a tensor.

    Args:
      dtype: of the elements.
      graph_parents: the tensors it is made of.
      is_non_singular: whether each has an inverse; None if unknown, also in the next three.
      is_self_adjoint: whether each equals its adjoint.
      is_positive_definite: whether the real part of x^H A x is positive for all x but 0.
      is_square: whether they are square.
      name: of the scopes of its operations.
      parameters: accepted.

    Raises:
      ValueError: these contradict each other.
    """

    _parameters: dict[str, Any]

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: Any = None,
    ) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        for holds, word in ((is_non_singular, "non-singular"), (is_self_adjoint, "self-adjoint")):
            if holds:
                if is_square is False:
                    raise ValueError(f"A {word} matrix is always square.")
                is_square = True
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._graph_parents = list(graph_parents or ())
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square = is_positive_definite, is_square
        self._name = name or type(self).__name__
        self._parameters = dict(parameters or {})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make operators of the class record their constructor arguments."""
        super().__init_subclass__(**kwargs)
        make = cls.__init__
        signature = inspect.signature(make)

        @functools.wraps(make)
        def noting(self: LinearOperator, *args: Any, **kwargs: Any) -> None:
            make(self, *args, **kwargs)
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            self._parameters = {key: one for key, one in bound.arguments.items() if key != "self"}

        cls.__init__ = noting  # type: ignore[method-assign]

    # ---------------------------------------------------------------------------- properties

    @property
    def parameters(self) -> Config:
        """The constructor's arguments."""
        return dict(self._parameters)

    def _all_variables(self) -> list[Nested]:
        found: dict[int, Any] = {}
        for one in nest.flatten([*self._parameters.values()]):
            if isinstance(one, LinearOperator):
                found |= {id(variable): variable for variable in one._all_variables()}
            elif isinstance(one, Variable):
                found[id(one)] = one
        return [*found.values()]

    @property
    def variables(self) -> tuple[VariableLike, ...]:
        """The variables that it is made of."""
        return tuple(self._all_variables())

    @property
    def trainable_variables(self) -> tuple[TensorResult, ...]:
        """The trainable ones of its variables."""
        return tuple(one for one in self._all_variables() if one.trainable)

    @property
    def non_trainable_variables(self) -> tuple[TensorResult, ...]:
        """Its variables that are not trainable."""
        return tuple(one for one in self._all_variables() if not one.trainable)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def graph_parents(self) -> list[TensorResult]:
        """The tensors it is made of."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether each has an inverse; None if unknown."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether each equals its adjoint; None if unknown."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether they are positive definite; None if unknown."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether they are square, from the argument or the static shape."""
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        if rows is None or columns is None:
            return self._is_square
        if self._is_square is not None and self._is_square != (rows == columns):
            raise ValueError("Supplied `is_square` hint does not match the shape.")
        return bool(rows == columns)

    def _hints(self) -> dict[str, Any]:
        return {
            "is_non_singular": self.is_non_singular,
            "is_self_adjoint": self.is_self_adjoint,
            "is_positive_definite": self.is_positive_definite,
            "is_square": self._is_square,
        }

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        return array_ops.shape(self._to_dense())

    @property
    def shape(self) -> TensorShape:
        """The static shape: batch, rows, columns."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without rows and columns."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The rank of the dense tensor, where it is known."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Dimension:
        """The number of columns."""
        return self.shape[-1] if self.shape.ndims else TensorShape([None])[0]

    @property
    def range_dimension(self) -> Dimension:
        """The number of rows."""
        return self.shape[-2] if self.shape.ndims else TensorShape([None])[0]

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return the shape as a tensor."""
        with self._scope(name):
            if self.shape.is_fully_defined():
                return array_ops.constant(self.shape.as_list(), dtypes.int32)
            return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape without rows and columns, as a tensor."""
        with self._scope(name):
            return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Return the rank of the dense tensor, as a tensor."""
        with self._scope(name):
            return array_ops.size(self.shape_tensor())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Return the number of columns, as a tensor."""
        with self._scope(name):
            return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Return the number of rows, as a tensor."""
        with self._scope(name):
            return self.shape_tensor()[-2]

    def _scope(self, name: str) -> name_scope:
        return name_scope(f"{self._name}/{name}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name!r} shape={self.shape} dtype={self.dtype}>"

    def dispatch(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """See :class:`~tfnb.framework.dispatch.Dispatching`."""
        from tfnb.library.linear_operators import dispatch

        return dispatch.call(function, args, kwargs)

    # -------------------------------------------------------------------------------- products

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        return math_ops.matmul(self._to_dense(), x, adjoint_a=adjoint)

    def matmul(
        self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> TensorResult:
        """Return the products with matrices as a tensor; with an operator, an operator.

        Args:
          x: matrices, or an operator.
          adjoint: whether the adjoints of this operator's matrices are multiplied.
          adjoint_arg: whether the adjoints of x are multiplied.
          name: of the scope.

        Raises:
          ValueError: the inner dimensions differ.
        """
        if isinstance(x, LinearOperator):
            from tfnb.library.linear_operators.composed import product

            return product(self.H if adjoint else self, x.H if adjoint_arg else x)
        with self._scope(name):
            x = convert_to_tensor(x, dtype=self.dtype, name="x")
            inner = self.range_dimension if adjoint else self.domain_dimension
            if x.shape.ndims:
                inner.assert_is_compatible_with(x.shape[-1 if adjoint_arg else -2])
            if adjoint_arg:
                x = linalg_ops.adjoint(x)
            return self._matmul(x, adjoint)

    def __matmul__(self, other: TensorLike) -> TensorResult:
        return self.matmul(other)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> TensorResult:
        """Return the products with vectors."""
        with self._scope(name):
            x = convert_to_tensor(x, dtype=self.dtype, name="x")
            return array_ops.squeeze(self.matmul(x[..., None], adjoint=adjoint), axis=[-1])

    # ------------------------------------------------------------------------------- solutions

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        if self.is_self_adjoint and self.is_positive_definite:
            lower = linalg_ops.cholesky(self._to_dense())
            return linalg_ops.cholesky_solve(*with_one_batch(lower, rhs))
        return matrix_solve(*with_one_batch(self._to_dense(), rhs), adjoint=adjoint)

    def solve(
        self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> TensorResult:
        """Return the X of ``A X = rhs``, an operator if ``rhs`` is one.

        Raises:
          NotImplementedError: the operator is known to be singular or not square.
        """
        self._require_square("Exact solve")
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        if isinstance(rhs, LinearOperator):
            from tfnb.library.linear_operators.composed import product

            own = self.H if adjoint else self
            return product(own.inverse(), rhs.H if adjoint_arg else rhs)
        with self._scope(name):
            rhs = convert_to_tensor(rhs, dtype=self.dtype, name="rhs")
            if adjoint_arg:
                rhs = linalg_ops.adjoint(rhs)
            return self._solve(rhs, adjoint)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> TensorResult:
        """Return the x of ``A x = rhs``."""
        with self._scope(name):
            rhs = convert_to_tensor(rhs, dtype=self.dtype, name="rhs")
            return array_ops.squeeze(self.solve(rhs[..., None], adjoint=adjoint), axis=[-1])

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                f"{what} not implemented for an operator that is expected to not be square."
            )

    # ---------------------------------------------------------------------------- other forms

    def _to_dense(self) -> TensorResult:
        size = self.shape_tensor()
        unit = linalg_ops.eye(size[-1], batch_shape=size[:-2], dtype=self.dtype)
        return self._matmul(unit, False)

    def to_dense(self, name: str = "to_dense") -> TensorResult:
        """Return the matrices as a tensor."""
        with self._scope(name):
            dense = self._to_dense()
            dense.set_shape(self.shape)
            return dense

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> TensorResult:
        """Return ``A + x``."""
        with self._scope(name):
            return self._to_dense() + convert_to_tensor(x, dtype=self.dtype, name="x")

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the operator of the adjoints."""
        if self.is_self_adjoint:
            return self
        from tfnb.library.linear_operators.composed import LinearOperatorAdjoint

        return LinearOperatorAdjoint(self)

    @property
    def H(self) -> LinearOperator:
        """The operator of the adjoints."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator of the inverses.

        Raises:
          ValueError: the operator is known to be singular or not square.
        """
        if self.is_square is False:
            raise ValueError(
                "Cannot take the Inverse: This operator represents a non square matrix."
            )
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        from tfnb.library.linear_operators.composed import LinearOperatorInversion

        return LinearOperatorInversion(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Return the operator of the lower triangles L with ``L L^H = A``.

        Raises:
          ValueError: the operator is not known to be self-adjoint, or known not to be positive
            definite.
        """
        if not self.is_self_adjoint or self.is_positive_definite is False:
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                "matrix."
            )
        return self._cholesky()

    def _cholesky(self) -> LinearOperator:
        from tfnb.library.linear_operators.simple import LinearOperatorLowerTriangular

        lower = linalg_ops.cholesky(self._to_dense())
        return LinearOperatorLowerTriangular(lower, is_non_singular=True)

    # -------------------------------------------------------------------------------- numbers

    def _diag_part(self) -> TensorResult:
        return array_ops.matrix_diag_part(self._to_dense())

    def diag_part(self, name: str = "diag_part") -> TensorResult:
        """Return the diagonals."""
        with self._scope(name):
            return self._diag_part()

    def _trace(self) -> TensorResult:
        return math_ops.reduce_sum(self._diag_part(), axis=-1)

    def trace(self, name: str = "trace") -> TensorResult:
        """Return the sums of the diagonals."""
        with self._scope(name):
            return self._trace()

    def _determinant(self) -> TensorResult:
        return matrix_determinant(self._to_dense())

    def determinant(self, name: str = "det") -> TensorResult:
        """Return the determinants.

        Raises:
          NotImplementedError: the matrices are not square.
        """
        self._require_square("Determinant")
        with self._scope(name):
            return self._determinant()

    def _log_abs_determinant(self) -> TensorResult:
        if self.is_self_adjoint and self.is_positive_definite:
            return linalg_ops.logdet(self._to_dense())
        return math_ops.real(log_matrix_determinant(self._to_dense())[1])

    def log_abs_determinant(self, name: str = "log_abs_det") -> TensorResult:
        """Return the logarithms of the determinants' magnitudes.

        Raises:
          NotImplementedError: the matrices are not square.
        """
        self._require_square("Determinant")
        with self._scope(name):
            return self._log_abs_determinant()

    def _eigvals(self) -> TensorResult:
        return linalg_ops.self_adjoint_eigvals(self._to_dense())

    def eigvals(self, name: str = "eigvals") -> TensorResult:
        """Return the eigenvalues of self-adjoint matrices.

        Raises:
          NotImplementedError: the operator is not known to be self-adjoint.
        """
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        with self._scope(name):
            return self._eigvals()

    def _singular_values(self) -> TensorResult:
        return linalg_ops.svd(self._to_dense(), compute_uv=False)

    def cond(self, name: str = "cond") -> TensorResult:
        """Return the condition numbers: the largest singular value over the smallest."""
        with self._scope(name):
            values = math_ops.abs(self._singular_values())
            low = reduction_ops.reduce_min(values, axis=-1)
            return reduction_ops.reduce_max(values, axis=-1) / low

    # ------------------------------------------------------------------------------ assertions

    def assert_non_singular(self, name: str = "assert_non_singular") -> TensorResult:
        """Return an operation that fails where a matrix is singular up to rounding."""
        with self._scope(name):
            values = math_ops.abs(self._singular_values())
            epsilon = 10 * float(np.finfo(values.dtype.as_numpy_dtype).eps)
            low = reduction_ops.reduce_min(values, axis=-1)
            high = reduction_ops.reduce_max(values, axis=-1)
            return check_ops.assert_less(
                epsilon * high, low, message="Singular matrix up to precision epsilon."
            )

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> TensorResult:
        """Return an operation that fails where a matrix is not its adjoint."""
        with self._scope(name):
            dense = self._to_dense()
            return check_ops.assert_equal(
                dense, linalg_ops.adjoint(dense), message="Matrix was not equal to its adjoint."
            )

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> TensorResult:
        """Return an operation that fails where a matrix is not positive definite."""
        with self._scope(name):
            dense = self._to_dense()
            values = linalg_ops.self_adjoint_eigvals((dense + linalg_ops.adjoint(dense)) / 2)
            return check_ops.assert_positive(
                math_ops.real(values), message="Matrix was not positive definite."
            )


def with_one_batch(matrix: TensorLike, rhs: TensorLike) -> tuple[Nested, Nested]:
    """Return both with the batch dimensions that they have in common."""
    one, other = matrix.shape[:-2], rhs.shape[:-2]
    if one.is_fully_defined() and one.dim_values == other.dim_values:
        return matrix, rhs
    first, second = array_ops.shape(matrix), array_ops.shape(rhs)
    batch = array_ops.broadcast_dynamic_shape(first[:-2], second[:-2])
    shapes = (array_ops.concat([batch, size[-2:]], 0) for size in (first, second))
    found = [array_ops.broadcast_to(x, size) for x, size in zip((matrix, rhs), shapes)]
    return found[0], found[1]
