"""The arithmetic of quantized numbers: integers that stand for the floats of a range [low, high].

The lowest integer of a type stands for ``low`` and the highest for ``high``; the integer for zero
is found by rounding. Two ways of converting exist, and both are kept since they differ in the last
digit: one number at a time in double precision (``quantized_number``, ``float_of``), and whole
arrays in single precision (``quantized``, ``dequantized``). Corresponds to TensorFlow's
``quantization_utils.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.shape_inference import SCALAR_SHAPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.core.tensor_shape import TensorShape

LARGEST = np.float32(np.finfo(np.float32).max)
# The single-precision numbers closest to the limits of int32 that can be converted back to it.
_LOWEST_INT32 = np.float32(-2147483648.0)
_HIGHEST_INT32 = np.float32(2147483520.0)


def rounded_away(xp: Xp, x: Array) -> Array:
    """Return the nearest whole numbers; halves are rounded away from zero."""
    below_half = np.nextafter(x.dtype.type(0.5), x.dtype.type(0))
    return xp.trunc(x + xp.copysign(below_half, x))


def limits(dtype: Attr) -> tuple[int, int]:
    """Return the lowest and the highest integer of a type."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _steps(dtype: Attr) -> int:
    return 1 << (8 * int(np.dtype(dtype).itemsize))


def _scale(low: Array, high: Array, dtype: Attr) -> np.float64:
    """Return the number of integers per unit, in double precision."""
    steps = _steps(dtype)
    return steps / (np.float64(np.float32(high) - np.float32(low)) * (steps / (steps - 1.0)))


def whole_number(x: float) -> int:
    """Return the integer part.

    A value outside int64 becomes the lowest int64, as the conversion instructions of x86 give it.
    """
    return int(x) if abs(x) < 2.0**63 else -(1 << 63)


def number_of(value: Array, name: str) -> np.float32:
    """Return the float in a tensor that holds one.

    Raises:
      InvalidArgumentError: the tensor is not a scalar.
    """
    if value.ndim:
        raise errors.invalid_argument(f"{name} must be a scalar, but its rank is {value.ndim}")
    return np.float32(value)


def single(value: Array, name: str) -> np.float32:
    """Return the float in a tensor of one element, whatever its rank.

    Raises:
      InvalidArgumentError: the tensor has more elements, or none.
    """
    if value.size != 1:
        raise errors.invalid_argument(f"{name} must be a scalar, not {value.size} numbers")
    return np.float32(value.reshape(()))


def _number(value: float, low: Array, high: Array, dtype: Attr) -> int:
    """Return the integer that stands for a float.

    Where 64 bits cannot hold it, it is wrapped as in TensorFlow.
    """
    lowest = limits(dtype)[0]
    if low == high:
        return lowest
    ends = np.array([value, low], np.float64)
    with np.errstate(all="ignore"):
        value, start = rounded_away(np, ends * _scale(low, high, dtype))
    return whole_number(value - start) + lowest


def unclamped_number(value: float, low: Array, high: Array, dtype: Attr) -> int:
    """Return the integer that stands for a float, even if the type cannot hold it."""
    return _wrapped(_number(value, low, high, dtype))


def quantized_number(value: float, low: Array, high: Array, dtype: Attr) -> int:
    """Return the integer that stands for a float; one outside the range gives the nearest limit."""
    lowest, highest = limits(dtype)
    return min(max(_number(value, low, high, dtype), lowest), highest)


def floats_of(values: Array, low: Array, high: Array) -> NDArray[np.float32]:
    """Return the floats that integers stand for, each computed in double precision."""
    if low == high:
        return np.full(values.shape, low, np.float32)
    steps = _steps(values.dtype)
    span = float(np.float32(high) - np.float32(low)) * (steps / (steps - 1.0))
    scale = span / steps
    single = np.float32(scale)
    start = rounded_away(np, np.float32(low) / single) * single
    # TensorFlow converts qint32 to double through float.
    offsets = values.astype(np.float32).astype(np.float64) - limits(values.dtype)[0]
    return np.asarray(np.float64(start) + offsets * scale).astype(np.float32)


def float_of(value: int, low: Array, high: Array, dtype: Attr) -> np.float32:
    """Return the float that one integer stands for."""
    return np.float32(floats_of(np.asarray(value, dtype), low, high))


def numbers_of(values: Array, low: Array, high: Array, dtype: Attr) -> Array:
    """Return ``quantized_number`` of every float of an array."""
    lowest, highest = limits(dtype)
    if low == high:
        return np.full(values.shape, lowest, dtype)
    scale = _scale(low, high, dtype)
    start = rounded_away(np, low * scale)
    numbers = rounded_away(np, values.astype(np.float64) * scale) - start + lowest
    return np.clip(numbers, lowest, highest).astype(dtype)


def dequantized(values: Array, low: Array, high: Array) -> NDArray[np.float32]:
    """Return the floats that the integers of an array stand for, in single precision."""
    low, high = np.float32(low), np.float32(high)
    lowest = np.float32(limits(values.dtype)[0])
    scale = np.float32(float(high - low) / (_steps(values.dtype) - 1.0))
    start = low if low == high else rounded_away(np, low / scale) * scale
    return np.asarray((start - lowest * scale) + values.astype(np.float32) * scale)


def quantized(values: Array, low: Array, high: Array, dtype: Attr) -> Array:
    """Return the integers that stand for the floats of an array, in single precision."""
    low, high = np.float32(low), np.float32(high)
    lowest, highest = limits(dtype)
    scale = np.float32(0 if low == high else (_steps(dtype) - 1.0) / float(high - low))
    start = rounded_away(np, low * scale)
    numbers = rounded_away(np, values * scale) - (start - np.float32(lowest))
    floor = max(np.float32(lowest), _LOWEST_INT32)
    ceiling = min(np.float32(highest), _HIGHEST_INT32)
    return np.minimum(np.maximum(numbers, floor), ceiling).astype(np.int32).astype(dtype)


def requantized(
    values: Array, old: tuple[Array, Array], new: tuple[Array, Array], dtype: Attr
) -> Array:
    """Return the integers of another type and range that stand for the same floats.

    From qint32 to quint8 the computation is in integers with 16 binary places, otherwise in floats.
    """
    if values.dtype != np.int32 or dtype != np.uint8:
        return quantized(dequantized(values, *old), *new, dtype)
    old_low, old_high = (np.float32(end) for end in old)
    new_low, new_high = (np.float32(end) for end in new)
    old_span, new_span = old_high - old_low, new_high - new_low
    one = 1 << 16
    if new_span == 0:
        scale = offset = start = 0
    else:
        reciprocal = np.float32(255.0 / float(new_span))
        middle = np.float32(float(old_low + old_high) / 2.0)
        scale = whole_number(255.0 * one * float(old_span) / float(new_span))
        offset = whole_number(float(middle * reciprocal * np.float32(one)))
        start = whole_number(rounded_away(np, one * (np.float64(new_low) * 255.0) / new_span))
    values = values.astype(np.float32).astype(np.int64)  # as TensorFlow converts qint32 to int64
    if abs(scale) >= 1 << 32:
        # These factors overflow 64 bits; Python's integers, wrapped, give the same result.
        products = np.array([_wrapped(v * scale) for v in values.ravel().tolist()], np.int64)
        products = products.reshape(values.shape)
    else:
        products = values * scale
    numbers = ((products >> 32) + _wrapped(offset - start + (one >> 1))) >> 16
    return np.clip(numbers, 0, 255).astype(np.uint8)


def _wrapped(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def level(low: Array, high: Array, dtype: Attr) -> np.float32:
    """Return the difference of the floats that two neighbouring integers stand for."""
    lowest, highest = limits(dtype)
    return np.float32((np.float32(high) - np.float32(low)) / np.float32(highest - lowest))


def range_of_products(
    a: tuple[Array, Array], a_dtype: Array, b: tuple[Array, Array], b_dtype: Array, dtype: Attr
) -> tuple[np.float32, np.float32]:
    """Return the range of the type that holds sums of products of two other types' integers."""
    lowest, highest = limits(dtype)
    step = level(*a, a_dtype) * level(*b, b_dtype)
    return np.float32(step * np.float32(lowest)), np.float32(step * np.float32(highest))


# ------------------------------------------------------------------------------------------- shapes


def scalar_ranges(c: InferenceContext, first: int) -> None:
    """Check that all inputs from number `first` on are scalars.

    Raises:
      ValueError: an input is not a scalar.
    """
    for index in range(first, len(c.inputs)):
        c.with_rank(index, 0)


def with_scalar_range(c: InferenceContext, shape: TensorShape, first: int) -> list[TensorShape]:
    """Return the shapes of a quantized output and its two range limits.

    The ranges of the inputs must be scalars.
    """
    scalar_ranges(c, first)
    return [shape, SCALAR_SHAPE, SCALAR_SHAPE]
