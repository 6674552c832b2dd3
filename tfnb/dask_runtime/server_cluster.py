"""``tfnb.dask.start_cluster``: servers of a cluster in Dask's workers."""

from __future__ import annotations

import socket
import uuid
from typing import TYPE_CHECKING, Any, Self

from tfnb.core import errors
from tfnb.core.cluster_spec import ClusterSpec
from tfnb.dask_runtime.clients import get_client, hosts_of, is_loopback
from tfnb.distributed_runtime.grpc_channel import SCHEME, TLS_SCHEME, import_grpc

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from tfnb.dask_runtime.worker_plugins import ServerPlugin

EXPORTS = {"dask": ["start_cluster", "DaskCluster"]}

# Jobs whose first task is the target, the first that exists.
_CHIEFS = ("chief", "master", "worker")
_MOST_ATTEMPTS = 5


class DaskCluster:
    """Servers in Dask's workers; they end with the workers, or by :meth:`stop`.

    A worker that Dask starts again starts its server again, at the same address: old sessions get
    an AbortedError or UnavailableError, new ones work, and variables of that task are lost.

    Attributes:
      spec: the ``tf.train.ClusterSpec``.
      target: the target of sessions on the first task of ``chief``, ``master`` or ``worker``, or of
        the first job.
      workers: Dask's name of the worker of each task, by job and number.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        spec: ClusterSpec,
        workers: dict[tuple[str, int], Any],
        scheme: str,
    ) -> None:
        """Make what describes servers that run; :func:`start_cluster` calls this."""
        self.spec = spec
        self.workers = workers
        self._client = client
        self._name = name
        self._scheme = scheme
        job = next((one for one in _CHIEFS if one in spec.jobs), spec.jobs[0])
        self.target = self.target_of(job, spec.task_indices(job)[0])

    def target_of(self, job: str, index: int = 0) -> str:
        """Return the target of sessions on a task."""
        return self._scheme + str(self.spec.task_address(job, index))

    def stop(self) -> None:
        """End the servers, their steps and sessions; the workers go on. Repeated calls are safe."""
        name, self._name = self._name, ""
        if name and self._client.status == "running":
            self._client.unregister_worker_plugin(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        tasks = [
            f"/job:{job}/task:{index} {self.spec.task_address(job, index)} in worker {worker}"
            for (job, index), worker in self.workers.items()
        ]
        return "\n".join([f"DaskCluster {self.target}", *tasks])


def start_cluster(
    client: Any,
    jobs: Mapping[str, int],
    *,
    config: Any = None,
    timeout: float = 30.0,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    tls_client_ca: str | None = None,
) -> DaskCluster:
    """Start a ``tf.train.Server`` in each of as many Dask workers as the jobs have tasks.

        cluster = tfnb.dask.start_cluster(client, {"ps": 1, "worker": 4})
        with tf.device(tf.train.replica_device_setter(cluster=cluster.spec)):
            ...
        with tf.train.MonitoredTrainingSession(cluster.target) as sess:
            ...

    Servers of workers on this machine are at ``localhost``, where only this machine reaches them.
    Elsewhere they need TLS, as those of ``tfnb serve``.

    Args:
      client: a ``distributed.Client``; None: the current one, or workers on this machine.
      jobs: job -> number of tasks.
      config: a ``ConfigProto`` for sessions that bring none.
      timeout: seconds to wait until Dask has enough workers.
      tls_cert: the path of a certificate chain, PEM, which each worker reads. Workers also need the
        variable ``TFNB_TLS_CA`` in their environment, as clients do.
      tls_key: the path of its private key.
      tls_client_ca: the path of what signs the certificates of clients, which are then required.

    Raises:
      ValueError: there is no task, or servers would be open to other machines without TLS.
      DeadlineExceededError: Dask has too few workers.
      UnknownError: a server could not start.
      UnimplementedError: Dask or gRPC is not installed.
    """
    tasks = _tasks_of(jobs)
    if (tls_cert is None) != (tls_key is None):
        raise ValueError("`tls_cert` and `tls_key` belong together.")
    if tls_client_ca is not None and tls_cert is None:
        raise ValueError("`tls_client_ca` needs `tls_cert` and `tls_key`.")
    tls = None if tls_cert is None else (tls_cert, str(tls_key), tls_client_ca)
    import_grpc()
    client = get_client(client, workers=len(tasks))
    from tfnb.dask_runtime.worker_plugins import ServerPlugin

    _wait_for_workers(client, len(tasks), timeout)
    hosts = hosts_of(client)
    names = client.run(_name_of)
    chosen = sorted(names, key=lambda address: (str(type(names[address])), names[address]))
    chosen = chosen[: len(tasks)]
    outside = sorted({hosts[one] for one in chosen if not is_loopback(hosts[one])})
    if outside and tls is None:
        raise ValueError(
            f"Servers on {', '.join(outside)} would accept graphs from other machines without "
            "encryption: give `tls_cert` and `tls_key`, and `tls_client_ca` to choose the clients."
        )
    if outside and len({hosts[one] for one in chosen}) > len(outside):
        raise ValueError(
            "Some workers are reached at 127.0.0.1, others at an address of the network. Start all "
            "workers with an address that the others reach."
        )
    workers = {task: names[address] for task, address in zip(tasks, chosen)}
    given = {worker: task for task, worker in workers.items()}
    text = b"" if config is None else config.SerializeToString()
    for attempt in range(_MOST_ATTEMPTS):
        spec = _spec(client, dict(zip(tasks, chosen)), hosts)
        name = f"tfnb-servers-{uuid.uuid4().hex[:12]}"
        try:
            _start(client, name, ServerPlugin(spec.as_dict(), given, text, tls, chosen))
        except errors.UnknownError:
            # Another process has taken a port in the meantime.
            if attempt == _MOST_ATTEMPTS - 1:
                raise
        else:
            break
    return DaskCluster(client, name, spec, workers, SCHEME if tls is None else TLS_SCHEME)


def _tasks_of(jobs: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return all tasks.

    Raises:
      ValueError: there is none, or a number is not positive.
    """
    for job, count in jobs.items():
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"The job {job!r} needs a positive number of tasks, not {count!r}.")
    if not jobs:
        raise ValueError("`jobs` is empty; a cluster has a job: {'worker': 2}.")
    return [(job, index) for job, count in jobs.items() for index in range(count)]


def _wait_for_workers(client: Any, count: int, timeout: float) -> None:
    """Wait until there are enough workers.

    Raises:
      DeadlineExceededError: there are too few.
    """
    try:
        client.wait_for_workers(count, timeout=timeout)
    except TimeoutError:
        raise errors.deadline_exceeded(
            f"A cluster of {count} tasks needs as many Dask workers; after {timeout:g} s there are "
            f"{len(hosts_of(client))}. Start more, for example by client.cluster.scale({count})."
        ) from None


def _name_of(dask_worker: Any) -> Any:
    """Return the name of a worker, which it keeps when Dask starts it again; runs there."""
    return dask_worker.name


def _spec(
    client: Any, tasks: Mapping[tuple[str, int], str], hosts: Mapping[str, str]
) -> ClusterSpec:
    """Return a cluster with a port for each task that was free a moment ago."""
    while True:
        ports = client.run(_free_port, workers=list(tasks.values()))
        places = {
            task: f"{'localhost' if is_loopback(hosts[one]) else hosts[one]}:{ports[one]}"
            for task, one in tasks.items()
        }
        if len(set(places.values())) == len(places):
            break
    jobs: dict[str, list[str]] = {}
    for (job, _), place in places.items():
        jobs.setdefault(job, []).append(place)
    return ClusterSpec(jobs)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


def _start(client: Any, name: str, plugin: ServerPlugin) -> None:
    """Start the servers.

    Raises:
      UnknownError: one could not start; none is left.
    """
    try:
        client.register_plugin(plugin, name=name)
    except BaseException:
        client.unregister_worker_plugin(name)
        raise
