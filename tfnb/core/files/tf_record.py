"""TFRecord files: records with their lengths and checksums; the file may be compressed.

A record is the length (8 bytes), the masked CRC-32C of these 8 bytes, the data, and the data's
masked CRC-32C; numbers are little-endian. Corresponds to ``record_reader.cc`` and
``record_writer.cc``.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final, Self

from tfnb.core import errors, host_memory
from tfnb.core.files import crc32c, file_system

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER: Final = struct.Struct("<QI")
_FOOTER: Final = struct.Struct("<I")
# Kinds of compression, and the window bits that select them in zlib.
WINDOW_BITS: Final = {"ZLIB": zlib.MAX_WBITS, "GZIP": 16 + zlib.MAX_WBITS}
# Lengths from this one on are compared with the size of the file before memory is allocated.
_LARGE: Final = 1 << 24
# Compressed bytes of which a stream gets its first piece.
_FIRST_PIECE: Final = 1 << 12


def framed(record: bytes) -> bytes:
    """Return a record in the form of a file."""
    length = struct.pack("<Q", len(record))
    return b"".join(
        (
            length,
            _FOOTER.pack(crc32c.mask(crc32c.crc32c(length))),
            record,
            _FOOTER.pack(crc32c.mask(crc32c.crc32c(record))),
        )
    )


def tf_records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Return the records in a TFRecord file's bytes, each with its position.

    Raises:
      DataLossError: a checksum is wrong, or the last record is incomplete.
    """
    return read_records(io.BytesIO(data))


def read_records(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the records of an open file, each with its position.

    Raises:
      DataLossError: a checksum is wrong, or the last record is incomplete.
    """
    offset = 0
    while True:
        header = file.read(_HEADER.size)
        # A last piece too short for a header counts as the end.
        if len(header) < _HEADER.size:
            return
        length, checksum = _HEADER.unpack(header)
        if crc32c.mask(crc32c.crc32c(header[:8])) != checksum:
            raise errors.data_loss(f"corrupted record at {offset} (Is this even a TFRecord file?)")
        wanted = length + _FOOTER.size
        rest = file.read(wanted) if length < _LARGE or wanted <= _left(file) else b""
        if len(rest) < wanted:
            raise errors.data_loss(
                f"truncated record at {offset}' failed with Read less bytes than requested"
            )
        record = rest[:length]
        if crc32c.mask(crc32c.crc32c(record)) != _FOOTER.unpack_from(rest, length)[0]:
            raise errors.data_loss(f"corrupted record at {offset + _HEADER.size}")
        yield offset, record
        offset += _HEADER.size + wanted


def _left(file: BinaryIO) -> int:
    """Return the number of bytes that follow."""
    here = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(here)
    return end - here


class RecordsOfFile:
    """The records of a file, one after the other; records added later follow the last one.

    Args:
      path: the path of the file.
      compression: "ZLIB", "GZIP", or "" for none.

    Raises:
      NotFoundError: the file does not exist.
    """

    def __init__(self, path: str, compression: str = "") -> None:
        self._path = path
        self._compression = compression
        self._end = 0  # of the last record that was read
        self._records: Iterator[bytes] | None = None
        file_system.open_file(path).close()

    def _following(self) -> Iterator[bytes]:
        with file_system.open_file(self._path) as file:
            source: BinaryIO = file
            if self._compression:
                source = io.BytesIO(inflated(file.read(), self._compression))
            source.seek(self._end)
            for _, record in read_records(source):
                self._end += _HEADER.size + len(record) + _FOOTER.size
                yield record

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        """Return the next record.

        Raises:
          StopIteration: there is no further record now; there may be one later.
          DataLossError: a checksum is wrong, or the last record is incomplete.
        """
        if self._records is None:
            self._records = self._following()
        try:
            return next(self._records)
        except BaseException:
            self._records = None  # the next call opens the file again
            raise


def inflated(data: bytes, compression: str) -> bytes:
    """Return the decompressed bytes; several streams may follow each other.

    Raises:
      DataLossError: the bytes are not valid for this compression.
      ResourceExhaustedError: the result exceeds the memory limit.
    """
    out: list[bytes] = []
    left = host_memory.limit()
    view, start = memoryview(data), 0
    try:
        while start < len(view):
            stream = zlib.decompressobj(WINDOW_BITS[compression])
            # Pieces that grow: zlib copies what follows a stream, once for each short stream.
            piece = _FIRST_PIECE
            while start < len(view) and not stream.eof:
                part = view[start : start + piece]
                found, left = inflated_stream(stream, part, left, len(data))
                out.append(found)
                start += len(part) - len(stream.unused_data)
                piece *= 2
            out.append(stream.flush())
    except zlib.error as error:
        raise errors.data_loss(f"inflate() failed: {error}") from None
    return b"".join(out)


def inflated_stream(
    stream: zlib._Decompress, data: bytes | memoryview, left: int, num_bytes: int | None = None
) -> tuple[bytes, int]:
    """Decompress one stream; return its bytes and how many of the ``left`` bytes of memory remain.

    Args:
      stream: the decompressor.
      data: the next compressed bytes.
      left: the maximum number of bytes of the result.
      num_bytes: the size of all compressed bytes, for the error; that of ``data`` if None.

    Raises:
      zlib.error: the bytes are not valid for this compression.
      ResourceExhaustedError: the result has more than ``left`` bytes.
    """
    found = stream.decompress(data, left + 1)
    left -= len(found)
    if left < 0:
        raise errors.resource_exhausted(
            f"{num_bytes or len(data):,} compressed bytes become more than there is memory for "
            f"({host_memory.limit():,} bytes in all)"
        )
    return found, left


class RecordWriter:
    """A writer of records to a new file.

    Args:
      path: the path of the file.
      compression: "ZLIB", "GZIP", or "" for none.
      level: the compression level, 0 to 9; -1 for the usual one.
      window_bits: base two logarithm of the compression's window; None for the largest.
      mem_level: how much memory the compression uses, 1 to 9.
      strategy: the compression strategy, one of zlib's.

    Raises:
      NotFoundError: the directory does not exist.
    """

    def __init__(
        self,
        path: str,
        compression: str = "",
        level: int = -1,
        window_bits: int | None = None,
        mem_level: int = zlib.DEF_MEM_LEVEL,
        strategy: int = zlib.Z_DEFAULT_STRATEGY,
    ) -> None:
        self._path = path
        self._compressor = None
        if compression:
            bits = WINDOW_BITS[compression]
            if window_bits is not None:
                bits = abs(window_bits) + (16 if compression == "GZIP" else 0)
            self._compressor = zlib.compressobj(level, zlib.DEFLATED, bits, mem_level, strategy)
        self._file: BinaryIO | None = file_system.open_file(path, "wb")

    def _open_file(self) -> BinaryIO:
        if self._file is None:
            raise errors.failed_precondition("Writer is closed.")
        return self._file

    def _put(self, data: bytes) -> None:
        with file_system.translating_errors(self._path):
            self._open_file().write(data)

    def write(self, record: bytes) -> None:
        """Add a record.

        Raises:
          FailedPreconditionError: the writer is closed.
        """
        self._open_file()
        data = framed(record)
        self._put(data if self._compressor is None else self._compressor.compress(data))

    def flush(self) -> None:
        """Make the written records visible to readers.

        Raises:
          FailedPreconditionError: the writer is closed.
        """
        file = self._open_file()
        if self._compressor is not None:
            self._put(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        with file_system.translating_errors(self._path):
            file.flush()

    def close(self) -> None:
        """Write the remaining bytes; repeated calls do nothing."""
        if self._file is None:
            return
        try:
            if self._compressor is not None:
                self._put(self._compressor.flush())
        finally:
            file, self._file = self._file, None
            with file_system.translating_errors(self._path):
                file.close()
