"""Results that a step only forwards belong to the caller, as any other fetched array does."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def test_a_sum_over_no_axes_of_a_variable_may_be_changed():
    """The variable keeps its value, in an emitted function and before."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", initializer=np.ones((2, 3), np.float32))
        axes = tf.placeholder(tf.int32, [None])
        total = tf.reduce_sum(variable, axes)
        shape = tf.shape(variable)
        same = tf.reshape(variable, shape)
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            for fetch in (total, same):
                found = session.run(fetch, {axes: np.array([], np.int32)})
                found[:] = 7.0
            sizes = session.run(shape)
            sizes[:] = 0
            assert session.run(shape).tolist() == [2, 3]
            assert session.run(variable).tolist() == [[1.0] * 3] * 2
