"""The threads of a server: as many as requests wait, and none holds up the end of the process."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_Work = tuple["Future[Any]", "Callable[..., Any]", tuple[Any, ...], dict[str, Any]]
_Box = SimpleQueue["_Work | None"]


class ServerThreads(Executor):
    """Runs each call in a thread of its own, one that has ended its last call where there is one.

    The thread that ended its call last gets the next one: what it needs is still in the caches of
    the processor. Unlike a ``ThreadPoolExecutor`` its threads are daemons: a step that waits for
    ever does not keep a process from ending.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        # The boxes of threads that have no call; guarded by self._lock.
        self._idle: list[_Box] = []
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
            box = self._idle.pop() if self._idle else None
        if box is not None:
            box.put((future, fn, args, kwargs))
        else:
            box = SimpleQueue()
            box.put((future, fn, args, kwargs))
            threading.Thread(target=self._serve, args=(box,), name=self._name, daemon=True).start()
        return future

    def _serve(self, box: _Box) -> None:
        while (work := box.get()) is not None:
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
                self._idle.append(box)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no further calls; those that run go on, and are not waited for."""
        with self._lock:
            self._is_shut = True
            idle, self._idle = self._idle, []
        for box in idle:
            box.put(None)
