"""`tf.contrib.estimator.RNNClassifier` and `RNNEstimator`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        yield tf


def _columns(tf: Any) -> list[Any]:
    texts = tf.contrib.feature_column.sequence_categorical_column_with_identity("t", 5)
    return [tf.feature_column.embedding_column(texts, 3)]


def _features(tf: Any) -> dict[str, Any]:
    # The class is that of the last step: 1 for the ids 3 and 4.
    ids = tf.SparseTensor(
        [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2], [3, 0]], [0, 3, 1, 4, 4, 2, 4], [4, 3]
    )
    return {"t": ids, "c": tf.constant([[0.5], [0.2], [0.1], [0.3]])}


_LABELS = [[1], [0], [0], [1]]


@pytest.mark.slow
def test_a_classifier_of_sequences_learns(tf: Any) -> None:
    """Variables have TensorFlow's names; the last step of each example counts."""
    model = tf.contrib.estimator.RNNClassifier(
        _columns(tf), [tf.feature_column.numeric_column("c")], num_units=[4, 3], cell_type="gru",
        optimizer=tf.train.AdamOptimizer(0.1),
    )  # fmt: skip
    tf.train.create_global_step()
    spec = model.model_fn(_features(tf), tf.constant(_LABELS), "train", model.config)
    names = {one.op.name.removesuffix("/part_0") for one in tf.trainable_variables()}
    cell = "rnn/rnn/multi_rnn_cell/cell_{}/gru_cell/{}/{}"
    assert names == {
        "rnn/sequence_input_layer/sequence_input_layer/t_embedding/embedding_weights",
        "rnn/logits/dense/kernel",
        "rnn/logits/dense/bias",
        *(
            cell.format(index, part, kind)
            for index in (0, 1)
            for part in ("gates", "candidate")
            for kind in ("kernel", "bias")
        ),
    }
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        losses = [session.run([spec.loss, spec.train_op])[0] for _ in range(30)]

    assert losses[-1] < losses[0] / 2


def test_logits_are_those_of_the_last_step(tf: Any) -> None:
    """Steps after the end of an example change nothing."""
    head = tf.contrib.estimator.regression_head(label_dimension=2)
    model = tf.contrib.estimator.RNNEstimator(
        head, _columns(tf), rnn_cell_fn=lambda mode: tf.nn.rnn_cell.BasicRNNCell(2)
    )
    spec = model.model_fn(_features(tf), None, "infer", model.config)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = {one.op.name.removesuffix("/part_0").rpartition("rnn/")[2]: session.run(one)
                  for one in tf.global_variables()}  # fmt: skip
        found = session.run(spec.predictions["predictions"])

    weights = values["sequence_input_layer/sequence_input_layer/t_embedding/embedding_weights"]
    kernel, bias = values["basic_rnn_cell/kernel"], values["basic_rnn_cell/bias"]
    for row, ids in enumerate([[0, 3], [1], [4, 4, 2], [4]]):
        state = np.zeros(2)
        for one in ids:
            state = np.tanh(np.concatenate([weights[one], state]) @ kernel + bias)
        expected = state @ values["logits/dense/kernel"] + values["logits/dense/bias"]
        np.testing.assert_allclose(found[row], expected, rtol=1e-5)


def test_a_cell_is_described_once(tf: Any) -> None:
    """By its units and kind, or by a function."""
    make = tf.contrib.estimator.RNNClassifier
    with pytest.raises(ValueError, match="must not be specified when using rnn_cell_fn"):
        make(_columns(tf), num_units=[2], rnn_cell_fn=lambda mode: None)
    with pytest.raises(ValueError, match="Supported cell types are"):
        make(_columns(tf), num_units=[2], cell_type="lstm2")
    with pytest.raises(ValueError, match="num_units must be given"):
        make(_columns(tf))
    with pytest.raises(NotImplementedError, match="write a model_fn"):
        tf.contrib.estimator.RNNEstimator(None, _columns(tf), num_units=[2], return_sequences=True)
