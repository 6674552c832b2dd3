"""``tf.estimator.Head``: the common part of all heads."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.client.estimator.heads.checks import check_logits
from tfnb.client.estimator.heads.keys import MetricKeys
from tfnb.client.estimator.model_fn import EstimatorSpec, ModeKeys
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"estimator": ["Head"]}

CLASSIFY_KEY = "classification"
REGRESS_KEY = "regression"
PREDICT_KEY = "predict"

# Keras' names of reductions, which heads accept, too.
_KERAS_REDUCTIONS = {
    "sum": "weighted_sum",
    "sum_over_batch_size": "weighted_sum_over_batch_size",
}


class LossSpec(NamedTuple):
    """The loss of a batch.

    Attributes:
        training_loss: The scalar to minimize, without regularization.
        unreduced_loss: The loss of each example.
        weights: The weight of each example.
        processed_labels: The labels in the form of the logits.
    """

    training_loss: Any
    unreduced_loss: Any
    weights: Any
    processed_labels: Any


class Head(abc.ABC):
    """The predictions, loss, metrics and exported outputs of a model, from its logits.

    Subclasses define the abstract members; :meth:`create_estimator_spec` combines them.
    """

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """The name of the head, which becomes a part of the names of summaries and metrics."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The size of the last dimension of the logits."""

    @property
    @abc.abstractmethod
    def loss_reduction(self) -> str:
        """How the losses of examples become the training loss."""

    @abc.abstractmethod
    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        """Return the loss of a batch."""

    @abc.abstractmethod
    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """Return name -> prediction, of those in ``keys`` if it is given."""

    @abc.abstractmethod
    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Return name -> output of the signatures to serve."""

    @abc.abstractmethod
    def eval_metric_ops(
        self, predictions: dict[str, Any], loss: LossSpec, regularization_loss: Any
    ) -> dict[str, Any]:
        """Return name -> (value, update op)."""

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Any = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        """Return the training loss with regularization.

        Args:
            labels: The labels.
            logits: The logits.
            features: The features, for weights and loss functions.
            mode: A key of ``ModeKeys``.
            regularization_losses: Losses that are added.
        """
        spec = self.create_loss(features or {}, mode or ModeKeys.TRAIN, logits, labels)
        return _with_regularization(spec.training_loss, regularization_losses)[0]

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """Return the ops of a mode, for a ``model_fn`` to return.

        Args:
            features: The features.
            mode: A key of ``ModeKeys``.
            logits: The logits of the model.
            labels: The labels; not needed to predict.
            optimizer: Minimizes the loss.
            trainable_variables: The variables to train; all that are trainable if None.
            train_op_fn: ``train_op_fn(loss)`` returns the training op, instead of an optimizer.
            update_ops: Ops that run with the training op; those of the collection if None.
            regularization_losses: Losses that are added to the training loss.

        Raises:
            ValueError: The labels or logits do not fit, or both or none of ``optimizer`` and
                ``train_op_fn`` are given to train.
        """
        with tf.name_scope(self.name, "head"):
            logits = check_logits(logits, self.logits_dimension)
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(
                    mode, predictions, export_outputs=self.export_outputs(predictions)
                )
            spec = self.create_loss(features, mode, logits, labels)
            loss, regularization_loss = _with_regularization(
                spec.training_loss, regularization_losses
            )
            if mode == ModeKeys.EVAL:
                metrics = self.eval_metric_ops(predictions, spec, regularization_loss)
                return EstimatorSpec(mode, predictions, loss, eval_metric_ops=metrics)
            train_op = training_op(loss, optimizer, train_op_fn, trainable_variables)
            train_op = _with_updates(train_op, update_ops)
            mean_loss = None
            if self.loss_reduction == tf.losses.Reduction.SUM:
                weight_sum = tf.reduce_sum(spec.weights * tf.ones_like(spec.unreduced_loss))
                mean_loss = spec.training_loss / weight_sum
        with tf.name_scope(""):
            self._add_summaries(loss, mean_loss, regularization_loss)
        return EstimatorSpec(mode, predictions, loss, train_op)

    def _add_summaries(self, loss: Any, mean_loss: Any, regularization_loss: Any) -> None:
        tf.summary.scalar(self.metric_name(MetricKeys.LOSS), loss)
        if mean_loss is not None:
            tf.summary.scalar(self.metric_name(MetricKeys.LOSS_MEAN), mean_loss)
        if regularization_loss is not None:
            name = self.metric_name(MetricKeys.LOSS_REGULARIZATION)
            tf.summary.scalar(name, regularization_loss)

    def metric_name(self, key: str) -> str:
        """Return the name of a metric or summary: with the head's name, if it has one."""
        return f"{key}/{self.name}" if self.name else key


def _with_regularization(loss: Any, losses: Sequence[Any] | None) -> tuple[Any, Any]:
    """Return the sum, and the regularization alone; None if there is none."""
    if not losses:
        return loss, None
    regularization_loss = tf.add_n(losses)
    return tf.add_n([loss, regularization_loss]), regularization_loss


def training_op(
    loss: Any, optimizer: Any, train_op_fn: Any, trainable_variables: Any = None
) -> Any:
    """Return the op that trains.

    Raises:
        ValueError: Both or none of ``optimizer`` and ``train_op_fn`` are given.
    """
    if optimizer is not None:
        if train_op_fn is not None:
            raise ValueError("train_op_fn and optimizer cannot both be set.")
        return optimizer.minimize(
            loss, global_step=tf.train.get_global_step(), var_list=trainable_variables
        )
    if train_op_fn is None:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    return train_op_fn(loss)


def _with_updates(train_op: Any, update_ops: Sequence[Any] | None) -> Any:
    if update_ops is None:
        update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    return tf.group(train_op, *update_ops) if update_ops else train_op


def chosen(predictions: dict[str, Any], keys: Any) -> dict[str, Any]:
    """Return the predictions with the names in ``keys``; all if it is None.

    Raises:
        ValueError: There is no prediction of one of the names.
    """
    if keys is None:
        return predictions
    unknown = sorted(set(keys) - set(predictions))
    if unknown:
        raise ValueError(f"No prediction has the key {unknown}; there are {sorted(predictions)}.")
    return {key: predictions[key] for key in keys}


def checked_reduction(reduction: str) -> str:
    """Return the name of a reduction in ``tf.losses.Reduction``.

    Raises:
        ValueError: It is unknown, or keeps the losses apart.
    """
    known = _KERAS_REDUCTIONS.get(reduction, reduction)
    if known not in tf.losses.Reduction.all() or known == tf.losses.Reduction.NONE:
        raise ValueError(f"Invalid loss_reduction: {reduction}")
    return known
