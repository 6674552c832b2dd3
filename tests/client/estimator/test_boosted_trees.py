"""Boosted trees: how they grow, and their Estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.estimator.canned.tree_ensemble import Growth, TreeEnsemble

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = Growth(1.0, 0.0, 0.0, 0.0, 0.0, False)
BUCKETS = np.int32([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]])
TARGETS = np.float32([[1], [1], [3], [3], [3], [9]])


def _fitted(growth: Growth, steps: int, depth: int = 2, trees: int = 2, batches: int = 1) -> Any:
    """Return the predictions after each step, for squared errors, and the number of trees."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = TreeEnsemble(trees, depth, 1)
        buckets = tf.constant(BUCKETS)
        leaves = made.leaves(buckets)
        logits = made.logits(leaves)
        errors = 2 * (logits - TARGETS)
        train = made.train_op(buckets, leaves, errors, 2 * tf.ones_like(errors), 3, batches, growth)
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(steps):
            session.run(train)
            found.append(session.run(logits)[:, 0])
        return found, session.run(made.finished_trees)


def test_a_layer_takes_the_split_that_lowers_the_loss_most() -> None:
    """Leaves have the means of their targets; then each node of the next layer is split."""
    (first, second), trees = _fitted(PLAIN, 2)
    np.testing.assert_allclose(first, [2, 2, 2, 2, 6, 6], rtol=1e-6)
    np.testing.assert_allclose(second, [1, 1, 3, 3, 3, 9], rtol=1e-6)
    assert trees == 1


def test_the_next_tree_predicts_what_is_left() -> None:
    """And the training of trees ends after the last one."""
    steps, trees = _fitted(PLAIN, 5, depth=1, trees=3)
    errors = [np.square(one - TARGETS[:, 0]).sum() for one in steps]
    assert errors[2] < errors[1] < errors[0] == 22
    assert trees == 3
    np.testing.assert_array_equal(steps[2], steps[4])


def test_a_layer_waits_for_its_batches() -> None:
    """Two batches of the same examples give the same means."""
    (first, second), _ = _fitted(PLAIN, 2, batches=2)
    np.testing.assert_array_equal(first, np.zeros(6))
    np.testing.assert_allclose(second, [2, 2, 2, 2, 6, 6], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"learning_rate": 0.5}, [1, 1, 1, 1, 3, 3]),
        ({"l2_regularization": 4.0}, [0.5, 0.5, 3, 3, 3, 3]),
        ({"l1_regularization": 4.0}, [0, 0, 4, 4, 4, 4]),
        # The best split would leave two examples alone.
        ({"min_node_weight": 5.0}, [7 / 3, 13 / 3, 7 / 3, 13 / 3, 7 / 3, 13 / 3]),
        ({"tree_complexity": 1000.0, "is_pruned": True}, [0] * 6),
    ],
)
def test_growth_is_held_back(change: dict[str, Any], wanted: list[float]) -> None:
    """By the learning rate, by penalties of values, by light children and by a price of splits."""
    (found,), _ = _fitted(PLAIN._replace(**change), 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def _columns() -> list[Any]:
    made = tf.feature_column
    job = made.categorical_column_with_vocabulary_list("job", ["a", "b"])
    return [
        made.bucketized_column(made.numeric_column("age"), [20, 40]),
        made.indicator_column(job),
    ]


def _read(labels: Any) -> Any:
    features = {"age": [10.0, 30.0, 50.0, 30.0], "job": ["a", "b", "a", "a"]}
    return lambda: tf.data.Dataset.from_tensors((features, labels)).repeat(40)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_learns_classes(tmp_path: Path, classes: int) -> None:
    """It stops when its trees are grown; a training goes on at a checkpoint."""
    labels = [0, 1, 1, 0] if classes == 2 else [0, 1, 2, 0]
    made = tf.estimator.BoostedTreesClassifier(
        _columns(), 1, str(tmp_path), classes, n_trees=4, max_depth=2, learning_rate=0.5
    )
    made.train(_read(labels), steps=3)
    made.train(_read(labels))
    found = made.evaluate(_read(labels), steps=1)

    assert found["accuracy"] == 1
    assert found["global_step"] == 8
    predicted = [one["class_ids"][0] for one in made.predict(_read(labels))][:4]
    assert predicted == labels


@pytest.mark.slow
def test_a_regressor_learns_numbers(tmp_path: Path) -> None:
    """The loss is the mean of squares."""
    made = tf.estimator.BoostedTreesRegressor(
        _columns(), 1, str(tmp_path), n_trees=20, max_depth=2, learning_rate=1.0
    )
    labels = [[1.0], [2.0], [4.0], [-1.0]]
    made.train(_read(labels))
    assert made.evaluate(_read(labels), steps=1)["loss"] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"feature_columns": []}, ValueError, "must not be empty"),
        ({"feature_columns": [tf.feature_column.numeric_column("x")]}, ValueError, "boundaries"),
        ({"n_trees": 0}, ValueError, "n_trees must be at least 1"),
        ({"center_bias": True}, NotImplementedError, "subtract the mean"),
        ({"pruning_mode": "post"}, NotImplementedError, "pruning_mode"),
        ({"tree_complexity": 1.0}, ValueError, "needs pruning_mode"),
    ],
)
def test_what_does_not_fit_is_refused(
    change: dict[str, Any], error: type[Exception], says: str
) -> None:
    """Before there is a folder."""
    arguments = {"feature_columns": _columns(), "n_batches_per_layer": 1, **change}
    with pytest.raises(error, match=says):
        tf.estimator.BoostedTreesRegressor(**arguments)
