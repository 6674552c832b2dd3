"""``tensorflow.python.util.deprecation``: decorators that change nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def _unchanged(*_given: Any, **_options: Any) -> Callable[[Any], Any]:
    """Return a decorator that returns what it is given; a program's own notes are not printed."""

    def decorate(target: Any) -> Any:
        return target

    return decorate


deprecated = deprecated_endpoints = deprecated_args = deprecated_arg_values = _unchanged


def deprecated_alias(deprecated_name: str, name: str, func_or_class: Any, **_options: Any) -> Any:
    """Return the function or class under its newer name."""
    return func_or_class


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Return the value of an argument that was renamed.

    Raises:
      ValueError: both names have a value.
    """
    if old_value is not None:
        if new_value is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
        return old_value
    return new_value


class silence:
    """A block without notes about deprecated names; tfnb prints none."""

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, *_: object) -> None:
        """End the block."""
