"""Measure sessions on servers: tfnb's client and cluster beside TensorFlow's, in one run.

``python -m benchmarks.distributed TENSORFLOW`` names a Python that has TensorFlow. Each cluster has
one parameter server and two workers in processes of their own; their clients take turns, so that a
busy machine slows all. A row has the medians of the rounds: the time of a step and the processor
time of the client and the cluster together, which other programs disturb less. The third cluster
is TensorFlow's, with a master of tfnb: its row has no node on the master's task. Further rows have
the client in the worker's process, as in scripts that people write. The last rows are the floor:
what grpcio's clients and servers take for the requests of a step, with as many bytes, alone.
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
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "oracle" / "clusters"))

from two_libraries import library, unused_ports  # noqa: E402

PS, WORKER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
TENSORFLOW, TFNB = "tensorflow", "tfnb"
# The libraries of the client, the parameter server, the worker with the master, the other worker.
CLUSTERS = {
    TENSORFLOW: (TENSORFLOW,) * 4,
    TFNB: (TFNB,) * 4,
    "tfnb's master": (TENSORFLOW, TENSORFLOW, TFNB, TENSORFLOW),
}
# The client is the worker with the master, as in scripts that people write.
WITHOUT_CLIENT = "client in the worker's process"
NUM_EDGES = 100
MASTERS_ROW = "training step on the other worker"
# The bytes of requests and answers that are small, and those of the variables of a training step.
SMALL, VARIABLES = b"s" * 200, b"v" * 318_000
BARE_STEPS = 50
BARE_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


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


def measure(name: str, target: str, spec: dict[str, list[str]] | None = None) -> None:
    """Answer each line of the input, a title, with the steps of a round and its seconds.

    Args:
      name: the library.
      target: of the session.
      spec: the cluster of which this process is the worker with the master; None: only a client.
    """
    tf = library(name)
    if spec is not None:
        target = tf.train.Server(tf.train.ClusterSpec(spec), "worker", 0).target
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


def serve_bare(other: str) -> None:
    """Be a server of grpcio alone until the process is ended.

    A small request asks for the variables, a large one brings them.

    Args:
      other: the address of a server that is asked for both, before an answer; "": none.
    """
    from tfnb.common_runtime.session import process_state
    from tfnb.distributed_runtime.grpc_channel import import_grpc
    from tfnb.distributed_runtime.server_threads import ServerThreads

    grpc = import_grpc()
    process_state.prepare_for_messages()
    ask = _bare_method(other) if other else None

    def answer(request: bytes, context: Any) -> bytes:
        if ask is not None:
            ask(ask(SMALL))
            return SMALL
        return VARIABLES if request == SMALL else SMALL

    handler = grpc.unary_unary_rpc_method_handler(answer)
    server = grpc.server(ServerThreads("bare"), options=BARE_OPTIONS)
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("bare", {"Ask": handler})]
    )
    print(server.add_insecure_port("localhost:0"), flush=True)
    server.start()
    server.wait_for_termination()


def _bare_method(address: str) -> Any:
    from tfnb.distributed_runtime.grpc_channel import import_grpc

    channel = import_grpc().insecure_channel(address, BARE_OPTIONS)
    return channel.unary_unary("/bare/Ask")


def measure_bare(rounds: int) -> None:
    """Print what grpcio takes for one request, and for the requests of a training step."""
    with ExitStack() as stack:
        servers: list[subprocess.Popen[str]] = []
        addresses = [""]
        for _ in range(2):  # the second one asks the first one
            servers.append(_start(sys.executable, "--bare", addresses[-1]))
            stack.callback(servers[-1].kill)
            addresses.append(f"localhost:{_line(servers[-1]).strip()}")
        for title, address, request in (
            ("one request", addresses[1], VARIABLES[:1]),
            ("requests of a training step", addresses[2], SMALL),
        ):
            ask = _bare_method(address)
            found = []
            for _ in range(rounds + 1):
                busy, begin = _busy(servers), time.perf_counter()
                for _ in range(BARE_STEPS):
                    ask(request)
                found.append((time.perf_counter() - begin, _busy(servers) - busy))
            clock, used = (statistics.median(times) / BARE_STEPS * 1e3 for times in zip(*found[1:]))
            print(f"| grpcio alone, {title} | | {clock:.2f} | | | {used:.2f} | |", flush=True)


def _busy(servers: list[subprocess.Popen[str]]) -> float:
    return time.process_time() + sum(map(_processor_seconds, servers))


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
    """Return the processor time of a process, where the system has a clock for it."""
    try:
        # The clock of a process in Linux, which counts nanoseconds where /proc counts ticks.
        return time.clock_gettime(~process.pid << 3 | 2)
    except OSError:
        return float("nan")


class Cluster:
    """The processes of one cluster and its client."""

    def __init__(
        self, libraries: tuple[str, ...], pythons: dict[str, str], *, has_client: bool = True
    ) -> None:
        """Start them and wait until they are up.

        Args:
          libraries: of the client, the parameter server and the two workers.
          pythons: the interpreter of each library.
          has_client: whether the client has a process of its own.
        """
        self.processes: list[subprocess.Popen[str]] = []
        addresses = [f"localhost:{port}" for port in unused_ports(3)]
        spec = {"ps": addresses[:1], "worker": addresses[1:]}
        tasks = zip(libraries[1:], [("ps", 0), ("worker", 0), ("worker", 1)])
        for name, (job, index) in tasks:
            if not has_client and (job, index) == ("worker", 0):
                continue
            self._start(pythons[name], "--serve", name, repr(spec), job, str(index))
        name = libraries[0]
        arguments = [name, f"grpc://{addresses[1]}"] + ([] if has_client else [repr(spec)])
        try:
            for server in self.processes:
                _line(server)
            self.idle_mb = _memory_mb(self.processes[0])
            self._client = self._start(pythons[name], "--measure", *arguments)
            self.titles: list[str] = json.loads(_line(self._client))
        except BaseException:
            self.__exit__()
            raise

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """End all processes."""
        for process in self.processes:
            process.kill()
            process.wait()


def compare(tensorflow: str, rounds: int, titles: list[str]) -> None:
    """Print a row for each workload."""
    pythons = {TENSORFLOW: tensorflow, TFNB: sys.executable}
    with ExitStack() as stack:
        theirs, ours = (
            stack.enter_context(Cluster(CLUSTERS[name], pythons)) for name in (TENSORFLOW, TFNB)
        )
        print(f"memory of an idle server, TensorFlow: {theirs.idle_mb:.0f} MB")
        print(f"memory of an idle server, tfnb: {ours.idle_mb:.0f} MB")
        wanted = titles or ours.titles
        print("| step | TensorFlow, ms | tfnb, ms | ratio | processor, ms | tfnb, ms | ratio |")
        print("|---|---|---|---|---|---|---|")
        for title in wanted:
            _print_row(title, theirs, ours, title, rounds)
        if MASTERS_ROW in wanted:
            text = f"{MASTERS_ROW}, tfnb's master over TensorFlow's workers"
            mixed = stack.enter_context(Cluster(CLUSTERS["tfnb's master"], pythons))
            _print_row(text, theirs, mixed, MASTERS_ROW, rounds)
    with ExitStack() as stack:
        theirs, ours = (
            stack.enter_context(Cluster(CLUSTERS[name], pythons, has_client=False))
            for name in (TENSORFLOW, TFNB)
        )
        for title in wanted:
            _print_row(f"{title}, {WITHOUT_CLIENT}", theirs, ours, title, rounds)
    measure_bare(rounds)


def _print_row(text: str, theirs: Cluster, ours: Cluster, title: str, rounds: int) -> None:
    """Measure a workload on two clusters in turns."""
    found: dict[Cluster, list[tuple[float, float]]] = {theirs: [], ours: []}
    for _ in range(rounds):
        for cluster, times in found.items():
            times.append(cluster.measure(title))
    cells = [text]
    for kind in (0, 1):
        before, now = (
            statistics.median(one[kind] for one in times) * 1e3 for times in found.values()
        )
        cells += [f"{before:.2f}", f"{now:.2f}", f"{now / before:.2f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Compare, or be a server or a client of the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tensorflow", nargs="?", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=[], help="titles of the rows to measure")
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        name, spec, job, index = args.serve
        serve(name, ast.literal_eval(spec), job, int(index))
    elif args.measure:
        name, target, *spec = args.measure
        measure(name, target, *map(ast.literal_eval, spec))
    elif args.bare is not None:
        serve_bare(args.bare)
    elif args.tensorflow is None:
        parser.error("name a Python that has TensorFlow")
    else:
        compare(args.tensorflow, args.rounds, args.only)


if __name__ == "__main__":
    main()
