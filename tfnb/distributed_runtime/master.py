"""A master: opens sessions on the tasks of its cluster.

Corresponds to TensorFlow's ``master.cc``.
"""

from __future__ import annotations

import logging
import random
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from tfnb.core import device_spec, errors
from tfnb.distributed_runtime.grpc_channel import SCHEME, TLS_SCHEME
from tfnb.distributed_runtime.master_session import MasterSession
from tfnb.distributed_runtime.rendezvous_mgr import in_task
from tfnb.distributed_runtime.step_logs import opening_log
from tfnb.distributed_runtime.task_health import is_health_text
from tfnb.distributed_runtime.worker_cache import WorkerCache, cluster_spec_of, new_worker_cache
from tfnb.distributed_runtime.worker_interface import DESCRIPTION
from tfnb.proto import config_pb2, device_attributes_pb2, master_pb2, step_stats_pb2, worker_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.distributed_runtime.task_groups import StepSequences

_log = logging.getLogger("tfnb")

# A task that does not answer is reported after this many seconds, then at longer intervals.
_FIRST_REPORT_S = 2.0
_NEXT_REPORT_S = 10.0
# One question to a task waits that long, so that a cancelled client is noticed; in seconds. Each
# further one waits twice as long: a task that answers slowly must not be asked for ever.
_PATIENCE_S = 1.0
_MOST_PATIENCE_S = 16.0


class Master:
    """The master of a task; thread safe."""

    def __init__(
        self,
        task: str,
        workers: WorkerCache,
        default_config: config_pb2.ConfigProto,
        step_sequences: StepSequences,
    ) -> None:
        """Make a master without sessions.

        Args:
          task: the task that it belongs to.
          workers: the workers of its cluster, its own among them.
          default_config: of sessions that bring no configuration.
          step_sequences: the ids of steps with collective ops.
        """
        self._task = task
        self._workers = workers
        self._default_config = default_config
        self._step_sequences = step_sequences
        self._lock = threading.Lock()
        self._sessions: dict[str, MasterSession] = {}  # guarded by self._lock
        self._refuses = False
        self._caches: dict[str, WorkerCache] = {}  # of sessions with a cluster of their own
        # The tasks that sessions being opened wait for, and since when, by a key for each session.
        self._missing: dict[object, tuple[list[str], float]] = {}

    def create_session(
        self,
        request: master_pb2.CreateSessionRequest,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> MasterSession:
        """Open a session; wait until all its tasks answer.

        Args:
          request: the client's.
          is_cancelled: whether the client has given up.

        Raises:
          CancelledError: the client has given up.
          UnauthenticatedError: a task's certificates do not fit those of this one.
          InvalidArgumentError: a filter, the cluster or a node is malformed.
          OpError: what a worker answered.
        """
        if self._refuses:
            raise errors.unavailable(f"The server of {self._task} is stopping.")
        config = config_pb2.ConfigProto()
        config.CopyFrom(self._default_config)
        config.MergeFrom(request.config)
        workers, own = self._cluster_of(config, request.target)
        tasks = _filtered(workers.tasks, config.device_filters, own)
        devices = self._find_devices(workers, tasks, own, config, is_cancelled)
        handle = f"{random.getrandbits(64):016x}"
        session = MasterSession(handle, config, own, devices, workers.find, self._step_sequences)
        brings_cluster = bool(config.cluster_def.job)
        isolates = (
            config.isolate_session_state or brings_cluster
        ) and not config.experimental.share_session_state_in_clusterspec_propagation

        def for_task(task: str) -> worker_pb2.CreateWorkerSessionRequest:
            message = worker_pb2.CreateWorkerSessionRequest(
                session_handle=handle,
                isolate_session_state=isolates,
                master_task=own,
                master_incarnation=_incarnation_of(devices, own),
            )
            if brings_cluster:
                message.server_def.cluster.CopyFrom(config.cluster_def)
                message.server_def.protocol = "grpc"
                spec = device_spec.parse_full_name(f"{task}/device:CPU:0")
                assert spec is not None
                message.server_def.job_name = spec.job or ""
                message.server_def.task_index = spec.task or 0
                message.cluster_device_attributes.extend(devices)
            return message

        session.create(request.graph_def, for_task)
        with self._lock:
            self._sessions[handle] = session
            if workers is not self._workers:
                self._caches[handle] = workers
        return session

    def _cluster_of(self, config: config_pb2.ConfigProto, target: str) -> tuple[WorkerCache, str]:
        """Return the workers of a session's cluster, and what this master's task is called there.

        The client may bring a cluster, in which tasks have other names: the address that the client
        reached tells which of them is this one.

        Raises:
          InvalidArgumentError: no task of the client's cluster is this one, or several are.
        """
        if not config.cluster_def.job:
            return self._workers, self._task
        workers = new_worker_cache(
            cluster_spec_of(config.cluster_def), config.rpc_options, self._workers.tls
        )
        address = target.removeprefix(SCHEME).removeprefix(TLS_SCHEME)
        found = workers.at(address)
        if not address and self._task in workers.tasks:
            found = [self._task]
        if not found:
            raise errors.invalid_argument(
                "The master (current machine) is not included in the provided cluster_def: none of "
                f"its tasks has the address of the session's target, {address!r}.\n"
                f"{config.cluster_def}"
            )
        if len(found) > 1:
            raise errors.invalid_argument(
                "Found multiple matching tasks that correspond to the master. Master target: "
                f"'{target}'. Tasks: {', '.join(found)}."
            )
        workers.set_local(self._workers.find(self._task), found[0])
        return workers, found[0]

    def _find_devices(
        self,
        workers: WorkerCache,
        tasks: Sequence[str],
        own: str,
        config: config_pb2.ConfigProto,
        is_cancelled: Callable[[], bool],
    ) -> list[device_attributes_pb2.DeviceAttributes]:
        """Ask every task for its devices; those of the master's task, ``own``, come first."""
        found: dict[str, list[device_attributes_pb2.DeviceAttributes]] = {}
        waiting = object()
        try:
            self._ask_tasks(workers, tasks, found, is_cancelled, waiting)
        finally:
            self._missing.pop(waiting, None)
        return [
            device
            for task in sorted(tasks, key=lambda one: one != own)
            for device in found[task]
            if _is_seen(device.name, config.device_filters, own)
        ]

    def _ask_tasks(
        self,
        workers: WorkerCache,
        tasks: Sequence[str],
        found: dict[str, list[device_attributes_pb2.DeviceAttributes]],
        is_cancelled: Callable[[], bool],
        waiting: object,
    ) -> None:
        """Add the devices of all tasks to ``found``; wait for those that do not answer."""
        begin = monotonic()
        next_report = begin + _FIRST_REPORT_S
        patience = _PATIENCE_S
        while len(found) < len(tasks):
            for task in tasks:
                if task in found:
                    continue
                missing = [one for one in tasks if one not in found]
                self._missing[waiting] = missing, begin
                try:
                    with suppress(errors.DeadlineExceededError, errors.UnavailableError):
                        found[task] = [
                            _named_after(task, _without_health(device))
                            for device in workers.find(task).get_status(patience)
                        ]
                except errors.UnauthenticatedError:
                    # A task that is just being ended may close a connection, too.
                    if monotonic() - begin >= _FIRST_REPORT_S:
                        raise
                if is_cancelled():
                    raise errors.cancelled("The client has given up waiting for the session.")
                if monotonic() >= next_report and len(found) < len(tasks):
                    next_report = monotonic() + _NEXT_REPORT_S
                    for silent in [one for one in tasks if one not in found]:
                        _log.warning(
                            "CreateSession still waiting for response from worker: %s (%.0f s). "
                            "A session that does not need it names those that it needs in "
                            "tf.ConfigProto(device_filters=[...]).",
                            silent,
                            monotonic() - begin,
                        )
            if monotonic() >= begin + _FIRST_REPORT_S:
                patience = min(2 * patience, _MOST_PATIENCE_S)

    def step_log(self, request_id: int) -> step_stats_pb2.StepStats | None:
        """Return what a step in flight of a client has done; see ``step_logs.py``.

        Args:
          request_id: of the client's request; 0: the sessions that wait for tasks.
        """
        if not request_id:
            now = monotonic()
            waits = [
                (task, now - since)
                for all_, since in self._missing.copy().values()
                for task in all_
            ]
            return opening_log(waits) if waits else None
        with self._lock:
            sessions = list(self._sessions.values())
        logs = (session.step_log(request_id) for session in sessions)
        return next((log for log in logs if log is not None), None)

    def refuse_new_sessions(self) -> None:
        """Refuse new sessions from now on."""
        self._refuses = True

    @property
    def num_sessions(self) -> int:
        """The number of open sessions."""
        return len(self._sessions)

    def find(self, handle: str) -> MasterSession:
        """Return a session.

        Raises:
          AbortedError: there is none of that handle.
        """
        with self._lock:
            found = self._sessions.get(handle)
            if found is not None:
                found.note_use()
        if found is None:
            raise errors.aborted(
                f"Session {handle} is not found. Possibly, this master has just restarted, or the "
                "session was closed, or was not used for long and was collected."
            )
        return found

    def collect(self, idle_s: float) -> int:
        """Close the sessions that no client has used for that long; return how many.

        A session whose step is in flight is in use. The clients of the others were killed, or have
        forgotten them.
        """
        with self._lock:
            idle = [one for one in self._sessions.values() if one.is_idle_for(idle_s)]
            for session in idle:
                del self._sessions[session.handle]
            caches = [self._caches.pop(session.handle, None) for session in idle]
        for session, workers in zip(idle, caches):
            _log.warning(
                "Session %s was not used for %.0f s: it is closed.", session.handle, idle_s
            )
            session.close()
            if workers is not None:
                workers.close()
        return len(idle)

    def close_session(self, handle: str) -> None:
        """Close a session.

        Raises:
          AbortedError: there is none of that handle.
        """
        session = self.find(handle)
        with self._lock:
            self._sessions.pop(handle, None)
            workers = self._caches.pop(handle, None)
        session.close()
        if workers is not None:
            workers.close()

    def list_devices(
        self, handle: str
    ) -> tuple[
        list[device_attributes_pb2.DeviceAttributes], list[device_attributes_pb2.DeviceAttributes]
    ]:
        """Return the devices of the master's task and those of others that a session sees."""
        own, devices = self._task, self._devices() if not handle else []
        if handle:
            session = self.find(handle)
            own, devices = session.master_task, session.devices
        local = [one for one in devices if one.name.startswith(f"{own}/")]
        return local, [one for one in devices if one not in local]

    def _devices(self) -> list[device_attributes_pb2.DeviceAttributes]:
        config = config_pb2.ConfigProto()
        return self._find_devices(
            self._workers, self._workers.tasks, self._task, config, lambda: False
        )

    def reset(self, containers: Sequence[str], filters: Sequence[str]) -> None:
        """Clear containers on all tasks and end all sessions.

        Raises:
          OpError: what a worker answered.
        """
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for task in _filtered(self._workers.tasks, filters, self._task):
            self._workers.find(task).cleanup_all(containers)
        for session in sessions:
            session.close(errors.aborted("The session was ended by a Reset of its target."))

    def close(self) -> None:
        """End all sessions."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
            caches, self._caches = list(self._caches.values()), {}
        for session in sessions:
            session.close()
        for cache in caches:
            cache.close()


def _without_health(
    device: device_attributes_pb2.DeviceAttributes,
) -> device_attributes_pb2.DeviceAttributes:
    """Return a device without what its task said of itself at the moment of the answer."""
    if is_health_text(device.physical_device_desc):
        device.physical_device_desc = DESCRIPTION
    return device


def _filtered(tasks: Sequence[str], filters: Sequence[str], own: str) -> list[str]:
    return [task for task in tasks if _is_seen(f"{task}/device:CPU:0", filters, own)]


def _is_seen(device: str, filters: Sequence[str], own: str) -> bool:
    """Return whether a session sees a device: no filters, a filter fits, or it is the master's.

    Raises:
      InvalidArgumentError: a filter is not a device name.
    """
    specs = [device_spec.parse_full_name(text) for text in filters]
    for text, spec in zip(filters, specs):
        if spec is None:
            raise errors.invalid_argument(f"Skipping invalid filter: {text}")
    if not specs or device.startswith(f"{own}/"):
        return True
    name = device_spec.parse_full_name(device)
    assert name is not None
    return any(
        all(
            wanted is None or wanted == given
            for wanted, given in (
                (spec.job, name.job),
                (spec.replica, name.replica),
                (spec.task, name.task),
            )
        )
        for spec in specs
        if spec is not None
    )


def _named_after(
    task: str, device: device_attributes_pb2.DeviceAttributes
) -> device_attributes_pb2.DeviceAttributes:
    """Return a device with the name that its task has in the session's cluster."""
    device.name = in_task(device.name, task)
    return device


def _incarnation_of(devices: Sequence[device_attributes_pb2.DeviceAttributes], task: str) -> int:
    for device in devices:
        if device.name.startswith(f"{task}/"):
            return device.incarnation
    return 0
