"""The context of one branch of a cond while it is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.operation import Operation
from tfnb.framework.structures import nest
from tfnb.library.control_flow import control_flow_queries as queries
from tfnb.library.control_flow.control_flow_context import ControlFlowContext
from tfnb.library.control_flow.control_flow_values import (
    flow_of,
    read_variables,
    switch_ref_or_tensor,
)
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.control.control_flow_ops import no_op

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike


class CondContext(ControlFlowContext):
    """The operations of one branch; a value from outside enters through a Switch.

    Attributes:
      pred: the boolean that decides.
      pivot: the output of the branch's own Switch that is alive where the branch is taken.
      branch: 1 for the branch of true, 0 for that of false.
    """

    is_cond_context: ClassVar[bool] = True

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int, name: str = "cond_text") -> None:
        """Begin a branch; the pivot becomes its first operation."""
        unique = get_default_graph().unique_name(name)
        super().__init__()
        self.name = unique
        self.pred = pred
        self.pivot = pivot
        self.branch = branch
        self._values.add(pred)
        self._external_values[pred] = pred
        self._values.add(pivot)
        pivot.op._set_control_flow_context(self)

    @property
    def grad_state(self) -> Any:
        """The gradient state of the enclosing loop."""
        loop = self.while_context()
        return None if loop is None else loop.grad_state

    @property
    def back_prop(self) -> bool:
        """Whether gradients pass through the enclosing loop."""
        loop = self.while_context()
        return False if loop is None else loop.back_prop

    def control_pivot(self) -> Tensor | None:
        """Return the pivot."""
        return self.pivot

    # -- new operations ----------------------------------------------------------------------------

    def add_value(self, value: Tensor) -> Tensor:
        """Return the tensor that stands for ``value`` inside; an outer value gets a Switch."""
        if value in self._values:
            return self._external_values.get(value, value)
        graph = value.graph
        self._values.add(value)
        outside = self._known_outside(value)
        with get_default_graph().control_dependencies(None):
            inside: Tensor = switch_ref_or_tensor(outside, self.pred)[self.branch]
        graph.prevent_fetching(inside.op)
        inside.op._set_control_flow_context(self)
        self._make_known_everywhere([inside])
        self._external_values[value] = inside
        return inside

    def _known_outside(self, value: Tensor) -> Tensor:
        """Return the tensor that stands for ``value`` just outside of this branch."""
        if self.outer_context is None:
            return value
        outside = self.outer_context.add_value(value)
        self._values.add(outside)
        self._external_values[outside] = outside
        return outside

    def _make_known_everywhere(self, tensors: list[Tensor]) -> None:
        context: ControlFlowContext | None = self
        while context is not None:
            context._values.update(tensors)
            context = context.outer_context

    def take_in(self, op: Operation) -> None:
        """Make an operation part of this branch; its inputs from outside come through Switches."""
        if op.inputs:
            self._switch_inputs(op)
            queries.remove_external_control_edges(self, op)
            if op.type == "SymbolicGradient" or op.graph._is_function(op.type):
                op._add_control_input(self.pivot.op)
        else:
            queries.remove_external_control_edges(self, op)
            if not any(queries.op_in_context(other, self) for other in op.control_ops):
                op._add_control_input(self.pivot.op)
        self._make_known_everywhere(op.outputs)
        if self.outer_context is not None or not queries.is_loop_exit(op):
            op.graph.prevent_fetching(op)

    def _switch_inputs(self, op: Operation) -> None:
        for index, value in enumerate(op.inputs):
            # While a loop is imported, its back edge joins this branch later.
            if op.type == "Merge" and value.op.type == "NextIteration":
                continue
            inside = self.add_value(value)
            if inside is not value:
                op._update_input(index, inside)

    # -- building the branch -----------------------------------------------------------------------

    def build_branch(self, function: Callable[[], Nested]) -> tuple[Nested, Nested]:
        """Call the user's function inside the branch.

        Returns:
          The function's result, and that result with every value as a tensor of this branch, in a
          list if it is a single value; (None, None) if the function returned None.
        """
        summaries = get_default_graph().get_collection_ref(GraphKeys._SUMMARY_COLLECTION)
        num_before = len(summaries)
        original = function()
        if len(summaries) > num_before:
            # A summary written in a branch is written whenever the branch is taken.
            new_summaries = summaries[num_before:]
            del summaries[num_before:]
            with get_default_graph().control_dependencies(new_summaries):
                if original is None:
                    return no_op(), None
                if not isinstance(original, Operation):
                    original = nest.map_structure(
                        identity, read_variables(original), expand_composites=True
                    )
        if original is None:
            return None, None
        original = read_variables(original)
        result = nest.map_structure(self._branch_tensor, original, expand_composites=True)
        if not isinstance(result, (list, tuple)):
            result = [result]
        return original, result

    def _branch_tensor(self, value: TensorLike) -> Tensor:
        if isinstance(value, Operation):
            # An operation has no value: the pivot takes its place among the results.
            waited: Tensor = with_dependencies([value], self.pivot)
            return waited
        return self._output_tensor(convert_to_tensor(flow_of(value)))

    def _output_tensor(self, value: Tensor) -> Tensor:
        """Return the branch's result for a value; a tensor from outside gets a Switch."""
        if value in self._values:
            return self._external_values.get(value, value)
        self._values.add(value)
        outside = self._known_outside(value)
        inside: Tensor = switch_ref_or_tensor(outside, self.pred)[self.branch]
        self._external_values[value] = inside
        return inside
