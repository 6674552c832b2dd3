"""Conversion of feeds, fetches and targets to the graph that computes them.

Corresponds to TensorFlow's graph/subgraph.cc, with one difference: TensorFlow copies the whole
graph, rewrites the copy and prunes it; here a walk back from fetches and targets, stopping at
feeds, finds the needed nodes, and only these are copied: the cost depends on the result's size.

A fed tensor becomes a node that brings the value in, a fetched one a node that takes it out::

    function convention     _arg_a_0_<position>  (_Arg)      _retval_a_0_<position>  (_Retval)
    partial runs            _recv_a_0            (_Recv)     _send_a_0               (_Send)
    tensor connections      _identity_a_0        (Identity)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.process.records import record
from tfnb.graph.graph import CONTROL_SLOT, SINK_ID, SOURCE_ID, Graph, Node
from tfnb.graph.graph_constructor import check_edge_types
from tfnb.graph.tensor_id import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from tfnb.core.dtypes import DType

type_of_tensor = tuple[Node, int]


@record(frozen=True, slots=True)
class ClientDevice:
    """The device where feeds arrive and fetches leave."""

    name: str
    incarnation: int = 1


@record(frozen=True, slots=True)
class RewrittenGraph:
    """The graph of one signature.

    Attributes:
      graph: the needed nodes, feed nodes first, then copies in the order of the full graph's ids,
        then fetch nodes.
      feed_types: the dtype of each feed, never a reference; also of unused feeds.
      fetch_types: the dtype of each fetch, never a reference.
    """

    graph: Graph
    feed_types: list[DType]
    fetch_types: list[DType]


def rewrite_graph_for_execution(
    full_graph: Graph,
    feeds: Sequence[str],
    fetches: Sequence[str],
    targets: Sequence[str],
    device: ClientDevice | str,
    use_function_convention: bool = True,
    *,
    connections: Sequence[tuple[str, str]] = (),
    feed_devices: Sequence[str] = (),
    fetch_devices: Sequence[str] = (),
    stand_ins: AbstractSet[str] = frozenset(),
) -> RewrittenGraph:
    """Build the graph that computes ``fetches`` and runs ``targets`` from ``feeds``.

    Args:
      full_graph: the session's graph; it is only read.
      feeds: tensors that get values from outside.
      fetches: tensors whose values go outside.
      targets: nodes that run for their effect.
      device: where feeds arrive and fetches leave.
      use_function_convention: whether to use positional _Arg/_Retval; otherwise _Recv/_Send by
        name.
      connections: pairs (from, to): consumers of tensor ``to`` get tensor ``from`` instead.
      feed_devices: for each feed the device where it arrives, "" for ``device``; may be left out.
      fetch_devices: for each fetch the device where it leaves, in the same form.
      stand_ins: nodes that only pass their inputs on, each under the name of a node that was split;
        since the consumers of that node take these inputs directly, a feed of a stand-in's output
        replaces the inputs, too.

    Raises:
      InvalidArgumentError: there are no fetches and targets; a tensor is fed twice, or fed and
        fetched; an output number is too large; a fetched node has no output; a reference is fed to
        a node that writes to it; a connection closes a cycle or names an unknown tensor.
      NotFoundError: a feed, fetch or target is not in the graph.
    """
    if not fetches and not targets:
        raise errors.invalid_argument("Must specify at least one target to fetch or execute.")
    if isinstance(device, str):
        device = ClientDevice(device)
    _check_endpoints([*feeds, *(to for _, to in connections)], fetches)
    rewrite = _Rewrite(full_graph, feeds, connections, stand_ins)
    fetched = [_fetched_tensor(full_graph, name) for name in fetches]
    wanted = [node for node, _ in fetched] + _target_nodes(full_graph, targets)
    rewrite.walk_back_from(wanted)
    rewrite.add_nodes(device, use_function_convention, feed_devices)
    rewrite.connect()
    for position, (name, (node, index)) in enumerate(zip(fetches, fetched)):
        place = _device_at(fetch_devices, position, device)
        rewrite.add_fetch_node(name, node, index, position, place, use_function_convention)
    rewrite.graph.fixup_source_and_sink_edges()
    return RewrittenGraph(
        rewrite.graph,
        [_base_type(node, index) for node, index in rewrite.fed[: len(feeds)]],
        [_base_type(node, index) for node, index in fetched],
    )


class _Rewrite:
    """One run of the rewriting.

    State: ``fed`` tensors by position (feeds, then connections) and the reverse ``position_of``;
    ``needed`` nodes and ``needed_feeds`` positions, filled by the walk; ``twin`` maps nodes of the
    full graph to nodes of the new ``graph``, ``feed_nodes`` maps positions.
    """

    __slots__ = (
        "connections",
        "fed",
        "fed_placeholders",
        "feed_nodes",
        "feeds",
        "graph",
        "needed",
        "needed_feeds",
        "position_of",
        "twin",
    )

    def __init__(
        self,
        full_graph: Graph,
        feeds: Sequence[str],
        connections: Sequence[tuple[str, str]],
        stand_ins: AbstractSet[str],
    ) -> None:
        self.feeds = feeds
        self.graph = full_graph.empty_like()
        self.fed: list[type_of_tensor] = []
        self.position_of: dict[type_of_tensor, int] = {}
        self.fed_placeholders: dict[Node, int] = {}
        self.needed: set[Node] = set()
        self.needed_feeds: set[int] = set()
        self.twin: dict[Node, Node] = {}
        self.feed_nodes: dict[int, Node] = {}
        # Position of a connection among all fed tensors -> the tensor it takes from.
        self.connections: dict[int, type_of_tensor] = {}
        for name in feeds:
            node, index = _fed_tensor(full_graph, name)
            if node.name in stand_ins:
                edge = node.input_edge(index)
                node, index = edge.src, edge.src_output
            self._feed((node, index), name)
        for source, to in connections:
            tensor = _connection_source(full_graph, source)
            node, index = _fed_tensor(full_graph, to)
            self._check_no_cycle(tensor[0], node)
            self.connections[len(self.fed)] = tensor
            self._feed((node, index), to)

    def _feed(self, tensor: type_of_tensor, name: str) -> None:
        if tensor in self.position_of:
            raise errors.invalid_argument(f'Endpoint "{name}" fed more than once.')
        position = self.position_of[tensor] = len(self.fed)
        self.fed.append(tensor)
        if tensor[0].kind.is_placeholder:
            self.fed_placeholders[tensor[0]] = position

    def _check_no_cycle(self, source: Node, to: Node) -> None:
        before = _Walk(self)
        before.run([source])
        if to in before.nodes:
            raise errors.invalid_argument(
                f'Requested Tensor connection between nodes "{to.name}" and "{source.name}" '
                "would create a cycle."
            )

    def feed_of(self, src: Node, src_output: int, after: int = -1) -> int | None:
        """Return the feed that replaces an edge's tensor, or None.

        A control edge from a fed placeholder comes from its feed; from any other fed node it still
        comes from the node, which must run.  Only positions greater than ``after`` count: a
        connection takes its tensor as if the feeds and connections before it did not exist.
        """
        if src_output == CONTROL_SLOT:
            position = self.fed_placeholders.get(src)
        else:
            position = self.position_of.get((src, src_output))
        return position if position is not None and position > after else None

    def walk_back_from(self, wanted: Sequence[Node]) -> None:
        """Fill ``needed`` and ``needed_feeds``."""
        walk = _Walk(self)
        walk.run(wanted)
        self.needed, self.needed_feeds = walk.nodes, walk.feeds

    def add_nodes(
        self, device: ClientDevice, use_function_convention: bool, feed_devices: Sequence[str]
    ) -> None:
        """Make the nodes that bring values in, then the copies; ids still grow along edges."""
        graph = self.graph
        for position in sorted(self.needed_feeds - self.connections.keys()):
            node, index = self.fed[position]
            dtype = _base_type(node, index)
            if use_function_convention:
                feed = graph.add_node(
                    f"_arg_{node.name}_{index}_{position}",
                    "_Arg",
                    {"T": dtype, "index": position},
                )
            else:
                attrs = _transfer_attrs(self.feeds[position], device)
                feed = graph.add_node(
                    f"_recv_{node.name}_{index}",
                    "_Recv",
                    {"tensor_type": dtype, **attrs},
                    original_names=[node.name],
                )
            feed.assigned_device = _device_at(feed_devices, position, device).name
            self.feed_nodes[position] = feed
        twin, copy_node = self.twin, graph.copy_node
        for node in sorted(self.needed, key=_node_id):
            twin[node] = copy_node(node)
        for position in sorted(self.needed_feeds & self.connections.keys()):
            node, index = self.fed[position]
            source, output = self.connections[position]
            joint = graph.add_node(
                f"_identity_{node.name}_{index}", "Identity", {"T": _base_type(source, output)}
            )
            joint.assigned_device = node.assigned_device
            self.feed_nodes[position] = joint

    def connect(self) -> None:
        """Connect every copy like its original, with feeds in place of fed tensors."""
        add_edge, twin = self.graph.add_edge, self.twin
        has_feeds = bool(self.fed)
        for original, copy in twin.items():
            for edge in original.in_edges:
                src, output = edge.src, edge.src_output
                position = self.feed_of(src, output) if has_feeds else None
                if position is None:
                    if src.id != SOURCE_ID:  # it has no copy here
                        add_edge(twin[src], output, copy, edge.dst_input)
                    continue
                feed = self.feed_nodes[position]
                slot = CONTROL_SLOT if output == CONTROL_SLOT else 0
                check_edge_types(add_edge(feed, slot, copy, edge.dst_input))
        for position in sorted(self.needed_feeds & self.connections.keys()):
            source, output = self.connections[position]
            later = self.feed_of(source, output, after=position)
            if later is None:
                add_edge(twin[source], output, self.feed_nodes[position], 0)
            else:
                add_edge(self.feed_nodes[later], 0, self.feed_nodes[position], 0)

    def add_fetch_node(
        self,
        name: str,
        node: Node,
        index: int,
        position: int,
        device: ClientDevice,
        use_function_convention: bool,
    ) -> None:
        """Make the node that takes a fetched value out."""
        dtype = _base_type(node, index)
        if use_function_convention:
            fetch = self.graph.add_node(
                f"_retval_{node.name}_{index}_{position}",
                "_Retval",
                {"T": dtype, "index": position},
            )
        else:
            name_of_send = f"_send_{node.name}_{index}"
            if self.graph.find_node(name_of_send) is not None:
                return
            fetch = self.graph.add_node(
                name_of_send,
                "_Send",
                {"T": dtype, **_transfer_attrs(name, device)},
                original_names=[node.name],
            )
        fetch.assigned_device = device.name
        self.graph.add_edge(self.twin[node], index, fetch, 0)


class _Walk:
    """A walk back along edges that stops at feeds."""

    __slots__ = ("feeds", "nodes", "rewrite")

    def __init__(self, rewrite: _Rewrite) -> None:
        self.rewrite = rewrite
        self.nodes: set[Node] = set()
        self.feeds: set[int] = set()

    def run(self, starts: Sequence[Node]) -> None:
        """Fill ``nodes`` and ``feeds``."""
        nodes, feed_of = self.nodes, self.rewrite.feed_of
        has_feeds = bool(self.rewrite.fed)
        nodes.update(starts)
        stack = list(nodes)
        while stack:
            for edge in stack.pop().in_edges:
                src = edge.src
                if has_feeds:
                    position = feed_of(src, edge.src_output)
                    if position is not None:
                        self._need_feed(position, stack)
                        continue
                if src not in nodes and src.id > SINK_ID:
                    nodes.add(src)
                    stack.append(src)

    def _need_feed(self, position: int | None, stack: list[Node]) -> None:
        # A connection needs its source, which may in turn be another connection.
        while position is not None and position not in self.feeds:
            self.feeds.add(position)
            connection = self.rewrite.connections.get(position)
            if connection is None:
                return
            source, output = connection
            position = self.rewrite.feed_of(source, output, after=position)
            if position is None and source not in self.nodes:
                self.nodes.add(source)
                stack.append(source)


def _node_id(node: Node) -> int:
    return node.id


def _base_type(node: Node, index: int) -> DType:
    return node.output_types[index].base_dtype


def _device_at(devices: Sequence[str], position: int, default: ClientDevice) -> ClientDevice:
    name = devices[position] if position < len(devices) else ""
    return ClientDevice(name, default.incarnation) if name else default


def _transfer_attrs(endpoint: str, device: ClientDevice) -> dict[str, object]:
    name = device.name.encode()
    return {
        "tensor_name": endpoint.encode(),
        "send_device": name,
        "send_device_incarnation": device.incarnation,
        "recv_device": name,
        "client_terminated": True,
    }


# -- names to nodes --------------------------------------------------------------------------------


def _check_endpoints(fed: Sequence[str], fetches: Sequence[str]) -> None:
    seen = set()
    for name in fed:
        tensor = parse_tensor_name(name)
        if tensor in seen:
            raise errors.invalid_argument(f'Endpoint "{name}" fed more than once.')
        seen.add(tensor)
    for name in fetches:
        if parse_tensor_name(name) in seen:
            raise errors.invalid_argument(f"{name} is both fed and fetched.")


def _fed_tensor(graph: Graph, name: str) -> type_of_tensor:
    node_name, index = parse_tensor_name(name)
    node = graph.find_node(node_name)
    if node is None or not node.is_op:
        raise errors.not_found(f"FeedInputs: unable to find feed output {name}")
    if not 0 <= index < node.num_outputs:
        raise errors.invalid_argument(
            f"FeedInputs: {name} should have output index < {node.num_outputs}"
        )
    return node, index


def _connection_source(graph: Graph, name: str) -> type_of_tensor:
    node_name, index = parse_tensor_name(name)
    node = graph.find_node(node_name)
    if node is None or not node.is_op:
        raise errors.invalid_argument(f'Requested tensor connection from unknown node: "{name}".')
    if not 0 <= index < node.num_outputs:
        raise errors.invalid_argument(
            f'Requested tensor connection from unknown edge: "{name}" '
            f"(actual number of outputs = {node.num_outputs})."
        )
    return node, index


def _fetched_tensor(graph: Graph, name: str) -> type_of_tensor:
    node_name, index = parse_tensor_name(name)
    node = graph.find_node(node_name)
    if node is None or not node.is_op:
        raise errors.not_found(f"FetchOutputs node {name}: not found")
    if not node.num_outputs:
        raise errors.invalid_argument(
            f"Tried to fetch data for '{name}', which produces no output.  To run to a node but "
            f"not fetch any data, pass '{name}' as a target of the run instead."
        )
    if not 0 <= index < node.num_outputs:
        raise errors.invalid_argument(
            f"FetchOutputs {name}: output index too large, must be < {node.num_outputs}"
        )
    return node, index


def _target_nodes(graph: Graph, targets: Sequence[str]) -> list[Node]:
    found = [graph.find_node(name) for name in targets]
    missing = [name for name, node in zip(targets, found) if node is None or not node.is_op]
    if missing:
        raise errors.not_found(f"PruneForTargets: Some target nodes not found: {' '.join(missing)}")
    return [node for node in found if node is not None]
