"""``tf.contrib.sparsemax``: probabilities of which many are 0.

Source: Martins and Astudillo, from softmax to sparsemax.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf


def sparsemax(logits: Any, name: str | None = None) -> Any:
    """Return the point of the simplex that is nearest to each row.

    Args:
      logits: [batch, classes].
      name: the name of the scope.
    """
    with tf.name_scope(name, "sparsemax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        z = logits - tf.reduce_mean(logits, 1, keepdims=True)
        ordered, _ = tf.nn.top_k(z, k=tf.shape(z)[1])
        sums = tf.cumsum(ordered, axis=1)
        counts = tf.range(1, tf.cast(tf.shape(z)[1], z.dtype) + 1, dtype=z.dtype)
        is_in = 1 + counts * ordered > sums
        size = tf.reduce_sum(tf.cast(is_in, tf.int32), 1)
        last = tf.batch_gather(sums, tf.expand_dims(size - 1, 1))
        limit = (last - 1) / tf.cast(tf.expand_dims(size, 1), z.dtype)
        return tf.maximum(z - limit, 0)


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Any:
    """Return the loss whose gradient is the sparsemax minus the labels, [batch].

    Args:
      logits: [batch, classes].
      sparsemax: their sparsemax.
      labels: [batch, classes].
      name: the name of the scope.
    """
    with tf.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        given, shares = tf.convert_to_tensor(logits), tf.convert_to_tensor(sparsemax)
        wanted = tf.convert_to_tensor(labels)
        z = given - tf.reduce_mean(given, 1, keepdims=True)
        inside = shares * (z - 0.5 * shares)
        # A logit of minus infinity has no share, and no part in the loss.
        counted = tf.where(shares > 0, inside, tf.zeros_like(inside))
        apart = wanted * (0.5 * wanted - z)
        rest = tf.where(tf.equal(wanted, 0), tf.zeros_like(apart), apart)
        return tf.reduce_sum(counted + rest, 1)
