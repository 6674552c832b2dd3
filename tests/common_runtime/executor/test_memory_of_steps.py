"""How much memory a step holds, and how long."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.traced_memory import traced_memory
from tfnb.common_runtime.lowering.run import step_way
from tfnb.common_runtime.lowering.run.step_way import Lowering
from tfnb.framework.functions.function import Defun

if TYPE_CHECKING:
    from collections.abc import Callable

NUM_VALUES = 1 << 18
NUM_BYTES = 4 * NUM_VALUES


def chain(x: Any, num_ops: int) -> Any:
    """Elementwise ops, one after the other."""
    for i in range(num_ops):
        x = tf.add(x, 1.0) if i % 2 else tf.multiply(x, 0.5)
    return tf.reduce_sum(x)


def reverse(x: Any, num_ops: int) -> Any:
    """Ops that cannot write over their input."""
    for _ in range(num_ops):
        x = tf.reverse(x, [0])
    return tf.reduce_sum(x)


def fan_out(x: Any, num_ops: int) -> Any:
    """One tensor has many consumers, and each result is summed."""
    return tf.add_n([tf.reduce_sum(tf.multiply(x, float(i))) for i in range(num_ops)])


def loop(x: Any, num_ops: int) -> Any:
    """A loop of n iterations, whose body is a chain."""
    done = tf.while_loop(
        lambda i, _: tf.less(i, num_ops),
        lambda i, x: (tf.add(i, 1), tf.add(tf.multiply(x, 0.5), 1.0)),
        [tf.constant(0), x],
    )
    return tf.reduce_sum(done[1])


def gradient(x: Any, num_ops: int) -> Any:
    """A gradient that needs no values of the forward pass."""
    return tf.reduce_sum(tf.gradients(chain(x, num_ops), x)[0])


def peaks(build: Callable[[Any, int], Any], num_ops: int) -> list[float]:
    """Return the peaks of the first, second and third step, in tensors."""
    with tf.Graph().as_default() as graph:
        value = tf.placeholder(tf.float32, [])
        y = build(tf.fill([NUM_VALUES], value), num_ops)
    found = []
    with tf.Session(graph=graph) as sess:
        for _ in range(3):
            gc.collect()
            with traced_memory() as memory:
                sess.run(y, {value: 1.0})
            found.append(memory.peak / NUM_BYTES)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "tensors"),
    [
        (chain, 1),
        pytest.param(loop, 1, marks=pytest.mark.repeats),
        (gradient, 2),
        pytest.param(reverse, 1, marks=pytest.mark.repeats),
        pytest.param(fan_out, 2, marks=pytest.mark.repeats),
    ],
)
def test_a_longer_graph_needs_no_more_memory(
    build: Callable[[Any, int], Any], tensors: int
) -> None:
    """The number of large tensors does not depend on the number of nodes, in any kind of step."""
    for num_ops in (5, 40):
        first, second, third = peaks(build, num_ops)
        # The graph and its tables count as well in the first two steps.
        assert max(first, second) < tensors + 1.2
        assert third < tensors + 0.1


@pytest.mark.parametrize("has_branch", [False, True])
@pytest.mark.parametrize("lowering", Lowering)
def test_a_tensor_ends_with_its_last_use(
    has_branch: bool, lowering: Lowering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In ``a -> b -> c``, a is freed before c runs, in every way to run a step."""
    monkeypatch.setattr(step_way, "_lowering", lowering)
    made: list[weakref.ref[np.ndarray[Any, Any]]] = []
    seen: list[bool] = []

    def make(start: Any) -> Any:
        array = np.full(4, start, np.float32)
        made.append(weakref.ref(array))
        return array

    def look(value: Any) -> Any:
        seen.append(made[-1]() is None)
        return value

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        a = tf.py_func(make, [x], tf.float32)
        b = tf.exp(a)
        y = tf.py_func(look, [b], tf.float32)
        branch = tf.cond(x > 1.0, lambda: x + 1.0, lambda: x - 1.0) if has_branch else x
    with tf.Session(graph=graph) as sess:
        for _ in range(3):
            np.testing.assert_allclose(sess.run([y, branch], {x: 0.0})[0], [1.0] * 4)
    assert seen == [True] * 3


def test_what_only_the_caller_holds_is_not_copied() -> None:
    """A fetched array of the step is returned itself; one that a variable holds is copied."""
    with tf.Graph().as_default() as graph:
        value = tf.placeholder(tf.float32, [])
        fresh = tf.fill([NUM_VALUES], value)
        kept = tf.Variable(tf.zeros([4]))
    with tf.Session(graph=graph) as sess:
        sess.run(kept.initializer)
        for _ in range(3):
            gc.collect()
            with traced_memory() as memory:
                found, copy = sess.run([fresh, kept], {value: 2.0})
            assert memory.peak < 1.9 * NUM_BYTES
            found += 1.0
            copy += 1.0
            np.testing.assert_array_equal(sess.run(kept), np.zeros(4))
            assert sess.run(fresh, {value: 2.0})[0] == 2.0


def test_folding_lets_large_values_go() -> None:
    """A chain of large constants that ends in a small one needs two of them at a time."""
    with tf.Graph().as_default() as graph:
        y = tf.reduce_sum(chain_of(tf.fill([NUM_VALUES], 1.0), 20))
    with tf.Session(graph=graph) as sess:
        gc.collect()
        with traced_memory() as memory:
            assert sess.run(y) == NUM_VALUES
        assert memory.peak < 3.9 * NUM_BYTES


def chain_of(x: Any, num_ops: int) -> Any:
    """Return a chain of tensors as large as the first."""
    for i in range(num_ops):
        x = tf.reverse(x, [0]) if i % 2 else tf.negative(tf.negative(tf.exp(tf.log(x))))
    return x


def test_a_closed_session_is_gone_at_once() -> None:
    """No cycle keeps a closed session alive, also if functions and loops ran in it."""

    @Defun(tf.float32)
    def twice(x: Any) -> Any:
        return x * 2.0

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        plain, called = tf.exp(x), twice(x)
        looped = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    gc.collect()
    gc.disable()
    try:
        for fetch in (plain, [plain, looped], called):
            with tf.Session(graph=graph) as sess:
                for _ in range(3):
                    sess.run(fetch, {x: 1.0})
                runtime = weakref.ref(sess.runtime)
            del sess
            assert runtime() is None
    finally:
        gc.enable()
