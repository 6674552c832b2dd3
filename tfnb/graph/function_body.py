"""Instantiation of a function: its graph for the attributes of one call.

Corresponds to TensorFlow's InstantiateFunction and FunctionBody. In a FunctionDef an input is
written as ``arg``, ``arg:1`` (an argument that is a list), ``node:out_arg:1`` (the second tensor of
the node's output of that name) or ``^node``; an attribute may be a placeholder for one of the
function's attributes. The graph has an ``_Arg`` for every argument tensor and a ``_Retval`` for
every result tensor, with ``index`` 0, 1, .... A stateless node that no result needs is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.attr_value import NameAttrList, decode_attr
from tfnb.core.process.later import later
from tfnb.core.process.records import record
from tfnb.graph.algorithm import prune_for_reverse_reachability
from tfnb.graph.graph import CONTROL_SLOT, Graph, Node
from tfnb.graph.graph_constructor import types_compatible
from tfnb.graph.validate import complete_attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core import node_text
    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import ArgDef
    from tfnb.graph.function_library import FunctionDefinition, FunctionLibraryDefinition
    from tfnb.proto import attr_value_pb2, graph_pb2
else:
    node_text = later("tfnb.core.node_text", in_step=True)


@record(frozen=True, slots=True)
class FunctionBody:
    """A function instantiated for one set of attributes.

    Attributes:
      definition: the function.
      graph: its nodes; a new graph, which the caller may place and change.
      arg_nodes: the ``_Arg`` nodes by index.
      ret_nodes: the ``_Retval`` nodes by index.
      control_ret_nodes: nodes that must run although no result depends on them.
      arg_types: the dtype of each argument tensor.
      ret_types: the dtype of each result tensor.
    """

    definition: FunctionDefinition
    graph: Graph
    arg_nodes: list[Node]
    ret_nodes: list[Node]
    control_ret_nodes: list[Node]
    arg_types: list[DType]
    ret_types: list[DType]


def instantiate(
    definition: FunctionDefinition,
    attrs: Mapping[str, Any],
    library: FunctionLibraryDefinition | None = None,
) -> FunctionBody:
    """Make the graph of a function for one set of attributes.

    Args:
      definition: the function.
      attrs: values of the function's attributes, from the calling node.
      library: the functions that its nodes may call.

    Raises:
      InvalidArgumentError: an attribute is missing, or the body is malformed.
      NotFoundError: the body uses an op that is not registered.
    """
    signature = definition.op_def
    try:
        values = dict(complete_attrs(signature, attrs, definition.name))
    except errors.InvalidArgumentError as error:
        raise errors.invalid_argument(
            f"Cannot instantiate function '{definition.name}': {error.message}"
        ).naming(error.named_node) from None
    maker = _BodyMaker(definition, values, Graph(library))
    maker.add_args()
    maker.add_nodes()
    maker.connect_nodes()
    return maker.finish()


class _BodyMaker:
    """The instantiation of one function.

    State: ``tensors`` maps the spelling of an input without its position (``arg`` or
    ``node:out_arg``) to its tensors; ``made`` pairs each new node with its NodeDef.
    """

    __slots__ = ("arg_nodes", "attrs", "definition", "graph", "made", "ret_nodes", "tensors")

    def __init__(
        self, definition: FunctionDefinition, attrs: Mapping[str, Any], graph: Graph
    ) -> None:
        self.definition = definition
        self.attrs = attrs
        self.graph = graph
        self.tensors: dict[str, list[tuple[Node, int]]] = {}
        self.made: list[tuple[Node, graph_pb2.NodeDef]] = []
        self.arg_nodes: list[Node] = []
        self.ret_nodes: list[Node] = []

    def add_args(self) -> None:
        """Make an ``_Arg`` for every tensor of every argument."""
        arg_attrs = self.definition.function_def.arg_attr
        for position, arg in enumerate(self.definition.op_def.inputs):
            dtypes = self._types(arg)
            tensors = self.tensors[arg.name] = []
            notes = {}
            if position in arg_attrs:
                notes = {
                    name: decode_attr(value)
                    for name, value in arg_attrs[position].attr.items()
                    if name.startswith("_")
                }
            for number, dtype in enumerate(dtypes):
                name = arg.name if len(dtypes) == 1 else f"{arg.name}_{number}"
                node = self.graph.add_node(
                    name, "_Arg", {"T": dtype, "index": len(self.arg_nodes), **notes}
                )
                self.arg_nodes.append(node)
                tensors.append((node, 0))

    def _types(self, arg: ArgDef) -> list[DType]:
        return arg.types(self.attrs)

    def add_nodes(self) -> None:
        """Make the body's nodes, without edges."""
        for node_def in self.definition.function_def.node_def:
            attrs = {name: self._value(value) for name, value in node_def.attr.items()}
            op = self.graph.op_definition(node_def.op)
            complete = complete_attrs(op.op_def, attrs, node_def.name)
            try:
                node = self.graph.add_checked_node(node_def.name, op, complete, node_def.device)
            except errors.AlreadyExistsError:
                raise errors.invalid_argument(
                    f"Node name '{node_def.name}' is used twice in function "
                    f"'{self.definition.name}'."
                ) from None
            self.made.append((node, node_def))
            for out_name, span in op.op_def.output_ranges(complete).items():
                self.tensors[f"{node.name}:{out_name}"] = [(node, index) for index in span]

    def _value(self, proto: attr_value_pb2.AttrValue) -> Any:
        kind = proto.WhichOneof("value")
        if kind == "placeholder":
            return self._substitute(proto.placeholder)
        if kind == "func":
            return self._function(proto.func)
        if kind == "list" and proto.list.func:
            return [self._function(function) for function in proto.list.func]
        return decode_attr(proto)

    def _function(self, proto: attr_value_pb2.NameAttrList) -> NameAttrList:
        return NameAttrList(
            proto.name, {name: self._value(value) for name, value in proto.attr.items()}
        )

    def _substitute(self, placeholder: str) -> Any:
        name = placeholder.removeprefix("$")
        if name not in self.attrs:
            raise errors.invalid_argument(
                f"Failed to bind all placeholders in function '{self.definition.name}': "
                f"'{name}' is not one of its attributes."
            )
        return self.attrs[name]

    def connect_nodes(self) -> None:
        """Add the edges for the inputs that the NodeDefs list."""
        for node, node_def in self.made:
            number = 0
            controls: set[str] = set()
            for text in node_def.input:
                if text.startswith("^"):
                    if text not in controls:
                        controls.add(text)
                        self.graph.add_edge(
                            self._control_source(text[1:], node), CONTROL_SLOT, node, CONTROL_SLOT
                        )
                    continue
                for src, index in self._tensors_of(text, node.name):
                    self._connect(src, index, node, number)
                    number += 1
            if number != node.num_inputs:
                raise self._malformed(
                    f"node '{node.name}' takes {node.num_inputs} inputs, {number} are given"
                )

    def _connect(self, src: Node, index: int, node: Node, number: int) -> None:
        if number < node.num_inputs:
            wanted, given = node.input_types[number], src.output_types[index]
            if not types_compatible(wanted, given):
                raise self._malformed(
                    f"input {number} of node '{node.name}' was passed "
                    f"{node_text.type_word(given)} from {src.name}:{index} "
                    f"incompatible with expected {node_text.type_word(wanted)}"
                )
        self.graph.add_edge(src, index, node, number)

    def _control_source(self, name: str, node: Node) -> Node:
        found = self.graph.find_node(name)
        if found is None:
            raise self._malformed(f"node '{node.name}' waits for the unknown node '{name}'")
        return found

    def _tensors_of(self, text: str, user: str) -> list[tuple[Node, int]]:
        found = self.tensors.get(text)
        if found is not None:
            return found
        name, _, position = text.rpartition(":")
        found = self.tensors.get(name)
        if found is None or not position.isdecimal() or int(position) >= len(found):
            raise self._malformed(f"'{user}' uses the unknown tensor '{text}'")
        return [found[int(position)]]

    def _malformed(self, what: str) -> errors.InvalidArgumentError:
        return errors.invalid_argument(f"In function '{self.definition.name}': {what}.")

    def finish(self) -> FunctionBody:
        """Make the ``_Retval`` nodes and return the body."""
        function_def, signature = self.definition.function_def, self.definition.op_def
        for arg in signature.outputs:
            if arg.name not in function_def.ret:
                raise self._malformed(f"the result '{arg.name}' comes from nowhere")
            sources = self._tensors_of(function_def.ret[arg.name], arg.name)
            dtypes = self._types(arg)
            if len(sources) != len(dtypes):
                raise self._malformed(
                    f"the result '{arg.name}' has {len(dtypes)} tensors, {len(sources)} are given"
                )
            self._add_retvals(arg.name, dtypes, sources)
        controls = [
            self._control_source(name, self.graph.sink)
            for name in function_def.control_ret.values()
        ]
        # Stateful nodes run whether or not a result depends on them, as in TensorFlow.
        lasting = [node for node in self.graph.op_nodes() if node.is_stateful]
        prune_for_reverse_reachability(self.graph, [*lasting, *controls, *self.ret_nodes])
        self.graph.fixup_source_and_sink_edges()
        return FunctionBody(
            self.definition,
            self.graph,
            self.arg_nodes,
            self.ret_nodes,
            controls,
            [node.output_types[0] for node in self.arg_nodes],
            [node.input_types[0] for node in self.ret_nodes],
        )

    def _add_retvals(
        self, name: str, dtypes: Sequence[DType], sources: Sequence[tuple[Node, int]]
    ) -> None:
        for number, (dtype, (src, index)) in enumerate(zip(dtypes, sources)):
            suffix = "" if len(dtypes) == 1 else f"_{number}"
            node_name = f"{name}_RetVal{suffix}"
            if self.graph.find_node(node_name) is not None:
                node_name = self.graph.new_name(node_name)
            node = self.graph.add_node(
                node_name, "_Retval", {"T": dtype, "index": len(self.ret_nodes)}
            )
            self._connect(src, index, node, 0)
            self.ret_nodes.append(node)
