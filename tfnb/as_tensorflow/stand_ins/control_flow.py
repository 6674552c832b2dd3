"""``tensorflow.python.ops.control_flow_ops``: names that are internal to TensorFlow."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.control_flow import control_flow_queries as _queries
from tfnb.library.control_flow.cond_context import CondContext as CondContext
from tfnb.library.control_flow.control_flow_context import (
    ControlFlowContext as ControlFlowContext,
)
from tfnb.library.control_flow.smart_cond import smart_cond as smart_cond
from tfnb.library.control_flow.while_context import WhileContext as WhileContext
from tfnb.library.control_flow.with_dependencies import with_dependencies as with_dependencies


def GraphOrParentsInXlaContext(graph: Any) -> bool:
    """Return False: nothing is compiled by XLA."""
    return False


def GetContainingXLAContext(ctxt: Any) -> None:
    """Return None: nothing is compiled by XLA."""


def IsInWhileLoop(op: Any) -> bool:
    """Return whether an operation is in a while loop."""
    return GetContainingWhileContext(op._control_flow_context) is not None


def GetContainingWhileContext(ctxt: Any) -> Any:
    """Return the innermost context of a while loop around a context, or None."""
    while ctxt is not None and not ctxt.IsWhileContext():
        ctxt = ctxt.outer_context
    return ctxt


IsSwitch = _queries.is_switch
IsMerge = _queries.is_merge
IsLoopEnter = _queries.is_loop_enter
IsLoopExit = _queries.is_loop_exit
IsLoopConstantEnter = _queries.is_loop_constant_enter
IsLoopSwitch = _queries.is_loop_switch
IsCondSwitch = _queries.is_cond_switch


def IsCondMerge(op: Any) -> bool:
    """Return whether a Merge is that of a cond: all of its inputs are conditional."""
    if not IsMerge(op) or not op.inputs:
        return False
    return all(_is_of_cond(GetOutputContext(one.op)) for one in op.inputs)


def IsLoopMerge(op: Any) -> bool:
    """Return whether a Merge begins the iterations of a loop."""
    return IsMerge(op) and not IsCondMerge(op)


def _is_of_cond(context: Any) -> bool:
    return context is not None and context.IsCondContext()


IsContainingContext = _queries.is_containing_context
OpInContext = _queries.op_in_context
GetLoopConstantEnter = _queries.loop_constant_enter
GetOutputContext = _queries.output_context
CheckInputFromValidContext = _queries.check_input_from_valid_context


def EnableControlFlowV2(graph: Any) -> bool:
    """Return whether conds and loops of a graph become functional ops."""
    return bool(tf.control_flow_v2_enabled())
