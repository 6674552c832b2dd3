"""The public functions of convolution within channels, and separable convolutions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.nn.convolution import conv2d
from tfnb.library.nn.dilated_windows import with_space_to_batch
from tfnb.ops.array import array_ops
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.conv.conv_ops import (
    depthwise_conv2d_native_backprop_filter_op,
    depthwise_conv2d_native_backprop_input_op,
    depthwise_conv2d_native_op,
)
from tfnb.ops.conv.window_arguments import convert_padding

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import IntsLike, PaddingLike, TensorLike, TensorResult

EXPORTS = {
    "nn": [
        "depthwise_conv2d",
        "depthwise_conv2d_backprop_filter:depthwise_conv2d_native_backprop_filter",
        "depthwise_conv2d_backprop_input:depthwise_conv2d_native_backprop_input",
        "depthwise_conv2d_native", "depthwise_conv2d_native_backprop_filter",
        "depthwise_conv2d_native_backprop_input", "separable_conv2d",
    ],
}  # fmt: skip


def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NHWC",
    dilations: IntsLike = (1, 1, 1, 1),
    name: str | None = None,
) -> TensorResult:
    """Convolve every channel with filters of its own."""
    padding, explicit = convert_padding(padding)
    return depthwise_conv2d_native_op(
        input,
        filter,
        strides=list(strides),
        padding=padding,
        explicit_paddings=explicit,
        data_format=data_format or "NHWC",
        dilations=list(dilations),
        name=name,
    )


def depthwise_conv2d_native_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    dilations: IntsLike = (1, 1, 1, 1),
    name: str | None = None,
) -> TensorResult:
    """Return the gradient of depthwise_conv2d_native with respect to the input."""
    padding, explicit = convert_padding(padding)
    return depthwise_conv2d_native_backprop_input_op(
        input_sizes,
        filter,
        out_backprop,
        strides=list(strides),
        padding=padding,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


def depthwise_conv2d_native_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    dilations: IntsLike = (1, 1, 1, 1),
    name: str | None = None,
) -> TensorResult:
    """Return the gradient of depthwise_conv2d_native with respect to the filter."""
    padding, explicit = convert_padding(padding)
    return depthwise_conv2d_native_backprop_filter_op(
        input,
        filter_sizes,
        out_backprop,
        strides=list(strides),
        padding=padding,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: IntsLike,
    padding: PaddingLike,
    rate: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> TensorResult:
    """Convolve every channel with filters of its own, whose cells may be `rate` apart."""
    rate = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        filter = convert_to_tensor(filter, name="filter_in")
        rate = [1, 1] if rate is None else rate
        if any(r > 1 for r in rate) and any(s != 1 for s in strides):
            warnings.warn(
                "When dilation rate is greater than 1, then all values of strides must be 1. "
                f"Received: `dilation rate` {rate} and `strides` {strides}",
                stacklevel=2,
            )

        def op(
            x: TensorLike, num_spatial_dims: int, converted_padding: PaddingLike
        ) -> TensorResult:
            return depthwise_conv2d_native(
                x, filter, strides, converted_padding, data_format=data_format, name=scope
            )

        return with_space_to_batch(
            input,
            rate,
            padding,
            op,
            filter_shape=array_ops.shape(filter),
            data_format=data_format,
        )


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: IntsLike,
    padding: PaddingLike,
    rate: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> TensorResult:
    """Return a depthwise convolution, then one that mixes the channels of each cell."""
    rate = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        shape = pointwise_filter.shape.with_rank(4)
        shape.dims[0].assert_is_compatible_with(1)
        shape.dims[1].assert_is_compatible_with(1)

        def op(
            x: TensorLike, num_spatial_dims: int, converted_padding: PaddingLike
        ) -> TensorResult:
            return depthwise_conv2d_native(
                x,
                depthwise_filter,
                strides,
                converted_padding,
                data_format=data_format,
                name="depthwise",
            )

        depthwise = with_space_to_batch(
            input,
            [1, 1] if rate is None else rate,
            padding,
            op,
            filter_shape=array_ops.shape(depthwise_filter),
            data_format=data_format,
        )
        return conv2d(
            depthwise,
            pointwise_filter,
            [1, 1, 1, 1],
            padding="VALID",
            data_format=data_format,
            name=scope,
        )
