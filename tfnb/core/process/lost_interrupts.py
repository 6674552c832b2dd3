"""Ctrl-C that strikes where Python ignores what is raised.

While an object ends, its ``__del__``, or a function that a weak reference calls, may be running in
the main thread; an interrupt there is handed to ``sys.unraisablehook``, which prints it, and the
step or the loop that was meant goes on.  The hook here has it strike again, a moment later.
Ctrl-C comes to the main thread only: what is raised in another one was not meant for this.
"""

from __future__ import annotations

import sys
from _thread import get_ident, interrupt_main, start_new_thread
from threading import main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_before: Callable[[sys.UnraisableHookArgs], object] | None = None


def keep_interrupts() -> None:
    """Has interrupts strike again that were lost in a finalizer; other errors go the usual way."""
    global _before
    if _before is None:  # one that was set later may call ours
        _before, sys.unraisablehook = sys.unraisablehook, _strike_again


def _strike_again(unraisable: sys.UnraisableHookArgs) -> None:
    if unraisable.exc_type is not KeyboardInterrupt or get_ident() != main_thread().ident:
        assert _before is not None
        _before(unraisable)
        return
    # Another thread, as a signal of this one would strike before this function has returned.
    start_new_thread(interrupt_main, ())
