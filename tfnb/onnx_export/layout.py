"""Moves transposes behind the nodes that do not need them, until pairs of them meet and vanish.

Convolutions take NCHW, TensorFlow's graphs are mostly NHWC: each is written between two transposes.
A value behind a transpose is remembered as (source, order of axes). Nodes that work element by
element, join, pad or reduce are rewritten for the source; others get the transposed value, which is
made once. Nodes that nothing reads are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.onnx_export.writing.onnx_nodes import Body, OnnxGraph, OnnxNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.onnx_export.writing.onnx_nodes import Names

type_of_order = tuple[int, ...]

_UNARY = frozenset(
    (
        *("Relu", "LeakyRelu", "Elu", "Selu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Neg"),
        *("Abs", "Reciprocal", "Floor", "Ceil", "Round", "Erf", "Softplus", "Softsign", "Cast"),
        *("Identity", "Sign", "Sin", "Cos", "Not", "HardSigmoid", "IsNaN"),
    )
)
_ELEMENTWISE = frozenset(
    (
        *("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Where", "And", "Or", "Equal"),
        *("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Clip", "PRelu", "Sum"),
    )
)
_REDUCTIONS = frozenset(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"])


def remove_transposes(graph: OnnxGraph, names: Names) -> None:
    """Rewrite a graph and its bodies."""
    _Layout(graph, names).rewrite(graph.body)
    drop_unread(graph)


def drop_unread(graph: OnnxGraph) -> None:
    """Remove nodes and constants that nothing reads."""
    _drop(graph.body, set())
    read = graph.body.reads()
    for name in [name for name in graph.initializers if name not in read]:
        del graph.initializers[name]


def _drop(body: Body, more: set[str]) -> None:
    wanted = more | set(body.outputs)
    kept = []
    for node in reversed(body.nodes):
        if not wanted.intersection(node.outputs):
            continue
        kept.append(node)
        wanted.update(node.inputs)
        for inner in node.bodies():
            _drop(inner, set())
            wanted |= inner.reads()
    body.nodes = kept[::-1]


class _Layout:
    """The rewriting of one body."""

    def __init__(self, graph: OnnxGraph, names: Names) -> None:
        self._graph, self._names = graph, names
        self._known: dict[str, tuple[str, type_of_order]] = {}
        self._made: dict[tuple[str, type_of_order], str] = {}
        self._same: dict[str, str] = {}
        self._nodes: list[OnnxNode] = []

    def rewrite(self, body: Body) -> None:
        """Rewrite a body and those in it."""
        for node in body.nodes:
            for inner in node.bodies():
                for name in sorted(inner.reads()):
                    if name in self._known:
                        self._same[name] = self._plain(name)
            node.inputs = [self._same.get(name, name) for name in node.inputs]
            if not self._try(node):
                node.inputs = [self._plain(name) for name in node.inputs]
                self._nodes.append(node)
            for inner in node.bodies():
                _rename(inner, self._same)
                _Layout(self._graph, self._names).rewrite(inner)
        body.nodes = self._nodes
        made = {name for node in self._nodes for name in node.outputs}
        taken: set[str] = set()
        kinds = self._graph.kinds
        for number, old in enumerate(body.outputs):
            name = self._plain(self._same.get(old, old))
            made.update(self._nodes[-1].outputs if self._nodes else ())
            if name not in made or name in taken:
                fresh = self._names.new(old)
                self._nodes.append(OnnxNode("Identity", [name], [fresh]))
                name = fresh
            if old in kinds:
                kinds[name] = kinds[old]
            taken.add(name)
            body.outputs[number] = name

    def _plain(self, name: str) -> str:
        """Return the value itself, transposed where it is known as a transpose only."""
        found = self._known.get(name)
        if found is None:
            return name
        if found not in self._made:
            source, order = found
            self._nodes.append(OnnxNode("Transpose", [source], [name], {"perm": list(order)}))
            self._made[found] = name
        return self._made[found]

    def _try(self, node: OnnxNode) -> bool:
        if node.op == "Transpose":
            return self._transpose(node)
        if not any(name in self._known for name in node.inputs):
            return False
        rule: Callable[[OnnxNode], bool] | None = None
        if node.op in _UNARY:
            rule = self._unary
        elif node.op in _ELEMENTWISE:
            rule = self._elementwise
        elif node.op == "Concat":
            rule = self._concat
        elif node.op == "Pad":
            rule = self._pad
        elif node.op in _REDUCTIONS:
            rule = self._reduction
        return rule is not None and rule(node)

    def _transpose(self, node: OnnxNode) -> bool:
        [name], order = node.inputs, tuple(node.attrs["perm"])
        source, before = self._known.get(name, (name, tuple(range(len(order)))))
        if len(before) != len(order):
            return False
        together = tuple(before[axis] for axis in order)
        if together == tuple(range(len(order))):
            self._same[node.outputs[0]] = source
        else:
            self._known[node.outputs[0]] = (source, together)
        return True

    def _emit(self, node: OnnxNode, inputs: list[str], order: type_of_order, **attrs: Any) -> bool:
        """Add a node that works on sources; its output is known as their transpose."""
        output = self._names.new(f"{node.outputs[0]}:source")
        self._nodes.append(OnnxNode(node.op, inputs, [output], node.attrs | attrs, node.origin))
        self._known[node.outputs[0]] = (output, order)
        return True

    def _unary(self, node: OnnxNode) -> bool:
        source, order = self._known[node.inputs[0]]
        return self._emit(node, [source, *node.inputs[1:]], order)

    def _elementwise(self, node: OnnxNode) -> bool:
        orders = {self._known[name][1] for name in node.inputs if name in self._known}
        if len(orders) != 1:
            return False
        [order] = orders
        inputs = []
        for name in node.inputs:
            if name in self._known:
                inputs.append(self._known[name][0])
                continue
            value = self._graph.initializers.get(name)
            if name == "":
                inputs.append(name)
                continue
            if value is None or value.ndim > len(order):
                return False
            inputs.append(self._constant(name, value, order))
        return self._emit(node, inputs, order)

    def _constant(self, name: str, value: np.ndarray[Any, Any], order: type_of_order) -> str:
        """Return a constant whose axes fit the source."""
        if value.size == 1 and value.ndim == 0:
            return name
        found = self._made.get((name, order))
        if found is None:
            whole = value.reshape((1,) * (len(order) - value.ndim) + value.shape)
            found = self._names.new(f"{name}:source")
            turned = np.ascontiguousarray(whole.transpose(_inverse(order)))
            self._graph.initializers[found] = turned
            self._made[name, order] = found
        return found

    def _concat(self, node: OnnxNode) -> bool:
        if any(name not in self._known for name in node.inputs):
            return False
        orders = {self._known[name][1] for name in node.inputs}
        if len(orders) != 1:
            return False
        [order] = orders
        axis = order[node.attrs["axis"]]
        return self._emit(node, [self._known[n][0] for n in node.inputs], order, axis=axis)

    def _pad(self, node: OnnxNode) -> bool:
        source, order = self._known.get(node.inputs[0], ("", ()))
        pads = self._graph.initializers.get(node.inputs[1])
        if not source or pads is None or len(node.inputs) > 3:
            return False
        turned = pads.reshape(2, -1)[:, list(_inverse(order))].reshape(-1)
        name = self._names.new(f"{node.inputs[1]}:source")
        self._graph.initializers[name] = turned
        return self._emit(node, [source, name, *node.inputs[2:]], order)

    def _reduction(self, node: OnnxNode) -> bool:
        if node.inputs[0] not in self._known:
            return False
        source, order = self._known[node.inputs[0]]
        given = node.attrs.get("axes")
        if given is None:
            found = self._graph.initializers.get(node.inputs[1]) if len(node.inputs) > 1 else None
            if found is None or not found.size:
                return False
            given = found.tolist()
        axes = [axis % len(order) for axis in given]
        turned = [order[axis] for axis in axes]
        inputs, attrs = [source], {}
        if "axes" in node.attrs:
            attrs["axes"] = turned
        else:
            name = self._names.new(f"{node.inputs[1]}:source")
            self._graph.initializers[name] = np.asarray(turned, np.int64)
            inputs.append(name)
        if node.attrs.get("keepdims", 1):
            return self._emit(node, inputs, order, **attrs)
        left = [axis for axis in order if axis not in turned]
        if left == sorted(left):
            self._nodes.append(
                OnnxNode(node.op, inputs, node.outputs, node.attrs | attrs, node.origin)
            )
            return True
        ranks = {axis: number for number, axis in enumerate(sorted(left))}
        return self._emit(node, inputs, tuple(ranks[axis] for axis in left), **attrs)


def _inverse(order: type_of_order) -> type_of_order:
    return tuple(int(axis) for axis in np.argsort(order))


def _rename(body: Body, same: dict[str, str]) -> None:
    """Give other names to values that a body reads from around it."""
    if not same:
        return
    for node in body.nodes:
        node.inputs = [same.get(name, name) for name in node.inputs]
        for inner in node.bodies():
            _rename(inner, same)
    body.outputs = [same.get(name, name) for name in body.outputs]
