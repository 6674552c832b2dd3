"""Distributions on a line: Uniform, Laplace, Student's t."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow.check_ops import (
    assert_less,
    assert_positive,
    assert_same_float_dtype,
)
from tfnb.library.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, new_seed
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.cwise_unary_ops import is_nan, log1p
from tfnb.ops.math.special_math_ops import betainc, digamma, lbeta, lgamma
from tfnb.ops.random import random_ops

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"distributions": ["Laplace", "StudentT", "Uniform"]}


class _OnALine(Distribution):
    """A distribution of scalars."""

    def _event_shape_tensor(self) -> TensorResult:
        return array_ops.constant([], dtype=dtypes.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _shape_of_draws(self, n: TensorLike) -> TensorResult:
        return array_ops.concat([[n], self.batch_shape_tensor()], 0)


class Uniform(_OnALine):
    """The same density everywhere between two bounds.

    Args:
      low: the lower bound, which is included.
      high: the upper bound, which is excluded.
      validate_args: whether ``low < high`` is checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[low, high]) as name:
            checks = []
            if validate_args:
                checks.append(
                    assert_less(low, high, message="uniform not defined when low >= high.")
                )
            with control_dependencies(checks):
                self._low = array_ops.identity(low, name="low")
                self._high = array_ops.identity(high, name="high")
                assert_same_float_dtype([self._low, self._high])
        super().__init__(
            dtype=self._low.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._low, self._high],
            name=name,
        )

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        shape = convert_to_tensor(sample_shape, dtype=dtypes.int32)
        return {"low": shape, "high": shape}

    @property
    def low(self) -> TensorResult:
        """The lower bound."""
        return self._low

    @property
    def high(self) -> TensorResult:
        """The upper bound."""
        return self._high

    def range(self, name: str = "range") -> TensorResult:
        """Return the difference of the bounds."""
        with self._name_scope(name):
            return self.high - self.low

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.broadcast_dynamic_shape(
            array_ops.shape(self.low), array_ops.shape(self.high)
        )

    def _batch_shape(self) -> TensorShape:
        return array_ops.broadcast_static_shape(self.low.get_shape(), self.high.get_shape())

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        drawn = random_ops.random_uniform(self._shape_of_draws(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x: TensorLike) -> TensorResult:
        x = x * array_ops.ones(self.batch_shape_tensor(), dtype=x.dtype)
        unknown = is_nan(x)
        outside = math_ops.logical_or(x < self.low, x >= self.high)
        inside = array_ops.where_v2(
            outside, array_ops.zeros_like(x), array_ops.ones_like(x) / self.range()
        )
        return array_ops.where_v2(unknown, x, inside)

    def _cdf(self, x: TensorLike) -> TensorResult:
        shape = array_ops.broadcast_dynamic_shape(array_ops.shape(x), self.batch_shape_tensor())
        zeros = array_ops.zeros(shape, dtype=self.dtype)
        ones = array_ops.ones(shape, dtype=self.dtype)
        wide = x * ones
        not_left = array_ops.where_v2(x < self.low, zeros, (wide - self.low) / self.range())
        return array_ops.where_v2(x >= self.high, ones, not_left)

    def _entropy(self) -> TensorResult:
        return math_ops.log(self.range())

    def _mean(self) -> TensorResult:
        return (self.low + self.high) / 2.0

    def _variance(self) -> TensorResult:
        return math_ops.square(self.range()) / 12.0

    def _stddev(self) -> TensorResult:
        return self.range() / math.sqrt(12.0)


class Laplace(_OnALine):
    """A density that falls off exponentially on both sides.

    Args:
      loc: its center, floating point.
      scale: its width, positive.
      validate_args: whether that is checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[loc, scale]) as name:
            with control_dependencies([assert_positive(scale)] if validate_args else []):
                self._loc = array_ops.identity(loc, name="loc")
                self._scale = array_ops.identity(scale, name="scale")
                assert_same_float_dtype([self._loc, self._scale])
        super().__init__(
            dtype=self._loc.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._loc, self._scale],
            name=name,
        )

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        shape = convert_to_tensor(sample_shape, dtype=dtypes.int32)
        return {"loc": shape, "scale": shape}

    @property
    def loc(self) -> TensorResult:
        """The center."""
        return self._loc

    @property
    def scale(self) -> TensorResult:
        """The width."""
        return self._scale

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.broadcast_dynamic_shape(
            array_ops.shape(self.loc), array_ops.shape(self.scale)
        )

    def _batch_shape(self) -> TensorShape:
        return array_ops.broadcast_static_shape(self.loc.get_shape(), self.scale.get_shape())

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        # Drawn from (-1, 1): -1 itself would give an infinite value.
        least = np.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0))
        drawn = random_ops.random_uniform(
            self._shape_of_draws(n), minval=least, maxval=1.0, dtype=self.dtype, seed=seed
        )
        side = self.scale * math_ops.sign(drawn)
        return self.loc - side * log1p(-math_ops.abs(drawn))

    def _z(self, x: TensorLike) -> TensorResult:
        return (x - self.loc) / self.scale

    def _log_prob(self, x: TensorLike) -> TensorResult:
        return -math_ops.abs(self._z(x)) - (math.log(2.0) + math_ops.log(self.scale))

    def _cdf(self, x: TensorLike) -> TensorResult:
        z = self._z(x)
        return 0.5 + 0.5 * math_ops.sign(z) * (1.0 - math_ops.exp(-math_ops.abs(z)))

    def _log_cdf(self, x: TensorLike) -> TensorResult:
        return _log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: TensorLike) -> TensorResult:
        return _log_cdf_laplace(-self._z(x))

    def _entropy(self) -> TensorResult:
        scale = self.scale + array_ops.zeros_like(self.loc)
        return math.log(2.0) + 1.0 + math_ops.log(scale)

    def _mean(self) -> TensorResult:
        return self.loc + array_ops.zeros_like(self.scale)

    def _stddev(self) -> TensorResult:
        return math.sqrt(2.0) * self.scale + array_ops.zeros_like(self.loc)

    def _median(self) -> TensorResult:
        return self._mean()

    def _mode(self) -> TensorResult:
        return self._mean()


def _log_cdf_laplace(x: TensorLike) -> TensorResult:
    with name_scope("log_cdf_laplace", values=[x]):
        left = -math.log(2.0) + x
        # The exponential of a positive number may be infinite, and make the gradient NaN also in
        # the branch that is not selected.
        right = log1p(-0.5 * math_ops.exp(-math_ops.abs(x)))
        return array_ops.where_v2(x < 0.0, left, right)


class StudentT(_OnALine):
    """Student's t: the standardized mean of normal samples of unknown variance.

    Args:
      df: degrees of freedom, positive.
      loc: its center.
      scale: its width; the sign is ignored.
      validate_args: whether ``df`` is checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        df: TensorLike,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[df, loc, scale]) as name:
            with control_dependencies([assert_positive(df)] if validate_args else []):
                self._df = array_ops.identity(df, name="df")
                self._loc = array_ops.identity(loc, name="loc")
                self._scale = array_ops.identity(scale, name="scale")
                assert_same_float_dtype((self._df, self._loc, self._scale))
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._df, self._loc, self._scale],
            name=name,
        )

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        shape = convert_to_tensor(sample_shape, dtype=dtypes.int32)
        return {"df": shape, "loc": shape, "scale": shape}

    @property
    def df(self) -> TensorResult:
        """The degrees of freedom."""
        return self._df

    @property
    def loc(self) -> TensorResult:
        """The center."""
        return self._loc

    @property
    def scale(self) -> TensorResult:
        """The width."""
        return self._scale

    def _batch_shape_tensor(self) -> TensorResult:
        inner = array_ops.broadcast_dynamic_shape(
            array_ops.shape(self.loc), array_ops.shape(self.scale)
        )
        return array_ops.broadcast_dynamic_shape(array_ops.shape(self.df), inner)

    def _batch_shape(self) -> TensorShape:
        static = array_ops.broadcast_static_shape
        inner = static(self.loc.get_shape(), self.scale.get_shape())
        return static(static(self.df.get_shape(), self.loc.get_shape()), inner)

    def _ones(self) -> TensorResult:
        return array_ops.ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _filled(self, value: float, name: str | None = None) -> TensorResult:
        number = np.array(value, dtype=self.dtype.as_numpy_dtype)
        return array_ops.fill(self.batch_shape_tensor(), number, name=name)

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        normal = random_ops.random_normal(self._shape_of_draws(n), dtype=self.dtype, seed=seed)
        df = self.df * self._ones()
        gamma = random_ops.random_gamma(
            [n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=new_seed(seed, "student_t")
        )
        return normal * math_ops.rsqrt(gamma / df) * self.scale + self.loc

    def _log_prob(self, x: TensorLike) -> TensorResult:
        y = (x - self.loc) / self.scale
        unnormalized = -0.5 * (self.df + 1.0) * log1p(y**2.0 / self.df)
        return unnormalized - self._log_normalization()

    def _log_normalization(self) -> TensorResult:
        return (
            math_ops.log(math_ops.abs(self.scale))
            + 0.5 * math_ops.log(self.df)
            + 0.5 * math.log(math.pi)
            + lgamma(0.5 * self.df)
            - lgamma(0.5 * (self.df + 1.0))
        )

    def _cdf(self, x: TensorLike) -> TensorResult:
        y = (x - self.loc) / math_ops.abs(self.scale)
        tail = 0.5 * betainc(0.5 * self.df, 0.5, self.df / (y**2.0 + self.df))
        return array_ops.where_v2(math_ops.less(y, 0.0), tail, 1.0 - tail)

    def _entropy(self) -> TensorResult:
        column = self._ones()[..., None]
        arguments = array_ops.concat([column * self.df[..., None], column], -1) / 2.0
        return (
            math_ops.log(math_ops.abs(self.scale))
            + 0.5 * math_ops.log(self.df)
            + lbeta(arguments)
            + 0.5 * (self.df + 1.0) * (digamma(0.5 * (self.df + 1.0)) - digamma(0.5 * self.df))
        )

    def _mean(self) -> TensorResult:
        mean = self.loc * self._ones()
        if not self.allow_nan_stats:
            one = array_ops.ones([], dtype=self.dtype)
            message = "mean not defined for components of df <= 1"
            with control_dependencies([assert_less(one, self.df, message=message)]):
                return array_ops.identity(mean)
        is_there = self.df > self._ones()
        return array_ops.where_v2(is_there, mean, self._filled(math.nan, "nan"))

    def _variance(self) -> TensorResult:
        above = array_ops.where_v2(self.df > 2.0, self.df - 2.0, array_ops.ones_like(self.df))
        variance = self._ones() * math_ops.square(self.scale) * self.df / above
        two = self._filled(2.0)
        result = array_ops.where_v2(self.df > two, variance, self._filled(math.inf, "inf"))
        if not self.allow_nan_stats:
            one = array_ops.ones([], dtype=self.dtype)
            message = "variance not defined for components of df <= 1"
            with control_dependencies([assert_less(one, self.df, message=message)]):
                return array_ops.identity(result)
        is_there = self.df > self._ones()
        return array_ops.where_v2(is_there, result, self._filled(math.nan, "nan"))

    def _mode(self) -> TensorResult:
        return array_ops.identity(self.loc)
