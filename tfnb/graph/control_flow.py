"""The frame in which each node runs.

Corresponds to TensorFlow's graph/control_flow.cc.  A frame is a loop: an Enter leads in, an Exit
leads back to the frame around it, every other node runs in the frame of its inputs.  The root frame
belongs to the source and has the name "".  Nodes that the source does not reach are left out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NoReturn

from tfnb.core import errors
from tfnb.core.process.records import record
from tfnb.graph.node import SINK_ID

if TYPE_CHECKING:
    from tfnb.graph.graph import Graph, Node


@record(frozen=True, slots=True)
class ControlFlowInfo:
    """The frame of a node; nodes of one frame share the object.

    Attributes:
      frame: an Enter of the frame, or the source for the root frame; None if unreachable.
      parent_frame: an Enter of the frame around it, or the source.
      frame_name: the frame's name, "" for the root.
    """

    frame: Node | None = None
    parent_frame: Node | None = None
    frame_name: str = ""


def build_control_flow_info(graph: Graph) -> list[ControlFlowInfo]:
    """Return the frame of every node, by node id.

    Raises:
      InvalidArgumentError: a node's inputs come from different frames, an Enter has no frame name,
        an Exit or NextIteration is in no frame, or a frame has two LoopCond nodes.
      InternalError: a frame name is used under two parent frames.
    """
    source = graph.source
    if not any(node is not None and node.kind.crosses_frames for node in graph.nodes):
        # Every reachable node runs in the root frame.
        return _all_in_root(graph)
    info = [ControlFlowInfo()] * graph.num_node_ids
    info[source.id] = ControlFlowInfo(source, source)
    found_by: list[Node | None] = [None] * graph.num_node_ids
    ready = deque([source])
    while ready:
        node = ready.popleft()
        here = info[node.id]
        if node.kind.is_exit:
            assert here.parent_frame is not None
            here = info[here.parent_frame.id]
        frame_name = here.frame_name
        for edge in node.out_edges:
            out = edge.dst
            number = out.id
            if number <= SINK_ID:
                continue
            first = found_by[number]
            if first is None:
                found_by[number] = node
                ready.append(out)
                if out.kind.is_enter:
                    info[number] = ControlFlowInfo(out, here.frame, frame_name_of(out))
                else:
                    info[number] = here
                continue
            there = info[number]
            known = there.frame_name
            if out.kind.is_enter:
                assert there.parent_frame is not None
                known = info[there.parent_frame.id].frame_name
            if known != frame_name:
                _raise_different_frames(out, node, frame_name, first, known)
    _validate(graph, info)
    return info


def frame_name_of(enter: Node) -> str:
    """Return the name of the frame that an Enter leads into.

    Raises:
      InvalidArgumentError: the name is empty.
    """
    name = enter.attrs["frame_name"]
    text: str = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    if not text:
        raise errors.invalid_argument(
            f"The Enter {{{{node {enter.name}}}}} must have a frame name."
        ).naming(enter.name)
    return text


def _all_in_root(graph: Graph) -> list[ControlFlowInfo]:
    source = graph.source
    inside, outside = ControlFlowInfo(source, source), ControlFlowInfo()
    reached = [False] * graph.num_node_ids
    reached[source.id] = True
    stack = [source]
    while stack:
        for edge in stack.pop().out_edges:
            if not reached[edge.dst.id] and edge.dst.is_op:
                reached[edge.dst.id] = True
                stack.append(edge.dst)
    return [inside if is_reached else outside for is_reached in reached]


def _raise_different_frames(
    out: Node, node: Node, frame_name: str, first: Node, first_frame_name: str
) -> NoReturn:
    raise errors.invalid_argument(
        f"{{{{node {out.name}}}}} has inputs from different frames. "
        f"The input {{{{node {node.name}}}}} is in frame '{frame_name}'. "
        f"The input {{{{node {first.name}}}}} is in frame '{first_frame_name}'."
    ).naming(out.name)


def _validate(graph: Graph, info: list[ControlFlowInfo]) -> None:
    parents: dict[str, str] = {}
    loop_conds: dict[str, Node] = {}
    seen: set[int] = set()
    for node in graph.op_nodes():
        here = info[node.id]
        if here.frame is None or here.parent_frame is None:
            continue
        kind = node.kind
        if id(here) in seen and not (kind.crosses_frames or kind.is_loop_cond):
            continue  # ordinary nodes of a frame share the checks below
        seen.add(id(here))
        if kind.is_exit and not here.frame_name:
            raise errors.invalid_argument(
                f"Invalid Exit op: Cannot find a corresponding Enter op. ({{{{node {node.name}}}}})"
            ).naming(node.name)
        if kind.is_next_iteration and not here.frame_name:
            raise errors.invalid_argument(
                f"Invalid NextIteration op: it is in no loop. ({{{{node {node.name}}}}})"
            ).naming(node.name)
        parent = info[here.parent_frame.id].frame_name
        known = parents.setdefault(here.frame_name, parent)
        if known != parent:
            raise errors.internal(
                f'Invalid loop structure: Mismatched parent frames for "{here.frame_name}": '
                f'"{parent}" vs "{known}". The node giving this error: {{{{node {node.name}}}}}. '
                "Give each loop a frame name of its own."
            ).naming(node.name)
        if kind.is_loop_cond:
            other = loop_conds.get(here.frame_name)
            # Two loops may share a frame in one case only: the counters of a loop and of its
            # gradient.
            if (
                other is not None
                and "LoopCounter" not in other.name
                and "LoopCounter" not in node.name
            ):
                raise errors.invalid_argument(
                    f'Invalid loop structure: Loop "{here.frame_name}" has more than one LoopCond '
                    f"node: {{{{node {node.name}}}}} and {{{{node {other.name}}}}}. "
                    "Give each loop a frame name of its own."
                ).naming(node.name)
            loop_conds[here.frame_name] = node
