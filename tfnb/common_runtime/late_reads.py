"""Values of reference variables that are read where they are used, not where they are named.

In TensorFlow an Identity of a variable copies nothing: its output is the variable's own buffer, and
an assignment writes into that buffer.  So an op that waits for the assignment sees what was
assigned, although it takes the value from an Identity that ran long before::

    with tf.control_dependencies([v.assign(5.0)]):
        y = v * 2.0                     # reads "v/read"; is 10.0

Here arrays are never written to while somebody holds them.  The same comes about by handing on the
variable's cell through Identity, Switch, Merge, Enter, Exit and NextIteration, and by reading it
where an op computes with it, or at the end of the step where it is fetched.

Where the edges leave open whether a variable is read or written first, it is read first, be it one
of references or of handles: a loss that is fetched together with a training step is that of the
weights from before.  In TensorFlow this is mostly so, as it begins cheap ops at once and hands the
others to threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.graph.graph import Edge, Graph, Node

HANDING_ON = frozenset(["Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration"])
_NOT_WRITING = frozenset(
    [
        "RefIdentity",
        "RefSwitch",
        "RefMerge",
        "RefSelect",
        "RefEnter",
        "RefExit",
        "RefNextIteration",
        "IsVariableInitialized",
    ]
)


_READING_HANDLES = frozenset(["ReadVariableOp", "ResourceGather", "ResourceGatherNd"])
_WRITING_HANDLES = ("Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter")


@dataclass(slots=True)
class LateReads:
    """Who hands on, reads and writes the variables of a graph, by node number.

    Attributes:
      handing_on: nodes without a reference output that give a variable's cell all the same.
      readers: nodes that compute with the values of variables, and which variables these are.
      writers: nodes that write to a variable, and which one it is.
    """

    handing_on: set[int] = field(default_factory=set)
    readers: dict[int, list[int]] = field(default_factory=dict)
    writers: dict[int, int] = field(default_factory=dict)

    def hands_on(self, node: Node, position: int) -> bool:
        """Whether the node gives this input to the nodes behind it as it came."""
        return node.id in self.handing_on and (position == 0 or node.kind.is_merge)

    def writers_with_readers(self) -> set[int]:
        """The writers of variables that somebody else reads."""
        readers: dict[int, set[int]] = {}
        for reader, variables in self.readers.items():
            for variable in variables:
                readers.setdefault(variable, set()).add(reader)
        return {
            writer
            for writer, variable in self.writers.items()
            if readers.get(variable, set()) - {writer}
        }


def find_late_reads(graph: Graph) -> LateReads:
    """Follows the variables of a graph to whatever takes their values."""
    found = LateReads()
    for node in graph.op_nodes():
        if node.op == "VarHandleOp":
            _follow(node, _meet_handle, found)
        elif node.output_types and node.output_types[0].is_ref_dtype and not node.data_in_edges:
            _follow(node, _meet_cell, found)
    return found


def _follow(
    variable: Node, meet: Callable[[Edge, Node, LateReads], bool], found: LateReads
) -> None:
    """Goes from a variable to all that take it, and on where one hands it on."""
    seen = {variable.id}
    todo = [variable]
    while todo:
        for edge in todo.pop().out_edges:
            taker = edge.dst
            if (
                edge.dst_input < 0
                or not taker.is_op
                or (edge.src_output and edge.src.kind.is_merge)
            ):
                continue
            if meet(edge, variable, found) and taker.id not in seen:
                seen.add(taker.id)
                todo.append(taker)


def _meet_cell(edge: Edge, variable: Node, found: LateReads) -> bool:
    taker = edge.dst
    if not edge.src.output_types[edge.src_output].is_ref_dtype and (
        edge.src.id not in found.handing_on
    ):
        return False
    if taker.input_types[edge.dst_input].is_ref_dtype:
        if taker.op not in _NOT_WRITING:
            found.writers[taker.id] = variable.id
        return bool(taker.output_types) and taker.output_types[0].is_ref_dtype
    if _is_handing_on(edge):
        found.handing_on.add(taker.id)
        return True
    found.readers.setdefault(taker.id, []).append(variable.id)
    return False


def _meet_handle(edge: Edge, variable: Node, found: LateReads) -> bool:
    taker = edge.dst
    if taker.op in _READING_HANDLES:
        found.readers.setdefault(taker.id, []).append(variable.id)
    elif taker.op.startswith(_WRITING_HANDLES):
        # Of several the first is the variable itself, those behind it are the slots.
        found.writers.setdefault(taker.id, variable.id)
    return _is_handing_on(edge)


def _is_handing_on(edge: Edge) -> bool:
    return edge.dst.op in HANDING_ON and (edge.dst_input == 0 or edge.dst.kind.is_merge)


def gives_cell(node: Node, output: int) -> bool:
    """Whether an output is a variable's cell: a reference, or one that is handed on."""
    seen = set()
    todo = [(node, output)]
    while todo:
        node, output = todo.pop()
        if node.output_types[output].is_ref_dtype:
            return True
        if node.op in HANDING_ON and node.id not in seen and (output == 0 or node.kind.is_switch):
            seen.add(node.id)
            edges = node.data_in_edges.items()
            is_merge = node.kind.is_merge
            todo += [(e.src, e.src_output) for at, e in edges if is_merge or at == 0]
    return False
