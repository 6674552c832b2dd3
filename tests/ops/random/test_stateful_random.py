"""Generators in variables, beyond the samples."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def test_binomial_numbers_are_tensorflows_and_the_state_moves_on():
    """Successive draws from the same states equal TensorFlow's."""
    with tf.Graph().as_default(), tf.Session() as session:
        state = tf.get_variable(
            "state", initializer=np.array([1, 2, 3], np.int64), use_resource=True
        )
        session.run(state.initializer)
        draw = tf.raw_ops.StatefulRandomBinomial(
            resource=state.handle,
            algorithm=tf.constant(1, tf.int64),
            shape=[4],
            counts=tf.constant(5.0, tf.float64),
            probs=tf.constant(0.3, tf.float64),
        )
        assert session.run(draw).tolist() == [3, 1, 2, 0]
        assert session.run(state).tolist() == [1 + 350 * 256, 2, 3]


def test_two_draws_of_a_step_differ():
    """Every op advances the state, also if several run in one step."""
    with tf.Graph().as_default(), tf.Session() as session:
        state = tf.get_variable(
            "state", initializer=np.array([0, 0, 7], np.int64), use_resource=True
        )
        session.run(state.initializer)
        draws = [
            tf.raw_ops.StatefulUniform(
                resource=state.handle, algorithm=tf.constant(1, tf.int64), shape=[3]
            )
            for _ in range(2)
        ]
        first, second = session.run(draws)
        assert not np.array_equal(first, second)
        assert session.run(state).tolist() == [6 * 256, 0, 7]
