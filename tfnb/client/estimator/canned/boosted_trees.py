"""Boosted trees: ``tf.estimator.BoostedTreesClassifier`` and its relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.canned.model_parts import check_features
from tfnb.client.estimator.canned.tree_ensemble import Growth, TreeEnsemble
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.heads.multi_class_head import (
    MultiClassHead,
    binary_or_multi_class_head,
)
from tfnb.client.estimator.heads.regression_head import RegressionHead
from tfnb.client.estimator.model_fn import ModeKeys
from tfnb.client.public.api import tf
from tfnb.client.training.session_run_hook import SessionRunArgs, SessionRunHook
from tfnb.library.feature_columns.column import Features
from tfnb.library.feature_columns.dense import BucketizedColumn, IndicatorColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.estimator.heads.head import Head
    from tfnb.client.estimator.model_fn import EstimatorSpec
    from tfnb.client.training.session_run_hook import SessionRunContext, SessionRunValues

EXPORTS = {
    "estimator": ["BoostedTreesClassifier", "BoostedTreesEstimator", "BoostedTreesRegressor"],
}

_MEAN = "weighted_sum_over_batch_size"
_PRUNING = ("none", "pre")


class _GrownHook(SessionRunHook):
    """Ends a training when all trees are grown."""

    def __init__(self, finished_trees: Any, num_trees: int) -> None:
        self._finished_trees = finished_trees
        self._num_trees = num_trees

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the number of trees."""
        return SessionRunArgs(self._finished_trees)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Compare it."""
        if run_values.results >= self._num_trees:
            run_context.request_stop()


def _buckets(features: Any, columns: Sequence[Any]) -> tuple[Any, int]:
    """Return the buckets of all features, [batch, features], and the largest number of buckets."""
    made = Features(features)
    found, most = [], 2
    for column in columns:
        if isinstance(column, BucketizedColumn):
            value = tf.cast(made.get(column), tf.int32)
            size = column.source_column.shape[0]
            found.append(tf.reshape(value, [-1, size]))
            most = max(most, len(column.boundaries) + 1)
        else:
            value = column.dense_tensor(made)
            size = column.variable_shape.num_elements()
            found.append(tf.cast(tf.reshape(value, [-1, size]) > 0, tf.int32))
    return tf.concat(found, 1), most


def _checked_columns(columns: Sequence[Any]) -> list[Any]:
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    for one in columns:
        if not isinstance(one, BucketizedColumn | IndicatorColumn):
            raise ValueError(
                "For now, only bucketized_column and indicator_column are supported, given: "
                f"{one}. Numbers: bucketized_column(column, boundaries); categories: "
                "indicator_column(column)."
            )
        if isinstance(one, BucketizedColumn) and len(one.source_column.shape) != 1:
            raise ValueError(f"The numbers of {one.name} must be a vector.")
    return sorted(columns, key=lambda one: str(one.name))


class BoostedTreesEstimator(Estimator):
    """Boosted trees with a head of their own.

    Args:
        feature_columns: Bucketized columns, and indicator columns of categories.
        n_batches_per_layer: How many batches a layer of a tree sees: all examples once, at best.
        head: The head; its loss is of each logit alone, or of classes.
        model_dir: The folder of checkpoints and summaries.
        weight_column: Without effect; the head has it.
        n_trees: The number of trees, after which the training ends.
        max_depth: The number of splits from the root to a leaf.
        learning_rate: The share of a leaf's best value that it gets.
        l1_regularization: Of the values of leaves.
        l2_regularization: Of the values of leaves.
        tree_complexity: What a split must gain, with ``pruning_mode="pre"``.
        min_node_weight: The least sum of second derivatives in a child.
        config: A ``RunConfig``.
        center_bias: Must be False.
        pruning_mode: ``"none"``, or ``"pre"`` to leave out splits that gain nothing.
        quantile_sketch_epsilon: Without effect: buckets are given.

    Raises:
        ValueError: A column is of another kind, or a number is out of range.
        NotImplementedError: A bias is to be centered, or trees to be pruned afterwards.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        n_batches_per_layer: int,
        head: Head,
        model_dir: Any = None,
        weight_column: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: Any = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
    ) -> None:
        columns = _checked_columns(feature_columns)
        for name, value in (
            ("n_trees", n_trees),
            ("max_depth", max_depth),
            ("n_batches_per_layer", n_batches_per_layer),
        ):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, given: {value}")
        if center_bias:
            raise NotImplementedError("center_bias=True: subtract the mean from the labels.")
        if pruning_mode not in _PRUNING:
            raise NotImplementedError(
                f"pruning_mode={pruning_mode!r} is not there: it is one of {_PRUNING}."
            )
        if tree_complexity > 0 and pruning_mode == "none":
            raise ValueError("tree_complexity needs pruning_mode='pre'.")
        growth = Growth(
            learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight,
            pruning_mode == "pre",
        )  # fmt: skip

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            check_features(features)
            with tf.variable_scope("boosted_trees"):
                buckets, most = _buckets(features, columns)
                trees = TreeEnsemble(n_trees, max_depth, head.logits_dimension)
                leaves = trees.leaves(buckets)
                logits = trees.logits(leaves)

            def train_op_fn(loss: Any) -> Any:
                derivatives = _derivatives(head, features, labels, logits)
                with tf.variable_scope("boosted_trees"):
                    train = trees.train_op(
                        buckets, leaves, *derivatives, most, n_batches_per_layer, growth
                    )
                return tf.group(train, tf.assign_add(tf.train.get_global_step(), 1))

            spec = head.create_estimator_spec(
                features=features, mode=mode, labels=labels, logits=logits, train_op_fn=train_op_fn
            )
            if mode != ModeKeys.TRAIN:
                return spec
            hook = _GrownHook(trees.finished_trees, n_trees)
            return spec._replace(training_hooks=[*spec.training_hooks, hook])

        super().__init__(model_fn, model_dir, config)


def _derivatives(head: Head, features: Any, labels: Any, logits: Any) -> tuple[Any, Any]:
    """Return the first and second derivatives of each example's loss by its logits."""
    spec = head.create_loss(features, ModeKeys.TRAIN, logits, labels)
    weights = 1.0 if spec.weights is None else spec.weights
    first = tf.gradients(tf.reduce_sum(spec.unreduced_loss * weights), logits)[0]
    if not isinstance(head, MultiClassHead):
        return first, tf.gradients(first, logits)[0]
    # The loss of an example joins its classes: only the diagonal counts.
    shares = tf.nn.softmax(logits)
    return first, shares * (1 - shares) * weights


class BoostedTreesClassifier(BoostedTreesEstimator):
    """Boosted trees that predict classes.

    Args:
        feature_columns: Bucketized columns, and indicator columns of categories.
        n_batches_per_layer: How many batches a layer of a tree sees.
        model_dir: The folder of checkpoints and summaries.
        n_classes: The number of classes.
        weight_column: The feature that weights the examples.
        label_vocabulary: The names of the classes, if labels are strings.
        n_trees: The number of trees.
        max_depth: The number of splits from the root to a leaf.
        learning_rate: The share of a leaf's best value that it gets.
        l1_regularization: Of the values of leaves.
        l2_regularization: Of the values of leaves.
        tree_complexity: What a split must gain.
        min_node_weight: The least sum of second derivatives in a child.
        config: A ``RunConfig``.
        center_bias: Must be False.
        pruning_mode: ``"none"`` or ``"pre"``.
        quantile_sketch_epsilon: Without effect.
        train_in_memory: Without effect.

    Raises:
        ValueError: A column is of another kind, or a number is out of range.
        NotImplementedError: A bias is to be centered, or trees to be pruned afterwards.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        n_batches_per_layer: int,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: Any = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        head = binary_or_multi_class_head(n_classes, weight_column, label_vocabulary, _MEAN)
        super().__init__(
            feature_columns, n_batches_per_layer, head, model_dir, None, n_trees, max_depth,
            learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight,
            config, center_bias, pruning_mode, quantile_sketch_epsilon,
        )  # fmt: skip


class BoostedTreesRegressor(BoostedTreesEstimator):
    """Boosted trees that predict numbers.

    Args:
        feature_columns: Bucketized columns, and indicator columns of categories.
        n_batches_per_layer: How many batches a layer of a tree sees.
        model_dir: The folder of checkpoints and summaries.
        label_dimension: The number of values of an example.
        weight_column: The feature that weights the examples.
        n_trees: The number of trees.
        max_depth: The number of splits from the root to a leaf.
        learning_rate: The share of a leaf's best value that it gets.
        l1_regularization: Of the values of leaves.
        l2_regularization: Of the values of leaves.
        tree_complexity: What a split must gain.
        min_node_weight: The least sum of second derivatives in a child.
        config: A ``RunConfig``.
        center_bias: Must be False.
        pruning_mode: ``"none"`` or ``"pre"``.
        quantile_sketch_epsilon: Without effect.
        train_in_memory: Without effect.

    Raises:
        ValueError: A column is of another kind, or a number is out of range.
        NotImplementedError: A bias is to be centered, or trees to be pruned afterwards.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        n_batches_per_layer: int,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: Any = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, _MEAN)
        super().__init__(
            feature_columns, n_batches_per_layer, head, model_dir, None, n_trees, max_depth,
            learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight,
            config, center_bias, pruning_mode, quantile_sketch_epsilon,
        )  # fmt: skip
