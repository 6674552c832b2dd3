"""The graph of a function's body while Python builds it.

Operations of this graph may take tensors of outer graphs: each one is captured and represented by a
placeholder in this graph.  The caller of the function decides which value the placeholder gets.

State, in addition to that of a graph:

* ``inputs``: the placeholders of the arguments, those of captured tensors included;
* ``outputs``: the result tensors, once the body is built;
* ``captured``: tensor of an outer graph -> its placeholder, in the order of capturing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import op_registry
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.framework.graph_scopes import ControlDependenciesScope
    from tfnb.framework.tensor import Tensor


class FunctionGraph(Graph):
    """A graph that captures tensors of outer graphs.

    Attributes:
      name: the name of the function, if known.
      outer_graph: the default graph at the time when this graph was made.
      inputs: the placeholders of the arguments.
      outputs: the results.
    """

    # Whether tf.get_variable makes variables in the outer graph.
    hoists_variables = False

    def __init__(self, name: str) -> None:
        super().__init__()
        self._building_function = True
        self.name = name
        self.outer_graph: Graph = get_default_graph()
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.captured: dict[Tensor, Tensor] = {}

    @property
    def captures(self) -> list[tuple[Tensor, Tensor]]:
        """Pairs of an outer tensor and its placeholder."""
        return list(self.captured.items())

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Return the tensor of this graph that stands for ``tensor``.

        Args:
          tensor: a tensor of any graph.
          name: the name of the placeholder, if one is made.
        """
        if tensor.graph is self:
            return tensor
        found = self.captured.get(tensor)
        return found if found is not None else self._capture_new(tensor, name)

    def _capture_new(self, tensor: Tensor, name: str | None) -> Tensor:
        return self._add_captured_input(tensor, name)

    def _add_captured_input(self, tensor: Tensor, name: str | None) -> Tensor:
        """Add a placeholder for an outer tensor as a new argument."""
        with self.as_default(), self.control_dependencies(None):
            inside = placeholder(tensor.dtype, tensor._shape, name)
        inside._handle_data = tensor._handle_data
        self.captured[tensor] = inside
        self.inputs.append(inside)
        return inside

    def capture_inputs(self, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the inputs as tensors of this graph; tensors of other graphs are captured."""
        if all(tensor.graph is self for tensor in inputs):
            return inputs
        return [self.capture(tensor) for tensor in inputs]

    def control_dependencies(
        self, control_inputs: Iterable[Any] | None
    ) -> ControlDependenciesScope:
        """Enter the scope, and mark the control inputs with TensorFlow's attribute."""
        scope = super().control_dependencies(control_inputs)
        for op in scope.control_inputs:
            op._set_attr("_has_manual_control_dependencies", True)
        return scope


def placeholder(dtype: DType, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a placeholder in the default graph."""
    made: Tensor = op_registry.get("Placeholder")(
        dtype=dtype.base_dtype, shape=shape, name=name or "Placeholder"
    )
    return made
