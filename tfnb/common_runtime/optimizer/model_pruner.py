"""Removes nodes that only forward their input, and reports the unneeded nodes of a signature.

Corresponds to TensorFlow's ``model_pruner.cc`` and ``debug_stripper.cc``.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tfnb.common_runtime.optimizer.static_shapes import control_inputs_of
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.graph.graph import SINK_ID
from tfnb.graph.tensor_id import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.common_runtime.optimizer.graph_rewriter import GraphRewriter
    from tfnb.common_runtime.optimizer.optimization_registry import OptimizationPassOptions
    from tfnb.graph.graph import Graph

_PASSING_ON = ops_with(Trait.FORWARDS)
_SAYING = ops_with(Trait.REPORTS)
_MAX_NAMED = 20


def remove_identities(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Give the consumers of an Identity its input, if the Identity itself is not needed.

    It is needed if it is a target, waits for others, is on another device than its input, reads a
    variable, or carries control edges that depend on the live side of a Switch.
    """
    actions = []
    for node in rewriter.nodes_of(_PASSING_ON):
        if node.name in rewriter.targets:
            continue
        inputs = rewriter.inputs(node)
        if inputs is None or control_inputs_of(node):
            continue
        source, output = inputs[0]
        if source.assigned_device != node.assigned_device:
            continue
        if source.is_switch and any(e.is_control and e.dst.is_op for e in node.out_edges):
            continue
        op = node.op
        if rewriter.stand_in(node, inputs[0]):
            actions.append(f"'{node.name}' ({op}) only passes '{source.name}:{output}' on")
    return actions


def strip_debug_ops(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Disable checks and prints; only on request, because it hides what they would report."""
    actions = []
    for node in rewriter.nodes_of(_SAYING):
        if node.num_outputs:
            inputs = rewriter.inputs(node)
            if inputs is None:
                continue
            rewriter.become(node, "Identity", {"T": node.output_types[0]}, inputs[:1])
        else:
            rewriter.become(node, "NoOp", {}, ())
        actions.append(f"'{node.name}' says and checks nothing any more: it became {node.op}")
    return actions


def unneeded_report(full_graph: Graph, graph: Graph, feeds: Iterable[str]) -> list[str]:
    """Return the nodes that a signature left out, one line each; only the first twenty by name.

    Args:
      full_graph: the session's graph.
      graph: the graph made from it for one signature.
      feeds: names of the fed tensors, whose placeholders are not reported.
    """
    fed = {parse_tensor_name(name)[0] for name in feeds}
    known, kept = full_graph.nodes_by_name, graph.nodes_by_name
    size = len([node for node in graph.op_nodes() if node.name in known])
    unneeded = full_graph.num_op_nodes - size - len([name for name in fed if name not in kept])
    # Not op_nodes(), which copies the list of all nodes.
    nodes = itertools.islice(full_graph.nodes, SINK_ID + 1, None)
    missing = (
        f"'{node.name}' ({node.op}) is not needed"
        for node in nodes
        if node is not None and node.name not in kept and node.name not in fed
    )
    actions = list(itertools.islice(missing, min(unneeded, _MAX_NAMED)))
    if unneeded > len(actions):
        actions.append(f"and {unneeded - len(actions)} more are not needed")
    return actions
