"""Weights that are broadcast to values: each of their dimensions is 1 or that of the values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow.cond import cond
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.array.constant_ops import ones_like
from tfnb.ops.array.shape_ops import expand_dims, rank, shape, size
from tfnb.ops.control.control_flow_ops import no_op
from tfnb.ops.math.math_ops import equal, multiply
from tfnb.ops.sparse.set_ops import set_difference

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

_REFUSAL = "weights can not be broadcast to values."


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> TensorResult:
    """Return an operation that fails if weights do not fit values.

    Raises:
      ValueError: they are known not to fit.
    """
    with name_scope(None, "assert_broadcastable", (weights, values)) as scope:
        weights, weights_shape, weights_rank = _described(weights, "weights")
        values, values_shape, values_rank = _described(values, "values")
        known = constant_value(weights_rank), constant_value(values_rank)
        if None not in known:
            if known[0] == 0:
                return no_op(name="static_scalar_check_success")
            if _check_known_shapes(weights, values, weights_shape, values_shape, known):
                return no_op(name="static_dims_check_success")
        is_scalar = equal(0, weights_rank, name="is_scalar")
        data = (
            *(_REFUSAL, "weights.shape=", weights.name, weights_shape),
            *("values.shape=", values.name, values_shape, "is_scalar=", is_scalar),
        )
        is_valid = cond(
            is_scalar,
            lambda: is_scalar,
            lambda: _fits(weights_rank, weights_shape, values_rank, values_shape),
            name="is_valid_shape",
        )
        return assert_(is_valid, data, name=scope)


def _described(value: TensorLike, name: str) -> tuple[Nested, Nested, Nested]:
    """Return a tensor, its shape and its rank."""
    with name_scope(None, name, (value,)) as scope:
        tensor = convert_to_tensor(value, name=scope)
        return tensor, shape(tensor, name="shape"), rank(tensor, name="rank")


def _check_known_shapes(
    weights: TensorLike,
    values: TensorLike,
    weights_shape: TensorLike,
    values_shape: TensorLike,
    ranks: tuple[TensorLike, TensorLike],
) -> bool:
    """Return whether shapes are known to fit.

    Raises:
      ValueError: they are known not to fit.
    """
    received = f"Received weights={weights}, values={values}"
    if ranks[0] != ranks[1]:
        raise ValueError(
            f"{_REFUSAL} values.rank={ranks[1]}. weights.rank={ranks[0]}. "
            f"values.shape={values.shape}. weights.shape={weights.shape}. {received}"
        )
    of_weights, of_values = constant_value(weights_shape), constant_value(values_shape)
    if of_weights is None or of_values is None:
        return False
    for dim, (weight, value) in enumerate(zip(of_weights, of_values, strict=True)):
        if weight not in (1, value):
            raise ValueError(
                f"{_REFUSAL} Mismatch at dim {dim}. values.shape={of_values}, "
                f"weights.shape={of_weights}. {received}"
            )
    return True


def _fits(
    weights_rank: TensorLike,
    weights_shape: TensorLike,
    values_rank: TensorLike,
    values_shape: TensorLike,
) -> TensorResult:
    """Return whether weights that are not a scalar fit."""
    given = (weights_rank, weights_shape, values_rank, values_shape)
    with name_scope(None, "has_valid_nonscalar_shape", given) as scope:
        is_same_rank = equal(values_rank, weights_rank, name="is_same_rank")
        return cond(
            is_same_rank,
            lambda: _dimensions_fit(weights_shape, values_shape),
            lambda: is_same_rank,
            name=scope,
        )


def _dimensions_fit(weights_shape: TensorLike, values_shape: TensorLike) -> TensorResult:
    """Return whether each dimension is that of the values or 1."""
    with name_scope(None, "has_invalid_dims", (weights_shape, values_shape)) as scope:
        allowed = expand_dims(values_shape, -1)
        allowed = concat((allowed, ones_like(allowed)), axis=1)
        others = set_difference(expand_dims(weights_shape, -1), allowed)
        return equal(0, size(others.values, name="num_invalid_dims"), name=scope)


def broadcast_weights(weights: TensorLike, values: TensorLike) -> TensorResult:
    """Return weights in the shape of values.

    Raises:
      ValueError: they are known not to fit; otherwise the op fails when the graph runs.
    """
    with name_scope(None, "broadcast_weights", (weights, values)) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        shapes = weights.get_shape(), values.get_shape()
        if all(s.is_fully_defined() for s in shapes) and shapes[0].is_compatible_with(shapes[1]):
            return weights
        with control_dependencies((assert_broadcastable(weights, values),)):
            return multiply(weights, ones_like(values), name=scope)
