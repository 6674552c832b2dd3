"""Whether this Python can start threads, and what a step does itself where it cannot.

Python in a browser (Emscripten) has one thread. The work of helper threads is done there in the
calling thread: at once, or as an *errand*, a call that the driving thread of a step makes between
nodes and at the back edges of loops, as often as the errand asks for. A step that has errands to do
has a mark in ``RunState.stop``, which it reads there in any case; where threads can be started no
step has the mark, and errands cost nothing.

Where a thread is the point of a feature, ``errors.require_threads`` refuses it.
"""

from __future__ import annotations

import _thread
import sys
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _nothing() -> None:
    """Do nothing, in a thread that only shows that it starts."""


def _try_to_start() -> bool:
    try:
        _thread.start_new_thread(_nothing, ())
    except (RuntimeError, NotImplementedError):
        return False
    return True


# Elsewhere a failure passes: the process has too many threads at the moment.
_can_start = sys.platform not in ("emscripten", "wasi") or _try_to_start()


def can_start() -> bool:
    """Return whether threads can be started."""
    return _can_start


def find_out() -> bool:
    """Start a thread, and remember whether that was possible; return it.

    The import of this module has done so on platforms that may have no threads.
    """
    global _can_start
    _can_start = _try_to_start()
    return _can_start


# Between two looks at the clock there are up to _MOST_CALLS calls, if they come so densely that
# fewer of them take less than _DENSE_S seconds: a look costs as much as a node of a loop.
_MOST_CALLS = 32
_DENSE_S = 0.0005


class _Errand:
    """One errand, and when it is to be done next."""

    __slots__ = ("call", "due", "interval_s")

    def __init__(self, call: Callable[[], object], interval_s: float) -> None:
        self.call = call
        self.interval_s = interval_s
        self.due = monotonic() + interval_s


class Errands:
    """The errands of the process; used by its only thread."""

    def __init__(self) -> None:
        self._errands: list[_Errand] = []
        self._is_at_work = False
        self._calls_left = 0  # before the next look at the clock
        self._calls_between = 1
        self._looked_at = 0.0

    def __bool__(self) -> bool:
        return bool(self._errands)

    def add(self, call: Callable[[], object], interval_s: float) -> None:
        """Add an errand; it is done every ``interval_s`` seconds while a step runs."""
        self._errands.append(_Errand(call, interval_s))

    def remove(self, call: Callable[[], object]) -> None:
        """Remove an errand; nothing happens if there is none."""
        self._errands = [errand for errand in self._errands if errand.call != call]

    def do(self) -> None:
        """Do the errands that are due; an errand that runs a step does none meanwhile."""
        if self._calls_left > 0:
            self._calls_left -= 1
            return
        if self._is_at_work:
            return
        now = monotonic()
        is_dense = now - self._looked_at < _DENSE_S
        self._calls_between = min(_MOST_CALLS, 2 * self._calls_between) if is_dense else 1
        self._calls_left, self._looked_at = self._calls_between - 1, now
        self._is_at_work = True
        try:
            for errand in self._errands:
                if errand.due <= now:
                    errand.call()
                    errand.due = monotonic() + errand.interval_s
        finally:
            self._is_at_work = False


ERRANDS = Errands()
