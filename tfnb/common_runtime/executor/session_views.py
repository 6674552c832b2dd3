"""What observers get of a signature: names and edges as plain tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tfnb.common_runtime.optimizer.optimization_registry import OptimizationReports
from tfnb.core.step_events import PartitionedGraph, PartitionView, PlacedGraph, PlacementView
from tfnb.graph.control_loops import control_flow_neighbour, is_control_loop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.executor.executors_and_keys import Executors
    from tfnb.common_runtime.executor.immutable_executor_state import ExecutorItem
    from tfnb.graph.graph import Graph, Node


class PlacedGraphSource(Protocol):
    """A signature's graph with the placer's decisions."""

    @property
    def graph(self) -> Graph:
        """The graph after placement, before it is cut."""

    @property
    def placements(self) -> Mapping[str, PlacementView]:
        """The placer's decision for each node, by name."""


def placed_view(
    signature_id: int, client_graph: PlacedGraphSource, reports: OptimizationReports
) -> PlacedGraph:
    """Return the device of each node of a signature, and why; call it once the graph has been cut.

    Control flow may stand elsewhere than the placer decided: cutting moves it beside its data.
    Nodes that passes put into the graph later, or that partitioning added, come last.
    """
    views = dict(client_graph.placements)
    for node in client_graph.graph.op_nodes():
        placed = views.get(node.name)
        if placed is None:
            views[node.name] = PlacementView(
                node.name, node.op, node.requested_device, (), node.assigned_device, _origin(node)
            )
        elif placed.chosen != node.assigned_device:
            why = f"{_why_moved(node)} (was on '{placed.chosen}', as it {placed.why})"
            views[node.name] = placed._replace(chosen=node.assigned_device, why=why)
    # Pruning is not reported as a change: pruned nodes were never in this graph.
    changed = OptimizationReports(report for report in reports if report.name != "pruning")
    passes = tuple(str(changed).splitlines()) if changed else ()
    return PlacedGraph(signature_id, tuple(views.values()), passes)


def _origin(node: Node) -> str:
    """Explain the device of a node that the placer did not see."""
    if is_control_loop(node):
        return "keeps a loop across devices in step here"
    if node.original_names:
        names = ", ".join(f"'{name}'" for name in node.original_names)
        return f"was made from {names}"
    return "was added by a pass"


def _why_moved(node: Node) -> str:
    beside = control_flow_neighbour(node)
    if beside is None:
        return "was moved by a pass"
    what = "input" if node.is_switch or node.is_exit else "consumer"
    return f"is control flow and stands beside its {what} '{beside.name}'"


def partitioned_view(executors: Executors) -> PartitionedGraph:
    """Return a signature's partitions, node ids as the executors use them."""
    return PartitionedGraph(
        executors.signature_id,
        tuple(_partition_view(index, item) for index, item in enumerate(executors.items)),
        executors.feeds,
        executors.fetches,
        executors.targets,
    )


def function_view(signature_id: int, name: str, items: Sequence[ExecutorItem]) -> PartitionedGraph:
    """Return a function's partitions, node ids as the executors use them."""
    views = tuple(_partition_view(index, item) for index, item in enumerate(items))
    return PartitionedGraph(signature_id, views, function=name)


def _partition_view(index: int, item: ExecutorItem) -> PartitionView:
    executor = item.executor
    edges = []
    send_recv = []
    for node in executor.items:
        number = node.id
        for _, dst, _ in node.data_edges:
            edges.append((number, dst.id, False))
        if node.control_edges:
            edges += [(number, dst.id, True) for dst in node.control_edges]
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
