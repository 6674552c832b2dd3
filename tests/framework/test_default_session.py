"""The stack of default sessions."""

from __future__ import annotations

import threading

import pytest

import tfnb as tf
from tfnb.framework.default_session import default_session


class EchoSession:
    """Returns its arguments."""

    def __init__(self, graph: tf.Graph) -> None:
        self.graph = graph

    def run(self, fetches: object, feed_dict: object = None) -> object:
        """Return the arguments."""
        return fetches, feed_dict


def test_eval_and_run_use_the_innermost_session(graph: tf.Graph) -> None:
    """After the inner session is left, the outer one is the default again."""
    a = tf.constant(1.0)
    outer, inner = EchoSession(graph), EchoSession(graph)
    with default_session(outer):
        with default_session(inner):
            assert tf.get_default_session() is inner
        assert tf.get_default_session() is outer
        assert a.eval({a: 3}) == (a, {a: 3})
        a.op.run()
    assert tf.get_default_session() is None


def test_a_default_session_of_another_graph_is_refused() -> None:
    """Both messages suggest a remedy."""
    a = tf.constant(1.0)
    with default_session(EchoSession(tf.Graph())):
        with pytest.raises(ValueError, match="the tensor's graph is different from the session's"):
            a.eval()
        with pytest.raises(ValueError, match="the operation's graph is different from the session"):
            a.op.run()


def test_each_thread_has_its_own_sessions(graph: tf.Graph) -> None:
    """A new thread has no default session."""
    seen = []
    with default_session(EchoSession(graph)):
        thread = threading.Thread(target=lambda: seen.append(tf.get_default_session()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_leaving_in_the_wrong_order_is_noticed_unless_it_may_be(graph: tf.Graph) -> None:
    """A session that does not enforce nesting may be left in any order."""
    outer = default_session(EchoSession(graph))
    loose = default_session(EchoSession(graph), enforce_nesting=False)
    inner = EchoSession(graph)
    outer.__enter__()
    loose.__enter__()
    with default_session(inner):
        loose.__exit__(None, None, None)
        with pytest.raises(AssertionError, match="Nesting violated for default stack"):
            outer.__exit__(None, None, None)
        assert tf.get_default_session() is inner
    outer.__exit__(None, None, None)
    assert tf.get_default_session() is None
