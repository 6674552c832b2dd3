"""Distributions of positive numbers: Gamma, Exponential, and Beta between 0 and 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow.check_ops import (
    assert_less,
    assert_positive,
    assert_same_float_dtype,
)
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.library.distributions.distribution import FULLY_REPARAMETERIZED, new_seed
from tfnb.library.distributions.kullback_leibler import RegisterKL
from tfnb.library.distributions.location_scale import _OnALine
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.cwise_unary_ops import log1p
from tfnb.ops.math.special_math_ops import betainc, digamma, igamma, lgamma
from tfnb.ops.random import random_ops

if TYPE_CHECKING:
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import IntsLike, TensorLike, TensorResult

EXPORTS = {"distributions": ["Beta", "Exponential", "Gamma"]}


class _Positive(_OnALine):
    """The common part of Gamma and Beta."""

    def _nan(self) -> TensorResult:
        nan = np.array(math.nan, dtype=self.dtype.as_numpy_dtype)
        return array_ops.fill(self.batch_shape_tensor(), nan, name="nan")

    def _checked(self, value: TensorLike, checks: list[TensorLike]) -> TensorResult:
        """Return a value behind checks; without ``validate_args``, unchanged."""
        return with_dependencies(checks, value) if checks else value


class Gamma(_Positive):
    """The gamma distribution.

    Args:
      concentration: its shape parameter, positive.
      rate: the inverse of its scale, positive.
      validate_args: whether both are checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        concentration: TensorLike,
        rate: IntsLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration, rate]) as name:
            checks = (
                [assert_positive(concentration), assert_positive(rate)] if validate_args else []
            )
            with control_dependencies(checks):
                self._concentration = array_ops.identity(concentration, name="concentration")
                self._rate = array_ops.identity(rate, name="rate")
                assert_same_float_dtype([self._concentration, self._rate])
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration, self._rate],
            name=name,
        )

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        shape = convert_to_tensor(sample_shape, dtype=dtypes.int32)
        return {"concentration": shape, "rate": shape}

    @property
    def concentration(self) -> TensorResult:
        """The shape parameter."""
        return self._concentration

    @property
    def rate(self) -> IntsLike:
        """The inverse of the scale."""
        return self._rate

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.broadcast_dynamic_shape(
            array_ops.shape(self.concentration), array_ops.shape(self.rate)
        )

    def _batch_shape(self) -> TensorShape:
        return array_ops.broadcast_static_shape(
            self.concentration.get_shape(), self.rate.get_shape()
        )

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        return random_ops.random_gamma(
            [n], self.concentration, beta=self.rate, dtype=self.dtype, seed=seed
        )

    def _positive(self, x: TensorLike) -> TensorResult:
        if not self.validate_args:
            return x
        assert_same_float_dtype(tensors=[x], dtype=self.dtype)
        return self._checked(x, [assert_positive(x)])

    def _log_prob(self, x: TensorLike) -> TensorResult:
        x = self._positive(x)
        unnormalized = math_ops.xlogy(self.concentration - 1.0, x) - self.rate * x
        return unnormalized - (
            lgamma(self.concentration) - self.concentration * math_ops.log(self.rate)
        )

    def _cdf(self, x: TensorLike) -> TensorResult:
        # A value below 0 would give NaN if values are not checked.
        return igamma(self.concentration, self.rate * self._positive(x))

    def _entropy(self) -> TensorResult:
        return (
            self.concentration
            - math_ops.log(self.rate)
            + lgamma(self.concentration)
            + (1.0 - self.concentration) * digamma(self.concentration)
        )

    def _mean(self) -> TensorResult:
        return self.concentration / self.rate

    def _variance(self) -> TensorResult:
        return self.concentration / math_ops.square(self.rate)

    def _stddev(self) -> TensorResult:
        return math_ops.sqrt(self.concentration) / self.rate

    def _mode(self) -> TensorResult:
        mode = (self.concentration - 1.0) / self.rate
        if self.allow_nan_stats:
            nan = self._nan()
            return array_ops.where_v2(self.concentration > 1.0, mode, nan)
        one = array_ops.ones([], self.dtype)
        message = "mode not defined when any concentration <= 1"
        return self._checked(mode, [assert_less(one, self.concentration, message=message)])


class Exponential(Gamma):
    """The waiting time for an event of constant rate: a Gamma with concentration 1.

    Args:
      rate: the number of events in a unit of time, positive.
      validate_args: whether that is checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        rate: IntsLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[rate]) as name:
            self._rate = convert_to_tensor(rate, name="rate")
        super().__init__(
            concentration=array_ops.ones([], dtype=self._rate.dtype),
            rate=self._rate,
            allow_nan_stats=allow_nan_stats,
            validate_args=validate_args,
            name=name,
        )
        self._parameters_given = parameters
        self._graph_parents = [*self._graph_parents, self._rate]

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        return {"rate": convert_to_tensor(sample_shape, dtype=dtypes.int32)}

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        shape = array_ops.concat([[n], array_ops.shape(self._rate)], 0)
        # Drawn from the smallest positive number on: the logarithm of 0 is infinite.
        drawn = random_ops.random_uniform(
            shape,
            minval=np.finfo(self.dtype.as_numpy_dtype).tiny,
            maxval=1.0,
            seed=seed,
            dtype=self.dtype,
        )
        return -math_ops.log(drawn) / self._rate

    def _log_survival_function(self, value: TensorLike) -> TensorResult:
        return self._log_prob(value) - math_ops.log(self._rate)


class Beta(_Positive):
    """The beta distribution, between 0 and 1.

    Args:
      concentration1: the weight of 1, positive.
      concentration0: the weight of 0, positive.
      validate_args: whether both, and values, are checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        concentration1: TensorLike | None = None,
        concentration0: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration1, concentration0]) as name:
            self._concentration1 = self._weight(concentration1, "concentration1", validate_args)
            self._concentration0 = self._weight(concentration0, "concentration0", validate_args)
            assert_same_float_dtype([self._concentration1, self._concentration0])
            self._total = self._concentration1 + self._concentration0
        super().__init__(
            dtype=self._total.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration1, self._concentration0, self._total],
            name=name,
        )

    @staticmethod
    def _weight(value: TensorLike, name: str, is_checked: bool) -> TensorResult:
        tensor = convert_to_tensor(value, name=name)
        if not is_checked:
            return tensor
        message = "Concentration parameter must be positive."
        return with_dependencies([assert_positive(tensor, message=message)], tensor)

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        shape = convert_to_tensor(sample_shape, dtype=dtypes.int32)
        return {"concentration1": shape, "concentration0": shape}

    @property
    def concentration1(self) -> TensorResult:
        """The weight of 1."""
        return self._concentration1

    @property
    def concentration0(self) -> TensorResult:
        """The weight of 0."""
        return self._concentration0

    @property
    def total_concentration(self) -> TensorResult:
        """The sum of both."""
        return self._total

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        found: TensorShape = self.total_concentration.get_shape()
        return found

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        ones = array_ops.ones_like(self.total_concentration, dtype=self.dtype)
        first = ones * self.concentration1
        second = array_ops.ones_like(self.total_concentration, dtype=self.dtype)
        second = second * self.concentration0
        a = random_ops.random_gamma([n], first, dtype=self.dtype, seed=seed)
        b = random_ops.random_gamma([n], second, dtype=self.dtype, seed=new_seed(seed, "beta"))
        return a / (a + b)

    def _inside(self, x: TensorLike) -> TensorResult:
        if not self.validate_args:
            return x
        one = array_ops.ones([], self.dtype)
        return self._checked(
            x,
            [
                assert_positive(x, message="sample must be positive"),
                assert_less(x, one, message="sample must be less than `1`."),
            ],
        )

    def _log_prob(self, x: TensorLike) -> TensorResult:
        x = self._inside(x)
        unnormalized = math_ops.xlogy(self.concentration1 - 1.0, x) + (
            self.concentration0 - 1.0
        ) * log1p(-x)
        return unnormalized - self._log_normalization()

    def _log_normalization(self) -> TensorResult:
        return (
            lgamma(self.concentration1)
            + lgamma(self.concentration0)
            - lgamma(self.total_concentration)
        )

    def _log_cdf(self, x: TensorLike) -> TensorResult:
        return math_ops.log(self._cdf(x))

    def _cdf(self, x: TensorLike) -> TensorResult:
        return betainc(self.concentration1, self.concentration0, self._inside(x))

    def _entropy(self) -> TensorResult:
        return (
            self._log_normalization()
            - (self.concentration1 - 1.0) * digamma(self.concentration1)
            - (self.concentration0 - 1.0) * digamma(self.concentration0)
            + (self.total_concentration - 2.0) * digamma(self.total_concentration)
        )

    def _mean(self) -> TensorResult:
        return self._concentration1 / self._total

    def _variance(self) -> TensorResult:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> TensorResult:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        if not self.allow_nan_stats:
            one = array_ops.ones([], dtype=self.dtype)
            checks = [
                assert_less(one, weight, message=f"Mode undefined for {name} <= 1.")
                for name, weight in (
                    ("concentration1", self.concentration1),
                    ("concentration0", self.concentration0),
                )
            ]
            return self._checked(mode, checks)
        nan = self._nan()
        is_there = math_ops.logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0)
        return array_ops.where_v2(is_there, mode, nan)


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(a: Gamma, b: Gamma, name: str | None = None) -> TensorResult:
    with name_scope(name, "kl_gamma_gamma", [a.concentration, b.concentration, a.rate, b.rate]):
        return (
            (a.concentration - b.concentration) * digamma(a.concentration)
            + lgamma(b.concentration)
            - lgamma(a.concentration)
            + b.concentration * math_ops.log(a.rate)
            - b.concentration * math_ops.log(b.rate)
            + a.concentration * (b.rate / a.rate - 1.0)
        )


@RegisterKL(Beta, Beta)
def _kl_beta_beta(a: Beta, b: Beta, name: str | None = None) -> TensorResult:
    def change(part: str) -> TensorResult:
        first, second = getattr(a, part), getattr(b, part)
        return digamma(first) * (second - first)

    with name_scope(name, "kl_beta_beta", [a.concentration1, b.concentration1]):
        return (
            b._log_normalization()
            - a._log_normalization()
            - change("concentration1")
            - change("concentration0")
            + change("total_concentration")
        )
