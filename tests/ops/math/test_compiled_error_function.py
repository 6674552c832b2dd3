"""Clusters with error functions, such as GELU, are compiled and give the values of their nodes."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.core.compiled.helper import HELPER

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")


def gelu(x):
    """Return GELU and its gradient."""
    y = x * 0.5 * (1.0 + tf.erf(x / np.float32(np.sqrt(2))))
    return [y, tf.gradients(y, x)[0]]


@pytest.mark.parametrize("build", [gelu, lambda x: [tf.erf(x)]], ids=["gelu", "alone"])
@pytest.mark.parametrize("shape", [(1,), (3, 33), (2, 5, 128)])
@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -np.inf, -1e30])
def test_values_are_those_of_the_plain_way(build, shape, value, clusters):
    """Lengths beside those of vectors, and numbers that are not finite."""
    given = np.random.default_rng(3).normal(0, 2, shape).astype(np.float32)
    given.reshape(-1)[-1] = value
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, shape)
        fetches = build(x)
        plain = session.run(fetches, {x: given})
        for _ in range(5):
            session.run(fetches, {x: given})
        HELPER.wait()
        session.run(fetches, {x: given})
        found = session.run(fetches, {x: given})
    assert any(form.run for one in clusters for form in one.forms_of_arrays())
    for one, other in zip(found, plain, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, 1e-6, 3e-7)
