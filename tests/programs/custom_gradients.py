"""Custom gradients: registered, overriding, custom_gradient, stopped."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

import tfnb as tf


@tf.custom_gradient
def log1pexp(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
    """log(1 + e^x) whose gradient does not overflow."""
    e = tf.exp(x)

    def gradient(upstream: tf.Tensor) -> tf.Tensor:
        return upstream * (1 - 1 / (1 + e))

    return tf.log(1 + e), gradient


def main() -> dict[str, float]:
    """Return gradients of all kinds, and train a network through a step function."""
    name = "ProgramsStraightThrough"
    with contextlib.suppress(KeyError):  # registered in a run before
        tf.RegisterGradient(name)(lambda op, upstream: upstream)
    x = tf.constant([100.0, 0.0, -3.0])
    overflowing = tf.gradients(tf.log(1 + tf.exp(x)), x)[0]
    stable = tf.gradients(log1pexp(x), x)[0]

    with tf.get_default_graph().gradient_override_map({"Sign": name}):
        steps = tf.sign(x)
    through = tf.gradients(tf.reduce_sum(steps * [1.0, 2.0, 3.0]), x)[0]
    stopped = tf.gradients(x * tf.stop_gradient(x * 2.0), x)[0]

    tf.set_random_seed(15)
    random = np.random.RandomState(16)
    points = random.normal(size=(64, 2)).astype(np.float32)
    labels = np.sign(points[:, :1] - 0.5 * points[:, 1:])
    weights = tf.get_variable("weights", [2, 1])
    with tf.get_default_graph().gradient_override_map({"Sign": name}):
        decided = tf.sign(tf.matmul(points, weights))
    loss = tf.reduce_mean(tf.square(decided - labels))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(40):
            session.run(train)
        found = session.run([overflowing, stable, through, stopped, loss])
    assert np.isnan(found[0][0])
    np.testing.assert_allclose(found[1], [1.0, 0.5, 0.0474258], rtol=1e-4)
    np.testing.assert_allclose(found[2], [1.0, 2.0, 3.0])
    assert found[4] < 0.3
    return {"stable": float(found[1].sum()), "stopped": float(found[3].sum())}


if __name__ == "__main__":
    print(main())
