"""What a pool of threads brings: wide and narrow graphs of small and large arrays.

python benchmarks/thread_pools.py [threads] [rounds]

``wide`` are eight independent branches of five nodes, ``chain`` the same forty nodes one after the
other, on float32 vectors of the length given. The sessions take turns, so that a busy minute falls
on all of them alike; the best time of each counts. Above 1.00 the pool is faster. A pool cannot help
a chain; it should not hurt one, nor small arrays.

On two processors, with 2 threads (milliseconds a run, no pool / pool / gain):

    wide    length      100        0.05      0.05   x 1.00
    wide    length    10000        0.50      0.52   x 0.97
    wide    length   100000        4.5       2.6    x 1.70
    wide    length  1000000       58        32      x 1.80
    chain   length  1000000       60        60      x 1.00
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import tfnb as tf

BRANCHES, DEPTH = 8, 5
LENGTHS = (100, 10_000, 100_000, 1_000_000)


def wide(x: tf.Tensor) -> tf.Tensor:
    """Independent branches, summed."""
    ends = []
    for branch in range(BRANCHES):
        y = x * float(branch + 1)
        for _ in range(DEPTH - 2):
            y = tf.sin(y)
        ends.append(tf.reduce_sum(y))
    return tf.add_n(ends)


def chain(x: tf.Tensor) -> tf.Tensor:
    """One node after the other."""
    for _ in range(BRANCHES * DEPTH - 1):
        x = tf.sin(x)
    return tf.reduce_sum(x)


def main() -> None:
    """Print one line for each graph and length."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    x = tf.placeholder(tf.float32, [None])
    pools = tf.ConfigProto()
    pools.session_inter_op_thread_pool.add(num_threads=threads)
    for name, y in (("wide", wide(x)), ("chain", chain(x))):
        with tf.Session() as plain, tf.Session(config=pools) as pooled:
            for length in LENGTHS:
                value = np.linspace(0, 1, length, dtype=np.float32)
                best = {plain: float("inf"), pooled: float("inf")}
                repeat = max(1, 200_000 // length)
                for sess in best:  # until every kernel has been measured
                    for _ in range(5):
                        sess.run(y, {x: value})
                for _ in range(rounds):
                    for sess in best:
                        start = time.perf_counter()
                        for _ in range(repeat):
                            sess.run(y, {x: value})
                        best[sess] = min(best[sess], (time.perf_counter() - start) / repeat)
                before, after = best[plain] * 1e3, best[pooled] * 1e3
                sys.stdout.write(
                    f"{name:6} length {length:8} {before:9.2f} {after:9.2f}   "
                    f"x {before / after:.2f}\n"
                )


if __name__ == "__main__":
    main()
