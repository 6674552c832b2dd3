"""Recorded steps as Chrome traces, to be opened in chrome://tracing or Perfetto.

``Timeline(run_metadata.step_stats)`` shows the record of a run with ``trace_level=FULL_TRACE``.
Each device becomes a process; its nodes are spread over the smallest number of lanes without
overlap, or over the threads they ran on. Arrows go from a node to the nodes that took its output,
if the timeline labels name inputs; memory becomes a counter per device.

Corresponds to TensorFlow's ``python/client/timeline.py``.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from tfnb.proto.step_stats_pb2 import NodeExecStats, StepStats

Event = dict[str, Any]

_LABEL = re.compile(r"(?P<name>.*?) = (?P<op>[^(\s]+)\((?P<inputs>.*)\)\s*$")


class _Span(NamedTuple):
    """One execution of one node."""

    node: str
    op: str
    inputs: tuple[str, ...]
    process: int
    lane: int
    start_us: float
    end_us: float


class Timeline:
    """The trace of one step."""

    def __init__(self, step_stats: StepStats, graph: Any = None) -> None:
        """Make a timeline.

        Args:
            step_stats: The field ``RunMetadata.step_stats``.
            graph: Not used; TensorFlow has this argument.
        """
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """Return the trace as JSON text.

        Args:
            show_dataflow: Whether to draw arrows between nodes.
            show_memory: Whether to show the bytes allocated by the outputs of nodes.
            op_time: A node's time: ``schedule``: from being ready until its outputs are passed on;
                ``all``: this without the wait; ``gpu``: the kernel alone.

        Raises:
            ValueError: ``op_time`` is none of these.
        """
        if op_time not in _TIMES:
            raise ValueError(f"op_time is one of {', '.join(_TIMES)}, not {op_time!r}")
        events: list[Event] = []
        spans: list[_Span] = []
        for process, device in enumerate(self._step_stats.dev_stats):
            events.append(_named("process", process, 0, device.device))
            events += [
                _named("thread", process, thread, name)
                for thread, name in sorted(device.thread_names.items())
            ]
            spans += _spans(process, device.node_stats, op_time)
        events += [_complete_event(span) for span in spans]
        if show_dataflow:
            events += _arrows(spans)
        if show_memory:
            for process, device in enumerate(self._step_stats.dev_stats):
                events += _memory_events(process, device.node_stats)
        return json.dumps({"traceEvents": events}, indent=4)


def _start_of_schedule(stats: NodeExecStats) -> int:
    return stats.scheduled_micros or stats.all_start_micros


# The name of a kind of time -> (start of a node in microseconds, end).
_TIMES: dict[str, Callable[[NodeExecStats], tuple[float, float]]] = {
    "schedule": lambda s: (
        _start_of_schedule(s),
        _absolute(s, s.all_end_rel_nanos, s.all_end_rel_micros),
    ),
    "all": lambda s: (_absolute(s, 0, 0), _absolute(s, s.all_end_rel_nanos, s.all_end_rel_micros)),
    "gpu": lambda s: (
        _absolute(s, s.op_start_rel_nanos, s.op_start_rel_micros),
        _absolute(s, s.op_end_rel_nanos, s.op_end_rel_micros),
    ),
}


def _absolute(stats: NodeExecStats, rel_nanos: int, rel_micros: int) -> float:
    """Return a moment in microseconds; to the nanosecond if that was recorded."""
    if stats.all_start_nanos:
        return (stats.all_start_nanos + (rel_nanos or rel_micros * 1000)) / 1000
    return float(stats.all_start_micros + rel_micros)


def _spans(process: int, node_stats: Iterable[NodeExecStats], op_time: str) -> Iterator[_Span]:
    """Yield the executions on one device, each in a lane that is free at that time."""
    lane_ends: list[float] = []
    timed = sorted(
        ((*_TIMES[op_time](stats), stats) for stats in node_stats), key=lambda item: item[0]
    )
    for start, end, stats in timed:
        if stats.thread_id:
            lane = stats.thread_id
        else:
            lane = next((i for i, free in enumerate(lane_ends) if free <= start), len(lane_ends))
            lane_ends[lane : lane + 1] = [end]
        name, op, inputs = _parsed_label(stats)
        yield _Span(name, op, inputs, process, lane, start, end)


def _parsed_label(stats: NodeExecStats) -> tuple[str, str, tuple[str, ...]]:
    """Return node, op and inputs of a label like ``y = MatMul(x, w)``.

    A label of another form, for example of a transfer, is taken as the name of an op.
    """
    match = _LABEL.match(stats.timeline_label)
    if match is None:
        return stats.node_name, stats.timeline_label or stats.node_name, ()
    inputs = tuple(i.strip() for i in match["inputs"].split(",") if i.strip())
    return stats.node_name or match["name"], match["op"], inputs


def _named(kind: str, process: int, thread: int, name: str) -> Event:
    event: Event = {"name": f"{kind}_name", "ph": "M", "pid": process, "args": {"name": name}}
    if kind == "thread":
        event["tid"] = thread
    return event


def _complete_event(span: _Span) -> Event:
    arguments = {f"input{i}": name for i, name in enumerate(span.inputs)}
    return {
        "name": span.op,
        "cat": "Op",
        "ph": "X",
        "pid": span.process,
        "tid": span.lane,
        "ts": span.start_us,
        "dur": max(span.end_us - span.start_us, 0),
        "args": {"name": span.node, "op": span.op, **arguments},
    }


def _arrows(spans: list[_Span]) -> Iterator[Event]:
    """Yield arrows from a node's latest ended execution to the nodes that took its outputs."""
    by_node: dict[str, list[_Span]] = {}
    for span in spans:
        by_node.setdefault(span.node, []).append(span)
    number = 0
    for span in spans:
        for name in span.inputs:
            sources = by_node.get(_producer(name, by_node), [])
            ended = [source for source in sources if source.end_us <= span.start_us]
            source = max(ended, key=lambda s: s.end_us, default=None)
            if source is None or (source.process, source.lane) == (span.process, span.lane):
                continue  # within a lane, the order shows it
            for phase, end, at in (("s", source, source.end_us), ("t", span, span.start_us)):
                yield {
                    "name": name,
                    "cat": "DataFlow",
                    "ph": phase,
                    "id": number,
                    "pid": end.process,
                    "tid": end.lane,
                    "ts": at,
                }
            number += 1


def _producer(name: str, nodes: Container[str]) -> str:
    """Return the node that computed an input; from another device, it is named ``node/_12``."""
    node = name.lstrip("^").partition(":")[0]
    if node not in nodes:
        sender, separator, _ = node.rpartition("/_")
        if separator:
            return sender
    return node


def _memory_events(process: int, node_stats: Iterable[NodeExecStats]) -> Iterator[Event]:
    """Yield a counter per allocator: the bytes in use, at each change.

    If a record does not contain the times of allocations, the memory in use after the node is
    taken.
    """
    changes: dict[str, list[tuple[float, int]]] = {}
    totals: dict[str, list[tuple[float, int]]] = {}
    for stats in node_stats:
        for memory in stats.memory:
            name = memory.allocator_name or "allocated"
            if memory.allocation_records:
                changes.setdefault(name, []).extend(
                    (float(record.alloc_micros), record.alloc_bytes)
                    for record in memory.allocation_records
                )
            else:
                after = _absolute(stats, stats.all_end_rel_nanos, stats.all_end_rel_micros)
                in_use = memory.allocator_bytes_in_use or memory.live_bytes
                totals.setdefault(name, []).append((after, in_use))
    for name, found in changes.items():
        # Of allocations and releases at one time, allocations come first, so that no total is below
        # zero.
        found.sort(key=lambda change: (change[0], -change[1]))
        moments = [at for at, _ in found]
        sums = itertools.accumulate(size for _, size in found)
        totals.setdefault(name, []).extend(zip(moments, sums))
    for name, points in totals.items():
        for at, in_use in sorted(points, key=lambda point: point[0]):
            yield {
                "name": name,
                "cat": "Memory",
                "ph": "C",
                "pid": process,
                "tid": 0,
                "ts": at,
                "args": {"bytes": in_use},
            }
