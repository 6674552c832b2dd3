"""A process in which no thread can be started, as in a browser."""

from __future__ import annotations

import _thread
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from tfnb.core.process import threads

if TYPE_CHECKING:
    from collections.abc import Iterator


def _refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
    raise RuntimeError("can't start new thread")


@contextmanager
def no_threads() -> Iterator[None]:
    """Make every start of a thread in Python fail, and let the runtime find that out."""
    starts = threading.Thread.start, _thread.start_new_thread
    threading.Thread.start, _thread.start_new_thread = _refuse, _refuse  # type: ignore[assignment]
    try:
        assert not threads.find_out()
        yield
    finally:
        threading.Thread.start, _thread.start_new_thread = starts  # type: ignore[method-assign]
        assert threads.find_out()
        assert not threads.ERRANDS, "an errand is left"
