"""The distinction between nodes from files and nodes that the user built.

``import_graph_def`` records which operations it added (``Graph.loaded_ranges``), and marks the
functions (``is_loaded``).
Before a session sends nodes to the runtime, it marks those of them that have effects: the runtime
refuses them every effect that is not allowed (:mod:`tfnb.core.effects`). The graph itself stays
unmarked, so that a graph exported from it does not contain its origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, effects, op_registry
from tfnb.core.op_traits import Trait
from tfnb.core.process.records import record
from tfnb.core.tensor_util import make_ndarray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.op_registry import OpDefinition
    from tfnb.core.plain_graph_def import PlainGraphDef
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor


def is_loaded(op: Operation) -> bool:
    """Return whether an operation came from a file, not from the user's own calls."""
    return any(first <= op._id < end for first, end in op.graph.loaded_ranges)


def mark_derived(op: Operation) -> None:
    """Mark an operation that was made from a loaded one, in a function or elsewhere."""
    if op.op_definition.effects:
        op.graph.loaded_ranges.append((op._id, op._id + 1))
        op.graph.derived_operations.add(op)


def mark_loaded(graph: Graph, graph_def: PlainGraphDef) -> bool:
    """Mark the nodes to be sent that have effects and that the user did not build.

    Returns:
      Whether there are any.
    """
    has_any = False
    functions = () if graph_def.library is None else graph_def.library.function
    for function in functions:
        if graph._functions[function.signature.name].is_loaded:
            for inner in function.node_def:
                definition = op_registry.find(inner.op)
                if definition is not None and definition.effects:
                    inner.attr[effects.LOADED_ATTR].b = has_any = True
    if not graph.loaded_ranges:
        return has_any
    kinds: dict[str, bool] = {}
    for node in graph_def.node:
        has_effects = kinds.get(node.op)
        if has_effects is None:
            definition = op_registry.find(node.op)
            has_effects = kinds[node.op] = definition is not None and bool(definition.effects)
        if has_effects and is_stranger(graph._nodes_by_name[node.name]):
            has_any = True
            node.attrs = {**node.attrs, effects.LOADED_ATTR: True}
    return has_any


def is_stranger(op: Operation) -> bool:
    """Return whether an operation is from a file, and the user's nodes do not supply its paths."""
    if not is_loaded(op):
        return False
    if op in op.graph.derived_operations:
        return True
    sources = [effect.source for effect in op.op_definition.effects]
    ranges = op.op_definition.op_def.input_ranges(op.attrs)
    if not all(source in ranges for source in sources):
        return True
    paths = [
        tensor
        for source in sources
        for tensor in op.inputs[ranges[source].start : ranges[source].stop]
    ]
    return any(is_loaded(found) for found in _ancestors(paths))


def _ancestors(tensors: list[Tensor]) -> Iterator[Operation]:
    waiting, seen = [tensor.op for tensor in tensors], set()
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            yield op
            waiting += [tensor.op for tensor in op.inputs]


@record(frozen=True, slots=True)
class NodeEffect:
    """One effect of one node outside the graph.

    Attributes:
      node: the node's name; ``function/node`` inside a function.
      op: the node's op.
      kind: ``read``, ``write``, ``python`` or ``network``.
      path: the file, if the graph contains its path; None if the path is computed or fed.
      is_loaded: whether the node came from a file.
    """

    node: str
    op: str
    kind: str
    path: str | None
    is_loaded: bool


_NO_PATHS: list[Any] = []


def effects_of(graph: Graph) -> list[NodeEffect]:
    """Return the effects that the nodes of a graph may have, in graph order, without running."""
    found = []
    for op in graph.get_operations():
        for effect in op.op_definition.effects:
            paths = _known_paths(op, effect)
            if paths is _NO_PATHS or (
                paths == [""] and Trait.PATH_OPTIONAL in op.op_definition.traits
            ):
                continue
            found += [
                NodeEffect(op.name, op.type, effect.kind, path, is_loaded(op))
                for path in paths or [None]
            ]
    for name, function in graph._functions.items():
        for node in function.definition.node_def:
            definition: OpDefinition | None = op_registry.find(node.op)
            where = f"{name}/{node.name}"
            found += [
                NodeEffect(where, node.op, effect.kind, None, function.is_loaded)
                for effect in (definition.effects if definition is not None else ())
            ]
    return found


def _known_paths(op: Operation, effect: effects.Effect) -> list[Any]:
    """Return the paths that the graph contains; _NO_PATHS if there is no effect after all."""
    if not effect.source:
        return []
    definition = op.op_definition.op_def
    ranges = definition.input_ranges(op.attrs)
    if effect.source in ranges:
        inputs = op.inputs[ranges[effect.source].start : ranges[effect.source].stop]
        texts = [text for tensor in inputs for text in _standing_texts(tensor)]
    else:
        value = op.get_attr(effect.source)
        texts = [value] if isinstance(value, bytes) else []
    paths = [text.decode("utf-8", "surrogateescape") for text in texts]
    kept = [path for path in paths if path.startswith(effect.scheme)]
    return kept if kept or not paths else _NO_PATHS


def _standing_texts(tensor: Tensor) -> list[Any]:
    """Return the strings of a constant, without preventing that the tensor is fed."""
    while tensor.op.type in ("Identity", "PlaceholderWithDefault"):
        tensor = tensor.op.inputs[0]
    if tensor.op.type != "Const" or tensor.dtype is not dtypes.string:
        return []
    values: list[Any] = list(make_ndarray(tensor.op.get_attr("value")).reshape(-1))
    return values
