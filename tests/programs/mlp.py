"""A multi-layer perceptron on spirals: name scopes, momentum, clipped gradients, softmax."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def spirals(count: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points on ``classes`` arms of a spiral, and the arm of each."""
    random = np.random.RandomState(3)
    labels = np.arange(count) % classes
    radius = np.sqrt(random.uniform(0.05, 1.0, count))
    angle = radius * 4.0 + labels * (2 * np.pi / classes) + random.normal(0, 0.1, count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points.astype(np.float32), labels.astype(np.int32)


def dense(x: tf.Tensor, size: int, name: str) -> tf.Tensor:
    """One layer, from ops alone."""
    with tf.name_scope(name):
        shape = [x.shape[1].value, size]
        weights = tf.Variable(tf.truncated_normal(shape, stddev=shape[0] ** -0.5), name="weights")
        biases = tf.Variable(tf.zeros([size]), name="biases")
        return tf.nn.xw_plus_b(x, weights, biases, name="logits")


def main() -> dict[str, float]:
    """Train the network; return loss and accuracy."""
    points, labels = spirals(300, 3)
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.placeholder(tf.int32, [None])
    hidden = tf.nn.relu(dense(x, 32, "hidden1"))
    hidden = tf.nn.tanh(dense(hidden, 16, "hidden2"))
    logits = dense(hidden, 3, "output")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    optimizer = tf.train.MomentumOptimizer(0.1, momentum=0.9, use_nesterov=True)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, norm = tf.clip_by_global_norm(gradients, 2.0)
    train = optimizer.apply_gradients(zip(clipped, variables))
    accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, y, 1), tf.float32))

    feed = {x: points, y: labels}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before, first_norm = session.run([loss, norm], feed)
        for _ in range(150):
            session.run(train, feed)
        after, share = session.run([loss, accuracy], feed)
    assert share > 0.95
    return {
        "before": float(before),
        "norm": float(first_norm),
        "after": float(after),
        "accuracy": float(share),
    }


if __name__ == "__main__":
    print(main())
