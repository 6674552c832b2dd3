"""Rectangular parts of tensors, in which partitioned variables are saved and restored.

A :class:`TensorSlice` has one extent per dimension: ``(start, length)``, where a length of -1 means
the whole dimension.  Its text form is ``"0,10:-:4,1"``.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from tfnb.core import errors
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FULL: Final = -1
_EXTENT: Final = re.compile(r"(\d+),(\d+)$")


@record(slots=True, frozen=True)
class TensorSlice:
    """One (start, length) per dimension; a length of -1 is the whole dimension."""

    extents: tuple[tuple[int, int], ...]

    @classmethod
    def full(cls, rank: int) -> TensorSlice:
        """Return the slice that covers every tensor of this rank."""
        return cls(((0, FULL),) * rank)

    @classmethod
    def parse(cls, text: str) -> TensorSlice:
        """Read the text form.

        >>> TensorSlice.parse("0,10:-").extents
        ((0, 10), (0, -1))

        Raises:
          InvalidArgumentError: the text is not a slice.
        """
        extents = []
        for part in text.split(":") if text else []:
            match = _EXTENT.match(part)
            if part == "-":
                extents.append((0, FULL))
            elif match and int(match[2]) > 0:
                extents.append((int(match[1]), int(match[2])))
            else:
                raise errors.invalid_argument(
                    "Expected a pair of numbers or '-' but got '" + part + f"': string = {text}"
                )
        return cls(tuple(extents))

    @property
    def is_full(self) -> bool:
        """Whether every dimension is taken whole."""
        return all(length == FULL for _, length in self.extents)

    def __str__(self) -> str:
        return ":".join("-" if n == FULL else f"{start},{n}" for start, n in self.extents)

    def shape_in(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of this part of a tensor of the given shape.

        Raises:
          InvalidArgumentError: the slice does not fit.
        """
        if len(shape) != len(self.extents):
            raise errors.invalid_argument(
                f"Mismatching ranks: shape = {_dims(shape)}, slice = {self}"
            )
        for size, (start, length) in zip(shape, self.extents, strict=True):
            if length != FULL and (start < 0 or length < 0 or start + length > size):
                raise errors.invalid_argument(
                    f"Extent in dimension out of bounds: shape = {_dims(shape)}, slice = {self}"
                )
        return tuple(
            size if n == FULL else n for size, (_, n) in zip(shape, self.extents, strict=True)
        )

    def index(self) -> tuple[slice, ...]:
        """Return the slice as an index of an array of the whole shape."""
        return tuple(
            slice(None) if n == FULL else slice(start, start + n) for start, n in self.extents
        )

    def overlap(
        self, other: TensorSlice, shape: Sequence[int]
    ) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
        """Return the common part as a slice of self and of other, or None if there is none."""
        mine, theirs = [], []
        for size, (a, n), (b, m) in zip(shape, self.extents, other.extents, strict=True):
            n, m = (size if n == FULL else n), (size if m == FULL else m)
            start, end = max(a, b), min(a + n, b + m)
            if start >= end and size:
                return None
            mine.append(slice(start - a, end - a))
            theirs.append(slice(start - b, end - b))
        return tuple(mine), tuple(theirs)


def can_cover(where: TensorSlice, parts: Iterable[TensorSlice], shape: Sequence[int]) -> bool:
    """Return whether stored parts of a tensor have enough elements for a slice of it.

    A reader asks before it allocates the slice, because a file may declare any shape.

    >>> halves = [TensorSlice(((0, 2),)), TensorSlice(((2, 2),))]
    >>> can_cover(TensorSlice.full(1), halves, [4]), can_cover(TensorSlice.full(1), halves, [9])
    (True, False)

    Raises:
      InvalidArgumentError: the slice or a part does not fit the shape.
    """
    left = math.prod(where.shape_in(shape))
    for part in set(parts):
        part.shape_in(shape)
        common = where.overlap(part, shape)
        if common is not None:
            left -= math.prod(one.stop - one.start for one in common[0])
    return left <= 0


def parse_shape_and_slice(spec: str) -> tuple[tuple[int, ...], TensorSlice, tuple[int, ...]]:
    """Parse ``"4 10 0,2:-"`` into the whole shape, the slice, and the slice's shape.

    Raises:
      InvalidArgumentError: the text does not follow the form or the slice does not fit the shape.
    """
    parts = spec.split()
    if len(parts) < 2:
        raise errors.invalid_argument(
            f"Need least two elements in shape_and_slice specification: {spec}"
        )
    where = TensorSlice.parse(parts[-1])
    if not all(re.fullmatch(r"\d+", part) for part in parts[:-1]):
        raise errors.invalid_argument(f"Non numerical dimension in shape_and_slice: {spec}")
    shape = tuple(int(part) for part in parts[:-1])
    return shape, where, where.shape_in(shape)


def _dims(shape: Sequence[int]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"


# ------------------------------------------------------------------------ keys of tensor slices


def slice_key(name: str, where: TensorSlice) -> bytes:
    """Return the key under which one slice of a tensor is kept; keys sort as the slices do."""
    key = bytearray(_ordered_number(0) + _ordered_string(name.encode()))
    key += _ordered_number(len(where.extents))
    for start, length in where.extents:
        key += _ordered_signed(start) + _ordered_signed(length)
    return bytes(key)


def parse_slice_key(key: bytes) -> tuple[str, TensorSlice]:
    """Return the name and slice of a key made by :func:`slice_key`.

    Raises:
      DataLossError: the key has another form.
    """
    try:
        _, position = _read_number(key, 0)
        name, position = _read_string(key, position)
        rank, position = _read_number(key, position)
        extents = []
        for _ in range(rank):
            start, position = _read_signed(key, position)
            length, position = _read_signed(key, position)
            extents.append((start, length))
    except IndexError:
        raise errors.data_loss(f"Bad tensor slice key {key!r}") from None
    return name.decode(), TensorSlice(tuple(extents))


def _ordered_number(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _read_number(key: bytes, position: int) -> tuple[int, int]:
    end = position + 1 + key[position]
    return int.from_bytes(key[position + 1 : end], "big"), end


def _ordered_string(text: bytes) -> bytes:
    # 00 and ff are escaped, so that the terminator 00 01 sorts before every continuation.
    return (
        b"".join(
            b"\x00\xff" if byte == 0 else b"\xff\x00" if byte == 0xFF else bytes([byte])
            for byte in text
        )
        + b"\x00\x01"
    )


def _read_string(key: bytes, position: int) -> tuple[bytes, int]:
    out = bytearray()
    while True:
        byte, after = key[position], key[position + 1] if position + 1 < len(key) else -1
        if byte == 0 and after == 1:
            return bytes(out), position + 2
        if byte in (0, 0xFF):
            if after < 0:
                raise IndexError
            out.append(byte)
            position += 2
        else:
            out.append(byte)
            position += 1


def _ordered_signed(value: int) -> bytes:
    # A header of `size` one bits (inverted for negatives, like the number itself) gives the length.
    magnitude = ~value if value < 0 else value
    size = magnitude.bit_length() // 7 + 1
    header = ((1 << size) - 1) << (8 * size - size)
    return ((value & ((1 << 8 * size) - 1)) ^ header).to_bytes(size, "big")


def _read_signed(key: bytes, position: int) -> tuple[int, int]:
    negative = not key[position] & 0x80
    head = int.from_bytes(key[position : position + 2].ljust(2, b"\0"), "big")
    if negative:
        head ^= 0xFFFF
    size = 0
    while size < 10 and head & (0x8000 >> size):
        size += 1
    end = position + size
    if end > len(key):
        raise IndexError
    header = ((1 << size) - 1) << (8 * size - size)
    value = int.from_bytes(key[position:end], "big") ^ header
    if value >> (8 * size - 1):
        value -= 1 << 8 * size
    return value, end
