"""The limit of a step's work inside kernels that run long without executing nodes.

A step with a limit (``common_runtime/session/step_limits.py``) sets the counter of its thread;
loops inside of kernels, for example of datasets that filter elements, count each round.
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
    """Set the function that is called for each round in this thread; return the previous one."""
    before, _of_thread.count = _of_thread.count, count
    return before


def count_round() -> None:
    """Count one round of a kernel's own loop."""
    count = _of_thread.count
    if count is not None:
        count()
