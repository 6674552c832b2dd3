"""Positions in sorted rows: LowerBound, UpperBound, searchsorted."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.ops.array.shape_ops import reshape, shape_internal
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.core.shape_inference import (
        InferenceContext,
    )
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {
    "tf": [
        "searchsorted",
    ],
}


def _bound_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 2)
    c.with_rank(1, 2)
    return c.inputs[1]


def _search(xp: Xp, sorted_inputs: Array, values: Array, out_type: Attr, side: str) -> Array:
    if sorted_inputs.ndim != 2 or values.ndim != 2:
        raise errors.invalid_argument(
            f"sorted input argument must be a matrix: {shape_text(sorted_inputs.shape)}, values: "
            f"{shape_text(values.shape)}"
        )
    if sorted_inputs.shape[0] != values.shape[0]:
        raise errors.invalid_argument("Leading dim_size of both tensors must match.")
    out = xp.empty(values.shape, out_type.numpy_dtype)
    has_nan = any(x.dtype.kind not in "OSUbiu" and (x != x).any() for x in (sorted_inputs, values))
    if has_nan and out.size and sorted_inputs.size:
        out[...] = _bisect(xp, sorted_inputs, values, side)
        return out
    for row in builtins.range(values.shape[0]):
        out[row] = xp.searchsorted(sorted_inputs[row], values[row], side=side)
    return out


def _bisect(xp: Xp, rows: Array, values: Array, side: str) -> Array:
    """Bisect the rows with the steps of C++, because they determine the result for NaN."""
    low, left = xp.zeros(values.shape, int), xp.full(values.shape, rows.shape[1])
    while left.any():
        half = left // 2
        middle = xp.take_along_axis(rows, xp.minimum(low + half, rows.shape[1] - 1), 1)
        goes = (left > 0) & (middle < values if side == "left" else ~(values < middle))
        low = xp.where(goes, low + half + 1, low)
        left = xp.where(goes, left - half - 1, half)
    return low


_BOUND = (
    "sorted_inputs: T, values: T -> output: out_type",
    "T: type",
    "out_type: {int32, int64} = DT_INT32",
)


@register_op("LowerBound", *_BOUND, shape=_bound_shape)
def lower_bound(xp: Xp, sorted_inputs: Array, values: Array, *, out_type: DType) -> Array:
    """Return the position for each value in its sorted row, before equal elements."""
    return _search(xp, sorted_inputs, values, out_type, "left")


@register_op("UpperBound", *_BOUND, shape=_bound_shape)
def upper_bound(xp: Xp, sorted_inputs: Array, values: Array, *, out_type: DType) -> Array:
    """Return the position for each value in its sorted row, after equal elements."""
    return _search(xp, sorted_inputs, values, out_type, "right")


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return the positions for values in sorted rows.

    Args:
      sorted_sequence: rows in increasing order.
      values: as many rows.
      side: "left" for positions before equal elements, "right" for those after them.
      out_type: int32 or int64.
      name: the name of the op.
    """
    sequence_size = shape_internal(sorted_sequence)[-1]
    values_size = shape_internal(values)[-1]
    rows = reshape(sorted_sequence, [-1, sequence_size])
    wanted = reshape(values, [-1, values_size])
    if side not in ("left", "right"):
        raise ValueError(
            f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'."
        )
    bound = upper_bound if side == "right" else lower_bound
    found = bound(rows, wanted, out_type=out_type, name=name)
    return reshape(found, shape_internal(values))
