"""Gathering by index: Gather, GatherNd and the functions built on them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.array_module import HAS_NARROW_INDICES, as_places
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import colocate_with, name_scope
from tfnb.ops.array.scatter_kernels import check_indices
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.array import concat_ops, constant_ops, shape_ops, transpose_ops
else:
    concat_ops = later("tfnb.ops.array.concat_ops")
    constant_ops = later("tfnb.ops.array.constant_ops")
    shape_ops = later("tfnb.ops.array.shape_ops")
    transpose_ops = later("tfnb.ops.array.transpose_ops")

EXPORTS = {
    "tf": [
        "gather",
        "gather_nd",
        "batch_gather",
    ],
    "manip": ["gather_nd"],
}


# ------------------------------------------------------------------------------------------- Gather


def take(xp: Xp, params: Array, indices: Array, axis: int = 0) -> Array:
    """Return ``params`` at ``indices`` along an axis; on a GPU invalid indices give zeros."""
    if xp is np:
        if not params.size and 0 in params.shape[:axis] + params.shape[axis + 1 :]:
            return _take_none(xp, params, indices, axis)
        check_indices(indices, params.shape[axis])
        if HAS_NARROW_INDICES:
            indices = as_places(indices)
        found = (
            params.take(indices, axis, mode="clip")
            if params.shape[axis]
            else _take_none(xp, params, indices, axis)
        )
        if isinstance(found, bytes):
            wrapped = np.empty((), object)
            wrapped[()] = found
            return wrapped
        return found
    size = params.shape[axis]
    if size == 0:
        return _take_none(xp, params, indices, axis)
    found = xp.take(params, xp.clip(indices, 0, size - 1), axis)
    bad = (indices < 0) | (indices >= size)
    bad = bad.reshape((1,) * axis + indices.shape + (1,) * (params.ndim - axis - 1))
    return xp.where(bad, params.dtype.type(0), found)


def _take_none(xp: Xp, params: Array, indices: Array, axis: int) -> Array:
    shape = params.shape[:axis] + indices.shape + params.shape[axis + 1 :]
    return xp.zeros(shape, params.dtype)


def _gather_shape(c: InferenceContext) -> TensorShape:
    c.with_rank_at_least(0, 1)
    dims, indices = c.inputs[0].dim_values, c.inputs[1].dim_values
    if dims is None or indices is None:
        return UNKNOWN_SHAPE
    return TensorShape([*indices, *dims[1:]])


@register_op(
    "Gather",
    "params: Tparams, indices: Tindices -> output: Tparams",
    "validate_indices: bool = true",
    "Tparams: type",
    "Tindices: {int32, int64}",
    shape=_gather_shape,
    traits="rearranges",
)
def gather_op(xp: Xp, params: Array, indices: Array) -> Array:
    """Return the rows of a tensor at ``indices``."""
    if params.ndim < 1:
        raise errors.invalid_argument("params must be at least 1 dimensional")
    return take(xp, params, indices)


def _gather_v2_shape(c: InferenceContext) -> TensorShape:
    c.with_rank_at_least(0, 1)
    c.with_rank(2, 0)
    dims, indices = c.inputs[0].dim_values, c.inputs[1].dim_values
    axis = c.constant_value(2)
    batch = c.attr("batch_dims")
    if axis is None:
        if dims is None or indices is None:
            return UNKNOWN_SHAPE
        real = batch + len(indices) if batch < 0 else batch
        return TensorShape([None] * (len(dims) + len(indices) - 1 - real))
    number = int(axis)
    c.with_rank_at_least(0, -number if number < 0 else number + 1)
    if dims is None or indices is None:
        return UNKNOWN_SHAPE
    if number < 0:
        number += len(dims)
    if batch < 0:
        batch += len(indices)
    if batch > len(indices):
        raise ValueError(f"Shape must be at least rank {batch} but is rank {len(indices)}")
    return TensorShape([*dims[:number], *indices[batch:], *dims[number + 1 :]])


@register_op(
    "GatherV2",
    "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams",
    "batch_dims: int = 0",
    "Tparams: type",
    "Tindices: {int16, int32, int64}",
    "Taxis: {int32, int64}",
    shape=_gather_v2_shape,
    host_memory=("axis",),
    traits="rearranges",
)
def gather_v2(xp: Xp, params: Array, indices: Array, axis: Array, *, batch_dims: int) -> Array:
    """Return slices of a tensor at indices along an axis, separately for every leading batch."""
    if params.ndim < 1:
        raise errors.invalid_argument("params must be at least 1 dimensional")
    if axis.ndim:
        raise errors.invalid_argument("axis must be scalar")
    number = int(axis)
    least = -number if number < 0 else number + 1
    if params.ndim < least:
        raise errors.invalid_argument(
            f"Shape must be at least rank {least} but is rank {params.ndim}"
        )
    if number < 0:
        number += params.ndim
    if batch_dims == 0:
        return take(xp, params, indices, number)
    rank = indices.ndim
    if not -rank <= batch_dims <= rank:
        raise errors.invalid_argument(
            f"Expected batch_dims in the range [{-rank}, {rank}], but got {batch_dims}"
        )
    batch = batch_dims + rank if batch_dims < 0 else batch_dims
    if batch >= params.ndim:
        raise errors.invalid_argument(
            f"batch_dims ({batch}) must be less than rank(params) ({params.ndim})."
        )
    if number < batch:
        raise errors.invalid_argument(
            f"batch_dims ({batch}) must be less than or equal to axis ({number})."
        )
    for i in range(batch):
        if params.shape[i] != indices.shape[i]:
            raise errors.invalid_argument(
                f"params.shape[{i}]: {params.shape[i]} should be equal to indices.shape[{i}]: "
                f"{indices.shape[i]}"
            )
    return batch_take(xp, params, indices, number, batch)


def batch_take(xp: Xp, params: Array, indices: Array, axis: int, batch: int) -> Array:
    """Take as :func:`take` does; the first ``batch`` dimensions of both are batch dimensions."""
    shape = params.shape
    count, outer, inner = (
        math.prod(shape[:batch]),
        math.prod(shape[batch:axis]),
        math.prod(shape[axis + 1 :]),
    )
    size = shape[axis]
    out_shape = shape[:axis] + indices.shape[batch:] + shape[axis + 1 :]
    if 0 in out_shape:
        return xp.empty(out_shape, params.dtype)
    if xp is np:
        check_indices(indices, size)
    flat = indices.reshape(count, 1, -1)
    if size == 0:
        return xp.empty(out_shape, params.dtype)
    safe = flat if xp is np else xp.clip(flat, 0, size - 1)
    parts = params.reshape(count, outer, size, inner)
    found = parts[xp.arange(count)[:, None, None], xp.arange(outer)[None, :, None], safe]
    if xp is not np:
        bad = (flat < 0) | (flat >= size)
        found = xp.where(bad[..., None], params.dtype.type(0), found)
    return found.reshape(out_shape)


def _dense(grad: TensorLike) -> Tensor:
    """Return a gradient as one dense tensor, converted if it is IndexedSlices."""
    return convert_to_tensor(grad)


def _slices_gradient(params: TensorLike, indices: TensorLike, grad: TensorLike) -> IndexedSlices:
    with colocate_with(params):
        params_shape = shape_ops.shape(params)
    count = shape_ops.expand_dims(shape_ops.size(indices), 0)
    values_shape = concat_ops.concat([count, params_shape[1:]], 0)
    values = shape_ops.reshape(_dense(grad), values_shape)
    return IndexedSlices(values, shape_ops.reshape(indices, count), params_shape)


@gather_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _slices_gradient(op.inputs[0], op.inputs[1], grad), None


@gather_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    params, indices, axis = op.inputs
    batch = op.get_attr("batch_dims")
    if batch < 0:
        if indices.shape.ndims is None:
            raise ValueError(
                "Currently, it is unsupported to take the gradient of tf.gather when batch_dims "
                "< 0 and the rank of the indices is unknown. Please pass a positive batch_dims or "
                "use tf.ensure_shape to update the shape of indices when calling tf.gather. Got "
                f"batch_dims={batch} and indices={indices}"
            )
        batch += indices.shape.ndims
    static_axis = constant_value(axis)
    if static_axis is not None and static_axis == 0:
        return _slices_gradient(params, indices, grad), None, None
    return _gather_axis_gradient(params, indices, axis, batch, grad), None, None


def _gather_axis_gradient(
    params: TensorLike, indices: TensorLike, axis: TensorLike, batch: int, grad: TensorLike
) -> Tensor:
    with colocate_with(params):
        params_shape = shape_ops.shape(params)
    # The result is not used, but TensorFlow's graphs have this node.
    shape_ops.expand_dims(shape_ops.size(indices), 0)
    outer_shape, inner_shape = params_shape[:axis], params_shape[axis:][1:]
    values_shape = concat_ops.concat([outer_shape, [-1], inner_shape], 0)
    values_dims, axis_dims = shape_ops.size(values_shape), shape_ops.size(outer_shape)
    batches = provided.range_(batch)
    before = provided.range_(batch, axis_dims)
    after = provided.range_(axis_dims + 1, values_dims)
    values = shape_ops.reshape(_dense(grad), values_shape)
    order = concat_ops.concat([batches, [axis_dims], before, after], 0)
    moved = transpose_ops.transpose(values, order)
    moved_shape = gather(params_shape, order)
    found = _batch_gather_gradient(moved_shape, moved, indices, batch, params_shape[axis])
    back = concat_ops.concat([batches, before + 1, [batch], after], 0)
    return shape_ops.reshape(transpose_ops.transpose(found, back), shape_ops.shape(params))


def _batch_gather_gradient(
    params_shape: TensorLike, values: TensorLike, indices: TensorLike, batch: int, size: TensorLike
) -> Tensor:
    """Add rows of ``values`` at their indices; the axis follows the batch dimensions."""
    count = shape_ops.expand_dims(shape_ops.size(indices), 0)
    flat_shape = outer_shape = None
    if batch:
        values_shape = shape_ops.shape(values)
        outer_shape = values_shape[:batch]
        inner_shape = values_shape[batch:][1:]
        number = provided.prod_op(outer_shape, [0], keep_dims=False)
        flat_shape = concat_ops.concat([[-1], inner_shape], 0)
        size = size * number
        indices = _flat_batch_indices(params_shape, indices, batch)
        values = shape_ops.reshape(values, flat_shape)
    found: Tensor = provided.unsorted_segment_sum(values, shape_ops.reshape(indices, count), size)
    if batch:
        found = shape_ops.reshape(found, concat_ops.concat([outer_shape, flat_shape], 0))
    return found


def _flat_batch_indices(params_shape: TensorLike, indices: TensorLike, batch: int) -> Tensor:
    """Return indices with the offset of their batch added."""
    from tfnb.ops.array import cast_ops

    dtype = indices.dtype.base_dtype
    sizes = cast_ops.cast(params_shape, dtype)
    step: TensorLike = constant_ops.ones((), dtype=dtype)
    found: Tensor = indices
    for axis in range(batch, 0, -1):
        length = sizes[axis - 1]
        step = step * sizes[axis]
        start, unit = constant_ops.zeros((), dtype=dtype), constant_ops.ones((), dtype=dtype)
        offsets = provided.range_(start, length, unit) * step
        head, tail = (
            concat_ops.tile([1], [axis - 1]),
            concat_ops.tile([1], [shape_ops.rank(indices) - axis]),
        )
        found = found + shape_ops.reshape(offsets, concat_ops.concat([head, [length], tail], 0))
    return found


@dispatchable
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: TensorLike | None = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Return slices of a tensor at indices along an axis.

    Args:
      params: the tensor to gather from; of a variable, only the needed parts are read.
      indices: indices, starting at 0.
      validate_indices: has no effect; kept for compatibility.
      name: the name of the op.
      axis: the axis of the indices; by default the first after the batch dimensions.
      batch_dims: the number of leading batch dimensions of both.
    """
    if axis is None:
        axis = batch_dims
    found: Tensor
    if constant_value(axis) != 0:
        found = gather_v2(params, indices, axis, batch_dims=batch_dims, name=name)
        return found
    sparse_read = getattr(params, "sparse_read", None)
    if sparse_read is not None:
        try:
            found = sparse_read(indices, name=name)
        except AttributeError:
            pass
        else:
            return found
    found = gather_v2(params, indices, axis, batch_dims=batch_dims, name=name)
    return found


@dispatchable
def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Gather along the last dimension of ``indices``; its other dimensions are the batch."""
    with name_scope(name, "BatchGather", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if indices.shape.ndims is None:
            raise ValueError(
                "batch_gather does not allow indices with unknown shape. Received indices with "
                f"shape {indices.shape}"
            )
        return _gather_in_batches(params, indices, indices.shape.ndims - 1)


def _gather_in_batches(params: TensorLike, indices: TensorLike, batch_dims: int) -> Tensor:
    """Gather rows of the flattened tensor at the indices plus the offset of their batch."""
    from tfnb.ops.array import cast_ops
    from tfnb.ops.array.concat_ops import stack

    rank = params.shape.ndims
    if rank is not None and batch_dims >= rank:
        raise ValueError(
            f"Argument `batch_dims` = {batch_dims} must be less than rank(`params`) = {rank}"
        )
    ndims = indices.shape.ndims
    indices_shape, params_shape = shape_ops.shape(indices), shape_ops.shape(params)
    found: TensorResult = indices
    dtype = indices.dtype.base_dtype
    step: TensorLike = constant_ops.ones((), dtype=dtype)
    sizes = cast_ops.cast_op(params_shape, DstT=dtype)
    for axis in range(batch_dims, 0, -1):
        length = sizes[axis - 1]
        step = step * sizes[axis]
        start, unit = constant_ops.zeros((), dtype=dtype), constant_ops.ones((), dtype=dtype)
        offsets = provided.range_op(start, length, unit) * step
        form = stack([1] * (axis - 1) + [length] + [1] * (ndims - axis), axis=0)
        found = found + shape_ops.reshape(offsets, form)
    flat_indices = shape_ops.reshape(found, [-1])
    inner_shape = params_shape[batch_dims + 1 :]
    rows = provided.prod_op(params_shape[: batch_dims + 1], [0], keep_dims=False)
    flat_params = shape_ops.reshape(params, concat_ops.concat([[rows], inner_shape], axis=0))
    picked = gather(flat_params, flat_indices)
    result = shape_ops.reshape(picked, concat_ops.concat([indices_shape, inner_shape], axis=0))
    batch = indices.shape[:batch_dims].merge_with(params.shape[:batch_dims])
    batch = batch.concatenate(indices.shape[batch_dims:])
    result.set_shape(batch.concatenate(params.shape[batch_dims + 1 :]))
    return result


# ----------------------------------------------------------------------------------------- GatherNd


def _gather_nd_shape(c: InferenceContext) -> TensorShape:
    return gather_nd_shape_of(c, c.inputs[0])


def gather_nd_shape_of(c: InferenceContext, params: TensorShape) -> TensorShape:
    """Return the output shape of GatherNd for ``params`` and the indices ``c.inputs[1]``."""
    indices = c.with_rank_at_least(1, 1).dim_values
    if indices is None or indices[-1] is None or params.dim_values is None:
        return UNKNOWN_SHAPE
    depth, dims = indices[-1], params.dim_values
    if depth > len(dims):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{shape_text(['?' if n is None else n for n in indices])} and params shape: "
            f"{shape_text(['?' if n is None else n for n in dims])}"
        )
    return TensorShape([*indices[:-1], *dims[depth:]])


def nd_index(
    indices: Array, dims: Array, policy: str, refuse: Callable[..., Array], xp: Xp = np
) -> tuple[Array, Array]:
    """Convert rows of coordinates to flat row numbers; also return which are valid (None: all).

    Args:
      indices: coordinates along the last dimension.
      dims: the sizes of the indexed dimensions.
      policy: the attribute ``bad_indices_policy``.
      refuse: called with the position of an invalid row; raises.
      xp: numpy or cupy.
    """
    depth = indices.shape[-1]
    flat = indices.reshape(math.prod(indices.shape[:-1]), depth).astype(np.int64)
    sizes = xp.asarray(dims[:depth], np.int64)
    bad = ((flat < 0) | (flat >= sizes)).any(axis=1) if depth else xp.zeros(len(flat), bool)
    valid = None
    if policy == "IGNORE" or xp is not np:
        valid = ~bad
    elif bad.any():
        refuse(int(np.flatnonzero(bad)[0]))
    steps = np.ones(depth, np.int64)
    for axis in range(depth - 2, -1, -1):
        steps[axis] = steps[axis + 1] * dims[axis + 1]
    return flat @ xp.asarray(steps), valid


def place_text(indices: Array, position: int) -> str:
    """Return a row's position as TensorFlow writes it: ``[1,0]``; "" for a single row."""
    if indices.ndim <= 1:
        return ""
    place = np.unravel_index(position, indices.shape[:-1])
    return "[" + ",".join(str(int(i)) for i in place) + "]"


def gather_nd_value(xp: Xp, params: Array, indices: Array, policy: str, node_name: str) -> Array:
    """Return the slices at coordinates; the kernel of GatherNd and its resource form."""
    if params.ndim < 1:
        raise errors.invalid_argument("params must be at least a vector")
    if indices.ndim < 1:
        raise errors.invalid_argument("indices must be at least a vector")
    depth = indices.shape[-1]
    if depth > params.ndim:
        raise errors.invalid_argument(
            "index innermost dimension length must be <= params rank; saw: "
            f"{depth} vs. {params.ndim}"
        )
    out_shape = indices.shape[:-1] + params.shape[depth:]
    if params.size == 0:
        if math.prod(indices.shape[:-1]):
            raise errors.invalid_argument(
                "Requested more than 0 entries, but params is empty.  Params shape: "
                f"{shape_text(params.shape)}"
            )
        return xp.empty(out_shape, params.dtype)

    def refuse(position: int) -> None:
        row = indices.reshape(-1, depth)[position].tolist()
        raise errors.invalid_argument(
            f"indices{place_text(indices, position)} = [{', '.join(map(str, row))}] does not "
            f"index into param shape {shape_text(params.shape)}, node name: {node_name}"
        )

    places, valid = nd_index(indices, params.shape, policy, refuse, xp)
    rows = params.reshape(math.prod(params.shape[:depth]), *params.shape[depth:])
    if valid is not None:
        found = rows[xp.where(valid, places, 0)]
        found[~valid] = b"" if params.dtype == object else 0
    else:
        found = rows[places]
    return found.reshape(out_shape)


@register_op(
    "GatherNd",
    "params: Tparams, indices: Tindices -> output: Tparams",
    "Tparams: type",
    "Tindices: {int16, int32, int64}",
    "bad_indices_policy: string = ''",
    shape=_gather_nd_shape,
    traits="rearranges",
)
def gather_nd_op(
    ctx: OpKernelContext, params: Array, indices: Array, *, bad_indices_policy: str
) -> Array:
    """Return slices of a tensor at coordinates."""
    return gather_nd_value(ctx.xp, params, indices, bad_indices_policy, ctx.node_name)


@gather_nd_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array.scatter_nd_ops import scatter_nd

    params, indices = op.inputs
    size = shape_ops.shape(params, out_type=indices.dtype)
    if indices.shape.ndims == 2 and indices.shape[-1].value == 1:
        return IndexedSlices(grad, shape_ops.squeeze(indices, axis=-1), size), None
    policy = op.get_attr("bad_indices_policy").decode()
    return scatter_nd(indices, grad, size, bad_indices_policy=policy), None


def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    name: str | None = None,
    batch_dims: int = 0,
    bad_indices_policy: str = "",
) -> Tensor:
    """Return slices of a tensor at coordinates.

    Args:
      params: the tensor to gather from; of a variable, only the needed parts are read.
      indices: coordinates along the last dimension.
      name: the name of the op.
      batch_dims: the number of leading batch dimensions of both.
      bad_indices_policy: "", ERROR, or IGNORE, which gives zeros for indices out of range.
    """
    static = constant_value(batch_dims)
    if static is not None and static:
        return batch_gather_nd(params, indices, int(static), name)
    read = getattr(params, "gather_nd", None)
    found: Tensor
    if read is not None:
        found = read(indices, name=name)
        return found
    found = gather_nd_op(params, indices, bad_indices_policy=bad_indices_policy, name=name)
    return found


def batch_gather_nd(
    params: TensorLike, indices: TensorLike, batch_dims: int, name: str | None = None
) -> Tensor:
    """Apply GatherNd to every batch."""
    from tfnb.ops.array import cast_ops, constant_ops
    from tfnb.ops.array.array_extras import meshgrid
    from tfnb.ops.array.concat_ops import stack, unstack
    from tfnb.ops.array.shape_ops import rank

    with name_scope(name, "BatchGatherND", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if not isinstance(batch_dims, int):
            raise TypeError(f"Argument `batch_dims` must be an int; got {batch_dims}")
        if batch_dims < 0:
            raise ValueError("tf.gather_nd does not allow negative batch_dims.")
        for what, tensor in (("indices", indices), ("params", params)):
            ndims = tensor.shape.ndims
            if ndims is not None and batch_dims >= ndims:
                raise ValueError(
                    f"Argument `batch_dims` = {batch_dims} must be less than "
                    f"rank(`{what}`) = {ndims}"
                )
        is_single = batch_dims == 0
        if is_single:
            params, indices = (
                shape_ops.expand_dims(params, axis=0),
                shape_ops.expand_dims(indices, axis=0),
            )
            batch_dims = 1
        whole, sizes = shape_ops.shape(params), shape_ops.shape(indices)
        batch = whole[:batch_dims]
        count = provided.prod_op(batch, [0])
        inner_rank = rank(indices) - batch_dims - 1
        inner = sizes[batch_dims:-1]
        # Put the coordinates of the batch in front of the given ones.
        numbers = []
        for one in unstack(batch, axis=0):
            limit = cast_ops.cast_op(one, DstT=dtypes.int32)
            numbers.append(cast_ops.cast_op(provided.range_op(0, limit, 1), DstT=indices.dtype))
        flat = [shape_ops.reshape(one, (-1,)) for one in meshgrid(*numbers, indexing="ij")]
        grid = transpose_ops.transpose(stack(flat, axis=0))
        form = shape_ops.shape(grid)
        parts = [form[:1], constant_ops.ones(inner_rank, dtype=form.dtype), form[1:]]
        grid = shape_ops.reshape(grid, concat_ops.concat(parts, axis=0))
        grid = concat_ops.tile(grid, concat_ops.concat([(1,), inner, (1,)], axis=0))
        own = shape_ops.reshape(indices, concat_ops.concat([[count], sizes[batch_dims:]], axis=0))
        found: Tensor = gather_nd_op(params, concat_ops.concat([grid, own], axis=-1))
        found = shape_ops.reshape(
            found, concat_ops.concat([batch, shape_ops.shape(found)[1:]], axis=0)
        )
        return shape_ops.squeeze(found, axis=0) if is_single else found
