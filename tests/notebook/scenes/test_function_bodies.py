"""Bodies of functions in pictures, and the shapes of graphs from files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.framework.functions.function import Defun
from tfnb.notebook.scenes.function_bodies import MAX_NODES, with_bodies
from tfnb.notebook.scenes.graph_scene import describe_graph
from tfnb.notebook.views.targets import find_target
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tfnb.notebook.scenes.scene import Scene


@pytest.fixture
def functional(graph: Any) -> Iterator[Any]:
    """A graph in which conds and loops are ops with functions."""
    tf.enable_control_flow_v2()
    yield graph
    tf.disable_control_flow_v2()


def edges_of(scene: Scene) -> set[tuple[str, str]]:
    """Return pairs of names."""
    names = [node.name for node in scene.nodes]
    return {(names[source], names[to]) for source, _, to, _ in scene.edges}


def test_a_call_opens_and_data_flows_through_its_body(graph: Any) -> None:
    """Edges lead from the call's inputs to arguments, and from results to consumers."""

    @Defun(tf.float32, func_name="double")
    def double(a: Any) -> Any:
        return tf.add(a, a, name="sum")

    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = double(x, name="call")
    tf.negative(y, name="z")
    scene = find_target(graph).scene()

    nodes = {node.name: node for node in scene.nodes}
    assert nodes["call/sum_0"].op == "AddV2"
    assert nodes["call/sum_0"].outputs == (("float32", "(?, 3)"),)
    (argument,) = [node.name for node in scene.nodes if node.op == "_Arg"]
    (result,) = [node.name for node in scene.nodes if node.op == "_Retval"]
    assert edges_of(scene) == {
        ("x", argument),
        (argument, "call/sum_0"),
        ("call/sum_0", result),
        (result, "call"),
        ("call", "z"),
    }
    (scope,) = [one for one in scene.scopes if one.path == "call"]
    assert scope.size == 4


def test_branches_and_loops_have_a_scope_for_each_function(functional: Any) -> None:
    """A loop in a branch opens inside of it."""
    x = tf.placeholder(tf.float32, [2], name="x")

    def loop() -> Any:
        return tf.while_loop(lambda a: tf.reduce_sum(a) < 9.0, lambda a: tf.exp(a), [x], name="w")

    tf.cond(x[0] > 0, loop, lambda: tf.tanh(x), name="choice")
    scene = find_target(functional).scene()

    paths = {scope.path for scope in scene.scopes}
    assert {"choice/then_branch", "choice/else_branch"} <= paths
    exps = [node for node in scene.nodes if node.op == "Exp"]
    assert [one.outputs for one in exps] == [(("float32", "(2,)"),)]
    assert exps[0].name.startswith("choice/then_branch/")
    assert "/body/" in exps[0].name


def test_a_function_that_calls_itself_is_shown_once() -> None:
    """The inner call stays a closed box."""
    graph_def = graph_pb2.GraphDef()
    node = graph_def.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = 1
    graph_def.node.add(name="call", op="again", input=["x"])
    function = graph_def.library.function.add()
    function.signature.name = "again"
    function.signature.input_arg.add(name="a", type=1)
    function.signature.output_arg.add(name="r", type=1)
    function.node_def.add(name="inner", op="again", input=["a"])
    function.ret["r"] = "inner:r:0"
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    names = {node.name for node in with_bodies(describe_graph(graph), graph)}
    assert names == {"x", "call", "call/a", "call/inner", "call/r_RetVal"}


@pytest.mark.slow
def test_bodies_end_where_a_picture_would_be_too_large(graph: Any) -> None:
    """Each function calls the one before twice; outer levels are shown, inner ones stay boxes."""

    @Defun(tf.float32, func_name="f0")
    def first(a: Any) -> Any:
        return tf.negative(a)

    def twice(inner: Any, name: str) -> Any:
        return Defun(tf.float32, func_name=name)(lambda a: inner(inner(a)))

    function = first
    for level in range(1, 14):
        function = twice(function, f"f{level}")
    function(tf.constant(1.0), name="call")
    nodes = with_bodies(describe_graph(graph), graph)
    assert MAX_NODES / 2 < len(nodes) <= MAX_NODES + len(graph.get_operations())


def test_functions_of_datasets_are_shown(graph: Any) -> None:
    """Their arguments are elements, not the node's inputs."""
    tf.data.Dataset.range(3).map(lambda a: tf.square(a)).make_one_shot_iterator()
    scene = find_target(graph).scene()
    assert "Square" in {node.op for node in scene.nodes}


def test_a_graph_from_a_file_has_shapes(tmp_path: Path) -> None:
    """Shapes follow from placeholders and constants, also in bodies."""

    @Defun(tf.float32, func_name="double")
    def double(a: Any) -> Any:
        return tf.add(a, a, name="sum")

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        y = tf.matmul(x, tf.ones([4, 8]), name="y")
        double(y, name="call")
        parts = tf.split(y, 2, axis=1, name="parts")
        assert len(parts) == 2
    file = tmp_path / "g.pb"
    file.write_bytes(graph.as_graph_def().SerializeToString())

    outputs = {node.name: node.outputs for node in find_target(file).scene().nodes}
    assert outputs["y"] == (("float32", "(?, 8)"),)
    assert outputs["call/sum_0"] == (("float32", "(?, 8)"),)
    assert outputs["parts"] == (("float32", "(?, 4)"),) * 2


def test_a_file_that_cannot_be_imported_is_still_shown(tmp_path: Path) -> None:
    """With an unregistered op or an unsuitable input, shapes are those in the nodes."""
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="x", op="NoSuchOpAnywhere")
    graph_def.node.add(name="y", op="Neg", input=["x"]).attr["T"].type = 1
    file = tmp_path / "g.pb"
    file.write_bytes(graph_def.SerializeToString())
    outputs = {node.name: node.outputs for node in find_target(file).scene().nodes}
    assert outputs == {"x": (), "y": (("float32", "<unknown>"),)}


def test_the_folder_of_a_saved_model_is_its_graph(tmp_path: Path, graph: Any) -> None:
    """The folder stands for the file of the graph in it."""
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": x + 1.0})
    scene = find_target(str(tmp_path / "model")).scene()
    assert "x" in {node.name for node in scene.nodes}
