"""A session that is the default one as soon as it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tfnb.framework import traceback_of_user

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_it_is_the_default_session_until_closed() -> None:
    """Tensors can be evaluated at once, until the session is closed."""
    sess = tf.InteractiveSession()
    assert tf.get_default_session() is sess
    assert tf.constant(3).eval() == 3
    sess.close()
    assert tf.get_default_session() is None


def test_its_graph_becomes_the_default_graph() -> None:
    """A given graph is the default graph until close."""
    own = tf.Graph()
    sess = tf.InteractiveSession(graph=own)
    assert tf.get_default_graph() is own
    sess.close()
    assert tf.get_default_graph() is not own


def test_second_one_warns_with_the_cell_of_the_first() -> None:
    """The warning says where the open session was made and how to close it."""
    traceback_of_user.register_cell(__file__, 4, "")
    first = tf.InteractiveSession()
    traceback_of_user.forget_cells()
    with pytest.warns(UserWarning, match=r"already active \(opened in .*close\(\)"):
        second = tf.InteractiveSession()
    assert tf.get_default_session() is second
    second.close()
    assert tf.get_default_session() is first
    first.close()


def test_sessions_may_close_in_any_order() -> None:
    """Nesting is not enforced, because cells run in any order."""
    first = tf.InteractiveSession()
    with pytest.warns(UserWarning, match="already active"):
        second = tf.InteractiveSession()
    first.close()
    assert tf.get_default_session() is second
    second.close()
    assert tf.get_default_session() is None


def test_close_twice_is_harmless() -> None:
    """The second close does nothing."""
    sess = tf.InteractiveSession()
    sess.close()
    sess.close()
    assert tf.get_default_session() is None


def test_a_bad_node_does_not_stop_what_does_not_need_it() -> None:
    """Only the nodes that a run needs are placed."""
    good = tf.constant(1)
    with tf.device("/device:GPU:99"):
        tf.constant(2)
    sess = tf.InteractiveSession()
    assert good.eval() == 1
    sess.close()


def test_the_given_config_is_not_changed() -> None:
    """The session's own settings go into a copy of the config."""
    config = tf.ConfigProto()
    tf.InteractiveSession(config=config).close()
    assert config.ByteSize() == 0
