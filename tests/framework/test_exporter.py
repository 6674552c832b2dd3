"""as_graph_def."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.framework import exporter


def test_a_graph_is_written_with_its_versions(graph: tf.Graph) -> None:
    """Nodes are in the order of creation; an empty library is omitted."""
    tf.add(tf.constant(1.0, name="x"), 2.0, name="y")
    written = graph.as_graph_def()
    assert [node.name for node in written.node] == ["x", "y/y", "y"]
    assert written.versions.producer == 2474
    assert not written.HasField("library")


def test_only_what_is_new_can_be_written(graph: tf.Graph) -> None:
    """from_version omits earlier nodes."""
    tf.no_op(name="old")
    version = graph.version
    tf.no_op(name="new")
    assert [node.name for node in graph.as_graph_def(from_version=version).node] == ["new"]
    assert graph._as_graph_def(from_version=version)[1] == 2
    assert not graph.as_graph_def(from_version=2).node


def test_shapes_are_written_if_asked_for(graph: tf.Graph) -> None:
    """One per output; operations without outputs have none."""
    tf.placeholder(tf.float32, [2, None])
    tf.placeholder(tf.float32)
    tf.no_op()
    known, unknown, nothing = graph.as_graph_def(add_shapes=True).node
    assert [dim.size for dim in known.attr["_output_shapes"].list.shape[0].dim] == [2, -1]
    assert unknown.attr["_output_shapes"].list.shape[0].unknown_rank
    assert "_output_shapes" not in nothing.attr
    assert "_output_shapes" not in graph.as_graph_def().node[0].attr


def test_the_message_is_the_callers_own(graph: tf.Graph) -> None:
    """Clearing the message does not affect the next one."""
    tf.no_op(name="n")
    graph.as_graph_def().node[0].name = "m"
    assert graph.as_graph_def().node[0].name == "n"


def test_changes_show_in_the_next_message(graph: tf.Graph) -> None:
    """Attribute, device, inputs and control inputs are up to date."""
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    op = tf.negative(a, name="n").op
    graph.as_graph_def()
    op._set_attr("_x", 1)
    op._set_device("/cpu:0")
    op._update_input(0, b)
    op._add_control_input(a.op)
    node = graph.as_graph_def().node[2]
    assert (node.attr["_x"].i, node.device, list(node.input)) == (1, "/cpu:0", ["b", "^a"])


def test_a_graph_too_large_for_a_message_names_its_heaviest_nodes(
    graph: tf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is protobuf's 2 GB."""
    tf.constant("x" * 300, name="heavy")
    tf.no_op(name="light")
    monkeypatch.setattr(exporter, "MAX_GRAPH_DEF_BYTES", 300)
    with pytest.raises(ValueError, match=r"GraphDef cannot be larger than 2GB.*are 'heavy'"):
        graph.as_graph_def()


def test_a_graph_shows_what_changed_since_it_was_exported() -> None:
    """A second message has new nodes, changed nodes and new versions; the first is unchanged."""
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0, name="x")
        y = tf.identity(x, name="y")
        first = graph.as_graph_def()
        z = tf.negative(y, name="z")
        assert [node.name for node in graph.as_graph_def().node] == ["x", "y", "z"]
        assert [node.name for node in first.node] == ["x", "y"]
        first.node[0].name = "mine"
        y.op._set_attr("mark", tf.AttrValue(i=3))
        x.op._set_device("/cpu:1")
        z.op._add_control_input(x.op)
        again = graph.as_graph_def()
    assert [node.name for node in again.node] == ["x", "y", "z"]
    assert again.node[1].attr["mark"].i == 3
    assert again.node[0].device == x.op.device != ""
    assert list(again.node[2].input) == ["y", "^x"]


def test_large_graphs_are_not_kept_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of large graphs are equal and not cached as bytes."""
    monkeypatch.setattr(exporter, "MAX_KEPT_BYTES", 10)
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="x")
        assert graph.as_graph_def() == graph.as_graph_def()
        assert graph.exported_nodes is None
        tf.constant(2.0, name="y")
        assert [node.name for node in graph.as_graph_def().node] == ["x", "y"]
