"""Sums of many tensors, added one by one: the kernel's bits, its errors, less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.common_runtime.lowering.test_control_flow import sources
from tests.traced_memory import traced_memory
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering


def answers(build: Any, feed: Any) -> list[Any]:
    """Return the results of ``build(placeholder)`` on the reference executor and as a function."""
    found = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            x = tf.placeholder(tf.float32, None)
            fetches = build(x)
            with tf.Session() as session:
                try:
                    values = session.run(fetches, {x: feed})
                    found.append([np.asarray(one).tobytes() for one in values])
                except tf.errors.OpError as error:
                    found.append((type(error), error.op.name, error.message))
                source = "".join(sources(session))
    assert found[0] == found[1]
    return [found[1], source]


def chain(x: Any, count: int) -> list[Any]:
    """Return tensors that depend on each other in a chain."""
    made = [x]
    for _ in range(count):
        made.append(tf.sin(made[-1] * 1.7))
    return made


@pytest.mark.parametrize("value", [np.linspace(-3, 3, 50, dtype=np.float32), np.float32(0.3)])
@pytest.mark.parametrize("turned", [False, True])
def test_the_sum_has_the_bits_of_the_kernel(value: Any, turned: bool) -> None:
    """Terms come in the order of the sum or in reverse; one is used twice, one is fetched."""

    def build(x: Any) -> list[Any]:
        terms = chain(x, 9)
        terms = [*(reversed(terms) if turned else terms), terms[4]]
        return [tf.add_n(terms), terms[3], tf.add_n(terms[2:]) * 2.0]

    _, source = answers(build, value)
    assert ("next_sum(" in source) is not turned


def test_the_sum_of_a_loop_s_body_and_of_a_branch() -> None:
    """The sums of a loop's body and of a branch stay in their blocks."""

    def build(x: Any) -> list[Any]:
        def body(i: Any, y: Any) -> tuple[Any, Any]:
            return i + 1, tf.add_n(chain(y, 4)) * 0.1

        def branch() -> Any:
            return tf.add_n(chain(x, 5))

        _, y = tf.while_loop(lambda i, y: i < 5, body, [0, x])
        return [y, tf.cond(tf.reduce_sum(x) > 0, branch, lambda: x)]

    for value in (np.ones(6, np.float32), -np.ones(6, np.float32)):
        _, source = answers(build, value)
        assert "last_sum(" in source


def test_what_does_not_fit_is_said_by_the_node() -> None:
    """The error is the kernel's and names the first term that does not fit."""

    def build(x: Any) -> list[Any]:
        terms = chain(x, 4)
        odd = tf.concat([terms[2], x], 0)
        return [tf.raw_ops.AddN(inputs=[terms[0], terms[1], odd, terms[3], odd])]

    (kind, name, message), source = answers(build, np.ones(3, np.float32))
    assert kind is tf.errors.InvalidArgumentError
    assert name == "AddN"
    assert "Input 0: [3] != input 2: [6]" in message
    assert "next_sum(" in source


def test_only_one_term_exists_beside_the_sum() -> None:
    """Only one term exists beside the sum."""
    size, count = 1 << 16, 20
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [size])
        terms: list[Any] = []
        for _ in range(count):
            with tf.control_dependencies(terms[-1:]):
                terms.append(tf.tile(x[:1], [size]))
        total = tf.add_n(terms)
        with tf.Session() as session:
            value = np.ones(size, np.float32)
            for _ in range(3):
                session.run(total, {x: value})
            with traced_memory() as memory:
                session.run(total, {x: value})
    assert memory.peak < 6 * 4 * size
