"""Loops that span devices: each gets a shadow loop, controlled by the device of the LoopCond.

Corresponds to AddControlFlow in TensorFlow's graph_partition.cc.  The device of the LoopCond
leads.  Each other device that an edge of the frame enters gets a shadow loop around the received
predicate::

    Const -> Enter -> Merge -> Switch(pred received) -true-> NextIteration -> Merge
                        |
                        ^-> every Recv of the frame on that device

so that its Recvs start once per iteration and its frame ends with the leader's.  In nested loops
the Merge of the outer shadow feeds the Enter of the inner shadow.  The nodes are named
``_cloop...``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.attr_value import TensorAttr
from tfnb.core.process.records import record
from tfnb.graph.algorithm import depth_first
from tfnb.graph.control_flow import ControlFlowInfo, build_control_flow_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.graph.graph import Edge, Graph, Node

_PREFIX = "_cloop"


def is_control_loop(node: Node) -> bool:
    """Return whether the node belongs to a shadow loop."""
    return node.name.startswith(_PREFIX)


def empty_const_attrs() -> dict[str, Any]:
    """Return the attributes of the empty constant that only signals that a node ran."""
    return {
        "dtype": dtypes.float32,
        "value": TensorAttr.from_value(np.zeros((0,), np.float32)),
    }


def add_control_flow(graph: Graph, name_counter: Iterator[int]) -> None:
    """Move control flow nodes to the device of their data; add shadow loops where needed.

    Raises:
      InvalidArgumentError: frames do not fit together, or a loop across devices has no LoopCond.
      InternalError: a frame name is used under two parent frames.
    """
    info = build_control_flow_info(graph)
    if not any(node.is_control_flow for node in graph.op_nodes()):
        return
    colocate_control_flow(graph)
    _ShadowLoops(graph, info, name_counter).add()


def colocate_control_flow(graph: Graph) -> None:
    """Put Switch and Exit on the device of their input, Enter and NextIteration on the consumer's.

    The consumer is the first one.  This overrides explicit devices: a Switch elsewhere would send
    its data even where it is dead.
    """
    depth_first([graph.source], enter=_colocate)


def control_flow_neighbour(node: Node) -> Node | None:
    """Return the node whose device a control flow node must use, or None if it keeps its own."""
    if node.is_switch or node.is_exit:
        for edge in node.in_edges:
            if edge.dst_input == 0:
                return edge.src
    elif (node.is_enter and not node.input_types[0].is_ref_dtype) or node.is_next_iteration:
        for edge in node.out_edges:
            if not edge.is_control:
                return edge.dst
    return None


def _colocate(node: Node) -> None:
    neighbour = control_flow_neighbour(node)
    if neighbour is not None:
        node.assigned_device = neighbour.assigned_device


@record(slots=True)
class _ShadowLoop:
    """The nodes of one shadow loop to which other nodes connect."""

    enter: Node
    merge: Node


class _ShadowLoops:
    """State: ``info`` by node id, grown with the nodes; ``loops`` by (frame name, device)."""

    __slots__ = ("graph", "info", "loop_conds", "loops", "name_counter")

    def __init__(
        self, graph: Graph, info: list[ControlFlowInfo], name_counter: Iterator[int]
    ) -> None:
        self.graph = graph
        self.info = info
        self.name_counter = name_counter
        self.loops: dict[tuple[str, str], _ShadowLoop] = {}
        self.loop_conds = {
            info[node.id].frame_name: node for node in graph.op_nodes() if node.is_loop_cond
        }

    def add(self) -> None:
        """Add the loops, then let every consumer of a remote tensor wait for its Merge."""
        for edge in self.graph.edges:
            if self._shared_frame(edge):
                self._add_loops(edge)
        for edge in self.graph.edges:
            frame_name = self._shared_frame(edge)
            if frame_name:
                loop = self.loops[frame_name, edge.dst.assigned_device]
                # One edge for each remote input: the partitioner moves each to the Recv it makes.
                self.graph.add_control_edge(loop.merge, edge.dst, allow_duplicates=True)

    def _shared_frame(self, edge: Edge) -> str:
        """Return the frame in which an edge crosses devices, "" if none or in the root."""
        src, dst = edge.src, edge.dst
        if not src.is_op or not dst.is_op or src.assigned_device == dst.assigned_device:
            return ""
        inside = self._outside_of(src) if src.is_exit else src
        outside = self._outside_of(dst) if dst.is_enter else dst
        src_frame, dst_frame = self.info[inside.id].frame_name, self.info[outside.id].frame_name
        return src_frame if src_frame == dst_frame else ""

    def _outside_of(self, node: Node) -> Node:
        parent = self.info[node.id].parent_frame
        assert parent is not None, "validated with the frames"
        return parent

    def _add_loops(self, edge: Edge) -> None:
        """Add the shadow of the edge's frame on its destination, then of the outer frames."""
        device = edge.dst.assigned_device
        node = self._outside_of(edge.src) if edge.src.is_exit else edge.src
        child: _ShadowLoop | None = None
        while True:
            frame_name = self.info[node.id].frame_name
            if not frame_name:
                if child is not None:
                    const = self._add_node(edge, "", "Const", empty_const_attrs(), node)
                    self.graph.add_edge(const, 0, child.enter, 0)
                return
            known = self.loops.get((frame_name, device))
            if known is not None:
                if child is not None:
                    self.graph.add_edge(known.merge, 0, child.enter, 0)
                return
            loop = self._add_loop(edge, node)
            self.loops[frame_name, device] = loop
            if child is not None:
                self.graph.add_edge(loop.merge, 0, child.enter, 0)
            child = loop
            node = self._outside_of(node)

    def _add_loop(self, edge: Edge, node: Node) -> _ShadowLoop:
        graph, here = self.graph, self.info[node.id]
        loop_cond = self.loop_conds.get(here.frame_name)
        if loop_cond is None:
            raise errors.invalid_argument(
                f"A cross-device loop must have a pivot predicate: {here.frame_name}"
            )
        assert here.frame is not None
        dtype = {"T": dtypes.float32}
        enter_attrs = {
            **dtype,
            "frame_name": here.frame.attrs["frame_name"],
            "parallel_iterations": here.frame.attrs["parallel_iterations"],
        }
        enter = self._add_node(edge, _PREFIX, "Enter", enter_attrs, node)
        merge = self._add_node(edge, _PREFIX, "Merge", {**dtype, "N": 2}, node)
        switch = self._add_node(edge, _PREFIX, "Switch", dtype, node)
        following = self._add_node(edge, _PREFIX, "NextIteration", dtype, node)
        graph.add_edge(enter, 0, merge, 0)
        graph.add_edge(following, 0, merge, 1)
        graph.add_edge(merge, 0, switch, 0)
        graph.add_edge(loop_cond, 0, switch, 1)
        graph.add_edge(switch, 1, following, 0)
        return _ShadowLoop(enter, merge)

    def _add_node(
        self, edge: Edge, prefix: str, op: str, attrs: dict[str, Any], beside: Node
    ) -> Node:
        """Add a node on the edge's destination, in the frame of ``beside``."""
        node = self.graph.add_node(
            f"{prefix}{edge.dst.name}/_{next(self.name_counter)}",
            op,
            attrs,
            assigned_device=edge.dst.assigned_device,
        )
        assert node.id == len(self.info)
        self.info.append(self.info[beside.id])
        return node
