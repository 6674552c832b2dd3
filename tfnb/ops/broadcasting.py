"""What ops with broadcasting share: TensorFlow's error, and undoing the broadcast in gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors

if TYPE_CHECKING:
    from tfnb.core.errors import InvalidArgumentError


def shape_text(shape: Any) -> str:
    """A shape as TensorFlow's run-time errors write it.

    >>> shape_text((2, 3)), shape_text(())
    ('[2,3]', '[]')
    """
    return "[" + ",".join(map(str, shape)) + "]"


def incompatible_shapes(*arrays: Any) -> InvalidArgumentError:
    """The error for arrays that cannot be broadcast to one shape."""
    texts = " vs. ".join(shape_text(array.shape) for array in arrays)
    return errors.invalid_argument(f"Incompatible shapes: {texts}")


def require_same_shape(op_type: str, *arrays: Any) -> None:
    """Checks that all arrays have the first one's shape.

    Raises:
      InvalidArgumentError: one has another.
    """
    for index, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise errors.invalid_argument(
                f"Inputs to operation {op_type} must have the same size and shape.  "
                f"Input 0: {shape_text(arrays[0].shape)} != input {index}: "
                f"{shape_text(array.shape)}"
            )


def broadcast_axes(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Along which axes of the common shape ``x`` and ``y`` were repeated.

    >>> broadcast_axes((2, 1), (3,))
    ([1], [0])
    """
    rank = max(len(x), len(y))
    x = (1,) * (rank - len(x)) + x
    y = (1,) * (rank - len(y)) + y
    pairs = list(enumerate(zip(x, y, strict=True)))
    return (
        [i for i, (p, q) in pairs if p == 1 and q != 1],
        [i for i, (p, q) in pairs if q == 1 and p != 1],
    )


def unbroadcast(x: Any, y: Any, grad_x: Any, grad_y: Any) -> tuple[Any, Any]:
    """Sums gradients that have the common shape of ``x`` and ``y`` back to the shapes of the two.

    Where both shapes are known, this is decided while building and often adds nothing to the graph.
    """
    # These families use this file themselves.
    from tfnb.ops import array_ops

    known_x, known_y = x.shape.dim_values, y.shape.dim_values
    if known_x is None or known_y is None or None in known_x or None in known_y:
        shape_x, shape_y = array_ops.shape(x), array_ops.shape(y)
        axes_x, axes_y = array_ops.broadcast_gradient_args(shape_x, shape_y)
        return _sum_to(grad_x, axes_x, shape_x), _sum_to(grad_y, axes_y, shape_y)
    if known_x == known_y:
        return grad_x, grad_y
    static_x, static_y = broadcast_axes(known_x, known_y)
    rank = max(len(known_x), len(known_y))
    if static_x or len(known_x) != rank:
        grad_x = _sum_to(grad_x, static_x, known_x)
    if static_y or len(known_y) != rank:
        grad_y = _sum_to(grad_y, static_y, known_y)
    return grad_x, grad_y


def _sum_to(grad: Any, axes: Any, shape: Any) -> Any:
    from tfnb.ops import array_ops, reduction_ops

    if grad is None:
        return None
    if isinstance(axes, list) and not axes:
        return array_ops.reshape(grad, shape)
    return array_ops.reshape(reduction_ops.reduce_sum(grad, axes), shape)
