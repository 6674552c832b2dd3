"""Queues in emitted functions: results, waits, and the end of waits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tfnb as tf
from tests.interrupts import interrupted
from tests.time_outs import let_time_out, message_of_time_out
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.framework.functions import function

_LIMIT_S = 60


@pytest.fixture
def graph():
    """An empty default graph."""
    with tf.Graph().as_default() as found:
        yield found


@pytest.fixture
def sess(graph):
    """A session whose steps run as functions from the first run on."""
    with lowering(Lowering.ALWAYS), tf.Session() as found:
        yield found


def wait_until_still(session):
    """Return Session.waiting as soon as a step waits."""
    text = session.waiting()
    while "stands still" not in text:
        text = session.waiting()
    return text


def both_ways(build, run):
    """Return the results of ``run(session, *build())`` on the reference and as functions."""
    answers = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            made = build()
            with tf.Session() as session:
                answers.append(run(session, *made))
                assert bool(session.emitted_sources()) is (when is Lowering.ALWAYS)
    assert answers[0] == answers[1]
    return answers[1]


def test_a_step_fed_by_a_queue_is_a_function(sess):
    """From its second run on, the step is a quick step."""
    queue = tf.FIFOQueue(9, [tf.float32, tf.int32], shapes=[[], []])
    x = tf.placeholder(tf.float32, [])
    fill = queue.enqueue((x, tf.constant(3)))
    first, second = queue.dequeue()
    total = first * 2.0 + tf.cast(second, tf.float32)
    for value in range(5):
        sess.run(fill, {x: float(value)})
    assert [float(sess.run(total)) for _ in range(5)] == [3.0, 5.0, 7.0, 9.0, 11.0]
    (source,) = [text for text in sess.emitted_sources() if "QueueDequeue" in text]
    assert "(step, run_state, " in source


def test_a_step_waits_for_another_thread(sess):
    """Session.waiting names the queue; the step continues with the element of another thread."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
    item, fill = queue.dequeue() + 1.0, queue.enqueue(4.0)
    results = []
    thread = threading.Thread(target=lambda: results.append(sess.run(item)))
    thread.start()
    text = wait_until_still(sess)
    assert "'q_Dequeue' (QueueDequeueV2) waits for elements of queue 'q'" in text
    assert "'q_enqueue' (QueueEnqueueV2) puts elements in" in text
    assert sess.running_nodes() == []
    sess.run(fill)
    thread.join(_LIMIT_S)
    assert results == [5.0]
    assert len(sess.emitted_sources()) == 2


def test_a_time_out_is_told_in_the_references_words():
    """Class, text and the waiting node are equal; no other node is named."""

    def build():
        queue = tf.FIFOQueue(3, tf.float32, shapes=[[]], name="q")
        return queue.dequeue() + 1.0, queue.enqueue(1.0)

    def run(session, item, fill):
        session.run(fill)
        found = [session.run(item)]
        message = message_of_time_out(
            lambda limit: session.run(item, options=tf.RunOptions(timeout_in_ms=limit)), words
        )
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            session.run(item, options=tf.RunOptions(timeout_in_ms=50))
        session.run(fill)
        return [*found, message, caught.value.node_name, session.run(item)]

    words = "waits for elements of queue 'q'"
    _, text, node, _ = both_ways(build, run)
    assert text.count(words) == 1
    assert node is None


def test_what_does_not_need_the_element_has_run_when_a_step_waits():
    """An assignment beside the dequeue has run, and a time-out does not undo it."""

    def build():
        queue = tf.FIFOQueue(3, tf.float32, shapes=[[]])
        cell = tf.Variable(1.0, use_resource=True)
        return queue.dequeue(), cell.assign_add(5.0).op, cell, cell.initializer

    def run(session, item, add, cell, start):
        session.run(start)
        let_time_out(
            lambda limit: session.run([item, add], options=tf.RunOptions(timeout_in_ms=limit)),
            lambda: session.run(cell) > 1.0,
        )
        return session.run(cell)

    assert both_ways(build, run) == 6.0


def test_errors_of_a_queue_name_its_node():
    """Errors that arrive later and at once name the node."""

    def build():
        queue = tf.FIFOQueue(3, tf.float32, shapes=[[]])
        other = tf.FIFOQueue(3, tf.int32)
        return queue.close(), queue.dequeue(), other.enqueue(1), other.dequeue_many(1)

    def run(session, close, item, fill, many):
        session.run([close])
        session.run(fill)
        found = []
        for fetch in (item, many):
            with pytest.raises(tf.errors.OpError) as caught:
                session.run(fetch)
            error = caught.value
            found.append((type(error), error.node_name, error.message.partition(" {{node")[0]))
        return [row[:2] for row in found]

    assert both_ways(build, run)[0] == (tf.errors.OutOfRangeError, "fifo_queue_Dequeue")


def test_close_ends_a_wait(sess):
    """Another thread closes the session."""
    item = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
    ended = []

    def run():
        try:
            sess.run(item)
        except tf.errors.CancelledError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until_still(sess)
    sess.close()
    thread.join(_LIMIT_S)
    assert len(ended) == 1


def test_an_interrupt_ends_a_wait_and_loses_no_element(sess):
    """The note names the wait; the next element goes to the next step."""
    queue = tf.FIFOQueue(3, tf.float32, shapes=[[]], name="q")
    item, fill = queue.dequeue(), queue.enqueue(4.0)
    caught = interrupted(lambda: sess.run(item), lambda: wait_until_still(sess))
    assert "'q_Dequeue' (QueueDequeueV2) waits" in "\n".join(caught.value.__notes__)
    sess.run(fill)
    assert sess.run(item) == 4.0


def test_nodes_that_could_wait_for_each_other_stay_with_the_reference(sess):
    """An enqueue and a dequeue without an order run on the reference.

    With an order they are emitted.
    """
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    fill, item = queue.enqueue(2.0), queue.dequeue()
    assert sess.run([item, fill]) == [2.0, None]
    assert sess.emitted_sources() == []
    with tf.control_dependencies([fill]):
        behind = queue.dequeue() + 1.0
    assert sess.run(behind) == 3.0
    assert len(sess.emitted_sources()) == 1


def test_the_sides_of_a_cond_may_wait_each(sess):
    """Only one side runs, so both may wait."""
    queues = [tf.FIFOQueue(1, tf.float32, shapes=[[]]) for _ in range(2)]
    x = tf.placeholder(tf.bool, [])
    y = tf.cond(x, lambda: queues[0].dequeue() + 1.0, lambda: -queues[1].dequeue())
    sess.run([queue.enqueue(float(5 + i)) for i, queue in enumerate(queues)])
    assert [sess.run(y, {x: True}), sess.run(y, {x: False})] == [6.0, -6.0]
    assert any("QueueDequeue" in text for text in sess.emitted_sources())


def test_a_call_in_which_something_waits_is_part_of_the_function(sess):
    """The step drives the called function's nodes while it waits for them."""
    queue = tf.FIFOQueue(3, tf.float32, shapes=[[]])

    @function.Defun(tf.resource, func_name="taker", noinline=True)
    def taker(handle):
        item = tf.raw_ops.QueueDequeueV2(handle=handle, component_types=[tf.float32])[0]
        item.set_shape([])
        return item * 10.0

    y, fill = taker(queue.queue_ref) + 1.0, queue.enqueue(2.0)
    results = []
    sess.run(fill)
    assert sess.run(y) == 21.0
    thread = threading.Thread(target=lambda: results.append(sess.run(y)))
    thread.start()
    assert "in function 'taker'" in wait_until_still(sess)
    sess.run(fill)
    thread.join(_LIMIT_S)
    assert results == [21.0]


def test_partitions_with_a_queue_become_one_function(graph):
    """The queue is on one device, the other nodes on the second."""
    with tf.device("/cpu:1"):
        queue = tf.FIFOQueue(9, tf.float32, shapes=[[]])
        fill, item = queue.enqueue_many([np.arange(9, dtype=np.float32)]), queue.dequeue()
    with tf.device("/cpu:0"):
        y = item * 2.0
    config = tf.ConfigProto(device_count={"CPU": 2})
    with lowering(Lowering.ALWAYS), tf.Session(config=config) as session:
        session.run(fill)
        assert [session.run(y) for _ in range(4)] == [0.0, 2.0, 4.0, 6.0]
        assert any("QueueDequeue" in text for text in session.emitted_sources())
