"""Finds the node that a step runs now, from outside, so that the step itself pays nothing.

The stack of a thread that drives a step contains the Python functions that run nodes, including
calls of graph functions. An emitted function has one node per line; the reference executor has its
node in a variable. Therefore an observer reads the stack, and a step records nothing. A step that
continues meanwhile may be at a later node when the answer is ready.

These functions register here how to read them (:func:`runs_nodes`, :class:`EmittedSource`); this
module depends on nothing else of the runtime.
"""

from __future__ import annotations

import gc
import itertools
import linecache
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from tfnb.core.process.package_directory import EMITTED, PACKAGE_DIRECTORY
from tfnb.core.process.records import record, replace
from tfnb.core.process.standstill import Finding
from tfnb.core.process.weak_registry import WeakRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import CodeType, FrameType, TracebackType

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.common_runtime.executor.propagator_state import IterationState

type_of_loops = tuple[tuple[str, int], ...]
F = TypeVar("F", bound="Callable[..., Any]")


class CallOnStack(Protocol):
    """A function call that has joined the step of its caller."""

    @property
    def function(self) -> Any:
        """The called function, which has a ``name``."""

    @property
    def caller(self) -> StepOnStack:
        """The step or call that made it."""

    @property
    def ctx(self) -> Any:
        """The context of the calling node, which has a ``node_name``."""


class StepOnStack(Protocol):
    """A step or a function call that a thread drives: a ``RunState``."""

    step_id: int
    depth: int

    @property
    def call(self) -> CallOnStack | None:
        """The call, if it is one that has joined its caller's step."""

    @property
    def waiting(self) -> Mapping[int, tuple[Any, ...]]:
        """The kernels that have not answered; the second entry of each has the node."""


@record(frozen=True, slots=True)
class RunningNode:
    """A node that runs.

    Attributes:
      name: the name of the node.
      op: its type.
      device: its device.
      loops: (frame, iteration) of the loops around it, the outermost first.
      function: the function whose body contains it, "" for the graph itself.
      caller: the node that called that function.
      step_id: the id of the step for observers.
      signature_id: the id of the step's signature for observers; 0 if unknown.
      thread: the ``threading.get_ident()`` of the thread that runs it.
      is_held: whether it has run and the step is held after it.
    """

    name: str
    op: str
    device: str = ""
    loops: type_of_loops = ()
    function: str = ""
    caller: RunningNode | None = None
    step_id: int = 0
    signature_id: int = 0
    thread: int = 0
    is_held: bool = False

    @property
    def outermost(self) -> RunningNode:
        """Return the outermost caller, a node of the graph itself; this node if it has none."""
        found = self
        while found.caller is not None:
            found = found.caller
        return found

    def __str__(self) -> str:
        text = f"'{self.name}' ({self.op})"
        for frame, iteration in reversed(self.loops):
            text += f", in iteration {iteration} of frame '{frame}'"
        return text

    def findings(self, *, with_loops: bool = True) -> list[Finding]:
        """Describe the node after the loops around it, with its callers as the reasons."""
        loops = self.loops if with_loops else ()
        found = [Finding(f"frame '{name}' is in iteration {i:,}", self.name) for name, i in loops]
        text = f"'{self.name}' ({self.op}) {'ran last' if self.is_held else 'runs'}"
        reasons: tuple[Finding, ...] = ()
        if self.function:
            text += f", in function '{self.function}'"
            reasons = () if self.caller is None else (self.caller._as_caller(),)
        return [*found, Finding(text, self.name, reasons)]

    def _as_caller(self) -> Finding:
        text = f"called by {self}"
        if self.function:
            text += f", in function '{self.function}'"
        reasons = () if self.caller is None else (self.caller._as_caller(),)
        return Finding(text, self.name, reasons)


# -- functions that can be read --------------------------------------------------------------------


class _Seen(NamedTuple):
    """The data read from one stack frame."""

    run_state: StepOnStack | None = None
    item: NodeItem | None = None
    loops: type_of_loops = ()
    function: str = ""
    signature_id: int = 0
    waits: bool = False
    is_held: bool = False


class NodeCounts(Protocol):
    """The counts of one step until now."""

    running: int

    @property
    def running_ids(self) -> Sequence[int]:
        """The ids of the nodes that run, as far as they are known."""

    @property
    def total(self) -> int:
        """The number of node runs, dead ones included."""

    @property
    def sent_bytes(self) -> int:
        """The number of bytes sent between devices."""

    @property
    def num_events(self) -> int:
        """The number of events of nodes, iterations and frames in the reference for this step."""

    def nodes(self) -> tuple[Any, Any]:
        """Return how often each node ran alive and dead, by id."""

    def iterations_of(self, frame_name: str) -> int:
        """Return the number of iterations of a frame."""

    def loops(self) -> list[Any]:
        """Return the counts of each loop."""


class EmittedSource(Protocol):
    """An emitted function, with the node of each of its lines."""

    filename: str
    source: str

    def node_at(self, line: int) -> NodeItem | None:
        """Return the node of a line."""

    def loops_around(self, line: int, values: Mapping[str, Any]) -> type_of_loops:
        """Return the loops around a line, with their iterations from the function's variables."""

    def has_loop_at(self, line: int) -> bool:
        """Return whether there is a loop around a line."""

    def counts_at(self, line: int, values: Mapping[str, Any]) -> NodeCounts:
        """Return how often its nodes ran, from a line and the function's variables."""


_readers: dict[CodeType, Callable[[Mapping[str, Any]], _Seen]] = {}
_emitted: WeakRegistry[EmittedSource] = WeakRegistry(lambda name: linecache.cache.pop(name, None))


def register_emitted(function: EmittedSource) -> None:
    """Register an emitted function for reading, as long as it lives."""
    _emitted.add(function, function.filename)


def emitted_source(filename: str) -> EmittedSource | None:
    """Return the emitted function whose code has that file name, or None."""
    return _emitted.get(filename)


def runs_nodes(
    *,
    run_state: str = "",
    item: str = "",
    tagged: str = "",
    executor: str = "",
    iteration: str = "",
) -> Callable[[F], F]:
    """Mark a function that runs nodes; the arguments name its local variables.

    Args:
      run_state: the variable with the step.
      item: the variable with the node.
      tagged: a variable with (node, iteration, ...) instead of ``item``.
      executor: a variable with an object that has the step as ``run_state``.
      iteration: the variable with the node's ``IterationState``.
    """

    def read(values: Mapping[str, Any]) -> _Seen:
        state, node, place = values.get(run_state), values.get(item), values.get(iteration)
        if executor and (owner := values.get(executor)) is not None:
            state = owner.run_state
        if tagged and (token := values.get(tagged)) is not None:
            node, place = token[0], token[1]
        return _Seen(state, node, () if place is None else _loops(place))

    return _mark(read)


def calls_function(*, run_state: str, function: str) -> Callable[[F], F]:
    """Mark a function that runs the body of a graph function; arguments name its variables."""

    def read(values: Mapping[str, Any]) -> _Seen:
        called = values.get(function)
        return _Seen(values.get(run_state), function="" if called is None else called.name)

    return _mark(read)


def waits_for_others(*, run_state: str) -> Callable[[F], F]:
    """Mark a function in which a step waits and runs no node; ``run_state`` names its variable."""

    def read(values: Mapping[str, Any]) -> _Seen:
        return _Seen(values.get(run_state), waits=True)

    return _mark(read)


def holds_step(*, run_state: str) -> Callable[[F], F]:
    """Mark a function that holds a step between two nodes; ``run_state`` names its variable."""

    def read(values: Mapping[str, Any]) -> _Seen:
        return _Seen(values.get(run_state), is_held=True)

    return _mark(read)


def runs_signature(*, executors: str, run_state: str) -> Callable[[F], F]:
    """Mark a function that runs a step of a signature; the arguments name its variables."""

    def read(values: Mapping[str, Any]) -> _Seen:
        found = values.get(executors)
        number = 0 if found is None else found.signature_id
        return _Seen(values.get(run_state), signature_id=number)

    return _mark(read)


def _mark(read: Callable[[Mapping[str, Any]], _Seen]) -> Callable[[F], F]:
    def mark(function: F) -> F:
        _readers[function.__code__] = read
        return function

    return mark


def _loops(iteration: IterationState | None) -> type_of_loops:
    found: list[tuple[str, int]] = []
    place = iteration
    while place is not None and place.frame.parent is not None:
        found.append((place.frame.info.name, place.number))
        place = place.frame.parent_iteration
    return tuple(reversed(found))


# -- reading ---------------------------------------------------------------------------------------


def running_nodes(run_states: Iterable[StepOnStack]) -> list[RunningNode]:
    """Return the innermost node that each thread of these steps runs now.

    Steps without a running node, because they wait or are between two nodes, are left out.
    """
    steps = set(run_states)
    if not steps:
        return []
    found = []
    with _uncollected():
        for thread, frame in sys._current_frames().items():
            found += _nodes_on(_stack(frame), steps, thread)
    found.sort(key=lambda node: node.step_id)
    return found


def counts_of(run_states: Iterable[StepOnStack]) -> dict[int, NodeCounts]:
    """Return step id -> how often its nodes ran, for steps that run emitted functions."""
    steps = set(run_states)
    found = {}
    with _uncollected():
        for outermost in sys._current_frames().values() if steps else ():
            frame: FrameType | None = outermost
            inside: FrameType | None = None
            while frame is not None:
                emitted = _emitted.get(frame.f_code.co_filename)
                if emitted is not None and frame.f_code.co_name == "step":
                    line, values = frame.f_lineno or 0, _variables(frame, inside)
                    if (state := values.get("run_state")) in steps:
                        found[state.step_id] = emitted.counts_at(line, values)
                frame, inside = frame.f_back, frame
    return found


_reading = threading.RLock()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable the garbage collector while frames of other threads are read, one reader at a time.

    Until Python 3.12 it runs inside any allocation.  Finalizers that it calls let other threads
    run: then the frame being read may end under the reader, and a thread that begins or ends
    deadlocks on the list of threads that ``sys._current_frames`` holds.
    """
    if sys.version_info >= (3, 12):
        yield
        return
    with _reading:
        was_enabled = gc.isenabled()
        try:
            gc.disable()
            yield
        finally:
            if was_enabled:
                gc.enable()


def interrupted_node(run_state: StepOnStack, error: BaseException) -> RunningNode | None:
    """Return the node of a step that an exception interrupted; call it where it is caught."""
    traceback = error.__traceback__
    if traceback is None:
        return None
    stack = [*_stack(traceback.tb_frame.f_back), *_entries(traceback)]
    found = _nodes_on(stack, {run_state}, 0)
    return found[-1] if found else None


def _root_of(state: StepOnStack, around: StepOnStack | None) -> StepOnStack:
    """Return the step of a step or call; ``around`` is the step above it on its stack."""
    while state.call is not None:
        state = state.call.caller
    # A call driven by its caller's kernel has no ``call``: its step is found on the stack.
    return around if around is not None and state.depth else state


def _stack(frame: FrameType | None) -> list[tuple[FrameType, int]]:
    """Return the frames of a stack and their lines, the outermost first."""
    found = []
    while frame is not None:
        found.append((frame, frame.f_lineno or 0))
        frame = frame.f_back
    found.reverse()
    return found


def _entries(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


class _Place(NamedTuple):
    """A node on a stack, and the step or call that it runs for."""

    run_state: StepOnStack
    item: NodeItem
    loops: type_of_loops


def _nodes_on(
    stack: Sequence[tuple[FrameType, int]], steps: set[StepOnStack], thread: int
) -> list[RunningNode]:
    """Return the innermost node of each step on one stack."""
    run_state: StepOnStack | None = None
    root: StepOnStack | None = None
    places: dict[StepOnStack, list[_Place]] = {}  # by the step, callers first
    functions: dict[StepOnStack, str] = {}  # by the call
    signature_ids: dict[StepOnStack, int] = {}  # by the step
    held: set[StepOnStack] = set()
    insides = (frame for frame, _ in stack[1:])
    for (frame, line), inside in itertools.zip_longest(stack, insides):
        emitted = _emitted.get(frame.f_code.co_filename)
        if emitted is not None:
            # The emitted function of the step above, or one of its tiles.
            loops: type_of_loops = ()
            if emitted.has_loop_at(line):
                loops = emitted.loops_around(line, _variables(frame, inside))
            seen = _Seen(run_state, emitted.node_at(line), loops)
        elif (read := _readers.get(frame.f_code)) is not None:
            seen = read(_variables(frame, inside))
            run_state = seen.run_state
        else:
            continue
        if seen.run_state is None:
            continue
        root = _root_of(seen.run_state, root)
        if root not in steps:
            continue
        if seen.waits:
            places.pop(root, None)
        if seen.is_held:
            held.add(root)
        if seen.function:
            functions[seen.run_state] = seen.function
        if seen.signature_id:
            signature_ids[root] = seen.signature_id
        if seen.item is not None:
            above = places.setdefault(root, [])
            place = _Place(seen.run_state, seen.item, seen.loops)
            if above and above[-1].run_state is seen.run_state:
                # An inner frame of the same node: one of its tiles, or a kernel being measured.
                place = place._replace(loops=seen.loops or above[-1].loops)
                above.pop()
            above.append(place)
    found = []
    for step, above in places.items():
        node: RunningNode | None = None
        for place in above:
            node = _node(place, functions.get(place.run_state, ""), node)
            node = replace(node, signature_id=signature_ids.get(step, 0), thread=thread)
        assert node is not None
        found.append(replace(node, is_held=step in held))
    return found


def _node(place: _Place, function: str, caller: RunningNode | None) -> RunningNode:
    state, item = place.run_state, place.item
    if state.call is not None:
        function, caller = state.call.function.name, _caller_of_joined(state)
    kernel = item.kernel
    device = "" if kernel is None else kernel.device.name
    return RunningNode(
        item.name, item.op, device, place.loops, function, caller, step_id=state.step_id
    )


def _caller_of_joined(state: StepOnStack) -> RunningNode | None:
    """Return the calling node of an asynchronous call: it waits for the result, on no stack."""
    call = state.call
    assert call is not None
    for _, (item, iteration, _), *_ in list(call.caller.waiting.values()):
        if item.name == call.ctx.node_name:
            return _node(_Place(call.caller, item, _loops(iteration)), "", None)
    return None


def _variables(frame: FrameType, inside: FrameType | None) -> Mapping[str, Any]:
    """Return the local variables of a marked function; ``inside`` is the frame that it called."""
    values = frame.f_locals
    if values.__class__ is not dict:
        return values
    # Before Python 3.13 the frame keeps its f_locals dict, and with it tensors that the step no
    # longer needs.  A tracer or profiler written in Python needs the dict to stay.
    is_ours = inside is None or inside.f_code.co_filename.startswith((PACKAGE_DIRECTORY, EMITTED))
    if frame.f_trace is not None or not is_ours:
        return values
    kept = dict(values)
    values.clear()
    return kept
