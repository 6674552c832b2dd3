"""From training to a file for serving: a recurrent network saved, imported, trained on, frozen."""

from __future__ import annotations

import os
import tempfile

import numpy as np

import tfnb as tf


def build() -> None:
    """Build two LSTM layers, trained to give one half."""
    tf.set_random_seed(22)
    x = tf.placeholder(tf.float32, [None, 4, 2], name="x")
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(3) for _ in range(2)])
    lengths = tf.fill([tf.shape(x)[0]], 3)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs[:, :3] - 0.5), name="loss")
    tf.train.AdamOptimizer(0.1).minimize(loss, name="train")


def main() -> dict[str, float]:
    """Return the loss at every stage."""
    x = np.sin(np.arange(16.0)).reshape(2, 4, 2)
    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default(), tf.Session() as session:
            build()
            session.run(tf.global_variables_initializer())
            first = session.run("loss:0", {"x:0": x})
            path = tf.train.Saver().save(session, os.path.join(folder, "model"))
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.train.import_meta_graph(f"{path}.meta").restore(session, path)
            imported = session.run("loss:0", {"x:0": x})
            for _ in range(5):
                session.run("train", {"x:0": x})
            trained = session.run("loss:0", {"x:0": x})
            # The imported loop has gradients, too.
            inputs, loss = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("loss:0")
            slope = session.run(tf.gradients(loss, inputs)[0], {"x:0": x})
            frozen = tf.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), ["loss"]
            )
    with tf.Graph().as_default(), tf.Session() as session:
        (loss,) = tf.import_graph_def(frozen, return_elements=["loss:0"], name="served")
        served = session.run(loss, {"served/x:0": x})
    assert first == imported
    assert trained < first
    np.testing.assert_allclose(served, trained, rtol=1e-5)
    assert not slope[:, 3].any()  # beyond the sequences' ends
    return {"first": float(first), "trained": float(trained), "slope": float(np.abs(slope).sum())}


if __name__ == "__main__":
    print(main())
