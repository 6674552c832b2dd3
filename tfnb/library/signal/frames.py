"""Cutting signals into overlapping frames, and adding frames to a signal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.while_loop import while_loop
from tfnb.ops.array import array_ops, pad_ops
from tfnb.ops.array.gather_ops import gather
from tfnb.ops.math import math_ops, reduction_ops
from tfnb.ops.math.cwise_binary_ops import floor_mod
from tfnb.ops.math.sequence_ops import range_

if TYPE_CHECKING:
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"signal": ["frame", "overlap_and_add"]}


def scalar(value: TensorLike, name: str) -> Tensor:
    """Return the value as a tensor of rank 0.

    Raises:
      ValueError: it has another rank.
    """
    tensor = convert_to_tensor(value, name=name)
    tensor.shape.assert_has_rank(0)
    return tensor


def _known(value: TensorLike) -> TensorResult:
    """Return the static value if it is known, else the tensor."""
    found = constant_value(value)
    return value if found is None else found


def _greatest_common_divisor(a: Tensor, b: Tensor) -> TensorResult:
    with name_scope(None, "gcd", [a, b]):
        for name, value in (("a", a), ("b", b)):
            value.shape.assert_has_rank(0)
            if not value.dtype.is_integer:
                raise ValueError(f"{name} must be an integer type. Got: {value.dtype!r}")
        known_a, known_b = constant_value(a), constant_value(b)
        if known_a is not None and known_b is not None:
            return convert_to_tensor(math.gcd(int(known_a), int(known_b)))
        return while_loop(
            lambda _, b: math_ops.greater(b, array_ops.zeros_like(b)),
            lambda a, b: [b, floor_mod(a, b, name="mod")],
            [a, b],
            back_prop=False,
        )[0]


def _static_shape(
    signal: Tensor,
    frame_length: TensorLike,
    frame_step: TensorLike,
    pad_end: bool,
    axis: TensorLike,
) -> list[Any] | None:
    """Return the shape of the frames as far as it is known."""
    rank = signal.shape.ndims
    if rank is None:
        return None
    length, step, place = (constant_value(v) for v in (frame_length, frame_step, axis))
    if place is None:
        return [None] * (rank + 1)
    dims: list[TensorLike] = signal.shape.as_list()
    samples = dims[place]
    count = None
    if samples is not None and step is not None:
        if pad_end:
            count = max(0, -(-samples // step))
        elif length is not None:
            count = max(0, (samples - length + step) // step)
    return [*dims[:place], count, length, *dims[place:][1:]]


def frame(
    signal: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: TensorLike = -1,
    name: str | None = None,
) -> Tensor:
    """Cut an axis of a signal into frames that may overlap.

    Args:
      signal: a tensor of rank 1 or more.
      frame_length: samples per frame.
      frame_step: samples from the start of one frame to that of the next.
      pad_end: whether frames that reach over the end are made, too, filled with `pad_value`.
      pad_value: the value behind the end.
      axis: the axis to cut.
      name: a name for the operation.

    Returns:
      The frames: `axis` is replaced by the axes (frames, frame_length).

    Raises:
      ValueError: a length, step, value or axis is not a scalar.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = convert_to_tensor(signal, name="signal")
        frame_length = convert_to_tensor(frame_length, name="frame_length")
        frame_step = convert_to_tensor(frame_step, name="frame_step")
        axis = convert_to_tensor(axis, name="axis")
        signal.shape.with_rank_at_least(1)
        for value in (frame_length, frame_step, axis):
            value.shape.assert_has_rank(0)
        result_shape = _static_shape(signal, frame_length, frame_step, pad_end, axis)
        shape: TensorLike = array_ops.shape(signal)
        known_shape, known_axis = constant_value(shape), constant_value(axis)
        shape = shape if known_shape is None else known_shape
        outer: TensorLike
        inner: TensorLike
        samples: TensorLike
        if known_shape is not None and known_axis is not None:
            axis = range(len(known_shape))[int(known_axis)]
            outer, lengths, inner = np.split(known_shape, [axis, axis + 1])
            samples = lengths.item()
        else:
            rank = array_ops.rank(signal)
            axis = range_(rank)[axis if known_axis is None else known_axis]
            outer, samples, inner = array_ops.split(shape, [axis, 1, rank - 1 - axis])
            samples = array_ops.reshape(samples, [])
        outer_rank, inner_rank = array_ops.size(outer), array_ops.size(inner)

        if pad_end:
            pad_value = convert_to_tensor(pad_value, signal.dtype)
            pad_value.shape.assert_has_rank(0)
            # Two negations round up.
            count = -(-samples // frame_step)
            missing = math_ops.maximum(0, frame_length + frame_step * (count - 1) - samples)
            paddings = array_ops.concat(
                [
                    array_ops.zeros([outer_rank, 2], dtype=missing.dtype),
                    convert_to_tensor([[0, missing]]),
                    array_ops.zeros([inner_rank, 2], dtype=missing.dtype),
                ],
                0,
            )
            signal = pad_ops.pad(signal, paddings, constant_values=pad_value)
            shape = array_ops.shape(signal)
            samples = shape[axis]
        else:
            zero = convert_to_tensor(0, dtype=frame_length.dtype)
            count = math_ops.maximum(zero, 1 + (samples - frame_length) // frame_step)

        # Frames are gathered from the largest pieces that divide both frames and steps.
        piece = _known(_greatest_common_divisor(frame_length, frame_step))
        pieces_per_frame = frame_length // piece
        pieces_per_step = frame_step // piece
        num_pieces = samples // piece
        end = array_ops.concat([outer, [num_pieces * piece], inner], 0)
        piece_shape = array_ops.concat([outer, [num_pieces, piece], inner], 0)
        whole = array_ops.strided_slice(signal, array_ops.zeros_like(shape), end)
        pieces = array_ops.reshape(whole, piece_shape)
        starts = range_(count, dtype=frame_length.dtype) * pieces_per_step
        starts = array_ops.reshape(starts, [count, 1])
        within = array_ops.reshape(
            range_(pieces_per_frame, dtype=frame_length.dtype), [1, pieces_per_frame]
        )
        selector = starts + within
        outer = convert_to_tensor(outer)
        inner = convert_to_tensor(inner, dtype=outer.dtype)
        middle = convert_to_tensor([count, frame_length], dtype=outer.dtype)
        gathered = gather(pieces, selector, axis=axis)
        frames: Tensor = array_ops.reshape(gathered, array_ops.concat([outer, middle, inner], 0))
        if result_shape:
            frames.set_shape(result_shape)
        return frames


def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Tensor:
    """Add frames up, each shifted against the one before.

    Args:
      signal: the frames, of shape (..., frames, frame_length).
      frame_step: the shift in samples, an integer or a scalar tensor; at most frame_length.
      name: a name for the operation.

    Returns:
      The signal, of shape (..., (frames - 1) * frame_step + frame_length).

    Raises:
      ValueError: the rank is below 2, or `frame_step` is not a scalar integer.
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        frame_step = scalar(frame_step, "frame_step")
        if not frame_step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {frame_step.dtype!r}")
        known_step = constant_value(frame_step)
        frame_step = frame_step if known_step is None else known_step
        shape = _known(array_ops.shape(signal))
        outer = shape[:-2]
        outer_rank = _known(array_ops.size(outer))

        def full_shape(inner: list[TensorLike]) -> TensorResult:
            return array_ops.concat([outer, inner], 0)

        length, frames = shape[-1], shape[-2]
        output_length = length + frame_step * (frames - 1)
        dims = signal.shape.dim_values
        if known_step is not None and dims is not None and known_step == dims[-1]:
            joined: Tensor = array_ops.reshape(
                signal, full_shape([output_length]), name="fast_path"
            )
            return joined

        # Every frame is a row of segments as long as the step. With `segments` empty frames at the
        # end, a read of the segments column by column shifts each column by one place more than the
        # one before. Then overlapping segments are in one column, and are summed.
        segments = -(-length // frame_step)
        paddings = [[0, segments], [0, segments * frame_step - length]]
        no_paddings = array_ops.zeros([outer_rank, 2], dtypes.int32)
        signal = pad_ops.pad(signal, array_ops.concat([no_paddings, paddings], 0))
        signal = array_ops.reshape(signal, full_shape([frames + segments, segments, frame_step]))
        inner_swap = [1, 0, 2]
        swap = array_ops.concat([range_(outer_rank), outer_rank + inner_swap], 0)
        signal = array_ops.transpose(signal, _known(swap))
        signal = array_ops.reshape(signal, full_shape([(frames + segments) * segments, frame_step]))
        signal = signal[..., : (frames + segments - 1) * segments, :]
        signal = array_ops.reshape(
            signal, full_shape([segments, (frames + segments - 1), frame_step])
        )
        signal = reduction_ops.reduce_sum(signal, -3)
        signal = array_ops.reshape(signal, full_shape([(frames + segments - 1) * frame_step]))
        result: Tensor = signal[..., :output_length]
        return result
