"""RunMetadata of one step: which nodes ran when, and the partition graphs.

``StepStatsCollector`` is an ordinary observer that lives for one step; so what a trace shows comes
through the same door as what the notebook shows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tfnb.core.step_events import StepEvents, StepHooks, StepObserver
from tfnb.graph.graph_constructor import graph_to_graph_def
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from tfnb.common_runtime.executors_and_keys import Executors


class StepStatsCollector(StepObserver):
    """Notes start and end of every node of one step, in nanoseconds of ``perf_counter``."""

    def __init__(self) -> None:
        self._started: dict[tuple[int, int, int, int], int] = {}
        self.records: list[tuple[int, int, int, int]] = []  # (partition, node, start, end)
        # To turn the clock's readings into time since the epoch.
        self.epoch_ns = time.time_ns() - time.perf_counter_ns()

    def node_started(
        self, step_id: int, partition: int, node_id: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """A node's kernel is about to run."""
        self._started[partition, node_id, frame_id, iteration] = t_ns

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
        """A node has finished; dead ones leave no record."""
        start = self._started.pop((partition, node_id, frame_id, iteration), t_ns)
        if not is_dead:
            self.records.append((partition, node_id, start, t_ns))


class RunRecorder:
    """Fills one RunMetadata as RunOptions ask."""

    def __init__(
        self,
        run_options: config_pb2.RunOptions,
        run_metadata: config_pb2.RunMetadata,
        executors: Executors,
        session_metadata: config_pb2.SessionMetadata | None = None,
    ) -> None:
        run_metadata.Clear()
        self._metadata = run_metadata
        if session_metadata is not None:
            run_metadata.session_metadata.CopyFrom(session_metadata)
        self._executors = executors
        self._events = StepEvents()
        self._collector: StepStatsCollector | None = None
        if run_options.trace_level != config_pb2.RunOptions.NO_TRACE:
            self._collector = StepStatsCollector()
        if run_options.output_partition_graphs:
            for item in executors.items:
                run_metadata.partition_graphs.append(graph_to_graph_def(item.graph))

    def hooks(self, hooks: StepHooks) -> StepHooks:
        """The session's hooks and the collector's together."""
        if self._collector is None:
            return hooks
        self._events.add(_Forward(hooks))
        self._events.add(self._collector)
        return self._events.hooks

    def finish(self) -> None:
        """Writes what was collected."""
        collector = self._collector
        if collector is None:
            return
        stats = self._metadata.step_stats
        by_partition: dict[int, Any] = {}
        for partition, node_id, start, end in collector.records:
            device = by_partition.get(partition)
            executor = self._executors.items[partition].executor
            if device is None:
                device = by_partition[partition] = stats.dev_stats.add()
                device.device = executor.device.name
            item = executor.items[node_id]
            if item.is_transfer:
                continue
            record = device.node_stats.add()
            record.node_name = item.name
            first = start + collector.epoch_ns
            record.all_start_micros = first // 1000
            record.all_start_nanos = first
            record.op_start_rel_micros = 0
            record.op_start_rel_nanos = 0
            record.op_end_rel_nanos = record.all_end_rel_nanos = end - start
            record.op_end_rel_micros = record.all_end_rel_micros = (end - start) // 1000
            record.scheduled_micros = first // 1000
            record.scheduled_nanos = first
            record.timeline_label = f"{item.name} = {item.op}()"


def _forwarding(name: str) -> object:
    def forward(self: _Forward, *args: object) -> None:
        hook = getattr(self.hooks, name)
        if hook is not None:
            hook(*args)

    return forward


class _Forward(StepObserver):
    """The session's own listeners, as one observer."""

    def __init__(self, hooks: StepHooks) -> None:
        self.hooks = hooks


for _name in StepHooks.__dataclass_fields__:
    setattr(_Forward, _name, _forwarding(_name))
