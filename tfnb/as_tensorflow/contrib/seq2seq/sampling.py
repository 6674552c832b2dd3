"""Samples of Bernoulli and categorical distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable


def _call_sampler(
    sample_n_fn: Callable[[Any], Any], sample_shape: Any, name: str | None = None
) -> Any:
    """Return samples in a shape, from a function of their number."""
    with tf.name_scope(name, "call_sampler", [sample_shape]):
        shape = tf.convert_to_tensor(sample_shape, tf.int32, name="sample_shape")
        shape = tf.reshape(shape, [-1])
        samples = sample_n_fn(tf.reduce_prod(shape))
        return tf.reshape(samples, tf.concat([shape, tf.shape(samples)[1:]], 0))


def bernoulli_sample(
    probs: Any = None,
    logits: Any = None,
    dtype: Any = None,
    sample_shape: Any = (),
    seed: Any = None,
) -> Any:
    """Return samples that are 1 with a probability.

    Args:
      probs: the probabilities.
      logits: their logits, if ``probs`` is None.
      dtype: of the samples; int32 by default.
      sample_shape: how many samples of each probability.
      seed: of the random numbers.
    """
    given = tf.sigmoid(logits) if probs is None else tf.convert_to_tensor(probs, name="probs")

    def sample(number: Any) -> Any:
        shape = tf.concat([[number], tf.shape(given)], 0)
        uniform = tf.random_uniform(shape, seed=seed, dtype=given.dtype)
        return tf.cast(tf.less(uniform, given), dtype or tf.int32)

    return _call_sampler(sample, sample_shape)


def categorical_sample(
    logits: Any, dtype: Any = None, sample_shape: Any = (), seed: Any = None
) -> Any:
    """Return classes, drawn by the logits in the last dimension.

    Args:
      logits: [..., classes].
      dtype: of the samples; int32 by default.
      sample_shape: how many samples of each row.
      seed: of the random numbers.
    """
    logits = tf.convert_to_tensor(logits, name="logits")
    shape = tf.shape(logits)

    def sample(number: Any) -> Any:
        rows = logits if logits.shape.ndims == 2 else tf.reshape(logits, [-1, shape[-1]])
        draws = tf.transpose(tf.multinomial(rows, number, seed=seed))
        return tf.cast(tf.reshape(draws, tf.concat([[number], shape[:-1]], 0)), dtype or tf.int32)

    return _call_sampler(sample, sample_shape)
