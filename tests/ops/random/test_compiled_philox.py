"""Compiled random numbers are the plain way's, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.core import dtypes
from tfnb.core.compiled.helper import HELPER
from tfnb.ops.random import random_distributions
from tfnb.ops.random.philox import Philox

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")


@pytest.mark.parametrize("counter", [0, 2**64 - 7, 2**128 - 3, (5 << 64) + 2**63])
@pytest.mark.parametrize("count", [4, 1000])
def test_blocks_and_uniform_numbers_are_equal(counter, count):
    """The counter's carry, and keys of 64 bits."""
    generator = Philox(0xFEDC_BA98_7654_3210, counter)
    plain = generator.blocks_at(np, np.arange(count, dtype=np.uint64))
    for _ in range(2):
        found = generator.blocks(np, count)
        numbers = random_distributions.uniform(np, generator, 4 * count - 1, dtypes.float32)
        HELPER.wait()
        np.testing.assert_array_equal(found, plain)
        expected = random_distributions.uniforms_from(dtypes.float32)(np, plain)
        np.testing.assert_array_equal(numbers, expected.reshape(-1)[: 4 * count - 1])


def test_an_op_draws_the_same_before_and_after_compiling():
    """Numbers that were computed ahead are used up; then the routine continues the sequence."""
    found = []
    for variable in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            numbers = tf.random_uniform([5, 7], seed=3)
            steps = []
            for step in range(24):
                steps.append(session.run(numbers))
                if variable and step == 6:
                    HELPER.wait()
        found.append(steps)
    np.testing.assert_array_equal(*found)
