"""Small parts of `tf.contrib`: `predictor`, `resampler`, `factorization`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        yield tf


@pytest.mark.slow
def test_an_exported_model_is_a_function(tf: Any, tmp_path: Path) -> None:
    """By its signature, by names of tensors; unknown inputs and signatures are refused."""
    x = tf.placeholder(tf.float32, [None], name="x")
    weight = tf.get_variable("weight", initializer=2.0)
    y = tf.multiply(x, weight, name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})
    predictor = importlib.import_module("tensorflow.contrib.predictor")
    double = predictor.from_saved_model(str(tmp_path / "model"))
    by_name = predictor.from_saved_model(
        str(tmp_path / "model"), input_names={"a": "x:0"}, output_names={"b": "y:0"}
    )

    assert double({"x": [1.0, 3.0]})["y"].tolist() == [2, 6]
    assert by_name({"a": [4.0]})["b"].tolist() == [8]
    assert list(double.feed_tensors) == ["x"]
    with pytest.raises(ValueError, match="unexpected keys"):
        double({"z": [1.0]})
    with pytest.raises(ValueError, match="Available signatures"):
        predictor.from_saved_model(str(tmp_path / "model"), signature_def_key="other")
    with pytest.raises(ValueError, match="Give one of"):
        predictor.from_saved_model(str(tmp_path / "model"), input_names={"a": "x:0"})


@pytest.mark.slow
def test_an_estimator_is_a_function_of_its_inputs(tf: Any, tmp_path: Path) -> None:
    """With the values of its latest checkpoint; one without a checkpoint is refused."""
    predictor = importlib.import_module("tensorflow.contrib.predictor")

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        weight = tf.get_variable("weight", initializer=1.0)
        y = features["x"] * weight
        if mode == "infer":
            return tf.estimator.EstimatorSpec(mode, {"y": y})
        step = tf.train.get_global_step()
        with tf.control_dependencies([tf.assign(weight, 3.0)]):
            train = tf.assign_add(step, 1)
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(y), train_op=train)

    def receive() -> Any:
        x = tf.placeholder(tf.float32, [None])
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"given": x})

    model = tf.estimator.Estimator(model_fn, str(tmp_path))
    with pytest.raises(ValueError, match="Could not find trained model"):
        predictor.from_estimator(model, receive)
    model.train(lambda: ({"x": tf.ones([1])}, tf.ones([1])), steps=1)
    found = predictor.from_estimator(model, receive)

    assert found({"given": [2.0]})["y"].tolist() == [6]
    with pytest.raises(TypeError, match="Expected estimator"):
        predictor.from_estimator(None, receive)
    with pytest.raises(ValueError, match="Available are"):
        predictor.from_estimator(model, receive, "other")


def test_pictures_are_read_between_their_pixels(tf: Any) -> None:
    """Pixels outside count as 0; points that are no numbers give 0; gradients are finite."""
    resampler = importlib.import_module("tensorflow.contrib.resampler").resampler
    picture = tf.constant(np.float32([[1, 2, 3], [4, 5, 6]]).reshape(1, 2, 3, 1))
    points = [[0, 0], [0.5, 0], [1.25, 0.5], [2.5, 0], [-0.5, 1], [5, 5], [np.nan, 0]]
    warp = tf.constant(np.float32([points]))
    read = resampler(picture, warp)
    inner = resampler(picture, warp[:, :3])
    slopes = tf.gradients(inner, [picture, warp])
    with tf.Session() as session:
        found, to_picture, to_warp = session.run([read, *slopes])

    assert read.shape.as_list() == [1, 7, 1]
    np.testing.assert_allclose(found[0, :, 0], [1, 1.5, 3.75, 1.5, 2, 0, 0], rtol=1e-6)
    assert to_picture.sum() == pytest.approx(3)
    np.testing.assert_allclose(to_warp[0, :3], [[1, 3], [1, 3], [1, 3]], rtol=1e-6)


def test_clusters_have_an_older_name(tf: Any) -> None:
    """And factors of matrices say what to write."""
    part = importlib.import_module("tensorflow.contrib.factorization")
    model = part.KMeansClustering(2, random_seed=3)
    assert isinstance(model, tf.estimator.experimental.KMeans)
    with pytest.raises(NotImplementedError, match="write the factors"):
        part.WALSModel(1)


def test_the_smallest_parameter_server_gets_the_next_variable(tf: Any) -> None:
    """By the size of the variables that it has; a size that is not known is refused."""
    training = importlib.import_module("tensorflow.contrib.training")
    strategy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)):
        shapes = {"a": [4], "b": [], "c": [2], "d": [1]}
        found = {
            name: tf.get_variable(name, shape, use_resource=name != "b").device[-1]
            for name, shape in shapes.items()
        }
        with pytest.raises(ValueError, match="not known"):
            training.byte_size_load_fn(tf.placeholder(tf.float32, [None]).op)
        with pytest.raises(ValueError, match="single output, not 2"):
            training.byte_size_load_fn(tf.split(tf.zeros([2]), 2)[0].op)

    assert found == {"a": "0", "b": "1", "c": "1", "d": "1"}


def test_names_choose_parameter_servers(tf: Any) -> None:
    """The same ones in each process, other ones with another seed."""
    training = importlib.import_module("tensorflow.contrib.training")
    with tf.device("/cpu:0"):
        ops = [tf.zeros([], name=name).op for name in "abcdefgh"]

    chosen = [list(map(training.RandomStrategy(2, seed=seed), ops)) for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert set(chosen[0]) == {0, 1}
