"""What the distributions of this folder share."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
)


class Shaped(Distribution):
    """A distribution whose batch and event are the dimensions of one tensor.

    Args:
      like: the tensor.
      event_rank: how many of its last dimensions are the event.
      parameters: the constructor's arguments.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
      dtype: of samples; the tensor's by default.
      is_reparameterized: whether gradients pass through samples.
    """

    def __init__(
        self,
        like: Any,
        event_rank: int,
        parameters: dict[str, Any],
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
        dtype: Any = None,
        is_reparameterized: bool = True,
    ) -> None:
        self._like = like
        self._event_rank = event_rank
        super().__init__(
            dtype=like.dtype if dtype is None else dtype,
            reparameterization_type=(
                FULLY_REPARAMETERIZED if is_reparameterized else NOT_REPARAMETERIZED
            ),
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters={
                key: value for key, value in parameters.items() if key not in ("self", "__class__")
            },
            name=name,
        )

    def _batch_rank(self) -> Any:
        return tf.rank(self._like) - self._event_rank

    def _batch_shape_tensor(self) -> Any:
        return tf.shape(self._like)[: self._batch_rank()]

    def _event_shape_tensor(self) -> Any:
        return tf.shape(self._like)[self._batch_rank() :]

    def _batch_shape(self) -> Any:
        shape = self._like.shape
        if shape.ndims is None:
            return shape
        return shape[: shape.ndims - self._event_rank]

    def _event_shape(self) -> Any:
        shape = self._like.shape
        if shape.ndims is None:
            return tf.TensorShape([None] * self._event_rank)
        return shape[shape.ndims - self._event_rank :]

    def _draw_shape(self, n: Any) -> Any:
        """Return the shape of n draws."""
        return tf.concat([[n], tf.shape(self._like)], 0)


def logits_of(logits: Any, probs: Any) -> Any:
    """Return logits, given as they are or as probabilities.

    Raises:
      ValueError: both are given, or none.
    """
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if logits is not None:
        return tf.convert_to_tensor(logits, name="logits")
    return tf.log(tf.convert_to_tensor(probs, name="probs"))


def uniform(shape: Any, dtype: Any, seed: Any) -> Any:
    """Return numbers above 0 and below 1."""
    tiny = dtype.as_numpy_dtype(1e-7)
    return tf.random_uniform(shape, tiny, 1.0, dtype, seed=seed)


def gumbel(shape: Any, dtype: Any, seed: Any) -> Any:
    """Return draws of the standard Gumbel distribution."""
    return -tf.log(-tf.log(uniform(shape, dtype, seed)))
