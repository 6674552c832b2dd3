"""Peak memory of steps on large tensors, relative to the memory before the step.

    python benchmarks/memory.py [MiB per tensor] [ops] [module]

Each row is a graph of 50 ops on tensors of 64 MiB, run in a separate process: the first step, which
the reference executor or a plain schedule runs, and the third, which the emitted function runs. The
goal for ``chain`` is one tensor and a little: at most 70 MB above the base. With
``tensorflow.compat.v1`` as the module and a Python that has it, TensorFlow is measured.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def chain(tf: Any, x: Any, num_ops: int) -> Any:
    """Return elementwise ops in a chain."""
    for i in range(num_ops):
        x = tf.add(x, 1.0) if i % 2 else tf.multiply(x, 0.5)
    return tf.reduce_sum(x)


def reverse(tf: Any, x: Any, num_ops: int) -> Any:
    """Return ops that cannot overwrite their inputs."""
    for _ in range(num_ops):
        x = tf.reverse(x, [0])
    return tf.reduce_sum(x)


def fan_out(tf: Any, x: Any, num_ops: int) -> Any:
    """Return many consumers of one tensor, each result summed at once."""
    return tf.add_n([tf.reduce_sum(tf.multiply(x, float(i))) for i in range(num_ops)])


def loop(tf: Any, x: Any, num_ops: int) -> Any:
    """Return a while_loop of this many iterations with a chain in its body."""
    done = tf.while_loop(
        lambda i, _: tf.less(i, num_ops),
        lambda i, x: (tf.add(i, 1), tf.add(tf.multiply(x, 0.5), 1.0)),
        [tf.constant(0), x],
    )
    return tf.reduce_sum(done[1])


def gradient(tf: Any, x: Any, num_ops: int) -> Any:
    """Return the gradient of a chain that needs no forward values."""
    y = x
    for i in range(num_ops):
        y = tf.add(y, 1.0) if i % 2 else tf.multiply(y, 0.5)
    return tf.reduce_sum(tf.gradients(y, x)[0])


ROWS: dict[str, Callable[[Any, Any, int], Any]] = {
    row.__name__: row for row in (chain, reverse, fan_out, loop, gradient)
}


def status_bytes(key: str) -> int:
    """Return a line of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))


def measure(row: str, num_bytes: int, num_ops: int, module: str) -> None:
    """Print the peaks of the first step and of later ones, in bytes above the base."""
    tf = importlib.import_module(module)
    with tf.Graph().as_default() as graph:
        value = tf.placeholder(tf.float32, [])
        x = tf.fill([num_bytes // 4], value)
        y = ROWS[row](tf, x, num_ops)
        small = ROWS[row](tf, tf.fill([16], value), 4)
    session = tf.Session(graph=graph)
    for _ in range(3):  # so that all code is there before the base is read
        session.run(small, {value: 1.0})
    peaks = []
    base = status_bytes("VmRSS")
    for num_steps in (1, 2):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        for _ in range(num_steps):
            session.run(y, {value: 1.0})
        peaks.append(status_bytes("VmHWM") - base)
    sys.stdout.write(f"{peaks[0]} {peaks[1]}\n")


def main() -> None:
    """Measure every row in a process of its own."""
    num_bytes = int(float(sys.argv[1]) * 2**20) if len(sys.argv) > 1 else 64 * 2**20
    num_ops = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    module = sys.argv[3] if len(sys.argv) > 3 else "tfnb"
    sys.stdout.write(f"{'':10} {'first step':>12} {'later':>10} {'in tensors':>12}\n")
    for row in ROWS:
        command = [sys.executable, __file__, "--one", row, str(num_bytes), str(num_ops), module]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
        if done.returncode:
            sys.exit(done.returncode)
        first, later = (int(word) for word in done.stdout.split())
        sys.stdout.write(
            f"{row:10} {first / 1e6:9.1f} MB {later / 1e6:7.1f} MB {later / num_bytes:12.2f}\n"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        main()
