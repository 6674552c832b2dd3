"""TLS between clients and tasks, and between the tasks of a cluster."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tests.distributed_runtime.authority import Authority, write_files
from tfnb.distributed_runtime import grpc_remote_master, master
from tfnb.distributed_runtime.remote_errors import remote_error
from tfnb.distributed_runtime.server_lib import GrpcServer
from tfnb.distributed_runtime.worker_cache import new_worker_cache
from tfnb.proto.tensorflow_server_pb2 import ServerDef

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tfnb.distributed_runtime.grpc_channel import TlsFiles

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def authority() -> Authority:
    """The authority of the tasks."""
    return Authority()


@pytest.fixture(scope="module")
def stranger() -> Authority:
    """An authority that no task trusts."""
    return Authority("Another one")


@pytest.fixture(autouse=True)
def _reports_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for a connection looks often why there is none."""
    monkeypatch.setattr(grpc_remote_master, "_FIRST_REPORT_S", 0.02)
    monkeypatch.setattr(grpc_remote_master, "_NEXT_REPORT_S", 0.02)
    monkeypatch.setattr(master, "_FIRST_REPORT_S", 0.02)
    monkeypatch.setattr(master, "_PATIENCE_S", 0.05)


@contextmanager
def serving(**files: TlsFiles | None) -> Iterator[tuple[tf.train.ClusterSpec, str]]:
    """Start a task of each job with its files; yield the cluster and the target of the worker."""
    folder = tempfile.mkdtemp(prefix="tfnb")
    spec = tf.train.ClusterSpec({job: [f"unix:{folder}/{job}"] for job in files})
    servers = []
    try:
        for job, tls in files.items():
            server_def = ServerDef(cluster=spec.as_cluster_def(), job_name=job, protocol="grpc")
            servers.append(GrpcServer(server_def, tls=tls))
            servers[-1].start()
        yield spec, servers[-1].target
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def be_client(
    monkeypatch: pytest.MonkeyPatch, folder: Path, trusts: Authority, files: TlsFiles | None = None
) -> None:
    """Let the environment name an authority, and a certificate of the client."""
    path = folder / "authority.pem"
    path.write_bytes(trusts.certificate)
    monkeypatch.setenv("TFNB_TLS_CA", str(path))
    if files is not None:
        paths = write_files(folder, files)
        monkeypatch.setenv("TFNB_TLS_CERT", paths["cert"])
        monkeypatch.setenv("TFNB_TLS_KEY", paths["key"])


def over_both() -> tuple[tf.Tensor, tf.Tensor]:
    """Return a tensor of each task that needs one of the other."""
    with tf.device("/job:ps/task:0"):
        first = tf.placeholder_with_default(2.0, []) * 3.0
    with tf.device("/job:worker/task:0"):
        second = first + 1.0
    with tf.device("/job:ps/task:0"):
        return first, second * 10.0


@pytest.mark.parametrize("checks_clients", [True, False])
def test_a_step_spans_tasks_that_speak_tls(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, checks_clients: bool
) -> None:
    """With certificates of clients, who are tasks as well, and without."""
    be_client(monkeypatch, tmp_path, authority, authority.issue("client"))
    ps, worker = (authority.issue(checks_clients=checks_clients) for _ in range(2))

    with serving(ps=ps, worker=worker) as (_, target), tf.Session(target) as sess:
        assert target.startswith("grpcs://unix:")
        assert sess.run(over_both()) == (6.0, 70.0)


def test_a_task_shows_its_own_certificate_to_other_tasks(authority: Authority) -> None:
    """And trusts those of its clients' authority; the environment names nothing."""
    ps, worker = authority.issue(), authority.issue()

    with serving(ps=ps) as (spec, _):
        workers = new_worker_cache(spec, tls=worker)
        (device,) = workers.find("/job:ps/replica:0/task:0").get_status(60.0)
        workers.close()

    assert device.name == "/job:ps/replica:0/task:0/device:CPU:0"


def test_the_cluster_of_a_session_speaks_tls_too(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its tasks have other names than in their own clusters."""
    be_client(monkeypatch, tmp_path, authority, authority.issue("client"))
    with (
        serving(worker=authority.issue()) as (_, first),
        serving(worker=authority.issue()) as (_, second),
    ):
        addresses = [target.removeprefix("grpcs://") for target in (first, second)]
        spec = tf.train.ClusterSpec({"ps": addresses[1:], "worker": addresses[:1]})
        config = tf.ConfigProto(cluster_def=spec.as_cluster_def())
        with tf.Session(first, config=config) as sess:
            assert sess.run(over_both()) == (6.0, 70.0)


def test_a_server_whose_authority_is_not_trusted_is_refused(
    authority: Authority, stranger: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error names the variable to set."""
    be_client(monkeypatch, tmp_path, stranger)
    one = tf.constant(1)

    with serving(worker=authority.issue(checks_clients=False)) as (_, target):
        with (
            tf.Session(target) as sess,
            pytest.raises(tf.errors.UnauthenticatedError, match=r"no authority .* TFNB_TLS_CA"),
        ):
            sess.run(one)


def test_a_server_with_the_certificate_of_another_host_is_refused(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Although the authority is trusted."""
    be_client(monkeypatch, tmp_path, authority)
    one = tf.constant(1)

    with serving(worker=authority.issue("elsewhere", checks_clients=False)) as (_, target):
        with (
            tf.Session(target) as sess,
            pytest.raises(tf.errors.UnauthenticatedError, match="is for another host"),
        ):
            sess.run(one)


@pytest.mark.parametrize("has_certificate", [True, False])
def test_a_client_without_a_certificate_that_the_server_trusts_is_told(
    authority: Authority,
    stranger: Authority,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    has_certificate: bool,
) -> None:
    """One of another authority is as good as none."""
    files = stranger.issue("client") if has_certificate else None
    be_client(monkeypatch, tmp_path, authority, files)
    one = tf.constant(1)

    with serving(worker=authority.issue()) as (_, target):
        with (
            tf.Session(target) as sess,
            pytest.raises(tf.errors.UnauthenticatedError, match="requires a certificate"),
        ):
            sess.run(one)


def test_a_key_that_does_not_belong_to_the_certificate_is_told(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before the server is asked."""
    mixed = authority.issue("client")._replace(key=authority.issue("client").key)
    be_client(monkeypatch, tmp_path, authority, mixed)
    one = tf.constant(1)

    with serving(worker=authority.issue()) as (_, target):
        with (
            tf.Session(target) as sess,
            pytest.raises(tf.errors.UnauthenticatedError, match="do not belong together"),
        ):
            sess.run(one)


def test_a_server_without_tls_is_told(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With how its target begins."""
    be_client(monkeypatch, tmp_path, authority)
    one = tf.constant(1)

    with serving(worker=None) as (_, target):
        with (
            tf.Session(target.replace("grpc://", "grpcs://")) as sess,
            pytest.raises(tf.errors.UnauthenticatedError, match="speaks no TLS"),
        ):
            sess.run(one)


@pytest.mark.parametrize("whose", ["parameter server", "worker"])
def test_a_task_with_a_wrong_certificate_is_named_when_a_session_opens(
    authority: Authority,
    stranger: Authority,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    whose: str,
) -> None:
    """Whichever of the two has it; the session does not wait for ever."""
    be_client(monkeypatch, tmp_path, authority)
    ps = authority.issue()
    # The worker admits all clients, and the environment names no certificate: it shows its own.
    worker = authority.issue(checks_clients=False)
    if whose == "worker":
        worker = stranger.issue(checks_clients=False)
        path = tmp_path / "authority.pem"
        path.write_bytes(authority.certificate + stranger.certificate)
    else:
        ps = stranger.issue()._replace(client_ca=authority.certificate)
    one = tf.constant(1)

    with serving(ps=ps, worker=worker) as (_, target), tf.Session(target) as sess:
        with pytest.raises(tf.errors.UnauthenticatedError) as raised:
            sess.run(one)

    assert "/job:ps/replica:0/task:0" in raised.value.message
    wanted = "requires a certificate" if whose == "worker" else "signed by no authority"
    assert wanted in raised.value.message


def test_a_transfer_that_certificates_prevent_says_so() -> None:
    """Also where the two tasks never met before."""
    details = "failed to connect to all addresses; last error: SSL: CERTIFICATE_VERIFY_FAILED"
    found = remote_error(14, details, "/job:ps/replica:0/task:0 at ps:1", "RecvTensor")

    assert isinstance(found, tf.errors.UnauthenticatedError)
    assert "no connection to /job:ps/replica:0/task:0" in found.message
    assert "TFNB_TLS_CA" in found.message
