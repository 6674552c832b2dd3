"""How large the tensors between tasks will be, as far as the graph tells.

The optimizers use only what must hold in every step.  Here a guess is enough: a variable has the
shape that it declares, and a size that is unknown is a batch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfnb.common_runtime.optimizer.static_shapes import StaticShapes, inputs_of
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.shape_inference import UNKNOWN_SHAPE
from tfnb.graph.function_library import FunctionDefinition

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.graph.graph import Node

_VARIABLE = ops_with(Trait.VARIABLE)
_READS = frozenset(["ReadVariableOp"])
_BATCH = 1024
_STRING_BYTES = 64


class ExpectedSizes(StaticShapes):
    """The expected sizes of the tensors of a graph."""

    def bytes_of(self, name: str, output: int) -> int | None:
        """Return the expected size of an output of a node; None if nothing is known of it."""
        node = self._graph.find_node(name)
        if node is None:
            return None
        dims = self.shape((node, output)).dim_values
        if dims is None:
            return None
        dtype = node.output_types[output].base_dtype
        return math.prod(_BATCH if size is None else size for size in dims) * _item_bytes(dtype)

    def _follows_from_inputs(self, node: Node) -> bool:
        definition = node.op_definition
        if definition is None or isinstance(definition, FunctionDefinition):
            return False
        if definition.shape_function is None:
            return False
        return not (node.is_merge and any(edge.src.is_next_iteration for edge in node.in_edges))

    def _shapes_of(self, node: Node) -> list[TensorShape]:
        holder = node
        if node.op in _READS and (sources := inputs_of(node)):
            holder = sources[0][0]
        if holder.op in _VARIABLE and "shape" in holder.attrs and node.num_outputs == 1:
            shape: TensorShape = holder.attrs["shape"]
            return [shape]
        return super()._shapes_of(node)

    def _shape_of_source(self, node: Node, output: int) -> TensorShape:
        found = self._known.get(node)
        return UNKNOWN_SHAPE if found is None else found[output]


def _item_bytes(dtype: DType) -> int:
    return dtype.size or _STRING_BYTES
