"""``tensorflow.python.training``: the saver that a graph has, and the global step as a count."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.training.global_step import (
    get_or_create_global_step_read as _get_or_create_global_step_read,
)

__all__ = ["_get_or_create_global_step_read"]


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


def _increment_global_step(increment: Any, graph: Any = None) -> Any:
    """Return the global step after it was increased.

    Raises:
      ValueError: the graph has no global step.
    """
    graph = graph or tf.get_default_graph()
    step = tf.train.get_global_step(graph)
    if step is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step."
        )
    with graph.as_default(), graph.name_scope(None), graph.name_scope(f"{step.op.name}/"):
        with tf.control_dependencies([_get_or_create_global_step_read(graph)]):
            return tf.assign_add(step, increment)
