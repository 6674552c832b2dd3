"""``tfnb.onnx.export``: what it takes, what it writes, and what it refuses."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.onnx_export.agreement import agree, ops_of
from tfnb.onnx_export.check import run_in_onnxruntime
from tfnb.onnx_export.model_proto import write_model
from tfnb.onnx_export.writing.problems import ConversionError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

X = np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32)


@pytest.fixture
def graph() -> Any:
    """A graph with an input x and an output y = x @ w + 1."""
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        tf.add(tf.matmul(x, w), 1.0, name="y")
    return made


def _refusal(build: Any, **arguments: Any) -> ConversionError:
    with tf.Graph().as_default() as made:
        output = build()
    with pytest.raises(ConversionError) as caught:
        tf.onnx.export(made, outputs=[output], **arguments)
    return caught.value


# -- what is written


def test_the_model_passes_the_checker_with_symbolic_shapes(graph):
    """Unknown sizes have names, known ones are numbers."""
    model = tf.onnx.export(graph, outputs=["y"])

    onnx.checker.check_model(model, full_check=True)
    [given], [made] = model.graph.input, model.graph.output
    assert (given.name, made.name) == ("x", "y")
    sizes = [dim.dim_param or dim.dim_value for dim in given.type.tensor_type.shape.dim]
    assert sizes == ["x_0", 2]
    assert model.opset_import[0].version == 18
    assert model.producer_name == "tfnb"


def test_any_tensor_can_be_an_input(graph):
    """What is before an input is left out."""
    model = tf.onnx.export(graph, {"middle": "MatMul:0"}, {"end": "y"})

    assert ops_of(model) == ["Add", "Identity"]
    assert run_in_onnxruntime(model, {"middle": X})["end"] == pytest.approx(X + 1)


def test_an_input_can_be_an_output_and_be_unused(graph):
    """Both stay in the file."""
    model = tf.onnx.export(graph, {"a": "x", "b": "MatMul"}, {"c": "x", "d": "MatMul"})

    got = run_in_onnxruntime(model, {"a": X, "b": X * 2})
    assert (got["c"] == X).all()
    assert (got["d"] == X * 2).all()


def test_constants_are_folded_first():
    """Nothing is left of what does not depend on inputs."""

    def build(x):
        return x + tf.reduce_sum(tf.exp(tf.constant([1.0, 2.0])) * 3)

    assert ops_of(agree(build, X)) == ["Add", "Identity"]


def test_transposes_between_convolutions_vanish():
    """One remains at the beginning, one at the end."""

    def build(x):
        w = tf.constant(np.random.default_rng(1).standard_normal((3, 3, 4, 4)).astype(np.float32))
        for _ in range(3):
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), [1.0, 2, 3, 4]))
            x = tf.nn.max_pool(tf.concat([x, x], 2) * 0.5, 2, 2, "SAME")
        return x

    values = np.random.default_rng(0).standard_normal((1, 8, 8, 4)).astype(np.float32)
    assert ops_of(agree(build, values)).count("Transpose") == 2


@pytest.mark.parametrize("opset", [17, 18, 19, 20, 21])
def test_each_opset_can_be_written(graph, opset):
    """The checker knows the form of each version."""
    model = tf.onnx.export(graph, outputs=["y"], opset=opset)

    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == opset


@pytest.mark.parametrize("name", ["", "a b", "x:0", "été", "../x", "\udc80", "x" * 300, '"'])
def test_hostile_names_are_names(graph, name):
    """Names of inputs and outputs may be any text."""
    model = tf.onnx.export(graph, {name: "x"}, {name: "y"})

    [given] = model.graph.input
    [made] = run_in_onnxruntime(model, {given.name: X}).values()
    assert made.shape == (3, 2)


def test_variables_of_a_session_become_constants():
    """Reference and resource variables, with their present values."""

    def build(x):
        one = tf.get_variable("one", initializer=np.float32([1, 2]), use_resource=False)
        other = tf.get_variable("other", initializer=np.float32([3, 4]), use_resource=True)
        return x * one + other

    agree(build, X)


def test_large_constants_go_to_a_file_beside_the_model(graph, tmp_path):
    """The model refers to it by its name."""
    path = tmp_path / "model.onnx"
    with graph.as_default():
        big = tf.constant(np.arange(2048, dtype=np.float32).reshape(2, 1024))
        tf.matmul(graph.get_tensor_by_name("x:0"), big, name="z")
    write_model(tf.onnx.export(graph, outputs=["z"]), str(path), largest=1000)

    assert sorted(one.name for one in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert run_in_onnxruntime(str(path), {"x": X})["z"].shape == (3, 1024)


def test_a_written_file_replaces_an_older_one(graph, tmp_path):
    """Only the file itself is in the folder afterwards."""
    path = tmp_path / "model.onnx"
    path.write_text("older")
    tf.onnx.export(graph, outputs=["y"], path=path)

    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]
    assert onnx.load(path).graph.output[0].name == "y"


# -- what is refused


def test_a_file_that_cannot_be_written_is_named_before_the_work_begins(graph, tmp_path):
    """The error has the name that was given, and nothing is left behind."""
    phases = []

    def phase(text):
        phases.append(text)
        return contextlib.nullcontext()

    (tmp_path / "folder.onnx").mkdir()
    for name, kind in {
        "missing/m.onnx": tf.errors.NotFoundError,
        "folder.onnx": tf.errors.FailedPreconditionError,
    }.items():
        with pytest.raises(kind) as caught:
            tf.onnx.export(graph, outputs=["y"], path=tmp_path / name, phase=phase)
        assert caught.value.message.startswith(f"{tmp_path / name}; ")
    assert phases == []
    assert [one.name for one in tmp_path.iterdir()] == ["folder.onnx"]


def test_outputs_of_loops_over_tensor_arrays_have_the_shapes_of_the_graph():
    """The checker of onnx asks for the shape of each output."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.identity(tf.map_fn(lambda row: row * 2.0, x), name="y")
    model = tf.onnx.export(graph, outputs={"y": "y"})

    onnx.checker.check_model(model, full_check=True)
    [made] = model.graph.output
    sizes = [dim.dim_param or dim.dim_value for dim in made.type.tensor_type.shape.dim]
    assert sizes == ["y_0", 3]


def test_refused_nodes_are_listed_and_nothing_is_written(tmp_path):
    """Each with its op and its reason; equal ones are joined."""
    path = tmp_path / "model.onnx"

    def build():
        x = tf.placeholder(tf.float32, [4], name="x")
        one = tf.py_func(lambda a: a, [x], tf.float32, name="mine")
        two = tf.zeta(x, x, name="first") + tf.zeta(x, x + 1, name="second")
        return one + two

    error = _refusal(build, path=path)

    assert {(one.node, one.op) for one in error.problems} == {
        ("mine", "PyFunc"),
        ("first", "Zeta"),
        ("second", "Zeta"),
    }
    assert "3 nodes cannot be converted to ONNX; nothing is written." in error.message
    assert "PyFunc: 'mine': it calls a Python function of this process" in error.message
    assert "Zeta: 'first', 'second': there is no converter for this op" in error.message
    assert not path.exists()


def test_a_variable_without_a_value_is_refused():
    """A graph alone has no values."""
    error = _refusal(lambda: tf.get_variable("v", [2]) * 2)

    assert "give a session, a SavedModel or a checkpoint" in error.message


def test_a_change_of_a_variable_is_refused():
    """The node that changes it is named."""
    with tf.Graph().as_default() as made:
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
        more = tf.assign_add(v, [1.0, 1.0], name="more")
        with tf.Session(graph=made) as session:
            session.run(v.initializer)
            with pytest.raises(ConversionError, match="AssignAdd: 'more': it changes a variable"):
                tf.onnx.export(session, outputs=[more])


def test_a_table_is_refused():
    """Tables hold state."""

    def build():
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4], tf.int64, tf.int64), -1
        )
        return table.lookup(tf.placeholder(tf.int64, [2]))

    assert "ONNX has no tables" in _refusal(build).message


def test_an_unknown_op_is_refused(tmp_path):
    """The file that has it is not read."""
    graph_def = tf.GraphDef()
    graph_def.node.add(name="strange", op="StrangeOp")
    path = tmp_path / "strange.pb"
    path.write_bytes(graph_def.SerializeToString())
    with pytest.raises(tf.errors.NotFoundError, match="StrangeOp"):
        tf.onnx.export(tf.Model(path, inputs=["a"], outputs=["strange"]))


def test_an_output_of_a_type_that_onnx_lacks_is_refused():
    """Complex numbers, whose parts can be outputs."""
    error = _refusal(lambda: tf.complex(tf.placeholder(tf.float32, [2]), 1.0) * 2)

    assert "an output of complex numbers; take their parts" in error.message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"outputs": ["nothing"]}, "no tensor 'nothing'"),
        ({"outputs": []}, "Name an output"),
        ({}, "Name the outputs"),
        ({"outputs": ["y"], "opset": 3}, "from 17 to 21"),
        ({"outputs": ["y"], "inputs": ["x", "x:0"]}, "named twice"),
    ],
)
def test_bad_arguments_say_what_is_wrong(graph, arguments, words):
    """As InvalidArgumentError."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.onnx.export(graph, **arguments)


def test_a_tensor_of_another_graph_is_refused(graph):
    """It has no values here."""
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="another graph"):
        tf.onnx.export(graph, outputs=[other])


def test_tfnb_is_imported_without_onnx():
    """It is imported on first use."""
    code = "import sys, tfnb; tfnb.onnx.export; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_is_checked_with_or_without_its_file(graph, tmp_path):
    """The largest difference of each output, for the message that export returns or its file."""
    source = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    with tf.load(source) as model:
        made = tf.onnx.export(model, path=tmp_path / "m.onnx")
        for one in (made, tmp_path / "m.onnx", str(tmp_path / "m.onnx")):
            assert tf.onnx.check(one, model)["y"] < 1e-6
