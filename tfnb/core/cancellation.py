"""Cancellation of a step and of the operations that wait inside it.

A ``CancellationManager`` holds callbacks by token.  ``start_cancel`` calls each exactly once;
registering afterwards fails, so that a waiter can tell the two orders apart.  A child is cancelled
with its parent, never the other way round.  Corresponds to TensorFlow's ``cancellation.h``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable


class CancellationManager:
    """Callbacks that a cancelled step calls once."""

    def __init__(self, parent: CancellationManager | None = None) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] = {}  # guarded by self._lock
        self._next_token = 0  # guarded by self._lock
        self._running: int | None = None  # token whose callback runs; guarded by self._lock
        self._calling = threading.Lock()  # held while callbacks run
        self._runner: int | None = None
        self.is_cancelling = False
        self.is_cancelled = False
        self._parent = parent
        self._parent_token: int | None = None
        if parent is not None:
            self._parent_token = parent.get_cancellation_token()
            if not parent.register_callback(self._parent_token, self.start_cancel):
                self.is_cancelled = True

    def get_cancellation_token(self) -> int:
        """Return a token no other callback of this manager has."""
        with self._lock:
            self._next_token += 1
            return self._next_token

    def register_callback(self, token: int, callback: Callable[[], None]) -> bool:
        """Register ``callback``; False (and no call) where cancellation has begun."""
        with self._lock:
            if self.is_cancelled or self.is_cancelling:
                return False
            self._callbacks[token] = callback
            return True

    def deregister_callback(self, token: int) -> bool:
        """Remove a callback; False if it was called, after waiting until the calls have ended."""
        with self._lock:
            if not (self.is_cancelled or self.is_cancelling):
                self._callbacks.pop(token, None)
                return True
            wait = self.is_cancelling and self._runner != threading.get_ident()
        if wait:
            with self._calling:
                pass
        return False

    def try_deregister_callback(self, token: int) -> bool:
        """Remove a callback like :meth:`deregister_callback`, without waiting for running ones."""
        with self._lock:
            if self.is_cancelled or self.is_cancelling:
                return False
            self._callbacks.pop(token, None)
            return True

    def start_cancel(self) -> None:
        """Call every callback once, in the order they were registered; later calls do nothing."""
        with self._lock:
            if self.is_cancelled or self.is_cancelling:
                return
            self.is_cancelling = True
            self._runner = threading.get_ident()
        try:
            with self._calling:
                try:
                    self._call_all()
                except KeyboardInterrupt:
                    # An interrupt during the first callbacks must not prevent the others.
                    self._call_all()
                    raise
        finally:
            with self._lock:
                self.is_cancelling, self.is_cancelled = False, True

    def _call_all(self) -> None:
        """Call the registered callbacks; one that was interrupted is called again."""
        callbacks = self._callbacks
        while callbacks:
            token = next(iter(callbacks))
            callbacks[token]()
            callbacks.pop(token, None)

    def close(self) -> None:
        """Take this manager off its parent; a finished step calls it."""
        if self._parent is not None and self._parent_token is not None:
            self._parent.try_deregister_callback(self._parent_token)
            self._parent = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
