"""Checks that elements belong to one graph, with errors that name an element's own graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from tfnb.framework.graph import Graph
    from tfnb.framework.traceback_of_user import CreationSite


def assert_same_graph(original: Any, item: Any) -> None:
    """Refuse two elements of different graphs; an element of no graph fits everywhere.

    Raises:
      ValueError: they belong to two graphs.
    """
    original_graph = getattr(original, "graph", None)
    graph = getattr(item, "graph", None)
    if original_graph is not None and graph is not None and original_graph is not graph:
        raise ValueError(
            f"{item} must be from the same graph as {original} (graphs are {graph} and "
            f"{original_graph}).\n{stranger_text(item, original_graph)}"
        )


def stranger_text(element: Any, graph: Graph) -> str:
    """Return the origin of an element of another graph, and advice.

    Args:
      element: a Tensor or Operation.
      graph: the graph that does not contain it.
    """
    op = element.op if isinstance(element, Tensor) else element
    theirs: Graph = op.graph
    site = op.creation_site
    made = f"'{op.name}' was made {_at(site)}" if site is not None else f"'{op.name}' was made"
    if theirs.is_former:
        return f"{made}, and left its graph when that ran again: take what it has made then."
    default = get_default_graph()
    lines = [
        f"{made}, in a graph of {_graph_text(theirs, default)}.",
        f"This graph has {_graph_text(graph, default)}.",
        f"Make '{op.name}' again inside this graph, or run it in a session of its own graph: "
        "tf.Session(graph=x.graph).",
    ]
    return "\n".join(lines)


def _graph_text(graph: Graph, default: Graph) -> str:
    operations = graph.operation_list
    count = len(operations)
    text = f"{count:,} operation{'' if count == 1 else 's'}"
    site = operations[0].creation_site if operations else None
    if site is not None:
        text += f", the first made {_at(site)}"
    return text + ("; it is the default one here" if graph is default else "")


def _at(site: CreationSite) -> str:
    return f"{'at' if site.cell is None else 'in'} {site}"
