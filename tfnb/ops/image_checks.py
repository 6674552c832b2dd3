"""What functions on images ask of their argument's shape, before the run where it is known."""

from __future__ import annotations

from typing import Any

from tfnb.ops import array_ops
from tfnb.ops.check_ops import assert_greater_equal, assert_positive
from tfnb.ops.identity_ops import identity
from tfnb.ops.with_dependencies import with_dependencies


def at_least_3d(image: Any) -> Any:
    """The image behind checks that it has three dimensions or more, none of them empty.

    Raises:
      ValueError: it is known not to.
    """
    shape = image.shape
    if shape.ndims is not None and shape.ndims < 3:
        raise ValueError("'image' must be at least three-dimensional.")
    inner = None if shape.ndims is None else shape.dim_values[-3:]
    if inner is not None and 0 in inner:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {shape}")
    if inner is not None and None not in shape.dim_values:
        return identity(image, name="control_dependency")
    checks = [
        assert_positive(
            array_ops.shape(image)[-3:], ["inner 3 dims of 'image.shape' must be > 0."]
        ),
        assert_greater_equal(
            array_ops.rank(image), 3, message="'image' must be at least three-dimensional."
        ),
    ]
    return with_dependencies(checks, image)


def with_checks(checks: list[Any], value: Any) -> Any:
    """The value behind the checks that are left for the run."""
    if not checks:
        return identity(value, name="control_dependency")
    return with_dependencies(checks, value)


def require(condition: Any, error: type[Exception], message: str) -> list[Any]:
    """Checks a condition now, or gives the op that will.

    Raises:
      error: the condition is known to be false.
    """
    from tfnb.ops.control_flow_assert import assert_

    if isinstance(condition, (bool, int)):
        if not condition:
            raise error(message)
        return []
    return [assert_(condition, [message])]
