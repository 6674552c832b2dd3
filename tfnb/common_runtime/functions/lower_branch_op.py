"""Lowering of If and Case to Switch and Merge.

Corresponds to TensorFlow's ``lower_if_op.cc`` and ``lower_case_op.cc``; the new nodes have the same
names as there.  For ``cond: If(p, x)``::

    p -> cond/switch_pred -> cond/pivot_f -^-> cond/else --.
                         `-> cond/pivot_t -^-> cond/then ---> cond/output (Merge) -> consumers
    x -> cond/x (Switch on p) ------------------'

The branches are calls, which :mod:`lower_functional_ops` inlines next.  Control successors of the
If become those of ``cond/branch_executed``, a Merge of the pivots behind both calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.functions.called_functions import MULTI_DEVICE
from tfnb.common_runtime.functions.inline_function import stand_in
from tfnb.core import dtypes
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.graph.graph import Graph, Node


@record(frozen=True, slots=True)
class _Kind:
    """The differences of If and Case: names of nodes, and the Switch output of each branch.

    Attributes:
      calls: the names of the calls, by branch.
      switch: the name of the Switch that feeds the pivots.
      pivots: (name, branch), in the order of creation.
      merge: the name of each output's Merge.
      outputs: for each branch, its output of a Switch.
    """

    calls: Sequence[str]
    switch: str
    pivots: Sequence[tuple[str, int]]
    merge: str
    outputs: Sequence[int]


_IF = _Kind(
    ("then", "else"), "switch_pred", (("pivot_f", 1), ("pivot_t", 0)), "output", outputs=(1, 0)
)


def rewrite_if_node(graph: Graph, node: Node, *, keep_fetchable: bool) -> list[Node]:
    """Replace an If or StatelessIf; return the calls of its branches."""
    branches = [node.attrs["then_branch"], node.attrs["else_branch"]]
    return _Branching(graph, node, branches, _IF).run(keep_fetchable)


def rewrite_case_node(graph: Graph, node: Node, *, keep_fetchable: bool) -> list[Node]:
    """Replace a Case or StatelessCase; return the calls of its branches."""
    branches = node.attrs["branches"]
    numbers = range(len(branches))
    kind = _Kind(
        [f"branch{number}" for number in numbers],
        "branch_index",
        [(f"pivot_{number}", number) for number in numbers],
        "merge",
        numbers,
    )
    return _Branching(graph, node, branches, kind).run(keep_fetchable)


class _Branching:
    """The replacement of one node."""

    def __init__(
        self, graph: Graph, node: Node, branches: Sequence[NameAttrList], kind: _Kind
    ) -> None:
        self.graph = graph
        self.node = node
        self.branches = branches
        self.kind = kind
        self.device = node.requested_device
        self.origin = node.original_names or (node.name,)
        edges = node.input_edges()
        self.chooser = edges[0].src, edges[0].src_output
        self.inputs = [(edge.src, edge.src_output) for edge in edges[1:]]

    def _add(
        self, name: str, op: str, attrs: dict[str, Any], *inputs: tuple[Node, int], device: str
    ) -> Node:
        node = self.graph.add_node(name, op, attrs, device=device, original_names=self.origin)
        self.graph.add_inputs(node, inputs)
        return node

    def _new_name(self, what: str) -> str:
        return self.graph.new_name(f"{self.node.name}/{what}")

    def run(self, keep_fetchable: bool) -> list[Node]:
        """Make the new nodes and remove the old one."""
        graph, kind = self.graph, self.kind
        names = [self._new_name(name) for name in kind.calls]
        if self.chooser[0].output_types[self.chooser[1]].base_dtype is not self._chooser_type:
            source, output = self.chooser
            attrs = {"T": source.output_types[output].base_dtype}
            to_bool = self._add(
                self._new_name("to_bool"), "ToBool", attrs, self.chooser, device=self.device
            )
            self.chooser = (to_bool, 0)
        root = self._switch(self._new_name(kind.switch), self.chooser, self.device, ())
        for src in self.node.control_inputs():
            if src.is_op:
                graph.add_control_edge(src, root)
        pivots: dict[int, Node] = {}
        for name, branch in kind.pivots:
            pivots[branch] = self._add(
                self._new_name(name),
                "Identity",
                {"T": self._chooser_type},
                (root, kind.outputs[branch]),
                device=self.device,
            )
        switches = [
            self._switch(
                self._new_name(source[0].name),
                source,
                source[0].requested_device,
                [b"loc:@" + source[0].name.encode()],
            )
            for source in self.inputs
        ]
        calls = []
        for branch, (name, function) in enumerate(zip(names, self.branches, strict=True)):
            given = [(switch, kind.outputs[branch]) for switch in switches]
            marked = {**function.attrs, MULTI_DEVICE: True}
            call = self._add(name, function.name, marked, *given, device=self.device)
            graph.add_control_edge(pivots[branch], call)
            calls.append(call)
        self._connect_outputs(calls, [pivots[b] for b in sorted(pivots)], keep_fetchable)
        return calls

    @property
    def _chooser_type(self) -> Any:
        return dtypes.bool if self.kind is _IF else dtypes.int32

    def _switch(
        self, name: str, data: tuple[Node, int], device: str, group: Sequence[bytes]
    ) -> Node:
        attrs: dict[str, Any] = {"T": data[0].output_types[data[1]].base_dtype}
        if group:
            attrs["_class"] = list(group)
        op = "Switch"
        if self.kind is not _IF:
            op, attrs["num_outs"] = "_SwitchN", len(self.branches)
        return self._add(name, op, attrs, data, self.chooser, device=device)

    def _connect_outputs(
        self, calls: Sequence[Node], pivots: Sequence[Node], keep_fetchable: bool
    ) -> None:
        graph, node = self.graph, self.node
        merges = []
        for output, dtype in enumerate(node.output_types):
            attrs = {"T": dtype.base_dtype, "N": len(calls)}
            sources = [(call, output) for call in calls]
            name = self._new_name(self.kind.merge)
            merges.append(self._add(name, "Merge", attrs, *sources, device=self.device))
        executed = self._add(
            self._new_name("branch_executed"),
            "Merge",
            {"T": self._chooser_type, "N": len(calls)},
            *[(pivot, 0) for pivot in pivots],
            device=self.device,
        )
        for call in calls:
            graph.add_control_edge(call, executed)
        for edge in list(node.out_edges):
            if not edge.is_control:
                graph.update_edge(merges[edge.src_output], 0, edge.dst, edge.dst_input)
            elif edge.dst.is_op:
                graph.add_control_edge(executed, edge.dst)
        graph.remove_node(node)
        stand_in(graph, node, [(merge, 0) for merge in merges], executed, keep_fetchable)
