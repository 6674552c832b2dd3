"""Reductions over segments of selected rows: ``indices`` hold the number of each row in the data.

The gradients are ops, too; those of version 2 return only the selected rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.array_module import as_places
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.ops.array import array_ops
from tfnb.ops.array.scatter_kernels import scatter_rows
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math.segment_ops import run_lengths, sum_selected_runs, widened

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike

EXPORTS = {
    "tf": ["sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum"],
    "sparse": [
        "segment_mean:sparse_segment_mean", "segment_sqrt_n:sparse_segment_sqrt_n",
        "segment_sum:sparse_segment_sum",
    ],
}  # fmt: skip


def _sparse_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank_at_least(0, 1).dim_values
    merge_shapes(c.with_rank(1, 1), c.with_rank(2, 1))
    rows = None
    if len(c.inputs) == 4:
        c.with_rank(3, 0)
        value = c.constant_value(3)
        if value is not None:
            rows = _in_32_bits(value)
            if rows < 0:
                raise ValueError("Cannot specify a negative value for num_segments")
    return UNKNOWN_SHAPE if dims is None else TensorShape([rows, *dims[1:]])


def _in_32_bits(count: Array) -> int:
    """Return the number of segments as TensorFlow reads it, in 32 bits."""
    return int(np.asarray(count).astype(np.int32))


def _sparse_segment(
    xp: Xp,
    kind: str,
    data: Array,
    indices: Array,
    segment_ids: Array,
    num_segments: Array | None = None,
) -> Array:
    rows: int | None = None
    if num_segments is not None:
        if num_segments.ndim:
            raise errors.invalid_argument(
                f"num_segments should be a scalar, not shape {shape_text(num_segments.shape)}"
            )
        rows = _in_32_bits(num_segments)
        if rows < 0:
            raise errors.invalid_argument("segment ids must be >= 0")
    if indices.ndim != 1:
        raise errors.invalid_argument("indices should be a vector.")
    if segment_ids.ndim != 1:
        raise errors.invalid_argument("segment_ids should be a vector.")
    if indices.shape != segment_ids.shape:
        raise errors.invalid_argument("segment_ids and indices should have same size.")
    if data.ndim < 1:
        raise errors.invalid_argument("Shape must be at least rank 1")
    # The result is allocated before the rows and the order of the ids are checked.
    last = int(segment_ids[-1]) if segment_ids.size else -1
    limit = min(int(np.iinfo(ids.dtype).max) for ids in (indices, segment_ids))
    if last >= limit:
        raise errors.invalid_argument(
            f"Last segment id must be < kintmax, got {last} limit {limit}"
        )
    if rows is not None and last >= rows:
        raise errors.invalid_argument("segment ids must be < num_segments")
    check_fits(xp, (max(0, last + 1) if rows is None else rows, *data.shape[1:]), data.dtype)
    _check_row_indices(xp, indices, data.shape[0])
    out, starts, ids = sum_selected_runs(xp, data, indices, segment_ids, rows)
    if kind != "sum" and ids.size:
        counts = run_lengths(xp, starts, len(segment_ids), out)
        divisors = counts if kind == "mean" else xp.sqrt(counts)
        if len(ids) == len(out):
            out /= divisors
        else:
            out[ids] /= divisors
    return out.astype(data.dtype, copy=False)


def _check_row_indices(xp: Xp, indices: Array, rows: int) -> None:
    wrong = (indices < 0) | (indices >= rows)
    if wrong.any():
        at = int(xp.argmax(wrong))
        raise errors.invalid_argument(
            f"Bad: indices[{at}] == {int(indices[at])} out of range [0, {rows})"
        )


_SPARSE_FLOAT = "T: {bfloat16, half, float, double}"
_TIDX = "Tidx: {int32, int64} = DT_INT32"
_TIDS = "Tsegmentids: {int32, int64} = DT_INT32"
_TNUM = "Tnumsegments: {int32, int64} = DT_INT32"
_SPARSE_GRADIENT = "sparse_gradient: bool = false"
_SPARSE = "data: T, indices: Tidx, segment_ids: Tsegmentids -> output: T"
_SPARSE_NUM = (
    "data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments -> output: T"
)


@register_op(
    "SparseSegmentSum",
    _SPARSE,
    "T: realnumbertype",
    _TIDX,
    _TIDS,
    _SPARSE_GRADIENT,
    shape=_sparse_shape,
)
def sparse_segment_sum_op(xp: Xp, data: Array, indices: Array, segment_ids: Array) -> Array:
    """Return the sum of the selected rows of each segment."""
    return _sparse_segment(xp, "sum", data, indices, segment_ids)


@sparse_segment_sum_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _sparse_gradient(op, grad, sparse_segment_sum_grad, sparse_segment_sum_grad_v2)


@register_op(
    "SparseSegmentSumWithNumSegments",
    _SPARSE_NUM,
    "T: realnumbertype",
    _TIDX,
    _TNUM,
    _TIDS,
    _SPARSE_GRADIENT,
    shape=_sparse_shape,
    host_memory=("num_segments",),
)
def sparse_segment_sum_with_num_segments(
    xp: Xp, data: Array, indices: Array, segment_ids: Array, num_segments: Array
) -> Array:
    """Return the sum of the selected rows of each segment; the number of segments is given."""
    return _sparse_segment(xp, "sum", data, indices, segment_ids, num_segments)


@sparse_segment_sum_with_num_segments.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _sparse_gradient(op, grad, sparse_segment_sum_grad, sparse_segment_sum_grad_v2)


@register_op(
    "SparseSegmentMean", _SPARSE, _SPARSE_FLOAT, _TIDX, _TIDS, _SPARSE_GRADIENT, shape=_sparse_shape
)
def sparse_segment_mean_op(xp: Xp, data: Array, indices: Array, segment_ids: Array) -> Array:
    """Return the mean of the selected rows of each segment."""
    return _sparse_segment(xp, "mean", data, indices, segment_ids)


@sparse_segment_mean_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _sparse_gradient(op, grad, sparse_segment_mean_grad, sparse_segment_mean_grad_v2)


@register_op(
    "SparseSegmentMeanWithNumSegments",
    _SPARSE_NUM,
    _SPARSE_FLOAT,
    _TIDX,
    _TNUM,
    _TIDS,
    _SPARSE_GRADIENT,
    shape=_sparse_shape,
    host_memory=("num_segments",),
)
def sparse_segment_mean_with_num_segments(
    xp: Xp, data: Array, indices: Array, segment_ids: Array, num_segments: Array
) -> Array:
    """Return the mean of the selected rows of each segment; the number of segments is given."""
    return _sparse_segment(xp, "mean", data, indices, segment_ids, num_segments)


@sparse_segment_mean_with_num_segments.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _sparse_gradient(op, grad, sparse_segment_mean_grad, sparse_segment_mean_grad_v2)


@register_op(
    "SparseSegmentSqrtN",
    _SPARSE,
    _SPARSE_FLOAT,
    _TIDX,
    _TIDS,
    _SPARSE_GRADIENT,
    shape=_sparse_shape,
)
def sparse_segment_sqrt_n_op(xp: Xp, data: Array, indices: Array, segment_ids: Array) -> Array:
    """Return the sum of the selected rows of each segment over the square root of their number."""
    return _sparse_segment(xp, "sqrt_n", data, indices, segment_ids)


@sparse_segment_sqrt_n_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _sparse_gradient(op, grad, sparse_segment_sqrt_n_grad, sparse_segment_sqrt_n_grad_v2)


@register_op(
    "SparseSegmentSqrtNWithNumSegments",
    _SPARSE_NUM,
    _SPARSE_FLOAT,
    _TIDX,
    _TNUM,
    _TIDS,
    _SPARSE_GRADIENT,
    shape=_sparse_shape,
    host_memory=("num_segments",),
)
def sparse_segment_sqrt_n_with_num_segments(
    xp: Xp, data: Array, indices: Array, segment_ids: Array, num_segments: Array
) -> Array:
    """Return the sum over the square root of the number; the number of segments is given."""
    return _sparse_segment(xp, "sqrt_n", data, indices, segment_ids, num_segments)


@sparse_segment_sqrt_n_with_num_segments.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _sparse_gradient(op, grad, sparse_segment_sqrt_n_grad, sparse_segment_sqrt_n_grad_v2)


def _sparse_gradient(op: Operation, grad: Tensor, dense: OpDefinition, sparse: OpDefinition) -> Any:
    data, indices, segment_ids = op.inputs[:3]
    shape = array_ops.shape(data)
    if op.get_attr("sparse_gradient"):
        values, rows = sparse(grad, indices, segment_ids, shape[0])
        found: Any = IndexedSlices(values, rows, shape)
    else:
        found = dense(grad, indices, segment_ids, shape[0])
    return (found, *[None] * (len(op.inputs) - 1))


# ----------------------------------------------------------------- gradients of sparse segments


def _sparse_grad_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank_at_least(0, 1).dim_values
    merge_shapes(c.with_rank(2, 1), c.with_rank(1, 1))
    c.with_rank(3, 0)
    value = c.constant_value(3)
    rows = None if value is None else int(value)
    if rows is not None and rows < 0:
        raise ValueError("Cannot specify a negative value for output_dim0")
    return UNKNOWN_SHAPE if dims is None else TensorShape([rows, *dims[1:]])


def _spread_gradient(
    xp: Xp,
    kind: str,
    grad: Array,
    indices: Array,
    segment_ids: Array,
    rows: Array,
    is_dense: bool = False,
) -> tuple[Array, Array]:
    """Return each selected row's scaled gradient; and the checked number of rows of the data."""
    if indices.ndim != 1:
        raise errors.invalid_argument("indices should be a vector.")
    if segment_ids.ndim != 1:
        raise errors.invalid_argument("segment_ids should be a vector.")
    if rows.ndim:
        raise errors.invalid_argument("output_dim0 should be a scalar.")
    if indices.shape != segment_ids.shape:
        raise errors.invalid_argument("segment_ids and indices should have same size.")
    count = int(rows)
    if count < 0:
        raise errors.invalid_argument(f"Expected a non-negative size, got {count}")
    if is_dense:  # the result is allocated before the ids are checked
        check_fits(xp, (count, *grad.shape[1:]), grad.dtype)
    if not count:  # TensorFlow checks nothing
        indices = segment_ids = indices[:0]
    if segment_ids.size and int(segment_ids[-1]) >= grad.shape[0]:
        raise errors.invalid_argument("Invalid number of segments")
    wrong = (segment_ids < 0) | (segment_ids >= grad.shape[0])
    if wrong.any():
        at = int(xp.argmax(wrong))
        raise errors.invalid_argument(
            f"Segment id {int(segment_ids[at])} out of range [0, {grad.shape[0]})."
        )
    wrong = (indices < 0) | (indices >= count)
    if wrong.any():
        at = int(xp.argmax(wrong))
        raise errors.invalid_argument(f"Index {int(indices[at])} out of range [0, {count}).")
    wide = widened(grad)
    spread = wide[segment_ids]
    if kind != "sum" and segment_ids.size:
        sizes = xp.bincount(as_places(segment_ids), minlength=grad.shape[0]).astype(wide.dtype)
        scale = sizes if kind == "mean" else xp.sqrt(sizes)
        spread = spread / scale[segment_ids].reshape((-1,) + (1,) * (grad.ndim - 1))
    return spread, count


def _dense_gradient(
    xp: Xp, kind: str, grad: Array, indices: Array, segment_ids: Array, output_dim0: Array
) -> Array:
    spread, count = _spread_gradient(xp, kind, grad, indices, segment_ids, output_dim0, True)
    out = xp.zeros((count, *grad.shape[1:]), spread.dtype)
    scatter_rows(xp, out, indices[: len(spread)], spread, "add")
    return out.astype(grad.dtype, copy=False)


def _unique_gradient(
    xp: Xp, kind: str, grad: Array, indices: Array, segment_ids: Array, dense_output_dim0: Array
) -> Outputs:
    spread, _ = _spread_gradient(xp, kind, grad, indices, segment_ids, dense_output_dim0)
    rows, places = xp.unique(indices[: len(spread)], return_inverse=True)
    out = xp.zeros((len(rows), *grad.shape[1:]), spread.dtype)
    scatter_rows(xp, out, places.reshape(-1), spread, "add")
    return out.astype(grad.dtype, copy=False), rows.astype(indices.dtype)


_GRAD = "grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32 -> output: T"
_GRAD_V2 = (
    "grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32 -> "
    "output: T, sorted_unique_indices: Tidx"
)


def _sparse_grad_v2_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.with_rank_at_least(0, 1).dim_values
    merge_shapes(c.with_rank(2, 1), c.with_rank(1, 1))
    c.with_rank(3, 0)
    values = UNKNOWN_SHAPE if dims is None else TensorShape([None, *dims[1:]])
    return [values, TensorShape([None])]


def _register_gradients(name: str, kind: str) -> tuple[OpDefinition, OpDefinition]:
    """Return the two gradient ops of SparseSegment<name>: dense rows, and unique rows only."""
    host = ("output_dim0",)

    @register_op(
        f"SparseSegment{name}Grad",
        _GRAD,
        _SPARSE_FLOAT,
        _TIDX,
        _TIDS,
        shape=_sparse_grad_shape,
        host_memory=host,
    )
    def dense(xp: Xp, grad: Array, indices: Array, segment_ids: Array, output_dim0: Array) -> Array:
        """Return, for every row of the data, the gradients of its segments."""
        return _dense_gradient(xp, kind, grad, indices, segment_ids, output_dim0)

    @register_op(
        f"SparseSegment{name}GradV2",
        _GRAD_V2,
        _SPARSE_FLOAT,
        _TIDX,
        _TIDS,
        shape=_sparse_grad_v2_shape,
        host_memory=("dense_output_dim0",),
    )
    def unique(
        xp: Xp, grad: Array, indices: Array, segment_ids: Array, dense_output_dim0: Array
    ) -> Outputs:
        """Return the gradients of the selected rows, and the numbers of these rows, in order."""
        return _unique_gradient(xp, kind, grad, indices, segment_ids, dense_output_dim0)

    return dense, unique


sparse_segment_sum_grad, sparse_segment_sum_grad_v2 = _register_gradients("Sum", "sum")
sparse_segment_mean_grad, sparse_segment_mean_grad_v2 = _register_gradients("Mean", "mean")
sparse_segment_sqrt_n_grad, sparse_segment_sqrt_n_grad_v2 = _register_gradients("SqrtN", "sqrt_n")


# ----------------------------------------------------------------------- functions of Python's side


def _call_sparse(
    plain: Any,
    numbered: Any,
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    sparse_gradient: bool,
    name: str | None,
) -> Any:
    if num_segments is not None:
        return numbered(
            data, indices, segment_ids, num_segments, sparse_gradient=sparse_gradient, name=name
        )
    return plain(data, indices, segment_ids, sparse_gradient=sparse_gradient, name=name)


def sparse_segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
    sparse_gradient: bool = False,
) -> Any:
    """Return the sum of the selected rows of each segment."""
    return _call_sparse(
        sparse_segment_sum_op,
        sparse_segment_sum_with_num_segments,
        data,
        indices,
        segment_ids,
        num_segments,
        sparse_gradient,
        name,
    )


def sparse_segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
    sparse_gradient: bool = False,
) -> Any:
    """Return the mean of the selected rows of each segment."""
    return _call_sparse(
        sparse_segment_mean_op,
        sparse_segment_mean_with_num_segments,
        data,
        indices,
        segment_ids,
        num_segments,
        sparse_gradient,
        name,
    )


def sparse_segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
    sparse_gradient: bool = False,
) -> Any:
    """Return the sum of the selected rows of each segment over the square root of their number."""
    return _call_sparse(
        sparse_segment_sqrt_n_op,
        sparse_segment_sqrt_n_with_num_segments,
        data,
        indices,
        segment_ids,
        num_segments,
        sparse_gradient,
        name,
    )
