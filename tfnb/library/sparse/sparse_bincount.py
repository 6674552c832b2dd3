"""``tf.sparse.bincount``: the number of occurrences of each integer, as a sparse tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import CompositeTensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.library.control_flow.check_ops import assert_equal
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.sparse.count_ops import (
    dense_count_sparse_output,
    ragged_count_sparse_output,
    sparse_count_sparse_output,
)

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"sparse": ["bincount"]}


def bincount(
    values: TensorLike,
    weights: Any = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Count each number's occurrences, in all values (axis 0) or in each row (axis -1).

    Args:
      values: integers from 0: a tensor, dense, sparse or ragged.
      weights: the weight of each value, of the same form; 1 if None.
      axis: 0 or -1.
      minlength: the smallest size of the result.
      maxlength: the largest size; larger numbers are ignored.
      binary_output: whether the result is 1 for each number that occurs.
      name: of the scope.

    Raises:
      ValueError: the axis is another one, or the weights have another form.
    """
    with name_scope(name, "count", [values, weights]):
        kind = type(values) if isinstance(values, (SparseTensor, CompositeTensor)) else None
        if kind is None:
            values = convert_to_tensor(values, name="values")
        if weights is not None:
            if kind is not None and not isinstance(weights, kind):
                raise ValueError(_other_kind(weights, kind.__name__))
            if kind is None:
                if isinstance(weights, (SparseTensor, CompositeTensor)):
                    raise ValueError(_other_kind(weights, "Tensor"))
                if binary_output:
                    raise ValueError(
                        "Arguments `binary_output` and `weights` are mutually exclusive"
                    )
                weights = convert_to_tensor(weights, name="weights")
        if axis is None:
            axis = 0
        if axis not in (0, -1):
            raise ValueError(
                f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently "
                "supported."
            )
        attrs = {
            "minlength": -1 if minlength is None else minlength,
            "maxlength": -1 if maxlength is None else maxlength,
            "binary_output": binary_output,
        }
        if axis == 0:
            values, weights, kind = _flat(values), _flat(weights), None
        of_each: TensorResult = array_ops.constant([], values.dtype)
        if isinstance(values, SparseTensor):
            if weights is not None:
                same_shape = assert_equal(
                    weights.dense_shape,
                    values.dense_shape,
                    message="'weights' and 'values' must have the same dense shape.",
                )
                same = assert_equal(
                    weights.indices,
                    values.indices,
                    message="'weights' and 'values' must have the same indices.",
                )
                of_each = with_dependencies([same_shape, same], weights.values)
            found = sparse_count_sparse_output(
                values.indices, values.values, values.dense_shape, of_each, **attrs
            )
        elif isinstance(values, CompositeTensor):
            ragged: TensorLike = values
            if weights is not None:
                same = assert_equal(weights.row_splits, ragged.row_splits)
                of_each = with_dependencies([same], weights.values)
            splits = math_ops.cast(ragged.row_splits, dtypes.int64)
            found = ragged_count_sparse_output(splits, ragged.values, of_each, **attrs)
        else:
            of_each = of_each if weights is None else weights
            found = dense_count_sparse_output(values, of_each, **attrs)
        return SparseTensor(*found)


def _other_kind(weights: Any, kind: str) -> str:
    return (
        f"Argument `weights` must be a tf.{kind} if `values` is a tf.{kind}. Received weights="
        f"{weights} of type: {type(weights).__name__}"
    )


def _flat(value: TensorLike) -> Any:
    """Return all values as one vector."""
    if value is None:
        return None
    if isinstance(value, SparseTensor):
        return value.values
    if isinstance(value, CompositeTensor):
        ragged: TensorLike = value
        return ragged.flat_values
    return array_ops.reshape(value, [-1])
