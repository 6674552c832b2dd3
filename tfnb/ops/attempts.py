"""Somebody who waits for a resource, without holding a thread.

An :class:`Attempt` is a function that either gives an answer or says :data:`NOT_YET`. Whoever
changes the resource lets all attempts try again. Attempts of one ``line`` are served in the order
they came: nobody passes the first. Those without a line are served as soon as they can be.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.cancellation import CancellationManager

NOT_YET: Final[Any] = object()


@dataclass(slots=True, eq=False)
class Attempt:
    """One that waits.

    Attributes:
      serve: gives the answer, an exception, or NOT_YET; called under the lock.
      done: hears the answer; called without the lock.
      manager: through which it may be cancelled.
      line: in which it stands, or None.
      what: for the message when it is cancelled.
      token: of the cancellation callback.
    """

    serve: Callable[[], Any]
    done: Callable[[Any], None]
    manager: CancellationManager
    line: str | None
    what: str
    token: int = 0


class Attempts:
    """Those who wait for one resource; ``lock`` guards the resource as well."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._waiting: list[Attempt] = []  # guarded by self.lock

    def add(self, attempt: Attempt) -> None:
        """Tries at once; if that is too early, waits."""
        with self.lock:
            self._waiting.append(attempt)
            ended = self._try_all()
            if attempt in self._waiting:
                attempt.token = attempt.manager.get_cancellation_token()
                if not attempt.manager.register_callback(
                    attempt.token, lambda: self._cancel(attempt)
                ):
                    self._waiting.remove(attempt)
                    ended.append((attempt, _cancelled(attempt)))
                    ended += self._try_all()
        _finish(ended)

    def changed(self) -> None:
        """The resource has changed: everybody tries again. Call it without the lock."""
        with self.lock:
            ended = self._try_all()
        _finish(ended)

    def cancel_line(self, line: str) -> None:
        """Cancels all who stand in one line."""
        with self.lock:
            ended = [(one, _cancelled(one)) for one in self._waiting if one.line == line]
            self._waiting = [one for one in self._waiting if one.line != line]
            ended += self._try_all()
        _finish(ended)

    def _cancel(self, attempt: Attempt) -> None:
        with self.lock:
            if attempt not in self._waiting:
                return
            self._waiting.remove(attempt)
            ended = [(attempt, _cancelled(attempt)), *self._try_all()]
        _finish(ended)

    def _try_all(self) -> list[tuple[Attempt, Any]]:
        """Those who got an answer, with it."""
        ended: list[tuple[Attempt, Any]] = []
        has_moved = True
        while has_moved:
            has_moved = False
            blocked: set[str] = set()
            for attempt in list(self._waiting):
                if attempt.line in blocked:
                    continue
                try:
                    answer = attempt.serve()
                except Exception as error:
                    answer = error
                if answer is NOT_YET:
                    if attempt.line is not None:
                        blocked.add(attempt.line)
                else:
                    self._waiting.remove(attempt)
                    ended.append((attempt, answer))
                    has_moved = True
        return ended


def _cancelled(attempt: Attempt) -> errors.CancelledError:
    return errors.cancelled(f"{attempt.what} operation was cancelled")


def _finish(ended: list[tuple[Attempt, Any]]) -> None:
    """Tells the answers, outside every lock."""
    for attempt, answer in ended:
        if attempt.token:
            attempt.manager.try_deregister_callback(attempt.token)
        attempt.done(answer)
