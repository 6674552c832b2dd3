"""The differences between two runs: nodes, devices, run counts, and the first value that differs.

    before = tfnb.debugger.record_values(session_a, "loss:0", feed)
    after = tfnb.debugger.record_values(session_b, "loss:0", feed)
    tfnb.debugger.assert_same_run(before, after, rtol=1e-6)

Both runs go node by node on the reference executor, and every value is kept: this is for graphs
whose values fit into memory.  Nodes correspond if their names are equal; executions correspond if
their frames and iterations are equal, too.
"""

from __future__ import annotations

import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core import array_module
from tfnb.core.resource_mgr import RefCell, ResourceHandle

if TYPE_CHECKING:
    from tfnb.client.session.session import BaseSession
    from tfnb.common_runtime.executor.debugged_executor import DebuggedExecutorState
    from tfnb.common_runtime.executor.propagator_state import IterationState, type_of_tagged_node
    from tfnb.common_runtime.executor.run_state import RunState

EXPORTS = {
    "debugger": [
        "RunDifference",
        "RunValues",
        "assert_same_run",
        "compare_runs",
        "record_values",
    ]
}

_MOST_LISTED = 6
# The runtime gives their names new numbers for each signature.
_ENDPOINTS = ("_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv")

_recent: list[weakref.ref[RunValues]] = []  # the last two, oldest first

# The loops around an execution, outermost first: (frame, iteration).
type_of_place = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a node.

    Attributes:
      node: the node's name; ``op`` is its op, ``device`` the device on which it ran.
      place: the loops around it, (frame, iteration), the outermost first.
      outputs: its values; None if it was dead.
      ns: how long it took, in nanoseconds, the debugger's own work included.
    """

    node: str
    op: str
    device: str
    place: type_of_place
    outputs: tuple[Any, ...] | None
    ns: int = 0

    def __str__(self) -> str:
        loops = "".join(f", iteration {number} of '{frame}'" for frame, number in self.place)
        return f"'{self.node}' ({self.op}){loops}"


class RunValues:
    """Every execution of one run, in order.

    Attributes:
      executions: all executions.
      results: the results of the run.
      graph: the graph whose nodes ran.
    """

    def __init__(self, graph: Any = None) -> None:
        self.executions: list[Execution] = []
        self.results: Any = None
        self.graph = graph

    def __repr__(self) -> str:
        return f"<RunValues: {len(self.executions)} executions>"


class _Tape:
    """A debugger that never stops and keeps every value."""

    def __init__(self, values: RunValues) -> None:
        self._values = values
        self._start_ns = 0

    most_kept = 1
    stops_soon = False

    def near_now(self, immutable: Any) -> None:
        """Return None, so that ``lets_run`` is called each time."""

    def lets_run(self, run_state: RunState, immutable: Any) -> None:
        """Return None: all values are needed, node by node."""

    def kept(self, run_state: RunState, journal: Any) -> None:
        """Do nothing: no step runs as an emitted function."""

    def wants(self, run_state: RunState) -> bool:
        """Return True: every step runs node by node."""
        return True

    def choose(self, executor: DebuggedExecutorState, ready: Any) -> Any:
        """Return the first ready node."""
        self._start_ns = time.perf_counter_ns()
        return ready.popleft()

    def ran(
        self, executor: DebuggedExecutorState, tagged: type_of_tagged_node, outputs: Any
    ) -> None:
        """Keep the outputs of a node."""
        ns = time.perf_counter_ns() - self._start_ns
        item, iteration, is_dead = tagged
        self._values.executions.append(
            Execution(
                item.name,
                item.op,
                executor.immutable.device.name,
                _place(executor, iteration),
                None if is_dead or outputs is None else tuple(map(_kept, outputs)),
                ns,
            )
        )


def _place(executor: DebuggedExecutorState, iteration: IterationState) -> type_of_place:
    found: list[tuple[str, int]] = []
    here: IterationState | None = iteration
    while here is not None and here.frame.parent is not None:
        found.append((here.frame.info.name, here.number))
        here = here.frame.parent_iteration
    if executor.function:
        found.append((executor.function, executor.run_state.depth))
    return tuple(reversed(found))


def _kept(value: Any) -> Any:
    """Return the present state of a value; a variable's buffer may change later."""
    if isinstance(value, RefCell):
        return None if value.value is None else np.array(value.value)
    return array_module.to_host(value)


def record_values(session: BaseSession, fetches: Any, feed_dict: Any = None) -> RunValues:
    """Run fetches once, node by node, and keep every value.

    Raises:
      RuntimeError: a debugger is attached to the session.
    """
    events: Any = session.runtime.step_events
    if events.debugger is not None:
        raise RuntimeError("A debugger is attached to this session; detach() it first.")
    values = RunValues(session.graph)
    events.set_debugger(_Tape(values))
    try:
        values.results = session.run(fetches, feed_dict)
    finally:
        events.set_debugger(None)
    _recent[:] = [*_recent[-1:], weakref.ref(values)]
    return values


def recent_runs() -> list[RunValues]:
    """Return the last two recorded runs, oldest first, if they are still referenced."""
    return [values for ref in list(_recent) if (values := ref()) is not None]


class NodeInRuns(NamedTuple):
    """One node in two runs: pairs (first, second); None where it did not run.

    ``ns`` is its total time, ``value`` its first value that differs, "" for none.
    """

    node: str
    op: str
    devices: tuple[str | None, str | None]
    counts: tuple[int, int]
    ns: tuple[int, int]
    value: str

    @property
    def differs(self) -> bool:
        """Whether there are other differences than the time."""
        return bool(
            self.devices[0] != self.devices[1] or self.counts[0] != self.counts[1] or self.value
        )


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The differences between two runs.

    Attributes:
      only_in_first: names of nodes that ran only in the first run; ``only_in_second``: only in the
        second.
      moved: (node, device in the first run, device in the second).
      counts: (node, executions in the first run, in the second), for nodes in both.
      value: the first execution, in the first run's order, whose values differ; "" for none.
      num_values: how many executions have values that differ.
      nodes: every node of either run.
    """

    only_in_first: tuple[str, ...]
    only_in_second: tuple[str, ...]
    moved: tuple[tuple[str, str, str], ...]
    counts: tuple[tuple[str, int, int], ...]
    value: str
    num_values: int
    nodes: tuple[NodeInRuns, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return bool(
            self.only_in_first or self.only_in_second or self.moved or self.counts or self.value
        )

    def __str__(self) -> str:
        if not self:
            return "The runs are the same."
        lines = []
        if self.value:
            lines.append(f"the first other value: {self.value}")
            if self.num_values > 1:
                lines.append(f"other values in {self.num_values:,} executions")
        for names, which in (
            (self.only_in_first, "first"),
            (self.only_in_second, "second"),
        ):
            if names:
                lines.append(f"only in the {which} run: {_listed(names)}")
        for node, first, second in self.moved[:_MOST_LISTED]:
            lines.append(f"'{node}' ran on {first}, then on {second}")
        for node, first_count, second_count in self.counts[:_MOST_LISTED]:
            lines.append(f"'{node}' ran {first_count} times, then {second_count} times")
        return "\n".join(lines)


def compare_runs(
    first: RunValues, second: RunValues, *, rtol: float = 0.0, atol: float = 0.0
) -> RunDifference:
    """Return the differences between two runs.

    Args:
      first: a run.
      second: another run, of the same graph or of another graph with the same names.
      rtol: relative tolerance of numbers; without both tolerances they are compared bit for bit,
        where NaN is equal to NaN.
      atol: absolute tolerance of numbers.
    """
    ours, theirs = _by_node(first), _by_node(second)
    shared = [node for node in ours if node in theirs]
    moved = tuple(
        (node, ours[node][0].device, theirs[node][0].device)
        for node in shared
        if ours[node][0].device != theirs[node][0].device
    )
    counts = tuple(
        (node, _live(ours[node]), _live(theirs[node]))
        for node in shared
        if _live(ours[node]) != _live(theirs[node])
    )
    others = {(one.node, one.place): one for one in second.executions}
    value, num_values = "", 0
    values: dict[str, str] = {}
    for one in first.executions:
        other = others.get((one.node, one.place))
        why = "" if other is None else _why_not_equal(one, other, rtol, atol)
        if why:
            num_values += 1
            value = value or f"{one}: {why}"
            values.setdefault(one.node, why)
    return RunDifference(
        tuple(node for node in ours if node not in theirs),
        tuple(node for node in theirs if node not in ours),
        moved,
        counts,
        value,
        num_values,
        tuple(
            _in_runs(ours.get(node, []), theirs.get(node, []), values.get(node, ""))
            for node in {**ours, **theirs}
        ),
    )


def assert_same_run(
    first: RunValues, second: RunValues, *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Refuse two runs with any difference; see :func:`compare_runs`.

    Raises:
      AssertionError: there is a difference; the error describes it.
    """
    found = compare_runs(first, second, rtol=rtol, atol=atol)
    if found:
        raise AssertionError(str(found))


def _in_runs(first: list[Execution], second: list[Execution], value: str) -> NodeInRuns:
    one = (first or second)[0]
    return NodeInRuns(
        one.node,
        one.op,
        (first[0].device if first else None, second[0].device if second else None),
        (_live(first), _live(second)),
        (sum(each.ns for each in first), sum(each.ns for each in second)),
        value,
    )


def _by_node(values: RunValues) -> dict[str, list[Execution]]:
    found: dict[str, list[Execution]] = {}
    for one in values.executions:
        if one.op not in _ENDPOINTS:
            found.setdefault(one.node, []).append(one)
    return found


def _live(executions: list[Execution]) -> int:
    return sum(one.outputs is not None for one in executions)


def _why_not_equal(one: Execution, other: Execution, rtol: float, atol: float) -> str:
    if (one.outputs is None) != (other.outputs is None):
        dead, live = ("first", "second") if one.outputs is None else ("second", "first")
        return f"dead in the {dead} run, live in the {live}"
    for number, (ours, theirs) in enumerate(zip(one.outputs or (), other.outputs or ())):
        why = _why_other_value(ours, theirs, rtol, atol)
        if why:
            return f"output {number} {why}"
    return ""


def _why_other_value(ours: Any, theirs: Any, rtol: float, atol: float) -> str:
    if isinstance(ours, ResourceHandle) or not hasattr(ours, "dtype"):
        return ""  # a handle or a list, which differs in each run
    if not hasattr(theirs, "dtype") or ours.dtype != theirs.dtype:
        return f"is {ours.dtype}, then {getattr(theirs, 'dtype', type(theirs).__name__)}"
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape:
        return f"has shape {a.shape}, then {b.shape}"
    is_number = a.dtype.kind in "fciub" or a.dtype.kind == "V"
    if not is_number:
        return "" if a.tolist() == b.tolist() else "differs"
    wide = a.dtype.kind == "V"
    a, b = (a.astype(np.float32), b.astype(np.float32)) if wide else (a, b)
    inexact = a.dtype.kind in "fc"
    if rtol or atol:
        close = np.isclose(a, b, rtol, atol, equal_nan=inexact)
    else:
        close = (a == b) | (np.isnan(a) & np.isnan(b)) if inexact else a == b
    if close.all():
        return ""
    place = np.unravel_index(int(np.argmin(close)), a.shape)
    where = f" at {[int(i) for i in place]}" if place else ""
    count = int(a.size - np.count_nonzero(close))
    return f"is {a[place]!s}, then {b[place]!s}{where} ({count:,} of {a.size:,} differ)"


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_LISTED
    shown = ", ".join(f"'{name}'" for name in names[:_MOST_LISTED])
    return shown + (f" and {more} more" if more > 0 else "")
