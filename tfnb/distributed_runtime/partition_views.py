"""Partition graphs of a server as observers get them: names, edges and transfers.

A server sends the graphs that its tasks run (``RunMetadata.partition_graphs``).  Nodes of a view
are numbered in the order of the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfnb.core.step_events import PartitionedGraph, PartitionView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.proto import graph_pb2

_ENTERS = frozenset(("Enter", "RefEnter"))
_EXITS = frozenset(("Exit", "RefExit"))
_SENDS = frozenset(("_Send", "_HostSend"))
_RECVS = frozenset(("_Recv", "_HostRecv"))


@dataclass(slots=True)
class Transfer:
    """An edge between two devices.

    Attributes:
      edge: its name in rendezvous keys.
      src_device, dst_device: the devices.
      send, recv: partition and node id of its ends; None where the other end has none.
      source: partition and node id of the node whose output is sent, and the output's number.
    """

    edge: str
    src_device: str
    dst_device: str
    send: tuple[int, int] | None = None
    recv: tuple[int, int] | None = None
    source: tuple[int, int, int] | None = None


@dataclass(slots=True)
class PartitionedStep:
    """The graphs of one signature on all devices.

    Attributes:
      views: what observers get.
      ids: the node ids of each partition, by name.
      transfers: the edges between devices, by name and receiving device.
      frames: for each partition and node, the place of its loop in ``frame_names``; -1: none.
      parents: for each partition and loop, the place of the loop around it; -1: none.
    """

    views: PartitionedGraph
    ids: list[dict[str, int]]
    transfers: dict[tuple[str, str], Transfer]
    frames: list[list[int]]
    parents: list[list[int]]

    @property
    def partition_of(self) -> dict[str, int]:
        """The partition of each device."""
        return {view.device: view.index for view in self.views.partitions}


def partitioned_step(
    signature_id: int,
    graph_defs: Sequence[graph_pb2.GraphDef],
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
) -> PartitionedStep:
    """Return the views of a signature's partition graphs.

    Args:
      signature_id: its number for observers.
      graph_defs: the nodes; each names its device.
      names: feeds, fetches and targets.
    """
    by_device: dict[str, list[graph_pb2.NodeDef]] = {}
    for graph_def in graph_defs:
        for node in graph_def.node:
            by_device.setdefault(node.device, []).append(node)
    views: list[PartitionView] = []
    transfers: dict[tuple[str, str], Transfer] = {}
    ids: list[dict[str, int]] = []
    frames: list[list[int]] = []
    parents: list[list[int]] = []
    for index, (device, nodes) in enumerate(sorted(by_device.items())):
        number_of = {node.name: number for number, node in enumerate(nodes)}
        edges: list[tuple[int, int, bool]] = []
        inputs: list[list[tuple[int, int]]] = [[] for _ in nodes]
        for number, node in enumerate(nodes):
            for text in node.input:
                name, _, slot = text.removeprefix("^").partition(":")
                source = number_of.get(name)
                if source is not None:
                    edges.append((source, number, text.startswith("^")))
                    inputs[number].append((source, int(slot or 0)))
        send_recv = _note_transfers(index, nodes, inputs, transfers)
        frame_names = tuple(
            dict.fromkeys(n.attr["frame_name"].s.decode() for n in nodes if n.op in _ENTERS)
        )
        of_nodes, of_frames = _frames(nodes, inputs, frame_names)
        frames.append(of_nodes)
        parents.append(of_frames)
        ids.append(number_of)
        views.append(
            PartitionView(
                index,
                device,
                tuple(node.name for node in nodes),
                tuple(node.op for node in nodes),
                tuple(edges),
                tuple(send_recv),
                frame_names,
            )
        )
    feeds, fetches, targets = names
    partitioned = PartitionedGraph(signature_id, tuple(views), feeds, fetches, targets)
    return PartitionedStep(partitioned, ids, transfers, frames, parents)


def _note_transfers(
    partition: int,
    nodes: Sequence[graph_pb2.NodeDef],
    inputs: Sequence[Sequence[tuple[int, int]]],
    transfers: dict[tuple[str, str], Transfer],
) -> list[tuple[int, str]]:
    """Add a partition's ends of transfers; return its Sends and Recvs, but those of the client."""
    found: list[tuple[int, str]] = []
    for number, node in enumerate(nodes):
        if node.op not in _SENDS | _RECVS or node.attr["client_terminated"].b:
            continue
        edge = node.attr["tensor_name"].s.decode()
        source = node.attr["send_device"].s.decode()
        target = node.attr["recv_device"].s.decode()
        transfer = transfers.setdefault((edge, target), Transfer(edge, source, target))
        if node.op in _SENDS:
            transfer.send = partition, number
            if inputs[number]:
                transfer.source = partition, *inputs[number][0]
        else:
            transfer.recv = partition, number
        found.append((number, edge))
    return found


def _frames(
    nodes: Sequence[graph_pb2.NodeDef],
    inputs: Sequence[Sequence[tuple[int, int]]],
    names: Sequence[str],
) -> tuple[list[int], list[int]]:
    """Return the loop of each node, and the loop around each loop; -1: none.

    A loop's Enters belong to the loop around it, and its Exits to the loop.
    """
    place = {name: number for number, name in enumerate(names)}
    consumers: list[list[int]] = [[] for _ in nodes]
    for number, sources in enumerate(inputs):
        for source, _ in sources:
            consumers[source].append(number)
    frames, parents = [-1] * len(nodes), [-1] * len(names)
    seen = [not sources for sources in inputs]
    waiting = [number for number, is_source in enumerate(seen) if is_source]
    while waiting:
        number = waiting.pop()
        behind = frames[number]
        if nodes[number].op in _ENTERS:
            inner = place[nodes[number].attr["frame_name"].s.decode()]
            parents[inner], behind = frames[number], inner
        elif nodes[number].op in _EXITS:
            behind = parents[behind] if behind >= 0 else -1
        for consumer in consumers[number]:
            if not seen[consumer]:
                seen[consumer] = True
                frames[consumer] = behind
                waiting.append(consumer)
    return frames, parents
