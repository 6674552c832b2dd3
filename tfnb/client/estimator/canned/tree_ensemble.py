"""The graph of boosted trees: walks through trees, and their growth layer by layer.

A feature of an example is the number of its bucket. Node ``n`` of a tree has the children
``2n + 1`` and ``2n + 2``: an example goes to the second one if its bucket is above the node's
threshold. A node without a feature is a leaf, whose values are added to the logits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfnb.client.public.api import tf


class Growth(NamedTuple):
    """How trees grow.

    Attributes:
        learning_rate: The share of a leaf's best value that it gets.
        l1_regularization: Of the values of leaves.
        l2_regularization: Of the values of leaves.
        tree_complexity: What a split must gain.
        min_node_weight: The least sum of second derivatives of a child.
        is_pruned: Whether splits that gain nothing are left out.
    """

    learning_rate: float
    l1_regularization: float
    l2_regularization: float
    tree_complexity: float
    min_node_weight: float
    is_pruned: bool


class TreeEnsemble:
    """Trees in variables.

    Args:
        num_trees: The number of trees.
        max_depth: The number of splits from the root to a leaf.
        dimension: The number of logits.
    """

    def __init__(self, num_trees: int, max_depth: int, dimension: int) -> None:
        self.num_trees = num_trees
        self._max_depth = max_depth
        self._dimension = dimension
        shape = [num_trees, 2 ** (max_depth + 1) - 1]
        leaf, zeros = tf.constant_initializer(-1), tf.zeros_initializer()
        self._features = _state("features", shape, tf.int32, leaf)
        self._thresholds = _state("thresholds", shape, tf.int32, zeros)
        self._values = _state("values", [*shape, dimension], tf.float32, zeros)
        self.finished_trees = _state("finished_trees", [], tf.int32, zeros)
        self._finished_layers = _state("finished_layers", [], tf.int32, zeros)

    def leaves(self, buckets: Any) -> Any:
        """Return the node where each example is in each tree, [batch, trees].

        Args:
            buckets: [batch, features].
        """
        batch = tf.shape(buckets)[0]
        trees = tf.tile(tf.range(self.num_trees)[None, :], [batch, 1])
        examples = tf.tile(tf.range(batch)[:, None], [1, self.num_trees])
        nodes = tf.zeros_like(trees)
        for _ in range(self._max_depth):
            places = tf.stack([trees, nodes], -1)
            feature = tf.gather_nd(self._features, places)
            bucket = tf.gather_nd(buckets, tf.stack([examples, tf.maximum(feature, 0)], -1))
            is_above = bucket > tf.gather_nd(self._thresholds, places)
            child = 2 * nodes + 1 + tf.cast(is_above, tf.int32)
            nodes = tf.where(feature >= 0, child, nodes)
        return nodes

    def logits(self, leaves: Any) -> Any:
        """Return the sums of the values of leaves, [batch, logits]."""
        trees = tf.tile(tf.range(self.num_trees)[None, :], [tf.shape(leaves)[0], 1])
        return tf.reduce_sum(tf.gather_nd(self._values, tf.stack([trees, leaves], -1)), 1)

    def train_op(
        self,
        buckets: Any,
        leaves: Any,
        gradients: Any,
        hessians: Any,
        num_buckets: int,
        n_batches_per_layer: int,
        growth: Growth,
    ) -> Any:
        """Return the op that adds a batch, and grows a layer after a number of batches.

        Args:
            buckets: [batch, features].
            leaves: [batch, trees].
            gradients: First derivatives of the loss by the logits, [batch, logits].
            hessians: Second derivatives, [batch, logits].
            num_buckets: The largest number of buckets of a feature.
            n_batches_per_layer: The number of batches.
            growth: How trees grow.
        """
        layer_size = 2 ** (self._max_depth - 1)
        num_features = buckets.shape[1].value
        cells = [layer_size, num_features, num_buckets]
        total = layer_size * num_features * num_buckets
        shape, zeros = [total, self._dimension], tf.zeros_initializer()
        sums = _state("sums_of_gradients", shape, tf.float32, zeros)
        curvatures = _state("sums_of_hessians", shape, tf.float32, zeros)
        batches = _state("batches", [], tf.int32, zeros)

        first = tf.bitwise.left_shift(1, self._finished_layers) - 1
        tree = tf.minimum(self.finished_trees, self.num_trees - 1)
        place = tf.gather(leaves, tree, axis=1) - first
        # An example in a leaf of an earlier layer takes no part, nor any after the last tree.
        takes_part = (place >= 0) & (self.finished_trees < self.num_trees)
        counts = tf.cast(takes_part, tf.float32)[:, None]
        place = tf.where(takes_part, place, tf.zeros_like(place))
        start = place[:, None] * num_features + tf.range(num_features)[None, :]
        index = tf.reshape(start * num_buckets + buckets, [-1])
        added = []
        for state, values in ((sums, gradients), (curvatures, hessians)):
            rows = tf.tile((values * counts)[:, None, :], [1, num_features, 1])
            flat = tf.reshape(rows, [-1, self._dimension])
            added.append(tf.scatter_add(state, index, flat))
        with tf.control_dependencies(added):
            count = tf.assign_add(batches, 1)

        def grow() -> Any:
            return self._grow(sums, curvatures, batches, [*cells, self._dimension], growth)

        is_ready = (count >= n_batches_per_layer) & (self.finished_trees < self.num_trees)
        return tf.cond(is_ready, grow, lambda: tf.no_op())

    def _grow(
        self, sums: Any, curvatures: Any, batches: Any, shape: list[int], growth: Growth
    ) -> Any:
        """Split the nodes of a layer, and go on to the next layer or tree."""
        layer_size, _, num_buckets, _ = shape
        left_sums = tf.cumsum(tf.reshape(sums, shape), 2)
        left_curves = tf.cumsum(tf.reshape(curvatures, shape), 2)
        right_sums = left_sums[:, :, -1:] - left_sums
        right_curves = left_curves[:, :, -1:] - left_curves
        left_value, left_gain = _best_values(left_sums, left_curves, growth)
        right_value, right_gain = _best_values(right_sums, right_curves, growth)
        _, gain_before = _best_values(left_sums[:, :, -1:], left_curves[:, :, -1:], growth)
        gain = left_gain + right_gain - gain_before - growth.tree_complexity
        lightest = tf.minimum(tf.reduce_mean(left_curves, -1), tf.reduce_mean(right_curves, -1))
        is_possible = (lightest > 0) & (lightest >= growth.min_node_weight)
        gain = tf.where(is_possible, gain, tf.fill(tf.shape(gain), -float("inf")))
        gain = tf.reshape(gain, [layer_size, -1])
        best = tf.argmax(gain, 1, output_type=tf.int32)
        most = tf.reduce_max(gain, 1)
        least = 0.0 if growth.is_pruned else tf.float32.min
        chosen = tf.cast(tf.where(most > least)[:, 0], tf.int32)

        cell = tf.gather(best, chosen)
        places = tf.stack([chosen, cell], -1)
        pairs = [
            tf.gather_nd(tf.reshape(value, [layer_size, -1, self._dimension]), places)
            for value in (left_value, right_value)
        ]
        first = tf.bitwise.left_shift(1, self._finished_layers) - 1
        nodes = first + chosen
        tree = tf.fill(tf.shape(nodes), self.finished_trees)
        parents = tf.stack([tree, nodes], -1)
        inherited = tf.gather_nd(self._values, parents)
        updates = [
            tf.scatter_nd_update(self._features, parents, cell // num_buckets),
            tf.scatter_nd_update(self._thresholds, parents, cell % num_buckets),
        ]
        for side, value in enumerate(pairs, 1):
            children = tf.stack([tree, 2 * nodes + side], -1)
            new = inherited + growth.learning_rate * value
            updates.append(tf.scatter_nd_update(self._values, children, new))
        layer = self._finished_layers + 1
        is_grown = (layer >= self._max_depth) | tf.equal(tf.size(chosen), 0)
        with tf.control_dependencies([*updates, is_grown, layer]):
            return tf.group(
                tf.assign(self._finished_layers, tf.where(is_grown, 0, layer)),
                tf.assign_add(self.finished_trees, tf.cast(is_grown, tf.int32)),
                tf.assign(sums, tf.zeros_like(sums)),
                tf.assign(curvatures, tf.zeros_like(curvatures)),
                tf.assign(batches, 0),
            )


def _state(name: str, shape: Any, dtype: Any, initializer: Any) -> Any:
    return tf.get_variable(name, shape, dtype, initializer, trainable=False)


def _best_values(sums: Any, curvatures: Any, growth: Growth) -> tuple[Any, Any]:
    """Return the values of leaves that lower the loss most, and by how much, twice."""
    l1 = growth.l1_regularization
    shrunk = tf.sign(sums) * tf.maximum(tf.abs(sums) - l1, 0.0)
    curve = curvatures + growth.l2_regularization
    safe = tf.where(curve > 0, curve, tf.ones_like(curve))
    value = tf.where(curve > 0, -shrunk / safe, tf.zeros_like(curve))
    return value, -tf.reduce_sum(value * shrunk, -1)
