"""Bodies of functions in a picture: a call is a scope that opens, with the function's nodes inside.

A body is built for the shapes of the call's arguments, as static shape inference does, and never
run.  Data flows from the call's inputs to the body's ``_Arg`` nodes and from its ``_Retval`` nodes
to the call, which stands inside the scope of its name.  Calls in bodies open as well.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.core.attr_value import NameAttrList
from tfnb.core.errors import OpError
from tfnb.framework.function_shapes import FunctionDefGraph, call_key, function_body
from tfnb.graph.node_kind import PARTITIONED_CALLS
from tfnb.notebook.scenes.graph_scene import describe_operation, tensor_shape_text
from tfnb.notebook.scenes.scene import CONTROL, SceneNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tfnb.core.step_events import PlacementView
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor

# Functions that call functions enlarge the picture with every level.
MAX_NODES = 20_000
MAX_DEPTH = 16
_CALLS = PARTITIONED_CALLS | {"RemoteCall"}
_BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
_LOOPS = frozenset({"While", "StatelessWhile"})


@dataclass(frozen=True, slots=True)
class _Called:
    """A function that a node calls.

    Attributes:
      scope: the scope of its nodes within the scope of the call; "" for directly in it.
      first_input: the index of its first argument among the call's inputs; -1 if arguments come
        from elsewhere, for example elements of a dataset.
    """

    scope: str
    name: str
    attrs: Mapping[str, Any]
    first_input: int


@dataclass(frozen=True, slots=True)
class _Call:
    """A node that may call functions, with its place in the description."""

    place: int
    op: Operation
    chain: tuple[str, ...]  # the functions around it


def with_bodies(
    nodes: Sequence[SceneNode], graph: Graph, placements: Mapping[str, PlacementView] | None = None
) -> list[SceneNode]:
    """Add the bodies of the functions that described nodes call, level by level.

    Args:
      nodes: the descriptions of the graph's operations, with their names.
      graph: the graph, whose library has the functions.
      placements: where sessions put nodes, by name; there inlined bodies have names of their own.
    """
    found = list(nodes)
    if not graph._functions:
        return found
    by_name = {op.name: op for op in graph.get_operations()}
    calls = deque(
        _Call(place, by_name[node.name], ())
        for place, node in enumerate(nodes)
        if node.name in by_name
    )
    maker = _Maker(found, calls, placements or {})
    while calls:
        maker.expand(calls.popleft(), limit=len(nodes) + MAX_NODES)
    return found


def _functions_of(op: Operation) -> Iterator[_Called]:
    library = op.graph._functions
    if op.type in library:
        yield _Called("", op.type, op.attrs, 0)
        return
    of_attrs = [
        (label, value)
        for name, attr in op.attrs.items()
        for label, value in _function_values(name, attr)
        if value.name in library
    ]
    first = 0 if op.type in _CALLS | _LOOPS else 1 if op.type in _BRANCHES else -1
    if op.type == "RemoteCall":
        first = 1
    for label, value in of_attrs:
        yield _Called(label if len(of_attrs) > 1 else "", value.name, value.attrs, first)


def _function_values(name: str, attr: Any) -> Iterator[tuple[str, NameAttrList]]:
    if isinstance(attr, NameAttrList):
        yield name, attr
    elif isinstance(attr, list | tuple):
        for number, value in enumerate(attr):
            if isinstance(value, NameAttrList):
                yield f"{name}_{number}", value


class _Maker:
    """Appends bodies to a description, and their calls to those still to expand."""

    def __init__(
        self,
        found: list[SceneNode],
        calls: deque[_Call],
        placements: Mapping[str, PlacementView],
    ) -> None:
        self._found = found
        self._calls = calls
        self._placements = placements
        self._bodies: dict[Any, FunctionDefGraph | None] = {}  # by function, attrs, argument form

    def expand(self, call: _Call, *, limit: int) -> None:
        """Add the functions that a node calls, unless the description would become too long."""
        found = self._found
        caller = found[call.place]
        returned: list[tuple[int, int]] = []
        for called in _functions_of(call.op):
            if called.name in call.chain or len(call.chain) >= MAX_DEPTH:
                continue
            body = self._body_of(call.op, called)
            if body is None or len(found) + len(body.operations) > limit:
                continue
            prefix = f"{caller.name}/{called.scope}/" if called.scope else f"{caller.name}/"
            data = [pair for pair in caller.inputs if pair[1] != CONTROL]
            given = data[called.first_input :] if called.first_input >= 0 else []
            returned += self._add(body, prefix, given, (*call.chain, called.name))
        if returned:
            control = [pair for pair in caller.inputs if pair[1] == CONTROL]
            found[call.place] = caller._replace(inputs=(*returned, *control))

    def _body_of(self, op: Operation, called: _Called) -> FunctionDefGraph | None:
        """Return the body, or None if it cannot be built: then the call stays a box."""
        inputs: Sequence[Tensor] | None = None
        if called.first_input >= 0:
            inputs = op.inputs[called.first_input :]
        key = call_key(called.name, called.attrs, inputs)
        if key not in self._bodies:
            try:
                self._bodies[key] = function_body(op.graph, called.name, called.attrs, inputs)
            except (OpError, ValueError, TypeError, KeyError, RecursionError):
                self._bodies[key] = None
        return self._bodies[key]

    def _add(
        self,
        body: FunctionDefGraph,
        prefix: str,
        given: Sequence[tuple[int, int]],
        chain: tuple[str, ...],
    ) -> list[tuple[int, int]]:
        """Append one body; return its results."""
        found = self._found
        place_of: dict[Operation, int] = {}
        for number, argument in enumerate(body.arguments):
            place_of[argument.op] = len(found)
            outputs = ((argument.dtype.name, tensor_shape_text(argument)),)
            inputs = tuple(given[number : number + 1])
            found.append(SceneNode(prefix + argument.op.name, "_Arg", inputs, outputs=outputs))
        place_of.update((op, len(found) + i) for i, op in enumerate(body.operations))
        for op in body.operations:
            data = [(place_of[t.op], t.value_index) for t in op.inputs if t.op in place_of]
            control = [(place_of[c], CONTROL) for c in op.control_inputs if c in place_of]
            name = prefix + op.name
            self._calls.append(_Call(len(found), op, chain))
            described = describe_operation(op, (*data, *control), self._placements.get(name))
            found.append(described._replace(name=name))
        returned = []
        for name, tensor in body.results:
            returned.append((len(found), 0))
            source = ((place_of[tensor.op], tensor.value_index),)
            found.append(SceneNode(f"{prefix}{name}_RetVal", "_Retval", source))
        return returned
