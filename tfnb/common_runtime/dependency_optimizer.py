"""Takes out NoOps and control edges that order nothing.

A control edge says "after" and "alive only if": it goes only where both follow from other edges.
Merge, ControlTrigger and the nodes at the borders of frames have their own rules for what is alive,
so nothing is concluded through them.  Corresponds to TensorFlow's ``dependency_optimizer.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.static_shapes import control_inputs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.common_runtime.graph_rewriter import GraphRewriter
    from tfnb.common_runtime.optimization_registry import OptimizationPassOptions
    from tfnb.graph.graph import Edge, Node

# They compute nothing that anybody could miss, and cannot fail.
_ORDER_ONLY = frozenset(["Identity", "Shape", "Size", "Rank", "StopGradient", "Snapshot"])
# They compute the gradient of an input.  Where nobody takes it, another input's gradient waits for
# it all the same: ``tf.gradients`` lets those of one node wait for each other.
_GRADIENTS = frozenset(
    [
        "AvgPoolGrad",
        "BiasAddGrad",
        "Conv2DBackpropFilter",
        "Conv2DBackpropInput",
        "Conv3DBackpropFilterV2",
        "Conv3DBackpropInputV2",
        "DepthwiseConv2dNativeBackpropFilter",
        "DepthwiseConv2dNativeBackpropInput",
        "EluGrad",
        "LeakyReluGrad",
        "MaxPoolGrad",
        "ReluGrad",
        "Relu6Grad",
        "SeluGrad",
        "SigmoidGrad",
        "SoftplusGrad",
        "TanhGrad",
    ]
)
# Gradients only if an attribute says so: ops, and attributes of which one is set then.
_MARKED_GRADIENTS = {
    "MatMul": ("grad_a", "grad_b"),
    "BatchMatMul": ("grad_x", "grad_y"),
    "BatchMatMulV2": ("grad_x", "grad_y"),
    "BatchMatMulV3": ("grad_x", "grad_y"),
}
_MAY_BE_IDLE = _ORDER_ONLY | _GRADIENTS | _MARKED_GRADIENTS.keys()
_IDLE = frozenset(["Const", "NoOp"])
_NO_OP = frozenset(["NoOp"])
# How many nodes are looked at to find out which of a node's control edges say anything.
_MAX_LOOK_BACK = 200


def clean_dependencies(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Cleans up a graph's control edges."""
    return [
        *_drop_edges_from_constants(rewriter),
        *_become_no_ops(rewriter),
        *_bypass_no_ops(rewriter),
        *_drop_implied_edges(rewriter),
    ]


def _drop_edges_from_constants(rewriter: GraphRewriter) -> list[str]:
    """A constant that waits for nothing is there from the start."""
    idle = [
        edge
        for node in rewriter.nodes_of(_IDLE)
        if not control_inputs_of(node)
        for edge in node.out_edges
        if edge.is_control and edge.dst.is_op and _waits_plainly(edge.dst)
    ]
    rewriter.remove_edges(idle)
    return [f"'{e.dst.name}' need not wait for '{e.src.name}' ({e.src.op})" for e in idle]


def _waits_plainly(node: Node) -> bool:
    """Whether a control edge into the node means "after, and alive only if", and nothing else.

    A node that loses its last edge inside a frame would run outside of it; what is always there
    stands outside of all frames, and so then does the node.
    """
    return not (node.is_merge or node.is_control_trigger)


def _become_no_ops(rewriter: GraphRewriter) -> list[str]:
    """An Identity, or a gradient, that nobody reads only orders others: it takes no input."""
    actions = []
    # Last ones first: what was needed for one that is not may not be needed either.
    for node in reversed(rewriter.nodes_of(_MAY_BE_IDLE)):
        if node.name in rewriter.targets or not _is_idle(node):
            continue
        consumers = [edge for edge in node.out_edges if edge.dst.is_op]
        inputs = rewriter.inputs(node)
        if not consumers or inputs is None or not all(edge.is_control for edge in consumers):
            continue
        sources = list(dict.fromkeys(source for source, _ in inputs))
        if any(one.is_switch or one.assigned_device != node.assigned_device for one in sources):
            continue
        op = node.op
        rewriter.become(node, "NoOp", {}, (), sources)
        actions.append(f"'{node.name}' ({op}) only orders others: it became a NoOp")
    return actions


def _is_idle(node: Node) -> bool:
    marks = _MARKED_GRADIENTS.get(node.op)
    return marks is None or any(node.attrs.get(mark) for mark in marks)


def _bypass_no_ops(rewriter: GraphRewriter) -> list[str]:
    """Lets the consumers of a NoOp wait for what it waits for, where that takes no more edges."""
    actions = []
    for node in rewriter.nodes_of(_NO_OP):
        if node.name in rewriter.targets:
            continue
        sources = list(dict.fromkeys(control_inputs_of(node)))
        consumers = [edge.dst for edge in node.out_edges if edge.dst.is_op]
        if not consumers or not all(map(_waits_plainly, consumers)):
            continue
        if len(sources) * len(consumers) > len(sources) + len(consumers):
            continue
        devices = {other.assigned_device for other in (node, *sources, *consumers)}
        if len(devices) > 1:
            continue
        for consumer in consumers:
            for source in sources:
                rewriter.graph.add_control_edge(source, consumer)
        rewriter.graph.remove_node(node)
        rewriter.changes += 1
        actions.append(f"'{node.name}' (NoOp) was bypassed")
    return actions


def _drop_implied_edges(rewriter: GraphRewriter) -> list[str]:
    """A control edge beside a longer way from the same node says nothing."""
    order = rewriter.order()
    nodes = [node for node in order if 2 <= len(node.in_edges) != len(node.data_in_edges)]
    position = {node: index for index, node in enumerate(order)} if nodes else {}
    implied = [edge for node in nodes for edge in _implied_edges(node, position)]
    # Together they may go: the longest way between two nodes has no edge that is implied.
    rewriter.remove_edges(implied)
    return [f"'{edge.dst.name}' waits for '{edge.src.name}' anyway" for edge in implied]


def _implied_edges(node: Node, position: Mapping[Node, int]) -> list[Edge]:
    """The control edges into a node from others that it comes after, and is dead with, anyway."""
    if not _waits_plainly(node) or _is_border(node):
        return []
    given = {edge.src for edge in node.in_edges if not edge.is_control}
    implied = []
    needed: dict[Node, Edge] = {}
    for edge in node.in_edges:
        if edge.is_control and edge.src.is_op:
            if edge.src in given:
                implied.append(edge)
            else:
                given.add(edge.src)
                needed[edge.src] = edge
    if not needed:
        return implied
    # What comes before all of them cannot come after one of them.
    first = min(position.get(one, 0) for one in needed)
    waiting = [edge.src for edge in node.in_edges if position.get(edge.src, 0) > first]
    seen = set(waiting)
    limit = max(_MAX_LOOK_BACK, 2 * len(node.in_edges))
    while waiting and needed and limit:
        limit -= 1
        one = waiting.pop()
        # What is behind a Merge need not have run; what is behind a border ran in another frame.
        if one.is_merge or one.is_control_trigger or _is_border(one):
            continue
        for edge in one.in_edges:
            longer = needed.pop(edge.src, None)
            if longer is not None:
                implied.append(longer)
            if edge.src not in seen and position.get(edge.src, 0) > first:
                seen.add(edge.src)
                waiting.append(edge.src)
    return implied


def _is_border(node: Node) -> bool:
    return node.is_enter or node.is_exit or node.is_next_iteration
