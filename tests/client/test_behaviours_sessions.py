"""Behaviours of TensorFlow's sessions that have no other test: lifecycle, state, cancellation."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.proto.config_pb2 import CallableOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Start a thread; return it with the place of its result or exception."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def wait_until_blocked(sess: tf.Session, thread: threading.Thread) -> None:
    """Return when a node of a step waits and a close would wake it."""
    while thread.is_alive():
        managers = [step._cancellation_manager for step in sess.runtime.active_steps()]
        if any(manager is not None and manager._callbacks for manager in managers):
            return


# -- lifecycle -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("do", "method"),
    [
        (lambda native: native.run({}, ["x:0"], []), "Run"),
        (lambda native: native.partial_run_setup([], ["x:0"], []), "PRunSetup"),
        (lambda native: native.make_callable(CallableOptions()), "MakeCallable"),
    ],
)
def test_a_session_without_a_graph_names_the_method(
    do: Callable[[Any], object], method: str
) -> None:
    """The error of a native session without a graph names the called method."""
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=rf"Session was not created with a graph before {method}\(\)!",
        ):
            do(sess.runtime)


@pytest.mark.parametrize("side", ["Dequeue", "Enqueue"])
def test_close_gives_blocked_queue_ops_words_of_their_own(side: str) -> None:
    """Close cancels running steps; the error of a blocked queue op has TensorFlow's own text."""
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(1, tf.float32)
        fill = queue.enqueue(1.0)
        sess = tf.Session()
        if side == "Enqueue":
            sess.run(fill)
        op = queue.dequeue() if side == "Dequeue" else fill
        thread, found = in_thread(lambda: sess.run(op))
        wait_until_blocked(sess, thread)
        sess.close()
        thread.join(60)
    assert isinstance(found[0], tf.errors.CancelledError)
    assert f"{side} operation was cancelled" in found[0].message


def test_default_graph_is_per_thread() -> None:
    """A new thread has the global default graph, not that of a block in another thread."""
    with tf.Graph().as_default() as graph:
        thread, found = in_thread(tf.get_default_graph)
        thread.join()
    assert found[0] is not graph


def test_two_sessions_of_one_graph_keep_their_queues_apart() -> None:
    """Resources belong to the devices of a session."""
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(2, tf.float32)
        fill, size = queue.enqueue(1.0), queue.size()
        with tf.Session() as one, tf.Session() as other:
            one.run(fill)
            assert one.run(size) == 1
            assert other.run(size) == 0


def test_session_metadata_goes_into_run_metadata() -> None:
    """RunMetadata holds the session's name and version if it is requested."""
    config = tf.ConfigProto()
    config.experimental.session_metadata.name = "a model"
    config.experimental.session_metadata.version = 7
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        metadata = tf.RunMetadata()
        c = tf.constant(1.0)
        sess.run(c, options=tf.RunOptions(), run_metadata=metadata)
    assert metadata.session_metadata.name == "a model"
    assert metadata.session_metadata.version == 7


# -- feeds, fetches, variables ---------------------------------------------------------------------


def test_floats_fed_to_integers_are_cut_off(sess: tf.Session) -> None:
    """Floats are truncated as by np.asarray with a dtype."""
    p = tf.placeholder(tf.int32)
    assert sess.run(p + 0, {p: np.array([1.9, -1.9])}).tolist() == [1, -1]


def test_embedded_zeros_of_strings_survive(sess: tf.Session) -> None:
    """Strings are bytes with a length, so zero bytes inside them stay."""
    p = tf.placeholder(tf.string)
    assert sess.run(tf.identity(p), {p: [b"a\0b", "ü"]}).tolist() == [b"a\0b", "ü".encode()]


def test_what_is_inside_a_loop_is_neither_fetched_nor_fed(sess: tf.Session) -> None:
    """while_loop marks inner tensors as neither fetchable nor feedable."""
    inside = []

    def body(i: tf.Tensor) -> tf.Tensor:
        inside.append(i + 1)
        return inside[-1]

    out = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with pytest.raises(ValueError, match="has been marked as not fetchable"):
        sess.run(inside[0])
    with pytest.raises(ValueError, match="may not be fed"):
        sess.run(out, {inside[0]: 1})


def test_the_buffer_of_a_reference_variable_is_fetched_after_the_assignment(
    sess: tf.Session,
) -> None:
    """A fetched reference is read at the end of the step."""
    v = tf.Variable(1.0, use_resource=False)
    sess.run(v.initializer)
    assign = tf.assign(v, 5.0)
    value, assigned = sess.run([v, assign])
    assert assigned == 5.0
    assert value in (1.0, 5.0)
    assert sess.run(v) == 5.0


def test_only_some_ops_may_see_an_uninitialized_reference(sess: tf.Session) -> None:
    """Assign and IsVariableInitialized accept an uninitialized reference, other ops do not."""
    v = tf.Variable(1.0, use_resource=False, name="v")
    assert not sess.run(tf.is_variable_initialized(v))
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        sess.run(tf.assign_add(v, 1.0))
    assert sess.run(tf.assign(v, 2.0)) == 2.0
    assert sess.run(tf.is_variable_initialized(v))


def test_order_of_fetches_is_the_order_of_results(sess: tf.Session) -> None:
    """Results follow the order of the fetches, although both orders share their executors."""
    a, b = tf.constant(1), tf.constant(2)
    assert sess.run([a, b]) == [1, 2]
    assert sess.run([b, a]) == [2, 1]


# -- executors, steps, extending -------------------------------------------------------------------


def test_orders_of_one_signature_share_their_executors(sess: tf.Session) -> None:
    """Executors are looked up by sorted fetches."""
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    sess.run([a, b])
    native = sess.runtime
    one = native.prepare((), ("a:0", "b:0"), ())
    other = native.prepare((), ("b:0", "a:0"), ())
    assert one.executors is other.executors


def test_a_seeded_random_op_goes_on_over_different_fetches() -> None:
    """The state of a random op belongs to the session; another session begins anew."""
    with tf.Graph().as_default():
        r = tf.random_uniform([], seed=3)
        doubled = r * 2.0
        with tf.Session() as one:
            first = [one.run(r), one.run(doubled) / 2.0, one.run(r)]
        with tf.Session() as other:
            second = [other.run(r) for _ in range(3)]
    assert np.allclose(first, second)
    assert len(set(second)) == 3


def test_a_random_op_runs_once_in_a_step(sess: tf.Session) -> None:
    """Both consumers of a random op see the same value."""
    r = tf.random_uniform([])
    one, other = sess.run([r + 0.0, r * 1.0])
    assert one == other
    assert sess.run(r) != sess.run(r)


def test_a_finalized_graph_still_runs(sess: tf.Session) -> None:
    """A finalized graph runs, but takes no more ops."""
    c = tf.constant(3.0)
    sess.graph.finalize()
    assert sess.run(c) == 3.0
    with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
        tf.constant(1.0)


def test_step_numbers_are_unique_over_sessions() -> None:
    """Step ids are unique in the process, so the containers of steps never collide."""
    from tfnb.core.step_events import StepObserver

    class Steps(StepObserver):
        def __init__(self) -> None:
            self.ids: list[int] = []

        def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
            self.ids.append(step_id)

    steps = Steps()
    with tf.Graph().as_default():
        c = tf.constant(1.0)
        with tf.Session() as one, tf.Session() as other:
            for session in (one, other, one):
                session.runtime.step_events.add(steps)
            for session in (one, other, one, other):
                session.run(c)
    assert len(steps.ids) >= 4
    assert len(set(steps.ids)) == 4


def test_a_graph_for_newer_readers_is_refused(sess: tf.Session) -> None:
    """The graph is refused before any node is made."""
    graph_def = tf.GraphDef()
    graph_def.versions.min_consumer = 10**6
    with pytest.raises(ValueError, match="GraphDef min consumer version"):
        tf.import_graph_def(graph_def)


# -- partial runs ----------------------------------------------------------------------------------


def test_an_unfinished_partial_run_does_not_hinder_close() -> None:
    """Close cancels the executors of an unfinished partial run."""
    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        total = a + b
        sess = tf.Session()
        handle = sess.partial_run_setup([total], [a, b])
        sess.partial_run(handle, [], {a: 1.0})
        sess.close()
        with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
            sess.partial_run(handle, total, {b: 1.0})


def test_an_error_ends_a_partial_run(sess: tf.Session) -> None:
    """The handle is invalid after an error; the session is usable."""
    a, b = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    quotient = a // b
    handle = sess.partial_run_setup([quotient], [a, b])
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        sess.partial_run(handle, quotient, {a: 1, b: 0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup' before"):
        sess.partial_run(handle, quotient, {a: 1, b: 1})
    assert sess.run(quotient, {a: 4, b: 2}) == 2


def test_a_dead_tensor_of_a_partial_run_is_named(sess: tf.Session) -> None:
    """The message for a dead tensor differs from that of a normal run."""
    pred = tf.placeholder(tf.bool, [])
    false_side, _ = tf.raw_ops.Switch(data=tf.constant(1.0), pred=pred)
    out = tf.identity(false_side)
    handle = sess.partial_run_setup([out], [pred])
    with pytest.raises(tf.errors.InvalidArgumentError, match="was not valid"):
        sess.partial_run(handle, out, {pred: True})


def test_the_session_s_time_limit_holds_for_partial_runs() -> None:
    """The limit applies to each wait for a fetch."""
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x = tf.placeholder(tf.float32, [])
        y = x + tf.FIFOQueue(1, tf.float32).dequeue()
        handle = sess.partial_run_setup([y], [x])
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for"):
            sess.partial_run(handle, y, {x: 1.0})


# -- time-outs, cancellation, queues ---------------------------------------------------------------


def test_a_run_s_time_limit_wins_over_the_session_s() -> None:
    """The limit of the run has precedence, if it is set."""
    config = tf.ConfigProto(operation_timeout_in_ms=10**6)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        dequeue = tf.FIFOQueue(1, tf.float32).dequeue()
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(dequeue, options=tf.RunOptions(timeout_in_ms=30))


def test_a_time_out_loses_nothing_of_a_queue(sess: tf.Session) -> None:
    """A dequeue that times out leaves the elements in the queue."""
    queue = tf.FIFOQueue(2, tf.float32)
    fill = queue.enqueue(4.0)
    other = tf.FIFOQueue(1, tf.float32).dequeue()
    sess.run(fill)
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(other, options=tf.RunOptions(timeout_in_ms=30))
    assert sess.run(queue.dequeue()) == 4.0


def test_the_first_error_of_a_step_is_the_one_reported(sess: tf.Session) -> None:
    """Errors of nodes that were cancelled because of it do not replace it."""
    wait = tf.FIFOQueue(1, tf.float32).dequeue()
    zero = tf.placeholder(tf.int32, [])
    bad = tf.constant(1) // zero
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        sess.run([wait, bad], {zero: 0})


def test_a_dequeue_waits_for_the_enqueue_of_its_own_step(sess: tf.Session) -> None:
    """A waiting op holds no thread, so the enqueue of the same step runs."""
    queue = tf.FIFOQueue(1, tf.float32)
    value, _ = sess.run([queue.dequeue(), queue.enqueue(3.0)])
    assert value == 3.0


def test_a_closed_queue_says_so(sess: tf.Session) -> None:
    """Enqueuing, and dequeuing more than is left, raise errors that say the queue is closed."""
    queue = tf.FIFOQueue(2, tf.float32, name="q")
    dequeue, enqueue = queue.dequeue(), queue.enqueue(1.0)
    sess.run(queue.close())
    with pytest.raises(
        tf.errors.OutOfRangeError,
        match=r"is closed and has insufficient elements \(requested 1, current size 0\)",
    ):
        sess.run(dequeue)
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        sess.run(enqueue)


# -- containers, handles, metadata, threads --------------------------------------------------------


def test_one_shared_name_is_one_resource(sess: tf.Session) -> None:
    """Ops with one shared name use one resource, and their attributes must agree."""
    one, other = (tf.FIFOQueue(3, tf.float32, shared_name="sq") for _ in range(2))
    sess.run(one.enqueue(2.0))
    assert sess.run(other.dequeue()) == 2.0
    third = tf.FIFOQueue(4, tf.float32, shared_name="sq")
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="Shared queue 'sq' has capacity 3 but requested capacity was 4",
    ):
        sess.run(third.size())


def test_queues_without_a_shared_name_are_unique(sess: tf.Session) -> None:
    """Two queues without a shared name are different resources."""
    one = tf.FIFOQueue(3, tf.float32, name="q")
    other = tf.FIFOQueue(3, tf.float32, name="q")
    sess.run(one.enqueue(2.0))
    assert sess.run(other.size()) == 0


def test_containers_apply_to_stateful_ops_inside(sess: tf.Session) -> None:
    """tf.container applies to stateful ops inside of it, and nests."""
    with tf.container("outer"):
        one = tf.FIFOQueue(3, tf.float32)
        with tf.container("inner"):
            other = tf.FIFOQueue(3, tf.float32)
    assert one.queue_ref.op.get_attr("container") == b"outer"
    assert other.queue_ref.op.get_attr("container") == b"inner"


def test_an_unknown_handle_cannot_be_deleted(sess: tf.Session) -> None:
    """The error names the handle."""
    holder, delete = tf.delete_session_tensor("nobody;1;cpu")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Failed to delete a tensor with handle"
    ):
        sess.run(delete, {holder: "nobody;1;cpu"})


def test_no_trace_leaves_the_metadata_empty(sess: tf.Session) -> None:
    """Any other trace level fills RunMetadata, one entry per device."""
    c = tf.constant(1.0) + tf.placeholder_with_default(1.0, [])
    metadata = tf.RunMetadata()
    sess.run(c, options=tf.RunOptions(), run_metadata=metadata)
    assert len(metadata.step_stats.dev_stats) == 0
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    sess.run(c, options=options, run_metadata=metadata)
    assert len(metadata.step_stats.dev_stats) == 1
    stats = metadata.step_stats.dev_stats[0].node_stats
    assert stats[0].node_name == "_SOURCE"
    for node in stats:
        assert node.op_start_rel_nanos <= node.op_end_rel_nanos <= node.all_end_rel_nanos
        assert node.scheduled_micros <= node.all_start_micros


def test_partition_graphs_come_one_for_each_device() -> None:
    """RunMetadata has optimized partition graphs if they are requested."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x = tf.placeholder_with_default(1.0, [])
        with tf.device("/cpu:1"):
            y = x + 1.0
        metadata = tf.RunMetadata()
        sess.run(y, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    assert len(metadata.partition_graphs) == 2


def test_the_calling_thread_may_be_asked_to_run_the_step(sess: tf.Session) -> None:
    """Pool -1 runs the step in the calling thread; a missing pool is refused."""
    c = tf.constant(2.0)
    assert sess.run(c, options=tf.RunOptions(inter_op_thread_pool=-1)) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid inter_op_thread_pool: 5"):
        sess.run(c, options=tf.RunOptions(inter_op_thread_pool=5))


def test_threads_that_build_at_once_give_every_op_a_name_of_its_own() -> None:
    """Names are unique, and the session runs all ops."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:

        def build() -> list[tf.Tensor]:
            with graph.as_default():
                return [tf.constant(float(i), name="c") for i in range(50)]

        threads = [in_thread(build) for _ in range(4)]
        for thread, _ in threads:
            thread.join()
        tensors = [t for _, found in threads for t in found[0]]
        assert len({t.name for t in tensors}) == 200
        assert sum(sess.run(tensors)) == 4 * sum(range(50))


def test_increments_of_a_reference_race_without_harm(sess: tf.Session) -> None:
    """Between one and all of the increments take effect."""
    v = tf.Variable(0.0, use_resource=False)
    adds = tf.group(*(tf.assign_add(v, 1.0) for _ in range(20)))
    sess.run(v.initializer)
    sess.run(adds)
    assert 1.0 <= sess.run(v) <= 20.0


def test_a_random_tree_of_sums_is_exact(sess: tf.Session) -> None:
    """The sum is exact in any order of the nodes."""
    random = np.random.default_rng(1)
    values = [tf.placeholder_with_default(float(i), []) for i in range(100)]
    while len(values) > 1:
        one = values.pop(int(random.integers(len(values))))
        other = values.pop(int(random.integers(len(values))))
        values.append(one + other)
    assert sess.run(values[0]) == sum(range(100))


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (TypeError, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
    ],
)
def test_exceptions_of_python_functions_become_errors(
    sess: tf.Session, raised: type[Exception], error: type[Exception]
) -> None:
    """The error's message has class and text of the exception."""

    def fail() -> float:
        raise raised("boom")

    with pytest.raises(error, match=rf"{raised.__name__}.*boom"):
        sess.run(tf.py_func(fail, [], tf.float32))
