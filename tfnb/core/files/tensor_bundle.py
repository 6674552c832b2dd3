"""Checkpoints of TensorFlow's second format: a table of entries beside raw data shards.

``PREFIX.index`` is a LevelDB table: key "" holds the header, every other key a tensor's name and an
entry with its dtype, shape, shard, offset, size and checksum.  ``PREFIX.data-00000-of-00001`` holds
the bytes, one tensor after another.  A tensor saved in parts has an entry that lists its slices,
and each slice an entry of its own under a key made from name and slice.

A string tensor is stored as the varint lengths, a checksum of the lengths, and the bytes one after
another.

Nothing read from a file is trusted: sizes are compared with the file before memory is allocated,
and every tensor's checksum is verified. Corresponds to ``tensor_bundle.cc``.
"""

from __future__ import annotations

import glob
import math
import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import numpy as np

from tfnb.core import dtypes, errors, host_memory
from tfnb.core.files import crc32c, file_access, file_system, leveldb_table
from tfnb.core.files.tensor_slice import TensorSlice, can_cover, slice_key
from tfnb.core.process import forking
from tfnb.core.process.later import later
from tfnb.core.process.records import record
from tfnb.proto import tensor_bundle_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tfnb.core.dtypes import DType
    from tfnb.core.files import unfinished_files
else:
    unfinished_files = later("tfnb.core.files.unfinished_files", in_step=True)

_HEADER_KEY = b""
_VERSION = 1

Array = np.ndarray[Any, np.dtype[Any]]


def index_path(prefix: str) -> str:
    """Return the file with the table of entries."""
    return f"{prefix}.index"


def data_path(prefix: str, shard: int, num_shards: int) -> str:
    """Return the file with the bytes of one shard."""
    return f"{prefix}.data-{shard:05d}-of-{num_shards:05d}"


def bundle_exists(prefix: str) -> bool:
    """Return whether there is a checkpoint of this format under the prefix."""
    return file_system.exists(index_path(prefix), prefix)


# ---------------------------------------------------------------------------------------- entries


@record(slots=True)
class BundleEntry:
    """The index entry of one tensor or one slice of a tensor."""

    dtype: DType
    shape: tuple[int, ...]
    shard: int = 0
    offset: int = 0
    size: int = 0
    crc32c: int = 0
    slices: tuple[TensorSlice, ...] = ()

    def serialize(self) -> bytes:
        """Return the entry as a message's bytes."""
        proto = tensor_bundle_pb2.BundleEntryProto(
            dtype=cast("Any", self.dtype.as_datatype_enum),
            shard_id=self.shard,
            offset=self.offset,
            size=self.size,
            crc32c=self.crc32c,
        )
        proto.shape.SetInParent()
        for size in self.shape:
            proto.shape.dim.add().size = size
        for where in self.slices:
            message = proto.slices.add()
            for start, length in where.extents:
                extent = message.extent.add()
                if length >= 0:
                    extent.start, extent.length = start, length
        return proto.SerializeToString()

    @classmethod
    def parse(cls, key: bytes, data: bytes) -> BundleEntry:
        """Read a message's bytes.

        Raises:
          DataLossError: they are not an entry, or its numbers are invalid.
        """
        try:
            proto = tensor_bundle_pb2.BundleEntryProto.FromString(data)
            dtype = dtypes.as_dtype(proto.dtype)
        except Exception as error:
            raise errors.data_loss(f"Entry for key {_text(key)} not parseable: {error}") from None
        shape = tuple(dim.size for dim in proto.shape.dim)
        if proto.shape.unknown_rank or min((*shape, proto.offset, proto.size, proto.shard_id)) < 0:
            raise errors.data_loss(f"Invalid tensor shape or position: {_text(key)} {shape}")
        return cls(
            dtype,
            shape,
            proto.shard_id,
            proto.offset,
            proto.size,
            proto.crc32c,
            tuple(
                TensorSlice(
                    tuple((e.start, e.length if e.HasField("length") else -1) for e in s.extent)
                )
                for s in proto.slices
            ),
        )


def _text(key: bytes) -> str:
    return key.decode(errors="replace")


def _header(num_shards: int) -> bytes:
    header = tensor_bundle_pb2.BundleHeaderProto(num_shards=num_shards)
    header.version.producer = _VERSION
    return header.SerializeToString()


def _index_bytes(num_shards: int, entries: Mapping[bytes, BundleEntry]) -> bytes:
    rows = [(_HEADER_KEY, _header(num_shards))]
    rows += [(key, entry.serialize()) for key, entry in sorted(entries.items())]
    return leveldb_table.build_table(rows)


# ---------------------------------------------------------------------------------------- writing


class BundleWriter:
    """A writer of one bundle with one shard; no file has its final name before :meth:`finish`."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix = file_system.local_path(prefix)
        self._entries: dict[bytes, BundleEntry] = {}
        self._size = 0
        self._temporary = file_system.temporary_name(data_path(prefix, 0, 1))
        file_system.create_directory(os.path.dirname(prefix), prefix)
        self._file = unfinished_files.open_held(
            lambda: file_system.open_file(self._temporary, "wb", prefix)
        )

    def add(self, name: str, value: Any, dtype: DType) -> None:
        """Add a whole tensor.

        Raises:
          InvalidArgumentError: the name was added before.
        """
        self._add(name.encode(), np.asarray(value), dtype)

    def add_slice(
        self,
        name: str,
        shape: tuple[int, ...],
        where: TensorSlice,
        value: Any,
        dtype: DType,
    ) -> None:
        """Add one part of a tensor of the given whole shape."""
        if where.is_full:
            # A slice that covers the whole tensor is stored as the tensor itself.
            self.add(name, value, dtype)
            return
        key = name.encode()
        whole = self._entries.setdefault(key, BundleEntry(dtype, shape))
        if whole.dtype is not dtype or whole.shape != shape:
            raise errors.invalid_argument(f"Slices of tensor {name} disagree on its shape or dtype")
        whole.slices += (where,)
        self._add(slice_key(name, where), np.asarray(value), dtype)

    def _add(self, key: bytes, value: Array, dtype: DType) -> None:
        if key in self._entries:
            raise errors.invalid_argument(f"Adding duplicate key: {_text(key)}")
        entry = BundleEntry(dtype, value.shape, offset=self._size)
        if dtype is dtypes.string:
            pieces, checksum = _encode_strings(value)
        else:
            data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            pieces, checksum = [data], crc32c.crc32c(data)
        with file_system.translating_errors(data_path(self.prefix, 0, 1)):
            for piece in pieces:
                self._file.write(piece)
                entry.size += len(piece)
        entry.crc32c = crc32c.mask(checksum)
        self._size += entry.size
        self._entries[key] = entry

    def finish(self) -> None:
        """Give the data its name and write the index."""
        with file_system.translating_errors(data_path(self.prefix, 0, 1)):
            self._file.flush()
            if not unfinished_files.CAN_HOLD:
                self._file.close()
        _publish(self.prefix, [(self._temporary, self.prefix)], self._entries)
        self._file.close()  # locked until it has its final name

    def abandon(self) -> None:
        """Remove the written files; for use instead of :meth:`finish` after an error."""
        with suppress(OSError):  # writing the rest may fail for lack of space, too
            self._file.close()
        file_system.remove_if_exists(self._temporary, self.prefix)


def _encode_strings(value: Array) -> tuple[list[Any], int]:
    strings = value.reshape(-1).tolist()
    lengths = b"".join(leveldb_table.put_varint(len(s)) for s in strings)
    checksum = crc32c.crc32c(b"".join(_length_bytes(len(s)) for s in strings))
    stored = crc32c.mask(checksum).to_bytes(4, "little")
    body = b"".join(strings)
    checksum = crc32c.crc32c(body, crc32c.crc32c(stored, checksum))
    return [lengths, stored, body], checksum


def _length_bytes(length: int) -> bytes:
    return length.to_bytes(4 if length <= 0xFFFFFFFF else 8, "little")


# ---------------------------------------------------------------------------------------- reading


class BundleReader:
    """A reader of one bundle; usable by one thread at a time, close it when done.

    Raises:
      NotFoundError: there is no bundle under the prefix.
      DataLossError: its index is damaged.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        path = index_path(prefix)
        contents = file_system.read_file(path, prefix)
        self._files: dict[int, BinaryIO] = {}
        try:
            rows = dict(leveldb_table.read_table(contents))
        except errors.DataLossError as error:
            if "block" not in str(error):
                raise
            raise errors.data_loss(
                f"Unable to read file ({path}). Perhaps the file is corrupt or was produced by a "
                "newer version of TensorFlow with format changes (failed to seek to header entry): "
                f"{error.message}"
            ) from None
        if _HEADER_KEY not in rows:
            raise errors.data_loss(f"Unable to read file ({path}): it has no header entry.")
        try:
            header = tensor_bundle_pb2.BundleHeaderProto.FromString(rows.pop(_HEADER_KEY))
        except Exception as error:
            raise errors.data_loss(f"Unable to parse bundle header of {path}: {error}") from None
        if header.num_shards <= 0:
            raise errors.data_loss(f"Bundle {path} has no shards.")
        if header.version.min_consumer > _VERSION:
            raise errors.invalid_argument(
                f"{path} needs a reader of version {header.version.min_consumer}; "
                f"this one has version {_VERSION}."
            )
        self.num_shards: int = header.num_shards
        self._byte_order = ">" if header.endianness == header.BIG else "<"
        self._rows = rows
        self._entries: dict[bytes, BundleEntry] = {}

    def __enter__(self) -> Self:
        """Return the reader; leaving the block closes the shards."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the shards."""
        self.close()

    def close(self) -> None:
        """Close the shards that were opened."""
        while self._files:
            self._files.popitem()[1].close()

    def names(self) -> Iterator[str]:
        """Return the names of all tensors, sorted; slices are not listed by themselves.

        Raises:
          DataLossError: a name is not UTF-8.
        """
        for key in self._rows:
            if not key.startswith(b"\0"):
                try:
                    yield key.decode()
                except UnicodeDecodeError:
                    raise errors.data_loss(
                        f"A tensor's name in {self.prefix} is not UTF-8: {key!r}"
                    ) from None

    def contains(self, name: str) -> bool:
        """Return whether the bundle has a tensor of this name."""
        return name.encode() in self._rows

    def entry(self, name: str) -> BundleEntry:
        """Return the index entry of a tensor without reading the tensor.

        Raises:
          NotFoundError: the tensor does not exist.
        """
        return self._entry(name.encode())

    def _entry(self, key: bytes) -> BundleEntry:
        entry = self._entries.get(key)
        if entry is None:
            row = self._rows.get(key)
            if row is None:
                raise errors.not_found(f"Key {_text(key)} not found in checkpoint")
            entry = self._entries[key] = BundleEntry.parse(key, row)
        return entry

    def raw_entries(self) -> Iterator[tuple[bytes, BundleEntry]]:
        """Return every key, also those of slices, with its entry."""
        return ((key, self._entry(key)) for key in self._rows)

    def lookup(self, name: str) -> Array:
        """Return the whole tensor; parts are put together.

        Raises:
          NotFoundError: the tensor does not exist.
          DataLossError: its bytes are damaged.
        """
        entry = self.entry(name)
        if entry.slices:
            return self.lookup_slice(name, TensorSlice.full(len(entry.shape)))
        return self._read(entry)

    def lookup_slice(self, name: str, where: TensorSlice) -> Array:
        """Return a part of a tensor, put together from the parts it was saved in."""
        entry = self.entry(name)
        if not entry.slices:
            return self._read(entry)[where.index()]
        wanted = where.shape_in(entry.shape)
        lacks = errors.not_found(
            f"Does not have sufficient slices for partitioned tensor {name} to restore in "
            f"slice_spec: {where}"
        )
        if not can_cover(where, entry.slices, entry.shape):
            raise lacks
        for stored in entry.slices:
            if where.overlap(stored, entry.shape) is not None:
                self._check_extent(self._entry(slice_key(name, stored)))
        host_memory.check_size(math.prod(wanted) * (entry.dtype.size or 1))
        out = np.empty(wanted, entry.dtype.numpy_dtype)
        missing = np.ones(out.shape, bool)
        for stored in entry.slices:
            common = where.overlap(stored, entry.shape)
            if common is None:
                continue
            mine, theirs = common
            part = self._read(self._entry(slice_key(name, stored)))
            if part.shape != stored.shape_in(entry.shape):
                raise errors.data_loss(f"Slice {stored} of tensor {name} has shape {part.shape}")
            out[mine] = part[theirs]
            missing[mine] = False
        if missing.any():
            raise lacks
        return out

    def _check_extent(self, entry: BundleEntry) -> tuple[BinaryIO, int]:
        """Return the file of an entry and its number of elements, if the file has its bytes.

        Raises:
          DataLossError: the size of the entry is not that of its shape.
          OutOfRangeError: the file is shorter.
        """
        file = self._shard(entry.shard)
        count = 1
        for size in entry.shape:
            count *= size
        expected = count * entry.dtype.size
        is_string = entry.dtype is dtypes.string
        if (entry.size < count + 4) if is_string else (entry.size != expected):
            raise errors.data_loss(
                f"Invalid size in bundle entry: stored size {entry.size}; expected size {expected}"
            )
        if entry.offset + entry.size > os.fstat(file.fileno()).st_size:
            raise errors.out_of_range("Read less bytes than requested")
        return file, count

    def _read(self, entry: BundleEntry) -> Array:
        file, count = self._check_extent(entry)
        file.seek(entry.offset)
        if entry.dtype is dtypes.string:
            return self._read_strings(file.read(entry.size), entry, count)
        data = np.fromfile(file, np.uint8, entry.size)
        self._check(crc32c.crc32c(data), entry)
        value = data.view(entry.dtype.numpy_dtype)
        if self._byte_order == ">":
            value = value.byteswap()
        return value.reshape(entry.shape)

    def _read_strings(self, data: bytes, entry: BundleEntry, count: int) -> Array:
        lengths, position = [], 0
        for _ in range(count):
            length, position = leveldb_table.get_varint(data, position)
            lengths.append(length)
        checksum = crc32c.crc32c(b"".join(map(_length_bytes, lengths)))
        stored = data[position : position + 4]
        if stored != crc32c.mask(checksum).to_bytes(4, "little"):
            raise errors.data_loss(
                "The length checksum does not match: expected "
                f"{int.from_bytes(stored, 'little')} but actual is {crc32c.mask(checksum)}"
            )
        position += 4
        if position + sum(lengths) != len(data):
            raise errors.data_loss("String tensor's lengths do not add up to its stored size")
        checksum = crc32c.crc32c(data[position:], crc32c.crc32c(stored, checksum))
        self._check(checksum, entry)
        out = np.empty(count, object)
        for i, length in enumerate(lengths):
            out[i] = data[position : position + length]
            position += length
        return out.reshape(entry.shape)

    def _check(self, checksum: int, entry: BundleEntry) -> None:
        if crc32c.mask(checksum) != entry.crc32c:
            raise errors.data_loss(
                f"TensorBundle at {self.prefix} shard {entry.shard} ({entry.size} bytes): Checksum "
                f"does not match: stored {crc32c.unmask(entry.crc32c)} vs. calculated on the "
                f"restored bytes {checksum}"
            )

    def _shard(self, shard: int) -> BinaryIO:
        file = self._files.get(shard)
        if file is None:
            if shard >= self.num_shards:
                raise errors.data_loss(f"Entry refers to shard {shard} of {self.num_shards}")
            path = data_path(self.prefix, shard, self.num_shards)
            file = file_system.open_file(path, part_of=self.prefix)
            self._files[shard] = file
        return file


# ------------------------------------------------------------------------------------- publishing


# Two threads that save under one prefix would remove each other's files.
_publishing = threading.Lock()
forking.guard(sys.modules[__name__], "_publishing")


def _publish(
    prefix: str, sources: list[tuple[str, str]], entries: Mapping[bytes, BundleEntry]
) -> None:
    """Give shards their names; the threads of this process publish one checkpoint at a time."""
    with _publishing:
        _give_names(prefix, sources, entries)


def _give_names(
    prefix: str, sources: list[tuple[str, str]], entries: Mapping[bytes, BundleEntry]
) -> None:
    """Give shards, each with its present prefix, their final names, and write their index.

    The index is replaced atomically, and the index defines the checkpoint.  Therefore, where the
    prefix has a checkpoint already, the new shards first get other names, as if there were more of
    them, and an index for these; only then do they take the places of the old ones.  A process that
    is killed anywhere in between leaves either the old checkpoint or the new one, complete.
    """
    count, prefix = len(sources), file_system.local_path(prefix)
    old = _shard_paths(prefix)
    final = [data_path(prefix, shard, count) for shard in range(count)]
    if not set(final).isdisjoint(old):
        spare_count = count + 1
        while data_path(prefix, 0, spare_count) in old:
            spare_count += 1
        spare = [data_path(prefix, shard, spare_count) for shard in range(count)]
        linked = [
            file_system.link(source, name, (owner, prefix))
            for (source, owner), name in zip(sources, spare)
        ]
        if not all(linked):
            # Where hard links are not supported, the shards keep the spare names; readers accept
            # them.
            for (source, owner), name in zip(sources, spare):
                file_system.rename(source, name, (owner, prefix))
            final, count = spare, spare_count
        file_system.write_part(index_path(prefix), _index_bytes(spare_count, entries), prefix)
    if count == len(sources):
        for (source, owner), name in zip(sources, final):
            file_system.rename(source, name, (owner, prefix))
        file_system.write_part(index_path(prefix), _index_bytes(count, entries), prefix)
    for name in _shard_paths(prefix):
        if name not in final:
            file_system.remove_if_exists(name, prefix)


def _shard_paths(prefix: str) -> list[str]:
    """Return the shards that exist under a prefix, whatever their count."""
    return file_access.matching(f"{glob.escape(prefix)}.data-?????-of-?????", prefix)


# ---------------------------------------------------------------------------------------- merging


def merge_bundles(
    prefixes: Iterable[str], merged_prefix: str, *, allow_missing_files: bool = False
) -> None:
    """Make one bundle of many: join the indexes and rename the shards.

    Raises:
      InvalidArgumentError: a prefix has no bundle, or two have a tensor of one name.
    """
    merged_prefix = file_system.local_path(merged_prefix)
    file_system.create_directory(os.path.dirname(merged_prefix), merged_prefix)
    entries: dict[bytes, BundleEntry] = {}
    shards: list[tuple[str, str]] = []
    for prefix in map(file_system.local_path, prefixes):
        if not bundle_exists(prefix):
            if allow_missing_files:
                continue
            raise errors.invalid_argument(
                f"allow_missing_files was set to false and {prefix} did not exist."
                f"NOT_FOUND: {prefix} not found"
            )
        reader = BundleReader(prefix)
        first = len(shards)
        for key, entry in reader.raw_entries():
            entry.shard += first
            known = entries.setdefault(key, entry)
            if known is entry:
                continue
            if not (known.slices and entry.slices):
                raise errors.invalid_argument(
                    f"Duplicate tensor keyed by {_text(key)} encountered, when merging prefix: "
                    f"{prefix}"
                )
            known.slices += entry.slices
        shards += [
            (data_path(prefix, i, reader.num_shards), prefix) for i in range(reader.num_shards)
        ]
    _publish(merged_prefix, shards, entries)


def remove_bundle(prefix: str) -> None:
    """Remove the index and the shards of a bundle, as far as they exist."""
    for path in [index_path(prefix), *_shard_paths(prefix)]:
        file_system.remove_if_exists(path)
