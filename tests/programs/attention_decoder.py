"""A small translator: bidirectional encoder, attention, a decoder that reads its own output."""

from __future__ import annotations

import tfnb as tf


def encode(words: list[list[int]], lengths: list[int]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return (embeddings, the encoder's output for every word, its last state)."""
    embeddings = tf.get_variable("embeddings", [7, 4])
    outputs, states = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(3),
        tf.nn.rnn_cell.GRUCell(3),
        tf.nn.embedding_lookup(embeddings, words),
        sequence_length=lengths,
        dtype=tf.float32,
    )
    return embeddings, tf.concat(outputs, 2), tf.concat(states, 1)


def decode(embeddings: tf.Tensor, memory: tf.Tensor, state: tf.Tensor, steps: int) -> tf.Tensor:
    """Return the logits of every step; each step reads the word that the previous one chose."""
    cell = tf.nn.rnn_cell.GRUCell(6)
    keys = tf.layers.dense(memory, 5, use_bias=False, name="keys")
    word = tf.constant([1, 1])
    logits = []
    for step in range(steps):
        with tf.variable_scope("decoder", reuse=step > 0):
            query = tf.layers.dense(state, 5, use_bias=False, name="query")
            together = tf.tanh(keys + tf.expand_dims(query, 1))
            scores = tf.reduce_sum(tf.get_variable("v", [5]) * together, 2)
            weights = tf.expand_dims(tf.nn.softmax(scores), 2)
            context = tf.reduce_sum(weights * memory, 1)
            inputs = tf.concat([tf.nn.embedding_lookup(embeddings, word), context], 1)
            output, state = cell(inputs, state)
            logits.append(tf.layers.dense(output, 7, name="words"))
        word = tf.argmax(logits[-1], 1, output_type=tf.int32)
    return tf.stack(logits, 1)


def main() -> dict[str, float]:
    """Train the translator on two sentences; return the loss."""
    tf.set_random_seed(21)
    targets = [[1, 2, 3], [3, 2, 1]]
    embeddings, memory, state = encode([[1, 2, 3], [4, 5, 0]], [3, 2])
    logits = decode(embeddings, memory, state, 3)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
    )
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(40):
            session.run(train)
        after, said = session.run([loss, tf.argmax(logits, 2)])
    assert said.tolist() == targets
    return {"before": float(before), "after": float(after)}


if __name__ == "__main__":
    print(main())
