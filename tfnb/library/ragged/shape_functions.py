"""More functions of ``tf`` for ragged tensors: selection, repetition, reversal, splitting.

Loaded when one of these functions is called for the first time; see dispatch.py.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.library.ragged.dispatch import (
    by_segments,
    handles,
    map_flat_values,
    with_tensors_for_values,
)
from tfnb.library.ragged.gather_rows import ragged_gather_rows
from tfnb.library.ragged.ragged_tensor import RaggedTensor
from tfnb.ops.array import array_ops
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.array.data_flow_ops import dynamic_partition
from tfnb.ops.array.gather_ops import gather_nd
from tfnb.ops.array.one_hot_ops import one_hot
from tfnb.ops.array.where_ops import where_v2
from tfnb.ops.math import math_ops
from tfnb.ops.math.histogram_ops import bincount
from tfnb.ops.math.segment_ops import (
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from tfnb.ops.sparse.ragged_ops import ragged_range
from tfnb.ops.sparse.sparse_cross_ops import ragged_cross
from tfnb.ops.strings.string_join_ops import unsorted_segment_join

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


def _rows(value: TensorLike, indices: TensorLike) -> TensorResult:
    """Return rows by index."""
    if isinstance(value, RaggedTensor):
        return ragged_gather_rows(value, math_ops.cast(indices, value.row_splits.dtype))
    return array_ops.gather(value, indices)


def _axis(value: RaggedTensor, axis: TensorLike) -> int:
    place = int(axis)
    if place >= 0:
        return place
    if value.shape.ndims is None:
        raise ValueError("a negative axis needs a ragged tensor of known rank")
    return place + int(value.shape.ndims)


# ---------------------------------------------------------------------------------------- selection


@handles("where", "where_v2", "select")
def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Compute ``tf.where`` of ragged tensors.

    Raises:
      ValueError: only one of x and y is given.
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        return array_ops.where(condition.to_tensor())
    if isinstance(condition, RaggedTensor):
        return map_flat_values(where_v2, condition, x, y)
    condition = convert_to_tensor(condition, dtypes.bool)
    if condition.shape.ndims == 0:
        condition = array_ops.reshape(condition, [1])
    first = x.nrows() if isinstance(x, RaggedTensor) else array_ops.shape(x)[0]
    places = math_ops.range(math_ops.cast(first, dtypes.int64))
    wanted = where_v2(condition, places, places + math_ops.cast(first, dtypes.int64))
    return _rows(concat([x, y], 0), wanted)


@handles("gather_nd")
def _gather_nd(
    params: TensorLike, indices: TensorLike, name: str | None = None, **attrs: Any
) -> TensorResult:
    """Compute ``tf.gather_nd``; indices have a last dimension of one size."""
    if isinstance(indices, RaggedTensor):
        found = _gather_nd(params, indices.flat_values)
        return indices.with_flat_values(found)
    if not isinstance(params, RaggedTensor):
        return gather_nd(params, indices)
    indices = convert_to_tensor(indices)
    depth = indices.shape[-1].value
    if depth is None:
        raise ValueError("indices.shape[-1] must be statically known for ragged params.")
    if depth == 0:
        return params
    row = math_ops.cast(indices[..., 0], params.row_splits.dtype)
    if depth == 1:
        return _rows(params, row)
    inner = math_ops.cast(indices[..., 1], params.row_splits.dtype)
    place = (array_ops.gather(params.row_starts(), row) + inner)[..., None]
    rest = math_ops.cast(indices[..., 2:], place.dtype)
    return _gather_nd(params.values, array_ops.concat([place, rest], -1))


@handles("batch_gather")
def _batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> TensorResult:
    """Compute ``tf.batch_gather``; the last dimension of indices takes values of one row each.

    Raises:
      ValueError: the rank of indices is not known or 0, or they have more dimensions than values.
    """
    params, indices = with_tensors_for_values((params, indices))
    if not isinstance(indices, RaggedTensor):
        indices = convert_to_tensor(indices, preferred_dtype=dtypes.int64)
    if not isinstance(params, RaggedTensor):
        params = convert_to_tensor(params)
    count = indices.shape.ndims
    if count is None:
        raise ValueError("indices.rank must be known statically.")
    if count == 0:
        raise ValueError("indices.rank must be at least 1.")
    if params.shape.ndims is not None and params.shape.ndims < count:
        raise ValueError("batch shape from indices does not match params shape")
    if count == 1:
        return _rows(params, indices)
    kinds = ["ragged" if isinstance(one, RaggedTensor) else "uniform" for one in (params, indices)]
    if count > 2 and kinds[0] != kinds[1]:
        raise ValueError(
            f"batch shape from indices does not match params shape: {kinds[1]} indices dimension "
            f"corresponds to {kinds[0]} params dimension"
        )
    if not isinstance(params, RaggedTensor):
        splits = indices.row_splits.dtype if isinstance(indices, RaggedTensor) else dtypes.int64
        params = RaggedTensor.from_tensor(params, row_splits_dtype=splits)
    splits = params.row_splits.dtype
    if count > 2:
        return indices.with_values(_batch_gather(params.values, indices.values))
    if not isinstance(indices, RaggedTensor):
        places = math_ops.cast(indices, splits) + params.row_starts()[:, None]
        return _rows(params.values, places)
    starts = array_ops.gather(params.row_starts(), indices.value_rowids())
    places = math_ops.cast(indices.values, starts.dtype) + starts
    return indices.with_values(_rows(params.values, places))


@handles("dynamic_partition")
def _dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> Nested:
    """Compute ``tf.dynamic_partition``: by values where partitions are ragged, else by rows."""
    if isinstance(partitions, RaggedTensor):
        flat = data.flat_values if isinstance(data, RaggedTensor) else data
        return dynamic_partition(flat, partitions.flat_values, num_partitions)
    partitions = convert_to_tensor(partitions)
    return [
        _rows(data, array_ops.where(math_ops.equal(partitions, number))[:, 0])
        for number in range(num_partitions)
    ]


# ------------------------------------------------------------------------------ rows in other
# places


def _tiled(value: TensorLike, multiples: list[TensorLike]) -> TensorResult:
    if not isinstance(value, RaggedTensor):
        return array_ops.tile(value, array_ops.stack(multiples))
    dtype = value.row_splits.dtype
    first, second, *others = [math_ops.cast(one, dtype) for one in multiples]
    values = _tiled(value.values, [math_ops.cast(1, dtype), *others])

    def repeated(numbers: TensorLike) -> TensorResult:
        return array_ops.reshape(
            array_ops.tile(numbers[:, None], array_ops.stack([1, second])), [-1]
        )

    _, places = ragged_range(
        repeated(value.row_starts()), repeated(value.row_limits()), math_ops.cast(1, dtype)
    )
    found = RaggedTensor.from_row_lengths(
        _rows(values, places), value.row_lengths() * second, validate=False
    )
    return _rows(found, array_ops.tile(math_ops.range(value.nrows()), [first]))


@handles("tile")
def _tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> TensorResult:
    """Compute ``tf.tile``."""
    count = input.shape.ndims
    if count is None:
        raise ValueError("tf.tile needs a ragged tensor of known rank.")
    multiples = convert_to_tensor(multiples)
    found = _tiled(input, array_ops.unstack(multiples, num=count))
    known, rows = constant_value(multiples), input.shape[0].value
    if known is not None and rows is not None and isinstance(found, RaggedTensor):
        found.row_splits.set_shape([rows * int(known[0]) + 1])
    return found


def _reversed(value: TensorLike, axes: set[int]) -> TensorResult:
    if not axes:
        return value
    if not isinstance(value, RaggedTensor):
        return array_ops.reverse(value, sorted(axes))
    dtype = value.row_splits.dtype
    values = _reversed(value.values, {axis - 1 for axis in axes if axis > 1})
    if 1 in axes:
        one = math_ops.cast(1, dtype)
        _, places = ragged_range(value.row_limits() - one, value.row_starts() - one, -one)
        values = _rows(values, places)
    found = value.with_values(values)
    return _rows(found, math_ops.range(value.nrows())[::-1]) if 0 in axes else found


@handles("reverse", "reverse_v2")
def _reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> TensorResult:
    """Compute ``tf.reverse`` along axes that are known."""
    known = axis if isinstance(axis, list | tuple) else constant_value(convert_to_tensor(axis))
    if known is None:
        raise ValueError("tf.reverse of a ragged tensor needs axes that are constant.")
    return _reversed(tensor, {_axis(tensor, one) for one in np.reshape(known, -1)})


@handles("squeeze")
def _squeeze(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> TensorResult:
    """Compute ``tf.squeeze``; axes must be given.

    Raises:
      ValueError: they are not given.
    """
    axis = squeeze_dims if axis is None else axis
    if axis is None or axis == []:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    found = input
    for one in sorted({_axis(input, one) for one in np.reshape(axis, -1)}, reverse=True):
        found = _without(found, one)
    return found


def _without(value: TensorLike, axis: int) -> TensorResult:
    if not isinstance(value, RaggedTensor):
        return array_ops.squeeze(value, [axis])
    if axis > 1:
        return value.with_values(_without(value.values, axis - 1))
    if axis == 0 and value.shape[0].value not in (None, 1):
        raise ValueError(f"Can not squeeze dimension 0, expected 1, got {value.shape[0]}")
    return value.values


@handles("split", "split_v")
def _split(
    value: TensorLike,
    num_or_size_splits: Any,
    axis: TensorLike = 0,
    num: int | None = None,
    name: str | None = None,
) -> Nested:
    """Compute ``tf.split`` of rows.

    Raises:
      ValueError: the axis is not 0, or the rows cannot be divided evenly.
    """
    if _axis(value, axis) != 0:
        raise ValueError("A ragged tensor can be split along axis 0 only.")
    sizes = num_or_size_splits
    if isinstance(sizes, int | np.integer):
        rows = value.shape[0].value
        if rows is None or rows % sizes:
            raise ValueError(f"{rows} rows cannot be split into {sizes} parts of equal size.")
        sizes = [rows // int(sizes)] * int(sizes)
    ends = np.cumsum([0, *sizes]).tolist()
    return [value[start:end] for start, end in itertools.pairwise(ends)]


@handles("reshape")
def _reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> TensorResult:
    """Compute ``tf.reshape`` to a dense shape."""
    return array_ops.reshape(tensor.flat_values, shape, name=name)


# ---------------------------------------------------------------------------------- single elements


@handles("one_hot")
def _one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Compute ``tf.one_hot`` along a new last axis."""
    if isinstance(axis, int) and axis >= 0 and axis != indices.shape.ndims:
        raise ValueError("axis must be -1 for ragged indices.")
    return map_flat_values(one_hot, indices, depth, on_value, off_value, -1, dtype, name)


@handles("bincount")
def _bincount(arr: Any, *args: Any, **kwargs: Any) -> TensorResult:
    """Compute ``tf.bincount`` of all values."""
    return bincount(arr.flat_values, *args, **kwargs)


def _segments(name: str, dense: Callable[..., Nested]) -> None:
    def aggregate(
        data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
    ) -> TensorResult:
        if not isinstance(data, RaggedTensor):
            raise ValueError(
                "segment_ids.shape must be a prefix of data.shape, but segment_ids is ragged and "
                "data is not."
            )
        if not isinstance(segment_ids, RaggedTensor):
            return by_segments(data, segment_ids, num_segments, dense)
        return dense(data.flat_values, segment_ids.flat_values, num_segments)

    handles(name)(aggregate)


for _dense in (
    unsorted_segment_max, unsorted_segment_mean, unsorted_segment_min, unsorted_segment_prod,
    unsorted_segment_sqrt_n, unsorted_segment_sum,
):  # fmt: skip
    _segments(_dense.__name__, _dense)


# -------------------------------------------------------------------------------------- reductions


@handles("reduce_variance")
def _reduce_variance(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: TensorLike = False,
    name: str | None = None,
) -> TensorResult:
    """Return the mean of the squares minus the square of the mean."""
    mean = math_ops.reduce_mean(input_tensor, axis=axis, keepdims=keepdims)
    squares = math_ops.reduce_mean(math_ops.square(input_tensor), axis=axis, keepdims=keepdims)
    return squares - math_ops.square(mean)


@handles("reduce_std")
def _reduce_std(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: TensorLike = False,
    name: str | None = None,
) -> TensorResult:
    """Return the square root of the variance."""
    return math_ops.sqrt(_reduce_variance(input_tensor, axis, keepdims))


@handles("reduce_logsumexp")
def _reduce_logsumexp(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: Any = False,
    name: str | None = None,
    **old: Any,
) -> TensorResult:
    """Return the logarithm of the sum of exponentials."""
    axis = old.get("reduction_indices") if axis is None else axis
    keep = bool(keepdims or old.get("keep_dims"))
    return math_ops.log(math_ops.reduce_sum(math_ops.exp(input_tensor), axis=axis, keepdims=keep))


@handles("reduce_join")
def _reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keep_dims: Any = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keepdims: Any = None,
) -> TensorResult:
    """Compute ``tf.strings.reduce_join`` of a ragged matrix along one axis.

    Raises:
      ValueError: no axis is given, dimensions are kept, or several dimensions are ragged.
    """
    axis = reduction_indices if axis is None else axis
    if axis is None or keepdims or keep_dims or inputs.ragged_rank != 1:
        raise ValueError(
            "tf.strings.reduce_join of a ragged tensor needs an axis, keepdims=False, and a tensor "
            "with one ragged dimension."
        )
    if _axis(inputs, axis) == 1:
        ids, count = inputs.value_rowids(), inputs.nrows()
    else:
        ids = math_ops.range(inputs.row_splits[-1]) - array_ops.gather(
            inputs.row_starts(), inputs.value_rowids()
        )
        count = inputs.bounding_shape(axis=1)
    return unsorted_segment_join(inputs.values, ids, count, separator=separator)


# ------------------------------------------------------------------------------------------ crosses


def cross_of(inputs: TensorLike, hashed: bool, num_buckets: int, hash_key: int) -> RaggedTensor:
    """Return, per row, all combinations of one value per column.

    Raises:
      ValueError: a column is sparse, or does not have two dimensions.
    """
    order, ragged, dense = "", [], []
    for value in inputs:
        if isinstance(value, RaggedTensor):
            if value.ragged_rank != 1 or value.shape.ndims != 2:
                raise ValueError("tf.ragged.cross only supports inputs with rank=2.")
            ragged.append(value)
        else:
            dense.append(convert_to_tensor(value))
        order += "R" if isinstance(value, RaggedTensor) else "D"

    def usable(tensor: TensorLike) -> TensorResult:
        return math_ops.cast(tensor, dtypes.int64) if tensor.dtype.is_integer else tensor

    values, splits = ragged_cross(
        [usable(one.values) for one in ragged],
        [one.row_splits for one in ragged],
        [], [], [],
        [usable(one) for one in dense],
        input_order=order,
        hashed_output=hashed,
        num_buckets=num_buckets,
        hash_key=hash_key,
        out_values_type=dtypes.int64 if hashed else dtypes.string,
        out_row_splits_type=ragged[0].row_splits.dtype if ragged else dtypes.int64,
    )  # fmt: skip
    return RaggedTensor.from_row_splits(values, splits, validate=False)
