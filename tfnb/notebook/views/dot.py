"""A graph drawn by Graphviz: for papers, or for the layout of `dot`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from tfnb.notebook.kernel.shell import TextPicture, current_shell, is_notebook
from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.scenes.scene import CONTROL
from tfnb.notebook.views.targets import TargetError, find_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.notebook.scenes.scene import Scene

# `dot` takes seconds for this number of nodes, and minutes for ten times as many.
MAX_NODES = 1000
_MAX_LABEL = 60
_FONT = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "11"}


def dot(target: Any = None, *, namespace: Mapping[str, Any] | None = None) -> Any:
    """Draw a graph with Graphviz, every scope in a box.

    Args:
      target: as for :func:`tfnb.notebook.graph`; for the name of a scope, only that scope.
      namespace: variables by name, which a text may also refer to.

    Returns:
      A `graphviz.Digraph`, which a notebook shows, and whose `render` writes files; outside a
        notebook its text in the language of `dot`.

    Raises:
      TargetError: there is nothing to show, it has too many nodes, or the program `dot` is missing.
    """
    scene = find_target(target, namespace).scene()
    wanted = _wanted(scene, target, namespace or {})
    if len(wanted) > MAX_NODES:
        raise TargetError(
            f"dot lays out at most {MAX_NODES:,} nodes here, and these are {len(wanted):,}: name "
            "a scope, or show them without --dot."
        )
    picture = digraph(scene, wanted)
    if not is_notebook(current_shell()):
        return TextPicture(picture.source.rstrip())
    if shutil.which("dot") is None:
        raise TargetError(
            "The program `dot` is not on the PATH; it is in the package graphviz of Linux "
            "distributions and of Homebrew. Without it, leave out --dot."
        )
    return picture


def _wanted(scene: Scene, target: Any, namespace: Mapping[str, Any]) -> set[int]:
    """Return all nodes, or those of the scope that a text names."""
    everything = set(range(len(scene.nodes)))
    if not isinstance(target, str) or target in namespace:
        return everything
    name = target.rstrip("/")
    if any(node.name == name for node in scene.nodes):
        return everything
    return {i for i in everything if scene.nodes[i].name.startswith(f"{name}/")} or everything


def digraph(scene: Scene, wanted: set[int]) -> Any:
    """Return some nodes of a scene as a `graphviz.Digraph`, every scope in a box."""
    import graphviz

    def label(text: str) -> str:
        found: str = graphviz.escape(cut_middle(one_line(text), _MAX_LABEL))
        return found

    def fill(parent: Any, index: int) -> None:
        scope = scene.scopes[index]
        for node in scope.nodes:
            if node in wanted:
                op = label(scene.nodes[node].op)
                parent.node(f"n{node}", f"{label(scene.label(node))}\\n{op}")
        for child in scope.scopes:
            inner = scene.scopes[child]
            if wanted.isdisjoint(range(inner.first, inner.end)):
                continue
            box = graphviz.Digraph(name=f"cluster_{child}")
            box.attr(label=label(inner.label), style="rounded", color="gray60")
            fill(box, child)
            parent.subgraph(box)

    picture = graphviz.Digraph(name="graph")
    picture.attr("graph", rankdir="TB", label=label(scene.title), labelloc="t", **_FONT)
    picture.attr("node", shape="box", style="rounded", height="0.3", **_FONT)
    fill(picture, 0)
    for source, _, destination, slot in scene.edges:
        if source in wanted and destination in wanted:
            style = "dashed" if slot == CONTROL else "solid"
            picture.edge(f"n{source}", f"n{destination}", style=style)
    return picture
