"""One event file, as TensorBoard reads it: one record per event.

Corresponds to TensorFlow's ``events_writer.cc``.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.core.files.tf_record import framed
from tfnb.proto import event_pb2

if TYPE_CHECKING:
    from typing import BinaryIO

_VERSION = "brain.Event:2"


class EventsWriter:
    """An event file, created at the first event; not thread safe.

    Args:
        prefix: The start of the path ``<prefix>.out.tfevents.<seconds>.<host><suffix>``.
        suffix: The end of the path.
    """

    def __init__(self, prefix: str, suffix: str = "") -> None:
        self._prefix = prefix
        self._suffix = suffix
        self._file: BinaryIO | None = None
        self.path: str | None = None

    def write_event(self, event: event_pb2.Event) -> None:
        """Add an event."""
        if self._file is None:
            self._file = self._begin()
            now = float(int(time.time()))
            version = event_pb2.Event(wall_time=now, file_version=_VERSION)
            version.source_metadata.writer = "tensorflow.core.util.events_writer"
            self._put(version)
        self._put(event)

    def _put(self, event: event_pb2.Event) -> None:
        assert self._file is not None
        assert self.path is not None
        with file_system.translating_errors(self.path):
            self._file.write(framed(event.SerializeToString()))

    def _begin(self) -> BinaryIO:
        """Return a new file; if two begin in one second, the later gets the next second's name."""
        seconds = int(time.time())
        while True:
            host = socket.gethostname()
            self.path = f"{self._prefix}.out.tfevents.{seconds:010d}.{host}{self._suffix}"
            try:
                return file_system.open_file(self.path, "xb", self._prefix)
            except errors.AlreadyExistsError:
                seconds += 1

    def flush(self) -> None:
        """Make the written events visible to readers."""
        if self._file is not None and self.path is not None:
            with file_system.translating_errors(self.path):
                self._file.flush()

    def disown(self) -> None:
        """Leave the file, and the events that are not written yet, to the parent process."""
        if self._file is not None:
            file, self._file = self._file, None
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, file.fileno())
            os.close(nowhere)

    def close(self) -> None:
        """Write the remaining events; the next event begins a new file."""
        if self._file is not None and self.path is not None:
            file, self._file = self._file, None
            with file_system.translating_errors(self.path):
                file.close()
