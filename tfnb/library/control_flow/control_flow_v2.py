"""Branches and loops as functions: the common part of ``cond_v2`` and ``while_v2``.

After ``tf.enable_control_flow_v2()``, and always inside the body of a branch or loop of this form,
each branch, condition and body becomes a function of the graph, and one node chooses or repeats
them. Python builds each in a :class:`ControlFlowGraph`. The node keeps these graphs, because its
gradient differentiates them, and may later need more of their inner values.

Corresponds to control_flow_util_v2.py and func_graph.py.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.attr_value import NameAttrList
from tfnb.core.errors import InaccessibleTensorError, InvalidArgumentError
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.function_library import GraphFunction
from tfnb.framework.function_shapes import body_in
from tfnb.framework.functions.function_graph import FunctionGraph, placeholder
from tfnb.framework.functions.graph_to_function_def import graph_to_function_def
from tfnb.framework.graph_scopes import control_op_of
from tfnb.framework.operation import Operation
from tfnb.framework.structures import nest
from tfnb.framework.structures.composite_tensor import is_composite
from tfnb.library.control_flow.control_flow_values import (
    flow_of,
    is_tensor_array,
    read_variables,
    with_flow,
)
from tfnb.library.control_flow.functions_above import get_variable_scope
from tfnb.ops.array.identity_ops import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.function_library import LibraryFunction
    from tfnb.framework.graph import Graph
    from tfnb.framework.graph_scopes import ControlDependenciesScope
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike
    from tfnb.proto import graph_pb2

_serial_numbers = itertools.count(1)
_READ_ONLY_INPUTS = "_read_only_resource_inputs"
_RESOURCE_READ_OPS = frozenset(
    {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "_ReadVariablesOp"}
)


def unique_function_name(scope: str, name: str) -> str:
    """Return a name for the function of a branch or body."""
    return f"{scope}{name}_{next(_serial_numbers)}".replace("/", "_")


def unique_gradient_name(name: str) -> str:
    """Return a name for the gradient of a branch or body."""
    return f"{name}_grad_{next(_serial_numbers)}"


# --------------------------------------------------------------------------------- graphs of bodies


class ControlFlowGraph(FunctionGraph):
    """The graph of a branch, condition or body.

    Its collections are those of the outer graph. Its device and colocation scopes start as those
    that are open there.

    Attributes:
      structured_outputs: the results in the structure that the Python function returned.
      control_captures: operations outside that the node must wait for.
      forward_op: the node that calls the function, once it is made.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        outer = self.outer_graph
        self._collections = outer._collections
        self._graph_key = outer._graph_key
        self._seed = outer._seed
        self._container = outer._container
        mine, theirs = self.scopes(), outer.scopes()
        mine.set_devices(theirs.device_stack)
        mine.colocation_stack = theirs.colocation_stack
        self.structured_outputs: Any = None
        self.control_captures: dict[Operation, None] = {}
        self.forward_op: Operation | None = None
        # Operations of gradients that were moved here, so that each is moved once.
        self.moved_operations: dict[Any, Operation] = {}

    @property
    def output_types(self) -> list[dtypes.DType]:
        """The dtypes of the results."""
        return [tensor.dtype.base_dtype for tensor in self.outputs]

    @property
    def output_shapes(self) -> list[TensorShape]:
        """The static shapes of the results."""
        return [tensor._shape for tensor in self.outputs]

    @property
    def external_captures(self) -> list[Tensor]:
        """The tensors outside that were captured."""
        return list(self.captured)

    @property
    def internal_captures(self) -> list[Tensor]:
        """The arguments that stand for the captured tensors inside."""
        return list(self.captured.values())

    def reset_captures(self, outside: Sequence[Tensor], inside: Sequence[Tensor]) -> None:
        """Replace the table of which tensor outside each argument stands for."""
        self.captured = dict(zip(outside, inside, strict=True))

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Return the tensor of this graph that stands for ``tensor``.

        Raises:
          InaccessibleTensorError: ``tensor`` belongs to a function inside of this one.
        """
        if tensor.graph is self:
            return tensor
        inner: TensorLike = tensor.graph
        while isinstance(inner, FunctionGraph):
            if inner is self:
                raise InaccessibleTensorError(
                    f"{tensor!r} is out of scope and cannot be used here. Use return values, "
                    f"explicit Python locals or TensorFlow collections to access it. It belongs to "
                    f"the function '{tensor.graph.name}', which is inside of '{self.name}'."  # type: ignore[attr-defined]
                )
            inner = inner.outer_graph
        return super().capture(tensor, name)

    def _add_captured_input(self, tensor: Tensor, name: str | None) -> Tensor:
        inside = self.add_argument(tensor, name or tensor.op.name)
        self.captured[tensor] = inside
        return inside

    def add_argument(self, like: Tensor, name: str, shape: TensorShape | None = None) -> Tensor:
        """Return a new argument like the tensor ``like``; an attribute stores ``name``."""
        with self.as_default(), self.control_dependencies(None):
            inside = placeholder(like.dtype, like._shape if shape is None else shape, name)
        inside.op._set_attr("_user_specified_name", name.encode())
        inside._handle_data = like._handle_data
        self.inputs.append(inside)
        return inside

    def control_dependencies(
        self, control_inputs: Iterable[TensorLike] | None
    ) -> ControlDependenciesScope:
        """Add control inputs; the node that calls the function waits for those outside."""
        if control_inputs is None:
            return super().control_dependencies(None)
        inside = []
        for value in control_inputs:
            op = control_op_of(self, value) if not _is_outside(self, value) else _op_of(value)
            if op.graph is self:
                inside.append(op)
            else:
                self.control_captures[op] = None
        return super().control_dependencies(inside)


def _op_of(value: TensorLike) -> Operation:
    op: Operation = value if isinstance(value, Operation) else value.op
    return op


def _is_outside(graph: Graph, value: TensorLike) -> bool:
    op = value if isinstance(value, Operation) else getattr(value, "op", None)
    return isinstance(op, Operation) and op.graph is not graph


def build_graph(
    graph: ControlFlowGraph,
    function: Callable[..., Nested],
    args: Sequence[Any] = (),
    result_of_operation: Tensor | None = None,
) -> None:
    """Call a Python function and make its results the results of a graph.

    Args:
      graph: the graph, with placeholders for ``args`` among its inputs.
      function: builds the body.
      args: the arguments of ``function``.
      result_of_operation: maps an operation among the results, once it has run, to a tensor.

    Raises:
      TypeError: a result cannot be converted to a tensor.
    """

    def as_result(value: TensorLike) -> Any:
        if value is None or is_tensor_array(value):
            return value
        if isinstance(value, Operation) and result_of_operation is not None:
            with get_default_graph().control_dependencies([value]):
                return identity(result_of_operation)
        try:
            return value if is_composite(value) else convert_to_tensor(value)
        except (TypeError, ValueError):
            raise TypeError(
                "To be compatible with tf.function, Python functions must return zero or more "
                "Tensors or ExtensionTypes or None values; in compilation of "
                f"{function}, found return value of type {type(value).__name__}, which is not a "
                "Tensor or ExtensionType."
            ) from None

    with graph.as_default():
        scope = get_variable_scope()
        old_use_resource = scope.use_resource
        scope.set_use_resource(True)
        try:
            results = read_variables(function(*args))
            results = nest.map_structure(as_result, results, expand_composites=True)
        finally:
            scope._use_resource = old_use_resource
        graph.structured_outputs = results
        graph.outputs += [graph.capture(tensor) for tensor in flat_tensors(results)]


def flat_tensors(structure: Nested) -> list[Tensor]:
    """Return the tensors of a structure without None; the flow of each TensorArray."""
    flat = nest.flatten(structure, expand_composites=True)
    return [flow_of(value) for value in flat if value is not None]


def packed_like(structure: Nested, tensors: Sequence[Tensor]) -> Nested:
    """Return tensors in the structure of results, with None where the results have None."""
    following = iter(tensors)
    flat = [
        None if like is None else with_flow(like, next(following))
        for like in nest.flatten(structure, expand_composites=True)
    ]
    return nest.pack_sequence_as(structure, flat, expand_composites=True)


def captured_constant(tensor: Tensor) -> Tensor | None:
    """Return a copy of another graph's constant in the default graph; None for other tensors."""
    from tfnb.ops.array.constant_ops import constant

    if tensor.op.type != "Const":
        return None
    return constant(constant_value(tensor), dtype=tensor.dtype)


# ------------------------------------------------------------------------ functions of these graphs


class _BodyFunction(GraphFunction):
    """The function of a graph, with the functions that it calls."""

    __slots__ = ("_called",)

    def __init__(self, definition: graph_pb2.FunctionDef, called: Iterable[Any]) -> None:
        super().__init__(definition)
        self._called = tuple(called)

    def needed_functions(self) -> Iterable[LibraryFunction]:
        """Return the functions that this function calls."""
        return self._called


def add_function_of(graph: ControlFlowGraph) -> NameAttrList:
    """Make a graph a function of the graph around it, under its name."""
    definition = graph_to_function_def(
        graph.name, graph.get_operations(), graph.inputs, graph.outputs
    )
    definition.attr["_construction_context"].s = b"kEagerRuntime"
    function = _BodyFunction(definition, graph._functions.values())
    function.add_to_graph(graph.outer_graph)
    return NameAttrList(graph.name)


def graph_of_function(op: Operation, name: str, inputs: Sequence[Tensor]) -> ControlFlowGraph:
    """Return a graph to differentiate for a function that was loaded, not built.

    Args:
      op: the operation that calls it.
      name: the function.
      inputs: tensors with the types and shapes of the arguments.

    Raises:
      KeyError: neither the graph of ``op`` nor an enclosing graph has the function.
    """
    graph: Any = op.graph
    while graph is not None and graph._get_function(name) is None:
        graph = getattr(graph, "outer_graph", None)
    if graph is None:
        raise KeyError(f"{name} cannot be found in the graph")
    with op.graph.as_default():
        made = ControlFlowGraph(name)
    arguments, results = body_in(made, graph, name, inputs)
    made.inputs, made.outputs = arguments, results
    made.structured_outputs = list(results)
    return made


# --------------------------------------------------------------------------- attributes of the node


def op_and_outputs(made: TensorLike) -> tuple[Operation | None, list[Tensor]]:
    """Return (node, its outputs) for the result of a node's builder function."""
    if isinstance(made, Operation):
        return made, []
    return made[0].op, list(made)


def mark_lowering(op: Operation, lower: bool | None = None) -> None:
    """Set whether the runtime may replace the node by the primitives."""
    op._set_attr("_lower_using_switch_merge", True if lower is None else lower)


def mark_read_only_inputs(op: Operation, graphs: Sequence[ControlFlowGraph], first: int) -> None:
    """Record which resources the functions only read.

    Args:
      op: the node.
      graphs: the graphs of the functions that it calls.
      first: the position of the functions' first argument among the node's inputs.
    """
    found = set(range(len(op.inputs) - first))
    for graph in graphs:
        found &= {
            index
            for index, tensor in enumerate(graph.inputs)
            if tensor.dtype is dtypes.resource
            and not any(_writes_to(tensor, user) for user in tensor.consumers())
        }
    # An empty list does not show its element type.
    _set_int_list(op, _READ_ONLY_INPUTS, sorted(index + first for index in found))


def _set_int_list(op: Operation, name: str, values: list[int]) -> None:
    from tfnb.proto import attr_value_pb2

    message = attr_value_pb2.AttrValue()
    message.list.i.extend(values)
    op._set_attr(name, message)


def _writes_to(handle: Tensor, op: Operation) -> bool:
    if op.type in _RESOURCE_READ_OPS:
        return False
    try:
        read_only = op.attr(_READ_ONLY_INPUTS)
    except ValueError:
        return True
    read_only = list(getattr(getattr(read_only, "list", None), "i", read_only))
    return next(i for i, one in enumerate(op.inputs) if one is handle) not in read_only


def resource_input_index(tensor: Tensor, graph: ControlFlowGraph) -> int:
    """Return the argument that a resource inside a function came from.

    Raises:
      ValueError: the function makes the resource itself.
    """
    positions = {one: index for index, one in enumerate(graph.inputs)}
    while tensor not in positions:
        op = tensor.op
        if op.type in ("Identity", "While", "StatelessWhile"):
            tensor = op.inputs[tensor.value_index]
        elif op.type in ("PartitionedCall", "StatefulPartitionedCall"):
            tensor = op.inputs[_passed_through(op, "f", tensor.value_index)]
        elif op.type in ("If", "StatelessIf"):
            index = _passed_through(op, "then_branch", tensor.value_index)
            if index != _passed_through(op, "else_branch", tensor.value_index):
                raise ValueError(
                    f"The branches of '{op.name}' give different resources as output "
                    f"{tensor.value_index}."
                )
            tensor = op.inputs[index + 1]
        else:
            raise ValueError(
                "Taking gradient of a while loop which creates a resource in its body is not "
                f"supported: {op.name} ({op.type})"
            )
    return positions[tensor]


def _passed_through(op: Operation, attr: str, output: int) -> int:
    """Return which argument a called function passes through as one of its results."""
    graph: Any = op.graph
    name = op.attr(attr).name
    while graph._get_function(name) is None:
        graph = graph.outer_graph
    definition = graph._get_function(name).definition
    arguments = [arg.name for arg in definition.signature.input_arg]
    text: str = definition.ret[definition.signature.output_arg[output].name]
    nodes = {node.name: node for node in definition.node_def}
    while text not in arguments:
        node = nodes[text.split(":")[0]]
        if node.op != "Identity":
            raise InvalidArgumentError(
                None,
                None,
                f"'{name}' returns a resource that it makes itself; pass the resource as an "
                "argument.",
            )
        text = node.input[0]
    return arguments.index(text)
