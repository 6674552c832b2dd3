"""The gain of emitted functions: the same graphs on the reference executor, and as functions.

    python benchmarks/emitted_functions.py

Microseconds per iteration or node, the best of twenty runs, on one core of two that eight other
processes used as well (Python 3.11)::

    loop over a scalar                  15.43     0.07
    loop with ten scalar nodes          30.46     0.29
    loop in a loop                      17.70     0.10
    cond in a loop                      29.80     0.16
    loop with a TensorArray             36.01     6.96
    loop and its gradient, 32 x 32      64.85    15.51
    chain of scalars                     2.28     0.04
    chain across two devices             7.23     0.32
    ten formulas over 16 MB          21276.31 10419.43
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering

if TYPE_CHECKING:
    from collections.abc import Callable

_RUNS = 20


def loop(nodes: int) -> tuple[Any, int]:
    """Build a counter, and a chain of `nodes` - 1 nodes on a number."""

    def body(i: Any, x: Any) -> Any:
        for _ in range(nodes - 1):
            x = tf.maximum(x * 1.5, 0.5)
        return i + 1, x

    return tf.while_loop(lambda i, x: i < 2000, body, [0, 1.0]), 2000


def nested() -> tuple[Any, int]:
    """Build a loop in a loop."""

    def inner(i: Any, s: Any) -> Any:
        return i + 1, tf.while_loop(lambda j, s: j < 50, lambda j, s: (j + 1, s + 1.0), [0, s])[1]

    return tf.while_loop(lambda i, s: i < 40, inner, [0, 0.0]), 2000


def branches() -> tuple[Any, int]:
    """Build a loop with a cond in each iteration."""

    def body(i: Any, x: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: x + 1.0, lambda: x * 0.5)

    return tf.while_loop(lambda i, x: i < 2000, body, [0, 0.0]), 2000


def tensor_array() -> tuple[Any, int]:
    """Build a loop that writes and reads a TensorArray."""
    return tf.map_fn(lambda row: tf.tanh(row + 1.0), tf.ones([200, 8])), 200


def gradient() -> tuple[Any, int]:
    """Build a loop and its gradient."""
    w = tf.constant(np.eye(32, dtype=np.float32) * 0.9)
    start = [0, tf.ones([32, 32])]
    h = tf.while_loop(lambda i, h: i < 100, lambda i, h: (i + 1, tf.tanh(h @ w)), start)[1]
    return tf.gradients(h, w)[0], 100


def chain() -> tuple[Any, int]:
    """Build a chain of scalar nodes."""
    y = tf.placeholder_with_default(1.0, [])
    for number in range(1000):
        y = y + 0.5 if number % 2 else y * 0.5
    return y, 1000


def devices() -> tuple[Any, int]:
    """Build a chain of scalar nodes on alternating devices."""
    y = tf.placeholder_with_default(1.0, [])
    for number in range(100):
        with tf.device(f"/cpu:{number % 2}"):
            y = tf.sqrt(y + 0.5)
    return y, 200


def formulas() -> tuple[Any, int]:
    """Build ten nodes over a large array."""
    y = tf.fill([1 << 22], tf.placeholder_with_default(0.7, []))
    for number in range(5):
        y = tf.maximum(y * 1.25, 0.1) if number % 2 else tf.square(y - 0.5)
    return tf.reduce_sum(y), 1


ROWS: dict[str, Callable[[], tuple[Any, int]]] = {
    "loop over a scalar": lambda: loop(1),
    "loop with ten scalar nodes": lambda: loop(5),
    "loop in a loop": nested,
    "cond in a loop": branches,
    "loop with a TensorArray": tensor_array,
    "loop and its gradient, 32 x 32": gradient,
    "chain of scalars": chain,
    "chain across two devices": devices,
    "ten formulas over 16 MB": formulas,
}


def microseconds(make: Callable[[], tuple[Any, int]], when: Lowering) -> float:
    """Return the time of the best run, per iteration or node."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with lowering(when), tf.Graph().as_default():
        fetches, count = make()
        with tf.Session(config=config) as session:
            best = float("inf")
            for _ in range(_RUNS):
                begun = time.perf_counter()
                session.run(fetches)
                best = min(best, time.perf_counter() - begun)
    return best * 1e6 / count


def main() -> None:
    """Print the table."""
    for name, make in ROWS.items():
        reference = microseconds(make, Lowering.NEVER)
        emitted = microseconds(make, Lowering.ALWAYS)
        print(f"{name:<32}{reference:9.2f}{emitted:9.2f}")


if __name__ == "__main__":
    main()
