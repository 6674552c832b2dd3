"""Gradients with filters of many channels, whose channels change places."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.base import swapped
from tfnb.ops.base.large_arrays import plain_ways


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(0, 128), (5, 0), (7, 100), (128, 128), (3, 2, 40, 256), (2, 1, 256), (300, 130)]
)
def test_a_copy_has_its_last_dimensions_swapped(shape: tuple[int, ...], dtype: type) -> None:
    """With a gap between rows and without, also of views."""
    x = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    for one in (x, x[::-1], np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1)):
        found = swapped.swapped(np, one)
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, one.swapaxes(-1, -2))


@pytest.mark.parametrize("value", [None, np.nan, np.inf])
@pytest.mark.parametrize(
    ("image", "kernel", "stride", "padding"),
    [
        ((2, 9, 8, 256), (1, 1, 256, 128), 1, "SAME"),
        ((2, 9, 8, 256), (1, 1, 256, 128), 2, "SAME"),
        ((3, 5, 5, 128), (5, 5, 128, 64), 1, "VALID"),
        ((1, 12, 11, 128), (3, 3, 128, 128), 1, "SAME"),
        ((2, 12, 11, 64), (4, 4, 64, 128), 2, "VALID"),
        ((2, 40, 30, 9), (4, 4, 9, 128), 2, "SAME"),
        ((2, 6, 6, 96), (2, 3, 32, 384), 1, "SAME"),
        ((1, 14, 18, 520), (1, 1, 520, 520), 1, "SAME"),
        ((3, 1, 1, 515), (1, 1, 515, 513), 1, "VALID"),
        ((2, 7, 5, 700), (1, 1, 700, 400), 1, "SAME"),
    ],
)
def test_gradients_of_images_with_many_channels(image, kernel, stride, padding, value) -> None:
    """All ways to compute them give the plain result; NaN and infinity are seen where they are."""
    random = np.random.default_rng(len(image))
    w = random.normal(size=kernel).astype(np.float32)
    x = random.normal(size=image).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session, np.errstate(all="ignore"):
        images = tf.constant(x)
        y = tf.nn.conv2d(images, w, [1, stride, stride, 1], padding)
        came = random.normal(size=[int(size) for size in y.shape]).astype(np.float32)
        if value is not None:
            came.reshape(-1)[came.size // 2] = value
        grad = tf.gradients(y, images, came)
        (found,) = session.run(grad)
        with plain_ways():
            (wanted,) = session.run(grad)
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-3)
