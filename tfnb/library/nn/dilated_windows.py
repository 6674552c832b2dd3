"""Windows with gaps: SpaceToBatchND puts the cells of a window side by side, in more batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.ops.array import array_ops
from tfnb.ops.array.space_ops import required_space_to_batch_paddings
from tfnb.ops.conv.window_arguments import convert_padding

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import IntsLike, PaddingLike, TensorLike, TensorResult

EXPORTS = {"nn": ["with_space_to_batch"]}


def with_space_to_batch(
    input: TensorLike,
    dilation_rate: IntsLike,
    padding: PaddingLike,
    op: Callable[[Any, int, Any], Any],
    filter_shape: TensorLike | None = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> TensorResult:
    """Apply an op of sliding windows with gaps, on every n-th cell at a time.

    Args:
      input: a tensor.
      dilation_rate: the distance of the cells of a window, per spatial dimension.
      padding: "SAME", "VALID" or explicit pairs.
      op: called with (input, number of spatial dimensions, padding).
      filter_shape: the spatial dimensions of the window first; needed for "SAME".
      spatial_dims: the indices of the spatial dimensions.
      data_format: the position of the channels.

    Raises:
      ValueError: the arguments do not fit.
    """
    input = convert_to_tensor(input, name="input")
    rate = convert_to_tensor(dilation_rate, dtypes.int32, name="dilation_rate")
    if rate.shape.ndims not in (None, 1):
        raise ValueError(
            f"`dilation_rate.shape.rank` must be 1. Received: dilation_rate={rate} of rank "
            f"{rate.shape.ndims}"
        )
    if not rate.shape.is_fully_defined():
        raise ValueError(
            f"`dilation_rate.shape` must be fully defined. Received: dilation_rate={rate} with "
            f"shape {rate.shape}"
        )
    num_spatial = int(rate.shape[0])
    first_is_channels = data_format is not None and data_format.startswith("NC")
    start = 2 if first_is_channels else 1
    given = list(range(start, start + num_spatial)) if spatial_dims is None else list(spatial_dims)
    dims = sorted({int(dim) for dim in given})
    if dims != given or any(dim < 1 for dim in dims):
        raise ValueError(
            "`spatial_dims` must be a monotonically increasing sequence of positive integers. "
            f"Received: spatial_dims={given}"
        )
    needed_rank = dims[-1] if first_is_channels else dims[-1] + 1
    if input.shape.ndims is not None and input.shape.ndims < needed_rank:
        raise ValueError(
            f"`input.shape.rank` must be at least {needed_rank}. Received: input.shape="
            f"{input.shape} with rank {input.shape.ndims}"
        )
    known_rate = constant_value(rate)
    if known_rate is not None:
        if (known_rate < 1).any():
            raise ValueError(
                f"`dilation_rate` must be positive. Received: dilation_rate={known_rate}"
            )
        if (known_rate == 1).all():
            return op(input, num_spatial, padding)
    base = _base_paddings(
        padding,
        filter_shape,
        num_spatial,
        rate if known_rate is None else known_rate,
        first_is_channels,
    )
    input_dims = input.shape.dim_values
    sizes: TensorLike = None if input_dims is None else [input_dims[dim] for dim in dims]
    if sizes is None or None in sizes:
        dynamic = array_ops.shape(input)
        sizes = array_ops.stack([dynamic[dim] for dim in dims])
    paddings, crops = required_space_to_batch_paddings(
        input_shape=sizes, base_paddings=base, block_shape=rate
    )
    block = _fill_gaps(rate, 1, dims)
    converted = array_ops.space_to_batch_nd(input, block, _fill_gaps(paddings, 0, dims))
    result = op(converted, num_spatial, "VALID")
    found = array_ops.batch_to_space_nd(result, block, _fill_gaps(crops, 0, dims))
    if first_is_channels and result.shape.ndims is not None:
        # The block has a side for the channels, which makes their size unknown to the shape
        # function.
        rest = [None] * (result.shape.ndims - 2)
        found.set_shape([found.shape[0], result.shape[1], *rest])
    return found


def _base_paddings(
    padding: PaddingLike,
    filter_shape: TensorLike,
    num_spatial: int,
    rate: IntsLike,
    first_is_channels: bool,
) -> TensorResult:
    padding, explicit = convert_padding(padding, num_spatial + 2)
    if padding == "VALID":
        return np.zeros([num_spatial, 2], np.int32)
    if padding == "EXPLICIT":
        pairs = np.array(explicit, np.int32).reshape([num_spatial + 2, 2])
        return pairs[2:] if first_is_channels else pairs[1:-1]
    if padding != "SAME":
        raise ValueError(f"`padding` must be one of 'SAME' or 'VALID'. Received: padding={padding}")
    if filter_shape is None:
        raise ValueError(
            "`filter_shape` must be specified for `padding='SAME'`. Received: "
            f"filter_shape={filter_shape} and padding={padding}"
        )
    sizes = convert_to_tensor(filter_shape, name="filter_shape")
    known = constant_value(sizes)
    spatial = (sizes if known is None else known)[:num_spatial]
    extra = (spatial - 1) * rate
    before = extra // 2
    after = extra - before
    return array_ops.stack([[before[i], after[i]] for i in range(num_spatial)])


def _fill_gaps(values: TensorLike, filler: int, spatial_dims: list[int]) -> TensorResult:
    """Return rows for all dimensions from 1 on, `filler` where a dimension is not spatial."""
    known = constant_value(values)
    rows = values if known is None else known
    dtype = values.dtype.as_numpy_dtype
    inner = values.shape.dim_values[1:]
    parts: list[TensorLike] = []
    done = 0
    position = 0
    while position < len(spatial_dims):
        first = position
        if spatial_dims[first] > 1:
            missing = spatial_dims[first] - 1 - done
            parts.append(np.full((missing, *inner), filler, dtype=dtype))
        while (
            position + 1 < len(spatial_dims)
            and spatial_dims[position + 1] == spatial_dims[position] + 1
        ):
            position += 1
        parts.append(rows[first : position + 1])
        done = spatial_dims[position]
        position += 1
    return array_ops.concat(parts, 0) if known is None else np.concatenate(parts)
