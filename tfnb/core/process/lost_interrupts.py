"""Interrupts (Ctrl-C) raised where Python ignores exceptions.

While an object ends, its ``__del__``, or the callback of a weak reference, may be running in the
main thread; an interrupt there is passed to ``sys.unraisablehook``, which prints it, and the step
or the loop that the user wanted to end goes on.  The hook of this module raises the interrupt again
a moment later.  Ctrl-C is raised in the main thread only: it ignores exceptions of other threads.
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
    """Raise interrupts lost in a finalizer again; pass other errors to the previous hook."""
    global _before
    if _before is None:  # a hook that was set later may call ours
        _before, sys.unraisablehook = sys.unraisablehook, _strike_again


def _strike_again(unraisable: sys.UnraisableHookArgs) -> None:
    if unraisable.exc_type is not KeyboardInterrupt or get_ident() != main_thread().ident:
        if _before is not None:  # Python clears the names of this module when it ends
            _before(unraisable)
        return
    # In another thread, because a signal sent by this thread would be raised before the hook
    # returned.
    start_new_thread(interrupt_main, ())
