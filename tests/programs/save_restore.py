"""A Saver: train, save, continue in another session, in an imported graph, and in part."""

from __future__ import annotations

import os
import tempfile

import numpy as np

import tfnb as tf


def build() -> tuple[tf.Tensor, tf.Operation, tf.Variable]:
    """Build a small network whose loss decreases."""
    tf.set_random_seed(14)
    x = tf.constant(np.linspace(-1.0, 1.0, 24).reshape(8, 3).astype(np.float32))
    hidden = tf.layers.dense(x, 4, tf.nn.tanh, name="hidden")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1, name="out") - x[:, :1] ** 2))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.05).minimize(loss, step, name="train")
    return tf.identity(loss, name="loss"), train, step


def main() -> dict[str, float]:
    """Return the loss before saving, after restoring, and after continuing."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "model")
        with tf.Graph().as_default():
            loss, train, step = build()
            saver = tf.train.Saver(max_to_keep=2)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for _ in range(10):
                    session.run(train)
                    saver.save(session, prefix, global_step=step)
                saved = session.run(loss)
        latest = tf.train.latest_checkpoint(folder)
        assert latest == f"{prefix}-10"
        assert not os.path.exists(f"{prefix}-8.index")
        assert os.path.exists(f"{prefix}-9.index")

        with tf.Graph().as_default():
            loss, train, step = build()
            with tf.Session() as session:
                tf.train.Saver().restore(session, latest)
                restored = session.run(loss)
                for _ in range(10):
                    session.run(train)
                later, steps = session.run([loss, step])

        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.train.import_meta_graph(f"{latest}.meta").restore(session, latest)
            imported = session.run("loss:0")
            session.run("train")
            assert graph.get_tensor_by_name("hidden/kernel:0").shape == [3, 4]

        with tf.Graph().as_default(), tf.Session() as session:
            kernel = tf.get_variable("elsewhere", [3, 4])
            tf.train.Saver({"hidden/kernel": kernel}).restore(session, latest)
            partly = session.run(tf.reduce_sum(kernel))
    assert saved == restored == imported
    assert later < saved
    return {
        "saved": float(saved),
        "later": float(later),
        "steps": float(steps),
        "partly": float(partly),
    }


if __name__ == "__main__":
    print(main())
