"""A convolutional network of tf.layers: batch normalization, dropout, pooling, a switch."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def stripes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of horizontal, vertical and diagonal stripes."""
    random = np.random.RandomState(5)
    labels = np.arange(count) % 3
    row, column = np.mgrid[0:10, 0:10]
    images = []
    for label in labels:
        direction = (row, column, row + column)[label]
        phase, period = random.randint(0, 4), random.randint(3, 5)
        images.append(((direction + phase) % period < 2) + random.normal(0, 0.3, (10, 10)))
    return np.array(images, np.float32)[..., None], labels.astype(np.int32)


def model(images: tf.Tensor, training: tf.Tensor) -> tf.Tensor:
    """The logits of three classes."""
    x = tf.layers.conv2d(images, 8, 3, padding="same", use_bias=False, name="conv1")
    x = tf.nn.relu(tf.layers.batch_normalization(x, momentum=0.9, training=training))
    x = tf.layers.max_pooling2d(x, 2, 2)
    x = tf.layers.conv2d(x, 8, 3, activation=tf.nn.relu, name="conv2")
    x = tf.layers.flatten(x)
    x = tf.layers.dense(x, 16, activation=tf.nn.relu)
    x = tf.layers.dropout(x, 0.2, training=training)
    return tf.layers.dense(x, 3, name="logits")


def main() -> dict[str, float]:
    """Train the network; return loss and accuracy."""
    images, labels = stripes(96)
    tf.set_random_seed(6)
    x = tf.placeholder(tf.float32, [None, 10, 10, 1])
    y = tf.placeholder(tf.int32, [None])
    training = tf.placeholder_with_default(False, [], name="training")
    logits = model(x, training)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
    predicted = tf.argmax(logits, axis=1, output_type=tf.int32)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(predicted, y), tf.float32))

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss, {x: images, y: labels})
        for step in range(45):
            batch = slice(step % 3 * 32, step % 3 * 32 + 32)
            session.run(train, {x: images[batch], y: labels[batch], training: True})
        after, share = session.run([loss, accuracy], {x: images, y: labels})
        names = [v.name for v in tf.trainable_variables()]
    assert "conv1/kernel:0" in names
    assert share > 0.9
    return {"before": float(before), "after": float(after), "accuracy": float(share)}


if __name__ == "__main__":
    print(main())
