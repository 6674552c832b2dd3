"""Measure sessions on servers: tfnb's client and cluster beside TensorFlow's, in one run.

``python -m benchmarks.distributed TENSORFLOW`` names a Python that has TensorFlow. Both clusters
have one parameter server and two workers in processes of their own; their clients take turns, so
that a busy machine slows both. Each row is the median of the rounds, and tfnb's time divided by
TensorFlow's.
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
LIBRARIES = ("tensorflow", "tfnb")
NUM_EDGES = 100


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
    x = np.random.default_rng(0).standard_normal((64, 784)).astype(np.float32)
    labels = np.arange(64) % 10
    setter = tf.train.replica_device_setter(ps_tasks=1, worker_device=WORKER)
    with tf.device(setter):
        hidden = tf.nn.relu(tf.matmul(x, _variable(tf, "w1", [784, 100])))
        logits = tf.matmul(hidden, _variable(tf, "w2", [100, 10]))
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    sess.run(tf.global_variables_initializer())
    large = np.zeros(25_000_000, np.float32)
    return {
        "scalar step": (lambda: sess.run(scalar), 50),
        "100 MB fed and fetched": (lambda: sess.run(copied, {fed: large}), 1),
        f"{NUM_EDGES} edges between two workers": (lambda: sess.run(moved), 5),
        "training step, variables on a parameter server": (lambda: sess.run([train, loss]), 20),
    }


def _variable(tf: Any, name: str, shape: list[int]) -> Any:
    return tf.get_variable(name, shape, initializer=tf.random_normal_initializer(stddev=0.1))


def measure(name: str, target: str) -> None:
    """Answer each line of the input, a title, with the seconds of one step in a round."""
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
            print((time.perf_counter() - begin) / count, flush=True)


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


def _ask(process: subprocess.Popen[str], title: str) -> float:
    assert process.stdin is not None
    process.stdin.write(f"{title}\n")
    process.stdin.flush()
    return float(_line(process))


def _memory_mb(process: subprocess.Popen[str]) -> float:
    """Return the resident memory of a process, where the system says it."""
    try:
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    except (OSError, ValueError):
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def compare(tensorflow: str, rounds: int) -> None:
    """Print a row for each workload."""
    pythons = {"tensorflow": tensorflow, "tfnb": sys.executable}
    processes: list[subprocess.Popen[str]] = []
    clients: dict[str, subprocess.Popen[str]] = {}
    titles: list[str] = []
    try:
        for name in LIBRARIES:
            addresses = [f"localhost:{port}" for port in unused_ports(3)]
            spec = {"ps": addresses[:1], "worker": addresses[1:]}
            tasks = [("ps", 0), ("worker", 0), ("worker", 1)]
            servers = [
                _start(pythons[name], "--serve", name, repr(spec), job, str(index))
                for job, index in tasks
            ]
            processes += servers
            for server in servers:
                _line(server)
            print(f"memory of an idle server, {name}: {_memory_mb(servers[0]):.0f} MB")
            client = _start(pythons[name], "--measure", name, f"grpc://{addresses[1]}")
            processes.append(client)
            clients[name] = client
            titles = json.loads(_line(client))
        print("| step | TensorFlow, ms | tfnb, ms | ratio |\n|---|---|---|---|")
        for title in titles:
            times: dict[str, list[float]] = {name: [] for name in LIBRARIES}
            for _ in range(rounds):
                for name in LIBRARIES:
                    times[name].append(_ask(clients[name], title))
            theirs, ours = (statistics.median(times[name]) * 1e3 for name in LIBRARIES)
            print(f"| {title} | {theirs:.2f} | {ours:.2f} | {ours / theirs:.2f} |", flush=True)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    """Compare, or be a server or a client of the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tensorflow", nargs="?", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        name, spec, job, index = args.serve
        serve(name, ast.literal_eval(spec), job, int(index))
    elif args.measure:
        measure(*args.measure)
    else:
        compare(args.tensorflow, args.rounds)


if __name__ == "__main__":
    main()
