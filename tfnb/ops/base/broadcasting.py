"""Foundations of broadcasting ops: TensorFlow's error message, and checks of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors

if TYPE_CHECKING:
    from tfnb.core.errors import InvalidArgumentError
    from tfnb.core.kernel_types import Array


def shape_text(shape: Array) -> str:
    """Return a shape as TensorFlow's run-time errors write it.

    >>> shape_text((2, 3)), shape_text(())
    ('[2,3]', '[]')
    """
    return "[" + ",".join(map(str, shape)) + "]"


def incompatible_shapes(*arrays: Array) -> InvalidArgumentError:
    """Return the error for arrays that cannot be broadcast to one shape."""
    texts = " vs. ".join(shape_text(array.shape) for array in arrays)
    return errors.invalid_argument(f"Incompatible shapes: {texts}")


def require_same_shape(op_type: str, *arrays: Array) -> None:
    """Check that all arrays have the same shape.

    Raises:
      InvalidArgumentError: the shapes differ.
    """
    for index, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise errors.invalid_argument(
                f"Inputs to operation {op_type} must have the same size and shape.  "
                f"Input 0: {shape_text(arrays[0].shape)} != input {index}: "
                f"{shape_text(array.shape)}"
            )
