"""The session that runs a graph in this process.

State of a :class:`DirectSession`:

* fixed: devices, configuration, the step events;
* grown under ``_lock``: the graph (in ``GraphExecutionState``), the executors by signature, the
  kernels that keep state (``_kernels``, by node name, for the session's life);
* changing: ``steps_in_flight``, each of which belongs to the thread that runs it.

``run`` is ``prepare`` (signature to executors, cached) and ``run_prepared`` (one step). Corresponds
to TensorFlow's ``direct_session.cc``.  It differs in that the calling thread itself drives the
step.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import tfnb.common_runtime.functions.lower_functional_ops
import tfnb.common_runtime.optimizer.meta_optimizer  # noqa: F401 - register the passes
from tfnb.common_runtime.device.thread_pool import NO_POOLS, InterOpThreadPools
from tfnb.common_runtime.executor.deadlines import DEADLINES
from tfnb.common_runtime.executor.executors_and_keys import (
    Executors,
    ExecutorsAndKeys,
    type_of_signature,
    view,
)
from tfnb.common_runtime.executor.immutable_executor_state import ExecutorItem, initialize
from tfnb.common_runtime.executor.loaded_effects import FedTexts, watch_if_loaded
from tfnb.common_runtime.executor.run_state import CallFrame, RunState, ToldOutputs
from tfnb.common_runtime.executor.running_nodes import counts_of, running_nodes
from tfnb.common_runtime.executor.session_views import partitioned_view, placed_view
from tfnb.common_runtime.functions.called_functions import check_dataset
from tfnb.common_runtime.functions.function_library_runtime import FunctionLibraryRuntime
from tfnb.common_runtime.optimizer.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
    OptimizationReports,
)
from tfnb.common_runtime.session import process_state, session_settings
from tfnb.common_runtime.session.graph_execution_state import ClientGraph, GraphExecutionState
from tfnb.common_runtime.session.python_threads import pool_for_python_functions
from tfnb.common_runtime.session.session import RuntimeSession
from tfnb.common_runtime.session.session_state import SessionState
from tfnb.common_runtime.session.step_runner import find_quick_run, step_runner
from tfnb.core import errors, host_memory, op_registry
from tfnb.core.op_kernel import OpKernel, StepContext, create_kernel
from tfnb.core.process import forking
from tfnb.core.process.later import later
from tfnb.core.process.made_once import made_once
from tfnb.core.process.shelter import ensure_imported
from tfnb.core.process.weak_registry import WeakRegistry
from tfnb.core.step_events import IDLE_HOOKS, StepEvents
from tfnb.graph.function_library import FunctionDefinition
from tfnb.graph.graph_partition import partition
from tfnb.graph.late_reads import order_early_writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import FrameType

    from tfnb.common_runtime.device.device import Device, DeviceAttributes
    from tfnb.common_runtime.device.device_mgr import DeviceMgr
    from tfnb.common_runtime.device.thread_pool import ThreadPool
    from tfnb.common_runtime.executor import waiting
    from tfnb.common_runtime.executor.running_nodes import NodeCounts, RunningNode
    from tfnb.common_runtime.executor.warm_up import LoweredFunction
    from tfnb.common_runtime.looking.cost_model_manager import CostModelManager
    from tfnb.common_runtime.looking.step_stats_collector import RunRecorder
    from tfnb.common_runtime.session import replaced_graph, step_hold, step_limits
    from tfnb.common_runtime.session.callables import Callables
    from tfnb.common_runtime.session.partial_run import PartialRuns, PartialRunState
    from tfnb.common_runtime.session.pass_trace import PassStage
    from tfnb.common_runtime.session.session_factory import SessionOptions
    from tfnb.core.effects import StepLimits
    from tfnb.core.plain_graph_def import type_of_graph_def
    from tfnb.core.process.standstill import Standstill
    from tfnb.core.rendezvous import Rendezvous
    from tfnb.graph.cost_model import CostModel
    from tfnb.graph.graph import Graph, Node
    from tfnb.proto import config_pb2
else:
    waiting = later("tfnb.common_runtime.executor.waiting", in_step=True)
    replaced_graph = later("tfnb.common_runtime.session.replaced_graph", in_step=True)
    step_hold = later("tfnb.common_runtime.session.step_hold", in_step=True)
    step_limits = later("tfnb.common_runtime.session.step_limits", in_step=True)

_session_numbers = itertools.count(1)
# How long close waits at most for idle threads of a pool to end, in seconds.
_JOIN_S = 1.0


class _Asked(NamedTuple):
    """The options of one step, beside its results."""

    pool: ThreadPool | None = None
    timeout_ms: int = 0
    recorder: RunRecorder | None = None


_NOTHING_ASKED = _Asked()


class DirectSession(RuntimeSession):
    """A session in this process; thread safe.

    Attributes:
      is_closed: whether the session was told to close.
      steps_in_flight: each step adds and removes itself; others read :meth:`active_steps`.
    """

    def __init__(
        self,
        options: SessionOptions,
        device_mgr: DeviceMgr,
        kernels: dict[str, OpKernel] | None = None,
    ) -> None:
        """Make a session without a graph.

        Args:
          options: target and configuration.
          device_mgr: its devices, which it closes.
          kernels: stateful kernels that several sessions share; None: it has its own.
        """
        config = self._config = options.config
        for name in ("_Arg", "_Recv"):
            # Loads what a step may need: an interrupt during its import would leave a lock held.
            op_registry.find(name)
        settings = session_settings.settings_of(config)
        self._thread_pools = InterOpThreadPools(config) if settings.has_pools else NO_POOLS
        self._default_pool = self._thread_pools.default
        self._device_mgr = device_mgr
        self._lock = threading.RLock()
        forking.guard(self, "_lock")
        forking.renew_in_child(self)
        self._state = GraphExecutionState(device_mgr, config)
        self.is_closed = False
        self._is_down = False
        self._finalized = False
        self._is_static = False  # the graph was created as one that does not grow
        self._metadata_key = (
            session_settings.claim_metadata(config) if settings.has_metadata else None
        )
        self._executors: dict[type_of_signature, ExecutorsAndKeys] = {}
        self._made: WeakRegistry[Executors] = WeakRegistry()  # for runs, callables and partial runs
        # Stateful ones, by node name; guarded by self._lock.
        self._kernels: dict[str, OpKernel] = {} if kernels is None else kernels
        self._owns_kernels = kernels is None
        self.steps_in_flight: set[RunState] = set()
        # No pool, no deadline and no measurement, except where a run requests them.
        self._steps_are_plain = (
            self._default_pool is None
            and settings.timeout_ms <= 0
            and settings.cost_model_every <= 0
        )
        self._edge_names = itertools.count(0)
        self._timeout_ms = settings.timeout_ms
        self._cost_model_every = settings.cost_model_every
        self._cost_model_after = settings.cost_model_after
        self.session_handle = f"direct_{next(_session_numbers)}"
        self.step_events = self._new_step_events()
        self.session_state = SessionState()
        self._limit_observer: step_limits.LimitObserver | None = None
        self._max_tensor_bytes: int | None = None
        self._hold: step_hold.StepHold | None = None  # guarded by self._lock
        # A weak reference: an unreferenced session is finalized at once.
        self._functions = FunctionLibraryRuntime(weakref.proxy(self))

    @property
    def has_whole_graph(self) -> bool:
        """Whether no other session may run further nodes of its graph."""
        return True

    @property
    def kept_by_pipelines(self) -> object:
        """Nothing: its iterators are resources of its own devices, and end with it."""
        return None

    @staticmethod
    def _new_step_events() -> StepEvents:
        """Return the events of this session, which those who watch all sessions get."""
        return StepEvents.for_session()

    # Objects that few sessions need are made on first use.

    @made_once
    def cost_model_manager(self) -> CostModelManager:
        """Return the cost models of the signatures that are measured."""
        ensure_imported("tfnb.common_runtime.looking.cost_model_manager")
        from tfnb.common_runtime.looking.cost_model_manager import CostModelManager

        return CostModelManager()

    @made_once
    def fed_texts(self) -> FedTexts:
        """Return the texts that were fed to the session."""
        return FedTexts()

    @made_once
    def _sync_on_finish(self) -> bool:
        return session_settings.sync_on_finish()

    @made_once
    def _callables(self) -> Callables:
        ensure_imported("tfnb.common_runtime.session.callables")
        from tfnb.common_runtime.session.callables import Callables

        return Callables(weakref.proxy(self))

    @made_once
    def _partial_runs(self) -> PartialRuns:
        ensure_imported("tfnb.common_runtime.session.partial_run")
        from tfnb.common_runtime.session.partial_run import PartialRuns

        return PartialRuns(weakref.proxy(self))

    def _steps_of_partial_runs(self) -> list[RunState]:
        return self._partial_runs.run_states() if "_partial_runs" in self.__dict__ else []

    # -- the graph ---------------------------------------------------------------------------------

    def create(self, graph_def: type_of_graph_def) -> None:
        """Set the session's graph; a graph without nodes is ignored.

        Raises:
          AlreadyExistsError: the session already has a graph.
          InvalidArgumentError: a global pool of threads has another size than in the session's
            configuration.
        """
        self._check_open()
        if self._thread_pools.error is not None:
            raise self._thread_pools.error
        if not graph_def.node:
            return
        with self._lock:
            if self._was_created:
                raise errors.already_exists("A Graph has already been created for this session.")
            self.extend(graph_def)
            self._is_static = self._config.experimental.optimize_for_static_graph

    def extend(self, graph_def: type_of_graph_def) -> None:
        """Add nodes to the graph; steps in flight and cached executors are not disturbed.

        Raises:
          InvalidArgumentError: a node is malformed or was sent before; nothing is added then.
        """
        self._check_open()
        self._check_not_finalized()
        with self._lock:
            if self._is_static:
                raise errors.failed_precondition(
                    "Extending the graph is not supported when `optimize_for_static_graph` is true."
                )
            self._state.extend(graph_def)

    def replace_graph(self, graph_def: type_of_graph_def) -> None:
        """Replace the session's graph.

        Steps in flight, partial runs and callables continue with the graph they were made from.
        Variables, queues and tables are kept for nodes that are unchanged, and dropped for others.

        Raises:
          InvalidArgumentError: a node is malformed; nothing has changed then.
          FailedPreconditionError: the session was finalized, or its graph is static.
        """
        self._check_open()
        self._check_not_finalized()
        with self._lock:
            if self._is_static:
                raise errors.failed_precondition(
                    "The graph cannot change when `optimize_for_static_graph` is true."
                )
            state = GraphExecutionState(self._device_mgr, self._config)
            state.extend(graph_def)
            old, new = self._state.graph, state.graph
            if old is not None and new is not None:
                state.keep_placement(self._state)
                same = replaced_graph.unchanged_nodes(old, new)
                self._kernels = {name: k for name, k in self._kernels.items() if name in same}
                replaced_graph.forget_changed(old, new, self._device_mgr.devices)
            self._functions = FunctionLibraryRuntime(weakref.proxy(self))
            self._state, self._executors = state, {}
            self._partial_runs.forget_signatures()

    @property
    def _was_created(self) -> bool:
        return self._state.graph is not None

    def has_node(self, name: str) -> bool:
        """Return whether the session's graph has a node of that name."""
        graph = self._state.graph
        return graph is not None and graph.find_node(name) is not None

    # -- running -----------------------------------------------------------------------------------

    def run(
        self,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        run_options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Run one step.

        Args:
          feeds: tensor name -> array of the tensor's dtype.
          fetches: names of tensors to return.
          targets: names of ops to run.
          run_options: time-out, trace and partition graphs of this step.
          run_metadata: is overwritten with what ``run_options`` request.

        Raises:
          OpError: the error of the step.
        """
        prepared = self.prepare(tuple(feeds), tuple(fetches), tuple(targets))
        return self.run_prepared(prepared, list(feeds.values()), run_options, run_metadata)

    def run_plainly(
        self, feeds: Mapping[str, Any], fetches: Sequence[str], targets: Sequence[str]
    ) -> list[Any]:
        """Run one step without options."""
        return self.run(feeds, fetches, targets)

    def prepare(
        self,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
    ) -> ExecutorsAndKeys:
        """Return the executors for a signature; made on first use, kept for the session's life.

        Raises:
          CancelledError: the session is closed.
          InvalidArgumentError, NotFoundError: the graph cannot be pruned, placed or partitioned.
        """
        self._check_open()
        signature = (feeds, fetches, targets)
        found = self._executors.get(signature)
        if found is not None:
            return found
        self._check_not_finalized()
        # The slow path: the same names in another order, or twice, share one set of executors.
        canonical = (
            _sorted(feeds, "feed"),
            tuple(sorted(set(fetches))),
            tuple(sorted(set(targets))),
        )
        if not self._was_created:
            raise errors.invalid_argument("Session was not created with a graph before Run()!")
        state, known = self._state, self._executors.get(canonical)
        executors = self.create_executors(*canonical) if known is None else known.executors
        with self._lock:
            if self._state is not state:  # the graph was replaced meanwhile
                return view(executors, signature)
            # If two threads built the same executors, the first result is kept.
            first = self._executors.setdefault(canonical, view(executors, canonical))
            return self._executors.setdefault(signature, view(first.executors, signature))

    def optimization_reports(
        self, fetches: Sequence[str], feeds: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> OptimizationReports:
        """Report what the passes did to a signature's graph, which is prepared but not run.

        Printed, it is plain text: a line for each pass, below it a line for each thing it did.
        ``ConfigProto.graph_options`` selects the passes that run: ``optimizer_options`` and
        ``rewrite_options``.

        Args:
          fetches: names of tensors to return.
          feeds: names of fed tensors.
          targets: names of ops to run.

        Raises:
          CancelledError, InvalidArgumentError, NotFoundError: as :meth:`prepare`.
        """
        return self.prepare(tuple(feeds), tuple(fetches), tuple(targets)).executors.reports

    def optimization_stages(
        self, fetches: Sequence[str], feeds: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> list[PassStage]:
        """Return the graph of a signature before and after each pass; nothing is prepared or run.

        Args:
          fetches: names of tensors to return.
          feeds: names of fed tensors.
          targets: names of ops to run.

        Raises:
          CancelledError, InvalidArgumentError, NotFoundError: as :meth:`prepare`.
        """
        self._check_open()
        signature = (tuple(feeds), tuple(fetches), tuple(targets))
        from tfnb.common_runtime.session.pass_trace import trace_passes

        return trace_passes(self._state, self._device_mgr, self._config, signature, self._functions)

    def run_prepared(
        self,
        prepared: ExecutorsAndKeys,
        feed_values: Sequence[Any],
        run_options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
        rendezvous: Rendezvous | None = None,
        on_start: Callable[[RunState], None] | None = None,
    ) -> list[Any]:
        """Run one step of prepared executors in the calling thread.

        Args:
          prepared: from :meth:`prepare`.
          feed_values: one array per feed, in the order of ``prepared.feeds``; never written to.
          run_options: time-out, trace and partition graphs of this step.
          run_metadata: is overwritten with what ``run_options`` request.
          rendezvous: where the step's Sends and Recvs meet others; by default one of its own.
          on_start: called with the step's state before it begins, for those who may end it.

        Returns:
          One fresh value per fetch, in the order of ``prepared.fetches``.

        Raises:
          OpError: the error of the step; the session stays usable.
          KeyboardInterrupt: the user interrupted the step; the session stays usable.
        """
        if self.is_closed:
            raise errors.cancelled("Session has been closed.")
        executors, hooks = prepared.executors, self.step_events.hooks
        has_options = run_options is not None or run_metadata is not None
        is_plain = self._steps_are_plain and not has_options
        if is_plain and hooks is IDLE_HOOKS and prepared.may_be_quick and on_start is None:
            quick = prepared.quick or find_quick_run(self, prepared)
            if quick is not None:
                return quick(self, feed_values)
        args = feed_values
        if prepared.feed_order is not None:
            args = [feed_values[position] for position in prepared.feed_order]
            executors.refuse_resources(args)
        if is_plain and executors.python_pool is None:
            asked = _NOTHING_ASKED
        else:
            asked = self._asked(executors, run_options, run_metadata)
        recorder, pool = asked.recorder, asked.pool
        tell_of_outputs = hooks.tensors_made
        if recorder is not None:
            hooks = recorder.hooks(hooks)
        if pool is not None and hooks.debugger is not None:
            # A debugger runs the nodes one by one in one thread; Python functions that may wait for
            # each other keep their pool.
            pool = executors.python_pool
        frame = CallFrame(args, len(executors.fetches))
        states = executors.states if pool is None else executors.pool_choice.choose()
        needs_wake = executors.has_async or states is not executors.states
        run_state = RunState(frame, hooks, needs_wake, rendezvous=rendezvous, pool=pool)
        if on_start is not None:
            on_start(run_state)
        if executors.has_text_feeds and self.has_watched_nodes:
            self.fed_texts.note(args, run_state.step_id)
        if asked.timeout_ms > 0:
            run_state.timeout_ms = asked.timeout_ms
        if recorder is not None and recorder.collector is not None:
            run_state.collector = recorder.collector
            run_state.record_outputs = recorder.collector.recorder(run_state.step_id)
        if tell_of_outputs is not None:
            run_state.record_outputs = ToldOutputs(
                tell_of_outputs, run_state.step_id, run_state.record_outputs
            )
        run = prepared.run or step_runner(self, prepared)
        prepared.run = run
        begin_ns = 0 if pool is None else perf_counter_ns()
        try:
            results = run(self, args, run_state, states)
        finally:
            if recorder is not None:
                recorder.finish()
        if pool is not None:
            executors.pool_choice.took(states, perf_counter_ns() - begin_ns)
        return results

    def _asked(
        self,
        executors: Executors,
        run_options: config_pb2.RunOptions | None,
        run_metadata: config_pb2.RunMetadata | None,
    ) -> _Asked:
        """Return what the options of a step and the session's configuration request."""
        recorder, timeout_ms = None, self._timeout_ms
        pool = self._default_pool or executors.python_pool
        if run_options is not None:
            index = run_options.inter_op_thread_pool
            pool = self._thread_pools.choose(index, len(executors.items))
            if index != -1:
                pool = pool or executors.python_pool
            if run_options.timeout_in_ms > 0:
                timeout_ms = run_options.timeout_in_ms
            if (
                run_options.output_partition_graphs
                and self._config.experimental.disable_output_partition_graphs
            ):
                raise errors.invalid_argument(
                    "RunOptions.output_partition_graphs() is not supported when "
                    "disable_output_partition_graphs is true."
                )
            if run_metadata is not None or run_options.report_tensor_allocations_upon_oom:
                ensure_imported("tfnb.common_runtime.looking.step_stats_collector")
                from tfnb.common_runtime.looking.step_stats_collector import RunRecorder

                recorder = RunRecorder(
                    executors,
                    run_options,
                    run_metadata,
                    find_function=self._functions.find_items,
                    session_metadata=self._session_metadata,
                    cost_models=self._cost_models_due(executors),
                )
        if recorder is None and self._cost_model_every > 0:
            ensure_imported("tfnb.common_runtime.looking.step_stats_collector")
            from tfnb.common_runtime.looking.step_stats_collector import RunRecorder

            recorder = RunRecorder(executors, cost_models=self._cost_models_due(executors))
        return _Asked(pool, timeout_ms, recorder)

    def end_step(self, run_state: RunState) -> None:
        """Remove a step that has ended from the active ones; a second call does nothing."""
        self.steps_in_flight.discard(run_state)
        run_state.close()
        if run_state.deadline is not None:
            DEADLINES.call_off(run_state.deadline)
        if self.is_closed and not self.steps_in_flight:
            self._drop()

    def step_context(self, run_state: RunState) -> StepContext:
        """Return the context that the kernels of a step share."""
        return StepContext(
            run_state.step_id,
            run_state,
            self._functions,
            self.session_state,
            self.session_handle,
            run_state.call_frame,
        )

    # -- callables and partial runs ----------------------------------------------------------------

    def make_callable(self, options: config_pb2.CallableOptions) -> int:
        """Prepare a signature under a handle."""
        self._check_open()
        self._check_not_finalized()
        if not self._was_created:
            raise errors.invalid_argument(
                "Session was not created with a graph before MakeCallable()!"
            )
        return self._callables.make(options)

    def finalize(self) -> None:
        """Reject new signatures, callables and nodes from now on; existing ones keep running.

        With ``finalize_resource_manager`` no device takes new resources either, except those of one
        step (TensorArrays, stacks), which are not kept there.
        """
        self._check_open()
        self._check_not_finalized()
        self._finalized = True
        if self._config.experimental.finalize_resource_manager:
            for device in self._device_mgr.devices:
                device.resource_manager.finalize()

    def run_callable(
        self,
        handle: int,
        feed_values: Sequence[Any],
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Run a callable; its feeds are in the order given when it was made."""
        self._check_open()
        return self._callables.run(handle, feed_values, run_metadata)

    def release_callable(self, handle: int) -> None:
        """Forget a callable."""
        self._callables.release(handle)

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        """Start a step that is fed and fetched piece by piece; return its handle."""
        self._check_open()
        if not self._was_created:
            raise errors.invalid_argument(
                "Session was not created with a graph before PRunSetup()!"
            )
        return self._partial_runs.setup(feeds, fetches, targets)

    def partial_run_states(self) -> list[PartialRunState]:
        """Return the progress of each partial run, in the order of their start."""
        return self._partial_runs.states()

    def partial_run(
        self, handle: str, feeds: Mapping[str, Any], fetches: Sequence[str]
    ) -> list[Any]:
        """Feed and fetch a part of a step."""
        self._check_open()
        return self._partial_runs.run(handle, feeds, fetches)

    def _cost_models_due(self, executors: Executors) -> CostModelManager | None:
        """Return the cost models, if this step of the signature is to be measured."""
        if self._cost_model_every <= 0:
            return None
        measured = next(executors.step_count) - self._cost_model_after
        if measured < 0 or (measured + 1) % self._cost_model_every:
            return None
        return self.cost_model_manager

    def export_cost_models(self) -> dict[Graph, CostModel]:
        """Return partition graph -> costs of its nodes, for every step that was measured."""
        return self.cost_model_manager.export()

    @property
    def _session_metadata(self) -> config_pb2.SessionMetadata | None:
        experimental = self._config.experimental
        return experimental.session_metadata if self._metadata_key is not None else None

    @property
    def default_pool(self) -> ThreadPool | None:
        """The threads for steps that choose no pool; None: the calling thread."""
        return self._default_pool

    def set_step_limits(self, limits: StepLimits) -> None:
        """Apply limits to all later steps."""
        with self._lock:
            if self._limit_observer is not None:
                self.step_events.remove(self._limit_observer)
                self._limit_observer = None
            self._max_tensor_bytes = limits.max_tensor_bytes if limits else None
            if limits:
                self._limit_observer = step_limits.LimitObserver(self.active_steps, limits)
                self.step_events.add(self._limit_observer)

    def last_run(self) -> tuple[int, int]:
        """Return the id of the step that began last, and of its signature; 0 if none ran."""
        with self._lock:
            ids = [(one.last_step_id, one.signature_id) for one in self._made if one.last_step_id]
        return max(ids, default=(0, 0))

    def emitted_sources(self) -> list[str]:
        """Return the Python functions that signatures of the session run as, the oldest first."""
        return [step.source for step in self.lowered_steps()]

    def lowered_steps(self) -> list[LoweredFunction]:
        """Return the objects that run the functions of :meth:`emitted_sources`."""
        found = {}
        for prepared in list(self._executors.values()):
            executors = prepared.executors
            for state in executors.states if executors.alone is None else (executors.alone,):
                if state.warm_up.lowered is not None:
                    found[id(state)] = state.warm_up.lowered
        return list(found.values())

    # -- devices, life -----------------------------------------------------------------------------

    @property
    def device_mgr(self) -> DeviceMgr:
        """The session's devices."""
        return self._device_mgr

    def local_device_manager(self) -> DeviceMgr:
        """Return the session's devices, which exist before the session has a graph."""
        return self._device_mgr

    @property
    def config(self) -> config_pb2.ConfigProto:
        """The configuration of the session."""
        return self._config

    @property
    def graph(self) -> Graph | None:
        """The full graph the session was given, or None."""
        return self._state.graph

    @property
    def execution_state(self) -> GraphExecutionState:
        """The session's graph and its placement."""
        return self._state

    def list_devices(self) -> list[DeviceAttributes]:
        """Return name, type, memory limit in bytes and incarnation of every device."""
        self._check_open()
        return self._device_mgr.list_attributes()

    def reset_containers(self, containers: Iterable[str]) -> None:
        """Empty containers on every device."""
        self._device_mgr.clear_containers(containers)

    def active_steps(self) -> list[RunState]:
        """Return the steps in flight."""
        return list(self.steps_in_flight)

    def running_nodes(self) -> list[RunningNode]:
        """Return the node that runs now in each step in flight; waiting steps are left out."""
        return running_nodes([*self.steps_in_flight, *self._steps_of_partial_runs()])

    def step_counts(self) -> dict[int, NodeCounts]:
        """Return how often nodes ran, by step, for steps in flight that are emitted functions."""
        return counts_of(self.steps_in_flight)

    def hold_steps(self) -> None:
        """Pause all steps between two nodes, including those that begin later.

        Raises:
          UnimplementedError: no other thread can be started, which would resume them.
        """
        errors.require_threads("A pause of steps", "Run fewer steps at a time.")
        with self._lock:
            if self._hold is None and not self.is_closed:
                self._hold = step_hold.StepHold(self.step_events, self.active_steps)
                self._hold.begin()

    def let_steps_go(self) -> None:
        """Resume the paused steps."""
        with self._lock:
            hold, self._hold = self._hold, None
        if hold is not None:
            hold.end()

    @property
    def is_held(self) -> bool:
        """Whether steps of this session are paused until :meth:`let_steps_go`."""
        return self._hold is not None

    def waiting(self) -> Standstill | None:
        """Explain what every step in flight waits for or does; None without steps."""
        return waiting.explain_steps([*self.steps_in_flight, *self._steps_of_partial_runs()])

    def close(self) -> None:
        """End all steps in flight and drop the session's state; a second call does nothing."""
        with self._lock:
            if self._is_down:
                return
            self.is_closed = True
        if self.steps_in_flight or self._steps_of_partial_runs():
            error = errors.cancelled("Session has been closed.")
            self._partial_runs.close(error)
            for run_state in list(self.steps_in_flight):
                run_state.abort(error)
                run_state.wake.set()
        session_settings.release(self._metadata_key)
        pools = self._thread_pools
        if pools is not NO_POOLS:
            pools.close()
        if not self.steps_in_flight:
            if pools is not NO_POOLS:
                pools.join(_JOIN_S)
            self._drop()
        self._is_down = True  # last: an interrupted close can then be called again

    def renew_after_fork(self) -> None:
        """In a child process, remove the steps of other threads, which did not survive the fork."""
        mine: set[int] = set()
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            mine |= {id(one) for one in frame.f_locals.values() if isinstance(one, RunState)}
            frame = frame.f_back
        for run_state in list(self.steps_in_flight):
            if id(run_state) not in mine:
                self.steps_in_flight.discard(run_state)

    def _drop(self) -> None:
        """Free executors, kernels and the resources of the devices; called when no step runs."""
        has_run = bool(self._executors) or not {"_callables", "_partial_runs"}.isdisjoint(
            vars(self)
        )
        self._executors.clear()
        if self._owns_kernels:
            self._kernels.clear()
        self._device_mgr.close()
        if has_run:
            process_state.give_memory_back()

    def _check_open(self) -> None:
        if self.is_closed:
            raise errors.cancelled("Session has been closed.")

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise errors.failed_precondition("Session has been finalized.")

    # -- making executors --------------------------------------------------------------------------

    def create_executors(
        self,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
        *,
        is_partial_run: bool = False,
        connections: Sequence[tuple[str, str]] = (),
        feed_devices: Sequence[str] = (),
        fetch_devices: Sequence[str] = (),
        sync_on_finish: bool = True,
    ) -> Executors:
        """Prune, place, partition and prepare a signature.

        Args:
          feeds: names of tensors that get values from outside.
          fetches: names of tensors whose values go outside.
          targets: names of ops to run.
          is_partial_run: whether feeds and fetches travel by name through the step's rendezvous.
          connections: pairs (from, to): consumers of tensor ``to`` get ``from`` instead.
          feed_devices: the device that holds each feed's value, "" for the host.
          fetch_devices: the device that is to hold each fetch's value.
          sync_on_finish: whether a step ends only when its devices have computed everything;
            the environment's TF_SYNC_ON_FINISH can switch it off for a whole session.

        Raises:
          ResourceExhaustedError: a constant is larger than the limits of steps allow.
        """
        with host_memory.at_most(self._max_tensor_bytes):
            client_graph = self._state.build_graph(
                feeds,
                fetches,
                targets,
                use_function_convention=not is_partial_run,
                connections=connections,
                feed_devices=feed_devices,
                fetch_devices=fetch_devices,
            )
            session_settings.check_executor_type(self._config, client_graph.graph)
            for names, types, places in (
                (feeds, client_graph.feed_types, feed_devices),
                (fetches, client_graph.fetch_types, fetch_devices),
            ):
                for name, dtype, place in zip(names, types, places):
                    if place:
                        self._device_mgr.lookup(place).check_can_hold(name, dtype)
            return self.executors_of(
                client_graph,
                feeds,
                fetches,
                targets,
                is_partial_run=is_partial_run,
                sync_on_finish=sync_on_finish,
            )

    def executors_of(
        self,
        client_graph: ClientGraph,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
        *,
        is_partial_run: bool = False,
        sync_on_finish: bool = True,
    ) -> Executors:
        """Partition and prepare a placed graph; see :meth:`create_executors`."""
        if not is_partial_run:
            order_early_writers(client_graph.graph)
        partitions = partition(client_graph.graph, self._device_mgr.devices, self._edge_names)
        items = []
        reports = client_graph.reports
        for device_name, graph in partitions.items():
            device = self._device_mgr.lookup(device_name)
            options = OptimizationPassOptions(
                graph,
                self._config,
                self._device_mgr.devices,
                device,
                library=self._state.library,
                targets=frozenset(targets),
                is_partial_run=is_partial_run,
            )
            reports += REGISTRY.run_grouping(Grouping.POST_PARTITIONING, options)
            graph.fixup_source_and_sink_edges()
            items.append(ExecutorItem(graph, initialize(graph, device, self.create_kernel)))
        executors = Executors(
            items,
            feeds,
            fetches,
            targets,
            client_graph.feed_types,
            client_graph.fetch_types,
            has_async=len(items) > 1 or any(item.executor.has_async for item in items),
            reports=OptimizationReports(reports),
            devices_to_sync=tuple(
                item.executor.device
                for item in items
                if item.executor.device.is_asynchronous and sync_on_finish and self._sync_on_finish
            ),
        )
        with self._lock:
            self._made.add(executors)
        executors.python_pool = pool_for_python_functions(client_graph.graph)
        executors.placed = placed_view(executors.signature_id, client_graph, executors.reports)
        executors.partitioned = partitioned_view(executors)
        self.step_events.placed(executors.placed)
        self.step_events.partitioned(executors.partitioned)
        return executors

    def create_kernel(self, node: Node, device: Device) -> OpKernel:
        """Return a node's kernel; one that keeps state lives as long as the session."""
        definition = node.op_definition
        assert definition is not None
        if isinstance(definition, FunctionDefinition):
            return self._functions.call_kernel(node, device)
        if not definition.is_stateful or node.is_send or node.is_recv:
            kernel = self._make_kernel(node, device)
            return self._functions.bind(kernel) if kernel.kind == "calls" else kernel
        with self._lock:
            found = self._kernels.get(node.name)
            if found is None or found.device is not device:
                found = self._make_kernel(node, device)
                if found.kind == "calls":
                    found = self._functions.bind(found)
                self._kernels[node.name] = found
            return found

    def _make_kernel(self, node: Node, device: Device) -> OpKernel:
        definition = node.op_definition
        assert definition is not None
        check_dataset(node.op, node.attrs, self._functions.has_function)
        version = self._state.graph_def_version
        kernel = create_kernel(definition, node.name, node.attrs, device, version, node.input_names)
        return watch_if_loaded(kernel, node.attrs, self)


def _sorted(feeds: tuple[str, ...], what: str) -> tuple[str, ...]:
    names = tuple(sorted(feeds))
    for name, following in itertools.pairwise(names):
        if name == following:
            raise errors.invalid_argument(f"Endpoint '{name}' fed more than once as a {what}.")
    return names
