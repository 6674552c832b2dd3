"""All ways in which tfnb can run one script, on the runtime itself, without a client.

All give the same values, bit for bit, the same dead fetches, the same error at the same node, the
same states afterwards, and the same number of executions if the graph is the same.
"""

from __future__ import annotations

import copy
import itertools
import random
import re
import sys
from collections import Counter
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import tfnb.common_runtime.session.direct_session_factory
import tfnb.ops.all_ops  # noqa: F401
from tests.random_graphs.case import Case, Node, Step, array_of, value_of
from tfnb.client.debugger.debugger import Debugger
from tfnb.common_runtime.executor.immutable_executor_state import CONTEXT, PURE, PURE_ONE
from tfnb.common_runtime.executor.run_state import Leave
from tfnb.common_runtime.lowering.run.replay import replay
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.common_runtime.lowering.write import source
from tfnb.common_runtime.session.session_factory import SessionOptions, new_session
from tfnb.core import errors
from tfnb.core.step_events import NOT_NEAR, RunsThrough, StepObserver
from tfnb.proto import config_pb2, graph_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import FrameType

    from tfnb.client.debugger.stop import Stop
    from tfnb.common_runtime.session.direct_session import DirectSession

Outcome = dict[str, Any]
# A malformed graph may run or wait for ever: after this time in the reference, it stands still and
# is not compared further.
_STILL_MS = 20_000
# A graph that does not stand still in the reference: only a defect takes so long, on a busy
# machine, too.
_HANG_MS = 600_000


class Counts:
    """Counts live executions by name of the node; this base class counts none."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def attach(self, session: DirectSession) -> None:
        """Prepare to count the executions of a session."""

    def counting(self) -> AbstractContextManager[None]:
        """Return a context in which a step runs."""
        return nullcontext()

    def take(self) -> dict[str, int]:
        """Return the counts since the last call, without nodes that the runtime added."""
        counts, self.counts = self.counts, Counter()
        return {n: c for n, c in sorted(counts.items()) if "/" not in n and n[0] != "_"}


class Executions(Counts, StepObserver):
    """Counts executions as an observer."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[int, list[tuple[str, ...]]] = {}
        self._signature = 0

    def attach(self, session: DirectSession) -> None:
        """Attach the observer."""
        session.step_events.add(self)

    def graph_partitioned(self, partitioned: Any) -> None:
        """Read the names."""
        names = [partition.node_names for partition in partitioned.partitions]
        self._names[partitioned.signature_id] = names

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Reset: a script runs one step at a time."""
        self._signature = signature_id

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
        """Count."""
        if not is_dead:
            self.counts[self._names[self._signature][partition][node_id]] += 1


class Everything(Executions):
    """Counts dead nodes, loops and their last iterations, too.

    Args:
      takes_counts: whether it takes the counts of emitted functions.
    """

    def __init__(self, takes_counts: bool) -> None:
        super().__init__()
        self.takes_counts = takes_counts  # type: ignore[misc]
        self.num_counted = 0
        self._frames: dict[int, list[tuple[str, ...]]] = {}
        self._frame_names: dict[tuple[int, int], str] = {}

    def graph_partitioned(self, partitioned: Any) -> None:
        """Read the names."""
        super().graph_partitioned(partitioned)
        self._frames[partitioned.signature_id] = [one.frame_names for one in partitioned.partitions]

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
        """Count."""
        name = self._frames[self._signature][partition][name_index]
        self._frame_names[partition, frame_id] = name
        self.counts[f"frames {name}"] += 1

    def iteration_started(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Record the iterations of the loops; of a loop that ran often, the largest."""
        name = f"last of {self._frame_names[partition, frame_id]}"
        self.counts[name] = max(self.counts[name], iteration)

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
        """Count."""
        name = self._names[self._signature][partition][node_id]
        self.counts[f"{name} dead" if is_dead else name] += 1

    def tensor_sent(
        self, step_id: int, partition: int, node_id: int, num_bytes: int, t_ns: int
    ) -> None:
        """Add up."""
        self.counts["bytes"] += num_bytes

    def step_counted(self, step_id: int, counts: Any) -> None:
        """Take the counts."""
        self.num_counted += 1
        live, dead = counts.nodes()
        assert counts.total == live.sum() + dead.sum()
        names = [name for one in self._names[self._signature] for name in one]
        for name, ran, was_dead in zip(names, live.tolist(), dead.tolist(), strict=True):
            self.counts[name] += ran
            self.counts[f"{name} dead"] += was_dead
        self.counts["bytes"] += counts.sent_bytes
        for loop in counts.loops():
            partitions = sum(loop.name in one for one in self._frames[self._signature])
            self.counts[f"frames {loop.name}"] = loop.runs * partitions
            # The earlier iterations of a loop that ran often are not counted.
            self.counts[f"last of {loop.name}"] = loop.iteration if loop.runs == 1 else 0

    def take(self) -> dict[str, int]:
        """Return the counts since the last call."""
        counts, self.counts = self.counts, Counter()
        ran_often = [
            name[7:] for name, runs in counts.items() if name[:7] == "frames " and runs > 1
        ]
        for name in ran_often:
            counts[f"last of {name}"] = 0
        return {name: count for name, count in sorted(counts.items()) if count}


class Events(Executions):
    """Records every event of nodes, frames and iterations, without times.

    Args:
      takes_journals: whether it takes the journals of emitted functions.
    """

    def __init__(self, takes_journals: bool) -> None:
        super().__init__()
        self.takes_journals = takes_journals  # type: ignore[misc]
        self.num_journals = 0
        self._frames: dict[int, list[tuple[str, ...]]] = {}
        self._paths: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._open: Counter[Any] = Counter()
        self._now = 0

    def graph_partitioned(self, partitioned: Any) -> None:
        """Read the names."""
        super().graph_partitioned(partitioned)
        self._frames[partitioned.signature_id] = [one.frame_names for one in partitioned.partitions]

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Begin another step."""
        super().step_started(step_id, signature_id, t_ns)
        self._paths, self._now = {}, 0
        self._open.clear()

    def _path(self, partition: int, frame_id: int) -> tuple[Any, ...]:
        return self._paths[partition, frame_id] if frame_id else ()

    def _note(self, t_ns: int, *what: Any) -> None:
        assert t_ns >= self._now
        self._now = t_ns
        self.counts[repr(what)] += 1

    def node_started(  # type: ignore[override]
        self, step_id: int, partition: int, node: int, frame: int, iteration: int, t_ns: int
    ) -> None:
        """Mark the node as started."""
        assert t_ns >= self._now
        self._now = t_ns
        self._open[partition, node, frame, iteration] += 1

    def node_done(  # type: ignore[override]
        self,
        step_id: int,
        partition: int,
        node: int,
        frame: int,
        iteration: int,
        t_ns: int,
        is_dead: bool,
    ) -> None:
        """Record where a node ran, or was dead."""
        assert self._open[partition, node, frame, iteration] == 1
        self._open[partition, node, frame, iteration] = 0
        name = self._names[self._signature][partition][node]
        self._note(t_ns, name, self._path(partition, frame), iteration, is_dead)

    def frame_entered(  # type: ignore[override]
        self,
        step_id: int,
        partition: int,
        frame: int,
        parent: int,
        iteration: int,
        name: int,
        t_ns: int,
    ) -> None:
        """Record a frame, whose path contains that of the surrounding one."""
        found = self._frames[self._signature][partition][name]
        self._paths[partition, frame] = *self._path(partition, parent), (iteration, found)
        self._note(t_ns, "entered", self._path(partition, frame))

    def iteration_started(  # type: ignore[override]
        self, step_id: int, partition: int, frame: int, iteration: int, t_ns: int
    ) -> None:
        """Record."""
        self._note(t_ns, "begins", self._path(partition, frame), iteration)

    def iteration_done(  # type: ignore[override]
        self, step_id: int, partition: int, frame: int, iteration: int, t_ns: int
    ) -> None:
        """Record."""
        if frame:
            self._note(t_ns, "ends", self._path(partition, frame), iteration)

    def frame_done(self, step_id: int, partition: int, frame: int, t_ns: int) -> None:  # type: ignore[override]
        """Record."""
        self._note(t_ns, "done", self._path(partition, frame))

    def frame_dead(self, step_id: int, partition: int, frame: int) -> None:  # type: ignore[override]
        """Record."""
        self._note(self._now, "died", self._path(partition, frame))

    def journal_ended(self, step_id: int, journal: Any) -> None:
        """Replay the journal."""
        self.num_journals += 1
        replay(journal, self, step_id)

    def take(self) -> dict[str, int]:
        """Return the events since the last call."""
        counts, self.counts = self.counts, Counter()
        return dict(sorted(counts.items()))


class Steps(Counts):
    """Counts as a debugger that stops before and behind each node."""

    most_kept = 1
    stops_soon = False

    def attach(self, session: DirectSession) -> None:
        """Drive the session's steps."""
        session.step_events.set_debugger(self)

    def wants(self, run_state: Any) -> bool:
        """Accept all steps."""
        return True

    def near_now(self, immutable: Any) -> None:
        """Return that a stop is near, each time."""

    def lets_run(self, run_state: Any, immutable: Any) -> None:
        """Forbid emitted functions."""

    def choose(self, executor: Any, ready: Any) -> Any:
        """Return the first ready node."""
        return ready.popleft()

    def kept(self, run_state: Any, journal: Any) -> None:
        """Keep nothing."""

    def ran(self, executor: Any, tagged: Any, outputs: Any) -> None:
        """Count."""
        item, _, is_dead = tagged
        if not is_dead:
            self.counts[item.name] += 1


class Leaves(Steps):
    """A debugger that lets a step run as an emitted function, and then node by node.

    Args:
      after: how many checks of the flag for the end pass before the function is left.
    """

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after
        self.num_left = 0

    def lets_run(self, run_state: Any, immutable: Any) -> RunsThrough | None:  # type: ignore[override]
        """Return whether the function has not been left."""
        if run_state.depth:
            return None
        run_state.stop, looks = Leave(), itertools.count()

        def heed_stop() -> None:
            if isinstance(run_state.stop, Leave) and not run_state.may_be_left:
                run_state.stop = None  # there is no such function
                return
            if isinstance(run_state.stop, Leave) and next(looks) >= self.after:
                self.num_left += 1
                raise run_state.stop
            if not isinstance(run_state.stop, Leave):
                raise run_state.stop

        run_state.heed_stop = heed_stop
        return RunsThrough((), NOT_NEAR)

    def take(self) -> dict[str, int]:
        """Return None: nodes that ran in the function were not counted."""
        self.counts.clear()
        return {}


class Traces(Counts):
    """Counts as the trace of a step lists nodes."""

    def run(
        self,
        session: DirectSession,
        feeds: dict[str, Any],
        fetches: list[str],
        targets: list[str],
    ) -> list[Any]:
        """Run a step with a full trace."""
        options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
        metadata = config_pb2.RunMetadata()
        try:
            return session.run(feeds, fetches, targets, options, metadata)
        finally:
            for device in metadata.step_stats.dev_stats:
                self.counts.update(node.node_name for node in device.node_stats)


class Lines(Counts):
    """Counts the lines of emitted functions, for nodes that compute."""

    def __init__(self) -> None:
        super().__init__()
        self._passed: Counter[tuple[str, int]] = Counter()
        self._session: DirectSession | None = None

    def attach(self, session: DirectSession) -> None:
        """Read the places of the functions."""
        self._session = session

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Trace this thread."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        is_step = frame.f_code.co_filename.startswith("<tfnb step")
        return self._line if is_step and frame.f_code.co_name == "step" else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._passed[frame.f_code.co_filename, frame.f_lineno] += 1
        return self._line

    def take(self) -> dict[str, int]:
        """Return the counts, 0 for nodes that did not run."""
        assert self._session is not None
        passed, self._passed = self._passed, Counter()
        counts: dict[str, int] = {}
        for step in self._session.lowered_steps():
            for emitted in step.functions():
                if not any(filename == emitted.filename for filename, _ in passed):
                    continue
                for line, item in enumerate(emitted.items):
                    if item is not None and item.action in (PURE, PURE_ONE, CONTEXT):
                        # A node may have a line that reads a variable, and one that unpacks.
                        times = passed[emitted.filename, line]
                        counts[item.name] = max(counts.get(item.name, 0), times)
        return {n: c for n, c in sorted(counts.items()) if "/" not in n and n[0] != "_"}


def plain_config(limit_ms: int = _HANG_MS) -> config_pb2.ConfigProto:
    """Return a configuration with three CPU devices and no pass over the graph."""
    config = config_pb2.ConfigProto(device_count={"CPU": 3}, operation_timeout_in_ms=limit_ms)
    config.graph_options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def optimized_config() -> config_pb2.ConfigProto:
    """Return a configuration with three CPU devices and every pass."""
    return config_pb2.ConfigProto(device_count={"CPU": 3}, operation_timeout_in_ms=_HANG_MS)


def reference(case: Case) -> list[Outcome]:
    """Run with an observer, without passes: the standard for all ways."""
    return _script(case, plain_config(_STILL_MS), counts=Executions())


def stands_still(outcomes: Sequence[Outcome]) -> bool:
    """Return whether a step of the reference came to no end."""
    return any(one.get("error", ("",))[0] == "DeadlineExceededError" for one in outcomes)


def unwatched(case: Case) -> list[Outcome]:
    """Run without an observer and without passes."""
    return _script(case, plain_config())


def left(case: Case, after: int) -> tuple[list[Outcome], int]:
    """Run as an emitted function that is left somewhere; return how often it was."""
    leaves = Leaves(after)
    with lowering(Lowering.ALWAYS), looking_at_every_node():
        return _script(case, plain_config(), counts=leaves), leaves.num_left


class Stops(Counts):
    """Records stops of a debugger at breakpoints, with values.

    Args:
      breakpoints: arguments of ``Debugger.break_at``.
    """

    def __init__(self, breakpoints: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self._breakpoints = breakpoints

    def attach(self, session: DirectSession) -> None:
        """Set the breakpoints."""
        debugger = Debugger(events=session.step_events, on_stop=self._note)
        for one in self._breakpoints:
            debugger.break_at(**one)
        self._resume = debugger.attach().resume

    def _note(self, stop: Stop) -> None:
        values = [
            (name, None if value is None else _named([name], [value]))
            for name, value in (*stop.inputs, *stop.outputs)
            if value is None or isinstance(value, np.ndarray | np.generic)
        ]
        what = stop.node, stop.loops, stop.phase, stop.is_dead, stop.reason, values
        self.counts[repr(what)] += 1
        self._resume()

    def take(self) -> dict[str, int]:
        """Return the stops since the last call."""
        counts, self.counts = self.counts, Counter()
        return dict(sorted(counts.items()))


def stops(case: Case, when: Lowering, breakpoints: Sequence[dict[str, Any]]) -> list[Outcome]:
    """Return where a debugger stops."""
    limit_ms = _STILL_MS if when is Lowering.NEVER else _HANG_MS
    with lowering(when):
        return _script(case, plain_config(limit_ms), counts=Stops(breakpoints))


@contextmanager
def looking_at_every_node() -> Iterator[None]:
    """Make emitted functions check before every node whether they are to end."""
    before, source.CALLS_PER_CHECK = source.CALLS_PER_CHECK, 0.0  # type: ignore[misc]
    try:
        yield
    finally:
        source.CALLS_PER_CHECK = before  # type: ignore[misc]


def optimized(case: Case) -> list[Outcome]:
    """Run with all passes."""
    return _script(case, optimized_config())


def traced(case: Case) -> list[Outcome]:
    """Run with a full trace of every step."""
    traces = Traces()
    return _script(case, plain_config(), run=traces.run, counts=traces)


def lowered(case: Case) -> list[Outcome]:
    """Run as emitted functions from the first step on, if the graph allows it."""
    with lowering(Lowering.ALWAYS):
        return _script(case, plain_config())


def everything(case: Case, *, on_one: bool = True) -> list[Outcome]:
    """Return all counts of nodes and loops of the reference, on one device."""
    return _script(
        _on_one_device(case) if on_one else case, plain_config(_STILL_MS), counts=Everything(False)
    )


def everything_counted(case: Case, *, on_one: bool = True) -> tuple[list[Outcome], int]:
    """Return the counts of emitted functions, and how many steps they ran."""
    counts = Everything(True)
    with lowering(Lowering.ALWAYS):
        return _script(
            _on_one_device(case) if on_one else case, plain_config(), counts=counts
        ), counts.num_counted


def told(case: Case) -> list[Outcome]:
    """Return every event of the reference, on one device."""
    return _script(_on_one_device(case), plain_config(_STILL_MS), counts=Events(False))


def written_down(case: Case, *, each: bool = False) -> tuple[list[Outcome], int]:
    """Return the events in journals of emitted functions, and how many steps had journals.

    Args:
      case: the script.
      each: whether the time of each line is taken.
    """
    events = Events(True)
    events.times_each_line = each  # type: ignore[misc]
    with lowering(Lowering.ALWAYS):
        return _script(_on_one_device(case), plain_config(), counts=events), events.num_journals


def lowered_line_by_line(case: Case) -> list[Outcome]:
    """Run emitted functions, counting the lines that run."""
    with lowering(Lowering.ALWAYS):
        return _script(case, plain_config(), counts=Lines())


def stepped(case: Case) -> list[Outcome]:
    """Run node by node, driven by a debugger."""
    return _script(case, plain_config(), counts=Steps())


def lowered_on_one_device(case: Case) -> list[Outcome]:
    """Run without device requests: more of the graph is one partition."""
    with lowering(Lowering.ALWAYS):
        return _script(_on_one_device(case), plain_config())


def lowered_with_switches_of_many(case: Case) -> list[Outcome]:
    """Run with conds that select by a number, where one side is one value."""
    rng = random.Random(len(case.nodes))
    nodes: list[Node] = []
    outputs: dict[str, str] = {}
    numbers: dict[str, tuple[int, str]] = {}
    loop_conds = {node.name for node in case.nodes if node.op == "LoopCond"}
    for node in copy.deepcopy(case.nodes):
        pred = node.inputs[1] if node.op == "Switch" and len(node.inputs) > 1 else ""
        if not pred or pred.partition(":")[0] in loop_conds or pred[0] == "^":
            nodes.append(node)
            continue
        if pred not in numbers:
            # A number out of range selects the last output.
            count, factor = rng.choice([(2, 1), (2, -1), (3, 2), (3, 9), (4, -1), (5, 4)])
            index, times, scaled = (f"{node.name}_{part}" for part in ("index", "times", "scaled"))
            numbers[pred] = count, scaled
            attrs = {"SrcT": ["type", "bool"], "DstT": ["type", "int32"]}
            nodes.append(Node(index, "Cast", [pred], attrs, node.device))
            attrs = {"dtype": ["type", "int32"], "value": ["tensor", ["int32", [], [factor]]]}
            nodes.append(Node(times, "Const", [f"^{index}"], attrs, node.device))
            nodes.append(Node(scaled, "Mul", [index, times], {"T": ["type", "int32"]}, node.device))
        count, scaled = numbers[pred]
        node.op = "_SwitchN"
        node.inputs[1] = scaled
        node.attrs["num_outs"] = ["int", count]
        nodes.append(node)
        outputs[f"{node.name}:1"] = f"{node.name}:{count - 1}"
    for node in nodes:
        node.inputs[:] = [outputs.get(name, name) for name in node.inputs]
    # The script uses the earlier names.
    steps = copy.deepcopy(case.steps)
    if any(name in outputs for one in steps for name in (*one.fetches, *one.feeds)):
        return lowered(case)
    with lowering(Lowering.ALWAYS):
        return _script(_with(case, nodes), plain_config())


def lowered_with_predicates_from_variables(case: Case) -> list[Outcome]:
    """Run with variables as constant predicates, which the Switches read."""
    nodes: list[Node] = []
    starts: list[str] = []
    fed = {name.partition(":")[0] for step in case.steps for name in step.feeds}
    for node in case.nodes:
        is_root = node.op == "Const" and not node.inputs and node.name not in fed
        if not is_root or node.attrs["dtype"] != ["type", "bool"]:
            nodes.append(node)
            continue
        shape = node.attrs["value"][1][1]
        attrs = {"dtype": ["type", "bool"], "shape": ["shape", shape]}
        nodes.append(Node(node.name, "VariableV2", [], attrs, node.device))
        value, start = f"{node.name}_value", f"{node.name}_start"
        nodes.append(Node(value, "Const", [], node.attrs, node.device))
        inputs = [node.name, value]
        nodes.append(Node(start, "Assign", inputs, {"T": ["type", "bool"]}, node.device))
        starts.append(start)
    made = _with(case, nodes)
    made.steps = [Step({}, [], starts), *case.steps]
    with lowering(Lowering.ALWAYS):
        return _script(made, plain_config())[1:] if starts else lowered(case)


def never_lowered(case: Case) -> list[Outcome]:
    """Run on the reference executor, without an observer."""
    with lowering(Lowering.NEVER):
        return _script(case, plain_config())


def on_one_device(case: Case) -> list[Outcome]:
    """Run without device requests."""
    return _script(_on_one_device(case), plain_config(), counts=Executions())


def on_several_devices(case: Case) -> list[Outcome]:
    """Run with every node without a handle on a random device."""
    return _script(spread(case), plain_config(), counts=Executions())


def spread(case: Case) -> Case:
    """Return the same nodes, each without a handle on a random device."""
    rng = random.Random(len(case.nodes))
    nodes = [Node(n.name, n.op, n.inputs, n.attrs) for n in case.nodes]
    tied = _tied_nodes(nodes)
    for node in nodes:
        if node.name not in tied:
            node.device = rng.choice(["", "/cpu:0", "/cpu:1", "/cpu:2"])
    return _with(case, nodes)


def with_other_parallel_iterations(case: Case) -> list[Outcome]:
    """Run with other numbers of parallel iterations."""
    nodes = copy.deepcopy(case.nodes)
    frames: dict[str, int] = {}
    rng = random.Random(len(nodes))
    for node in nodes:
        if "parallel_iterations" in node.attrs:
            frame = node.attrs["frame_name"][1]
            number = frames.setdefault(frame, rng.choice([1, 2, 7, 32]))
            node.attrs["parallel_iterations"] = ["int", number]
    return _script(_with(case, nodes), plain_config(), counts=Executions())


def in_pieces(case: Case) -> list[Outcome]:
    """Run every run as a partial run, fed and fetched in random pieces.

    If there are loops, everything is fed first: an iteration ends, and makes room for the next,
    only when every loop variable has arrived.
    """
    has_loops = any(node.op == "Enter" for node in case.nodes)
    return _script(case, plain_config(), run=partial(_run_in_pieces, feed_first=has_loops))


Way: TypeAlias = "Callable[[Case], list[Outcome]]"
WAYS: list[Way] = [
    unwatched,
    optimized,
    traced,
    lowered,
    lowered_line_by_line,
    stepped,
    lowered_on_one_device,
    lowered_with_switches_of_many,
    lowered_with_predicates_from_variables,
    never_lowered,
    on_one_device,
    on_several_devices,
    with_other_parallel_iterations,
    in_pieces,
]
# These ways keep the graph, so that each node runs as often.
REPLACED = (
    on_one_device,
    on_several_devices,
    lowered_on_one_device,
    lowered_with_switches_of_many,
    lowered_with_predicates_from_variables,
)
_NO_PIVOT = "A cross-device loop must have a pivot predicate"
COUNTED = (stepped, traced, on_one_device, on_several_devices, with_other_parallel_iterations)


def disagreements(case: Case, ways: Sequence[Way] = tuple(WAYS)) -> list[str]:
    """Return where the ways give other answers than the reference, one per line."""
    reference_outcomes = reference(case)
    if stands_still(reference_outcomes):
        return []
    lines = []
    for way in ways:
        if case.is_odd and way in (on_several_devices, in_pieces):
            continue  # what is never sent is waited for
        if case.is_odd and way is on_one_device:
            continue  # partitions decide which of a Merge's two live inputs comes first
        got = way(case)
        if case.is_odd and way is lowered_on_one_device:
            wanted = on_one_device(case)
        else:
            wanted = reference_outcomes
        if way in REPLACED and any(_NO_PIVOT in one.get("text", "") for one in (*wanted, *got)):
            continue  # a part of a loop without an end is refused only where it spans devices
        with_counts = way in COUNTED
        for number, (one, other) in enumerate(zip(wanted, got, strict=False)):
            for key in ("error", "dead", "values", *(["counts"] if with_counts else [])):
                if one.get(key) != other.get(key):
                    if key == "error" and _is_another_error(case, number, one, other):
                        break
                    lines.append(
                        f"{way.__name__}, step {number}: {key} {one.get(key)} | {other.get(key)}"
                    )
                    break
            if way is lowered_line_by_line and "counts" in one and "counts" in other:
                for name, times in other["counts"].items():
                    if one["counts"].get(name, 0) != times:
                        lines.append(f"step {number}: '{name}' ran in {times} lines | {one}")
        if len(wanted) != len(got):
            lines.append(f"{way.__name__}: {len(wanted)} steps | {len(got)}: {got[-1:]}")
    return lines


def _is_another_error(case: Case, number: int, one: Outcome, other: Outcome) -> bool:
    """Return whether a step has several errors, of which a way may report another one.

    The other error is one that the reference reports when it runs for a single fetch or target.
    """
    if "error" not in one or "error" not in other:
        return False
    step = case.steps[number]
    parts = [([fetch], []) for fetch in step.fetches] + [([], [name]) for name in step.targets]
    for fetches, targets in parts:
        made = _with(case, case.nodes)
        made.steps = [*case.steps[:number], Step(step.feeds, fetches, targets)]
        if _place_of_error(reference(made)[-1]) == _place_of_error(other):
            return True
    return False


def _place_of_error(outcome: Outcome) -> Any:
    """Return class and node; the name of a fetch contains its index."""
    code, node = outcome.get("error", (None, ""))
    return code, re.sub(r"^(_retval_.*)_\d+$", r"\1", node)


# -- one script ------------------------------------------------------------------------------------


def _script(
    case: Case,
    config: config_pb2.ConfigProto,
    run: Callable[[DirectSession, dict[str, Any], list[str], list[str]], list[Any]] | None = None,
    counts: Counts | None = None,
) -> list[Outcome]:
    executions = counts or Counts()
    session = new_session(SessionOptions("", config))
    executions.attach(session)
    outcomes: list[Outcome] = []
    try:
        session.create(case.fill(graph_pb2.GraphDef()))
    except errors.OpError as error:
        return [_failed(error)]
    try:
        for step in case.steps:
            outcome = _outcome(session, step, run or _plain_run, executions)
            outcomes.append(outcome)
            if "error" in outcome and case.has_state:
                break
    finally:
        session.close()
    return outcomes


def _outcome(
    session: DirectSession,
    step: Step,
    run: Callable[[DirectSession, dict[str, Any], list[str], list[str]], list[Any]],
    executions: Counts,
) -> Outcome:
    feeds = {name: array_of(value) for name, value in step.feeds.items()}
    fetches = [name for name in dict.fromkeys(step.fetches) if name not in feeds]
    if not fetches and not step.targets:
        return {"values": []}
    try:
        with executions.counting():
            values = run(session, feeds, fetches, step.targets)
        outcome: Outcome = {"values": _named(fetches, values), "dead": []}
    except errors.OpError as error:
        if not _is_dead(error):
            executions.take()
            return _failed(error)
        outcome = {"values": [], "dead": []}
        counts = executions.take()
        for name in fetches:
            try:
                outcome["values"] += _named([name], run(session, feeds, [name], []))
            except errors.OpError as alone:
                if not _is_dead(alone):
                    return _failed(alone)
                outcome["dead"].append(name)
        executions.take()
        return outcome | {"counts": counts}
    return outcome | {"counts": executions.take()}


def _is_dead(error: errors.OpError) -> bool:
    return "does not have value" in error.message or "was not valid" in error.message


def _failed(error: errors.OpError) -> Outcome:
    return {"error": (type(error).__name__, error.node_name), "text": error.message}


def _named(names: list[str], values: list[Any]) -> list[Any]:
    found = []
    for name, value in zip(names, values, strict=True):
        dtype, shape, flat = value_of(value)
        # NaN equals NaN, and -0.0 differs from 0.0: bits are compared.
        bits = np.asarray(flat, dtype).tobytes() if dtype != "string" else flat
        found.append((name, dtype, shape, bits))
    return found


def _plain_run(
    session: DirectSession, feeds: dict[str, Any], fetches: list[str], targets: list[str]
) -> list[Any]:
    return session.run(feeds, fetches, targets)


def _run_in_pieces(
    session: DirectSession,
    feeds: dict[str, Any],
    fetches: list[str],
    targets: list[str],
    feed_first: bool,
) -> list[Any]:
    if not fetches:
        return session.run(feeds, fetches, targets)
    handle = session.partial_run_setup(list(feeds), fetches, targets)
    rng = random.Random(len(feeds) + 7 * len(fetches))
    fed, wanted = list(feeds), list(fetches)
    rng.shuffle(fed)
    rng.shuffle(wanted)
    found: dict[str, Any] = {}
    while fed or wanted:
        count = len(fed) if feed_first else rng.randint(0, len(fed))
        piece = {name: feeds[name] for name in fed[:count]}
        # All fetches are requested again until enough was fed.
        for size in (rng.randint(0, len(wanted)), 1, 0):
            asked = wanted[:size]
            if not piece and not asked and fed:
                piece = {fed[0]: feeds[fed[0]]}
            try:
                values = session.partial_run(handle, piece, asked)
            except errors.InvalidArgumentError as error:
                if "can't be computed from the feeds" not in error.message:
                    raise
                rng.shuffle(wanted)
                continue
            found.update(zip(asked, values, strict=True))
            fed = [name for name in fed if name not in piece]
            wanted = [name for name in wanted if name not in asked]
            break
    return [found[name] for name in fetches]


def _tied_nodes(nodes: list[Node]) -> set[str]:
    """Return nodes that make, pass on or use a handle or a reference: they stay together."""
    makers = {"VariableV2", "VarHandleOp", "FIFOQueueV2", "StackV2", "TensorArrayV3"}
    tied = {node.name for node in nodes if node.op in makers}
    handles = set(tied)
    for node in nodes:
        sources = {name.partition(":")[0] for name in node.inputs}
        if sources & handles:
            tied.add(node.name)
            if node.op in ("Enter", "RefEnter"):
                handles.add(node.name)
    return tied


def _on_one_device(case: Case) -> Case:
    return _with(case, [Node(n.name, n.op, n.inputs, n.attrs) for n in case.nodes])


def _with(case: Case, nodes: list[Node]) -> Case:
    return Case(nodes, case.steps, case.has_state, case.is_odd, case.notes)
