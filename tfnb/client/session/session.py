"""``Session``: the connection between a graph being built and the runtime that runs it.

A session holds
  _graph       the user's graph; shared with any number of other sessions
  runtime      the runtime's session: placement, executors, variables
  _sent_graph  which operations of the graph the runtime has
  plans        (fetch structure, feed keys) -> CallPlan; emptied by close()
and nothing of a single step. ``run`` is a dictionary lookup and a call of the plan; checks are made
when a plan is made (``_plan_for``), explanations when a run failed
(:mod:`tfnb.client.session.session_errors`).

Corresponds to TensorFlow's ``python/client/session.py``. It differs in that a repeated run does not
look at the graph again: ops added since are sent with the next new run.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.session.call_plan import CallPlan
from tfnb.client.session.feeds import expand_feed_dict
from tfnb.client.session.fetches import LEAF_TYPES, FetchMapper, structure_key
from tfnb.client.session.live_sessions import open_sessions, register
from tfnb.client.session.sent_graph import SentGraph
from tfnb.common_runtime.optimizer.optimization_registry import OptimizationReports
from tfnb.common_runtime.session import direct_session_factory, session_factory
from tfnb.core.process.collector_pause import without_collector
from tfnb.core.process.later import later
from tfnb.core.process.lost_interrupts import keep_interrupts
from tfnb.core.process.shelter import ensure_imported
from tfnb.distributed_runtime import grpc_session_factory
from tfnb.framework import default_session, traceback_of_user
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.graph import Graph
from tfnb.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from tfnb.client.session import session_errors
    from tfnb.client.session.callable import CallableFromOptions
    from tfnb.client.session.remote_session import RemoteSession
    from tfnb.common_runtime.executor.running_nodes import RunningNode
    from tfnb.common_runtime.session.partial_run import PartialRunState
    from tfnb.common_runtime.session.pass_trace import PassStage
    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.default_stack import StackController
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.proto.graph_pb2 import GraphDef
else:
    session_errors = later("tfnb.client.session.session_errors", in_step=True)


# The imports registered the factories for sessions in this process and on servers.
assert direct_session_factory.DIRECT_SESSION_FACTORY is not None
assert grpc_session_factory.GRPC_SESSION_FACTORY is not None


def live_sessions() -> list[BaseSession]:
    """Return the open sessions, in no particular order."""
    return open_sessions()


class DeviceAttributes:
    """One device of a session, in the result of ``list_devices``."""

    __slots__ = ("_device_type", "_incarnation", "_memory_limit_bytes", "_name")

    def __init__(
        self, name: str, device_type: str, memory_limit_bytes: int, incarnation: int
    ) -> None:
        self._name = name
        self._device_type = device_type
        self._memory_limit_bytes = memory_limit_bytes
        self._incarnation = incarnation

    @property
    def name(self) -> str:
        """The full name, ``/job:localhost/replica:0/task:0/device:CPU:0``."""
        return self._name

    @property
    def device_type(self) -> str:
        """``CPU`` or ``GPU``."""
        return self._device_type

    @property
    def memory_limit_bytes(self) -> int:
        """The maximum bytes of memory that may be used there."""
        return self._memory_limit_bytes

    @property
    def incarnation(self) -> int:
        """A number that changes when the device starts again."""
        return self._incarnation

    def __repr__(self) -> str:
        return (
            f"_DeviceAttributes({self._name}, {self._device_type}, {self._memory_limit_bytes}, "
            f"{self._incarnation})"
        )


class BaseSession:
    """The base class of Session and InteractiveSession: running a graph.

    Attributes:
        runtime: The runtime's session; internal to tfnb.
        plans: The plans of earlier runs; internal to tfnb.
        is_closed: Whether it is closed; internal to tfnb.
    """

    _num_objects = 1  # objects of this session: copies share their attributes

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        """Open a session on a graph; nothing is sent to the runtime before the first run.

        Args:
            target: The engine to connect to; empty for this process.
            graph: The graph to run; the default graph if None.
            config: A ``ConfigProto``.

        Raises:
            TypeError: An argument has the wrong type.
            NotFoundError: No engine accepts the target.
        """
        self.is_closed = True  # without the runtime's session, there is nothing to close
        if graph is None:
            graph = get_default_graph()
        elif not isinstance(graph, Graph):
            raise TypeError(
                f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"'
            )
        self._graph = graph
        self._target = _checked_target(target)
        self._config = _checked_config(config)
        self._add_shapes: bool = self._config.graph_options.infer_shapes
        self.plans: dict[Any, CallPlan] = {}
        # The file of a session that outlives this process, and what stands in it; see `keep`.
        self._kept_in: tuple[str, tuple[str, int]] | None = None
        self.runtime = session_factory.new_session(
            session_factory.SessionOptions(self._target, self._config)
        )
        self._sent_graph = SentGraph(
            graph,
            self.runtime,
            sends_all=self._config.experimental.optimize_for_static_graph,
        )
        self.runtime.effects_policy = graph.effects_policy
        graph.effects_policy.apply_to(self.runtime)
        self.is_closed = False
        register(self)
        keep_interrupts()

    # -- sessions that outlive a process -----------------------------------------------------------

    @property
    def remote_session(self) -> RemoteSession:
        """What identifies this session on its server; it is opened there if it is not yet.

        Raises:
            ValueError: The session runs in this process.
        """
        from tfnb.client.session.remote_session import RemoteSession, graph_def_of

        if not self.runtime.is_on_server:
            raise ValueError(
                "A session of this process ends with it. One on a server, tf.Session('grpc://host:"
                "port'), can be kept."
            )
        self.extend_graph()
        handle, version = self.runtime.ensure_created()
        sent = [op for op in self._graph.operation_list if self.runtime.has_node(op.name)]
        return RemoteSession(self._target, handle, version, graph_def_of(self._graph, sent))

    def keep(self, path: str) -> None:
        """Keep the session on its server when this process ends, and note it in a file.

        :meth:`attach` goes on with it in another process. The file is written again whenever the
        server's graph grows; an explicit :meth:`close` ends the session and removes the file.

        Args:
            path: The file; only its owner can read it.

        Raises:
            ValueError: The session runs in this process.
        """
        state = self.remote_session
        state.save(path)
        self._kept_in = path, (state.session_handle, state.graph_version)

    def _keep_up(self) -> None:
        """Write the file of :meth:`keep` again if the server's graph has grown."""
        assert self._kept_in is not None
        path, noted = self._kept_in
        now = self.runtime.session_handle, self.runtime.graph_version
        if now != noted:
            self._kept_in = path, now
            self.remote_session.save(path)

    @classmethod
    def attach(
        cls, kept: str | RemoteSession, graph: Graph | None = None, config: Any = None
    ) -> Self:
        """Go on with a session that a server has.

        Variables, queues and the graph are as they were. Steps and partial runs in flight, and
        callables, ended with the process that made them.

        Args:
            kept: The file of :meth:`keep`, or what :attr:`remote_session` was.
            graph: The graph, built as before; one without nodes gets those of the server. The
                default graph if None.
            config: A ``ConfigProto``, for time-outs; the server has its own for this session.

        Raises:
            ValueError: The file is malformed, or the graph differs from that of the server.
            FileNotFoundError: There is no file.
        """
        from tfnb.client.session.remote_session import RemoteSession, operations_of

        state = kept if isinstance(kept, RemoteSession) else RemoteSession.load(kept)
        if not state.target:
            raise ValueError("A session without a target cannot be attached to.")
        session = cls(state.target, graph, config)
        operations = operations_of(state, session.graph)
        session.runtime.attach(state.session_handle, state.graph_version)
        session._sent_graph.assume_sent(operations)
        if isinstance(kept, str):
            session._kept_in = kept, (state.session_handle, state.graph_version)
        return session

    def detach(self) -> None:
        """Close this object and leave the session on its server open, for :meth:`attach`.

        Raises:
            ValueError: The session runs in this process.
        """
        if not self.runtime.is_on_server:
            raise ValueError("A session of this process ends with it; close it.")
        self.is_closed = True
        self.plans = {}
        self.runtime.detach()

    # -- properties --------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph this session runs."""
        return self._graph

    @property
    def graph_def(self) -> GraphDef:
        """The graph as a message, with shapes if ``graph_options.infer_shapes`` is set."""
        return self._graph.as_graph_def(add_shapes=self._add_shapes)

    @property
    def sess_str(self) -> str:
        """The target this session is connected to."""
        return self._target

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the devices this session can place ops on."""
        return [
            DeviceAttributes(d.name, d.device_type, d.memory_limit, d.incarnation)
            for d in self.runtime.list_devices()
        ]

    # -- running -----------------------------------------------------------------------------------

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run one step: compute ``fetches``, and return their values in the same structure.

        Args:
            fetches: A tensor, an operation, a name of one, or a nest of lists, tuples, dicts,
                dataclasses of these. The value of an operation is None.
            feed_dict: Values to use in place of tensors, placeholders or any others.
            options: Time limit, tracing, thread pool of this step.
            run_metadata: Overwritten with the records that ``options`` request.

        Raises:
            RuntimeError: The session is closed, or its graph is empty.
            TypeError: A fetch or a key of ``feed_dict`` has a type that is not supported.
            ValueError: A fetch or feed is not in this session's graph, or the value of a feed has
                the wrong shape.
            OpError: An op failed; it is the error's ``op``.
        """
        key = fetches if fetches.__class__ in LEAF_TYPES else structure_key(fetches)
        values: Iterable[Any] = ()
        if feed_dict:
            try:
                plan = self.plans.get((key, *feed_dict))
                values = feed_dict.values()
            except (TypeError, AttributeError):  # not a dictionary; _plan_for raises the error
                plan = None
        else:
            plan = self.plans.get(key)
        if plan is None or plan.num_marks != self._graph.num_access_marks:
            plan, values = self._plan_for(fetches, feed_dict or {})
        if options is None and run_metadata is None:
            return plan.run(values)
        return self.run_with_options(plan, values, options, run_metadata)

    def emitted_sources(self) -> list[str]:
        """Return the emitted Python functions that the session's graphs run as.

        A graph becomes a function when it runs for the second time, a graph with loops at once; a
        graph that is observed or has waiting nodes runs node by node and has no function.
        """
        found: list[str] = self.runtime.emitted_sources()
        return found

    def optimization_reports(self, fetches: Any, feeds: Iterable[Any] = ()) -> OptimizationReports:
        """Return the optimizations in the graph of a run, which is prepared here but not run.

        Printed, it is plain text: a line for each pass, below it a line for each change::

            print(session.optimization_reports(loss, [x, y]))

        ``tf.ConfigProto().graph_options`` selects the passes: ``optimizer_options`` and
        ``rewrite_options``.

        Args:
            fetches: As for ``run``.
            feeds: The tensors fed in the run, or their names.

        Returns:
            The reports, in the order the passes ran; those that changed nothing are left out.

        Raises:
            OpError, RuntimeError, TypeError, ValueError: As in ``run``.
        """
        fed = [self._graph.as_graph_element(one, allow_operation=False) for one in feeds]
        plan, _ = self._plan_for(fetches, dict.fromkeys(fed, None))
        prepared = plan.executors
        return OptimizationReports() if prepared is None else prepared.executors.reports

    def optimization_stages(self, fetches: Any, feeds: Iterable[Any] = ()) -> list[PassStage]:
        """Return the graph of a run before and after each pass that changed it, without running.

        Args:
            fetches: As for ``run``.
            feeds: The tensors fed in the run, or their names.

        Raises:
            OpError, RuntimeError, TypeError, ValueError: As in ``run``.
        """
        fed = [self._graph.as_graph_element(one, allow_operation=False) for one in feeds]
        plan, _ = self._plan_for(fetches, dict.fromkeys(fed, None))
        prepared = plan.executors
        if prepared is None:
            return []
        names = prepared.fetches, prepared.feeds, prepared.targets
        found: list[PassStage] = self.runtime.optimization_stages(*names)
        return found

    def run_with_options(
        self,
        plan: CallPlan,
        values: Iterable[Any],
        options: RunOptions | None,
        run_metadata: RunMetadata | None,
    ) -> Any:
        """Run a plan with the options of one run; internal to tfnb."""
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(
                f'Argument `options` must be a tf.RunOptions, but got "{type(options).__name__}"'
            )
        if run_metadata is None:
            return plan.run(values, options)
        if not isinstance(run_metadata, RunMetadata):
            raise TypeError(
                "Argument `run_metadata` must be a tf.RunMetadata, but got "
                f'"{type(run_metadata).__name__}"'
            )
        recorded = RunMetadata()
        # Without ``options``, the metadata hold only the session's own record: its cost graph.
        result = plan.run(values, RunOptions() if options is None else options, recorded)
        run_metadata.CopyFrom(recorded)
        return result

    def _plan_for(
        self, fetches: Any, feed_dict: Mapping[Any, Any]
    ) -> tuple[CallPlan, Iterable[Any]]:
        """Check a new run; return its plan and the values to feed, in order."""
        self.check_runnable("run")
        feeds = expand_feed_dict(self._graph, feed_dict)
        mapper = FetchMapper(self._graph, fetches)
        with without_collector(self._graph.version):
            self.extend_graph([*mapper.slots, *feeds])
            plan = CallPlan(self, mapper, feeds)
        key = structure_key(fetches) if mapper.is_repeatable else None
        # Keys that stand for several tensors are expanded in every run; plans are kept for plain
        # keys only.
        if key is not None and len(feeds) == len(feed_dict) and _are_plain_keys(feed_dict):
            self.plans[(key, *feed_dict) if feed_dict else key] = plan
        return plan, list(feeds.values())

    def check_runnable(self, method: str) -> None:
        """Refuse to run in a closed session or an empty graph; internal to tfnb."""
        if self.is_closed:
            raise RuntimeError(
                f"Attempted to use a closed Session. {method}() needs an open one: make a new "
                "tf.Session(), its variables start uninitialized."
            )
        if self._graph.version == 0:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling "
                f"{method}()."
            )

    def extend_graph(self, needed: Sequence[Operation | Tensor] | None = None) -> None:
        """Send the ops that the runtime does not have yet, all or those that a run needs.

        The cost is proportional to their number; internal to tfnb.
        """
        if self._sent_graph.send(needed):
            self.plans = {}
        if self._kept_in is not None:
            self._keep_up()

    _extend_graph = extend_graph  # TensorFlow's name

    @property
    def _session(self) -> Any:
        """The runtime's session, by TensorFlow's name."""
        return self.runtime

    @property
    def _closed(self) -> bool:
        """Whether it is closed, by TensorFlow's name."""
        return self.is_closed

    def make_callable(
        self,
        fetches: Any,
        feed_list: Sequence[Any] | None = None,
        accept_options: bool = False,
    ) -> Callable[..., Any]:
        """Return a function that runs ``fetches`` and takes values of ``feed_list`` as arguments.

        Args:
            fetches: As for ``run``.
            feed_list: The tensors that the arguments are fed to, in order.
            accept_options: Whether the function also takes ``options`` and ``run_metadata``.

        Raises:
            TypeError: ``feed_list`` is not a list or tuple, or as in ``run``.
        """
        ensure_imported("tfnb.client.session.callable")
        from tfnb.client.session.callable import make_callable

        return make_callable(self, fetches, feed_list, accept_options)

    def _make_callable_from_options(self, callable_options: Any) -> CallableFromOptions:
        """Return a function for a ``CallableOptions`` message: a value per feed, a list out."""
        ensure_imported("tfnb.client.session.callable")
        from tfnb.client.session.callable import CallableFromOptions

        self.check_runnable("make_callable")
        return CallableFromOptions(self, callable_options)

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Begin a step that is fed and fetched in several calls; return its handle.

        Args:
            fetches: All fetches of the calls together, and operations to run.
            feeds: All feeds of the calls together.

        Raises:
            RuntimeError: The session is closed, or its graph is empty.
            InvalidArgumentError: There is nothing to fetch or run.
        """
        ensure_imported("tfnb.client.session.partial_run")
        from tfnb.client.session import partial_run

        return partial_run.setup(self, fetches, feeds)

    def partial_run(
        self, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None = None
    ) -> Any:
        """Continue a step begun by ``partial_run_setup``: feed and fetch a part.

        Raises:
            RuntimeError: The session is closed, or ``fetches`` names an operation.
            InvalidArgumentError: A feed or fetch is not declared, given twice, or cannot be
                computed yet.
        """
        ensure_imported("tfnb.client.session.partial_run")
        from tfnb.client.session import partial_run

        return partial_run.run(self, handle, fetches, feed_dict)

    def partial_runs(self) -> list[PartialRunState]:
        """Return the state of each partial run in flight: its feeds, and which fetches are ready.

        It changes nothing, and may be called in another thread.
        """
        found: list[PartialRunState] = self.runtime.partial_run_states()
        return found

    def waiting(self) -> str:
        """Return the reasons why steps in flight wait, as text; for a call from another thread.

        Names the waiting nodes, what they wait for, and where they were made. No step is changed
        or slowed down.
        """
        found = self.runtime.waiting()
        return (
            "No step is in flight."
            if found is None
            else session_errors.describe(found, self._graph)
        )

    def running_nodes(self) -> list[RunningNode]:
        """Return the running nodes, one for each step in flight and thread that works for it.

        For a call from another thread while they run, or from a Python function inside a graph.  It
        changes nothing, and costs steps no time.  Steps that wait, or are between two nodes, are
        left out; :meth:`waiting` reports waiting steps.
        """
        nodes: list[RunningNode] = self.runtime.running_nodes()
        return nodes

    # -- default session, end ----------------------------------------------------------------------

    def as_default(self) -> StackController[SessionLike]:
        """Return a context in which this is the default session; leaving does not close it."""
        return default_session.default_session(self)

    def close(self) -> None:
        """Cancel running steps and free the session's state; repeated calls do nothing."""
        # The runtime's session detects by itself whether an earlier call was completed.
        self.is_closed = True
        # With an empty table, every run goes to the check, which refuses it.
        self.plans = {}
        self.runtime.close()
        kept, self._kept_in = self._kept_in, None
        if kept is not None:
            with suppress(FileNotFoundError):
                os.unlink(kept[0])

    def __copy__(self) -> Self:
        """Return another object for this session, which closes with the last one."""
        copied = object.__new__(type(self))
        copied.__dict__ = self.__dict__
        self._num_objects += 1
        return copied

    # Bound here, because names of modules are cleared while the interpreter exits.
    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        self._num_objects -= 1
        # Errors while the interpreter exits, or of a half-built session, do not help the user.
        if self._num_objects <= 0 and not getattr(self, "is_closed", True):
            try:
                if self._kept_in is None:
                    self.close()
                else:
                    self.detach()
            except Exception as error:
                if not is_exiting():
                    warnings.warn(f"Closing a forgotten session failed: {error}", stacklevel=1)


class Session(BaseSession):
    """A class for running graphs.

    >>> import tfnb as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     int(sess.run(tf.constant(3) * tf.constant(4)))
    12
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._default_contexts: tuple[StackController[Any], StackController[Any]] | None = None

    def __enter__(self) -> Self:
        """Make this the default session and its graph the default graph."""
        if self._default_contexts is not None:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you "
                "want to enter a session multiple times."
            )
        graph_context, session_context = self.graph.as_default(), self.as_default()
        self._default_contexts = graph_context, session_context
        graph_context.__enter__()
        session_context.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave both defaults and close the session."""
        assert self._default_contexts is not None
        graph_context, session_context = self._default_contexts
        self._default_contexts = None
        try:
            session_context.__exit__(None, None, None)
            graph_context.__exit__(None, None, None)
        finally:
            self.close()

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: Any = None) -> None:
        """Drop the resources in some containers of a target, and close its sessions.

        Args:
            target: The engine; empty for this process.
            containers: Their names; the default container if none is given.
            config: A ``ConfigProto``.
        """
        options = session_factory.SessionOptions(_checked_target(target), _checked_config(config))
        session_factory.reset(options, list(containers or ()))


class InteractiveSession(BaseSession):
    """A session that becomes the default session when it is made, for use in a notebook.

    >>> import tfnb as tf
    >>> sess = tf.InteractiveSession(graph=tf.Graph())
    >>> int(tf.constant(2).eval())
    2
    >>> sess.close()
    """

    _lock = threading.Lock()
    _open: list[InteractiveSession] = []  # noqa: RUF012 - guarded by _lock, shared on purpose

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        own_config = ConfigProto()
        own_config.CopyFrom(_checked_config(config))
        if config is None:
            own_config.gpu_options.allow_growth = True
        # A cell that runs twice leaves old ops: an error in one of them must not prevent other
        # runs.
        own_config.graph_options.place_pruned_graph = True
        super().__init__(target, graph, own_config)
        self._opened_at = traceback_of_user.creation_site(traceback_of_user.capture())
        with InteractiveSession._lock:
            others = list(InteractiveSession._open)
            InteractiveSession._open.append(self)
        if others:
            warnings.warn(_already_active(others), stacklevel=2)
        self._contexts: list[StackController[Any]] = [self.as_default()]
        if graph is not None:
            self._contexts.append(graph.as_default())
        for context in self._contexts:
            # Cells run in any order, so the sessions of a notebook need not nest.
            context.enforce_nesting = False
            context.__enter__()

    def close(self) -> None:
        """Close the session; it is no longer the default session."""
        super().close()
        with InteractiveSession._lock:
            if self not in InteractiveSession._open:
                return
            InteractiveSession._open.remove(self)
        for context in reversed(self._contexts):
            context.__exit__(None, None, None)


def _already_active(others: list[InteractiveSession]) -> str:
    opened = [
        f"opened in {session._opened_at}" if session._opened_at is not None else "opened elsewhere"
        for session in others
    ]
    listed = opened[0] if len(opened) == 1 else f"{len(opened)} of them: {'; '.join(opened)}"
    return (
        f"An interactive session is already active ({listed}). It keeps its memory and its "
        "variables; the new session has none of them and is the default from now on. Call "
        "close() on the old session to free what it holds: tf.get_default_session().close(), "
        "before opening another."
    )


def _are_plain_keys(feed_dict: Mapping[Any, Any]) -> bool:
    return all(structure_key(key) is not None and not isinstance(key, tuple) for key in feed_dict)


def _checked_target(target: Any) -> str:
    if isinstance(target, str):
        return target
    if isinstance(target, bytes):
        return target.decode()
    if target is None:
        return ""
    hint = (
        ' Did you do "Session(config)" instead of "Session(config=config)"?'
        if isinstance(target, ConfigProto)
        else ""
    )
    raise TypeError(f'Argument `target` must be a string, but got "{type(target).__name__}".{hint}')


def _checked_config(config: Any) -> ConfigProto:
    if config is None:
        from tfnb.client.session.process_config import process_config

        return process_config()
    if not isinstance(config, ConfigProto):
        raise TypeError(
            f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"'
        )
    return config
