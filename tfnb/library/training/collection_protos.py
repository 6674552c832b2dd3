"""Conversion of a graph's collections to messages, and back.

Variables, queue runners, contexts of control flow and savers have messages of their own; other
items are written as names, numbers or bytes.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tfnb.core.process.records import record
from tfnb.core.text_bytes import text_bytes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.scope_names import prepend_name_scope, strip_name_scope
from tfnb.library.control_flow import control_flow_proto
from tfnb.library.training.queue_runner import QueueRunner
from tfnb.library.variables.variables import Variable
from tfnb.proto import control_flow_pb2, queue_runner_pb2, saver_pb2, variable_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor_types import Nested, TensorLike, VariableLike
    from tfnb.proto import meta_graph_pb2

_log = logging.getLogger("tensorflow")

# Prefix of the name of an outside tensor in an exported scope.
UNBOUND_INPUT_PREFIX = "$unbound_inputs_"


@record(slots=True, frozen=True)
class ProtoFunctions:
    """The conversions of one collection's items to messages and back."""

    message: type[Any]
    to_proto: Callable[..., Any]
    from_proto: Callable[..., Any]


def _to_proto(item: Any, export_scope: str | None = None) -> Any:
    return item.to_proto(export_scope=export_scope)


def _saver_from_proto(saver_def: saver_pb2.SaverDef, import_scope: str | None = None) -> Any:
    from tfnb.library.training.saver import Saver

    return Saver.from_proto(saver_def, import_scope=import_scope)


_VARIABLES = ProtoFunctions(variable_pb2.VariableDef, _to_proto, Variable.from_proto)

_FUNCTIONS: dict[str, ProtoFunctions] = {
    **dict.fromkeys(
        (
            GraphKeys.GLOBAL_VARIABLES,
            GraphKeys.TRAINABLE_VARIABLES,
            GraphKeys.MOVING_AVERAGE_VARIABLES,
            GraphKeys.LOCAL_VARIABLES,
            GraphKeys.MODEL_VARIABLES,
            GraphKeys.METRIC_VARIABLES,
            GraphKeys.GLOBAL_STEP,
        ),
        _VARIABLES,
    ),
    GraphKeys.QUEUE_RUNNERS: ProtoFunctions(
        queue_runner_pb2.QueueRunnerDef, _to_proto, QueueRunner.from_proto
    ),
    GraphKeys.COND_CONTEXT: ProtoFunctions(
        control_flow_pb2.CondContextDef,
        control_flow_proto.context_to_proto,
        control_flow_proto.context_from_proto,
    ),
    GraphKeys.WHILE_CONTEXT: ProtoFunctions(
        control_flow_pb2.WhileContextDef,
        control_flow_proto.context_to_proto,
        control_flow_proto.context_from_proto,
    ),
    GraphKeys.SAVERS: ProtoFunctions(saver_pb2.SaverDef, _to_proto, _saver_from_proto),
}


def get_collection_proto_type(collection_name: str) -> type[Any] | None:
    """Return the class of the messages of a collection's items; None if they have none."""
    functions = _FUNCTIONS.get(collection_name)
    return functions.message if functions is not None else None


def register_proto_functions(
    collection: str,
    message: type[Any],
    to_proto: Callable[..., Any],
    from_proto: Callable[..., Any],
) -> None:
    """Set how the items of a program's own collection are converted.

    Args:
      collection: its name.
      message: the class of messages.
      to_proto: makes a message of an item and ``export_scope``.
      from_proto: makes an item of a message and ``import_scope``.
    """
    _FUNCTIONS[collection] = ProtoFunctions(message, to_proto, from_proto)


def is_included(item: Any, export_scope: str | None, excluded: Iterable[TensorLike]) -> bool:
    """Return whether a node, its name or another collection item is in an exported scope."""
    name = item if isinstance(item, str) else getattr(item, "name", None)
    if not isinstance(name, str):
        return True
    if name in excluded:
        return False
    return not export_scope or name.startswith((UNBOUND_INPUT_PREFIX, export_scope))


# ------------------------------------------------------------------------------------- to messages


def add_collection_def(
    meta_graph_def: meta_graph_pb2.MetaGraphDef,
    key: TensorLike,
    graph: Graph,
    export_scope: str | None = None,
    excluded: Iterable[TensorLike] = (),
    override_contents: list[Any] | None = None,
) -> None:
    """Write a collection to a MetaGraphDef; one that cannot be written is left out.

    Args:
      meta_graph_def: the message to add to.
      key: the collection's name.
      graph: the graph.
      export_scope: a name scope to remove from all names; items outside of it are left out.
      excluded: names of nodes that are not exported.
      override_contents: items to write instead of those of the collection.
    """
    if not isinstance(key, str):
        _log.warning(
            "Only collections with string type keys will be serialized. This key has %s", type(key)
        )
        return
    items = graph.get_collection(key) if override_contents is None else override_contents
    items = [item for item in items if is_included(item, export_scope, excluded)]
    if not items:
        return
    collection = meta_graph_def.collection_def[key]
    try:
        _fill(collection, key, items, export_scope)
    except Exception as error:  # a collection may contain any value
        _log.warning(
            "Issue encountered when serializing %s.\nType is unsupported, or the types of the "
            "items don't match field type in CollectionDef. Note this is a warning and probably "
            "safe to ignore.\n%s",
            key,
            error,
        )
        del meta_graph_def.collection_def[key]


def _fill(collection: Any, key: str, items: list[Any], export_scope: str | None) -> None:
    functions = _FUNCTIONS.get(key)
    if functions is not None:
        for item in items:
            proto = functions.to_proto(item, export_scope=export_scope)
            if proto is not None:
                collection.bytes_list.value.append(proto.SerializeToString())
        return
    first = items[0]
    if isinstance(first, (str, bytes)):
        collection.bytes_list.value.extend(
            text_bytes(item) if isinstance(item, str) else item for item in items
        )
    elif isinstance(first, int):
        collection.int64_list.value.extend(items)
    elif isinstance(first, float):
        collection.float_list.value.extend(items)
    elif hasattr(first, "DESCRIPTOR"):
        collection.any_list.value.extend(items)
    else:
        for item in items:
            if not export_scope or item.name.startswith(export_scope):
                collection.node_list.value.append(strip_name_scope(item.name, export_scope))


# ----------------------------------------------------------------------------------- from messages


def restore_collections(
    meta_graph_def: meta_graph_pb2.MetaGraphDef,
    graph: Graph,
    scope: str,
    wanted: Callable[[str], bool],
    variables_have_trainable: bool,
) -> None:
    """Add the items of a MetaGraphDef's collections to those of a graph that has its nodes.

    Args:
      meta_graph_def: the message.
      graph: the graph, which is the default one.
      scope: the name scope that the nodes were imported into.
      wanted: the collections to restore.
      variables_have_trainable: False for the messages of old versions, whose variables lack the
        field ``trainable``.
    """
    # One object per variable, also if it is in several collections.
    variables: dict[bytes, VariableLike] = {}
    definitions = meta_graph_def.collection_def
    keys = sorted(definitions, key=lambda key: (key != GraphKeys.TRAINABLE_VARIABLES, key))
    for key in keys:
        if not wanted(key):
            continue
        kind = definitions[key].WhichOneof("kind")
        if kind is None:
            _log.error("Cannot identify data type for collection %s. Skipping.", key)
            continue
        values = getattr(definitions[key], kind).value
        try:
            found = _restored(graph, key, kind, values, scope, variables, variables_have_trainable)
        except (LookupError, ValueError, AttributeError, RecursionError, DecodeError) as error:
            told = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise CollectionError(
                f"Collection '{key}' of the meta graph cannot be restored: {told} To import the "
                f"graph without it: del meta_graph_def.collection_def[{key!r}]"
            ) from error
        for value in found:
            graph.add_to_collection(key, value)


class CollectionError(ValueError, KeyError):
    """A collection of a meta graph does not fit its graph, or is damaged.

    Also a ``KeyError``, which TensorFlow raises for names that are not in the graph.
    """

    __str__ = Exception.__str__


def _restored(
    graph: Graph,
    key: str,
    kind: str,
    values: Sequence[TensorLike],
    scope: str,
    variables: dict[bytes, VariableLike],
    variables_have_trainable: bool,
) -> list[Nested]:
    """Return the items of a collection; ``variables`` are those made so far, by message."""
    functions = _FUNCTIONS.get(key)
    if functions is None or kind != "bytes_list":
        if kind == "node_list":
            return [graph.as_graph_element(prepend_name_scope(name, scope)) for name in values]
        return [_placed(value, scope) for value in values]
    made = []
    for value in values:
        found = variables.get(value) if functions is _VARIABLES else None
        if found is None:
            proto = functions.message.FromString(value)
            if functions is _VARIABLES and not variables_have_trainable:
                proto.trainable = key == GraphKeys.TRAINABLE_VARIABLES
            found = functions.from_proto(proto, import_scope=scope)
            if functions is _VARIABLES:
                variables[value] = found
        made.append(found)
    return made


def _placed(value: TensorLike, scope: str) -> Any:
    if isinstance(value, str):
        return prepend_name_scope(value, scope)
    if isinstance(value, bytes) and scope:
        # As in TensorFlow, bytes inside a scope come back as text.
        return prepend_name_scope(value.decode("utf-8", "surrogateescape"), scope)
    return value
