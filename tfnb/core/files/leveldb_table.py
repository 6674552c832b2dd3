"""Sorted string tables in LevelDB's file format, in which checkpoints store their index.

Layout of a file::

    data block ... data block | metaindex block (empty) | index block | footer (48 bytes)

A block holds sorted (key, value) entries, each key written as the part that differs from the key
before it; every ``restart_interval`` entries the whole key is written, and the block ends with the
offsets of these places.  A block is followed by one byte for its compression and the masked CRC-32C
of both.  An index entry maps a key that is not less than any key of a block to that block's
(offset, size).

The writer never compresses.  The reader also understands Snappy, which old checkpoints use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tfnb.core import errors
from tfnb.core.files import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAGIC: Final = 0xDB4775248B80FB57
FOOTER_SIZE: Final = 48
TRAILER_SIZE: Final = 5
_BLOCK_SIZE: Final = 262144
_RESTART_INTERVAL: Final = 16
# A block's keys take no more than this times its size, unless they are small: a key is written
# whole every ``restart_interval`` entries.
_MAX_KEY_RATIO: Final = 64
_SMALL_KEYS: Final = 1 << 20
_NO_COMPRESSION: Final = 0
_SNAPPY: Final = 1


def ends_like_table(end: bytes | memoryview) -> bool:
    """Return whether these are the last bytes of a table."""
    return int.from_bytes(end[-8:], "little") == MAGIC


# --------------------------------------------------------------------------------------- varints


def put_varint(value: int) -> bytes:
    """Return the base-128 form of a number, least significant group first.

    >>> put_varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def get_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """Return the number that starts at ``position`` and the position after it.

    Raises:
      DataLossError: the data ends inside the number, or it has more than 64 bits.
    """
    value = shift = 0
    while position < len(data) and shift <= 63:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise errors.data_loss("corrupted table: bad varint")


# ---------------------------------------------------------------------------------------- writing


class _BlockBuilder:
    """The entries of one block that is being built."""

    __slots__ = ("buffer", "count", "last_key", "restart_interval", "restarts")

    def __init__(self, restart_interval: int) -> None:
        self.restart_interval = restart_interval
        self.reset()

    def reset(self) -> None:
        self.buffer = bytearray()
        self.restarts = [0]
        self.count = 0
        self.last_key = b""

    @property
    def size(self) -> int:
        return len(self.buffer) + 4 * len(self.restarts) + 4

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.count < self.restart_interval:
            limit = min(len(key), len(self.last_key))
            while shared < limit and key[shared] == self.last_key[shared]:
                shared += 1
        else:
            self.restarts.append(len(self.buffer))
            self.count = 0
        self.buffer += put_varint(shared) + put_varint(len(key) - shared) + put_varint(len(value))
        self.buffer += key[shared:]
        self.buffer += value
        self.last_key = key
        self.count += 1

    def finish(self) -> bytes:
        tail = b"".join(offset.to_bytes(4, "little") for offset in self.restarts)
        return bytes(self.buffer) + tail + len(self.restarts).to_bytes(4, "little")


def build_table(entries: Iterable[tuple[bytes, bytes]], block_size: int = _BLOCK_SIZE) -> bytes:
    """Return the bytes of a table file with these entries.

    Args:
      entries: (key, value) pairs, keys strictly increasing.
      block_size: the size at which a block is closed.
    """
    out = bytearray()
    data = _BlockBuilder(_RESTART_INTERVAL)
    index = _BlockBuilder(1)
    pending: bytes | None = None
    last_key: bytes | None = None
    for key, value in entries:
        if last_key is not None and key <= last_key:
            raise errors.internal(f"Keys of a table must increase: {key!r} after {last_key!r}")
        if pending is not None and last_key is not None:
            index.add(_shortest_separator(last_key, key), pending)
            pending = None
        data.add(key, value)
        last_key = key
        if data.size >= block_size:
            pending = _write_block(out, data.finish())
            data.reset()
    if data.buffer:
        pending = _write_block(out, data.finish())
    metaindex = _write_block(out, _BlockBuilder(_RESTART_INTERVAL).finish())
    if pending is not None and last_key is not None:
        index.add(_short_successor(last_key), pending)
    handles = metaindex + _write_block(out, index.finish())
    out += handles.ljust(FOOTER_SIZE - 8, b"\0") + MAGIC.to_bytes(8, "little")
    return bytes(out)


def _write_block(out: bytearray, contents: bytes) -> bytes:
    handle = put_varint(len(out)) + put_varint(len(contents))
    marked = contents + bytes([_NO_COMPRESSION])
    out += marked
    out += crc32c.mask(crc32c.crc32c(marked)).to_bytes(4, "little")
    return handle


def _shortest_separator(start: bytes, limit: bytes) -> bytes:
    """Return a short key ``k`` with ``start <= k < limit``."""
    shared = 0
    while shared < min(len(start), len(limit)) and start[shared] == limit[shared]:
        shared += 1
    if shared < min(len(start), len(limit)):
        byte = start[shared]
        if byte < 0xFF and byte + 1 < limit[shared]:
            return start[:shared] + bytes([byte + 1])
    return start


def _short_successor(key: bytes) -> bytes:
    """Return a short key that is not less than ``key``."""
    for i, byte in enumerate(key):
        if byte != 0xFF:
            return key[:i] + bytes([byte + 1])
    return key


# ---------------------------------------------------------------------------------------- reading


def read_table(data: bytes | memoryview) -> Iterator[tuple[bytes, bytes]]:
    """Yield every (key, value) of a table file, in order.

    Raises:
      DataLossError: the bytes are not a table, a checksum or size in it is wrong, or keys do not
        increase, so that no block is read twice.
    """
    view = memoryview(data)
    last: bytes | None = None
    for _, handle in _entries(_read_block(view, *_index_handle(view))):
        offset, position = get_varint(handle, 0)
        size, _ = get_varint(handle, position)
        for key, value in _entries(_read_block(view, offset, size)):
            if last is not None and key <= last:
                raise errors.data_loss("corrupted table: keys do not increase in block")
            yield key, value
            last = key


def _index_handle(view: memoryview) -> tuple[int, int]:
    if len(view) < FOOTER_SIZE:
        raise errors.data_loss("file is too short to be an sstable")
    footer = view[-FOOTER_SIZE:]
    if not ends_like_table(footer):
        raise errors.data_loss("not an sstable (bad magic number)")
    _, position = get_varint(footer, 0)
    _, position = get_varint(footer, position)
    offset, position = get_varint(footer, position)
    size, _ = get_varint(footer, position)
    return offset, size


def _read_block(view: memoryview, offset: int, size: int) -> bytes:
    end = offset + size
    if end + TRAILER_SIZE > len(view):
        raise errors.data_loss("truncated block read")
    stored = int.from_bytes(view[end + 1 : end + TRAILER_SIZE], "little")
    if crc32c.unmask(stored) != crc32c.crc32c(view[offset : end + 1]):
        raise errors.data_loss("block checksum mismatch")
    contents = bytes(view[offset:end])
    if view[end] == _SNAPPY:
        return uncompress_snappy(contents)
    if view[end] != _NO_COMPRESSION:
        raise errors.data_loss("bad block type")
    return contents


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise errors.data_loss("bad block contents")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise errors.data_loss("bad block contents")
    position, key = 0, b""
    keys_left = max(_SMALL_KEYS, _MAX_KEY_RATIO * len(block))
    while position < end:
        shared, position = get_varint(block, position)
        unshared, position = get_varint(block, position)
        length, position = get_varint(block, position)
        if shared > len(key) or position + unshared + length > end:
            raise errors.data_loss("bad entry in block")
        key = key[:shared] + block[position : position + unshared]
        keys_left -= len(key)
        if keys_left < 0:
            raise errors.data_loss("bad entry in block: keys are too long")
        position += unshared
        yield key, block[position : position + length]
        position += length


def uncompress_snappy(data: bytes) -> bytes:
    """Return the original of one Snappy-compressed string.

    Raises:
      DataLossError: the string is not valid.
    """
    size, position = get_varint(data, 0)
    # One copy element of three bytes makes at most 64 bytes.
    if size > 64 * len(data):
        raise errors.data_loss("corrupted compressed block contents")
    out = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            length = (tag >> 2) + 1
            if length > 60:
                extra = length - 60
                length = int.from_bytes(data[position : position + extra], "little") + 1
                position += extra
            out += data[position : position + length]
            position += length
            continue
        if tag & 3 == 1:
            length = ((tag >> 2) & 7) + 4
            offset = (tag >> 5) << 8 | int.from_bytes(data[position : position + 1], "little")
            position += 1
        else:
            width = 2 if tag & 3 == 2 else 4
            length = (tag >> 2) + 1
            offset = int.from_bytes(data[position : position + width], "little")
            position += width
        if not 0 < offset <= len(out) or len(out) + length > size:
            raise errors.data_loss("corrupted compressed block contents")
        start = len(out) - offset
        while length > 0:
            # A copy may overlap what it writes; the pattern then repeats.
            piece = out[start : start + min(length, offset)]
            out += piece
            length -= len(piece)
    if len(out) != size:
        raise errors.data_loss("corrupted compressed block contents")
    return bytes(out)
