"""Joining of strings: element by element, along dimensions, by segment, as n-grams."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits, check_size
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.string_arrays import as_bytes, check_joined, num_bytes_of, strings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.tensor_types import TensorLike, TensorResult
    from tfnb.ops.math import math_ops
else:
    math_ops = later("tfnb.ops.math.math_ops")

EXPORTS = {
    "tf": ["reduce_join", "string_join"],
    "strings": ["join:string_join", "reduce_join", "unsorted_segment_join"],
}

# --------------------------------------------------------------------------------------- StringJoin


def _join_shape(c: InferenceContext) -> TensorShape:
    found = SCALAR_SHAPE
    for shape in c.inputs:
        dims = shape.dim_values
        if dims is None:
            found = UNKNOWN_SHAPE if found.dim_values == () else found
        elif dims:
            found = shape if found.dim_values == () else merge_shapes(found, shape)
    if any(shape.dim_values is None for shape in c.inputs) and found.dim_values == ():
        return UNKNOWN_SHAPE
    return found


@register_op(
    "StringJoin",
    "inputs: N * string -> output: string",
    "N: int >= 0",
    "separator: string = ''",
    shape=_join_shape,
    devices=("CPU",),
)
def string_join_op(xp: Xp, inputs: list[Array], *, separator: str) -> Array:
    """Return the elements of several tensors joined; scalars are joined to every element."""
    shape: tuple[int, ...] | None = None
    for array in inputs:
        if array.ndim:
            if shape is not None and array.shape != shape:
                raise errors.invalid_argument(
                    f"Input shapes do not match: {shape_text(shape)} vs. {shape_text(array.shape)}"
                )
            shape = array.shape
    if shape is None:
        shape = ()
    between = as_bytes(separator)
    count = int(np.prod(shape, dtype=np.int64))
    total = sum(num_bytes_of(array) * (1 if array.ndim else count) for array in inputs)
    check_joined(total, between, count * len(inputs))
    columns = [
        array.reshape(-1).tolist() if array.ndim else [array.item()] * count for array in inputs
    ]
    if not columns:
        return strings([b""], ())
    return strings([between.join(row) for row in zip(*columns, strict=True)], shape)


string_join_op.not_differentiable()


def string_join(inputs: TensorLike, separator: str = "", name: str | None = None) -> TensorResult:
    """Return the elements of several string tensors joined."""
    return string_join_op(inputs, separator=separator, name=name)


# --------------------------------------------------------------------------------------- ReduceJoin


def _reduce_join_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    axes = c.constant_value(1)
    keep = c.attr("keep_dims")
    if dims is None:
        return UNKNOWN_SHAPE
    if axes is None:
        return TensorShape([None] * len(dims)) if keep else UNKNOWN_SHAPE
    reduced = set()
    for axis in axes.reshape(-1).tolist():
        if not -len(dims) <= axis < len(dims):
            raise ValueError(
                f"Invalid reduction dimension {axis} for input with {len(dims)} dimensions."
            )
        reduced.add(axis % len(dims))
    if keep:
        return TensorShape([1 if i in reduced else size for i, size in enumerate(dims)])
    return TensorShape([size for i, size in enumerate(dims) if i not in reduced])


@register_op(
    "ReduceJoin",
    "inputs: string, reduction_indices: int32 -> output: string",
    "keep_dims: bool = false",
    "separator: string = ''",
    shape=_reduce_join_shape,
    devices=("CPU",),
)
def reduce_join_op(
    xp: Xp, inputs: Array, reduction_indices: Array, *, keep_dims: bool, separator: str
) -> Array:
    """Return the strings along some dimensions joined; the first given dimension varies fastest."""
    axes: list[int] = []
    for axis in reduction_indices.reshape(-1).tolist():
        if not -inputs.ndim <= axis < inputs.ndim:
            raise errors.out_of_range(
                f"Invalid reduction dimension {axis} for input with {inputs.ndim} dimension(s)"
            )
        if axis % inputs.ndim in axes:
            raise errors.invalid_argument(f"Duplicate reduction dimension {axis}")
        axes.append(axis % inputs.ndim)
    if not axes:
        return inputs
    kept = [axis for axis in range(inputs.ndim) if axis not in axes]
    shape = tuple(inputs.shape[axis] for axis in kept)
    turned = inputs.transpose([*kept, *reversed(axes)])
    rows = turned.reshape(int(np.prod(shape, dtype=np.int64)), -1) if turned.size else None
    between = as_bytes(separator)
    check_joined(num_bytes_of(inputs), between, inputs.size)
    if rows is None:
        joined = [b""] * int(np.prod(shape, dtype=np.int64))
    else:
        joined = [between.join(row) for row in rows.tolist()]
    if keep_dims:
        shape = tuple(1 if i in axes else size for i, size in enumerate(inputs.shape))
    return strings(joined, shape)


reduce_join_op.not_differentiable()


@dispatchable
def reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keepdims: bool | None = None,
) -> TensorResult:
    """Return the strings along some dimensions joined; by default along all, row by row.

    Raises:
      ValueError: an argument was given under both of its names.
    """
    if keepdims is not None and keep_dims is not None:
        raise ValueError("Cannot specify both 'keepdims' and 'keep_dims'")
    if axis is not None and reduction_indices is not None:
        raise ValueError("Cannot specify both 'axis' and 'reduction_indices'")
    axis = reduction_indices if axis is None else axis
    keep = bool(keep_dims if keepdims is None else keepdims)
    with name_scope(None, "ReduceJoin", [inputs, axis]):
        inputs = convert_to_tensor(inputs)
        if axis is None:
            rank = inputs.shape.ndims
            if rank is not None:
                axis = convert_to_tensor(np.arange(rank - 1, -1, -1), dtype=dtypes.int32)
            else:
                axis = math_ops.range(array_ops.rank(inputs) - 1, -1, -1)
        return reduce_join_op(inputs, axis, keep_dims=keep, separator=separator, name=name)


# ----------------------------------------------------------------------------------------- segments


def _segment_join_shape(c: InferenceContext) -> TensorShape:
    data, ids = c.inputs[0].dim_values, c.inputs[1].dim_values
    c.with_rank(2, 0)
    if data is None or ids is None:
        return UNKNOWN_SHAPE
    merge_shapes(TensorShape(data[: len(ids)]), TensorShape(ids))
    count = c.constant_value(2)
    return TensorShape([None if count is None else int(count), *data[len(ids) :]])


@register_op(
    "UnsortedSegmentJoin",
    "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> output: string",
    "separator: string = ''",
    "Tindices: {int32, int64}",
    "Tnumsegments: {int32, int64} = DT_INT32",
    shape=_segment_join_shape,
    devices=("CPU",),
)
def unsorted_segment_join(
    xp: Xp, inputs: Array, segment_ids: Array, num_segments: Array, *, separator: str
) -> Array:
    """Return the strings of each segment joined, in their order."""
    if num_segments.ndim:
        raise errors.invalid_argument("Number of segments must be a scalar")
    count = int(num_segments)
    if count < 0:
        raise errors.invalid_argument(f"Number of segments must be non-negative but got {count}")
    if segment_ids.ndim == 0:
        raise errors.invalid_argument("Segment_id cannot have rank 0")
    if segment_ids.ndim > inputs.ndim:
        raise errors.out_of_range("Invalid segment_id rank")
    for rank, (found, wanted) in enumerate(zip(segment_ids.shape, inputs.shape, strict=False)):
        if found != wanted:
            raise errors.invalid_argument(
                f"Segment dimension is {found} while input dimension is {wanted} in rank {rank}"
            )
    ids = segment_ids.reshape(-1).tolist()
    if any(one < 0 or one >= count for one in ids):
        raise errors.invalid_argument(
            "segment_ids are not allowed to exceed num_segments or to have negative values."
        )
    rest = inputs.shape[segment_ids.ndim :]
    check_fits(np, (count, *rest), inputs.dtype)
    width = int(np.prod(rest, dtype=np.int64))
    segments: defaultdict[int, list[list[bytes]]] = defaultdict(list)
    for one, row in zip(ids, inputs.reshape(len(ids), width).tolist(), strict=True):
        segments[one].append(row)
    between = as_bytes(separator)
    check_joined(num_bytes_of(inputs), between, inputs.size)
    out = np.full((count, width), b"", object)
    for one, rows in segments.items():
        for column, cell in enumerate(zip(*rows, strict=True)):
            out[one, column] = _join_from_text_on(between, cell)
    return out.reshape(count, *rest)


def _join_from_text_on(between: bytes, parts: Sequence[bytes]) -> bytes:
    """Return the parts joined; leading empty parts add no separator."""
    first = next((i for i, part in enumerate(parts) if part), len(parts))
    return between.join(parts[first:])


unsorted_segment_join.not_differentiable()

# ------------------------------------------------------------------------------------------ n-grams


def _ngrams_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 1)
    return [TensorShape([None]), c.with_rank(1, 1)]


@register_op(
    "StringNGrams",
    "data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits",
    "separator: string",
    "ngram_widths: list(int) >= 0",
    "left_pad: string",
    "right_pad: string",
    "pad_width: int",
    "preserve_short_sequences: bool",
    "Tsplits: {int32, int64} = DT_INT64",
    shape=_ngrams_shape,
    devices=("CPU",),
)
def string_ngrams(
    xp: Xp,
    data: Array,
    data_splits: Array,
    *,
    separator: str,
    ngram_widths: list[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
    Tsplits: DType,
) -> Outputs:
    """Return all runs of neighbouring strings of the given lengths, row by row."""
    if any(width <= 0 for width in ngram_widths):
        raise errors.invalid_argument("ngram_widths must contain positive values")
    splits = data_splits.reshape(-1).tolist()
    _check_splits(splits, data.size)
    if not splits:
        return strings([b""] * data.size, data.shape), data_splits
    data = data.reshape(-1)
    if not len(data):
        return strings([], (0,)), np.zeros_like(data_splits)
    between, left, right = (as_bytes(text) for text in (separator, left_pad, right_pad))

    total = 0

    def ngrams(row: list[bytes], width: int) -> list[bytes]:
        nonlocal total
        pads = width - 1 if pad_width < 0 else min(pad_width, width - 1)
        check_size(16 * pads)
        padded = [left] * pads + row + [right] * pads
        made = []
        for start in range(len(padded) - width + 1):
            made.append(between.join(padded[start : start + width]))
            total += len(made[-1])
            check_size(total)
        return made

    found: list[bytes] = []
    ends = [0]
    for start, stop in pairwise(splits):
        row = data[start:stop].tolist()
        made = [ngram for width in ngram_widths for ngram in ngrams(row, width)]
        if preserve_short_sequences and not made and row:
            # The row as a whole, however short it is.
            made = ngrams(row, len(row) + 2 * max(pad_width, 0))
        found += made
        ends.append(len(found))
    bounds = np.array(ends, Tsplits.as_numpy_dtype).reshape(data_splits.shape)
    return strings(found, (len(found),)), bounds


string_ngrams.not_differentiable()


def _check_splits(splits: list[int], size: int) -> None:
    if not splits:
        return
    if splits[0] != 0:
        raise errors.invalid_argument(f"First split value must be 0, got {splits[0]}")
    for earlier, following in pairwise(splits):
        if following < earlier or following > size:
            raise errors.invalid_argument(
                f"Invalid split value {following}, must be in [{earlier}, {size}]"
            )
    if splits[-1] != size:
        raise errors.invalid_argument(
            f"Last split value must be data size. Expected {size}, got {splits[-1]}"
        )
