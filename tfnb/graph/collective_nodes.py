"""Whether the steps of a graph have collective ops, and which masters run them together."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tfnb.graph.graph import Graph

_COLLECTIVE = ops_with(Trait.COLLECTIVE)


def has_collectives(graph: Graph) -> bool:
    """Return whether a graph, or a function of its library, has a collective op."""
    return any(node.op in _COLLECTIVE for node in graph.op_nodes()) or bool(_in_library(graph))


def collective_graph_key(graph: Graph) -> int:
    """Return a number of the collective ops of a graph, the same on all tasks; 0: it has none.

    Graphs have the same number if their ops belong to the same instances of the same groups.
    """
    found = {
        _instance(node.name, node.attrs) for node in graph.op_nodes() if node.op in _COLLECTIVE
    }
    found |= _in_library(graph)
    if not found:
        return 0
    digest = blake2b("\n".join(sorted(found)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1 | 1


def _instance(name: str, attrs: Mapping[str, Any]) -> str:
    """Return the keys of a node; its name where they are inputs."""
    if "instance_key" in attrs:
        return f"{attrs['group_key']} {attrs['instance_key']}"
    return name


def _in_library(graph: Graph) -> set[str]:
    if graph.library is None:
        return set()
    return {
        f"{function.signature.name} {node.name}"
        for function in graph.library.to_proto().function
        for node in function.node_def
        if node.op in _COLLECTIVE
    }
