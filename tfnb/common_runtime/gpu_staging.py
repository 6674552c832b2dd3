"""Pinned host memory that copies between host and GPU go through.

The driver can copy from and to pinned memory while everybody goes on; from other memory it waits.
Pinning is slow, so buffers are used again: one that a copy still reads or writes comes back when
the event behind the copy has happened. Sizes are powers of two, so that few of them fit many
tensors.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 4096
# How many bytes wait at most to be used again.
_MAX_KEPT = 256 << 20


class StagingBuffer:
    """One piece of pinned memory.

    Attributes:
      num_bytes: how large it is.
      pointer: its address, for the driver.
    """

    __slots__ = ("_memory", "num_bytes", "pointer")

    def __init__(self, memory: Any, num_bytes: int) -> None:
        self._memory = memory
        self.num_bytes = num_bytes
        self.pointer: int = memory.ptr

    def view(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The first bytes as an array."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return np.frombuffer(self._memory, np.uint8, size).view(dtype).reshape(shape)


class StagingPool:
    """The pinned buffers of one GPU; thread safe."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        # A copy that nobody waited for gives its buffer back when it is collected, perhaps here.
        self._lock = threading.RLock()
        self._free: dict[int, list[StagingBuffer]] = {}  # by size; guarded by self._lock
        self._kept = 0  # bytes in _free; guarded by self._lock
        # What copies still use, oldest first; guarded by self._lock
        self._in_flight: deque[tuple[Any, StagingBuffer]] = deque()

    def take(self, num_bytes: int) -> StagingBuffer:
        """A buffer of at least so many bytes that nobody uses."""
        size = max(_SMALLEST, 1 << (num_bytes - 1).bit_length())
        with self._lock:
            while self._in_flight and self._in_flight[0][0].done:
                self._keep(self._in_flight.popleft()[1])
            free = self._free.get(size)
            if free:
                self._kept -= size
                return free.pop()
        return StagingBuffer(self._cupy.cuda.alloc_pinned_memory(size), size)

    def give_back(self, buffer: StagingBuffer, event: Any = None) -> None:
        """Takes a buffer back; it is used again once ``event``, if there is one, has happened."""
        with self._lock:
            if event is None:
                self._keep(buffer)
            else:
                self._in_flight.append((event, buffer))

    def _keep(self, buffer: StagingBuffer) -> None:
        if self._kept + buffer.num_bytes <= _MAX_KEPT:
            self._kept += buffer.num_bytes
            self._free.setdefault(buffer.num_bytes, []).append(buffer)

    def clear(self) -> None:
        """Lets go of the buffers that nobody uses."""
        with self._lock:
            self._free.clear()
            self._kept = 0
