"""Queues: order, waiting, closing, batches, and shared names."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb.core import dtypes
from tfnb.core.cancellation import CancellationManager
from tfnb.ops.waiting.queue_kernels import Queue


@pytest.fixture
def sess():
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_elements_come_out_in_the_order_they_went_in(sess):
    """The size is updated, too."""
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], []])
    x, s = tf.placeholder(tf.int32, []), tf.placeholder(tf.string, [])
    put = queue.enqueue([x, s])
    for i, text in enumerate("ab"):
        sess.run(put, {x: i, s: text})
    assert sess.run(queue.size()) == 2
    take = queue.dequeue()
    assert [sess.run(take) for _ in range(2)] == [[0, b"a"], [1, b"b"]]


def test_a_dequeue_waits_for_an_enqueue_of_the_same_step(sess):
    """One thread runs both."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    assert sess.run([queue.dequeue(), queue.enqueue(3.0)])[0] == 3.0


def test_a_dequeue_waits_for_another_thread(sess):
    """The waiting run goes on when the element comes."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    put, take, got = queue.enqueue(5.0), queue.dequeue(), []
    thread = threading.Thread(target=lambda: got.append(sess.run(take)))
    thread.start()
    sess.run(put)
    thread.join(60)
    assert got == [5.0]


def test_a_closed_queue_gives_what_is_left_and_then_ends(sess):
    """OutOfRangeError is raised for dequeues, CancelledError for enqueues."""
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[]])
    sess.run(queue.enqueue_many([[1.0, 2.0, 3.0]]))
    sess.run(queue.close())
    assert sess.run(queue.is_closed())
    assert sess.run(queue.dequeue_many(2)).tolist() == [1, 2]
    with pytest.raises(
        tf.errors.OutOfRangeError,
        match=r"is closed and has insufficient elements \(requested 2, current size 1\)",
    ):
        sess.run(queue.dequeue_many(2))
    assert sess.run(queue.dequeue_up_to(2)).tolist() == [3]
    with pytest.raises(tf.errors.OutOfRangeError, match=r"requested 1, current size 0"):
        sess.run(queue.dequeue())
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        sess.run(queue.enqueue(1.0))


def test_closing_can_cancel_waiting_enqueues(sess):
    """close(cancel_pending_enqueues=True) ends a waiting enqueue into a full queue."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    put = queue.enqueue(1.0)
    sess.run(put)
    caught = []

    def wait():
        try:
            sess.run(put)
        except tf.errors.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    sess.run(queue.close(cancel_pending_enqueues=True))
    thread.join(60)
    assert len(caught) == 1


def test_more_elements_than_fit_wait_for_room(sess):
    """enqueue_many of four into a queue of two waits until elements are taken."""
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    put, take, got = queue.enqueue_many([[1, 2, 3, 4]]), queue.dequeue_many(4), []
    thread = threading.Thread(target=lambda: got.append(sess.run(take).tolist()))
    thread.start()
    sess.run(put)
    thread.join(60)
    assert got == [[1, 2, 3, 4]]


def test_a_padding_queue_pads_with_zeros(sess):
    """Rows of different lengths make one batch."""
    queue = tf.PaddingFIFOQueue(10, tf.int32, shapes=[[None]])
    x = tf.placeholder(tf.int32, [None])
    put = queue.enqueue(x)
    for row in ([1], [2, 3, 4], []):
        sess.run(put, {x: row})
    assert sess.run(queue.dequeue_many(3)).tolist() == [[1, 0, 0], [2, 3, 4], [0, 0, 0]]


def test_a_priority_queue_gives_the_lowest_first(sess):
    """Equal priorities keep their order."""
    queue = tf.PriorityQueue(10, tf.string, shapes=[[]])
    sess.run(queue.enqueue_many([np.int64([3, 1, 2, 1]), [b"c", b"a", b"b", b"a2"]]))
    priorities, values = sess.run(queue.dequeue_many(4))
    assert priorities.tolist() == [1, 1, 2, 3]
    assert values.tolist() == [b"a", b"a2", b"b", b"c"]


def test_a_shuffle_queue_gives_every_element_once(sess):
    """min_after_dequeue elements stay inside while the queue is open."""
    queue = tf.RandomShuffleQueue(20, 5, tf.int32, shapes=[[]], seed=3)
    sess.run(queue.enqueue_many([list(range(10))]))
    first = sess.run(queue.dequeue_many(5)).tolist()
    sess.run(queue.close())
    rest = sess.run(queue.dequeue_many(5)).tolist()
    assert sorted(first + rest) == list(range(10))


def test_two_ops_with_one_shared_name_are_one_queue(sess):
    """A different capacity is refused."""
    one = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="sq")
    same = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="sq")
    other = tf.FIFOQueue(4, tf.int32, shapes=[[]], shared_name="sq")
    sess.run(one.enqueue(7))
    assert sess.run(same.dequeue()) == 7
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="Shared queue 'sq' has capacity 3 but requested capacity was 4",
    ):
        sess.run(other.size())


def test_a_batch_needs_shapes(sess):
    """dequeue_many of a queue without shapes is refused."""
    queue = tf.FIFOQueue(3, tf.int32)
    sess.run(queue.enqueue(1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="to have specified shapes"):
        sess.run(queue.dequeue_many(1))


def test_names_make_elements_dicts(sess):
    """Wrong keys are refused when the graph is built."""
    queue = tf.FIFOQueue(3, [tf.int32, tf.float32], shapes=[[], []], names=["i", "f"])
    sess.run(queue.enqueue({"i": 1, "f": 2.0}))
    assert sess.run(queue.dequeue()) == {"i": 1, "f": 2.0}
    with pytest.raises(ValueError, match="do not match names of Queue"):
        queue.enqueue({"i": 1, "g": 2.0})


def test_a_close_comes_after_waiting_enqueues():
    """An enqueue that waits before the close succeeds; a later one is refused."""
    queue = Queue("q", [dtypes.int32], [], 1)
    manager, heard = CancellationManager(), []

    def hear(what):
        return lambda answer: heard.append((what, answer if answer is None else str(answer)))

    for number in (1, 2):
        queue.enqueue([(np.int32(number),)], hear(f"put {number}"), manager)
    queue.close_in_turn(hear("close"), manager)
    queue.enqueue([(np.int32(3),)], hear("put 3"), manager)
    queue.close_in_turn(hear("close again"), manager)
    assert heard == [("put 1", None)]
    assert not queue.is_closed
    queue.dequeue(1, lambda taken: heard.append(("take", taken)), manager)
    assert queue.is_closed
    assert sorted(heard[1:], key=str) == [
        ("close again", "Queue 'q' is already closed."),
        ("close", None),
        ("put 2", None),
        ("put 3", "FIFOQueue 'q' is closed."),
        ("take", [(np.int32(1),)]),
    ]


def test_a_waiting_close_is_cancelled_with_its_step():
    """The queue then stays open."""
    queue = Queue("q", [dtypes.int32], [], 1)
    manager, heard = CancellationManager(), []
    queue.enqueue([(np.int32(1),), (np.int32(2),)], lambda _: None, CancellationManager())
    queue.close_in_turn(heard.append, manager)
    manager.start_cancel()
    assert [str(error) for error in heard] == ["Close operation was cancelled"]
    assert not queue.is_closed


def test_the_number_of_elements_wanted_is_a_scalar(sess):
    """A vector is refused."""
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    n = tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="n must be a scalar"):
        sess.run(queue.dequeue_many(n), {n: [1, 2]})


def test_a_queue_may_pass_for_one_of_the_first_version(sess):
    """FakeQueue converts the handle to a reference."""
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    old = tf.raw_ops.FakeQueue(resource=queue.queue_ref)
    sess.run(tf.raw_ops.QueueEnqueue(handle=old, components=[tf.constant(4)]))
    assert sess.run(queue.dequeue()) == 4


def test_two_steps_that_are_first_to_use_a_queue_use_the_same_one(sess):
    """Concurrent first steps create one queue."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(20):
            queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
            put, take = queue.enqueue(5.0), queue.dequeue()
            with tf.Session() as sess:
                threads = [threading.Thread(target=sess.run, args=(one,)) for one in (take, put)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(60)
                    assert not thread.is_alive()
    finally:
        sys.setswitchinterval(interval)
