"""Spectra over time: the short-time Fourier and modified cosine transforms, and their inverses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.signal.cosine import dct
from tfnb.library.signal.frames import frame, overlap_and_add, scalar
from tfnb.library.signal.windows import hann_window, vorbis_window
from tfnb.ops.array import array_ops, pad_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.where_ops import where
from tfnb.ops.math import cwise_unary_ops, math_ops, reduction_ops
from tfnb.ops.signal import fft_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult

    WindowFunction = Callable[..., Any]

EXPORTS = {
    "signal": ["inverse_mdct", "inverse_stft", "inverse_stft_window_fn", "mdct", "stft"],
}


def _enclosing_power_of_two(value: Tensor) -> TensorResult:
    known = constant_value(value)
    if known is not None:
        return convert_to_tensor(int(2 ** np.ceil(np.log(known) / np.log(2.0))), value.dtype)
    logarithm = cwise_unary_ops.log(cast(value, dtypes.float32))
    exponent = math_ops.ceil(logarithm / cwise_unary_ops.log(2.0))
    return cast(math_ops.pow(2.0, exponent), value.dtype)


def stft(
    signals: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: WindowFunction | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the short-time Fourier transform: the spectrum of every windowed frame.

    Args:
      signals: real signals of shape (..., samples).
      frame_length: samples per frame.
      frame_step: samples from one frame to the next.
      fft_length: the transform's length; by default the power of two that holds a frame.
      window_fn: makes the window of (frame_length, dtype=); None for no window.
      pad_end: whether frames that reach over the end are made, too.
      name: a name for the operation.

    Returns:
      Complex spectra of shape (..., frames, fft_length // 2 + 1).

    Raises:
      ValueError: `signals` has rank 0, or a length is not a scalar.
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        frame_length = scalar(frame_length, "frame_length")
        frame_step = scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(frame_length)
        else:
            fft_length = convert_to_tensor(fft_length, name="fft_length")
        framed = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            framed = framed * window_fn(frame_length, dtype=framed.dtype)
        spectra: Tensor = fft_ops.rfft(framed, [fft_length])
        return spectra


def inverse_stft_window_fn(
    frame_step: TensorLike, forward_window_fn: WindowFunction = hann_window, name: str | None = None
) -> WindowFunction:
    """Return a window function for :func:`inverse_stft` that undoes the one of :func:`stft`.

    The forward window is divided by the sum of the squares of the windows that overlap (Griffin
    and Lim, equation 7).

    Args:
      frame_step: samples from one frame to the next.
      forward_window_fn: the window function that :func:`stft` used.
      name: a name for the operation.

    Returns:
      A function of a frame length and the keyword `dtype`.
    """

    def inverse_window(frame_length: TensorLike, dtype: DTypeLike) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            step = scalar(frame_step, "frame_step")
            length = scalar(frame_length, "frame_length")
            forward = forward_window_fn(length, dtype=dtype)
            squares = cwise_unary_ops.square(forward)
            overlaps = -(-length // step)
            squares = pad_ops.pad(squares, [(0, overlaps * step - length)])
            squares = array_ops.reshape(squares, [overlaps, step])
            total = reduction_ops.reduce_sum(squares, 0, keepdims=True)
            total = array_ops.tile(total, [overlaps, 1])
            total = array_ops.reshape(total, [overlaps * step])
            total = total[:length]
            is_zero = math_ops.equal(total, 0.0)
            return where(is_zero, array_ops.zeros_like(forward), forward / total)

    return inverse_window


def inverse_stft(
    stfts: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: WindowFunction | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Return the signals whose short-time Fourier transform is given.

    Args:
      stfts: complex spectra of shape (..., frames, fft_length // 2 + 1).
      frame_length: samples per frame.
      frame_step: samples from one frame to the next.
      fft_length: the transform's length; by default the power of two that holds a frame.
      window_fn: makes the window of (frame_length, dtype=); None for no window. See
        :func:`inverse_stft_window_fn`.
      name: a name for the operation.

    Returns:
      Real signals of shape (..., samples).

    Raises:
      ValueError: the rank is below 2, or a length is not a scalar.
    """
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        frame_length = scalar(frame_length, "frame_length")
        frame_step = scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(frame_length)
        else:
            fft_length = scalar(fft_length, "fft_length")
        frames = _with_length(fft_ops.irfft(stfts, [fft_length]), frame_length)
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, frame_step)


def _with_length(frames: TensorLike, frame_length: Tensor) -> TensorResult:
    """Return the last axis truncated or padded with zeros to the length."""
    known = constant_value(frame_length)
    dims = frames.shape.dim_values
    if known is None or dims is None or dims[-1] is None:
        frames = frames[..., :frame_length]
        rank, shape = array_ops.rank(frames), array_ops.shape(frames)
        no_paddings = array_ops.zeros([rank - 1, 2], dtype=frame_length.dtype)
        missing = math_ops.maximum(0, frame_length - shape[-1])
        frames = pad_ops.pad(frames, array_ops.concat([no_paddings, [[0, missing]]], 0))
    elif dims[-1] > known:
        frames = frames[..., : int(known)]
    elif dims[-1] < known:
        paddings = [[0, 0]] * (len(dims) - 1) + [[0, int(known) - dims[-1]]]
        frames = pad_ops.pad(frames, paddings)
    if known is not None and frames.shape.ndims is not None:
        frames.set_shape([None] * (frames.shape.ndims - 1) + [int(known)])
    return frames


def mdct(
    signals: TensorLike,
    frame_length: TensorLike,
    window_fn: WindowFunction | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the modified discrete cosine transform of frames that overlap by half.

    Args:
      signals: real signals of shape (..., samples).
      frame_length: samples per frame, a multiple of 4.
      window_fn: makes the window of (frame_length, dtype=); None weighs all by sqrt(1/2).
      pad_end: whether frames that reach over the end are made, too.
      norm: None, or "ortho" for the orthonormal transform.
      name: a name for the operation.

    Returns:
      Values of shape (..., frames, frame_length // 2).

    Raises:
      ValueError: `signals` has rank 0, or the length is not a scalar or not a multiple of 4.
    """
    with name_scope(name, "mdct", [signals, frame_length]):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        frame_length = scalar(frame_length, "frame_length")
        known = constant_value(frame_length)
        frame_step: TensorLike
        if known is not None:
            if known % 4:
                raise ValueError("The frame length must be a multiple of 4.")
            frame_step = convert_to_tensor(known // 2, dtype=frame_length.dtype)
        else:
            frame_step = frame_length // 2
        framed: TensorResult = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            framed = framed * window_fn(frame_length, dtype=framed.dtype)
        else:
            framed = framed * (1.0 / math.sqrt(2))
        a, b, c, d = array_ops.split(framed, 4, axis=-1)
        first = -array_ops.reverse(c, [-1]) - d
        second = a - array_ops.reverse(b, [-1])
        return dct(array_ops.concat((first, second), axis=-1), type=4, norm=norm)


def inverse_mdct(
    mdcts: TensorLike,
    window_fn: WindowFunction | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the signals whose :func:`mdct` with the same window is given.

    Args:
      mdcts: values of shape (..., frames, frame_length // 2).
      window_fn: the window function that :func:`mdct` used.
      norm: the ``norm`` that :func:`mdct` used.
      name: a name for the operation.

    Returns:
      Real signals of shape (..., (frames - 1) * (frame_length // 2) + frame_length).

    Raises:
      ValueError: the rank is below 2, or `norm` is neither None nor "ortho".
    """
    with name_scope(name, "inverse_mdct", [mdcts]):
        mdcts = convert_to_tensor(mdcts, name="mdcts")
        mdcts.shape.with_rank_at_least(2)
        half_length = cast(mdcts.shape[-1], dtype=dtypes.int32)
        values: TensorLike
        if norm is None:
            wide = cast(half_length, dtype=mdcts.dtype)
            values = (0.5 / wide) * dct(mdcts, type=4)
        elif norm == "ortho":
            values = dct(mdcts, type=4, norm="ortho")
        else:
            raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
        first, second = array_ops.split(values, 2, axis=-1)
        frames: TensorLike = array_ops.concat(
            (
                second,
                -array_ops.reverse(second, [-1]),
                -array_ops.reverse(first, [-1]),
                -first,
            ),
            axis=-1,
        )
        if window_fn is not None:
            frames = frames * window_fn(2 * half_length, dtype=mdcts.dtype)
        else:
            frames = frames * (1.0 / math.sqrt(2))
        return overlap_and_add(frames, half_length)
