"""Linear regression: a line through noisy points, by gradient descent on fed batches."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Fit ``y = 3 x - 2``; return the coefficients."""
    random = np.random.RandomState(0)
    xs = random.uniform(-1.0, 1.0, 200).astype(np.float32)
    ys = (3.0 * xs - 2.0 + random.normal(0.0, 0.05, 200)).astype(np.float32)

    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.placeholder(tf.float32, [None], name="y")
    weight = tf.Variable(0.0, name="weight")
    bias = tf.Variable(0.0, name="bias")
    loss = tf.reduce_mean(tf.square(weight * x + bias - y))
    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.5, global_step, decay_steps=50, decay_rate=0.8)
    train = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=global_step)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(100):
            batch = slice(step % 4 * 50, step % 4 * 50 + 50)
            session.run(train, feed_dict={x: xs[batch], y: ys[batch]})
        found = session.run(
            {"weight": weight, "bias": bias, "loss": loss, "steps": global_step},
            feed_dict={x: xs, y: ys},
        )
    assert abs(found["weight"] - 3.0) < 0.05
    assert abs(found["bias"] + 2.0) < 0.05
    return {key: float(value) for key, value in found.items()}


if __name__ == "__main__":
    print(main())
