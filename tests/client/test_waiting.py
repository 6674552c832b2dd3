"""A step that stands still says who waits for what when its time is up."""

from __future__ import annotations

import pytest

import tfnb as tf


@pytest.fixture
def graph():
    """A graph of its own."""
    with tf.Graph().as_default() as found:
        yield found


def message_of(fetch, config=None):
    """What the time-out of a run says."""
    with tf.Session(config=config) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            sess.run(fetch, options=tf.RunOptions(timeout_in_ms=50))
        return caught.value.message


@pytest.mark.usefixtures("graph")
def test_an_empty_queue_is_named_with_its_size():
    """The dequeue, its op, the queue and how much is inside."""
    queue = tf.FIFOQueue(3, tf.float32, name="q")
    text = message_of(queue.dequeue())
    assert text.startswith("Timed out waiting for notification")
    assert "'q_Dequeue' (QueueDequeueV2) waits for elements of queue" in text
    assert "(0 elements inside)" in text


@pytest.mark.usefixtures("graph")
def test_a_full_queue_waits_for_room():
    """Two elements into a queue of one."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
    text = message_of(queue.enqueue_many([[1.0, 2.0]]))
    assert "'q_EnqueueMany' (QueueEnqueueManyV2) waits for room of queue" in text
    assert "(1 elements inside)" in text


@pytest.mark.usefixtures("graph")
def test_a_receiver_names_the_tensor_and_where_it_comes_from():
    """The other device waits for an element, this one for the tensor."""
    with tf.device("/cpu:1"):
        item = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q").dequeue()
    with tf.device("/cpu:0"):
        y = item + 1.0
    text = message_of(y, tf.ConfigProto(device_count={"CPU": 2}))
    assert "(_Recv) waits for 'edge_" in text
    assert "device:CPU:1" in text
    assert "'q_Dequeue' (QueueDequeueV2) waits" in text


@pytest.mark.usefixtures("graph")
def test_a_loop_says_which_iteration_waits_and_which_is_held_back():
    """A dequeue inside a loop with one iteration at a time."""
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]], name="q")
    _, total = tf.while_loop(
        lambda i, t: i < 3,
        lambda i, t: (i + 1, t + queue.dequeue()),
        [0, 0],
        parallel_iterations=1,
    )
    text = message_of(total)
    assert "in iteration 0 of frame 'while/while_context'" in text
    assert "holds back iteration 1: 1 iterations are in flight (parallel_iterations=1)" in text


@pytest.mark.usefixtures("graph")
def test_a_partial_run_names_the_feed_it_waits_for():
    """operation_timeout_in_ms while a fetch waits behind a queue."""
    a = tf.placeholder(tf.float32, [], name="a")
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
    y = queue.dequeue() + 1.0
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as sess:
        handle = sess.partial_run_setup([y, a + 1.0], [a])
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            sess.partial_run(handle, y)
        assert "waits for the feed 'a:0' of this partial run" in caught.value.message


@pytest.mark.usefixtures("graph")
def test_a_busy_step_names_nobody():
    """An endless loop is not stuck."""
    loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [0])
    assert "Nothing can run" not in message_of(loop)
