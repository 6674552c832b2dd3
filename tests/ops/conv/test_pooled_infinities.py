"""Maxima of windows that hold minus infinity only, beside a NaN elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

LOWEST = np.finfo(np.float32).min


@pytest.mark.parametrize("channels", [1, 256])
@pytest.mark.parametrize("window", [(2, 1), (2, 2), (8, 8)])
def test_a_nan_does_not_change_other_windows(window, channels):
    """The maximum of an image's window is at least the lowest number, whatever others hold."""
    x = np.full((4, 8, 8, channels), -np.inf, np.float32)
    x[0, 0, 0, 0] = np.nan
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(
            tf.nn.max_pool(x, ksize=[1, *window, 1], strides=[1, *window, 1], padding="VALID")
        )
    found[0, 0, 0, 0] = LOWEST  # the window of the NaN
    np.testing.assert_array_equal(found, np.full(found.shape, LOWEST))
