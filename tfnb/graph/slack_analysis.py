"""The earliest and the latest times at which nodes could start.

Times are in microseconds from the start of a step, estimated from a cost model; a tensor that
changes devices takes :data:`COPY_TIME_US` more.  Edges from one iteration of a loop to the next are
left out, and a Merge is assumed to wait for all its inputs.  Corresponds to TensorFlow's
``SlackAnalysis`` in ``distributed_runtime/scheduler.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.graph.algorithm import is_not_back_edge, reverse_post_order
from tfnb.graph.cost_model import MIN_TIME_ESTIMATE_US

if TYPE_CHECKING:
    from tfnb.graph.cost_model import CostModel
    from tfnb.graph.graph import Edge, Graph, Node

# The assumed time of a copy between devices.
COPY_TIME_US = 10


class SlackAnalysis:
    """The times of one graph; ``_SOURCE`` and ``_SINK`` must be connected."""

    def __init__(self, graph: Graph, cost_model: CostModel | None = None) -> None:
        """Compute the order of the nodes of a graph.

        Args:
          graph: a placed graph.
          cost_model: the costs of its nodes; without a model each takes a microsecond.
        """
        self._cost_model = cost_model
        self._order = reverse_post_order(graph, back_edges=False)

    def asap(self) -> dict[Node, int]:
        """Return the earliest start of each node in microseconds; ``_SOURCE`` starts at 0."""
        times: dict[Node, int] = {}
        for node in self._order:
            times[node] = max(
                (
                    times[edge.src] + self._duration(edge.src) + _copy_time(edge)
                    for edge in node.in_edges
                    if edge.src in times and is_not_back_edge(edge)
                ),
                default=0,
            )
        return times

    def alap(self) -> dict[Node, int]:
        """Return the latest time each node can start: 0 for ``_SINK``, negative before it."""
        times: dict[Node, int] = {}
        for node in reversed(self._order):
            duration = self._duration(node)
            times[node] = min(
                (
                    times[edge.dst] - duration - _copy_time(edge)
                    for edge in node.out_edges
                    if edge.dst in times and is_not_back_edge(edge)
                ),
                default=0,
            )
        return times

    def slack(self) -> dict[Node, int]:
        """Return how late each node may start without delaying the step; never negative."""
        asap, alap = self.asap(), self.alap()
        makespan = max(-time for time in alap.values())
        return {node: alap[node] + makespan - time for node, time in asap.items()}

    def _duration(self, node: Node) -> int:
        if not node.is_op:
            return 0
        if self._cost_model is None:
            return MIN_TIME_ESTIMATE_US
        return self._cost_model.time_estimate(node)


def _copy_time(edge: Edge) -> int:
    crosses = edge.src.assigned_device != edge.dst.assigned_device
    is_copy = crosses and not edge.is_control and edge.src.is_op and edge.dst.is_op
    return COPY_TIME_US if is_copy else 0
