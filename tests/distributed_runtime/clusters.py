"""Clusters of this process, for tests: their tasks meet at sockets in a folder, not at ports."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cluster:
    """Servers of one process by job and number."""

    def __init__(self, folder: str, jobs: dict[str, int], config: Any = None) -> None:
        self.spec = tf.train.ClusterSpec(
            {
                job: [f"unix:{folder}/{job}{index}" for index in range(count)]
                for job, count in jobs.items()
            }
        )
        self.config = config
        self.servers: dict[tuple[str, int], tf.train.Server] = {}

    def start(self, job: str, index: int = 0) -> tf.train.Server:
        """Start a task."""
        server = tf.train.Server(self.spec, job, index, config=self.config)
        self.servers[job, index] = server
        return server

    def start_all(self) -> None:
        """Start all tasks."""
        for job in self.spec.jobs:
            for index in self.spec.task_indices(job):
                self.start(job, index)

    def stop(self, job: str, index: int = 0) -> None:
        """Stop a task."""
        self.servers.pop((job, index)).stop()

    def target(self, job: str = "worker", index: int = 0) -> str:
        """Return the target of sessions on a task."""
        return f"grpc://{self.spec.task_address(job, index)}"


@contextmanager
def cluster_of(config: Any = None, *, started: bool = True, **jobs: int) -> Iterator[Cluster]:
    """Yield a cluster; each keyword is a job and its number of tasks."""
    folder = tempfile.mkdtemp(prefix="tfnb")  # a short path: sockets have short names
    cluster = Cluster(folder, jobs, config)
    try:
        if started:
            cluster.start_all()
        yield cluster
    finally:
        for server in cluster.servers.values():
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def run_when_connected(session: tf.Session, fetch: Any) -> Any:
    """Run a step once the connection to a server that was started again is there."""
    while True:
        try:
            return session.run(fetch)
        except tf.errors.UnavailableError:
            continue
