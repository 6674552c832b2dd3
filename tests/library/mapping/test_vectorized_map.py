"""tf.vectorized_map, beyond tests/golden/single_calls/vectorized_map.md."""

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


ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_gradients_pass_through(sess: tf.Session) -> None:
    """Gradients of slices and of captured tensors are right; second ones raise an error."""
    x, w = tf.constant(ROWS), tf.constant([1.0, 2.0])
    y = tf.vectorized_map(lambda row: tf.reduce_sum(row**3 * w), x)
    by_x, by_w = tf.gradients(y, [x, w])
    np.testing.assert_allclose(sess.run(by_x), 3 * ROWS**2 * [1, 2])
    np.testing.assert_allclose(sess.run(by_w), (ROWS**3).sum(0))
    with pytest.raises(TypeError, match="Second-order gradient"):
        tf.gradients(by_x, x)


def test_a_gradient_for_each_example(sess: tf.Session) -> None:
    """The function differentiates by a variable."""
    v = tf.Variable([1.0, 2.0], use_resource=True)
    sess.run(v.initializer)
    each = tf.vectorized_map(lambda row: tf.gradients(tf.tensordot(row, v, 1) ** 2, v)[0], ROWS)
    np.testing.assert_allclose(sess.run(each), 2 * (ROWS @ [1, 2])[:, None] * ROWS)


def test_it_is_used_in_loops_conds_functions_and_datasets(sess: tf.Session) -> None:
    """Loops, conds, functions and datasets may contain it."""

    def double(x: Any) -> Any:
        return tf.vectorized_map(lambda row: row * 2, x)

    x = tf.constant(ROWS)
    looped = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, double(y)), [0, x])[1]
    assert sess.run(looped).tolist() == (ROWS * 8).tolist()
    chosen = tf.cond(tf.placeholder_with_default(True, []), lambda: double(x), lambda: x)
    assert sess.run(chosen).tolist() == (ROWS * 2).tolist()
    dataset = tf.data.Dataset.from_tensors(ROWS).map(double)
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    assert sess.run(element).tolist() == (ROWS * 2).tolist()


def test_it_is_used_with_functional_control_flow(sess: tf.Session) -> None:
    """Loops and conds of functions may be around it and in it."""
    tf.enable_control_flow_v2()
    try:
        x = tf.constant(ROWS)
        inner = tf.vectorized_map(lambda row: tf.cond(row[0] > 1.0, lambda: row, lambda: -row), x)
        assert sess.run(inner).tolist() == (ROWS * [[-1], [1], [1]]).tolist()
        looped = tf.while_loop(
            lambda i, _: i < 2,
            lambda i, y: (i + 1, tf.vectorized_map(lambda row: row + 1.0, y)),
            [0, x],
        )[1]
        assert sess.run(looped).tolist() == (ROWS + 2).tolist()
    finally:
        tf.disable_control_flow_v2()


def test_rows_of_ragged_tensors_may_differ_in_length(sess: tf.Session) -> None:
    """TensorFlow refuses these at run time."""
    ragged = tf.ragged.constant([[1, 2], [3], []])
    assert sess.run(tf.vectorized_map(tf.reduce_sum, ragged)).tolist() == [3, 3, 0]


def test_python_state_sees_one_call(sess: tf.Session) -> None:
    """The function is called once, so that variables are made once."""
    calls: list[Any] = []

    def fn(row: Any) -> Any:
        calls.append(row)
        return row * tf.get_variable("w", [2], initializer=tf.ones_initializer())

    tripled = tf.vectorized_map(fn, ROWS)
    sess.run(tf.global_variables_initializer())
    assert sess.run(tripled).tolist() == ROWS.tolist()
    assert len(calls) == 1


def test_too_few_slices_are_an_error(sess: tf.Session) -> None:
    """One slice is broadcast, two for three are an error."""
    pairs = tf.vectorized_map(lambda both: both[0] + both[1], (ROWS, np.ones(2, np.float32)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="index 2"):
        sess.run(pairs)
