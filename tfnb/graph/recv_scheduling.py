"""Start times for the Recvs of a partition: shortly before their tensors are needed.

A Recv without inputs requests its tensor as soon as the step starts, and the tensor then occupies
memory until it is used.  With start times for the nodes, a step is divided into a hundred epochs,
and a Recv whose first consumer starts in epoch ``e`` waits for the nodes before epoch ``e - 6``,
through a ControlTrigger that runs whether those are dead or alive::

    last node before epoch e - 6 -^-> synch_<e - 6> (ControlTrigger) -^-> _Recv -> consumer

A Recv inside a loop starts with its iteration already and is not changed.  Corresponds to
``AddControlEdges`` in TensorFlow's ``graph_partition.cc``.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.process.records import record
from tfnb.graph.algorithm import depth_first, is_not_back_edge
from tfnb.graph.control_flow import build_control_flow_info

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from tfnb.graph.graph import Graph, Node

NUM_EPOCHS = 100
PREFETCHED_EPOCHS = 6
START_TIME = "_start_time"


@record(slots=True, frozen=True)
class RecvSchedule:
    """The start times of nodes, and how the partitioner uses them.

    Attributes:
      start_times: node of the graph to be cut -> microseconds from the start of the step, as from
        :class:`~tfnb.graph.slack_analysis.SlackAnalysis`; no node starts before what it waits for.
      scheduling_for_recvs: whether Recvs wait for their start time.
      need_to_record_start_times: whether every node of the partitions gets an attribute
        ``_start_time``.
    """

    start_times: Mapping[Node, int]
    scheduling_for_recvs: bool = True
    need_to_record_start_times: bool = False

    def check(self, graph: Graph) -> None:
        """Check the times against the graph's edges.

        Raises:
          InvalidArgumentError: a node has no time, or starts before a node it waits for: a Recv
            could then wait for a node that waits for the Recv.
        """
        times = self.start_times
        for node in graph.op_nodes():
            if node not in times:
                raise errors.invalid_argument(f"Node '{node.name}' has no start time.")
            for edge in node.in_edges:
                if edge.src.is_op and is_not_back_edge(edge) and times[edge.src] > times[node]:
                    raise errors.invalid_argument(
                        f"Node '{node.name}' starts at {times[node]} us, before its input "
                        f"'{edge.src.name}', which starts at {times[edge.src]} us."
                    )


def add_recv_triggers(
    part: Graph,
    start_times: Mapping[Node, int],
    may_precede: Container[Node],
    name_counter: Iterator[int],
) -> None:
    """Let the Recvs of one partition wait until shortly before they are needed.

    Args:
      part: a partition; it gets ControlTriggers named ``synch_<epoch>/_<number>``.
      start_times: node of the partition -> microseconds; a Recv has the time of its first consumer.
      may_precede: the nodes that a Recv may wait for.
      name_counter: numbers for the names.
    """
    frames = build_control_flow_info(part)
    outside = [node for node in part.op_nodes() if not frames[node.id].frame_name]
    outside.sort(key=lambda node: (start_times[node], node.id))
    first = [node for node in outside if node in may_precede]
    if not first:
        return
    times = [start_times[node] for node in first]
    resolution = start_times[outside[-1]] // NUM_EPOCHS + 1
    triggers: dict[int, Node] = {}
    for node in outside:
        epoch = start_times[node] // resolution - PREFETCHED_EPOCHS
        if not node.is_recv or node.attrs["client_terminated"] or epoch <= 0:
            continue
        # Strictly before the epoch, and therefore before the Recv and all nodes that wait for it.
        position = bisect_left(times, epoch * resolution) - 1
        if position < 0:
            continue
        trigger = triggers.get(epoch)
        if trigger is None:
            trigger = triggers[epoch] = part.add_node(
                f"synch_{epoch}/_{next(name_counter)}",
                "ControlTrigger",
                {START_TIME: epoch * resolution},
                assigned_device=first[position].assigned_device,
            )
            part.add_control_edge(first[position], trigger)
        part.add_control_edge(trigger, node)


def nodes_after_loops(graph: Graph) -> set[Node]:
    """Return the nodes that wait for the end of a loop.

    Their start times count a loop as one iteration.  A tensor that a later iteration needs must not
    wait for them.
    """
    found: set[Node] = set()
    depth_first([node for node in graph.op_nodes() if node.is_exit], enter=found.add)
    return found
