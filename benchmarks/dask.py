"""Measure ``Model.map`` on Dask's workers: speed, time of a block, memory.

``python -m benchmarks.dask`` starts the workers that tfnb starts where no client is given, each a
process of one thread. ``--workers N`` starts N of them with Dask's defaults.

Speed: each worker runs the model over blocks in its own process, all workers at the same time; the
sum of these speeds is what ``Model.map`` is compared with. The same is measured for ``map_blocks``
with a function of NumPy that computes the same: what both lose is Dask's own.

Time of a block: blocks of one row through a small model, less the time of the same blocks through a
function that only cuts columns off. Processor time is that of the workers and of the scheduler,
which is in this process; rounds of both alternate. The same is measured for the task of one block
alone, unpickled and called in a worker, which hardly varies.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pickle
import statistics
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array
import distributed
import numpy as np

import tfnb as tf

WIDTH, CLASSES = 256, 10
# With it, Dask does not call a function here to find out what it returns.
META = np.empty((0, 0), np.float32)


def weights_of(hidden: int) -> list[Any]:
    """Return the weights of a perceptron with two hidden layers."""
    random = np.random.default_rng(0)
    sizes = [WIDTH, hidden, hidden, CLASSES]
    return [
        random.standard_normal(shape).astype(np.float32) / np.float32(shape[0] ** 0.5)
        for shape in itertools.pairwise(sizes)
    ]


def write_model(folder: str, hidden: int) -> str:
    """Write a frozen perceptron with two hidden layers; return its path."""
    with tf.Graph().as_default() as graph:
        value = tf.placeholder(tf.float32, [None, WIDTH], name="x")
        *hidden_layers, last = map(tf.constant, weights_of(hidden))
        for weights in hidden_layers:
            value = tf.nn.relu(tf.matmul(value, weights))
        tf.nn.softmax(tf.matmul(value, last), name="y")
        return str(tf.train.write_graph(graph, folder, "model.pb", as_text=False))


def _memory_mb() -> float:
    """Return the resident memory of a worker; runs there."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _import() -> None:
    """Import what the first block needs; runs in a worker."""
    import tfnb.client.model
    import tfnb.dask_runtime.blocks  # noqa: F401


def _made_block(rows: int, block_id: tuple[int, ...] | None = None) -> Any:
    """Return a block in memory of its own; ``dask.array.ones`` repeats one number without any."""
    return np.full((rows, WIDTH), 1 + (block_id[0] if block_id else 0) % 3, np.float32)


def _blocks(rows: int, count: int) -> Any:
    """Return an Array in blocks of a given number of rows."""
    return dask.array.map_blocks(
        _made_block, rows, chunks=((rows,) * count, (WIDTH,)), dtype="f4", meta=META
    )


def _perceptron(layers: list[Any], block: Any) -> Any:
    """Compute what the model does, with NumPy."""
    for weights in layers[:-1]:
        block = np.maximum(block @ weights, 0)
    block = block @ layers[-1]
    block = np.exp(block - block.max(1, keepdims=True))
    return block / block.sum(1, keepdims=True)


def _first_columns(block: Any) -> Any:
    return block[:, :CLASSES].copy()


def _alone(function: Any, rows: int, blocks: int) -> tuple[float, float]:
    """Return the seconds of clock and processor for blocks without Dask; runs in a worker."""
    for number in range(3):
        function(_made_block(rows, (number,)))
    begin, used = time.perf_counter(), time.process_time()
    for number in range(blocks):
        function(_made_block(rows, (number,)))
    return time.perf_counter() - begin, time.process_time() - used


def _model_alone(path: str, rows: int, blocks: int) -> tuple[float, float]:
    """Return what :func:`_alone` does for the model of a file; runs in a worker."""
    with tf.Model(path, outputs="y") as model:
        return _alone(model, rows, blocks)


def _processor_s() -> float:
    """Return the processor time of a worker; runs there."""
    return time.process_time()


@dataclass(frozen=True)
class _Times:
    """Seconds that a collection takes: of the clock, of the workers' processors, of this process's.

    The scheduler is in this process.
    """

    clock: float
    workers: float
    scheduler: float


def _computed(client: Any, collection: Any) -> _Times:
    """Compute a collection; its blocks stay in the workers until all are there."""
    workers, own = sum(client.run(_processor_s).values()), time.process_time()
    begin = time.perf_counter()
    blocks = client.persist(collection)
    distributed.wait(blocks)
    clock, own = time.perf_counter() - begin, time.process_time() - own
    return _Times(clock, sum(client.run(_processor_s).values()) - workers, own)


def _speeds(client: Any, args: Any, rows: int, path: str) -> None:
    """Print the speeds for blocks of a number of rows, divided by the workers' own."""
    count = max(4, args.rows_of_a_worker // rows)
    x = _blocks(rows, count * len(client.ncores()))
    function = partial(_perceptron, weights_of(512))
    model = tf.Model(path, outputs="y")
    cases = {
        "`Model.map`": (model.map(x, client=client), _model_alone, path),
        "NumPy by `map_blocks`": (
            x.map_blocks(function, dtype="f4", chunks=(rows, CLASSES), meta=META),
            _alone,
            function,
        ),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for number in range(args.rounds + 1):
        for name, (collection, alone, what) in cases.items():
            own = client.run(alone, what, rows, count).values()
            used = _computed(client, collection)
            speed = sum(1 / clock for clock, _ in own)
            ratio = len(own) / used.clock / speed, sum(one for _, one in own) / used.workers
            if number:  # the first round opens the model
                found[name].append(ratio)
    for name, ratios in found.items():
        clock, processor = (statistics.median(one) for one in zip(*ratios))
        megabytes = rows * WIDTH * 4 / 2**20
        print(
            f"| speed of {name}, blocks of {rows} rows ({megabytes:.0f} MB), divided by the "
            f"workers' own | {clock:.2f} | {processor:.2f} |",
            flush=True,
        )


def _added(client: Any, args: Any, path: str) -> None:
    """Print the time that a model adds to a block of one row."""
    x = _blocks(1, args.small)
    mapped = tf.Model(path, outputs="y").map(x, client=client)
    plain = x.map_blocks(_first_columns, dtype="f4", chunks=(1, CLASSES), meta=META)
    rounds = []
    for number in range(args.rounds + 1):
        ours, theirs = _computed(client, mapped), _computed(client, plain)
        if number:
            rounds.append((ours, theirs))
    for name, times in (
        ("a block of one row through `map_blocks`, ms", [theirs for _, theirs in rounds]),
        ("what a model adds to it, ms", [_difference(*pair) for pair in rounds]),
    ):
        clock = statistics.median(one.clock for one in times) / args.small * 1e3
        used = statistics.median(one.workers + one.scheduler for one in times) / args.small * 1e3
        print(f"| {name} | {clock:.2f} | {used:.2f} |", flush=True)
    alone = [client.submit(_task_ms, _task_of(one)).result() for one in (plain, mapped)]
    print(f"| its task alone through `map_blocks`, ms | | {alone[0]:.2f} |")
    print(f"| what a model adds to it, ms | | {alone[1] - alone[0]:.2f} |", flush=True)


def _task_ms(task: bytes, repeats: int = 200) -> float:
    """Return the processor time of a pickled task, the least of five means; runs in a worker."""
    found = []
    for _ in range(5):
        begin = time.thread_time()
        for _ in range(repeats):
            pickle.loads(task)()
        found.append((time.thread_time() - begin) / repeats * 1e3)
    return min(found)


def _task_of(collection: Any) -> bytes:
    """Return the task of a block, as a worker receives it."""
    [optimized] = dask.optimize(collection)
    task = dict(optimized.__dask_graph__())[collection.name, 0, 0]
    found: bytes = distributed.protocol.pickle.dumps(task)
    return found


def _difference(more: _Times, less: _Times) -> _Times:
    return _Times(
        more.clock - less.clock, more.workers - less.workers, more.scheduler - less.scheduler
    )


def _client(workers: int | None) -> Any:
    if workers is None:
        return tf.dask.get_client()
    return distributed.Client(
        n_workers=workers, threads_per_worker=1, dashboard_address="localhost:0"
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, help="workers of Dask's own configuration")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="*", default=[1024, 8192, 65536])
    parser.add_argument("--rows-of-a-worker", type=int, default=131072, help="rows of a round")
    parser.add_argument("--small", type=int, default=500, help="blocks of one row")
    args = parser.parse_args()
    big = write_model(tempfile.mkdtemp(), 512)
    small = write_model(tempfile.mkdtemp(), 8)
    with _client(args.workers) as client:
        idle = client.run(_memory_mb)
        client.run(_import)
        ready = client.run(_memory_mb)
        print("| figure | clock | processor time |\n|---|---|---|")
        print(f"| memory of an idle worker, MB | {max(idle.values()):.0f} | |")
        print(
            f"| memory of a worker with tfnb, before the model, MB | {max(ready.values()):.0f} | |",
            flush=True,
        )
        for rows in args.rows:
            _speeds(client, args, rows, big)
        _added(client, args, small)


if __name__ == "__main__":
    main()
