"""`tensorflow.python.tools.freeze_graph`: a graph and its checkpoint as one file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def model(tmp_path: Path) -> dict[str, str]:
    """Write a model in all forms; return the paths."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        v = tf.get_variable("v", initializer=3.0)
        step = tf.train.get_or_create_global_step()
        y = tf.multiply(x, v, name="y")
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        checkpoint = saver.save(session, str(tmp_path / "model"), step)
        tf.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
        tf.train.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"y": y})
        (tmp_path / "saver.pb").write_bytes(saver.saver_def.SerializeToString())
    names = ("graph.pbtxt", "graph.pb", "saved", "saver.pb", "out.pb")
    return {"checkpoint": checkpoint} | {name: str(tmp_path / name) for name in names}


@pytest.mark.parametrize("form", ["text", "binary", "saver", "meta graph", "saved model"])
def test_variables_become_constants(model: dict[str, str], form: str) -> None:
    """From each form of a model; what the output does not need is gone."""
    options: dict[str, Any] = {}
    if form == "meta graph":
        options["input_meta_graph"] = model["checkpoint"] + ".meta"
    if form == "saved model":
        options["input_saved_model_dir"] = model["saved"]
    is_text = form == "text"
    _freeze()(
        model["graph.pbtxt" if is_text else "graph.pb"],
        model["saver.pb"] if form == "saver" else "",
        not is_text, model["checkpoint"], "y", None, None, model["out.pb"], True, "", **options,
    )  # fmt: skip
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(tf.gfile.GFile(model["out.pb"], "rb").read())
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        assert session.run("y:0", {"x:0": 2.0}) == 6.0
    assert not any("global_step" in node.name for node in graph_def.node)


def test_a_checkpoint_that_is_not_there_is_named(model: dict[str, str]) -> None:
    """Nothing is written."""
    with pytest.raises(ValueError, match="nowhere"):
        _freeze()(model["graph.pb"], "", True, "nowhere", "y", None, None, model["out.pb"], True,
                  "")  # fmt: skip
    assert not tf.gfile.Exists(model["out.pb"])


def _freeze() -> Any:
    return importlib.import_module("tensorflow.python.tools.freeze_graph").freeze_graph
