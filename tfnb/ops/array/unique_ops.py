"""Distinct elements: Unique and its variants, and the difference of lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": ["unique:unique_v1", "unique_with_counts:unique_with_counts_v1", "setdiff1d"],
}


# A table of this many numbers, and of these for each element, is faster than sorting.
_TABLE, _TABLE_OF_ELEMENT = 1 << 18, 16
_MAX_INT64 = (1 << 63) - 1


def _by_table(places: Array, size: int) -> tuple[Array, Array, Array]:
    """Do as `_order_of_first` for integers from 0 to `size`; only their places are written."""
    positions = np.arange(len(places))
    table = np.empty(size, np.intp)
    # NumPy keeps the last value written to a place; in reverse order, that is the first position.
    table[places[::-1]] = positions[::-1]
    first = np.flatnonzero(table[places] == positions)
    table[places[first]] = positions[: len(first)]
    inverse = table[places]
    return first, inverse, np.bincount(inverse, minlength=len(first))


def _order_of_first(x: Array) -> tuple[Array, Array, Array]:
    """Return (first positions, inverse, counts) of the distinct elements in order of appearance."""
    if x.dtype == object:
        seen: dict[bytes, int] = {}
        inverse = np.empty(len(x), np.int64)
        first: list[int] = []
        counts: list[int] = []
        for position, value in enumerate(x.tolist()):
            number = seen.setdefault(value, len(seen))
            if number == len(first):
                first.append(position)
                counts.append(0)
            counts[number] += 1
            inverse[position] = number
        return np.array(first, np.int64), inverse, np.array(counts, np.int64)
    if x.dtype.kind in "iu" and len(x):
        low, high = int(x.min()), int(x.max())
        if high - low < max(_TABLE, _TABLE_OF_ELEMENT * len(x)) and high <= _MAX_INT64:
            places = (x.astype(np.int64) - low).astype(np.intp)
            return _by_table(places, high - low + 1)
    # Types that NumPy does not sort are compared as wider ones.
    keys = x.astype(np.float32) if x.dtype.kind not in "biufc" else x
    _, starts, numbers, times = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(starts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return starts[order], rank[numbers.reshape(-1)], times[order]


def _unique(x: Array, axis: Attr, out_idx: DType) -> tuple[Array, Array, Array]:
    place = 0
    if axis is None:
        if x.ndim != 1:
            raise errors.invalid_argument("unique expects a 1D vector.")
    else:
        if axis.ndim != 1:
            raise errors.invalid_argument("axis expects a 1D vector.")
        if axis.shape[0] > 1:
            raise errors.invalid_argument(
                "axis does not support input tensors larger than 1 elements"
            )
        if axis.shape[0] == 0:
            if x.ndim != 1:
                raise errors.invalid_argument("unique expects a 1D vector.")
        else:
            place = int(axis[0])
            if place < 0:
                place += x.ndim
            if not 0 <= place < x.ndim:
                raise errors.invalid_argument(f"axis has to be between [0, {x.ndim})")
    numpy_type = out_idx.numpy_dtype
    if x.ndim == 1:
        first, inverse, counts = _order_of_first(x)
        return x[first], inverse.astype(numpy_type), counts.astype(numpy_type)
    rows = np.moveaxis(x, place, 0)
    flat = rows.reshape(rows.shape[0], math.prod(rows.shape[1:]))
    labels = np.empty(len(flat), object)
    for i, row in enumerate(flat):
        labels[i] = tuple(row.tolist())
    first, inverse, counts = _order_of_first(labels)
    return np.moveaxis(rows[first], 0, place), inverse.astype(numpy_type), counts.astype(numpy_type)


def _unique_shape(c: InferenceContext) -> list[TensorShape]:
    if c.num_outputs == 2:
        c.with_rank(0, 1)
    unknown = TensorShape([None])
    return [unknown, c.inputs[0], unknown][: c.num_outputs]


def _unique_v2_shape(c: InferenceContext) -> list[TensorShape]:
    source = c.inputs[0].dim_values
    unknown = TensorShape([None])
    y = TensorShape(None) if source is None else TensorShape([None] * len(source))
    index = unknown
    axis = c.constant_value(1)
    if axis is not None and axis.ndim != 1:
        raise ValueError("axis expects a 1D vector.")
    if axis is not None and source is not None:
        if axis.size == 0:
            if len(source) != 1:
                raise ValueError("x expects a 1D vector.")
            index = c.inputs[0]
        elif axis.size == 1:
            place = int(axis.reshape(-1)[0])
            if place < 0:
                place += len(source)
            if not 0 <= place < len(source):
                raise ValueError(f"axis expects to be in the range [0, {len(source)})")
            index = TensorShape([source[place]])
        else:
            raise ValueError("axis does not support input tensors larger than 1 elements.")
    return [y, index, unknown][: c.num_outputs]


_INDEX = "out_idx: {int32, int64} = DT_INT32"


@register_op(
    "Unique",
    "x: T -> y: T, idx: out_idx",
    "T: type",
    _INDEX,
    shape=_unique_shape,
    devices=("CPU",),
    traits="rearranges",
)
def unique(xp: Xp, x: Array, *, out_idx: DType) -> Outputs:
    """Return the distinct elements in order of appearance, and for each element its number."""
    return _unique(x, None, out_idx)[:2]


@register_op(
    "UniqueV2",
    "x: T, axis: Taxis -> y: T, idx: out_idx",
    "T: type",
    "Taxis: {int32, int64} = DT_INT64",
    _INDEX,
    shape=_unique_v2_shape,
    devices=("CPU",),
)
def unique_v2(xp: Xp, x: Array, axis: Array, *, out_idx: DType) -> Outputs:
    """Return the distinct slices along an axis in order of appearance."""
    return _unique(x, axis, out_idx)[:2]


@register_op(
    "UniqueWithCounts",
    "x: T -> y: T, idx: out_idx, count: out_idx",
    "T: type",
    _INDEX,
    shape=_unique_shape,
    devices=("CPU",),
    traits="rearranges",
)
def unique_with_counts(xp: Xp, x: Array, *, out_idx: DType) -> Outputs:
    """Return the distinct elements, the number of each element, and how often each occurs."""
    return _unique(x, None, out_idx)


@register_op(
    "UniqueWithCountsV2",
    "x: T, axis: Taxis -> y: T, idx: out_idx, count: out_idx",
    "T: type",
    "Taxis: {int32, int64} = DT_INT64",
    _INDEX,
    shape=_unique_v2_shape,
    devices=("CPU",),
)
def unique_with_counts_v2(xp: Xp, x: Array, axis: Array, *, out_idx: DType) -> Outputs:
    """Return the distinct slices along an axis, and how often each occurs."""
    return _unique(x, axis, out_idx)


def unique_v1(x: TensorLike, out_idx: Any = dtypes.int32, name: str | None = None) -> TensorResult:
    """Return a vector's distinct elements in order of appearance, and each element's number."""
    return unique(x, out_idx=out_idx, name=name)


def unique_with_counts_v1(
    x: TensorLike, out_idx: Any = dtypes.int32, name: str | None = None
) -> TensorResult:
    """Return the results of ``tf.unique``, and how often each distinct element occurs."""
    return unique_with_counts(x, out_idx=out_idx, name=name)


def _list_diff_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 1)
    c.with_rank(1, 1)
    return [TensorShape([None]), TensorShape([None])]


@register_op(
    "ListDiff",
    "x: T, y: T -> out: T, idx: out_idx",
    "T: type",
    _INDEX,
    shape=_list_diff_shape,
    devices=("CPU",),
    traits="rearranges",
)
def list_diff(xp: Xp, x: Array, y: Array, *, out_idx: DType) -> Outputs:
    """Return the elements of a list that are not in another, and their positions."""
    for name, value in (("x", x), ("y", y)):
        if value.ndim != 1:
            raise errors.invalid_argument(
                f"{name} should be a 1D vector."
                + ("" if value.ndim else f" Got shape {shape_text(value.shape)}")
            )
    if x.dtype == object:
        known = set(y.tolist())
        kept = np.array([i for i, v in enumerate(x.tolist()) if v not in known], np.int64)
    else:
        plain = x.dtype.kind in "biufc"
        a, b = (x, y) if plain else (x.astype(np.float32), y.astype(np.float32))
        kept = np.flatnonzero(~np.isin(a, b))
    return x[kept], kept.astype(out_idx.numpy_dtype)


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: Any = dtypes.int32, name: str | None = None
) -> TensorResult:
    """Return the elements of ``x`` that are not in ``y``, and their positions."""
    return list_diff(x, y, out_idx=index_dtype, name=name)
