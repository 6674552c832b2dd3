"""Training from tf.data: slices, a map, batches, epochs; another pipeline for evaluation."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Fit a plane; return the error on unseen points."""
    random = np.random.RandomState(18)
    points = random.uniform(-1.0, 1.0, (120, 2)).astype(np.float32)
    heights = (points @ [1.5, -0.5] + 0.25).astype(np.float32)

    def scaled(point: tf.Tensor, height: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return point * 2.0, height

    whole = tf.data.Dataset.from_tensor_slices((points, heights)).map(scaled)
    training = whole.take(96).repeat(8).batch(16)
    testing = whole.skip(96).batch(24)
    iterator = tf.data.Iterator.from_structure(
        tf.data.get_output_types(training), tf.data.get_output_shapes(training)
    )
    x, y = iterator.get_next()
    start_training = iterator.make_initializer(training)
    start_testing = iterator.make_initializer(testing)

    predicted = tf.squeeze(tf.layers.dense(x, 1, kernel_initializer=tf.zeros_initializer()), 1)
    loss = tf.reduce_mean(tf.square(predicted - y))
    train = tf.train.AdagradOptimizer(0.3).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(start_training)
        steps = 0
        while True:
            try:
                session.run(train)
            except tf.errors.OutOfRangeError:
                break
            steps += 1
        session.run(start_testing)
        error = session.run(loss)
    assert steps == 48
    assert error < 0.01
    return {"steps": float(steps), "error": float(error)}


if __name__ == "__main__":
    print(main())
