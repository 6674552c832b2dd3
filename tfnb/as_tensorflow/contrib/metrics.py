"""``tf.contrib.metrics``: tf-slim's metrics, operations on sets, and the confusion matrix."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.slim_modules import name_of_slim
from tfnb.client.public.api import tf

_PLACES = (
    "tf_slim.metrics",
    "tf_slim.metrics.metric_ops",
    "tf_slim.metrics.classification",
    "tf_slim.metrics.histogram_ops",
)
set_size = tf.sets.set_size
set_union = tf.sets.set_union
set_intersection = tf.sets.set_intersection
set_difference = tf.sets.set_difference


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = tf.int32,
    name: str | None = None,
    weights: Any = None,
) -> Any:
    """Return how often each class was taken for each class, [labels, predictions].

    Args:
      labels: [n], the classes.
      predictions: [n], what they were taken for.
      num_classes: the number of classes; one more than the largest by default.
      dtype: of the counts.
      name: the name of the scope.
      weights: [n], of each pair.
    """
    return tf.confusion_matrix(labels, predictions, num_classes, dtype, name, weights)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return name_of_slim("metrics", name, _PLACES)
