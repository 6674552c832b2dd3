"""The hooks of ``tf.train``: when they act, and what they write."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.library.training.global_step import get_or_create_global_step_read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of the test's own."""
    with tf.Graph().as_default() as found:
        yield found
    tf.summary.FileWriterCache.clear()


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """The log records from INFO on."""
    texts: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    logger, handler = tf.get_logger(), Handler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield texts
    logger.setLevel(level)
    logger.removeHandler(handler)


def increment(by: int = 1) -> Any:
    """An op that moves the global step, after hooks have read it."""
    step = tf.train.get_or_create_global_step()
    with tf.control_dependencies([get_or_create_global_step_read()]):
        return tf.assign_add(step, by)


def train(hooks: list[Any], op: Any, runs: int) -> None:
    """Run an op some times."""
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        for _ in range(runs):
            if sess.should_stop():
                return
            sess.run(op)


def events(directory: Path) -> list[Any]:
    """Return the written events without the version."""
    tf.summary.FileWriterCache.clear()
    paths = sorted(directory.glob("events*"))
    return [e for path in paths for e in tf.train.summary_iterator(path)][1:]


def test_a_timer_of_steps() -> None:
    """The timer triggers at once, not twice at a step, and again after n steps."""
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(5)
    assert timer.update_last_triggered_step(5) == (None, None)
    assert [timer.should_trigger_for_step(step) for step in (5, 7, 8)] == [False, False, True]
    secs, steps = timer.update_last_triggered_step(8)
    assert steps == 3
    assert secs is not None
    assert timer.last_triggered_step() == 8
    timer.reset()
    assert timer.should_trigger_for_step(8)


def test_a_timer_of_seconds() -> None:
    """The timer triggers after n seconds; with no time, at once."""
    timer = tf.train.SecondOrStepTimer(every_secs=1e6)
    timer.update_last_triggered_step(1)
    assert not timer.should_trigger_for_step(100)
    timer = tf.train.SecondOrStepTimer(every_secs=0)
    timer.update_last_triggered_step(1)
    assert timer.should_trigger_for_step(2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.train.SecondOrStepTimer(), "Either every_secs or every_steps"),
        (lambda: tf.train.SecondOrStepTimer(1, 1), "Can not provide both"),
        (lambda: tf.train.StopAtStepHook(), "One of num_steps or last_step"),
        (lambda: tf.train.StopAtStepHook(1, 1), "Only one of num_steps or last_step"),
        (lambda: tf.train.LoggingTensorHook([]), "exactly one of every_n_iter"),
        (lambda: tf.train.LoggingTensorHook([], every_n_iter=0), "invalid every_n_iter=0"),
        (lambda: tf.train.StepCounterHook(1, 1), "exactly one of every_n_steps"),
        (lambda: tf.train.SummarySaverHook(1), "Exactly one of scaffold or summary_op"),
        (
            lambda: tf.train.CheckpointSaverHook("d", 1, saver=1, scaffold=1),
            "cannot provide both saver and scaffold",
        ),
    ],
)
def test_arguments_that_say_too_much_or_too_little_are_refused(make: Any, message: str) -> None:
    """Each error has its own message."""
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "hook",
    [
        lambda d: tf.train.StopAtStepHook(1),
        lambda d: tf.train.StepCounterHook(),
        lambda d: tf.train.SummarySaverHook(1, summary_op=tf.no_op()),
        lambda d: tf.train.CheckpointSaverHook(d, 1),
        lambda d: tf.train.ProfilerHook(1, output_dir=d),
        lambda d: tf.train.GlobalStepWaiterHook(1),
    ],
)
def test_hooks_that_count_need_a_global_step(hook: Any, tmp_path: Path) -> None:
    """The message names the hook."""
    with pytest.raises(RuntimeError, match="Global step should be created to use"):
        hook(str(tmp_path)).begin()


def test_a_number_of_steps_counts_from_where_the_session_begins() -> None:
    """Steps count from the beginning of the session, also if a run takes several."""
    op = increment(2)
    hook = tf.train.StopAtStepHook(num_steps=5)
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        runs = 0
        while not sess.should_stop():
            last = sess.run(op)
            runs += 1
    assert (runs, last) == (3, 6)


def test_values_are_logged_every_so_many_runs(logged: list[str]) -> None:
    """The first run logs without the elapsed seconds; values have given tags or names."""
    x = tf.constant(2.0, name="x")
    hook = tf.train.LoggingTensorHook({"b": x, "a": "x"}, every_n_iter=2)
    train([hook, tf.train.LoggingTensorHook(["x:0"], at_end=True)], x, 4)
    lines = [line for line in logged if "=" in line]
    assert lines[0] == "a = 2.0, b = 2.0"
    assert lines[1].startswith("a = 2.0, b = 2.0 (")
    assert lines[2:] == ["x:0 = 2.0"]


def test_a_formatter_makes_the_line(logged: list[str]) -> None:
    """The formatter gets the values by tag."""
    x = tf.constant(2)
    hook = tf.train.LoggingTensorHook(
        {"x": x}, every_n_iter=1, formatter=lambda values: f"<{values['x']}>"
    )
    train([hook], x, 1)
    assert "<2>" in logged


def test_what_is_logged_must_be_in_the_graph_and_clear() -> None:
    """Unknown and ambiguous tensors are refused; ops with several outputs need an index."""
    with tf.Graph().as_default():
        other = tf.constant(1)
    tf.split(tf.zeros([2]), 2, name="halves")
    with pytest.raises(ValueError, match="equal to current graph"):
        tf.train.LoggingTensorHook([other], every_n_iter=1).begin()
    with pytest.raises(ValueError, match="halves is ambiguous"):
        tf.train.LoggingTensorHook(["halves"], every_n_iter=1).begin()


def test_nan_ends_the_training(logged: list[str]) -> None:
    """NaN raises an error, or requests a stop."""
    loss = tf.placeholder(tf.float32, [])
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)]) as sess:
        sess.run(loss, {loss: 1.0})
        with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
            sess.run(loss, {loss: float("nan")})
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss, False)]) as sess:
        sess.run(loss, {loss: float("nan")})
        assert sess.should_stop()
    assert logged.count("Model diverged with loss = NaN.") == 2


def test_checkpoints_are_saved_and_listeners_told(tmp_path: Path) -> None:
    """Checkpoints are saved at the beginning, every two steps and at the end."""
    calls: list[Any] = []

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self) -> None:
            calls.append("begin")

        def before_save(self, session: Any, global_step_value: int) -> None:
            calls.append(("before", int(global_step_value)))

        def after_save(self, session: Any, global_step_value: int) -> None:
            calls.append(("after", int(global_step_value)))

        def end(self, session: Any, global_step_value: int) -> None:
            calls.append(("end", int(global_step_value)))

    op = increment()
    scaffold = tf.train.Scaffold()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=2, scaffold=scaffold, listeners=[Listener()]
    )
    creator = tf.train.ChiefSessionCreator(scaffold)
    with tf.train.MonitoredSession(creator, [hook]) as sess:
        for _ in range(5):
            sess.run(op)
    saved = [call[1] for call in calls if call[0] == "after"]
    assert saved == [0, 2, 4, 5]
    assert calls[0] == "begin"
    assert calls[-1] == ("end", 5)
    found = [(event.step, event.WhichOneof("what")) for event in events(tmp_path)]
    assert [step for step, kind in found if kind == "session_log"] == saved
    assert (tmp_path / "model.ckpt-5.index").exists()


def test_a_listener_may_stop_the_training(tmp_path: Path) -> None:
    """A listener that returns True stops the training."""

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: int) -> bool:
            return global_step_value >= 2

    op = increment()
    with tf.train.SingularMonitoredSession(
        [
            tf.train.CheckpointSaverHook(
                str(tmp_path), save_steps=1, saver=tf.train.Saver(), listeners=[Listener()]
            )
        ]
    ) as sess:
        while not sess.should_stop():
            last = sess.run(op)
    assert last == 2


def test_summaries_are_written_every_so_many_steps(tmp_path: Path) -> None:
    """A session log comes first."""
    step = tf.train.get_or_create_global_step()
    summary = tf.summary.scalar("value", tf.cast(step, tf.float32) * 0 + 3)
    op = increment()
    hook = tf.train.SummarySaverHook(3, output_dir=str(tmp_path), summary_op=summary)
    train([hook], op, 7)
    found = events(tmp_path)
    summaries = [(e.step, e.summary.value[0].simple_value) for e in found if e.summary.value]
    assert summaries == [(1, 3.0), (4, 3.0), (7, 3.0)]
    (begin,) = [e for e in found if e.WhichOneof("what") == "session_log"]
    assert begin.session_log.status == tf.SessionLog.START


def test_steps_per_second_are_logged_and_written(tmp_path: Path, logged: list[str]) -> None:
    """The rate is named after the global step."""
    op = increment()
    train([tf.train.StepCounterHook(2, output_dir=str(tmp_path))], op, 6)
    tags = [value.tag for event in events(tmp_path) for value in event.summary.value]
    assert tags == ["global_step/sec"] * 2
    assert sum(line.startswith("global_step/sec: ") for line in logged) == 2


def test_a_global_step_that_stands_still_is_noticed(logged: list[str]) -> None:
    """A training whose optimizer has no global step is warned about."""
    step = tf.train.get_or_create_global_step()
    train([tf.train.StepCounterHook(2)], step, 3)
    assert any("has not been increased" in line for line in logged)


def test_a_trace_is_written_every_so_many_steps(tmp_path: Path) -> None:
    """A trace is a timeline file and an event."""
    op = increment()
    train([tf.train.ProfilerHook(2, output_dir=str(tmp_path))], op, 5)
    steps = sorted(int(path.stem.split("-")[1]) for path in tmp_path.glob("timeline-*.json"))
    assert len(steps) == 2
    trace = json.loads((tmp_path / f"timeline-{steps[0]}.json").read_text())
    assert trace["traceEvents"]
    tags = [event.tagged_run_metadata.tag for event in events(tmp_path)]
    assert [tag for tag in tags if tag] == [f"step_{step}" for step in steps]


@pytest.mark.slow
def test_a_worker_waits_for_a_step() -> None:
    """A worker waits until another one has reached the step."""
    op = increment()
    x = tf.constant(1)
    raw: list[Any] = []
    is_ready = threading.Event()

    class Ready(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            raw.append(session)
            is_ready.set()

    def advance() -> None:
        assert is_ready.wait(60)
        for _ in range(3):
            raw[0].run(op)

    other = threading.Thread(target=advance)
    other.start()
    with tf.train.MonitoredSession(hooks=[Ready(), tf.train.GlobalStepWaiterHook(3)]) as sess:
        assert sess.run(x) == 1
        assert raw[0].run(tf.train.get_global_step()) == 3
    other.join()


def test_final_ops_are_fetched_at_the_end() -> None:
    """Final ops are fetched with their feeds."""
    x = tf.placeholder(tf.int32, [])
    hook = tf.train.FinalOpsHook({"twice": x * 2}, {x: 4})
    train([hook], tf.constant(1), 1)
    assert hook.final_ops_values == {"twice": 8}


def test_final_ops_that_read_an_ended_input_fail(logged: list[str]) -> None:
    """The error hints at the ended input."""
    queue = tf.FIFOQueue(1, tf.int32, [])
    close = queue.close()
    hook = tf.train.FinalOpsHook(queue.dequeue())
    with pytest.raises(tf.errors.OutOfRangeError):
        train([hook], close, 1)
    assert any("FinalOpsHook" in line for line in logged)
