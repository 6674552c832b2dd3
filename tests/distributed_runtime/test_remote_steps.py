"""What observers of this process get of steps on servers: graphs, traces, progress, waits."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of
from tests.time_outs import message_of_time_out
from tfnb.core import errors
from tfnb.core.process.server_waits import server_waits
from tfnb.core.step_events import StepObserver
from tfnb.distributed_runtime import grpc_remote_master, remote_steps
from tfnb.distributed_runtime.remote_steps import NO_PROGRESS, RemoteStep
from tfnb.distributed_runtime.task_health import ClusterHealth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.step_events import PartitionedGraph, PlacedGraph

PS = "/job:ps/replica:0/task:0"
WORKERS = ("/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A parameter server and two workers."""
    with cluster_of(ps=1, worker=2) as made:
        yield made


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph for each test."""
    with tf.Graph().as_default() as made:
        yield made


def over_three_tasks() -> tuple[tf.Tensor, tf.Tensor]:
    """Return a product on one worker and its sum, after a loop, on the other one."""
    with tf.device("/job:ps/task:0"):
        table = tf.constant(1.0, shape=[100, 100], name="table") + 0.0
    with tf.device("/job:worker/task:0"):
        product = tf.matmul(table, table, name="product")
    with tf.device("/job:worker/task:1"):
        total = tf.reduce_sum(product, name="total")
        rounds = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="rounds")
    return total, rounds


def stuck() -> tf.Tensor:
    """Return what waits on a worker for a queue of the parameter server that stays empty."""
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(3, tf.float32, [[]], name="jobs", shared_name="stuck")
    with tf.device("/job:worker/task:1"):
        return tf.add(queue.dequeue(name="job"), 1.0, name="done")


class Everything(StepObserver):
    """Keeps all events of a session's steps."""

    def __init__(self) -> None:
        self.placed: dict[int, PlacedGraph] = {}
        self.partitioned: dict[int, PartitionedGraph] = {}
        self.events: list[tuple[str, tuple[Any, ...]]] = []

    def graph_placed(self, placed: PlacedGraph) -> None:
        """Keep a placement."""
        self.placed[placed.signature_id] = placed

    def graph_partitioned(self, partitioned: PartitionedGraph) -> None:
        """Keep partitions."""
        self.partitioned[partitioned.signature_id] = partitioned

    def step_started(self, *about: Any) -> None:
        """Keep an event."""
        self.events.append(("step_started", about))

    def node_started(self, *about: Any) -> None:
        """Keep an event."""
        self.events.append(("node_started", about))

    def node_done(self, *about: Any) -> None:
        """Keep an event."""
        self.events.append(("node_done", about))

    def tensor_sent(self, *about: Any) -> None:
        """Keep an event."""
        self.events.append(("tensor_sent", about))

    def tensor_received(self, *about: Any) -> None:
        """Keep an event."""
        self.events.append(("tensor_received", about))

    def iteration_started(self, *about: Any) -> None:
        """Keep an event."""
        self.events.append(("iteration_started", about))

    def step_done(self, *about: Any) -> None:
        """Keep an event."""
        self.events.append(("step_done", about))

    def all(self, name: str) -> list[tuple[Any, ...]]:
        """Return the arguments of the events of one kind."""
        return [about for kind, about in self.events if kind == name]


def observed(cluster: Cluster, fetches: Any) -> Everything:
    """Run a step that an observer of nodes sees."""
    observer = Everything()
    with tf.Session(cluster.target()) as sess:
        sess.runtime.step_events.add(observer)
        sess.run(fetches)
    return observer


def test_a_signature_is_placed_and_cut_by_task_before_it_is_traced(cluster: Cluster) -> None:
    """Reasons included: the plan is that of tfnb's master."""
    total, _ = over_three_tasks()
    with tf.Session(cluster.target()) as sess:
        sess.run(total)
        sess.runtime.report_signatures()
        ((placed, partitioned),) = sess.runtime.step_events.signatures()

        assert sess.runtime.last_run()[1] == partitioned.signature_id
    assert [view.device for view in partitioned.partitions] == [
        f"{task}/device:CPU:0" for task in (PS, *WORKERS)
    ]
    reasons = {view.node: view.why for view in placed.placements}
    assert "was asked to be on '/job:worker/task:0'" in reasons["product"]


def test_a_traced_step_has_the_nodes_of_all_tasks(cluster: Cluster) -> None:
    """Each with its task, and the server's own graphs."""
    observer = observed(cluster, over_three_tasks())

    ((_, signature_id, _),) = observer.all("step_started")
    views = observer.partitioned[signature_id].partitions
    ran = {
        (views[about[1]].device, views[about[1]].node_names[about[2]])
        for about in observer.all("node_done")
    }
    assert (f"{WORKERS[0]}/device:CPU:0", "product") in ran
    assert (f"{WORKERS[1]}/device:CPU:0", "total") in ran
    assert {device for device, _ in ran} == {f"{task}/device:CPU:0" for task in (PS, *WORKERS)}


def test_transfers_between_tasks_have_bytes_and_arrive_after_they_are_sent(
    cluster: Cluster,
) -> None:
    """The product crosses from one worker to the other."""
    observer = observed(cluster, over_three_tasks())

    (partitioned,) = observer.partitioned.values()
    edges = {
        (view.index, node): edge for view in partitioned.partitions for node, edge in view.send_recv
    }
    sent = {edges[about[1:3]]: about for about in observer.all("tensor_sent")}
    received = {edges[about[1:3]]: about for about in observer.all("tensor_received")}
    (product,) = [edge for edge in received if edge.endswith("_product")]
    assert received[product][3] == 40_000
    assert sent[product][3] == 40_000
    assert all(sent[edge][4] <= about[4] for edge, about in received.items())


def test_a_loop_on_a_server_has_iterations(cluster: Cluster) -> None:
    """The n-th run of a node is iteration n."""
    observer = observed(cluster, over_three_tasks()[1])

    assert sorted(about[3] for about in observer.all("iteration_started")) == [0, 1, 2, 3]


def test_events_are_inside_the_step(cluster: Cluster) -> None:
    """By the clock of the client."""
    observer = observed(cluster, over_three_tasks())

    ((*_, begin),) = observer.all("step_started")
    ((_, end, error),) = observer.all("step_done")
    times = [about[5] for about in observer.all("node_started")]
    assert error is None
    assert begin <= min(times) <= max(times) <= end


def test_the_caller_gets_only_the_metadata_that_it_asked_for(cluster: Cluster) -> None:
    """Although an observer had the step traced."""
    metadata = tf.RunMetadata()
    with tf.Session(cluster.target()) as sess:
        sess.runtime.step_events.add(Everything())
        total, _ = over_three_tasks()
        sess.run(total, run_metadata=metadata)
        assert not metadata.step_stats.dev_stats
        assert not metadata.partition_graphs
        traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(total, options=traced, run_metadata=metadata)

    assert metadata.step_stats.dev_stats
    assert not metadata.partition_graphs


def test_a_trace_lists_received_tensors_as_tensorflows_workers_do(cluster: Cluster) -> None:
    """By the task that received them, with bytes and speed."""
    metadata = tf.RunMetadata()
    with tf.Session(cluster.target()) as sess:
        traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(over_three_tasks()[0], options=traced, run_metadata=metadata)

    labels = [
        (device.device, node.timeline_label)
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        if node.node_name == "RecvTensor"
    ]
    form = r"\[40000B\] \[[\d.]+[MG]b/s\] edge_\d+_product from \S+ to \S+"
    assert [device for device, label in labels if re.fullmatch(form, label)] == [
        f"{WORKERS[1]}/device:CPU:0"
    ]


class Waiting:
    """A step that waits in another thread, until it is ended."""

    def __init__(self, session: tf.Session, fetch: tf.Tensor) -> None:
        self.error: BaseException | None = None
        self._session, self._fetch = session, fetch
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._session.run(self._fetch)
        except tf.errors.OpError as error:
            self.error = error

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()


def waiting_text(session: tf.Session, wanted: str) -> str:
    """Return what a session waits for once it contains a text."""
    while wanted not in (text := session.waiting()):
        pass
    return text


def test_a_waiting_step_names_its_tasks_and_what_they_wait_for(cluster: Cluster) -> None:
    """The cause comes first, then who waits for it."""
    session = tf.Session(cluster.target())
    step = Waiting(session, stuck())
    text = waiting_text(session, "'job/_")
    session.close()
    step.join()

    cause, *rest = [line for line in text.splitlines() if " waits for " in line]
    assert f"{PS}: 'job' (QueueDequeueV2) waits for elements of queue 'stuck'" in cause
    assert any(f"{WORKERS[1]}: 'job/_" in line and f"from {PS}" in line for line in rest)
    assert isinstance(step.error, tf.errors.CancelledError)


def test_the_error_of_a_deadline_names_the_task(cluster: Cluster) -> None:
    """As in a session of this process."""
    fetch = stuck()
    words = f"{PS}: 'job' (QueueDequeueV2) waits for elements of queue"
    with tf.Session(cluster.target()) as sess:
        message = message_of_time_out(
            lambda limit: sess.run(fetch, options=tf.RunOptions(timeout_in_ms=limit)), words
        )

    assert words in message


def test_an_observed_step_can_be_ended_by_another_thread(cluster: Cluster) -> None:
    """As the side panel does."""
    session = tf.Session(cluster.target())
    session.runtime.step_events.add(Everything())
    step = Waiting(session, stuck())
    while not (active := session.runtime.active_steps()) or active[0].call is None:
        pass
    active[0].end(errors.cancelled("It was enough."))
    step.join()
    session.close()

    assert isinstance(step.error, tf.errors.CancelledError)
    assert "It was enough." in step.error.message


def test_progress_counts_the_nodes_of_every_task(cluster: Cluster) -> None:
    """While the step waits, those before the wait have run."""
    with tf.device("/job:worker/task:0"):
        before = tf.negative(tf.random_uniform([2]), name="before")
    fetch = stuck() + tf.reduce_sum(before)
    session = tf.Session(cluster.target())
    session.runtime.step_events.add(Counting())
    step = Waiting(session, fetch)
    ran: set[str] = set()
    while "before" not in ran:
        for counts in session.runtime.step_counts().values():
            ((_, partitioned),) = session.runtime.step_events.signatures()
            names = [name for view in partitioned.partitions for name in view.node_names]
            ran = {name for name, live in zip(names, counts.nodes()[0]) if live}
    session.close()
    step.join()

    assert "done" not in ran


class Counting(StepObserver):
    """Accepts counts in place of nodes, as a live view does."""

    takes_counts = True

    def node_done(self, *about: Any) -> None:
        """Never called here."""


def test_a_server_that_tells_nothing_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow's servers answer Logging without entries."""
    now = 100.0
    monkeypatch.setattr(remote_steps, "monotonic", lambda: now)
    step = RemoteStep(1, ["x:0"], None)
    assert step.lines() == []
    now += 2.0

    assert step.lines() == [NO_PROGRESS]


def test_a_session_that_waits_names_the_missing_task(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log, and for the panel; it goes on when the task is there."""
    monkeypatch.setattr(grpc_remote_master, "_FIRST_REPORT_S", 0.05)
    monkeypatch.setattr(grpc_remote_master, "_NEXT_REPORT_S", 0.05)
    with cluster_of(started=False, ps=1, worker=1) as parts:
        parts.start("worker")
        found: list[Any] = []
        session = tf.Session(parts.target())
        one = tf.constant(1.0)
        thread = threading.Thread(target=lambda: found.append(session.run(one)))
        thread.start()
        while not any(PS in wait.tasks for wait in server_waits()):
            pass
        (wait,) = server_waits()
        assert wait.method == "CreateSession"
        assert f"waits for {PS}" in wait.text
        assert "device_filters" in wait.advice
        parts.start("ps")
        thread.join()
        session.close()

    assert found == [1.0]
    assert server_waits() == []
    assert any(PS in record.getMessage() for record in caplog.records)


def test_a_task_tells_its_memory_and_one_that_is_stopped_does_not_answer() -> None:
    """Each task by its name, whatever it was asked as."""
    with cluster_of(ps=1, worker=1) as parts:
        tasks = {parts.spec.task_address(job, 0): "" for job in ("ps", "worker")}
        health = ClusterHealth()
        found = {one.task: one for one in health.look(tasks, 60.0)}
        assert all(one.answers for one in found.values())
        assert "MB resident" in found[PS].about
        assert [name for name, _, _ in found[PS].devices] == [f"{PS}/device:CPU:0"]
        parts.stop("ps")
        health.close()
        after = {one.address: one for one in health.look(tasks, 60.0)}
        health.close()

    assert not after[parts.spec.task_address("ps", 0)].answers
    assert after[parts.spec.task_address("worker", 0)].answers
