"""Arrays of byte strings, and functions applied to each of their elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import host_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.kernel_types import Array, Attr


def strings(values: Sequence[bytes], shape: tuple[int, ...]) -> Array:
    """Return byte strings as an array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def mapped(function: Callable[[Array], Array], array: Array, dtype: Attr = object) -> Array:
    """Return the results of a function for every element, in the array's shape."""
    found = np.empty(array.size, dtype)
    if host_memory.limit_of_thread() is None:
        values = array.reshape(-1)
        # A list is faster to go through, but would change the types of numbers.
        some = values.tolist() if values.dtype == object else values
        found[:] = [function(value) for value in some]
        return found.reshape(array.shape)
    total = 0
    for index, value in enumerate(array.reshape(-1)):
        found[index] = result = function(value)
        total += len(result) if isinstance(result, bytes) else 0
        host_memory.check_size(total)
    return found.reshape(array.shape)


def check_joined(num_bytes: int, between: bytes, num_parts: int) -> None:
    """Refuse joined strings that are too long, before they are built.

    Args:
      num_bytes: the length of all parts together.
      between: the separator.
      num_parts: the number of parts.

    Raises:
      ResourceExhaustedError: the string would exceed this step's limit.
    """
    host_memory.check_size(num_bytes + len(between) * num_parts)


def num_bytes_of(array: Array) -> int:
    """Return the number of bytes of an array's strings."""
    return sum(map(len, array.reshape(-1).tolist()))


def text_of(value: bytes) -> str:
    """Return bytes as text; bytes that are not UTF-8 survive the conversion back."""
    return value.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Return text as the bytes that :func:`text_of` got."""
    return text.encode("utf-8", "surrogateescape")


def as_text(value: Array) -> Array:
    """Return a string attribute of a kernel as text; it is bytes where it is not UTF-8."""
    return text_of(value) if isinstance(value, bytes) else value


def as_bytes(value: Array) -> Array:
    """Return a string attribute of a kernel as bytes."""
    return value if isinstance(value, bytes) else bytes_of(value)
