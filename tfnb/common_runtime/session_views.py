"""What observers are told of a signature: names and edges as plain tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.step_events import PartitionedGraph, PartitionView, PlacedGraph, PlacementView

if TYPE_CHECKING:
    from tfnb.common_runtime.executors_and_keys import ExecutorItem, Executors
    from tfnb.common_runtime.graph_execution_state import ClientGraph


def placed_view(signature_id: int, client_graph: ClientGraph) -> PlacedGraph:
    """Where each node of a signature went and why."""
    views = []
    for node in client_graph.graph.op_nodes():
        reason = client_graph.reasons.get(node.name)
        views.append(
            PlacementView(
                node.name,
                node.op,
                node.requested_device,
                tuple(reason.allowed) if reason is not None else (),
                node.assigned_device,
                reason.why if reason is not None else "",
            )
        )
    return PlacedGraph(signature_id, tuple(views))


def partitioned_view(executors: Executors) -> PartitionedGraph:
    """A signature's partitions, node ids as the executors use them."""
    return PartitionedGraph(
        executors.signature_id,
        tuple(_partition_view(index, item) for index, item in enumerate(executors.items)),
        executors.feeds,
        executors.fetches,
        executors.targets,
    )


def _partition_view(index: int, item: ExecutorItem) -> PartitionView:
    executor = item.executor
    edges = []
    send_recv = []
    for node in executor.items:
        edges += [(node.id, dst.id, False) for _, dst, _ in node.data_edges]
        edges += [(node.id, dst.id, True) for dst in node.control_edges]
        if node.is_transfer and node.kernel is not None:
            send_recv.append((node.id, node.kernel.attrs["tensor_name"].decode()))
    return PartitionView(
        index,
        executor.device.name,
        tuple(node.name for node in executor.items),
        tuple(node.op for node in executor.items),
        tuple(edges),
        tuple(send_recv),
        tuple(executor.frames),
    )
