"""The public functions of convolution: ``tf.nn.conv2d``, ``tf.nn.convolution`` and others.

Transposed convolutions such as ``tf.nn.conv2d_transpose`` are here, too. Dilated convolutions of
any number of dimensions go through SpaceToBatchND, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.nn.dilated_windows import with_space_to_batch
from tfnb.ops.array import array_ops
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.conv.conv_ops import (
    conv2d_backprop_filter_op,
    conv2d_backprop_input_op,
    conv2d_op,
    conv3d_backprop_input_v2,
    conv3d_op,
)
from tfnb.ops.conv.conv_ops import conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2
from tfnb.ops.conv.window_arguments import convert_padding, spread_over_dims

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import IntsLike, PaddingLike, TensorLike, TensorResult

EXPORTS = {
    "nn": [
        "atrous_conv2d", "atrous_conv2d_transpose", "conv1d", "conv1d_transpose", "conv2d",
        "conv2d_backprop_filter", "conv2d_backprop_input", "conv2d_transpose", "conv3d",
        "conv3d_backprop_filter:conv3d_backprop_filter_v2",
        "conv3d_backprop_filter_v2:conv3d_backprop_filter_v2", "conv3d_transpose", "conv_transpose",
        "convolution",
    ],
}  # fmt: skip

# ------------------------------------------------------------------------------- several batches


def _rank_of(x: TensorLike) -> int | None:
    shape = getattr(x, "shape", None)
    if shape is None:
        return np.ndim(x)
    return shape.ndims if isinstance(shape, TensorShape) else len(shape)


def _with_outer_batches(
    x: TensorLike, op: Callable[..., Any], inner_rank: int, name: str | None
) -> TensorResult:
    """Apply an op that takes one batch dimension to an input with several."""
    with name_scope(name, "squeeze_batch_dims", [x]):
        x = convert_to_tensor(x, name="input")
        dims = x.shape.dim_values
        inner: TensorLike = list(dims[-inner_rank:])
        batch: Any = list(dims[:-inner_rank])
        if None in inner:
            inner = array_ops.shape(x)[-inner_rank:]
        if None in batch:
            batch = array_ops.shape(x)[:-inner_rank]
        target = [-1, *inner] if isinstance(inner, list) else array_ops.concat(([-1], inner), -1)
        out = op(array_ops.reshape(x, target))
        out_dims = out.shape.dim_values
        known = out_dims is not None and None not in out_dims[-inner_rank:]
        out_inner: Any = (
            list(out_dims[-inner_rank:]) if known else array_ops.shape(out)[-inner_rank:]
        )
        result = array_ops.reshape(out, array_ops.concat((batch, out_inner), axis=-1))
        if out_dims is not None:
            result.set_shape([*dims[:-inner_rank], *out_dims[-inner_rank:]])
        return result


# ------------------------------------------------------------------------------------------- 2-D


def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike = None,
    padding: PaddingLike | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: IntsLike = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> TensorResult:
    """Return the 2-D convolution of images; the filter is [height, width, in, out channels]."""
    filter = renamed("filters", filters, "filter", filter)
    padding, explicit = convert_padding(padding)
    data_format = data_format or "NHWC"
    channel_index = 1 if data_format.startswith("NC") else 3
    attrs = {
        "strides": spread_over_dims(strides, 2, channel_index, "strides"),
        "padding": padding,
        "use_cudnn_on_gpu": use_cudnn_on_gpu,
        "explicit_paddings": explicit,
        "data_format": data_format,
        "dilations": spread_over_dims(dilations, 2, channel_index, "dilations"),
    }
    rank = _rank_of(input)
    if rank is None or rank <= 4:
        return conv2d_op(input, filter, name=name, **attrs)
    return _with_outer_batches(input, lambda x: conv2d_op(x, filter, **attrs), 3, name)


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: IntsLike,
    padding: PaddingLike,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: IntsLike = (1, 1, 1, 1),
    name: str | None = None,
) -> TensorResult:
    """Return the gradient of conv2d with respect to the filter."""
    padding, explicit = convert_padding(padding)
    return conv2d_backprop_filter_op(
        input,
        filter_sizes,
        out_backprop,
        strides=list(strides),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike | None = None,
    out_backprop: TensorLike | None = None,
    strides: IntsLike = None,
    padding: PaddingLike | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: IntsLike = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> TensorResult:
    """Return the gradient of conv2d with respect to the input."""
    filter = renamed("filters", filters, "filter", filter)
    padding, explicit = convert_padding(padding)
    return conv2d_backprop_input_op(
        input_sizes,
        filter,
        out_backprop,
        strides=list(strides),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: IntsLike = None,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> TensorResult:
    """Return the transpose of conv2d: its gradient with respect to the input."""
    value = renamed("input", input, "value", value)
    filter = renamed("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NHWC"
        channel_index = 1 if data_format.startswith("NC") else 3
        padding, explicit = convert_padding(padding)
        return conv2d_backprop_input_op(
            output_shape,
            filter,
            value,
            strides=spread_over_dims(strides, 2, channel_index, "strides"),
            padding=padding,
            explicit_paddings=explicit,
            data_format=data_format,
            dilations=spread_over_dims(dilations, 2, channel_index, "dilations"),
            name=scope,
        )


# ------------------------------------------------------------------------------------------- 1-D


def _format_1d(data_format: str | None, allow_2d_names: bool) -> tuple[str, int]:
    """Return (the 2-D format, where the height is inserted, counted from the end)."""
    last = (None, "NWC", "NHWC") if allow_2d_names else (None, "NWC")
    first = ("NCW", "NCHW") if allow_2d_names else ("NCW",)
    if data_format in last:
        return "NHWC", -3
    if data_format in first:
        return "NCHW", -2
    raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")


def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: IntsLike | None = None,
    padding: PaddingLike | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> TensorResult:
    """Return the 1-D convolution of sequences with a filter [width, in channels, out channels]."""
    value = renamed("input", input, "value", value)
    with name_scope(name, "conv1d", [value, filters]) as scope:
        format_2d, spatial = _format_1d(data_format, True)
        channel_index = 2 if format_2d == "NHWC" else 1
        attrs = {
            "strides": [1, *spread_over_dims(stride, 1, channel_index, "stride")],
            "padding": padding,
            "use_cudnn_on_gpu": True if use_cudnn_on_gpu is None else use_cudnn_on_gpu,
            "data_format": format_2d,
            "dilations": [1, *spread_over_dims(dilations, 1, channel_index, "dilations")],
        }
        value = array_ops.expand_dims(value, spatial)
        filters = array_ops.expand_dims(filters, 0)
        rank = value.shape.ndims
        if rank is None or rank <= 4:
            result = conv2d_op(value, filters, name=scope, **attrs)
        else:
            result = _with_outer_batches(value, lambda x: conv2d_op(x, filters, **attrs), 3, scope)
        return array_ops.squeeze(result, [spatial])


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: IntsLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return the transpose of conv1d."""
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        format_2d, _ = _format_1d(data_format, False)
        spatial = 1 if format_2d == "NHWC" else 2
        channel_index = 2 if format_2d == "NHWC" else 1
        value = array_ops.expand_dims(input, spatial)
        filters = array_ops.expand_dims(filters, 0)
        if not isinstance(output_shape, Tensor):
            output_shape = list(output_shape)
        output_shape = array_ops.concat([output_shape[:spatial], [1], output_shape[spatial:]], 0)
        result = conv2d_backprop_input_op(
            output_shape,
            filters,
            value,
            strides=[1, *spread_over_dims(strides, 1, channel_index, "stride")],
            padding=padding,
            data_format=format_2d,
            dilations=[1, *spread_over_dims(dilations, 1, channel_index, "dilations")],
            name=scope,
        )
        return array_ops.squeeze(result, spatial)


# ------------------------------------------------------------------------------------------- 3-D


def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike = None,
    padding: PaddingLike | None = None,
    data_format: str = "NDHWC",
    dilations: IntsLike = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> TensorResult:
    """Return the 3-D convolution; the filter is [depth, height, width, in, out channels]."""
    filter = renamed("filters", filters, "filter", filter)
    return conv3d_op(
        input,
        filter,
        strides=list(strides),
        padding=padding,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


def conv3d_transpose(
    value: TensorLike,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: IntsLike = None,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> TensorResult:
    """Return the transpose of conv3d."""
    filter = renamed("filters", filters, "filter", filter)
    value = renamed("input", input, "value", value)
    with name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NDHWC"
        channel_index = 1 if data_format.startswith("NC") else 4
        return conv3d_backprop_input_v2(
            output_shape,
            filter,
            value,
            strides=spread_over_dims(strides, 3, channel_index, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=spread_over_dims(dilations, 3, channel_index, "dilations"),
            name=scope,
        )


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: IntsLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return the transpose of convolution in 1, 2 or 3 dimensions.

    Raises:
      ValueError: the output shape does not have 3, 4 or 5 dimensions.
    """
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        if isinstance(output_shape, Tensor):
            spatial: Any = output_shape.shape[0] - 2  # a Dimension
        elif isinstance(output_shape, Sized):
            spatial = len(output_shape) - 2
        else:
            raise ValueError(
                "`output_shape` must be a tensor or sized collection. Received: "
                f"output_shape={output_shape}"
            )
        if not 1 <= spatial <= 3:
            raise ValueError(
                f"`output_shape` must be of length 3, 4 or 5. Received: "
                f"output_shape={output_shape} of length {spatial + 2}."
            )
        op = (conv1d_transpose, conv2d_transpose, conv3d_transpose)[spatial - 1]
        return op(
            input,
            filters,
            output_shape,
            strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
            name=scope,
        )


# ------------------------------------------------------------------------------- any dimension


def convolution(
    input: TensorLike,
    filter: TensorLike,
    padding: PaddingLike,
    strides: IntsLike = None,
    dilation_rate: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> TensorResult:
    """Return the convolution in 1, 2 or 3 dimensions, as many as the filter has.

    Raises:
      ValueError: the number of dimensions is unknown or another.
    """
    filter = renamed("filters", filters, "filter", filter)
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    if not isinstance(filter, Tensor):
        filter = convert_to_tensor(filter, name="filters")
    if not isinstance(input, Tensor):
        input = convert_to_tensor(input, name="input")
    filter_rank, input_rank = filter.shape.ndims, input.shape.ndims
    if filter_rank is None and input_rank is None:
        raise ValueError(
            "When `num_spatial_dims` is not set, one of `input.shape.rank` or `filters.shape.rank` "
            f"must be known. Received: input.shape={input.shape} of rank {input_rank} and "
            f"filters.shape={filter.shape} of rank {filter_rank}"
        )
    spatial = (filter_rank if filter_rank is not None else input_rank) - 2
    if spatial not in (1, 2, 3):
        raise ValueError(
            f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={spatial}."
        )
    num_batch_dims = 1 if input_rank is None else input_rank - spatial - 1
    last = data_format is None or not data_format.startswith("NC")
    channel_index = num_batch_dims + spatial if last else num_batch_dims
    rates = spread_over_dims(dilation_rate, spatial, channel_index, "dilations")
    steps = spread_over_dims(strides, spatial, channel_index, "strides")
    with name_scope(name, "convolution", [input, filter]) as scope:
        if all(rate == 1 for rate in rates):
            return _plain_convolution(input, filter, steps, padding, data_format, rates, scope)
        inner = slice(2, None) if channel_index == 1 else slice(1, -1)

        def op(
            x: TensorLike, num_spatial_dims: int, converted_padding: PaddingLike
        ) -> TensorResult:
            return _plain_convolution(
                x, filter, steps, converted_padding, data_format, [1] * (spatial + 2), scope
            )

        _check_rates(steps[inner], rates[inner])
        return with_space_to_batch(
            input,
            rates[inner],
            padding,
            op,
            filter_shape=_filter_shape(filter),
            data_format=data_format,
        )


def _check_rates(strides: Sequence[int], rates: Sequence[int]) -> None:
    if any(rate < 1 for rate in rates):
        raise ValueError(
            f"all values of `dilation_rate` must be positive. Received: dilation_rate={rates}"
        )
    if any(step < 1 for step in strides):
        raise ValueError(f"all values of `strides` must be positive. Received: strides={strides}")
    if any(step > 1 for step in strides) and any(rate > 1 for rate in rates):
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={strides} and dilation_rate={rates}"
        )


def _filter_shape(filter: TensorLike) -> Any:
    dims = filter.shape.dim_values
    return array_ops.shape(filter) if dims is None or None in dims else list(dims)


def _plain_convolution(
    input: TensorLike,
    filter: TensorLike,
    strides: list[int],
    padding: PaddingLike,
    data_format: str | None,
    dilations: list[int],
    name: str | None,
) -> TensorResult:
    spatial = len(strides) - 2
    attrs: dict[str, Any] = {"strides": strides, "padding": padding, "dilations": dilations}
    if spatial == 1:
        return conv1d(
            value=input,
            filters=filter,
            stride=strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
            name=name,
        )
    op, inner_rank = (conv2d_op, 3) if spatial == 2 else (conv3d_op, 4)
    attrs["data_format"] = data_format or ("NHWC" if spatial == 2 else "NDHWC")
    if spatial == 2:
        attrs["padding"], attrs["explicit_paddings"] = convert_padding(padding)
    rank = input.shape.ndims
    if rank is None or rank <= inner_rank + 1:
        return op(input, filter, name=name, **attrs)
    return _with_outer_batches(input, lambda x: op(x, filter, **attrs), inner_rank, name)


def atrous_conv2d(
    value: TensorLike,
    filters: TensorLike,
    rate: IntsLike,
    padding: PaddingLike,
    name: str | None = None,
) -> TensorResult:
    """Return the 2-D convolution with a filter whose cells are `rate` apart."""
    rates = np.broadcast_to(rate, (2,)).tolist()
    return convolution(value, filters, padding, dilation_rate=rates, name=name)


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    rate: int,
    padding: str,
    name: str | None = None,
) -> TensorResult:
    """Return the transpose of atrous_conv2d.

    Raises:
      ValueError: channels, rate or padding do not fit.
    """
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]):
        value = convert_to_tensor(value, name="value")
        filters = convert_to_tensor(filters, name="filters")
        if not value.shape.dims[3].is_compatible_with(filters.shape[3]):
            raise ValueError(
                "`value` channel count must be compatible with `filters` input channel count. "
                f"Received: value.shape={value.shape} with channel count {value.shape[3]} and "
                f"filters.shape={filters.shape} with input channel count {filters.shape[3]}."
            )
        if rate < 1:
            raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
        if rate == 1:
            return conv2d_transpose(
                value, filters, output_shape, strides=[1, 1, 1, 1], padding=padding
            )
        sizes = convert_to_tensor(output_shape, name="output_shape")
        if not sizes.shape.is_compatible_with(TensorShape([4])):
            raise ValueError(
                f"`output_shape` must have shape (4,). Received: output_shape={sizes.shape}"
            )
        if isinstance(output_shape, tuple):
            output_shape = list(output_shape)
        if isinstance(output_shape, (list, np.ndarray)) and not filters.shape.dims[
            2
        ].is_compatible_with(output_shape[3]):
            raise ValueError(
                "`output_shape` channel count must be compatible with `filters` output channel "
                f"count. Received: output_shape={output_shape} with channel count "
                f"{output_shape[3]} and filters.shape={filters.shape} with output channel count "
                f"{filters.shape[3]}."
            )
        if padding == "SAME":
            shape = _filter_shape(filters)
            pads = []
            for axis in (0, 1):
                needed = shape[axis] + (shape[axis] - 1) * (rate - 1) - 1
                pads.append((needed // 2, needed - needed // 2))
        elif padding == "VALID":
            pads = [(0, 0), (0, 0)]
        else:
            raise ValueError(
                f"`padding` must be either 'VALID' or 'SAME'. Received: padding={padding}"
            )
        height = output_shape[1] + pads[0][0] + pads[0][1]
        width = output_shape[2] + pads[1][0] + pads[1][1]
        extra = [(rate - height % rate) % rate, (rate - width % rate) % rate]
        value = array_ops.space_to_batch(
            input=value, paddings=[[0, extra[0]], [0, extra[1]]], block_size=rate
        )
        input_sizes = [
            rate * rate * output_shape[0],
            (height + extra[0]) // rate,
            (width + extra[1]) // rate,
            output_shape[3],
        ]
        value = conv2d_backprop_input_op(
            input_sizes, filters, value, strides=[1, 1, 1, 1], padding="VALID"
        )
        crops = [[pads[i][0], pads[i][1] + extra[i]] for i in (0, 1)]
        return array_ops.batch_to_space(input=value, crops=crops, block_size=rate)
