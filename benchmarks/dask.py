"""Measure ``Model.map`` on Dask's workers: speed, time of a block, memory.

``python -m benchmarks.dask`` starts as many workers as it is told, each a process of one thread.
Each worker first runs the model over blocks in its own process, all workers at the same time: the
sum of these speeds is what ``Model.map`` is compared with. Speeds are in rows a second of processor
time of the workers, and of the clock.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import dask.array
import distributed
import numpy as np

import tfnb as tf

WIDTH, CLASSES = 256, 10


def write_model(folder: str, hidden: int) -> str:
    """Write a frozen perceptron with two hidden layers; return its path."""
    random = np.random.default_rng(0)
    with tf.Graph().as_default() as graph:
        value = tf.placeholder(tf.float32, [None, WIDTH], name="x")
        sizes = [WIDTH, hidden, hidden, CLASSES]
        for number, (before, after) in enumerate(itertools.pairwise(sizes)):
            weights = random.standard_normal((before, after)).astype(np.float32)
            value = tf.matmul(value, tf.constant(weights / np.sqrt(before)))
            if number < 2:
                value = tf.nn.relu(value)
        tf.nn.softmax(value, name="y")
        return str(tf.train.write_graph(graph, folder, "model.pb", as_text=False))


def _memory_mb() -> float:
    """Return the resident memory of a worker; runs there."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _alone(path: str, rows: int, blocks: int) -> tuple[float, float]:
    """Return the seconds of clock and processor for blocks without Dask; runs in a worker."""
    model = tf.Model(path, outputs="y")
    block = np.ones((rows, WIDTH), np.float32)
    for _ in range(3):
        model(block)
    begin, used = time.perf_counter(), time.process_time()
    for _ in range(blocks):
        model(np.ones((rows, WIDTH), np.float32))
    return time.perf_counter() - begin, time.process_time() - used


def _processor_s() -> float:
    """Return the processor time of a worker; runs there."""
    return time.process_time()


def _compute_s(client: Any, collection: Any) -> tuple[float, float]:
    """Return the seconds of clock, and of the workers' processors, that a collection takes."""
    used = sum(client.run(_processor_s).values())
    begin = time.perf_counter()
    client.compute(collection.sum(), optimize_graph=True).result()
    return time.perf_counter() - begin, sum(client.run(_processor_s).values()) - used


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=4096, help="rows of a large block")
    parser.add_argument("--blocks", type=int, default=40, help="large blocks of a worker")
    parser.add_argument("--small", type=int, default=500, help="small blocks, of one row each")
    args = parser.parse_args()
    path = write_model(tempfile.mkdtemp(), 512)
    tiny = write_model(tempfile.mkdtemp(), 8)
    with distributed.Client(
        n_workers=args.workers, threads_per_worker=1, dashboard_address=None
    ) as client:
        idle = client.run(_memory_mb)
        client.run(_import)
        ready = client.run(_memory_mb)
        total = args.workers * args.blocks
        x = dask.array.ones((total * args.rows, WIDTH), chunks=(args.rows, WIDTH), dtype="f4")
        y = tf.Model(path, outputs="y").map(x, client=client)
        _compute_s(client, y)
        clock, processor = [], []
        for _ in range(args.rounds):
            alone = client.run(_alone, path, args.rows, args.blocks).values()
            seconds, used = _compute_s(client, y)
            speed = sum(args.blocks * args.rows / one for one, _ in alone)
            clock.append(total * args.rows / seconds / speed)
            processor.append(sum(one for _, one in alone) / used)
        # A collection without a model takes the time that Dask itself needs for a block.
        few = dask.array.ones((args.small, WIDTH), chunks=(1, WIDTH), dtype="f4")
        mapped = tf.Model(tiny, outputs="y").map(few, client=client)
        plain = few.map_blocks(_first_columns, dtype="f4", chunks=(1, CLASSES))
        added, added_processor = [], []
        _compute_s(client, mapped)
        for _ in range(args.rounds):
            ours, ours_used = _compute_s(client, mapped)
            theirs, theirs_used = _compute_s(client, plain)
            added.append((ours - theirs) / args.small * 1e3)
            added_processor.append((ours_used - theirs_used) / args.small * 1e3)
    print("| figure | clock | processor time |\n|---|---|---|")
    print(
        f"| speed of `Model.map`, divided by the sum of the workers' | "
        f"{statistics.median(clock):.2f} | {statistics.median(processor):.2f} |"
    )
    print(
        f"| time that the model adds to a block of one row, ms | {statistics.median(added):.2f} | "
        f"{statistics.median(added_processor):.2f} |"
    )
    print(f"| memory of an idle worker, MB | {max(idle.values()):.0f} | |")
    print(f"| memory of a worker with tfnb, before the model, MB | {max(ready.values()):.0f} | |")


def _import() -> None:
    """Import what the first block needs; runs in a worker."""
    import tfnb.client.model
    import tfnb.dask_runtime.blocks  # noqa: F401


def _first_columns(block: Any) -> Any:
    return block[:, :CLASSES]


if __name__ == "__main__":
    main()
