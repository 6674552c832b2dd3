"""Scenes: nodes under their scopes, in contiguous ranges, with any names."""

from __future__ import annotations

import json
import zlib

import pytest

from tfnb.notebook.scenes.scene import CONTROL, MAX_DEPTH, Scene, SceneNode, Site, build_scene

HOSTILE = "<img src=x onerror=alert(1)>"


def chain(*names: str) -> list[SceneNode]:
    """Return nodes that each take the one before."""
    return [SceneNode(name, "Identity", ((i - 1, 0),) if i else ()) for i, name in enumerate(names)]


def scope_names(scene: Scene) -> list[str]:
    """The paths of all scopes but the whole graph."""
    return [scope.path for scope in scene.scopes[1:]]


def test_nodes_lie_in_the_scopes_of_their_names() -> None:
    """`a/b/c` is node c in scope b in scope a."""
    scene = build_scene(chain("x", "a/b/c", "a/d"))

    assert scope_names(scene) == ["a", "a/b"]
    assert {node.name: scene.label(i) for i, node in enumerate(scene.nodes)} == {
        "x": "x",
        "a/d": "d",
        "a/b/c": "c",
    }


def test_every_scope_is_one_range_of_nodes() -> None:
    """A scope's state is a sum over a range of nodes."""
    scene = build_scene(chain("b/x", "a/x", "b/c/y", "a/y", "z", "b/c/d/w"))

    for scope in scene.scopes[1:]:
        inside = {n.name for n in scene.nodes[scope.first : scope.end]}
        assert inside == {n.name for n in scene.nodes if n.name.startswith(f"{scope.path}/")}


def test_a_node_named_like_a_scope_is_shown_inside_it() -> None:
    """TensorFlow often puts the result of scope `loss` into a node `loss`."""
    scene = build_scene(chain("loss/sum", "loss"))

    assert [scene.label(i) for i in range(2)] == ["sum", "(loss)"]
    assert scene.scope_of == (1, 1)


def test_edges_follow_the_nodes_to_their_new_places() -> None:
    """An edge connects the same nodes and slots as in the description, also control edges."""
    description = [
        SceneNode("s/split", "Split"),
        SceneNode("add", "Add", ((0, 1), (0, 0), (2, CONTROL))),
        SceneNode("init", "NoOp"),
    ]
    scene = build_scene(description)

    named = {(scene.nodes[a].name, slot, scene.nodes[b].name, to) for a, slot, b, to in scene.edges}
    assert named == {
        ("s/split", 1, "add", 0),
        ("s/split", 0, "add", 1),
        ("init", CONTROL, "add", CONTROL),
    }


def test_a_name_of_a_million_slashes_does_not_make_a_million_scopes() -> None:
    """The depth is bounded; the rest of the name is the label."""
    scene = build_scene(chain("a/" * 1_000_000 + "z", "b"))

    assert len(scene.scopes) <= MAX_DEPTH + 2


@pytest.mark.parametrize("name", ["", "/", "//", "a//b", "/a", "a/", HOSTILE, "\x00", "\ud800"])
def test_strange_names_make_a_scene(name: str) -> None:
    """Names of any form are drawn, unchanged."""
    scene = build_scene([SceneNode(name, "Const"), SceneNode("other", "Identity", ((0, 0),))])

    payload = json.loads(zlib.decompress(scene.encode()).decode("utf-8", "surrogatepass"))
    assert sorted(payload["nodes"]["name"]) == sorted([name, "other"])


def test_repeated_texts_travel_once() -> None:
    """Ten thousand MatMuls with equal attrs send them once."""
    attrs = (("transpose_a", "False"), ("transpose_b", "False"))
    site = Site(3, "cell", 7, "<module>", "y = tf.matmul(a, b)")
    nodes = [SceneNode(f"m_{i}", "MatMul", attrs=attrs, site=site) for i in range(1000)]

    payload = build_scene(nodes).payload()
    assert len(payload["attrSets"]) == 1
    assert payload["sites"] == [[3, "cell", 7, "<module>", "y = tf.matmul(a, b)"]]
    assert len(build_scene(nodes).encode()) < 20_000


def test_lanes_put_every_partition_under_its_device() -> None:
    """A scope on two devices is two boxes, and transfers are directly in their lane."""
    devices = ["CPU:0", "CPU:1"]
    nodes = [
        SceneNode("f/x", "Const", partition=0),
        SceneNode("f/x/_1", "_Send", ((0, 0),), partition=0),
        SceneNode("f/x/_2", "_Recv", ((1, 0),), partition=1),
        SceneNode("f/y", "Neg", ((2, 0),), partition=1),
    ]
    scene = build_scene(nodes, partitions=devices, in_lanes=True)

    lanes = [scope for scope in scene.scopes if scope.kind == "lane"]
    assert [(lane.label, lane.size) for lane in lanes] == [("CPU:0", 2), ("CPU:1", 2)]
    direct = [[scene.nodes[n].op for n in lane.nodes] for lane in lanes]
    assert direct == [["_Send"], ["_Recv"]]
