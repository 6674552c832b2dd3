"""The public functions of pooling: ``tf.nn.max_pool``, ``tf.nn.avg_pool``, ``tf.nn.pool``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.nn.dilated_windows import with_space_to_batch
from tfnb.ops.array import array_ops
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.conv.pooling_ops import (
    avg_pool3d_op,
    avg_pool_op,
    max_pool3d_op,
    max_pool_op,
    max_pool_with_argmax_op,
)
from tfnb.ops.conv.window_arguments import convert_padding, spread_over_dims

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import IntsLike, Nested, PaddingLike, TensorLike, TensorResult

EXPORTS = {
    "nn": [
        "avg_pool", "avg_pool1d", "avg_pool2d:avg_pool", "avg_pool3d", "avg_pool_v2", "max_pool",
        "max_pool1d", "max_pool2d", "max_pool3d", "max_pool_v2", "max_pool_with_argmax", "pool",
    ],
}  # fmt: skip


def _channel_index(data_format: str, last: int) -> int:
    return 1 if data_format.startswith("NC") else last


def _refuse_vect(padding: PaddingLike, data_format: str | None) -> None:
    if isinstance(padding, (list, tuple)) and data_format == "NCHW_VECT_C":
        raise ValueError(
            "`data_format='NCHW_VECT_C'` is not supported with explicit padding. Received: "
            f"padding={padding}"
        )


def max_pool(
    value: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> TensorResult:
    """Return the maximum of every window of an image.

    Raises:
      ValueError: a window size is 0.
    """
    value = renamed("input", input, "value", value)
    with name_scope(name, "MaxPool", [value]) as scope:
        return _max_pool2d(value, ksize, strides, padding, data_format, scope)


def max_pool2d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> TensorResult:
    """Return the maximum of every window of an image."""
    with name_scope(name, "MaxPool2d", [input]) as scope:
        return _max_pool2d(input, ksize, strides, padding, data_format, scope)


def _max_pool2d(
    value: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None,
    scope: str,
) -> TensorResult:
    data_format = data_format or "NHWC"
    channel_index = _channel_index(data_format, 3)
    ksize = spread_over_dims(ksize, 2, channel_index, "ksize")
    strides = spread_over_dims(strides, 2, channel_index, "strides")
    _refuse_vect(padding, data_format)
    padding, explicit = convert_padding(padding)
    if any(size == 0 for size in ksize):
        raise ValueError(f"`ksize` cannot be zero. Received: ksize={ksize}")
    return max_pool_op(
        value,
        ksize=ksize,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit,
        data_format=data_format,
        name=scope,
    )


def avg_pool(
    value: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> TensorResult:
    """Return the mean of every window of an image."""
    with name_scope(name, "AvgPool", [value]) as scope:
        value = renamed("input", input, "value", value)
        data_format = data_format or "NHWC"
        channel_index = _channel_index(data_format, 3)
        return avg_pool_op(
            value,
            ksize=spread_over_dims(ksize, 2, channel_index, "ksize"),
            strides=spread_over_dims(strides, 2, channel_index, "strides"),
            padding=padding,
            data_format=data_format,
            name=scope,
        )


def _one_dimension(
    ksize: IntsLike, strides: IntsLike, data_format: str
) -> tuple[Nested, Nested, int, str]:
    """Return (window, steps, where the height is inserted, the 2-D format)."""
    channel_index = _channel_index(data_format, 2)
    return (
        [1, *spread_over_dims(ksize, 1, channel_index, "ksize")],
        [1, *spread_over_dims(strides, 1, channel_index, "strides")],
        1 if data_format == "NWC" else 2,
        "NHWC" if data_format == "NWC" else "NCHW",
    )


def avg_pool1d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> TensorResult:
    """Return the mean of every window of a sequence."""
    with name_scope(name, "AvgPool1D", [input]) as scope:
        sizes, steps, axis, format_2d = _one_dimension(ksize, strides, data_format or "NWC")
        result = avg_pool_op(
            array_ops.expand_dims(input, axis),
            ksize=sizes,
            strides=steps,
            padding=padding,
            data_format=format_2d,
            name=scope,
        )
        return array_ops.squeeze(result, axis)


def max_pool1d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> TensorResult:
    """Return the maximum of every window of a sequence."""
    with name_scope(name, "MaxPool1d", [input]) as scope:
        _refuse_vect(padding, data_format)
        sizes, steps, axis, format_2d = _one_dimension(ksize, strides, data_format or "NWC")
        padding, explicit = convert_padding(padding, 3)
        if padding == "EXPLICIT":
            explicit = [0, 0, *explicit]
        result = max_pool_op(
            array_ops.expand_dims(input, axis),
            ksize=sizes,
            strides=steps,
            padding=padding,
            explicit_paddings=explicit,
            data_format=format_2d,
            name=scope,
        )
        return array_ops.squeeze(result, axis)


def _pool3d(
    op: Callable[..., TensorResult],
    default_name: str,
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None,
    name: str | None,
) -> TensorResult:
    with name_scope(name, default_name, [input]) as scope:
        data_format = data_format or "NDHWC"
        channel_index = _channel_index(data_format, 4)
        return op(
            input,
            ksize=spread_over_dims(ksize, 3, channel_index, "ksize"),
            strides=spread_over_dims(strides, 3, channel_index, "strides"),
            padding=padding,
            data_format=data_format,
            name=scope,
        )


def avg_pool3d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> TensorResult:
    """Return the mean of every window of a volume."""
    return _pool3d(avg_pool3d_op, "AvgPool3D", input, ksize, strides, padding, data_format, name)


def max_pool3d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> TensorResult:
    """Return the maximum of every window of a volume."""
    return _pool3d(max_pool3d_op, "MaxPool3D", input, ksize, strides, padding, data_format, name)


def _spatial_rank(input: TensorLike, data_format: str | None) -> int:
    ndims = TensorShape(input.shape).ndims if hasattr(input, "shape") else np.ndim(input)
    if ndims is not None:
        spatial = ndims - 2
    elif data_format is not None:
        spatial = len(data_format) - 2
    else:
        raise ValueError(
            "`input` must have a static shape or `data_format` must be given. Received: "
            f"input.shape={input.shape} and data_format={data_format}"
        )
    if not 1 <= spatial <= 3:
        raise ValueError(
            f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape="
            f"{getattr(input, 'shape', None)} of rank {spatial + 2}."
        )
    return int(spatial)


def avg_pool_v2(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return the mean of every window, in 1, 2 or 3 dimensions."""
    ops: tuple[Callable[..., Any], ...] = (avg_pool1d, avg_pool, avg_pool3d)
    op = ops[_spatial_rank(input, data_format) - 1]
    return op(input, ksize, strides, padding, data_format=data_format, name=name)


def max_pool_v2(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return the maximum of every window, in 1, 2 or 3 dimensions.

    Raises:
      ValueError: the padding is explicit and the input has 3 spatial dimensions.
    """
    spatial = _spatial_rank(input, data_format)
    _refuse_vect(padding, data_format)
    if isinstance(padding, (list, tuple)) and spatial == 3:
        raise ValueError(
            "Explicit padding is not supported with an input tensor of rank 5. Received: "
            f"padding={padding}"
        )
    ops: tuple[Callable[..., Any], ...] = (max_pool1d, max_pool2d, max_pool3d)
    return ops[spatial - 1](input, ksize, strides, padding, data_format=data_format, name=name)


def max_pool_with_argmax(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    Targmax: TensorLike | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
    include_batch_in_index: bool = False,
) -> TensorResult:
    """Return the maximum of every window, and its position in the flattened image.

    Raises:
      ValueError: the channels are not last.
    """
    if data_format != "NHWC":
        raise ValueError(
            "`data_format` values other  than 'NHWC' are not supported. Received: "
            f"data_format={data_format}"
        )
    index_type = renamed("output_dtype", output_dtype, "Targmax", Targmax)
    return max_pool_with_argmax_op(
        input,
        ksize=list(ksize),
        strides=list(strides),
        padding=padding,
        Targmax=dtypes.int64 if index_type is None else index_type,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


def pool(
    input: TensorLike,
    window_shape: TensorLike,
    pooling_type: str,
    padding: PaddingLike,
    dilation_rate: IntsLike | None = None,
    strides: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> TensorResult:
    """Apply max or average pooling in 1, 2 or 3 dimensions; windows may be dilated.

    Raises:
      ValueError: the arguments do not fit.
    """
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        spatial = len(window_shape)
        if not 1 <= spatial <= 3:
            raise ValueError(
                f"`len(window_shape)` must be 1, 2, or 3. Received: window_shape={window_shape} of "
                f"length {spatial}"
            )
        input.shape.with_rank(spatial + 2)
        rates = np.array([1] * spatial if dilation_rate is None else dilation_rate, np.int32)
        steps = np.array([1] * spatial if strides is None else strides, np.int32)
        _check_pool(rates, steps, window_shape, padding)
        ops: dict[tuple[str, int], Callable[..., Any]] = {
            ("MAX", 1): max_pool,
            ("MAX", 2): max_pool,
            ("MAX", 3): max_pool3d,
            ("AVG", 1): avg_pool,
            ("AVG", 2): avg_pool,
            ("AVG", 3): avg_pool3d,
        }
        if (pooling_type, spatial) not in ops:
            raise ValueError(f"{spatial}-D {pooling_type} pooling is not supported.")
        pool_op = ops[pooling_type, spatial]
        last = data_format is None or not data_format.startswith("NC")
        sizes = [1, *window_shape, 1] if last else [1, 1, *window_shape]
        all_steps = [1, *steps.tolist(), 1] if last else [1, 1, *steps.tolist()]
        first = 1 if last else 2
        used_format = data_format
        if spatial == 1:
            sizes, all_steps = [1, *sizes], [1, *all_steps]
            used_format = "NHWC" if last else "NCHW"

        def op(
            x: TensorLike, num_spatial_dims: int, converted_padding: PaddingLike
        ) -> TensorResult:
            if spatial == 1:
                x = array_ops.expand_dims(x, first)
            result = pool_op(
                x, sizes, all_steps, converted_padding, name=scope, data_format=used_format
            )
            return array_ops.squeeze(result, [first]) if spatial == 1 else result

        return with_space_to_batch(
            input,
            rates,
            padding,
            op,
            spatial_dims=range(first, first + spatial),
            filter_shape=window_shape,
        )


def _check_pool(
    rates: IntsLike, steps: TensorLike, window_shape: Any, padding: PaddingLike
) -> None:
    if (rates < 1).any():
        raise ValueError(
            f"all values of `dilation_rate` must be positive. Received: dilation_rate={rates}"
        )
    if (steps < 1).any():
        raise ValueError(f"all values of `strides` must be positive. Received: strides={steps}")
    if (steps > 1).any() and (rates > 1).any():
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={steps} and dilation_rate={rates}"
        )
    if padding == "SAME" and (rates > 1).any():
        raise ValueError(
            "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. Received: "
            f"padding={padding} and dilation_rate={rates}"
        )
    if (steps > np.array(window_shape)).any():
        raise ValueError(
            "`strides` > `window_shape` not supported due to inconsistency between CPU and GPU "
            f"implementations. Received: strides={steps} and window_shape={window_shape}"
        )
