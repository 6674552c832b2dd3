"""Functions of tf.image compute TensorFlow's results."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.library.image import image_rows


@cache
def _ours() -> dict[str, Any]:
    return image_rows.values(tf)


@cache
def _wanted() -> dict[str, Any]:
    path = Path(__file__).parents[2] / "golden" / "image_functions.npz"
    with np.load(path) as stored:
        return {row: stored[row] for row in stored.files}


@pytest.mark.slow
@pytest.mark.parametrize("row", image_rows.ROWS)
def test_value_is_tensorflows(row: str) -> None:
    """Dtype and shape are equal, numbers up to rounding; bytes may differ by one level."""
    wanted, found = _wanted()[row], np.asarray(_ours()[row])
    assert (wanted.dtype, wanted.shape) == (found.dtype, found.shape)
    if wanted.dtype == np.uint8:
        assert np.abs(wanted.astype(int) - found.astype(int)).max(initial=0) <= 1
    else:
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


def test_ssim_needs_images_as_large_as_its_window() -> None:
    """The size is checked before the convolution, as in TensorFlow."""
    with tf.Graph().as_default(), tf.Session() as session:
        small = tf.placeholder(tf.float32, [None, None, 1])
        likeness = tf.image.ssim(small, small, 1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(likeness, {small: np.zeros((5, 20, 1))})


def test_nothing_is_reversed_along_whatever_axes() -> None:
    """Axes are not checked if there is no element, as in TensorFlow."""
    with tf.Graph().as_default(), tf.Session() as session:
        empty, axis = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        reverse = tf.reverse(empty, axis)
        assert session.run(reverse, {empty: np.zeros((0, 2)), axis: [3, 3]}).shape == (0, 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of valid range"):
            session.run(reverse, {empty: np.zeros((1, 2)), axis: [3, 3]})


def test_images_without_rank_are_seen_as_one_image_or_a_batch_as_they_are_fed() -> None:
    """Rotations read the rank at run time; padding and cropping accept one image."""
    one = np.arange(12.0).reshape(2, 3, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        image, fraction = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [])
        turned = tf.image.rot90(tf.image.flip_left_right(image))
        padded = tf.image.pad_to_bounding_box(image, 1, 0, 4, 3)
        middle = tf.image.central_crop(tf.ensure_shape(padded, [4, 3, 2]), fraction)
        wanted = np.rot90(one[:, ::-1])
        np.testing.assert_array_equal(session.run(turned, {image: one}), wanted)
        np.testing.assert_array_equal(session.run(turned, {image: one[None]}), wanted[None])
        found = session.run([padded, middle], {image: one, fraction: 0.5})
        np.testing.assert_array_equal(found[0], np.pad(one, [(1, 1), (0, 0), (0, 0)]))
        np.testing.assert_array_equal(found[1], found[0][1:3])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(padded, {image: one[None]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="three-dimensional"):
            session.run(turned, {image: one[0]})


def test_a_sparse_shape_that_is_too_small_is_refused_as_the_step_runs() -> None:
    """The shape is known only at run time."""
    with tf.Graph().as_default(), tf.Session() as session:
        old = tf.placeholder(tf.int64, [1])
        sparse = tf.SparseTensor([[1]], [5.0], old)
        larger = tf.sparse.reset_shape(sparse, [4]).dense_shape
        assert session.run(larger, {old: [3]}).tolist() == [4]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(larger, {old: [6]})
