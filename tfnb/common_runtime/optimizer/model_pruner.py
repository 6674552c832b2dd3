"""Takes out nodes that pass their input on, and says what a signature does not need at all.

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
    """Give the consumers of an Identity its input, where nothing hangs on the node itself.

    It stays where it is a target, waits for others, stands on another device than its input, reads
    a variable, or says to others which side of a Switch is alive.
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
    """Lets checks and prints do nothing; only on request, as it hides what they would say."""
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
    """Return what a signature left out of the session's graph, a line each, the first twenty by name.

    Args:
      full_graph: the session's graph.
      graph: what was made of it for one signature.
      feeds: names of the fed tensors: their placeholders are not missed.
    """
    fed = {parse_tensor_name(name)[0] for name in feeds}
    known, kept = full_graph.nodes_by_name, graph.nodes_by_name
    size = len([node for node in graph.op_nodes() if node.name in known])
    unneeded = full_graph.num_op_nodes - size - len([name for name in fed if name not in kept])
    # Not op_nodes(), which takes a copy of all that there are.
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
