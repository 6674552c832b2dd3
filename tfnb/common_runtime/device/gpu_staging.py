"""Pinned host memory for copies between host and GPU.

The driver copies asynchronously from and to pinned memory; from other memory it blocks. Pinning is
slow, so buffers are reused: a buffer that a copy reads or writes is free again when the event after
the copy has completed. Sizes are powers of two, so that a few buffers fit many tensors.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 4096
# Limit of free bytes kept for reuse.
_MAX_KEPT = 256 << 20


class StagingBuffer:
    """One piece of pinned memory.

    Attributes:
      num_bytes: its size.
      pointer: its address, for the driver.
    """

    __slots__ = ("_memory", "num_bytes", "pointer")

    def __init__(self, memory: Any, num_bytes: int) -> None:
        self._memory = memory
        self.num_bytes = num_bytes
        self.pointer: int = memory.ptr

    def view(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the first bytes as an array."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return np.frombuffer(self._memory, np.uint8, size).view(dtype).reshape(shape)


class StagingPool:
    """The pinned buffers of one GPU; thread safe."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        # Reentrant: a copy that was not awaited returns its buffer when it is collected, perhaps
        # here.
        self._lock = threading.RLock()
        self._free: dict[int, list[StagingBuffer]] = {}  # by size; guarded by self._lock
        self._kept = 0  # bytes in _free; guarded by self._lock
        # Buffers that copies still use, oldest first; guarded by self._lock
        self._in_flight: deque[tuple[Any, StagingBuffer]] = deque()

    def take(self, num_bytes: int) -> StagingBuffer:
        """Return an unused buffer of at least ``num_bytes`` bytes."""
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
        """Return a buffer to the pool; it is reused once ``event``, if given, has completed."""
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
        """Release the unused buffers."""
        with self._lock:
            self._free.clear()
            self._kept = 0
