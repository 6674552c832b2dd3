"""``tf.estimator.MultiClassHead``: one class of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.export.export_outputs import DEFAULT_KEY, PredictOutput
from tfnb.client.estimator.heads import checks, class_tensors
from tfnb.client.estimator.heads.binary_class_head import BinaryClassHead
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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"estimator": ["MultiClassHead"]}


class MultiClassHead(Head):
    """A head with one class of several: softmax cross entropy.

    Args:
        n_classes: The number of classes, more than two.
        weight_column: The feature that weights the examples.
        label_vocabulary: The names of the classes, if labels are strings.
        loss_reduction: How the losses of examples become one.
        loss_fn: ``loss_fn(labels, logits, features)`` instead of the cross entropy.
        name: The name of the head.

    Raises:
        ValueError: There are two classes or fewer, or another argument is unknown.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "weighted_sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None:
            raise ValueError("n_classes cannot be None")
        if n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        checks.check_vocabulary(label_vocabulary)
        checks.check_loss_fn(loss_fn)
        self._n_classes = n_classes
        self._weight_column = weight_column
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
        """The number of classes."""
        return self._n_classes

    @property
    def loss_reduction(self) -> str:
        """How the losses of examples become the training loss."""
        return self._loss_reduction

    def _label_ids(self, labels: Any) -> Any:
        if self._label_vocabulary is None:
            if not labels.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
            return checks.check_range(labels, self._n_classes)
        if tf.as_dtype(labels.dtype) != tf.string:
            raise ValueError(
                "Labels dtype should be string if there is a vocabulary. Instead got "
                f"{labels.dtype}"
            )
        return checks.check_range(checks.ids_of(labels, self._label_vocabulary), self._n_classes)

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        """Return the loss of a batch."""
        logits = tf.convert_to_tensor(logits)
        label_ids = self._label_ids(checks.check_labels(labels, logits, 1))
        if self._loss_fn:
            unreduced = checks.call_loss_fn(self._loss_fn, label_ids, logits, features)
        else:
            unreduced = tf.losses.sparse_softmax_cross_entropy(
                labels=label_ids, logits=logits, reduction=tf.losses.Reduction.NONE
            )
            unreduced = tf.expand_dims(unreduced, axis=-1)
        weights = checks.weights_of(features, self._weight_column, logits)
        loss = tf.losses.compute_weighted_loss(unreduced, weights, reduction=self._loss_reduction)
        return LossSpec(loss, unreduced, weights, label_ids)

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """Return name -> prediction."""
        names, count, vocabulary = PredictionKeys, self._n_classes, self._label_vocabulary
        with tf.name_scope(None, "predictions", (logits,)):
            every_id = class_tensors.all_class_ids(logits, count)
            every_class = class_tensors.all_classes(logits, count, vocabulary)
            class_ids = tf.expand_dims(tf.argmax(logits, axis=-1, name=names.CLASS_IDS), axis=-1)
            found = {
                names.LOGITS: logits,
                names.CLASSES: class_tensors.classes_of(class_ids, vocabulary),
                names.PROBABILITIES: tf.nn.softmax(logits, name=names.PROBABILITIES),
                names.CLASS_IDS: class_ids,
                names.ALL_CLASS_IDS: every_id,
                names.ALL_CLASSES: every_class,
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
        class_ids = predictions[PredictionKeys.CLASS_IDS]
        with tf.name_scope(None, "metrics"):
            found = {
                keys.LOSS_MEAN: metrics.mean(
                    loss.unreduced_loss, loss.weights, name=keys.LOSS_MEAN
                ),
                keys.ACCURACY: metrics.accuracy(
                    loss.processed_labels, class_ids, loss.weights, name=keys.ACCURACY
                ),
            }
            if regularization_loss is not None:
                name = keys.LOSS_REGULARIZATION
                found[name] = metrics.mean(regularization_loss, name=name)
        return {self.metric_name(key): value for key, value in found.items()}


def binary_or_multi_class_head(
    n_classes: int, weight_column: Any, label_vocabulary: Sequence[str] | None, loss_reduction: str
) -> Head:
    """Return the head of a classifier."""
    if n_classes == 2:
        return BinaryClassHead(
            weight_column=weight_column,
            label_vocabulary=label_vocabulary,
            loss_reduction=loss_reduction,
        )
    return MultiClassHead(
        n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
    )
