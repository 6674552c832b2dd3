"""Operators made of others: products, adjoints, inverses, blocks, Kronecker products, updates."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from tfnb.core.shape_inference import broadcast_shapes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.linear_operators.operator import LinearOperator, with_one_batch
from tfnb.library.linear_operators.simple import (
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorZeros,
)
from tfnb.library.math import linalg_ops
from tfnb.ops.array import array_ops
from tfnb.ops.linalg.matrix_solve_ops import (
    log_matrix_determinant,
    matrix_determinant,
    matrix_solve,
)
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "linalg": [
        "LinearOperatorAdjoint", "LinearOperatorBlockDiag", "LinearOperatorBlockLowerTriangular",
        "LinearOperatorComposition", "LinearOperatorInversion", "LinearOperatorKronecker",
        "LinearOperatorLowRankUpdate",
    ],
}  # fmt: skip

_Hint = bool | None
_HINTS = "is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square"
_WORDS = {
    "is_non_singular": "non-singular",
    "is_self_adjoint": "self-adjoint",
    "is_positive_definite": "positive-definite",
    "is_square": "square",
}


def product(first: LinearOperator, second: LinearOperator) -> LinearOperator:
    """Return the operator ``first second``, simpler where both are simple.

    Raises:
      ValueError: the inner dimensions differ.
    """
    first.domain_dimension.assert_is_compatible_with(second.range_dimension)
    if isinstance(first, LinearOperatorIdentity) and first.batch_shape.ndims == 0:
        return second
    if isinstance(second, LinearOperatorIdentity) and second.batch_shape.ndims == 0:
        return first
    if isinstance(first, LinearOperatorDiag) and isinstance(second, LinearOperatorDiag):
        return LinearOperatorDiag(first.diag * second.diag)
    return LinearOperatorComposition([first, second])


def _all(operators: Sequence[LinearOperator], hint: str) -> _Hint:
    """Return True if a hint is true for all of the operators, else None."""
    return True if all(getattr(one, hint) for one in operators) else None


def _hint_of_parts(
    operators: Sequence[LinearOperator], hint: str, given: _Hint, whole: str
) -> _Hint:
    """Return a hint that holds where it holds for all operators.

    Raises:
      ValueError: it is given as False, though it holds for all.
    """
    if not _all(operators, hint):
        return given
    if given is False:
        word = _WORDS[hint]
        raise ValueError(f"The {whole} of {word} operators is always {word}.")
    return True


def _hint_of_one(operator: LinearOperator, hint: str, given: _Hint, other: str) -> _Hint:
    """Return a hint that an operator and its adjoint, or its inverse, have in common.

    Raises:
      ValueError: the one that is given is not that of the operator.
    """
    known: _Hint = getattr(operator, hint)
    if given is None or known is None:
        return known if given is None else given
    if given != known:
        word = _WORDS[hint]
        raise ValueError(f"An operator is {word} if and only if its {other} is {word}.")
    return given


def _batch_of(operators: Sequence[LinearOperator]) -> TensorShape:
    return functools.reduce(broadcast_shapes, [one.batch_shape for one in operators])


def _check(operators: Sequence[LinearOperator]) -> None:
    if not operators:
        raise ValueError(
            f"Argument `operators` must be a list of >=1 operators. Received: {operators}."
        )
    if len({one.dtype for one in operators}) != 1:
        found = [(one.name, one.dtype.name) for one in operators]
        raise TypeError(f"Expected all operators to have the same dtype. Found: {found}")


class LinearOperatorComposition(LinearOperator):
    """The product of operators."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str | None = None,
    ) -> None:
        _check(operators)
        self._operators = list(operators)
        for one, other in itertools.pairwise(operators):
            one.domain_dimension.assert_is_compatible_with(other.range_dimension)
        is_non_singular = _hint_of_parts(
            operators, "is_non_singular", is_non_singular, "composition"
        )
        super().__init__(
            operators[0].dtype, [p for one in operators for p in one.graph_parents],
            is_non_singular, is_self_adjoint, is_positive_definite, is_square,
            name or "_o_".join(one.name for one in operators),
        )  # fmt: skip

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self) -> TensorShape:
        sizes = [self._operators[0].range_dimension, self._operators[-1].domain_dimension]
        return _batch_of(self._operators).concatenate(sizes)

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        for one in self._operators if adjoint else self._operators[::-1]:
            x = one.matmul(x, adjoint=adjoint)
        return x

    def _to_dense(self) -> TensorResult:
        return functools.reduce(math_ops.matmul, [one.to_dense() for one in self._operators])

    def _each_square(self) -> bool:
        return all(one.is_square for one in self._operators)

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        if not self._each_square():
            return super()._solve(rhs, adjoint)
        for one in self._operators[::-1] if adjoint else self._operators:
            rhs = one.solve(rhs, adjoint=adjoint)
        return rhs

    def _combined(self, numbers: Callable[[LinearOperator], Any], join: Any) -> TensorResult:
        return functools.reduce(join, [numbers(one) for one in self._operators])

    def _determinant(self) -> TensorResult:
        if not self._each_square():
            return super()._determinant()
        return self._combined(lambda one: one.determinant(), math_ops.multiply)

    def _log_abs_determinant(self) -> TensorResult:
        if not self._each_square():
            return super()._log_abs_determinant()
        return self._combined(lambda one: one.log_abs_determinant(), math_ops.add)


class LinearOperatorAdjoint(LinearOperator):
    """The adjoints of an operator."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str | None = None,
    ) -> None:
        self._operator = operator
        given = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        found: list[Any] = [
            _hint_of_one(operator, hint, one, "adjoint")
            for hint, one in zip(_HINTS, given, strict=True)
        ]
        name = name or f"{operator.name}_adjoint"
        super().__init__(
            operator.dtype,
            operator.graph_parents,
            name=name,
            **dict(zip(_HINTS, found, strict=True)),
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator that this is the adjoint of."""
        return self._operator

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the operator that this is the adjoint of."""
        return self._operator

    def _shape(self) -> TensorShape:
        own = self._operator
        return own.batch_shape.concatenate([own.domain_dimension, own.range_dimension])

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        return self._operator.matmul(x, adjoint=not adjoint)

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        return self._operator.solve(rhs, adjoint=not adjoint)

    def _to_dense(self) -> TensorResult:
        return linalg_ops.adjoint(self._operator.to_dense())

    def _determinant(self) -> TensorResult:
        return math_ops.conj(self._operator.determinant())

    def _log_abs_determinant(self) -> TensorResult:
        return self._operator.log_abs_determinant()


class LinearOperatorInversion(LinearOperator):
    """The inverses of an operator."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str | None = None,
    ) -> None:
        for hint, given in (("is_square", is_square), ("is_non_singular", is_non_singular)):
            known = getattr(operator, hint)
            if False in (known, given):
                raise ValueError(
                    f"Argument `{hint}` or argument `operator` must have supplied hint `{hint}` "
                    f"equal to `True` or `None`. Found `operator.{hint}`: {known}, `{hint}`: "
                    f"{given}."
                )
        self._operator = operator
        is_self_adjoint = _hint_of_one(operator, "is_self_adjoint", is_self_adjoint, "inverse")
        is_positive_definite = _hint_of_one(
            operator, "is_positive_definite", is_positive_definite, "inverse"
        )
        super().__init__(
            operator.dtype, operator.graph_parents, True, is_self_adjoint, is_positive_definite,
            True, name or f"{operator.name}_inv",
        )  # fmt: skip

    @property
    def operator(self) -> LinearOperator:
        """The operator that this is the inverse of."""
        return self._operator

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator that this is the inverse of."""
        return self._operator

    def _shape(self) -> TensorShape:
        return self._operator.shape

    def _shape_tensor(self) -> TensorResult:
        return self._operator.shape_tensor()

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        return self._operator.solve(x, adjoint=adjoint)

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        return self._operator.matmul(rhs, adjoint=adjoint)

    def _determinant(self) -> TensorResult:
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self) -> TensorResult:
        return -self._operator.log_abs_determinant()


class LinearOperatorBlockLowerTriangular(LinearOperator):
    """Matrices of blocks: a list of rows, each with one operator more than the row above."""

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        flat = [one for row in operators for one in row]
        _check(flat)
        for number, row in enumerate(operators):
            if len(row) != number + 1:
                raise ValueError(f"Row {number} must have {number + 1} operators, has {len(row)}.")
        self._rows = [list(row) for row in operators]
        if is_non_singular is None:
            is_non_singular = _all(self._diagonal, "is_non_singular")
        super().__init__(
            flat[0].dtype, [p for one in flat for p in one.graph_parents], is_non_singular,
            is_self_adjoint, is_positive_definite, is_square, name,
        )  # fmt: skip

    @property
    def operators(self) -> TensorResult:
        """The rows of blocks."""
        return self._rows

    @property
    def _diagonal(self) -> list[LinearOperator]:
        return [row[-1] for row in self._rows]

    def _shape(self) -> TensorShape:
        def total(sizes: list[int | None]) -> int | None:
            return None if None in sizes else sum(sizes)  # type: ignore[arg-type]

        rows = total([one.range_dimension.value for one in self._diagonal])
        columns = total([one.domain_dimension.value for one in self._diagonal])
        return _batch_of([o for row in self._rows for o in row]).concatenate([rows, columns])

    def _to_dense(self) -> TensorResult:
        blocks = [[one.to_dense() for one in row] for row in self._rows]
        batch = functools.reduce(
            array_ops.broadcast_dynamic_shape,
            [array_ops.shape(one)[:-2] for row in blocks for one in row],
        )
        columns = [array_ops.shape(row[-1])[-1] for row in blocks]
        rows = []
        for row in blocks:
            height = array_ops.shape(row[-1])[-2]
            whole = [
                array_ops.broadcast_to(one, array_ops.concat([batch, array_ops.shape(one)[-2:]], 0))
                for one in row
            ]
            whole += [
                array_ops.zeros(array_ops.concat([batch, [height, width]], 0), self.dtype)
                for width in columns[len(row) :]
            ]
            rows.append(array_ops.concat(whole, axis=-1))
        return array_ops.concat(rows, axis=-2)

    def _parts(self, x: TensorLike, sizes: list[TensorLike]) -> list[TensorResult]:
        return list(array_ops.split(x, array_ops.stack(sizes), axis=-2))

    def _determinant(self) -> TensorResult:
        if not all(one.is_square for one in self._diagonal):
            return super()._determinant()
        return functools.reduce(math_ops.multiply, [o.determinant() for o in self._diagonal])

    def _log_abs_determinant(self) -> TensorResult:
        if not all(one.is_square for one in self._diagonal):
            return super()._log_abs_determinant()
        return functools.reduce(math_ops.add, [o.log_abs_determinant() for o in self._diagonal])


class LinearOperatorBlockDiag(LinearOperatorBlockLowerTriangular):
    """Matrices with blocks on the diagonal, and zeros elsewhere."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = True,
        name: str | None = None,
    ) -> None:
        _check(operators)
        given = is_non_singular, is_self_adjoint, is_positive_definite
        is_non_singular, is_self_adjoint, is_positive_definite = (
            _hint_of_parts(operators, hint, one, "direct sum")
            for hint, one in zip(_HINTS[:3], given, strict=True)
        )
        self._blocks = list(operators)
        sizes = [(o.range_dimension_tensor(), o.domain_dimension_tensor()) for o in operators]

        def zeros(row: int, column: int) -> LinearOperator:
            known = operators[row].range_dimension.value, operators[column].domain_dimension.value
            height, width = (
                tensor if size is None else size
                for size, tensor in zip(known, (sizes[row][0], sizes[column][1]), strict=True)
            )
            dtype = operators[0].dtype
            return LinearOperatorZeros(
                height, width, dtype=dtype, is_self_adjoint=None, is_square=None
            )

        rows = [[*(zeros(n, m) for m in range(n)), one] for n, one in enumerate(operators)]
        super().__init__(
            rows, is_non_singular, is_self_adjoint, is_positive_definite, is_square,
            name or "_ds_".join(one.name for one in operators),
        )  # fmt: skip

    @property
    def operators(self) -> TensorResult:
        """The blocks."""
        return self._blocks

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the operator of the blocks' adjoints."""
        if self.is_self_adjoint:
            return self
        return LinearOperatorBlockDiag([one.adjoint() for one in self._blocks], **self._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator of the blocks' inverses, if these are square."""
        inverse = super().inverse()
        if not all(one.is_square for one in self._blocks):
            return inverse
        hints = self._hints() | {"is_non_singular": True}
        return LinearOperatorBlockDiag([one.inverse() for one in self._blocks], **hints)

    def _cholesky(self) -> LinearOperator:
        if not all(one.is_self_adjoint for one in self._blocks):
            return super()._cholesky()
        return LinearOperatorBlockDiag(
            [one.cholesky() for one in self._blocks], is_non_singular=True, is_square=True
        )

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        sizes = [
            o.range_dimension_tensor() if adjoint else o.domain_dimension_tensor()
            for o in self._blocks
        ]
        parts = self._parts(x, sizes)
        return array_ops.concat(
            [o.matmul(part, adjoint=adjoint) for o, part in zip(self._blocks, parts, strict=True)],
            axis=-2,
        )

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        if not all(one.is_square for one in self._blocks):
            return super()._solve(rhs, adjoint)
        parts = self._parts(rhs, [o.range_dimension_tensor() for o in self._blocks])
        return array_ops.concat(
            [o.solve(part, adjoint=adjoint) for o, part in zip(self._blocks, parts, strict=True)],
            axis=-2,
        )


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str | None = None,
    ) -> None:
        _check(operators)
        self._operators = list(operators)
        given = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        hints: list[Any] = [
            _hint_of_parts(operators, hint, one, "Kronecker product")
            for hint, one in zip(_HINTS, given, strict=True)
        ]
        name = name or "_x_".join(one.name for one in operators)
        parents = [p for one in operators for p in one.graph_parents]
        super().__init__(
            operators[0].dtype, parents, name=name, **dict(zip(_HINTS, hints, strict=True))
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the product of the factors' adjoints."""
        if self.is_self_adjoint:
            return self
        return LinearOperatorKronecker([one.adjoint() for one in self._operators], **self._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the product of the factors' inverses, if these are square."""
        inverse = super().inverse()
        if not all(one.is_square for one in self._operators):
            return inverse
        hints = self._hints() | {"is_non_singular": True}
        return LinearOperatorKronecker([one.inverse() for one in self._operators], **hints)

    def _cholesky(self) -> LinearOperator:
        if not all(one.is_self_adjoint and one.is_positive_definite for one in self._operators):
            return super()._cholesky()
        return LinearOperatorKronecker(
            [one.cholesky() for one in self._operators], is_non_singular=True, is_square=True
        )

    def _shape(self) -> TensorShape:
        def total(sizes: list[int | None]) -> int | None:
            return None if None in sizes else functools.reduce(lambda a, b: a * b, sizes, 1)  # type: ignore[operator]

        rows = total([one.range_dimension.value for one in self._operators])
        columns = total([one.domain_dimension.value for one in self._operators])
        return _batch_of(self._operators).concatenate([rows, columns])

    def _to_dense(self) -> TensorResult:
        def times(a: TensorLike, b: TensorLike) -> TensorResult:
            whole = a[..., :, None, :, None] * b[..., None, :, None, :]
            size = array_ops.shape(whole)
            rows, columns = size[-4] * size[-3], size[-2] * size[-1]
            return array_ops.reshape(whole, array_ops.concat([size[:-4], [rows, columns]], 0))

        return functools.reduce(times, [one.to_dense() for one in self._operators])

    def _log_abs_determinant(self) -> TensorResult:
        if not all(one.is_square for one in self._operators):
            return super()._log_abs_determinant()
        total: TensorLike = 0.0
        size = self.range_dimension_tensor()
        for one in self._operators:
            share = one.log_abs_determinant()
            times = math_ops.cast(size // one.range_dimension_tensor(), share.dtype)
            total = total + times * share
        return total


class LinearOperatorLowRankUpdate(LinearOperator):
    """``L + U D V^H`` for an operator L and thin matrices U and V."""

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: _Hint = None,
        is_non_singular: _Hint = None,
        is_self_adjoint: _Hint = None,
        is_positive_definite: _Hint = None,
        is_square: _Hint = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        with name_scope(name, values=[u]):
            self._u = convert_to_tensor(u, name="u")
            self._v = self._u if v is None else convert_to_tensor(v, name="v")
            self._diag = (
                array_ops.ones(array_ops.shape(self._u)[-1:], self._u.dtype)
                if diag_update is None
                else convert_to_tensor(diag_update, name="diag_update")
            )
        self._base, self._is_diag_positive = base_operator, is_diag_update_positive
        self._has_diag = diag_update is not None
        positive = diag_update is None or is_diag_update_positive
        if v is None and positive and base_operator.is_self_adjoint:
            if is_self_adjoint is None:
                is_self_adjoint = True
            if is_positive_definite is None:
                is_positive_definite = base_operator.is_positive_definite
        super().__init__(
            base_operator.dtype, [*base_operator.graph_parents, self._u, self._v, self._diag],
            is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
        )  # fmt: skip

    @property
    def base_operator(self) -> LinearOperator:
        """The operator L, without the update."""
        return self._base

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the factor between the two thin matrices is known to be positive."""
        return self._is_diag_positive

    @property
    def diag_operator(self) -> LinearOperator:
        """The factor between the two thin matrices, as an operator."""
        if self._has_diag:
            return LinearOperatorDiag(
                self._diag, is_positive_definite=self._is_diag_positive, name="diag_operator"
            )
        size = self._u.shape[-1].value
        return LinearOperatorIdentity(
            array_ops.shape(self._u)[-1] if size is None else size, dtype=self.dtype
        )

    @property
    def u(self) -> TensorResult:
        """The left factor."""
        return self._u

    @property
    def v(self) -> TensorResult:
        """The right factor."""
        return self._v

    @property
    def diag_update(self) -> TensorResult:
        """The diagonal factor D."""
        return self._diag

    def _shape(self) -> TensorShape:
        batch = broadcast_shapes(self._base.batch_shape, self._u.shape[:-2])
        return batch.concatenate(self._base.shape[-2:])

    def _matmul(self, x: TensorLike, adjoint: bool) -> TensorResult:
        left, right, diag = self._u, self._v, self._diag
        if adjoint:
            left, right, diag = right, left, math_ops.conj(diag)
        inner = diag[..., None] * math_ops.matmul(right, x, adjoint_a=True)
        return self._base.matmul(x, adjoint=adjoint) + math_ops.matmul(left, inner)

    def _to_dense(self) -> TensorResult:
        scaled = self._u * self._diag[..., None, :]
        return self._base.to_dense() + math_ops.matmul(scaled, self._v, adjoint_b=True)

    def _capacitance(self) -> TensorResult:
        """Return ``D^-1 + V^H L^-1 U``."""
        inner = math_ops.matmul(self._v, self._base.solve(self._u), adjoint_a=True)
        return inner + array_ops.matrix_diag(1.0 / self._diag)

    def _solve(self, rhs: TensorLike, adjoint: bool) -> TensorResult:
        if self._base.is_non_singular is False or adjoint:
            return super()._solve(rhs, adjoint)
        first = self._base.solve(rhs)
        inner = math_ops.matmul(self._v, first, adjoint_a=True)
        inner = matrix_solve(*with_one_batch(self._capacitance(), inner))
        return first - self._base.solve(math_ops.matmul(self._u, inner))

    def _determinant(self) -> TensorResult:
        if self._base.is_non_singular is False:
            return super()._determinant()
        diag = math_ops.reduce_prod(self._diag, axis=-1)
        return matrix_determinant(self._capacitance()) * diag * self._base.determinant()

    def _log_abs_determinant(self) -> TensorResult:
        if self._base.is_non_singular is False:
            return super()._log_abs_determinant()
        diag = math_ops.reduce_sum(math_ops.log(math_ops.abs(self._diag)), axis=-1)
        inner = math_ops.real(log_matrix_determinant(self._capacitance())[1])
        return inner + diag + self._base.log_abs_determinant()
