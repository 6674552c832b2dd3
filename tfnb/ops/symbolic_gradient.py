"""SymbolicGradient: the gradient of a function of the graph's library, in one node.

Its inputs are the function's arguments and the gradients of its results; its outputs are the
gradients of the arguments.  A function that was given a gradient function calls that.  For any
other the gradient is built like a user's: the body becomes a graph, ``tf.gradients`` extends it,
and the runtime runs the whole.  It is made when the node runs first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.attr_value import decode_attr
from tfnb.core.op_kernel import FunctionCall
from tfnb.framework.graph import Graph
from tfnb.framework.importer import import_graph_def_for_function
from tfnb.ops.default_gradient import zeros_of
from tfnb.ops.function_ops import _arg, _retval
from tfnb.ops.gradients import gradients

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.operation import Operation
    from tfnb.proto import graph_pb2


def compute(
    ctx: OpKernelContext, inputs: Sequence[Any], f: NameAttrList
) -> Generator[FunctionCall, list[Any], tuple[Any, ...]]:
    """Runs the gradient of function ``f``; the kernel of SymbolicGradient."""
    library = ctx.function_library
    declared = library.gradient_function(f.name)
    if declared:
        results = yield FunctionCall(declared, f.attrs, inputs)
        return tuple(results)
    attrs = sorted((name, repr(value)) for name, value in f.attrs.items())
    results = yield FunctionCall(
        f"SymbolicGradient({f.name}, {attrs})",
        f.attrs,
        inputs,
        lambda: gradient_graph(_body_to_differentiate(library, f)),
    )
    return tuple(results)


def _body_to_differentiate(library: Any, f: NameAttrList) -> graph_pb2.GraphDef:
    """The body of a function, with the gradients that it takes itself written out.

    Nothing is known of the derivative of a SymbolicGradient, but of the graph that it runs.
    """
    body: graph_pb2.GraphDef = library.body_graph_def(f.name, f.attrs)
    nodes = list(body.node)
    del body.node[:]
    renamed: dict[str, str] = {}
    for node in nodes:
        if node.op != "SymbolicGradient":
            body.node.add().CopyFrom(node)
            continue
        inner: NameAttrList = decode_attr(node.attr["f"])
        declared = library.gradient_function(inner.name)
        if declared:
            call = body.node.add(name=node.name, op=declared, input=node.input, device=node.device)
            for key, value in node.attr["f"].func.attr.items():
                call.attr[key].CopyFrom(value)
        else:
            inlined = gradient_graph(_body_to_differentiate(library, inner))
            renamed.update(_inline(body, node, inlined))
    for node in body.node:
        for position, text in enumerate(node.input):
            node.input[position] = _resolved(text, renamed)
    return body


def _inline(
    body: graph_pb2.GraphDef, node: graph_pb2.NodeDef, inner: graph_pb2.GraphDef
) -> dict[str, str]:
    """Puts a graph in the place of a node; gives what now is what the node's outputs were."""
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
    """An input of an inlined graph, as it is spelled where the graph is put."""
    if text[:1] == "^":
        return f"^{names[text[1:]].split(':')[0].lstrip('^')}"
    name, _, index = text.partition(":")
    found = names[name]
    return f"{found}:{index}" if index and index != "0" else found


def _resolved(text: str, renamed: dict[str, str]) -> str:
    while text in renamed and renamed[text] != text:
        text = renamed[text]
    return text


def gradient_graph(body: graph_pb2.GraphDef) -> graph_pb2.GraphDef:
    """A graph that computes the gradient of a function.

    Args:
      body: the function, with an ``_Arg`` for each argument and a ``_Retval`` for each result.

    Returns:
      The same graph with a further ``_Arg`` for the gradient of each result, and a ``_Retval`` for
      that of each argument instead of those for the results.
    """
    with Graph().as_default() as graph:
        import_graph_def_for_function(body, name="")
        arguments = [op.outputs[0] for op in _by_index(graph, "_Arg")]
        returned = _by_index(graph, "_Retval")
        results = [op.inputs[0] for op in returned]
        grad_ys = []
        for index, result in enumerate(results, len(arguments)):
            incoming = _arg(T=result.dtype.base_dtype, index=index, name="grad_arg")
            incoming.set_shape(result.get_shape())
            grad_ys.append(incoming)
        found = gradients(results, arguments, grad_ys, name="SymbolicGradient")
        for index, (grad, argument) in enumerate(zip(found, arguments, strict=True)):
            _retval(zeros_of(argument) if grad is None else grad, index=index, name="grad_retval")
        definition = graph.as_graph_def()
    old = {op.name for op in returned}
    kept = [node for node in definition.node if node.name not in old]
    del definition.node[:]
    definition.node.extend(kept)
    return definition


def _by_index(graph: Graph, kind: str) -> list[Operation]:
    ops = [op for op in graph.get_operations() if op.type == kind]
    return sorted(ops, key=lambda op: int(op.attr("index")))
