"""Sessions on a server of their own process."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tfnb.distributed_runtime.in_process_channel import InProcessChannel, channel_to
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from tests.distributed_runtime.clusters import Cluster


JOBS = {"ps": 1, "worker": 1}
pytestmark = pytest.mark.usefixtures("in_process")

PS = "/job:ps/task:0"


@pytest.fixture
def cluster(own_cluster: Cluster) -> Cluster:
    """Tests of this file count sessions and stop tasks."""
    return own_cluster


def test_a_session_reaches_a_server_of_its_process_without_grpc(cluster: Cluster) -> None:
    """Unless it asks for gRPC."""
    options = config_pb2.RPCOptions(use_rpc_for_inprocess_master=True)

    assert isinstance(channel_to(cluster.target(), config_pb2.RPCOptions()), InProcessChannel)
    assert channel_to(cluster.target(), options) is None
    assert channel_to("grpc://localhost:1", config_pb2.RPCOptions()) is None


def test_steps_callables_and_partial_runs_have_their_values(cluster: Cluster) -> None:
    """With nodes on other tasks."""
    fed = tf.placeholder(tf.float32, [None])
    with tf.device(PS):
        doubled = fed * 2.0
    total = tf.reduce_sum(doubled)

    with tf.Session(cluster.target()) as sess:
        assert sess.run(total, {fed: [1.0, 2.0]}) == 6.0
        assert sess.make_callable(total, [fed])([3.0]) == 6.0
        handle = sess.partial_run_setup([doubled, total], [fed])
        np.testing.assert_array_equal(
            sess.partial_run(handle, doubled, {fed: [4.0]}), np.float32([8.0])
        )
        assert sess.partial_run(handle, total) == 8.0
        assert len(sess.list_devices()) == 2


def test_a_large_tensor_is_fed_and_fetched(cluster: Cluster) -> None:
    """The fetched array is the caller's own."""
    fed = tf.placeholder(tf.float32, [None])
    large = np.arange(2_000_000, dtype=np.float32)

    with tf.Session(cluster.target()) as sess:
        found = sess.run(tf.identity(fed), {fed: large})

    found[0] = 7.0
    np.testing.assert_array_equal(found[1:], large[1:])
    assert large[0] == 0.0


def test_a_variable_does_not_share_memory_with_what_was_fed_or_fetched(cluster: Cluster) -> None:
    """Large tensors are not copied on their way to the server and back."""
    fed = tf.placeholder(tf.float32, [100_000])
    v = tf.get_variable("apart", shape=[100_000])
    given = np.zeros(100_000, np.float32)

    with tf.Session(cluster.target()) as sess:
        assigned = sess.run(v.assign(fed), {fed: given})
        sess.run(v.assign_add(fed), {fed: np.ones(100_000, np.float32)})
        given[:] = 5.0
        found = sess.run(v)
        found[:] = 7.0

        assert not assigned.any()
        assert (sess.run(v) == 1.0).all()


def test_an_error_names_its_operation(cluster: Cluster) -> None:
    """As over a connection."""
    bad = tf.constant([1.0, 2.0])[tf.placeholder_with_default(9, [])]

    with (
        tf.Session(cluster.target()) as sess,
        pytest.raises(tf.errors.InvalidArgumentError) as caught,
    ):
        sess.run(bad)

    assert caught.value.op is bad.op


def test_a_step_ends_at_its_deadline(cluster: Cluster) -> None:
    """Also on the server: the session can go on."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])

    with tf.Session(cluster.target()) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=50))
        sess.run(queue.enqueue(3.0))
        assert sess.run(queue.size()) == 1


def test_close_ends_a_step_that_waits(cluster: Cluster) -> None:
    """With CancelledError in the thread that runs it."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    begun = tf.Variable(0, dtype=tf.int32)
    dequeued = queue.dequeue()
    mark = begun.assign(1)
    sess = tf.Session(cluster.target())
    sess.run(begun.initializer)
    found: list[BaseException] = []

    def run() -> None:
        try:
            sess.run([mark, dequeued])
        except tf.errors.OpError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while sess.run(begun) == 0:
        pass
    sess.close()
    thread.join()

    assert isinstance(found[0], tf.errors.CancelledError)


def test_a_server_that_has_stopped_is_unavailable_until_another_starts(cluster: Cluster) -> None:
    """Sessions of the one before are unknown to the next."""
    one = tf.constant(1)
    with tf.Session(cluster.target()) as sess:
        sess.run(one)
        cluster.stop("worker")
        with pytest.raises(tf.errors.UnavailableError):
            sess.run(one)
        cluster.start("worker")
        with pytest.raises(tf.errors.AbortedError):
            sess.run(one)

    with tf.Session(cluster.target()) as sess:
        assert sess.run(one) == 1


@pytest.mark.slow
def test_a_process_with_a_server_ends_though_its_session_was_not_closed() -> None:
    """Python closes the session when the server's threads do not run any more."""
    script = """
import tfnb as tf
server = tf.train.Server.create_local_server()
session = tf.Session(server.target)
print(session.run(tf.constant(1)))
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=280
    )
    assert (ended.stdout, ended.stderr) == ("1\n", "")
