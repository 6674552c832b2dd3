"""An event that happens once, for threads that wait for it and may be interrupted.

The terms are those of TensorFlow's ``platform/notification.h``. ``threading.Event`` and
``threading.Condition`` are Python code around a lock: an interrupt between two of its instructions
leaves the lock held, and the thread that calls ``set`` later waits for ever. Here, each change is
one call of the interpreter, which an interrupt precedes or follows.
"""

from __future__ import annotations

from collections import deque
from itertools import repeat
from queue import Empty, SimpleQueue


class Notification:
    """An event that has happened or not; any number of threads wait for it."""

    __slots__ = ("_is_notified", "_waiters")

    def __init__(self) -> None:
        self._is_notified = False
        self._waiters: list[SimpleQueue[None]] = []

    def has_been_notified(self) -> bool:
        """Return whether the event has happened."""
        return self._is_notified

    def notify(self) -> None:
        """Wake all threads that wait; later calls of ``wait`` return at once."""
        wake = map(SimpleQueue.put, self._waiters, repeat(None))
        self._is_notified = True
        deque(wake, maxlen=0)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the event has happened; return False after the time-out."""
        if not self._is_notified and (timeout_s is None or timeout_s > 0):
            waiter: SimpleQueue[None] = SimpleQueue()
            try:
                self._waiters.append(waiter)
                if not self._is_notified:  # looked at again: notify() may have run just before
                    waiter.get(timeout=timeout_s)
            except Empty:
                pass
            finally:
                self._waiters.remove(waiter)
        return self._is_notified
