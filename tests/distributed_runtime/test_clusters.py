"""Clusters of several tasks: placement, transfers, loops across tasks, failures, training."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of, run_when_connected
from tests.polling import wait_until
from tfnb.distributed_runtime import master
from tfnb.distributed_runtime.worker import Worker
from tfnb.framework.functions import function
from tfnb.proto.cluster_pb2 import ClusterDef
from tfnb.proto.worker_pb2 import CreateWorkerSessionRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JOBS = {"ps": 1, "worker": 2}
PS, WORKER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


def test_a_step_spans_the_tasks_that_its_nodes_are_on(cluster: Cluster) -> None:
    """Tensors go from task to task; fetches come from any."""
    with tf.device(PS):
        v = tf.get_variable("spans", initializer=[1.0, 2.0])
    with tf.device(WORKER):
        y = v * 3.0
    with tf.device(OTHER):
        z = tf.reduce_sum(y)
        text = tf.strings.join(["sum ", tf.as_string(z)])

    with tf.Session(cluster.target()) as sess:
        sess.run(v.initializer)
        found = sess.run([v, y, z, text])

    assert found[0].tolist() == [1.0, 2.0]
    assert found[1].tolist() == [3.0, 6.0]
    assert found[2:] == [9.0, b"sum 9.000000"]


def test_a_variable_of_another_task_is_read_after_what_its_reader_waits_for(
    cluster: Cluster,
) -> None:
    """An assignment on the task of the variable is seen by a read on a worker."""
    with tf.device(PS):
        v = tf.Variable([1.0, 2.0], use_resource=False)
        step = tf.assign_add(v, [10.0, 20.0])
    with tf.device(WORKER), tf.control_dependencies([step]):
        waiting = v.read_value()
        doubled = waiting * 2.0
        delta = waiting - tf.clip_by_norm(waiting, 1.0)
    with tf.device(PS):
        clipped = tf.assign_sub(v, delta)

    with tf.Session(cluster.target()) as sess:
        for _ in range(3):
            sess.run(v.initializer)
            assert sess.run(doubled).tolist() == [22.0, 44.0]
            sess.run(v.initializer)
            np.testing.assert_allclose(np.linalg.norm(sess.run(clipped)), 1.0, rtol=1e-6)


def test_devices_of_all_tasks_are_listed_the_masters_first(cluster: Cluster) -> None:
    """And only those that the filters name."""
    with tf.Session(cluster.target(index=1)) as sess:
        names = [device.name for device in sess.list_devices()]
    config = tf.ConfigProto(device_filters=["/job:ps"])
    with tf.Session(cluster.target(), config=config) as sess:
        filtered = [device.name for device in sess.list_devices()]

    assert names[0] == "/job:worker/replica:0/task:1/device:CPU:0"
    assert sorted(names)[0] == "/job:ps/replica:0/task:0/device:CPU:0"
    assert len(names) == 3
    assert filtered == [
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:ps/replica:0/task:0/device:CPU:0",
    ]


def test_a_device_that_no_task_has_is_refused(cluster: Cluster) -> None:
    """With the devices that there are."""
    with tf.device("/job:worker/task:7"):
        x = tf.constant(1.0)

    with (
        tf.Session(cluster.target()) as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"),
    ):
        sess.run(x)


@pytest.mark.parametrize("times", [0, 1, 12])
def test_a_loop_whose_body_crosses_tasks_ends(cluster: Cluster, times: int) -> None:
    """Frames and iterations stand in the keys of what is sent; dead values, too."""
    with tf.device(WORKER):

        def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            with tf.device(PS):
                doubled = a * 2.0
            return i + 1, doubled + 1.0

        out = tf.while_loop(lambda i, _: i < times, body, [tf.constant(0), tf.constant(1.0)])

    with tf.Session(cluster.target()) as sess:
        assert sess.run(out) == (times, 2.0**times * 2 - 1)


@pytest.mark.parametrize("takes", [True, False])
def test_a_cond_whose_branches_are_on_other_tasks_takes_one(cluster: Cluster, takes: bool) -> None:
    """The other one's values are dead, also for the task that waits for them."""
    which = tf.placeholder(tf.bool, [])

    def on(device: str, value: float) -> tf.Tensor:
        with tf.device(device):
            return tf.constant(value) * 2.0

    with tf.device(WORKER):
        out = tf.cond(which, lambda: on(PS, 1.0), lambda: on(OTHER, 2.0)) + 1.0

    with tf.Session(cluster.target()) as sess:
        assert sess.run(out, {which: takes}) == (3.0 if takes else 5.0)


def test_an_error_names_the_task_and_the_node(cluster: Cluster) -> None:
    """Whichever task the node is on; the other tasks stop waiting."""
    with tf.device(OTHER):
        bad = tf.constant([1.0, 2.0])[tf.placeholder_with_default(9, [])]
    with tf.device(PS):
        out = bad + 1.0

    with (
        tf.Session(cluster.target()) as sess,
        pytest.raises(tf.errors.InvalidArgumentError) as caught,
    ):
        sess.run(out)

    assert str(caught.value).startswith("From /job:worker/replica:0/task:1:\n")
    assert caught.value.op is bad.op


@pytest.mark.parametrize(("waiting", "failing"), [(PS, OTHER), (OTHER, PS)])
def test_a_task_that_fails_ends_the_run_of_one_that_waits(
    cluster: Cluster, waiting: str, failing: str
) -> None:
    """The master, which has no part in the step, waits for the answers of both."""
    with tf.device(waiting):
        waits = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
    with tf.device(failing):
        bad = tf.constant([1.0, 2.0])[tf.placeholder_with_default(9, [])]

    with (
        tf.Session(cluster.target()) as sess,
        pytest.raises(tf.errors.InvalidArgumentError) as caught,
    ):
        sess.run([waits.op, bad.op])

    assert caught.value.op is bad.op


def test_a_queue_on_a_task_joins_two_sessions(cluster: Cluster) -> None:
    """One worker's step waits for what the other puts in."""
    with tf.device(PS):
        queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], shared_name="between")
        put, taken = queue.enqueue(4.0), queue.dequeue()
    found: list[float] = []

    with tf.Session(cluster.target()) as first, tf.Session(cluster.target(index=1)) as second:
        first.run(tf.constant(1.0))
        thread = threading.Thread(target=lambda: found.append(first.run(taken)))
        thread.start()
        second.run(put)
        thread.join()

    assert found == [4.0]


def _shared_iterator(scale: int) -> Any:
    dataset = tf.data.Dataset.range(9).map(lambda x: x * scale).filter(lambda x: x > 0)
    return tf.data.make_initializable_iterator(dataset, shared_name="shared")


def test_an_iterator_calls_the_functions_of_the_graph_that_made_it(cluster: Cluster) -> None:
    """Steps of other signatures and of other sessions do not have them, or have other ones."""
    with tf.device(PS):
        mine = _shared_iterator(10)
    with tf.Session(cluster.target()) as sess:
        sess.run(mine.initializer)
        element = mine.get_next()
        assert sess.run(element) == 10
        with tf.Graph().as_default(), tf.device(PS):
            others = _shared_iterator(7).get_next()
            with tf.Session(cluster.target(index=1)) as another:
                assert another.run(others) == 20
        assert sess.run(element) == 30
    with tf.Graph().as_default(), tf.device(PS):
        others = _shared_iterator(7).get_next()
        with tf.Session(cluster.target(index=1)) as another:
            assert another.run(others) == 40


@pytest.mark.parametrize("uses_resource", [True, False])
def test_what_is_in_no_container_is_in_that_of_the_tasks_job(
    cluster: Cluster, uses_resource: bool
) -> None:
    """A reset without names clears it, too; the container "" is none."""
    with tf.device(PS):
        v = tf.get_variable("v", initializer=1, use_resource=uses_resource)
    target = cluster.target()

    def is_cleared_by(*containers: str) -> bool:
        tf.Session.reset(target, list(containers))
        with tf.Session(target) as sess:
            was_cleared = not sess.run(tf.is_variable_initialized(v))
            sess.run(v.initializer)
        return was_cleared

    is_cleared_by()
    cleared = {name: is_cleared_by(name) for name in ("ps", "worker", "localhost", "")}
    assert cleared == {"ps": True, "worker": False, "localhost": False, "": False}
    assert is_cleared_by()


def test_a_step_that_waits_on_another_task_ends_at_its_deadline(cluster: Cluster) -> None:
    """All tasks end it, and later steps run."""
    with tf.device(PS):
        taken = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
    with tf.device(WORKER):
        out = taken + 1.0
        one = tf.constant(1.0) + 0.0

    with tf.Session(cluster.target()) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(out, options=tf.RunOptions(timeout_in_ms=100))
        assert sess.run(one) == 1.0


def test_a_step_runs_in_parts_on_several_tasks(cluster: Cluster) -> None:
    """Each part feeds and fetches on the task that has the node."""
    with tf.device(PS):
        a = tf.placeholder(tf.float32, [])
        first = a + 1.0
    with tf.device(OTHER):
        b = tf.placeholder(tf.float32, [])
        second = first * b

    with tf.Session(cluster.target()) as sess:
        handle = sess.partial_run_setup([first, second], [a, b])
        assert sess.partial_run(handle, first, {a: 2.0}) == 3.0
        assert sess.partial_run(handle, second, {b: 5.0}) == 15.0


def test_a_trace_has_the_devices_of_all_tasks(cluster: Cluster) -> None:
    """Each task records its own."""
    with tf.device(PS):
        x = tf.constant([1.0, 2.0]) * 2.0
    with tf.device(WORKER):
        y = tf.reduce_sum(x)
    metadata = tf.RunMetadata()

    with tf.Session(cluster.target()) as sess:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(y, options=options, run_metadata=metadata)

    assert {one.device for one in metadata.step_stats.dev_stats} == {
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:0/device:CPU:0",
    }


def test_a_session_may_bring_a_cluster_of_its_own(cluster: Cluster) -> None:
    """``ConfigProto.cluster_def``: a server that knows only itself sees further tasks."""
    with cluster_of(worker=1) as alone:
        spec = tf.train.ClusterSpec(
            {
                "worker": [alone.spec.task_address("worker", 0)],
                "ps": [cluster.spec.task_address("ps", 0)],
            }
        )
        with tf.device(PS):
            x = tf.constant(2.0) * 3.0
        config = tf.ConfigProto(cluster_def=spec.as_cluster_def())

        with tf.Session(alone.target(), config=config) as sess:
            assert sess.run(x) == 6.0
        with (
            tf.Session(alone.target()) as sess,
            pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"),
        ):
            sess.run(x)


def _renaming(*servers: Cluster, **options: Any) -> tf.ConfigProto:
    """Return a configuration in which one-task clusters are the workers 2, 3 ... of a cluster."""
    spec = tf.train.ClusterSpec(
        {
            "worker": {
                index: server.spec.task_address("local", 0)
                for index, server in enumerate(servers, 2)
            }
        }
    )
    return tf.ConfigProto(cluster_def=spec.as_cluster_def(), **options)


@pytest.fixture(scope="module")
def strangers() -> Iterator[tuple[Cluster, Cluster]]:
    """Two servers that do not know each other."""
    with cluster_of(local=1) as first, cluster_of(local=1) as second:
        yield first, second


def test_tasks_have_other_names_in_the_cluster_of_a_session(
    strangers: tuple[Cluster, Cluster],
) -> None:
    """Devices, transfers, loops, traces and errors use the names of the session."""
    first, second = "/job:worker/task:2", "/job:worker/task:3"
    with tf.device(first):

        def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            with tf.device(second):
                doubled = a * 2.0
            return i + 1, doubled + 1.0

        out = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.constant(1.0)])[1]
    with tf.device(second):
        bad = tf.gather([1.0], tf.placeholder_with_default(9, []))
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)

    with tf.Session(strangers[0].target("local"), config=_renaming(*strangers)) as sess:
        assert [device.name for device in sess.list_devices()] == [
            "/job:worker/replica:0/task:2/device:CPU:0",
            "/job:worker/replica:0/task:3/device:CPU:0",
        ]
        assert sess.run(out, options=options, run_metadata=metadata) == 15.0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^From /job:worker/.*task:3"):
            sess.run(bad)

    assert {one.device for one in metadata.step_stats.dev_stats} == {
        "/job:worker/replica:0/task:2/device:CPU:0",
        "/job:worker/replica:0/task:3/device:CPU:0",
    }


@pytest.mark.parametrize("task", [2, 3])
@pytest.mark.parametrize("shares", [False, True])
def test_a_session_with_a_cluster_of_its_own_has_its_own_variables(
    strangers: tuple[Cluster, Cluster], task: int, shares: bool
) -> None:
    """Unless it shares them explicitly, then also with sessions of the task's own cluster."""
    config = _renaming(*strangers)
    config.experimental.share_session_state_in_clusterspec_propagation = shares
    with tf.device(f"/job:worker/task:{task}"):
        v = tf.get_variable(f"kept_by_{task}_{shares}", initializer=1.0)
    target = strangers[0].target("local")

    with tf.Session(target, config=config) as one, tf.Session(target, config=config) as other:
        one.run(v.initializer)
        if shares:
            assert other.run(v) == 1.0
        else:
            with pytest.raises(tf.errors.FailedPreconditionError):
                other.run(v)
    with tf.Graph().as_default(), tf.Session(strangers[task - 2].target("local")) as own:
        v = tf.get_variable(f"kept_by_{task}_{shares}", initializer=1.0)
        assert own.run(tf.is_variable_initialized(v)) == shares


def test_a_cluster_of_a_session_has_the_master_once(strangers: tuple[Cluster, Cluster]) -> None:
    """By the address of the target."""
    first, second = strangers
    target, one = first.target("local"), tf.constant(1.0)
    with (
        tf.Session(target, config=_renaming(second)) as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match="not included in the provided"),
    ):
        sess.run(one)
    with (
        tf.Session(target, config=_renaming(first, first)) as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match="Found multiple matching tasks"),
    ):
        sess.run(one)


def test_sessions_see_the_devices_of_all_tasks_with_and_without_sharing_them(
    strangers: tuple[Cluster, Cluster],
) -> None:
    """``share_cluster_devices_in_session`` is what tfnb's masters do in any case."""
    with tf.device("/job:worker/task:3"):
        x = tf.constant(2.0) * 2.0
    for shares in (False, True):
        config = _renaming(*strangers, share_cluster_devices_in_session=shares)
        with tf.Session(strangers[0].target("local"), config=config) as sess:
            assert sess.run(x) == 4.0
            assert len(sess.list_devices()) == 2


def test_missing_tasks_are_named_while_a_session_waits_for_them(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the filters that would do without them; the session opens when they come."""
    monkeypatch.setattr(master, "_FIRST_REPORT_S", 0.01)
    with cluster_of(ps=1, worker=1, started=False) as cluster:
        cluster.start("worker")
        found: list[float] = []
        x = tf.constant(1.0)

        def run() -> None:
            with tf.Session(cluster.target(), graph=x.graph) as sess:
                found.append(sess.run(x))

        with caplog.at_level(logging.WARNING, "tfnb"):
            thread = threading.Thread(target=run)
            thread.start()
            wait_until(
                lambda: (
                    "response from worker: /job:ps/replica:0/task:0" in caplog.text
                    or not thread.is_alive()
                )
            )
            assert thread.is_alive()
            cluster.start("ps")
            thread.join()

        assert "device_filters" in caplog.text
        assert found == [1.0]


def test_filters_do_without_a_task_that_is_not_there() -> None:
    """A session that needs only its own task opens at once."""
    with cluster_of(ps=1, worker=1, started=False) as cluster:
        cluster.start("worker")
        config = tf.ConfigProto(device_filters=["/job:worker"])

        with tf.Session(cluster.target(), config=config) as sess:
            assert sess.run(tf.constant(3.0)) == 3.0


def test_a_task_that_stops_ends_the_steps_that_need_it() -> None:
    """UnavailableError names the task; after its restart the old session is aborted."""
    with cluster_of(ps=1, worker=1) as cluster:
        with tf.device(PS):
            taken = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
            x = tf.constant(1.0) + 0.0
        with tf.device(WORKER):
            out = taken + 1.0
        caught: list[tf.errors.OpError] = []
        sess = tf.Session(cluster.target())
        sess.run(x)

        def wait() -> None:
            try:
                sess.run(out)
            except tf.errors.OpError as error:
                caught.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        while "add" not in sess.waiting():
            pass
        cluster.stop("ps")
        thread.join()
        kinds = tf.errors.UnavailableError, tf.errors.CancelledError, tf.errors.AbortedError
        assert isinstance(caught[0], kinds)

        cluster.start("ps")
        with pytest.raises(tf.errors.AbortedError, match="just restarted"):
            run_when_connected(sess, x)
        sess.close()
        with tf.Session(cluster.target()) as new:
            assert new.run(x) == 1.0


def test_tasks_find_one_that_was_started_again_at_once() -> None:
    """Failed connections before it do not delay the first step of a new session."""
    with tempfile.TemporaryDirectory(prefix="tfnb") as folder, ExitStack() as ended:
        spec = {
            "ps": [f"unix:{folder}/ps"],
            "worker": [f"unix:{folder}/worker0", f"unix:{folder}/worker1"],
        }

        def start(job: str, index: int) -> subprocess.Popen[str]:
            code = (
                f"import tfnb as tf; server = tf.train.Server({spec!r}, {job!r}, {index});"
                "print('up', flush=True); server.join()"
            )
            command = [sys.executable, "-c", code]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            ended.callback(process.wait)
            ended.callback(process.kill)
            assert process.stdout is not None
            ended.callback(process.stdout.close)
            assert process.stdout.readline() == "up\n"
            return process

        start("ps", 0)
        start("worker", 0)
        with tf.device("/job:worker/task:1"):
            x = tf.placeholder_with_default(1.0, []) + 1.0
        with tf.device(PS):  # with control flow, the tensor goes from task to task
            y = tf.cond(x > 0.0, lambda: x * 2.0, lambda: x)
        for _ in range(2):
            worker = start("worker", 1)
            with tf.Session(f"grpc://{spec['worker'][0]}") as sess:
                assert sess.run(y) == 4.0
                worker.kill()
                worker.wait()
                for _ in range(5):
                    with pytest.raises(tf.errors.OpError):
                        sess.run(y)


def test_a_stale_graph_version_is_aborted(cluster: Cluster) -> None:
    """Another client has extended the session's graph."""
    with tf.Session(cluster.target()) as sess:
        sess.run(tf.constant(1.0))
        sess.runtime._version += 1
        with pytest.raises(tf.errors.AbortedError, match="modified"):
            sess.run(tf.constant(2.0))


def test_variables_on_a_parameter_server_are_saved_and_restored(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The task that has them writes and reads the files."""
    with tf.device(PS):
        v = tf.get_variable("kept", initializer=[1.0, 2.0])
    saver = tf.train.Saver()

    with tf.Session(cluster.target()) as sess:
        sess.run(v.initializer)
        path = saver.save(sess, str(tmp_path / "model"))
        sess.run(v.assign([0.0, 0.0]))
        saver.restore(sess, path)
        assert sess.run(v).tolist() == [1.0, 2.0]


def _train(
    cluster: Cluster,
    index: int,
    folder: str,
    steps: int,
    losses: list[float],
    after_first: Callable[[], object] = lambda: None,
) -> None:
    """A worker as people wrote it: between-graph replication."""
    with tf.Graph().as_default():
        setter = tf.train.replica_device_setter(
            worker_device=f"/job:worker/task:{index}", cluster=cluster.spec
        )
        with tf.device(setter):
            x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32).reshape(8, 1))
            w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 3.0 * x))
            step = tf.train.get_or_create_global_step()
            train = tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step=step)
        hooks = [tf.train.StopAtStepHook(last_step=steps)]
        with tf.train.MonitoredTrainingSession(
            master=cluster.target(index=index),
            is_chief=index == 0,
            checkpoint_dir=folder if index == 0 else None,
            hooks=hooks,
            save_summaries_steps=None,
            save_summaries_secs=None,
            log_step_count_steps=None,
            config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"]),
        ) as sess:
            while not sess.should_stop():
                losses.append(sess.run([loss, train])[0])
                if len(losses) == 1:
                    after_first()


def test_workers_train_variables_of_a_parameter_server(tmp_path: Path) -> None:
    """Two workers share the model; training goes on from the checkpoint."""
    losses: list[list[float]] = [[], []]
    is_initialized, both_train = threading.Event(), threading.Event()

    def chief() -> None:
        def wait_for_other() -> None:
            is_initialized.set()
            both_train.wait()

        _train(cluster, 0, str(tmp_path), 60, losses[0], wait_for_other)

    def other() -> None:
        is_initialized.wait()  # or it would wait for 30 s, as MonitoredTrainingSession does
        _train(cluster, 1, str(tmp_path), 60, losses[1], both_train.set)

    with cluster_of(ps=1, worker=2) as cluster:
        threads = [threading.Thread(target=run) for run in (other, chief)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(losses[0]) + len(losses[1]) >= 59
    last = min(losses[0][-1:] + losses[1][-1:])
    assert last < 0.05 * max(losses[0][:1] + losses[1][:1])

    again: list[float] = []
    with cluster_of(ps=1, worker=2) as cluster:
        _train(cluster, 0, str(tmp_path), 65, again)
    assert again[0] < 0.1 * max(losses[0][:1] + losses[1][:1])


def test_a_server_says_what_is_wrong_with_its_definition() -> None:
    """With TensorFlow's classes and words."""
    with pytest.raises(ValueError, match="explicit `job_name`"):
        tf.train.Server({"ps": ["localhost:0"], "worker": ["localhost:0"]})
    with pytest.raises(ValueError, match="explicit `task_index`"):
        tf.train.Server({"ps": ["localhost:0", "localhost:0"]})
    with pytest.raises(TypeError, match=r"tf\.train\.ServerDef"):
        tf.train.Server("ps")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse port for local"):
        tf.train.Server({"ps": ["localhost"]})
    with pytest.raises(tf.errors.InvalidArgumentError, match='Could not interpret "nohost"'):
        tf.train.Server({"ps": ["localhost:0", "nohost"]}, task_index=0)
    for job, index, message in (
        ("other", 0, 'Job "other" was not defined in cluster'),
        ("ps", 3, 'Task 3 was not defined in job "ps"'),
    ):
        with pytest.raises(tf.errors.InternalError, match=message):
            tf.train.Server({"ps": ["localhost:0"]}, job, index)


def cluster_def(*jobs: tuple[str, dict[int, str]]) -> ClusterDef:
    """Return a cluster whose jobs may be listed twice."""
    message = ClusterDef()
    for name, tasks in jobs:
        job = message.job.add(name=name)
        for index, address in tasks.items():
            job.tasks[index] = address
    return message


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([("local", {1: "b:1"})], "Duplicate job ID in cluster specification: local"),
        ([("ps", {0: "b:1"}), ("ps", {0: "b:2"})], "Duplicate job ID in cluster specification: ps"),
        ([("ps", {0: "b"})], 'Could not interpret "b" as a host-port pair'),
        ([("", {0: "b:1"})], "no device can name: /job:/replica:0/task:0"),
        ([("p/s", {0: "b:1"})], "no device can name: /job:p/s/"),
        ([("ps", {-1: "b:1"})], "no device can name: .*/task:-1"),
    ],
)
def test_a_malformed_cluster_is_refused_at_once(
    strangers: tuple[Cluster, Cluster], others: list[tuple[str, dict[int, str]]], words: str
) -> None:
    """By a master, whose session brings it, by a worker, and by a server that is made of it."""
    address = strangers[0].spec.task_address("local", 0)
    malformed = cluster_def(("local", {0: address}), *others)
    one = tf.constant(1)

    with tf.Session(f"grpc://{address}", config=tf.ConfigProto(cluster_def=malformed)) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            sess.run(one)
    request = CreateWorkerSessionRequest(session_handle="malformed")
    request.server_def.cluster.CopyFrom(malformed)
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        strangers[0].servers["local", 0]._server.worker.create_worker_session(request)
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.train.Server(tf.train.ServerDef(cluster=malformed, job_name="local", protocol="grpc"))


def test_a_port_that_is_taken_is_an_error() -> None:
    """UnknownError, as in TensorFlow."""
    server = tf.train.Server.create_local_server()
    address = server.target.removeprefix("grpc://")
    try:
        with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server"):
            tf.train.Server({"local": [address]})
    finally:
        server.stop()


@pytest.mark.parametrize("place", ["127.0.0.1", "::1"])
def test_a_port_that_is_taken_at_one_address_of_localhost_is_an_error(place: str) -> None:
    """A client that knows both addresses would find another server at that one."""
    family = socket.AF_INET6 if ":" in place else socket.AF_INET
    try:
        taken = socket.create_server((place, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no address {place}")
    with taken, pytest.raises(tf.errors.UnknownError, match=r"localhost:\d+ is taken"):
        tf.train.Server({"local": [f"localhost:{taken.getsockname()[1]}"]})


def test_a_stopped_server_cannot_be_started_again() -> None:
    """A second stop does nothing."""
    server = tf.train.Server.create_local_server(start=False)
    with pytest.raises(tf.errors.FailedPreconditionError, match="not been started"):
        server.join()
    server.stop()
    server.stop()
    server.join()
    with pytest.raises(tf.errors.FailedPreconditionError, match="stopped"):
        server.start()


def test_a_local_cluster_for_tests_has_workers_and_parameter_servers() -> None:
    """``tf.test.create_local_cluster``."""
    workers, servers = tf.test.create_local_cluster(2, 1)
    try:
        with tf.device(PS):
            x = tf.constant(2.0) * 2.0
        with tf.Session(workers[1].target) as sess:
            assert sess.run(x) == 4.0
    finally:
        for server in [*workers, *servers]:
            server.stop()


def _edges_sent(metadata: tf.RunMetadata, receiver: bytes) -> list[int]:
    """Return how many edges each Send to a task carries."""
    return sorted(
        len(node.attr["_edges"].list.s) or 1
        for graph in metadata.partition_graphs
        for node in graph.node
        if node.op == "_Send" and node.attr["recv_device"].s.startswith(receiver)
        if not node.attr["client_terminated"].b
    )


def test_tensors_that_become_ready_together_travel_as_one(cluster: Cluster) -> None:
    """Of any type; a constant does not travel at all."""
    with tf.device(OTHER):
        values = [tf.random.uniform([3]), tf.random.uniform([], maxval=9, dtype=tf.int32)]
        values += [tf.as_string(values[1]), tf.constant([1.0, 2.0])]
    with tf.device(PS):
        moved = [tf.identity(one) for one in values]
    options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()

    with tf.Session(cluster.target()) as sess:
        sent, found = sess.run([values, moved], options=options, run_metadata=metadata)

    for one, other in zip(sent, found):
        np.testing.assert_array_equal(one, other)
    assert _edges_sent(metadata, b"/job:ps/") == [3]


def test_a_tensor_that_waits_for_another_step_of_its_task_travels_alone(cluster: Cluster) -> None:
    """What is dequeued waits for what was enqueued, which needs the other tensor elsewhere."""
    with tf.device(WORKER):
        queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
        value = tf.random.uniform([]) + 1.0
        taken = queue.dequeue()
    with tf.device(PS):
        doubled = value * 2.0
        moved = taken * 3.0
    with tf.device(WORKER):
        put = queue.enqueue(doubled)

    with tf.Session(cluster.target()) as sess:
        options = tf.RunOptions(timeout_in_ms=60_000)
        found, wanted, _ = sess.run([moved, doubled, put], options=options)

    assert found == wanted * np.float32(3.0)


def _asked_for(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the keys of the tensors that tasks ask each other for from now on."""
    asked: list[str] = []
    recv_tensor = Worker.recv_tensor

    def note(worker: Worker, step_id: int, key: str, *arguments: Any) -> Callable[[], None]:
        asked.append(key)
        return recv_tensor(worker, step_id, key, *arguments)

    monkeypatch.setattr(Worker, "recv_tensor", note)
    return asked


@pytest.mark.parametrize("worker", [WORKER, OTHER])
@pytest.mark.parametrize("uses_resource", [True, False])
def test_a_training_step_asks_no_task_for_a_tensor(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, worker: str, uses_resource: bool
) -> None:
    """The master passes small tensors on; a recorded step shows the parts that run at once."""
    with tf.device(PS):
        w = tf.get_variable(
            f"trained_at{worker[-1]}_{uses_resource}",
            initializer=[1.0, 2.0],
            use_resource=uses_resource,
        )
    with tf.device(worker):
        x = tf.placeholder(tf.float32, [2])
        loss = tf.reduce_sum(w * w * x)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    asked = _asked_for(monkeypatch)

    with tf.Session(cluster.target()) as sess:
        sess.run(w.initializer)
        assert sess.run([train, loss], {x: [1.0, 1.0]})[1] == 5.0
        assert asked == []
        assert sess.run(w).tolist() == [0.5, 1.0]
        asked.clear()

        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert sess.run([train, loss], {x: [1.0, 1.0]}, options=options)[1] == 1.25
        assert sess.run(w).tolist() == [0.25, 0.5]
        assert asked != []


def test_a_fetch_leaves_from_its_task_where_parts_run_at_once(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task of the master asks only for what may come later than its inputs."""
    with tf.device(PS):
        queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
        put, taken = queue.enqueue(3.0), queue.dequeue()
    with tf.device(OTHER):
        value = tf.random.uniform([]) + 1.0
    asked = _asked_for(monkeypatch)

    with tf.Session(cluster.target()) as sess:
        sess.run(put)
        found, random = sess.run([taken, value])

    assert found == 3.0
    assert 1.0 <= random < 2.0
    assert len(asked) == 1
    assert "/job:ps" in asked[0].partition(";")[0]


def test_a_large_tensor_goes_from_task_to_task(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The master does not copy it."""
    with tf.device(PS):
        large = tf.random.uniform([600, 600])
    with tf.device(WORKER):
        least = tf.reduce_min(large)
    asked = _asked_for(monkeypatch)

    with tf.Session(cluster.target()) as sess:
        assert sess.run(least) >= 0.0

    assert len(asked) == 1


def test_a_stage_that_fails_ends_the_step(cluster: Cluster) -> None:
    """Later stages do not run: the variable keeps its value."""
    with tf.device(PS):
        w = tf.get_variable("kept_by_failure", initializer=[1.0, 2.0])
    with tf.device(OTHER):
        index = tf.placeholder(tf.int32, [])
        picked = tf.identity(w)[index]
    with tf.device(PS):
        update = w.assign_add([picked, picked])

    with tf.Session(cluster.target()) as sess:
        sess.run(w.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"worker.*task:1"):
            sess.run(update, {index: 7})
        assert sess.run(w).tolist() == [1.0, 2.0]
        assert sess.run(update, {index: 1}).tolist() == [3.0, 4.0]


def test_a_worker_keeps_nothing_of_a_step_that_has_ended(own_cluster: Cluster) -> None:
    """Neither after one that succeeded nor after one that failed."""
    with tf.device(PS):
        source = tf.random.uniform([4])
        bad = tf.constant([1.0, 2.0])[tf.placeholder_with_default(9, [])]
    with tf.device(OTHER):
        out = tf.reduce_sum(source)
        failing = bad + out

    with tf.Session(own_cluster.target()) as sess:
        for _ in range(3):
            sess.run(out)
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(failing)
        sess.run(out)
        # Requests that clean up after a failure are not waited for; they come before the next.
        sess.list_devices()

    for server in own_cluster.servers.values():
        server._server.stop()
        assert server._server.worker.rendezvous_mgr.num_steps == 0


def test_what_only_a_session_can_name_ends_with_it(own_cluster: Cluster) -> None:
    """A queue without a shared name belongs to one session; a server does not keep it for ever."""
    server: Any = own_cluster.servers["worker", 0]
    manager = server._server.worker.devices.devices[0].resource_manager
    for count in (1, 2):
        with tf.Graph().as_default(), tf.device(WORKER), tf.Session(own_cluster.target()) as sess:
            own = tf.FIFOQueue(3, tf.int32, shapes=[[]])
            shared = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="shared")
            sess.run([own.enqueue(1), shared.enqueue(1)])
            assert sess.run([own.size(), shared.size()]) == [1, count]
            assert len(manager.names()) == 2
        assert [name for _, _, name in manager.names()] == ["shared"]


def _number_of_calls() -> Any:
    """Count by a queue that only this node can name."""
    queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], shapes=[[]])
    one = tf.raw_ops.QueueEnqueueV2(handle=queue, components=[tf.constant(1)])
    with tf.control_dependencies([one]):
        return tf.raw_ops.QueueSizeV2(handle=queue)


@pytest.mark.parametrize("is_nested", [False, True])
def test_what_only_a_function_can_name_ends_with_its_session(
    own_cluster: Cluster, is_nested: bool
) -> None:
    """A queue in the body of a function, or of a function that it calls."""
    server: Any = own_cluster.servers["worker", 0]
    manager = server._server.worker.devices.devices[0].resource_manager
    with tf.Graph().as_default(), tf.device(WORKER), tf.Session(own_cluster.target()) as sess:
        inner = function.Defun(func_name="inner", noinline=True)(_number_of_calls)
        outer = function.Defun(func_name="outer", noinline=True)(lambda: inner())
        number = outer() if is_nested else inner()
        assert [sess.run(number), sess.run(number)] == [1, 2]
        assert len(manager.names()) == 1
    assert manager.names() == []


def test_what_only_functions_of_an_iterator_can_name_ends_with_it(own_cluster: Cluster) -> None:
    """One with a shared name goes on in the next session, unless it begins another data set."""
    server: Any = own_cluster.servers["worker", 0]
    manager = server._server.worker.devices.devices[0].resource_manager

    def counted() -> tf.data.Iterator:
        dataset = tf.data.Dataset.range(9).map(lambda _: _number_of_calls())
        return tf.data.make_initializable_iterator(dataset, shared_name=shared_name)

    for shared_name, num_left in (("", 0), ("shared", 2)):
        found = []
        for is_first in (True, False):
            with tf.Graph().as_default(), tf.device(WORKER):
                iterator = counted()
                item = iterator.get_next()
                with tf.Session(own_cluster.target()) as sess:
                    if is_first or not shared_name:
                        sess.run(iterator.initializer)
                        sess.run(iterator.initializer)
                    found += [sess.run(item), sess.run(item)]
                    assert len(manager.names()) == 2
            assert len(manager.names()) == num_left
        assert found == ([1, 2, 3, 4] if shared_name else [1, 2, 1, 2])
