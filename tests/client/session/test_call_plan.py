"""Call plans: what a session keeps for calls with the same fetches and feed keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_the_same_question_is_planned_once(sess: tf.Session) -> None:
    """Other fed values use the same plan."""
    x = tf.placeholder(tf.float32)
    fetches = {"a": x + 1.0, "b": [x * 2.0]}
    for k in range(5):
        assert {"a": k + 1.0, "b": [k * 2.0]} == sess.run(fetches, {x: k})
    assert len(sess.plans) == 1


def test_equal_structures_share_a_plan(sess: tf.Session) -> None:
    """An equal list that is another object uses the same plan."""
    a = tf.constant(1)
    for _ in range(3):
        sess.run([a, (a,)])
    assert len(sess.plans) == 1


def test_the_order_of_feeds_makes_no_other_executors(sess: tf.Session) -> None:
    """Two orders of feeds have two plans and one set of executors."""
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    z = x - y
    assert sess.run(z, {x: 3.0, y: 2.0}) == 1.0
    assert sess.run(z, {y: 2.0, x: 3.0}) == 1.0
    plans = list(sess.plans.values())
    assert len(plans) == 2
    assert plans[0].executors.executors is plans[1].executors.executors


def test_dicts_with_other_keys_are_other_questions(sess: tf.Session) -> None:
    """Keys of a dict are part of the structure, so other keys have another plan."""
    a, b = tf.constant(1), tf.constant(2)
    assert sess.run({"x": a, "y": b}) == {"x": 1, "y": 2}
    assert sess.run({"p": a, "q": b}) == {"p": 1, "q": 2}


def test_objects_that_may_change_are_not_kept(sess: tf.Session) -> None:
    """An object with ``_as_graph_element`` is converted in every run."""

    class Pointer:
        def __init__(self, target: tf.Tensor) -> None:
            self.target = target

        def _as_graph_element(self) -> tf.Tensor:
            return self.target

    pointer = Pointer(tf.constant(1))
    assert sess.run(pointer) == 1
    pointer.target = tf.constant(2)
    assert sess.run(pointer) == 2
    assert len(sess.plans) == 0


def test_closing_forgets_all_plans(sess: tf.Session) -> None:
    """Closing a session drops its plans, which hold executors."""
    sess.run(tf.constant(1))
    sess.close()
    assert len(sess.plans) == 0


@pytest.mark.parametrize("count", [0, 3])
def test_feeds_are_converted_in_order(sess: tf.Session, count: int) -> None:
    """Each value goes to its own tensor, in any order of the dict."""
    xs = [tf.placeholder(tf.float32) for _ in range(count)]
    total = tf.constant(0.5)
    for k, x in enumerate(xs):
        total = total + 10.0**k * x
    for base in (1.0, 2.0):
        expected = 0.5 + sum(10.0**k * (base + k) for k in range(count))
        assert expected == sess.run(total, {x: base + k for k, x in enumerate(xs)})
