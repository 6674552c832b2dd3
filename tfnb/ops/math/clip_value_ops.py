"""ClipByValue, and tf.clip_by_value, which TensorFlow builds from Minimum and Maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import unchanged_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math.comparison_ops import greater, less, logical_or
from tfnb.ops.math.cwise_binary_ops import maximum, minimum
from tfnb.ops.math.reduction_ops import reduce_sum

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {"tf": ["clip_by_value"]}


@register_op(
    "ClipByValue",
    "t: T, clip_value_min: T, clip_value_max: T -> output: T",
    "T: numbertype",
    shape=unchanged_shape,
)
def clip_by_value_op(xp: Xp, t: Array, clip_value_min: Array, clip_value_max: Array) -> Array:
    """Return max(min(t, high), low); the limits are scalars or have the shape of t."""
    for limit in (clip_value_min, clip_value_max):
        if limit.ndim and limit.shape != t.shape:
            raise errors.invalid_argument(
                "clip_value_min and clip_value_max must be either of "
                f"the same shape as input, or a scalar. input shape: {shape_text(t.shape)}"
                f"clip_value_min shape: {shape_text(clip_value_min.shape)}"
                f"clip_value_max shape: {shape_text(clip_value_max.shape)}"
            )
    clipped = _limited(xp, xp.minimum, t, clip_value_max)
    return _limited(xp, xp.maximum, clipped, clip_value_min)


def _limited(xp: Xp, function: Callable[..., Array], t: Array, limit: Array) -> Array:
    """Return `function` of t and a limit; a limit that is NaN does not limit."""
    if limit.ndim == 0:
        return function(t, limit) if limit == limit else t
    clipped = function(t, limit)
    return clipped if limit.dtype.kind in "iu" else xp.where(xp.isnan(limit), t, clipped)


@clip_by_value_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, low, high = op.inputs
    shape, low_shape, high_shape = (array_ops.shape(value) for value in (x, low, high))
    zeros = array_ops.zeros(array_ops.shape(grad), grad.dtype)
    below, above = less(x, low), greater(x, high)
    low_axes = array_ops.broadcast_gradient_args(shape, low_shape)[1]
    high_axes = array_ops.broadcast_gradient_args(shape, high_shape)[1]
    grad_x = array_ops.where(logical_or(below, above), zeros, grad)
    of_low, of_high = array_ops.where(below, grad, zeros), array_ops.where(above, grad, zeros)
    grad_low = array_ops.reshape(reduce_sum(of_low, low_axes), low_shape)
    return grad_x, grad_low, array_ops.reshape(reduce_sum(of_high, high_axes), high_shape)


@dispatchable
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """Return every element limited to a range; slices stay slices."""
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = values_of(t, "t")
        lowered = minimum(values, clip_value_max)
        # The limits must not broadcast the tensor to a larger shape.
        values.shape.assert_is_compatible_with(lowered.shape)
        clipped = maximum(lowered, clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
        return like(t, clipped)


def values_of(t: TensorLike, name: str) -> TensorResult:
    """Return the elements of a tensor or of slices as a tensor."""
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=name)


def like(t: TensorLike, values: TensorLike) -> Any:
    """Return values in the form of ``t``: as slices if ``t`` is slices, else unchanged."""
    return (
        IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values
    )
