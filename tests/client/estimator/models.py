"""A small model of tests: y = w * x + b, with inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable

ModeKeys = tf.estimator.ModeKeys


def line_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
    """Build a line with `params["rate"]`."""
    x = features["x"]
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
    y = weight * x + bias
    if mode == ModeKeys.PREDICT:
        outputs = {"line": tf.estimator.export.PredictOutput({"y": y})}
        return tf.estimator.EstimatorSpec(mode, {"y": y, "x": x}, export_outputs=outputs)
    loss = tf.reduce_mean(tf.square(y - labels))
    metrics = {"error": tf.metrics.mean_absolute_error(labels, y)}
    optimizer = tf.train.GradientDescentOptimizer(params["rate"])
    train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode, {"y": y}, loss, train, metrics if mode == ModeKeys.EVAL else None
    )


def line(folder: Any, rate: float = 0.1, **config: Any) -> Any:
    """Return an Estimator of the line."""
    made = tf.estimator.RunConfig(model_dir=str(folder), tf_random_seed=1, **config)
    return tf.estimator.Estimator(line_fn, config=made, params={"rate": rate})


def points(epochs: int | None = None, count: int = 8, batch: int = 4) -> Callable[[], Any]:
    """Return an input function of points of y = 2x + 1."""
    x = np.linspace(-1, 1, count, dtype=np.float32)

    def read() -> Any:
        data = tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x + 1))
        return data.repeat(epochs).batch(batch)

    return read


def serving() -> Any:
    """Return the inputs of the exported line."""
    x = tf.placeholder(tf.float32, [None], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
