"""Steps on pools of threads: which thread runs a kernel; errors, time-outs, closing."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tests.common_runtime.native_ops import registered
from tests.time_outs import message_of_time_out
from tfnb.core.attr_value import NameAttrList
from tfnb.ops.control import functional_ops
from tfnb.proto.config_pb2 import ThreadPoolOptionProto

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_S = 60


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


def with_pools(*sizes: int, **fields: Any) -> tf.Session:
    """Open a session on the default graph with own pools of these sizes."""
    pools = [ThreadPoolOptionProto(num_threads=size) for size in sizes]
    return tf.Session(config=tf.ConfigProto(session_inter_op_thread_pool=pools, **fields))


def on_pool(index: int, **fields: Any) -> tf.RunOptions:
    """Return options that choose a pool."""
    return tf.RunOptions(inter_op_thread_pool=index, **fields)


def thread_name() -> Any:
    """Return a tensor with the name of the thread that computes it."""
    return tf.py_func(lambda: threading.current_thread().name.encode(), [], tf.string)


def here() -> bytes:
    """Return the name of the calling thread."""
    return threading.current_thread().name.encode()


class Gate:
    """A Python function that reports its begin and waits for permission to end."""

    def __init__(self) -> None:
        self.begun, self.may_go, self.ended = (threading.Event() for _ in range(3))

    def __call__(self) -> np.float32:
        """Waits."""
        self.begun.set()
        assert self.may_go.wait(LIMIT_S)
        self.ended.set()
        return np.float32(1)

    def op(self) -> Any:
        """Return a node that calls the function."""
        return tf.py_func(self, [], tf.float32)


class Background:
    """A call in another thread, and its result."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(call,))
        self._thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self.result = call()
        except BaseException as error:
            self.error = error

    @property
    def is_running(self) -> bool:
        """Whether the call has not returned."""
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()


def wait_until_asked_to_end(sess: tf.Session) -> None:
    """Return when the one running step was asked to end and its thread has noticed."""
    (step,) = sess.runtime.active_steps()
    cancellation, pause = step.cancellation_manager, threading.Event()
    for _ in range(20_000):
        if step.stop is not None and cancellation.is_cancelled:
            return
        pause.wait(0.01)
    raise AssertionError("nobody asked the step to end")


# -- who runs what ---------------------------------------------------------------------------------


def test_without_a_pool_the_caller_runs_everything() -> None:
    """Without a pool all kernels run in the calling thread, with and without a time-out."""
    name = thread_name()
    with tf.Session() as sess:
        assert sess.run(name) == here()
        assert sess.run(name, options=tf.RunOptions(timeout_in_ms=60_000)) == here()
    for number in (1, -1):
        with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=number)) as sess:
            assert sess.run(name) == here()


def test_a_declared_pool_runs_python_functions() -> None:
    """A pool's threads run the function; with -1 the calling thread does."""
    name = thread_name()
    with with_pools(2) as sess:
        assert sess.run(name).startswith(b"Compute0_")
        assert sess.run(name, options=on_pool(0)).startswith(b"Compute0_")
        assert sess.run(name, options=on_pool(-1)) == here()


@pytest.mark.parametrize(
    "fields", [{"use_per_session_threads": True}, {"inter_op_parallelism_threads": 2}]
)
def test_the_older_ways_to_ask_for_threads(fields: dict[str, Any]) -> None:
    """Functions run in a pool of the session, or in that of the process."""
    name = thread_name()
    with tf.Session(config=tf.ConfigProto(**fields)) as sess:
        assert sess.run(name).startswith(b"Compute_")


def test_two_devices_keep_the_pool_although_the_caller_was_asked_for() -> None:
    """Index -1 applies only to a session with one device."""
    with tf.device("/cpu:1"):
        away = tf.identity(thread_name())
    with tf.device("/cpu:0"):
        name = tf.identity(away)
    with with_pools(1, device_count={"CPU": 2}) as sess:
        assert sess.run(name, options=on_pool(-1)).startswith(b"Compute0_")


def test_the_index_chooses_among_the_pools() -> None:
    """Pools are numbered in the order of the configuration; other numbers are refused."""
    name = thread_name()
    with with_pools(1, 1) as sess:
        assert sess.run(name, options=on_pool(0)) == b"Compute0_0"
        assert sess.run(name, options=on_pool(1)) == b"Compute1_0"
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid inter_op_thread_pool: 5"):
            sess.run(name, options=on_pool(5))
        call = sess.make_callable(name, accept_options=True)
        assert call(options=on_pool(1)) == b"Compute1_0"


def test_sessions_share_a_global_pool() -> None:
    """Sessions with the same global pool use the same thread."""
    ident = tf.py_func(lambda: np.int64(threading.get_ident()), [], tf.int64)
    pools = [ThreadPoolOptionProto(global_name="shared by sessions", num_threads=1)]
    found = set()
    for _ in range(2):
        with tf.Session(config=tf.ConfigProto(session_inter_op_thread_pool=pools)) as sess:
            found.add(int(sess.run(ident)))
    assert len(found) == 1
    assert threading.get_ident() not in found


def test_independent_branches_run_at_the_same_time() -> None:
    """Two functions that wait for each other both end."""
    barrier = threading.Barrier(2)

    def meet() -> np.int64:
        barrier.wait(LIMIT_S)
        return np.int64(threading.get_ident())

    branches = [tf.py_func(meet, [], tf.int64) for _ in range(2)]
    with with_pools(2) as sess:
        first, second = sess.run(branches)
    assert first != second


def test_a_blocked_pool_blocks_no_other() -> None:
    """Other pools run meanwhile; the blocked pool continues when its thread is free."""
    gate, name = Gate(), thread_name()
    blocking = gate.op()
    with with_pools(1, 1) as sess:
        blocked = Background(lambda: sess.run(blocking, options=on_pool(0)))
        assert gate.begun.wait(LIMIT_S)
        assert sess.run(name, options=on_pool(1)) == b"Compute1_0"
        assert sess.run(name, options=on_pool(-1)) == here()
        assert blocked.is_running
        gate.may_go.set()
        blocked.join()
        assert blocked.result == 1.0


def test_a_waiting_dequeue_holds_no_thread_of_a_pool() -> None:
    """Dequeue and enqueue of one step run in a pool with one thread."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    dequeue = queue.dequeue()
    enqueue = queue.enqueue(tf.py_func(lambda: np.float32(4), [], tf.float32))
    with with_pools(1) as sess:
        assert sess.run([dequeue, enqueue]) == [4.0, None]


def test_a_partial_run_uses_the_first_pool() -> None:
    """A partial run takes no options."""
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([x]):
        name = tf.identity(thread_name())
    with with_pools(1, 1) as sess:
        handle = sess.partial_run_setup([name, x * 2.0], [x])
        assert sess.partial_run(handle, name, {x: 1.0}) == b"Compute0_0"


def test_functions_of_the_graph_use_the_pool_of_their_step(graph: tf.Graph) -> None:
    """Kernels of the body run in the pool, the call does not."""

    def name_of_thread(xp: Any, x: Any) -> Any:
        return np.array(here(), dtype=object)

    library = """
        library { function {
          signature { name: "Body" input_arg { name: "x" type: DT_FLOAT }
                      output_arg { name: "y" type: DT_STRING } }
          node_def { name: "n" op: "TestWhere" input: "x" }
          attr { key: "_noinline" value { b: true } }
          ret { key: "y" value: "n:y:0" } } }
        versions { producer: 21 }"""
    with registered("TestWhere", "x: float -> y: string", name_of_thread, expensive=True):
        tf.import_graph_def(text_format.Parse(library, tf.GraphDef()), name="")
        (y,) = functional_ops.partitioned_call(
            [tf.constant(1.0)], Tout=[tf.string], f=NameAttrList("Body", {})
        )
        with with_pools(1) as sess:
            assert sess.run(y) == b"Compute0_0"
            assert sess.run(y, options=on_pool(-1)) == here()


def test_run_handlers_are_accepted() -> None:
    """use_run_handler_pool is accepted, with a pool and without."""
    options = tf.RunOptions()
    options.experimental.use_run_handler_pool = True
    y = tf.constant(2.0) * 3.0
    for sess in (tf.Session(), with_pools(2)):
        with sess:
            assert sess.run(y, options=options) == 6.0


def test_a_training_step_is_the_same_with_a_pool() -> None:
    """Results are equal with variables of both kinds, a loop and a gradient."""
    with tf.variable_scope("s", initializer=tf.ones_initializer()):
        ref = tf.get_variable("ref", [4], use_resource=False)
        res = tf.get_variable("res", [4], use_resource=True)
    x = tf.placeholder(tf.float32, [4])
    _, total = tf.while_loop(
        lambda i, _: i < 5, lambda i, s: (i + 1, s + tf.sin(x * ref * res)), [0, x]
    )
    loss = tf.reduce_sum(total)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    answers = []
    for sess in (tf.Session(), with_pools(3)):
        with sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(5):
                sess.run(train, {x: [0.1, 0.2, 0.3, 0.4]})
            answers.append(sess.run([ref, res, loss], {x: [1.0, 2.0, 3.0, 4.0]}))
    for plain, pooled in zip(*answers):
        np.testing.assert_array_equal(plain, pooled)


def test_a_trace_of_a_step_in_a_pool_has_every_node() -> None:
    """The trace has every node."""
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(x, name="y")
    metadata = tf.RunMetadata()
    options = on_pool(0, trace_level=tf.RunOptions.FULL_TRACE)
    with with_pools(1) as sess:
        sess.run(y, {x: [1.0, 2.0]}, options=options, run_metadata=metadata)
    rows = {row.node_name: row for row in metadata.step_stats.dev_stats[0].node_stats}
    assert rows["y"].output[0].tensor_description.shape.dim[0].size == 2
    assert rows["y"].all_end_rel_nanos >= rows["y"].op_end_rel_nanos >= 0


# -- how a step in a pool ends ---------------------------------------------------------------------


def test_an_error_on_a_thread_of_a_pool_is_the_step_s() -> None:
    """The error has node and class; the session stays usable."""

    def fail() -> np.float32:
        raise ValueError("boom")

    bad, good = tf.py_func(fail, [], tf.float32, name="bad"), thread_name()
    with with_pools(2) as sess:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: boom") as caught:
                sess.run([bad, good])
            assert caught.value.op.name == "bad"
        assert sess.run(good).startswith(b"Compute0_")


def test_the_first_error_of_a_pool_wins() -> None:
    """Errors caused by the end of the step do not replace the first one."""
    gate = Gate()

    def fail() -> np.float32:
        assert gate.begun.wait(LIMIT_S)
        gate.may_go.set()
        raise StopIteration("first")

    waiting = tf.FIFOQueue(1, tf.float32).dequeue()
    fetches = [gate.op(), waiting, tf.py_func(fail, [], tf.float32)]
    with with_pools(2) as sess:
        with pytest.raises(tf.errors.OutOfRangeError, match="first"):
            sess.run(fetches)
        assert gate.ended.is_set()


def test_a_time_out_comes_back_when_every_kernel_has_ended() -> None:
    """The step is asked to end; run returns when its kernel has ended."""
    gate = Gate()
    blocking = gate.op()
    with with_pools(1) as sess:
        for limit in (20, 200, 2_000, 20_000):  # a busy machine may not have begun it in time
            options = on_pool(0, timeout_in_ms=limit)
            run = Background(lambda options=options: sess.run(blocking, options=options))
            while run.is_running and not gate.begun.wait(0.01):
                pass
            if gate.begun.is_set():
                break
            run.join()
        wait_until_asked_to_end(sess)
        assert run.is_running
        gate.may_go.set()
        run.join()
        assert gate.ended.is_set()
        assert isinstance(run.error, tf.errors.DeadlineExceededError)
        assert "runs on a thread of pool 'Compute0'" in run.error.message
        assert not sess.runtime.active_steps()


def test_a_time_out_takes_back_what_no_thread_has_begun() -> None:
    """Queued kernels are removed; the other step that occupies the pool continues."""
    gate, ran = Gate(), []
    blocking = gate.op()
    queued = tf.py_func(lambda: np.float32(ran.append(1) or 2), [], tf.float32, name="queued")
    with with_pools(1) as sess:
        blocked = Background(lambda: sess.run(blocking))
        assert gate.begun.wait(LIMIT_S)
        words = "waits for a thread of pool"
        message = message_of_time_out(
            lambda limit: sess.run(queued, options=on_pool(0, timeout_in_ms=limit)), words
        )
        assert re.search(f"'queued' .* {words}", message)
        assert blocked.is_running
        gate.may_go.set()
        blocked.join()
        assert sess.run(blocking) == 1.0
    assert not ran


def test_an_endless_loop_in_a_pool_is_ended_by_a_time_out() -> None:
    """Nodes of the loop run in the pool first, and in the calling thread once measured as cheap."""
    i = tf.while_loop(lambda i: i < 2, lambda i: i * 1, [tf.constant(1)])
    with with_pools(1) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(i, options=on_pool(0, timeout_in_ms=50))
        assert sess.run(tf.constant(3)) == 3


def test_closing_ends_a_step_in_a_pool_and_its_threads() -> None:
    """The running step raises the error of close; no thread is left."""
    gate = Gate()
    blocking = gate.op()
    sess = with_pools(2)
    before = set(threading.enumerate())
    run = Background(lambda: sess.run(blocking))
    assert gate.begun.wait(LIMIT_S)
    made = set(threading.enumerate()) - before
    sess.close()
    gate.may_go.set()
    run.join()
    assert isinstance(run.error, tf.errors.CancelledError)
    for thread in made:
        thread.join(LIMIT_S)
        assert not thread.is_alive()


def test_an_idle_session_leaves_no_thread() -> None:
    """close returns when the threads have ended."""
    before = set(threading.enumerate())
    with with_pools(3, 2) as sess:
        sess.run(thread_name(), options=on_pool(1))
        assert set(threading.enumerate()) - before
    assert set(threading.enumerate()) <= before  # threads of other tests may end meanwhile
