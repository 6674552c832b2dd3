"""Learning rates that change with the step."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tfnb as tf

STEPS = (0, 7, 14, 21)


def rates(make, dtype=tf.int64):
    """Return the learning rate at some steps."""
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(dtype, [])
        rate = make(step)
        return [float(session.run(rate, {step: value})) for value in STEPS]


def test_exponential_decay_is_smooth_or_in_steps():
    """The formula is rate * base ** (step / steps)."""
    smooth = rates(lambda step: tf.train.exponential_decay(0.1, step, 10, 0.5))
    np.testing.assert_allclose(smooth, [0.1 * 0.5 ** (s / 10) for s in STEPS], 1e-5)
    stairs = rates(lambda step: tf.train.exponential_decay(0.1, step, 10, 0.5, staircase=True))
    np.testing.assert_allclose(stairs, [0.1, 0.1, 0.05, 0.025], 1e-5)


def test_natural_exponential_and_inverse_time_decay():
    """The formulas are rate * exp(-k t) and rate / (1 + k t)."""
    found = rates(lambda step: tf.train.natural_exp_decay(0.1, step, 10, 0.5))
    np.testing.assert_allclose(found, [0.1 * math.exp(-0.05 * s) for s in STEPS], 1e-5)
    found = rates(lambda step: tf.train.inverse_time_decay(0.1, step, 10, 0.5))
    np.testing.assert_allclose(found, [0.1 / (1 + 0.05 * s) for s in STEPS], 1e-5)


def test_polynomial_decay_ends_or_begins_again():
    """The rate decreases to the end rate, and restarts with cycle."""
    found = rates(lambda step: tf.train.polynomial_decay(0.1, step, 10, 0.02))
    np.testing.assert_allclose(found, [0.1, 0.1 - 0.7 * 0.08, 0.02, 0.02], 1e-5)
    found = rates(lambda step: tf.train.polynomial_decay(0.1, step, 10, 0.02, cycle=True))
    np.testing.assert_allclose(found, [0.02 + 0.08 * (1 - p) for p in (0, 0.7, 0.7, 0.7)], 1e-5)


def test_piecewise_constant_takes_the_lower_piece_at_a_boundary():
    """The piece below a boundary includes the boundary."""
    found = rates(lambda step: tf.train.piecewise_constant(step, [7, 14], [1.0, 0.5, 0.1]))
    np.testing.assert_allclose(found, [1.0, 1.0, 0.5, 0.1])


def test_piecewise_constant_checks_types_and_lengths():
    """The messages are TensorFlow's."""
    with tf.Graph().as_default():
        step = tf.constant(3)
        with pytest.raises(ValueError, match="must have the same dtype as x"):
            tf.train.piecewise_constant(step, [1.0], [1.0, 2.0])
        with pytest.raises(ValueError, match="must have elements all with the same dtype"):
            tf.train.piecewise_constant(step, [1], [1.0, 2])
        with pytest.raises(ValueError, match="1 less than the length of values"):
            tf.train.piecewise_constant(step, [1], [1.0])


def test_cosine_decays():
    """The rate is half a cosine; with restarts it repeats."""
    half = [0.5 * (1 + math.cos(math.pi * min(s, 20) / 20)) for s in STEPS]
    found = rates(lambda step: tf.train.cosine_decay(0.1, step, 20, 0.1))
    np.testing.assert_allclose(found, [0.1 * (0.9 * h + 0.1) for h in half], 1e-5)
    found = rates(lambda step: tf.train.cosine_decay_restarts(0.1, step, 7, 1.0, 0.5))
    np.testing.assert_allclose(found, [0.1, 0.05, 0.025, 0.0125], 1e-5)
    found = rates(lambda step: tf.train.cosine_decay_restarts(0.1, step, 7))
    second = [0.5 * (1 + math.cos(math.pi * p)) for p in (0, 0.5)]
    np.testing.assert_allclose(found, [0.1, *(0.1 * s for s in second), 0.1], 1e-5)
    found = rates(lambda step: tf.train.linear_cosine_decay(0.1, step, 20))
    want = [0.1 * ((1 - min(s, 20) / 20) * h + 0.001) for s, h in zip(STEPS, half, strict=True)]
    np.testing.assert_allclose(found, want, 1e-5)


def test_noise_is_added_to_the_linear_cosine_decay():
    """Two runs differ, and neither is the decay without noise."""
    with tf.Graph().as_default(), tf.Session() as session:
        noisy = tf.train.noisy_linear_cosine_decay(0.1, 5, 20)
        plain = tf.train.linear_cosine_decay(0.1, 5, 20)
        first, second, without = session.run(noisy), session.run(noisy), session.run(plain)
        assert len({float(first), float(second), float(without)}) == 3
