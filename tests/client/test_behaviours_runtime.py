"""Behaviours of TensorFlow's runtime that have no other test: devices, frames, traces, races."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.bad_input.control_flow import ONE, enter, loop
from tests.client.bad_input.writing import FLOAT, load, node

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def two_devices() -> tf.Session:
    """A session with two devices on the default graph."""
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))


def test_threads_that_ask_for_one_signature_share_its_executors(sess: tf.Session) -> None:
    """Threads that prepare one signature at once share the executors that are ready first."""
    tf.add(tf.placeholder_with_default(1.0, [], name="x"), 1.0, name="y")
    sess.run("y:0")
    barrier = threading.Barrier(4)
    found: list[Any] = []

    def prepare() -> None:
        barrier.wait(60)
        found.append(sess.runtime.prepare((), ("x:0", "y:0"), ()))

    threads = [threading.Thread(target=prepare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(prepared.executors) for prepared in found}) == 1


def test_one_output_of_several_can_be_fed_piece_by_piece(sess: tf.Session) -> None:
    """Feeding one output of a Switch counts only that endpoint as fed."""
    load(
        tf,
        ONE,
        node("p", "Placeholder", dtype="type: DT_BOOL"),
        node("switch", "Switch", "one", "p", T=FLOAT),
        node("out", "Neg", "switch:1", T=FLOAT),
        node("other", "Neg", "switch", T=FLOAT),
    )
    handle = sess.partial_run_setup(["out:0", "other:0"], ["switch:1", "switch:0"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="can't be computed from the feeds"):
        sess.partial_run(handle, "other:0", {"switch:1": 4.0})
    assert sess.partial_run(handle, "out:0", {"switch:1": 4.0}) == -4.0
    assert sess.partial_run(handle, "other:0", {"switch:0": 5.0}) == -5.0


def test_deadness_is_sent_between_devices() -> None:
    """A Send with a dead input runs, and the Recv is dead."""
    with tf.Graph().as_default(), two_devices() as sess:
        pred = tf.placeholder(tf.bool, [])
        false_side, true_side = tf.raw_ops.Switch(data=tf.constant(2.0), pred=pred)
        with tf.device("/cpu:1"):
            away = [tf.negative(false_side), tf.negative(true_side)]
        back = tf.raw_ops.Merge(inputs=[tf.negative(away[0]), away[1]])
        assert sess.run(back.output, {pred: False}) == 2.0
        assert sess.run(back.output, {pred: True}) == -2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            sess.run(away[0], {pred: True})


def test_enters_of_a_frame_may_disagree_on_parallel_iterations(sess: tf.Session) -> None:
    """Either value of parallel_iterations may apply; the result is the same."""
    less = node("less", "Greater", "merge", "limit", T=FLOAT)
    load(tf, *loop("less", parallel=3), enter("limit", "one", parallel=7), less)
    assert sess.run("exit:0") == 1.0


def test_a_labelled_node_says_what_it_was_computed_from(sess: tf.Session) -> None:
    """The timeline label of a node is ``name = Op(inputs)``."""
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, x, name="y")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    sess.run(y, {x: 1.0}, options=options, run_metadata=metadata)
    labels = {
        stats.node_name: stats.timeline_label
        for device in metadata.step_stats.dev_stats
        for stats in device.node_stats
    }
    assert labels["y"] == f"y = {y.op.type}(_arg_x_0_0, _arg_x_0_0)"


def test_options_of_a_partial_run_are_those_of_the_session(sess: tf.Session) -> None:
    """A partial run uses the session's options and takes none of its own."""
    x = tf.placeholder(tf.float32, [])
    handle = sess.partial_run_setup([x + 1.0], [x])
    with pytest.raises(TypeError):
        sess.partial_run(handle, [], {x: 1.0}, options=tf.RunOptions())  # type: ignore[call-arg]


def test_devices_are_there_before_a_graph_is() -> None:
    """Devices can be listed before the session has a graph."""
    with tf.Graph().as_default(), two_devices() as sess:
        assert [d.name[-5:] for d in sess.list_devices()] == ["CPU:0", "CPU:1"]


def test_the_pool_of_run_handlers_gives_the_same_results(sess: tf.Session) -> None:
    """The option chooses threads only."""
    options = tf.RunOptions()
    options.experimental.use_run_handler_pool = True
    assert sess.run(tf.constant(2.0) * 3.0, options=options) == 6.0


def test_a_time_out_returns_when_nothing_of_the_step_runs(sess: tf.Session) -> None:
    """When a run times out, its step has ended: no node runs and no dequeue waits."""
    queue = tf.FIFOQueue(1, tf.float32)
    dequeue = queue.dequeue()
    for _ in range(3):
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(dequeue, options=tf.RunOptions(timeout_in_ms=20))
        assert not sess.runtime.active_steps()
    sess.run(queue.enqueue(1.0))
    assert sess.run(queue.size()) == 1


def test_a_graph_of_nothing_but_an_operation_runs(sess: tf.Session) -> None:
    """A graph with a single NoOp runs."""
    assert sess.run(tf.no_op()) is None


def test_steps_at_the_same_time_have_tensor_arrays_of_their_own(sess: tf.Session) -> None:
    """Each step has its own container of resources."""
    x = tf.placeholder(tf.float32, [])
    array = tf.TensorArray(tf.float32, 2).write(0, x).write(1, x * 2.0)
    stacked = array.stack()
    found: dict[int, Any] = {}

    def run(number: int) -> None:
        found[number] = sess.run(stacked, {x: float(number)})

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, value in found.items():
        assert np.array_equal(value, [number, 2 * number])
