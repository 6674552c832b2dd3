"""Window functions: weights that fade a section of a signal in and out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.cond import cond
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.math import cwise_unary_ops, math_ops
from tfnb.ops.math.bessel_ops import bessel_i0e
from tfnb.ops.math.cwise_binary_ops import floor_mod
from tfnb.ops.math.sequence_ops import cumsum, range_
from tfnb.ops.nn.activation_ops import relu

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "signal": [
        "hamming_window", "hann_window", "kaiser_bessel_derived_window", "kaiser_window",
        "vorbis_window",
    ],
}  # fmt: skip


def _check_floating(dtype: DType) -> None:
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype!r}")


def _checked_length(window_length: TensorLike, dtype: DType) -> Tensor:
    _check_floating(dtype)
    length = convert_to_tensor(window_length, dtype=dtypes.int32)
    length.shape.assert_has_rank(0)
    return length


def kaiser_window(
    window_length: TensorLike,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> TensorResult:
    """Return the Kaiser window: I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1.

    Args:
      window_length: the number of weights, an integer or a scalar tensor.
      beta: the steepness of the window.
      dtype: a floating-point type.
      name: a name for the operation.

    Raises:
      ValueError: the dtype is not floating-point, or the length is not a scalar.
    """
    dtype = dtypes.as_dtype(dtype)
    with name_scope(name, "kaiser_window"):
        length = _checked_length(window_length, dtype)
        if constant_value(length) == 1:
            return array_ops.ones([1], dtype=dtype)
        half = (cast(length, dtype=dtypes.float32) - 1.0) / 2.0
        place = range_(-half, half + 0.1, dtype=dtypes.float32)
        place = cast(place, dtype=dtype)
        beta = cast(beta, dtype=dtype)
        one = cast(1.0, dtype=dtype)
        half = cast(half, dtype=dtype)
        inside = relu(one - cwise_unary_ops.square(place / half))
        scaled = beta * math_ops.sqrt(inside)
        return math_ops.exp(scaled - beta) * (bessel_i0e(scaled) / bessel_i0e(beta))


def kaiser_bessel_derived_window(
    window_length: TensorLike,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return the window made from the cumulative sums of a Kaiser window; suited to the MDCT.

    Args:
      window_length: the number of weights, an even integer or a scalar tensor.
      beta: the steepness of the Kaiser window.
      dtype: a floating-point type.
      name: a name for the operation.

    Raises:
      ValueError: the dtype is not floating-point, or the length is not a scalar.
    """
    dtype = dtypes.as_dtype(dtype)
    with name_scope(name, "kaiser_bessel_derived_window"):
        length = _checked_length(window_length, dtype)
        half = length // 2
        sums = cumsum(kaiser_window(half + 1, beta, dtype=dtype))
        rising = math_ops.sqrt(sums[:-1] / sums[-1])
        return array_ops.concat((rising, rising[::-1]), axis=0)


def vorbis_window(
    window_length: TensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> TensorResult:
    """Return the window of the Vorbis format: sin(pi/2 sin^2(pi (n + 1/2) / N)).

    Args:
      window_length: the number of weights, an integer or a scalar tensor.
      dtype: a floating-point type.
      name: a name for the operation.

    Raises:
      ValueError: the dtype is not floating-point, or the length is not a scalar.
    """
    dtype = dtypes.as_dtype(dtype)
    with name_scope(name, "vorbis_window"):
        length = _checked_length(window_length, dtype)
        place = cast(range_(length), dtype=dtype)
        angle = math.pi / cast(length, dtype=dtype) * (place + 0.5)
        return cwise_unary_ops.sin(math.pi / 2.0 * math_ops.pow(cwise_unary_ops.sin(angle), 2.0))


def hann_window(
    window_length: TensorLike,
    periodic: TensorLike = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return the Hann window: 0.5 - 0.5 cos(2 pi n / N).

    Args:
      window_length: the number of weights, an integer or a scalar tensor.
      periodic: whether the window is one period (for spectra) or symmetric (for filters).
      dtype: a floating-point type.
      name: a name for the operation.

    Raises:
      ValueError: the dtype is not floating-point, or length or `periodic` is not a scalar.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: TensorLike,
    periodic: TensorLike = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return the Hamming window: 0.54 - 0.46 cos(2 pi n / N).

    Args:
      window_length: the number of weights, an integer or a scalar tensor.
      periodic: whether the window is one period (for spectra) or symmetric (for filters).
      dtype: a floating-point type.
      name: a name for the operation.

    Raises:
      ValueError: the dtype is not floating-point, or length or `periodic` is not a scalar.
    """
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    name: str | None,
    default_name: str,
    window_length: TensorLike,
    periodic: TensorLike,
    dtype: DTypeLike,
    level: float,
    swing: float,
) -> Tensor:
    dtype = dtypes.as_dtype(dtype)
    _check_floating(dtype)
    with name_scope(name, default_name, [window_length, periodic]):
        length = convert_to_tensor(window_length, dtype=dtypes.int32, name="window_length")
        length.shape.assert_has_rank(0)
        known_length = constant_value(length)
        if known_length == 1:
            return array_ops.ones([1], dtype=dtype)
        is_periodic = convert_to_tensor(periodic, dtype=dtypes.bool, name="periodic")
        is_periodic = cast(is_periodic, dtypes.int32)
        is_periodic.shape.assert_has_rank(0)
        even = 1 - floor_mod(length, 2, name="mod")
        period = cast(length + is_periodic * even - 1, dtype=dtype)
        count = cast(range_(length), dtype)
        angle = convert_to_tensor(2 * math.pi, dtype=dtype) * count / period

        def weights() -> TensorResult:
            return cast(level - swing * cwise_unary_ops.cos(angle), dtype=dtype)

        if known_length is not None:
            return weights()
        is_one = math_ops.equal(length, 1)
        chosen: Tensor = cond(is_one, lambda: array_ops.ones([length], dtype=dtype), weights)
        return chosen
