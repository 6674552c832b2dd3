"""``tf.contrib.util``: tensors as messages and arrays, and the ops of a graph."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.framework.constant_value import constant_value as constant_value

make_tensor_proto = tf.make_tensor_proto
make_ndarray = tf.make_ndarray


def ops_used_by_graph_def(graph_def: Any) -> set[str]:
    """Return the types of the ops of a graph and of the functions that it calls.

    Args:
      graph_def: the ``GraphDef``.
    """
    functions = {one.signature.name: one for one in graph_def.library.function}
    found: set[str] = set()
    waiting = [node.op for node in graph_def.node]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            if op in functions:
                waiting += [node.op for node in functions[op].node_def]
    return {op for op in found if op not in functions}
