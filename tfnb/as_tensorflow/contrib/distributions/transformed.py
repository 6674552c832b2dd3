"""Distributions of values that a bijector maps."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Bijector, Identity
from tfnb.client.public.api import tf
from tfnb.library.distributions.distribution import Distribution


class TransformedDistribution(Distribution):
    """The distribution of ``bijector(x)`` for draws x of another distribution.

    Args:
      distribution: the other.
      bijector: the map; the identity by default.
      batch_shape: a batch of draws, for a distribution without a batch.
      event_shape: an event of draws, for a distribution of scalars.
      validate_args: without effect.
      name: of its scope.

    Raises:
      ValueError: the distribution has a batch already, or an event.
    """

    def __init__(
        self,
        distribution: Any,
        bijector: Bijector | None = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._distribution = distribution
        self._bijector = Identity() if bijector is None else bijector
        for what, given, own in (
            ("batch", batch_shape, distribution.batch_shape),
            ("event", event_shape, distribution.event_shape),
        ):
            if given is not None and own.ndims not in (0, None):
                raise ValueError(f"Base distribution has a {what} shape already: {own}.")
        self._own_batch = None if batch_shape is None else [int(one) for one in batch_shape]
        self._own_event = None if event_shape is None else [int(one) for one in event_shape]
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters={
                "distribution": distribution, "bijector": bijector, "batch_shape": batch_shape,
                "event_shape": event_shape, "validate_args": validate_args, "name": name,
            },
            name=name or f"{self._bijector.name}{distribution.name.strip('/').split('/')[-1]}",
        )  # fmt: skip

    @property
    def distribution(self) -> Any:
        """The distribution of x."""
        return self._distribution

    @property
    def bijector(self) -> Bijector:
        """The map."""
        return self._bijector

    # -- shapes --------------------------------------------------------------------------------

    def _event_of_x(self) -> Any:
        return self._distribution.event_shape if self._own_event is None else self._own_event

    def _event_shape(self) -> Any:
        return self._bijector.forward_event_shape(self._event_of_x())

    def _event_shape_tensor(self) -> Any:
        own = self._own_event
        inner = self._distribution.event_shape_tensor() if own is None else own
        return self._bijector.forward_event_shape_tensor(inner)

    def _batch_shape(self) -> Any:
        if self._own_batch is not None:
            return tf.TensorShape(self._own_batch)
        return self._distribution.batch_shape

    def _batch_shape_tensor(self) -> Any:
        if self._own_batch is not None:
            return tf.constant(self._own_batch, tf.int32)
        return self._distribution.batch_shape_tensor()

    def _event_ndims(self) -> int:
        ndims = self.event_shape.ndims
        if ndims is None:
            raise ValueError("The number of dimensions of an event is not known.")
        return int(ndims)

    # -- values --------------------------------------------------------------------------------

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        sizes = [[n], self._own_batch or [], self._own_event or []]
        shape = tf.concat([tf.cast(one, tf.int32) for one in sizes if len(one)], 0)
        return self._bijector.forward(self._distribution.sample(shape, seed=seed))

    def _log_prob(self, value: Any) -> Any:
        x = self._bijector.inverse(value)
        slope = self._bijector.inverse_log_det_jacobian(value, self._event_ndims())
        return self._over_event(self._distribution.log_prob(x)) + slope

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _over_event(self, found: Any) -> Any:
        """Return logarithms, added over the event of independent draws."""
        if not self._own_event:
            return found
        return tf.reduce_sum(found, list(range(-len(self._own_event), 0)))

    def _cdf(self, value: Any) -> Any:
        self._check_scalars()
        return self._distribution.cdf(self._bijector.inverse(value))

    def _log_cdf(self, value: Any) -> Any:
        self._check_scalars()
        return self._distribution.log_cdf(self._bijector.inverse(value))

    def _survival_function(self, value: Any) -> Any:
        self._check_scalars()
        return self._distribution.survival_function(self._bijector.inverse(value))

    def _quantile(self, value: Any) -> Any:
        self._check_scalars()
        return self._bijector.forward(self._distribution.quantile(value))

    def _check_scalars(self) -> None:
        if self._own_event or self._event_ndims():
            raise NotImplementedError("A distribution function needs scalars as events.")

    def _mean(self) -> Any:
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("mean is not implemented for maps that are not affine.")
        mean = self._distribution.mean()
        if self._own_batch is not None or self._own_event is not None:
            shape = [*(self._own_batch or []), *(self._own_event or [])]
            mean = tf.broadcast_to(mean, shape)
        return self._bijector.forward(mean)

    def _entropy(self) -> Any:
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented for maps that are not affine.")
        entropy = self._distribution.entropy()
        for size in self._own_event or []:
            entropy *= size
        if self._own_batch is not None:
            entropy = tf.broadcast_to(entropy, self._own_batch)
        shape = tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        somewhere = tf.zeros(shape, self.dtype)
        return entropy - self._bijector.inverse_log_det_jacobian(somewhere, self._event_ndims())
