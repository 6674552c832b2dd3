"""Counting: histograms, occurrences of whole numbers, buckets."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.array_module import as_places
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math.cwise_binary_ops import maximum, minimum
from tfnb.ops.math.reduction_ops import reduce_max

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": ["bincount"],
    "math": ["bincount"],
}


def _histogram_shape(c: InferenceContext) -> TensorShape:
    range_dims = c.with_rank(1, 1).dim_values
    c.with_rank(2, 0)
    if range_dims is not None and range_dims[0] not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {range_dims[0]}")
    bins = c.constant_value(2)
    if bins is None:
        return TensorShape([None])
    if bins <= 0:
        raise ValueError(f"Requires nbins > 0: {int(bins)}")
    return TensorShape([int(bins)])


@register_op(
    "HistogramFixedWidth",
    "values: T, value_range: T, nbins: int32 -> out: dtype",
    "T: {int32, int64, float, double}",
    "dtype: {int32, int64} = DT_INT32",
    shape=_histogram_shape,
    host_memory=("value_range", "nbins"),
)
def histogram_fixed_width_op(
    xp: Xp, values: Array, value_range: Array, nbins: Array, *, dtype: DType
) -> Array:
    """Return how many values are in each of nbins equal parts of a range.

    Values outside the range count in the first or last part.
    """
    if value_range.shape != (2,):
        raise errors.invalid_argument(
            f"value_range should be a vector of 2 elements, but got {shape_text(value_range.shape)}"
        )
    low, high = float(value_range[0]), float(value_range[1])
    if not low < high:
        raise errors.invalid_argument(
            "value_range should satisfy value_range[0] < value_range[1], but got "
            f"'[{value_range[0]}, {value_range[1]}]'"
        )
    if nbins.ndim:
        raise errors.invalid_argument(
            f"nbins should be a scalar, but got a tensor with shape {shape_text(nbins.shape)}"
        )
    bins = int(nbins)
    if bins <= 0:
        raise errors.invalid_argument(f"nbins should be a positive number, but got '{bins}'")
    if bins == 1:
        return xp.full(1, values.size, dtype.as_numpy_dtype)  # NaN counts as well
    step = (high - low) / bins
    places = (values.reshape(-1).astype(np.float64) - low) / step
    places = xp.clip(places, 0, bins - 1).astype(np.intp)
    return xp.bincount(places, minlength=bins).astype(dtype.as_numpy_dtype)


def _bincount_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 0)
    size = c.constant_value(1)
    if size is None:
        return TensorShape([None])
    if size < 0:
        raise ValueError(f"size ({int(size)}) must be non-negative")
    return TensorShape([int(size)])


def _counted(xp: Xp, places: Array, size: int, weights: Array, dtype: Attr, binary: bool) -> Array:
    """Return counts, or sums of weights, of the places below `size`."""
    check_fits(xp, (size,), np.dtype(np.int64))
    inside = places < size
    kept = places[inside]
    if binary:
        out = xp.zeros(size, dtype)
        out[kept] = 1
        return out
    if weights is None:
        return xp.bincount(as_places(kept), minlength=size)[:size].astype(dtype)
    total = xp.zeros(size, dtype)
    xp.add.at(total, kept, weights[inside])
    return total


def _refuse_negative(values: Array) -> None:
    if values.size and int(values.min()) < 0:
        raise errors.invalid_argument("Input arr must be non-negative!")


@register_op(
    "Bincount",
    "arr: int32, size: int32, weights: T -> bins: T",
    "T: {int32, int64, float, double}",
    shape=_bincount_shape,
    host_memory=("size",),
)
def bincount_op(xp: Xp, arr: Array, size: Array, weights: Array) -> Array:
    """Return how often each number below size occurs, or the sum of its weights."""
    if size.ndim:
        raise errors.invalid_argument(
            f"size must be a scalar, but got shape: {shape_text(size.shape)}"
        )
    count = int(size)
    if count < 0:
        raise errors.invalid_argument(f"size ({count}) must be non-negative")
    _refuse_negative(arr)
    if weights.size and weights.size != arr.size:
        raise errors.invalid_argument("Input indices and weights must have the same size.")
    flat_weights = weights.reshape(-1) if weights.size else None
    return _counted(xp, arr.reshape(-1), count, flat_weights, weights.dtype, False)


def _dense_bincount_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    if dims is not None and len(dims) > 2:
        raise ValueError(f"Shape must be at most rank 2 but is rank {len(dims)}")
    c.with_rank(1, 0)
    size = c.constant_value(1)
    if size is not None and size < 0:
        raise ValueError(f"size ({int(size)}) must be non-negative")
    if dims is None:
        return UNKNOWN_SHAPE
    return TensorShape([None] * len(dims) if size is None else [*dims[:-1], int(size)])


@register_op(
    "DenseBincount",
    "input: Tidx, size: Tidx, weights: T -> output: T",
    "Tidx: {int32, int64}",
    "T: {int32, int64, float, double}",
    "binary_output: bool = false",
    shape=_dense_bincount_shape,
    host_memory=("size",),
)
def dense_bincount(xp: Xp, x: Array, size: Array, weights: Array, *, binary_output: bool) -> Array:
    """Return how often each number below size occurs, per row."""
    if x.ndim > 2:
        raise errors.invalid_argument(f"Shape must be at most rank 2 but is rank {x.ndim}")
    if size.ndim:
        raise errors.invalid_argument(f"Shape must be rank 0 but is rank {size.ndim}")
    if weights.size and weights.shape != x.shape:
        raise errors.invalid_argument(
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it "
            f"acts as all weights equal to 1. Received {shape_text(weights.shape)}"
        )
    count = int(size)
    if count < 0:
        raise errors.invalid_argument(f"size ({count}) must be non-negative")
    _refuse_negative(x)
    if x.ndim <= 1:
        flat = weights.reshape(-1) if weights.size else None
        return _counted(xp, x.reshape(-1), count, flat, weights.dtype, binary_output)
    rows = [
        _counted(xp, row, count, weights[i] if weights.size else None, weights.dtype, binary_output)
        for i, row in enumerate(x)
    ]
    return xp.stack(rows) if rows else xp.zeros((0, count), weights.dtype)


@register_op(
    "Bucketize",
    "input: T -> output: int32",
    "T: {int32, int64, float, double}",
    "boundaries: list(float)",
    shape=unchanged_shape,
)
def bucketize(xp: Xp, x: Array, *, boundaries: list[float]) -> Array:
    """Return the number of boundaries that are not above each value."""
    if any(a > b for a, b in pairwise(boundaries)):
        raise errors.invalid_argument("Expected sorted boundaries")
    limits = xp.asarray(np.asarray(boundaries, np.float32))
    return xp.searchsorted(limits, x, side="right").astype(np.int32)


# ----------------------------------------------------------------------- functions of Python's side


@dispatchable
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
) -> TensorResult:
    """Return how often each non-negative whole number occurs, or the sum of its weights."""
    with name_scope("bincount"):
        arr = convert_to_tensor(arr, name="arr")
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
        if not arr.dtype.is_integer:
            arr = cast(arr, dtypes.int32)
        nonempty = array_ops.size(arr) > 0
        size = cast(nonempty, arr.dtype) * (reduce_max(arr) + 1)
        if minlength is not None:
            minlength = convert_to_tensor(minlength, name="minlength", dtype=arr.dtype)
            size = maximum(minlength, size)
        if maxlength is not None:
            maxlength = convert_to_tensor(maxlength, name="maxlength", dtype=arr.dtype)
            size = minimum(maxlength, size)
        if weights is not None:
            weights = array_ops.reshape(weights, [-1])
        arr = array_ops.reshape(arr, [-1])
        if weights is None:
            weights = convert_to_tensor(np.zeros(0, dtypes.as_dtype(dtype).as_numpy_dtype))
        return dense_bincount(arr, size, weights)
