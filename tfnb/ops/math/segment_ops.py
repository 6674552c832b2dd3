"""Reductions over segments: rows with equal ids are summed, averaged, multiplied, or compared.

Sorted segments (``SegmentSum``) are runs of rows; unsorted ones take ids in any order and drop
negative ones. Corresponds to TensorFlow's ``segment_reduction_ops*.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops, compiled_scatter
from tfnb.ops.array.scatter_kernels import combine_runs, scatter_rows
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import is_large
from tfnb.ops.math.cwise_binary_ops import cut_quotient

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.array import cast_ops
    from tfnb.ops.math import comparison_ops, cwise_binary_ops, cwise_unary_ops
else:
    cast_ops = later("tfnb.ops.array.cast_ops")
    comparison_ops = later("tfnb.ops.math.comparison_ops")
    cwise_binary_ops = later("tfnb.ops.math.cwise_binary_ops")
    cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")

EXPORTS = {
    "tf": [
        "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
        "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
        "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum",
    ],
    "math": [
        "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
        "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
        "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum",
    ],
}  # fmt: skip


def widened(x: Array) -> Array:
    """Return half precision converted to float32 for the accumulation."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


# ---------------------------------------------------------------------------------- sorted segments

_SORTED = ("T: numbertype", "Tindices: {int32, int64}")
_SORTED_REAL = ("T: realnumbertype", "Tindices: {int32, int64}")


def _segment_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank_at_least(0, 1).dim_values
    c.with_rank(1, 1)
    return UNKNOWN_SHAPE if dims is None else TensorShape([None, *dims[1:]])


def _runs(xp: Xp, segment_ids: Array) -> tuple[Array, Array]:
    """Return the start of each run of equal ids, and its id."""
    if segment_ids.size == 0:
        return segment_ids[:0], segment_ids[:0]
    # Compared, not subtracted: a difference of two ids may be too large for their type.
    following, former = segment_ids[1:], segment_ids[:-1]
    rows = int(segment_ids[-1]) + 1
    if rows <= 0:
        raise errors.invalid_argument("segment ids must be >= 0")
    if int(segment_ids[0]) < 0 or bool((following < former).any()):
        # Each id is checked when the next one is read.
        ids = segment_ids.tolist()
        for one, other in zip(ids, [*ids[1:], ids[-1] + 1]):
            if other < one:
                raise errors.invalid_argument("segment ids are not increasing")
            if other > one and not 0 <= one < rows:
                raise errors.invalid_argument(
                    f"Segment id {one} out of range [0, {rows}), possibly because 'segment_ids' "
                    "input is not sorted."
                )
    starts = xp.concatenate([xp.zeros(1, np.intp), xp.nonzero(following != former)[0] + 1])
    return starts, segment_ids[starts]


def reduce_runs(
    xp: Xp,
    function: Array,
    data: Array,
    segment_ids: Array,
    empty: Array,
    rows: int | None = None,
    from_zero: bool = True,
) -> tuple[Array, Array, Array]:
    """Reduce runs to (one row per id up to the last, starts of the runs, their ids).

    Missing ids get `empty`; with `from_zero`, sums of several rows start at 0 and are never -0.
    """
    if rows is None and segment_ids.size:
        # The size of the result is checked before the ids.
        check_fits(xp, (max(0, int(segment_ids[-1]) + 1), *data.shape[1:]), data.dtype)
    starts, ids = _runs(xp, segment_ids)
    if rows is None:
        rows = int(ids[-1]) + 1 if ids.size else 0
    elif ids.size and int(ids[-1]) >= rows:
        raise errors.invalid_argument("segment ids must be < num_segments")
    out = xp.full((rows, *data.shape[1:]), empty, data.dtype)
    # Fewer rows are added in another order, pairs of pairs.
    is_sum = function is np.add and from_zero and not empty and xp is np and is_large(xp, data)
    if is_sum and ids.size and data.ndim > 1 and _are_summed(out, segment_ids, data, starts, ids):
        return out, starts, ids
    if ids.size and data.size:
        if xp is np:
            if data.ndim > 1 and is_large(xp, data):
                found = data.take(starts, axis=0)
                lengths = np.diff(starts, append=len(data)) - 1
                combine_runs(found, data, starts + 1, lengths, function)
            else:
                found = function.reduceat(data, starts, axis=0, dtype=data.dtype)
            if from_zero and function is np.add and data.dtype.kind not in "iu":
                # A run of a single row stays unchanged.
                found[np.diff(starts, append=len(data)) > 1] += 0
            out[ids] = found
        else:
            names = {np.add: "add", np.multiply: "mul", np.minimum: "min", np.maximum: "max"}
            out[ids] = data[starts]
            rest = xp.ones(len(data), bool)
            rest[starts] = False
            scatter_rows(xp, out, segment_ids[rest], data[rest], names[function])
    return out, starts, ids


def sum_selected_runs(
    xp: Xp, data: Array, indices: Array, segment_ids: Array, rows: int | None
) -> tuple[Array, Array, Array]:
    """Return `reduce_runs` of the sums of selected rows, which begin with their first row.

    Args:
      xp: numpy or cupy.
      data: the rows to select from, of one dimension or more; halves are summed as float32.
      indices: the number of a row of the data for each id, all valid.
      segment_ids: increasing ids.
      rows: the number of segments; None for one more than the last id.
    """
    is_fit = xp is np and data.dtype == np.float32 and data.flags.c_contiguous and data.size
    if is_fit and indices.size and compiled_scatter.may_add_products(len(indices), data[0].size):
        starts, ids = _runs(xp, segment_ids)
        count = int(ids[-1]) + 1 if rows is None else rows
        # -0 changes no number, and is the sum of nothing but -0.
        out = np.full((count, *data.shape[1:]), -0.0, data.dtype)
        if len(ids) < count:
            out[...] = 0
            out[ids] = -0.0
        factors = np.ones(len(indices), np.float32)
        flat, given = out.reshape(count, -1), data.reshape(len(data), -1)
        if compiled_scatter.add_products(flat, segment_ids, indices, factors, given):
            return out, starts, ids
    return reduce_runs(xp, np.add, widened(data[indices]), segment_ids, 0, rows, from_zero=False)


def _are_summed(out: Array, segment_ids: Array, data: Array, starts: Array, ids: Array) -> bool:
    """Add the rows of runs into zeros by a compiled routine; return whether it did so."""
    flat, rows = out.reshape(len(out), -1), data.reshape(len(data), -1)
    if not data.size or not compiled_scatter.combine(flat, segment_ids, rows, "add"):
        return False
    # A run of a single row stays unchanged: -0 is not added to 0.
    is_single = np.diff(starts, append=len(data)) == 1
    out[ids[is_single]] = data[starts[is_single]]
    return True


def _check_segments(data: Array, segment_ids: Array) -> None:
    if segment_ids.ndim != 1:
        raise errors.invalid_argument("segment_ids should be a vector.")
    if data.ndim < 1:
        raise errors.invalid_argument("Shape must be at least rank 1 but is rank 0")
    if data.shape[0] != segment_ids.shape[0]:
        raise errors.invalid_argument(
            "segment_ids should be the same size as dimension 0 of input."
        )


def _segment(xp: Xp, function: Array, data: Array, segment_ids: Array, empty: Array) -> Array:
    _check_segments(data, segment_ids)
    out, _, _ = reduce_runs(xp, function, widened(data), segment_ids, empty)
    return out.astype(data.dtype, copy=False)


@register_op(
    "SegmentSum", "data: T, segment_ids: Tindices -> output: T", *_SORTED, shape=_segment_shape
)
def segment_sum(xp: Xp, data: Array, segment_ids: Array) -> Array:
    """Return the sum of the rows of each segment."""
    return _segment(xp, np.add, data, segment_ids, 0)


@segment_sum.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return array_ops.gather(grad, op.inputs[1]), None


@register_op(
    "SegmentMean", "data: T, segment_ids: Tindices -> output: T", *_SORTED, shape=_segment_shape
)
def segment_mean(xp: Xp, data: Array, segment_ids: Array) -> Array:
    """Return the mean of the rows of each segment."""
    _check_segments(data, segment_ids)
    out, starts, ids = reduce_runs(xp, np.add, widened(data), segment_ids, 0)
    counts = run_lengths(xp, starts, len(segment_ids), out)
    if out.dtype.kind in "iu":
        out[ids] = cut_quotient(out[ids], counts)
    elif out.dtype.kind == "c":
        # A single row stays unchanged: complex infinity divided by 1 has NaN parts.
        out[ids] = xp.where(counts == 1, out[ids], out[ids] / counts)
    else:
        out[ids] /= counts
    return out.astype(data.dtype, copy=False)


def run_lengths(xp: Xp, starts: Array, total: int, like: Array) -> Array:
    """Return the number of rows of each run, in the dtype of `like`, with axes for broadcasting."""
    ends = xp.concatenate([starts[1:], xp.full(min(len(starts), 1), total)])
    return (ends - starts).astype(like.dtype).reshape((-1,) + (1,) * (like.ndim - 1))


@segment_mean.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    data, segment_ids = op.inputs
    shape = array_ops.shape(segment_ids)
    others = array_ops.ones(array_ops.expand_dims(array_ops.rank(data) - 1, 0), dtype=dtypes.int32)
    ones = array_ops.ones(array_ops.concat([shape, others], 0), dtype=grad.dtype)
    scaled = grad / segment_sum(ones, segment_ids)
    return array_ops.gather(scaled, segment_ids), None


@register_op(
    "SegmentProd", "data: T, segment_ids: Tindices -> output: T", *_SORTED, shape=_segment_shape
)
def segment_prod(xp: Xp, data: Array, segment_ids: Array) -> Array:
    """Return the product of the rows of each segment."""
    return _segment(xp, np.multiply, data, segment_ids, 1)


@segment_prod.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    data, segment_ids = op.inputs
    return _gradient_of_product(
        data,
        op.outputs[0],
        grad,
        total=lambda x: segment_sum(x, segment_ids),
        product=lambda x: segment_prod(x, segment_ids),
        spread=lambda x: array_ops.gather(x, segment_ids),
        spread_grad=lambda x: array_ops.gather(x, segment_ids),
        divisor=lambda x: x,
    ), None


def _gradient_of_product(
    data: TensorLike,
    output: Any,
    grad: TensorLike,
    *,
    total: TensorLike,
    product: Any,
    spread: Any,
    spread_grad: Any,
    divisor: Any,
) -> TensorResult:
    """Return the gradient of a product: the product of all other elements of the segment.

    Segments with one zero and with several zeros are handled separately.
    """
    is_zero = comparison_ops.equal(data, 0)
    zeros_found = total(cast_ops.cast(is_zero, dtypes.int32))
    # With two zeros in a segment all gradients are 0.
    grad = array_ops.where_v2(
        comparison_ops.greater(zeros_found, 1), array_ops.zeros_like(grad), grad
    )
    without_zeros = array_ops.where_v2(is_zero, array_ops.ones_like(data), data)
    of_all = product(without_zeros)
    whole = spread(output)
    others = array_ops.where_v2(is_zero, spread(of_all), whole / divisor(without_zeros))
    return spread_grad(grad) * others


@register_op(
    "SegmentMin", "data: T, segment_ids: Tindices -> output: T", *_SORTED_REAL, shape=_segment_shape
)
def segment_min(xp: Xp, data: Array, segment_ids: Array) -> Array:
    """Return the smallest elements of the rows of each segment."""
    _check_segments(data, segment_ids)
    return reduce_runs(xp, np.minimum, data, segment_ids, 0)[0]


@segment_min.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _gradient_of_extremes(op, grad)


@register_op(
    "SegmentMax", "data: T, segment_ids: Tindices -> output: T", *_SORTED_REAL, shape=_segment_shape
)
def segment_max(xp: Xp, data: Array, segment_ids: Array) -> Array:
    """Return the largest elements of the rows of each segment."""
    _check_segments(data, segment_ids)
    return reduce_runs(xp, np.maximum, data, segment_ids, 0)[0]


@segment_max.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _gradient_of_extremes(op, grad)


def _gradient_of_extremes(op: Operation, grad: Tensor) -> Any:
    # Equal extremes of a segment share its gradient.
    data, segment_ids = op.inputs
    chosen = comparison_ops.equal(data, array_ops.gather(op.outputs[0], segment_ids))
    count = segment_sum(cast_ops.cast(chosen, grad.dtype), segment_ids)
    spread = array_ops.gather(grad / count, segment_ids)
    return array_ops.where_v2(chosen, spread, array_ops.zeros_like(data)), None


# -------------------------------------------------------------------------------- unsorted segments


def _unsorted_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(2, 0)
    for one, other in zip(c.inputs[0].dim_values or (), c.inputs[1].dim_values or ()):
        merge_dims(one, other)
    value = c.constant_value(2)
    rows = None if value is None else int(value)
    if rows is not None and rows < 0:
        raise ValueError(
            f"Dimension size, given by scalar input 2, must be non-negative but is {rows}"
        )
    data, ids = c.inputs[0].dim_values, c.inputs[1].dim_values
    if ids is None or data is None:
        return UNKNOWN_SHAPE
    if len(data) < len(ids):
        raise ValueError(f"Shape must be at least rank {len(ids)} but is rank {len(data)}")
    return TensorShape([rows, *data[len(ids) :]])


_UNSORTED = "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T"
_UNSORTED_INDEX = ("Tindices: {int32, int64}", "Tnumsegments: {int32, int64} = DT_INT32")


def _unsorted(
    xp: Xp, operation: str, data: Array, segment_ids: Array, num_segments: Array, empty: Array
) -> Array:
    if num_segments.ndim:
        raise errors.invalid_argument(
            f"num_segments should be a scalar, not shape {shape_text(num_segments.shape)}"
        )
    rank = segment_ids.ndim
    if data.shape[:rank] != segment_ids.shape:
        raise errors.invalid_argument(
            f"data.shape = {shape_text(data.shape)} does not start with segment_ids.shape = "
            f"{shape_text(segment_ids.shape)}"
        )
    rows = int(num_segments.astype(segment_ids.dtype))
    if rows < 0:
        raise errors.invalid_argument(f"Input num_segments == {rows} must not be negative.")
    check_fits(xp, (rows, *data.shape[rank:]), data.dtype)
    ids = segment_ids.reshape(-1)
    wide = widened(data)
    values = wide.reshape(ids.size, *data.shape[rank:])
    if not data.size:
        # Without data the ids are not checked.
        return xp.full((rows, *data.shape[rank:]), empty, wide.dtype).astype(data.dtype, copy=False)
    if int(ids.max()) >= rows:
        at = int(xp.argmax(ids >= rows))
        place = ",".join(map(str, np.unravel_index(at, segment_ids.shape)))
        raise errors.invalid_argument(
            f"segment_ids[{place}] = {int(ids[at])} is out of range [0, {rows})"
            if rank
            else f"segment_ids = {int(ids[at])} is out of range [0, {rows})"
        )
    kept = ids >= 0
    if not kept.all():
        ids, values = ids[kept], values[kept]
    out = xp.full((rows, *data.shape[rank:]), empty, wide.dtype)
    scatter_rows(xp, out, ids, values, operation)
    return out.astype(data.dtype, copy=False)


@register_op(
    "UnsortedSegmentSum",
    _UNSORTED,
    "T: numbertype",
    "Tindices: {int16, int32, int64}",
    _UNSORTED_INDEX[1],
    shape=_unsorted_shape,
    host_memory=("num_segments",),
)
def unsorted_segment_sum(xp: Xp, data: Array, segment_ids: Array, num_segments: Array) -> Array:
    """Return the sum of the rows of each segment; 0 for an empty segment."""
    return _unsorted(xp, "add", data, segment_ids, num_segments, 0)


@unsorted_segment_sum.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _gather_drop_negatives(grad, op.inputs[1])[0], None, None


def _gather_drop_negatives(
    params: TensorLike,
    ids: TensorLike,
    clipped: TensorLike | None = None,
    is_positive: TensorLike | None = None,
) -> tuple[TensorResult, TensorResult, TensorResult]:
    """Return rows of `params` by id, with zeros for negative ids; the clipped ids; the ids >= 0."""
    if clipped is None:
        clipped = cwise_binary_ops.maximum(ids, array_ops.zeros_like(ids))
    gathered = array_ops.gather(params, clipped)
    if is_positive is None:
        is_positive = comparison_ops.greater_equal(ids, 0)
        shape = array_ops.shape(is_positive)
        missing = array_ops.rank(gathered) - array_ops.rank(is_positive)
        ones = array_ops.ones([missing], dtype=shape.dtype)
        is_positive = array_ops.reshape(is_positive, array_ops.concat([shape, ones], 0))
        is_positive = is_positive & array_ops.ones_like(gathered, dtype=dtypes.bool)
    zeros = array_ops.zeros_like(gathered)
    return array_ops.where_v2(is_positive, gathered, zeros), clipped, is_positive


@register_op(
    "UnsortedSegmentProd",
    _UNSORTED,
    "T: numbertype",
    *_UNSORTED_INDEX,
    shape=_unsorted_shape,
    host_memory=("num_segments",),
)
def unsorted_segment_prod(xp: Xp, data: Array, segment_ids: Array, num_segments: Array) -> Array:
    """Return the product of the rows of each segment; 1 for an empty segment."""
    return _unsorted(xp, "mul", data, segment_ids, num_segments, 1)


@unsorted_segment_prod.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    data, segment_ids, num_segments = op.inputs
    clipped: TensorLike = None

    def spread(x: TensorLike) -> TensorResult:
        nonlocal clipped
        if clipped is None:
            clipped = cwise_binary_ops.maximum(segment_ids, array_ops.zeros_like(segment_ids))
        return array_ops.gather(x, clipped)

    found = _gradient_of_product(
        data,
        op.outputs[0],
        grad,
        total=lambda x: unsorted_segment_sum(x, segment_ids, num_segments),
        product=lambda x: unsorted_segment_prod(x, segment_ids, num_segments),
        spread=spread,
        spread_grad=lambda x: _gather_drop_negatives(x, segment_ids, clipped)[0],
        divisor=lambda _: data,
    )
    return found, None, None


def _bounds(dtype: Attr) -> tuple[Array, Array]:
    info = dtypes.as_dtype(dtype)
    return info.min, info.max


@register_op(
    "UnsortedSegmentMax",
    _UNSORTED,
    "T: realnumbertype",
    *_UNSORTED_INDEX,
    shape=_unsorted_shape,
    host_memory=("num_segments",),
)
def unsorted_segment_max(xp: Xp, data: Array, segment_ids: Array, num_segments: Array) -> Array:
    """Return the largest elements of the rows of each segment; the lowest number if it is empty."""
    return _unsorted(xp, "max", data, segment_ids, num_segments, _bounds(data.dtype)[0])


@unsorted_segment_max.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _gradient_of_unsorted_extremes(op, grad)


@register_op(
    "UnsortedSegmentMin",
    _UNSORTED,
    "T: realnumbertype",
    *_UNSORTED_INDEX,
    shape=_unsorted_shape,
    host_memory=("num_segments",),
)
def unsorted_segment_min(xp: Xp, data: Array, segment_ids: Array, num_segments: Array) -> Array:
    """Return the smallest elements of each segment's rows; the highest number if it is empty."""
    return _unsorted(xp, "min", data, segment_ids, num_segments, _bounds(data.dtype)[1])


@unsorted_segment_min.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _gradient_of_unsorted_extremes(op, grad)


def _gradient_of_unsorted_extremes(op: Operation, grad: Tensor) -> Any:
    data, segment_ids, num_segments = op.inputs
    outputs, clipped, is_positive = _gather_drop_negatives(op.outputs[0], segment_ids)
    chosen = comparison_ops.logical_and(comparison_ops.equal(data, outputs), is_positive)
    count = unsorted_segment_sum(cast_ops.cast(chosen, grad.dtype), segment_ids, num_segments)
    spread = _gather_drop_negatives(grad / count, None, clipped, is_positive)[0]
    return array_ops.where_v2(chosen, spread, array_ops.zeros_like(spread)), None, None


def _segment_sizes(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike
) -> TensorResult:
    """Return the number of rows of each segment, at least 1, in a shape to divide sums by."""
    num_segments = convert_to_tensor(num_segments)
    ones = array_ops.ones(array_ops.shape_internal(segment_ids), dtype=data.dtype)
    counts = unsorted_segment_sum(ones, segment_ids, num_segments)
    first = num_segments[None]
    inner = array_ops.ones(
        [array_ops.rank(data) - array_ops.rank(segment_ids)], dtype=num_segments.dtype
    )
    counts = array_ops.reshape(counts, array_ops.concat([first, inner], axis=0))
    return cwise_binary_ops.maximum(counts, 1)


@dispatchable
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> TensorResult:
    """Return the mean of the rows of each segment; 0 for an empty segment."""
    with name_scope(name, "UnsortedSegmentMean"):
        data = convert_to_tensor(data)
        segment_ids = convert_to_tensor(segment_ids)
        sizes = _segment_sizes(data, segment_ids, num_segments)
        return unsorted_segment_sum(data, segment_ids, num_segments) / sizes


@dispatchable
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> TensorResult:
    """Return the sum of the rows of each segment divided by the square root of their number."""
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data = convert_to_tensor(data)
        segment_ids = convert_to_tensor(segment_ids)
        sizes = _segment_sizes(data, segment_ids, num_segments)
        return unsorted_segment_sum(data, segment_ids, num_segments) / cwise_unary_ops.sqrt_op(
            sizes
        )
