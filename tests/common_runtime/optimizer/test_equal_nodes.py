"""The search for equal nodes is left out only in a graph that has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.optimizer.constant_folding import join_equal_nodes
from tfnb.core import dtypes
from tfnb.graph.algorithm import reverse_post_order
from tfnb.graph.graph import Graph

if TYPE_CHECKING:
    from tfnb.graph.graph import Node

FLOAT = {"T": dtypes.float32}


def _graph(*names: str) -> tuple[Graph, dict[str, Node]]:
    """Return a placeholder ``p`` and nodes ``Neg`` of it."""
    graph = Graph()
    p = graph.add_node("p", "Placeholder", {"dtype": dtypes.float32})
    made = {"p": p}
    for name in names:
        made[name] = graph.add_node(name, "Neg", FLOAT)
        graph.add_edge(p, 0, made[name], 0)
    graph.fixup_source_and_sink_edges()
    return graph, made


def _join(graph: Graph) -> list[str]:
    order = [node for node in reverse_post_order(graph) if node.is_op]
    return join_equal_nodes(graph, order=order)


def test_nodes_that_became_equal_after_a_search_are_joined() -> None:
    """An edge that is added or removed, or another op, makes the next search look again."""
    graph, made = _graph("a")
    assert _join(graph) == []
    assert graph.distinct is not None

    made["b"] = graph.add_node("b", "Neg", FLOAT)
    graph.add_edge(made["p"], 0, made["b"], 0)
    graph.fixup_source_and_sink_edges()
    assert len(_join(graph)) == 1

    other = graph.add_node("c", "Abs", FLOAT)
    graph.add_edge(made["p"], 0, other, 0)
    graph.fixup_source_and_sink_edges()
    assert _join(graph) == []
    graph.change_op(other, "Neg", FLOAT)
    assert len(_join(graph)) == 1


def test_a_search_that_is_repeated_gives_what_the_first_one_left() -> None:
    """Nothing more, and a copy of the graph is searched anew."""
    graph, _ = _graph("a", "b", "c")
    assert len(_join(graph)) == 2
    assert _join(graph) == []
    assert graph.copy().distinct is None
