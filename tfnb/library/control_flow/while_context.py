"""The context of a while loop while it is built.

A loop is a cycle of primitives for each loop variable::

    Enter -> Merge -> Switch -> Exit
               ^        |
               |        v
        NextIteration <- Identity, body

The predicate is built between Merge and Switch; its LoopCond drives all Switches.  A value from
outside is brought in by a constant Enter, which every iteration shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.operation_factory import set_input_context_check
from tfnb.framework.structures import nest
from tfnb.framework.structures.composite_tensor import (
    component_shapes,
    components,
    is_composite,
    under_invariant,
)
from tfnb.library.control_flow import control_flow_queries as queries
from tfnb.library.control_flow.control_flow_context import ControlFlowContext
from tfnb.library.control_flow.control_flow_values import (
    as_value,
    enter_of,
    exit_of,
    flow_of,
    identity_of,
    is_at_least_as_specific,
    is_tensor_array,
    merge,
    next_iteration_of,
    read_variables,
    switch_ref_or_tensor,
    with_flow,
)
from tfnb.library.control_flow.indexed_slices_ops import as_indexed_slices
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.control import control_flow_ops as primitives

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

set_input_context_check(queries.check_input_from_valid_context)

# These use only the shape of their input, so a gradient keeps their result and not the input.
_READ_SHAPES = frozenset({"Shape", "Size", "Rank"})


class WhileContext(ControlFlowContext):
    """The operations of a loop.

    Attributes:
      maximum_iterations: the tensor that bounds the number of iterations, or None.
      parallel_iterations: how many iterations may run at the same time.
      swap_memory: whether values kept for the gradient may leave the device.
      pivot: the LoopCond.
      pivot_for_pred: the operation that operations of the predicate wait for.
      pivot_for_body: the operation that operations of the body wait for.
      loop_enters: the Enters of the loop variables.
      loop_exits: the Exits of the loop variables.
    """

    is_while_context: ClassVar[bool] = True

    def __init__(
        self,
        maximum_iterations: Tensor | None = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
        grad_state: Any = None,
    ) -> None:
        """Begin a loop.

        Raises:
          ValueError: ``parallel_iterations`` is no positive integer.
        """
        super().__init__()
        if not isinstance(parallel_iterations, int) or parallel_iterations <= 0:
            raise ValueError(
                f"'parallel_iterations' must be a positive integer: {parallel_iterations}"
            )
        self.graph = get_default_graph()
        # Also the name of the loop's frame in the executor.
        self.name = self.graph.unique_name(name)
        self.maximum_iterations = maximum_iterations
        self.parallel_iterations = parallel_iterations
        self.swap_memory = swap_memory
        self.pivot: Tensor | None = None
        self.pivot_for_pred: Tensor | None = None
        self.pivot_for_body: Tensor | None = None
        self.loop_enters: list[Tensor] = []
        self.loop_exits: list[Tensor] = []
        self._back_prop = back_prop
        self._grad_state = grad_state

    @property
    def grad_state(self) -> Any:
        """The state of the gradient that this loop computes; None for a loop of the user."""
        return self._grad_state

    @property
    def back_prop(self) -> bool:
        """Whether gradients pass through the loop."""
        return self._back_prop

    def while_context(self) -> WhileContext | None:
        """Return the loop itself."""
        return self

    def control_pivot(self) -> Tensor | None:
        """Return the pivot of the body, or that of the predicate until the body has one."""
        return self.pivot_for_body if self.pivot_for_body is not None else self.pivot_for_pred

    # -- new operations ----------------------------------------------------------------------------

    def add_value(self, value: Tensor) -> Tensor:
        """Return the tensor that stands for ``value`` inside; an outer value gets an Enter."""
        # While a loop is imported, the output of a back edge is an input before its operation has
        # joined the loop.
        if value in self._values or value.op._control_flow_context is self:
            return self._external_values.get(value, value)
        self._values.add(value)
        saved = self._saved_forward_value(value)
        if saved is not None:
            self._external_values[value] = saved
            return saved
        outside = value if self.outer_context is None else self.outer_context.add_value(value)
        with get_default_graph().control_dependencies(None):
            inside = self.enter_variable(outside, is_constant=True)
            inside.graph.prevent_feeding(inside)
        self._adopt_enters([inside])
        self._values.add(inside)
        self._external_values[value] = inside
        return inside

    def enter_variable(
        self,
        value: Tensor,
        is_constant: bool = False,
        use_input_shape: bool = True,
        name: str | None = None,
    ) -> Tensor:
        """Return an Enter of this loop."""
        entered: Tensor = enter_of(
            value,
            self.name,
            is_constant,
            self.parallel_iterations,
            use_input_shape=use_input_shape,
            name=name,
        )
        return entered

    def _saved_forward_value(self, value: Tensor) -> Tensor | None:
        """Return, in a gradient's loop, the saved form of a value that the forward loop makes."""
        state = _current_grad_state()
        if state is None:
            return None
        forward = queries.containing_while_context(queries.output_context(value.op))
        if forward is not state.forward_context:
            return None
        saved: Tensor = state.real_value(value)
        return saved

    def add_op(self, op: Operation) -> None:
        """Process an operation that was just made."""
        if op.type in _READ_SHAPES:
            state = _current_grad_state()
            source = op.inputs[0].op
            if (
                state is not None
                and while_context_of(source) is state.forward_context
                and source._control_flow_context is not None
            ):
                # Saving the shape takes less memory than saving the value.
                context = source._control_flow_context
                op._set_control_flow_context(context)
                context.take_in(op)
                return
        self.take_in(op)

    def take_in(self, op: Operation) -> None:
        """Make an operation part of this loop; outer inputs come through constant Enters."""
        if op.inputs:
            for index, value in enumerate(op.inputs):
                inside = self.add_value(value)
                if inside is not value:
                    op._update_input(index, inside)
            _, external = queries.remove_external_control_edges(self, op)
            self._add_control_dependency_if_free(op)
        else:
            internal, external = queries.remove_external_control_edges(self, op)
            if not internal:
                op._add_control_input(self._required_pivot().op)
        self._values.update(op.outputs)
        if external:
            self._add_external_control_inputs(op, external)
        graph = op.graph
        if self.outer_context is not None or not queries.is_loop_exit(op):
            graph.prevent_fetching(op)
            for output in op.outputs:
                graph.prevent_feeding(output)

    def _required_pivot(self) -> Tensor:
        pivot = self.control_pivot()
        assert pivot is not None, f"the loop {self.name} has no pivot yet"
        return pivot

    def _add_control_dependency_if_free(self, op: Operation) -> None:
        """Make an operation that could run before the loop's condition holds wait for the pivot."""
        if op.control_ops:
            return
        if (
            op.type == "SymbolicGradient"
            or op.graph._is_function(op.type)
            or all(queries.is_loop_constant_enter(value.op) for value in op.inputs)
        ):
            op._add_control_input(self._required_pivot().op)

    def _add_external_control_inputs(self, op: Operation, external: list[Operation]) -> None:
        """Wait for entered values of operations outside: control edges cannot cross into a loop."""
        with get_default_graph().control_dependencies(None):
            self.enter()
            inside = [identity(other.outputs[0]).op for other in external if other.outputs]
            self.exit()
        op._add_control_inputs(inside)

    def _adopt_enters(self, enters: Sequence[Tensor]) -> None:
        """Give Enters this context, and the control inputs that hold just outside of the loop."""
        graph = get_default_graph()
        outer = self.outer_context
        outer_loop = None if outer is None else outer.while_context()
        for enter in enters:
            control_inputs = graph._control_dependencies_for_inputs([enter.op.inputs[0]])
            kept = [op for op in control_inputs if _is_around(op, outer, outer_loop)]
            enter.op._set_control_flow_context(self)
            enter.op._add_control_inputs(kept)
            for scope in graph.scopes().control_stack:
                scope.add_op(enter.op)

    # -- building the loop -------------------------------------------------------------------------

    def build_loop(
        self,
        pred: Callable[..., Any],
        body: Callable[..., Nested],
        loop_vars: Nested,
        shape_invariants: Nested,
        return_same_structure: bool,
    ) -> Nested:
        """Add the whole loop to the graph and return the final values of its variables.

        Raises:
          ValueError: the body returns another number of values, or their shapes change.
          TypeError: the body returns another structure, or an invariant is no shape.
        """
        # Shows which of the flat variables are TensorArrays.
        originals = nest.flatten(loop_vars, expand_composites=True)
        values = nest.map_structure(_as_loop_var, loop_vars)
        if shape_invariants is None:
            shapes = [
                shape for value in nest.flatten(values) for shape in invariant_shapes(value, None)
            ]
        else:
            nest.assert_same_structure(values, shape_invariants)
            pairs = list(zip(nest.flatten(values), nest.flatten(shape_invariants), strict=True))
            shapes = [shape for value, one in pairs for shape in invariant_shapes(value, one)]
            relaxed = [
                under_invariant(value, one) if is_composite(value) and one is not None else value
                for value, one in pairs
            ]
            values = nest.pack_sequence_as(values, relaxed)
        flat = [flow_of(value) for value in nest.flatten(values, expand_composites=True)]
        graph = get_default_graph()
        try:
            self.enter()
            # A session must not read the graph while a loop lacks its back edges.
            with graph._lock:
                body_result, exits = self._build(pred, body, originals, flat, values, shapes)
        finally:
            self.exit()
        results = nest.flatten(body_result, expand_composites=True)
        packed = nest.pack_sequence_as(
            body_result,
            [with_flow(like, one) for like, one in zip(results, exits, strict=True)],
            expand_composites=True,
        )
        return packed[0] if len(exits) == 1 and not return_same_structure else packed

    def _build(
        self,
        pred: Callable[..., Any],
        body: Callable[..., Nested],
        originals: list[Any],
        flat: list[Tensor],
        structure: Nested,
        shapes: list[TensorShape],
    ) -> tuple[Nested, list[Tensor]]:
        def packed(variables: list[Tensor]) -> Nested:
            with_arrays = [
                with_flow(like, one) for like, one in zip(originals, variables, strict=True)
            ]
            return nest.pack_sequence_as(structure, with_arrays, expand_composites=True)

        self._enter_loop_vars(flat, shapes)
        merges = [merge([enter, enter])[0] for enter in self.loop_enters]
        self.pivot_for_pred = merges[0]
        condition = convert_to_tensor(pred(*packed(merges)))
        self.pivot = primitives.loop_cond(condition, name="LoopCond")
        assert self.pivot is not None
        switches = [switch_ref_or_tensor(one, self.pivot) for one in merges]

        body_vars = [identity_of(taken) for _, taken in switches]
        self.pivot_for_body = body_vars[0]
        arguments = packed(body_vars)
        body_result = self._call_body(body, arguments)
        # Variables are passed as a list and returned as a tuple: the outermost containers are not
        # compared.
        nest.assert_same_structure(list(arguments), list(body_result), expand_composites=True)

        next_values = [
            as_value(flow_of(one), as_ref=False)
            for one in nest.flatten(body_result, expand_composites=True)
        ]
        if len(merges) != len(next_values):
            raise ValueError(
                "Number of inputs and outputs of 'body' must match 'loop_vars'. Got "
                f"{len(merges)} for the number of inputs/outputs, and {len(next_values)} for "
                "'loop_vars'."
            )
        for merged, value in zip(merges, next_values, strict=True):
            add_back_edge(merged, value)
        self.loop_exits = [exit_of(left) for left, _ in switches]
        self.exit_result(self.loop_exits)
        return body_result, self.loop_exits

    def _enter_loop_vars(self, flat: list[Tensor], shapes: list[TensorShape]) -> None:
        """Make the Enters of the loop variables."""
        # Outer contexts must bring in the variables, this context must not.
        self._values = set(flat)
        outer = self.outer_context
        outside = flat if outer is None else [outer.add_value(value) for value in flat]
        enters = []
        with get_default_graph().control_dependencies(None):
            for value, shape in zip(outside, shapes, strict=True):
                enter = self.enter_variable(value, use_input_shape=False)
                if not is_at_least_as_specific(value.get_shape(), shape):
                    raise ValueError(
                        f"The shape invariant specified for {value.name} is not compatible with "
                        "the initial shape of the loop variable. It enters the loop with shape "
                        f"{value.get_shape()}, but the specified shape invariant is {shape}."
                    )
                enter.set_shape(shape)
                enter.graph.prevent_feeding(enter)
                enters.append(enter)
        pivot = _closest_pivot(outer)
        if pivot is not None:
            for enter in enters:
                if queries.is_loop_constant_enter(enter.op.inputs[0].op):
                    enter.op._add_control_input(pivot.op)
        self._adopt_enters(enters)
        self._values = set(enters)
        self.loop_enters = enters

    def _call_body(self, body: Callable[..., Nested], arguments: Any) -> Nested:
        summaries = get_default_graph().get_collection_ref(GraphKeys._SUMMARY_COLLECTION)
        num_before = len(summaries)
        result = body(*arguments)
        if not nest.is_nested(result):
            result = [result]
        if len(summaries) > num_before:
            # A summary written in the body is written in every iteration.
            new_summaries = summaries[num_before:]
            del summaries[num_before:]
            with get_default_graph().control_dependencies(new_summaries):
                result = nest.map_structure(
                    lambda value: value if is_tensor_array(value) else identity(value),
                    result,
                    expand_composites=True,
                )
        return read_variables(result)


def while_context_of(op: Operation) -> WhileContext | None:
    """Return the innermost while loop that an operation is in."""
    context = queries.context_of(op)
    loop = None if context is None else context.while_context()
    assert loop is None or isinstance(loop, WhileContext)
    return loop


def _current_grad_state() -> Any:
    """Return the state of the gradient whose loop is being built, or None."""
    context = get_default_graph()._get_control_flow_context()
    loop = None if context is None else context.while_context()
    return None if loop is None else loop.grad_state


def _is_around(
    op: Operation, context: ControlFlowContext | None, loop: ControlFlowContext | None
) -> bool:
    """Return whether ``op`` gives its value in or around ``context``, but inside ``loop``."""
    op_context = queries.output_context(op)
    while context is not op_context:
        if context is None or context is loop:
            return False
        context = context.outer_context
    return True


def _closest_pivot(context: ControlFlowContext | None) -> Tensor | None:
    while context is not None:
        pivot = context.control_pivot()
        if pivot is not None:
            return pivot
        context = context.outer_context
    return None


def _as_loop_var(value: TensorLike) -> TensorResult:
    return value if is_tensor_array(value) else as_value(value, as_ref=False)


def invariant_shapes(value: TensorLike, invariant: TensorLike) -> list[TensorShape]:
    """Return the shapes that the tensors of one loop variable must keep."""
    if hasattr(invariant, "value_type"):
        if not invariant.is_compatible_with(value):
            raise TypeError(f"TypeSpec {invariant} is not compatible with {value}")
        invariant = invariant.shape
    if not (invariant is None or isinstance(invariant, TensorShape)):
        raise TypeError(
            f"'shape' must be one of TypeSpec, TensorShape or None. Received: {type(invariant)}"
        )
    if is_composite(value):
        return component_shapes(value, invariant)
    return [flow_of(value).get_shape() if invariant is None else invariant]


def add_back_edge(
    merged: TensorLike, value: TensorLike, enforce_shape_invariant: bool = True
) -> Any:
    """Connect ``value`` to the next iteration, through the Merge that gives ``merged``.

    Args:
      merged: the output of a Merge whose second input is not yet set, or IndexedSlices of these.
      value: the variable after an iteration.
      enforce_shape_invariant: whether its shape is checked.

    Raises:
      ValueError: its shape is less specific than that of the variable.
    """
    if isinstance(merged, IndexedSlices):
        following = next_iteration_of(as_indexed_slices(value, optimize=False))
        for part, next_part in zip(components(merged), components(following), strict=True):
            part.op._update_input(1, next_part)
        return following
    following = next_iteration_of(convert_to_tensor(value))
    if enforce_shape_invariant and not is_at_least_as_specific(
        following.get_shape(), merged.get_shape()
    ):
        source = merged.op.inputs[0].op.inputs[0]
        raise ValueError(
            f"Input tensor '{source.name}' enters the loop with shape {source.shape}, but has "
            f"shape {following.get_shape()} after one iteration. To allow the shape to vary across "
            "iterations, use the `shape_invariants` argument of tf.while_loop to specify a "
            "less-specific shape."
        )
    merged.op._update_input(1, following)
    return following
