"""Removes NoOps and redundant control edges.

A control edge means "after" and "alive only if": it is removed only where both follow from other
edges. Merge, ControlTrigger and the nodes at the borders of frames have their own liveness rules,
so the search stops at them.  Corresponds to TensorFlow's ``dependency_optimizer.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.optimizer.static_shapes import control_inputs_of
from tfnb.core import dtypes
from tfnb.core.op_registry import find, ops_with
from tfnb.core.op_traits import Trait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.common_runtime.optimizer.graph_rewriter import GraphRewriter
    from tfnb.common_runtime.optimizer.optimization_registry import OptimizationPassOptions
    from tfnb.core.op_registry import OpDefinition
    from tfnb.graph.graph import Edge, Node


# An unused gradient may still have control edges to the gradients of other inputs: ``tf.gradients``
# makes the gradients of one node wait for each other, by a NoOp of this name.
_GROUP = "_grad/tuple/group_deps"
_CANNOT_FAIL = ops_with(Trait.CANNOT_FAIL)
_INPUT_GRADIENTS = ops_with(Trait.INPUT_GRADIENT)
_MARKED_GRADIENTS = ops_with(Trait.MARKED_GRADIENT)
# Attributes that mark a node as the gradient of an input.
_MARKS = ("grad_a", "grad_b", "grad_x", "grad_y")


class _FreeOfEffects:
    """The ops whose nodes do nothing but compute their outputs."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def __contains__(self, op: object) -> bool:
        found = self._known.get(op)  # type: ignore[call-overload]
        if found is None:
            found = self._known[str(op)] = _is_free_of_effects(find(str(op)))
        return bool(found)


# Tensors enter and leave a graph, a frame or a device here, or have their own liveness rules.
_BORDERS = frozenset(
    (
        "Abort",
        "ControlTrigger",
        "Enter",
        "Exit",
        "LoopCond",
        "Merge",
        "NextIteration",
        "Switch",
        "_Arg",
        "_DeviceArg",
        "_DeviceRetval",
        "_Retval",
        "_SwitchN",
    )
)


def _is_free_of_effects(definition: OpDefinition | None) -> bool:
    if definition is None or definition.is_stateful or definition.effects:
        return False
    if definition.name in _BORDERS or definition.traits & _NEEDED:
        return False
    op_def = definition.op_def
    changes_more = any(one.is_ref or one.type in _HANDLES for one in op_def.inputs)
    has_functions = any("func" in one.type for one in op_def.attrs)
    return bool(op_def.outputs) and not changes_more and not has_functions


_HANDLES = (dtypes.resource, dtypes.variant)
_NEEDED = frozenset((Trait.REPORTS, Trait.PLACEHOLDER, Trait.VARIABLE, Trait.NOT_CONSTANT))
_FREE_OF_EFFECTS = _FreeOfEffects()
_IDLE = frozenset(["Const", "NoOp"])
_NO_OP = frozenset(["NoOp"])
# Maximum number of nodes visited to find a node's redundant control edges.
_MAX_LOOK_BACK = 200


def clean_dependencies(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Clean up a graph's control edges."""
    return [
        *_drop_edges_from_constants(rewriter),
        *_become_no_ops(rewriter),
        *_bypass_no_ops(rewriter),
        *_drop_implied_edges(rewriter),
    ]


def _drop_edges_from_constants(rewriter: GraphRewriter) -> list[str]:
    """Remove control edges from constants and NoOps that have no control inputs."""
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
    """Return whether a control edge into the node means only "after, and alive only if".

    A node that loses its last edge inside a frame would run outside of it.  This does not happen
    here: nodes that are always alive are outside of all frames, and then their consumers are too.
    """
    return not (node.is_merge or node.is_control_trigger)


def _become_no_ops(rewriter: GraphRewriter) -> list[str]:
    """Turn a node without effects and data consumers into a NoOp with control inputs."""
    actions = []
    idle: set[Node] = set()  # members of groups, and what only they read
    # In reverse order: a node that became a NoOp may leave its inputs without data consumers.
    for node in reversed(rewriter.nodes_of(_FREE_OF_EFFECTS)):
        if not _only_orders(node) or node.name in rewriter.targets:
            continue
        is_part = _belongs_to(node, idle)
        if not is_part and not _need_not_run(node):
            continue
        inputs = rewriter.inputs(node)
        if inputs is None:
            continue
        sources = list(dict.fromkeys(source for source, _ in inputs))
        if any(one.is_switch or one.assigned_device != node.assigned_device for one in sources):
            continue
        op = node.op
        rewriter.become(node, "NoOp", {}, (), sources)
        if is_part:
            idle.add(node)
        actions.append(f"'{node.name}' ({op}) only orders others: it became a NoOp")
    return actions


def _only_orders(node: Node) -> bool:
    """Return whether nodes wait for the node, but none reads its outputs."""
    has_any = False
    for edge in node.out_edges:
        if not edge.is_control:
            return False
        has_any = has_any or edge.dst.is_op
    return has_any


def _need_not_run(node: Node) -> bool:
    if node.op in _MARKED_GRADIENTS:
        return any(node.attrs.get(mark) for mark in _MARKS)
    return node.op in _CANNOT_FAIL or node.op in _INPUT_GRADIENTS


def _belongs_to(node: Node, idle: set[Node]) -> bool:
    """Return whether a group, or nodes that compute nothing any more, are all that waits for it."""
    for edge in node.out_edges:
        waiting = edge.dst
        is_group = waiting.op == "NoOp" and waiting.name.endswith(_GROUP)
        if waiting.is_op and waiting not in idle and not is_group:
            return False
    return True


def _bypass_no_ops(rewriter: GraphRewriter) -> list[str]:
    """Replace a NoOp by edges from its control inputs to its consumers, if that adds no edges."""
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
    """Remove control edges that are implied by a longer path from the same node."""
    order = rewriter.order()
    nodes = [node for node in order if 2 <= len(node.in_edges) != len(node.data_in_edges)]
    position = {node: index for index, node in enumerate(order)} if nodes else {}
    implied = [edge for node in nodes for edge in _implied_edges(node, position)]
    # All can be removed at once: the longest path between two nodes has no implied edge.
    rewriter.remove_edges(implied)
    return [f"'{edge.dst.name}' waits for '{edge.src.name}' anyway" for edge in implied]


def _implied_edges(node: Node, position: Mapping[Node, int]) -> list[Edge]:
    """Return the control edges into a node whose order and liveness follow from other edges."""
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
    # A node in front of all of them in the order cannot be reached from one of them.
    first = min(position.get(one, 0) for one in needed)
    waiting = [edge.src for edge in node.in_edges if position.get(edge.src, 0) > first]
    seen = set(waiting)
    limit = max(_MAX_LOOK_BACK, 2 * len(node.in_edges))
    while waiting and needed and limit:
        limit -= 1
        one = waiting.pop()
        # Inputs of a Merge need not have run; inputs of a border node ran in another frame.
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
