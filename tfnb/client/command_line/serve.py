"""``tfnb serve``: a server for graphs of clients that are not trusted.

The server refuses the effects of their nodes unless the command line allows them; a fed path gives
no permission, because the client feeds it. Other machines need TLS to connect.
"""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfnb.client.command_line.run import UsageError
from tfnb.core.cluster_spec import ClusterSpec
from tfnb.core.effects import EffectsPolicy, Grant, resolved_path
from tfnb.core.files import file_system
from tfnb.core.host_memory import resident_bytes
from tfnb.core.process.collector_pause import keep_existing_objects
from tfnb.distributed_runtime.grpc_channel import UNIX, is_of_this_machine
from tfnb.proto.tensorflow_server_pb2 import ServerDef

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tfnb.client.command_line.progress import Progress
    from tfnb.distributed_runtime.grpc_channel import TlsFiles
    from tfnb.distributed_runtime.server_lib import GrpcServer

HELP = "serve graphs of clients: a TensorFlow server, or one task of a cluster"
_KINDS = ("read", "write", "python", "network")
_WAIT_S = 0.5
_NAP_S = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--address",
        default="localhost:0",
        help="host:port or unix:PATH; port 0 is a free one (default localhost:0)",
    )
    parser.add_argument(
        "--cluster",
        metavar="FILE",
        help='a JSON file of the cluster, {"ps": ["host:port"], "worker": ["host:port"]}',
    )
    parser.add_argument("--job", help="job of this task (default local)")
    parser.add_argument("--task", type=int, help="number of this task (default 0)")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="EFFECT[=FOLDER]",
        help=f"effect that graphs may have: {', '.join(_KINDS)}; files only in FOLDER",
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate chain of this server, PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="private key of this server, PEM")
    parser.add_argument(
        "--tls-client-ca", metavar="FILE", help="require clients' certificates, signed by this one"
    )
    parser.add_argument(
        "--max-message-mb",
        type=int,
        default=2048,
        metavar="MB",
        help="largest request in MiB (default 2048, the limit of the format)",
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="how long steps may go on after a stop is asked for (default 30)",
    )
    parser.add_argument(
        "--session-gc-seconds",
        type=float,
        default=86_400.0,
        metavar="SECONDS",
        help="close sessions that are not used for that long; 0: never (default 86400)",
    )
    parser.add_argument(
        "--log-every",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="how often a line with the state is printed while steps run (default 10)",
    )


def serve(options: argparse.Namespace, progress: Progress) -> None:
    """Serve until a signal asks to stop; a second one ends the steps that still run.

    Raises:
        UsageError: The arguments do not fit together.
        OpError: The address is taken, or the cluster has no such task.
    """
    server_def = _server_def(options)
    policy = _policy(options.allow)
    tls = _tls(options, server_def)
    from tfnb.distributed_runtime.server_lib import GrpcServer

    with progress.phase("starting the server"):
        server = GrpcServer(
            server_def,
            policy,
            tls,
            max_message_bytes=options.max_message_mb * 2**20,
            session_gc_seconds=options.session_gc_seconds,
        )
        server.start()
    keep_existing_objects()
    allowed = ", ".join(options.allow) or "none"
    how = "mTLS" if options.tls_client_ca else "TLS" if tls else "no encryption"
    print(f"{server.task} serves {server.target} ({how}); allowed effects: {allowed}", flush=True)
    with _stop_signals() as stops:
        _log_until(server, stops, options.log_every)
        print(f"stopping: {_state(server)}; steps have {options.grace:g} s to end", flush=True)
        until = time.monotonic() + options.grace
        server.refuse_new_sessions()
        while server.num_steps and stops.num < 2 and time.monotonic() < until:
            stops.wait(_WAIT_S)
    server.stop()
    print("stopped", flush=True)


def _server_def(options: argparse.Namespace) -> ServerDef:
    if options.cluster is None:
        if options.job is not None or options.task is not None:
            raise UsageError("--job and --task choose a task of --cluster, which is missing")
        cluster, job, task = ClusterSpec({"local": [options.address]}), "local", 0
    else:
        import json

        try:
            cluster = ClusterSpec(json.loads(file_system.read_file(options.cluster)))
        except (ValueError, TypeError) as error:
            raise UsageError(f"--cluster: {options.cluster} is no cluster: {error}") from error
        job = options.job or (cluster.jobs[0] if len(cluster.jobs) == 1 else "")
        if job not in cluster.jobs:
            raise UsageError(f"--job must be one of: {', '.join(cluster.jobs)}")
        task = options.task or 0
    server_def = ServerDef(job_name=job, task_index=task, protocol="grpc")
    server_def.cluster.CopyFrom(cluster.as_cluster_def())
    return server_def


def _policy(allowed: list[str]) -> EffectsPolicy:
    policy = EffectsPolicy()
    for text in allowed:
        kind, _, folder = text.partition("=")
        if kind not in _KINDS:
            raise UsageError(f"--allow: {kind!r} is no effect; there are {', '.join(_KINDS)}")
        if folder and kind not in ("read", "write"):
            raise UsageError(f"--allow: {kind} concerns no folder")
        policy.add((Grant(kind, resolved_path(folder) if folder else None),))
    return policy


def _tls(options: argparse.Namespace, server_def: ServerDef) -> TlsFiles | None:
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert and --tls-key belong together")
    if options.tls_client_ca is not None and options.tls_cert is None:
        raise UsageError("--tls-client-ca needs --tls-cert and --tls-key")
    if options.tls_cert is not None:
        from tfnb.distributed_runtime.grpc_channel import TlsFiles

        return TlsFiles(
            Path(options.tls_cert).read_bytes(),
            Path(options.tls_key).read_bytes(),
            None if options.tls_client_ca is None else Path(options.tls_client_ca).read_bytes(),
        )
    address = ClusterSpec(server_def.cluster).task_address(
        server_def.job_name, server_def.task_index
    )
    is_socket = address.startswith(UNIX)
    if not is_of_this_machine(address if is_socket else address.rpartition(":")[0]):
        raise UsageError(
            f"{address} can be reached from other machines: give --tls-cert and --tls-key, and "
            "--tls-client-ca to choose the clients; or serve localhost, and let clients in by a "
            "tunnel of ssh"
        )
    return None


class _Stops:
    """How often a signal asked to stop.

    The handler takes no lock: the thread that it interrupts might hold it.
    """

    def __init__(self) -> None:
        self.num = 0
        self._num_seen = 0

    def ask(self, *signal_and_frame: Any) -> None:
        """Note a signal."""
        self.num += 1

    def wait(self, seconds: float) -> bool:
        """Wait for a signal; return whether one has come since the last call."""
        until = time.monotonic() + seconds
        while self.num == self._num_seen:
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, _NAP_S))
        self._num_seen = self.num
        return True


@contextmanager
def _stop_signals() -> Iterator[_Stops]:
    """Yield what counts interrupts and terminations."""
    stops = _Stops()
    before = {one: signal.signal(one, stops.ask) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log_until(server: GrpcServer, stops: _Stops, every_s: float) -> None:
    """Print a line with the state at intervals, where it has changed, until a signal comes."""
    last, due = "", time.monotonic() + every_s
    while not stops.wait(_WAIT_S):
        if time.monotonic() >= due:
            due = time.monotonic() + every_s
            state = _state(server)
            if state != last:
                print(f"{time.strftime('%H:%M:%S')} {state}", flush=True)
                last = state


def _state(server: GrpcServer) -> str:
    memory_mb = resident_bytes() // 2**20
    sessions, steps, done = server.num_sessions, server.num_steps, server.num_steps_done
    return f"{sessions} sessions, {steps} steps in flight, {done} done, {memory_mb} MB"
