"""``tensorflow.python.training.training_util``: the global step, read and counted."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.training.global_step import (
    get_or_create_global_step_read as _get_or_create_global_step_read,
)

__all__ = ["_get_or_create_global_step_read"]


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
