"""``tensorflow.python.training.saver``: the saver that a graph already has."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf


def _get_saver_or_default() -> Any:
    """Return the saver of the default graph's collection, and add one if there is none.

    Raises:
      RuntimeError: the collection has several.
    """
    savers = tf.get_collection(tf.GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {tf.GraphKeys.SAVERS}. Please indicate which one to "
            "use by passing it to the constructor."
        )
    if savers:
        return savers[0]
    saver = tf.train.Saver(sharded=True, allow_empty=True)
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    return saver
