"""A session of a master: its graph, cut by task, runs on the workers.

The graph is cut by device; the parts of a task's devices are sent together (``master_plans.py``).
A step runs on all tasks at once: each gets its feeds and returns its fetches; tensors between tasks
go from worker to worker.  Where that needs fewer requests, the parts run in stages, one after the
other, and the master passes small tensors on (``tfnb/graph/staged_parts.py``).

Corresponds to TensorFlow's ``master_session.cc``.
"""

from __future__ import annotations

import itertools
import threading
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.common_runtime.session.graph_execution_state import GraphExecutionState
from tfnb.common_runtime.session.partial_run import check_unused
from tfnb.core import errors
from tfnb.distributed_runtime.master_plans import (
    MasterDeviceMgr,
    Plan,
    PlanMaker,
    Signature,
    StepResult,
    device_of,
)
from tfnb.distributed_runtime.master_steps import (
    ActiveCall,
    PartialRun,
    Step,
    StepRequest,
    call_of,
    executor_options,
    run_all,
)
from tfnb.distributed_runtime.remote_errors import CLOSED
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.distributed_runtime.step_logs import add_silent_task
from tfnb.distributed_runtime.task_groups import new_step_id
from tfnb.distributed_runtime.worker_interface import RunGraphCall
from tfnb.proto import config_pb2, graph_pb2, step_stats_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.distributed_runtime.task_groups import StepSequences
    from tfnb.distributed_runtime.worker_interface import RunGraphResult, WorkerInterface
    from tfnb.proto import device_attributes_pb2

# A task that does not answer within this time is reported as silent; in seconds.
_LOG_S = 0.5


class _Callable(NamedTuple):
    """A signature under a handle."""

    options: config_pb2.CallableOptions
    signature: Signature


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
        device_mgr = MasterDeviceMgr([device_of(one) for one in devices], master_task)
        self._plan_maker = PlanMaker(handle, config, device_mgr, devices, worker_of)
        self._worker_of, self._step_sequences = worker_of, step_sequences
        self._tasks = list(dict.fromkeys(task_of(device.name) for device in devices))
        self._opened: list[str] = []  # the tasks that have a worker session
        self._lock = threading.Lock()
        self._state = GraphExecutionState(device_mgr, config)
        self._making = threading.Lock()  # held while parts are made and registered
        self._plans: dict[Signature, Plan] = {}  # guarded by self._lock
        self._steps: set[Step] = set()  # guarded by self._lock
        self._asked: dict[int, tuple[int, Plan]] = {}  # steps in flight, by request id
        self._partial_runs: dict[str, PartialRun] = {}  # guarded by self._lock
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

    def _plan_of(self, key: Signature) -> Plan:
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
            found = self._plan_maker.make(self._state, key)
            with self._lock:
                is_closed = self._closed
                if not is_closed:
                    self._plans[key] = found
            if is_closed:
                self._plan_maker.deregister(found.parts)
                self._check_open()
            return found

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
        signature = Signature.of(
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
        options = executor_options(request.options)
        step = Step()
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
                    (part, call_of(self.handle, part, step_id, request.feeds, relayed, options))
                    for part in parts
                ]
                results += run_all(step, calls)
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
                if has_failed or task not in self._plan_maker.tidy_tasks:
                    worker.cleanup_graph(step_id, is_urgent=has_failed)
        if step.error is not None:
            raise step.error
        return plan.result(results, received, request.fetches, has_metadata=options is not None)

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
        plan = self._plan_of(Signature.of(feeds, fetches, targets, is_partial=True))
        run = PartialRun(
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
        run: PartialRun,
        request: StepRequest,
        on_start: Callable[[Any], None] | None,
    ) -> StepResult:
        with run.lock:
            check_unused(request.feeds, run.fed, "feed", "fed")
            check_unused(request.fetches, run.fetched, "fetch", "fetched")
            run.fed.update(dict.fromkeys(request.feeds, True))
            run.fetched.update(dict.fromkeys(request.fetches, True))
            is_last = all(run.fed.values()) and all(run.fetched.values())
            call = ActiveCall(run.step)
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
                results = run_all(run.step, calls)
            finally:
                call.is_over = True
            if is_last or run.step.error is not None:
                self._end_partial_run(handle, run)
            if run.step.error is not None:
                raise run.step.error
            received = {key: value for one in results for key, value in one.recv.items()}
            return run.plan.result(results, received, request.fetches, has_metadata=False)

    def _end_partial_run(self, handle: str, run: PartialRun) -> None:
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
        signature = Signature.of(
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
        self._plan_maker.deregister(parts)
        self._delete_worker_sessions()

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
