"""Sessions on a server: what they give is what a session of this process gives."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of, run_when_connected
from tests.polling import wait_until
from tfnb.distributed_runtime import grpc_remote_master
from tfnb.distributed_runtime.grpc_remote_master import GrpcRemoteMaster
from tfnb.proto.config_pb2 import CallableOptions

if TYPE_CHECKING:
    from collections.abc import Callable

JOBS = {"worker": 1}


@pytest.fixture
def target(cluster: Cluster) -> str:
    """The task's target."""
    return cluster.target()


@pytest.mark.parametrize(
    "value",
    [
        np.float32(1.5),
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.zeros((0, 4), np.float64),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
        np.arange(100_000, dtype=np.float32),
        np.array([1, 2], np.uint16),
        np.array([1.5, 2.5], np.float16),
        np.arange(3, dtype=np.int8),
    ],
)
def test_values_of_any_type_come_back_as_they_were_fed(target: str, value: Any) -> None:
    """Small and large, with and without dimensions."""
    fed = tf.placeholder(value.dtype, value.shape)
    out = tf.identity(fed)

    with tf.Session(target) as sess:
        found = sess.run(out, {fed: value})

    assert np.array_equal(found, value)
    assert found.dtype == value.dtype
    assert np.shape(found) == np.shape(value)


def test_texts_come_back_as_they_were_fed(target: str) -> None:
    """Bytes that are no text, too, and empty ones."""
    fed = tf.placeholder(tf.string, [None])
    out = tf.identity(fed)

    with tf.Session(target) as sess:
        found = sess.run([out, out[0]], {fed: ["ü", b"\xff\x00", ""]})

    assert found[0].tolist() == ["ü".encode(), b"\xff\x00", b""]
    assert found[1] == "ü".encode()


def test_bfloat16_and_quantized_values_cross_the_wire(target: str) -> None:
    """Types that NumPy itself does not have."""
    x = tf.placeholder(tf.bfloat16, [2])
    doubled = tf.cast(x * 2, tf.float32)
    q, low, high = tf.quantize_v2(tf.constant([0.0, 1.0]), 0.0, 1.0, tf.quint8)
    back = tf.dequantize(q, low, high)

    with tf.Session(target) as sess:
        assert sess.run(doubled, {x: [1.0, 2.5]}).tolist() == [2.0, 5.0]
        np.testing.assert_allclose(sess.run(back), [0.0, 1.0])


def test_a_fetched_array_may_be_written(target: str) -> None:
    """It belongs to the caller."""
    with tf.Session(target) as sess:
        found = sess.run(tf.ones([5000]))
        found += 1

    assert found.sum() == 10_000


def test_a_graph_that_grows_is_sent_piece_by_piece(target: str) -> None:
    """Also functions, and after an error."""
    with tf.Session(target) as sess:
        assert sess.run(tf.constant(1.0)) == 1.0
        x = tf.constant(2.0)
        assert sess.run(tf.cond(x > 1.0, lambda: x * 2.0, lambda: x)) == 4.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(tf.constant([1])[tf.placeholder_with_default(3, [])])
        assert sess.run(x + 1.0) == 3.0


def test_variables_are_shared_by_the_sessions_of_a_task(target: str) -> None:
    """They belong to the task; a reset of the target clears them."""
    v = tf.get_variable("shared_by_sessions", initializer=[1.0, 2.0], use_resource=False)

    with tf.Session(target) as first:
        first.run(v.initializer)
        first.run(v.assign_add([1.0, 1.0]))
    with tf.Session(target) as second:
        assert second.run(v).tolist() == [2.0, 3.0]
    tf.Session.reset(target)
    with tf.Session(target) as third, pytest.raises(tf.errors.FailedPreconditionError):
        third.run(v)


def test_isolated_sessions_have_variables_of_their_own(target: str) -> None:
    """With isolate_session_state."""
    v = tf.get_variable("isolated", initializer=1.0)
    config = tf.ConfigProto(isolate_session_state=True)

    with tf.Session(target, config=config) as first, tf.Session(target, config=config) as second:
        first.run(v.initializer)
        assert first.run(v) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            second.run(v)


def test_an_error_names_the_node_and_where_it_was_made(target: str) -> None:
    """As in a session of this process, behind the task that failed."""
    x = tf.placeholder(tf.float32, [2], name="forgotten")
    y = tf.reduce_sum(x, name="total")

    with tf.Session(target) as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(y)

    assert str(caught.value).startswith("From /job:worker/replica:0/task:0:\nYou must feed")
    assert caught.value.op is x.op
    assert "test_grpc_session.py" in str(caught.value)
    assert "feed_dict={'forgotten:0'" in str(caught.value)


def test_an_unknown_fetch_is_not_found(target: str) -> None:
    """The code is the server's."""
    with tf.Session(target) as sess:
        sess.run(tf.constant(1.0))
        with pytest.raises(tf.errors.NotFoundError, match="missing"):
            sess.runtime.run_plainly({}, ["missing:0"], [])


def test_a_step_ends_at_its_deadline(target: str) -> None:
    """The session can be used on."""
    taken = tf.FIFOQueue(1, tf.int32, shapes=[[]]).dequeue()
    one = tf.constant(1)

    with tf.Session(target) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(taken, options=tf.RunOptions(timeout_in_ms=50))
        assert sess.run(one) == 1


def test_closing_a_session_ends_its_steps(target: str) -> None:
    """A step that waits for ever is cancelled."""
    taken = tf.FIFOQueue(1, tf.int32, shapes=[[]]).dequeue()
    sess = tf.Session(target)
    sess.run(tf.constant(1))
    caught: list[Exception] = []

    def wait() -> None:
        try:
            sess.run(taken)
        except tf.errors.OpError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while "Dequeue" not in sess.waiting():
        pass
    sess.close()
    thread.join()

    assert isinstance(caught[0], tf.errors.CancelledError)


def test_options_and_metadata_come_from_the_server(target: str) -> None:
    """Traces and partition graphs of the step."""
    x = tf.constant([1.0, 2.0], name="x")
    y = tf.reduce_sum(x * 3.0)
    metadata = tf.RunMetadata()

    with tf.Session(target) as sess:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        sess.run(y, options=options, run_metadata=metadata)

    assert [one.device for one in metadata.step_stats.dev_stats] == [
        "/job:worker/replica:0/task:0/device:CPU:0"
    ]
    assert len(metadata.partition_graphs) == 1


def test_a_step_is_fed_and_fetched_in_parts(target: str) -> None:
    """And refuses what was not declared, or came before."""
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first, second = a + 1.0, (a + 1.0) * b

    with tf.Session(target) as sess:
        handle = sess.partial_run_setup([first, second], [a, b])
        assert sess.partial_run(handle, first, {a: 1.0}) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="already been fed"):
            sess.partial_run(handle, second, {a: 1.0})
        assert sess.partial_run(handle, second, {b: 5.0}) == 10.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="PartialRunSetup"):
            sess.partial_run(handle, second, {b: 5.0})


def test_a_failed_part_ends_the_step(target: str) -> None:
    """The error is that of the node."""
    a = tf.placeholder(tf.int32, [])
    out = tf.constant([1, 2])[a]

    with tf.Session(target) as sess:
        handle = sess.partial_run_setup([out], [a])
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
            sess.partial_run(handle, out, {a: 7})


def test_callables_run_on_the_server(target: str) -> None:
    """Those of make_callable and those of a CallableOptions message."""
    x = tf.placeholder(tf.float32, [None], name="fed")
    y = tf.multiply(x, 2.0, name="doubled")

    with tf.Session(target) as sess:
        call = sess.make_callable(y, [x])
        assert call([1.0, 2.0]).tolist() == [2.0, 4.0]
        prepared = sess._make_callable_from_options(
            CallableOptions(feed=["fed:0"], fetch=["doubled:0"])
        )
        assert prepared([3.0])[0].tolist() == [6.0]


def test_devices_are_those_of_the_task(target: str) -> None:
    """Also before anything was sent."""
    with tf.Session(target) as sess:
        (device,) = sess.list_devices()

    assert device.name == "/job:worker/replica:0/task:0/device:CPU:0"
    assert device.incarnation


def test_loops_conds_and_tensor_arrays_run_on_the_server(target: str) -> None:
    """With the answers of a session of this process."""
    x = tf.placeholder(tf.float32, [])
    loop = tf.while_loop(lambda i, _: i < 20, lambda i, a: (i + 1, a * 1.5), [0, x])
    mapped = tf.map_fn(lambda e: e * e, tf.range(5.0))
    grad = tf.gradients(loop[1], x)[0]
    fetches = [loop, mapped, grad]

    with tf.Session() as here, tf.Session(target) as there:
        wanted, found = (sess.run(fetches, {x: 2.0}) for sess in (here, there))

    np.testing.assert_array_equal(tf.nest.flatten(found)[2], tf.nest.flatten(wanted)[2])
    assert found[0] == wanted[0]
    assert found[2] == wanted[2]


@pytest.mark.parametrize("target", ["grpc://", "grpc://host", "grpc://host:70000", "grpc://a:b"])
def test_a_malformed_target_is_refused_at_once(target: str) -> None:
    """With the form that a target has."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="grpc://host:port"):
        tf.Session(target)


def test_at_port_0_there_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request with a deadline ends there, as in TensorFlow; one without says what is wrong."""
    config = tf.ConfigProto(operation_timeout_in_ms=5)
    with pytest.raises(tf.errors.DeadlineExceededError, match="operation_timeout_in_ms"):
        tf.Session.reset("grpc://localhost:0", ["test0"], config=config)
    monkeypatch.setattr(grpc_remote_master, "_FIRST_REPORT_S", 0.01)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No server listens at port 0"):
        tf.Session.reset("grpc://localhost:0", ["test0"])


def test_a_step_whose_session_is_closed_says_so(cluster: Cluster) -> None:
    """With TensorFlow's words, whichever way it runs."""
    queue = tf.FIFOQueue(1, tf.float32, [[]])
    taken, size = queue.dequeue(), queue.size()
    session = tf.Session(cluster.target())
    session.run(size)
    call = session._make_callable_from_options(CallableOptions(fetch=[taken.name]))
    found: list[str] = []

    def waits(run: Callable[[], Any]) -> None:
        with pytest.raises(tf.errors.CancelledError) as raised:
            run()
        found.append(raised.value.message)

    threads = [
        threading.Thread(target=waits, args=(run,)) for run in (call, lambda: session.run(taken))
    ]
    for thread in threads:
        thread.start()
    while cluster.servers["worker", 0]._server.num_steps < 2:
        pass
    session.close()
    for thread in threads:
        thread.join()

    assert found == ["Step was cancelled by an explicit call to `Session::Close()`."] * 2


def test_a_server_that_is_not_there_is_waited_for_until_the_time_out() -> None:
    """``operation_timeout_in_ms`` limits also the opening of a session."""
    with cluster_of(worker=1, started=False) as cluster:
        config = tf.ConfigProto(operation_timeout_in_ms=100)
        with (
            tf.Session(cluster.target(), config=config) as sess,
            pytest.raises(tf.errors.DeadlineExceededError, match="operation_timeout_in_ms"),
        ):
            sess.run(tf.constant(1.0))


def test_a_session_that_cannot_be_opened_is_asked_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second request would wait as long as the first."""
    asked: list[str] = []

    def refuse(master: Any, method: str, *rest: Any) -> None:
        asked.append(method)
        raise tf.errors.DeadlineExceededError(None, None, "no answer in time")

    monkeypatch.setattr(GrpcRemoteMaster, "call_when_ready", refuse)
    with tf.Session("grpc://localhost:1") as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(tf.constant(1.0))
    assert asked == ["CreateSession"]


def test_the_client_says_what_it_waits_for(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a server is there; the session opens as soon as it is."""
    monkeypatch.setattr(grpc_remote_master, "_FIRST_REPORT_S", 0.01)
    one = tf.constant(1)
    found: list[int] = []
    with cluster_of(worker=1, started=False) as cluster:

        def run() -> None:
            with tf.Session(cluster.target(), graph=one.graph) as sess:
                found.append(sess.run(one))

        with caplog.at_level(logging.WARNING, "tfnb"):
            thread = threading.Thread(target=run)
            thread.start()
            wait_until(
                lambda: "nothing accepts a connection there" in caplog.text or not thread.is_alive()
            )
            assert thread.is_alive()
            cluster.start("worker")
            thread.join()

    assert found == [1]


def test_a_session_whose_server_stopped_says_so_at_once() -> None:
    """UnavailableError; a new session on the server that was started again works."""
    x = tf.constant(2.0)
    with cluster_of(worker=1) as cluster:
        old = tf.Session(cluster.target())
        assert old.run(x) == 2.0
        cluster.stop("worker")
        with pytest.raises(tf.errors.UnavailableError, match="new session"):
            old.run(x)
        cluster.start("worker")
        with tf.Session(cluster.target()) as new:
            assert new.run(x) == 2.0
        old.close()


def test_an_old_session_of_a_restarted_server_is_aborted() -> None:
    """Its handle means nothing to the new server."""
    x = tf.constant(2.0)
    with cluster_of(worker=1) as cluster, tf.Session(cluster.target()) as sess:
        sess.run(x)
        cluster.stop("worker")
        cluster.start("worker")
        with pytest.raises(tf.errors.AbortedError, match="is not found"):
            run_when_connected(sess, x)


def test_a_loaded_graph_needs_leave_for_its_effects_on_a_server(target: str) -> None:
    """The server would read the file: the step is not sent."""
    with tf.Graph().as_default() as stranger:
        tf.read_file("/etc/hostname", name="secret")
    tf.import_graph_def(stranger.as_graph_def(), name="loaded")

    with (
        tf.Session(target) as sess,
        pytest.raises(tf.errors.PermissionDeniedError, match="was not sent"),
    ):
        sess.run("loaded/secret:0")


@pytest.mark.slow
def test_a_step_that_waits_does_not_keep_the_process_from_ending() -> None:
    """The threads of a server are daemons."""
    script = """
import threading, time
import tfnb as tf
server = tf.train.Server.create_local_server()
taken = tf.FIFOQueue(1, tf.int32, shapes=[[]]).dequeue()
sess = tf.Session(server.target)
sess.run(tf.constant(1))
threading.Thread(target=lambda: sess.run(taken), daemon=True).start()
while "Dequeue" not in sess.waiting():
    time.sleep(0.01)
print("ends")
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=280, check=False
    )

    assert run.stdout == "ends\n"
    assert run.returncode == 0, run.stderr
