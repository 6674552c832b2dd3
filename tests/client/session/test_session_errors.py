"""Errors of a run name the user's op, its line, and what to do."""

from __future__ import annotations

import pickle
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tfnb.framework import traceback_of_user
from tfnb.framework.functions.function import Defun

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_error_carries_the_operation(sess: tf.Session) -> None:
    """The error has the graph's Operation, its NodeDef and the code."""
    p = tf.placeholder(tf.float32, name="p")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(p + 1.0)
    error = caught.value
    assert error.op is p.op
    assert (error.node_def.name, error.node_def.op) == ("p", "Placeholder")
    assert (error.error_code, error.node_name) == (3, "p")


def test_error_names_the_line_that_made_the_op(sess: tf.Session) -> None:
    """The message has file, line and the text of the line."""
    p = tf.placeholder(tf.float32, name="p")  # the line meant
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(p + 1.0)
    assert "[[node p (Placeholder), defined at" in caught.value.message
    assert "test_session_errors.py" in caught.value.message
    assert "# the line meant" in caught.value.message


def test_error_names_the_cell_that_made_the_op(sess: tf.Session) -> None:
    """In a notebook the message has the cell's number and line."""
    source = "\np = tf.placeholder(tf.float32, name='p')"
    traceback_of_user.register_cell("<cell of a test>", 7, source)
    namespace = {"tf": tf}
    exec(compile(source, "<cell of a test>", "exec"), namespace)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"defined at cell 7, line 2: p = tf\."
    ):
        sess.run(namespace["p"] + 1.0)
    traceback_of_user.forget_cells()


def test_missing_feed_says_what_tensorflow_says_first(sess: tf.Session) -> None:
    """Class and first line are TensorFlow's, with the shape only if it is fully known."""
    p = tf.placeholder(tf.float32, name="p")
    q = tf.placeholder(tf.int32, [2, 3], name="q")
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"^You must feed a value for placeholder tensor 'p' with dtype float\b(?! and shape)",
    ):
        sess.run(p + 1.0)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"^You must feed a value for placeholder tensor 'q' with dtype int32 and shape \[2,3",
    ):
        sess.run(q + 1)


def test_all_missing_feeds_are_named_at_once(sess: tf.Session) -> None:
    """Each missing feed is listed with its path, and a feed_dict to paste."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    rate = tf.placeholder(tf.float32, [], name="rate")
    text = tf.placeholder(tf.string, [2], name="text")
    fed = tf.placeholder(tf.float32, [], name="fed")
    hidden = tf.multiply(x, rate, name="hidden")
    loss = tf.add(hidden, fed, name="loss")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run([loss, tf.identity(text, name="copy")], {fed: 1.0})
    lines = caught.value.message.splitlines()
    assert "This run reaches 3 placeholders without a value:" in lines
    assert "  x:0 float32 (?, 3), for loss ← hidden ← x" in lines
    assert "  rate:0 float32 (), for loss ← hidden ← rate" in lines
    assert "  text:0 string (2,), for copy ← text" in lines
    assert "fed" not in caught.value.message
    assert len(str(caught.value).splitlines()) <= 12


def test_the_suggested_feed_dict_can_be_pasted(sess: tf.Session) -> None:
    """A run with the suggested feed_dict works."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    n = tf.placeholder(tf.int32, [], name="n")
    flag = tf.placeholder(tf.bool, name="flag")
    text = tf.placeholder(tf.string, [2], name="text")
    fetches = [tf.identity(t) for t in (x, n, flag, text)]
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(fetches)
    pasted = caught.value.message.partition("feed_dict=")[2].splitlines()[0]
    values = sess.run(fetches, eval(pasted, {"np": np}))
    assert values[0].shape == (1, 3)
    assert values[3].shape == (2,)


def test_placeholders_behind_a_fed_tensor_are_not_missing(sess: tf.Session) -> None:
    """Placeholders before a fed tensor are not reported, because the feed cuts the graph."""
    a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
    middle = tf.negative(a, name="middle")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(middle + b, {middle: 1.0})
    assert "one placeholder without a value" in caught.value.message
    assert "a:0" not in caught.value.message


def test_long_paths_are_cut_in_the_middle(sess: tf.Session) -> None:
    """A long path keeps its beginning and end."""
    y = tf.placeholder(tf.float32, name="p")
    for _ in range(30):
        y = tf.negative(y)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"for Neg_29 ← Neg_28 ← … .* ← p"):
        sess.run(y)


def test_uninitialized_variable_is_named(sess: tf.Session) -> None:
    """Class and text are TensorFlow's for reference and resource variables."""
    ref = tf.Variable(1.0, use_resource=False, name="ref")
    resource = tf.Variable(1.0, use_resource=True, name="resource")
    with pytest.raises(
        tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value ref"
    ):
        sess.run(ref + 1.0)
    with pytest.raises(tf.errors.FailedPreconditionError, match="resource"):
        sess.run(resource + 1.0)


def test_all_uninitialized_variables_are_named(sess: tf.Session) -> None:
    """The message lists the variables that the run needs and that have no value."""
    a, b = (tf.Variable(1.0, use_resource=False, name=n) for n in "ab")
    c = tf.Variable(1.0, use_resource=True, name="c")
    other = tf.Variable(1.0, name="other")
    total = tf.add_n([a * 1.0, b * 1.0, c * 1.0])
    sess.run(b.initializer)
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        sess.run([total, tf.assign(other, 2.0)])
    assert "needs 2 variables without a value in this session: " in caught.value.message
    assert {"a", "c"} == set(
        caught.value.message.partition("session: ")[2].splitlines()[0].split(", ")
    )
    assert "tf.global_variables_initializer()" in caught.value.message
    assert "Another open session" not in caught.value.message
    assert len(str(caught.value).splitlines()) <= 12
    with tf.Session() as initialized:
        initialized.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.FailedPreconditionError, match="Another open session of this"):
            sess.run(total)


def test_error_of_a_node_the_user_did_not_make(sess: tf.Session) -> None:
    """The error of a node that the user's graph does not have has no operation."""
    v = tf.Variable(3.0, use_resource=False)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="incompatible with expected float_ref"
    ) as caught:
        sess.run(tf.assign(v, 5.0), {v: 10.0})
    assert caught.value.op is None or caught.value.op.type == "Assign"


def test_an_error_of_the_graph_itself_tells_its_operation(sess: tf.Session) -> None:
    """No kernel ran, so that only the raiser knows the node."""
    out = tf.raw_ops.Exit(data=tf.constant(1.0), name="out")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid Exit op") as caught:
        sess.run(out)
    assert caught.value.op is out.op
    assert caught.value.message.count("[[node out (Exit), defined at") == 1


def test_a_message_that_names_an_inner_node_is_not_given_another_one(sess: tf.Session) -> None:
    """The node is the runtime's; its name stands in the message once."""

    @Defun(tf.float32)
    def unfinished(x: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.Exit(data=x, name="inner")

    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid Exit op") as caught:
        sess.run(unfinished(tf.constant(1.0)))
    assert caught.value.message.count("inner") == 1, caught.value.message


def test_dead_fetch_is_an_invalid_argument(sess: tf.Session) -> None:
    """The error says that the branch was not taken."""
    false_side, _ = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
        sess.run(false_side)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
        sess.run(false_side + 1.0)
    assert sess.run((false_side + 1.0).op) is None


def test_failed_run_leaves_the_session_usable(sess: tf.Session) -> None:
    """The next run works."""
    p = tf.placeholder(tf.float32)
    y = p + 1.0
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
            sess.run(y)
        assert sess.run(y, {p: 1.0}) == 2.0


def test_errors_can_be_pickled(sess: tf.Session) -> None:
    """An error survives pickling, for programs of several processes."""
    p = tf.placeholder(tf.float32, name="p")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(p + 1.0)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is tf.errors.InvalidArgumentError
    assert caught.value.message == copy.message


def test_errors_are_raised_without_the_runtime_s_own(sess: tf.Session) -> None:
    """The traceback has no internal exception as its cause."""
    p = tf.placeholder(tf.float32, name="p")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(p + 1.0)
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


def test_a_python_function_s_exception_is_the_cause(sess: tf.Session) -> None:
    """The traceback of the cause leads to the user's line."""

    def divide(x: float) -> float:
        raise ZeroDivisionError(x)

    with pytest.raises(tf.errors.OpError, match="ZeroDivisionError") as caught:
        sess.run(tf.py_func(divide, [1.0], tf.float64, name="divide"))
    assert caught.value.op.name == "divide"
    assert "defined at" in caught.value.message


def test_placement_error_names_the_op(sess: tf.Session) -> None:
    """A missing device is an error of the first run."""
    with tf.device("/device:GPU:99"):
        c = tf.constant(1, name="far")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Cannot assign a device for operation"
    ) as caught:
        sess.run(c)
    assert caught.value.op is c.op
    assert "[[node far (Const), defined at" in caught.value.message


def test_close_cancels_a_blocked_run() -> None:
    """The error of the queue op has TensorFlow's own text."""
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(1, tf.float32)
        dequeue = queue.dequeue()
        sess = tf.Session()
        ended: list[BaseException] = []

        def wait() -> None:
            try:
                sess.run(dequeue)
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        while not sess.runtime.active_steps() and thread.is_alive():
            pass
        sess.close()
        thread.join(60)
    assert not thread.is_alive()
    assert isinstance(ended[0], tf.errors.CancelledError | RuntimeError)
