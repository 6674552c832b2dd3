"""Prepared calls."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tfnb.proto.config_pb2 import CallableOptions

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_callable_of_a_tensor_gives_its_value(sess: tf.Session) -> None:
    """Each call computes the value again."""
    v = tf.Variable(1.0)
    sess.run(v.initializer)
    bump = sess.make_callable(tf.assign_add(v, 1.0))
    assert (bump(), bump()) == (2.0, 3.0)


def test_callable_keeps_its_session_alive() -> None:
    """A callable holds the only reference to its session, and still runs."""
    with tf.Graph().as_default():
        call = tf.Session().make_callable(tf.constant(3))
        gc.collect()
        assert call() == 3


def test_callable_mirrors_structures(sess: tf.Session) -> None:
    """Results have the structure of the fetches; an operation gives None."""
    a, op = tf.constant(1), tf.no_op()
    assert sess.make_callable(op)() is None
    assert sess.make_callable([a, {"a": (a, op)}])() == [1, {"a": (1, None)}]


def test_callable_takes_feeds_in_order(sess: tf.Session) -> None:
    """The feed list has tensors or names; the values are arguments in its order."""
    a, b = (tf.placeholder(tf.float32, name=n) for n in "ab")
    assert sess.make_callable(a - b, [a, b])(10.0, 3.0) == 7.0
    assert sess.make_callable(a - b, ("b:0", a))(10.0, 3.0) == -7.0


def test_callable_feeds_only_what_it_gets(sess: tf.Session) -> None:
    """Missing values leave the other tensors unfed, extra values are dropped, as in TensorFlow."""
    a = tf.placeholder_with_default(3.0, [])
    b = tf.placeholder_with_default(4.0, [])
    call = sess.make_callable(a + b, [a, b])
    for _ in range(2):
        assert (call(), call(1.0), call(1.0, 2.0), call(1.0, 2.0, 9.0)) == (7.0, 5.0, 3.0, 3.0)


def test_callable_checks_fed_shapes(sess: tf.Session) -> None:
    """Fed shapes are checked as in run."""
    a = tf.placeholder(tf.float32, [2], name="a")
    call = sess.make_callable(a + 1.0, [a])
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor a:0"):
        call([1, 2, 3])


def test_feed_list_must_be_a_list(sess: tf.Session) -> None:
    """A single tensor as feed list is refused."""
    a = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match="Argument `feed_list` must be a list or tuple"):
        sess.make_callable(a + 1.0, feed_list=a)


def test_unfetchable_things_are_refused_when_made(sess: tf.Session) -> None:
    """Fetches are checked when the callable is made, not when it is called."""
    tf.constant(1)
    with pytest.raises(TypeError, match='has invalid type "NoneType"'):
        sess.make_callable(None)


def test_options_only_where_accepted(sess: tf.Session) -> None:
    """With accept_options a callable takes options and run_metadata."""
    c = tf.constant(1.0) + 1.0
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with_options = sess.make_callable(c, accept_options=True)
    assert 2.0 == with_options() == with_options(options=options, run_metadata=metadata)
    assert len(metadata.step_stats.dev_stats) > 0
    with pytest.raises(TypeError, match="options"):
        sess.make_callable(c)(options=options)


def test_a_callable_leaves_no_older_record_in_the_metadata(sess: tf.Session) -> None:
    """A step that records nothing clears the message, as one of `run` does."""
    c = tf.constant(1.0) + 1.0
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    recording = CallableOptions(fetch=[c.name], run_options=options)
    assert sess._make_callable_from_options(recording)(run_metadata=metadata) == [2.0]
    assert len(metadata.partition_graphs) == 1
    plain = sess._make_callable_from_options(CallableOptions(fetch=[c.name]))
    assert plain(run_metadata=metadata) == [2.0]
    assert len(metadata.partition_graphs) == 0


def test_callable_outlives_close_with_a_cancelled_error(sess: tf.Session) -> None:
    """The call reaches the runtime, which raises CancelledError, unlike run."""
    a = tf.placeholder(tf.float32)
    plain = sess.make_callable(tf.constant(1))
    fed = sess.make_callable(a + 1.0, [a])
    sess.close()
    with pytest.raises(tf.errors.CancelledError, match=r"Session has been closed\."):
        plain()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        fed(1.0)
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        sess.make_callable(tf.get_default_graph().get_operations()[0])


# -- callables from a message ----------------------------------------------------------------------


def test_callable_from_options_takes_and_gives_flat_lists(sess: tf.Session) -> None:
    """It takes one value per feed and returns a list with one value per fetch."""
    a, b = (tf.placeholder(tf.float32, name=n) for n in "ab")
    tf.subtract(a, b, name="difference")
    call = sess._make_callable_from_options(
        CallableOptions(feed=["a:0", "b:0"], fetch=["difference:0", "difference:0"])
    )
    assert call(5.0, np.float32(2.0)) == [3.0, 3.0]
    assert [np.float32] * 2 == [type(v) for v in call(5, 2)]


def test_callable_from_serialized_options(sess: tf.Session) -> None:
    """The options may be given as serialized bytes."""
    tf.constant(3, name="c")
    assert sess._make_callable_from_options(
        CallableOptions(fetch=["c:0"]).SerializeToString()
    )() == [3]


def test_callable_from_options_runs_targets(sess: tf.Session) -> None:
    """Targets run, and have no place in the results."""
    v = tf.Variable(1.0, name="v")
    sess.run(v.initializer)
    op = tf.assign_add(v, 1.0).op
    assert sess._make_callable_from_options(CallableOptions(target=[op.name]))() == []
    assert sess.run(v) == 2.0


def test_callable_from_options_splices_tensors(sess: tf.Session) -> None:
    """A connection replaces one tensor by another."""
    a = tf.placeholder(tf.float32, [], name="a")
    tf.identity(tf.constant(5.0), name="five")
    tf.add(a, 1.0, name="plus")
    options = CallableOptions(fetch=["plus:0"])
    options.tensor_connection.add(from_tensor="five:0", to_tensor="a:0")
    assert sess._make_callable_from_options(options)() == [6.0]


def test_callable_from_options_counts_its_feeds(sess: tf.Session) -> None:
    """The message has the expected number of feeds."""
    tf.identity(tf.placeholder(tf.float32, name="a"), name="same")
    call = sess._make_callable_from_options(CallableOptions(feed=["a:0"], fetch=["same:0"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected 1 feed tensors, but got 0"):
        call()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected 1 feed tensors, but got 2"):
        call(1.0, 2.0)


def test_forgotten_callable_is_released(sess: tf.Session) -> None:
    """The handle of a collected callable is invalid."""
    tf.constant(3, name="c")
    call = sess._make_callable_from_options(CallableOptions(fetch=["c:0"]))
    handle = call._handle
    del call
    gc.collect()
    with pytest.raises(tf.errors.InvalidArgumentError, match="after handle was released"):
        sess.runtime.run_callable(handle, [])
