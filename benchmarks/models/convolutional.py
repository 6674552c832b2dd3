"""Convolutional models: text, pictures, pictures from noise, and a cascade of detectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.models.layers import (
    batch_norm,
    conv,
    dense,
    numbers,
    weights,
    with_updates,
    zeros,
)
from benchmarks.models.programs import Model, program


def _classifier(tf: Any, feeds: dict[Any, Any], network: Any, labels: Any, optimizer: Any) -> Model:
    """Return a model whose network is built for training and for inference."""
    with tf.variable_scope("net"):
        logits = network(training=True)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    train = with_updates(tf, lambda: optimizer.minimize(loss))
    with tf.variable_scope("net", reuse=True):
        answer = network(training=False)
    return Model(feeds, [tf.nn.softmax(answer)], train, loss)


def _images(tf: Any, seed: int, batch: int, size: int) -> tuple[Any, Any, dict[Any, Any]]:
    random = numbers(seed)
    x = tf.placeholder(tf.float32, [None, size, size, 3])
    labels = tf.placeholder(tf.int32, [None])
    feeds = {
        x: random.standard_normal([batch, size, size, 3]).astype("f4"),
        labels: random.randint(0, 10, [batch]).astype("i4"),
    }
    return x, labels, feeds


@program("CNN")
def word_cnn(tf: Any) -> Model:
    """Classify sentences: filters of 3, 4 and 5 words, maximum over time, dropout, Adam."""
    random = numbers(21)
    words, width, length, batch = 1000, 64, 40, 16
    ids = tf.placeholder(tf.int32, [None, length])
    labels = tf.placeholder(tf.int32, [None])
    feeds = {
        ids: random.randint(0, words, [batch, length]).astype("i4"),
        labels: random.randint(0, 2, [batch]).astype("i4"),
    }
    x = tf.expand_dims(tf.nn.embedding_lookup(weights(tf, "words", [words, width], 0.5), ids), -1)
    pooled = []
    for size in (3, 4, 5):
        with tf.variable_scope(f"filters{size}"):
            kernel = weights(tf, "kernel", [size, width, 1, 64])
            y = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="VALID")
            y = tf.nn.relu(tf.nn.bias_add(y, zeros(tf, "bias", [64])))
        window = [1, length - size + 1, 1, 1]
        pooled.append(tf.nn.max_pool(y, window, strides=[1, 1, 1, 1], padding="VALID"))
    features = tf.reshape(tf.concat(pooled, 3), [-1, 192])
    dropped = tf.nn.dropout(features, keep_prob=0.5, seed=9)
    logits = dense(tf, dropped, 2, "logits")
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    return Model(feeds, [logits], tf.train.AdamOptimizer(1e-3).minimize(loss), loss)


@program("CNN")
def super_resolution(tf: Any) -> Model:
    """Double 4 pictures of 32 x 32: 8 convolutions with PReLU, depth_to_space, Adam."""
    random = numbers(22)
    x = tf.placeholder(tf.float32, [None, 32, 32, 1])
    wanted = tf.placeholder(tf.float32, [None, 64, 64, 1])
    feeds = {
        x: random.random_sample([4, 32, 32, 1]).astype("f4"),
        wanted: random.random_sample([4, 64, 64, 1]).astype("f4"),
    }

    def prelu(y: Any, name: str) -> Any:
        with tf.variable_scope(name):
            alphas = weights(tf, "alphas", [int(y.shape[-1])], 0.1)
        return tf.nn.relu(y) + alphas * (y - tf.abs(y)) * 0.5

    y = prelu(conv(tf, x, 32, 5, "features"), "features")
    y = prelu(conv(tf, y, 8, 1, "shrink"), "shrink")
    for i in range(4):
        y = prelu(conv(tf, y, 8, 3, f"map{i}"), f"map{i}")
    y = prelu(conv(tf, y, 32, 1, "expand"), "expand")
    y = tf.depth_to_space(conv(tf, y, 4, 5, "last"), 2)
    loss = tf.reduce_mean(tf.square(y - wanted))
    return Model(feeds, [y], tf.train.AdamOptimizer(1e-3).minimize(loss), loss)


@program("CNN")
def dcgan(tf: Any) -> Model:
    """Make pictures of 32 x 32: generator, discriminator, batch norms, a step of each by Adam."""
    random = numbers(23)
    batch = 8
    noise = tf.placeholder(tf.float32, [batch, 64])
    real = tf.placeholder(tf.float32, [batch, 32, 32, 3])
    feeds = {
        noise: random.standard_normal([batch, 64]).astype("f4"),
        real: random.uniform(-1, 1, [batch, 32, 32, 3]).astype("f4"),
    }

    def deconv(y: Any, size: int, filters: int, name: str) -> Any:
        with tf.variable_scope(name):
            kernel = weights(tf, "kernel", [5, 5, filters, int(y.shape[-1])], 0.02)
            shape = [batch, size, size, filters]
            y = tf.nn.conv2d_transpose(y, kernel, shape, strides=[1, 2, 2, 1])
            return tf.nn.bias_add(y, zeros(tf, "bias", [filters]))

    def generator(training: bool) -> Any:
        with tf.variable_scope("generator", reuse=tf.AUTO_REUSE):
            y = tf.reshape(dense(tf, noise, 4 * 4 * 64, "project"), [batch, 4, 4, 64])
            y = tf.nn.relu(batch_norm(tf, y, "norm0", training=training))
            y = deconv(y, 8, 32, "up1")
            y = tf.nn.relu(batch_norm(tf, y, "norm1", training=training))
            y = deconv(y, 16, 16, "up2")
            y = tf.nn.relu(batch_norm(tf, y, "norm2", training=training))
            return tf.tanh(deconv(y, 32, 3, "up3"))

    def discriminator(x: Any) -> Any:
        with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
            y = tf.nn.leaky_relu(conv(tf, x, 16, 5, "down0", strides=2))
            y = conv(tf, y, 32, 5, "down1", strides=2)
            y = tf.nn.leaky_relu(batch_norm(tf, y, "norm1", training=True))
            y = conv(tf, y, 64, 5, "down2", strides=2)
            y = tf.nn.leaky_relu(batch_norm(tf, y, "norm2", training=True))
            return dense(tf, tf.reshape(y, [batch, -1]), 1, "logit")

    made = generator(training=True)
    real_logits, made_logits = discriminator(real), discriminator(made)

    def loss_of(logits: Any, label: float) -> Any:
        labels = tf.ones_like(logits) * label
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))

    d_loss = loss_of(real_logits, 1.0) + loss_of(made_logits, 0.0)
    g_loss = loss_of(made_logits, 1.0)
    variables = tf.trainable_variables()
    d_variables = [v for v in variables if v.name.startswith("discriminator")]
    g_variables = [v for v in variables if v.name.startswith("generator")]
    # The gradients read the variables before either optimizer changes them.
    d_optimizer, g_optimizer = (tf.train.AdamOptimizer(2e-4, beta1=0.5) for _ in range(2))
    d_pairs = d_optimizer.compute_gradients(d_loss, d_variables)
    g_pairs = g_optimizer.compute_gradients(g_loss, g_variables)
    gradients = [gradient for gradient, _ in d_pairs + g_pairs]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies([*gradients, d_loss, g_loss, *updates]):
        train = tf.group(d_optimizer.apply_gradients(d_pairs), g_optimizer.apply_gradients(g_pairs))
    return Model(feeds, [generator(training=False)], train, d_loss)


@program("CNN")
def resnet(tf: Any) -> Model:
    """Classify 8 pictures of 32 x 32: a ResNet of 6 blocks, batch norms, Momentum."""
    x, labels, feeds = _images(tf, 24, 8, 32)

    def network(training: bool) -> Any:
        y = conv(tf, x, 16, 3, "stem", bias=False)
        for i, (filters, strides) in enumerate(
            [(16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)]
        ):
            with tf.variable_scope(f"block{i}"):
                z = tf.nn.relu(batch_norm(tf, y, "norm1", training=training))
                if strides == 2:
                    y = conv(tf, z, filters, 1, "shortcut", strides=2, bias=False)
                z = conv(tf, z, filters, 3, "conv1", strides=strides, bias=False)
                z = tf.nn.relu(batch_norm(tf, z, "norm2", training=training))
                y = y + conv(tf, z, filters, 3, "conv2", bias=False)
        y = tf.nn.relu(batch_norm(tf, y, "norm", training=training))
        return dense(tf, tf.reduce_mean(y, [1, 2]), 10, "logits")

    return _classifier(tf, feeds, network, labels, tf.train.MomentumOptimizer(0.01, 0.9))


@program("CNN")
def mobilenet(tf: Any) -> Model:
    """Classify 4 pictures of 64 x 64: a MobileNet of 5 depthwise blocks, RMSProp."""
    x, labels, feeds = _images(tf, 25, 4, 64)

    def network(training: bool) -> Any:
        y = conv(tf, x, 16, 3, "stem", strides=2, bias=False)
        y = tf.nn.relu6(batch_norm(tf, y, "norm", training=training))
        for i, (filters, strides) in enumerate([(32, 1), (64, 2), (64, 1), (128, 2), (128, 1)]):
            with tf.variable_scope(f"block{i}"):
                kernel = weights(tf, "depthwise", [3, 3, int(y.shape[-1]), 1], 0.3)
                window = [1, strides, strides, 1]
                y = tf.nn.depthwise_conv2d_native(y, kernel, strides=window, padding="SAME")
                y = tf.nn.relu6(batch_norm(tf, y, "norm1", training=training))
                y = conv(tf, y, filters, 1, "pointwise", bias=False)
                y = tf.nn.relu6(batch_norm(tf, y, "norm2", training=training))
        return dense(tf, tf.reduce_mean(y, [1, 2]), 10, "logits")

    optimizer = tf.train.RMSPropOptimizer(1e-3, momentum=0.9, epsilon=1.0)
    return _classifier(tf, feeds, network, labels, optimizer)


@program("CNN")
def inception(tf: Any) -> Model:
    """Classify a picture of 35 x 35 x 48: two Inception blocks of four branches, Momentum."""
    random = numbers(26)
    x = tf.placeholder(tf.float32, [None, 35, 35, 48])
    labels = tf.placeholder(tf.int32, [None])
    feeds = {
        x: random.standard_normal([1, 35, 35, 48]).astype("f4"),
        labels: random.randint(0, 10, [1]).astype("i4"),
    }

    def unit(y: Any, filters: int, size: int, name: str, training: bool) -> Any:
        with tf.variable_scope(name):
            y = conv(tf, y, filters, size, "conv", bias=False)
            return tf.nn.relu(batch_norm(tf, y, "norm", training=training))

    def network(training: bool) -> Any:
        y = x
        for i in range(2):
            with tf.variable_scope(f"block{i}"):
                one = unit(y, 32, 1, "one", training)
                five = unit(unit(y, 24, 1, "five0", training), 32, 5, "five1", training)
                three = unit(unit(y, 32, 1, "three0", training), 48, 3, "three1", training)
                three = unit(three, 48, 3, "three2", training)
                pooled = tf.nn.avg_pool(y, [1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME")
                pooled = unit(pooled, 16, 1, "pool", training)
                y = tf.concat([one, five, three, pooled], 3)
        return dense(tf, tf.reduce_mean(y, [1, 2]), 10, "logits")

    return _classifier(tf, feeds, network, labels, tf.train.MomentumOptimizer(0.01, 0.9))


@program("CNN")
def mtcnn(tf: Any) -> Model:
    """Detect faces: a net on a pyramid, boxes, suppression, crops, a second net on the crops."""
    random = numbers(27)
    size = 96
    image = tf.placeholder(tf.float32, [1, size, size, 3])
    feeds = {image: random.uniform(-1, 1, [1, size, size, 3]).astype("f4")}

    def prelu(y: Any, name: str) -> Any:
        with tf.variable_scope(name):
            alphas = weights(tf, "alphas", [int(y.shape[-1])], 0.1)
        return tf.where(y > 0.0, y, y * alphas)

    def first(x: Any) -> tuple[Any, Any]:
        with tf.variable_scope("first", reuse=tf.AUTO_REUSE):
            y = prelu(conv(tf, x, 10, 3, "conv1"), "conv1")
            y = tf.nn.max_pool(y, [1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
            y = prelu(conv(tf, y, 16, 3, "conv2"), "conv2")
            y = prelu(conv(tf, y, 32, 3, "conv3"), "conv3")
            return tf.nn.softmax(conv(tf, y, 2, 1, "face")), conv(tf, y, 4, 1, "box")

    boxes, scores = [], []
    for scale in (1.0, 0.7, 0.5):
        side = int(size * scale)
        faces, moves = first(tf.image.resize_bilinear(image, [side, side]))
        cells = int(faces.shape[1])
        rows, columns = (
            axis.reshape(-1).astype("f4") for axis in np.mgrid[0:cells, 0:cells] / cells
        )
        corners = np.stack([rows, columns, rows + 12 / side, columns + 12 / side], 1)
        boxes.append(corners + 0.01 * tf.tanh(tf.reshape(moves, [-1, 4])))
        scores.append(tf.reshape(faces[..., 1], [-1]))
    all_boxes, all_scores = tf.concat(boxes, 0), tf.concat(scores, 0)
    kept = tf.image.non_max_suppression(all_boxes, all_scores, 32, 0.5)
    chosen = tf.gather(all_boxes, kept)
    owners = tf.zeros_like(kept)
    crops = tf.image.crop_and_resize(image, chosen, owners, [24, 24])
    with tf.variable_scope("second"):
        y = prelu(conv(tf, crops, 28, 3, "conv1"), "conv1")
        y = tf.nn.max_pool(y, [1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
        y = prelu(conv(tf, y, 48, 3, "conv2"), "conv2")
        y = tf.nn.max_pool(y, [1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
        y = prelu(dense(tf, tf.reshape(y, [-1, 6 * 6 * 48]), 128, "dense"), "dense")
        faces = tf.nn.softmax(dense(tf, y, 2, "face"))
    last = tf.image.non_max_suppression(chosen, faces[:, 1], 10, 0.4)
    return Model(feeds, [tf.gather(chosen, last), tf.gather(faces[:, 1], last)])
