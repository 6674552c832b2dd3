"""Writes the RunMetadata of one step: nodes with times and outputs, partition graphs, costs.

``StepStatsCollector`` is an observer that lives for one step, so that a trace uses the same hooks
as the notebook's views.  The hooks do not carry the shapes and sizes of tensors; these arrive
through ``RunState.record_outputs``, which is None unless a step is traced or measured.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import ARG, MERGE, PASS
from tfnb.common_runtime.looking.allocation_tracker import (
    MEASURED_BYTES,
    AllocationTracker,
    TemporaryMemory,
)
from tfnb.common_runtime.lowering.run.replay import JournalReader, Told, replay
from tfnb.common_runtime.lowering.support.journal import DEAD, Number
from tfnb.core import errors
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import HOOKS, StepEvents, StepHooks, StepObserver
from tfnb.core.tensor_proto import shape_to_proto
from tfnb.core.tensor_shape import TensorShape
from tfnb.graph.graph_constructor import graph_to_graph_def
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.common_runtime.executor.executors_and_keys import Executors
    from tfnb.common_runtime.executor.immutable_executor_state import ExecutorItem, NodeItem
    from tfnb.common_runtime.looking.allocation_tracker import Buffer
    from tfnb.common_runtime.looking.cost_model_manager import CostModelManager
    from tfnb.common_runtime.lowering.support.journal import Journal
    from tfnb.graph.graph import Node
    from tfnb.proto import step_stats_pb2

_MEGABYTE = 1 << 20
_HINT = "Hint: If you want to see a list of allocated tensors when OOM happens"

type_of_run = tuple[int, int, int, int, int]  # (step, partition, node, frame, iteration)

# As in TensorFlow, calls by other ops (While, For, MapDefun) leave no trace.
_TRACED_CALLS = frozenset(
    (
        "Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf",
        "SymbolicGradient", "_If",
    )
)  # fmt: skip

_LENDING = ops_with(Trait.LENDS)


class OutputRecord(NamedTuple):
    """The shape and memory of one output tensor.

    ``num_bytes`` is -1 if a value has no size; ``allocated_bytes`` is 0 if the memory is the
    caller's.
    """

    output: int
    shape: tuple[int, ...]
    num_bytes: int
    allocated_bytes: int
    allocation_id: int
    allocator: str


class StatsRecord(NamedTuple):
    """One execution of one node; times in nanoseconds of ``perf_counter``, sizes in bytes.

    ``made`` are the buffers it allocated, ``in_use`` the bytes of the step's buffers afterwards on
    each allocator of the device.  ``step_id`` is the id of the step, or of the enclosing call.
    """

    step_id: int
    partition: int
    node_id: int
    start_ns: int
    end_ns: int
    outputs: tuple[OutputRecord, ...] = ()
    made: tuple[Buffer, ...] = ()
    in_use: tuple[tuple[str, int], ...] = ()
    temporary_bytes: int = 0
    persistent_bytes: int = 0
    persistent_ids: tuple[int, ...] = ()


_NO_MEMORY = StatsRecord(0, 0, 0, 0, 0)


class StepStatsCollector(StepObserver):
    """Records start and end, outputs and allocations of every live node of one step.

    A node's time is that of its kernel, without the time for recording its outputs.

    Attributes:
      records: the executions, in the order in which they ended.
      calls: call -> (step or call that made it, partition and node that did, function's id).

    Args:
      device_names: the device of each partition.
      measures_kernels: whether to measure temporary memory of kernels; it is slow, and therefore
        begins with the first large tensor.
    """

    takes_journals = True
    times_each_line = True

    def __init__(self, device_names: Sequence[str] = (), *, measures_kernels: bool = False) -> None:
        self._device_names = device_names
        self._started: dict[type_of_run, int] = {}
        self.records: list[StatsRecord] = []
        self.calls: dict[int, tuple[int, int, int, int]] = {}
        self._memory: dict[tuple[int, int, int], StatsRecord] = {}
        self._ended: dict[tuple[int, int, int], int] = {}
        self._journals: dict[int, Journal] = {}
        # The time since the epoch at which the clock's reading is 0.
        self.epoch_ns = time.time_ns() - time.perf_counter_ns()
        self.tracker = AllocationTracker()
        self._temporary = TemporaryMemory() if measures_kernels else None
        self._is_measuring = False  # set by the first large tensor

    def recorder(self, step_id: int) -> OutputRecorder:
        """Return the recorder for the outputs of a step's nodes."""
        return OutputRecorder(self, step_id, self._device_names)

    def record_outputs(
        self, step_id: int, partition: int, device: str, item: NodeItem, outputs: Sequence[Any]
    ) -> None:
        """Record a node's outputs and their memory; called just before ``node_done``."""
        # The node ends here: the work below is not part of its time.
        self._ended[step_id, partition, item.id] = time.perf_counter_ns()
        forms: list[OutputRecord] = []
        made: list[Buffer] = []
        persistent: list[Buffer] = []
        for position, value in enumerate(outputs):
            is_cell = isinstance(value, RefCell)
            if is_cell:
                value = value.value
            shape = getattr(value, "shape", None)
            if shape is None or (position and item.action == MERGE and not _takes_index(item)):
                continue
            if not hasattr(value, "nbytes"):  # a resource handle
                forms.append(OutputRecord(position, tuple(shape), -1, 0, 0, "cpu"))
                continue
            buffer, is_first = self.tracker.find(value)
            num_bytes = allocated = value.nbytes
            if num_bytes >= MEASURED_BYTES and self._temporary is not None:
                self._is_measuring = True
                self._temporary.start()
            if item.action == ARG:
                allocated = 0 if is_first else allocated
            elif item.op == "Const" or (is_cell and not item.num_inputs):
                persistent.append(buffer)
            elif (
                is_first
                and not is_cell
                and item.action not in (PASS, MERGE)
                and item.op not in _LENDING
            ):
                self.tracker.made(buffer, device, item.name)
                made.append(buffer)
            forms.append(
                OutputRecord(
                    position,
                    tuple(shape),
                    num_bytes,
                    allocated,
                    buffer.allocation_id,
                    buffer.allocator,
                )
            )
        temporary = 0
        if self._temporary is not None:
            kept = sum(buffer.num_bytes for buffer in made)
            temporary = self._temporary.end((step_id, partition, item.id), kept)
        allocators = {buffer.allocator for buffer in made}
        found = StatsRecord(
            step_id,
            partition,
            item.id,
            0,
            0,
            tuple(forms),
            tuple(made),
            tuple((name, self.tracker.bytes_in_use(device, name)) for name in sorted(allocators)),
            temporary,
            sum(buffer.num_bytes for buffer in persistent),
            tuple(buffer.allocation_id for buffer in persistent),
        )
        journal = self._journals.get(step_id)
        if journal is None:
            self._memory[step_id, partition, item.id] = found
        else:
            journal.entries.append(found)

    def node_started(
        self, step_id: int, partition: int, node_id: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Record that a node's kernel is about to run."""
        if self._is_measuring and self._temporary is not None:
            self._temporary.begin((step_id, partition, node_id))
        # Read last, so that the node's time does not include other observers.
        now = time.perf_counter_ns()
        self._started[step_id, partition, node_id, frame_id, iteration] = now

    def call_started(
        self,
        call_id: int,
        signature_id: int,
        step_id: int,
        partition: int,
        node_id: int,
        t_ns: int,
    ) -> None:
        """Record a function call."""
        self.calls[call_id] = (step_id, partition, node_id, signature_id)

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
        """Record the end of a node; dead nodes leave no record."""
        t_ns = self._ended.pop((step_id, partition, node_id), t_ns)
        start = self._started.pop((step_id, partition, node_id, frame_id, iteration), t_ns)
        memory = self._memory.pop((step_id, partition, node_id), _NO_MEMORY)
        if not is_dead:
            self.records.append(
                memory._replace(
                    step_id=step_id,
                    partition=partition,
                    node_id=node_id,
                    start_ns=start,
                    end_ns=t_ns,
                )
            )

    def journal_began(self, step_id: int, journal: Journal) -> None:
        """Make the journal record the shapes and sizes of the step's tensors."""
        self._journals[step_id] = journal
        if self._temporary is not None:
            journal.before_kernel = partial(self._begin_measuring, step_id)

    def _begin_measuring(self, step_id: int, node_id: int) -> None:
        if self._is_measuring and self._temporary is not None:
            self._temporary.begin((step_id, 0, node_id))

    def journal_ended(self, step_id: int, journal: Journal) -> None:
        """Make records from the journal."""
        if self._journals.pop(step_id, None) is not None:
            device = self._device_names[0] if self._device_names else ""
            replay(journal, _TraceReader(self, step_id, device, journal.emitted.nodes), step_id)

    def finish(self) -> None:
        """Stop measuring and release memory at the end of the step."""
        if self._temporary is not None:
            self._temporary.close()
        self.tracker.finish()


class _TraceReader(JournalReader):
    """Makes records from the journal of an emitted function.

    The journal has no entries for scalars: their shape and size follow from their dtype.
    """

    def __init__(
        self, collector: StepStatsCollector, step_id: int, device: str, nodes: Sequence[NodeItem]
    ) -> None:
        self._collector = collector
        self._device = device
        self._nodes = nodes
        self._step_id = step_id
        self._memory = _NO_MEMORY
        self._started: dict[tuple[int, int, int], int] = {}

    def gave(self, node_id: int, contents: Sequence[Any]) -> None:
        """Find the shapes and sizes of a node's outputs, and its allocations."""
        item = self._nodes[node_id]
        forms: list[OutputRecord] = []
        made: list[Buffer] = []
        persistent: list[int] = []
        for position, content in enumerate(contents):
            if content is DEAD or (position and item.action == MERGE and not _takes_index(item)):
                continue
            if isinstance(content, Told):
                note = next((one for one in content.notes if isinstance(one, StatsRecord)), None)
                if note is not None and note.node_id == node_id:
                    self._memory = note
                    return
                forms += [
                    one._replace(output=position, allocated_bytes=max(0, one.num_bytes))
                    for one in (() if note is None else note.outputs)
                    if one.output == content.output
                ]
                continue
            dtype = item.output_types[position].as_numpy_dtype
            size = np.dtype(dtype).itemsize
            if not isinstance(content, Number):
                content = Number(node_id)
            buffer = content.memo
            is_first = buffer is None
            if buffer is None:
                buffer = content.memo = self._collector.tracker.number(size)
            if item.op == "Const":
                persistent.append(buffer.allocation_id)
            elif is_first and item.action not in (ARG, PASS, MERGE) and item.op not in _LENDING:
                self._collector.tracker.made(buffer, self._device, item.name)
                made.append(buffer)
            allocated = 0 if is_first and item.action == ARG else size
            forms.append(
                OutputRecord(position, (), size, allocated, buffer.allocation_id, buffer.allocator)
            )
        in_use = [("cpu", self._collector.tracker.bytes_in_use(self._device, "cpu"))]
        self._memory = _NO_MEMORY._replace(
            outputs=tuple(forms),
            made=tuple(made),
            in_use=tuple(in_use if made else ()),
            persistent_bytes=sum(form.num_bytes for form in forms) if persistent else 0,
            persistent_ids=tuple(persistent),
        )

    def node_started(
        self, step_id: int, partition: int, node_id: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Record the start of a node."""
        self._started[node_id, frame_id, iteration] = t_ns

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
        """Append the record of a live node."""
        start = self._started.pop((node_id, frame_id, iteration), t_ns)
        memory, self._memory = self._memory, _NO_MEMORY
        if not is_dead:
            self._collector.records.append(
                memory._replace(
                    step_id=step_id,
                    partition=partition,
                    node_id=node_id,
                    start_ns=start,
                    end_ns=t_ns,
                )
            )


class OutputRecorder:
    """Records the outputs of the nodes of one step, or of one call."""

    __slots__ = ("_collector", "_device_names", "_step_id")

    def __init__(
        self, collector: StepStatsCollector, step_id: int, device_names: Sequence[str]
    ) -> None:
        self._collector = collector
        self._step_id = step_id
        self._device_names = device_names

    def __call__(self, partition: int, item: NodeItem, outputs: Sequence[Any]) -> None:
        """Record a node's outputs; called just before ``node_done``."""
        device = self._device_names[partition] if self._device_names else ""
        self._collector.record_outputs(self._step_id, partition, device, item, outputs)

    def inside(self, call_id: int, device_names: Sequence[str]) -> OutputRecorder:
        """Return the recorder for a call that the step makes."""
        return OutputRecorder(self._collector, call_id, device_names)


def _takes_index(merge: NodeItem) -> bool:
    """Return whether any node uses a Merge's ``value_index``."""
    return any(output == 1 for output, _, _ in merge.data_edges)


def add_allocations(error: errors.OpError, collector: StepStatsCollector | None) -> None:
    """Add the largest live tensors to an out-of-memory error, or how to have them reported."""
    if error.mistake is not errors.Mistake.OUT_OF_MEMORY or error.reports_memory:
        return
    error.reports_memory = True
    if collector is None:
        # Imported only when memory ran out.
        from tfnb.common_runtime.looking.live_tensors import largest_live

        live = largest_live(error)
        if live:
            error.message += f"\nLargest live tensors: {live}"
        error.message += (
            f"\n{_HINT}, add report_tensor_allocations_upon_oom to RunOptions for current "
            "allocation info."
        )
    else:
        error.message += f"\n{collector.tracker.report()}"


class RunRecorder:
    """Fills one RunMetadata as RunOptions request, and updates cost models when due."""

    def __init__(
        self,
        executors: Executors,
        run_options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
        *,
        find_function: Callable[[int], Sequence[ExecutorItem]] = lambda _: (),
        session_metadata: config_pb2.SessionMetadata | None = None,
        cost_models: CostModelManager | None = None,
    ) -> None:
        self._executors = executors
        self._find_function = find_function
        self._options = options = run_options or config_pb2.RunOptions()
        self._metadata = run_metadata
        self._cost_models = cost_models
        traces = run_metadata is not None and options.trace_level != options.NO_TRACE
        self.collector: StepStatsCollector | None = None
        if traces or cost_models is not None or options.report_tensor_allocations_upon_oom:
            self.collector = StepStatsCollector(
                [item.executor.device.name for item in executors.items],
                measures_kernels=traces and options.trace_level == options.FULL_TRACE,
            )
        # Devices that measure their own kernels.
        self._traced: list[Device] = []
        self._trace_began_us = 0
        if traces and options.trace_level >= options.HARDWARE_TRACE:
            devices = [item.executor.device for item in executors.items]
            self._traced = [device for device in devices if device.is_asynchronous]
        self._events = StepEvents()
        if run_metadata is None:
            return
        run_metadata.Clear()
        if session_metadata is not None:
            run_metadata.session_metadata.CopyFrom(session_metadata)

    def hooks(self, hooks: StepHooks) -> StepHooks:
        """Return the session's hooks combined with the collector's."""
        if self.collector is None:
            return hooks
        self._trace_began_us = time.time_ns() // 1000
        for device in self._traced:
            device.start_trace()
        self._events.add(_Forward(hooks))
        self._events.add(self.collector)
        found = self._events.hooks
        inside = StepEvents()
        if hooks.inside is not None:
            inside.add(_Forward(hooks.inside))
        inside.add(self.collector)
        found.inside = inside.hooks
        found.debugger = found.inside.debugger = hooks.debugger
        return found

    def finish(self) -> None:
        """Write the partition graphs and the collected records."""
        if self._metadata is not None and self._options.output_partition_graphs:
            for item in self._executors.items:
                found = graph_to_graph_def(item.graph)
                found.ClearField("library")  # as in TensorFlow
                self._metadata.partition_graphs.append(found)
        collector = self.collector
        if collector is None:
            return
        collector.finish()
        metadata = config_pb2.RunMetadata() if self._metadata is None else self._metadata
        if self._metadata is not None or self._cost_models is not None:
            trace = _Trace(self._executors.items, collector, self._find_function)
            trace.write(metadata.step_stats)
            for device in self._traced:
                self._write_kernels(device, metadata.step_stats)
        if self._cost_models is not None:
            graphs = {item.executor.device.name: item.graph for item in self._executors.items}
            self._cost_models.build(metadata.step_stats, graphs)
            for graph in graphs.values():
                self._cost_models.add_to_cost_graph_def(graph, metadata.cost_graph)

    def _write_kernels(self, device: Device, stats: step_stats_pb2.StepStats) -> None:
        """Write the kernels measured on the device itself, under TensorFlow's names."""
        kernels = device.stop_trace()
        if not kernels:
            return
        kind = device.name.rpartition("/device:")[2]
        found = stats.dev_stats.add(device=f"/device:{kind}/stream:all")
        for kernel in kernels:
            name = f"{kernel.node_name}:{kernel.op}"
            start = self._trace_began_us + kernel.start_us
            found.node_stats.add(
                node_name=name,
                timeline_label=name,
                scheduled_micros=start,
                all_start_micros=start,
                op_end_rel_micros=kernel.duration_us,
                all_end_rel_micros=kernel.duration_us,
            )


class _Trace:
    """Converts a collector's records into StepStats."""

    def __init__(
        self,
        items: Sequence[ExecutorItem],
        collector: StepStatsCollector,
        find_function: Callable[[int], Sequence[ExecutorItem]],
    ) -> None:
        self._step_items = items
        self._collector = collector
        self._find_function = find_function
        self._items: dict[int, Sequence[ExecutorItem]] = {}
        self._thread = threading.get_ident() & 0xFFFFFFFF
        self._labels: dict[Node, str] = {}

    def _items_of(self, step_id: int) -> Sequence[ExecutorItem]:
        """Return the items of the step or of a call; empty for a call that leaves no trace."""
        found = self._items.get(step_id)
        if found is not None:
            return found
        found = self._step_items
        call = self._collector.calls.get(step_id)
        if call is not None:
            caller_id, partition, node_id, signature_id = call
            callers = self._items_of(caller_id)
            found = ()
            if 0 <= partition < len(callers):
                item = callers[partition]
                op = item.executor.items[node_id].op
                library = item.graph.library
                if op in _TRACED_CALLS or (library is not None and op in library):
                    found = self._find_function(signature_id)
        self._items[step_id] = found
        return found

    def write(self, stats: step_stats_pb2.StepStats) -> None:
        """Write one dev_stats for each device that ran a node."""
        devices: dict[str, step_stats_pb2.DeviceStepStats] = {}
        begun: set[tuple[int, int]] = set()
        for run in self._collector.records:
            items = self._items_of(run.step_id)
            if not items:
                continue
            partition = items[run.partition]
            item = partition.executor.items[run.node_id]
            name = partition.executor.device.name
            device = devices.get(name)
            if device is None:
                device = devices[name] = stats.dev_stats.add()
                device.device = name
                device.thread_names[self._thread] = threading.current_thread().name
            if (run.step_id, run.partition) not in begun:
                begun.add((run.step_id, run.partition))
                source = device.node_stats.add(
                    node_name="_SOURCE", timeline_label="_SOURCE = NoOp()"
                )
                self._write_times(source, run.start_ns, run.start_ns)
            if item.is_transfer:
                continue
            node = partition.graph.find_node(item.name)
            assert node is not None
            record = device.node_stats.add(node_name=item.name)
            self._write_times(record, run.start_ns, run.end_ns)
            _write_outputs(record, node, run.outputs)
            self._write_memory(record, run)
            label = self._labels.get(node)
            if label is None:
                label = self._labels[node] = _label(node)
            record.timeline_label = f"{_memory_label(record)}{label}"

    def _write_times(self, record: step_stats_pb2.NodeExecStats, start: int, end: int) -> None:
        first, length = start + self._collector.epoch_ns, max(0, end - start)
        record.thread_id = self._thread
        record.scheduled_nanos = record.all_start_nanos = first
        record.scheduled_micros = record.all_start_micros = first // 1000
        record.op_end_rel_nanos = record.all_end_rel_nanos = length
        record.op_end_rel_micros = record.all_end_rel_micros = length // 1000
        record.memory_stats.SetInParent()

    def _write_memory(self, record: step_stats_pb2.NodeExecStats, run: StatsRecord) -> None:
        """Write the node's allocations by allocator; temporary memory is on the node's device."""
        for allocator, in_use in run.in_use:
            made = [buffer for buffer in run.made if buffer.allocator == allocator]
            live = sum(buffer.num_bytes for buffer in made)
            memory = record.memory.add(allocator_name=allocator, allocator_bytes_in_use=in_use)
            memory.live_bytes = memory.total_bytes = memory.peak_bytes = live
            for buffer in made:
                self._write_allocation(memory, buffer.allocated_ns, buffer.num_bytes)
            for buffer in sorted(made, key=lambda buffer: buffer.freed_ns):
                if buffer.freed_ns:
                    self._write_allocation(memory, buffer.freed_ns, -buffer.num_bytes)
        if run.temporary_bytes:
            memory = record.memory[0] if record.memory else record.memory.add(allocator_name="cpu")
            memory.total_bytes += run.temporary_bytes
            memory.peak_bytes += run.temporary_bytes
            record.memory_stats.temp_memory_size = run.temporary_bytes
        record.memory_stats.persistent_memory_size = run.persistent_bytes
        record.memory_stats.persistent_tensor_alloc_ids.extend(run.persistent_ids)

    def _write_allocation(
        self, memory: step_stats_pb2.AllocatorMemoryUsed, t_ns: int, num_bytes: int
    ) -> None:
        memory.allocation_records.add(
            alloc_micros=(t_ns + self._collector.epoch_ns) // 1000, alloc_bytes=num_bytes
        )


def _write_outputs(
    record: step_stats_pb2.NodeExecStats, node: Node, outputs: Sequence[OutputRecord]
) -> None:
    for found in outputs:
        output = record.output.add(slot=found.output)
        tensor = output.tensor_description
        tensor.dtype = node.output_types[found.output].base_dtype.as_datatype_enum  # type: ignore[assignment]
        tensor.shape.CopyFrom(shape_to_proto(TensorShape(list(found.shape))))
        allocation = tensor.allocation_description
        allocation.allocator_name = found.allocator
        allocation.allocation_id = found.allocation_id
        allocation.requested_bytes = max(0, found.num_bytes)
        allocation.allocated_bytes = found.allocated_bytes


def _label(node: Node) -> str:
    """Return the node and its inputs, like ``y = MatMul(x, w)``."""
    edges = sorted(
        (edge for edge in node.in_edges if not edge.is_control), key=lambda edge: edge.dst_input
    )
    inputs = ", ".join(
        edge.src.name if edge.src_output == 0 else f"{edge.src.name}:{edge.src_output}"
        for edge in edges
    )
    return f"{node.name} = {node.op}({inputs})"


def _memory_label(record: step_stats_pb2.NodeExecStats) -> str:
    """Return the prefix of the label of a node that allocated a tenth of a megabyte or more."""
    return "".join(
        f"[{memory.allocator_name} {memory.total_bytes / _MEGABYTE:.1f}MB "
        f"{memory.peak_bytes / _MEGABYTE:.1f}MB] "
        for memory in record.memory
        if memory.total_bytes >= 0.1 * _MEGABYTE
    )


def _forwarding(name: str) -> object:
    def forward(self: _Forward, *args: object) -> None:
        hook = getattr(self.hooks, name)
        if hook is not None:
            hook(*args)

    return forward


class _Forward(StepObserver):
    """The session's own observers, as one observer."""

    def __init__(self, hooks: StepHooks) -> None:
        self.hooks = hooks
        # Set per instance, since it depends on the observers.
        self.takes_counts = hooks.takes_counts  # type: ignore[misc]
        self.takes_journals = hooks.takes_journals or not hooks.hears_nodes  # type: ignore[misc]
        self.times_each_line = hooks.times_each_line  # type: ignore[misc]


for _name in HOOKS:
    setattr(_Forward, _name, _forwarding(_name))
