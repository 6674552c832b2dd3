"""``tfnb serve``: graphs of clients run, and their effects are refused."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tests.distributed_runtime.authority import Authority, write_files
from tfnb.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield the process of a server and its target."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tfnb", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        first = process.stdout.readline()
        assert " serves " in first, process.stderr.read()
        yield process, first.split()[2]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a socket in a folder with a short path."""
    folder = tempfile.mkdtemp(prefix="tfnb")
    yield f"unix:{folder}/s"
    shutil.rmtree(folder, ignore_errors=True)


def test_a_client_may_compute_and_not_read_or_write(address: str, tmp_path: Path) -> None:
    """Feeding a path gives no permission: the client feeds it."""
    (tmp_path / "secret").write_text("secret")
    path = tf.placeholder(tf.string, [])
    read = tf.read_file(path)
    write = tf.write_file(path, "x")

    with serving("--address", address) as (_, target), tf.Session(target) as sess:
        assert sess.run(tf.constant(2) * 3) == 6
        with pytest.raises(tf.errors.PermissionDeniedError):
            sess.run(read, {path: str(tmp_path / "secret")})
        with pytest.raises(tf.errors.PermissionDeniedError):
            sess.run(write, {path: str(tmp_path / "new")})
    assert not (tmp_path / "new").exists()


def test_an_effect_is_allowed_below_a_folder(address: str, tmp_path: Path) -> None:
    """And refused elsewhere, also in a function."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "file").write_text("text")
    (tmp_path / "closed").write_text("secret")

    def read(path: str) -> tf.Tensor:
        return tf.cond(tf.constant(True), lambda: tf.read_file(path), lambda: tf.constant(""))

    allowed, refused = read(str(tmp_path / "open" / "file")), read(str(tmp_path / "closed"))

    with (
        serving("--address", address, "--allow", f"read={tmp_path}/open") as (_, target),
        tf.Session(target) as sess,
    ):
        assert sess.run(allowed) == b"text"
        with pytest.raises(tf.errors.PermissionDeniedError):
            sess.run(refused)


def test_a_termination_waits_for_steps_and_refuses_new_sessions(address: str) -> None:
    """The step that runs ends; then the server does."""
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    taken, put, one = queue.dequeue(), queue.enqueue(7), tf.constant(1)
    found: list[int] = []

    options = ["--address", address, "--grace", "60", "--log-every", "0.1"]
    with serving(*options) as (process, target):
        sess = tf.Session(target)
        sess.run(one)
        thread = threading.Thread(target=lambda: found.append(sess.run(taken)))
        thread.start()
        assert process.stdout is not None
        while "1 sessions, 1 steps in flight" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        while not process.stdout.readline().startswith("stopping: 1 sessions"):
            assert process.poll() is None
        sess.run(put)
        thread.join()
        assert process.stdout.readline() == "stopped\n"
        assert process.wait() == 0
        sess.close()

    assert found == [7]


def test_a_task_of_a_cluster_file_is_served(address: str, tmp_path: Path) -> None:
    """With its name."""
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"worker": [address]}))

    with serving("--cluster", str(file)) as (_, target), tf.Session(target) as sess:
        (device,) = sess.list_devices()

    assert device.name == "/job:worker/replica:0/task:0/device:CPU:0"


def test_tls_admits_only_clients_with_a_certificate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With --tls-client-ca; without the authority's certificate there is no connection either."""
    authority = Authority()
    for name in ("server", "client"):
        (tmp_path / name).mkdir()
    paths = write_files(tmp_path / "server", authority.issue())
    server = [f"--tls-{name}={path}" for name, path in paths.items()]
    client = write_files(tmp_path / "client", authority.issue("client"))
    config = tf.ConfigProto(operation_timeout_in_ms=1000)
    one = tf.constant(1)

    with serving(*server) as (_, target):
        assert target.startswith("grpcs://localhost:")
        monkeypatch.setenv("TFNB_TLS_CA", paths["client-ca"])
        with tf.Session(target, config=config) as sess:
            with pytest.raises((tf.errors.UnauthenticatedError, tf.errors.DeadlineExceededError)):
                sess.run(one)
        monkeypatch.setenv("TFNB_TLS_CERT", client["cert"])
        monkeypatch.setenv("TFNB_TLS_KEY", client["key"])
        with tf.Session(target) as sess:
            assert sess.run(one) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--address", "0.0.0.0:2222"], "can be reached from other machines"),
        (["--allow", "everything"], "is no effect"),
        (["--allow", "python=/tmp"], "no folder"),
        (["--tls-cert", "x.pem"], "belong together"),
        (["--job", "ps"], "--cluster"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2 and what to do."""
    assert main(["serve", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_request_that_is_too_large_is_refused(address: str) -> None:
    """Before its tensors are allocated; the session goes on."""
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(x)

    with serving("--address", address, "--max-message-mb", "1") as (_, target):
        with tf.Session(target) as sess:
            with pytest.raises(tf.errors.ResourceExhaustedError):
                sess.run(y, {x: [0.0] * 300_000})
            assert sess.run(y, {x: [1.0, 2.0]}) == 3.0
