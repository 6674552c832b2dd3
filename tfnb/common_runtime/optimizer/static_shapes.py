"""Shapes and values that follow from the graph alone, for the optimizers.

Shapes are inferred on request, by the ops' own shape functions, and only from what must hold in
every step: fed tensors, variables, queues and other inputs from outside have no known shape here,
even if they declare one.  Corresponds to TensorFlow's ``graph_properties.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.errors import OpError
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    run_shape_function,
    shape_of_rank,
    shape_of_vector,
)
from tfnb.graph.function_library import FunctionDefinition

if TYPE_CHECKING:
    import numpy as np

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.graph.graph import Graph, Node

    type_of_tensor = tuple[Node, int]

_UNCHECKED = ops_with(Trait.UNCHECKED_SHAPE)
_RANDOM = ops_with(Trait.DRAWS)


class StaticShapes:
    """The cached shapes of one graph's tensors; nodes must not change their meaning meanwhile."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[Node, list[TensorShape]] = {}

    def shape(self, tensor: type_of_tensor) -> TensorShape:
        """Return the static shape of a tensor."""
        node, output = tensor
        found = self._known.get(node)
        if found is None:
            self._infer(node)
            found = self._known[node]
        return found[output]

    def dims(self, tensor: type_of_tensor) -> tuple[int, ...] | None:
        """Return the sizes of a tensor, or None unless all are known."""
        dims = self.shape(tensor).dim_values
        if dims is None or None in dims:
            return None
        return dims  # type: ignore[return-value]

    def rank(self, tensor: type_of_tensor) -> int | None:
        """Return the number of a tensor's dimensions, or None."""
        dims = self.shape(tensor).dim_values
        return None if dims is None else len(dims)

    def forget(self, node: Node) -> None:
        """Drop the cached shapes of a node that now computes something else."""
        self._known.pop(node, None)

    def _infer(self, wanted: Node) -> None:
        known = self._known
        stack = [wanted]
        waiting: set[Node] = set()
        while stack:
            node = stack[-1]
            if node in known:
                stack.pop()
                continue
            if not self._follows_from_inputs(node):
                known[node] = [UNKNOWN_SHAPE] * node.num_outputs
                stack.pop()
                continue
            missing = [
                edge.src for edge in node.in_edges if not edge.is_control and edge.src not in known
            ]
            if missing and node not in waiting:
                waiting.add(node)
                stack += missing
                continue
            known[node] = self._shapes_of(node)
            stack.pop()

    def _follows_from_inputs(self, node: Node) -> bool:
        definition = node.op_definition
        if definition is None or isinstance(definition, FunctionDefinition):
            return False
        if definition.shape_function is None or node.op in _UNCHECKED:
            return False
        if definition.is_stateful and node.op not in _RANDOM:
            return False
        if any(dtype.is_ref_dtype for dtype in (*node.input_types, *node.output_types)):
            return False
        # A loop variable may change its shape from one iteration to the next.
        return not (node.is_merge and any(edge.src.is_next_iteration for edge in node.in_edges))

    def _shapes_of(self, node: Node) -> list[TensorShape]:
        unknown = [UNKNOWN_SHAPE] * node.num_outputs
        sources = inputs_of(node)
        if sources is None:
            return unknown
        shapes = [self._shape_of_source(src, output) for src, output in sources]
        definition = node.op_definition
        assert definition is not None
        context = InferenceContext(
            definition.op_def,
            node.attrs,
            shapes,
            node.input_types,
            node_name=node.name,
            constant_value=lambda index: constant_of(sources[index]),
            constant_value_as_shape=lambda index: self._value_as_shape(sources[index]),
            graph_def_version=self._graph.versions.producer,
        )
        try:
            found_shapes = run_shape_function(definition.shape_function, context)
        except (ValueError, TypeError, OpError):
            # The step itself reports the error.
            return unknown
        return found_shapes if len(found_shapes) == node.num_outputs else unknown

    def _shape_of_source(self, node: Node, output: int) -> TensorShape:
        """Return the shape of an input of the node that is looked at."""
        if node.output_types[output].is_ref_dtype:
            return UNKNOWN_SHAPE
        found = self._known.get(node)
        return UNKNOWN_SHAPE if found is None else found[output]

    def _value_as_shape(self, tensor: type_of_tensor) -> TensorShape:
        value = constant_of(tensor)
        if value is not None:
            return shape_of_vector(value) if value.ndim == 1 else UNKNOWN_SHAPE
        node, _ = tensor
        if node.op == "Shape":
            source = inputs_of(node)
            found = None if source is None else self._known.get(source[0][0])
            if source is not None and found is not None:
                return found[source[0][1]]
        dims = self.shape(tensor).dim_values if node in self._known else None
        if dims is not None and len(dims) == 1 and dims[0] is not None:
            return shape_of_rank(dims[0])
        return UNKNOWN_SHAPE


def inputs_of(node: Node) -> list[type_of_tensor] | None:
    """Return the input tensors of a node, or None if one is missing."""
    edges = node.data_in_edges
    if len(edges) != len(node.input_types) or None in edges:
        return None
    return [(edge.src, edge.src_output) for edge in edges]  # type: ignore[union-attr]


def control_inputs_of(node: Node) -> list[Node]:
    """Return the sources of a node's control edges, except ``_SOURCE``."""
    data = node.data_in_edges
    if len(node.in_edges) == len(data) and None not in data:
        return []
    return [edge.src for edge in node.in_edges if edge.is_control and edge.src.is_op]


def constant_of(tensor: type_of_tensor) -> np.ndarray[Any, Any] | None:
    """Return the value of a tensor that is the same in every step, or None.

    A constant that enters a loop as its invariant is still that constant.
    """
    node, _ = tensor
    if node.kind.is_enter:
        if (
            not node.attrs.get("is_constant")
            or control_inputs_of(node)
            or node.input_types[0].is_ref_dtype
        ):
            return None
        sources = inputs_of(node)
        if sources is None:
            return None
        node = sources[0][0]
        if control_inputs_of(node):
            return None
    if not node.kind.is_constant:
        return None
    try:
        value: np.ndarray[Any, Any] = node.attrs["value"].value()
    except (OpError, ValueError):
        return None
    return value
