"""Checks of the shapes of images, while the graph is built where the shapes are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.check_ops import assert_greater_equal, assert_positive
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array import array_ops

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


def unknown_at_least_3d(image: TensorLike) -> list[Nested]:
    """Return ops that check what is unknown: three dimensions or more, none of them empty.

    Raises:
      ValueError: the image is known to violate this.
    """
    shape = image.shape
    if shape.ndims is not None and shape.ndims < 3:
        raise ValueError(f"'image' (shape {shape}) must be at least three-dimensional.")
    inner = (None,) * 3 if shape.ndims is None else shape.dim_values[-3:]
    if 0 in inner:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {shape}")
    if None not in inner:
        return []
    return [
        assert_positive(
            array_ops.shape(image)[-3:], ["inner 3 dims of 'image.shape' must be > 0."]
        ),
        assert_greater_equal(
            array_ops.rank(image), 3, message="'image' must be at least three-dimensional."
        ),
    ]


def at_least_3d(image: TensorLike) -> TensorResult:
    """Return the image behind checks for three dimensions or more, none of them empty.

    Raises:
      ValueError: the image is known to violate this.
    """
    return with_dependencies(unknown_at_least_3d(image), image)


def sizes_of(image: TensorLike, rank: int = 4) -> list[Nested]:
    """Return the sizes of an image: numbers where they are known, else tensors."""
    if image.shape.is_fully_defined():
        return list(image.shape.as_list())
    known = image.shape.with_rank(rank).as_list()
    dynamic = array_ops.unstack(array_ops.shape(image), rank)
    return [one if size is None else size for size, one in zip(known, dynamic, strict=True)]


def require(condition: TensorLike, error: type[Exception], message: str) -> list[Nested]:
    """Check a condition now, or return the op that checks it in a step.

    Raises:
      error: the condition is known to be false.
    """
    from tfnb.library.control_flow.control_flow_assert import assert_

    if isinstance(condition, Tensor):
        return [assert_(condition, [message])]
    if not condition:
        raise error(message)
    return []
