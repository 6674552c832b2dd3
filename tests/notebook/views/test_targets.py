"""The targets of views: what is accepted, and what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import descriptor_pool, message_factory

import tfnb as tf
from tfnb.notebook.views.targets import TargetError, find_signature, find_target, nodes_of
from tfnb.proto import graph_pb2, meta_graph_pb2, saved_model_pb2

if TYPE_CHECKING:
    from pathlib import Path


def test_a_graph_shows_where_its_nodes_were_placed(graph: Any) -> None:
    """A graph that a session has run shows devices and reasons."""
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, 1.0, name="y")
    tf.negative(x, name="never_run")
    with tf.Session() as session:
        session.run(y, {x: 1.0})
        scene = find_target(graph).scene()

    devices = {node.name: node.assigned_device for node in scene.nodes}
    assert devices["y"].endswith("device:CPU:0")
    assert devices["never_run"] == ""


def test_tensors_operations_and_variables_select_themselves(graph: Any) -> None:
    """The view opens at the requested element."""
    x = tf.constant(1.0, name="scope/x")

    assert find_target(x).selected == "scope/x"
    assert find_target(x.op).selected == "scope/x"
    assert find_target("scope").selected == "scope/x"


def test_saved_models_are_opened_like_graph_defs(tmp_path: Path) -> None:
    """The content of the file decides, not the suffix."""
    saved_model = saved_model_pb2.SavedModel()
    saved_model.meta_graphs.add().graph_def.node.add(name="inside", op="Const")
    file = tmp_path / "saved_model.pb"
    file.write_bytes(saved_model.SerializeToString())

    assert [node.name for node in find_target(file).scene().nodes] == ["inside"]


def test_text_graphs_are_opened(tmp_path: Path) -> None:
    """`.pbtxt` is a GraphDef in text form."""
    file = tmp_path / "g.pbtxt"
    file.write_text('node { name: "x" op: "Const" }')

    assert [node.name for node in find_target(file).scene().nodes] == ["x"]


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 50, b"version https://git-lfs"])
def test_a_file_without_a_graph_says_so(tmp_path: Path, content: bytes) -> None:
    """A wrong file raises a clear error."""
    file = tmp_path / "wrong.pb"
    file.write_bytes(content)

    with pytest.raises(TargetError, match="holds no GraphDef"):
        find_target(file).scene()


@pytest.mark.parametrize("kind", [graph_pb2.GraphDef, meta_graph_pb2.MetaGraphDef])
def test_a_message_is_a_graph(kind: Any) -> None:
    """Also one of another package, such as TensorFlow's, and one with ops that are not known."""
    message = kind()
    nodes = message.node if kind is graph_pb2.GraphDef else message.graph_def.node
    nodes.add(name="a", op="OpOfStrangers")
    nodes.add(name="b", op="Identity", input=["a"])
    pool = descriptor_pool.DescriptorPool()
    for file in _files_of(kind.DESCRIPTOR.file):
        pool.AddSerializedFile(file.serialized_pb)
    other = message_factory.GetMessageClass(pool.FindMessageTypeByName(kind.DESCRIPTOR.full_name))
    for one in (message, other.FromString(message.SerializeToString())):
        assert [node.name for node in find_target(one).scene().nodes] == ["a", "b"]
        assert [node.op for node in nodes_of(one, {})] == ["OpOfStrangers", "Identity"]
    assert not find_target(kind()).scene().nodes


def _files_of(file: Any) -> list[Any]:
    """Return a file of messages behind those that it imports."""
    found = [one for imported in file.dependencies for one in _files_of(imported)]
    return [*found, file]


def test_an_object_without_a_graph_says_what_would_do() -> None:
    """The error lists what can be shown."""
    with pytest.raises(TargetError, match="A dict has no graph to show; give a Graph, Session"):
        find_target({})


def test_a_fetch_without_a_session_says_so(graph: Any) -> None:
    """Placement requires a session."""
    with pytest.raises(TargetError, match="No open session"):
        find_signature(tf.constant(1.0))


def test_a_signature_is_found_by_what_it_fetches(graph: Any) -> None:
    """The second request finds the prepared signature."""
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, 1.0, name="y")
    with tf.Session() as session:
        first = find_signature(y, session=session)
        second = find_signature([y], session=session)

    assert first.partitioned is second.partitioned
    assert first.partitioned.fetches == ("y:0",)


def test_a_graph_def_is_read_without_importing_it(tmp_path: Path) -> None:
    """Unregistered ops are shown."""
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="x", op="NoSuchOpAnywhere")
    file = tmp_path / "g.pb"
    file.write_bytes(graph_def.SerializeToString())

    assert find_target(str(file)).scene().nodes[0].op == "NoSuchOpAnywhere"
