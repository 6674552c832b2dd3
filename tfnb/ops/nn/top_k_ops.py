"""The largest elements: TopK, InTopK, NthElement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math.comparison_ops import equal
from tfnb.ops.math.reduction_ops import reduce_prod, reduce_sum
from tfnb.ops.math.sequence_ops import range_
from tfnb.ops.nn import compiled_top_k
from tfnb.ops.nn.top_n import unsorted_top

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "tf": ["approx_top_k"],
    "nn": ["approx_max_k", "approx_min_k", "in_top_k", "top_k"],
    "math": ["approx_max_k", "approx_min_k", "in_top_k", "top_k"],
}


# -------------------------------------------------------------------------------------------- top k


def _top_k_shape(c: InferenceContext, k: int | None) -> list[TensorShape]:
    dims = c.with_rank_at_least(0, 1).dim_values
    if dims is None:
        return [UNKNOWN_SHAPE] * 2
    if k is not None:
        if k < 0:
            raise ValueError(f"Need k >= 0, got {k}")
        if dims[-1] is not None and dims[-1] < k:
            raise ValueError(f"input must have last dimension >= k = {k} but is {dims[-1]}")
    return [TensorShape([*dims[:-1], k])] * 2


# Up to this number of elements in all heaps, unsorted results have TensorFlow's order; a row itself
# costs as much as _ROW_IN_ELEMENTS. No order is promised, and above the limit Python takes too
# long.
_MOST_IN_HEAPS = 1_000_000
_ROW_IN_ELEMENTS = 16


def _fits_heaps(x: Array, k: int) -> bool:
    return bool(x.size // x.shape[-1] * (k + _ROW_IN_ELEMENTS) <= _MOST_IN_HEAPS)


def _top_k(
    xp: Xp, x: Array, k: int, index_type: Array, is_sorted: bool = True
) -> tuple[Array, Array]:
    if k < 0:
        raise errors.invalid_argument(f"Need k >= 0, got {k}")
    if x.ndim < 1:
        raise errors.invalid_argument(f"input must be >= 1-D, got shape {shape_text(x.shape)}")
    size = x.shape[-1]
    if size < k:
        raise errors.invalid_argument(f"input must have at least k columns. Had {size}, needed {k}")
    if k == 1:
        indices = x.argmax(axis=-1)[..., None]
    elif not is_sorted and xp is np and 0 < k < size and _fits_heaps(x, k):
        indices = unsorted_top(x, k)
    elif xp is np and k and (found := compiled_top_k.largest(x, k)) is not None:
        return found[0], found[1].astype(index_type, copy=False)
    elif 0 < k < size // 8 and x.dtype.kind in "iuf" and x.itemsize > 2:
        indices = _largest_few(xp, x, k)
    else:
        # Ascending and stable on the reversed row is descending with the lower index first.
        ascending = xp.argsort(x[..., ::-1], axis=-1, kind="stable")
        indices = size - 1 - ascending[..., : -k - 1 : -1]
    return _taken(xp, x, indices), indices.astype(index_type)


def _taken(xp: Xp, x: Array, indices: Array) -> Array:
    """Return the elements of the last dimension at given indices."""
    if x.ndim != 2:
        return xp.take_along_axis(x, indices, -1)
    # Less overhead than NumPy's function.
    return x[xp.arange(len(x))[:, None], indices]


def _largest_few(xp: Xp, x: Array, k: int) -> Array:
    """Return indices of the k largest elements of each row, found by partitioning.

    Equal elements are in the order of their indices; NaN is the largest number.
    """
    size = x.shape[-1]
    rows = x.reshape(-1, size)
    if xp is np and len(rows) == 1 and x.dtype.kind == "f":
        # Fewer and shorter calls.
        row = rows[0]
        places = (~(row < np.partition(row, size - k)[size - k])).nonzero()[0]
        if len(places) == k:
            places = places[(-row[places]).argsort(kind="stable")]
            if not math.isnan(row[places[-1]]):  # NaN would be the last one here
                return places.reshape(*x.shape[:-1], k)
    limit = xp.partition(rows, size - k, axis=-1)[:, size - k, None]
    reach = ~(rows < limit)  # NaN reaches every limit
    if reach.sum() != rows.shape[0] * k:
        # Which of the elements equal to the k-th belong to the result depends on their order.
        ascending = xp.argsort(x[..., ::-1], axis=-1, kind="stable")
        return size - 1 - ascending[..., : -k - 1 : -1]
    chosen = xp.nonzero(reach)[1].reshape(-1, k)
    picked = _taken(xp, rows, chosen)
    order = k - 1 - xp.argsort(picked[:, ::-1], axis=-1, kind="stable")[:, ::-1]
    return _taken(xp, chosen, order).reshape(*x.shape[:-1], k)


@register_op(
    "TopK",
    "input: T -> values: T, indices: int32",
    "k: int >= 0",
    "sorted: bool = true",
    "T: realnumbertype",
    shape=lambda c: _top_k_shape(c, c.attr("k")),
    deprecated=(7, "Use TopKV2 instead"),
)
def top_k_op(xp: Xp, x: Array, *, k: int, sorted: bool) -> Outputs:
    """Return the k largest elements of every row and their indices, in order if `sorted`."""
    return _top_k(xp, x, k, np.int32, sorted)


@top_k_op.gradient
def _(op: Operation, grad: Tensor, _: Tensor) -> Gradients:
    return _scatter_back(op, grad)


@register_op(
    "TopKV2",
    "input: T, k: Tk -> values: T, indices: index_type",
    "sorted: bool = true",
    "T: realnumbertype",
    "Tk: {int16, int32, int64} = DT_INT32",
    "index_type: {int16, int32, int64} = DT_INT32",
    host_memory=("k",),
)
def top_k_v2(xp: Xp, x: Array, k: Array, *, sorted: bool, index_type: DType) -> Outputs:
    """Return the k largest elements of every row and their indices, in order if `sorted`."""
    if k.ndim:
        raise errors.invalid_argument(f"k must be scalar, got shape {shape_text(k.shape)}")
    return _top_k(xp, x, int(k), index_type.as_numpy_dtype, sorted)


@top_k_v2.shape
def _(c: InferenceContext) -> list[TensorShape]:
    k = c.constant_value(1)
    if k is not None and k.ndim:
        raise ValueError(f"Input must be scalar but has rank {k.ndim}")
    return _top_k_shape(c, None if k is None else int(k))


@top_k_v2.gradient
def _(op: Operation, grad: Tensor, _: Tensor) -> Gradients:
    return _scatter_back(op, grad), array_ops.zeros([], dtype=dtypes.int32)


def _scatter_back(op: Operation, grad: Tensor) -> TensorResult:
    """Return the gradient at the positions of the elements."""
    x, indices = op.inputs[0], op.outputs[1]
    shape, index_shape = array_ops.shape(x), array_ops.shape(indices)
    width = array_ops.gather(cast(index_shape, dtypes.int64), array_ops.size(index_shape) - 1)
    rows = array_ops.reshape(indices, array_ops.stack([-1, width]))
    columns = array_ops.gather(cast(shape, dtypes.int64), array_ops.size(shape) - 1)
    count = array_ops.shape(rows)[0]
    offsets = array_ops.expand_dims(range_(0, cast(count, dtypes.int64) * columns, columns), -1)
    flat = array_ops.reshape(cast(rows, dtypes.int32) + cast(offsets, dtypes.int32), [-1])
    scattered = array_ops.scatter_nd(
        array_ops.expand_dims(flat, -1), array_ops.reshape(grad, [-1]), [reduce_prod(shape)]
    )
    return array_ops.reshape(scattered, shape)


def top_k(
    input: TensorLike,
    k: TensorLike = 1,
    sorted: bool = True,
    index_type: Any = dtypes.int32,
    name: str | None = None,
) -> TensorResult:
    """Return the k largest entries of the last dimension and their indices."""
    return top_k_v2(input, k, sorted=sorted, index_type=index_type, name=name)


def _approx_shape(c: InferenceContext) -> list[TensorShape]:
    axis, k = c.attr("reduction_dimension"), c.attr("k")
    dims = c.with_rank_at_least(0, 1).dim_values
    if dims is None:
        return [UNKNOWN_SHAPE] * 2
    if not -len(dims) <= axis < len(dims):
        raise ValueError(f"reduction_dimension {axis} is not in a shape of rank {len(dims)}")
    size = dims[axis]
    if size is not None and size < k:
        raise ValueError(f"input must have last dimension >= k = {k} but was {size}")
    found = list(dims)
    found[axis] = k
    return [TensorShape(found)] * 2


@register_op(
    "ApproxTopK",
    "input: T -> values: T, indices: int32",
    "k: int >= 0",
    "reduction_dimension: int = -1",
    "recall_target: float = 0.949999988",
    "is_max_k: bool = true",
    "reduction_input_size_override: int = -1",
    "aggregate_to_topk: bool = true",
    "T: {half, bfloat16, float}",
    shape=_approx_shape,
)
def approx_top_k(
    xp: Xp, x: Array, *, k: int, reduction_dimension: int, is_max_k: bool
) -> tuple[Array, Array]:
    """Return the k largest or smallest along an axis: exactly these, as on TensorFlow's CPU."""
    rows = xp.moveaxis(x, reduction_dimension, -1)
    values, indices = _top_k(xp, rows if is_max_k else -rows, k, np.int32)
    values = values if is_max_k else -values
    return tuple(xp.moveaxis(part, -1, reduction_dimension) for part in (values, indices))


@approx_top_k.gradient
def _(op: Operation, grad: Tensor, _: Tensor) -> Gradients:
    axis, x, places = op.get_attr("reduction_dimension"), op.inputs[0], op.outputs[1]
    axis = axis % x.shape.with_rank_at_least(1).ndims
    # A new axis after that of the chosen elements marks the position of each.
    chosen = array_ops.one_hot(places, array_ops.shape(x)[axis], dtype=grad.dtype, axis=axis + 1)
    return reduce_sum(chosen * array_ops.expand_dims(grad, axis + 1), axis=axis)


def approx_max_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> TensorResult:
    """Return the k largest entries along an axis and their indices, exactly."""
    return approx_top_k(
        operand, k=k, reduction_dimension=reduction_dimension, recall_target=recall_target,
        is_max_k=True, reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk, name=name,
    )  # fmt: skip


def approx_min_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> TensorResult:
    """Return the k smallest entries along an axis and their indices, exactly."""
    return approx_top_k(
        operand, k=k, reduction_dimension=reduction_dimension, recall_target=recall_target,
        is_max_k=False, reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk, name=name,
    )  # fmt: skip


# ----------------------------------------------------------------------------------------- in top k


def _in_top_k_shape(c: InferenceContext) -> TensorShape:
    predictions, targets = c.with_rank(0, 2).dim_values, c.with_rank(1, 1).dim_values
    assert predictions is not None
    assert targets is not None
    return TensorShape([merge_dims(predictions[0], targets[0])])


def _in_top_k(xp: Xp, predictions: Array, targets: Array, k: int) -> Array:
    if predictions.ndim != 2:
        raise errors.invalid_argument("predictions must be 2-dimensional")
    if targets.ndim != 1:
        raise errors.invalid_argument("targets must be 1-dimensional")
    rows, classes = predictions.shape
    if rows != targets.shape[0]:
        raise errors.invalid_argument(
            f"First dimension of predictions {rows} must match length of targets {targets.shape[0]}"
        )
    inside = (targets >= 0) & (targets < classes)
    if not classes:
        return xp.zeros(rows, bool)
    picked = predictions[xp.arange(rows), xp.where(inside, targets, 0)]
    better = (predictions > picked[:, None]).sum(axis=1)
    return inside & xp.isfinite(predictions).all(axis=1) & (better < k)


@register_op(
    "InTopK",
    "predictions: float, targets: T -> precision: bool",
    "k: int",
    "T: {int32, int64} = DT_INT32",
    shape=_in_top_k_shape,
)
def in_top_k_op(xp: Xp, predictions: Array, targets: Array, *, k: int) -> Array:
    """Return whether fewer than k classes of a row have a higher prediction than the target."""
    return _in_top_k(xp, predictions, targets, k)


@register_op(
    "InTopKV2",
    "predictions: float, targets: T, k: T -> precision: bool",
    "T: {int32, int64} = DT_INT32",
    shape=_in_top_k_shape,
    host_memory=("k",),
)
def in_top_k_v2(xp: Xp, predictions: Array, targets: Array, k: Array) -> Array:
    """Return whether fewer than k classes of a row have a higher prediction than the target."""
    if k.ndim:
        raise errors.invalid_argument(f"k must be 0-D, got shape {shape_text(k.shape)}")
    return _in_top_k(xp, predictions, targets, int(k))


def in_top_k(
    predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None
) -> TensorResult:
    """Return whether the targets are among the k highest predictions."""
    with name_scope(name, "in_top_k"):
        return in_top_k_v2(predictions, targets, k, name=name)


# -------------------------------------------------------------------------------------- nth element


@register_op(
    "NthElement",
    "input: T, n: int32 -> values: T",
    "reverse: bool = false",
    "T: realnumbertype",
    host_memory=("n",),
)
def nth_element_op(xp: Xp, x: Array, n: Array, *, reverse: bool) -> Array:
    """Return the n-th smallest element (largest with `reverse`) of every row, counted from 0."""
    if n.ndim:
        raise errors.invalid_argument(f"N must be scalar but has rank {n.ndim}")
    number = int(n)
    if number < 0:
        raise errors.invalid_argument(f"n must be non-negative but is {number}")
    if x.ndim < 1:
        raise errors.invalid_argument(f"Input must be at least rank 1 but is rank {x.ndim}")
    size = x.shape[-1]
    if size <= number:
        raise errors.invalid_argument(f"Input must have last dimension > n = {number}")
    place = size - number - 1 if reverse else number
    return xp.partition(x, place, axis=-1)[..., place]


@nth_element_op.shape
def _(c: InferenceContext) -> TensorShape:
    dims = c.with_rank_at_least(0, 1).dim_values
    n = c.constant_value(1)
    if n is not None:
        c.with_rank(1, 0)
        if n < 0:
            raise ValueError(f"n must be non-negative but is {int(n)}")
        if dims is not None and dims[-1] is not None and dims[-1] <= n:
            raise ValueError(f"Input must have last dimension > n = {int(n)} but is {dims[-1]}")
    return UNKNOWN_SHAPE if dims is None else TensorShape(dims[:-1])


@nth_element_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    # Equal elements share the gradient.
    x, output = op.inputs[0], op.outputs[0]
    chosen = cast(equal(array_ops.expand_dims(output, -1), x), grad.dtype)
    spread = array_ops.expand_dims(grad, -1)
    count = array_ops.expand_dims(reduce_sum(chosen, -1), -1)
    return chosen / count * spread, None
