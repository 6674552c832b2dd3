"""Joining large buffers into one bytes object.

``b"".join`` of 100 MB takes four times as long as a copy between arrays: the system hands out each
page of 4 KB on its first use.  NumPy asks for huge pages for its arrays; here the same is done for
the memory of a bytes object, before its content is written.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Shorter results come from memory that is in use already.
LARGE_BYTES = 1 << 22


def join(parts: Sequence[bytes | memoryview], size: int) -> bytes:
    """Join buffers.

    >>> join([b"ab", memoryview(b"c")], 3)
    b'abc'

    Args:
      parts: bytes, or views of bytes.
      size: the number of all their bytes.
    """
    advise = _advise() if size >= LARGE_BYTES else None
    if advise is None:
        return b"".join(parts)
    # CPython's C interface makes bytes without content; the caller fills them before another
    # reference to them exists.
    result: bytes = _new_bytes()(None, size)
    address = _address_of()(result)
    first_page = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    advise(first_page, (address + size - first_page) // mmap.PAGESIZE * mmap.PAGESIZE)
    content = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
    begin = 0
    for part in parts:
        end = begin + len(part)
        content[begin:end] = part
        begin = end
    return result


@cache
def _advise() -> Callable[[int, int], None] | None:
    """Return what asks for huge pages in a range of memory; None where there are none."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is None or sys.implementation.name != "cpython":
        return None
    madvise = getattr(ctypes.CDLL(None), "madvise", None)
    if madvise is None:
        return None

    def advise(address: int, size: int) -> None:
        madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), advice)

    return advise


@cache
def _new_bytes() -> Any:
    function = ctypes.pythonapi.PyBytes_FromStringAndSize
    function.restype, function.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_ssize_t]
    return function


@cache
def _address_of() -> Any:
    function = ctypes.pythonapi.PyBytes_AsString
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.py_object]
    return function
