"""Event files for TensorBoard, written by a thread.

``EventFileWriter`` puts events into a queue of bounded length; its thread takes them out, writes
them, and flushes the file every ``flush_secs``. ``add_event`` blocks while the queue is full. The
thread references only the ``_EventLog``, never the writer, so that a writer without references is
finalized: its events are written, and the thread ends. The same happens when the interpreter
exits. Where no thread can be started, ``add_event`` writes and flushes at once.

The file is made when its first event is written, and begins with an event that holds its version.
Corresponds to ``event_file_writer.py`` and ``events_writer.cc``.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tfnb.client.files import gfile
from tfnb.core.files.events_writer import EventsWriter
from tfnb.core.process import forking, threads
from tfnb.core.process.notification import Notification

if TYPE_CHECKING:
    from tfnb.proto import event_pb2

# Longest wait, in seconds, between two checks whether the thread is still alive.
_WAIT = 0.1


class _Flush:
    """A marker in the queue; ``done`` is set when everything before it is in the file."""

    def __init__(self, is_last: bool) -> None:
        self.is_last = is_last
        self.done = Notification()


@dataclass(slots=True)
class _EventLog:
    """The state that the thread and the writer share.

    Attributes:
        pending: Events and flushes, in order; thread safe.
        error: The exception that ended the thread; set once, before the thread ends.
        is_threaded: Whether a thread writes; else ``put`` does.
    """

    file: EventsWriter
    flush_secs: float
    pending: queue.Queue[event_pb2.Event | _Flush]
    error: BaseException | None = None
    thread: threading.Thread | None = field(default=None)
    is_threaded: bool = field(default_factory=threads.can_start)

    def put(self, item: event_pb2.Event | _Flush) -> None:
        """Add to the queue, waiting for room; without a thread, write.

        Raises:
            Exception: The exception that ended the thread.
        """
        if not self.is_threaded:
            if not isinstance(item, _Flush):
                self.file.write_event(item)
                self.file.flush()
            return
        while True:
            if self.error is not None:
                raise self.error
            try:
                self.pending.put(item, timeout=_WAIT)
            except queue.Full:
                continue
            return

    def flush(self, *, is_last: bool = False) -> None:
        """Wait until everything added so far is in the file; without a thread, it is."""
        if self.thread is None:
            return
        place = _Flush(is_last)
        self.put(place)
        while not place.done.wait(_WAIT):
            if self.error is not None:
                raise self.error

    def start(self) -> None:
        """Start the thread, where there can be one."""
        if not self.is_threaded:
            return
        self.thread = threading.Thread(target=self._write, name="EventFileWriter", daemon=True)
        self.thread.start()

    def finish(self) -> None:
        """Write everything, end the thread, close the file; a second call does nothing."""
        if not self.is_threaded:
            self.file.close()
            return
        if self.thread is None:
            return
        try:
            self.flush(is_last=True)
        finally:
            self.thread = None
            self.file.close()

    def _write(self) -> None:
        """Run the thread: write events until the last flush."""
        due = time.monotonic() + self.flush_secs
        try:
            while True:
                try:
                    item = self.pending.get(timeout=max(0.0, due - time.monotonic()))
                except queue.Empty:
                    self.file.flush()
                    due = time.monotonic() + self.flush_secs
                    continue
                if isinstance(item, _Flush):
                    self.file.flush()
                    item.done.notify()
                    if item.is_last:
                        return
                    continue
                self.file.write_event(item)
                if time.monotonic() >= due:
                    self.file.flush()
                    due = time.monotonic() + self.flush_secs
        except BaseException as error:
            self.error = error


class EventFileWriter:
    """A writer that adds events to an event file in a directory; thread safe.

    Args:
        logdir: The directory; it is made if it does not exist.
        max_queue: How many events may wait to be written.
        flush_secs: How often the file is flushed, in seconds.
        filename_suffix: The end of the file's name.
    """

    def __init__(
        self,
        logdir: str,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._logdir = str(os.fspath(logdir))
        gfile.makedirs(self._logdir)
        self._prefix = os.path.join(self._logdir, "events")
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.Lock()
        self._closed = False  # guarded by self._lock
        self._begin()
        forking.renew_in_child(self)

    def renew_after_fork(self) -> None:
        """Begin a new file in a forked child, which has no writing thread, at its first event."""
        self._lock = threading.Lock()
        if not self._closed:
            self._finalizer.detach()
            self._log.file.disown()
            self._begin()

    def _begin(self) -> None:
        log = _EventLog(
            EventsWriter(self._prefix, self._suffix),
            self._flush_secs,
            queue.Queue(self._max_queue),
        )
        log.start()
        self._log = log
        self._finalizer = weakref.finalize(self, _finish_quietly, log)

    def get_logdir(self) -> str:
        """Return the directory."""
        return self._logdir

    def add_event(self, event: event_pb2.Event) -> None:
        """Add an event; nothing happens if the writer is closed."""
        if not self._closed:
            self._log.put(event)

    def flush(self) -> None:
        """Write everything added so far to the file."""
        if not self._closed:
            self._log.flush()

    def close(self) -> None:
        """Write everything and close the file; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._finalizer.detach()
        self._log.finish()

    def reopen(self) -> None:
        """Continue in a new file after ``close``; nothing happens if the writer is open."""
        with self._lock:
            if self._closed:
                self._begin()
                self._closed = False


def _finish_quietly(log: _EventLog) -> None:
    """Finish a writer that was not closed; a failure is logged, since there is no caller."""
    try:
        log.finish()
    except Exception as error:
        import logging

        logging.getLogger("tensorflow").error("Events were lost: %s", error)
