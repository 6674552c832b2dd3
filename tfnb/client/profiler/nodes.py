"""The nodes of a profile, with the known data of them and of their runs.

Each is stored as the ProfileNode that ``serialize_to_string`` writes; a run of a step is an
ExecProfile.
"""

from __future__ import annotations

import re
import sys
from math import prod
from typing import TYPE_CHECKING, Any

from tfnb.proto import tfprof_log_pb2, tfprof_output_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.proto.config_pb2 import RunMetadata
    from tfnb.proto.graph_pb2 import NodeDef
    from tfnb.proto.step_stats_pb2 import NodeExecStats
    from tfnb.proto.tfprof_log_pb2 import ExecProfile, OpLogProto
    from tfnb.proto.tfprof_output_pb2 import GraphNodeProto

ROOT = "_TFProfRoot"
BYTES = ("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes")
MICROS = ("exec_micros", "accelerator_exec_micros", "cpu_exec_micros")
# The figures that nodes of the views sum.
FIGURES = (*MICROS, *BYTES, "parameters", "float_ops")

# For an accelerator, this "device" has the time of all kernels; the device itself has that of the
# host.
_STREAMS = "stream:all"
_HOST = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+", re.ASCII)


def _sizes(shape: Any) -> list[int]:
    """Return a shape in the profiler's form: scalars have one dimension, unknown shapes none."""
    return [dim.size for dim in shape.dim] or [1] * (not shape.unknown_rank)


def is_on_accelerator(device: str) -> bool:
    """Return whether a device, in lower case, is a GPU or a stream of one."""
    return "gpu" in device


class Node:
    """One node of the graph, or of the runtime.

    Attributes:
      types: the words by which it can be selected: its op, its device, and types from an
        OpLogProto.
      inputs: the names of the nodes that it takes values from or waits for.
      output_shapes: the shapes of its outputs.
    """

    def __init__(self, definition: NodeDef, number: int, nodes: dict[str, Node]) -> None:
        self.proto = tfprof_log_pb2.ProfileNode(name=definition.name, op=definition.op, id=number)
        self.attrs = definition.attr
        self.types = {definition.op}
        # TensorFlow ignores which output of a node is taken: it uses the first shape.
        self.inputs = [name.removeprefix("^").split(":")[0] for name in definition.input]
        self._nodes = nodes
        self.shape: list[int] = []
        if "shape" in self.attrs and self.attrs["shape"].HasField("shape"):
            self.shape = _sizes(self.attrs["shape"].shape)
        self.output_shapes: list[list[int]] = []
        if "_output_shapes" in self.attrs:
            self.output_shapes = [*map(_sizes, self.attrs["_output_shapes"].list.shape)]

    @property
    def name(self) -> str:
        """Its name in the graph."""
        return self.proto.name

    def input_shapes(self) -> list[list[int]]:
        """Return the shapes of the inputs, as far as they are known."""
        found = []
        for name in self.inputs:
            node = self._nodes.get(name)
            found.append(node.output_shapes[0] if node and node.output_shapes else [])
        return found

    def figures(self, step: int) -> dict[str, int]:
        """Return its figures in a step, or on average (-1)."""
        runs = self.proto.execs
        chosen = [runs[step]] if step in runs else [] if step >= 0 else [*runs.values()]
        sums = dict.fromkeys(("run_count", *MICROS, *BYTES), 0)
        for run in chosen:
            sums["run_count"] += run.run_count
            for name, execs in zip(MICROS[1:], (run.accelerator_execs, run.cpu_execs)):
                micros = sum(span.int64_values[1] for e in execs.values() for span in e.times)
                sums[name] += micros
                sums["exec_micros"] += micros
            for memory in run.memory_execs:
                for name in BYTES:
                    sums[name] += getattr(memory, name)
        found = {name: value // (len(chosen) or 1) for name, value in sums.items()}
        has_count = self.shape and min(self.shape) >= 0
        found["parameters"] = prod(self.shape) if has_count else 0
        found["float_ops"] = self.proto.float_ops * (found["run_count"] if runs else 1)
        return found

    def shown(self, step: int) -> GraphNodeProto:
        """Return the node as a message of a view, without sums."""
        message = tfprof_output_pb2.GraphNodeProto(name=self.name)
        for name, value in self.figures(step).items():
            setattr(message, name, value)
        if self.proto.canonical_device:
            message.devices.append(self.proto.canonical_device)
        for index, sizes in enumerate(self.input_shapes()):
            shape = message.input_shapes[index]
            shape.unknown_rank = not sizes
            for size in sizes:
                shape.dim.add(size=size)
        return message

    def add_run(self, step: int, device: str, stats: NodeExecStats) -> None:
        """Add a run on a device, whose name is in lower case."""
        mine = self.proto
        if is_host := _HOST.fullmatch(device):
            if mine.canonical_device not in ("", device):
                return
            mine.canonical_device = device
            mine.host_device = re.sub(r"gpu:\d+", "cpu:0", device)
            self.types.add(device)
        run = mine.execs[step]
        if device not in run.devices:
            run.devices[:] = sorted([*run.devices, device])
        start = stats.all_start_micros
        if start > 0:
            # Less than a microsecond counts as one.
            span = [start, stats.op_end_rel_micros or 1]
            run.all_start_micros = min(run.all_start_micros or start, start)
            run.latest_end_micros = max(run.latest_end_micros, sum(span))
            if _STREAMS in device:
                run.accelerator_execs[device].times.add(int64_values=span)
            elif is_host:
                run.cpu_execs[device].times.add(int64_values=span)
                run.run_count += 1
        if device == mine.canonical_device:
            _add_memory(run, device, stats)

    def message(self, numbers: dict[str, int]) -> Any:
        """Return all data as a message, given the numbers of the nodes by name."""
        message = tfprof_log_pb2.ProfileNode()
        message.CopyFrom(self.proto)
        message.shape.extend(self.shape)
        message.op_types.extend(sorted(self.types))
        for name in self.attrs:
            message.attrs[name].CopyFrom(self.attrs[name])
        for index, name in enumerate(self.inputs):
            message.inputs[index] = numbers[name]
            message.src_output_index[numbers[name]] = 0
        for index, sizes in enumerate(self.output_shapes):
            message.output_shapes[index].int64_values.extend(sizes)
        return message


def _add_memory(run: ExecProfile, device: str, stats: NodeExecStats) -> None:
    """Add the memory of one run."""
    if stats.all_start_micros <= 0:
        sys.stderr.write(f"{stats.node_name} has no start time, skipping\n")
        return
    memory = run.memory_execs.add(
        memory_micros=stats.all_start_micros + stats.op_end_rel_micros,
        residual_bytes=sum(used.live_bytes for used in stats.memory),
        requested_bytes=sum(used.total_bytes for used in stats.memory),
        peak_bytes=sum(used.peak_bytes for used in stats.memory),
    )
    on_gpu = [used for used in stats.memory if "GPU" in used.allocator_name]
    for used in on_gpu:
        in_use = max(memory.allocator_bytes_in_use, used.allocator_bytes_in_use)
        memory.allocator_bytes_in_use = in_use
        run.allocations.extend(used.allocation_records)
    if len(on_gpu) > 1:
        sys.stderr.write(f"found {len(on_gpu)} gpu allocator for 1 node\n")
    for output in stats.output:
        if output.tensor_description.HasField("allocation_description"):
            given = output.tensor_description.allocation_description
            size = max(given.allocated_bytes, given.requested_bytes)
            memory.output_bytes += size
            memory.output_memory[output.slot].bytes = size
            memory.output_memory[output.slot].ptr = given.ptr
    if stats.HasField("memory_stats"):
        kept = stats.memory_stats.persistent_memory_size
        lost = stats.memory_stats.temp_memory_size
        where = "host" if "cpu" in device else "accelerator"
        setattr(memory, f"{where}_temp_bytes", lost)
        setattr(memory, f"{where}_persistent_bytes", kept)
        memory.residual_bytes += kept
        memory.requested_bytes += kept + lost
        memory.peak_bytes += kept + lost


class Nodes(dict[str, Node]):
    """The nodes of a graph and its runs, by name.

    Attributes:
      steps: the steps that were added.
      texts: the texts for numbers in call stacks.
      has_traces: whether the places where nodes were made are known.
      misses_streams: whether there were runs on GPUs without the times of their kernels.
    """

    def __init__(self) -> None:
        self.steps: set[int] = set()
        self.texts: dict[int, str] = {}
        self.has_traces = False
        self.misses_streams = False

    def add(self, definitions: Iterable[NodeDef]) -> None:
        """Add the nodes that are not there yet."""
        for definition in definitions:
            if definition.name not in self:
                self[definition.name] = Node(definition, len(self), self)

    def add_run(self, step: int, run_meta: RunMetadata) -> None:
        """Add the runs of a step."""
        from tfnb.proto.graph_pb2 import NodeDef

        if not run_meta.HasField("step_stats"):
            sys.stderr.write(f"Invalid RunMetadata for step {step}\n")
            return
        self.steps.add(step)
        devices = [stats.device.lower() for stats in run_meta.step_stats.dev_stats]
        for device, stats in zip(devices, run_meta.step_stats.dev_stats):
            for run in stats.node_stats:
                name = run.node_name.split(":")[0]
                if name not in self:
                    if name in ("RecvTensor", "_SOURCE") or "MEMCPY" in name:
                        continue  # runs on several devices at once
                    self.add([NodeDef(name=name, op=name)])
                self[name].add_run(step, device, run)
        on_gpu = [*filter(is_on_accelerator, devices)]
        if on_gpu and not any(_STREAMS in device for device in on_gpu):
            self.misses_streams = True

    def add_log(self, log: OpLogProto) -> None:
        """Add the data in a log to the nodes."""
        self.texts = {**log.id_to_string, **self.texts}
        for entry in log.log_entries:
            if node := self.get(entry.name):
                node.types.update(entry.types)
                node.proto.float_ops = entry.float_ops or node.proto.float_ops
                if entry.HasField("code_def"):
                    self.has_traces = True
                    if not node.proto.HasField("trace"):
                        node.proto.trace.CopyFrom(entry.code_def)

    def message(self) -> Any:
        """Return all data as a ProfileProto."""
        message = tfprof_log_pb2.ProfileProto(
            has_trace=self.has_traces,
            steps=sorted(self.steps),
            id_to_string=self.texts,
            miss_accelerator_stream=self.misses_streams,
        )
        numbers = {name: node.proto.id for name, node in self.items()}
        for node in self.values():
            message.nodes[node.proto.id].CopyFrom(node.message(numbers))
        return message
