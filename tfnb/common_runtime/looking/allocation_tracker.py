"""Buffers of a step: which node allocated each one, its size, when it was freed.

NumPy does not report its allocations, so buffers are recorded when they come out of nodes. A
buffer is the array that owns the memory; views of it share its allocation id, which stays the same
for its life. A weak reference reports that it was freed, so tracking keeps no buffer alive.
Scalars, which take no weak references, are held until the step ends.

A step's tracker belongs to the thread that drives the step. A weak reference may die in any thread;
its callback only appends to ``_freed``, which runs no Python code that an interrupt could hit. A
buffer therefore counts as freed from the next use of the tracker on.

Memory that a kernel takes and frees while it runs is not seen here; ``TemporaryMemory`` measures
it.
"""

from __future__ import annotations

import ctypes
import itertools
import operator
import threading
import tracemalloc
import weakref
from collections import deque
from functools import partial
from sys import getrefcount
from time import perf_counter_ns, sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import array_module

if TYPE_CHECKING:
    from collections.abc import Callable

# Memory that the interpreter itself may take for a node; smaller amounts are not attributed to the
# kernel.
_INTERPRETER_BYTES = 4096
# Kernels are measured from the step's first tensor of this size on: before it, temporary memory is
# small, and measuring takes longer than the kernel.
MEASURED_BYTES = 256 * 1024
# At most this many nodes are listed per allocator, until they account for this share of its bytes.
_MAX_LISTED = 100
_MAX_LISTED_SHARE = 0.99

# Number of buffer ids that are kept before those of dead buffers are removed.
_MANY_IDS = 1000
_many = _MANY_IDS  # guarded by _ids_lock

_new_id = itertools.count(1)
_ids_lock = threading.Lock()
# id of the owner -> (weak reference, allocation id); guarded by _ids_lock
_ids: dict[int, tuple[weakref.ref[Any], int]] = {}


class _Reference(weakref.ref[Any]):
    """A weak reference that holds the record of its buffer."""

    __slots__ = ("buffer", "key")
    buffer: Buffer
    key: int


class Buffer:
    """One allocated piece of memory.

    Attributes:
      allocation_id: unique among live buffers, in all steps.
      num_bytes: its size.
      allocator: the memory it lies in: ``cpu`` or ``GPU_0_bfc``.
      device: the name of the device whose node made it; "" if it existed before the step.
      node: the name of that node.
      allocated_ns: when the node returned it, by ``perf_counter_ns``.
      freed_ns: when it was freed, 0 while it is live.
    """

    __slots__ = (
        "allocated_ns",
        "allocation_id",
        "allocator",
        "device",
        "freed_ns",
        "node",
        "num_bytes",
        "reference",
    )

    def __init__(self, allocation_id: int, num_bytes: int, allocator: str) -> None:
        self.allocation_id = allocation_id
        self.num_bytes = num_bytes
        self.allocator = allocator
        self.device = ""
        self.node = ""
        self.allocated_ns = 0
        self.freed_ns = 0
        self.reference: Any = None  # a weak reference, or the scalar itself

    @property
    def is_live(self) -> bool:
        """Whether it has references besides the tracker's."""
        if isinstance(self.reference, np.generic):
            # Two references exist always: this record's and getrefcount's argument.
            return getrefcount(self.reference) > 2
        return self.freed_ns == 0


class AllocationTracker:
    """The buffers that one step's nodes returned.

    Attributes:
      peak: (device, allocator) -> the peak of the bytes in the step's own buffers.
    """

    def __init__(self) -> None:
        self._known: dict[int, Buffer] = {}  # by id of the owner
        self._made: list[Buffer] = []
        self._freed: deque[_Reference] = deque()
        self._numbers: list[Buffer] = []
        self._in_use: dict[tuple[str, str], int] = {}
        self.peak: dict[tuple[str, str], int] = {}

    def find(self, value: Any) -> tuple[Buffer, bool]:
        """Return a value's buffer, and whether the step sees it for the first time."""
        self._settle()
        owner = _owner(value)
        key = id(owner)
        found = self._known.get(key)
        if found is not None:
            return found, False
        if isinstance(owner, np.generic):
            buffer = Buffer(next(_new_id), owner.nbytes, allocator_name(owner))
            buffer.reference = owner
            if not isinstance(owner, np.bool_):  # True and False exist once per process
                self._known[key] = buffer
            return buffer, True
        buffer = Buffer(_allocation_id(owner), owner.nbytes, allocator_name(owner))
        buffer.reference = reference = _Reference(owner, self._freed.append)
        reference.buffer, reference.key = buffer, key
        self._known[key] = buffer
        return buffer, True

    def number(self, num_bytes: int) -> Buffer:
        """Return a buffer for a number with only a known size; it lives until the step ends."""
        self._settle()
        buffer = Buffer(next(_new_id), num_bytes, "cpu")
        self._numbers.append(buffer)
        return buffer

    def made(self, buffer: Buffer, device: str, node: str) -> None:
        """Record that a node of a device allocated a buffer."""
        buffer.device, buffer.node = device, node
        buffer.allocated_ns = perf_counter_ns()
        self._made.append(buffer)
        self._settle()
        place = (device, buffer.allocator)
        in_use = self._in_use[place] = self._in_use.get(place, 0) + buffer.num_bytes
        self.peak[place] = max(self.peak.get(place, 0), in_use)

    def bytes_in_use(self, device: str, allocator: str) -> int:
        """Return the number of bytes that the step's buffers take now."""
        self._settle()
        return self._in_use.get((device, allocator), 0)

    def _settle(self) -> None:
        now = perf_counter_ns()
        while self._freed:
            reference = self._freed.popleft()
            buffer = reference.buffer
            buffer.freed_ns = now
            if self._known.get(reference.key) is buffer:
                del self._known[reference.key]
            if buffer.device:
                self._in_use[buffer.device, buffer.allocator] -= buffer.num_bytes

    def finish(self) -> None:
        """Release scalars; those without other references are freed now."""
        self._settle()
        now = perf_counter_ns()
        for buffer in self._made:
            if isinstance(buffer.reference, np.generic) and not buffer.is_live:
                buffer.freed_ns = now
        for buffer in self._numbers:
            buffer.freed_ns = now
        self._numbers.clear()
        for buffer in (*self._made, *self._known.values()):
            buffer.reference = None  # breaks the cycle of buffer and reference
        self._known.clear()

    def report(self) -> str:
        """Return the present allocations by device and allocator, the largest node first.

        A node is listed with the total of its outputs. The list ends after a hundred nodes, or when
        it accounts for 99 % of the bytes; a last line sums up the rest.
        """
        self._settle()
        by_place: dict[tuple[str, str], dict[str, int]] = {}
        for buffer in self._made:
            if buffer.num_bytes and buffer.is_live:
                nodes = by_place.setdefault((buffer.device, buffer.allocator), {})
                nodes[buffer.node] = nodes.get(buffer.node, 0) + buffer.num_bytes
        return "".join(
            f"\nCurrent usage from device: {device}, allocator: {allocator}\n{_listed(nodes)}"
            for (device, allocator), nodes in by_place.items()
        )


def _listed(nodes: dict[str, int]) -> str:
    total, told, lines = sum(nodes.values()), 0, []
    for name, size in sorted(nodes.items(), key=lambda item: -item[1]):
        lines.append(f"  {human_readable_bytes(size)} from {name}\n")
        told += size
        if len(lines) >= _MAX_LISTED or told >= total * _MAX_LISTED_SHARE:
            break
    if len(lines) < len(nodes):
        rest = human_readable_bytes(total - told)
        lines.append(f"  Remaining {len(nodes) - len(lines)} nodes with {rest}\n")
    return "".join(lines)


def human_readable_bytes(num_bytes: int) -> str:
    """Return a number of bytes as TensorFlow writes it.

    >>> human_readable_bytes(1000), human_readable_bytes(4000), human_readable_bytes(24_000_000)
    ('1000B', '3.9KiB', '22.89MiB')
    """
    if num_bytes < 1024:
        return f"{num_bytes}B"
    size = num_bytes / 1024
    if size < 1024:
        return f"{size:.1f}KiB"
    for unit in "MGTP":
        size /= 1024
        if size < 1024:
            return f"{size:.2f}{unit}iB"
    return f"{size / 1024:.2f}EiB"


def allocator_name(value: Any) -> str:
    """Return the name of an array's allocator: host memory or a GPU's memory pool."""
    if array_module.is_device_array(value):
        return f"GPU_{value.device.id}_bfc"
    return "cpu"


def _owner(value: Any) -> Any:
    """Return the array that owns a value's memory."""
    base = getattr(value, "base", None)
    while base is not None and isinstance(base, type(value)):
        value, base = base, base.base
    return value


def _allocation_id(owner: Any) -> int:
    """Return the id that a buffer keeps for its life."""
    global _many
    key = id(owner)
    with _ids_lock:
        found = _ids.get(key)
        if found is not None and found[0]() is owner:
            return found[1]
        if len(_ids) >= _many:
            for old, (reference, _) in list(_ids.items()):
                if reference() is None:
                    del _ids[old]
            _many = max(_MANY_IDS, 2 * len(_ids))
        allocation_id = next(_new_id)
        _ids[key] = (weakref.ref(owner), allocation_id)
        return allocation_id


class _Allocator(ctypes.Structure):
    """``PyMemAllocatorEx`` of Python's C interface."""

    _fields_ = [
        (name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")
    ]


_RAW_DOMAIN = 0  # PYMEM_DOMAIN_RAW
_SETTLE_S = 0.001


def _start_trace() -> None:
    """Start ``tracemalloc`` for memory that is allocated while holding the interpreter's lock.

    The raw domain, which needs no lock, is left out: until Python 3.12.9 and 3.13.2 the process
    ends if a thread allocates raw memory at the moment a trace stops.  For NumPy this omits only
    the buffers, of fixed size, in which it casts.
    """
    raw = _Allocator()
    steps: tuple[Callable[[], object], ...] = (
        partial(ctypes.pythonapi.PyMem_GetAllocator, _RAW_DOMAIN, ctypes.byref(raw)),
        tracemalloc.start,
        partial(ctypes.pythonapi.PyMem_SetAllocator, _RAW_DOMAIN, ctypes.byref(raw)),
    )
    # Run all three steps without letting another thread run Python in between.
    deque(map(operator.call, steps), maxlen=0)
    # Let threads that allocated raw memory meanwhile, and wait for the interpreter, finish it now.
    sleep(_SETTLE_S)


_measuring_lock = threading.Lock()
# The present owner of the trace; guarded by _measuring_lock.
_measuring: weakref.ref[TemporaryMemory] | None = None


def _start_measuring(owner: TemporaryMemory) -> bool:
    """Claim the interpreter's only trace; return False if tracing is already on.

    If an interrupt keeps the owner from stopping the trace, it stops when the owner is freed.
    """
    global _measuring
    with _measuring_lock:
        if tracemalloc.is_tracing():
            return False
        # A C function, because an interrupt inside a finalizer written in Python is lost.
        stop = partial(next, map(operator.call, (tracemalloc.stop,)))
        _measuring = weakref.ref(owner, stop)
        _start_trace()
        return True


def _stop_measuring(owner: TemporaryMemory) -> None:
    """Stop the trace if this owner holds it."""
    global _measuring
    with _measuring_lock:
        if _measuring is not None and _measuring() is owner:
            tracemalloc.stop()
            _measuring = None


class TemporaryMemory:
    """Memory that a kernel took and freed while it ran; used by one step of a process at a time.

    ``tracemalloc`` sees NumPy's arrays and the interpreter's own memory, for all threads. The
    result may therefore include another thread's work; below 4 KiB, which the interpreter itself
    may take, it counts as 0.
    """

    def __init__(self) -> None:
        self._before = 0
        self._node: tuple[int, int, int] | None = None
        self._is_on: bool | None = None  # None: not started

    def start(self) -> None:
        """Measure from the next node on; a second call does nothing."""
        if self._is_on is None:
            self._is_on = False
            self._is_on = _start_measuring(self)

    def begin(self, node: tuple[int, int, int]) -> None:
        """Record that a node is about to run."""
        if self._is_on is None:
            self.start()
        if self._is_on:
            self._node = node
            tracemalloc.reset_peak()
            self._before, _ = tracemalloc.get_traced_memory()

    def end(self, node: tuple[int, int, int], kept_bytes: int) -> int:
        """Return the bytes that a node took besides the ``kept_bytes`` of its outputs.

        Returns 0 for a node that was not the last to begin: other nodes ran while it waited.
        """
        if not self._is_on or self._node != node:
            return 0
        self._node = None
        _, peak = tracemalloc.get_traced_memory()
        found = peak - self._before - kept_bytes
        return found if found >= _INTERPRETER_BYTES else 0

    def close(self) -> None:
        """Stop measuring; a second call does nothing."""
        self._is_on = False
        _stop_measuring(self)
