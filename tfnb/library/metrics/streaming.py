"""The common parts of all metrics: variables, shapes of arguments, collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import add_to_collections
from tfnb.library.nn.confusion_matrix import fit_weights, remove_squeezable_dimensions
from tfnb.library.variables.variables import Variable, VariableAggregation, VariableSynchronization
from tfnb.ops.array.constant_ops import zeros

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import CollectionNames, Nested, TensorLike


def metric_variable(
    shape: TensorLike, dtype: DTypeLike, validate_shape: bool = True, name: str | None = None
) -> Variable:
    """Return a local variable with initial zeros."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def matching(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike
) -> tuple[Nested, Nested, Nested]:
    """Return predictions, labels and optional weights, without a superfluous last dimension."""
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    if weights is not None:
        weights = fit_weights(weights, predictions)
    return predictions, labels, weights


def published(
    value: TensorLike,
    update: TensorLike,
    metrics_collections: CollectionNames,
    updates_collections: CollectionNames,
) -> tuple[Nested, Nested]:
    """Return both tensors of a metric, after adding them to the requested collections."""
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update
