"""Train the convolutional model of notebooks/00_quickstart.ipynb and freeze it.

Runs only where TensorFlow and scikit-learn are installed; tfnb itself needs neither. The result
is one frozen GraphDef with the weights as constants, so that opening it needs no checkpoint:

    python scripts/oracle/train_digits_model.py notebooks/models/digits_conv.pb

Inputs and outputs of the frozen graph: "images:0" (float, [?, 8, 8, 1], values in [0, 1]),
"probabilities:0" (float, [?, 10]) and "digit:0" (int64, [?]).
"""

from __future__ import annotations

import argparse
import pathlib

import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 7
MAX_BYTES = 1_000_000


def weight(name: str, shape: list[int]) -> tf.Variable:
    """Make a weight variable with He's normal initial values."""
    fan_in = int(np.prod(shape[:-1]))
    initial = tf.random.truncated_normal(shape, stddev=(2.0 / fan_in) ** 0.5, seed=SEED)
    return tf.Variable(initial, name=name)


def conv_block(images: tf.Tensor, channels: int, name: str) -> tf.Tensor:
    """Convolve 3x3, add a bias, rectify, and halve the picture."""
    with tf.name_scope(name):
        filters = weight("filters", [3, 3, int(images.shape[-1]), channels])
        biases = tf.Variable(tf.zeros([channels]), name="biases")
        features = tf.nn.conv2d(images, filters, strides=[1, 1, 1, 1], padding="SAME", name="conv")
        features = tf.nn.relu(tf.nn.bias_add(features, biases, name="add_bias"), name="relu")
        return tf.nn.max_pool2d(features, ksize=2, strides=2, padding="SAME", name="pool")


def dense(features: tf.Tensor, units: int, name: str) -> tf.Tensor:
    """Multiply by a weight matrix and add a bias."""
    with tf.name_scope(name):
        weights = weight("weights", [int(features.shape[-1]), units])
        biases = tf.Variable(tf.zeros([units]), name="biases")
        return tf.nn.bias_add(tf.matmul(features, weights, name="product"), biases, name="add_bias")


def build() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Operation]:
    """Build the model and its training step; return images, labels, probabilities, digit, train."""
    images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    features = conv_block(images, 16, "block_1")
    features = conv_block(features, 32, "block_2")
    with tf.name_scope("flatten"):
        features = tf.reshape(features, [-1, 2 * 2 * 32], name="reshape")
    features = tf.nn.relu(dense(features, 64, "hidden"), name="hidden/relu")
    logits = dense(features, 10, "logits")
    probabilities = tf.nn.softmax(logits, name="probabilities")
    digit = tf.argmax(logits, axis=1, name="digit")
    with tf.name_scope("training"):
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        train = tf.train.AdamOptimizer(2e-3).minimize(tf.reduce_mean(losses))
    return images, labels, probabilities, digit, train


def main() -> None:
    """Train, report the held-out accuracy, freeze, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args()

    tf.disable_v2_behavior()
    tf.set_random_seed(SEED)
    rng = np.random.default_rng(SEED)
    digits = load_digits()
    pictures = (digits.images / 16.0).astype(np.float32)[..., None]
    x_train, x_test, y_train, y_test = train_test_split(
        pictures, digits.target, test_size=0.25, random_state=0, stratify=digits.target
    )

    images, labels, probabilities, digit, train = build()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(options.epochs):
            order = rng.permutation(len(x_train))
            for start in range(0, len(order), 64):
                batch = order[start : start + 64]
                sess.run(train, {images: x_train[batch], labels: y_train[batch]})
        guesses = sess.run(digit, {images: x_test})
        accuracy = float(np.mean(guesses == y_test))
        frozen = tf.graph_util.convert_variables_to_constants(
            sess, sess.graph.as_graph_def(), [probabilities.op.name, digit.op.name]
        )
    if accuracy < 0.95:
        raise SystemExit(f"held-out accuracy {accuracy:.3f} is too low to keep this model")
    data = frozen.SerializeToString(deterministic=True)
    if len(data) > MAX_BYTES:
        raise SystemExit(f"the frozen graph has {len(data)} bytes, more than {MAX_BYTES}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(data)
    print(f"{len(frozen.node)} nodes, {len(data)} bytes, held-out accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
