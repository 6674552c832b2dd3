"""Fake quantization: floats rounded like integers of few bits, and the gradients.

The range [min, max] is shifted slightly, so that zero is one of the levels. Corresponds to
TensorFlow's ``fake_quant_ops.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_dims, merge_shapes, unchanged_shape
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import require_same_shape, shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

_NAMES = [
    "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
]  # fmt: skip
EXPORTS = {"tf": _NAMES, "quantization": _NAMES}

_ARGS = ("min: float = -6", "max: float = 6")
_LEVELS = ("num_bits: int = 8", "narrow_range: bool = false")


class _Range:
    """The shifted range: float32 numbers, or vectors with one number per channel."""

    def __init__(self, xp: Xp, low: Array, high: Array, num_bits: int, narrow_range: bool) -> None:
        if not 2 <= num_bits <= 16:
            raise errors.invalid_argument(
                f"num_bits must be between 2 and 16, inclusive: {num_bits}"
            )
        low, high = xp.asarray(low, np.float32), xp.asarray(high, np.float32)
        first = np.float32(1 if narrow_range else 0)
        last = np.float32((1 << num_bits) - 1)
        self.scale = (high - low) / (last - first)
        place = first - low / self.scale
        # If the range is infinite the level is NaN, which becomes 0 as an integer.
        level = xp.where(place == place, xp.floor(place + np.float32(0.5)), np.float32(0))
        zero = xp.where(place < first, first, xp.where(place > last, last, level))
        self.low = (first - zero) * self.scale
        self.high = (last - zero) * self.scale

    def rounded(self, xp: Xp, x: Array) -> Array:
        """Return the nearest level of each number."""
        inverse = np.float32(1) / self.scale
        shifted = xp.maximum(xp.minimum(x, self.high), self.low) - self.low
        levels = xp.floor(shifted * inverse + np.float32(0.5))
        return (levels * self.scale + self.low).astype(np.float32)

    def holds(self, x: Array) -> Array:
        """Return whether each number is in the range."""
        return (x >= self.low) & (x <= self.high)


def _check_limits(low: float, high: float) -> None:
    if low >= high:
        raise errors.invalid_argument(f"min has to be smaller than max, was: {low} >= {high}")


@register_op(
    "FakeQuantWithMinMaxArgs",
    "inputs: float -> outputs: float",
    *_ARGS,
    *_LEVELS,
    shape=unchanged_shape,
)
def fake_quant_with_min_max_args(
    xp: Xp, inputs: Array, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Array:
    """Round to the levels of a fixed range."""
    _check_limits(min, max)
    return _Range(xp, min, max, num_bits, narrow_range).rounded(xp, inputs)


@register_op(
    "FakeQuantWithMinMaxArgsGradient",
    "gradients: float, inputs: float -> backprops: float",
    *_ARGS,
    *_LEVELS,
    shape=unchanged_shape,
)
def fake_quant_with_min_max_args_gradient(
    xp: Xp,
    gradients: Array,
    inputs: Array,
    *,
    min: float,
    max: float,
    num_bits: int,
    narrow_range: bool,
) -> Array:
    """Return the gradients of the inputs that are in the range."""
    require_same_shape("FakeQuantWithMinMaxArgsGradient", gradients, inputs)
    _check_limits(min, max)
    held = _Range(xp, min, max, num_bits, narrow_range).holds(inputs)
    return gradients * held.astype(np.float32)


fake_quant_with_min_max_args_gradient.not_differentiable()


def _levels(op: Operation) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ("num_bits", "narrow_range")}


@fake_quant_with_min_max_args.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    limits = {name: op.get_attr(name) for name in ("min", "max")}
    return fake_quant_with_min_max_args_gradient(grad, op.inputs[0], **limits, **_levels(op))


# ---------------------------------------------------------------------- with the range as an input


def _vars_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 0)
    c.with_rank(2, 0)
    return c.inputs[0]


def _vars_gradient_shape(c: InferenceContext) -> list[TensorShape]:
    inputs = merge_shapes(c.inputs[0], c.inputs[1])
    low = merge_shapes(c.with_rank(2, 0), c.with_rank(3, 0))
    return [inputs, low, low]


def _scalar(value: Array, name: str) -> Array:
    if value.ndim:
        raise errors.invalid_argument(f"`{name}` must be rank 0 but is rank {value.ndim}")
    return value


@register_op(
    "FakeQuantWithMinMaxVars",
    "inputs: float, min: float, max: float -> outputs: float",
    *_LEVELS,
    shape=_vars_shape,
    devices=("CPU",),
)
def fake_quant_with_min_max_vars(
    xp: Xp, inputs: Array, low: Array, high: Array, *, num_bits: int, narrow_range: bool
) -> Array:
    """Round to the levels of a trainable range; an empty range at zero gives zeros."""
    low, high = _scalar(low, "min"), _scalar(high, "max")
    if low == 0 and high == 0:
        return np.zeros(inputs.shape, np.float32)
    return _Range(xp, low, high, num_bits, narrow_range).rounded(xp, inputs)


@register_op(
    "FakeQuantWithMinMaxVarsGradient",
    "gradients: float, inputs: float, min: float, max: float -> backprops_wrt_input: float, "
    "backprop_wrt_min: float, backprop_wrt_max: float",
    *_LEVELS,
    shape=_vars_gradient_shape,
    devices=("CPU",),
)
def fake_quant_with_min_max_vars_gradient(
    xp: Xp,
    gradients: Array,
    inputs: Array,
    low: Array,
    high: Array,
    *,
    num_bits: int,
    narrow_range: bool,
) -> Outputs:
    """Return the gradients: those of inputs out of range go to the nearer limit."""
    require_same_shape("FakeQuantWithMinMaxVarsGradient", gradients, inputs)
    low, high = _scalar(low, "min"), _scalar(high, "max")
    if low == 0 and high == 0:
        return gradients, np.float32(0), np.float32(0)
    moved = _Range(xp, low, high, num_bits, narrow_range)
    return (
        gradients * moved.holds(inputs).astype(np.float32),
        np.float32((gradients * (inputs < moved.low).astype(np.float32)).sum()),
        np.float32((gradients * (inputs > moved.high).astype(np.float32)).sum()),
    )


fake_quant_with_min_max_vars_gradient.not_differentiable()


@fake_quant_with_min_max_vars.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return fake_quant_with_min_max_vars_gradient(grad, *op.inputs, **_levels(op))


# ------------------------------------------------------------------------- a range per channel


def _channels_shape(c: InferenceContext, index: int) -> tuple[TensorShape, TensorShape]:
    dims = c.with_rank_at_least(index, 1).dim_values
    low = merge_shapes(c.with_rank(index + 1, 1), c.with_rank(index + 2, 1))
    assert low.dim_values is not None
    last = None if dims is None else dims[-1]
    channels = merge_dims(last, low.dim_values[0])
    if dims is None:
        return c.inputs[index], TensorShape([channels])
    return TensorShape([*dims[:-1], channels]), TensorShape([channels])


def _channels_gradient_shape(c: InferenceContext) -> list[TensorShape]:
    inputs, channels = _channels_shape(c, 1)
    return [merge_shapes(c.inputs[0], inputs), channels, channels]


def _check_channels(inputs: Array, low: Array, high: Array) -> None:
    for name, value in (("min", low), ("max", high)):
        if value.ndim != 1:
            raise errors.invalid_argument(f"`{name}` must be rank 1 but is rank {value.ndim}")
        if inputs.ndim < 1 or value.shape[0] != inputs.shape[-1]:
            raise errors.invalid_argument(
                f"{name} has incorrect size, expected {shape_text(inputs.shape[-1:])} was "
                f"{value.shape[0]}"
            )


@register_op(
    "FakeQuantWithMinMaxVarsPerChannel",
    "inputs: float, min: float, max: float -> outputs: float",
    *_LEVELS,
    shape=lambda c: _channels_shape(c, 0)[0],
    devices=("CPU",),
)
def fake_quant_with_min_max_vars_per_channel(
    xp: Xp, inputs: Array, low: Array, high: Array, *, num_bits: int, narrow_range: bool
) -> Array:
    """Round each channel (the last dimension) to the levels of its own range."""
    _check_channels(inputs, low, high)
    result = _Range(xp, low, high, num_bits, narrow_range).rounded(xp, inputs)
    return np.where((low == 0) & (high == 0), np.float32(0), result)


@register_op(
    "FakeQuantWithMinMaxVarsPerChannelGradient",
    "gradients: float, inputs: float, min: float, max: float -> backprops_wrt_input: float, "
    "backprop_wrt_min: float, backprop_wrt_max: float",
    *_LEVELS,
    shape=_channels_gradient_shape,
    devices=("CPU",),
)
def fake_quant_with_min_max_vars_per_channel_gradient(
    xp: Xp,
    gradients: Array,
    inputs: Array,
    low: Array,
    high: Array,
    *,
    num_bits: int,
    narrow_range: bool,
) -> Outputs:
    """Return the gradients as for one range, channel by channel."""
    require_same_shape("FakeQuantWithMinMaxVarsPerChannelGradient", gradients, inputs)
    _check_channels(inputs, low, high)
    moved = _Range(xp, low, high, num_bits, narrow_range)
    is_empty = (low == 0) & (high == 0)
    axes = tuple(range(inputs.ndim - 1))
    to_low = gradients * (inputs < moved.low).astype(np.float32)
    to_high = gradients * (inputs > moved.high).astype(np.float32)
    return (
        gradients * (moved.holds(inputs) | is_empty).astype(np.float32),
        *(
            np.where(is_empty, np.float32(0), to.sum(axis=axes, dtype=np.float32))
            for to in (to_low, to_high)
        ),
    )


fake_quant_with_min_max_vars_per_channel_gradient.not_differentiable()


@fake_quant_with_min_max_vars_per_channel.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return fake_quant_with_min_max_vars_per_channel_gradient(grad, *op.inputs, **_levels(op))
