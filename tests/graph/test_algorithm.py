"""Walks visit every node once, in the promised order, however deep the graph."""

from __future__ import annotations

from tests.graph.small_graphs import LOOP, names, node, small_graph
from tfnb.graph.algorithm import (
    depth_first,
    nodes_before,
    post_order,
    prune_for_reverse_reachability,
    reverse_depth_first,
    reverse_post_order,
)

DIAMOND = "a = TestSource\nb = TestRelu(a)\nc = TestRelu(a)\nd = TestAdd(b, c)\ne = TestRelu(d)"


def test_depth_first_enters_before_and_leaves_after_consumers() -> None:
    r"""Each node is visited once.

    a -> b -> d -> e
     \\-> c ->/
    """
    graph = small_graph(DIAMOND)
    entered: list[str] = []
    left: list[str] = []
    depth_first(
        [node(graph, "a")],
        enter=lambda n: entered.append(n.name),
        leave=lambda n: left.append(n.name),
        follow=lambda edge: edge.dst.is_op,
    )
    assert entered == ["a", "b", "d", "e", "c"]
    assert left == ["e", "d", "b", "c", "a"]


def test_reverse_depth_first_walks_to_the_sources() -> None:
    """The walk follows edges backwards."""
    graph = small_graph(DIAMOND)
    entered: list[str] = []
    reverse_depth_first([node(graph, "d")], enter=lambda n: entered.append(n.name))
    assert entered == ["d", "b", "a", "_SOURCE", "c"]


def test_orders_respect_edges() -> None:
    """Reverse postorder is topological."""
    graph = small_graph(DIAMOND)
    order = reverse_post_order(graph)
    position = {each: index for index, each in enumerate(order)}
    assert all(position[edge.src] < position[edge.dst] for edge in graph.edges)
    assert post_order(graph) == order[::-1]


def test_order_of_a_loop_is_topological_without_back_edges() -> None:
    """NextIteration comes after its Merge."""
    graph = small_graph(LOOP)
    order = [each.name for each in reverse_post_order(graph, back_edges=False)]
    assert order.index("merge") < order.index("body") < order.index("next")


def test_prune_keeps_what_targets_wait_for() -> None:
    """Consumers of targets and unrelated nodes are removed."""
    graph = small_graph(DIAMOND)
    assert prune_for_reverse_reachability(graph, [node(graph, "b")])
    assert names(graph) == ["a", "b"]
    assert not prune_for_reverse_reachability(graph, [node(graph, "b")])


def test_deep_chain_needs_no_deep_stack() -> None:
    """The chain is ten times as deep as Python's recursion limit."""
    count = 10_000
    graph = small_graph(
        "n0 = TestSource\n" + "\n".join(f"n{i} = TestRelu(n{i - 1})" for i in range(1, count))
    )
    assert len(nodes_before([node(graph, f"n{count - 1}")])) == count + 1
    assert reverse_post_order(graph)[count].name == f"n{count - 1}"
