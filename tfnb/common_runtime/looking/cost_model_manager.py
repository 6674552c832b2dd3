"""The cost models of a session, one per partition graph."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from tfnb.core.tensor_proto import shape_from_proto, shape_to_proto
from tfnb.graph.cost_model import CostModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.graph.graph import Graph, Node
    from tfnb.proto import step_stats_pb2

# The number of a GPU in the names of a device and of the hardware trace of its streams.
_GPU = re.compile(r"gpu:(\d+)$", re.IGNORECASE)
_ALL_STREAMS = re.compile(r"gpu:(\d+)/stream:all$", re.IGNORECASE)


class CostModelManager:
    """Finds or makes the cost model of a graph; thread safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._models: dict[int, CostModel] = {}  # by id of the graph; guarded by self._lock

    @property
    def lock(self) -> threading.RLock:
        """The lock that guards the models while they are written."""
        return self._lock

    def find_or_create(self, graph: Graph) -> CostModel:
        """Return the cost model of a graph."""
        with self._lock:
            found = self._models.get(id(graph))
            if found is None:
                found = self._models[id(graph)] = CostModel(graph)
            return found

    def export(self) -> dict[Graph, CostModel]:
        """Return graph -> cost model, for every graph that was measured."""
        with self._lock:
            return {model.graph: model for model in self._models.values()}

    def build(self, step_stats: step_stats_pb2.StepStats, graphs: Mapping[str, Graph]) -> None:
        """Add what a step recorded to the models of the graphs it ran.

        If a device also has a hardware trace, under ``.../device:GPU:0/stream:all``, a node's time
        is the sum of its kernels in that trace, where they are named ``node:kernel``.

        Args:
          step_stats: the records of the step, by device.
          graphs: device name -> partition graph.
        """
        kernel_times: dict[str, dict[str, int]] = {}
        regular: dict[str, step_stats_pb2.DeviceStepStats] = {}
        for device in step_stats.dev_stats:
            stream = _ALL_STREAMS.search(device.device)
            if stream is None:
                regular.setdefault(device.device, device)
            else:
                kernel_times.setdefault(stream[1], _time_by_node(device.node_stats))
        with self._lock:
            for name, graph in graphs.items():
                found = regular.get(name)
                if found is None:
                    continue
                gpu = _GPU.search(name)
                model = self.find_or_create(graph)
                model.update_times += 1
                measured = {} if gpu is None else kernel_times.get(gpu[1], {})
                for stats in found.node_stats:
                    node = graph.find_node(stats.node_name)
                    if node is not None and node.is_op:
                        time_us = measured.get(node.name, stats.op_end_rel_micros)
                        _add_node_stats(model, node, stats, time_us)

    def add_to_cost_graph_def(self, graph: Graph, cost_graph: step_stats_pb2.CostGraphDef) -> None:
        """Append a graph's nodes, source and sink included, with the known costs."""
        with self._lock:
            model = self.find_or_create(graph)
            first = len(cost_graph.node)
            nodes = sorted(graph.all_nodes(), key=lambda node: node.id)
            ids = {node.id: first + position for position, node in enumerate(nodes)}
            for node in nodes:
                _add_node(model, node, ids, cost_graph.node.add())


def _time_by_node(node_stats: Iterable[step_stats_pb2.NodeExecStats]) -> dict[str, int]:
    """Return node -> microseconds of all its kernels."""
    times: dict[str, int] = {}
    for stats in node_stats:
        name = stats.node_name.partition(":")[0]
        times[name] = times.get(name, 0) + stats.op_end_rel_micros
    return times


def _add_node_stats(
    model: CostModel, node: Node, stats: step_stats_pb2.NodeExecStats, time_us: int
) -> None:
    model.record_execution(node, time_us)
    for output in stats.output:
        tensor = output.tensor_description
        model.record_output(
            node,
            output.slot,
            tensor.allocation_description.allocated_bytes,
            shape_from_proto(tensor.shape),
            node.output_types[output.slot],
            tensor.allocation_description.allocation_id,
        )
    memory = stats.memory_stats
    model.record_memory(node, memory.temp_memory_size, memory.persistent_memory_size)


def _add_node(
    model: CostModel, node: Node, ids: dict[int, int], row: step_stats_pb2.CostGraphDef.Node
) -> None:
    row.name = node.name
    row.device = node.assigned_device
    row.id = ids[node.id]
    row.is_final = node.is_send
    inputs = sorted(
        (edge for edge in node.in_edges if not edge.is_control), key=lambda edge: edge.dst_input
    )
    for edge in inputs:
        row.input_info.add(preceding_node=ids[edge.src.id], preceding_port=edge.src_output)
    for output in range(node.num_outputs):
        info = row.output_info.add()
        info.size = model.max_memory_size(node, output)
        allocation = model.allocation_id(node, output)
        info.alias_input_port = next(
            (
                edge.dst_input
                for edge in inputs
                if model.allocation_id(edge.src, edge.src_output) == allocation
            ),
            -1,
        )
        shape, dtype = model.max_memory_shape(node, output), model.max_memory_type(node, output)
        if shape is None:
            info.shape.unknown_rank = True
        else:
            info.shape.CopyFrom(shape_to_proto(shape))
        if dtype is not None:
            info.dtype = dtype.as_datatype_enum  # type: ignore[assignment]
    row.control_input.extend(sorted(ids[edge.src.id] for edge in node.in_edges if edge.is_control))
    row.temporary_memory_size = model.temporary_memory_size(node)
    row.persistent_memory_size = model.persistent_memory_size(node)
    row.compute_cost = model.max_execution_time(node)
