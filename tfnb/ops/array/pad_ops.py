"""Padding: with a constant, or with a mirror image of the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.channel_order import channels_to_last, channels_to_second, lies_channels_last
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.tensor import Tensor
from tfnb.ops.array.concat_ops import stack
from tfnb.ops.array.shape_ops import rank as rank_of
from tfnb.ops.array.shape_ops import reshape
from tfnb.ops.array.shape_ops import shape as shape_of
from tfnb.ops.array.slice_ops import slice_op
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, TensorLike

EXPORTS = {"tf": ["pad"]}


def _dims_and_paddings(c: InferenceContext) -> tuple[Any, Any]:
    rows, columns = c.with_rank(1, 2).dim_values or (None, None)
    if columns not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {columns}")
    source = c.inputs[0] if rows is None else c.with_rank(0, rows)
    return source.dim_values, c.constant_value(1)


def _pad_shape(c: InferenceContext) -> TensorShape:
    dims, paddings = _dims_and_paddings(c)
    if paddings is None:
        return UNKNOWN_SHAPE if dims is None else TensorShape([None] * len(dims))
    if dims is None:
        dims = (None,) * len(paddings)
    out: list[int | None] = []
    for dim, (before, after) in zip(dims, paddings.tolist(), strict=True):
        if before < 0 or after < 0:
            raise ValueError("Paddings must be non-negative")
        out.append(None if dim is None else dim + before + after)
    return TensorShape(out)


def _check_paddings(input: Array, paddings: Array, comma: str = "") -> Array:
    if paddings.ndim != 2 or paddings.shape[1] != 2:
        raise errors.invalid_argument(
            f"paddings must be a matrix with 2 columns: {shape_text(paddings.shape)}"
        )
    if paddings.shape[0] != len(input.shape):
        raise errors.invalid_argument(
            "The first dimension of paddings must be the rank of inputs"
            f"{shape_text(paddings.shape)}{comma} {shape_text(input.shape)}"
        )
    return paddings.tolist()


def _pad(xp: Xp, input: Array, paddings: Array, value: Array) -> Array:
    pairs = _check_paddings(input, paddings)
    for before, after in pairs:
        if before < 0 or after < 0:
            raise errors.invalid_argument(f"Paddings must be non-negative: {before} {after}")
    if not any(before or after for before, after in pairs):
        return input
    if lies_channels_last(input):
        order = [0, *range(2, input.ndim), 1]
        return channels_to_second(_pad(xp, channels_to_last(input), paddings[order], value))
    sizes = [n + before + after for n, (before, after) in zip(input.shape, pairs)]
    check_fits(xp, sizes, input.dtype)
    if input.dtype == object:
        out = np.empty(sizes, object)
        out[...] = b"" if value is None else value[()]
    elif value is None:
        out = xp.zeros(sizes, input.dtype)
    else:
        out = xp.empty(sizes, input.dtype)
        out[...] = value
    out[tuple([slice(before, before + n) for n, (before, _) in zip(input.shape, pairs)])] = input
    return out


@register_op(
    "Pad",
    "input: T, paddings: Tpaddings -> output: T",
    "T: type",
    "Tpaddings: {int32, int64} = DT_INT32",
    shape=_pad_shape,
    host_memory=("paddings",),
    traits="rearranges",
)
def pad_op(xp: Xp, input: Array, paddings: Array) -> Array:
    """Return the tensor padded with zeros."""
    return _pad(xp, input, paddings, None)


@register_op(
    "PadV2",
    "input: T, paddings: Tpaddings, constant_values: T -> output: T",
    "T: type",
    "Tpaddings: {int32, int64} = DT_INT32",
    shape=_pad_shape,
    host_memory=("paddings",),
    traits="rearranges",
)
def pad_v2(xp: Xp, input: Array, paddings: Array, constant_values: Array) -> Array:
    """Return the tensor padded with a constant."""
    if constant_values.ndim:
        raise errors.invalid_argument(
            f"constant_values must be a scalar. Found: {shape_text(constant_values.shape)}"
        )
    return _pad(xp, input, paddings, constant_values)


def _pad_gradient(op: Operation, grad: Tensor) -> Gradients:
    source, paddings = op.inputs[0], op.inputs[1]
    before = slice_op(paddings, [0, 0], stack([rank_of(source), 1]))
    begin = reshape(before, [-1])
    size = shape_of(source, out_type=begin.dtype)
    found = slice_op(grad, begin, size)
    return (found, None) if len(op.inputs) == 2 else (found, None, None)


pad_op.gradient(_pad_gradient)
pad_v2.gradient(_pad_gradient)

# ---------------------------------------------------------------------------------------- MirrorPad

_MIRROR = (
    "input: T, paddings: Tpaddings -> output: T",
    "T: type",
    "Tpaddings: {int32, int64} = DT_INT32",
    "mode: {'REFLECT', 'SYMMETRIC'}",
)


def _mirror_pairs(input: Array, paddings: Array, mode: str) -> Array:
    pairs = _check_paddings(input, paddings, ",")
    for size, (before, after) in zip(input.shape, pairs):
        if before < 0 or after < 0:
            raise errors.invalid_argument(f"paddings must be non-negative: {before} {after}")
        if mode == "SYMMETRIC" and (before > size or after > size):
            raise errors.invalid_argument(
                "paddings must be no greater than the dimension size: "
                f"{before}, {after} greater than {size}"
            )
        if mode == "REFLECT" and (before >= size or after >= size):
            raise errors.invalid_argument(
                "paddings must be less than the dimension size: "
                f"{before}, {after} not less than {size}"
            )
    return pairs


@register_op(
    "MirrorPad", *_MIRROR, shape=_pad_shape, host_memory=("paddings",), traits="rearranges"
)
def mirror_pad(xp: Xp, input: Array, paddings: Array, *, mode: str) -> Array:
    """Return the tensor padded with its own mirror image; SYMMETRIC repeats the border."""
    pairs = _mirror_pairs(input, paddings, mode)
    out = input
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            indices = _mirror_indices(out.shape[axis], before, after, mode)
            out = xp.take(out, xp.asarray(indices), axis)
    return out


def _mirror_indices(size: int, before: int, after: int, mode: str) -> Array:
    skip = 1 if mode == "REFLECT" else 0
    return np.concatenate(
        [
            np.arange(before - 1 + skip, skip - 1, -1),
            np.arange(size),
            np.arange(size - 1 - skip, size - 1 - skip - after, -1),
        ]
    ).astype(np.intp)


@mirror_pad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return mirror_pad_grad(grad, op.inputs[1], mode=op.get_attr("mode")), None


def _mirror_pad_grad_shape(c: InferenceContext) -> TensorShape:
    dims, paddings = _dims_and_paddings(c)
    if paddings is None or dims is None:
        return UNKNOWN_SHAPE if dims is None else TensorShape([None] * len(dims))
    out: list[int | None] = []
    for dim, (before, after) in zip(dims, paddings.tolist(), strict=True):
        if before < 0 or after < 0:
            raise ValueError("Paddings must be non-negative")
        if dim is not None and dim < before + after:
            raise ValueError(
                f"Negative dimension size caused by subtracting {before + after} from {dim}"
            )
        out.append(None if dim is None else dim - before - after)
    return TensorShape(out)


@register_op(
    "MirrorPadGrad",
    *_MIRROR,
    shape=_mirror_pad_grad_shape,
    host_memory=("paddings",),
    traits="rearranges",
)
def mirror_pad_grad(xp: Xp, input: Array, paddings: Array, *, mode: str) -> Array:
    """Return the sum of each element's gradient and those of its mirror images."""
    pairs = _check_paddings(input, paddings, ",")
    skip = 1 if mode == "REFLECT" else 0
    out = input
    for axis, (before, after) in enumerate(pairs):
        size = out.shape[axis] - before - after
        if before < 0 or after < 0:
            raise errors.invalid_argument(f"Paddings must be non-negative: {before}, {after}")
        if size <= 0:
            raise errors.invalid_argument(
                "Total paddings must be less than the input dimension size: "
                f"{before + after} was not less than {out.shape[axis]}"
            )
        if before > size - skip or after > size - skip:
            raise errors.invalid_argument(
                "Paddings must be no greater than the dimension size: "
                f"{before}, {after} greater than {size - skip}"
            )
        if not before and not after:
            continue
        moved = xp.moveaxis(out, axis, 0)
        inner = moved[before : before + size].copy()
        if before:
            inner[skip : skip + before] += moved[:before][::-1]
        if after:
            inner[size - skip - after : size - skip] += moved[before + size :][::-1]
        out = xp.moveaxis(inner, 0, axis)
    return out


@mirror_pad_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return mirror_pad(grad, op.inputs[1], mode=op.get_attr("mode")), None


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """Return a tensor with padding around it.

    Args:
      tensor: the tensor.
      paddings: a row (before, after) for every dimension.
      mode: CONSTANT, REFLECT or SYMMETRIC.
      name: the name of the op.
      constant_values: the value of the padding in the mode CONSTANT.

    Raises:
      ValueError: the mode is none of these.
    """
    from tfnb.framework.constant_value import constant_value

    upper = mode.upper()
    result: Tensor
    if upper == "CONSTANT":
        is_zero = (
            not isinstance(constant_values, Tensor)
            and np.isscalar(constant_values)
            and (constant_values == 0)
        )
        if is_zero:
            result = pad_op(tensor, paddings, name=name)
        else:
            result = pad_v2(tensor, paddings, constant_values, name=name)
    elif upper in ("REFLECT", "SYMMETRIC"):
        result = mirror_pad(tensor, paddings, mode=upper, name=name)
    else:
        raise ValueError(
            "Value of argument `mode` expected to be one of CONSTANT, REFLECT, or SYMMETRIC. "
            f"Received `mode` = {upper}"
        )
    if not result.shape.is_fully_defined():
        # Partially known paddings still determine a part of the shape.
        known = constant_value(result.op.inputs[1], partial=True)
        dims = result.op.inputs[0].shape.dim_values
        if known is not None and dims is not None:
            result.set_shape(
                [
                    None if dim is None or row is None or None in list(row) else dim + sum(row)
                    for dim, row in zip(dims, known)
                ]
            )
    return result
