"""A wake-up call that an interrupt cannot break.

``threading.Event`` and ``Condition`` are Python code around a lock: whoever is interrupted in the
middle of ``set`` may leave that lock behind, held, and the sleeper never wakes.  A bare lock has no
middle: it is taken and given back in one instruction.
"""

from __future__ import annotations

from threading import Lock


class WakeUp:
    """Wakes one thread; a call that nobody waits for is kept, two of them are one."""

    __slots__ = ("_asleep",)

    def __init__(self) -> None:
        self._asleep = Lock()
        self._asleep.acquire()

    def set(self) -> None:
        """Wakes the sleeper, or lets its next sleep end at once; any thread may call this."""
        try:  # noqa: SIM105 - `suppress` is Python code: it costs more than the call itself
            self._asleep.release()
        except RuntimeError:
            pass  # it is awake already

    def wait(self, timeout_s: float) -> bool:
        """Sleeps until it is called, and takes the call; False if none came in time."""
        return self._asleep.acquire(timeout=timeout_s)
