"""Distribution of one kernel's work over threads: TensorFlow's intra-op parallelism.

``shard`` cuts a range of units (rows, images, tiles) into pieces.  The calling thread works on the
pieces one after the other; free threads take pieces concurrently.  A thread that a busy machine
does not schedule takes none: the caller waits only for pieces that were begun.  The threads of BLAS
are not used, because they wait for each other in a loop and lose a whole time slice each time that
one of them is preempted.

Pieces must write to disjoint memory.  The result of a piece must not depend on the cuts, so that
the result is the same for any number of threads.

The threads belong to the process, like TensorFlow's: the first session sets their number.
Corresponds to TensorFlow's ``work_sharder.h``.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from queue import SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.process import forking, threads
from tfnb.core.process.shelter import call_sheltered

if TYPE_CHECKING:
    from collections.abc import Callable

    type_of_work = Callable[[int, int], object]

# The parts of a thread's share if it is large. Each piece has an overhead, which is largest for
# products of matrices, so the first piece is as large as the second can still balance.
_SHARES = (0.75, 0.25)


def before_sharing() -> None:
    """Let threads that are awake sleep, which share other work; the team of kernels replaces it."""


_lock = threading.Lock()
_num_threads = 1
_helpers = 0  # threads that were started; guarded by _lock
_queue: SimpleQueue[_Job] = SimpleQueue()


def available_processors() -> int:
    """Return the number of processors this process may use."""
    if not threads.can_start():
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(number: int) -> None:
    """Set the number of threads that work on one kernel, the calling one included.

    Args:
      number: at least 1; it is 1 where no thread can be started.
    """
    global _num_threads
    _num_threads = number if threads.can_start() else 1


def num_threads() -> int:
    """Return the number of threads that work on one kernel, the calling one included."""
    return _num_threads


def shard(total: int, least: int, work: type_of_work, unit: int = 1) -> None:
    """Call ``work(first, last)`` for ranges that together are ``range(total)``.

    Args:
      total: the number of units.
      least: the smallest number of units worth a thread: about 100 us of work that does not need
        the interpreter.
      work: works on units ``first`` up to, not including, ``last``.  If it raises, the error of the
        first piece that failed is raised when all pieces that were begun have ended.
      unit: ranges begin at multiples of it, where possible.
    """
    cuts = _cuts(total, max(least, unit), unit) if _num_threads > 1 else ()
    if len(cuts) < 3 or (_late.jobs > 0 and _late.skips()):
        if total:
            work(0, total)
        return
    before_sharing()
    job = _Job(cuts, work)
    for _ in range(min(_num_threads, len(cuts) - 1) - 1):
        _start_helpers()
        _queue.put(job)
    job.run()


def _cuts(total: int, least: int, unit: int) -> list[int]:
    """Return the first unit of each piece, and the end of the last piece."""
    most = total // least
    if most < 2:
        return []
    if most >= 2 * _num_threads:
        parts = [share / _num_threads for share in _SHARES for _ in range(_num_threads)]
    else:
        # As many as threads: a further piece would be made while the other threads wait for it.
        pieces = min(most, _num_threads)
        parts = [1 / pieces] * pieces
    begins = {round(total * end / unit) * unit for end in itertools.accumulate(parts[:-1])}
    return sorted({0, *begins, total})  # equal ones would be an empty piece


class _Late:
    """What to do where a busy machine interrupts helpers in their pieces: share less often.

    Attributes:
      jobs: the calls that are still to be made without helpers.
    """

    # How much longer than its own work a caller waits for a helper that is not late, in seconds.
    _PATIENCE = 1e-3
    # Calls without helpers after a late one, times two for each late one of before, up to a level;
    # and the calls with timely helpers after which that is halved.
    _JOBS, _MOST_LEVEL, _TIMELY = 8, 6, 16

    def __init__(self) -> None:
        self.jobs = 0
        self._level = 0
        self._calm = 0

    def skips(self) -> bool:
        """Count a call that could be shared; return True. Threads may count the last one twice."""
        self.jobs -= 1
        return True

    def note(self, worked: float, waited: float) -> None:
        """Note the seconds of a caller's own work, and those that it waited for helpers."""
        if waited > worked + self._PATIENCE:
            self._level = min(self._level + 1, self._MOST_LEVEL)
            self._calm, self.jobs = 0, self._JOBS << self._level
            return
        self._calm += 1
        if self._calm >= self._TIMELY:
            self._level, self._calm = max(self._level - 1, 0), 0


_late = _Late()


class _Job:
    """The pieces of one call, and the threads that work on them."""

    __slots__ = ("_cuts", "_error", "_gate", "_inside", "_is_over", "_lock", "_next", "_work")

    def __init__(self, cuts: list[int], work: type_of_work) -> None:
        self._cuts = cuts
        self._work: type_of_work | None = work
        self._next = itertools.count()
        self._lock = threading.Lock()
        self._gate = threading.Lock()  # held until the last helper has left
        self._gate.acquire()
        self._inside = 0  # helpers at work; guarded by self._lock
        self._is_over = False  # no helper may begin any more; guarded by self._lock
        self._error: BaseException | None = None  # guarded by self._lock

    def run(self) -> None:
        """Work on pieces in the calling thread, then wait for the helpers."""
        begun = perf_counter()
        try:
            self._take_pieces()
        finally:
            with self._lock:
                self._is_over = True
                must_wait = self._inside > 0
            if must_wait:
                worked = perf_counter()
                self._wait()
                _late.note(worked - begun, perf_counter() - worked)
            # The job may still be in the queue, and must not keep arrays alive there.
            self._work = None
        if self._error is not None:
            raise self._error

    def _wait(self) -> None:
        try:
            self._gate.acquire()
        except BaseException:
            # After an interrupt, no helper may still be writing when the exception propagates.
            self._next = itertools.count(len(self._cuts))
            # The gate is held already if the interrupt came after the last helper had left.
            if self._inside:
                self._gate.acquire(timeout=1.0)
            raise

    def help(self) -> None:
        """Work on pieces in a pool thread."""
        with self._lock:
            if self._is_over:
                return
            self._inside += 1
        error = None
        try:
            self._take_pieces()
        except BaseException as raised:
            error = raised
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        with self._lock:
            self._error = self._error or error
            self._inside -= 1
            is_last = self._is_over and not self._inside
        if is_last:
            self._gate.release()

    def _take_pieces(self) -> None:
        cuts, work = self._cuts, self._work
        assert work is not None
        last = len(cuts) - 1
        try:
            while (number := next(self._next)) < last:
                work(cuts[number], cuts[number + 1])
        except BaseException:
            self._next = itertools.count(last)
            raise


def _start_helpers() -> None:
    if _helpers >= _num_threads - 1:
        return
    with _lock:
        if _helpers < _num_threads - 1:
            call_sheltered(_start_missing)


def _start_missing() -> None:
    global _helpers
    while _helpers < _num_threads - 1:
        # A daemon thread, because it holds no data between two jobs.
        name = f"intra_op_{_helpers}"
        threading.Thread(target=_serve, args=(_queue,), name=name, daemon=True).start()
        _helpers += 1


def _serve(queue: SimpleQueue[_Job]) -> None:
    with np.errstate(all="ignore"):
        while True:
            queue.get().help()


def renew_after_fork() -> None:
    """Forget the threads in a child process, which does not inherit them."""
    global _lock, _helpers, _queue
    _lock, _helpers, _queue = threading.Lock(), 0, SimpleQueue()


forking.renew_in_child(sys.modules[__name__])
