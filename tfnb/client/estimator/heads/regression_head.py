"""``tf.estimator.RegressionHead`` and its relatives: numbers instead of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.export.export_outputs import (
    DEFAULT_KEY,
    PredictOutput,
    RegressionOutput,
)
from tfnb.client.estimator.heads import checks, class_tensors
from tfnb.client.estimator.heads.head import (
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
    from collections.abc import Callable

EXPORTS = {"estimator": ["LogisticRegressionHead", "PoissonRegressionHead", "RegressionHead"]}


class RegressionHead(Head):
    """A head with numbers: the mean of squared errors.

    Args:
        label_dimension: The number of values of an example.
        weight_column: The feature that weights the examples, or each value.
        loss_reduction: How the losses of examples become one.
        loss_fn: ``loss_fn(labels, logits, features)`` instead of squared errors.
        inverse_link_fn: Computes the prediction from the logits, which are the prediction if None.
        name: The name of the head.

    Raises:
        ValueError: An argument is out of range or unknown.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = "weighted_sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        checks.check_loss_fn(loss_fn)
        self._logits_dimension = label_dimension
        self._weight_column = weight_column
        self._loss_reduction = checked_reduction(loss_reduction)
        self._loss_fn = loss_fn
        self._inverse_link_fn = inverse_link_fn
        self._name = name

    @property
    def name(self) -> str | None:
        """The name of the head."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """The number of values of an example."""
        return self._logits_dimension

    @property
    def loss_reduction(self) -> str:
        """How the losses of examples become the training loss."""
        return self._loss_reduction

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        """Return the loss of a batch."""
        logits = tf.convert_to_tensor(logits)
        size = self._logits_dimension
        labels = tf.to_float(checks.check_labels(labels, logits, size))
        if self._loss_fn:
            unreduced = checks.call_loss_fn(self._loss_fn, labels, logits, features, size)
        else:
            unreduced = tf.losses.mean_squared_error(
                labels=labels, predictions=logits, reduction=tf.losses.Reduction.NONE
            )
        weights = checks.weights_of(features, self._weight_column, logits, per_logit_allowed=True)
        loss = tf.losses.compute_weighted_loss(unreduced, weights, reduction=self._loss_reduction)
        return LossSpec(loss, unreduced, weights, labels)

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """Return name -> prediction."""
        if not self._inverse_link_fn:
            return chosen({PredictionKeys.PREDICTIONS: logits}, keys)
        found = {
            PredictionKeys.PREDICTIONS: self._inverse_link_fn(logits),
            PredictionKeys.LOGITS: logits,
        }
        return chosen(found, keys)

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Return name -> output of the signatures to serve."""
        regression = RegressionOutput(predictions[PredictionKeys.PREDICTIONS])
        return {
            DEFAULT_KEY: regression,
            REGRESS_KEY: regression,
            PREDICT_KEY: PredictOutput(predictions),
        }

    def eval_metric_ops(
        self, predictions: dict[str, Any], loss: LossSpec, regularization_loss: Any
    ) -> dict[str, Any]:
        """Return name -> (value, update op)."""
        keys, metrics = MetricKeys, tf.metrics
        predicted = predictions[PredictionKeys.PREDICTIONS]
        found = {
            keys.LOSS_MEAN: metrics.mean(loss.unreduced_loss, loss.weights),
            keys.PREDICTION_MEAN: class_tensors.predictions_mean(
                predicted, loss.weights, keys.PREDICTION_MEAN
            ),
            keys.LABEL_MEAN: metrics.mean(loss.processed_labels, loss.weights),
        }
        if regularization_loss is not None:
            name = keys.LOSS_REGULARIZATION
            found[name] = metrics.mean(regularization_loss, name=name)
        return {self.metric_name(key): value for key, value in found.items()}


class PoissonRegressionHead(RegressionHead):
    """A head with counts: the negative logarithm of Poisson's probability.

    Args:
        label_dimension: The number of values of an example.
        weight_column: The feature that weights the examples, or each value.
        loss_reduction: How the losses of examples become one.
        compute_full_loss: Whether to add Stirling's approximation of log(label!).
        name: The name of the head.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = "weighted_sum_over_batch_size",
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        def poisson_loss(labels: Any, logits: Any) -> Any:
            return tf.nn.log_poisson_loss(
                targets=labels, log_input=logits, compute_full_loss=compute_full_loss
            )

        super().__init__(label_dimension, weight_column, loss_reduction, poisson_loss, tf.exp, name)


class LogisticRegressionHead(RegressionHead):
    """A head with a probability for each example: sigmoid cross entropy.

    Args:
        weight_column: The feature that weights the examples.
        loss_reduction: How the losses of examples become one.
        name: The name of the head.
    """

    def __init__(
        self,
        weight_column: Any = None,
        loss_reduction: str = "weighted_sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        def logistic_loss(labels: Any, logits: Any) -> Any:
            labels = checks.check_range(
                labels, 2, message="Labels must be in range [0, 1] for logistic regression."
            )
            return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

        super().__init__(1, weight_column, loss_reduction, logistic_loss, tf.sigmoid, name)
