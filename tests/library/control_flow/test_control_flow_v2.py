"""Conds and loops of functions give the values and gradients of those of primitives."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.repeats import few

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _toggle() -> Iterator[None]:
    """Restore the toggle after each test."""
    yield
    tf.disable_control_flow_v2()


class _Program:
    """A random program of arithmetic, branches and loops, determined by its seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def value(self, known: list[Any], depth: int) -> Any:
        """Return a tensor of shape (3,) made from known ones."""
        one, other = self._random.choice(known), self._random.choice(known)
        kinds = ["sin", "product", "mix", "sum"] + (["cond", "while", "case", "array"] * depth)
        kind = self._random.choice(kinds)
        if kind == "sin":
            return tf.sin(one) * other
        if kind == "product":
            return one * other * 0.5
        if kind == "mix":
            return tf.where(one > other, tf.tanh(one), other * 0.25)
        if kind == "sum":
            return tf.reduce_sum(one * 0.1) + other
        seed = self._random.randrange(2**31)
        return getattr(self, f"_{kind}")(known, depth - 1, seed, one, other)

    def _branch(self, known: list[Any], depth: int, seed: int) -> Any:
        program = _Program(seed)

        def build() -> Any:
            inner = list(known)
            for _ in range(2):
                inner.append(program.value(inner, depth))
            return inner[-1]

        return build

    def _cond(self, known: list[Any], depth: int, seed: int, one: Any, other: Any) -> Any:
        pred = tf.reduce_sum(one) > tf.reduce_sum(other)
        return tf.cond(pred, self._branch(known, depth, seed), self._branch(known, depth, seed + 1))

    def _case(self, known: list[Any], depth: int, seed: int, one: Any, other: Any) -> Any:
        index = tf.cast(tf.reduce_sum(one) > 0.5, tf.int32) + seed % 2
        return tf.switch_case(index, [self._branch(known, depth, seed + i) for i in range(3)])

    def _while(self, known: list[Any], depth: int, seed: int, one: Any, other: Any) -> Any:
        count = seed % 4
        limit = seed % 3 if seed % 5 else None

        def body(i: Any, y: Any) -> Any:
            return [i + 1, self._branch([*known, y], depth, seed)()]

        return tf.while_loop(lambda i, y: i < count, body, [0, one], maximum_iterations=limit)[1]

    def _array(self, known: list[Any], depth: int, seed: int, one: Any, other: Any) -> Any:
        return tf.map_fn(
            lambda v: tf.reduce_sum(self._branch([one, v + other], depth, seed)()), one
        )


def _answers(seed: int, v2: bool) -> list[Any]:
    (tf.enable_control_flow_v2 if v2 else tf.disable_control_flow_v2)()
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default([0.5, -1.0, 2.0], [3])
        w = tf.constant([0.25, 1.5, -0.5])
        program = _Program(seed)
        known = [x, w]
        for _ in range(4):
            known.append(program.value(known, 2))
        gradients = tf.gradients(known[-1], [x, w], unconnected_gradients="zero")
        found: list[Any] = session.run([known[-1], *gradients])
        return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(24), 5))
def test_random_programs_compute_the_same(seed: int) -> None:
    """Values and gradients of nested branches and loops are equal."""
    expected, actual = _answers(seed, v2=False), _answers(seed, v2=True)
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


def test_the_toggle_tells_where_it_stands() -> None:
    """The toggle is off at first; disable_v2_behavior turns it off, too."""
    assert not tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    assert tf.control_flow_v2_enabled()
    with tf.Graph().as_default():
        y = tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
        assert y.op.inputs[0].op.type == "StatelessIf"
    tf.disable_v2_behavior()
    assert not tf.control_flow_v2_enabled()


def test_a_tensor_of_a_branch_is_out_of_scope_outside_of_it() -> None:
    """The tensor is also refused in another function."""
    tf.enable_control_flow_v2()
    kept: list[Any] = []

    def branch() -> Any:
        kept.append(tf.constant(1.0) * 2.0)
        return kept[0]

    with tf.Graph().as_default():
        outer = tf.placeholder_with_default(True, [])

        def nested() -> Any:
            tf.cond(outer, branch, lambda: tf.constant(1.0))
            return kept[0] + 1.0

        with pytest.raises(tf.errors.InaccessibleTensorError, match="out of scope"):
            tf.cond(outer, nested, lambda: tf.constant(1.0))


def test_a_body_that_gives_none_is_refused() -> None:
    """The message is TensorFlow's, with the remedy."""
    tf.enable_control_flow_v2()
    with tf.Graph().as_default(), pytest.raises(AssertionError, match=r"Expected: 4.* next value"):
        tf.while_loop(lambda i, j: i < 3, lambda i, j: [i + 1, None], [0, 0])
