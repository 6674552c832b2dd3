"""Reads of reference variables where their values are used, not at the Identity of the variable.

In TensorFlow an Identity of a variable copies nothing: its output is the variable's own buffer, and
an assignment writes into that buffer.  An op that waits for the assignment therefore sees the
assigned value, although it takes it from an Identity that ran before::

    with tf.control_dependencies([v.assign(5.0)]):
        y = v * 2.0                     # reads "v/read"; is 10.0

In tfnb an array is never written while another holder may see it.  The same behaviour results from
passing the variable's cell through Identity, Switch, Merge, Enter, Exit and NextIteration, and
reading it where an op computes with it, or at the end of the step where it is fetched.  Between CPU
devices of one task, the cell is sent to readers that come after a writer; other readers get the
value of the moment at which it is sent.

If the edges do not order a read and a write of a variable, the read comes first, both for reference
and for resource variables: a loss that is fetched together with a training step uses the weights
from before.  TensorFlow mostly behaves like this, because it runs cheap ops at once and the others
in threads.  A read that depends on more large products and convolutions than the update comes after
the update (:func:`order_early_writers`): weights clipped beside a forward pass are clipped before
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.process.records import field, record
from tfnb.graph.algorithm import reverse_post_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tfnb.graph.graph import Edge, Graph, Node

HANDING_ON = frozenset(["Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration"])
# Attribute of a Send that passes the variable's cell to a Recv that is only fetched.
SENDS_CELL = "_sends_cell"
# Attribute of a Send and its Recv on two CPU devices of one task: they pass the variable's cell on.
PASSES_CELL = "_passes_cell"
_NOT_WRITING = ops_with(Trait.KEEPS_REFERENCE)
_READING = ops_with(Trait.READS_VARIABLE)
_WRITING = ops_with(Trait.WRITES_VARIABLE)
_PRODUCTS = ops_with(Trait.PRODUCT)
# Products are slow when the weights they read have at least this many elements.
_LARGE_WEIGHTS = 1024


@record(slots=True)
class LateReads:
    """The nodes that pass on, read and write the variables of a graph, by node number.

    Attributes:
      handing_on: nodes without a reference output that nevertheless output a variable's cell.
      readers: node that computes with the values of variables -> these variables.
      writers: node that writes a variable -> that variable.
    """

    handing_on: set[int] = field(default_factory=set)
    readers: dict[int, list[int]] = field(default_factory=dict)
    writers: dict[int, int] = field(default_factory=dict)

    def hands_on(self, node: Node, position: int) -> bool:
        """Return whether the node passes this input on unchanged."""
        return node.id in self.handing_on and (position == 0 or node.kind.is_merge)

    def writers_with_readers(self) -> set[int]:
        """Return the writers of variables that other nodes read."""
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
    """Follow the variables of a graph to all nodes that use their values."""
    found = LateReads()
    for node in graph.op_nodes():
        if node.op == "VarHandleOp":
            _follow(node, _meet_handle, found)
        elif node.output_types and node.output_types[0].is_ref_dtype and not node.data_in_edges:
            _follow(node, _meet_cell, found)
        elif PASSES_CELL in node.attrs and node.is_recv:
            found.handing_on.add(node.id)
            _follow(node, _meet_cell, found)
    return found


def _follow(
    variable: Node, meet: Callable[[Edge, Node, LateReads], bool], found: LateReads
) -> None:
    """Follow a variable to all its consumers, and further through nodes that pass it on."""
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
    if SENDS_CELL not in taker.attrs:
        found.readers.setdefault(taker.id, []).append(variable.id)
    return False


def _meet_handle(edge: Edge, variable: Node, found: LateReads) -> bool:
    taker = edge.dst
    if taker.op in _READING:
        found.readers.setdefault(taker.id, []).append(variable.id)
    elif taker.op in _WRITING:
        # If there are several reference inputs, the first is the variable itself; the others are
        # slots.
        found.writers.setdefault(taker.id, variable.id)
    return _is_handing_on(edge)


def _is_handing_on(edge: Edge) -> bool:
    return edge.dst.op in HANDING_ON and (edge.dst_input == 0 or edge.dst.kind.is_merge)


def gives_cell(node: Node, output: int) -> bool:
    """Return whether an output is a variable's cell: a reference, or a cell that is passed on."""
    return any(source.output_types[at].is_ref_dtype for source, at in _passed_on(node, output))


def _passed_on(node: Node, output: int) -> Iterator[tuple[Node, int]]:
    """Yield an output and the outputs that nodes may have passed on as this one."""
    seen = set()
    todo = [(node, output)]
    while todo:
        node, output = todo.pop()
        yield node, output
        is_ref = node.output_types[output].is_ref_dtype
        if (
            is_ref or (node.op in HANDING_ON and (output == 0 or node.kind.is_switch))
        ) and node.id not in seen:
            seen.add(node.id)
            edges = node.data_in_edges if node.kind.is_merge else node.data_in_edges[:1]
            todo += [(e.src, e.src_output) for e in edges if e is not None]


def is_only_fetched(node: Node) -> bool:
    """Return whether a node's value goes to fetches only, through any number of Identity nodes."""
    todo = [node]
    while todo:
        node = todo.pop()
        if node.op == "Identity":
            todo += [edge.dst for edge in node.out_edges if edge.dst.is_op and not edge.is_control]
        elif node.op != "_Retval":
            return False
    return True


class ReadsAfterWrites:
    """The readers of reference variables that come after a node that writes the variable.

    Their edges from the variable pass its cell on between the devices of one task, so that they
    read the assigned value.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._found = find_late_reads(graph)
        self._after: dict[int, set[int]] = {}  # variable -> the nodes that its writers lead to
        self._writers: dict[int, list[int]] = {}
        for writer, variable in self._found.writers.items():
            self._writers.setdefault(variable, []).append(writer)

    def has(self, edge: Edge) -> bool:
        """Return whether a reader gets a variable by this edge, and comes after a writer of it."""
        if not self._writers or edge.is_control:
            return False
        variables = {node.id for node, _ in _passed_on(edge.src, edge.src_output)}
        variables &= self._writers.keys()
        return bool(variables) and any(
            reader in self._nodes_after(variable)
            for reader in self._readers_by(edge)
            for variable in variables.intersection(self._found.readers.get(reader, ()))
        )

    def _nodes_after(self, variable: int) -> set[int]:
        after = self._after.get(variable)
        if after is None:
            after = self._after[variable] = set()
            todo = [self._graph.node_at(writer) for writer in self._writers[variable]]
            while todo:
                for edge in todo.pop().out_edges:
                    if edge.dst.is_op and edge.dst.id not in after:
                        after.add(edge.dst.id)
                        todo.append(edge.dst)
        return after

    def _readers_by(self, edge: Edge) -> set[int]:
        """Return the node that an edge leads to, and those to which nodes pass its tensor on."""
        reached: set[int] = set()
        todo = [edge]
        while todo:
            edge = todo.pop()
            node = edge.dst
            if not node.is_op or edge.is_control or node.id in reached:
                continue
            reached.add(node.id)
            if self._found.hands_on(node, edge.dst_input):
                todo += node.out_edges
        return reached


def loop_may_wait_for_write(graph: Graph, found: LateReads, frame_of: Mapping[int, str]) -> bool:
    """Return whether a loop reads a variable that is written outside it in an undefined order.

    This loop may repeat until it sees the written value.

    Args:
      graph: the graph.
      found: the reads and writes of its variables.
      frame_of: the frame of each node, by number; "" for the root frame.
    """
    readers: dict[int, list[int]] = {}
    for reader, variables in found.readers.items():
        if frame_of[reader]:
            for variable in variables:
                readers.setdefault(variable, []).append(reader)
    pairs = [
        (writer, reader)
        for writer, variable in found.writers.items()
        for reader in readers.get(variable, ())
        if frame_of[reader] != frame_of[writer]
    ]
    if not pairs:
        return False
    # For each node, a bit mask of the nodes of the pairs that lead to it.
    bits = {
        number: 1 << at for at, number in enumerate(sorted({n for pair in pairs for n in pair}))
    }
    leads_here: dict[int, int] = {}
    order = [node for node in reverse_post_order(graph, back_edges=False) if node.is_op]
    has_changed = True
    while has_changed:  # one more pass for each level of loops, whose back edges count
        has_changed = False
        for node in order:
            mask = before = leads_here.get(node.id, 0)
            for edge in node.in_edges:
                source = edge.src.id
                mask |= leads_here.get(source, 0) | bits.get(source, 0)
            if mask != before:
                leads_here[node.id] = mask
                has_changed = True
    return any(
        not leads_here.get(writer, 0) & bits[reader]
        and not leads_here.get(reader, 0) & bits[writer]
        for writer, reader in pairs
    )


def order_early_writers(graph: Graph) -> None:
    """Order variable updates before reads that become ready much later.

    The edges of the graph do not order them.  "Later" depends on the graph alone: the longest chain
    of products and convolutions with large weights up to the end of the reading op is longer than
    the one before the update. Control edges set the order, between nodes of one device that run in
    every step.
    """
    found = find_late_reads(graph)
    if not (found.writers and found.readers):
        return
    slow = {reader for reader in found.readers if _is_slow(graph, reader, found)}
    if not slow:
        return
    starts = _starts(graph, slow)
    writers: dict[int, list[int]] = {}
    for writer, variable in found.writers.items():
        if writer in starts:
            writers.setdefault(variable, []).append(writer)
    for reader, variables in found.readers.items():
        end = starts.get(reader, -1) + (reader in slow)
        for writer in [one for variable in variables for one in writers.get(variable, ())]:
            before, after = graph.node_at(writer), graph.node_at(reader)
            if end > starts[writer] and before.assigned_device == after.assigned_device:
                graph.add_control_edge(before, after)


def _is_slow(graph: Graph, reader: int, found: LateReads) -> bool:
    if graph.node_at(reader).op not in _PRODUCTS:
        return False
    for variable in found.readers[reader]:
        shape = graph.node_at(variable).attrs.get("shape")
        size = None if shape is None else shape.num_elements()
        if size is not None and size >= _LARGE_WEIGHTS:
            return True
    return False


def _starts(graph: Graph, slow: set[int]) -> dict[int, int]:
    """Return the longest chain of slow nodes before each node that runs in every step."""
    starts: dict[int, int] = {}
    for node in reverse_post_order(graph, back_edges=False):
        if not node.is_op or node.kind.is_enter or node.kind.is_switch:
            continue  # the nodes behind it may be dead, or belong to a loop
        start = 0
        for edge in node.in_edges:
            if not edge.src.is_op:
                continue
            if edge.src.id not in starts:
                break
            start = max(start, starts[edge.src.id] + (edge.src.id in slow))
        else:
            starts[node.id] = start
    return starts
