"""Sorting along an axis, with TopKV2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.array.shape_ops import rank as rank_of
from tfnb.ops.array.shape_ops import shape as shape_of
from tfnb.ops.array.transpose_ops import transpose

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"tf": ["sort", "argsort"]}


def sort(
    values: TensorLike, axis: TensorLike = -1, direction: str = "ASCENDING", name: str | None = None
) -> TensorResult:
    """Return the elements along an axis in order.

    Args:
      values: numbers.
      axis: the axis.
      direction: ASCENDING or DESCENDING.
      name: the name of the ops.
    """
    with name_scope(name, "sort"):
        return _sorted(values, axis, direction, return_argsort=False)


def argsort(
    values: TensorLike,
    axis: TensorLike = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return the indices that put the elements along an axis in order; equal ones keep theirs.

    Args:
      values: numbers.
      axis: the axis.
      direction: ASCENDING or DESCENDING.
      stable: ignored: the order is always stable.
      name: the name of the ops.
    """
    with name_scope(name, "argsort"):
        return _sorted(values, axis, direction, return_argsort=True)


def _sorted(
    values: TensorLike, axis: TensorLike, direction: str, return_argsort: bool
) -> TensorResult:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"Unknown direction: `{direction}`. Direction should be ASCENDING or DESCENDING"
        )
    axis_static = constant_value(convert_to_tensor(axis, name="axis"))
    if axis_static is None or np.ndim(axis_static) != 0:
        raise ValueError(f"Axis {axis} must be a scalar of known value")
    values = convert_to_tensor(values, name="values")
    sort_fn = _descending if direction == "DESCENDING" else _ascending
    return sort_fn(values, int(axis_static), return_argsort)


def _descending(values: TensorLike, axis: int, return_argsort: bool) -> TensorResult:
    """Sort in descending order along the last axis, to which the requested axis is moved first."""
    from tfnb.ops.math.sequence_ops import range_
    from tfnb.ops.nn.top_k_ops import top_k

    k = shape_of(values)[axis]
    rank = rank_of(values)
    static = values.shape.ndims
    if axis == -1 or axis + 1 == static:
        found = top_k(values, k)
        return found[1] if return_argsort else found[0]
    perm: TensorLike
    if static is not None:
        place = axis + static if axis < 0 else axis
        swapped = np.r_[np.arange(place), [static - 1], np.arange(place + 1, static - 1), [place]]
        perm = convert_to_tensor(swapped, name="transposition", dtype=dtypes.int32)
    else:
        place = axis + rank if axis < 0 else axis
        perm = concat([range_(place), [rank - 1], range_(place + 1, rank - 1), [place]], axis=0)
    found = top_k(transpose(values, perm), k)
    # The exchange of two axes is its own inverse.
    result = transpose(found[1] if return_argsort else found[0], perm)
    result.set_shape(values.shape)
    return result


def _ascending(values: TensorLike, axis: int, return_argsort: bool) -> TensorResult:
    dtype = values.dtype
    if dtype.is_unsigned:
        offset = dtype.max
        found = _descending(convert_to_tensor(offset, dtype) - values, axis, return_argsort)
        return found if return_argsort else convert_to_tensor(offset, dtype) - found
    if dtype.is_integer:
        # -x - 1 reverses the order of all integers, where -x would overflow.
        found = _descending(-values - 1, axis, return_argsort)
        return found if return_argsort else -found - 1
    found = _descending(-values, axis, return_argsort)
    return found if return_argsort else -found
