"""Splitting a tensor's rows into tensors and merging them: DynamicPartition, DynamicStitch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.known_results import KnownResults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorResult

EXPORTS = {"tf": ["dynamic_partition", "dynamic_stitch"]}


def _partition_shape(c: InferenceContext) -> list[TensorShape]:
    data, partitions = c.inputs[0].dim_values, c.inputs[1].dim_values
    count = c.attr("num_partitions")
    if data is None or partitions is None:
        return [UNKNOWN_SHAPE] * count
    if len(data) < len(partitions):
        raise ValueError(f"Shape must be at least rank {len(partitions)} but is rank {len(data)}")
    for a, b in zip(data, partitions):
        if a is not None and b is not None and a != b:
            raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return [TensorShape([None, *data[len(partitions) :]])] * count


@register_op(
    "DynamicPartition",
    "data: T, partitions: int32 -> *outputs: num_partitions * T",
    "num_partitions: int >= 1",
    "T: type",
    shape=_partition_shape,
    traits="rearranges",
)
def dynamic_partition(xp: Xp, data: Array, partitions: Array, *, num_partitions: int) -> Outputs:
    """Return tensors, of which tensor i holds the slices whose entry in ``partitions`` is i."""
    data, partitions = xp.asarray(data), xp.asarray(partitions)
    lead = partitions.ndim
    if data.shape[:lead] != partitions.shape:
        raise errors.invalid_argument(
            "data.shape must start with partitions.shape, got data.shape = "
            f"{shape_text(data.shape)}, partitions.shape = {shape_text(partitions.shape)}"
        )
    rows = (
        data.reshape((-1, *data.shape[lead:]))
        if data.size
        else data.reshape((partitions.size, *data.shape[lead:]))
    )
    flat = partitions.reshape(-1)
    wrong = (flat < 0) | (flat >= num_partitions)
    if bool(wrong.any()):
        place = int(wrong.argmax())
        index = np.unravel_index(place, partitions.shape) if lead else ()
        text = f"[{','.join(str(int(i)) for i in index)}]" if lead else ""
        raise errors.invalid_argument(
            f"partitions{text} = {int(flat[place])} is not in [0, {num_partitions})"
        )
    return tuple(rows[flat == part] for part in range(num_partitions))


@dynamic_partition.gradient
def _(op: Operation, *grads: Tensor) -> list[TensorResult]:
    from tfnb.ops.array import array_ops

    data, indices = op.inputs
    count = op.get_attr("num_partitions")
    prefix = array_ops.shape(indices)
    original = array_ops.reshape(provided.range_(0, provided.reduce_prod(prefix)), prefix)
    parts = dynamic_partition(original, indices, count)
    merged = parallel_dynamic_stitch(parts, list(grads))
    return [array_ops.reshape(merged, array_ops.shape(data)), None]


# The largest int32 is not a valid index: the size, which is one more, would overflow.
_LARGEST = (1 << 31) - 1


def _stitch_shape(c: InferenceContext) -> TensorShape:
    count = c.attr("N")
    rest: tuple[int | None, ...] | None = None
    largest = -1
    is_known = True
    for position in range(count):
        value = c.constant_value(position)
        if value is None:
            is_known = False
        elif value.size:
            largest = max(largest, int(value.max()))
        indices, data = c.inputs[position].dim_values, c.inputs[count + position].dim_values
        if indices is None or data is None:
            continue
        if len(data) < len(indices):
            raise ValueError(f"Shape must be at least rank {len(indices)} but is rank {len(data)}")
        for a, b in zip(data, indices):
            _same(a, b)
        tail = data[len(indices) :]
        if rest is None:
            rest = tail
        elif len(rest) != len(tail):
            raise ValueError(f"Shapes must be equal rank, but are {len(rest)} and {len(tail)}")
        else:
            rest = tuple(_same(a, b) for a, b in zip(rest, tail))
    if largest == _LARGEST:
        raise ValueError(f"Dimension {-largest - 1} must be >= 0")
    if rest is None:
        return UNKNOWN_SHAPE
    return TensorShape([largest + 1 if is_known else None, *rest])


def _same(a: int | None, b: int | None) -> int | None:
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def _stitch(xp: Xp, indices: Sequence[Array], data: Sequence[Array]) -> Array:
    indices = [xp.asarray(one) for one in indices]
    data = [xp.asarray(one) for one in data]
    lead = indices[0].ndim
    rest = data[0].shape[lead:]
    largest = -1
    for position, (index, values) in enumerate(zip(indices, data)):
        if values.shape[: index.ndim] != index.shape:
            raise errors.invalid_argument(
                f"data[{position}].shape = {shape_text(values.shape)} does not start with "
                f"indices[{position}].shape = {shape_text(index.shape)}"
            )
        if values.shape[index.ndim :] != rest:
            raise errors.invalid_argument(
                f"Need data[0].shape[{lead}:] = data[{position}].shape[{index.ndim}:], got "
                f"data[0].shape = {shape_text(data[0].shape)}, data[{position}].shape = "
                f"{shape_text(values.shape)}, indices[0].shape = {shape_text(indices[0].shape)}, "
                f"indices[{position}].shape = {shape_text(index.shape)}"
            )
        if index.size:
            if int(index.min()) < 0:
                raise errors.invalid_argument(
                    f"indices[{position}] is out of range: {int(index.min())}"
                )
            largest = max(largest, int(index.max()))
    if largest == _LARGEST:
        raise errors.invalid_argument(f"Expected a non-negative size, got {-largest - 1}")
    check_fits(xp, (largest + 1, *rest), data[0].dtype)
    merged = xp.zeros((largest + 1, *rest), data[0].dtype)
    if data[0].dtype == object:
        merged.fill(b"")
    # Later tensors overwrite earlier ones; in one tensor, later rows overwrite earlier ones.
    for index, values in zip(indices, data):
        if index.size:
            merged[index.reshape(-1)] = values.reshape((-1, *rest)) if values.size else values
    return merged


# Gradients of reductions stitch shapes.
_STITCHED = KnownResults(_stitch)


@register_op(
    "DynamicStitch",
    "*indices: N * int32, *data: N * T -> merged: T",
    "N: int >= 1",
    "T: type",
    shape=_stitch_shape,
    traits="rearranges",
)
def dynamic_stitch(xp: Xp, indices: list[Array], data: list[Array]) -> Array:
    """Return rows merged by index: merged[indices[m][i]] = data[m][i].

    If several rows have one index, the last row counts.
    """
    return _STITCHED.get(xp, indices, data)


@register_op(
    "ParallelDynamicStitch",
    "*indices: N * int32, *data: N * T -> merged: T",
    "N: int >= 1",
    "T: type",
    shape=_stitch_shape,
    traits="rearranges",
)
def parallel_dynamic_stitch(xp: Xp, indices: list[Array], data: list[Array]) -> Array:
    """Return rows merged as by DynamicStitch; no index may occur twice."""
    return _stitch(xp, indices, data)


@dynamic_stitch.gradient
def _(op: Operation, grad: Tensor) -> list[TensorResult]:
    return _stitch_gradient(op, grad)


@parallel_dynamic_stitch.gradient
def _(op: Operation, grad: Tensor) -> list[TensorResult]:
    return _stitch_gradient(op, grad)


def _stitch_gradient(op: Operation, grad: Tensor) -> list[TensorResult]:
    from tfnb.framework.convert import convert_to_tensor
    from tfnb.ops.array import array_ops

    count = op.get_attr("N")
    grad = convert_to_tensor(grad)
    return [None] * count + [array_ops.gather(grad, index) for index in op.inputs[:count]]
