"""The workers of a cluster.

Corresponds to TensorFlow's ``worker_cache.h`` and ``rpc/grpc_worker_cache.cc``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tfnb.core import device_spec, errors
from tfnb.core.cluster_spec import ClusterSpec
from tfnb.distributed_runtime.grpc_channel import host_port_of
from tfnb.distributed_runtime.grpc_remote_worker import GrpcRemoteWorker
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.distributed_runtime.grpc_channel import TlsFiles
    from tfnb.distributed_runtime.worker_interface import WorkerInterface
    from tfnb.proto.cluster_pb2 import ClusterDef


def task_name(job: str, index: int) -> str:
    """Return the name of a task.

    >>> task_name("ps", 1)
    '/job:ps/replica:0/task:1'
    """
    return f"/job:{job}/replica:0/task:{index}"


def cluster_spec_of(cluster_def: ClusterDef, own_task: str = "") -> ClusterSpec:
    """Return the jobs of a cluster that came in a message.

    Args:
      cluster_def: the message.
      own_task: the task of this process, whose address is not looked at.

    Raises:
      InvalidArgumentError: a job is listed twice, or is no name of a device, or a task has a
        negative number or no host and port.
    """
    jobs: set[str] = set()
    for job in cluster_def.job:
        if job.name in jobs:
            raise errors.invalid_argument(
                f"Duplicate job ID in cluster specification: {job.name}. Write all tasks of a job "
                "into one entry."
            )
        jobs.add(job.name)
        for index, address in job.tasks.items():
            task = task_name(job.name, index)
            if device_spec.parse_full_name(task) is None:
                raise errors.invalid_argument(
                    f"The cluster has a task that no device can name: {task}. A job begins with a "
                    "letter and goes on with letters, digits and underscores; tasks count from 0."
                )
            if task != own_task:
                host_port_of(address)
    return ClusterSpec(cluster_def)


def addresses_of(cluster: ClusterSpec) -> dict[str, str]:
    """Return ``host:port`` of each task by its name, jobs in alphabetical order."""
    return {
        task_name(job, index): cluster.task_address(job, index)
        for job in sorted(cluster.jobs)
        for index in cluster.task_indices(job)
    }


class WorkerCache:
    """Finds workers by the names of their tasks; connections are made on first use; thread safe.

    Attributes:
      tls: the files of the task that connects to the others; None: no encryption.
    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        options: config_pb2.RPCOptions | None = None,
        tls: TlsFiles | None = None,
    ) -> None:
        self._addresses = dict(addresses)
        self.tls = tls
        self._options = options or config_pb2.RPCOptions()
        self._lock = threading.Lock()
        self._workers: dict[str, WorkerInterface] = {}  # guarded by self._lock
        self._remote: list[GrpcRemoteWorker] = []  # guarded by self._lock

    def set_local(self, worker: WorkerInterface, task: str = "") -> None:
        """Use a worker of this process for a task, which may have another name in this cluster."""
        with self._lock:
            self._workers[task or worker.task] = worker

    @property
    def tasks(self) -> list[str]:
        """The names of all tasks."""
        return list(self._addresses)

    def at(self, address: str) -> list[str]:
        """Return the tasks at an address."""
        return [task for task, known in self._addresses.items() if known == address]

    def find(self, task: str) -> WorkerInterface:
        """Return the worker of a task.

        Raises:
          InvalidArgumentError: the cluster has no such task.
        """
        with self._lock:
            found = self._workers.get(task)
            if found is not None:
                return found
            address = self._addresses.get(task)
            if address is None:
                raise errors.invalid_argument(
                    f"The cluster has no task {task}. Its tasks are: {', '.join(self._addresses)}"
                )
            worker = GrpcRemoteWorker(task, address, self._options, self.tls)
            self._remote.append(worker)
            self._workers[task] = worker
            return worker

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            remote, self._remote = self._remote, []
        for worker in remote:
            worker.close()


def new_worker_cache(
    cluster: ClusterSpec,
    options: config_pb2.RPCOptions | None = None,
    tls: TlsFiles | None = None,
) -> WorkerCache:
    """Return the workers of a cluster; a task with files for TLS expects others to have them."""
    return WorkerCache(addresses_of(cluster), options, tls)
