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
    """Return the axes of the common shape along which ``x`` and ``y`` were repeated.

    None if that depends on unknown sizes.

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
    """Return gradients of the common shape, summed to the shapes of ``x`` and ``y``.

    The nodes and their names equal TensorFlow's.

    Args:
      x: one input of a broadcasting op.
      y: the other input.
      grad_x: the gradient of the first; None stays None.
      grad_y: the gradient of the second; None stays None.
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
    """Sum as `unbroadcast` does, but compute the axes while the graph runs, as in older gradients.

    Args:
      x: one input of a broadcasting op.
      y: the other input.
      gradients: returns the two gradients; None stays None.
      after: the gradient on which the new nodes depend.
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
