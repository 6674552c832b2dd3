"""Models that ignore the features: ``tf.estimator.BaselineClassifier`` and its relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.canned.model_parts import check_features
from tfnb.client.estimator.canned.optimizers import optimizer_instance
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.heads.checks import numeric_column
from tfnb.client.estimator.heads.multi_class_head import binary_or_multi_class_head
from tfnb.client.estimator.heads.regression_head import RegressionHead
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.estimator.heads.head import Head
    from tfnb.client.estimator.model_fn import EstimatorSpec

EXPORTS = {"estimator": ["BaselineClassifier", "BaselineEstimator", "BaselineRegressor"]}

_LEARNING_RATE = 0.3


def _logits(features: dict[str, Any], size: int, weight_column: Any) -> Any:
    """Return a bias for each example; running it fails if features differ in length."""
    weight_key = None if weight_column is None else numeric_column(weight_column).key
    counts = [tf.shape(value)[0] for key, value in features.items() if key != weight_key]
    if not counts:
        raise ValueError("features must have an entry, which says how many examples there are.")
    checks = [tf.assert_equal(counts[0], count) for count in counts[1:]]
    with tf.control_dependencies(checks), tf.variable_scope("baseline"):
        bias = tf.get_variable("bias", shape=[size], initializer=tf.zeros_initializer())
        return tf.multiply(bias, tf.ones([counts[0], size]))


class BaselineEstimator(Estimator):
    """A model that predicts the same for every example, with a head of its own.

    Args:
        head: The head.
        model_dir: The folder of checkpoints and summaries.
        optimizer: An optimizer, a function that returns one, or a name.
        config: A ``RunConfig``.
        weight_column: The feature that weights the examples, which is no feature of the model.
    """

    def __init__(
        self,
        head: Head,
        model_dir: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        weight_column: Any = None,
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            check_features(features)

            def train_op_fn(loss: Any) -> Any:
                return optimizer_instance(optimizer, _LEARNING_RATE).minimize(
                    loss, global_step=tf.train.get_global_step()
                )

            return head.create_estimator_spec(
                features=features,
                mode=mode,
                logits=_logits(features, head.logits_dimension, weight_column),
                labels=labels,
                train_op_fn=train_op_fn,
            )

        super().__init__(model_fn, model_dir, config)


class BaselineClassifier(BaselineEstimator):
    """A model that predicts the frequencies of the classes.

    Args:
        model_dir: The folder of checkpoints and summaries.
        n_classes: The number of classes.
        weight_column: The feature that weights the examples.
        label_vocabulary: The names of the classes, if labels are strings.
        optimizer: An optimizer, a function that returns one, or a name.
        config: A ``RunConfig``.
        loss_reduction: How the losses of examples become one.
    """

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = "weighted_sum",
    ) -> None:
        super().__init__(
            binary_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            model_dir,
            optimizer,
            config,
            weight_column,
        )


class BaselineRegressor(BaselineEstimator):
    """A model that predicts the mean of the labels.

    Args:
        model_dir: The folder of checkpoints and summaries.
        label_dimension: The number of values of an example.
        weight_column: The feature that weights the examples.
        optimizer: An optimizer, a function that returns one, or a name.
        config: A ``RunConfig``.
        loss_reduction: How the losses of examples become one.
    """

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = "weighted_sum",
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            model_dir,
            optimizer,
            config,
            weight_column,
        )
