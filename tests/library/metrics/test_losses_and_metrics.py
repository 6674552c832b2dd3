"""``tf.losses`` and ``tf.metrics``: TensorFlow's graphs, node for node, and its values."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.library.metrics.metric_scenarios import SCENARIOS, outline

_PATH = Path(__file__).parents[2] / "golden" / "metrics.json.xz"
GOLDEN = json.loads(lzma.decompress(_PATH.read_bytes()))


@pytest.mark.parametrize("name", SCENARIOS)
def test_graphs_and_values_are_tensorflows(name: str) -> None:
    """Nodes have the same names and inputs, and values are equal batch after batch."""
    expected, actual = GOLDEN[name], outline(tf, name)
    assert actual["nodes"] == expected["nodes"]
    assert actual["collections"] == expected["collections"]
    close(actual["values"], expected["values"])


def close(actual: Any, expected: Any) -> None:
    """Check that numbers differ only by rounding, in lists of any depth."""
    if isinstance(expected, list) and expected and isinstance(expected[0], list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            close(one, other)
    else:
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-6)


def test_every_public_name_has_a_scenario() -> None:
    """Each name of the two namespaces has a scenario."""
    built = {name.split()[0].split(".")[-1] for name in SCENARIOS}
    others = {"Reduction", "add_loss", "get_losses", "get_regularization_losses"}
    assert {*dir(tf.metrics), *dir(tf.losses)} - others <= built


def test_values_before_the_first_update_are_zero() -> None:
    """No division by zero appears."""
    with tf.Graph().as_default(), tf.Session() as sess:
        value, _ = tf.metrics.mean(tf.constant([1.0]))
        precision, _ = tf.metrics.precision([True], [True])
        sess.run(tf.local_variables_initializer())
        assert sess.run([value, precision]) == [0, 0]


def test_weights_that_do_not_fit_are_refused() -> None:
    """They are refused when the graph is built if shapes are known, else when it runs."""
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match=r"weights can not be broadcast .* Mismatch at dim 1"):
            tf.losses.compute_weighted_loss(tf.ones([2, 3]), tf.ones([2, 2]))
        with pytest.raises(ValueError, match=r"weights can not be broadcast .*values.rank=2"):
            tf.losses.compute_weighted_loss(tf.ones([2, 3]), tf.ones([3]))
        weights = tf.placeholder(tf.float32)
        loss = tf.losses.compute_weighted_loss(tf.ones([2, 3]), weights)
        assert sess.run(loss, {weights: [[1], [0]]}) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast"):
            sess.run(loss, {weights: [[1, 2]]})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tf.losses.mean_squared_error(None, [1.0]), "`labels` must not be None"),
        (lambda: tf.losses.hinge_loss([1.0], None), "`logits` must not be None"),
        (lambda: tf.losses.cosine_distance([1.0], [1.0]), "must specify argument `axis`"),
        (lambda: tf.losses.cosine_distance([1.0], [1.0], 0, dim=0), "both 'axis' and 'dim'"),
        (
            lambda: tf.losses.compute_weighted_loss([1.0], reduction="sum"),
            "Invalid Reduction Key sum",
        ),
        (lambda: tf.losses.mean_squared_error([1.0], [1.0, 2.0]), "incompatible"),
        (lambda: tf.metrics.auc([True], tf.constant([0.5]), curve="X"), "Curve X is unknown"),
        (
            lambda: tf.metrics.auc([True], tf.constant([0.5]), summation_method="X"),
            "Invalid summation_method: X",
        ),
        (
            lambda: tf.metrics.sensitivity_at_specificity([True], [0.5], 2),
            r"`specificity` must be in the range \[0, 1\]",
        ),
        (
            lambda: tf.metrics.specificity_at_sensitivity([True], [0.5], -1),
            r"`sensitivity` must be in the range \[0, 1\]",
        ),
        (lambda: tf.metrics.average_precision_at_k([[1]], [[0.5]], 0), "Invalid k=0"),
        (lambda: tf.nn.compute_average_loss(1.0), "at least rank 1"),
    ],
)
def test_bad_arguments_are_refused(build: Any, message: str) -> None:
    """The messages say what is wrong."""
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        build()


def test_labels_out_of_range_fail_in_the_confusion_matrix() -> None:
    """Negative labels are refused, too; the message names labels or predictions."""
    with tf.Graph().as_default(), tf.Session() as sess:
        labels = tf.placeholder(tf.int32, [2])
        matrix = tf.confusion_matrix(labels, [0, 1], 2)
        assert sess.run(matrix, {labels: [0, 0]}).tolist() == [[1, 1], [0, 0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="`labels` out of bound"):
            sess.run(matrix, {labels: [0, 2]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="`labels` contains negative"):
            sess.run(matrix, {labels: [0, -1]})


def test_predictions_out_of_range_fail_at_thresholds() -> None:
    """Predictions must be between 0 and 1."""
    with tf.Graph().as_default(), tf.Session() as sess:
        predictions = tf.placeholder(tf.float32, [1])
        _, update = tf.metrics.auc([True], predictions)
        sess.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in \[0, 1\]"):
            sess.run(update, {predictions: [1.5]})


def test_losses_have_gradients() -> None:
    """Each loss has gradients."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
        loss = tf.losses.mean_squared_error(tf.zeros([2, 2]), x)
        pairwise = tf.losses.mean_pairwise_squared_error(tf.zeros([2, 2]), x)
        (gradient,) = tf.gradients(loss, x)
        assert sess.run(gradient).tolist() == [[0.5, 1.0], [1.5, 2.5]]
        (gradient,) = tf.gradients(pairwise, x)
        assert sess.run(pairwise) == pytest.approx(5)
        assert sess.run(gradient).tolist() == [[-2.0, 2.0], [-4.0, 4.0]]
