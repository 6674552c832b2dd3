"""Parts of ragged tensors: ``rt[1]``, ``rt[:, :2]``, ``rt[2, 0]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike
from tfnb.framework.scopes import name_scope
from tfnb.library.ragged.dispatch import expand_dims
from tfnb.library.ragged.gather_rows import ragged_gather_rows
from tfnb.library.ragged.ragged_tensor import RaggedTensor
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.sparse.ragged_ops import ragged_range


def ragged_getitem(value: RaggedTensor, key: TensorLike) -> Any:
    """Return the part that a key selects.

    Raises:
      ValueError: a number selects in a ragged dimension other than the first, or there are too
        many keys.
    """
    with name_scope(None, "RaggedGetItem", [value]):
        keys = list(key) if isinstance(key, (list, tuple)) else [key]
        return _part(value, _expanded(keys, value))


def _expanded(keys: list[TensorLike], value: RaggedTensor) -> list[Any]:
    """Return the keys with an ellipsis replaced by full slices."""
    found: list[Any] = []
    for position, key in enumerate(keys):
        if key is not Ellipsis:
            found.append(key)
            continue
        if value.shape.ndims is None:
            raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
        rest = [one for one in keys[position + 1 :] if one is not None]
        before = len([one for one in found if one is not None])
        found += [slice(None)] * (value.shape.ndims - len(rest) - before)
    return found


def _part(value: TensorLike, keys: list[TensorLike]) -> Any:
    if not keys:
        return value
    if not isinstance(value, RaggedTensor):
        return value[tuple(keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _part(value, rest)
        return expand_dims(inner, 0)
    if isinstance(first, slice):
        rows = value if _is_full(first) else _rows_between(value, first)
        return _inner(rows, rest)
    starts, limits = value.row_splits[:-1], value.row_splits[1:]
    row = value.values[starts[first] : limits[first]]
    return _part(row, rest)


def _is_full(key: slice) -> bool:
    return key.start is None and key.stop is None and key.step in (None, 1)


def _rows_between(value: RaggedTensor, key: slice) -> Any:
    dtype = value.row_splits.dtype
    sizes = value.shape.dim_values
    count = value.nrows() if sizes is None or sizes[0] is None else sizes[0]
    return ragged_gather_rows(value, math_ops.range_(count, dtype=dtype)[key])


def _inner(value: RaggedTensor, keys: list[TensorLike]) -> Any:
    """Return the selected part of every row."""
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if first is None:
        return expand_dims(_inner(value, rest), 1)
    if not isinstance(first, slice):
        if value.uniform_row_length is None:
            raise ValueError("Cannot index into an inner ragged dimension.")
        length = value.uniform_row_length
        place = math_ops.cast(first, length.dtype)
        place = array_ops.where_v2(place < 0, place + length, place)
        indices = value.row_splits[:-1] + place
        picked = _gathered(value.values, indices)
        return _part(picked, [slice(None), *rest])
    if not _is_full(first):
        value = _between(value, first)
    if not rest:
        return value
    return value.with_values(_part(value.values, [slice(None), *rest]))


def _gathered(values: TensorLike, indices: TensorLike) -> Any:
    if isinstance(values, RaggedTensor):
        return ragged_gather_rows(values, indices)
    return array_ops.gather(values, indices)


def _between(value: RaggedTensor, key: slice) -> RaggedTensor:
    """Return the values between two positions of every row."""
    dtype = value.row_splits.dtype
    starts = value.row_splits[:-1]
    lengths = value.row_splits[1:] - starts
    step = 1 if key.step is None else key.step
    if not isinstance(step, int) or step == 0:
        raise ValueError("slice strides must be integers other than 0")

    def place(given: TensorLike, default: Any, lowest: int) -> Any:
        if given is None:
            return default
        wanted = math_ops.cast(given, dtype)
        wanted = array_ops.where_v2(wanted < 0, wanted + lengths, wanted + lengths * 0)
        return math_ops.minimum(math_ops.maximum(wanted, lowest), lengths + lowest)

    if step > 0:
        first, last = place(key.start, lengths * 0, 0), place(key.stop, lengths, 0)
        last = math_ops.maximum(first, last)
    else:
        first, last = place(key.start, lengths - 1, -1), place(key.stop, lengths * 0 - 1, -1)
        last = math_ops.minimum(first, last)
    found = ragged_range(starts + first, starts + last, math_ops.cast(step, dtype), Tsplits=dtype)
    return RaggedTensor(_gathered(value.values, found[1]), found[0], internal=True)
