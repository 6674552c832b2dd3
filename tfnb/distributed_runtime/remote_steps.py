"""The steps of a session on a server, as observers of this process get them.

A server sends no events.  While a step runs, a server of tfnb says what its nodes do
(``step_logs.py``); a server of TensorFlow does not.  After a step that observers of nodes want to
see, the server's trace is turned into events (``remote_trace.py``).
"""

from __future__ import annotations

import logging
import threading
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.executors_and_keys import new_signature_id
from tfnb.common_runtime.executor.run_state import new_step_id
from tfnb.core import errors
from tfnb.core.process.standstill import Finding, Standstill
from tfnb.core.step_events import IDLE_HOOKS
from tfnb.distributed_runtime.partition_views import partitioned_step
from tfnb.distributed_runtime.remote_trace import RemoteTrace
from tfnb.distributed_runtime.step_logs import RemoteCounts, RemoteProgress
from tfnb.distributed_runtime.step_planner import StepPlanner, placed_by_server
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.plain_graph_def import type_of_graph_def
    from tfnb.core.step_events import PlacedGraph, StepEvents, StepHooks
    from tfnb.distributed_runtime.grpc_remote_master import GrpcRemoteMaster, PendingCall
    from tfnb.distributed_runtime.partition_views import PartitionedStep
    from tfnb.distributed_runtime.step_planner import type_of_names
    from tfnb.proto import device_attributes_pb2, graph_pb2

_log = logging.getLogger("tfnb")
# The server is asked at most so often what its steps do; seconds.
_LOOK_EVERY_S = 0.15
_LOOK_S = 0.7
# Time limit of the question what a step waited for when its deadline came; seconds.
_LAST_LOOK_S = 0.3
# A server that says anything of its steps has done so after this time; in seconds.
_SAYS_BY_S = 1.0
_MAX_LINES = 4
NO_PROGRESS = "no progress from this server"


type_of_connections = tuple[tuple[str, str], ...]


class KnownSignature:
    """What is known of one signature.

    Attributes:
      number: its number for observers.
      names: feeds, fetches and targets.
      connections: tensors that take the place of others, of a callable.
      step: its graphs; None: not planned yet.
      placed: its placement; None likewise.
      is_servers: whether the graphs are the server's own.
      last_step: the step that ran it last; 0: none.
    """

    __slots__ = ("connections", "is_servers", "last_step", "names", "number", "placed", "step")

    def __init__(self, names: type_of_names, connections: type_of_connections = ()) -> None:
        self.number = new_signature_id()
        self.names = names
        self.connections = connections
        self.step: PartitionedStep | None = None
        self.placed: PlacedGraph | None = None
        self.is_servers = False
        self.last_step = 0


class RemoteStep:
    """A step in flight on a server.

    Attributes:
      step_id: its number for observers.
      request_id: names it for the server.
      names: what is fetched, or run.
      signature: its signature.
      graphs: those that observers got of its signature; None: none yet.
      progress: what the server said last; None: nothing.
      hooks: what observers take of it; None: it is not observed.
    """

    is_held = False

    def __init__(
        self, request_id: int, names: Sequence[str], signature: KnownSignature | None
    ) -> None:
        self.step_id = new_step_id()
        self.request_id = request_id
        self.names = names
        self.signature = signature
        self.graphs: PartitionedStep | None = None
        self.progress: RemoteProgress | None = None
        self.call: PendingCall | None = None
        self.hooks: StepHooks | None = None
        self._begin = monotonic()

    def end(self, error: BaseException) -> None:
        """End the step on the server.

        Raises:
          UnimplementedError: the thread that runs it waits for the answer itself.
        """
        if self.call is None:
            raise errors.unimplemented("Interrupt the cell to end this step on the server.")
        self.call.cancel(error)

    def findings(self) -> tuple[Finding, ...]:
        """Return what its tasks do or wait for, or that the server says nothing."""
        if self.progress is not None:
            return tuple(self.progress.findings())
        return (Finding(NO_PROGRESS),) if monotonic() - self._begin > _SAYS_BY_S else ()

    def lines(self) -> list[str]:
        """Return :meth:`findings` as a few lines."""
        return [finding.text for finding in self.findings()[:_MAX_LINES]]

    def finding(self, target: str) -> Finding:
        """Return what it waits for, as far as the server says."""
        names = ", ".join(self.names[:3])
        more = f" and {len(self.names) - 3} more" if len(self.names) > 3 else ""
        took = monotonic() - self._begin
        return Finding(f"{names}{more}: sent to {target} {took:.1f} s ago", "", self.findings())


class RemoteSteps:
    """The signatures and the steps in flight of one session; thread safe.

    Args:
      master: of the session.
      config: of the session.
      events: where observers register.
      devices: returns the devices that the session sees.
    """

    def __init__(
        self,
        master: GrpcRemoteMaster,
        config: config_pb2.ConfigProto,
        events: StepEvents,
        devices: Callable[[], Sequence[device_attributes_pb2.DeviceAttributes]],
    ) -> None:
        self._master, self._config, self._events, self._devices = master, config, events, devices
        self._lock = threading.RLock()
        # By names and connections; guarded by self._lock.
        self._signatures: dict[tuple[type_of_names, type_of_connections], KnownSignature] = {}
        self._graph_defs: list[type_of_graph_def] = []  # guarded by self._lock
        self._num_planned = 0  # how many of them the planner has; guarded by self._lock
        self._planner: StepPlanner | None = None  # guarded by self._lock
        self._active: dict[RemoteStep, None] = {}  # guarded by self._lock
        self._looking = threading.Lock()
        self._looked = 0.0  # guarded by self._looking

    # -- signatures --------------------------------------------------------------------------------

    def extend(self, graph_def: type_of_graph_def) -> None:
        """Note nodes that were sent to the server."""
        with self._lock:
            self._graph_defs.append(graph_def)

    def forget(self) -> None:
        """Forget the graph and its signatures: the session gets another graph."""
        with self._lock:
            self._graph_defs.clear()
            self._signatures.clear()
            self._planner, self._num_planned = None, 0

    def signature(
        self, names: type_of_names, connections: type_of_connections = ()
    ) -> KnownSignature:
        """Return a signature; its graphs are planned when they are asked for."""
        key = names, connections
        with self._lock:
            found = self._signatures.get(key)
            if found is None:
                found = self._signatures[key] = KnownSignature(names, connections)
            return found

    def report(self) -> bool:
        """Tell observers of the signatures that they have not got yet; return whether any was."""
        with self._lock:
            unknown = [one for one in self._signatures.values() if one.step is None]
        for signature in unknown:
            self._plan(signature)
        return any(one.step is not None for one in unknown)

    def last_run(self) -> tuple[int, int]:
        """Return the number of the step that began last, and of its signature; 0: none."""
        with self._lock:
            ran = [(one.last_step, one.number) for one in self._signatures.values()]
        return max((one for one in ran if one[0]), default=(0, 0))

    def _plan(self, signature: KnownSignature) -> None:
        """Plan a signature and tell observers; leave it unknown if that fails."""
        with self._lock:
            planned = None if signature.step is not None else self._planned(signature)
            if planned is None:
                return
            signature.placed, signature.step = placed, step = planned
        self._events.placed(placed)
        self._events.partitioned(step.views)

    def _planned(self, signature: KnownSignature) -> tuple[PlacedGraph, PartitionedStep] | None:
        """Place and cut a signature as tfnb's master does; None if that fails."""
        try:
            if self._planner is None:
                self._planner = StepPlanner(self._config, self._devices())
            for graph_def in self._graph_defs[self._num_planned :]:
                self._planner.extend(graph_def)
                self._num_planned += 1
            return self._planner.plan(signature.number, signature.names, signature.connections)
        except errors.OpError:
            _log.debug("No plan of a signature on %s.", self._master.target, exc_info=True)
            return None

    def _take_graphs(
        self, signature: KnownSignature, graph_defs: Sequence[graph_pb2.GraphDef]
    ) -> None:
        """Replace the plan of a signature by the server's own graphs."""
        if signature.is_servers or not graph_defs:
            return
        with self._lock:
            step = partitioned_step(signature.number, graph_defs, signature.names)
            planned = signature.placed
            if planned is None and (plan := self._planned(signature)) is not None:
                planned = plan[0]
            signature.step = step
            signature.placed = placed_by_server(planned, step)
            signature.is_servers = True
        self._events.placed(signature.placed)
        self._events.partitioned(step.views)

    # -- steps -------------------------------------------------------------------------------------

    @property
    def is_observed(self) -> bool:
        """Whether anything observes the steps of the session."""
        return self._events.hooks is not IDLE_HOOKS

    @property
    def is_traced(self) -> bool:
        """Whether observers need the trace of a step."""
        return _wants_trace(self._events.hooks)

    def begin(
        self, request_id: int, names: Sequence[str], signature: KnownSignature | None
    ) -> RemoteStep:
        """Note a step in flight."""
        step = RemoteStep(request_id, names, signature)
        if signature is not None:
            signature.last_step = step.step_id
        self._active[step] = None
        return step

    def end(self, step: RemoteStep) -> None:
        """Forget a step."""
        self._active.pop(step, None)

    def options(self, given: config_pb2.RunOptions | None) -> config_pb2.RunOptions | None:
        """Return the options of a step with what its observers need."""
        return traced_options(given) if self.is_traced else given

    def observe(
        self, step: RemoteStep, run: Callable[[], tuple[Any, config_pb2.RunMetadata | None]]
    ) -> Any:
        """Run a step and tell observers of it.

        Args:
          step: the step.
          run: sends it; returns what it gave, and what the server recorded.

        Returns:
          What it gave.
        """
        hooks, signature = self._events.hooks, step.signature
        assert signature is not None
        is_traced = _wants_trace(hooks)
        begin_ns = perf_counter_ns()
        if not is_traced:
            self.tell_start(step)
        trace: RemoteTrace | None = None
        error: BaseException | None = None
        try:
            result, metadata = run()
            if metadata is not None:
                self._take_graphs(signature, metadata.partition_graphs)
                if is_traced and signature.step is not None:
                    stats = metadata.step_stats
                    trace = RemoteTrace(signature.step, stats, begin_ns, perf_counter_ns())
        except BaseException as found:
            error = found
            raise
        else:
            return result
        finally:
            if is_traced:
                if signature.step is None:
                    self._plan(signature)
                _tell(hooks.step_started, step.step_id, signature.number, begin_ns)
                step.hooks = hooks
            if trace is not None:
                trace.tell(hooks, step.step_id)
            self.tell_end(step, error)

    def tell_start(self, step: RemoteStep) -> None:
        """Tell observers that a step begins, with the graphs of its signature."""
        hooks, signature = self._events.hooks, step.signature
        assert signature is not None
        begin_ns = perf_counter_ns()
        self._plan(signature)
        step.hooks, step.graphs = hooks, signature.step
        _tell(hooks.step_started, step.step_id, signature.number, begin_ns)

    def tell_end(self, step: RemoteStep, error: BaseException | None) -> None:
        """Tell the observers of a step that it has ended; without any, do nothing.

        Args:
          step: the step.
          error: what it ended with; None: it succeeded.
        """
        hooks, step.hooks = step.hooks, None
        if hooks is None:
            return
        if step.graphs is not None and hooks.step_counted is not None:
            progress = RemoteProgress() if step.progress is None else step.progress
            counts = RemoteCounts(progress, step.graphs, is_complete=error is None)
            hooks.step_counted(step.step_id, counts)
        text = None if error is None else f"{type(error).__name__}: {error}"
        _tell(hooks.step_done, step.step_id, perf_counter_ns(), text)

    # -- what they do ------------------------------------------------------------------------------

    def active(self) -> list[RemoteStep]:
        """Return the steps in flight."""
        return list(self._active)

    def look(self, timeout_s: float = _LOOK_S) -> None:
        """Ask the server what its steps do, unless it was asked a moment ago."""
        steps = self.active()
        # A `with` statement takes the lock: an interrupt after a call of acquire() would keep it.
        if not steps or self._looking.locked():
            return
        with self._looking:
            if monotonic() - self._looked < _LOOK_EVERY_S:
                return
            self._read(steps, timeout_s)
            self._looked = monotonic()

    def last_look(self, step: RemoteStep) -> Standstill | None:
        """Return what a step waits for that is about to be ended."""
        self._read([step], _LAST_LOOK_S)
        if step.progress is None:
            return None
        findings = tuple(step.progress.findings())
        return Standstill("On the server:", findings) if findings else None

    def _read(self, steps: Sequence[RemoteStep], timeout_s: float) -> None:
        logs = self._master.logging([step.request_id for step in steps], timeout_s)
        for step in steps:
            stats = logs.get(step.request_id)
            if stats is not None:
                step.progress = RemoteProgress.of(stats)

    def counts(self) -> dict[int, RemoteCounts]:
        """Return how often nodes ran until now, for the steps that the server speaks of."""
        self.look()
        return {
            step.step_id: RemoteCounts(step.progress, step.graphs)
            for step in self.active()
            if step.progress is not None and step.graphs is not None
        }

    def waiting(self) -> Standstill | None:
        """Return what each step in flight waits for; None without any."""
        self.look()
        findings = tuple(step.finding(self._master.target) for step in self.active())
        return Standstill("Steps that run on a server:", findings) if findings else None


def traced_options(given: config_pb2.RunOptions | None) -> config_pb2.RunOptions:
    """Return options with which a step returns its trace and its graphs."""
    options = config_pb2.RunOptions()
    if given is not None:
        options.CopyFrom(given)
    options.trace_level = config_pb2.RunOptions.FULL_TRACE
    options.output_partition_graphs = True
    return options


def _wants_trace(hooks: StepHooks) -> bool:
    return hooks.hears_nodes and not hooks.takes_counts


def _tell(hook: Callable[..., None] | None, *arguments: Any) -> None:
    if hook is not None:
        hook(*arguments)
