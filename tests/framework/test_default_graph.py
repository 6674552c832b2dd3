"""The default graph: the process's, and each thread's stack above it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

import pytest

import tfnb as tf
from tfnb.framework.default_graph import has_default_graph

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def in_a_thread(function: Callable[[], T]) -> T:
    """Return the result of ``function`` in a thread of its own, which has entered no graph."""
    found: list[T] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_graphs_nest(graph: tf.Graph) -> None:
    """The innermost graph is the default; `with graph` does the same as as_default."""
    with tf.Graph().as_default() as inner:
        assert tf.get_default_graph() is inner
        with graph:
            assert tf.get_default_graph() is graph
    assert tf.get_default_graph() is graph


def test_a_new_thread_sees_the_graph_of_the_process(graph: tf.Graph) -> None:
    """Graphs that another thread has entered do not count."""
    first, second = in_a_thread(tf.get_default_graph), in_a_thread(tf.get_default_graph)
    assert first is second
    assert first is not graph
    assert in_a_thread(has_default_graph) is False


def test_reset_gives_the_process_a_new_graph() -> None:
    """A reset is allowed only outside of every `with`."""

    def reset() -> tuple[tf.Graph, tf.Graph]:
        old = tf.get_default_graph()
        tf.reset_default_graph()
        return old, tf.get_default_graph()

    old, new = in_a_thread(reset)
    assert old is not new


def test_reset_inside_a_graph_is_refused() -> None:
    """The message is TensorFlow's."""
    with pytest.raises(AssertionError, match=r"Do not use tf.reset_default_graph"):
        tf.reset_default_graph()


def test_leaving_in_the_wrong_order_is_noticed() -> None:
    """Leaving the outer graph first is refused."""
    outer, inner = tf.Graph().as_default(), tf.Graph().as_default()

    def leave() -> str:
        outer.__enter__()
        inner.__enter__()
        with pytest.raises(AssertionError) as caught:
            outer.__exit__(None, None, None)
        return str(caught.value)

    assert "Nesting violated for default stack of" in in_a_thread(leave)


def test_an_op_goes_into_the_graph_of_its_inputs(graph: tf.Graph) -> None:
    """Even if another graph is the default; inputs of two graphs are refused."""
    a = tf.constant(1.0)
    with tf.Graph().as_default() as other:
        b = tf.constant(2.0)
        c = tf.negative(a)
        d = tf.add(a, 3.0)
        with pytest.raises(ValueError, match="must be from the same graph as"):
            tf.add(a, b)
    assert c.graph is graph
    assert [t.graph for t in d.op.inputs] == [graph, graph]
    assert len(other.get_operations()) == 1
