"""Clusters: the graph of k-means, and its Estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.estimator.canned.clustering import KMeans

if TYPE_CHECKING:
    from pathlib import Path

POINTS = np.float32([[0, 0], [0.5, 0], [5, 5], [5, 6], [9, 0], [9, 1]])
CENTERS = {(0.25, 0.0), (5.0, 5.5), (9.0, 0.5)}


def _trained(session: Any, steps: int = 5, **arguments: Any) -> tuple[Any, Any, Any, int]:
    """Return centers, nearest clusters, distances to them, and how often centers were chosen."""
    made = KMeans(tf.constant(POINTS), 3, **arguments)
    distances, nearest, scores, is_initialized, init_op, train_op = made.training_graph()
    session.run(tf.global_variables_initializer())
    times = 0
    while not session.run(is_initialized):
        session.run(init_op)
        times += 1
    for _ in range(steps):
        session.run(train_op)
    centers, places, least, every = session.run(
        [tf.global_variables()[0], nearest[0], scores[0], distances[0]]
    )
    # A point without a direction is nowhere in cosines.
    np.testing.assert_allclose(every.min(1)[1:], least[1:], atol=1e-4)
    return centers, places, least, times


@pytest.mark.parametrize("begin", ["kmeans_plus_plus", "kmc2", POINTS[[0, 2, 4]]], ids=str)
@pytest.mark.parametrize("steps", [0, 2], ids=["whole batches", "two steps"])
def test_centers_become_means(begin: Any, steps: int) -> None:
    """Where each first center is in another cluster; in one step, or in two with a copy."""
    with tf.Graph().as_default(), tf.Session() as session:
        centers, places, least, _ = _trained(
            session,
            8,
            initial_clusters=begin,
            random_seed=3,
            kmc2_chain_length=2,
            use_mini_batch=steps > 0,
            mini_batch_steps_per_iteration=steps or 1,
        )
    assert {tuple(np.round(one, 4).tolist()) for one in centers} == CENTERS
    assert places[0] == places[1] != places[2] == places[3] != places[4] == places[5]
    np.testing.assert_allclose(least[[0, 2, 4]], [0.0625, 0.25, 0.25], atol=1e-4)


def test_a_batch_moves_a_center_by_its_share() -> None:
    """A first center counts as one point."""
    with tf.Graph().as_default(), tf.Session() as session:
        centers, _, _, times = _trained(
            session, 1, initial_clusters=POINTS[[0, 2, 4]], use_mini_batch=True
        )
    np.testing.assert_allclose(centers, [[0.5 / 3, 0], [5, 16 / 3], [9, 1 / 3]], rtol=1e-5)
    assert times == 1


def test_centers_of_directions_have_length_one() -> None:
    """The distance is one minus the cosine."""
    with tf.Graph().as_default(), tf.Session() as session:
        centers, places, least, _ = _trained(
            session, initial_clusters=POINTS[[1, 2, 3]], distance_metric="cosine"
        )
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1, rtol=1e-5)
    assert places[1] == places[4] == places[5] == 0
    assert least.max() < 0.6


@pytest.mark.parametrize(
    ("argument", "says"),
    [({"initial_clusters": "first"}, "initialization"), ({"distance_metric": "l1"}, "distance")],
)
def test_what_is_unknown_is_refused(argument: dict[str, str], says: str) -> None:
    """By the class of the graph, and by the Estimator."""
    with pytest.raises(ValueError, match=says):
        tf.estimator.experimental.KMeans(3, **argument)


@pytest.mark.slow
def test_an_estimator_clusters_points(tmp_path: Path) -> None:
    """It ends when the loss is settled; its centers are in the checkpoint."""

    def read() -> Any:
        return tf.train.limit_epochs(tf.constant(POINTS), 1)

    def read_long() -> Any:
        return tf.data.Dataset.from_tensors(POINTS).repeat(50)

    model = tf.estimator.experimental.KMeans(
        3, str(tmp_path), POINTS[[0, 2, 4]], use_mini_batch=False, relative_tolerance=1e-3
    )
    model.train(read_long)

    assert {tuple(np.round(one, 4).tolist()) for one in model.cluster_centers()} == CENTERS
    assert model.get_variable_value("global_step") < 10
    assert model.score(read) == pytest.approx(1.125, abs=1e-3)
    assert list(model.predict_cluster_index(read)) == [0, 0, 1, 1, 2, 2]
    assert np.array(list(model.transform(read))).shape == (6, 3)
