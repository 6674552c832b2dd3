"""What a step does while it runs, as the logs that WorkerService's Logging returns.

TensorFlow's workers log received tensors there, by step.  A worker of tfnb adds one entry for each
node that has run, runs or waits; ``timeline_label``, a free text, says which.  A master of tfnb
answers for a step of its clients, named by the ``request_id`` of RunStep, with the logs of all
tasks.  A client of tfnb reads them; other clients ask for other steps.

Step 0 stands for requests in flight: a CreateSession that waits for tasks is an entry of each task
that has not answered.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.common_runtime.executor.step_progress import NodeStatus, StepProgress, frames_below
from tfnb.common_runtime.executor.waiting import explain_standstill
from tfnb.core.process.standstill import Finding
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.proto import step_stats_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.distributed_runtime.graph_mgr import RegisteredGraph
    from tfnb.distributed_runtime.partition_views import PartitionedStep

RUNNING, WAITING = "running", "waiting"
SILENT = "does not answer"
OPENING = "CreateSession"
_NODE = re.compile(
    r"(?P<runs>\d+) runs, (?P<dead>\d+) dead(?:; (?P<state>running|waiting)(?:: (?P<why>.*))?)?"
)
_FRAME = re.compile(r"frame in iteration (\d+)")
_COPY = re.compile(r"(.+)/_\d+")


class NodeLog(NamedTuple):
    """How often a node ran and was dead, what it does now, and why it waits."""

    runs: int = 0
    dead: int = 0
    state: str = ""
    why: str = ""

    def __str__(self) -> str:
        text = f"{self.runs} runs, {self.dead} dead"
        if self.state:
            text += f"; {self.state}"
        return f"{text}: {self.why}" if self.why else text


# -- the worker ------------------------------------------------------------------------------------


def add_log(
    stats: step_stats_pb2.StepStats, graph: RegisteredGraph, run_state: RunState | None
) -> None:
    """Add what a step of a registered graph has done until now.

    Args:
      stats: what is added to.
      graph: the graph.
      run_state: the step; None: it has not begun.
    """
    nodes: dict[tuple[str, str], NodeLog] = {}
    frames: dict[tuple[str, str], int] = {}
    if run_state is not None:
        # The step may go on meanwhile; then the next look reads it.
        with suppress(RuntimeError, KeyError, IndexError, AttributeError):
            _read_step(graph, run_state, nodes, frames)
    by_device: dict[str, step_stats_pb2.DeviceStepStats] = {}
    for device in graph.device_mgr.devices:
        by_device[device.name] = stats.dev_stats.add(device=device.name)
    now = time.time_ns() // 1000
    for (device_name, name), log in nodes.items():
        if log != NodeLog() and device_name in by_device:
            by_device[device_name].node_stats.add(
                node_name=name, all_start_micros=now, timeline_label=str(log)
            )
    for (device_name, name), iteration in frames.items():
        by_device[device_name].node_stats.add(
            node_name=name, all_start_micros=now, timeline_label=f"frame in iteration {iteration}"
        )


def _read_step(
    graph: RegisteredGraph,
    run_state: RunState,
    nodes: dict[tuple[str, str], NodeLog],
    frames: dict[tuple[str, str], int],
) -> None:
    counts = graph.step_counts().get(run_state.step_id)
    if counts is not None:
        views = next(
            (one.partitions for _, one in reversed(graph.step_events.signatures()) if one), ()
        )
        names = [(view.device, name) for view in views for name in view.node_names]
        for key, live, dead in zip(names, *counts.nodes()):
            nodes[key] = NodeLog(int(live), int(dead))
        for loop in counts.loops():
            frames[views[0].device, loop.name] = loop.iteration
    else:
        _read_executors(run_state, nodes, frames)
    for node in graph.running_nodes():
        if node.step_id == run_state.step_id:
            key = node.outermost.device or node.device, node.outermost.name
            nodes[key] = nodes.get(key, NodeLog())._replace(state=RUNNING)
    found = explain_standstill(run_state)
    whys = {} if found is None else {one.waiter: one for one in found.findings}
    for executor, (item, _, _), *_ in list(run_state.waiting.values()):
        key = executor.immutable.device.name, item.name
        why = whys.get(item.name)
        text = "" if why is None else _one_line(why)
        nodes[key] = nodes.get(key, NodeLog())._replace(state=WAITING, why=text)


def _read_executors(
    run_state: RunState,
    nodes: dict[tuple[str, str], NodeLog],
    frames: dict[tuple[str, str], int],
) -> None:
    progress = StepProgress(run_state.executors)
    for executor in run_state.executors:
        device = executor.immutable.device.name
        alive = {id(frame.info): frame for frame in frames_below(executor.propagator.root)}
        for frame in alive.values():
            if frame.parent is not None:
                frames[device, frame.info.name] = frame.iteration_count
        for item in executor.immutable.items:
            around = alive.get(id(item.frame))
            if around is None:
                continue
            if around.parent is not None:
                nodes[device, item.name] = NodeLog(around.iteration_count)
                continue
            status = progress.status(item, around.iterations[0])
            if status is NodeStatus.DONE:
                nodes[device, item.name] = NodeLog(1)
            elif status is NodeStatus.DEAD:
                nodes[device, item.name] = NodeLog(0, 1)


def _one_line(finding: Finding) -> str:
    reasons = "; ".join(reason.text for reason in finding.reasons)
    text = f"{finding.text}: {reasons}" if reasons else finding.text
    return " ".join(text.split())


def add_silent_task(stats: step_stats_pb2.StepStats, task: str) -> None:
    """Add that a task does not say what it does."""
    device = stats.dev_stats.add(device=f"{task}/device:CPU:0")
    device.node_stats.add(node_name="Logging", timeline_label=SILENT)


def opening_log(missing: Iterable[tuple[str, float]]) -> step_stats_pb2.StepStats:
    """Return the log of sessions that wait for tasks.

    Args:
      missing: each task that has not answered, and for how many seconds.
    """
    stats = step_stats_pb2.StepStats()
    now = time.time_ns() // 1000
    for task, seconds in missing:
        device = stats.dev_stats.add(device=f"{task}/device:CPU:0")
        device.node_stats.add(
            node_name=OPENING,
            all_start_micros=now - int(seconds * 1e6),
            timeline_label=f"still waiting for response from worker: {task} ({seconds:.0f} s)",
        )
    return stats


# -- the client ------------------------------------------------------------------------------------


@dataclass(slots=True)
class RemoteProgress:
    """What a step on a server has done until now.

    Attributes:
      nodes: by device and name.
      frames: the iteration of each loop that runs, by device and name.
      silent: the tasks that did not say what they do.
    """

    nodes: dict[tuple[str, str], NodeLog] = field(default_factory=dict)
    frames: dict[tuple[str, str], int] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, stats: step_stats_pb2.StepStats) -> RemoteProgress:
        """Read the log of a step."""
        found = cls()
        for device in stats.dev_stats:
            for node in device.node_stats:
                label, key = node.timeline_label, (device.device, node.node_name)
                if label == SILENT:
                    found.silent.append(task_of(device.device))
                elif (match := _NODE.fullmatch(label)) is not None:
                    runs, dead, state, why = match.groups()
                    found.nodes[key] = NodeLog(int(runs), int(dead), state or "", why or "")
                elif (match := _FRAME.fullmatch(label)) is not None:
                    found.frames[key] = int(match[1])
        return found

    @property
    def waits(self) -> bool:
        """Whether nodes wait and none runs."""
        states = {log.state for log in self.nodes.values()}
        return WAITING in states and RUNNING not in states

    def waiting_nodes(self) -> list[str]:
        """Return the names of nodes that wait."""
        return [name for (_, name), log in self.nodes.items() if log.state == WAITING]

    def findings(self) -> list[Finding]:
        """Return what each task waits for, or runs; tasks that do not answer come first."""
        found = [Finding(f"{task} {SILENT}") for task in self.silent]
        rows = [(device, name, log) for (device, name), log in self.nodes.items() if log.state]
        # The transfers follow the nodes that they wait for.
        rows.sort(key=lambda row: (" from /job:" in row[2].why, row[2].state == RUNNING))
        for device, name, log in rows:
            text = log.why or f"'{name}' {'runs' if log.state == RUNNING else 'waits'}"
            found.append(Finding(f"{task_of(device)}: {text}", origin_of(name)))
        for (device, name), iteration in self.frames.items():
            where = f"{task_of(device)}: frame '{name}'"
            found.append(Finding(f"{where} is in iteration {iteration:,}"))
        return found


def origin_of(name: str) -> str:
    """Return the user's node of a node that cutting the graph has made.

    >>> origin_of("weights/read/_4")
    'weights/read'
    """
    found = _COPY.fullmatch(name)
    return name if found is None else found[1]


class LoopLog(NamedTuple):
    """A loop of a step on a server; see ``LoopCounts`` of the lowering."""

    name: str
    parent: str
    runs: int
    entered: int
    iteration: int
    is_active: bool


class RemoteCounts:
    """The counts of one step on a server until now, by the node ids of its graphs.

    Attributes:
      running: the id of a node that runs; -1: none.
      running_ids: the ids of all nodes that run, those of the first partition first.
    """

    sent_bytes = 0

    def __init__(
        self, progress: RemoteProgress, step: PartitionedStep, *, is_complete: bool = False
    ) -> None:
        """Take what is known of a step.

        Args:
          progress: what the server said last.
          step: the graphs of its signature.
          is_complete: whether it has ended well: its nodes have run, unless they were dead.
        """
        views = step.views.partitions
        total = sum(len(view.node_names) for view in views)
        self._live, self._dead = np.zeros(total, np.int64), np.zeros(total, np.int64)
        running: list[int] = []
        for number, key in enumerate(_keys(step)):
            log = progress.nodes.get(key)
            if log is not None:
                self._live[number], self._dead[number] = log.runs, log.dead
                if log.state == RUNNING:
                    running.append(number)
        if is_complete:
            running = []
            self._live[(self._live == 0) & (self._dead == 0)] = 1
        self.running_ids: Sequence[int] = running
        self.running = running[0] if running else -1
        self._loops = [
            LoopLog(name, "", 1, 1, iteration, not is_complete)
            for (_, name), iteration in progress.frames.items()
        ]

    @property
    def total(self) -> int:
        """The number of node runs, dead ones included."""
        return int(self._live.sum() + self._dead.sum())

    @property
    def num_events(self) -> int:
        """The number of events of nodes in the reference for this step."""
        return 2 * self.total

    def nodes(self) -> tuple[Any, Any]:
        """Return how often each node ran alive and dead, by id."""
        return self._live, self._dead

    def iterations_of(self, frame_name: str) -> int:
        """Return the number of iterations of a frame."""
        found = [loop.iteration for loop in self._loops if loop.name == frame_name]
        return max(found, default=0 if frame_name else 1)

    def loops(self) -> list[Any]:
        """Return the counts of each loop."""
        return list(self._loops)


def _keys(step: PartitionedStep) -> Iterator[tuple[str, str]]:
    for view in step.views.partitions:
        for name in view.node_names:
            yield view.device, name
