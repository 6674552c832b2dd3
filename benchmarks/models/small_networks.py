"""Models of neither pictures nor text: a graph network, a player, a perceptron, a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.models.layers import conv, dense, numbers, weights, zeros
from benchmarks.models.programs import Model, program


@program("other")
def graph_network(tf: Any) -> Model:
    """Classify 500 nodes with 3,000 edges: two graph convolutions, sparse products, Adam."""
    random = numbers(31)
    nodes, features, classes = 500, 128, 7
    pairs = np.unique(random.randint(0, nodes, [3000, 2]), axis=0).astype("i8")
    edges = tf.sparse_placeholder(tf.float32, [nodes, nodes])
    x = tf.placeholder(tf.float32, [nodes, features])
    labels = tf.placeholder(tf.int32, [nodes])
    degrees = np.bincount(pairs[:, 0], minlength=nodes)[pairs[:, 0]]
    feeds = {
        edges.indices: pairs,
        edges.values: (1 / degrees).astype("f4"),
        x: random.random_sample([nodes, features]).astype("f4"),
        labels: random.randint(0, classes, [nodes]).astype("i4"),
    }
    hidden = tf.matmul(tf.nn.dropout(x, keep_prob=0.8, seed=4), weights(tf, "w0", [features, 32]))
    hidden = tf.nn.relu(tf.sparse_tensor_dense_matmul(edges, hidden) + zeros(tf, "b0", [32]))
    logits = tf.matmul(hidden, weights(tf, "w1", [32, classes]))
    logits = tf.sparse_tensor_dense_matmul(edges, logits) + zeros(tf, "b1", [classes])
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    loss += 5e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
    return Model(feeds, [logits], tf.train.AdamOptimizer(1e-2).minimize(loss), loss)


@program("other")
def dqn(tf: Any) -> Model:
    """Value actions on 8 screens of 40 x 40 x 4: three convolutions, a target net, RMSProp."""
    random = numbers(32)
    batch, actions = 8, 4
    now = tf.placeholder(tf.float32, [None, 40, 40, 4])
    later = tf.placeholder(tf.float32, [None, 40, 40, 4])
    action = tf.placeholder(tf.int32, [None])
    reward = tf.placeholder(tf.float32, [None])
    feeds = {
        now: random.random_sample([batch, 40, 40, 4]).astype("f4"),
        later: random.random_sample([batch, 40, 40, 4]).astype("f4"),
        action: random.randint(0, actions, [batch]).astype("i4"),
        reward: random.standard_normal([batch]).astype("f4"),
    }

    def values(x: Any, name: str) -> Any:
        with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
            y = tf.nn.relu(conv(tf, x, 16, 8, "conv1", strides=4))
            y = tf.nn.relu(conv(tf, y, 32, 4, "conv2", strides=2))
            y = tf.nn.relu(conv(tf, y, 32, 3, "conv3"))
            y = tf.nn.relu(dense(tf, tf.reshape(y, [-1, 5 * 5 * 32]), 128, "dense"))
            return dense(tf, y, actions, "values")

    online = values(now, "online")
    wanted = tf.stop_gradient(reward + 0.99 * tf.reduce_max(values(later, "target"), 1))
    chosen = tf.reduce_sum(online * tf.one_hot(action, actions), 1)
    error = wanted - chosen
    huber = tf.where(tf.abs(error) < 1.0, 0.5 * tf.square(error), tf.abs(error) - 0.5)
    loss = tf.reduce_mean(huber)
    trained = [v for v in tf.trainable_variables() if v.name.startswith("online")]
    train = tf.train.RMSPropOptimizer(2.5e-4, epsilon=0.01).minimize(loss, var_list=trained)
    return Model(feeds, [online, tf.argmax(online, 1)], train, loss)


@program("small graph")
def perceptron(tf: Any) -> Model:
    """Classify 16 x 64 numbers: two hidden layers of 32, gradient descent."""
    random = numbers(33)
    x = tf.placeholder(tf.float32, [None, 64])
    labels = tf.placeholder(tf.int32, [None])
    feeds = {
        x: random.standard_normal([16, 64]).astype("f4"),
        labels: random.randint(0, 10, [16]).astype("i4"),
    }
    y = dense(tf, dense(tf, x, 32, "one", tf.nn.relu), 32, "two", tf.nn.relu)
    logits = dense(tf, y, 10, "logits")
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return Model(feeds, [tf.nn.softmax(logits)], train, loss)


@program("small graph")
def regression(tf: Any) -> Model:
    """Fit a line to 100 points by gradient descent."""
    random = numbers(34)
    x, wanted = (tf.placeholder(tf.float32, [None]) for _ in range(2))
    points = random.random_sample([100]).astype("f4")
    feeds = {x: points, wanted: 0.1 * points + np.float32(0.3)}
    slope, offset = weights(tf, "slope", [], 1.0), zeros(tf, "offset", [])
    y = slope * x + offset
    loss = tf.reduce_mean(tf.square(y - wanted))
    return Model(feeds, [y], tf.train.GradientDescentOptimizer(0.5).minimize(loss), loss)
