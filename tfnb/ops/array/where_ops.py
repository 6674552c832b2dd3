"""Choosing by a condition: Where, where, boolean_mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.array.gather_ops import gather
from tfnb.ops.array.shape_ops import reshape, squeeze
from tfnb.ops.array.shape_ops import shape as shape_of
from tfnb.ops.base import provided_functions as provided

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import (
        InferenceContext,
    )
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {
    "tf": [
        "where",
        "where_v2",
        "boolean_mask",
    ],
}


def _where_shape(c: InferenceContext) -> TensorShape:
    return TensorShape([None, c.inputs[0].ndims])


@register_op(
    "Where",
    "input: T -> index: int64",
    "T: {numbertype, bool} = DT_BOOL",
    shape=_where_shape,
    traits="rearranges",
)
def where_op(xp: Xp, input: Array) -> Array:
    """Return the coordinates of all elements that are not zero, in row-major order."""
    value = xp.asarray(input)
    if value.ndim == 0:
        raise errors.invalid_argument("WhereOp : Unhandled input dimensions: 0")
    return xp.argwhere(value != 0).astype(np.int64, copy=False)


@dispatchable
def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the coordinates where a condition holds, or elements of ``x`` there, else of ``y``.

    Args:
      condition: a tensor; nonzero elements count as true.
      x: if given, ``y`` is too, of the same shape; ``condition`` may be a vector that chooses rows.
      y: see ``x``.
      name: the name of the op.

    Raises:
      ValueError: only one of ``x`` and ``y`` is given.
    """
    found: Tensor
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as name:
            condition = convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")
            found = where_op(condition, name=name)
            return found
    if x is not None and y is not None:
        found = provided.select(condition, x, y, name=name)
        return found
    raise ValueError("x and y must both be non-None or both be None.")


def where_v2(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the results of :func:`where`, with broadcasting of the three tensors."""
    found: Tensor
    if x is None and y is None:
        return where(condition, name=name)
    if x is not None and y is not None:
        found = provided.select_v2(condition, x, y, name=name)
        return found
    raise ValueError("x and y must both be non-None or both be None.")


@dispatchable
def boolean_mask(
    tensor: TensorLike,
    mask: TensorLike,
    name: str | None = "boolean_mask",
    axis: TensorLike | None = None,
) -> Tensor:
    """Return the elements of a tensor where a mask is true.

    Args:
      tensor: the tensor.
      mask: a tensor of bools whose rank is known; its shape is that of the first dimensions of
        ``tensor``, from ``axis`` on.
      name: the name of the op.
      axis: the first of these dimensions; 0 by default.

    Raises:
      ValueError: the mask is a scalar or of unknown rank, or does not fit.
    """
    with name_scope(name, values=[tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        mask_rank = mask.shape.ndims
        if mask_rank == 0:
            raise ValueError("mask cannot be scalar.")
        if mask_rank is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        axis = 0 if axis is None else axis
        static_axis = constant_value(axis)
        whole = tensor.shape
        if static_axis is not None:
            axis = int(static_axis)
            whole[axis : axis + mask_rank].assert_is_compatible_with(mask.shape)
        leading = provided.reduce_prod(shape_of(tensor)[axis : axis + mask_rank], [0])
        head, tail = shape_of(tensor)[:axis], shape_of(tensor)[axis + mask_rank :]
        tensor = reshape(tensor, concat([head, [leading], tail], 0))
        if static_axis is not None:
            first = whole[axis : axis + mask_rank].num_elements()
            tensor.set_shape(
                TensorShape(whole[:axis])
                .concatenate([first])
                .concatenate(whole[axis + mask_rank :])
            )
        mask = reshape(mask, [-1])
        indices = squeeze(where_v2(mask), axis=[1])
        return gather(tensor, indices, axis=axis)
