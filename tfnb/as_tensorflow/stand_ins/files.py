"""``tensorflow.python.pywrap_tensorflow``: what programs use of TensorFlow's C++ library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.files.events_writer import EventsWriter as _EventsWriter

if TYPE_CHECKING:
    from tfnb.proto import event_pb2


class EventsWriter(_EventsWriter):
    """The writer of an event file, with the spelling of TensorFlow's class.

    Args:
      file_prefix: start of the file's path, text or bytes.
    """

    def __init__(self, file_prefix: str | bytes) -> None:
        super().__init__(file_prefix if isinstance(file_prefix, str) else file_prefix.decode())

    def WriteEvent(self, event: event_pb2.Event) -> None:
        """Add an event."""
        self.write_event(event)

    def Flush(self) -> bool:
        """Make the written events visible to readers; return True."""
        self.flush()
        return True

    def Close(self) -> bool:
        """Write the remaining events; return True."""
        self.close()
        return True

    def FileName(self) -> bytes:
        """Return the path of the file, empty before the first event."""
        return (self.path or "").encode()
