"""``tf.confusion_matrix``, and adjustments of the ranks of labels, predictions and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.check_ops import assert_less, assert_non_negative
from tfnb.library.control_flow.cond import cond
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.concat_ops import stack
from tfnb.ops.array.constant_ops import ones_like
from tfnb.ops.array.scatter_nd_ops import scatter_nd
from tfnb.ops.array.shape_ops import expand_dims, rank, squeeze
from tfnb.ops.math.cwise_binary_ops import maximum
from tfnb.ops.math.math_ops import equal
from tfnb.ops.math.reduction_ops import reduce_max

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"tf": ["confusion_matrix"], "math": ["confusion_matrix"]}


def remove_squeezable_dimensions(
    labels: TensorLike,
    predictions: TensorLike,
    expected_rank_diff: int = 0,
    name: str | None = None,
) -> tuple[Nested, Nested]:
    """Return labels and predictions without a last dimension of 1 that only one of them has.

    Args:
      labels: a tensor.
      predictions: a tensor.
      expected_rank_diff: the rank of ``predictions`` minus that of ``labels`` in the result.
      name: of the scope.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        ranks = predictions.get_shape().ndims, labels.get_shape().ndims
        if ranks[0] is not None and ranks[1] is not None:
            surplus = ranks[0] - ranks[1] - expected_rank_diff
            if surplus == 1 and _may_end_with_one(predictions):
                predictions = squeeze(predictions, [-1])
            elif surplus == -1 and _may_end_with_one(labels):
                labels = squeeze(labels, [-1])
            return labels, predictions
        rank_diff = rank(predictions) - rank(labels)
        if _may_end_with_one(predictions):
            predictions = _squeezed_if(equal(expected_rank_diff + 1, rank_diff), predictions)
        if _may_end_with_one(labels):
            labels = _squeezed_if(equal(expected_rank_diff - 1, rank_diff), labels)
        return labels, predictions


def _may_end_with_one(tensor: TensorLike) -> bool:
    found = tensor.get_shape()
    return found.ndims is None or found.dims[-1].is_compatible_with(1)


def _squeezed_if(condition: TensorLike, tensor: TensorLike) -> TensorResult:
    return cond(condition, lambda: squeeze(tensor, [-1]), lambda: tensor)


def fit_weights(weights: TensorLike, values: TensorLike, *, expand: bool = True) -> TensorResult:
    """Return weights of the values' rank, where a last dimension of 1 makes the difference.

    Args:
      weights: a tensor.
      values: the values to weight.
      expand: whether a last dimension may also be added; scalars are then returned unchanged.
    """
    weights = convert_to_tensor(weights)
    weights_rank, values_rank = weights.get_shape().ndims, values.get_shape().ndims
    if expand and weights_rank == 0:
        return weights
    if weights_rank is not None and values_rank is not None:
        if weights_rank - values_rank == 1:
            return squeeze(weights, [-1])
        if expand and values_rank - weights_rank == 1:
            return expand_dims(weights, [-1])
        return weights
    if not expand:
        rank_diff = rank(weights) - rank(values)
        if weights_rank == 0 or not _may_end_with_one(weights):
            return weights
        return _squeezed_if(equal(1, rank_diff), weights)
    return _fitted_in_the_step(weights, values)


def _fitted_in_the_step(weights: TensorLike, values: TensorLike) -> TensorResult:
    """Return the weights of :func:`fit_weights` where ranks are unknown."""
    weights_rank = rank(weights)
    rank_diff = weights_rank - rank(values)
    may_squeeze = _may_end_with_one(weights)

    def expanded() -> TensorResult:
        return cond(equal(rank_diff, -1), lambda: expand_dims(weights, [-1]), lambda: weights)

    def adjusted() -> TensorResult:
        return cond(
            equal(rank_diff, 1),
            lambda: squeeze(weights, [-1]) if may_squeeze else weights,
            expanded,
        )

    return cond(equal(weights_rank, 0), lambda: weights, adjusted)


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> TensorResult:
    """Return the number of labels i that were predicted as j, in row i and column j.

    Args:
      labels: classes, a vector of integers from 0.
      predictions: classes, a vector of integers from 0.
      num_classes: the number of classes; by default the largest given class plus one.
      dtype: of the result.
      name: of the scope.
      weights: the weight of each entry; 1 if None.

    Returns:
      A matrix [num_classes, num_classes]; it fails for classes out of range.
    """
    given = (predictions, labels, num_classes, weights)
    with name_scope(name, "confusion_matrix", given):
        labels, predictions = remove_squeezable_dimensions(
            convert_to_tensor(labels, name="labels"),
            convert_to_tensor(predictions, name="predictions"),
        )
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        labels = _not_negative(labels, "labels")
        predictions = _not_negative(predictions, "predictions")
        if num_classes is None:
            num_classes = maximum(reduce_max(predictions), reduce_max(labels)) + 1
        else:
            limit = cast(num_classes, dtypes.int64)
            labels = _less(labels, limit, "labels")
            predictions = _less(predictions, limit, "predictions")
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.get_shape().assert_is_compatible_with(weights.get_shape())
            weights = cast(weights, dtype)
        shape = stack([num_classes, num_classes])
        indices = stack([labels, predictions], axis=1)
        updates = ones_like(predictions, dtype) if weights is None else weights
        return scatter_nd(indices, updates, cast(shape, dtypes.int64))


def _not_negative(tensor: TensorLike, what: str) -> TensorResult:
    message = f"`{what}` contains negative values"
    return with_dependencies([assert_non_negative(tensor, message=message)], tensor)


def _less(tensor: TensorLike, limit: TensorLike, what: str) -> TensorResult:
    message = f"`{what}` out of bound"
    return with_dependencies([assert_less(tensor, limit, message=message)], tensor)
