"""Counts of the numbers in each row of sparse and ragged tensors, dense or sparse.

Corresponds to TensorFlow's ``bincount_op.cc`` and ``count_ops.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, merge_shapes, shape_of_sizes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.sparse.sparse_indices import check_form

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_TIDX = "Tidx: {int32, int64}"
_WEIGHTS = "T: {int32, int64, float, double}"
_BINARY = "binary_output: bool = false"


def _scalar_size(size: Array) -> int:
    if size.ndim:
        raise errors.invalid_argument(f"Shape must be rank 0 but is rank {size.ndim}")
    number = int(size)
    if number < 0:
        raise errors.invalid_argument(f"size ({number}) must be non-negative")
    return number


def _refuse_negative(values: Array) -> None:
    if values.size and int(values.min()) < 0:
        raise errors.invalid_argument("Input must be non-negative")


def _counts(
    rows: Array, values: Array, weights: Array, shape: tuple[int, int], binary: bool
) -> Array:
    """Return [rows, size] counts, or sums of weights.

    Numbers outside [0, size) do not count.
    """
    inside = (values >= 0) & (values < shape[1])
    weights = weights.reshape(-1)
    # In TensorFlow, more weights than values, or weights without values, are no error.
    if 0 < weights.size < values.size and not binary and inside[weights.size :].any():
        raise errors.invalid_argument(
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it "
            f"acts as all weights equal to 1. Received {shape_text(weights.shape)}"
        )
    check_fits(np, shape, weights.dtype)
    out = np.zeros(shape, weights.dtype)
    places = (rows[inside], values[inside])
    if binary:
        out[places] = 1
    else:
        # The weights of the values that count.
        own = weights[np.flatnonzero(inside)] if weights.size else out.dtype.type(1)
        np.add.at(out, places, own)
    return out


def _sparse_bincount_shape(c: InferenceContext) -> TensorShape:
    size = c.constant_value(3)
    if size is None:
        return UNKNOWN_SHAPE
    if size.ndim:
        raise ValueError(f"Shape must be rank 0 but is rank {size.ndim}")
    if size < 0:
        raise ValueError(f"size ({int(size)}) must be non-negative")
    dense_shape = c.constant_value(2)
    if dense_shape is None:
        return UNKNOWN_SHAPE
    if dense_shape.size not in (1, 2):
        raise ValueError("Input must be less than rank 2")
    return shape_of_sizes([*dense_shape.reshape(-1).tolist()[:-1], int(size)])


@register_op(
    "SparseBincount",
    "indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T -> output: T",
    _TIDX,
    _WEIGHTS,
    _BINARY,
    shape=_sparse_bincount_shape,
    **_CPU,
)
def sparse_bincount(
    xp: Xp,
    indices: Array,
    values: Array,
    dense_shape: Array,
    size: Array,
    weights: Array,
    *,
    binary_output: bool,
) -> Array:
    """Return the count of each number below ``size``, per row of a sparse matrix."""
    count = _scalar_size(size)
    check_form(indices, values, dense_shape)
    if (indices < 0).any() or (indices >= dense_shape).any():
        raise errors.invalid_argument("Index out of bound: indices are not in the dense shape")
    rank = dense_shape.size
    if not rank:
        raise errors.invalid_argument("Shape must be at least rank 1 but is rank 0")
    if rank == 1:
        _refuse_negative(values)
        if weights.size not in (0, values.size) and not binary_output:
            raise errors.invalid_argument("Input indices and weights must have the same size.")
        row = np.zeros(values.size, np.int64)
        return _counts(row, values, weights, (1, count), binary_output)[0]
    shape = (int(dense_shape[0]), count)
    return _counts(indices[:, 0], values, weights, shape, binary_output)


@register_op(
    "RaggedBincount",
    "splits: int64, values: Tidx, size: Tidx, weights: T -> output: T",
    _TIDX,
    _WEIGHTS,
    _BINARY,
    **_CPU,
)
def ragged_bincount(
    xp: Xp, splits: Array, values: Array, size: Array, weights: Array, *, binary_output: bool
) -> Array:
    """Return the count of each number below ``size``, per row of a ragged matrix."""
    count = _scalar_size(size)
    values = values.reshape(-1)
    splits = splits.reshape(-1)
    row = _rows_of(splits, values)
    _refuse_negative(values)
    return _counts(row, values, weights, (splits.size - 1, count), binary_output)


def _rows_of(splits: Array, values: Array) -> Array:
    """Return the row of each value.

    Raises:
      InvalidArgumentError: the splits do not fit the values.
    """
    if not splits.size:
        raise errors.invalid_argument(
            f"Must provide at least 2 elements for the splits argument, got {splits.size}"
        )
    if splits[0] != 0:
        raise errors.invalid_argument(f"Splits must start with 0, not with {splits[0]}")
    if splits[-1] != values.size:
        raise errors.invalid_argument(
            f"Splits must end with the number of values, got {splits[-1]} instead of {values.size}"
        )
    # If splits decrease, a value still does not return to an earlier row.
    ends = np.maximum.accumulate(splits)
    return np.searchsorted(ends, np.arange(values.size), side="right") - 1


# ---------------------------------------------------------------------------------- sparse counts

# The maximum length of TensorFlow's vector of tables.
_MOST_BATCHES = 1 << 58

_OUT = "output_indices: int64, output_values: output_type, output_dense_shape: int64"
_COUNT_ATTRS = (
    "T: {int32, int64}",
    "minlength: int >= -1 = -1",
    "maxlength: int >= -1 = -1",
    "binary_output: bool",
    "output_type: {int32, int64, float, double}",
)


def _count_shape(c: InferenceContext, rank: int | None) -> list[TensorShape]:
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]


def _occurring(
    rows: Array,
    values: Array,
    weights: Array,
    batch: int | None,
    output_type: DType,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
) -> tuple[Array, Array, Array]:
    """Return the distinct numbers' counts as a sparse matrix, or as a vector if unbatched."""
    if weights.size and weights.shape != values.shape:
        raise errors.invalid_argument(
            f"Weights and values must have the same shape. Weight shape: "
            f"{shape_text(weights.shape)}; values shape: {shape_text(values.shape)}"
        )
    if values.size and int(values.min()) < 0:
        raise errors.invalid_argument("Input values must all be non-negative")
    flat, own = values.reshape(-1).astype(np.int64), weights.reshape(-1)
    inside = flat < maxlength if maxlength >= 0 else np.ones(flat.shape, bool)
    kept, row = flat[inside], rows[inside]
    pairs = np.stack([row, kept], axis=1).astype(np.int64)
    found, place = np.unique(pairs, axis=0, return_inverse=True)
    dtype = output_type.as_numpy_dtype
    counts = np.zeros(len(found), dtype)
    if binary_output:
        counts[:] = 1
    else:
        np.add.at(counts, place.reshape(-1), own[inside] if own.size else dtype(1))
    # As in TensorFlow, the largest int64 plus one wraps to the smallest.
    past = (int(kept.max(initial=0)) + 1 + (1 << 63)) % (1 << 64) - (1 << 63)
    width = maxlength if maxlength >= 0 else max(past, minlength)
    if batch is None:
        return found[:, 1:], counts, np.array([width], np.int64)
    return found, counts, np.array([batch, width], np.int64)


@register_op(
    "DenseCountSparseOutput",
    "values: T, weights: output_type -> " + _OUT,
    *_COUNT_ATTRS,
    **_CPU,
)
def dense_count_sparse_output(
    xp: Xp,
    values: Array,
    weights: Array,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
    output_type: DType,
) -> Outputs:
    """Return the counts of the distinct numbers of a vector, or of each row of a matrix."""
    if values.ndim not in (1, 2):
        raise errors.invalid_argument(
            f"Input must be a 1 or 2-dimensional tensor. Got: {values.ndim}"
        )
    if weights.size and weights.shape != values.shape:
        raise errors.invalid_argument(
            f"Weights and values must have the same shape. Weight shape: "
            f"{shape_text(weights.shape)}; values shape: {shape_text(values.shape)}"
        )
    if 0 in values.shape[:-1]:
        raise errors.invalid_argument("Invalid input: Shapes dimension cannot be 0.")
    is_matrix = values.ndim == 2
    rows = np.repeat(np.arange(values.shape[0]), values.shape[1]) if is_matrix else None
    return _occurring(
        np.zeros(values.size, np.int64) if rows is None else rows,
        values,
        weights,
        values.shape[0] if is_matrix else None,
        output_type,
        minlength=minlength,
        maxlength=maxlength,
        binary_output=binary_output,
    )


@dense_count_sparse_output.shape
def _(c: InferenceContext) -> list[TensorShape]:
    dims, weights = c.inputs[0].dim_values, c.inputs[1].dim_values
    if weights is not None and None not in weights and 0 not in weights:
        dims = merge_shapes(c.inputs[0], c.inputs[1]).dim_values
    return _count_shape(c, None if dims is None else len(dims))


@register_op(
    "SparseCountSparseOutput",
    "indices: int64, values: T, dense_shape: int64, weights: output_type -> " + _OUT,
    *_COUNT_ATTRS,
    **_CPU,
)
def sparse_count_sparse_output(
    xp: Xp,
    indices: Array,
    values: Array,
    dense_shape: Array,
    weights: Array,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
    output_type: DType,
) -> Outputs:
    """Return the counts of the distinct numbers of a sparse vector, or of each row of a matrix."""
    if indices.ndim != 2:
        raise errors.invalid_argument(
            f"Input indices must be a 2-dimensional tensor. Got: {shape_text(indices.shape)}"
        )
    if values.ndim != 1:
        raise errors.invalid_argument(
            f"Input values must be a 1-dimensional tensor. Got: {shape_text(values.shape)}"
        )
    if dense_shape.ndim != 1:
        raise errors.invalid_argument(
            f"Input shape must be a 1-dimensional tensor. Got: {shape_text(dense_shape.shape)}"
        )
    if values.shape[0] != indices.shape[0]:
        raise errors.invalid_argument(
            f"Number of values must match first dimension of indices. Got {values.shape[0]} "
            f"values, indices shape: {shape_text(indices.shape)}"
        )
    if dense_shape.shape[0] != indices.shape[1]:
        raise errors.invalid_argument(
            "Number of dimensions must match second dimension of indices. Got "
            f"{dense_shape.shape[0]} dimensions, indices shape: {shape_text(indices.shape)}"
        )
    if not dense_shape.size:
        raise errors.invalid_argument("The shape argument requires at least one element.")
    if (indices < 0).any() or (indices >= dense_shape).any():
        raise errors.invalid_argument("Index out of bound: indices are not in the dense shape")
    is_matrix = dense_shape.size > 1
    if is_matrix and not 0 < dense_shape[0] <= _MOST_BATCHES:
        raise errors.invalid_argument(
            f"Cannot allocate {dense_shape[0]} batches, is the dense shape too wide?"
        )
    return _occurring(
        indices[:, 0] if is_matrix else np.zeros(values.size, np.int64),
        values,
        weights,
        int(dense_shape[0]) if is_matrix else None,
        output_type,
        minlength=minlength,
        maxlength=maxlength,
        binary_output=binary_output,
    )


@sparse_count_sparse_output.shape
def _(c: InferenceContext) -> list[TensorShape]:
    return _count_shape(c, (c.with_rank(0, 2).dim_values or (None, None))[1])


def _ragged_count_shape(c: InferenceContext) -> list[TensorShape]:
    rank = c.inputs[1].ndims
    return _count_shape(c, None if rank is None else rank + 1)


@register_op(
    "RaggedCountSparseOutput",
    "splits: int64, values: T, weights: output_type -> " + _OUT,
    *_COUNT_ATTRS,
    shape=_ragged_count_shape,
    **_CPU,
)
def ragged_count_sparse_output(
    xp: Xp,
    splits: Array,
    values: Array,
    weights: Array,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
    output_type: DType,
) -> Outputs:
    """Return the counts of the distinct numbers of each row of a ragged matrix."""
    splits = splits.reshape(-1)
    if splits.size < 2:
        raise errors.invalid_argument(
            f"Must provide at least 2 elements for the splits argument: {splits.size}"
        )
    return _occurring(
        _rows_of(splits, values),
        values,
        weights,
        splits.size - 1,
        output_type,
        minlength=minlength,
        maxlength=maxlength,
        binary_output=binary_output,
    )
