"""A forked child uses objects of its parent: sessions, pools, deadlines, event writers."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.forked import LIMIT_S, in_child
from tests.time_outs import let_time_out
from tfnb.core.compiled import routines
from tfnb.core.process import forking, work_sharder
from tfnb.ops.conv import compiled_winograd, conv_plans

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session, whose graph is the default one."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_step_with_a_time_out_ends_in_a_child(sess: tf.Session) -> None:
    """The child starts a new thread for deadlines, although one ran in the parent."""
    dequeue = tf.FIFOQueue(1, tf.float32).dequeue()
    options = tf.RunOptions(timeout_in_ms=20)

    def run() -> None:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(dequeue, options=options)

    run()
    in_child(run)
    run()


def test_a_deadline_of_the_step_that_forks_holds_in_the_child(sess: tf.Session) -> None:
    """A Python function may fork in a step; the deadline also applies behind it in the child."""
    pids: list[int] = []

    def fork() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pids.append(os.fork())
        if not pids[0]:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(LIMIT_S)
        return np.float32(1)

    queue = tf.FIFOQueue(1, tf.float32)
    with tf.control_dependencies([tf.py_func(fork, [], tf.float32)]):
        dequeue = queue.dequeue()
    code = 1
    try:
        let_time_out(
            lambda limit: sess.run(dequeue, options=tf.RunOptions(timeout_in_ms=limit)),
            lambda: bool(pids),
        )
        assert not sess.runtime.active_steps()
        code = 0
    finally:
        if pids == [0]:
            os._exit(code)
    assert os.waitpid(pids[0], 0)[1] == 0


@pytest.mark.parametrize(
    "config",
    [
        tf.ConfigProto(use_per_session_threads=True),
        tf.ConfigProto(
            session_inter_op_thread_pool=[
                {"num_threads": 2, "global_name": "pool of tests of forks"}
            ]
        ),
    ],
    ids=["of the session", "of the process"],
)
def test_a_session_with_a_pool_runs_in_a_child(config: tf.ConfigProto) -> None:
    """The child starts new threads for the pool; those of the parent continue."""
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [2])
        parts = [tf.py_func(lambda v, i=i: v + np.float32(i), [x], tf.float32) for i in range(4)]

        def run() -> None:
            assert session.run(parts, {x: [1, 2]})[3].tolist() == [4, 5]

        run()
        in_child(lambda: (run(), session.close()))
        run()


def test_threads_inside_kernels_work_in_a_child() -> None:
    """The helper threads of large kernels are started anew."""
    before = work_sharder.num_threads()
    work_sharder.set_num_threads(2)
    try:

        def run() -> None:
            found = np.zeros(100)

            def work(first: int, last: int) -> None:
                found[first:last] += 1

            work_sharder.shard(100, 1, work)
            assert found.tolist() == [1] * 100

        run()
        in_child(run)
    finally:
        work_sharder.set_num_threads(before)


def test_steps_of_other_threads_are_not_in_the_child(sess: tf.Session) -> None:
    """Closing the session in the child waits for no step of the parent's threads."""
    queue = tf.FIFOQueue(1, tf.float32)
    dequeue, enqueue, y = queue.dequeue(), queue.enqueue(2.0), tf.constant(1.0) + 1.0
    sess.run(y)
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(sess.run(dequeue)))
    thread.start()
    while not sess.runtime.active_steps():
        pass

    def run() -> None:
        assert not sess.runtime.active_steps()
        assert sess.run(y) == 2.0
        sess.close()

    in_child(run)
    sess.run(enqueue)
    thread.join(60)
    assert found == [2.0]


@pytest.mark.slow
def test_a_lock_that_another_thread_holds_is_free_in_the_child(sess: tf.Session) -> None:
    """The fork waits for the lock for a moment, and the child has a new one."""
    y = tf.constant(1.0) + 1.0
    holds, may_go = threading.Event(), threading.Event()
    cell = sess.run(tf.constant(0))

    def hold() -> None:
        with sess.runtime._lock, sess._sent_graph._lock, sess.graph._lock:
            holds.set()
            may_go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait(60)
    in_child(lambda: sess.run(y))
    may_go.set()
    thread.join(60)
    assert sess.run(y) == 2.0
    assert cell == 0


@pytest.mark.slow
def test_locks_of_compiled_kernels_are_free_in_the_child() -> None:
    """A convolution may run in a child, whatever other threads of the parent computed."""
    modules = routines, conv_plans, compiled_winograd
    holds, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with routines._lock, conv_plans._lock, compiled_winograd._lock:
            holds.set()
            may_go.wait(60)

    def check() -> None:
        assert not any(module._lock.locked() for module in modules)

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait(60)
    in_child(check)
    may_go.set()
    thread.join(60)


def test_a_lock_given_back_in_time_is_waited_for() -> None:
    """Data behind the lock is consistent in the child."""

    class Owner:
        """A lock, and two numbers that are equal whenever the lock is free."""

        def __init__(self) -> None:
            self.lock = threading.Lock()
            self.one = self.other = 0

    owner = Owner()
    forking.guard(owner, "lock")
    holds = threading.Event()

    def change() -> None:
        with owner.lock:
            owner.one = 1
            holds.set()
            for _ in range(1000):
                threading.get_ident()
            owner.other = 1

    def check() -> None:
        with owner.lock:
            assert (owner.one, owner.other) == (1, 1)

    thread = threading.Thread(target=change)
    thread.start()
    holds.wait(60)
    in_child(check)
    thread.join(60)
    check()


def test_the_lock_of_a_variable_is_free_in_the_child(sess: tf.Session) -> None:
    """Another thread may be assigning the variable at the time of the fork."""
    variable = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=False)
    add = tf.assign_add(variable, 1.0)
    sess.run(variable.initializer)
    devices = sess.runtime.device_mgr.devices
    manager = devices[0].resource_manager
    cells = [one for held in manager._containers.values() for one in held.values()]
    holds, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with cells[0].lock:
            holds.set()
            may_go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait(60)
    in_child(lambda: sess.run(add))
    may_go.set()
    thread.join(60)
    assert sess.run(add) == 1.0


def _tags(path: Path) -> list[str]:
    events = tf.train.summary_iterator(str(path))
    return [value.tag for event in events for value in event.summary.value]


def test_an_event_writer_begins_another_file_in_a_child(tmp_path: Path) -> None:
    """Events that the parent has not written yet are written by the parent only."""

    def summary(tag: str) -> tf.Summary:
        return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=1.0)])

    writer = tf.summary.FileWriter(str(tmp_path))
    writer.add_summary(summary("first"))
    writer.flush()
    writer.add_summary(summary("parent"))

    def write() -> None:
        writer.add_summary(summary("child"))
        writer.close()

    in_child(write)
    writer.add_summary(summary("later"))
    writer.close()
    found = sorted(map(_tags, tmp_path.iterdir()))
    assert found == [["child"], ["first", "parent", "later"]]
