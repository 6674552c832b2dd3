"""A session's life: opening, running, extending, closing, defaults."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


# -- opening ---------------------------------------------------------------------------------------


def test_session_takes_the_default_graph(graph: tf.Graph) -> None:
    """Without an argument a session runs the current default graph."""
    assert tf.Session().graph is graph


def test_session_takes_a_given_graph() -> None:
    """A graph that is not the default can be run too."""
    other = tf.Graph()
    with other.as_default():
        c = tf.constant(3)
    with tf.Session(graph=other) as sess:
        assert sess.run(c) == 3


def test_config_as_target_is_refused_with_a_hint() -> None:
    """The error for Session(config) suggests Session(config=config)."""
    with pytest.raises(TypeError, match=r"Argument `target` must be a string.*config=config"):
        tf.Session(tf.ConfigProto())


def test_target_must_be_a_string() -> None:
    """A number is no target."""
    with pytest.raises(TypeError, match=r'Argument `target` must be a string, but got "int"'):
        tf.Session(37)


def test_graph_must_be_a_graph() -> None:
    """A number is no graph."""
    with pytest.raises(TypeError, match=r'Argument `graph` must be a tf.Graph, but got "int"'):
        tf.Session(graph=3)


def test_config_must_be_a_config() -> None:
    """A number is no configuration."""
    with pytest.raises(
        TypeError, match=r'Argument `config` must be a tf.ConfigProto, but got "int"'
    ):
        tf.Session(config=3)


def test_unknown_target_names_the_target() -> None:
    """The error names the unknown target."""
    with pytest.raises(
        tf.errors.NotFoundError,
        match=r"No session factory registered for the given session options.*zzz://x",
    ):
        tf.Session("zzz://x")


def test_a_session_that_could_not_be_made_can_be_collected() -> None:
    """A session whose constructor failed raises no error when it is collected."""
    with pytest.raises(tf.errors.NotFoundError):
        tf.Session("zzz://x")
    gc.collect()


def test_list_devices_follows_device_count() -> None:
    """Each requested CPU device is listed, with a memory limit and an incarnation."""
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as sess:
        devices = [d for d in sess.list_devices() if d.device_type == "CPU"]
    assert [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3)] == [
        d.name for d in devices
    ]
    assert all(d.memory_limit_bytes > 0 for d in devices)
    assert all(d.incarnation != 0 for d in devices)
    assert "CPU" in repr(devices[0])


# -- running ---------------------------------------------------------------------------------------


def test_empty_graph_is_refused() -> None:
    """A graph without ops is refused, because it is most likely the wrong graph."""
    with tf.Session() as sess, pytest.raises(RuntimeError, match="The Session graph is empty"):
        sess.run([])


def test_running_nothing_does_not_touch_the_runtime() -> None:
    """A run without fetches does not report an impossible placement either."""
    with tf.device("/device:GPU:99"):
        tf.constant(1)
    with tf.Session() as sess:
        assert sess.run([]) == []
        assert sess.run({}) == {}
        assert sess.run(()) == ()


def test_ops_added_after_a_run_can_be_run() -> None:
    """New ops are sent to the runtime."""
    a = tf.constant(1)
    with tf.Session() as sess:
        assert sess.run(a) == 1
        b = a + 1
        assert sess.run(b) == 2
        assert sess.run(a) == 1


def test_only_new_ops_are_sent() -> None:
    """The second message contains only the nodes made since the first."""
    a = tf.constant(1, name="a")
    with tf.Session() as sess:
        sent = []
        extend = sess.runtime.extend
        sess.runtime.extend = lambda graph_def: (sent.append(graph_def), extend(graph_def))
        sess.run(a)
        b = tf.identity(a, name="b")
        sess.run(b)
        sess.run([a, b])
    assert [[node.name for node in message.node] for message in sent] == [["a"], ["b"]]


def test_a_failed_extension_can_be_repeated() -> None:
    """Nodes that the runtime refused are sent again with the next run."""
    a = tf.constant(1.0)
    with tf.Session() as sess:
        assert sess.run(a) == 1.0
        extend, calls = sess.runtime.extend, []

        def refuse(graph_def: tf.GraphDef) -> None:
            calls.append(graph_def)
            raise tf.errors.InvalidArgumentError(None, None, "refused")

        sess.runtime.extend = refuse
        b = a + 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="refused"):
            sess.run(b)
        sess.runtime.extend = extend
        assert sess.run(b) == 2.0


def test_changing_an_op_that_ran_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    """The session warns and keeps the node as it was sent; a new session has the change."""
    a = tf.constant(1.0, name="a")
    b = a + 1.0
    with tf.Session() as sess:
        assert sess.run(b) == 2.0
        assert caplog.text == ""
        a.op._set_attr("value", tf.AttrValue(tensor=tf.make_tensor_proto(5.0)))
        assert "Operation 'a' was changed after a session had taken it" in caplog.text
        assert sess.run(b) == 2.0
        assert sess.run(b * 10.0) == 20.0
    with tf.Session() as other:
        assert other.run(b) == 6.0


def test_two_sessions_of_one_graph_keep_their_variables_apart() -> None:
    """Variables live in a session, not in the graph."""
    v = tf.Variable(1.0)
    assign = tf.assign(v, 9.0)
    with tf.Session() as one, tf.Session() as other:
        one.run(v.initializer)
        other.run(v.initializer)
        one.run(assign)
        assert (one.run(v), other.run(v)) == (9.0, 1.0)


def test_graph_def_holds_the_graph(graph: tf.Graph) -> None:
    """The property gives the whole graph as a message."""
    tf.constant(1, name="c")
    with tf.Session() as sess:
        assert [node.name for node in sess.graph_def.node] == ["c"]
        assert sess.sess_str == ""


def test_graph_def_carries_shapes_if_asked() -> None:
    """graph_options.infer_shapes adds the shapes known."""
    tf.constant([1, 2], name="c")
    config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    with tf.Session(config=config) as sess:
        assert "_output_shapes" in sess.graph_def.node[0].attr


def test_many_threads_run_one_session() -> None:
    """Results of concurrent runs belong to their callers."""
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0
    wrong: list[float] = []
    with tf.Session() as sess:

        def work(k: float) -> None:
            results = [sess.run(y, {x: k}) for _ in range(50)]
            wrong.extend(result for result in results if result != 2 * k)

        threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_graph_may_grow_while_another_thread_runs() -> None:
    """Building in one thread does not disturb runs in another."""
    a = tf.constant(0.0)
    graph = tf.get_default_graph()
    errors: list[Exception] = []
    with tf.Session() as sess:

        def build_and_run() -> None:
            try:
                with graph.as_default():
                    for i in range(40):
                        assert sess.run(tf.add(a, float(i))) == i
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=build_and_run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


# -- closing ---------------------------------------------------------------------------------------


def test_run_after_close_is_refused() -> None:
    """A closed session runs nothing, also what it ran before."""
    c = tf.constant(1)
    sess = tf.Session()
    sess.run(c)
    sess.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        sess.run(c)


def test_close_twice_is_harmless() -> None:
    """The second close does nothing."""
    sess = tf.Session()
    sess.close()
    sess.close()


def test_close_while_others_run_ends_each_run_in_a_known_way() -> None:
    """Each run gives a result or an error that says that the session is closed; none hangs."""
    c = tf.constant(1) + tf.constant(2)
    sess = tf.Session()
    sess.run(c)
    surprises: list[BaseException] = []
    started = threading.Barrier(4)

    def work() -> None:
        started.wait()
        try:
            while True:
                assert sess.run(c) == 3
        except RuntimeError as error:
            if "Attempted to use a closed Session" not in str(error):
                surprises.append(error)
        except tf.errors.CancelledError:
            pass
        except BaseException as error:
            surprises.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    started.wait()
    sess.close()
    for thread in threads:
        thread.join(60)
    assert surprises == []
    assert not any(thread.is_alive() for thread in threads)


def test_a_forgotten_session_is_closed() -> None:
    """Dropping the last reference frees the runtime's session."""
    c = tf.constant(1)
    sess = tf.Session()
    sess.run(c)
    runtime, alive = sess.runtime, weakref.ref(sess)
    gc.disable()
    del sess
    gc.enable()
    assert alive() is None
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
        runtime.list_devices()


def test_reset_closes_live_sessions() -> None:
    """A session from before the reset is closed."""
    v = tf.Variable(1.0)
    sess = tf.Session()
    sess.run(v.initializer)
    tf.Session.reset("")
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
        sess.run(v)
    sess.close()


# -- as a context ----------------------------------------------------------------------------------


def test_leaving_the_block_closes_the_session() -> None:
    """``with tf.Session()`` ends the session."""
    c = tf.constant(1)
    with tf.Session() as sess:
        pass
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        sess.run(c)


def test_leaving_by_an_exception_closes_the_session() -> None:
    """The session is closed and the exception goes on."""
    sess = tf.Session()
    with pytest.raises(ZeroDivisionError), sess:
        raise ZeroDivisionError
    assert sess._closed
    assert tf.get_default_session() is None


def test_with_session_sets_default_session_and_graph() -> None:
    """Inside the block both defaults are the session's."""
    other = tf.Graph()
    with tf.Session(graph=other) as sess:
        assert tf.get_default_session() is sess
        assert tf.get_default_graph() is other
    assert tf.get_default_session() is None
    assert tf.get_default_graph() is not other


def test_as_default_sets_only_the_session() -> None:
    """as_default sets no default graph, and its end does not close the session."""
    with tf.Graph().as_default() as other:
        c = tf.constant(4)
    sess = tf.Session(graph=other)
    with sess.as_default() as entered:
        assert entered is sess
        assert tf.get_default_session() is sess
        assert tf.get_default_graph() is not other
    assert sess.run(c) == 4
    sess.close()


def test_entering_a_session_twice_is_refused() -> None:
    """A session that was entered cannot be entered again."""
    with tf.Session() as sess:
        with pytest.raises(RuntimeError, match="Session context managers are not re-entrant"):
            with sess:
                pass
        with sess.as_default(), sess.as_default():
            assert tf.get_default_session() is sess


def test_leaving_in_the_wrong_order_is_noticed() -> None:
    """Leaving blocks in the wrong order is refused."""
    one, other = tf.Session(), tf.Session()
    first, second = one.as_default(), other.as_default()
    first.__enter__()
    second.__enter__()
    with pytest.raises(AssertionError, match="Nesting violated"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)
    one.close()
    other.close()


def test_default_session_is_per_thread() -> None:
    """A new thread has no default session."""
    seen: list[object] = []
    with tf.Session():
        thread = threading.Thread(target=lambda: seen.append(tf.get_default_session()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_eval_and_run_use_the_default_session() -> None:
    """Tensor.eval and Operation.run take the innermost session, with feeds."""
    x = tf.placeholder(tf.float32)
    y = x * 2.0
    with tf.Session():
        assert y.eval(feed_dict={x: 3.0}) == 6.0
        assert tf.no_op().run() is None


def test_eval_without_a_session_names_the_remedy() -> None:
    """The message suggests a with block or a session argument."""
    c = tf.constant(1)
    with pytest.raises(ValueError, match=r"No default session is registered. Use `with sess"):
        c.eval()


def test_eval_in_a_session_of_another_graph_is_refused() -> None:
    """The default session must belong to the tensor's graph."""
    with tf.Graph().as_default():
        c = tf.constant(1)
    with tf.Session().as_default():
        with pytest.raises(ValueError, match="graph is different from the session's graph"):
            c.eval()


# -- options and metadata --------------------------------------------------------------------------


def test_options_must_be_run_options() -> None:
    """An argument that is not a RunOptions is refused."""
    c = tf.constant(1)
    with tf.Session() as sess, pytest.raises(TypeError, match=r"must be a tf.RunOptions.*int"):
        sess.run(c, options=3)


def test_metadata_must_be_run_metadata() -> None:
    """An argument that is not a RunMetadata is refused."""
    c = tf.constant(1)
    with tf.Session() as sess, pytest.raises(TypeError, match=r"must be a tf.RunMetadata.*dict"):
        sess.run(c, run_metadata={})


def test_metadata_without_options_stays_empty() -> None:
    """Without options nothing is recorded."""
    c = tf.constant(1)
    metadata = tf.RunMetadata()
    with tf.Session() as sess:
        sess.run(c, run_metadata=metadata)
    assert metadata.ByteSize() == 0


def test_metadata_is_overwritten_by_each_run() -> None:
    """Two traced runs leave the statistics of the second only."""
    c = tf.constant(1.0) + tf.constant(2.0)
    metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    counts = []
    with tf.Session() as sess:
        for _ in range(2):
            sess.run(c, options=options, run_metadata=metadata)
            counts.append(sum(len(d.node_stats) for d in metadata.step_stats.dev_stats))
    assert counts[0] == counts[1] > 0


def test_timeout_of_a_run_leaves_the_session_usable() -> None:
    """An empty queue ends the run at the time-out; afterwards the queue works."""
    queue = tf.FIFOQueue(1, tf.float32)
    dequeue, enqueue = queue.dequeue(), queue.enqueue(3.0)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting"):
            sess.run(dequeue, options=tf.RunOptions(timeout_in_ms=20))
        sess.run(enqueue)
        assert np.float32(3.0) == sess.run(dequeue)


def test_numpy_warns_again_after_a_step() -> None:
    """A step ignores overflow; the user's NumPy settings are restored when it ends or fails."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        square, shape = x * x, tf.placeholder(tf.int32, [None])
        refused = tf.reshape(square, shape)
    with tf.Session(graph=graph) as sess, np.errstate(over="raise"):
        for _ in range(3):
            assert np.isinf(sess.run(square, {x: 3e38}))
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(refused, {x: 3e38, shape: [2, 2]})
            assert np.geterr()["over"] == "raise"


def test_metadata_without_options_has_the_cost_graph() -> None:
    """As in TensorFlow, whether options are given or not."""
    config = tf.ConfigProto()
    config.graph_options.build_cost_model = 1
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        y = tf.square(tf.constant(3.0), name="y")
        metadata = tf.RunMetadata()
        session.run(y, run_metadata=metadata)
    assert len(metadata.cost_graph.node) == 4
