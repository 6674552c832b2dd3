"""Reports of long work on standard error; there are none for short work."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfnb.core.process import threads

if TYPE_CHECKING:
    from collections.abc import Iterator


class Progress:
    """A reporter of phases that take long.

    Args:
        after: A phase is reported when it has taken this many seconds.
        is_quiet: Whether to report nothing.
    """

    def __init__(self, after: float = 1.0, is_quiet: bool = False) -> None:
        self._after = after
        self._is_quiet = is_quiet

    def note(self, text: str) -> None:
        """Print a remark that does not end the work."""
        if not self._is_quiet:
            print(f"tfnb: {text}", file=sys.stderr, flush=True)

    @contextmanager
    def phase(self, text: str) -> Iterator[None]:
        """Return a context for a block of work named ``text``."""
        if self._is_quiet:
            yield
            return
        begin = time.monotonic()
        lock = threading.Lock()
        state = {"is_named": False, "is_over": False}  # guarded by lock

        def name() -> None:
            with lock:
                if not state["is_over"] and not state["is_named"]:
                    state["is_named"] = True
                    print(f"tfnb: {text} ...", file=sys.stderr, flush=True)

        timer = threading.Timer(self._after, name)
        timer.daemon = True
        if self._after <= 0 or not threads.can_start():
            name()
        else:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                state["is_over"] = True
                is_named = state["is_named"]
            if is_named:
                seconds = time.monotonic() - begin
                print(f"tfnb: {text}: {seconds:.1f} s", file=sys.stderr, flush=True)
