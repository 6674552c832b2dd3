"""The gain of a pool of threads: wide and narrow graphs of small and large arrays.

python benchmarks/thread_pools.py [threads] [rounds]

``wide`` are eight independent branches of five nodes, ``chain`` the same forty nodes in sequence,
on float32 vectors of the given length. The sessions take turns, so that a busy minute affects all
of them; the best time of each counts. The last column is the gain: above 1.00 the pool is faster. A
pool cannot improve a chain; it should not slow down chains and small arrays.

The first line is the limit of this machine: the same arithmetic in NumPy alone, on one thread and
on several. No pool gains more. If the other processors are busy, the limit is close to 1.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable

BRANCHES, DEPTH = 8, 5
LENGTHS = (100, 10_000, 100_000, 1_000_000)


def wide(x: tf.Tensor) -> tf.Tensor:
    """Return independent branches, summed."""
    ends = []
    for branch in range(BRANCHES):
        y = x * float(branch + 1)
        for _ in range(DEPTH - 2):
            y = tf.sin(y)
        ends.append(tf.reduce_sum(y))
    return tf.add_n(ends)


def chain(x: tf.Tensor) -> tf.Tensor:
    """Return a chain of nodes."""
    for _ in range(BRANCHES * DEPTH - 1):
        x = tf.sin(x)
    return tf.reduce_sum(x)


def best_of_turns(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """Return the best time of each call in milliseconds."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for position, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[position] = min(best[position], (time.perf_counter() - start) * 1e3)
    return best


def numpy_alone(threads: int, rounds: int) -> None:
    """Print the gain of plain threads on the longest vectors."""
    value = np.linspace(0, 1, LENGTHS[-1], dtype=np.float32)

    def branch(_: int) -> None:
        for _ in range(DEPTH):
            np.sin(value)

    with ThreadPoolExecutor(threads) as pool:
        one, several = best_of_turns(
            [
                lambda: [branch(number) for number in range(BRANCHES)],
                lambda: list(pool.map(branch, range(BRANCHES))),
            ],
            rounds,
        )
    _print("numpy", LENGTHS[-1], one, several)


def _print(name: str, length: int, before: float, after: float) -> None:
    sys.stdout.write(
        f"{name:6} length {length:8} {before:9.2f} ms {after:9.2f} ms   x {before / after:.2f}\n"
    )


def main() -> None:
    """Print one line for each graph and length."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    numpy_alone(threads, rounds)
    x = tf.placeholder(tf.float32, [None])
    pools = tf.ConfigProto()
    pools.session_inter_op_thread_pool.add(num_threads=threads)
    for name, y in (("wide", wide(x)), ("chain", chain(x))):
        with tf.Session() as plain, tf.Session(config=pools) as pooled:
            for length in LENGTHS:
                feeds = {x: np.linspace(0, 1, length, dtype=np.float32)}
                repeat = max(1, 200_000 // length)
                for sess in (plain, pooled):  # until every kernel has been measured
                    for _ in range(5):
                        sess.run(y, feeds)
                before, after = best_of_turns(
                    [
                        lambda sess=sess, y=y, feeds=feeds, repeat=repeat: [
                            sess.run(y, feeds) for _ in range(repeat)
                        ]
                        for sess in (plain, pooled)
                    ],
                    rounds,
                )
                _print(name, length, before / repeat, after / repeat)


if __name__ == "__main__":
    main()
