"""Scalars that a program puts into summaries, reported to listeners in the same process.

A scalar is reported when its summary is computed, and again when the summary is written for a step.
Without listeners this costs one comparison.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tfnb.proto.summary_pb2 import Summary

_log = logging.getLogger("tfnb")


class ScalarListener(Protocol):
    """A receiver of scalars; runs on the thread that computed or wrote them: append to a deque."""

    def scalar_made(self, tag: str, value: float) -> None:
        """Receive a scalar whose summary was computed."""

    def scalar_written(self, tag: str, value: float, step: int | None, run: str) -> None:
        """Receive a scalar whose summary was passed to the writer of a run's folder."""


_listeners: tuple[ScalarListener, ...] = ()
_lock = threading.Lock()


def add_scalar_listener(listener: ScalarListener) -> None:
    """Report every scalar to a listener from now on."""
    global _listeners
    with _lock:
        _listeners = (*_listeners, listener)


def remove_scalar_listener(listener: ScalarListener) -> None:
    """Stop reporting to a listener."""
    global _listeners
    with _lock:
        _listeners = tuple(one for one in _listeners if one is not listener)


def are_scalars_heard() -> bool:
    """Return whether there are listeners."""
    return bool(_listeners)


def scalar_made(tag: str, value: float) -> None:
    """Report a scalar that was computed."""
    for listener in _listeners:
        try:
            listener.scalar_made(tag, value)
        except Exception:
            _give_up(listener)


def scalar_written(tag: str, value: float, step: int | None, run: str) -> None:
    """Report a scalar that was passed to a writer."""
    for listener in _listeners:
        try:
            listener.scalar_written(tag, value, step, run)
        except Exception:
            _give_up(listener)


def summary_written(summary: Summary, step: int | None, logdir: str) -> None:
    """Report the scalars in a summary that was passed to the writer of a folder."""
    if not _listeners:
        return
    run = logdir.rstrip("/").rpartition("/")[2]
    for value in summary.value:
        if value.HasField("simple_value"):
            scalar_written(value.tag, value.simple_value, step, run)


def _give_up(listener: ScalarListener) -> None:
    """Remove a listener that raised an error, so that the step does not fail."""
    remove_scalar_listener(listener)
    _log.exception("A listener to scalars failed; it hears no more.")
