"""Parts of GraphDefs."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.framework.importing import graph_util


def chain(graph: tf.Graph) -> tf.GraphDef:
    """a -> b -> c, d aside, e colocated with d, f waiting for e."""
    a = tf.constant(1.0, name="a")
    b = tf.negative(a, name="b")
    tf.negative(b, name="c")
    d = tf.no_op(name="d")
    with tf.colocate_with(d):
        e = tf.no_op(name="e")
    with tf.control_dependencies([e]):
        tf.no_op(name="f")
    return graph.as_graph_def()


def test_a_sub_graph_has_what_its_nodes_need(graph: tf.Graph) -> None:
    """Inputs, control inputs and colocated nodes are kept in order."""
    whole = chain(graph)
    names = {
        name: [n.name for n in graph_util.extract_sub_graph(whole, [name]).node] for name in "bf"
    }
    assert names == {"b": ["a", "b"], "f": ["d", "e", "f"]}
    assert graph_util.extract_sub_graph(whole, ["a"]).versions == whole.versions


def test_a_sub_graph_needs_a_message_and_names(graph: tf.Graph) -> None:
    """A single string is refused; missing names are refused."""
    whole = chain(graph)
    with pytest.raises(TypeError, match=r"graph_def must be a graph_pb2.GraphDef proto"):
        graph_util.extract_sub_graph(graph, ["a"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dest_nodes must be an iterable of strings"):
        graph_util.extract_sub_graph(whole, "a")
    with pytest.raises(AssertionError, match="z is not in graph"):
        graph_util.extract_sub_graph(whole, ["z"])


def test_shapes_are_found_by_input_text(graph: tf.Graph) -> None:
    """Names with and without a port are accepted."""
    tf.placeholder(tf.float32, [2], name="p")
    for text in ("p", "p:0"):
        assert graph_util.tensor_shape_from_node_def_name(graph, text).as_list() == [2]


def test_some_nodes_belong_on_a_cpu() -> None:
    """These are int32 and text constants, int32 casts, and variables on request."""
    assert graph_util.must_run_on_cpu(tf.constant("s").op)
    assert graph_util.must_run_on_cpu(tf.constant(1).op.node_def)
    assert not graph_util.must_run_on_cpu(tf.constant(1.0).op)
    assert graph_util.must_run_on_cpu(tf.cast(tf.constant(1), tf.float32).op)
    variable = tf.NodeDef(op="VariableV2")
    assert not graph_util.must_run_on_cpu(variable)
    assert graph_util.must_run_on_cpu(variable, pin_variables_on_cpu=True)


def test_training_nodes_go(graph: tf.Graph) -> None:
    """Identity and CheckNumerics are replaced by their inputs.

    Protected nodes and control inputs stay.
    """
    a = tf.constant(1.0, name="a")
    i = tf.identity(a, name="i")
    j = tf.identity(i, name="j")
    k = tf.identity(j, name="k")
    with tf.control_dependencies([k]):
        tf.negative(j, name="n")
    slim = graph_util.remove_training_nodes(graph.as_graph_def(), protected_nodes=["j"])
    assert {node.name: list(node.input) for node in slim.node} == {
        "a": [],
        "j": ["a"],
        "k": ["j"],
        "n": ["j", "^k"],
    }


def test_control_edges_from_removed_checks_are_dropped() -> None:
    """An Identity that only waited for a check is removed, too."""
    graph_def = tf.GraphDef()
    for name, op, inputs in (
        ("a", "Const", []),
        ("check", "CheckNumerics", ["a"]),
        ("same", "Identity", ["a", "^check"]),
        ("end", "Neg", ["same"]),
    ):
        graph_def.node.add(name=name, op=op, input=inputs)
    left = tf.graph_util.remove_training_nodes(graph_def)
    assert [(node.name, list(node.input)) for node in left.node] == [("a", []), ("end", ["a"])]
