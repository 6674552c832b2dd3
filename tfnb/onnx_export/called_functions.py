"""Calls that the runtime makes as one node, written as plain nodes: For and SymbolicGradient.

For becomes a frame of Enter, Merge, Switch and so on around a call of its body. SymbolicGradient
becomes the graph of the gradient, or a call of the gradient function that its function declares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, op_registry
from tfnb.core.attr_value import decode_attr
from tfnb.graph.function_body import instantiate
from tfnb.graph.function_library import FunctionLibraryDefinition
from tfnb.graph.graph_constructor import graph_to_graph_def
from tfnb.ops.control.function_gradients import gradient_of_op
from tfnb.ops.control.symbolic_gradient import gradient_graph
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_ROUNDS = 100


def write_calls_out(graph_def: Any) -> None:
    """Replace the nodes of a graph that call functions as one node; its functions stay.

    An IdentityN of the node's name has its outputs.
    """
    for _ in range(_MOST_ROUNDS):
        nodes = list(graph_def.node)
        if not any(node.op in _WRITERS for node in nodes):
            return
        names = {node.name for node in nodes}
        found = graph_pb2.GraphDef()
        for node in nodes:
            if node.op not in _WRITERS:
                found.node.add().CopyFrom(node)
                continue
            prefix = f"{node.name}/plain"
            while any(name.startswith(prefix) for name in names):
                prefix += "_"
            made = _Writing(found, node, prefix)
            _WRITERS[node.op](made, graph_def.library)
            whole = found.node.add(name=node.name, op="IdentityN", input=made.results)
            types = node.attr["Tout" if node.op == "SymbolicGradient" else "T"].list.type
            whole.attr["T"].list.type.extend(types)
        del graph_def.node[:]
        graph_def.node.extend(found.node)


class _Writing:
    """The replacement of one node.

    Attributes:
      node: the node.
      prefix: what the names of the new nodes begin with.
      results: the tensors that replace its outputs.
    """

    def __init__(self, graph_def: Any, node: Any, prefix: str) -> None:
        self.node, self.prefix = node, prefix
        self.results: list[str] = []
        self._graph_def = graph_def
        self._inputs = [text for text in node.input if text[:1] != "^"]
        self._controls = [text for text in node.input if text[:1] == "^"]

    def input(self, number: int) -> str:
        """Return an input of the node."""
        found: str = self._inputs[number]
        return found

    def inputs_from(self, number: int) -> list[str]:
        """Return the inputs from one on."""
        return self._inputs[number:]

    def add(self, what: str, op: str, *inputs: str, **types: int) -> str:
        """Add a node; its attributes are types."""
        name: str = f"{self.prefix}/{what}"
        made = self._graph_def.node.add(name=name, op=op, input=inputs)
        for key, value in types.items():
            made.attr[key].type = value
        return name

    def last(self) -> Any:
        """Return the node that was added last."""
        return self._graph_def.node[-1]

    def copy(self, node: Any, inputs: list[str]) -> None:
        """Add a copy of a node of another graph."""
        made = self._graph_def.node.add()
        made.CopyFrom(node)
        made.name = f"{self.prefix}/{node.name}"
        del made.input[:]
        made.input.extend(inputs)

    def call(self, what: str, function: Any, inputs: list[str]) -> str:
        """Add a call of a function."""
        name: str = f"{self.prefix}/{what}"
        made = self._graph_def.node.add(name=name, op=function.name, input=inputs)
        for key, value in function.attr.items():
            made.attr[key].CopyFrom(value)
        return name

    def end_frame(self) -> None:
        """Give the control inputs of the node to the node that was added last."""
        self.last().input.extend(self._controls)


def _write_for(made: _Writing, library: Any) -> None:
    """Write a frame: while (limit - i) * delta > 0, call the body and add delta to i."""
    assert library is not None
    node, number = made.node, dtypes.int32.as_datatype_enum
    types = [number, *node.attr["T"].list.type]
    frame = f"{made.prefix}/frame".encode()

    def enter(what: str, value: str, kind: int, constant: bool) -> str:
        name = made.add(what, "Enter", value, T=kind)
        attrs = made.last().attr
        attrs["frame_name"].s = frame
        attrs["is_constant"].b = constant
        attrs["parallel_iterations"].i = 10
        made.end_frame()
        return name

    limit = enter("limit", made.input(1), number, True)
    delta = enter("delta", made.input(2), number, True)
    zero_value = made.add("zero", "Sub", made.input(2), made.input(2), T=number)
    zero = enter("zero_enter", zero_value, number, True)
    first = [made.input(0), *made.inputs_from(3)]
    merges = []
    for place, (value, kind) in enumerate(zip(first, types)):
        entered = enter(f"enter_{place}", value, kind, False)
        following = f"{made.prefix}/next_{place}"
        merge = made.add(f"merge_{place}", "Merge", entered, following, T=kind)
        made.last().attr["N"].i = 2
        merges.append(merge)
    left = made.add("left", "Sub", limit, merges[0], T=number)
    ahead = made.add("ahead", "Mul", left, delta, T=number)
    goes_on = made.add("goes_on", "Greater", ahead, zero, T=number)
    predicate = made.add("cond", "LoopCond", goes_on)
    switches = [
        made.add(f"switch_{place}", "Switch", merge, predicate, T=kind)
        for place, (merge, kind) in enumerate(zip(merges, types))
    ]
    # The body's nodes without inputs wait for it, so that they run in the frame.
    pivot = made.add("pivot", "Identity", f"{switches[0]}:1", T=number)
    inside = [*(f"{one}:1" for one in switches), f"^{pivot}"]
    call = made.call("body", node.attr["body"].func, inside)
    moved = made.add("add", "Add", f"{switches[0]}:1", delta, T=number)
    for place, kind in enumerate(types):
        value = f"{call}:{place - 1}" if place else moved
        made.add(f"next_{place}", "NextIteration", value, T=kind)
        leave = made.add(f"exit_{place}", "Exit", switches[place], T=kind)
        if place:
            made.results.append(leave)


def _write_gradient(made: _Writing, library: Any) -> None:
    """Write the gradient of a function or an op."""
    node = made.node
    function = node.attr["f"].func
    inputs = made.inputs_from(0)
    known = FunctionLibraryDefinition(library)
    declared = known.find_gradient(function.name)
    if declared:
        function.name = declared
        call = made.call("gradient", function, inputs)
        made.results += [f"{call}:{n}" for n in range(len(node.attr["Tout"].list.type))]
        return
    attrs: Any = decode_attr(node.attr["f"])
    definition = known.find(function.name)
    if definition is None:
        body = gradient_of_op(function.name, attrs.attrs)
    else:
        graph = instantiate(definition, attrs.attrs, known).graph
        body = gradient_graph(graph_to_graph_def(graph), lambda name: _signature(known, name))
    _write_body(made, body, inputs)


def _signature(library: FunctionLibraryDefinition, name: str) -> Any:
    found = library.find(name)
    return (op_registry.get(name) if found is None else found).op_def


def _write_body(made: _Writing, body: Any, inputs: list[str]) -> None:
    """Write the nodes of a graph whose arguments are tensors around it."""
    arguments = {node.name: inputs[node.attr["index"].i] for node in body.node if node.op == "_Arg"}

    def outside(text: str) -> str:
        if text[:1] == "^":
            return f"^{made.prefix}/{text[1:]}"
        name = text.partition(":")[0]
        found: str = arguments.get(name, f"{made.prefix}/{text}")
        return found

    returned: dict[int, str] = {}
    for node in body.node:
        if node.op == "_Retval":
            returned[node.attr["index"].i] = outside(node.input[0])
        elif node.op != "_Arg":
            given = [text for text in node.input if text[:1] != "^" or text[1:] not in arguments]
            made.copy(node, [outside(text) for text in given])
    made.results += [returned[number] for number in sorted(returned)]


_WRITERS: dict[str, Callable[[_Writing, Any], None]] = {
    "For": _write_for,
    "SymbolicGradient": _write_gradient,
}
