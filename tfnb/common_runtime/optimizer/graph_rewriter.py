"""Graph changes that preserve all results; optimizers are built from them.

This module enforces these rules for all optimizers:

* a target node keeps its name and is never removed; * consumers of a removed node wait for the
nodes that it waited for; a node that could be dead can still be dead: each output of a Switch has
its own liveness, so a control edge never moves onto a Switch;
* a tensor never becomes a reference, and no computation moves to another device;
* floating point sums depend on the memory layout of an array.  A tensor replaces another only if
  both have the same layout (:meth:`GraphRewriter.lies_in_order`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.optimizer.static_shapes import (
    StaticShapes,
    constant_of,
    control_inputs_of,
    inputs_of,
)
from tfnb.core.attr_value import TensorAttr
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.graph.algorithm import nodes_before, reverse_post_order
from tfnb.graph.graph import SINK_ID
from tfnb.graph.late_reads import HANDING_ON, gives_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.graph.graph import Edge, Graph, Node

    type_of_tensor = tuple[Node, int]

_IN_C_ORDER = ops_with(Trait.C_ORDER)
_SAME_LAYOUT = ops_with(Trait.SAME_LAYOUT)
_FORWARDING = ops_with(Trait.FORWARDS)
_MAX_LOOK_BACK = 32


class GraphRewriter:
    """A graph that optimizers change.

    Attributes:
      graph: the graph.
      targets: names of nodes that must not be removed.
      shapes: the static shapes.
      changes: number of changes made.
    """

    def __init__(self, graph: Graph, targets: Iterable[str] = ()) -> None:
        self.graph = graph
        self.targets = frozenset(targets)
        self.shapes = StaticShapes(graph)
        self.changes = 0
        # Cached results of constant_if; no optimizer changes a constant.
        self._conditions: dict[tuple[Node, Callable[[Any], bool]], bool] = {}
        self._order: list[Node] | None = None  # None once a node may come before its inputs
        # An order, the number of changes then, and its nodes by op.
        self._by_op: tuple[list[Node], int, dict[str, list[Node]]] = ([], -1, {})
        # A node without consumers has an effect or is a result.
        self._roots = [
            node for node in graph.op_nodes() if node.name in self.targets or not is_consumed(node)
        ]

    # -- queries ---------------------------------------------------------------------------------

    def order(self) -> list[Node]:
        """Return the nodes in topological order, ignoring loop back edges."""
        return list(self._known_order())

    def _known_order(self) -> list[Node]:
        """Return the cached order itself; the caller does not change the graph meanwhile."""
        if self._order is None:
            self.graph.fixup_source_and_sink_edges()
            order = reverse_post_order(self.graph, back_edges=False)
            self._order = [node for node in order if node.id > SINK_ID]
        elif len(self._order) != self.graph.num_op_nodes:
            nodes = self.graph.nodes
            self._order = [node for node in self._order if nodes[node.id] is not None]
        return self._order

    def nodes_of(self, *ops: Container[str]) -> list[Node]:
        """Return the nodes of certain ops in topological order, ignoring loop back edges."""
        order = self._known_order()
        known, seen_at, by_op = self._by_op
        if known is not order or seen_at != self.changes:
            by_op = {}
            for node in order:
                alike = by_op.get(node.op)
                if alike is None:
                    by_op[node.op] = [node]
                else:
                    alike.append(node)
            self._by_op = (order, self.changes, by_op)
        wanted = {op for op in by_op if any(op in some for some in ops)}
        if len(wanted) == 1:
            return list(by_op[wanted.pop()])
        return [node for node in order if node.op in wanted] if wanted else []

    def reorder(self) -> None:
        """Discard the cached order; call it after adding a node or an input from a later node."""
        self._order = None

    def is_there(self, node: Node) -> bool:
        """Return whether the node has not been removed."""
        return self.graph.find_node(node.name) is node

    def inputs(self, node: Node) -> list[type_of_tensor] | None:
        """Return the input tensors of a node; None if one is missing or a reference."""
        found = inputs_of(node)
        if found is not None:
            for src, output in found:
                if src.output_types[output].is_ref_dtype:
                    return None
        return found

    def constant_if(
        self, condition: Callable[[Any], bool], tensor: type_of_tensor
    ) -> np.ndarray[Any, Any] | None:
        """Return the value of a constant tensor if the condition holds for it, else None.

        The answer is cached, so that a constant with many consumers is examined once.
        """
        node = tensor[0]
        if not (node.kind.is_constant or node.kind.is_enter):
            return None
        value = constant_of(tensor)
        if value is None:
            return None
        holds = self._conditions.get((node, condition))
        if holds is None:
            holds = self._conditions[node, condition] = condition(value)
        return value if holds else None

    def has_one_consumer(self, node: Node) -> bool:
        """Return whether exactly one edge, of any kind, leaves the node."""
        edges = (edge for edge in node.out_edges if edge.dst.id > SINK_ID)
        return next(edges, None) is not None and next(edges, None) is None

    def lies_in_order(self, tensor: type_of_tensor, *, c_order: bool = False) -> bool:
        """Return whether a tensor is known to be contiguous: a copy of it has the same layout.

        Args:
          tensor: the tensor.
          c_order: whether its last dimension must vary fastest.
        """
        waiting, seen = [tensor], 0
        while waiting:
            (node, output), seen = waiting.pop(), seen + 1
            if node.op in _IN_C_ORDER:
                continue
            if seen > _MAX_LOOK_BACK:
                return False
            if node.op in _SAME_LAYOUT and not c_order:
                continue
            if self.shapes.rank((node, output)) == 0:
                continue
            sources = self.inputs(node)
            if sources is None:
                return False
            if node.op in _FORWARDING:
                waiting += sources
            elif node.op in _SAME_LAYOUT:
                waiting += [one for one in sources if self.shapes.rank(one) != 0]
            elif node.op == "Reshape":
                if not self.lies_in_order(sources[0], c_order=True):
                    return False
            else:
                return False
        return True

    # -- changes --------------------------------------------------------------------------------

    def become(
        self,
        node: Node,
        op: str,
        attrs: Mapping[str, Any],
        inputs: Sequence[type_of_tensor],
        controls: Iterable[Node] = (),
    ) -> None:
        """Change the op and inputs of a node.

        If an input did not precede the node before, the caller must call :meth:`reorder`.

        Args:
          node: keeps its name, device, consumers and the nodes it waits for.
          op: the new op, with outputs of the same number and types.
          attrs: its attributes.
          inputs: its inputs.
          controls: further nodes to wait for.
        """
        self.changes += 1
        graph = self.graph
        for edge in [edge for edge in node.in_edges if edge.dst_input >= 0]:
            graph.remove_edge(edge)
        colocated = node.attrs.get("_class")
        graph.change_op(node, op, attrs if colocated is None else {**attrs, "_class": colocated})
        if inputs:
            graph.add_inputs(node, inputs)
        for control in controls:
            graph.add_control_edge(control, node)

    def become_constant(
        self, node: Node, value: Any, dtype: DType, controls: Iterable[Node] = ()
    ) -> None:
        """Replace a node with one output by a constant with the same control dependencies."""
        array = np.asarray(value)
        if array is not value:
            array.setflags(write=False)  # nothing else has it: it needs no view
        attr = TensorAttr.from_value(array, dtype)
        self.become(node, "Const", {"dtype": dtype, "value": attr}, (), controls)

    def become_constants(
        self, node: Node, values: Sequence[Any], controls: Iterable[Node] = ()
    ) -> None:
        """Replace a node without outgoing control edges by a constant for each output.

        Each constant waits for the nodes that the node waited for.
        """
        self.changes += 1
        graph = self.graph
        waits_for = dict.fromkeys([*control_inputs_of(node), *controls])
        consumers = list(node.out_edges)
        for output in sorted({edge.src_output for edge in consumers if not edge.is_control}):
            dtype = node.output_types[output]
            constant = graph.add_node(
                graph.new_name(f"{node.name}/output_{output}"),
                "Const",
                {"dtype": dtype, "value": TensorAttr.from_value(np.asarray(values[output]), dtype)},
                assigned_device=node.assigned_device,
                original_names=[node.name],
            )
            for control in waits_for:
                graph.add_control_edge(control, constant)
            for edge in consumers:
                if edge.src_output == output:
                    graph.update_edge(constant, 0, edge.dst, edge.dst_input)
        graph.remove_node(node)
        self.reorder()

    def stand_in(self, node: Node, tensor: type_of_tensor, controls: Iterable[Node] = ()) -> bool:
        """Replace the only output of a node by an equal tensor; remove the node if possible.

        A target, a node that waits for others, and one on another device become an Identity of the
        tensor instead.  A copy of a variable's value becomes a Snapshot: a consumer of the value
        itself would read it late (see late_reads.py).

        Args:
          node: the node whose output 0 equals ``tensor`` in every step.
          tensor: the tensor that its consumers get.
          controls: nodes that the node waited for through an input it no longer has.

        Returns:
          Whether the node was removed.
        """
        src, output = tensor
        waits_for = [*control_inputs_of(node), *controls]
        control_consumers = [
            edge.dst for edge in node.out_edges if edge.is_control and edge.dst.is_op
        ]
        is_copy = node.op not in HANDING_ON and gives_cell(src, output)
        must_stay = (
            is_copy
            or node.name in self.targets
            or waits_for
            or src.assigned_device != node.assigned_device
            or (control_consumers and src.is_switch)
            or src is node
        )
        if must_stay:
            op = "Snapshot" if is_copy else "Identity"
            if node.op != op:
                self.become(node, op, {"T": node.output_types[0]}, [tensor], controls)
            return False
        self.changes += 1
        for edge in list(node.out_edges):
            if not edge.is_control:
                self.graph.update_edge(src, output, edge.dst, edge.dst_input)
        for consumer in control_consumers:
            self.graph.add_control_edge(src, consumer)
        self.graph.remove_node(node)
        return True

    def remove_edges(self, edges: Sequence[Edge]) -> None:
        """Remove redundant control edges."""
        self.changes += len(edges)
        self.graph.remove_edges(edges)

    def remove_unneeded(self) -> list[Node]:
        """Remove and return the nodes that no target or original end node needs any more."""
        needed = nodes_before([node for node in self._roots if self.is_there(node)])
        unneeded = [node for node in self.graph.op_nodes() if node not in needed]
        self.graph.remove_nodes(unneeded)
        return unneeded


def is_consumed(node: Node) -> bool:
    """Return whether another node reads the node's outputs or waits for it."""
    for edge in node.out_edges:  # noqa: SIM110  # asked for every node of a graph
        if edge.dst.id > SINK_ID:
            return True
    return False
