"""Heads: losses, metrics, predictions and outputs of models with several kinds of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

made = tf.estimator
ModeKeys = made.ModeKeys
LOGITS = np.array([[2.0, -1.0, 0.5], [-0.5, 0.25, 1.0]], np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    """A graph of the test's own, with a step."""
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        yield


def evaluated(head: Any, logits: Any, labels: Any, features: Any = None) -> dict[str, float]:
    """Return the metrics after one batch, with the loss."""
    spec = head.create_estimator_spec(
        features or {}, ModeKeys.EVAL, tf.constant(logits), labels=labels
    )
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), tf.tables_initializer()])
        loss, _ = session.run([spec.loss, [update for _, update in spec.eval_metric_ops.values()]])
        values = session.run({name: value for name, (value, _) in spec.eval_metric_ops.items()})
    return {"loss": float(loss), **{name: float(value) for name, value in values.items()}}


def sigmoid(x: Any) -> Any:
    """Return the chance that a logit stands for."""
    return 1 / (1 + np.exp(-x))


def cross_entropies(logits: Any, labels: Any) -> Any:
    """Return the loss of each logit."""
    chance = sigmoid(logits)
    return -(labels * np.log(chance) + (1 - labels) * np.log(1 - chance))


@pytest.mark.slow
def test_a_binary_head_has_metrics_at_thresholds() -> None:
    """With weights of the examples, and a loss that is their mean."""
    logits, labels = LOGITS[:1].T, np.array([1, 1, 0])
    weights = np.array([1.0, 2.0, 1.0], np.float32)
    found = evaluated(
        made.BinaryClassHead(weight_column="w", thresholds=[0.3]),
        logits,
        tf.constant(labels),
        {"w": tf.constant(weights)},
    )
    losses = cross_entropies(logits[:, 0], labels)

    assert found["loss"] == pytest.approx((losses * weights).sum() / 3, rel=1e-5)
    assert found["average_loss"] == pytest.approx((losses * weights).sum() / 4, rel=1e-5)
    assert found["accuracy"] == 0.25
    assert found["label/mean"] == found["accuracy_baseline"] == 0.75
    assert found["accuracy/positive_threshold_0.3"] == 0.25
    assert found["precision/positive_threshold_0.3"] == 0.5
    assert found["recall/positive_threshold_0.3"] == pytest.approx(1 / 3)


@pytest.mark.slow
def test_a_multi_class_head_reads_names() -> None:
    """Its name is in the names of metrics."""
    head = made.MultiClassHead(3, label_vocabulary=["x", "y", "z"], name="kind")
    found = evaluated(head, LOGITS, tf.constant(["x", "y"]))
    chances = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)

    assert found["loss"] == pytest.approx(-np.log(chances[[0, 1], [0, 1]]).mean(), rel=1e-5)
    assert found["accuracy/kind"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("form", ["indicators", "numbers", "names"])
def test_a_multi_label_head_reads_each_form_of_labels(form: str) -> None:
    """Indicators, or sparse numbers or names, with metrics of single classes."""
    indices = [[0, 0], [0, 1], [1, 0]]
    labels: Any = tf.constant([[1, 0, 1], [0, 1, 0]])
    if form == "numbers":
        labels = tf.SparseTensor(indices, tf.constant([0, 2, 1], tf.int64), [2, 2])
    elif form == "names":
        labels = tf.SparseTensor(indices, ["x", "z", "y"], [2, 2])
    names = ["x", "y", "z"] if form == "names" else None
    head = made.MultiLabelHead(3, label_vocabulary=names, classes_for_class_based_metrics=[1])
    found = evaluated(head, LOGITS, labels)
    losses = cross_entropies(LOGITS, np.array([[1, 0, 1], [0, 1, 0]]))

    assert found["loss"] == pytest.approx(losses.mean(), rel=1e-5)
    key = "probability_mean/y" if names else "probability_mean/class1"
    assert found[key] == pytest.approx(sigmoid(LOGITS[:, 1]).mean(), rel=1e-5)


@pytest.mark.slow
def test_regression_heads_have_losses_of_their_own() -> None:
    """Squared errors, Poisson's probability, cross entropy of a probability."""
    logits, labels = LOGITS[:, :1], np.array([[1.0], [0.0]], np.float32)
    squared = evaluated(made.RegressionHead(), logits, tf.constant(labels))
    poisson = evaluated(
        made.PoissonRegressionHead(compute_full_loss=False), logits, tf.constant(labels)
    )
    logistic = evaluated(made.LogisticRegressionHead(), logits, tf.constant(labels))

    assert squared["loss"] == pytest.approx(np.mean((logits - labels) ** 2), rel=1e-5)
    assert poisson["loss"] == pytest.approx(np.mean(np.exp(logits) - labels * logits), rel=1e-5)
    assert logistic["loss"] == pytest.approx(cross_entropies(logits, labels).mean(), rel=1e-5)
    assert logistic["prediction/mean"] == pytest.approx(sigmoid(logits).mean(), rel=1e-5)


@pytest.mark.slow
def test_several_heads_share_logits() -> None:
    """Losses are weighted and added; predictions and outputs have the names of their heads."""
    heads = [made.RegressionHead(name="size"), made.RegressionHead(2, name="place")]
    both = made.MultiHead(heads, head_weights=[1.0, 2.0])
    labels = {"size": tf.zeros([2, 1]), "place": tf.zeros([2, 2])}
    found = evaluated(both, LOGITS, labels)
    spec = both.create_estimator_spec({}, ModeKeys.PREDICT, tf.constant(LOGITS))
    squares = LOGITS**2

    assert found["loss"] == pytest.approx(squares[:, :1].mean() + 2 * squares[:, 1:].mean())
    assert found["loss/place"] == pytest.approx(squares[:, 1:].mean())
    assert sorted(spec.predictions) == [("place", "predictions"), ("size", "predictions")]
    assert sorted(spec.export_outputs) == [
        "place", "place/predict", "place/regression", "predict", "serving_default", "size",
        "size/predict", "size/regression",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_head_trains_with_regularization_and_updates() -> None:
    """The losses are added, and the collection of updates runs."""
    weight = tf.get_variable("w", [1, 1], initializer=tf.ones_initializer())
    counter = tf.Variable(0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counter, 1))
    spec = made.RegressionHead().create_estimator_spec(
        {},
        ModeKeys.TRAIN,
        tf.matmul(tf.ones([2, 1]), weight),
        tf.zeros([2, 1]),
        optimizer=tf.train.GradientDescentOptimizer(0.1),
        regularization_losses=[tf.reduce_sum(tf.abs(weight))],
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(spec.loss) == 2
        session.run(spec.train_op)
        assert session.run([weight, counter, tf.train.get_global_step()]) == [
            pytest.approx(0.7), 1, 1,
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("head", "logits", "labels", "message"),
    [
        (made.BinaryClassHead(), LOGITS, [1, 0], "logits shape must be"),
        (made.BinaryClassHead(), LOGITS[:, :1], None, "You must provide a labels Tensor"),
        (made.MultiClassHead(3), LOGITS, [[1, 0, 0], [0, 1, 0]], "Mismatched label shape"),
        (made.MultiClassHead(3), LOGITS, [0.5, 1.0], "Labels dtype should be integer"),
        (made.RegressionHead(), LOGITS[:, :1], [[1.0, 2.0]] * 2, "Received 2"),
        (made.MultiHead([made.RegressionHead(3, name="a")]), LOGITS, {}, "missing values .*'a'"),
    ],
)
def test_labels_and_logits_that_do_not_fit_are_refused(
    head: Any, logits: Any, labels: Any, message: str
) -> None:
    """When the graph is built."""
    given = labels if labels is None or isinstance(labels, dict) else tf.constant(labels)
    with pytest.raises(ValueError, match=message):
        head.create_estimator_spec({}, ModeKeys.EVAL, tf.constant(logits), labels=given)


@pytest.mark.slow
def test_a_label_that_is_no_class_fails_the_step() -> None:
    """The values are known only then."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="Labels must <= n_classes - 1"):
        evaluated(made.MultiClassHead(3), LOGITS, tf.placeholder_with_default([0, 3], [2]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: made.BinaryClassHead(thresholds=[1.5]), "thresholds not in"),
        (lambda: made.BinaryClassHead(loss_fn=lambda logits: 0), "must contain argument: labels"),
        (lambda: made.MultiLabelHead(1), "n_classes must be > 1"),
        (lambda: made.MultiLabelHead(3, label_vocabulary=["a"]), "must be n_classes \\(3\\)"),
        (lambda: made.RegressionHead(0), "Invalid label_dimension 0"),
        (lambda: made.MultiHead([]), "Must specify heads"),
        (lambda: made.MultiHead([made.RegressionHead()]), "must have name specified"),
    ],
)
def test_arguments_of_heads_are_checked(make: Any, message: str) -> None:
    """When they are made."""
    with pytest.raises(ValueError, match=message):
        make()
