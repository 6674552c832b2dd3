"""Removes nodes of a function's body that only connect other nodes.

TensorFlow's Grappler simplifies the bodies of ``PartitionedCall``, whose nodes cannot be fetched:
Identity nodes that pass a tensor on and NoOp nodes between control edges disappear, equal constants
become one.  The names of arguments and results are those of TensorFlow's component functions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tfnb.common_runtime.functions.lower_functional_ops import remove_identity
from tfnb.common_runtime.optimizer.constant_folding import node_key

if TYPE_CHECKING:
    from collections.abc import Collection

    from tfnb.graph.graph import Graph, Node


def component_function(graph: Graph, lasting: Collection[str], simplifies: bool) -> Graph:
    """Return the part of a body on one device, with results named as in TensorFlow.

    Args:
      graph: the body on one device, which is changed.
      lasting: nodes to keep although nothing waits for them.
      simplifies: whether to remove redundant nodes.
    """
    if simplifies:
        _simplify(graph, lasting)
    return _with_names_of_results(graph)


def _simplify(graph: Graph, lasting: Collection[str]) -> None:
    for node in list(graph.op_nodes()):
        if node.op == "Identity":
            _drop_needless_waits(graph, node, through_no_ops=False)
    # Last ones first, as in TensorFlow: a result that waits for a NoOp outlives the Identity it
    # reads.
    for node in reversed(list(graph.op_nodes())):
        if node.op == "Identity":
            remove_identity(graph, node)
    for node in list(graph.op_nodes()):
        if node.op == "NoOp":
            _bypass(graph, node, keep=node.name in lasting)
    for node in reversed(list(graph.op_nodes())):
        if node.op == "Identity":
            _hand_on_waits(graph, node)
            remove_identity(graph, node)
    for node in list(graph.op_nodes()):
        if node.op == "Identity":
            _drop_needless_waits(graph, node)
            remove_identity(graph, node)
    for node in list(graph.op_nodes()):
        if node.op == "Identity":
            _hand_on_waits(graph, node)
            if not remove_identity(graph, node):
                _repeat_constant(graph, node)
    _join_constants(graph)


def _drop_needless_waits(graph: Graph, node: Node, *, through_no_ops: bool = True) -> None:
    """Remove control edges into a node from nodes that already precede its data inputs."""
    waits = [edge for edge in node.in_edges if edge.is_control and edge.src.is_op]
    if not waits:
        return
    stack = [edge.src for edge in node.in_edges if not edge.is_control]
    before = set(stack)
    while stack:
        for edge in stack.pop().in_edges:
            # Behind a Merge, not all of its predecessors have run; behind a back edge, none has
            # yet.
            if edge.src not in before and not edge.dst.is_merge:
                before.add(edge.src)
                stack.append(edge.src)
    is_result = all(edge.dst.is_retval for edge in node.out_edges if edge.dst.is_op)
    for edge in waits:
        if edge.src in before or (through_no_ops and _is_after(edge.src, before, is_result)):
            graph.remove_edge(edge)


def _is_after(node: Node, before: set[Node], is_result: bool) -> bool:
    """Return whether waiting for a node is redundant after the nodes in ``before``.

    The node is one of them, or a NoOp that waits only for them; a result need not wait for a
    variable read.
    """
    if node in before or (is_result and node.op == "ReadVariableOp"):
        return True
    if node.op != "NoOp" or not any(edge.src.is_op for edge in node.in_edges):
        return False
    return all(_is_after(edge.src, before, is_result) for edge in node.in_edges)


def _bypass(graph: Graph, node: Node, *, keep: bool) -> None:
    """Connect a NoOp's inputs to its outputs directly, unless that takes more edges."""
    before = [edge.src for edge in node.in_edges if edge.src.is_op]
    after = [edge for edge in node.out_edges if edge.dst.is_op]
    if len(before) * len(after) > len(before) + len(after):
        return
    for edge in after:
        for src in before:
            graph.add_control_edge(src, edge.dst)
        graph.remove_edge(edge)
    if not keep:
        graph.remove_node(node)


def _hand_on_waits(graph: Graph, node: Node) -> None:
    """Move the control inputs of an Identity to its consumers, unless they are results."""
    waits = [edge for edge in node.in_edges if edge.is_control and edge.src.is_op]
    after = [edge.dst for edge in node.out_edges if edge.dst.is_op]
    num_inputs = len(waits) + 1
    if not waits or not after or num_inputs * len(after) > num_inputs + len(after):
        return
    if any(dst.is_retval or dst.is_merge for dst in after):
        return
    for edge in waits:
        for dst in after:
            graph.add_control_edge(edge.src, dst)
        graph.remove_edge(edge)


def _repeat_constant(graph: Graph, node: Node) -> None:
    """Turn an Identity that delays a constant by control edges into that constant."""
    data = [edge for edge in node.in_edges if not edge.is_control]
    const = data[0].src
    if not const.is_constant or any(edge.src.is_op for edge in const.in_edges):
        return
    graph.remove_edge(data[0])
    attrs = {name: const.attrs[name] for name in ("dtype", "value")}
    graph.change_op(node, "Const", attrs)
    if not any(edge.dst.is_op for edge in const.out_edges):
        graph.remove_node(const)


def _join_constants(graph: Graph) -> None:
    """Merge equal constants without control inputs; the last one stays."""
    last: dict[object, Node] = {}
    for node in reversed(list(graph.op_nodes())):
        if not node.is_constant or any(edge.src.is_op for edge in node.in_edges):
            continue
        key = node_key(node)
        if key is None:
            continue
        kept = last.setdefault(key, node)
        if kept is node:
            continue
        for edge in list(node.out_edges):
            if not edge.is_control:
                graph.update_edge(kept, 0, edge.dst, edge.dst_input)
            elif edge.dst.is_op:
                graph.add_control_edge(kept, edge.dst)
        graph.remove_node(node)


def _with_names_of_results(graph: Graph) -> Graph:
    """Return a copy whose ``_Retval`` nodes have the names of TensorFlow's component functions."""
    renamed = graph.empty_like()
    twin = {graph.source: renamed.source, graph.sink: renamed.sink}
    taken = {node.name for node in graph.op_nodes()}
    for node in graph.op_nodes():
        name = node.name
        if node.is_retval:
            name = re.sub(r"\W", "_", name).lower() + "_RetVal"
        twin[node] = renamed.copy_node(node, node.name if name in taken else name)
    for node in graph.op_nodes():
        for edge in node.in_edges:
            renamed.add_edge(twin[edge.src], edge.src_output, twin[node], edge.dst_input)
    renamed.fixup_source_and_sink_edges()
    return renamed
