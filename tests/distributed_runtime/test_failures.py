"""What fails between a client, a master and a worker: cut and held connections, wrong servers."""

from __future__ import annotations

import os
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tests.distributed_runtime.proxy import proxy_before
from tests.interrupts import interrupted
from tfnb.distributed_runtime import grpc_remote_master, grpc_session

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from tests.distributed_runtime.clusters import Cluster

JOBS = {"ps": 1, "worker": 1}
PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def cluster(own_cluster: Cluster) -> Cluster:
    """Tests of this file stop its tasks."""
    return own_cluster


def _path(cluster: Cluster, job: str) -> str:
    return cluster.spec.task_address(job, 0).removeprefix("unix:")


def _in_thread(run: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """Run in a thread; return it, and a list that gets the error."""
    caught: list[BaseException] = []

    def guarded() -> None:
        try:
            run()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    return thread, caught


def _wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        pass


def _num_steps(cluster: Cluster, job: str) -> int:
    return cluster.servers[job, 0]._server.num_steps


def _waiting(device: str, name: str = "waits") -> tf.Tensor:
    """Build a step that waits for ever on a task."""
    with tf.device(device):
        return tf.FIFOQueue(1, tf.float32, shapes=[[]], name=name).dequeue()


def test_a_connection_to_a_worker_that_breaks_in_a_step_names_the_task(cluster: Cluster) -> None:
    """As when the worker is killed: UnavailableError, and the master's part of the step ends."""
    taken = _waiting(PS)
    with tf.device(WORKER):
        out = taken + 1.0

    with proxy_before(_path(cluster, "ps")) as proxy, tf.Session(cluster.target()) as sess:
        thread, caught = _in_thread(lambda: sess.run(out))
        _wait_until(lambda: _num_steps(cluster, "ps") == 1)
        proxy.cut()
        thread.join()

    assert isinstance(caught[0], tf.errors.UnavailableError)
    assert "/job:ps/replica:0/task:0" in str(caught[0])
    _wait_until(lambda: _num_steps(cluster, "worker") == 0)


def test_a_worker_that_does_not_answer_is_waited_for_until_the_deadline(cluster: Cluster) -> None:
    """As one that was stopped, or behind a partition of the network; other sessions go on."""
    with tf.device(PS):
        x = tf.constant(1.0) * tf.placeholder_with_default(2.0, [])
    with tf.device(WORKER):
        y = x + 1.0
    with tf.Graph().as_default() as own, tf.device(WORKER):
        here = tf.constant(5.0) + 0.0
    options = tf.RunOptions(timeout_in_ms=200)

    with proxy_before(_path(cluster, "ps")) as proxy, tf.Session(cluster.target()) as sess:
        assert sess.run(y) == 3.0
        proxy.hold()
        with pytest.raises(tf.errors.DeadlineExceededError, match="timeout_in_ms"):
            sess.run(y, options=options)
        config = tf.ConfigProto(device_filters=[WORKER])
        with tf.Session(cluster.target(), own, config) as other:
            assert other.run(here) == 5.0
        proxy.close()


def test_a_master_that_does_not_answer_is_waited_for_until_the_deadline(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with the limit of the configuration, and while a session is opened or closed."""
    monkeypatch.setattr(grpc_session, "_CLOSE_S", 0.1)
    one = tf.constant(1.0)
    config = tf.ConfigProto(operation_timeout_in_ms=200)

    with proxy_before(_path(cluster, "worker")) as proxy:
        sess = tf.Session(cluster.target())
        assert sess.run(one) == 1.0
        proxy.hold()
        with pytest.raises(tf.errors.DeadlineExceededError, match="operation_timeout_in_ms"):
            sess.run(one, options=tf.RunOptions(timeout_in_ms=200))
        sess.close()
        with (
            tf.Session(cluster.target(), config=config) as new,
            pytest.raises(tf.errors.DeadlineExceededError),
        ):
            new.run(one)
        proxy.close()


def test_a_connection_to_the_master_that_breaks_ends_the_step_on_all_tasks(
    cluster: Cluster,
) -> None:
    """As when the client, or the master, is killed: both sides see it."""
    taken = _waiting(PS)

    with proxy_before(_path(cluster, "worker")) as proxy, tf.Session(cluster.target()) as sess:
        thread, caught = _in_thread(lambda: sess.run(taken))
        _wait_until(lambda: _num_steps(cluster, "ps") == 1)
        proxy.cut()
        thread.join()
        _wait_until(lambda: _num_steps(cluster, "ps") == 0)

    assert isinstance(caught[0], tf.errors.UnavailableError)
    assert "open a new session" in str(caught[0])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["step", "step with a deadline", "callable"])
def test_an_interrupt_ends_the_step_on_all_tasks(cluster: Cluster, way: str) -> None:
    """Ctrl-C, while a task waits; the session works afterwards."""
    taken = _waiting(PS)
    with tf.device(WORKER):
        out = taken + 1.0
        other = tf.constant(2.0) * 3.0

    with tf.Session(cluster.target()) as sess:
        options = tf.RunOptions(timeout_in_ms=250_000)
        ways: dict[str, Callable[[], object]] = {
            "step": lambda: sess.run(out),
            "step with a deadline": lambda: sess.run(out, options=options),
            "callable": lambda: sess.make_callable(out)(),
        }
        interrupted(ways[way], lambda: _wait_until(lambda: _num_steps(cluster, "ps") == 1))

        for job in cluster.spec.jobs:
            _wait_until(lambda job=job: _num_steps(cluster, job) == 0)  # type: ignore[misc]
        assert sess.run(other) == 6.0


def test_a_step_is_never_sent_twice(cluster: Cluster) -> None:
    """Whatever happens to its connection; the next step uses a new one."""
    with tf.device(PS):
        taken = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
        fed = tf.placeholder(tf.float32, [], name="fed_once")
        out = taken + fed
        v = tf.get_variable("counts", initializer=0.0)
        add = v.assign_add(fed)

    with proxy_before(_path(cluster, "worker")) as proxy, tf.Session(cluster.target()) as sess:
        sess.run(v.initializer)
        del proxy.sent[:]
        thread, caught = _in_thread(lambda: sess.run(out, {fed: 1.0}))
        _wait_until(lambda: _num_steps(cluster, "ps") == 1)
        assert proxy.sent.count(b"fed_once:0") == 1
        proxy.cut()
        thread.join()
        assert isinstance(caught[0], tf.errors.UnavailableError)
        assert proxy.sent.count(b"fed_once:0") == 1
        while True:
            try:
                found = sess.run(add, {fed: 1.0})
                break
            except tf.errors.UnavailableError:  # the connection is not there again yet
                continue
        assert found == 1.0


@pytest.mark.slow
def test_a_killed_client_leaves_no_step_and_its_session_is_collected(cluster: Cluster) -> None:
    """The step ends at once; the session when it was not used for long."""
    script = f"""
import tfnb as tf
with tf.device({PS!r}):
    taken = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
with tf.Session({cluster.target()!r}) as sess:
    sess.run(taken)
"""
    client = subprocess.Popen([sys.executable, "-c", script])
    try:
        _wait_until(lambda: _num_steps(cluster, "ps") == 1)
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait()
    _wait_until(lambda: _num_steps(cluster, "ps") == 0)

    server = cluster.servers["worker", 0]._server
    _wait_until(lambda: server.num_steps == 0)
    assert server.num_sessions == 1
    assert server.master.collect(idle_s=3600) == 0
    _wait_until(lambda: server.master.collect(idle_s=0) == 1)  # its step's thread returns
    assert server.num_sessions == 0
    _wait_until(lambda: not cluster.servers["ps", 0]._server.worker._sessions)


def test_a_session_whose_step_is_in_flight_is_not_collected(cluster: Cluster) -> None:
    """However long it waits; one that was collected says so."""
    taken = _waiting(PS)
    master = cluster.servers["worker", 0]._server.master

    with tf.Session(cluster.target()) as sess:
        thread, caught = _in_thread(lambda: sess.run(taken))
        _wait_until(lambda: _num_steps(cluster, "ps") == 1)
        assert master.collect(idle_s=0) == 0
        sess.close()
        thread.join()
        assert isinstance(caught[0], tf.errors.CancelledError)
    with tf.Session(cluster.target()) as sess:
        sess.run(tf.constant(1.0))
        _wait_until(lambda: master.collect(idle_s=0) == 1)  # the step's thread returns
        with pytest.raises(tf.errors.AbortedError, match="collected"):
            sess.run(tf.constant(1.0))


def test_a_client_that_reads_slowly_holds_up_no_other(cluster: Cluster) -> None:
    """Its answer waits in the connection."""
    big = tf.ones([1 << 20])
    small = tf.constant(1.0)

    with proxy_before(_path(cluster, "worker")) as proxy:
        slow = tf.Session(cluster.target())
        slow.run(small)
        path = f"{proxy.path}.s"
        with tf.Session(f"grpc://unix:{path}") as other:
            assert other.run(small) == 1.0
            proxy.hold()
            thread, _ = _in_thread(lambda: slow.run(big))
            for _ in range(20):
                assert other.run(small) == 1.0
            slow.detach()
            thread.join()
        proxy.close()


# -- what is no server of TensorFlow ---------------------------------------------------------------


@contextmanager
def _listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Yield the address of a socket whose connections are given to a function."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            answer(self.request)

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

    with tempfile.TemporaryDirectory(prefix="tfnb") as folder:
        path = os.path.join(folder, "s")
        server = Server(path, Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"unix:{path}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _answer_http(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def _answer_tls(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(bytes([21, 3, 3, 0, 2, 2, 10]))  # an alert: unexpected message


def _say_nothing(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


@pytest.mark.parametrize(
    ("answer", "message"),
    [(_answer_http, "HTTP server"), (_answer_tls, "grpcs://")],
    ids=["http", "tls"],
)
def test_a_server_of_another_protocol_is_refused(
    answer: Callable[[socket.socket], None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as it is looked at, instead of being waited for."""
    monkeypatch.setattr(grpc_remote_master, "_FIRST_REPORT_S", 0.01)
    with (
        _listening(answer) as address,
        tf.Session(f"grpc://{address}") as sess,
        pytest.raises(tf.errors.UnavailableError, match=message),
    ):
        sess.run(tf.constant(1.0))


def test_a_server_that_says_nothing_is_waited_for_until_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reports say that it does not speak as gRPC does."""
    monkeypatch.setattr(grpc_remote_master, "_PROBE_S", 0.05)
    config = tf.ConfigProto(operation_timeout_in_ms=100)
    with _listening(_say_nothing) as address:
        target = f"grpc://{address}"
        with (
            tf.Session(target, config=config) as sess,
            pytest.raises(tf.errors.DeadlineExceededError),
        ):
            sess.run(tf.constant(1.0))
        assert "the server says nothing" in grpc_remote_master._look_at(address, target)[0]


def test_a_graph_of_a_newer_version_is_refused(cluster: Cluster) -> None:
    """With both versions."""
    x = tf.constant(1.0)
    graph_def = x.graph.as_graph_def()
    graph_def.versions.producer = graph_def.versions.min_consumer = 1_000_000
    with tf.Session(cluster.target()) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="1000000"):
            sess.runtime.create(graph_def)
        assert sess.run(x) == 1.0


def test_a_message_that_is_too_large_is_refused_before_it_is_read() -> None:
    """With the size, and how the limit is changed; the session goes on."""
    from tfnb.distributed_runtime.server_lib import GrpcServer

    with tempfile.TemporaryDirectory(prefix="tfnb") as folder:
        definition = tf.train.ServerDef(job_name="local", protocol="grpc")
        definition.cluster.job.add(name="local").tasks[0] = f"unix:{folder}/s"
        server = GrpcServer(definition, max_message_bytes=100_000)
        server.start()
        try:
            x = tf.placeholder(tf.float32, [None])
            total = tf.reduce_sum(x)
            with tf.Session(server.target) as sess:
                assert sess.run(total, {x: np.ones(10)}) == 10
                with pytest.raises(tf.errors.ResourceExhaustedError, match="max-message-mb"):
                    sess.run(total, {x: np.ones(100_000)})
                assert sess.run(total, {x: np.ones(10)}) == 10
        finally:
            server.stop()


def test_a_step_that_ends_early_ends_on_the_only_task_that_runs_it(cluster: Cluster) -> None:
    """At its deadline, and by the end of its session; steps of others at the same task go on."""
    servers = {job: cluster.servers[job, 0]._server for job in ("ps", "worker")}
    with tf.device(PS):
        queue = tf.FIFOQueue(9, tf.float32, shapes=[[]], shared_name="shared")
        other = tf.FIFOQueue(9, tf.float32, shapes=[[]], shared_name="other")
        taken, put, kept = queue.dequeue(), other.enqueue(1.0), other.dequeue()

    with tf.Session(cluster.target()) as sess, tf.Session(cluster.target()) as ended:
        waiting, of_waiting = _in_thread(lambda: sess.run(kept))
        closed, of_closed = _in_thread(lambda: ended.run(taken))
        _wait_until(lambda: servers["ps"].num_steps == 2)
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(taken, options=tf.RunOptions(timeout_in_ms=200))
        ended.close()
        closed.join()
        _wait_until(lambda: servers["ps"].num_steps == 1)
        sess.run(put)
        waiting.join()
        assert sess.run([put, kept]) == [None, 1.0]

    assert [type(error) for error in of_closed] == [tf.errors.CancelledError]
    assert of_waiting == []
    _wait_until(lambda: servers["ps"].num_steps == servers["worker"].num_steps == 0)
