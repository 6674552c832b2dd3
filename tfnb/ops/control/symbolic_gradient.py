"""SymbolicGradient: the gradient of a function of the graph's library, or of an op, in one node.

Its inputs are the function's arguments and the gradients of its results; its outputs are the
gradients of the arguments.  If the function has a gradient function, the op calls that one. For any
other function, the body is extended backwards by a SymbolicGradient of each of its ops, for which
:mod:`function_gradients` has small functions. This graph is built when the node runs first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.attr_value import decode_attr, decode_attrs
from tfnb.core.node_text import type_word
from tfnb.core.op_kernel import FunctionCall
from tfnb.ops.control.function_gradients import NO_GRADIENT, gradient_of_op
from tfnb.proto import attr_value_pb2, graph_pb2, types_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr
    from tfnb.core.op_def import OpDef
    from tfnb.core.op_kernel import OpKernelContext

    type_of_tensor = tuple[str, int]


def compute(
    ctx: OpKernelContext, inputs: Sequence[Array], f: NameAttrList, types: Sequence[DType]
) -> Generator[FunctionCall, list[Array], tuple[Array, ...]]:
    """Run the gradient of ``f``, a function or an op; the kernel of SymbolicGradient.

    Raises:
      InvalidArgumentError: ``types`` do not match the gradient's arguments.
    """
    library = ctx.function_library
    declared = library.gradient_function(f.name)
    if declared:
        results = yield FunctionCall(declared, f.attrs, inputs)
        return tuple(results)
    attrs = sorted((name, repr(value)) for name, value in f.attrs.items())
    results = yield FunctionCall(
        f"SymbolicGradient({f.name}, {attrs}, {types})",
        f.attrs,
        inputs,
        lambda: _checked(_gradient(library, f), types),
    )
    return tuple(results)


def _checked(graph_def: graph_pb2.GraphDef, types: Sequence[DType]) -> graph_pb2.GraphDef:
    """Check the dtypes of a gradient's arguments, up to the shorter of the two lists."""
    for node, given in zip(_by_index(graph_def, "_Arg"), types, strict=False):
        wanted = decode_attr(node.attr["T"])
        if wanted != given.base_dtype:
            raise errors.invalid_argument(
                f"Expects arg[{node.attr['index'].i}] to be {type_word(wanted)} but "
                f"{type_word(given)} is provided"
            )
    return graph_def


def _gradient(library: Array, f: NameAttrList) -> graph_pb2.GraphDef:
    """Return the graph that computes the gradient of a function or an op."""
    if not library.has_function(f.name):
        return gradient_of_op(f.name, f.attrs)
    body: graph_pb2.GraphDef = library.body_graph_def(f.name, f.attrs)
    if library.expands_gradients:
        _expand_gradients(library, body)
    return gradient_graph(body, library.signature)


def _expand_gradients(library: Array, body: graph_pb2.GraphDef) -> None:
    """Replace the SymbolicGradients of a body by the graphs they run, down to plain ops.

    A SymbolicGradient has no derivative of its own, but the graph that it runs has one.
    """
    renamed: dict[str, str] = {}
    while any(node.op == "SymbolicGradient" for node in body.node):
        nodes = list(body.node)
        del body.node[:]
        for node in nodes:
            if node.op != "SymbolicGradient":
                body.node.add().CopyFrom(node)
                continue
            inner: NameAttrList = decode_attr(node.attr["f"])
            declared = library.gradient_function(inner.name)
            if declared:
                call = body.node.add(
                    name=node.name, op=declared, input=node.input, device=node.device
                )
                for key, value in node.attr["f"].func.attr.items():
                    call.attr[key].CopyFrom(value)
            else:
                renamed.update(_inline(body, node, _gradient(library, inner)))
    for node in body.node:
        for position, text in enumerate(node.input):
            node.input[position] = _resolved(text, renamed)


def _inline(
    body: graph_pb2.GraphDef, node: graph_pb2.NodeDef, inner: graph_pb2.GraphDef
) -> dict[str, str]:
    """Replace a node by a graph; return the new names of the node's outputs."""
    data = [text for text in node.input if text[:1] != "^"]
    controls = [text for text in node.input if text[:1] == "^"]
    own = {
        one.name: data[one.attr["index"].i] if one.op == "_Arg" else f"{node.name}/{one.name}"
        for one in inner.node
    }
    outputs = {f"^{node.name}": f"^{node.name}"}
    done = body.node.add(name=node.name, op="NoOp", input=controls)
    for one in inner.node:
        if one.op == "_Arg":
            continue
        texts = [_within(text, own) for text in one.input]
        if one.op == "_Retval":
            index = one.attr["index"].i
            outputs[f"{node.name}:{index}" if index else node.name] = texts[0]
            done.input.append(f"^{texts[0].split(':')[0]}")
            continue
        copy = body.node.add()
        copy.CopyFrom(one)
        copy.name = own[one.name]
        del copy.input[:]
        copy.input.extend(texts + controls)
        groups = copy.attr["_class"].list.s if "_class" in copy.attr else []
        for position, group in enumerate(groups):
            fellow = group.decode().removeprefix("loc:@")
            groups[position] = f"loc:@{own.get(fellow, fellow)}".encode()
    return outputs


def _within(text: str, names: dict[str, str]) -> str:
    """Return an input of an inlined graph, spelled as in the graph around it."""
    if text[:1] == "^":
        return f"^{names[text[1:]].split(':')[0].lstrip('^')}"
    name, _, index = text.partition(":")
    found = names[name]
    return f"{found}:{index}" if index and index != "0" else found


def _resolved(text: str, renamed: dict[str, str]) -> str:
    while text in renamed and renamed[text] != text:
        text = renamed[text]
    return text


def gradient_graph(
    body: graph_pb2.GraphDef, signature: Callable[[str], OpDef]
) -> graph_pb2.GraphDef:
    """Return a graph that computes the gradient of a function.

    Args:
      body: the function, with an ``_Arg`` for each argument and a ``_Retval`` for each result.
      signature: returns the signature of an op or a function of the body.

    Returns:
      The graph with an additional ``_Arg`` for the gradient of each result; its ``_Retval`` nodes
      are the gradients of the arguments instead of the results.
    """
    return _Differentiation(body, signature).run()


class _Differentiation:
    """A traversal of a body from its results to its arguments, as in TensorFlow's gradients.cc.

    The gradients of a node's inputs are the results of its op's SymbolicGradient, called with the
    node's inputs and the summed gradients of its outputs. Tensors are (node, output).

    State: ``got`` holds the gradients received by each tensor that the results depend on;
    ``pending`` counts the missing gradients of each node; ``ready`` are nodes without missing ones.
    """

    def __init__(self, body: graph_pb2.GraphDef, signature: Callable[[str], OpDef]) -> None:
        self.graph_def = graph_pb2.GraphDef()
        self.graph_def.CopyFrom(body)
        self.returned = _by_index(body, "_Retval")
        self.arguments = _by_index(body, "_Arg")
        del self.graph_def.node[:]
        self.graph_def.node.extend(node for node in body.node if node.op != "_Retval")
        self.types = {node.name: _types(node, signature) for node in body.node}
        self.inputs = {
            node.name: [_tensor(text) for text in node.input if text[:1] != "^"]
            for node in body.node
        }
        self.nodes = {node.name: node for node in body.node}
        self.got: dict[type_of_tensor, list[type_of_tensor]] = {}
        self.pending: dict[str, int] = {}
        self.ready: deque[str] = deque()
        self.number = 0

    def run(self) -> graph_pb2.GraphDef:
        """Return the graph with its gradient."""
        results = [self.inputs[node.name][0] for node in self.returned]
        self._look_back(results)
        for index, (node, result) in enumerate(zip(self.returned, results, strict=True)):
            dtype = node.attr["T"].type
            argument = self._add("_Arg", [], T=dtype, index=len(self.arguments) + index)
            self._give(argument, result)
        while self.ready:
            name = self.ready.popleft()
            if self.nodes[name].op != "_Arg":
                self._go_through(self.nodes[name])
        found = [self._sum((node.name, 0)) for node in self.arguments]
        for index, (node, grad) in enumerate(zip(self.arguments, found, strict=True)):
            dtype = _gradient_type(node.attr["T"].type)
            self._add("_Retval", [grad], T=dtype, index=index)
        return self.graph_def

    def _look_back(self, results: Sequence[type_of_tensor]) -> None:
        """Find the nodes that the results depend on, and count the gradients each will receive."""
        queue = deque(dict.fromkeys(name for name, _ in results))
        self.pending = dict.fromkeys(queue, 0)
        for name, _ in results:
            self.pending[name] += 1
        while queue:
            name = queue.popleft()
            for output in range(len(self.types[name][1])):
                self.got[name, output] = []
            for source, _ in self.inputs[name]:
                if source not in self.pending:
                    self.pending[source] = 0
                    queue.append(source)
                self.pending[source] += 1

    def _give(self, grad: type_of_tensor | None, tensor: type_of_tensor) -> None:
        """Add a gradient to those of a tensor; None if no gradient flows back on this edge."""
        found = self.got.get(tensor)
        if found is None:
            return
        if grad is not None:
            found.append(grad)
        name = tensor[0]
        self.pending[name] -= 1
        if self.pending[name] == 0:
            self.ready.append(name)

    def _go_through(self, node: graph_pb2.NodeDef) -> None:
        inputs = self.inputs[node.name]
        input_types, output_types = self.types[node.name]
        grads = [self._sum((node.name, output)) for output in range(len(output_types))]
        if node.op in NO_GRADIENT:
            for tensor in inputs:
                self._give(None, tensor)
            return
        function = attr_value_pb2.NameAttrList(name=node.op)
        for key, value in node.attr.items():
            function.attr[key].CopyFrom(value)
        name, _ = self._add(
            "SymbolicGradient",
            [*inputs, *grads],
            Tin=[*input_types, *output_types],
            Tout=[_gradient_type(dtype) for dtype in input_types],
            f=function,
        )
        for position, tensor in enumerate(inputs):
            self._give((name, position), tensor)

    def _sum(self, tensor: type_of_tensor) -> type_of_tensor:
        """Return the sum of the gradients of a tensor."""
        grads = self.got.get(tensor, [])
        name, output = tensor
        dtype = self.types[name][1][output]
        if not grads or dtype == types_pb2.DT_BOOL:
            if dtype == types_pb2.DT_RESOURCE:
                tensor = self._add(
                    "ReadVariableOp", [tensor], label="Read", dtype=types_pb2.DT_FLOAT
                )
            return self._add("ZerosLike", [tensor], T=_gradient_type(dtype))
        if len(grads) == 1:
            return grads[0]
        return self._add("AddN", grads, T=_gradient_type(dtype), N=len(grads))

    def _add(
        self, op: str, inputs: Sequence[type_of_tensor], label: str = "Func", **attrs: Any
    ) -> type_of_tensor:
        """Add a node, named as TensorFlow names its own nodes; return its first output."""
        name = f"{label}/_{self.number}"
        self.number += 1
        while name in self.nodes:
            name = f"{label}/_{self.number}"
            self.number += 1
        node = self.graph_def.node.add(name=name, op=op)
        node.input.extend(f"{source}:{output}" if output else source for source, output in inputs)
        for key, value in attrs.items():
            if isinstance(value, list):
                node.attr[key].list.type.extend(value)
            elif isinstance(value, attr_value_pb2.NameAttrList):
                node.attr[key].func.CopyFrom(value)
            elif key in ("index", "N"):
                node.attr[key].i = value
            else:
                node.attr[key].type = value
        return name, 0


def _types(
    node: graph_pb2.NodeDef, signature: Callable[[str], OpDef]
) -> tuple[list[Array], list[Array]]:
    """Return the dtype enums of a node's inputs and outputs."""
    op_def, attrs = signature(node.op), decode_attrs(node.attr)
    return (
        [dtype.base_dtype.as_datatype_enum for dtype in op_def.input_types(attrs)],
        [dtype.base_dtype.as_datatype_enum for dtype in op_def.output_types(attrs)],
    )


def _gradient_type(dtype: Attr) -> Array:
    """Return the dtype of a gradient; that of a variable is float, whatever its dtype."""
    return types_pb2.DT_FLOAT if dtype == types_pb2.DT_RESOURCE else dtype


def _tensor(text: str) -> type_of_tensor:
    name, _, output = text.partition(":")
    return name, int(output or 0)


def _by_index(body: graph_pb2.GraphDef, kind: str) -> list[graph_pb2.NodeDef]:
    return sorted((n for n in body.node if n.op == kind), key=lambda node: node.attr["index"].i)
