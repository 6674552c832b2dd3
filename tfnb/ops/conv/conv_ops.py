"""Convolutions in two and three dimensions, depthwise ones, and their gradients: the ops.

The computation is in ``conv_kernels.py`` and ``depthwise_kernels.py``; the functions that users
call are in ``convolution.py``.
Corresponds to TensorFlow's ``conv_ops*.cc``, ``conv_grad_*_ops*.cc`` and ``depthwise_conv_*.cc``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import InferenceContext, merge_dims, merge_shapes, require_rank
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.conv.channels_first import also_channels_first
from tfnb.ops.conv.windows import (
    Window,
    centred,
    channel_axis,
    check_explicit,
    explicit_pairs,
    output_dim,
    spatial_axes,
    window,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_registry import Following
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients
    from tfnb.ops.conv import conv_kernels, depthwise_kernels
else:
    conv_kernels = later("tfnb.ops.conv.conv_kernels", in_step=True)
    depthwise_kernels = later("tfnb.ops.conv.depthwise_kernels", in_step=True)

# ------------------------------------------------------------------------------------------- shapes


def _check_attrs(strides: Sequence[int], dilations: Sequence[int], rank: int, axis: int) -> None:
    if len(strides) != rank:
        raise ValueError(
            f"Conv{rank - 2}D requires the stride attribute to contain {rank} values, but got: "
            f"{len(strides)}"
        )
    if len(dilations) != rank:
        raise ValueError(
            f"Conv{rank - 2}D requires the dilation attribute to contain {rank} values, but got: "
            f"{len(dilations)}"
        )
    if strides[0] != 1 or strides[axis] != 1:
        raise ValueError(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    if dilations[0] != 1 or dilations[axis] != 1:
        raise ValueError(
            "Current implementation does not yet support dilations in the batch and depth "
            "dimensions."
        )


def _conv_shape(c: InferenceContext, rank: int) -> TensorShape:
    data_format = c.attr("data_format")
    strides, dilations = c.attr("strides"), c.attr("dilations")
    axis = channel_axis(data_format, rank)
    x = (require_rank(c.inputs[0], rank)).dim_values
    kernel = (require_rank(c.inputs[1], rank)).dim_values
    assert x is not None
    assert kernel is not None
    if len(strides) != rank or len(dilations) != rank:
        _check_attrs(strides, dilations, rank, axis)
    padding = c.attr("padding")
    check_explicit(c, rank, padding, data_format)
    depth_in, depth_filter = x[axis], kernel[-2]
    if depth_in is not None and depth_filter is not None:
        if depth_filter < 1 or depth_in % depth_filter:
            raise ValueError(
                f"Depth of input ({depth_in}) is not a multiple of input depth of filter "
                f"({depth_filter})"
            )
        groups = depth_in // depth_filter
        if not groups:
            raise ValueError("Number of groups must not be 0")
        if kernel[-1] is not None and kernel[-1] % groups:
            raise ValueError(
                f"Depth of output ({kernel[-1]}) is not a multiple of the number of groups "
                f"({groups})"
            )
    pairs = explicit_pairs(c.attrs.get("explicit_paddings", ()), rank)
    dims: list[int | None] = [x[0]] * rank
    dims[axis] = kernel[-1]
    for position, spatial in enumerate(spatial_axes(data_format, rank)):
        dims[spatial] = output_dim(
            x[spatial],
            kernel[position],
            strides[spatial],
            dilations[spatial],
            padding,
            pairs[spatial],
        )
    return TensorShape(dims)


def _sizes_shape(c: InferenceContext, index: int, rank: int) -> TensorShape:
    """Return the output's shape where an input contains it."""
    return require_rank(c.constant_value_as_shape(index), rank)


# ------------------------------------------------------------------------------------------ kernels


def _windows(
    x_shape: Sequence[int],
    filter_shape: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[int],
) -> Sequence[Window]:
    """Return the windows of the spatial dimensions, channels last."""
    lists = (x_shape, filter_shape, strides, dilations, explicit)
    return _known_windows(padding, *map(tuple, lists))


@lru_cache(maxsize=512)
def _known_windows(
    padding: str,
    x_shape: tuple[int, ...],
    filter_shape: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    explicit: tuple[int, ...],
) -> tuple[Window, ...]:
    rank = len(x_shape)
    pairs = explicit_pairs(explicit, rank)
    return tuple(
        window(
            x_shape[axis],
            filter_shape[axis - 1],
            strides[axis],
            dilations[axis],
            padding,
            pairs[axis],
        )
        for axis in range(1, rank - 1)
    )


def _check_conv(
    x_shape: Sequence[int],
    filter_shape: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    rank: int,
) -> None:
    """Raise the errors of TensorFlow for invalid arguments; the channels come last."""
    try:
        _check_attrs(strides, dilations, rank, rank - 1)
    except ValueError as error:
        raise errors.unimplemented(str(error)) from None
    if len(x_shape) != rank:
        raise errors.invalid_argument(f"input must be {rank}-dimensional: {shape_text(x_shape)}")
    if len(filter_shape) != rank:
        raise errors.invalid_argument(
            f"filter must be {rank}-dimensional: {shape_text(filter_shape)}"
        )


def _check_depth(
    x_shape: Sequence[int], filter_shape: Sequence[int], *, is_gradient: bool = False
) -> None:
    depth_in, depth_filter = x_shape[-1], filter_shape[-2]
    if depth_filter == 0 or depth_in % depth_filter or (is_gradient and not depth_in):
        raise errors.invalid_argument(
            f"input depth must be evenly divisible by filter depth: {depth_in} vs {depth_filter}"
        )
    groups = depth_in // depth_filter
    if is_gradient and filter_shape[-1] % groups:
        raise errors.invalid_argument(
            f"Depth of output ({filter_shape[-1]}) is not a multiple of the number of groups "
            f"({groups})"
        )
    if groups and filter_shape[-1] % groups:
        raise errors.invalid_argument(
            "output depth must be evenly divisible by number of groups: "
            f"{filter_shape[-1]} vs {groups}"
        )


def _check_filter(filter_shape: Sequence[int]) -> None:
    if 0 in filter_shape:
        raise errors.invalid_argument(
            "filter must not have zero elements (i.e. all dimensions must be non-zero)"
        )


def _check_backprop(
    out_backprop: Array, windows: Sequence[Window], batch: int, out_channels: int
) -> None:
    expected = (batch, *(w.output for w in windows), out_channels)
    if out_backprop.shape != expected:
        raise errors.invalid_argument(
            "Conv backprop: Size of out_backprop doesn't match computed: actual = "
            f"{shape_text(out_backprop.shape)}, expected = {shape_text(expected)}"
        )


def _sizes(vector: Array, rank: int, name: str) -> tuple[int, ...]:
    if vector.ndim != 1 or vector.shape[0] != rank:
        raise errors.invalid_argument(
            f"{name} must be a 1-dimensional tensor of {rank} elements, not "
            f"{shape_text(vector.shape)}"
        )
    return tuple(vector.tolist())


# ---------------------------------------------------------------------------------------------- 2-D

_CONV2D_ATTRS = (
    "strides: list(int)",
    "use_cudnn_on_gpu: bool = true",
    "padding: {'SAME', 'VALID', 'EXPLICIT'}",
    "explicit_paddings: list(int) = []",
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
    "dilations: list(int) = [1, 1, 1, 1]",
)


def conv2d_attrs(op: Operation) -> dict[str, Any]:
    """Return the attrs that a convolution shares with its gradients."""
    return {
        name: op.get_attr(name)
        for name in (
            "strides", "use_cudnn_on_gpu", "padding", "explicit_paddings", "data_format",
            "dilations",
        )
    }  # fmt: skip


@register_op(
    "Conv2D",
    "input: T, filter: T -> output: T",
    "T: {half, bfloat16, float, double, int32}",
    *_CONV2D_ATTRS,
    shape=lambda c: _conv_shape(c, 4),
    traits="product",
)
def conv2d_op(
    xp: Xp,
    x: Array,
    kernel: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array:
    """Return the sum over a sliding window of input times filter, per pair of channels."""
    windows = _placed(x, kernel, strides, padding, explicit_paddings, dilations)
    return conv_kernels.forward(xp, x, kernel, windows)


def _placed(
    x: Array,
    kernel: Array,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Sequence[Window]:
    """Return the windows of a convolution; raise the errors of TensorFlow."""
    _check_conv(x.shape, kernel.shape, strides, dilations, 4)
    _check_depth(x.shape, kernel.shape)
    windows = _windows(x.shape, kernel.shape, strides, dilations, padding, explicit_paddings)
    if not kernel.size and x.shape[0] and kernel.shape[-1] and all(w.output for w in windows):
        _check_filter(kernel.shape)
    return windows


@conv2d_op.biased
def _(
    x: Array,
    kernel: Array,
    *,
    following: Following,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array | None:
    try:
        windows = _placed(x, kernel, strides, padding, explicit_paddings, dilations)
    except errors.OpError:
        return None
    return conv_kernels.forward_biased(x, kernel, following, windows)


also_channels_first(conv2d_op, images="x")


conv2d_op.float_ops(float_ops.convolution(3))


@conv2d_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = conv2d_attrs(op)
    x, kernel = op.inputs
    shape_x, shape_kernel = array_ops.shape_n([x, kernel])
    return (
        conv2d_backprop_input_op(shape_x, kernel, grad, **attrs),
        conv2d_backprop_filter_op(x, shape_kernel, grad, **attrs),
    )


@register_op(
    "Conv2DBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    "T: {half, bfloat16, float, double, int32}",
    *_CONV2D_ATTRS,
    host_memory=("input_sizes",),
    traits="input_gradient product",
)
def conv2d_backprop_input_op(
    xp: Xp,
    input_sizes: Array,
    kernel: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array:
    """Return the gradient of Conv2D with respect to its input."""
    shape, windows = _placed_backprop(
        input_sizes, kernel, out_backprop, strides, padding, explicit_paddings, dilations
    )
    return conv_kernels.backprop_input(xp, shape, kernel, out_backprop, windows)


def _placed_backprop(
    input_sizes: Array,
    kernel: Array,
    out_backprop: Array,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> tuple[Sequence[int], Sequence[Window]]:
    """Return the shape of the input of a convolution, and its windows."""
    shape: Sequence[int]
    if input_sizes.ndim == 1 and input_sizes.shape[0] == 2:
        # Only height and width are read: batch and channels follow from the other inputs.
        shape = (out_backprop.shape[0], *input_sizes.tolist(), kernel.shape[2])
    else:
        shape = _sizes(input_sizes, 4, "Conv2DBackpropInput: input_sizes input")
    _check_conv(shape, kernel.shape, strides, dilations, 4)
    _check_depth(shape, kernel.shape, is_gradient=True)
    windows = _windows(shape, kernel.shape, strides, dilations, padding, explicit_paddings)
    _check_backprop(out_backprop, windows, shape[0], kernel.shape[-1])
    return shape, windows


@conv2d_backprop_input_op.biased
def _(
    input_sizes: Array,
    kernel: Array,
    out_backprop: Array,
    *,
    following: Following,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array | None:
    if out_backprop.ndim != 4 or kernel.ndim != 4:
        return None
    try:
        shape, windows = _placed_backprop(
            input_sizes, kernel, out_backprop, strides, padding, explicit_paddings, dilations
        )
    except errors.OpError:
        return None
    return conv_kernels.backprop_input_biased(shape, kernel, out_backprop, following, windows)


also_channels_first(conv2d_backprop_input_op, images="out_backprop", sizes="input_sizes")


conv2d_backprop_input_op.float_ops(
    lambda op: float_ops.conv_gradient(op.outputs[0], op.inputs[1], op)
)


@conv2d_backprop_input_op.shape
def _(c: InferenceContext) -> TensorShape:
    sizes = c.constant_value_as_shape(0)
    kernel, out = c.with_rank(1, 4).dim_values, c.with_rank(2, 4).dim_values
    assert kernel is not None
    assert out is not None
    merge_dims(out[channel_axis(c.attr("data_format"), 4)], kernel[3])
    batch = out[0]
    if sizes.rank == 2:
        return TensorShape([batch, *(sizes.dim_values or ()), kernel[2]])
    if sizes.rank not in (None, 4):
        raise ValueError(
            "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: "
            f"{sizes.rank}"
        )
    return merge_shapes(require_rank(sizes, 4), TensorShape([batch, None, None, None]))


@conv2d_backprop_input_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = conv2d_attrs(op)
    kernel, out_backprop = op.inputs[1:]
    return (
        None,
        conv2d_backprop_filter_op(grad, array_ops.shape(kernel), out_backprop, **attrs),
        conv2d_op(grad, kernel, **attrs),
    )


@register_op(
    "Conv2DBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    "T: {half, bfloat16, float, double}",
    *_CONV2D_ATTRS,
    shape=lambda c: _sizes_shape(c, 1, 4),
    host_memory=("filter_sizes",),
    traits="input_gradient product",
)
def conv2d_backprop_filter_op(
    xp: Xp,
    x: Array,
    filter_sizes: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array:
    """Return the gradient of Conv2D with respect to its filter."""
    shape = _sizes(filter_sizes, 4, "Conv2DBackpropFilter: filter_sizes input")
    _check_conv(x.shape, shape, strides, dilations, 4)
    _check_depth(x.shape, shape, is_gradient=True)
    windows = _windows(x.shape, shape, strides, dilations, padding, explicit_paddings)
    _check_backprop(out_backprop, windows, x.shape[0], shape[-1])
    return conv_kernels.backprop_filter(xp, x, out_backprop, shape, windows)


also_channels_first(conv2d_backprop_filter_op, images="x out_backprop", makes_image=False)


conv2d_backprop_filter_op.float_ops(
    lambda op: float_ops.conv_gradient(op.inputs[0], op.outputs[0], op)
)


@conv2d_backprop_filter_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = conv2d_attrs(op)
    x, _, out_backprop = op.inputs
    return (
        conv2d_backprop_input_op(array_ops.shape(x), grad, out_backprop, **attrs),
        None,
        conv2d_op(x, grad, **attrs),
    )


# ---------------------------------------------------------------------------------------- depthwise

_DEPTHWISE_ATTRS = (
    "strides: list(int)",
    "padding: {'SAME', 'VALID', 'EXPLICIT'}",
    "explicit_paddings: list(int) = []",
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
    "dilations: list(int) = [1, 1, 1, 1]",
)


def _depthwise_shape(c: InferenceContext) -> TensorShape:
    data_format, padding = c.attr("data_format"), c.attr("padding")
    strides, dilations = c.attr("strides"), c.attr("dilations")
    axis = channel_axis(data_format, 4)
    x, kernel = c.with_rank(0, 4).dim_values, c.with_rank(1, 4).dim_values
    assert x is not None
    assert kernel is not None
    if len(strides) != 4:
        raise ValueError(
            "DepthwiseConv2D requires the stride attribute to contain 4 values, but got: "
            f"{len(strides)}"
        )
    if len(dilations) != 4:
        raise ValueError(
            "DepthwiseConv2D requires the dilations attribute to contain 4 values, but got: "
            f"{len(dilations)}"
        )
    check_explicit(c, 4, padding, data_format)
    channels = merge_dims(x[axis], kernel[2])
    pairs = explicit_pairs(c.attrs.get("explicit_paddings", ()), 4)
    dims: list[int | None] = [x[0]] * 4
    dims[axis] = None if channels is None or kernel[3] is None else channels * kernel[3]
    for position, spatial in enumerate(spatial_axes(data_format, 4)):
        dims[spatial] = output_dim(
            x[spatial],
            kernel[position],
            strides[spatial],
            dilations[spatial],
            padding,
            pairs[spatial],
        )
    return TensorShape(dims)


def _depthwise_attrs(op: Operation) -> dict[str, Any]:
    return {
        name: op.get_attr(name)
        for name in ("strides", "padding", "explicit_paddings", "data_format", "dilations")
    }


def _check_depthwise(
    x_shape: Sequence[int],
    filter_shape: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> None:
    _check_conv(x_shape, filter_shape, strides, dilations, 4)
    if strides[1] != strides[2]:
        raise errors.invalid_argument(
            "Current implementation only supports equal length strides in the row and column "
            "dimensions."
        )
    if x_shape[-1] != filter_shape[2]:
        raise errors.invalid_argument(
            f"input and filter must have the same depth: {x_shape[-1]} vs {filter_shape[2]}"
        )


@register_op(
    "DepthwiseConv2dNative",
    "input: T, filter: T -> output: T",
    "T: {half, bfloat16, float, double}",
    *_DEPTHWISE_ATTRS,
    shape=_depthwise_shape,
    traits="product",
)
def depthwise_conv2d_native_op(
    xp: Xp,
    x: Array,
    kernel: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array:
    """Return every channel convolved with its own filters."""
    _check_depthwise(x.shape, kernel.shape, strides, dilations)
    windows = _windows(x.shape, kernel.shape, strides, dilations, padding, explicit_paddings)
    return depthwise_kernels.forward(xp, x, kernel, windows)


@depthwise_conv2d_native_op.biased
def _(
    x: Array,
    kernel: Array,
    *,
    following: Following,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array | None:
    if x.ndim != 4 or kernel.ndim != 4:
        return None
    try:
        _check_depthwise(x.shape, kernel.shape, strides, dilations)
        windows = _windows(x.shape, kernel.shape, strides, dilations, padding, explicit_paddings)
    except errors.OpError:
        return None
    return depthwise_kernels.forward_biased(x, kernel, following, windows)


also_channels_first(depthwise_conv2d_native_op, images="x")


depthwise_conv2d_native_op.float_ops(float_ops.convolution(2))


@depthwise_conv2d_native_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _depthwise_attrs(op)
    x, kernel = op.inputs
    return (
        depthwise_conv2d_native_backprop_input_op(array_ops.shape(x), kernel, grad, **attrs),
        depthwise_conv2d_native_backprop_filter_op(x, array_ops.shape(kernel), grad, **attrs),
    )


@register_op(
    "DepthwiseConv2dNativeBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    "T: {half, bfloat16, float, double}",
    *_DEPTHWISE_ATTRS,
    shape=lambda c: _sizes_shape(c, 0, 4),
    host_memory=("input_sizes",),
    traits="input_gradient product",
)
def depthwise_conv2d_native_backprop_input_op(
    xp: Xp,
    input_sizes: Array,
    kernel: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array:
    """Return the gradient of DepthwiseConv2dNative with respect to its input."""
    name = "DepthwiseConv2dNativeBackpropInput"
    shape = _sizes(input_sizes, 4, f"{name}: input_sizes")
    _check_depthwise(shape, kernel.shape, strides, dilations)
    windows = _windows(shape, kernel.shape, strides, dilations, padding, explicit_paddings)
    _check_backprop(out_backprop, windows, shape[0], kernel.shape[2] * kernel.shape[3])
    return depthwise_kernels.backprop_input(xp, shape, kernel, out_backprop, windows)


also_channels_first(
    depthwise_conv2d_native_backprop_input_op, images="out_backprop", sizes="input_sizes"
)


@depthwise_conv2d_native_backprop_input_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _depthwise_attrs(op)
    kernel, out_backprop = op.inputs[1:]
    return (
        None,
        depthwise_conv2d_native_backprop_filter_op(
            grad, array_ops.shape(kernel), out_backprop, **attrs
        ),
        depthwise_conv2d_native_op(grad, kernel, **attrs),
    )


@register_op(
    "DepthwiseConv2dNativeBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    "T: {half, bfloat16, float, double}",
    *_DEPTHWISE_ATTRS,
    shape=lambda c: _sizes_shape(c, 1, 4),
    host_memory=("filter_sizes",),
    traits="input_gradient product",
)
def depthwise_conv2d_native_backprop_filter_op(
    xp: Xp,
    x: Array,
    filter_sizes: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
) -> Array:
    """Return the gradient of DepthwiseConv2dNative with respect to its filter."""
    name = "DepthwiseConv2dNativeBackpropFilter"
    shape = _sizes(filter_sizes, 4, f"{name}: filter_sizes")
    _check_depthwise(x.shape, shape, strides, dilations)
    windows = _windows(x.shape, shape, strides, dilations, padding, explicit_paddings)
    _check_backprop(out_backprop, windows, x.shape[0], shape[2] * shape[3])
    return depthwise_kernels.backprop_filter(xp, x, out_backprop, shape, windows)


also_channels_first(
    depthwise_conv2d_native_backprop_filter_op, images="x out_backprop", makes_image=False
)


@depthwise_conv2d_native_backprop_filter_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _depthwise_attrs(op)
    x, _, out_backprop = op.inputs
    return (
        depthwise_conv2d_native_backprop_input_op(array_ops.shape(x), grad, out_backprop, **attrs),
        None,
        depthwise_conv2d_native_op(x, grad, **attrs),
    )


# ---------------------------------------------------------------------------------------------- 3-D

_CONV3D_ATTRS = (
    "strides: list(int) >= 5",
    "padding: {'SAME', 'VALID'}",
    "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
    "dilations: list(int) = [1, 1, 1, 1, 1]",
)


def _conv3d_attrs(op: Operation) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ("strides", "padding", "data_format", "dilations")}


@register_op(
    "Conv3D",
    "input: T, filter: T -> output: T",
    "T: {half, bfloat16, float, double}",
    *_CONV3D_ATTRS,
    shape=lambda c: _conv_shape(c, 5),
    traits="product",
)
def conv3d_op(
    xp: Xp,
    x: Array,
    kernel: Array,
    *,
    strides: list[int],
    padding: str,
    dilations: list[int],
) -> Array:
    """Return the convolution of volumes."""
    windows = _placed_volumes(x, kernel, strides, padding, dilations)
    x, placed = centred(xp, x, windows, padding)
    return conv_kernels.forward(xp, x, kernel, placed)


def _placed_volumes(
    x: Array, kernel: Array, strides: list[int], padding: str, dilations: list[int]
) -> Sequence[Window]:
    """Return the windows of a convolution of volumes; raise the errors of TensorFlow."""
    _check_conv(x.shape, kernel.shape, strides, dilations, 5)
    _check_depth(x.shape, kernel.shape)
    _check_filter(kernel.shape)
    if not x.shape[-1]:
        raise errors.invalid_argument(
            f"Number of channels in filter ({kernel.shape[-2]}) must match last dimension of "
            "input (0)"
        )
    return _windows(x.shape, kernel.shape, strides, dilations, padding, ())


@conv3d_op.biased
def _(
    x: Array,
    kernel: Array,
    *,
    following: Following,
    strides: list[int],
    padding: str,
    dilations: list[int],
) -> Array | None:
    try:
        windows = _placed_volumes(x, kernel, strides, padding, dilations)
    except errors.OpError:
        return None
    x, placed = centred(np, x, windows, padding)
    return conv_kernels.forward_biased(x, kernel, following, placed)


also_channels_first(conv3d_op, images="x", rank=5)


conv3d_op.float_ops(float_ops.convolution(4))


@conv3d_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _conv3d_attrs(op)
    x, kernel = op.inputs
    shape_x, shape_kernel = array_ops.shape_n([x, kernel])
    return (
        conv3d_backprop_input_v2(shape_x, kernel, grad, **attrs),
        conv3d_backprop_filter_v2(x, shape_kernel, grad, **attrs),
    )


@register_op(
    "Conv3DBackpropInputV2",
    "input_sizes: Tshape, filter: T, out_backprop: T -> output: T",
    "T: {half, bfloat16, float, double}",
    *_CONV3D_ATTRS,
    "Tshape: {int32, int64} = DT_INT32",
    shape=lambda c: _sizes_shape(c, 0, 5),
    host_memory=("input_sizes",),
    traits="input_gradient product",
)
def conv3d_backprop_input_v2(
    xp: Xp,
    input_sizes: Array,
    kernel: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    dilations: list[int],
) -> Array:
    """Return the gradient of Conv3D with respect to its input."""
    shape = _sizes(input_sizes, 5, "Conv3DBackpropInputOp: input_sizes")
    _check_conv(shape, kernel.shape, strides, dilations, 5)
    _check_depth(shape, kernel.shape, is_gradient=True)
    windows = _windows(shape, kernel.shape, strides, dilations, padding, ())
    _check_backprop(out_backprop, windows, shape[0], kernel.shape[-1])
    return conv_kernels.backprop_input(xp, shape, kernel, out_backprop, windows)


also_channels_first(conv3d_backprop_input_v2, images="out_backprop", sizes="input_sizes", rank=5)


@conv3d_backprop_input_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _conv3d_attrs(op)
    kernel, out_backprop = op.inputs[1:]
    return (
        None,
        conv3d_backprop_filter_v2(grad, array_ops.shape(kernel), out_backprop, **attrs),
        conv3d_op(grad, kernel, **attrs),
    )


@register_op(
    "Conv3DBackpropFilterV2",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    "T: {half, bfloat16, float, double}",
    *_CONV3D_ATTRS,
    shape=lambda c: _sizes_shape(c, 1, 5),
    host_memory=("filter_sizes",),
    traits="input_gradient product",
)
def conv3d_backprop_filter_v2(
    xp: Xp,
    x: Array,
    filter_sizes: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    dilations: list[int],
) -> Array:
    """Return the gradient of Conv3D with respect to its filter."""
    shape = _sizes(filter_sizes, 5, "Conv3DBackpropFilterOp: filter_sizes")
    _check_conv(x.shape, shape, strides, dilations, 5)
    _check_depth(x.shape, shape, is_gradient=True)
    windows = _windows(x.shape, shape, strides, dilations, padding, ())
    _check_backprop(out_backprop, windows, x.shape[0], shape[-1])
    return conv_kernels.backprop_filter(xp, x, out_backprop, shape, windows)


also_channels_first(conv3d_backprop_filter_v2, images="x out_backprop", makes_image=False, rank=5)


@conv3d_backprop_filter_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _conv3d_attrs(op)
    x, _, out_backprop = op.inputs
    return (
        conv3d_backprop_input_v2(array_ops.shape(x), grad, out_backprop, **attrs),
        None,
        conv3d_op(x, grad, **attrs),
    )
