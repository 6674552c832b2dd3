"""Functions built of several ops compute TensorFlow's results."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.joined import in_batches
from tests.ops import function_rows


@cache
def _stored() -> dict[str, Any]:
    with np.load(Path(__file__).parents[1] / "golden" / "function_rows.npz") as stored:
        return {row: stored[row] for row in stored.files}


@pytest.mark.slow
@in_batches("row", function_rows.ROWS)
def test_values_are_tensorflows(row: str) -> None:
    """Dtype and shape are equal, numbers up to rounding."""
    found = function_rows.values(tf, [row])
    wanted = {name: value for name, value in _stored().items() if name.startswith(f"{row}:")}
    assert sorted(wanted) == sorted(found)
    for name, value in wanted.items():
        assert (value.dtype, value.shape) == (found[name].dtype, found[name].shape)
        if value.dtype.kind not in "fc":
            assert value.tolist() == found[name].tolist()
            continue
        rtol = 1e-8 if value.dtype.itemsize > 8 - 4 * (value.dtype.kind == "f") else 2e-4
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=2e-5)


def test_the_smallest_along_any_axis() -> None:
    """TensorFlow has no CPU kernel for these; the gradient goes to the chosen elements."""
    x = np.random.RandomState(0).randn(3, 5, 2).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = tf.constant(x)
        for axis in (0, 1, 2, -2):
            values, indices = tf.nn.approx_min_k(tensor, 2, reduction_dimension=axis)
            slopes = tf.gradients(values * 3.0, tensor)[0]
            found, places, slope = session.run([values, indices, slopes])
            wanted = np.take(np.sort(x, axis), [0, 1], axis)
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.take_along_axis(x, places, axis), wanted)
            expected = np.zeros_like(x)
            np.put_along_axis(expected, places, 3.0, axis)
            np.testing.assert_array_equal(slope, expected)
