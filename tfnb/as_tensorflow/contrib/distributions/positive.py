"""Distributions of positive numbers that ``tf.distributions`` does not have."""

from __future__ import annotations

import math
from typing import Any

from tfnb.as_tensorflow.contrib.distributions.shaped import Shaped
from tfnb.client.public.api import tf


def _softplus(value: Any, name: str) -> Any:
    return tf.nn.softplus(tf.convert_to_tensor(value), name=f"softplus_{name}")


class Chi2(tf.distributions.Gamma):  # type: ignore[misc]
    """The sum of squares of standard normal numbers.

    Args:
      df: how many of them, positive floating point.
      validate_args: whether that is checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2",
    ) -> None:
        with tf.name_scope(name, values=[df]) as scope:
            checks = [tf.assert_positive(df)] if validate_args else []
            with tf.control_dependencies(checks):
                self._df = tf.identity(df, name="df")
            half = tf.constant(0.5, self._df.dtype)
            super().__init__(half * self._df, half, validate_args, allow_nan_stats, scope)
        self._parameters_given = {
            "df": df, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats,
            "name": name,
        }  # fmt: skip

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {"df": tf.convert_to_tensor(sample_shape, dtype=tf.int32)}

    @property
    def df(self) -> Any:
        """The number of normal numbers."""
        return self._df


class Chi2WithAbsDf(Chi2):
    """``Chi2`` of the absolute value of ``df``, rounded down.

    Args:
      df: see ``Chi2``.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2WithAbsDf",
    ) -> None:
        whole = tf.floor(tf.abs(df, name="abs_df"), name="floor_abs_df")
        super().__init__(whole, validate_args, allow_nan_stats, name)
        self._parameters_given["df"] = df


class InverseGamma(Shaped):
    """The distribution of the inverse of a gamma-distributed number.

    Args:
      concentration: its shape parameter, positive.
      rate: its scale, positive.
      validate_args: whether both, and values, are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[concentration, rate]) as scope:
            checks = (
                [tf.assert_positive(concentration), tf.assert_positive(rate)]
                if validate_args
                else []
            )
            with tf.control_dependencies(checks):
                self._concentration = tf.identity(concentration, name="concentration")
                self._rate = tf.identity(rate, name="rate")
            like = self._concentration + tf.zeros_like(self._rate)
        super().__init__(
            like, 0, parameters, validate_args, allow_nan_stats, scope, is_reparameterized=False
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        shape = tf.convert_to_tensor(sample_shape, dtype=tf.int32)
        return {"concentration": shape, "rate": shape}

    @property
    def concentration(self) -> Any:
        """The shape parameter."""
        return self._concentration

    @property
    def rate(self) -> Any:
        """The scale."""
        return self._rate

    def _checked(self, value: Any) -> Any:
        if not self.validate_args:
            return value
        with tf.control_dependencies([tf.assert_positive(value)]):
            return tf.identity(value)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return 1 / tf.random_gamma([n], self._concentration, self._rate, self.dtype, seed=seed)

    def _log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        weight = tf.lgamma(self._concentration) - self._concentration * tf.log(self._rate)
        return -(1 + self._concentration) * tf.log(value) - self._rate / value - weight

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _cdf(self, value: Any) -> Any:
        share = self._rate / self._checked(value)
        return tf.igammac(self._concentration + tf.zeros_like(share), share)

    def _entropy(self) -> Any:
        shape = self._concentration
        return shape + tf.log(self._rate) + tf.lgamma(shape) - (1 + shape) * tf.digamma(shape)

    def _where_above(self, least: float, value: Any, what: str) -> Any:
        """Return a statistic that is defined where the shape parameter is above a number."""
        bound = tf.constant(least, self.dtype)
        if self.allow_nan_stats:
            nan = tf.constant(math.nan, self.dtype)
            return tf.where_v2(self._concentration > bound, value, nan)
        message = f"{what} undefined when any concentration <= {least:.0f}"
        check = tf.assert_less(bound, self._concentration, message=message)
        with tf.control_dependencies([check]):
            return tf.identity(value)

    def _mean(self) -> Any:
        return self._where_above(1, self._rate / (self._concentration - 1), "mean")

    def _variance(self) -> Any:
        below = tf.square(self._concentration - 1) * (self._concentration - 2)
        return self._where_above(2, tf.square(self._rate) / below, "variance")

    def _mode(self) -> Any:
        return self._rate / (1 + self._concentration)


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """``InverseGamma`` whose parameters go through softplus.

    Args:
      concentration: before softplus.
      rate: before softplus.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        super().__init__(
            _softplus(concentration, "concentration"), _softplus(rate, "rate"),
            validate_args, allow_nan_stats, name,
        )  # fmt: skip
        self._parameters_given.update(concentration=concentration, rate=rate)


class GammaWithSoftplusConcentrationRate(tf.distributions.Gamma):  # type: ignore[misc]
    """A gamma distribution whose parameters go through softplus.

    Args:
      concentration: before softplus.
      rate: before softplus.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        super().__init__(
            _softplus(concentration, "concentration"), _softplus(rate, "rate"),
            validate_args, allow_nan_stats, name,
        )  # fmt: skip
        self._parameters_given.update(concentration=concentration, rate=rate)


class ExponentialWithSoftplusRate(tf.distributions.Exponential):  # type: ignore[misc]
    """An exponential distribution whose rate goes through softplus.

    Args:
      rate: before softplus.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        super().__init__(_softplus(rate, "rate"), validate_args, allow_nan_stats, name)
        self._parameters_given.update(rate=rate)


class BetaWithSoftplusConcentration(tf.distributions.Beta):  # type: ignore[misc]
    """A beta distribution whose weights go through softplus.

    Args:
      concentration1: the weight of 1 before softplus.
      concentration0: the weight of 0 before softplus.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        super().__init__(
            _softplus(concentration1, "concentration1"),
            _softplus(concentration0, "concentration0"),
            validate_args, allow_nan_stats, name,
        )  # fmt: skip
        self._parameters_given.update(concentration1=concentration1, concentration0=concentration0)


class Kumaraswamy(Shaped):
    """Numbers between 0 and 1: like a beta distribution, with a simple distribution function.

    Args:
      concentration1: the weight of 1, positive.
      concentration0: the weight of 0, positive.
      validate_args: whether both, and values, are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Kumaraswamy",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[concentration1, concentration0]) as scope:
            self._weights = tuple(
                self._weight(value, f"concentration{number}", validate_args)
                for number, value in ((1, concentration1), (0, concentration0))
            )
            like = self._weights[0] + tf.zeros_like(self._weights[1])
        super().__init__(like, 0, parameters, validate_args, allow_nan_stats, scope)

    @staticmethod
    def _weight(value: Any, name: str, is_checked: bool) -> Any:
        weight = tf.convert_to_tensor(value, name=name)
        if not is_checked:
            return weight
        message = "Concentration parameter must be positive."
        with tf.control_dependencies([tf.assert_positive(weight, message=message)]):
            return tf.identity(weight)

    @property
    def concentration1(self) -> Any:
        """The weight of 1."""
        return self._weights[0]

    @property
    def concentration0(self) -> Any:
        """The weight of 0."""
        return self._weights[1]

    def _checked(self, value: Any) -> Any:
        if not self.validate_args:
            return value
        one = tf.constant(1, self.dtype)
        checks = [
            tf.assert_non_negative(value, message="sample must be non-negative"),
            tf.assert_less_equal(value, one, message="sample must be no larger than `1`."),
        ]
        with tf.control_dependencies(checks):
            return tf.identity(value)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        drawn = tf.random_uniform(self._draw_shape(n), dtype=self.dtype, seed=seed)
        above = tf.exp(tf.log1p(-drawn) / self.concentration0)
        return tf.exp(tf.log1p(-above) / self.concentration1)

    def _log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        a, b = self._weights
        powers = (a - 1) * tf.log(value) + (b - 1) * tf.log1p(-(value**a))
        return tf.log(a) + tf.log(b) + powers

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _cdf(self, value: Any) -> Any:
        a, b = self._weights
        return 1 - (1 - self._checked(value) ** a) ** b

    def _entropy(self) -> Any:
        a, b = self._weights
        harmonic = tf.digamma(b + 1) - tf.digamma(tf.ones_like(b))
        return (1 - 1 / a) + (1 - 1 / b) * harmonic + tf.log(a) + tf.log(b)

    def _moment(self, power: int) -> Any:
        a, b = (weight + tf.zeros_like(self._like) for weight in self._weights)
        return tf.exp(tf.log(b) + tf.lbeta(tf.stack([1 + power / a, b], -1)))

    def _mean(self) -> Any:
        return self._moment(1)

    def _variance(self) -> Any:
        return self._moment(2) - tf.square(self._moment(1))

    def _mode(self) -> Any:
        a, b = self._weights
        mode = ((a - 1) / (a * b - 1)) ** (1 / a)
        if self.allow_nan_stats:
            is_defined = tf.logical_and(a > 1, b > 1)
            return tf.where_v2(is_defined, mode, tf.constant(math.nan, self.dtype))
        one = tf.constant(1, self.dtype)
        checks = [
            tf.assert_less(one, weight, message=f"Mode undefined for {name} <= 1.")
            for name, weight in (("concentration1", a), ("concentration0", b))
        ]
        with tf.control_dependencies(checks):
            return tf.identity(mode)
