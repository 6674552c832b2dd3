"""A recurrent network of two layers predicts the next letter; its state is fed explicitly."""

from __future__ import annotations

from typing import Any

import numpy as np

import tfnb as tf

TEXT = "the quick brown fox jumps over the lazy dog. " * 4
BATCH, STEPS, HIDDEN = 4, 9, 12


def main() -> dict[str, float]:
    """Train with clipped gradients, then generate text."""
    letters = sorted(set(TEXT))
    data = np.array([letters.index(letter) for letter in TEXT]).reshape(BATCH, -1)
    tf.set_random_seed(5)
    given = tf.placeholder(tf.int32, [BATCH, None])
    wanted = tf.placeholder(tf.int32, [BATCH, None])
    embedding = tf.get_variable("embedding", [len(letters), HIDDEN])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(HIDDEN) for _ in range(2)])
    start = cell.zero_state(BATCH, tf.float32)
    outputs, end = tf.nn.dynamic_rnn(
        cell, tf.nn.embedding_lookup(embedding, given), initial_state=start
    )
    logits = tf.layers.dense(outputs, len(letters))
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=logits)
    )
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 0.5)
    rate = tf.Variable(0.0, trainable=False)
    train = tf.train.AdamOptimizer(rate).apply_gradients(zip(gradients, variables))

    def feeds(state: Any, letters_given: Any) -> dict[Any, Any]:
        found = {given: letters_given}
        for (c, h), one in zip(start, state):
            found[c], found[h] = one.c, one.h
        return found

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(rate, 0.01))
        first = None
        for _ in range(3):
            state = session.run(start)
            for begin in range(0, data.shape[1] - STEPS - 1, STEPS):
                feed = feeds(state, data[:, begin : begin + STEPS])
                feed[wanted] = data[:, begin + 1 : begin + STEPS + 1]
                last, state, length, _ = session.run([loss, end, norm, train], feed)
                first = last if first is None else first
        state, letter = session.run(start), data[:, :1]
        best = tf.argmax(logits, axis=2, output_type=tf.int32)
        total = 0
        for _ in range(5):
            letter, state = session.run([best, end], feeds(state, letter))
            total += letter.shape[1]
    assert last < first
    assert total == 5
    return {"first": float(first), "last": float(last), "norm": float(length)}


if __name__ == "__main__":
    print(main())
