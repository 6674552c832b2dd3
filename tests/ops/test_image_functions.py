"""Functions of tf.image compute what TensorFlow's compute."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.ops import image_rows


@cache
def _ours() -> dict[str, Any]:
    return image_rows.values(tf)


@cache
def _wanted() -> dict[str, Any]:
    path = Path(__file__).parents[1] / "golden" / "image_functions.npz"
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


def test_ssim_wants_images_as_large_as_its_window() -> None:
    """The check runs before the convolution, as in TensorFlow."""
    with tf.Graph().as_default(), tf.Session() as session:
        small = tf.placeholder(tf.float32, [None, None, 1])
        likeness = tf.image.ssim(small, small, 1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(likeness, {small: np.zeros((5, 20, 1))})


def test_nothing_is_reversed_along_whatever_axes() -> None:
    """Axes are not looked at where there is no element, as in TensorFlow."""
    with tf.Graph().as_default(), tf.Session() as session:
        empty, axis = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        reverse = tf.reverse(empty, axis)
        assert session.run(reverse, {empty: np.zeros((0, 2)), axis: [3, 3]}).shape == (0, 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of valid range"):
            session.run(reverse, {empty: np.zeros((1, 2)), axis: [3, 3]})
