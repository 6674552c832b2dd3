"""Summaries, savers and initializers are drawn beside a model; notes have further facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.scenes.scene_svg import scene_svg
from tfnb.notebook.steps.step_model import make_signature
from tfnb.notebook.views.partitions import partitions_scene
from tfnb.notebook.views.placement import placement_scene, placement_text
from tfnb.notebook.views.targets import find_signature, find_target

if TYPE_CHECKING:
    from tfnb.notebook.scenes.scene import Scene


def aside(scene: Scene) -> set[str]:
    """Return the boxes beside the data flow, by label."""
    scopes = {scope.label for scope in scene.scopes if scope.is_aside}
    return scopes | {scene.nodes[node].name for node in scene.aside}


def test_a_model_is_seen_without_what_stands_beside_it(graph: Any) -> None:
    """Each role is one box with its nodes and names."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 1])
    loss = tf.reduce_mean(tf.matmul(x, w), name="loss")
    tf.summary.scalar("loss_now", loss)
    tf.summary.histogram("weights", w)
    with tf.name_scope("summaries_of_w"):
        tf.summary.scalar("mean", tf.reduce_mean(w))
    tf.summary.merge_all()
    tf.global_variables_initializer()
    tf.local_variables_initializer()
    tf.train.Saver()
    scene = find_target(graph).scene()

    assert aside(scene) == {"summaries", "save", "initializers"}
    summaries = next(scope for scope in scene.scopes if scope.label == "summaries")
    inside = {scene.nodes[node].name for node in range(summaries.first, summaries.end)}
    assert {"loss_now", "weights", "summaries_of_w/mean_1", "Merge/MergeSummary"} <= inside
    assert "loss" not in inside
    assert scene.payload()["aside"]


def test_what_feeds_the_model_is_a_part_of_it() -> None:
    """A restored value in use, a metric in a scope, and grouped assignments stay in the flow."""
    nodes = [
        SceneNode("name", "Const"),
        SceneNode("restored", "RestoreV2", ((0, 0),)),
        SceneNode("y", "Neg", ((1, 0),)),
        SceneNode("accuracy/mean", "Mean", ((2, 0),)),
        SceneNode("accuracy/scalar", "ScalarSummary", ((3, 0),)),
        SceneNode("clip", "NoOp", ((2, -1),)),
    ]
    assert aside(build_scene(nodes)) == set()


def test_a_graph_of_nothing_else_is_drawn_as_ever() -> None:
    """A graph with only these roles is drawn in the usual way."""
    nodes = [SceneNode("save/Const", "Const"), SceneNode("save/SaveV2", "SaveV2", ((0, 0),))]
    assert aside(build_scene(nodes)) == set()


def test_a_placeholder_for_the_savers_only_goes_with_them() -> None:
    """TensorFlow's SavedModels have one."""
    nodes = [
        SceneNode("x", "Placeholder"),
        SceneNode("y", "Neg", ((0, 0),)),
        SceneNode("saver_filename", "Placeholder"),
        SceneNode("save/SaveV2", "SaveV2", ((2, 0), (0, 0))),
    ]
    scene = build_scene(nodes)
    assert aside(scene) == {"savers"}
    assert ">savers<" in scene_svg(scene)


def test_a_fed_placeholder_is_in_the_placement(graph: Any) -> None:
    """The placement has the device of the feed, and of its consumers."""
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, 1.0, name="y")
    z = tf.negative(y, name="z")
    with tf.Session() as session:
        session.run(z, {x: 1.0})
        views = find_signature(session=session)
        scene = placement_scene(views)
        text = placement_text(views)
        session.run(z, {y: 1.0})
        inner = {
            node.name: node for node in placement_scene(find_signature(None, {}, session)).nodes
        }
    nodes = {node.name: node for node in scene.nodes}
    assert nodes["x"].assigned_device.endswith("CPU:0")
    assert nodes["x"].reason == "is fed: its value comes in"
    names = [node.name for node in scene.nodes]
    assert ("x", "y") in {(names[source], names[to]) for source, _, to, _ in scene.edges}
    assert "\nx     CPU:0   Placeholder" in text
    assert inner["y"].reason == "is fed: its value comes in"
    assert "x" not in inner


def test_a_note_says_how_many_nodes_were_folded(graph: Any) -> None:
    """The note is in the views without the folded nodes."""
    x = tf.constant(1.0)
    for _ in range(50):
        x = tf.exp(x * 0.1)
    p = tf.placeholder(tf.float32, [], name="p")
    y = tf.add(x, p, name="y")
    with tf.Session() as session:
        session.run(y, {p: 1.0})
        views = find_signature(session=session)
    told = "150 of 152 nodes were folded or removed, see %tfnb passes"
    assert placement_scene(views).note == told
    assert partitions_scene(views).note == told
    assert make_signature(0, views.partitioned, views.placed, graph).scene.note == told
    assert partitions_scene(views).payload()["note"] == told
    assert told in placement_text(views)


@pytest.mark.parametrize("name", ["init", "init_1", "init_all_tables"])
def test_initializers_are_known_by_their_names(name: str) -> None:
    """The names are those of TensorFlow."""
    nodes = [
        SceneNode("v", "VariableV2"),
        SceneNode("v/Assign", "Assign", ((0, 0),)),
        SceneNode(name, "NoOp", ((1, -1),)),
    ]
    assert aside(build_scene(nodes)) == {name}
