"""``tf.train.Supervisor`` and ``basic_train_loop``."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of the test's own."""
    with tf.Graph().as_default() as found:
        yield found


def counting_step() -> Any:
    """An op that increments the global step."""
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def events(directory: Path) -> list[Any]:
    """Return the written events without the version."""
    found = [e for p in sorted(directory.glob("events*")) for e in tf.train.summary_iterator(p)]
    return [event for event in found if event.WhichOneof("what") != "file_version"]


def test_a_managed_session_is_ready_and_closed_at_the_end(graph: tf.Graph) -> None:
    """Without a directory nothing is written."""
    increment = counting_step()
    sv = tf.train.Supervisor()
    assert graph.finalized
    with sv.managed_session() as sess:
        assert sess.run(increment) == 1
        assert not sv.should_stop()
    assert sv.should_stop()
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(increment)


def test_it_saves_summarizes_and_goes_on(tmp_path: Path) -> None:
    """The next session continues at the last step."""
    increment = counting_step()
    tf.summary.scalar("loss", tf.constant(0.5))
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    with sv.managed_session() as sess:
        sess.run(increment)
        sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
    with sv.managed_session() as sess:
        assert sess.run(sv.global_step) == 1
    assert (tmp_path / "graph.pbtxt").exists()
    found = events(tmp_path)
    statuses = [e.session_log.status for e in found if e.WhichOneof("what") == "session_log"]
    assert tf.SessionLog.START in statuses
    assert statuses[-1] == tf.SessionLog.STOP
    assert "graph_def" in [e.WhichOneof("what") for e in found]


def test_checkpoints_come_from_the_thread(tmp_path: Path) -> None:
    """The thread saves a first checkpoint at once."""
    counting_step()
    sv = tf.train.Supervisor(logdir=str(tmp_path))
    with sv.managed_session():
        found = next(iter(tf.train.checkpoints_iterator(str(tmp_path), timeout=30)))
    assert found == str(tmp_path / "model.ckpt-0")


def test_summaries_come_from_the_thread(tmp_path: Path) -> None:
    """Summaries are written at the given interval."""
    step = tf.train.get_or_create_global_step()
    is_written = threading.Event()

    def note(value: Any) -> Any:
        is_written.set()
        return value

    value = tf.py_func(note, [tf.constant(0.5)], tf.float32)
    value.set_shape([])
    tf.summary.scalar("loss", value)
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0.01, save_model_secs=0)
    with sv.managed_session() as sess:
        assert is_written.wait(60)
        sess.run(step)
    tags = {value.tag for event in events(tmp_path) for value in event.summary.value}
    assert "loss" in tags


def test_a_failure_in_the_block_is_raised_and_the_end_of_input_is_not() -> None:
    """Errors are raised after the threads have stopped; the end of the input is not an error."""
    counting_step()
    sv = tf.train.Supervisor()
    with pytest.raises(KeyError, match="mine"), sv.managed_session():
        raise KeyError("mine")
    with sv.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "over")


def test_queue_runners_run() -> None:
    """Queue runners run until the session ends."""
    item = tf.train.range_input_producer(3, shuffle=False).dequeue()
    sv = tf.train.Supervisor()
    with sv.managed_session() as sess:
        assert [int(sess.run(item)) for _ in range(4)] == [0, 1, 2, 0]


def test_only_the_chief_has_services() -> None:
    """Only the chief starts services, and only workers need devices on variables."""
    with tf.device("/cpu:0"):
        counting_step()
    sv = tf.train.Supervisor(is_chief=False)
    with tf.Session() as sess, pytest.raises(RuntimeError, match="Only chief supervisor"):
        sv.start_standard_services(sess)
    with pytest.raises(RuntimeError, match="requires a summary writer"):
        sv.summary_computed(sess, tf.Summary())
    with tf.Graph().as_default():
        tf.Variable(1, name="without")
        with pytest.raises(ValueError, match="must have their device set"):
            tf.train.Supervisor(is_chief=False)


def test_ops_are_taken_from_collections_or_given() -> None:
    """Ops come from collections or arguments; None means no op."""
    ready = tf.constant([], tf.string)
    tf.add_to_collection(tf.GraphKeys.READY_OP, ready)
    sv = tf.train.Supervisor(init_op=None, summary_op=None, saver=None)
    assert sv.ready_op is ready
    assert sv.init_op is None
    assert sv.summary_op is None
    assert sv.saver is None
    assert sv.global_step is None


def test_a_train_loop_begins_anew_after_an_abort() -> None:
    """Arguments are passed on to the function."""
    increment = counting_step()
    sv = tf.train.Supervisor()
    seen: list[int] = []

    def train_step(sess: Any, limit: int, fail_at: int) -> None:
        seen.append(int(sess.run(increment)))
        if len(seen) == fail_at:
            raise tf.errors.AbortedError(None, None, "lost")
        if seen[-1] == limit:
            sv.request_stop()

    tf.train.basic_train_loop(sv, train_step, args=(3,), kwargs={"fail_at": 2})
    assert seen == [1, 2, 1, 2, 3]
