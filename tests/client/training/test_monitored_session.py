"""``tf.train.MonitoredSession``: hooks around runs, threads, recovery, the end."""

from __future__ import annotations

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
    tf.summary.FileWriterCache.clear()


class Recorder(tf.train.SessionRunHook):
    """Records its calls."""

    def __init__(self, request: Any = None) -> None:
        self.calls: list[Any] = []
        self.request = request

    def begin(self) -> None:
        """Record."""
        self.calls.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Record."""
        assert isinstance(session, tf.Session)
        assert isinstance(coord, tf.train.Coordinator)
        self.calls.append("created")

    def before_run(self, run_context: Any) -> Any:
        """Record, and request fetches."""
        self.calls.append(("before", run_context.original_args.fetches))
        return self.request

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Record."""
        self.calls.append(("after", run_values.results))

    def end(self, session: Any) -> None:
        """Record."""
        self.calls.append("end")


def counting_step() -> tuple[Any, Any]:
    """Return the global step, and an op that increments it."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def test_hooks_are_called_in_order() -> None:
    """The order is begin, after_create_session, around each run, end; hooks get their fetches."""
    x = tf.constant(3)
    hook = Recorder(tf.train.SessionRunArgs({"twice": x * 2}))
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert sess.run(x) == 3
    assert hook.calls == ["begin", "created", ("before", x), ("after", {"twice": 6}), "end"]


def test_the_graph_is_finalized_while_the_session_is_open(graph: tf.Graph) -> None:
    """Hooks may change the graph in ``begin``, and nothing may until the session ends."""
    with tf.train.MonitoredSession() as sess:
        assert sess.graph is graph
        with pytest.raises(RuntimeError, match="finalized"):
            tf.constant(1)
    assert sess.graph is None
    tf.constant(1)


def test_the_end_of_the_input_is_a_quiet_end() -> None:
    """OutOfRangeError and StopIteration end the block, and ``end`` is called."""
    for error in (tf.errors.OutOfRangeError(None, None, "over"), StopIteration()):
        hook = Recorder()
        with tf.train.MonitoredSession(hooks=[hook]):
            raise error
        assert hook.calls[-1] == "end"


def test_another_error_skips_the_end_of_hooks() -> None:
    """Other errors leave the block, and ``end`` is not called."""
    hook = Recorder()
    with pytest.raises(KeyError), tf.train.MonitoredSession(hooks=[hook]):
        raise KeyError
    assert "end" not in hook.calls


def test_a_closed_session_refuses() -> None:
    """run and close are refused, and should_stop is true."""
    x = tf.constant(1)
    sess = tf.train.MonitoredSession()
    sess.close()
    assert sess.should_stop()
    with pytest.raises(RuntimeError, match="already closed"):
        sess.run(x)
    with pytest.raises(RuntimeError, match="already closed"):
        sess.close()


def test_a_stop_that_a_hook_asks_for_comes_after_the_run() -> None:
    """The requested stop follows the run: should_stop is true, and a further run is refused."""
    step, increment = counting_step()
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as sess:
        while not sess.should_stop():
            last = sess.run(increment)
        assert last == 3
        with pytest.raises(RuntimeError, match="after should_stop requested"):
            sess.run(step)


def test_feeds_of_hooks_and_program_come_together() -> None:
    """A tensor with two feeds is an error."""
    x, y = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    total = x + y
    hook = tf.train.FeedFnHook(lambda: {x: 1})
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert sess.run(total, {y: 2}) == 3
        with pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"):
            sess.run(total, {x: 1, y: 2})
    with tf.train.MonitoredSession(hooks=[hook, tf.train.FeedFnHook(lambda: {x: 2})]) as sess:
        with pytest.raises(RuntimeError, match="fed by two hooks"):
            sess.run(total, {y: 2})


def test_options_of_hooks_are_merged() -> None:
    """If a hook requests a trace, all hooks get it."""
    x = tf.constant(1) + 1
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    hook = Recorder(tf.train.SessionRunArgs(None, options=options))
    metadata = tf.RunMetadata()
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        sess.run(x, run_metadata=metadata)
    assert metadata.step_stats.dev_stats


def test_a_step_function_has_the_session_and_the_hooks() -> None:
    """Hooks do not see runs of step_context.session, but those of step_context.run_with_hooks."""
    x = tf.constant(1)
    hook = Recorder()

    def step_fn(step_context: Any) -> int:
        raw = step_context.session.run(x)
        return int(raw + step_context.run_with_hooks(x))

    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert sess.run_step_fn(step_fn) == 2
        with pytest.raises(ValueError, match="one `step_context` argument"):
            sess.run_step_fn(lambda other: None)
        assert len([call for call in hook.calls if call[0] == "before"]) == 1


def test_a_step_function_may_stop() -> None:
    """request_stop acts like the end of the input."""
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        sess.run_step_fn(lambda step_context: step_context.request_stop())
    assert hook.calls[-1] == "end"


class Failing(tf.train.SessionRunHook):
    """Raises an error in chosen runs."""

    def __init__(self, error: Exception, *when: int) -> None:
        self.error, self.when, self.count, self.sessions = error, when, 0, 0

    def after_create_session(self, session: Any, coord: Any) -> None:
        """A session was made."""
        self.sessions += 1

    def before_run(self, run_context: Any) -> None:
        """Before a run."""
        self.count += 1
        if self.count in self.when:
            raise self.error


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_session_is_made_anew(kind: Any, tmp_path: Path) -> None:
    """The run is repeated after restoring the last checkpoint."""
    _, increment = counting_step()
    hook = Failing(kind(None, None, "lost"), 3, 4)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), save_checkpoint_steps=1, hooks=[hook]
    ) as sess:
        found = [int(sess.run(increment)) for _ in range(4)]
    assert found == [1, 2, 3, 4]
    assert hook.sessions == 3


def test_a_lost_session_without_checkpoint_begins_anew() -> None:
    """Without a checkpoint the variables are initialized again."""
    _, increment = counting_step()
    hook = Failing(tf.errors.AbortedError(None, None, "lost"), 3)
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert [int(sess.run(increment)) for _ in range(3)] == [1, 2, 1]


def test_a_step_function_is_called_again_in_the_new_session() -> None:
    """The step function is called again with the new session."""
    _, increment = counting_step()
    hook = Failing(tf.errors.AbortedError(None, None, "lost"), 1)
    sessions = []

    def step_fn(step_context: Any) -> Any:
        sessions.append(step_context.session)
        return step_context.run_with_hooks(increment)

    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert sess.run_step_fn(step_fn) == 1
    assert len(sessions) == 2
    assert sessions[0] is not sessions[1]


def test_a_singular_session_does_not_recover() -> None:
    """A SingularMonitoredSession does not recover, and gives access to its session."""
    _, increment = counting_step()
    hook = Failing(tf.errors.AbortedError(None, None, "lost"), 1)
    sess = tf.train.SingularMonitoredSession(hooks=[hook])
    assert sess.raw_session().run(increment) == 1
    with pytest.raises(tf.errors.AbortedError, match="lost"):
        sess.run(increment)
    assert sess.run(increment) == 2
    sess.close()
    assert sess.raw_session() is None


def test_other_errors_are_not_recovered_from() -> None:
    """An error of an op reaches the program."""
    x = tf.placeholder(tf.int32, [])
    hook = Failing(tf.errors.InternalError(None, None, "broken"), 1)
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        with pytest.raises(tf.errors.InternalError, match="broken"):
            sess.run(x, {x: 1})
        assert sess.run(x, {x: 2}) == 2


def test_queue_runners_end_with_the_session() -> None:
    """Queue runners are started; the end of their input ends the training."""
    queue = tf.train.range_input_producer(3, num_epochs=1, shuffle=False)
    item = queue.dequeue()
    found = []
    with tf.train.MonitoredSession() as sess:
        threads = list(sess._coordinated_creator.coord._threads)
        assert threads
        while not sess.should_stop():
            found.append(int(sess.run(item)))
    assert found == [0, 1, 2]
    assert not any(thread.is_alive() for thread in threads)


def test_the_failure_of_a_thread_is_the_failure_of_the_session() -> None:
    """The error of a queue runner is raised instead of that of the closed queue."""
    queue = tf.FIFOQueue(10, tf.float32, [])
    bad = tf.check_numerics(tf.constant(float("nan")), "not a number")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(bad)]))
    item = queue.dequeue()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a number"):
        with tf.train.MonitoredSession() as sess:
            sess.run(item)


def test_a_training_session_saves_and_goes_on(tmp_path: Path) -> None:
    """Checkpoints, graph and events are written; the next session continues at the last step."""
    _, increment = counting_step()
    tf.summary.scalar("loss", tf.constant(0.5))
    for expected in (5, 10):
        hook = tf.train.StopAtStepHook(num_steps=5)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path),
            hooks=[hook],
            save_summaries_steps=2,
            log_step_count_steps=2,
        ) as sess:
            while not sess.should_stop():
                last = sess.run(increment)
        assert last == expected
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-10")
    assert (tmp_path / "graph.pbtxt").exists()
    tf.summary.FileWriterCache.clear()
    tags = {
        value.tag
        for path in tmp_path.glob("events*")
        for event in tf.train.summary_iterator(path)
        for value in event.summary.value
    }
    assert tags == {"loss", "global_step/sec"}


def test_a_worker_waits_for_an_initialized_model() -> None:
    """A model that is not initialized raises an error after the time-out."""
    tf.get_variable("v", [])
    with pytest.raises(tf.errors.DeadlineExceededError, match="Variables not initialized: v"):
        with tf.train.MonitoredTrainingSession(is_chief=False, max_wait_secs=0):
            pass


def test_a_worker_without_variables_is_ready() -> None:
    """A worker's session without variables is ready at once."""
    x = tf.constant(1)
    with tf.train.MonitoredTrainingSession(is_chief=False) as sess:
        assert sess.run(x) == 1


def test_a_scaffold_says_how_to_begin() -> None:
    """init_fn is called with the scaffold and the session."""
    variable = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    assign = tf.assign(variable, 7)
    seen: list[Any] = []

    def init_fn(scaffold: Any, session: Any) -> None:
        seen.append(scaffold)
        session.run(assign)

    scaffold = tf.train.Scaffold(init_fn=init_fn)
    with tf.train.MonitoredTrainingSession(scaffold=scaffold) as sess:
        assert sess.run(variable) == 7
    assert seen == [scaffold]
    copied = tf.train.Scaffold(copy_from_scaffold=scaffold)
    assert copied.init_op is scaffold.init_op
    assert copied.init_fn is not None
    with pytest.raises(TypeError, match="not a Scaffold"):
        tf.train.Scaffold(copy_from_scaffold=1)  # type: ignore[arg-type]


def test_two_candidates_for_an_op_of_the_scaffold_are_refused() -> None:
    """The message says how to choose."""
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    with pytest.raises(RuntimeError, match=r"More than one item .*init_op=item to use"):
        tf.train.Scaffold().finalize()


def test_a_model_that_is_not_ready_says_why() -> None:
    """The error names variables that the init op omits."""
    tf.get_variable("forgotten", [])
    scaffold = tf.train.Scaffold(init_op=tf.no_op())
    with pytest.raises(RuntimeError, match=r"not make model ready.*not initialized: forgotten"):
        tf.train.MonitoredTrainingSession(scaffold=scaffold)
