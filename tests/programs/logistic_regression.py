"""Logistic regression: two clouds of points are classified, with Adam and weight decay."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Train the classifier; return loss and accuracy."""
    random = np.random.RandomState(1)
    labels = random.randint(0, 2, 300).astype(np.float32)
    points = random.normal(0.0, 1.0, (300, 2)) + np.where(labels[:, None] > 0, 2.0, -2.0)

    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.placeholder(tf.float32, [None])
    weights = tf.get_variable(
        "weights",
        [2, 1],
        initializer=tf.truncated_normal_initializer(stddev=0.1),
        regularizer=lambda w: 1e-3 * tf.nn.l2_loss(w),
    )
    bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    logits = tf.squeeze(tf.matmul(x, weights) + bias, axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    total = loss + tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    train = tf.train.AdamOptimizer(0.1).minimize(total)
    right = tf.equal(tf.cast(logits > 0, tf.float32), y)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))

    feed = {x: points, y: labels}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(total, feed)
        for _ in range(60):
            session.run(train, feed)
        after, share = session.run([total, accuracy], feed)
    assert after < before / 3
    assert share > 0.97
    return {"before": float(before), "after": float(after), "accuracy": float(share)}


if __name__ == "__main__":
    print(main())
