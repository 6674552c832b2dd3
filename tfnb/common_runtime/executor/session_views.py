"""What observers get of a signature: names and edges as plain tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tfnb.common_runtime.optimizer.optimization_registry import OptimizationReports
from tfnb.core.lazy_tuple import LazyTuple
from tfnb.core.process.later import later
from tfnb.core.process.records import field, record
from tfnb.core.step_events import PartitionedGraph, PartitionView, PlacedGraph, PlacementView
from tfnb.graph.node_kind import node_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tfnb.common_runtime.executor.executors_and_keys import Executors
    from tfnb.common_runtime.executor.immutable_executor_state import ExecutorItem
    from tfnb.common_runtime.placement.placer import PlacementReason
    from tfnb.graph import control_loops
    from tfnb.graph.graph import Graph, Node
else:
    control_loops = later("tfnb.graph.control_loops", in_step=True)


@record(slots=True)
class Placements:
    """The placer's decisions for the nodes of a graph, a column for each property.

    Columns take a fraction of the time and memory of an object per node, and outlive the graph.
    """

    names: list[str] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    reasons: list[PlacementReason | None] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        nodes: Iterable[Node],
        reasons: Mapping[str, PlacementReason],
        more_reasons: Mapping[str, PlacementReason],
    ) -> Placements:
        """Record the present devices of nodes; ``more_reasons`` are for those without a reason."""
        nodes = list(nodes)
        names = [node.name for node in nodes]
        found = list(map(reasons.get, names))
        if more_reasons:
            found = [one or more_reasons.get(name) for one, name in zip(found, names)]
        return cls(
            names,
            [node.op for node in nodes],
            [node.requested_device for node in nodes],
            [node.assigned_device for node in nodes],
            found,
        )

    def views(self) -> Iterator[PlacementView]:
        """Yield the decision for each node."""
        for name, op, requested, chosen, reason in zip(
            self.names, self.ops, self.requested, self.chosen, self.reasons
        ):
            allowed: tuple[str, ...] = ()
            why = ""
            if reason is not None:
                allowed, why = reason.allowed, reason.why
            kind = node_kind(op)
            if kind.is_arg or kind.is_recv:
                why = "brings a fed value in"
            elif kind.is_retval or kind.is_send:
                why = "takes a fetched value out"
            yield PlacementView(name, op, requested, allowed, chosen, why)


class PlacedGraphSource(Protocol):
    """A signature's graph with the placer's decisions."""

    @property
    def graph(self) -> Graph:
        """The graph after placement, before it is cut."""

    @property
    def placements(self) -> Placements:
        """The placer's decision for each node."""


def placed_view(
    signature_id: int, client_graph: PlacedGraphSource, reports: OptimizationReports
) -> PlacedGraph:
    """Return the device of each node of a signature, and why; call it once the graph has been cut.

    Control flow may stand elsewhere than the placer decided: cutting moves it beside its data.
    Nodes that passes put into the graph later, or that partitioning added, come last.
    """
    placements = client_graph.placements
    before = dict(zip(placements.names, placements.chosen))
    moved: dict[str, tuple[str, str]] = {}
    added: list[PlacementView] = []
    for node in client_graph.graph.nodes_by_name.values():
        name, device = node.name, node.assigned_device
        if before.get(name) == device or not node.is_op:
            continue
        if name in before:
            moved[name] = device, _why_moved(node)
        else:
            added.append(
                PlacementView(name, node.op, node.requested_device, (), device, _origin(node))
            )

    def views() -> Iterator[PlacementView]:
        for placed in placements.views():
            if placed.node in moved:
                device, reason = moved[placed.node]
                why = f"{reason} (was on '{placed.chosen}', as it {placed.why})"
                placed = placed._replace(chosen=device, why=why)
            yield placed
        yield from added

    # Pruning is not reported as a change: pruned nodes were never in this graph.
    changed = OptimizationReports(report for report in reports if report.name != "pruning")
    passes = LazyTuple(lambda: str(changed).splitlines()) if changed else ()
    return PlacedGraph(signature_id, LazyTuple(views), passes)


def _origin(node: Node) -> str:
    """Explain the device of a node that the placer did not see."""
    if control_loops.is_control_loop(node):
        return "keeps a loop across devices in step here"
    if node.original_names:
        names = ", ".join(f"'{name}'" for name in node.original_names)
        return f"was made from {names}"
    return "was added by a pass"


def _why_moved(node: Node) -> str:
    beside = control_loops.control_flow_neighbour(node)
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
        edges += [(number, dst.id, False) for _, dst, _ in node.data_edges]
        if node.control_edges:
            edges += [(number, dst.id, True) for dst in node.control_edges]
        if node.is_transfer and node.kernel is not None:
            send_recv.append((node.id, node.kernel.attrs["tensor_name"].decode()))
    return PartitionView(
        index,
        executor.device.name,
        tuple([node.name for node in executor.items]),
        tuple([node.op for node in executor.items]),
        tuple(edges),
        tuple(send_recv),
        tuple(executor.frames),
    )
