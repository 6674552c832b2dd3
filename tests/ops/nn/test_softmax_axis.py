"""`tf.nn.softmax` and `log_softmax` along an axis that is a tensor."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

LOGITS = np.random.RandomState(0).randn(2, 3, 4).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, -2, -3])
def test_an_axis_may_be_a_tensor(axis: int) -> None:
    """Known, or only in a step; the static shape stays."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.int32, [])
        for function in (tf.nn.softmax, tf.nn.log_softmax):
            known = function(LOGITS, axis=tf.constant(axis))
            later = function(LOGITS, axis=fed)
            found = session.run([function(LOGITS, axis=axis), known, later], {fed: axis})
            np.testing.assert_array_equal(found[0], found[1])
            np.testing.assert_array_equal(found[0], found[2])
            assert later.shape.as_list() == [2, 3, 4]


def test_an_axis_that_is_known_to_be_outside_is_refused() -> None:
    """When the graph is made."""
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"in the range \[-3, 3\)"):
            tf.nn.softmax(LOGITS, axis=tf.constant(3))


def test_the_last_axis_in_a_step_is_tensorflow_s_error() -> None:
    """Its graph exchanges the axis with the last one, whatever the axis is."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.int32, [])
        with pytest.raises(tf.errors.InvalidArgumentError, match="start <= limit"):
            session.run(tf.nn.softmax(LOGITS, axis=fed), {fed: 2})
