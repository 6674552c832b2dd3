"""Sorted string tables."""

from __future__ import annotations

import pytest

from tfnb.core import errors
from tfnb.core.files import crc32c
from tfnb.core.files.leveldb_table import (
    FOOTER_SIZE,
    MAGIC,
    build_table,
    get_varint,
    put_varint,
    read_table,
    uncompress_snappy,
)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**64 - 1])
def test_varints_round_trip(value: int) -> None:
    """A number is read back from its varint."""
    assert get_varint(b"x" + put_varint(value), 1) == (value, 1 + len(put_varint(value)))


def test_an_endless_varint_is_data_loss() -> None:
    """A varint that never ends is refused."""
    with pytest.raises(errors.DataLossError, match="varint"):
        get_varint(b"\xff" * 20, 0)


@pytest.mark.parametrize("block_size", [64, 262144])
def test_entries_round_trip(block_size: int) -> None:
    """Entries come back in order, from one block or from many."""
    entries = [(b"key/%04d" % i, b"v" * (i % 7)) for i in range(200)]
    assert list(read_table(build_table(entries, block_size))) == entries


def test_an_empty_table_has_no_entries() -> None:
    """A table without entries is valid."""
    assert list(read_table(build_table([]))) == []


def test_keys_must_increase() -> None:
    """Unsorted keys are a mistake of the caller."""
    with pytest.raises(errors.InternalError, match="must increase"):
        build_table([(b"b", b""), (b"a", b"")])


@pytest.mark.parametrize(
    ("cut", "message"),
    [(slice(0, 20), "too short"), (slice(0, -1), "bad magic"), (slice(0, 0), "too short")],
)
def test_a_cut_table_is_data_loss(cut: slice, message: str) -> None:
    """A file that lost its end is refused."""
    with pytest.raises(errors.DataLossError, match=message):
        list(read_table(build_table([(b"a", b"1")])[cut]))


def test_every_flipped_byte_is_noticed() -> None:
    """No single damaged byte goes unnoticed, except in the footer's padding."""
    table = build_table([(b"alpha", b"1"), (b"beta", b"22")])
    original = list(read_table(table))
    for position in range(len(table) - 48):
        damaged = bytearray(table)
        damaged[position] ^= 0x41
        try:
            found = list(read_table(bytes(damaged)))
        except errors.DataLossError:
            continue
        # The metaindex block is empty and is not read.
        assert found == original


def test_snappy_literals_and_overlapping_copies() -> None:
    """A copy may reach into what it writes."""
    assert uncompress_snappy(b"\x0a\x04ab\x1e\x02\x00") == b"abababababab"[:10]


@pytest.mark.parametrize(
    "data", [b"\x0a\x04ab\x1e\x09\x00", b"\x05\x04ab", b"\xff\xff\xff\x7f\x00"]
)
def test_damaged_snappy_is_data_loss(data: bytes) -> None:
    """A copy from before the start, a short result, and a false length are refused."""
    with pytest.raises(errors.DataLossError, match="corrupted"):
        uncompress_snappy(data)


def _block(entries: list[tuple[int, bytes, bytes]]) -> bytes:
    """Return a block of entries: length shared with the key before, rest of the key, value."""
    data = b"".join(
        put_varint(shared) + put_varint(len(rest)) + put_varint(len(value)) + rest + value
        for shared, rest, value in entries
    )
    marked = data + bytes(4) + (1).to_bytes(4, "little") + b"\0"
    return marked + crc32c.mask(crc32c.crc32c(marked)).to_bytes(4, "little")


def _table(block: bytes, times: int = 1) -> bytes:
    """Return a table whose index lists one block several times, with correct checksums."""
    handle = put_varint(0) + put_varint(len(block) - 5)
    index = _block([(0, b"%09d" % number, handle) for number in range(times)])
    where = put_varint(0) * 2 + put_varint(len(block)) + put_varint(len(index) - 5)
    return block + index + where.ljust(FOOTER_SIZE - 8, b"\0") + MAGIC.to_bytes(8, "little")


def test_a_block_that_is_listed_twice_is_data_loss() -> None:
    """A small file could list its blocks without end."""
    block = _block([(0, b"a", b"1"), (0, b"b", b"2")])
    assert list(read_table(_table(block))) == [(b"a", b"1"), (b"b", b"2")]
    with pytest.raises(errors.DataLossError, match="keys do not increase"):
        list(read_table(_table(block, 2)))


def test_keys_take_no_more_memory_than_their_block_explains() -> None:
    """Each key may be one byte longer than the one before: together the square of their number."""
    few, many = ([(n, b"k", b"") for n in range(count)] for count in (1000, 20_000))
    assert len(dict(read_table(_table(_block(few))))) == 1000
    with pytest.raises(errors.DataLossError, match="keys are too long"):
        list(read_table(_table(_block(many))))
