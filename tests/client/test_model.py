"""``tfnb.Model``: a model from a file as a function of arrays."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.trained_model import trained_model
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
    return trained_model(tmp_path)


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


# -- load, signatures, errors, rows


@pytest.fixture
def served(tmp_path: Path) -> str:
    """A SavedModel with three signatures, one of them of two inputs."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        n = tf.placeholder(tf.int32, [None], name="n")
        text = tf.placeholder(tf.string, [None], name="text")
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
        y = tf.matmul(x, w, name="y")
        scaled = y * tf.cast(n, tf.float32)[:, None]
        sess.run(tf.global_variables_initializer())
        signature = tf.saved_model.predict_signature_def
        builder = tf.saved_model.Builder(str(tmp_path / "m"))
        builder.add_meta_graph_and_variables(
            sess,
            [tf.saved_model.tag_constants.SERVING],
            {
                "serving_default": signature({"x": x}, {"y": y}),
                "scaled": signature({"x": x, "n": n}, {"y": y, "scaled": scaled}),
                "joined": signature({"text": text}, {"joined": tf.string_join([text, text])}),
            },
        )
        builder.save()
    return str(tmp_path / "m")


@pytest.mark.parametrize("kind", ["prefix", "folder", "saved_model"])
def test_load_finds_out_what_a_file_is(trained: dict[str, str], kind: str) -> None:
    """The kind is in the contents, not in an argument."""
    with tf.load(trained[kind]) as model:
        assert isinstance(model, tf.Model)
        np.testing.assert_array_equal(model([1.0]), [3.0])


def test_load_reads_text(tmp_path: Path) -> None:
    """A GraphDef in text form is a model, too."""
    with tf.Graph().as_default() as graph:
        tf.square(tf.placeholder(tf.float32, [None], name="x"), name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pbtxt")
    with tf.load(path) as model:
        assert model([3.0]).tolist() == [9.0]


def test_signatures_are_functions_of_one_session(served: str) -> None:
    """Each signature has its own inputs and outputs, with types and shapes."""
    with tf.load(served) as model:
        assert list(model.signatures) == ["joined", "scaled", "serving_default"]
        scaled = model.signatures["scaled"]
        assert {key: str(one) for key, one in scaled.inputs.items()} == {
            "n": "int32 (?,)",
            "x": "float32 (?, 2)",
        }
        assert model([[1.0, 1.0]]).tolist() == [[3.0]]
        assert scaled(x=[[1.0, 1.0]], n=[2])["scaled"].tolist() == [[6.0]]
        assert model.signatures["joined"](["ab"]).tolist() == [b"abab"]
        assert model.key == "serving_default"
        session = model.session
        assert session is model.session
        assert session.run("y:0", {"x:0": [[0.0, 1.0]]}).tolist() == [[2.0]]


def test_a_closed_model_opens_a_new_session(served: str) -> None:
    """Functions of signatures follow."""
    model = tf.load(served)
    function = model.signatures["scaled"]
    first = model.session
    function(x=[[1.0, 1.0]], n=[1])
    model.close()
    assert first.is_closed
    assert function(x=[[1.0, 1.0]], n=[1])["y"].tolist() == [[3.0]]
    model.close()


def test_an_editor_sees_the_names_of_inputs(served: str) -> None:
    """The signature of a call has one parameter for each input, with its type and shape."""
    model = tf.load(served)
    assert str(inspect.signature(model)) == "(x: 'float32 (?, 2)')"
    assert list(inspect.signature(model.signatures["scaled"]).parameters) == ["n", "x"]
    assert "path" in inspect.signature(tf.Model).parameters


def test_ipython_completes_the_names_of_inputs(served: str) -> None:
    """A notebook offers the keys of the inputs as keyword arguments."""
    completer = pytest.importorskip("IPython.core.completer")
    shell_completer = completer.IPCompleter(
        namespace={"model": tf.load(served).signatures["scaled"]}
    )
    shell_completer.text_until_cursor = "model("
    assert set(shell_completer.python_func_kw_matches("")) == {"n=", "x="}


def test_names_that_are_no_identifiers_are_given_in_a_dict(tmp_path: Path) -> None:
    """A node in a scope has a slash in its name."""
    with tf.Graph().as_default() as graph:
        with tf.name_scope("in"):
            a = tf.placeholder(tf.float32, [None], name="a")
        b = tf.placeholder(tf.float32, [None], name="lambda")
        c = tf.placeholder(tf.float32, [None], name="c")
        tf.add_n([a, b, c], name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    with tf.load(path) as model:
        assert str(inspect.signature(model)) == "(*arrays, c: 'float32 (?,)', **others)"
        assert model(**{"in/a": [1.0], "lambda": [2.0], "c": [3.0]}).tolist() == [6.0]
        assert eval(model.example_source(), {"np": np, "model": model}).tolist() == [0.0]


@pytest.mark.parametrize("key", ["joined", "scaled", "serving_default"])
def test_the_example_of_a_signature_runs(served: str, key: str) -> None:
    """The line that errors and summaries show is Python that runs."""
    with tf.load(served) as model:
        function = model.signatures[key]
        eval(function.example_source("function"), {"np": np, "function": function})
        function(**function.example())


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ({"x": np.zeros((1, 3), np.float32)}, ValueError, r"but got an array float32 \(1, 3\)"),
        ({"x": [[1.0, 2.0, 3.0]]}, ValueError, r"but got a list float64 \(1, 3\)"),
        ({"x": [[1.0, 2.0], [3.0]]}, ValueError, "a list whose rows differ in length"),
        ({"x": np.zeros((1, 2), complex)}, TypeError, "but got an array complex128"),
        ({"x": np.array([["a", "b"]])}, TypeError, "but got an array str"),
        ({"x": [["a", "b"]]}, ValueError, "could not convert"),
        ({"x": None}, TypeError, "but got None"),
        ({"x": np.zeros(2, np.float32)}, ValueError, "batch axis seems to be missing"),
        ({"x": 3.0}, ValueError, "but got one float"),
    ],
)
def test_a_value_that_does_not_fit_is_named(
    served: str, given: dict[str, Any], kind: type[Exception], says: str
) -> None:
    """The error has the input, what it takes, what it got, and a line that runs."""
    with tf.load(served) as model:
        with pytest.raises(kind, match=says) as caught:
            model(**given)
        text = str(caught.value)
        assert "The input 'x' takes float32 (?, 2)" in text
        assert text.endswith("For example: model(x=np.zeros((1, 2), 'float32'))")
        assert model([[1.0, 1.0]]).tolist() == [[3.0]]


@pytest.mark.parametrize("n", [np.array([1.5]), [1.5], [True + 0.5], np.array(["1"])])
def test_fractions_are_not_cut_to_integers(served: str, n: Any) -> None:
    """A session cuts them, as TensorFlow does; a model says so."""
    with tf.load(served) as model:
        with pytest.raises(TypeError, match="The input 'n' takes int32"):
            model.signatures["scaled"](x=[[1.0, 1.0]], n=n)


def test_text_is_wanted_where_text_is_taken(served: str) -> None:
    """Numbers are not turned into strings."""
    with tf.load(served) as model:
        for value in ([1.0], np.ones(1), [None]):
            with pytest.raises(TypeError, match="The input 'text' takes string"):
                model.signatures["joined"](value)
        found = model.signatures["joined"](np.array(["é"]))
        assert found.tolist() == ["éé".encode()]


def test_an_integer_may_be_fed_to_a_float(served: str) -> None:
    """What loses nothing needs no conversion by hand."""
    with tf.load(served) as model:
        assert model(np.array([[1, 2]])).tolist() == [[5.0]]
        assert model.signatures["scaled"](x=[[1, 1]], n=np.array([2], np.int64))["y"].size == 1
        assert model.signatures["joined"]([]).tolist() == []


def test_a_pickled_model_is_its_path(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read again where it arrives, with the same names; permissions do not travel."""
    monkeypatch.chdir(Path(served).parent)
    model = tf.load("m", signature="scaled", outputs=["scaled"])
    tf.safety.allow("read", graph=model.graph)
    data = pickle.dumps(model)
    assert len(data) < 500
    monkeypatch.chdir("/")
    with pickle.loads(data) as again:
        assert list(again.outputs) == ["scaled"]
        assert again(x=[[1.0, 1.0]], n=[2]).tolist() == [[6.0]]


def test_predict_takes_arrays_in_batches(served: str) -> None:
    """Batches are joined."""
    rows = np.arange(14, dtype=np.float64).reshape(7, 2)
    with tf.load(served) as model:
        whole = model.predict(rows)
        np.testing.assert_array_equal(whole, rows @ [[1.0], [2.0]])
        np.testing.assert_array_equal(model.predict(rows, batch_size=3), whole)
        assert model.predict(rows[:0]).shape == (0, 1)
        both = model.signatures["scaled"].predict({"x": rows, "n": np.arange(7)}, batch_size=2)
        np.testing.assert_array_equal(both["scaled"][:, 0], whole[:, 0] * np.arange(7))
        tupled = model.signatures["scaled"].predict((np.arange(7), rows))
        np.testing.assert_array_equal(tupled["scaled"], both["scaled"])


def test_predict_fills_up_batches_of_a_fixed_size(tmp_path: Path) -> None:
    """A graph for two rows takes five."""
    with tf.Graph().as_default() as graph:
        tf.multiply(tf.placeholder(tf.float32, [2, 1], name="x"), 3.0, name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    with tf.load(path) as model:
        found = model.predict(np.arange(5.0)[:, None])
    assert found.tolist() == [[0.0], [3.0], [6.0], [9.0], [12.0]]


def test_predict_takes_a_data_frame(served: str) -> None:
    """Columns have the keys of inputs, or are together the only input, or are named."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "n": [1, 2], "text": ["p", "q"]})
    with tf.load(served) as model:
        assert model.predict(frame[["a", "b"]]).tolist() == [[7.0], [10.0]]
        scaled = model.signatures["scaled"]
        found = scaled.predict(frame, columns={"x": ["a", "b"], "n": "n"}, batch_size=1)
        assert found["scaled"].tolist() == [[7.0], [20.0]]
        assert model.signatures["joined"].predict(frame).tolist() == [b"pp", b"qq"]
        with pytest.raises(TypeError, match="Say which belong together"):
            scaled.predict(frame)
        with pytest.raises(TypeError, match="Column 'text' has type"):
            model.predict(frame[["a", "text"]])


def test_predict_says_what_is_wrong(served: str) -> None:
    """The errors of a call are those of predict."""
    with tf.load(served) as model:
        with pytest.raises(ValueError, match=r"takes float32 \(\?, 2\), but got one float"):
            model.predict(3.0)
        with pytest.raises(ValueError, match="rows differ in length"):
            model.predict([[1.0], [2.0, 3.0]])
        with pytest.raises(ValueError, match=r"got an array float64 \(2, 3\)"):
            model.predict(np.zeros((2, 3)))
        with pytest.raises(ValueError, match="batch_size is 0"):
            model.predict(np.zeros((2, 2)), batch_size=0)


def test_an_input_may_have_any_name(tmp_path: Path) -> None:
    """Also those of Python's own arguments."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        inputs = {key: tf.placeholder(tf.float32, []) for key in ("self", "arrays", "named")}
        tf.saved_model.simple_save(
            sess, str(tmp_path / "m"), inputs, {"sum": tf.add_n(list(inputs.values()))}
        )
    assert graph.get_operations()
    with tf.load(tmp_path / "m") as model:
        assert model(self=1.0, arrays=2.0, named=3.0) == 6.0


@pytest.mark.parametrize(
    "value",
    [
        np.array([["2020-01-01", "2020-01-02"]], "M8[D]"),
        np.array([[10**400, 1]], object),
    ],
)
def test_values_that_are_no_numbers_of_the_input_are_refused(graph_file: str, value: Any) -> None:
    """Dates are not counted in days, and the error names the input."""
    with tf.Model(graph_file, outputs="double") as model:
        with pytest.raises((TypeError, ValueError), match="The input 'a' takes float32"):
            model(value)


def test_a_tensor_is_no_value(graph_file: str) -> None:
    """A tensor of another graph has no value yet."""
    with tf.Graph().as_default():
        tensor = tf.constant([[1.0, 2.0]])
    with tf.Model(graph_file, outputs="double") as model:
        with pytest.raises(TypeError, match=r"The input 'a' takes float32.* got a Tensor"):
            model(tensor)
        with pytest.raises(TypeError, match=r"The input 'a' takes float32.* got a Tensor"):
            model.predict(tensor)


def test_text_is_no_boolean(tmp_path: Path) -> None:
    """NumPy would make each text that is not empty true."""
    with tf.Graph().as_default() as graph:
        tf.logical_not(tf.placeholder(tf.bool, [None], name="b"), name="not")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    with tf.load(path) as model:
        assert model([True]).tolist() == [False]
        texts = np.array(["False"])
        for value in (["False"], texts, texts.astype(object), np.array([True, "False"], object)):
            with pytest.raises(TypeError, match="The input 'b' takes bool"):
                model(value)
            with pytest.raises(TypeError, match="The input 'b' takes bool"):
                model.predict(value)
        assert model(np.array([True, False], object)).tolist() == [False, True]


def test_the_summary_ends_with_a_call_that_runs(served: str) -> None:
    """It has the signatures, and the line."""
    with tf.load(served) as model:
        lines = repr(model.summary()).splitlines()
        assert "signature scaled (tensorflow/serving/predict)" in lines
        assert eval(lines[-1], {"np": np, "model": model}).shape == (1, 1)


def test_a_model_may_have_no_inputs(tmp_path: Path) -> None:
    """It is called without values, such as one that only computes from constants."""
    with tf.Graph().as_default() as graph:
        tf.sqrt(tf.constant([1.0, 4.0]), name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    with tf.load(path) as model:
        assert model().tolist() == [1.0, 2.0]
        assert model.example_source() == "model()"
        with pytest.raises(TypeError, match="1 arrays are given; the inputs are none"):
            model(1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="has no inputs, thus no rows"):
            model.predict({})


def test_a_sparse_input_is_given_in_parts(tmp_path: Path) -> None:
    """The error has the names of the parts, which can be named."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.sparse_placeholder(tf.float32, name="x")
        dense = tf.sparse.to_dense(x)
        tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"in": x}, {"out": dense})
    parts = ["x/indices:0", "x/values:0", "x/shape:0"]
    with pytest.raises(ModelFileError, match="'in' of the signature's inputs") as caught:
        tf.load(tmp_path / "m")
    assert f"inputs={parts}" in str(caught.value)
    with tf.load(tmp_path / "m", inputs=parts) as model:
        assert model([[0, 1]], [2.0], [1, 2]).tolist() == [[0.0, 2.0]]


def test_shapes_of_unknown_inputs_are_refused(graph_file: str) -> None:
    """A misspelt name would be left out in silence."""
    with tf.Model(graph_file) as model, pytest.raises(ValueError, match="'A': the inputs are a, b"):
        model.shapes_for({"A": [1, 2]})
