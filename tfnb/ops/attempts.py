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
      serve: gives the answer, an exception, or NOT_YET; called under the lock.  It changes the
        resource last, when nothing can interrupt it any more.
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


# Attempts that have ended, with their answers.
type_of_ended = list[tuple[Attempt, Any]]


class Attempts:
    """Those who wait for one resource; ``lock`` guards the resource as well."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._waiting: list[Attempt] = []  # guarded by self.lock

    def add(self, attempt: Attempt) -> None:
        """Tries at once; if that is too early, waits."""
        self._settle(lambda ended: self._arrive(attempt, ended), attempt)

    def change(self, change: Callable[[], None]) -> None:
        """Changes the resource under the lock, then everybody tries again.

        Whatever ``change`` raises goes to the caller.
        """

        def changed(ended: type_of_ended) -> None:
            change()
            self._try_all(ended)

        self._settle(changed)

    def _settle(
        self, action: Callable[[type_of_ended], None], of_ours: Attempt | None = None
    ) -> None:
        """Does something under the lock, and tells those their answers who got one by it.

        They belong to other steps: whoever is interrupted on the way lets them try again, and tells
        them all the same.  Only the attempt that the interrupted step itself made is given up.
        """
        ended: type_of_ended = []
        try:
            with self.lock:
                action(ended)
        except KeyboardInterrupt:
            with self.lock:
                if of_ours is not None:
                    self._withdraw(of_ours, ended)
                self._try_all(ended)
            raise
        finally:
            try:
                _tell(ended)
            except KeyboardInterrupt:
                _tell(ended)
                raise

    def _arrive(self, attempt: Attempt, ended: type_of_ended) -> None:
        self._waiting.append(attempt)
        self._try_all(ended)
        if attempt not in self._waiting:
            return
        attempt.token = attempt.manager.get_cancellation_token()
        if not attempt.manager.register_callback(attempt.token, lambda: self._cancel(attempt)):
            self._withdraw(attempt, ended)
            self._try_all(ended)

    def _cancel(self, attempt: Attempt) -> None:
        def cancel(ended: type_of_ended) -> None:
            self._withdraw(attempt, ended)
            self._try_all(ended)

        self._settle(cancel, attempt)

    def _withdraw(self, attempt: Attempt, ended: type_of_ended) -> None:
        if attempt in self._waiting:
            ended.append((attempt, errors.cancelled(f"{attempt.what} operation was cancelled")))
            self._waiting.remove(attempt)

    def _try_all(self, ended: type_of_ended) -> None:
        """Those who get an answer join ``ended`` with it, before they leave the line.

        So whoever is interrupted in between may have one answered twice, which does no harm.
        """
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
                    ended.append((attempt, answer))
                    self._waiting.remove(attempt)
                    has_moved = True


def _tell(ended: type_of_ended) -> None:
    """Tells the answers, outside every lock; to hear one twice does no harm."""
    for attempt, answer in ended:
        if attempt.token:
            attempt.manager.try_deregister_callback(attempt.token)
        attempt.done(answer)
