"""Reductions: sums, means, products, extremes, any and all, argmax.

Axes are an input, so they may be computed; negative ones count from the end. float16 and bfloat16
are summed in float32 and rounded once. Corresponds to TensorFlow's ``reduction_ops*.cc`` and
``argmax_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import colocate_with, device, name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import sum_over
from tfnb.ops.base.renamed_arguments import renamed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.array import cast_ops, data_flow_ops, unique_ops
    from tfnb.ops.math import (
        comparison_ops,
        complex_ops,
        cwise_binary_ops,
        cwise_unary_ops,
        select_ops,
        sequence_ops,
    )
else:
    cast_ops = later("tfnb.ops.array.cast_ops")
    data_flow_ops = later("tfnb.ops.array.data_flow_ops")
    unique_ops = later("tfnb.ops.array.unique_ops")
    comparison_ops = later("tfnb.ops.math.comparison_ops")
    complex_ops = later("tfnb.ops.math.complex_ops")
    cwise_binary_ops = later("tfnb.ops.math.cwise_binary_ops")
    cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")
    select_ops = later("tfnb.ops.math.select_ops")
    sequence_ops = later("tfnb.ops.math.sequence_ops")

EXPORTS = {
    "tf": [
        "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min",
        "reduce_prod", "reduce_sum", "count_nonzero", "argmax", "argmin", "arg_max", "arg_min",
    ],
    "math": [
        "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min",
        "reduce_prod", "reduce_sum", "reduce_euclidean_norm", "reduce_std", "reduce_variance",
        "count_nonzero", "argmax", "argmin",
    ],
}  # fmt: skip

_KEEP = "keep_dims: bool = false"
_AXIS_TYPE = "Tidx: {int32, int64} = DT_INT32"


# ---------------------------------------------------------------------------------- shapes and axes


# Graphs of older writers may give axes as a matrix.
_FIRST_WITH_VECTORS_OF_AXES = 21


def _reduction_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    if c.graph_def_version >= _FIRST_WITH_VECTORS_OF_AXES:
        c.with_rank_at_most(1, 1)
    keep_dims = c.attr("keep_dims")
    axes = c.constant_value(1)
    if axes is None:
        if keep_dims and dims is not None:
            return TensorShape([None] * len(dims))
        return UNKNOWN_SHAPE
    if dims is None:
        return UNKNOWN_SHAPE
    rank = len(dims)
    reduced = set()
    for axis in np.asarray(axes).reshape(-1).tolist():
        if not -rank <= axis < rank:
            raise ValueError(
                f"Invalid reduction dimension {axis} for input with {rank} dimensions."
            )
        reduced.add(axis % rank)
    if keep_dims:
        return TensorShape([1 if i in reduced else d for i, d in enumerate(dims)])
    return TensorShape([d for i, d in enumerate(dims) if i not in reduced])


def _axes(x: Array, indices: Array) -> tuple[int, ...]:
    """Return the axes to reduce as non-negative numbers."""
    if not indices.size:
        return ()
    rank = x.ndim
    axes = (int(indices),) if indices.ndim == 0 else tuple(indices.reshape(-1).tolist())
    for axis in axes:
        if not -rank <= axis < rank:
            raise errors.invalid_argument(
                f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
            )
    positive = tuple([axis % rank for axis in axes])
    if len(set(positive)) != len(positive):
        twice = next(axis for axis in positive if positive.count(axis) > 1)
        raise errors.invalid_argument(
            f"Invalid reduction arguments: Axes contains duplicate dimension: {twice}"
        )
    return positive


def _axes_kernel(
    plain: Callable[..., Array], reduction_indices: Array, keep_dims: bool
) -> Callable[[Array], Array]:
    """Return a reduction's kernel for constant axes, which are looked at once for each rank."""
    by_rank: dict[int, tuple[int, ...]] = {}

    def reduced(x: Array) -> Array:
        axes = by_rank.get(x.ndim)
        if axes is None:
            axes = by_rank[x.ndim] = _axes(x, reduction_indices)
        return plain(np, x, axes, keep_dims) if axes else x

    return reduced


def _is_small_float(x: Array) -> bool:
    """Return whether sums of this dtype are accumulated in float32: float16 and bfloat16."""
    return x.dtype.itemsize == 2 and x.dtype.kind not in "iu"


# ------------------------------------------------------------------------------------- sum and mean


@register_op(
    "Sum",
    "input: T, reduction_indices: Tidx -> output: T",
    _KEEP,
    "T: numbertype",
    _AXIS_TYPE,
    shape=_reduction_shape,
    host_memory=("reduction_indices",),
    traits="launches",
)
def sum_op(xp: Xp, x: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    """Return the sum over some axes."""
    axes = _axes(x, reduction_indices)
    return _sum(xp, x, axes, keep_dims) if axes else x


def _sum(xp: Xp, x: Array, axes: tuple[int, ...], keep_dims: bool) -> Array:
    if _is_small_float(x):
        return sum_over(xp, x.astype(np.float32), axes, keep_dims).astype(x.dtype)
    return sum_over(xp, x, axes, keep_dims)


# Gradients of ops that may broadcast, but seldom do, sum over no axes.
sum_op.expression(
    "{input} if not {reduction_indices}.size else {kernel}", is_elementwise=False, is_new=False
)


@sum_op.with_constants("reduction_indices")
def _(reduction_indices: Array, *, keep_dims: bool) -> Callable[[Array], Array]:
    return _axes_kernel(_sum, reduction_indices, keep_dims)


sum_op.float_ops(float_ops.reduction)


@sum_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _spread(op, grad), None


@register_op(
    "Mean",
    "input: T, reduction_indices: Tidx -> output: T",
    _KEEP,
    "T: numbertype",
    _AXIS_TYPE,
    shape=_reduction_shape,
    host_memory=("reduction_indices",),
    traits="launches",
)
def mean_op(xp: Xp, x: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    """Return the mean over some axes; integers are truncated towards zero.

    The mean of no elements is NaN, for complex dtypes 0.
    """
    axes = _axes(x, reduction_indices)
    return _mean(xp, x, axes, keep_dims) if axes else x


def _mean(xp: Xp, x: Array, axes: tuple[int, ...], keep_dims: bool) -> Array:
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    if x.dtype.char in "fd":
        mean: Array = sum_over(xp, x, axes, keep_dims) / x.dtype.type(count)
        return mean
    if _is_small_float(x):
        total = sum_over(xp, x.astype(np.float32), axes, keep_dims)
        return (total / np.float32(count)).astype(x.dtype)
    if x.dtype.kind in "iu":
        wide = np.uint64 if x.dtype == np.uint64 else np.int64
        total = x.sum(axis=axes, dtype=wide, keepdims=keep_dims)
        divisor = wide(max(count, 1))
        quotient = total // divisor
        return (quotient + ((total < 0) & (quotient * divisor != total))).astype(x.dtype)
    total = sum_over(xp, x, axes, keep_dims)
    return total / x.dtype.type(count) if count or x.dtype.kind != "c" else total


@mean_op.with_constants("reduction_indices")
def _(reduction_indices: Array, *, keep_dims: bool) -> Callable[[Array], Array]:
    return _axes_kernel(_mean, reduction_indices, keep_dims)


mean_op.float_ops(float_ops.mean)


@mean_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs[0], op.outputs[0]
    spread = _spread(op, grad)
    size_in, size_out = x.shape.num_elements(), y.shape.num_elements()
    if size_in is not None and size_out is not None:
        factor = array_ops.constant(size_in // max(size_out, 1), dtype=spread.dtype)
    else:
        shape = array_ops.shape(x)
        rank = array_ops.size(shape)
        axes = (cast_ops.cast(op.inputs[1], dtypes.int32) + rank) % rank
        factor = cast_ops.cast(reduce_prod(array_ops.gather(shape, axes)), spread.dtype)
    return spread / factor, None


@register_op(
    "EuclideanNorm",
    "input: T, reduction_indices: Tidx -> output: T",
    _KEEP,
    "T: numbertype",
    _AXIS_TYPE,
    shape=_reduction_shape,
    host_memory=("reduction_indices",),
)
def euclidean_norm(xp: Xp, x: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    """Return the square root of the sum of x * conj(x) over some axes."""
    axes = _axes(x, reduction_indices)
    wide = x.astype(np.float32) if _is_small_float(x) else x
    squares = wide * (xp.conj(wide) if x.dtype.kind == "c" else wide)
    if wide is not x:
        # The squares have the dtype of x and may overflow.
        squares = squares.astype(x.dtype).astype(np.float32)
    total = sum_over(xp, squares, axes, keep_dims) if axes else squares
    return xp.sqrt(total).astype(x.dtype)


@euclidean_norm.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    output = op.outputs[0]
    if not op.get_attr("keep_dims"):
        kept = reduced_shape(array_ops.shape(op.inputs[0]), op.inputs[1])
        output, grad = array_ops.reshape(output, kept), array_ops.reshape(grad, kept)
    return op.inputs[0] / (output / grad), None


# ------------------------------------------------------------------------------------------ product


@register_op(
    "Prod",
    "input: T, reduction_indices: Tidx -> output: T",
    _KEEP,
    "T: numbertype",
    _AXIS_TYPE,
    shape=_reduction_shape,
    host_memory=("reduction_indices",),
    traits="launches",
)
def prod_op(xp: Xp, x: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    """Return the product over some axes."""
    axes = _axes(x, reduction_indices)
    return _product(xp, x, axes, keep_dims) if axes else x


@prod_op.with_constants("reduction_indices")
def _(reduction_indices: Array, *, keep_dims: bool) -> Callable[[Array], Array]:
    return _axes_kernel(_product, reduction_indices, keep_dims)


def _product(xp: Xp, x: Array, axes: tuple[int, ...], keep_dims: bool) -> Array:
    if _is_small_float(x):
        return x.astype(np.float32).prod(axis=axes, keepdims=keep_dims).astype(x.dtype)
    return x.prod(axis=axes, dtype=x.dtype, keepdims=keep_dims)


@prod_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    # The product of all other elements: cumulative products from both sides, over the reduced axes
    # flattened into one.
    x = op.inputs[0]
    input_shape = array_ops.shape(x)
    axes = array_ops.reshape(op.inputs[1], [-1])
    if not op.get_attr("keep_dims"):
        grad = array_ops.reshape(grad, reduced_shape(input_shape, op.inputs[1]))
    grad = array_ops.broadcast_to(grad, input_shape)
    # These few integers are computed faster on the host.
    with device("/cpu:0"):
        rank = array_ops.rank(x)
        reduced = (cast_ops.cast(axes, rank.dtype) + rank) % rank
        others, _ = unique_ops.list_diff(
            sequence_ops.range_(0, rank), reduced, out_idx=dtypes.int32
        )
        perm = array_ops.concat([reduced, others], 0)
        reduced_size = reduce_prod(array_ops.gather(input_shape, reduced))
        other_size = reduce_prod(array_ops.gather(input_shape, others))
    permuted = array_ops.transpose(x, perm)
    permuted_shape = array_ops.shape(permuted)
    matrix = array_ops.reshape(permuted, (reduced_size, other_size))
    left = sequence_ops.cumprod(matrix, axis=0, exclusive=True)
    right = sequence_ops.cumprod(matrix, axis=0, exclusive=True, reverse=True)
    product = array_ops.reshape(
        cwise_unary_ops.conj(left) * cwise_unary_ops.conj(right), permuted_shape
    )
    out = grad * array_ops.transpose(product, array_ops.invert_permutation(perm))
    return array_ops.reshape(out, input_shape), None


# ----------------------------------------------------------------------------------------- extremes


@register_op(
    "Max",
    "input: T, reduction_indices: Tidx -> output: T",
    _KEEP,
    "T: {realnumbertype, quantizedtype}",
    _AXIS_TYPE,
    shape=_reduction_shape,
    host_memory=("reduction_indices",),
    traits="launches",
)
def max_op(xp: Xp, x: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    """Return the largest element over some axes; NaN if one is NaN.

    The maximum of no elements is the lowest value of the dtype.
    """
    axes = _axes(x, reduction_indices)
    return _largest(xp, x, axes, keep_dims) if axes else x


@max_op.with_constants("reduction_indices")
def _(reduction_indices: Array, *, keep_dims: bool) -> Callable[[Array], Array]:
    return _axes_kernel(_largest, reduction_indices, keep_dims)


def _largest(xp: Xp, x: Array, axes: tuple[int, ...], keep_dims: bool) -> Array:
    if x.size == 0:
        return _filled(xp, x, axes, keep_dims, _bounds(x.dtype)[0])
    return xp.maximum.reduce(x, axes, None, None, keep_dims)


@max_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _gradient_of_extremes(op, grad)


@register_op(
    "Min",
    "input: T, reduction_indices: Tidx -> output: T",
    _KEEP,
    "T: {realnumbertype, quantizedtype}",
    _AXIS_TYPE,
    shape=_reduction_shape,
    host_memory=("reduction_indices",),
    traits="launches",
)
def min_op(xp: Xp, x: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    """Return the smallest element over some axes; NaN if one is NaN.

    The minimum of no elements is the highest value of the dtype.
    """
    axes = _axes(x, reduction_indices)
    return _smallest(xp, x, axes, keep_dims) if axes else x


@min_op.with_constants("reduction_indices")
def _(reduction_indices: Array, *, keep_dims: bool) -> Callable[[Array], Array]:
    return _axes_kernel(_smallest, reduction_indices, keep_dims)


def _smallest(xp: Xp, x: Array, axes: tuple[int, ...], keep_dims: bool) -> Array:
    if x.size == 0:
        return _filled(xp, x, axes, keep_dims, _bounds(x.dtype)[1])
    return xp.minimum.reduce(x, axes, None, None, keep_dims)


@min_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _gradient_of_extremes(op, grad)


def _bounds(dtype: Attr) -> tuple[Array, Array]:
    """Return the lowest and the highest value of a dtype, infinities included."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min, info.max
    return -np.inf, np.inf


def _filled(xp: Xp, x: Array, axes: tuple[int, ...], keep_dims: bool, value: Array) -> Array:
    shape = [1 if i in axes else d for i, d in enumerate(x.shape) if keep_dims or i not in axes]
    return xp.full(shape, value, x.dtype)


def _gradient_of_extremes(op: Operation, grad: Tensor) -> Any:
    # Equal extremes share the gradient.
    x, axes = op.inputs
    y, shape = op.outputs[0], array_ops.shape(x)
    if op.get_attr("keep_dims"):
        kept = array_ops.shape(y)
    else:
        kept = reduced_shape(shape, axes)
        y, grad = array_ops.reshape(y, kept), array_ops.reshape(grad, kept)
    chosen = cast_ops.cast(comparison_ops.equal(y, x), grad.dtype)
    count = array_ops.reshape(reduce_sum(chosen, axes), kept)
    return chosen / count * grad, None


# -------------------------------------------------------------------------------------- all and any


@register_op(
    "All",
    "input: bool, reduction_indices: Tidx -> output: bool",
    _KEEP,
    _AXIS_TYPE,
    shape=_reduction_shape,
    host_memory=("reduction_indices",),
)
def all_op(xp: Xp, x: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    """Return whether all elements over some axes are true."""
    axes = _axes(x, reduction_indices)
    return x.all(axis=axes, keepdims=keep_dims) if axes else x


@register_op(
    "Any",
    "input: bool, reduction_indices: Tidx -> output: bool",
    _KEEP,
    _AXIS_TYPE,
    shape=_reduction_shape,
    host_memory=("reduction_indices",),
)
def any_op(xp: Xp, x: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    """Return whether any element over some axes is true."""
    axes = _axes(x, reduction_indices)
    return x.any(axis=axes, keepdims=keep_dims) if axes else x


# ------------------------------------------------------------------------------------------- argmax


def _arg_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 0)
    dims = c.inputs[0].dim_values
    if dims is None:
        return UNKNOWN_SHAPE
    if len(dims) <= 1:
        return SCALAR_SHAPE
    rank = len(dims)
    dimension = c.constant_value(1)
    if dimension is None:
        return TensorShape([None] * (rank - 1))
    axis = int(dimension)
    if not -rank <= axis < rank:
        raise ValueError(
            f"Dimension ({axis}) must be in the range [{-rank}, {rank}), where {rank} is the "
            "number of dimensions in the input."
        )
    axis %= rank
    return TensorShape(dims[:axis] + dims[axis + 1 :])


@register_op(
    "ArgMax",
    "input: T, dimension: Tidx -> output: output_type",
    "T: {realnumbertype, quantizedtype, bool}",
    "Tidx: {int16, int32, int64} = DT_INT32",
    "output_type: {int16, uint16, int32, int64} = DT_INT64",
    shape=_arg_shape,
    host_memory=("dimension",),
)
def arg_max(xp: Xp, x: Array, dimension: Array, *, output_type: DType) -> Array:
    """Return the index of the first largest element along one axis; NaN never wins."""
    axis = _arg_axis(x, dimension)
    found = x.argmax(axis=axis)
    if x.dtype.kind not in "iub" and _hits_nan(xp, x, found, axis):
        found = xp.where(xp.isnan(x), x.dtype.type(-np.inf), x).argmax(axis=axis)
    return found.astype(output_type.as_numpy_dtype)


arg_max.float_ops(float_ops.reduction)


arg_max.not_differentiable()


@register_op(
    "ArgMin",
    "input: T, dimension: Tidx -> output: output_type",
    "T: {realnumbertype, quantizedtype, bool}",
    _AXIS_TYPE,
    "output_type: {int32, int64} = DT_INT64",
    shape=_arg_shape,
    host_memory=("dimension",),
)
def arg_min(xp: Xp, x: Array, dimension: Array, *, output_type: DType) -> Array:
    """Return the index of the first smallest element along one axis; NaN never wins."""
    axis = _arg_axis(x, dimension)
    found = x.argmin(axis=axis)
    if x.dtype.kind not in "iub" and _hits_nan(xp, x, found, axis):
        found = xp.where(xp.isnan(x), x.dtype.type(np.inf), x).argmin(axis=axis)
    return found.astype(output_type.as_numpy_dtype)


arg_min.float_ops(float_ops.reduction)


arg_min.not_differentiable()


def _arg_axis(x: Array, dimension: Array) -> int:
    if dimension.ndim != 0:
        raise errors.invalid_argument(
            f"dim must be a scalar, but received tensor of shape: {shape_text(dimension.shape)}"
        )
    axis, rank = int(dimension), int(x.ndim)
    if not -rank <= axis < rank:
        # TensorFlow reads only 32 bits.
        axis = int(dimension.astype(np.int32))
    if not -rank <= axis < rank:
        raise errors.invalid_argument(
            f"Expected dimension in the range [{-rank}, {rank}), but got {axis}"
        )
    if x.shape[axis] == 0:
        raise errors.invalid_argument(
            f"Reduction axis {axis % rank} is empty in shape {shape_text(x.shape)}"
        )
    return axis % rank


# Up to this number of elements, looking at all is faster than picking those that were found.
_MOST_LOOKED_AT = 1 << 16


def _hits_nan(xp: Xp, x: Array, found: Array, axis: int) -> bool:
    """Return whether NumPy found NaN, which it takes for the largest and the smallest element."""
    if x.size <= _MOST_LOOKED_AT:
        return bool(xp.isnan(x).any())
    picked = xp.take_along_axis(x, xp.expand_dims(found, axis), axis)
    return bool(xp.isnan(picked).any())


# -------------------------------------------------------------------------- shapes inside gradients


def _spread(op: Operation, grad: Tensor) -> TensorResult:
    """Return the gradient of a reduction's output, repeated over the axes that were reduced."""
    x = op.inputs[0]
    dims = x.shape.dim_values
    axes = None if dims is None else constant_value(op.inputs[1])
    if dims is not None and axes is not None:
        if np.array_equal(axes, np.arange(len(dims))):
            grad = array_ops.reshape(grad, [1] * len(dims))
            known = None not in dims
            shape = array_ops.constant(list(dims), dtypes.int32) if known else array_ops.shape(x)
            return array_ops.tile(grad, shape)
        sizes = tuple(size for size in dims if size is not None)
        if len(sizes) == len(dims):
            kept, times = _tiling(op.graph, sizes, tuple(np.asarray(axes).reshape(-1).tolist()))
            return array_ops.tile(array_ops.reshape(grad, kept), times)
    target = array_ops.shape(x)
    if not op.get_attr("keep_dims"):
        with colocate_with(target):
            kept = reduced_shape(target, op.inputs[1])
        grad = array_ops.reshape(grad, kept)
    return array_ops.broadcast_to(grad, target)


def _tiling(
    graph: Graph, dims: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[TensorResult, TensorResult]:
    """Return the shape with reduced axes kept as 1, and the number of repetitions of each axis.

    The first call in a graph adds unused nodes for the repetitions, as TensorFlow does.
    """
    kept = [1 if i in {axis % len(dims) for axis in axes} else d for i, d in enumerate(dims)]
    known = graph.kept.setdefault("tilings", set())
    if (dims, axes) not in known:
        known.add((dims, axes))
        cwise_binary_ops.floor_div(list(dims), cwise_binary_ops.maximum(kept, 1), name="floordiv")
    return kept, [d // max(k, 1) for d, k in zip(dims, kept, strict=True)]


def reduced_shape(input_shape: TensorLike, axes: TensorLike) -> Any:
    """Return, in the graph, the shape of a reduction's output with reduced axes kept as 1."""
    known_shape, known_axes = constant_value(input_shape), constant_value(axes)
    if known_shape is not None and known_axes is not None:
        kept = np.array(known_shape, np.int32)
        kept[known_axes] = 1
        return kept
    axes = cast_ops.cast(axes, dtypes.int32)
    rank = array_ops.size(input_shape)
    axes = (axes + rank) % rank
    axes_shape = array_ops.shape(axes)
    every = sequence_ops.range_(rank)
    ones = array_ops.ones(axes_shape, dtype=input_shape.dtype)
    return data_flow_ops.dynamic_stitch([every, axes], [input_shape, ones])


# --------------------------------------------------------------------------------- Python functions


def _all_axes(x: TensorLike, axis: TensorLike) -> TensorResult:
    """Return the axes to reduce; all of them for None."""
    if axis is not None:
        return axis
    if isinstance(x, SparseTensor):
        rank = x.dense_shape.shape.num_elements()
    else:  # tensors and variables know their rank
        rank = getattr(getattr(x, "shape", None), "rank", None)
    # Range and Rank are correct for rank 0 and for an unknown rank.
    if rank:
        return convert_to_tensor(np.arange(rank, dtype=np.int32), name="Const")
    return sequence_ops.range_(0, array_ops.rank(x))


def _reduce(
    op: Callable[..., TensorResult],
    x: TensorLike,
    axis: TensorLike,
    keepdims: TensorLike,
    name: str | None,
    old_axis: TensorLike | None = None,
    old_keep: TensorLike | None = None,
) -> Any:
    axis = renamed("axis", axis, "reduction_indices", old_axis)
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", old_keep))
    output = op(x, _all_axes(x, axis), keep_dims=keepdims, name=name)
    if axis is None and not keepdims and not output.shape.is_fully_defined():
        output.set_shape(())
    return output


@dispatchable
def reduce_sum(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the sum of elements over axes (all of them by default)."""
    return _reduce(sum_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@dispatchable
def reduce_mean(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the mean of elements over axes (all of them by default)."""
    return _reduce(mean_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@dispatchable
def reduce_prod(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the product of elements over axes (all of them by default)."""
    return _reduce(prod_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@dispatchable
def reduce_max(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the largest element over axes (all of them by default)."""
    return _reduce(max_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@dispatchable
def reduce_min(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the smallest element over axes (all of them by default)."""
    return _reduce(min_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@dispatchable
def reduce_all(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return whether all elements over axes are true."""
    return _reduce(all_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@dispatchable
def reduce_any(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return whether any element over axes is true."""
    return _reduce(any_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_euclidean_norm(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Any:
    """Return the square root of the sum of squares over axes."""
    return _reduce(euclidean_norm, input_tensor, axis, keepdims, name)


@dispatchable
def reduce_variance(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Any:
    """Return the mean of squared distances from the mean over axes.

    Raises:
      TypeError: the input has an integer dtype.
    """
    with name_scope(name or "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        means = reduce_mean(x, axis=axis, keepdims=True)
        if means.dtype.is_integer:
            raise TypeError(
                f"Input must be either real or complex. Received integer type {means.dtype}."
            )
        distances = x - means
        if distances.dtype.is_complex:
            squares = complex_ops.real(cwise_unary_ops.conj(distances) * distances)
        else:
            squares = cwise_unary_ops.square(distances)
        return reduce_mean(squares, axis=axis, keepdims=keepdims)


@dispatchable
def reduce_std(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return the square root of the variance over axes."""
    with name_scope(name or "reduce_std"):
        x = convert_to_tensor(input_tensor)
        return cwise_unary_ops.sqrt_op(reduce_variance(x, axis=axis, keepdims=keepdims))


@dispatchable
def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> TensorResult:
    """Return log(sum(exp(x))) over axes, without overflow."""
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    x = convert_to_tensor(input_tensor)
    with name_scope(name, "ReduceLogSumExp", [x]) as scope:
        largest = reduce_max(x, axis=axis, keepdims=True)
        largest = array_ops.stop_gradient(
            select_ops.select_v2(cwise_unary_ops.is_finite(largest), largest, 0)
        )
        result = cwise_unary_ops.log(
            reduce_sum(
                cwise_unary_ops.exp_op(cwise_binary_ops.sub(x, largest)),
                axis=axis,
                keepdims=keepdims,
            )
        )
        if not keepdims:
            shape = array_ops.shape_internal(result, optimize=False)
            largest = array_ops.reshape(largest, shape)
        result = cwise_binary_ops.add_v2(result, largest, name=scope)
        if axis is None and not keepdims and not result.shape.is_fully_defined():
            result.set_shape(())
        return result


def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Any:
    """Return the number of elements over axes that are not zero (not empty, for strings)."""
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    input_tensor = renamed("input", input, "input_tensor", input_tensor)
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(name, "count_nonzero", [input_tensor]):
        x = convert_to_tensor(input_tensor, name="input")
        nonzero = x
        if x.dtype.base_dtype != dtypes.bool:
            nonzero = comparison_ops.not_equal(x, array_ops.zeros([], dtype=x.dtype.base_dtype))
        counted = cast_ops.cast(nonzero, dtypes.int64)
        return cast_ops.cast(reduce_sum(counted, axis=axis, keepdims=keepdims), dtype)


def argmax(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> TensorResult:
    """Return the index of the largest element along an axis (0 by default)."""
    axis = renamed("axis", axis, "dimension", dimension)
    return arg_max(input, 0 if axis is None else axis, name=name, output_type=output_type)


def argmin(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> TensorResult:
    """Return the index of the smallest element along an axis (0 by default)."""
    axis = renamed("axis", axis, "dimension", dimension)
    return arg_min(input, 0 if axis is None else axis, name=name, output_type=output_type)
