"""Arrays of byte strings: one function applied to every element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import host_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.kernel_types import Array, Attr


def strings(values: Sequence[bytes], shape: tuple[int, ...]) -> Array:
    """Byte strings as an array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def mapped(function: Callable[[Array], Array], array: Array, dtype: Attr = object) -> Array:
    """Return the results of a function for every element, in the array's shape."""
    found = np.empty(array.size, dtype)
    if host_memory.limit_of_thread() is None:
        found[:] = [function(value) for value in array.reshape(-1)]
        return found.reshape(array.shape)
    total = 0
    for index, value in enumerate(array.reshape(-1)):
        found[index] = result = function(value)
        total += len(result) if isinstance(result, bytes) else 0
        host_memory.check_size(total)
    return found.reshape(array.shape)


def check_joined(num_bytes: int, between: bytes, num_parts: int) -> None:
    """Refuses joined strings that are too long, before they are made.

    Args:
      num_bytes: of all parts.
      between: what stands between two of them.
      num_parts: how many there are.

    Raises:
      ResourceExhaustedError: this step may have no such string.
    """
    host_memory.check_size(num_bytes + len(between) * num_parts)


def num_bytes_of(array: Array) -> int:
    """How many bytes the strings of an array have."""
    return sum(map(len, array.reshape(-1).tolist()))


def text_of(value: bytes) -> str:
    """Bytes as text; those that are no UTF-8 survive the way back."""
    return value.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Text as bytes again."""
    return text.encode("utf-8", "surrogateescape")


def as_text(value: Array) -> Array:
    """Return a string attribute of a kernel, which is bytes where it is no UTF-8, as text."""
    return text_of(value) if isinstance(value, bytes) else value


def as_bytes(value: Array) -> Array:
    """Return a string attribute of a kernel as bytes."""
    return value if isinstance(value, bytes) else bytes_of(value)
