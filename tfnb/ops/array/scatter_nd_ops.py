"""Placing by index: ScatterNd and the TensorScatter ops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_countable, check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import (
    InferenceContext,
    merge_shapes,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array.gather_ops import gather_nd, nd_index, place_text
from tfnb.ops.array.scatter_kernels import scatter_rows
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike
    from tfnb.ops.array import constant_ops, identity_ops, shape_ops
else:
    constant_ops = later("tfnb.ops.array.constant_ops")
    identity_ops = later("tfnb.ops.array.identity_ops")
    shape_ops = later("tfnb.ops.array.shape_ops")

EXPORTS = {
    "tf": [
        "scatter_nd",
        "tensor_scatter_update:tensor_scatter_nd_update",
        "tensor_scatter_nd_update",
        "tensor_scatter_add:tensor_scatter_nd_add",
        "tensor_scatter_nd_add",
        "tensor_scatter_sub:tensor_scatter_nd_sub",
        "tensor_scatter_nd_sub",
        "tensor_scatter_nd_min",
        "tensor_scatter_nd_max",
    ],
    "manip": ["scatter_nd"],
}


def _scatter_nd_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(2, 1)
    c.with_rank_at_least(1, 1)
    target = c.constant_value_as_shape(2)
    return scatter_nd_shape_of(c, target, 0, 1)


def scatter_nd_shape_of(
    c: InferenceContext, target: TensorShape, indices_at: int, updates_at: int
) -> TensorShape:
    """Check indices and updates against the shape they are written into, and return that shape."""
    indices = c.with_rank_at_least(indices_at, 1).dim_values
    updates = c.inputs[updates_at].dim_values
    dims = target.dim_values
    if target.num_elements() == 0 and (
        c.inputs[indices_at].num_elements() or c.inputs[updates_at].num_elements()
    ):
        raise ValueError("Indices and updates specified for empty input")
    if dims is None or indices is None or not updates or indices[-1] is None:
        return target
    outer, depth = len(indices) - 1, indices[-1]
    try:
        merge_shapes(TensorShape(updates[:outer]), TensorShape(indices[:-1]))
    except ValueError:
        raise ValueError(
            f"Dimensions [0,{outer}) of indices[shape={_static(indices)}] must match dimensions "
            f"[0,{outer}) of updates[shape={_static(updates)}]"
        ) from None
    try:
        merge_shapes(TensorShape(dims[depth:]), TensorShape(updates[outer:]))
    except ValueError:
        raise ValueError(
            f"Dimensions [{depth},{len(dims)}) of input[shape={_static(dims)}] must match "
            f"dimensions [{outer},{len(updates)}) of updates[shape={_static(updates)}]"
        ) from None
    return target


def _static(dims: TensorLike) -> str:
    return shape_text(["?" if dim is None else dim for dim in dims])


def check_nd(dims: Array, indices: Array, updates: Array) -> None:
    """Check the arguments of scattering kernels against the shape they are written into.

    A vector of indices counts here as rows of one coordinate, though shape functions take it as
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
    if not len(dims):
        raise errors.invalid_argument("Output must be at least 1-D, got shape: []")


def _check_nd_as_one(dims: Array, indices: Array, updates: Array) -> None:
    """Check as `check_nd` does, and that a vector of indices fits as one row of coordinates."""
    check_nd(dims, indices, updates)
    if indices.ndim == 1:
        _check_nd_parts(dims, indices, updates, 0, indices.shape[0])


def _check_nd_parts(dims: Array, indices: Array, updates: Array, outer: int, depth: int) -> None:
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
    xp: Xp, target: Array, indices: Array, updates: Array, operation: str, policy: str = ""
) -> None:
    """Combine updates into a writable array, at coordinates."""
    if indices.ndim == 1:
        indices = indices.reshape(-1, 1)
    depth = indices.shape[-1]

    def refuse(position: int) -> None:
        row = indices.reshape(-1, depth)[position].tolist()
        raise errors.invalid_argument(
            f"indices{place_text(indices, position)} = [{', '.join(map(str, row))}] does not "
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
    traits="rearranges",
)
def scatter_nd_op(
    xp: Xp, indices: Array, updates: Array, shape: Array, *, bad_indices_policy: str
) -> Array:
    """Return zeros with updates added at coordinates."""
    if shape.ndim != 1:
        raise errors.invalid_argument("Shape must be a vector")
    sizes = shape.tolist()
    for size in sizes:
        if size < 0:
            raise errors.invalid_argument(f"Dimension {size} must be >= 0")
    check_countable(sizes, is_given=True)
    _check_nd_as_one(sizes, indices, updates)
    check_fits(xp, sizes, updates.dtype, is_given=True)
    if updates.dtype == object:
        out = np.empty(sizes, object)
        out[...] = b""
    else:
        out = xp.zeros(sizes, updates.dtype)
    if out.size and updates.size:
        scatter_nd_into(xp, out, indices, updates, "add", bad_indices_policy)
    return out


@scatter_nd_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    indices = op.inputs[0]
    return None, gather_nd(grad, indices), None


def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Return zeros of the given shape with updates added at coordinates."""
    found: Tensor = scatter_nd_op(
        indices, updates, shape, bad_indices_policy=bad_indices_policy, name=name
    )
    return found


def _tensor_scatter_shape(c: InferenceContext) -> TensorShape:
    return scatter_nd_shape_of(c, c.with_rank_at_least(0, 1), 1, 2)


@register_op(
    "ScatterNdNonAliasingAdd",
    "input: T, indices: Tindices, updates: T -> output: T",
    "T: {numbertype, bool}",
    "Tindices: {int32, int64}",
    "bad_indices_policy: string = ''",
    shape=_tensor_scatter_shape,
)
def scatter_nd_non_aliasing_add(
    xp: Xp, input: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    """Return the input with updates added at coordinates."""
    check_nd(input.shape, indices, updates)
    out = xp.array(input)
    scatter_nd_into(xp, out, indices, updates, "add", bad_indices_policy)
    return out


@scatter_nd_non_aliasing_add.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad, None, gather_nd(grad, op.inputs[1])


def _tensor_scatter(
    xp: Xp, tensor: Array, indices: Array, updates: Array, policy: str, operation: str
) -> Array:
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
def tensor_scatter_update_op(
    xp: Xp, tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    """Return the tensor with updates put at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "assign")


@register_op("TensorScatterAdd", *_TENSOR_SCATTER, shape=_tensor_scatter_shape)
def tensor_scatter_nd_add(
    xp: Xp, tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    """Return the tensor with updates added at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "add")


@register_op("TensorScatterSub", *_TENSOR_SCATTER, shape=_tensor_scatter_shape)
def tensor_scatter_nd_sub(
    xp: Xp, tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    """Return the tensor with updates subtracted at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "sub")


@register_op("TensorScatterMin", *_TENSOR_SCATTER, shape=_tensor_scatter_shape)
def tensor_scatter_nd_min(
    xp: Xp, tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    """Return the tensor with the smaller of it and the updates at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "min")


@register_op("TensorScatterMax", *_TENSOR_SCATTER, shape=_tensor_scatter_shape)
def tensor_scatter_nd_max(
    xp: Xp, tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    """Return the tensor with the greater of it and the updates at coordinates."""
    return _tensor_scatter(xp, tensor, indices, updates, bad_indices_policy, "max")


@tensor_scatter_update_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    indices = op.inputs[1]
    updates_grad = gather_nd(grad, indices)
    tensor_grad = tensor_scatter_update_op(
        identity_ops.identity(grad), indices, constant_ops.zeros_like(op.inputs[2])
    )
    return tensor_grad, None, updates_grad


@tensor_scatter_nd_add.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    updates_grad = gather_nd(grad, op.inputs[1])
    return identity_ops.identity(grad), None, updates_grad


@tensor_scatter_nd_sub.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    updates_grad = gather_nd(grad, op.inputs[1])
    return identity_ops.identity(grad), None, -updates_grad


def _tensor_scatter_extremum_gradient(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array import cast_ops

    indices, x, y = op.inputs[1], op.inputs[0], op.inputs[2]
    output = op.outputs[0]
    x_chosen = cast_ops.cast(provided.equal(x, output), grad.dtype)
    y_chosen = cast_ops.cast(provided.equal(y, gather_nd(output, indices)), grad.dtype)
    # Where several updates are equal, each gets its share.
    size = shape_ops.shape(x, out_type=indices.dtype)
    number = x_chosen + scatter_nd(indices, y_chosen, size)
    return (
        grad * x_chosen / number,
        None,
        gather_nd(grad / number, indices) * y_chosen,
    )


tensor_scatter_nd_min.gradient(_tensor_scatter_extremum_gradient)
tensor_scatter_nd_max.gradient(_tensor_scatter_extremum_gradient)


def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a tensor with its values at coordinates replaced."""
    found: Tensor = tensor_scatter_update_op(tensor, indices, updates, name=name)
    return found
