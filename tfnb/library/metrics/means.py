"""Averages over all batches: ``tf.metrics.mean`` and means of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.scopes import control_dependencies
from tfnb.library.metrics.streaming import matching, metric_variable, published
from tfnb.library.nn.confusion_matrix import confusion_matrix, remove_squeezable_dimensions
from tfnb.library.nn.weights_broadcast_ops import broadcast_weights
from tfnb.library.variables.variable_scope import variable_scope
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.constant_ops import ones, ones_like, zeros_like
from tfnb.ops.array.matrix_diag_ops import diag_part
from tfnb.ops.array.shape_ops import reshape, size
from tfnb.ops.array.where_ops import where
from tfnb.ops.math.comparison_ops import greater, less
from tfnb.ops.math.cwise_binary_ops import maximum, squared_difference
from tfnb.ops.math.math_ops import abs as abs_
from tfnb.ops.math.math_ops import div_no_nan, divide, equal, multiply, not_equal, sqrt, subtract
from tfnb.ops.math.reduction_ops import reduce_mean, reduce_sum
from tfnb.ops.state.state_ops import assign_add, scatter_add

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import (
        CollectionNames,
        Nested,
        TensorLike,
        TensorResult,
        VariableLike,
    )

EXPORTS = {
    "metrics": [
        "accuracy", "mean", "mean_absolute_error", "mean_cosine_distance", "mean_iou",
        "mean_per_class_accuracy", "mean_relative_error", "mean_squared_error", "mean_tensor",
        "percentage_below", "root_mean_squared_error",
    ]
}  # fmt: skip


def _quotient(total: TensorLike, count: TensorLike, name: str | None) -> TensorResult:
    """Return total / count, or 0 before anything was counted."""
    return div_no_nan(total, maximum(count, 0), name=name)


def mean(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted mean of all values.

    Args:
      values: of any shape.
      weights: of rank 0 or that of ``values``, each dimension 1 or that of ``values``; 1 if None.
      metrics_collections: collections to add the value to.
      updates_collections: collections to add the update to.
      name: of the variable scope.

    Returns:
      The value so far, and an update that returns the value after it.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total = metric_variable([], dtypes.float32, name="total")
        count = metric_variable([], dtypes.float32, name="count")
        if weights is None:
            num_values = cast(size(values), dtypes.float32)
        else:
            values, weights = _weighted(values, weights)
            num_values = reduce_sum(weights)
        added = reduce_sum(values), num_values
        found = _averaged(values, (total, count), added)
        return published(*found, metrics_collections, updates_collections)


def _weighted(values: TensorLike, weights: TensorLike) -> tuple[Nested, Nested]:
    """Return values times weights, and the weights in the shape of the values."""
    values, _, weights = matching(values, None, weights)
    weights = broadcast_weights(cast(weights, dtypes.float32), values)
    return multiply(values, weights), weights


def _averaged(
    values: TensorLike, variables: tuple[VariableLike, VariableLike], added: tuple[Any, Any]
) -> tuple[Nested, Nested]:
    """Return the quotient of two sums, and that after an update, which waits for ``values``."""
    total, count = variables
    update_total = assign_add(total, added[0])
    with control_dependencies([values]):
        update_count = assign_add(count, added[1])
    value = _quotient(total, count, "value")
    return value, _quotient(update_total, update_count, "update_op")


def mean_tensor(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the weighted mean of each element over all batches, in the shape of ``values``."""
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total = metric_variable(values.get_shape(), dtypes.float32, name="total_tensor")
        count = metric_variable(values.get_shape(), dtypes.float32, name="count_tensor")
        num_values = ones_like(values)
        if weights is not None:
            values, weights = _weighted(values, weights)
            num_values = multiply(num_values, weights)
        found = _averaged(values, (total, count), (values, num_values))
        return published(*found, metrics_collections, updates_collections)


def accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of predictions that equal labels."""
    predictions, labels, weights = matching(predictions, labels, weights)
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    is_correct = cast(equal(predictions, labels), dtypes.float32)
    return mean(is_correct, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the mean of |predictions - labels|."""
    predictions, labels, weights = matching(predictions, labels, weights)
    error = abs_(predictions - labels)
    name = name or "mean_absolute_error"
    return mean(error, weights, metrics_collections, updates_collections, name)


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the mean of (labels - predictions)**2."""
    predictions, labels, weights = matching(predictions, labels, weights)
    error = squared_difference(labels, predictions)
    name = name or "mean_squared_error"
    return mean(error, weights, metrics_collections, updates_collections, name)


def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the square root of the mean of (labels - predictions)**2."""
    predictions, labels, weights = matching(predictions, labels, weights)
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, name=name)
    return published(sqrt(value), sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(
    labels: TensorLike,
    predictions: TensorLike,
    normalizer: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the mean of |labels - predictions| / normalizer, 0 where the normalizer is 0."""
    predictions, labels, weights = matching(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.get_shape().assert_is_compatible_with(normalizer.get_shape())
    is_zero = equal(normalizer, 0.0)
    error = where(is_zero, zeros_like(labels), divide(abs_(labels - predictions), normalizer))
    name = name or "mean_relative_error"
    return mean(error, weights, metrics_collections, updates_collections, name)


def mean_cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    dim: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return 1 - the mean of sum(predictions * labels) along ``dim``, for vectors of length 1."""
    predictions, labels, weights = matching(predictions, labels, weights)
    product = reduce_sum(multiply(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(product, weights, name=name or "mean_cosine_distance")
    value, update = subtract(1.0, value), subtract(1.0, update)
    return published(value, update, metrics_collections, updates_collections)


def percentage_below(
    values: TensorLike,
    threshold: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the values that are less than a threshold."""
    is_below = cast(less(values, threshold), dtypes.float32)
    name = name or "percentage_below_threshold"
    return mean(is_below, weights, metrics_collections, updates_collections, name)


def _flat(tensor: TensorLike) -> TensorResult:
    return reshape(tensor, [-1]) if tensor.get_shape().ndims > 1 else tensor


def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the mean over the classes of how often a label of the class was predicted.

    Returns:
      The value so far, and an update that returns the accuracy of each class after it.
    """
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = _flat(cast(labels, dtypes.int64))
        predictions = _flat(predictions)
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
        total = metric_variable([num_classes], dtypes.float32, name="total")
        count = metric_variable([num_classes], dtypes.float32, name="count")
        each = ones([size(labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = cast(predictions, labels.dtype)
        is_correct = cast(equal(predictions, labels), dtypes.float32)
        if weights is not None:
            weights = cast(_flat(weights), dtypes.float32)
            is_correct *= weights
            each *= weights
        update_total = scatter_add(total, labels, each)
        update_count = scatter_add(count, labels, is_correct)
        value = reduce_mean(_quotient(count, total, None), name="mean_accuracy")
        update = _quotient(update_count, update_total, "update_op")
        return published(value, update, metrics_collections, updates_collections)


def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the mean over the classes of intersection / union of labels and predictions.

    Returns:
      The value so far, and an update that returns the confusion matrix after it.
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
        shape = [num_classes, num_classes]
        matrix = metric_variable(shape, dtypes.float64, name="total_confusion_matrix")
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        classes = cast(num_classes, dtypes.int64)
        predictions, labels = _flat(predictions), _flat(labels)
        if weights is not None:
            weights = _flat(weights)
        current = confusion_matrix(labels, predictions, classes, dtypes.float64, weights=weights)
        update = assign_add(matrix, current)
        value = _mean_intersection_over_union(matrix)
        return published(value, update, metrics_collections, updates_collections)


def _mean_intersection_over_union(matrix: TensorLike) -> TensorResult:
    """Return the mean over a matrix's classes; classes that never occurred do not count."""
    of_rows = cast(reduce_sum(matrix, 0), dtypes.float32)
    of_columns = cast(reduce_sum(matrix, 1), dtypes.float32)
    intersection = cast(diag_part(matrix), dtypes.float32)
    union = of_rows + of_columns - intersection
    num_classes = reduce_sum(cast(not_equal(union, 0), dtypes.float32))
    union = where(greater(union, 0), union, ones_like(union))
    ratio = divide(intersection, union)
    has_classes = greater(num_classes, 0)
    return where(has_classes, reduce_sum(ratio, name="mean_iou") / num_classes, 0)
