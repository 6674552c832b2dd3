"""Static pictures and texts: names are escaped, nothing is lost, boxes do not overlap."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import pytest

from tfnb.notebook.pictures.table_svg import passes_svg, placement_svg
from tfnb.notebook.scenes.layered_layout import layered_layout
from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.scenes.scene_svg import scene_svg
from tfnb.notebook.scenes.scene_text import scene_text
from tfnb.notebook.scenes.svg_writer import SvgWriter

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    "name", [HOSTILE, "</title><script>x</script>", "a&b\"c'd", "\x00\x1b[31m"]
)
def test_a_hostile_name_is_text_in_an_svg(name: str) -> None:
    """The picture is well-formed and has no element from the name."""
    scene = build_scene([SceneNode(name, name), SceneNode("y", "Neg", ((0, 0),))], title=name)

    root = ET.fromstring(scene_svg(scene))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "style", "defs", "marker", "path", "rect", "text"}


def test_attributes_are_quoted() -> None:
    """A text in an attribute cannot end the attribute."""
    out = SvgWriter()
    out.text(0, 0, "x", font_family='"><script>')

    root = ET.fromstring(out.document(10, 10, "t"))
    assert [e.tag.rpartition("}")[2] for e in root] == ["title", "text"]


def test_a_terminal_gets_no_escape_sequences_from_names() -> None:
    """Names cannot send control sequences to a terminal."""
    text = scene_text(build_scene([SceneNode("\x1b]0;owned\x07\x1b[2J", "Const")]))

    assert "\x1b" not in text
    assert "\\x1b[2J" in text


def test_the_text_is_a_tree_of_scopes() -> None:
    """Scopes are open as far as the lines allow; the rest is counted."""
    nodes = [SceneNode(f"block_{i // 10}/n_{i}", "Neg") for i in range(40)]
    text = scene_text(build_scene(nodes, title="g"), max_lines=20)

    lines = text.splitlines()
    assert lines[0] == "g: 40 nodes, 0 edges"
    assert lines[1] == "├─ block_0/  10 nodes"
    assert lines[-1] == "└─ block_3/  10 nodes"
    assert len(lines) <= 20


def test_layout_keeps_boxes_apart_and_data_flowing_down() -> None:
    """Boxes of one rank do not overlap, and edges go down except for back edges."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 4), (4, 0)]
    sizes = [(80.0, 24.0)] * 5
    found = layered_layout(sizes, edges)

    for (ax, ay), (bx, by) in itertools.combinations(found.centres, 2):
        assert abs(ax - bx) >= 80 or abs(ay - by) >= 24
    for a, b in edges[:-1]:
        assert found.centres[a][1] < found.centres[b][1]
    assert found.edges[-1][0][1] > found.edges[-1][-1][1]


def test_an_empty_graph_has_a_layout() -> None:
    """An empty graph takes no room."""
    found = layered_layout([], [])

    assert (found.width, found.height) == (0.0, 0.0)


def test_a_large_picture_says_what_it_does_not_draw() -> None:
    """The static picture is bounded, and states what is missing."""
    nodes = [SceneNode(f"a{i}/x", "Neg") for i in range(118)]

    assert "28 boxes not drawn" in scene_svg(build_scene(nodes))


def test_a_picture_of_partitions_has_a_lane_for_each_device() -> None:
    """Transfers are drawn between lanes, and names are text."""
    nodes = [
        SceneNode("x", "Const", partition=0),
        SceneNode("x/_1", "_Send", ((0, 0),), partition=0),
        SceneNode("x/_2", "_Recv", ((1, 0),), partition=1),
        SceneNode(HOSTILE, "Neg", ((2, 0),), partition=1),
    ]
    devices = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]
    root = ET.fromstring(scene_svg(build_scene(nodes, partitions=devices, in_lanes=True)))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]

    assert {"CPU:0", "CPU:1", "_Send", "_Recv"} <= {*texts}
    rects = [e for e in root.iter() if e.tag.endswith("rect") and e.get("fill") == "#eceef0"]
    (a, b) = [(float(e.get("x", 0)), float(e.get("width", 0))) for e in rects[:2]]
    assert a[0] + a[1] < b[0]
    lines = [e for e in root.iter() if e.tag.endswith("path") and e.get("stroke") == "#c2387a"]
    assert len(lines) == 1


def test_a_picture_of_a_placement_says_each_node_with_its_device_and_why() -> None:
    """Long names are shortened in the middle, and rows beyond a limit are counted."""
    nodes = [
        SceneNode(f"scope/{HOSTILE}_{i}", "Neg", assigned_device="/device:CPU:0", reason="only one")
        for i in range(60)
    ]
    svg = placement_svg(build_scene(nodes))
    texts = [element.text for element in ET.fromstring(svg).iter()]

    assert texts.count("only one") == 40
    assert "… 20 more" in texts
    assert "Placement: /device:CPU:0: 60" in texts


def test_a_picture_of_passes_lists_what_each_did() -> None:
    """The order is that in which the passes ran."""
    told = [{"name": HOSTILE, "summary": "3 folded", "where": "on CPU:0"}] * 2
    texts = [element.text for element in ET.fromstring(passes_svg(told)).iter()]

    assert texts.count("3 folded") == 2
    assert f"2. {HOSTILE}" in texts
