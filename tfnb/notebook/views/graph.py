"""The interactive view of a graph that a user builds, or of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.notebook.kernel.shell import TextPicture, current_shell, is_notebook
from tfnb.notebook.scenes.scene_svg import scene_svg
from tfnb.notebook.scenes.scene_text import scene_text
from tfnb.notebook.steps.view_group import view_group
from tfnb.notebook.views.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.notebook.views.widget import SceneWidget

HEIGHT = 480
COLOURS = ("kind", "device", "partition", "group", "time", "memory", "liveness")


def graph(
    target: Any = None,
    *,
    colour_by: str = "kind",
    height: int = HEIGHT,
    namespace: Mapping[str, Any] | None = None,
) -> SceneWidget | TextPicture:
    """Show a graph: scopes open and close, nodes are searched, coloured and explained.

    Args:
      target: a Graph, Session, Tensor, Operation, variable, the path of a graph file, or the name
        of a node or scope; by default the default graph.
      colour_by: ``"kind"`` of op, ``"device"``, ``"partition"``, ``"group"`` of colocated nodes; if
        a step of the graph was recorded, also ``"time"``, ``"memory"`` or ``"liveness"`` (at the
        time when it held most).
      height: height of the drawing, in CSS pixels.
      namespace: variables by name, which a text may also refer to.

    Returns:
      A widget in a notebook; elsewhere a text that prints as a tree.

    Raises:
      TargetError: there is nothing to show.
    """
    found = find_target(target, namespace)
    scene = found.scene()
    if not is_notebook(current_shell()):
        return TextPicture(scene_text(scene))
    from tfnb.notebook.views.widget import SceneWidget

    return SceneWidget(
        scene,
        colour_by=colour_by,
        height=height,
        selected=found.selected,
        group=view_group(found.graph),
        picture=lambda: scene_svg(scene),
    )
