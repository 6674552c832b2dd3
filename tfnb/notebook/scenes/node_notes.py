"""Notes on a node's card besides its own description: kernel, colocation, passes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tfnb.core import op_registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.core.step_events import PartitionedGraph, PlacedGraph

_QUOTED = re.compile(r"'([^']+?)(?::\d+)?'")
_MAX_LINES = 12


def kernel_text(op: str, device: str, attrs: Mapping[str, Any]) -> str:
    """Return the function that computes a node on its device, or "" if there is none.

    >>> kernel_text("Neg", "/job:localhost/replica:0/task:0/device:CPU:0", {}).split(" on ")[1]
    'CPU'
    """
    definition = op_registry.find(op)
    kind = device.rpartition("/device:")[2].partition(":")[0] or "CPU"
    function = None if definition is None else definition.kernel_for(kind, attrs)
    if function is None:
        return ""
    module = function.__module__.removeprefix("tfnb.ops.")
    return f"{module}.{getattr(function, '__qualname__', 'kernel')} on {kind}"


def colocation_groups(classes: Mapping[str, Iterable[bytes]]) -> dict[str, str]:
    """Return node name -> the first node of its colocation group, for groups of two or more.

    Args:
      classes: the attr ``_class`` of every node, in the graph's order.
    """
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = name = leader[leader[name]]
        return name

    for name, members in classes.items():
        for member in members:
            text = member.decode("utf-8", "replace")
            if text.startswith("loc:@"):
                other = find(text.removeprefix("loc:@"))
                leader[find(name)] = other
    sizes: dict[str, int] = {}
    for name in leader:
        sizes[find(name)] = sizes.get(find(name), 0) + 1
    return {name: find(name) for name in leader if sizes[find(name)] > 1}


def folded_note(placed: PlacedGraph | None, partitioned: PartitionedGraph) -> str:
    """Return how many placed nodes do not run, because passes folded or removed them."""
    if placed is None:
        return ""
    # Nodes that a pass added have no allowed devices.
    before = {view.node for view in placed.placements if view.allowed}
    left = {name for view in partitioned.partitions for name in view.node_names}
    gone = len(before - left)
    if not gone:
        return ""
    return f"{gone:,} of {len(before):,} nodes were folded or removed, see %tfnb passes"


def passes_by_node(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return node name -> the lines about it in the passes' reports, each with the pass's name.

    Args:
      lines: a report: a line for each pass, followed by its actions as indented lines.
    """
    found: dict[str, list[str]] = {}
    current = ""
    for line in lines:
        if not line.startswith(" "):
            current = line.partition(" (")[0]
            continue
        action = line.strip()
        for name in dict.fromkeys(_QUOTED.findall(action)):
            said = found.setdefault(name, [])
            if len(said) < _MAX_LINES:
                said.append(f"{current}: {action}")
    return {name: tuple(said) for name, said in found.items()}
