"""Lowering of While to a frame of Enter, Merge, Switch, NextIteration and Exit.

Corresponds to TensorFlow's ``lower_while_op.cc``; the new nodes have the same names as there.  For
each loop variable of ``loop: While(x)``::

    x -> enter -> merge -> switch -> exit -> consumers
                    ^        `-> body call -> next_iteration -.
                    `-----------------------------------------'

A resource enters by a constant Enter and bypasses the loop: the result is the handle that was
passed in.  The condition and the body are calls, which :mod:`lower_functional_ops` inlines next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.functions.called_functions import MULTI_DEVICE
from tfnb.common_runtime.functions.inline_function import stand_in
from tfnb.core import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.graph.graph import Graph, Node


def why_not(node: Node) -> str:
    """Return why a loop cannot be lowered, or ""."""
    if all(dtype.base_dtype is dtypes.resource for dtype in node.input_types):
        return "it has no variables that change"
    return ""


def rewrite_while_node(graph: Graph, node: Node, *, keep_fetchable: bool) -> list[Node]:
    """Replace a While or StatelessWhile; return the calls of its condition and body."""
    return _LowerWhileHelper(graph, node).run(keep_fetchable)


class _LowerWhileHelper:
    """One replacement; lists are by loop variable, with None for a resource without the node."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.node = node
        self.origin = node.original_names or (node.name,)
        self.sources = [(edge.src, edge.src_output) for edge in node.input_edges()]
        self.types = [dtype.base_dtype for dtype in node.input_types]

    def _add(
        self, what: str, op: str, attrs: dict[str, Any], *inputs: tuple[Node, int], device: str
    ) -> Node:
        return self._add_named(self._new_name(what), op, attrs, *inputs, device=device)

    def _add_named(
        self, name: str, op: str, attrs: dict[str, Any], *inputs: tuple[Node, int], device: str
    ) -> Node:
        node = self.graph.add_node(name, op, attrs, device=device, original_names=self.origin)
        self.graph.add_inputs(node, inputs)
        return node

    def _new_name(self, what: str) -> str:
        return self.graph.new_name(f"{self.node.name}/{what}")

    def _call(self, name: str, function: NameAttrList, inputs: Sequence[tuple[Node, int]]) -> Node:
        attrs = {**function.attrs, MULTI_DEVICE: True}
        device = self.node.requested_device
        return self._add_named(name, function.name, attrs, *inputs, device=device)

    def run(self, keep_fetchable: bool) -> list[Node]:
        """Make the new nodes and remove the old one."""
        graph, node = self.graph, self.node
        cond_name, body_name = self._new_name("cond"), self._new_name("body")
        enters = self._enters()
        merges: list[Node | None] = []
        for enter, dtype in zip(enters, self.types, strict=True):
            if dtype is dtypes.resource:
                merges.append(None)
                continue
            # The second input is the NextIteration, which does not exist yet.
            attrs = {"T": dtype, "N": 2}
            device = enter.requested_device
            merges.append(self._add("merge", "Merge", attrs, (enter, 0), device=device))
        first = next(merge for merge in merges if merge is not None)
        current = [(merge or enter, 0) for merge, enter in zip(merges, enters, strict=True)]
        cond = self._call(cond_name, node.attrs["cond"], current)
        # Constants of the condition belong into the frame.
        graph.add_control_edge(first, cond)
        answer = (cond, 0)
        if cond.output_types[0].base_dtype is not dtypes.bool:
            attrs = {"T": cond.output_types[0].base_dtype}
            to_bool = self._add("to_bool", "ToBool", attrs, answer, device=node.requested_device)
            answer = (to_bool, 0)
        loop_cond = self._add("LoopCond", "LoopCond", {}, answer, device=node.requested_device)
        switches = self._switches(merges, loop_cond)
        pivot = next(switch for switch in switches if switch is not None)
        control = self._add(
            "loop_body_control",
            "Identity",
            {"T": pivot.output_types[1].base_dtype},
            (pivot, 1),
            device=node.requested_device,
        )
        given = [
            (switch, 1) if switch is not None else (enter, 0)
            for switch, enter in zip(switches, enters, strict=True)
        ]
        body = self._call(body_name, node.attrs["body"], given)
        graph.add_control_edge(control, body)
        self._connect_outputs(switches, keep_fetchable)
        for index, merge in enumerate(merges):
            if merge is None:
                continue
            following = self._add(
                "next_iteration",
                "NextIteration",
                {"T": self.types[index]},
                (body, index),
                device=merge.requested_device,
            )
            graph.add_control_edge(body, following)
            graph.add_edge(following, 0, merge, 1)
        return [cond, body]

    def _enters(self) -> list[Node]:
        before = [src for src in self.node.control_inputs() if src.is_op]
        enters = []
        for source, dtype in zip(self.sources, self.types, strict=True):
            attrs = {
                "T": dtype,
                "frame_name": self.node.name.encode(),
                "parallel_iterations": self.node.attrs.get("parallel_iterations", 10),
                "is_constant": dtype is dtypes.resource,
            }
            device = source[0].requested_device
            enter = self._add("enter", "Enter", attrs, source, device=device)
            for src in before:
                self.graph.add_control_edge(src, enter)
            enters.append(enter)
        return enters

    def _switches(self, merges: Sequence[Node | None], loop_cond: Node) -> list[Node | None]:
        switches: list[Node | None] = []
        for index, merge in enumerate(merges):
            if merge is None:
                switches.append(None)
                continue
            switches.append(
                self._add(
                    f"{self.sources[index][0].name}_switch",
                    "Switch",
                    {"T": self.types[index]},
                    (merge, 0),
                    (loop_cond, 0),
                    device=merge.requested_device,
                )
            )
        return switches

    def _connect_outputs(self, switches: Sequence[Node | None], keep_fetchable: bool) -> None:
        graph, node = self.graph, self.node
        results: list[tuple[Node, int]] = []
        exits = []
        for index, switch in enumerate(switches):
            if switch is None:
                results.append(self.sources[index])
                continue
            attrs = {"T": self.types[index]}
            device = switch.requested_device
            leave = self._add("exit", "Exit", attrs, (switch, 0), device=device)
            exits.append(leave)
            results.append((leave, 0))
        executed = self._add("LoopExecuted", "NoOp", {}, device=node.requested_device)
        for leave in exits:
            graph.add_control_edge(leave, executed)
        for edge in list(node.out_edges):
            if not edge.is_control:
                src, output = results[edge.src_output]
                graph.update_edge(src, output, edge.dst, edge.dst_input)
            elif edge.dst.is_op:
                graph.add_control_edge(executed, edge.dst)
        graph.remove_node(node)
        stand_in(graph, node, results, executed, keep_fetchable)
