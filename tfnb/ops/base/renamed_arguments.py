"""Arguments that had another name once: both names are taken, not both at a time."""

from __future__ import annotations

from typing import Any


def renamed(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value that was given under either name.

    Raises:
      ValueError: it was given under both.
    """
    if new_value is None:
        return old_value
    if old_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return new_value
