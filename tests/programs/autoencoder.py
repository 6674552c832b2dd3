"""An autoencoder: points on a curve in eight dimensions, encoded as two numbers and decoded."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Train encoder and decoder; return the error of reconstruction."""
    random = np.random.RandomState(10)
    along = random.uniform(-1.0, 1.0, (160, 2))
    data = np.tanh(along @ random.normal(0.0, 1.0, (2, 8))).astype(np.float32)

    tf.set_random_seed(11)
    x = tf.placeholder(tf.float32, [None, 8])
    with tf.variable_scope("encoder"):
        code = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu), 2, name="code")
    with tf.variable_scope("decoder"):
        decoded = tf.layers.dense(tf.layers.dense(code, 16, tf.nn.relu), 8, tf.nn.tanh)
    loss = tf.losses.mean_squared_error(x, decoded)
    train = tf.train.RMSPropOptimizer(0.01).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss, {x: data})
        for _ in range(150):
            session.run(train, {x: data})
        after = session.run(loss, {x: data})
    assert len(tf.trainable_variables("encoder")) == 4
    assert after < before / 8
    return {"before": float(before), "after": float(after)}


if __name__ == "__main__":
    print(main())
