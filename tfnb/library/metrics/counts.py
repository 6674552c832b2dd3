"""How often predictions were right and wrong: true and false positives and negatives."""

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

EXPORTS = {
    "metrics": [
        "false_negatives", "false_positives", "precision", "recall", "true_negatives",
        "true_positives",
    ]
}  # fmt: skip


def _booleans(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    predictions, labels = cast(predictions, dtypes.bool), cast(labels, dtypes.bool)
    return matching(predictions, labels, weights)


def _count(
    scope: str,
    label: bool,
    prediction: bool,
    labels: Any,
    predictions: Any,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> tuple[Any, Any]:
    """Counts where labels and predictions have the given values."""
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
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The weighted number of elements that are true in both."""
    count = partial(_count, "true_positives", True, True)
    return count(labels, predictions, weights, metrics_collections, updates_collections, name)


def true_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The weighted number of elements that are false in both."""
    count = partial(_count, "true_negatives", False, False)
    return count(labels, predictions, weights, metrics_collections, updates_collections, name)


def false_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The weighted number of predictions that are true where the label is false."""
    count = partial(_count, "false_positives", False, True)
    return count(labels, predictions, weights, metrics_collections, updates_collections, name)


def false_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The weighted number of predictions that are false where the label is true."""
    count = partial(_count, "false_negatives", True, False)
    return count(labels, predictions, weights, metrics_collections, updates_collections, name)


def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The part of the true predictions that is right; 0 where there were none."""
    ratio = partial(_ratio, "precision", false_positives)
    return ratio(labels, predictions, weights, metrics_collections, updates_collections, name)


def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The part of the true labels that was predicted; 0 where there were none."""
    ratio = partial(_ratio, "recall", false_negatives)
    return ratio(labels, predictions, weights, metrics_collections, updates_collections, name)


def _ratio(
    scope: str,
    others: Callable[..., tuple[Any, Any]],
    labels: Any,
    predictions: Any,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> tuple[Any, Any]:
    """True positives / (true positives + others)."""
    with variable_scope(name, scope, (predictions, labels, weights)):
        predictions, labels, weights = _booleans(predictions, labels, weights)
        right, update_right = true_positives(labels, predictions, weights)
        wrong, update_wrong = others(labels, predictions, weights)
        value = _part(right, wrong, "value")
        update = _part(update_right, update_wrong, "update_op")
        return published(value, update, metrics_collections, updates_collections)


def _part(right: Any, wrong: Any, name: str) -> Any:
    return where(greater(right + wrong, 0), divide(right, right + wrong), 0, name)
