"""``tf.feature_column`` against TensorFlow: nodes, variables, values, errors."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.library.feature_columns import feature_column_rows

_GOLDEN = Path(__file__).parents[2] / "golden" / "feature_columns.json.xz"
_STORED: dict[str, Any] = json.loads(lzma.decompress(_GOLDEN.read_bytes()))


@pytest.mark.parametrize("row", feature_column_rows.rows())
def test_a_layer_of_columns_is_tensorflows(row: str) -> None:
    """Nodes, variables, values and errors are equal."""
    wanted = dict(_STORED[row])
    found = feature_column_rows.describe(tf, row)
    value, wanted_value = found.pop("value", None), wanted.pop("value", None)
    assert found == wanted
    if wanted_value is not None:
        np.testing.assert_allclose(value, wanted_value, rtol=1e-5)


def test_every_row_is_stored() -> None:
    """Each row has an answer of TensorFlow."""
    assert set(_STORED) == set(feature_column_rows.rows())


def test_layers_give_variables_and_tensors_by_column() -> None:
    """Variables and tensors are given by column; a shared embedding has one variable."""
    fc = tf.feature_column
    with tf.Graph().as_default():
        features = {"a": [["x"], ["y"]], "b": [["x"], ["z"]], "n": [[1.0], [2.0]]}
        number = fc.numeric_column("n")
        shared = fc.shared_embedding_columns(
            [fc.categorical_column_with_hash_bucket(key, 5) for key in "ab"], 2
        )
        variables: dict[Any, Any] = {}
        tensors: dict[Any, Any] = {}
        out = fc.input_layer(
            features, [number, *shared], cols_to_vars=variables, cols_to_output_tensors=tensors
        )
        assert out.shape.as_list() == [2, 5]
        assert variables[number] == []
        assert len(tf.global_variables()) == 1
        assert tensors[number].shape.as_list() == [2, 1]
        weights: dict[Any, Any] = {}
        fc.linear_model(features, [number], cols_to_vars=weights, weight_collections=["mine"])
        assert [v.op.name for v in weights[number]] == ["linear_model/n/weights"]
        assert weights["bias"] == [tf.get_collection("mine")[-1]]


def test_a_linear_model_of_embeddings_has_tensorflows_variables() -> None:
    """Embeddings are in their column's scope; a second column or model of a name has a number."""
    fc = tf.feature_column
    a, b = (fc.categorical_column_with_identity(key, 3) for key in "ab")
    features = {"a": [[2, -1], [0, 1]], "b": [[0, -1], [-1, -1]]}

    def names_of(columns: list[Any], models: int = 1) -> list[str]:
        with tf.Graph().as_default():
            for _ in range(models):
                fc.linear_model(features, columns)
            return [v.op.name for v in tf.trainable_variables()]

    assert names_of([fc.embedding_column(a, 2), fc.embedding_column(b, 2)]) == [
        "linear_model/a_embedding/weights",
        "linear_model/a_embedding/embedding_weights",
        "linear_model/b_embedding/weights",
        "linear_model/b_embedding/embedding_weights",
        "linear_model/bias_weights",
    ]
    assert names_of(fc.shared_embedding_columns([a, b], 2)) == [
        "linear_model/a_b_shared_embedding/weights",
        "linear_model/a_b_shared_embedding/embedding_weights",
        "linear_model/a_b_shared_embedding_1/weights",
        "linear_model/bias_weights",
    ]
    assert names_of([a], models=2) == [
        "linear_model/a/weights",
        "linear_model/bias_weights",
        "linear_model_1/a_1/weights",
        "linear_model_1/bias_weights",
    ]


def test_a_vocabulary_of_floats_is_refused() -> None:
    """Features with a vocabulary are strings or integers."""
    message = "column_name: a dtype must be string or integer"
    with pytest.raises(ValueError, match=message):
        tf.feature_column.categorical_column_with_vocabulary_list("a", ("x", "y"), dtype=tf.float32)
    with pytest.raises(ValueError, match=message):
        tf.feature_column.categorical_column_with_vocabulary_file("a", "words", 3, dtype=tf.float32)


def test_a_wide_and_deep_model_learns() -> None:
    """With parsed examples and columns, the loss decreases."""
    fc = tf.feature_column
    rng = np.random.default_rng(0)
    numbers, words = rng.normal(size=64), rng.choice(["a", "b", "c"], 64)

    def example(x: float, s: str) -> bytes:
        feature = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=[x])),
            "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[s.encode()])),
        }
        made = tf.train.Example(features=tf.train.Features(feature=feature))
        return made.SerializeToString()

    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(1)
        word = fc.categorical_column_with_vocabulary_list("s", ["a", "b", "c"])
        deep_columns = [fc.numeric_column("x"), fc.embedding_column(word, 2)]
        wide_columns = [word, fc.bucketized_column(fc.numeric_column("x"), [-0.5, 0.5])]
        spec = fc.make_parse_example_spec(deep_columns + wide_columns)
        rows = tf.constant([example(x, s) for x, s in zip(numbers, words)])
        features = tf.parse_example(rows, spec)
        deep = tf.layers.dense(fc.input_layer(features, deep_columns), 1)
        logits = deep + fc.linear_model(features, wide_columns)
        labels = ((numbers > 0) ^ (words == "b")).astype(np.float32)[:, None]
        loss = tf.losses.sigmoid_cross_entropy(labels, logits)
        train = tf.train.AdagradOptimizer(0.5).minimize(loss)
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        first = sess.run(loss)
        for _ in range(30):
            sess.run(train)
        assert sess.run(loss) < 0.8 * first
