"""Moving averages of the weights, updated after each training step and restored as weights."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Train, save, and restore the averages as weights."""
    with tf.variable_scope("model"):
        w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
        b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(tf.square(w - [1.0, 2.0, 3.0])) + tf.square(b - 4.0)
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
    averages = tf.train.ExponentialMovingAverage(0.9, num_updates=step)
    with tf.control_dependencies([optimizer]):
        train = averages.apply(tf.trainable_variables())
    with tf.control_dependencies([train]):
        distance = tf.reduce_sum(tf.abs(w - averages.average(w)))
    saver = tf.train.Saver()

    with tempfile.TemporaryDirectory() as folder, tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(6):
            apart, last = session.run([distance, loss])
        weights, kept = session.run([w, averages.average(w)])
        path = saver.save(session, str(Path(folder) / "model"), global_step=step)
        tf.train.Saver(averages.variables_to_restore()).restore(session, path)
        restored = session.run(w)
    assert np.array_equal(restored, kept)
    assert not np.allclose(restored, weights)
    assert np.isclose(apart, np.abs(weights - kept).sum(), atol=1e-5)
    return {"distance": float(apart), "loss": float(last), "average": float(kept[2])}


if __name__ == "__main__":
    print(main())
