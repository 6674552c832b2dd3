"""Training over clusters as people wrote it: replicas in step, supervisors, recovery."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A model that waits for its chief looks again after this time, in seconds.
_LOOK_AGAIN_S = 0.01


class Model(NamedTuple):
    """A line through points, whose two variables are on the parameter servers in turn."""

    loss: tf.Tensor
    step: tf.Variable
    slope: tf.Variable
    offset: tf.Variable
    optimizer: Any
    train: Any


def model_of(
    cluster: Cluster, index: int, wrap: Callable[[Any], Any] = lambda optimizer: optimizer
) -> Model:
    """Build the graph of a worker: between-graph replication."""
    setter = tf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=cluster.spec
    )
    with tf.device(setter):
        x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32))
        slope = tf.get_variable("slope", initializer=0.0)
        offset = tf.get_variable("offset", initializer=0.0)
        loss = tf.reduce_mean(tf.square(slope * x + offset - (3.0 * x + 1.0)))
        step = tf.train.get_or_create_global_step()
        optimizer = wrap(tf.train.GradientDescentOptimizer(0.2))
        train = optimizer.minimize(loss, global_step=step)
    return Model(loss, step, slope, offset, optimizer, train)


def in_threads(*runs: Callable[[], object]) -> None:
    """Run each in a thread of its own; raise the first error."""
    caught: list[BaseException] = []

    def guarded(run: Callable[[], object]) -> None:
        try:
            run()
        except BaseException as error:
            caught.append(error)

    threads = [threading.Thread(target=guarded, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if caught:
        raise caught[0]


def test_replicas_train_in_step_and_the_chief_ends() -> None:
    """The chief's queue runner waits for gradients that no worker sends: close ends its step."""
    num_steps = 8
    end: list[Any] = []
    is_initialized = threading.Event()

    def sync(optimizer: Any) -> Any:
        return tf.train.SyncReplicasOptimizer(
            optimizer, replicas_to_aggregate=2, total_num_replicas=2
        )

    def work(index: int) -> None:
        if index:
            is_initialized.wait()  # or it would wait for 30 s, as MonitoredTrainingSession does
        with tf.Graph().as_default():
            model = model_of(cluster, index, sync)
            hook = model.optimizer.make_session_run_hook(index == 0)
            stop = tf.train.StopAtStepHook(last_step=num_steps)
            with tf.train.MonitoredTrainingSession(
                cluster.target(index=index), index == 0, hooks=[hook, stop]
            ) as sess:
                is_initialized.set()
                while not sess.should_stop():
                    sess.run(model.train)
            if index == 0:
                with tf.Session(cluster.target()) as sess:
                    end.extend(sess.run([model.step, model.slope]))

    with cluster_of(ps=2, worker=2) as cluster:
        in_threads(lambda: work(0), lambda: work(1))

    assert not [one for one in threading.enumerate() if "sync_token_q" in one.name]
    assert end[0] >= num_steps
    assert 2.0 < end[1] < 3.0


@pytest.mark.parametrize("first", ["chief", "worker"])
def test_supervisors_start_in_any_order_and_go_on_from_a_checkpoint(
    first: str, tmp_path: Path
) -> None:
    """The chief initializes and saves; the worker waits until the model is ready."""
    losses: dict[str, list[float]] = {"chief": [], "worker": []}
    other_has_trained, is_over, has_begun = (threading.Event() for _ in range(3))

    def supervised(
        cluster: Cluster, index: int, folder: str | None, task: Callable[..., None]
    ) -> None:
        with tf.Graph().as_default():
            model = model_of(cluster, index)
            supervisor = tf.train.Supervisor(
                is_chief=index == 0,
                logdir=folder,
                summary_op=None,
                global_step=model.step,
                recovery_wait_secs=_LOOK_AGAIN_S,
            )
            with supervisor.managed_session(cluster.target(index=index)) as sess:
                task(model, supervisor, sess)

    def chief() -> None:
        def task(model: Model, supervisor: Any, sess: tf.Session) -> None:
            has_begun.set()
            other_has_trained.wait()
            losses["chief"] = [sess.run([model.loss, model.train])[0] for _ in range(10)]
            supervisor.saver.save(sess, supervisor.save_path, global_step=model.step)
            is_over.set()

        if first == "worker":
            has_begun.wait()
        supervised(cluster, 0, str(tmp_path), task)

    def worker() -> None:
        def task(model: Model, supervisor: Any, sess: tf.Session) -> None:
            losses["worker"] = [sess.run([model.loss, model.train])[0] for _ in range(10)]
            other_has_trained.set()
            is_over.wait()

        if first == "chief":
            has_begun.wait()
        else:
            has_begun.set()
        supervised(cluster, 1, None, task)

    with cluster_of(ps=2, worker=2) as cluster:
        in_threads(chief, worker)
    assert losses["chief"][0] <= losses["worker"][-1]  # the model is shared

    restored: list[Any] = []

    def look(model: Model, supervisor: Any, sess: tf.Session) -> None:
        restored.extend(sess.run([model.step, model.loss]))

    with cluster_of(ps=2, worker=2) as cluster:
        supervised(cluster, 0, str(tmp_path), look)
    assert restored[0] == 20
    assert restored[1] < losses["chief"][-1]


def test_a_session_manager_prepares_recovers_and_waits(tmp_path: Path) -> None:
    """A model without a checkpoint is not recovered; one that is not ready is waited for."""
    with cluster_of(ps=2, worker=2) as cluster, tf.Graph().as_default():
        model = model_of(cluster, 0)
        saver = tf.train.Saver(sharded=True)
        manager = tf.train.SessionManager(
            ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=_LOOK_AGAIN_S
        )
        init = tf.global_variables_initializer()
        target, other = cluster.target(), cluster.target(index=1)

        with pytest.raises(tf.errors.DeadlineExceededError, match="slope"):
            manager.wait_for_session(other, max_wait_secs=0)
        sess, is_recovered = manager.recover_session(target, saver, str(tmp_path))
        assert not is_recovered
        sess.close()

        with manager.prepare_session(target, init, saver, str(tmp_path)) as sess:
            sess.run(model.train)
            saved = sess.run([model.slope, model.offset])
            saver.save(sess, str(tmp_path / "model"), global_step=model.step)
            with manager.wait_for_session(other, max_wait_secs=0) as waited:
                assert waited.run([model.slope, model.offset]) == saved
            sess.run(model.train)
        tf.Session.reset(target)

        sess, is_recovered = manager.recover_session(target, saver, str(tmp_path))
        assert is_recovered
        with sess:
            assert sess.run([model.slope, model.offset]) == saved
        tf.Session.reset(target)
        with manager.prepare_session(target, init, saver, str(tmp_path)) as sess:
            assert sess.run([model.slope, model.offset, model.step]) == [*saved, 1]


def test_a_checkpoint_has_a_file_for_each_parameter_server(tmp_path: Path) -> None:
    """A sharded saver lets each task write what it has; any saver reads them together."""
    with cluster_of(ps=2, worker=1) as cluster, tf.Graph().as_default():
        model = model_of(cluster, 0)
        assert {one.device for one in (model.slope, model.offset)} == {
            "/job:ps/task:0",
            "/job:ps/task:1",
        }
        with tf.Session(cluster.target()) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(model.train)
            saved = sess.run([model.slope, model.offset])
            path = tf.train.Saver(sharded=True).save(sess, str(tmp_path / "model"))

    names = sorted(one.name for one in tmp_path.iterdir() if ".data-" in one.name)
    assert names == ["model.data-00000-of-00002", "model.data-00001-of-00002"]
    assert tf.train.load_variable(path, "slope") == saved[0]
    with cluster_of(ps=2, worker=1) as cluster, tf.Graph().as_default():
        model = model_of(cluster, 0)
        with tf.Session(cluster.target()) as sess:
            tf.train.Saver().restore(sess, path)
            assert sess.run([model.slope, model.offset]) == saved


def _train_until(
    cluster: Cluster, index: int, folder: str, last: int, at_step: Callable[[int], object]
) -> list[float]:
    losses: list[float] = []
    with tf.Graph().as_default():
        model = model_of(cluster, index)
        with tf.train.MonitoredTrainingSession(
            cluster.target(index=index),
            index == 0,
            folder if index == 0 else None,
            hooks=[tf.train.StopAtStepHook(last_step=last)],
            save_checkpoint_steps=1,
            save_checkpoint_secs=None,
            save_summaries_steps=None,
            save_summaries_secs=None,
            log_step_count_steps=None,
        ) as sess:
            while not sess.should_stop():
                at_step(len(losses))
                losses.append(sess.run([model.loss, model.train])[0])
    return losses


@pytest.mark.parametrize("task", [("worker", 1), ("ps", 1), ("worker", 0)])
def test_training_goes_on_when_a_task_was_restarted(task: tuple[str, int], tmp_path: Path) -> None:
    """The chief makes a new session and restores what the task had from the checkpoint."""

    def restart(step: int) -> None:
        if step == 5:
            cluster.stop(*task)
            cluster.start(*task)

    with cluster_of(ps=2, worker=2) as cluster:
        losses = _train_until(cluster, 0, str(tmp_path), 12, restart)

    assert len(losses) == 12
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.1 * losses[0]


def test_a_worker_that_was_restarted_joins_the_training_again(tmp_path: Path) -> None:
    """It finds the model as the others left it."""
    is_initialized, is_restarted = threading.Event(), threading.Event()
    found: dict[int, list[float]] = {}

    def chief() -> None:
        def wait_for_other(step: int) -> None:
            if step == 1:
                is_initialized.set()
                is_restarted.wait()

        found[0] = _train_until(cluster, 0, str(tmp_path), 20, wait_for_other)

    def worker() -> None:
        is_initialized.wait()

        def restart(step: int) -> None:
            if step == 3:
                cluster.stop("worker", 1)
                cluster.start("worker", 1)
            if step == 4:
                is_restarted.set()

        found[1] = _train_until(cluster, 1, str(tmp_path), 20, restart)

    with cluster_of(ps=2, worker=2) as cluster:
        in_threads(chief, worker)

    assert len(found[1]) > 4
    assert found[1][4] < found[1][0]
    assert min(found[0][-1], found[1][-1]) < 0.1 * found[0][0]
