"""Counts of right and wrong predictions: true and false positives and negatives."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.scopes import control_dependencies
from tfnb.library.control_flow.check_ops import assert_rank_in, assert_type
from tfnb.library.metrics.streaming import matching, metric_variable, published
from tfnb.library.variables.variable_scope import variable_scope
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import rank
from tfnb.ops.array.where_ops import where
from tfnb.ops.math.comparison_ops import greater, logical_and
from tfnb.ops.math.math_ops import divide, equal, multiply
from tfnb.ops.math.reduction_ops import reduce_sum
from tfnb.ops.state.state_ops import assign_add

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import CollectionNames, TensorLike, TensorResult

EXPORTS = {
    "metrics": [
        "false_negatives", "false_positives", "precision", "recall", "true_negatives",
        "true_positives",
    ]
}  # fmt: skip


def _booleans(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike
) -> tuple[TensorResult, TensorResult, TensorResult]:
    predictions, labels = cast(predictions, dtypes.bool), cast(labels, dtypes.bool)
    return matching(predictions, labels, weights)


def _count(
    scope: str,
    label: bool,
    prediction: bool,
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike,
    metrics_collections: CollectionNames,
    updates_collections: CollectionNames,
    name: str | None,
) -> tuple[TensorResult, TensorResult]:
    """Count the positions where labels and predictions have the given values."""
    with variable_scope(name, scope, (predictions, labels, weights)):
        predictions, labels, weights = _booleans(predictions, labels, weights)
        values = logical_and(equal(labels, label), equal(predictions, prediction))
        assert_type(values, dtypes.bool)
        count = metric_variable([], dtypes.float32, name="count")
        values = cast(values, dtypes.float32)
        if weights is not None:
            with control_dependencies((assert_rank_in(weights, (0, rank(values))),)):
                values = multiply(values, cast(weights, dtypes.float32))
        value = identity(count)
        update = assign_add(count, reduce_sum(values))
        return published(value, update, metrics_collections, updates_collections)


def true_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted number of elements that are true in both."""
    count = partial(_count, "true_positives", True, True)
    return count(labels, predictions, weights, metrics_collections, updates_collections, name)


def true_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted number of elements that are false in both."""
    count = partial(_count, "true_negatives", False, False)
    return count(labels, predictions, weights, metrics_collections, updates_collections, name)


def false_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted number of predictions that are true where the label is false."""
    count = partial(_count, "false_positives", False, True)
    return count(labels, predictions, weights, metrics_collections, updates_collections, name)


def false_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted number of predictions that are false where the label is true."""
    count = partial(_count, "false_negatives", True, False)
    return count(labels, predictions, weights, metrics_collections, updates_collections, name)


def precision(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the true predictions that are right; 0 where there were none."""
    ratio = partial(_ratio, "precision", false_positives)
    return ratio(labels, predictions, weights, metrics_collections, updates_collections, name)


def recall(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the true labels that were predicted; 0 where there were none."""
    ratio = partial(_ratio, "recall", false_negatives)
    return ratio(labels, predictions, weights, metrics_collections, updates_collections, name)


def _ratio(
    scope: str,
    others: Callable[..., tuple[Any, Any]],
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike,
    metrics_collections: CollectionNames,
    updates_collections: CollectionNames,
    name: str | None,
) -> tuple[TensorResult, TensorResult]:
    """Return true positives / (true positives + others)."""
    with variable_scope(name, scope, (predictions, labels, weights)):
        predictions, labels, weights = _booleans(predictions, labels, weights)
        right, update_right = true_positives(labels, predictions, weights)
        wrong, update_wrong = others(labels, predictions, weights)
        value = _part(right, wrong, "value")
        update = _part(update_right, update_wrong, "update_op")
        return published(value, update, metrics_collections, updates_collections)


def _part(right: TensorLike, wrong: Any, name: str) -> TensorResult:
    return where(greater(right + wrong, 0), divide(right, right + wrong), 0, name)
