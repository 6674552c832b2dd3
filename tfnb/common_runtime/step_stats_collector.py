"""RunMetadata of one step: which nodes ran when, what came out, the partition graphs, the costs.

``StepStatsCollector`` is an ordinary observer that lives for one step, so that what a trace shows
comes through the same door as what the notebook shows.  What hooks do not carry, the tensors'
forms, reaches it through ``RunState.record_outputs``, which is None unless a step is traced or
measured.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import StepEvents, StepHooks, StepObserver
from tfnb.core.tensor_proto import shape_to_proto
from tfnb.core.tensor_shape import TensorShape
from tfnb.graph.graph_constructor import graph_to_graph_def
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.cost_model_manager import CostModelManager
    from tfnb.common_runtime.executors_and_keys import Executors
    from tfnb.common_runtime.immutable_executor_state import NodeItem
    from tfnb.graph.graph import Graph, Node
    from tfnb.proto import step_stats_pb2

type_of_run = tuple[int, int, int, int]  # partition, node, frame, iteration


@dataclass(slots=True, frozen=True)
class OutputRecord:
    """The form of one tensor that came out of a node; ``num_bytes`` is -1 where it has no size."""

    output: int
    shape: tuple[int, ...]
    num_bytes: int
    allocation_id: int


class StepStatsCollector(StepObserver):
    """Start and end of every live node of one step, in nanoseconds of ``perf_counter``."""

    def __init__(self) -> None:
        self._started: dict[type_of_run, int] = {}
        self.records: list[tuple[int, int, int, int, tuple[OutputRecord, ...]]] = []
        self._outputs: dict[tuple[int, int], tuple[OutputRecord, ...]] = {}
        # To turn the clock's readings into time since the epoch.
        self.epoch_ns = time.time_ns() - time.perf_counter_ns()
        self._alive: list[Any] = []  # so that no id is given twice in a step

    def record_outputs(self, partition: int, item: NodeItem, outputs: Sequence[Any]) -> None:
        """Notes the forms of a node's outputs; called just before ``node_done``."""
        self._outputs[partition, item.id] = tuple(
            record
            for position, value in enumerate(outputs)
            if (record := self._form(position, value)) is not None
        )

    def _form(self, position: int, value: Any) -> OutputRecord | None:
        if isinstance(value, RefCell):
            value = value.value
        shape, num_bytes = getattr(value, "shape", None), getattr(value, "nbytes", -1)
        if shape is None:
            return None
        self._alive.append(value)
        return OutputRecord(position, tuple(shape), num_bytes, id(value))

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
        outputs = self._outputs.pop((partition, node_id), ())
        if not is_dead:
            self.records.append((partition, node_id, start, t_ns, outputs))


class RunRecorder:
    """Fills one RunMetadata as RunOptions ask, and the session's cost models where they are due."""

    def __init__(
        self,
        executors: Executors,
        run_options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
        *,
        session_metadata: config_pb2.SessionMetadata | None = None,
        cost_models: CostModelManager | None = None,
    ) -> None:
        self._executors = executors
        self._options = run_options or config_pb2.RunOptions()
        self._metadata = run_metadata
        self._cost_models = cost_models
        traces = run_metadata is not None and (
            self._options.trace_level != config_pb2.RunOptions.NO_TRACE
        )
        self._traces = traces
        self.collector = StepStatsCollector() if traces or cost_models is not None else None
        self._events = StepEvents()
        if run_metadata is None:
            return
        run_metadata.Clear()
        if session_metadata is not None:
            run_metadata.session_metadata.CopyFrom(session_metadata)
        if self._options.output_partition_graphs:
            for item in executors.items:
                run_metadata.partition_graphs.append(graph_to_graph_def(item.graph))

    def hooks(self, hooks: StepHooks) -> StepHooks:
        """The session's hooks and the collector's together."""
        if self.collector is None:
            return hooks
        self._events.add(_Forward(hooks))
        self._events.add(self.collector)
        return self._events.hooks

    def finish(self) -> None:
        """Writes what was collected."""
        collector = self.collector
        if collector is None:
            return
        if self._traces and self._metadata is not None:
            _Trace(self._executors, collector, self._options).write(self._metadata.step_stats)
        if self._cost_models is not None:
            self._measure(collector, self._cost_models)

    def _measure(self, collector: StepStatsCollector, cost_models: CostModelManager) -> None:
        graphs = [item.graph for item in self._executors.items]
        with cost_models.lock:
            for partition, node_id, start, end, outputs in collector.records:
                graph = graphs[partition]
                model = cost_models.find_or_create(graph)
                node = _node(graph, self._executors, partition, node_id)
                model.record_execution(node, max(0, end - start) // 1000)
                for record in outputs:
                    model.record_output(
                        node,
                        record.output,
                        max(0, record.num_bytes),
                        TensorShape(list(record.shape)),
                        node.output_types[record.output].base_dtype,
                        record.allocation_id,
                    )
            for graph in graphs:
                cost_models.find_or_create(graph).update_times += 1
        if self._metadata is not None:
            for graph in graphs:
                cost_models.add_to_cost_graph_def(graph, self._metadata.cost_graph)


def _node(graph: Graph, executors: Executors, partition: int, node_id: int) -> Node:
    node = graph.find_node(executors.items[partition].executor.items[node_id].name)
    assert node is not None
    return node


class _Trace:
    """Turns a collector's records into StepStats."""

    def __init__(
        self,
        executors: Executors,
        collector: StepStatsCollector,
        options: config_pb2.RunOptions,
    ) -> None:
        self._executors = executors
        self._collector = collector
        self._is_full = options.trace_level >= config_pb2.RunOptions.SOFTWARE_TRACE
        self._thread = threading.get_ident() & 0xFFFFFFFF

    def write(self, stats: step_stats_pb2.StepStats) -> None:
        """Writes one dev_stats for each device that ran something."""
        devices: dict[int, step_stats_pb2.DeviceStepStats] = {}
        for partition, node_id, start, end, outputs in self._collector.records:
            item = self._executors.items[partition].executor.items[node_id]
            device = devices.get(partition)
            if device is None:
                device = devices[partition] = stats.dev_stats.add()
                device.device = self._executors.items[partition].executor.device.name
                device.thread_names[self._thread] = threading.current_thread().name
                self._write_times(
                    device.node_stats.add(), "_SOURCE", "_SOURCE = NoOp()", start, start
                )
            if item.is_transfer:
                continue
            record = device.node_stats.add()
            node = _node(
                self._executors.items[partition].graph, self._executors, partition, node_id
            )
            inputs = ", ".join(edge.src.name for edge in node.in_edges if edge.src.is_op)
            self._write_times(record, item.name, f"{item.name} = {item.op}({inputs})", start, end)
            if self._is_full:
                self._write_outputs(record, node, outputs)

    def _write_times(
        self,
        record: step_stats_pb2.NodeExecStats,
        name: str,
        label: str,
        start: int,
        end: int,
    ) -> None:
        first, length = start + self._collector.epoch_ns, max(0, end - start)
        record.node_name, record.timeline_label = name, label
        record.thread_id = self._thread
        record.scheduled_nanos = record.all_start_nanos = first
        record.scheduled_micros = record.all_start_micros = first // 1000
        record.op_end_rel_nanos = record.all_end_rel_nanos = length
        record.op_end_rel_micros = record.all_end_rel_micros = length // 1000

    def _write_outputs(
        self,
        record: step_stats_pb2.NodeExecStats,
        node: Node,
        outputs: Sequence[OutputRecord],
    ) -> None:
        total = 0
        for found in outputs:
            output = record.output.add()
            output.slot = found.output
            tensor = output.tensor_description
            tensor.dtype = node.output_types[found.output].as_datatype_enum  # type: ignore[assignment]
            tensor.shape.CopyFrom(shape_to_proto(TensorShape(list(found.shape))))
            allocation = tensor.allocation_description
            allocation.allocator_name = "cpu"
            allocation.allocation_id = found.allocation_id
            allocation.requested_bytes = allocation.allocated_bytes = max(0, found.num_bytes)
            total += max(0, found.num_bytes)
        if total:
            memory = record.memory.add()
            memory.allocator_name = "cpu"
            memory.total_bytes = memory.peak_bytes = memory.live_bytes = total


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
