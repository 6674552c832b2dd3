"""Models of `tf.contrib.learn`, as programs of that time use them."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")

X = np.float32([[0, 0], [0, 1], [1, 0], [1, 1], [4, 4], [4, 5], [5, 4], [5, 5]])
CLASSES = np.array([0, 0, 0, 0, 1, 1, 1, 1])


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        yield tf


@pytest.fixture
def learn() -> Any:
    """Return `tf.contrib.learn`."""
    return importlib.import_module("tensorflow.contrib.learn")


def _config(learn: Any, folder: Path, **more: Any) -> Any:
    return learn.RunConfig(tf_random_seed=3, model_dir=str(folder), **more)


@pytest.mark.slow
def test_a_deep_classifier_is_fitted_to_arrays(tf: Any, learn: Any, tmp_path: Path) -> None:
    """A column without a name stands for the array; classes, probabilities and metrics fit."""
    columns = [tf.contrib.layers.real_valued_column("", dimension=2)]
    model = learn.DNNClassifier(
        [4], columns, config=_config(learn, tmp_path), activation_fn=tf.nn.tanh,
        gradient_clip_norm=5.0, optimizer=tf.train.AdamOptimizer(0.1),
    )  # fmt: skip
    model.fit(x=X, y=CLASSES, steps=60)
    metric = learn.MetricSpec(tf.metrics.accuracy, prediction_key="classes_as_numbers")
    scores = model.evaluate(x=X, y=CLASSES, steps=1)

    assert list(model.predict(X)) == CLASSES.tolist()
    assert model.predict_classes(X, as_iterable=False).tolist() == CLASSES.tolist()
    assert list(model.predict(input_fn=lambda: tf.constant(X[:3]))) == [0, 0, 0]
    assert model.predict_proba(X, as_iterable=False).shape == (8, 2)
    assert scores["accuracy"] == 1
    assert 0 < scores["loss"] < 0.5
    with pytest.raises(ValueError, match="prediction_key 'classes_as_numbers'"):
        model.evaluate(x=X, y=CLASSES, metrics={"exact": metric})


@pytest.mark.slow
def test_a_wide_and_deep_model_has_columns_of_layers(tf: Any, learn: Any, tmp_path: Path) -> None:
    """Categories by a list, by hash and crossed; embedded and counted; numbers in intervals."""
    layers = tf.contrib.layers
    job = layers.sparse_column_with_keys("job", ["a", "b"])
    town = layers.sparse_column_with_hash_bucket("town", 5)
    age = layers.real_valued_column("age")
    ages = layers.bucketized_column(age, [20, 40])
    model = learn.DNNLinearCombinedClassifier(
        linear_feature_columns=[job, town, ages, layers.crossed_column([job, town, ages], 20)],
        dnn_feature_columns=[age, layers.embedding_column(town, 2), layers.one_hot_column(job)],
        dnn_hidden_units=[3],
        linear_optimizer=tf.train.AdamOptimizer(0.3),
        config=_config(learn, tmp_path),
    )

    def read() -> Any:
        texts = tf.SparseTensor([[i, 0] for i in range(4)], ["a", "b", "a", "b"], [4, 1])
        numbers = tf.constant([10.0, 30.0, 50.0, 30.0])
        return {"job": texts, "town": texts, "age": numbers}, tf.constant([0, 1, 0, 1])

    model.fit(input_fn=read, steps=40)

    assert model.evaluate(input_fn=read, steps=1)["accuracy"] == 1
    assert list(model.predict_classes(input_fn=lambda: read()[0])) == [0, 1, 0, 1]
    assert "linear/linear_model/job/weights" in model.get_variable_names()


@pytest.mark.slow
def test_a_regressor_predicts_numbers(tf: Any, learn: Any, tmp_path: Path) -> None:
    """By columns that are inferred from an array; predictions are arrays with `SKCompat`."""
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.LinearRegressor(
        columns, config=_config(learn, tmp_path), optimizer=tf.train.AdamOptimizer(0.3)
    )
    targets = X.sum(1)
    learn.SKCompat(model).fit(X, targets, steps=150)

    np.testing.assert_allclose(list(model.predict(X)), targets, atol=0.5)
    found = learn.SKCompat(model).predict(X, outputs=["predictions"])
    assert found["predictions"].shape == (8, 1)
    assert learn.SKCompat(model).score(X, targets, steps=1)["loss"] < 0.1


def _model_fn(learn: Any, tf: Any) -> Any:
    def model_fn(features: Any, targets: Any, mode: Any, params: Any) -> Any:
        weight = tf.get_variable("weight", initializer=0.0)
        predictions = tf.squeeze(features, [1]) * weight
        if mode == learn.ModeKeys.INFER:
            alternatives = {None: (learn.ProblemType.LINEAR_REGRESSION, {"scores": predictions})}
            return learn.ModelFnOps(mode, {"y": predictions}, output_alternatives=alternatives)
        loss = tf.losses.mean_squared_error(targets, predictions)
        train = tf.contrib.layers.optimize_loss(
            loss, tf.train.get_global_step(), params["rate"], "SGD"
        )
        return learn.ModelFnOps(mode, {"y": predictions}, loss, train)

    return model_fn


@pytest.mark.slow
def test_an_experiment_trains_evaluates_and_exports(tf: Any, learn: Any, tmp_path: Path) -> None:
    """With metrics of predictions by key, a monitor, and a strategy of exports."""
    x = np.float32([[1], [2]])
    monitored = []

    def make(run_config: Any, hparams: Any) -> Any:
        model = learn.Estimator(_model_fn(learn, tf), params=hparams, config=run_config)

        def read() -> Any:
            return tf.constant(x), tf.constant([3.0, 6.0])

        def serve() -> Any:
            given = tf.placeholder(tf.float32, [None, 1])
            return learn.InputFnOps(given, None, {"x": given})

        monitor = learn.monitors.ValidationMonitor(
            input_fn=read, eval_steps=1, every_n_steps=2, early_stopping_rounds=100
        )
        monitored.append(monitor)
        return learn.Experiment(
            model, read, read, train_steps=20, eval_steps=1, train_monitors=[monitor],
            eval_metrics={"error": learn.MetricSpec(tf.metrics.mean_absolute_error, "y")},
            export_strategies=learn.make_export_strategy(serve), eval_delay_secs=0,
        )  # fmt: skip

    config = _config(learn, tmp_path, save_checkpoints_steps=5, save_checkpoints_secs=None)
    metrics, exports = learn.learn_runner.run(make, run_config=config, hparams={"rate": 0.1})
    predictor = importlib.import_module("tensorflow.contrib.predictor")
    served = predictor.from_saved_model(os.fsdecode(exports[0]))

    assert metrics["global_step"] == 20
    assert metrics["error"] < 0.1
    assert served({"x": x})["scores"].shape == (2,)
    assert monitored[0].best_step is not None
    assert monitored[0].best_metrics["loss"] == monitored[0].best_value


@pytest.mark.slow
def test_a_monitor_ends_a_training(tf: Any, learn: Any, tmp_path: Path) -> None:
    """The training ends when a metric has not improved for a number of steps."""
    config = _config(learn, tmp_path, save_checkpoints_steps=1, save_checkpoints_secs=None)
    model = learn.Estimator(_model_fn(learn, tf), params={"rate": 0.0}, config=config)
    x, y = np.float32([[1], [2]]), np.float32([3, 6])
    monitor = learn.monitors.ValidationMonitor(x, y, every_n_steps=1, early_stopping_rounds=2)
    model.fit(x, y, steps=20, monitors=[monitor])

    assert monitor.early_stopped
    assert model.get_variable_value("global_step") < 8


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"output_dir": None}, "either output_dir or run_config"),
        ({"output_dir": "a", "hparams": {}}, "hparams need"),
    ],
)
def test_a_runner_says_what_is_missing(learn: Any, arguments: Any, says: str) -> None:
    """Before anything runs."""
    with pytest.raises(ValueError, match=says):
        learn.learn_runner.run(lambda folder: None, **arguments)
    with pytest.raises(TypeError, match="should return an Experiment"):
        learn.learn_runner.run(lambda folder: None, "a")


def test_what_a_model_cannot_do_is_refused(tf: Any, learn: Any) -> None:
    """Arrays and a function at once, nothing at all, another result, biases of old models."""
    model = learn.Estimator(lambda features, labels: 7)
    with pytest.raises(ValueError, match="both input_fn and x"):
        model.fit(X, CLASSES, input_fn=lambda: X)
    with pytest.raises(ValueError, match="Either x or input_fn"):
        model.evaluate()
    with pytest.raises(ValueError, match="model_fn should return ModelFnOps"):
        model.fit(X, CLASSES, steps=1)
    with pytest.raises(NotImplementedError, match="enable_centered_bias"):
        learn.LinearClassifier(
            [tf.contrib.layers.real_valued_column("x")], enable_centered_bias=True
        )


def test_tables_are_read_from_files(learn: Any, tmp_path: Path) -> None:
    """A first line that says something else, and a file that is missing, are refused."""
    (tmp_path / "a.csv").write_text("2,3,no,yes\n1,2,3,0\n4,5,6,1\n")
    found = learn.datasets.base.load_csv_with_header(str(tmp_path / "a.csv"), np.int64, np.float32)
    assert found.data.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.target.tolist() == [0, 1]
    (tmp_path / "b.csv").write_text("3,3\n1,2,3,0\n")
    with pytest.raises(ValueError, match="says 3 rows"):
        learn.datasets.base.load_csv_with_header(str(tmp_path / "b.csv"), np.int64, np.float32)
    assert learn.datasets.base.maybe_download("a.csv", str(tmp_path), "").endswith("a.csv")
    with pytest.raises(Exception, match="Download it from there"):
        learn.datasets.base.maybe_download("c.csv", str(tmp_path), "there")


def test_columns_give_the_input_of_layers(tf: Any) -> None:
    """Of numbers and embedded categories; sums of weighted columns begin at 0."""
    layers = tf.contrib.layers
    ids = layers.sparse_column_with_integerized_feature("id", 3)
    number = layers.real_valued_column("x", dimension=2)
    vectors = layers.embedding_column(ids, 1, initializer=tf.constant_initializer([[1], [2], [3]]))
    features = {"id": tf.constant([[2], [0]]), "x": tf.constant([[4.0, 5.0], [6.0, 7.0]])}
    dense = layers.input_from_feature_columns(features, [number, vectors])
    sums, variables, bias = layers.weighted_sum_from_feature_columns(features, [number, ids], 1)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        values, zeros = session.run([dense, sums])

    assert values.tolist() == [[3, 4, 5], [1, 6, 7]]
    assert zeros.tolist() == [[0], [0]]
    assert set(variables) == {number, ids}
    assert bias.shape.as_list() == [1]
    assert set(layers.create_feature_spec_for_parsing([number, vectors])) == {"id", "x"}
    with pytest.raises(ValueError, match="Duplicate"):
        layers.check_feature_columns([number, number])
