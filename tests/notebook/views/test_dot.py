"""Graphs in Graphviz's language."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.__main__ import main
from tfnb.notebook import dot, export
from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.scenes.scene_svg import COLOURS
from tfnb.notebook.views.dot import MAX_NODES, digraph
from tfnb.notebook.views.targets import TargetError, find_target
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from pathlib import Path


def test_a_graph_becomes_text_for_dot(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Scopes are boxes, control edges are dashed; both magics print the same."""
    with tf.name_scope("layer"):
        x = tf.identity(tf.constant(1.0, name="c"), name="x")
    with tf.control_dependencies([x]):
        tf.no_op("done")
    loaded.run_cell("%tfnb graph --dot").raise_error()
    text = capsys.readouterr().out
    loaded.run_cell("%tfnb dot").raise_error()
    assert capsys.readouterr().out == text
    assert text.startswith('digraph "graph" {')
    assert "subgraph cluster_1 {" in text
    assert "label=layer" in text
    assert 'label="x\\nIdentity"' in text
    assert text.count("style=dashed") == 1
    assert text.count("style=solid") == 1


def test_a_script_gets_a_digraph_that_prints_its_text(graph: Any) -> None:
    """It can be changed and written like any other; nothing is drawn to show it."""
    import graphviz

    tf.no_op("alone")
    found = dot(graph)
    assert isinstance(found, graphviz.Digraph)
    assert repr(found) == found.source.rstrip()
    assert found._repr_mimebundle_() == {"text/plain": repr(found)}
    with found.subgraph(name="cluster_mine") as inner:
        inner.node("mine")
    assert "mine" in found.source
    other = found.copy()
    assert repr(other) == repr(found)
    other.node("only_there")
    assert "only_there" not in found.source


def test_colours_and_shapes_are_those_of_the_views_with_a_legend(graph: Any) -> None:
    """Kinds of ops differ in outline, too."""
    tf.add(tf.placeholder(tf.float32, [], name="x"), tf.constant(1.0, name="one"), name="y")
    text = str(dot())
    assert f'fillcolor="{COLOURS["input"][0]}"' in text
    assert "shape=parallelogram" in text
    assert "shape=ellipse" in text
    assert 'legend_math [label="math (1)"' in text
    assert "legend" not in str(dot(legend=False))


def test_a_scope_is_drawn_alone(graph: Any) -> None:
    """The boxes around the scope are drawn, too."""
    with tf.name_scope("one"):
        tf.constant(1.0, name="in_one")
    with tf.name_scope("two"):
        tf.constant(1.0, name="in_two")
    assert "in_one" in str(dot("one"))
    assert "in_two" not in str(dot("one"))
    assert "in_two" in str(dot())


def test_large_scopes_are_closed_until_the_graph_fits_a_page(graph: Any) -> None:
    """A closed scope is one box, and the edges between two boxes are one."""
    found = []
    for scope, size in (("large", 90), ("small", 3)):
        with tf.name_scope(scope):
            found.append([tf.constant(float(i), name=f"c{i}") for i in range(size)])
    tf.add_n([*found[0][:2], *found[1]], name="all")
    text = str(dot(most=20))
    assert 'label="large\\n' in text
    assert "nodes" in text
    assert 'label="c2\\nConst"' in text
    assert 'label="×2"' in text
    assert "closed scope" in text
    assert str(dot(depth=0)).count("peripheries=2") == 3  # two scopes, and the legend
    assert "peripheries=2" not in str(dot(depth=9))


def test_frames_of_loops_are_clusters(graph: Any) -> None:
    """Nested loops are nested, and the way back of an iteration does not order the layout."""

    def body(i: Any) -> Any:
        inner = tf.while_loop(lambda j: j < 2, lambda j: j + 1, [0], name="inner")
        return i + inner

    tf.while_loop(lambda i: i < 6, body, [0], name="outer")
    text = str(dot(by="frame"))
    clusters = [line for line in text.splitlines() if "label=" in line and "dashed" in line]
    assert any('label="outer/while_context"' in line for line in clusters)
    assert any('inner/while_context"' in line for line in clusters)
    assert text.index("outer/while_context") < text.index("inner/while_context")
    assert text.count("constraint=false") == 2


def test_partitions_are_clusters_with_what_is_sent_between_them(graph: Any) -> None:
    """Send and Recv are joined by an edge of their own colour."""
    with tf.device("/cpu:0"):
        x = tf.constant(1.0, name="x")
    with tf.device("/cpu:1"):
        y = tf.square(x, name="y")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(y)
        text = str(dot(session, view="partitions"))
        placed = str(dot(session, view="placement"))
    assert 'label="CPU:0"' in text
    assert 'label="CPU:1"' in text
    assert text.count("penwidth=1.6") == text.count('_Recv"') > 0
    assert 'label="CPU:1"' in placed
    assert "_Recv" not in placed


HOSTILE = (
    "<i>", 'a"b', "c\\N", "\\G\\l", "d:e:f", "n0:w", "g]; evil [label=x", "h}", "-->", "<b>x</b>",
    "\\", '\\"', "nul\x00", "two\nlines", "/* c */ // #", "&lt;&#65;", "\u202eltr", "y" * 100_000,
    " ", "",
)  # fmt: skip


@pytest.mark.parametrize("by", ["scope", "device", "frame"])
def test_names_stay_text(tmp_path: Path, by: str) -> None:
    """Names of strangers are no markup, escapes, ports or statements of Graphviz."""
    graph_def = tf.GraphDef()
    for name in HOSTILE:
        node = graph_def.node.add(name=f"{name}/{name}", op=f"<{name}>", device=name)
        node.attr["frame_name"].s = name.encode()
    (tmp_path / "<g>.pb").write_bytes(graph_def.SerializeToString())
    text = str(dot(tmp_path / "<g>.pb", by=by))
    outside = strings_removed(text)
    assert not set("<>&;:\\") & set(outside.replace("->", ""))
    assert outside.count("{") == outside.count("}")
    assert "evil" not in outside
    # Outside of strings, only the ids and words of this file are left.
    assert re.findall(r"\bn\d+ \[", outside)
    if shutil.which("dot"):
        drawn = dot_picture(tmp_path / "<g>.pb", by).pipe(format="svg").decode()
        assert "&lt;b&gt;x&lt;/b&gt;" in drawn
        assert "&amp;lt;&amp;#65;" in drawn
        assert "<i>" not in drawn


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_the_nodes_with_their_names(tmp_path: Path) -> None:
    """Each node of a file with hostile names is one node, and its label is its name."""
    names = [name for name in HOSTILE if name and "/" not in name]
    graph_def = graph_pb2.GraphDef()
    for name in names:
        graph_def.node.add(name=name, op="NoOp")
    (tmp_path / "g.pb").write_bytes(graph_def.SerializeToString())
    found = json.loads(dot_picture(tmp_path / "g.pb", "device").pipe(format="json"))
    labels = [one["label"] for one in found["objects"] if re.match(r"n\d+$", one["name"])]
    told = [label.removesuffix("\\nNoOp").replace("\\\\", "\\") for label in labels]
    shown = [name if len(name) < 9999 else cut_middle(name, 60) for name in map(one_line, names)]
    assert [name.replace("&amp;", "&") for name in told] == shown


def strings_removed(text: str) -> str:
    """Return what is outside of quoted strings, as Graphviz reads it."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.DOTALL)


def dot_picture(path: Path, by: str) -> Any:
    """Return the picture of a file."""
    return digraph(find_target(path).scene(), by=by)


def test_a_large_graph_is_refused(graph: Any) -> None:
    """The error suggests another view."""
    for _ in range(MAX_NODES + 1):
        tf.no_op()
    with pytest.raises(TargetError, match="at most 1,000 boxes here, and these are 1,001: name a"):
        dot(by="device")
    with pytest.raises(TargetError, match="There is no view 'tree' for dot"):
        dot(view="tree")
    with pytest.raises(TargetError, match="not grouped by 'colour'"):
        dot(by="colour")


def test_without_the_program_a_cell_shows_the_views_own_picture(
    graph: Any, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text beside it says what is missing, and the source is there."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    tf.no_op("alone")
    found = dot()
    data = shell.display_formatter.format(found)[0]
    assert data["image/svg+xml"].startswith("<svg")
    assert "The program `dot` is not on the PATH" in data["text/plain"]
    assert "alone" in found.source
    with pytest.raises(TargetError, match=r"Without it, write \.svg"):
        export("x.pdf")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_a_page_is_written_as_pdf(graph: Any, tmp_path: Path) -> None:
    """The program draws it."""
    tf.no_op("alone")
    assert export(tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")


def test_the_command_prints_a_file_for_dot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``tfnb summary FILE --dot`` needs no program."""
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="alone")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    assert main(["summary", path, "--dot"]) == 0
    text = capsys.readouterr().out
    assert text.startswith('digraph "graph" {')
    assert "alone" in text
