"""Running averages and the global step."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.parametrize("use_resource", [False, True])
def test_an_average_follows_its_variable(use_resource):
    """average = 0.9 average + 0.1 variable, beginning with the variable's initial value."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0, name="v", use_resource=use_resource)
        averages = tf.train.ExponentialMovingAverage(0.9)
        update = averages.apply([v])
        session.run(tf.global_variables_initializer())
        session.run(v.assign(2.0))
        session.run(update)
        assert averages.average(v).name == "v/ExponentialMovingAverage:0"
        np.testing.assert_allclose(session.run(averages.average(v)), 1.1, 1e-6)
        assert v in tf.moving_average_variables()


def test_the_number_of_updates_lowers_the_decay_at_first():
    """The decay is min(decay, (1 + n) / (10 + n))."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0)
        averages = tf.train.ExponentialMovingAverage(0.9, num_updates=0)
        update = averages.apply([v])
        session.run(tf.global_variables_initializer())
        session.run(v.assign(1.0))
        session.run(update)
        np.testing.assert_allclose(session.run(averages.average(v)), 0.9, 1e-6)


def test_the_average_of_a_tensor_begins_at_zero_unless_corrected():
    """zero_debias divides by the missing weight."""
    with tf.Graph().as_default(), tf.Session() as session:
        t = tf.multiply(tf.constant(3.0), 2.0, name="t")
        plain = tf.train.ExponentialMovingAverage(0.9, name="plain")
        corrected = tf.train.ExponentialMovingAverage(0.9, zero_debias=True, name="corrected")
        updates = [plain.apply([t]), corrected.apply([t])]
        session.run(tf.global_variables_initializer())
        session.run(updates)
        found = session.run([plain.average(t), corrected.average(t)])
        np.testing.assert_allclose(found, [0.6, 6.0], 1e-6)


def test_a_saver_restores_variables_from_their_averages():
    """variables_to_restore maps the averages' names to the variables."""
    with tf.Graph().as_default():
        v, other = tf.Variable(1.0, name="v"), tf.Variable(1, name="other", trainable=False)
        averages = tf.train.ExponentialMovingAverage(0.9)
        assert averages.average_name(v) == "v/ExponentialMovingAverage"
        averages.apply([v])
        found = averages.variables_to_restore()
        assert found["v/ExponentialMovingAverage"] is v
        assert found["other"] is other


def test_averages_are_of_numbers_with_a_point():
    """Integers are refused."""
    with tf.Graph().as_default():
        v = tf.Variable(1)
        with pytest.raises(TypeError, match="must be half, float, or double"):
            tf.train.ExponentialMovingAverage(0.9).apply([v])


def test_the_global_step_is_made_once():
    """get_or_create returns the existing variable; create refuses a second one."""
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.train.get_global_step() is None
        step = tf.train.get_or_create_global_step()
        assert tf.train.get_or_create_global_step() is step
        assert (step.name, step.dtype.base_dtype) == ("global_step:0", tf.int64)
        with pytest.raises(ValueError, match="already exists"):
            tf.train.create_global_step()
        session.run(tf.global_variables_initializer())
        assert tf.train.global_step(session, step) == 0


def test_a_global_step_may_have_a_shape_of_one_element() -> None:
    """As some programs declare it."""
    with tf.Graph().as_default(), tf.Session() as sess:
        step = tf.get_variable("step", initializer=[123])
        sess.run(step.initializer)
        assert tf.train.global_step(sess, step) == 123


def test_the_global_step_must_be_an_integer_scalar():
    """A tensor with its name must be an integer scalar."""
    with tf.Graph().as_default():
        tf.constant(1.0, name="global_step")
        with pytest.raises(TypeError, match="does not have integer type"):
            tf.train.get_global_step()
    with tf.Graph().as_default():
        tf.constant([1], name="global_step")
        with pytest.raises(TypeError, match="is not scalar"):
            tf.train.get_global_step()
