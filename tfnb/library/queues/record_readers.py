"""``tf.TextLineReader`` and the other readers: the public classes for the reader ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.library.queues.queues import QueueBase
from tfnb.ops.io import reader_ops

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "ReaderBase", "TextLineReader", "WholeFileReader", "TFRecordReader", "IdentityReader",
        "FixedLengthRecordReader",
    ],
}  # fmt: skip


class ReaderBase:
    """A reader of records, as pairs of a key and a value, from files whose names are in a queue.

    Args:
      reader_ref: the reader's handle.
      supports_serialize: whether its state can be saved.
    """

    def __init__(self, reader_ref: Any, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> TensorResult:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the reader's state can be saved."""
        return self._supports_serialize

    def _op(self, name: str) -> Any:
        """Return an op for the kind of handle that this reader has."""
        is_resource = self._reader_ref.dtype is dtypes.resource
        return getattr(reader_ops, f"reader_{name}_v2" if is_resource else f"reader_{name}")

    def read(self, queue: TensorLike, name: str | None = None) -> TensorResult:
        """Return the next record, as (key, value); dequeue a file name if one is needed."""
        return self._op("read")(self._reader_ref, _handle(queue), name=name)

    def read_up_to(
        self, queue: TensorLike, num_records: Any, name: str | None = None
    ) -> TensorResult:
        """Return up to ``num_records`` records, all of one file, as (keys, values)."""
        return self._op("read_up_to")(self._reader_ref, _handle(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> TensorResult:
        """Return the number of records that were read, a scalar int64."""
        return self._op("num_records_produced")(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> TensorResult:
        """Return the number of names whose records are all read, a scalar int64."""
        return self._op("num_work_units_completed")(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> TensorResult:
        """Return the state as a scalar string, if :attr:`supports_serialize`."""
        return self._op("serialize_state")(self._reader_ref, name=name)

    def restore_state(self, state: Nested, name: str | None = None) -> TensorResult:
        """Return an op that restores a state of the reader."""
        return self._op("restore_state")(self._reader_ref, state, name=name)

    def reset(self, name: str | None = None) -> TensorResult:
        """Return an op that sets the reader back to its beginning."""
        return self._op("reset")(self._reader_ref, name=name)


def _handle(queue: TensorLike) -> TensorResult:
    return queue.queue_ref if isinstance(queue, QueueBase) else queue


class WholeFileReader(ReaderBase):
    """A reader of each file as one record; the key is its name."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(reader_ops.whole_file_reader_v2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """A reader of the lines of files, without their line ends."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(
            reader_ops.text_line_reader_v2(skip_header_lines=skip_header_lines or 0, name=name)
        )


class FixedLengthRecordReader(ReaderBase):
    """A reader of records of one size.

    Args:
      record_bytes: the size.
      header_bytes: how many bytes to skip at a file's beginning.
      footer_bytes: how many bytes to skip at its end.
      hop_bytes: from one record's beginning to the next; ``record_bytes`` if 0.
      name: of the op.
      encoding: "ZLIB" or "GZIP" for compressed files.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            reader_ops.fixed_length_record_reader_v2(
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )


class TFRecordReader(ReaderBase):
    """A reader of the records of TFRecord files.

    Args:
      name: of the op.
      options: the compression of the files: "ZLIB", "GZIP", or an object with a
        ``compression_type``.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(
            reader_ops.tf_record_reader_v2(compression_type=_compression(options), name=name)
        )


# The numbers of the kinds of compression in TensorFlow's TFRecordCompressionType.
_COMPRESSIONS = {0: "", 1: "ZLIB", 2: "GZIP", None: "", "": "", "ZLIB": "ZLIB", "GZIP": "GZIP"}


def _compression(options: Any) -> str:
    kind = getattr(options, "compression_type", options)
    if kind not in _COMPRESSIONS:
        raise ValueError(f"Not a valid compression_type: {kind!r}")
    return _COMPRESSIONS[kind]


class IdentityReader(ReaderBase):
    """A reader of the file names themselves, as key and value."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(reader_ops.identity_reader_v2(name=name), supports_serialize=True)
