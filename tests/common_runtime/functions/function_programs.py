"""Small programs of nested branches, loops and calls, as graphs of functions and in Python.

A program is a list of statements over two numbers ``a`` and ``b`` and a variable. Every statement
waits for the one before it. A list within a statement becomes a function ``(handle, a, b) -> (a,
b)`` without control results, so that only the runtime can order its effects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.core import dtypes, tensor_util
from tfnb.core.attr_value import NameAttrList, encode_attr
from tfnb.core.op_registry import find
from tfnb.proto import graph_pb2

INT, BOOL, RESOURCE = dtypes.int32, dtypes.bool, dtypes.resource
_STATE = [RESOURCE, INT, INT]
_LOOP_STATE = [INT, *_STATE]


def evaluate(program: list[Any], a: int, b: int, variable: list[int]) -> tuple[int, int]:
    """Return the result of a program; ``variable`` holds its one value and is changed."""
    for kind, *rest in program:
        if kind == "add":
            a, b = _wrap(a + b), _wrap(b + rest[0])
        elif kind == "swap":
            a, b = b, a
        elif kind == "effect":
            variable[0] = _wrap(variable[0] * 3 + a)
        elif kind == "read":
            a = _wrap(a + variable[0])
        elif kind == "if":
            a, b = evaluate(rest[0] if a > b else rest[1], a, b, variable)
        elif kind == "case":
            index = a if 0 <= a < len(rest[0]) else len(rest[0]) - 1
            a, b = evaluate(rest[0][index], a, b, variable)
        elif kind == "while":
            for _ in range(rest[0]):
                a, b = evaluate(rest[1], a, b, variable)
        else:
            a, b = evaluate(rest[0], a, b, variable)
    return a, b


def _wrap(value: int) -> int:
    return int(np.int64(value).astype(np.int32))


def graph_of(program: list[Any], *, lower: bool) -> graph_pb2.GraphDef:
    """Return a graph from ``a`` and ``b`` to ``a_out`` and ``b_out``.

    ``init`` sets the variable to 0, ``value`` reads it.

    Args:
      program: its statements become the graph's nodes.
      lower: whether branches and loops are marked for lowering.
    """
    graph = graph_pb2.GraphDef()
    graph.versions.producer, graph.versions.min_consumer = 27, 12
    top = _Writer(graph, graph.node, lower, in_function=False)
    handle = top.node("v", "VarHandleOp", [], dtype=INT, shape=_shape(), shared_name=b"v")
    top.node("init", "AssignVariableOp", [handle[0], top.number("zero", 0)], dtype=INT)
    top.node("value", "ReadVariableOp", [handle[0]], dtype=INT)
    a = top.node("a", "Placeholder", [], dtype=INT)[0]
    b = top.node("b", "Placeholder", [], dtype=INT)[0]
    a, b = top.write(program, handle[0], a, b)
    top.node("a_out", "Identity", [a], T=INT)
    top.node("b_out", "Identity", [b], T=INT)
    return graph


def _shape() -> Any:
    from tfnb.core.tensor_shape import TensorShape

    return TensorShape([])


class _Writer:
    """Writes statements as nodes of a graph or of a function's body."""

    def __init__(self, graph: Any, nodes: Any, lower: bool, *, in_function: bool) -> None:
        self.graph = graph
        self.nodes = nodes
        self.lower = lower
        self.in_function = in_function
        self.count = 0
        self.last = ""  # what the next statement waits for

    def new_name(self, word: str) -> str:
        """Return a name that this writer has not used."""
        self.count += 1
        return f"{word}{self.count}"

    def node(self, name: str, op: str, inputs: list[str], **attrs: Any) -> list[str]:
        """Add a node; return the names of its outputs."""
        node_def = self.nodes.add(name=name, op=op, input=inputs)
        if self.last:
            node_def.input.append(f"^{self.last}")
        definition = find(op)
        assert definition is not None
        known = definition.op_def.attr_by_name
        for key, value in attrs.items():
            kind = known[key].type if key in known else None
            node_def.attr[key].CopyFrom(encode_attr(value, kind))
        return self._outputs(name, definition.op_def.output_ranges(attrs))

    def _outputs(self, name: str, ranges: Any) -> list[str]:
        if not self.in_function:
            count = max((span.stop for span in ranges.values()), default=0)
            return [f"{name}:{index}" for index in range(count)]
        return [
            f"{name}:{arg}:{position}"
            for arg, span in ranges.items()
            for position in range(len(span))
        ]

    def number(self, name: str, value: int) -> str:
        """A constant."""
        output = self.node(name, "Const", [], dtype=INT)[0]
        proto = tensor_util.make_tensor_proto(np.int32(value), INT)
        self.nodes[-1].attr["value"].tensor.CopyFrom(proto)
        return output

    def binary(self, op: str, x: str, y: str) -> str:
        """A node with two inputs."""
        return self.node(self.new_name(op.lower()), op, [x, y], T=INT)[0]

    def write(self, program: list[Any], handle: str, a: str, b: str) -> tuple[str, str]:
        """Add the nodes of statements; return the names of the two numbers behind them."""
        for kind, *rest in program:
            if kind == "swap":
                a, b = b, a
                continue
            if kind == "add":
                more = self.number(self.new_name("more"), rest[0])
                a, b = self.binary("AddV2", a, b), self.binary("AddV2", b, more)
            elif kind == "effect":
                old = self.node(self.new_name("old"), "ReadVariableOp", [handle], dtype=INT)[0]
                three = self.number(self.new_name("three"), 3)
                new = self.binary("AddV2", self.binary("Mul", old, three), a)
                name = self.new_name("assign")
                self.node(name, "AssignVariableOp", [handle, new], dtype=INT)
                self.last = name
                continue
            elif kind == "read":
                read = self.node(self.new_name("read"), "ReadVariableOp", [handle], dtype=INT)[0]
                a = self.binary("AddV2", a, read)
            else:
                a, b = self._call(kind, rest, handle, a, b)
            self.last = self.nodes[-1].name
        return a, b

    def _call(self, kind: str, rest: list[Any], handle: str, a: str, b: str) -> tuple[str, str]:
        name, state = self.new_name(kind), [handle, a, b]
        types = {"Tin": _STATE, "Tout": [INT, INT]}
        marked = {"_lower_using_switch_merge": self.lower}
        if kind == "if":
            more = self.node(self.new_name("more"), "Greater", [a, b], T=INT)[0]
            branches = {
                "then_branch": self.function(rest[0]),
                "else_branch": self.function(rest[1]),
            }
            outputs = self.node(
                name, "If", [more, *state], Tcond=BOOL, **types, **branches, **marked
            )
        elif kind == "case":
            functions = [self.function(branch) for branch in rest[0]]
            outputs = self.node(name, "Case", [a, *state], branches=functions, **types, **marked)
        elif kind == "while":
            outputs = self.node(
                name,
                "While",
                [self.number(self.new_name("rounds"), rest[0]), *state],
                T=_LOOP_STATE,
                cond=self.condition(),
                body=self.function(rest[1], is_loop=True),
                **marked,
            )[2:]
        elif kind == "partitioned":
            f = self.function(rest[0])
            outputs = self.node(name, "StatefulPartitionedCall", state, f=f, **types)
        else:
            called = self.function(rest[0]).name
            node_def = self.nodes.add(name=name, op=called, input=state)
            if self.last:
                node_def.input.append(f"^{self.last}")
            outputs = [f"{name}:{i}" if not self.in_function else f"{name}:y{i}:0" for i in (0, 1)]
        return outputs[0], outputs[1]

    def _begin(self, word: str, args: list[Any]) -> tuple[Any, _Writer, list[str]]:
        function = graph_pb2.FunctionDef()
        function.signature.name = f"{word}{len(self.graph.library.function)}"
        function.signature.is_stateful = True
        names = [f"x{index}" for index in range(len(args))]
        for name, dtype in zip(names, args, strict=True):
            function.signature.input_arg.add(name=name, type=dtype.as_datatype_enum)
        writer = _Writer(self.graph, function.node_def, self.lower, in_function=True)
        return function, writer, names

    def _end(self, function: Any, results: list[tuple[str, Any]]) -> NameAttrList:
        for index, (source, dtype) in enumerate(results):
            function.signature.output_arg.add(name=f"y{index}", type=dtype.as_datatype_enum)
            function.ret[f"y{index}"] = source
        # Nested functions have taken names meanwhile.
        function.signature.name += f"of{len(self.graph.library.function)}"
        self.graph.library.function.append(function)
        return NameAttrList(function.signature.name, {})

    def function(self, program: list[Any], *, is_loop: bool = False) -> NameAttrList:
        """Add a function of the statements; a loop's body decrements its first argument."""
        function, writer, names = self._begin("F", _LOOP_STATE if is_loop else _STATE)
        results: list[tuple[str, Any]] = []
        if is_loop:
            one = writer.number("one", 1)
            results = [(writer.binary("Sub", names[0], one), INT), (names[1], RESOURCE)]
        a, b = writer.write(program, *names[-3:])
        return self._end(function, [*results, (a, INT), (b, INT)])

    def condition(self) -> NameAttrList:
        """Add a function that returns whether iterations are left."""
        function, writer, names = self._begin("Cond", _LOOP_STATE)
        zero = writer.number("zero", 0)
        more = writer.node("more", "Greater", [names[0], zero], T=INT)[0]
        return self._end(function, [(more, BOOL)])
