"""Wide and deep models: ``tf.estimator.DNNLinearCombinedClassifier`` and its relatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.canned.dnn import dnn_logit_fn_builder
from tfnb.client.estimator.canned.linear import linear_logit_fn_builder
from tfnb.client.estimator.canned.model_parts import (
    add_layer_summary,
    check_features,
    hidden_partitioner,
    input_partitioner,
)
from tfnb.client.estimator.canned.optimizers import optimizer_instance
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.heads.multi_class_head import binary_or_multi_class_head
from tfnb.client.estimator.heads.regression_head import RegressionHead
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.estimator.heads.head import Head
    from tfnb.client.estimator.model_fn import EstimatorSpec

EXPORTS = {
    "estimator": [
        "DNNLinearCombinedClassifier", "DNNLinearCombinedEstimator", "DNNLinearCombinedRegressor",
    ]
}  # fmt: skip

# Smaller than those of the models of one part.
_DNN_LEARNING_RATE = 0.001
_LINEAR_LEARNING_RATE = 0.005


class _CombinedModel:
    """The wide and the deep part of a model, whose logits are added.

    Args:
        head: The head.
        linear_feature_columns: The columns of the wide part.
        linear_optimizer: Trains the wide part.
        dnn_feature_columns: The columns of the deep part.
        dnn_optimizer: Trains the deep part.
        dnn_hidden_units: The sizes of the hidden layers.
        dnn_activation_fn: The activation of hidden layers; relu if None.
        dnn_dropout: The probability with which a value is dropped in a training.
        input_layer_partitioner: Divides the variables of columns among parameter servers.
        batch_norm: Whether batches are normalized after each hidden layer.
        linear_sparse_combiner: How several categories of an example become one.

    Raises:
        ValueError: There are no columns, or no hidden units for the deep part.
    """

    def __init__(
        self,
        head: Head,
        linear_feature_columns: Sequence[Any] | None,
        linear_optimizer: Any,
        dnn_feature_columns: Sequence[Any] | None,
        dnn_optimizer: Any,
        dnn_hidden_units: Sequence[int] | None,
        dnn_activation_fn: Any,
        dnn_dropout: float | None,
        input_layer_partitioner: Any,
        batch_norm: bool,
        linear_sparse_combiner: str,
    ) -> None:
        self._head = head
        self._linear_columns = tuple(linear_feature_columns or ())
        self._linear_optimizer = linear_optimizer
        self._dnn_columns = tuple(dnn_feature_columns or ())
        self._dnn_optimizer = dnn_optimizer
        self._hidden_units = dnn_hidden_units
        self._activation = tf.nn.relu if dnn_activation_fn is None else dnn_activation_fn
        self._dropout = dnn_dropout
        self._input_partitioner = input_layer_partitioner
        self._batch_norm = batch_norm
        self._combiner = linear_sparse_combiner
        if not self._linear_columns and not self._dnn_columns:
            raise ValueError(
                "Either linear_feature_columns or dnn_feature_columns must be defined."
            )
        if self._dnn_columns and not dnn_hidden_units:
            raise ValueError(
                "dnn_hidden_units must be defined when dnn_feature_columns is specified."
            )

    def model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        """Build the graph of a mode."""
        check_features(features)
        partitioner = self._input_partitioner or input_partitioner(config)
        values = tuple(features.values())
        # (logits, optimizer, name of the scope of its variables)
        parts: list[tuple[Any, Any, str]] = []
        if self._dnn_columns:
            optimizer = _checked(optimizer_instance(self._dnn_optimizer, _DNN_LEARNING_RATE))
            with tf.variable_scope(
                "dnn", values=values, partitioner=hidden_partitioner(config)
            ) as scope:
                logit_fn = dnn_logit_fn_builder(
                    self._head.logits_dimension,
                    self._hidden_units or (),
                    self._dnn_columns,
                    self._activation,
                    self._dropout,
                    partitioner,
                    self._batch_norm,
                )
                parts.append((logit_fn(features, mode), optimizer, scope.name))
        if self._linear_columns:
            rate = min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(len(self._linear_columns)))
            optimizer = _checked(optimizer_instance(self._linear_optimizer, rate))
            with tf.variable_scope("linear", values=values, partitioner=partitioner) as scope:
                linear_fn = linear_logit_fn_builder(
                    self._head.logits_dimension, self._linear_columns, self._combiner
                )
                linear_logits = linear_fn(features)
                add_layer_summary(linear_logits, scope.name)
                parts.append((linear_logits, optimizer, scope.name))
        logits = parts[0][0] if len(parts) == 1 else parts[0][0] + parts[1][0]

        def train_op_fn(loss: Any) -> Any:
            trained = [
                optimizer.minimize(
                    loss,
                    var_list=tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=name),
                )
                for _, optimizer, name in parts
            ]
            with tf.control_dependencies([tf.group(*trained)]):
                return tf.assign_add(tf.train.get_global_step(), 1).op

        return self._head.create_estimator_spec(
            features=features, mode=mode, labels=labels, train_op_fn=train_op_fn, logits=logits
        )


def _checked(optimizer: Any) -> Any:
    if isinstance(optimizer, tf.train.SyncReplicasOptimizer):
        raise ValueError(
            "SyncReplicasOptimizer does not support multi optimizers case. Therefore, it is not "
            "supported in DNNLinearCombined model. If you want to use this optimizer, please use "
            "either DNN or Linear model."
        )
    return optimizer


class DNNLinearCombinedEstimator(Estimator):
    """A wide and deep model with a head of its own.

    Args:
        head: The head.
        model_dir: The folder of checkpoints and summaries.
        linear_feature_columns: The columns of the wide part.
        linear_optimizer: Trains the wide part.
        dnn_feature_columns: The columns of the deep part.
        dnn_optimizer: Trains the deep part.
        dnn_hidden_units: The sizes of the hidden layers.
        dnn_activation_fn: The activation of hidden layers; relu if None.
        dnn_dropout: The probability with which a value is dropped in a training.
        input_layer_partitioner: Divides the variables of columns among parameter servers.
        config: A ``RunConfig``.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        batch_norm: Whether batches are normalized after each hidden layer.
        linear_sparse_combiner: How several categories of an example become one.

    Raises:
        ValueError: There are no columns, or no hidden units for the deep part.
    """

    def __init__(
        self,
        head: Head,
        model_dir: Any = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        model = _CombinedModel(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner, batch_norm,
            linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model.model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """A wide and deep model that predicts classes.

    Args:
        model_dir: The folder of checkpoints and summaries.
        linear_feature_columns: The columns of the wide part.
        linear_optimizer: Trains the wide part.
        dnn_feature_columns: The columns of the deep part.
        dnn_optimizer: Trains the deep part.
        dnn_hidden_units: The sizes of the hidden layers.
        dnn_activation_fn: The activation of hidden layers; relu if None.
        dnn_dropout: The probability with which a value is dropped in a training.
        n_classes: The number of classes.
        weight_column: The feature that weights the examples.
        label_vocabulary: The names of the classes, if labels are strings.
        input_layer_partitioner: Divides the variables of columns among parameter servers.
        config: A ``RunConfig``.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        loss_reduction: How the losses of examples become one.
        batch_norm: Whether batches are normalized after each hidden layer.
        linear_sparse_combiner: How several categories of an example become one.

    Raises:
        ValueError: There are no columns, or no hidden units for the deep part.
    """

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            binary_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
            linear_sparse_combiner,
        )


class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """A wide and deep model that predicts numbers.

    Args:
        model_dir: The folder of checkpoints and summaries.
        linear_feature_columns: The columns of the wide part.
        linear_optimizer: Trains the wide part.
        dnn_feature_columns: The columns of the deep part.
        dnn_optimizer: Trains the deep part.
        dnn_hidden_units: The sizes of the hidden layers.
        dnn_activation_fn: The activation of hidden layers; relu if None.
        dnn_dropout: The probability with which a value is dropped in a training.
        label_dimension: The number of values of an example.
        weight_column: The feature that weights the examples.
        input_layer_partitioner: Divides the variables of columns among parameter servers.
        config: A ``RunConfig``.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        loss_reduction: How the losses of examples become one.
        batch_norm: Whether batches are normalized after each hidden layer.
        linear_sparse_combiner: How several categories of an example become one.

    Raises:
        ValueError: There are no columns, or no hidden units for the deep part.
    """

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
            linear_sparse_combiner,
        )
