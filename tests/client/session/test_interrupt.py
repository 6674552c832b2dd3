"""Ctrl-C ends a step between two nodes and leaves the session usable."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# An interrupt takes milliseconds (benchmarks/interrupts.py); a busy machine may take longer.
GENEROUS_S = 90.0


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


class Interrupter(StepObserver):
    """Sends SIGINT to this process as soon as a step runs, and records when.

    Python loses an interrupt that arrives in a finalizer; it is then sent again.
    """

    def __init__(self) -> None:
        self.sent_at = 0.0
        self._is_running = threading.Event()
        self._has_stopped = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Start interrupting."""
        self._is_running.set()

    def _send(self) -> None:
        if self._is_running.wait(60):
            self.sent_at = time.perf_counter()
            main = threading.main_thread().ident
            assert main is not None
            for _ in range(5):
                signal.pthread_kill(main, signal.SIGINT)
                if self._has_stopped.wait(GENEROUS_S / 6):
                    break

    def has_stopped(self) -> None:
        """Stop interrupting."""
        self._has_stopped.set()

    def join(self) -> None:
        """Wait for the thread."""
        self.has_stopped()
        self._is_running.set()
        self._thread.join()


def seconds_to_stop(sess: tf.Session, run: Callable[[], object]) -> float:
    """Return how long a run continues after Ctrl-C."""
    interrupter = Interrupter()
    sess.runtime.step_events.add(interrupter)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
        interrupter.has_stopped()
        stopped_at = time.perf_counter()
    finally:
        sess.runtime.step_events.remove(interrupter)
        interrupter.join()
    return stopped_at - interrupter.sent_at


def test_a_loop_without_end_is_stopped(sess: tf.Session) -> None:
    """A loop stops between two nodes; the next run works."""
    i = tf.while_loop(lambda i: i < 2, lambda i: i * 1, [tf.constant(1)])
    assert seconds_to_stop(sess, lambda: sess.run(i)) < GENEROUS_S
    assert sess.run(tf.constant(3)) == 3


def test_waiting_for_a_queue_is_stopped(sess: tf.Session) -> None:
    """The queue keeps its elements."""
    queue = tf.FIFOQueue(1, tf.float32)
    dequeue = queue.dequeue()
    assert seconds_to_stop(sess, lambda: sess.run(dequeue)) < GENEROUS_S
    sess.run(queue.enqueue(5.0))
    assert sess.run(dequeue) == 5.0


def test_waiting_in_a_callable_is_stopped(sess: tf.Session) -> None:
    """Prepared callables are interrupted as well."""
    dequeue = sess.make_callable(tf.FIFOQueue(1, tf.float32).dequeue())
    assert seconds_to_stop(sess, dequeue) < GENEROUS_S
    assert sess.run(tf.constant(3)) == 3


def test_waiting_in_a_partial_run_is_stopped(sess: tf.Session) -> None:
    """The session stays usable; the handle may be lost."""
    interrupter = Interrupter()

    def go(value: float) -> float:
        interrupter.step_started(0, 0, 0)
        return value

    x = tf.placeholder(tf.float32, [])
    y = tf.FIFOQueue(1, tf.float32).dequeue() + tf.py_func(go, [x], tf.float32)
    handle = sess.partial_run_setup([y], [x])
    with pytest.raises(KeyboardInterrupt):
        sess.partial_run(handle, y, {x: 1.0})
    interrupter.has_stopped()
    assert time.perf_counter() - interrupter.sent_at < GENEROUS_S
    interrupter.join()
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
    assert seconds_to_stop(sess, lambda: sess.run(received)) < GENEROUS_S
    assert sess.run(tf.constant(3)) == 3


def test_a_long_chain_is_stopped_between_two_nodes(sess: tf.Session) -> None:
    """A chain without control flow and waiting kernels stops between two nodes."""
    x = tf.placeholder(tf.float32, [300, 300])
    y = x
    for _ in range(400):
        y = tf.matmul(y, x)
    x_value = [[0.0] * 300] * 300
    feeds = {x: x_value}
    assert seconds_to_stop(sess, lambda: sess.run(y[0, 0], feeds)) < GENEROUS_S
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
        assert seconds_to_stop(sess, lambda: sess.run(i)) < GENEROUS_S
        assert sess.run(tf.constant(3)) == 3


def test_waiting_for_a_thread_of_a_pool_is_stopped() -> None:
    """The step stops at once; the kernel in the pool ends later."""
    interrupter = Interrupter()
    may_go, ended = threading.Event(), threading.Event()

    def blocked() -> float:
        interrupter.step_started(0, 0, 0)
        assert may_go.wait(60)
        ended.set()
        return 1.0

    config = tf.ConfigProto(use_per_session_threads=True)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        waiting = tf.py_func(blocked, [], tf.float64)
        with pytest.raises(KeyboardInterrupt):
            sess.run(waiting)
        interrupter.has_stopped()
        assert time.perf_counter() - interrupter.sent_at < GENEROUS_S
        interrupter.join()
        may_go.set()
        assert ended.wait(60)
        assert sess.run(tf.constant(3)) == 3
