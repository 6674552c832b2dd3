"""Waits for files and states of other processes, which give no signal."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE_S = 0.005


def wait_until(holds: Callable[[], object]) -> None:
    """Return when something holds, and leave the processor to others until then."""
    pause = threading.Event()
    while not holds():
        pause.wait(_PAUSE_S)
