"""Contexts of conds and while loops as messages, so that a loaded graph has gradients.

A MetaGraphDef has them in the collections ``cond_context`` and ``while_context``. These contain the
outermost contexts only; each message contains the contexts inside of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.library.control_flow import control_flow_queries as queries
from tfnb.library.control_flow.cond_context import CondContext
from tfnb.library.control_flow.while_context import WhileContext
from tfnb.proto import control_flow_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.framework.tensor import Tensor
    from tfnb.library.control_flow.control_flow_context import ControlFlowContext


# -------------------------------------------------------------------------------------- to messages


def context_to_proto(context: ControlFlowContext, export_scope: str | None = None) -> Any:
    """Return a CondContextDef or WhileContextDef; None for a context outside of ``export_scope``.

    Args:
      context: a context.
      export_scope: a name scope to remove from all names.
    """
    if export_scope is not None and not context.name.startswith(export_scope):
        return None
    if isinstance(context, CondContext):
        return _cond_to_proto(context, export_scope)
    assert isinstance(context, WhileContext)
    return _while_to_proto(context, export_scope)


def _cond_to_proto(context: CondContext, scope: str | None) -> control_flow_pb2.CondContextDef:
    message = control_flow_pb2.CondContextDef(
        context_name=_stripped(context.name, scope),
        pred_name=_stripped(context.pred.name, scope),
        pivot_name=_stripped(context.pivot.name, scope),
        branch=context.branch,
    )
    _fill_shared(message, context, scope)
    return message


def _while_to_proto(context: WhileContext, scope: str | None) -> control_flow_pb2.WhileContextDef:
    message = control_flow_pb2.WhileContextDef(
        context_name=_stripped(context.name, scope),
        parallel_iterations=context.parallel_iterations,
        back_prop=context.back_prop,
        swap_memory=context.swap_memory,
        loop_exit_names=[_stripped(one.name, scope) for one in context.loop_exits],
        loop_enter_names=[_stripped(one.name, scope) for one in context.loop_enters],
    )
    for field, tensor in (
        ("pivot_name", context.pivot),
        ("pivot_for_pred_name", context.pivot_for_pred),
        ("pivot_for_body_name", context.pivot_for_body),
        ("maximum_iterations_name", context.maximum_iterations),
    ):
        if tensor is not None:
            setattr(message, field, _stripped(tensor.name, scope))
    _fill_shared(message, context, scope)
    return message


def _fill_shared(message: Any, context: ControlFlowContext, scope: str | None) -> None:
    values = message.values_def
    values.values.extend(sorted(_stripped(one.name, scope) for one in context._values))
    for outside, inside in context._external_values.items():
        values.external_values[_stripped(outside.name, scope)] = _stripped(inside.name, scope)
    for nested in context._nested_contexts:
        nested_message = message.nested_contexts.add()
        field = nested_message.cond_ctxt if nested.is_cond_context else nested_message.while_ctxt
        field.CopyFrom(context_to_proto(nested))


def _stripped(name: str, scope: str | None) -> str:
    if not scope:
        return name
    prefix = scope.rstrip("/") + "/"
    return name[len(prefix) :].lstrip("/") if name.startswith(prefix) else name


# ------------------------------------------------------------------------------------ from messages


def context_from_proto(message: Any, import_scope: str | None = None) -> ControlFlowContext:
    """Return the context of a message, whose operations are in the default graph already.

    Args:
      message: a CondContextDef or WhileContextDef, also of another package's generated classes.
      import_scope: a name scope that the operations were imported into.

    Raises:
      KeyError: the graph lacks an operation.
    """
    context: ControlFlowContext
    if message.DESCRIPTOR.name == "CondContextDef":
        context = _cond_from_proto(message, import_scope)
    else:
        context = _while_from_proto(message, import_scope)
    context.enter()
    try:
        for nested in message.nested_contexts:
            context_from_proto(getattr(nested, nested.WhichOneof("ctxt")), import_scope)
    finally:
        context.exit()
    return context


def _cond_from_proto(message: Any, scope: str | None) -> CondContext:
    context = CondContext.__new__(CondContext)
    super(CondContext, context).__init__()
    context.name = _prefixed(message.context_name, scope)
    context.pred = _tensor(message.pred_name, scope)
    context.pivot = _tensor(message.pivot_name, scope)
    context.branch = message.branch
    _read_values(context, message.values_def, scope)
    return context


def _while_from_proto(message: Any, scope: str | None) -> WhileContext:
    limit = message.maximum_iterations_name
    context = WhileContext(
        maximum_iterations=_tensor(limit, scope) if limit else None,
        parallel_iterations=message.parallel_iterations,
        back_prop=message.back_prop,
        swap_memory=message.swap_memory,
    )
    context.name = _prefixed(message.context_name, scope)
    context.pivot = _tensor(message.pivot_name, scope)
    context.pivot_for_pred = _tensor(message.pivot_for_pred_name, scope)
    context.pivot_for_body = _tensor(message.pivot_for_body_name, scope)
    context.loop_exits = _tensors(message.loop_exit_names, scope)
    context.loop_enters = _tensors(message.loop_enter_names, scope)
    _read_values(context, message.values_def, scope)
    if scope:
        # The frame has the name of its context, which is new.
        for tensor in context._values:
            if queries.is_loop_enter(tensor.op):
                tensor.op._set_attr("frame_name", context.name.encode())
    return context


def _read_values(context: ControlFlowContext, values_def: Any, scope: str | None) -> None:
    external = dict(values_def.external_values)
    graph = get_default_graph()
    for name in values_def.values:
        tensor = graph.as_graph_element(_prefixed(name, scope))
        context._values.add(tensor)
        if name not in external:
            tensor.op._set_control_flow_context(context)
    for outside, inside in external.items():
        try:
            tensor = _tensor(outside, scope)
        except KeyError:
            continue  # not exported, so nothing exported uses it
        context._external_values[tensor] = _tensor(inside, scope)


def _tensors(names: Iterable[str], scope: str | None) -> list[Tensor]:
    return [_tensor(name, scope) for name in names]


def _tensor(name: str, scope: str | None) -> Tensor:
    return get_default_graph().get_tensor_by_name(_prefixed(name, scope))


def _prefixed(name: str, scope: str | None) -> str:
    return f"{scope.rstrip('/')}/{name}" if scope else name
