"""Image files are written and read again."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops import png_files

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
    """Differences from the left, from a mean, from the likeliest neighbour."""
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
