"""Distributions of vectors: Dirichlet, Multinomial, DirichletMultinomial."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.check_ops import (
    assert_equal,
    assert_less,
    assert_near,
    assert_positive,
    assert_rank_at_least,
)
from tfnb.library.control_flow.map_fn import map_fn
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.library.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    new_seed,
)
from tfnb.library.distributions.kullback_leibler import RegisterKL
from tfnb.library.distributions.probabilities import (
    checked_counts,
    log_combinations,
    logits_and_probs,
)
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.special_math_ops import digamma, lbeta
from tfnb.ops.nn.softmax_ops import log_softmax
from tfnb.ops.random import random_ops

if TYPE_CHECKING:
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"distributions": ["Dirichlet", "DirichletMultinomial", "Multinomial"]}


def _checked_concentration(concentration: TensorLike, is_checked: bool) -> TensorResult:
    if not is_checked:
        return concentration
    return with_dependencies(
        [
            assert_positive(concentration, message="Concentration parameter must be positive."),
            assert_rank_at_least(
                concentration, 1, message="Concentration parameter must have >=1 dimensions."
            ),
            assert_less(
                1,
                array_ops.shape(concentration)[-1],
                message="Concentration parameter must have event_size >= 2.",
            ),
        ],
        concentration,
    )


class _OfConcentration(Distribution):
    """The common part of distributions with a vector of concentrations."""

    _concentration: Any
    _total: Any

    @property
    def concentration(self) -> TensorResult:
        """The weights of the components."""
        return self._concentration

    @property
    def total_concentration(self) -> TensorResult:
        """The sum of the weights."""
        return self._total

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        found: TensorShape = self.total_concentration.get_shape()
        return found

    def _event_shape_tensor(self) -> TensorResult:
        return array_ops.shape(self.concentration)[-1:]

    def _event_shape(self) -> TensorShape:
        found: TensorShape = self.concentration.get_shape().with_rank_at_least(1)[-1:]
        return found

    if TYPE_CHECKING:

        def _mean(self) -> TensorResult: ...
        def _variance(self) -> TensorResult: ...
        def _scale(self) -> TensorResult: ...

    def _covariance(self) -> TensorResult:
        x = self._scale() * self._mean()
        outer = -math_ops.matmul(x[..., None], x[..., None, :])
        return array_ops.matrix_set_diag(outer, self._variance())


class Dirichlet(_OfConcentration):
    """Positive vectors whose sum is 1.

    Args:
      concentration: the weights of the components, positive.
      validate_args: whether they, and values, are checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration]) as name:
            self._concentration = _checked_concentration(
                convert_to_tensor(concentration, name="concentration"), validate_args
            )
            self._total = math_ops.reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration, self._total],
            name=name,
        )

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        gamma = random_ops.random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return gamma / math_ops.reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x: TensorLike) -> TensorResult:
        if self.validate_args:
            checks = [assert_positive(x, message="samples must be positive")]
            one = array_ops.ones([], dtype=self.dtype)
            message = "sample last-dimension must sum to `1`"
            checks.append(assert_near(one, math_ops.reduce_sum(x, -1), message=message))
            x = with_dependencies(checks, x)
        unnormalized = math_ops.reduce_sum(math_ops.xlogy(self.concentration - 1.0, x), -1)
        return unnormalized - lbeta(self.concentration)

    def _entropy(self) -> TensorResult:
        k = math_ops.cast(self.event_shape_tensor()[0], self.dtype)
        return (
            lbeta(self.concentration)
            + (self.total_concentration - k) * digamma(self.total_concentration)
            - math_ops.reduce_sum((self.concentration - 1.0) * digamma(self.concentration), axis=-1)
        )

    def _mean(self) -> TensorResult:
        return self.concentration / self.total_concentration[..., None]

    def _scale(self) -> TensorResult:
        return math_ops.rsqrt(1.0 + self.total_concentration[..., None])

    def _variance(self) -> TensorResult:
        scale = self._scale()
        x = scale * self._mean()
        return x * (scale - x)

    def _mode(self) -> TensorResult:
        k = math_ops.cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., None] - k)
        if not self.allow_nan_stats:
            one = array_ops.ones([], self.dtype)
            message = "Mode undefined when any concentration <= 1"
            return with_dependencies([assert_less(one, self.concentration, message=message)], mode)
        number = np.array(math.nan, dtype=self.dtype.as_numpy_dtype)
        nan = array_ops.fill(array_ops.shape(mode), number, name="nan")
        is_there = math_ops.reduce_all(self.concentration > 1.0, -1)
        return array_ops.where_v2(is_there[..., None], mode, nan)


class _Counts(Distribution):
    """The common part of distributions of vectors of counts."""

    _total_count: Any

    @property
    def total_count(self) -> TensorResult:
        """The number of draws that are counted."""
        return self._total_count

    def _checked(self, counts: TensorLike) -> TensorResult:
        """Return counts, checked when the graph runs if ``validate_args``."""
        if not self.validate_args:
            return counts
        counts = checked_counts(counts)
        message = "counts must sum to `self.total_count`"
        total = math_ops.reduce_sum(counts, -1)
        return with_dependencies([assert_equal(self.total_count, total, message=message)], counts)


class Multinomial(_Counts):
    """The number of occurrences of each class in a number of draws.

    Args:
      total_count: the number of draws.
      logits: logarithms of the weights of classes; or
      probs: their probabilities.
      validate_args: whether counts and probabilities are checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[total_count, logits, probs]) as name:
            self._total_count = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = checked_counts(self._total_count)
            self._logits, self._probs = logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=name
            )
            self._mean_val = self._total_count[..., None] * self._probs
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
            name=name,
        )

    @property
    def logits(self) -> TensorResult:
        """The logarithms of weights."""
        return self._logits

    @property
    def probs(self) -> TensorResult:
        """The probabilities."""
        return self._probs

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.shape(self._mean_val)[:-1]

    def _batch_shape(self) -> TensorShape:
        found: TensorShape = self._mean_val.get_shape().with_rank_at_least(1)[:-1]
        return found

    def _event_shape_tensor(self) -> TensorResult:
        return array_ops.shape(self._mean_val)[-1:]

    def _event_shape(self) -> TensorShape:
        found: TensorShape = self._mean_val.get_shape().with_rank_at_least(1)[-1:]
        return found

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        counts = math_ops.cast(self.total_count, dtype=dtypes.int32)
        k = self.event_shape_tensor()[0]
        # Both are broadcast to the batch: either may be the smaller one.
        counts = array_ops.ones_like(self.logits[..., 0], dtype=counts.dtype) * counts
        logits = array_ops.ones_like(counts[..., None], dtype=self.logits.dtype) * self.logits
        flat_logits = array_ops.reshape(logits, [-1, k])
        flat_counts = array_ops.reshape(n * counts, [-1])

        def draw(pair: tuple[TensorLike, TensorLike]) -> TensorResult:
            row, count = pair[0], pair[1]
            drawn = random_ops.multinomial(row[None, ...], count, seed=seed)
            hits = array_ops.one_hot(array_ops.reshape(drawn, [n, -1]), depth=k)
            return math_ops.reduce_sum(hits, axis=-2)

        x = map_fn(draw, [flat_logits, flat_counts], dtype=self.dtype)
        x = array_ops.transpose(x, perm=[1, 0, 2])
        shape = array_ops.concat([[n], self.batch_shape_tensor(), [k]], 0)
        return array_ops.reshape(x, shape)

    def _log_prob(self, counts: TensorLike) -> TensorResult:
        unnormalized = math_ops.reduce_sum(self._checked(counts) * log_softmax(self.logits), -1)
        return unnormalized - -log_combinations(self.total_count, self._checked(counts))

    def _mean(self) -> TensorResult:
        return array_ops.identity(self._mean_val)

    def _weighted(self) -> TensorResult:
        return self._probs * array_ops.ones_like(self.total_count)[..., None]

    def _covariance(self) -> TensorResult:
        p = self._weighted()
        outer = -math_ops.matmul(self._mean_val[..., None], p[..., None, :])
        return array_ops.matrix_set_diag(outer, self._variance())

    def _variance(self) -> TensorResult:
        return self._mean_val - self._mean_val * self._weighted()


class DirichletMultinomial(_OfConcentration, _Counts):
    """The number of occurrences of each class, where the probabilities are drawn first.

    Args:
      total_count: the number of draws.
      concentration: the weights of the classes, positive.
      validate_args: whether both, and counts, are checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        total_count: TensorLike,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[total_count, concentration]) as name:
            self._total_count = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = checked_counts(self._total_count)
            self._concentration = _checked_concentration(
                convert_to_tensor(concentration, name="concentration"), validate_args
            )
            self._total = math_ops.reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._concentration],
            name=name,
        )

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        count = math_ops.cast(self.total_count, dtype=dtypes.int32)
        k = self.event_shape_tensor()[0]
        gamma = random_ops.random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        rows = array_ops.reshape(math_ops.log(gamma), [-1, k])
        drawn = random_ops.multinomial(rows, count, seed=new_seed(seed, "dirichlet_multinomial"))
        x = math_ops.reduce_sum(array_ops.one_hot(drawn, depth=k), -2)
        shape = array_ops.concat([[n], self.batch_shape_tensor(), [k]], 0)
        return math_ops.cast(array_ops.reshape(x, shape), self.dtype)

    def _log_prob(self, counts: TensorLike) -> TensorResult:
        counts = self._checked(counts)
        ordered = lbeta(self.concentration + counts) - lbeta(self.concentration)
        return ordered + log_combinations(self.total_count, counts)

    def _mean(self) -> TensorResult:
        return self.total_count * (self.concentration / self.total_concentration[..., None])

    def _scale(self) -> TensorResult:
        total = self.total_concentration[..., None]
        return math_ops.sqrt((1.0 + total / self.total_count) / (1.0 + total))

    def _variance(self) -> TensorResult:
        scale = self._scale()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(a: Dirichlet, b: Dirichlet, name: str | None = None) -> TensorResult:
    with name_scope(name, "kl_dirichlet_dirichlet", [a.concentration, b.concentration]):
        total = math_ops.reduce_sum(a.concentration, axis=-1, keepdims=True)
        excess = digamma(total)
        difference = digamma(a.concentration) - excess
        change = a.concentration - b.concentration
        mixed = math_ops.reduce_sum(change * difference, axis=-1)
        return mixed - lbeta(a.concentration) + lbeta(b.concentration)
