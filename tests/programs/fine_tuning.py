"""A saved network is imported from its MetaGraphDef, frozen, and given a new last layer."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import tfnb as tf


def pretrain(folder: Path) -> str:
    """Save a network with random weights; its features are in a collection."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(20)
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        features = tf.layers.dense(x, 5, tf.nn.relu, name="features")
        tf.layers.dense(features, 2, name="scores")
        tf.add_to_collection("features", features)
        session.run(tf.global_variables_initializer())
        return tf.train.Saver(max_to_keep=2).save(session, str(folder / "model"), global_step=10)


def main() -> dict[str, float]:
    """Train the new layer only."""
    x = np.random.RandomState(0).randn(6, 4)
    with tempfile.TemporaryDirectory() as folder:
        path = pretrain(Path(folder))
        saver = tf.train.import_meta_graph(f"{path}.meta")
        graph = tf.get_default_graph()
        features = tf.stop_gradient(tf.get_collection("features")[0])
        scores = tf.layers.dense(features, 3, kernel_initializer=tf.ones_initializer(), name="new")
        labels = tf.placeholder(tf.int64, [None])
        loss = tf.losses.sparse_softmax_cross_entropy(labels, scores)
        new = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="new")
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=new)
        feeds = {"x:0": x, labels: [0, 1, 2, 0, 1, 2]}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            saver.restore(session, tf.train.latest_checkpoint(folder))
            kept = session.run("features/kernel:0")
            losses = [session.run([loss, train], feeds)[0] for _ in range(20)]
            assert np.array_equal(session.run("features/kernel:0"), kept)
            old = session.run(graph.get_tensor_by_name("scores/BiasAdd:0"), {"x:0": x})
    assert losses[-1] < losses[0]
    return {"first": float(losses[0]), "last": float(losses[-1]), "old": float(np.abs(old).sum())}


if __name__ == "__main__":
    print(main())
