"""Inter-op pools: threads that run expensive kernels, if a configuration declares them.

By default there is none: the thread that called ``run`` runs every kernel (see
``common_runtime/executor/README.md``). A configuration declares pools in one of TensorFlow's ways;
the first of these that is set applies:

* ``session_inter_op_thread_pool``: one pool for each entry.  A pool with a ``global_name`` belongs
  to the process, is shared by all sessions that name it and is never closed; others belong to the
  session.
* ``use_per_session_threads``: one pool that belongs to the session.
* ``inter_op_parallelism_threads`` above 1: the one pool of the process; the first session that
  requests it determines its size.

Where no thread can be started there are no pools, whatever is declared.

A pool starts its threads with its first work.  The threads refer only to the queue from which they
take work, so that the pools of a session that becomes unreferenced without ``close`` are freed with
it.
"""

from __future__ import annotations

import threading
import weakref
from queue import SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.process import forking, threads
from tfnb.core.process.log import log
from tfnb.core.process.shelter import call_sheltered
from tfnb.core.process.work_sharder import available_processors
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    type_of_queue = SimpleQueue[Callable[[], None] | None]


class ThreadPool:
    """A fixed number of threads that take work in the order it came; thread safe."""

    def __init__(self, name: str, num_threads: int) -> None:
        self.name = name
        self.num_threads = num_threads
        self._lock = threading.Lock()
        self._work: type_of_queue = SimpleQueue()
        self._threads: list[threading.Thread] = []  # guarded by self._lock
        self._is_closed = False  # guarded by self._lock
        self._end_threads = weakref.finalize(self, self._work.put, None)
        self._end_threads.atexit = False
        forking.renew_in_child(self)

    def renew_after_fork(self) -> None:
        """In a child process, forget the threads; new ones start with the next work."""
        self._end_threads.detach()
        self._lock, self._work, self._threads = threading.Lock(), SimpleQueue(), []
        self._end_threads = weakref.finalize(self, self._work.put, None)
        self._end_threads.atexit = False
        if self._is_closed:
            self._end_threads()

    def schedule(self, work: Callable[[], None]) -> None:
        """Make one of the threads call ``work``, which must not raise.

        Raises:
          CancelledError: the pool was closed.
        """
        if len(self._threads) < self.num_threads:
            self._start()
        with self._lock:
            if self._is_closed:
                raise errors.cancelled(f"Thread pool '{self.name}' has been closed.")
            self._work.put(work)

    def _start(self) -> None:
        with self._lock:
            if len(self._threads) < self.num_threads and not self._is_closed:
                call_sheltered(self._start_missing)

    def _start_missing(self) -> None:
        for number in range(len(self._threads), self.num_threads):
            # A daemon, so that a kernel that never ends does not keep the interpreter alive.
            thread = threading.Thread(
                target=_serve, args=(self._work,), name=f"{self.name}_{number}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """Make the threads end after all scheduled work; return without waiting for them."""
        with self._lock:
            self._is_closed = True
        self._end_threads()

    def join(self, timeout_s: float) -> bool:
        """Wait for the threads of a closed pool to end; return False if they did not in time."""
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout_s)
        return not any(thread.is_alive() for thread in self._threads)

    def __repr__(self) -> str:
        return f"<ThreadPool {self.name} of {self.num_threads}>"


def _serve(queue: type_of_queue) -> None:
    """Take and call work until the mark of the end; the main function of a pool's thread."""
    with np.errstate(all="ignore"):
        while (work := queue.get()) is not None:
            work()
            # A thread that waits for work must not keep objects of the last step alive.
            del work
    queue.put(None)  # for the next thread


_lock = threading.Lock()
_global_pools: dict[str, tuple[int, ThreadPool]] = {}  # guarded by _lock
_process_pool: ThreadPool | None = None  # guarded by _lock


class InterOpThreadPools:
    """The pools that the steps of one session may run on.

    Attributes:
      default: the pool of a step that chooses none; None: the calling thread.
      error: set if a global pool exists with another number of threads. As in TensorFlow,
        ``Session.create`` raises it, and ``Session.extend`` ignores it and uses the pool.
    """

    def __init__(self, config: config_pb2.ConfigProto) -> None:
        """Make or find the pools that ``config`` declares.

        Raises:
          InvalidArgumentError: a number of threads is negative.
        """
        self.error: errors.OpError | None = None
        self._owned: list[ThreadPool] = []
        self._pools: list[ThreadPool | None] = []
        for position, declared in enumerate(config.session_inter_op_thread_pool):
            if declared.num_threads < 0:
                raise errors.invalid_argument(
                    f"session_inter_op_thread_pool {position} has num_threads="
                    f"{declared.num_threads}; it must be positive, or 0 for the default."
                )
            num_threads = declared.num_threads or default_num_threads(config)
            if not threads.can_start():
                pool = None
            elif declared.global_name:
                pool = self._global(declared.global_name, declared.num_threads, num_threads)
            else:
                pool = self._own(f"Compute{position}", num_threads)
            self._pools.append(pool)
        if not self._pools:
            if not threads.can_start():
                self._pools.append(None)
            elif config.use_per_session_threads:
                self._pools.append(self._own("Compute", default_num_threads(config)))
            elif config.inter_op_parallelism_threads > 1:
                self._pools.append(_pool_of_the_process(config.inter_op_parallelism_threads))
            else:
                self._pools.append(None)
        self.default = self._pools[0]

    def _global(self, name: str, declared: int, num_threads: int) -> ThreadPool:
        with _lock:
            first, pool = _global_pools.setdefault(name, (declared, ThreadPool(name, num_threads)))
        if first != declared:
            self.error = errors.invalid_argument(
                f"The global thread pool '{name}' was configured previously with "
                f"num_threads={first}; cannot re-configure with num_threads={declared}"
            )
            log.warning("%s; it stays as it is.", self.error.message)
        return pool

    def _own(self, name: str, num_threads: int) -> ThreadPool:
        pool = ThreadPool(name, num_threads)
        self._owned.append(pool)
        return pool

    def choose(self, index: int, num_partitions: int = 1) -> ThreadPool | None:
        """Return the pool for ``RunOptions.inter_op_thread_pool``; None: the calling thread.

        -1 requests the calling thread, which only a step on one device may use.

        Raises:
          InvalidArgumentError: there is no such pool.
        """
        if not -1 <= index < len(self._pools):
            raise errors.invalid_argument(
                f"Invalid inter_op_thread_pool: {index}. This session has {len(self._pools)}: "
                "-1 is the calling thread, 0 the first of them."
            )
        if index == -1:
            return None if num_partitions == 1 else self.default
        return self._pools[index]

    def close(self) -> None:
        """End the threads of the session's own pools."""
        for pool in self._owned:
            pool.close()

    def join(self, timeout_s: float) -> bool:
        """Wait for the threads of the session's own pools to end; return False if they did not."""
        have_ended = [pool.join(timeout_s) for pool in self._owned]
        return all(have_ended)


NO_POOLS = InterOpThreadPools(config_pb2.ConfigProto())
"""The pools of all sessions whose configuration declares none."""


def default_num_threads(config: config_pb2.ConfigProto) -> int:
    """Return the size of a pool that specifies none: as configured, or one per processor."""
    if config.inter_op_parallelism_threads > 0:
        return config.inter_op_parallelism_threads
    return available_processors()


def _pool_of_the_process(num_threads: int) -> ThreadPool:
    global _process_pool
    with _lock:
        if _process_pool is None:
            _process_pool = ThreadPool("Compute", num_threads)
        return _process_pool
