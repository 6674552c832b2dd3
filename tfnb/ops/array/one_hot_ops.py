"""OneHot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {
    "tf": [
        "one_hot",
    ],
}


def _one_hot_shape(c: InferenceContext) -> TensorShape:
    axis = c.attr("axis")
    if axis < -1:
        raise ValueError("axis must be >= -1")
    dims = c.inputs[0].dim_values
    depth = c.constant_value(1)
    if depth is not None:
        c.with_rank(1, 0)
    if depth is not None and int(depth) < 0:
        raise ValueError(f"depth must be non-negative, got: {int(depth)}")
    if dims is None:
        return UNKNOWN_SHAPE
    # The kernel raises the error for an axis beyond the rank.
    place = len(dims) if axis == -1 else axis if axis <= len(dims) else 0
    return TensorShape([*dims[:place], None if depth is None else int(depth), *dims[place:]])


@register_op(
    "OneHot",
    "indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
    "axis: int = -1",
    "T: type",
    "TI: {uint8, int8, int32, int64} = DT_INT64",
    shape=_one_hot_shape,
    host_memory=("depth",),
    traits="c_order rearranges",
)
def one_hot_op(
    xp: Xp, indices: Array, depth: Array, on_value: Array, off_value: Array, *, axis: int
) -> Array:
    """Return ``on_value`` at every index along a new axis and ``off_value`` elsewhere."""
    rank = indices.ndim
    if not (axis == -1 or 0 <= axis <= rank):
        raise errors.invalid_argument(
            f"Expected axis to be -1 or between [0, {rank + 1}).  But received: {axis}"
        )
    for name, value in (("depth", depth), ("on_value", on_value), ("off_value", off_value)):
        if value.ndim:
            raise errors.invalid_argument(
                f"{name} must be a scalar, but got: {shape_text(value.shape)}"
            )
    count = int(depth)
    if count < 0:
        raise errors.invalid_argument(f"depth must be non-negative, got: {count}")
    place = rank if axis == -1 else axis
    head, tail = indices.shape[:place], indices.shape[place:]
    check_fits(xp, (*head, count, *tail), on_value.dtype)
    out = xp.empty((math.prod(head), count, math.prod(tail)), on_value.dtype)
    out[...] = off_value if on_value.dtype != object else off_value[()]
    flat = xp.asarray(indices).reshape(math.prod(head), math.prod(tail))
    rows, columns = xp.nonzero((flat >= 0) & (flat < count))
    out[rows, flat[rows, columns], columns] = on_value if on_value.dtype != object else on_value[()]
    return out.reshape(*head, count, *tail)


one_hot_op.not_differentiable()


@dispatchable
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return ``on_value`` at every index along a new axis and ``off_value`` elsewhere.

    Args:
      indices: numbers; one that is not in ``[0, depth)`` gives ``off_value`` everywhere.
      depth: the size of the new axis.
      on_value: 1 by default.
      off_value: 0 by default.
      axis: the position of the new axis; -1, the default, is last.
      dtype: the type; by default that of the values, or float32.
      name: the name of the op.

    Raises:
      TypeError: the values and ``dtype`` do not agree.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as name:
        dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        given: dict[str, Tensor] = {}
        for label, value in (("on_value", on_value), ("off_value", off_value)):
            if value is not None:
                given[label] = convert_to_tensor(value, dtype_hint=dtype)
        for label, value in given.items():
            found_dtype = value.dtype.base_dtype
            if dtype is not None and found_dtype is not dtype:
                raise TypeError(
                    f"dtype {found_dtype} of {label} does not match dtype parameter {dtype}"
                )
        if dtype is None:
            dtype = next((v.dtype.base_dtype for v in given.values()), dtypes.float32)
        on = given.get("on_value")
        if on is None:
            on = convert_to_tensor(1, dtype, name="on_value")
        off = given.get("off_value")
        if off is None:
            off = convert_to_tensor(0, dtype, name="off_value")
        if on.dtype.base_dtype is not off.dtype.base_dtype:
            raise TypeError(
                f"dtype {on.dtype.base_dtype} of on_value does not match dtype "
                f"{off.dtype.base_dtype} of off_value"
            )
        found: Tensor = one_hot_op(
            indices, depth, on, off, axis=-1 if axis is None else axis, name=name
        )
        return found
