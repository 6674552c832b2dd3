"""Python functions of tensors with values: ops, control flow, effects, gradients, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_function_uses_ops_values_and_python(sess: tf.Session) -> None:
    """A function mixes ops, NumPy, `if` and loops; the graph of the call is not the caller's."""

    def function(x: Any, text: Any) -> list[Any]:
        assert text.numpy() == b"abc"
        total = tf.zeros([], tf.float32)
        for row in x:
            total = total + tf.reduce_sum(row) if row[0] > 0 else total - 1.0
        assert x.shape == [2, 2]
        assert f"{total:.1f}" == "6.0"
        return [total, np.asarray(x) * 2, text + "d", [int(total)]]

    x = tf.placeholder(tf.float32, [None, 2])
    types = [tf.float32, tf.float32, tf.string, tf.int64]
    found = tf.py_function(function, [x, "abc"], types)
    count = len(tf.get_default_graph().get_operations())
    total, doubled, text, number = sess.run(found, {x: [[3, 4], [-1, 2]]})
    assert (total, text, number.tolist()) == (6.0, b"abcd", [6])
    assert doubled.tolist() == [[6, 8], [-2, 4]]
    assert len(tf.get_default_graph().get_operations()) == count
    assert found[0].op.type == "EagerPyFunc"


def test_one_dtype_gives_one_tensor_and_none_the_op(sess: tf.Session) -> None:
    """One dtype gives one tensor and an empty list gives the operation, as with py_func."""
    one = tf.py_function(lambda a: a + 1, [2], tf.int32)
    seen: list[int] = []
    op = tf.py_function(lambda a: seen.append(int(a)), [5], [])
    assert sess.run([one, op]) == [3, None]
    assert seen == [5]


def test_random_numbers_are_drawn_once_and_effects_happen(sess: tf.Session, capfd: Any) -> None:
    """A value that was computed stays, whatever is computed from it afterwards."""

    def function() -> Any:
        x = tf.random_uniform([])
        first = x.numpy()
        y = x * 2
        tf.print("seen")
        return [x, y, first]

    x, y, first = sess.run(tf.py_function(function, [], [tf.float32] * 3))
    assert (y, first) == (2 * x, x)
    assert capfd.readouterr().err == "seen\n"


def test_gradients_go_through_the_function(sess: tf.Session) -> None:
    """Gradients follow the branch that was taken; integers have none; unused inputs have zeros."""

    def function(x: Any, y: Any, n: Any) -> Any:
        return x**3 * 2.0 if n.numpy() > 0 else tf.reduce_sum(y) + x

    x, y, n = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]), tf.placeholder(tf.int32, [])
    z = tf.py_function(function, [x, y, n], tf.float32) * 10.0
    assert tf.gradients(z, n) == [None]
    found = tf.gradients(z, [x, y])
    assert [g.tolist() for g in sess.run(found, {n: 1})] == [[60, 240], [0, 0]]
    assert [g.tolist() for g in sess.run(found, {n: 0})] == [[10, 10], [20, 20]]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: (1.0, 2.0, 3.0), "returns 3 values"),
        (lambda: ("a", 1.0), "float"),
    ],
)
def test_what_the_function_does_wrong_is_told(sess: tf.Session, function: Any, text: str) -> None:
    """An exception of the function fails the step; the next step works."""
    found = tf.py_function(function, [], [tf.float32, tf.float32])
    for _ in range(2):
        with pytest.raises(tf.OpError, match=text):
            sess.run(found)


def test_a_variable_of_another_graph_is_refused(sess: tf.Session) -> None:
    """The ops of the function are in a separate graph."""
    v = tf.Variable(1.0)
    sess.run(tf.global_variables_initializer())
    with pytest.raises(tf.OpError, match="same graph"):
        sess.run(tf.py_function(lambda: v + 1.0, [], tf.float32))


def test_a_function_is_needed() -> None:
    """An argument that is not callable is refused."""
    with pytest.raises(ValueError, match="callable"):
        tf.py_function(3, [], tf.float32)


def test_in_a_dataset(sess: tf.Session) -> None:
    """A mapped function may be one that reads files or texts."""
    dataset = tf.data.Dataset.from_tensor_slices(["a", "bcd"]).map(
        lambda s: tf.py_function(lambda text: len(text.numpy()), [s], tf.int32)
    )
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    assert [sess.run(following) for _ in range(2)] == [1, 3]
