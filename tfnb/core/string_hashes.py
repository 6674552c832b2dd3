"""Hash functions of byte strings whose values TensorFlow's string ops guarantee.

``fingerprint64`` is FarmHash's (farmhashna, by Geoff Pike), ``strong_hash`` SipHash-2-4 (Aumasson
and Bernstein), ``hash64`` MurmurHash64A (Austin Appleby) with a fixed seed.
"""

from __future__ import annotations

from functools import lru_cache

_MASK = 2**64 - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _rotate_right(value: int, count: int) -> int:
    return (value >> count | value << (64 - count)) & _MASK


def _rotate_left(value: int, count: int) -> int:
    return (value << count | value >> (64 - count)) & _MASK


def _shift_mix(value: int) -> int:
    return value ^ value >> 47


def _word(data: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(data[start : start + size], "little")


# -------------------------------------------------------------------------------------- fingerprint


def _mix(u: int, v: int, multiplier: int) -> int:
    a = _shift_mix((u ^ v) * multiplier & _MASK)
    b = _shift_mix((v ^ a) * multiplier & _MASK)
    return b * multiplier & _MASK


@lru_cache(maxsize=4096)
def fingerprint64(data: bytes) -> int:
    """Return FarmHash's fingerprint of 64 bits.

    >>> hex(fingerprint64(b"hello"))
    '0xb48be5a931380ce8'
    """
    size = len(data)
    if size <= 16:
        return _fingerprint_to_16(data, size)
    multiplier = (_K2 + size * 2) & _MASK
    if size <= 32:
        a, b = _word(data, 0) * _K1, _word(data, 8)
        c, d = _word(data, size - 8) * multiplier, _word(data, size - 16) * _K2
        return _mix(
            _rotate_right((a + b) & _MASK, 43) + _rotate_right(c & _MASK, 30) + d & _MASK,
            a + _rotate_right((b + _K2) & _MASK, 18) + c & _MASK,
            multiplier,
        )
    if size <= 64:
        return _fingerprint_to_64(data, size, multiplier)
    return _fingerprint_long(data, size)


def _fingerprint_to_16(data: bytes, size: int) -> int:
    multiplier = (_K2 + size * 2) & _MASK
    if size >= 8:
        a, b = (_word(data, 0) + _K2) & _MASK, _word(data, size - 8)
        c = _rotate_right(b, 37) * multiplier + a
        d = (_rotate_right(a, 25) + b) * multiplier
        return _mix(c & _MASK, d & _MASK, multiplier)
    if size >= 4:
        first = size + (_word(data, 0, 4) << 3)
        return _mix(first & _MASK, _word(data, size - 4, 4), multiplier)
    if size:
        y = data[0] + (data[size >> 1] << 8)
        z = size + (data[-1] << 2)
        return _shift_mix((y * _K2 ^ z * _K0) & _MASK) * _K2 & _MASK
    return _K2


def _fingerprint_to_64(data: bytes, size: int, multiplier: int) -> int:
    a, b = _word(data, 0) * _K2 & _MASK, _word(data, 8)
    c, d = _word(data, size - 8) * multiplier & _MASK, _word(data, size - 16) * _K2
    y = _rotate_right((a + b) & _MASK, 43) + _rotate_right(c, 30) + d & _MASK
    z = _mix(y, a + _rotate_right((b + _K2) & _MASK, 18) + c & _MASK, multiplier)
    e, f = _word(data, 16) * multiplier & _MASK, _word(data, 24)
    g = (y + _word(data, size - 32)) * multiplier & _MASK
    h = (z + _word(data, size - 24)) * multiplier & _MASK
    return _mix(
        _rotate_right((e + f) & _MASK, 43) + _rotate_right(g, 30) + h & _MASK,
        e + _rotate_right((f + a) & _MASK, 18) + g & _MASK,
        multiplier,
    )


def _weak_pair(data: bytes, start: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(data, start + offset) for offset in (0, 8, 16, 24))
    a = (a + w) & _MASK
    b = _rotate_right((b + a + z) & _MASK, 21)
    c = a
    a = (a + x + y) & _MASK
    b = (b + _rotate_right(a, 44)) & _MASK
    return (a + z) & _MASK, (b + c) & _MASK


def _fingerprint_long(data: bytes, size: int) -> int:
    seed = 81
    x, y = seed, (seed * _K1 + 113) & _MASK
    z = _shift_mix((y * _K2 + 113) & _MASK) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    x = (x * _K2 + _word(data, 0)) & _MASK
    for start in range(0, (size - 1) // 64 * 64, 64):
        x, y, z, v, w = _fingerprint_round(data, start, x, y, z, v, w, _K1, 1)
    multiplier = (_K1 + ((z & 0xFF) << 1)) & _MASK
    w = ((w[0] + ((size - 1) & 63)) & _MASK, w[1])
    v = ((v[0] + w[0]) & _MASK, v[1])
    w = ((w[0] + v[0]) & _MASK, w[1])
    x, y, z, v, w = _fingerprint_round(data, size - 64, x, y, z, v, w, multiplier, 9)
    return _mix(
        _mix(v[0], w[0], multiplier) + _shift_mix(y) * _K0 + z & _MASK,
        _mix(v[1], w[1], multiplier) + x & _MASK,
        multiplier,
    )


def _fingerprint_round(
    data: bytes,
    start: int,
    x: int,
    y: int,
    z: int,
    v: tuple[int, int],
    w: tuple[int, int],
    multiplier: int,
    factor: int,
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    """Compute one round over 64 bytes; x and z are exchanged after it."""
    x = _rotate_right((x + y + v[0] + _word(data, start + 8)) & _MASK, 37) * multiplier & _MASK
    y = _rotate_right((y + v[1] + _word(data, start + 48)) & _MASK, 42) * multiplier & _MASK
    x ^= w[1] * factor & _MASK
    y = (y + v[0] * factor + _word(data, start + 40)) & _MASK
    z = _rotate_right((z + w[0]) & _MASK, 33) * multiplier & _MASK
    v = _weak_pair(data, start, v[1] * multiplier & _MASK, (x + w[0]) & _MASK)
    w = _weak_pair(data, start + 32, (z + w[1]) & _MASK, (y + _word(data, start + 16)) & _MASK)
    return z, y, x, v, w


# ------------------------------------------------------------------------------------- keyed, plain


def strong_hash(key: tuple[int, int], data: bytes) -> int:
    """Return the SipHash-2-4 under a key of two words."""
    k0, k1 = (word & _MASK for word in key)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def rounds(count: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0, v2 = (v0 + v1) & _MASK, (v2 + v3) & _MASK
            v1, v3 = _rotate_left(v1, 13) ^ v0, _rotate_left(v3, 16) ^ v2
            v0 = _rotate_left(v0, 32)
            v2, v0 = (v2 + v1) & _MASK, (v0 + v3) & _MASK
            v1, v3 = _rotate_left(v1, 17) ^ v2, _rotate_left(v3, 21) ^ v0
            v2 = _rotate_left(v2, 32)

    whole = len(data) & ~7
    last = _word(data, whole, len(data) - whole) | (len(data) & 0xFF) << 56
    for word in [*(_word(data, start) for start in range(0, whole, 8)), last]:
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= 0xFF
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


def hash64(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """Return the MurmurHash64A."""
    multiplier = 0xC6A4A7935BD1E995
    found = (seed ^ len(data) * multiplier) & _MASK
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        word = _word(data, start) * multiplier & _MASK
        word = _shift_mix(word) * multiplier & _MASK
        found = (found ^ word) * multiplier & _MASK
    if whole < len(data):
        found = (found ^ _word(data, whole)) * multiplier & _MASK
    return _shift_mix(_shift_mix(found) * multiplier & _MASK)
