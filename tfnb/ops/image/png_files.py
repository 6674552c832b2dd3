"""PNG files: a writer, and a reader of 16 bits per channel, which Pillow cannot read in colour.

The format: a signature, then chunks of length, name, data and CRC. The pixels are rows of bytes,
each after the number of the filter that was applied to it, compressed by zlib.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.kernel_types import Array

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
_CHANNELS = {0: 1, 4: 2, 2: 3, 6: 4}
# The most bytes that zlib makes of one.
_MAX_DEFLATE_RATIO = 1032


# Bytes that libpng puts into one chunk of pixels, and up to which it reduces the window of zlib.
_PIECE = 8192
_SMALL = 16384


def write(pixels: Array, compression: int = -1) -> bytes:
    """Return a PNG file of (height, width, channels) uint8 or uint16 pixels, as by libpng."""
    height, width, channels = pixels.shape
    bits = 8 * pixels.dtype.itemsize
    rows = np.ascontiguousarray(pixels.astype(f">u{bits // 8}")).view(np.uint8)
    packed = _compressed(_filtered(rows.reshape(height, -1), channels * bits // 8), compression)
    header = struct.pack(">IIBBBBB", width, height, bits, _COLOR_TYPES[channels], 0, 0, 0)
    parts = [
        _chunk(b"IHDR", header),
        *(_chunk(b"IDAT", packed[i : i + _PIECE]) for i in range(0, len(packed), _PIECE)),
        _chunk(b"IEND", b""),
    ]
    return _SIGNATURE + b"".join(parts)


def _filtered(rows: Array, step: int) -> bytes:
    """Return filtered rows: each by the one of five filters that has the smallest differences."""
    height, length = rows.shape
    padded = np.zeros((height + 1, length + step), np.int16)
    padded[1:, step:] = rows
    left, up, corner = padded[1:, :-step], padded[:-1, step:], padded[:-1, :-step]
    estimate = left + up - corner
    to_left, to_up, to_corner = (np.abs(estimate - near) for near in (left, up, corner))
    nearest = np.where(to_up <= to_corner, up, corner)
    nearest = np.where((to_left <= to_up) & (to_left <= to_corner), left, nearest)
    guesses = [np.zeros_like(left), left, up, (left + up) >> 1, nearest]
    kinds = np.array([0, 1] if height == 1 else [0, 2] if length == step else range(5))
    found = np.stack([(padded[1:, step:] - guesses[kind]).astype(np.uint8) for kind in kinds])
    sums = np.abs(found.view(np.int8).astype(np.int16)).sum(axis=2)
    best = sums.argmin(axis=0)
    chosen = found[best, np.arange(height)]
    return np.concatenate([kinds[best, None].astype(np.uint8), chosen], axis=1).tobytes()


def _compressed(data: bytes, level: int) -> bytes:
    size, bits = len(data), 15
    if size <= _SMALL:
        while size + 262 <= 1 << (bits - 1):
            bits -= 1
    stream = zlib.compressobj(level, zlib.DEFLATED, bits, 9, zlib.Z_FILTERED)
    packed = bytearray(stream.compress(data) + stream.flush())
    window = packed[0] >> 4
    if size <= _SMALL and size <= 1 << (window + 7):
        # The header contains the smallest window that holds all data.
        window -= 1
        while window > 0 and size <= 1 << (window + 7):
            window -= 1
        packed[0] = packed[0] & 15 | window << 4
        flags = packed[1] & 0xE0
        packed[1] = flags + 31 - (packed[0] * 256 + flags) % 31
    return bytes(packed)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def bit_depth(data: bytes) -> int:
    """Return the bits per channel, from the header."""
    if len(data) < 29 or data[12:16] != b"IHDR":
        raise errors.invalid_argument("Invalid PNG header, data size " + str(len(data)))
    return data[24]


def is_gray(data: bytes) -> bool:
    """Return whether pixels have no colour (and no alpha), from the header."""
    return data[25] == 0


def gray(rgb: Array) -> Array:
    """Return the luminance of (height, width, 3) pixels in the weights TensorFlow gives libpng."""
    red, green, blue = (rgb[..., c].astype(np.uint32) for c in range(3))
    # libpng computes with 15 bits and truncates the rest.
    total = (9798 * red + 19235 * green + 3735 * blue) >> 15
    return total.astype(rgb.dtype)


def read_16_bits(data: bytes, channels: int) -> Array:
    """Return the pixels as uint16 (height, width, channels); 0 channels: as many as the file has.

    Raises:
      InvalidArgumentError: the file is broken, or ends early.
      UnimplementedError: the file is interlaced.
    """
    width, height, _, color, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    if interlaced:
        raise errors.unimplemented("Interlaced PNG files of 16 bits are not supported")
    own = _CHANNELS.get(color)
    if own is None:
        raise errors.invalid_argument(f"Invalid PNG color type {color} for 16 bits")
    if not (height and width):
        raise errors.invalid_argument(f"Invalid PNG data, size {len(data)}: it has no pixels")
    check_fits(np, (height, width, own), np.dtype(np.uint16))
    size = height * (1 + width * own * 2)
    try:
        unpacked = zlib.decompressobj().decompress(b"".join(_pieces(data)), size)
    except zlib.error as error:
        raise errors.invalid_argument(f"Invalid PNG data: {error}") from None
    if len(unpacked) != size:
        raise errors.invalid_argument(f"Invalid PNG data, size {len(data)}: the file ends early")
    rows = np.frombuffer(unpacked, np.uint8).reshape(height, -1)
    pixels = _unfiltered(rows, 2 * own).view(">u2").reshape(height, width, own)
    return _with_channels(pixels.astype(np.uint16), channels or own)


def check_is_whole(data: bytes) -> None:
    """Check that no part of the pixels is missing, because Pillow accepts truncated files.

    A file whose data are too short for the declared size, however well compressed, is refused
    before Pillow makes an array of that size.

    Raises:
      InvalidArgumentError: the file ends early.
    """
    packed = sum(map(len, _pieces(data)))
    width, height, bits, color = struct.unpack(">IIBB", data[16:26])
    least = width * height * bits * _CHANNELS.get(color, 1) // 8
    if least > _MAX_DEFLATE_RATIO * packed:
        raise errors.invalid_argument(f"Invalid PNG data, size {len(data)}: the file ends early")


def _pieces(data: bytes) -> Iterator[bytes]:
    place = 8
    while place + 8 <= len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        name = data[place + 4 : place + 8]
        if name == b"IDAT":
            if place + 12 + length > len(data):
                raise errors.invalid_argument(
                    f"Invalid PNG data, size {len(data)}: the file ends early"
                )
            yield data[place + 8 : place + 8 + length]
        elif name == b"IEND":
            return
        place += 12 + length


def _unfiltered(rows: Array, step: int) -> Array:
    """Return the rows without their filters; a pixel has `step` bytes."""
    height, length = rows.shape[0], rows.shape[1] - 1
    result = np.zeros((height + 1, length), np.uint8)
    for index, row in enumerate(rows):
        kind, line, above = int(row[0]), row[1:], result[index]
        if kind == 0:
            result[index + 1] = line
        elif kind == 1:
            by_pixel = line.reshape(-1, step)
            result[index + 1] = np.cumsum(by_pixel, axis=0, dtype=np.uint8).reshape(-1)
        elif kind == 2:
            result[index + 1] = line + above
        elif kind in (3, 4):
            result[index + 1] = _predicted(line, above, step, kind)
        else:
            raise errors.invalid_argument(f"Invalid PNG data: filter {kind}")
    return result[1:]


def _predicted(line: Array, above: Array, step: int, kind: int) -> Array:
    """Return a row restored from differences.

    They are differences from a mean (3) or from the most similar neighbour (4).
    """
    done = bytearray(step)
    up = bytes(step) + above.tobytes()
    for place, value in enumerate(line.tobytes()):
        left, top, corner = done[place], up[place + step], up[place]
        if kind == 3:
            guess = (left + top) >> 1
        else:
            estimate = left + top - corner
            guess = min((left, top, corner), key=lambda near: abs(estimate - near))
        done.append((value + guess) & 0xFF)
    return np.frombuffer(bytes(done[step:]), np.uint8)


def _with_channels(pixels: Array, channels: int) -> Array:
    own = pixels.shape[2]
    color, alpha = (pixels[..., :-1], pixels[..., -1:]) if own in (2, 4) else (pixels, None)
    if channels in (1, 2) and color.shape[2] == 3:
        color = gray(color)[..., None]
    if channels in (3, 4) and color.shape[2] == 1:
        color = np.repeat(color, 3, axis=2)
    if channels in (1, 3):
        return color
    if alpha is None:
        alpha = np.full((*pixels.shape[:2], 1), 65535, np.uint16)
    return np.concatenate([color, alpha], axis=2)
