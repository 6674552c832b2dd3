"""Arrays of byte strings: one function applied to every element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def strings(values: Sequence[bytes], shape: tuple[int, ...]) -> Any:
    """Byte strings as an array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def mapped(function: Callable[[Any], Any], array: Any, dtype: Any = object) -> Any:
    """The results of a function for every element, in the array's shape."""
    found = np.empty(array.size, dtype)
    found[:] = [function(value) for value in array.reshape(-1)]
    return found.reshape(array.shape)


def text_of(value: bytes) -> str:
    """Bytes as text; those that are no UTF-8 survive the way back."""
    return value.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Text as bytes again."""
    return text.encode("utf-8", "surrogateescape")


def as_text(value: Any) -> Any:
    """A string attribute of a kernel, which is bytes where it is no UTF-8, as text."""
    return text_of(value) if isinstance(value, bytes) else value


def as_bytes(value: Any) -> Any:
    """A string attribute of a kernel as bytes."""
    return value if isinstance(value, bytes) else bytes_of(value)
