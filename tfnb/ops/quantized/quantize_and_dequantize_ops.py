"""Floats rounded as if they had been quantized: QuantizeAndDequantize and later versions.

Corresponds to TensorFlow's ``quantize_and_dequantize_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_shapes, unchanged_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.ops.base.broadcasting import require_same_shape
from tfnb.ops.quantized.quantization_ops import axis_of, range_shape

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "quantization": ["quantize_and_dequantize", "quantize_and_dequantize_v2"],
}

_T = "T: {bfloat16, half, float, double}"
_SIGNED = "signed_input: bool = true"
_BITS = "num_bits: int = 8"
_ROUND = "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'"
_NARROW = "narrow_range: bool = false"
_AXIS = "axis: int = -1"


def _ends_like_input(c: InferenceContext) -> TensorShape:
    range_shape(c)
    return c.inputs[0]


def _check_range(x: Array, low: Array, high: Array, axis: int, given: bool, scalars: bool) -> None:
    if axis < -1:
        raise errors.invalid_argument(f"Axis must be at least -1. Found {axis}")
    if axis != -1 and axis >= x.ndim:
        raise errors.invalid_argument(
            f"Shape must be at least rank {axis + 1} but is rank {x.ndim}"
        )
    if not given:
        return
    for name, value in (("input_min", low), ("input_max", high)):
        if (scalars or axis == -1) and value.ndim:
            raise errors.invalid_argument(
                f"{name} must be a scalar, but its rank is {value.ndim}. QuantizeAndDequantizeV3 "
                "accepts a range for each slice along an axis"
            )
        if axis != -1 and value.ndim != 1:
            raise errors.invalid_argument(
                f"Shape must be rank 1 for {name}_tensor when the axis is specified"
            )
        if axis != -1 and value.size != x.shape[axis]:
            raise errors.invalid_argument(
                f"{name} has incorrect size, expected {x.shape[axis]} was {value.size}"
            )
    if axis == -1 and not low <= high:
        raise errors.invalid_argument(f"Invalid range: input_min {low} > input_max {high}")


def _rounded(
    xp: Xp,
    x: Array,
    low: Array,
    high: Array,
    *,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    round_mode: str = "HALF_TO_EVEN",
    narrow_range: bool = False,
    axis: int = -1,
    scalars: bool = True,
) -> Array:
    """Return the nearest level of each number; zero is one of the levels."""
    if not 0 < num_bits < (62 if signed_input else 63):
        raise errors.invalid_argument(
            f"num_bits is out of range: {num_bits} with signed_input {str(signed_input).lower()}"
        )
    _check_range(x, low, high, axis, range_given, scalars)
    scalar = x.dtype.type
    if not x.size:
        return x
    if not range_given:
        others = tuple(a for a in range(x.ndim) if a != axis)
        low, high = x.min(axis=others), x.max(axis=others)
    if signed_input:
        least, most = -(1 << (num_bits - 1)), (1 << (num_bits - 1)) - 1
        least += narrow_range
    else:
        least, most = 0, (1 << num_bits) - 1
    first, last, largest = scalar(least), scalar(most), scalar(np.finfo(x.dtype).max)
    down = xp.where(first * low > 0, first / low, largest)
    up = xp.where(last * high > 0, last / high, largest)
    by_low = down < up
    scale = xp.where(by_low, down, up).astype(x.dtype)
    inverse = xp.where(by_low, low / first, high / last).astype(x.dtype)
    if range_given:
        high = xp.where(by_low, last * inverse, high).astype(x.dtype)
        low = xp.where(by_low, low, first * inverse).astype(x.dtype)
    if axis != -1:
        place = (-1, *(1,) * (x.ndim - axis - 1))
        scale, inverse = scale.reshape(place), inverse.reshape(place)
        if range_given:
            low, high = low.reshape(place), high.reshape(place)
    if range_given:
        x = xp.maximum(xp.minimum(x, high), low)
    places = x * scale
    levels = xp.floor(places + scalar(0.5)) if round_mode == "HALF_UP" else xp.rint(places)
    return levels * inverse


@register_op(
    "QuantizeAndDequantize",
    "input: T -> output: T",
    _SIGNED,
    _BITS,
    "range_given: bool = false",
    "input_min: float = 0",
    "input_max: float = 0",
    _T,
    shape=unchanged_shape,
    deprecated=(22, "Replaced by QuantizeAndDequantizeV2"),
)
def quantize_and_dequantize_op(
    xp: Xp,
    x: Array,
    *,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    input_min: float,
    input_max: float,
) -> Array:
    """Round to the levels of a range, which is an attribute or that of the numbers."""
    low, high = (np.asarray(end, x.dtype) for end in (input_min, input_max))
    return _rounded(
        xp, x, low, high, signed_input=signed_input, num_bits=num_bits, range_given=range_given
    )


@quantize_and_dequantize_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad


_RANGE = "input: T, input_min: T, input_max: T"
_ATTRS = (_SIGNED, _BITS, "range_given: bool = false", _T, _ROUND, _NARROW, _AXIS)


@register_op(
    "QuantizeAndDequantizeV2",
    _RANGE + " -> output: T",
    *_ATTRS,
    shape=_ends_like_input,
)
def quantize_and_dequantize_v2_op(
    xp: Xp,
    x: Array,
    input_min: Array,
    input_max: Array,
    *,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    round_mode: str,
    narrow_range: bool,
    axis: int,
) -> Array:
    """Round to the levels of a range, or of one per slice; gradients pass unchanged."""
    return _rounded(
        xp,
        x,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=axis,
    )


@quantize_and_dequantize_v2_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad, None, None


@register_op(
    "QuantizeAndDequantizeV3",
    _RANGE + ", num_bits: int32 -> output: T",
    _SIGNED,
    "range_given: bool = true",
    _T,
    _NARROW,
    _AXIS,
    shape=lambda c: (c.with_rank(3, 0), _ends_like_input(c))[1],
    host_memory=("num_bits",),
)
def quantize_and_dequantize_v3(
    xp: Xp,
    x: Array,
    input_min: Array,
    input_max: Array,
    num_bits: Array,
    *,
    signed_input: bool,
    range_given: bool,
    narrow_range: bool,
    axis: int,
) -> Array:
    """Round as QuantizeAndDequantizeV2 does; the number of bits is an input."""
    if axis >= x.ndim or not x.ndim:
        raise errors.invalid_argument(
            f"Axis requested is larger than input dimensions. Axis: {axis} Input Dimensions: "
            f"{x.ndim}"
        )
    if axis == -1 and range_given:
        input_min, input_max = (
            end.reshape(()) if end.size == 1 else end for end in (input_min, input_max)
        )
    if num_bits.ndim:
        raise errors.invalid_argument(
            f"Invalid shape: The `num_bits` tensor should be a scalar. Got dimensions: "
            f"{num_bits.ndim}"
        )
    return _rounded(
        xp,
        x,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=int(num_bits.reshape(())),
        range_given=range_given,
        narrow_range=narrow_range,
        axis=axis,
        scalars=False,
    )


@quantize_and_dequantize_v3.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad, None, None, None


@register_op(
    "QuantizeAndDequantizeV4",
    _RANGE + " -> output: T",
    *_ATTRS,
    shape=_ends_like_input,
)
def quantize_and_dequantize_v4(
    xp: Xp,
    x: Array,
    input_min: Array,
    input_max: Array,
    *,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    round_mode: str,
    narrow_range: bool,
    axis: int,
) -> Array:
    """Round as QuantizeAndDequantizeV2 does; numbers outside the range have no gradient."""
    return _rounded(
        xp,
        x,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=axis,
    )


@quantize_and_dequantize_v4.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return quantize_and_dequantize_v4_grad(grad, *op.inputs, axis=op.get_attr("axis"))


@register_op(
    "QuantizeAndDequantizeV4Grad",
    "gradients: T, input: T, input_min: T, input_max: T -> input_backprop: T, "
    "input_min_backprop: T, input_max_backprop: T",
    _T,
    _AXIS,
)
def quantize_and_dequantize_v4_grad(
    xp: Xp, gradients: Array, x: Array, input_min: Array, input_max: Array, *, axis: int
) -> Outputs:
    """Return the gradients of numbers in the range; as in TensorFlow, its limits get zeros."""
    require_same_shape("QuantizeAndDequantizeV4Grad", gradients, x)
    depth = 1 if axis == -1 else x.shape[axis]
    for name, value in (("input_min", input_min), ("input_max", input_max)):
        if value.ndim != (0 if axis == -1 else 1) or value.size != depth:
            raise errors.invalid_argument(
                f"{name} has incorrect size, expected {depth} was {value.size} "
                f"(of rank {value.ndim})"
            )
    low, high = input_min, input_max
    if axis != -1:
        place = (-1, *(1,) * (x.ndim - axis - 1))
        low, high = low.reshape(place), high.reshape(place)
    inside = (x >= low) & (x <= high)
    return (
        gradients * inside.astype(gradients.dtype),
        xp.zeros_like(input_min),
        xp.zeros_like(input_max),
    )


@quantize_and_dequantize_v4_grad.shape
def _(c: InferenceContext) -> list[TensorShape]:
    ends = range_shape(c, 1)
    return [merge_shapes(c.inputs[0], c.inputs[1]), ends, ends]


# ------------------------------------------------------------------------------ functions of users


def quantize_and_dequantize(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> TensorResult:
    """Return floats rounded to the levels that quantized numbers could stand for.

    Gradients pass unchanged, even for numbers outside the range.

    Args:
      input: a float tensor.
      input_min: the smallest number of the range, if ``range_given``: a scalar.
      input_max: the largest number of the range.
      signed_input: whether the levels are those of signed integers.
      num_bits: the number of bits of these integers.
      range_given: if False, the range is that of the numbers themselves.
      round_mode: HALF_TO_EVEN or HALF_UP.
      name: the name of the op.
      narrow_range: whether to exclude the lowest level.
      axis: the dimension whose slices have separate ranges. As in TensorFlow, given ranges are
        refused with an axis; ``tf.raw_ops.QuantizeAndDequantizeV3`` takes both.

    Raises:
      ValueError: the axis is negative and the rank of the tensor is unknown.
    """
    input = convert_to_tensor(input)
    return quantize_and_dequantize_v2_op(
        input,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=axis_of(input, axis),
        name=name,
    )


def quantize_and_dequantize_v2(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> TensorResult:
    """Round as ``tf.quantization.quantize_and_dequantize``; numbers out of range get no gradient.

    Raises:
      ValueError: the axis is negative and the rank of the tensor is unknown.
    """
    input = convert_to_tensor(input)
    return quantize_and_dequantize_v4(
        input,
        input_min=input_min,
        input_max=input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=axis_of(input, axis),
        name=name,
    )
