"""Process-wide state shared by all sessions: the threads of BLAS, the pages of the allocator.

The first session or server prepares both.  Corresponds to TensorFlow's ``process_state.h`` and to
the thread pool of ``local_device.cc``.

**BLAS.** ``core/process/work_sharder.py`` divides a kernel's work among as many threads as the
first one's ``intra_op_parallelism_threads`` says (0: one per processor).  OpenBLAS gets one
thread: its own threads wait for each other in busy loops, so that on a busy machine one product
takes as long as a time slice of the scheduler.

**Memory.** glibc gives pages back to the system when a large array is freed, and gets fresh, zeroed
pages for the next: half of the time of a chain of large arrays, a sixth of a training step with
large batches.  It is configured to keep some freed pages, until a session is closed.  A message of
gRPC is in memory several times on its way: a process with sessions on servers, or with a server,
keeps more, and threads that start later share one heap, since glibc's heaps of threads hold at
most 64 MB.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from typing import TYPE_CHECKING

from tfnb.core import host_memory
from tfnb.core.process import blas, work_sharder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.proto import config_pb2

# Environment variables with which users limit the threads of BLAS.
_LIMITS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")

# Parameters of mallopt, and their values in bytes: arrays up to the first come from the heap, and
# free memory at its end is given back beyond the second.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_MMAP_THRESHOLD = 128 << 20
_TRIM_THRESHOLD = 512 << 20
# The largest value of the first that glibc before 2.35 takes.
_OLD_MMAP_THRESHOLD = 32 << 20
# Free memory that is worth a pass over all pages, in bytes.
_WORTH_GIVING_BACK = 64 << 20
# Likewise, once messages are sent and received; the heaps that threads may have.
_MESSAGE_MMAP_THRESHOLD = 256 << 20
_MESSAGE_TRIM_THRESHOLD = 512 << 20
_M_ARENA_MAX = -8

_lock = threading.Lock()
_is_prepared = False  # guarded by _lock
_has_messages = False  # guarded by _lock
_keeps_memory = False  # guarded by _lock
# Bytes of memory that the process had at least, since some were given back last.
_least_resident = 0
# No look before this time, in seconds of the monotonic clock, after one that found little; how long
# to rest after such a look, in times of it.
_next_look = 0.0
_REST = 50


def prepare(config: config_pb2.ConfigProto) -> None:
    """Set up the process for its first session or server; later calls do nothing."""
    global _is_prepared
    if _is_prepared:
        return
    with _lock:
        if not _is_prepared:
            work_sharder.set_num_threads(_num_threads(config.intra_op_parallelism_threads))
            blas.set_num_threads(1)
            if not _has_messages:
                _set_malloc(_MMAP_THRESHOLD, {_M_TRIM_THRESHOLD: _TRIM_THRESHOLD})
            _is_prepared = True


def prepare_for_messages() -> None:
    """Set up the process for messages with large tensors, before gRPC starts threads.

    Later calls do nothing.
    """
    global _has_messages
    with _lock:
        if not _has_messages:
            _has_messages = True
            _set_malloc(
                _MESSAGE_MMAP_THRESHOLD,
                {_M_TRIM_THRESHOLD: _MESSAGE_TRIM_THRESHOLD, _M_ARENA_MAX: 1},
            )


def give_memory_back() -> None:
    """Give free memory back to the system, as after a session was closed.

    Nothing is given back by a process that sends or receives messages: each of its sessions would
    take new pages for them.
    """
    global _least_resident, _next_look
    began = time.monotonic()
    if not _keeps_memory or _has_messages or began < _next_look:
        return
    resident = host_memory.resident_bytes()
    _least_resident = min(_least_resident, resident)
    if resident < _least_resident + _WORTH_GIVING_BACK:
        return
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):  # glibc before 2.33
        return
    libc.mallinfo2.restype = _MallInfo
    if libc.mallinfo2().free >= _WORTH_GIVING_BACK:
        libc.malloc_trim(ctypes.c_size_t(0))
        # glibc still counts what it gave back as free.
        _least_resident = host_memory.resident_bytes()
    else:  # other sessions use it
        ended = time.monotonic()
        _next_look = ended + _REST * (ended - began)


class _MallInfo(ctypes.Structure):
    """The ``mallinfo2`` of malloc.h, of which one field is read: bytes that are free."""

    _fields_ = (
        ("before", ctypes.c_size_t * 8),
        ("free", ctypes.c_size_t),
        ("after", ctypes.c_size_t),
    )


def _num_threads(declared: int) -> int:
    if declared > 0:
        return declared
    for name in _LIMITS:
        limit = os.environ.get(name, "")
        if limit.isdecimal() and int(limit):
            return min(int(limit), work_sharder.available_processors())
    return work_sharder.available_processors()


def _set_malloc(mmap_threshold: int, parameters: Mapping[int, int]) -> None:
    """Set parameters of glibc, unless the user has set some, or the process is without glibc."""
    global _keeps_memory
    chosen = any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ)
    if chosen or platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    if not mallopt(_M_MMAP_THRESHOLD, mmap_threshold):
        mallopt(_M_MMAP_THRESHOLD, _OLD_MMAP_THRESHOLD)
    for number, value in parameters.items():
        mallopt(number, value)
    _keeps_memory = True
