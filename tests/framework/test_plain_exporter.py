"""The plain form of a graph within a process agrees with its GraphDef."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import tfnb as tf
from tfnb.core.attr_value import TensorAttr
from tfnb.framework.functions import function
from tfnb.framework.importing.plain_exporter import plain_graph_def_of
from tfnb.graph.graph_constructor import graph_from_graph_def, graph_to_graph_def
from tfnb.proto import attr_value_pb2, graph_pb2

if TYPE_CHECKING:
    from tfnb.graph.graph import Graph as RuntimeGraph

_OWN = Path(__file__).parents[1] / "cases" / "own"
_GRAPHS = sorted(path for path in _OWN.glob("*/graph.pb"))


def plainly_read(graph: tf.Graph) -> RuntimeGraph:
    """Return the runtime's graph, made without a message."""
    return graph_from_graph_def(plain_graph_def_of(graph, graph.operation_list))


def classes(value: Any) -> Any:
    """Return a value with the classes of its parts: equal numbers may differ in class."""
    return [classes(one) for one in value] if isinstance(value, list) else value.__class__


def assert_same_as_its_message(graph: tf.Graph) -> None:
    """Compare everything that the runtime reads, in both forms."""
    message = graph.as_graph_def()
    through, plain = graph_from_graph_def(message), plainly_read(graph)
    for theirs, ours in zip(through.op_nodes(), plain.op_nodes(), strict=True):
        assert theirs.name == ours.name
        assert theirs.attrs == ours.attrs, theirs.name
        for name, value in theirs.attrs.items():
            assert classes(value) == classes(ours.attrs[name]), (theirs.name, name)
            if isinstance(value, TensorAttr):
                array, other = value.value(), ours.attrs[name].value()
                assert (array.dtype, array.shape) == (other.dtype, other.shape), theirs.name
                assert not other.flags.writeable
    assert graph_to_graph_def(through) == graph_to_graph_def(plain)


def test_there_are_graphs_to_compare() -> None:
    """The folder of cases is not empty."""
    assert len(_GRAPHS) >= 20


def test_imported_graphs_are_sent_as_their_messages_say() -> None:
    """The graphs are all of the project's own cases."""
    for path in _GRAPHS:
        graph_def = graph_pb2.GraphDef.FromString(path.read_bytes())
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        assert_same_as_its_message(graph)


def test_built_constants_are_sent_as_their_messages_say(graph: tf.Graph) -> None:
    """Constants of all types and layouts are compared; strings, small and empty ones."""
    for dtype in (np.float16, np.float64, np.int8, np.uint64, np.bool_, np.complex64):
        tf.constant(np.zeros([2, 3], dtype))
    for value in (1.5, [], "text", [b"a", "ü"], True, 2**40, np.float32([0.1, np.nan, -0.0])):
        tf.constant(value)
    tf.constant(np.arange(6).reshape(2, 3).T)
    tf.constant(np.arange(6, dtype=">i4"))
    tf.constant(np.ones(3, ml_dtypes.bfloat16))
    tf.constant(0.1, tf.bfloat16)
    tf.constant([(1,), (2,)], tf.qint8)
    tf.constant(7.0, shape=[3])
    assert_same_as_its_message(graph)


def test_numbers_are_as_exact_as_in_a_message(graph: tf.Graph) -> None:
    """Float attributes have four bytes."""
    x = tf.placeholder(tf.float32, [None, 2])
    tf.nn.leaky_relu(x, alpha=0.1)
    tf.nn.fractional_max_pool(tf.zeros([1, 4, 4, 1]), [1.0, 1.44, 1.73, 1.0])
    x.op._set_attr("_note", 0.1)
    x.op._set_attr("_notes", [0.1, 0.2])
    x.op._set_attr("_nothing", attr_value_pb2.AttrValue())
    x.op._set_attr("_text", "ü")
    x.op._set_attr("_none", [])
    assert_same_as_its_message(graph)
    node = plainly_read(graph).find_node(x.op.name)
    assert node is not None
    assert node.attrs["_note"] == float(np.float32(0.1))
    assert "_nothing" not in node.attrs


def test_control_inputs_functions_and_devices_are_sent(graph: tf.Graph) -> None:
    """The order is that of a message."""

    @function.Defun(tf.float32)
    def twice(x: tf.Tensor) -> tf.Tensor:
        return x + x

    b, a = tf.no_op(name="b"), tf.no_op(name="a")
    with tf.control_dependencies([b, a]), tf.device("/cpu:0"):
        y = twice(tf.constant(1.0))
    tf.cond(y > 1.0, lambda: y, lambda: -y)
    assert_same_as_its_message(graph)
    library = plainly_read(graph).library
    assert library is not None
    assert len(library) == 1


def test_nodes_built_alike_share_their_attributes_and_keep_their_devices(graph: tf.Graph) -> None:
    """A thousand equal nodes are checked once."""
    x = tf.placeholder(tf.float32)
    first = tf.tanh(x)
    with tf.device("/cpu:0"):
        second = tf.tanh(first)
    nodes = [node for node in plainly_read(graph).op_nodes() if node.op == "Tanh"]
    assert [node.requested_device for node in nodes] == ["", "/device:CPU:0"]
    assert nodes[0].attrs is nodes[1].attrs
    assert second.op.attrs is first.op.attrs


def test_ops_of_two_types_that_share_their_attributes_are_sent_each_as_its_own_op_says(
    graph: tf.Graph,
) -> None:
    """An attribute that one op declares as a float may be an integer in another op."""
    other = tf.no_op()
    relu = tf.nn.leaky_relu(tf.placeholder(tf.float32)).op
    other.attrs = relu.attrs = {"T": tf.float32, "alpha": 1}
    assert_same_as_its_message(graph)
    alphas = [
        node.attrs["alpha"] for node in plainly_read(graph).op_nodes() if node.op != "Placeholder"
    ]
    assert [alpha.__class__ for alpha in alphas] == [int, float]


def test_names_of_colocated_nodes_are_sent_as_their_messages_say(graph: tf.Graph) -> None:
    """Missing groups, and values that are not lists, are covered."""
    first = tf.constant(1.0, name="first")
    with tf.colocate_with(first):
        tf.constant(2.0)
    for value in ([b"loc:@first", b"loc:@other"], [], b"loc:@first", [b"loc:@first", "text"]):
        tf.no_op()._set_attr("_class", value)
    assert_same_as_its_message(graph)


def test_nodes_built_in_a_loop_share_their_attributes(graph: tf.Graph) -> None:
    """The sharing is the same as outside of loops."""
    loops = [tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]) for _ in range(2)]
    assert len(loops) == 2
    for op in ("Merge", "Less", "LoopCond", "Identity", "AddV2", "NextIteration", "Exit"):
        first, second = [node for node in plainly_read(graph).op_nodes() if node.op == op]
        assert first.attrs is second.attrs, op


def test_writing_to_an_array_after_it_became_a_constant_changes_nothing(graph: tf.Graph) -> None:
    """The constant is a copy of the given array, and a fetch returns a copy of the constant."""
    given = np.ones(3, np.float32)
    tensor = tf.constant(given)
    given[:] = 5
    with tf.Session(graph=graph) as sess:
        for _ in range(3):
            fetched = sess.run(tensor)
            np.testing.assert_array_equal(fetched, [1, 1, 1])
            fetched[:] = 7
            np.testing.assert_array_equal(sess.run(tensor + 1.0), [2, 2, 2])
    assert given.flags.writeable


def test_what_no_message_can_hold_is_refused_and_the_session_goes_on(graph: tf.Graph) -> None:
    """The error is that of the export to a message."""
    bad = tf.no_op(name="bad")
    bad.attrs = {**bad.attrs, "_large": 2**70}
    good = tf.constant(1.0)
    with tf.Session(graph=graph) as sess:
        with pytest.raises((TypeError, ValueError, tf.errors.OpError)):
            sess.run(bad)
        bad.attrs = {}
        assert sess.run(good) == 1.0
        sess.run(bad)


def test_a_placeholder_of_a_function_body_in_a_node_is_refused(graph: tf.Graph) -> None:
    """The error names the attribute without a value."""
    op = tf.no_op(name="open")
    op.attrs = {**op.attrs, "_T": attr_value_pb2.AttrValue(placeholder="T")}
    good = tf.constant(1.0)
    with tf.Session(graph=graph) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"'_T'.*placeholder '\$T'"):
            sess.run(op)
        assert sess.run(good) == 1.0
