"""word2vec: embeddings of the words of an artificial language, with noise-contrastive loss."""

from __future__ import annotations

import math

import numpy as np

import tfnb as tf

ANIMALS, NUMBERS = ("cat", "dog", "cow", "hen"), ("one", "two", "six", "ten")


def skip_grams() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return pairs of neighbouring words: animals are beside animals, numbers beside numbers."""
    words = [*ANIMALS, *NUMBERS]
    pairs = [
        (words.index(a), words.index(b))
        for group in (ANIMALS, NUMBERS)
        for a in group
        for b in group
        if a != b
    ]
    inputs, labels = np.array(pairs * 8, np.int32).T
    return inputs, labels[:, None], words


def main() -> dict[str, float]:
    """Train the embeddings; return the similarities of words of one kind and of two kinds."""
    inputs, labels, words = skip_grams()
    size = 6
    tf.set_random_seed(9)
    examples = tf.placeholder(tf.int32, [None])
    targets = tf.placeholder(tf.int32, [None, 1])
    embeddings = tf.Variable(tf.random_uniform([len(words), size], -1.0, 1.0), name="embeddings")
    embedded = tf.nn.embedding_lookup(embeddings, examples)
    weights = tf.Variable(tf.truncated_normal([len(words), size], stddev=1.0 / math.sqrt(size)))
    biases = tf.Variable(tf.zeros([len(words)]))
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=weights,
            biases=biases,
            labels=targets,
            inputs=embedded,
            num_sampled=4,
            num_classes=len(words),
        )
    )
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    normalized = tf.nn.l2_normalize(embeddings, axis=1)
    similarity = tf.matmul(normalized, normalized, transpose_b=True)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss, {examples: inputs, targets: labels})
        for _ in range(150):
            session.run(train, {examples: inputs, targets: labels})
        alike = session.run(similarity)
    same = (alike[:4, :4].sum() + alike[4:, 4:].sum() - 8) / 24
    other = alike[:4, 4:].mean()
    assert same > other + 0.5
    return {"first_loss": float(first), "same": float(same), "other": float(other)}


if __name__ == "__main__":
    print(main())
