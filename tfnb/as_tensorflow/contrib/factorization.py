"""``tf.contrib.factorization``: k-means, as a graph and as an Estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.estimator.canned.clustering import COSINE_DISTANCE as COSINE_DISTANCE
from tfnb.client.estimator.canned.clustering import KMEANS_PLUS_PLUS_INIT as KMEANS_PLUS_PLUS_INIT
from tfnb.client.estimator.canned.clustering import RANDOM_INIT as RANDOM_INIT
from tfnb.client.estimator.canned.clustering import (
    SQUARED_EUCLIDEAN_DISTANCE as SQUARED_EUCLIDEAN_DISTANCE,
)
from tfnb.client.estimator.canned.clustering import KMeans as KMeans
from tfnb.client.estimator.canned.kmeans import KMeans as _KMeansEstimator

if TYPE_CHECKING:
    from collections.abc import Sequence


class KMeansClustering(_KMeansEstimator):
    """``tf.estimator.experimental.KMeans`` with the older name of its seed.

    Args:
      num_clusters: the number of clusters.
      model_dir: the folder of checkpoints and summaries.
      initial_clusters: the first centers, or how they are chosen.
      distance_metric: "squared_euclidean" or "cosine".
      random_seed: of the choice of first centers.
      use_mini_batch: whether a batch moves the centers by its share of all points so far.
      mini_batch_steps_per_iteration: after how many batches moved centers come into use.
      kmeans_plus_plus_num_retries: how many more points k-means++ draws for each center.
      relative_tolerance: the relative change of the loss below which a training ends.
      config: a ``RunConfig``.
      feature_columns: the columns of points, if features are a dictionary.
    """

    def __init__(
        self,
        num_clusters: int,
        model_dir: Any = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int | None = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(
            num_clusters, model_dir, initial_clusters, distance_metric, random_seed,
            use_mini_batch, mini_batch_steps_per_iteration, kmeans_plus_plus_num_retries,
            relative_tolerance, config, feature_columns,
        )  # fmt: skip


_WRITE_IT = "write the factors as variables, and their loss with tf.losses"
_MISSING = {
    "GMM": "use scikit-learn's GaussianMixture, or write its log_prob with tf.distributions",
    "gmm": "use scikit-learn's GaussianMixture, or write its log_prob with tf.distributions",
    "WALSMatrixFactorization": _WRITE_IT,
    "WALSModel": _WRITE_IT,
}


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        return missing_name("tensorflow.contrib.factorization", name, _MISSING[name])
    raise AttributeError(f"module 'tensorflow.contrib.factorization' has no attribute {name!r}")
