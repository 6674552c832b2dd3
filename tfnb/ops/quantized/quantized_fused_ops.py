"""Convolutions of quantized numbers fused with the ops after them, as CPU graphs contain them.

Here a number stands for a multiple of one step: 0 for zero, the highest integer for the range limit
that is farther from zero. A filter may have a range per output channel. Sums of products are qint32
numbers; a float bias is converted to their step; ``Requantize`` converts them to the step of a
range that was measured before. Corresponds to the kernels of TensorFlow's ``mkl_conv_ops.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.quantized_values import single
from tfnb.ops.conv import conv_kernels
from tfnb.ops.conv.windows import output_dim, window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.kernel_types import Array, Outputs
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.tensor_types import TensorLike
    from tfnb.ops.conv.windows import Window

_RANGES = "min_input: float, max_input: float, min_filter: float, max_filter: float"
_FROZEN = ", min_freezed_output: float, max_freezed_output: float"
_OUT = " -> output: out_type, min_output: float, max_output: float"
_SPATIAL = (
    "strides: list(int)",
    "padding: {'SAME', 'VALID'}",
    "dilations: list(int) = [1, 1, 1, 1]",
)


def _largest(dtype: DTypeLike) -> int:
    return int(np.iinfo(dtype).max)


def _reach(low: TensorLike, high: TensorLike) -> Any:
    """Return the distance from zero to the far limit of a range, or of each of several."""
    return np.maximum(np.abs(low), np.abs(high)).astype(np.float32)


# ------------------------------------------------------------------------------------------- shapes


def _image_shape(c: InferenceContext, is_depthwise: bool) -> TensorShape:
    x, kernel = c.with_rank(0, 4).dim_values, c.with_rank(1, 4).dim_values
    assert x is not None
    assert kernel is not None
    strides, dilations = c.attr("strides"), c.attr("dilations")
    if len(strides) != 4 or len(dilations) != 4:
        raise ValueError("Conv2D requires the stride and dilation attributes to contain 4 values")
    depth = merge_dims(x[3], kernel[2])
    if is_depthwise:
        channels = None if depth is None or kernel[3] is None else depth * kernel[3]
    else:
        channels = kernel[3]
    spatial = [
        output_dim(x[axis], kernel[axis - 1], strides[axis], dilations[axis], c.attr("padding"))
        for axis in (1, 2)
    ]
    return TensorShape([x[0], *spatial, channels])


class _Variant:
    """One of the ops: the ops that follow the convolution, and so the inputs."""

    def __init__(
        self, name: str, *, bias: str = "", relu: bool = False, frozen: bool = False
    ) -> None:
        self.name, self.bias, self.relu, self.frozen = name, bias, relu, frozen
        self.is_depthwise = "Depthwise" in name
        self.per_channel = "PerChannel" in name

    def signature(self) -> str:
        """Return the signature of the op: inputs and outputs."""
        bias = f"bias: {self.bias}, " if self.bias else ""
        frozen = _FROZEN if self.frozen else ""
        return f"input: Tinput, filter: Tfilter, {bias}{_RANGES}{frozen}{_OUT}"

    def shape(self, c: InferenceContext) -> list[TensorShape]:
        """Return the shapes of the numbers and of their range."""
        out = _image_shape(c, self.is_depthwise)
        if self.is_depthwise:
            return [out, UNKNOWN_SHAPE, UNKNOWN_SHAPE]
        first = c.input_range("min_input").start
        c.with_rank(first, 0)
        c.with_rank(first + 1, 0)
        low, high = c.inputs[first + 2], c.inputs[first + 3]
        c.with_rank_at_most(first + 2, 1)
        c.with_rank_at_most(first + 3, 1)
        if self.frozen:
            c.with_rank(first + 4, 0)
            c.with_rank(first + 5, 0)
            return [out, SCALAR_SHAPE, SCALAR_SHAPE]
        return [out, low, high]

    def compute(self, ctx: OpKernelContext, *inputs: Any) -> Any:
        """Compute the op."""
        attrs = ctx.attrs
        if attrs.get("padding_list"):
            raise errors.unimplemented("A convolution with a padding_list is not supported")
        x, kernel, *rest = inputs
        bias = rest.pop(0) if self.bias else None
        range_x = single(rest[0], "min_input"), single(rest[1], "max_input")
        sums, channels = self._sums(x, kernel, attrs)
        low, high = rest[2].reshape(-1), rest[3].reshape(-1)
        for name, ends in (("min_filter", low), ("max_filter", high)):
            if ends.size not in (1, channels):
                raise errors.invalid_argument(
                    f"{name} must be a scalar or have one number per output channel, "
                    f"{channels}, not {ends.size}"
                )
        reach_x, reach_kernel = _reach(*range_x), _reach(low, high)
        top_x, top_kernel = _largest(x.dtype), _largest(kernel.dtype)
        if bias is not None:
            if bias.ndim != 1 or bias.size != channels:
                raise errors.invalid_argument(
                    f"bias must have one number per output channel, {channels}, not "
                    f"{shape_text(bias.shape)}"
                )
            if bias.dtype == np.float32:
                bias = bias * (np.float32(top_x * top_kernel) / (reach_x * reach_kernel))
                if reach_kernel.size == 1 or self.frozen:
                    bias = np.rint(bias)
            sums = sums + bias
        if not self.frozen:
            if reach_kernel.size > 1:  # all channels are converted to the widest one's step
                sums = np.rint(sums * (reach_kernel / reach_kernel.max()))
            if self.relu:
                sums = np.maximum(sums, 0)
            return sums.astype(np.int64).astype(np.int32), *_range_of_sums(
                x.dtype, range_x, rest[2], rest[3]
            )
        frozen = single(rest[4], "min_freezed_output"), single(rest[5], "max_freezed_output")
        dtype = attrs["out_type"].as_numpy_dtype
        scale = (
            np.float32(_largest(dtype)) * reach_x * reach_kernel
            / (np.float32(top_x * top_kernel) * _reach(*frozen))
        )  # fmt: skip
        found = sums.astype(np.float32) * scale
        if self.relu:
            found = np.maximum(found, np.float32(0))
        ends = np.iinfo(dtype)
        return np.clip(np.rint(found), ends.min, ends.max).astype(dtype), *frozen

    def _sums(self, x: TensorLike, kernel: TensorLike, attrs: Any) -> tuple[Any, int]:
        """Return the sums of products, exact in double precision, and the number of channels."""
        strides, dilations = attrs["strides"], attrs["dilations"]
        for name, value in (("input", x), ("filter", kernel)):
            if value.ndim != 4:
                raise errors.invalid_argument(
                    f"{name} must be 4-dimensional: {shape_text(value.shape)}"
                )
        if len(strides) != 4 or strides[0] != 1 or strides[3] != 1:
            raise errors.unimplemented(
                "Current implementation does not yet support strides in the batch and depth "
                "dimensions."
            )
        if x.shape[3] != kernel.shape[2]:
            raise errors.invalid_argument(
                f"input and filter must have the same depth: {x.shape[3]} vs {kernel.shape[2]}"
            )
        padding = attrs["padding"]
        padding = padding.decode() if isinstance(padding, bytes) else padding
        windows = [
            window(x.shape[a], kernel.shape[a - 1], strides[a], dilations[a], padding)
            for a in (1, 2)
        ]
        image, weights = x.astype(np.float64), kernel.astype(np.float64)
        if self.is_depthwise:
            return _depthwise(image, weights, windows), kernel.shape[2] * kernel.shape[3]
        return conv_kernels.forward(np, image, weights, windows), kernel.shape[3]


def _depthwise(x: TensorLike, kernel: TensorLike, windows: Sequence[Window]) -> Any:
    """Return every channel convolved with its own filters."""
    height, width, depth, multiplier = kernel.shape
    grouped = kernel.reshape(height, width, 1, depth * multiplier)
    return conv_kernels.forward(np, x, grouped, windows)


def _range_of_sums(
    dtype: DTypeLike, range_x: tuple[Any, Any], low: TensorLike, high: TensorLike
) -> tuple[Any, Any]:
    """Return the range of qint32 sums of products; a vector where the filter has many."""

    def step(start: TensorLike, end: TensorLike, kind: Any) -> Any:
        info = np.iinfo(kind)
        levels = info.max - max(info.min, -info.max)
        return ((end - start) / np.float32(levels)).astype(np.float32)

    top = np.float32(np.iinfo(np.int32).max)
    found = step(*range_x, dtype) * step(low, high, np.int8) * top
    return np.asarray(-found, np.float32)[()], np.asarray(found, np.float32)[()]


def _register(variant: _Variant, out: str, *, pads: bool) -> OpDefinition:
    attrs = ["Tinput: quantizedtype", "Tfilter: quantizedtype"]
    if variant.bias == "Tbias":
        attrs.append("Tbias: {float, qint32}")
    attrs.append(f"out_type: quantizedtype = DT_{out}")
    if pads:
        attrs += [*_SPATIAL, "padding_list: list(int) = []"]
    else:
        attrs += _SPATIAL

    def kernel(ctx: OpKernelContext, *inputs: Array) -> Outputs:
        return variant.compute(ctx, *inputs)

    kernel.__doc__ = "A convolution of quantized numbers, and what follows it."
    register = register_op(
        variant.name, variant.signature(), *attrs, shape=variant.shape, devices=("CPU",)
    )
    return register(kernel)


# The convolution of QuantizedConv2D (quantized_nn_ops.py), for filters of signed numbers.
SIGNED = _Variant("QuantizedConv2D")

quantized_conv2_d_per_channel = _register(
    _Variant("QuantizedConv2DPerChannel"), "QINT32", pads=False
)
quantized_conv2_d_and_relu = _register(
    _Variant("QuantizedConv2DAndRelu", relu=True), "QINT32", pads=True
)
quantized_conv2_d_with_bias = _register(
    _Variant("QuantizedConv2DWithBias", bias="float"), "QINT32", pads=True
)
quantized_conv2_d_with_bias_and_relu = _register(
    _Variant("QuantizedConv2DWithBiasAndRelu", bias="float", relu=True), "QINT32", pads=True
)
quantized_conv2_d_and_requantize = _register(
    _Variant("QuantizedConv2DAndRequantize", frozen=True), "QINT8", pads=True
)
quantized_conv2_d_and_relu_and_requantize = _register(
    _Variant("QuantizedConv2DAndReluAndRequantize", relu=True, frozen=True), "QUINT8", pads=True
)
quantized_conv2_d_with_bias_and_requantize = _register(
    _Variant("QuantizedConv2DWithBiasAndRequantize", bias="Tbias", frozen=True), "QINT8", pads=True
)
quantized_conv2_d_with_bias_and_relu_and_requantize = _register(
    _Variant("QuantizedConv2DWithBiasAndReluAndRequantize", bias="Tbias", relu=True, frozen=True),
    "QUINT8",
    pads=True,
)
quantized_depthwise_conv2_d = _register(_Variant("QuantizedDepthwiseConv2D"), "QINT32", pads=False)
quantized_depthwise_conv2_d_with_bias = _register(
    _Variant("QuantizedDepthwiseConv2DWithBias", bias="float"), "QINT32", pads=False
)
quantized_depthwise_conv2_d_with_bias_and_relu = _register(
    _Variant("QuantizedDepthwiseConv2DWithBiasAndRelu", bias="float", relu=True),
    "QINT32",
    pads=True,
)
quantized_depthwise_conv2_d_with_bias_and_relu_and_requantize = _register(
    _Variant(
        "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
        bias="Tbias",
        relu=True,
        frozen=True,
    ),
    "QUINT8",
    pads=True,
)
