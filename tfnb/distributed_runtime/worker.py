"""A worker: the task of this process, as masters and other workers see it.

State of a session that a master opened here: its devices (the task's own, or copies with empty
containers where the session is isolated), its graphs and the values it keeps.

Corresponds to TensorFlow's ``worker.cc`` and ``session_mgr.cc``.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.device.device_mgr import DeviceMgr
from tfnb.common_runtime.session.session_state import SessionState
from tfnb.core import errors
from tfnb.core.rendezvous import COLLECTIVE_EDGE, parse_key
from tfnb.core.resource_mgr import RefCell
from tfnb.distributed_runtime.graph_mgr import GraphMgr
from tfnb.distributed_runtime.rendezvous_mgr import RendezvousMgr, in_task
from tfnb.distributed_runtime.step_logs import add_log
from tfnb.distributed_runtime.task_groups import StepSequences, TaskGroups, check_library
from tfnb.distributed_runtime.transfer_logs import add_transfers
from tfnb.distributed_runtime.worker_cache import (
    WorkerCache,
    cluster_spec_of,
    new_worker_cache,
    task_name,
)
from tfnb.distributed_runtime.worker_interface import DESCRIPTION, RunGraphResult
from tfnb.proto import config_pb2, device_attributes_pb2, step_stats_pb2, worker_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.core.effects import EffectsPolicy
    from tfnb.core.rendezvous import Member, Rendezvous, type_of_callback, type_of_group_callback
    from tfnb.distributed_runtime.graph_mgr import RegisteredGraph
    from tfnb.distributed_runtime.grpc_channel import TlsFiles
    from tfnb.distributed_runtime.worker_interface import RunGraphCall, WorkerInterface
    from tfnb.proto import graph_pb2


class SharedDeviceMgr(DeviceMgr):
    """Devices that outlive the sessions that use them."""

    def close(self) -> None:
        """Do nothing: variables and shared queues belong to the task."""


@dataclass(slots=True)
class WorkerSession:
    """What a worker keeps of a session.

    Attributes:
      devices: the devices that its graphs run on.
      graphs: its graphs.
      task: what the session calls this task.
      is_isolated: whether its variables, queues and tables end with it.
      workers: those of the cluster that the session brought; None: the task's own cluster.
      last_used: when a master has used it last.
    """

    devices: DeviceMgr
    graphs: GraphMgr
    task: str
    is_isolated: bool = False
    workers: WorkerCache | None = None
    last_used: float = field(default_factory=monotonic)


class Worker:
    """The worker of this process; thread safe.

    Attributes:
      task: its name, ``/job:worker/replica:0/task:0``.
      devices: its devices.
      num_runs_done: how many runs of graphs have ended.
      step_sequences: the ids of steps with collective ops.
    """

    is_local = True

    def __init__(
        self,
        task: str,
        devices: Sequence[Device],
        worker_of: Callable[[str], WorkerInterface],
        policy: EffectsPolicy | None = None,
        tls: TlsFiles | None = None,
        group_leader: str = "",
    ) -> None:
        """Make a worker.

        Args:
          task: its name.
          devices: its devices, by their full names.
          worker_of: finds the workers of other tasks.
          policy: the effects that graphs of clients may have; None: all.
          tls: its files for TLS, which it also connects to other tasks with; None: no encryption.
          group_leader: the task that leads the groups of collective ops; "": each task its own.
        """
        self.task = task
        self._tls = tls
        self._policy = policy
        self.devices = SharedDeviceMgr(devices)
        self.step_sequences = StepSequences(task, group_leader, worker_of)
        self._groups = TaskGroups(task, group_leader)
        self.rendezvous_mgr = RendezvousMgr(task, worker_of, self._groups)
        self._lock = threading.Lock()
        self._sessions: dict[str, WorkerSession] = {}  # guarded by self._lock
        self._runs: set[LocalRun] = set()  # guarded by self._lock
        self.num_runs_done = 0  # guarded by self._lock
        self._partial: dict[tuple[int, str], PartialStep] = {}  # guarded by self._lock

    # -- sessions ----------------------------------------------------------------------------------

    def get_status(
        self, timeout_s: float | None = None
    ) -> list[device_attributes_pb2.DeviceAttributes]:
        """Return the devices."""
        return [attributes_message(device) for device in self.devices.devices]

    def create_worker_session(self, request: worker_pb2.CreateWorkerSessionRequest) -> None:
        """Open a session.

        Raises:
          InvalidArgumentError: it has no handle, or there is one of this handle.
        """
        handle = request.session_handle
        if not handle:
            raise errors.invalid_argument("Session must have a handle.")
        task, devices = self.task, self.devices
        is_isolated = request.isolate_session_state
        workers: WorkerCache | None = None
        server_def = request.server_def
        if server_def.cluster.job:
            task = task_name(server_def.job_name, server_def.task_index)
            workers = new_worker_cache(cluster_spec_of(server_def.cluster), tls=self._tls)
            workers.set_local(self, task)
        if is_isolated or task != self.task:
            devices = SharedDeviceMgr(
                [
                    device.renamed(
                        in_task(device.name, task),
                        is_isolated=is_isolated,
                    )
                    for device in self.devices.devices
                ]
            )
        session = WorkerSession(
            devices, GraphMgr(devices, SessionState(), self._policy), task, is_isolated, workers
        )
        with self._lock:
            if handle in self._sessions:
                raise errors.invalid_argument(
                    f"A session {handle} exists already on {self.task}. Two tasks of a session's "
                    "cluster must not have one address."
                )
            self._sessions[handle] = session

    def delete_worker_session(self, session_handle: str) -> None:
        """Drop a session; one that is unknown is no error."""
        with self._lock:
            session = self._sessions.pop(session_handle, None)
        if session is not None:
            session.graphs.deregister_all()
            if session.workers is not None:
                session.workers.close()
            if session.is_isolated:
                for device in session.devices.devices:
                    device.resource_manager.clear()

    def collect(self, idle_s: float) -> int:
        """Drop the sessions that no master has used for that long; return how many.

        Those with a run in flight are in use. The masters of the others ended without a word.
        """
        with self._lock:
            in_use = {run.session_handle for run in self._runs}
            handles = [
                handle
                for handle, session in self._sessions.items()
                if handle and handle not in in_use and monotonic() - session.last_used >= idle_s
            ]
        for handle in handles:
            self.delete_worker_session(handle)
        return len(handles)

    def _session(self, handle: str) -> WorkerSession:
        with self._lock:
            found = self._sessions.get(handle)
            if found is None and not handle:
                # The session of masters that open none.
                graphs = GraphMgr(self.devices, SessionState(), self._policy)
                found = WorkerSession(self.devices, graphs, self.task)
                self._sessions[""] = found
            if found is not None:
                found.last_used = monotonic()
        if found is None:
            raise errors.aborted(
                f'Session handle is not found: {handle}. Possibly this worker ("{self.task}") '
                "just restarted."
            )
        return found

    # -- graphs ------------------------------------------------------------------------------------

    def register_graph(
        self, session_handle: str, graph_def: graph_pb2.GraphDef, config: config_pb2.ConfigProto
    ) -> str:
        """Prepare a graph; return its handle.

        Raises:
          AbortedError: the session is unknown here.
          OpError: the graph cannot be prepared.
        """
        return self._session(session_handle).graphs.register(graph_def, config)

    def deregister_graph(self, session_handle: str, graph_handle: str) -> None:
        """Drop a graph.

        Raises:
          AbortedError: the session or the graph is unknown here.
        """
        self._session(session_handle).graphs.deregister(graph_handle)

    def start_graph(
        self, call: RunGraphCall, failed: Callable[[BaseException], None], *, is_last: bool = False
    ) -> LocalRun:
        """Return a run of a graph, which begins when its result is asked for.

        Raises:
          AbortedError: the session or the graph is unknown here.
        """
        session = self._session(call.session_handle)
        graph = session.graphs.find(call.graph_handle)
        if session.workers is not None and graph.has_transfers:
            rendezvous = self.rendezvous_mgr.find(call.step_id)
            rendezvous.use_cluster(session.task, session.workers.find)
        return LocalRun(self, graph, call, failed)

    @property
    def num_runs(self) -> int:
        """The number of runs of graphs in flight."""
        return len(self._runs)

    def run_began(self, run: LocalRun) -> None:
        """Note a run."""
        with self._lock:
            self._runs.add(run)

    def run_ended(self, run: LocalRun) -> None:
        """Forget a run."""
        with self._lock:
            self._runs.discard(run)
            self.num_runs_done += 1
            session = self._sessions.get(run.session_handle)
            if session is not None:
                session.last_used = monotonic()

    def partial_step(self, graph: RegisteredGraph, call: RunGraphCall) -> PartialStep:
        """Return a step that runs in parts; its first part starts it."""
        key = call.step_id, call.graph_handle
        with self._lock:
            found = self._partial.get(key)
            if found is None:
                rendezvous = self.rendezvous_mgr.find(call.step_id)
                found = self._partial[key] = PartialStep(graph, rendezvous)
        return found

    def cleanup_graph(self, step_id: int, *, is_urgent: bool = True) -> None:
        """Drop a step's rendezvous."""
        with self._lock:
            ended = [key for key in self._partial if key[0] == step_id]
            steps = [self._partial.pop(key) for key in ended]
        for step in steps:
            step.cancel(errors.aborted(f"Cleanup {step_id}"))
        self.rendezvous_mgr.cleanup(step_id)
        self._groups.forget()

    def cleanup_all(self, containers: Sequence[str]) -> None:
        """Clear containers of all devices; none named means the default one."""
        self.devices.clear_containers(containers)

    def logging(
        self, step_ids: Sequence[int], timeout_s: float | None = None
    ) -> list[worker_pb2.LabeledStepStats]:
        """Return what steps in flight on this task have done until now; others are left out."""
        with self._lock:
            runs = [run for run in self._runs if not run.is_partial]
            partial = [(step_id, step) for (step_id, _), step in self._partial.items()]
        found: list[worker_pb2.LabeledStepStats] = []
        for step_id in step_ids:
            stats = step_stats_pb2.StepStats()
            for run in runs:
                if run.step_id == step_id:
                    run.add_log(stats)
            for number, step in partial:
                if number == step_id:
                    step.add_log(stats)
            if stats.dev_stats:
                found.append(worker_pb2.LabeledStepStats(step_id=step_id, step_stats=stats))
        return found

    def recv_tensor(self, step_id: int, key: str, callback: type_of_callback) -> Callable[[], None]:
        """Call ``callback`` once a Send of this task has left a value; return how to give up."""
        if self._is_of_the_past(key):
            callback(errors.aborted(f"{self.task} was started again."), None, False)
            return lambda: None
        self.rendezvous_mgr.recv(step_id, key, callback)
        return lambda: None

    def _is_of_the_past(self, key: str) -> bool:
        """Return whether a member of a group asks for what this task gave before it was restarted.

        The master of that member does not know of it, unlike one that runs parts on this task.
        """
        parsed = parse_key(key)
        if not parsed.edge_name.startswith(COLLECTIVE_EDGE):
            return False
        return parsed.src_incarnation not in [one.incarnation for one in self.devices.devices]

    def complete_group(
        self, key: int, size: int, member: Member, callback: type_of_group_callback
    ) -> Callable[[], None]:
        """Name a member of a group that this worker leads; see ``task_groups.py``.

        Raises:
          UnimplementedError: the member is a device of TensorFlow.
        """
        check_library(member)
        return self._groups.led.join(key, size, member, callback)

    def get_step_sequence(self, graph_key: int) -> int:
        """Return the id of the next step of a graph with collective ops."""
        return self.step_sequences.current_id(graph_key)

    def close(self) -> None:
        """End all sessions and drop what the devices hold."""
        with self._lock:
            handles = list(self._sessions)
        for handle in handles:
            self.delete_worker_session(handle)
        self.rendezvous_mgr.cleanup_all()
        for device in self.devices.devices:
            device.close()


class LocalRun:
    """A run of a graph in this process: the thread that asks for the result runs it."""

    def __init__(
        self,
        worker: Worker,
        graph: RegisteredGraph,
        call: RunGraphCall,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._worker, self._graph, self._call, self._failed = worker, graph, call, failed
        self._lock = threading.Lock()
        self._error: BaseException | None = None  # guarded by self._lock
        self._step: Any = None  # likewise
        self._is_done = False  # likewise

    @property
    def session_handle(self) -> str:
        """The master's session."""
        return self._call.session_handle

    def result(self) -> RunGraphResult:
        """Run the graph.

        Raises:
          OpError: what it failed with, or was cancelled with.
        """
        call, graph = self._call, self._graph
        self._worker.run_began(self)
        try:
            if call.is_partial:
                with self._lock:
                    step = self._step = self._worker.partial_step(self._graph, call)
                return step.go_on(call)
            options = _run_options(call.options)
            if not graph.has_transfers:
                return graph.run_step(None, call.send, call.recv_keys, options, self._begins)
            rendezvous = self._worker.rendezvous_mgr.find(call.step_id)
            traces = options is not None and options.trace_level > config_pb2.RunOptions.NO_TRACE
            log = rendezvous.log_transfers() if traces else []
            result = graph.run_step(rendezvous, call.send, call.recv_keys, options, self._begins)
            if result.step_stats is not None:
                add_transfers(result.step_stats, log)
            self._worker.rendezvous_mgr.run_ended(call.step_id)
            return result
        except errors.OpError as error:
            found = self._error or error
            self._failed(found)
            raise found from error.__cause__
        finally:
            self._worker.run_ended(self)
            with self._lock:
                self._is_done = True

    @property
    def step_id(self) -> int:
        """The step that it belongs to."""
        return self._call.step_id

    @property
    def is_partial(self) -> bool:
        """Whether it is a part of a step that goes on after it."""
        return self._call.is_partial

    def add_log(self, stats: step_stats_pb2.StepStats) -> None:
        """Add what it has done until now."""
        add_log(stats, self._graph, self._step)

    def _begins(self, run_state: Any) -> None:
        with self._lock:
            self._step, error = run_state, self._error
        if error is not None:
            run_state.end(error)

    def cancel(self, error: BaseException) -> None:
        """End the run with an error, before or while it runs.

        A run that is over leaves its tensors to other tasks, which may not have taken them yet.
        """
        with self._lock:
            if self._is_done:
                return
            if self._error is None:
                self._error = error
            step = self._step
        if isinstance(step, PartialStep):
            step.cancel(error)
        elif step is not None:
            step.abort(error)
            step.wake.set()


class PartialStep:
    """A step of one graph whose feeds and fetches come in several calls; a thread runs it."""

    def __init__(self, graph: RegisteredGraph, rendezvous: Rendezvous) -> None:
        self._graph, self._rendezvous = graph, rendezvous
        self._lock = threading.Lock()
        self._run_state: Any = None  # guarded by self._lock
        self._error: BaseException | None = None  # likewise
        self._thread = threading.Thread(target=self._run, name="tfnb-partial-run", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._graph.run_in_parts(self._rendezvous, self._begins)
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
            self._rendezvous.start_abort(error)

    def _begins(self, run_state: Any) -> None:
        with self._lock:
            self._run_state, error = run_state, self._error
        if error is not None:
            run_state.end(error)

    def add_log(self, stats: step_stats_pb2.StepStats) -> None:
        """Add what the step has done until now."""
        add_log(stats, self._graph, self._run_state)

    def go_on(self, call: RunGraphCall) -> RunGraphResult:
        """Feed and fetch a part; the last one waits for the end of the step.

        Raises:
          OpError: what the step failed with.
        """
        for key, value in call.send.items():
            self._rendezvous.send(key, value)
        result = RunGraphResult()
        for key in call.recv_keys:
            value, is_dead = self._rendezvous.recv(key)
            if is_dead:
                name = parse_key(key).edge_name
                raise errors.invalid_argument(f"The tensor returned for {name} was not valid.")
            result.recv[key] = value.read() if isinstance(value, RefCell) else value
        if call.is_last_partial_run:
            self._thread.join()
            if self._error is not None:
                raise self._error
        return result

    def cancel(self, error: BaseException) -> None:
        """End the step with an error; one that is over stays as it is."""
        with self._lock:
            if not self._thread.is_alive():
                return
            self._error = self._error or error
            run_state = self._run_state
        self._rendezvous.start_abort(error)
        if run_state is not None:
            run_state.abort(error)
            run_state.wake.set()


def _run_options(options: worker_pb2.ExecutorOpts | None) -> config_pb2.RunOptions | None:
    if options is None:
        return None
    found = config_pb2.RunOptions(
        output_partition_graphs=options.record_partition_graphs,
        report_tensor_allocations_upon_oom=options.report_tensor_allocations_upon_oom,
    )
    if options.record_timeline or options.record_costs:
        found.trace_level = config_pb2.RunOptions.FULL_TRACE
    return found


def attributes_message(device: Device) -> device_attributes_pb2.DeviceAttributes:
    """Return a device's attributes as a message."""
    return device_attributes_pb2.DeviceAttributes(
        name=device.name,
        device_type=device.device_type,
        memory_limit=device.memory_limit,
        incarnation=device.incarnation,
        physical_device_desc=DESCRIPTION,
    )
