"""Classes as vectors, and continuous distributions that come near to them.

Source: the papers on Concrete distributions (arXiv:1611.00712) and on Gumbel-softmax
(arXiv:1611.01144).
"""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.distributions.shaped import Shaped, gumbel, logits_of, uniform
from tfnb.client.public.api import tf
from tfnb.library.distributions.probabilities import logits_and_probs


class OneHotCategorical(Shaped):
    """Vectors that are 1 at a class, and 0 elsewhere.

    Args:
      logits: [..., classes].
      probs: [..., classes], instead of logits.
      dtype: of samples; int32 by default.
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
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name):
            self._logits = logits_of(logits, probs)
        super().__init__(
            self._logits, 1, parameters, validate_args, allow_nan_stats, name, dtype or tf.int32,
            is_reparameterized=False,
        )  # fmt: skip

    @property
    def logits(self) -> Any:
        """The logits."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return tf.nn.softmax(self._logits)

    @property
    def event_size(self) -> Any:
        """The number of classes."""
        static = self._logits.shape[-1].value
        return tf.shape(self._logits)[-1] if static is None else static

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        noisy = self._logits + gumbel(self._draw_shape(n), self._logits.dtype, seed)
        return tf.one_hot(tf.argmax(noisy, -1), self.event_size, dtype=self.dtype)

    def _log_prob(self, value: Any) -> Any:
        logs = tf.nn.log_softmax(self._logits)
        return tf.reduce_sum(tf.cast(value, logs.dtype) * logs, -1)

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _entropy(self) -> Any:
        logs = tf.nn.log_softmax(self._logits)
        return -tf.reduce_sum(tf.exp(logs) * logs, -1)

    def _mode(self) -> Any:
        return tf.one_hot(tf.argmax(self._logits, -1), self.event_size, dtype=self.dtype)

    def _mean(self) -> Any:
        return self.probs

    def _variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def _covariance(self) -> Any:
        probs = self.probs
        outer = -tf.matmul(tf.expand_dims(probs, -1), tf.expand_dims(probs, -2))
        return tf.matrix_set_diag(outer, self._variance())


@tf.distributions.RegisterKL(OneHotCategorical, OneHotCategorical)  # type: ignore[untyped-decorator]
def _kl_of_one_hot(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_one_hot_categorical"):
        ours, theirs = tf.nn.log_softmax(a.logits), tf.nn.log_softmax(b.logits)
        return tf.reduce_sum(tf.exp(ours) * (ours - theirs), -1)


class ExpRelaxedOneHotCategorical(Shaped):
    """The logarithms of a relaxed one-hot vector.

    Args:
      temperature: 0 for one-hot vectors, larger for softer ones.
      logits: [..., classes].
      probs: [..., classes], instead of logits.
      dtype: without effect.
      validate_args: without effect.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: logits and probabilities are given, or neither.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name):
            self._logits = logits_of(logits, probs)
            self._temperature = tf.convert_to_tensor(temperature, self._logits.dtype)
        super().__init__(self._logits, 1, parameters, validate_args, allow_nan_stats, name)

    @property
    def logits(self) -> Any:
        """The logits."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return tf.nn.softmax(self._logits)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self._temperature

    def _divided(self, value: Any) -> Any:
        temperature = self._temperature
        wide = temperature if temperature.shape.ndims == 0 else tf.expand_dims(temperature, -1)
        return value / wide, wide

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        noisy = self._logits + gumbel(self._draw_shape(n), self.dtype, seed)
        return tf.nn.log_softmax(self._divided(noisy)[0])

    def _log_prob(self, value: Any) -> Any:
        wide = self._divided(value)[1]
        classes = tf.cast(tf.shape(self._logits)[-1], self.dtype)
        scores = tf.nn.log_softmax(tf.nn.log_softmax(self._logits) - value * wide)
        constant = tf.lgamma(classes) + (classes - 1) * tf.log(self._temperature)
        return constant + tf.reduce_sum(scores, -1)

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))


class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """Vectors of positive numbers with the sum 1, near to one-hot vectors at low temperatures.

    Args:
      temperature: 0 for one-hot vectors, larger for softer ones.
      logits: [..., classes].
      probs: [..., classes], instead of logits.
      dtype: without effect.
      validate_args: without effect.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: logits and probabilities are given, or neither.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        super().__init__(temperature, logits, probs, dtype, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return tf.exp(super()._sample_n(n, seed))

    def _log_prob(self, value: Any) -> Any:
        logs = tf.log(value)
        return super()._log_prob(logs) - tf.reduce_sum(logs, -1)


class RelaxedBernoulli(Shaped):
    """Numbers between 0 and 1, near to them at low temperatures.

    Args:
      temperature: 0 for 0 and 1, larger for softer numbers.
      logits: of 1.
      probs: of 1, instead of logits.
      validate_args: without effect.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: logits and probabilities are given, or neither.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name):
            given = logits_and_probs(logits, probs)[0]
            self._temperature = tf.convert_to_tensor(temperature, given.dtype)
            self._logits = given + tf.zeros_like(self._temperature)
        super().__init__(self._logits, 0, parameters, validate_args, allow_nan_stats, name)

    @property
    def logits(self) -> Any:
        """The logits of 1."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities of 1."""
        return tf.sigmoid(self._logits)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self._temperature

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        drawn = uniform(self._draw_shape(n), self.dtype, seed)
        logistic = tf.log(drawn) - tf.log1p(-drawn)
        return tf.sigmoid((logistic + self._logits) / self._temperature)

    def _log_prob(self, value: Any) -> Any:
        logit = tf.log(value) - tf.log1p(-value)
        z = self._temperature * logit - self._logits
        density = tf.log(self._temperature) - z - 2 * tf.nn.softplus(-z)
        return density - tf.log(value) - tf.log1p(-value)

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))
