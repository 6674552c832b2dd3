"""An LSTM run over sequences of several lengths: is the sum of the steps positive?"""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Train the network; return loss and accuracy."""
    random = np.random.RandomState(7)
    lengths = random.randint(2, 9, 128)
    steps = random.normal(0.0, 1.0, (128, 8, 1)).astype(np.float32)
    inside = np.arange(8)[None, :, None] < lengths[:, None, None]
    labels = ((steps * inside).sum(axis=(1, 2)) > 0).astype(np.float32)

    tf.set_random_seed(8)
    x = tf.placeholder(tf.float32, [None, None, 1])
    length = tf.placeholder(tf.int32, [None])
    y = tf.placeholder(tf.float32, [None])
    cell = tf.nn.rnn_cell.BasicLSTMCell(12)
    outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=length, dtype=tf.float32)
    logits = tf.squeeze(tf.layers.dense(state.h, 1), axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.AdamOptimizer(0.03).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(logits > 0, y > 0.5), tf.float32))
    # Outputs beyond the end of a sequence are zero.
    beyond = tf.boolean_mask(outputs, tf.logical_not(tf.sequence_mask(length, 8)))

    feed = {x: steps, length: lengths, y: labels}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss, feed)
        for _ in range(60):
            session.run(train, feed)
        after, share, silence = session.run([loss, accuracy, beyond], feed)
    assert not silence.any()
    assert share > 0.9
    return {"before": float(before), "after": float(after), "accuracy": float(share)}


if __name__ == "__main__":
    print(main())
