"""Nodes and edges of the runtime's graph.

A data edge joins output ``src_output`` to input ``dst_input``; a control edge has ``CONTROL_SLOT``
at both ends.  ``Node.in_edges`` and ``Node.out_edges`` keep the order in which edges were added.
``Node.attrs`` is never changed in place: copies of a graph share it (:meth:`Node.set_attr`
replaces it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import OpDef
    from tfnb.core.op_registry import OpDefinition
    from tfnb.graph.node_kind import NodeKind

    type_of_edges = list["Edge"] | dict["Edge", None]

CONTROL_SLOT: Final = -1
SOURCE_ID: Final = 0
SINK_ID: Final = 1
MOST_IN_LIST: Final = 16
"""A node with more edges into it, or out of it, keeps them in a dict."""


class Edge:
    """A tensor, or (both slots ``CONTROL_SLOT``) an execution order, from one node to another."""

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
        src, dst = self.src.name, self.dst.name
        return f"<Edge {self.id} {src}:{self.src_output} -> {dst}:{self.dst_input}>"


class Node:
    """One op in the graph.

    Attributes:
      id: index into ``Graph.nodes``.
      name: unique in the graph.
      op: name of the op or of a function in the graph's library.
      op_definition: the definition of the op; None only for ``_SOURCE`` and ``_SINK``.
      attrs: attribute values as Python objects, defaults filled in; treat as immutable.
      input_types: dtype of each data input, reference types where the op requires a reference.
      output_types: dtype of each output.
      requested_device: the device that the user requested; may be partial or empty.
      assigned_device: full name of the device, "" before placement.
      in_edges: data and control edges into this node; a list of a few edges, which takes a third of
        a dict's memory, else the keys of a dict, so that removing one of very many is fast.
      data_in_edges: the data edges among them, by input number; None where nothing is connected.
      out_edges: data and control edges out of this node; a list or the keys of a dict, too.
      kind: flags that depend on the op's name only, shared by all nodes of that op.
      original_names: the nodes this one was made from, if a rewrite made it.
    """

    __slots__ = (
        "assigned_device",
        "attrs",
        "data_in_edges",
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
        self.in_edges: type_of_edges = []
        self.data_in_edges: list[Edge | None] = []
        self.out_edges: type_of_edges = []
        self.original_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.name!r} ({self.op})>"

    # -- shape of the node -------------------------------------------------------------------------

    @property
    def num_inputs(self) -> int:
        """The number of tensors that the node takes."""
        return len(self.input_types)

    @property
    def num_outputs(self) -> int:
        """The number of tensors that the node produces."""
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
        """Return the edge into input ``index``.

        Raises:
          InvalidArgumentError: nothing is connected there.
        """
        edges = self.data_in_edges
        edge = edges[index] if 0 <= index < len(edges) else None
        if edge is not None:
            return edge
        raise errors.invalid_argument(f"Could not find input edge {index} for {self.name}")

    def input_edges(self) -> list[Edge]:
        """Return the data edges into the node, by input number.

        Raises:
          InvalidArgumentError: an input is not connected.
        """
        found = [edge for edge in self.data_in_edges if edge is not None]
        if len(found) != len(self.input_types):
            raise errors.invalid_argument(
                f"Node {self.name} has {len(self.input_types)} inputs, "
                f"but only {len(found)} of them are connected."
            )
        return found

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the tensors that the node takes: ``x``, ``split:1``.

        A constant that an optimizer made has the name of the node that it replaces.
        """
        edges = self.data_in_edges
        if not edges:
            return ()
        names = []
        for edge in edges:
            if edge is None:
                continue
            src = edge.src
            name = src.original_names[0] if src.op == "Const" and src.original_names else src.name
            names.append(f"{name}:{edge.src_output}" if edge.src_output else name)
        return tuple(names)

    def input_node(self, index: int) -> Node:
        """Return the node that feeds input ``index``."""
        return self.input_edge(index).src

    def control_inputs(self) -> list[Node]:
        """Return the nodes that must run before this one, without providing a tensor."""
        return [edge.src for edge in self.in_edges if edge.dst_input == CONTROL_SLOT]

    def set_attr(self, name: str, value: Any) -> None:
        """Set an attribute of this node alone, not of its copies in other graphs."""
        self.attrs = {**self.attrs, name: value}

    # -- what kind of node -------------------------------------------------------------------------

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
        """Whether the node reads only its input's shape."""
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
