"""An interrupt at any call inside a run undoes what was only partly made."""

from __future__ import annotations

import inspect
import itertools
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.repeats import few
from tfnb.client.debugger.debugger import Debugger
from tfnb.library.queues.barriers import Barrier
from tfnb.library.queues.staging_areas import MapStagingArea, StagingArea

if TYPE_CHECKING:
    from collections.abc import Callable


# Compare the whole folder: the environment may lie in a directory of the same name.
_OURS = str(Path(tf.__file__).parent)


def is_finalizing(frame: Any) -> bool:
    """Return whether a finalizer runs, where Python ignores exceptions."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def interrupted_at(number: int, run: Callable[[], Any]) -> bool:
    """Return whether ``run`` had not ended at call number n, where SIGINT is raised."""
    left = number

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal left
        # Closing an abandoned generator counts as a call, but no caller could catch an exception
        # there.
        if event == "call" and not frame.f_code.co_flags & inspect.CO_GENERATOR:
            left -= 1
            if (
                left == 0
                and frame.f_code.co_filename.startswith(_OURS)
                and not is_finalizing(frame)
            ):
                sys.setprofile(None)
                raise KeyboardInterrupt
            if left <= 0:
                left = 1  # at the next call of ours

    sys.setprofile(count)
    try:
        run()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def check_everywhere(
    make: Callable[[], tuple[tf.Session, Callable[[], Any]]],
    expected: Any,
    step: int,
    number: int = 1,
) -> int:
    """Interrupt fresh runs at call 1, 1 + step, ...; each must succeed when it is repeated."""
    while True:
        with tf.Graph().as_default():
            sess, run = make()
            was_interrupted = interrupted_at(number, run)
            assert np.array_equal(run(), expected), f"after an interrupt at call {number}"
            assert not sess.runtime.active_steps()
            sess.close()
        if not was_interrupted:
            return number
        number += step


def first_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run before which nothing was sent, placed or compiled."""
    x = tf.placeholder(tf.float32, [2])
    y = tf.multiply(x, 2.0) + 1.0
    sess = tf.Session()
    return sess, lambda: sess.run(y, {x: [1.0, 2.0]})


def second_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run whose signature is prepared."""
    sess, run = first_run()
    run()
    return sess, run


def extending_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run that sends new nodes and a function."""
    sess, _ = first_run()
    x = tf.constant([1.0, 2.0])
    sess.run(x)
    z = tf.negative(x) + x * 4.0
    return sess, lambda: sess.run(z)


def loop_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run with frames and iterations."""
    out = tf.while_loop(lambda i: i < 4, lambda i: i + 1, [tf.constant(0)])
    sess = tf.Session()
    return sess, lambda: sess.run(out)


def two_devices_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run with transfers between partitions."""
    x = tf.constant(3.0)
    with tf.device("/cpu:1"):
        y = tf.negative(tf.identity(x))
    z = y + x
    config = tf.ConfigProto(device_count={"CPU": 2})
    sess = tf.Session(config=config)
    return sess, lambda: sess.run(z)


def queue_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run with asynchronous kernels."""
    queue = tf.FIFOQueue(100, tf.float32)
    fill, dequeue = queue.enqueue_many([tf.constant([5.0] * 10)]), queue.dequeue()
    sess = tf.Session()
    sess.run(fill)
    return sess, lambda: sess.run(dequeue)


def stage_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run that waits at a staging area until another thread puts an element in."""
    area = StagingArea([tf.float32], shapes=[[]], capacity=1)
    put, got = area.put([tf.constant(5.0)]), area.get()
    sess = tf.Session()
    return sess, lambda: sess.run([got, put])[0][0]


def ordered_map_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run on an ordered map with partial tuples."""
    area = MapStagingArea(
        [tf.float32, tf.float32], shapes=[[], []], names=["a", "b"], capacity=2, ordered=True
    )
    key = tf.placeholder(tf.int64, [])
    halves = [area.put(key, {name: tf.constant(5.0)}) for name in ("a", "b")]
    _, got = area.get()
    clear = area.clear()
    sess = tf.Session()

    def run() -> Any:
        sess.run(clear)
        for half in halves:
            sess.run(half, {key: 1})
        return sess.run(got["b"])

    return sess, run


def mutex_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run of a critical section; an interrupted run leaves it."""
    section = tf.CriticalSection(shared_name="section")
    one = tf.constant(1.0)
    outs = [section.execute(lambda: one + 1.0) for _ in range(2)]
    sess = tf.Session()
    return sess, lambda: sess.run(outs)


def barrier_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run in which elements are completed from two components."""
    barrier = Barrier((tf.float32, tf.float32), shapes=((), ()))
    keys = tf.placeholder(tf.string, [1])
    halves = [barrier.insert_many(i, keys, tf.constant([5.0])) for i in (0, 1)]
    _, _, got = barrier.take_many(1)
    sess = tf.Session()
    numbers = itertools.count()

    def run() -> Any:
        key = f"key {next(numbers)}"
        sess.run(halves[0], {keys: [key]})
        return sess.run([got, halves[1]], {keys: [key]})[0][1][0]

    return sess, run


def accumulator_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run that counts gradients; the mean shows that each counts once or not at all."""
    gathered = tf.ConditionalAccumulator(tf.float32, shape=[])
    apply = gathered.apply_grad(tf.constant(5.0), local_step=tf.constant(1 << 40, tf.int64))
    take = gathered.take_grad(1)
    sess = tf.Session()
    return sess, lambda: sess.run([take, apply])[0]


def pool_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run with kernels on threads of a pool."""
    x = tf.placeholder(tf.float32, [2])
    y = tf.multiply(x, 2.0) + tf.exp(x - x)
    sess = tf.Session(config=tf.ConfigProto(use_per_session_threads=True))
    return sess, lambda: sess.run(y, {x: [1.0, 2.0]})


def left_run() -> tuple[tf.Session, Callable[[], Any]]:
    """Prepare a run that a debugger has left in a loop of a function of two partitions."""
    limit = tf.placeholder(tf.int32, [])

    def body(i: Any, v: Any) -> Any:
        with tf.device("/cpu:1"):
            v = tf.multiply(v, 2.0, name="twice")
        return i + 1, v

    with tf.device("/cpu:0"):
        found = tf.while_loop(lambda i, _: i < limit, body, [0, 1.0])[1]
    sess = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))
    debugger = Debugger(sess, on_stop=lambda _: debugger.resume()).attach()
    debugger.break_at("while/twice", iteration=1)
    sess.run(found, {limit: 2})
    return sess, lambda: sess.run(found, {limit: 3})


@pytest.mark.slow
# The further examples are every second call, a quarter of all calls in a test.
@pytest.mark.parametrize("calls", few([(13, 1), (4, 1), (4, 3)], 1))
@pytest.mark.parametrize(
    ("make", "expected", "step"),
    [
        (first_run, [3.0, 5.0], 1),
        (second_run, [3.0, 5.0], 1),
        (extending_run, [3.0, 6.0], 1),
        (loop_run, 4, 1),
        (two_devices_run, 0.0, 1),
        (queue_run, 5.0, 1),
        (stage_run, 5.0, 1),
        (ordered_map_run, 5.0, 7),
        (mutex_run, [2.0, 2.0], 17),
        (barrier_run, 5.0, 7),
        (accumulator_run, 5.0, 3),
        (pool_run, [3.0, 5.0], 3),
        (left_run, 8.0, 7),
    ],
)
def test_an_interrupt_at_any_call_leaves_the_session_usable(
    make: Callable[[], tuple[tf.Session, Callable[[], Any]]],
    expected: Any,
    step: int,
    calls: tuple[int, int],
) -> None:
    """The repeated run gives its value."""
    stride, first = calls
    assert check_everywhere(make, expected, step * stride, first) > 1


def test_an_interrupt_while_nodes_are_sent_leaves_none_behind() -> None:
    """The nodes are sent again completely."""
    check_everywhere(extending_run, [3.0, 6.0], 331)


def test_threads_of_other_runs_are_not_disturbed() -> None:
    """Only the interrupted thread stops."""
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(1, tf.float32)
        dequeue = queue.dequeue()
        found: list[float] = []
        thread = threading.Thread(target=lambda: found.append(sess.run(dequeue)))
        enqueue = queue.enqueue(4.0)
        c = tf.constant(1.0)
        sess.run(c)
        thread.start()
        while not sess.runtime.active_steps():
            pass
        assert interrupted_at(1, lambda: sess.run(c))
        sess.run(enqueue)
        thread.join(60)
    assert found == [4.0]
