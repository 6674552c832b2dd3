"""Views as files that need no kernel: an interactive page, a picture, or text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfnb.client.session.session import BaseSession
from tfnb.core.files.file_access import write_whole
from tfnb.framework.default_session import get_default_session
from tfnb.notebook.scenes.pass_scenes import passes_text
from tfnb.notebook.scenes.png_writer import scene_png
from tfnb.notebook.scenes.scene_svg import scene_svg
from tfnb.notebook.scenes.scene_text import scene_text
from tfnb.notebook.views.compare import latest_comparison
from tfnb.notebook.views.dot import digraph
from tfnb.notebook.views.graph import HEIGHT
from tfnb.notebook.views.partial import partial_table
from tfnb.notebook.views.partitions import partitions_scene
from tfnb.notebook.views.passes import pictures_of, told_passes
from tfnb.notebook.views.placement import placement_scene
from tfnb.notebook.views.targets import TargetError, find_signature, find_target
from tfnb.notebook.views.times import latest_times
from tfnb.notebook.views.values import latest_values
from tfnb.notebook.views.widget_page import widget_page

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from tfnb.notebook.pictures.dot_picture import DotPicture
    from tfnb.notebook.scenes.scene import Scene

_LATEST = {"compare": latest_comparison, "values": latest_values, "times": latest_times}
_TABLES = ("partial", "compare", "values", "times")
VIEWS = ("graph", "placement", "partitions", "passes", *_TABLES)
FORMS = (".html", ".svg", ".png", ".dot", ".pdf", ".txt")


def export(
    path: str | os.PathLike[str],
    target: Any = None,
    *,
    view: str = "graph",
    colour_by: str | None = None,
    height: int = HEIGHT,
    namespace: Mapping[str, Any] | None = None,
) -> Path:
    """Write a view into a file; the ending of its name determines the form.

    ``.html`` is a page that any browser opens, as interactive as in the notebook, without a kernel
    or a network; ``.svg`` and ``.png`` are the outermost scopes as a picture; ``.dot`` is the graph
    for Graphviz on one page, large scopes closed; ``.pdf`` is that page, drawn by the program
    ``dot``; ``.txt`` is the scopes as text.  The button above the drawing, or the widget's
    ``save``, makes a PNG of the visible view.

    Args:
      path: the path of the file.
      target: as for the view; by default the default graph, or the last run.  For the partial runs
        in flight it is their session; what was compared or kept last takes no target.
      view: ``"graph"``, ``"placement"``, ``"partitions"``, ``"passes"``, ``"partial"``,
        ``"compare"``, ``"values"`` or ``"times"``.
      colour_by: the meaning of colours; see :func:`tfnb.notebook.graph`.
      height: height of the drawing in a page, in CSS pixels.
      namespace: variables by name, which a text may also refer to.

    Returns:
      The file.

    Raises:
      TargetError: there is nothing to show, or no such view or form.
      OSError: the file cannot be written.
    """
    file = Path(path)
    if view not in VIEWS:
        raise TargetError(f"There is no view '{view}'; there are {', '.join(VIEWS)}.")
    if file.suffix not in FORMS:
        raise TargetError(
            f"'{file.name}' has no known ending: it has to end with {', '.join(FORMS)}."
        )
    if view in _TABLES:
        text = _table(view, target, file.suffix, height, namespace)
    elif view == "passes":
        text = _passes(target, file.suffix, height, namespace)
    else:
        default = "kind" if view == "graph" else "device"
        scene = _scene_of(view, target, namespace)
        write_scene(file, scene, view=view, colour_by=colour_by or default, height=height)
        return file
    write_whole(str(file), text.encode())
    return file


def write_scene(
    file: Path, scene: Scene, *, view: str = "graph", colour_by: str = "kind", height: int = HEIGHT
) -> None:
    """Write the picture of a scene into a file, in the form determined by the file's ending."""
    if file.suffix == ".png":
        data = scene_png(scene)
    elif file.suffix == ".pdf":
        data = _pdf(scene, view)
    else:
        data = _scene_as(scene, file.suffix, view, colour_by, height).encode()
    write_whole(str(file), data)


def dot_of(scene: Scene, view: str = "graph") -> DotPicture:
    """Return a view's picture for Graphviz."""
    return digraph(scene, by="device" if view == "placement" else "scope")


def _pdf(scene: Scene, view: str) -> bytes:
    """Return a page drawn by ``dot``.

    Raises:
      TargetError: the program is missing or fails.
    """
    from subprocess import CalledProcessError

    from tfnb.notebook.pictures.dot_picture import NO_PROGRAM, has_program

    if not has_program():
        raise TargetError(f"{NO_PROGRAM} Without it, write .svg, .png or .dot.")
    try:
        found: bytes = dot_of(scene, view).pipe(format="pdf")
    except CalledProcessError as error:
        raise TargetError(f"dot failed: {error}") from None
    return found


def _scene_of(view: str, target: Any, namespace: Mapping[str, Any] | None) -> Scene:
    if view == "graph":
        return find_target(target, namespace).scene()
    views = find_signature(target, namespace)
    return placement_scene(views) if view == "placement" else partitions_scene(views)


def _scene_as(scene: Scene, form: str, view: str, colour_by: str, height: int) -> str:
    if form == ".svg":
        return scene_svg(scene)
    if form == ".txt":
        return scene_text(scene) + "\n"
    if form == ".dot":
        return str(dot_of(scene, view).source)
    options = {"view": view, "colourBy": colour_by, "height": height}
    return widget_page({"_scene": scene.encode(), "_options": options}, scene.title or view)


def _passes(target: Any, form: str, height: int, namespace: Mapping[str, Any] | None) -> str:
    views, pictures = pictures_of(target, namespace, None)
    if form == ".txt":
        return passes_text(pictures) + "\n"
    if form != ".html":
        raise TargetError("Passes are many pictures: save them as .html or .txt.")
    traits = {
        "_passes": {"passes": told_passes(pictures, views.session.graph)},
        "_options": {"view": "passes", "colourBy": "change", "height": height},
    }
    return widget_page(traits, "passes")


def _table(
    view: str, target: Any, form: str, height: int, namespace: Mapping[str, Any] | None
) -> str:
    if form not in (".html", ".txt"):
        raise TargetError("A table is not a picture: save it as .html or .txt.")
    if view != "partial":
        state, text = _LATEST[view]()
    else:
        found = (namespace or {}).get(target) if isinstance(target, str) else target
        session = found if target else get_default_session()
        if not isinstance(session, BaseSession):
            raise TargetError("Partial runs belong to a session: give one as the target.")
        state, text = partial_table(session, session.partial_runs())
    if form == ".txt":
        return text + "\n"
    return widget_page({"_table": state, "_options": {"view": view, "height": height}}, view)
