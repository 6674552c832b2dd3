"""``tfnb.Model``: a model from a file as a function of arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.model_file import ModelFileError


@pytest.fixture
def graph_file(tmp_path: Path) -> str:
    """A graph with two inputs and two outputs."""
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [None, 2], name="a")
        b = tf.placeholder(tf.float32, [None, 2], name="b")
        tf.add(a, b, name="sum")
        tf.multiply(a, 2.0, name="double")
        return str(tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False))


@pytest.fixture
def trained(tmp_path: Path) -> dict[str, str]:
    """One graph with a variable, in each kind of file."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.get_variable("w", initializer=3.0), name="y")
        sess.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(sess, str(tmp_path / "c" / "model"))
        tf.saved_model.simple_save(sess, str(tmp_path / "s"), {"in": x}, {"out": y})
        tf.train.write_graph(sess.graph, str(tmp_path), "g.pb", as_text=False)
    return {
        "prefix": prefix,
        "folder": str(tmp_path / "c"),
        "saved_model": str(tmp_path / "s"),
        "graph": str(tmp_path / "g.pb"),
    }


@pytest.mark.parametrize("kind", ["prefix", "folder", "saved_model"])
def test_a_model_with_variables_is_a_function_of_arrays(trained: dict[str, str], kind: str) -> None:
    """A checkpoint brings its graph in the file beside it."""
    with tf.Model(trained[kind]) as model:
        np.testing.assert_array_equal(model([1.0, 2.0]), [3.0, 6.0])


def test_a_graph_takes_a_checkpoint(trained: dict[str, str]) -> None:
    """The values of variables come from another file than the graph."""
    with tf.Model(trained["graph"], checkpoint=trained["prefix"]) as model:
        assert model([2.0]).tolist() == [6.0]


def test_a_checkpoint_without_a_graph_says_what_to_give(trained: dict[str, str]) -> None:
    """The line to type is in the error."""
    Path(f"{trained['prefix']}.meta").unlink()
    with pytest.raises(ModelFileError, match=r"Model\(graph, checkpoint="):
        tf.Model(trained["prefix"])


def test_inputs_are_those_that_the_outputs_need(graph_file: str) -> None:
    """Without a signature the placeholders before the outputs are the inputs."""
    assert list(tf.Model(graph_file, outputs="double").inputs) == ["a"]
    assert list(tf.Model(graph_file, outputs="sum").inputs) == ["a", "b"]


def test_several_outputs_come_by_their_names(graph_file: str) -> None:
    """Names may be chosen."""
    with tf.Model(graph_file, inputs={"x": "a", "y": "b:0"}, outputs=["sum", "double"]) as model:
        found = model(np.ones((1, 2)), y=np.zeros((1, 2)))

    assert {key: value.tolist() for key, value in found.items()} == {
        "sum": [[1.0, 1.0]],
        "double": [[2.0, 2.0]],
    }


def test_values_that_are_missing_or_given_twice_are_refused(graph_file: str) -> None:
    """The error names the inputs."""
    model = tf.Model(graph_file, outputs="sum")
    with pytest.raises(TypeError, match="needs a value for b"):
        model(np.ones((1, 2)))
    with pytest.raises(TypeError, match="'a' is given twice"):
        model(np.ones((1, 2)), a=1)
    with pytest.raises(TypeError, match="'c' is not an input"):
        model(c=1)


def test_a_part_that_is_missing_is_named(graph_file: str) -> None:
    """A tensor that the graph lacks is an error at once."""
    with pytest.raises(ModelFileError, match="no tensor 'z'"):
        tf.Model(graph_file, outputs="z")


def test_shapes_of_outputs_follow_those_of_inputs(graph_file: str) -> None:
    """Nothing runs for it."""
    model = tf.Model(graph_file, outputs="sum")
    assert model.shapes_for({"a": [4, 2]})["sum"].as_list() == [4, 2]
    with pytest.raises(ValueError, match=r"The input a has shape \(\?, 2\)"):
        model.shapes_for({"a": [4, 3]})


def test_files_that_changed_are_not_sent(graph_file: str) -> None:
    """What is sent is the model that was read."""
    model = tf.Model(graph_file)
    assert list(model.contents()) == ["graph/g.pb"]
    Path(graph_file).write_bytes(b"")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Read it again"):
        model.contents()


def test_effects_need_permission(tmp_path: Path) -> None:
    """The graph is one of a stranger until its owner allows more."""
    secret = tmp_path / "secret"
    secret.write_text("s")
    with tf.Graph().as_default() as graph:
        tf.identity(tf.stack([tf.read_file(str(secret))]), name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
        x = tf.placeholder(tf.float32, [None], name="x")
        with tf.control_dependencies([x]):
            tf.identity(tf.read_file(str(secret)), name="z")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    model = tf.Model(path, outputs="z")
    with pytest.raises(tf.errors.PermissionDeniedError):
        model([1.0])
    tf.safety.allow("read", under=tmp_path, graph=model.graph)
    assert model([1.0]) == b"s"
