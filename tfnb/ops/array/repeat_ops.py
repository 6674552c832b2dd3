"""``tf.repeat``: elements or slices several times in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.ops.array.array_extras import all_axes, sequence_mask
from tfnb.ops.array.cast_ops import cast_op
from tfnb.ops.array.concat_ops import concat, stack, tile
from tfnb.ops.array.constant_ops import ones
from tfnb.ops.array.shape_ops import broadcast_to, expand_dims, reshape
from tfnb.ops.array.shape_ops import rank as rank_of
from tfnb.ops.array.shape_ops import shape as shape_of
from tfnb.ops.array.where_ops import boolean_mask
from tfnb.ops.base import provided_functions as provided

if TYPE_CHECKING:
    from tfnb.framework.tensor import Tensor

EXPORTS = {"tf": ["repeat"]}


def repeat(input: Any, repeats: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Return every element, or every slice along an axis, several times in a row.

    Args:
      input: the tensor; without an axis it is flattened.
      repeats: how often: one number, or one per element or slice.
      axis: the axis of the slices.
      name: the name of the ops.
    """
    if axis is None:
        input = reshape(input, [-1])
        axis = 0
    return repeat_with_axis(input, repeats, axis, name)


def repeat_with_axis(data: Any, repeats: Any, axis: int, name: str | None = None) -> Tensor:
    """Return every element or slice several times in a row, as :func:`repeat` does."""
    if not isinstance(axis, int):
        raise TypeError(f"Argument `axis` must be an int. Received `axis` = {axis}")
    with name_scope(name, "Repeat", [data, repeats]):
        data = convert_to_tensor(data, name="data")
        repeats = _integers(repeats, "repeats")
        repeats.shape.with_rank_at_most(1)
        data = _with_axis(data)
        sizes = shape_of(data, out_type=repeats.dtype)
        rank = data.shape.ndims
        if rank is not None:
            if not -rank <= axis < rank:
                raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
            axis %= rank
        elif axis < 0:
            raise ValueError(f"axis={axis} may only be negative if rank(data) is statically known.")
        if repeats.shape.num_elements() == 1:
            repeats = reshape(repeats, [])
            tiled = _tile_axis(expand_dims(data, axis + 1), axis + 1, repeats)
            whole = [sizes[:axis], [repeats * sizes[axis]], sizes[axis + 1 :]]
            return reshape(tiled, concat(whole, 0))
        return _repeat_each(data, repeats, sizes, axis)


def _repeat_each(data: Tensor, repeats: Any, sizes: Any, axis: int) -> Tensor:
    """Repeat each element as often as the largest count says, then drop the surplus copies."""
    if repeats.shape.ndims == 1:
        repeats = broadcast_to(repeats, [sizes[axis]])
    each = repeats
    if each.shape.ndims != axis + 1:
        # The counts of the last axis apply to every row.
        each_sizes = shape_of(each, out_type=repeats.dtype)
        outer = sizes[: axis + 1 - rank_of(each)]
        each = broadcast_to(each, concat([outer, each_sizes], 0))
    most = provided.max_op(each, all_axes(each))
    most = provided.maximum(convert_to_tensor(0, name="zero", dtype=most.dtype), most)
    mask = sequence_mask(each, most)
    tiled = _tile_axis(expand_dims(data, axis + 1), axis + 1, most)
    masked = boolean_mask(tiled, mask)
    if axis == 0:
        return masked
    total = provided.sum_op(repeats, provided.range_op(0, rank_of(repeats), 1))
    return reshape(masked, concat([sizes[:axis], [total], sizes[axis + 1 :]], 0))


def _integers(value: Any, name: str) -> Tensor:
    tensor = convert_to_tensor(value, name=name, preferred_dtype=dtypes.int32)
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"Argument `tensor` (name: {name}) must be of type integer. "
            f"Received `tensor` = {tensor} of dtype: {tensor.dtype!r}"
        )
    found: Tensor = cast_op(tensor, DstT=dtypes.int32)
    return found


def _with_axis(data: Any) -> Any:
    """Return the tensor itself, or a vector of one element for a scalar."""
    if data.shape.ndims is not None:
        return stack([data]) if data.shape.ndims == 0 else data
    sizes, rank = shape_of(data), rank_of(data)
    # Keep the rank, or make it 1 for a scalar.
    return reshape(data, concat([[1], sizes], axis=0)[-rank:])


def _tile_axis(data: Tensor, axis: int, count: Any) -> Tensor:
    rank = data.shape.ndims
    counts: Any
    if rank is not None:
        counts = [1] * rank
        counts[axis] = count
    else:
        each = ones(rank_of(data), dtypes.int32)
        counts = concat([each[:axis], [count], each[axis + 1 :]], axis=0)
    found: Tensor = tile(data, counts)
    return found
