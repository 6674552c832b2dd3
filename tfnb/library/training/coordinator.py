"""``tf.train.Coordinator``, which stops threads together, and ``LooperThread``."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.process.notification import Notification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType

    type_of_reason = (
        BaseException
        | tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
        | None
    )

EXPORTS = {"train": ["Coordinator", "LooperThread"]}

_log = logging.getLogger("tensorflow")

# Length of one wait in seconds; it ends early when a thread ends or a stop is requested.
_WAIT = 0.1
# How much longer than all others `join` waits for threads that end with their session; in seconds.
_SESSION_THREADS_S = 2.0


class SessionThread(threading.Thread):
    """A thread that runs steps whose results have no use once a stop is requested.

    Its last step may wait for what no thread sends any more, and ends when the session is closed.
    :meth:`Coordinator.join` therefore waits for it only for a moment longer than for the others.
    """


class Coordinator:
    """Coordinates the end of threads: any thread may request a stop, and ``join`` waits for all.

    :meth:`join` raises the first exception given with a stop request, with the traceback of its
    thread.

    Args:
      clean_stop_exception_types: exceptions that mean a normal end; ``OutOfRangeError`` by default.
    """

    def __init__(
        self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None
    ) -> None:
        self._clean_types = (
            (errors.OutOfRangeError,)
            if clean_stop_exception_types is None
            else tuple(clean_stop_exception_types)
        )
        self._lock = threading.Lock()
        self._stop_requested = Notification()
        self._to_raise: BaseException | None = None  # guarded by self._lock
        self._joined = False  # guarded by self._lock
        self._threads: set[threading.Thread] = set()  # guarded by self._lock

    def request_stop(self, ex: type_of_reason = None) -> None:
        """Request that all threads stop.

        Args:
          ex: the reason, an exception or the result of ``sys.exc_info()``. The first one is kept
            for :meth:`join`. After ``join`` it is raised here, because ``join`` cannot raise it.
        """
        error = self._failure(ex)
        with self._lock:
            if self._joined and error is not None:
                raise error
            if self._stop_requested.has_been_notified():
                return
            if error is not None and self._to_raise is None:
                _log.info("Error reported to Coordinator: %s, %s", type(error), error)
                self._to_raise = error
            self._stop_requested.notify()

    def _failure(self, reason: type_of_reason) -> BaseException | None:
        """Return the exception to raise, or None for a normal end."""
        if reason is None:
            return None
        if isinstance(reason, tuple):
            if len(reason) != 3 or reason[1] is None:
                return ValueError(
                    "ex must be a tuple or sys.exc_info must return the current exception: "
                    f"{reason}"
                )
            error = reason[1].with_traceback(reason[2])
        else:
            error = reason
        return None if isinstance(error, self._clean_types) else error

    def clear_stop(self) -> None:
        """Reset to the initial state, without a stop request."""
        with self._lock:
            self._joined = False
            self._to_raise = None
            self._stop_requested = Notification()

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self._stop_requested.has_been_notified()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Open a context that turns an exception of its block into a stop request."""
        try:
            yield
        except BaseException:  # join() raises it
            self.request_stop(sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait for a stop request, at most ``timeout`` seconds; return whether there is one."""
        if timeout is not None:
            return self._stop_requested.wait(timeout)
        # Waits in short steps: an unlimited wait would block KeyboardInterrupt in the main thread.
        while not self._stop_requested.wait(_WAIT):
            pass
        return True

    def register_thread(self, thread: threading.Thread) -> None:
        """Add a thread to those that :meth:`join` waits for."""
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until all threads have ended.

        Args:
          threads: threads to wait for in addition to the registered ones.
          stop_grace_period_secs: how long threads may run after a stop request.
          ignore_live_threads: whether to ignore threads that still run after that time.

        Raises:
          RuntimeError: threads still run after the grace period.
          Exception: the exception given to :meth:`request_stop`.
        """
        with self._lock:
            awaited = self._threads.union(threads or ())
        while any(thread.is_alive() for thread in awaited) and not self.should_stop():
            _wait_for_one(awaited)
        deadline = time.monotonic() + stop_grace_period_secs
        others = {thread for thread in awaited if not isinstance(thread, SessionThread)}
        while any(thread.is_alive() for thread in others) and time.monotonic() < deadline:
            _wait_for_one(others)
        deadline = min(deadline, time.monotonic() + _SESSION_THREADS_S)
        while any(thread.is_alive() for thread in awaited) and time.monotonic() < deadline:
            _wait_for_one(awaited)
        stragglers = [thread.name for thread in others if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._threads.clear()
            error = self._to_raise
        if error is not None:
            raise error
        if stragglers:
            text = f"Coordinator stopped with threads still running: {' '.join(stragglers)}"
            if not ignore_live_threads:
                raise RuntimeError(text)
            _log.info(text)

    @property
    def joined(self) -> bool:
        """Whether :meth:`join` has finished."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise the exception given to :meth:`request_stop`, if there is one."""
        with self._lock:
            error = self._to_raise
        if error is not None:
            raise error


def _wait_for_one(threads: set[threading.Thread]) -> None:
    """Wait for a live thread to end, for a short time."""
    alive = next((thread for thread in threads if thread.is_alive()), None)
    if alive is not None:
        alive.join(_WAIT)


class LooperThread(threading.Thread):
    """A daemon thread that calls a function repeatedly until its coordinator stops.

    An exception stops the coordinator.

    Args:
      coord: the coordinator.
      timer_interval_secs: time between the starts of two calls; 0 or None for no pause.
      target: the function; a subclass may define :meth:`run_loop` instead.
      args: positional arguments of ``target``.
      kwargs: keyword arguments of ``target``.

    Raises:
      UnimplementedError: no thread can be started.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        errors.require_threads("LooperThread", "Call the function yourself between steps.")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._repeated = target
        if target is None and (args is not None or kwargs is not None):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        self._repeated_args = tuple(args or ())
        self._repeated_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Start a thread that calls ``target`` repeatedly."""
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        """Run the loop until the coordinator stops."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if not self._timer_interval_secs:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                begin = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, begin - time.monotonic())):
                    begin += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Do nothing; a hook that runs before the first call."""

    def stop_loop(self) -> None:
        """Do nothing; a hook that runs after the last call."""

    def run_loop(self) -> None:
        """Call ``target`` once."""
        if self._repeated is not None:
            self._repeated(*self._repeated_args, **self._repeated_kwargs)
