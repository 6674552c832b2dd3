"""Limits of values and norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import colocate_with, name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.math import reduction_ops
from tfnb.ops.math.clip_value_ops import clip_by_value_op, like, values_of
from tfnb.ops.math.complex_ops import real
from tfnb.ops.math.cwise_binary_ops import maximum, minimum
from tfnb.ops.math.cwise_unary_ops import rsqrt_op, sqrt_op
from tfnb.ops.math.sequence_ops import range_
from tfnb.ops.nn.normalization_ops import l2_loss

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "clip_by_norm", "clip_by_global_norm", "clip_by_average_norm",
        "global_norm", "saturate_cast",
    ],
    "dtypes": ["saturate_cast"],
    "linalg": ["global_norm"],
}  # fmt: skip


def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> TensorResult:
    """Scale t down so that its L2 norm is at most clip_norm."""
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = values_of(t, "t")
        if isinstance(clip_norm, int | float | np.number):
            clip_norm = max(clip_norm, 0)
        else:
            clip_norm = cast(maximum(clip_norm, 0), dtype=values.dtype)
        total = reduction_ops.reduce_sum(values * values, axes, keepdims=True)
        positive = total > 0
        # The square root is taken of 1 where the norm is 0: otherwise its gradient is NaN.
        safe = array_ops.where(positive, total, array_ops.ones_like(total))
        norm = array_ops.where(positive, sqrt_op(safe), total)
        scaled = values * clip_norm
        values.shape.assert_is_compatible_with(scaled.shape)
        clipped = array_ops.identity(scaled / maximum(norm, clip_norm), name=scope)
        return like(t, clipped)


def clip_by_average_norm(
    t: TensorLike, clip_norm: TensorLike, name: str | None = None
) -> TensorResult:
    """Scale t down so that its L2 norm divided by its size is at most clip_norm."""
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = convert_to_tensor(t, name="t")
        count = cast(array_ops.size(t), dtypes.float32)
        squares = t * t
        inverse = rsqrt_op(reduction_ops.reduce_sum(squares, range_(array_ops.rank(t))))
        scaled = t * clip_norm
        factor = minimum(inverse * count, convert_to_tensor(1.0) / clip_norm)
        return array_ops.identity(scaled * factor, name=scope)


def global_norm(t_list: TensorLike, name: str | None = None) -> TensorResult:
    """Return the L2 norm of all elements of all tensors together; None entries are left out.

    Raises:
      TypeError: `t_list` is no sequence.
    """
    t_list = _as_list(t_list)
    with name_scope(name, "global_norm", t_list):
        halves = []
        for index, t in enumerate(t_list):
            if t is not None:
                values = values_of(t, f"t_{index}")
                with colocate_with(values):
                    halves.append(l2_loss(values))
        half = reduction_ops.reduce_sum(array_ops.stack(halves))
        return sqrt_op(half * convert_to_tensor(2.0, dtype=half.dtype), name="global_norm")


def clip_by_global_norm(
    t_list: TensorLike,
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Nested], Nested]:
    """Scale all tensors down together so that their global norm is at most clip_norm.

    Returns:
      The tensors, and the global norm before.

    Raises:
      TypeError: `t_list` is no sequence.
    """
    t_list = _as_list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with name_scope(name, "clip_by_global_norm", [*t_list, clip_norm]) as scope:
        inverse = 1.0 / use_norm
        one = convert_to_tensor(1.0, dtype=use_norm.dtype)
        finite_scale = clip_norm * minimum(inverse, one / clip_norm)
        # Makes the scale NaN where the norm is infinite or NaN, and changes nothing else.
        scale = finite_scale + (use_norm - use_norm)
        values = [
            None if t is None else values_of(t, f"t_{index}") for index, t in enumerate(t_list)
        ]
        clipped: list[TensorLike] = []
        for index, (t, value) in enumerate(zip(t_list, values, strict=True)):
            if value is None:
                clipped.append(None)
                continue
            with colocate_with(value):
                scaled = value * cast(scale, value.dtype)
                clipped.append(like(t, array_ops.identity(scaled, name=f"{scope}_{index}")))
    return clipped, use_norm


def _as_list(t_list: TensorLike) -> list[TensorResult]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return list(t_list)


@dispatchable
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> TensorResult:
    """Cast; a number that the dtype cannot represent becomes its nearest limit."""
    target = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert_to_tensor(value, name="value")
        source = value.dtype.base_dtype
        if source.is_complex:
            if target.is_complex:
                value = _with_parts_within(value, source, target)
                return cast(value, target, name=scope)
            value = real(value)
            source = source.real_dtype
        limit = target.real_dtype
        low, high = _limits(source, limit)
        value = clip_by_value_op(
            value,
            convert_to_tensor(low, dtype=source),
            convert_to_tensor(high, dtype=source),
            name="clamp",
        )
        return cast(value, target, name=scope)


def _with_parts_within(value: TensorLike, source: DType, target: DType) -> TensorResult:
    """Return a complex value with its parts clipped to numbers that ``target`` can represent."""
    limit = target.real_dtype
    if source.real_dtype.max <= limit.max:
        return value
    low, high = complex(limit.min, limit.min), complex(limit.max, limit.max)
    return clip_by_value_op(
        value,
        convert_to_tensor(low, dtype=source),
        convert_to_tensor(high, dtype=source),
        name="clamp",
    )


def _limits(source: DType, target: DType) -> tuple[Nested, Nested]:
    """Return the lowest and highest numbers of ``source`` that ``target`` can represent, too."""
    np_source = source.as_numpy_dtype
    try:
        wide: TensorLike = np.promote_types(np_source, target.as_numpy_dtype)
    except TypeError:
        wide = np.float64
    low = np_source(np.maximum(source.min, target.min))
    pair = np.array([low, target.min], dtype=wide)
    if pair[0] < pair[1]:
        low = np.nextafter(low, np_source(0), dtype=np_source)
    high = np_source(np.minimum(float(source.max), float(target.max)))
    pair = np.array([high, target.max], dtype=wide)
    if pair[0] > pair[1]:
        high = np.nextafter(high, np_source(0), dtype=np_source)
    return low, high
