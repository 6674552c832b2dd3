"""Arguments that were renamed: both names are accepted, but not in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike


def renamed(new_name: str, new_value: TensorLike, old_name: str, old_value: TensorLike) -> Any:
    """Return the value that was given under either name.

    Raises:
      ValueError: values are given under both names.
    """
    if new_value is None:
        return old_value
    if old_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return new_value
