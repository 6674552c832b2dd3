"""tensorflow_hub 0.12, whose modules are graphs of TensorFlow 1, on tfnb."""

from __future__ import annotations

import importlib
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.as_tensorflow.finder import served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Import tensorflow_hub from the finder; Keras' settings are in a folder of the tests."""
    # Python 3.12 dropped distutils; setuptools has it.
    for package in ("tensorflow_hub", "keras", "h5py", "scipy", "distutils"):
        if find_spec(package) is None:
            pytest.skip(f"needs {package}")
    with pytest.MonkeyPatch.context() as patch, served():
        patch.setenv("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # distutils is deprecated
            found = importlib.import_module("tensorflow_hub")
        yield found


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _scaled(hub: Any) -> Any:
    """Return the spec of a module that multiplies by a variable, and by ten."""

    def module() -> None:
        x = tf.placeholder(tf.float32, [None, 2])
        scale = tf.get_variable("scale", initializer=[3.0, 4.0])
        tf.losses.get_regularization_losses()
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.reduce_sum(scale))
        hub.add_signature(inputs=x, outputs=x * scale)
        hub.add_signature("tenfold", inputs={"x": x}, outputs={"y": 10 * x})

    return hub.create_module_spec(module)


def test_a_module_is_applied_trained_exported_and_loaded(hub: Any, tmp_path: Path) -> None:
    """Applications share the variables, and a folder has the trained ones."""
    folder = str(tmp_path / "module")
    module = hub.Module(_scaled(hub), trainable=True, name="m")
    once, again = module([[1.0, 1.0]]), module(2 * np.ones([1, 2], np.float32))
    loss = tf.reduce_sum(once)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(again).tolist() == [[6, 8]]
        session.run(train)
        assert session.run(again).tolist() == [[4, 6]]
        module.export(folder, session)
    assert [v.op.name for v in tf.trainable_variables()] == ["m/scale"]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1

    with tf.Graph().as_default(), tf.Session() as session:
        loaded = hub.Module(folder)
        assert sorted(loaded.get_signature_names()) == ["default", "tenfold"]
        assert loaded.get_output_info_dict()["default"].get_shape().as_list() == [None, 2]
        both = loaded([[1.0, 1.0]]), loaded({"x": [[1.0, 2.0]]}, signature="tenfold", as_dict=True)
        assert not tf.trainable_variables()
        session.run(tf.global_variables_initializer())
        plain, tenfold = session.run(both)
        assert plain.tolist() == [[2, 3]]
        assert tenfold["y"].tolist() == [[10, 20]]


def test_a_module_is_applied_in_loops_and_conds(hub: Any) -> None:
    """Its variables are brought in from outside."""
    module = hub.Module(_scaled(hub))
    _, looped = tf.while_loop(
        lambda i, x: i < 2, lambda i, x: (i + 1, module(x)), [0, tf.ones([1, 2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )  # fmt: skip
    chosen = tf.cond(
        tf.placeholder_with_default(True, []),
        lambda: module([[1.0, 0.0]]),
        lambda: tf.zeros([1, 2]),
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(looped).tolist() == [[9, 16]]
        assert session.run(chosen).tolist() == [[3, 0]]


@pytest.mark.parametrize("kind", ["sparse", "ragged"])
def test_signatures_take_sparse_and_ragged_tensors(hub: Any, tmp_path: Path, kind: str) -> None:
    """They are parts of the message of a module's folder."""

    def module() -> None:
        if kind == "sparse":
            x = tf.sparse_placeholder(tf.float32, [None, 3])
            y = tf.SparseTensor(x.indices, x.values * 2, x.dense_shape)
        else:
            x = tf.ragged.placeholder(tf.float32, 1, [])
            y = x * 2
        hub.add_signature(inputs=x, outputs=y)

    folder = str(tmp_path / "module")
    made = hub.Module(hub.create_module_spec(module))
    with tf.Session() as session:
        made.export(folder, session)
    loaded = hub.Module(folder)
    if kind == "sparse":
        found = loaded(tf.SparseTensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 3]))
        rows = tf.sparse_tensor_to_dense(found)
        expected = [[0, 2, 0], [0, 0, 4]]
    else:
        rows = loaded(tf.ragged.constant([[1.0], [], [2.0, 3.0]])).to_tensor()
        expected = [[2, 0], [0, 0], [4, 6]]
    with tf.Session() as session:
        assert session.run(rows).tolist() == expected
    with pytest.raises(TypeError, match=r"Got Tensor\. Expected"):
        loaded([1.0])


def _texts(hub: Any, vocabulary: Path) -> Any:
    """Return the spec of a module that looks words up in a file and gives two numbers each."""
    vocabulary.write_text("a\nb\n")

    def module() -> None:
        words = tf.placeholder(tf.string, [None])
        index = tf.lookup.TextFileIndex
        entries = tf.lookup.TextFileInitializer(
            str(vocabulary), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
        )
        table = tf.lookup.StaticHashTable(entries, 2)
        rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
        hub.add_signature(inputs=words, outputs=tf.gather(rows, table.lookup(words)))

    return hub.create_module_spec(module)


def test_columns_embed_texts_by_a_module(hub: Any, tmp_path: Path) -> None:
    """Its file of words may be read where the user permits it."""
    spec = _texts(hub, tmp_path / "words")
    columns = [hub.text_embedding_column("text", spec), tf.feature_column.numeric_column("n")]
    features = {"text": [["b"], ["other"]], "n": [[9.0], [8.0]]}
    layer = tf.feature_column.input_layer(features, columns)
    with tf.Session() as session, pytest.raises(tf.errors.PermissionDeniedError) as caught:
        session.run(tf.tables_initializer())
    assert f"under={str(tmp_path)!r}" in str(caught.value)

    with tf.safety.allow("read", under=tmp_path), tf.Session() as session:
        session.run(tf.tables_initializer())
        assert session.run(layer).tolist() == [[9, 3, 4], [8, 0, 0]]


def test_columns_embed_images_by_a_module(hub: Any) -> None:
    """The signature says the size of images."""

    def module() -> None:
        images = tf.placeholder(tf.float32, [None, 1, 2, 3])
        hub.add_signature(inputs={"images": images}, outputs=tf.reduce_sum(images, [1, 2]))

    column = hub.image_embedding_column("image", hub.create_module_spec(module))
    layer = tf.feature_column.input_layer({"image": np.ones([2, 1, 2, 3], np.float32)}, [column])

    assert hub.get_expected_image_size(column.module_spec) == [1, 2]
    assert tf.feature_column.make_parse_example_spec([column])["image"].shape == [1, 2, 3]
    with tf.Session() as session:
        assert session.run(layer).tolist() == [[2, 2, 2], [2, 2, 2]]


def test_the_latest_modules_of_an_estimator_are_exported(hub: Any, tmp_path: Path) -> None:
    """With the variables of its last checkpoint."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        module = hub.Module(_scaled(hub), trainable=True, name="m")
        hub.register_module_for_export(module, "scaled")
        y = module(features["x"])
        loss = tf.reduce_sum(y)
        step = tf.train.get_global_step()
        train = tf.train.GradientDescentOptimizer(1.0).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, predictions=y, loss=loss, train_op=train)

    def input_fn() -> Any:
        return {"x": tf.ones([1, 2])}, tf.zeros([1])

    def receive() -> Any:
        x = tf.placeholder(tf.float32, [None, 2])
        return tf.estimator.export.ServingInputReceiver({"x": x}, x)

    model = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    model.train(input_fn, steps=2)
    exporter = hub.LatestModuleExporter("modules", receive)
    folder = exporter.export(model, str(tmp_path / "exports"), model.latest_checkpoint())

    with tf.Session() as session:
        once = hub.Module(f"{folder.decode()}/scaled")([[1.0, 1.0]])
        session.run(tf.global_variables_initializer())
        assert session.run(once).tolist() == [[1, 2]]


def test_a_saved_model_becomes_a_module(hub: Any, tmp_path: Path) -> None:
    """Its signatures are those of the module, which a function can evaluate."""
    folder = str(tmp_path / "saved")
    x = tf.placeholder(tf.float32, [None])
    with tf.Session() as session:
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x + 1})
    spec = hub.create_module_spec_from_saved_model(folder)

    with hub.eval_function_for_module(spec, tags={"serve"}) as function:
        found = function([1.0, 2.0], signature="serving_default", as_dict=True)
    assert found["y"].tolist() == [2, 3]


def test_eager_loading_says_what_to_do(hub: Any, tmp_path: Path) -> None:
    """hub.load gives functions of eager mode."""
    folder = str(tmp_path / "module")
    module = hub.Module(_scaled(hub))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        module.export(folder, session)

    with pytest.raises(AttributeError, match=r"use tf\.saved_model\.load\(session, tags, folder\)"):
        hub.load(folder)
    assert importlib.import_module("tensorflow_hub") is hub
