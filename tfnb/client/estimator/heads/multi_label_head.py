"""``tf.estimator.MultiLabelHead``: any number of classes for an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.export.export_outputs import DEFAULT_KEY, PredictOutput
from tfnb.client.estimator.heads import checks, class_tensors
from tfnb.client.estimator.heads.head import (
    CLASSIFY_KEY,
    PREDICT_KEY,
    Head,
    LossSpec,
    checked_reduction,
    chosen,
)
from tfnb.client.estimator.heads.keys import MetricKeys, PredictionKeys
from tfnb.client.public.api import tf
from tfnb.framework.sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"estimator": ["MultiLabelHead"]}


class MultiLabelHead(Head):
    """A head with any number of classes for an example: sigmoid cross entropy of each.

    Args:
        n_classes: The number of classes.
        weight_column: The feature that weights the examples.
        thresholds: Probabilities from which a prediction is positive, for further metrics.
        label_vocabulary: The names of the classes, if labels are strings.
        loss_reduction: How the losses of examples become one.
        loss_fn: ``loss_fn(labels, logits, features)`` instead of the cross entropy.
        classes_for_class_based_metrics: Numbers or names of classes with metrics of their own.
        name: The name of the head.

    Raises:
        ValueError: An argument is out of range or unknown.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "weighted_sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(
                f"n_classes must be > 1 for multi-class classification. Given: {n_classes}"
            )
        checks.check_vocabulary(label_vocabulary)
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                f"Length of label_vocabulary must be n_classes ({n_classes}). Given: "
                f"{len(label_vocabulary)}"
            )
        checks.check_loss_fn(loss_fn)
        self._n_classes = n_classes
        self._weight_column = weight_column
        self._thresholds = class_tensors.checked_thresholds(thresholds)
        self._label_vocabulary = label_vocabulary
        self._loss_reduction = checked_reduction(loss_reduction)
        self._loss_fn = loss_fn
        self._classes = self._class_ids(classes_for_class_based_metrics or ())
        self._name = name

    def _class_ids(self, classes: Sequence[Any]) -> tuple[int, ...]:
        found = []
        for one in classes:
            if isinstance(one, str):
                if not self._label_vocabulary or one not in self._label_vocabulary:
                    raise ValueError(
                        f"classes_for_class_based_metrics has the name {one!r}, which is not in "
                        f"label_vocabulary: {self._label_vocabulary}"
                    )
                found.append(list(self._label_vocabulary).index(one))
            elif 0 <= one < self._n_classes:
                found.append(one)
            else:
                raise ValueError(
                    "All classes_for_class_based_metrics must be in range "
                    f"[0, {self._n_classes - 1}]. Given: {one}"
                )
        return tuple(found)

    @property
    def name(self) -> str | None:
        """The name of the head."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """The number of classes."""
        return self._n_classes

    @property
    def loss_reduction(self) -> str:
        """How the losses of examples become the training loss."""
        return self._loss_reduction

    def _indicators(self, labels: Any) -> Any:
        """Return 1 for each class that an example has, 0 for the others."""
        if not isinstance(labels, SparseTensor):
            return checks.check_range(
                tf.convert_to_tensor(labels),
                2,
                message="labels must be an integer indicator Tensor with values in [0, 1]",
            )
        if tf.as_dtype(labels.dtype) == tf.string:
            if self._label_vocabulary is None:
                raise ValueError("label_vocabulary must be given if labels are strings.")
            ids = checks.ids_of(labels.values, self._label_vocabulary)
            labels = SparseTensor(labels.indices, ids, labels.dense_shape)
            return tf.to_int64(tf.sparse_to_indicator(labels, self._n_classes))
        message = f"labels must be an integer SparseTensor with values in [0, {self._n_classes})"
        values = checks.check_range(labels.values, self._n_classes, message)
        labels = SparseTensor(labels.indices, values, labels.dense_shape)
        return tf.to_int64(tf.sparse_to_indicator(labels, self._n_classes))

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        """Return the loss of a batch."""
        logits = tf.convert_to_tensor(logits)
        indicators = None if labels is None else self._indicators(labels)
        indicators = checks.check_labels(indicators, logits, self._n_classes)
        if self._loss_fn:
            unreduced = checks.call_loss_fn(self._loss_fn, indicators, logits, features)
        else:
            unreduced = tf.losses.sigmoid_cross_entropy(
                indicators, logits, reduction=tf.losses.Reduction.NONE
            )
            unreduced = tf.reduce_mean(unreduced, axis=-1, keepdims=True)
        weights = checks.weights_of(features, self._weight_column, logits)
        loss = tf.losses.compute_weighted_loss(unreduced, weights, reduction=self._loss_reduction)
        return LossSpec(loss, unreduced, weights, indicators)

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """Return name -> prediction."""
        with tf.name_scope(None, "predictions", (logits,)):
            found = {
                PredictionKeys.LOGITS: logits,
                PredictionKeys.PROBABILITIES: tf.sigmoid(logits, name=PredictionKeys.PROBABILITIES),
            }
        return chosen(found, keys)

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Return name -> output of the signatures to serve."""
        probabilities = predictions[PredictionKeys.PROBABILITIES]
        classes = class_tensors.classification_output(
            probabilities, self._n_classes, self._label_vocabulary
        )
        return {
            DEFAULT_KEY: classes,
            CLASSIFY_KEY: classes,
            PREDICT_KEY: PredictOutput(predictions),
        }

    def eval_metric_ops(
        self, predictions: dict[str, Any], loss: LossSpec, regularization_loss: Any
    ) -> dict[str, Any]:
        """Return name -> (value, update op)."""
        keys, metrics = MetricKeys, tf.metrics
        labels, weights = loss.processed_labels, loss.weights
        probabilities = predictions[PredictionKeys.PROBABILITIES]
        with tf.name_scope(None, "metrics"):
            found = {
                keys.LOSS_MEAN: metrics.mean(loss.unreduced_loss, weights, name=keys.LOSS_MEAN),
                keys.AUC: metrics.auc(labels, probabilities, weights, name=keys.AUC),
                keys.AUC_PR: metrics.auc(
                    labels, probabilities, weights, curve="PR", name=keys.AUC_PR
                ),
            }
            if regularization_loss is not None:
                name = keys.LOSS_REGULARIZATION
                found[name] = metrics.mean(regularization_loss, name=name)
            found.update(
                class_tensors.threshold_metrics(labels, probabilities, weights, self._thresholds)
            )
            for class_id in self._classes:
                found.update(self._class_metrics(class_id, labels, probabilities, weights))
        return {self.metric_name(key): value for key, value in found.items()}

    def _class_metrics(
        self, class_id: int, labels: Any, probabilities: Any, weights: Any
    ) -> dict[str, Any]:
        keys = MetricKeys
        labels = labels[..., class_id : class_id + 1]
        probabilities = probabilities[..., class_id : class_id + 1]
        if self._label_vocabulary is None:
            names = [keys.PROBABILITY_MEAN_AT_CLASS, keys.AUC_AT_CLASS, keys.AUC_PR_AT_CLASS]
            mean, auc, auc_pr = (name % class_id for name in names)
        else:
            names = [keys.PROBABILITY_MEAN_AT_NAME, keys.AUC_AT_NAME, keys.AUC_PR_AT_NAME]
            mean, auc, auc_pr = (name % self._label_vocabulary[class_id] for name in names)
        return {
            mean: class_tensors.predictions_mean(probabilities, weights, mean),
            auc: class_tensors.auc(labels, probabilities, weights, auc),
            auc_pr: class_tensors.auc(labels, probabilities, weights, auc_pr, "PR"),
        }
