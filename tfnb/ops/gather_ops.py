"""Picking and placing by index: Gather, GatherNd, ScatterNd, OneHot, Where, boolean_mask."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import colocate_with, name_scope
from tfnb.ops.broadcasting import shape_text
from tfnb.ops.concat_ops import concat
from tfnb.ops.constant_ops import ones, zeros_like
from tfnb.ops.identity_ops import identity
from tfnb.ops.scatter_kernels import scatter_rows
from tfnb.ops.shape_ops import expand_dims, reshape, shape_internal, squeeze
from tfnb.ops.shape_ops import rank as rank_of
from tfnb.ops.shape_ops import shape as shape_of
from tfnb.ops.shape_ops import size as size_of
from tfnb.ops.transpose_ops import transpose

if TYPE_CHECKING:
    from tfnb.framework.tensor import Tensor

EXPORTS = {
    "tf": [
        "gather",
        "gather_nd",
        "batch_gather",
        "scatter_nd",
        "tensor_scatter_update:tensor_scatter_nd_update",
        "tensor_scatter_nd_update",
        "tensor_scatter_add:tensor_scatter_nd_add",
        "tensor_scatter_nd_add",
        "tensor_scatter_sub:tensor_scatter_nd_sub",
        "tensor_scatter_nd_sub",
        "tensor_scatter_nd_min",
        "tensor_scatter_nd_max",
        "one_hot",
        "where",
        "where_v2",
        "boolean_mask",
        "searchsorted",
    ],
    "manip": ["gather_nd", "scatter_nd"],
}

# ------------------------------------------------------------------------------------------- Gather


def check_indices(indices: Any, limit: int, name: str = "indices") -> None:
    """Refuses indices outside ``[0, limit)``, naming the first.

    Raises:
      InvalidArgumentError: there is one.
    """
    if indices.size == 0:
        return
    if indices.min() >= 0 and indices.max() < limit:
        return
    flat = np.asarray(indices).reshape(-1)
    position = int(np.flatnonzero((flat < 0) | (flat >= limit))[0])
    where_ = np.unravel_index(position, indices.shape)
    place = f"[{','.join(str(int(i)) for i in where_)}]" if indices.ndim else ""
    raise errors.invalid_argument(f"{name}{place} = {int(flat[position])} is not in [0, {limit})")


def take(xp: Any, params: Any, indices: Any, axis: int = 0) -> Any:
    """``params`` at ``indices`` along an axis; on a GPU an index out of range gives zeros."""
    if xp is np:
        check_indices(indices, params.shape[axis])
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


def _take_none(xp: Any, params: Any, indices: Any, axis: int) -> Any:
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
)
def gather_op(xp: Any, params: Any, indices: Any) -> Any:
    """Rows of a tensor by number."""
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
)
def gather_v2(xp: Any, params: Any, indices: Any, axis: Any, *, batch_dims: int) -> Any:
    """Parts of a tensor by number along an axis, separately for every leading batch."""
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


def batch_take(xp: Any, params: Any, indices: Any, axis: int, batch: int) -> Any:
    """As :func:`take`, where the first ``batch`` dimensions of both belong together."""
    shape = params.shape
    count, outer, inner = (
        math.prod(shape[:batch]),
        math.prod(shape[batch:axis]),
        math.prod(shape[axis + 1 :]),
    )
    size = shape[axis]
    out_shape = shape[:axis] + indices.shape[batch:] + shape[axis + 1 :]
    if xp is np:
        check_indices(indices, size)
    flat = indices.reshape(count, 1, -1)
    if size == 0 or 0 in out_shape:
        return xp.empty(out_shape, params.dtype)
    safe = flat if xp is np else xp.clip(flat, 0, size - 1)
    parts = params.reshape(count, outer, size, inner)
    found = parts[xp.arange(count)[:, None, None], xp.arange(outer)[None, :, None], safe]
    if xp is not np:
        bad = (flat < 0) | (flat >= size)
        found = xp.where(bad[..., None], params.dtype.type(0), found)
    return found.reshape(out_shape)


def _dense(grad: Any) -> Tensor:
    """A gradient as one tensor, also where it came as slices."""
    return convert_to_tensor(grad)


def _slices_gradient(params: Any, indices: Any, grad: Any) -> IndexedSlices:
    with colocate_with(params):
        params_shape = shape_of(params)
    count = expand_dims(size_of(indices), 0)
    values_shape = concat([count, params_shape[1:]], 0)
    values = reshape(_dense(grad), values_shape)
    return IndexedSlices(values, reshape(indices, count), params_shape)


@gather_op.gradient
def _(op: Any, grad: Any) -> Any:
    return _slices_gradient(op.inputs[0], op.inputs[1], grad), None


@gather_v2.gradient
def _(op: Any, grad: Any) -> Any:
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


def _gather_axis_gradient(params: Any, indices: Any, axis: Any, batch: int, grad: Any) -> Tensor:
    from tfnb.ops import sequence_ops

    with colocate_with(params):
        params_shape = shape_of(params)
    outer_shape, inner_shape = params_shape[:axis], params_shape[axis:][1:]
    values_shape = concat([outer_shape, [-1], inner_shape], 0)
    values_dims, axis_dims = size_of(values_shape), size_of(outer_shape)
    batches = sequence_ops.range_(batch)
    before = sequence_ops.range_(batch, axis_dims)
    after = sequence_ops.range_(axis_dims + 1, values_dims)
    values = reshape(_dense(grad), values_shape)
    order = concat([batches, [axis_dims], before, after], 0)
    moved = transpose(values, order)
    moved_shape = gather(params_shape, order)
    found = _batch_gather_gradient(moved_shape, moved, indices, batch, params_shape[axis])
    back = concat([batches, before + 1, [batch], after], 0)
    result = transpose(found, back)
    result.set_shape(params.shape)
    return result


def _batch_gather_gradient(
    params_shape: Any, values: Any, indices: Any, batch: int, size: Any
) -> Tensor:
    """Sums rows of ``values`` into their places; the axis comes right after the batch."""
    from tfnb.ops import math_ops

    count = expand_dims(size_of(indices), 0)
    flat_shape = outer_shape = None
    if batch:
        values_shape = shape_of(values)
        outer_shape = values_shape[:batch]
        flat_shape = concat([[-1], values_shape[batch:][1:]], 0)
        size = size * math_ops.reduce_prod(outer_shape)
        indices = _flat_batch_indices(params_shape, indices, batch)
        values = reshape(values, flat_shape)
    found: Tensor = math_ops.unsorted_segment_sum(values, reshape(indices, count), size)
    if batch:
        found = reshape(found, concat([outer_shape, flat_shape], 0))
    return found


def _flat_batch_indices(params_shape: Any, indices: Any, batch: int) -> Tensor:
    """Indices with the offset of their batch added."""
    from tfnb.ops import cast_ops, sequence_ops

    dtype = indices.dtype.base_dtype
    sizes = cast_ops.cast(params_shape, dtype)
    step: Any = ones((), dtype=dtype)
    rank = rank_of(indices)
    found: Tensor = indices
    for axis in range(batch, 0, -1):
        step = step * sizes[axis]
        start = convert_to_tensor(0, dtype=dtype)
        offsets = (
            sequence_ops.range_(start, sizes[axis - 1], convert_to_tensor(1, dtype=dtype)) * step
        )
        tail = _ones_vector(rank - axis)
        form = concat([np.ones(axis - 1, np.int32), shape_of(offsets), tail], 0)
        found = found + reshape(offsets, form)
    return found


def _ones_vector(length: Any) -> Tensor:
    from tfnb.ops.constant_ops import fill

    return fill(expand_dims(length, 0), 1)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """Parts of a tensor by number.

    Args:
      params: what is picked from; a variable is read only where needed.
      indices: numbers from 0.
      validate_indices: not used any more.
      name: the name of the op.
      axis: along which axis; the first after the batch dimensions by default.
      batch_dims: how many leading dimensions of both belong together.
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


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Gathers along the last dimension of ``indices``, the ones before being the batch."""
    with name_scope(name, "BatchGather", [params, indices]):
        params = convert_to_tensor(params, name="params")
        indices = convert_to_tensor(indices, name="indices")
        if indices.shape.ndims is None:
            raise ValueError(
                "batch_gather does not allow indices with unknown shape. Received indices with "
                f"shape {indices.shape}"
            )
        last = indices.shape.ndims - 1
        return gather(params, indices, axis=last, batch_dims=last, name=name)


# ----------------------------------------------------------------------------------------- GatherNd


def _gather_nd_shape(c: InferenceContext) -> TensorShape:
    return gather_nd_shape_of(c, c.inputs[0])


def gather_nd_shape_of(c: InferenceContext, params: TensorShape) -> TensorShape:
    """The shape of what GatherNd with the indices ``c.inputs[1]`` takes from ``params``."""
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


def nd_index(indices: Any, dims: Any, policy: str, refuse: Any, xp: Any = np) -> tuple[Any, Any]:
    """Rows of coordinates as numbers of flat rows, and which of them are valid (None: all).

    Args:
      indices: coordinates along the last dimension.
      dims: the sizes of the dimensions that the coordinates are for.
      policy: the attribute ``bad_indices_policy``.
      refuse: called with the position of a bad row; raises.
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


def _place_text(indices: Any, position: int) -> str:
    if indices.ndim <= 1:
        return ""
    place = np.unravel_index(position, indices.shape[:-1])
    return "[" + ",".join(str(int(i)) for i in place) + "]"


def gather_nd_value(xp: Any, params: Any, indices: Any, policy: str, node_name: str) -> Any:
    """The kernel of GatherNd."""
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
            f"indices{_place_text(indices, position)} = [{', '.join(map(str, row))}] does not "
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
)
def gather_nd_op(ctx: Any, params: Any, indices: Any, *, bad_indices_policy: str) -> Any:
    """Parts of a tensor by coordinates."""
    return gather_nd_value(ctx.xp, params, indices, bad_indices_policy, ctx.node_name)


@gather_nd_op.gradient
def _(op: Any, grad: Any) -> Any:
    params, indices = op.inputs
    size = shape_of(params, out_type=indices.dtype)
    if indices.shape.ndims == 2 and indices.shape.dim_values[-1] == 1:
        return IndexedSlices(grad, squeeze(indices, axis=-1), size), None
    policy = op.get_attr("bad_indices_policy").decode()
    return scatter_nd(indices, grad, size, bad_indices_policy=policy), None


def gather_nd(
    params: Any,
    indices: Any,
    name: str | None = None,
    batch_dims: int = 0,
    bad_indices_policy: str = "",
) -> Tensor:
    """Parts of a tensor by coordinates.

    Args:
      params: what is picked from; a variable is read only where needed.
      indices: coordinates along the last dimension.
      name: the name of the op.
      batch_dims: how many leading dimensions of both belong together.
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


def batch_gather_nd(params: Any, indices: Any, batch_dims: int, name: str | None = None) -> Tensor:
    """GatherNd for every batch by itself."""
    from tfnb.ops import cast_ops, sequence_ops

    with name_scope(name, "BatchGatherND", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        ndims = indices.shape.ndims
        if ndims is None:
            raise ValueError("The number of dimensions of indices must be known.")
        if not 0 <= batch_dims < ndims:
            raise ValueError(f"batch_dims = {batch_dims} must be in [0, {ndims})")
        if params.shape.ndims is not None and batch_dims >= params.shape.ndims:
            raise ValueError(
                f"batch_dims = {batch_dims} must be less than rank(params) = {params.shape.ndims}"
            )
        sizes = shape_of(params)[:batch_dims]
        number = 1
        for axis in range(batch_dims - 1, -1, -1):
            # Coordinates of the batch go in front of those given.
            count = sizes[axis]
            form = [1] * axis + [-1] + [1] * (ndims - 1 - axis)
            column = reshape(cast_ops.cast(sequence_ops.range_(count), indices.dtype), form)
            whole = concat([shape_of(indices)[:-1], [1]], 0)
            from tfnb.ops.shape_ops import broadcast_to

            indices = concat([broadcast_to(column, whole), indices], -1)
            number += 1
        found: Tensor = gather_nd_op(params, indices)
        return found


# ---------------------------------------------------------------------------------------- ScatterNd


def _scatter_nd_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(2, 1)
    c.with_rank_at_least(1, 1)
    target = c.constant_value_as_shape(2)
    return scatter_nd_shape_of(c, target, 0, 1)


def scatter_nd_shape_of(
    c: InferenceContext, target: TensorShape, indices_at: int, updates_at: int
) -> TensorShape:
    """Checks indices and updates against the shape they go into, and gives that shape."""
    indices = c.with_rank_at_least(indices_at, 1).dim_values
    updates = c.inputs[updates_at].dim_values
    dims = target.dim_values
    if target.num_elements() == 0 and (
        c.inputs[indices_at].num_elements() or c.inputs[updates_at].num_elements()
    ):
        raise ValueError("Indices and updates specified for empty input")
    if dims is None or indices is None or updates is None or indices[-1] is None:
        return target
    outer, depth = len(indices) - 1, indices[-1]
    try:
        merge_shapes(TensorShape(updates[:outer]), TensorShape(indices[:-1]))
    except ValueError:
        raise ValueError(
            f"Dimensions [0,{outer}) of indices[shape={_static(indices)}] must match dimensions "
            f"[0,{outer}) of updates[shape={_static(updates)}]"
        ) from None
    if depth > len(dims) or len(updates) < outer:
        raise ValueError(
            f"Dimensions [{depth},{len(dims)}) of input[shape={_static(dims)}] must match "
            f"dimensions [{outer},{len(updates)}) of updates[shape={_static(updates)}]"
        )
    try:
        merge_shapes(TensorShape(dims[depth:]), TensorShape(updates[outer:]))
    except ValueError:
        raise ValueError(
            f"Dimensions [{depth},{len(dims)}) of input[shape={_static(dims)}] must match "
            f"dimensions [{outer},{len(updates)}) of updates[shape={_static(updates)}]"
        ) from None
    return target


def _static(dims: Any) -> str:
    return shape_text(["?" if dim is None else dim for dim in dims])


def check_nd(dims: Any, indices: Any, updates: Any) -> None:
    """Checks what scattering kernels get against the shape that it goes into.

    A vector of indices counts as rows of one coordinate here, though shape functions take it for
    one row of coordinates.
    """
    for name, part in (("Indices", indices), ("Updates", updates)):
        if part.ndim < 1:
            raise errors.invalid_argument(f"{name} shape must have rank at least one. Found:[]")
    given = bool(indices.size) + bool(updates.size)
    if given and not (given == 2 and math.prod(dims)):
        raise errors.invalid_argument(
            "Indices and updates specified for empty output shape. indices shape: "
            f"{shape_text(indices.shape)}"
        )
    outer, depth = (indices.ndim - 1, indices.shape[-1]) if indices.ndim > 1 else (1, 1)
    _check_nd_parts(dims, indices, updates, outer, depth)


def _check_nd_as_one(dims: Any, indices: Any, updates: Any) -> None:
    """Checks as `check_nd` does, and besides that a vector of indices fits as one row."""
    check_nd(dims, indices, updates)
    if indices.ndim == 1:
        _check_nd_parts(dims, indices, updates, 0, indices.shape[0])


def _check_nd_parts(dims: Any, indices: Any, updates: Any, outer: int, depth: int) -> None:
    if updates.shape[:outer] != indices.shape[:outer]:
        raise errors.invalid_argument(
            f"Dimensions [0,{outer}) of indices[shape={shape_text(indices.shape)}] must match "
            f"dimensions [0,{outer}) of updates[shape={shape_text(updates.shape)}]"
        )
    if depth > len(dims) or updates.shape[outer:] != tuple(dims[depth:]):
        raise errors.invalid_argument(
            f"Dimensions [{depth},{len(dims)}) of input[shape={shape_text(dims)}] must match "
            f"dimensions [{outer},{updates.ndim}) of updates[shape={shape_text(updates.shape)}]"
        )


def scatter_nd_into(
    xp: Any, target: Any, indices: Any, updates: Any, operation: str, policy: str = ""
) -> None:
    """Combines updates into an array that may be written to, at coordinates."""
    if indices.ndim == 1:
        indices = indices.reshape(-1, 1)
    depth = indices.shape[-1]

    def refuse(position: int) -> None:
        row = indices.reshape(-1, depth)[position].tolist()
        raise errors.invalid_argument(
            f"indices{_place_text(indices, position)} = [{', '.join(map(str, row))}] does not "
            f"index into shape {shape_text(target.shape)}"
        )

    places, valid = nd_index(indices, target.shape, policy, refuse, xp)
    tail = target.shape[depth:]
    rows = target.reshape(math.prod(target.shape[:depth]), *tail)
    values = updates.reshape(math.prod(indices.shape[:-1]), *tail)
    if valid is not None:
        places, values = places[valid], values[valid]
    scatter_rows(xp, rows, places, values, operation)
    if not np.shares_memory(rows, target) if xp is np else False:
        target[...] = rows.reshape(target.shape)


@register_op(
    "ScatterNd",
    "indices: Tindices, updates: T, shape: Tindices -> output: T",
    "T: type",
    "Tindices: {int16, int32, int64}",
    "bad_indices_policy: string = ''",
    shape=_scatter_nd_shape,
    host_memory=("shape",),
)
def scatter_nd_op(
    xp: Any, indices: Any, updates: Any, shape: Any, *, bad_indices_policy: str
) -> Any:
    """Zeros with updates added at coordinates."""
    if shape.ndim != 1:
        raise errors.invalid_argument("Shape must be a vector")
    sizes = shape.tolist()
    for size in sizes:
        if size < 0:
            raise errors.invalid_argument(f"Dimension {size} must be >= 0")
    _check_nd_as_one(sizes, indices, updates)
    if updates.dtype == object:
        out = np.empty(sizes, object)
        out[...] = b""
    else:
        out = xp.zeros(sizes, updates.dtype)
    if out.size and updates.size:
        scatter_nd_into(xp, out, indices, updates, "add", bad_indices_policy)
    return out


@scatter_nd_op.gradient
def _(op: Any, grad: Any) -> Any:
    indices = op.inputs[0]
    return None, gather_nd(grad, indices), None


def scatter_nd(
    indices: Any, updates: Any, shape: Any, name: str | None = None, bad_indices_policy: str = ""
) -> Tensor:
    """Zeros of the given shape with updates added at coordinates."""
    found: Tensor = scatter_nd_op(
        indices, updates, shape, bad_indices_policy=bad_indices_policy, name=name
    )
    return found


def _tensor_scatter_shape(c: InferenceContext) -> TensorShape:
    return scatter_nd_shape_of(c, c.inputs[0], 1, 2)


@register_op(
    "ScatterNdNonAliasingAdd",
    "input: T, indices: Tindices, updates: T -> output: T",
    "T: {numbertype, bool}",
    "Tindices: {int32, int64}",
    "bad_indices_policy: string = ''",
    shape=_tensor_scatter_shape,
)
def scatter_nd_non_aliasing_add(
    xp: Any, input: Any, indices: Any, updates: Any, *, bad_indices_policy: str
) -> Any:
    """The input with updates added at coordinates."""
    check_nd(input.shape, indices, updates)
    out = xp.array(input)
    scatter_nd_into(xp, out, indices, updates, "add", bad_indices_policy)
    return out


@scatter_nd_non_aliasing_add.gradient
def _(op: Any, grad: Any) -> Any:
    return grad, None, gather_nd(grad, op.inputs[1])


def _tensor_scatter(
    xp: Any, tensor: Any, indices: Any, updates: Any, policy: str, operation: str
) -> Any:
    _check_nd_as_one(tensor.shape, indices, updates)
    out = xp.array(tensor)
    if updates.size:
        scatter_nd_into(xp, out, indices, updates, operation, policy)
    return out


_TENSOR_SCATTER = (
    "tensor: T, indices: Tindices, updates: T -> output: T",
    "T: type",
    "Tindices: {int32, int64}",
    "bad_indices_policy: string = ''",
)


@register_op(
    "TensorScatterUpdate",
    "tensor: T, indices: Tindices, updates: T -> output: T",
    "T: type",
    "Tindices: {int16, int32, int64, uint16}",
    "bad_indices_policy: string = ''",
    shape=_tensor_scatter_shape,
)
def tensor_scatter_nd_update(
    xp: Any, tensor: Any, indices: Any, updates: Any, *, bad_indices_policy: str
) -> Any:
    """The tensor with updates put at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "assign")


@register_op("TensorScatterAdd", *_TENSOR_SCATTER, shape=_tensor_scatter_shape)
def tensor_scatter_nd_add(
    xp: Any, tensor: Any, indices: Any, updates: Any, *, bad_indices_policy: str
) -> Any:
    """The tensor with updates added at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "add")


@register_op("TensorScatterSub", *_TENSOR_SCATTER, shape=_tensor_scatter_shape)
def tensor_scatter_nd_sub(
    xp: Any, tensor: Any, indices: Any, updates: Any, *, bad_indices_policy: str
) -> Any:
    """The tensor with updates subtracted at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "sub")


@register_op("TensorScatterMin", *_TENSOR_SCATTER, shape=_tensor_scatter_shape)
def tensor_scatter_nd_min(
    xp: Any, tensor: Any, indices: Any, updates: Any, *, bad_indices_policy: str
) -> Any:
    """The tensor with the smaller of it and the updates at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "min")


@register_op("TensorScatterMax", *_TENSOR_SCATTER, shape=_tensor_scatter_shape)
def tensor_scatter_nd_max(
    xp: Any, tensor: Any, indices: Any, updates: Any, *, bad_indices_policy: str
) -> Any:
    """The tensor with the greater of it and the updates at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "max")


@tensor_scatter_nd_update.gradient
def _(op: Any, grad: Any) -> Any:
    indices = op.inputs[1]
    updates_grad = gather_nd(grad, indices)
    tensor_grad = tensor_scatter_nd_update(identity(grad), indices, zeros_like(op.inputs[2]))
    return tensor_grad, None, updates_grad


@tensor_scatter_nd_add.gradient
def _(op: Any, grad: Any) -> Any:
    return grad, None, gather_nd(grad, op.inputs[1])


@tensor_scatter_nd_sub.gradient
def _(op: Any, grad: Any) -> Any:
    return grad, None, -gather_nd(grad, op.inputs[1])


def _tensor_scatter_extremum_gradient(op: Any, grad: Any) -> Any:
    from tfnb.ops import cast_ops, math_ops

    indices, x, y = op.inputs[1], op.inputs[0], op.inputs[2]
    output = op.outputs[0]
    x_chosen = cast_ops.cast(math_ops.equal(x, output), x.dtype)
    y_chosen = cast_ops.cast(math_ops.equal(y, gather_nd(output, indices)), x.dtype)
    # Where several are equal, each gets its share.
    number = tensor_scatter_nd_add(x_chosen, indices, y_chosen)
    return (
        grad * x_chosen / number,
        None,
        gather_nd(grad / number, indices) * y_chosen,
    )


tensor_scatter_nd_min.gradient(_tensor_scatter_extremum_gradient)
tensor_scatter_nd_max.gradient(_tensor_scatter_extremum_gradient)

# ------------------------------------------------------------------------------------------- OneHot


def _one_hot_shape(c: InferenceContext) -> TensorShape:
    axis = c.attr("axis")
    if axis < -1:
        raise ValueError("axis must be >= -1")
    for index in (1, 2, 3):
        c.with_rank(index, 0)
    dims = c.inputs[0].dim_values
    depth = c.constant_value(1)
    if depth is not None and int(depth) < 0:
        raise ValueError(f"depth must be non-negative, got: {int(depth)}")
    if dims is None:
        return UNKNOWN_SHAPE
    # An axis beyond the rank is refused by the kernel.
    place = len(dims) if axis == -1 else axis if axis <= len(dims) else 0
    return TensorShape([*dims[:place], None if depth is None else int(depth), *dims[place:]])


@register_op(
    "OneHot",
    "indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
    "axis: int = -1",
    "T: type",
    "TI: {uint8, int8, int32, int64} = DT_INT64",
    shape=_one_hot_shape,
    host_memory=("depth",),
)
def one_hot_op(
    xp: Any, indices: Any, depth: Any, on_value: Any, off_value: Any, *, axis: int
) -> Any:
    """``on_value`` at every index along a new axis and ``off_value`` elsewhere."""
    rank = indices.ndim
    if not (axis == -1 or 0 <= axis <= rank):
        raise errors.invalid_argument(
            f"Expected axis to be -1 or between [0, {rank + 1}).  But received: {axis}"
        )
    for name, value in (("depth", depth), ("on_value", on_value), ("off_value", off_value)):
        if value.ndim:
            raise errors.invalid_argument(
                f"{name} must be a scalar, but got: {shape_text(value.shape)}"
            )
    count = int(depth)
    if count < 0:
        raise errors.invalid_argument(f"depth must be non-negative, got: {count}")
    place = rank if axis == -1 else axis
    head, tail = indices.shape[:place], indices.shape[place:]
    check_fits(xp, (*head, count, *tail), on_value.dtype)
    out = xp.empty((math.prod(head), count, math.prod(tail)), on_value.dtype)
    out[...] = off_value if on_value.dtype != object else off_value[()]
    flat = xp.asarray(indices).reshape(math.prod(head), math.prod(tail))
    rows, columns = xp.nonzero((flat >= 0) & (flat < count))
    out[rows, flat[rows, columns], columns] = on_value if on_value.dtype != object else on_value[()]
    return out.reshape(*head, count, *tail)


one_hot_op.not_differentiable()


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """``on_value`` at every index along a new axis and ``off_value`` elsewhere.

    Args:
      indices: numbers; one that is not in ``[0, depth)`` gives ``off_value`` everywhere.
      depth: the size of the new axis.
      on_value: 1 by default.
      off_value: 0 by default.
      axis: where the new axis stands; -1, the default, is last.
      dtype: the type; that of the values, or float32.
      name: the name of the op.

    Raises:
      TypeError: the values and ``dtype`` do not agree.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as name:
        dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        given: dict[str, Tensor] = {}
        for label, value in (("on_value", on_value), ("off_value", off_value)):
            if value is not None:
                given[label] = convert_to_tensor(value, dtype_hint=dtype)
        for label, value in given.items():
            found_dtype = value.dtype.base_dtype
            if dtype is not None and found_dtype is not dtype:
                raise TypeError(
                    f"dtype {found_dtype} of {label} does not match dtype parameter {dtype}"
                )
        if dtype is None:
            dtype = next((v.dtype.base_dtype for v in given.values()), dtypes.float32)
        on = given.get("on_value")
        if on is None:
            on = convert_to_tensor(1, dtype, name="on_value")
        off = given.get("off_value")
        if off is None:
            off = convert_to_tensor(0, dtype, name="off_value")
        if on.dtype.base_dtype is not off.dtype.base_dtype:
            raise TypeError(
                f"dtype {on.dtype.base_dtype} of on_value does not match dtype "
                f"{off.dtype.base_dtype} of off_value"
            )
        found: Tensor = one_hot_op(
            indices, depth, on, off, axis=-1 if axis is None else axis, name=name
        )
        return found


# -------------------------------------------------------------------------------------------- Where


def _where_shape(c: InferenceContext) -> TensorShape:
    return TensorShape([None, c.inputs[0].ndims])


@register_op(
    "Where",
    "input: T -> index: int64",
    "T: {numbertype, bool} = DT_BOOL",
    shape=_where_shape,
)
def where_op(xp: Any, input: Any) -> Any:
    """The coordinates of all elements that are not zero, row by row."""
    value = xp.asarray(input)
    if value.ndim == 0:
        raise errors.invalid_argument("WhereOp : Unhandled input dimensions: 0")
    return xp.argwhere(value != 0).astype(np.int64, copy=False)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """The coordinates where a condition holds, or elements of ``x`` there and of ``y`` elsewhere.

    Args:
      condition: a tensor; what is not zero counts as true.
      x: if given, ``y`` is too, of the same shape; ``condition`` may be a vector that chooses rows.
      y: see ``x``.
      name: the name of the op.

    Raises:
      ValueError: only one of ``x`` and ``y`` is given.
    """
    from tfnb.ops.cwise_binary_ops import select

    found: Tensor
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as name:
            condition = convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")
            found = where_op(condition, name=name)
            return found
    if x is not None and y is not None:
        found = select(condition, x, y, name=name)
        return found
    raise ValueError("x and y must both be non-None or both be None.")


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """As :func:`where`, with broadcasting between the three."""
    from tfnb.ops.cwise_binary_ops import select_v2

    found: Tensor
    if x is None and y is None:
        return where(condition, name=name)
    if x is not None and y is not None:
        found = select_v2(condition, x, y, name=name)
        return found
    raise ValueError("x and y must both be non-None or both be None.")


def boolean_mask(
    tensor: Any, mask: Any, name: str | None = "boolean_mask", axis: Any = None
) -> Tensor:
    """The elements of a tensor where a mask is true.

    Args:
      tensor: the tensor.
      mask: a tensor of bools whose rank is known; its shape is that of the first dimensions of
        ``tensor``, from ``axis`` on.
      name: the name of the op.
      axis: the first of these dimensions; 0 by default.

    Raises:
      ValueError: the mask is a scalar or of unknown rank, or does not fit.
    """
    from tfnb.ops import math_ops

    with name_scope(name, values=[tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        mask_rank = mask.shape.ndims
        if mask_rank == 0:
            raise ValueError("mask cannot be scalar.")
        if mask_rank is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        axis = 0 if axis is None else axis
        static_axis = constant_value(axis)
        whole = tensor.shape
        if static_axis is not None:
            axis = int(static_axis)
            whole[axis : axis + mask_rank].assert_is_compatible_with(mask.shape)
        leading = math_ops.reduce_prod(shape_of(tensor)[axis : axis + mask_rank], [0])
        head, tail = shape_of(tensor)[:axis], shape_of(tensor)[axis + mask_rank :]
        tensor = reshape(tensor, concat([head, [leading], tail], 0))
        if static_axis is not None:
            first = whole[axis : axis + mask_rank].num_elements()
            tensor.set_shape(
                TensorShape(whole[:axis])
                .concatenate([first])
                .concatenate(whole[axis + mask_rank :])
            )
        mask = reshape(mask, [-1])
        indices = squeeze(where_v2(mask), axis=[1])
        return gather(tensor, indices, axis=axis)


# ----------------------------------------------------------------------------------- sorted search


def _bound_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 2)
    c.with_rank(1, 2)
    return c.inputs[1]


def _search(xp: Any, sorted_inputs: Any, values: Any, out_type: Any, side: str) -> Any:
    if sorted_inputs.ndim != 2 or values.ndim != 2:
        raise errors.invalid_argument(
            f"sorted input argument must be a matrix: {shape_text(sorted_inputs.shape)}, values: "
            f"{shape_text(values.shape)}"
        )
    if sorted_inputs.shape[0] != values.shape[0]:
        raise errors.invalid_argument("Leading dim_size of both tensors must match.")
    out = xp.empty(values.shape, out_type.numpy_dtype)
    for row in builtins.range(values.shape[0]):
        out[row] = xp.searchsorted(sorted_inputs[row], values[row], side=side)
    return out


_BOUND = (
    "sorted_inputs: T, values: T -> output: out_type",
    "T: type",
    "out_type: {int32, int64} = DT_INT32",
)


@register_op("LowerBound", *_BOUND, shape=_bound_shape)
def lower_bound(xp: Any, sorted_inputs: Any, values: Any, *, out_type: Any) -> Any:
    """Where each value would be put into its sorted row, before equal ones."""
    return _search(xp, sorted_inputs, values, out_type, "left")


@register_op("UpperBound", *_BOUND, shape=_bound_shape)
def upper_bound(xp: Any, sorted_inputs: Any, values: Any, *, out_type: Any) -> Any:
    """Where each value would be put into its sorted row, after equal ones."""
    return _search(xp, sorted_inputs, values, out_type, "right")


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Where values would be put into sorted rows.

    Args:
      sorted_sequence: rows in increasing order.
      values: as many rows.
      side: before (left) or after (right) equal elements.
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
