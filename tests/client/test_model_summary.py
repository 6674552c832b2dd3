"""The summary of a model's inputs and outputs, for every form of model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.model_file import ModelFileError
from tfnb.client.model_summary import example_call, summary

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def graph() -> tf.Graph:
    """Make a graph with an input, a result, a variable, and nodes that are not results."""
    with tf.Graph().as_default() as found:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.Variable(tf.ones([3, 2]), name="w", use_resource=False)
        tf.constant(1.0, name="alone")
        tf.identity(tf.constant(2.0), name="apart")
        tf.matmul(x, w, name="y")
    return found


def test_it_tells_of_a_graph(graph: tf.Graph) -> None:
    """A summary has inputs, variables, outputs in the order of likelihood, and an example."""
    text = repr(tf.summary(graph))

    assert "x float32 (?, 3)" in text
    assert "w float32 (3, 2)" in text
    found = summary(graph).found
    assert found["outputs"][0] == "y"
    assert "alone" not in found["outputs"]
    assert text.splitlines()[-1] == "session.run('y:0', {'x:0': np.zeros((1, 3), 'float32')})"


def test_the_example_runs(graph: tf.Graph) -> None:
    """The example is Python code that runs."""
    with tf.Session(graph=graph) as session:
        session.run("w/Assign")
        call = example_call(summary(graph).found)
        assert eval(call, {"session": session, "np": np}).shape == (1, 2)


def test_it_tells_of_files_and_checkpoints(graph: tf.Graph, tmp_path: Path) -> None:
    """Files are recognized by their contents, not by their names."""
    tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "model", as_text=False)
    tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "text")
    with tf.Session(graph=graph) as session, graph.as_default():
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "weights"))

    assert ": GraphDef, " in repr(tf.summary(tmp_path / "model"))
    assert ": GraphDef, " in repr(tf.summary(tmp_path / "text"))
    assert ": MetaGraphDef, " in repr(tf.summary(f"{prefix}.meta"))
    assert "w float32 (3, 2)" in repr(tf.summary(prefix))
    assert "checkpoint" in repr(tf.summary(prefix))


def test_effects_are_told_before_anything_runs() -> None:
    """The summary lists nodes that would access files, and what permits it."""
    with tf.Graph().as_default() as graph:
        tf.read_file("/etc/hostname", name="peek")
    text = repr(tf.summary(graph.as_graph_def()))

    assert "nodes that need tfnb.safety.allow('read') (1)" in text
    assert "peek" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"\xff\xfe junk", "is no GraphDef"),
    ],
)
def test_what_is_no_model_is_said(tmp_path: Path, content: bytes, says: str) -> None:
    """The error says what the file is and, if known, what to do."""
    path = tmp_path / "model.pb"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=says):
        tf.summary(path)


def test_what_trains_and_saves_is_not_what_a_model_gives() -> None:
    """The loss comes before gradients and nodes of a saver."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        loss = tf.reduce_mean(tf.layers.dense(x, 1), name="loss")
        tf.gradients(loss, x)
        tf.train.AdamOptimizer().minimize(loss)
        tf.train.Saver()
    assert summary(graph).found["outputs"][0] == "loss"


def test_tf_summary_is_still_tensorflows_module() -> None:
    """tf.summary has TensorFlow's functions; calling another module raises TypeError."""
    module: Any = tf.nn
    assert callable(tf.summary.scalar)
    with pytest.raises(TypeError, match="is a module and cannot be called"):
        module("x")


def test_hostile_names_are_cut_out_of_a_shell_line(tmp_path: Path) -> None:
    """The proposed shell line is one line, and names are quoted."""
    graph_def = tf.GraphDef()
    node = graph_def.node.add()
    node.name, node.op = "x; rm -rf ~", "Placeholder"
    (tmp_path / "m.pb").write_bytes(graph_def.SerializeToString())
    line = example_call(summary(tmp_path / "m.pb").found)
    assert line.endswith("--fetch 'x; rm -rf ~'")
