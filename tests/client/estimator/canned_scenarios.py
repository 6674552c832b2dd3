"""Canned estimators of either library: what they train, compute, write and export."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EXAMPLES = 48
_BATCH = 16


def _data() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return features and labels: of a person, age and job; of two classes, three, and numbers."""
    numbers = np.arange(_EXAMPLES)
    age = (numbers * 37 % 97 / np.float32(97)).astype(np.float32)[:, None]
    weight = (numbers * 61 % 89 / np.float32(89)).astype(np.float32)[:, None] + np.float32(0.5)
    job = np.array(["a", "b", "c", "zz"])[numbers * numbers % 7 % 4][:, None]
    labels = {
        "two": (age[:, 0] + (job[:, 0] == "a") > 0.8).astype(np.int64),
        "three": (numbers * 5 % 11 % 3).astype(np.int64),
        "number": (age[:, 0] * 3 - 1).astype(np.float32),
    }
    return {"age": age, "job": job, "w": weight}, labels


def input_fn(tf: Any, label: str, epochs: int) -> Callable[[], Any]:
    """Return an input function over the data, in their order."""
    features, labels = _data()

    def read() -> Any:
        data = tf.data.Dataset.from_tensor_slices((features, labels[label]))
        return data.repeat(epochs).batch(_BATCH)

    return read


def _columns(tf: Any) -> dict[str, Any]:
    made = tf.feature_column
    age = made.numeric_column("age")
    job = made.categorical_column_with_vocabulary_list("job", ["a", "b", "c"])
    first = tf.constant_initializer([[0.1, 0.2], [0.3, -0.1], [0.5, 0.2]])
    return {
        "age": age,
        "job": job,
        "crossed": made.crossed_column([made.bucketized_column(age, [0.25, 0.5, 0.75]), "job"], 20),
        "embedded": made.embedding_column(job, 2, initializer=first),
    }


def _linear_two(tf: Any, columns: dict[str, Any], config: Any) -> Any:
    chosen = [columns["age"], columns["job"], columns["crossed"]]
    return tf.estimator.LinearClassifier(chosen, weight_column="w", config=config)


def _linear_number(tf: Any, columns: dict[str, Any], config: Any) -> Any:
    return tf.estimator.LinearRegressor([columns["age"], columns["job"]], config=config)


def _dnn_two(tf: Any, columns: dict[str, Any], config: Any) -> Any:
    chosen = [columns["age"], columns["embedded"]]
    return tf.estimator.DNNClassifier([4, 3], chosen, activation_fn=tf.nn.tanh, config=config)


def _dnn_three(tf: Any, columns: dict[str, Any], config: Any) -> Any:
    return tf.estimator.DNNClassifier(
        [4], [columns["age"]], n_classes=3, dropout=0.1, batch_norm=True, config=config
    )


def _combined_two(tf: Any, columns: dict[str, Any], config: Any) -> Any:
    return tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=[columns["job"], columns["crossed"]],
        dnn_feature_columns=[columns["age"], columns["embedded"]],
        dnn_hidden_units=[4],
        config=config,
    )


def _baseline_three(tf: Any, columns: dict[str, Any], config: Any) -> Any:
    return tf.estimator.BaselineClassifier(n_classes=3, config=config)


# Name -> (the label, the function that makes the Estimator).
MODELS: dict[str, tuple[str, Callable[..., Any]]] = {
    "linear, two classes": ("two", _linear_two),
    "linear, numbers": ("number", _linear_number),
    "deep, two classes": ("two", _dnn_two),
    "deep, three classes": ("three", _dnn_three),
    "wide and deep": ("two", _combined_two),
    "baseline": ("three", _baseline_three),
}


def outcome(tf: Any, name: str, folder: str) -> dict[str, Any]:
    """Train, evaluate, predict and export a model; return all that is comparable."""
    label, make = MODELS[name]
    config = tf.estimator.RunConfig(model_dir=folder, tf_random_seed=3, save_summary_steps=2)
    columns = _columns(tf)
    model = make(tf, columns, config)
    model.train(input_fn(tf, label, 2))
    metrics = model.evaluate(input_fn(tf, label, 1))
    prediction = next(iter(model.predict(input_fn(tf, label, 1))))
    spec = tf.feature_column.make_parse_example_spec([columns["age"], columns["job"]])
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    exported = model.export_saved_model(os.path.join(folder, "export"), receiver)
    return {
        "variables": sorted((name, list(shape)) for name, shape in tf.train.list_variables(folder)),
        "metrics": {key: float(value) for key, value in sorted(metrics.items())},
        "prediction": {key: _plain(value) for key, value in sorted(prediction.items())},
        "tags": {part: sorted(set(_tags(tf, os.path.join(folder, part)))) for part in ("", "eval")},
        "signatures": _signatures(tf, os.fsdecode(exported)),
    }


def _plain(value: Any) -> list[Any]:
    flat = np.asarray(value).ravel().tolist()
    return [one.decode() if isinstance(one, bytes) else one for one in flat]


def _tags(tf: Any, folder: str) -> Iterator[str]:
    for name in os.listdir(folder):
        if "tfevents" in name:
            for event in tf.train.summary_iterator(os.path.join(folder, name)):
                yield from (value.tag for value in event.summary.value)


def _signatures(tf: Any, folder: str) -> dict[str, Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.load(session, ["serve"], folder).signature_def
        return {
            key: [
                one.method_name,
                {name: info.name for name, info in sorted(one.inputs.items())},
                {name: info.name for name, info in sorted(one.outputs.items())},
            ]
            for key, one in sorted(found.items())
        }
