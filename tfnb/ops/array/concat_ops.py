"""Ops that join tensors and take them apart: Pack, Concat, Split, Tile and their inverses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_dims,
    merge_shapes,
    require_rank,
)
from tfnb.core.tensor_shape import Dimension, TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor, register_tensor_conversion_function
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.known_results import ResultsOfKept, are_short, kept
from tfnb.ops.base.opaque_values import array_of, as_scalar, is_opaque

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.framework.indexed_slices import IndexedSlices
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, Nested, TensorLike, TensorResult
    from tfnb.ops.array import identity_ops
else:
    identity_ops = later("tfnb.ops.array.identity_ops")

EXPORTS = {
    "tf": [
        "stack",
        "unstack",
        "parallel_stack",
        "concat",
        "split",
        "tile",
    ],
    "manip": ["tile"],
}

# --------------------------------------------------------------------------------- Pack and Unpack


def _axis_of(axis: int, rank: int) -> int:
    """Return an axis from -rank to rank - 1 as a number from 0 on."""
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid value for attribute 'axis': {axis}: not in [{-rank}, {rank})")
    return axis % rank


def _pack_shape(c: InferenceContext) -> TensorShape:
    whole = c.inputs[-1]
    for index in range(len(c.inputs) - 2, -1, -1):
        try:
            whole = merge_shapes(c.inputs[index], whole)
        except ValueError as error:
            raise ValueError(f"{error}\n\tFrom merging shape {index} with other shapes.") from None
    dims = whole.dim_values
    if dims is None:
        return UNKNOWN_SHAPE
    axis = _axis_of(c.attr("axis"), len(dims) + 1)
    return TensorShape([*dims[:axis], len(c.inputs), *dims[axis:]])


@register_op(
    "Pack",
    "values: N * T -> output: T",
    "N: int >= 1",
    "T: type",
    "axis: int = 0",
    shape=_pack_shape,
    traits="c_order rearranges",
)
def pack(xp: Xp, values: Array, *, axis: int) -> Array:
    """Return the tensors joined along a new axis."""
    first = values[0].shape
    rank = len(first) + 1
    if not -rank <= axis < rank:
        raise errors.invalid_argument(f"axis = {axis} not in [{-rank}, {rank})")
    for index, value in enumerate(values):
        if value.shape != first:
            raise errors.invalid_argument(
                f"Shapes of all inputs must match: values[0].shape = {shape_text(first)} != "
                f"values[{index}].shape = {shape_text(value.shape)}"
            )
    if rank == 1:
        if is_opaque(values[0]) or values[0].dtype == object:
            return array_of(values)
        if xp is np:
            return np.array(values, values[0].dtype)
    if xp is not np:
        return xp.stack(values, axis)
    place = axis % rank
    sizes = (*first[:place], 1, *first[place:])
    return np.concatenate([value.reshape(sizes) for value in values], place)


@pack.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return unstack(grad, num=op.get_attr("N"), axis=op.get_attr("axis"))


def _unpack_shape(c: InferenceContext) -> list[TensorShape]:
    dims, count = c.inputs[0].dim_values, c.attr("num")
    if dims is None:
        return [UNKNOWN_SHAPE] * count
    c.with_rank_at_least(0, 1)
    axis = _axis_of(c.attr("axis"), len(dims))
    merge_dims(dims[axis], count)
    return [TensorShape([*dims[:axis], *dims[axis + 1 :]])] * count


@register_op(
    "Unpack",
    "value: T -> output: num * T",
    "num: int >= 0",
    "T: type",
    "axis: int = 0",
    shape=_unpack_shape,
    traits="rearranges",
)
def unpack(xp: Xp, value: Array, *, num: int, axis: int) -> Outputs:
    """Return the slices of the tensor along an axis, without this axis."""
    rank = len(value.shape)
    if not -rank <= axis < rank:
        raise errors.invalid_argument(f"axis = {axis} not in [{-rank}, {rank})")
    axis %= rank
    if value.shape[axis] != num:
        raise errors.invalid_argument(
            f"Input shape axis {axis} must equal {num}, got shape {shape_text(value.shape)}"
        )
    head = (slice(None),) * axis
    if value.dtype == object and rank == 1:
        return tuple([as_scalar(value[i : i + 1].reshape(())) for i in range(num)])
    return tuple([value[(*head, i)] for i in range(num)])


@unpack.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return stack(grads, axis=op.get_attr("axis"))


@dispatchable
def stack(values: TensorLike, axis: int = 0, name: str | None = "stack") -> Tensor:
    """Return tensors of one shape joined along a new axis.

    Args:
      values: a list of tensors.
      axis: the position of the new axis; negative numbers count from the end.
      name: the name of the op.
    """
    if axis == 0:
        try:
            # A list of numbers and arrays without tensors becomes one constant.
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError, NotImplementedError):
            pass  # one of them is a tensor, or the shapes differ
    dims = convert_to_tensor(values[0], name=name).shape.dim_values
    if dims is not None:
        rank = len(dims) + 1
        if not -rank <= axis < rank:
            raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    found: Tensor = pack(values, axis=axis, name=name)
    return found


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str | None = "unstack"
) -> list[Tensor]:
    """Return the slices of a tensor along an axis, without this axis.

    Args:
      value: the tensor.
      num: the number of slices; needed only where the static shape does not contain it.
      axis: the axis; negative numbers count from the end.
      name: the name of the op.
    """
    if num is None:
        value = convert_to_tensor(value)
        dims = value.shape.dim_values
        if dims is not None:
            if not -len(dims) <= axis < len(dims):
                raise ValueError(
                    f"Argument `axis` = {axis} not in range [{-len(dims)}, {len(dims)})"
                )
            num = dims[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    found: list[Tensor] = unpack(value, num=num, axis=axis, name=name)
    return found


def _parallel_concat_shape(c: InferenceContext) -> TensorShape:
    whole: TensorShape = c.attr("shape")
    if not whole.is_fully_defined():
        raise ValueError("shape attr must be fully defined.")
    rows: list[int | None] = list(whole.dim_values or ())
    rows[0] = 1
    for number, part in enumerate(c.inputs):
        if not part.is_fully_defined():
            raise ValueError("All input shapes must be fully defined.")
        if part.ndims == 0:
            raise ValueError(
                "The rank of all input shapes must be greater than 0, but input "
                f"{number} had rank 0."
            )
        if part.dim_values != tuple(rows):
            raise ValueError("Size of first dimension must be 1, and all shapes must agree.")
    return whole


@register_op(
    "ParallelConcat",
    "values: N * T -> output: T",
    "N: int >= 1",
    "T: type",
    "shape: shape",
    shape=_parallel_concat_shape,
    traits="unchecked_shape",
)
def parallel_concat(xp: Xp, values: Array, *, shape: TensorShape) -> Array:
    """Return tensors whose first dimension is 1, joined along it."""
    return xp.concatenate(values, 0)


def parallel_stack(values: TensorLike, name: str | None = "parallel_stack") -> Tensor:
    """Return tensors of one known shape joined along a new first axis."""
    from tfnb.ops.array import shape_ops

    with name_scope(name):
        first = convert_to_tensor(values[0])
        whole = TensorShape([len(values)]).concatenate(first.shape)
        rows = [shape_ops.expand_dims(value, 0) for value in values]
        found: Tensor = parallel_concat(rows, shape=whole)
        return found


# ----------------------------------------------------------------- lists with tensors become a Pack


def _is_symbolic(value: TensorLike) -> bool:
    return isinstance(value, Tensor) or bool(getattr(value, "_is_packable", False))


def _dtype_of_first(values: TensorLike) -> Any:
    for value in values:
        if _is_symbolic(value):
            return value.dtype.base_dtype
        if isinstance(value, (list, tuple)):
            found = _dtype_of_first(value)
            if found is not None:
                return found
    return None


def _cast_all(values: TensorLike, dtype: DTypeLike) -> Any:
    from tfnb.ops.array import cast_ops

    if isinstance(values, (list, tuple)):
        return [_cast_all(value, dtype) for value in values]
    if _is_symbolic(values) and values.dtype.base_dtype is not dtype:
        return cast_ops.cast(values, dtype)
    return values


def _pack_nested(values: TensorLike, dtype: DTypeLike, name: str | None) -> Any:
    from tfnb.ops.array.constant_ops import constant

    with name_scope(name) as scope:
        parts = []
        has_tensor = False
        for index, value in enumerate(values):
            if isinstance(value, (list, tuple)):
                value = _pack_nested(value, dtype, str(index))
            elif _is_symbolic(value) and value.dtype.base_dtype is not dtype:
                raise TypeError(
                    f"Cannot convert a list containing a tensor of dtype {value.dtype} to {dtype} "
                    f"(Tensor is: {value!r})"
                )
            has_tensor = has_tensor or _is_symbolic(value)
            parts.append(value)
        if not has_tensor:
            return parts
        tensors = [
            part if _is_symbolic(part) else constant(part, dtype=dtype, name=str(index))
            for index, part in enumerate(parts)
        ]
        return pack(tensors, name=scope)


def _packed(
    value: TensorLike, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    found = _dtype_of_first(value)
    if found is None:
        return NotImplemented
    if dtype is not None and dtype.base_dtype is not found:
        value = _cast_all(value, dtype.base_dtype)
        found = dtype.base_dtype
    return _pack_nested(value, found, name or "packed")


register_tensor_conversion_function((list, tuple), _packed, 99)

# ------------------------------------------------------------------------------------------- Concat


def concat_shape(c: InferenceContext, parts: list[TensorShape], axis_index: int) -> TensorShape:
    """Return the shape of a concatenation along the axis that an input holds.

    Raises:
      ValueError: the shapes do not fit together, or have no such axis.
    """
    c.with_rank(axis_index, 0)
    axis = c.constant_value(axis_index)
    rank = None
    if axis is None:
        for part in parts:
            dims = part.dim_values
            if dims is None:
                continue
            if not dims:
                raise ValueError("Can't concatenate scalars (use tf.stack instead)")
            if rank is not None and len(dims) != rank:
                raise ValueError(f"Shape must be rank {rank} but is rank {len(dims)}")
            rank = len(dims)
        return UNKNOWN_SHAPE if rank is None else TensorShape([None] * rank)
    number = int(axis)
    least = -number if number < 0 else number + 1
    for part in parts:
        dims = part.dim_values
        if dims is not None and len(dims) < least:
            raise ValueError(f"Shape must be at least rank {least} but is rank {len(dims)}")
    ranks = {len(part.dim_values) for part in parts if part.dim_values is not None}
    if not ranks:
        return UNKNOWN_SHAPE
    rank = ranks.pop() if len(ranks) == 1 else len(_first_known(parts))
    position = number % rank
    total: int | None = 0
    merged = TensorShape([None] * rank)
    for index, part in enumerate(parts):
        dims = require_rank(part, rank).dim_values
        assert dims is not None
        total = None if total is None or dims[position] is None else total + dims[position]  # type: ignore[operator]
        try:
            merged = merge_shapes(
                merged, TensorShape([*dims[:position], None, *dims[position + 1 :]])
            )
        except ValueError as error:
            raise ValueError(f"{error}\n\tFrom merging shape {index} with other shapes.") from None
    out = list(merged.dim_values or ())
    out[position] = total
    return TensorShape(out)


def _first_known(parts: list[TensorShape]) -> Any:
    return next(part.dim_values for part in parts if part.dim_values is not None)


def joined(xp: Xp, axis: Attr, values: Array, argument: str) -> Array:
    """Return the tensors joined along an axis; ``argument`` is the name of the axis in errors.

    Raises:
      InvalidArgumentError: the shapes do not fit together, or have no such axis.
    """
    if axis.size != 1 or axis.ndim > 1:
        raise errors.invalid_argument(
            f"{argument} tensor should be a scalar integer, but got shape {shape_text(axis.shape)}"
        )
    number = int(axis if axis.ndim == 0 else axis[0])
    try:
        # NumPy does not accept the least int32 as an axis.
        return xp.concatenate(values, max(number, -999))
    except ValueError:
        _check_fit(values, number)
        raise


def _check_fit(values: Array, number: int) -> None:
    """Raise TensorFlow's error if the tensors cannot be joined."""
    first = values[0].shape
    rank = len(first)
    place = number + rank if number < 0 else number
    # A scalar is joined as one row, if the axis can be read as 0.
    if not (0 <= place < rank or (rank == 0 and number == 0)):
        raise errors.invalid_argument(
            f"ConcatOp : Expected concatenating dimensions in the range [{-rank}, {rank}), but got "
            f"{number}"
        )
    for index, value in enumerate(values):
        if len(value.shape) != rank and value.shape:
            raise errors.invalid_argument(
                f"ConcatOp : Ranks of all input tensors should match: shape[0] = "
                f"{shape_text(first)} vs. shape[{index}] = {shape_text(value.shape)}"
            )
        if not value.shape:
            raise errors.invalid_argument(
                "ConcatOp : Can't concatenate scalars (use tf.stack instead)"
            )
        for j in range(rank):
            if j != place and value.shape[j] != first[j]:
                raise errors.invalid_argument(
                    f"ConcatOp : Dimension {j} in both shapes must be equal: shape[0] = "
                    f"{shape_text(first)} vs. shape[{index}] = {shape_text(value.shape)}"
                )


@register_op(
    "Concat",
    "concat_dim: int32, values: N * T -> output: T",
    "N: int >= 2",
    "T: type",
    shape=lambda c: concat_shape(c, list(c.inputs[1:]), 0),
    host_memory=("concat_dim",),
    traits="c_order rearranges",
)
def concat_op(xp: Xp, concat_dim: Array, values: Array) -> Array:
    """Return the tensors joined along an axis; an older form of ConcatV2."""
    return joined(xp, concat_dim, values, "concat_dim")


@register_op(
    "ConcatV2",
    "values: N * T, axis: Tidx -> output: T",
    "N: int >= 2",
    "T: type",
    "Tidx: {int32, int64} = DT_INT32",
    shape=lambda c: concat_shape(c, list(c.inputs[:-1]), len(c.inputs) - 1),
    host_memory=("axis",),
    traits="c_order rearranges",
)
def concat_v2(xp: Xp, values: Array, axis: Array) -> Array:
    """Return the tensors joined along an axis."""
    return joined(xp, axis, values, "axis")


@concat_v2.with_constants("axis")
def _(axis: Array) -> Callable[[Any], Array] | None:
    if axis.ndim:
        return None
    number = max(int(axis), -999)

    def concatenated(values: Any) -> Array:
        try:
            return np.concatenate(values, number)
        except ValueError:
            return joined(np, axis, values, "axis")

    return concatenated


@concat_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return [None, *_concat_gradient(grad, op.inputs[1:], op.inputs[0])]


@concat_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return [*_concat_gradient(grad, op.inputs[:-1], op.inputs[-1]), None]


def _concat_gradient(grad: TensorLike, values: TensorLike, axis: TensorLike) -> list[TensorResult]:
    from tfnb.framework.indexed_slices import IndexedSlices
    from tfnb.ops.array import shape_ops
    from tfnb.ops.array.slice_ops import slice_op

    if len(values) == 1:
        return [grad]
    if isinstance(grad, IndexedSlices):
        return _concat_gradient_of_slices(grad, values, axis)
    axis_value = constant_value(axis)
    if axis_value is not None and axis.op._get_control_flow_context() is not (
        grad.op._get_control_flow_context()
    ):
        # A constant of another loop or branch is written anew, so that it needs no Enter or Switch.
        axis = convert_to_tensor(axis_value, dtype=axis.dtype)
    position = axis % shape_ops.rank(values[0])
    shapes: Nested = []
    for value in values:
        shapes.append(shape_ops.shape(value))
        if shapes[-1].op.type != "Const":
            # If one size is not known, one ShapeN node computes them all; the nodes that were added
            # before remain.
            shapes = shape_ops.shape_n(values)
            break
    if len(values) > 16:
        along = slice_op(stack(shapes, axis=1), [position, 0], [1, -1])
        return split(grad, shape_ops.squeeze(along), position, num=len(values))
    starts = concat_offset(position, shapes)
    return [slice_op(grad, start, size) for start, size in zip(starts, shapes)]


def _concat_gradient_of_slices(
    grad: TensorLike, values: TensorLike, axis: TensorLike
) -> list[TensorResult]:
    from tfnb.framework.indexed_slices import IndexedSlices
    from tfnb.ops.array import cast_ops, shape_ops
    from tfnb.ops.array.constant_ops import constant, fill
    from tfnb.ops.array.gather_ops import gather
    from tfnb.ops.array.slice_ops import slice_op
    from tfnb.ops.array.where_ops import where

    position = axis % shape_ops.rank(values[0])
    axis_value = constant_value(axis)
    if axis_value is None:
        raise ValueError("Can only compute IndexedSlices gradient with statically-known concat_dim")
    number = int(axis_value)
    if number < 0:
        rank = values[0].shape.ndims
        if rank is None:
            raise ValueError(
                "Can only compute IndexedSlices gradient with negative concat_dim when first value "
                "rank is statically-known."
            )
        number %= rank
    sizes = [shape_ops.shape(value) for value in values]
    grads: list[TensorLike] = []
    if number > 0:
        length = shape_ops.shape(sizes[0])
        mask = concat([fill([number], 0), [1], fill(length - number - 1, 0)], 0)
        begin = fill(length, 0)
        for size in sizes:
            rows = concat([[-1], slice_op(size, [1], [-1])], 0)
            grads.append(IndexedSlices(slice_op(grad.values, begin, rows), grad.indices, size))
            begin = begin + size * mask
        return grads
    start: TensorLike = constant(0, dtype=grad.indices.dtype)
    for size in sizes:
        end = start + cast_ops.cast(gather(size, position), grad.indices.dtype)
        here = provided.logical_and(grad.indices >= start, grad.indices < end)
        chosen = shape_ops.squeeze(where(here), axis=[1])
        indices = gather(grad.indices, chosen) - start
        grads.append(IndexedSlices(gather(grad.values, chosen), indices, size))
        start = end
    return grads


@dispatchable
def concat(values: TensorLike, axis: TensorLike, name: str | None = "concat") -> Tensor:
    """Return tensors joined along an existing axis.

    Args:
      values: a list of tensors that differ at most in the size of that axis.
      axis: the axis; negative numbers count from the end.
      name: the name of the op.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    found: Tensor
    if len(values) == 1:
        # One tensor is only passed through, but the axis must be a number nevertheless.
        with name_scope(name):
            number = convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
            number.shape.assert_has_rank(0)
            found = identity_ops.identity(values[0], name=name)
        return found
    found = concat_v2(values, axis, name=name)
    return found


def _concat_offset_shape(c: InferenceContext) -> list[TensorShape]:
    return list(c.inputs[1:])


@register_op(
    "ConcatOffset",
    "concat_dim: int32, shape: N * shape_type -> offset: N * shape_type",
    "N: int >= 2",
    "shape_type: {int32, int64} = DT_INT32",
    shape=_concat_offset_shape,
    host_memory=("concat_dim", "shape", "offset"),
    traits="rearranges",
)
def concat_offset(xp: Xp, concat_dim: Array, shape: Array) -> Outputs:
    """Return the offset of each tensor in the concatenation."""
    arrays = (concat_dim, *shape)
    known = _OFFSETS_OF_KEPT.get(arrays)
    if known is not None:
        return known
    if concat_dim.ndim:
        raise errors.invalid_argument(
            "Concat dim tensor should be a scalar integer, but got shape "
            f"{shape_text(concat_dim.shape)}"
        )
    for index, sizes in enumerate(shape):
        if sizes.ndim != 1:
            raise errors.invalid_argument(
                f"input {index} should be a vector, but got shape {shape_text(sizes.shape)}"
            )
    shapes = tuple([tuple(one.tolist()) for one in shape])
    if not are_short(*shapes):
        return _offsets.__wrapped__(int(concat_dim), shapes, shape[0].dtype)
    return _OFFSETS_OF_KEPT.keep(arrays, _offsets(int(concat_dim), shapes, shape[0].dtype))


_OFFSETS_OF_KEPT = ResultsOfKept()


@lru_cache(maxsize=1024)
def _offsets(number: int, shapes: tuple[tuple[int, ...], ...], dtype: Any) -> tuple[Array, ...]:
    first = shapes[0]
    rank = len(first)
    place = number + rank if number < 0 else number
    if not 0 <= place < rank:
        raise errors.invalid_argument(f"Concat dim is out of range: {number} vs. {rank}")
    offsets, start = [], dtype.type(0)
    for index, sizes in enumerate(shapes):
        if len(sizes) != rank:
            raise errors.invalid_argument(
                f"input {index} should contain {rank} elements, but got {len(sizes)}"
            )
        if sizes[:place] != first[:place] or sizes[place + 1 :] != first[place + 1 :]:
            raise errors.invalid_argument(
                f"All dimensions except {place} must match. Input {index} has shape "
                f"[{' '.join(map(str, sizes))}] and doesn't match input 0 with shape "
                f"[{' '.join(map(str, first))}]."
            )
        offset = np.zeros(rank, dtype)
        offset[place] = start
        start = start + dtype.type(sizes[place])
        offsets.append(kept(offset))
    return tuple(offsets)


concat_offset.not_differentiable()

# -------------------------------------------------------------------------------------------- Split


def _split_shape(c: InferenceContext) -> list[TensorShape]:
    count = c.attr("num_split")
    axis = c.constant_value(0)
    dims = c.inputs[1].dim_values
    if dims is None:
        return [UNKNOWN_SHAPE] * count
    if axis is None:
        return [TensorShape([None] * len(dims))] * count
    number = int(axis)
    c.with_rank_at_least(1, -number if number < 0 else number + 1)
    number %= len(dims)
    size = dims[number]
    if size is not None:
        if size % count:
            raise ValueError(
                f"Dimension size must be evenly divisible by {count} but is {size}\n"
                "\tNumber of ways to split should evenly divide the split dimension"
            )
        size //= count
    return [TensorShape([*dims[:number], size, *dims[number + 1 :]])] * count


def _split_axis(value: Array, split_dim: Array) -> int:
    rank = len(value.shape)
    number = int(split_dim.reshape(-1)[0])
    if not -rank <= number < rank:
        raise errors.invalid_argument(
            f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {number}"
        )
    return number % rank


@register_op(
    "Split",
    "split_dim: int32, value: T -> output: num_split * T",
    "num_split: int >= 1",
    "T: type",
    shape=_split_shape,
    host_memory=("split_dim",),
    traits="rearranges",
)
def split_op(xp: Xp, split_dim: Array, value: Array, *, num_split: int) -> Outputs:
    """Return the tensor in equal pieces along an axis."""
    if split_dim.ndim:
        raise errors.invalid_argument(f"split_dim must be a scalar but has rank {split_dim.ndim}")
    axis = _split_axis(value, split_dim)
    size = value.shape[axis]
    if size % num_split:
        raise errors.invalid_argument(
            "Number of ways to split should evenly divide the split dimension, but got split_dim "
            f"{axis} (size = {size}) and num_split {num_split}"
        )
    return tuple([value[index] for index in _pieces(axis, size, num_split)])


@split_op.with_constants("split_dim")
def _(split_dim: Array, *, num_split: int) -> Callable[[Array], Outputs] | None:
    if split_dim.ndim:
        return None
    plain = split_op.function
    assert plain is not None
    by_place: dict[tuple[int, int], list[Any]] = {}

    def split(value: Array) -> Outputs:
        rank = len(value.shape)
        axis = int(split_dim)
        if not -rank <= axis < rank:
            return plain(np, split_dim, value, num_split=num_split)
        place = axis % rank, value.shape[axis]
        indices = by_place.get(place)
        if indices is None:
            if place[1] % num_split:
                return plain(np, split_dim, value, num_split=num_split)
            by_place.clear()
            indices = by_place[place] = _pieces(*place, num_split)
        return tuple([value[index] for index in indices])

    return split


def _pieces(axis: int, size: int, count: int) -> list[Any]:
    """Return the index of each of `count` equal pieces along an axis."""
    step, head = size // count, (slice(None),) * axis
    return [(*head, slice(i * step, (i + 1) * step)) for i in range(count)]


@split_op.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return None, concat(list(grads), op.inputs[0])


def _split_v_shape(c: InferenceContext) -> list[TensorShape]:
    count = c.attr("num_split")
    c.with_rank(1, 1)
    axis, sizes = c.constant_value(2), c.constant_value(1)
    dims = c.inputs[0].dim_values
    if dims == ():
        raise ValueError("Can't split scalars")
    if axis is None:
        return [UNKNOWN_SHAPE if dims is None else TensorShape([None] * len(dims))] * count
    c.with_rank(2, 0)
    number = int(axis)
    if dims is None:
        return [UNKNOWN_SHAPE] * count
    c.with_rank_at_least(0, -number if number < 0 else number + 1)
    number %= len(dims)
    if sizes is None and count > 1:
        return [TensorShape([*dims[:number], None, *dims[number + 1 :]])] * count
    whole = dims[number]
    listed: list[int | None] = (
        [whole] if sizes is None else [None if n < 0 else int(n) for n in sizes.tolist()]
    )
    if sizes is not None and (sizes < -1).any():
        at = int((sizes < -1).argmax())
        raise ValueError(f"Split size at index {at} must be >= 0. Got: {int(sizes[at])}")
    if len(listed) != count:
        raise ValueError("Length of size_splits should be equal to num_outputs")
    if listed.count(None) > 1:
        raise ValueError("size_splits can only have one -1")
    if whole is not None and sizes is not None:
        known = sum(n for n in listed if n is not None)
        if (None not in listed and known != whole) or (None in listed and known > whole):
            raise ValueError(
                f"can't split axis of size {whole} into pieces of size {shape_text(sizes.tolist())}"
            )
        if listed.count(None) == 1:
            listed = [whole - known if n is None else n for n in listed]
    return [TensorShape([*dims[:number], n, *dims[number + 1 :]]) for n in listed]


@register_op(
    "SplitV",
    "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split * T",
    "num_split: int >= 1",
    "T: type",
    "Tlen: {int8, int32, int64} = DT_INT64",
    shape=_split_v_shape,
    host_memory=("size_splits", "split_dim"),
    traits="rearranges",
)
def split_v(
    xp: Xp, value: Array, size_splits: Array, split_dim: Array, *, num_split: int
) -> Outputs:
    """Return the tensor in pieces of given sizes along an axis; one size may be -1."""
    if split_dim.size != 1:
        raise errors.invalid_argument("split_dim_tensor must have exactly one element.")
    axis = _split_axis(value, split_dim)
    if size_splits.ndim != 1 or size_splits.shape[0] != num_split:
        raise errors.invalid_argument(
            "size of the split_tensor must be 1-D and have the same elements as outputs got "
            f"{size_splits.ndim} -D and {size_splits.size} elements"
        )
    size = value.shape[axis]
    sizes = size_splits.tolist()
    if sizes.count(-1) > 1:
        raise errors.invalid_argument("There can only be one -1 in the input.")
    known = sum(n for n in sizes if n != -1)
    if known > size or (-1 not in sizes and known != size):
        raise errors.invalid_argument(
            "Determined shape must either match input shape along split_dim exactly if fully "
            "specified, or be less than the size of the input along split_dim if not fully "
            f"specified.  Got: {known}"
        )
    head, start, pieces = (slice(None),) * axis, 0, []
    for index, count in enumerate(sizes):
        if count == -1:
            count = size - known
        if count < 0:
            raise errors.invalid_argument(f"Split size at index {index} must be >= 0. Got: {count}")
        pieces.append(value[(*head, slice(start, start + count))])
        start += count
    return tuple(pieces)


@split_v.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return concat(list(grads), op.inputs[2]), None, None


@dispatchable
def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: TensorLike = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """Return a tensor in pieces along an axis.

    Args:
      value: the tensor.
      num_or_size_splits: the number of equal pieces, or the size of each.
      axis: the axis; negative numbers count from the end.
      num: the number of sizes, where they do not show it.
      name: the name of the op.
    """
    found: list[Tensor]
    if isinstance(num_or_size_splits, (int, np.integer, Dimension)):
        count = int(num_or_size_splits)
        found = split_op(axis, value, num_split=count, name=name)
        return found
    sizes = convert_to_tensor(num_or_size_splits)
    dims = sizes.shape.dim_values
    if dims == ():
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        if dims:
            num = dims[0]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    found = split_v(value, sizes, axis, num_split=num, name=name)
    return found


# --------------------------------------------------------------------------------------------- Tile


def _tile_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 1)
    multiples = c.constant_value_as_shape(1)
    dims, times = c.inputs[0].dim_values, multiples.dim_values
    if times is None:
        return UNKNOWN_SHAPE if dims is None else TensorShape([None] * len(dims))
    if dims is None:
        return TensorShape([None] * len(times))
    if len(dims) != len(times):
        raise ValueError(f"Shape must be rank {len(times)} but is rank {len(dims)}")
    return TensorShape(
        [
            0 if 0 in (n, k) else None if n is None or k is None else n * k
            for n, k in zip(dims, times)
        ]
    )


@register_op(
    "Tile",
    "input: T, multiples: Tmultiples -> output: T",
    "T: type",
    "Tmultiples: {int32, int64} = DT_INT32",
    shape=_tile_shape,
    host_memory=("multiples",),
    traits="rearranges",
)
def tile(xp: Xp, input: Array, multiples: Array) -> Array:
    """Return the tensor repeated along each dimension."""
    if multiples.ndim != 1:
        raise errors.invalid_argument(
            f"Expected multiples to be 1-D, but got shape {shape_text(multiples.shape)}"
        )
    rank = len(input.shape)
    if multiples.shape[0] != rank:
        raise errors.invalid_argument(
            f"Expected multiples argument to be a vector of length {rank} but got length "
            f"{multiples.shape[0]}"
        )
    times = multiples.tolist()
    for index, count in enumerate(times):
        if count < 0:
            raise errors.invalid_argument(f"Expected multiples[{index}] >= 0, but got {count}")
    if all(count == 1 for count in times):
        return input
    check_fits(xp, [n * count for n, count in zip(input.shape, times)], input.dtype)
    return xp.tile(input, times)


@tile.gradient
def _(op: Operation, grad: Tensor | IndexedSlices) -> Gradients:
    from tfnb.framework.indexed_slices import IndexedSlices
    from tfnb.ops.array import shape_ops, transpose_ops

    source, multiples = op.inputs
    sizes = shape_ops.shape(source, out_type=multiples.dtype)
    pairs = shape_ops.reshape(transpose_ops.transpose(stack([multiples, sizes])), [-1])
    axes = provided.range_(0, shape_ops.size(pairs), 2)
    if isinstance(grad, IndexedSlices):
        grad = convert_to_tensor(grad)
    found = provided.reduce_sum(shape_ops.reshape(grad, pairs), axes)
    found.set_shape(source.shape)
    return found, None


def _tile_grad_shape(c: InferenceContext) -> TensorShape:
    rank = c.inputs[0].ndims
    return UNKNOWN_SHAPE if rank is None else TensorShape([None] * rank)


@register_op(
    "TileGrad",
    "input: T, multiples: int32 -> output: T",
    "T: type",
    shape=_tile_grad_shape,
    host_memory=("multiples",),
    deprecated=(3, "TileGrad has been replaced with reduce_sum"),
)
def tile_grad(xp: Xp, input: Array, multiples: Array) -> Array:
    """Return the sum over the repetitions that Tile makes."""
    rank = len(input.shape)
    if multiples.shape != (rank,):
        raise errors.invalid_argument(
            f"Expected multiples argument to be a vector of length {rank} but got shape "
            f"{shape_text(multiples.shape)}"
        )
    sizes: list[int] = []
    for index, (size, count) in enumerate(zip(input.shape, multiples.tolist(), strict=True)):
        if count < 1 or size % count:
            raise errors.invalid_argument(
                f"Expected input_size to be divisible by multiples[{index}], but got size {size} "
                f"and {count}"
            )
        sizes += [count, size // count]
    return xp.sum(input.reshape(sizes), axis=tuple(range(0, len(sizes), 2)), dtype=input.dtype)
