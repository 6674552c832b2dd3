"""The nodes beside a model: summaries, savers and initializers, recognised by ops and names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# The names of their groups, in the order in which they are shown.
ROLES = ("summaries", "savers", "initializers")
_SAVES = ops_with(Trait.CHECKPOINT)
_SOURCES = frozenset(("Const", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault"))
_SUMMARIES = re.compile(r"summary|summaries", re.IGNORECASE)
_UNINITIALIZED = "report_uninitialized_"
_INITIALIZERS = re.compile(r"(init|report_uninitialized_\w+)(_\d+|_all_\w+)?")


class NamedNode(Protocol):
    """The data by which a role is recognised."""

    @property
    def name(self) -> str:
        """The node's name."""

    @property
    def op(self) -> str:
        """The name of its op."""


def may_have_roles(nodes: Sequence[NamedNode]) -> bool:
    """Return whether any node could have a role; most graphs for inference have none."""
    ops = {node.op for node in nodes}
    return (
        "NoOp" in ops
        or not _SAVES.isdisjoint(ops)
        or any("Summary" in op for op in ops)
        or any(node.name.startswith(_UNINITIALIZED) for node in nodes)
    )


def roles_of(
    labels: Sequence[str],
    members: Sequence[Sequence[int]],
    nodes: Sequence[NamedNode],
    edges: Sequence[tuple[int, int]],
) -> Mapping[int, str]:
    """Return the roles of the children of a graph that have one.

    A child has a role only if none of its outputs goes to the rest of the graph.

    Args:
      labels: the names of the children.
      members: the nodes in each of them.
      nodes: the nodes.
      edges: pairs of children.
    """
    found: dict[int, str] = {}
    for place, (label, inside) in enumerate(zip(labels, members, strict=True)):
        role = _role(label, [nodes[node].op for node in inside])
        if role:
            found[place] = role
    changed = True
    while changed:  # a child that feeds the rest of the graph, even indirectly, is part of it
        rest = {source for source, to in edges if source in found and to not in found}
        changed = bool(rest)
        for place in rest:
            del found[place]
    served: dict[int, set[str]] = {}
    for source, to in edges:
        served.setdefault(source, set()).add(found.get(to, ""))
    for place, roles in served.items():
        is_source = _SOURCES.issuperset(nodes[node].op for node in members[place])
        if is_source and len(roles) == 1 and roles != {""}:
            found[place] = roles.pop()
    return {} if len(found) == len(labels) else found


def _role(label: str, ops: Sequence[str]) -> str:
    own = [op for op in ops if op != "Const"]
    summaries = sum("Summary" in op for op in own)
    if summaries and (summaries == len(own) or _SUMMARIES.match(label)):
        return "summaries"
    if not _SAVES.isdisjoint(own):
        return "savers"
    if _INITIALIZERS.fullmatch(label) and "NoOp" in own:
        return "initializers"
    return "initializers" if label.startswith(_UNINITIALIZED) else ""
