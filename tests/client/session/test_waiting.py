"""The error of a step that waits says which nodes wait, and for what."""

from __future__ import annotations

import contextlib
import inspect
import threading

import pytest

import tfnb as tf
from tests.interrupts import interrupted
from tests.time_outs import message_of_time_out
from tfnb.client.session.session_errors import explain_interrupt
from tfnb.common_runtime.executor.waiting import with_account
from tfnb.core.process.standstill import Finding, Standstill


@pytest.fixture
def graph():
    """A graph of its own."""
    with tf.Graph().as_default() as found:
        yield found


def message_of(fetch, config=None, words="waits"):
    """Return the message of the time-out of a session's first run."""

    def run(limit):
        # An emitted function, which runs later, awaits a part of the nodes at a time.
        with tf.Session(config=config) as sess:
            sess.run(fetch, options=tf.RunOptions(timeout_in_ms=limit))

    return message_of_time_out(run, words)


@pytest.mark.usefixtures("graph")
def test_an_empty_queue_is_named_with_its_size():
    """The message has the dequeue, its op, the queue and its size."""
    queue = tf.FIFOQueue(3, tf.float32, name="q")
    text = message_of(queue.dequeue())
    assert text.startswith("Timed out waiting for notification")
    assert "'q_Dequeue' (QueueDequeueV2) waits for elements of queue" in text
    assert "(0 elements inside)" in text


@pytest.mark.usefixtures("graph")
def test_a_full_queue_waits_for_room():
    """An enqueue into a full queue is named."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
    text = message_of(queue.enqueue_many([[1.0, 2.0]]))
    assert "'q_EnqueueMany' (QueueEnqueueManyV2) waits for room of queue" in text
    assert "(1 elements inside)" in text


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_an_accumulator_names_the_op_that_applies_gradients(kind):
    """Both kinds of accumulators name the node that applies gradients."""
    if kind == "dense":
        dense = tf.ConditionalAccumulator(tf.float32, shape=[3])
        apply, take = dense.apply_grad([1.0, 2.0, 3.0]), dense.take_grad(2)
    else:
        sparse = tf.SparseConditionalAccumulator(tf.float32, shape=[3])
        apply, take = sparse.apply_grad([0], [1.0], grad_shape=[3]), sparse.take_grad(2)
    text = message_of(take)
    assert "waits for gradients of accumulator" in text
    assert f"'{apply.name}' ({apply.type}) applies gradients" in text


@pytest.mark.usefixtures("graph")
def test_a_receiver_names_the_tensor_and_where_it_comes_from():
    """A Recv names its tensor, and the other device's node that waits."""
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
    """With one iteration at a time, the waiting iteration and the deferred one are named."""
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
    """operation_timeout_in_ms ends a fetch that waits behind a queue; the feed is named."""
    a = tf.placeholder(tf.float32, [], name="a")
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
    y = queue.dequeue() + 1.0
    b = a + 1.0

    def run(limit):
        with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=limit)) as sess:
            sess.partial_run(sess.partial_run_setup([y, b], [a]), y)

    words = "waits for the feed 'a:0' of this partial run"
    assert words in message_of_time_out(run, words)


@pytest.mark.usefixtures("graph")
def test_a_busy_step_is_not_reported_as_waiting():
    """An endless loop is not reported as waiting."""
    loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [0])
    assert "Nothing can run" not in message_of(loop, words="running")


def line_of_this_test(marker):
    """Return file and line of ``marker`` in a comment of the calling test, as messages have it."""
    frame = inspect.currentframe().f_back
    lines, first = inspect.getsourcelines(frame.f_code)
    number = next(i for i, line in enumerate(lines) if line.rstrip().endswith(f"# {marker}"))
    return f"{__file__}:{first + number}"


@pytest.mark.usefixtures("graph")
def test_a_queue_without_an_enqueue_is_named_with_its_place():
    """The message says that no op of the graph enqueues, and where the queue was made."""
    queue = tf.FIFOQueue(3, tf.float32, name="q")
    item = queue.dequeue()  # here
    text = message_of(item)
    assert f"made at {line_of_this_test('here')}" in text
    assert "no op of this session's graph puts elements in" in text
    assert len(text.splitlines()) <= 12


@pytest.mark.usefixtures("graph")
def test_ops_that_could_help_are_named_with_their_place():
    """The message names an enqueue that the step does not run."""
    queue = tf.FIFOQueue(3, tf.float32, name="q")
    queue.enqueue(1.0)  # here
    text = message_of(queue.dequeue())
    assert (
        "'q_enqueue' (QueueEnqueueV2) puts elements in, made at "
        f"{line_of_this_test('here')}" in text
    )


@pytest.mark.usefixtures("graph")
def test_queues_of_one_shared_name_are_one():
    """An enqueue through another op with the same shared name is found."""
    first = tf.FIFOQueue(3, tf.float32, shared_name="both", name="first")
    second = tf.FIFOQueue(3, tf.float32, shared_name="both", name="second")
    second.enqueue(1.0)
    assert "'second_enqueue' (QueueEnqueueV2) puts elements in" in message_of(first.dequeue())


@pytest.mark.usefixtures("graph")
def test_a_step_that_waits_for_itself_says_so():
    """The enqueue follows the dequeue that needs it, which the message says."""
    queue = tf.FIFOQueue(3, tf.float32, name="q")
    with tf.control_dependencies([queue.dequeue()]):
        fill = queue.enqueue(1.0)
    assert "puts elements in after this one" in message_of(fill)


@pytest.mark.usefixtures("graph")
def test_a_receiver_says_what_its_sender_comes_after():
    """The message follows a Recv to the queue on the other device, over two more nodes."""
    with tf.device("/cpu:1"):
        item = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q").dequeue()
        far = tf.negative(tf.negative(item))
    with tf.device("/cpu:0"):
        y = far + 1.0
    words = "    that comes after 'q_Dequeue'"
    text = message_of(y, tf.ConfigProto(device_count={"CPU": 2}), words)
    assert words in text.splitlines()


@pytest.mark.usefixtures("graph")
def test_an_endless_loop_says_which_one_and_how_far():
    """The time-out names the loop and its iteration."""
    loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [0])  # here
    text = message_of(loop, words="running")
    assert "Still running:\n  frame 'while/while_context' is in iteration " in text
    assert line_of_this_test("here") in text


@pytest.mark.usefixtures("graph")
def test_many_that_wait_fit_into_twelve_lines():
    """Further waiting nodes are counted."""
    items = [tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue() for _ in range(20)]
    lines = message_of(tf.add_n(items)).splitlines()
    assert len(lines) <= 12
    assert lines[-1].endswith(" more")


@pytest.mark.usefixtures("graph")
def test_a_function_that_waits_is_told_from_inside():
    """The error of the call contains the text of the inner step."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
    x = tf.placeholder_with_default(1.0, [])
    y = tf.cond(x > 0, queue.dequeue, lambda: x)
    assert "waits for elements of queue 'q'" in message_of(y)


@pytest.mark.usefixtures("graph")
def test_a_fetch_without_a_value_names_the_switch_and_its_place():
    """The message begins with TensorFlow's words."""
    switch = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True))  # here
    y = tf.negative(switch[0])
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(y)
    assert caught.value.message.startswith("Retval[0] does not have value: 'Neg:0' is dead")
    assert f"sent its value the other way, made at {line_of_this_test('here')}" in (
        caught.value.message
    )


@pytest.mark.usefixtures("graph")
def test_deadness_is_followed_to_another_device():
    """The Switch on the device where the value came from is named."""
    with tf.device("/cpu:1"):
        switch = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True))
    with tf.device("/cpu:0"):
        y = tf.negative(switch[0])
    with (
        tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"'Switch' \(Switch\) sent its value"),
    ):
        sess.run(y)


def wait_until_still(sess):
    """Return when a step of the session waits."""
    text = sess.waiting()
    while "stands still" not in text:
        text = sess.waiting()
    return text


def run_in_thread(sess, fetch):
    """Run a call in a thread and ignore its end."""

    def run():
        with contextlib.suppress(tf.errors.CancelledError):
            sess.run(fetch)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.usefixtures("graph")
def test_another_thread_may_ask_while_steps_run():
    """Session.waiting in another thread does not disturb steps; an element ends the wait."""
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
    item, fill = queue.dequeue(), queue.enqueue(1.0)  # here
    with tf.Session() as sess:
        assert sess.waiting() == "No step is in flight."
        thread = run_in_thread(sess, item)
        text = wait_until_still(sess)
        assert "'q_Dequeue' (QueueDequeueV2) waits for elements of queue 'q'" in text
        assert line_of_this_test("here") in text
        sess.run(fill)
        thread.join(60)
        assert not thread.is_alive()
        assert sess.waiting() == "No step is in flight."


@pytest.mark.usefixtures("graph")
def test_a_partial_run_that_waits_for_its_feed_can_be_asked_about():
    """A partial run between two calls is reported, although no thread drives it."""
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as sess:
        handle = sess.partial_run_setup([x + 1.0], [x])
        assert "in flight" in sess.waiting()
        assert "the feed 'x:0' of this partial run" in sess.waiting()
        assert sess.partial_run(handle, "add:0", {x: 1.0}) == 2.0
        assert sess.waiting() == "No step is in flight."


@pytest.mark.usefixtures("graph")
def test_an_interrupt_of_a_step_that_stood_still_says_for_what_it_waited():
    """A note below the traceback says what the step waited for."""
    item = tf.FIFOQueue(1, tf.float32, name="q").dequeue()  # here
    with tf.Session() as sess:
        caught = interrupted(lambda: sess.run(item), lambda: wait_until_still(sess))
    (note,) = caught.value.__notes__
    assert "'q_Dequeue' (QueueDequeueV2) waits for elements of queue 'q'" in note
    assert f"made at {line_of_this_test('here')}" in note


@pytest.mark.usefixtures("graph")
def test_the_client_replaces_only_the_note_of_the_runtime():
    """A note of the user's with the same text stays, and so does a note that was explained."""
    tf.FIFOQueue(1, tf.float32, name="q").dequeue()  # made
    found = Standstill("It stands:", (Finding("'q_Dequeue' waits", "q_Dequeue"),))
    interrupt = KeyboardInterrupt()
    interrupt.add_note(found.render())
    with_account(interrupt, found)
    explain_interrupt(interrupt, tf.get_default_graph())
    users, explained = interrupt.__notes__
    assert users == found.render()
    assert f"'q_Dequeue' waits, made at {line_of_this_test('made')}" in explained
    explain_interrupt(interrupt, tf.Graph())
    assert interrupt.__notes__ == [users, explained]
