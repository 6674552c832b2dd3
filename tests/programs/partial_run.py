"""A step in parts: late feeds depend on early fetches."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Run a forward pass, decide outside of the graph, and run the rest of the same step."""
    x = tf.placeholder(tf.float32, [3], name="x")
    noise = tf.random_uniform([3], seed=17)
    hidden = x * 2.0 + noise
    target = tf.placeholder(tf.float32, [3], name="target")
    loss = tf.reduce_sum(tf.square(hidden - target))
    gradient = tf.gradients(loss, x)[0]

    with tf.Session() as session:
        handle = session.partial_run_setup([hidden, loss, gradient], [x, target])
        early = session.partial_run(handle, hidden, feed_dict={x: [1.0, 2.0, 3.0]})
        wanted = np.round(early)
        total, slope = session.partial_run(handle, [loss, gradient], feed_dict={target: wanted})
    # The noise is drawn once: both parts belong to one step.
    np.testing.assert_allclose(total, np.square(early - wanted).sum(), rtol=1e-5)
    np.testing.assert_allclose(slope, 4.0 * (early - wanted), rtol=1e-4, atol=1e-5)
    return {"early": float(early.sum()), "loss": float(total)}


if __name__ == "__main__":
    print(main())
