"""The graph before and after each pass, as text and as scenes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.notebook.steps.recorded_loop import HOSTILE
from tfnb.common_runtime.optimizer.optimization_registry import Grouping, PassReport
from tfnb.common_runtime.session.pass_trace import NodeSnapshot, PassStage
from tfnb.framework.functions.function import Defun
from tfnb.notebook.scenes.pass_scenes import CHANGES, pass_pictures, passes_text
from tfnb.notebook.views.passes import passes, passes_text_of

if TYPE_CHECKING:
    from tfnb.notebook.scenes.pass_scenes import PassPicture


def small_graph() -> Any:
    """Build a call, constants, equal nodes and an unused node."""
    with tf.Graph().as_default() as graph:

        @Defun(tf.float32, func_name="double")
        def double(v: Any) -> Any:
            return v * 2.0

        x = tf.placeholder(tf.float32, [4, 4], name="x")
        with tf.name_scope("layer"):
            scale = tf.multiply(tf.constant(2.0), tf.constant(3.0), name="scale")
            y = tf.identity(x + scale)
        tf.add(tf.square(y, name="one"), tf.square(y, name="two"), name="sum")
        tf.identity(double(x), name="doubled")
        tf.exp(x, name="unasked")
    return graph


@pytest.fixture(scope="module")
def pictures() -> list[PassPicture]:
    """Return the pictures of its passes."""
    graph = small_graph()
    with tf.Session(graph=graph) as session:
        fetches = [graph.get_tensor_by_name("sum:0"), graph.get_tensor_by_name("doubled:0")]
        return pass_pictures(session.optimization_stages(fetches, ["x:0"]))


def changes(pictures: list[PassPicture]) -> dict[str, set[str]]:
    """Return what happened to each original node, over all passes."""
    found: dict[str, set[str]] = {}
    for picture in pictures:
        for name, change in picture.before.items():
            found.setdefault(name, set()).add(change)
    return found


def test_each_kind_of_change_is_told(pictures: list[PassPicture]) -> None:
    """Changes are: removed, folded, merged, inlined, other inputs."""
    found = changes(pictures)
    assert "removed" in found["unasked"]
    assert "folded" in found["layer/scale"]
    assert "merged" in found["one"] | found["two"]
    assert any("inlined" in said for name, said in found.items() if name.startswith("double"))
    assert "rewired" in found["sum"]


def test_a_node_new_after_a_pass_is_marked_in_its_picture(pictures: list[PassPicture]) -> None:
    """Nodes of a function are inlined, nodes at the ends of the signature are added."""
    new = {
        name: change
        for picture in pictures
        for name, change in picture.after.items()
        if name not in picture.before
    }
    assert new["_arg_x_0_0"] == "added"
    assert any(change == "inlined" for change in new.values())
    assert set(new.values()) <= set(CHANGES)


def test_scenes_show_the_graph_as_it_was_and_became(pictures: list[PassPicture]) -> None:
    """Every node has its change and the report of the pass."""
    folding = next(one for one in pictures if "folded" in one.before.values())
    before = folding.scene(None, is_after=False)
    after = folding.scene(None, is_after=True)
    was = {node.name: node for node in before.nodes}
    now = {node.name: node for node in after.nodes}
    assert was["layer/scale"].op == "Mul"
    assert was["layer/scale"].change == "folded"
    assert now["layer/scale"].op == "Const"
    assert any("became a constant" in line for line in was["layer/scale"].touched)
    assert dict(now["layer/scale"].attrs)["value"].endswith("6.0")
    assert len(before.edges) >= len(before.nodes) // 2
    payload = before.payload()
    assert {payload["strings"][i] for i in payload["nodes"]["change"]} >= {"same", "folded"}


def test_as_text_it_is_a_list_of_passes(pictures: list[PassPicture]) -> None:
    """Passes are numbered, with sizes and changed nodes."""
    text = passes_text(pictures)
    assert text.startswith("1. lower_functional_ops (pre placement): ")
    assert "  - unasked (Exp) removed" in text
    assert "  ~ layer/scale (Mul) folded" in text or "layer/scale (Const) folded" in text
    assert passes_text([]) == "No pass changed anything."


def test_passes_over_the_body_of_a_function_name_it() -> None:
    """Pruned and folded nodes of a body have the body's shapes, not those of nodes outside."""

    @Defun(tf.float32, tf.float32, func_name="hostile\u202e")
    def body(x: Any, v: Any) -> Any:
        return v * (tf.constant(2.0) + tf.constant(3.0))

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [7], name="x")
        y = body(x, x, name="call")
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Session(graph=graph, config=config) as session:
        found = pass_pictures(session.optimization_stages(y, ["x:0"]))
    first = next(one for one in found if one.stage.function)
    assert first.before["x"] == "removed"
    assert "in function 'hostile" in first.where
    assert "\u202e" not in passes_text(found)
    arg = next(node for node in first.scene(graph, is_after=False).nodes if node.name == "x")
    assert [dtype for dtype, _ in arg.outputs] == ["float32"]
    assert all("7" not in shape for _, shape in arg.outputs)


def test_the_last_run_or_a_fetch_is_shown(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal shows text; an unknown name is a usage error."""
    loaded.user_ns["g"] = graph = small_graph()
    with tf.Session(graph=graph) as session:
        session.run("sum:0", {"x:0": [[1.0] * 4] * 4})
        assert "unasked (Exp) removed" in repr(passes(session=session))
        with graph.as_default():
            loaded.run_cell("%tfnb passes sum --text")
            assert "unasked (Exp) removed" in capsys.readouterr().out
            loaded.run_cell("%tfnb passes nothing")
            said = capsys.readouterr()
            assert "neither a variable" in said.out + said.err
            assert "unasked" in passes_text_of("sum")


def test_hostile_names_are_one_line() -> None:
    """A hostile name breaks no line, and is text in the scenes."""
    names = [HOSTILE, "a\nb' \u202e", "x" * 100_000]
    nodes = tuple(NodeSnapshot(name, "NoOp", "", (), {}, ()) for name in names)
    report = PassReport(Grouping.PRE_PLACEMENT, 0, "pruning", (f"'{HOSTILE}' is not needed",))
    pictures = pass_pictures([PassStage(report, "", nodes, nodes[:1])])
    text = passes_text(pictures)
    assert len(text.splitlines()) == 3
    assert len(text) < 1000
    scene = pictures[0].scene(None, is_after=False)
    assert sorted(node.name for node in scene.nodes) == sorted(names)
    assert {node.change for node in scene.nodes} == {"same", "removed"}
