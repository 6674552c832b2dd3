"""Distributions of numbers that ``tf.distributions`` does not have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfnb.as_tensorflow.contrib.distributions.shaped import Shaped, gumbel, uniform
from tfnb.client.public.api import tf
from tfnb.library.distributions.probabilities import checked_counts, logits_and_probs


class NormalWithSoftplusScale(tf.distributions.Normal):  # type: ignore[misc]
    """A normal distribution whose deviation goes through softplus.

    Args:
      loc: the mean.
      scale: before softplus.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        positive = tf.nn.softplus(tf.convert_to_tensor(scale), name="softplus_scale")
        super().__init__(loc, positive, validate_args, allow_nan_stats, name)
        self._parameters_given.update(loc=loc, scale=scale)


class LaplaceWithSoftplusScale(tf.distributions.Laplace):  # type: ignore[misc]
    """A Laplace distribution whose scale goes through softplus.

    Args:
      loc: the center.
      scale: before softplus.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        positive = tf.nn.softplus(tf.convert_to_tensor(scale), name="softplus_scale")
        super().__init__(loc, positive, validate_args, allow_nan_stats, name)
        self._parameters_given.update(loc=loc, scale=scale)


class StudentTWithAbsDfSoftplusScale(tf.distributions.StudentT):  # type: ignore[misc]
    """Student's t of whole positive degrees of freedom and a scale that goes through softplus.

    Args:
      df: before the absolute value is rounded down.
      loc: the center.
      scale: before softplus.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        whole = tf.floor(tf.abs(tf.convert_to_tensor(df)))
        positive = tf.nn.softplus(tf.convert_to_tensor(scale), name="softplus_scale")
        super().__init__(whole, loc, positive, validate_args, allow_nan_stats, name)
        self._parameters_given.update(df=df, loc=loc, scale=scale)


class _LocScale(Shaped):
    """A distribution with a location and a scale.

    Args:
      loc: the location.
      scale: the scale, positive.
      validate_args: whether the scale is checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope; the class's by default.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name or type(self).__name__) as name:
            scale = tf.convert_to_tensor(scale)
            if validate_args:
                with tf.control_dependencies([tf.assert_positive(scale)]):
                    scale = tf.identity(scale)
            self._loc, self._scale = tf.convert_to_tensor(loc, scale.dtype), scale
        super().__init__(
            self._loc + tf.zeros_like(scale), 0, parameters, validate_args, allow_nan_stats, name
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        shape = tf.convert_to_tensor(sample_shape, dtype=tf.int32)
        return {"loc": shape, "scale": shape}

    @property
    def loc(self) -> Any:
        """The location."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale."""
        return self._scale

    def _standard(self, shape: Any, seed: Any) -> Any:
        """Return draws with location 0 and scale 1."""
        raise NotImplementedError

    def _standard_log_prob(self, z: Any) -> Any:
        """Return the logarithm of the density with location 0 and scale 1."""
        raise NotImplementedError

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return self._loc + self._scale * self._standard(self._draw_shape(n), seed)

    def _log_prob(self, value: Any) -> Any:
        return self._standard_log_prob((value - self._loc) / self._scale) - tf.log(self._scale)

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _all(self, value: float) -> Any:
        """Return a number times the scale, for the whole batch."""
        return value * self._scale + tf.zeros_like(self._like)

    def _mode(self) -> Any:
        return self._loc + tf.zeros_like(self._like)


class Logistic(_LocScale):
    """The logistic distribution."""

    def _standard(self, shape: Any, seed: Any) -> Any:
        drawn = uniform(shape, self.dtype, seed)
        return tf.log(drawn) - tf.log1p(-drawn)

    def _standard_log_prob(self, z: Any) -> Any:
        return -z - 2 * tf.nn.softplus(-z)

    def _cdf(self, value: Any) -> Any:
        return tf.sigmoid((value - self._loc) / self._scale)

    def _entropy(self) -> Any:
        return 2 + tf.log(self._scale) + tf.zeros_like(self._like)

    def _mean(self) -> Any:
        return self._mode()

    def _stddev(self) -> Any:
        return self._all(math.pi / math.sqrt(3))

    def _variance(self) -> Any:
        return tf.square(self._stddev())


class Gumbel(_LocScale):
    """The distribution of largest numbers."""

    def _standard(self, shape: Any, seed: Any) -> Any:
        return gumbel(shape, self.dtype, seed)

    def _standard_log_prob(self, z: Any) -> Any:
        return -(z + tf.exp(-z))

    def _cdf(self, value: Any) -> Any:
        return tf.exp(-tf.exp(-(value - self._loc) / self._scale))

    def _entropy(self) -> Any:
        return 1 + _EULER + tf.log(self._scale) + tf.zeros_like(self._like)

    def _mean(self) -> Any:
        return self._loc + self._all(_EULER)

    def _stddev(self) -> Any:
        return self._all(math.pi / math.sqrt(6))

    def _variance(self) -> Any:
        return tf.square(self._stddev())


_EULER = 0.5772156649015329


class Cauchy(_LocScale):
    """The Cauchy distribution, which has no mean: it is NaN, or an error."""

    def _standard(self, shape: Any, seed: Any) -> Any:
        return _cauchy_quantile(tf.random_uniform(shape, dtype=self.dtype, seed=seed))

    def _quantile(self, value: Any) -> Any:
        return self._loc + self._scale * _cauchy_quantile(value)

    def _undefined(self, what: str) -> Any:
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return tf.fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(math.nan))

    def _mean(self) -> Any:
        return self._undefined("mean")

    def _stddev(self) -> Any:
        return self._undefined("stddev")

    def _standard_log_prob(self, z: Any) -> Any:
        return -math.log(math.pi) - tf.log1p(tf.square(z))

    def _cdf(self, value: Any) -> Any:
        return tf.atan((value - self._loc) / self._scale) / math.pi + 0.5

    def _entropy(self) -> Any:
        return math.log(4 * math.pi) + tf.log(self._scale) + tf.zeros_like(self._like)


def _cauchy_quantile(value: Any) -> Any:
    return tf.tan(math.pi * (value - 0.5))


class HalfNormal(_LocScale):
    """The absolute value of a normal number with mean 0.

    Args:
      scale: the deviation of the normal number.
      validate_args: whether the scale is checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        super().__init__(0.0, scale, validate_args, allow_nan_stats, name)
        self._parameters_given.pop("loc")

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {"scale": tf.convert_to_tensor(sample_shape, dtype=tf.int32)}

    def _standard(self, shape: Any, seed: Any) -> Any:
        return tf.abs(tf.random_normal(shape, dtype=self.dtype, seed=seed))

    def _standard_log_prob(self, z: Any) -> Any:
        inside = 0.5 * math.log(2 / math.pi) - 0.5 * tf.square(z)
        return tf.where(z >= 0, inside, tf.fill(tf.shape(z), self.dtype.as_numpy_dtype(-math.inf)))

    def _cdf(self, value: Any) -> Any:
        return tf.erf(tf.nn.relu(value) / self._scale / math.sqrt(2))

    def _entropy(self) -> Any:
        return 0.5 * math.log(math.pi * math.e / 2) + tf.log(self._scale)

    def _mean(self) -> Any:
        return self._scale * math.sqrt(2) / math.sqrt(math.pi)

    def _quantile(self, value: Any) -> Any:
        return math.sqrt(2) * self._scale * tf.math.erfinv(value)

    def _variance(self) -> Any:
        return tf.square(self._scale) * (1 - 2 / math.pi)


def _floating(value: Any, name: str) -> Any:
    tensor = tf.convert_to_tensor(value, name=name)
    if not tensor.dtype.is_floating:
        raise TypeError(f"{name}.dtype ({tensor.dtype.name}) is a not a float-type.")
    return tensor


class Poisson(Shaped):
    """Counts of independent events.

    Args:
      rate: the mean.
      log_rate: its logarithm, instead of it.
      validate_args: whether the rate is checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: both are given, or neither.
      TypeError: the rate is not of floating point.
    """

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        parameters = dict(locals())
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        with tf.name_scope(name) as name:
            if rate is None:
                self._log_rate = _floating(log_rate, "log_rate")
                self._rate = tf.exp(self._log_rate)
            else:
                self._rate = _floating(rate, "rate")
                if validate_args:
                    with tf.control_dependencies([tf.assert_positive(self._rate)]):
                        self._rate = tf.identity(self._rate)
                self._log_rate = tf.log(self._rate)
        super().__init__(
            self._rate, 0, parameters, validate_args, allow_nan_stats, name,
            is_reparameterized=False,
        )  # fmt: skip

    @property
    def rate(self) -> Any:
        """The mean."""
        return self._rate

    @property
    def log_rate(self) -> Any:
        """The logarithm of the mean."""
        return self._log_rate

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return tf.random_poisson(self._rate, [n], self.dtype, seed=seed)

    def _checked(self, value: Any) -> Any:
        return checked_counts(value) if self.validate_args else value

    def _log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        return value * self._log_rate - tf.lgamma(1 + value) - self._rate

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _cdf(self, value: Any) -> Any:
        value = 1 + self._checked(value)
        return tf.igammac(value + tf.zeros_like(self._rate), self._rate + tf.zeros_like(value))

    def _mean(self) -> Any:
        return tf.identity(self._rate)

    def _variance(self) -> Any:
        return tf.identity(self._rate)

    def _mode(self) -> Any:
        return tf.floor(self._rate)


class Geometric(Shaped):
    """The number of failures before a success.

    Args:
      logits: of a success.
      probs: of a success, instead of logits.
      validate_args: whether probabilities and values are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: logits and probabilities are given, or neither.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args=validate_args)
            if validate_args:
                with tf.control_dependencies([tf.assert_positive(self._probs)]):
                    self._probs = tf.identity(self._probs)
        super().__init__(
            self._logits, 0, parameters, validate_args, allow_nan_stats, name,
            is_reparameterized=False,
        )  # fmt: skip

    @property
    def logits(self) -> Any:
        """The logits of a success."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of a success."""
        return self._probs

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        drawn = tf.random_uniform(self._draw_shape(n), tiny, 1.0, self.dtype, seed=seed)
        return tf.floor(tf.log(drawn) / tf.log1p(-self._probs))

    def _counts(self, value: Any) -> Any:
        """Return whole numbers in the shape of the values and of the batch."""
        value = checked_counts(value) if self.validate_args else tf.floor(value)
        return value * tf.ones_like(self._probs)

    def _log_prob(self, value: Any) -> Any:
        value = self._counts(value)
        # Without a failure, a probability of 1 of a success is no infinite logarithm.
        failing = tf.where_v2(tf.equal(value, 0), tf.zeros_like(self._probs), self._probs)
        return value * tf.log1p(-failing) + tf.log(self._probs)

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _cdf(self, value: Any) -> Any:
        value = self._counts(value)
        inside = -tf.expm1((1 + value) * tf.log1p(-self._probs))
        return tf.where_v2(value < 0, tf.zeros_like(inside), inside)

    def _entropy(self) -> Any:
        probs = self._probs
        if self.validate_args:
            message = "Entropy is undefined when logits = inf or probs = 1."
            check = tf.assert_less(probs, tf.ones([], probs.dtype), message=message)
            with tf.control_dependencies([check]):
                probs = tf.identity(probs)
        return tf.nn.softplus(self._logits) / probs - self._logits

    def _mean(self) -> Any:
        return tf.exp(-self._logits)

    def _variance(self) -> Any:
        return self._mean() / self._probs

    def _mode(self) -> Any:
        return tf.zeros_like(self._logits)


class Deterministic(Shaped):
    """One number, with probability 1.

    Args:
      loc: the number.
      atol: how far a value may be from it.
      rtol: the same, as a part of the number.
      validate_args: whether both are checked when the graph runs: not negative.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    _event_dimensions = 0

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as name:
            self._loc = tf.convert_to_tensor(loc)
            self._atol = self._tolerance(atol, validate_args)
            self._rtol = self._tolerance(rtol, validate_args)
            self._slack = self._atol
            if rtol is not None:
                self._slack += self._rtol * tf.abs(self._loc)
        super().__init__(
            self._loc, self._event_dimensions, parameters, validate_args, allow_nan_stats, name
        )

    def _tolerance(self, value: Any, is_checked: bool) -> Any:
        if value is None:
            return tf.constant(0, self._loc.dtype)
        tensor = tf.convert_to_tensor(value, dtype=self._loc.dtype)
        if not is_checked:
            return tensor
        message = "Argument 'tol' must be non-negative"
        with tf.control_dependencies([tf.assert_non_negative(tensor, message=message)]):
            return tf.identity(tensor)

    @property
    def loc(self) -> Any:
        """The number."""
        return self._loc

    @property
    def atol(self) -> Any:
        """How far a value may be from the number."""
        return self._atol

    @property
    def rtol(self) -> Any:
        """How far, as a part of the number."""
        return self._rtol

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return tf.zeros(self._draw_shape(n), self.dtype) + self._loc

    def _prob(self, value: Any) -> Any:
        return tf.cast(tf.abs(value - self._loc) <= self._slack, self.dtype)

    def _log_prob(self, value: Any) -> Any:
        return tf.log(self._prob(value))

    def _cdf(self, value: Any) -> Any:
        return tf.cast(value >= self._loc - self._slack, self.dtype)

    def _entropy(self) -> Any:
        return tf.zeros_like(self._loc)

    def _mean(self) -> Any:
        return tf.identity(self._loc)

    _mode = _mean

    def _variance(self) -> Any:
        return tf.zeros_like(self._loc)


class VectorDeterministic(Deterministic):
    """One vector, with probability 1.

    Args:
      loc: [..., k], the vector.
      atol: how far each number of a value may be from it.
      rtol: the same, as a part of the number.
      validate_args: whether both are checked when the graph runs: not negative.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: the vector, or a value, is a scalar.
    """

    _event_dimensions = 1

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        loc = tf.convert_to_tensor(loc)
        if loc.shape.ndims == 0:
            raise ValueError("Argument loc must be at least rank 1.")
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _prob(self, value: Any) -> Any:
        if self.validate_args:
            check = tf.assert_rank_at_least(value, 1)
            with tf.control_dependencies([check]):
                value = tf.identity(value)
        is_near = tf.abs(value - self._loc) <= self._slack
        return tf.cast(tf.reduce_all(is_near, axis=-1), self.dtype)

    def _cdf(self, value: Any) -> Any:
        raise NotImplementedError("cdf is not implemented: VectorDeterministic")

    def _entropy(self) -> Any:
        return tf.zeros(self.batch_shape_tensor(), self.dtype)
