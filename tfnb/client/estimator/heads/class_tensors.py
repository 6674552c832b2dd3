"""Predicted classes, and metrics that several heads have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.export.export_outputs import ClassificationOutput
from tfnb.client.estimator.heads.checks import words_of
from tfnb.client.estimator.heads.keys import MetricKeys
from tfnb.client.public.api import tf
from tfnb.library.nn.weights_broadcast_ops import broadcast_weights

if TYPE_CHECKING:
    from collections.abc import Sequence


def all_class_ids(logits: Any, n_classes: int) -> Any:
    """Return the numbers of all classes for each example."""
    return _for_each_example(tf.range(n_classes), logits)


def all_classes(logits: Any, n_classes: int, label_vocabulary: Sequence[str] | None) -> Any:
    """Return the names of all classes for each example."""
    names = label_vocabulary or tf.as_string(tf.range(n_classes))
    return _for_each_example(names, logits)


def _for_each_example(row: Any, batch: Any) -> Any:
    count = tf.shape(batch)[0]
    return tf.tile(tf.expand_dims(row, axis=0), multiples=[count, 1])


def classes_of(class_ids: Any, label_vocabulary: Sequence[str] | None) -> Any:
    """Return the names of classes."""
    if label_vocabulary:
        return words_of(class_ids, label_vocabulary)
    return tf.as_string(class_ids, name="str_classes")


def classification_output(
    scores: Any, n_classes: int, label_vocabulary: Sequence[str] | None
) -> ClassificationOutput:
    """Return the output of a classifier that is served."""
    return ClassificationOutput(scores, all_classes(scores, n_classes, label_vocabulary))


def mean_of(values: Any, weights: Any, name: str, default_name: str, own_name: str) -> Any:
    """Return the metric of the weighted mean.

    Args:
        values: The values.
        weights: Their weights.
        name: The name of the metric.
        default_name: The name if it has none.
        own_name: The name of the values as floats.
    """
    with tf.name_scope(name, default_name, (values, weights)) as scope:
        values = tf.to_float(values, name=own_name)
        return tf.metrics.mean(values, weights=_broadcast(weights, values), name=scope)


def predictions_mean(predictions: Any, weights: Any, name: str) -> Any:
    """Return the metric of the mean prediction."""
    return mean_of(predictions, weights, name, "predictions_mean", "predictions")


def labels_mean(labels: Any, weights: Any, name: str) -> Any:
    """Return the metric of the mean label."""
    return mean_of(labels, weights, name, "labels_mean", "labels")


def accuracy_baseline(mean: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the accuracy of a model that always predicts the more frequent class."""
    value, update = mean
    with tf.name_scope(None, "accuracy_baseline", mean):
        return (
            tf.maximum(value, 1.0 - value, name="value"),
            tf.maximum(update, 1 - update, name="update_op"),
        )


def auc(labels: Any, predictions: Any, weights: Any, name: str, curve: str = "ROC") -> Any:
    """Return the metric of the area under a curve."""
    with tf.name_scope(name, "auc", (predictions, labels, weights)) as scope:
        predictions = tf.to_float(predictions, name="predictions")
        return tf.metrics.auc(
            labels, predictions, _broadcast(weights, predictions), curve=curve, name=scope
        )


def threshold_metrics(
    labels: Any, predictions: Any, weights: Any, thresholds: Sequence[float]
) -> dict[str, Any]:
    """Return accuracy, precision and recall of predictions that are at least a threshold."""
    found: dict[str, Any] = {}
    for threshold in thresholds:
        key = MetricKeys.ACCURACY_AT_THRESHOLD % threshold
        with tf.name_scope(key, values=(predictions, labels, weights)) as scope:
            positive = tf.to_float(tf.greater_equal(predictions, threshold))
            found[key] = tf.metrics.accuracy(labels, positive, weights, name=scope)
        for key, metric in (
            (MetricKeys.PRECISION_AT_THRESHOLD % threshold, tf.metrics.precision_at_thresholds),
            (MetricKeys.RECALL_AT_THRESHOLD % threshold, tf.metrics.recall_at_thresholds),
        ):
            with tf.name_scope(key, values=(predictions, labels, weights)) as scope:
                value, update = metric(labels, predictions, (threshold,), weights, name=scope)
                found[key] = (tf.squeeze(value), tf.squeeze(update))
    return found


def checked_thresholds(thresholds: Sequence[float] | None) -> tuple[float, ...]:
    """Return the thresholds.

    Raises:
        ValueError: One is not in (0, 1).
    """
    for threshold in thresholds or ():
        if not 0 < threshold < 1:
            raise ValueError(f"thresholds not in (0, 1): {(tuple(thresholds or ()),)}.")
    return tuple(thresholds or ())


def _broadcast(weights: Any, values: Any) -> Any:
    return None if weights is None else broadcast_weights(weights, values)
