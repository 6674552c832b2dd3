"""The threads of a server: as many as requests wait, and none holds up the end of the process."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_Work = tuple["Future[Any]", "Callable[..., Any]", tuple[Any, ...], dict[str, Any]]


class ServerThreads(Executor):
    """Runs each call in a thread of its own, one that has ended its last call where there is one.

    Unlike a ``ThreadPoolExecutor`` its threads are daemons: a step that waits for ever does not
    keep a process from ending.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._num_idle = 0  # guarded by self._lock
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._is_shut = False  # guarded by self._lock

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call soon; return its future.

        Raises:
          RuntimeError: the threads were shut down.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError("The server has stopped.")
            is_taken = self._num_idle > 0
            if is_taken:
                self._num_idle -= 1
        self._work.put((future, fn, args, kwargs))
        if not is_taken:
            threading.Thread(target=self._serve, name=self._name, daemon=True).start()
        return future

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            future, fn, args, kwargs = work
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:
                    future.set_exception(error)
            del work, future, fn, args, kwargs
            with self._lock:
                if self._is_shut:
                    return
                self._num_idle += 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no further calls; those that run go on, and are not waited for."""
        with self._lock:
            self._is_shut = True
            num_idle, self._num_idle = self._num_idle, 0
        for _ in range(num_idle):
            self._work.put(None)
