"""Canned estimators compute, write and export what TensorFlow's do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.estimator.canned_scenarios import MODELS, outcome
from tests.repeats import few

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "canned_estimators.json").read_text())

pytestmark = pytest.mark.slow


# The other models consist of the parts of these.
_WHOLE = ("linear, two classes", "deep, three classes", "wide and deep", "baseline")


@pytest.mark.parametrize(
    "name", few([*_WHOLE, *(name for name in MODELS if name not in _WHOLE)], len(_WHOLE))
)
def test_a_model_is_tensorflows(name: str, tmp_path: Path) -> None:
    """Variables, summaries and signatures have its names; metrics and predictions its values."""
    found, expected = outcome(tf, name, str(tmp_path)), GOLDEN[name]

    for part in ("tags", "signatures"):
        assert found[part] == expected[part]
    assert [list(one) for one in found["variables"]] == expected["variables"]
    assert found["metrics"] == pytest.approx(expected["metrics"], rel=1e-4, abs=1e-5)
    assert list(found["prediction"]) == list(expected["prediction"])
    for key, values in expected["prediction"].items():
        if isinstance(values[0], float):
            np.testing.assert_allclose(found["prediction"][key], values, rtol=1e-4, atol=1e-5)
        else:
            assert found["prediction"][key] == values


def flowers() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three kinds of flowers, whose petals differ in size."""
    numbers = np.random.RandomState(4)
    kinds = np.arange(90) % 3
    sizes = np.array([[1.4, 0.2], [4.3, 1.3], [5.6, 2.1]])[kinds]
    petals = (sizes + 0.2 * numbers.randn(90, 2)).astype(np.float32)
    return {"length": petals[:, :1], "width": petals[:, 1:]}, kinds


def test_a_deep_classifier_learns_to_tell_flowers(tmp_path: Path) -> None:
    """From arrays, with names of classes, to an exported model that is served."""
    features, kinds = flowers()
    names = ["setosa", "versicolor", "virginica"]
    labels = np.array(names, object)[kinds]
    columns = [tf.feature_column.numeric_column(name) for name in features]
    model = tf.estimator.DNNClassifier(
        [8],
        columns,
        str(tmp_path),
        n_classes=3,
        label_vocabulary=names,
        optimizer=lambda: tf.train.AdamOptimizer(0.1),
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )
    inputs = tf.estimator.inputs.numpy_input_fn
    model.train(inputs(features, labels, batch_size=30, num_epochs=None, shuffle=False), steps=40)
    metrics = model.evaluate(inputs(features, labels, shuffle=False))
    predictions = list(model.predict(inputs(features, shuffle=False)))
    spec = tf.feature_column.make_parse_example_spec(columns)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    folder = model.export_saved_model(str(tmp_path / "export"), receiver)

    assert metrics["accuracy"] > 0.9
    assert [one["classes"][0].decode() for one in predictions[:3]] == names
    example = tf.train.Example()
    for name, value in (("length", 1.4), ("width", 0.2)):
        example.features.feature[name].float_list.value.append(value)
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
        scores, classes = session.run(
            [signature.outputs["scores"].name, signature.outputs["classes"].name],
            {signature.inputs["inputs"].name: [example.SerializeToString()]},
        )
    assert classes[0][scores[0].argmax()] == b"setosa"


def test_a_wide_and_deep_model_learns_incomes_from_lines_of_text(tmp_path: Path) -> None:
    """Columns that are crossed, in buckets, hashed and embedded, as in the census of incomes."""
    numbers = np.random.RandomState(2)
    jobs = ["Sales", "Tech", "Farming"]
    rows = [
        (age, job, hours, ">50K" if (age > 40 and job == "Tech") or hours > 55 else "<=50K")
        for age, job, hours in zip(
            numbers.randint(18, 70, 120).tolist(),
            numbers.choice(jobs, 120).tolist(),
            numbers.randint(20, 65, 120).tolist(),
            strict=True,
        )
    ]
    path = tmp_path / "census.csv"
    path.write_text("".join(f"{','.join(map(str, row))}\n" for row in rows))

    def parse(text: Any) -> Any:
        age, job, hours, income = tf.decode_csv(text, [[0], [""], [0], [""]])
        return {"age": age, "job": job, "hours": hours}, tf.equal(income, ">50K")

    def read(epochs: int) -> Any:
        return lambda: tf.data.TextLineDataset(str(path)).map(parse).repeat(epochs).batch(40)

    made = tf.feature_column
    age, hours = made.numeric_column("age"), made.numeric_column("hours")
    job = made.categorical_column_with_hash_bucket("job", 10)
    ages = made.bucketized_column(age, [30, 40, 50])
    late = made.bucketized_column(hours, [30, 55])
    model = tf.estimator.DNNLinearCombinedClassifier(
        str(tmp_path / "model"),
        linear_feature_columns=[ages, job, late, made.crossed_column([ages, "job"], 100)],
        linear_optimizer=tf.train.FtrlOptimizer(0.5),
        dnn_feature_columns=[age, hours, made.indicator_column(job), made.embedding_column(job, 4)],
        dnn_hidden_units=[8, 4],
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )
    model.train(read(10))
    metrics = model.evaluate(read(1))

    assert metrics["global_step"] == 30
    assert metrics["accuracy"] > metrics["accuracy_baseline"] + 0.1
    assert metrics["auc"] > 0.9


def test_a_model_begins_with_values_of_another_one(tmp_path: Path) -> None:
    """All trainable variables of a checkpoint, or those that settings choose."""
    column = tf.feature_column.numeric_column("x")
    data = tf.estimator.inputs.numpy_input_fn(
        {"x": np.ones((4, 1), np.float32)}, np.ones(4, np.float32), batch_size=4, shuffle=False
    )
    first = tf.estimator.LinearRegressor([column], str(tmp_path / "first"))
    first.train(data)
    still = tf.train.GradientDescentOptimizer(0.0)
    settings = tf.estimator.WarmStartSettings(
        str(tmp_path / "first"), vars_to_warm_start=".*weights"
    )
    names = ("linear/linear_model/x/weights", "linear/linear_model/bias_weights")
    for index, given in enumerate((str(tmp_path / "first"), settings)):
        second = tf.estimator.LinearRegressor(
            [column], str(tmp_path / str(index)), optimizer=still, warm_start_from=given
        )
        second.train(data)
        for name in names:
            assert second.get_variable_value(name) == first.get_variable_value(name)
    assert first.get_variable_value(names[0]) != 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.estimator.DNNClassifier([4], [], optimizer="Best"), None),
        (lambda: tf.estimator.LinearClassifier([], n_classes=1), "n_classes must be > 2: 1"),
        (
            lambda: tf.estimator.DNNLinearCombinedRegressor(dnn_feature_columns=["x"]),
            "dnn_hidden_units must be defined",
        ),
        (
            lambda: tf.estimator.DNNLinearCombinedRegressor(),
            "Either linear_feature_columns or dnn_feature_columns",
        ),
        (
            lambda: tf.estimator.LinearRegressor([], loss_reduction="most"),
            "Invalid loss_reduction: most",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(make: Any, message: str | None) -> None:
    """With what is wrong; the name of an optimizer, when the graph is built."""
    if message is None:
        model = make()
        with pytest.raises(ValueError, match="Unsupported optimizer name: Best"):
            model.train(lambda: ({"x": tf.ones([2, 1])}, tf.ones([2])), steps=1)
        return
    with pytest.raises(ValueError, match=message):
        make()
