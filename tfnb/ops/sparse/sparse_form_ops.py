"""Sparse tensors in other forms: joined, reshaped, split, serialized."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    InferenceContext,
    merge_dims,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.sparse.sparse_indices import (
    check_bounds,
    check_form,
    check_valid,
    flat_places,
    order_of,
    sizes_of,
    unknown_of_rank,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp

# ------------------------------------------------------------------------------------- SparseConcat


def _concat_shape(c: InferenceContext) -> list[TensorShape]:
    count = c.attr("N")
    rows: int | None = 0
    rank: int | None = None
    for index in range(count):
        indices = c.with_rank(index, 2).dim_values or (None, None)
        values = c.with_rank(count + index, 1).dim_values or (None,)
        length = merge_dims(indices[0], values[0])
        rank = merge_dims(rank, indices[1])
        rows = None if rows is None or length is None else rows + length
        shape = c.with_rank(2 * count + index, 1).dim_values or (None,)
        rank = merge_dims(rank, shape[0])
    return [TensorShape([rows, rank]), TensorShape([rows]), TensorShape([rank])]


@register_op(
    "SparseConcat",
    "indices: N * int64, values: N * T, shapes: N * int64 -> output_indices: int64, "
    "output_values: T, output_shape: int64",
    "concat_dim: int",
    "N: int >= 2",
    "T: type",
    shape=_concat_shape,
    devices=("CPU",),
)
def sparse_concat_op(
    xp: Xp, indices: Array, values: Array, shapes: Array, *, concat_dim: int
) -> Outputs:
    """Return sparse tensors joined along a dimension."""
    if not any(one.shape[:1] != (0,) for one in indices):  # values are not checked
        values = [value[:0] if value.ndim == 1 else value for value in values]
    for one, value, shape in zip(indices, values, shapes):
        check_form(one, value, shape)
    first = shapes[0].tolist()
    rank = len(first)
    axis = concat_dim + rank if concat_dim < 0 else concat_dim
    if not 0 <= axis < rank:
        raise errors.invalid_argument(
            f"Concat dimension must be in range [{-rank}, {rank}), got {concat_dim}"
        )
    start, parts = 0, []
    for position, (one, shape) in enumerate(zip(indices, shapes)):
        sizes = shape.tolist()
        if len(sizes) != rank:
            raise errors.invalid_argument(
                f"Ranks of all input tensors must match: expected {rank} but got {len(sizes)} at "
                f"position {position}"
            )
        if min(sizes) < 0 or math.prod(sizes) >> 63:
            raise errors.internal("Encountered overflow from large input shape.")
        for j in range(rank):
            if j != axis and sizes[j] != first[j]:
                raise errors.invalid_argument(
                    f"Input shapes must match: expected {first[j]} for dimension {j} but got "
                    f"{sizes[j]} at position {position}"
                )
        moved = np.array(one)
        moved[:, axis] += np.int64(min(max(start, -(2**63)), 2**63 - 1))
        start += sizes[axis]
        parts.append(moved)
    whole = list(first)
    whole[axis] = start
    joined = np.concatenate(parts)
    order = order_of(joined)
    return joined[order], np.concatenate(values)[order], np.array(whole, np.int64)


sparse_concat_op.not_differentiable()

# ------------------------------------------------------------------------------------ SparseReshape


def _reshape_shape(c: InferenceContext) -> list[TensorShape]:
    indices = c.with_rank(0, 2).dim_values or (None, None)
    c.with_rank(1, 1)
    new = c.with_rank(2, 1)
    rank = (new.dim_values or (None,))[0]
    return [TensorShape([indices[0], rank]), new]


def _new_sizes(old: list[int], new: list[int]) -> list[int]:
    total, known, unknown = math.prod(old), 1, -1
    out = []
    for index, size in enumerate(new):
        if size == -1:
            if unknown >= 0:
                raise errors.invalid_argument(
                    f"only one output dimension may be -1, not both {unknown} and {index}"
                )
            unknown = index
            out.append(1)
        elif size < 0:
            raise errors.invalid_argument(f"size {index} must be non-negative, not {size}")
        else:
            known *= size
            out.append(size)
    if unknown >= 0:
        if known == 0:
            raise errors.invalid_argument(
                "reshape cannot infer the missing input size for an empty tensor unless all "
                "specified input sizes are non-zero"
            )
        if total % known:
            raise errors.invalid_argument(
                f"Input to reshape is a SparseTensor with {total} dense values, but the requested "
                f"shape requires a multiple of {known}. input_shape={shape_text(old)} "
                f"output_shape={shape_text(out)}"
            )
        out[unknown] = total // known
    if math.prod(out) != total:
        raise errors.invalid_argument(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has "
            f"{math.prod(out)}. input_shape={shape_text(old)} output_shape={shape_text(out)}"
        )
    return out


@register_op(
    "SparseReshape",
    "input_indices: int64, input_shape: int64, new_shape: int64 -> output_indices: int64, "
    "output_shape: int64",
    shape=_reshape_shape,
    devices=("CPU",),
)
def sparse_reshape_op(
    xp: Xp, input_indices: Array, input_shape: Array, new_shape: Array
) -> Outputs:
    """Return the coordinates of the elements in another shape; one size may be -1."""
    if input_indices.ndim != 2:
        raise errors.invalid_argument("Input must be a matrix.")
    if input_shape.ndim != 1:
        raise errors.invalid_argument("Input shape must be a vector.")
    if new_shape.ndim != 1:
        raise errors.invalid_argument("Target shape must be a vector.")
    if input_indices.shape[1] != input_shape.shape[0]:
        raise errors.invalid_argument(
            "Input tensor rank must match input shape length."
            f"Got {input_indices.shape[1]} and {input_shape.shape[0]}"
        )
    old = sizes_of(input_shape)
    sizes = _new_sizes(old, new_shape.tolist())
    if sizes == old:
        return input_indices, input_shape
    out = np.empty((len(input_indices), len(sizes)), np.int64)
    if len(out):
        if not math.prod(old):
            raise errors.invalid_argument(
                f"Input tensor has {len(out)} non zero elements but input shape "
                f"({shape_text(old)}) or output shape ({shape_text(sizes)}) is empty"
            )
        rest = flat_places(input_indices, old)
        for axis in range(len(sizes)):
            step = math.prod(sizes[axis + 1 :])
            left = np.fmod(rest, step)
            out[:, axis], rest = (rest - left) // step, left
    return out, np.array(sizes, np.int64)


# -------------------------------------------------------------------------------------- SparseSplit


def _split_shape(c: InferenceContext) -> list[TensorShape]:
    count = c.attr("num_split")
    shape = c.inputs[3]
    rank = shape.num_elements()
    return [TensorShape([None, rank])] * count + [TensorShape([None])] * count + [shape] * count


@register_op(
    "SparseSplit",
    "split_dim: int64, indices: int64, values: T, shape: int64 -> "
    "output_indices: num_split * int64, output_values: num_split * T, "
    "output_shape: num_split * int64",
    "num_split: int >= 1",
    "T: type",
    shape=_split_shape,
    devices=("CPU",),
)
def sparse_split_op(
    xp: Xp, split_dim: Array, indices: Array, values: Array, shape: Array, *, num_split: int
) -> Outputs:
    """Return pieces of a sparse tensor along a dimension; the first pieces may be one longer."""
    check_form(indices, values, shape)
    sizes_of(shape)
    check_bounds(indices, shape)
    rank = shape.shape[0]
    if split_dim.ndim:
        raise errors.invalid_argument(
            f"Input axis should be a scalar but received shape {shape_text(split_dim.shape)}"
        )
    axis = int(split_dim)
    if not -rank <= axis < rank:
        raise errors.invalid_argument(
            f"Input axis should be in range [{-rank}, {rank}), got {axis}"
        )
    axis %= rank
    size = int(shape[axis])
    if not 1 <= num_split <= (size + (1 << 31)) % (1 << 32) - (1 << 31):  # in 32 bits
        raise errors.invalid_argument(
            f"Input num_split should be between 1 and the splitting dimension size ({size}), got "
            f"{num_split}"
        )
    least, extra = divmod(size, num_split)
    starts = [i * least + min(i, extra) for i in range(num_split + 1)]
    all_indices, all_values, all_shapes = [], [], []
    for begin, end in pairwise(starts):
        kept = (indices[:, axis] >= begin) & (indices[:, axis] < end)
        part = np.array(indices[kept])
        part[:, axis] -= begin
        sizes = np.array(shape)
        sizes[axis] = end - begin
        all_indices.append(part)
        all_values.append(values[kept])
        all_shapes.append(sizes)
    return (*all_indices, *all_values, *all_shapes)


# --------------------------------------------------------------------------------------- serialized


def _serialized(
    indices: Array, values: Array, shape: Array, out_type: Attr, dtype: Attr
) -> list[Array]:
    from tfnb.core import dtypes

    if out_type is dtypes.variant:
        return [indices, values, shape]
    return [
        _content_message(part, kind)
        for part, kind in ((indices, dtypes.int64), (values, dtype), (shape, dtypes.int64))
    ]


def _content_message(value: Array, dtype: Attr) -> bytes:
    """Return a tensor's message with the elements as one byte string."""
    from tfnb.core.files.leveldb_table import put_varint
    from tfnb.proto import tensor_pb2

    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in value.shape:
        proto.tensor_shape.dim.add(size=size)
    if value.dtype == object:
        items = value.reshape(-1).tolist()
        proto.tensor_content = b"".join(map(put_varint, map(len, items))) + b"".join(items)
    else:
        proto.tensor_content = value.tobytes()
    return proto.SerializeToString()


def _serialized_shape(c: InferenceContext, sizes: list[int | None]) -> TensorShape:
    for index, rank in enumerate((2, 1, 1)):
        c.with_rank(index, rank)
    return TensorShape(sizes)


def _as_vector(parts: list[Array]) -> Array:
    out = np.empty(len(parts), object)
    for i, part in enumerate(parts):
        out[i] = part
    return out


@register_op(
    "SerializeSparse",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> serialized_sparse: out_type",
    "T: type",
    "out_type: {string, variant} = DT_STRING",
    shape=lambda c: _serialized_shape(c, [3]),
    devices=("CPU",),
)
def serialize_sparse_op(
    xp: Xp,
    sparse_indices: Array,
    sparse_values: Array,
    sparse_shape: Array,
    *,
    T: DType,
    out_type: DType,
) -> Array:
    """Return the three components as strings or variants."""
    if (sparse_indices.ndim, sparse_values.ndim, sparse_shape.ndim) != (2, 1, 1):
        check_form(sparse_indices, sparse_values, sparse_shape)
    return _as_vector(_serialized(sparse_indices, sparse_values, sparse_shape, out_type, T))


@register_op(
    "SerializeManySparse",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> serialized_sparse: out_type",
    "T: type",
    "out_type: {string, variant} = DT_STRING",
    shape=lambda c: _serialized_shape(c, [None, 3]),
    devices=("CPU",),
)
def serialize_many_sparse_op(
    xp: Xp,
    sparse_indices: Array,
    sparse_values: Array,
    sparse_shape: Array,
    *,
    T: DType,
    out_type: DType,
) -> Array:
    """Return each entry of the first dimension as one row of three strings or variants."""
    check_form(sparse_indices, sparse_values, sparse_shape)
    rank = len(sparse_shape)
    if rank <= 1:
        raise errors.invalid_argument(
            f"Rank of input SparseTensor should be > 1, but saw rank: {rank}"
        )
    sizes_of(sparse_shape)
    check_valid(sparse_indices, sparse_shape)
    out = np.empty((int(sparse_shape[0]), 3), object)
    for row in range(len(out)):
        kept = sparse_indices[:, 0] == row
        parts = _serialized(
            sparse_indices[kept][:, 1:], sparse_values[kept], sparse_shape[1:], out_type, T
        )
        for column, part in enumerate(parts):
            out[row, column] = part
    return out


def _parse(part: Array, dtype: Attr) -> Array:
    """Return one component from its string or variant."""
    from google.protobuf.message import DecodeError

    from tfnb.core.tensor_util import decode_tensor
    from tfnb.proto import tensor_pb2

    if not isinstance(part, bytes):
        return np.asarray(part)
    try:
        return decode_tensor(tensor_pb2.TensorProto.FromString(part))
    except DecodeError:
        raise errors.invalid_argument("Could not parse serialized proto") from None


def _deserialized(serialized: Array, dtype: Attr) -> Outputs:
    from tfnb.core import dtypes
    from tfnb.core.node_text import type_word

    if serialized.ndim < 1 or serialized.shape[-1] != 3:
        raise errors.invalid_argument(
            f"Serialized sparse should have 3 as the last dimension {shape_text(serialized.shape)}"
        )
    outer = serialized.shape[:-1]
    rows = serialized.reshape(-1, 3)
    if not len(rows):
        raise errors.invalid_argument("Must have at least 1 serialized SparseTensor")
    all_indices, all_values, whole = [], [], None
    for number, row in enumerate(rows):
        indices, values, shape = (_parse(part, dtype) for part in row)
        if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
            raise errors.invalid_argument(
                f"Expected serialized_sparse[{number}, 0] to represent an index matrix but "
                f"received shape {shape_text(indices.shape)}"
            )
        found = dtypes.as_dtype("string" if values.dtype == object else values.dtype)
        if values.dtype != dtype.numpy_dtype:
            raise errors.invalid_argument(
                f"Requested SparseTensor of type {type_word(dtype)} but SparseTensor[{number}]."
                f"values.dtype() == {type_word(found)}"
            )
        if whole is not None and len(shape) != len(whole):
            raise errors.invalid_argument(
                f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{number}] "
                f"was: {len(whole)} but rank of SparseTensor[{number}] is: {len(shape)}"
            )
        whole = shape if whole is None else np.maximum(whole, shape)
        place = np.array(np.unravel_index(number, outer) if outer else (), np.int64)
        head = np.tile(place, (len(indices), 1)).reshape(len(indices), len(outer))
        all_indices.append(np.concatenate([head, indices], axis=1))
        all_values.append(values)
    sizes = np.concatenate([np.array(outer, np.int64), np.asarray(whole, np.int64)])
    return np.concatenate(all_indices).astype(np.int64), np.concatenate(all_values), sizes


def _deserialize_shape(c: InferenceContext) -> list[TensorShape]:
    many = c.op_def.name == "DeserializeManySparse"
    shape = c.with_rank(0, 2) if many else c.with_rank_at_least(0, 1)
    merge_dims((shape.dim_values or (3,))[-1], 3)
    return [unknown_of_rank(2), unknown_of_rank(1), unknown_of_rank(1)]


@register_op(
    "DeserializeSparse",
    "serialized_sparse: Tserialized -> sparse_indices: int64, sparse_values: dtype, "
    "sparse_shape: int64",
    "dtype: type",
    "Tserialized: {string, variant} = DT_STRING",
    shape=_deserialize_shape,
    devices=("CPU",),
)
def deserialize_sparse_op(xp: Xp, serialized_sparse: Array, *, dtype: DType) -> Outputs:
    """Return the inverse of SerializeSparse; leading dimensions become the first of the result."""
    return _deserialized(serialized_sparse, dtype)


@register_op(
    "DeserializeManySparse",
    "serialized_sparse: string -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    "dtype: type",
    shape=_deserialize_shape,
    devices=("CPU",),
)
def deserialize_many_sparse_op(xp: Xp, serialized_sparse: Array, *, dtype: DType) -> Outputs:
    """Return the inverse of SerializeManySparse."""
    if serialized_sparse.ndim != 2:
        raise errors.invalid_argument(
            "Serialized sparse should have non-zero number of rows and 3 columns: "
            f"{shape_text(serialized_sparse.shape)}"
        )
    return _deserialized(serialized_sparse, dtype)
