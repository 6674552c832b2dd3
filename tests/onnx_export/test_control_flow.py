"""Loops, conditions, tensor arrays, recurrent networks: onnxruntime gives the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tfnb.python.ops import functional_ops

import tfnb as tf
from tests.onnx_export.agreement import agree, ops_of
from tfnb.framework.functions import function

pytest.importorskip("onnxruntime")

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
BOTH_WAYS = pytest.mark.parametrize("version", [1, 2])


@pytest.fixture(autouse=True)
def _restore_control_flow() -> Any:
    yield
    tf.disable_control_flow_v2()


def _use(version: int) -> None:
    if version == 2:
        tf.enable_control_flow_v2()
    else:
        tf.disable_control_flow_v2()


@BOTH_WAYS
@pytest.mark.parametrize("side", [True, False])
def test_a_condition_becomes_an_if(version, side):
    """Both branches read values around them."""
    _use(version)

    def build(x, p):
        one, other = tf.cond(p, lambda: (x * 2, x[0]), lambda: (x - 1, x[1]))
        return [one + 1, other]

    assert "If" in ops_of(agree(build, X, np.bool_(side)))


@BOTH_WAYS
def test_nested_conditions_agree(version):
    """A condition in each branch."""
    _use(version)

    def build(x, n):
        return tf.cond(
            n > 1,
            lambda: tf.cond(n > 2, lambda: x * 3, lambda: x * 2),
            lambda: tf.cond(n > 0, lambda: x, lambda: -x),
        )

    for number in range(4):
        agree(build, X, np.int32(number))


@BOTH_WAYS
def test_a_case_of_functions_agrees(version):
    """A choice by number."""
    _use(version)

    def build(x, n):
        return tf.switch_case(n, [lambda: x + 1, lambda: x * 5, lambda: x - 2])

    for number in range(3):
        agree(build, X, np.int32(number))


@BOTH_WAYS
@pytest.mark.parametrize("turns", [0, 1, 5])
def test_a_loop_becomes_a_loop(version, turns):
    """A loop that may have no turn, with an invariant and a value that grows."""
    _use(version)

    def build(x, n):
        def body(i, a, b):
            return i + 1, a * 0.5 + x, tf.concat([b, a[:1]], 0)

        shapes = [tf.TensorShape([]), x.shape, tf.TensorShape([None, 4])]
        return tf.while_loop(lambda i, a, b: i < n, body, [0, x, x], shapes)

    assert "Loop" in ops_of(agree(build, X, np.int32(turns)))


@BOTH_WAYS
def test_loops_and_conditions_in_each_other_agree(version):
    """A loop and a condition in the body of a loop."""
    _use(version)

    def build(x, n):
        def body(i, a):
            inner = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b + 1), [0, a])[1]
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner * 2, lambda: inner - x)

        return tf.while_loop(lambda i, a: i < n, body, [0, x])[1]

    agree(build, X, np.int32(4))


@BOTH_WAYS
def test_a_test_that_uses_a_computed_value_agrees(version):
    """The predicate depends on more than a counter."""
    _use(version)

    def build(x):
        return tf.while_loop(lambda a: tf.reduce_sum(tf.abs(a)) > 0.5, lambda a: a * 0.6, [x])

    agree(build, X)


@BOTH_WAYS
def test_functions_over_elements_agree(version):
    """map_fn, scan and foldl, which are made of tensor arrays."""
    _use(version)

    def build(x):
        return [
            tf.map_fn(lambda row: row * tf.reduce_sum(row), x),
            tf.scan(lambda a, row: a * 0.5 + row, x),
            tf.foldl(lambda a, row: a - row, x),
        ]

    agree(build, X, shapes={0: [None, 4]})


def test_a_map_over_nothing_gives_nothing():
    """A sequence without elements becomes a tensor without rows."""
    agree(lambda x: tf.map_fn(lambda row: row * 2, x), X[:0], shapes={0: [None, 4]})


def test_reads_and_writes_of_tensor_arrays_agree():
    """Writes in any order, reads, sizes, joins and parts."""

    def build(x):
        array = tf.TensorArray(tf.float32, 3, clear_after_read=False)
        array = array.write(2, x[2]).write(0, x[0]).write(1, x[1])
        parts = tf.TensorArray(tf.float32, 2, infer_shape=False, clear_after_read=False).split(
            x, [1, 2]
        )
        some = tf.TensorArray(tf.float32, 4).scatter([3, 1, 0, 2], tf.concat([x, x[:1]], 0))
        return [
            *(array.stack(), array.read(1), array.size(), array.gather([2, 0])),
            *(parts.concat(), parts.read(1), some.stack()),
        ]

    agree(build, X)


@BOTH_WAYS
def test_the_gradient_of_a_loop_agrees(version):
    """What the loop pushed is popped in the gradient's loop."""
    _use(version)

    def build(x, n):
        made = tf.while_loop(
            lambda i, a: i < n, lambda i, a: (i + 1, tf.tanh(a) * x), [tf.constant(0), x]
        )[1]
        return [made, tf.gradients(made, x)[0]]

    agree(build, X, np.int32(3))


@BOTH_WAYS
def test_the_gradients_of_tensor_arrays_agree(version):
    """Reads of one element twice, and a map: gradients are added at their places."""
    _use(version)

    def build(x):
        array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
        some = array.read(0) * 2 + array.read(0) * array.read(1)
        mapped = tf.map_fn(lambda row: row * row, x)
        return [*tf.gradients(some, x), *tf.gradients(tf.reduce_sum(mapped * mapped), x)]

    agree(build, X)


@BOTH_WAYS
def test_the_gradients_of_a_recurrent_network_agree(version):
    """Gradients of the input and of the variables, through time of any length."""
    _use(version)

    def build(x):
        cell = tf.nn.rnn_cell.BasicLSTMCell(4)
        output, _ = tf.nn.dynamic_rnn(cell, x, [3, 2], dtype=tf.float32)
        loss = tf.reduce_sum(tf.square(output))
        return tf.gradients(loss, [x, *tf.trainable_variables()])

    values = np.random.default_rng(1).standard_normal((2, 3, 3)).astype(np.float32)
    agree(build, values, shapes={0: [2, None, 3]})


@pytest.mark.parametrize("cell", ["LSTMCell", "GRUCell", "BasicRNNCell"])
def test_a_recurrent_network_agrees(cell):
    """dynamic_rnn with lengths, whose variables are frozen."""

    def build(x, lengths):
        made = getattr(tf.nn.rnn_cell, cell)(5)
        output, state = tf.nn.dynamic_rnn(made, x, lengths, dtype=tf.float32)
        return [output, *tf.nest.flatten(state)]

    values = np.random.default_rng(1).standard_normal((2, 6, 3)).astype(np.float32)
    agree(build, values, np.array([6, 3], np.int32), shapes={0: [None, None, 3], 1: [None]})


def test_both_directions_of_a_recurrent_network_agree():
    """bidirectional_dynamic_rnn, which reverses sequences."""

    def build(x, lengths):
        cells = [tf.nn.rnn_cell.GRUCell(4) for _ in range(2)]
        outputs, _ = tf.nn.bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float32)
        return outputs

    values = np.random.default_rng(1).standard_normal((2, 5, 3)).astype(np.float32)
    agree(build, values, np.array([5, 2], np.int32))


def test_functions_are_inlined():
    """A function of the graph's library, and one that it calls."""

    def build(x):
        @function.Defun(tf.float32)
        def inner(a):
            return a * 2

        @function.Defun(tf.float32, tf.float32)
        def outer(a, b):
            return inner(a) + b

        return outer(x, x)

    assert "Mul" in ops_of(agree(build, X))


def test_a_loop_over_numbers_and_the_gradient_of_a_function_are_written_out():
    """Nodes that call functions, which the runtime runs as one node."""

    def build(x):
        @function.Defun(tf.int32, tf.float32)
        def turn(i, a):
            return a * 2 + tf.cast(i, tf.float32)

        @function.Defun(tf.float32)
        def curved(a):
            return tf.tanh(a) * a

        return [
            *functional_ops.For(1, 6, 2, [x], turn),
            *functional_ops.For(3, 0, -1, [x], turn),
            tf.gradients(curved(x), x)[0],
        ]

    agree(build, X)
