"""Shared variables: reuse, AUTO_REUSE, templates, custom getters, partial scopes."""

from __future__ import annotations

from typing import Any

import numpy as np

import tfnb as tf


def tower(x: tf.Tensor) -> tf.Tensor:
    """Build a layer with variables from the surrounding scope."""
    weights = tf.get_variable("weights", [2, 2], initializer=tf.constant_initializer(0.5))
    with tf.variable_scope("inner"):
        bias = tf.get_variable("bias", [2], initializer=tf.ones_initializer())
    return tf.matmul(x, weights) + bias


def main() -> dict[str, float]:
    """Train a siamese network by one tower's loss; return the output of the other tower."""
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    # With resource variables a read happens after its control inputs, here after training.
    with tf.variable_scope("siamese", use_resource=True) as scope:
        left = tower(x)
        scope.reuse_variables()
        right = tower(x + 1.0)
    with tf.variable_scope("siamese", reuse=tf.AUTO_REUSE):
        third = tower(x)
    assert [v.name for v in tf.global_variables()] == [
        "siamese/weights:0",
        "siamese/inner/bias:0",
    ]
    refusal = ""
    try:
        with tf.variable_scope("siamese"):
            tower(x)
    except ValueError as error:
        refusal = str(error)
    assert "already exists" in refusal

    shared = tf.make_template("template", tower)
    once, twice = shared(x), shared(x)
    assert len(shared.trainable_variables) == 2

    average = tf.train.ExponentialMovingAverage(0.5)

    def averaged(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return average.average(getter(name, *args, **kwargs))

    variables = tf.trainable_variables("siamese")
    loss = tf.reduce_mean(tf.square(left))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=variables)
    with tf.control_dependencies([train]):
        train_and_average = average.apply(variables)
    with tf.variable_scope("siamese", reuse=True, custom_getter=averaged):
        smooth = tower(x)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(train_and_average)
        values = session.run([left, right, third, once, twice, smooth])
    assert np.array_equal(values[0], values[2])
    assert np.array_equal(values[3], values[4])
    return {f"sum_{i}": float(value.sum()) for i, value in enumerate(values)}


if __name__ == "__main__":
    print(main())
