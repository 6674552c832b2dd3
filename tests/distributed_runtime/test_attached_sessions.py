"""Sessions on a server that another process goes on with."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A task of its own."""
    with cluster_of(worker=1) as made:
        yield made


@pytest.fixture
def kept(tmp_path: Path) -> str:
    """A file for the session."""
    return str(tmp_path / "session")


def _counter() -> tuple[tf.Tensor, tf.Operation]:
    """Build a variable that only a session with state of its own has."""
    v = tf.get_variable("counter", initializer=0)
    return tf.assign_add(v, 1, name="count"), v.initializer


ISOLATED = tf.ConfigProto(isolate_session_state=True)


def _kept_session(cluster: Cluster, path: str) -> None:
    """Open a session, count to 2, keep it, and end without closing it."""
    with tf.Graph().as_default() as graph:
        count, init = _counter()
        sess = tf.Session(cluster.target(), graph, ISOLATED)
        sess.run(init)
        sess.run(count)
        sess.keep(path)
        sess.run(tf.identity(sess.run(count), name="added_later"))
        sess.detach()


def test_a_graph_that_is_built_again_runs_in_the_session_of_before(
    cluster: Cluster, kept: str
) -> None:
    """The server has the variable, and is sent only what is new."""
    _kept_session(cluster, kept)
    with tf.Graph().as_default():
        count, _ = _counter()
        tf.identity(2, name="added_later")
        with tf.Session.attach(kept) as sess:
            assert sess.run(count) == 3
            assert sess.run(count * 10) == 40
            with open(kept) as file:
                version = json.load(file)["graph_version"]
            assert version == sess.runtime.graph_version > 0


def test_a_graph_without_nodes_gets_those_of_the_server(cluster: Cluster, kept: str) -> None:
    """With those that were added after the session was kept."""
    _kept_session(cluster, kept)
    with tf.Graph().as_default(), tf.Session.attach(kept) as sess:
        assert sess.run("count:0") == 3
        assert sess.run("added_later:0") == 2


def test_a_session_is_attached_by_hand(cluster: Cluster) -> None:
    """With the handle and the version of the graph."""
    with tf.Graph().as_default() as graph:
        count, init = _counter()
        sess = tf.Session(cluster.target(), graph, ISOLATED)
        sess.run(init)
        state = sess.remote_session
        sess.detach()
        with tf.Session.attach(state._replace(graph_def=None)) as attached:
            assert attached.run(count) == 1


def test_another_graph_is_refused(cluster: Cluster, kept: str) -> None:
    """With the first node that differs."""
    _kept_session(cluster, kept)
    with tf.Graph().as_default():
        tf.constant(1, name="counter")
        with pytest.raises(ValueError, match="'counter"):
            tf.Session.attach(kept)


def test_the_file_belongs_to_its_owner_and_ends_with_the_session(
    cluster: Cluster, kept: str
) -> None:
    """A handle is all that is needed to use a session."""
    _kept_session(cluster, kept)
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    with tf.Graph().as_default():
        sess = tf.Session.attach(kept)
        state = sess.remote_session
        sess.close()
        assert not os.path.exists(kept)
        with (
            tf.Session.attach(state) as again,
            pytest.raises(tf.errors.AbortedError, match="not found"),
        ):
            again.run("counter/read:0")


def test_a_kept_session_stays_when_its_object_is_forgotten(cluster: Cluster, kept: str) -> None:
    """As at the end of a process."""
    with tf.Graph().as_default() as graph:
        count, init = _counter()
        sess = tf.Session(cluster.target(), graph, ISOLATED)
        sess.run(init)
        sess.keep(kept)
        del sess
        with tf.Session.attach(kept) as attached:
            assert attached.run(count) == 1


def test_a_session_that_the_server_does_not_have_is_aborted(cluster: Cluster, kept: str) -> None:
    """It was closed, or the server was started again."""
    with tf.Graph().as_default(), tf.Session(cluster.target()) as sess:
        one = tf.constant(1)
        sess.run(one)
        state = sess.remote_session
        sess.close()
        with (
            tf.Session.attach(state) as attached,
            pytest.raises(tf.errors.AbortedError, match="not found"),
        ):
            attached.run(one)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 7}', '{"format": 1, "target": "a"}'])
def test_a_file_that_is_no_session_is_refused(text: str, kept: str) -> None:
    """With what is wrong."""
    with open(kept, "w") as file:
        file.write(text)
    with pytest.raises(ValueError, match="does not describe a session"):
        tf.Session.attach(kept)


def test_a_session_of_this_process_cannot_be_kept(kept: str) -> None:
    """It ends with the process."""
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match="ends with it"):
            sess.keep(kept)
        with pytest.raises(ValueError, match="ends with it"):
            sess.detach()


@pytest.mark.slow
def test_a_session_survives_the_process_that_opened_it(cluster: Cluster, kept: str) -> None:
    """Killed in the middle of a step, which ends on the server."""
    script = f"""
import os, threading
import tfnb as tf
v = tf.get_variable("counter", initializer=5)
taken = tf.FIFOQueue(1, tf.int32, shapes=[[]]).dequeue()
sess = tf.Session({cluster.target()!r}, config=tf.ConfigProto(isolate_session_state=True))
sess.run(v.initializer)
sess.keep({kept!r})
threading.Thread(target=lambda: sess.run(taken), daemon=True).start()
while "Dequeue" not in sess.waiting():
    pass
os.kill(os.getpid(), 9)
"""
    process = subprocess.run([sys.executable, "-c", script], timeout=280, check=False)
    assert process.returncode == -9
    with tf.Graph().as_default(), tf.Session.attach(kept) as sess:
        assert sess.run("counter/read:0") == 5
