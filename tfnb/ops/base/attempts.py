"""Operations that wait for a resource without blocking a thread.

An :class:`Attempt` has a function that returns an answer or :data:`NOT_YET`. Each change of the
resource retries all attempts. Attempts of one ``line`` are served strictly in order of arrival;
attempts without a line are served as soon as possible.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from tfnb.core import errors
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.cancellation import CancellationManager

NOT_YET: Final[Any] = object()


@record(slots=True, eq=False)
class Attempt:
    """One waiting operation.

    Attributes:
      serve: returns the answer, an exception, or NOT_YET; called under the lock.  It changes the
        resource as its last action, which cannot be interrupted.
      done: called with the answer, without the lock.
      manager: the cancellation manager of its step.
      line: the queue in which it waits, or None.
      what: the operation's name in the cancellation message.
      token: the token of the cancellation callback.
    """

    serve: Callable[[], Any]
    done: Callable[[Any], None]
    manager: CancellationManager
    line: str | None
    what: str
    token: int = 0


# Finished attempts with their answers.
type_of_ended = list[tuple[Attempt, Any]]


class Attempts:
    """The attempts that wait for one resource; ``lock`` guards the resource, too."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._waiting: list[Attempt] = []  # guarded by self.lock

    def add(self, attempt: Attempt) -> None:
        """Try at once; wait if the attempt cannot be served yet."""
        self._settle(lambda ended: self._arrive(attempt, ended), attempt)

    def change(self, change: Callable[[], None]) -> None:
        """Change the resource under the lock, then retry all attempts.

        Exceptions of ``change`` propagate to the caller.
        """

        def changed(ended: type_of_ended) -> None:
            change()
            self._try_all(ended)

        self._settle(changed)

    def _settle(
        self, action: Callable[[type_of_ended], None], of_ours: Attempt | None = None
    ) -> None:
        """Run an action under the lock, then deliver the answers of the attempts that it ended.

        These attempts may belong to other steps, so an interrupted thread still retries them and
        delivers their answers.  Only the attempt of the interrupted step itself is withdrawn.
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
        """Add each answered attempt to ``ended`` before removing it from the waiting list.

        An interrupt in between may answer an attempt twice, which does no harm.
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
    """Deliver the answers, without holding a lock; a second delivery does no harm."""
    for attempt, answer in ended:
        if attempt.token:
            attempt.manager.try_deregister_callback(attempt.token)
        attempt.done(answer)
