"""Graphs in Graphviz's language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.notebook import dot
from tfnb.notebook.views.dot import MAX_NODES
from tfnb.notebook.views.targets import TargetError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_graph_becomes_text_for_dot(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Scopes are boxes, control edges are dashed."""
    with tf.name_scope("layer"):
        x = tf.identity(tf.constant(1.0, name="c"), name="x")
    with tf.control_dependencies([x]):
        tf.no_op("done")
    loaded.run_cell("%tfnb graph --dot").raise_error()
    text = capsys.readouterr().out
    assert text.startswith('digraph "graph" {')
    assert "subgraph cluster_1 {\n\t\tcolor=gray60 label=layer" in text
    assert 'label="x\\nIdentity"' in text
    assert text.count("style=dashed") == 1
    assert text.count("style=solid") == 1


def test_a_scope_is_drawn_alone(graph: Any) -> None:
    """The boxes around the scope are drawn, too."""
    with tf.name_scope("one"):
        tf.constant(1.0, name="in_one")
    with tf.name_scope("two"):
        tf.constant(1.0, name="in_two")
    assert "in_one" in str(dot("one"))
    assert "in_two" not in str(dot("one"))
    assert "in_two" in str(dot())


def test_names_stay_text(tmp_path: Path) -> None:
    """Hostile names are neither markup nor escapes of Graphviz."""
    graph_def = tf.GraphDef()
    for name in ("<i>/x", 'a"b', "c\\N"):
        graph_def.node.add(name=name, op="NoOp")
    path = tmp_path / "g.pb"
    path.write_bytes(graph_def.SerializeToString())
    source = str(dot(path))
    assert 'label="<i>"' in source
    assert 'label="a\\"b\\nNoOp"' in source
    assert 'label="c\\\\N\\nNoOp"' in source


def test_a_large_graph_is_refused(graph: Any) -> None:
    """The error suggests another view."""
    for _ in range(MAX_NODES + 1):
        tf.no_op()
    with pytest.raises(TargetError, match="at most 1,000 nodes here, and these are 1,001: name a"):
        dot()


def test_without_the_program_it_says_so(
    graph: Any, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the missing program."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    tf.no_op()
    with pytest.raises(TargetError, match="The program `dot` is not on the PATH"):
        dot()
