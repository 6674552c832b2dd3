"""Gradients that touch only some rows: dense values as IndexedSlices, and sums of IndexedSlices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor_types import TensorLike


def as_indexed_slices(value: TensorLike, optimize: bool = True) -> IndexedSlices:
    """Return a tensor as the slices at all of its indices; IndexedSlices unchanged.

    Args:
      value: a tensor or IndexedSlices.
      optimize: whether a shape that is known becomes a constant.

    Raises:
      TypeError: ``value`` is neither.
    """
    from tfnb.ops.array.shape_ops import shape_internal
    from tfnb.ops.math.sequence_ops import range_

    if isinstance(value, IndexedSlices):
        return value
    if not isinstance(value, Tensor):
        raise TypeError(f"Not a Tensor or IndexedSlices: {type(value)}.")
    shape: TensorLike = shape_internal(value, optimize=optimize)
    return IndexedSlices(value, range_(0, shape[0]), shape)


def as_indexed_slices_list(
    values: Sequence[TensorLike], optimize: bool = True
) -> list[IndexedSlices]:
    """Return :func:`as_indexed_slices` of each value, with indices of one type.

    Raises:
      TypeError: ``values`` is no list or tuple, or contains other values.
    """
    from tfnb.ops.array.cast_ops import cast

    if not isinstance(values, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not {type(values)}.")
    slices = [as_indexed_slices(value, optimize) for value in values]
    if len({one.indices.dtype for one in slices}) == 1:
        return slices
    return [
        IndexedSlices(one.values, cast(one.indices, dtypes.int64), one.dense_shape)
        if one.indices.dtype is dtypes.int32
        else one
        for one in slices
    ]


def aggregate_indexed_slices(grads: Sequence[TensorLike]) -> Any:
    """Return the sum of IndexedSlices and tensors; as IndexedSlices if all of them are."""
    from tfnb.ops.array.concat_ops import concat
    from tfnb.ops.math.math_ops import add_n

    if len(grads) < 2:
        return grads[0] if grads else None
    present = [grad for grad in grads if grad is not None]
    if any(isinstance(grad, Tensor) for grad in present):
        return add_n(present)
    slices = [_flattened(one) for one in as_indexed_slices_list(present)]
    return IndexedSlices(
        concat([one.values for one in slices], axis=0),
        concat([one.indices for one in slices], axis=0),
        slices[0].dense_shape,
    )


def _flattened(slices: IndexedSlices) -> IndexedSlices:
    """Return IndexedSlices whose values are IndexedSlices as one level of IndexedSlices."""
    from tfnb.ops.array.array_ops import gather

    inner: TensorLike = slices.values
    if isinstance(inner, Tensor):
        return slices
    inner = _flattened(inner)
    return IndexedSlices(inner.values, gather(slices.indices, inner.indices), inner.dense_shape)
