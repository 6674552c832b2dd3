"""Walks over a graph: depth first in either direction, orders, reachability.

Corresponds to TensorFlow's graph/algorithm.cc.  Nothing recurses, because a graph may be a chain of
a hundred thousand nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tfnb.graph.graph import Edge, Graph, Node


def depth_first(
    starts: Iterable[Node],
    *,
    enter: Callable[[Node], None] | None = None,
    leave: Callable[[Node], None] | None = None,
    follow: Callable[[Edge], bool] | None = None,
) -> None:
    """Walk along out-edges: ``enter`` before a node's consumers, ``leave`` after them.

    ``follow`` may refuse an edge.
    """
    _walk(starts, False, enter, leave, follow)


def reverse_depth_first(
    starts: Iterable[Node],
    *,
    enter: Callable[[Node], None] | None = None,
    leave: Callable[[Node], None] | None = None,
    follow: Callable[[Edge], bool] | None = None,
) -> None:
    """Walk along in-edges: ``enter`` before a node's sources, ``leave`` after them."""
    _walk(starts, True, enter, leave, follow)


def _walk(
    starts: Iterable[Node],
    backwards: bool,
    enter: Callable[[Node], None] | None,
    leave: Callable[[Node], None] | None,
    follow: Callable[[Edge], bool] | None,
) -> None:
    seen: set[Node] = set()
    # With ``leave``, a node is pushed twice: the second time to call it.
    stack: list[tuple[Node, bool]] = [(node, False) for node in starts][::-1]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            assert leave is not None
            leave(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        if enter is not None:
            enter(node)
        if leave is not None:
            stack.append((node, True))
        edges = node.in_edges if backwards else node.out_edges
        for edge in reversed(edges):
            other = edge.src if backwards else edge.dst
            if other not in seen and (follow is None or follow(edge)):
                stack.append((other, False))


def post_order(graph: Graph, *, back_edges: bool = True) -> list[Node]:
    """Return the nodes reachable from the source, each after its consumers (except in loops).

    Args:
      graph: the graph.
      back_edges: whether to walk along the edges that leave a NextIteration, too.
    """
    # The same order as depth_first's ``leave``, but faster: several passes compute it in each first
    # run.
    order: list[Node] = []
    seen = bytearray(graph.num_node_ids)
    # None comes above a node whose consumers are done.
    stack: list[Node | None] = [graph.source]
    while stack:
        node = stack.pop()
        if node is None:
            done = stack.pop()
            assert done is not None
            order.append(done)
            continue
        if seen[node.id]:
            continue
        seen[node.id] = 1
        edges = node.out_edges
        if not edges or (not back_edges and node.kind.is_next_iteration):
            order.append(node)
            continue
        stack.append(node)
        stack.append(None)
        if len(edges) == 1:
            (edge,) = edges
            stack.append(edge.dst)
        else:
            stack += [edge.dst for edge in reversed(edges) if not seen[edge.dst.id]]
    return order


def reverse_post_order(graph: Graph, *, back_edges: bool = True) -> list[Node]:
    """Return the nodes reachable from the source, before their consumers; topological if no loops.

    Without back edges the order is topological in graphs with loops, too.
    """
    return post_order(graph, back_edges=back_edges)[::-1]


def is_not_back_edge(edge: Edge) -> bool:
    """Return whether the edge goes forward, that is, does not leave a NextIteration."""
    return not edge.src.kind.is_next_iteration


def nodes_before(targets: Iterable[Node]) -> set[Node]:
    """Return the targets and all nodes they depend on."""
    found = set(targets)
    stack = list(found)
    while stack:
        for edge in stack.pop().in_edges:
            if edge.src not in found:
                found.add(edge.src)
                stack.append(edge.src)
    return found


def prune_for_reverse_reachability(graph: Graph, targets: Iterable[Node]) -> bool:
    """Remove nodes that no target depends on; return whether there were any."""
    needed = nodes_before(targets)
    unneeded = [node for node in graph.op_nodes() if node not in needed]
    graph.remove_nodes(unneeded)
    return bool(unneeded)
