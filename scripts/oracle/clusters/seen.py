"""Observe a step on clusters of each library: what the views of a notebook are made of.

``python scripts/oracle/clusters/seen.py TENSORFLOW`` names a Python that has TensorFlow. A cluster
has a parameter server and two workers in processes of their own; the client is tfnb's. For each
library the script prints the devices of the partitions, the tasks whose nodes the trace has, and
the bytes of the tensor between the workers. The exit status is 1 if the libraries differ.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from two_libraries import main_of, unused_ports

TASKS = [("ps", 0), ("worker", 0), ("worker", 1)]


def run(tf: Any, target: str) -> None:
    """Observe a step over three tasks."""
    from tfnb.core.step_events import StepObserver

    class Observer(StepObserver):
        """Keeps what a step gave."""

        def __init__(self) -> None:
            self.partitions: dict[int, str] = {}
            self.edges: dict[tuple[int, str], str] = {}
            self.nodes: set[str] = set()
            self.received: dict[str, int] = {}

        def graph_partitioned(self, partitioned: Any) -> None:
            """Note the parts; those of the server come last."""
            self.partitions = {one.index: one.device for one in partitioned.partitions}
            self.edges = {
                (one.index, node): edge
                for one in partitioned.partitions
                for node, edge in one.send_recv
            }

        def node_done(self, *about: Any) -> None:
            """Note the device."""
            self.nodes.add(self.partitions[about[1]])

        def tensor_received(self, *about: Any) -> None:
            """Note the bytes."""
            self.received[self.edges[about[1], about[2]]] = about[3]

    with tf.device("/job:ps/task:0"):
        table = tf.Variable(tf.ones([100, 100]), name="table")
    with tf.device("/job:worker/task:0"):
        product = tf.matmul(table, table, name="product")
    with tf.device("/job:worker/task:1"):
        total = tf.reduce_sum(product)
    with tf.Session(target) as sess:
        sess.run(table.initializer)
        observer = Observer()
        sess.runtime.step_events.add(observer)
        value = sess.run(total)
        sizes = [size for edge, size in observer.received.items() if edge.endswith("product")]
        print(value, sorted(observer.partitions.values()), sorted(observer.nodes), sizes)


def compare(tensorflow: str) -> int:
    """Print a line for each library; return whether they differ."""
    found: list[str] = []
    for name, python in {"tensorflow": tensorflow, "tfnb": sys.executable}.items():
        addresses = [f"localhost:{port}" for port in unused_ports(3)]
        spec = repr({"ps": addresses[:1], "worker": addresses[1:]})
        servers = [
            subprocess.Popen(
                [python, __file__, "--serve", name, spec, job, str(index)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for job, index in TASKS
        ]
        try:
            for server in servers:
                assert server.stdout is not None
                server.stdout.readline()
            done = subprocess.run(
                [sys.executable, __file__, "--client", "tfnb", f"grpc://{addresses[1]}"],
                capture_output=True,
                text=True,
                timeout=300,
            )
            found.append(done.stdout.strip() or done.stderr[-500:])
            print(f"{name}: {found[-1]}", flush=True)
        finally:
            for server in servers:
                server.kill()
                server.wait()
    return int(len(set(found)) != 1 or "[40000]" not in found[0])


if __name__ == "__main__":
    sys.exit(main_of(__doc__, compare, run, 1))
