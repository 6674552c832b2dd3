"""Static shapes of function calls, inferred by building the body for the argument shapes.

A call is a node whose op is a function of the graph's library, or a ``PartitionedCall`` of one. Its
body is built as a temporary graph; the result is cached per function, attributes and argument
shapes, for all calls in a graph and in the bodies it builds. A recursive call is not followed: the
shapes of its results stay unknown.  Corresponds to the ShapeRefiner's inference through functions;
in a FunctionDef an input is written as ``arg``, ``arg:1``, ``node:out_arg:1`` or ``^node``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.core import effects, errors, op_registry
from tfnb.core.attr_value import encode_attr
from tfnb.core.node_text import attr_text
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.graph import Graph
from tfnb.framework.graph_def_reader import GraphDefReader, InputMap
from tfnb.framework.loaded_nodes import mark_derived
from tfnb.framework.operation_factory import create_operation
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.proto import attr_value_pb2

# One result: its shape, and, for a handle, the types and shapes that it refers to.
Known = tuple["TensorShape", "list[tuple[DType, TensorShape]] | None"]

_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
# Limit of nested calls; deeper calls are not followed.
_MAX_DEPTH = 32


def infer_call_shapes(op: Operation) -> None:
    """Set the static shapes of a call's outputs to those of the function's results.

    Raises:
      ValueError: the function's body is not a valid graph.
      InternalError: the call has fewer inputs or outputs than the function.
      NotFoundError: the function needs an op that is not registered.
    """
    called = _called_function(op)
    if called is None:
        return
    name, attrs = called
    graph = op.graph
    function = graph.op_definition(name).op_def
    given = [tensor.dtype.base_dtype for tensor in op.inputs]
    wanted = [dtype.base_dtype for dtype in function.input_types(attrs)]
    for kind, here, there in (
        ("input", len(given), len(wanted)),
        ("output", len(op.outputs), len(function.output_types(attrs))),
    ):
        if here < there:
            raise errors.internal(
                f"Function instantiation included invalid {kind} index: {here} not in [0, {here})."
            )
    if given != wanted:
        return  # running the call raises the error
    if name in graph.call_chain or len(graph.call_chain) >= _MAX_DEPTH:
        return
    key = (graph._functions[name], _key_of(attrs), tuple(_key_of_tensor(t) for t in op.inputs))
    known = graph.call_shapes.get(key)
    if known is None:
        known = graph.call_shapes[key] = _shapes_of_results(graph, name, attrs, op.inputs)
    if len(known) == len(op.outputs):
        for tensor, (shape, data) in zip(op.outputs, known):
            tensor._shape = shape
            tensor._handle_data = data


def _called_function(op: Operation) -> tuple[str, Mapping[str, Any]] | None:
    functions = op.graph._functions
    if op.attrs.get("_disable_call_shape_inference"):
        return None
    if op.type in _CALLS:
        function = op.attrs["f"]
        return (function.name, function.attrs) if function.name in functions else None
    return (op.type, op.attrs) if op.type in functions else None


def _key_of(attrs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, attr_text(attrs[name])) for name in sorted(attrs) if not name.startswith("_")
    )


def _key_of_tensor(tensor: Tensor) -> Any:
    data = tensor._handle_data
    if data:
        return tensor._shape.dim_values, tuple((dtype, shape.dim_values) for dtype, shape in data)
    return tensor._shape.dim_values


def _shapes_of_results(
    graph: Graph, name: str, attrs: Mapping[str, Any], inputs: tuple[Tensor, ...]
) -> list[Known]:
    body = Graph()
    body.def_versions = graph.def_versions
    body._functions, body.function_definitions = graph._functions, graph.function_definitions
    body.call_shapes, body.call_chain = graph.call_shapes, (*graph.call_chain, name)
    builder = _BodyBuilder(body, graph._functions[name].definition, attrs)
    results = builder.build(graph.op_definition(name), inputs)
    return [(tensor._shape, tensor._handle_data) for tensor in results]


def body_in(
    graph: Graph, library: Graph, name: str, inputs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """Build the body of a function into a graph.

    Args:
      graph: the graph, which is empty.
      library: the graph whose library has the function.
      name: the function.
      inputs: tensors with the types and shapes of the arguments.

    Returns:
      The placeholders of the arguments, and the results.
    """
    graph._functions.update(library._functions)
    function = library._functions[name]
    builder = _BodyBuilder(graph, function.definition, {})
    results = builder.build(library.op_definition(name), tuple(inputs))
    builder.commit(is_loaded=function.is_loaded)
    return list(builder.arguments), results


class FunctionDefGraph(NamedTuple):
    """A function's body as a separate graph, for inspection.

    Attributes:
      arguments: placeholders, one for each argument.
      operations: all other operations.
      results: (name of the output, tensor).
    """

    arguments: list[Tensor]
    operations: list[Operation]
    results: list[tuple[str, Tensor]]


def call_key(name: str, attrs: Mapping[str, Any], inputs: Sequence[Tensor] | None) -> Any:
    """Return a key that is equal for calls with equal bodies."""
    given = None if inputs is None else tuple((t.dtype, _key_of_tensor(t)) for t in inputs)
    return name, _key_of(attrs), given


def function_body(
    library: Graph,
    name: str,
    attrs: Mapping[str, Any],
    inputs: Sequence[Tensor] | None = None,
) -> FunctionDefGraph:
    """Build the body of a function into a separate graph.

    Args:
      library: the graph whose library has the function.
      name: the function.
      attrs: the values of the function's attributes in the call.
      inputs: tensors with the types and shapes of the arguments; without them, or if the types
        differ, the arguments' shapes are unknown.

    Raises:
      ValueError: the function's body is not a valid graph.
      NotFoundError: the function needs an op that is not registered.
    """
    body = Graph()
    body.def_versions = library.def_versions
    body._functions, body.function_definitions = library._functions, library.function_definitions
    body.call_shapes, body.call_chain = library.call_shapes, (*library.call_chain, name)
    definition = library.op_definition(name)
    wanted = [dtype.base_dtype for dtype in definition.op_def.input_types(attrs)]
    if inputs is None or [tensor.dtype.base_dtype for tensor in inputs] != wanted:
        placeholder = op_registry.get("Placeholder")
        unknown = Graph()
        inputs = [
            create_operation(
                unknown,
                placeholder,
                (),
                {"dtype": dtype, "shape": TensorShape(None)},
                "x",
                (dtype,),
            ).outputs[0]
            for dtype in wanted
        ]
    builder = _BodyBuilder(body, library._functions[name].definition, attrs)
    results = builder.build(definition, tuple(inputs))
    builder.commit(is_loaded=False)
    names = [output.name for output in definition.op_def.outputs for _ in output.types(attrs)]
    return FunctionDefGraph(builder.arguments, builder.operations, list(zip(names, results)))


class _BodyBuilder:
    """A builder of one function's body in a graph."""

    def __init__(
        self, body: Graph, definition: graph_pb2.FunctionDef, attrs: Mapping[str, Any]
    ) -> None:
        self._definition = definition
        self._attrs = attrs
        self._body = body
        self._nodes = []
        for node in definition.node_def:
            copy = graph_pb2.NodeDef()
            copy.CopyFrom(node)
            for message in copy.attr.values():
                self._fill_placeholders(message)
            self._nodes.append(copy)
        self._input_map = InputMap()
        self._reader = GraphDefReader(body, self._nodes, "", self._input_map, [])
        # output name without its index -> the names of the tensors, as in a GraphDef
        self._spelt: dict[str, list[str]] = {}
        self.arguments: list[Tensor] = []

    def build(self, function: op_registry.OpDefinition, inputs: tuple[Tensor, ...]) -> list[Tensor]:
        """Return the tensors of the body that are the function's results."""
        ranges = function.op_def.input_ranges(self._attrs)
        for arg in function.op_def.inputs:
            self._spelt[arg.name] = []
            for number, position in enumerate(ranges[arg.name]):
                placeholder = self._placeholder(inputs[position], arg.name)
                self.arguments.append(placeholder)
                self._input_map.tensors[(arg.name, number)] = placeholder
                self._spelt[arg.name].append(f"{arg.name}:{number}")
        for node in self._nodes:
            reader = self._reader.node_reader(node.op)
            outputs = reader.plan.op_def.output_ranges(reader.read_attrs(node))
            for name, flat in outputs.items():
                self._spelt[f"{node.name}:{name}"] = [f"{node.name}:{index}" for index in flat]
        for node in self._nodes:
            texts = [text for given in node.input for text in self._tensors(given, node.name)]
            node.ClearField("input")
            node.input.extend(texts)
        self._reader.read(validate_colocation=False, validate_names=False)
        found = []
        for arg in function.op_def.outputs:
            results = self._results(arg.name)
            for tensor, dtype in zip(results, arg.types(self._attrs), strict=False):
                if tensor.dtype.base_dtype != dtype.base_dtype:
                    raise ValueError(
                        f"Invalid ret types {arg.name} : {dtype.name} vs. {tensor.dtype.name}\n"
                        f"\tIn function output {arg.name}:{dtype.name}"
                    )
            found += results
        return found

    def commit(self, *, is_loaded: bool) -> None:
        """Add the nodes to the graph.

        Nodes of a function that was loaded from a file are marked as loaded, and so are nodes that
        are marked in the function.
        """
        for op in self._reader.operations:
            self._body._add_op(op)
            self._body._names_in_use.setdefault(op.name.lower(), 1)
            if is_loaded or effects.LOADED_ATTR in op.attrs:
                mark_derived(op)

    @property
    def operations(self) -> list[Operation]:
        """The operations of the body, without its arguments."""
        return list(self._reader.operations)

    def _placeholder(self, like: Tensor, name: str) -> Tensor:
        definition = op_registry.get("Placeholder")
        dtype = like.dtype.base_dtype
        attrs = {"dtype": dtype, "shape": like._shape}
        op = create_operation(self._body, definition, (), attrs, name, (dtype,))
        op.outputs[0]._shape = like._shape
        op.outputs[0]._handle_data = like._handle_data
        return op.outputs[0]

    def _find(self, text: str) -> list[str] | None:
        """Return the tensors that an input's text refers to; None if there are none."""
        whole = self._spelt.get(text)
        if whole is not None:
            return whole
        source, _, index = text.rpartition(":")
        tensors = self._spelt.get(source)
        if tensors is None or not index.isdecimal() or int(index) >= len(tensors):
            return None
        return [tensors[int(index)]]

    def _tensors(self, text: str, node_name: str) -> list[str]:
        if text.startswith("^"):
            # An argument has no node to wait for.
            return [] if text[1:] in self._spelt else [text]
        found = self._find(text)
        if found is None:
            raise ValueError(f"input {text} is not found: {{{{node {node_name}}}}}")
        return found

    def _results(self, output: str) -> list[Tensor]:
        if output not in self._definition.ret:
            raise ValueError(f"Return {output} missing.\n\tIn function output {output}")
        text = self._definition.ret[output]
        found = self._find(text)
        if found is None:
            raise ValueError(
                f"Return {output} -> {text} is not found.\n\tIn function output {output}"
            )
        return [self._tensor(one) for one in found]

    def _tensor(self, text: str) -> Tensor:
        name, _, index = text.rpartition(":")
        argument = self._input_map.tensors.get((name, int(index)))
        return argument if argument is not None else self._reader.by_name[name].outputs[int(index)]

    def _fill_placeholders(self, message: attr_value_pb2.AttrValue) -> None:
        kind = message.WhichOneof("value")
        if kind == "placeholder" and message.placeholder in self._attrs:
            message.CopyFrom(encode_attr(self._attrs[message.placeholder]))
        elif kind == "func":
            for inner in message.func.attr.values():
                self._fill_placeholders(inner)
        elif kind == "list":
            for function in message.list.func:
                for inner in function.attr.values():
                    self._fill_placeholders(inner)
