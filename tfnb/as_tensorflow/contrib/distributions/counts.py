"""Distributions of numbers of successes."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.distributions.shaped import Shaped
from tfnb.client.public.api import tf
from tfnb.library.distributions.distribution import new_seed
from tfnb.library.distributions.probabilities import checked_counts, logits_and_probs


class _OfTrials(Shaped):
    """A distribution of a number of trials and the probability of a success.

    Args:
      counts: the numbers of trials, broadcast with the probabilities.
      logits_given: the log-odds of a success; or None.
      probs_given: the probability of a success, instead of log-odds; or None.
      parameters: the constructor's arguments.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: log-odds and probabilities are given, or neither.
    """

    def __init__(
        self,
        counts: Any,
        logits_given: Any,
        probs_given: Any,
        parameters: dict[str, Any],
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
    ) -> None:
        self._total_count = counts
        self._logits, self._probs = logits_and_probs(
            logits_given, probs_given, validate_args=validate_args
        )
        super().__init__(
            counts + tf.zeros_like(self._probs), 0, parameters, validate_args, allow_nan_stats,
            name, is_reparameterized=False,
        )  # fmt: skip

    @property
    def total_count(self) -> Any:
        """The number of trials; of the negative binomial distribution, of failures."""
        return self._total_count

    @property
    def logits(self) -> Any:
        """The log-odds of a success."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probability of a success."""
        return self._probs

    def _in_batch(self, value: Any) -> Any:
        return value + tf.zeros_like(self._like)


class Binomial(_OfTrials):
    """The number of successes in independent trials.

    TensorFlow 1.15 draws no samples of it; TensorFlow Probability does.

    Args:
      total_count: the number of trials, a whole number of floating point.
      logits: the log-odds of a success; or
      probs: the probability of a success.
      validate_args: whether arguments and values are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: log-odds and probabilities are given, or neither.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[total_count, logits, probs]) as scope:
            counts = tf.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                counts = _whole(counts)
            super().__init__(
                counts, logits, probs, parameters, validate_args, allow_nan_stats, scope
            )

    def _checked(self, value: Any) -> Any:
        if not self.validate_args:
            return value
        value = checked_counts(value)
        few = tf.assert_less_equal(
            value, self._total_count, message="counts are not less than or equal to n."
        )
        with tf.control_dependencies([few]):
            return tf.identity(value)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        # A pair of numbers from the session's generator is the seed of each step's draws.
        pair = tf.random_uniform(
            [2], maxval=tf.int64.max, dtype=tf.int64, seed=new_seed(seed, "binomial")
        )
        shape = tf.concat([[n], self._batch_shape_tensor()], 0)
        return tf.random.stateless_binomial(
            shape, pair, self._total_count, self._probs, output_dtype=self.dtype
        )

    def _log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        failures = self._total_count - value
        chosen = tf.lgamma(1 + self._total_count) - tf.lgamma(1 + value) - tf.lgamma(1 + failures)
        return value * tf.log(self._probs) + failures * tf.log1p(-self._probs) + chosen

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _cdf(self, value: Any) -> Any:
        value = self._checked(value)
        failures = self._total_count - value + tf.zeros_like(self._probs)
        is_all = tf.equal(failures, 0)
        # The incomplete beta function is not defined for 0 failures, where the answer is 1.
        ones = tf.ones_like(failures)
        inside = tf.betainc(
            tf.where_v2(is_all, ones, failures),
            value + ones,
            1 - self._probs + tf.zeros_like(failures),
        )
        return tf.where_v2(is_all, ones, inside)

    def _mean(self) -> Any:
        return self._total_count * self._probs

    def _variance(self) -> Any:
        return self._mean() * (1 - self._probs)

    def _mode(self) -> Any:
        return tf.floor((1 + self._total_count) * self._probs)


class NegativeBinomial(_OfTrials):
    """The number of successes before a number of failures.

    Args:
      total_count: the number of failures, positive floating point.
      logits: the log-odds of a success; or
      probs: the probability of a success.
      validate_args: whether arguments and values are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: log-odds and probabilities are given, or neither.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[total_count, logits, probs]) as scope:
            checks = [tf.assert_positive(total_count)] if validate_args else []
            with tf.control_dependencies(checks):
                counts = tf.identity(total_count)
            super().__init__(
                counts, logits, probs, parameters, validate_args, allow_nan_stats, scope
            )

    def _checked(self, value: Any) -> Any:
        return checked_counts(value) if self.validate_args else value

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        # A Poisson number is of this distribution if its rate is of a gamma distribution.
        rate = tf.random_gamma(
            [n], self._in_batch(self._total_count), tf.exp(-self._logits), self.dtype, seed=seed
        )
        return tf.random_poisson(rate, [], self.dtype, seed=new_seed(seed, "negative_binom"))

    def _log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        count = self._total_count
        chosen = tf.lgamma(count + value) - tf.lgamma(1 + value) - tf.lgamma(count)
        failed = count * tf.log_sigmoid(-self._logits)
        return failed + value * tf.log_sigmoid(self._logits) + chosen

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _cdf(self, value: Any) -> Any:
        value = 1 + self._checked(value)
        count = self._in_batch(self._total_count)
        zeros = tf.zeros_like(value + count)
        failed = tf.sigmoid(-self._logits)
        return tf.betainc(count + zeros, value + zeros, failed + zeros)

    def _mean(self) -> Any:
        return self._total_count * tf.exp(self._logits)

    def _mode(self) -> Any:
        return tf.floor(tf.maximum(self._total_count - 1, 0) * tf.exp(self._logits))

    def _variance(self) -> Any:
        return self._mean() / tf.sigmoid(-self._logits)


def _whole(counts: Any) -> Any:
    """Return numbers of trials that are checked when the graph runs."""
    rounded = tf.cast(tf.cast(counts, tf.int32), counts.dtype)
    checks = [
        tf.assert_non_negative(counts, message="total_count must be non-negative."),
        tf.assert_equal(
            counts, rounded, message="total_count cannot contain fractional components."
        ),
    ]
    with tf.control_dependencies(checks):
        return tf.identity(counts)
