"""What observers of this process get of steps on servers: graphs, traces, progress, waits."""

from __future__ import annotations

import re
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of
from tests.time_outs import message_of_time_out
from tfnb.core import errors
from tfnb.core.process.server_waits import server_waits
from tfnb.core.step_events import StepObserver
from tfnb.distributed_runtime import grpc_remote_master, remote_steps, remote_trace
from tfnb.distributed_runtime.partition_views import partitioned_step
from tfnb.distributed_runtime.remote_steps import NO_PROGRESS, RemoteStep
from tfnb.distributed_runtime.remote_trace import RemoteTrace
from tfnb.distributed_runtime.task_health import ClusterHealth
from tfnb.proto.config_pb2 import CallableOptions

if TYPE_CHECKING:
    from tfnb.core.step_events import PartitionedGraph, PlacedGraph

JOBS = {"ps": 1, "worker": 2}
PS = "/job:ps/replica:0/task:0"
WORKERS = ("/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1")


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

    def __init__(self, session: tf.Session, fetch: tf.Tensor, run: Any = None) -> None:
        self.error: BaseException | None = None
        self._step = run or (lambda: session.run(fetch))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._step()
        except tf.errors.OpError as error:
            self.error = error

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()


def waiting_text(session: tf.Session, *wanted: str) -> str:
    """Return what a session waits for once it contains all texts: tasks begin one by one."""
    while True:
        text = session.waiting()
        if all(one in text for one in wanted):
            return text


def test_a_waiting_step_names_its_tasks_and_what_they_wait_for(cluster: Cluster) -> None:
    """The cause comes first, then who waits for it."""
    session = tf.Session(cluster.target())
    step = Waiting(session, stuck())
    text = waiting_text(session, "'job/_", "(QueueDequeueV2)")
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

    def __init__(self) -> None:
        self.num_counted = 0
        self.started: list[int] = []
        self.done: list[tuple[int, str | None]] = []

    def node_done(self, *about: Any) -> None:
        """Never called here."""

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Keep a step."""
        self.started.append(step_id)

    def step_counted(self, step_id: int, counts: Any) -> None:
        """Count."""
        self.num_counted += 1

    def step_done(self, step_id: int, t_ns: int, error: str | None) -> None:
        """Keep the end of a step."""
        self.done.append((step_id, error))


def test_a_callable_sends_the_events_of_its_nodes(cluster: Cluster) -> None:
    """Each call is a step; without observers, nothing is traced, and nothing is left at the end."""
    total, _ = over_three_tasks()
    observer = Everything()
    with tf.Session(cluster.target()) as sess:
        call = sess._make_callable_from_options(CallableOptions(fetch=[total.name]))
        (session,) = cluster.servers["worker", 0]._server.master._sessions.values()
        before = call()
        assert len(session._callables) == 1
        sess.runtime.step_events.add(observer)
        assert [call(), call()] == [before, before]
        assert len(session._callables) == 2
        sess.runtime.step_events.remove(observer)
        call()
        sess.runtime.release_callable(call._handle)
        assert not session._callables

    (first, second) = observer.all("step_started")
    assert first[1] == second[1]
    views = observer.partitioned[first[1]].partitions
    for step_id in (first[0], second[0]):
        ran = {
            views[about[1]].node_names[about[2]]
            for about in observer.all("node_done")
            if about[0] == step_id
        }
        assert {"product", "total"} <= ran
    assert [about[2] for about in observer.all("step_done")] == [None, None]


def test_a_callable_with_connections_is_planned_with_them(cluster: Cluster) -> None:
    """Its plan has the nodes that take the place of others."""
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder_with_default([1.0, 2.0], [2], name="x")
        tf.negative(x, name="minus")
        c = tf.placeholder_with_default([7.0, 7.0], [2], name="c")
        tens = tf.multiply(c, 10.0, name="tens")
    options = CallableOptions(fetch=[tens.name])
    options.tensor_connection.add(from_tensor="minus:0", to_tensor="c:0")
    observer = Counting()
    with tf.Session(cluster.target()) as sess:
        sess.runtime.step_events.add(observer)
        assert sess._make_callable_from_options(options)()[0].tolist() == [-10.0, -20.0]
        ((_, partitioned),) = sess.runtime.step_events.signatures()

    assert partitioned is not None
    names = {name for view in partitioned.partitions for name in view.node_names}
    assert {"minus", "tens"} <= names
    assert "c" not in names
    assert observer.num_counted == 1


def test_a_callable_that_waits_names_the_task(cluster: Cluster) -> None:
    """As a step does, and another thread can end it."""
    session = tf.Session(cluster.target())
    session.runtime.step_events.add(Counting())
    call = session._make_callable_from_options(CallableOptions(fetch=[stuck().name]))
    step = Waiting(session, None, call)
    text = waiting_text(session, "'job' (QueueDequeueV2) waits")
    (active,) = session.runtime.active_steps()
    active.end(errors.cancelled("It was enough."))
    step.join()
    session.close()

    assert PS in text
    assert isinstance(step.error, tf.errors.CancelledError)
    assert "It was enough." in step.error.message


def in_parts(session: tf.Session) -> tuple[str, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Begin a partial run over two tasks; return its handle, two feeds and what needs each."""
    with tf.device("/job:ps/task:0"):
        a = tf.placeholder(tf.float32, [], name="a")
        first = tf.add(a, 1.0, name="first")
    with tf.device("/job:worker/task:1"):
        b = tf.placeholder(tf.float32, [], name="b")
        second = tf.check_numerics(tf.multiply(first, b), "bad", name="second")
    return session.partial_run_setup([first, second], [a, b]), a, b, first, second


def test_a_partial_run_is_one_step_from_its_setup_to_its_last_part(cluster: Cluster) -> None:
    """Its nodes are counted at the end; between two parts, what has run is known."""
    observer = Counting()
    with tf.Session(cluster.target()) as sess:
        sess.runtime.step_events.add(observer)
        handle, a, b, first, second = in_parts(sess)
        assert [len(one) for one in (observer.started, observer.done)] == [1, 0]
        assert sess.partial_run(handle, first, {a: 2.0}) == 3.0
        (step,) = sess.runtime.active_steps()
        ran: set[str] = set()
        # The part of the parameter server has ended; the worker has got its result.
        while not any(name.startswith("first/_") for name in ran):
            ((_, partitioned),) = sess.runtime.step_events.signatures()
            assert partitioned is not None
            names = [name for view in partitioned.partitions for name in view.node_names]
            for counts in sess.runtime.step_counts().values():
                ran = {name for name, live in zip(names, counts.nodes()[0]) if live}
        assert "second" not in ran
        assert not observer.done
        assert sess.partial_run(handle, second, {b: 10.0}) == 30.0
        assert sess.runtime.active_steps() == []

    assert observer.num_counted == 1
    assert observer.started == [step.step_id]
    assert observer.done == [(step.step_id, None)]


def test_a_part_that_is_refused_leaves_the_step_of_a_partial_run(cluster: Cluster) -> None:
    """It goes on with the next part."""
    observer = Counting()
    with tf.Session(cluster.target()) as sess:
        sess.runtime.step_events.add(observer)
        handle, a, b, first, second = in_parts(sess)
        sess.partial_run(handle, first, {a: 2.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="already been fed"):
            sess.partial_run(handle, second, {a: 2.0})
        assert not observer.done
        assert sess.partial_run(handle, second, {b: 1.0}) == 3.0

    assert [error for _, error in observer.done] == [None]


def test_a_part_that_fails_ends_the_step_of_a_partial_run(cluster: Cluster) -> None:
    """With its error."""
    observer = Counting()
    with tf.Session(cluster.target()) as sess:
        sess.runtime.step_events.add(observer)
        handle, a, b, first, second = in_parts(sess)
        sess.partial_run(handle, first, {a: 2.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            sess.partial_run(handle, second, {b: float("inf")})
        assert sess.runtime.active_steps() == []

    ((_, error),) = observer.done
    assert error is not None
    assert error.startswith("InvalidArgumentError")


def test_a_partial_run_that_is_not_ended_ends_with_its_session(cluster: Cluster) -> None:
    """Observers get its end."""
    observer = Counting()
    with tf.Session(cluster.target()) as sess:
        sess.runtime.step_events.add(observer)
        in_parts(sess)

    ((_, error),) = observer.done
    assert "Session::Close" in error


def test_an_iteration_count_of_a_trace_takes_time_that_grows_with_its_events() -> None:
    """Many Exits after many iterations: twice as many of both are twice the work."""

    def count_lines(size: int) -> int:
        """Return how many lines run for a loop of ``size`` iterations with ``size`` Exits."""
        graph_def = tf.GraphDef()
        device = "/job:worker/replica:0/task:0/device:CPU:0"
        for name, op, inputs in [
            ("enter", "Enter", []),
            ("merge", "Merge", ["enter"]),
            *((f"exit{number}", "Exit", ["merge"]) for number in range(size)),
        ]:
            node = graph_def.node.add(name=name, op=op, input=inputs, device=device)
            if op == "Enter":
                node.attr["frame_name"].s = b"loop"
        step = partitioned_step(1, [graph_def], ((), (), ()))
        stats = tf.RunMetadata().step_stats
        of_device = stats.dev_stats.add(device=device)
        for number in range(size):
            of_device.node_stats.add(node_name="merge", all_start_micros=1 + number)
            of_device.node_stats.add(node_name=f"exit{number}", all_start_micros=1 + size)
        trace = RemoteTrace(step, stats, 0, 10**18)
        num_lines = 0

        def note(frame: Any, event: str, argument: object) -> Any:
            nonlocal num_lines
            if frame.f_code.co_filename != remote_trace.__file__:
                return None
            num_lines += 1
            return note

        before = sys.gettrace()
        sys.settrace(note)
        try:
            events = list(trace._events())
        finally:
            sys.settrace(before)
        exits = [about for *_, name, about in events if name == "node_done" and about[1] > 1]
        assert {about[3] for about in exits} == {size - 1}
        return num_lines

    assert count_lines(200) < 2.5 * count_lines(100)


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
