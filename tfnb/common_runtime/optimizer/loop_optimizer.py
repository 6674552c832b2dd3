"""Removes the side of a conditional that a constant predicate never takes.

It works only outside of loops, and only if all dead nodes are inside the conditional: where
deadness is visible outside (a fetched tensor, a target, a loop that never started), nothing is
changed. Corresponds to the dead branch removal of TensorFlow's ``loop_optimizer.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.common_runtime.optimizer.static_shapes import control_inputs_of
from tfnb.core import dtypes
from tfnb.core.attr_value import TensorAttr

if TYPE_CHECKING:
    from tfnb.common_runtime.optimizer.graph_rewriter import GraphRewriter
    from tfnb.common_runtime.optimizer.optimization_registry import OptimizationPassOptions
    from tfnb.graph.graph import Edge, Node

_SWITCH = frozenset(["Switch"])


def remove_dead_branches(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Remove the Switch and Merge nodes of conditionals with a constant predicate."""
    switches = [node for node in rewriter.nodes_of(_SWITCH) if _is_decided(rewriter, node)]
    fate = _what_dies(rewriter, switches) if switches else None
    if fate is None:
        return []
    dead, live = fate
    actions = [_take_merge_out(rewriter, merge, edge) for merge, edge in live.items()]
    rewriter.graph.remove_nodes(dead)
    actions += [f"'{node.name}' ({node.op}) never runs" for node in dead]
    actions += [_take_switch_out(rewriter, switch) for switch in switches]
    return actions


def _is_decided(rewriter: GraphRewriter, node: Node) -> bool:
    if node.name in rewriter.targets:
        return False
    inputs = rewriter.inputs(node)
    # A predicate that waits for nothing is outside of all frames, and so is its Switch.
    if inputs is None or inputs[1][0].op != "Const" or control_inputs_of(inputs[1][0]):
        return False
    return not control_inputs_of(node) and not inputs[0][0].is_switch


def _taken(switch: Node) -> int:
    return int(bool(switch.input_node(1).attrs["value"].value()))


def _what_dies(
    rewriter: GraphRewriter, switches: list[Node]
) -> tuple[list[Node], dict[Node, Edge]] | None:
    """Return the nodes that are dead in every step, and the live inputs of the Merges behind them.

    Return None if the deadness of one is visible outside the conditionals.
    """
    dead: dict[Node, None] = {}
    dead_edges: set[Edge] = set()
    merges: dict[Node, None] = {}
    waiting = [
        edge
        for switch in switches
        for edge in switch.out_edges
        if not edge.is_control and edge.src_output != _taken(switch)
    ]
    while waiting:
        edge = waiting.pop()
        dead_edges.add(edge)
        node = edge.dst
        if node in dead:
            continue
        if node.is_merge:
            if node.op != "Merge" or any(e.is_control for e in node.in_edges):
                return None
            if not all(e in dead_edges for e in node.in_edges):
                merges[node] = None
                continue
            merges.pop(node, None)
        if _is_noticed(rewriter, node):
            return None
        dead[node] = None
        waiting += [out for out in node.out_edges if out.dst.is_op]
    live = {}
    for merge in merges:
        edges = [edge for edge in merge.in_edges if edge not in dead_edges]
        if len(edges) != 1 or edges[0].src.is_next_iteration:
            return None
        live[merge] = edges[0]
    return list(dead), live


def _is_noticed(rewriter: GraphRewriter, node: Node) -> bool:
    """Return whether the node's deadness is visible outside the conditional."""
    return (
        node.name in rewriter.targets
        or node.is_retval
        or node.is_send
        or node.is_control_trigger
        or node.is_enter
        or node.is_exit
        or node.is_next_iteration
        or not any(edge.dst.is_op for edge in node.out_edges)
    )


def _take_merge_out(rewriter: GraphRewriter, merge: Node, live: Edge) -> str:
    """Replace the Merge by an Identity of its live input; its index is a constant."""
    index = live.dst_input
    readers = [edge for edge in merge.out_edges if edge.src_output == 1]
    graph = rewriter.graph
    if readers:
        value = TensorAttr.from_value(np.asarray(index, np.int32), dtypes.int32)
        position = graph.add_node(
            graph.new_name(f"{merge.name}/value_index"),
            "Const",
            {"dtype": dtypes.int32, "value": value},
            assigned_device=merge.assigned_device,
            original_names=[merge.name],
        )
        graph.add_control_edge(merge, position)
        rewriter.reorder()
        for edge in readers:
            graph.update_edge(position, 0, edge.dst, edge.dst_input)
    source = (live.src, live.src_output)
    rewriter.become(merge, "Identity", {"T": merge.output_types[0]}, [source])
    return f"'{merge.name}' (Merge) always takes its input {index}"


def _take_switch_out(rewriter: GraphRewriter, switch: Node) -> str:
    inputs = rewriter.inputs(switch)
    assert inputs is not None
    source, output = inputs[0]
    side = _taken(switch)
    for edge in list(switch.out_edges):
        if edge.is_control:
            if edge.dst.is_op:
                rewriter.graph.add_control_edge(source, edge.dst)
        else:
            rewriter.graph.update_edge(source, output, edge.dst, edge.dst_input)
    rewriter.graph.remove_node(switch)
    rewriter.changes += 1
    return f"'{switch.name}' (Switch) always gives its output {side}"
