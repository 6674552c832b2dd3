"""Sorted string tables."""

from __future__ import annotations

import pytest

from tfnb.core import errors
from tfnb.core.files.leveldb_table import (
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
