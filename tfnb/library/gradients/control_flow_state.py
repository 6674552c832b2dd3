"""The state of the while loops that backpropagation passes through.

The gradient of a loop is a loop of its own that runs the iterations in reverse. A value that the
forward loop computes and the gradient uses is pushed to a stack in each forward iteration and
popped in the gradient's loop.

:class:`GradLoopState` belongs to one loop, :class:`ControlFlowState` to one call of
``tf.gradients``. For nested loops, the state of the inner loop refers to that of the outer one.
Corresponds to control_flow_state.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, op_registry
from tfnb.framework.constant_value import constant_value
from tfnb.framework.default_graph import get_default_graph
from tfnb.library.control_flow import control_flow_queries as queries
from tfnb.library.control_flow.cond_context import CondContext
from tfnb.library.control_flow.control_flow_values import next_iteration_of, switch_ref_or_tensor
from tfnb.library.control_flow.default_gradient import zeros_like_output, zeros_of
from tfnb.library.control_flow.while_context import WhileContext, while_context_of
from tfnb.library.gradients.backprop_loops import add_backprop_counter, add_forward_counter, inside
from tfnb.ops.array.constant_ops import constant, zeros, zeros_like
from tfnb.ops.array.shape_ops import shape_internal
from tfnb.ops.control import control_flow_ops as primitives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.library.control_flow.control_flow_context import ControlFlowContext


class GradLoopState:
    """One loop and the loop of its gradient.

    Attributes:
      forward_context: the loop.
      grad_context: the loop of its gradient.
      outer_grad_state: the state of the enclosing loop, if gradients are built for that as well.
      forward_index: in the loop, the number of the next iteration.
      grad_index: in the gradient's loop, how many iterations are left.
      history: value of the loop -> the tensor with that value in the gradient's loop.
      switch_merges: for a Switch of a loop variable, the Merge that belongs to it in the gradient's
        loop.
      forward_loop_exits: the exits that the loop had before gradients were built.
      num_pending_exits: how many of them are not ready yet.
      deferred_exits: the exits that are ready.
      unused_exits: the exits without consumers.
    """

    def __init__(self, forward: WhileContext, outer_grad_state: GradLoopState | None) -> None:
        """Add the counter to the loop, and build the gradient's loop with a counter of its own."""
        self.outer_grad_state = outer_grad_state
        self.forward_context = forward
        self.history: dict[Tensor, Tensor] = {}
        self.switch_merges: dict[Operation, Any] = {}
        self.unused_exits: list[Tensor] = []
        self.deferred_exits: list[Tensor] = []
        self.forward_loop_exits = list(forward.loop_exits)
        self.num_pending_exits = len(forward.loop_exits)
        self._forward_sync: Operation | None = None
        self._grad_sync: Operation | None = None

        outer = (
            forward.outer_context if outer_grad_state is None else outer_grad_state.forward_context
        )
        with inside(outer):
            count, self.forward_index = add_forward_counter(forward, outer_grad_state)
        if outer_grad_state is None:
            with inside(outer):
                self.grad_context = self._new_grad_context()
                self.grad_index = add_backprop_counter(self.grad_context, count, None)
            return
        # The counts of all runs of this inner loop are saved.
        outer_grad_state.forward_context.add_known(count)
        counts = outer_grad_state.add_forward_accumulator(count)
        with inside(outer_grad_state.grad_context):
            self.grad_context = self._new_grad_context()
            real_count = outer_grad_state.add_backprop_accumulated_value(counts, count)
            self.grad_index = add_backprop_counter(self.grad_context, real_count, outer_grad_state)

    def _new_grad_context(self) -> WhileContext:
        forward = self.forward_context
        return WhileContext(
            maximum_iterations=forward.maximum_iterations,
            parallel_iterations=forward.parallel_iterations,
            back_prop=forward.back_prop,
            swap_memory=forward.swap_memory,
            name=forward.name,
            grad_state=self,
        )

    @property
    def forward_sync(self) -> Operation:
        """The operation before the next iteration of the loop: it waits for pushes in branches."""
        if self._forward_sync is None:
            self._forward_sync = _control_trigger("f_sync", self.forward_context)
            self.forward_index.op._add_control_input(self._forward_sync)
        return self._forward_sync

    @property
    def grad_sync(self) -> Operation:
        """The operation before the next iteration of the gradient's loop: it waits for all pops."""
        if self._grad_sync is None:
            self._grad_sync = _control_trigger("b_sync", self.grad_context)
            self.grad_index.op._add_control_input(self._grad_sync)
        return self._grad_sync

    # -- saved values ------------------------------------------------------------------------------

    def add_forward_accumulator(self, value: Tensor, dead_branch: bool = False) -> Tensor:
        """Push a value of the loop onto a new stack in each iteration.

        Called in the context in which ``tf.gradients`` was called.

        Args:
          value: the value, in the loop or in a cond in it.
          dead_branch: whether the value is alive only where its own branch is not taken.

        Returns:
          The stack.
        """
        graph = self.forward_index.graph
        forward = self.forward_context
        context = graph._get_control_flow_context()
        with graph.as_default(), graph.control_dependencies(None):
            stack = self._new_stack(value, context)
            entered = forward.add_value(stack)
            value_context = queries.output_context(value.op)
            if value_context is forward:
                with inside(forward):
                    push = self._push(entered, value)
                # The push of one iteration comes before that of the next.
                self.forward_index.op._add_control_input(push)
            else:
                push = self._push_in_branch(entered, value, value_context, dead_branch)
                self.forward_sync._add_control_input(push)
            push._add_control_input(self.forward_index.op.inputs[0].op)
        return stack

    def _new_stack(self, value: Tensor, context: ControlFlowContext | None) -> Tensor:
        with inside(context), get_default_graph().colocate_with(value):
            stack: Tensor = op_registry.get("StackV2")(
                constant(-1, dtypes.int32), elem_type=value.dtype.base_dtype, name="f_acc"
            )
        return stack

    def _push(self, stack: Tensor, value: Tensor) -> Operation:
        pushed: Tensor = op_registry.get("StackPushV2")(
            stack, value, swap_memory=self.forward_context.swap_memory
        )
        return pushed.op

    def _push_in_branch(
        self,
        stack: Tensor,
        value: Tensor,
        context: ControlFlowContext | None,
        dead_branch: bool,
    ) -> Operation:
        if not isinstance(context, CondContext):
            raise TypeError(f"value_ctxt is not a CondContext: {context}")
        if not dead_branch:
            with inside(context):
                return self._push(stack, value)
        with inside(context.outer_context):
            push = self._push(stack, value)
        push._set_control_flow_context(context)
        return push

    def add_backprop_accumulated_value(
        self, history: Tensor, value: Tensor, dead_branch: bool = False
    ) -> Tensor:
        """Pop in the gradient's loop the values that were pushed in the loop.

        Called in the gradient's context.

        Args:
          history: the stack.
          value: the pushed value.
          dead_branch: as for :meth:`add_forward_accumulator`.
        """
        branch = self._branch_of(value, history)
        with get_default_graph().control_dependencies(None):
            with inside(self.grad_context):
                if branch is not None:
                    # Popped only in iterations that pushed.
                    taken = 1 - branch.branch if dead_branch else branch.branch
                    history = switch_ref_or_tensor(history, self._saved_pred(branch))[taken]
                popped: Tensor = op_registry.get("StackPopV2")(
                    history, elem_type=value.dtype.base_dtype
                )
                popped.set_shape(value.get_shape())
        if self.grad_context.parallel_iterations > 1:
            self.grad_sync._add_control_input(popped.op)
        return popped

    @staticmethod
    def _branch_of(value: Tensor, history: Tensor) -> CondContext | None:
        """Return the innermost branch that contains a value and not its stack."""
        context = queries.context_of(value.op)
        while context is not None and context is not history.op._control_flow_context:
            if isinstance(context, CondContext):
                return context
            context = context.outer_context
        return None

    def _saved_pred(self, branch: CondContext) -> Tensor:
        state: GradLoopState | None = self
        while state is not None:
            saved = state.history.get(branch.pred)
            if saved is not None:
                return saved
            state = state.outer_grad_state
        return branch.pred

    def real_value(self, value: Tensor) -> Tensor:
        """Return the tensor in the gradient's loop that has the value of a tensor of the loop.

        Called in the gradient's context.
        """
        real = self.history.get(value)
        if real is None:
            real = self.history[value] = self._make_real_value(value)
        return real

    def _make_real_value(self, value: Tensor) -> Tensor:
        source = value
        state: GradLoopState = self
        while True:
            enter = queries.loop_constant_enter(source)
            if enter is None:
                break
            # All iterations share the value, so the outer tensor has it, too.
            source = enter.inputs[0]
            if state.outer_grad_state is None:
                return self.grad_context.add_value(source)
            state = state.outer_grad_state
        if source.op.type == "Const":
            return constant(constant_value(source), dtype=source.dtype)
        self.grad_context.exit()
        history = state.add_forward_accumulator(source)
        self.grad_context.enter()
        real = state.add_backprop_accumulated_value(history, source)
        return real if state is self else self.grad_context.add_value(real)


def _control_trigger(name: str, context: WhileContext) -> Operation:
    with get_default_graph().control_dependencies(None):
        trigger: Operation = primitives.control_trigger(name=name)
    trigger._set_control_flow_context(context)
    return trigger


class ControlFlowState:
    """The loops that one call of ``tf.gradients`` passes through."""

    def __init__(self) -> None:
        self._states: dict[ControlFlowContext, GradLoopState] = {}

    @classmethod
    def for_ops(
        cls, between: MutableMapping[Operation, None], colocate_with: Callable[[Operation], Any]
    ) -> ControlFlowState | None:
        """Return the state for the operations of a gradient; None if there is no loop among them.

        Adds the other exits of the loops to ``between``.
        """
        found: ControlFlowState | None = None
        for op in list(between):
            if queries.is_loop_exit(op):
                found = found or cls()
                with colocate_with(op):
                    found._add_loop(op, between)
        return found

    def _add_loop(self, exit_op: Operation, between: MutableMapping[Operation, None]) -> None:
        forward = while_context_of(exit_op)
        if forward is None:
            raise ValueError(
                f"Failed to call gradients on a while loop: nothing is known of the loop of "
                f"'{exit_op.name}'. A graph that was saved with control flow has to be imported "
                "from its MetaGraphDef."
            )
        if forward in self._states:
            return
        state = GradLoopState(forward, self._outer_state(forward))
        self._states[forward] = state
        for value in state.forward_loop_exits:
            between.setdefault(value.op)

    def _outer_state(self, loop: WhileContext) -> GradLoopState | None:
        outer = loop.outer_context
        outer_loop = None if outer is None else outer.while_context()
        return None if outer_loop is None else self._states.get(outer_loop)

    def grad_state(self, op: Operation, before: bool) -> GradLoopState | None:
        """Return the state of an operation's loop; if ``before``, an Exit counts as outside."""
        if before and queries.is_loop_exit(op):
            context = queries.output_context(op)
            loop = None if context is None else context.while_context()
        else:
            loop = while_context_of(op)
        return None if loop is None else self._states.get(loop)

    def enter_grad_while_context(self, op: Operation, before: bool) -> None:
        """Enter the gradient's loop that belongs to the loop of an operation."""
        state = self.grad_state(op, before)
        if state is not None:
            state.grad_context.enter()

    def exit_grad_while_context(self, op: Operation, before: bool) -> None:
        """Leave the gradient's loop that :meth:`enter_grad_while_context` entered."""
        state = self.grad_state(op, before)
        if state is not None:
            state.grad_context.exit()

    def process_unused_exits(
        self, pending: MutableMapping[Operation, int], to_ops: Iterable[Operation]
    ) -> list[Tensor]:
        """Return the unused exits of loops all of whose exits are ready at the beginning.

        They get zeros: a variable that is not used after the loop may be used in it.
        """
        found: list[Tensor] = []
        started = set(to_ops)
        for state in self._states.values():
            for value in state.forward_loop_exits:
                if pending[value.op] == 0:
                    state.num_pending_exits -= 1
                    if value.op not in started:
                        state.unused_exits.append(value)
                    if state.num_pending_exits == 0:
                        found.extend(state.unused_exits)
            for value in state.forward_context.loop_enters:
                if pending[value.op] == 0:
                    pending[value.op] = 1
        return found

    # -- zeros -------------------------------------------------------------------------------------

    def zeros_for_exit(self, value: Tensor) -> Tensor:
        """Return zeros for an unused exit; called in the context of the ``tf.gradients`` call."""
        shape = value.get_shape()
        forward = while_context_of(value.op)
        assert forward is not None
        outer_state = self._outer_state(forward)
        if outer_state is None:
            if shape.is_fully_defined():
                return zeros(shape.dims, value.dtype)
            return zeros_like(value, optimize=False)
        if shape.is_fully_defined():
            with inside(outer_state.grad_context):
                return zeros(shape.dims, value.dtype)
        # Saving the shape takes less memory than saving the value.
        with inside(forward.outer_context):
            sizes = shape_internal(value, optimize=False)
        history = outer_state.add_forward_accumulator(sizes)
        with inside(outer_state.grad_context):
            real_sizes = outer_state.add_backprop_accumulated_value(history, sizes)
            return zeros(real_sizes, value.dtype)

    def zeros_like(self, op: Operation, index: int) -> Tensor | None:
        """Return zeros for an unused output; called in the gradient's context."""
        if queries.is_loop_switch(op):
            return None
        loop = while_context_of(op)
        state = None if loop is None else self._states.get(loop)
        if state is None:
            return zeros_like_output(op, index)
        value = op.outputs[index]
        shape = value.get_shape()
        if not shape.is_fully_defined():
            return self._zeros_of_saved_shape(state, op, value)
        if value.dtype is dtypes.resource:
            result = zeros_of(value)
        else:
            result = constant(0, shape=shape, dtype=value.dtype)
        if queries.is_switch(op):
            # The Switch of a cond: zeros are needed only where the other branch was taken.
            branch = op._control_flow_context
            pred = state.history[branch.pred]
            result = switch_ref_or_tensor(result, pred)[1 - branch.branch]
        return result

    def _zeros_of_saved_shape(self, state: GradLoopState, op: Operation, value: Tensor) -> Tensor:
        dead_branch = queries.is_switch(op)
        context = op._control_flow_context
        if dead_branch:
            with inside(context.outer_context):
                side = switch_ref_or_tensor(op.inputs[0], context.pred)[1 - context.branch]
                sizes = shape_internal(side, optimize=False)
            side.op._set_control_flow_context(context)
            sizes.op._set_control_flow_context(context)
        else:
            with inside(context):
                sizes = shape_internal(value, optimize=False)
        state.grad_context.exit()
        history = state.add_forward_accumulator(sizes, dead_branch)
        state.grad_context.enter()
        real_sizes = state.add_backprop_accumulated_value(history, sizes, dead_branch)
        return zeros(real_sizes, value.dtype)

    # -- at the end --------------------------------------------------------------------------------

    def post_process(self) -> None:
        """Close the gradient's cycles that were left open.

        If a variable's next value does not depend on its current one, the gradient is zero from the
        second iteration on.
        """
        for state in self._states.values():
            for merged in state.switch_merges.values():
                op = merged.op
                if op.inputs[0] is op.inputs[1]:
                    op._update_input(1, _zeros_from_then_on(state.grad_context, op.inputs[0]))


def _zeros_from_then_on(loop: WhileContext, first: Tensor) -> Tensor:
    shape = first.get_shape()
    if shape.is_fully_defined():
        with inside(loop):
            following: Tensor = next_iteration_of(constant(0, dtype=first.dtype, shape=shape))
            return following
    with inside(loop.outer_context):
        sizes = shape_internal(first.op.inputs[0], optimize=False)
        zero = zeros(sizes, first.dtype)
    with inside(loop):
        rest: Tensor = next_iteration_of(zero)
        return rest
