"""Q-learning with a trained network and a target network, which is a copy updated now and then."""

from __future__ import annotations

import numpy as np

import tfnb as tf

GAMMA = 0.9


def values(state: tf.Tensor, scope: str) -> tf.Tensor:
    """Return the values of three actions."""
    with tf.variable_scope(scope):
        hidden = tf.layers.dense(state, 10, tf.nn.relu, name="hidden")
        return tf.layers.dense(hidden, 3, name="values")


def main() -> dict[str, float]:
    """Learn from random transitions."""
    random = np.random.RandomState(4)
    tf.set_random_seed(9)
    state = tf.placeholder(tf.float32, [None, 4])
    following = tf.placeholder(tf.float32, [None, 4])
    action = tf.placeholder(tf.int32, [None])
    reward = tf.placeholder(tf.float32, [None])
    is_last = tf.placeholder(tf.float32, [None])
    learned, aimed_at = values(state, "learned"), values(following, "target")
    online = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="learned")
    target = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="target")
    copy = [tf.assign(t, o) for t, o in zip(target, online)]
    follow = tf.group(*[t.assign(0.9 * t + 0.1 * o) for t, o in zip(target, online)])

    best = tf.reduce_max(aimed_at, axis=1)
    aim = tf.stop_gradient(reward + GAMMA * (1.0 - is_last) * best)
    chosen = tf.gather_nd(learned, tf.stack([tf.range(tf.shape(action)[0]), action], axis=1))
    loss = tf.losses.huber_loss(aim, chosen)
    train = tf.train.RMSPropOptimizer(0.01, 0.95, 0.01).minimize(loss, var_list=online)

    losses = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(copy)
        for number in range(20):
            feeds = {
                state: random.randn(8, 4),
                action: random.randint(0, 3, 8),
                reward: random.randn(8),
                following: random.randn(8, 4),
                is_last: random.rand(8) > 0.8,
            }
            losses.append(session.run([train, loss], feeds)[1])
            session.run(copy if number % 7 == 6 else follow)
        kernel = session.run(target[0])
    return {"first": float(losses[0]), "last": float(losses[-1]), "kernel": float(kernel.sum())}


if __name__ == "__main__":
    print(main())
