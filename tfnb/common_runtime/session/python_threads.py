"""Threads for Python functions of one step that may wait for each other.

A step runs in the thread that called ``run``.  In that thread, a Python function that waits for
another one of its step would wait for ever.  TensorFlow's pool runs both at the same time.  A
signature with several Python functions whose order its edges do not determine gets a pool of its
own, with a thread for each of them, unless the session's configuration declares one, or no thread
can be started.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tfnb.common_runtime.device.thread_pool import ThreadPool
from tfnb.core.process import threads
from tfnb.graph.algorithm import reverse_post_order

if TYPE_CHECKING:
    from tfnb.core.op_registry import OpDefinition
    from tfnb.graph.graph import Graph, Node


def pool_for_python_functions(graph: Graph) -> ThreadPool | None:
    """Return a pool for a signature's Python functions, or None if no two can run together."""
    if not threads.can_start():
        return None
    kinds = {definition for node in graph.op_nodes() if (definition := node.op_definition)}
    calling = {definition for definition in kinds if _calls_python(definition)}
    callers = (
        [node for node in graph.op_nodes() if node.op_definition in calling] if calling else []
    )
    if len(callers) < 2:
        return None
    place = {node: at for at, node in enumerate(reverse_post_order(graph, back_edges=False))}
    callers.sort(key=lambda node: place[node])
    if all(_precedes(first, second) for first, second in itertools.pairwise(callers)):
        return None
    return ThreadPool("PythonFunctions", len(callers))


def _calls_python(definition: OpDefinition) -> bool:
    return any(effect.kind == "python" for effect in definition.effects)


def _precedes(first: Node, second: Node) -> bool:
    """Return whether one node waits for the other."""
    seen, todo = {first.id}, [first]
    while todo:
        for edge in todo.pop().out_edges:
            if edge.dst is second:
                return True
            if edge.dst.is_op and edge.dst.id not in seen:
                seen.add(edge.dst.id)
                todo.append(edge.dst)
    return False
