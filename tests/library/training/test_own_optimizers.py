"""Optimizers of users, and those of TensorFlow with special behaviour."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


class SignDescent(tf.train.Optimizer):
    """Moves every weight by the same distance; counts its steps in a slot."""

    def __init__(self, rate, name="SignDescent"):
        super().__init__(False, name)
        self._rate = rate

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "count", self._name)

    def _apply_dense(self, grad, var):
        count = self.get_slot(var, "count").assign_add(tf.ones_like(grad))
        return tf.group(var.assign_sub(self._rate * tf.sign(grad)), count)

    def _resource_apply_dense(self, grad, handle):
        return self._apply_dense(grad, handle)

    def _apply_sparse(self, grad, var):
        return var.scatter_sub(tf.IndexedSlices(self._rate * grad.values, grad.indices))


@pytest.mark.parametrize("use_resource", [False, True])
def test_an_optimizer_of_ones_own(use_resource):
    """It overrides TensorFlow's methods, and has slots."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([3.0, -2.0], name="v", use_resource=use_resource)
        optimizer = SignDescent(0.5)
        step = optimizer.minimize(tf.reduce_sum(v * v))
        session.run(tf.global_variables_initializer())
        session.run(step)
        session.run(step)
        assert session.run(v).tolist() == [2.0, -1.0]
        assert session.run(optimizer.get_slot(v, "count")).tolist() == [2.0, 2.0]
        assert [s.name for s in optimizer.variables()] == ["v/SignDescent:0"]


def test_rows_with_the_same_index_reach_an_optimizer_summed():
    """_apply_sparse gets each index once."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([[1.0], [2.0], [3.0]])
        step = SignDescent(1.0).minimize(tf.reduce_sum(tf.gather(v, [2, 0, 2])))
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(v).tolist() == [[0.0], [2.0], [1.0]]


def test_a_missing_rule_is_said():
    """The error names the missing _apply_dense."""
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        with pytest.raises(NotImplementedError):
            tf.train.Optimizer(False, "Nothing").minimize(v * v)


def test_arguments_are_checked():
    """The messages are TensorFlow's."""
    with pytest.raises(ValueError, match="Must specify the optimizer name"):
        tf.train.Optimizer(False, "")
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        with pytest.raises(ValueError, match="gate_gradients must be one of"):
            optimizer.compute_gradients(v, gate_gradients=7)
        with pytest.raises(ValueError, match="Invalid type"):
            optimizer.minimize(tf.Variable(1))
        with pytest.raises(ValueError, match="No variables provided"):
            optimizer.apply_gradients([])
        with pytest.raises(ValueError, match="No gradients provided for any variable"):
            optimizer.apply_gradients([(None, v)])
        with pytest.raises(ValueError, match=r"No gradients provided .* between variables \[\]"):
            optimizer.minimize(lambda: tf.constant(1.0))


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_loss_may_be_a_function(use_resource):
    """It is called once, and trains the variables that it uses, also those that it makes."""
    calls = []

    def loss():
        calls.append(1)
        with tf.variable_scope("inner", use_resource=use_resource):
            made = tf.get_variable("made", [], initializer=tf.ones_initializer())
        return made * tf.reduce_sum(v * v)

    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0], use_resource=use_resource)
        tf.Variable(3.0, use_resource=use_resource)
        optimizer = tf.train.GradientDescentOptimizer(0.5)
        step = optimizer.minimize(loss)
        pairs = optimizer.compute_gradients(
            lambda: tf.reduce_sum(v), [v], grad_loss=tf.constant(2.0)
        )
        session.run(tf.global_variables_initializer())
        assert session.run(pairs[0][0]).tolist() == [2.0, 2.0]
        session.run(step)
        made = session.run(
            "inner/made:0" if not use_resource else "inner/made/Read/ReadVariableOp:0"
        )
        assert session.run(v).tolist() == [0.0, 0.0]
        assert made == 1.0 - 0.5 * 5.0
    assert calls == [1]


@pytest.mark.parametrize("gate", [0, 1, 2])
def test_gates_change_nothing_but_the_order(gate):
    """GATE_NONE, GATE_OP and GATE_GRAPH give the same values."""
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(2.0), tf.Variable(3.0)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(v * w, gate_gradients=gate)
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run([v, w]), [1.7, 2.8], 1e-6)


def test_adagrad_with_dual_averaging_makes_weights_zero():
    """Weights below the l1 threshold stay zero."""
    with tf.Graph().as_default(), tf.Session() as session:
        count = tf.Variable(0, dtype=tf.int64, trainable=False)
        v = tf.Variable([1.0, 1.0])
        loss = tf.reduce_sum(v * [0.001, 5.0])
        optimizer = tf.train.AdagradDAOptimizer(0.1, count, l1_regularization_strength=0.1)
        step = optimizer.minimize(loss, global_step=count)
        session.run(tf.global_variables_initializer())
        session.run(step)
        found = session.run(v)
        assert found[0] == 0.0
        assert found[1] < 0.0


def test_hyperparameters_may_be_functions():
    """The functions are called when the step is built."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        step = tf.train.AdamOptimizer(lambda: 0.5, beta1=lambda: 0.9).minimize(v)
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(v), 0.5, 1e-5)
