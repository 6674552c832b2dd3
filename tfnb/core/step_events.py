"""The events by which observers and debuggers watch the runtime.

A :class:`StepObserver` overrides the hooks it needs.  Once per step the runtime collects the hooks
that any observer overrides and keeps ``None`` for the others, so that an unobserved step costs one
comparison and nothing more.  Hooks carry integers; names are sent once per signature, in
``PartitionedGraph``.  Hooks run on the executor's threads: they may append to a bounded deque and
nothing else.  An observer that raises is removed and logged; it never fails the step.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from tfnb.core.process.log import log
from tfnb.core.process.records import field, record
from tfnb.core.process.weak_registry import WeakRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class PlacementView(NamedTuple):
    """The device of one node, and the reason for it."""

    node: str
    op: str
    requested: str
    allowed: tuple[str, ...]
    chosen: str
    why: str


@record(slots=True, frozen=True)
class PlacedGraph:
    """A signature's graph after placement, and descriptions of the changes by passes.

    The runtime makes the descriptions when they are read.
    """

    signature_id: int
    placements: Sequence[PlacementView]
    passes: Sequence[str] = ()


@record(slots=True, frozen=True)
class PartitionView:
    """One device's share of a signature; node ids index ``node_names``."""

    index: int
    device: str
    node_names: tuple[str, ...]
    node_ops: tuple[str, ...]
    edges: tuple[tuple[int, int, bool], ...] = ()  # (source id, destination id, is control)
    send_recv: tuple[tuple[int, str], ...] = ()  # (node id, rendezvous edge name)
    frame_names: tuple[str, ...] = ()


@record(slots=True, frozen=True)
class PartitionedGraph:
    """A signature's or a function's graph, one view per device; ``function`` is its name."""

    signature_id: int
    partitions: tuple[PartitionView, ...]
    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    function: str = ""


class StepObserver:
    """Hooks that do nothing; override the ones you need.

    A class whose hooks cannot raise sets ``never_raises``: if it is the only listener, the executor
    calls its hooks directly.

    A class that sets ``takes_counts`` gets events of nodes, iterations and frames only for a step
    that runs node by node anyway; for other steps :meth:`step_counted` gives it the run counts of
    nodes, and the step runs nearly as fast as an unobserved one.

    A class that sets ``takes_journals`` observes a step that ran as an emitted function in
    :meth:`journal_began` and :meth:`journal_ended`: in place of node events it gets the
    function's journal, from which ``lowering/replay.py`` makes the same events later.  This
    step takes two to three times as long as an unobserved one.  With ``times_each_line``
    the clock is read after each line, otherwise at kernel calls and once per iteration.
    A step that cannot run as an emitted function sends the events of its nodes.

    A call of a function is a step inside the step, with its own id and graph.  Only a
    class that overrides ``call_started`` gets events of inside, under the call's id.

    ``t_ns`` is ``time.perf_counter_ns()``.  ``node_id`` and ``frame_id`` are those of the
    partition; the root frame is 0.
    """

    never_raises: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = False
    takes_journals: ClassVar[bool] = False
    times_each_line: ClassVar[bool] = False

    def graph_placed(self, placed: PlacedGraph) -> None:
        """Receive a new signature, whose nodes have devices."""

    def graph_partitioned(self, partitioned: PartitionedGraph) -> None:
        """Receive a new signature that has executors; sent again to later observers."""

    def function_instantiated(self, partitioned: PartitionedGraph) -> None:
        """Receive a function that has executors; sent again to later observers."""

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Receive the start of a step."""

    def call_started(
        self,
        call_id: int,
        signature_id: int,
        step_id: int,
        partition: int,
        node_id: int,
        t_ns: int,
    ) -> None:
        """Receive a node's function call; ``signature_id`` is the function's."""

    def call_done(self, call_id: int, t_ns: int) -> None:
        """Receive the end of a call."""

    def node_started(
        self, step_id: int, partition: int, node_id: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Receive the start of a node, whose kernel is about to run."""

    def node_done(
        self,
        step_id: int,
        partition: int,
        node_id: int,
        frame_id: int,
        iteration: int,
        t_ns: int,
        is_dead: bool,
    ) -> None:
        """Receive the end of a node, which has finished, or was dead and did not run."""

    def frame_entered(
        self,
        step_id: int,
        partition: int,
        frame_id: int,
        parent_frame_id: int,
        parent_iteration: int,
        name_index: int,
        t_ns: int,
    ) -> None:
        """Receive the start of a loop; ``name_index`` is into ``PartitionView.frame_names``."""

    def iteration_started(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Receive the start of an iteration of a frame."""

    def iteration_done(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Receive the end of an iteration: all of it has run and its state is deleted."""

    def frame_done(self, step_id: int, partition: int, frame_id: int, t_ns: int) -> None:
        """Receive the end of a frame's last iteration."""

    def frame_dead(self, step_id: int, partition: int, frame_id: int) -> None:
        """Receive the end of a frame that was entered dead: all inputs were dead, no iteration ran.

        In nested loops, the inner loop's frame in the last iteration of the outer loop ends in this
        way.
        """

    def tensors_made(
        self, step_id: int, partition: int, node_id: int, outputs: Sequence[Any]
    ) -> None:
        """Receive the outputs of a live node; called just before ``node_done``.

        The values are the runtime's own: an observer may read them and must not keep them.
        """

    def kernel_ran(
        self,
        step_id: int,
        partition: int,
        node_id: int,
        frame_id: int,
        iteration: int,
        thread: str,
        begin_ns: int,
        end_ns: int,
    ) -> None:
        """Receive the run of a node's kernel by a thread of a pool; that thread calls this."""

    def tensor_sent(
        self, step_id: int, partition: int, node_id: int, num_bytes: int, t_ns: int
    ) -> None:
        """Receive a Send, which has put its tensor into the rendezvous."""

    def tensor_received(
        self, step_id: int, partition: int, node_id: int, num_bytes: int, t_ns: int
    ) -> None:
        """Receive a Recv, which has got its tensor."""

    def step_counted(self, step_id: int, counts: Any) -> None:
        """Receive the run counts of a step without node events, just before :meth:`step_done`.

        ``counts`` has ``nodes()``, ``loops()``, ``total``, ``sent_bytes`` and ``running``
        (``lowering/counts.py``).
        """

    def journal_began(self, step_id: int, journal: Any) -> None:
        """Receive the start of a step, or call, that runs as a function that writes a journal.

        ``journal.entries`` (``lowering/journal.py``) is the list it appends to; observers
        of tensors may append notes.  It sends no events of nodes, iterations or frames.
        """

    def journal_ended(self, step_id: int, journal: Any) -> None:
        """Receive the end or failure of that function; the journal does not change afterwards."""

    def step_done(self, step_id: int, t_ns: int, error: str | None) -> None:
        """Receive the end of a step; ``error`` is the message of the error it failed with."""


class Near(NamedTuple):
    """The places where a debugger may stop a partition that runs as an emitted function.

    Attributes:
      iterations: the first iteration of a frame, by the frame's number, that it wants to see.
      before: the ids of nodes to stop before.
      checks: by the ids of nodes, functions that decide from an output whether to leave the
        function there.
      of_dead: those nodes of ``checks`` that are also checked, without a value, when they are dead;
        their checks get all outputs at once.
    """

    iterations: Mapping[int, int]
    before: tuple[int, ...]
    checks: Mapping[int, Callable[..., bool]]
    of_dead: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.iterations or self.before or self.checks)


NOT_NEAR = Near({}, (), {})


class RunsThrough(NamedTuple):
    """How a debugger lets a partition run as an emitted function.

    Attributes:
      keeps: the names of the tensors whose values are wanted.
      near: where the function is left, for the reference executor to go on node by node: there, and
        where ``RunState.stop`` is a ``Leave``; None: nowhere.
    """

    keeps: tuple[str, ...] = ()
    near: Near | None = None


class StepDebugger(Protocol):
    """An object that pauses steps between two nodes, to read and change values.

    An observer only receives events of a step; a debugger controls it.  There is at most one per
    session, and the steps it wants run node by node on the reference executor.  Its methods are
    called by the thread that drives the step, with the runtime's own objects.
    """

    @property
    def most_kept(self) -> int:
        """The number of each tensor's latest values that the debugger keeps."""

    def wants(self, run_state: Any) -> bool:
        """Return whether a step, or a call inside one, must run node by node."""

    def lets_run(self, run_state: Any, immutable: Any) -> RunsThrough | None:
        """Return how a partition may run as an emitted function; None: it must run node by node."""

    def near_now(self, immutable: Any) -> Near | None:
        """Return where to stop first in a partition's next step; None: call ``lets_run``."""

    @property
    def stops_soon(self) -> bool:
        """Whether a step must stop at once; read where its function may be left."""

    def kept(self, run_state: Any, journal: Any) -> None:
        """Receive the journal (``lowering/journal.py``) of an emitted function that ran."""

    def choose(self, executor: Any, ready: Any) -> Any:
        """Choose the node to run next from the ready ones; may block the step."""

    def ran(self, executor: Any, tagged: Any, outputs: Any) -> None:
        """Receive a node that ran, or was dead (``outputs`` is None), after it sent its outputs."""


_OF_NODES = (
    "node_started",
    "node_done",
    "frame_entered",
    "frame_done",
    "frame_dead",
    "iteration_started",
    "iteration_done",
    "tensor_sent",
    "tensor_received",
    "tensors_made",
    "kernel_ran",
)
HOOKS = tuple(
    name for name, value in vars(StepObserver).items() if callable(value) and name[0] != "_"
)


@record(slots=True)
class StepHooks:
    """The hooks that have listeners, each one callable or None; made once per step.

    Attributes:
      hears_nodes: an observer wants node events.
      takes_counts: the observers of nodes accept counts instead.
      takes_journals: the observers of nodes accept journals, or counts, instead.
      times_each_line: an observer wants the time of each journal line.
      inside: the hooks of observers that also listen inside calls; None without these observers.
      debugger: drives the step node by node; None without one.
      only_debugs: the debugger is the only listener.
    """

    graph_placed: Callable[..., None] | None = None
    graph_partitioned: Callable[..., None] | None = None
    function_instantiated: Callable[..., None] | None = None
    step_started: Callable[..., None] | None = None
    call_started: Callable[..., None] | None = None
    call_done: Callable[..., None] | None = None
    node_started: Callable[..., None] | None = None
    node_done: Callable[..., None] | None = None
    frame_entered: Callable[..., None] | None = None
    iteration_started: Callable[..., None] | None = None
    iteration_done: Callable[..., None] | None = None
    frame_done: Callable[..., None] | None = None
    frame_dead: Callable[..., None] | None = None
    tensors_made: Callable[..., None] | None = None
    kernel_ran: Callable[..., None] | None = None
    tensor_sent: Callable[..., None] | None = None
    tensor_received: Callable[..., None] | None = None
    step_counted: Callable[..., None] | None = None
    journal_began: Callable[..., None] | None = None
    journal_ended: Callable[..., None] | None = None
    step_done: Callable[..., None] | None = None
    hears_nodes: bool = False
    takes_counts: bool = False
    takes_journals: bool = False
    times_each_line: bool = False
    inside: StepHooks | None = None
    debugger: StepDebugger | None = None
    only_debugs: bool = False


# The hooks of an unobserved session: always this same object.
IDLE_HOOKS = StepHooks()


@record(slots=True, eq=False, weakref_slot=True)
class StepEvents:
    """A session's observers; thread safe."""

    _observers: tuple[StepObserver, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _history: dict[int, tuple[PlacedGraph | None, PartitionedGraph | None]] = field(
        default_factory=dict
    )  # guarded by _lock
    _functions: dict[int, PartitionedGraph] = field(default_factory=dict)  # guarded by _lock
    hooks: StepHooks = field(default_factory=lambda: IDLE_HOOKS)
    _debugger: StepDebugger | None = None

    @classmethod
    def for_session(cls) -> StepEvents:
        """Return the events of a new session; :func:`watch_sessions` passes them to watchers."""
        events = cls()
        with _sessions_lock:
            _sessions.add(events)
            watchers = list(_session_watchers)
        for watcher in watchers:
            watcher(events)
        return events

    @property
    def observers(self) -> tuple[StepObserver, ...]:
        """The current observers."""
        return self._observers

    def add(self, observer: StepObserver) -> None:
        """Add an observer and send it every existing signature."""
        with self._lock:
            self._observers = (*self._observers, observer)
            self.hooks = self._make_hooks()
            history = list(self._history.values())
            functions = list(self._functions.values())
        for function in functions:
            self._call(observer, "function_instantiated", function)
        for placed, partitioned in history:
            if placed is not None:
                self._call(observer, "graph_placed", placed)
            if partitioned is not None:
                self._call(observer, "graph_partitioned", partitioned)

    def remove(self, observer: StepObserver) -> None:
        """Remove an observer; an unknown one is no error."""
        with self._lock:
            self._observers = tuple(o for o in self._observers if o is not observer)
            self.hooks = self._make_hooks()

    @property
    def debugger(self) -> StepDebugger | None:
        """The debugger that drives the session's steps node by node, or None."""
        return self._debugger

    def set_debugger(self, debugger: StepDebugger | None) -> None:
        """Let a debugger, or none, drive the steps that begin from now on."""
        with self._lock:
            self._debugger = debugger
            self.hooks = self._make_hooks()

    def placed(self, placed: PlacedGraph) -> None:
        """Store a placed signature and send it to the observers."""
        with self._lock:
            self._history[placed.signature_id] = (placed, None)
            hook = self.hooks.graph_placed
        if hook is not None:
            hook(placed)

    def partitioned(self, partitioned: PartitionedGraph) -> None:
        """Store a partitioned signature and send it to the observers."""
        with self._lock:
            placed, _ = self._history.get(partitioned.signature_id, (None, None))
            self._history[partitioned.signature_id] = (placed, partitioned)
            hook = self.hooks.graph_partitioned
        if hook is not None:
            hook(partitioned)

    def function_instantiated(self, partitioned: PartitionedGraph) -> None:
        """Store a function that can be called and send it to the observers."""
        with self._lock:
            self._functions[partitioned.signature_id] = partitioned
            hook = self.hooks.function_instantiated
        if hook is not None:
            hook(partitioned)

    def functions(self) -> list[PartitionedGraph]:
        """Return the functions that were instantiated so far, oldest first."""
        with self._lock:
            return list(self._functions.values())

    def signatures(self) -> list[tuple[PlacedGraph | None, PartitionedGraph | None]]:
        """Return the signatures that were built so far, oldest first."""
        with self._lock:
            return list(self._history.values())

    def _call(self, observer: StepObserver, name: str, *args: Any) -> None:
        try:
            getattr(observer, name)(*args)
        except Exception:
            log.exception("The observer %r failed in %s and was removed.", observer, name)
            self.remove(observer)

    def _make_hooks(self) -> StepHooks:
        if not self._observers and self._debugger is None:
            return IDLE_HOOKS
        hooks = self._hooks_of(self._observers)
        inside = [observer for observer in self._observers if _overrides(observer, "call_started")]
        if inside:
            alike = len(inside) == len(self._observers)
            hooks.inside = hooks if alike else self._hooks_of(inside)
            hooks.inside.inside = hooks.inside
        if self._debugger is not None:
            if hooks.inside is None:
                hooks.inside = StepHooks()
                hooks.inside.inside = hooks.inside
            hooks.debugger = hooks.inside.debugger = self._debugger
            hooks.only_debugs = not self._observers
        return hooks

    def _hooks_of(self, observers: Iterable[StepObserver]) -> StepHooks:
        hooks, of_nodes = StepHooks(), list[StepObserver]()
        for name in HOOKS:
            listeners = [observer for observer in observers if _overrides(observer, name)]
            if listeners:
                setattr(hooks, name, self._fan_out(name, listeners))
                if name in _OF_NODES:
                    of_nodes += listeners
        hooks.hears_nodes = bool(of_nodes)
        hooks.takes_counts = all(observer.takes_counts for observer in of_nodes)
        hooks.takes_journals = not hooks.takes_counts and all(
            observer.takes_journals or observer.takes_counts for observer in of_nodes
        )
        hooks.times_each_line = any(observer.times_each_line for observer in of_nodes)
        return hooks

    def _fan_out(self, name: str, listeners: list[StepObserver]) -> Callable[..., None]:
        """Return one callable for all listeners of a hook, which removes those that raise."""
        calls = tuple((observer, getattr(observer, name)) for observer in listeners)
        if len(calls) == 1 and listeners[0].never_raises:
            only: Callable[..., None] = calls[0][1]
            return only

        def tell(*args: Any) -> None:
            nonlocal calls
            for observer, call in calls:
                try:
                    call(*args)
                except Exception:
                    log.exception("The observer %r failed in %s and was removed.", observer, name)
                    calls = tuple(pair for pair in calls if pair[0] is not observer)
                    self.remove(observer)

        return tell


def _overrides(observer: StepObserver, name: str) -> bool:
    return getattr(type(observer), name) is not getattr(StepObserver, name)


_sessions_lock = threading.Lock()
_sessions: WeakRegistry[StepEvents] = WeakRegistry()  # guarded by _sessions_lock
_session_watchers: list[Callable[[StepEvents], None]] = []  # guarded by _sessions_lock


def watch_sessions(watcher: Callable[[StepEvents], None]) -> None:
    """Call ``watcher`` with the events of every existing session, and of each new one at once."""
    with _sessions_lock:
        _session_watchers.append(watcher)
        sessions = list(_sessions)
    for events in sessions:
        watcher(events)


def unwatch_sessions(watcher: Callable[[StepEvents], None]) -> None:
    """Remove a watcher of sessions; observers that it added stay until they are removed."""
    with _sessions_lock:
        if watcher in _session_watchers:
            _session_watchers.remove(watcher)
