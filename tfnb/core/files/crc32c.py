"""CRC-32C (Castagnoli), the checksum of LevelDB tables, TensorBundle shards and TFRecord files.

Short strings are computed byte by byte with the usual table.  For long strings, the register is
linear over GF(2): with a zero start, ``register(a + b) == shift(register(a), len(b)) ^
register(b)``, and leading zero bytes change nothing.  The buffer is laid out in rows of ``_LANES``
words; every row needs the same shift, so one pair of 64K tables serves the whole buffer and NumPy
does the table lookups.  The last row is then folded in halves.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POLYNOMIAL: Final = 0x82F63B78
_LANES: Final = 8192
_SHORT: Final = 1024
_MASK_DELTA: Final = 0xA282EAD8

Words: TypeAlias = "NDArray[np.uint32]"


def _byte_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE: Final = _byte_table()


def crc32c(data: bytes | bytearray | memoryview | NDArray[np.uint8], crc: int = 0) -> int:
    """Return the checksum of ``data``, continuing from ``crc``.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    state = crc ^ 0xFFFFFFFF
    if len(data) < _SHORT:
        table = _TABLE
        for byte in bytes(data):
            state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
        return state ^ 0xFFFFFFFF
    flat = np.frombuffer(data, np.uint8)
    head = len(flat) % 4
    for byte in flat[:head].tolist():
        state = _TABLE[(state ^ byte) & 0xFF] ^ (state >> 8)
    return _register(flat[head:].view("<u4"), state) ^ 0xFFFFFFFF


def mask(crc: int) -> int:
    """Return the form in which a checksum is stored beside the data it covers."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def unmask(masked: int) -> int:
    """Return the inverse of :func:`mask`."""
    rotated = (masked - _MASK_DELTA) & 0xFFFFFFFF
    return ((rotated >> 17) | (rotated << 15)) & 0xFFFFFFFF


def _register(words: Words, state: int) -> int:
    """Return the register after ``words`` (at least one), starting from ``state``."""
    lanes = _LANES
    while lanes > len(words):
        lanes //= 2
    rest = len(words) % lanes
    row: Words = np.zeros(lanes, np.uint32)
    if rest:
        row[lanes - rest :] = words[:rest]
        row[lanes - rest] ^= state
    else:
        row[:] = words[:lanes]
        row[0] ^= state
        rest = lanes
    if rest < len(words):
        low, high = _wide_tables(4 * lanes)
        for start in range(rest, len(words), lanes):
            halves = row.view("<u2")
            row = low[halves[0::2]] ^ high[halves[1::2]] ^ words[start : start + lanes]
    while lanes > 1:
        lanes //= 2
        row = _shift(row[:lanes], 4 * lanes) ^ row[lanes:]
    return int(_shift(row, 4)[0])


def _shift(words: Words, num_bytes: int) -> Words:
    """Return every register, moved on by ``num_bytes`` zero bytes."""
    tables = _narrow_tables(num_bytes)
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 4)
    shifted: Words = tables[0][octets[:, 0]] ^ tables[1][octets[:, 1]]
    shifted ^= tables[2][octets[:, 2]] ^ tables[3][octets[:, 3]]
    return shifted


@cache
def _columns(num_bytes: int) -> tuple[int, ...]:
    """Return what each of the 32 register bits becomes after ``num_bytes`` (a power of 2) zeros."""
    if num_bytes == 1:
        return tuple(_TABLE[(1 << bit) & 0xFF] ^ ((1 << bit) >> 8) for bit in range(32))
    half = _columns(num_bytes // 2)
    return tuple(_apply(half, column) for column in half)


def _apply(columns: tuple[int, ...], value: int) -> int:
    result = 0
    for bit in range(32):
        if value >> bit & 1:
            result ^= columns[bit]
    return result


def _spanned(columns: tuple[int, ...]) -> Words:
    """Return the table of all XOR sums of the columns, indexed by the bits that choose them."""
    table: Words = np.zeros(1, np.uint32)
    for column in columns:
        table = np.concatenate([table, table ^ np.uint32(column)])
    return table


@cache
def _narrow_tables(num_bytes: int) -> tuple[Words, ...]:
    columns = _columns(num_bytes)
    return tuple(_spanned(columns[start : start + 8]) for start in range(0, 32, 8))


@cache
def _wide_tables(num_bytes: int) -> tuple[Words, Words]:
    columns = _columns(num_bytes)
    return _spanned(columns[:16]), _spanned(columns[16:])
