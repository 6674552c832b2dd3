"""The runtime's graph: nodes joined by edges, between a source and a sink.

Corresponds to TensorFlow's graph.h, with plain Python values for attributes.

State of a :class:`Graph`:

* ``nodes``: by id; ``None`` where a node was removed.  Id 0 is ``_SOURCE``, id 1 is ``_SINK``.
* the edges, by id, and a name index.  Names of live nodes are unique.
* ``versions`` and ``library``: the other fields of the GraphDef.
* ``distinct``: what the last search for equal nodes kept, and the edges then; None after a change
  that an added edge does not show: until then the nodes are distinct.

A graph is not thread safe; callers that share it must lock it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors, op_registry
from tfnb.core.versions import GRAPH_DEF_VERSION, VersionDef
from tfnb.graph.node import CONTROL_SLOT, MOST_IN_LIST, SINK_ID, SOURCE_ID, Edge, Node
from tfnb.graph.node_kind import node_kind
from tfnb.graph.signature_cache import SignatureCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import OpDef
    from tfnb.core.op_registry import OpDefinition
    from tfnb.graph.function_library import FunctionLibraryDefinition

__all__ = ["CONTROL_SLOT", "SINK_ID", "SOURCE_ID", "Edge", "Graph", "Node", "with_default_attrs"]


class Graph:
    """Nodes joined by edges; see the module's docstring."""

    __slots__ = (
        "_by_name",
        "_edges",
        "_name_counter",
        "_signatures",
        "distinct",
        "library",
        "nodes",
        "versions",
    )

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
        self.distinct: object = None
        self._signatures = SignatureCache() if signatures is None else signatures
        noop = node_kind("NoOp")
        for name in ("_SOURCE", "_SINK"):
            node = Node(len(self.nodes), name, "NoOp", None, noop, {}, (), (), "")
            self.nodes.append(node)
            self._by_name[name] = node

    def __repr__(self) -> str:
        return f"<Graph of {self.num_op_nodes} nodes, {self.num_edges} edges>"

    def empty_like(self) -> Graph:
        """Return a graph without nodes that shares this one's library, versions and type cache."""
        return Graph(self.library, self.versions, signatures=self._signatures)

    @property
    def accepted_attrs(self) -> set[Any]:
        """Attribute values known to be allowed, shared by graphs made from each other."""
        return self._signatures.accepted

    # -- looking -----------------------------------------------------------------------------------

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
        """One more than the largest node id ever given."""
        return len(self.nodes)

    @property
    def num_edge_ids(self) -> int:
        """One more than the largest edge id ever given."""
        return len(self._edges)

    @property
    def num_nodes(self) -> int:
        """Number of nodes, including ``_SOURCE`` and ``_SINK``."""
        return len(self._by_name)

    @property
    def num_op_nodes(self) -> int:
        """Number of nodes without ``_SOURCE`` and ``_SINK``."""
        return len(self._by_name) - 2

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return sum(len(node.in_edges) for node in self.nodes if node is not None)

    @property
    def edges(self) -> list[Edge]:
        """The edges, by id."""
        return [edge for edge in self._edges if edge is not None]

    def op_nodes(self) -> Iterator[Node]:
        """Yield the nodes without ``_SOURCE`` and ``_SINK``, by id."""
        for node in self.nodes[2:]:
            if node is not None:
                yield node

    def all_nodes(self) -> Iterator[Node]:
        """Yield the nodes, by id."""
        for node in self.nodes:
            if node is not None:
                yield node

    @property
    def nodes_by_name(self) -> Mapping[str, Node]:
        """The nodes by name, including ``_SOURCE`` and ``_SINK``; a view, for loops over many."""
        return self._by_name

    def find_node(self, name: str) -> Node | None:
        """Return the node of that name, or None."""
        return self._by_name.get(name)

    def node_at(self, id: int) -> Node:
        """Return the node with that id; it must exist."""
        node = self.nodes[id]
        assert node is not None
        return node

    def op_definition(self, op: str) -> OpDefinition:
        """Return the definition of an op name: a function of the library or a registered op.

        Raises:
          NotFoundError: there is no function or op of this name.
        """
        if self.library is not None:
            function = self.library.op_definition(op)
            if function is not None:
                return function
        return op_registry.get(op)

    # -- nodes -------------------------------------------------------------------------------------

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
        """Add a node; its edges are added separately.

        Args:
          name: must be new in this graph.
          op: a registered op or a function of the library.
          attrs: Python values; attributes with a default may be left out.
          device: the requested device.
          assigned_device: the device, where it is known already.
          op_definition: the op, where the caller has looked it up.
          input_types: the dtypes, where they do not follow from the attributes.
          output_types: the dtypes, where they do not follow from the attributes.
          original_names: the names of the nodes that this one replaces.

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
        """Add a node whose attributes are complete and were checked by the caller; the fast path.

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
            ).naming(name) from None
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
        """Add a copy of a node of any graph, without its edges; keep types, attributes and device.

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
        if other.original_names:
            node.original_names = other.original_names
        nodes.append(node)
        self._by_name[name] = node
        return node

    def change_op(self, node: Node, op: str, attrs: Mapping[str, Any]) -> None:
        """Change the op of a node, keeping its name, id and edges.

        The caller must ensure that the edges fit the new op.

        Raises:
          NotFoundError: the op is unknown.
          InvalidArgumentError: an attribute that decides the node's types is missing.
        """
        definition = self.op_definition(op)
        full_attrs = with_default_attrs(definition.op_def, attrs)
        try:
            input_types, output_types = self._signatures.types(definition, full_attrs)
        except KeyError as missing:
            raise errors.invalid_argument(
                f"NodeDef missing attr '{missing.args[0]}' from {definition.op_def.name}"
                f"; NodeDef: {{{{node {node.name}}}}}"
            ).naming(node.name) from None
        self.distinct = None
        node.op = definition.name
        node.op_definition = definition
        node.kind = node_kind(definition.name)
        node.attrs = full_attrs
        node.input_types, node.output_types = input_types, output_types

    def remove_node(self, node: Node) -> None:
        """Remove a node and all of its edges."""
        self.remove_nodes([node])

    def remove_nodes(self, nodes: Iterable[Node]) -> None:
        """Remove nodes and all of their edges."""
        for node in nodes:
            assert node.is_op, "_SOURCE and _SINK stay"
            for edge in [*node.in_edges, *node.out_edges]:
                if self._edges[edge.id] is not None:  # a self-loop is in both lists
                    self.remove_edge(edge)
            self.nodes[node.id] = None
            del self._by_name[node.name]

    def new_name(self, prefix: str) -> str:
        """Return an unused name in this graph: ``prefix/_k`` with a counter of the graph."""
        while True:
            name = f"{prefix}/_{self._name_counter}"
            self._name_counter += 1
            if name not in self._by_name:
                return name

    # -- edges -------------------------------------------------------------------------------------

    def add_edge(self, src: Node, src_output: int, dst: Node, dst_input: int) -> Edge:
        """Connect an output to an input; the caller has checked the indices and the types."""
        edges = self._edges
        edge = Edge(len(edges), src, src_output, dst, dst_input)
        edges.append(edge)
        out_edges, in_edges = src.out_edges, dst.in_edges
        if isinstance(out_edges, list):
            out_edges.append(edge)
            if len(out_edges) > MOST_IN_LIST:
                src.out_edges = dict.fromkeys(out_edges)
        else:
            out_edges[edge] = None
        if isinstance(in_edges, list):
            in_edges.append(edge)
            if len(in_edges) > MOST_IN_LIST:
                dst.in_edges = dict.fromkeys(in_edges)
        else:
            in_edges[edge] = None
        if dst_input >= 0:
            data = dst.data_in_edges
            if dst_input == len(data):
                data.append(edge)
            else:
                data += [None] * (dst_input + 1 - len(data))
                data[dst_input] = edge
        return edge

    def add_inputs(self, node: Node, sources: Iterable[tuple[Node, int]]) -> None:
        """Connect outputs, given as (node, index), to the inputs of a node in order."""
        for slot, (src, output) in enumerate(sources):
            self.add_edge(src, output, node, slot)

    def add_control_edge(
        self, src: Node, dst: Node, *, allow_duplicates: bool = False
    ) -> Edge | None:
        """Add a control edge; None if it exists already, unless duplicates are allowed."""
        if not allow_duplicates:
            fewer = dst.in_edges if len(dst.in_edges) <= len(src.out_edges) else src.out_edges
            for edge in fewer:
                if edge.src_output == CONTROL_SLOT and edge.src is src and edge.dst is dst:
                    return None
        return self.add_edge(src, CONTROL_SLOT, dst, CONTROL_SLOT)

    def remove_edge(self, edge: Edge) -> None:
        """Remove an edge."""
        dst, dst_input = edge.dst, edge.dst_input
        self.distinct = None
        for edges in (edge.src.out_edges, dst.in_edges):
            if isinstance(edges, list):
                edges.remove(edge)
            else:
                del edges[edge]
        data = dst.data_in_edges
        if 0 <= dst_input < len(data) and data[dst_input] is edge:
            data[dst_input] = None
            while data and data[-1] is None:
                data.pop()
        self._edges[edge.id] = None

    def remove_edges(self, edges: Iterable[Edge]) -> None:
        """Remove edges, each once."""
        for edge in dict.fromkeys(edges):
            self.remove_edge(edge)

    def update_edge(self, src: Node, src_output: int, dst: Node, dst_input: int) -> Edge:
        """Connect ``dst``'s input to another tensor and return the new edge."""
        self.remove_edge(dst.input_edge(dst_input))
        return self.add_edge(src, src_output, dst, dst_input)

    # -- whole graph -------------------------------------------------------------------------------

    def copy(self) -> Graph:
        """Return a graph with equal nodes and edges under equal ids; attributes are shared."""
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

    def fixup_source_and_sink_edges(self, first_id: int = SINK_ID + 1) -> None:
        """Connect nodes without inputs to ``_SOURCE`` and nodes without consumers to ``_SINK``.

        Visits nodes with ids from ``first_id`` on; older nodes keep their edges.
        """
        source, sink = self.source, self.sink
        for node in self.nodes[first_id:]:
            if node is None:
                continue
            if not node.in_edges:
                self.add_edge(source, CONTROL_SLOT, node, CONTROL_SLOT)
            if not node.out_edges:
                self.add_edge(node, CONTROL_SLOT, sink, CONTROL_SLOT)

    def truncate(self, num_node_ids: int, num_edge_ids: int) -> None:
        """Remove the nodes from id ``num_node_ids`` on and the edges from ``num_edge_ids`` on."""
        for edge in self._edges[num_edge_ids:]:
            if edge is not None:
                self.remove_edge(edge)
        for added in self.nodes[num_node_ids:]:
            if added is not None:
                self._by_name.pop(added.name, None)
        del self.nodes[num_node_ids:]
        del self._edges[num_edge_ids:]


def with_default_attrs(op_def: OpDef, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fill in the op's defaults for missing attributes; return the same object if complete."""
    missing: dict[str, Any] = {}
    for attr in op_def.attrs:
        if attr.name not in attrs and attr.has_default:
            missing[attr.name] = attr.default
    return {**attrs, **missing} if missing else attrs
