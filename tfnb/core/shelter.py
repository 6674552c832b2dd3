"""Calls that no interrupt strikes.

Whoever interrupts a thread by its number may hit one that it has just started: until a new thread
has begun, it goes by the number of the thread that started it, and what hits it ends it unseen.
Helpers of the process are started here, and what takes locks of the interpreter is called here.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# How long to wait for a thread that has not begun until another is started, in seconds.
_PATIENCE_S = 0.1


class _Call:
    """One call, and the threads that try to make it."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._claim = allocate_lock()  # the first thread to begin takes it
        self._over = allocate_lock()  # held until the call is over
        self._over.acquire()
        self._error: BaseException | None = None

    def make(self) -> None:
        """Has a new thread make the call, and waits for it."""
        while True:
            start_new_thread(self._run, ())
            if self._over.acquire(timeout=_PATIENCE_S):
                break
            if self._claim.locked():
                self._over.acquire()
                break
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._function()
        except BaseException as error:
            self._error = error
        finally:
            self._over.release()


def call_sheltered(function: Callable[[], object]) -> None:
    """Calls a function once, in a thread of its own, where no interrupt strikes; waits for it.

    An interrupt of the caller ends the waiting, not the call.

    Raises:
      BaseException: what the function raised.
      RuntimeError: Python can start no thread.
    """
    _Call(function).make()
