"""The graph of k-means: centers of clusters, how they begin, and how a batch moves them.

Variables have TensorFlow's names: ``clusters`` and ``initialized``; ``clusters_updated`` and
``update_in_steps`` where several batches make one iteration.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"
RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"
KMC2_INIT = "kmc2"
CLUSTERS_VAR_NAME = "clusters"
# Added to the number of points of a cluster, which may be 0.
_EPSILON = 1e-6


class KMeans:
    """Clusters of points.

    Args:
        inputs: Points, [batch, dimensions], or a list of them.
        num_clusters: The number of clusters.
        initial_clusters: The first centers, a function of (inputs, number) that returns some, or
            ``"random"``, ``"kmeans_plus_plus"`` or ``"kmc2"``.
        distance_metric: ``"squared_euclidean"`` or ``"cosine"``.
        use_mini_batch: Whether a batch moves the centers by its share of all points so far;
            otherwise they become the means of the batch.
        mini_batch_steps_per_iteration: After how many batches moved centers come into use.
        random_seed: Of the choice of first centers.
        kmeans_plus_plus_num_retries: How many more points k-means++ draws for each center.
        kmc2_chain_length: The number of points from which k-MC2 chooses a center.

    Raises:
        ValueError: The method of the first centers, or the distance, is unknown.
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int | None = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        methods = (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT)
        if isinstance(initial_clusters, str) and initial_clusters not in methods:
            raise ValueError(
                f"Unsupported initialization algorithm {initial_clusters!r}: it is one of {methods}"
            )
        metrics = (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE)
        if distance_metric not in metrics:
            raise ValueError(
                f"Unsupported distance metric {distance_metric!r}: it is one of {metrics}"
            )
        self._inputs = [
            tf.convert_to_tensor(one) for one in (inputs if isinstance(inputs, list) else [inputs])
        ]
        self._num_clusters = num_clusters
        self._initial_clusters = initial_clusters
        self._is_cosine = distance_metric == COSINE_DISTANCE
        self._use_mini_batch = use_mini_batch
        self._steps = int(mini_batch_steps_per_iteration)
        self._seed = tf.get_seed(random_seed)[0] or 0
        self._retries = kmeans_plus_plus_num_retries
        self._chain_length = kmc2_chain_length

    @property
    def _has_copy(self) -> bool:
        """Whether batches move a copy of the centers."""
        return self._use_mini_batch and self._steps > 1

    @property
    def _keeps_length(self) -> bool:
        """Whether the centers in the variable have length 1."""
        return self._is_cosine and (not self._use_mini_batch or self._steps > 1)

    def training_graph(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Build the graph.

        Returns:
            Distances to all centers, the nearest center of each point and the distance to it, each
            a list with one tensor per input; whether all centers are there, a variable; the op
            that chooses first centers, which runs until they are; the op of a training step.
        """
        chosen = self._initial_clusters
        if isinstance(chosen, str) or callable(chosen):
            number = tf.convert_to_tensor(self._num_clusters)
        else:
            chosen = tf.convert_to_tensor(chosen, self._inputs[0].dtype)
            number = tf.shape(chosen)[0]
        start = tf.placeholder_with_default(tf.zeros([0], self._inputs[0].dtype), shape=None)
        centers = tf.Variable(start, name=CLUSTERS_VAR_NAME, validate_shape=False)
        is_initialized = tf.Variable(False, dtype=tf.bool, name="initialized")
        moved, left = centers, None
        if self._has_copy:
            moved = tf.Variable(start, name="clusters_updated", validate_shape=False)
            left = tf.Variable(self._steps, dtype=tf.int64, name="update_in_steps")
        counts = None
        if self._use_mini_batch:
            first = tf.zeros if self._has_copy else tf.ones
            counts = tf.Variable(first([number], tf.int64))
        init_op = self._initialization(chosen, number, centers, moved, is_initialized)

        inputs: list[Any] = self._inputs
        used: Any = centers
        if self._is_cosine:
            inputs = [tf.nn.l2_normalize(one, 1) for one in inputs]
            if not self._keeps_length:
                used = tf.nn.l2_normalize(centers, 1)
        distances, nearest, scores = zip(*(self._nearest(one, used) for one in inputs), strict=True)
        if counts is None:
            train_op = self._full_step(inputs, nearest, number, centers)
        else:
            with tf.control_dependencies([self._synchronization(left, centers, moved, counts)]):
                train_op = self._batch_step(inputs, nearest, moved, counts)
        return list(distances), list(nearest), list(scores), is_initialized, init_op, train_op

    def _nearest(self, points: Any, centers: Any) -> tuple[Any, Any, Any]:
        """Return distances to all centers, the nearest one, and the distance to that one."""
        products = tf.matmul(points, centers, transpose_b=True)
        if self._is_cosine:
            distances = 1 - products
        else:
            squares = tf.reduce_sum(tf.square(points), 1, keepdims=True)
            distances = squares - 2 * products
            distances += tf.transpose(tf.reduce_sum(tf.square(centers), 1, keepdims=True))
        places, least = tf.raw_ops.NearestNeighbors(
            points=points, centers=centers, k=tf.constant(1, tf.int64)
        )
        # Half of the squared distance of two vectors of length 1 is their cosine distance.
        least = least * 0.5 if self._is_cosine else least
        return distances, tf.squeeze(places, [-1]), tf.squeeze(least, [-1])

    # -- the first centers ---------------------------------------------------------------------

    def _initialization(
        self, chosen: Any, number: Any, centers: Any, moved: Any, is_initialized: Any
    ) -> Any:
        """Return the op that adds first centers, until there are as many as clusters."""
        remaining = number - tf.shape(centers)[0]

        def complete() -> Any:
            check = tf.Assert(is_initialized, ["all centers are there, but not initialized"])
            with tf.control_dependencies([check]):
                return tf.identity(remaining)

        def add() -> Any:
            check = tf.assert_positive(
                remaining, message="there are more centers than clusters already"
            )
            with tf.control_dependencies([check]):
                every = self._with_new_centers(chosen, remaining, centers)
            assigned = tf.assign(centers, every, validate_shape=False)
            if moved is not centers:
                assigned = tf.assign(moved, assigned, validate_shape=False)
            left = number - tf.shape(assigned)[0]
            with tf.control_dependencies([tf.assign(is_initialized, tf.equal(left, 0))]):
                return tf.identity(left)

        return tf.cond(tf.equal(remaining, 0), complete, add)

    def _with_new_centers(self, chosen: Any, remaining: Any, centers: Any) -> Any:
        """Return the centers that are there and new ones, as rows."""
        if isinstance(chosen, str) and chosen == KMC2_INIT:
            return self._chained(remaining, centers)
        if not isinstance(chosen, str):
            new = chosen(self._inputs, remaining) if callable(chosen) else chosen
        elif chosen == RANDOM_INIT:
            new = self._whole_if_few(remaining, lambda: self._random(remaining))
        else:
            new = self._whole_if_few(remaining, lambda: self._spread(remaining))
        new = self._normalized(new)
        return tf.cond(
            tf.equal(tf.shape(centers)[0], 0),
            lambda: tf.identity(new),
            lambda: tf.concat([centers, new], 0),
        )

    def _whole_if_few(self, remaining: Any, choose: Any) -> Any:
        """Return all points of the batch, if it has no more than are to be chosen."""
        size = tf.add_n([tf.shape(one)[0] for one in self._inputs])
        return tf.cond(size <= remaining, lambda: tf.concat(self._inputs, 0), choose)

    def _random(self, remaining: Any) -> Any:
        points = tf.concat(self._inputs, 0)
        most = tf.cast(tf.shape(points)[0], tf.int64)
        shape = tf.reshape(remaining, [-1])
        return tf.gather(points, tf.random_uniform(shape, 0, most, tf.int64, self._seed))

    def _spread(self, remaining: Any) -> Any:
        """Return points that k-means++ chooses among those of the first input."""
        return tf.raw_ops.KmeansPlusPlusInitialization(
            points=self._normalized(self._inputs[0]),
            num_to_sample=tf.cast(remaining, tf.int64),
            seed=tf.constant(self._seed, tf.int64),
            num_retries_per_sample=tf.constant(self._retries, tf.int64),
        )

    def _chained(self, remaining: Any, centers: Any) -> Any:
        """Return the centers, with one more for each part of the first input, by k-MC2."""
        points = self._normalized(self._inputs[0])
        parts = tf.shape(points)[0] // self._chain_length
        number = tf.maximum(tf.minimum(remaining, parts), 1)

        def next_center(index: Any, found: Any) -> Any:
            start = index * self._chain_length
            part = points[start : start + self._chain_length]
            _, distances = tf.raw_ops.NearestNeighbors(
                points=part, centers=found, k=tf.constant(1, tf.int64)
            )
            place = tf.raw_ops.KMC2ChainInitialization(
                distances=tf.squeeze(distances, [1]), seed=tf.constant(self._seed, tf.int64)
            )
            return tf.concat([found, tf.reshape(part[place], [1, -1])], 0)

        def one_more(index: Any, found: Any) -> tuple[Any, Any]:
            more = tf.cond(
                tf.equal(tf.shape(found)[0], 0),
                lambda: points[:1],
                lambda: next_center(index, found),
            )
            return index + 1, more

        _, every = tf.while_loop(
            lambda index, _: index < number,
            one_more,
            [tf.constant(0), tf.identity(centers)],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
        )
        return every

    def _normalized(self, points: Any) -> Any:
        return tf.nn.l2_normalize(points, 1) if self._is_cosine else points

    # -- a training step -----------------------------------------------------------------------

    def _full_step(self, inputs: Any, nearest: Any, number: Any, centers: Any) -> Any:
        """Return the op that makes the centers the means of their points."""
        sums, counts = [], []
        for points, places in zip(inputs, nearest, strict=True):
            sums.append(tf.unsorted_segment_sum(points, places, number))
            ones = tf.ones([tf.shape(points)[0], 1], points.dtype)
            counts.append(tf.unsorted_segment_sum(ones, places, number))
        means = tf.add_n(sums) / (tf.add_n(counts) + _EPSILON)
        if self._keeps_length:
            means = tf.nn.l2_normalize(means, 1)
        return tf.assign(centers, means)

    def _batch_step(self, inputs: Any, nearest: Any, moved: Any, counts: Any) -> Any:
        """Return the op that moves centers toward the points of a batch."""
        updates = []
        for points, places in zip(inputs, nearest, strict=True):
            single, indices = tf.unique(tf.reshape(places, [-1]))
            size = tf.size(single)
            new = tf.unsorted_segment_sum(tf.ones_like(indices, counts.dtype), indices, size)
            share = tf.reshape(tf.cast(new, points.dtype), [-1, 1])
            total = tf.reshape(tf.cast(tf.gather(counts, single) + new, points.dtype), [-1, 1])
            sums = tf.unsorted_segment_sum(points, indices, size)
            step = (sums - share * tf.gather(moved, single)) / total
            # Both old values are read before they change.
            with tf.control_dependencies([step]):
                updates.append(tf.scatter_add(counts, single, new))
                updates.append(tf.scatter_add(moved, single, step))
        return tf.group(*updates)

    def _synchronization(self, left: Any, centers: Any, moved: Any, counts: Any) -> Any:
        """Return the op that puts moved centers into use, after that number of batches."""
        if left is None:
            return tf.no_op()

        def put_into_use() -> Any:
            with tf.control_dependencies([tf.assign(left, self._steps - 1)]):
                value = tf.nn.l2_normalize(moved, 1) if self._is_cosine else tf.identity(moved)
            with tf.control_dependencies([tf.assign(centers, value)]):
                cleared = tf.assign(counts, tf.zeros_like(counts))
            with tf.control_dependencies([cleared]):
                return tf.identity(left)

        return tf.cond(left <= 0, put_into_use, lambda: tf.identity(tf.assign_sub(left, 1)))
