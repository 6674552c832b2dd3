"""How building, importing and running grow with the size of a graph.

Every row is one kind of graph in four sizes, each twice the previous one. Linear time doubles from
column to column; quadratic time grows by four.

    python benchmarks/scale.py [row ...]

Seconds to build and to run for the first time, on two cores that eight other processes used as
well, so that factors of up to three mean nothing (Python 3.11):

    chain               25,000: 0.84 + 2.43   50,000: 0.72 +  3.32  100,000:  2.90 + 15.18
    fan                 25,000: 1.43 + 3.17   50,000: 1.98 + 11.29  100,000:  7.78 + 14.18
    controls            25,000: 1.66 + 1.30   50,000: 1.22 +  1.71  100,000:  2.25 +  8.87
    scopes               2,500: 0.07 + 0.00    5,000: 0.22 +  0.00   10,000:  3.13 +  0.03
    scopes_of_controls   2,500: 0.34 + 0.19    5,000: 0.63 +  0.49   10,000:  2.94 +  1.29
    loops                   25: 0.12 + 0.14       50: 0.24 +  0.30      100:  0.40 +  2.55
    gradient             2,500: 0.38 + 1.90    5,000: 1.21 +  4.30   10,000:  2.48 +  9.64
    fetches              1,250: 0.25 + 1.68    2,500: 0.49 +  2.84    5,000:  1.68 +  6.54
    large_constant          12: 0.02 + 0.22       25: 0.12 +  0.78       50:  0.02 +  2.72
    conds                  250: 1.34 + 0.33      500: 2.44 +  1.08    1,000: 15.72 +  5.03

Building ``conds`` is quadratic: every branch has the values of all surrounding ones.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable


def chain(n: int) -> Any:
    """Return a chain of nodes."""
    y = tf.constant(1.0)
    for _ in range(n):
        y = tf.negative(y)
    return y


def fan(n: int) -> Any:
    """Return one node with many consumers, and one node that joins these."""
    x = tf.constant(1.0)
    return tf.add_n([tf.identity(x) for _ in range(n)])


def controls(n: int) -> Any:
    """Return a chain of control dependencies."""
    op = tf.no_op()
    for _ in range(n):
        with tf.control_dependencies([op]):
            op = tf.no_op()
    return op


def scopes(n: int) -> Any:
    """Return nested name scopes."""
    with contextlib.ExitStack() as stack:
        for _ in range(n):
            stack.enter_context(tf.name_scope("s"))
        return tf.constant(1.0) + 1.0


def scopes_of_controls(n: int) -> Any:
    """Return nested scopes of control dependencies on earlier nodes."""
    ops = [tf.no_op() for _ in range(n)]
    with contextlib.ExitStack() as stack:
        for op in ops:
            stack.enter_context(tf.control_dependencies([op]))
        return tf.constant(1.0) + 1.0


def conds(n: int) -> Any:
    """Return nested branches.

    A branch has the values of all surrounding ones, which is quadratic.
    """
    x, pred = tf.constant(1.0), tf.placeholder_with_default(True, [])

    def nest(depth: int) -> Any:
        return tf.cond(pred, lambda: nest(depth - 1), lambda: x) if depth else x + 1.0

    return nest(n)


def loops(n: int) -> Any:
    """Return nested loops of one iteration each."""

    def nest(depth: int, v: Any) -> Any:
        if not depth:
            return v + 1.0
        return tf.while_loop(lambda i, v: i < 1, lambda i, v: (i + 1, nest(depth - 1, v)), [0, v])[
            1
        ]

    return nest(n, tf.constant(0.0))


def iterations(n: int) -> Any:
    """Return one loop of many iterations."""
    return tf.while_loop(lambda i: i < n, lambda i: i + 1, [0])


def gradient(n: int) -> Any:
    """Return the gradient of a chain."""
    x = tf.placeholder_with_default(1.0, [])
    y = x
    for _ in range(n):
        y = tf.sin(y)
    return tf.gradients(y, x)[0]


def fetches(n: int) -> Any:
    """Return many fetches."""
    return [tf.placeholder_with_default(1.0, []) + 1.0 for _ in range(n)]


def large_constant(n: int) -> Any:
    """Return one constant of the given size in megabytes."""
    import numpy as np

    return tf.constant(np.zeros(n << 17)) + 1.0


ROWS: dict[str, tuple[Callable[[int], Any], int]] = {
    "chain": (chain, 100_000),
    "fan": (fan, 100_000),
    "controls": (controls, 100_000),
    "scopes": (scopes, 10_000),
    "scopes_of_controls": (scopes_of_controls, 10_000),
    "conds": (conds, 1_000),
    "loops": (loops, 100),
    "iterations": (iterations, 1_000_000),
    "gradient": (gradient, 10_000),
    "fetches": (fetches, 5_000),
    "large_constant": (large_constant, 50),
}


def seconds(name: str, n: int) -> tuple[float, float]:
    """Return the seconds to build a row's graph, and to run it for the first time."""
    with tf.Graph().as_default(), tf.Session() as sess:
        begun = time.perf_counter()
        fetch = ROWS[name][0](n)
        built = time.perf_counter()
        sess.run(fetch)
        return built - begun, time.perf_counter() - built


def main() -> None:
    """Print the table."""
    sys.setrecursionlimit(100_000)
    for name in sys.argv[1:] or ROWS:
        largest = ROWS[name][1]
        cells = []
        for n in (largest // 8, largest // 4, largest // 2, largest):
            build, run = seconds(name, n)
            cells.append(f"{n:>9,}: {build:6.2f} + {run:6.2f}")
        print(f"{name:20}", *cells, flush=True)


if __name__ == "__main__":
    main()
