"""Sessions where no thread can be started: everything runs in the calling thread."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.cases.replay import Replay
from tests.repeats import few
from tests.without_threads import no_threads
from tfnb.common_runtime.executor.executor import wait_for_answer
from tfnb.common_runtime.executor.run_state import RunState
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.core.process import threads, work_sharder
from tfnb.core.step_events import StepEvents
from tfnb.framework.functions.function import Defun

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = sorted(path.parent for path in (Path(__file__).parents[2] / "cases/own").glob("*/case.json"))


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    with no_threads(), tf.Graph().as_default():
        yield


def _endless_loop() -> Any:
    return tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [tf.constant(0)])


@pytest.mark.slow
@pytest.mark.parametrize("folder", few(OWN, 6), ids=lambda folder: folder.name)
def test_own_case_gives_tensorflows_answers(folder: Any) -> None:
    """The stored cases pass; none of the project's own needs a second thread."""
    Replay(folder).run()


def test_a_signature_runs_again_and_again() -> None:
    """Emitted functions are made without the thread in which they are imported."""
    x = tf.placeholder(tf.float32, [2])
    y = x * 2.0
    with tf.Session() as sess:
        for i in range(4):
            np.testing.assert_array_equal(sess.run(y, {x: [i, 1]}), [2 * i, 2])


@pytest.mark.parametrize("way", list(Lowering))
def test_a_deadline_ends_an_endless_loop(way: Lowering) -> None:
    """The driving thread looks at the clock, whichever way the step runs."""
    loop = _endless_loop()
    with tf.Session() as sess, lowering(way):
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(loop, options=tf.RunOptions(timeout_in_ms=20))
        assert sess.run(tf.constant(1), options=tf.RunOptions(timeout_in_ms=60_000)) == 1


def test_a_deadline_ends_a_loop_in_a_function() -> None:
    """A call inside of the step looks at the clock, too."""

    @Defun(tf.int32, func_name="Endless")
    def body(x: Any) -> Any:
        return tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [x])

    result = body(tf.constant(0))
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(result, options=tf.RunOptions(timeout_in_ms=20))


def test_the_deadline_of_the_configuration_ends_a_wait() -> None:
    """A step that waits for a queue ends when its time is up."""
    queue = tf.FIFOQueue(1, tf.int32)
    config = tf.ConfigProto(operation_timeout_in_ms=20)
    with tf.Session(config=config) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError, match="queue"):
            sess.run(queue.dequeue())


def test_a_time_that_is_up_before_a_wait_is_its_error() -> None:
    """The step has no deadline any more, but its end: it does not wait for ever."""
    run_state = RunState(None, StepEvents().hooks)
    run_state.end(tf.errors.DeadlineExceededError(None, None, "time is up"))

    with pytest.raises(tf.errors.DeadlineExceededError, match="time is up"):
        wait_for_answer(run_state)


@pytest.mark.parametrize("way", list(Lowering))
def test_a_wait_that_nothing_can_end_is_refused(way: Lowering) -> None:
    """No other thread can fill the queue, so that the step would wait for ever."""
    queue = tf.FIFOQueue(1, tf.int32)
    dequeue, enqueue = queue.dequeue(), queue.enqueue(7)
    with tf.Session() as sess, lowering(way):
        with pytest.raises(tf.errors.UnimplementedError, match="cannot start a thread"):
            sess.run(dequeue)
        sess.run(enqueue)
        assert sess.run(dequeue) == 7


def test_limits_of_a_file_s_graph_hold() -> None:
    """The time limit of a graph from elsewhere needs no thread either."""
    loop = _endless_loop()
    tf.safety.limits(max_seconds=0.02)
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(loop)


def test_declared_pools_are_ignored() -> None:
    """Every kernel runs in the calling thread, whatever the configuration declares."""
    config = tf.ConfigProto(
        inter_op_parallelism_threads=4,
        intra_op_parallelism_threads=4,
        session_inter_op_thread_pool=[{"num_threads": 3}],
    )
    seen = []
    call = tf.py_func(lambda: seen.append(threading.get_ident()) or np.int32(1), [], tf.int32)
    other = tf.py_func(lambda: seen.append(threading.get_ident()) or np.int32(2), [], tf.int32)
    with tf.Session(config=config) as sess:
        for _ in range(3):
            assert sess.run(call + other) == 3
    assert set(seen) == {threading.get_ident()}


def test_one_processor_is_available() -> None:
    """Kernels are not cut into pieces."""
    assert work_sharder.available_processors() == 1


def test_what_is_made_of_threads_is_refused() -> None:
    """Queue runners, loopers, samplers, servers and pauses say what they need, and what to do."""
    queue = tf.FIFOQueue(1, tf.int32)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with tf.Session() as sess:
        for refused in (
            lambda: runner.create_threads(sess, start=True),
            lambda: tf.train.LooperThread(tf.train.Coordinator(), 1),
            lambda: tf.debugger.StepSampler().start(),
            lambda: tf.train.Server({"local": ["localhost:0"]}, job_name="local", task_index=0),
            lambda: sess.runtime.hold_steps(),
        ):
            with pytest.raises(tf.errors.UnimplementedError, match=r"needs a thread.*cannot start"):
                refused()
        assert sess.run(tf.constant(1)) == 1


def test_events_are_in_the_file_at_once(tmp_path: Any) -> None:
    """The writer has no thread that would write them later."""
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.add_summary(tf.Summary(value=[{"tag": "loss", "simple_value": 2.0}]), 3)
    (path,) = tmp_path.iterdir()
    events = list(tf.train.summary_iterator(str(path)))
    writer.close()
    assert [event.step for event in events if event.HasField("summary")] == [3]


def test_an_errand_is_done_between_nodes() -> None:
    """A step with errands does them at back edges of its loop; another one does none."""
    i = tf.while_loop(lambda i: i < 500, lambda i: i + 1, [tf.constant(0)])
    done = []
    with tf.Session() as sess:
        sess.run(i)
        errand = partial(done.append, 1)
        threads.ERRANDS.add(errand, 0)
        try:
            sess.run(i)
            assert not done
            sess.run(i, options=tf.RunOptions(timeout_in_ms=60_000))
            assert len(done) >= 500 // 32
        finally:
            threads.ERRANDS.remove(errand)
