"""Tensors whose rows differ in length: ranges, gathering, and conversions.

A ragged tensor consists of its values, row after row, and for each ragged dimension a vector of
*splits*: row i has the values splits[i] to splits[i + 1]. Corresponds to TensorFlow's
``ragged_range_op.cc``, ``ragged_gather_op.cc``, ``ragged_tensor_to_sparse_kernel.cc``,
``ragged_tensor_to_tensor_op.cc`` and ``ragged_fill_empty_rows_op.cc``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.array_module import as_places
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.core.text_bytes import shown_text
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.ops.array import array_ops, gather_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math import reduction_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike

EXPORTS = {"tf": ["ragged_fill_empty_rows", "ragged_fill_empty_rows_grad"]}

_CPU: dict[str, Any] = {"devices": ("CPU",)}
# Whole numbers are made row by row if there are more than 64 * (rows + this) of them.
_MANY = 1 << 10
_TSPLITS = "Tsplits: {int32, int64} = DT_INT64"


def splits_of(lengths: Array, dtype: Attr) -> Array:
    """Return the row splits of rows with these lengths."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)]).astype(dtype)


def check_splits(splits: Array, count: int) -> None:
    """Check splits of ``count`` values as TensorFlow does.

    Raises:
      InvalidArgumentError: the splits are invalid.
    """
    if splits.ndim != 1 or not splits.size:
        raise errors.invalid_argument(
            f"Ragged splits must be vectors with at least one element, not of shape "
            f"{shape_text(splits.shape)}"
        )
    if splits[0] != 0:
        raise errors.invalid_argument(
            f"Ragged splits must start with 0; the first value of row splits is {splits[0]}"
        )
    if (np.diff(splits) < 0).any():
        raise errors.invalid_argument("Ragged splits must be sorted in ascending order")
    if splits[-1] != count:
        raise errors.invalid_argument(
            f"Final value of ragged splits must match the length of the corresponding ragged "
            f"values: {splits[-1]} vs. {count}"
        )


def positions(starts: Array, lengths: Array) -> Array:
    """Return lengths[i] numbers starts[i], starts[i] + 1, ..., for every i in order."""
    total = int(lengths.sum())
    first = np.cumsum(lengths) - lengths
    return (
        np.arange(total)
        - np.repeat(first, as_places(lengths))
        + np.repeat(starts, as_places(lengths))
    )


# ----------------------------------------------------------------------------------------- ranges


def _range_shape(c: InferenceContext) -> list[TensorShape]:
    rows: int | None = None
    is_vector = False
    known = True
    for index in range(3):
        dims = c.with_rank_at_most(index, 1).dim_values
        if dims is None:
            known = False
        elif dims:
            is_vector = True
            rows = merge_dims(rows, dims[0])
    if not is_vector and known:
        rows = 1
    return [TensorShape([None if rows is None else rows + 1]), TensorShape([None])]


@register_op(
    "RaggedRange",
    "starts: T, limits: T, deltas: T -> rt_nested_splits: Tsplits, rt_dense_values: T",
    "T: {bfloat16, float, double, int32, int64} = DT_INT32",
    _TSPLITS,
    shape=_range_shape,
    **_CPU,
)
def ragged_range(
    xp: Xp, starts: Array, limits: Array, deltas: Array, *, Tsplits: dtypes.DType
) -> Outputs:
    """Return a row of numbers for each start, limit and step."""
    parts = []
    for name, value in (("starts", starts), ("limits", limits), ("deltas", deltas)):
        if value.ndim > 1:
            raise errors.invalid_argument(f"{name} must be a scalar or vector")
        parts.append(np.atleast_1d(value))
    rows = {value.shape[0] for value in (starts, limits, deltas) if value.ndim}
    if len(rows) > 1:
        raise errors.invalid_argument("starts, limits, and deltas must have the same shape")
    count = rows.pop() if rows else 1
    first, last, step = (np.broadcast_to(part, (count,)) for part in parts)
    if (step == 0).any():
        raise errors.invalid_argument("Requires delta != 0")
    dtype = starts.dtype
    is_whole = dtype.kind in "iu"
    is_empty = ((step > 0) & (last < first)) | ((step < 0) & (last > first))
    if is_whole:
        # A difference of 64-bit integers needs all 64 bits, so compute unsigned.
        words = [part.astype(np.int64).view(np.uint64) for part in (first, last, step)]
        span = np.where(step > 0, words[1] - words[0], words[0] - words[1])
        size = np.where(step > 0, words[2], -words[2])
        counts: Array = span // size + (span % size > 0)
    else:
        counts = np.ceil(np.abs((last - first) / step)).astype(np.float64)
    lengths: Array = np.where(is_empty, counts.dtype.type(0), counts)
    largest = np.iinfo(Tsplits.as_numpy_dtype).max
    if not (lengths <= 2.0**63).all() or sum(map(int, lengths.tolist())) > largest:
        raise errors.invalid_argument(f"Requires ((limit - start) / delta) <= {largest}")
    lengths = lengths.astype(np.int64)
    splits = splits_of(lengths, Tsplits.as_numpy_dtype)
    check_fits(np, (int(splits[-1]),), dtype)
    if is_whole:
        if splits[-1] > 64 * (count + _MANY):
            # Few and long rows: avoid arrays of positions of the same size.
            values = np.empty(int(splits[-1]), dtype)
            for i, row in enumerate(np.split(values, splits[1:-1])):
                row[:1], row[1:] = first[i], step[i]
                np.cumsum(row, dtype=dtype, out=row)
            return splits, values
        places = positions(np.zeros(count, np.int64), lengths)
        lengths = as_places(lengths)
        begin = np.repeat(first, lengths).astype(np.int64)
        return splits, (begin + places * np.repeat(step, lengths)).astype(dtype)
    # As in TensorFlow, floats are added step by step.
    parts = [
        np.cumsum(np.r_[first[i], np.repeat(step[i], n - 1)].astype(dtype), dtype=dtype)
        for i, n in enumerate(lengths.tolist())
        if n
    ]
    return splits, np.concatenate(parts) if parts else np.zeros(0, dtype)


ragged_range.not_differentiable()

# ------------------------------------------------------------------------------------------ gather


def _gather_shape(c: InferenceContext) -> list[TensorShape]:
    splits, out = c.attr("PARAMS_RAGGED_RANK"), c.attr("OUTPUT_RAGGED_RANK")
    dims = c.inputs[-1].dim_values
    if dims is not None and out != len(dims) + splits - 1:
        raise ValueError(
            "output_ragged_rank must equal indices.ndims + params.ragged_rank - 1; got "
            f"output_ragged_rank: {out}, indices.ndims: {len(dims)}, params.ragged_rank: {splits}"
        )
    for index in range(splits):
        c.with_rank(index, 1)
    values = c.with_rank_at_least(splits, 1).dim_values
    inner = UNKNOWN_SHAPE if values is None else TensorShape([None, *values[1:]])
    return [*(TensorShape([None]) for _ in range(out)), inner]


@register_op(
    "RaggedGather",
    "params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, params_dense_values: Tvalues, "
    "indices: Tindices -> output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits, "
    "output_dense_values: Tvalues",
    "Tvalues: type",
    "Tindices: {int32, int64}",
    _TSPLITS,
    "PARAMS_RAGGED_RANK: int >= 1",
    "OUTPUT_RAGGED_RANK: int >= 0",
    shape=_gather_shape,
    **_CPU,
)
def ragged_gather(
    xp: Xp,
    params_nested_splits: Sequence[Array],
    values: Array,
    indices: Array,
    *,
    Tsplits: dtypes.DType,
) -> Outputs:
    """Return rows of a ragged tensor, arranged like the indices."""
    if values.ndim < 1 or params_nested_splits[0].ndim < 1:
        raise errors.invalid_argument("params.rank must be nonzero")
    rows = params_nested_splits[0].shape[0] - 1
    nested = [splits.reshape(-1) for splits in params_nested_splits]
    for splits, inner in zip(nested, [*nested[1:], values], strict=True):
        if not splits.size or splits[0] < 0 or (np.diff(splits) < 0).any():
            raise errors.invalid_argument("Ragged splits must be sorted, not negative, nor empty")
        if splits[-1] > len(inner):
            raise errors.invalid_argument("Ragged splits must not point past values")
    flat = indices.reshape(-1).astype(np.int64)
    outside = np.flatnonzero((flat < 0) | (flat >= rows))
    if outside.size:
        place = ",".join(str(p) for p in np.unravel_index(outside[0], indices.shape))
        raise errors.invalid_argument(
            f"indices[{place}] = {flat[outside[0]]} is not in [0, {rows})"
        )
    dtype = Tsplits.as_numpy_dtype
    found = [
        np.arange(math.prod(indices.shape[: d + 1]) + 1, dtype=dtype) * dtype(indices.shape[d + 1])
        for d in range(indices.ndim - 1)
    ]
    chosen = flat
    for splits in nested:
        if chosen.max(initial=0) + 1 >= splits.size and chosen.size:  # TensorFlow reads further
            raise errors.invalid_argument("Ragged splits must not point past splits")
        starts = splits[chosen].astype(np.int64)
        lengths = splits[chosen + 1] - starts
        found.append(splits_of(lengths, dtype))
        chosen = positions(starts, lengths)
    # A scalar index selects one row, which has no outer splits.
    return *(found if indices.ndim else found[1:]), values[chosen]


@ragged_gather.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    *nested, values, indices = op.inputs
    combined = nested[0]
    for splits in nested[1:]:
        combined = gather_ops.gather(splits, combined)
    flat = array_ops.reshape(indices, [-1])
    starts, ends = gather_ops.gather(combined, flat), gather_ops.gather(combined, flat + 1)
    _, places = ragged_range(starts, ends, array_ops.ones_like(starts))
    slices = IndexedSlices(grads[-1], places, array_ops.shape(values))
    return *(None for _ in nested), slices, None


# ------------------------------------------------------------------------------------------ sparse


def _sparse_shape(c: InferenceContext) -> list[TensorShape]:
    rank = c.attr("RAGGED_RANK")
    for index in range(rank):
        c.with_rank(index, 1)
    values = c.with_rank_at_least(rank, 1).dim_values
    dense = None if values is None else rank + len(values)
    count = None if values is None or None in values else math.prod(values)  # type: ignore[arg-type]
    return [TensorShape([count, dense]), TensorShape([count]), TensorShape([dense])]


@register_op(
    "RaggedTensorToSparse",
    "rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: T -> sparse_indices: int64, "
    "sparse_values: T, sparse_dense_shape: int64",
    "RAGGED_RANK: int >= 1",
    "T: type",
    _TSPLITS,
    shape=_sparse_shape,
    **_CPU,
)
def ragged_tensor_to_sparse(xp: Xp, nested: Sequence[Array], values: Array) -> Outputs:
    """Return every value's indices, the values, and the dense shape that contains them."""
    if values.ndim < 1:
        raise errors.invalid_argument("rt_dense_values must have rank at least 1")
    nested = [nested[0], *(splits.reshape(-1) for splits in nested[1:])]
    counts = [*(splits.shape[0] - 1 for splits in nested[1:]), values.shape[0]]
    for splits, count in zip(nested, counts, strict=True):
        check_splits(splits, count)
    rows = np.arange(nested[0].shape[0] - 1)[:, None]
    sizes = [rows.shape[0]]
    for splits in nested:
        lengths = np.diff(splits).astype(np.int64)
        place = positions(np.zeros(lengths.size, np.int64), lengths)
        rows = np.concatenate([np.repeat(rows, as_places(lengths), axis=0), place[:, None]], axis=1)
        sizes.append(int(lengths.max(initial=0)))
    inner = values.shape[1:]
    grid = np.argwhere(np.ones(inner, bool))
    indices = np.concatenate(
        [np.repeat(rows, grid.shape[0], axis=0), np.tile(grid, (rows.shape[0], 1))], axis=1
    )
    return indices.astype(np.int64), values.reshape(-1), np.array([*sizes, *inner], np.int64)


@ragged_tensor_to_sparse.gradient
def _(op: Operation, _: Tensor, grad: Tensor, __: Tensor) -> Gradients:
    *nested, values = op.inputs
    return *(None for _ in nested), array_ops.reshape(grad, array_ops.shape(values))


# ------------------------------------------------------------------------------------------- dense

_KINDS = ("FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS")


def _kinds(values: Sequence[Array]) -> list[str]:
    found = [shown_text(v) if isinstance(v, bytes) else str(v) for v in values]
    for kind in found:
        if kind not in (*_KINDS, "ROW_LENGTHS", "ROW_LIMITS", "ROW_STARTS"):
            raise errors.invalid_argument(f"Unknown string for partition info type: {kind}")
    return found


def _ragged_rank(kinds: Sequence[str]) -> int:
    return len(kinds) - (1 if kinds and kinds[0] == "FIRST_DIM_SIZE" else 0)


def _dense_shape(c: InferenceContext) -> TensorShape:
    kinds = _kinds(c.attrs["row_partition_types"])
    rank = _ragged_rank(kinds)
    target: Any = None
    shape = c.inputs[0].dim_values
    if shape == ():
        value = c.constant_value(0)
        if value is None:
            raise ValueError(
                "Received a shape scalar with unknown static value. A static value of '-1' is "
                "required to represent an unknown shape."
            )
        if int(value) != -1:
            raise ValueError("The only valid scalar shape tensor is the fully unknown shape (-1)")
    elif shape is not None:
        target = c.constant_value_as_shape(0).dim_values
    for index, kind in enumerate(kinds, 3):
        if c.inputs[index].ndims not in (None, kind != "FIRST_DIM_SIZE"):
            raise ValueError(
                "FIRST_DIM_SIZE must be a scalar."
                if kind == "FIRST_DIM_SIZE"
                else "Row partition must be a vector."
            )
    values, default = c.inputs[1].dim_values, c.inputs[2].dim_values
    if default is not None and values is not None:
        if len(default) >= len(values):
            raise ValueError(
                f"default_value.shape={list(default)} and rt_input.flat_values.shape="
                f"{list(values)} are incompatible: default_value.rank = {len(default)}  must be "
                f"less than rt_input.flat_values.rank = {len(values)}"
            )
        for a, b in zip(reversed(default), reversed(values), strict=False):
            if a is not None and b is not None and a not in (1, b):
                raise ValueError(
                    f"default_value.shape={list(default)} and rt_input.flat_values.shape="
                    f"{list(values)} are incompatible: default_value.shape and "
                    "rt_input.flat_values.shape must be broadcastable"
                )
    if target is None and values is None:
        return UNKNOWN_SHAPE
    _check_entries(target)
    if values is None:
        return TensorShape(target)
    if target is None:
        return TensorShape([*[None] * (rank + 1), *values[1:]])
    if len(target) != rank + len(values):
        raise ValueError(
            f"rt_input.shape and shape={list(target)} are incompatible: rt_input.rank = "
            f"{rank + len(values)} but shape.rank = {len(target)}"
        )
    out = list(target)
    for position in range(1, len(values)):
        place = rank + position
        a, b = out[place], values[position]
        if a is not None and b is not None and a != b:
            raise ValueError(
                f"rt_input.shape and shape are incompatible: rt_input.shape[{place}] = {b} but "
                f"shape[{place}] = {a}"
            )
        out[place] = b if a is None else a
    _check_entries(out)
    return TensorShape(out)


def _check_entries(dims: TensorLike) -> None:
    if math.prod(dim for dim in dims or () if dim is not None) >> 63:
        text = ",".join("?" if dim is None else str(dim) for dim in dims)
        raise ValueError(f"Shape [{text}] is too large (more than 2**63 - 1 entries)")


class _Rows:
    """One ragged dimension: the row of each child, and its position in the row.

    As in TensorFlow, splits are hardly checked: negative lengths count as 0.
    """

    def __init__(self, kind: str, partition: Array) -> None:
        if partition.ndim != 1:
            raise errors.invalid_argument(
                f"row partition must be a vector, not of shape {shape_text(partition.shape)}"
            )
        self.numbers = partition
        if kind == "ROW_SPLITS":
            lengths = np.maximum(np.diff(partition), 0).astype(np.int64)
        elif kind == "VALUE_ROWIDS":
            lengths = np.diff(np.flatnonzero(np.diff(partition, prepend=-1, append=-1)))
        else:
            raise errors.invalid_argument(f"Unsupported partition type:{kind}")
        self.kind = kind
        self.lengths = lengths
        self.widest = int(lengths.max(initial=0))

    def children(self, parents: int) -> tuple[Array, Array]:
        """Return the row of each child among ``parents`` rows, and its position in the row.

        Raises:
          InvalidArgumentError: the row partition does not fit ``parents`` rows.
        """
        numbers, lengths = self.numbers, self.lengths
        if self.kind == "VALUE_ROWIDS":
            if (np.diff(numbers) < 0).any() or (numbers < 0).any():
                raise errors.invalid_argument("row ids must be sorted and not negative")
            if numbers.size and numbers[-1] >= parents:
                raise errors.invalid_argument(
                    f"Expected row_partition_tensors' row ids to be below {parents}, got "
                    f"{numbers[-1]}"
                )
            row = numbers.astype(np.int64)
        else:
            if not numbers.size or lengths.size > parents or lengths.sum() != numbers[-1]:
                raise errors.invalid_argument(
                    f"Invalid row split size: {numbers.size} for {parents} rows"
                )
            row = np.repeat(np.arange(lengths.size), as_places(lengths))
        return row, positions(np.zeros(lengths.size, np.int64), lengths)


@register_op(
    "RaggedTensorToTensor",
    "shape: Tshape, values: T, default_value: T, "
    "row_partition_tensors: num_row_partition_tensors * Tindex -> result: T",
    "T: type",
    "Tindex: {int64, int32}",
    "Tshape: {int64, int32}",
    "num_row_partition_tensors: int >= 1",
    "row_partition_types: list(string)",
    shape=_dense_shape,
    **_CPU,
)
def ragged_tensor_to_tensor(
    xp: Xp,
    shape: Array,
    values: Array,
    default_value: Array,
    partitions: Sequence[Array],
    *,
    row_partition_types: list[str],
) -> Array:
    """Return a dense tensor of the values, padded with the default, or cut, to the shape."""
    kinds = _kinds(row_partition_types)
    if len(kinds) != len(partitions):
        raise errors.invalid_argument(
            f"Number of row partition types ({len(kinds)}) must be that of the row partition "
            f"tensors ({len(partitions)})"
        )
    if values.ndim < 1:
        raise errors.invalid_argument("values must have rank at least 1")
    inner = values.shape[1:]
    rank = _ragged_rank(kinds)
    wanted = _wanted_sizes(shape, rank, inner)
    if default_value.ndim > len(inner):
        raise errors.invalid_argument(
            f"default_value.shape={shape_text(default_value.shape)} and "
            f"rt_input.flat_values.shape={shape_text(values.shape)} are incompatible: "
            f"default_value.rank must be less than rt_input.flat_values.rank"
        )
    try:
        default = np.broadcast_to(default_value, inner)
    except ValueError:
        raise errors.invalid_argument(
            f"default_value.shape={shape_text(default_value.shape)} and "
            f"rt_input.flat_values.shape={shape_text(values.shape)} are incompatible: they must "
            "be broadcastable"
        ) from None
    if partitions and not partitions[0].size:
        raise errors.invalid_argument(
            "Invalid first partition input. Tensor requires at least one element."
        )
    if kinds[0] == "FIRST_DIM_SIZE":
        if partitions[0].size != 1:
            raise errors.invalid_argument(
                f"FIRST_DIM_SIZE must be a scalar, not of shape {shape_text(partitions[0].shape)}"
            )
        rows = int(partitions[0].reshape(()))
        kinds, partitions = kinds[1:], partitions[1:]
    elif kinds[0] == "ROW_SPLITS":
        rows = partitions[0].size - 1
    else:
        raise errors.invalid_argument(f"Cannot handle VALUE_ROWIDS first: {kinds[0]}")
    levels = [_Rows(*pair) for pair in zip(kinds, partitions, strict=True)]
    found = zip(wanted, [rows, *(level.widest for level in levels)], strict=True)
    sizes = [there if asked < 0 else asked for asked, there in found]
    check_fits(xp, (*sizes, *inner), values.dtype, is_given=True)
    if 0 in sizes:  # TensorFlow checks nothing more
        return np.empty((*sizes, *inner), values.dtype)
    target = np.where(np.arange(rows) < sizes[0], np.arange(rows), -1)
    for level, size in zip(levels, sizes[1:], strict=True):
        row, place = level.children(target.size)
        parent = target[row]
        inside = (parent >= 0) & (place < size)
        target = np.where(inside, parent * size + place, -1)
    if target.size > values.shape[0]:
        raise errors.invalid_argument(
            f"The row partitions are those of {target.size} values, but there are {values.shape[0]}"
        )
    out = np.empty((math.prod(sizes), *inner), values.dtype)
    out[...] = default
    kept = target >= 0
    out[target[kept]] = values[: target.size][kept]
    return out.reshape(*sizes, *inner)


def _wanted_sizes(shape: Array, rank: int, inner: Sequence[int]) -> list[int]:
    """Return the requested sizes, -1 for sizes given by the rows.

    Raises:
      InvalidArgumentError: the shape has another rank, or other inner sizes.
    """
    if shape.ndim == 0:
        if int(shape) != -1:
            raise errors.invalid_argument(
                "The only valid scalar shape tensor is the fully unknown shape specified as -1."
            )
        return [-1] * (rank + 1)
    if shape.ndim != 1:
        raise errors.invalid_argument(f"shape must be a vector, not {shape_text(shape.shape)}")
    sizes: list[int] = shape.tolist()
    if len(sizes) != rank + 1 + len(inner):
        raise errors.invalid_argument(
            f"rt_input.shape and shape={sizes} are incompatible: rt_input.rank = "
            f"{rank + 1 + len(inner)} but shape.rank = {len(sizes)}"
        )
    if any(size < -1 for size in sizes):
        raise errors.invalid_argument(f"Dimension {min(sizes)} must be >= -1")
    for place, (asked, there) in enumerate(zip(sizes[rank + 1 :], inner, strict=True), rank + 1):
        if asked not in (-1, there):
            raise errors.invalid_argument(
                f"rt_input.shape and shape={sizes} are incompatible: rt_input.shape[{place}] = "
                f"{there} but shape[{place}] = {asked}"
            )
    return sizes[: rank + 1]


@ragged_tensor_to_tensor.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.math import segment_ops, sequence_ops

    _, values, default_value, *partitions = op.inputs
    kinds = op.get_attr("row_partition_types")
    rank = _ragged_rank([kind.decode() for kind in kinds])
    # A tensor of the result's form: the number of the value in each cell, or -1 for the default.
    count = array_ops.shape(values)[0]
    numbers = ragged_tensor_to_tensor(
        shape=array_ops.shape(grad)[: 1 + rank],
        values=sequence_ops.range_op(0, count, 1),
        default_value=-1,
        row_partition_tensors=partitions,
        row_partition_types=kinds,
    )
    numbers = array_ops.reshape(numbers, [-1])
    inner = array_ops.shape(values)[1:]
    rows = array_ops.reshape(grad, array_ops.concat([array_ops.shape(numbers), inner], 0))
    sums = segment_ops.unsorted_segment_sum(rows, numbers + 1, count + 1)
    unused = array_ops.broadcast_gradient_args(inner, array_ops.shape(default_value))[1]
    default = array_ops.reshape(
        reduction_ops.reduce_sum(sums[0], unused), array_ops.shape(default_value)
    )
    return None, sums[1:], default, *(None for _ in partitions)


# -------------------------------------------------------------------------------------- empty rows


@register_op(
    "RaggedFillEmptyRows",
    "value_rowids: int64, values: T, nrows: int64, default_value: T -> "
    "output_value_rowids: int64, output_values: T, empty_row_indicator: bool, "
    "reverse_index_map: int64",
    "T: type",
    **_CPU,
)
def ragged_fill_empty_rows(
    xp: Xp, value_rowids: Array, values: Array, nrows: Array, default_value: Array
) -> Outputs:
    """Return the values with the default value in every empty row."""
    for name, value, rank in (
        ("value_rowids", value_rowids, 1), ("values", values, 1), ("nrows", nrows, 0),
        ("default_value", default_value, 0),
    ):  # fmt: skip
        if value.ndim != rank:
            raise errors.invalid_argument(
                f"{name} must be a {'vector' if rank else 'scalar'}, saw: {shape_text(value.shape)}"
            )
    if value_rowids.shape != values.shape:
        raise errors.invalid_argument(
            "The length of `values` must match the first dimension of `value_rowids`: "
            f"{values.shape[0]} vs. {value_rowids.shape[0]}"
        )
    count = int(nrows)
    outside = np.flatnonzero((value_rowids < 0) | (value_rowids >= count))
    if outside.size:
        raise errors.invalid_argument(
            f"value_rowids({outside[0]}, 0) is invalid: {value_rowids[outside[0]]} is not in "
            f"[0, {count})"
        )
    order = np.argsort(value_rowids, kind="stable")
    value_rowids, values = value_rowids[order], values[order]
    empty = np.bincount(as_places(value_rowids), minlength=count)[:count] == 0
    added = np.flatnonzero(empty)
    places = np.searchsorted(value_rowids, added)
    moved = np.empty(values.size, np.int64)
    moved[order] = np.arange(values.size) + np.searchsorted(added, value_rowids)
    ids = np.insert(value_rowids, places, added)
    return (
        ids if count else ids.reshape(0, 1),  # as in TensorFlow, despite its shape function
        np.insert(values, places, default_value),
        empty,
        moved,
    )


@ragged_fill_empty_rows.shape
def _(c: InferenceContext) -> list[TensorShape]:
    rows, values = c.with_rank(0, 1).dim_values, c.with_rank(1, 1).dim_values
    c.with_rank(2, 0)
    c.with_rank(3, 0)
    assert rows is not None
    assert values is not None
    count = merge_dims(rows[0], values[0])
    return [*(TensorShape([None]) for _ in range(3)), TensorShape([count])]


@ragged_fill_empty_rows.gradient
def _(op: Operation, _: Tensor, grad: Tensor, *__: Tensor) -> Gradients:
    values, default = ragged_fill_empty_rows_grad(op.outputs[3], grad)
    return None, values, None, default


@register_op(
    "RaggedFillEmptyRowsGrad",
    "reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T",
    "T: type",
    **_CPU,
)
def ragged_fill_empty_rows_grad(xp: Xp, reverse_index_map: Array, grad_values: Array) -> Outputs:
    """Return the gradients of the values, and of the default value, which is a sum."""
    if reverse_index_map.ndim != 1:
        raise errors.invalid_argument("reverse_index_map must be a vector")
    if grad_values.ndim != 1:
        raise errors.invalid_argument("grad_values must be a vector")
    count = grad_values.shape[0]
    outside = (reverse_index_map < 0) | (reverse_index_map >= count)
    if outside.any():
        raise errors.invalid_argument(
            f"Elements in reverse index must be in [0, {count}) but got "
            f"{reverse_index_map[outside][0]}"
        )
    added = np.ones(count, bool)
    added[reverse_index_map] = False
    rest = grad_values[added].sum(dtype=grad_values.dtype)
    return grad_values[reverse_index_map], rest


@ragged_fill_empty_rows_grad.shape
def _(c: InferenceContext) -> list[TensorShape]:
    shape = c.with_rank(0, 1)
    c.with_rank(1, 1)
    return [shape, TensorShape([])]
