"""Optimizers change variables as TensorFlow's do, with the same names of slots."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tests.library.training.optimizer_scenarios import OPTIMIZERS, train

_GOLDEN = Path(__file__).parents[2] / "golden" / "optimizers.json"
_STORED = json.loads(_GOLDEN.read_text())


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_three_steps_give_tensorflows_variables(name, use_resource, is_sparse):
    """Names of variables, slots and train op, and all values after three steps."""
    want = _STORED[f"{name}-{use_resource}-{is_sparse}"]
    found = train(tf, name, use_resource, is_sparse)
    assert (found["op"], found["slots"]) == (want["op"], want["slots"])
    assert list(found["values"]) == list(want["values"])
    for variable, value in want["values"].items():
        np.testing.assert_allclose(found["values"][variable], value, 1e-5, 1e-6, err_msg=variable)


def test_a_loss_without_variables_is_refused():
    """The message is TensorFlow's."""
    with tf.Graph().as_default():
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        with pytest.raises(ValueError, match=r"No variables to optimize\."):
            optimizer.minimize(tf.constant(1.0))
        tf.Variable(1.0)
        with pytest.raises(ValueError, match="No gradients provided for any variable"):
            optimizer.minimize(tf.constant(1.0))


def test_a_constraint_holds_after_every_update():
    """The variable never becomes negative."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 5.0], constraint=lambda x: tf.maximum(x, 0.0))
        step = tf.train.GradientDescentOptimizer(2.0).minimize(tf.reduce_sum(v))
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(v).tolist() == [0.0, 3.0]


def test_gradients_may_be_changed_between_computing_and_applying():
    """compute_gradients, a division by two, and apply_gradients work."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(8.0)
        optimizer = tf.train.GradientDescentOptimizer(1.0)
        pairs = optimizer.compute_gradients(v * v / 2.0)
        step = optimizer.apply_gradients([(grad * 0.5, var) for grad, var in pairs])
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(v) == 4.0


def test_a_rate_may_be_a_tensor():
    """The learning rate is fed."""
    with tf.Graph().as_default(), tf.Session() as session:
        rate = tf.placeholder(tf.float32, [])
        v = tf.Variable(1.0)
        step = tf.train.GradientDescentOptimizer(rate).minimize(v)
        session.run(tf.global_variables_initializer())
        for value in (0.25, 0.5):
            session.run(step, {rate: value})
        assert session.run(v) == 0.25
