"""``tf.contrib.sparsemax``: probabilities of which many are 0.

Source: Martins and Astudillo, from softmax to sparsemax.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.client.public.api import tf


def sparsemax(logits: Any, name: str | None = None) -> Any:
    """Return the point of the simplex that is nearest to each row.

    Args:
      logits: [batch, classes]. The share of minus infinity is 0; a row with NaN or infinity, or
        without a finite number, gives NaN.
      name: the name of the scope.
    """
    with tf.name_scope(name, "sparsemax", [logits]):
        z = tf.convert_to_tensor(logits, name="logits")
        ordered, _ = tf.nn.top_k(z, k=tf.shape(z)[1])
        sums = tf.cumsum(ordered, axis=1)
        counts = tf.range(1, tf.cast(tf.shape(z)[1], z.dtype) + 1, dtype=z.dtype)
        is_in = 1 + counts * ordered > sums
        size = tf.reduce_sum(tf.cast(is_in, tf.int32), 1)
        places = tf.reshape(tf.maximum(size, 1) - 1, [-1])
        last = tf.gather_nd(sums, tf.stack([tf.range(tf.size(places)), places], 1))
        size, last = tf.expand_dims(size, 1), tf.expand_dims(last, 1)
        found = tf.maximum(z - (last - 1) / tf.cast(size, z.dtype), 0)
        # A row with NaN, or without a finite largest logit, has no shares.
        unknown = tf.equal(size, 0) | tf.is_nan(sums[:, -1:])
        unknown = tf.broadcast_to(unknown, tf.shape(found))
        return tf.where(unknown, tf.fill(tf.shape(found), tf.constant(np.nan, z.dtype)), found)


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
        inside = shares * (given - 0.5 * shares)
        # A logit of minus infinity has no share, and no part in the loss.
        is_counted = (shares > 0) | tf.is_nan(shares)
        counted = tf.where(is_counted, inside, tf.zeros_like(inside))
        apart = wanted * (0.5 * wanted - given)
        is_left = tf.equal(wanted, 0) & tf.is_inf(given)
        rest = tf.where(is_left, tf.zeros_like(apart), apart)
        return tf.reduce_sum(counted + rest, 1)
