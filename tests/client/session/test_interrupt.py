"""Ctrl-C ends a step between two nodes and leaves the session usable."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tests.interrupts import interrupted
from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


class _Begun(StepObserver):
    """Tells another thread that a step runs."""

    def __init__(self) -> None:
        self._is_running = threading.Event()

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Note the step."""
        self.set()

    def set(self) -> None:
        """Let the waiting thread go on."""
        self._is_running.set()

    def wait(self) -> None:
        """Wait until a step runs."""
        assert self._is_running.wait(60)


def stop(sess: tf.Session, run: Callable[[], object]) -> None:
    """Send Ctrl-C as soon as a step runs, and check that the run ends with it."""
    begun = _Begun()
    sess.runtime.step_events.add(begun)
    try:
        interrupted(run, begun.wait)
    finally:
        sess.runtime.step_events.remove(begun)


def test_a_loop_without_end_is_stopped(sess: tf.Session) -> None:
    """A loop stops between two nodes; the next run works."""
    i = tf.while_loop(lambda i: i < 2, lambda i: i * 1, [tf.constant(1)])
    stop(sess, lambda: sess.run(i))
    assert sess.run(tf.constant(3)) == 3


def test_waiting_for_a_queue_is_stopped(sess: tf.Session) -> None:
    """The queue keeps its elements."""
    queue = tf.FIFOQueue(1, tf.float32)
    dequeue = queue.dequeue()
    stop(sess, lambda: sess.run(dequeue))
    sess.run(queue.enqueue(5.0))
    assert sess.run(dequeue) == 5.0


def test_waiting_in_a_callable_is_stopped(sess: tf.Session) -> None:
    """Prepared callables are interrupted as well."""
    dequeue = sess.make_callable(tf.FIFOQueue(1, tf.float32).dequeue())
    stop(sess, dequeue)
    assert sess.run(tf.constant(3)) == 3


def test_waiting_in_a_partial_run_is_stopped(sess: tf.Session) -> None:
    """The session stays usable; the handle may be lost."""
    begun = _Begun()

    def go(value: float) -> float:
        begun.set()
        return value

    x = tf.placeholder(tf.float32, [])
    y = tf.FIFOQueue(1, tf.float32).dequeue() + tf.py_func(go, [x], tf.float32)
    handle = sess.partial_run_setup([y], [x])
    interrupted(lambda: sess.partial_run(handle, y, {x: 1.0}), begun.wait)
    assert sess.run(tf.constant(3)) == 3


def test_waiting_for_a_sender_that_does_not_come_is_stopped(sess: tf.Session) -> None:
    """A Recv without its Send, in a file that was cut wrongly, waits until it is interrupted."""
    cpu = "/job:localhost/replica:0/task:0/device:CPU:0"
    graph_def = tf.GraphDef()
    node = graph_def.node.add(name="orphan", op="_Recv")
    node.attr["tensor_type"].type = tf.float32.as_datatype_enum
    node.attr["tensor_name"].s = b"t"
    node.attr["send_device"].s = node.attr["recv_device"].s = cpu.encode()
    node.attr["send_device_incarnation"].i = 1
    (received,) = tf.import_graph_def(graph_def, return_elements=["orphan:0"], name="")
    stop(sess, lambda: sess.run(received))
    assert sess.run(tf.constant(3)) == 3


def test_a_long_chain_is_stopped_between_two_nodes(sess: tf.Session) -> None:
    """A chain without control flow and waiting kernels stops between two nodes."""
    x = tf.placeholder(tf.float32, [300, 300])
    y = x
    for _ in range(400):
        y = tf.matmul(y, x)
    first, feeds = y[0, 0], {x: [[0.0] * 300] * 300}

    def run() -> None:
        while True:
            sess.run(first, feeds)

    stop(sess, run)
    assert sess.run(tf.constant(3)) == 3


def test_two_devices_that_wait_for_each_other_are_stopped() -> None:
    """An endless loop whose condition is sent between devices stops."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:

        def body(i: tf.Tensor) -> tf.Tensor:
            with tf.device("/cpu:1"):
                return tf.identity(i) * 1

        with tf.device("/cpu:0"):
            i = tf.while_loop(lambda i: i < 2, body, [tf.constant(1)])
        stop(sess, lambda: sess.run(i))
        assert sess.run(tf.constant(3)) == 3


def test_waiting_for_a_thread_of_a_pool_is_stopped() -> None:
    """The step stops at once; the kernel in the pool ends later."""
    begun = _Begun()
    may_go, ended = threading.Event(), threading.Event()

    def blocked() -> float:
        begun.set()
        assert may_go.wait(60)
        ended.set()
        return 1.0

    config = tf.ConfigProto(use_per_session_threads=True)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        waiting = tf.py_func(blocked, [], tf.float64)
        interrupted(lambda: sess.run(waiting), begun.wait)
        may_go.set()
        assert ended.wait(60)
        assert sess.run(tf.constant(3)) == 3
