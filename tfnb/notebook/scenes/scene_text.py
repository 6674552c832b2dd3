"""A scene as a text tree, for terminals and as the text alternative of the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.notebook.scenes.attr_text import cut_middle, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.notebook.scenes.scene import Scene

MAX_LINES = 60
_MAX_LABEL = 48


def scene_text(scene: Scene, max_lines: int = MAX_LINES) -> str:
    """Return the tree of scopes, opened within ``max_lines``: outer scopes first."""
    open_scopes = _opened(scene, max_lines - 1)
    title = one_line(scene.title) or "graph"
    lines = [f"{title}: {len(scene.nodes):,} nodes, {len(scene.edges):,} edges"]
    lines += _tree(scene, 0, "", open_scopes)
    if len(lines) > max_lines:
        rest = len(lines) - max_lines + 1
        lines = [*lines[: max_lines - 1], f"… {rest:,} more lines"]
    return "\n".join(lines)


def _opened(scene: Scene, budget: int) -> set[int]:
    """Return the scopes to open, breadth first, as long as their children fit."""
    opened = {0}
    left = budget - len(scene.scopes[0].nodes) - len(scene.scopes[0].scopes)
    level = list(scene.scopes[0].scopes)
    while level:
        following: list[int] = []
        for index in level:
            scope = scene.scopes[index]
            children = len(scope.nodes) + len(scope.scopes)
            if children <= left:
                left -= children
                opened.add(index)
                following += scope.scopes
        level = following
    return opened


def _tree(scene: Scene, index: int, indent: str, opened: set[int]) -> Iterator[str]:
    scope = scene.scopes[index]
    children = [(n, False) for n in scope.nodes] + [(s, True) for s in scope.scopes]
    for place, (child, is_scope) in enumerate(children):
        is_last = place == len(children) - 1
        branch, below = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        if not is_scope:
            yield f"{indent}{branch}{_node_line(scene, child)}"
            continue
        inner = scene.scopes[child]
        name = cut_middle(one_line(inner.label), _MAX_LABEL)
        yield f"{indent}{branch}{name}/  {inner.size:,} nodes"
        if child in opened:
            yield from _tree(scene, child, indent + below, opened)


def _node_line(scene: Scene, node: int) -> str:
    about = scene.nodes[node]
    parts = [cut_middle(one_line(scene.label(node)), _MAX_LABEL), one_line(about.op)]
    parts += [f"{dtype} {shape}" for dtype, shape in about.outputs[:2]]
    device = about.assigned_device or about.requested_device
    if device:
        parts.append(one_line(device))
    return "  ".join(parts)
