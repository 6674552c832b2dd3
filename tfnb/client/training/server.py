"""``tf.train.Server``: a task of a cluster in this process."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.cluster_spec import ClusterSpec
from tfnb.proto.tensorflow_server_pb2 import ServerDef

if TYPE_CHECKING:
    from tfnb.distributed_runtime.server_lib import GrpcServer
    from tfnb.proto.config_pb2 import ConfigProto

EXPORTS = {"train": ["Server"], "distribute": ["Server"], "test": ["create_local_cluster"]}

_MOST_ATTEMPTS = 5


class Server:
    """A task of a cluster: it runs steps of sessions whose target it is, and parts of others.

    All who reach its port can run graphs: there is neither encryption nor a password, as in
    TensorFlow. Tasks at ``localhost`` accept connections from this machine only. A server runs
    until :meth:`stop`, or until the process ends.

    >>> import tfnb as tf
    >>> server = tf.train.Server.create_local_server()
    >>> with tf.Graph().as_default(), tf.Session(server.target) as sess:
    ...     int(sess.run(tf.constant(3) * 4))
    12
    >>> server.stop()
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        start: bool = True,
    ) -> None:
        """Make a server.

        Args:
            server_or_cluster_def: A ``ServerDef``, or a ``ClusterSpec`` or what makes one.
            job_name: The job of this task; may be left out where there is only one.
            task_index: The number of this task; may be left out where the job has only one.
            protocol: ``grpc``.
            config: For sessions that bring no configuration.
            start: Whether it starts at once.

        Raises:
            TypeError: The first argument is neither a server nor a cluster.
            ValueError: Job or task have to be said, or the cluster has no such job.
            InternalError: The cluster has no such task.
            InvalidArgumentError: An address has no port, or a job is listed twice.
            UnknownError: The port is taken.
            UnimplementedError: gRPC is not installed, or no thread can be started.
        """
        errors.require_threads("A server", "Use a session of this process: tf.Session().")
        self._server_def = _make_server_def(
            server_or_cluster_def, job_name, task_index, protocol, config
        )
        from tfnb.distributed_runtime.server_lib import GrpcServer

        self._server: GrpcServer = GrpcServer(self._server_def)
        if start:
            self.start()

    def start(self) -> None:
        """Answer requests from now on; a second call does nothing."""
        self._server.start()

    def join(self) -> None:
        """Wait until the server is stopped, which may be for ever; an interrupt ends the waiting.

        Raises:
            FailedPreconditionError: The server was not started.
        """
        self._server.join()

    def stop(self) -> None:
        """End all steps and sessions and give the port back; TensorFlow's servers cannot."""
        self._server.stop()

    @property
    def server_def(self) -> ServerDef:
        """The ``ServerDef`` of this server."""
        return self._server_def

    @property
    def target(self) -> str:
        """The target of sessions on this server, ``grpc://host:port``."""
        return self._server.target

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """Return a server of a cluster of one task, ``/job:local/task:0``, at a free port.

        Args:
            config: For sessions that bring no configuration.
            start: Whether it starts at once.
        """
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _make_server_def(
    server_or_cluster_def: Any,
    job_name: str | None,
    task_index: int | None,
    protocol: str | None,
    config: ConfigProto | None,
) -> ServerDef:
    server_def = ServerDef()
    if isinstance(server_or_cluster_def, ServerDef):
        server_def.CopyFrom(server_or_cluster_def)
        if protocol is not None:
            server_def.protocol = protocol
        if job_name is not None:
            server_def.job_name = job_name
        if task_index is not None:
            server_def.task_index = task_index
    else:
        try:
            cluster = ClusterSpec(server_or_cluster_def)
        except TypeError:
            raise TypeError(
                "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
                "`tf.train.ClusterSpec`."
            ) from None
        if job_name is None:
            if len(cluster.jobs) != 1:
                raise ValueError("Must specify an explicit `job_name`.")
            job_name = cluster.jobs[0]
        if task_index is None:
            indices = cluster.task_indices(job_name)
            if len(indices) != 1:
                raise ValueError("Must specify an explicit `task_index`.")
            task_index = indices[0]
        server_def.cluster.CopyFrom(cluster.as_cluster_def())
        server_def.job_name, server_def.task_index = job_name, task_index
        server_def.protocol = protocol or "grpc"
    if config is not None:
        server_def.default_session_config.MergeFrom(config)
    return server_def


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: ConfigProto | None = None,
    ps_config: ConfigProto | None = None,
) -> tuple[list[Server], list[Server]]:
    """Return started servers of a cluster in this process: workers and parameter servers.

    Args:
        num_workers: How many tasks ``/job:worker`` has.
        num_ps: How many tasks ``/job:ps`` has.
        protocol: ``grpc``.
        worker_config: For sessions on workers that bring no configuration.
        ps_config: The same, for sessions on parameter servers.
    """
    for attempt in range(_MOST_ATTEMPTS):
        ports = _unused_ports(num_workers + num_ps)
        addresses = [f"localhost:{port}" for port in ports]
        cluster = ClusterSpec({"worker": addresses[:num_workers], "ps": addresses[num_workers:]})
        made: list[Server] = []
        try:
            tasks = [("worker", index, worker_config) for index in range(num_workers)]
            tasks += [("ps", index, ps_config) for index in range(num_ps)]
            # What was started before an error stays in the list.
            made.extend(Server(cluster, job, index, protocol, own) for job, index, own in tasks)
        except errors.UnknownError:
            # Another process has taken a port in the meantime.
            for server in made:
                server.stop()
            if attempt == _MOST_ATTEMPTS - 1:
                raise
        else:
            break
    return made[:num_workers], made[num_workers:]


def _unused_ports(count: int) -> list[int]:
    """Return ports that nothing used a moment ago, all different."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("localhost", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
