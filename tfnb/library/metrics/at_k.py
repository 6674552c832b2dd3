"""Measures of rankings: precision and recall of the ``k`` classes with the largest predictions.

Labels are class numbers: a SparseTensor, or a tensor with the same number of labels for each
example; those out of range count as never predicted. Every row is a set.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.framework.sparse_tensor import (
    SparseTensor,
    SparseTensorValue,
    convert_to_tensor_or_sparse_tensor,
)
from tfnb.library.control_flow.cond import cond
from tfnb.library.metrics.streaming import metric_variable, published
from tfnb.library.nn.weights_broadcast_ops import assert_broadcastable, broadcast_weights
from tfnb.library.sparse.sparse_functions import sparse_concat, sparse_reshape, sparse_retain
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.concat_ops import concat, tile
from tfnb.ops.array.constant_ops import fill, ones_like, zeros_like
from tfnb.ops.array.shape_ops import expand_dims, rank, reshape, shape, size
from tfnb.ops.array.slice_ops import slice as slice_
from tfnb.ops.array.where_ops import where_v2
from tfnb.ops.math.comparison_ops import greater_equal
from tfnb.ops.math.cwise_binary_ops import minimum
from tfnb.ops.math.math_ops import add, div_no_nan, divide, equal, multiply
from tfnb.ops.math.reduction_ops import reduce_max, reduce_sum, reduced_shape
from tfnb.ops.math.sequence_ops import cumsum
from tfnb.ops.nn.top_k_ops import top_k
from tfnb.ops.sparse.set_ops import set_difference, set_intersection, set_size
from tfnb.ops.state.state_ops import assign_add

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import CollectionNames, Nested, TensorLike, TensorResult

EXPORTS = {
    "metrics": [
        "average_precision_at_k", "precision_at_k", "precision_at_top_k", "recall_at_k",
        "recall_at_top_k", "sparse_average_precision_at_k", "sparse_precision_at_k",
    ]
}  # fmt: skip


def _name_at_k(name: str, k: int | None = None, class_id: int | None = None) -> str:
    name = f"{name}_at_k" if k is None else f"{name}_at_{k:d}"
    return name if class_id is None else f"{name}_class{class_id:d}"


def _with_examples_in_rows(labels: TensorLike, predictions: TensorLike) -> TensorResult:
    """Return labels in the rank of the predictions: one label per example becomes a row."""
    with name_scope(None, "expand_labels", (labels, predictions)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            return cond(
                equal(rank(predictions), size(labels.dense_shape) + 1),
                lambda: sparse_reshape(
                    labels, shape=concat((labels.dense_shape, (1,)), 0), name=scope
                ),
                lambda: labels,
            )
        ranks = labels.get_shape().ndims, predictions.get_shape().ndims
        if None not in ranks:
            if ranks[0] == ranks[1]:
                return labels
            if ranks[0] + 1 == ranks[1]:
                return expand_dims(labels, -1, name=scope)
            raise ValueError(
                f"Unexpected labels shape {labels.get_shape()} for predictions shape "
                f"{predictions.get_shape()}. Predictions rank should be the same rank as labels "
                "rank or labels rank plus one."
            )
        return cond(
            equal(rank(predictions), rank(labels) + 1),
            lambda: expand_dims(labels, -1, name=scope),
            lambda: labels,
        )


def _only_class(ids: TensorLike, class_id: int) -> Any:
    """Return rows of class numbers that keep only the given class, where it occurs."""
    ids = convert_to_tensor_or_sparse_tensor(ids)
    if isinstance(ids, SparseTensor):
        return sparse_retain(ids, equal(ids.values, class_id))
    ids_shape = shape(ids, out_type=dtypes.int64)
    last_dim = size(ids_shape) - 1
    one_each = reduced_shape(ids_shape, reshape(last_dim, [1]))
    wanted = fill(one_each, cast(class_id, dtypes.int64))
    found = set_intersection(wanted, ids)
    return SparseTensor(indices=found.indices, values=found.values, dense_shape=ids_shape)


def _hits(
    outcome: str,
    labels: TensorLike,
    predictions_idx: TensorLike,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return how many classes of each example have an outcome, one of ``metrics.counts``."""
    with name_scope(name, outcome, (predictions_idx, labels, weights)):
        if class_id is not None:
            labels = _only_class(labels, class_id)
            predictions_idx = _only_class(predictions_idx, class_id)
        if outcome == "true_positives":
            found: Any = set_intersection(predictions_idx, labels)
        else:
            is_positive = outcome == "false_positives"
            found = set_difference(predictions_idx, labels, aminusb=is_positive)
        hits = cast(set_size(found), dtypes.float64)
        if weights is not None:
            with control_dependencies((assert_broadcastable(weights, hits),)):
                hits = multiply(hits, cast(weights, dtypes.float64))
        return hits


def _streaming_hits(
    outcome: str,
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None,
    class_id: TensorLike,
    weights: TensorLike,
) -> tuple[Nested, Nested]:
    """Return the count of an outcome so far, and an update."""
    default_name = _name_at_k(outcome.removesuffix("s"), k, class_id)
    with name_scope(None, default_name, (predictions_idx, labels, weights)) as scope:
        hits = _hits(outcome, labels, predictions_idx, class_id, weights)
        in_batch = cast(reduce_sum(hits), dtypes.float64)
        total = metric_variable([], dtypes.float64, name=scope)
        return total, assign_add(total, in_batch, name="update")


def _ratio_at_top_k(
    kind: str,
    other: str,
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None,
    class_id: int | None,
    weights: TensorLike,
    metrics_collections: CollectionNames,
    updates_collections: CollectionNames,
    name: str | None,
) -> tuple[TensorResult, TensorResult]:
    """Return true positives / (true positives + another outcome)."""
    default_name = _name_at_k(kind, k, class_id)
    with name_scope(name, default_name, (predictions_idx, labels, weights)) as scope:
        labels = _with_examples_in_rows(labels, predictions_idx)
        top = cast(predictions_idx, dtypes.int64)
        right, update_right = _streaming_hits("true_positives", labels, top, k, class_id, weights)
        wrong, update_wrong = _streaming_hits(other, labels, top, k, class_id, weights)
        value = divide(right, add(right, wrong), name=scope)
        update = divide(update_right, add(update_right, update_wrong), name="update")
        return published(value, update, metrics_collections, updates_collections)


def precision_at_top_k(
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the predicted classes that are labels.

    Args:
      labels: class numbers, int64, [..., num_labels] or a SparseTensor.
      predictions_idx: the classes predicted, [..., k].
      k: for the name.
      class_id: the only class to count; all if None.
      weights: for each example.
      metrics_collections: collections to add the value to.
      updates_collections: collections to add the update to.
      name: of the scope.
    """
    ratio = partial(_ratio_at_top_k, "precision", "false_positives", labels, predictions_idx)
    return ratio(k, class_id, weights, metrics_collections, updates_collections, name)


def recall_at_top_k(
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the labels that are predicted; see :func:`precision_at_top_k`."""
    ratio = partial(_ratio_at_top_k, "recall", "false_negatives", labels, predictions_idx)
    return ratio(k, class_id, weights, metrics_collections, updates_collections, name)


def precision_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the ``k`` classes with the largest predictions that are labels.

    Args:
      labels: class numbers, int64, [..., num_labels] or a SparseTensor.
      predictions: a number for each class, [..., num_classes].
      k: the number of predicted classes.
      class_id: the only class to count; all if None.
      weights: for each example.
      metrics_collections: collections to add the value to.
      updates_collections: collections to add the update to.
      name: of the scope.
    """
    default_name = _name_at_k("precision", k, class_id)
    with name_scope(name, default_name, (predictions, labels, weights)) as scope:
        _, top = top_k(predictions, k)
        ratio = partial(precision_at_top_k, labels, top, k, class_id, weights)
        return ratio(metrics_collections, updates_collections, scope)


sparse_precision_at_k = precision_at_k


def recall_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the fraction of the labels among the ``k`` classes with the largest predictions.

    Arguments as in :func:`precision_at_k`.
    """
    default_name = _name_at_k("recall", k, class_id)
    with name_scope(name, default_name, (predictions, labels, weights)) as scope:
        _, top = top_k(predictions, k)
        ratio = partial(recall_at_top_k, labels, top, k, class_id, weights)
        return ratio(metrics_collections, updates_collections, scope)


# -------------------------------------------------------------------------------- average precision


def average_precision_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return the mean over the examples of the average precision of the ``k`` best predictions.

    The average precision of an example is sum(precision at i, for each i <= k whose class is a
    label) / min(k, number of labels).

    Raises:
      ValueError: ``k`` is less than 1.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}. `k` should be >= 1.")
    default_name = _name_at_k("average_precision", k)
    with name_scope(name, default_name, (predictions, labels, weights)) as scope:
        _, top = top_k(predictions, k)
        labels = _without_unknown(labels, cast(shape(predictions)[-1], dtypes.int64))
        average = partial(streaming_average_precision, labels, top, weights)
        return average(metrics_collections, updates_collections, scope)


sparse_average_precision_at_k = average_precision_at_k


def _without_unknown(labels: TensorLike, num_classes: TensorLike) -> TensorResult:
    """Return labels with -1 in place of classes that do not exist."""
    is_sparse = isinstance(labels, SparseTensor | SparseTensorValue)

    def cleaned(values: TensorLike) -> TensorResult:
        return where_v2(greater_equal(values, num_classes), -1 * ones_like(values), values)

    def all_cleaned() -> TensorResult:
        if not is_sparse:
            return cleaned(labels)
        return type(labels)(labels.indices, cleaned(labels.values), labels.dense_shape)

    largest = reduce_max(labels.values if is_sparse else labels)
    return cond(greater_equal(largest, num_classes), all_cleaned, lambda: labels)


def streaming_average_precision(
    labels: TensorLike,
    predictions_idx: TensorLike,
    weights: TensorLike,
    metrics_collections: CollectionNames,
    updates_collections: CollectionNames,
    name: str,
) -> tuple[TensorResult, TensorResult]:
    """Return the mean over batches of each example's average precision, and its update."""
    given = (predictions_idx, labels, weights)
    with name_scope(name, "average_precision_at_top_k", given) as scope:
        averages = _average_precision(labels, predictions_idx)
        if weights is not None:
            weights = broadcast_weights(cast(weights, dtypes.float64), averages)
            averages = multiply(averages, weights)
        with name_scope(None, "max", (averages,)) as max_scope:
            count = metric_variable([], dtypes.float64, name=max_scope)
            if weights is None:
                in_batch = cast(size(averages, name="batch_max"), dtypes.float64)
            else:
                in_batch = reduce_sum(weights, name="batch_max")
            update_count = assign_add(count, in_batch, name="update")
        with name_scope(None, "total", (averages,)) as total_scope:
            total = metric_variable([], dtypes.float64, name=total_scope)
            in_batch = reduce_sum(averages, name="batch_total")
            update_total = assign_add(total, in_batch, name="update")
        value = div_no_nan(total, count, name="mean")
        update = div_no_nan(update_total, update_count, name=scope)
        return published(value, update, metrics_collections, updates_collections)


def _average_precision(labels: TensorLike, predictions_idx: TensorLike) -> TensorResult:
    """Return the average precision of each example."""
    with name_scope(None, "average_precision", (predictions_idx, labels)) as scope:
        top = cast(predictions_idx, dtypes.int64, name="predictions_idx")
        if top.get_shape().ndims == 0:
            raise ValueError("The rank of `predictions_idx` must be at least 1.")
        k = top.get_shape().as_list()[-1]
        if k is None:
            raise ValueError(
                "The last dimension of predictions_idx must be set. Currently, it is None."
            )
        labels = _with_examples_in_rows(labels, top)
        top_each = expand_dims(top, -1, name="predictions_idx_per_k")
        labels_each = _repeated(labels, k)
        relevant = _hits("true_positives", labels_each, top_each, name="relevant_per_k")
        right = cumsum(relevant, axis=-1, name="tp_per_k")
        retrieved = cumsum(ones_like(relevant), axis=-1, name="retrieved_per_k")
        precision = divide(
            cast(right, dtypes.float64), cast(retrieved, dtypes.float64), name="precision_per_k"
        )
        counted = multiply(
            precision, cast(relevant, dtypes.float64), name="relevant_precision_per_k"
        )
        total = reduce_sum(counted, axis=(-1,), name="precision_sum")
        num_relevant = cast(_num_relevant(labels, k), dtypes.float64)
        return divide(total, num_relevant, name=scope)


def _repeated(labels: TensorLike, k: int) -> TensorResult:
    """Return labels [..., n] as [..., k, n], with the rows repeated."""
    with name_scope("labels_per_k", "expand_and_tile", (labels, k, -1)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if not isinstance(labels, SparseTensor):
            expanded = expand_dims(labels, -2, name="expand")
            if k == 1:
                return expanded
            each = ones_like(shape(labels))
            multiples = concat((each[:-1], (k,), each[-1:]), 0, name="multiples")
            return tile(expanded, multiples, name=scope)
        at = reshape(size(labels.dense_shape) + -1, [1])
        parts = (slice_(labels.dense_shape, [0], at), [1], slice_(labels.dense_shape, at, [-1]))
        expanded_shape = concat(parts, 0, name="expanded_shape")
        rows = sparse_reshape(labels, shape=expanded_shape, name="expand")
        return rows if k == 1 else sparse_concat(-2, [rows] * k, name=scope)


def _num_relevant(labels: TensorLike, k: int) -> TensorResult:
    """Return the number of labels of each example, ``k`` at most."""
    with name_scope(None, "num_relevant", (labels,)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            return minimum(set_size(labels), k, name=scope)
        is_class = where_v2(greater_equal(labels, 0), ones_like(labels), zeros_like(labels))
        return minimum(reduce_sum(is_class, axis=-1), k, name=scope)
