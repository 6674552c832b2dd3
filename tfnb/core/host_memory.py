"""The memory limit for one tensor, checked before NumPy allocates.

NumPy refuses arrays larger than all memory of the machine. A container often may use less, and
Linux overcommits: a process that then writes to the memory is killed, a notebook's kernel included.
Therefore ops that make a tensor of a requested size compare it with the limit first.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Files with the memory limit of a container: cgroups version 2 and version 1.
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
# Smaller tensors are not checked.
_SMALL = 1 << 20
_MOST_ELEMENTS = (1 << 63) - 1
# NumPy's arrays have no more dimensions than this.
_MOST_DIMENSIONS = 64
_STRING = np.dtype("V24")  # the size of a string of TensorFlow, without its text


class _OfThread(threading.local):
    limit: int | None = None


_of_thread = _OfThread()


def limit_thread(limit: int | None) -> int | None:
    """Set the maximum bytes of a tensor of this thread; return the previous limit."""
    before, _of_thread.limit = _of_thread.limit, limit
    return before


@contextmanager
def at_most(num_bytes: int | None) -> Iterator[None]:
    """Limit tensors of this thread to ``num_bytes``, or to its own limit if that is smaller.

    For values that are made ahead of a step. None changes nothing.
    """
    before = _of_thread.limit
    if num_bytes is not None:
        _of_thread.limit = num_bytes if before is None else min(num_bytes, before)
    try:
        yield
    finally:
        _of_thread.limit = before


def limit() -> int:
    """Return the maximum bytes of one value of this thread."""
    return memory_limit() if _of_thread.limit is None else _of_thread.limit


def limit_of_thread() -> int | None:
    """Return the limit set by :func:`limit_thread`; None if only the machine's memory limits."""
    return _of_thread.limit


def resident_bytes() -> int:
    """Return the memory of this process, where the system says it; else 0."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def check_size(num_bytes: int) -> None:
    """Refuse a value of ``num_bytes``, a string or the contents of a file, before it is made.

    Raises:
        ResourceExhaustedError: It exceeds the limit of this thread, or all memory.
    """
    if num_bytes > _SMALL or _of_thread.limit is not None:
        allowed = limit()
        if num_bytes > allowed:
            raise errors.out_of_memory(
                f"OOM when allocating {num_bytes:,} bytes: there may be {allowed:,}."
            )


class TensorTooLargeError(MemoryError):
    """A tensor is larger than all memory; ``shape`` and ``dtype`` describe it."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], limit: int) -> None:
        num_bytes = math.prod(shape) * dtype.itemsize
        super().__init__(f"it has {num_bytes:,} bytes, there are {limit:,}")
        self.shape = shape
        self.dtype = dtype


@functools.cache
def memory_limit() -> int:
    """Return the bytes that this process may use: of the machine, or of its container.

    >>> memory_limit() > 1 << 20
    True
    """
    limits = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    limits += [limit for path in _CONTAINER_LIMITS if (limit := container_limit(path))]
    return min((limit for limit in limits if limit > 0), default=1 << 62)


def container_limit(path: str | os.PathLike[str]) -> int:
    """Return the limit in a cgroup file, or 0 where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read().strip()
    except OSError:
        return 0
    return int(text) if text.isdecimal() else 0


def check_fits(
    xp: Any, shape: Sequence[int], dtype: np.dtype[Any], *, is_given: bool = False
) -> None:
    """Refuse a tensor with too many elements, or in host memory larger than the limit.

    Args:
        xp: The array module that makes it; a GPU's memory pool has its own limit.
        shape: The requested sizes.
        dtype: The element type.
        is_given: Whether an input holds the whole shape; see :func:`check_countable`.

    Raises:
        InvalidArgumentError: It has more than 64 dimensions, which NumPy does not allow.
        InvalidArgumentError: It would have more than 2**63 - 1 elements, counted from the first
            dimension on, so that a later 0 does not help.
        InternalError: It is empty, but NumPy has no array with its other dimensions.
        TensorTooLargeError: It cannot be held; the executor makes it a ResourceExhaustedError.
    """
    if dtype.kind == "O":
        dtype = _STRING
    if len(shape) > _MOST_DIMENSIONS:
        raise errors.invalid_argument(
            f"Too many dimensions: {len(shape)}; arrays of NumPy have at most {_MOST_DIMENSIONS}"
        )
    num_bytes = math.prod(shape) * dtype.itemsize
    if num_bytes > _SMALL or not num_bytes:
        check_countable(shape, is_given=is_given)
    if not num_bytes and math.prod(n for n in shape if n) * dtype.itemsize > _MOST_ELEMENTS:
        raise errors.internal("Could not allocate ndarray")
    if xp is not np:
        return
    if _of_thread.limit is not None and num_bytes > _of_thread.limit:
        raise TensorTooLargeError(tuple(shape), dtype, _of_thread.limit)
    if num_bytes > _SMALL and num_bytes > memory_limit():
        raise TensorTooLargeError(tuple(shape), dtype, memory_limit())


def check_countable(shape: Sequence[int], *, is_given: bool = False) -> None:
    """Refuse a shape with more than 2**63 - 1 elements, whatever their size.

    Args:
        shape: The sizes.
        is_given: Whether an input holds the whole shape; TensorFlow's message for it differs from
            the one for a shape that the kernel puts together.

    Raises:
        InvalidArgumentError: There are more.
    """
    count = 1
    for size in map(int, shape):
        if count * size > _MOST_ELEMENTS:
            if is_given:
                text = ",".join(map(str, shape))
                raise errors.invalid_argument(
                    f"Shape [{text}] would have more than 2**63 - 1 elements"
                )
            if size > _MOST_ELEMENTS:
                raise errors.invalid_argument(
                    f"Expected a non-negative size, got {size - (1 << 64)}"
                )
            raise errors.invalid_argument(
                f"Encountered overflow when multiplying {count} with {size}, result: -1"
            )
        count *= size
