"""Long names that stand side by side are cut where they are the same."""

from __future__ import annotations

import pytest

from tfnb.notebook.pictures.table_svg import table_svg
from tfnb.notebook.scenes.cut_names import cut_apart
from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.scenes.scene_svg import scene_svg

PARTS = ("kernel", "bias", "kernel_1", "kernel_2")
NAMES = [f"the_scope_of_the_generator_{part}_of_a_network" for part in PARTS]


@pytest.mark.parametrize("limit", [22, 26, 32])
def test_names_that_differ_in_the_middle_stay_different(limit: int) -> None:
    """Each has its limit, begins as it did, and shows the part that is its own."""
    cut = cut_apart([*NAMES, "short"], limit)
    assert len(set(cut)) == 5
    assert cut[-1] == "short"
    assert all(len(text) <= limit for text in cut)
    assert all(text.startswith("the_scop") for text in cut[:-1])
    assert "bias" in cut[1]


def test_names_that_differ_at_their_ends_keep_these() -> None:
    """The usual cut in the middle tells them apart already."""
    names = [f"gradients/block_0/a_scope_with_a_long_name/{end}" for end in ("MatMul", "BiasAdd")]
    assert [text.rpartition("/")[2] for text in cut_apart(names, 26)] == ["MatMul", "BiasAdd"]


def test_equal_names_are_cut_alike() -> None:
    """Nothing can tell them apart, and the cut ends."""
    first, second = cut_apart([NAMES[0]] * 2, 26)
    assert first == second
    assert len(first) == 26


def test_pictures_tell_long_names_apart() -> None:
    """Boxes of a graph and rows of a table show the part that differs."""
    nodes = [SceneNode("x", "Placeholder")]
    nodes += [SceneNode(name, "Neg", ((0, 0),)) for name in NAMES[:2]]
    graph = scene_svg(build_scene(nodes))
    table = table_svg("Nodes", (("node", 26),), [(name,) for name in NAMES[:2]])
    for picture in (graph, table):
        shown = [text for text in _texts(picture) if text.startswith("the_scop")]
        assert len(set(shown)) == 2
        assert sum("bias" in text for text in shown) == 1


def _texts(picture: str) -> list[str]:
    from xml.etree import ElementTree

    return [
        "".join(part for part in (one.text, *(child.tail for child in one)) if part)
        for one in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    ]
