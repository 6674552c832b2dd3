"""SymbolicGradient: the gradient of a function of the graph's library, in one node.

Its inputs are the function's arguments and the gradients of its results; its outputs are the
gradients of the arguments.  A function that was given a gradient function calls that.  For any
other the gradient is built like a user's: the body becomes a graph, ``tf.gradients`` extends it,
and the runtime runs the whole.  It is made when the node runs first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.graph import Graph
from tfnb.framework.importer import import_graph_def
from tfnb.ops.default_gradient import zeros_of
from tfnb.ops.function_ops import _arg, _retval
from tfnb.ops.gradients import gradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.operation import Operation
    from tfnb.proto import graph_pb2


def compute(ctx: OpKernelContext, inputs: Sequence[Any], f: NameAttrList) -> tuple[Any, ...]:
    """Runs the gradient of function ``f``; the kernel of SymbolicGradient."""
    library = ctx.function_library
    declared = library.gradient_function(f.name)
    if declared:
        return tuple(library.call(ctx, declared, f.attrs, inputs))
    attrs = sorted((name, repr(value)) for name, value in f.attrs.items())
    name = f"SymbolicGradient({f.name}, {attrs})"
    return tuple(
        library.call_graph(
            ctx, name, lambda: gradient_graph(library.body_graph_def(f.name, f.attrs)), inputs
        )
    )


def gradient_graph(body: graph_pb2.GraphDef) -> graph_pb2.GraphDef:
    """A graph that computes the gradient of a function.

    Args:
      body: the function, with an ``_Arg`` for each argument and a ``_Retval`` for each result.

    Returns:
      The same graph with a further ``_Arg`` for the gradient of each result, and a ``_Retval`` for
      that of each argument instead of those for the results.
    """
    with Graph().as_default() as graph:
        import_graph_def(body, name="")
        arguments = [op.outputs[0] for op in _by_index(graph, "_Arg")]
        returned = _by_index(graph, "_Retval")
        results = [op.inputs[0] for op in returned]
        grad_ys = []
        for index, result in enumerate(results, len(arguments)):
            incoming = _arg(T=result.dtype.base_dtype, index=index, name="grad_arg")
            incoming.set_shape(result.get_shape())
            grad_ys.append(incoming)
        found = gradients(results, arguments, grad_ys)
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
