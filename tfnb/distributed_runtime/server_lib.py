"""A server: the master and the worker of one task, at one port.

Corresponds to TensorFlow's ``server_lib.h`` and ``rpc/grpc_server_lib.cc``.
"""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any, Final

from tfnb.common_runtime.device.device_mgr import make_local_devices
from tfnb.common_runtime.session import process_state
from tfnb.core import errors
from tfnb.core.process.notification import Notification
from tfnb.core.process.weak_registry import WeakRegistry
from tfnb.distributed_runtime import in_process_channel
from tfnb.distributed_runtime.grpc_channel import (
    SCHEME,
    TLS_SCHEME,
    UNIX,
    import_grpc,
    is_of_this_machine,
)
from tfnb.distributed_runtime.grpc_services import (
    MasterService,
    WorkerService,
    handlers_of,
    methods_of,
)
from tfnb.distributed_runtime.grpc_tensor_coding import MAX_MESSAGE_BYTES
from tfnb.distributed_runtime.master import Master
from tfnb.distributed_runtime.server_threads import ServerThreads
from tfnb.distributed_runtime.worker import Worker
from tfnb.distributed_runtime.worker_cache import cluster_spec_of, new_worker_cache, task_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.cluster_spec import ClusterSpec
    from tfnb.core.effects import EffectsPolicy
    from tfnb.distributed_runtime.grpc_channel import TlsFiles
    from tfnb.proto import tensorflow_server_pb2

_log = logging.getLogger("tfnb")

SESSION_GC_S: Final = 86_400.0
"""A session that is not used for that long is closed, in seconds: its client was killed."""

_COLLECT_EVERY_S = 60.0
_MOST_ATTEMPTS = 20
# The addresses of localhost: in a target, and for a socket.
_LOCAL = (("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"))
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    # A second server at this port is an error: two servers must not share it.
    ("grpc.so_reuseport", 0),
)


_servers: WeakRegistry[GrpcServer] = WeakRegistry()


def live_servers() -> list[GrpcServer]:
    """Return the servers of this process that have been started and not stopped."""
    return [server for server in _servers if server.is_running]


class GrpcServer:
    """One task of a cluster.

    Attributes:
      server_def: what it was made of.
      target: ``grpc://host:port``, for sessions on it.
    """

    def __init__(
        self,
        server_def: tensorflow_server_pb2.ServerDef,
        policy: EffectsPolicy | None = None,
        tls: TlsFiles | None = None,
        *,
        max_message_bytes: int = -1,
        session_gc_seconds: float = SESSION_GC_S,
    ) -> None:
        """Take the port; requests are answered from :meth:`start` on.

        Args:
          server_def: cluster and task.
          policy: the effects that graphs of clients may have; None: all.
          tls: certificates, also shown to other tasks; None: no encryption.
          max_message_bytes: a larger request is refused before it is read; -1: no limit.
          session_gc_seconds: a session that is not used for that long is closed; 0: none is.

        Raises:
          InternalError: the cluster has no such task.
          InvalidArgumentError: an address has no port, or a job is listed twice.
          UnknownError: the port is taken.
          UnimplementedError: gRPC is not installed, or the protocol is another one.
        """
        grpc = import_grpc()
        self.server_def = server_def
        if server_def.protocol and server_def.protocol != "grpc":
            raise errors.not_found(
                "No server factory registered for the given ServerDef: protocol "
                f"'{server_def.protocol}'. The available server factories are: [ GRPC_SERVER ]"
            )
        self.task = task_name(server_def.job_name, server_def.task_index)
        cluster = cluster_spec_of(server_def.cluster, self.task)
        host, port = _address_of(cluster, server_def)
        config = server_def.default_session_config
        process_state.prepare_for_messages()
        process_state.prepare(config)
        devices = make_local_devices(dict(config.device_count), config, self.task)
        self._workers = new_worker_cache(cluster, config.rpc_options, tls)
        leader = config.experimental.collective_group_leader
        self._worker = Worker(self.task, devices, self._workers.find, policy, tls, leader)
        self._workers.set_local(self._worker)
        self._master = Master(self.task, self._workers, config, self._worker.step_sequences)
        self._threads = ServerThreads("tfnb-server")
        limit = min(max_message_bytes, MAX_MESSAGE_BYTES)
        options = (*_OPTIONS, ("grpc.max_receive_message_length", limit))
        self._server: Any = grpc.server(self._threads, options=options)
        self._services = (
            MasterService(self._master),
            WorkerService(self._worker, self._master),
        )
        self._server.add_generic_rpc_handlers(handlers_of(grpc, self._threads, *self._services))
        self._credentials: Any = None
        if tls is not None:
            self._credentials = grpc.ssl_server_credentials(
                [(tls.key, tls.certificate)], tls.client_ca, tls.client_ca is not None
            )
        self.target = self._listen(host, port)
        self._lock = threading.Lock()
        self._state = "new"  # guarded by self._lock
        self._stopped = Notification()
        self._session_gc_seconds = session_gc_seconds
        _servers.add(self)

    @property
    def is_running(self) -> bool:
        """Whether it answers requests."""
        return self._state == "started"

    def _listen(self, host: str, port: int) -> str:
        """Take the port; return the target.

        Raises:
          UnknownError: the port is taken.
        """
        is_file = host.startswith(UNIX)
        reached_from_outside = not is_of_this_machine(host)
        if is_file:
            found = self._bind([host])
        else:
            hosts = ["[::]"] if reached_from_outside else _addresses_of(host)
            found = self._bind_port(hosts, port)
        if not found:
            place = host if is_file else f"{'[::]' if reached_from_outside else host}:{port}"
            raise errors.unknown(
                f"Could not start gRPC server: {place} is taken, or may not be used. Stop the "
                "server that has it, or choose another port."
            )
        if reached_from_outside and self._credentials is None:
            _log.warning(
                "The server of %s accepts connections from other machines at port %d, without "
                "encryption and without a password: all who reach it can run graphs.",
                self.task,
                found,
            )
        scheme = SCHEME if self._credentials is None else TLS_SCHEME
        return scheme + (host if is_file else f"{host}:{found}")

    def _bind_port(self, hosts: Sequence[str], port: int) -> int:
        """Take a port at all addresses of a host; return it, 0 if it is taken.

        gRPC is satisfied with one of them, where a client may find another server at the other.
        """
        if port:
            return self._bind([f"{host}:{port}" for host in hosts])
        first, *others = hosts
        for _ in range(_MOST_ATTEMPTS):
            found = self._bind([f"{first}:0"])
            if not others or self._bind([f"{host}:{found}" for host in others]):
                return found
        return 0

    def _bind(self, places: Sequence[str]) -> int:
        """Listen at places; return the port of the last one, 0 if one of them is taken."""
        found = 0
        for place in places:
            try:
                if self._credentials is None:
                    found = self._server.add_insecure_port(place)
                else:
                    found = self._server.add_secure_port(place, self._credentials)
            except RuntimeError:
                return 0
        return found

    def start(self) -> None:
        """Answer requests; a second call does nothing.

        Raises:
          FailedPreconditionError: the server was stopped.
        """
        with self._lock:
            if self._state == "stopped":
                raise errors.failed_precondition("Server has stopped.")
            if self._state == "new":
                self._server.start()
                methods = methods_of(import_grpc(), *self._services)
                in_process_channel.register(self.target, methods)
                self._state = "started"
                if self._session_gc_seconds > 0:
                    threading.Thread(
                        target=self._collect_sessions, name="tfnb-session-collector", daemon=True
                    ).start()

    def _collect_sessions(self) -> None:
        """Close sessions that are not used, those of clients that were killed among them."""
        limit = self._session_gc_seconds
        while not self._stopped.wait(min(limit / 2, _COLLECT_EVERY_S)):
            self._master.collect(limit)
            # Later than its master would: a master of another process that lives closes it first.
            self._worker.collect(2 * limit)

    def stop(self) -> None:
        """End all steps and sessions and give the port back; a second call does nothing."""
        with self._lock:
            if self._state == "stopped":
                return
            self._state = "stopped"
        in_process_channel.deregister(self.target)
        self._server.stop(None).wait()
        self._master.close()
        self._worker.close()
        self._workers.close()
        self._threads.shutdown()
        self._stopped.notify()

    def join(self) -> None:
        """Wait until the server is stopped; an interrupt ends the waiting.

        Raises:
          FailedPreconditionError: the server was not started.
        """
        with self._lock:
            if self._state == "new":
                raise errors.failed_precondition("Server has not been started.")
        # In intervals: a wait without a limit would not be interrupted everywhere.
        while not self._stopped.wait(1.0):
            pass

    def refuse_new_sessions(self) -> None:
        """Refuse new sessions from now on; steps of those that are open go on."""
        self._master.refuse_new_sessions()

    @property
    def num_sessions(self) -> int:
        """The number of open sessions."""
        return self._master.num_sessions

    @property
    def num_steps(self) -> int:
        """The number of steps in flight, for masters of other tasks, too."""
        return self._worker.num_runs

    @property
    def num_steps_done(self) -> int:
        """The number of steps that have ended."""
        return self._worker.num_runs_done

    @property
    def master(self) -> Master:
        """The master."""
        return self._master

    @property
    def worker(self) -> Worker:
        """The worker."""
        return self._worker


def _addresses_of(host: str) -> list[str]:
    """Return the addresses of a host that this machine has, written as in a target.

    gRPC's clients know both addresses of localhost, on machines where the resolver gives one.
    """
    if host == "localhost":
        return [one for one, bare in _LOCAL if _has_address(bare)] or [host]
    return [host]


def _has_address(address: str) -> bool:
    """Return whether something can listen at an address of this machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.bind((address, 0))
    except OSError:
        return False
    return True


def _address_of(
    cluster: ClusterSpec, server_def: tensorflow_server_pb2.ServerDef
) -> tuple[str, int]:
    """Return host and port of the task.

    Raises:
      InternalError: the cluster has no such task.
      InvalidArgumentError: its address has no port.
    """
    job, index = server_def.job_name, server_def.task_index
    if job not in cluster.jobs:
        raise errors.internal(f'Job "{job}" was not defined in cluster')
    try:
        address = cluster.task_address(job, index)
    except ValueError:
        raise errors.internal(f'Task {index} was not defined in job "{job}"') from None
    if address.startswith(UNIX):
        return address, 0
    host, colon, text = address.rpartition(":")
    if server_def.port:
        return host or address, server_def.port
    if not colon or not text.isdigit() or int(text) > 65535:
        raise errors.invalid_argument(f'Could not parse port for local server from "{address}".')
    return host, int(text)
