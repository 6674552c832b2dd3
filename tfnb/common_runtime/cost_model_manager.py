"""The cost models of a session, one per partition graph."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tfnb.core.tensor_proto import shape_to_proto
from tfnb.graph.cost_model import CostModel

if TYPE_CHECKING:
    from tfnb.graph.graph import Graph, Node
    from tfnb.proto import step_stats_pb2


class CostModelManager:
    """Finds or makes the cost model of a graph; thread safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._models: dict[int, CostModel] = {}  # by id of the graph; guarded by self._lock

    @property
    def lock(self) -> threading.RLock:
        """Guards the models while they are written."""
        return self._lock

    def find_or_create(self, graph: Graph) -> CostModel:
        """The cost model of a graph."""
        with self._lock:
            found = self._models.get(id(graph))
            if found is None:
                found = self._models[id(graph)] = CostModel(graph)
            return found

    def export(self) -> dict[Graph, CostModel]:
        """Graph -> cost model, for every graph that was measured."""
        with self._lock:
            return {model.graph: model for model in self._models.values()}

    def add_to_cost_graph_def(self, graph: Graph, cost_graph: step_stats_pb2.CostGraphDef) -> None:
        """Appends a graph's nodes with what is known of their cost."""
        with self._lock:
            model = self.find_or_create(graph)
            first = len(cost_graph.node)
            nodes = list(graph.op_nodes())
            ids = {node.id: first + position for position, node in enumerate(nodes)}
            for node in nodes:
                _add_node(model, node, ids, cost_graph.node.add())


def _add_node(
    model: CostModel, node: Node, ids: dict[int, int], row: step_stats_pb2.CostGraphDef.Node
) -> None:
    row.name = node.name
    row.device = node.assigned_device
    row.id = ids[node.id]
    row.is_final = not any(edge.dst.is_op for edge in node.out_edges)
    for output in range(node.num_outputs):
        info = row.output_info.add()
        info.size = max(0, model.max_memory_size(node, output))
        info.alias_input_port = -1
        shape = model.max_memory_shape(node, output)
        if shape is None:
            info.shape.unknown_rank = True
        else:
            info.shape.CopyFrom(shape_to_proto(shape))
        info.dtype = node.output_types[output].as_datatype_enum  # type: ignore[assignment]
    for edge in sorted(node.in_edges, key=lambda edge: edge.dst_input):
        if not edge.src.is_op:
            continue
        if edge.is_control:
            row.control_input.append(ids[edge.src.id])
        else:
            source = row.input_info.add()
            source.preceding_node = ids[edge.src.id]
            source.preceding_port = edge.src_output
    row.compute_cost = model.max_execution_time(node)
