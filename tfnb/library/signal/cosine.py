"""Discrete cosine transforms of the four types, computed with the Fourier transform."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import dimension_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.smart_cond import smart_cond
from tfnb.ops.array import array_ops, pad_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.math import cwise_unary_ops, math_ops
from tfnb.ops.math.complex_ops import complex_, real
from tfnb.ops.math.sequence_ops import range_
from tfnb.ops.signal import fft_ops

if TYPE_CHECKING:
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult

_NAMES = ["dct", "idct"]
EXPORTS = {"signal": _NAMES, "spectral": _NAMES}

_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}


def _check(x: TensorLike, kind: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in _INVERSE_TYPE:
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if kind == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        length = dimension_value(x.shape[-1])
        if length is not None and length < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the discrete cosine transform of the last axis.

    Args:
      input: float32 or float64 signals of shape (..., samples).
      type: 1, 2, 3 or 4.
      n: number of samples to use, truncated or zero-padded; all by default.
      axis: -1.
      norm: None, or "ortho" for the orthonormal transform.
      name: a name for the operation.

    Raises:
      ValueError: an argument is not one of the values above.
      NotImplementedError: the axis is not -1.
    """
    _check(input, type, n, axis, norm)
    result: Tensor = _transform(input, type, n, norm, name)
    return result


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the inverse of :func:`dct`, up to a factor 2 n unless `norm` is "ortho".

    Args:
      input: float32 or float64 values of shape (..., samples).
      type: the type of the transform to undo: 1, 2, 3 or 4.
      n: number of samples to use, truncated or zero-padded; all by default.
      axis: -1.
      norm: None, or "ortho" for the orthonormal transform.
      name: a name for the operation.

    Raises:
      ValueError: an argument is not one of the values above.
      NotImplementedError: the axis is not -1.
    """
    _check(input, type, n, axis, norm)
    result: Tensor = _transform(input, _INVERSE_TYPE[type], n, norm, name)
    return result


def _length(x: TensorLike) -> Any:
    return dimension_value(x.shape[-1]) or array_ops.shape(x)[-1]


def _resized(x: TensorLike, n: TensorLike) -> TensorResult:
    length = _length(x)

    def cut() -> TensorResult:
        return x[..., 0:n]

    def filled() -> TensorResult:
        rank = len(x.shape)
        paddings: list[list[TensorLike]] = [[0, 0] for _ in range(rank)]
        paddings[-1][1] = n - length
        return pad_ops.pad(x, paddings=convert_to_tensor(paddings, dtype=dtypes.int32))

    return smart_cond(n <= length, cut, filled)


def _transform(
    x: TensorLike, kind: int, n: TensorLike, norm: str | None, name: str | None
) -> TensorResult:
    with name_scope(name, "dct", [x]):
        x = convert_to_tensor(x)
        zero = convert_to_tensor(0.0, dtype=x.dtype)
        if n is not None:
            x = _resized(x, n)
        else:
            _length(x)
        length = _length(x)
        wide = cast(length, x.dtype)
        return _TYPES[kind](x, length, wide, zero, norm)


def _type_1(
    x: TensorLike, length: TensorLike, wide: TensorLike, zero: TensorLike, norm: str | None
) -> TensorResult:
    return real(fft_ops.rfft(array_ops.concat([x, x[..., -2:0:-1]], axis=-1)))


def _weights(first: TensorLike, others: TensorLike, length: TensorLike) -> TensorResult:
    """Return [first, others, others, ...]."""
    return pad_ops.pad(array_ops.expand_dims(first, 0), [[0, length - 1]], constant_values=others)


def _type_2(
    x: TensorLike, length: TensorLike, wide: TensorLike, zero: TensorLike, norm: str | None
) -> TensorResult:
    turn = complex_(zero, -range_(wide) * math.pi * 0.5 / wide)
    scale = 2.0 * cwise_unary_ops.exp_op(turn)
    spectrum = fft_ops.rfft(x, fft_length=[2 * length])[..., :length]
    values = real(spectrum * scale)
    if norm == "ortho":
        first = 0.5 * math_ops.rsqrt(wide)
        values *= _weights(first, first * math.sqrt(2.0), length)
    return values


def _type_3(
    x: TensorLike, length: TensorLike, wide: TensorLike, zero: TensorLike, norm: str | None
) -> TensorResult:
    if norm == "ortho":
        first = math_ops.sqrt(wide)
        x *= _weights(first, first * math.sqrt(0.5), length)
    else:
        x *= wide
    turn = complex_(zero, range_(wide) * math.pi * 0.5 / wide)
    scale = 2.0 * cwise_unary_ops.exp_op(turn)
    return real(fft_ops.irfft(scale * complex_(x, zero), fft_length=[2 * length]))[..., :length]


def _type_4(
    x: TensorLike, length: TensorLike, wide: TensorLike, zero: TensorLike, norm: str | None
) -> TensorResult:
    # The odd entries of the type 2 transform of twice the length.
    values = _transform(x, 2, 2 * length, None, None)[..., 1::2]
    if norm == "ortho":
        values *= math.sqrt(0.5) * math_ops.rsqrt(wide)
    return values


_TYPES = {1: _type_1, 2: _type_2, 3: _type_3, 4: _type_4}
