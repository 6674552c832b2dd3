"""Calls that interrupts cannot reach.

An interrupt sent to a thread id may hit a thread that this one has just started: until it begins,
a new thread has the id of its parent, and the interrupt ends it silently. Helper threads of the
process are started here, and functions that take locks of the interpreter are called here. Where
no thread can be started, there is no second thread either, and functions are called directly.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock, start_new_thread
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tfnb.core.process import threads

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds to wait for a thread that has not begun before another is started.
_PATIENCE_S = 0.1


class _Call:
    """One call, and the threads that try to make it."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._claim = allocate_lock()  # the first thread that begins acquires it
        self._over = allocate_lock()  # held until the call is over
        self._over.acquire()
        self._error: BaseException | None = None

    def make(self) -> None:
        """Make the call in a new thread and wait for it."""
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
    """Call a function once in a new thread, safe from interrupts, and wait for it.

    An interrupt of the caller ends the waiting, not the call.

    Raises:
      BaseException: the exception of the function.
      RuntimeError: Python cannot start a thread.
    """
    if threads.can_start():
        _Call(function).make()
    else:
        function()


def ensure_imported(name: str) -> None:
    """Import a module that a step needs, safe from interrupts, if it is not imported yet.

    An interrupt in an import leaves the module's lock held, and all other threads that import it
    would wait for ever. After this call an import statement takes no lock.

    It is imported in this thread if no thread can be started: the process ends, or memory is short.
    """
    module = sys.modules.get(name)
    if module is None or getattr(module.__spec__, "_initializing", False):
        try:
            call_sheltered(partial(import_module, name))
        except RuntimeError:
            import_module(name)  # raises an error of the module itself again
