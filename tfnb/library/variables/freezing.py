"""Freezing a graph: variables become constants, so that one GraphDef is the whole model.

A reference variable becomes a Const with its name. A resource variable does, too, and the consumers
of its handle are rewritten for a value: ReadVariableOp to Identity, ResourceGather to GatherV2, and
ops that only pass the handle on (Switch, Enter, Merge ...) to their form for values. Functions that
take the handle are copied (:mod:`tfnb.library.variables.freezing_functions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, op_registry
from tfnb.core.tensor_util import make_tensor_proto
from tfnb.framework.graph_def_reader import parse_tensor_id
from tfnb.framework.importing.graph_util import extract_sub_graph
from tfnb.library.variables.freezing_functions import (
    FunctionFreezer,
    add_scalar,
    is_call,
    outputs_of_call,
    rewrite_reader,
)
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tfnb.core.dtypes import DType
    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"graph_util": ["convert_variables_to_constants"]}

_REF_VARIABLES = frozenset(("Variable", "VariableV2"))
_VARIABLES = _REF_VARIABLES | {"VarHandleOp"}

# Ops that pass their input on -> their form for values.
_PASSING = {
    **{
        name: name
        for name in ("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")
    },
    **{
        f"Ref{name}": name
        for name in ("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration")
    },
}
_READING = frozenset(("ReadVariableOp", "ResourceGather", "ResourceGatherNd"))
_IS_INITIALIZED = frozenset(("IsVariableInitialized", "VarIsInitializedOp"))


def convert_variables_to_constants(
    sess: SessionLike,
    input_graph_def: graph_pb2.GraphDef,
    output_node_names: Iterable[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> graph_pb2.GraphDef:
    """Return the part of a graph that some nodes need, with variables replaced by their values.

    Args:
      sess: the session that has the values.
      input_graph_def: the graph.
      output_node_names: names of the nodes to keep, with all nodes that they need.
      variable_names_whitelist: the variables to convert; None for all.
      variable_names_blacklist: variables to keep.

    Returns:
      A GraphDef without the converted variables.

    Raises:
      AssertionError: the graph lacks one of the nodes.
      FailedPreconditionError: a variable has no value.
      ValueError: a node that is needed changes a variable.
    """
    graph_def = extract_sub_graph(input_graph_def, list(output_node_names))
    chosen = [
        node
        for node in graph_def.node
        if node.op in _VARIABLES
        and (variable_names_whitelist is None or node.name in variable_names_whitelist)
        and node.name not in (variable_names_blacklist or ())
    ]
    fetches = {node.name: _value_of(sess.graph, node) for node in chosen}
    values = sess.run(fetches) if fetches else {}
    return _Freezer(graph_def, values).run()


def _value_of(graph: Graph, node: Any) -> TensorResult:
    """Return the tensor of a session's graph with the value of a variable."""
    if node.op in _REF_VARIABLES:
        return graph.get_tensor_by_name(f"{node.name}:0")
    try:
        return graph.get_tensor_by_name(f"{node.name}/Read/ReadVariableOp:0")
    except KeyError:
        handle = graph.get_tensor_by_name(f"{node.name}:0")
    for consumer in handle.consumers():
        if consumer.type == "ReadVariableOp" and consumer._get_control_flow_context() is None:
            return consumer.outputs[0]
    raise ValueError(
        f"The variable '{node.name}' has no ReadVariableOp in the session's graph to read it with."
    )


class _Freezer:
    """One rewriting of one graph.

    ``types`` maps every output that is a variable's handle or reference, and becomes a value, to
    the type of this value.
    """

    def __init__(self, graph_def: graph_pb2.GraphDef, values: dict[str, Any]) -> None:
        self.graph_def = graph_def
        self.values = values
        self.functions = FunctionFreezer(graph_def.library)
        self.by_name = {node.name: node for node in graph_def.node}
        self.types: dict[tuple[str, int], DType] = {}

    def run(self) -> graph_pb2.GraphDef:
        """Return the rewritten graph."""
        self._spread()
        found = graph_pb2.GraphDef()
        for node in self.graph_def.node:
            copy = found.node.add()
            copy.CopyFrom(node)
            if node.name in self.values:
                self._make_constant(copy, self.values[node.name], _dtype_of(node))
            else:
                self._rewrite(found, copy)
        if self.graph_def.HasField("library"):
            found.library.CopyFrom(self.graph_def.library)
            found.library.function.extend(self.functions.made)
        found.versions.CopyFrom(self.graph_def.versions)
        return found

    def _spread(self) -> None:
        """Follow handles and references through the nodes that pass them on, also around loops."""
        consumers: dict[str, list[Any]] = {}
        for node in self.graph_def.node:
            for text in node.input:
                name, index = parse_tensor_id(text)
                if index >= 0:
                    consumers.setdefault(name, []).append(node)
        waiting = []
        for name in self.values:
            self.types[name, 0] = _dtype_of(self.by_name[name])
            waiting.append(name)
        while waiting:
            name = waiting.pop()
            for node in consumers.get(name, ()):
                if is_call(node.op):
                    if self._spread_through_call(node):
                        waiting.append(node.name)
                    continue
                if node.op not in _PASSING or (node.name, 0) in self.types:
                    continue
                dtype = self._type_of_first(node)
                if dtype is not None and self._hands_on(node):
                    self.types[node.name, 0] = dtype
                    if node.op.endswith("Switch"):
                        self.types[node.name, 1] = dtype
                    waiting.append(node.name)

    def _types_of_inputs(self, node: Any) -> dict[int, DType]:
        found = {
            position: self.types.get(parse_tensor_id(text))
            for position, text in enumerate(node.input)
        }
        return {position: dtype for position, dtype in found.items() if dtype is not None}

    def _spread_through_call(self, node: Any) -> bool:
        """Record the handles that a call passes through; return whether one is new."""
        known = len(self.types)
        types = self._types_of_inputs(node)
        for position in outputs_of_call(node.op, types):
            self.types[node.name, position] = types[position]
        return len(self.types) > known

    def _hands_on(self, node: Any) -> bool:
        """Return whether a node outputs a handle or reference, and not the value behind it."""
        if node.op.startswith("Ref"):
            return True
        return bool(node.attr["T"].type == dtypes.resource.as_datatype_enum)

    def _type_of_first(self, node: Any) -> DType | None:
        for text in node.input:
            found = self.types.get(parse_tensor_id(text))
            if found is not None:
                return found
        return None

    @staticmethod
    def _make_constant(node: Any, value: TensorLike, dtype: DType) -> None:
        node.op = "Const"
        node.attr.clear()
        node.attr["dtype"].type = dtype.as_datatype_enum
        proto = make_tensor_proto(value, dtype=dtype, shape=getattr(value, "shape", ()))
        node.attr["value"].tensor.CopyFrom(proto)
        controls = [text for text in node.input if text.startswith("^")]
        del node.input[:]
        node.input.extend(controls)
        node.device = ""

    def _rewrite(self, found: graph_pb2.GraphDef, node: Any) -> None:
        dtype = self._type_of_first(node)
        if dtype is None:
            return
        if node.op in _PASSING:
            node.op = _PASSING[node.op]
            if (node.name, 0) in self.types:
                node.attr["T"].type = dtype.as_datatype_enum
        elif is_call(node.op):
            self.functions.rewrite_call(node, self._types_of_inputs(node))
        elif node.op in _READING:
            rewrite_reader(node, dtype, lambda name, axis: _add_axis(found, name, axis))
        elif node.op in _IS_INITIALIZED:
            self._make_constant(node, True, dtypes.bool)
        elif self._takes_variable(node):
            raise ValueError(
                f"'{node.name}' ({node.op}) needs the variable behind its input {node.input[0]!r}, "
                "which would become a constant; name the variable in variable_names_blacklist, or "
                "take output nodes that do not depend on it."
            )

    def _takes_variable(self, node: Any) -> bool:
        """Return whether a node needs the reference or handle itself."""
        definition = op_registry.find(node.op)
        if definition is None:
            return True
        taken = [text for text in node.input if parse_tensor_id(text) in self.types]
        if any(self._is_handle(text) for text in taken):
            return True
        arguments = zip(definition.op_def.inputs, node.input)
        return any(argument.is_ref for argument, text in arguments if text in taken)

    def _is_handle(self, text: str) -> bool:
        node = self.by_name[parse_tensor_id(text)[0]]
        if node.op == "VarHandleOp":
            return True
        return bool(node.attr["T"].type == dtypes.resource.as_datatype_enum)


def _dtype_of(node: Any) -> DType:
    return dtypes.as_dtype(node.attr["dtype"].type)


def _add_axis(graph_def: graph_pb2.GraphDef, name: str, axis: int) -> str:
    add_scalar(graph_def.node.add(name=name), axis)
    return name
