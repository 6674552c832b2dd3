"""Clusters: ``tf.estimator.experimental.KMeans``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.canned import clustering
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.export.export_outputs import PredictOutput
from tfnb.client.estimator.model_fn import EstimatorSpec
from tfnb.client.public.api import tf
from tfnb.client.training.session_run_hook import SessionRunArgs, SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.client.training.session_run_hook import SessionRunContext, SessionRunValues

EXPORTS = {"estimator.experimental": ["KMeans"]}


class _InitializeHook(SessionRunHook):
    """Chooses the first centers before a training."""

    def __init__(self, init_op: Any, is_initialized: Any) -> None:
        self._init_op = init_op
        self._is_initialized = is_initialized

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Choose centers until there are enough."""
        while not session.run(self._is_initialized):
            session.run(self._init_op)


class _SettledHook(SessionRunHook):
    """Ends a training when the loss hardly changes."""

    def __init__(self, loss: Any, tolerance: float) -> None:
        self._loss = loss
        self._tolerance = tolerance
        self._before: float | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Compare it with the one before."""
        loss = run_values.results
        if self._before is not None:
            change = abs(loss - self._before) / (1 + abs(self._before))
            if change < self._tolerance:
                run_context.request_stop()
        self._before = loss


def _points(features: Any, columns: Sequence[Any] | None) -> Any:
    if not isinstance(features, dict):
        return features
    if columns:
        return tf.feature_column.input_layer(features, columns)
    return tf.concat([features[key] for key in sorted(features)], 1)


class KMeans(Estimator):
    """Clusters of points, which an input function without labels returns.

    Args:
        num_clusters: The number of clusters.
        model_dir: The folder of checkpoints and summaries.
        initial_clusters: The first centers, a function of (inputs, number) that returns some,
            ``"random"``, ``"kmeans_plus_plus"`` or ``"kmc2"``.
        distance_metric: ``"squared_euclidean"`` or ``"cosine"``.
        seed: Of the choice of first centers.
        use_mini_batch: Whether a batch moves the centers by its share of all points so far;
            otherwise they become the means of the batch.
        mini_batch_steps_per_iteration: After how many batches moved centers come into use.
        kmeans_plus_plus_num_retries: How many more points k-means++ draws for each center.
        relative_tolerance: The relative change of the loss below which a training ends.
        config: A ``RunConfig``.
        feature_columns: The columns of points, if features are a dictionary; all features, by
            name, if None.

    Raises:
        ValueError: The method of the first centers, or the distance, is unknown.
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT = clustering.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering.KMEANS_PLUS_PLUS_INIT
    SCORE = "score"
    CLUSTER_INDEX = "cluster_index"
    ALL_DISTANCES = "all_distances"
    CLUSTER_CENTERS_VAR_NAME = clustering.CLUSTERS_VAR_NAME

    def __init__(
        self,
        num_clusters: int,
        model_dir: Any = None,
        initial_clusters: Any = clustering.RANDOM_INIT,
        distance_metric: str = clustering.SQUARED_EUCLIDEAN_DISTANCE,
        seed: int | None = None,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Sequence[Any] | None = None,
    ) -> None:
        def model_fn(features: Any, mode: str) -> EstimatorSpec:
            distances, nearest, scores, is_initialized, init_op, train_op = clustering.KMeans(
                _points(features, feature_columns), num_clusters, initial_clusters,
                distance_metric, use_mini_batch, mini_batch_steps_per_iteration, seed,
                kmeans_plus_plus_num_retries,
            ).training_graph()  # fmt: skip
            loss = tf.reduce_sum(scores[0])
            tf.summary.scalar("loss/raw", loss)
            step = tf.assign_add(tf.train.get_global_step(), 1)
            with tf.control_dependencies([train_op, step]):
                trained = tf.identity(loss)
            hooks: list[SessionRunHook] = [_InitializeHook(init_op, is_initialized)]
            if relative_tolerance is not None:
                hooks.append(_SettledHook(loss, relative_tolerance))
            return EstimatorSpec(
                mode,
                {self.ALL_DISTANCES: distances[0], self.CLUSTER_INDEX: nearest[0]},
                loss,
                trained,
                {self.SCORE: tf.metrics.mean(loss)},
                {
                    self.ALL_DISTANCES: PredictOutput(distances[0]),
                    self.CLUSTER_INDEX: PredictOutput(nearest[0]),
                    "serving_default": PredictOutput(nearest[0]),
                },
                training_hooks=hooks,
            )

        # Checks the arguments before there is a graph.
        with tf.Graph().as_default():
            clustering.KMeans(tf.zeros([1, 1]), num_clusters, initial_clusters, distance_metric)
        super().__init__(model_fn, model_dir, config)

    def predict_cluster_index(self, input_fn: Callable[..., Any]) -> Iterator[int]:
        """Yield the nearest cluster of each point.

        Args:
            input_fn: Returns the points.
        """
        for one in self.predict(input_fn, self.CLUSTER_INDEX):
            yield one[self.CLUSTER_INDEX]

    def transform(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """Yield the distances of each point to all centers.

        Args:
            input_fn: Returns the points.
        """
        for one in self.predict(input_fn, self.ALL_DISTANCES):
            yield one[self.ALL_DISTANCES]

    def score(self, input_fn: Callable[..., Any]) -> float:
        """Return the sum of the distances of a batch of points to their nearest centers.

        Args:
            input_fn: Returns the points.
        """
        return float(self.evaluate(input_fn, steps=1)[self.SCORE])

    def cluster_centers(self) -> Any:
        """Return the centers, [clusters, dimensions]."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)
