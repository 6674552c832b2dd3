"""``tfnb convert MODEL TARGET.onnx``: what is written, printed and refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.command_line.main import FAILED, OK, UNREADABLE, USAGE, main

if TYPE_CHECKING:
    from pathlib import Path

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def saved_model(tmp_path: Path) -> Path:
    """y = w * x with a variable w of 3, and z = y + 1."""
    folder = tmp_path / "model"
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.get_variable("w", initializer=3.0)
        y = tf.multiply(w, x, name="y")
        z = tf.add(y, 1.0, name="z")
        tf.py_func(np.sin, [z], tf.float32, name="mine")
        sess.run(w.initializer)
        tf.saved_model.simple_save(sess, str(folder), {"input": x}, {"one": y, "two": z})
        tf.train.Saver().save(sess, str(tmp_path / "point"))
    return folder


def _names(path: Path) -> tuple[list[str], list[str]]:
    graph = onnx.load(path).graph
    return [one.name for one in graph.input], [one.name for one in graph.output]


def test_a_saved_model_is_converted_and_compared(
    saved_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The names are the keys of its signature."""
    target = tmp_path / "model.onnx"

    assert main(["convert", str(saved_model), str(target), "--check"]) == OK

    assert _names(target) == (["input"], ["one", "two"])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["one: largest difference 0", "two: largest difference 0"]


def test_inputs_outputs_and_opset_are_chosen(saved_model: Path, tmp_path: Path) -> None:
    """By keys or by names of tensors, separated by commas."""
    target = tmp_path / "model.onnx"
    chosen = ["--inputs", "y:0", "--outputs", "two,z:0", "--opset", "20"]

    assert main(["convert", str(saved_model), str(target), *chosen]) == OK

    assert _names(target) == (["y:0"], ["two", "z:0"])
    assert onnx.load(target).opset_import[0].version == 20


def test_a_checkpoint_with_its_meta_graph_is_converted(
    saved_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The variables have the checkpoint's values."""
    target = tmp_path / "model.onnx"
    assert saved_model.exists()
    arguments = ["convert", str(tmp_path / "point"), str(target), "--outputs", "z", "--check"]

    assert main(arguments) == OK

    assert _names(target) == (["x"], ["z"])
    assert "z: largest difference 0" in capsys.readouterr().out


def test_what_cannot_be_converted_is_listed(
    saved_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    target = tmp_path / "model.onnx"

    assert main(["convert", str(saved_model), str(target), "--outputs", "mine"]) == FAILED

    text = capsys.readouterr().err
    assert "PyFunc: 'mine': it calls a Python function of this process" in text
    assert not target.exists()


def test_a_graph_with_variables_needs_a_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the option."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.multiply(x, tf.get_variable("w", initializer=1.0), name="y")
        source = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    target = tmp_path / "m.onnx"

    assert main(["convert", str(source), str(target), "--outputs", "y"]) == FAILED
    assert "--checkpoint PREFIX" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["missing", "a.onnx"], UNREADABLE, "missing"),
        (["model", "a.onnx", "--opset", "5"], FAILED, "from 17 to 21"),
        (["model", "a.onnx", "--outputs", "nothing"], UNREADABLE, "no tensor 'nothing'"),
        (["model", "a.pb", "--check"], USAGE, "only for a target that ends with .onnx"),
        (["model", "a.tflite"], USAGE, ".onnx"),
    ],
)
def test_mistakes_have_exit_codes(
    saved_model: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    """Each says what is wrong."""
    source, target, *more = arguments
    folder = saved_model.parent

    assert main(["convert", str(folder / source), str(folder / target), *more]) == code
    assert words in capsys.readouterr().err
