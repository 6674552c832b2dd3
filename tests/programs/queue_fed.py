"""Training from queues: a producer of examples, queue runners, a coordinator, batches."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Fit a line to two epochs of queued examples; return when they ended."""
    xs = np.linspace(-1.0, 1.0, 40).astype(np.float32)
    ys = 2.0 * xs + 1.0
    x, y = tf.train.slice_input_producer([xs, ys], num_epochs=25, shuffle=False)
    batch_x, batch_y = tf.train.batch([x, y], batch_size=8, num_threads=1, capacity=32)
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(weight * batch_x + bias - batch_y))
    global_step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step)

    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while not coordinator.should_stop():
                session.run(train)
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=30)
        found = session.run({"weight": weight, "bias": bias, "steps": global_step})
    assert found["steps"] == 125
    assert abs(found["weight"] - 2.0) < 0.1
    assert abs(found["bias"] - 1.0) < 0.1
    return {key: float(value) for key, value in found.items()}


if __name__ == "__main__":
    print(main())
