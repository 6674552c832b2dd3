"""Deep models: ``tf.estimator.DNNClassifier``, ``DNNRegressor`` and ``DNNEstimator``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from tfnb.client.estimator.model_fn import ModeKeys
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.estimator.heads.head import Head
    from tfnb.client.estimator.model_fn import EstimatorSpec

EXPORTS = {
    "estimator": ["DNNClassifier", "DNNEstimator", "DNNRegressor"],
    "estimator.experimental": ["dnn_logit_fn_builder"],
}

_LEARNING_RATE = 0.05
_BATCH_NORM_MOMENTUM = 0.999


def dnn_logit_fn_builder(
    units: int,
    hidden_units: Sequence[int],
    feature_columns: Sequence[Any],
    activation_fn: Any,
    dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
) -> Callable[..., Any]:
    """Return a function that computes the logits of a deep model from features.

    Args:
        units: The number of logits.
        hidden_units: The sizes of the hidden layers.
        feature_columns: The columns of the first layer.
        activation_fn: The activation of hidden layers.
        dropout: The probability with which a value is dropped in a training; None for none.
        input_layer_partitioner: Divides the variables of columns among parameter servers.
        batch_norm: Whether batches are normalized after each hidden layer.

    Raises:
        ValueError: ``units`` is no integer.
    """
    if not isinstance(units, int):
        raise ValueError(f"units must be an int.  Given type: {type(units)}")

    def dnn_logit_fn(features: Any, mode: str) -> Any:
        is_training = mode == ModeKeys.TRAIN
        with tf.variable_scope("input_from_feature_columns", partitioner=input_layer_partitioner):
            net = tf.feature_column.input_layer(features, feature_columns)
        for index, size in enumerate(hidden_units):
            with tf.variable_scope(f"hiddenlayer_{index}", values=(net,)) as scope:
                net = _dense(net, size, activation_fn, scope)
                if dropout is not None and is_training:
                    net = tf.layers.dropout(net, rate=dropout, training=True)
                if batch_norm:
                    net = tf.layers.batch_normalization(
                        net,
                        momentum=_BATCH_NORM_MOMENTUM,
                        training=is_training,
                        name=f"batchnorm_{index}",
                    )
            add_layer_summary(net, scope.name)
        with tf.variable_scope("logits", values=(net,)) as scope:
            logits = _dense(net, units, None, scope)
        add_layer_summary(logits, scope.name)
        return logits

    return dnn_logit_fn


def _dense(net: Any, units: int, activation: Any, scope: Any) -> Any:
    """Return a layer whose variables are in the scope itself."""
    return tf.layers.dense(
        net,
        units=units,
        activation=activation,
        kernel_initializer=tf.glorot_uniform_initializer(),
        name=scope,
    )


def _dnn_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Head,
    hidden_units: Sequence[int],
    feature_columns: Sequence[Any],
    optimizer: Any,
    activation_fn: Any,
    dropout: float | None,
    input_layer_partitioner: Any,
    config: Any,
    batch_norm: bool,
) -> EstimatorSpec:
    check_features(features)
    optimizer = optimizer_instance(optimizer, _LEARNING_RATE)
    with tf.variable_scope(
        "dnn", values=tuple(features.values()), partitioner=hidden_partitioner(config)
    ):
        logit_fn = dnn_logit_fn_builder(
            head.logits_dimension,
            hidden_units,
            feature_columns,
            activation_fn,
            dropout,
            input_layer_partitioner or input_partitioner(config),
            batch_norm,
        )
        return head.create_estimator_spec(
            features=features,
            mode=mode,
            labels=labels,
            optimizer=optimizer,
            logits=logit_fn(features, mode),
        )


class DNNEstimator(Estimator):
    """A deep model with a head of its own.

    Args:
        head: The head.
        hidden_units: The sizes of the hidden layers.
        feature_columns: The columns of the first layer.
        model_dir: The folder of checkpoints and summaries.
        optimizer: An optimizer, a function that returns one, or a name.
        activation_fn: The activation of hidden layers; relu if None.
        dropout: The probability with which a value is dropped in a training.
        input_layer_partitioner: Divides the variables of columns among parameter servers.
        config: A ``RunConfig``.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        batch_norm: Whether batches are normalized after each hidden layer.
    """

    def __init__(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = None,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        columns = tuple(feature_columns or ())
        activation = tf.nn.relu if activation_fn is None else activation_fn

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return _dnn_model_fn(
                features, labels, mode, head, hidden_units, columns, optimizer, activation,
                dropout, input_layer_partitioner, config, batch_norm,
            )  # fmt: skip

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNClassifier(DNNEstimator):
    """A deep model that predicts classes.

    Args:
        hidden_units: The sizes of the hidden layers.
        feature_columns: The columns of the first layer.
        model_dir: The folder of checkpoints and summaries.
        n_classes: The number of classes.
        weight_column: The feature that weights the examples.
        label_vocabulary: The names of the classes, if labels are strings.
        optimizer: An optimizer, a function that returns one, or a name.
        activation_fn: The activation of hidden layers; relu if None.
        dropout: The probability with which a value is dropped in a training.
        input_layer_partitioner: Divides the variables of columns among parameter servers.
        config: A ``RunConfig``.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        loss_reduction: How the losses of examples become one.
        batch_norm: Whether batches are normalized after each hidden layer.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = None,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
    ) -> None:
        super().__init__(
            binary_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )


class DNNRegressor(DNNEstimator):
    """A deep model that predicts numbers.

    Args:
        hidden_units: The sizes of the hidden layers.
        feature_columns: The columns of the first layer.
        model_dir: The folder of checkpoints and summaries.
        label_dimension: The number of values of an example.
        weight_column: The feature that weights the examples.
        optimizer: An optimizer, a function that returns one, or a name.
        activation_fn: The activation of hidden layers; relu if None.
        dropout: The probability with which a value is dropped in a training.
        input_layer_partitioner: Divides the variables of columns among parameter servers.
        config: A ``RunConfig``.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        loss_reduction: How the losses of examples become one.
        batch_norm: Whether batches are normalized after each hidden layer.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = None,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )
