"""Transformers: an encoder with a masked language model, a decoder, and its sampling loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.models.layers import dense, layer_norm, numbers, weights
from benchmarks.models.programs import Model, program

WIDTH, HEADS, LAYERS, WORDS = 128, 4, 2, 1000


def gelu(tf: Any, x: Any) -> Any:
    """Return the approximation of GELU that BERT and GPT-2 use."""
    return 0.5 * x * (1 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))


def split_heads(tf: Any, x: Any, batch: Any, length: Any) -> Any:
    """Return [batch, heads, length, width of a head]."""
    split = tf.reshape(x, tf.stack([batch, length, HEADS, WIDTH // HEADS]))
    return tf.transpose(split, [0, 2, 1, 3])


def merge_heads(tf: Any, x: Any, batch: Any, length: Any) -> Any:
    """Return [batch, length, width]."""
    merged = tf.reshape(tf.transpose(x, [0, 2, 1, 3]), tf.stack([batch, length, WIDTH]))
    merged.set_shape([None, None, WIDTH])
    return merged


def embeddings(tf: Any, ids: Any, positions: Any) -> Any:
    """Return the sum of word and position embeddings."""
    table = weights(tf, "words", [WORDS, WIDTH], 0.02)
    places = weights(tf, "positions", [128, WIDTH], 0.02)
    return tf.gather(table, ids) + tf.gather(places, positions)


def encoder_layer(tf: Any, x: Any, mask: Any, keep: float, seed: int) -> Any:
    """Return a layer of BERT: attention and two dense layers, each with dropout and a norm."""
    batch, length = tf.shape(x)[0], tf.shape(x)[1]
    q, k, v = (split_heads(tf, dense(tf, x, WIDTH, n), batch, length) for n in "qkv")
    scores = tf.matmul(q, k, transpose_b=True) * (WIDTH // HEADS) ** -0.5 + mask
    shares = tf.nn.dropout(tf.nn.softmax(scores), keep_prob=keep, seed=seed)
    context = merge_heads(tf, tf.matmul(shares, v), batch, length)
    attended = tf.nn.dropout(dense(tf, context, WIDTH, "o"), keep_prob=keep, seed=seed + 1)
    x = layer_norm(tf, x + attended, "norm")
    inner = gelu(tf, dense(tf, x, 4 * WIDTH, "inner"))
    outer = tf.nn.dropout(dense(tf, inner, WIDTH, "outer"), keep_prob=keep, seed=seed + 2)
    return layer_norm(tf, x + outer, "norm2")


def decoder_layer(tf: Any, x: Any, past: Any = None) -> tuple[Any, Any]:
    """Return a layer of GPT-2 and its keys and values, which follow those of `past`."""
    batch, length = tf.shape(x)[0], tf.shape(x)[1]
    normed = layer_norm(tf, x, "norm")
    q, k, v = tf.split(dense(tf, normed, 3 * WIDTH, "qkv"), 3, axis=2)
    q, k, v = (split_heads(tf, each, batch, length) for each in (q, k, v))
    present = tf.stack([k, v], axis=1)
    if past is not None:
        earlier_k, earlier_v = tf.unstack(past, axis=1)
        k, v = tf.concat([earlier_k, k], axis=-2), tf.concat([earlier_v, v], axis=-2)
    scores = tf.matmul(q, k, transpose_b=True) * (WIDTH // HEADS) ** -0.5
    rows, columns = tf.shape(scores)[-2], tf.shape(scores)[-1]
    visible = tf.range(rows)[:, None] >= tf.range(columns) - columns + rows
    visible = tf.reshape(tf.cast(visible, tf.float32), tf.stack([1, 1, rows, columns]))
    shares = tf.nn.softmax(scores * visible - 1e10 * (1 - visible))
    context = merge_heads(tf, tf.matmul(shares, v), batch, length)
    x = x + dense(tf, context, WIDTH, "projection")
    inner = gelu(tf, dense(tf, layer_norm(tf, x, "norm2"), 4 * WIDTH, "inner"))
    return x + dense(tf, inner, WIDTH, "outer"), present


def decoder(tf: Any, ids: Any, past: Any = None) -> tuple[Any, Any]:
    """Return logits and the keys and values of all layers."""
    length = tf.shape(ids)[1]
    start = 0 if past is None else tf.shape(past)[-2]
    positions = tf.tile(tf.expand_dims(start + tf.range(length), 0), [tf.shape(ids)[0], 1])
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        x = embeddings(tf, ids, positions)
        layers = [None] * LAYERS if past is None else tf.unstack(past, axis=1)
        presents = []
        for i, layer_past in enumerate(layers):
            with tf.variable_scope(f"layer{i}"):
                x, present = decoder_layer(tf, x, layer_past)
            presents.append(present)
        flat = tf.reshape(layer_norm(tf, x, "last"), [-1, WIDTH])
        with tf.variable_scope("", reuse=tf.AUTO_REUSE):
            logits = tf.matmul(flat, weights(tf, "words", [WORDS, WIDTH], 0.02), transpose_b=True)
    logits = tf.reshape(logits, tf.stack([tf.shape(ids)[0], length, WORDS]))
    return logits, tf.stack(presents, axis=1)


@program("transformer")
def bert(tf: Any) -> Model:
    """Predict masked words of 8 x 64: an encoder of 2 layers, 128 wide, Adam."""
    random = numbers(1)
    batch, length, masked = 8, 64, 10
    ids = tf.placeholder(tf.int32, [None, length])
    present = tf.placeholder(tf.float32, [None, length])
    places = tf.placeholder(tf.int32, [None, masked])
    labels = tf.placeholder(tf.int32, [None, masked])
    feeds = {
        ids: random.randint(0, WORDS, [batch, length]).astype("i4"),
        present: (np.arange(length) < random.randint(40, 65, [batch, 1])).astype("f4"),
        places: random.randint(0, 40, [batch, masked]).astype("i4"),
        labels: random.randint(0, WORDS, [batch, masked]).astype("i4"),
    }
    mask = (1 - present[:, None, None, :]) * -10000.0

    def encode(keep: float) -> Any:
        with tf.variable_scope("encoder", reuse=tf.AUTO_REUSE):
            x = layer_norm(tf, embeddings(tf, ids, tf.range(length)), "norm")
            for i in range(LAYERS):
                with tf.variable_scope(f"layer{i}"):
                    x = encoder_layer(tf, x, mask, keep, 10 * i + 1)
            first = tf.range(batch)[:, None] * length
            rows = tf.gather(tf.reshape(x, [-1, WIDTH]), tf.reshape(first + places, [-1]))
            rows = layer_norm(tf, gelu(tf, dense(tf, rows, WIDTH, "transform")), "norm_words")
            with tf.variable_scope("", reuse=tf.AUTO_REUSE):
                table = weights(tf, "words", [WORDS, WIDTH], 0.02)
            return tf.matmul(rows, table, transpose_b=True)

    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(labels, [-1]), logits=encode(0.9)
        )
    )
    answer = tf.nn.log_softmax(encode(1.0))
    return Model(feeds, [answer], tf.train.AdamOptimizer(1e-4).minimize(loss), loss)


@program("transformer")
def gpt2(tf: Any) -> Model:
    """Predict next words of 4 x 64: a decoder of 2 layers, 128 wide, Adam."""
    random = numbers(2)
    ids = tf.placeholder(tf.int32, [None, None])
    feeds = {ids: random.randint(0, WORDS, [4, 65]).astype("i4")}
    logits, _ = decoder(tf, ids[:, :-1])
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids[:, 1:], logits=logits)
    )
    return Model(feeds, [logits, loss], tf.train.AdamOptimizer(1e-4).minimize(loss), loss)


@program("transformer")
def gpt2_sampling(tf: Any) -> Model:
    """Write 20 words in a loop, each one of the 40 most probable, with the decoder of gpt2."""
    random = numbers(3)
    batch, head = 1, WIDTH // HEADS
    context = tf.placeholder(tf.int32, [batch, None])
    feeds = {context: random.randint(0, WORDS, [batch, 8]).astype("i4")}

    def step(ids: Any, past: Any = None) -> tuple[Any, Any]:
        logits, presents = decoder(tf, ids, past)
        presents.set_shape([batch, LAYERS, 2, HEADS, None, head])
        return logits[:, -1, :], presents

    def sample(logits: Any) -> Any:
        values, _ = tf.nn.top_k(logits, k=40)
        kept = tf.where(logits < values[:, -1, None], tf.ones_like(logits) * -1e10, logits)
        return tf.multinomial(kept, 1, seed=7, output_dtype=tf.int32)

    def body(past: Any, previous: Any, output: Any, i: Any) -> list[Any]:
        logits, presents = step(previous, past)
        word = sample(logits)
        return [
            tf.concat([past, presents], axis=-2),
            word,
            tf.concat([output, word], axis=1),
            i + 1,
        ]

    logits, past = step(context)
    first = sample(logits)
    _, _, words, _ = tf.while_loop(
        lambda past, previous, output, i: i < 19,
        body,
        [past, first, tf.concat([context, first], axis=1), tf.constant(0)],
        shape_invariants=[
            tf.TensorShape([batch, LAYERS, 2, HEADS, None, head]),
            tf.TensorShape([batch, 1]),
            tf.TensorShape([batch, None]),
            tf.TensorShape([]),
        ],
        back_prop=False,
    )
    return Model(feeds, [words])
