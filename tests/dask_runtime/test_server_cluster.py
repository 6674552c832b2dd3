"""``tfnb.dask.start_cluster``: real servers in real workers, and what ends them."""

from __future__ import annotations

import os
import signal
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("grpc")
# A warning as an error in a thread of Dask would keep it from starting a killed worker again.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph for each test."""
    with tf.Graph().as_default() as made:
        yield made


def test_a_session_runs_over_servers_in_workers(client: Any) -> None:
    """The ClusterSpec has a task for each worker; the target is the first of the workers."""
    with tf.dask.start_cluster(client, {"ps": 1, "worker": 1}) as cluster:
        assert cluster.spec.as_dict().keys() == {"ps", "worker"}
        assert cluster.target == cluster.target_of("worker")
        assert cluster.target.startswith("grpc://localhost:")
        assert sorted(cluster.workers.values()) == [0, 1]
        with tf.device(tf.train.replica_device_setter(cluster=cluster.spec)):
            count = tf.get_variable("count", initializer=0)
            more = count.assign_add(1)
        assert "ps" in count.device
        with tf.Session(cluster.target) as sess:
            sess.run(count.initializer)
            assert sess.run(more) == 1
            names = [device.name for device in sess.list_devices()]
        assert any(name.startswith("/job:ps/") for name in names)


def test_stopping_ends_the_servers_and_not_the_workers(client: Any) -> None:
    """A step fails, the workers answer, and another cluster starts; a second stop does nothing."""
    cluster = tf.dask.start_cluster(client, {"worker": 2})
    one = tf.constant(1)
    with tf.Session(cluster.target) as sess:
        assert sess.run(one) == 1
        cluster.stop()
        cluster.stop()
        with pytest.raises(tf.errors.OpError):
            sess.run(one + 1)
    assert client.submit(abs, -3, pure=False).result() == 3
    with tf.dask.start_cluster(client, {"worker": 2}) as again, tf.Session(again.target) as sess:
        assert sess.run(one) == 1


def test_a_killed_worker_is_told_and_its_server_comes_again(client: Any) -> None:
    """The step fails with UnavailableError; a new session works once Dask has a new worker."""
    with tf.dask.start_cluster(client, {"ps": 1, "worker": 1}) as cluster:
        with tf.device("/job:ps/task:0"):
            count = tf.get_variable("count", initializer=5)
        with tf.device("/job:worker/task:0"):
            twice = count * 2
        with tf.Session(cluster.target) as sess:
            sess.run(count.initializer)
            assert sess.run(twice) == 10
            names = client.run(_name_and_process)
            [process] = [
                number for name, number in names.values() if name == cluster.workers["ps", 0]
            ]
            os.kill(process, signal.SIGKILL)
            with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
                _run_for_ever(sess, twice)
        # Opening waits until the task is there again.
        with tf.Session(cluster.target) as sess:
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                sess.run(twice)
            sess.run(count.initializer)
            assert sess.run(twice) == 10


def test_a_server_that_comes_again_waits_for_its_port() -> None:
    """Another process may have the port meanwhile: the others of the cluster know no other one."""
    from tfnb.dask_runtime.worker_plugins import ServerPlugin

    taken = socket.create_server(("localhost", 0))
    address = f"localhost:{taken.getsockname()[1]}"
    plugin = ServerPlugin({"ps": [address]}, {0: ("ps", 0)}, b"", None, ["tcp://first"])
    with pytest.raises(tf.errors.UnknownError, match="is taken"):
        plugin.setup(SimpleNamespace(name=0, address="tcp://first"))
    started_again = SimpleNamespace(name=0, address="tcp://second")
    plugin.setup(started_again)
    try:
        taken.close()
        with tf.Session(f"grpc://{address}") as sess:  # opening waits for the server
            assert sess.run(tf.constant(1)) == 1
    finally:
        plugin.teardown(started_again)


def test_a_worker_that_ends_does_not_wait_for_the_port_of_its_server() -> None:
    """The port is never free."""
    from tfnb.dask_runtime.worker_plugins import ServerPlugin

    with socket.create_server(("localhost", 0)) as taken:
        address = f"localhost:{taken.getsockname()[1]}"
        plugin = ServerPlugin({"ps": [address]}, {0: ("ps", 0)}, b"", None)
        worker = SimpleNamespace(name=0, address="tcp://second")
        plugin.setup(worker)
        plugin.teardown(worker)


def _run_for_ever(sess: tf.Session, fetch: Any) -> None:
    while True:
        sess.run(fetch)


def _name_and_process(dask_worker: Any) -> tuple[Any, int]:
    return dask_worker.name, os.getpid()


def test_too_few_workers_are_told(client: Any) -> None:
    """The error says how many there are and how to get more."""
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"there are 2.*scale\(3\)"):
        tf.dask.start_cluster(client, {"worker": 3}, timeout=0.1)


@pytest.mark.parametrize(
    ("jobs", "options", "text"),
    [
        ({}, {}, "empty"),
        ({"worker": 0}, {}, "positive number"),
        ({"worker": 1}, {"tls_cert": "c.pem"}, "belong together"),
        ({"worker": 1}, {"tls_client_ca": "c.pem"}, "needs `tls_cert`"),
    ],
)
def test_what_cannot_be_a_cluster_is_refused(
    client: Any, jobs: dict[str, int], options: dict[str, str], text: str
) -> None:
    """No server was started."""
    with pytest.raises(ValueError, match=text):
        tf.dask.start_cluster(client, jobs, **options)


def test_servers_open_to_other_machines_need_tls(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for `tfnb serve`: no server was started."""
    monkeypatch.setattr(
        "tfnb.dask_runtime.server_cluster.hosts_of",
        lambda one: dict.fromkeys(one.run(_name_and_process), "10.0.0.7"),
    )
    with pytest.raises(ValueError, match=r"10.0.0.7 would accept graphs"):
        tf.dask.start_cluster(client, {"worker": 2})
