"""Deadlines of steps: one thread ends the steps whose time is up.

A thread for each step with a deadline would cost more than most steps.  All sessions of the process
share one, which is started when a deadline is set, and ends when none has been set for a while.
Where no thread can be started, the driving threads look at the clock between nodes.

State: ``_entries`` is a heap of deadlines, the next one first.  A deadline that was called off
stays in the heap as an empty entry until it is reached, or until half of the entries are empty.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from _thread import get_ident, start_new_thread
from time import monotonic
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.process import forking, threads
from tfnb.core.process.later import later
from tfnb.core.process.shelter import call_sheltered
from tfnb.core.process.threads import ERRANDS
from tfnb.core.process.wake_up import WakeUp

if TYPE_CHECKING:
    from tfnb.common_runtime.executor import waiting
    from tfnb.common_runtime.executor.run_state import RunState
else:
    waiting = later("tfnb.common_runtime.executor.waiting", in_step=True)

# How long the thread waits for another deadline before it ends, in seconds.
_LINGER_S = 2.0
# Longest sleep of the thread, in seconds; a lock rejects time-outs of centuries.
_LONGEST_S = 3600.0
# A heap with fewer empty entries than this is not cleared of them.
_MANY = 64


class Deadline:
    """The deadline of one step."""

    __slots__ = ("_number", "at", "run_state", "thread")

    def __init__(self, at: float, number: int, run_state: RunState) -> None:
        self.at = at
        self.thread = get_ident()
        self._number = number
        self.run_state: RunState | None = run_state

    def __lt__(self, other: Deadline) -> bool:
        return (self.at, self._number) < (other.at, other._number)


class Deadlines:
    """The deadlines of steps in flight; thread safe."""

    def __init__(self) -> None:
        # Bare locks only: a step may be interrupted while it holds one.
        self._lock = threading.Lock()
        self._wake = WakeUp()
        self._entries: list[Deadline] = []  # guarded by self._lock
        self._num_empty = 0  # number of empty entries, approximately
        self._is_serving = False  # guarded by self._lock
        self._numbers = itertools.count()
        forking.renew_in_child(self)

    def renew_after_fork(self) -> None:
        """Keep the deadlines set by the forking thread; the steps of other threads are not here."""
        self._lock, self._wake = threading.Lock(), WakeUp()
        self._entries = [entry for entry in self._entries if entry.thread == get_ident()]
        heapq.heapify(self._entries)
        self._num_empty, self._is_serving = 0, False
        if self._entries:
            self._start()

    def set(self, run_state: RunState, timeout_ms: int) -> Deadline:
        """End a step that still runs after ``timeout_ms`` milliseconds."""
        entry = Deadline(monotonic() + timeout_ms / 1000, next(self._numbers), run_state)
        with self._lock:
            if self._num_empty > _MANY and 2 * self._num_empty > len(self._entries):
                self._entries = [entry for entry in self._entries if entry.run_state is not None]
                heapq.heapify(self._entries)
                self._num_empty = 0
            heapq.heappush(self._entries, entry)
            is_next = self._entries[0] is entry
            if not self._is_serving:
                call_sheltered(self._start)
        if not threads.can_start():
            run_state.do_errands()
        elif is_next:
            self._wake.set()
        return entry

    def call_off(self, entry: Deadline) -> None:
        """Remove the deadline of a step that is over; a second call does nothing."""
        # Without the lock: an unreferenced session may be finalized here while this thread holds
        # it.
        if entry.run_state is not None:
            entry.run_state = None
            self._num_empty += 1
            if not threads.can_start():
                self._look_at_clock()

    def num_set(self) -> int:
        """Return the number of steps in flight that have a deadline."""
        with self._lock:
            return sum(entry.run_state is not None for entry in self._entries)

    def _start(self) -> None:
        if threads.can_start():
            start_new_thread(self._serve, ())
        else:
            ERRANDS.add(self._look_at_clock, 0)
        self._is_serving = True

    def _look_at_clock(self) -> None:
        """Do what the thread does; in a finalizer, this thread may hold the lock already."""
        if not self._lock.locked() and self._end_the_late() is None:
            with self._lock:
                ERRANDS.remove(self._look_at_clock)
                self._is_serving = False

    def _serve(self) -> None:
        while True:
            left = self._end_the_late()
            if left is not None:
                self._wake.wait(min(left, _LONGEST_S))
            elif not self._wake.wait(_LINGER_S):
                with self._lock:
                    if not self._entries:
                        self._is_serving = False
                        return

    def _end_the_late(self) -> float | None:
        """End the steps whose time is up; return the seconds until the next deadline, or None."""
        late: list[RunState] = []
        left = None
        with self._lock:
            now = monotonic()
            while self._entries:
                entry = self._entries[0]
                if (run_state := entry.run_state) is not None:
                    if entry.at > now:
                        left = entry.at - now
                        break
                    late.append(run_state)
                    entry.run_state = None
                else:
                    self._num_empty = max(0, self._num_empty - 1)
                heapq.heappop(self._entries)
        for run_state in late:
            error = errors.deadline_exceeded("Timed out waiting for notification")
            waiting.say_what_runs(run_state, error)
            run_state.end(error)
        return left


DEADLINES = Deadlines()
