"""Distributions of numbers that ``tf.distributions`` does not have."""

from __future__ import annotations

import math
from typing import Any

from tfnb.as_tensorflow.contrib.distributions.shaped import Shaped, gumbel, logits_of, uniform
from tfnb.client.public.api import tf


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
        name = name or type(self).__name__
        with tf.name_scope(name):
            scale = tf.convert_to_tensor(scale)
            if validate_args:
                with tf.control_dependencies([tf.assert_positive(scale)]):
                    scale = tf.identity(scale)
            self._loc, self._scale = tf.convert_to_tensor(loc, scale.dtype), scale
        super().__init__(
            self._loc + tf.zeros_like(scale), 0, parameters, validate_args, allow_nan_stats, name
        )

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
    """The Cauchy distribution, which has no mean."""

    def _standard(self, shape: Any, seed: Any) -> Any:
        return tf.tan(math.pi * (uniform(shape, self.dtype, seed) - 0.5))

    def _standard_log_prob(self, z: Any) -> Any:
        return -math.log(math.pi) - tf.log1p(tf.square(z))

    def _cdf(self, value: Any) -> Any:
        return tf.atan((value - self._loc) / self._scale) / math.pi + 0.5

    def _entropy(self) -> Any:
        return math.log(4 * math.pi) + tf.log(self._scale) + tf.zeros_like(self._like)


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
        return self._all(math.sqrt(2 / math.pi))

    def _variance(self) -> Any:
        return tf.square(self._scale) * (1 - 2 / math.pi)


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
        with tf.name_scope(name):
            if rate is None:
                self._log_rate = tf.convert_to_tensor(log_rate)
                self._rate = tf.exp(self._log_rate)
            else:
                self._rate = tf.convert_to_tensor(rate)
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

    def _log_prob(self, value: Any) -> Any:
        return value * self._log_rate - tf.lgamma(1 + value) - self._rate

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _cdf(self, value: Any) -> Any:
        counts = tf.floor(tf.maximum(value, 0))
        return tf.where(value < 0, tf.zeros_like(counts), tf.igammac(1 + counts, self._rate))

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
      validate_args: without effect.
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
        with tf.name_scope(name):
            self._logits = logits_of(logits, probs, binary=True)
            self._probs = tf.sigmoid(self._logits)
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
        drawn = uniform(self._draw_shape(n), self.dtype, seed)
        return tf.floor(tf.log(drawn) / -tf.nn.softplus(self._logits))

    def _log_prob(self, value: Any) -> Any:
        return -value * tf.nn.softplus(self._logits) - tf.nn.softplus(-self._logits)

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _entropy(self) -> Any:
        return tf.nn.softplus(-self._logits) + self._mean() * tf.nn.softplus(self._logits)

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
      validate_args: without effect.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

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
        with tf.name_scope(name):
            self._loc = tf.convert_to_tensor(loc)
            slack = 0 if atol is None else atol
            if rtol is not None:
                slack += rtol * tf.abs(self._loc)
            self._slack = tf.cast(slack, self._loc.dtype)
        super().__init__(self._loc, 0, parameters, validate_args, allow_nan_stats, name)

    @property
    def loc(self) -> Any:
        """The number."""
        return self._loc

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
