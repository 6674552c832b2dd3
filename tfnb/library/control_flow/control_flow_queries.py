"""Queries about the position of an operation among conds and while loops.

A context is a :class:`~tfnb.library.control_flow.control_flow_context.ControlFlowContext`, or None
outside of all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.library.control_flow.control_flow_context import ControlFlowContext

_PASSES_ON = frozenset({"Switch", "RefSwitch", "Identity", "RefIdentity"})


def context_of(op: Operation) -> ControlFlowContext | None:
    """Return the innermost context that an operation belongs to."""
    context: ControlFlowContext | None = op._control_flow_context
    return context


def is_switch(op: Operation) -> bool:
    """Return whether it is a Switch."""
    return op.type in ("Switch", "RefSwitch")


def is_merge(op: Operation) -> bool:
    """Return whether it is a Merge."""
    return op.type in ("Merge", "RefMerge")


def is_loop_enter(op: Operation) -> bool:
    """Return whether it is an Enter."""
    return op.type in ("Enter", "RefEnter")


def is_loop_exit(op: Operation) -> bool:
    """Return whether it is an Exit."""
    return op.type in ("Exit", "RefExit")


def is_loop_constant_enter(op: Operation) -> bool:
    """Return whether it is the Enter of a value that all iterations share."""
    return is_loop_enter(op) and bool(op.attr("is_constant"))


def is_cond_switch(op: Operation) -> bool:
    """Return whether it is the Switch of a cond: all consumers of its outputs are in conds.

    The Switch itself is outside of the branch that it feeds.
    """
    if not is_switch(op):
        return False
    for output in op.outputs:
        for consumer in output.consumers():
            context = context_of(consumer)
            if is_loop_enter(consumer) and context is not None:
                context = context.outer_context
            if context is None or not context.is_cond_context:
                return False
    return True


def is_loop_switch(op: Operation) -> bool:
    """Return whether it is the Switch of a loop variable."""
    if not is_switch(op):
        return False
    context = context_of(op)
    return context is not None and context.is_while_context and not is_cond_switch(op)


def loop_constant_enter(value: Tensor) -> Operation | None:
    """Return the constant Enter that a value comes from unchanged, or None."""
    op = value.op
    while op.type in _PASSES_ON:
        op = op.inputs[0].op
    return op if is_loop_constant_enter(op) else None


def output_context(op: Operation) -> ControlFlowContext | None:
    """Return the context of an operation's outputs: those of an Exit are outside of its loop."""
    context = context_of(op)
    if context is not None and is_loop_exit(op):
        return context.outer_context
    return context


def containing_while_context(
    context: ControlFlowContext | None, stop: ControlFlowContext | None = None
) -> Any:
    """Return the innermost while loop around or at ``context``; ``stop`` if that comes first."""
    while context is not None:
        if context.is_while_context or context is stop:
            return context
        context = context.outer_context
    return None


def is_containing_context(
    context: ControlFlowContext | None, maybe_containing: ControlFlowContext | None
) -> bool:
    """Return whether ``maybe_containing`` is ``context`` or contains it; None contains all."""
    while context is not maybe_containing:
        if context is None:
            return False
        context = context.outer_context
    return True


def op_in_context(op: Operation, context: ControlFlowContext | None) -> bool:
    """Return whether an operation is somewhere in a context."""
    return is_containing_context(context_of(op), context)


def check_input_from_valid_context(op: Operation, input_op: Operation) -> None:
    """Reject an input that comes from inside a while loop that does not contain the operation.

    Raises:
      ValueError: the input is not usable in the operation's context.
    """
    op_context = context_of(op)
    input_context = output_context(input_op)
    if input_context is None or input_context is op_context:
        return
    op_loop = containing_while_context(op_context)
    input_loop = containing_while_context(input_context)
    if _may_use(op, op_loop, input_loop):
        return
    if op_loop is not None:
        why = "they are in different while loops"
    else:
        why = f"'{input_op.name}' is in a while loop"
    raise ValueError(
        f"Cannot use '{input_op.name}' as input to '{op.name}' because {why}. See info log for "
        "more details."
    )


def _may_use(
    op: Operation, op_loop: ControlFlowContext | None, input_loop: ControlFlowContext | None
) -> bool:
    """Return whether ``op`` in one loop may use a value from another loop."""
    if op_loop is None:
        # An Enter of a loop variable and a Switch into a branch are made outside of all contexts
        # and get theirs afterwards. A value from another branch of a cond is allowed; the step
        # fails if that branch is not taken.
        return input_loop is None or is_loop_enter(op) or is_switch(op)
    if is_containing_context(op_loop, input_loop):
        return True
    assert input_loop is not None
    state = op_loop.grad_state
    if state is not None:
        # A gradient's loop may use values of its forward loop, or of a loop inside that one.
        forward = state.forward_context
        if is_containing_context(forward, input_loop) or forward is input_loop.outer_context:
            return True
    # Accepted while the gradient of a gradient is built: that fails later unless it is stopped on
    # its way.
    state = input_loop.grad_state
    while state is not None:
        if state.forward_context is op_loop:
            return True
        state = state.forward_context.grad_state
    return False


def remove_external_control_edges(
    context: ControlFlowContext, op: Operation
) -> tuple[list[Operation], list[Operation]]:
    """Remove control inputs from outside of the innermost loop; return (kept, removed)."""
    loop = context.while_context()
    if loop is None or not op.control_ops:
        return op.control_inputs, []
    kept: list[Operation] = []
    dropped: list[Operation] = []
    for other in op.control_ops:
        found = output_context(other)
        is_inside = found is not None and found.while_context() is loop
        (kept if is_inside else dropped).append(other)
    if dropped:
        op._remove_all_control_inputs()
        op._add_control_inputs(kept)
    return kept, dropped
