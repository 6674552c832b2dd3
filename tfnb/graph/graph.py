"""The runtime's graph: nodes joined by edges, between a source and a sink.

Corresponds to TensorFlow's graph.h, with plain Python values for attributes.

State of a :class:`Graph`:

* ``nodes``: by id; ``None`` where a node was removed.  Id 0 is ``_SOURCE``, id 1 is ``_SINK``.
* the edges, by id, and a name index.  Names of live nodes are unique.
* ``versions`` and ``library``: what the GraphDef carried besides nodes.

A data edge joins output ``src_output`` to input ``dst_input``; a control edge has ``CONTROL_SLOT`` at both ends.
``Node.in_edges`` and ``Node.out_edges`` keep the order in which edges were added.  ``Node.attrs`` is never
changed in place: copies of a graph share it (:meth:`Node.set_attr` replaces it).  A graph is not
thread safe; whoever shares it guards it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tfnb.core import errors, op_registry
from tfnb.graph.node_kind import NodeKind, node_kind

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import OpDef
    from tfnb.core.op_registry import OpDefinition
    from tfnb.graph.function_library import FunctionLibraryDefinition

CONTROL_SLOT: Final = -1
SOURCE_ID: Final = 0
SINK_ID: Final = 1

# The GraphDef version this runtime writes and the oldest producer it reads: TensorFlow 2.21's numbers.
GRAPH_DEF_VERSION: Final = 2550
GRAPH_DEF_VERSION_MIN_PRODUCER: Final = 0
GRAPH_DEF_VERSION_MIN_CONSUMER: Final = 0


@dataclass(frozen=True, slots=True)
class VersionDef:
    """Which consumers may read a graph: TensorFlow's VersionDef as a plain object."""

    producer: int = 0
    min_consumer: int = 0
    bad_consumers: tuple[int, ...] = ()


class Edge:
    """A tensor, or (both slots ``CONTROL_SLOT``) an order, from one node to another."""

    __slots__ = ("dst", "dst_input", "id", "src", "src_output")

    def __init__(self, id: int, src: Node, src_output: int, dst: Node, dst_input: int) -> None:
        self.id = id
        self.src = src
        self.src_output = src_output
        self.dst = dst
        self.dst_input = dst_input

    @property
    def is_control(self) -> bool:
        """Whether the edge carries no tensor."""
        return self.src_output == CONTROL_SLOT

    def __repr__(self) -> str:
        if self.is_control:
            return f"<Edge {self.id} ^{self.src.name} -> {self.dst.name}>"
        return (
            f"<Edge {self.id} {self.src.name}:{self.src_output} -> {self.dst.name}:{self.dst_input}>"
        )


class Node:
    """One op in the graph.

    Attributes:
      id: index into ``Graph.nodes``.
      name: unique in the graph.
      op: name of the op or of a function in the graph's library.
      op_definition: what the op promises and does; None only for ``_SOURCE`` and ``_SINK``.
      attrs: attribute values as Python objects, defaults filled in; treat as immutable.
      input_types: dtype of each data input, reference types where the op asks for a reference.
      output_types: dtype of each output.
      requested_device: what the user asked for; may be partial or empty.
      assigned_device: full name of the device, "" before placement.
      in_edges: data and control edges into this node.
      out_edges: data and control edges out of this node.
      kind: flags that depend on the op's name only, shared by all nodes of that op.
      original_names: the nodes this one was made from, where a rewrite made it.
    """

    __slots__ = (
        "assigned_device",
        "attrs",
        "id",
        "in_edges",
        "input_types",
        "kind",
        "name",
        "op",
        "op_definition",
        "original_names",
        "out_edges",
        "output_types",
        "requested_device",
    )

    def __init__(
        self,
        id: int,
        name: str,
        op: str,
        op_definition: OpDefinition | None,
        kind: NodeKind,
        attrs: Mapping[str, Any],
        input_types: tuple[DType, ...],
        output_types: tuple[DType, ...],
        requested_device: str,
    ) -> None:
        self.id = id
        self.name = name
        self.op = op
        self.op_definition = op_definition
        self.kind = kind
        self.attrs = attrs
        self.input_types = input_types
        self.output_types = output_types
        self.requested_device = requested_device
        self.assigned_device = ""
        self.in_edges: list[Edge] = []
        self.out_edges: list[Edge] = []
        self.original_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.name!r} ({self.op})>"

    # -- shape of the node ---------------------------------------------------------------------------

    @property
    def num_inputs(self) -> int:
        """How many tensors the node takes."""
        return len(self.input_types)

    @property
    def num_outputs(self) -> int:
        """How many tensors the node gives."""
        return len(self.output_types)

    @property
    def op_def(self) -> OpDef:
        """The signature of the node's op."""
        if self.op_definition is None:
            raise errors.internal(f"Node {self.name!r} has no op.")
        return self.op_definition.op_def

    @property
    def is_stateful(self) -> bool:
        """Whether the op keeps state or has effects."""
        return self.op_definition is not None and self.op_definition.is_stateful

    def input_edge(self, index: int) -> Edge:
        """The edge into input ``index``.

        Raises:
          InvalidArgumentError: nothing is connected there.
        """
        in_edges = self.in_edges
        if 0 <= index < len(in_edges) and in_edges[index].dst_input == index:
            return in_edges[index]
        if index >= 0:
            for edge in in_edges:
                if edge.dst_input == index:
                    return edge
        raise errors.invalid_argument(f"Could not find input edge {index} for {self.name}")

    def input_edges(self) -> list[Edge]:
        """The data edges into the node, by input number.

        Raises:
          InvalidArgumentError: an input is not connected.
        """
        found = [edge for edge in self.in_edges if edge.dst_input != CONTROL_SLOT]
        found.sort(key=_input_number)
        if len(found) != len(self.input_types):
            raise errors.invalid_argument(
                f"Node {self.name} has {len(self.input_types)} inputs, "
                f"but only {len(found)} of them are connected."
            )
        return found

    def input_node(self, index: int) -> Node:
        """The node that feeds input ``index``."""
        return self.input_edge(index).src

    def control_inputs(self) -> list[Node]:
        """The nodes that must run before this one without giving it a tensor."""
        return [edge.src for edge in self.in_edges if edge.dst_input == CONTROL_SLOT]

    def set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute of this node alone, not of its copies in other graphs."""
        self.attrs = {**self.attrs, name: value}

    # -- what kind of node ---------------------------------------------------------------------------

    @property
    def is_source(self) -> bool:
        """Whether this is ``_SOURCE``, which precedes every node."""
        return self.id == SOURCE_ID

    @property
    def is_sink(self) -> bool:
        """Whether this is ``_SINK``, which follows every node."""
        return self.id == SINK_ID

    @property
    def is_op(self) -> bool:
        """Whether this is neither ``_SOURCE`` nor ``_SINK``."""
        return self.id > SINK_ID

    @property
    def is_switch(self) -> bool:
        """Whether the node sends its data to one of its outputs."""
        return self.kind.is_switch

    @property
    def is_merge(self) -> bool:
        """Whether the node passes on the first input that arrives."""
        return self.kind.is_merge

    @property
    def is_enter(self) -> bool:
        """Whether the node brings a tensor into a frame."""
        return self.kind.is_enter

    @property
    def is_exit(self) -> bool:
        """Whether the node brings a tensor out of a frame."""
        return self.kind.is_exit

    @property
    def is_next_iteration(self) -> bool:
        """Whether the node brings a tensor to the next iteration."""
        return self.kind.is_next_iteration

    @property
    def is_loop_cond(self) -> bool:
        """Whether the node is the predicate of a loop."""
        return self.kind.is_loop_cond

    @property
    def is_control_trigger(self) -> bool:
        """Whether the node runs live even behind dead inputs."""
        return self.kind.is_control_trigger

    @property
    def is_send(self) -> bool:
        """Whether the node puts a tensor into the rendezvous."""
        return self.kind.is_send

    @property
    def is_recv(self) -> bool:
        """Whether the node takes a tensor out of the rendezvous."""
        return self.kind.is_recv

    @property
    def is_constant(self) -> bool:
        """Whether the node's value is its attribute."""
        return self.kind.is_constant

    @property
    def is_variable(self) -> bool:
        """Whether the node is a reference variable."""
        return self.kind.is_variable

    @property
    def is_identity(self) -> bool:
        """Whether the node passes its input on unchanged."""
        return self.kind.is_identity

    @property
    def is_metadata(self) -> bool:
        """Whether the node looks at its input's shape only."""
        return self.kind.is_metadata

    @property
    def is_control_flow(self) -> bool:
        """Whether the node is a Switch, Merge, Enter, Exit or NextIteration."""
        return self.kind.is_control_flow

    @property
    def is_arg(self) -> bool:
        """Whether the node is an argument of a function or a fed tensor."""
        return self.kind.is_arg

    @property
    def is_retval(self) -> bool:
        """Whether the node is a result of a function or a fetched tensor."""
        return self.kind.is_retval


def _input_number(edge: Edge) -> int:
    return edge.dst_input


class SignatureCache:
    """Input and output dtypes by op and the attributes that decide them; grows, never shrinks.

    Graphs made from each other share one, so that a thousand ``MatMul`` of float32 look their types up.
    """

    __slots__ = ("_deciding", "_types")

    def __init__(self) -> None:
        self._deciding: dict[OpDefinition, tuple[str, ...]] = {}
        self._types: dict[Any, tuple[tuple[DType, ...], tuple[DType, ...]]] = {}

    def types(
        self, definition: OpDefinition, attrs: Mapping[str, Any]
    ) -> tuple[tuple[DType, ...], tuple[DType, ...]]:
        """The input and output dtypes of a node.

        Raises:
          KeyError: an attribute that decides them is missing.
        """
        deciding = self._deciding.get(definition)
        if deciding is None:
            deciding = self._deciding[definition] = _deciding_attrs(definition.op_def)
        if len(deciding) == 1:
            value = attrs[deciding[0]]
            key: Any = (definition, tuple(value) if type(value) is list else value)
        else:
            key = (definition, *(_hashable(attrs[name]) for name in deciding))
        found = self._types.get(key)
        if found is None:
            op_def = definition.op_def
            found = tuple(op_def.input_types(attrs)), tuple(op_def.output_types(attrs))
            self._types[key] = found
        return found


def _deciding_attrs(op_def: OpDef) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for arg in (*op_def.inputs, *op_def.outputs):
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr):
            if name:
                names[name] = None
    return tuple(names)


def _hashable(value: Any) -> Any:
    return tuple(value) if type(value) is list else value


class Graph:
    """Nodes joined by edges; see the top of this file."""

    __slots__ = ("_by_name", "_edges", "_name_counter", "_signatures", "library", "nodes", "versions")

    def __init__(
        self,
        library: FunctionLibraryDefinition | None = None,
        versions: VersionDef | None = None,
        *,
        signatures: SignatureCache | None = None,
    ) -> None:
        self.nodes: list[Node | None] = []
        self.library = library
        self.versions = VersionDef(GRAPH_DEF_VERSION) if versions is None else versions
        self._edges: list[Edge | None] = []
        self._by_name: dict[str, Node] = {}
        self._name_counter = 0
        self._signatures = SignatureCache() if signatures is None else signatures
        noop = node_kind("NoOp")
        for name in ("_SOURCE", "_SINK"):
            node = Node(len(self.nodes), name, "NoOp", None, noop, {}, (), (), "")
            self.nodes.append(node)
            self._by_name[name] = node

    def __repr__(self) -> str:
        return f"<Graph of {self.num_op_nodes} nodes, {self.num_edges} edges>"

    def empty_like(self) -> Graph:
        """A graph without nodes that shares this one's library, versions and type cache."""
        return Graph(self.library, self.versions, signatures=self._signatures)

    # -- looking -------------------------------------------------------------------------------------

    @property
    def source(self) -> Node:
        """The node before all nodes."""
        node = self.nodes[SOURCE_ID]
        assert node is not None
        return node

    @property
    def sink(self) -> Node:
        """The node after all nodes."""
        node = self.nodes[SINK_ID]
        assert node is not None
        return node

    @property
    def num_node_ids(self) -> int:
        """One more than the largest id ever given."""
        return len(self.nodes)

    @property
    def num_edge_ids(self) -> int:
        """One more than the largest edge id ever given."""
        return len(self._edges)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, ``_SOURCE`` and ``_SINK`` included."""
        return len(self._by_name)

    @property
    def num_op_nodes(self) -> int:
        """How many nodes there are, ``_SOURCE`` and ``_SINK`` left out."""
        return len(self._by_name) - 2

    @property
    def num_edges(self) -> int:
        """How many edges there are."""
        return sum(len(node.in_edges) for node in self.nodes if node is not None)

    @property
    def edges(self) -> list[Edge]:
        """The edges, by id."""
        return [edge for edge in self._edges if edge is not None]

    def op_nodes(self) -> Iterator[Node]:
        """The nodes without ``_SOURCE`` and ``_SINK``, by id."""
        for node in self.nodes[2:]:
            if node is not None:
                yield node

    def all_nodes(self) -> Iterator[Node]:
        """The nodes, by id."""
        for node in self.nodes:
            if node is not None:
                yield node

    def find_node(self, name: str) -> Node | None:
        """The node of that name, or None."""
        return self._by_name.get(name)

    def node_at(self, id: int) -> Node:
        """The node with that id; it must exist."""
        node = self.nodes[id]
        assert node is not None
        return node

    def op_definition(self, op: str) -> OpDefinition:
        """What an op name means here: a function of the library or a registered op.

        Raises:
          NotFoundError: it is neither.
        """
        if self.library is not None:
            function = self.library.op_definition(op)
            if function is not None:
                return function
        return op_registry.get(op)

    # -- nodes ---------------------------------------------------------------------------------------

    def add_node(
        self,
        name: str,
        op: str,
        attrs: Mapping[str, Any] | None = None,
        *,
        device: str = "",
        assigned_device: str = "",
        op_definition: OpDefinition | None = None,
        input_types: Sequence[DType] | None = None,
        output_types: Sequence[DType] | None = None,
        original_names: Sequence[str] = (),
    ) -> Node:
        """Adds a node; its edges are added separately.

        Args:
          name: must be new in this graph.
          op: a registered op or a function of the library.
          attrs: Python values; attributes with a default may be left out.
          device: the requested device.
          assigned_device: the device, where it is known already.
          op_definition: the op, where the caller has looked it up.
          input_types: the dtypes, where they do not follow from the attributes.
          output_types: likewise.
          original_names: the nodes this one stands for.

        Raises:
          AlreadyExistsError: the name is taken.
          InvalidArgumentError: an attribute without a default is missing.
          NotFoundError: the op is unknown.
        """
        definition = self.op_definition(op) if op_definition is None else op_definition
        full_attrs = with_default_attrs(definition.op_def, {} if attrs is None else attrs)
        node = self.add_checked_node(name, definition, full_attrs, device)
        if input_types is not None:
            node.input_types = tuple(input_types)
        if output_types is not None:
            node.output_types = tuple(output_types)
        node.assigned_device = assigned_device
        node.original_names = tuple(original_names)
        return node

    def add_checked_node(
        self, name: str, definition: OpDefinition, attrs: Mapping[str, Any], device: str
    ) -> Node:
        """Adds a node whose attributes are complete: the fast way for whoever checked them.

        Raises:
          AlreadyExistsError: the name is taken.
          InvalidArgumentError: an attribute that decides the node's types is missing.
        """
        if name in self._by_name:
            raise errors.already_exists(f"Node name '{name}' already exists in the Graph")
        try:
            input_types, output_types = self._signatures.types(definition, attrs)
        except KeyError as missing:
            raise errors.invalid_argument(
                f"NodeDef missing attr '{missing.args[0]}' from {definition.op_def.name}"
                f"; NodeDef: {{{{node {name}}}}}"
            ) from None
        nodes = self.nodes
        node = Node(
            len(nodes),
            name,
            definition.name,
            definition,
            node_kind(definition.name),
            attrs,
            input_types,
            output_types,
            device,
        )
        nodes.append(node)
        self._by_name[name] = node
        return node

    def copy_node(self, other: Node, name: str | None = None) -> Node:
        """Adds a copy of a node of any graph, without its edges; types, attributes and device kept.

        Raises:
          AlreadyExistsError: the name is taken.
        """
        nodes = self.nodes
        name = other.name if name is None else name
        if name in self._by_name:
            raise errors.already_exists(f"Node name '{name}' already exists in the Graph")
        node = Node(
            len(nodes),
            name,
            other.op,
            other.op_definition,
            other.kind,
            other.attrs,
            other.input_types,
            other.output_types,
            other.requested_device,
        )
        node.assigned_device = other.assigned_device
        node.original_names = other.original_names
        nodes.append(node)
        self._by_name[name] = node
        return node

    def remove_node(self, node: Node) -> None:
        """Removes a node and every edge at it."""
        assert node.is_op, "_SOURCE and _SINK stay"
        for edge in node.in_edges:
            edge.src.out_edges.remove(edge)
            self._edges[edge.id] = None
        for edge in node.out_edges:
            if edge.dst is not node:
                edge.dst.in_edges.remove(edge)
            self._edges[edge.id] = None
        node.in_edges = []
        node.out_edges = []
        self.nodes[node.id] = None
        del self._by_name[node.name]

    def new_name(self, prefix: str) -> str:
        """A name that no node of this graph has: ``prefix/_k`` with a counter of the graph."""
        while True:
            name = f"{prefix}/_{self._name_counter}"
            self._name_counter += 1
            if name not in self._by_name:
                return name

    # -- edges ---------------------------------------------------------------------------------------

    def add_edge(self, src: Node, src_output: int, dst: Node, dst_input: int) -> Edge:
        """Joins an output to an input; the caller has checked the numbers and the types."""
        edges = self._edges
        edge = Edge(len(edges), src, src_output, dst, dst_input)
        edges.append(edge)
        src.out_edges.append(edge)
        dst.in_edges.append(edge)
        return edge

    def add_control_edge(
        self, src: Node, dst: Node, *, allow_duplicates: bool = False
    ) -> Edge | None:
        """Makes ``dst`` wait for ``src``; None where it does already and duplicates are unwanted."""
        if not allow_duplicates:
            fewer = dst.in_edges if len(dst.in_edges) <= len(src.out_edges) else src.out_edges
            for edge in fewer:
                if edge.src_output == CONTROL_SLOT and edge.src is src and edge.dst is dst:
                    return None
        return self.add_edge(src, CONTROL_SLOT, dst, CONTROL_SLOT)

    def remove_edge(self, edge: Edge) -> None:
        """Removes an edge."""
        edge.src.out_edges.remove(edge)
        edge.dst.in_edges.remove(edge)
        self._edges[edge.id] = None

    def update_edge(self, src: Node, src_output: int, dst: Node, dst_input: int) -> Edge:
        """Connects ``dst``'s input to another tensor and gives the new edge."""
        self.remove_edge(dst.input_edge(dst_input))
        return self.add_edge(src, src_output, dst, dst_input)

    # -- whole graph ---------------------------------------------------------------------------------

    def copy(self) -> Graph:
        """A graph with equal nodes and edges under equal ids; attributes are shared."""
        twin = self.empty_like()
        twin._name_counter = self._name_counter
        for node in self.nodes[2:]:
            if node is None:
                twin.nodes.append(None)
            else:
                twin.copy_node(node)
        nodes = twin.nodes
        for edge in self._edges:
            if edge is None:
                twin._edges.append(None)
                continue
            src, dst = nodes[edge.src.id], nodes[edge.dst.id]
            assert src is not None
            assert dst is not None
            twin.add_edge(src, edge.src_output, dst, edge.dst_input)
        return twin

    def fixup_source_and_sink_edges(self) -> None:
        """Hangs every node without inputs on ``_SOURCE`` and every one without consumers on ``_SINK``."""
        source, sink = self.source, self.sink
        for node in self.nodes[2:]:
            if node is None:
                continue
            if not node.in_edges:
                self.add_edge(source, CONTROL_SLOT, node, CONTROL_SLOT)
            if not node.out_edges:
                self.add_edge(node, CONTROL_SLOT, sink, CONTROL_SLOT)


def with_default_attrs(op_def: OpDef, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes with the op's defaults for those that are not there; the same object if complete."""
    missing = {
        attr.name: attr.default
        for attr in op_def.attrs
        if attr.name not in attrs and attr.has_default
    }
    return {**attrs, **missing} if missing else attrs


type_of_new_name = Callable[[str], str]
