"""Measure sessions on servers: tfnb's client and cluster beside TensorFlow's, in one run.

``python -m benchmarks.distributed TENSORFLOW`` names a Python that has TensorFlow. Each cluster has
one parameter server and two workers in processes of their own; their clients take turns, so that a
busy machine slows all. A row has the medians of the rounds: the time of a step and the processor
time of the client and the cluster together, which other programs disturb less. The third cluster
is TensorFlow's, with a master of tfnb: the last row has no node on the master's task.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "oracle"))

from two_libraries import library, unused_ports  # noqa: E402

PS, WORKER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
TENSORFLOW, TFNB = "tensorflow", "tfnb"
# The libraries of the client, the parameter server, the worker with the master, the other worker.
CLUSTERS = {
    TENSORFLOW: (TENSORFLOW,) * 4,
    TFNB: (TFNB,) * 4,
    "tfnb's master": (TENSORFLOW, TENSORFLOW, TFNB, TENSORFLOW),
}
NUM_EDGES = 100
MASTERS_ROW = "training step on the other worker"


def workloads(tf: Any, sess: Any) -> dict[str, tuple[Any, int]]:
    """Return by title what runs one step, and how many steps make a round."""
    with tf.device(WORKER):
        scalar = tf.constant(1.0) * 2.0
        fed = tf.placeholder(tf.float32, [None])
        copied = tf.identity(fed)
    with tf.device(WORKER):
        sources = [tf.random.uniform([10]) for _ in range(NUM_EDGES)]
    with tf.device(OTHER):
        moved = tf.add_n([tf.reduce_sum(one) for one in sources])
    train = _training_step(tf, WORKER)
    train_elsewhere = _training_step(tf, OTHER)
    sess.run(tf.global_variables_initializer())
    large = np.zeros(25_000_000, np.float32)
    return {
        "scalar step": (lambda: sess.run(scalar), 50),
        "100 MB fed and fetched": (lambda: sess.run(copied, {fed: large}), 1),
        f"{NUM_EDGES} edges between two workers": (lambda: sess.run(moved), 5),
        "training step, variables on a parameter server": (lambda: sess.run(train), 20),
        MASTERS_ROW: (lambda: sess.run(train_elsewhere), 20),
    }


def _training_step(tf: Any, worker: str) -> list[Any]:
    """Return what a step of training runs: a network with two layers, variables on the server."""
    x = np.random.default_rng(0).standard_normal((64, 784)).astype(np.float32)
    labels = np.arange(64) % 10
    setter = tf.train.replica_device_setter(ps_tasks=1, worker_device=worker)
    with tf.device(setter), tf.variable_scope(f"at_{worker[-1]}"):
        hidden = tf.nn.relu(tf.matmul(x, _variable(tf, "w1", [784, 100])))
        logits = tf.matmul(hidden, _variable(tf, "w2", [100, 10]))
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
        return [tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss]


def _variable(tf: Any, name: str, shape: list[int]) -> Any:
    return tf.get_variable(name, shape, initializer=tf.random_normal_initializer(stddev=0.1))


def measure(name: str, target: str) -> None:
    """Answer each line of the input, a title, with the steps of a round and its seconds."""
    tf = library(name)
    with tf.Graph().as_default(), tf.Session(target) as sess:
        found = workloads(tf, sess)
        for run, _ in found.values():
            run()
            run()
        print(json.dumps(list(found)), flush=True)
        for line in sys.stdin:
            run, count = found[line.rstrip("\n")]
            begin = time.perf_counter()
            for _ in range(count):
                run()
            print(count, time.perf_counter() - begin, flush=True)


def serve(name: str, spec: dict[str, list[str]], job: str, index: int) -> None:
    """Be one task until the process is ended."""
    tf = library(name)
    server = tf.train.Server(tf.train.ClusterSpec(spec), job_name=job, task_index=index)
    print("up", flush=True)
    server.join()


def _start(python: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python, __file__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{process.args} has ended")
    return line


def _memory_mb(process: subprocess.Popen[str]) -> float:
    """Return the resident memory of a process, where the system says it."""
    try:
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    except (OSError, ValueError):
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _processor_seconds(process: subprocess.Popen[str]) -> float:
    """Return the processor time of a process, where the system says it."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Cluster:
    """The processes of one cluster and its client."""

    def __init__(self, libraries: tuple[str, ...], pythons: dict[str, str]) -> None:
        """Start them and wait until they are up.

        Args:
          libraries: of the client, the parameter server and the two workers.
          pythons: the interpreter of each library.
        """
        self.processes: list[subprocess.Popen[str]] = []
        addresses = [f"localhost:{port}" for port in unused_ports(3)]
        spec = {"ps": addresses[:1], "worker": addresses[1:]}
        tasks = zip(libraries[1:], [("ps", 0), ("worker", 0), ("worker", 1)])
        for name, (job, index) in tasks:
            self._start(pythons[name], "--serve", name, repr(spec), job, str(index))
        for server in self.processes:
            _line(server)
        self.idle_mb = _memory_mb(self.processes[0])
        name = libraries[0]
        self._client = self._start(pythons[name], "--measure", name, f"grpc://{addresses[1]}")
        self.titles: list[str] = json.loads(_line(self._client))

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        process = _start(*arguments)
        self.processes.append(process)
        return process

    def measure(self, title: str) -> tuple[float, float]:
        """Run a round of steps; return the seconds of a step and its processor time."""
        assert self._client.stdin is not None
        before = self._busy()
        self._client.stdin.write(f"{title}\n")
        self._client.stdin.flush()
        count, seconds = _line(self._client).split()
        return float(seconds) / int(count), (self._busy() - before) / int(count)

    def _busy(self) -> float:
        return sum(_processor_seconds(process) for process in self.processes)

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.kill()
            process.wait()


def compare(tensorflow: str, rounds: int, titles: list[str]) -> None:
    """Print a row for each workload."""
    pythons = {TENSORFLOW: tensorflow, TFNB: sys.executable}
    clusters: dict[str, Cluster] = {}
    try:
        for name, libraries in CLUSTERS.items():
            clusters[name] = Cluster(libraries, pythons)
        for name in (TENSORFLOW, TFNB):
            print(f"memory of an idle server, {name}: {clusters[name].idle_mb:.0f} MB")
        print("| step | TensorFlow, ms | tfnb, ms | ratio | processor, ms | tfnb, ms | ratio |")
        print("|---|---|---|---|---|---|---|")
        for title in titles or clusters[TFNB].titles:
            _print_row(clusters, TFNB, title, rounds)
            if title == MASTERS_ROW:
                _print_row(clusters, "tfnb's master", title, rounds)
    finally:
        for cluster in clusters.values():
            cluster.close()


def _print_row(clusters: dict[str, Cluster], ours: str, title: str, rounds: int) -> None:
    """Measure TensorFlow's cluster and another in turns."""
    found: dict[str, list[tuple[float, float]]] = {TENSORFLOW: [], ours: []}
    for _ in range(rounds):
        for name, times in found.items():
            times.append(clusters[name].measure(title))
    cells = [title if ours == TFNB else f"{title}, {ours} over TensorFlow's workers"]
    for kind in (0, 1):
        theirs, own = (
            statistics.median(one[kind] for one in times) * 1e3 for times in found.values()
        )
        cells += [f"{theirs:.2f}", f"{own:.2f}", f"{own / theirs:.2f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Compare, or be a server or a client of the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tensorflow", nargs="?", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=[], help="titles of the rows to measure")
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        name, spec, job, index = args.serve
        serve(name, ast.literal_eval(spec), job, int(index))
    elif args.measure:
        measure(*args.measure)
    else:
        compare(args.tensorflow, args.rounds, args.only)


if __name__ == "__main__":
    main()
