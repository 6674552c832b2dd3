"""Recurrent models: taggers, translators, classifiers and language models."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.models.layers import (
    DropoutCell,
    GRUCell,
    LSTMCell,
    clipped,
    dense,
    numbers,
    weights,
    zeros,
)
from benchmarks.models.programs import Model, program


def _log_partition(tf: Any, scores: Any, lengths: Any, transitions: Any) -> Any:
    """Return the logarithm of the sum over all tag sequences, by the forward algorithm."""
    steps = tf.transpose(scores, [1, 0, 2])
    times = tf.range(1, tf.shape(steps)[0])

    def forward(alphas: Any, now: tuple[Any, Any]) -> Any:
        score, time = now
        longer = tf.expand_dims(alphas, 2) + tf.expand_dims(transitions, 0)
        updated = tf.reduce_logsumexp(longer, axis=1) + score
        return tf.where(time < lengths, updated, alphas)

    alphas = tf.scan(forward, (steps[1:], times), steps[0])
    return tf.reduce_logsumexp(alphas[-1], axis=1)


def _sequence_score(tf: Any, scores: Any, tags: Any, mask: Any, transitions: Any, n: int) -> Any:
    """Return the score of the given tags."""
    unary = tf.reduce_sum(scores * tf.one_hot(tags, n), 2)
    pairs = tf.gather(tf.reshape(transitions, [-1]), tags[:, :-1] * n + tags[:, 1:])
    return tf.reduce_sum(unary * mask, 1) + tf.reduce_sum(pairs * mask[:, 1:], 1)


@program("RNN")
def bilstm_crf(tf: Any) -> Model:
    """Tag 8 x 30 words: embeddings, dropout, BiLSTM of 64, conditional random field, Adam."""
    random = numbers(11)
    words, tags, batch, length = 500, 9, 8, 30
    ids = tf.placeholder(tf.int32, [None, length])
    labels = tf.placeholder(tf.int32, [None, length])
    lengths = tf.placeholder(tf.int32, [None])
    feeds = {
        ids: random.randint(0, words, [batch, length]).astype("i4"),
        labels: random.randint(0, tags, [batch, length]).astype("i4"),
        lengths: random.randint(15, length + 1, [batch]).astype("i4"),
    }
    table = weights(tf, "words", [words, 50], 0.1)
    x = tf.nn.dropout(tf.nn.embedding_lookup(table, ids), keep_prob=0.5, seed=5)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(
        LSTMCell(tf, 64, "forward"),
        LSTMCell(tf, 64, "backward"),
        x,
        sequence_length=lengths,
        dtype=tf.float32,
    )
    scores = dense(tf, tf.concat(outputs, 2), tags, "scores")
    transitions = weights(tf, "transitions", [tags, tags], 0.1)
    mask = tf.sequence_mask(lengths, length, tf.float32)
    score = _sequence_score(tf, scores, labels, mask, transitions, tags)
    loss = tf.reduce_mean(_log_partition(tf, scores, lengths, transitions) - score)
    train = clipped(tf, tf.train.AdamOptimizer(1e-3), loss)
    return Model(feeds, [scores, loss], train, loss)


@program("RNN")
def seq2seq_attention(tf: Any) -> Model:
    """Translate 8 x 20 words: GRU encoder and decoder of 64, additive attention, Adam."""
    random = numbers(12)
    words, batch, size, given, wanted = 400, 8, 64, 20, 15
    source = tf.placeholder(tf.int32, [None, given])
    target = tf.placeholder(tf.int32, [None, wanted + 1])
    feeds = {
        source: random.randint(0, words, [batch, given]).astype("i4"),
        target: random.randint(0, words, [batch, wanted + 1]).astype("i4"),
    }
    table = weights(tf, "words", [words, size], 0.1)
    memory, state = tf.nn.dynamic_rnn(
        GRUCell(tf, size, "encoder"), tf.nn.embedding_lookup(table, source), dtype=tf.float32
    )
    keys = dense(tf, memory, size, "keys")
    v = weights(tf, "v", [size], 0.1)
    query_kernel = weights(tf, "query", [size, size])
    cell = GRUCell(tf, size, "decoder")

    def step(before: tuple[Any, Any], word: Any) -> tuple[Any, Any]:
        state, context = before
        _, state = cell(tf.concat([word, context], 1), state)
        query = tf.expand_dims(tf.matmul(state, query_kernel), 1)
        shares = tf.nn.softmax(tf.reduce_sum(v * tf.tanh(keys + query), 2))
        return state, tf.reduce_sum(tf.expand_dims(shares, 2) * memory, 1)

    inputs = tf.transpose(tf.nn.embedding_lookup(table, target[:, :-1]), [1, 0, 2])
    inputs.set_shape([wanted, None, size])
    states, contexts = tf.scan(step, inputs, (state, tf.zeros_like(state)))
    outputs = tf.concat([states, contexts], 2)
    outputs.set_shape([wanted, None, 2 * size])
    logits = dense(tf, outputs, words, "logits")
    labels = tf.transpose(target[:, 1:])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = clipped(tf, tf.train.AdamOptimizer(1e-3), loss)
    return Model(feeds, [tf.nn.log_softmax(logits)], train, loss)


@program("RNN")
def rnn_dropout(tf: Any) -> Model:
    """Classify 60 steps: LSTM of 48 with dropout at each step, maximum over time, Adam."""
    random = numbers(13)
    batch, length, width, classes = 16, 60, 32, 5
    x = tf.placeholder(tf.float32, [None, length, width])
    labels = tf.placeholder(tf.int32, [None])
    lengths = tf.placeholder(tf.int32, [None])
    keep = tf.placeholder(tf.float32, [])
    feeds = {
        keep: np.float32(0.8),
        x: random.standard_normal([batch, length, width]).astype("f4"),
        labels: random.randint(0, classes, [batch]).astype("i4"),
        lengths: random.randint(20, length + 1, [batch]).astype("i4"),
    }
    cell = DropoutCell(tf, LSTMCell(tf, 48, "lstm"), keep, 3)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    logits = dense(tf, tf.reduce_max(outputs, 1), classes, "logits")
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    return Model(feeds, [logits], train, loss, checked={keep: np.float32(1.0)})


@program("RNN")
def lstm_language_model(tf: Any) -> Model:
    """Predict words: two LSTMs of 128 unrolled over 20 steps, dropout, clipped gradients, SGD."""
    random = numbers(14)
    words, batch, length, size = 1000, 16, 20, 128
    ids = tf.placeholder(tf.int32, [batch, length + 1])
    feeds = {ids: random.randint(0, words, [batch, length + 1]).astype("i4")}
    table = weights(tf, "words", [words, size], 0.1)
    inputs = tf.nn.dropout(tf.nn.embedding_lookup(table, ids[:, :-1]), keep_prob=0.9, seed=1)
    cells = [LSTMCell(tf, size, f"lstm{i}", 0.0) for i in range(2)]
    states = [cell.zero_state(batch, tf.float32) for cell in cells]
    outputs = []
    for time in range(length):
        x = inputs[:, time, :]
        for i, cell in enumerate(cells):
            x, states[i] = cell(x, states[i])
            x = tf.nn.dropout(x, keep_prob=0.9, seed=2 + i + 2 * time)
        outputs.append(x)
    flat = tf.reshape(tf.concat(outputs, 1), [-1, size])
    logits = tf.matmul(flat, weights(tf, "softmax", [size, words])) + zeros(tf, "bias", [words])
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(ids[:, 1:], [-1]), logits=logits
        )
    )
    train = clipped(tf, tf.train.GradientDescentOptimizer(0.5), loss)
    return Model(feeds, [logits, loss], train, loss)


@program("RNN")
def char_rnn_step(tf: Any) -> Model:
    """Read one character and fed states: one step of a text generator, two LSTMs of 128."""
    random = numbers(15)
    characters, size = 65, 128
    ids = tf.placeholder(tf.int32, [1])
    fed = [tf.placeholder(tf.float32, [1, size]) for _ in range(4)]
    feeds: dict[Any, Any] = {ids: np.array([7], "i4")}
    feeds |= {one: random.standard_normal([1, size]).astype("f4") for one in fed}
    x = tf.nn.embedding_lookup(weights(tf, "characters", [characters, size], 0.1), ids)
    states = []
    for i in range(2):
        x, state = LSTMCell(tf, size, f"lstm{i}")(x, (fed[2 * i], fed[2 * i + 1]))
        states += state
    return Model(feeds, [tf.nn.softmax(dense(tf, x, characters, "logits")), *states])
