"""Requests of this process that have been waiting for servers, for those who show it.

A client that waits for a server, or for the tasks of its cluster, reports after two seconds and
then at intervals what it waits for.  Observers read the reports; the client's log has them, too.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(eq=False, slots=True)
class ServerWait:
    """A request that waits.

    Attributes:
      target: the server.
      method: what it was asked.
      since: when the request was sent, by ``monotonic()``.
      tasks: the tasks that do not answer, as far as they are known.
      text: what is waited for; "" in the first two seconds.
      advice: what to do about it.
    """

    target: str
    method: str
    since: float = field(default_factory=monotonic)
    tasks: tuple[str, ...] = ()
    text: str = ""
    advice: str = ""

    @property
    def seconds(self) -> float:
        """For how long it has been waiting."""
        return monotonic() - self.since


_lock = threading.Lock()
_waits: dict[ServerWait, None] = {}  # guarded by _lock


@contextmanager
def waiting_for_server(target: str, method: str) -> Iterator[ServerWait]:
    """Register a request while it waits."""
    wait = ServerWait(target, method)
    with _lock:
        _waits[wait] = None
    try:
        yield wait
    finally:
        with _lock:
            _waits.pop(wait, None)


def server_waits() -> list[ServerWait]:
    """Return the requests that have been waiting for more than two seconds, the oldest first."""
    with _lock:
        return [wait for wait in _waits if wait.text]
