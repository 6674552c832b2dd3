"""``tf.estimator.BinaryClassHead``: one logit for two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.export.export_outputs import (
    DEFAULT_KEY,
    PredictOutput,
    RegressionOutput,
)
from tfnb.client.estimator.heads import checks, class_tensors
from tfnb.client.estimator.heads.head import (
    CLASSIFY_KEY,
    PREDICT_KEY,
    REGRESS_KEY,
    Head,
    LossSpec,
    checked_reduction,
    chosen,
)
from tfnb.client.estimator.heads.keys import MetricKeys, PredictionKeys
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"estimator": ["BinaryClassHead"]}


class BinaryClassHead(Head):
    """A head with two classes: sigmoid cross entropy of one logit.

    Args:
        weight_column: The feature that weights the examples.
        thresholds: Probabilities from which a prediction is positive, for further metrics.
        label_vocabulary: The names of the classes, if labels are strings.
        loss_reduction: How the losses of examples become one.
        loss_fn: ``loss_fn(labels, logits, features)`` instead of the cross entropy.
        name: The name of the head.

    Raises:
        ValueError: A threshold is not in (0, 1), or another argument is unknown.
        TypeError: The vocabulary is neither a list nor a tuple.
    """

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "weighted_sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        checks.check_vocabulary(label_vocabulary, TypeError)
        checks.check_loss_fn(loss_fn)
        self._weight_column = weight_column
        self._thresholds = class_tensors.checked_thresholds(thresholds)
        self._label_vocabulary = label_vocabulary
        self._loss_reduction = checked_reduction(loss_reduction)
        self._loss_fn = loss_fn
        self._name = name

    @property
    def name(self) -> str | None:
        """The name of the head."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """The number of logits: one."""
        return 1

    @property
    def loss_reduction(self) -> str:
        """How the losses of examples become the training loss."""
        return self._loss_reduction

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        """Return the loss of a batch."""
        logits = tf.convert_to_tensor(logits)
        labels = checks.check_labels(labels, logits, 1)
        if self._label_vocabulary is not None:
            labels = checks.ids_of(labels, self._label_vocabulary)
        labels = checks.check_range(tf.to_float(labels), 2)
        if self._loss_fn:
            unreduced = checks.call_loss_fn(self._loss_fn, labels, logits, features)
        else:
            unreduced = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        weights = checks.weights_of(features, self._weight_column, logits)
        loss = tf.losses.compute_weighted_loss(unreduced, weights, reduction=self._loss_reduction)
        return LossSpec(loss, unreduced, weights, labels)

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """Return name -> prediction."""
        names, vocabulary = PredictionKeys, self._label_vocabulary
        with tf.name_scope(None, "predictions", (logits,)):
            logistic = tf.sigmoid(logits, name=names.LOGISTIC)
            both = tf.concat((tf.zeros_like(logits), logits), axis=-1, name="two_class_logits")
            probabilities = tf.nn.softmax(both, name=names.PROBABILITIES)
            class_ids = tf.expand_dims(tf.argmax(both, axis=-1, name=names.CLASS_IDS), axis=-1)
            found = {
                names.LOGITS: logits,
                names.LOGISTIC: logistic,
                names.PROBABILITIES: probabilities,
                names.CLASS_IDS: class_ids,
                names.ALL_CLASS_IDS: class_tensors.all_class_ids(logits, 2),
                names.ALL_CLASSES: class_tensors.all_classes(logits, 2, vocabulary),
                names.CLASSES: class_tensors.classes_of(class_ids, vocabulary),
            }
        return chosen(found, keys)

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Return name -> output of the signatures to serve."""
        probabilities = predictions[PredictionKeys.PROBABILITIES]
        classes = class_tensors.classification_output(probabilities, 2, self._label_vocabulary)
        return {
            DEFAULT_KEY: classes,
            CLASSIFY_KEY: classes,
            REGRESS_KEY: RegressionOutput(predictions[PredictionKeys.LOGISTIC]),
            PREDICT_KEY: PredictOutput(predictions),
        }

    def eval_metric_ops(
        self, predictions: dict[str, Any], loss: LossSpec, regularization_loss: Any
    ) -> dict[str, Any]:
        """Return name -> (value, update op)."""
        keys, metrics = MetricKeys, tf.metrics
        labels, weights = loss.processed_labels, loss.weights
        logistic = predictions[PredictionKeys.LOGISTIC]
        class_ids = predictions[PredictionKeys.CLASS_IDS]
        with tf.name_scope(None, "metrics"):
            label_mean = class_tensors.labels_mean(labels, weights, keys.LABEL_MEAN)
            found = {
                keys.LOSS_MEAN: metrics.mean(loss.unreduced_loss, weights, name=keys.LOSS_MEAN),
                keys.ACCURACY: metrics.accuracy(labels, class_ids, weights, name=keys.ACCURACY),
                keys.PRECISION: metrics.precision(labels, class_ids, weights, name=keys.PRECISION),
                keys.RECALL: metrics.recall(labels, class_ids, weights, name=keys.RECALL),
                keys.PREDICTION_MEAN: class_tensors.predictions_mean(
                    logistic, weights, keys.PREDICTION_MEAN
                ),
                keys.LABEL_MEAN: label_mean,
                keys.ACCURACY_BASELINE: class_tensors.accuracy_baseline(label_mean),
                keys.AUC: class_tensors.auc(labels, logistic, weights, keys.AUC),
                keys.AUC_PR: class_tensors.auc(labels, logistic, weights, keys.AUC_PR, "PR"),
            }
            if regularization_loss is not None:
                name = keys.LOSS_REGULARIZATION
                found[name] = metrics.mean(regularization_loss, name=name)
            found.update(
                class_tensors.threshold_metrics(labels, logistic, weights, self._thresholds)
            )
        return {self.metric_name(key): value for key, value in found.items()}
