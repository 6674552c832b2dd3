"""Operators of one tensor: full, diagonal, triangular, identity, zero, and structured ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.linear_operators.operator import LinearOperator, with_one_batch
from tfnb.library.math import linalg_ops
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "linalg": [
        "LinearOperatorDiag", "LinearOperatorFullMatrix", "LinearOperatorHouseholder",
        "LinearOperatorIdentity", "LinearOperatorLowerTriangular", "LinearOperatorPermutation",
        "LinearOperatorScaledIdentity", "LinearOperatorToeplitz", "LinearOperatorTridiag",
        "LinearOperatorZeros",
    ],
}  # fmt: skip

_Hint = bool | None


def _check_size(name: str, value: TensorLike) -> None:
    """Refuse a number of rows or columns that cannot be one, as far as it is known.

    Raises:
      TypeError: it is no integer.
      ValueError: it has dimensions, or is negative.
    """
    _check_integers(name, value, 0)


def _check_batch_shape(value: TensorLike) -> None:
    """Refuse a batch shape that cannot be one, as far as it is known; errors as of a size."""
    _check_integers("batch_shape", value, 1)


def _check_integers(name: str, value: TensorLike, rank: int) -> None:
    tensor = convert_to_tensor(value, name=name)
    if rank == 1 and tensor.shape.ndims == 1 and tensor.shape.num_elements() == 0:
        return  # an empty list has no integers
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {tensor}")
    known = constant_value(tensor)
    found = tensor if known is None else known
    if tensor.shape.ndims is not None and tensor.shape.ndims != rank:
        raise ValueError(f"Argument {name} must be a {rank}-D Tensor.  Found: {found}")
    if known is not None and np.any(known < 0):
        raise ValueError(f"Argument {name} must be non-negative.  Found: {found}")


def _check_dimensions(name: str, tensor: TensorLike) -> None:
    if tensor.shape.ndims == 0:
        raise ValueError(f"Argument {name} must have at least 1 dimension.  Found: {tensor}")


def _broadcast_rows(x: TensorLike, batch: TensorLike) -> TensorResult:
    """Return matrices repeated along batch dimensions that they lack."""
    if batch is None:
        return x
    size = array_ops.shape(x)
    whole = array_ops.broadcast_dynamic_shape(size[:-2], batch)
    return array_ops.broadcast_to(x, array_ops.concat([whole, size[-2:]], 0))


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices given by all of their elements."""

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        with name_scope(name, values=[matrix]):
            self._matrix = convert_to_tensor(matrix, name="matrix")
        if self._matrix.shape.ndims is not None and self._matrix.shape.ndims < 2:
            raise ValueError(
                f"Argument `matrix` must have at least 2 dimensions. Found: {self._matrix}"
            )
        super().__init__(
            self._matrix.dtype, [self._matrix], is_non_singular, is_self_adjoint,
            is_positive_definite, is_square, name,
        )  # fmt: skip

    @property
    def matrix(self) -> TensorResult:
        """The matrices."""
        return self._matrix

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _to_dense(self) -> TensorResult:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangles of matrices."""

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with name_scope(name, values=[tril]):
            self._given = convert_to_tensor(tril, name="tril")
            self._tril = array_ops.matrix_band_part(self._given, -1, 0)
        super().__init__(
            self._tril.dtype, [self._given], is_non_singular, is_self_adjoint,
            is_positive_definite, True, name,
        )  # fmt: skip

    @property
    def tril(self) -> TensorResult:
        """The matrices that were given."""
        return self._given

    def _shape(self) -> TensorShape:
        return self._given.shape

    def _to_dense(self) -> TensorResult:
        return self._tril

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        tril, rhs = with_one_batch(self._tril, rhs)
        return linalg_ops.matrix_triangular_solve(tril, rhs, lower=True, adjoint=adjoint)

    def _determinant(self) -> TensorResult:
        return math_ops.reduce_prod(self._diag_part(), axis=-1)

    def _log_abs_determinant(self) -> TensorResult:
        return math_ops.reduce_sum(math_ops.log(math_ops.abs(self._diag_part())), axis=-1)

    def _eigvals(self) -> TensorResult:
        return self._diag_part()


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices."""

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        with name_scope(name, values=[diag]):
            self._diag = convert_to_tensor(diag, name="diag")
        if self._diag.shape.ndims == 0:
            raise ValueError(f"Argument `diag` must have at least 1 dimension. Found: {diag}.")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        super().__init__(
            self._diag.dtype, [self._diag], is_non_singular, is_self_adjoint,
            is_positive_definite, True, name,
        )  # fmt: skip

    @property
    def diag(self) -> TensorResult:
        """The diagonals."""
        return self._diag

    def _shape(self) -> TensorShape:
        size: TensorShape = self._diag.shape
        return size.concatenate(size[-1:])

    def _shape_tensor(self) -> TensorResult:
        size = array_ops.shape(self._diag)
        return array_ops.concat([size, size[-1:]], 0)

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        return (math_ops.conj(self._diag) if adjoint else self._diag)[..., None] * x

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        return rhs / (math_ops.conj(self._diag) if adjoint else self._diag)[..., None]

    def _to_dense(self) -> TensorResult:
        return array_ops.matrix_diag(self._diag)

    def _diag_part(self) -> TensorResult:
        return self._diag

    def _determinant(self) -> TensorResult:
        return math_ops.reduce_prod(self._diag, axis=-1)

    def _log_abs_determinant(self) -> TensorResult:
        logarithms = math_ops.log(math_ops.abs(self._diag))
        return math_ops.cast(math_ops.reduce_sum(logarithms, axis=-1), self.dtype)

    def _singular_values(self) -> TensorResult:
        return math_ops.abs(self._diag)

    _eigvals = _diag_part

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the operator of the conjugated diagonals."""
        if self.is_self_adjoint:
            return self
        return LinearOperatorDiag(math_ops.conj(self._diag), **self._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator of the diagonals' reciprocals."""
        super().inverse()
        return LinearOperatorDiag(1.0 / self._diag, **self._hints())

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorDiag(math_ops.sqrt(self._diag), is_self_adjoint=True)


class LinearOperatorScaledIdentity(LinearOperator):
    """Identity matrices times numbers."""

    def __init__(
        self,
        num_rows: TensorLike,
        multiplier: TensorLike,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        with name_scope(name, values=[multiplier, num_rows]):
            _check_size("num_rows", num_rows)
            self._multiplier = convert_to_tensor(multiplier, name="multiplier")
        if is_square is False:
            raise ValueError("A ScaledIdentity operator is always square.")
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        self._num_rows = num_rows
        super().__init__(
            self._multiplier.dtype, [self._multiplier], is_non_singular, is_self_adjoint,
            is_positive_definite, True, name,
        )  # fmt: skip

    @property
    def multiplier(self) -> TensorResult:
        """The numbers."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        size = self._num_rows if isinstance(self._num_rows, int) else None
        found: TensorShape = self._multiplier.shape.concatenate([size, size])
        return found

    def _shape_tensor(self) -> TensorResult:
        size = convert_to_tensor(self._num_rows, dtypes.int32)
        return array_ops.concat([array_ops.shape(self._multiplier), [size, size]], 0)

    def _factor(self, adjoint: bool) -> TensorResult:
        return (math_ops.conj(self._multiplier) if adjoint else self._multiplier)[..., None, None]

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        return x * self._factor(adjoint)

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        return rhs / self._factor(adjoint)

    def _diag_part(self) -> TensorResult:
        ones = array_ops.ones(self.shape_tensor()[:-1], self.dtype)
        return self._multiplier[..., None] * ones

    def _to_dense(self) -> TensorResult:
        return array_ops.matrix_diag(self._diag_part())

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> TensorResult:
        """Return ``A + mat``."""
        return super().add_to_tensor(mat, name)

    def _rows(self, dtype: DTypeLike) -> TensorResult:
        return math_ops.cast(self.range_dimension_tensor(), dtype)

    def _trace(self) -> TensorResult:
        return self._multiplier * self._rows(self.dtype)

    def _determinant(self) -> TensorResult:
        return self._multiplier ** self._rows(self.dtype)

    def _log_abs_determinant(self) -> TensorResult:
        logarithm = math_ops.log(math_ops.abs(self._multiplier))
        return self._rows(logarithm.dtype) * logarithm

    def _singular_values(self) -> TensorResult:
        return math_ops.abs(self._diag_part())

    _eigvals = _diag_part

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator of the numbers' reciprocals."""
        super().inverse()
        return LinearOperatorScaledIdentity(self._num_rows, 1.0 / self._multiplier)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._num_rows, math_ops.sqrt(self._multiplier))


class LinearOperatorIdentity(LinearOperatorScaledIdentity):
    """Identity matrices."""

    def __init__(
        self,
        num_rows: TensorLike,
        batch_shape: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: _Hint = True,
        is_self_adjoint: _Hint = True,
        is_positive_definite: _Hint = True,
        is_square: _Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        for hint, word in (
            (is_self_adjoint, "self adjoint"), (is_square, "square"),
            (is_non_singular, "non-singular"), (is_positive_definite, "positive-definite"),
        ):  # fmt: skip
            if not hint:
                raise ValueError(f"An identity operator is always {word}.")
        with name_scope(name, values=[num_rows]):
            _check_size("num_rows", num_rows)
            if batch_shape is not None:
                _check_batch_shape(batch_shape)
        ones = array_ops.ones([] if batch_shape is None else batch_shape, dtype or dtypes.float32)
        super().__init__(num_rows, ones, True, True, True, True, name=name)
        self._batch = batch_shape

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        batch = None if self._batch is None else convert_to_tensor(self._batch, dtypes.int32)
        return _broadcast_rows(x, batch)

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        return self._matmul(rhs, adjoint)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator itself."""
        return self

    def _cholesky(self) -> LinearOperator:
        return self


class LinearOperatorZeros(LinearOperator):
    """Matrices of zeros."""

    def __init__(
        self,
        num_rows: TensorLike,
        num_columns: TensorLike | None = None,
        batch_shape: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: _Hint = False,
        is_self_adjoint: _Hint = True,
        is_positive_definite: _Hint = False,
        is_square: _Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if is_non_singular or is_positive_definite:
            raise ValueError("A zero operator is always singular and not positive-definite.")
        with name_scope(name, values=[num_rows, num_columns]):
            _check_size("num_rows", num_rows)
            if num_columns is not None:
                _check_size("num_columns", num_columns)
            if batch_shape is not None:
                _check_batch_shape(batch_shape)
        self._columns = num_rows if num_columns is None else num_columns
        sizes = num_rows, self._columns
        if is_square and all(isinstance(n, int) for n in sizes) and sizes[0] != sizes[1]:
            raise ValueError(
                f"LinearOperatorZeros initialized as is_square={is_square}, but got "
                f"num_rows({sizes[0]}) != num_columns({sizes[1]})"
            )
        self._num_rows, self._batch = num_rows, [] if batch_shape is None else batch_shape
        super().__init__(
            dtype or dtypes.float32, [], False, is_self_adjoint, False, is_square, name
        )

    def _shape(self) -> TensorShape:
        sizes = [n if isinstance(n, int) else None for n in (self._num_rows, self._columns)]
        try:
            return TensorShape([*self._batch, *sizes])
        except TypeError:
            return TensorShape(None)

    def _shape_tensor(self) -> TensorResult:
        batch = convert_to_tensor(self._batch, dtypes.int32)
        return array_ops.concat([batch, [self._num_rows, self._columns]], 0)

    def _to_dense(self) -> TensorResult:
        return array_ops.zeros(self.shape_tensor(), self.dtype)

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> TensorResult:
        """Return ``A + mat``."""
        return super().add_to_tensor(mat, name)

    def _determinant(self) -> TensorResult:
        return array_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def assert_non_singular(self, name: str = "assert_non_singular") -> TensorResult:
        """Fail: zeros have no inverse.

        Raises:
          InvalidArgumentError: always.
        """
        raise errors.invalid_argument("Zeros operator is always non-invertible.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> TensorResult:
        """Fail: zeros are not positive definite.

        Raises:
          InvalidArgumentError: always.
        """
        raise errors.invalid_argument("Zeros operator is always non-positive definite.")


class LinearOperatorHouseholder(LinearOperator):
    """Reflections: I - 2 v v^H for unit vectors v."""

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        if is_positive_definite:
            raise ValueError("A Householder operator is always non-positive definite.")
        if False in (is_non_singular, is_self_adjoint, is_square):
            raise ValueError("A Householder operator is always square, self adjoint and regular.")
        with name_scope(name, values=[reflection_axis]):
            self._axis = convert_to_tensor(reflection_axis, name="reflection_axis")
        _check_dimensions("reflection_axis", self._axis)
        super().__init__(self._axis.dtype, [self._axis], True, True, False, True, name)

    @property
    def reflection_axis(self) -> TensorResult:
        """The vectors."""
        return self._axis

    def _shape(self) -> TensorShape:
        size: TensorShape = self._axis.shape
        return size.concatenate(size[-1:])

    def _shape_tensor(self) -> TensorResult:
        size = array_ops.shape(self._axis)
        return array_ops.concat([size, size[-1:]], 0)

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        axis = self._axis
        norm = math_ops.sqrt(math_ops.reduce_sum(axis * math_ops.conj(axis), -1, keepdims=True))
        unit = (axis / norm)[..., None]
        return x - 2 * unit * math_ops.matmul(unit, x, adjoint_a=True)

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        return self._matmul(rhs, adjoint)

    def _determinant(self) -> TensorResult:
        return -array_ops.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> TensorResult:
        return array_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator itself."""
        return self


class LinearOperatorPermutation(LinearOperator):
    """Matrices that put rows into another order."""

    def __init__(
        self,
        perm: TensorLike,
        dtype: DTypeLike = dtypes.float32,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        if is_non_singular is False or is_square is False:
            raise ValueError("A Permutation operator is always square and non-singular.")
        with name_scope(name, values=[perm]):
            self._perm = convert_to_tensor(perm, name="perm")
        if not self._perm.dtype.is_integer:
            raise TypeError(f"Argument `perm` must be integer dtype. Found: {self._perm.dtype}")
        super().__init__(
            dtype, [self._perm], True, is_self_adjoint, is_positive_definite, True, name
        )

    @property
    def perm(self) -> TensorResult:
        """The order."""
        return self._perm

    def _shape(self) -> TensorShape:
        size: TensorShape = self._perm.shape
        return size.concatenate(size[-1:])

    def _to_dense(self) -> TensorResult:
        return array_ops.one_hot(self._perm, array_ops.shape(self._perm)[-1], dtype=self.dtype)

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        return self._matmul(rhs, not adjoint)

    def _log_abs_determinant(self) -> TensorResult:
        return array_ops.zeros(array_ops.shape(self._perm)[:-1], self.dtype)


class LinearOperatorToeplitz(LinearOperator):
    """Matrices with equal elements along each diagonal, given by first columns and rows."""

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        with name_scope(name, values=[row, col]):
            self._row = convert_to_tensor(row, name="row")
            self._col = convert_to_tensor(col, name="col")
        _check_dimensions("col", self._col)
        _check_dimensions("row", self._row)
        super().__init__(
            self._row.dtype, [self._row, self._col], is_non_singular, is_self_adjoint,
            is_positive_definite, True, name,
        )  # fmt: skip

    @property
    def row(self) -> TensorResult:
        """The first rows."""
        return self._row

    @property
    def col(self) -> TensorResult:
        """The first columns."""
        return self._col

    def _shape(self) -> TensorShape:
        from tfnb.core.shape_inference import broadcast_shapes

        size: TensorShape = broadcast_shapes(self._row.shape, self._col.shape)
        return size.concatenate(size[-1:])

    def _to_dense(self) -> TensorResult:
        size = array_ops.shape(self._row)[-1]
        whole = array_ops.broadcast_dynamic_shape(
            array_ops.shape(self._row), array_ops.shape(self._col)
        )
        row, col = (array_ops.broadcast_to(x, whole) for x in (self._row, self._col))
        # All diagonals, from that of the lower left corner on.
        values = array_ops.concat([array_ops.reverse(col, [-1]), row[..., 1:]], axis=-1)
        places = math_ops.range(size)
        return array_ops.gather(values, places - places[:, None] + size - 1, axis=-1)


class LinearOperatorTridiag(LinearOperator):
    """Matrices with three diagonals; see tf.linalg.tridiagonal_solve for their formats."""

    def __init__(
        self,
        diagonals: TensorLike,
        diagonals_format: str = "compact",
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square Tridiagonal operators currently supported.")
        with name_scope(name, values=[diagonals]):
            if diagonals_format == "sequence":
                diagonals = [convert_to_tensor(one) for one in diagonals]
                found = array_ops.stack(diagonals, axis=-2)
            else:
                found = convert_to_tensor(diagonals, name="diagonals")
            if diagonals_format == "matrix":
                found = array_ops.matrix_diag_part(found, k=(-1, 1), align="LEFT_RIGHT")
        self._diagonals, self._diagonals_format = found, diagonals_format
        super().__init__(
            found.dtype, [found], is_non_singular, is_self_adjoint, is_positive_definite, True, name
        )

    @property
    def diagonals_format(self) -> str:
        """The format in which the diagonals were given."""
        return self._diagonals_format

    @property
    def diagonals(self) -> TensorResult:
        """The three diagonals, from above, as rows."""
        return self._diagonals

    def _shape(self) -> TensorShape:
        size: TensorShape = self._diagonals.shape
        return size[:-2].concatenate([size[-1], size[-1]])

    def _to_dense(self) -> TensorResult:
        return array_ops.matrix_diag(self._diagonals, k=(-1, 1), align="LEFT_RIGHT")

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        if adjoint:
            return super()._solve(rhs, adjoint)
        diagonals, rhs = with_one_batch(self._diagonals, rhs)
        return linalg_ops.tridiagonal_solve(diagonals, rhs)

    def _diag_part(self) -> TensorResult:
        return self._diagonals[..., 1, :]
