"""Python functions as ops: values, several results, and classes of errors."""

from __future__ import annotations

import gc
import queue
import threading

import numpy as np
import pytest

import tfnb as tf


@pytest.fixture
def sess():
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_function_gets_arrays_and_gives_arrays(sess):
    """A dtype as Tout gives one result, a list gives a list."""
    x = tf.placeholder(tf.float32, [2])
    one = tf.py_func(lambda a: a * 2, [x], tf.float32)
    two = tf.py_func(lambda a: (a.sum(), np.int64(a.size)), [x], [tf.float32, tf.int64])
    assert sess.run(one, {x: [1, 2]}).tolist() == [2, 4]
    assert sess.run(two, {x: [1, 2]}) == [3.0, 2]


def test_a_function_without_results_is_an_op(sess):
    """The operation runs once per step."""
    calls = []
    op = tf.py_func(lambda: calls.append(1), [], [])
    sess.run(op)
    sess.run([op, op])
    assert calls == [1, 1]


def test_functions_of_one_step_may_wait_for_each_other(sess):
    """Functions whose order is open run at the same time, without a declared pool."""
    numbers = queue.Queue(1)

    def put():
        numbers.put(42)
        numbers.join()
        return 42

    def get():
        found = numbers.get()
        numbers.task_done()
        return found

    fetches = [tf.py_func(put, [], tf.int64), tf.py_func(get, [], tf.int64)]
    for _ in range(3):
        assert sess.run(fetches) == [42, 42]
    handle = sess.partial_run_setup(fetches, [])
    assert sess.partial_run(handle, fetches) == [42, 42]


def test_functions_in_a_row_run_in_the_calling_thread(sess):
    """The order of the functions is determined by their values."""
    threads = []

    def note(x):
        threads.append(threading.current_thread())
        return x

    first = tf.py_func(note, [1.0], tf.float32)
    assert sess.run(tf.py_func(note, [tf.sqrt(first)], tf.float32)) == 1.0
    assert threads == [threading.current_thread()] * 2


def test_writing_into_an_argument_changes_nothing_else(sess):
    """The function gets a copy of the argument."""

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
    """The message has the class and text of the exception."""

    def fail():
        raise raised("boom")

    with pytest.raises(error, match=f"{raised.__name__}: boom"):
        sess.run(tf.py_func(fail, [], tf.float32))


def test_another_dtype_than_promised_is_refused(sess):
    """float64 is refused where float32 was declared."""
    y = tf.py_func(lambda: np.zeros(2), [], tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is double, but expects float"):
        sess.run(y)


def test_a_graph_from_elsewhere_brings_no_function():
    """The token of a deleted graph is unknown, and the message has the remedy."""
    graph = tf.Graph()
    with graph.as_default():
        tf.py_func(lambda: np.float32(1), [], tf.float32, name="f")
    definition = graph.as_graph_def()
    del graph
    gc.collect()
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(definition, return_elements=["f:0"])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Could not find callback with key=pyfunc_"
        ):
            session.run(y)


def test_a_function_of_another_process_is_named_as_in_tensorflow() -> None:
    """A token that is not valid text has another message."""
    with tf.Graph().as_default(), tf.Session() as session:
        for token, error, text in (
            (b"nope", tf.errors.InvalidArgumentError, "Could not find callback with key=nope in"),
            (b"\xb0", tf.errors.InternalError, "`token` is a well-formed UTF-8 string"),
        ):
            node = tf.raw_ops.PyFunc(input=[1], token=token, Tout=[tf.int32])
            with pytest.raises(error, match=text):
                session.run(node)
