"""The files of a saved dataset, in TensorFlow's form (``core/data/snapshot_utils.cc``).

::

    folder/dataset_spec.pb                            element spec; written by Dataset.save
    folder/snapshot.metadata                          a SnapshotMetadataRecord: the complete run
    folder/<run>/00000000.shard/00000000.snapshot     records of a shard

A record is a TensorProto; an element has one record per component.  Files are TFRecord files,
plain, compressed by zlib, or in blocks of Snappy.  Blocks of Snappy are written without
compression, as literals: a compressor in Python would cost more time than the bytes are worth.
"""

from __future__ import annotations

import os
import struct
import time
import uuid
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from google.protobuf.message import DecodeError

from tfnb.core import errors, host_memory
from tfnb.core.files import file_system
from tfnb.core.files.leveldb_table import put_varint, uncompress_snappy
from tfnb.core.files.tf_record import WINDOW_BITS, RecordsOfFile, RecordWriter, framed, tf_records
from tfnb.core.tensor_proto import decode_tensor, encode_tensor_content
from tfnb.proto import snapshot_pb2, tensor_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tfnb.core.dtypes import DType

_METADATA: Final = "snapshot.metadata"
_VERSION: Final = 2
_BLOCK: Final = struct.Struct(">I")
_BLOCK_BYTES: Final = 1 << 18
_LITERAL_BYTES: Final = 1 << 16


# ----------------------------------------------------------------------------------------- metadata


class Run:
    """One writing of a dataset: its folder, and the metadata that mark it as complete.

    Args:
      folder: the folder of the saved dataset.
      types: the types of the components of an element.
      graph_hash: the hash of the pipeline; "" for a dataset that was saved by itself.
    """

    def __init__(self, folder: str, types: Sequence[DType], graph_hash: str = "") -> None:
        self._folder = folder
        self._record = snapshot_pb2.SnapshotMetadataRecord(
            graph_hash=graph_hash,
            run_id=str(uuid.uuid4().int >> 64),
            creation_timestamp=int(time.time() * 1e6),
            version=_VERSION,
            dtype=[one.as_datatype_enum for one in types],  # type: ignore[misc]
        )
        self.path = os.path.join(folder, self._record.run_id)

    def begin(self) -> None:
        """Make the folder, and mark the run as incomplete."""
        file_system.create_directories(self.path)
        self._write()

    def finish(self, num_elements: int = 0) -> None:
        """Mark the run as complete."""
        self._record.num_elements = num_elements
        self._record.finalized = True
        self._write()

    def _write(self) -> None:
        data = self._record.SerializeToString()
        file_system.write_file(os.path.join(self._folder, _METADATA), data)


def finished_run(folder: str) -> str | None:
    """Return the folder of the complete run, or None where there is none.

    Raises:
      DataLossError: the metadata are damaged.
    """
    path = os.path.join(folder, _METADATA)
    try:
        record = snapshot_pb2.SnapshotMetadataRecord.FromString(file_system.read_file(path))
    except errors.NotFoundError:
        return None
    except DecodeError:
        raise errors.data_loss(f"Can't parse {path} as binary proto") from None
    if not record.finalized:
        return None
    if record.version != _VERSION or not record.run_id.isdecimal():
        raise errors.unimplemented(
            f"{path} has snapshot version {record.version}, which is not read. "
            "Save the dataset again."
        )
    return os.path.join(folder, record.run_id)


def shards_of(run: str) -> list[str]:
    """Return the folders of the shards of a run, in order."""
    found = file_system.matching_files(os.path.join(run, "*.shard", "*.snapshot"))
    return sorted({os.path.dirname(path) for path in found})


# ------------------------------------------------------------------------------------------- shards


class ShardWriter:
    """A writer of the elements of one shard.

    Args:
      run: the folder of the run.
      index: the number of the shard.
      compression: "", "GZIP", "ZLIB" or "SNAPPY"; any other value means no compression.
    """

    def __init__(self, run: str, index: int, compression: str) -> None:
        folder = os.path.join(run, f"{index:08d}.shard")
        file_system.create_directories(folder)
        path = os.path.join(folder, "00000000.snapshot")
        is_snappy = compression == "SNAPPY"
        made = _SnappyWriter if is_snappy else RecordWriter
        self._writer = made(path, compression if compression in WINDOW_BITS else "")

    def write(self, element: Sequence[Any], types: Sequence[DType]) -> None:
        """Add an element.

        Raises:
          UnimplementedError: a component is no tensor of numbers or text.
        """
        for value, dtype in zip(element, types, strict=True):
            self._writer.write(_message(np.asarray(value), dtype).SerializeToString())

    def close(self) -> None:
        """Write the remaining bytes; repeated calls do nothing."""
        self._writer.close()


def _message(value: NDArray[Any], dtype: DType) -> tensor_pb2.TensorProto:
    """Return a tensor as a message of plain bytes: for text, all lengths and then the text."""
    proto = encode_tensor_content(value, dtype)
    if proto.string_val:
        texts = list(proto.string_val)
        proto.ClearField("string_val")
        lengths = b"".join(put_varint(len(text)) for text in texts)
        proto.tensor_content = lengths + b"".join(texts)
    return proto


class _SnappyWriter:
    def __init__(self, path: str, compression: str = "") -> None:
        self._path = path
        self._file: Any = file_system.open_file(path, "wb")
        self._block = bytearray()

    def write(self, record: bytes) -> None:
        self._block += framed(record)
        while len(self._block) >= _BLOCK_BYTES:
            self._put(bytes(self._block[:_BLOCK_BYTES]))
            del self._block[:_BLOCK_BYTES]

    def _put(self, data: bytes) -> None:
        block = stored_as_snappy(data)
        with file_system.translating_errors(self._path):
            self._file.write(_BLOCK.pack(len(block)) + block)

    def close(self) -> None:
        if self._file is None:
            return
        try:
            if self._block:
                self._put(bytes(self._block))
        finally:
            file, self._file = self._file, None
            with file_system.translating_errors(self._path):
                file.close()


def stored_as_snappy(data: bytes) -> bytes:
    """Return a string in Snappy's form, as literals only.

    >>> from tfnb.core.files.leveldb_table import uncompress_snappy
    >>> uncompress_snappy(stored_as_snappy(b"abc" * 100)) == b"abc" * 100
    True
    """
    parts = [put_varint(len(data))]
    for start in range(0, len(data), _LITERAL_BYTES):
        piece = data[start : start + _LITERAL_BYTES]
        parts += [b"\xf4" + struct.pack("<H", len(piece) - 1), piece]
    return b"".join(parts)


def read_shard(folder: str, compression: str, num_components: int) -> Iterator[tuple[Any, ...]]:
    """Yield the elements of a shard.

    Raises:
      DataLossError: a file is damaged or ends within an element.
    """
    for path in sorted(file_system.matching_files(os.path.join(folder, "*.snapshot"))):
        element: list[Any] = []
        for record in _records(path, compression):
            element.append(_component(record, path))
            if len(element) == num_components:
                yield tuple(element)
                element = []
        if element:
            raise errors.data_loss(
                f"{path} ends within an element: {len(element)} of {num_components} components. "
                "The file was written with another element_spec, or it is incomplete."
            )


def _records(path: str, compression: str) -> Iterator[bytes]:
    if compression == "SNAPPY":
        return (record for _, record in tf_records(_unblocked(file_system.read_file(path), path)))
    return iter(RecordsOfFile(path, compression if compression in WINDOW_BITS else ""))


def _unblocked(data: bytes, path: str) -> bytes:
    """Return the contents of blocks of Snappy, each with its length in front."""
    parts, start, total = [], 0, 0
    while start < len(data):
        if start + _BLOCK.size > len(data):
            raise errors.data_loss(f"{path} ends within a block")
        (size,) = _BLOCK.unpack_from(data, start)
        start += _BLOCK.size
        if start + size > len(data):
            raise errors.data_loss(f"{path} ends within a block")
        parts.append(uncompress_snappy(data[start : start + size]))
        total += len(parts[-1])
        host_memory.check_size(total)
        start += size
    return b"".join(parts)


def _component(record: bytes, path: str) -> Any:
    try:
        proto = tensor_pb2.TensorProto.FromString(record)
    except DecodeError:
        raise errors.data_loss(f"Unable to parse a tensor of {path}.") from None
    return decode_tensor(proto)
