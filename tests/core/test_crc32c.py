"""The checksum of tables, bundles and records."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.files.crc32c import _TABLE, crc32c, mask, unmask


def _bytewise(data: bytes, crc: int = 0) -> int:
    state = crc ^ 0xFFFFFFFF
    for byte in data:
        state = _TABLE[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFFFFFF


def test_known_checksum() -> None:
    """The check value that the literature gives."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 1030, 4096, 32767, 32768, 40004])
def test_wide_and_bytewise_ways_agree(size: int) -> None:
    """The NumPy way gives what the table gives, for every length and for a continued checksum."""
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == _bytewise(data)
    middle = size // 3
    assert crc32c(data[middle:], crc32c(data[:middle])) == _bytewise(data)


def test_mask_is_invertible() -> None:
    """A masked checksum is another number and can be read back."""
    crc = crc32c(b"foo")
    assert mask(crc) != crc
    assert unmask(mask(crc)) == crc
