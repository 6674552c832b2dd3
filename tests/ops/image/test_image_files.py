"""Image files are written and read again."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.image import png_files

pytest.importorskip("PIL")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_gives_back_what_was_written(dtype: type, channels: int) -> None:
    """Encoding and decoding is the identity for 8 and 16 bits."""
    pixels = np.random.RandomState(1).randint(0, np.iinfo(dtype).max, (7, 5, channels))
    pixels = pixels.astype(dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.image.encode_png(pixels)
        found = session.run(tf.image.decode_png(contents, dtype=dtype))
    np.testing.assert_array_equal(found, pixels)


def test_a_batch_of_images_becomes_a_batch_of_files() -> None:
    """EncodePng of rank 4 gives a vector of files."""
    pixels = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4, 1)
    with tf.Graph().as_default(), tf.Session() as session:
        files = session.run(tf.image.encode_png(pixels))
        first = session.run(tf.image.decode_image(files[0]))
    assert files.shape == (2,)
    np.testing.assert_array_equal(first, pixels[0])


def test_jpeg_of_a_smooth_image_is_near_it() -> None:
    """Encoding and decoding a smooth image loses little."""
    rows, columns = np.mgrid[0:16, 0:24]
    pixels = np.stack([rows * 8, columns * 5, rows + columns], -1).astype(np.uint8)
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.image.encode_jpeg(pixels, quality=95)
        found, shape = session.run(
            [tf.image.decode_jpeg(contents), tf.image.extract_jpeg_shape(contents)]
        )
    assert shape.tolist() == [16, 24, 3]
    assert np.abs(found.astype(int) - pixels).max() < 8


@pytest.mark.parametrize("kind", [1, 3, 4])
def test_the_filters_of_16_bit_rows_are_undone(kind: int) -> None:
    """Filters predict from the left, from a mean, or from the nearest neighbour."""
    rows = np.random.RandomState(2).randint(0, 256, (4, 12)).astype(np.uint8)
    filtered = np.zeros((4, 13), np.uint8)
    filtered[:, 0] = kind
    above = np.zeros(12, np.int64)
    for index, row in enumerate(rows.astype(np.int64)):
        left = np.concatenate([np.zeros(2, np.int64), row[:-2]])
        corner = np.concatenate([np.zeros(2, np.int64), above[:-2]])
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + above) // 2
        else:
            estimate = left + above - corner
            choices = np.stack([left, above, corner])
            best = np.abs(estimate - choices).argmin(axis=0)
            guess = choices[best, np.arange(12)]
        filtered[index, 1:] = row - guess
        above = row
    np.testing.assert_array_equal(png_files._unfiltered(filtered, 2), rows)


@pytest.mark.parametrize(("width", "height"), [(0, 1), (1, 0), (0, 0), (0, 2**31 - 1)])
def test_a_file_without_pixels_is_refused_before_it_is_decompressed(
    width: int, height: int
) -> None:
    """No rows would mean no limit for zlib, and no columns many rows without bytes."""
    header = struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(2**22))), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="it has no pixels"),
    ):
        session.run(tf.image.decode_png(data, dtype=tf.uint16))


def test_a_header_of_a_huge_image_takes_no_memory() -> None:
    """The size is checked before pixels are decoded."""
    data = bytearray(png_files.write(np.zeros((1, 1, 3), np.uint8)))
    data[16:24] = b"\x7f\xff\xff\x00\x7f\xff\xff\x00"
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises((tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError)),
    ):
        session.run(tf.image.decode_png(bytes(data)))


def _bmp(width: int, height: int, bits: int, pixels: bytes) -> bytes:
    sizes = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, 54) + sizes + pixels


@pytest.mark.parametrize(
    ("bits", "channels", "first"),
    [(32, 0, [6, 5, 4, 7]), (32, 3, [6, 5, 4]), (24, 4, [10, 9, 8, 255]), (8, 3, [4, 4, 4])],
)
def test_a_bmp_file_keeps_its_alpha_and_has_no_palette(
    bits: int, channels: int, first: list[int]
) -> None:
    """Pixels have as many bytes as the file says; rows begin at the bottom."""
    row = (bits // 8 + 3) // 4 * 4
    data = _bmp(1, 2, bits, bytes(range(row * 2)))
    if bits == 24:
        data = _bmp(1, -2, bits, bytes([8, 9, 10, 0, 0, 0, 0, 0]))
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.image.decode_bmp(data, channels=channels))
    assert found[0, 0].tolist() == first
    assert found.shape == (2, 1, len(first))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"BM", "requires at least 32 bytes to find the header size"),
        (_bmp(0, 2, 24, b""), "Width must be positive"),
        (_bmp(1, 0, 24, b""), "Height must be nonzero"),
        (_bmp(1, 2, 16, b""), "Number of channels inherent in the image must be 1, 3 or 4, was 2"),
        (_bmp(1, 2, 24, b"1234567"), "they differ by -1"),
        (_bmp(10**6, 10**6, 32, b""), "must be less than 2^30"),
    ],
)
def test_a_broken_bmp_file_is_refused_as_by_tensorflow(data: bytes, message: str) -> None:
    """Impossible sizes are refused before memory is allocated."""
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.image.decode_image(data)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(image)
    assert message in caught.value.message


def test_a_cut_off_jpeg_gives_the_rows_it_has_when_asked() -> None:
    """Only try_recover_truncated accepts a file that ends early."""
    pixels = np.random.RandomState(0).randint(0, 256, (32, 16, 3)).astype(np.uint8)
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.placeholder(tf.string, [])
        strict = tf.image.decode_jpeg(contents)
        lenient = tf.image.decode_jpeg(contents, try_recover_truncated=True)
        whole = session.run(tf.image.encode_jpeg(pixels))
        cut = np.array(whole[: len(whole) * 9 // 10], object)
        found = session.run(lenient, {contents: cut})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"jpeg::Uncompress failed"):
            session.run(strict, {contents: cut})
        np.testing.assert_array_equal(
            found[:8], session.run(strict, {contents: np.array(whole, object)})[:8]
        )
    assert found.shape == pixels.shape


@pytest.mark.parametrize("ratio", [-1, 0, 3])
def test_a_jpeg_file_is_reduced_by_powers_of_two_only(ratio: int) -> None:
    """Also where a part of it is decoded."""
    with tf.Graph().as_default(), tf.Session() as session:
        data = session.run(tf.image.encode_jpeg(np.zeros((8, 8, 3), np.uint8)))
        part = tf.raw_ops.DecodeAndCropJpeg(contents=data, crop_window=[0, 0, 2, 2], ratio=ratio)
        with pytest.raises(tf.errors.InvalidArgumentError, match="ratio must be 1, 2, 4, or 8"):
            session.run(part)


def test_a_png_file_that_is_too_short_for_its_size_is_refused_at_once() -> None:
    """Pillow would make all pixels of the header's size first."""
    header = struct.pack(">IIBBBBB", 10_000, 10_000, 8, 2, 0, 0, 0)
    # Whole rows, after which Pillow sees no error.
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(30_001 * 2))), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="the file ends early"),
    ):
        session.run(tf.image.decode_png(data))


def test_a_gif_file_of_frames_of_huge_sizes_is_invalid() -> None:
    """Pillow's own errors of each class become TensorFlow's."""
    small, huge = (
        b"\x2c" + struct.pack("<4HB", 0, 0, size, size, 0) + b"\x02\x02\x44\x01\x00"
        for size in (1, 65535)
    )
    data = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes(6) + small + huge + b";"
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="Invalid GIF data"),
    ):
        session.run(tf.image.decode_gif(data))
