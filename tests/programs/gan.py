"""A generative adversarial network that learns the position of a cloud of points."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def generator(noise: tf.Tensor) -> tf.Tensor:
    """Make points from noise."""
    with tf.variable_scope("generator"):
        hidden = tf.layers.dense(noise, 8, tf.nn.leaky_relu)
        return tf.layers.dense(hidden, 2)


def discriminator(points: tf.Tensor) -> tf.Tensor:
    """Return how real each point looks."""
    with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
        hidden = tf.layers.dense(points, 16, tf.nn.leaky_relu, name="hidden")
        return tf.layers.dense(hidden, 1, name="logits")


def main() -> dict[str, float]:
    """Train both; return the centre of the generated points."""
    random = np.random.RandomState(12)
    centre = np.array([2.0, -1.0])
    tf.set_random_seed(13)
    real = tf.placeholder(tf.float32, [None, 2])
    noise = tf.placeholder(tf.float32, [None, 3])
    fake = generator(noise)
    real_logits, fake_logits = discriminator(real), discriminator(fake)

    def entropy(logits: tf.Tensor, label: float) -> tf.Tensor:
        labels = tf.fill(tf.shape(logits), label)
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))

    discriminator_loss = entropy(real_logits, 0.9) + entropy(fake_logits, 0.0)
    generator_loss = entropy(fake_logits, 1.0)
    train_discriminator = tf.train.AdamOptimizer(0.02, beta1=0.5).minimize(
        discriminator_loss, var_list=tf.trainable_variables("discriminator")
    )
    train_generator = tf.train.AdamOptimizer(0.02, beta1=0.5).minimize(
        generator_loss, var_list=tf.trainable_variables("generator")
    )

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        test_noise = random.normal(size=(64, 3))
        start = session.run(fake, {noise: test_noise}).mean(axis=0)
        for _ in range(150):
            points = random.normal(0.0, 0.3, (32, 2)) + centre
            session.run(train_discriminator, {real: points, noise: random.normal(size=(32, 3))})
            session.run(train_generator, {noise: random.normal(size=(32, 3))})
        end = session.run(fake, {noise: test_noise}).mean(axis=0)
    assert np.linalg.norm(end - centre) < np.linalg.norm(start - centre) / 2
    return {"start_x": float(start[0]), "start_y": float(start[1])}


if __name__ == "__main__":
    print(main())
