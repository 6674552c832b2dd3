"""Conversion from a GraphDef to the runtime's graph and back.

Corresponds to TensorFlow's graph_constructor.cc.  Reading takes two passes, so that a loop's back
edge may name a node that comes later:

1. look: parse names and inputs and find the dependencies; if the order of the GraphDef is not
   topological (without back edges), compute one; nodes that cannot be ordered form a cycle;
2. make: add the nodes in that order, so that ids grow along edges, then their edges.

Extending a graph (``base=``) changes only the new nodes and the ones they name.  If anything is
wrong, the base stays unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.attr_value import decode_attrs, encode_attr
from tfnb.core.plain_graph_def import PlainGraphDef, PlainNodeDef
from tfnb.core.process.later import later
from tfnb.core.topological_order import in_order
from tfnb.core.versions import VersionDef, check_graph_versions
from tfnb.graph.function_library import FunctionLibraryDefinition
from tfnb.graph.graph import CONTROL_SLOT, Edge, Graph, Node
from tfnb.graph.tensor_id import parse_tensor_name, tensor_name
from tfnb.graph.validate import (
    check_deprecation,
    check_number_of_inputs,
    complete_attrs,
    is_back_edge_pair,
    is_valid_node_name,
)
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core import node_text
else:
    node_text = later("tfnb.core.node_text", in_step=True)

type_of_inputs = list[tuple[str, int]]


def graph_from_graph_def(
    graph_def: graph_pb2.GraphDef | PlainGraphDef,
    *,
    base: Graph | None = None,
    library: FunctionLibraryDefinition | None = None,
    check: Callable[[Graph, int], None] | None = None,
) -> Graph:
    """Read a GraphDef into a new graph, or into ``base``.

    Args:
      graph_def: the message, or a PlainGraphDef.
      base: the graph to extend; it is changed and returned.
      library: functions that the graph's nodes may call, besides those in the message.
      check: called with the graph and the id of the first new node; if it raises, the base stays
        unchanged.

    Raises:
      InvalidArgumentError: a name is bad or not unique, an input is unknown or has another type, an
        attribute is missing or not allowed, a cycle is no loop, the version cannot be read.
      NotFoundError: an op is not registered.
      UnimplementedError: an op was removed before the version that produced the graph.
    """
    if isinstance(graph_def, PlainGraphDef):
        versions, functions = graph_def.versions, graph_def.library
    else:
        versions = versions_from_proto(graph_def.versions)
        functions = graph_def.library if graph_def.HasField("library") else None
    check_graph_versions(versions)
    if base is None:
        graph = Graph(library or FunctionLibraryDefinition(), versions)
    else:
        graph = base
        versions = _merged_versions(base.versions, versions)
    reader = _Reader(graph, graph_def.node)
    names, inputs = reader.look()
    order = reader.order(names, inputs)
    first_node, first_edge = graph.num_node_ids, graph.num_edge_ids
    old_versions, old_library = graph.versions, graph.library
    try:
        if functions is not None:
            # A copy, so that steps in flight keep reading the library they started with.
            grown = FunctionLibraryDefinition() if old_library is None else old_library.copy()
            grown.add_library(functions)
            graph.library = grown
        graph.versions = versions
        reader.make(names, inputs, order)
        graph.fixup_source_and_sink_edges(first_node)
        if check is not None:
            check(graph, first_node)
    except BaseException:  # an interrupt too
        graph.truncate(first_node, first_edge)
        graph.versions, graph.library = old_versions, old_library
        raise
    return graph


class _Reader:
    """The state of one reading."""

    __slots__ = ("graph", "node_defs")

    def __init__(self, graph: Graph, node_defs: Sequence[graph_pb2.NodeDef | PlainNodeDef]) -> None:
        self.graph = graph
        self.node_defs = node_defs

    def look(self) -> tuple[dict[str, int], list[type_of_inputs]]:
        """Return the positions of the new nodes by name, and the parsed inputs of each."""
        names: dict[str, int] = {}
        inputs: list[type_of_inputs] = []
        known = self.graph.nodes_by_name
        for position, node_def in enumerate(self.node_defs):
            name = node_def.name
            if not is_valid_node_name(name):
                raise errors.invalid_argument(
                    f"Node '{name}': Node name contains invalid characters"
                )
            if name in names:
                raise errors.invalid_argument(f"Node '{name}' is not unique")
            if name in known:
                raise errors.invalid_argument(
                    f"GraphDef argument to Extend includes node '{name}', which was created by a "
                    "previous call to Create or Extend in this session."
                )
            names[name] = position
            if isinstance(node_def, PlainNodeDef):
                inputs.append(node_def.inputs)
            else:
                inputs.append(_parse_inputs(name, node_def.input))
        return names, inputs

    def order(self, names: dict[str, int], inputs: list[type_of_inputs]) -> Sequence[int]:
        """Return the positions of the new nodes, sources before consumers.

        Raises:
          InvalidArgumentError: an input is unknown, or nodes depend on a cycle.
        """
        known = self.graph.nodes_by_name
        node_defs = self.node_defs
        is_ordered = True
        for position, (name, sources) in enumerate(zip(names, inputs)):
            for source, index in sources:
                found = names.get(source)
                if found is None:
                    if source not in known:
                        raise errors.invalid_argument(
                            f"Node '{name}': Unknown input node '{tensor_name(source, index)}'"
                        )
                elif found >= position and not is_back_edge_pair(
                    node_defs[found].op, node_defs[position].op
                ):
                    is_ordered = False
        return range(len(inputs)) if is_ordered else self._sorted(names, inputs)

    def _sorted(self, names: dict[str, int], inputs: list[type_of_inputs]) -> list[int]:
        ops = [node_def.op for node_def in self.node_defs]
        waiting = [0] * len(ops)
        consumers: list[list[int]] = [[] for _ in ops]
        for position, sources in enumerate(inputs):
            for source, _ in sources:
                found = names.get(source)
                if found is not None and not is_back_edge_pair(ops[found], ops[position]):
                    waiting[position] += 1
                    consumers[found].append(position)
        order = in_order(waiting, consumers)
        left = len(ops) - len(order)
        if left:
            stuck = [name for name, count in zip(names, waiting) if count][:10]
            raise errors.invalid_argument(
                f"Graph is invalid, contains a cycle with {left} nodes, including: "
                f"{', '.join(stuck)} ({left} nodes in a cycle)"
            )
        return order

    def make(
        self, names: dict[str, int], inputs: list[type_of_inputs], order: Sequence[int]
    ) -> None:
        """Add the nodes in order, then their edges."""
        graph = self.graph
        producer = graph.versions.producer
        definitions: dict[str, Any] = {}
        accepted = graph.accepted_attrs
        made: list[Node] = []
        # For nodes that share their attributes: (op, identity of the attributes) -> the first node.
        alike: dict[tuple[str, int], Node] = {}
        for position in order:
            node_def = self.node_defs[position]
            name, op = node_def.name, node_def.op
            if isinstance(node_def, PlainNodeDef):
                attrs = node_def.attrs
                first = alike.get((op, id(attrs)))
                if first is not None:
                    node = graph.copy_node(first, name)
                    node.requested_device = node_def.device
                    made.append(node)
                    continue
            else:
                attrs = decode_attrs(node_def.attr)
            definition = definitions.get(op)
            if definition is None:
                if not op:
                    raise errors.invalid_argument(f"Node '{name}' does not specify an operation")
                definition = definitions[op] = graph.op_definition(op)
                check_deprecation(definition.op_def, producer)
            node = graph.add_checked_node(
                name,
                definition,
                complete_attrs(definition.op_def, attrs, name, accepted),
                node_def.device,
            )
            if isinstance(node_def, PlainNodeDef):
                alike[op, id(attrs)] = node
            elif node_def.HasField("experimental_debug_info"):
                node.original_names = tuple(node_def.experimental_debug_info.original_node_names)
            made.append(node)
        self._connect(made, [inputs[position] for position in order])

    def _connect(self, made: Sequence[Node], inputs: Sequence[type_of_inputs]) -> None:
        """Add the edges into the new nodes."""
        nodes, add_edge = self.graph.nodes_by_name, self.graph.add_edge
        for node, sources in zip(made, inputs):
            input_types = node.input_types
            if not sources and not input_types:
                continue
            controls: set[str] | None = None
            num_data = 0
            for source, index in sources:
                src = nodes[source]
                if index == CONTROL_SLOT:
                    if controls is None:
                        controls = set()
                    if source not in controls:
                        controls.add(source)
                        add_edge(src, CONTROL_SLOT, node, CONTROL_SLOT)
                    continue
                output_types = src.output_types
                if index >= len(output_types):
                    raise errors.invalid_argument(
                        f"Node '{node.name}': Connecting to invalid output {index} of source node "
                        f"{source} which has {len(output_types)} outputs."
                    )
                if num_data < len(input_types):
                    # Most often both are the very same object: compare further only if they are
                    # not.
                    given, wanted = output_types[index], input_types[num_data]
                    if given is not wanted and not types_compatible(wanted, given):
                        raise _wrong_type(node, num_data, src, index)
                add_edge(src, index, node, num_data)
                num_data += 1
            if num_data != len(input_types):
                check_number_of_inputs(node.op_def, input_types, num_data, node.name)


def _parse_inputs(name: str, inputs: Sequence[str]) -> type_of_inputs:
    parsed: type_of_inputs = []
    in_control = False
    for text in inputs:
        if text[:1] == "^":
            in_control = True
        elif in_control:
            raise errors.invalid_argument(
                f"Node '{name}': Control dependencies must come after regular dependencies"
            )
        parsed.append(parse_tensor_name(text))
    return parsed


def types_compatible(expected: Any, given: Any) -> bool:
    """Return whether an input accepts a tensor: equal dtypes, or a reference that is read."""
    return expected is given or (not expected.is_ref_dtype and given.base_dtype is expected)


def _wrong_type(node: Node, number: int, src: Node, index: int) -> errors.InvalidArgumentError:
    given = node_text.type_word(src.output_types[index])
    expected = node_text.type_word(node.input_types[number])
    return errors.invalid_argument(
        f"Input {number} of node {node.name} was passed {given} from "
        f"{src.name}:{index} incompatible with expected {expected}."
    )


def check_edge_types(edge: Edge) -> None:
    """Refuse an edge whose ends disagree about the dtype.

    Raises:
      InvalidArgumentError: the input does not accept the source's dtype.
    """
    if not edge.is_control and not types_compatible(
        edge.dst.input_types[edge.dst_input], edge.src.output_types[edge.src_output]
    ):
        raise _wrong_type(edge.dst, edge.dst_input, edge.src, edge.src_output)


# -- versions --------------------------------------------------------------------------------------


def versions_from_proto(proto: graph_pb2.VersionDef) -> VersionDef:
    """Return the plain form of a VersionDef message."""
    return VersionDef(proto.producer, proto.min_consumer, tuple(proto.bad_consumers))


def _merged_versions(base: VersionDef, extension: VersionDef) -> VersionDef:
    """Return the versions of an extended graph: the older producer, and the constraints of both."""
    if base.producer < extension.producer:
        raise errors.invalid_argument(
            f"Can't extend GraphDef at version {base.producer} with graph at version "
            f"{extension.producer}"
        )
    return VersionDef(
        extension.producer,
        max(base.min_consumer, extension.min_consumer),
        tuple(dict.fromkeys(base.bad_consumers + extension.bad_consumers)),
    )


# -- back to a message -----------------------------------------------------------------------------


def graph_to_graph_def(graph: Graph) -> graph_pb2.GraphDef:
    """Write a graph, its versions and the functions it can call; nodes by id.

    A node that was placed carries its assigned device.
    """
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = graph.versions.producer
    graph_def.versions.min_consumer = graph.versions.min_consumer
    graph_def.versions.bad_consumers.extend(graph.versions.bad_consumers)
    if graph.library is not None and len(graph.library):
        graph_def.library.CopyFrom(graph.library.to_proto())
    for node in graph.op_nodes():
        node_to_node_def(node, graph_def.node.add())
    return graph_def


def node_to_node_def(node: Node, node_def: graph_pb2.NodeDef | None = None) -> graph_pb2.NodeDef:
    """Write one node; data inputs by number, then control inputs by name."""
    node_def = graph_pb2.NodeDef() if node_def is None else node_def
    node_def.name = node.name
    node_def.op = node.op
    node_def.device = node.assigned_device or node.requested_device
    data = sorted(
        (edge for edge in node.in_edges if not edge.is_control), key=lambda edge: edge.dst_input
    )
    node_def.input.extend(tensor_name(edge.src.name, edge.src_output) for edge in data)
    controls = {e.src.name for e in node.in_edges if e.is_control and not e.src.is_source}
    node_def.input.extend(f"^{name}" for name in sorted(controls))
    known = node.op_def.attr_by_name
    for name, value in node.attrs.items():
        if value is None:
            continue
        kind = known[name].type if name in known else None
        node_def.attr[name].CopyFrom(encode_attr(value, kind))
    if node.original_names:
        node_def.experimental_debug_info.original_node_names.extend(node.original_names)
    return node_def
