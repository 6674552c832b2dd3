"""``tf.python_io`` and its part of ``tf.io``: TFRecord files, and the events in them."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tfnb.core.files.tf_record import RecordsOfFile, RecordWriter
from tfnb.proto import event_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]
EXPORTS = {"python_io": _NAMES, "io": _NAMES, "train": ["summary_iterator"]}


class TFRecordCompressionType:
    """The kinds of compression of a record file."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_TEXTS = {
    TFRecordCompressionType.NONE: "",
    TFRecordCompressionType.ZLIB: "ZLIB",
    TFRecordCompressionType.GZIP: "GZIP",
    "": "",
    "ZLIB": "ZLIB",
    "GZIP": "GZIP",
    None: "",
}


class TFRecordOptions:
    """Options for writing TFRecord files.

    Args:
        compression_type: "GZIP", "ZLIB", "" or a ``TFRecordCompressionType``.
        flush_mode: Accepted for compatibility; writers flush on request.
        input_buffer_size: Accepted for compatibility.
        output_buffer_size: Accepted for compatibility.
        window_bits: Base two logarithm of the compression's window.
        compression_level: 0 to 9.
        compression_method: Only deflation is supported.
        mem_level: How much memory the compression uses, 1 to 9.
        compression_strategy: One of zlib's.

    Raises:
        ValueError: The kind of compression is unknown.
    """

    compression_type_map: ClassVar[dict[int, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return the kind of compression as text: "", "ZLIB" or "GZIP".

        Raises:
            ValueError: The kind is unknown.
        """
        kind = options.compression_type if isinstance(options, TFRecordOptions) else options
        if kind not in _TEXTS:
            raise ValueError(f'Not a valid compression_type: "{kind}"')
        return _TEXTS[kind]


class TFRecordWriter:
    """A writer of records to a new TFRecord file; close it, or use it in a ``with`` block.

    Args:
        path: The path of the file.
        options: A ``TFRecordOptions``, or a kind of compression.

    Raises:
        NotFoundError: The directory does not exist.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(kind)

        def given(value: int | None, default: int) -> int:
            return default if value is None else value

        self._writer = RecordWriter(
            os.fsdecode(path),
            kind,
            given(options.compression_level, zlib.Z_DEFAULT_COMPRESSION),
            options.window_bits,
            given(options.mem_level, zlib.DEF_MEM_LEVEL),
            given(options.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        )

    def write(self, record: bytes | str) -> None:
        """Add a record; text is stored as UTF-8.

        Raises:
            FailedPreconditionError: The writer is closed.
        """
        self._writer.write(record.encode() if isinstance(record, str) else record)

    def flush(self) -> None:
        """Make the written records visible to readers.

        Raises:
            FailedPreconditionError: The writer is closed.
        """
        self._writer.flush()

    def close(self) -> None:
        """Write the remaining bytes; repeated calls do nothing."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Return an iterator over the records of a TFRecord file.

    After the last record, it can be continued later with records that were added since.

    Raises:
        NotFoundError: The file does not exist.
        DataLossError: A checksum is wrong, or the last record is incomplete.
    """
    return RecordsOfFile(os.fsdecode(path), TFRecordOptions.get_compression_type_string(options))


def summary_iterator(path: Any) -> Iterator[event_pb2.Event]:
    """Return an iterator over the events of an event file.

    After the last event, it can be continued later with events that a running program has added.

    Raises:
        NotFoundError: The file does not exist.
        DataLossError: A checksum is wrong, or the last event is incomplete.
    """
    return map(event_pb2.Event.FromString, tf_record_iterator(path))
