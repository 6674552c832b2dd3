"""The default graph, to which ops are added if no other graph is given.

``with graph.as_default()`` is per thread; below each thread's stack is one graph for the whole
process, made on first use.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tfnb.framework import functions_above as above
from tfnb.framework.default_stack import DefaultStack

if TYPE_CHECKING:
    from tfnb.framework.graph import Graph

EXPORTS = {"tf": ["get_default_graph", "reset_default_graph"]}


class _DefaultGraphStack(DefaultStack["Graph"]):
    """The per-thread stack above the process-wide default graph."""


_default_graph_stack = _DefaultGraphStack()
_global_graph_lock = threading.Lock()
_global_default_graph: Graph | None = None  # made under _global_graph_lock


def get_default_graph() -> Graph:
    """Return the innermost graph that this thread has entered, else the graph of the process."""
    stack = _default_graph_stack.stack
    if stack:
        return stack[-1]
    return _global_default_graph or _make_global_default_graph()


def has_default_graph() -> bool:
    """Return whether this thread has entered a graph."""
    return bool(_default_graph_stack.stack)


def reset_default_graph() -> None:
    """Make a new, empty graph the default graph.

    Raises:
      AssertionError: called inside ``with graph.as_default()``.
    """
    global _global_default_graph
    if not _default_graph_stack.is_cleared():
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    _default_graph_stack.reset()
    _global_default_graph = None


def _make_global_default_graph() -> Graph:
    global _global_default_graph
    with _global_graph_lock:
        if _global_default_graph is None:
            _global_default_graph = above.new_graph()
        return _global_default_graph
