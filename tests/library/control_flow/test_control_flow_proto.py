"""Contexts of conds and loops survive being written and read."""

from __future__ import annotations

from typing import Any

import pytest

import tfnb as tf
from tfnb.library.control_flow.control_flow_proto import context_from_proto, context_to_proto


def _build(tf: Any) -> Any:
    x = tf.placeholder_with_default(0.5, [], name="x")
    w = tf.constant(1.5, name="w")

    def body(i: Any, a: Any) -> Any:
        def inner() -> Any:
            return tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * w), [0, a])[1]

        return i + 1, tf.cond(tf.equal(i % 2, 0), inner, lambda: a * x)

    return x, tf.while_loop(lambda i, a: i < 4, body, [0, x], name="loop")[1]


def _with_contexts(graph: tf.Graph, scope: str | None) -> tuple[tf.Tensor, tf.Tensor]:
    """Import the graph and its contexts into the default graph."""
    messages = [
        context_to_proto(context)
        for key in (tf.GraphKeys.COND_CONTEXT, tf.GraphKeys.WHILE_CONTEXT)
        for context in graph.get_collection(key)
    ]
    tf.import_graph_def(graph.as_graph_def(), name=scope or "")
    for message in messages:
        context_from_proto(message, scope)
    prefix = f"{scope}/" if scope else ""
    target = tf.get_default_graph()
    return (
        target.get_tensor_by_name(f"{prefix}x:0"),
        target.get_tensor_by_name(f"{prefix}loop/Exit_1:0"),
    )


@pytest.mark.parametrize("scope", [None, "imported"])
def test_gradient_of_an_imported_loop(scope: str | None) -> None:
    """The gradient equals that of the original, with nested loops and conds."""
    with tf.Graph().as_default() as original:
        x, result = _build(tf)
        (grad,) = tf.gradients(result, x)
        with tf.Session() as session:
            expected = session.run([result, grad])
    with tf.Graph().as_default() as original:
        _build(tf)
    with tf.Graph().as_default():
        x, result = _with_contexts(original, scope)
        (grad,) = tf.gradients(result, x)
        with tf.Session() as session:
            assert session.run([result, grad]) == expected


def test_message_is_the_same_after_a_round_trip() -> None:
    """Reading and writing change nothing."""
    with tf.Graph().as_default() as original:
        _build(tf)
        (context,) = original.get_collection(tf.GraphKeys.WHILE_CONTEXT)
        before = context_to_proto(context)
    with tf.Graph().as_default():
        tf.import_graph_def(original.as_graph_def(), name="")
        after = context_to_proto(context_from_proto(before))
    assert before == after


def test_export_scope_is_taken_off() -> None:
    """A context outside of the scope is omitted."""
    with tf.Graph().as_default() as graph, tf.name_scope("mine"):
        _build(tf)
        (context,) = graph.get_collection(tf.GraphKeys.WHILE_CONTEXT)
    message = context_to_proto(context, "mine")
    assert message.context_name == "loop/while_context"
    assert message.loop_exit_names == ["loop/Exit:0", "loop/Exit_1:0"]
    assert context_to_proto(context, "other") is None
