"""A step in any form tells observers from outside which node runs."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

import tfnb as tf
from tests.time_outs import message_of_time_out
from tfnb.client.step_sampler import StepSampler
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.framework.functions import function

_LIMIT_S = 60
ALL_WAYS = pytest.mark.parametrize("when", [Lowering.NEVER, Lowering.ALWAYS])


@pytest.fixture
def graph():
    """A graph of its own."""
    with tf.Graph().as_default() as found:
        yield found


class Slow:
    """A node that waits in a chosen call until the test has looked."""

    def __init__(self, turn=0):
        self.turn = turn
        self.num_calls = 0
        self.is_there = threading.Event()
        self.may_go = threading.Event()

    def wait(self, value):
        """Wait; this is the Python function of the node."""
        number, self.num_calls = self.num_calls, self.num_calls + 1
        if number == self.turn:
            self.is_there.set()
            assert self.may_go.wait(_LIMIT_S)
        return value

    def node(self, x, name="slow"):
        """Return the node, with the static shape of its input."""
        found = tf.py_func(self.wait, [x], x.dtype, name=name)
        found.set_shape(x.shape)
        return found


def look(slow, session, fetch, feeds=None, ask=None):
    """Return the running nodes while the slow node waits, and the result of the step."""
    results = []
    thread = threading.Thread(target=lambda: results.append(session.run(fetch, feeds)))
    thread.start()
    try:
        assert slow.is_there.wait(_LIMIT_S)
        found = session.running_nodes() if ask is None else ask()
    finally:
        slow.may_go.set()
        thread.join(_LIMIT_S)
    assert not thread.is_alive()
    return found, results[0]


@ALL_WAYS
def test_the_slow_one_of_many_nodes_is_named(graph, when):
    """In straight-line code the slow node is named, not those before and behind it."""
    slow, other = Slow(), Slow(turn=-1)
    x = tf.placeholder(tf.float32, [], name="x")
    y = other.node(tf.negative(slow.node(other.node(x + 1.0, "before"))), "behind")
    with lowering(when), tf.Session() as session:
        (node,), result = look(slow, session, y, {x: 1.0})
        assert (node.name, node.op, node.loops, node.caller) == ("slow", "PyFunc", (), None)
        assert node.device.endswith("CPU:0")
        assert result == -2.0
        assert session.running_nodes() == []


def test_a_step_on_its_shortest_way_is_told_too(graph):
    """A step of a prepared signature, which has neither options nor a frame, is sampled too."""
    slow = Slow(turn=6)
    x = tf.placeholder(tf.float32, [])
    y = slow.node(x * 2.0) + 1.0
    with tf.Session() as session:
        for _ in range(6):
            session.run(y, {x: 1.0})
        (node,), result = look(slow, session, y, {x: 3.0})
        assert node.name == "slow"
        assert node.signature_id > 0
        assert result == 7.0


@ALL_WAYS
def test_a_loop_says_its_iteration(graph, when):
    """The node of the inner of two loops is named with its iteration."""
    slow = Slow(turn=5)

    def inner(i):
        return tf.while_loop(lambda j, _: j < 3, lambda j, t: (j + 1, slow.node(t)), [0, i])[1]

    loop = tf.while_loop(lambda i: i < 3, lambda i: inner(i) + 1, [0], parallel_iterations=1)
    with lowering(when), tf.Session() as session:
        (node,), result = look(slow, session, loop)
        frames = [("while/while_context", 1), ("while/while/while_context", 2)]
        assert node.name == "while/while/slow"
        assert [(name, iteration) for name, iteration in node.loops] == frames
        assert result == 3


@ALL_WAYS
def test_a_function_names_its_caller(graph, when):
    """A node of a function in a function in a loop is named with its callers."""
    slow = Slow(turn=1)

    @function.Defun(tf.float32, func_name="inner", noinline=True)
    def inner(x):
        return slow.node(x * 2.0)

    @function.Defun(tf.float32, func_name="outer", noinline=True)
    def outer(x):
        return inner(x + 0.0, name="call_inner") + 1.0

    def body(i, t):
        called = outer(t, name="call_outer")
        called.set_shape([])
        return i + 1, called

    loop = tf.while_loop(lambda i, _: i < 3, body, [0, 1.0], parallel_iterations=1)
    with lowering(when), tf.Session() as session:
        (node,), result = look(slow, session, loop)
        assert (node.op, node.function, node.loops) == ("PyFunc", "inner", ())
        assert (node.caller.op, node.caller.function) == ("inner", "outer")
        above = node.caller.caller
        assert above == node.outermost
        assert (above.name, above.function) == ("while/call_outer", "")
        assert above.loops == (("while/while_context", 1),)
        assert result[1] == 15.0


@ALL_WAYS
def test_a_node_of_another_device_is_named_with_it(graph, when):
    """Two partitions run as one function or one after the other."""
    slow = Slow(turn=2)
    x = tf.placeholder(tf.float32, [])
    with tf.device("/cpu:1"):
        far = slow.node(x + 1.0)
    with tf.device("/cpu:0"):
        y = far * 2.0
    with lowering(when), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        for _ in range(2):
            session.run(y, {x: 1.0})
        assert bool(session.emitted_sources()) is (when is Lowering.ALWAYS)
        (node,), result = look(slow, session, y, {x: 1.0})
        assert node.name == "slow"
        assert node.device.endswith("CPU:1")
        assert result == 4.0


def test_a_node_of_a_cond_is_named(graph):
    """The node on the taken side is named."""
    slow = Slow()
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0.0, lambda: slow.node(x), lambda: slow.node(-x, "other"))
    with lowering(Lowering.ALWAYS), tf.Session() as session:
        (node,), result = look(slow, session, y, {x: -1.0})
        assert node.name == "cond/other"
        assert result == 1.0


def test_a_call_that_runs_along_with_the_step_names_its_caller(graph):
    """A function that dequeues is driven with the caller's nodes, and its node names the caller."""
    slow = Slow()
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])

    @function.Defun(tf.resource, func_name="taker", noinline=True)
    def taker(handle):
        item = tf.raw_ops.QueueDequeueV2(handle=handle, component_types=[tf.float32])[0]
        item.set_shape([])
        return slow.node(item)

    call = taker(queue.queue_ref, name="call")
    with tf.Session() as session:
        session.run(queue.enqueue(4.0))
        (node,), result = look(slow, session, call)
        assert (node.name, node.function) == ("slow_0", "taker")
        assert (node.caller.name, node.caller.function) == ("call", "")
        assert result == 4.0


def test_a_watched_step_is_told_alike(graph):
    """A traced step, which runs as a schedule, is sampled in the same way."""
    slow = Slow()
    y = tf.negative(slow.node(tf.constant(1.0)))
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        traced = session.make_callable(y)
        thread = threading.Thread(
            target=lambda: session.run(y, options=options, run_metadata=tf.RunMetadata())
        )
        thread.start()
        assert slow.is_there.wait(_LIMIT_S)
        names = [node.name for node in session.running_nodes()]
        slow.may_go.set()
        thread.join(_LIMIT_S)
        assert names == ["slow"]
        assert traced() == -1.0


def test_each_step_in_flight_has_a_node(graph):
    """Two threads of one session have a node each; a third session is left out."""
    slows = [Slow(), Slow(), Slow()]
    fetches = [slow.node(tf.constant(1.0), f"slow{i}") for i, slow in enumerate(slows)]
    with tf.Session() as session, tf.Session() as other:
        homes = [session, session, other]
        threads = [
            threading.Thread(target=home.run, args=(fetch,))
            for home, fetch in zip(homes, fetches, strict=True)
        ]
        for thread in threads:
            thread.start()
        assert all(slow.is_there.wait(_LIMIT_S) for slow in slows)
        found, others = session.running_nodes(), other.running_nodes()
        for slow in slows:
            slow.may_go.set()
        for thread in threads:
            thread.join(_LIMIT_S)
        assert sorted(node.name for node in found) == ["slow0", "slow1"]
        assert len({node.thread for node in found}) == len({node.step_id for node in found}) == 2
        assert [node.name for node in others] == ["slow2"]


def test_a_step_inside_a_step_is_told_apart(graph):
    """A Python function that runs another session is named, and so is the node in that session."""
    seen = []
    inside = tf.Graph()
    with inside.as_default():
        other = tf.Session()
        inner = tf.py_func(
            lambda: seen.append((session.running_nodes(), other.running_nodes())),
            [],
            [],
            name="inner",
        )

    outer = tf.py_func(lambda: other.run(inner), [], [], name="outer")
    with tf.Session() as session, other:
        session.run(outer)
    ((ours, theirs),) = seen
    assert [node.name for node in ours] == ["outer"]
    assert [node.name for node in theirs] == ["inner"]


def test_threads_of_a_pool_are_told_too(graph):
    """Both kernels that run in threads of a pool are named."""
    slows = [Slow(), Slow()]
    y = tf.add(*[slow.node(tf.constant(1.0), f"slow{i}") for i, slow in enumerate(slows)])
    with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=3)) as session:
        thread = threading.Thread(target=session.run, args=(y,))
        thread.start()
        assert all(slow.is_there.wait(_LIMIT_S) for slow in slows)
        found = session.running_nodes()
        for slow in slows:
            slow.may_go.set()
        thread.join(_LIMIT_S)
        assert {node.name for node in found} == {"slow0", "slow1"}
        assert thread.ident not in {node.thread for node in found}


@ALL_WAYS
def test_a_step_that_is_held_says_what_ran_last(graph, when):
    """A step held between two iterations of a loop names its last node."""
    slow = Slow(turn=1)
    loop = tf.while_loop(lambda i: i < 3, lambda i: slow.node(i) + 1, [0], parallel_iterations=1)
    with lowering(when), tf.Session() as session:

        def ask():
            session.runtime.hold_steps()
            while session.runtime.active_steps()[0].stop is None:
                assert threading.active_count() > 1
            slow.may_go.set()
            nodes = session.running_nodes()
            while not (nodes and nodes[0].is_held):
                nodes = session.running_nodes()
            text = session.waiting()
            session.runtime.let_steps_go()
            return nodes, text

        ((node,), text), result = look(slow, session, loop, ask=ask)
    assert node.loops
    assert f"'{node.name}' ({node.op}) ran last" in text
    assert result == 3


def test_waiting_says_what_runs_and_where_it_was_made(graph):
    """The text of Session.waiting names the running node and the line that made it."""
    slow = Slow(turn=1)
    loop = tf.while_loop(lambda i: i < 2, lambda i: slow.node(i) + 1, [0], parallel_iterations=1)
    with tf.Session() as session:
        text, _ = look(slow, session, loop, ask=session.waiting)
    assert "is running" in text
    assert "frame 'while/while_context' is in iteration 1" in text
    assert f"'while/slow' (PyFunc) runs, made at {__file__}:" in text


@ALL_WAYS
def test_a_time_out_names_the_node_that_ran(graph, when):
    """The deadline passes while a kernel computes; the error comes when the kernel is done."""

    def wait(value):
        """Wait until the step is asked to end."""
        (state,) = session.runtime.active_steps()
        while state.stop is None:
            threading.Event().wait(0.001)
        return value

    slow = tf.py_func(wait, [tf.placeholder_with_default(1.0, [])], tf.float32, name="slow")
    y = tf.negative(slow)
    for number in range(50):
        y = tf.negative(y) if number % 2 else tf.sin(y)
    with lowering(when), tf.Session() as session:

        def run(limit):
            session.run(y, options=tf.RunOptions(timeout_in_ms=limit))

        message = message_of_time_out(run, "(PyFunc) runs")
    assert "Still running:\n  'slow' (PyFunc) runs" in message
    assert f"made at {__file__}:" in message


@ALL_WAYS
def test_an_interrupt_names_the_node_it_struck(graph, when):
    """The error names a node in straight-line code or in a function that a loop calls."""

    def strike(value):
        if value >= 2:
            signal.raise_signal(signal.SIGINT)
        return np.float32(value + 1)

    @function.Defun(tf.float32, func_name="struck", noinline=True)
    def struck(x):
        return tf.py_func(strike, [x], tf.float32, name="slow")

    def body(t):
        called = struck(t, name="call")
        called.set_shape([])
        return called

    loop = tf.while_loop(lambda t: t < 9.0, body, [0.0], parallel_iterations=1)
    plain = tf.py_func(strike, [tf.constant(5.0)], tf.float32, name="plain")
    with lowering(when), tf.Session() as session:
        with pytest.raises(KeyboardInterrupt) as caught:
            session.run(plain)
        assert "'plain' (PyFunc) runs, made at" in "\n".join(caught.value.__notes__)
        with pytest.raises(KeyboardInterrupt) as caught:
            session.run(loop)
        text = "\n".join(caught.value.__notes__)
        assert "(PyFunc) runs, in function 'struck'" in text
        assert "called by 'while/call' (struck), in iteration 2 of frame" in text
        assert session.run(tf.constant(3.0)) == 3.0


def test_looking_keeps_no_tensor_alive(graph):
    """Arrays of finished iterations are freed, although variables of the loop were read."""
    import gc
    import weakref

    slow, refs = Slow(turn=1), []

    def make(i):
        value = np.zeros(1000, np.float32)
        refs.append(weakref.ref(value))
        return value

    def body(i):
        large = tf.py_func(make, [i], tf.float32)
        with tf.control_dependencies([tf.reduce_sum(large)]):
            return slow.node(i) + 1

    loop = tf.while_loop(lambda i: i < 3, body, [0], parallel_iterations=1)
    with lowering(Lowering.ALWAYS), tf.Session() as session:

        def ask():
            found = session.running_nodes()
            gc.collect()
            return found, [ref() is None for ref in refs]

        (found, gone), _ = look(slow, session, loop, ask=ask)
    assert [node.name for node in found] == ["while/slow"]
    assert all(gone)


def test_a_sampler_counts_the_slow_node(graph):
    """Only the slow node is counted; the text has the line that made it."""
    slow, seen = Slow(), threading.Event()
    y = tf.negative(slow.node(tf.constant(1.0)))

    def note(sample):
        if slow.is_there.is_set() and sampler.counts:
            seen.set()

    with tf.Session() as session:
        sampler = StepSampler(session, samples_per_second=500, on_sample=note)

        def ask():
            assert seen.wait(_LIMIT_S)

        with sampler:
            look(slow, session, y, ask=ask)
    ((path, count),) = sampler.counts.most_common(1)
    assert [node.name for node in path] == ["slow"]
    assert 1 <= count <= sampler.num_busy <= sampler.num_samples
    assert f"'slow' (PyFunc), made at {__file__}:" in sampler.text()


def test_a_sampler_tells_callers_apart_and_leaves_out_the_rest(graph):
    """A node of a function is counted for each caller, and nodes with few samples are summed up."""
    slows = [Slow(), Slow()]

    def wait(number, value):
        return slows[int(number)].wait(value)

    @function.Defun(tf.int32, tf.float32, func_name="waiter", noinline=True)
    def waiter(number, x):
        return tf.py_func(wait, [number, x], tf.float32)

    calls = [waiter(number, 1.0, name=f"call{number}") for number in range(2)]
    with tf.Session() as session:
        sampler = StepSampler()
        for slow, call in zip(slows, calls, strict=True):
            look(slow, session, call, ask=sampler.sample)
        sampler.sample()
    assert sorted(path[-1].name for path in sampler.counts) == ["call0", "call1"]
    assert "in function 'waiter', called by 'call0' (waiter), made at" in sampler.text()
    assert sampler.text(most=1).endswith("50.0 %  1 other nodes")
    assert StepSampler(session).text() == "Looked 0 times, and no node ran."
    with pytest.raises(ValueError, match="must be positive"):
        StepSampler(samples_per_second=0)
