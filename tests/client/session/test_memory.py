"""Memory of a step is freed at its end or earlier, without the garbage collector."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tests.time_outs import let_time_out

if TYPE_CHECKING:
    from collections.abc import Iterator


class Watched(np.ndarray):
    """An array that accepts weak references."""


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """Turn the garbage collector off."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Maker:
    """Makes arrays inside a graph and counts those that are alive."""

    def __init__(self) -> None:
        self.made: list[weakref.ref[np.ndarray]] = []

    def __call__(self, *_: object) -> np.ndarray:
        """Make a new array."""
        array = np.zeros(8, np.float32).view(Watched)
        self.made.append(weakref.ref(array))
        return array

    @property
    def num_alive(self) -> int:
        """How many arrays are alive."""
        return sum(found() is not None for found in self.made)

    def op(self, x: tf.Tensor) -> tf.Tensor:
        """Return an op that makes an array."""
        y = tf.py_func(self, [x], tf.float32)
        y.set_shape([8])
        return y


@pytest.mark.parametrize("num_runs", [1, 4])
def test_a_step_leaves_no_tensor_behind(num_runs: int) -> None:
    """No array is alive after a step.

    A schedule, emitted, with branches and loops, on two devices.
    """
    maker = Maker()
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x = tf.placeholder_with_default(1.0, [])
        plain = tf.reduce_sum(maker.op(x) + 1.0)
        branch = tf.cond(x > 0, lambda: tf.reduce_sum(maker.op(x)), lambda: x)
        loop = tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, maker.op(a[0])), [0, tf.zeros([8])]
        )[0]
        with tf.device("/cpu:1"):
            far = maker.op(x)
        with tf.device("/cpu:0"):
            near = tf.reduce_sum(far * 2.0)
        for fetch in (plain, branch, loop, near):
            for _ in range(num_runs):
                sess.run(fetch)
            assert maker.made
            assert maker.num_alive == 0, fetch.name


def test_a_step_that_fails_leaves_no_tensor_behind() -> None:
    """No array is alive once the error of the step is gone."""
    maker = Maker()
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder_with_default(1.0, [])
        wrong = tf.reshape(maker.op(x), tf.fill([1], tf.cast(x, tf.int32) * 5))
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(wrong)
    gc.collect()  # an exception and its traceback are a circle of Python's own
    assert maker.num_alive == 0


def test_a_step_that_stood_still_leaves_no_tensor_behind() -> None:
    """No computed value and no waiting kernel is kept."""
    maker = Maker()
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder_with_default(1.0, [])
        y = maker.op(x) + tf.FIFOQueue(1, tf.float32, shapes=[[8]]).dequeue()
        let_time_out(
            lambda limit: sess.run(y, options=tf.RunOptions(timeout_in_ms=limit)),
            lambda: bool(maker.made),
        )
        gc.collect()
        assert len(maker.made) == 1
        assert maker.num_alive == 0


def test_a_value_is_freed_at_its_last_use() -> None:
    """A chain of a hundred arrays needs two at a time, by schedule and as emitted function."""
    maker, most = Maker(), []

    def count(_: np.ndarray) -> np.ndarray:
        most.append(maker.num_alive)
        return maker()

    with tf.Graph().as_default(), tf.Session() as sess:
        y = tf.placeholder_with_default(np.zeros(8, np.float32), [8])
        for _ in range(100):
            y = tf.py_func(count, [y], tf.float32)
        for _ in range(4):
            sess.run(y)
    assert max(most) <= 2


def test_a_loop_holds_no_more_than_its_iterations_in_flight() -> None:
    """A loop of a thousand iterations, each with its own array, keeps only iterations in flight."""
    maker, most = Maker(), []

    def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def count(_: np.ndarray) -> np.ndarray:
            most.append(maker.num_alive)
            return maker()

        b = tf.py_func(count, [a], tf.float32)
        b.set_shape([8])
        return i + 1, b

    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.while_loop(lambda i, a: i < 1000, body, [0, tf.zeros([8])]))
    assert len(most) == 1000
    assert max(most) <= 12


def test_a_closed_session_drops_its_executors() -> None:
    """The executors are freed although the session object is alive."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2])
        y = tf.py_func(np.negative, [tf.random_uniform([2]) + x], tf.float32)
        sess.run(y, {x: [1.0, 2.0]})
        runtime = sess.runtime
        assert runtime._executors
        assert runtime._kernels
        sess.close()
        assert not runtime._executors
        assert not runtime._kernels


def test_a_session_that_is_forgotten_goes() -> None:
    """An unreferenced session is freed with everything it ran."""
    with tf.Graph().as_default():
        y = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        sess = tf.Session()
        sess.run(y)
        watched = weakref.ref(sess.runtime)
        del sess
        gc.collect()
        assert watched() is None


def test_threads_that_end_leave_nothing() -> None:
    """Data of a thread is freed when the thread ends."""
    maker = Maker()
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder_with_default(1.0, [])
        y = tf.reduce_sum(maker.op(x))
        threads = [threading.Thread(target=sess.run, args=(y,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(maker.made) == 8
    assert maker.num_alive == 0
