"""``tf.ragged``: ragged constants, placeholders, ranges, and other ways to make ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.ragged import dispatch
from tfnb.library.ragged.ragged_tensor import (
    RaggedTensor,
    RaggedTensorValue,
    splits_of_lengths,
)
from tfnb.ops.array import array_ops
from tfnb.ops.array.constant_ops import constant as dense_constant
from tfnb.ops.array.constant_ops import placeholder as dense_placeholder
from tfnb.ops.array.data_flow_ops import dynamic_partition
from tfnb.ops.math import math_ops
from tfnb.ops.math.histogram_ops import bincount
from tfnb.ops.sparse.ragged_ops import ragged_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "ragged": [
        "boolean_mask", "constant", "constant_value", "cross", "cross_hashed", "map_flat_values",
        "placeholder",
        "range:range_", "segment_ids_to_row_splits", "stack",
        "stack_dynamic_partitions",
    ]
}  # fmt: skip

map_flat_values = dispatch.map_flat_values
boolean_mask = dispatch.boolean_mask


def constant(
    pylist: TensorLike,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: TensorLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> TensorResult:
    """Return a ragged tensor of nested lists, ``[[1, 2], [], [3]]``.

    Args:
      pylist: the lists; a tensor if they are not nested.
      dtype: of the values.
      ragged_rank: the number of ragged dimensions; if None, all but the innermost, or all but
        those in ``inner_shape``.
      inner_shape: the shape of the values of the innermost rows.
      name: of the scope.
      row_splits_dtype: of the splits.

    Raises:
      ValueError: the depths of lists differ, or their shapes are not those required.
    """
    with name_scope(name, "RaggedConstant"):
        splits_dtype = dtypes.as_dtype(row_splits_dtype)

        def make(values: TensorLike, wanted: Any, shape: TensorLike) -> TensorResult:
            return dense_constant(values, dtype=wanted, shape=shape)

        return _nested(
            pylist,
            dtype,
            ragged_rank,
            inner_shape,
            make,
            lambda values, splits: RaggedTensor.of_splits(
                values, dense_constant(splits, dtype=splits_dtype)
            ),
        )


def constant_value(
    pylist: TensorLike,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: TensorLike | None = None,
    row_splits_dtype: DTypeLike = "int64",
) -> TensorResult:
    """Return the fetched value of :func:`constant`; same arguments, with NumPy's types."""
    splits_dtype = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype

    def make(values: TensorLike, wanted: Any, shape: TensorLike) -> Any:
        array = np.array(values, dtype=wanted)
        return array if shape is None else array.reshape(shape)

    wanted = dtype.as_numpy_dtype if isinstance(dtype, dtypes.DType) else dtype
    return _nested(
        pylist,
        wanted,
        ragged_rank,
        inner_shape,
        make,
        lambda values, splits: RaggedTensorValue(values, np.array(splits, dtype=splits_dtype)),
    )


def _is_list(value: TensorLike) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _depth(value: TensorLike) -> tuple[int | None, int]:
    """Return (depth of scalars, or None if there are none; depth of lists)."""
    if not _is_list(value):
        return 0, 0
    scalar: int | None = None
    depth = 1
    for member in value:
        inner, below = _depth(member)
        depth = max(depth, below + 1)
        if inner is not None:
            if scalar is not None and scalar != inner + 1:
                raise ValueError("all scalar values must have the same nesting depth")
            scalar = inner + 1
    return scalar, depth


def _shape_of(value: TensorLike) -> tuple[int, ...]:
    if not _is_list(value):
        return ()
    return (len(value), *(_shape_of(value[0]) if len(value) else ()))


def _inner_shape(pylist: TensorLike, ragged_rank: int) -> tuple[int, ...]:
    """Return the shape of the values of the innermost rows.

    Raises:
      ValueError: there are too few lists in each other, or the values have different shapes.
    """
    values = pylist
    for depth in range(1, ragged_rank + 1):
        if not all(_is_list(value) for value in values):
            raise ValueError(
                f"pylist has scalar values depth {depth}, but ragged_rank={ragged_rank} requires "
                f"scalar value depth greater than {ragged_rank}"
            )
        values = [member for row in values for member in row]
    shape = _shape_of(values[0]) if values else ()
    if not all(_is_of_shape(value, shape) for value in values):
        raise ValueError("inner values have inconsistent shape")
    return shape


def _is_of_shape(value: TensorLike, shape: tuple[int, ...]) -> bool:
    if not shape or not _is_list(value):
        return not shape and not _is_list(value)
    return len(value) == shape[0] and all(_is_of_shape(one, shape[1:]) for one in value)


def _nested(
    pylist: TensorLike,
    dtype: Any,
    ragged_rank: int | None,
    inner_shape: TensorLike,
    make: Callable[..., Nested],
    join: Any,
) -> TensorResult:
    if hasattr(pylist, "op"):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank}"
            )
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return make(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    scalar, depth = _depth(pylist)
    if scalar is not None:
        if depth > scalar:
            raise ValueError(
                f"Invalid pylist={pylist}: empty list nesting is greater than scalar value nesting"
            )
        depth = scalar
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + 1 + len(inner_shape)
        if (scalar is not None and expected != scalar) or (scalar is None and expected < depth):
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    if ragged_rank is None:
        ragged_rank = max(depth - 1 - len(inner_shape or ()), 0)
        if not ragged_rank:
            return make(pylist, dtype, inner_shape)
        inner_shape = inner_shape or ()
    elif not ragged_rank:
        return make(pylist, dtype, inner_shape)
    if inner_shape is None:
        inner_shape = _inner_shape(pylist, ragged_rank)
    values, all_splits = list(pylist), []
    for _ in range(ragged_rank):
        splits = [0]
        for row in values:
            splits.append(splits[-1] + len(row))
        values = [member for row in values for member in row]
        all_splits.append(splits)
    found = make(values, dtype, (len(values), *inner_shape))
    for splits in reversed(all_splits):
        found = join(found, splits)
    return found


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: TensorLike | None = None, name: str | None = None
) -> TensorResult:
    """Return a ragged tensor that must be fed, with a ``RaggedTensorValue``.

    Args:
      dtype: of the values.
      ragged_rank: the number of ragged dimensions.
      value_shape: the shape of each innermost value.
      name: of the scope.
    """
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder", []):
        shape = None if value_shape is None else [None, *value_shape]
        found: TensorResult = dense_placeholder(dtype, shape, "flat_values")
        for index in reversed(range(ragged_rank)):
            splits = dense_placeholder(dtypes.int64, [None], f"row_splits_{index}")
            found = RaggedTensor.of_splits(found, splits)
        return found


def range_(
    starts: Any,
    limits: TensorLike | None = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:
    """Return rows of numbers: row i counts from ``starts[i]`` to before ``limits[i]``.

    Args:
      starts: the first number of each row; without ``limits``, the limits of rows from 0.
      limits: the ends of the rows, exclusive.
      deltas: the difference between two numbers.
      dtype: of the numbers.
      name: of the scope.
      row_splits_dtype: of the splits.
    """
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]):
        parts = [
            convert_to_tensor(one, dtype=dtype, name=title)
            for one, title in ((starts, "starts"), (limits, "limits"), (deltas, "deltas"))
        ]
        if dtype is None:
            order = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)
            widest = max((one.dtype for one in parts), key=order.index)
            parts = [math_ops.cast(one, widest) for one in parts]
        found = ragged_range(*parts, Tsplits=dtypes.as_dtype(row_splits_dtype))
        return RaggedTensor.of_splits(found[1], found[0])


def segment_ids_to_row_splits(
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return the row splits for the row number of each value.

    Args:
      segment_ids: the rows, ascending.
      num_segments: the number of rows; if None, up to the last one with a value.
      out_type: of the result; int64 if None.
      name: of the scope.
    """
    with name_scope(name, "SegmentIdsToRaggedSplits"):
        ids = convert_to_tensor(segment_ids, preferred_dtype=dtypes.int64, name="segment_ids")
        if ids.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"segment_ids must be an integer tensor, not {ids.dtype}")
        dtype = ids.dtype if out_type is None else dtypes.as_dtype(out_type)
        ids = math_ops.cast(ids, dtypes.int32)
        ids.shape.assert_has_rank(1)
        if num_segments is None:
            lengths = bincount(ids, dtype=dtype)
        else:
            count = math_ops.cast(convert_to_tensor(num_segments), dtypes.int32)
            lengths = bincount(ids, minlength=count, maxlength=count, dtype=dtype)
        return splits_of_lengths(lengths)


def stack(values: TensorLike, axis: int = 0, name: str | None = None) -> TensorResult:
    """Stack tensors of one rank along a new axis, whatever the lengths of their rows.

    Args:
      values: ragged tensors, tensors, or lists.
      axis: the position of the new axis.
      name: of the scope.
    """
    values = dispatch.with_tensors_for_values(list(values))
    values = [one if isinstance(one, RaggedTensor) else convert_to_tensor(one) for one in values]
    if axis == 0 and all(one.shape.ndims == 1 for one in values):  # of different lengths
        with name_scope(name, "RaggedConcat", values):
            lengths = array_ops.stack([array_ops.shape(one)[0] for one in values])
            return RaggedTensor.of_splits(array_ops.concat(values, 0), splits_of_lengths(lengths))
    values = [
        one if isinstance(one, RaggedTensor) else RaggedTensor.from_tensor(one) for one in values
    ]
    return dispatch.stack(values, axis, name)


def stack_dynamic_partitions(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> RaggedTensor:
    """Return a ragged tensor whose row i has the parts of a tensor with partition i.

    Args:
      data: the tensor.
      partitions: the row of each part.
      num_partitions: the number of rows.
      name: of the scope.
    """
    with name_scope(name, "SegmentStack", [data, partitions, num_partitions]):
        data = convert_to_tensor(data, name="data")
        partitions = convert_to_tensor(partitions, name="partitions")
        parts = dynamic_partition(data, math_ops.cast(partitions, dtypes.int32), num_partitions)
        lengths = array_ops.stack([array_ops.shape(part)[0] for part in parts])
        return RaggedTensor.of_splits(array_ops.concat(parts, 0), splits_of_lengths(lengths))


def cross(inputs: TensorLike, name: str | None = None) -> TensorResult:
    """Return, per row, all combinations of one value per column, as text with ``_X_`` between."""
    from tfnb.library.ragged.shape_functions import cross_of

    with name_scope(name, "RaggedCross", inputs):
        return cross_of(inputs, False, 0, 0)


def cross_hashed(
    inputs: TensorLike, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> TensorResult:
    """Return, per row, all combinations of one value per column, as hashes."""
    from tfnb.library.ragged.shape_functions import cross_of

    with name_scope(name, "RaggedCrossHashed", inputs):
        return cross_of(inputs, True, num_buckets, 0xDECAFCAFFE if hash_key is None else hash_key)
