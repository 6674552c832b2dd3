"""Python functions as ops: values, several results, and the classes of what they raise."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tfnb as tf


@pytest.fixture
def sess():
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_function_gets_arrays_and_gives_arrays(sess):
    """One result where Tout is a dtype, a list where it is a list."""
    x = tf.placeholder(tf.float32, [2])
    one = tf.py_func(lambda a: a * 2, [x], tf.float32)
    two = tf.py_func(lambda a: (a.sum(), np.int64(a.size)), [x], [tf.float32, tf.int64])
    assert sess.run(one, {x: [1, 2]}).tolist() == [2, 4]
    assert sess.run(two, {x: [1, 2]}) == [3.0, 2]


def test_a_function_without_results_is_an_op(sess):
    """It runs for its effect, once per step."""
    calls = []
    op = tf.py_func(lambda: calls.append(1), [], [])
    sess.run(op)
    sess.run([op, op])
    assert calls == [1, 1]


def test_writing_into_an_argument_changes_nothing_else(sess):
    """The function gets a copy."""

    def spoil(a):
        a[...] = 9
        return a

    c = tf.constant([1.0, 2.0])
    assert [v.tolist() for v in sess.run([tf.py_func(spoil, [c], tf.float32), c])] == [
        [9, 9],
        [1, 2],
    ]


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (TypeError, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (RuntimeError, tf.errors.UnknownError),
    ],
)
def test_what_a_function_raises_has_tensorflows_class(sess, raised, error):
    """The message holds class and text."""

    def fail():
        raise raised("boom")

    with pytest.raises(error, match=f"{raised.__name__}: boom"):
        sess.run(tf.py_func(fail, [], tf.float32))


def test_another_dtype_than_promised_is_refused(sess):
    """An array of float64 where float32 was promised."""
    y = tf.py_func(lambda: np.zeros(2), [], tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is double, but expects float"):
        sess.run(y)


def test_a_graph_from_elsewhere_brings_no_function():
    """The token of a graph that is gone is not found, and the message says what to do."""
    graph = tf.Graph()
    with graph.as_default():
        tf.py_func(lambda: np.float32(1), [], tf.float32, name="f")
    definition = graph.as_graph_def()
    del graph
    gc.collect()
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(definition, return_elements=["f:0"])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"callback pyfunc_.* is not found"
        ):
            session.run(y)
