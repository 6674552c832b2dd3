"""Gradients of broadcast inputs: sums over the dimensions that were repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.scopes import control_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.base import provided_functions as provided

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import TensorLike, TensorResult


def broadcast_axes(
    x: tuple[int | None, ...], y: tuple[int | None, ...]
) -> tuple[list[int], list[int]] | None:
    """Along which axes of the common shape ``x`` and ``y`` were repeated.

    None where that depends on sizes that are not known.

    >>> broadcast_axes((2, 1), (3,))
    ([1], [0])
    """
    rank = max(len(x), len(y))
    x = (1,) * (rank - len(x)) + x
    y = (1,) * (rank - len(y)) + y
    axes: tuple[list[int], list[int]] = ([], [])
    for axis, (p, q) in enumerate(zip(x, y, strict=True)):
        if p == 1 and q != 1:
            axes[0].append(axis)
        elif q == 1 and p != 1:
            axes[1].append(axis)
        elif p is None or q is None:
            return None
    return axes


def unbroadcast(
    x: TensorLike,
    y: TensorLike,
    grad_x: TensorLike,
    grad_y: TensorLike,
    *,
    skips_equal: bool = False,
) -> tuple[TensorResult, TensorResult]:
    """Sums gradients that have the common shape of ``x`` and ``y`` back to the shapes of the two.

    The nodes are those that TensorFlow makes, name for name.

    Args:
      x: one input of a broadcasting op.
      y: the other.
      grad_x: the gradient of the first; None stays None.
      grad_y: that of the second.
      skips_equal: whether inputs of one known shape add nothing to the graph; otherwise constants
        of their shapes are made.
    """
    known_x, known_y = x.shape.dim_values, y.shape.dim_values
    if skips_equal and known_x is not None and known_x == known_y and None not in known_x:
        return grad_x, grad_y
    shape_x, shape_y = array_ops.shape(x), array_ops.shape(y)
    axes = None if known_x is None or known_y is None else broadcast_axes(known_x, known_y)
    if axes is None:
        axes_x, axes_y = array_ops.broadcast_gradient_args(shape_x, shape_y)
        return _sum_to(grad_x, axes_x, shape_x), _sum_to(grad_y, axes_y, shape_y)
    assert known_x is not None
    assert known_y is not None
    if axes[0] or len(known_x) < len(known_y):
        grad_x = _sum_to(grad_x, axes[0], shape_x)
    if axes[1] or len(known_y) < len(known_x):
        grad_y = _sum_to(grad_y, axes[1], shape_y)
    return grad_x, grad_y


def unbroadcast_by_axes(
    x: TensorLike,
    y: TensorLike,
    gradients: Callable[..., tuple[Any, Any]],
    after: Any,
    *,
    by_shape: bool = False,
) -> tuple[TensorResult, TensorResult]:
    """Return the same, with axes that are always taken while the graph runs, as in older gradients.

    Args:
      x: one input of a broadcasting op.
      y: the other.
      gradients: makes the two gradients; None stays None.
      after: the gradient that what is made here waits for.
      by_shape: whether `gradients` takes the two shapes.
    """
    shapes = array_ops.shape(x), array_ops.shape(y)
    axes = array_ops.broadcast_gradient_args(*shapes)

    def summed(grad: TensorLike, index: int) -> Any:
        if grad is None:
            return None
        return array_ops.reshape(provided.reduce_sum(grad, axes[index]), shapes[index])

    with control_dependencies([after]):
        grad_x, grad_y = gradients(*shapes) if by_shape else gradients()
        return summed(grad_x, 0), summed(grad_y, 1)


def _sum_to(grad: Any, axes: Any, shape: Any) -> Any:
    if grad is None:
        return None
    return array_ops.reshape(provided.reduce_sum(grad, axes, keepdims=True), shape)
