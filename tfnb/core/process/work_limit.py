"""How much work a step may do, counted by kernels that go on for long without running nodes.

A step that is limited (``common_runtime/session/step_limits.py``) says so for its thread; loops
inside of kernels, such as those of datasets that leave out elements, count each round.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class _OfThread(threading.local):
    count: Callable[[], None] | None = None


_of_thread = _OfThread()


def count_in_thread(count: Callable[[], None] | None) -> Callable[[], None] | None:
    """Sets what hears of each round in this thread; returns what was set before."""
    before, _of_thread.count = _of_thread.count, count
    return before


def count_round() -> None:
    """Count one round of a kernel's own loop."""
    count = _of_thread.count
    if count is not None:
        count()
