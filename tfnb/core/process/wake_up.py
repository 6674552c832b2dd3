"""A wake-up call that stays reliable when an interrupt comes in the middle.

``threading.Event`` and ``Condition`` are Python code around a lock: an interrupt in the middle of
``set`` may leave that lock held, and the sleeper never wakes.  A bare lock is acquired and released
atomically.
"""

from __future__ import annotations

from threading import Lock


class WakeUp:
    """A wake-up for one thread; without a sleeper it is stored, and repeated calls count as one."""

    __slots__ = ("_asleep",)

    def __init__(self) -> None:
        self._asleep = Lock()
        self._asleep.acquire()

    def set(self) -> None:
        """Wake the sleeper, or end its next sleep at once; any thread may call this."""
        try:  # noqa: SIM105 - `suppress` is Python code: it costs more than the call itself
            self._asleep.release()
        except RuntimeError:
            pass  # it is awake already

    def wait(self, timeout_s: float) -> bool:
        """Sleep until ``set`` is called, and consume the call; False on timeout."""
        return self._asleep.acquire(timeout=timeout_s)
