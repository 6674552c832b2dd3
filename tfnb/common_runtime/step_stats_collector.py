"""RunMetadata of one step: which nodes ran when, what came out, the partition graphs, the costs.

``StepStatsCollector`` is an ordinary observer that lives for one step, so that what a trace shows
comes through the same door as what the notebook shows.  What hooks do not carry, the tensors'
forms, reaches it through ``RunState.record_outputs``, which is None unless a step is traced or
measured.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.common_runtime.allocation_tracker import AllocationTracker, TemporaryMemory
from tfnb.common_runtime.immutable_executor_state import ARG, MERGE, PASS
from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import HOOKS, StepEvents, StepHooks, StepObserver
from tfnb.core.tensor_proto import shape_to_proto
from tfnb.core.tensor_shape import TensorShape
from tfnb.graph.graph_constructor import graph_to_graph_def
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.allocation_tracker import Buffer
    from tfnb.common_runtime.cost_model_manager import CostModelManager
    from tfnb.common_runtime.device import Device
    from tfnb.common_runtime.executors_and_keys import ExecutorItem, Executors
    from tfnb.common_runtime.immutable_executor_state import NodeItem
    from tfnb.core import errors
    from tfnb.graph.graph import Node
    from tfnb.proto import step_stats_pb2

_MEGABYTE = 1 << 20
_HINT = "Hint: If you want to see a list of allocated tensors when OOM happens"
_USAGE = "Current usage from device"

type_of_run = tuple[int, int, int, int, int]  # step, partition, node, frame, iteration

# Calls by other ops (While, For, MapDefun) leave no trace in TensorFlow either.
_TRACED_CALLS = frozenset(
    (
        "Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf",
        "SymbolicGradient", "_If",
    )
)  # fmt: skip

# Ops that hand out what was there before: nothing is allocated.
_HANDING_ON = frozenset(
    ["_ReadVariablesOp", "_SwitchN", "GetSessionTensor", "ReadVariableOp", "RefSwitch", "Switch"]
)


class OutputRecord(NamedTuple):
    """The form of one tensor that came out of a node.

    ``num_bytes`` is -1 where a value has no size; ``allocated_bytes`` is 0 where the memory is the
    caller's.
    """

    output: int
    shape: tuple[int, ...]
    num_bytes: int
    allocated_bytes: int
    allocation_id: int
    allocator: str


class RunRecord(NamedTuple):
    """One execution of one node; moments in nanoseconds of ``perf_counter``, sizes in bytes.

    ``made`` are the buffers that it allocated, ``in_use`` what the step's buffers then took on each
    allocator of the device.  ``step_id`` is the step's, or that of the call it happened in.
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


_NO_MEMORY = RunRecord(0, 0, 0, 0, 0)


class StepStatsCollector(StepObserver):
    """Start and end of every live node of one step, what came out of it and what it allocated.

    Attributes:
      records: what ran, in the order in which it ended.
      calls: call -> (step or call that made it, partition and node that did, function's id).

    Args:
      device_names: the device of each partition.
      measures_kernels: whether to measure what kernels allocate inside; slow.
    """

    def __init__(self, device_names: Sequence[str] = (), *, measures_kernels: bool = False) -> None:
        self._device_names = device_names
        self._started: dict[type_of_run, int] = {}
        self.records: list[RunRecord] = []
        self.calls: dict[int, tuple[int, int, int, int]] = {}
        self._memory: dict[tuple[int, int, int], RunRecord] = {}
        # To turn the clock's readings into time since the epoch.
        self.epoch_ns = time.time_ns() - time.perf_counter_ns()
        self.tracker = AllocationTracker()
        self._temporary = TemporaryMemory() if measures_kernels else None

    def recorder(self, step_id: int) -> OutputRecorder:
        """What notes the outputs of a step's nodes."""
        return OutputRecorder(self, step_id, self._device_names)

    def record_outputs(
        self, step_id: int, partition: int, device: str, item: NodeItem, outputs: Sequence[Any]
    ) -> None:
        """Notes the outputs of a node and their memory; called just before ``node_done``."""
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
            if not hasattr(value, "nbytes"):  # a handle
                forms.append(OutputRecord(position, tuple(shape), -1, 0, 0, "cpu"))
                continue
            buffer, is_first = self.tracker.find(value)
            num_bytes = allocated = value.nbytes
            if item.action == ARG:
                allocated = 0 if is_first else allocated
            elif item.op == "Const" or (is_cell and not item.num_inputs):
                persistent.append(buffer)
            elif (
                is_first
                and not is_cell
                and item.action not in (PASS, MERGE)
                and item.op not in _HANDING_ON
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
        self._memory[step_id, partition, item.id] = RunRecord(
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

    def node_started(
        self, step_id: int, partition: int, node_id: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """A node's kernel is about to run."""
        self._started[step_id, partition, node_id, frame_id, iteration] = t_ns
        if self._temporary is not None:
            self._temporary.begin((step_id, partition, node_id))

    def call_started(
        self,
        call_id: int,
        signature_id: int,
        step_id: int,
        partition: int,
        node_id: int,
        t_ns: int,
    ) -> None:
        """A node calls a function."""
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
        """A node has finished; dead ones leave no record."""
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

    def finish(self) -> None:
        """The step is over: stops measuring and lets go of what it held."""
        if self._temporary is not None:
            self._temporary.close()
        self.tracker.finish()


class OutputRecorder:
    """Notes what the nodes of one step, or of one call, give."""

    __slots__ = ("_collector", "_device_names", "_step_id")

    def __init__(
        self, collector: StepStatsCollector, step_id: int, device_names: Sequence[str]
    ) -> None:
        self._collector = collector
        self._step_id = step_id
        self._device_names = device_names

    def __call__(self, partition: int, item: NodeItem, outputs: Sequence[Any]) -> None:
        """Called just before ``node_done``."""
        device = self._device_names[partition] if self._device_names else ""
        self._collector.record_outputs(self._step_id, partition, device, item, outputs)

    def inside(self, call_id: int, device_names: Sequence[str]) -> OutputRecorder:
        """The same for a call that the step makes."""
        return OutputRecorder(self._collector, call_id, device_names)


def _takes_index(merge: NodeItem) -> bool:
    """Whether anybody asks a Merge which of its inputs was live."""
    return any(output == 1 for output, _, _ in merge.data_edges)


def add_allocations(error: errors.OpError, collector: StepStatsCollector | None) -> None:
    """Tells a step that ran out of memory who holds it, or how to learn that."""
    if "OOM" not in error.message or _HINT in error.message or _USAGE in error.message:
        return
    if collector is None:
        # Read where memory ran out only.
        from tfnb.common_runtime.live_tensors import largest_live

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
    """Fills one RunMetadata as RunOptions ask, and the session's cost models where they are due."""

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
        # Devices whose kernels are measured where they run.
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
        if options.output_partition_graphs:
            for item in executors.items:
                found = graph_to_graph_def(item.graph)
                found.ClearField("library")  # as in TensorFlow
                run_metadata.partition_graphs.append(found)

    def hooks(self, hooks: StepHooks) -> StepHooks:
        """The session's hooks and the collector's together."""
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
        """Writes what was collected."""
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
        """What ran on the device itself, as TensorFlow names such a trace."""
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
    """Turns a collector's records into StepStats."""

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

    def _items_of(self, step_id: int) -> Sequence[ExecutorItem]:
        """The partitions of the step or of a call; none for a call that leaves no trace."""
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
        """Writes one dev_stats for each device that ran something."""
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
            record.timeline_label = f"{_memory_label(record)}{_label(node)}"

    def _write_times(self, record: step_stats_pb2.NodeExecStats, start: int, end: int) -> None:
        first, length = start + self._collector.epoch_ns, max(0, end - start)
        record.thread_id = self._thread
        record.scheduled_nanos = record.all_start_nanos = first
        record.scheduled_micros = record.all_start_micros = first // 1000
        record.op_end_rel_nanos = record.all_end_rel_nanos = length
        record.op_end_rel_micros = record.all_end_rel_micros = length // 1000
        record.memory_stats.SetInParent()

    def _write_memory(self, record: step_stats_pb2.NodeExecStats, run: RunRecord) -> None:
        """What the node allocated, by allocator; temporary memory lies where the node computes."""
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
    """The node and what it was computed from, like ``y = MatMul(x, w)``."""
    edges = sorted(
        (edge for edge in node.in_edges if not edge.is_control), key=lambda edge: edge.dst_input
    )
    inputs = ", ".join(
        edge.src.name if edge.src_output == 0 else f"{edge.src.name}:{edge.src_output}"
        for edge in edges
    )
    return f"{node.name} = {node.op}({inputs})"


def _memory_label(record: step_stats_pb2.NodeExecStats) -> str:
    """What stands before the label of a node that allocated a tenth of a megabyte or more."""
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
    """The session's own listeners, as one observer."""

    def __init__(self, hooks: StepHooks) -> None:
        self.hooks = hooks


for _name in HOOKS:
    setattr(_Forward, _name, _forwarding(_name))
