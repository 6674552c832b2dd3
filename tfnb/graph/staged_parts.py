"""Parts of a step that run one after the other, so that no task asks another for a tensor.

Parts that meet by Send and Recv cost a request for each part and one for each transfer, and wait
for each other in threads.  Where nothing but inputs decides when a node runs, each part can be cut
into *stages*, which the master runs in order; it passes the tensors on with its requests::

    part of a parameter server     part of a worker
    stage 0: read                                          -> the variable
                                   stage 1: the gradient   <- the variable, -> the gradient
    stage 2: apply                                         <- the gradient

A part that ran in one piece would answer once as well: each further stage takes the place of at
least one request for a tensor.

The *level* of a node is the largest number of transfers on a path to it.  A part has a stage for
each level at which it receives something, and stage 0.  A node runs in the last stage that its
consumers allow; a stage is thus left out where it would have nothing to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.graph.packed_transfers import (
    copy_sources,
    devices_of,
    is_plain,
    is_signal,
    levels_of_certain_nodes,
    matched_transfers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from tfnb.graph.graph import Graph, Node

RELAYED = "_relayed"
"""Attribute of a Send and a Recv that end at the master, which passes the tensor on."""

# Larger tensors go from task to task, without a copy in the master; in bytes.
_MOST_EACH, _MOST_TOGETHER = 1 << 20, 1 << 22
# With more stages than that, tasks that wait for each other are faster than a master that waits.
_MOST_STAGES = 5

_VARIABLE = ops_with(Trait.VARIABLE)


def stages_of(
    parts: dict[str, Graph],
    may_relay: Callable[[str, str], bool],
    bytes_of: Callable[[str, int], int | None],
    name_counter: Iterator[int],
) -> list[dict[str, Graph]] | None:
    """Cut parts into stages.

    Args:
      parts: what :func:`tfnb.graph.graph_partition.partition` made; changed, so that small
        constants, feeds and fetches do not travel between tasks.
      may_relay: whether the master may pass on what travels from one device to another; both are
        CPUs of different tasks then.
      bytes_of: the expected size of an output of a node, by the node's name; None: unknown.
      name_counter: numbers for the names of new nodes.

    Returns:
      The graphs of each stage, by device, in which all Sends and Recvs end at the client or the
      master; None if the parts have to run at once.
    """
    recv_of = matched_transfers(parts)
    if not recv_of or not all(may_relay(*devices_of(send)) for send in recv_of):
        return None
    levels = levels_of_certain_nodes(parts)
    if len(levels) < sum(part.num_op_nodes for part in parts.values()):
        return None
    changed = copy_sources(parts, recv_of, levels, bytes_of)
    if changed | _fetch_at_sources(parts, recv_of, recv_of):
        levels = levels_of_certain_nodes(parts)
    stages = _stages(parts, recv_of, levels)
    if len(set(stages.values())) > _MOST_STAGES:
        return None
    cut = _Cut(stages, bytes_of, name_counter)
    for send, recv in recv_of.items():
        if not is_plain(send, recv) or not cut.may_travel(*_source(send)):
            return None
    found: list[dict[str, Graph]] = [{} for _ in range(max(stages.values(), default=0) + 1)]
    for device, part in parts.items():
        graphs = cut.run(part)
        if graphs is None:
            return None
        for stage, graph in graphs.items():
            found[stage][device] = graph
    return [graphs for graphs in found if graphs]


def fetch_at_sources(parts: dict[str, Graph], may_move: Callable[[str, str], bool]) -> None:
    """Let the client get from a task what would only pass through another one.

    Args:
      parts: what :func:`tfnb.graph.graph_partition.partition` made; changed.
      may_move: whether a fetch may leave from the first device instead of the second one; both are
        CPUs then.
    """
    recv_of = {
        send: recv for send, recv in matched_transfers(parts).items() if may_move(*devices_of(send))
    }
    if recv_of:
        # Elsewhere, a fetch may be dead: the task that the client knows of says so.
        _fetch_at_sources(parts, recv_of, levels_of_certain_nodes(parts))


def _fetch_at_sources(
    parts: dict[str, Graph], recv_of: dict[Node, Node], movable: Container[Node]
) -> set[str]:
    """Move fetches to the sources of Sends, if these are movable; return what changed."""
    changed: set[str] = set()
    for send, recv in list(recv_of.items()):
        fetches = [edge.dst for edge in recv.out_edges if edge.dst.is_op]
        if (
            send not in movable
            or not is_plain(send, recv)
            or not all(
                node.is_send and node.attrs["client_terminated"] and len(node.in_edges) == 1
                for node in fetches
            )
        ):
            continue
        source_device, device = devices_of(send)
        source, target = parts[source_device], parts[device]
        node, output = _source(send)
        del recv_of[send]
        source.remove_node(send)
        for fetch in fetches:
            twin = source.copy_node(fetch)
            twin.assigned_device = source_device
            # A worker of TensorFlow takes nothing that another task seems to send.
            name, incarnation = send.attrs["send_device"], send.attrs["send_device_incarnation"]
            ends = {"send_device": name, "recv_device": name}
            twin.attrs = {**fetch.attrs, **ends, "send_device_incarnation": incarnation}
            source.add_edge(node, output, twin, 0)
        target.remove_nodes([recv, *fetches])
        source.fixup_source_and_sink_edges()
        target.fixup_source_and_sink_edges()
        if not target.num_op_nodes:
            del parts[device]
        changed |= {source_device, device}
    return changed


def _source(send: Node) -> tuple[Node, int]:
    edge = send.input_edge(0)
    return edge.src, edge.src_output


def _stages(
    parts: Mapping[str, Graph], recv_of: Mapping[Node, Node], levels: Mapping[Node, int]
) -> dict[Node, int]:
    """Return the stage of each node: the last one of its part that its consumers allow."""
    recvs = set(recv_of.values())
    starts: dict[Node, list[int]] = {}
    for part in parts.values():
        received = {levels[node] for node in part.op_nodes() if node in recvs}
        starts.update(dict.fromkeys(part.op_nodes(), sorted({0, *received})))
    stages: dict[Node, int] = {}
    # Levels were found in an order in which consumers follow.
    for node in reversed(list(levels)):
        latest = starts[node][-1]
        for edge in node.out_edges:
            if edge.dst.is_op:
                latest = min(latest, stages[edge.dst])
        if node in recv_of:
            latest = min(latest, stages[recv_of[node]] - 1)
        stages[node] = max(start for start in starts[node] if start <= latest)
    return stages


class _Cut:
    """One run of the cut.

    State: ``left`` is the number of bytes that may still travel.
    """

    def __init__(
        self,
        stages: Mapping[Node, int],
        bytes_of: Callable[[str, int], int | None],
        name_counter: Iterator[int],
    ) -> None:
        self._stages, self._bytes_of, self._name_counter = stages, bytes_of, name_counter
        self.left = _MOST_TOGETHER

    def may_travel(self, node: Node, output: int) -> bool:
        """Return whether an output is small enough, and count it."""
        size = 0 if is_signal(node) else self._bytes_of(node.name, output)
        if size is None or size > min(_MOST_EACH, self.left):
            return False
        self.left -= size
        return True

    def run(self, part: Graph) -> dict[int, Graph] | None:
        """Return the graphs of a part by stage; None if a tensor between two cannot travel."""
        stages = self._stages
        graphs: dict[int, Graph] = {}
        twins: dict[tuple[Node, int], Node] = {}
        arrived: dict[tuple[Node, int, int], Node] = {}
        for stage in sorted({stages[node] for node in part.op_nodes()}):
            graphs[stage] = part.empty_like()
        for node in part.op_nodes():
            twins[node, stages[node]] = _copied(graphs[stages[node]], node)
        for node in part.op_nodes():
            stage = stages[node]
            graph, twin = graphs[stage], twins[node, stage]
            for edge in node.in_edges:
                source, output = edge.src, edge.src_output
                if not source.is_op:
                    continue
                if stages[source] == stage:
                    graph.add_edge(twins[source, stage], output, twin, edge.dst_input)
                    continue
                if edge.is_control:
                    continue  # the stage before has ended
                if _may_be_twice(source):
                    found = twins.get((source, stage))
                    if found is None:
                        found = twins[source, stage] = _copied(graph, source)
                    graph.add_edge(found, output, twin, edge.dst_input)
                    continue
                key = source, output, stage
                if key not in arrived:
                    if not self._may_leave(source, output):
                        return None
                    arrived[key] = self._add_pair(
                        graphs[stages[source]], twins[source, stages[source]], output, graph
                    )
                graph.add_edge(arrived[key], 0, twin, edge.dst_input)
        for graph in graphs.values():
            graph.fixup_source_and_sink_edges()
            if graph.library is not None:
                graph.library = graph.library.reachable_from(graph.op_nodes())
        return graphs

    def _may_leave(self, node: Node, output: int) -> bool:
        """Return whether a tensor that a later stage needs can go there by the master."""
        dtype = node.output_types[output]
        if dtype.is_ref_dtype or dtype in (dtypes.resource, dtypes.variant):
            return False
        return self.may_travel(node, output)

    def _add_pair(self, source_graph: Graph, source: Node, output: int, target: Graph) -> Node:
        """Let the master bring a tensor to a later stage of its task; return the Recv."""
        number = next(self._name_counter)
        device = source.assigned_device
        dtype = source.output_types[output]
        attrs: dict[str, Any] = {
            "tensor_name": f"kept_{number}_{source.name}".encode(),
            "send_device": device.encode(),
            "send_device_incarnation": 1,
            "recv_device": device.encode(),
            "client_terminated": True,
            RELAYED: True,
        }
        names = source.original_names or (source.name,)
        send = source_graph.add_node(
            f"{source.name}/_{number}/Send",
            "_Send",
            {"T": dtype, **attrs},
            assigned_device=device,
            original_names=names,
        )
        source_graph.add_edge(source, output, send, 0)
        return target.add_node(
            f"{source.name}/_{number}/Recv",
            "_Recv",
            {"tensor_type": dtype, **attrs},
            assigned_device=device,
            original_names=names,
        )


def _copied(graph: Graph, node: Node) -> Node:
    """Add a copy of a node; a transfer between parts ends at the master."""
    twin = graph.copy_node(node)
    if (node.is_send or node.is_recv) and not node.attrs["client_terminated"]:
        # A worker keeps what goes to a device of its own until the master asks for it.
        device = node.assigned_device.encode()
        ends = {"send_device": device, "recv_device": device}
        twin.attrs = {**node.attrs, **ends, "client_terminated": True, RELAYED: True}
    return twin


def _may_be_twice(node: Node) -> bool:
    """Return whether two stages may each have a copy of a node, instead of its value."""
    if any(not edge.is_control for edge in node.in_edges):
        return False
    return node.is_recv or node.is_constant or node.op in _VARIABLE
