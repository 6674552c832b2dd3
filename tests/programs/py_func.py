"""Python inside a graph: py_func with several results, state and an error."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def main() -> dict[str, float]:
    """Sort in Python inside of a training step, and count the calls."""
    calls = []

    def ranks(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        calls.append(len(values))
        order = np.argsort(values)
        return order.astype(np.int64), np.float32(values.max() - values.min())

    scores = tf.get_variable("scores", initializer=[0.3, -0.2, 0.9, 0.1])
    order, spread = tf.py_func(ranks, [scores], [tf.int64, tf.float32], stateful=True)
    order.set_shape([4])
    spread.set_shape([])
    worst = tf.gather(scores, order[0])
    train = tf.train.GradientDescentOptimizer(0.1).minimize(-worst)

    def refuse(value: np.ndarray) -> np.ndarray:
        raise ValueError(f"no {value}")

    refused = tf.py_func(refuse, [spread], tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(8):
            session.run([train, spread])
        final = session.run(scores)
        error = ""
        try:
            session.run(refused)
        except tf.errors.InvalidArgumentError as raised:
            error = raised.message
    assert "ValueError" in error
    assert len(calls) == 9
    assert final.min() > 0.0
    return {"sum": float(final.sum()), "calls": float(len(calls))}


if __name__ == "__main__":
    print(main())
