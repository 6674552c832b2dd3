"""Conversions of floats to quantized numbers and back, and between ranges and types of these.

Corresponds to TensorFlow's ``quantize_op.cc``, ``dequantize_op.cc``, ``requantize.cc`` and
``quantize_down_and_shrink_range.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    InferenceContext,
    merge_dims,
    merge_shapes,
    require_rank,
)
from tfnb.framework.convert import convert_to_tensor
from tfnb.ops.base.quantized_values import (
    LARGEST,
    dequantized,
    float_of,
    limits,
    number_of,
    quantized,
    requantized,
    rounded_away,
    scalar_ranges,
    single,
    with_scalar_range,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": ["dequantize", "quantize", "quantize_v2"],
    "quantization": ["dequantize", "quantize"],
}

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_MODE = "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'"


def range_shape(c: InferenceContext, first: int = 0, alike: bool = True) -> TensorShape:
    """Return the shape of min and max: scalars, or vectors along the attr ``axis``.

    Args:
      c: the context of shape inference.
      first: the input to which they belong; they are the next two inputs.
      alike: whether min and max are checked, or max alone.

    Raises:
      ValueError: they have other shapes, or the input does not have the axis.
    """
    axis = c.attr("axis")
    rank = 0 if axis == -1 else 1
    lowest, ends = c.with_rank(first + 1, rank), c.with_rank(first + 2, rank)
    if axis < -1:
        raise ValueError(f"axis should be at least -1, got {axis}")
    if axis != -1:
        dims = c.with_rank_at_least(first, axis + 1).dim_values
        ends = merge_shapes(lowest, ends) if alike else ends
        assert ends.dim_values is not None
        merge_dims(ends.dim_values[0], None if dims is None else dims[axis])
    return ends


def check_slices(x: Array, low: Array, high: Array, axis: int) -> None:
    """Refuse min and max that do not fit the input, with TensorFlow's errors.

    Raises:
      InvalidArgumentError: they are not scalars, or not one per slice along the axis.
    """
    if axis < -1:
        raise errors.invalid_argument(f"Axis must be at least -1. Found {axis}")
    if axis == -1:
        for name, value in (("input_min_range", low), ("input_max_range", high)):
            single(value, name)
        return
    if axis >= x.ndim:
        raise errors.invalid_argument(
            f"Axis must be less than input dimension({x.ndim}). Found {axis}"
        )
    for name, value in (("input_min_range", low), ("input_max_range", high)):
        if value.ndim != 1 or value.shape[0] != x.shape[axis]:
            raise errors.invalid_argument(
                f"{name} must be a vector with one element per slice along axis {axis}: "
                f"{x.shape[axis]}, not of shape {list(value.shape)}"
            )


def _as_int32(numbers: Array) -> Array:
    """Return whole floats as converted to int32 and back; the largest becomes the lowest."""
    return np.where(numbers < 2.0**31, numbers, np.float32(-(2.0**31)))


def _by_slice(
    x: Array, low: Array, high: Array, axis: int, one: Callable[[Array, Array, Array], Array]
) -> Outputs:
    """Return ``one(slice, low, high)`` of the slices along an axis, and a function to join them."""
    slices = np.moveaxis(x, axis, 0)
    done = [one(part, low[i], high[i]) for i, part in enumerate(slices)]
    return done, (lambda parts: np.ascontiguousarray(np.moveaxis(np.stack(parts), 0, axis)))


# ------------------------------------------------------------------------------------- from floats


def _widened(low: Array, high: Array, least: float) -> tuple[np.float32, np.float32]:
    """Return the range extended to contain zero, and wide enough to be a divisor."""
    if high < low:
        raise errors.invalid_argument("max_range must be larger than min_range.")
    zero, one = np.float32(0), np.float32(1)
    epsilon = max(one, max(abs(low), abs(high))) * np.float32(least)
    start = min(zero, low)
    return start, max(zero, max(high, start + epsilon))


class _Quantizer:
    """QuantizeV2's attrs, and the quantization of one slice with one range."""

    def __init__(self, dtype: Attr, mode: str, round_mode: str, narrow: bool, least: float) -> None:
        self.dtype, self.mode, self.round_mode = dtype, mode, round_mode
        self.narrow, self.least = narrow, least

    def __call__(self, x: Array, low: Array, high: Array) -> tuple[Array, np.float32, np.float32]:
        """Return the integers and their range."""
        low, high = _widened(np.float32(low), np.float32(high), self.least)
        if self.mode == "MIN_FIRST":
            return quantized(x, low, high, self.dtype), low, high
        lowest, highest = limits(self.dtype)
        if self.mode == "MIN_COMBINED":
            scale = np.float32((float(highest) - float(lowest)) / np.float64(high - low))
            places = (np.maximum(np.minimum(x, high), low) - low) * scale
            if lowest:
                numbers = rounded_away(np, places - np.float32((float(highest) - lowest + 1) / 2))
            else:
                numbers = np.trunc(places + np.float32(0.5))
            return _to_integers(numbers, self.dtype), low, high
        lowest += 1 if self.narrow else 0
        first, last = np.float32(lowest), np.float32(highest)
        scale = min(
            first / low if first * low > 0 else LARGEST,
            last / high if last * high > 0 else LARGEST,
        )
        low, high = first / scale, last / scale
        if abs(low) < np.finfo(np.float32).tiny:
            low = np.float32(0)  # TensorFlow's threads flush subnormal numbers to zero
        places = np.maximum(np.minimum(x, high), low) * scale
        even = self.round_mode == "HALF_TO_EVEN"
        numbers = np.rint(places) if even else rounded_away(np, places)
        return _to_integers(numbers, self.dtype), low, high


def _to_integers(numbers: Array, dtype: Attr) -> Array:
    """Return whole floats as integers, converted through int64, where NaN is the lowest number."""
    wide = np.where(np.abs(numbers) < 2.0**63, numbers, np.float32(-(2.0**63)))
    return wide.astype(np.int64).astype(dtype)


@register_op(
    "QuantizeV2",
    "input: float, min_range: float, max_range: float -> output: T, output_min: float, "
    "output_max: float",
    "T: quantizedtype",
    _MODE,
    "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'",
    "narrow_range: bool = false",
    "axis: int = -1",
    "ensure_minimum_range: float = 0.00999999978",
    **_CPU,
)
def quantize_v2_op(
    xp: Xp,
    x: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: dtypes.DType,
    mode: str,
    round_mode: str,
    narrow_range: bool,
    axis: int,
    ensure_minimum_range: float,
) -> Outputs:
    """Return floats as quantized numbers, and the range of these.

    MIN_COMBINED and MIN_FIRST distribute the range over all integers; SCALED keeps zero at 0.
    """
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise errors.invalid_argument(
            f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{mode}'."
        )
    check_slices(x, min_range, max_range, axis)
    one = _Quantizer(T.as_numpy_dtype, mode, round_mode, narrow_range, ensure_minimum_range)
    if axis == -1:
        return one(x, single(min_range, "min_range"), single(max_range, "max_range"))
    if mode == "MIN_FIRST":
        raise errors.unimplemented(
            "MIN_FIRST mode is not implemented for Quantize with axis != -1."
        )
    done, join = _by_slice(x, min_range, max_range, axis, one)
    lows, highs = ([found[i] for found in done] for i in (1, 2))
    if not done:
        return np.zeros(x.shape, T.as_numpy_dtype), min_range, max_range
    if len(done) == 1:  # one slice has scalar limits, as the whole tensor has
        return join([done[0][0]]), np.asarray(lows[0]), np.asarray(highs[0])
    return join([found[0] for found in done]), np.array(lows), np.array(highs)


@quantize_v2_op.shape
def _(c: InferenceContext) -> list[TensorShape]:
    ends = range_shape(c, alike=False)
    return [c.inputs[0], ends, ends]


# --------------------------------------------------------------------------------------- to floats


@register_op(
    "Dequantize",
    "input: T, min_range: float, max_range: float -> output: dtype",
    "T: quantizedtype",
    _MODE,
    "narrow_range: bool = false",
    "axis: int = -1",
    "dtype: {bfloat16, float} = DT_FLOAT",
    **_CPU,
)
def dequantize_op(
    xp: Xp,
    x: Array,
    min_range: Array,
    max_range: Array,
    *,
    mode: str,
    narrow_range: bool,
    axis: int,
    dtype: dtypes.DType,
) -> Array:
    """Return the floats that quantized numbers stand for."""
    check_slices(x, min_range, max_range, axis)
    if mode == "MIN_FIRST" and axis != -1:
        raise errors.unimplemented(
            "MIN_FIRST mode is not implemented for Dequantize with axis != -1."
        )
    if mode != "MIN_COMBINED" and dtype is not dtypes.float32:
        raise errors.invalid_argument(
            f"When output type is bfloat16, Mode string must be 'MIN_COMBINED', is '{mode}'"
        )

    def one(part: Array, low: Array, high: Array) -> Array:
        low, high = np.float32(low), np.float32(high)
        if mode == "MIN_FIRST":
            return dequantized(part, low, high)
        lowest, highest = limits(x.dtype)
        values = part.astype(np.float32)
        if mode == "MIN_COMBINED":
            span = np.float32(highest) - np.float32(lowest)
            scale = np.float32(0) if low == high else (high - low) / span
            half = np.float32((float(highest) - lowest + 1) / 2 if lowest else 0)
            return (values + half) * scale + low
        values = _as_int32(values) if x.dtype == np.int32 else values
        last = high / np.float32(highest)
        scale = max(low / np.float32(lowest + narrow_range), last) if lowest else last
        return values * scale

    if axis == -1:
        return one(x, single(min_range, "min_range"), single(max_range, "max_range")).astype(
            dtype.as_numpy_dtype
        )
    done, join = _by_slice(x, min_range, max_range, axis, one)
    if not done:
        return np.zeros(x.shape, dtype.as_numpy_dtype)
    return join(done).astype(dtype.as_numpy_dtype)


@dequantize_op.shape
def _(c: InferenceContext) -> TensorShape:
    axis = c.attr("axis")
    if axis >= 0 and c.inputs[0].dim_values is None:
        raise ValueError(f"Axis must be less than input dimension(-1), got {axis}")
    range_shape(c, alike=False)
    return c.inputs[0]


# ------------------------------------------------------------------- to another range or type

_RANGE_OUT = "output_min: float, output_max: float"
_INPUT_RANGE = "input: Tinput, input_min: float, input_max: float"


def _used_range(x: Array, low: Array, high: Array) -> tuple[np.float32, np.float32]:
    """Return the floats of the smallest number, or zero, and of the largest."""
    lowest, highest = limits(x.dtype)
    least = int(x.min()) if x.size else highest
    most = int(x.max()) if x.size else lowest
    return (
        min(np.float32(0), float_of(least, low, high, x.dtype)),
        float_of(most, low, high, x.dtype),
    )


@register_op(
    "Requantize",
    _INPUT_RANGE + ", requested_output_min: float, requested_output_max: float -> "
    "output: out_type, " + _RANGE_OUT,
    "Tinput: quantizedtype",
    "out_type: quantizedtype",
    shape=lambda c: with_scalar_range(c, c.inputs[0], 1),
    **_CPU,
)
def requantize(
    xp: Xp,
    x: Array,
    input_min: Array,
    input_max: Array,
    requested_min: Array,
    requested_max: Array,
    *,
    out_type: dtypes.DType,
) -> Outputs:
    """Return quantized numbers of a given type and range that stand for the same floats."""
    old = number_of(input_min, "input_min"), number_of(input_max, "input_max")
    low = number_of(requested_min, "requested_output_min")
    high = number_of(requested_max, "requested_output_max")
    if not low <= 0:
        raise errors.invalid_argument(f"requested_output_min must be <= 0, but got {low:g}")
    if not high >= low:
        raise errors.invalid_argument(
            f"requested_output_max must be >= requested_output_min, but got {high:g} and {low:g}"
        )
    return requantized(x, old, (low, high), out_type.as_numpy_dtype), low, high


def _two_scalars(c: InferenceContext) -> list[TensorShape]:
    scalar_ranges(c, 1)
    return [SCALAR_SHAPE, SCALAR_SHAPE]


@register_op(
    "RequantizationRange",
    _INPUT_RANGE + " -> " + _RANGE_OUT,
    "Tinput: quantizedtype",
    shape=_two_scalars,
    **_CPU,
)
def requantization_range(xp: Xp, x: Array, input_min: Array, input_max: Array) -> Outputs:
    """Return the range of the floats that occur, extended to contain zero."""
    return _used_range(x, single(input_min, "input_min"), single(input_max, "input_max"))


@register_op(
    "QuantizeDownAndShrinkRange",
    _INPUT_RANGE + " -> output: out_type, " + _RANGE_OUT,
    "Tinput: quantizedtype",
    "out_type: quantizedtype",
    shape=lambda c: with_scalar_range(c, c.inputs[0], 1),
    **_CPU,
)
def quantize_down_and_shrink_range(
    xp: Xp, x: Array, input_min: Array, input_max: Array, *, out_type: dtypes.DType
) -> Outputs:
    """Return quantized numbers of a smaller type, whose range is that of the floats that occur."""
    old = number_of(input_min, "input_min"), number_of(input_max, "input_max")
    new = _used_range(x, *old)
    return requantized(x, old, new, out_type.as_numpy_dtype), *new


# ----------------------------------------------------------------------------------- per channel


def _check_channels(x: Array, low: Array, high: Array) -> None:
    if x.ndim != 4:
        raise errors.invalid_argument(
            "Current RequantizePerChannel operator supports 4D tensors only; the input must be in "
            f"NHWC format, not of rank {x.ndim}"
        )
    for name, value in (("input_min", low), ("input_max", high)):
        if value.size != x.shape[-1]:
            raise errors.invalid_argument(
                f"{name} has incorrect size, expected {x.shape[-1]} was {value.size}"
            )


def _widest(low: Array, high: Array) -> Array:
    low, high = (np.abs(end).astype(np.float32).ravel() for end in (low, high))
    return np.where(low < high, high, low)


@register_op(
    "RequantizePerChannel",
    "input: T, input_min: float, input_max: float, requested_output_min: float, "
    "requested_output_max: float -> output: out_type, output_min: float, output_max: float",
    "T: quantizedtype = DT_QINT32",
    "out_type: quantizedtype = DT_QUINT8",
    **_CPU,
)
def requantize_per_channel(
    xp: Xp,
    x: Array,
    input_min: Array,
    input_max: Array,
    requested_min: Array,
    requested_max: Array,
    *,
    out_type: dtypes.DType,
) -> Outputs:
    """Return numbers with a range per channel (the last dimension) as numbers with one range."""
    _check_channels(x, input_min, input_max)
    low = single(requested_min, "requested_output_min")
    high = single(requested_max, "requested_output_max")
    dtype = out_type.as_numpy_dtype
    if limits(dtype)[0] < 0 and not low < 0:
        raise errors.invalid_argument(
            f"If out_type is QINT8, requested_output_max must be non negative, got {low}"
        )
    factor = np.float32(limits(dtype)[1])
    wanted = max(abs(low), abs(high))
    scales = factor * (_widest(input_min, input_max) / wanted / np.float32(2.0**31))
    numbers = np.rint(x.astype(np.float32) * scales)
    lowest, highest = limits(dtype)
    return np.minimum(np.fmax(numbers, lowest), highest).astype(dtype), low, high


@requantize_per_channel.shape
def _(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(1, 1)
    c.with_rank(2, 1)
    require_rank(c.inputs[3], 0)
    require_rank(c.inputs[4], 0)
    return [c.inputs[0], SCALAR_SHAPE, SCALAR_SHAPE]


@register_op(
    "RequantizationRangePerChannel",
    "input: T, input_min: float, input_max: float -> output_min: float, output_max: float",
    "T: quantizedtype = DT_QINT32",
    "clip_value_max: float",
    **_CPU,
)
def requantization_range_per_channel(
    xp: Xp, x: Array, input_min: Array, input_max: Array, *, clip_value_max: float
) -> Outputs:
    """Return one range for all channels: that of the floats that occur, limited by a clip value."""
    _check_channels(x, input_min, input_max)
    if not (input_min.ndim and input_max.ndim):
        raise errors.invalid_argument("input_min and input_max have incorrect size: no vectors")
    rows = x.reshape(-1, x.shape[-1])
    # The ends are converted through float to int32, where the largest number becomes the lowest
    # one; that one is its own absolute value and counts as the larger one.
    ends = _as_int32(np.stack([rows.min(axis=0), rows.max(axis=0)]).astype(np.float32))
    far = np.abs(ends).max(axis=0)
    far = np.where(far < 2.0**31, far, -far)
    ranges = _widest(input_min, input_max) * far / np.float32(2.0**31)
    widest = np.fmax.reduce(ranges, initial=np.finfo(np.float32).tiny)
    high = min(widest, np.float32(clip_value_max))
    return (-high if ends[0].min(initial=0) < 0 else np.float32(0)), high


@requantization_range_per_channel.shape
def _(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(1, 1)
    c.with_rank(2, 1)
    return [SCALAR_SHAPE, SCALAR_SHAPE]


# ------------------------------------------------------------------------------ functions of users


def axis_of(x: TensorLike, axis: int | None) -> int:
    """Return the attr for an axis of a tensor, counted from its end if negative; -1 for none.

    Raises:
      ValueError: the axis is negative and the rank of the tensor is unknown.
    """
    if axis is None:
        return -1
    if axis >= 0:
        return axis
    if x.shape.ndims is None:
        raise ValueError("input should have known rank to use negative axis.")
    return int(axis % x.shape.ndims)


def quantize_v2(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> TensorResult:
    """Return the results of ``tf.quantization.quantize``; the arguments have their older order.

    Raises:
      ValueError: the axis is negative and the rank of the tensor is unknown.
    """
    if axis is not None and axis < 0:
        input = convert_to_tensor(input, dtypes.float32)
    return quantize_v2_op(
        input,
        min_range,
        max_range,
        T=T,
        mode=mode,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=axis_of(input, axis),
        ensure_minimum_range=ensure_minimum_range,
        name=name,
    )


def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> TensorResult:
    """Return floats as quantized numbers.

    Args:
      input: a float32 tensor.
      min_range: the smallest float of the range: a scalar, or a vector with one per slice.
      max_range: the largest float of the range.
      T: a quantized dtype.
      mode: MIN_COMBINED, MIN_FIRST or SCALED.
      round_mode: HALF_AWAY_FROM_ZERO or, with SCALED, HALF_TO_EVEN.
      name: the name of the op.
      narrow_range: with SCALED, whether to exclude the lowest integer.
      axis: the dimension whose slices have separate ranges.
      ensure_minimum_range: the minimum width of the range, relative to its larger end.

    Returns:
      (output, output_min, output_max): the last two are the range of the numbers.

    Raises:
      ValueError: the axis is negative and the rank of the tensor is unknown.
    """
    return quantize_v2(
        input,
        min_range,
        max_range,
        T,
        mode=mode,
        round_mode=round_mode,
        name=name,
        narrow_range=narrow_range,
        axis=axis,
        ensure_minimum_range=ensure_minimum_range,
    )


def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: DTypeLike = dtypes.float32,
) -> TensorResult:
    """Return the floats that quantized numbers stand for.

    The arguments are those of ``tf.quantization.quantize``.

    Raises:
      ValueError: the axis is negative and the rank of the tensor is unknown.
    """
    return dequantize_op(
        input,
        min_range,
        max_range,
        mode=mode,
        narrow_range=narrow_range,
        axis=axis_of(input, axis),
        dtype=dtype,
        name=name,
    )
