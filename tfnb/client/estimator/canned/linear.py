"""Linear models: ``tf.estimator.LinearClassifier``, ``LinearRegressor`` and ``LinearEstimator``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.canned.model_parts import check_features, input_partitioner
from tfnb.client.estimator.canned.optimizers import optimizer_instance
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.heads.multi_class_head import binary_or_multi_class_head
from tfnb.client.estimator.heads.regression_head import RegressionHead
from tfnb.client.public.api import tf
from tfnb.library.feature_columns.layers import linear_model_layer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.estimator.heads.head import Head
    from tfnb.client.estimator.model_fn import EstimatorSpec

EXPORTS = {
    "estimator": ["LinearClassifier", "LinearEstimator", "LinearRegressor"],
    "estimator.experimental": ["linear_logit_fn_builder"],
}

_LEARNING_RATE = 0.2


def linear_logit_fn_builder(
    units: int, feature_columns: Sequence[Any], sparse_combiner: str = "sum"
) -> Callable[[Any], Any]:
    """Return a function that computes the logits of a linear model from features.

    Args:
        units: The number of logits.
        feature_columns: The columns.
        sparse_combiner: How several categories of an example become one: ``sum``, ``mean`` or
            ``sqrtn``.
    """

    def linear_logit_fn(features: Any) -> Any:
        variables: dict[Any, Any] = {}
        logits = linear_model_layer(
            features=features,
            feature_columns=feature_columns,
            units=units,
            sparse_combiner=sparse_combiner,
            cols_to_vars=variables,
        )
        bias = variables.pop("bias")
        if units > 1:
            tf.summary.histogram("bias", bias)
        else:
            tf.summary.scalar("bias", bias[0][0])
        weights = [one for parts in variables.values() for one in parts]
        tf.summary.scalar("fraction_of_zero_weights", _zero_fraction(weights))
        return logits

    return linear_logit_fn


def _zero_fraction(variables: Sequence[Any]) -> Any:
    """Return the fraction of zeros in several variables."""
    with tf.name_scope("zero_fraction"):
        sizes = [tf.to_float(tf.size(one, out_type=tf.int64)) for one in variables]
        zeros = [
            tf.where(size > 0, tf.nn.zero_fraction(one) * size, tf.zeros_like(size))
            for one, size in zip(variables, sizes, strict=True)
        ]
        return tf.identity(tf.add_n(zeros) / tf.add_n(sizes), name="zero_fraction_or_nan")


def _linear_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Head,
    feature_columns: Sequence[Any],
    optimizer: Any,
    partitioner: Any,
    config: Any,
    sparse_combiner: str,
) -> EstimatorSpec:
    check_features(features)
    with tf.variable_scope(
        "linear",
        values=tuple(features.values()),
        partitioner=partitioner or input_partitioner(config),
    ):
        logit_fn = linear_logit_fn_builder(head.logits_dimension, feature_columns, sparse_combiner)
        # Only an optimizer that is not given falls with the number of columns.
        rate = _LEARNING_RATE
        if not optimizer:
            rate = min(_LEARNING_RATE, 1.0 / math.sqrt(len(feature_columns)))
        return head.create_estimator_spec(
            features=features,
            mode=mode,
            labels=labels,
            optimizer=optimizer_instance(optimizer or "Ftrl", rate),
            logits=logit_fn(features),
        )


class LinearEstimator(Estimator):
    """A linear model with a head of its own.

    Args:
        head: The head.
        feature_columns: The columns of the model.
        model_dir: The folder of checkpoints and summaries.
        optimizer: An optimizer, a function that returns one, or a name.
        config: A ``RunConfig``.
        partitioner: Divides the variables among parameter servers.
        sparse_combiner: How several categories of an example become one.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
    """

    def __init__(
        self,
        head: Head,
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        columns = tuple(feature_columns or ())

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return _linear_model_fn(
                features, labels, mode, head, columns, optimizer, partitioner, config,
                sparse_combiner,
            )  # fmt: skip

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearClassifier(LinearEstimator):
    """A linear model that predicts classes.

    Args:
        feature_columns: The columns of the model.
        model_dir: The folder of checkpoints and summaries.
        n_classes: The number of classes.
        weight_column: The feature that weights the examples.
        label_vocabulary: The names of the classes, if labels are strings.
        optimizer: An optimizer, a function that returns one, or a name.
        config: A ``RunConfig``.
        partitioner: Divides the variables among parameter servers.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        loss_reduction: How the losses of examples become one.
        sparse_combiner: How several categories of an example become one.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            binary_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            feature_columns,
            model_dir,
            optimizer,
            config,
            partitioner,
            sparse_combiner,
            warm_start_from,
        )


class LinearRegressor(LinearEstimator):
    """A linear model that predicts numbers.

    Args:
        feature_columns: The columns of the model.
        model_dir: The folder of checkpoints and summaries.
        label_dimension: The number of values of an example.
        weight_column: The feature that weights the examples.
        optimizer: An optimizer, a function that returns one, or a name.
        config: A ``RunConfig``.
        partitioner: Divides the variables among parameter servers.
        warm_start_from: A checkpoint or ``WarmStartSettings`` with the first values of variables.
        loss_reduction: How the losses of examples become one.
        sparse_combiner: How several categories of an example become one.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            feature_columns,
            model_dir,
            optimizer,
            config,
            partitioner,
            sparse_combiner,
            warm_start_from,
        )
