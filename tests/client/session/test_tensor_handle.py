"""Values that stay in the session."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_fetching_a_handle_keeps_the_value(sess: tf.Session) -> None:
    """get_session_tensor reads the value when the handle is fed."""
    kept = sess.run(tf.get_session_handle(tf.constant(3.0) * 2.0))
    holder, x = tf.get_session_tensor(kept.handle, tf.float32)
    assert sess.run(x + 1.0, {holder: kept.handle}) == 7.0
    name, number, device = kept.handle.split(";")
    assert (name, device) == ("GetSessionHandle", "/job:localhost/replica:0/task:0/device:CPU:0")
    assert number.isdigit()
    assert tf.float32 == kept.dtype


def test_handle_can_be_fed_to_an_ordinary_tensor(sess: tf.Session) -> None:
    """A fed handle is replaced by its value."""
    kept = sess.run([tf.get_session_handle(tf.constant([1.0, 2.0]))])[0]
    x = tf.placeholder(tf.float32, [2])
    assert sess.run(x * 2.0, {x: kept}).tolist() == [2.0, 4.0]


def test_handle_can_be_evaluated(sess: tf.Session) -> None:
    """The evaluated value belongs to the caller."""
    kept = sess.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    value = kept.eval()
    value[...] = 77
    assert kept.eval().tolist() == [1.0, 2.0]
    assert np.float32 == kept.eval().dtype


def test_handle_is_unknown_to_other_sessions(sess: tf.Session) -> None:
    """Handles belong to one session."""
    kept = sess.run(tf.get_session_handle(tf.constant(3.0)))
    x = tf.placeholder(tf.float32)
    with tf.Session() as other:
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            other.run(x + 1.0, {x: kept})


def test_deleted_value_is_gone(sess: tf.Session) -> None:
    """A value is deleted by its handle, or by the op."""
    handle = tf.get_session_handle(tf.constant(3.0))
    kept = sess.run(handle)
    holder, x = tf.get_session_tensor(kept.handle, tf.float32)
    kept.delete()
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
        sess.run(x, {holder: kept.handle})
    raw = sess.run(handle).get_raw_handle()
    feed, deleter = tf.delete_session_tensor(raw)
    sess.run(deleter, {feed: raw})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Failed to delete a tensor"):
        sess.run(deleter, {feed: raw})


def test_value_dies_with_its_handle(sess: tf.Session) -> None:
    """A value is deleted with its handle, except for raw handles."""
    handle = tf.get_session_handle(tf.constant(3.0))
    kept = sess.run(handle)
    name = kept.handle
    holder, x = tf.get_session_tensor(name, tf.float32)
    del kept
    gc.collect()
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
        sess.run(x, {holder: name})
    raw = sess.run(handle).get_raw_handle()
    gc.collect()
    assert sess.run(x, {holder: raw}) == 3.0


def test_only_fetched_handles_are_kept(sess: tf.Session) -> None:
    """A handle that is computed and not fetched keeps no value."""
    handle = tf.get_session_handle(tf.constant(3.0))
    sess.run(handle.op)
    sess.run(tf.identity(handle))
    assert sess.runtime.session_state._tensors == {}


def test_handle_of_a_closed_session_may_die(sess: tf.Session) -> None:
    """A handle of a closed session may be collected."""
    kept = sess.run(tf.get_session_handle(tf.constant(3.0)))
    sess.close()
    del kept
    gc.collect()
