"""Partitioned embeddings: lookups in all parts, sparse features, sparse gradients."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Train a recommender of users and items whose tables are partitioned."""
    random = np.random.RandomState(19)
    users, items = random.randint(0, 12, 200), random.randint(0, 9, 200)
    taste, kind = random.normal(size=(12, 2)), random.normal(size=(9, 2))
    ratings = (taste[users] * kind[items]).sum(axis=1).astype(np.float32)

    tf.set_random_seed(20)
    with tf.variable_scope("tables", partitioner=tf.fixed_size_partitioner(3)):
        user_table = tf.get_variable("users", [12, 4])
        item_table = tf.get_variable("items", [9, 4])
    assert [v.shape.as_list() for v in user_table] == [[4, 4]] * 3
    user = tf.nn.embedding_lookup(user_table, users, partition_strategy="div")
    item = tf.nn.embedding_lookup(item_table, items, partition_strategy="div")
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(user * item, axis=1) - ratings))
    gradients = tf.gradients(loss, list(user_table))
    assert all(isinstance(gradient, tf.IndexedSlices) for gradient in gradients)
    train = tf.train.AdagradOptimizer(0.5).minimize(loss)

    history = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 5, 11], tf.int64), [2, 2])
    mean = tf.nn.embedding_lookup_sparse(
        user_table, history, None, partition_strategy="div", combiner="mean"
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(80):
            session.run(train)
        after, means, whole = session.run([loss, mean, tf.convert_to_tensor(user_table)])
    np.testing.assert_allclose(means[0], whole[[1, 5]].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(means[1], whole[11], rtol=1e-5)
    assert after < before / 20
    return {"before": float(before)}


if __name__ == "__main__":
    print(main())
