"""A session of a master: its graph, cut by task, runs on the workers.

Placement and partitioning are those of sessions in this process, with the devices of all tasks.
The graph is cut by device; the parts of a task's devices are sent together.  A step runs on all
tasks at once: each gets its feeds and returns its fetches; tensors between tasks go from worker to
worker.  Where that needs fewer requests, the parts run in stages, one after the other, and the
master passes small tensors on (``tfnb/graph/staged_parts.py``).

Corresponds to TensorFlow's ``master_session.cc``.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.common_runtime.device.device import Device
from tfnb.common_runtime.device.device_mgr import DeviceMgr
from tfnb.common_runtime.session.graph_execution_state import GraphExecutionState
from tfnb.common_runtime.session.partial_run import check_unused
from tfnb.core import array_module, errors
from tfnb.core.rendezvous import key_of_transfer
from tfnb.distributed_runtime import grpc_tensor_coding as coding
from tfnb.distributed_runtime.expected_sizes import ExpectedSizes
from tfnb.distributed_runtime.remote_errors import CLOSED, of_task
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.distributed_runtime.step_logs import add_silent_task
from tfnb.distributed_runtime.task_groups import new_step_id
from tfnb.distributed_runtime.worker_interface import DESCRIPTION, RunGraphCall
from tfnb.graph.collective_nodes import collective_graph_key
from tfnb.graph.graph_constructor import node_to_node_def
from tfnb.graph.graph_partition import partition
from tfnb.graph.packed_transfers import pack_transfers
from tfnb.graph.staged_parts import RELAYED, stages_of
from tfnb.proto import config_pb2, graph_pb2, step_stats_pb2, worker_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tfnb.common_runtime.session.graph_execution_state import ClientGraph
    from tfnb.distributed_runtime.task_groups import StepSequences
    from tfnb.distributed_runtime.worker_interface import (
        PendingRun,
        RunGraphResult,
        WorkerInterface,
    )
    from tfnb.graph.graph import Graph
    from tfnb.proto import device_attributes_pb2

# A task that does not answer within this time is reported as silent; in seconds.
_LOG_S = 0.5


class RemoteDevice(Device):
    """A device of another task that is no CPU: placement sees it, nothing runs on it here."""

    is_remote = True

    def __init__(self, attributes: device_attributes_pb2.DeviceAttributes) -> None:
        super().__init__(attributes.name, 0, array_module, attributes.memory_limit)
        self.device_type = attributes.device_type
        self.priority = 210 if attributes.device_type == "GPU" else 50
        self.incarnation = attributes.incarnation


def device_of(attributes: device_attributes_pb2.DeviceAttributes) -> Device:
    """Return what placement and optimization need of a task's device."""
    if attributes.device_type != "CPU":
        return RemoteDevice(attributes)
    device = CpuDevice(attributes.name, 0)
    device.incarnation = attributes.incarnation
    device.memory_limit = attributes.memory_limit
    return device


class MasterDeviceMgr(DeviceMgr):
    """The devices of all tasks; feeds and fetches belong to a CPU of the master's task."""

    def __init__(self, devices: Sequence[Device], master_task: str) -> None:
        super().__init__(devices)
        self._master_task = master_task

    @property
    def host(self) -> Device:
        """The device where feeds arrive and fetches leave."""
        for device in self.devices:
            if device.device_type == "CPU" and task_of(device.name) == self._master_task:
                return device
        return super().host


@dataclass(slots=True)
class Part:
    """One task's share of a signature, or of a stage of it.

    Attributes:
      task: the task, by its name in the session's cluster.
      worker: the task's worker.
      graph_handle: what it calls the graph.
      feeds: tensor name -> rendezvous key, of the feeds that it takes.
      fetches: rendezvous key -> tensor name, of the fetches that it returns.
      takes: name -> rendezvous key, of what it gets from earlier stages.
      gives: rendezvous key -> name, of what it returns for later ones.
    """

    task: str
    worker: WorkerInterface
    graph_handle: str
    feeds: dict[str, str]
    fetches: dict[str, str]
    takes: dict[str, str] = field(default_factory=dict)
    gives: dict[str, str] = field(default_factory=dict)


class Plan:
    """What runs the steps of a signature.

    Attributes:
      stages: the parts that run at once, for each stage.
      parts: those of all stages.
      workers: the worker of each task that takes part.
      collective_key: names its collective ops for masters of other tasks; 0: it has none.
    """

    __slots__ = ("_keys", "collective_key", "parts", "stages", "workers")

    def __init__(self, stages: Sequence[Sequence[Part]], collective_key: int = 0) -> None:
        self.stages, self.collective_key = stages, collective_key
        self.parts = [part for stage in stages for part in stage]
        self.workers = {part.task: part.worker for part in self.parts}
        self._keys = {name: key for part in self.parts for key, name in part.fetches.items()}

    def result(
        self,
        results: Iterable[RunGraphResult],
        received: Mapping[str, Any],
        fetches: Sequence[str],
        *,
        has_metadata: bool,
    ) -> StepResult:
        """Return what a step, or a part of one, gave.

        Args:
          results: of its runs.
          received: all that they returned, by key.
          fetches: what the client asked for.
          has_metadata: whether it asked for what was recorded.
        """
        metadata: config_pb2.RunMetadata | None = None
        if has_metadata:
            metadata = config_pb2.RunMetadata()
            for one in results:
                if one.step_stats is not None:
                    metadata.step_stats.dev_stats.extend(one.step_stats.dev_stats)
                metadata.partition_graphs.extend(one.partition_graphs)
        return StepResult({name: received[self._keys[name]] for name in fetches}, metadata)


@dataclass(slots=True)
class StepRequest:
    """What a client asks of a step.

    Attributes:
      feeds: values by tensor name.
      fetches, targets: names.
      options: of the step; None: none.
      request_id: by which the client asks for the step's log.
    """

    feeds: Mapping[str, Any]
    fetches: Sequence[str]
    targets: Sequence[str]
    options: config_pb2.RunOptions | None = None
    request_id: int = 0


@dataclass(slots=True)
class StepResult:
    """What a step gave: values by name, and what was recorded."""

    values: dict[str, Any]
    metadata: config_pb2.RunMetadata | None = None


class _Signature(NamedTuple):
    """What a client feeds, fetches and runs, without order and repetition.

    Attributes:
      feeds, fetches, targets: names.
      is_partial: whether it is fed and fetched in parts.
      is_recorded: whether its steps are recorded, which shows them without stages.
      connections: pairs (from, to): consumers of tensor ``to`` get ``from`` instead.
    """

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    is_partial: bool = False
    is_recorded: bool = False
    connections: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        feeds: Iterable[str],
        fetches: Iterable[str],
        targets: Iterable[str],
        *,
        is_partial: bool = False,
        is_recorded: bool = False,
        connections: Iterable[tuple[str, str]] = (),
    ) -> Self:
        """Return the signature of names in any order."""
        return cls(
            tuple(sorted(feeds)),
            tuple(sorted(set(fetches))),
            tuple(sorted(set(targets))),
            is_partial,
            is_recorded,
            tuple(connections),
        )


class _Callable(NamedTuple):
    """A signature under a handle."""

    options: config_pb2.CallableOptions
    signature: _Signature


@dataclass(slots=True, eq=False)
class _Step:
    """A step in flight.

    Attributes:
      runs: those of its parts, or of a stage of them.
      error: what it failed with first.
      lock: guards both.
    """

    runs: list[PendingRun] = field(default_factory=list)
    error: BaseException | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, error: BaseException) -> None:
        """End all runs of the step; the first error counts."""
        with self.lock:
            if self.error is not None:
                return
            self.error = error
            runs = list(self.runs)
        for run in runs:
            run.cancel(error)

    def add(self, run: PendingRun) -> None:
        """Add a run, which ends at once if the step has failed meanwhile."""
        with self.lock:
            self.runs.append(run)
            error = self.error
        if error is not None:
            run.cancel(error)

    def forget_runs(self) -> None:
        """Forget the runs of a stage that has ended."""
        with self.lock:
            self.runs.clear()


@dataclass(slots=True)
class _Active:
    """A call that goes on with a partial run: it may end the step only while it is in flight."""

    step: _Step
    is_over: bool = False

    def fail(self, error: BaseException) -> None:
        """End the step, unless the call is over."""
        if not self.is_over:
            self.step.fail(error)


@dataclass(slots=True, eq=False)
class _PartialRun:
    """A step that the client feeds and fetches in several calls.

    Attributes:
      step_id: the step.
      plan: what runs it; it has one stage.
      fed, fetched: name -> whether it came.
      request_id: of the request that declared it; the client asks for its log by this number.
      step: its runs in flight.
      lock: held by the call that goes on with it.
    """

    step_id: int
    plan: Plan
    fed: dict[str, bool]
    fetched: dict[str, bool]
    request_id: int = 0
    step: _Step = field(default_factory=_Step)
    lock: threading.Lock = field(default_factory=threading.Lock)


class MasterSession:
    """One client's session; thread safe.

    Attributes:
      handle: names it.
      graph_version: how often its graph has grown.
      devices: those of all tasks that it sees.
      master_task: the master's task, by its name in the session's cluster.
    """

    def __init__(
        self,
        handle: str,
        config: config_pb2.ConfigProto,
        master_task: str,
        devices: Sequence[device_attributes_pb2.DeviceAttributes],
        worker_of: Callable[[str], WorkerInterface],
        step_sequences: StepSequences,
    ) -> None:
        """Make a session; the workers do not know of it yet.

        Args:
          handle: names it.
          config: as the client sent it.
          master_task: the task of the master.
          devices: of all tasks that the session sees.
          worker_of: finds the workers.
          step_sequences: the ids of steps with collective ops.
        """
        self.handle = handle
        self.graph_version = 0
        self.devices = list(devices)
        self.master_task = master_task
        self._config = config
        self._device_mgr = MasterDeviceMgr([device_of(one) for one in devices], master_task)
        self._incarnations = {device.name: device.incarnation for device in devices}
        self._packing = {
            device.name
            for device in devices
            if device.device_type == "CPU" and device.physical_device_desc == DESCRIPTION
        }
        # After a step that succeeded, workers of tfnb clean up by themselves.
        self._tidy_tasks = set(map(task_of, self._packing))
        self._worker_of, self._step_sequences = worker_of, step_sequences
        self._tasks = list(dict.fromkeys(task_of(device.name) for device in devices))
        self._opened: list[str] = []  # the tasks that have a worker session
        self._lock = threading.Lock()
        self._state = GraphExecutionState(self._device_mgr, config)
        self._making = threading.Lock()  # held while parts are made and registered
        self._plans: dict[_Signature, Plan] = {}  # guarded by self._lock
        self._edge_names = itertools.count(0)
        self._steps: set[_Step] = set()  # guarded by self._lock
        self._asked: dict[int, tuple[int, Plan]] = {}  # steps in flight, by request id
        self._partial_runs: dict[str, _PartialRun] = {}  # guarded by self._lock
        self._closed = False
        self._last_used = monotonic()
        self._num_active = 0  # the calls that run a step; guarded by self._lock
        self._callables: dict[int, _Callable] = {}  # guarded by self._lock
        self._callable_handles = itertools.count(1)

    def note_use(self) -> None:
        """Note that a client has used the session just now."""
        self._last_used = monotonic()

    def is_idle_for(self, seconds: float) -> bool:
        """Return whether no client has used the session for that long, and no step is in flight."""
        return not self._num_active and monotonic() - self._last_used >= seconds

    # -- the graph ---------------------------------------------------------------------------------

    def create(self, graph_def: graph_pb2.GraphDef, request: Callable[[str], Any]) -> None:
        """Open the session on the workers and take the graph.

        Args:
          graph_def: may be empty.
          request: makes the CreateWorkerSessionRequest for a task.

        Raises:
          InvalidArgumentError: a node is malformed, or is on a device that no task has.
          OpError: what a worker answered.
        """
        if graph_def.node:
            self._state.extend(graph_def)
        try:
            for task in self._tasks:
                self._worker_of(task).create_worker_session(request(task))
                self._opened.append(task)
        except BaseException:
            self._delete_worker_sessions()
            raise

    def extend(self, graph_def: graph_pb2.GraphDef, current_version: int) -> int:
        """Add nodes; return the graph's new version.

        Raises:
          AbortedError: the client's version is not the newest.
          InvalidArgumentError: a node is malformed or was sent before; nothing is added then.
        """
        with self._lock:
            self._check_open()
            if current_version != self.graph_version:
                raise errors.aborted("Graph has been modified")
            if graph_def.node or graph_def.library.function:
                self._state.extend(graph_def)
            self.graph_version += 1
            return self.graph_version

    def _plan_of(self, key: _Signature) -> Plan:
        """Return what runs a signature; its parts are made and registered on first use."""
        found = self._plans.get(key)
        if found is not None:
            return found
        # Not under the session's lock: a task that does not answer must not hold up `close`.
        with self._making:
            found = self._plans.get(key)
            if found is not None:
                return found
            self._check_open()
            found = self._make_plan(key)
            with self._lock:
                is_closed = self._closed
                if not is_closed:
                    self._plans[key] = found
            if is_closed:
                self._deregister(found.parts)
                self._check_open()
            return found

    def _make_plan(self, signature: _Signature) -> Plan:
        client_graph, cut = cut_by_device(
            self._state,
            self._device_mgr,
            self._incarnations,
            self._edge_names,
            (signature.feeds, signature.fetches, signature.targets),
            signature.connections,
        )
        stages = [cut]
        if not signature.is_partial:  # a part that is fed later must not hold up the others
            bytes_of, names = ExpectedSizes(client_graph.graph).bytes_of, self._edge_names
            found = None
            if not signature.is_recorded:
                found = stages_of(cut, self._may_pack, bytes_of, names)
            if found is None:
                pack_transfers(cut, self._may_pack, bytes_of, names)
            else:
                stages = found
        registered: list[list[Part]] = []
        try:
            for graphs in stages:
                registered.append([])
                by_task: dict[str, list[Graph]] = {}
                for device, graph in graphs.items():
                    by_task.setdefault(task_of(device), []).append(graph)
                for task, its_graphs in by_task.items():
                    registered[-1].append(self._register(task, its_graphs))
        except BaseException:
            self._deregister([part for parts in registered for part in parts])
            raise
        return Plan(registered, collective_graph_key(client_graph.graph))

    def _may_pack(self, source: str, target: str) -> bool:
        """Return whether transfers between two devices may be packed: TensorFlow's get each tensor.

        Between devices of one task nothing is saved.
        """
        return task_of(source) != task_of(target) and {source, target} <= self._packing

    def _register(self, task: str, graphs: Sequence[Graph]) -> Part:
        graph_def = graph_pb2.GraphDef()
        feeds: dict[str, str] = {}
        fetches: dict[str, str] = {}
        takes: dict[str, str] = {}
        gives: dict[str, str] = {}
        for graph in graphs:
            graph_def.versions.producer = graph.versions.producer
            graph_def.versions.min_consumer = graph.versions.min_consumer
            if graph.library is not None:
                known = {function.signature.name for function in graph_def.library.function}
                message = graph.library.to_proto()
                graph_def.library.function.extend(
                    one for one in message.function if one.signature.name not in known
                )
                del graph_def.library.gradient[:]
                graph_def.library.gradient.extend(message.gradient)
            for node in graph.op_nodes():
                node_to_node_def(node, graph_def.node.add())
                if (node.is_recv or node.is_send) and node.attrs["client_terminated"]:
                    name, key = node.attrs["tensor_name"].decode(), key_of_transfer(node.attrs)
                    is_relayed = RELAYED in node.attrs
                    if node.is_recv:
                        (takes if is_relayed else feeds)[name] = key
                    else:
                        (gives if is_relayed else fetches)[key] = name
        worker = self._worker_of(task)
        handle = worker.register_graph(self.handle, graph_def, self._config)
        return Part(task, worker, handle, feeds, fetches, takes, gives)

    # -- running -----------------------------------------------------------------------------------

    def run(
        self, request: StepRequest, on_start: Callable[[Any], None] | None = None
    ) -> StepResult:
        """Run a step on all its tasks.

        Args:
          request: what is fed, fetched and run.
          on_start: called with the function that ends the step with an error.

        Raises:
          CancelledError: the session was closed meanwhile, or ``on_start``'s function was called.
          OpError: what the first task to fail failed with.
        """
        signature = _Signature.of(
            request.feeds,
            request.fetches,
            request.targets,
            is_recorded=request.options is not None,
        )
        return self._run_plan(self._plan_of(signature), request, on_start)

    def _run_plan(
        self, plan: Plan, request: StepRequest, on_start: Callable[[Any], None] | None
    ) -> StepResult:
        if not plan.collective_key:
            return self._run_step(plan, request, on_start, new_step_id())
        given = 0 if request.options is None else request.options.experimental.collective_graph_key
        # The client may name the steps that several masters run together.
        key = given or plan.collective_key
        step_id = self._step_sequences.begin(key)
        has_failed = True
        try:
            result = self._run_step(plan, request, on_start, step_id)
            has_failed = False
            return result
        finally:
            self._step_sequences.end(key, has_failed=has_failed)

    def _run_step(
        self,
        plan: Plan,
        request: StepRequest,
        on_start: Callable[[Any], None] | None,
        step_id: int,
    ) -> StepResult:
        options = _executor_options(request.options)
        step = _Step()
        with self._lock:
            self._check_open()
            self._steps.add(step)
            self._asked[request.request_id] = step_id, plan
            self._num_active += 1
        results: list[RunGraphResult] = []
        received: dict[str, Any] = {}
        relayed: dict[str, Any] = {}
        try:
            if on_start is not None:
                on_start(step.fail)
            for parts in plan.stages:
                calls = [
                    (part, self._call(part, step_id, request.feeds, relayed, options))
                    for part in parts
                ]
                results += _run_all(step, calls)
                if step.error is not None:
                    break
                step.forget_runs()
                for result in results[-len(calls) :]:
                    received.update(result.recv)
                for part in parts:
                    for key, name in part.gives.items():
                        relayed[name] = received[key]
        finally:
            with self._lock:
                self._steps.discard(step)
                self._asked.pop(request.request_id, None)
                self._num_active -= 1
                self.note_use()
            for task, worker in plan.workers.items():
                has_failed = step.error is not None
                if has_failed or task not in self._tidy_tasks:
                    worker.cleanup_graph(step_id, is_urgent=has_failed)
        if step.error is not None:
            raise step.error
        return plan.result(results, received, request.fetches, has_metadata=options is not None)

    def _call(
        self,
        part: Part,
        step_id: int,
        feeds: Mapping[str, Any],
        relayed: Mapping[str, Any],
        options: worker_pb2.ExecutorOpts | None,
    ) -> RunGraphCall:
        """Return the call that runs a part: what it takes comes from the client and from others."""
        send = {key: feeds[name] for name, key in part.feeds.items()}
        for name, key in part.takes.items():
            value = relayed[name]
            if part.worker.is_local and isinstance(value, coding.UnreadTensor):
                value = value.read()
            send[key] = value
        keys = (*part.fetches, *part.gives)
        return RunGraphCall(
            self.handle, part.graph_handle, step_id, send, keys, part.gives, options
        )

    def step_log(self, request_id: int) -> step_stats_pb2.StepStats | None:
        """Return what all tasks have done of a step in flight; None if there is none.

        Args:
          request_id: of the client's request.
        """
        with self._lock:
            found = self._asked.get(request_id)
        if found is None:
            return None
        step_id, plan = found
        stats = step_stats_pb2.StepStats()
        for worker in plan.workers.values():
            try:
                logs = worker.logging([step_id], _LOG_S)
            except errors.OpError:
                add_silent_task(stats, worker.task)
                continue
            for log in logs:
                stats.MergeFrom(log.step_stats)
        return stats

    def partial_run_setup(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        request_id: int = 0,
    ) -> str:
        """Declare a step that is fed and fetched in parts; return its handle.

        Args:
          feeds: names of tensors that will be fed.
          fetches: names of tensors that will be fetched.
          targets: names of operations that run.
          request_id: of the client's request.

        Raises:
          OpError: the signature does not fit the graph, or what a worker answered.
        """
        plan = self._plan_of(_Signature.of(feeds, fetches, targets, is_partial=True))
        run = _PartialRun(
            new_step_id(),
            plan,
            dict.fromkeys(feeds, False),
            dict.fromkeys(fetches, False),
            request_id,
        )
        handle = f"{run.step_id:016x}"
        with self._lock:
            self._check_open()
            self._partial_runs[handle] = run
            self._steps.add(run.step)
            self._asked[request_id] = run.step_id, plan
        return handle

    def partial_run(
        self,
        handle: str,
        request: StepRequest,
        on_start: Callable[[Any], None] | None = None,
    ) -> StepResult:
        """Feed and fetch a part of a step.

        Args:
          handle: from :meth:`partial_run_setup`.
          request: what is fed and fetched now.
          on_start: called with the function that ends the step with an error.

        Raises:
          InvalidArgumentError: the handle is not known (longer), or a name was not declared or
            came before; the handle stays usable then.
          OpError: the step failed; the handle ends.
        """
        with self._lock:
            self._check_open()
            run = self._partial_runs.get(handle)
            if run is not None:
                self._num_active += 1
        if run is None:
            raise errors.invalid_argument("Must run PartialRunSetup before performing partial runs")
        try:
            return self._go_on(handle, run, request, on_start)
        finally:
            with self._lock:
                self._num_active -= 1
                self.note_use()

    def _go_on(
        self,
        handle: str,
        run: _PartialRun,
        request: StepRequest,
        on_start: Callable[[Any], None] | None,
    ) -> StepResult:
        with run.lock:
            check_unused(request.feeds, run.fed, "feed", "fed")
            check_unused(request.fetches, run.fetched, "fetch", "fetched")
            run.fed.update(dict.fromkeys(request.feeds, True))
            run.fetched.update(dict.fromkeys(request.fetches, True))
            is_last = all(run.fed.values()) and all(run.fetched.values())
            call = _Active(run.step)
            if on_start is not None:
                on_start(call.fail)
            calls = [
                (
                    part,
                    RunGraphCall(
                        self.handle,
                        part.graph_handle,
                        run.step_id,
                        {
                            key: request.feeds[name]
                            for name, key in part.feeds.items()
                            if name in request.feeds
                        },
                        [key for key, name in part.fetches.items() if name in request.fetches],
                        is_partial=True,
                        is_last_partial_run=is_last,
                    ),
                )
                for part in run.plan.parts
            ]
            run.step.forget_runs()
            try:
                results = _run_all(run.step, calls)
            finally:
                call.is_over = True
            if is_last or run.step.error is not None:
                self._end_partial_run(handle, run)
            if run.step.error is not None:
                raise run.step.error
            received = {key: value for one in results for key, value in one.recv.items()}
            return run.plan.result(results, received, request.fetches, has_metadata=False)

    def _end_partial_run(self, handle: str, run: _PartialRun) -> None:
        with self._lock:
            self._partial_runs.pop(handle, None)
            self._steps.discard(run.step)
            self._asked.pop(run.request_id, None)
        for part in run.plan.parts:
            part.worker.cleanup_graph(run.step_id)

    def make_callable(self, options: config_pb2.CallableOptions) -> int:
        """Prepare a signature; return its handle.

        Raises:
          UnimplementedError: feeds or fetches are to be in the memory of devices.
          OpError: the graph cannot be pruned, placed or partitioned, a tensor cannot be connected,
            or what a worker answered.
        """
        if options.feed_devices or options.fetch_devices:
            raise errors.unimplemented(
                "CallableOptions::feed_devices and CallableOptions::fetch_devices to configure "
                "feeding/fetching tensors to/from device memory is not yet supported when using a "
                "remote session."
            )
        signature = _Signature.of(
            options.feed,
            options.fetch,
            options.target,
            is_recorded=options.HasField("run_options"),
            connections=[(one.from_tensor, one.to_tensor) for one in options.tensor_connection],
        )
        self._plan_of(signature)
        handle = next(self._callable_handles)
        with self._lock:
            self._callables[handle] = _Callable(options, signature)
        return handle

    def run_callable(
        self,
        handle: int,
        values: Sequence[Any],
        on_start: Callable[[Any], None] | None = None,
        request_id: int = 0,
    ) -> tuple[list[Any], config_pb2.RunMetadata | None]:
        """Run a callable; return its fetches in order, and what was recorded.

        Args:
          handle: from :meth:`make_callable`.
          values: one for each feed.
          on_start: called with the function that ends the step with an error.
          request_id: of the client's request.

        Raises:
          InvalidArgumentError: there is no callable of that handle, or it has other feeds.
          OpError: the step failed.
        """
        with self._lock:
            found = self._callables.get(handle)
        if found is None:
            raise errors.invalid_argument(f"No such callable handle: {handle}")
        options = found.options
        if len(values) != len(options.feed):
            raise errors.invalid_argument(
                f"The callable takes {len(options.feed)} feeds, but {len(values)} were sent."
            )
        has_options = options.HasField("run_options")
        request = StepRequest(
            dict(zip(options.feed, values)),
            options.fetch,
            options.target,
            options.run_options if has_options else None,
            request_id,
        )
        result = self._run_plan(self._plan_of(found.signature), request, on_start)
        return [result.values[name] for name in options.fetch], result.metadata

    def release_callable(self, handle: int) -> None:
        """Forget a callable."""
        with self._lock:
            self._callables.pop(handle, None)

    # -- end ---------------------------------------------------------------------------------------

    def close(self, error: BaseException | None = None) -> None:
        """End the steps in flight and drop what the workers keep; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            steps = list(self._steps)
            partial_runs = list(self._partial_runs.items())
            parts = [part for plan in self._plans.values() for part in plan.parts]
            self._plans.clear()
        for step in steps:
            step.fail(error or errors.cancelled(CLOSED))
        for handle, run in partial_runs:
            self._end_partial_run(handle, run)
        self._deregister(parts)
        self._delete_worker_sessions()

    def _deregister(self, parts: Sequence[Part]) -> None:
        for part in parts:
            try:
                part.worker.deregister_graph(self.handle, part.graph_handle)
            except errors.OpError:
                continue  # the task ended, and the graph with it

    def _delete_worker_sessions(self) -> None:
        for task in self._opened:
            try:
                self._worker_of(task).delete_worker_session(self.handle)
            except errors.OpError:
                continue
        self._opened = []

    def _check_open(self) -> None:
        if self._closed:
            raise errors.failed_precondition("Session is closed.")


def cut_by_device(
    state: GraphExecutionState,
    device_mgr: MasterDeviceMgr,
    incarnations: Mapping[str, int],
    edge_names: Iterator[int],
    names: tuple[Sequence[str], Sequence[str], Sequence[str]],
    connections: Sequence[tuple[str, str]] = (),
) -> tuple[ClientGraph, dict[str, Graph]]:
    """Prune, place and cut the graph of a signature.

    Args:
      state: the session's graph.
      device_mgr: the devices of all tasks.
      incarnations: of each device.
      edge_names: numbers the edges between devices.
      names: feeds, fetches and targets.
      connections: tensors that take the place of others.

    Returns:
      The whole graph, and its part for each device.

    Raises:
      OpError: a name or a device does not fit the graph.
    """
    client_graph = state.build_graph(*names, use_function_convention=False, connections=connections)
    graph = client_graph.graph
    for node in graph.op_nodes():
        if (node.is_recv or node.is_send) and node.attrs["client_terminated"]:
            incarnation = incarnations[node.assigned_device]
            node.set_attr("send_device_incarnation", _signed(incarnation))
    signed = {name: _signed(number) for name, number in incarnations.items()}
    return client_graph, partition(graph, device_mgr.devices, edge_names, signed)


def _run_all(step: _Step, calls: Sequence[tuple[Part, RunGraphCall]]) -> list[RunGraphResult]:
    """Run all parts of a step; ``step.error`` says whether one failed."""
    results: list[RunGraphResult] = []
    # Remote tasks first: they run while this thread runs the local one.
    is_alone = len(calls) == 1
    for part, call in sorted(calls, key=lambda one: one[0].worker.is_local):
        fail = _fail_with_task(step, part.task)
        try:
            step.add(part.worker.start_graph(call, fail, is_alone=is_alone))
        except errors.OpError as error:
            fail(error)
    for run in reversed(step.runs):
        try:
            results.append(run.result())
        except Exception as error:
            step.fail(error)
    return results


def _signed(number: int) -> int:
    """Return an unsigned number of 64 bits as the signed one that an attribute holds."""
    return number - (1 << 64) if number >= 1 << 63 else number


def _fail_with_task(step: _Step, task: str) -> Callable[[BaseException], None]:
    """Return what ends a step with an error of a task, which is named in it."""

    def fail(error: BaseException) -> None:
        step.fail(of_task(error, task) if isinstance(error, errors.OpError) else error)

    return fail


def _executor_options(options: config_pb2.RunOptions | None) -> worker_pb2.ExecutorOpts | None:
    if options is None:
        return None
    traces = options.trace_level > config_pb2.RunOptions.NO_TRACE
    return worker_pb2.ExecutorOpts(
        record_timeline=traces,
        record_costs=False,
        record_partition_graphs=options.output_partition_graphs,
        report_tensor_allocations_upon_oom=options.report_tensor_allocations_upon_oom,
    )
