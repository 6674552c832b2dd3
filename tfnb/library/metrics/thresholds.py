"""Right and wrong predictions at several thresholds, and areas under curves of their ratios.

A prediction is positive at a threshold if it is greater. Counts are vectors, one element for each
threshold.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.scopes import control_dependencies
from tfnb.library.control_flow.check_ops import assert_greater_equal, assert_less_equal
from tfnb.library.metrics.streaming import matching, metric_variable, published
from tfnb.library.nn.weights_broadcast_ops import broadcast_weights
from tfnb.library.variables.variable_scope import variable_scope
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.concat_ops import stack, tile
from tfnb.ops.array.constant_ops import constant, ones_like
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import expand_dims, reshape, shape
from tfnb.ops.array.transpose_ops import transpose
from tfnb.ops.array.where_ops import where
from tfnb.ops.math.comparison_ops import greater, logical_and
from tfnb.ops.math.cwise_binary_ops import maximum, minimum
from tfnb.ops.math.cwise_unary_ops import log, logical_not
from tfnb.ops.math.math_ops import abs as abs_
from tfnb.ops.math.math_ops import div_no_nan, divide, equal, multiply
from tfnb.ops.math.reduction_ops import argmax, argmin, reduce_min, reduce_sum
from tfnb.ops.math.sequence_ops import cumsum
from tfnb.ops.state.state_ops import assign_add

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.framework.tensor_types import CollectionNames, Nested, TensorLike, TensorResult

EXPORTS = {
    "metrics": [
        "auc", "false_negatives_at_thresholds", "false_positives_at_thresholds",
        "precision_at_thresholds", "recall_at_thresholds", "sensitivity_at_specificity",
        "specificity_at_sensitivity", "true_negatives_at_thresholds",
        "true_positives_at_thresholds",
    ]
}  # fmt: skip

_log = logging.getLogger("tensorflow")

_EPSILON = 1e-7

# Outcome -> its variable, whether the label is true, whether the prediction is.
_OUTCOMES = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}

Counts = dict[str, Any]


def counts_at(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    outcomes: Sequence[str] = tuple(_OUTCOMES),
) -> tuple[Counts, Counts]:
    """Return the counts of outcomes so far, and updates that return them after one more batch."""
    message = "predictions must be in [0, 1]"
    checks = [
        assert_greater_equal(predictions, cast(0.0, predictions.dtype), message=message),
        assert_less_equal(predictions, cast(1.0, predictions.dtype), message=message),
    ]
    with control_dependencies(checks):
        predictions, labels, weights = matching(
            cast(predictions, dtypes.float32), cast(labels, dtypes.bool), weights
        )
    num_thresholds = len(thresholds)
    column = reshape(predictions, [-1, 1])
    row = reshape(cast(labels, dtypes.bool), [1, -1])
    num_predictions: Any = column.get_shape().as_list()[0]
    if num_predictions is None:
        num_predictions = shape(column)[0]
    limits = tile(expand_dims(constant(thresholds), [1]), stack([1, num_predictions]))
    positive = greater(tile(transpose(column), [num_thresholds, 1]), limits)
    predicted = {True: positive}
    if "fn" in outcomes or "tn" in outcomes:
        predicted[False] = logical_not(positive)
    labelled = {True: tile(row, [num_thresholds, 1])}
    if "fp" in outcomes or "tn" in outcomes:
        labelled[False] = logical_not(labelled[True])
    weights_tiled = None
    if weights is not None:
        weights = broadcast_weights(cast(weights, dtypes.float32), predictions)
        weights_tiled = tile(reshape(weights, [1, -1]), [num_thresholds, 1])
        limits.get_shape().assert_is_compatible_with(weights_tiled.get_shape())
    values: Counts = {}
    updates: Counts = {}
    for outcome, (name, label, prediction) in _OUTCOMES.items():
        if outcome not in outcomes:
            continue
        count = metric_variable([num_thresholds], dtypes.float32, name=name)
        hits = cast(logical_and(labelled[label], predicted[prediction]), dtypes.float32)
        if weights_tiled is not None:
            hits *= weights_tiled
        updates[outcome] = assign_add(count, reduce_sum(hits, 1))
        values[outcome] = count
    return values, updates


def _outcome_at(
    outcome: str,
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike,
    metrics_collections: CollectionNames,
    updates_collections: CollectionNames,
    name: str | None,
) -> tuple[TensorResult, TensorResult]:
    """Return the counts of one outcome."""
    scope = _OUTCOMES[outcome][0]
    with variable_scope(name, scope, (predictions, labels, weights)):
        values, updates = counts_at(labels, predictions, thresholds, weights, (outcome,))
        value = identity(values[outcome])
        return published(value, updates[outcome], metrics_collections, updates_collections)


def true_positives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted number of positive predictions of true labels, for each threshold."""
    count = partial(_outcome_at, "tp", labels, predictions, thresholds)
    return count(weights, metrics_collections, updates_collections, name)


def true_negatives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted number of negative predictions of false labels, for each threshold."""
    count = partial(_outcome_at, "tn", labels, predictions, thresholds)
    return count(weights, metrics_collections, updates_collections, name)


def false_positives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted number of positive predictions of false labels, for each threshold."""
    count = partial(_outcome_at, "fp", labels, predictions, thresholds)
    return count(weights, metrics_collections, updates_collections, name)


def false_negatives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted number of negative predictions of true labels, for each threshold."""
    count = partial(_outcome_at, "fn", labels, predictions, thresholds)
    return count(weights, metrics_collections, updates_collections, name)


def precision_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the positive predictions that are right, for each threshold."""
    ratio = partial(_ratio_at, "precision", "fp", labels, predictions, thresholds)
    return ratio(weights, metrics_collections, updates_collections, name)


def recall_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the true labels that were predicted, for each threshold."""
    ratio = partial(_ratio_at, "recall", "fn", labels, predictions, thresholds)
    return ratio(weights, metrics_collections, updates_collections, name)


def _ratio_at(
    kind: str,
    other: str,
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike,
    metrics_collections: CollectionNames,
    updates_collections: CollectionNames,
    name: str | None,
) -> tuple[TensorResult, TensorResult]:
    """Return true positives / (true positives + another outcome)."""
    with variable_scope(name, f"{kind}_at_thresholds", (predictions, labels, weights)):
        outcomes = ("tp", other)
        values, updates = counts_at(labels, predictions, thresholds, weights, outcomes)

        def ratio(counts: Counts, name: str) -> TensorResult:
            whole = _EPSILON + counts["tp"] + counts[other]
            return divide(counts["tp"], whole, name=f"{kind}_{name}")

        value, update = ratio(values, "value"), ratio(updates, "update_op")
        return published(value, update, metrics_collections, updates_collections)


# ----------------------------------------------------------------------------- one point of a curve


def _even_thresholds(num_thresholds: int, last: float) -> list[float]:
    """Return thresholds from just below 0 to ``last`` in even steps."""
    inner = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    return [0.0 - _EPSILON, *inner, last]


def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return tp / (tp + fn) at the threshold whose tn / (tn + fp) is closest to ``specificity``.

    Raises:
      ValueError: ``specificity`` is not between 0 and 1.
    """
    _check_part("specificity", specificity)

    def sensitivity(counts: Counts, name: str) -> TensorResult:
        found = divide(counts["tn"], counts["tn"] + counts["fp"] + _EPSILON)
        index = argmin(abs_(found - specificity), 0)
        index = cast(index, dtypes.int32)
        hits = counts["tp"]
        return divide(hits[index], hits[index] + counts["fn"][index] + _EPSILON, name)

    thresholds = _even_thresholds(num_thresholds, 1.0 + _EPSILON)
    point = partial(_point, "sensitivity_at_specificity", sensitivity, thresholds)
    return point(labels, predictions, weights, metrics_collections, updates_collections, name)


def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the specificity at the last threshold whose sensitivity is closest to the given one.

    The specificity is tn / (tn + fp), the sensitivity tp / (tp + fn).

    Raises:
      ValueError: ``sensitivity`` is not between 0 and 1.
    """
    _check_part("sensitivity", sensitivity)

    def specificity(counts: Counts, name: str) -> TensorResult:
        found = divide(counts["tp"], counts["tp"] + counts["fn"] + _EPSILON)
        closest = reduce_min(abs_(found - sensitivity))
        is_closest = equal(abs_(found - sensitivity), closest)
        index = argmax(cumsum(cast(is_closest, dtypes.int64)), 0)
        index = cast(index, dtypes.int32)
        hits = counts["tn"]
        return divide(hits[index], hits[index] + counts["fp"][index] + _EPSILON, name)

    thresholds = _even_thresholds(num_thresholds, 1.0 - _EPSILON)
    point = partial(_point, "specificity_at_sensitivity", specificity, thresholds)
    return point(labels, predictions, weights, metrics_collections, updates_collections, name)


def _check_part(name: str, value: float) -> None:
    if value < 0 or value > 1:
        raise ValueError(f"`{name}` must be in the range [0, 1]. Currently, `{name}` is {value}.")


def _point(
    scope: str,
    compute: Callable[[Counts, str], Nested],
    thresholds: list[float],
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike,
    metrics_collections: CollectionNames,
    updates_collections: CollectionNames,
    name: str | None,
) -> tuple[TensorResult, TensorResult]:
    with variable_scope(name, scope, (predictions, labels, weights)):
        values, updates = counts_at(labels, predictions, thresholds, weights)
        value, update = compute(values, "value"), compute(updates, "update_op")
        return published(value, update, metrics_collections, updates_collections)


# ------------------------------------------------------------------------------- area under a curve


def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the area under a curve, as a sum over thresholds.

    Args:
      labels: booleans, or values that can be cast to bool.
      predictions: between 0 and 1, in the shape of ``labels``.
      weights: of rank 0 or that of ``labels``; 1 if None.
      num_thresholds: the number of points of the curve.
      metrics_collections: collections to add the value to.
      updates_collections: collections to add the update to.
      curve: "ROC": true over false positive rate; "PR": precision over recall.
      name: of the variable scope.
      summation_method: "trapezoidal", "careful_interpolation", "minoring" or "majoring".
      thresholds: the points themselves, between 0 and 1.

    Raises:
      ValueError: the curve or the method is unknown.
    """
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
        if thresholds is None:
            points = _even_thresholds(num_thresholds, 1.0 + _EPSILON)
        else:
            points = [0.0 - _EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
        values, updates = counts_at(labels, predictions, points, weights)
        area = partial(_area, curve, summation_method, len(points))
        value, update = area(values, "value"), area(updates, "update_op")
        return published(value, update, metrics_collections, updates_collections)


def _area(curve: str, method: str, num_thresholds: int, counts: Counts, name: str) -> TensorResult:
    tp, fn, fp = counts["tp"], counts["fn"], counts["fp"]
    if curve == "PR":
        if method == "trapezoidal":
            _log.warning(
                "Trapezoidal rule is known to produce incorrect PR-AUCs; please switch to "
                '"careful_interpolation" instead.'
            )
        elif method == "careful_interpolation":
            return _interpolated_area(tp, fp, fn, num_thresholds)
    epsilon = 1e-6
    recall = divide(tp + epsilon, tp + fn + epsilon)
    if curve == "ROC":
        x, y = divide(fp, fp + counts["tn"] + epsilon), recall
    else:
        x, y = recall, divide(tp + epsilon, tp + fp + epsilon)
    last = num_thresholds - 1
    # The method decides the height of each stripe from those of its sides.
    if method in ("trapezoidal", "careful_interpolation"):
        stripes = multiply(x[:last] - x[1:], (y[:last] + y[1:]) / 2.0)
    elif method == "minoring":
        stripes = multiply(x[:last] - x[1:], minimum(y[:last], y[1:]))
    elif method == "majoring":
        stripes = multiply(x[:last] - x[1:], maximum(y[:last], y[1:]))
    else:
        raise ValueError(
            f"Invalid summation_method: {method} summation_method should be 'trapezoidal', "
            "'careful_interpolation', 'minoring', or 'majoring'."
        )
    return reduce_sum(stripes, name=name)


def _interpolated_area(tp: Any, fp: Any, fn: Any, num_thresholds: int) -> TensorResult:
    """Return the area under the precision-recall curve, interpolated in the true positives.

    With P the positives, between two points TP = slope * P + intercept, so that the integral of
    precision over true positives has a logarithm.
    """
    last = num_thresholds - 1
    gain = tp[:last] - tp[1:]
    positives = tp + fp
    width = maximum(positives[:last] - positives[1:], 0)
    slope = div_no_nan(gain, width, name="prec_slope")
    intercept = tp[1:] - multiply(slope, positives[1:])
    ratio = where(
        logical_and(positives[:last] > 0, positives[1:] > 0),
        div_no_nan(positives[:last], maximum(positives[1:], 0), name="recall_relative_ratio"),
        ones_like(positives[1:]),
    )
    increments = div_no_nan(
        slope * (gain + intercept * log(ratio)),
        maximum(tp[1:] + fn[1:], 0),
        name="pr_auc_increment",
    )
    return reduce_sum(increments, name="interpolate_pr_auc")
