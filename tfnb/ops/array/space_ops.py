"""Ops that move elements between space, depth and batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.channel_order import (
    channel_vectors_refused,
    channels_to_last,
    channels_to_second,
    lies_channels_last,
)
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, merge_dims, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "depth_to_space",
        "space_to_depth",
        "space_to_batch",
        "space_to_batch_nd",
        "batch_to_space",
        "batch_to_space_nd",
        "required_space_to_batch_paddings",
    ],
    "nn": ["depth_to_space", "space_to_depth", "space_to_batch", "batch_to_space"],
    "manip": ["batch_to_space_nd", "space_to_batch_nd"],
}

# ------------------------------------------------------------------------------- depth and space

_BLOCK = (
    "T: type",
    "block_size: int >= 2",
    "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
)


def _parts(shape: Array, data_format: str) -> tuple[Array, Array, Array, Array]:
    """Return (batch, height, width, depth) of a shape."""
    if data_format == "NHWC":
        return shape[0], shape[1], shape[2], shape[3]
    depth = shape[1]
    if data_format == "NCHW_VECT_C":
        depth = None if depth is None else depth * 4
    return shape[0], shape[2], shape[3], depth


def _joined(
    data_format: str, batch: Any, height: TensorLike, width: TensorLike, depth: TensorLike
) -> list[Any]:
    if data_format == "NHWC":
        return [batch, height, width, depth]
    if data_format == "NCHW":
        return [batch, depth, height, width]
    return [batch, None if depth is None else depth // 4, height, width, 4]


def _divide(value: int | None, divisor: int) -> int | None:
    if value is None:
        return None
    if value % divisor:
        raise ValueError(f"Dimension size must be evenly divisible by {divisor} but is {value}")
    return value // divisor


def _times(value: int | None, factor: int) -> int | None:
    if value is None:
        return None
    if value * factor >> 63:
        raise ValueError(
            f"Negative dimension size caused by overflow when multiplying {value} and {factor}"
        )
    return value * factor


def _plus(value: int, more: int) -> int:
    if value + more >> 63:
        raise ValueError(f"Dimension size overflow from adding {value} and {more}")
    return value + more


def _minus(value: int, less: int) -> int:
    if value < less:
        raise ValueError(f"Negative dimension size caused by subtracting {less} from {value}")
    return value - less


def _block_size(c: InferenceContext) -> int:
    size: int = c.attr("block_size")
    if size >> 31:
        raise ValueError(f"Attr block_size has value {size} out of range for an int32")
    return size


def _dims_of_rank(c: InferenceContext, data_format: str) -> Any:
    rank = 5 if data_format == "NCHW_VECT_C" else 4
    dims = c.with_rank(0, rank).dim_values
    assert dims is not None
    if rank == 5:
        merge_dims(dims[4], 4)
    return dims


def _depth_to_space_shape(c: InferenceContext) -> TensorShape:
    form, block = c.attr("data_format"), _block_size(c)
    batch, height, width, depth = _parts(_dims_of_rank(c, form), form)
    depth = _divide(depth, block * block)
    return TensorShape(_joined(form, batch, _times(height, block), _times(width, block), depth))


def _space_to_depth_shape(c: InferenceContext) -> TensorShape:
    form, block = c.attr("data_format"), _block_size(c)
    batch, height, width, depth = _parts(_dims_of_rank(c, form), form)
    height, width = _divide(height, block), _divide(width, block)
    return TensorShape(_joined(form, batch, height, width, _times(depth, block * block)))


def _check_cpu_format(name: str, data_format: str) -> None:
    if data_format == "NCHW_VECT_C":
        raise channel_vectors_refused(name)


def _depth_to_space(xp: Xp, input: Array, block: int, data_format: str) -> Array:
    rank = 5 if data_format == "NCHW_VECT_C" else 4
    if input.ndim != rank:
        raise errors.invalid_argument(f"Input rank should be: {rank} instead of: {input.ndim}")
    batch, height, width, depth = _parts(input.shape, data_format)
    if depth % (block * block):
        raise errors.invalid_argument(
            f"Input depth dimension {depth} should be divisible by: {block * block}"
        )
    if data_format == "NCHW" and lies_channels_last(input):
        found = _depth_to_space(xp, channels_to_last(input), block, "NHWC")
        return channels_to_second(found)
    out = depth // (block * block)
    high, wide = height * block, width * block
    if data_format == "NHWC":
        parts = input.reshape(batch, height, width, block, block, out)
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(batch, high, wide, out)
    parts = input
    if data_format == "NCHW_VECT_C":
        parts = input.transpose(0, 1, 4, 2, 3).reshape(batch, depth, height, width)
    parts = parts.reshape(batch, block, block, out, height, width)
    parts = parts.transpose(0, 3, 4, 1, 5, 2).reshape(batch, out, high, wide)
    if data_format == "NCHW_VECT_C":
        return parts.reshape(batch, out // 4, 4, high, wide).transpose(0, 1, 3, 4, 2)
    return parts


def _space_to_depth(xp: Xp, input: Array, block: int, data_format: str) -> Array:
    rank = 5 if data_format == "NCHW_VECT_C" else 4
    if input.ndim != rank:
        raise errors.invalid_argument(f"Input rank should be {rank} instead of {input.ndim}")
    batch, height, width, depth = _parts(input.shape, data_format)
    if height % block or width % block:
        raise errors.invalid_argument(
            f"Image width {width} and height {height} should be divisible by block_size: {block}"
        )
    if data_format == "NCHW" and lies_channels_last(input):
        found = _space_to_depth(xp, channels_to_last(input), block, "NHWC")
        return channels_to_second(found)
    low, narrow, out = height // block, width // block, depth * block * block
    if data_format == "NHWC":
        parts = input.reshape(batch, low, block, narrow, block, depth)
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(batch, low, narrow, out)
    parts = input
    if data_format == "NCHW_VECT_C":
        parts = input.transpose(0, 1, 4, 2, 3).reshape(batch, depth, height, width)
    parts = parts.reshape(batch, depth, low, block, narrow, block)
    parts = parts.transpose(0, 3, 5, 1, 2, 4).reshape(batch, out, low, narrow)
    if data_format == "NCHW_VECT_C":
        return parts.reshape(batch, out // 4, 4, low, narrow).transpose(0, 1, 3, 4, 2)
    return parts


@register_op(
    "DepthToSpace",
    "input: T -> output: T",
    *_BLOCK,
    shape=_depth_to_space_shape,
    traits="rearranges",
)
def depth_to_space_op(xp: Xp, input: Array, *, block_size: int, data_format: str) -> Array:
    """Return depth rearranged into blocks of space."""
    _check_cpu_format("DepthToSpace", data_format)
    return _depth_to_space(xp, input, block_size, data_format)


@depth_to_space_op.kernel("GPU")
def _(xp: Xp, input: Array, *, block_size: int, data_format: str) -> Array:
    return _depth_to_space(xp, input, block_size, data_format)


@register_op(
    "SpaceToDepth",
    "input: T -> output: T",
    *_BLOCK,
    shape=_space_to_depth_shape,
    traits="rearranges",
)
def space_to_depth_op(xp: Xp, input: Array, *, block_size: int, data_format: str) -> Array:
    """Return blocks of space rearranged into depth."""
    _check_cpu_format("SpaceToDepth", data_format)
    return _space_to_depth(xp, input, block_size, data_format)


@space_to_depth_op.kernel("GPU")
def _(xp: Xp, input: Array, *, block_size: int, data_format: str) -> Array:
    return _space_to_depth(xp, input, block_size, data_format)


@depth_to_space_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    form = op.get_attr("data_format")
    if form == b"NCHW_VECT_C":
        raise ValueError("Cannot compute DepthToSpace gradient with NCHW_VECT_C format.")
    return space_to_depth_op(grad, block_size=op.get_attr("block_size"), data_format=form)


@space_to_depth_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    form = op.get_attr("data_format")
    if form == b"NCHW_VECT_C":
        raise ValueError("Cannot compute SpaceToDepth gradient with NCHW_VECT_C format.")
    return depth_to_space_op(grad, block_size=op.get_attr("block_size"), data_format=form)


def depth_to_space(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Return depth rearranged into blocks of space: (n, h, w, b*b*d) becomes (n, h*b, w*b, d)."""
    found: Tensor = depth_to_space_op(
        input, block_size=block_size, data_format=data_format, name=name
    )
    return found


def space_to_depth(
    input: TensorLike,
    block_size: int,
    name: str | None = None,
    data_format: str = "NHWC",
) -> Tensor:
    """Return blocks of space rearranged into depth: (n, h*b, w*b, d) becomes (n, h, w, b*b*d)."""
    found: Tensor = space_to_depth_op(
        input, block_size=block_size, data_format=data_format, name=name
    )
    return found


# ------------------------------------------------------------------------------- batch and space


def _batch_space_shape(
    c: InferenceContext,
    block: Any,
    paddings: TensorLike,
    block_length: int | None,
    to_batch: bool,
    source: TensorShape | None = None,
) -> TensorShape:
    """Return the shape of SpaceToBatch (``to_batch``) or BatchToSpace."""
    if block_length is None:
        return UNKNOWN_SHAPE
    c.with_rank_at_least(0, block_length + 1)
    dims = c.inputs[0].dim_values
    if dims is None:
        return UNKNOWN_SHAPE if source is None else source
    out: list[int | None] = list(dims)
    if block is None:
        for axis in range(block_length + 1 if block_length else 0):
            out[axis] = None
        return TensorShape(out)
    for size in block:
        if size < 1:
            raise ValueError("block_shape must be positive")
        out[0] = _times(out[0], size) if to_batch else _divide(out[0], size)
    for axis, size in enumerate(block):
        dim = out[axis + 1]
        if paddings is None:
            out[axis + 1] = None
            continue
        before, after = paddings[axis]
        if before < 0 or after < 0:
            raise ValueError(
                "paddings cannot be negative" if to_batch else "crops cannot be negative"
            )
        if dim is None:
            continue
        if to_batch:
            out[axis + 1] = _divide(_plus(_plus(dim, before), after), size)
        else:
            whole = _times(dim, size)
            assert whole is not None
            out[axis + 1] = _minus(_minus(whole, before), after)
    return TensorShape(out)


def _nd_shape(c: InferenceContext, to_batch: bool) -> TensorShape:
    rank = c.inputs[1].ndims
    if rank != 1:
        raise ValueError("block_shape must have rank 1.")
    length = (c.inputs[1].dim_values or (None,))[0]
    if length is None:
        raise ValueError("block_shape must have known size.")
    merge_shapes(c.with_rank(2, 2), TensorShape([length, 2]))
    block, paddings = c.constant_value(1), c.constant_value(2)
    return _batch_space_shape(
        c,
        None if block is None else block.tolist(),
        None if paddings is None else paddings.tolist(),
        length,
        to_batch,
    )


def _square_shape(c: InferenceContext, to_batch: bool) -> TensorShape:
    source = c.with_rank(0, 4)
    rows, columns = c.with_rank(1, 2).dim_values or (None, None)
    merge_dims(rows, 2)
    merge_dims(columns, 2)
    paddings, block = c.constant_value(1), c.attr("block_size")
    return _batch_space_shape(
        c, [block, block], None if paddings is None else paddings.tolist(), 2, to_batch, source
    )


def _check_nd(input: Array, block_shape: Array, paddings: Array, name: str) -> None:
    if block_shape.ndim != 1:
        raise errors.invalid_argument(f"block_shape rank should be 1 instead of {block_shape.ndim}")
    length = block_shape.shape[0]
    if input.ndim < 1 + length:
        raise errors.invalid_argument(
            f"input rank should be >= {1 + length} instead of {input.ndim}"
        )
    if paddings.ndim != 2 or paddings.shape != (length, 2):
        raise errors.invalid_argument(
            f"{name} should have shape [{length}, 2] instead of {shape_text(paddings.shape)}"
        )


def _check_block(block: list[int]) -> None:
    for axis, size in enumerate(block):
        if size < 1:
            raise errors.invalid_argument(
                f"All values in block_shape must be positive, got value, {size} at index {axis}."
            )


def _space_to_batch(xp: Any, input: Any, block: list[int], paddings: Any) -> Any:
    padded: list[tuple[int, int]] = [(0, 0)]
    _check_block(block)
    product = math.prod(block)
    if input.shape[0] * product >> 63:
        raise errors.invalid_argument(
            "Negative output dimension size caused by overflow when multiplying "
            f"{input.shape[0]} and {product}"
        )
    for axis, (size, (before, after)) in enumerate(zip(block, paddings, strict=True)):
        if before < 0 or after < 0:
            raise errors.invalid_argument("Paddings must be non-negative")
        total = input.shape[axis + 1] + before + after
        if total >> 63 or total % size:
            raise errors.invalid_argument(
                f"padded_shape[{axis}]={total} is not divisible by block_shape[{axis}]={size}"
            )
        padded.append((before, after))
    count = math.prod([input.shape[0], *block])
    for axis, size in enumerate(input.shape[1:]):
        more = size + sum(padded[axis + 1]) if axis + 1 < len(padded) else size
        more //= block[axis] if axis < len(block) else 1
        if count * more >> 63:
            raise errors.invalid_argument(
                f"Encountered overflow when multiplying {count} with {more}, result: -1"
            )
        count *= more
    padded += [(0, 0)] * (input.ndim - len(padded))
    if any(map(any, padded)):
        input = _padded(xp, input, padded)
    count = len(block)
    sizes = [input.shape[0]]
    for axis, size in enumerate(block):
        sizes += [input.shape[axis + 1] // size, size]
    tail = list(input.shape[count + 1 :])
    parts = input.reshape(sizes + tail)
    blocks, spaces = [2 * i + 2 for i in range(count)], [2 * i + 1 for i in range(count)]
    rest = [2 * count + 1 + i for i in range(len(tail))]
    moved = parts.transpose([*blocks, 0, *spaces, *rest])
    return moved.reshape([input.shape[0] * math.prod(block), *sizes[1::2], *tail])


def _padded(xp: Any, input: Any, pairs: list[tuple[int, int]]) -> Any:
    """Return an array with zeros, or empty strings, before and after it; `numpy.pad` is slow."""
    sizes = [size + before + after for size, (before, after) in zip(input.shape, pairs)]
    check_fits(xp, sizes, input.dtype)
    out = np.full(sizes, b"", object) if input.dtype == object else xp.zeros(sizes, input.dtype)
    inside = (slice(before, before + size) for size, (before, _) in zip(input.shape, pairs))
    out[tuple(inside)] = input
    return out


def _batch_to_space(xp: Any, input: Any, block: list[int], crops: Any) -> Any:
    _check_block(block)
    product = math.prod(block)
    if input.shape[0] % product:
        raise errors.invalid_argument(
            f"Input batch dimension ({input.shape[0]}) is not divisible by product of block sizes "
            f"({product})"
        )
    batch, count = input.shape[0] // product, len(block)
    space, tail = list(input.shape[1 : count + 1]), list(input.shape[count + 1 :])
    index = [slice(None)]
    for axis, (size, (before, after)) in enumerate(zip(block, crops, strict=True)):
        if before < 0 or after < 0:
            raise errors.invalid_argument("Crops must be non-negative")
        whole = space[axis] * size
        if before + after > whole:
            raise errors.invalid_argument(
                f"cropped_shape[{axis}]={whole - before - after} must be non-negative"
            )
        index.append(slice(before, whole - after))
    parts = input.reshape([*block, batch, *space, *tail])
    order = [count]
    for axis in range(count):
        order += [count + 1 + axis, axis]
    order += [2 * count + 1 + i for i in range(len(tail))]
    whole = [n * size for n, size in zip(space, block)]
    found = parts.transpose(order).reshape([batch, *whole, *tail])[tuple(index)]
    # Kernels that read the result several times take longer than a copy if it has gaps.
    return xp.ascontiguousarray(found)


@register_op(
    "SpaceToBatchND",
    "input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T",
    "T: type",
    "Tblock_shape: {int32, int64} = DT_INT32",
    "Tpaddings: {int32, int64} = DT_INT32",
    shape=lambda c: _nd_shape(c, True),
    host_memory=("block_shape", "paddings"),
    traits="rearranges",
)
def space_to_batch_nd(xp: Xp, input: Array, block_shape: Array, paddings: Array) -> Array:
    """Return blocks of space rearranged into the batch, after padding with zeros."""
    _check_nd(input, block_shape, paddings, "paddings")
    return _space_to_batch(xp, input, block_shape.tolist(), paddings.tolist())


@register_op(
    "BatchToSpaceND",
    "input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T",
    "T: type",
    "Tblock_shape: {int32, int64} = DT_INT32",
    "Tcrops: {int32, int64} = DT_INT32",
    shape=lambda c: _nd_shape(c, False),
    host_memory=("block_shape", "crops"),
    traits="rearranges",
)
def batch_to_space_nd(xp: Xp, input: Array, block_shape: Array, crops: Array) -> Array:
    """Return the batch rearranged into blocks of space, then cropped."""
    _check_nd(input, block_shape, crops, "crops")
    return _batch_to_space(xp, input, block_shape.tolist(), crops.tolist())


@space_to_batch_nd.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return batch_to_space_nd(grad, op.inputs[1], op.inputs[2]), None, None


@batch_to_space_nd.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return space_to_batch_nd(grad, op.inputs[1], op.inputs[2]), None, None


@register_op(
    "SpaceToBatch",
    "input: T, paddings: Tpaddings -> output: T",
    "T: type",
    "Tpaddings: {int32, int64} = DT_INT32",
    "block_size: int >= 2",
    shape=lambda c: _square_shape(c, True),
    host_memory=("paddings",),
    traits="rearranges",
)
def space_to_batch_op(xp: Xp, input: Array, paddings: Array, *, block_size: int) -> Array:
    """Return the blocks of SpaceToBatchND, with a square block over two dimensions."""
    if input.ndim != 4:
        raise errors.invalid_argument(f"Input rank should be: 4instead of: {input.ndim}")
    block = np.full(2, block_size)
    _check_nd(input, block, paddings, "paddings")
    return _space_to_batch(xp, input, block.tolist(), paddings.tolist())


@register_op(
    "BatchToSpace",
    "input: T, crops: Tidx -> output: T",
    "T: type",
    "block_size: int >= 2",
    "Tidx: {int32, int64} = DT_INT32",
    shape=lambda c: _square_shape(c, False),
    host_memory=("crops",),
    traits="rearranges",
)
def batch_to_space_op(xp: Xp, input: Array, crops: Array, *, block_size: int) -> Array:
    """Return the space of BatchToSpaceND, with a square block over two dimensions."""
    if input.ndim != 4:
        raise errors.invalid_argument(f"Input rank should be: 4instead of: {input.ndim}")
    block = np.full(2, block_size)
    _check_nd(input, block, crops, "crops")
    return _batch_to_space(xp, input, block.tolist(), crops.tolist())


@space_to_batch_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return batch_to_space_op(grad, op.inputs[1], block_size=op.get_attr("block_size")), None


@batch_to_space_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return space_to_batch_op(grad, op.inputs[1], block_size=op.get_attr("block_size")), None


def _of_images(found: Tensor) -> Tensor:
    found.set_shape(found.shape.with_rank(4))
    return found


def _block(block: Any) -> Any:
    """Return the sides of a block that may be given as one number."""
    return np.array([block, block], np.int64) if np.isscalar(block) else block


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """Return blocks of space rearranged into the batch; see :func:`space_to_batch_nd`."""
    found: Tensor = space_to_batch_nd(
        input,
        paddings=paddings,
        block_shape=_block(block_size if block_shape is None else block_shape),
        name=name,
    )
    return _of_images(found)


def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size: int,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """Return the batch rearranged into blocks of space; see :func:`batch_to_space_nd`."""
    found: Tensor = batch_to_space_nd(
        input,
        crops=crops,
        block_shape=_block(block_size if block_shape is None else block_shape),
        name=name,
    )
    return _of_images(found)


def required_space_to_batch_paddings(
    input_shape: TensorLike,
    block_shape: TensorLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[TensorResult, TensorResult]:
    """Return paddings that make a shape divisible by a block, and the crops that undo them."""
    from tfnb.framework.constant_value import constant_value
    from tfnb.framework.scopes import name_scope
    from tfnb.ops.array import concat_ops, constant_ops

    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = convert_to_tensor(input_shape, dtype="int32", name="input_shape")
        block_shape = convert_to_tensor(block_shape, dtype="int32", name="block_shape")
        block_shape.shape.assert_is_fully_defined()
        block_shape.shape.assert_has_rank(1)
        count = block_shape.shape.dim_values[0]
        if count == 0:
            empty = constant_ops.zeros([0, 2], "int32")
            return empty, empty
        input_shape.shape.assert_is_compatible_with([count])
        if base_paddings is not None:
            base_paddings = convert_to_tensor(base_paddings, dtype="int32", name="base_paddings")
            base_paddings.shape.assert_is_compatible_with([count, 2])
        else:
            base_paddings = constant_ops.zeros([count, 2], "int32")
        known = [constant_value(one) for one in (input_shape, block_shape, base_paddings)]
        sizes, block, base = [
            one if value is None else value
            for one, value in zip((input_shape, block_shape, base_paddings), known)
        ]
        start = base[:, 0]
        full = sizes + start + base[:, 1]
        end = base[:, 1] + (block - full % block) % block
        paddings = concat_ops.stack([[start[i], end[i]] for i in range(count)], name="paddings")
        extra = end - base[:, 1]
        crops = concat_ops.stack([[0, extra[i]] for i in range(count)], name="crops")
        return paddings, crops
